/* Slice: a strided view, copied. op/slice.c says what the places mean. */
#include "kern/move.h"

enum { SLICE_K_FAR = INT32_MAX };

static tn_status slice_place(tn_kcall *k, int axis, int64_t start, int64_t end, int64_t step, int64_t dim,
                             int64_t *first, int64_t *n) {
  if (step == 0) return tn_k_fail(k, TN_INVALID, "the step of axis %d is 0", axis);
  if (end == SLICE_K_FAR || end > dim) end = dim;
  if (end == -(int64_t)SLICE_K_FAR || end == INT32_MIN || end < -dim)
    end = -1;
  else if (end < 0)
    end += dim;
  if (start < -dim || start == -(int64_t)SLICE_K_FAR || start == INT32_MIN)
    start = 0;
  else if (start < 0)
    start += dim;
  const int64_t top = step > 0 ? dim : dim - 1;
  *first = start > top || start == SLICE_K_FAR ? top : start;
  if (step > 0) {
    *n = end > *first ? 1 + (end - *first - 1) / step : 0;
  } else {
    *n = *first > end ? 1 + (int64_t)((uint64_t)(*first - end - 1) / (0 - (uint64_t)step)) : 0;
  }
  return TN_OK;
}

TN_KERNEL(slice, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 3, 1));
  const tn_karg *const x = k->in[0];
  int64_t list[4][TN_K_MAX_RANK], n[4] = {0}, strides[TN_K_MAX_RANK], dims[TN_K_MAX_RANK];
  for (int i = 0; i < 4; i++) {
    if (i >= 2 && !tn_k_in(k, i + 1)) continue;
    TN_TRY(tn_k_ints(k, i + 1, x->rank, list[i], &n[i]));
    if (n[i] != n[0]) return tn_k_fail(k, TN_MISMATCH, "starts, ends, axes and steps differ in length");
  }
  for (int d = 0; d < x->rank; d++) {
    if (!tn_k_in(k, 3)) list[2][d] = d;
    if (!tn_k_in(k, 4)) list[3][d] = 1;
  }
  int set[TN_K_MAX_RANK];
  TN_TRY(tn_k_axis_set(k, n[0], list[2], x->rank, set));
  tn_move m = {.dtype = x->dtype, .rank = x->rank, .src = x->data};
  tn_k_strides(x->rank, x->dims, strides);
  for (int d = 0; d < x->rank; d++) {
    int64_t first = 0;
    dims[d] = x->dims[d];
    m.from[d] = strides[d];
    if (set[d] >= 0) {
      const int64_t step = list[3][set[d]];
      TN_TRY(slice_place(k, d, list[0][set[d]], list[1][set[d]], step, x->dims[d], &first, &dims[d]));
      m.from[d] = dims[d] > 1 ? strides[d] * step : 0; /* a step past the end must not overflow */
    }
    m.src_at += first * strides[d];
    m.dims[d] = dims[d];
  }
  TN_TRY(tn_k_out(k, 0, x->rank, dims));
  m.dst = k->out[0]->data;
  tn_k_strides(x->rank, dims, m.to);
  tn_k_move(k->pool, &m);
  return TN_OK;
}
