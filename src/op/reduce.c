/* Reductions over axes. axes: input 1, or an attribute in older opsets; none = all, unless noop_with_empty_axes. */
#include <math.h>

#include "ir/axis.h"
#include "op/elementwise.h"
#include "op/move.h"

/* Which axes go. False: not known before the run. */
static tn_status reduce_axes(tn_rule *r, int rank, bool *out_known, bool *gone) {
  int64_t n = 0, *axes = NULL;
  int set[TN_MAX_RANK];
  *out_known = true;
  if (tn_rule_has(r, 1)) TN_TRY(tn_rule_need_rank(r, 1, 0, 1));
  if (tn_rule_has(r, 1) && !tn_rule_const_ints(r, 1, &n, &axes)) *out_known = tn_op_length(r, 1) == 0;
  if (!*out_known) return TN_OK;
  const bool all = n == 0 && !tn_rule_int(r, "noop_with_empty_axes");
  TN_TRY(tn_op_axis_set(r, n, axes, rank, set));
  for (int d = 0; d < rank; d++) gone[d] = all || set[d] >= 0;
  return TN_OK;
}
/* A dim that may or may not go is 1 or itself. */
static void reduce_open(tn_rule *r) {
  const tn_type *const x = r->in[0];
  const bool keep = tn_rule_int(r, "keepdims") != 0;
  const int64_t n = tn_op_length(r, 1);
  if (!keep && n < 0) return;
  const int rank = keep ? x->rank : x->rank - (int)n;
  if (rank < 0) return;
  tn_sym *const dims = tn_rule_dims(r, rank);
  for (int d = 0; d < rank; d++)
    dims[d] = tn_rule_fresh(r, 0, d, 0, keep ? tn_sym_max(r->syms, x->dims[d], tn_sym_int(r->syms, 1)) : NULL);
  tn_rule_set(r, 0, rank, dims);
}
static tn_status reduce_shape(tn_rule *r) {
  const tn_type *const x = r->in[0];
  bool known, gone[TN_MAX_RANK];
  tn_sym dims[TN_MAX_RANK];
  int rank = 0;
  if (!tn_rule_has_rank(r, 0)) {
    const bool all = !tn_rule_has(r, 1) && !tn_rule_int(r, "noop_with_empty_axes") && !tn_rule_int(r, "keepdims");
    return all ? tn_shape_scalar(r) : TN_OK;
  }
  TN_TRY(reduce_axes(r, x->rank, &known, gone));
  if (!known) {
    reduce_open(r);
    return TN_OK;
  }
  for (int d = 0; d < x->rank; d++) {
    if (!gone[d]) dims[rank++] = x->dims[d];
    if (gone[d] && tn_rule_int(r, "keepdims")) dims[rank++] = tn_sym_int(r->syms, 1);
  }
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}

typedef tn_sym (*reduce_sym_fn)(tn_symtab *t, tn_sym a, tn_sym b);
static tn_status reduce_value(tn_rule *r, reduce_sym_fn fn, int64_t empty) {
  int64_t dims[TN_MAX_RANK], out_dims[TN_MAX_RANK], strides[TN_MAX_RANK], index[TN_MAX_RANK] = {0}, n, n_out,
                                                                          stride = 1;
  bool known, gone[TN_MAX_RANK];
  tn_sym *v;
  if (tn_dtype_is_float(r->in[0]->dtype)) return TN_OK; /* float sums and products round */
  if (!tn_rule_ints(r, 0, &n, &v) || !tn_type_const_dims(r->in[0], dims) || r->out[0].rank < 0) return TN_OK;
  if (!tn_type_const_dims(&r->out[0], out_dims) || !tn_dims_count(out_dims, r->out[0].rank, &n_out)) return TN_OK;
  const int rank = r->in[0]->rank;
  TN_TRY(reduce_axes(r, rank, &known, gone));
  if (!known || n_out > TN_MAX_CONTENT) return TN_OK;
  for (int d = rank - 1; d >= 0; d--) {
    strides[d] = gone[d] ? 0 : stride;
    stride *= gone[d] ? 1 : dims[d];
  }
  tn_sym *const acc = TN_NEW_ARRAY(&r->ctx->arena, tn_sym, n_out + 1);
  bool *const bad = TN_NEW_ARRAY(&r->ctx->arena, bool, n_out + 1);
  for (int64_t i = 0; i < n; i++) {
    const int64_t to = tn_op_dot(rank, index, strides);
    if (!v[i])
      bad[to] = true;
    else
      acc[to] = acc[to] ? fn(r->syms, acc[to], v[i]) : v[i];
    (void)tn_op_next(rank, dims, index);
  }
  tn_elem *const out = tn_rule_elems(r, n_out);
  for (int64_t i = 0; i < n_out; i++)
    if (!bad[i] && (acc[i] || empty != INT64_MIN))
      out[i] = tn_elem_in_type(r, r->in[0]->dtype, tn_elem_sym(acc[i] ? acc[i] : tn_sym_int(r->syms, empty)));
  tn_rule_set_content(r, 0, out);
  return TN_OK;
}
static tn_status reduce_sum_value(tn_rule *r) { return reduce_value(r, tn_sym_add, 0); }
static tn_status reduce_prod_value(tn_rule *r) { return reduce_value(r, tn_sym_mul, 1); }
static tn_status reduce_max_value(tn_rule *r) { return reduce_value(r, tn_sym_max, INT64_MIN); }
static tn_status reduce_min_value(tn_rule *r) { return reduce_value(r, tn_sym_min, INT64_MIN); }

/* --- the oracle --- */

/* What happens to the elements x[0..n) of one result. */
typedef double (*reduce_f64_fn)(const double *x, int64_t n);
typedef int64_t (*reduce_i64_fn)(const int64_t *x, int64_t n, tn_dtype d);

static tn_status reduce_eval_axes(tn_eval *e, bool *gone) {
  const tn_lit *const axes = tn_op_eval_in(e, 1);
  const int rank = e->in[0]->rank;
  const int64_t n = axes ? axes->count : 0;
  int set[TN_MAX_RANK];
  int64_t *const v = TN_NEW_ARRAY(e->arena, int64_t, n + 1);
  for (int64_t i = 0; i < n; i++) v[i] = tn_lit_i64_at(axes, i);
  TN_TRY(tn_op_eval_axis_set(e, n, v, rank, set));
  const bool all = n == 0 && !tn_eval_int(e, "noop_with_empty_axes");
  for (int d = 0; d < rank; d++) gone[d] = all || set[d] >= 0;
  return TN_OK;
}
static tn_status reduce_eval(tn_eval *e, reduce_f64_fn f, reduce_i64_fn g) {
  const tn_lit *const x = e->in[0];
  bool gone[TN_MAX_RANK];
  int64_t dims[TN_MAX_RANK], kept[TN_MAX_RANK], lost[TN_MAX_RANK], strides[TN_MAX_RANK], n = 1;
  int64_t at[TN_MAX_RANK] = {0};
  int rank = 0;
  tn_lit *y;
  TN_TRY(reduce_eval_axes(e, gone));
  tn_strides(x->rank, x->dims, strides);
  for (int d = 0; d < x->rank; d++) {
    kept[d] = gone[d] ? 1 : x->dims[d];
    lost[d] = gone[d] ? x->dims[d] : 1;
    n *= lost[d];
    if (!gone[d] || tn_eval_int(e, "keepdims")) dims[rank++] = kept[d];
  }
  TN_TRY(tn_eval_out(e, 0, x->dtype, rank, dims, &y));
  if (y->count == 0) return TN_OK;
  double *const fs = TN_NEW_ARRAY(e->arena, double, n + 1);
  int64_t *const is = TN_NEW_ARRAY(e->arena, int64_t, n + 1);
  for (int64_t o = 0; o < y->count; o++) {
    int64_t in[TN_MAX_RANK] = {0};
    const int64_t base = tn_op_dot(x->rank, at, strides);
    for (int64_t i = 0; i < n; i++) {
      const int64_t from = base + tn_op_dot(x->rank, in, strides);
      if (tn_dtype_is_float(x->dtype))
        fs[i] = tn_lit_f64(x, from);
      else
        is[i] = tn_lit_i64_at(x, from);
      (void)tn_op_next(x->rank, lost, in);
    }
    if (tn_dtype_is_float(x->dtype))
      tn_store_f64(y->dtype, tn_lit_data(y), o, f(fs, n));
    else
      tn_store_i64(y->dtype, tn_lit_data(y), o, g(is, n, x->dtype));
    (void)tn_op_next(x->rank, kept, at);
  }
  return TN_OK;
}

static double reduce_f_sum(const double *x, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; i++) s += x[i];
  return s;
}
static double reduce_f_mean(const double *x, int64_t n) { return reduce_f_sum(x, n) / (double)n; }
static double reduce_f_prod(const double *x, int64_t n) {
  double s = 1;
  for (int64_t i = 0; i < n; i++) s *= x[i];
  return s;
}
static double reduce_f_max(const double *x, int64_t n) {
  double s = -HUGE_VAL;
  for (int64_t i = 0; i < n; i++) s = x[i] > s || isnan(x[i]) ? x[i] : s;
  return s;
}
static double reduce_f_min(const double *x, int64_t n) {
  double s = HUGE_VAL;
  for (int64_t i = 0; i < n; i++) s = x[i] < s || isnan(x[i]) ? x[i] : s;
  return s;
}
static double reduce_f_l1(const double *x, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; i++) s += fabs(x[i]);
  return s;
}
static double reduce_f_sum_square(const double *x, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; i++) s += x[i] * x[i];
  return s;
}
static double reduce_f_l2(const double *x, int64_t n) { return sqrt(reduce_f_sum_square(x, n)); }
static double reduce_f_log_sum(const double *x, int64_t n) { return log(reduce_f_sum(x, n)); }
static double reduce_f_log_sum_exp(const double *x, int64_t n) {
  const double m = reduce_f_max(x, n);
  double s = 0;
  if (isinf(m)) return m;
  for (int64_t i = 0; i < n; i++) s += exp(x[i] - m);
  return m + log(s);
}

/* Integers: sums wrap as the type does; what is no integer truncates. */
static double reduce_as_f64(int64_t v, tn_dtype d) { return d == TN_U64 ? (double)(uint64_t)v : (double)v; }
static int64_t reduce_as_i64(double v, tn_dtype d) {
  uint64_t bits = 0;
  tn_store_f64(d, &bits, 0, v);
  return tn_load_i64(d, &bits, 0);
}
static int64_t reduce_i_sum(const int64_t *x, int64_t n, tn_dtype d) {
  uint64_t s = 0;
  (void)d;
  for (int64_t i = 0; i < n; i++) s += (uint64_t)x[i];
  return (int64_t)s;
}
static int64_t reduce_i_mean(const int64_t *x, int64_t n, tn_dtype d) {
  uint64_t bits = 0;
  tn_store_i64(d, &bits, 0, reduce_i_sum(x, n, d));
  const int64_t s = tn_load_i64(d, &bits, 0);
  if (n == 0) return 0;
  return d == TN_U64 ? (int64_t)((uint64_t)s / (uint64_t)n) : s / n;
}
static int64_t reduce_i_prod(const int64_t *x, int64_t n, tn_dtype d) {
  uint64_t s = 1;
  (void)d;
  for (int64_t i = 0; i < n; i++) s *= (uint64_t)x[i];
  return (int64_t)s;
}
static int64_t reduce_i_extreme(const int64_t *x, int64_t n, tn_dtype d, bool max) {
  const uint64_t flip = d == TN_U64 ? UINT64_C(1) << 63 : 0; /* orders unsigned values as signed ones */
  if (n == 0) return reduce_as_i64(max ? -HUGE_VAL : HUGE_VAL, d);
  int64_t s = x[0];
  for (int64_t i = 1; i < n; i++) {
    const int64_t a = (int64_t)((uint64_t)x[i] ^ flip), b = (int64_t)((uint64_t)s ^ flip);
    if (max ? a > b : a < b) s = x[i];
  }
  return s;
}
static int64_t reduce_i_max(const int64_t *x, int64_t n, tn_dtype d) {
  return n == 0 && d == TN_BOOL ? 0 : reduce_i_extreme(x, n, d, true);
}
static int64_t reduce_i_min(const int64_t *x, int64_t n, tn_dtype d) { return reduce_i_extreme(x, n, d, false); }
static int64_t reduce_i_l1(const int64_t *x, int64_t n, tn_dtype d) {
  uint64_t s = 0;
  for (int64_t i = 0; i < n; i++) s += x[i] < 0 && d != TN_U64 ? 0 - (uint64_t)x[i] : (uint64_t)x[i];
  return (int64_t)s;
}
static int64_t reduce_i_sum_square(const int64_t *x, int64_t n, tn_dtype d) {
  uint64_t s = 0;
  (void)d;
  for (int64_t i = 0; i < n; i++) s += (uint64_t)x[i] * (uint64_t)x[i];
  return (int64_t)s;
}
static int64_t reduce_i_l2(const int64_t *x, int64_t n, tn_dtype d) {
  double s = 0;
  for (int64_t i = 0; i < n; i++) s += reduce_as_f64(x[i], d) * reduce_as_f64(x[i], d);
  return reduce_as_i64(sqrt(s), d);
}
static int64_t reduce_i_log_sum(const int64_t *x, int64_t n, tn_dtype d) {
  double s = 0;
  for (int64_t i = 0; i < n; i++) s += reduce_as_f64(x[i], d);
  return reduce_as_i64(log(s), d);
}
static int64_t reduce_i_log_sum_exp(const int64_t *x, int64_t n, tn_dtype d) {
  double m = -HUGE_VAL, s = 0;
  for (int64_t i = 0; i < n; i++) m = reduce_as_f64(x[i], d) > m ? reduce_as_f64(x[i], d) : m;
  for (int64_t i = 0; i < n; i++) s += exp(reduce_as_f64(x[i], d) - m);
  return reduce_as_i64(n == 0 ? m : m + log(s), d);
}

#define REDUCE_SET (TN_SET_FLOATS | TN_SET(I32) | TN_SET(I64) | TN_SET(U32) | TN_SET(U64))
#define REDUCE_WIDE_SET (TN_SET_NUMBERS | TN_SET(BOOL))

/* A reduction: the oracle's functions are reduce_f_<short> and reduce_i_<short>. */
#define TN_REDUCE_OP(id, short_name, set, value_fn, tolerance, text)                                              \
  static tn_status id##_eval(tn_eval *e) { return reduce_eval(e, reduce_f_##short_name, reduce_i_##short_name); } \
  TN_OP(id){                                                                                                      \
      .name = #id,                                                                                                \
      .in = {{"data", set, "T"}, {"axes", TN_SET(I64), NULL, TN_PORT_OPTIONAL | TN_PORT_SHAPES}},                 \
      .out = {{"reduced", set, "T"}},                                                                             \
      .attrs = {{"keepdims", TN_ATTR_INT, .i = 1},                                                                \
                {"noop_with_empty_axes", TN_ATTR_INT, .i = 0, .has_default = true}},                              \
      .type = tn_type_as_input,                                                                                   \
      .shape = reduce_shape,                                                                                      \
      .value = value_fn,                                                                                          \
      .eval = id##_eval,                                                                                          \
      .kernel = #id,                                                                                              \
      .axis = tn_axis_reduce,                                                                                     \
      .traits = TN_TRAIT_PURE,                                                                                    \
      .accuracy = tolerance,                                                                                      \
      .doc = text,                                                                                                \
  };
/* clang-format off */
#define REDUCE_REL {TN_ACC_REL, 1e-6}
#define REDUCE_EXACT {TN_ACC_EXACT, 0}
TN_REDUCE_OP(reduce_sum, sum, REDUCE_SET, reduce_sum_value, REDUCE_REL, "the sum over axes")
TN_REDUCE_OP(reduce_mean, mean, REDUCE_SET, NULL, REDUCE_REL, "the mean over axes")
TN_REDUCE_OP(reduce_prod, prod, REDUCE_SET, reduce_prod_value, REDUCE_REL, "the product over axes")
TN_REDUCE_OP(reduce_max, max, REDUCE_WIDE_SET, reduce_max_value, REDUCE_EXACT, "the largest element over axes")
TN_REDUCE_OP(reduce_min, min, REDUCE_WIDE_SET, reduce_min_value, REDUCE_EXACT, "the smallest element over axes")
TN_REDUCE_OP(reduce_l1, l1, REDUCE_SET, NULL, REDUCE_REL, "the sum of magnitudes over axes")
TN_REDUCE_OP(reduce_l2, l2, REDUCE_SET, NULL, REDUCE_REL, "the root of the sum of squares over axes")
TN_REDUCE_OP(reduce_log_sum, log_sum, REDUCE_SET, NULL, REDUCE_REL, "the logarithm of the sum over axes")
TN_REDUCE_OP(reduce_log_sum_exp, log_sum_exp, REDUCE_SET, NULL, REDUCE_REL, "log(sum(exp(x))) over axes")
TN_REDUCE_OP(reduce_sum_square, sum_square, REDUCE_SET, NULL, REDUCE_REL, "the sum of squares over axes")

TN_ONNX(ai, ReduceSum, 1, 12, reduce_sum, tn_import_axes_attr)
TN_ONNX(ai, ReduceSum, 13, TN_LATEST, reduce_sum, tn_import_same)
TN_ONNX(ai, ReduceMean, 1, 17, reduce_mean, tn_import_axes_attr)
TN_ONNX(ai, ReduceMean, 18, TN_LATEST, reduce_mean, tn_import_same)
TN_ONNX(ai, ReduceProd, 1, 17, reduce_prod, tn_import_axes_attr)
TN_ONNX(ai, ReduceProd, 18, TN_LATEST, reduce_prod, tn_import_same)
TN_ONNX(ai, ReduceMax, 1, 17, reduce_max, tn_import_axes_attr)
TN_ONNX(ai, ReduceMax, 18, TN_LATEST, reduce_max, tn_import_same)
TN_ONNX(ai, ReduceMin, 1, 17, reduce_min, tn_import_axes_attr)
TN_ONNX(ai, ReduceMin, 18, TN_LATEST, reduce_min, tn_import_same)
TN_ONNX(ai, ReduceL1, 1, 17, reduce_l1, tn_import_axes_attr)
TN_ONNX(ai, ReduceL1, 18, TN_LATEST, reduce_l1, tn_import_same)
TN_ONNX(ai, ReduceL2, 1, 17, reduce_l2, tn_import_axes_attr)
TN_ONNX(ai, ReduceL2, 18, TN_LATEST, reduce_l2, tn_import_same)
TN_ONNX(ai, ReduceLogSum, 1, 17, reduce_log_sum, tn_import_axes_attr)
TN_ONNX(ai, ReduceLogSum, 18, TN_LATEST, reduce_log_sum, tn_import_same)
TN_ONNX(ai, ReduceLogSumExp, 1, 17, reduce_log_sum_exp, tn_import_axes_attr)
TN_ONNX(ai, ReduceLogSumExp, 18, TN_LATEST, reduce_log_sum_exp, tn_import_same)
TN_ONNX(ai, ReduceSumSquare, 1, 17, reduce_sum_square, tn_import_axes_attr)
TN_ONNX(ai, ReduceSumSquare, 18, TN_LATEST, reduce_sum_square, tn_import_same)
