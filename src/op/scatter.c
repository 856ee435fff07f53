/* Operators that write into a copy of their first operand: ScatterElements, ScatterND, TensorScatter. */
#include <math.h>

#include "op/move.h"

typedef enum scatter_how {
  SCATTER_NONE,
  SCATTER_ADD,
  SCATTER_MUL,
  SCATTER_MAX,
  SCATTER_MIN,
  SCATTER_UNKNOWN
} scatter_how;
static scatter_how scatter_reduction(const tn_attr *a) {
  static const char *const names[5] = {"none", "add", "mul", "max", "min"};
  for (int i = 0; a && i < 5; i++)
    if (tn_str_is(a->s, names[i])) return (scatter_how)i;
  return a ? SCATTER_UNKNOWN : SCATTER_NONE;
}
static tn_status scatter_check(tn_rule *r) {
  const scatter_how how = scatter_reduction(tn_rule_attr(r, "reduction"));
  const tn_dtype d = r->in[0]->dtype;
  if (how == SCATTER_UNKNOWN)
    return tn_rule_fail(r, TN_INVALID, "attribute 'reduction' is none of none, add, mul, max, min");
  if (how != SCATTER_NONE && d && !tn_dtype_is_float(d) && !tn_dtype_is_int(d) && d != TN_BOOL)
    return tn_rule_fail(r, TN_INVALID, "elements of type %s cannot be combined", tn_dtype_name(d));
  return TN_OK;
}
/* y[to] = y[to] how u[from] */
static void scatter_put(scatter_how how, tn_lit *y, int64_t to, const tn_lit *u, int64_t from) {
  const tn_dtype d = y->dtype;
  if (how == SCATTER_NONE) {
    tn_copy_element(d, tn_lit_data(y), to, u->data, from);
  } else if (tn_dtype_is_float(d)) {
    const double a = tn_lit_f64(y, to), b = tn_lit_f64(u, from);
    const double extreme = how == SCATTER_MAX ? fmax(a, b) : fmin(a, b);
    tn_store_f64(d, tn_lit_data(y), to,
                 how == SCATTER_ADD ? a + b : (how == SCATTER_MUL ? a * b : (isnan(a) || isnan(b) ? a + b : extreme)));
  } else {
    const int64_t a = tn_lit_i64_at(y, to), b = tn_lit_i64_at(u, from);
    const bool b_above = d == TN_U64 ? (uint64_t)b > (uint64_t)a : b > a;
    uint64_t v = (uint64_t)((how == SCATTER_MAX) == b_above ? b : a);
    if (how == SCATTER_ADD) v = d == TN_BOOL ? (a || b) : (uint64_t)a + (uint64_t)b;
    if (how == SCATTER_MUL) v = (uint64_t)a * (uint64_t)b;
    tn_store_i64(d, tn_lit_data(y), to, (int64_t)v);
  }
}
static tn_status scatter_copy(tn_eval *e, tn_lit **out) {
  const tn_lit *const x = e->in[0];
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, out));
  if (x->bytes) memcpy(tn_lit_data(*out), x->data, x->bytes);
  return TN_OK;
}
static tn_status scatter_value(tn_rule *r) {
  return scatter_reduction(tn_rule_attr(r, "reduction")) == SCATTER_NONE ? tn_op_value_move(r, 1 | 4) : TN_OK;
}

/* --- scatter_elements --- */

static tn_status scatter_elements_shape(tn_rule *r) {
  int axis;
  TN_TRY(scatter_check(r));
  TN_TRY(tn_shape_as_input(r));
  if (tn_rule_has_rank(r, 1) && tn_rule_has_rank(r, 2)) {
    TN_TRY(tn_rule_need_rank(r, 2, r->in[1]->rank, r->in[1]->rank));
    for (int d = 0; d < r->in[1]->rank; d++)
      TN_TRY(tn_rule_unify(r, r->in[1]->dims[d], r->in[2]->dims[d], "indices and updates differ in", d, NULL));
  }
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  TN_TRY(tn_rule_need_rank(r, 1, r->in[0]->rank, r->in[0]->rank));
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), r->in[0]->rank, &axis));
  return tn_op_indices(r, 1, r->in[0]->dims[axis], axis);
}
static tn_status scatter_elements_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const at = e->in[1];
  const scatter_how how = scatter_reduction(tn_eval_attr(e, "reduction"));
  int64_t strides[TN_MAX_RANK], index[TN_MAX_RANK] = {0};
  int axis;
  tn_lit *y;
  if (at->rank != x->rank || e->in[2]->count != at->count)
    return tn_eval_fail(e, TN_MISMATCH, "data, indices and updates do not fit");
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), x->rank, &axis));
  TN_TRY(scatter_copy(e, &y));
  tn_strides(x->rank, x->dims, strides);
  for (int64_t i = 0; i < at->count; i++) {
    int64_t to = 0;
    for (int d = 0; d < x->rank; d++) {
      int64_t place = index[d];
      if (d == axis) TN_TRY(tn_op_eval_index(e, at, i, x->dims[d], &place));
      if (place >= x->dims[d]) return tn_eval_fail(e, TN_MISMATCH, "indices are larger than the data in dim %d", d);
      to += place * strides[d];
    }
    scatter_put(how, y, to, e->in[2], i);
    (void)tn_op_next(at->rank, at->dims, index);
  }
  return TN_OK;
}
TN_OP(scatter_elements){
    .name = "scatter_elements",
    .in = {{"data", 0, "T"}, {"indices", TN_SET(I32) | TN_SET(I64)}, {"updates", 0, "T"}},
    .out = {{"output", 0, "T"}},
    .attrs = {{"axis", TN_ATTR_INT, .i = 0, .has_default = true}, {"reduction", TN_ATTR_STR, .s = "none"}},
    .type = tn_type_as_input,
    .shape = scatter_elements_shape,
    .value = scatter_value,
    .eval = scatter_elements_eval,
    .kernel = "scatter_elements",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-6},
    .doc = "data with single elements replaced by, or combined with, updates",
};

/* --- scatter_nd --- */

static tn_status scatter_nd_shape(tn_rule *r) {
  TN_TRY(scatter_check(r));
  TN_TRY(tn_shape_as_input(r));
  TN_TRY(tn_rule_need_rank(r, 0, 1, TN_MAX_RANK));
  TN_TRY(tn_rule_need_rank(r, 1, 1, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, 0) || !tn_rule_has_rank(r, 1)) return TN_OK;
  const tn_type *const x = r->in[0];
  const tn_type *const at = r->in[1];
  const tn_sym tuple = at->dims[at->rank - 1];
  if (!tn_sym_is_int(tuple)) return TN_OK;
  if (tuple->k > x->rank)
    return tn_rule_fail(r, TN_MISMATCH, "indices have %lld places, the data %d axes", (long long)tuple->k, x->rank);
  if (!tn_rule_has_rank(r, 2)) return TN_OK;
  const int lead = at->rank - 1, rank = lead + x->rank - (int)tuple->k;
  if (rank > TN_MAX_RANK) return tn_rule_fail(r, TN_LIMIT, "rank %d is above %d", rank, TN_MAX_RANK);
  TN_TRY(tn_rule_need_rank(r, 2, rank, rank));
  for (int d = 0; d < rank; d++)
    TN_TRY(tn_rule_unify(r, r->in[2]->dims[d], d < lead ? at->dims[d] : x->dims[d - lead + tuple->k],
                         "updates do not fit in", d, NULL));
  return TN_OK;
}
static tn_status scatter_nd_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const at = e->in[1];
  const scatter_how how = scatter_reduction(tn_eval_attr(e, "reduction"));
  int64_t strides[TN_MAX_RANK], run = 1, tuples = 1;
  tn_lit *y;
  if (at->rank < 1 || at->dims[at->rank - 1] > x->rank)
    return tn_eval_fail(e, TN_MISMATCH, "the indices have more places than the data has axes");
  const int64_t tuple = at->dims[at->rank - 1];
  for (int d = 0; d < at->rank - 1; d++) tuples *= at->dims[d];
  for (int d = (int)tuple; d < x->rank; d++) run *= x->dims[d];
  if (e->in[2]->count != tuples * run) return tn_eval_fail(e, TN_MISMATCH, "the updates do not fit the indices");
  TN_TRY(scatter_copy(e, &y));
  tn_strides(x->rank, x->dims, strides);
  for (int64_t i = 0; i < tuples; i++) {
    int64_t to = 0, place;
    for (int64_t p = 0; p < tuple; p++) {
      TN_TRY(tn_op_eval_index(e, at, i * tuple + p, x->dims[p], &place));
      to += place * strides[p];
    }
    for (int64_t k = 0; k < run; k++) scatter_put(how, y, to + k, e->in[2], i * run + k);
  }
  return TN_OK;
}
TN_OP(scatter_nd){
    .name = "scatter_nd",
    .in = {{"data", 0, "T"}, {"indices", TN_SET(I64)}, {"updates", 0, "T"}},
    .out = {{"output", 0, "T"}},
    .attrs = {{"reduction", TN_ATTR_STR, .s = "none"}},
    .type = tn_type_as_input,
    .shape = scatter_nd_shape,
    .value = scatter_value,
    .eval = scatter_nd_eval,
    .kernel = "scatter_nd",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-6},
    .doc = "data with slices replaced by, or combined with, updates",
};

/* --- tensor_scatter --- */

static tn_status tensor_scatter_shape(tn_rule *r) {
  int axis;
  TN_TRY(tn_shape_as_input(r));
  TN_TRY(tn_rule_need_rank(r, 0, 2, TN_MAX_RANK));
  TN_TRY(tn_rule_need_rank(r, 2, 1, 1));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *const x = r->in[0];
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), x->rank, &axis));
  if (axis == 0) return tn_rule_fail(r, TN_INVALID, "axis 0 is the batch");
  TN_TRY(tn_rule_need_rank(r, 1, x->rank, x->rank));
  for (int d = 0; tn_rule_has_rank(r, 1) && d < x->rank; d++)
    if (d != axis) TN_TRY(tn_rule_unify(r, x->dims[d], r->in[1]->dims[d], "cache and update differ in", d, NULL));
  if (tn_rule_has_rank(r, 1))
    TN_TRY(tn_rule_demand(r, tn_sym_le(r->syms, r->in[1]->dims[axis], x->dims[axis]),
                          "the update has %s elements along axis %d, the cache %s",
                          tn_sym_text(r->syms, r->in[1]->dims[axis]), axis, tn_sym_text(r->syms, x->dims[axis])));
  if (tn_rule_has_rank(r, 2))
    TN_TRY(tn_rule_unify(r, r->in[2]->dims[0], x->dims[0], "write_indices and batch differ", -1, NULL));
  return TN_OK;
}
static tn_status tensor_scatter_eval(tn_eval *e) {
  const tn_lit *const u = e->in[1];
  const tn_lit *const starts = tn_op_eval_in(e, 2);
  int64_t strides[TN_MAX_RANK], at[TN_MAX_RANK] = {0};
  int axis;
  tn_lit *y;
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), e->in[0]->rank, &axis));
  TN_TRY(scatter_copy(e, &y));
  if (u->rank != y->rank || (starts && starts->count != y->dims[0]))
    return tn_eval_fail(e, TN_MISMATCH, "cache, update and write_indices do not fit");
  tn_strides(y->rank, y->dims, strides);
  const int64_t size = y->dims[axis];
  for (int64_t i = 0; i < u->count; i++) {
    const int64_t start = starts ? tn_lit_i64_at(starts, at[0]) : 0;
    int64_t place = start + at[axis], to = 0;
    if (tn_eval_str_is(e, "mode", "circular") && size > 0) place %= size;
    if (start < 0 || place >= size) return tn_eval_fail(e, TN_MISMATCH, "write index %lld", (long long)start);
    for (int d = 0; d < y->rank; d++) to += (d == axis ? place : at[d]) * strides[d];
    tn_copy_element(y->dtype, tn_lit_data(y), to, u->data, i);
    (void)tn_op_next(u->rank, u->dims, at);
  }
  return TN_OK;
}
TN_OP(tensor_scatter){
    .name = "tensor_scatter",
    .in = {{"past_cache", 0, "T"}, {"update", 0, "T"}, {"write_indices", TN_SET(I64), NULL, TN_PORT_OPTIONAL}},
    .out = {{"present_cache", 0, "T"}},
    .attrs = {{"axis", TN_ATTR_INT, .i = -2}, {"mode", TN_ATTR_STR, .s = "linear"}},
    .type = tn_type_as_input,
    .shape = tensor_scatter_shape,
    .eval = tensor_scatter_eval,
    .kernel = "tensor_scatter",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "a cache with new entries written at each batch's place",
};

/* clang-format off */
TN_ONNX(ai, Scatter, 9, TN_LATEST, scatter_elements, tn_import_same)
TN_ONNX(ai, ScatterElements, 11, TN_LATEST, scatter_elements, tn_import_same)
TN_ONNX(ai, ScatterND, 11, TN_LATEST, scatter_nd, tn_import_same)
TN_ONNX(ai, TensorScatter, 24, TN_LATEST, tensor_scatter, tn_import_same)
