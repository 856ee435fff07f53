/* Operators of ai.onnx.ml that are compositions of others. */
#include "op/ms.h"

static tn_value *ml_floats(tn_import *im, const tn_attr *a) {
  const int64_t n = a ? a->n : 0;
  tn_lit *const lit = tn_lit_new(&im->ctx->arena, TN_F32, 1, &n);
  for (int64_t i = 0; i < n; i++) tn_store_f64(TN_F32, tn_lit_data(lit), i, a->floats[i]);
  return tn_import_const_lit(im, lit);
}

static tn_status ml_scaler(tn_import *im) {
  const tn_attr *offset, *scale;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_get(im, "offset", TN_ATTR_FLOATS, &offset));
  TN_TRY(tn_import_get(im, "scale", TN_ATTR_FLOATS, &scale));
  tn_value *x = tn_im_cast(im, im->in[0], TN_F32);
  if (offset) x = tn_im2(im, "sub", x, ml_floats(im, offset));
  if (scale) x = tn_im2(im, "mul", x, ml_floats(im, scale));
  return tn_im_done(im, x);
}

/* Where the divisor is 0 the row stays as it is. */
static tn_status ml_normalizer(tn_import *im) {
  tn_str norm;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_str(im, "norm", "MAX", &norm));
  tn_value *const x = tn_im_cast(im, im->in[0], TN_F32);
  const char *const op = tn_str_is(norm, "MAX")  ? "reduce_max"
                         : tn_str_is(norm, "L1") ? "reduce_l1"
                         : tn_str_is(norm, "L2") ? "reduce_l2"
                                                 : NULL;
  if (!op) return tn_import_fail(im, TN_INVALID, "attribute 'norm' is '%.*s'", (int)norm.len, norm.ptr);
  tn_value *const d = tn_im2(im, op, x, tn_im_int(im, -1)), *const zero = tn_im_float(im, 0);
  tn_value *const by = tn_im3(im, "where", tn_im2(im, "equal", d, zero), tn_im_float(im, 1), d);
  return tn_im_done(im, tn_im2(im, "div", x, by));
}

static tn_status ml_imputer(tn_import *im) {
  const tn_attr *floats, *ints;
  double old_float;
  int64_t old_int;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_get(im, "imputed_value_floats", TN_ATTR_FLOATS, &floats));
  TN_TRY(tn_import_get(im, "imputed_value_int64s", TN_ATTR_INTS, &ints));
  TN_TRY(tn_import_float(im, "replaced_value_float", 0, &old_float));
  TN_TRY(tn_import_int(im, "replaced_value_int64", 0, &old_int));
  if ((floats && floats->n > 0) == (ints && ints->n > 0))
    return tn_import_fail(im, TN_INVALID, "one of imputed_value_floats and imputed_value_int64s is needed");
  tn_value *const x = im->in[0];
  const bool is_float = floats && floats->n > 0, is_nan = is_float && (old_float < 0) == (old_float >= 0);
  tn_value *const fresh = is_float ? ml_floats(im, floats) : tn_import_const_i64(im, ints->ints, ints->n);
  tn_value *const old = is_float ? tn_im_float(im, old_float) : tn_im_int(im, old_int);
  tn_value *const hit = is_nan ? tn_im1(im, "isnan", x) : tn_im2(im, "equal", x, tn_im2(im, "cast_like", old, x));
  return tn_im_done(im, tn_im3(im, "where", hit, tn_im2(im, "cast_like", fresh, x), x));
}

static tn_status ml_binarizer(tn_import *im) {
  double threshold;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_float(im, "threshold", 0, &threshold));
  tn_value *const above =
      tn_im2(im, "greater", tn_im_cast(im, im->in[0], TN_F64), tn_im_cast(im, tn_im_float(im, threshold), TN_F64));
  return tn_im_done(im, tn_im2(im, "cast_like", above, im->in[0]));
}

static tn_value *ml_strings(tn_import *im, const tn_attr *a) {
  tn_lit *const lit = tn_lit_new(&im->ctx->arena, TN_STR, 1, &a->n);
  for (int64_t i = 0; i < a->n; i++) ((tn_str *)tn_lit_data(lit))[i] = a->strs[i];
  return tn_import_const_lit(im, lit);
}

/* A category that is not in the list gives zeros, which `zeros` allows. */
static tn_status ml_one_hot(tn_import *im) {
  const tn_attr *ints, *strings;
  int64_t zeros;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_get(im, "cats_int64s", TN_ATTR_INTS, &ints));
  TN_TRY(tn_import_get(im, "cats_strings", TN_ATTR_STRS, &strings));
  TN_TRY(tn_import_int(im, "zeros", 1, &zeros));
  if (!zeros) return tn_import_fail(im, TN_UNSUPPORTED, "zeros 0: an unknown category cannot end a run");
  if ((ints && ints->n > 0) == (strings && strings->n > 0))
    return tn_import_fail(im, TN_INVALID, "one of cats_int64s and cats_strings is needed");
  const bool is_int = ints && ints->n > 0;
  tn_value *const list = is_int ? tn_import_const_i64(im, ints->ints, ints->n) : ml_strings(im, strings);
  tn_value *const x = is_int ? tn_im_cast(im, im->in[0], TN_I64) : im->in[0];
  tn_value *const hit = tn_im2(im, "equal", tn_im2(im, "unsqueeze", x, tn_im_int(im, -1)), list);
  return tn_im_done(im, tn_im_cast(im, hit, TN_F32));
}

/* Columns of the last axis; a vector is a matrix of one row. */
static tn_status ml_array_features(tn_import *im) {
  TN_TRY(tn_im_need(im, 2));
  const tn_type *const x = &im->in[0]->type;
  if (!tn_type_has_rank(x)) return tn_import_fail(im, TN_UNSUPPORTED, "the rank of the data is not known in the file");
  tn_value *const at = tn_im2(im, "reshape", im->in[1], tn_im_int(im, -1));
  tn_value *const data = x->rank == 1 ? tn_im2(im, "unsqueeze", im->in[0], tn_im_int(im, 0)) : im->in[0];
  tn_value *const in[2] = {data, at};
  tn_node *const node = tn_import_node(im, "gather", in, 2, 1);
  tn_import_set_int(node, "axis", -1);
  return tn_im_done(im, node->out[0]);
}

static tn_status ml_feature_vectors(tn_import *im) {
  const int64_t *sizes;
  int64_t n;
  TN_TRY(tn_im_need(im, im->n_in));
  TN_TRY(tn_import_ints(im, "inputdimensions", &sizes, &n));
  if (n != im->n_in || n < 1) return tn_import_fail(im, TN_INVALID, "inputdimensions has %lld sizes", (long long)n);
  tn_value **const parts = TN_NEW_ARRAY(&im->ctx->arena, tn_value *, n);
  for (int64_t i = 0; i < n; i++) {
    const int64_t shape[2] = {-1, sizes[i]};
    parts[i] = tn_im2(im, "reshape", tn_im_cast(im, im->in[i], TN_F32), tn_import_const_i64(im, shape, 2));
  }
  tn_node *const node = tn_import_node(im, "concat", parts, im->n_in, 1);
  tn_import_set_int(node, "axis", 1);
  return tn_im_done(im, node->out[0]);
}

static tn_status ml_post(tn_import *im, tn_value **x) {
  tn_str post;
  TN_TRY(tn_import_str(im, "post_transform", "NONE", &post));
  if (tn_str_is(post, "NONE")) return TN_OK;
  if (tn_str_is(post, "LOGISTIC"))
    *x = tn_im1(im, "sigmoid", *x);
  else if (tn_str_is(post, "SOFTMAX"))
    *x = tn_im1(im, "softmax", *x);
  else
    return tn_import_fail(im, TN_UNSUPPORTED, "post_transform '%.*s' is not supported", (int)post.len, post.ptr);
  return TN_OK;
}

/* coefficients [targets, features], one row after the other. */
static tn_status ml_linear(tn_import *im, int64_t targets, tn_value **out) {
  const tn_attr *coefficients, *intercepts;
  TN_TRY(tn_import_get(im, "coefficients", TN_ATTR_FLOATS, &coefficients));
  TN_TRY(tn_import_get(im, "intercepts", TN_ATTR_FLOATS, &intercepts));
  if (targets < 1 || !coefficients || coefficients->n % targets != 0)
    return tn_import_fail(im, TN_INVALID, "%lld coefficients for %lld targets",
                          (long long)(coefficients ? coefficients->n : 0), (long long)targets);
  const int64_t shape[2] = {targets, -1};
  tn_value *const w = tn_im2(im, "reshape", ml_floats(im, coefficients), tn_import_const_i64(im, shape, 2));
  const bool has_bias = intercepts && intercepts->n > 0;
  tn_value *const in[3] = {tn_im_cast(im, im->in[0], TN_F32), w, has_bias ? ml_floats(im, intercepts) : NULL};
  tn_node *const node = tn_import_node(im, "gemm", in, has_bias ? 3 : 2, 1);
  tn_import_set_int(node, "transB", 1);
  *out = node->out[0];
  return TN_OK;
}

static tn_status ml_linear_regressor(tn_import *im) {
  int64_t targets;
  tn_value *y;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_int(im, "targets", 1, &targets));
  TN_TRY(ml_linear(im, targets, &y));
  TN_TRY(ml_post(im, &y));
  return tn_im_done(im, y);
}

/* The label of the largest score, or of the sign of a single one. */
static tn_status ml_linear_classifier(tn_import *im) {
  const tn_attr *ints, *strings, *intercepts;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_get(im, "classlabels_ints", TN_ATTR_INTS, &ints));
  TN_TRY(tn_import_get(im, "classlabels_strings", TN_ATTR_STRS, &strings));
  TN_TRY(tn_import_get(im, "intercepts", TN_ATTR_FLOATS, &intercepts));
  tn_import_ignore(im, "multi_class");
  const bool is_int = ints && ints->n > 0;
  const int64_t n = is_int ? ints->n : strings ? strings->n : 0;
  if (n < 2 || (intercepts && intercepts->n > 0 && intercepts->n != n))
    return tn_import_fail(im, TN_UNSUPPORTED,
                          "a classifier of %lld labels whose scores are not one for each is not supported",
                          (long long)n);
  tn_value *scores;
  TN_TRY(ml_linear(im, n, &scores));
  tn_value *const labels = is_int ? tn_import_const_i64(im, ints->ints, n) : ml_strings(im, strings);
  tn_node *const best = tn_import_node(im, "argmax", &scores, 1, 1);
  tn_import_set_int(best, "axis", 1);
  tn_import_set_int(best, "keepdims", 0);
  if (tn_im_out(im, 0)) im->out[0] = tn_im2(im, "gather", labels, best->out[0]);
  TN_TRY(ml_post(im, &scores));
  if (tn_im_out(im, 1)) im->out[1] = scores;
  return tn_import_check_used(im);
}

/* The kernel of x with every support vector, [rows, vectors]. */
static tn_status ml_svm_kernel(tn_import *im, tn_value *x, tn_value *vectors, tn_value **out) {
  tn_str kind;
  const tn_attr *params;
  TN_TRY(tn_import_str(im, "kernel_type", "LINEAR", &kind));
  TN_TRY(tn_import_get(im, "kernel_params", TN_ATTR_FLOATS, &params));
  const double gamma = params && params->n > 0 ? params->floats[0] : 0;
  const double coef0 = params && params->n > 1 ? params->floats[1] : 0;
  const double degree = params && params->n > 2 ? params->floats[2] : 0;
  if (tn_str_is(kind, "RBF")) {
    tn_value *const d = tn_im2(im, "sub", tn_im2(im, "unsqueeze", x, tn_im_int(im, 1)), vectors);
    tn_value *const in[2] = {d, tn_im_int(im, -1)};
    tn_node *const sum = tn_import_node(im, "reduce_sum_square", in, 2, 1);
    tn_import_set_int(sum, "keepdims", 0);
    *out = tn_im1(im, "exp", tn_im2(im, "mul", sum->out[0], tn_im_float(im, -gamma)));
    return TN_OK;
  }
  tn_value *const in[2] = {x, vectors};
  tn_node *const dot = tn_import_node(im, "gemm", in, 2, 1);
  tn_import_set_int(dot, "transB", 1);
  *out = dot->out[0];
  if (tn_str_is(kind, "LINEAR")) return TN_OK;
  *out = tn_im2(im, "add", tn_im2(im, "mul", *out, tn_im_float(im, gamma)), tn_im_float(im, coef0));
  if (tn_str_is(kind, "SIGMOID"))
    *out = tn_im1(im, "tanh", *out);
  else if (tn_str_is(kind, "POLY"))
    *out = tn_im2(im, "pow", *out, tn_im_float(im, degree));
  else
    return tn_import_fail(im, TN_INVALID, "attribute 'kernel_type' is '%.*s'", (int)kind.len, kind.ptr);
  return TN_OK;
}

/* Without support vectors the coefficients are the weights of a linear form. */
static tn_status ml_svm_regressor(tn_import *im) {
  const tn_attr *coefficients, *vectors, *rho;
  int64_t n, one_class;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_get(im, "coefficients", TN_ATTR_FLOATS, &coefficients));
  TN_TRY(tn_import_get(im, "support_vectors", TN_ATTR_FLOATS, &vectors));
  TN_TRY(tn_import_get(im, "rho", TN_ATTR_FLOATS, &rho));
  TN_TRY(tn_import_int(im, "n_supports", 0, &n));
  TN_TRY(tn_import_int(im, "one_class", 0, &one_class));
  if (!coefficients || !rho || rho->n < 1 || n < 1 || coefficients->n != n || !vectors || vectors->n % n != 0)
    return tn_import_fail(im, TN_UNSUPPORTED,
                          "support vector regression without a coefficient for each vector is not supported");
  const int64_t shape[2] = {n, -1}, column[2] = {n, 1};
  tn_value *const sv = tn_im2(im, "reshape", ml_floats(im, vectors), tn_import_const_i64(im, shape, 2));
  tn_value *const w = tn_im2(im, "reshape", ml_floats(im, coefficients), tn_import_const_i64(im, column, 2));
  tn_value *kernel;
  TN_TRY(ml_svm_kernel(im, tn_im_cast(im, im->in[0], TN_F32), sv, &kernel));
  tn_value *y = tn_im2(im, "add", tn_im2(im, "matmul", kernel, w), tn_im_float(im, rho->floats[0]));
  if (one_class) {
    tn_value *const above = tn_im2(im, "greater", y, tn_im_float(im, 0));
    y = tn_im3(im, "where", above, tn_im_float(im, 1), tn_im_float(im, -1));
  }
  TN_TRY(ml_post(im, &y));
  return tn_im_done(im, y);
}

static tn_status ml_no_svm_classifier(tn_import *im) {
  return tn_import_fail(im, TN_UNSUPPORTED, "the votes of support vector classifiers are not done");
}

/* clang-format off */
TN_ONNX(ml, Scaler, 1, TN_LATEST, mul, ml_scaler)
TN_ONNX(ml, Normalizer, 1, TN_LATEST, div, ml_normalizer)
TN_ONNX(ml, Imputer, 1, TN_LATEST, where, ml_imputer)
TN_ONNX(ml, Binarizer, 1, TN_LATEST, greater, ml_binarizer)
TN_ONNX(ml, OneHotEncoder, 1, TN_LATEST, equal, ml_one_hot)
TN_ONNX(ml, ArrayFeatureExtractor, 1, TN_LATEST, gather, ml_array_features)
TN_ONNX(ml, FeatureVectorizer, 1, TN_LATEST, concat, ml_feature_vectors)
TN_ONNX(ml, LinearRegressor, 1, TN_LATEST, gemm, ml_linear_regressor)
TN_ONNX(ml, LinearClassifier, 1, TN_LATEST, gemm, ml_linear_classifier)
TN_ONNX(ml, SVMRegressor, 1, TN_LATEST, gemm, ml_svm_regressor)
TN_ONNX_REFUSED(ml, SVMClassifier, 1, TN_LATEST, ml_no_svm_classifier)
