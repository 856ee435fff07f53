/* Text to graph. The text is untrusted: every refusal names its line. */
#include <math.h>

#include "ir/edit.h"
#include "ir/mark.h"
#include "ir/op.h"
#include "ir/parse_lit.h"
#include "ir/text.h"

typedef struct irparse_pending { /* a symbol's source, named before the graph was read */
  uint32_t symbol;
  tn_source_kind kind;
  const char *value;
  int64_t index;
  int line;
} irparse_pending;

typedef struct irparse_facts { /* of a symbol, kept back until the assumptions were read in their own words */
  uint32_t symbol;
  int64_t min, max, multiple_of;
  int line;
} irparse_facts;

typedef struct irparse_result {
  const char *value, *name;
  tn_type type;
  int line;
} irparse_result;

typedef TN_VEC(tn_value *) irparse_values;

typedef struct irparse {
  tn_scan *s;
  tn_litparse lit;
  tn_ctx *ctx;
  tn_graph *g;
  tn_map values; /* interned name -> tn_value *: names of the text alone */
  tn_map lined;  /* number of a symbol that has a line */
  TN_VEC(irparse_pending) pending;
  TN_VEC(irparse_facts) facts;
  TN_VEC(irparse_result) results;
  int nesting;
} irparse;

static tn_loc irparse_at(const irparse *p) { return (tn_loc){.kind = "line", .index = p->s->tok.line}; }
#define irparse_fail(p, ...) tn_fail((p)->ctx, TN_INVALID, irparse_at(p), __VA_ARGS__)

static tn_status irparse_name(irparse *p, const char *what, const char **out) { /* NAME or STRING, interned */
  if (p->s->tok.kind != TN_TOK_NAME && p->s->tok.kind != TN_TOK_STRING) return tn_scan_fail(p->s, what);
  *out = tn_ctx_name(p->ctx, p->s->tok.text);
  if (strlen(*out) != p->s->tok.text.len) return irparse_fail(p, "a name holds a zero byte");
  tn_scan_next(p->s);
  return TN_OK;
}

static tn_status irparse_value_name(irparse *p, const char **out) { /* "%" NAME */
  TN_TRY(tn_scan_need(p->s, "%"));
  return irparse_name(p, "a value's name", out);
}

/* Values. */

static tn_status irparse_define(irparse *p, const char *name, tn_value *v) {
  if (tn_map_find_ptr(&p->values, name)) return irparse_fail(p, "value '%s' is defined twice", name);
  tn_map_set_ptr(&p->ctx->arena, &p->values, name, v);
  return TN_OK;
}

static bool irparse_visible(const tn_value *v, const tn_region *from) {
  for (; from; from = from->owner ? from->owner->region : NULL)
    if (v->region == from) return true;
  return false;
}

static tn_status irparse_use(irparse *p, const tn_region *r, tn_value **out) {
  const char *name;
  TN_TRY(irparse_value_name(p, &name));
  *out = tn_map_find_ptr(&p->values, name);
  if (!*out) return irparse_fail(p, "value '%s' is not defined before its use", name);
  if (!irparse_visible(*out, r)) return irparse_fail(p, "value '%s' belongs to a region that is closed", name);
  return TN_OK;
}

static tn_status irparse_operands(irparse *p, const tn_region *r, bool may_lack, irparse_values *out) {
  TN_TRY(tn_scan_need(p->s, "("));
  while (!tn_scan_take(p->s, ")")) {
    if (out->n) TN_TRY(tn_scan_need(p->s, ","));
    tn_value *v = NULL;
    if (!may_lack || !tn_scan_take(p->s, "_")) TN_TRY(irparse_use(p, r, &v));
    tn_vec_push(&p->ctx->arena, out, v);
  }
  return TN_OK;
}

/* ratio(expression, INT) behind its name, or scaled(expression, FLOAT) */
static tn_status irparse_ratio(irparse *p, tn_elem *out) {
  out->kind = tn_scan_take(p->s, "scaled") ? TN_ELEM_SCALED : TN_ELEM_RATIO;
  TN_TRY(tn_scan_need(p->s, "("));
  TN_TRY(tn_sym_parse(p->g->syms, p->s, &out->sym));
  TN_TRY(tn_scan_need(p->s, ","));
  if (out->kind == TN_ELEM_SCALED) {
    TN_TRY(tn_parse_float(p->s, &out->f));
  } else {
    TN_TRY(tn_scan_need_int(p->s, &out->den));
    if (out->den <= 1) return irparse_fail(p, "the divisor of a ratio is at least 2");
  }
  return tn_scan_need(p->s, ")");
}

static tn_status irparse_elem(irparse *p, tn_elem *out) {
  if (tn_scan_take(p->s, "?")) return TN_OK;
  if (tn_scan_take(p->s, "!")) {
    if (tn_scan_take(p->s, "ratio") || tn_scan_at(p->s, "scaled")) return irparse_ratio(p, out);
    out->kind = TN_ELEM_F64;
    return tn_parse_float(p->s, &out->f);
  }
  out->kind = TN_ELEM_SYM;
  return tn_sym_parse(p->g->syms, p->s, &out->sym);
}

static tn_status irparse_content(irparse *p, tn_type *t) {
  if (!tn_scan_take(p->s, "=")) return TN_OK;
  int64_t dims[TN_MAX_RANK], n;
  if (!tn_type_const_dims(t, dims) || !tn_dims_count(dims, t->rank, &n) || n > TN_MAX_CONTENT)
    return irparse_fail(p, "content needs constant dims of at most %d elements", TN_MAX_CONTENT);
  tn_elem *e = TN_NEW_ARRAY(&p->ctx->arena, tn_elem, n > 0 ? n : 1);
  TN_TRY(tn_scan_need(p->s, "["));
  for (int64_t i = 0; i < n; i++) {
    if (i) TN_TRY(tn_scan_need(p->s, ","));
    TN_TRY(irparse_elem(p, &e[i]));
  }
  t->content = e;
  return tn_scan_need(p->s, "]");
}

/* A symbol that first appears as a dim of a graph's parameter comes from there. */
static void irparse_imply(irparse *p, const tn_value *v) {
  for (int j = 0; tn_type_has_rank(&v->type) && j < v->type.rank; j++) {
    const tn_sym d = v->type.dims[j];
    if (!d || !tn_sym_is_var(d) || tn_map_find(&p->lined, (uint64_t)d->k, NULL)) continue;
    tn_symbol *s = tn_sym_symbol(p->g->syms, (uint32_t)d->k);
    if (s->source != TN_SOURCE_NONE) continue;
    s->source = TN_SOURCE_DIM;
    s->value = v->id;
    s->index = j;
  }
}

static tn_status irparse_params(irparse *p, tn_region *r) {
  TN_TRY(tn_scan_need(p->s, "("));
  while (!tn_scan_take(p->s, ")")) {
    if (r->n_params) TN_TRY(tn_scan_need(p->s, ","));
    const char *name;
    tn_type type;
    TN_TRY(irparse_value_name(p, &name));
    TN_TRY(tn_scan_need(p->s, ":"));
    TN_TRY(tn_parse_type(&p->lit, &type));
    TN_TRY(irparse_content(p, &type));
    tn_value *v = tn_edit_add_param(r, name, type);
    TN_TRY(irparse_define(p, name, v));
    if (!r->owner) irparse_imply(p, v);
  }
  return TN_OK;
}

/* Attributes: the operator's schema says what kind each is. */

static tn_status irparse_string(irparse *p, tn_str *out) {
  if (p->s->tok.kind != TN_TOK_STRING) return tn_scan_fail(p->s, "a string");
  *out = p->s->tok.text;
  tn_scan_next(p->s);
  return TN_OK;
}

static tn_status irparse_attr_float(irparse *p, double *out) {
  TN_TRY(tn_parse_float(p->s, out));
  if (isfinite(*out) && fabs(*out) > 0x1.fffffep127) return irparse_fail(p, "a float attribute is beyond f32");
  *out = (double)(float)*out;
  return TN_OK;
}

static tn_status irparse_attr_dtype(irparse *p, int64_t *out) {
  *out = TN_DTYPE_NONE;
  if (tn_scan_take(p->s, "?")) return TN_OK;
  if (p->s->tok.kind == TN_TOK_NAME) *out = tn_dtype_find(p->s->tok.text);
  if (*out == TN_DTYPE_NONE) return tn_scan_fail(p->s, "an element type");
  tn_scan_next(p->s);
  return TN_OK;
}

static tn_status irparse_attr_list(irparse *p, tn_attr *a) {
  TN_VEC(int64_t) ints = {0};
  TN_VEC(double) floats = {0};
  TN_VEC(tn_str) strs = {0};
  TN_VEC(const tn_lit *) tensors = {0};
  tn_arena *arena = &p->ctx->arena;
  TN_TRY(tn_scan_need(p->s, "["));
  for (; !tn_scan_take(p->s, "]"); a->n++) {
    int64_t i = 0;
    double f = 0;
    tn_str s = {0};
    const tn_lit *l = NULL;
    if (a->n) TN_TRY(tn_scan_need(p->s, ","));
    if (a->kind == TN_ATTR_INTS) {
      TN_TRY(tn_scan_need_int(p->s, &i));
      tn_vec_push(arena, &ints, i);
    } else if (a->kind == TN_ATTR_FLOATS) {
      TN_TRY(irparse_attr_float(p, &f));
      tn_vec_push(arena, &floats, f);
    } else if (a->kind == TN_ATTR_STRS) {
      TN_TRY(irparse_string(p, &s));
      tn_vec_push(arena, &strs, s);
    } else {
      TN_TRY(tn_parse_lit(&p->lit, &l));
      tn_vec_push(arena, &tensors, l);
    }
  }
  if (a->kind == TN_ATTR_INTS)
    a->ints = ints.at;
  else if (a->kind == TN_ATTR_FLOATS)
    a->floats = floats.at;
  else if (a->kind == TN_ATTR_STRS)
    a->strs = strs.at;
  else
    a->tensors = tensors.at;
  return TN_OK;
}

static tn_status irparse_attr(irparse *p, tn_attr *a) {
  tn_type *type;
  switch (a->kind) {
    case TN_ATTR_INT:
      return tn_scan_need_int(p->s, &a->i);
    case TN_ATTR_FLOAT:
      return irparse_attr_float(p, &a->f);
    case TN_ATTR_STR:
      return irparse_string(p, &a->s);
    case TN_ATTR_DTYPE:
      return irparse_attr_dtype(p, &a->i);
    case TN_ATTR_TENSOR:
      return tn_parse_lit(&p->lit, &a->tensor);
    case TN_ATTR_TYPE:
      type = TN_NEW(&p->ctx->arena, tn_type);
      a->type = type;
      return tn_parse_type(&p->lit, type);
    case TN_ATTR_INTS:
    case TN_ATTR_FLOATS:
    case TN_ATTR_STRS:
    case TN_ATTR_TENSORS:
      return irparse_attr_list(p, a);
    case TN_ATTR_NONE:
    case TN_ATTR_REGION:
    case TN_ATTR_SPARSE:
      break;
  }
  return irparse_fail(p, "an attribute of this kind has no text form");
}

static tn_status irparse_attrs(irparse *p, tn_node *node) {
  bool seen[TN_MAX_ATTRS] = {false};
  if (!tn_scan_take(p->s, "{")) return TN_OK;
  for (bool first = true; !tn_scan_take(p->s, "}"); first = false) {
    const char *name;
    if (!first) TN_TRY(tn_scan_need(p->s, ","));
    TN_TRY(irparse_name(p, "an attribute's name", &name));
    const int row = tn_op_attr_index(node->op, name);
    if (row < 0) return irparse_fail(p, "operator %s has no attribute '%s'", node->op->name, name);
    if (seen[row]) return irparse_fail(p, "attribute '%s' is given twice", name);
    seen[row] = true;
    TN_TRY(tn_scan_need(p->s, "="));
    tn_attr a = {.kind = node->op->attrs[row].kind};
    TN_TRY(irparse_attr(p, &a));
    tn_edit_set_attr(node, name, a);
  }
  return TN_OK;
}

/* Statements. */

static tn_status irparse_stmt(irparse *p, tn_region *r);
static tn_status irparse_check(irparse *p, tn_region *r);

static tn_status irparse_region(irparse *p, tn_region *r) {
  if (p->nesting >= TN_MAX_NESTING) return irparse_fail(p, "regions are nested deeper than %d", TN_MAX_NESTING);
  p->nesting++;
  TN_TRY(tn_scan_need(p->s, "region"));
  TN_TRY(irparse_params(p, r));
  TN_TRY(tn_scan_need(p->s, "{"));
  while (!tn_scan_take(p->s, "yield")) TN_TRY(tn_scan_take(p->s, "check") ? irparse_check(p, r) : irparse_stmt(p, r));
  irparse_values results = {0};
  TN_TRY(irparse_operands(p, r, false, &results));
  if (results.n > INT32_MAX) return irparse_fail(p, "too many results");
  tn_edit_set_results(r, results.at, (int)results.n);
  p->nesting--;
  return tn_scan_need(p->s, "}");
}

static tn_status irparse_loc(irparse *p, tn_loc *loc) {
  tn_str name, op;
  if (!tn_scan_take(p->s, "at")) return TN_OK;
  TN_TRY(irparse_string(p, &name));
  *loc = (tn_loc){.kind = "node", .name = tn_ctx_name(p->ctx, name)};
  if (p->s->tok.kind != TN_TOK_STRING) return TN_OK;
  TN_TRY(irparse_string(p, &op));
  loc->op = tn_ctx_name(p->ctx, op);
  return TN_OK;
}

/* "{" NAME "=" STRING ("," NAME "=" STRING)* "}" behind a node's location. */
static tn_status irparse_marks(irparse *p, tn_node *node) {
  if (!node->loc.kind || strcmp(node->loc.kind, "node") != 0 || !tn_scan_take(p->s, "{")) return TN_OK;
  tn_marks *marks = TN_NEW(&p->ctx->arena, tn_marks);
  *marks = TN_NO_MARKS;
  do {
    const tn_loc loc = irparse_at(p);
    const char *key;
    tn_str value;
    TN_TRY(irparse_name(p, "the name of a mark", &key));
    TN_TRY(tn_scan_need(p->s, "="));
    TN_TRY(irparse_string(p, &value));
    TN_TRY(tn_marks_read(p->ctx, loc, tn_str_of(key), value, marks));
  } while (tn_scan_take(p->s, ","));
  node->marks = marks;
  return tn_scan_need(p->s, "}");
}

typedef TN_VEC(const char *) irparse_names;

static tn_status irparse_targets(irparse *p, irparse_names *out) { /* NULL = an absent output */
  do {
    const char *name = NULL;
    if (!tn_scan_take(p->s, "_")) TN_TRY(irparse_value_name(p, &name));
    tn_vec_push(&p->ctx->arena, out, name);
  } while (tn_scan_take(p->s, ","));
  if (out->n > INT32_MAX) return irparse_fail(p, "too many outputs");
  return tn_scan_need(p->s, "=");
}

static tn_status irparse_output(irparse *p, tn_node *node, int i, const char *name) {
  if (i) TN_TRY(tn_scan_need(p->s, ","));
  if (!name) {
    tn_edit_drop_output(node, i);
    return tn_scan_need(p->s, "_");
  }
  tn_type type;
  TN_TRY(tn_parse_type(&p->lit, &type));
  TN_TRY(irparse_define(p, name, node->out[i]));
  tn_edit_name_value(node->out[i], name);
  tn_edit_set_type(node->out[i], type);
  return TN_OK;
}

static tn_status irparse_op(irparse *p, const tn_op **out) {
  const char *name;
  TN_TRY(irparse_name(p, "an operator", &name));
  *out = tn_op_find(name);
  return *out ? TN_OK : irparse_fail(p, "there is no operator '%s'", name);
}

static tn_status irparse_stmt(irparse *p, tn_region *r) {
  const tn_loc loc = irparse_at(p);
  const tn_op *op;
  irparse_names names = {0};
  irparse_values in = {0};
  TN_TRY(irparse_targets(p, &names));
  TN_TRY(irparse_op(p, &op));
  TN_TRY(irparse_operands(p, r, true, &in));
  if (in.n > INT32_MAX) return irparse_fail(p, "too many operands");
  tn_node *node = tn_edit_add_node(r, NULL, op, in.at, (int)in.n, (int)names.n, loc);
  TN_TRY(irparse_attrs(p, node));
  for (int i = 0; i < node->n_regions; i++) TN_TRY(irparse_region(p, node->regions[i]));
  TN_TRY(tn_scan_need(p->s, ":"));
  for (int i = 0; i < node->n_out; i++) TN_TRY(irparse_output(p, node, i, names.at[i]));
  const char *fault = tn_op_fault(&p->ctx->arena, node);
  if (fault) return tn_fail(p->ctx, TN_INVALID, loc, "%s", fault);
  TN_TRY(irparse_loc(p, &node->loc));
  return irparse_marks(p, node);
}

/* The graph. */

static tn_status irparse_result_list(irparse *p) {
  TN_TRY(tn_scan_need(p->s, "("));
  while (!tn_scan_take(p->s, ")")) {
    if (p->results.n) TN_TRY(tn_scan_need(p->s, ","));
    irparse_result r = {.line = p->s->tok.line};
    TN_TRY(irparse_value_name(p, &r.value));
    r.name = r.value;
    if (tn_scan_take(p->s, "as")) TN_TRY(irparse_name(p, "a result's name", &r.name));
    TN_TRY(tn_scan_need(p->s, ":"));
    TN_TRY(tn_parse_type(&p->lit, &r.type));
    tn_vec_push(&p->ctx->arena, &p->results, r);
  }
  return TN_OK;
}

/* The type in the header is a claim like that of the statement: it counts where the statement says nothing. */
static tn_status irparse_result_type(irparse *p, const irparse_result *r, tn_value *v) {
  const tn_loc loc = {.kind = "line", .index = r->line};
  if (v->type.kind == TN_TYPE_UNKNOWN) tn_edit_set_type(v, r->type);
  if (r->type.kind == TN_TYPE_UNKNOWN || tn_type_same(&v->type, &r->type)) return TN_OK;
  tn_text a, b;
  tn_text_init(&a, &p->ctx->arena);
  tn_text_init(&b, &p->ctx->arena);
  tn_type_print(p->g->syms, &a, &r->type);
  tn_type_print(p->g->syms, &b, &v->type);
  return tn_fail(p->ctx, TN_INVALID, loc, "result '%s' is %s here and %s where it is defined", r->value, tn_text_z(&a),
                 tn_text_z(&b));
}

static tn_status irparse_set_results(irparse *p) {
  irparse_values values = {0};
  for (size_t i = 0; i < p->results.n; i++) {
    const irparse_result *r = &p->results.at[i];
    const tn_loc loc = {.kind = "line", .index = r->line};
    tn_value *v = tn_map_find_ptr(&p->values, r->value);
    if (!v || v->region != p->g->main) return tn_fail(p->ctx, TN_INVALID, loc, "result '%s' is not defined", r->value);
    TN_TRY(irparse_result_type(p, r, v));
    tn_vec_push(&p->ctx->arena, &values, v);
  }
  tn_edit_set_results(p->g->main, values.at, (int)values.n);
  for (size_t i = 0; i < p->results.n; i++) tn_edit_name_result(p->g->main, (int)i, p->results.at[i].name);
  return TN_OK;
}

static tn_status irparse_graph(irparse *p) {
  TN_TRY(tn_scan_need(p->s, "graph"));
  TN_TRY(tn_scan_need(p->s, "@"));
  TN_TRY(irparse_name(p, "the graph's name", &p->g->main->name));
  TN_TRY(irparse_params(p, p->g->main));
  TN_TRY(tn_scan_need(p->s, "->"));
  TN_TRY(irparse_result_list(p));
  if (p->results.n > INT32_MAX) return irparse_fail(p, "too many results");
  TN_TRY(tn_scan_need(p->s, "{"));
  while (!tn_scan_take(p->s, "}")) TN_TRY(irparse_stmt(p, p->g->main));
  return irparse_set_results(p);
}

/* Symbols, assumptions, checks. */

static tn_status irparse_source(irparse *p, uint32_t symbol) {
  irparse_pending q = {.symbol = symbol, .line = p->s->tok.line};
  q.kind = tn_scan_take(p->s, "dim") ? TN_SOURCE_DIM : TN_SOURCE_ELEM;
  if (q.kind == TN_SOURCE_ELEM && !tn_scan_take(p->s, "elem")) return tn_scan_fail(p->s, "dim, elem or (");
  TN_TRY(tn_scan_need(p->s, "("));
  TN_TRY(irparse_value_name(p, &q.value));
  TN_TRY(tn_scan_need(p->s, ","));
  TN_TRY(tn_scan_need_int(p->s, &q.index));
  if (q.index < 0 || q.index >= (q.kind == TN_SOURCE_DIM ? TN_MAX_RANK : TN_MAX_CONTENT))
    return irparse_fail(p, "index %lld is out of range", (long long)q.index);
  tn_vec_push(&p->ctx->arena, &p->pending, q);
  return tn_scan_need(p->s, ")");
}

static tn_status irparse_symbol_facts(irparse *p, uint32_t number) {
  irparse_facts f = {.symbol = number, .max = INT64_MAX, .multiple_of = 1, .line = p->s->tok.line};
  if (tn_scan_take(p->s, "in")) {
    TN_TRY(tn_scan_need(p->s, "["));
    TN_TRY(tn_scan_need_int(p->s, &f.min));
    TN_TRY(tn_scan_need(p->s, ","));
    if (!tn_scan_take(p->s, "inf")) TN_TRY(tn_scan_need_int(p->s, &f.max));
    TN_TRY(tn_scan_need(p->s, "]"));
    if (f.min > f.max) return irparse_fail(p, "the range is empty");
  }
  if (tn_scan_take(p->s, "multiple")) TN_TRY(tn_scan_need_int(p->s, &f.multiple_of));
  if (f.multiple_of < 1) return irparse_fail(p, "a multiple of %lld is no fact", (long long)f.multiple_of);
  if (f.min < 0) tn_sym_symbol(p->g->syms, number)->min = f.min; /* the one fact that widens: before any use */
  tn_vec_push(&p->ctx->arena, &p->facts, f);
  return TN_OK;
}

static tn_status irparse_apply_facts(irparse *p) {
  for (size_t i = 0; i < p->facts.n; i++) {
    const irparse_facts *f = &p->facts.at[i];
    tn_symbol *s = tn_sym_symbol(p->g->syms, f->symbol);
    if (f->min > s->min) s->min = f->min;
    if (f->max < s->max) s->max = f->max;
    if (s->multiple_of == 1) s->multiple_of = f->multiple_of;
    if (s->min > s->max)
      return tn_fail(p->ctx, TN_INVALID, (tn_loc){.kind = "line", .index = f->line},
                     "the range of '%s' and the assumptions exclude each other", s->name);
  }
  return TN_OK;
}

/* "symbol" NAME ["=" source] ["in" "[" INT "," INT "]"] ["multiple" INT]. A definition is read before its symbol is
 * made, so that it can only speak of older ones. */
static tn_status irparse_symbol(irparse *p) {
  tn_symtab *t = p->g->syms;
  const char *name;
  tn_sym definition = NULL;
  TN_TRY(irparse_name(p, "a symbol's name", &name));
  if (tn_sym_find_symbol(t, name)) return irparse_fail(p, "symbol '%s' was used before its line", name);
  const bool has_source = tn_scan_take(p->s, "=");
  const bool is_defined = has_source && tn_scan_take(p->s, "(");
  if (is_defined) {
    TN_TRY(tn_sym_parse(t, p->s, &definition));
    TN_TRY(tn_scan_need(p->s, ")"));
    if (tn_sym_find_symbol(t, name)) return irparse_fail(p, "symbol '%s' is defined by itself", name);
  }
  const uint32_t number = (uint32_t)tn_sym_add_symbol(t, name)->var->k;
  tn_map_set(&p->ctx->arena, &p->lined, number, 1);
  if (has_source && !is_defined) TN_TRY(irparse_source(p, number));
  if (is_defined) {
    tn_symbol *s = tn_sym_symbol(t, number);
    s->source = TN_SOURCE_DEFINED;
    s->definition = definition;
  }
  return irparse_symbol_facts(p, number);
}

static tn_status irparse_assume(irparse *p) {
  do {
    const tn_loc loc = irparse_at(p);
    tn_sym condition;
    TN_TRY(tn_sym_parse(p->g->syms, p->s, &condition));
    TN_TRY(tn_sym_assume(p->g->syms, condition, loc));
    tn_vec_push(&p->ctx->arena, &p->g->assumed, condition);
  } while (tn_scan_take(p->s, ","));
  return TN_OK;
}

static tn_status irparse_check(irparse *p, tn_region *r) {
  tn_loc loc = irparse_at(p);
  tn_str text;
  tn_sym condition;
  TN_TRY(irparse_string(p, &text));
  TN_TRY(tn_scan_need(p->s, ":"));
  TN_TRY(tn_sym_parse(p->g->syms, p->s, &condition));
  TN_TRY(irparse_loc(p, &loc));
  tn_edit_add_check(r, condition, loc, tn_ctx_name(p->ctx, text));
  return TN_OK;
}

static tn_status irparse_bind_sources(irparse *p) {
  for (size_t i = 0; i < p->pending.n; i++) {
    const irparse_pending *q = &p->pending.at[i];
    const tn_loc loc = {.kind = "line", .index = q->line};
    const tn_value *v = tn_map_find_ptr(&p->values, q->value);
    if (!v) return tn_fail(p->ctx, TN_INVALID, loc, "value '%s' is not defined", q->value);
    if (q->kind == TN_SOURCE_DIM && tn_type_has_rank(&v->type) && q->index >= v->type.rank)
      return tn_fail(p->ctx, TN_INVALID, loc, "value '%s' has no dim %lld", q->value, (long long)q->index);
    tn_symbol *s = tn_sym_symbol(p->g->syms, q->symbol);
    s->source = q->kind;
    s->value = v->id;
    s->index = q->index;
    if (q->kind == TN_SOURCE_DIM)
      tn_map_set(&p->ctx->arena, &p->g->fresh, (uint64_t)v->id << 32 | (uint64_t)q->index, q->symbol);
  }
  return TN_OK;
}

static tn_status irparse_file(irparse *p) {
  int64_t version;
  TN_TRY(tn_scan_need(p->s, "tenon"));
  TN_TRY(tn_scan_need_int(p->s, &version));
  if (version != 1) return irparse_fail(p, "text form %lld is not known, expected 1", (long long)version);
  while (tn_scan_take(p->s, "symbol")) TN_TRY(irparse_symbol(p));
  while (tn_scan_take(p->s, "assume")) TN_TRY(irparse_assume(p));
  TN_TRY(irparse_apply_facts(p));
  TN_TRY(irparse_graph(p));
  TN_TRY(irparse_bind_sources(p));
  while (tn_scan_take(p->s, "check")) TN_TRY(irparse_check(p, p->g->main));
  return p->s->tok.kind == TN_TOK_END ? TN_OK : tn_scan_fail(p->s, "check or the end");
}

tn_status tn_graph_parse(tn_ctx *ctx, tn_str text, const char *dir, tn_graph **out) {
  tn_scan scan;
  tn_scan_init(&scan, ctx, text);
  tn_graph *g = tn_graph_new(ctx);
  irparse p = {.s = &scan, .ctx = ctx, .g = g, .lit = {.s = &scan, .ctx = ctx, .syms = g->syms, .dir = dir}};
  TN_TRY(irparse_file(&p));
  *out = g;
  return TN_OK;
}
