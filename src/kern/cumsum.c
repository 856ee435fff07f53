/* CumSum, CumProd, ReverseSequence. */
#include "kern/move.h"

typedef struct cumsum_job {
  tn_dtype dtype;
  const void *x;
  void *y;
  int64_t n, inner;
  bool reverse, exclusive, product;
} cumsum_job;

/* One line; floats run in f64, integers wrap. */
#define CUMSUM_LINE(name, T, A)                                              \
  static void cumsum_line_##name(const cumsum_job *j, int64_t base) {        \
    const T *const x = (const T *)j->x + base;                               \
    T *const y = (T *)j->y + base;                                           \
    A acc = j->product ? 1 : 0;                                              \
    for (int64_t i = 0; i < j->n; i++) {                                     \
      const int64_t at = (j->reverse ? j->n - 1 - i : i) * j->inner;         \
      const A v = (A)x[at], next = j->product ? (A)(acc * v) : (A)(acc + v); \
      y[at] = (T)(j->exclusive ? acc : next);                                \
      acc = next;                                                            \
    }                                                                        \
  }
CUMSUM_LINE(f32, float, double)
CUMSUM_LINE(f64, double, double)
CUMSUM_LINE(u32, uint32_t, uint32_t)
CUMSUM_LINE(u64, uint64_t, uint64_t)

static void cumsum_line_short(const cumsum_job *j, int64_t base) {
  double acc = j->product ? 1 : 0;
  for (int64_t i = 0; i < j->n; i++) {
    const int64_t at = base + (j->reverse ? j->n - 1 - i : i) * j->inner;
    const double v = tn_load_f64(j->dtype, j->x, at), next = j->product ? acc * v : acc + v;
    tn_store_f64(j->dtype, j->y, at, j->exclusive ? acc : next);
    acc = next;
  }
}
/* The lines of one block side by side, f32: rows are added to a row of sums. */
enum { CUMSUM_WIDTH = 512 };
static void cumsum_rows(const cumsum_job *j, int64_t base, int64_t width) {
  double acc[CUMSUM_WIDTH];
  for (int64_t c = 0; c < width; c++) acc[c] = j->product ? 1 : 0;
  for (int64_t i = 0; i < j->n; i++) {
    const int64_t at = base + (j->reverse ? j->n - 1 - i : i) * j->inner;
    const float *const x = (const float *)j->x + at;
    float *const y = (float *)j->y + at;
    for (int64_t c = 0; c < width; c++) {
      const double v = (double)x[c], next = j->product ? acc[c] * v : acc[c] + v;
      y[c] = (float)(j->exclusive ? acc[c] : next);
      acc[c] = next;
    }
  }
}
static void cumsum_task(void *arg, int64_t begin, int64_t end, int worker) {
  const cumsum_job *const j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const int64_t base = i / j->inner * j->n * j->inner + i % j->inner;
    int64_t width = j->inner - i % j->inner < end - i ? j->inner - i % j->inner : end - i;
    width = width < CUMSUM_WIDTH ? width : CUMSUM_WIDTH;
    if (j->dtype == TN_F32 && width > 1) {
      cumsum_rows(j, base, width);
      i += width - 1;
    } else if (j->dtype == TN_F32)
      cumsum_line_f32(j, base);
    else if (j->dtype == TN_F64)
      cumsum_line_f64(j, base);
    else if (j->dtype == TN_F16 || j->dtype == TN_BF16)
      cumsum_line_short(j, base);
    else if (j->dtype == TN_I32 || j->dtype == TN_U32)
      cumsum_line_u32(j, base);
    else
      cumsum_line_u64(j, base);
  }
}
static tn_status cumsum_kernel(tn_kcall *k, bool product) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  const tn_karg *const x = k->in[0];
  const uint64_t served = TN_SET_FLOATS | TN_SET(I32) | TN_SET(U32) | TN_SET(I64) | TN_SET(U64);
  int64_t axis64;
  int axis;
  if (!((served >> x->dtype) & 1)) return tn_k_no_dtype(k, 0);
  TN_TRY(tn_k_scalar(k, 1, 0, &axis64));
  TN_TRY(tn_k_axis(k, axis64, x->rank, &axis));
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  cumsum_job j = {.dtype = x->dtype, .x = x->data, .y = k->out[0]->data, .n = x->dims[axis], .product = product};
  j.inner = tn_k_count(x->dims, axis + 1, x->rank);
  j.reverse = tn_k_int(k, "reverse", 0) != 0;
  j.exclusive = tn_k_int(k, "exclusive", 0) != 0;
  if (x->count == 0) return TN_OK;
  tn_pool_for(k->pool, x->count / j.n, (j.inner > 1 ? 64 : 1) + 8192 / j.n, cumsum_task, &j);
  return TN_OK;
}
TN_KERNEL(cumsum, TN_K_SIZES) { return cumsum_kernel(k, false); }
TN_KERNEL(cumprod, TN_K_SIZES) { return cumsum_kernel(k, true); }

TN_KERNEL(reverse_sequence, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  TN_TRY(tn_k_int_type(k, 1));
  const tn_karg *const x = k->in[0];
  int64_t strides[TN_K_MAX_RANK];
  int time, batch;
  TN_TRY(tn_k_axis(k, tn_k_int(k, "time_axis", 0), x->rank, &time));
  TN_TRY(tn_k_axis(k, tn_k_int(k, "batch_axis", 1), x->rank, &batch));
  if (time == batch) return tn_k_fail(k, TN_INVALID, "time_axis and batch_axis are both %d", time);
  if (k->in[1]->count != x->dims[batch])
    return tn_k_fail(k, TN_MISMATCH, "%lld lengths for %lld batches", (long long)k->in[1]->count,
                     (long long)x->dims[batch]);
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  tn_k_strides(x->rank, x->dims, strides);
  for (int64_t b = 0; b < x->dims[batch]; b++) {
    const int64_t n = tn_k_i64(k->in[1], b), total = x->dims[time];
    if (n < 0 || n > total)
      return tn_k_fail(k, TN_MISMATCH, "length %lld of batch %lld is outside [0, %lld]", (long long)n, (long long)b,
                       (long long)total);
    for (int part = 0; part < 2; part++) { /* the reversed start, the rest */
      tn_move m = {.dtype = x->dtype, .rank = x->rank, .src = x->data, .dst = k->out[0]->data};
      const int64_t first = part == 0 ? 0 : n;
      for (int d = 0; d < x->rank; d++) {
        m.dims[d] = d == batch ? 1 : x->dims[d];
        m.to[d] = m.from[d] = strides[d];
      }
      m.dims[time] = part == 0 ? n : total - n;
      if (part == 0) m.from[time] = -strides[time];
      m.dst_at = b * strides[batch] + first * strides[time];
      m.src_at = b * strides[batch] + (part == 0 ? n - 1 : n) * strides[time];
      if (m.dims[time] > 0) tn_k_move(k->pool, &m);
    }
  }
  return TN_OK;
}
