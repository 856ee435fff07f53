/* What becomes of scores: transformations of them, and the label they choose. */
#include "op/ml.h"

tn_value *tn_ml_floats(tn_import *im, const tn_attr *a) {
  return tn_import_const_f32(im, a ? a->floats : NULL, a ? a->n : 0);
}

tn_value *tn_ml_strings(tn_import *im, const tn_attr *a) {
  return tn_import_const_strs(im, a ? a->strs : NULL, a ? a->n : 0);
}

tn_status tn_ml_labels(tn_import *im, const char *of_ints, tn_value **out, int64_t *out_n) {
  const tn_attr *ints, *strings;
  TN_TRY(tn_import_get(im, of_ints, TN_ATTR_INTS, &ints));
  TN_TRY(tn_import_get(im, "classlabels_strings", TN_ATTR_STRS, &strings));
  const bool has_ints = ints && ints->n > 0, has_strings = strings && strings->n > 0;
  if (has_ints == has_strings)
    return tn_import_fail(im, TN_INVALID, "one of %s and classlabels_strings is needed", of_ints);
  *out = has_ints ? tn_import_const_i64(im, ints->ints, ints->n) : tn_ml_strings(im, strings);
  *out_n = has_ints ? ints->n : strings->n;
  return TN_OK;
}

tn_status tn_ml_post_attr(tn_import *im, tn_ml_post_kind *out) {
  static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  tn_str post;
  TN_TRY(tn_import_str(im, "post_transform", "NONE", &post));
  for (size_t i = 0; i < TN_COUNT(names); i++)
    if (tn_str_is(post, names[i])) {
      *out = (tn_ml_post_kind)i;
      return TN_OK;
    }
  return tn_import_fail(im, TN_INVALID, "attribute 'post_transform' is '%.*s'", (int)post.len, post.ptr);
}

static tn_value *post_with(tn_import *im, const char *op, tn_value *x, double v) {
  return tn_im2(im, op, x, tn_im_like(im, v, x));
}

/* sqrt 2 times the inverse of erf at 2s - 1, by the approximation that all implementations take. */
static tn_value *post_probit(tn_import *im, tn_value *s) {
  static const double a = 0.147, pi = 3.14159;
  tn_value *const x = post_with(im, "sub", post_with(im, "mul", s, 2), 1);
  tn_value *const one = tn_im_like(im, 1, x);
  tn_value *const product = tn_im2(im, "mul", tn_im2(im, "sub", one, x), tn_im2(im, "add", one, x));
  tn_value *const log = tn_im1(im, "log", product);
  tn_value *const v = post_with(im, "add", post_with(im, "mul", log, 0.5), 2 / (pi * a));
  tn_value *const square = tn_im2(im, "sub", tn_im2(im, "mul", v, v), post_with(im, "mul", log, 1 / a));
  tn_value *const size = tn_im1(im, "sqrt", tn_im2(im, "sub", tn_im1(im, "sqrt", square), v));
  tn_value *const below = post_with(im, "less", x, 0);
  return post_with(im, "mul", tn_im3(im, "where", below, tn_im1(im, "neg", size), size), 1.41421356);
}

/* A softmax in which a score of nearly 0 counts as itself times e^-max, and so gets nearly nothing. */
static tn_value *post_softmax_zero(tn_import *im, tn_value *x) {
  tn_value *const axis = tn_im_int(im, -1);
  tn_value *const most = tn_im2(im, "reduce_max", x, axis);
  tn_value *const grown = tn_im1(im, "exp", tn_im2(im, "sub", x, most));
  tn_value *const kept = tn_im2(im, "mul", x, tn_im1(im, "exp", tn_im1(im, "neg", most)));
  tn_value *const is_there = post_with(im, "greater", tn_im1(im, "abs", x), 1e-7);
  tn_value *const y = tn_im3(im, "where", is_there, grown, kept);
  tn_value *const sum = tn_im2(im, "reduce_sum", y, axis);
  return tn_im3(im, "where", post_with(im, "equal", sum, 0), tn_im_like(im, 0.5, x), tn_im2(im, "div", y, sum));
}

tn_value *tn_ml_post(tn_import *im, tn_ml_post_kind post, tn_value *scores) {
  switch (post) {
    case TN_ML_NONE:
      break;
    case TN_ML_SOFTMAX:
      return tn_im1(im, "softmax", scores);
    case TN_ML_LOGISTIC:
      return tn_im1(im, "sigmoid", scores);
    case TN_ML_SOFTMAX_ZERO:
      return post_softmax_zero(im, scores);
    case TN_ML_PROBIT:
      return post_probit(im, scores);
  }
  return scores;
}

tn_value *tn_ml_post_pair(tn_import *im, tn_ml_post_kind post, bool is_share, tn_value *s) {
  if (post == TN_ML_PROBIT) return post_probit(im, s);
  const bool is_logistic = post == TN_ML_LOGISTIC;
  const bool from_one = is_share && !is_logistic;
  tn_value *const pair[2] = {from_one ? tn_im2(im, "sub", tn_im_like(im, 1, s), s) : tn_im1(im, "neg", s), s};
  tn_node *const both = tn_import_node(im, "concat", pair, 2, 1);
  tn_import_set_int(both, "axis", 1);
  return is_logistic ? tn_im1(im, "sigmoid", both->out[0]) : both->out[0];
}

tn_value *tn_ml_best(tn_import *im, tn_value *scores) {
  tn_node *const best = tn_import_node(im, "argmax", &scores, 1, 1);
  tn_import_set_int(best, "axis", 1);
  tn_import_set_int(best, "keepdims", 0);
  return best->out[0];
}

tn_value *tn_ml_above(tn_import *im, tn_value *s, double than) {
  tn_value *const above = tn_im_cast(im, post_with(im, "greater", s, than), TN_I64);
  return tn_im2(im, "squeeze", above, tn_im_int(im, 1));
}
