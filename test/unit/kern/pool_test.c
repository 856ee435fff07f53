/* Pools and normalisations against plain sums in double. */
#include "nn_call.h"

extern const tn_kernel tn_kernel_max_pool, tn_kernel_average_pool, tn_kernel_lp_pool, tn_kernel_global_average_pool,
    tn_kernel_layer_norm, tn_kernel_batch_norm, tn_kernel_instance_norm, tn_kernel_group_norm, tn_kernel_lrn;

typedef struct pool_case {
  int64_t in[2], kernel[2], stride[2], dilation[2], pads[4], out[2];
  bool ceil_mode;
} pool_case;

/* out: by hand from floor or ceil((in + pads - extent) / stride) + 1, the last window starting before the end pad. */
static const pool_case cases[] = {
    {{7, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {4, 5}, false},
    {{8, 8}, {2, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {4, 4}, true}, /* ceil((8 - 3) / 2) + 1 = 4 */
    {{2, 4}, {3, 1}, {3, 2}, {1, 1}, {1, 0, 1, 0}, {1, 2}, true}, /* the window at 3 of 1 + 2 is dropped */
    {{9, 10}, {2, 3}, {1, 2}, {3, 2}, {0, 2, 1, 1}, {7, 5}, false},
    {{5, 6}, {2, 2}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {2, 3}, true}, /* 5: ceil(5 / 3) + 1 = 3, but 6 starts in the pad */
    {{1, 33}, {1, 4}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 30}, false},
};

/* kind: 0 maximum, 1 average inside, 2 average of the padded input, 3 Euclidean norm */
static double pool_value(const pool_case *t, const tn_karg *x, int64_t plane, int64_t oy, int64_t ox, int kind,
                         int64_t *where) {
  double most = -HUGE_VAL, sum = 0, squares = 0, inside = 0, padded = 0;
  for (int64_t ky = 0; ky < t->kernel[0]; ky++)
    for (int64_t kx = 0; kx < t->kernel[1]; kx++) {
      const int64_t y = oy * t->stride[0] + ky * t->dilation[0] - t->pads[0];
      const int64_t z = ox * t->stride[1] + kx * t->dilation[1] - t->pads[1];
      if (y < t->in[0] + t->pads[2] && z < t->in[1] + t->pads[3]) padded++;
      if (y < 0 || z < 0 || y >= t->in[0] || z >= t->in[1]) continue;
      const int64_t at = (plane * t->in[0] + y) * t->in[1] + z;
      const double v = nn_get(x, at);
      if (v > most) {
        most = v;
        *where = at;
      }
      inside++;
      sum += v;
      squares += v * v;
    }
  return kind == 0 ? most : kind == 1 ? sum / inside : kind == 2 ? sum / padded : sqrt(squares);
}

static void check_pool(const pool_case *t, tn_dtype d, int kind, bool indices) {
  static const tn_kernel *const kernels[] = {&tn_kernel_max_pool, &tn_kernel_average_pool, &tn_kernel_average_pool,
                                             &tn_kernel_lp_pool};
  nn_call c;
  nn_begin(&c);
  const tn_karg *x = nn_in(&c, d, 4, (int64_t[]){2, 3, t->in[0], t->in[1]});
  const int64_t dims[] = {2, 3, t->out[0], t->out[1]};
  tn_karg *y = nn_out(&c, d, 4, dims), *index = indices ? nn_out(&c, TN_I64, 4, dims) : NULL;
  nn_ints(&c, "kernel_shape", 2, t->kernel);
  nn_ints(&c, "strides", 2, t->stride);
  nn_ints(&c, "dilations", 2, t->dilation);
  nn_ints(&c, "pads", 4, t->pads);
  nn_int(&c, "ceil_mode", t->ceil_mode);
  nn_int(&c, "count_include_pad", kind == 2);
  double *want = nn_hold(&c, (size_t)(y->count + 1) * sizeof *want);
  int64_t *where = nn_hold(&c, (size_t)(y->count + 1) * sizeof *where);
  for (int64_t i = 0; i < y->count; i++)
    want[i] = pool_value(t, x, i / (t->out[0] * t->out[1]), i / t->out[1] % t->out[0], i % t->out[1], kind, &where[i]);
  if (nn_run(&c, kernels[kind])) nn_near(y, want, 1e-6, kernels[kind]->name);
  for (int64_t i = 0; index && i < index->count; i++)
    if (!CHECK_EQ_I(tn_k_i64(index, i), where[i])) break;
  nn_end(&c);
}

TEST(windows) {
  for (size_t i = 0; i < TN_COUNT(cases); i++)
    for (int kind = 0; kind < 4; kind++) {
      check_pool(&cases[i], TN_F32, kind, false);
      check_pool(&cases[i], TN_F64, kind, kind == 0);
      check_pool(&cases[i], TN_F16, kind, false);
    }
}

TEST(max_of_bytes) {
  check_pool(&cases[0], TN_I8, 0, false);
  check_pool(&cases[0], TN_U8, 0, true);
}

/* Columns first: index of (y, x) in a plane of h rows is x * h + y. */
TEST(column_major_indices) {
  nn_call c;
  nn_begin(&c);
  tn_karg *x = nn_in(&c, TN_F32, 4, (int64_t[]){1, 1, 2, 3});
  nn_out(&c, TN_F32, 4, (int64_t[]){1, 1, 1, 2});
  const tn_karg *index = nn_out(&c, TN_I64, 4, (int64_t[]){1, 1, 1, 2});
  memcpy(x->data, (float[]){1, 2, 7, 5, 3, 4}, 24);
  nn_ints(&c, "kernel_shape", 2, (int64_t[]){2, 2});
  nn_int(&c, "storage_order", 1);
  if (nn_run(&c, &tn_kernel_max_pool)) {
    CHECK_EQ_I(tn_k_i64(index, 0), 1); /* 5 at (1, 0) */
    CHECK_EQ_I(tn_k_i64(index, 1), 4); /* 7 at (0, 2) */
  }
  nn_end(&c);
}

TEST(global_average) {
  nn_call c;
  nn_begin(&c);
  const tn_karg *x = nn_in(&c, TN_F32, 4, (int64_t[]){2, 5, 7, 9});
  tn_karg *y = nn_out(&c, TN_F32, 4, (int64_t[]){2, 5, 1, 1});
  double want[10] = {0};
  for (int64_t i = 0; i < x->count; i++) want[i / 63] += nn_get(x, i) / 63;
  if (nn_run(&c, &tn_kernel_global_average_pool)) nn_near(y, want, 1e-6, "mean");
  nn_end(&c);
}

static void moments(const tn_karg *x, int64_t from, int64_t n, double *mean, double *inv) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) sum += nn_get(x, from + i);
  *mean = sum / (double)n;
  for (int64_t i = 0; i < n; i++) squares += (nn_get(x, from + i) - *mean) * (nn_get(x, from + i) - *mean);
  *inv = 1 / sqrt(squares / (double)n + 1e-5);
}

/* Rows of n elements with a parameter for every `chunk` of them; group: parameters start at (row % groups) * n / chunk.
 */
static void check_norm(const tn_kernel *kernel, tn_dtype d, int64_t groups, int64_t chunk, int64_t params) {
  enum { N = 2, C = 6, H = 3, W = 5 };
  nn_call c;
  nn_begin(&c);
  const tn_karg *x = nn_in(&c, d, 4, (int64_t[]){N, C, H, W});
  const tn_karg *scale = nn_in(&c, d, 1, &params), *bias = nn_in(&c, d, 1, &params);
  tn_karg *y = nn_out(&c, d, 4, x->dims);
  nn_int(&c, "num_groups", groups);
  nn_int(&c, "axis", -1);
  nn_float(&c, "epsilon", 1e-5);
  const int64_t n = kernel == &tn_kernel_layer_norm ? W : C / groups * H * W;
  double want[N * C * H * W];
  for (int64_t row = 0; row < N * C * H * W / n; row++) {
    double mean, inv;
    moments(x, row * n, n, &mean, &inv);
    for (int64_t i = 0; i < n; i++) {
      const int64_t p = (kernel == &tn_kernel_layer_norm ? 0 : row % groups * (n / chunk)) + i / chunk;
      want[row * n + i] = (nn_get(x, row * n + i) - mean) * inv * nn_get(scale, p) + nn_get(bias, p);
    }
  }
  if (nn_run(&c, kernel)) nn_near(y, want, 1e-5, kernel->name);
  nn_end(&c);
}

TEST(norms) {
  const tn_dtype types[] = {TN_F32, TN_F64, TN_BF16};
  for (size_t i = 0; i < TN_COUNT(types); i++) {
    check_norm(&tn_kernel_layer_norm, types[i], 1, 1, 5);
    check_norm(&tn_kernel_instance_norm, types[i], 6, 15, 6);
    check_norm(&tn_kernel_group_norm, types[i], 2, 15, 6);
  }
}

TEST(batch_norm_training) {
  nn_call c;
  nn_begin(&c);
  const tn_karg *x = nn_in(&c, TN_F32, 3, (int64_t[]){3, 2, 4}), *p[4];
  for (int i = 0; i < 4; i++) p[i] = nn_in(&c, TN_F32, 1, (int64_t[]){2});
  tn_karg *y = nn_out(&c, TN_F32, 3, x->dims), *mean = nn_out(&c, TN_F32, 1, (int64_t[]){2});
  nn_out(&c, TN_F32, 1, (int64_t[]){2});
  nn_int(&c, "training_mode", 1);
  nn_float(&c, "momentum", 0.75);
  nn_float(&c, "epsilon", 1e-5);
  double want[24], running[2];
  for (int ch = 0; ch < 2; ch++) {
    double sum = 0, squares = 0;
    for (int i = 0; i < 12; i++) sum += nn_get(x, (i / 4 * 2 + ch) * 4 + i % 4);
    for (int i = 0; i < 12; i++) squares += pow(nn_get(x, (i / 4 * 2 + ch) * 4 + i % 4) - sum / 12, 2);
    for (int i = 0; i < 12; i++) {
      const int at = (i / 4 * 2 + ch) * 4 + i % 4;
      want[at] = (nn_get(x, at) - sum / 12) / sqrt(squares / 12 + 1e-5) * nn_get(p[0], ch) + nn_get(p[1], ch);
    }
    running[ch] = 0.75 * nn_get(p[2], ch) + 0.25 * sum / 12;
  }
  if (nn_run(&c, &tn_kernel_batch_norm)) {
    nn_near(y, want, 1e-5, "batch_norm");
    nn_near(mean, running, 1e-6, "running mean");
  }
  nn_end(&c);
}

TEST(lrn_neighbours) {
  nn_call c;
  nn_begin(&c);
  const tn_karg *x = nn_in(&c, TN_F32, 4, (int64_t[]){1, 5, 1, 2});
  tn_karg *y = nn_out(&c, TN_F32, 4, x->dims);
  nn_int(&c, "size", 4); /* one below, two above */
  nn_float(&c, "alpha", 0.5);
  nn_float(&c, "beta", 0.5);
  nn_float(&c, "bias", 2.0);
  double want[10];
  for (int i = 0; i < 10; i++) {
    double sum = 0;
    for (int o = i / 2 - 1; o <= i / 2 + 2; o++)
      if (o >= 0 && o < 5) sum += pow(nn_get(x, o * 2 + i % 2), 2);
    want[i] = nn_get(x, i) / sqrt(2 + 0.125 * sum);
  }
  if (nn_run(&c, &tn_kernel_lrn)) nn_near(y, want, 1e-6, "lrn");
  nn_end(&c);
}
