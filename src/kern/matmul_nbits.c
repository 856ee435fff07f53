/* MatMulNBits: rows of b are unpacked to floats where they are used, a few columns of the result at a time. */
#include "kern/gemm.h"
#include "kern/move.h"
#include "kern/shadow.h"

enum { NBITS_COLUMNS = 64 };

typedef struct nbits_job {
  const tn_gemm_isa *isa;
  const float *a, *scales, *float_zero, *bias;
  const uint8_t *b, *zero;
  const int32_t *group; /* the block of each row of the matrix; NULL: in order */
  float *y, *work;
  int64_t m, n, k, block, blocks, work_floats;
  int bits;
} nbits_job;

static float nbits_zero(const nbits_job *j, int64_t row, int64_t at) {
  if (j->float_zero) return j->float_zero[row * j->blocks + at];
  if (!j->zero) return (float)(1 << (j->bits - 1));
  const int64_t bit = at * j->bits;
  const int byte = j->zero[row * ((j->blocks * j->bits + 7) / 8) + bit / 8];
  return (float)(byte >> (bit % 8) & ((1 << j->bits) - 1));
}

static int nbits_code(const nbits_job *j, const uint8_t *codes, int64_t i) {
  return codes[i * j->bits / 8] >> (i * j->bits % 8) & ((1 << j->bits) - 1);
}

static void nbits_halves(const uint8_t *restrict codes, int64_t bytes, float zero, float scale, float *restrict out) {
  for (int64_t i = 0; i < bytes; i++) {
    out[2 * i] = ((float)(codes[i] & 15) - zero) * scale;
    out[2 * i + 1] = ((float)(codes[i] >> 4) - zero) * scale;
  }
}

static void nbits_unpack(const nbits_job *j, int64_t row, float *restrict out) {
  const uint8_t *restrict const codes = j->b + row * (j->blocks * j->block * j->bits / 8);
  for (int64_t i = 0; j->group && i < j->k; i++) {
    const int64_t at = j->group[i];
    out[i] = ((float)nbits_code(j, codes, i) - nbits_zero(j, row, at)) * j->scales[row * j->blocks + at];
  }
  if (j->group) return;
  for (int64_t at = 0; at < j->blocks; at++) {
    const float scale = j->scales[row * j->blocks + at], zero = nbits_zero(j, row, at);
    const int64_t end = (at + 1) * j->block < j->k ? (at + 1) * j->block : j->k;
    int64_t i = at * j->block;
    if (j->bits == 4) { /* blocks begin on a byte */
      const int64_t bytes = (end - i) / 2;
      nbits_halves(codes + i / 2, bytes, zero, scale, out + i);
      i += 2 * bytes;
    }
    for (; i < end; i++) out[i] = ((float)nbits_code(j, codes, i) - zero) * scale;
  }
}

static void nbits_task(void *arg, int64_t begin, int64_t end, int worker) {
  const nbits_job *const j = arg;
  float *const rows = j->work + worker * j->work_floats, *const work = rows + NBITS_COLUMNS * j->k;
  for (int64_t t = begin; t < end; t++) {
    const int64_t c0 = t * NBITS_COLUMNS, n = j->n - c0 < NBITS_COLUMNS ? j->n - c0 : NBITS_COLUMNS;
    for (int64_t c = 0; c < n; c++) nbits_unpack(j, c0 + c, rows + c * j->k);
    if (j->m < 4) {
      for (int64_t i = 0; i < j->m; i++)
        for (int64_t c = 0; c < n; c++)
          j->y[i * j->n + c0 + c] =
              j->isa->dot(j->a + i * j->k, rows + c * j->k, j->k) + (j->bias ? j->bias[c0 + c] : 0);
      continue;
    }
    const tn_gemm g = {.m = j->m,
                       .n = n,
                       .k = j->k,
                       .a = j->a,
                       .a_rs = j->k,
                       .a_cs = 1,
                       .b = rows,
                       .b_rs = 1,
                       .b_cs = j->k,
                       .alpha = 1,
                       .c = j->y + c0,
                       .ldc = j->n,
                       .start = j->bias ? TN_START_COL : TN_START_ZERO,
                       .bias = j->bias ? j->bias + c0 : NULL};
    tn_gemm_run(j->isa, &g, NULL, work);
  }
}

static tn_status nbits_read_group(tn_kcall *k, nbits_job *j) {
  const tn_karg *const group = tn_k_in(k, 4);
  if (!group) return TN_OK;
  if (group->dtype != TN_I32 || group->count < j->k)
    return tn_k_fail(k, TN_MISMATCH, "g_idx has %lld elements, expected %lld", (long long)group->count,
                     (long long)j->k);
  j->group = group->data;
  for (int64_t i = 0; i < j->k; i++)
    if (j->group[i] < 0 || j->group[i] >= j->blocks)
      return tn_k_fail(k, TN_MISMATCH, "g_idx %lld is %d of %lld blocks", (long long)i, j->group[i],
                       (long long)j->blocks);
  return TN_OK;
}

static tn_status nbits_f32(tn_kcall *k) {
  const tn_karg *const a = k->in[0], *const zero = tn_k_in(k, 3), *const bias = tn_k_in(k, 5);
  nbits_job j = {.isa = tn_gemm_isa_get(), .a = a->data, .b = k->in[1]->data, .scales = k->in[2]->data};
  j.y = k->out[0]->data;
  j.n = tn_k_int(k, "N", 0);
  j.k = tn_k_int(k, "K", 0);
  j.bits = (int)tn_k_int(k, "bits", 4);
  j.block = tn_k_int(k, "block_size", 0);
  j.blocks = (j.k + j.block - 1) / j.block;
  j.bias = tn_k_f32(bias);
  TN_TRY(nbits_read_group(k, &j));
  if (zero && zero->dtype == TN_U8) j.zero = zero->data;
  if (zero && zero->dtype == TN_F32) j.float_zero = zero->data;
  if (k->in[1]->dtype != TN_U8 || k->in[1]->count < j.n * (j.blocks * j.block * j.bits / 8) ||
      k->in[2]->count < j.n * j.blocks || (bias && bias->count < j.n) || (zero && !j.zero && !j.float_zero) ||
      (j.zero && zero->count < j.n * ((j.blocks * j.bits + 7) / 8)) || (j.float_zero && zero->count < j.n * j.blocks))
    return tn_k_fail(k, TN_MISMATCH, "the operands of the product do not fit each other");
  j.m = a->count / j.k;
  const tn_gemm one = {.m = j.m, .n = NBITS_COLUMNS, .k = j.k, .b_cs = 2};
  int64_t all;
  if (!tn_gemm_work(j.isa, &one, 1, &j.work_floats) ||
      !tn_add_i64(j.work_floats, NBITS_COLUMNS * j.k + 32, &j.work_floats))
    return tn_k_fail(k, TN_LIMIT, "matrix too large");
  j.work_floats = j.work_floats / 16 * 16;
  if (!tn_mul_i64(j.work_floats, tn_pool_threads(k->pool), &all)) return tn_k_fail(k, TN_LIMIT, "matrix too large");
  void *room;
  TN_TRY(tn_k_scratch_array(k, all, sizeof(float), &room));
  j.work = room;
  tn_pool_for(k->pool, (j.n + NBITS_COLUMNS - 1) / NBITS_COLUMNS, 1, nbits_task, &j);
  return TN_OK;
}
static tn_status nbits_f64(tn_kcall *k) { return tn_k_no_dtype(k, 0); }

TN_KERNEL(matmul_nbits, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 3, 1));
  const tn_karg *const a = k->in[0];
  const int64_t n = tn_k_int(k, "N", 0), width = tn_k_int(k, "K", 0), bits = tn_k_int(k, "bits", 4);
  if (n < 1 || width < 1 || n > INT32_MAX || width > INT32_MAX || tn_k_int(k, "block_size", 0) < 16 ||
      tn_k_int(k, "block_size", 0) > INT32_MAX || (bits != 2 && bits != 4 && bits != 8) || a->rank < 1 ||
      a->dims[a->rank - 1] != width)
    return tn_k_fail(k, TN_MISMATCH, "the operands of the product do not fit each other");
  int64_t dims[TN_K_MAX_RANK];
  for (int d = 0; d < a->rank; d++) dims[d] = a->dims[d];
  dims[a->rank - 1] = n;
  TN_TRY(tn_k_out(k, 0, a->rank, dims));
  return tn_k_by_float(k, nbits_f32, nbits_f64);
}
