/* Operators of ai.onnx.ml that are compositions of others. */
#include "op/ml.h"

static tn_status ml_scaler(tn_import *im) {
  const tn_attr *offset, *scale;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_get(im, "offset", TN_ATTR_FLOATS, &offset));
  TN_TRY(tn_import_get(im, "scale", TN_ATTR_FLOATS, &scale));
  tn_value *x = tn_im_cast(im, im->in[0], TN_F32);
  if (offset) x = tn_im2(im, "sub", x, tn_ml_floats(im, offset));
  if (scale) x = tn_im2(im, "mul", x, tn_ml_floats(im, scale));
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
  tn_value *const fresh = is_float ? tn_ml_floats(im, floats) : tn_import_const_i64(im, ints->ints, ints->n);
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

/* A category that is not in the list gives zeros; where `zeros` is 0 it ends the run, as an index outside of its range.
 */
static tn_status ml_one_hot(tn_import *im) {
  const tn_attr *ints, *strings;
  int64_t zeros;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_get(im, "cats_int64s", TN_ATTR_INTS, &ints));
  TN_TRY(tn_import_get(im, "cats_strings", TN_ATTR_STRS, &strings));
  TN_TRY(tn_import_int(im, "zeros", 1, &zeros));
  if ((ints && ints->n > 0) == (strings && strings->n > 0))
    return tn_import_fail(im, TN_INVALID, "one of cats_int64s and cats_strings is needed");
  const bool is_int = ints && ints->n > 0;
  const int64_t n = is_int ? ints->n : strings->n;
  int64_t *const places = TN_NEW_ARRAY(&im->ctx->arena, int64_t, n), *const keys =
                                                                         TN_NEW_ARRAY(&im->ctx->arena, int64_t, n);
  tn_str *const names = TN_NEW_ARRAY(&im->ctx->arena, tn_str, n);
  for (int64_t i = 0; i < n; i++) { /* the last of equal categories first */
    places[i] = n - 1 - i;
    if (is_int)
      keys[i] = ints->ints[places[i]];
    else
      names[i] = strings->strs[places[i]];
  }
  tn_value *const place[4] = {
      is_int ? tn_im_cast(im, im->in[0], TN_I64) : im->in[0],
      is_int ? tn_import_const_i64(im, keys, n) : tn_import_const_strs(im, names, n),
      tn_import_const_i64(im, places, n), tn_import_const_i64(im, &n, 1), /* outside of the depth */
  };
  tn_value *const hot[3] = {tn_import_node(im, "map_values", place, 4, 1)->out[0], tn_import_const_i64(im, &n, 1),
                            tn_import_const_f32(im, (const double[]){0, 1}, 2)};
  tn_value *const y = tn_import_node(im, "one_hot", hot, 3, 1)->out[0];
  if (zeros) return tn_im_done(im, y);
  tn_node *const found = tn_import_node(im, "reduce_max", (tn_value *[]){y, tn_im_int(im, -1)}, 2, 1);
  tn_value *const one = tn_im_float(im, 1);
  tn_value *const none = tn_im_cast(im, tn_im2(im, "sub", one, found->out[0]), TN_I64); /* 1 where nothing was hit */
  tn_value *const checked = tn_im2(im, "gather", tn_import_const_f32(im, (const double[]){1}, 1), none);
  return tn_im_done(im, tn_im2(im, "mul", y, checked));
}

/* Columns of the last axis; a vector is a matrix of one row, which expanding to 1x1 makes of it. */
static tn_status ml_array_features(tn_import *im) {
  static const int64_t matrix[2] = {1, 1};
  TN_TRY(tn_im_need(im, 2));
  const tn_type *const x = &im->in[0]->type;
  tn_value *const in[2] = {im->in[0], tn_im2(im, "reshape", im->in[1], tn_im_int(im, -1))};
  tn_node *const node = tn_import_node(im, "gather", in, 2, 1);
  tn_import_set_int(node, "axis", -1);
  if (tn_type_has_rank(x) && x->rank > 1) return tn_im_done(im, node->out[0]);
  return tn_im_done(im, tn_im2(im, "expand", node->out[0], tn_import_const_i64(im, matrix, 2)));
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

/* coefficients [targets, features], one row after the other. */
static tn_status ml_linear(tn_import *im, int64_t targets, tn_value **out) {
  const tn_attr *coefficients, *intercepts;
  TN_TRY(tn_import_get(im, "coefficients", TN_ATTR_FLOATS, &coefficients));
  TN_TRY(tn_import_get(im, "intercepts", TN_ATTR_FLOATS, &intercepts));
  if (targets < 1 || !coefficients || coefficients->n % targets != 0)
    return tn_import_fail(im, TN_INVALID, "%lld coefficients for %lld targets",
                          (long long)(coefficients ? coefficients->n : 0), (long long)targets);
  const int64_t shape[2] = {targets, -1};
  tn_value *const w = tn_im2(im, "reshape", tn_ml_floats(im, coefficients), tn_import_const_i64(im, shape, 2));
  const bool has_bias = intercepts && intercepts->n > 0;
  tn_value *const in[3] = {tn_im_cast(im, im->in[0], TN_F32), w, has_bias ? tn_ml_floats(im, intercepts) : NULL};
  tn_node *const node = tn_import_node(im, "gemm", in, has_bias ? 3 : 2, 1);
  tn_import_set_int(node, "transB", 1);
  *out = node->out[0];
  return TN_OK;
}

static tn_status ml_linear_regressor(tn_import *im) {
  int64_t targets;
  tn_ml_post_kind post;
  tn_value *y;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_int(im, "targets", 1, &targets));
  TN_TRY(ml_linear(im, targets, &y));
  TN_TRY(tn_ml_post_attr(im, &post));
  return tn_im_done(im, tn_ml_post(im, post, y));
}

/* The label of the largest score; a single one decides by its sign between two. */
static tn_status ml_linear_classifier(tn_import *im) {
  const tn_attr *intercepts;
  tn_ml_post_kind post;
  tn_value *scores, *labels;
  int64_t n;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_ml_labels(im, "classlabels_ints", &labels, &n));
  TN_TRY(tn_ml_post_attr(im, &post));
  TN_TRY(tn_import_get(im, "intercepts", TN_ATTR_FLOATS, &intercepts));
  tn_import_ignore(im, "multi_class");
  const int64_t rows = intercepts && intercepts->n > 0 ? intercepts->n : n;
  const bool is_one = rows == 1 && n == 2;
  if (n < 2 || (rows != n && !is_one))
    return tn_import_fail(im, TN_INVALID, "%lld intercepts for %lld labels", (long long)rows, (long long)n);
  TN_TRY(ml_linear(im, rows, &scores));
  tn_value *const place = is_one ? tn_ml_above(im, scores, 0) : tn_ml_best(im, scores);
  if (tn_im_out(im, 0)) im->out[0] = tn_im2(im, "gather", labels, place);
  scores = is_one ? tn_ml_post_pair(im, post, true, scores) : tn_ml_post(im, post, scores);
  if (tn_im_out(im, 1)) im->out[1] = scores;
  return tn_import_check_used(im);
}

/* clang-format off */
TN_ONNX(ml, Scaler, 1, TN_LATEST, mul, ml_scaler)
TN_ONNX(ml, Normalizer, 1, TN_LATEST, div, ml_normalizer)
TN_ONNX(ml, Imputer, 1, TN_LATEST, where, ml_imputer)
TN_ONNX(ml, Binarizer, 1, TN_LATEST, greater, ml_binarizer)
TN_ONNX(ml, OneHotEncoder, 1, TN_LATEST, map_values, ml_one_hot)
TN_ONNX(ml, ArrayFeatureExtractor, 1, TN_LATEST, gather, ml_array_features)
TN_ONNX(ml, FeatureVectorizer, 1, TN_LATEST, concat, ml_feature_vectors)
TN_ONNX(ml, LinearRegressor, 1, TN_LATEST, gemm, ml_linear_regressor)
TN_ONNX(ml, LinearClassifier, 1, TN_LATEST, gemm, ml_linear_classifier)
