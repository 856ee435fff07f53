/* Kernels of quantisation. */
#include <math.h>

#include "kern/map.h"
#include "kern/quant.h"

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
    j->blocked = j->scale->rank == x->rank && (x->rank > 1 || tn_k_int(k, "block_size", 0) > 0);
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

const tn_quant_row *tn_quant_rows_get(void) {
#if defined(__x86_64__)
  const int level = tn_cpu_level();
  if (level >= 3) return level >= 4 ? tn_quant_rows_v4 : tn_quant_rows_v3;
#endif
  return tn_quant_rows_v1;
}

static void quant_out_range(quant_job *j, tn_dtype d) {
  const int bits = tn_dtype_bits(d);
  const bool is_signed = tn_dtype_cls(d) == TN_CLASS_INT;
  j->float_out = tn_dtype_is_float(d);
  j->lo = is_signed ? -ldexp(1, bits - 1) : 0;
  j->hi = is_signed ? ldexp(1, bits - 1) - 1 : ldexp(1, bits) - 1;
}

/* Elements from i on, up to `end`, that have one scale (*out_step 0) or as many neighbouring ones (1), from *out_s on.
 */
static int64_t quant_run(const quant_job *j, int64_t i, int64_t end, int64_t *out_s, int64_t *out_step) {
  int64_t n = end - i;
  *out_s = quant_scale_index(j, i);
  *out_step = 0;
  if (j->single) return n;
  const int64_t at = i / j->inner % j->dim;
  if (j->inner > 1) { /* the rest of a line within one index of the axis */
    const int64_t rest = j->inner - i % j->inner;
    *out_step = j->blocked;
    return rest < n ? rest : n;
  }
  const int64_t rest = j->blocked ? j->block - at % j->block : j->dim - at;
  const int64_t left = j->dim - at < rest ? j->dim - at : rest;
  *out_step = !j->blocked;
  return left < n ? left : n;
}

enum { QUANT_BLOCK = 512 };
static const int16_t quant_no_zeros[QUANT_BLOCK] = {0}; /* zero points of any type that has loops */

/* True when the job is of f32 and an integer type that has loops; then [begin, end) is done. */
static bool quant_fast(const quant_job *j, bool to_int, int64_t begin, int64_t end) {
  const tn_karg *const real = to_int ? j->x : j->y, *const whole = to_int ? j->y : j->x;
  const tn_quant_row *const rows = tn_quant_rows_get(), *row = rows;
  const size_t size = (size_t)tn_dtype_bits(whole->dtype) / 8;
  while (row < rows + TN_N_QUANT_ROWS && row->dtype != whole->dtype) row++;
  if (row == rows + TN_N_QUANT_ROWS || real->dtype != TN_F32 || j->scale->dtype != TN_F32 ||
      (j->zero && j->zero->dtype != whole->dtype))
    return false;
  for (int64_t i = begin, n; i < end; i += n) {
    int64_t s, step;
    n = quant_run(j, i, end, &s, &step);
    const float *const scale = (const float *)j->scale->data + s;
    const void *zero = quant_no_zeros;
    if (j->zero) zero = (const char *)j->zero->data + (size_t)s * size;
    if (!j->zero && step && n > QUANT_BLOCK) n = QUANT_BLOCK;
    float *const reals = (float *)real->data + i;
    void *const wholes = (char *)whole->data + (size_t)i * size;
    if (to_int)
      row->to(reals, scale, step, zero, wholes, n);
    else
      row->from(wholes, scale, step, zero, reals, n);
  }
  return true;
}

static void quantize_task(void *arg, int64_t begin, int64_t end, int worker) {
  const quant_job *const j = arg;
  (void)worker;
  if (!j->float_out && quant_fast(j, true, begin, end)) return;
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
  if (quant_fast(j, false, begin, end)) return;
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

/* The least and the largest of x and 0; NaN is passed over. */
static void quant_range(const float *x, int64_t n, float *out_lo, float *out_hi) {
  enum { LANES = 16 };
  float lo[LANES] = {0}, hi[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int l = 0; l < LANES; l++) {
      lo[l] = x[i + l] < lo[l] ? x[i + l] : lo[l];
      hi[l] = x[i + l] > hi[l] ? x[i + l] : hi[l];
    }
  for (; i < n; i++) {
    lo[0] = x[i] < lo[0] ? x[i] : lo[0];
    hi[0] = x[i] > hi[0] ? x[i] : hi[0];
  }
  for (int l = 1; l < LANES; l++) {
    lo[0] = lo[l] < lo[0] ? lo[l] : lo[0];
    hi[0] = hi[l] > hi[0] ? hi[l] : hi[0];
  }
  *out_lo = lo[0];
  *out_hi = hi[0];
}

TN_KERNEL(dynamic_quantize_linear, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  const tn_karg *const x = k->in[0];
  if (x->dtype != TN_F32) return tn_k_no_dtype(k, 0);
  const float *const xs = x->data;
  float lo, hi;
  quant_range(xs, x->count, &lo, &hi);
  const float scale = hi > lo ? (hi - lo) / 255.0f : 1.0f; /* of zeros alone, a scale that can be divided by */
  const float raw = scale > 0 ? -lo / scale : 0;
  const float zero = nearbyintf(raw < 0 ? 0 : (raw > 255 ? 255 : raw));
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  const uint8_t zero_point = (uint8_t)zero;
  const float divisor = scale > 0 ? scale : INFINITY; /* of numbers too small for a scale, all are 0 */
  tn_quant_rows_get()[TN_QUANT_U8].to(xs, &divisor, 0, &zero_point, k->out[0]->data, x->count);
  if (tn_k_outp(k, 1)) {
    TN_TRY(tn_k_out(k, 1, 0, NULL));
    *(float *)k->out[1]->data = scale;
  }
  if (tn_k_outp(k, 2)) {
    TN_TRY(tn_k_out(k, 2, 0, NULL));
    *(uint8_t *)k->out[2]->data = zero_point;
  }
  return TN_OK;
}

/* --- sums and products of bytes --- */

typedef struct quant_binary {
  const tn_quant_row *row;
  const float *scale[3]; /* of a, b, y */
  const void *zero[3];
  bool is_product;
} quant_binary;

static void quant_binary_run(const void *const *in, const int64_t *step, void *out, int64_t n, const void *param) {
  const quant_binary *const j = param;
  float x[2][QUANT_BLOCK], y[QUANT_BLOCK];
  for (int64_t done = 0; done < n; done += QUANT_BLOCK) {
    const int64_t part = n - done < QUANT_BLOCK ? n - done : QUANT_BLOCK;
    for (int i = 0; i < 2; i++) {
      if (!step[i] && done > 0) continue;
      j->row->from((const uint8_t *)in[i] + done * step[i], j->scale[i], 0, j->zero[i], x[i], step[i] ? part : 1);
      for (int64_t e = 1; !step[i] && e < part; e++) x[i][e] = x[i][0];
    }
    if (j->is_product)
      for (int64_t e = 0; e < part; e++) y[e] = x[0][e] * x[1][e];
    else
      for (int64_t e = 0; e < part; e++) y[e] = x[0][e] + x[1][e];
    j->row->to(y, j->scale[2], 0, j->zero[2], (uint8_t *)out + done, part);
  }
}

static tn_status quant_binary_call(tn_kcall *k, bool is_product) {
  static const int operands[3] = {0, 3, 5}; /* each before its scale and zero point; y has none in front */
  const tn_karg *const pair[2] = {tn_k_in(k, 0), tn_k_in(k, 3)};
  quant_binary j = {.row = tn_quant_rows_get(), .is_product = is_product};
  int rank;
  int64_t dims[TN_K_MAX_RANK];
  TN_TRY(tn_k_need(k, 2, 1));
  if (!pair[1]) return tn_k_fail(k, TN_INTERNAL, "input 3 is absent");
  const tn_dtype d = pair[0]->dtype;
  if ((d != TN_U8 && d != TN_I8) || pair[1]->dtype != d) return tn_k_no_dtype(k, 0);
  j.row += d == TN_U8 ? TN_QUANT_U8 : TN_QUANT_I8;
  for (int i = 0; i < 3; i++) {
    const tn_karg *const scale = tn_k_in(k, operands[i] + 1), *const zero = tn_k_in(k, operands[i] + 2);
    if (!scale || scale->dtype != TN_F32 || scale->count != 1 || (zero && (zero->dtype != d || zero->count != 1)))
      return tn_k_fail(k, TN_MISMATCH, "operand %d is not one scale, or its zero point not one byte", operands[i] + 1);
    j.scale[i] = scale->data;
    j.zero[i] = zero ? zero->data : quant_no_zeros;
  }
  const tn_karg *all[8];
  int n = 0;
  for (int i = 0; i < 8; i++)
    if (tn_k_in(k, i)) all[n++] = k->in[i];
  TN_TRY(tn_k_bcast(k, all, n, &rank, dims));
  TN_TRY(tn_k_out(k, 0, rank, dims));
  const tn_kmap m = {.fn = quant_binary_run, .n_in = 2, .in = {d, d}, .out = d, .param = &j};
  return tn_k_map(k, &m, pair, k->out[0]);
}
TN_KERNEL(qlinear_add, TN_K_SIZES) { return quant_binary_call(k, false); }
TN_KERNEL(qlinear_mul, TN_K_SIZES) { return quant_binary_call(k, true); }
