/* Order of elements by integer keys. */
#ifndef TN_KERN_ORDER_H
#define TN_KERN_ORDER_H

#include <math.h>

#include "kern/kern.h"

/* Elements as keys whose integer order is the values' order: floats by their bits, NaN on top. */
static inline int64_t tn_order_key_f64(double v) {
  int64_t bits;
  if (isnan(v)) return INT64_MAX;
  v += 0.0; /* -0 is 0 */
  memcpy(&bits, &v, sizeof bits);
  return bits < 0 ? (int64_t)((uint64_t)bits ^ UINT64_C(0x7fffffffffffffff)) : bits;
}
static inline int64_t tn_order_key_f32(float v) {
  int32_t bits;
  if (v != v) return INT32_MAX;
  v += 0.0f;
  memcpy(&bits, &v, sizeof bits);
  return bits < 0 ? (int32_t)((uint32_t)bits ^ UINT32_C(0x7fffffff)) : bits;
}
static inline int64_t tn_order_key(tn_dtype d, const void *p, int64_t i) {
  if (d == TN_F32) return tn_order_key_f32(((const float *)p)[i]);
  if (tn_dtype_is_float(d)) return tn_order_key_f64(tn_load_f64(d, p, i));
  const int64_t v = tn_load_i64(d, p, i);
  return d == TN_U64 ? (int64_t)((uint64_t)v ^ UINT64_C(1) << 63) : v;
}

#endif
