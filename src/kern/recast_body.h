/* The loops of kern/recast.h for one CPU level. Not a module: recast_v1.c, recast_v3.c and recast_v4.c include it with
 * RECAST_LEVEL, the suffix of the names. Results are those of base/convert.c, bit for bit but for the payload of NaN.
 */
#include "base/half.h"
#include "kern/recast.h"
#if defined(__F16C__)
#include <immintrin.h>
#endif

#ifndef RECAST_LEVEL
#define RECAST_LEVEL _v0
#endif

#define RECAST_PASTE_(a, b) a##b
#define RECAST_PASTE(a, b) RECAST_PASTE_(a, b)
#define RECAST_NAME(x) RECAST_PASTE(recast_##x, RECAST_LEVEL)

/* Addresses may be odd (a window of a file), hence memcpy; compilers turn it into plain vector loads. */
#define RECAST(name, S, D, value)                                        \
  static void RECAST_NAME(name)(void *dst, const void *src, int64_t n) { \
    char *restrict const to = dst;                                       \
    const char *restrict const from = src;                               \
    for (int64_t i = 0; i < n; i++) {                                    \
      S x;                                                               \
      memcpy(&x, from + (size_t)i * sizeof x, sizeof x);                 \
      const D y = (value);                                               \
      memcpy(to + (size_t)i * sizeof y, &y, sizeof y);                   \
    }                                                                    \
  }

static inline float RECAST_NAME(bf16_of)(uint16_t x) { return tn_f32_of_bits((uint32_t)x << 16); }
static inline uint16_t RECAST_NAME(to_bf16)(float x) {
  const uint32_t u = tn_f32_bits(x), quiet = u >> 16 | 0x40u, near = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
  return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : near);
}
/* Held to what the type holds, NaN to 0, before the conversion: every lane is defined. */
static inline int32_t RECAST_NAME(held)(float x, float lo, float hi) {
  const float a = x > lo ? x : (x <= lo ? lo : 0.0f);
  return (int32_t)(a < hi ? a : hi);
}
static inline int32_t RECAST_NAME(to_i32)(float x) {
  const bool high = x >= 0x1p31f, low = x < -0x1p31f, is_number = x == x;
  const int32_t v = (int32_t)((high | low | !is_number) ? 0.0f : x);
  return high ? INT32_MAX : (low ? INT32_MIN : v);
}

#if defined(__F16C__)
static void RECAST_NAME(f16_f32)(void *dst, const void *src, int64_t n) {
  char *const to = dst;
  const char *const from = src;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i h;
    memcpy(&h, from + 2 * i, sizeof h);
    const __m256 f = _mm256_cvtph_ps(h);
    memcpy(to + 4 * i, &f, sizeof f);
  }
  for (; i < n; i++) {
    uint16_t h;
    memcpy(&h, from + 2 * i, sizeof h);
    const float f = tn_f16_to_f32(h);
    memcpy(to + 4 * i, &f, sizeof f);
  }
}
static void RECAST_NAME(f32_f16)(void *dst, const void *src, int64_t n) {
  char *const to = dst;
  const char *const from = src;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 f;
    memcpy(&f, from + 4 * i, sizeof f);
    const __m128i h = _mm256_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT);
    memcpy(to + 2 * i, &h, sizeof h);
  }
  for (; i < n; i++) {
    float f;
    memcpy(&f, from + 4 * i, sizeof f);
    const uint16_t h = tn_f32_to_f16(f);
    memcpy(to + 2 * i, &h, sizeof h);
  }
}
#else
RECAST(f16_f32, uint16_t, float, tn_f16_to_f32(x))
RECAST(f32_f16, float, uint16_t, tn_f32_to_f16(x))
#endif
RECAST(bf16_f32, uint16_t, float, RECAST_NAME(bf16_of)(x))
RECAST(f32_bf16, float, uint16_t, RECAST_NAME(to_bf16)(x))
RECAST(f32_i32, float, int32_t, RECAST_NAME(to_i32)(x))
RECAST(f32_u8, float, uint8_t, (uint8_t)RECAST_NAME(held)(x, 0.0f, 255.0f))
RECAST(f32_i8, float, int8_t, (int8_t)RECAST_NAME(held)(x, -128.0f, 127.0f))
RECAST(f32_bool, float, uint8_t, (uint8_t) !(x == 0.0f))
RECAST(u8_f32, uint8_t, float, (float)(int32_t)x)
RECAST(bool_f32, uint8_t, float, x ? 1.0f : 0.0f)
RECAST(i8_f32, int8_t, float, (float)x)
RECAST(i32_f32, int32_t, float, (float)x)
RECAST(i64_f32, int64_t, float, (float)x)
RECAST(f64_f32, double, float, (float)x)
RECAST(f32_f64, float, double, (double)x)
RECAST(i64_i32, int64_t, int32_t, (int32_t)(uint32_t)(uint64_t)x)
RECAST(i32_i64, int32_t, int64_t, x)

extern const tn_recast_row RECAST_PASTE(tn_recast_rows, RECAST_LEVEL)[TN_RECAST_ROWS];
const tn_recast_row RECAST_PASTE(tn_recast_rows, RECAST_LEVEL)[TN_RECAST_ROWS] = {
    {TN_F16, TN_F32, RECAST_NAME(f16_f32)},   {TN_F32, TN_F16, RECAST_NAME(f32_f16)},
    {TN_BF16, TN_F32, RECAST_NAME(bf16_f32)}, {TN_F32, TN_BF16, RECAST_NAME(f32_bf16)},
    {TN_F32, TN_I32, RECAST_NAME(f32_i32)},   {TN_F32, TN_U8, RECAST_NAME(f32_u8)},
    {TN_F32, TN_I8, RECAST_NAME(f32_i8)},     {TN_F32, TN_BOOL, RECAST_NAME(f32_bool)},
    {TN_U8, TN_F32, RECAST_NAME(u8_f32)},     {TN_BOOL, TN_F32, RECAST_NAME(bool_f32)},
    {TN_I8, TN_F32, RECAST_NAME(i8_f32)},     {TN_I32, TN_F32, RECAST_NAME(i32_f32)},
    {TN_I64, TN_F32, RECAST_NAME(i64_f32)},   {TN_F64, TN_F32, RECAST_NAME(f64_f32)},
    {TN_F32, TN_F64, RECAST_NAME(f32_f64)},   {TN_I64, TN_I32, RECAST_NAME(i64_i32)},
    {TN_I32, TN_I64, RECAST_NAME(i32_i64)},
};

#undef RECAST_LEVEL
#undef RECAST_PASTE_
#undef RECAST_PASTE
#undef RECAST_NAME
#undef RECAST
