/* What rules see and say, and the stock rules. */
#include "ir/rules.h"

#include <stdio.h>

#include "ir/edit.h"
#include "ir/ledger.h"

/* Attributes. */

const tn_attr *tn_rule_attr(const tn_rule *r, const char *name) {
  TN_ASSERT(tn_op_attr_index(r->node->op, name) >= 0);
  return tn_op_attr(r->node, name);
}

int64_t tn_rule_int(const tn_rule *r, const char *name) {
  const tn_attr *a = tn_rule_attr(r, name);
  return a ? a->i : 0;
}

bool tn_rule_str_is(const tn_rule *r, const char *name, const char *z) {
  const tn_attr *a = tn_rule_attr(r, name);
  return a && a->kind == TN_ATTR_STR && tn_str_is(a->s, z);
}

/* Inputs. */

bool tn_rule_has(const tn_rule *r, int i) { return i >= 0 && i < r->n_in && r->in[i]; }
bool tn_rule_has_rank(const tn_rule *r, int i) { return tn_rule_has(r, i) && tn_type_has_rank(r->in[i]); }

static const char *rule_in_name(const tn_rule *r, int i) {
  const tn_port *p = tn_op_in_port(r->node->op, i);
  return p ? p->name : "?";
}

tn_status tn_rule_need_rank(tn_rule *r, int i, int min, int max) {
  if (!tn_rule_has_rank(r, i)) return TN_OK;
  const int rank = r->in[i]->rank;
  if (rank >= min && rank <= max) return TN_OK;
  const char *name = rule_in_name(r, i);
  if (min == max) return tn_rule_fail(r, TN_MISMATCH, "input %d (%s) has rank %d, expected %d", i, name, rank, min);
  if (max >= TN_MAX_RANK)
    return tn_rule_fail(r, TN_MISMATCH, "input %d (%s) has rank %d, expected at least %d", i, name, rank, min);
  return tn_rule_fail(r, TN_MISMATCH, "input %d (%s) has rank %d, expected %d to %d", i, name, rank, min, max);
}

tn_status tn_rule_axis(tn_rule *r, const char *what, int64_t axis, int rank, int *out) {
  if (axis < -rank || axis >= rank)
    return tn_rule_fail(r, TN_MISMATCH, "%s %lld is out of range for rank %d", what, (long long)axis, rank);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return TN_OK;
}

static tn_sym rule_elem_int(tn_symtab *syms, const tn_elem *e) {
  if (e->kind == TN_ELEM_SYM) return e->sym;
  if (e->kind != TN_ELEM_F64 || !(e->f >= -0x1p53 && e->f <= 0x1p53)) return NULL;
  const int64_t v = (int64_t)e->f;
  return (double)v < e->f || (double)v > e->f ? NULL : tn_sym_int(syms, v);
}

bool tn_rule_ints(const tn_rule *r, int i, int64_t *out_n, tn_sym **out) {
  if (!tn_rule_has(r, i) || !r->in[i]->content) return false;
  const int64_t n = tn_type_content_count(r->in[i]);
  tn_sym *v = TN_NEW_ARRAY(&r->ctx->arena, tn_sym, n > 0 ? n : 1);
  for (int64_t k = 0; k < n; k++) v[k] = rule_elem_int(r->syms, &r->in[i]->content[k]);
  *out_n = n;
  *out = v;
  return true;
}

bool tn_rule_const_ints(const tn_rule *r, int i, int64_t *out_n, int64_t **out) {
  tn_sym *syms;
  if (!tn_rule_ints(r, i, out_n, &syms)) return false;
  int64_t *v = TN_NEW_ARRAY(&r->ctx->arena, int64_t, *out_n > 0 ? *out_n : 1);
  for (int64_t k = 0; k < *out_n; k++) {
    if (!syms[k] || !tn_sym_is_int(syms[k])) return false;
    v[k] = syms[k]->k;
  }
  *out = v;
  return true;
}

bool tn_rule_const_floats(const tn_rule *r, int i, int64_t *out_n, double **out) {
  if (!tn_rule_has(r, i) || !r->in[i]->content) return false;
  const int64_t n = tn_type_content_count(r->in[i]);
  double *v = TN_NEW_ARRAY(&r->ctx->arena, double, n > 0 ? n : 1);
  for (int64_t k = 0; k < n; k++) {
    const tn_elem *e = &r->in[i]->content[k];
    if (e->kind == TN_ELEM_F64)
      v[k] = e->f;
    else if (e->kind == TN_ELEM_SYM && tn_sym_is_int(e->sym))
      v[k] = (double)e->sym->k;
    else
      return false;
  }
  *out_n = n;
  *out = v;
  return true;
}

/* Outputs. */

tn_sym *tn_rule_dims(tn_rule *r, int rank) { return TN_NEW_ARRAY(&r->ctx->arena, tn_sym, rank > 0 ? rank : 1); }
tn_elem *tn_rule_elems(tn_rule *r, int64_t n) { return TN_NEW_ARRAY(&r->ctx->arena, tn_elem, n > 0 ? n : 1); }
tn_elem tn_elem_sym(tn_sym s) { return (tn_elem){.kind = TN_ELEM_SYM, .sym = s}; }
tn_elem tn_elem_f64(double f) { return (tn_elem){.kind = TN_ELEM_F64, .f = f}; }

void tn_rule_set(tn_rule *r, int i, int rank, const tn_sym *dims) {
  tn_sym *own = tn_rule_dims(r, rank);
  for (int j = 0; j < rank; j++) own[j] = dims[j];
  r->out[i].kind = TN_TYPE_TENSOR;
  r->out[i].rank = rank;
  r->out[i].dims = own;
  r->out[i].content = NULL;
}

void tn_rule_set_dtype(tn_rule *r, int i, tn_dtype d) {
  if (r->out[i].kind != TN_TYPE_TENSOR) r->out[i] = tn_type_tensor(d, -1, NULL);
  r->out[i].dtype = d;
}

void tn_rule_set_content(tn_rule *r, int i, const tn_elem *elems) {
  int64_t dims[TN_MAX_RANK], n;
  if (!tn_type_const_dims(&r->out[i], dims) || !tn_dims_count(dims, r->out[i].rank, &n) || n > TN_MAX_CONTENT) return;
  tn_elem *own = tn_rule_elems(r, n);
  for (int64_t k = 0; k < n; k++) { /* what leaves int64 is data that wraps, no size */
    const bool lost = elems[k].kind == TN_ELEM_SYM && elems[k].sym->kind == TN_SYM_OVERFLOW;
    own[k] = lost ? (tn_elem){0} : elems[k];
  }
  r->out[i].content = own;
}

static tn_sym rule_new_symbol(tn_rule *r, const tn_value *v, int j, uint64_t key) {
  tn_symbol *s = tn_sym_awaited_symbol(r->syms, tn_arena_printf(&r->ctx->arena, "%s_d%d", v->name, j));
  s->source = TN_SOURCE_DIM;
  s->value = v->id;
  s->index = j;
  tn_map_set(&r->ctx->arena, &r->graph->fresh, key, (uint64_t)s->var->k);
  return s->var;
}
static uint64_t rule_fresh_key(const tn_value *v, int j) { return (uint64_t)v->id << 32 | (uint32_t)j; }
tn_sym tn_rule_fresh_value(tn_rule *r, const tn_value *v, int j) {
  const uint64_t key = rule_fresh_key(v, j);
  uint64_t number;
  if (tn_map_find(&r->graph->fresh, key, &number)) return tn_sym_symbol(r->syms, (uint32_t)number)->var;
  return rule_new_symbol(r, v, j, key);
}
/* In the body of a loop, sizes may have widened since the rule ran last: facts cannot be taken back, so that wider ones
 * need a symbol of their own. */
static bool rule_has_widened(const tn_rule *r, const tn_symbol *s, int64_t lo, int64_t hi) {
  return r->node->region->owner && (lo < s->min || hi > s->max);
}
tn_sym tn_rule_fresh(tn_rule *r, int i, int j, int64_t lo, tn_sym hi) {
  const tn_value *v = r->node->out[i]; /* an absent output has no value to be named by */
  const int64_t max = hi ? tn_sym_bounds(r->syms, hi).hi : INT64_MAX;
  tn_sym var = v ? tn_rule_fresh_value(r, v, j) : tn_sym_fresh_symbol(r->syms, "u")->var;
  if (v && rule_has_widened(r, tn_sym_symbol(r->syms, (uint32_t)var->k), lo, max))
    var = rule_new_symbol(r, v, j, rule_fresh_key(v, j));
  tn_symbol *s = tn_sym_symbol(r->syms, (uint32_t)var->k);
  if (lo > s->min) s->min = lo;
  if (max < s->max && max >= s->min) s->max = max;
  if (hi) s->at_most = hi;
  return var;
}

/* Demands. */

static const char *rule_vtext(tn_rule *r, const char *fmt, va_list ap) TN_PRINTF(2, 0);
static const char *rule_vtext(tn_rule *r, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  const int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  char *text = tn_arena_alloc(&r->ctx->arena, n > 0 ? (size_t)n + 1 : 1, 1);
  text[0] = 0;
  if (n > 0) (void)vsnprintf(text, (size_t)n + 1, fmt, ap);
  return text;
}

static bool rule_is_positive(const tn_rule *r, tn_sym e) {
  return tn_sym_bounds(r->syms, e).lo > 0 || tn_ledger_implies(r->graph, tn_sym_le(r->syms, tn_sym_int(r->syms, 1), e));
}

bool tn_rule_is_positive(const tn_rule *r, tn_sym e) {
  if (rule_is_positive(r, e)) return true;
  if (e->kind == TN_SYM_ADD && e->n == 1 && e->k == 0 && e->coefs[0] > 0) e = e->args[0];
  if (e->kind != TN_SYM_MUL) return false;
  for (uint32_t i = 0; i < e->n; i++)
    if (!rule_is_positive(r, e->args[i])) return false;
  return true;
}

bool tn_rule_proves(tn_rule *r, tn_sym condition) {
  const tn_truth truth = tn_sym_prove(r->syms, condition);
  if (truth == TN_TRUE || (truth == TN_UNKNOWN && tn_ledger_implies_by_cases(r->graph, condition))) return true;
  r->demanded = condition;
  r->is_refuted = truth == TN_FALSE;
  return false;
}

tn_status tn_rule_leave_open(tn_rule *r, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *text = rule_vtext(r, fmt, ap);
  va_end(ap);
  if (r->is_refuted) return tn_rule_fail(r, TN_MISMATCH, "%s", text);
  tn_edit_add_check(r->node->region, r->demanded, r->loc, text);
  return TN_OK;
}

/* Of two expressions that must be equal, the one that says more: a constant, else the smaller, else the older. */
static tn_sym rule_better(tn_sym a, tn_sym b) {
  if (tn_sym_is_int(a)) return a;
  if (tn_sym_is_int(b)) return b;
  if (a->size != b->size) return a->size < b->size ? a : b;
  return a->id < b->id ? a : b;
}

tn_status tn_rule_unify(tn_rule *r, tn_sym a, tn_sym b, const char *what, int dim, tn_sym *out) {
  if (out) *out = rule_better(a, b);
  if (a == b) return TN_OK;
  tn_symtab *const t = r->syms;
  const tn_sym equal = tn_sym_eq(t, a, b);
  if (dim < 0)
    return tn_rule_demand(r, equal, "%s: %s and %s must be equal", what, tn_sym_text(t, a), tn_sym_text(t, b));
  return tn_rule_demand(r, equal, "%s dim %d: %s and %s must be equal", what, dim, tn_sym_text(t, a),
                        tn_sym_text(t, b));
}

static tn_sym rule_bcast_result(tn_rule *r, tn_sym a, tn_sym b) {
  if (tn_sym_is_int(a)) return a; /* not 1: that was handled */
  if (tn_sym_is_int(b)) return b;
  if (tn_sym_bounds(r->syms, a).lo > 1) return a;
  if (tn_sym_bounds(r->syms, b).lo > 1) return b;
  const tn_sym two = tn_sym_int(r->syms, 2); /* what the checks so far make larger than 1 is the result */
  if (tn_ledger_implies(r->graph, tn_sym_le(r->syms, two, a))) return a;
  if (tn_ledger_implies(r->graph, tn_sym_le(r->syms, two, b))) return b;
  return tn_sym_bcast(r->syms, a, b);
}

tn_status tn_rule_bcast_dim(tn_rule *r, tn_sym a, tn_sym b, int dim, tn_sym *out) {
  tn_symtab *t = r->syms;
  if (a == b || tn_sym_is(b, 1)) {
    *out = a;
    return TN_OK;
  }
  if (tn_sym_is(a, 1)) {
    *out = b;
    return TN_OK;
  }
  const tn_sym equal = tn_sym_eq(t, a, b);
  if (tn_ledger_implies(r->graph, equal)) {
    *out = rule_better(a, b);
    return TN_OK;
  }
  const tn_sym one = tn_sym_int(t, 1);
  const tn_sym either = tn_sym_or(t, tn_sym_eq(t, a, one), tn_sym_eq(t, b, one));
  const tn_sym condition = tn_sym_or(t, equal, either);
  *out = rule_bcast_result(r, a, b);
  return tn_rule_demand(r, condition, "cannot broadcast dim %d: %s with %s", dim, tn_sym_text(t, a), tn_sym_text(t, b));
}

tn_status tn_rule_bcast(tn_rule *r, int ra, const tn_sym *a, int rb, const tn_sym *b, int *out_rank, tn_sym **out) {
  const int rank = ra > rb ? ra : rb;
  const tn_sym one = tn_sym_int(r->syms, 1);
  tn_sym *dims = tn_rule_dims(r, rank);
  for (int i = 0; i < rank; i++) {
    const int ia = i - (rank - ra), ib = i - (rank - rb);
    TN_TRY(tn_rule_bcast_dim(r, ia < 0 ? one : a[ia], ib < 0 ? one : b[ib], i, &dims[i]));
  }
  *out_rank = rank;
  *out = dims;
  return TN_OK;
}

/* Stock rules. */

static void rule_all_dtypes(tn_rule *r, tn_dtype d) {
  for (int i = 0; i < r->n_out; i++) tn_rule_set_dtype(r, i, d);
}

tn_status tn_type_as_input(tn_rule *r) {
  rule_all_dtypes(r, tn_rule_has(r, 0) && tn_type_is_tensor(r->in[0]) ? r->in[0]->dtype : TN_DTYPE_NONE);
  return TN_OK;
}

tn_status tn_type_bool(tn_rule *r) {
  tn_rule_set_dtype(r, 0, TN_BOOL);
  return TN_OK;
}

tn_status tn_type_i64(tn_rule *r) {
  tn_rule_set_dtype(r, 0, TN_I64);
  return TN_OK;
}

static tn_dtype rule_inner_dtype(const tn_type *t) {
  while (t && (t->kind == TN_TYPE_SEQUENCE || t->kind == TN_TYPE_OPTIONAL)) t = t->elem;
  return t && t->kind == TN_TYPE_TENSOR ? t->dtype : TN_DTYPE_NONE;
}

static tn_dtype rule_group_dtype(const tn_rule *r, const char *group) {
  for (int i = 0; i < r->n_in; i++) {
    const tn_port *p = tn_op_in_port(r->node->op, i);
    if (!p || !r->in[i] || !p->same || strcmp(p->same, group) != 0) continue;
    const tn_dtype d = rule_inner_dtype(r->in[i]);
    if (d) return d;
  }
  return TN_DTYPE_NONE;
}

static tn_dtype rule_single_dtype(uint64_t set) { /* NONE unless the set has one member */
  if (set == 0 || (set & (set - 1)) != 0) return TN_DTYPE_NONE;
  int d = 0;
  while (set >>= 1) d++;
  return (tn_dtype)d;
}

tn_status tn_type_by_group(tn_rule *r) {
  for (int i = 0; i < r->n_out; i++) {
    const tn_port *p = tn_op_out_port(r->node->op, i);
    if (!p) continue;
    tn_dtype d = p->same ? rule_group_dtype(r, p->same) : TN_DTYPE_NONE;
    if (!d) d = rule_single_dtype(p->dtypes);
    tn_rule_set_dtype(r, i, d);
  }
  return TN_OK;
}

tn_status tn_shape_as_input(tn_rule *r) {
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  for (int i = 0; i < r->n_out; i++) tn_rule_set(r, i, r->in[0]->rank, r->in[0]->dims);
  return TN_OK;
}

tn_status tn_shape_broadcast(tn_rule *r) {
  int rank = 0;
  tn_sym *dims = tn_rule_dims(r, 0);
  for (int i = 0; i < r->n_in; i++)
    if (tn_rule_has(r, i) && !tn_rule_has_rank(r, i)) return TN_OK;
  for (int i = 0; i < r->n_in; i++)
    if (tn_rule_has(r, i)) TN_TRY(tn_rule_bcast(r, rank, dims, r->in[i]->rank, r->in[i]->dims, &rank, &dims));
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}

tn_status tn_shape_scalar(tn_rule *r) {
  tn_rule_set(r, 0, 0, NULL);
  return TN_OK;
}

tn_status tn_value_as_input(tn_rule *r) {
  if (!tn_rule_has(r, 0) || !r->in[0]->content) return TN_OK;
  int64_t dims[TN_MAX_RANK], n;
  if (!tn_type_const_dims(&r->out[0], dims) || !tn_dims_count(dims, r->out[0].rank, &n)) return TN_OK;
  if (n == tn_type_content_count(r->in[0])) tn_rule_set_content(r, 0, r->in[0]->content);
  return TN_OK;
}
