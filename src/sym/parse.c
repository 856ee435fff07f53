/* Text to expressions: Python's precedence for or, and, not, comparisons (chains too), + -, * // %, unary minus. */
#include <math.h>

#include "sym/node.h"

/* With `dry`, names are not looked up and become 1: for checking a text without adding its symbols. */
typedef struct parser {
  tn_symtab *t;
  tn_scan *s;
  bool dry;
} parser;

typedef TN_VEC(tn_sym) parse_args;

static tn_status parse_or(parser *p, tn_sym *out);

static tn_status parse_deeper(parser *p, tn_sym *out) {
  if (p->s->depth >= TN_SYM_PARSE_DEPTH) {
    const tn_loc loc = {.kind = "line", .index = p->s->tok.line};
    return tn_fail(p->t->ctx, TN_LIMIT, loc, "expression nested more than %d deep", TN_SYM_PARSE_DEPTH);
  }
  p->s->depth++;
  const tn_status s = parse_or(p, out);
  p->s->depth--;
  return s;
}

static tn_status parse_float(parser *p, float *out) {
  const bool minus = tn_scan_take(p->s, "-");
  double v = 0;
  if (p->s->tok.kind == TN_TOK_INT) {
    v = (double)p->s->tok.i;
  } else if (p->s->tok.kind == TN_TOK_FLOAT) {
    v = p->s->tok.f;
  } else if (tn_scan_at(p->s, "inf")) {
    v = (double)INFINITY;
  } else if (tn_scan_at(p->s, "nan")) {
    v = (double)NAN;
  } else {
    return tn_scan_fail(p->s, "a float");
  }
  tn_scan_next(p->s);
  *out = (float)(minus ? -v : v);
  return TN_OK;
}

static tn_status parse_scale(parser *p, tn_sym *out) {
  tn_sym a = NULL;
  float c = 0;
  TN_TRY(parse_deeper(p, &a));
  TN_TRY(tn_scan_need(p->s, ","));
  TN_TRY(parse_float(p, &c));
  *out = tn_sym_f32scale(p->t, a, c);
  return tn_scan_need(p->s, ")");
}

typedef struct parse_function {
  const char *name;
  tn_sym_kind kind;
  size_t min_args, max_args;
} parse_function;

static const parse_function parse_functions[] = {
    {"min", TN_SYM_MIN, 1, SIZE_MAX},    {"max", TN_SYM_MAX, 1, SIZE_MAX}, {"bcast", TN_SYM_BCAST, 1, SIZE_MAX},
    {"ceildiv", TN_SYM_CEILDIV, 2, 2},   {"select", TN_SYM_SELECT, 3, 3},  {"f32scale", TN_SYM_F32SCALE, 2, 2},
    {"f32ratio", TN_SYM_F32RATIO, 3, 3},
};

static tn_sym parse_apply(tn_symtab *t, tn_sym_kind kind, const parse_args *v) {
  switch (kind) {
    case TN_SYM_CEILDIV:
      return tn_sym_ceildiv(t, v->at[0], v->at[1]);
    case TN_SYM_F32RATIO:
      return tn_sym_f32ratio(t, v->at[0], v->at[1], v->at[2]);
    case TN_SYM_SELECT:
      return tn_sym_select(t, v->at[0], v->at[1], v->at[2]);
    default:
      return tn_sym_lattice(t, kind, v->at, v->n);
  }
}

/* The current token is the opening parenthesis. */
static tn_status parse_call(parser *p, tn_str name, tn_sym *out) {
  const parse_function *f = NULL;
  parse_args v = {0};
  for (size_t i = 0; i < TN_COUNT(parse_functions); i++)
    if (tn_str_is(name, parse_functions[i].name)) f = &parse_functions[i];
  if (!f) return tn_scan_fail(p->s, "an operator (that name is no function)");
  tn_scan_next(p->s);
  if (f->kind == TN_SYM_F32SCALE) return parse_scale(p, out);
  do {
    tn_sym a = NULL;
    TN_TRY(parse_deeper(p, &a));
    tn_vec_push(p->t->arena, &v, a);
  } while (v.n < f->max_args && tn_scan_take(p->s, ","));
  if (v.n < f->min_args) return tn_scan_fail(p->s, "`,` and another argument");
  TN_TRY(tn_scan_need(p->s, ")"));
  *out = parse_apply(p->t, f->kind, &v);
  return TN_OK;
}

static tn_status parse_symbol(parser *p, tn_sym *out) {
  const tn_str text = p->s->tok.text;
  if (memchr(text.ptr, 0, text.len)) return tn_scan_fail(p->s, "a name without a zero byte");
  const char *const name = tn_ctx_name(p->t->ctx, text);
  *out = p->dry ? p->t->one : tn_sym_fixed(p->t, tn_sym_add_symbol(p->t, name)->var);
  tn_scan_next(p->s);
  return TN_OK;
}

static tn_status parse_primary(parser *p, tn_sym *out) {
  tn_scan *const s = p->s;
  if (s->tok.kind == TN_TOK_INT) {
    *out = tn_sym_int(p->t, s->tok.i);
    tn_scan_next(s);
    return TN_OK;
  }
  if (s->tok.kind == TN_TOK_STRING) return parse_symbol(p, out);
  if (tn_scan_take(s, "overflow")) {
    *out = p->t->overflow;
    return TN_OK;
  }
  if (s->tok.kind == TN_TOK_NAME) {
    tn_scan ahead = *s;
    tn_scan_next(&ahead);
    if (tn_scan_at(&ahead, "(")) {
      const tn_str name = s->tok.text;
      tn_scan_next(s);
      return parse_call(p, name, out);
    }
    if (!tn_sym_is_word(s->tok.text)) return parse_symbol(p, out);
  }
  if (!tn_scan_take(s, "(")) return tn_scan_fail(s, "an expression");
  TN_TRY(parse_deeper(p, out));
  return tn_scan_need(s, ")");
}

static tn_status parse_unary(parser *p, tn_sym *out) {
  bool minus = false;
  while (tn_scan_take(p->s, "-")) minus = !minus;
  TN_TRY(parse_primary(p, out));
  if (minus) *out = tn_sym_neg(p->t, *out);
  return TN_OK;
}

/* Runs of * are multiplied at once, so that a long product is built in one go. */
static tn_status parse_product(parser *p, tn_sym *out) {
  parse_args v = {0};
  tn_sym a = NULL;
  TN_TRY(parse_unary(p, &a));
  for (;;) {
    const bool times = tn_scan_at(p->s, "*"), div = tn_scan_at(p->s, "//"), mod = tn_scan_at(p->s, "%");
    if (!times && !div && !mod && v.n == 0) break;
    tn_vec_push(p->t->arena, &v, a);
    if (times) {
      tn_scan_next(p->s);
      TN_TRY(parse_unary(p, &a));
      continue;
    }
    a = v.n == 1 ? v.at[0] : tn_sym_product(p->t, v.at, v.n);
    v.n = 0;
    if (!div && !mod) break;
    tn_sym b = NULL;
    tn_scan_next(p->s);
    TN_TRY(parse_unary(p, &b));
    a = div ? tn_sym_floordiv(p->t, a, b) : tn_sym_mod(p->t, a, b);
  }
  *out = a;
  return TN_OK;
}

static tn_status parse_sum(parser *p, tn_sym *out) {
  parse_args v = {0};
  TN_TRY(parse_product(p, out));
  while (tn_scan_at(p->s, "+") || tn_scan_at(p->s, "-")) {
    const bool minus = tn_scan_at(p->s, "-");
    tn_sym a = NULL;
    if (v.n == 0) tn_vec_push(p->t->arena, &v, *out);
    tn_scan_next(p->s);
    TN_TRY(parse_product(p, &a));
    tn_vec_push(p->t->arena, &v, minus ? tn_sym_neg(p->t, a) : a);
  }
  if (v.n > 0) *out = tn_sym_sum(p->t, v.at, v.n);
  return TN_OK;
}

static tn_sym_kind parse_comparison(tn_scan *s, bool *swap, bool *negate) {
  *swap = tn_scan_at(s, ">") || tn_scan_at(s, ">=");
  *negate = tn_scan_at(s, "!=");
  if (tn_scan_at(s, "==") || *negate) return TN_SYM_EQ;
  if (tn_scan_at(s, "<") || tn_scan_at(s, ">")) return TN_SYM_LT;
  if (tn_scan_at(s, "<=") || tn_scan_at(s, ">=")) return TN_SYM_LE;
  return TN_N_SYM_KINDS;
}

static tn_sym parse_compare(tn_symtab *t, tn_sym_kind kind, tn_sym a, tn_sym b) {
  if (kind == TN_SYM_EQ) return tn_sym_eq(t, a, b);
  return kind == TN_SYM_LT ? tn_sym_lt(t, a, b) : tn_sym_le(t, a, b);
}

/* a < b <= c is a < b and b <= c. */
static tn_status parse_chain(parser *p, tn_sym *out) {
  parse_args v = {0};
  tn_sym a = NULL;
  TN_TRY(parse_sum(p, &a));
  *out = a;
  for (;;) {
    bool swap, negate;
    tn_sym b = NULL;
    const tn_sym_kind kind = parse_comparison(p->s, &swap, &negate);
    if (kind == TN_N_SYM_KINDS) break;
    tn_scan_next(p->s);
    TN_TRY(parse_sum(p, &b));
    const tn_sym c = parse_compare(p->t, kind, swap ? b : a, swap ? a : b);
    tn_vec_push(p->t->arena, &v, negate ? tn_sym_not(p->t, c) : c);
    a = b;
  }
  if (v.n > 0) *out = tn_sym_logic(p->t, TN_SYM_AND, v.at, v.n);
  return TN_OK;
}

static tn_status parse_not(parser *p, tn_sym *out) {
  int n = 0;
  for (; tn_scan_take(p->s, "not"); n = n == 2 ? 1 : n + 1) {
  }
  TN_TRY(parse_chain(p, out));
  for (; n > 0; n--) *out = tn_sym_not(p->t, *out);
  return TN_OK;
}

static tn_status parse_and(parser *p, tn_sym *out) {
  parse_args v = {0};
  TN_TRY(parse_not(p, out));
  while (tn_scan_take(p->s, "and")) {
    tn_sym a = NULL;
    if (v.n == 0) tn_vec_push(p->t->arena, &v, *out);
    TN_TRY(parse_not(p, &a));
    tn_vec_push(p->t->arena, &v, a);
  }
  if (v.n > 0) *out = tn_sym_logic(p->t, TN_SYM_AND, v.at, v.n);
  return TN_OK;
}

static tn_status parse_or(parser *p, tn_sym *out) {
  parse_args v = {0};
  TN_TRY(parse_and(p, out));
  while (tn_scan_take(p->s, "or")) {
    tn_sym a = NULL;
    if (v.n == 0) tn_vec_push(p->t->arena, &v, *out);
    TN_TRY(parse_and(p, &a));
    tn_vec_push(p->t->arena, &v, a);
  }
  if (v.n > 0) *out = tn_sym_logic(p->t, TN_SYM_OR, v.at, v.n);
  return TN_OK;
}

tn_status tn_sym_parse(tn_symtab *t, tn_scan *s, tn_sym *out) {
  parser p = {.t = t, .s = s};
  return parse_deeper(&p, out);
}

static tn_status parse_whole(tn_symtab *t, tn_str text, bool dry, tn_sym *out) {
  tn_scan s;
  parser p = {.t = t, .s = &s, .dry = dry};
  tn_scan_init(&s, t->ctx, text);
  TN_TRY(parse_deeper(&p, out));
  return s.tok.kind == TN_TOK_END ? TN_OK : tn_scan_fail(&s, "an operator or the end");
}

/* What the parser said goes into the caller's message, not beside it. */
tn_status tn_sym_parse_str(tn_symtab *t, tn_str text, tn_loc loc, tn_sym *out) {
  const size_t n_diags = t->ctx->diags.n, n_all = t->ctx->n_diags;
  const tn_status s = parse_whole(t, text, true, out);
  if (s == TN_OK) return parse_whole(t, text, false, out);
  const char *const why = t->ctx->diags.n > n_diags ? t->ctx->diags.at[n_diags].text : tn_status_text(s);
  const int shown = text.len > 200 ? 200 : (int)text.len;
  t->ctx->diags.n = n_diags;
  t->ctx->n_diags = n_all;
  return tn_fail(t->ctx, s, loc, "`%.*s` is no expression: %s", shown, text.ptr, why);
}

bool tn_sym_try_parse(tn_symtab *t, tn_str text, tn_sym *out) {
  const size_t n_diags = t->ctx->diags.n, n_all = t->ctx->n_diags;
  if (parse_whole(t, text, true, out) == TN_OK && parse_whole(t, text, false, out) == TN_OK) return true;
  t->ctx->diags.n = n_diags;
  t->ctx->n_diags = n_all;
  return false;
}
