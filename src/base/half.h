/* Bits of floats, and scalar conversions of the short float kinds, which round to nearest even. */
#ifndef TN_BASE_HALF_H
#define TN_BASE_HALF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float tn_f32_of_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}
static inline uint32_t tn_f32_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

float tn_f16_to_f32(uint16_t h);
uint16_t tn_f32_to_f16(float f);
uint16_t tn_f64_to_f16(double f); /* one rounding */
float tn_bf16_to_f32(uint16_t h);
uint16_t tn_f32_to_bf16(float f);
uint16_t tn_f64_to_bf16(double f);

/* The 8-bit kinds by tn_dtype number (F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0) and F4E2M1 (low 4 bits). */
float tn_f8_to_f32(int dtype, uint8_t b);
uint8_t tn_f64_to_f8(int dtype, double f, bool saturate); /* F8E8M0 rounds up */

typedef enum tn_e8m0_round { TN_E8M0_UP, TN_E8M0_DOWN, TN_E8M0_NEAREST } tn_e8m0_round;
/* A power of two by the mode; NEAREST takes the upper one from the middle on. Numbers below the smallest, also negative
 * ones, become it when saturating, those above the largest the largest; else NaN. */
uint8_t tn_f64_to_e8m0(double f, bool saturate, tn_e8m0_round mode);

/* m as a double whose last bit is set when anything was cut off, so that rounding it again to fewer bits is exact. */
double tn_u64_to_odd_f64(uint64_t m);

#endif
