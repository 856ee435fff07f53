/* Transforms of every kind of length against the definition. */
#include "kern/fft.h"

#include "nn_call.h"

static void by_definition(int64_t n, double sign, const double *x, double *out) {
  for (int64_t k = 0; k < n; k++) {
    double re = 0, im = 0;
    for (int64_t i = 0; i < n; i++) {
      const double angle = sign * 2 * M_PI * (double)(i * k % n) / (double)n;
      re += x[2 * i] * cos(angle) - x[2 * i + 1] * sin(angle);
      im += x[2 * i] * sin(angle) + x[2 * i + 1] * cos(angle);
    }
    out[2 * k] = re / (sign > 0 ? (double)n : 1);
    out[2 * k + 1] = im / (sign > 0 ? (double)n : 1);
  }
}

static void check_length(int64_t n, bool is_inverse) {
  nn_call c;
  tn_fft f;
  nn_begin(&c);
  double *const x = nn_hold(&c, (size_t)(2 * n) * sizeof *x), *const want = nn_hold(&c, (size_t)(2 * n) * sizeof *x);
  for (int64_t i = 0; i < 2 * n; i++) x[i] = tn_rng_f64(5, (uint64_t)i) - 0.5;
  by_definition(n, is_inverse ? 1 : -1, x, want);
  if (CHECK(tn_fft_make(&c.call, n, is_inverse, &f) == TN_OK)) {
    tn_fft_run(&f, x, nn_hold(&c, (size_t)tn_fft_room(&f) * sizeof *x));
    double worst = 0;
    for (int64_t i = 0; i < 2 * n; i++) worst = fmax(worst, fabs(x[i] - want[i]));
    if (!CHECK(worst < 1e-11)) printf("length %lld: off by %g\n", (long long)n, worst);
  }
  nn_end(&c);
}

TEST(every_short_length) {
  for (int64_t n = 1; n <= 70; n++) {
    check_length(n, false);
    check_length(n, true);
  }
}

TEST(long_lengths) {
  static const int64_t lengths[] = {97, 121, 128, 243, 400, 512, 625, 997, 1000, 1024, 2 * 3 * 5 * 7 * 11};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    check_length(lengths[i], false);
    check_length(lengths[i], true);
  }
}

TEST(no_length_is_refused) {
  nn_call c;
  tn_fft f;
  nn_begin(&c);
  CHECK(tn_fft_make(&c.call, 0, false, &f) == TN_INVALID);
  nn_end(&c);
  nn_begin(&c);
  CHECK(tn_fft_make(&c.call, INT64_MAX, false, &f) == TN_LIMIT);
  nn_end(&c);
}
