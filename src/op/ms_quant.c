/* Quantised operators of com.microsoft as dequantise, compute, quantise. */
#include <math.h>

#include "op/ms.h"

static tn_value *msq_real(tn_import *im, tn_value *x, tn_value *scale, tn_value *zero) {
  tn_value *const in[3] = {x, scale, zero};
  return tn_import_node(im, "dequantize_linear", in, zero ? 3 : 2, 1)->out[0];
}
static tn_value *msq_back(tn_import *im, tn_value *x, tn_value *scale, tn_value *zero, tn_value *like) {
  if (!zero) zero = tn_im2(im, "cast_like", tn_im_int(im, 0), like);
  return tn_im3(im, "quantize_linear", x, scale, zero);
}

static bool msq_is_one(const tn_value *v) { /* a scalar, as far as the file says it */
  return tn_type_has_rank(&v->type) && v->type.rank == 0;
}
/* The number that a constant of one element is, else `absent`. */
static double msq_number(const tn_value *v, double absent) {
  if (!v || !v->def || strcmp(v->def->op->name, "const") != 0) return absent;
  const tn_lit *const lit = v->def->attrs[0].tensor;
  return lit->count == 1 ? tn_lit_f64(lit, 0) : absent;
}
static bool msq_is_byte(const tn_value *x) { return x->type.dtype == TN_U8 || x->type.dtype == TN_I8; }
/* Whether quantising by (scale, zero) again gives the bytes themselves: the quotient rounds to them. */
static bool msq_is_back(tn_value *const *x, tn_value *const *y) {
  const double scale = msq_number(x[0], 0), zero = msq_number(x[1], -1000);
  return scale > 1e-30 && scale < 1e30 && scale == msq_number(y[0], 0) && zero > -1000 &&
         zero == msq_number(y[1], -1000) && x[1]->type.dtype == y[1]->type.dtype;
}
/* A function of single bytes is computed of all 256 and looked up. They lie as the places that bytes name: negative
 * ones count from the end. */
static tn_value *msq_all_bytes(tn_import *im, tn_dtype d) {
  int64_t all[256];
  for (int i = 0; i < 256; i++) all[i] = d == TN_I8 && i > 127 ? i - 256 : i;
  return tn_im_cast(im, tn_import_const_i64(im, all, 256), d);
}

/* `fused` where the file says that scales and zero points are scalars. */
static tn_status msq_binary(tn_import *im, const char *op, const char *fused) {
  static const int needed[] = {0, 1, 3, 4, 6};
  for (int i = 0; i < 5; i++)
    if (!tn_im_in(im, needed[i])) return tn_import_fail(im, TN_INVALID, "input %d is required but absent", needed[i]);
  bool is_plain = msq_is_byte(im->in[0]);
  for (int i = 1; i < im->n_in; i++) is_plain = is_plain && (i == 3 || !im->in[i] || msq_is_one(im->in[i]));
  if (is_plain) return tn_im_done(im, tn_import_node(im, fused, im->in, im->n_in, 1)->out[0]);
  tn_value *const a = msq_real(im, im->in[0], im->in[1], tn_im_in(im, 2));
  tn_value *const b = msq_real(im, im->in[3], im->in[4], tn_im_in(im, 5));
  return tn_im_done(im, msq_back(im, tn_im2(im, op, a, b), im->in[6], tn_im_in(im, 7), im->in[0]));
}
static tn_status msq_add(tn_import *im) { return msq_binary(im, "add", "qlinear_add"); }
static tn_status msq_mul(tn_import *im) { return msq_binary(im, "mul", "qlinear_mul"); }

/* x, its scale and zero point; y's scale and zero point. */
static tn_status msq_need(tn_import *im) {
  static const int needed[] = {0, 1, 3};
  for (int i = 0; i < 3; i++)
    if (!tn_im_in(im, needed[i])) return tn_import_fail(im, TN_INVALID, "input %d is required but absent", needed[i]);
  return TN_OK;
}

static tn_status msq_unary(tn_import *im, const char *op) {
  TN_TRY(msq_need(im));
  const bool by_table = msq_is_byte(im->in[0]) && msq_is_one(im->in[1]) && msq_is_one(im->in[3]);
  tn_value *const bytes = by_table ? msq_all_bytes(im, im->in[0]->type.dtype) : im->in[0];
  tn_value *const x = msq_real(im, bytes, im->in[1], tn_im_in(im, 2));
  tn_node *const node = tn_import_node(im, op, &x, 1, 1);
  TN_TRY(tn_import_copy_attrs(im, node));
  tn_value *const y = msq_back(im, node->out[0], im->in[3], tn_im_in(im, 4), im->in[0]);
  return tn_im_done(im, by_table ? tn_im2(im, "table_lookup", y, im->in[0]) : y);
}
static tn_status msq_sigmoid(tn_import *im) { return msq_unary(im, "sigmoid"); }
static tn_status msq_leaky_relu(tn_import *im) { return msq_unary(im, "leaky_relu"); }

/* `opset` is that of the Softmax it was made of: before 13 all axes from `axis` on are one. */
static tn_status msq_softmax(tn_import *im) {
  int64_t opset, axis;
  TN_TRY(msq_need(im));
  TN_TRY(tn_import_int(im, "opset", 0, &opset));
  TN_TRY(tn_import_int(im, "axis", -1, &axis));
  if (opset < 1) return tn_import_fail(im, TN_INVALID, "attribute 'opset' is missing or below 1");
  tn_value *const x = msq_real(im, im->in[0], im->in[1], tn_im_in(im, 2));
  tn_node *const node = tn_import_node(im, "softmax", &x, 1, 1);
  tn_import_set_int(node, "axis", axis);
  tn_import_set_int(node, "flatten", opset < 13);
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

/* Channels are one more axis that is pooled, by windows of one element, behind a single channel. */
static tn_status msq_nhwc_max_pool(tn_import *im) {
  static const char *const names[3] = {"kernel_shape", "strides", "dilations"};
  const int64_t *given;
  int64_t n, axes[2 * TN_MAX_RANK];
  TN_TRY(tn_im_need(im, 1));
  tn_value *const x = tn_im2(im, "unsqueeze", im->in[0], tn_im_int(im, 1));
  tn_node *const node = tn_import_node(im, "max_pool", &x, 1, 1);
  TN_TRY(tn_import_copy_attrs(im, node));
  for (int i = 0; i < 3; i++) {
    TN_TRY(tn_import_ints(im, names[i], &given, &n));
    if (n == 0) continue;
    if (n >= TN_MAX_RANK)
      return tn_import_fail(im, TN_INVALID, "attribute '%s' has %lld entries", names[i], (long long)n);
    memcpy(axes, given, (size_t)n * sizeof *axes);
    axes[n] = 1;
    tn_import_set_ints(node, names[i], axes, n + 1);
  }
  TN_TRY(tn_import_ints(im, "pads", &given, &n));
  if (n % 2 != 0 || n > 2 * TN_MAX_RANK - 2)
    return tn_import_fail(im, TN_INVALID, "attribute 'pads' has %lld entries", (long long)n);
  for (int64_t i = 0; i < n; i++) axes[i + (i >= n / 2)] = given[i];
  axes[n / 2] = axes[n + 1] = 0;
  if (n > 0) tn_import_set_ints(node, "pads", axes, n + 2);
  return tn_im_done(im, tn_im2(im, "squeeze", node->out[0], tn_im_int(im, 1)));
}

static tn_status msq_concat(tn_import *im) {
  int64_t axis;
  TN_TRY(tn_im_need(im, im->n_in));
  TN_TRY(tn_import_int(im, "axis", 0, &axis));
  if (im->n_in < 5 || (im->n_in - 2) % 3 != 0) return tn_import_fail(im, TN_INVALID, "%d inputs", im->n_in);
  const int n = (im->n_in - 2) / 3;
  tn_value **const parts = TN_NEW_ARRAY(&im->ctx->arena, tn_value *, n);
  for (int i = 0; i < n; i++) {
    tn_value *const *const in = im->in + 2 + 3 * i;
    const bool by_table = msq_is_byte(in[0]) && msq_is_one(in[1]) && msq_is_one(im->in[0]);
    parts[i] = in[0];
    if (msq_is_back(in + 1, im->in)) continue;
    tn_value *const x = msq_real(im, by_table ? msq_all_bytes(im, in[0]->type.dtype) : in[0], in[1], in[2]);
    parts[i] = msq_back(im, x, im->in[0], im->in[1], in[0]);
    if (by_table) parts[i] = tn_im2(im, "table_lookup", parts[i], in[0]);
  }
  tn_node *const node = tn_import_node(im, "concat", parts, n, 1);
  tn_import_set_int(node, "axis", axis);
  return tn_im_done(im, node->out[0]);
}

tn_value *tn_im_unpack(tn_import *im, tn_value *bytes, int64_t bits) {
  const int n = (int)(8 / bits);
  tn_value *parts[4];
  tn_value *const mask = tn_im2(im, "cast_like", tn_im_int(im, (1 << bits) - 1), bytes);
  for (int i = 0; i < n; i++) {
    tn_value *const by[2] = {bytes, tn_im2(im, "cast_like", tn_im_int(im, i * bits), bytes)};
    tn_node *const shift = tn_import_node(im, "bit_shift", by, 2, 1);
    tn_import_set_str(shift, "direction", "RIGHT");
    parts[i] = tn_im2(im, "unsqueeze", tn_im2(im, "bitwise_and", shift->out[0], mask), tn_im_int(im, -1));
  }
  tn_node *const both = tn_import_node(im, "concat", parts, n, 1);
  tn_import_set_int(both, "axis", -1);
  tn_node *const shape = tn_import_node(im, "shape", both->out, 1, 1); /* [..., c, n] -> [..., n * c] */
  tn_import_set_int(shape, "end", -2);
  tn_node *const last = tn_import_node(im, "shape", &bytes, 1, 1);
  tn_import_set_int(last, "start", -1);
  tn_value *const dims[2] = {shape->out[0], tn_im2(im, "mul", last->out[0], tn_im_int(im, n))};
  tn_node *const to = tn_import_node(im, "concat", dims, 2, 1);
  tn_import_set_int(to, "axis", 0);
  return tn_im2(im, "reshape", both->out[0], to->out[0]);
}

typedef struct msq_table { /* what GatherBlockQuantized reads from */
  int64_t bits, block, quantized, gathered;
  int rank;
  bool is_bytes, is_packed;
  tn_value *index, *valid; /* within the axis, and whether the model's was */
} msq_table;

static tn_status msq_table_read(tn_import *im, msq_table *t) {
  TN_TRY(tn_im_need(im, 3));
  TN_TRY(tn_import_int(im, "bits", 4, &t->bits));
  TN_TRY(tn_import_int(im, "block_size", 128, &t->block));
  TN_TRY(tn_import_int(im, "quantize_axis", 1, &t->quantized));
  TN_TRY(tn_import_int(im, "gather_axis", 0, &t->gathered));
  const tn_type *const data = &im->in[0]->type;
  if (!tn_type_is_tensor(data) || data->dtype == TN_DTYPE_NONE || data->rank < 0)
    return tn_import_fail(im, TN_UNSUPPORTED, "the element type and rank of the data are not known in the file");
  t->rank = data->rank;
  t->is_bytes = data->dtype == TN_U8;
  t->is_packed = t->is_bytes && t->bits < 8;
  if (t->quantized < -t->rank || t->quantized >= t->rank || t->gathered < -t->rank || t->gathered >= t->rank)
    return tn_import_fail(im, TN_INVALID, "quantize_axis %lld and gather_axis %lld of a tensor of rank %d",
                          (long long)t->quantized, (long long)t->gathered, t->rank);
  t->quantized += t->quantized < 0 ? t->rank : 0;
  t->gathered += t->gathered < 0 ? t->rank : 0;
  if (!t->is_bytes && data->dtype != TN_I4 && data->dtype != TN_U4)
    return tn_import_fail(im, TN_UNSUPPORTED, "data of element type %s", tn_dtype_name(data->dtype));
  if (t->bits != 4 && !(t->is_bytes && (t->bits == 8 || t->bits == 2)))
    return tn_import_fail(im, TN_INVALID, "%lld bits of %s", (long long)t->bits, tn_dtype_name(data->dtype));
  if (t->block < 16 || (t->block & (t->block - 1)) != 0)
    return tn_import_fail(im, TN_INVALID, "attribute 'block_size' is %lld", (long long)t->block);
  if (t->is_bytes && (t->gathered != 0 || t->quantized != t->rank - 1 || t->rank < 2))
    return tn_import_fail(im, TN_INVALID, "bytes are gathered along axis 0 and quantised along the last one");
  return TN_OK;
}

static tn_value *msq_axis_of(tn_import *im, tn_value *x, int64_t axis) {
  return tn_im2(im, "gather", tn_im1(im, "shape", x),
                tn_import_const_lit(im, tn_lit_scalar_i64(&im->ctx->arena, TN_I64, axis)));
}

/* An index outside of the axis reads row 0, whose numbers become zeros later. */
static void msq_table_index(tn_import *im, msq_table *t) {
  tn_value *const i = tn_im_cast(im, im->in[1], TN_I64), *const n = msq_axis_of(im, im->in[0], t->gathered);
  tn_value *const zero = tn_import_const_lit(im, tn_lit_scalar_i64(&im->ctx->arena, TN_I64, 0));
  tn_value *const from = tn_im3(im, "where", tn_im2(im, "less", i, zero), tn_im2(im, "add", i, n), i);
  t->valid = tn_im2(im, "and", tn_im2(im, "less", from, n), tn_im2(im, "greater_or_equal", from, zero));
  t->index = tn_im3(im, "where", t->valid, from, zero);
}

static tn_value *msq_rows(tn_import *im, const msq_table *t, tn_value *x, tn_value *index) {
  tn_value *const in[2] = {x, index};
  tn_node *const node = tn_import_node(im, "gather", in, 2, 1);
  tn_import_set_int(node, "axis", t->gathered);
  return node->out[0];
}

/* Gathered along another axis than that of the blocks: whole blocks, which are dequantised as such. */
static tn_value *msq_by_blocks(tn_import *im, const msq_table *t) {
  tn_value *x = msq_rows(im, t, im->in[0], t->index), *const scales = msq_rows(im, t, im->in[2], t->index);
  tn_value *zero = tn_im_in(im, 3) ? msq_rows(im, t, im->in[3], t->index) : NULL;
  if (t->is_packed) x = tn_im_unpack(im, x, t->bits);
  if (t->is_packed && zero) { /* the last byte may hold more numbers than there are blocks */
    tn_node *const n = tn_import_node(im, "shape", &scales, 1, 1);
    tn_import_set_int(n, "start", -1);
    tn_value *const in[4] = {tn_im_unpack(im, zero, t->bits), tn_im_int(im, 0), n->out[0], tn_im_int(im, -1)};
    zero = tn_import_node(im, "slice", in, 4, 1)->out[0];
  }
  if (t->is_bytes && !zero) {
    tn_value *const middle = tn_im2(im, "cast_like", tn_im_int(im, INT64_C(1) << (t->bits - 1)), im->in[0]);
    zero = tn_im2(im, "expand", middle, tn_im1(im, "shape", scales));
  }
  tn_value *const in[3] = {x, scales, zero};
  tn_node *const node = tn_import_node(im, "dequantize_linear", in, zero ? 3 : 2, 1);
  tn_import_set_int(node, "axis", t->quantized < t->gathered ? t->quantized : t->quantized - t->rank);
  tn_import_set_int(node, "block_size", t->block);
  return node->out[0];
}

/* Gathered along the axis of the blocks: the scale of each element is that of its index' block. */
static tn_value *msq_by_elements(tn_import *im, const msq_table *t) {
  tn_value *const block =
      tn_im2(im, "div", t->index, tn_import_const_lit(im, tn_lit_scalar_i64(&im->ctx->arena, TN_I64, t->block)));
  tn_value *const scales = msq_rows(im, t, im->in[2], block);
  tn_value *x = tn_im2(im, "cast_like", msq_rows(im, t, im->in[0], t->index), im->in[2]);
  if (tn_im_in(im, 3)) x = tn_im2(im, "sub", x, tn_im2(im, "cast_like", msq_rows(im, t, im->in[3], block), im->in[2]));
  return tn_im2(im, "mul", x, scales);
}

static tn_status msq_gather(tn_import *im) {
  msq_table t = {0};
  TN_TRY(msq_table_read(im, &t));
  msq_table_index(im, &t);
  tn_value *const y = t.gathered == t.quantized ? msq_by_elements(im, &t) : msq_by_blocks(im, &t);
  int64_t behind[TN_MAX_RANK];
  for (int64_t i = 0; i < t.rank - 1 - t.gathered; i++) behind[i] = -1 - i;
  tn_value *const axes = tn_import_const_i64(im, behind, t.rank - 1 - t.gathered);
  tn_value *const valid = tn_im2(im, "unsqueeze", t.valid, axes);
  return tn_im_done(im, tn_im3(im, "where", valid, y, tn_im_like(im, 0, y)));
}

/* clang-format off */
TN_ONNX(ms, QLinearAdd, 1, TN_LATEST, add, msq_add)
TN_ONNX(ms, QLinearMul, 1, TN_LATEST, mul, msq_mul)
TN_ONNX(ms, QLinearSigmoid, 1, TN_LATEST, sigmoid, msq_sigmoid)
TN_ONNX(ms, QLinearLeakyRelu, 1, TN_LATEST, leaky_relu, msq_leaky_relu)
TN_ONNX(ms, QLinearSoftmax, 1, TN_LATEST, softmax, msq_softmax)
TN_ONNX(ms, QLinearAveragePool, 1, TN_LATEST, average_pool, msq_average_pool)
TN_ONNX(ms, QLinearGlobalAveragePool, 1, TN_LATEST, global_average_pool, msq_global_average_pool)
TN_ONNX(ms, QLinearConcat, 1, TN_LATEST, concat, msq_concat)
TN_ONNX(ms, NhwcMaxPool, 1, TN_LATEST, max_pool, msq_nhwc_max_pool)
TN_ONNX(ms, GatherBlockQuantized, 1, TN_LATEST, dequantize_linear, msq_gather)
TN_ONNX(ms, QuantizeLinear, 1, TN_LATEST, quantize_linear, tn_import_same)
TN_ONNX(ms, DequantizeLinear, 1, TN_LATEST, dequantize_linear, tn_import_same)
