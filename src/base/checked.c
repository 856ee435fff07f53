/* The checked functions that are too long for the header. */
#include "base/checked.h"

#include <math.h>

bool tn_f32scale_i64(int64_t a, float c, int64_t *out) {
  const float v = floorf((float)a * c);
  if (!(v >= -0x1p63f && v < 0x1p63f)) return false; /* also refuses NaN */
  *out = (int64_t)v;
  return true;
}

bool tn_f32ratio_i64(int64_t a, int64_t n, int64_t d, int64_t *out) {
  if (d == 0) return false;
  const float scale = (float)n / (float)d, product = scale * (float)a;
  const double v = floor((double)product + 0.5);
  if (!(v >= -0x1p63 && v < 0x1p63)) return false;
  *out = (int64_t)v;
  return true;
}

bool tn_dims_count(const int64_t *dims, int rank, int64_t *out) {
  int64_t n = 1;
  bool empty = false;
  if (rank < 0) return false;
  for (int i = 0; i < rank; i++) {
    if (dims[i] < 0) return false;
    if (dims[i] == 0)
      empty = true;
    else if (!tn_mul_i64(n, dims[i], &n))
      return false;
  }
  *out = empty ? 0 : n;
  return true;
}
