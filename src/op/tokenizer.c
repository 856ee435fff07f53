/* Tokenizer of com.microsoft: strings cut at the matches of separators, or into the matches of an expression. */
#include "base/regex.h"
#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"

typedef struct tokenizer_attrs {
  const tn_str *patterns;
  int64_t n;
  bool by_token, by_character; /* matches are the tokens; so is each character */
} tokenizer_attrs;

static tokenizer_attrs tokenizer_read(const tn_attr *separators, const tn_attr *token) {
  if (separators && separators->n > 0)
    return (tokenizer_attrs){separators->strs, separators->n, false,
                             separators->n == 1 && separators->strs[0].len == 0};
  if (token && token->s.len > 0) return (tokenizer_attrs){&token->s, 1, true, tn_str_is(token->s, ".")};
  return (tokenizer_attrs){0};
}

static tn_status tokenizer_compile(tn_ctx *ctx, tn_loc loc, tn_regex_inst *room, tn_str pattern, tn_regex *out) {
  tn_regex_fault fault;
  const tn_status s = tn_regex_compile(pattern, room, out, &fault);
  if (s == TN_OK) return TN_OK;
  return tn_fail(ctx, s, loc, "expression '%.*s', byte %zu: %s", (int)(pattern.len > 40 ? 40 : pattern.len),
                 pattern.ptr, fault.at, fault.text);
}

static tn_status tokenizer_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, TN_STR);
  return TN_OK;
}
static tn_status tokenizer_shape(tn_rule *r) {
  const tokenizer_attrs t = tokenizer_read(tn_rule_attr(r, "separators"), tn_rule_attr(r, "tokenexp"));
  const int64_t shortest = tn_rule_int(r, "mincharnum");
  if (t.n == 0) return tn_rule_fail(r, TN_INVALID, "one of 'separators' and 'tokenexp' is needed");
  if (t.n > 1000) return tn_rule_fail(r, TN_LIMIT, "%lld separators", (long long)t.n);
  if (shortest < 1 || (t.by_character && shortest > 1))
    return tn_rule_fail(r, TN_INVALID, "attribute 'mincharnum' is %lld", (long long)shortest);
  tn_regex_inst *const room = tn_arena_alloc(&r->ctx->arena, TN_REGEX_ROOM, sizeof *room);
  for (int64_t i = 0; !t.by_character && i < t.n; i++) {
    tn_regex regex;
    TN_TRY(tokenizer_compile(r->ctx, r->loc, room, t.patterns[i], &regex));
  }
  TN_TRY(tn_rule_need_rank(r, 0, 1, 2));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *const x = r->in[0];
  tn_sym dims[3] = {x->dims[0], x->dims[x->rank - 1]};
  dims[x->rank] = tn_rule_fresh(r, 0, x->rank, 0, NULL);
  tn_rule_set(r, 0, x->rank + 1, dims);
  return TN_OK;
}

/* --- the oracle --- */

typedef TN_VEC(tn_str) tokenizer_list;

static void tokenizer_keep(tn_eval *e, tokenizer_list *list, const char *from, const char *to) {
  const tn_str s = {from, (size_t)(to - from)};
  int64_t n = 0;
  for (size_t at = 0; at < s.len; n++) (void)tn_utf8_next(s, &at);
  if (n >= tn_eval_int(e, "mincharnum")) tn_vec_push(e->arena, list, s);
}
static void tokenizer_characters(tn_eval *e, tn_str s, tokenizer_list *list) {
  for (size_t at = 0, from = 0; at < s.len; from = at) {
    (void)tn_utf8_next(s, &at);
    tokenizer_keep(e, list, s.ptr + from, s.ptr + at);
  }
}
static void tokenizer_cut(tn_eval *e, const tn_regex *r, bool by_token, tn_str s, tokenizer_list *list) {
  int32_t *const work = TN_NEW_ARRAY(e->arena, int32_t, TN_REGEX_WORK * r->n);
  size_t *const starts = TN_NEW_ARRAY(e->arena, size_t, 2 * r->n), from = 0, begin, end;
  while (from <= s.len && tn_regex_find(r, s, from, work, starts, &begin, &end)) {
    if (by_token)
      tokenizer_keep(e, list, s.ptr + begin, s.ptr + end);
    else
      tokenizer_keep(e, list, s.ptr + from, s.ptr + begin);
    from = end;
    if (end > begin) continue;
    if (from < s.len)
      (void)tn_utf8_next(s, &from);
    else
      from++;
  }
  if (!by_token && from <= s.len) tokenizer_keep(e, list, s.ptr + from, s.ptr + s.len);
}

static tn_status tokenizer_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tokenizer_attrs t = tokenizer_read(tn_eval_attr(e, "separators"), tn_eval_attr(e, "tokenexp"));
  const tn_attr *const pad = tn_eval_attr(e, "pad_value");
  tn_regex_inst *const room = tn_arena_alloc(e->arena, TN_REGEX_ROOM, sizeof *room);
  tokenizer_list *const lists = TN_NEW_ARRAY(e->arena, tokenizer_list, x->count + 1);
  const bool mark = tn_eval_int(e, "mark") != 0;
  size_t most = 0;
  if (x->rank < 1 || x->rank > 2) return tn_eval_fail(e, TN_MISMATCH, "strings of rank %d", x->rank);
  for (int64_t i = 0; i < x->count; i++) {
    const tn_str s = ((const tn_str *)x->data)[i];
    if (t.by_character)
      tokenizer_characters(e, s, &lists[i]);
    else
      tn_vec_push(e->arena, &lists[i], s);
  }
  for (int64_t p = 0; !t.by_character && p < t.n; p++) {
    tn_regex regex;
    TN_TRY(tokenizer_compile(e->ctx, e->loc, room, t.patterns[p], &regex));
    for (int64_t i = 0; i < x->count; i++) {
      const tokenizer_list whole = lists[i];
      lists[i] = (tokenizer_list){0};
      for (size_t k = 0; k < whole.n; k++) tokenizer_cut(e, &regex, t.by_token, whole.at[k], &lists[i]);
    }
  }
  for (int64_t i = 0; i < x->count; i++) most = lists[i].n > most ? lists[i].n : most;
  const size_t row = most > 0 && mark ? most + 2 : most;
  int64_t dims[3] = {x->dims[0], x->dims[x->rank - 1]};
  dims[x->rank] = (int64_t)row;
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, TN_STR, x->rank + 1, dims, &y));
  for (int64_t i = 0; i < x->count; i++) {
    const size_t n = lists[i].n;
    for (size_t c = 0; c < row; c++) {
      const size_t token = mark ? c - 1 : c;
      tn_str *const to = (tn_str *)tn_lit_data(y) + (size_t)i * row + c;
      *to = pad ? pad->s : (tn_str){"", 0};
      if (token < n) *to = lists[i].at[token];
      if (mark && c == 0) *to = (tn_str){"\x02", 1};
      if (mark && c == n + 1) *to = (tn_str){"\x03", 1};
    }
  }
  return TN_OK;
}

TN_OP(tokenizer){
    .name = "tokenizer",
    .in = {{"x", TN_SET(STR)}},
    .out = {{"y", TN_SET(STR)}},
    .attrs = {{"mark", TN_ATTR_INT, .required = true},
              {"mincharnum", TN_ATTR_INT, .required = true},
              {"pad_value", TN_ATTR_STR, .required = true},
              {"separators", TN_ATTR_STRS},
              {"tokenexp", TN_ATTR_STR}},
    .type = tokenizer_type,
    .shape = tokenizer_shape,
    .eval = tokenizer_eval,
    .kernel = "tokenizer",
    .traits = TN_TRAIT_PURE,
    .sizes = TN_SIZES_OPEN,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the tokens of each string along a new last axis, filled up to the longest row",
};

TN_ONNX(ms, Tokenizer, 1, TN_LATEST, tokenizer, tn_import_same)
