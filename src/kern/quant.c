/* Kernels of quantisation. */
#include <math.h>

#include "kern/kern.h"

typedef struct quant_job {
  const tn_karg *x, *scale, *zero;
  tn_karg *y;
  int64_t inner, dim, block, blocks;
  bool single, blocked, saturate, float_out;
  double lo, hi;
} quant_job;

static int64_t quant_scale_index(const quant_job *j, int64_t i) {
  if (j->single) return 0;
  const int64_t at = i / j->inner % j->dim;
  if (!j->blocked) return at;
  return (i / (j->inner * j->dim) * j->blocks + at / j->block) * j->inner + i % j->inner;
}

/* How the scales lie over x; MISMATCH when there are too few of them or of the zero points. */
static tn_status quant_layout(tn_kcall *k, quant_job *j) {
  const tn_karg *const x = j->x;
  j->inner = j->dim = j->block = j->blocks = 1;
  j->single = j->scale->count == 1 && j->scale->rank <= 1;
  int64_t need = 1;
  if (!j->single) {
    int axis;
    TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", 1), x->rank, &axis));
    for (int d = axis + 1; d < x->rank; d++) j->inner *= x->dims[d];
    j->dim = need = x->dims[axis];
    j->blocked = j->scale->rank == x->rank && x->rank > 1;
    if (j->blocked) {
      j->block = tn_k_int(k, "block_size", 0);
      j->blocks = j->scale->dims[axis];
      if (j->block < 1 && j->blocks) j->block = (j->dim + j->blocks - 1) / j->blocks;
      if (j->block < 1) j->block = 1; /* nothing along the axis */
      if (j->blocks < j->dim / j->block + (j->dim % j->block != 0))
        return tn_k_fail(k, TN_MISMATCH, "%lld blocks of %lld do not cover dim %d, which is %lld", (long long)j->blocks,
                         (long long)j->block, axis, (long long)j->dim);
      need = x->count && j->dim ? x->count / j->dim * j->blocks : 0;
    }
  }
  if (j->scale->count < need || (j->zero && j->zero->count < need))
    return tn_k_fail(k, TN_MISMATCH, "%lld scales or zero points are needed", (long long)need);
  return TN_OK;
}

static void quant_out_range(quant_job *j, tn_dtype d) {
  const int bits = tn_dtype_bits(d);
  const bool is_signed = tn_dtype_cls(d) == TN_CLASS_INT;
  j->float_out = tn_dtype_is_float(d);
  j->lo = is_signed ? -ldexp(1, bits - 1) : 0;
  j->hi = is_signed ? ldexp(1, bits - 1) - 1 : ldexp(1, bits) - 1;
}

static void quantize_task(void *arg, int64_t begin, int64_t end, int worker) {
  const quant_job *const j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const int64_t s = quant_scale_index(j, i);
    const double x = tn_load_f64(j->x->dtype, j->x->data, i), scale = tn_load_f64(j->scale->dtype, j->scale->data, s);
    const double q = j->x->dtype == TN_F64 ? x / scale : (double)((float)x / (float)scale);
    if (j->float_out) {
      tn_store_f64_sat(j->y->dtype, j->y->data, i, q, j->saturate);
      continue;
    }
    const double v = nearbyint(q) + (j->zero ? tn_load_f64(j->zero->dtype, j->zero->data, s) : 0);
    tn_store_i64(j->y->dtype, j->y->data, i, (int64_t)(v >= j->lo ? (v > j->hi ? j->hi : v) : j->lo));
  }
}

TN_KERNEL(quantize_linear, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 2, 1));
  quant_job j = {.x = k->in[0], .scale = k->in[1], .zero = tn_k_in(k, 2), .saturate = tn_k_int(k, "saturate", 1) != 0};
  TN_TRY(tn_k_out(k, 0, j.x->rank, j.x->dims));
  j.y = k->out[0];
  TN_TRY(quant_layout(k, &j));
  quant_out_range(&j, j.y->dtype);
  tn_pool_for(k->pool, j.x->count, 1024, quantize_task, &j);
  return TN_OK;
}

static void dequantize_task(void *arg, int64_t begin, int64_t end, int worker) {
  const quant_job *const j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const int64_t s = quant_scale_index(j, i);
    const double zero = j->zero ? tn_load_f64(j->zero->dtype, j->zero->data, s) : 0;
    tn_store_f64(j->y->dtype, j->y->data, i,
                 (tn_load_f64(j->x->dtype, j->x->data, i) - zero) * tn_load_f64(j->scale->dtype, j->scale->data, s));
  }
}

TN_KERNEL(dequantize_linear, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 2, 1));
  quant_job j = {.x = k->in[0], .scale = k->in[1], .zero = tn_k_in(k, 2)};
  TN_TRY(tn_k_out(k, 0, j.x->rank, j.x->dims));
  j.y = k->out[0];
  TN_TRY(quant_layout(k, &j));
  tn_pool_for(k->pool, j.x->count, 1024, dequantize_task, &j);
  return TN_OK;
}

TN_KERNEL(dynamic_quantize_linear, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  const tn_karg *const x = k->in[0];
  if (x->dtype != TN_F32) return tn_k_no_dtype(k, 0);
  const float *const xs = x->data;
  float lo = 0, hi = 0;
  for (int64_t i = 0; i < x->count; i++) {
    lo = xs[i] < lo ? xs[i] : lo;
    hi = xs[i] > hi ? xs[i] : hi;
  }
  const float scale = (hi - lo) / 255.0f;
  const float raw = scale > 0 ? -lo / scale : 0;
  const float zero = nearbyintf(raw < 0 ? 0 : (raw > 255 ? 255 : raw));
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  uint8_t *const y = k->out[0]->data;
  for (int64_t i = 0; i < x->count; i++) {
    const float v = (scale > 0 ? nearbyintf(xs[i] / scale) : 0) + zero;
    y[i] = (uint8_t)(v < 0 ? 0 : (v > 255 ? 255 : v));
  }
  if (tn_k_outp(k, 1)) {
    TN_TRY(tn_k_out(k, 1, 0, NULL));
    *(float *)k->out[1]->data = scale;
  }
  if (tn_k_outp(k, 2)) {
    TN_TRY(tn_k_out(k, 2, 0, NULL));
    *(uint8_t *)k->out[2]->data = (uint8_t)zero;
  }
  return TN_OK;
}
