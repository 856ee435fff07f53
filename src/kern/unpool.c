/* Moving elements between channels, windows and planes: DepthToSpace, SpaceToDepth, MaxUnpool, Col2Im. */
#include <string.h>

#include "kern/move.h"
#include "kern/shadow.h"
#include "kern/window.h"

/* The axes are (image, c, h, i, j, w): both planes have a stride for each, and only which side is read differs. */
static tn_status unpool_depth(tn_kcall *k, bool to_space) {
  const tn_karg *x = k->in[0];
  tn_karg *y = k->out[0];
  const tn_karg *large = to_space ? y : x, *deep = to_space ? x : y;
  const int64_t b = tn_k_int(k, "blocksize", 1), c = large->dims[1], h = deep->dims[2], w = deep->dims[3];
  const bool crd = tn_k_str_is(k, "mode", "CRD");
  if (y->count == 0) return TN_OK;
  const int64_t in_large[6] = {c * h * b * w * b, h * b * w * b, b * w * b, w * b, 1, b}, plane = h * w;
  const int64_t in_deep[6] = {
      c * b * b * plane, crd ? b * b * plane : plane, w, crd ? b * plane : b * c * plane, crd ? plane : c * plane, 1};
  tn_move m = {.dtype = x->dtype, .rank = 6, .dims = {large->dims[0], c, h, b, b, w}, .dst = y->data, .src = x->data};
  memcpy(m.to, to_space ? in_large : in_deep, sizeof in_large);
  memcpy(m.from, to_space ? in_deep : in_large, sizeof in_large);
  tn_k_move(k->pool, &m);
  return TN_OK;
}

static tn_status unpool_depth_size(tn_kcall *k, bool to_space) {
  const tn_karg *x = k->in[0];
  const int64_t b = tn_k_int(k, "blocksize", 1);
  if (x->rank != 4 || b < 1 || b > INT32_MAX || (to_space ? x->dims[1] % (b * b) : x->dims[2] % b + x->dims[3] % b))
    return tn_k_fail(k, TN_MISMATCH, "blocks of %lld do not divide the input", (long long)b);
  int64_t dims[4] = {x->dims[0], x->dims[1] / (b * b), 0, 0};
  bool fits = true;
  for (int i = 2; i < 4; i++) {
    dims[i] = x->dims[i] / b;
    if (to_space) fits = fits && tn_mul_i64(x->dims[i], b, &dims[i]);
  }
  if (!to_space) fits = tn_mul_i64(x->dims[1], b * b, &dims[1]);
  return fits ? tn_k_out(k, 0, 4, dims) : tn_k_fail(k, TN_LIMIT, "blocks of %lld are too large", (long long)b);
}

TN_KERNEL(depth_to_space, TN_K_SIZES) {
  TN_TRY(unpool_depth_size(k, true));
  return unpool_depth(k, true);
}
TN_KERNEL(space_to_depth, TN_K_SIZES) {
  TN_TRY(unpool_depth_size(k, false));
  return unpool_depth(k, false);
}

/* Indices count positions of the size that the window gives; a given output_shape extends it with zeros. */
TN_KERNEL(max_unpool, TN_K_SIZES) {
  const tn_karg *x = k->in[0], *index = k->in[1], *shape = tn_k_in(k, 2);
  const int n = x->rank - 2;
  int64_t kernel[TN_KW_MAX], stride[TN_KW_MAX], pads[2 * TN_KW_MAX], own[TN_K_MAX_RANK], dims[TN_K_MAX_RANK], all;
  if (n < 1 || index->count != x->count || (shape && shape->count != x->rank))
    return tn_k_fail(k, TN_MISMATCH, "max_unpool: indices or output_shape do not fit");
  TN_TRY(tn_kwindow_ints(k, "kernel_shape", n, 1, kernel));
  TN_TRY(tn_kwindow_ints(k, "strides", n, 1, stride));
  TN_TRY(tn_kwindow_ints(k, "pads", 2 * n, 0, pads));
  for (int i = 0; i < x->rank; i++) {
    own[i] = i < 2 ? x->dims[i] : (x->dims[i] - 1) * stride[i - 2] + kernel[i - 2] - pads[i - 2] - pads[n + i - 2];
    dims[i] = shape ? tn_k_i64(shape, i) : own[i];
    if (own[i] < 0 || dims[i] < 0) return tn_k_fail(k, TN_MISMATCH, "max_unpool: dim %d is negative", i);
  }
  if (!tn_dims_count(own, x->rank, &all)) return tn_k_fail(k, TN_LIMIT, "max_unpool: too large");
  TN_TRY(tn_k_out(k, 0, x->rank, dims));
  tn_karg *y = k->out[0];
  const int bits = tn_dtype_bits(y->dtype);
  memset(y->data, 0, (size_t)y->count * (size_t)(bits / 8));
  const bool same = memcmp(own, dims, (size_t)x->rank * sizeof own[0]) == 0;
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t from = tn_k_i64(index, i);
    int64_t rest = from, to = 0, step = 1;
    bool inside = true;
    if (same && y->dtype == TN_F32 && from >= 0 && from < all) {
      ((float *)y->data)[from] = ((const float *)x->data)[i];
      continue;
    }
    if (from < 0 || from >= all)
      return tn_k_fail(k, TN_MISMATCH, "max_unpool: index %lld of %lld", (long long)from, (long long)all);
    for (int d = x->rank - 1; d >= 0; d--) {
      const int64_t p = rest % own[d];
      rest /= own[d];
      inside = inside && p < dims[d];
      to += p * step;
      step *= dims[d];
    }
    if (inside) tn_k_copy(y->dtype, y->data, to, x->data, i, 1);
  }
  return TN_OK;
}

/* Adds column element v to a sum: exactly for integers, in double for floats. */
static void unpool_add(const tn_karg *x, int64_t from, double *sum, uint64_t *whole) {
  if (tn_dtype_is_float(x->dtype))
    *sum += tn_load_f64(x->dtype, x->data, from);
  else
    *whole += (uint64_t)tn_load_i64(x->dtype, x->data, from);
}

static tn_status unpool_col2im_dims(tn_kcall *k, tn_kwindow *w, int64_t *dims) {
  const tn_karg *x = k->in[0], *image = k->in[1], *block = k->in[2];
  int64_t in[TN_KW_MAX], kernel[TN_KW_MAX], out[TN_KW_MAX], stride[TN_KW_MAX], dilation[TN_KW_MAX], pads[2 * TN_KW_MAX];
  const int64_t n = image->count;
  if (n < 1 || n > TN_KW_MAX || block->count != n || x->rank != 3)
    return tn_k_fail(k, TN_MISMATCH, "col2im: %lld image dims, %lld block dims, rank %d", (long long)n,
                     (long long)block->count, x->rank);
  TN_TRY(tn_kwindow_ints(k, "strides", (int)n, 1, stride));
  TN_TRY(tn_kwindow_ints(k, "dilations", (int)n, 1, dilation));
  TN_TRY(tn_kwindow_ints(k, "pads", 2 * (int)n, 0, pads));
  for (int i = 0; i < n; i++) {
    in[i] = tn_k_i64(image, i);
    kernel[i] = tn_k_i64(block, i);
    if (in[i] < 0 || in[i] > INT32_MAX || kernel[i] < 1 || kernel[i] > INT32_MAX || stride[i] < 1 || dilation[i] < 1)
      return tn_k_fail(k, TN_MISMATCH, "col2im: image or block dim %d is out of range", i);
    const int64_t room = in[i] + pads[i] + pads[n + i] - (kernel[i] - 1) * dilation[i] - 1;
    out[i] = room < 0 ? 0 : room / stride[i] + 1;
    dims[2 + i] = in[i];
  }
  TN_TRY(tn_kwindow_read(k, (int)n, in, out, kernel, w));
  if (w->n_out != x->dims[2] || x->dims[1] % w->n_taps != 0)
    return tn_k_fail(k, TN_MISMATCH, "col2im: %lld columns of %lld, expected %lld", (long long)x->dims[2],
                     (long long)x->dims[1], (long long)w->n_out);
  dims[0] = x->dims[0];
  dims[1] = x->dims[1] / w->n_taps;
  return TN_OK;
}

/* Adds to a plane what the columns of tap t give it: `sums` (floats) or `wholes` (integers) has a place for each
 * element. */
static void unpool_tap(const tn_kwindow *w, const tn_karg *x, int64_t first, int64_t t, double *sums,
                       uint64_t *wholes) {
  const int last = w->n - 1;
  const int64_t columns = w->out[last];
  int64_t shift[TN_KW_MAX];
  for (int i = last; i >= 0; i--) {
    shift[i] = t % w->kernel[i] * w->dilation[i] - w->lo[i];
    t /= w->kernel[i];
  }
  for (int64_t row = 0; row < w->n_out / columns; row++) {
    int64_t rest = row, at = 0, step = w->in[last];
    bool inside = true;
    for (int i = last - 1; i >= 0; i--) {
      const int64_t p = rest % w->out[i] * w->stride[i] + shift[i];
      rest /= w->out[i];
      inside = inside && p >= 0 && p < w->in[i];
      at += p * step;
      step *= w->in[i];
    }
    const int64_t stride = w->stride[last], p0 = shift[last], from = first + row * columns;
    int64_t o = p0 < 0 ? (-p0 + stride - 1) / stride : 0,
            end = w->in[last] > p0 ? (w->in[last] - p0 + stride - 1) / stride : 0;
    end = end < columns ? end : columns;
    if (!inside || o >= end) continue;
    if (x->dtype == TN_F32) {
      const float *const values = (const float *)x->data + from;
      double *restrict const to = sums + at;
      if (stride == 1)
        for (; o < end; o++) to[p0 + o] += (double)values[o];
      for (; o < end; o++) to[p0 + o * stride] += (double)values[o];
    }
    for (; o < end; o++) unpool_add(x, from + o, &sums[at + p0 + o * stride], &wholes[at + p0 + o * stride]);
  }
}

TN_KERNEL(col2im, TN_K_SIZES) {
  const tn_karg *x = k->in[0];
  tn_kwindow w;
  int64_t dims[TN_K_MAX_RANK];
  void *sums, *wholes;
  if (!tn_dtype_is_float(x->dtype) && !tn_dtype_is_int(x->dtype)) return tn_k_no_dtype(k, 0);
  TN_TRY(unpool_col2im_dims(k, &w, dims));
  TN_TRY(tn_k_out(k, 0, w.n + 2, dims));
  tn_karg *y = k->out[0];
  if (y->count == 0) return TN_OK;
  TN_TRY(tn_k_room(k, w.n_in, sizeof(double), &sums));
  TN_TRY(tn_k_room(k, w.n_in, sizeof(uint64_t), &wholes));
  for (int64_t plane = 0; plane < y->count / w.n_in; plane++) {
    for (int64_t i = 0; i < w.n_in; i++) ((double *)sums)[i] = 0, ((uint64_t *)wholes)[i] = 0;
    for (int64_t t = 0; t < w.n_taps && w.n_out > 0; t++)
      unpool_tap(&w, x, (plane * w.n_taps + t) * w.n_out, t, sums, wholes);
    for (int64_t i = 0; i < w.n_in; i++)
      if (x->dtype == TN_F32)
        ((float *)y->data)[plane * w.n_in + i] = (float)((const double *)sums)[i];
      else if (tn_dtype_is_float(x->dtype))
        tn_store_f64(y->dtype, y->data, plane * w.n_in + i, ((const double *)sums)[i]);
      else
        tn_store_i64(y->dtype, y->data, plane * w.n_in + i, (int64_t)((const uint64_t *)wholes)[i]);
  }
  return TN_OK;
}
