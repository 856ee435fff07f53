/* Short floats. One rounding routine serves every kind: a double is cut to (exponent, mantissa) with the exponent
 * unbounded above, and the caller compares the code with the largest one of its kind. */
#include "base/half.h"

#include <math.h>

#include "tenon/dtype.h"

float tn_f16_to_f32(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fffu;
  if (magnitude >= 0x7c00) return tn_f32_of_bits(sign | 0x7f800000u | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x0400) return tn_f32_of_bits(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
  return tn_f32_of_bits(sign | tn_f32_bits((float)magnitude * 0x1p-24f));
}

uint16_t tn_f32_to_f16(float f) {
  const uint32_t u = tn_f32_bits(f), sign = u >> 16 & 0x8000u;
  uint32_t m = u & 0x7fffffffu;
  if (m > 0x7f800000u) {
    m = 0x7e00u | (m >> 13 & 0x3ffu); /* quiet, payload kept */
  } else if (m >= 0x477ff000u) {      /* 65520, halfway past the largest */
    m = 0x7c00u;
  } else if (m < 0x38800000u) { /* below 2^-14: adding 0.5 makes the FPU round at 2^-24 */
    m = tn_f32_bits(tn_f32_of_bits(m) + 0.5f) - 0x3f000000u;
  } else {
    m = (m - ((127u - 15u) << 23) + 0xfffu + (m >> 13 & 1u)) >> 13;
  }
  return (uint16_t)(sign | m);
}

float tn_bf16_to_f32(uint16_t h) { return tn_f32_of_bits((uint32_t)h << 16); }

uint16_t tn_f32_to_bf16(float f) {
  const uint32_t u = tn_f32_bits(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 0x40u);
  return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* |f| (finite) rounded to nearest even with `mantissa` bits: code = biased exponent << mantissa | fraction. */
static uint32_t half_round(uint64_t magnitude, int mantissa, int bias) {
  const int exponent = (int)(magnitude >> 52) - 1023 + bias;
  if (magnitude >> 52 == 0) return 0; /* zero, or far below every kind's smallest */
  const uint64_t significand = (magnitude & 0xfffffffffffffu) | 1ull << 52;
  const int shift = 52 - mantissa + (exponent >= 1 ? 0 : 1 - exponent);
  if (shift >= 54) return 0;
  const uint64_t rest = significand & ((1ull << shift) - 1), middle = 1ull << (shift - 1);
  uint64_t q = significand >> shift;
  if (rest > middle || (rest == middle && (q & 1))) q++;
  return (uint32_t)q + (exponent >= 1 ? (uint32_t)(exponent - 1) << mantissa : 0);
}

static uint64_t half_split(double f, bool *out_negative) {
  uint64_t u;
  memcpy(&u, &f, sizeof u);
  *out_negative = u >> 63;
  return u & ~(1ull << 63);
}

static const uint64_t half_inf64 = 0x7ffull << 52;

uint16_t tn_f64_to_f16(double f) {
  bool negative;
  const uint64_t m = half_split(f, &negative);
  const uint32_t sign = negative ? 0x8000u : 0;
  if (m > half_inf64) return (uint16_t)(sign | 0x7e00u | (uint32_t)(m >> 42 & 0x3ff));
  const uint32_t code = m == half_inf64 ? 0x7c00u : half_round(m, 10, 15);
  return (uint16_t)(sign | (code > 0x7c00u ? 0x7c00u : code));
}

uint16_t tn_f64_to_bf16(double f) {
  bool negative;
  const uint64_t m = half_split(f, &negative);
  const uint32_t sign = negative ? 0x8000u : 0;
  if (m > half_inf64) return (uint16_t)(sign | 0x7fc0u | (uint32_t)(m >> 45 & 0x7f));
  const uint32_t code = m == half_inf64 ? 0x7f80u : half_round(m, 7, 127);
  return (uint16_t)(sign | (code > 0x7f80u ? 0x7f80u : code));
}

typedef struct half_kind {
  int mantissa, bias;
  uint8_t max;       /* code of the largest finite value */
  uint8_t inf;       /* where overflow goes when not saturating: infinity, or NaN without its sign */
  uint8_t nan;       /* without its sign, if that is kept */
  uint8_t sign;      /* the sign bit */
  bool only_one_nan; /* the FNUZ kinds: 0x80 is NaN and there is no -0 */
} half_kind;

static const half_kind half_e4m3fn = {3, 7, 0x7e, 0x7f, 0x7f, 0x80, false};
static const half_kind half_e4m3fnuz = {3, 8, 0x7f, 0x80, 0x80, 0x80, true};
static const half_kind half_e5m2 = {2, 15, 0x7b, 0x7c, 0x7f, 0x80, false};
static const half_kind half_e5m2fnuz = {2, 16, 0x7f, 0x80, 0x80, 0x80, true};
static const half_kind half_e2m1 = {1, 1, 0x07, 0x07, 0x08, 0x08, false}; /* no NaN: -0 */

static const half_kind *half_kind_find(int dtype) {
  switch (dtype) {
    case TN_F8E4M3FN:
      return &half_e4m3fn;
    case TN_F8E4M3FNUZ:
      return &half_e4m3fnuz;
    case TN_F8E5M2:
      return &half_e5m2;
    case TN_F8E5M2FNUZ:
      return &half_e5m2fnuz;
    default:
      return &half_e2m1;
  }
}

static bool half_is_nan(const half_kind *k, uint8_t b) {
  if (k == &half_e2m1) return false;
  return k->only_one_nan ? b == 0x80 : (b & 0x7f) > (k->inf == k->nan ? k->max : k->inf);
}

float tn_f8_to_f32(int dtype, uint8_t b) {
  if (dtype == TN_F8E8M0) return b == 0xff ? tn_f32_of_bits(0x7fc00000u) : ldexpf(1.0f, (int)b - 127);
  const half_kind *k = half_kind_find(dtype);
  const uint32_t sign = b & k->sign ? 0x80000000u : 0;
  if (half_is_nan(k, b)) return tn_f32_of_bits((k->only_one_nan ? 0 : sign) | 0x7fc00000u);
  const int magnitude = b & (k->sign - 1);
  if (k == &half_e5m2 && magnitude == k->inf) return tn_f32_of_bits(sign | 0x7f800000u);
  const int e = magnitude >> k->mantissa, fraction = magnitude & ((1 << k->mantissa) - 1);
  const int whole = e ? fraction | 1 << k->mantissa : fraction;
  const float v = ldexpf((float)whole, (e ? e : 1) - k->bias - k->mantissa);
  return sign ? -v : v;
}

uint8_t tn_f64_to_e8m0(double f, bool saturate, tn_e8m0_round mode) {
  if (isnan(f)) return 0xff;
  if (f < 0x1p-127) return saturate ? 0 : 0xff;
  if (f > 0x1p127) return saturate ? 0xfe : 0xff;
  int e;
  const double fraction = frexp(f, &e); /* [0.5, 1) */
  const bool up = mode == TN_E8M0_NEAREST ? fraction >= 0.75 : mode == TN_E8M0_UP && fraction > 0.5;
  const int code = e + 127 - (up ? 0 : 1);
  return (uint8_t)(code < 0 ? 0 : code);
}

uint8_t tn_f64_to_f8(int dtype, double f, bool saturate) {
  if (dtype == TN_F8E8M0) return tn_f64_to_e8m0(f, saturate, TN_E8M0_UP);
  const half_kind *k = half_kind_find(dtype);
  bool negative;
  const uint64_t m = half_split(f, &negative);
  const uint8_t sign = negative ? k->sign : 0;
  if (m > half_inf64) return k == &half_e2m1 || k->only_one_nan ? k->nan : (uint8_t)(sign | k->nan);
  const uint32_t code = m == half_inf64 ? UINT32_MAX : half_round(m, k->mantissa, k->bias);
  if (code > k->max) {
    if (saturate) return (uint8_t)(sign | k->max);
    return k->only_one_nan ? k->nan : (uint8_t)(sign | k->inf);
  }
  if (code == 0 && k->only_one_nan) return 0;
  return (uint8_t)(sign | code);
}

double tn_u64_to_odd_f64(uint64_t m) {
  if (m < UINT64_C(1) << 53) return (double)m;
  const int shift = 11 - __builtin_clzll(m);
  const uint64_t rest = m & ((UINT64_C(1) << shift) - 1), q = m >> shift | (rest != 0);
  return ldexp((double)q, shift);
}
