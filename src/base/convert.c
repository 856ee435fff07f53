/* Cast of whole arrays: loops for the common pairs, element by element for the rest. */
#include <math.h>

#include "base/dtype.h"
#include "base/half.h"

/* Float to integer: toward zero, saturated, NaN = 0. Written so that the loops below vectorise. */
static int64_t convert_f32_i64(float v) {
  return v >= 0x1p63f ? INT64_MAX : v < -0x1p63f ? INT64_MIN : v == v ? (int64_t)v : 0;
}
static int32_t convert_f32_i32(float v) {
  return v >= 0x1p31f ? INT32_MAX : v < -0x1p31f ? INT32_MIN : v == v ? (int32_t)v : 0;
}
static uint8_t convert_f32_u8(float v) { return v >= 255.0f ? 255 : v > 0.0f ? (uint8_t)v : 0; }
static int8_t convert_f32_i8(float v) {
  return v >= 127.0f ? 127 : v <= -128.0f ? -128 : v == v ? (int8_t)v : (int8_t)0;
}

/* CONVERT(source number, source C type, target number, target C type, value of x) */
#define CONVERT_PAIRS                                                 \
  CONVERT(F16, uint16_t, F32, float, tn_f16_to_f32(x))                \
  CONVERT(F32, float, F16, uint16_t, tn_f32_to_f16(x))                \
  CONVERT(BF16, uint16_t, F32, float, tn_bf16_to_f32(x))              \
  CONVERT(F32, float, BF16, uint16_t, tn_f32_to_bf16(x))              \
  CONVERT(F64, double, F32, float, (float)x)                          \
  CONVERT(F32, float, F64, double, (double)x)                         \
  CONVERT(I64, int64_t, F32, float, (float)x)                         \
  CONVERT(F32, float, I64, int64_t, convert_f32_i64(x))               \
  CONVERT(I32, int32_t, F32, float, (float)x)                         \
  CONVERT(F32, float, I32, int32_t, convert_f32_i32(x))               \
  CONVERT(U8, uint8_t, F32, float, (float)x)                          \
  CONVERT(F32, float, U8, uint8_t, convert_f32_u8(x))                 \
  CONVERT(I8, int8_t, F32, float, (float)x)                           \
  CONVERT(F32, float, I8, int8_t, convert_f32_i8(x))                  \
  CONVERT(BOOL, uint8_t, F32, float, x ? 1.0f : 0.0f)                 \
  CONVERT(F32, float, BOOL, uint8_t, !(x == 0.0f))                    \
  CONVERT(U64, uint64_t, F32, float, (float)x)                        \
  CONVERT(U64, uint64_t, F64, double, (double)x)                      \
  CONVERT(I64, int64_t, I32, int32_t, (int32_t)(uint32_t)(uint64_t)x) \
  CONVERT(I32, int32_t, I64, int64_t, x)                              \
  CONVERT(BOOL, uint8_t, I64, int64_t, x != 0)                        \
  CONVERT(BOOL, uint8_t, I32, int32_t, x != 0)                        \
  CONVERT(I64, int64_t, BOOL, uint8_t, x != 0)                        \
  CONVERT(I32, int32_t, BOOL, uint8_t, x != 0)                        \
  CONVERT(U8, uint8_t, I32, int32_t, x)                               \
  CONVERT(U8, uint8_t, I64, int64_t, x)

/* Addresses may be odd (a window of a file), hence memcpy; compilers turn it into plain vector loads. */
#define CONVERT(from, from_type, to, to_type, value)                        \
  static void convert_##from##_##to(char *dst, const char *src, size_t n) { \
    for (size_t i = 0; i < n; i++) {                                        \
      from_type x;                                                          \
      memcpy(&x, src + i * sizeof x, sizeof x);                             \
      const to_type y = (value);                                            \
      memcpy(dst + i * sizeof y, &y, sizeof y);                             \
    }                                                                       \
  }
CONVERT_PAIRS
#undef CONVERT

typedef struct convert_row {
  tn_dtype from, to;
  void (*fn)(char *dst, const char *src, size_t n);
} convert_row;

static const convert_row convert_rows[] = {
#define CONVERT(from, from_type, to, to_type, value) {TN_##from, TN_##to, convert_##from##_##to},
    CONVERT_PAIRS
#undef CONVERT
};

static void convert_complex(tn_dtype to, void *dst, tn_dtype from, const void *src, int64_t n) {
  const tn_dtype to_part = to == TN_C64 ? TN_F32 : TN_F64, from_part = from == TN_C64 ? TN_F32 : TN_F64;
  for (int64_t i = 0; i < 2 * n; i++) tn_store_f64(to_part, dst, i, tn_load_f64(from_part, src, i));
}

/* An integer as a double that rounds to `to` as the integer itself would. */
static double convert_int_f64(tn_dtype to, tn_dtype from, const void *src, int64_t i) {
  if (to == TN_F64) return tn_load_f64(from, src, i);
  const int64_t v = tn_load_i64(from, src, i);
  const bool negative = v < 0 && from != TN_U64;
  const double m = tn_u64_to_odd_f64(negative ? 0 - (uint64_t)v : (uint64_t)v);
  return negative ? -m : m;
}

static void convert_each(tn_dtype to, void *dst, tn_dtype from, const void *src, int64_t n, bool saturate) {
  const bool from_float = tn_dtype_is_float(from), to_float = tn_dtype_is_float(to);
  for (int64_t i = 0; i < n; i++) {
    if (from_float)
      tn_store_f64_sat(to, dst, i, tn_load_f64(from, src, i), saturate);
    else if (to_float)
      tn_store_f64_sat(to, dst, i, convert_int_f64(to, from, src, i), saturate);
    else
      tn_store_i64(to, dst, i, tn_load_i64(from, src, i));
  }
}

bool tn_convert(tn_dtype to, void *dst, tn_dtype from, const void *src, int64_t n, bool saturate) {
  const tn_dtype_class to_class = tn_dtype_cls(to), from_class = tn_dtype_cls(from);
  if (to_class == TN_CLASS_NONE || from_class == TN_CLASS_NONE) return false;
  if (to_class == TN_CLASS_STRING || from_class == TN_CLASS_STRING) return false;
  if ((to_class == TN_CLASS_COMPLEX) != (from_class == TN_CLASS_COMPLEX)) return false;
  if (n <= 0) return true;
  if (to == from) {
    size_t bytes;
    if (!tn_dtype_bytes(to, n, &bytes)) return false;
    memcpy(dst, src, bytes);
    return true;
  }
  if (to_class == TN_CLASS_COMPLEX) {
    convert_complex(to, dst, from, src, n);
    return true;
  }
  for (size_t i = 0; i < TN_COUNT(convert_rows); i++) {
    if (convert_rows[i].from != from || convert_rows[i].to != to) continue;
    convert_rows[i].fn(dst, src, (size_t)n);
    return true;
  }
  convert_each(to, dst, from, src, n, saturate);
  return true;
}
