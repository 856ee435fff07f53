/* Tokenizer of com.microsoft: strings cut at separators, or the matches of an expression in them. Tokens share the
 * bytes of the strings. */
#include "base/regex.h"
#include "kern/move.h"

enum { TOKENIZE_MAX_CODE = 16 * TN_REGEX_ROOM }; /* instructions of all expressions */

typedef struct tokenizer {
  tn_regex *regex; /* of the separators, or the one of the tokens; none: each character is a token */
  int64_t n_regex, shortest;
  bool by_token;
  int32_t *work;
  size_t *starts;
  tn_str *tokens, *spare; /* room for as many as the longest string has bytes */
} tokenizer;

static tn_status tokenize_compile(tn_kcall *k, tokenizer *t, const tn_str *patterns, int64_t n) {
  tn_regex_fault fault;
  void *room, *kept, *regex, *work, *starts;
  int64_t all = 0;
  int32_t most = 0;
  TN_TRY(tn_k_room(k, TN_REGEX_ROOM, sizeof(tn_regex_inst), &room));
  TN_TRY(tn_k_room(k, n, sizeof(tn_regex), &regex));
  t->regex = regex;
  t->n_regex = n;
  for (int64_t i = 0; i < n; i++) {
    tn_regex it;
    const tn_status s = tn_regex_compile(patterns[i], room, &it, &fault);
    if (s != TN_OK) return tn_k_fail(k, s, "expression %lld, byte %zu: %s", (long long)i, fault.at, fault.text);
    all += it.n;
    if (all > TOKENIZE_MAX_CODE) return tn_k_fail(k, TN_LIMIT, "the expressions are too large");
    TN_TRY(tn_k_room(k, it.n, sizeof(tn_regex_inst), &kept));
    memcpy(kept, it.code, (size_t)it.n * sizeof *it.code);
    t->regex[i] = (tn_regex){kept, it.n};
    if (it.n > most) most = it.n;
  }
  TN_TRY(tn_k_room(k, (int64_t)TN_REGEX_WORK * most, sizeof(int32_t), &work));
  TN_TRY(tn_k_room(k, (int64_t)2 * most, sizeof(size_t), &starts));
  t->work = work;
  t->starts = starts;
  return TN_OK;
}

static tn_status tokenize_prepare(tn_kcall *k, tokenizer *t) {
  const tn_kattr *const separators = tn_k_attr(k, "separators"), *const token = tn_k_attr(k, "tokenexp");
  const bool has_separators = separators && separators->kind == TN_KATTR_STRS && separators->n > 0;
  const bool has_token = token && token->kind == TN_KATTR_STR && token->s.len > 0;
  if (!has_separators && !has_token) return tn_k_fail(k, TN_INTERNAL, "there are no separators");
  t->shortest = tn_k_int(k, "mincharnum", 1);
  t->by_token = !has_separators;
  if (has_separators && separators->n == 1 && separators->strs[0].len == 0) return TN_OK;
  if (!has_separators && tn_str_is(token->s, ".")) return TN_OK;
  return has_separators ? tokenize_compile(k, t, separators->strs, separators->n)
                        : tokenize_compile(k, t, &token->s, 1);
}

static void tokenize_add(const tokenizer *t, tn_str s, tn_str *out, int64_t *n) {
  int64_t characters = 0;
  for (size_t at = 0; at < s.len && characters < t->shortest; characters++) (void)tn_utf8_next(s, &at);
  if (s.len > 0 && characters >= t->shortest) out[(*n)++] = s;
}

/* The matches of an expression in s, or what is between them. A match of nothing takes the character that follows. */
static void tokenize_cut(const tokenizer *t, const tn_regex *r, tn_str s, tn_str *out, int64_t *n) {
  size_t from = 0, begin, end;
  while (tn_regex_find(r, s, from, t->work, t->starts, &begin, &end)) {
    const tn_str matched = {s.ptr + begin, end - begin}, before = {s.ptr + from, begin - from};
    tokenize_add(t, t->by_token ? matched : before, out, n);
    if (end == begin && end < s.len)
      (void)tn_utf8_next(s, &end);
    else if (end == begin)
      end++;
    from = end;
    if (from > s.len) break;
  }
  if (!t->by_token && from < s.len) tokenize_add(t, (tn_str){s.ptr + from, s.len - from}, out, n);
}

/* The tokens of s in t->tokens. */
static int64_t tokenize_one(tokenizer *t, tn_str s) {
  int64_t n = 0;
  if (!t->regex) {
    for (size_t at = 0, from = 0; at < s.len; from = at) {
      (void)tn_utf8_next(s, &at);
      t->tokens[n++] = (tn_str){s.ptr + from, at - from};
    }
    return n;
  }
  if (s.len > 0) t->tokens[n++] = s;
  for (int64_t i = 0; i < t->n_regex; i++) {
    int64_t cut = 0;
    for (int64_t p = 0; p < n; p++) tokenize_cut(t, &t->regex[i], t->tokens[p], t->spare, &cut);
    tn_str *const last = t->tokens;
    t->tokens = t->spare;
    t->spare = last;
    n = cut;
  }
  return n;
}

TN_KERNEL(tokenizer, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 1, 1));
  const tn_karg *const x = k->in[0];
  const tn_kattr *const pad = tn_k_attr(k, "pad_value");
  const tn_str filler = pad ? pad->s : (tn_str){"", 0};
  const bool mark = tn_k_int(k, "mark", 0) != 0;
  tokenizer t = {0};
  int64_t most = 0;
  size_t longest = 0;
  void *tokens, *spare;
  if (x->dtype != TN_STR) return tn_k_no_dtype(k, 0);
  if (x->rank < 1 || x->rank > 2) return tn_k_fail(k, TN_MISMATCH, "strings of rank %d, expected 1 or 2", x->rank);
  TN_TRY(tokenize_prepare(k, &t));
  const tn_str *const strings = x->data;
  for (int64_t i = 0; i < x->count; i++) longest = strings[i].len > longest ? strings[i].len : longest;
  TN_TRY(tn_k_room(k, (int64_t)longest, sizeof(tn_str), &tokens));
  TN_TRY(tn_k_room(k, (int64_t)longest, sizeof(tn_str), &spare));
  t.tokens = tokens;
  t.spare = spare;
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t n = tokenize_one(&t, strings[i]);
    most = n > most ? n : most;
  }
  const int64_t row = most > 0 && mark ? most + 2 : most;
  int64_t dims[3] = {x->dims[0], x->dims[x->rank - 1]};
  dims[x->rank] = row;
  TN_TRY(tn_k_out(k, 0, x->rank + 1, dims));
  tn_str *y = k->out[0]->data;
  for (int64_t i = 0; row > 0 && i < x->count; i++, y += row) {
    const int64_t n = tokenize_one(&t, strings[i]);
    int64_t at = 0;
    if (mark) y[at++] = (tn_str){"\x02", 1};
    for (int64_t p = 0; p < n; p++) y[at++] = t.tokens[p];
    if (mark) y[at++] = (tn_str){"\x03", 1};
    while (at < row) y[at++] = filler;
  }
  return TN_OK;
}
