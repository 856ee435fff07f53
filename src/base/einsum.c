/* Reads equations such as "bij, bjk -> bik" and "...ii->...i". */
#include "base/einsum.h"

enum { EINSUM_DOTS = 255 };

typedef struct einsum_text { /* one term: letters' labels, EINSUM_DOTS where the ellipsis stands */
  int n;
  uint8_t at[TN_EINSUM_RANK + 1];
  bool dots;
} einsum_text;

static int einsum_letter(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return 26 + (c - 'a');
  return -1;
}
/* Reads up to a comma, an arrow or the end. */
static const char *einsum_read(tn_str s, size_t *at, einsum_text *out) {
  *out = (einsum_text){0};
  for (; *at < s.len; (*at)++) {
    const char c = s.ptr[*at];
    const int letter = einsum_letter(c);
    if (c == ' ') continue;
    if (c == ',' || c == '-') break;
    if (out->n > TN_EINSUM_RANK) return "a term has too many letters";
    if (letter >= 0) {
      out->at[out->n++] = (uint8_t)letter;
    } else if (c == '.' && s.len - *at >= 3 && s.ptr[*at + 1] == '.' && s.ptr[*at + 2] == '.' && !out->dots) {
      out->at[out->n++] = EINSUM_DOTS;
      out->dots = true;
      *at += 2;
    } else {
      return "the equation has a character that is no letter, comma, arrow or ellipsis";
    }
  }
  return NULL;
}
static const char *einsum_expand(const einsum_text *t, int dots, tn_einsum_term *out) {
  out->rank = 0;
  for (int i = 0; i < t->n; i++) {
    const int n = t->at[i] == EINSUM_DOTS ? dots : 1;
    for (int d = n - 1; d >= 0; d--) {
      if (out->rank == TN_EINSUM_RANK) return "a term has too many axes";
      out->label[out->rank++] = t->at[i] == EINSUM_DOTS ? (uint8_t)(TN_EINSUM_LETTERS + d) : t->at[i];
    }
  }
  return NULL;
}
/* Without an arrow: the ellipsis, then the letters that occur once, in order. */
static void einsum_implicit(const einsum_text *in, int n_in, einsum_text *out) {
  int uses[TN_EINSUM_LETTERS] = {0};
  *out = (einsum_text){0};
  for (int i = 0; i < n_in; i++) {
    for (int k = 0; k < in[i].n; k++)
      if (in[i].at[k] != EINSUM_DOTS) uses[in[i].at[k]]++;
    out->dots = out->dots || in[i].dots;
  }
  if (out->dots) out->at[out->n++] = EINSUM_DOTS;
  for (int l = 0; l < TN_EINSUM_LETTERS; l++)
    if (uses[l] == 1 && out->n <= TN_EINSUM_RANK) out->at[out->n++] = (uint8_t)l;
}
static const char *einsum_check_out(const tn_einsum *e) {
  bool have[TN_EINSUM_LABELS] = {false}, seen[TN_EINSUM_LABELS] = {false};
  for (int i = 0; i < e->n_in; i++)
    for (int k = 0; k < e->in[i].rank; k++) have[e->in[i].label[k]] = true;
  for (int k = 0; k < e->out.rank; k++) {
    if (!have[e->out.label[k]]) return "a letter of the result is in no operand";
    if (seen[e->out.label[k]]) return "a letter is twice in the result";
    seen[e->out.label[k]] = true;
  }
  return NULL;
}

const char *tn_einsum_parse(tn_str s, int n_in, const int *ranks, tn_einsum *out) {
  einsum_text in[TN_EINSUM_MAX_IN], result;
  size_t at = 0;
  const char *wrong;
  int dots = -1;
  if (n_in < 1 || n_in > TN_EINSUM_MAX_IN) return "there are too many operands";
  out->n_in = n_in;
  for (int i = 0; i < n_in; i++) {
    if ((wrong = einsum_read(s, &at, &in[i]))) return wrong;
    if (i < n_in - 1 && !(at < s.len && s.ptr[at] == ',')) return "the equation has fewer terms than operands";
    if (i < n_in - 1) at++;
    const int letters = in[i].n - in[i].dots, rest = ranks[i] - letters;
    if (in[i].dots ? rest < 0 : rest != 0) return "a term and its operand differ in rank";
    if (in[i].dots && dots >= 0 && dots != rest) return "the ellipses stand for different numbers of axes";
    if (in[i].dots) dots = rest;
    if ((wrong = einsum_expand(&in[i], rest, &out->in[i]))) return wrong;
  }
  if (at < s.len && s.ptr[at] == ',') return "the equation has more terms than operands";
  if (at < s.len) {
    if (s.len - at < 2 || s.ptr[at + 1] != '>') return "the equation has a '-' without '>'";
    at += 2;
    if ((wrong = einsum_read(s, &at, &result))) return wrong;
    if (at < s.len) return "the equation goes on after the result";
  } else {
    einsum_implicit(in, n_in, &result);
  }
  if (dots > 0 && !result.dots) return "the operands have an ellipsis, the result has none";
  if ((wrong = einsum_expand(&result, dots > 0 ? dots : 0, &out->out))) return wrong;
  return einsum_check_out(out);
}
