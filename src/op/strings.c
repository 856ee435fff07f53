/* Strings: StringNormalizer, StringConcat, StringSplit, RegexFullMatch, TfIdfVectorizer. */
#include "base/regex.h"
#include "op/move.h"

static const tn_str *strings_of(const tn_lit *l) { return l->data; }
static tn_str *strings_out(tn_lit *l) { return tn_lit_data(l); }

static tn_status strings_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, TN_STR);
  return TN_OK;
}

/* --- string_normalizer --- */

static bool strings_attr_case(const tn_attr *a, tn_case *out) {
  *out = TN_CASE_NONE;
  if (!a || a->s.len == 0 || tn_str_is(a->s, "NONE")) return true;
  *out = tn_str_is(a->s, "LOWER") ? TN_CASE_LOWER : TN_CASE_UPPER;
  return *out == TN_CASE_LOWER || tn_str_is(a->s, "UPPER");
}

/* Languages whose letters change case by rules of their own. */
static bool strings_locale_done(const tn_attr *a) {
  static const char *const own[] = {"tr", "az", "lt"};
  for (int i = 0; a && i < 3; i++)
    if (a->s.len >= 2 && memcmp(a->s.ptr, own[i], 2) == 0 && (a->s.len == 2 || strchr("_-.@", a->s.ptr[2])))
      return false;
  return true;
}

static tn_status normalizer_shape(tn_rule *r) {
  tn_symtab *const t = r->syms;
  const tn_attr *const stop = tn_rule_attr(r, "stopwords"), *const locale = tn_rule_attr(r, "locale");
  tn_case to;
  if (!strings_attr_case(tn_rule_attr(r, "case_change_action"), &to))
    return tn_rule_fail(r, TN_INVALID, "unknown case_change_action");
  if (!strings_locale_done(locale))
    return tn_rule_fail(r, TN_UNSUPPORTED, "case rules of locale '%.*s'",
                        (int)(locale->s.len > 20 ? 20 : locale->s.len), locale->s.ptr);
  TN_TRY(tn_rule_need_rank(r, 0, 1, 2));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *const x = r->in[0];
  const tn_sym one = tn_sym_int(t, 1), most = tn_sym_max(t, x->dims[x->rank - 1], one);
  tn_sym dims[2] = {one, NULL};
  if (x->rank == 2) TN_TRY(tn_rule_unify(r, x->dims[0], one, "the number of rows and 1", 0, NULL));
  dims[x->rank - 1] = stop && stop->n > 0 ? tn_rule_fresh(r, 0, x->rank - 1, 1, most) : most;
  tn_rule_set(r, 0, x->rank, dims);
  return TN_OK;
}

static tn_str normalizer_turn(tn_arena *a, tn_str s, tn_case to, bool is_ascii) {
  char *const out = tn_arena_alloc(a, tn_utf8_case_room(s) + 1, 1);
  return (tn_str){out, tn_utf8_case(out, s, to, is_ascii)};
}

static tn_status normalizer_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_attr *const stop = tn_eval_attr(e, "stopwords");
  const bool is_ascii = tn_eval_str_is(e, "locale", "C") || tn_eval_str_is(e, "locale", "POSIX");
  const tn_case fold = tn_eval_int(e, "is_case_sensitive") ? TN_CASE_NONE : TN_CASE_LOWER;
  tn_case to;
  if (!strings_attr_case(tn_eval_attr(e, "case_change_action"), &to) || x->rank < 1 || x->rank > 2)
    return tn_eval_fail(e, TN_INVALID, "words of rank %d, or an unknown case_change_action", x->rank);
  tn_str *const kept = TN_NEW_ARRAY(e->arena, tn_str, x->count + 1);
  int64_t n = 0;
  for (int64_t i = 0; i < x->count; i++) {
    const tn_str word = strings_of(x)[i], folded = normalizer_turn(e->arena, word, fold, is_ascii);
    bool stopped = false;
    for (int64_t s = 0; stop && s < stop->n && !stopped; s++)
      stopped = tn_str_eq(folded, normalizer_turn(e->arena, stop->strs[s], fold, is_ascii));
    if (!stopped) kept[n++] = normalizer_turn(e->arena, word, to, is_ascii);
  }
  if (n == 0) kept[n++] = (tn_str){"", 0};
  const int64_t dims[2] = {x->rank == 2 ? 1 : n, n};
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, TN_STR, x->rank, dims, &y));
  for (int64_t i = 0; i < n; i++) strings_out(y)[i] = kept[i];
  return TN_OK;
}
TN_OP(string_normalizer){
    .name = "string_normalizer",
    .in = {{"x", TN_SET(STR)}},
    .out = {{"y", TN_SET(STR)}},
    .attrs = {{"case_change_action", TN_ATTR_STR, .s = "NONE"},
              {"is_case_sensitive", TN_ATTR_INT, .has_default = true},
              {"locale", TN_ATTR_STR},
              {"stopwords", TN_ATTR_STRS}},
    .type = strings_type,
    .shape = normalizer_shape,
    .eval = normalizer_eval,
    .kernel = "string_normalizer",
    .traits = TN_TRAIT_PURE,
    .sizes = TN_SIZES_BOUND,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the words that are no stop words, in another case; one empty word when none is left",
};

/* --- string_concat --- */

static tn_status string_concat_eval(tn_eval *e) {
  const tn_lit *const a = e->in[0];
  const tn_lit *const b = e->in[1];
  int rank;
  int64_t dims[TN_MAX_RANK];
  tn_lit *y;
  TN_TRY(tn_eval_bcast(e, a->rank, a->dims, b->rank, b->dims, &rank, dims));
  TN_TRY(tn_eval_out(e, 0, TN_STR, rank, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    const tn_str left = strings_of(a)[tn_bcast_index(i, rank, dims, a->rank, a->dims)];
    const tn_str right = strings_of(b)[tn_bcast_index(i, rank, dims, b->rank, b->dims)];
    char *const text = tn_arena_alloc(e->arena, left.len + right.len + 1, 1);
    if (left.len) memcpy(text, left.ptr, left.len);
    if (right.len) memcpy(text + left.len, right.ptr, right.len);
    strings_out(y)[i] = (tn_str){text, left.len + right.len};
  }
  return TN_OK;
}
TN_OP(string_concat){
    .name = "string_concat",
    .in = {{"x", TN_SET(STR), "T"}, {"y", TN_SET(STR), "T"}},
    .out = {{"z", TN_SET(STR), "T"}},
    .type = tn_type_as_input,
    .shape = tn_shape_broadcast,
    .eval = string_concat_eval,
    .kernel = "string_concat",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "x followed by y, with broadcasting",
};

/* --- string_split --- */

static tn_status string_split_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, TN_STR);
  if (r->n_out > 1) tn_rule_set_dtype(r, 1, TN_I64);
  return TN_OK;
}
static tn_status string_split_shape(tn_rule *r) {
  const tn_attr *const max = tn_rule_attr(r, "maxsplit");
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  TN_TRY(tn_rule_need_rank(r, 0, 0, TN_MAX_RANK - 1));
  const tn_type *const x = r->in[0];
  const bool bounded = max && max->i >= 0 && max->i < INT64_MAX;
  tn_sym *const dims = tn_rule_dims(r, x->rank + 1);
  for (int i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  dims[x->rank] = tn_rule_fresh(r, 0, x->rank, 0, bounded ? tn_sym_int(r->syms, max->i + 1) : NULL);
  tn_rule_set(r, 0, x->rank + 1, dims);
  if (r->n_out > 1) tn_rule_set(r, 1, x->rank, x->dims);
  return TN_OK;
}

/* Python's str.split: pieces of s into `out` (room for s.len + 1); no delimiter: runs of white space, none at the ends
 * except behind the last piece that the limit allows. */
static int64_t string_split_pieces(tn_str s, tn_str delimiter, int64_t limit, tn_str *out) {
  int64_t n = 0;
  size_t at = 0, begin = 0;
  if (delimiter.len > 0) {
    while (n != limit && s.len >= delimiter.len && at <= s.len - delimiter.len) {
      if (memcmp(s.ptr + at, delimiter.ptr, delimiter.len) != 0) {
        at++;
        continue;
      }
      out[n++] = (tn_str){s.ptr + begin, at - begin};
      begin = at += delimiter.len;
    }
    out[n++] = (tn_str){s.ptr + begin, s.len - begin};
    return n;
  }
  bool inside = false;
  while (at < s.len) {
    const size_t from = at;
    const bool space = tn_utf8_is_space(tn_utf8_next(s, &at));
    if (!space && !inside) {
      begin = from;
      if (n == limit) return out[n++] = (tn_str){s.ptr + begin, s.len - begin}, n;
    }
    if (space && inside) out[n++] = (tn_str){s.ptr + begin, from - begin};
    inside = !space;
  }
  if (inside) out[n++] = (tn_str){s.ptr + begin, s.len - begin};
  return n;
}

static tn_status string_split_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_attr *const max = tn_eval_attr(e, "maxsplit"), *const by = tn_eval_attr(e, "delimiter");
  tn_str **const pieces = TN_NEW_ARRAY(e->arena, tn_str *, x->count);
  int64_t *const counts = TN_NEW_ARRAY(e->arena, int64_t, x->count), dims[TN_MAX_RANK], most = 0;
  tn_lit *y, *z;
  if (x->rank >= TN_MAX_RANK) return tn_eval_fail(e, TN_LIMIT, "a tensor of rank %d", x->rank);
  for (int64_t i = 0; i < x->count; i++) {
    pieces[i] = TN_NEW_ARRAY(e->arena, tn_str, strings_of(x)[i].len + 1);
    counts[i] = string_split_pieces(strings_of(x)[i], by ? by->s : (tn_str){"", 0}, max ? max->i : -1, pieces[i]);
    if (counts[i] > most) most = counts[i];
  }
  for (int i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  dims[x->rank] = most;
  TN_TRY(tn_eval_out(e, 0, TN_STR, x->rank + 1, dims, &y));
  for (int64_t i = 0; i < x->count; i++)
    for (int64_t p = 0; p < most; p++) strings_out(y)[i * most + p] = p < counts[i] ? pieces[i][p] : (tn_str){"", 0};
  if (e->n_out < 2) return TN_OK;
  TN_TRY(tn_eval_out(e, 1, TN_I64, x->rank, dims, &z));
  for (int64_t i = 0; i < x->count; i++) tn_store_i64(TN_I64, tn_lit_data(z), i, counts[i]);
  return TN_OK;
}
TN_OP(string_split){
    .name = "string_split",
    .in = {{"x", TN_SET(STR)}},
    .out = {{"y", TN_SET(STR)}, {"z", TN_SET(I64)}},
    .attrs = {{"delimiter", TN_ATTR_STR}, {"maxsplit", TN_ATTR_INT}},
    .type = string_split_type,
    .shape = string_split_shape,
    .eval = string_split_eval,
    .kernel = "string_split",
    .traits = TN_TRAIT_PURE,
    .sizes = TN_SIZES_BOUND,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the pieces of each string, filled up with empty ones to the longest row, and their numbers",
};

/* --- regex_full_match --- */

static tn_status regex_match_compile(tn_ctx *ctx, tn_loc loc, tn_arena *a, const tn_attr *pattern, tn_regex *out) {
  tn_regex_fault fault;
  if (!pattern) return tn_fail(ctx, TN_INVALID, loc, "attribute 'pattern' is missing");
  tn_regex_inst *const room = tn_arena_alloc(a, TN_REGEX_ROOM, sizeof *room);
  const tn_status s = tn_regex_compile(pattern->s, room, out, &fault);
  if (s == TN_OK) return TN_OK;
  return tn_fail(ctx, s, loc, "attribute 'pattern', byte %zu: %s", fault.at, fault.text);
}
static tn_status regex_match_shape(tn_rule *r) {
  tn_regex compiled;
  TN_TRY(regex_match_compile(r->ctx, r->loc, &r->ctx->arena, tn_rule_attr(r, "pattern"), &compiled));
  return tn_shape_as_input(r);
}
static tn_status regex_match_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  tn_regex compiled;
  tn_lit *y;
  TN_TRY(regex_match_compile(e->ctx, e->loc, e->arena, tn_eval_attr(e, "pattern"), &compiled));
  int32_t *const work = TN_NEW_ARRAY(e->arena, int32_t, TN_REGEX_WORK * compiled.n);
  TN_TRY(tn_eval_out(e, 0, TN_BOOL, x->rank, x->dims, &y));
  for (int64_t i = 0; i < x->count; i++)
    tn_store_i64(TN_BOOL, tn_lit_data(y), i, tn_regex_full_match(&compiled, strings_of(x)[i], work));
  return TN_OK;
}
TN_OP(regex_full_match){
    .name = "regex_full_match",
    .in = {{"x", TN_SET(STR)}},
    .out = {{"y", TN_SET(BOOL)}},
    .attrs = {{"pattern", TN_ATTR_STR, .required = true}},
    .type = tn_type_bool,
    .shape = regex_match_shape,
    .eval = regex_match_eval,
    .kernel = "regex_full_match",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "does the whole string match the regular expression (RE2's syntax)",
};

/* --- tf_idf_vectorizer --- */

typedef struct tfidf_attrs {
  const tn_attr *counts, *indexes, *weights, *ints, *strs;
  int64_t shortest, longest, skips, columns;
} tfidf_attrs;

static tn_status tfidf_fail(tn_ctx *ctx, tn_loc loc, const char *what) {
  return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' does not fit the others", what);
}

/* Checks that the pool divides into as many n-grams as there are indexes. */
static tn_status tfidf_check(tn_ctx *ctx, tn_loc loc, tfidf_attrs *t) {
  const int64_t pool = t->strs ? t->strs->n : t->ints ? t->ints->n : -1;
  int64_t grams = 0;
  if (pool < 0 || (t->strs && t->ints && t->strs->n > 0 && t->ints->n > 0))
    return tfidf_fail(ctx, loc, "pool_int64s or pool_strings");
  if (!t->counts || !t->indexes || t->shortest < 1 || t->longest < t->shortest || t->longest > t->counts->n)
    return tfidf_fail(ctx, loc, "max_gram_length");
  if (t->skips < 0) return tfidf_fail(ctx, loc, "max_skip_count");
  for (int64_t i = 0; i < t->counts->n; i++) {
    const int64_t begin = t->counts->ints[i], end = i + 1 < t->counts->n ? t->counts->ints[i + 1] : pool;
    if (begin < 0 || begin > end || end > pool || (end - begin) % (i + 1) != 0 || (i == 0 && begin != 0))
      return tfidf_fail(ctx, loc, "ngram_counts");
    grams += (end - begin) / (i + 1);
  }
  if (grams != t->indexes->n) return tfidf_fail(ctx, loc, "ngram_indexes");
  for (int64_t i = 0; i < grams; i++) {
    const int64_t at = t->indexes->ints[i];
    if (at < 0 || at > INT32_MAX) return tfidf_fail(ctx, loc, "ngram_indexes");
    if (at >= t->columns) t->columns = at + 1;
  }
  if (t->weights && t->weights->n > 0 && t->weights->n != grams) return tfidf_fail(ctx, loc, "weights");
  return TN_OK;
}

static tn_status tfidf_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, TN_F32);
  return TN_OK;
}
static tn_status tfidf_shape(tn_rule *r) {
  tfidf_attrs t = {.counts = tn_rule_attr(r, "ngram_counts"),
                   .indexes = tn_rule_attr(r, "ngram_indexes"),
                   .weights = tn_rule_attr(r, "weights"),
                   .ints = tn_rule_attr(r, "pool_int64s"),
                   .strs = tn_rule_attr(r, "pool_strings"),
                   .shortest = tn_rule_int(r, "min_gram_length"),
                   .longest = tn_rule_int(r, "max_gram_length"),
                   .skips = tn_rule_int(r, "max_skip_count")};
  TN_TRY(tfidf_check(r->ctx, r->loc, &t));
  if (!tn_rule_str_is(r, "mode", "TF") && !tn_rule_str_is(r, "mode", "IDF") && !tn_rule_str_is(r, "mode", "TFIDF"))
    return tn_rule_fail(r, TN_INVALID, "unknown mode");
  if (t.strs && t.strs->n > 0 && r->in[0]->dtype != TN_STR && r->in[0]->dtype)
    return tn_rule_fail(r, TN_MISMATCH, "a pool of strings for %s", tn_dtype_name(r->in[0]->dtype));
  if (t.ints && t.ints->n > 0 && r->in[0]->dtype == TN_STR)
    return tn_rule_fail(r, TN_MISMATCH, "a pool of integers for strings");
  TN_TRY(tn_rule_need_rank(r, 0, 1, 2));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const int rank = r->in[0]->rank;
  tn_sym dims[2] = {r->in[0]->dims[0], NULL};
  dims[rank - 1] = tn_sym_int(r->syms, t.columns);
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}

static bool tfidf_same(const tn_lit *x, int64_t at, const tfidf_attrs *t, int64_t pool) {
  if (x->dtype == TN_STR) return t->strs && pool < t->strs->n && tn_str_eq(strings_of(x)[at], t->strs->strs[pool]);
  return t->ints && pool < t->ints->n && tn_lit_i64_at(x, at) == t->ints->ints[pool];
}

/* How often the n items of the pool at `gram` stand in a row of c items, `skip` apart. */
static int64_t tfidf_count(const tn_lit *x, int64_t row, int64_t c, const tfidf_attrs *t, int64_t gram, int64_t n,
                           int64_t skip) {
  int64_t found = 0;
  for (int64_t at = 0; at < c && (n == 1 || (c - 1 - at) / (n - 1) >= skip); at++) {
    bool same = true;
    for (int64_t i = 0; i < n && same; i++) same = tfidf_same(x, row * c + at + i * skip, t, gram + i);
    found += same;
  }
  return found;
}

static tn_status tfidf_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  tfidf_attrs t = {.counts = tn_eval_attr(e, "ngram_counts"),
                   .indexes = tn_eval_attr(e, "ngram_indexes"),
                   .weights = tn_eval_attr(e, "weights"),
                   .ints = tn_eval_attr(e, "pool_int64s"),
                   .strs = tn_eval_attr(e, "pool_strings"),
                   .shortest = tn_eval_int(e, "min_gram_length"),
                   .longest = tn_eval_int(e, "max_gram_length"),
                   .skips = tn_eval_int(e, "max_skip_count")};
  TN_TRY(tfidf_check(e->ctx, e->loc, &t));
  if (x->rank < 1 || x->rank > 2) return tn_eval_fail(e, TN_MISMATCH, "a tensor of rank %d", x->rank);
  const int64_t c = x->dims[x->rank - 1], rows = x->rank == 2 ? x->dims[0] : 1, pool = t.strs ? t.strs->n : t.ints->n;
  const int64_t dims[2] = {x->rank == 2 ? rows : t.columns, t.columns};
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, TN_F32, x->rank, dims, &y));
  for (int64_t row = 0; row < rows; row++)
    for (int64_t n = 1, gram = 0; n <= t.longest; n++) {
      const int64_t end = n < t.counts->n ? t.counts->ints[n] : pool;
      for (int64_t at = t.counts->ints[n - 1]; at < end; at += n, gram++) {
        const int64_t cell = row * t.columns + t.indexes->ints[gram];
        for (int64_t skip = 1; n >= t.shortest && skip - 1 <= (n == 1 ? 0 : t.skips) && skip <= c; skip++)
          tn_store_f64(TN_F32, tn_lit_data(y), cell,
                       tn_lit_f64(y, cell) + (double)tfidf_count(x, row, c, &t, at, n, skip));
      }
    }
  if (tn_eval_str_is(e, "mode", "TF")) return TN_OK;
  const bool idf = tn_eval_str_is(e, "mode", "IDF");
  for (int64_t i = 0; i < y->count; i++) {
    double w = 1;
    for (int64_t g = 0; t.weights && g < t.weights->n; g++)
      if (t.indexes->ints[g] == i % t.columns) w = t.weights->floats[g];
    const double v = tn_lit_f64(y, i);
    tn_store_f64(TN_F32, tn_lit_data(y), i, idf ? (v > 0 ? w : 0) : v * w);
  }
  return TN_OK;
}
TN_OP(tf_idf_vectorizer){
    .name = "tf_idf_vectorizer",
    .in = {{"x", TN_SET(STR) | TN_SET(I32) | TN_SET(I64)}},
    .out = {{"y", TN_SET(F32)}},
    .attrs = {{"max_gram_length", TN_ATTR_INT, .required = true},
              {"max_skip_count", TN_ATTR_INT, .required = true},
              {"min_gram_length", TN_ATTR_INT, .required = true},
              {"mode", TN_ATTR_STR, .required = true},
              {"ngram_counts", TN_ATTR_INTS, .required = true},
              {"ngram_indexes", TN_ATTR_INTS, .required = true},
              {"pool_int64s", TN_ATTR_INTS},
              {"pool_strings", TN_ATTR_STRS},
              {"weights", TN_ATTR_FLOATS}},
    .type = tfidf_type,
    .shape = tfidf_shape,
    .eval = tfidf_eval,
    .kernel = "tf_idf_vectorizer",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-6},
    .doc = "how often the n-grams of a pool occur in each row, weighted on demand",
};

/* clang-format off */
TN_ONNX(ai, StringNormalizer, 10, TN_LATEST, string_normalizer, tn_import_same)
TN_ONNX(ai, StringConcat, 20, TN_LATEST, string_concat, tn_import_same)
TN_ONNX(ai, StringSplit, 20, TN_LATEST, string_split, tn_import_same)
TN_ONNX(ai, RegexFullMatch, 20, TN_LATEST, regex_full_match, tn_import_same)
TN_ONNX(ai, TfIdfVectorizer, 9, TN_LATEST, tf_idf_vectorizer, tn_import_same)
