#include "base/rng.h"

#include "test.h"

/* Computed with Python's integers and math module. */
TEST(known_numbers) {
  CHECK(tn_rng_u64(0, 0) == 0xa706dd2f4d197e6fu);
  CHECK(tn_rng_u64(0, 1) == 0xb382a305f4414f5eu);
  CHECK(tn_rng_u64(UINT64_MAX, 5) == 0x276ebc0e52f41c24u);
  CHECK_EQ_F(tn_rng_f64(0, 0), 0.6524484863740322);
  CHECK_NEAR(tn_rng_normal(0, 0), -0.4387214756878968, 1e-14);
  CHECK_NEAR(tn_rng_normal(1, 2), 0.10739985963303605, 1e-14);
  CHECK_NEAR(tn_rng_normal(7, 1000), 0.7702974247995136, 1e-14);
}

TEST(moments) {
  const int n = 100000;
  double mean = 0, square = 0, uniform = 0;
  for (int i = 0; i < n; i++) {
    const double u = tn_rng_f64(3, (uint64_t)i), x = tn_rng_normal(3, (uint64_t)i);
    CHECK(u >= 0 && u < 1);
    uniform += u / n;
    mean += x / n;
    square += x * x / n;
  }
  CHECK_NEAR(uniform, 0.5, 0.005);
  CHECK_NEAR(mean, 0, 0.015);
  CHECK_NEAR(square, 1, 0.02);
}
