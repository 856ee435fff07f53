/* Quantisation: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear and the integer products. */
#include <math.h>

#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"

#define QUANT_INTS \
  (TN_SET(I8) | TN_SET(U8) | TN_SET(I16) | TN_SET(U16) | TN_SET(I4) | TN_SET(U4) | TN_SET(I2) | TN_SET(U2))
#define QUANT_TYPES (QUANT_INTS | TN_SET_FLOAT8 | TN_SET(F4E2M1))
#define QUANT_BYTES (TN_SET(I8) | TN_SET(U8))
#define QUANT_SCALES (TN_SET_FLOATS | TN_SET(I32) | TN_SET(F8E8M0))

/* Which scale belongs to element i: all one, one per index of `axis`, or one per block along it. */
typedef struct quant_grid {
  int64_t inner, dim, block, blocks;
  bool single, blocked;
} quant_grid;

static int64_t quant_scale_at(const quant_grid *g, int64_t i) {
  if (g->single) return 0;
  const int64_t at = i / g->inner % g->dim;
  if (!g->blocked) return at;
  return (i / (g->inner * g->dim) * g->blocks + at / g->block) * g->inner + i % g->inner;
}

static tn_status quant_enough(tn_eval *e, int64_t need) {
  const tn_lit *const zero = e->n_in > 2 ? e->in[2] : NULL;
  if (e->in[1]->count >= need && (!zero || zero->count >= need)) return TN_OK;
  return tn_eval_fail(e, TN_MISMATCH, "%lld scales or zero points are needed", (long long)need);
}

static tn_status quant_grid_of(tn_eval *e, quant_grid *g) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const scale = e->in[1];
  *g = (quant_grid){.inner = 1, .dim = 1, .block = 1, .blocks = 1, .single = scale->count == 1 && scale->rank <= 1};
  if (g->single) return quant_enough(e, 1);
  int axis;
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), x->rank, &axis));
  for (int d = axis + 1; d < x->rank; d++) g->inner *= x->dims[d];
  g->dim = x->dims[axis];
  g->blocked = scale->rank == x->rank && (x->rank > 1 || tn_eval_int(e, "block_size") > 0);
  if (g->blocked) {
    g->block = tn_eval_int(e, "block_size");
    g->blocks = scale->dims[axis];
    if (g->block < 1 && g->blocks) g->block = (g->dim + g->blocks - 1) / g->blocks;
    if (g->block < 1) g->block = 1; /* nothing along the axis */
    if (g->blocks < g->dim / g->block + (g->dim % g->block != 0))
      return tn_eval_fail(e, TN_MISMATCH, "%lld blocks of %lld do not cover dim %d, which is %lld",
                          (long long)g->blocks, (long long)g->block, axis, (long long)g->dim);
  }
  const int64_t need = g->blocked ? (x->count && g->dim ? x->count / g->dim * g->blocks : 0) : g->dim;
  return quant_enough(e, need);
}

/* A scale of x's rank has x's dims, but along `axis` one for each block. */
static tn_status quant_blocks(tn_rule *r) {
  const int64_t block = tn_rule_int(r, "block_size");
  const int rank = r->in[0]->rank;
  int axis;
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), rank, &axis));
  for (int i = 0; i < rank; i++)
    if (i != axis) TN_TRY(tn_rule_unify(r, r->in[0]->dims[i], r->in[1]->dims[i], "x and scale", i, NULL));
  if (block < 1) return TN_OK;
  const tn_sym d = r->in[0]->dims[axis];
  const tn_sym blocks = r->in[1]->dims[axis];
  tn_sym fits = tn_sym_eq(r->syms, blocks, tn_sym_ceildiv(r->syms, d, tn_sym_int(r->syms, block)));
  if (rank == 1) fits = tn_sym_or(r->syms, fits, tn_sym_eq(r->syms, blocks, tn_sym_int(r->syms, 1)));
  return tn_rule_demand(r, fits, "%s blocks of %lld for dim %d, which is %s", tn_sym_text(r->syms, blocks),
                        (long long)block, axis, tn_sym_text(r->syms, d));
}

/* The scale has one element, one per index of `axis`, or x's rank: blocks (of a vector where block_size says so). */
static tn_status quant_shape(tn_rule *r) {
  if (tn_rule_has_rank(r, 0) && tn_rule_has_rank(r, 1) && r->in[0]->rank == r->in[1]->rank &&
      (r->in[0]->rank > 1 || (r->in[0]->rank == 1 && tn_rule_int(r, "block_size") > 0)))
    TN_TRY(quant_blocks(r));
  if (tn_rule_has_rank(r, 0) && tn_rule_has_rank(r, 1) && r->in[1]->rank == 1 && !tn_sym_is(r->in[1]->dims[0], 1) &&
      (r->in[0]->rank != 1 || tn_rule_int(r, "block_size") < 1)) {
    const int64_t given = tn_rule_int(r, "axis");
    const int rank = r->in[0]->rank;
    int axis;
    if (given < -rank || given >= rank) /* one scale needs no axis */
      return tn_rule_unify(r, r->in[1]->dims[0], tn_sym_int(r->syms, 1), "scales without an axis", 0, NULL);
    TN_TRY(tn_rule_axis(r, "axis", given, rank, &axis));
    TN_TRY(tn_rule_demand(r,
                          tn_sym_or(r->syms, tn_sym_eq(r->syms, r->in[1]->dims[0], r->in[0]->dims[axis]),
                                    tn_sym_eq(r->syms, r->in[1]->dims[0], tn_sym_int(r->syms, 1))),
                          "%s scales for dim %d, which is %s", tn_sym_text(r->syms, r->in[1]->dims[0]), axis,
                          tn_sym_text(r->syms, r->in[0]->dims[axis])));
  }
  if (tn_rule_has_rank(r, 1) && tn_rule_has_rank(r, 2) && r->in[1]->rank == r->in[2]->rank)
    for (int i = 0; i < r->in[1]->rank; i++)
      TN_TRY(tn_rule_unify(r, r->in[1]->dims[i], r->in[2]->dims[i], "scale and zero point", i, NULL));
  return tn_shape_as_input(r);
}

static tn_status quantize_type(tn_rule *r) {
  const tn_attr *const d = tn_rule_attr(r, "output_dtype");
  tn_dtype to = tn_rule_has(r, 2) ? r->in[2]->dtype : TN_U8;
  if (!tn_rule_has(r, 2) && d && d->i) {
    if (!tn_dtype_valid((int)d->i))
      return tn_rule_fail(r, TN_INVALID, "attribute 'output_dtype' is %lld, which is no element type", (long long)d->i);
    to = (tn_dtype)d->i;
  }
  tn_rule_set_dtype(r, 0, to);
  return TN_OK;
}

static void quant_range(tn_dtype d, double *lo, double *hi) {
  const int bits = tn_dtype_bits(d);
  const bool is_signed = tn_dtype_cls(d) == TN_CLASS_INT;
  *lo = is_signed ? -ldexp(1, bits - 1) : 0;
  *hi = is_signed ? ldexp(1, bits - 1) - 1 : ldexp(1, bits) - 1;
}

static void quant_store(tn_dtype d, void *out, int64_t i, double scaled, double zero, bool saturate) {
  if (tn_dtype_is_float(d)) {
    tn_store_f64_sat(d, out, i, scaled, saturate);
    return;
  }
  double lo, hi;
  quant_range(d, &lo, &hi);
  const double v = nearbyint(scaled) + zero;
  tn_store_i64(d, out, i, (int64_t)(v >= lo ? (v > hi ? hi : v) : lo));
}

/* The quotient is taken in the scale's type, so that halves fall as the standard's reference lets them. */
static double quant_divide(tn_dtype d, double x, double scale) {
  return d == TN_F64 ? x / scale : (double)((float)x / (float)scale);
}

static tn_status quantize_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const zero = e->n_in > 2 ? e->in[2] : NULL;
  const tn_dtype d = tn_eval_out_dtype(e, 0);
  const bool saturate = tn_eval_int(e, "saturate") != 0;
  quant_grid g;
  tn_lit *y;
  TN_TRY(quant_grid_of(e, &g));
  TN_TRY(tn_eval_out(e, 0, d, x->rank, x->dims, &y));
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t s = quant_scale_at(&g, i);
    const double z = zero && !tn_dtype_is_float(d) ? tn_lit_f64(zero, s) : 0;
    quant_store(d, tn_lit_data(y), i, quant_divide(x->dtype, tn_lit_f64(x, i), tn_lit_f64(e->in[1], s)), z, saturate);
  }
  return TN_OK;
}
#define QUANT_ATTRS                                                                          \
  {"axis", TN_ATTR_INT, .i = 1}, {"block_size", TN_ATTR_INT, .i = 0, .has_default = true}, { \
    "output_dtype", TN_ATTR_DTYPE                                                            \
  }
TN_OP(quantize_linear){
    .name = "quantize_linear",
    .in = {{"x", TN_SET_FLOATS | TN_SET(I32)},
           {"y_scale", QUANT_SCALES},
           {"y_zero_point", QUANT_TYPES, NULL, TN_PORT_OPTIONAL}},
    .out = {{"y", QUANT_TYPES}},
    .attrs = {QUANT_ATTRS, {"saturate", TN_ATTR_INT, .i = 1}, {"precision", TN_ATTR_DTYPE}},
    .type = quantize_type,
    .shape = quant_shape,
    .eval = quantize_eval,
    .kernel = "quantize_linear",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "saturate(round_half_even(x / scale) + zero_point)",
};

static tn_status dequantize_type(tn_rule *r) {
  const tn_attr *const d = tn_rule_attr(r, "output_dtype");
  tn_dtype to = r->in[1]->dtype;
  if (d && d->i) {
    if (!tn_dtype_valid((int)d->i))
      return tn_rule_fail(r, TN_INVALID, "attribute 'output_dtype' is %lld, which is no element type", (long long)d->i);
    to = (tn_dtype)d->i;
  }
  tn_rule_set_dtype(r, 0, to);
  return TN_OK;
}
static tn_status dequantize_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const zero = e->n_in > 2 ? e->in[2] : NULL;
  quant_grid g;
  tn_lit *y;
  TN_TRY(quant_grid_of(e, &g));
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), x->rank, x->dims, &y));
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t s = quant_scale_at(&g, i);
    tn_store_f64(y->dtype, tn_lit_data(y), i,
                 (tn_lit_f64(x, i) - (zero ? tn_lit_f64(zero, s) : 0)) * tn_lit_f64(e->in[1], s));
  }
  return TN_OK;
}
TN_OP(dequantize_linear){
    .name = "dequantize_linear",
    .in = {{"x", QUANT_TYPES | TN_SET(I32), "T1"},
           {"x_scale", QUANT_SCALES},
           {"x_zero_point", QUANT_TYPES | TN_SET(I32), "T1", TN_PORT_OPTIONAL}},
    .out = {{"y", TN_SET_FLOATS}},
    .attrs = {QUANT_ATTRS},
    .type = dequantize_type,
    .shape = quant_shape,
    .eval = dequantize_eval,
    .kernel = "dequantize_linear",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-6},
    .doc = "(x - zero_point) * scale",
};

/* --- dynamic_quantize_linear --- */

static tn_status dynamic_quantize_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, TN_U8);
  if (r->n_out > 1) tn_rule_set_dtype(r, 1, TN_F32);
  if (r->n_out > 2) tn_rule_set_dtype(r, 2, TN_U8);
  return TN_OK;
}
static tn_status dynamic_quantize_shape(tn_rule *r) {
  if (r->in[0]->rank >= 0) tn_rule_set(r, 0, r->in[0]->rank, r->in[0]->dims);
  for (int i = 1; i < r->n_out; i++) tn_rule_set(r, i, 0, NULL);
  return TN_OK;
}
static tn_status dynamic_quantize_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  tn_lit *out[3] = {NULL, NULL, NULL};
  float lo = 0, hi = 0;
  for (int64_t i = 0; i < x->count; i++) {
    lo = fminf(lo, (float)tn_lit_f64(x, i));
    hi = fmaxf(hi, (float)tn_lit_f64(x, i));
  }
  const float scale = hi > lo ? (hi - lo) / 255.0f : 1.0f;
  const float zero = scale > 0 ? nearbyintf(fminf(255.0f, fmaxf(0.0f, -lo / scale))) : 0;
  TN_TRY(tn_eval_out(e, 0, TN_U8, x->rank, x->dims, &out[0]));
  for (int64_t i = 0; i < x->count; i++)
    quant_store(TN_U8, tn_lit_data(out[0]), i, scale > 0 ? (double)((float)tn_lit_f64(x, i) / scale) : 0, (double)zero,
                true);
  if (e->n_out > 1) {
    TN_TRY(tn_eval_out(e, 1, TN_F32, 0, NULL, &out[1]));
    tn_store_f64(TN_F32, tn_lit_data(out[1]), 0, (double)scale);
  }
  if (e->n_out > 2) {
    TN_TRY(tn_eval_out(e, 2, TN_U8, 0, NULL, &out[2]));
    tn_store_f64(TN_U8, tn_lit_data(out[2]), 0, (double)zero);
  }
  return TN_OK;
}
TN_OP(dynamic_quantize_linear){
    .name = "dynamic_quantize_linear",
    .in = {{"x", TN_SET(F32)}},
    .out = {{"y", TN_SET(U8)}, {"y_scale", TN_SET(F32)}, {"y_zero_point", TN_SET(U8)}},
    .type = dynamic_quantize_type,
    .shape = dynamic_quantize_shape,
    .eval = dynamic_quantize_eval,
    .kernel = "dynamic_quantize_linear",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "x as u8 over its own range, with the scale and zero point used",
};

/* clang-format off */
TN_ONNX(ai, QuantizeLinear, 10, TN_LATEST, quantize_linear, tn_import_same)
TN_ONNX(ai, DequantizeLinear, 10, TN_LATEST, dequantize_linear, tn_import_same)
TN_ONNX(ai, DynamicQuantizeLinear, 11, TN_LATEST, dynamic_quantize_linear, tn_import_same)
