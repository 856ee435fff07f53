/* What the elementwise families share. */
#include "op/elementwise.h"

#include <math.h>

double tn_op_float_attr(const tn_node *node, int which) {
  for (int i = 0; node->op->attrs[i].name; i++)
    if (node->op->attrs[i].kind == TN_ATTR_FLOAT && which-- == 0) return node->attrs[i].f;
  return 0;
}

tn_status tn_op_eval1(tn_eval *e, tn_f64_fn1 f, tn_i64_fn1 g) {
  const tn_lit *const x = e->in[0];
  const double a = tn_op_float_attr(e->node, 0), b = tn_op_float_attr(e->node, 1);
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), x->rank, x->dims, &y));
  for (int64_t i = 0; i < x->count; i++) {
    if (tn_dtype_is_float(x->dtype))
      tn_store_f64(y->dtype, tn_lit_data(y), i, f(tn_lit_f64(x, i), a, b));
    else if (g)
      tn_store_i64(y->dtype, tn_lit_data(y), i, g(tn_lit_i64_at(x, i)));
    else
      tn_store_f64(y->dtype, tn_lit_data(y), i, f(tn_lit_f64(x, i), a, b));
  }
  return TN_OK;
}

static void elementwise_pair(tn_lit *y, const tn_lit *a, const tn_lit *b, tn_f64_fn2 f, tn_i64_fn2 g) {
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t ia = tn_bcast_index(i, y->rank, y->dims, a->rank, a->dims);
    const int64_t ib = tn_bcast_index(i, y->rank, y->dims, b->rank, b->dims);
    if (a->dtype == TN_STR)
      tn_store_i64(y->dtype, tn_lit_data(y), i,
                   g(!tn_str_eq(((const tn_str *)a->data)[ia], ((const tn_str *)b->data)[ib]), 0));
    else if (tn_dtype_is_float(a->dtype))
      tn_store_f64(y->dtype, tn_lit_data(y), i, f(tn_lit_f64(a, ia), tn_lit_f64(b, ib)));
    else
      tn_store_i64(y->dtype, tn_lit_data(y), i, g(tn_lit_i64_at(a, ia), tn_lit_i64_at(b, ib)));
  }
}

static tn_status elementwise_eval2(tn_eval *e, tn_dtype d, tn_f64_fn2 f, tn_i64_fn2 g) {
  int rank;
  int64_t dims[TN_MAX_RANK];
  tn_lit *y;
  TN_TRY(tn_eval_bcast(e, e->in[0]->rank, e->in[0]->dims, e->in[1]->rank, e->in[1]->dims, &rank, dims));
  TN_TRY(tn_eval_out(e, 0, d, rank, dims, &y));
  elementwise_pair(y, e->in[0], e->in[1], f, g);
  return TN_OK;
}

tn_status tn_op_eval2(tn_eval *e, tn_f64_fn2 f, tn_i64_fn2 g) { return elementwise_eval2(e, e->in[0]->dtype, f, g); }
tn_status tn_op_eval_compare(tn_eval *e, tn_f64_fn2 f, tn_i64_fn2 g) { return elementwise_eval2(e, TN_BOOL, f, g); }

tn_status tn_op_eval_chain(tn_eval *e, tn_f64_fn2 f, tn_i64_fn2 g) {
  const tn_lit *sum = e->in[0];
  for (int i = 1; i < e->n_in; i++) {
    int rank;
    int64_t dims[TN_MAX_RANK];
    TN_TRY(tn_eval_bcast(e, sum->rank, sum->dims, e->in[i]->rank, e->in[i]->dims, &rank, dims));
    tn_lit *const next = tn_lit_new(e->arena, sum->dtype, rank, dims);
    elementwise_pair(next, sum, e->in[i], f, g);
    sum = next;
  }
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, sum->dtype, sum->rank, sum->dims, &y));
  if (sum->bytes) memcpy(tn_lit_data(y), sum->data, sum->bytes);
  return TN_OK;
}

bool tn_elem_const(const tn_elem *e, double *out) {
  if (e->kind == TN_ELEM_F64) {
    *out = e->f;
    return true;
  }
  if (e->kind != TN_ELEM_SYM || !tn_sym_is_int(e->sym)) return false;
  *out = (double)e->sym->k;
  return true;
}

tn_elem tn_elem_round(tn_rule *r, double v) {
  uint64_t bits = 0;
  tn_store_f64(r->out[0].dtype, &bits, 0, v);
  return tn_elem_f64(tn_load_f64(r->out[0].dtype, &bits, 0));
}

/* Least and largest number of an integer type below 64 bits. */
static bool elementwise_range(tn_dtype d, int64_t *lo, int64_t *hi) {
  const int bits = tn_dtype_bits(d);
  if (bits >= 64 || !tn_dtype_is_int(d)) return false;
  const bool is_signed = tn_dtype_cls(d) == TN_CLASS_INT;
  *lo = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
  *hi = (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
  return true;
}

/* int32 is what many exporters compute sizes in: that they fit is demanded where it is not proved. */
static bool elementwise_fits_i32(tn_rule *r, tn_sym e, int64_t lo, int64_t hi) {
  tn_symtab *const t = r->syms;
  const tn_sym fits = tn_sym_and(t, tn_sym_le(t, tn_sym_int(t, lo), e), tn_sym_le(t, e, tn_sym_int(t, hi)));
  if (tn_sym_prove(t, fits) == TN_FALSE) return false;
  return tn_rule_demand(r, fits, "int32 holds integers up to 2147483647, and %s passes through it",
                        tn_sym_text(t, e)) == TN_OK;
}

tn_elem tn_elem_in_type(tn_rule *r, tn_dtype d, tn_elem e) {
  int64_t lo, hi;
  if (e.kind != TN_ELEM_SYM || !tn_dtype_is_int(d)) return e;
  if (e.sym->kind == TN_SYM_OVERFLOW) return (tn_elem){0};
  const tn_interval b = tn_sym_bounds(r->syms, e.sym);
  if (!elementwise_range(d, &lo, &hi)) {
    const bool near_end = e.sym->kind == TN_SYM_ADD && (e.sym->k > INT64_MAX / 2 || e.sym->k < INT64_MIN / 2);
    if (near_end && (b.lo == INT64_MIN || b.hi == INT64_MAX)) return (tn_elem){0};
    return d == TN_U64 && b.lo < 0 ? (tn_elem){0} : e;
  }
  if (b.lo >= lo && b.hi <= hi) return e;
  if (tn_sym_is_int(e.sym)) {
    uint64_t bits = 0;
    tn_store_i64(d, &bits, 0, e.sym->k);
    return tn_elem_sym(tn_sym_int(r->syms, tn_load_i64(d, &bits, 0)));
  }
  return d == TN_I32 && elementwise_fits_i32(r, e.sym, lo, hi) ? e : (tn_elem){0};
}

enum { ELEMENTWISE_MAX_IN = 8 };

tn_status tn_op_value_map(tn_rule *r, tn_elem_fn fn) {
  int64_t dims[TN_MAX_RANK], in_dims[ELEMENTWISE_MAX_IN][TN_MAX_RANK];
  if (r->n_in > ELEMENTWISE_MAX_IN || !tn_type_const_dims(&r->out[0], dims)) return TN_OK;
  int64_t n = 1;
  if (!tn_dims_count(dims, r->out[0].rank, &n) || n > TN_MAX_CONTENT) return TN_OK;
  for (int i = 0; i < r->n_in; i++)
    if (!r->in[i] || !r->in[i]->content || !tn_type_const_dims(r->in[i], in_dims[i])) return TN_OK;
  tn_elem *const out = tn_rule_elems(r, n);
  for (int64_t e = 0; e < n; e++) {
    tn_elem in[ELEMENTWISE_MAX_IN];
    bool known = true;
    for (int i = 0; i < r->n_in; i++) {
      in[i] = r->in[i]->content[tn_bcast_index(e, r->out[0].rank, dims, r->in[i]->rank, in_dims[i])];
      known = known && in[i].kind != TN_ELEM_NONE;
    }
    if (known) out[e] = tn_elem_in_type(r, r->out[0].dtype, fn(r, in));
  }
  tn_rule_set_content(r, 0, out);
  return TN_OK;
}

/* --- align_axis: how opsets below 7 say which dims of the second operand meet which of the first --- */

static tn_status align_axis_shape(tn_rule *r) {
  if (!tn_rule_has_rank(r, 0) || !tn_rule_has_rank(r, 1)) return TN_OK;
  const int ra = r->in[1]->rank, rb = r->in[0]->rank;
  int axis;
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), ra, &axis));
  if (axis + rb > ra)
    return tn_rule_fail(r, TN_MISMATCH, "axis %d and an operand of rank %d pass the end of rank %d", axis, rb, ra);
  tn_sym *const dims = tn_rule_dims(r, ra - axis);
  for (int i = 0; i < ra - axis; i++) dims[i] = i < rb ? r->in[0]->dims[i] : tn_sym_int(r->syms, 1);
  tn_rule_set(r, 0, ra - axis, dims);
  return TN_OK;
}

static tn_status align_axis_eval(tn_eval *e) {
  int axis;
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), e->in[1]->rank, &axis));
  int64_t dims[TN_MAX_RANK];
  for (int i = 0; i < e->in[1]->rank - axis; i++) dims[i] = i < e->in[0]->rank ? e->in[0]->dims[i] : 1;
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, e->in[0]->dtype, e->in[1]->rank - axis, dims, &y));
  if (y->bytes) memcpy(tn_lit_data(y), e->in[0]->data, y->bytes);
  return TN_OK;
}

TN_OP(align_axis){
    .name = "align_axis",
    .in = {{"b"}, {"a"}},
    .out = {{"y"}},
    .attrs = {{"axis", TN_ATTR_INT, .i = 0, .has_default = true}},
    .type = tn_type_as_input,
    .shape = align_axis_shape,
    .value = tn_value_as_input,
    .eval = align_axis_eval,
    .kernel = "reinterpret",
    .traits = TN_TRAIT_PURE | TN_TRAIT_VIEW,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "b with ones appended so that its first dim meets dim `axis` of a (broadcasting before opset 7)",
};

tn_status tn_import_legacy_broadcast(tn_import *im) {
  int64_t broadcast;
  const tn_attr *axis;
  TN_TRY(tn_import_int(im, "broadcast", 0, &broadcast));
  TN_TRY(tn_import_get(im, "axis", TN_ATTR_INT, &axis));
  tn_import_ignore(im, "consumed_inputs");
  tn_value *in[2] = {im->in[0], im->n_in > 1 ? im->in[1] : NULL};
  if (broadcast && axis && in[0] && in[1]) {
    tn_value *const pair[2] = {in[1], in[0]};
    tn_node *const align = tn_import_node(im, "align_axis", pair, 2, 1);
    tn_import_set_int(align, "axis", axis->i);
    in[1] = align->out[0];
  }
  tn_node *const node = tn_import_node(im, im->row->op->name, in, im->n_in, im->n_out);
  TN_TRY(tn_import_copy_attrs(im, node));
  tn_import_finish(im, node);
  return TN_OK;
}
