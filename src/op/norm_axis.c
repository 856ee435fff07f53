/* Normalisations over axes and determinants: LpNormalization, MeanVarianceNormalization, Det. */
#include <math.h>

#include "op/move.h"

/* --- lp_normalization --- */

static tn_status lp_normalization_shape(tn_rule *r) {
  const int64_t p = tn_rule_int(r, "p");
  int axis;
  if (p != 1 && p != 2) return tn_rule_fail(r, TN_INVALID, "attribute 'p' is %lld, expected 1 or 2", (long long)p);
  if (tn_rule_has_rank(r, 0)) TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), r->in[0]->rank, &axis));
  return tn_shape_as_input(r);
}
static tn_status lp_normalization_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  int64_t inner = 1;
  int axis;
  tn_lit *y;
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), x->rank, &axis));
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  for (int d = axis + 1; d < x->rank; d++) inner *= x->dims[d];
  const int64_t n = x->dims[axis];
  for (int64_t line = 0; n > 0 && line < x->count / n; line++) {
    const int64_t base = line / inner * n * inner + line % inner;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
      const double v = tn_lit_f64(x, base + i * inner);
      sum += tn_eval_int(e, "p") == 1 ? fabs(v) : v * v;
    }
    const double norm = tn_eval_int(e, "p") == 1 ? sum : sqrt(sum);
    for (int64_t i = 0; i < n; i++)
      tn_store_f64(x->dtype, tn_lit_data(y), base + i * inner, norm == 0 ? 0 : tn_lit_f64(x, base + i * inner) / norm);
  }
  return TN_OK;
}
TN_OP(lp_normalization){
    .name = "lp_normalization",
    .in = {{"input", TN_SET_FLOATS, "T"}},
    .out = {{"output", TN_SET_FLOATS, "T"}},
    .attrs = {{"axis", TN_ATTR_INT, .i = -1}, {"p", TN_ATTR_INT, .i = 2}},
    .type = tn_type_as_input,
    .shape = lp_normalization_shape,
    .eval = lp_normalization_eval,
    .kernel = "lp_normalization",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-6},
    .doc = "divided by the norm along an axis",
};

/* --- mean_variance_normalization --- */

/* axes as a set; without the attribute 0, 2 and 3. */
static tn_status mean_variance_axes(tn_ctx *ctx, tn_loc loc, const tn_attr *attr, int rank, bool *gone) {
  static const int64_t usual[3] = {0, 2, 3};
  const int64_t n = attr ? attr->n : 3, *const axes = attr ? attr->ints : usual;
  for (int d = 0; d < rank; d++) gone[d] = false;
  for (int64_t i = 0; i < n; i++) {
    if (axes[i] < -rank || axes[i] >= rank)
      return tn_fail(ctx, TN_MISMATCH, loc, "axis %lld is out of range for rank %d", (long long)axes[i], rank);
    gone[axes[i] < 0 ? axes[i] + rank : axes[i]] = true;
  }
  return TN_OK;
}
static tn_status mean_variance_shape(tn_rule *r) {
  bool gone[TN_MAX_RANK];
  if (tn_rule_has_rank(r, 0)) TN_TRY(mean_variance_axes(r->ctx, r->loc, tn_rule_attr(r, "axes"), r->in[0]->rank, gone));
  return tn_shape_as_input(r);
}
static tn_status mean_variance_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  bool gone[TN_MAX_RANK];
  int64_t group[TN_MAX_RANK], groups = 1, n = 1, at[TN_MAX_RANK] = {0};
  tn_lit *y;
  TN_TRY(mean_variance_axes(e->ctx, e->loc, tn_eval_attr(e, "axes"), x->rank, gone));
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  if (x->count == 0) return TN_OK;
  for (int d = x->rank - 1; d >= 0; d--) {
    group[d] = gone[d] ? 0 : groups;
    *(gone[d] ? &n : &groups) *= x->dims[d];
  }
  double *const mean = TN_NEW_ARRAY(e->arena, double, groups), *const square = TN_NEW_ARRAY(e->arena, double, groups);
  for (int64_t i = 0; i < x->count; i++) {
    mean[tn_op_dot(x->rank, at, group)] += tn_lit_f64(x, i) / (double)n;
    (void)tn_op_next(x->rank, x->dims, at);
  }
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t g = tn_op_dot(x->rank, at, group);
    const double away = tn_lit_f64(x, i) - mean[g];
    square[g] += away * away / (double)n;
    (void)tn_op_next(x->rank, x->dims, at);
  }
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t g = tn_op_dot(x->rank, at, group);
    tn_store_f64(x->dtype, tn_lit_data(y), i, (tn_lit_f64(x, i) - mean[g]) / (sqrt(square[g]) + 1e-9));
    (void)tn_op_next(x->rank, x->dims, at);
  }
  return TN_OK;
}
TN_OP(mean_variance_normalization){
    .name = "mean_variance_normalization",
    .in = {{"x", TN_SET_FLOATS, "T"}},
    .out = {{"y", TN_SET_FLOATS, "T"}},
    .attrs = {{"axes", TN_ATTR_INTS}},
    .type = tn_type_as_input,
    .shape = mean_variance_shape,
    .eval = mean_variance_eval,
    .kernel = "mean_variance_normalization",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "(x - mean) / standard deviation over axes",
};

/* --- det --- */

static tn_status det_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 2, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *const x = r->in[0];
  TN_TRY(tn_rule_unify(r, x->dims[x->rank - 2], x->dims[x->rank - 1], "a matrix is not square", -1, NULL));
  tn_rule_set(r, 0, x->rank - 2, x->dims);
  return TN_OK;
}
/* Gauss with the largest pivot; destroys m. */
static double det_of(double *m, int64_t n) {
  double det = 1;
  for (int64_t c = 0; c < n; c++) {
    int64_t best = c;
    for (int64_t r = c + 1; r < n; r++)
      if (fabs(m[r * n + c]) > fabs(m[best * n + c])) best = r;
    const double pivot = m[best * n + c];
    if (!(pivot < 0 || pivot > 0)) return pivot;
    for (int64_t k = 0; best != c && k < n; k++) {
      const double swap = m[c * n + k];
      m[c * n + k] = m[best * n + k];
      m[best * n + k] = swap;
    }
    det *= best == c ? pivot : -pivot;
    for (int64_t r = c + 1; r < n; r++) {
      const double f = m[r * n + c] / pivot;
      for (int64_t k = c; k < n; k++) m[r * n + k] -= f * m[c * n + k];
    }
  }
  return det;
}
static tn_status det_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  tn_lit *y;
  if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
    return tn_eval_fail(e, TN_MISMATCH, "a matrix is not square");
  const int64_t n = x->dims[x->rank - 1];
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank - 2, x->dims, &y));
  double *const m = TN_NEW_ARRAY(e->arena, double, n *n + 1);
  for (int64_t i = 0; i < y->count; i++) {
    for (int64_t k = 0; k < n * n; k++) m[k] = tn_lit_f64(x, i * n * n + k);
    tn_store_f64(y->dtype, tn_lit_data(y), i, det_of(m, n));
  }
  return TN_OK;
}
TN_OP(det){
    .name = "det",
    .in = {{"x", TN_SET_FLOATS, "T"}},
    .out = {{"y", TN_SET_FLOATS, "T"}},
    .type = tn_type_as_input,
    .shape = det_shape,
    .eval = det_eval,
    .kernel = "det",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "the determinants of square matrices",
};

/* clang-format off */
TN_ONNX(ai, LpNormalization, 1, TN_LATEST, lp_normalization, tn_import_same)
TN_ONNX(ai, MeanVarianceNormalization, 9, TN_LATEST, mean_variance_normalization, tn_import_same)
TN_ONNX(ai, Det, 11, TN_LATEST, det, tn_import_same)
