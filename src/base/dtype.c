/* Element type rows and exact element access. */
#include "base/dtype.h"

#include <math.h>

#include "base/half.h"

const tn_dtype_row tn_dtype_rows[TN_N_DTYPES] = {
#define TN_DTYPE(name, onnx, text, bits, cls, npy) [onnx] = {text, DTYPE_ONNX_##name, npy, bits, TN_CLASS_##cls},
#define DTYPE_ONNX_F32 "float"
#define DTYPE_ONNX_U8 "uint8"
#define DTYPE_ONNX_I8 "int8"
#define DTYPE_ONNX_U16 "uint16"
#define DTYPE_ONNX_I16 "int16"
#define DTYPE_ONNX_I32 "int32"
#define DTYPE_ONNX_I64 "int64"
#define DTYPE_ONNX_STR "string"
#define DTYPE_ONNX_BOOL "bool"
#define DTYPE_ONNX_F16 "float16"
#define DTYPE_ONNX_F64 "double"
#define DTYPE_ONNX_U32 "uint32"
#define DTYPE_ONNX_U64 "uint64"
#define DTYPE_ONNX_C64 "complex64"
#define DTYPE_ONNX_C128 "complex128"
#define DTYPE_ONNX_BF16 "bfloat16"
#define DTYPE_ONNX_F8E4M3FN "float8e4m3fn"
#define DTYPE_ONNX_F8E4M3FNUZ "float8e4m3fnuz"
#define DTYPE_ONNX_F8E5M2 "float8e5m2"
#define DTYPE_ONNX_F8E5M2FNUZ "float8e5m2fnuz"
#define DTYPE_ONNX_U4 "uint4"
#define DTYPE_ONNX_I4 "int4"
#define DTYPE_ONNX_F4E2M1 "float4e2m1"
#define DTYPE_ONNX_F8E8M0 "float8e8m0"
#define DTYPE_ONNX_U2 "uint2"
#define DTYPE_ONNX_I2 "int2"
#include "tenon/dtype.def"
#undef TN_DTYPE
};

_Static_assert(sizeof(tn_str) == 16, "the STR row says 128 bits");

tn_dtype tn_dtype_find(tn_str name) {
  for (int d = 1; d < TN_N_DTYPES; d++) {
    if (tn_dtype_rows[d].name && tn_str_is(name, tn_dtype_rows[d].name)) return (tn_dtype)d;
  }
  return TN_DTYPE_NONE;
}

bool tn_dtype_bytes(tn_dtype d, int64_t n, size_t *out) {
  if (n < 0) return false;
  const size_t bits = tn_dtype_rows[d].bits;
  if (bits >= 8) return tn_mul_size((size_t)n, bits / 8, out);
  const size_t per_byte = bits ? 8 / bits : 1;
  *out = (size_t)n / per_byte + ((size_t)n % per_byte != 0);
  return true;
}

/* The packed element as it lies in memory, low bits first. */
static uint8_t dtype_load_packed(int bits, const void *p, int64_t i) {
  const int64_t per_byte = 8 / bits;
  const int shift = (int)(i % per_byte) * bits;
  return (uint8_t)(((const uint8_t *)p)[i / per_byte] >> shift & ((1 << bits) - 1));
}

static void dtype_store_packed(int bits, void *p, int64_t i, uint8_t v) {
  const int64_t per_byte = 8 / bits;
  const int shift = (int)(i % per_byte) * bits, mask = ((1 << bits) - 1) << shift;
  uint8_t *byte = (uint8_t *)p + i / per_byte;
  *byte = (uint8_t)((*byte & ~mask) | (v << shift & mask));
}

/* Data may lie at any address (a window of a file), hence memcpy. */
#define DTYPE_LOAD(type, p, i)                                                        \
  __extension__({                                                                     \
    type value_;                                                                      \
    memcpy(&value_, (const char *)(p) + (i) * (int64_t)sizeof value_, sizeof value_); \
    value_;                                                                           \
  })
#define DTYPE_STORE(type, p, i, v)                                              \
  do {                                                                          \
    const type value_ = (type)(v);                                              \
    memcpy((char *)(p) + (i) * (int64_t)sizeof value_, &value_, sizeof value_); \
  } while (0)

double tn_load_f64(tn_dtype d, const void *p, int64_t i) {
  switch (d) {
    case TN_F32:
      return (double)DTYPE_LOAD(float, p, i);
    case TN_F64:
      return DTYPE_LOAD(double, p, i);
    case TN_F16:
      return (double)tn_f16_to_f32(DTYPE_LOAD(uint16_t, p, i));
    case TN_BF16:
      return (double)tn_bf16_to_f32(DTYPE_LOAD(uint16_t, p, i));
    case TN_F8E4M3FN:
    case TN_F8E4M3FNUZ:
    case TN_F8E5M2:
    case TN_F8E5M2FNUZ:
    case TN_F8E8M0:
      return (double)tn_f8_to_f32((int)d, DTYPE_LOAD(uint8_t, p, i));
    case TN_F4E2M1:
      return (double)tn_f8_to_f32((int)d, dtype_load_packed(4, p, i));
    case TN_C64:
      return (double)DTYPE_LOAD(float, p, 2 * i);
    case TN_C128:
      return DTYPE_LOAD(double, p, 2 * i);
    case TN_U64:
      return (double)DTYPE_LOAD(uint64_t, p, i);
    default:
      return (double)tn_load_i64(d, p, i);
  }
}

static int64_t dtype_trunc_i64(double v) {
  if (!(v >= -0x1p63)) return isnan(v) ? 0 : INT64_MIN;
  return v < 0x1p63 ? (int64_t)v : INT64_MAX;
}

int64_t tn_load_i64(tn_dtype d, const void *p, int64_t i) {
  switch (d) {
    case TN_I8:
      return DTYPE_LOAD(int8_t, p, i);
    case TN_I16:
      return DTYPE_LOAD(int16_t, p, i);
    case TN_I32:
      return DTYPE_LOAD(int32_t, p, i);
    case TN_I64:
    case TN_U64:
      return DTYPE_LOAD(int64_t, p, i);
    case TN_U8:
      return DTYPE_LOAD(uint8_t, p, i);
    case TN_U16:
      return DTYPE_LOAD(uint16_t, p, i);
    case TN_U32:
      return DTYPE_LOAD(uint32_t, p, i);
    case TN_BOOL:
      return DTYPE_LOAD(uint8_t, p, i) != 0;
    case TN_U4:
      return dtype_load_packed(4, p, i);
    case TN_I4:
      return (dtype_load_packed(4, p, i) ^ 8) - 8;
    case TN_U2:
      return dtype_load_packed(2, p, i);
    case TN_I2:
      return (dtype_load_packed(2, p, i) ^ 2) - 2;
    case TN_DTYPE_NONE:
    case TN_STR:
      return 0;
    default:
      return dtype_trunc_i64(tn_load_f64(d, p, i));
  }
}

/* Truncated toward zero and saturated to the integer type. */
static void dtype_store_trunc(tn_dtype d, void *p, int64_t i, double v) {
  const int bits = tn_dtype_bits(d);
  const bool is_signed = tn_dtype_cls(d) == TN_CLASS_INT;
  if (d == TN_U64 && v >= 0x1p63) {
    tn_store_i64(d, p, i, v < 0x1p64 ? (int64_t)(uint64_t)v : -1);
    return;
  }
  int64_t x = dtype_trunc_i64(v);
  if (bits < 8) { /* the standard's reference wraps these, as numpy does */
    tn_store_i64(d, p, i, x);
    return;
  }
  if (!is_signed && x < 0) x = 0;
  if (bits < 64) {
    const int64_t high = (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1, low = is_signed ? -high - 1 : 0;
    x = x > high ? high : x < low ? low : x;
  }
  tn_store_i64(d, p, i, x);
}

void tn_store_f64_sat(tn_dtype d, void *p, int64_t i, double v, bool saturate) {
  switch (d) {
    case TN_F32:
      DTYPE_STORE(float, p, i, v);
      break;
    case TN_F64:
      DTYPE_STORE(double, p, i, v);
      break;
    case TN_F16:
      DTYPE_STORE(uint16_t, p, i, tn_f64_to_f16(v));
      break;
    case TN_BF16:
      DTYPE_STORE(uint16_t, p, i, tn_f64_to_bf16(v));
      break;
    case TN_F8E4M3FN:
    case TN_F8E4M3FNUZ:
    case TN_F8E5M2:
    case TN_F8E5M2FNUZ:
    case TN_F8E8M0:
      DTYPE_STORE(uint8_t, p, i, tn_f64_to_f8((int)d, v, saturate));
      break;
    case TN_F4E2M1:
      dtype_store_packed(4, p, i, tn_f64_to_f8((int)d, v, saturate));
      break;
    case TN_C64:
      DTYPE_STORE(float, p, 2 * i, v);
      DTYPE_STORE(float, p, 2 * i + 1, 0);
      break;
    case TN_C128:
      DTYPE_STORE(double, p, 2 * i, v);
      DTYPE_STORE(double, p, 2 * i + 1, 0);
      break;
    case TN_BOOL:
      DTYPE_STORE(uint8_t, p, i, v != 0);
      break;
    case TN_DTYPE_NONE:
    case TN_STR:
      break;
    default:
      dtype_store_trunc(d, p, i, v);
  }
}

void tn_store_f64(tn_dtype d, void *p, int64_t i, double v) { tn_store_f64_sat(d, p, i, v, true); }

void tn_store_i64(tn_dtype d, void *p, int64_t i, int64_t v) {
  const uint64_t u = (uint64_t)v;
  switch (d) {
    case TN_I8:
    case TN_U8:
      DTYPE_STORE(uint8_t, p, i, u);
      break;
    case TN_I16:
    case TN_U16:
      DTYPE_STORE(uint16_t, p, i, u);
      break;
    case TN_I32:
    case TN_U32:
      DTYPE_STORE(uint32_t, p, i, u);
      break;
    case TN_I64:
    case TN_U64:
      DTYPE_STORE(uint64_t, p, i, u);
      break;
    case TN_BOOL:
      DTYPE_STORE(uint8_t, p, i, v != 0);
      break;
    case TN_U4:
    case TN_I4:
      dtype_store_packed(4, p, i, (uint8_t)(u & 15));
      break;
    case TN_U2:
    case TN_I2:
      dtype_store_packed(2, p, i, (uint8_t)(u & 3));
      break;
    case TN_F32:
      DTYPE_STORE(float, p, i, v);
      break;
    case TN_F64:
      DTYPE_STORE(double, p, i, v);
      break;
    default: {
      const double m = tn_u64_to_odd_f64(v < 0 ? 0 - u : u);
      tn_store_f64_sat(d, p, i, v < 0 ? -m : m, true);
    }
  }
}

void tn_copy_element(tn_dtype d, void *dst, int64_t di, const void *src, int64_t si) {
  const int bits = tn_dtype_bits(d);
  if (bits < 8) {
    if (bits) dtype_store_packed(bits, dst, di, dtype_load_packed(bits, src, si));
    return;
  }
  const int64_t bytes = bits / 8;
  char *const to = (char *)dst + di * bytes;
  const char *const from = (const char *)src + si * bytes;
  switch (bytes) { /* sizes the compiler knows become single moves */
    case 1:
      memcpy(to, from, 1);
      break;
    case 2:
      memcpy(to, from, 2);
      break;
    case 4:
      memcpy(to, from, 4);
      break;
    case 8:
      memcpy(to, from, 8);
      break;
    default:
      memcpy(to, from, (size_t)bytes);
  }
}
