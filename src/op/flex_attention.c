/* FlexAttention of ai.onnx.preview: attention, with graphs of the model around the softmax. */
#include <math.h>

#include "op/ms.h"

/* The nodes of graph attribute `body`, computing from *x, and their result. */
static tn_status flex_inline(tn_import *im, const tn_attr *body, const char *name, tn_value **x) {
  if (!body) return TN_OK;
  tn_region *const r = tn_edit_add_region(im->graph, NULL, name);
  TN_TRY(im->build_region(im, body, r));
  if (r->n_params != 1 || r->n_results != 1)
    return tn_import_fail(im, TN_INVALID, "graph '%s' has %d inputs and %d outputs, expected one of each", name,
                          r->n_params, r->n_results);
  tn_node *const end = tn_import_node(im, "identity", x, 1, 1); /* unused: a place to insert before */
  while (r->first) tn_edit_move_before(r->first, end);
  tn_value *const result = r->results[0] == r->params[0] ? *x : r->results[0];
  tn_edit_replace_uses(r->params[0], *x);
  tn_edit_set_results(r, NULL, 0);
  *x = result;
  return TN_OK;
}

/* k or v with a head for each of q's. */
static tn_value *flex_spread(tn_import *im, tn_value *q, tn_value *k) {
  tn_value *const axis = tn_import_const_lit(im, tn_lit_scalar_i64(&im->ctx->arena, TN_I64, 1));
  tn_value *const zero = tn_import_const_lit(im, tn_lit_scalar_i64(&im->ctx->arena, TN_I64, 0));
  tn_value *const heads = tn_im2(im, "gather", tn_im1(im, "shape", q), axis);
  tn_value *const own = tn_im2(im, "gather", tn_im1(im, "shape", k), axis);
  tn_value *const index = tn_im2(im, "div", tn_im3(im, "range", zero, heads, axis), tn_im2(im, "div", heads, own));
  tn_value *const in[2] = {k, index};
  tn_node *const node = tn_import_node(im, "gather", in, 2, 1);
  tn_import_set_int(node, "axis", 1);
  return node->out[0];
}

static tn_value *flex_scale(tn_import *im, tn_value *q, tn_value *scores, double scale) {
  if (scale != 0) return tn_im2(im, "mul", scores, tn_im_like(im, scale, scores));
  tn_value *const size = tn_im2(im, "gather", tn_im1(im, "shape", q),
                                tn_import_const_lit(im, tn_lit_scalar_i64(&im->ctx->arena, TN_I64, 3)));
  return tn_im2(im, "div", scores, tn_im1(im, "sqrt", tn_im2(im, "cast_like", size, scores)));
}

static tn_status flex_attention_import(tn_import *im) {
  const tn_attr *score, *prob, *scale;
  int64_t precision;
  TN_TRY(tn_im_need(im, 3));
  TN_TRY(tn_import_get(im, "score_mod", TN_ATTR_REGION, &score));
  TN_TRY(tn_import_get(im, "prob_mod", TN_ATTR_REGION, &prob));
  TN_TRY(tn_import_get(im, "scale", TN_ATTR_FLOAT, &scale));
  TN_TRY(tn_import_int(im, "softmax_precision", TN_DTYPE_NONE, &precision));
  if (precision != TN_DTYPE_NONE && (precision < 0 || precision >= TN_N_DTYPES || !(TN_SET_FLOATS >> precision & 1)))
    return tn_import_fail(im, TN_INVALID, "attribute 'softmax_precision' is %lld", (long long)precision);
  tn_value *const q = im->in[0];
  if (!score && !prob) {
    tn_node *const node = tn_import_node(im, "attention", im->in, 3, 1);
    if (scale) tn_import_set_float(node, "scale", scale->f);
    return tn_im_done(im, node->out[0]);
  }
  if (precision == TN_DTYPE_NONE && q->type.dtype == TN_DTYPE_NONE)
    return tn_import_fail(im, TN_UNSUPPORTED,
                          "FlexAttention with graphs needs attribute 'softmax_precision' where the "
                          "element type of q follows from other nodes");
  if (precision == TN_DTYPE_NONE) precision = q->type.dtype == TN_F64 ? TN_F64 : TN_F32;
  tn_value *const k = tn_im_cast(im, flex_spread(im, q, im->in[1]), (tn_dtype)precision);
  tn_value *x = tn_im2(im, "matmul", tn_im_cast(im, q, (tn_dtype)precision), tn_im_einsum(im, "bhsd->bhds", k));
  x = flex_scale(im, q, x, scale ? scale->f : 0);
  TN_TRY(flex_inline(im, score, "score_mod", &x));
  x = tn_im1(im, "softmax", x);
  TN_TRY(flex_inline(im, prob, "prob_mod", &x));
  return tn_im_done(im, tn_im2(im, "matmul", tn_im2(im, "cast_like", x, q), flex_spread(im, q, im->in[2])));
}

TN_ONNX(preview, FlexAttention, 1, TN_LATEST, attention, flex_attention_import)
