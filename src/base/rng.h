/* Counter-based random numbers: number `i` of stream `seed` is a pure function, so threads cannot change results. */
#ifndef TN_BASE_RNG_H
#define TN_BASE_RNG_H

#include "base/hash.h"

static inline uint64_t tn_rng_u64(uint64_t seed, uint64_t i) {
  return tn_hash_u64(tn_hash_u64(seed + 0x9e3779b97f4a7c15u) + (i + 1) * 0x9e3779b97f4a7c15u);
}
static inline double tn_rng_f64(uint64_t seed, uint64_t i) { /* [0, 1), 53 bits */
  return (double)(tn_rng_u64(seed, i) >> 11) * 0x1p-53;
}
double tn_rng_normal(uint64_t seed, uint64_t i); /* mean 0, variance 1 (Box-Muller on draws 2i, 2i+1) */

#endif
