/* Overflow-checked arithmetic and the integer functions whose exact meaning Tenon relies on. Every size that comes
 * from outside goes through here. The checked functions return false on overflow and leave *out unspecified. */
#ifndef TN_BASE_CHECKED_H
#define TN_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

TN_MUST_CHECK static inline bool tn_add_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
TN_MUST_CHECK static inline bool tn_sub_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_sub_overflow(a, b, out);
}
TN_MUST_CHECK static inline bool tn_mul_i64(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
TN_MUST_CHECK static inline bool tn_add_size(size_t a, size_t b, size_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
TN_MUST_CHECK static inline bool tn_mul_size(size_t a, size_t b, size_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
/* Rounds up to a multiple of `align`, a power of two. */
TN_MUST_CHECK static inline bool tn_align_size(size_t a, size_t align, size_t *out) {
  size_t t;
  if (!tn_add_size(a, align - 1, &t)) return false;
  *out = t & ~(align - 1);
  return true;
}

/* Python's //: rounds toward minus infinity. False when b == 0 or on INT64_MIN // -1. */
TN_MUST_CHECK static inline bool tn_floordiv_i64(int64_t a, int64_t b, int64_t *out) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  int64_t q = a / b;
  if (a % b != 0 && ((a < 0) != (b < 0))) q--;
  *out = q;
  return true;
}
TN_MUST_CHECK static inline bool tn_ceildiv_i64(int64_t a, int64_t b, int64_t *out) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  int64_t q = a / b;
  if (a % b != 0 && ((a < 0) == (b < 0))) q++;
  *out = q;
  return true;
}
/* Python's %: the result has the sign of b. */
TN_MUST_CHECK static inline bool tn_mod_i64(int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return false;
  if (b == -1) {
    *out = 0;
    return true;
  }
  int64_t r = a % b;
  if (r != 0 && ((r < 0) != (b < 0))) r += b;
  *out = r;
  return true;
}
/* floor(float32(a) * c): how Resize turns a size and a float32 scale into a size. False when not an int64. */
TN_MUST_CHECK bool tn_f32scale_i64(int64_t a, float c, int64_t *out);
/* float32(a) * (float32(n) / float32(d)) to the nearest integer, halves up: how Resize keeps the ratio of the sides.
 * False when d is 0, or the result is not an int64. */
TN_MUST_CHECK bool tn_f32ratio_i64(int64_t a, int64_t n, int64_t d, int64_t *out);

/* Number of elements; the product of no dims is 1, a zero dim gives 0. False on a negative dim or overflow (checked
 * over the non-zero dims, so that 0 x huge is refused like huge). */
TN_MUST_CHECK bool tn_dims_count(const int64_t *dims, int rank, int64_t *out);

#endif
