/* Matrix products against plain sums in double. */
#include "kern/gemm.h"

#include "nn_call.h"

extern const tn_kernel tn_kernel_matmul, tn_kernel_gemm;

static double at(const tn_karg *a, int64_t i) { return nn_get(a, i); }

static void check_matmul(tn_dtype d, int64_t batch, int64_t m, int64_t n, int64_t k, bool shared, bool is_const) {
  nn_call c;
  nn_begin(&c);
  tn_karg *a = nn_in(&c, d, 3, (int64_t[]){batch, m, k});
  tn_karg *b = nn_in(&c, d, 3, (int64_t[]){shared ? 1 : batch, k, n});
  tn_karg *y = nn_out(&c, d, 3, (int64_t[]){batch, m, n});
  b->is_const = is_const;
  double *want = nn_hold(&c, (size_t)(y->count + 1) * sizeof *want);
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t col = i % n, row = i / n % m, z = i / n / m;
    want[i] = 0;
    for (int64_t p = 0; p < k; p++)
      want[i] += at(a, (z * m + row) * k + p) * at(b, ((shared ? 0 : z) * k + p) * n + col);
  }
  for (int run = 0; run < (is_const ? 2 : 1); run++)
    if (nn_run(&c, &tn_kernel_matmul)) nn_near(y, want, 1e-5, "matmul");
  nn_end(&c);
}

TEST(matmul_shapes) {
  static const int64_t sizes[][3] = {{1, 1, 1},   {1, 16, 5},  {1, 37, 300},  {2, 15, 3},    {6, 16, 256}, {7, 17, 257},
                                     {5, 33, 70}, {13, 31, 9}, {130, 40, 17}, {3, 1100, 11}, {0, 4, 3},    {4, 5, 0}};
  for (size_t i = 0; i < TN_COUNT(sizes); i++)
    for (int mode = 0; mode < 4; mode++)
      check_matmul(TN_F32, mode == 3 ? 3 : 1 + mode, sizes[i][0], sizes[i][1], sizes[i][2], mode & 1, mode < 2);
}

TEST(matmul_types) {
  const tn_dtype types[] = {TN_F64, TN_F16, TN_BF16, TN_I32, TN_U32, TN_I64, TN_U64};
  for (size_t i = 0; i < TN_COUNT(types); i++) {
    check_matmul(types[i], 2, 3, 5, 4, false, false);
    check_matmul(types[i], 2, 3, 5, 4, true, true);
  }
}

/* Every level this CPU has gives the same products. */
static void check_level(const tn_gemm_isa *isa) {
  enum { M = 29, N = 70, K = 261 };
  static float a[M * K], b[K * N], y[M * N], bias[N], packed_a[M * K];
  for (int i = 0; i < M * K; i++) a[i] = (float)(i * 7 % 23 - 11) / 8;
  for (int i = 0; i < K * N; i++) b[i] = (float)(i * 5 % 19 - 9) / 8;
  for (int i = 0; i < N; i++) bias[i] = (float)i;
  tn_gemm_pack_a(isa, packed_a, a, K, 1, M, K, 2.0f);
  for (int start = TN_START_ZERO; start <= TN_START_COL; start++) {
    tn_gemm g = {.m = M, .n = N, .k = K, .a_packed = packed_a, .b = b, .b_rs = N, .b_cs = 1, .c = y, .ldc = N};
    g.start = start;
    g.bias = bias;
    int64_t floats;
    if (!CHECK(tn_gemm_work(isa, &g, 1, &floats))) return;
    float *work = aligned_alloc(64, ((size_t)floats * sizeof *work + 63) / 64 * 64);
    for (int i = 0; i < M * N; i++) y[i] = 3.0f;
    tn_gemm_run(isa, &g, NULL, work);
    free(work);
    for (int i = 0; i < M * N; i++) {
      const double starts[] = {0, 3, (double)bias[i / N], (double)bias[i % N]};
      double sum = starts[start];
      for (int p = 0; p < K; p++) sum += 2.0 * (double)a[i / N * K + p] * (double)b[p * N + i % N];
      if (fabs(sum - (double)y[i]) > 1e-3) {
        CHECK_NEAR(y[i], sum, 1e-3);
        return;
      }
    }
  }
}

TEST(levels) {
  check_level(&tn_gemm_isa_v1);
#if defined(__x86_64__)
  if (tn_cpu_level() >= 3) check_level(&tn_gemm_isa_v3);
  if (tn_cpu_level() >= 4) check_level(&tn_gemm_isa_v4);
#endif
}

static void check_gemm(tn_dtype d, bool ta, bool tb, int c_kind, double alpha, double beta) {
  enum { M = 7, N = 19, K = 12 };
  nn_call c;
  nn_begin(&c);
  const tn_karg *a = nn_in(&c, d, 2, ta ? (int64_t[]){K, M} : (int64_t[]){M, K});
  const tn_karg *b = nn_in(&c, d, 2, tb ? (int64_t[]){N, K} : (int64_t[]){K, N});
  static const int64_t c_dims[][2] = {{1, N}, {M, 1}, {M, N}};
  const tn_karg *z = c_kind < 0   ? nn_in(&c, d, 0, NULL)
                     : c_kind < 3 ? nn_in(&c, d, 2, c_dims[c_kind])
                     : c_kind < 4 ? nn_in(&c, d, 1, (int64_t[]){N})
                                  : nn_in(&c, d, 0, (int64_t[]){0});
  tn_karg *y = nn_out(&c, d, 2, (int64_t[]){M, N});
  nn_int(&c, "transA", ta);
  nn_int(&c, "transB", tb);
  nn_float(&c, "alpha", alpha);
  nn_float(&c, "beta", beta);
  double want[M * N];
  for (int i = 0; i < M * N; i++) {
    const int row = i / N, col = i % N;
    want[i] = 0;
    for (int p = 0; p < K; p++)
      want[i] += at(a, ta ? p * M + row : row * K + p) * at(b, tb ? col * K + p : p * N + col);
    const int64_t where[] = {col, row, i, col, 0};
    want[i] = alpha * want[i] + (z ? beta * at(z, where[c_kind]) : 0);
    if (d == TN_I32) want[i] = trunc(want[i]);
  }
  if (nn_run(&c, &tn_kernel_gemm)) nn_near(y, want, 1e-5, "gemm");
  nn_end(&c);
}

TEST(gemm_forms) {
  for (int form = 0; form < 4; form++)
    for (int kind = -1; kind < 5; kind++) {
      check_gemm(TN_F32, form & 1, form & 2, kind, 1, 1);
      check_gemm(TN_F32, form & 1, form & 2, kind, 0.5, 0.25);
      check_gemm(TN_F64, form & 1, form & 2, kind, 0.5, 0.25);
      check_gemm(TN_I32, form & 1, form & 2, kind, 1, 1);
      check_gemm(TN_F16, form & 1, form & 2, kind, 1, 0.5);
    }
}
