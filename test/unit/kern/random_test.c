/* Random kernels: moments within five standard errors, and the same numbers whatever the threads. */
#include <math.h>

#include "nn_call.h"

extern const tn_kernel tn_kernel_random_normal_like, tn_kernel_random_uniform_like, tn_kernel_bernoulli,
    tn_kernel_multinomial;

enum { N = 40000 };

static const tn_karg *draw(nn_call *c, const tn_kernel *kernel, tn_dtype d, double p, tn_pool *pool) {
  const int64_t n = N;
  nn_begin(c);
  c->call.pool = pool;
  c->call.seed = 7;
  tn_karg *const x = nn_in(c, TN_F32, 1, &n);
  for (int64_t i = 0; i < n; i++) tn_store_f64(TN_F32, x->data, i, p);
  tn_karg *const y = nn_out(c, d, 1, &n);
  CHECK(nn_run(c, kernel));
  return y;
}

static void moments(const tn_karg *y, double *mean, double *variance) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < y->count; i++) {
    const double v = tn_load_f64(y->dtype, y->data, i);
    sum += v;
    squares += v * v;
  }
  *mean = sum / (double)y->count;
  *variance = squares / (double)y->count - *mean * *mean;
}

TEST(normal_has_mean_0_and_variance_1) {
  nn_call c;
  double mean, variance;
  moments(draw(&c, &tn_kernel_random_normal_like, TN_F32, 0, NULL), &mean, &variance);
  CHECK(fabs(mean) < 5 / sqrt(N));
  CHECK(fabs(variance - 1) < 5 * sqrt(2.0 / N));
  nn_end(&c);
}

TEST(uniform_is_even_and_leaves_out_its_end) {
  const tn_dtype types[] = {TN_F32, TN_F16, TN_BF16, TN_F64};
  for (int t = 0; t < 4; t++) {
    nn_call c;
    double mean, variance;
    const tn_karg *const y = draw(&c, &tn_kernel_random_uniform_like, types[t], 0, NULL);
    for (int64_t i = 0; i < y->count; i++) {
      const double v = tn_load_f64(y->dtype, y->data, i);
      CHECK(v >= 0 && v < 1);
    }
    moments(y, &mean, &variance);
    CHECK(fabs(mean - 0.5) < (types[t] == TN_BF16 ? 0.01 : 5 * sqrt(1.0 / 12 / N)));
    CHECK(fabs(variance - 1.0 / 12) < 0.004);
    nn_end(&c);
  }
}

TEST(bernoulli_has_the_probability_of_its_input) {
  static const double p[] = {0, 0.25, 0.9, 1};
  for (int i = 0; i < 4; i++) {
    nn_call c;
    double mean, variance;
    moments(draw(&c, &tn_kernel_bernoulli, TN_I8, p[i], NULL), &mean, &variance);
    CHECK(fabs(mean - p[i]) <= 5 * sqrt(p[i] * (1 - p[i]) / N) + 1e-7);
    nn_end(&c);
  }
}

TEST(multinomial_follows_the_weights) {
  nn_call c;
  const int64_t in[2] = {2, 3}, out[2] = {2, N};
  static const double weights[6] = {1, 0, 3, 1, 1, 2};
  int64_t seen[6] = {0};
  nn_begin(&c);
  tn_karg *const x = nn_in(&c, TN_F64, 2, in);
  for (int64_t i = 0; i < 6; i++) tn_store_f64(TN_F64, x->data, i, log(weights[i]));
  const tn_karg *const y = nn_out(&c, TN_I64, 2, out);
  nn_int(&c, "sample_size", N);
  CHECK(nn_run(&c, &tn_kernel_multinomial));
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t v = tn_k_i64(y, i);
    CHECK(v >= 0 && v < 3);
    if (v >= 0 && v < 3) seen[i / N * 3 + v]++;
  }
  for (int i = 0; i < 6; i++) {
    const double p = weights[i] / 4;
    CHECK(fabs((double)seen[i] / N - p) <= 5 * sqrt(p * (1 - p) / N));
  }
  nn_end(&c);
}

TEST(threads_do_not_change_the_numbers) {
  nn_call one, four;
  tn_error err = {0};
  tn_pool *pool = NULL;
  CHECK(tn_pool_create(tn_allocator_system(), 4, &pool, &err) == TN_OK);
  const tn_karg *const a = draw(&one, &tn_kernel_random_normal_like, TN_F32, 0, NULL);
  const tn_karg *const b = draw(&four, &tn_kernel_random_normal_like, TN_F32, 0, pool);
  CHECK(memcmp(a->data, b->data, N * sizeof(float)) == 0);
  nn_end(&one);
  nn_end(&four);
  tn_pool_release(pool);
}
