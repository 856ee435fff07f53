/* Kernels on strings. Results that are parts of their operands share their bytes. */
#include "base/hash.h"
#include "base/regex.h"
#include "kern/move.h"

static tn_status text_need(tn_kcall *k, int n_in) {
  TN_TRY(tn_k_tensors(k, n_in, 1));
  for (int i = 0; i < n_in; i++)
    if (k->in[i]->dtype != TN_STR) return tn_k_no_dtype(k, i);
  return TN_OK;
}
static const tn_str *text_of(const tn_karg *a) { return a->data; }
static tn_str *text_out(const tn_karg *a) { return a->data; }

/* --- sets of words --- */

typedef struct text_set {
  const tn_str *words;
  int64_t *slots; /* 1 + index of a word, 0 = free */
  uint64_t mask;
} text_set;

static tn_status text_set_make(tn_kcall *k, const tn_str *words, int64_t n, text_set *s) {
  int64_t size = 4;
  void *room;
  while (size < 2 * n) size *= 2;
  TN_TRY(tn_k_room(k, size, sizeof(int64_t), &room));
  *s = (text_set){words, room, (uint64_t)size - 1};
  memset(s->slots, 0, (size_t)size * sizeof *s->slots);
  for (int64_t i = 0; i < n; i++) {
    uint64_t at = tn_hash_bytes(words[i].ptr, words[i].len, 0) & s->mask;
    while (s->slots[at]) at = (at + 1) & s->mask;
    s->slots[at] = i + 1;
  }
  return TN_OK;
}
static bool text_set_has(const text_set *s, tn_str word) {
  for (uint64_t at = tn_hash_bytes(word.ptr, word.len, 0) & s->mask; s->slots[at]; at = (at + 1) & s->mask)
    if (tn_str_eq(s->words[s->slots[at] - 1], word)) return true;
  return false;
}

/* --- string_normalizer --- */

typedef struct text_normal {
  tn_case fold, to;
  bool is_ascii;
  text_set stop;
} text_normal;

/* The stop words, folded. */
static tn_status text_stop_words(tn_kcall *k, text_normal *t) {
  const tn_kattr *const a = tn_k_attr(k, "stopwords");
  const int64_t n = a && a->kind == TN_KATTR_STRS ? a->n : 0;
  void *words;
  TN_TRY(tn_k_room(k, n, sizeof(tn_str), &words));
  tn_str *const folded = words;
  for (int64_t i = 0; i < n; i++) {
    void *room;
    TN_TRY(tn_k_room(k, (int64_t)tn_utf8_case_room(a->strs[i]), 1, &room));
    folded[i] = (tn_str){room, tn_utf8_case(room, a->strs[i], t->fold, t->is_ascii)};
  }
  return text_set_make(k, folded, n, &t->stop);
}

/* Indices of the words that stay. */
static tn_status text_kept(tn_kcall *k, const text_normal *t, const tn_karg *x, int64_t *kept, int64_t *n) {
  size_t longest = 0;
  void *room;
  for (int64_t i = 0; i < x->count; i++)
    if (text_of(x)[i].len > longest) longest = text_of(x)[i].len;
  TN_TRY(tn_k_room(k, (int64_t)longest, TN_UTF8_MAX, &room));
  *n = 0;
  for (int64_t i = 0; i < x->count; i++) {
    const tn_str folded = {room, tn_utf8_case(room, text_of(x)[i], t->fold, t->is_ascii)};
    if (!text_set_has(&t->stop, folded)) kept[(*n)++] = i;
  }
  return TN_OK;
}

TN_KERNEL(string_normalizer, TN_K_SIZES) {
  TN_TRY(text_need(k, 1));
  const tn_karg *const x = k->in[0];
  text_normal t = {.fold = tn_k_int(k, "is_case_sensitive", 0) ? TN_CASE_NONE : TN_CASE_LOWER};
  t.to = tn_k_str_is(k, "case_change_action", "LOWER")   ? TN_CASE_LOWER
         : tn_k_str_is(k, "case_change_action", "UPPER") ? TN_CASE_UPPER
                                                         : TN_CASE_NONE;
  t.is_ascii = tn_k_str_is(k, "locale", "C") || tn_k_str_is(k, "locale", "POSIX");
  if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dims[0] != 1))
    return tn_k_fail(k, TN_MISMATCH, "words of rank %d: [C] or [1, C] is needed", x->rank);
  void *kept_room;
  int64_t n;
  TN_TRY(text_stop_words(k, &t));
  TN_TRY(tn_k_room(k, x->count, sizeof(int64_t), &kept_room));
  TN_TRY(text_kept(k, &t, x, kept_room, &n));
  const int64_t *const kept = kept_room;
  const int64_t most = n > 0 ? n : 1, dims[2] = {x->rank == 2 ? 1 : most, most};
  TN_TRY(tn_k_out(k, 0, x->rank, dims));
  tn_str *const y = text_out(k->out[0]);
  if (n == 0) y[0] = (tn_str){"", 0};
  for (int64_t i = 0; i < n; i++) {
    const tn_str word = y[i] = text_of(x)[kept[i]];
    char *bytes;
    if (t.to == TN_CASE_NONE || word.len == 0) continue;
    TN_TRY(tn_k_string(k, tn_utf8_case_room(word), &bytes));
    y[i] = (tn_str){bytes, tn_utf8_case(bytes, word, t.to, t.is_ascii)};
  }
  return TN_OK;
}

/* --- string_concat --- */

TN_KERNEL(string_concat, TN_K_SIZES) {
  TN_TRY(text_need(k, 2));
  int rank;
  int64_t dims[TN_K_MAX_RANK], steps[2][TN_K_MAX_RANK], index[TN_K_MAX_RANK] = {0};
  TN_TRY(tn_k_bcast(k, k->in, 2, &rank, dims));
  TN_TRY(tn_k_out(k, 0, rank, dims));
  for (int i = 0; i < 2; i++) tn_k_bcast_strides(k->in[i], rank, steps[i]);
  tn_str *const z = text_out(k->out[0]);
  for (int64_t i = 0; i < k->out[0]->count; i++) {
    const tn_str a = text_of(k->in[0])[tn_k_dot(rank, index, steps[0])];
    const tn_str b = text_of(k->in[1])[tn_k_dot(rank, index, steps[1])];
    char *bytes;
    size_t n;
    (void)tn_k_next(rank, dims, index);
    z[i] = a.len ? a : b;
    if (!a.len || !b.len) continue;
    if (!tn_add_size(a.len, b.len, &n)) return tn_k_fail(k, TN_LIMIT, "a string is too long");
    TN_TRY(tn_k_string(k, n, &bytes));
    memcpy(bytes, a.ptr, a.len);
    memcpy(bytes + a.len, b.ptr, b.len);
    z[i] = (tn_str){bytes, n};
  }
  return TN_OK;
}

/* --- string_split --- */

typedef struct text_splitter {
  tn_str s, delimiter;
  size_t at;
  int64_t left; /* cuts that may still be made; < 0: any number */
  bool done;
} text_splitter;

static size_t text_find(tn_str s, size_t at, tn_str what) { /* s.len where there is none */
  while (at < s.len && what.len <= s.len - at) {
    const char *const p = memchr(s.ptr + at, what.ptr[0], s.len - at - what.len + 1);
    if (!p) break;
    if (memcmp(p, what.ptr, what.len) == 0) return (size_t)(p - s.ptr);
    at = (size_t)(p - s.ptr) + 1;
  }
  return s.len;
}

/* Behind the white space (or the text) that begins at `at`. */
static size_t text_skip(tn_str s, size_t at, bool space) {
  while (at < s.len) {
    const unsigned char byte = (unsigned char)s.ptr[at];
    size_t next = at + 1;
    bool is_space = false;
    if (byte <= ' ' || byte >= 0x80) {
      next = at;
      is_space = tn_utf8_is_space(tn_utf8_next(s, &next));
    }
    if (is_space != space) break;
    at = next;
  }
  return at;
}

static bool text_next_piece(text_splitter *t, tn_str *out) {
  size_t begin = t->at, end = t->s.len;
  if (t->done) return false;
  if (t->delimiter.len == 0) begin = text_skip(t->s, begin, true);
  if (t->delimiter.len == 0 && begin == t->s.len) return false;
  if (t->left != 0) {
    end = t->delimiter.len ? text_find(t->s, begin, t->delimiter) : text_skip(t->s, begin, false);
    if (t->left > 0) t->left--;
  }
  *out = (tn_str){t->s.ptr + begin, end - begin};
  t->done = end == t->s.len;
  t->at = end + t->delimiter.len;
  return true;
}

TN_KERNEL(string_split, TN_K_SIZES) {
  TN_TRY(text_need(k, 1));
  const tn_karg *const x = k->in[0];
  const tn_kattr *const by = tn_k_attr(k, "delimiter");
  const text_splitter fresh = {.delimiter = by ? by->s : (tn_str){"", 0}, .left = tn_k_int(k, "maxsplit", -1)};
  int64_t dims[TN_K_MAX_RANK + 1], most = 0;
  void *room;
  TN_TRY(tn_k_room(k, x->count, sizeof(int64_t), &room));
  int64_t *const counts = room;
  for (int64_t i = 0; i < x->count; i++) {
    text_splitter t = fresh;
    tn_str piece;
    t.s = text_of(x)[i];
    for (counts[i] = 0; text_next_piece(&t, &piece);) counts[i]++;
    if (counts[i] > most) most = counts[i];
  }
  for (int d = 0; d < x->rank; d++) dims[d] = x->dims[d];
  dims[x->rank] = most;
  TN_TRY(tn_k_out(k, 0, x->rank + 1, dims));
  TN_TRY(tn_k_out(k, 1, x->rank, dims));
  tn_str *y = text_out(k->out[0]);
  for (int64_t i = 0; i < x->count; i++) {
    text_splitter t = fresh;
    t.s = text_of(x)[i];
    for (int64_t p = 0; p < most; p++, y++)
      if (!text_next_piece(&t, y)) *y = (tn_str){"", 0};
  }
  if (tn_k_outp(k, 1) && x->count > 0) memcpy(k->out[1]->data, counts, (size_t)x->count * sizeof *counts);
  return TN_OK;
}

/* --- regex_full_match --- */

typedef struct text_match {
  tn_regex regex;
  int32_t *work;
  const tn_str *x;
  uint8_t *y;
} text_match;

static void text_match_task(void *arg, int64_t begin, int64_t end, int worker) {
  const text_match *const j = arg;
  int32_t *const work = j->work + (int64_t)worker * TN_REGEX_WORK * j->regex.n;
  for (int64_t i = begin; i < end; i++) j->y[i] = tn_regex_full_match(&j->regex, j->x[i], work);
}

TN_KERNEL(regex_full_match, TN_K_SIZES) {
  TN_TRY(text_need(k, 1));
  TN_TRY(tn_k_out_type(k, 0, TN_BOOL));
  const tn_kattr *const pattern = tn_k_attr(k, "pattern");
  text_match j = {.x = text_of(k->in[0])};
  tn_regex_fault fault;
  void *code, *work;
  if (!pattern || pattern->kind != TN_KATTR_STR) return tn_k_fail(k, TN_INTERNAL, "there is no pattern");
  TN_TRY(tn_k_room(k, TN_REGEX_ROOM, sizeof(tn_regex_inst), &code));
  const tn_status s = tn_regex_compile(pattern->s, code, &j.regex, &fault);
  if (s != TN_OK) return tn_k_fail(k, s, "the pattern, byte %zu: %s", fault.at, fault.text);
  TN_TRY(tn_k_room(k, (int64_t)TN_REGEX_WORK * j.regex.n * tn_pool_threads(k->pool), sizeof(int32_t), &work));
  TN_TRY(tn_k_out(k, 0, k->in[0]->rank, k->in[0]->dims));
  j.work = work;
  j.y = k->out[0]->data;
  tn_pool_for(k->pool, k->in[0]->count, 16, text_match_task, &j);
  return TN_OK;
}
