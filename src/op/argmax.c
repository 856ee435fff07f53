/* Places of extreme elements: ArgMax, ArgMin, TopK. NaN counts as the largest value. */
#include <math.h>

#include "ir/axis.h"
#include "op/move.h"

/* Does element a come before b in descending order? */
static bool argmax_above(const tn_lit *x, int64_t a, int64_t b) {
  if (tn_dtype_is_float(x->dtype)) {
    const double u = tn_lit_f64(x, a), v = tn_lit_f64(x, b);
    return isnan(v) ? false : isnan(u) || u > v;
  }
  const uint64_t flip = x->dtype == TN_U64 ? UINT64_C(1) << 63 : 0;
  return (int64_t)((uint64_t)tn_lit_i64_at(x, a) ^ flip) > (int64_t)((uint64_t)tn_lit_i64_at(x, b) ^ flip);
}

/* --- argmax, argmin --- */

static tn_status argmax_shape(tn_rule *r) {
  tn_sym dims[TN_MAX_RANK];
  int axis, rank = 0;
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *const x = r->in[0];
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), x->rank, &axis));
  TN_TRY(tn_op_at_least(r, x->dims[axis], 1, "the dim that is searched"));
  for (int d = 0; d < x->rank; d++) {
    if (d != axis) dims[rank++] = x->dims[d];
    if (d == axis && tn_rule_int(r, "keepdims")) dims[rank++] = tn_sym_int(r->syms, 1);
  }
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}
static tn_status argmax_search(tn_eval *e, bool max) {
  const tn_lit *const x = e->in[0];
  int64_t dims[TN_MAX_RANK], inner = 1;
  int axis, rank = 0;
  tn_lit *y;
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), x->rank, &axis));
  for (int d = 0; d < x->rank; d++) {
    if (d > axis) inner *= x->dims[d];
    if (d != axis) dims[rank++] = x->dims[d];
    if (d == axis && tn_eval_int(e, "keepdims")) dims[rank++] = 1;
  }
  TN_TRY(tn_eval_out(e, 0, TN_I64, rank, dims, &y));
  const int64_t n = x->dims[axis];
  if (n == 0 && y->count > 0) return tn_eval_fail(e, TN_MISMATCH, "the dim that is searched is 0");
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t base = i / inner * n * inner + i % inner;
    int64_t best = 0;
    for (int64_t k = 1; k < n; k++) {
      const int64_t a = base + k * inner, b = base + best * inner;
      const bool better = max ? argmax_above(x, a, b) : argmax_above(x, b, a);
      const bool equal = !argmax_above(x, a, b) && !argmax_above(x, b, a);
      if (better || (equal && tn_eval_int(e, "select_last_index"))) best = k;
    }
    tn_store_i64(TN_I64, tn_lit_data(y), i, best);
  }
  return TN_OK;
}
static tn_status argmax_eval(tn_eval *e) { return argmax_search(e, true); }
static tn_status argmin_eval(tn_eval *e) { return argmax_search(e, false); }
#define TN_ARGMAX_OP(id, text)                                                    \
  TN_OP(id){                                                                      \
      .name = #id,                                                                \
      .in = {{"data", TN_SET_NUMBERS}},                                           \
      .out = {{"reduced", TN_SET(I64)}},                                          \
      .attrs = {{"axis", TN_ATTR_INT, .i = 0, .has_default = true},               \
                {"keepdims", TN_ATTR_INT, .i = 1},                                \
                {"select_last_index", TN_ATTR_INT, .i = 0, .has_default = true}}, \
      .type = tn_type_i64,                                                        \
      .shape = argmax_shape,                                                      \
      .eval = id##_eval,                                                          \
      .kernel = #id,                                                              \
      .axis = tn_axis_except,                                                     \
      .traits = TN_TRAIT_PURE,                                                    \
      .accuracy = {TN_ACC_EXACT, 0},                                              \
      .doc = text,                                                                \
  };
/* clang-format off */
TN_ARGMAX_OP(argmax, "the place of the largest element along an axis")
TN_ARGMAX_OP(argmin, "the place of the smallest element along an axis")
/* clang-format on */

/* --- top_k --- */

static tn_status top_k_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[0]->dtype);
  if (r->n_out > 1) tn_rule_set_dtype(r, 1, TN_I64);
  return TN_OK;
}
static tn_status top_k_shape(tn_rule *r) {
  int axis;
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *const x = r->in[0];
  if (x->rank == 0) return tn_rule_fail(r, TN_MISMATCH, "a scalar has no axis to search");
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), x->rank, &axis));
  TN_TRY(tn_op_need_one(r, 1));
  tn_sym count = tn_op_elem(r, 1, 0);
  if (!count) {
    count = tn_rule_fresh(r, 0, axis, 0, x->dims[axis]);
  } else {
    TN_TRY(tn_op_at_least(r, count, 0, "k"));
    TN_TRY(tn_rule_demand(r, tn_sym_le(r->syms, count, x->dims[axis]), "k is %s, but dim %d is %s",
                          tn_sym_text(r->syms, count), axis, tn_sym_text(r->syms, x->dims[axis])));
  }
  tn_sym *const dims = tn_rule_dims(r, x->rank);
  for (int d = 0; d < x->rank; d++) dims[d] = d == axis ? count : x->dims[d];
  for (int i = 0; i < r->n_out; i++) tn_rule_set(r, i, x->rank, dims);
  return TN_OK;
}
typedef struct top_k_line_of {
  const tn_lit *x;
  int64_t base, inner;
  bool largest;
} top_k_line_of;
static bool top_k_before(const void *arg, int64_t a, int64_t b) {
  const top_k_line_of *const l = arg;
  const int64_t u = l->base + a * l->inner, v = l->base + b * l->inner;
  return l->largest ? argmax_above(l->x, u, v) : argmax_above(l->x, v, u);
}
static tn_status top_k_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  int64_t dims[TN_MAX_RANK], inner = 1;
  int axis;
  tn_lit *y, *at;
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), x->rank, &axis));
  for (int d = 0; d < x->rank; d++) {
    dims[d] = x->dims[d];
    if (d > axis) inner *= x->dims[d];
  }
  const int64_t n = x->dims[axis], k = e->in[1]->count == 1 ? tn_lit_i64_at(e->in[1], 0) : -1;
  if (k < 0 || k > n)
    return tn_eval_fail(e, TN_MISMATCH, "k is %lld, dim %d is %lld", (long long)k, axis, (long long)n);
  dims[axis] = k;
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, dims, &y));
  TN_TRY(tn_eval_out(e, 1, TN_I64, x->rank, dims, &at));
  int64_t *const order = TN_NEW_ARRAY(e->arena, int64_t, n + 1);
  for (int64_t line = 0; k > 0 && line < y->count / k; line++) {
    const int64_t from = line / inner * n * inner + line % inner, to = line / inner * k * inner + line % inner;
    const top_k_line_of l = {x, from, inner, tn_eval_int(e, "largest") != 0};
    for (int64_t i = 0; i < n; i++) order[i] = i;
    tn_op_sort(e->arena, order, n, top_k_before, &l);
    for (int64_t i = 0; i < k; i++) {
      tn_copy_element(x->dtype, tn_lit_data(y), to + i * inner, x->data, from + order[i] * inner);
      tn_store_i64(TN_I64, tn_lit_data(at), to + i * inner, order[i]);
    }
  }
  return TN_OK;
}
TN_OP(top_k){
    .name = "top_k",
    .in = {{"x", TN_SET_NUMBERS, "T"}, {"k", TN_SET(I64), NULL, TN_PORT_SHAPES}},
    .out = {{"values", TN_SET_NUMBERS, "T"}, {"indices", TN_SET(I64)}},
    .attrs = {{"axis", TN_ATTR_INT, .i = -1}, {"largest", TN_ATTR_INT, .i = 1}, {"sorted", TN_ATTR_INT, .i = 1}},
    .type = top_k_type,
    .shape = top_k_shape,
    .eval = top_k_eval,
    .kernel = "top_k",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the k largest (or smallest) elements along an axis and their places, best first",
};
/* Opset 1 has k as an attribute. */
static tn_status top_k_import_1(tn_import *im) {
  int64_t k;
  TN_TRY(tn_import_int(im, "k", -1, &k));
  tn_value *const in[2] = {im->n_in > 0 ? im->in[0] : NULL, tn_import_const_i64(im, &k, 1)};
  tn_node *const node = tn_import_node(im, "top_k", in, 2, im->n_out);
  TN_TRY(tn_import_copy_attrs(im, node));
  TN_TRY(tn_import_check_used(im));
  tn_import_finish(im, node);
  return TN_OK;
}

/* clang-format off */
TN_ONNX(ai, ArgMax, 1, TN_LATEST, argmax, tn_import_same)
TN_ONNX(ai, ArgMin, 1, TN_LATEST, argmin, tn_import_same)
TN_ONNX(ai, TopK, 1, 9, top_k, top_k_import_1)
TN_ONNX(ai, TopK, 10, TN_LATEST, top_k, tn_import_same)
