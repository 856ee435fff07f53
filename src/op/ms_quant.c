/* Quantised operators of com.microsoft as dequantise, compute, quantise. */
#include "op/ms.h"

static tn_value *msq_real(tn_import *im, tn_value *x, tn_value *scale, tn_value *zero) {
  tn_value *const in[3] = {x, scale, zero};
  return tn_import_node(im, "dequantize_linear", in, zero ? 3 : 2, 1)->out[0];
}
static tn_value *msq_back(tn_import *im, tn_value *x, tn_value *scale, tn_value *zero, tn_value *like) {
  if (!zero) zero = tn_im2(im, "cast_like", tn_im_int(im, 0), like);
  return tn_im3(im, "quantize_linear", x, scale, zero);
}

static tn_status msq_binary(tn_import *im, const char *op) {
  static const int needed[] = {0, 1, 3, 4, 6};
  for (int i = 0; i < 5; i++)
    if (!tn_im_in(im, needed[i])) return tn_import_fail(im, TN_INVALID, "input %d is required but absent", needed[i]);
  tn_value *const a = msq_real(im, im->in[0], im->in[1], tn_im_in(im, 2));
  tn_value *const b = msq_real(im, im->in[3], im->in[4], tn_im_in(im, 5));
  return tn_im_done(im, msq_back(im, tn_im2(im, op, a, b), im->in[6], tn_im_in(im, 7), im->in[0]));
}
static tn_status msq_add(tn_import *im) { return msq_binary(im, "add"); }
static tn_status msq_mul(tn_import *im) { return msq_binary(im, "mul"); }

/* x, its scale and zero point; y's scale and zero point. */
static tn_status msq_need(tn_import *im) {
  static const int needed[] = {0, 1, 3};
  for (int i = 0; i < 3; i++)
    if (!tn_im_in(im, needed[i])) return tn_import_fail(im, TN_INVALID, "input %d is required but absent", needed[i]);
  return TN_OK;
}

static tn_status msq_sigmoid(tn_import *im) {
  TN_TRY(msq_need(im));
  tn_value *const x = tn_im1(im, "sigmoid", msq_real(im, im->in[0], im->in[1], tn_im_in(im, 2)));
  return tn_im_done(im, msq_back(im, x, im->in[3], tn_im_in(im, 4), im->in[0]));
}
static tn_status msq_leaky_relu(tn_import *im) {
  TN_TRY(msq_need(im));
  tn_value *x = msq_real(im, im->in[0], im->in[1], tn_im_in(im, 2));
  tn_node *const node = tn_import_node(im, "leaky_relu", &x, 1, 1);
  TN_TRY(tn_import_copy_attrs(im, node));
  return tn_im_done(im, msq_back(im, node->out[0], im->in[3], tn_im_in(im, 4), im->in[0]));
}

static tn_status msq_pool(tn_import *im, const char *op) {
  int64_t last;
  TN_TRY(msq_need(im));
  TN_TRY(tn_import_int(im, "channels_last", 0, &last));
  tn_value *x = msq_real(im, im->in[0], im->in[1], tn_im_in(im, 2));
  if (last) x = tn_im_einsum(im, "n...c->nc...", x);
  tn_node *const node = tn_import_node(im, op, &x, 1, 1);
  TN_TRY(tn_import_copy_attrs(im, node));
  x = last ? tn_im_einsum(im, "nc...->n...c", node->out[0]) : node->out[0];
  return tn_im_done(im, msq_back(im, x, im->in[3], tn_im_in(im, 4), im->in[0]));
}
static tn_status msq_average_pool(tn_import *im) { return msq_pool(im, "average_pool"); }
static tn_status msq_global_average_pool(tn_import *im) { return msq_pool(im, "global_average_pool"); }

static tn_status msq_nhwc_max_pool(tn_import *im) {
  TN_TRY(tn_im_need(im, 1));
  tn_value *x = tn_im_einsum(im, "n...c->nc...", im->in[0]);
  tn_node *const node = tn_import_node(im, "max_pool", &x, 1, 1);
  TN_TRY(tn_import_copy_attrs(im, node));
  return tn_im_done(im, tn_im_einsum(im, "nc...->n...c", node->out[0]));
}

static tn_status msq_concat(tn_import *im) {
  int64_t axis;
  TN_TRY(tn_im_need(im, im->n_in));
  TN_TRY(tn_import_int(im, "axis", 0, &axis));
  if (im->n_in < 5 || (im->n_in - 2) % 3 != 0) return tn_import_fail(im, TN_INVALID, "%d inputs", im->n_in);
  const int n = (im->n_in - 2) / 3;
  tn_value **const parts = TN_NEW_ARRAY(&im->ctx->arena, tn_value *, n);
  for (int i = 0; i < n; i++) parts[i] = msq_real(im, im->in[2 + 3 * i], im->in[3 + 3 * i], im->in[4 + 3 * i]);
  tn_node *const node = tn_import_node(im, "concat", parts, n, 1);
  tn_import_set_int(node, "axis", axis);
  return tn_im_done(im, msq_back(im, node->out[0], im->in[0], im->in[1], im->in[2]));
}

/* Bytes that hold two numbers of 4 bits as twice as many bytes along the last axis. */
static tn_value *msq_nibbles(tn_import *im, tn_value *bytes) {
  tn_value *const low = tn_im2(im, "bitwise_and", bytes, tn_im2(im, "cast_like", tn_im_int(im, 15), bytes));
  tn_value *const by[2] = {bytes, tn_im2(im, "cast_like", tn_im_int(im, 4), bytes)};
  tn_node *const high = tn_import_node(im, "bit_shift", by, 2, 1);
  tn_import_set_str(high, "direction", "RIGHT");
  tn_value *const pair[2] = {tn_im2(im, "unsqueeze", low, tn_im_int(im, -1)),
                             tn_im2(im, "unsqueeze", high->out[0], tn_im_int(im, -1))};
  tn_node *const both = tn_import_node(im, "concat", pair, 2, 1);
  tn_import_set_int(both, "axis", -1);
  tn_node *const shape = tn_import_node(im, "shape", both->out, 1, 1); /* [..., n, 2] -> [..., 2n] */
  tn_import_set_int(shape, "end", -2);
  tn_value *const dims[2] = {shape->out[0], tn_im_int(im, -1)};
  tn_node *const to = tn_import_node(im, "concat", dims, 2, 1);
  tn_import_set_int(to, "axis", 0);
  return tn_im2(im, "reshape", both->out[0], to->out[0]);
}

/* Rows are gathered from the data, the scales and the zero points alike, then dequantised by blocks of the last axis.
 */
static tn_status msq_gather(tn_import *im) {
  int64_t bits, block, quantize_axis, gather_axis;
  TN_TRY(tn_im_need(im, 3));
  TN_TRY(tn_import_int(im, "bits", 4, &bits));
  TN_TRY(tn_import_int(im, "block_size", 128, &block));
  TN_TRY(tn_import_int(im, "quantize_axis", 1, &quantize_axis));
  TN_TRY(tn_import_int(im, "gather_axis", 0, &gather_axis));
  if (gather_axis != 0)
    return tn_import_fail(im, TN_UNSUPPORTED, "gather_axis %lld is not supported", (long long)gather_axis);
  if (quantize_axis < 1 && quantize_axis != -1)
    return tn_import_fail(im, TN_UNSUPPORTED, "quantize_axis %lld is not supported", (long long)quantize_axis);
  const tn_type *const data = &im->in[0]->type;
  if (!tn_type_is_tensor(data) || data->dtype == TN_DTYPE_NONE || data->rank < 0)
    return tn_import_fail(im, TN_UNSUPPORTED, "the element type and rank of the data are not known in the file");
  const bool is_bytes = data->dtype == TN_U8, is_packed = is_bytes && bits == 4;
  if (bits != 4 && !(bits == 8 && is_bytes)) return tn_import_fail(im, TN_UNSUPPORTED, "%lld bits", (long long)bits);
  if (is_bytes && quantize_axis != -1 && quantize_axis != data->rank - 1)
    return tn_import_fail(im, TN_UNSUPPORTED, "bytes quantised along another axis than the last");
  tn_value *x = tn_im2(im, "gather", im->in[0], im->in[1]), *const scales = tn_im2(im, "gather", im->in[2], im->in[1]);
  tn_value *zero = tn_im_in(im, 3) ? tn_im2(im, "gather", im->in[3], im->in[1]) : NULL;
  if (is_packed) x = msq_nibbles(im, x);
  if (is_packed && zero) {
    /* An odd number of blocks leaves half a byte over. */
    tn_node *const n = tn_import_node(im, "shape", &scales, 1, 1);
    tn_import_set_int(n, "start", -1);
    tn_value *const in[4] = {msq_nibbles(im, zero), tn_im_int(im, 0), n->out[0], tn_im_int(im, -1)};
    zero = tn_import_node(im, "slice", in, 4, 1)->out[0];
  }
  if (is_bytes && !zero) {
    tn_node *const shape = tn_import_node(im, "shape", &scales, 1, 1);
    tn_value *const middle = tn_im2(im, "cast_like", tn_im_int(im, bits == 4 ? 8 : 128), im->in[0]);
    zero = tn_im2(im, "expand", middle, shape->out[0]);
  }
  tn_value *const in[3] = {x, scales, zero};
  tn_node *const node = tn_import_node(im, "dequantize_linear", in, zero ? 3 : 2, 1);
  tn_import_set_int(node, "axis", quantize_axis == -1 ? -1 : quantize_axis - data->rank);
  tn_import_set_int(node, "block_size", block);
  return tn_im_done(im, node->out[0]);
}

/* clang-format off */
TN_ONNX(ms, QLinearAdd, 1, TN_LATEST, add, msq_add)
TN_ONNX(ms, QLinearMul, 1, TN_LATEST, mul, msq_mul)
TN_ONNX(ms, QLinearSigmoid, 1, TN_LATEST, sigmoid, msq_sigmoid)
TN_ONNX(ms, QLinearLeakyRelu, 1, TN_LATEST, leaky_relu, msq_leaky_relu)
TN_ONNX(ms, QLinearAveragePool, 1, TN_LATEST, average_pool, msq_average_pool)
TN_ONNX(ms, QLinearGlobalAveragePool, 1, TN_LATEST, global_average_pool, msq_global_average_pool)
TN_ONNX(ms, QLinearConcat, 1, TN_LATEST, concat, msq_concat)
TN_ONNX(ms, NhwcMaxPool, 1, TN_LATEST, max_pool, msq_nhwc_max_pool)
TN_ONNX(ms, GatherBlockQuantized, 1, TN_LATEST, dequantize_linear, msq_gather)
TN_ONNX(ms, QuantizeLinear, 1, TN_LATEST, quantize_linear, tn_import_same)
TN_ONNX(ms, DequantizeLinear, 1, TN_LATEST, dequantize_linear, tn_import_same)
