/* Scalar float functions written so that the compiler turns loops over them into vector code. */
#ifndef TN_KERN_VMATH_H
#define TN_KERN_VMATH_H

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

TN_INLINE int32_t tn_float_bits(float x) {
  int32_t i;
  memcpy(&i, &x, sizeof i);
  return i;
}
TN_INLINE float tn_bits_float(int32_t i) {
  float x;
  memcpy(&x, &i, sizeof x);
  return x;
}

/* e^x, about 1 ulp over the whole range: 2^n * e^r with |r| <= ln(2)/2, the power of two applied in two halves so that
 * the smallest results round like any other. Constants: Cody and Waite's split of ln 2, minimax polynomial. */
TN_INLINE float tn_expf(float x) {
  float c = x < -104.0f ? -104.0f : x;
  c = c > 89.0f ? 89.0f : c;
  const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer held in the low bits */
  const float t = c * 1.44269504088896341f + magic;
  const int32_t n = tn_float_bits(t) - tn_float_bits(magic);
  const float f = t - magic;
  float r = c - f * 0.693145751953125f;
  r = r - f * 1.42860682030941723212e-6f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const int32_t half = n >> 1;
  return p * tn_bits_float((int32_t)((uint32_t)(half + 127) << 23)) *
         tn_bits_float((int32_t)((uint32_t)(n - half + 127) << 23));
}

TN_INLINE float tn_sigmoidf(float x) { return 1.0f / (1.0f + tn_expf(-x)); }

#endif
