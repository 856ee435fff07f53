/* Scalar float functions written so that the compiler turns loops over them into vector code. */
#ifndef TN_KERN_VMATH_H
#define TN_KERN_VMATH_H

#include <math.h>
#include <stdbool.h>
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

TN_INLINE float tn_sigmoidf(float x) {
  const float e = tn_expf(x < 0 ? x : -x);
  return (x < 0 ? e : 1.0f) / (1.0f + e); /* small results keep all their digits */
}

/* tanh(x): up to 5/8 x times a polynomial in x^2, above by e^2x. */
TN_INLINE float tn_tanhf(float x) {
  const float a = fabsf(x), s = a < 0.625f ? a * a : 0.390625f;
  float p = -0.005717036779969931f;
  p = p * s + 0.020650578662753105f;
  p = p * s - 0.05374349653720856f;
  p = p * s + 0.13331490755081177f;
  p = p * s - 0.3333328366279602f;
  const float low = a + a * (s * p), high = 1.0f - 2.0f / (tn_expf(2.0f * a) + 1.0f);
  return x != x ? x : copysignf(a < 0.625f ? low : high, x);
}
/* erf(x): below 1 x times a polynomial in x^2, above by the polynomial that is log(erfc(x)) up to 4. */
TN_INLINE float tn_erff(float x) {
  const float a = fabsf(x), s = a < 1.0f ? a * a : 1.0f, t = a < 4.0f ? a : 4.0f;
  float p = 7.853854185668752e-05f;
  p = p * s - 0.000801019137725234f;
  p = p * s + 0.00518832728266716f;
  p = p * s - 0.026853810995817184f;
  p = p * s + 0.1128358542919159f;
  p = p * s - 0.3761262595653534f;
  p = p * s + 0.12837916612625122f;
  float q = 0.0001855748996604234f;
  q = q * t - 0.0029396156314760447f;
  q = q * t + 0.021805351600050926f;
  q = q * t - 0.10303743183612823f;
  q = q * t - 0.6382256150245667f;
  q = q * t - 1.1270400285720825f;
  q = q * t - 0.00035370892146602273f;
  const float low = a + a * p, high = 1.0f - tn_expf(q);
  return x != x ? x : copysignf(a < 1.0f ? low : high, x);
}
TN_INLINE float tn_clip01f(float x) {
  const float y = x < 0.0f ? 0.0f : x;
  return y > 1.0f ? 1.0f : y;
}
/* a * b + c rounded once. */
TN_INLINE float tn_fmaf(float a, float b, float c) {
#if defined(__FMA__)
  return fmaf(a, b, c);
#else
  return (float)((double)a * (double)b + (double)c);
#endif
}

/* In double to about 1e-9 of the result, so that rounding to float is all that is seen of an error. Comparisons are
 * written so that NaN comes out as NaN. */

TN_INLINE int64_t tn_double_bits(double x) {
  int64_t i;
  memcpy(&i, &x, sizeof i);
  return i;
}
TN_INLINE double tn_bits_double(int64_t i) {
  double x;
  memcpy(&x, &i, sizeof x);
  return x;
}

/* e^x - 1 and 2^n with e^x = (q + 1) * 2^n: q = e^r - 1 for |r| <= ln(2)/2 by its series. */
TN_INLINE double tn_exp_parts(double x, double *out_power) {
  double c = x < -690.0 ? -690.0 : x;
  c = c > 690.0 ? 690.0 : c;
  const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
  const double t = c * 1.44269504088896340736 + magic;
  const double r = c - (t - magic) * 0.69314718055994530942;
  double q = 1.0 / 40320;
  q = q * r + 1.0 / 5040;
  q = q * r + 1.0 / 720;
  q = q * r + 1.0 / 120;
  q = q * r + 1.0 / 24;
  q = q * r + 1.0 / 6;
  q = q * r + 0.5;
  *out_power = tn_bits_double((int64_t)(((uint64_t)tn_double_bits(t) - (uint64_t)tn_double_bits(magic) + 1023) << 52));
  return q * (r * r) + r;
}
TN_INLINE double tn_exp(double x) {
  double power;
  const double q = tn_exp_parts(x, &power);
  return q * power + power;
}
TN_INLINE double tn_expm1(double x) {
  double power;
  const double q = tn_exp_parts(x, &power);
  return q * power + (power - 1.0);
}

/* Natural logarithm of what a float holds, 0 and subnormal ones too: ln 2 times the exponent, and the series of
 * 2 artanh((m - 1) / (m + 1)) for m in [sqrt(1/2), sqrt(2)). */
TN_INLINE double tn_log(double x) {
  const uint64_t bits = (uint64_t)tn_double_bits(x) - 0x3fe6a09e667f3bcdu;
  const double e = tn_bits_double((int64_t)((bits + (UINT64_C(1024) << 52)) >> 52 | 0x4330000000000000u)) -
                   (4503599627370496.0 + 1024.0);
  const double m = tn_bits_double((int64_t)((bits & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu));
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  const double y = e * 0.69314718055994530942 + (s * (z * p) + 2.0 * s);
  const double at_end = x < 0 ? (double)NAN : (x == 0 ? (double)-INFINITY : x); /* +inf and NaN are themselves */
  return ((x > 0) & (x < (double)INFINITY)) ? y : at_end;
}
/* log(1 + u), u >= -1: what rounding takes from 1 + u is given back. */
TN_INLINE double tn_log1p(double u) {
  const double w = 1.0 + u;
  const double y = tn_log(w) + (u - (w - 1.0)) / w;
  return ((u > -1.0) & (u < (double)INFINITY)) ? y : tn_log(w);
}

TN_INLINE double tn_sinh(double x) {
  const double e = tn_expm1(fabs(x));
  return copysign(0.5 * (e + e / (e + 1.0)), x);
}
TN_INLINE double tn_cosh(double x) {
  const double e = tn_exp(fabs(x));
  return 0.5 * (e + 1.0 / e);
}
TN_INLINE double tn_asinh(double x) {
  const double a = fabs(x), s = a * a;
  const double y = tn_log1p(a + s / (1.0 + sqrt(s + 1.0)));
  return a < (double)INFINITY ? copysign(y, x) : x;
}
TN_INLINE double tn_acosh(double x) {
  const double t = x - 1.0;
  const double y = tn_log1p(t + sqrt(t * (x + 1.0)));
  return t < 0 ? (double)NAN : y;
}
TN_INLINE double tn_atanh(double x) {
  const double a = fabs(x);
  return copysign(0.5 * tn_log1p(2.0 * a / (1.0 - a)), x);
}

/* Sine and cosine of |x| < TN_FAR: x less the nearest multiple of pi/2, in two parts of which the first gives exact
 * products, then their series. */
#define TN_FAR 1e6f
typedef struct tn_sincos_parts {
  double sin, cos;
  int64_t quarter; /* its lowest two bits count */
} tn_sincos_parts;
TN_INLINE tn_sincos_parts tn_sincos(double x) {
  const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
  const double t = x * 0.63661977236758134308 + magic, n = t - magic;
  const double r = (x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a626331p-34, z = r * r;
  double s = -1.0 / 39916800;
  s = s * z + 1.0 / 362880;
  s = s * z - 1.0 / 5040;
  s = s * z + 1.0 / 120;
  s = s * z - 1.0 / 6;
  double c = -1.0 / 3628800;
  c = c * z + 1.0 / 40320;
  c = c * z - 1.0 / 720;
  c = c * z + 1.0 / 24;
  c = c * z - 1.0 / 2;
  return (tn_sincos_parts){r + r * (z * s), 1.0 + z * c, tn_double_bits(t)};
}
TN_INLINE double tn_turn(double x, int64_t quarter) { /* x, negative in the third and fourth quarter */
  return tn_bits_double(tn_double_bits(x) ^ (int64_t)((uint64_t)(quarter & 2) << 62));
}
TN_INLINE double tn_sin(double x) {
  const tn_sincos_parts p = tn_sincos(x);
  return tn_turn(p.quarter & 1 ? p.cos : p.sin, p.quarter);
}
TN_INLINE double tn_cos(double x) {
  const tn_sincos_parts p = tn_sincos(x);
  return tn_turn(p.quarter & 1 ? p.sin : p.cos, p.quarter + 1);
}
TN_INLINE double tn_tan(double x) {
  const tn_sincos_parts p = tn_sincos(x);
  return (p.quarter & 1 ? -p.cos : p.sin) / (p.quarter & 1 ? p.sin : p.cos);
}

/* Reduced to |z| <= tan(pi/8) by one quotient, then a minimax polynomial. */
TN_INLINE double tn_atan_quotient(double num, double den) { /* of num / den, both >= 0 */
  const bool high = num > 2.41421356237309504880 * den, middle = num > 0.41421356237309504880 * den;
  const double a = high ? -den : (middle ? num - den : num), b = high ? num : (middle ? num + den : den);
  const double base = high ? 1.57079632679489661923 : (middle ? 0.78539816339744830962 : 0.0);
  const double z = a / b, s = z * z;
  double p = 0.047482596867941304;
  p = p * s - 0.08478398199929042;
  p = p * s + 0.11045091999886142;
  p = p * s - 0.1428204193782278;
  p = p * s + 0.19999905181426375;
  p = p * s - 0.3333333251453536;
  return base + (z + z * (s * p));
}
TN_INLINE double tn_atan(double x) {
  const double a = fabs(x) > 1e300 ? 1e300 : fabs(x);
  return copysign(tn_atan_quotient(a, 1.0), x);
}
TN_INLINE double tn_asin(double x) {
  const double a = fabs(x);
  return copysign(tn_atan_quotient(a, sqrt((1.0 - a) * (1.0 + a))), x);
}
TN_INLINE double tn_acos(double x) { return 2.0 * tn_atan_quotient(sqrt(1.0 - x), sqrt(1.0 + x)); }

/* erfc(z), z >= 0: t * e^(P(t) - z^2) with t = 2 / (2 + z) and a minimax polynomial P. */
TN_INLINE double tn_erfc_positive(double z) {
  const double t = 2.0 / (2.0 + z);
  double p = -0.15678106588469642;
  p = p * t + 0.8600829225306666;
  p = p * t - 1.861838905036398;
  p = p * t + 1.882575293401134;
  p = p * t - 0.7323934944841678;
  p = p * t + 0.023591817805849957;
  p = p * t - 0.10141290642844672;
  p = p * t - 0.11196247690180211;
  p = p * t + 0.08932329332795663;
  p = p * t + 0.3742858385526682;
  p = p * t + 1.0000428021153636;
  p = p * t - 1.2655131262987682;
  return t * tn_exp(p - z * z);
}
/* x times a factor that tends to 0: 0 where only double still knows it from 0, so that an infinity gives NaN. */
TN_INLINE double tn_fade(double x, double factor) { return x * (factor < 1e-200 ? 0.0 : factor); }

TN_INLINE double tn_gelu(double x) {
  const double a = fabs(x) * 0.70710678118654752440, e = 0.5 * tn_erfc_positive(a < 30.0 ? a : 30.0);
  return tn_fade(x, x < 0 ? e : 1.0 - e);
}
TN_INLINE double tn_swish(double x, double alpha) {
  const double u = alpha * x, e = tn_exp(-fabs(u));
  return tn_fade(x, (u < 0 ? e : 1.0) / (1.0 + e));
}
TN_INLINE double tn_gelu_tanh(double x) {
  const double u = 1.59576912160573071176 * (x + 0.044715 * x * x * x), e = tn_exp(-fabs(u));
  return tn_fade(x, (u < 0 ? e : 1.0) / (1.0 + e));
}
TN_INLINE double tn_softplus(double x) { return (x > 0 ? x : 0.0) + tn_log1p(tn_exp(-fabs(x))); }
/* x * tanh(log(1 + e^x)), with powers of the smaller of e^x and e^-x. */
TN_INLINE double tn_mish(double x) {
  const double e = tn_exp(-fabs(x)), low = e * (e + 2.0), high = 1.0 + 2.0 * e;
  return tn_fade(x, x < 0 ? low / (low + 2.0) : high / (high + 2.0 * e * e));
}
TN_INLINE double tn_clip01(double x) {
  const double y = x < 0.0 ? 0.0 : x;
  return y > 1.0 ? 1.0 : y;
}

#endif
