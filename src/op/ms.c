/* Operators of com.microsoft that are compositions of others: activations, products, normalisations. */
#include "op/ms.h"

/* --- activations --- */

static tn_status ms_gelu_of(tn_import *im, const char *approximate) {
  TN_TRY(tn_im_need(im, 1));
  tn_value *x = tn_im_add(im, im->in[0], tn_im_in(im, 1));
  tn_node *const node = tn_import_node(im, "gelu", &x, 1, 1);
  tn_import_set_str(node, "approximate", approximate);
  return tn_im_done(im, node->out[0]);
}
static tn_status ms_gelu(tn_import *im) { return ms_gelu_of(im, "none"); }
static tn_status ms_fast_gelu(tn_import *im) { return ms_gelu_of(im, "tanh"); }

static tn_status ms_quick_gelu(tn_import *im) {
  double alpha;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_float(im, "alpha", (double)1.702f, &alpha));
  tn_node *const node = tn_import_node(im, "swish", im->in, 1, 1);
  tn_import_set_float(node, "alpha", alpha);
  return tn_im_done(im, node->out[0]);
}

/* What a fused operator applies to its result, by the name of an operator of ONNX. */
typedef struct ms_activation {
  const char *name, *op;
  const char *params[2];
  bool in_conv; /* FusedConv knows it, too */
} ms_activation;

static const ms_activation *ms_activation_find(tn_str name) {
  static const ms_activation rows[] = {{"Relu", "relu", {0}, true},
                                       {"Tanh", "tanh", {0}, true},
                                       {"Sigmoid", "sigmoid", {0}, true},
                                       {"LeakyRelu", "leaky_relu", {"alpha"}, true},
                                       {"HardSigmoid", "hard_sigmoid", {"alpha", "beta"}, true},
                                       {"Softplus", "softplus", {0}, false},
                                       {"Softsign", "softsign", {0}, false},
                                       {"Elu", "elu", {"alpha"}, false},
                                       {"ThresholdedRelu", "thresholded_relu", {"alpha"}, false},
                                       {"Selu", "selu", {"alpha", "gamma"}, false}};
  for (size_t i = 0; i < TN_COUNT(rows); i++)
    if (tn_str_is(name, rows[i].name)) return &rows[i];
  return NULL;
}
static tn_status ms_activation_refuse(tn_import *im, tn_str name) {
  return tn_import_fail(im, TN_UNSUPPORTED, "activation '%.*s' is not supported", (int)name.len, name.ptr);
}

/* That of FusedConv, whose parameters are a list. */
static tn_status ms_activate(tn_import *im, tn_str name, tn_value **x) {
  const ms_activation *const row = ms_activation_find(name);
  const tn_attr *params;
  TN_TRY(tn_import_get(im, "activation_params", TN_ATTR_FLOATS, &params));
  if (name.len == 0) return TN_OK;
  const int64_t n = params ? params->n : 0;
  if (tn_str_is(name, "Clip")) {
    if (n != 2) return tn_import_fail(im, TN_INVALID, "Clip needs 2 activation_params");
    tn_value *const lo = tn_im_like(im, params->floats[0], *x), *const hi = tn_im_like(im, params->floats[1], *x);
    *x = tn_im3(im, "clip", *x, lo, hi);
    return TN_OK;
  }
  if (!row || !row->in_conv) return ms_activation_refuse(im, name);
  tn_node *const node = tn_import_node(im, row->op, x, 1, 1);
  for (int p = 0; p < 2 && row->params[p] && p < n; p++) tn_import_set_float(node, row->params[p], params->floats[p]);
  *x = node->out[0];
  return TN_OK;
}

static tn_status ms_fused_conv(tn_import *im) {
  tn_str activation;
  TN_TRY(tn_im_need(im, 2));
  TN_TRY(tn_import_str(im, "activation", "", &activation));
  tn_value *const in[3] = {im->in[0], im->in[1], tn_im_in(im, 2)};
  tn_node *const node = tn_import_node(im, "conv", in, in[2] ? 3 : 2, 1);
  TN_TRY(tn_import_copy_attrs(im, node));
  tn_value *y = tn_im_add(im, node->out[0], tn_im_in(im, 3));
  TN_TRY(ms_activate(im, activation, &y));
  return tn_im_done(im, y);
}

/* --- products --- */

/* Gemm and what is applied to its result, whose attributes are `activation_alpha` and so on. */
static tn_status ms_fused_gemm(tn_import *im) {
  tn_str activation;
  TN_TRY(tn_im_need(im, 2));
  TN_TRY(tn_import_str(im, "activation", "", &activation));
  tn_value *const in[3] = {im->in[0], im->in[1], tn_im_in(im, 2)};
  tn_node *const gemm = tn_import_node(im, "gemm", in, in[2] ? 3 : 2, 1);
  TN_TRY(tn_import_copy_attrs(im, gemm));
  if (activation.len == 0) return tn_im_done(im, gemm->out[0]);
  const ms_activation *const row = ms_activation_find(activation);
  if (!row) return ms_activation_refuse(im, activation);
  tn_node *const node = tn_import_node(im, row->op, gemm->out, 1, 1);
  for (int p = 0; p < 2 && row->params[p]; p++) {
    const tn_attr *given;
    TN_TRY(tn_import_get(im, tn_arena_printf(&im->ctx->arena, "activation_%s", row->params[p]), TN_ATTR_FLOAT, &given));
    if (given) tn_import_set_float(node, row->params[p], given->f);
  }
  return tn_im_done(im, node->out[0]);
}

/* transBatch brings [.., b, .., m, ..] = [m, b.., k] into [b.., m, k]; with trans, [k, b.., m]. */
static tn_value *ms_operand(tn_import *im, tn_value *x, bool trans, bool trans_batch) {
  if (trans && trans_batch) return tn_im_einsum(im, "k...m->...mk", x);
  if (trans_batch) return tn_im_einsum(im, "m...k->...mk", x);
  return trans ? tn_im_einsum(im, "...km->...mk", x) : x;
}

static tn_status ms_fused_matmul(tn_import *im) {
  int64_t ta, tb, ba, bb;
  double alpha;
  TN_TRY(tn_im_need(im, 2));
  TN_TRY(tn_import_int(im, "transA", 0, &ta));
  TN_TRY(tn_import_int(im, "transB", 0, &tb));
  TN_TRY(tn_import_int(im, "transBatchA", 0, &ba));
  TN_TRY(tn_import_int(im, "transBatchB", 0, &bb));
  TN_TRY(tn_import_float(im, "alpha", 1, &alpha));
  tn_value *y =
      tn_im2(im, "matmul", ms_operand(im, im->in[0], ta != 0, ba != 0), ms_operand(im, im->in[1], tb != 0, bb != 0));
  if (alpha < 1 || alpha > 1) y = tn_im2(im, "mul", y, tn_im_like(im, alpha, y));
  return tn_im_done(im, y);
}

/* A is quantised over its own range; the product is one of integers. */
static tn_status ms_dynamic_quantize_matmul(tn_import *im) {
  TN_TRY(tn_im_need(im, 3));
  tn_node *const q = tn_import_node(im, "dynamic_quantize_linear", im->in, 1, 3);
  tn_value *const in[4] = {q->out[0], im->in[1], q->out[2], tn_im_in(im, 3)};
  tn_node *const product_i32 = tn_import_node(im, "matmul_integer", in, in[3] ? 4 : 3, 1);
  tn_value *const product = tn_im_cast(im, product_i32->out[0], TN_F32);
  tn_value *const scale = tn_im2(im, "mul", q->out[1], im->in[2]);
  return tn_im_done(im, tn_im_add(im, tn_im2(im, "mul", product, scale), tn_im_in(im, 4)));
}

/* --- normalisations --- */

static tn_status ms_norm(tn_import *im, tn_value *x, int gamma, int beta, bool is_rms, double absent, tn_value **out) {
  double epsilon;
  TN_TRY(tn_import_float(im, "epsilon", absent, &epsilon));
  tn_value *const in[3] = {x, tn_im_in(im, gamma), beta >= 0 ? tn_im_in(im, beta) : NULL};
  tn_node *const node = tn_import_node(im, is_rms ? "rms_norm" : "layer_norm", in, in[2] ? 3 : 2, 1);
  tn_import_set_float(node, "epsilon", epsilon);
  *out = node->out[0];
  return TN_OK;
}

static tn_status ms_skip_norm_of(tn_import *im, int beta, int bias, bool is_rms) {
  TN_TRY(tn_im_need(im, 3));
  TN_TRY(tn_im_refuse_out(im, 1, "the mean, is only made in training"));
  TN_TRY(tn_im_refuse_out(im, 2, "the inverse deviation, is only made in training"));
  tn_value *y, *const sum = tn_im_add(im, tn_im2(im, "add", im->in[0], im->in[1]), tn_im_in(im, bias));
  TN_TRY(ms_norm(im, sum, 2, beta, is_rms, (double)1e-12f, &y));
  if (tn_im_out(im, 3)) im->out[3] = sum;
  return tn_im_done(im, y);
}
static tn_status ms_skip_norm(tn_import *im) { return ms_skip_norm_of(im, 3, 4, false); }
static tn_status ms_skip_rms(tn_import *im) { return ms_skip_norm_of(im, -1, 3, true); }

static tn_status ms_rms(tn_import *im) {
  TN_TRY(tn_im_need(im, 2));
  TN_TRY(tn_im_refuse_out(im, 1, "the inverse deviation, is only made in training"));
  tn_node *const node = tn_import_node(im, "rms_norm", im->in, 2, 1);
  TN_TRY(tn_import_copy_attrs(im, node));
  return tn_im_done(im, node->out[0]);
}

/* Sum of embeddings of words, places and segments, normalised. */
static tn_status ms_embed_norm(tn_import *im) {
  int64_t mask_type;
  const int needed[] = {0, 2, 3, 5, 6};
  for (int i = 0; i < 5; i++)
    if (!tn_im_in(im, needed[i])) return tn_import_fail(im, TN_INVALID, "input %d is required but absent", needed[i]);
  TN_TRY(tn_import_int(im, "mask_index_type", 0, &mask_type));
  tn_value *const ids = im->in[0], *const places = tn_im_in(im, 8), *const mask = tn_im_in(im, 7);
  tn_value *sum = tn_im2(im, "gather", im->in[2], ids);
  if (places) {
    sum = tn_im2(im, "add", sum, tn_im2(im, "gather", im->in[3], places));
  } else {
    tn_node *const rows = tn_import_node(im, "shape", &im->in[0], 1, 1);
    tn_import_set_int(rows, "start", 1);
    tn_import_set_int(rows, "end", 2);
    tn_value *const in[4] = {im->in[3], tn_im_int(im, 0), rows->out[0], tn_im_int(im, 0)};
    sum = tn_im2(im, "add", sum, tn_import_node(im, "slice", in, 4, 1)->out[0]);
  }
  if (tn_im_in(im, 1) && tn_im_in(im, 4)) sum = tn_im2(im, "add", sum, tn_im2(im, "gather", im->in[4], im->in[1]));
  tn_value *y;
  TN_TRY(ms_norm(im, sum, 5, 6, false, (double)1e-12f, &y));
  if (tn_im_out(im, 1)) {
    tn_value *const from = mask ? mask : tn_im2(im, "mul", ids, tn_im_like(im, 0, ids));
    tn_value *const in[2] = {tn_im_cast(im, from, TN_I32), tn_im_int(im, 1)};
    tn_node *const lengths = tn_import_node(im, "reduce_sum", in, 2, 1);
    tn_import_set_int(lengths, "keepdims", 0);
    im->out[1] = lengths->out[0];
  }
  if (tn_im_out(im, 2)) im->out[2] = sum;
  return tn_im_done(im, y);
}

/* clang-format off */
TN_ONNX(ms, Gelu, 1, TN_LATEST, gelu, ms_gelu)
TN_ONNX(ms, BiasGelu, 1, TN_LATEST, gelu, ms_gelu)
TN_ONNX(ms, FastGelu, 1, TN_LATEST, gelu, ms_fast_gelu)
TN_ONNX(ms, QuickGelu, 1, TN_LATEST, swish, ms_quick_gelu)
TN_ONNX(ms, FusedConv, 1, TN_LATEST, conv, ms_fused_conv)
TN_ONNX(ms, FusedGemm, 1, TN_LATEST, gemm, ms_fused_gemm)
TN_ONNX(ms, FusedMatMul, 1, TN_LATEST, matmul, ms_fused_matmul)
TN_ONNX(ms, TransposeMatMul, 1, TN_LATEST, matmul, ms_fused_matmul)
TN_ONNX(ms, DynamicQuantizeMatMul, 1, TN_LATEST, matmul, ms_dynamic_quantize_matmul)
TN_ONNX(ms, SkipLayerNormalization, 1, TN_LATEST, layer_norm, ms_skip_norm)
TN_ONNX(ms, SkipSimplifiedLayerNormalization, 1, TN_LATEST, rms_norm, ms_skip_rms)
TN_ONNX(ms, SimplifiedLayerNormalization, 1, TN_LATEST, rms_norm, ms_rms)
TN_ONNX(ai, SimplifiedLayerNormalization, 1, TN_LATEST, rms_norm, ms_rms)
TN_ONNX(ms, EmbedLayerNormalization, 1, TN_LATEST, layer_norm, ms_embed_norm)
