/* Convolutions against plain sums in double. */
#include "nn_call.h"

extern const tn_kernel tn_kernel_conv;

typedef struct conv_case {
  int n; /* spatial axes */
  int64_t batch, group, cg, mg, in[3], kernel[3], stride[3], dilation[3], pads[6];
} conv_case;

static double conv_sum(const conv_case *t, const tn_karg *x, const tn_karg *w, int64_t image, int64_t m,
                       const int64_t *o) {
  double sum = 0;
  int64_t taps = 1, plane = 1;
  for (int i = 0; i < t->n; i++) taps *= t->kernel[i], plane *= t->in[i];
  for (int64_t c = 0; c < t->cg; c++)
    for (int64_t tap = 0; tap < taps; tap++) {
      int64_t rest = tap, at = 0, step = 1;
      bool inside = true;
      for (int i = t->n - 1; i >= 0; i--) {
        const int64_t p = o[i] * t->stride[i] + rest % t->kernel[i] * t->dilation[i] - t->pads[i];
        rest /= t->kernel[i];
        inside = inside && p >= 0 && p < t->in[i];
        at += p * step;
        step *= t->in[i];
      }
      const int64_t channel = m / t->mg * t->cg + c;
      if (inside)
        sum += nn_get(x, (image * t->cg * t->group + channel) * plane + at) * nn_get(w, (m * t->cg + c) * taps + tap);
    }
  return sum;
}

static void check_conv(const conv_case *t, tn_dtype d, bool bias, tn_pool *pool) {
  nn_call c;
  nn_begin(&c);
  c.call.pool = pool;
  int64_t xd[5] = {t->batch, t->group * t->cg}, wd[5] = {t->group * t->mg, t->cg}, yd[5] = {t->batch, t->group * t->mg};
  for (int i = 0; i < t->n; i++) {
    xd[2 + i] = t->in[i];
    wd[2 + i] = t->kernel[i];
    yd[2 + i] =
        (t->in[i] + t->pads[i] + t->pads[t->n + i] - (t->kernel[i] - 1) * t->dilation[i] - 1) / t->stride[i] + 1;
  }
  const tn_karg *x = nn_in(&c, d, t->n + 2, xd);
  tn_karg *w = nn_in(&c, d, t->n + 2, wd);
  const tn_karg *b = nn_in(&c, d, 1, bias ? wd : NULL);
  tn_karg *y = nn_out(&c, d, t->n + 2, yd);
  w->is_const = bias;
  nn_int(&c, "group", t->group);
  nn_ints(&c, "strides", t->n, t->stride);
  nn_ints(&c, "dilations", t->n, t->dilation);
  nn_ints(&c, "pads", 2 * t->n, t->pads);
  double *want = nn_hold(&c, (size_t)(y->count + 1) * sizeof *want);
  for (int64_t i = 0; i < y->count; i++) {
    int64_t rest = i, o[3];
    for (int a = t->n - 1; a >= 0; a--) {
      o[a] = rest % yd[2 + a];
      rest /= yd[2 + a];
    }
    const int64_t m = rest % yd[1];
    want[i] = conv_sum(t, x, w, rest / yd[1], m, o) + (b ? nn_get(b, m) : 0);
  }
  for (int run = 0; run < 2; run++)
    if (nn_run(&c, &tn_kernel_conv)) nn_near(y, want, 1e-5, "conv");
  nn_end(&c);
}

static const conv_case cases[] = {
    {2, 1, 1, 3, 16, {17, 19}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {2, 2, 1, 24, 20, {9, 13}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {2, 2, 1, 40, 5, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {2, 1, 1, 30, 13, {8, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 1, 1, 5, 7, {12, 10}, {3, 2}, {2, 3}, {2, 1}, {0, 2, 3, 1}},
    {2, 2, 6, 1, 1, {11, 21}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 1, 4, 1, 1, {14, 20}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}},
    {2, 1, 3, 1, 2, {9, 10}, {3, 4}, {2, 3}, {2, 2}, {2, 5, 1, 3}},
    {2, 1, 2, 3, 4, {7, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 0, 0, 1}},
    {2, 1, 2, 3, 2, {7, 8}, {2, 1}, {1, 4}, {1, 1}, {0, 0, 0, 0}},
    {2, 1, 1, 2, 5, {4, 6}, {3, 3}, {1, 1}, {1, 1}, {5, 6, 5, 6}},
    {1, 2, 1, 3, 5, {70}, {7}, {2}, {1}, {3, 3}},
    {1, 1, 1, 1, 129, {256}, {64}, {16}, {1}, {0, 0}},
    {3, 1, 1, 3, 6, {5, 6, 7}, {2, 3, 3}, {1, 2, 1}, {1, 1, 2}, {0, 1, 1, 1, 1, 2}},
    {3, 1, 2, 1, 1, {4, 5, 9}, {3, 3, 3}, {1, 1, 2}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}},
    {2, 0, 1, 3, 4, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 1, 1, 0, 4, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
};

TEST(conv_f32) {
  for (size_t i = 0; i < TN_COUNT(cases); i++)
    for (int bias = 0; bias < 2; bias++) check_conv(&cases[i], TN_F32, bias, NULL);
}

TEST(conv_types) {
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    if (cases[i].cg > 16) continue;
    check_conv(&cases[i], TN_F64, true, NULL);
    check_conv(&cases[i], TN_F16, true, NULL);
  }
}

TEST(conv_threads) {
  tn_pool *pool;
  tn_error err = {0};
  if (!CHECK(tn_pool_create(tn_allocator_system(), 2, &pool, &err) == TN_OK)) return;
  for (size_t i = 0; i < TN_COUNT(cases); i++) check_conv(&cases[i], TN_F32, true, pool);
  tn_pool_release(pool);
}
