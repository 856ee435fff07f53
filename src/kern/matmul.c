/* MatMul and Gemm. f32 goes through the register tiles; f64 and integers through plain loops over rows. */
#include <string.h>

#include "kern/gemm.h"
#include "kern/line.h"
#include "kern/shadow.h"

typedef struct matmul_shape { /* C[batch][m, n] = A[batch][m, k] * B[batch][k, n] */
  int rank;                   /* of the batch dims */
  int64_t dims[TN_K_MAX_RANK], a_step[TN_K_MAX_RANK], b_step[TN_K_MAX_RANK]; /* steps in matrices */
  int64_t batch, m, n, k;
} matmul_shape;

/* Steps, in matrices, of an operand's batch dims read as (rank, dims). */
static void matmul_steps(const tn_karg *a, int own, int rank, int64_t *out) {
  int64_t step = 1;
  for (int i = rank - 1; i >= 0; i--) {
    const int j = i - (rank - own);
    out[i] = j < 0 || a->dims[j] == 1 ? 0 : step;
    if (j >= 0) step *= a->dims[j];
  }
}

static tn_status matmul_read(tn_kcall *k, matmul_shape *s) {
  const tn_karg *a = k->in[0], *b = k->in[1];
  const int ra = a->rank, rb = b->rank;
  if (ra < 1 || rb < 1) return tn_k_fail(k, TN_MISMATCH, "a matrix product needs operands of rank 1 or more");
  s->m = ra > 1 ? a->dims[ra - 2] : 1;
  s->k = a->dims[ra - 1];
  s->n = rb > 1 ? b->dims[rb - 1] : 1;
  const int64_t kb = rb > 1 ? b->dims[rb - 2] : b->dims[0];
  if (kb != s->k)
    return tn_k_fail(k, TN_MISMATCH, "cannot multiply: %lld columns by %lld rows", (long long)s->k, (long long)kb);
  const int ba = ra > 2 ? ra - 2 : 0, bb = rb > 2 ? rb - 2 : 0;
  s->rank = ba > bb ? ba : bb;
  s->batch = 1;
  for (int i = 0; i < s->rank; i++) {
    const int ja = i - (s->rank - ba), jb = i - (s->rank - bb);
    const int64_t da = ja < 0 ? 1 : a->dims[ja], db = jb < 0 ? 1 : b->dims[jb];
    if (da != db && da != 1 && db != 1)
      return tn_k_fail(k, TN_MISMATCH, "cannot broadcast dim %d: %lld with %lld", i, (long long)da, (long long)db);
    s->dims[i] = da == 1 ? db : da;
    if (!tn_mul_i64(s->batch, s->dims[i], &s->batch)) return tn_k_fail(k, TN_LIMIT, "too many matrices");
  }
  matmul_steps(a, ba, s->rank, s->a_step);
  matmul_steps(b, bb, s->rank, s->b_step);
  return TN_OK;
}

static tn_status matmul_size(tn_kcall *k) {
  matmul_shape s;
  int64_t dims[TN_K_MAX_RANK + 2];
  TN_TRY(matmul_read(k, &s));
  int rank = s.rank;
  memcpy(dims, s.dims, (size_t)rank * sizeof *dims);
  if (k->in[0]->rank > 1) dims[rank++] = s.m;
  if (k->in[1]->rank > 1) dims[rank++] = s.n;
  return tn_k_out(k, 0, rank, dims);
}

/* Numbers of the matrices of A and B that make matrix i of the result. */
static void matmul_at(const matmul_shape *s, int64_t i, int64_t *a, int64_t *b) {
  *a = *b = 0;
  for (int d = s->rank - 1; d >= 0; d--) {
    const int64_t x = i % s->dims[d];
    i /= s->dims[d];
    *a += x * s->a_step[d];
    *b += x * s->b_step[d];
  }
}

/* All rows of A times one B: a single product. */
static void matmul_fold(const tn_kcall *k, matmul_shape *s) {
  if (s->batch <= 1) return;
  for (int i = 0; i < s->rank; i++)
    if (s->b_step[i] != 0 && s->dims[i] != 1) return;
  if (s->batch * s->m * s->k != k->in[0]->count) return;
  s->m *= s->batch;
  s->batch = 1;
  s->rank = 0;
}

typedef struct matmul_job {
  const tn_gemm_isa *isa;
  const matmul_shape *s;
  tn_gemm g;
  const float *a, *b;
  float *c, *work;
  int64_t work_floats;
} matmul_job;

static void matmul_task(void *arg, int64_t begin, int64_t end, int worker) {
  const matmul_job *j = arg;
  const matmul_shape *s = j->s;
  for (int64_t i = begin; i < end; i++) {
    tn_gemm g = j->g;
    int64_t at_a, at_b;
    matmul_at(s, i, &at_a, &at_b);
    g.a = j->a + at_a * s->m * s->k;
    g.b = j->b + at_b * s->k * s->n;
    g.c = j->c + i * s->m * s->n;
    tn_gemm_run(j->isa, &g, NULL, j->work + worker * j->work_floats);
  }
}

/* One product whose B may be kept packed. */
static tn_status matmul_single(tn_kcall *k, tn_gemm *g) {
  const tn_gemm_isa *isa = tn_gemm_isa_get();
  bool fresh = false;
  int64_t n_packed;
  if (!tn_mul_i64(g->k, tn_gemm_b_columns(isa, g->n), &n_packed)) return tn_k_fail(k, TN_LIMIT, "matrix too large");
  float *packed = tn_gemm_keep(k, k->in[1], 0, n_packed, &fresh);
  if (packed) {
    if (fresh) tn_gemm_pack_b(isa, packed, g->b, g->b_rs, g->b_cs, g->k, g->n);
    g->b_packed = packed;
  }
  int64_t n;
  void *work;
  if (!tn_gemm_work(isa, g, tn_pool_threads(k->pool), &n)) return tn_k_fail(k, TN_LIMIT, "matrix too large");
  TN_TRY(tn_k_scratch_array(k, n, sizeof(float), &work));
  tn_gemm_run(isa, g, k->pool, work);
  return TN_OK;
}

/* One row times a matrix: rows of b, four at a time, are added to the result as they lie in memory. */
typedef struct matmul_row_job {
  const float *a, *b;
  float *c;
  int64_t n, k;
} matmul_row_job;
static void matmul_row_task(void *arg, int64_t begin, int64_t end, int worker) {
  const matmul_row_job *const j = arg;
  const int64_t n = end - begin;
  float *restrict const c = j->c + begin;
  (void)worker;
  for (int64_t i = 0; i < n; i++) c[i] = 0;
  int64_t p = 0;
  for (; p + 4 <= j->k; p += 4) {
    const float *const b = j->b + p * j->n + begin;
    const float *const b1 = b + j->n, *const b2 = b1 + j->n, *const b3 = b2 + j->n;
    const float x0 = j->a[p], x1 = j->a[p + 1], x2 = j->a[p + 2], x3 = j->a[p + 3];
    for (int64_t i = 0; i < n; i++) c[i] += (x0 * b[i] + x1 * b1[i]) + (x2 * b2[i] + x3 * b3[i]);
  }
  for (; p < j->k; p++)
    for (int64_t i = 0; i < n; i++) c[i] += j->a[p] * j->b[p * j->n + begin + i];
}

static tn_status matmul_f32(tn_kcall *k) {
  matmul_shape s;
  TN_TRY(matmul_read(k, &s));
  if (k->out[0]->count == 0) return TN_OK;
  matmul_fold(k, &s);
  matmul_job j = {.isa = tn_gemm_isa_get(), .s = &s, .a = k->in[0]->data, .b = k->in[1]->data};
  j.c = k->out[0]->data;
  j.g = (tn_gemm){.m = s.m, .n = s.n, .k = s.k, .a_rs = s.k, .a_cs = 1, .b_rs = s.n, .b_cs = 1, .ldc = s.n, .alpha = 1};
  if (s.batch == 1) {
    j.g.a = j.a;
    j.g.b = j.b;
    j.g.c = j.c;
    if (s.m == 1) {
      matmul_row_job row = {j.a, j.b, j.c, s.n, s.k};
      tn_pool_for(k->pool, s.n, 1024, matmul_row_task, &row);
      return TN_OK;
    }
    return matmul_single(k, &j.g);
  }
  int64_t n;
  void *work;
  const int threads = tn_pool_threads(k->pool);
  if (!tn_gemm_work(j.isa, &j.g, 1, &j.work_floats) || !tn_mul_i64(j.work_floats, threads, &n))
    return tn_k_fail(k, TN_LIMIT, "matrix too large");
  TN_TRY(tn_k_scratch_array(k, n, sizeof(float), &work));
  j.work = work;
  tn_pool_for(k->pool, s.batch, 1, matmul_task, &j);
  return TN_OK;
}

/* Plain product of one pair of matrices; integers wrap. ADD_4(y, x, b, n) adds four rows of b times x to y. */
#define MATMUL_PLAIN(T, NAME, ADD_4)                                                 \
  static void NAME(const T *a, const T *b, T *c, int64_t m, int64_t n, int64_t kk) { \
    for (int64_t i = 0; i < m; i++) {                                                \
      T *restrict const row = c + i * n;                                             \
      int64_t p = 0;                                                                 \
      memset(row, 0, (size_t)n * sizeof *row);                                       \
      for (; p + 4 <= kk; p += 4) ADD_4(row, a + i * kk + p, b + p * n, n);          \
      for (; p < kk; p++)                                                            \
        for (int64_t j = 0; j < n; j++) row[j] += a[i * kk + p] * b[p * n + j];      \
    }                                                                                \
  }
#define MATMUL_ADD_4(y, x, b, n)    \
  for (int64_t j = 0; j < (n); j++) \
  (y)[j] += ((x)[0] * (b)[j] + (x)[1] * (b)[(n) + j]) + ((x)[2] * (b)[2 * (n) + j] + (x)[3] * (b)[3 * (n) + j])
MATMUL_PLAIN(double, matmul_plain_f64, tn_line_isa_get()->add_4_rows)
MATMUL_PLAIN(uint32_t, matmul_plain_u32, MATMUL_ADD_4)
MATMUL_PLAIN(uint64_t, matmul_plain_u64, MATMUL_ADD_4)
#undef MATMUL_PLAIN
#undef MATMUL_ADD_4

static void matmul_plain(tn_dtype d, const void *a, int64_t ia, const void *b, int64_t ib, void *c, int64_t ic,
                         const matmul_shape *s) {
  const int64_t oa = ia * s->m * s->k, ob = ib * s->k * s->n, oc = ic * s->m * s->n;
  if (d == TN_F64)
    matmul_plain_f64((const double *)a + oa, (const double *)b + ob, (double *)c + oc, s->m, s->n, s->k);
  else if (tn_dtype_bits(d) == 32)
    matmul_plain_u32((const uint32_t *)a + oa, (const uint32_t *)b + ob, (uint32_t *)c + oc, s->m, s->n, s->k);
  else
    matmul_plain_u64((const uint64_t *)a + oa, (const uint64_t *)b + ob, (uint64_t *)c + oc, s->m, s->n, s->k);
}

typedef struct matmul_plain_job {
  const tn_kcall *k;
  const matmul_shape *s;
} matmul_plain_job;

static void matmul_plain_task(void *arg, int64_t begin, int64_t end, int worker) {
  const matmul_plain_job *j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    int64_t at_a, at_b;
    matmul_at(j->s, i, &at_a, &at_b);
    matmul_plain(j->k->in[0]->dtype, j->k->in[0]->data, at_a, j->k->in[1]->data, at_b, j->k->out[0]->data, i, j->s);
  }
}

static tn_status matmul_other(tn_kcall *k) {
  matmul_shape s;
  TN_TRY(matmul_read(k, &s));
  if (k->out[0]->count == 0) return TN_OK;
  matmul_plain_job j = {k, &s};
  tn_pool_for(k->pool, s.batch, 1, matmul_plain_task, &j);
  return TN_OK;
}

TN_KERNEL(matmul, TN_K_SIZES) {
  TN_TRY(matmul_size(k));

  switch (k->in[0]->dtype) {
    case TN_I32:
    case TN_U32:
    case TN_I64:
    case TN_U64:
      return matmul_other(k);
    default:
      return tn_k_by_float(k, matmul_f32, matmul_other);
  }
}

typedef struct gemm_op { /* Y[m, n] = alpha * A' * B' + beta * C */
  bool trans_a, trans_b;
  double alpha, beta;
  int64_t m, n, k;
  int64_t c_step[2]; /* element steps of C over rows and columns */
} gemm_op;

static tn_status gemm_op_read(tn_kcall *k, gemm_op *s) {
  const tn_karg *a = k->in[0], *b = k->in[1], *c = tn_k_in(k, 2);
  if (a->rank != 2 || b->rank != 2) return tn_k_fail(k, TN_MISMATCH, "gemm needs operands of rank 2");
  s->trans_a = tn_k_int(k, "transA", 0) != 0;
  s->trans_b = tn_k_int(k, "transB", 0) != 0;
  s->alpha = tn_k_float(k, "alpha", 1.0);
  s->beta = tn_k_float(k, "beta", 1.0);
  s->m = a->dims[s->trans_a];
  s->k = a->dims[!s->trans_a];
  s->n = b->dims[!s->trans_b];
  const int64_t kb = b->dims[s->trans_b];
  if (kb != s->k)
    return tn_k_fail(k, TN_MISMATCH, "cannot multiply: %lld columns by %lld rows", (long long)s->k, (long long)kb);
  s->c_step[0] = s->c_step[1] = 0;
  if (!c) return TN_OK;
  const int64_t rows = c->rank > 1 ? c->dims[0] : 1, columns = c->rank > 0 ? c->dims[c->rank - 1] : 1;
  if (c->rank > 2 || (rows != 1 && rows != s->m) || (columns != 1 && columns != s->n))
    return tn_k_fail(k, TN_MISMATCH, "cannot broadcast c to %lld x %lld", (long long)s->m, (long long)s->n);
  if (rows != 1) s->c_step[0] = columns;
  if (columns != 1) s->c_step[1] = 1;
  return TN_OK;
}

enum { GEMM_OP_NARROW = 4 };

/* Rows of few columns whose factors lie contiguous: tiles would be filled with zeros mostly. */
static void gemm_op_narrow(void *arg, int64_t begin, int64_t end, int worker) {
  const tn_gemm *const g = arg;
  const tn_gemm_isa *const isa = tn_gemm_isa_get();
  (void)worker;
  for (int64_t i = begin; i < end; i++)
    for (int64_t j = 0; j < g->n; j++) {
      float *const y = g->c + i * g->ldc + j;
      const float start = g->start == TN_START_COL ? g->bias[j] : g->start == TN_START_ACC ? *y : 0.0f;
      *y = start + g->alpha * isa->dot(g->a + i * g->a_rs, g->b + j * g->b_cs, g->k);
    }
}

static tn_status gemm_op_f32(tn_kcall *k) {
  gemm_op s;
  TN_TRY(gemm_op_read(k, &s));
  const float *c = tn_k_f32(tn_k_in(k, 2));
  float *y = k->out[0]->data;
  tn_gemm g = {.m = s.m, .n = s.n, .k = s.k, .a = k->in[0]->data, .b = k->in[1]->data, .c = y, .ldc = s.n};
  g.alpha = (float)s.alpha;
  g.a_rs = s.trans_a ? 1 : s.k;
  g.a_cs = s.trans_a ? s.m : 1;
  g.b_rs = s.trans_b ? 1 : s.n;
  g.b_cs = s.trans_b ? s.k : 1;
  if (c && s.beta == 1.0 && s.c_step[0] == 0 && s.c_step[1] == 1) {
    g.start = TN_START_COL;
    g.bias = c;
  } else if (c && s.beta != 0.0) {
    g.start = TN_START_ACC;
    for (int64_t i = 0; i < s.m; i++)
      for (int64_t j = 0; j < s.n; j++) y[i * s.n + j] = (float)s.beta * c[i * s.c_step[0] + j * s.c_step[1]];
  }
  if (s.m == 0 || s.n == 0) return TN_OK;
  if (s.n <= GEMM_OP_NARROW && s.trans_b && !s.trans_a) {
    tn_pool_for(k->pool, s.m, 1 + 16384 / (s.k + 1), gemm_op_narrow, &g);
    return TN_OK;
  }
  return matmul_single(k, &g);
}

/* alpha and beta are floats also for integers, as in the reference: the sum is rounded toward zero once. */
static tn_status gemm_op_other(tn_kcall *k) {
  gemm_op s;
  TN_TRY(gemm_op_read(k, &s));
  const tn_karg *a = k->in[0], *b = k->in[1], *c = tn_k_in(k, 2);
  tn_karg *y = k->out[0];
  const bool is_int = tn_dtype_is_int(a->dtype);
  for (int64_t i = 0; i < s.m; i++)
    for (int64_t j = 0; j < s.n; j++) {
      double sum = 0;
      uint64_t whole = 0;
      for (int64_t p = 0; p < s.k; p++) {
        const int64_t ia = s.trans_a ? p * s.m + i : i * s.k + p, ib = s.trans_b ? j * s.k + p : p * s.n + j;
        if (is_int)
          whole += (uint64_t)tn_k_i64(a, ia) * (uint64_t)tn_k_i64(b, ib);
        else
          sum += ((const double *)a->data)[ia] * ((const double *)b->data)[ib];
      }
      const int64_t ic = i * s.c_step[0] + j * s.c_step[1];
      if (is_int && s.alpha == 1.0 && s.beta == 1.0) {
        if (c) whole += (uint64_t)tn_k_i64(c, ic);
        tn_store_i64(y->dtype, y->data, i * s.n + j, (int64_t)whole);
        continue;
      }
      if (is_int) sum = (double)(int64_t)whole;
      sum *= s.alpha;
      if (c && s.beta != 0.0) sum += s.beta * tn_load_f64(c->dtype, c->data, ic);
      tn_store_f64(y->dtype, y->data, i * s.n + j, sum);
    }
  return TN_OK;
}

TN_KERNEL(gemm, TN_K_SIZES) {
  gemm_op s;
  TN_TRY(gemm_op_read(k, &s));
  TN_TRY(tn_k_out(k, 0, 2, (const int64_t[]){s.m, s.n}));

  switch (k->in[0]->dtype) {
    case TN_I32:
    case TN_U32:
    case TN_I64:
    case TN_U64:
      return gemm_op_other(k);
    default:
      return tn_k_by_float(k, gemm_op_f32, gemm_op_other);
  }
}
