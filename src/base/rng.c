/* Normal deviates from the counter-based generator. */
#include "base/rng.h"

#include <math.h>

double tn_rng_normal(uint64_t seed, uint64_t i) {
  const double pi = 3.14159265358979323846;
  const double u = 1.0 - tn_rng_f64(seed, 2 * i); /* (0, 1]: its logarithm is finite */
  return sqrt(-2.0 * log(u)) * cos(2.0 * pi * tn_rng_f64(seed, 2 * i + 1));
}
