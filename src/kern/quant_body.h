/* The loops of kern/quant.h for one CPU level. Not a module: quant_v1.c, quant_v3.c and quant_v4.c include it with
 * QUANT_LEVEL, the suffix of the names. */
#include <math.h>

#include "kern/quant.h"

#ifndef QUANT_LEVEL
#define QUANT_LEVEL _v0
#endif

#define QUANT_PASTE_(a, b) a##b
#define QUANT_PASTE(a, b) QUANT_PASTE_(a, b)
#define QUANT_NAME(x) QUANT_PASTE(quant_##x, QUANT_LEVEL)

/* To even. Without an instruction for it quotients are held to +-2^22, where adding 1.5 * 2^23 rounds. */
TN_INLINE float QUANT_NAME(round)(float q) {
#if defined(__SSE4_1__)
  return nearbyintf(q);
#else
  const float magic = 12582912.0f;
  q = q > -4194304.0f ? q : -4194304.0f;
  q = q < 4194304.0f ? q : 4194304.0f;
  return (q + magic) - magic;
#endif
}
TN_INLINE int32_t QUANT_NAME(whole)(float q, float zero, float lo, float hi) {
  float v = QUANT_NAME(round)(q) + zero;
  v = v > lo ? v : lo;
  return (int32_t)(v < hi ? v : hi);
}

#define QUANT_LOOPS(suffix, T, lo, hi)                                                                                \
  static void QUANT_NAME(to_##suffix)(const float *restrict x, const float *restrict scale, int64_t step,             \
                                      const void *zeros, void *out, int64_t n) {                                      \
    const T *restrict const zero = zeros;                                                                             \
    T *restrict const y = out;                                                                                        \
    const float s = scale[0], z = (float)zero[0];                                                                     \
    if (step == 0)                                                                                                    \
      for (int64_t i = 0; i < n; i++) y[i] = (T)QUANT_NAME(whole)(x[i] / s, z, lo, hi);                               \
    else                                                                                                              \
      for (int64_t i = 0; i < n; i++) y[i] = (T)QUANT_NAME(whole)(x[i] / scale[i], (float)zero[i], lo, hi);           \
  }                                                                                                                   \
  static void QUANT_NAME(from_##suffix)(const void *in, const float *restrict scale, int64_t step, const void *zeros, \
                                        float *restrict y, int64_t n) {                                               \
    const T *restrict const x = in, *restrict const zero = zeros;                                                     \
    const int32_t z = zero[0];                                                                                        \
    const float s = scale[0];                                                                                         \
    if (step == 0)                                                                                                    \
      for (int64_t i = 0; i < n; i++) y[i] = (float)((int32_t)x[i] - z) * s;                                          \
    else                                                                                                              \
      for (int64_t i = 0; i < n; i++) y[i] = (float)((int32_t)x[i] - (int32_t)zero[i]) * scale[i];                    \
  }
QUANT_LOOPS(u8, uint8_t, 0.0f, 255.0f)
QUANT_LOOPS(i8, int8_t, -128.0f, 127.0f)
QUANT_LOOPS(u16, uint16_t, 0.0f, 65535.0f)
QUANT_LOOPS(i16, int16_t, -32768.0f, 32767.0f)

extern const tn_quant_row QUANT_PASTE(tn_quant_rows, QUANT_LEVEL)[TN_N_QUANT_ROWS];
const tn_quant_row QUANT_PASTE(tn_quant_rows, QUANT_LEVEL)[TN_N_QUANT_ROWS] = {
    [TN_QUANT_U8] = {TN_U8, QUANT_NAME(to_u8), QUANT_NAME(from_u8)},
    [TN_QUANT_I8] = {TN_I8, QUANT_NAME(to_i8), QUANT_NAME(from_i8)},
    [TN_QUANT_U16] = {TN_U16, QUANT_NAME(to_u16), QUANT_NAME(from_u16)},
    [TN_QUANT_I16] = {TN_I16, QUANT_NAME(to_i16), QUANT_NAME(from_i16)},
};

#undef QUANT_LEVEL
#undef QUANT_PASTE_
#undef QUANT_PASTE
#undef QUANT_NAME
#undef QUANT_LOOPS
