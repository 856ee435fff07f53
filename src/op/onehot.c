/* Matrices of a pattern: OneHot, EyeLike, Trilu. */
#include "op/move.h"

/* --- one_hot --- */

static tn_status one_hot_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[2]->dtype);
  return TN_OK;
}
static tn_status one_hot_shape(tn_rule *r) {
  int axis;
  TN_TRY(tn_op_need_one(r, 1));
  TN_TRY(tn_op_need_length(r, 2, 2));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *const x = r->in[0];
  if (x->rank + 1 > TN_MAX_RANK) return tn_rule_fail(r, TN_LIMIT, "rank %d is above %d", x->rank + 1, TN_MAX_RANK);
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), x->rank + 1, &axis));
  tn_sym depth = tn_op_elem(r, 1, 0);
  if (depth)
    TN_TRY(tn_op_at_least(r, depth, 0, "the depth"));
  else
    depth = tn_rule_fresh(r, 0, axis, 0, NULL);
  tn_sym *const dims = tn_rule_dims(r, x->rank + 1);
  for (int d = 0, from = 0; d <= x->rank; d++) dims[d] = d == axis ? depth : x->dims[from++];
  tn_rule_set(r, 0, x->rank + 1, dims);
  return TN_OK;
}
static tn_status one_hot_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  int64_t dims[TN_MAX_RANK + 1], inner = 1;
  int axis;
  tn_lit *y;
  if (e->in[1]->count != 1 || e->in[2]->count != 2) return tn_eval_fail(e, TN_MISMATCH, "depth or values are wrong");
  const int64_t depth = tn_lit_i64_at(e->in[1], 0);
  if (depth < 0) return tn_eval_fail(e, TN_MISMATCH, "depth is %lld", (long long)depth);
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), x->rank + 1, &axis));
  for (int d = 0, from = 0; d <= x->rank; d++) dims[d] = d == axis ? depth : x->dims[from++];
  for (int d = axis; d < x->rank; d++) inner *= x->dims[d];
  TN_TRY(tn_eval_out(e, 0, e->in[2]->dtype, x->rank + 1, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t from = i / inner / depth * inner + i % inner, place = i / inner % depth;
    const int64_t at = tn_load_i64(x->dtype, x->data, from); /* floats are cut toward zero */
    tn_copy_element(y->dtype, tn_lit_data(y), i, e->in[2]->data, at == place || (at < 0 && at + depth == place));
  }
  return TN_OK;
}
TN_OP(one_hot){
    .name = "one_hot",
    .in = {{"indices", TN_SET_NUMBERS}, {"depth", TN_SET_NUMBERS, NULL, TN_PORT_SHAPES}, {"values", 0}},
    .out = {{"output", 0}},
    .attrs = {{"axis", TN_ATTR_INT, .i = -1}},
    .type = one_hot_type,
    .shape = one_hot_shape,
    .eval = one_hot_eval,
    .kernel = "one_hot",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "values[1] where the new axis is at the index, values[0] elsewhere",
};

/* --- eye_like --- */

static tn_status eye_like_type(tn_rule *r) {
  const tn_attr *const d = tn_rule_attr(r, "dtype");
  if (d && !tn_dtype_valid((int)d->i))
    return tn_rule_fail(r, TN_INVALID, "attribute 'dtype' is %lld, which is no element type", (long long)d->i);
  tn_rule_set_dtype(r, 0, d ? (tn_dtype)d->i : r->in[0]->dtype);
  return TN_OK;
}
static tn_status eye_like_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 2, 2));
  return tn_shape_as_input(r);
}
static tn_status eye_like_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_attr *const d = tn_eval_attr(e, "dtype");
  const int64_t k = tn_eval_int(e, "k");
  tn_lit *y;
  if (x->rank != 2) return tn_eval_fail(e, TN_MISMATCH, "the input is no matrix");
  TN_TRY(tn_eval_out(e, 0, d ? (tn_dtype)d->i : x->dtype, 2, x->dims, &y));
  for (int64_t i = 0; i < y->count; i++)
    if (i % x->dims[1] - i / x->dims[1] == k) tn_store_f64(y->dtype, tn_lit_data(y), i, 1);
  return TN_OK;
}
#define EYE_LIKE_SET (TN_SET_NUMBERS | TN_SET(BOOL))
TN_OP(eye_like){
    .name = "eye_like",
    .in = {{"input", EYE_LIKE_SET}},
    .out = {{"output", EYE_LIKE_SET}},
    .attrs = {{"dtype", TN_ATTR_DTYPE}, {"k", TN_ATTR_INT, .i = 0, .has_default = true}},
    .type = eye_like_type,
    .shape = eye_like_shape,
    .eval = eye_like_eval,
    .kernel = "eye_like",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "a matrix of the input's size with ones on diagonal k",
};

/* --- trilu --- */

static tn_status trilu_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 2, TN_MAX_RANK));
  TN_TRY(tn_rule_need_rank(r, 1, 0, 1));
  return tn_shape_as_input(r);
}
static tn_status trilu_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const diagonal = tn_op_eval_in(e, 1);
  const bool upper = tn_eval_int(e, "upper") != 0;
  tn_lit *y;
  if (x->rank < 2 || (diagonal && diagonal->count != 1)) return tn_eval_fail(e, TN_MISMATCH, "the input is no matrix");
  const int64_t k = diagonal ? tn_lit_i64_at(diagonal, 0) : 0, cols = x->dims[x->rank - 1], rows = x->dims[x->rank - 2];
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t apart = i % cols - i / cols % rows;
    if (upper ? apart >= k : apart <= k) tn_copy_element(x->dtype, tn_lit_data(y), i, x->data, i);
  }
  return TN_OK;
}
TN_OP(trilu){
    .name = "trilu",
    .in = {{"input", 0, "T"}, {"k", TN_SET(I64), NULL, TN_PORT_OPTIONAL}},
    .out = {{"output", 0, "T"}},
    .attrs = {{"upper", TN_ATTR_INT, .i = 1}},
    .type = tn_type_as_input,
    .shape = trilu_shape,
    .value = tn_op_value_move_first,
    .eval = trilu_eval,
    .kernel = "trilu",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the upper or lower triangle of matrices, zeros elsewhere",
};

/* clang-format off */
TN_ONNX(ai, OneHot, 9, TN_LATEST, one_hot, tn_import_same)
TN_ONNX(ai, EyeLike, 9, TN_LATEST, eye_like, tn_import_same)
TN_ONNX(ai, Trilu, 14, TN_LATEST, trilu, tn_import_same)
