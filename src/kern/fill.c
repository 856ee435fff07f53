/* Tensors made from small operands: ConstantOfShape, Range, Expand. */
#include <math.h>

#include "kern/move.h"

static tn_status fill_dims(tn_kcall *k, const tn_karg *shape, int64_t *dims) {
  if (shape->count > TN_K_MAX_RANK)
    return tn_k_fail(k, TN_LIMIT, "rank %lld is above %d", (long long)shape->count, TN_K_MAX_RANK);
  for (int i = 0; i < (int)shape->count; i++) {
    dims[i] = tn_k_i64(shape, i);
    if (dims[i] < 0) return tn_k_fail(k, TN_INVALID, "dim %d is %lld, which is negative", i, (long long)dims[i]);
  }
  return TN_OK;
}

TN_KERNEL(constant_of_shape, TN_K_SIZES) {
  int64_t dims[TN_K_MAX_RANK];
  TN_TRY(fill_dims(k, k->in[0], dims));
  TN_TRY(tn_k_out(k, 0, (int)k->in[0]->count, dims));
  tn_karg *const y = k->out[0];
  const tn_kattr *const value = tn_k_attr(k, "value");
  size_t bytes;
  if (!tn_dtype_bytes(y->dtype, y->count, &bytes)) return tn_k_fail(k, TN_LIMIT, "too many elements");
  if (bytes) memset(y->data, 0, bytes);
  if (!value || y->count == 0) return TN_OK;
  if (value->kind != TN_KATTR_TENSOR || value->tensor->dtype != y->dtype || value->tensor->count < 1)
    return tn_k_fail(k, TN_INTERNAL, "attribute 'value' is no element of the output");
  /* Doubling copies: one element, then as many as are there already. */
  tn_copy_element(y->dtype, y->data, 0, value->tensor->data, 0);
  for (int64_t done = 1; done < y->count; done *= 2)
    tn_k_copy(y->dtype, y->data, done, y->data, 0, done < y->count - done ? done : y->count - done);
  return TN_OK;
}

TN_KERNEL(range, TN_K_SIZES) {
  const tn_karg *const a = k->in[0];
  int64_t n = 0;
  for (int i = 0; i < 3; i++)
    if (k->in[i]->count != 1)
      return tn_k_fail(k, TN_MISMATCH, "input %d has %lld elements, expected 1", i, (long long)k->in[i]->count);
  if (tn_dtype_is_float(a->dtype)) {
    const double start = tn_load_f64(a->dtype, a->data, 0), limit = tn_load_f64(a->dtype, k->in[1]->data, 0);
    const double delta = tn_load_f64(a->dtype, k->in[2]->data, 0), steps = ceil((limit - start) / delta);
    if (steps >= 1e15) return tn_k_fail(k, TN_LIMIT, "too many elements");
    n = steps > 0 ? (int64_t)steps : 0;
    TN_TRY(tn_k_out(k, 0, 1, &n));
    for (int64_t i = 0; i < n; i++) tn_store_f64(a->dtype, k->out[0]->data, i, start + (double)i * delta);
    return TN_OK;
  }
  const int64_t start = tn_k_i64(a, 0), delta = tn_k_i64(k->in[2], 0);
  int64_t span;
  if (delta == 0) return tn_k_fail(k, TN_INVALID, "delta is 0");
  if (!tn_sub_i64(tn_k_i64(k->in[1], 0), start, &span) || !tn_ceildiv_i64(span, delta, &n))
    return tn_k_fail(k, TN_LIMIT, "too many elements");
  if (n < 0) n = 0;
  TN_TRY(tn_k_out(k, 0, 1, &n));
  if (a->dtype == TN_I64)
    for (int64_t i = 0; i < n; i++) ((int64_t *)k->out[0]->data)[i] = start + i * delta;
  else
    for (int64_t i = 0; i < n; i++) tn_store_i64(a->dtype, k->out[0]->data, i, start + i * delta);
  return TN_OK;
}

TN_KERNEL(expand, TN_K_SIZES) {
  int64_t target[TN_K_MAX_RANK], dims[TN_K_MAX_RANK];
  int rank;
  TN_TRY(fill_dims(k, k->in[1], target));
  tn_karg shape = {.rank = (int)k->in[1]->count};
  for (int i = 0; i < shape.rank; i++) shape.dims[i] = target[i];
  const tn_karg *const pair[2] = {k->in[0], &shape};
  TN_TRY(tn_k_bcast(k, pair, 2, &rank, dims));
  TN_TRY(tn_k_out(k, 0, rank, dims));
  const tn_karg *const x = k->in[0], *const y = k->out[0];
  if (y->count == 0) return TN_OK;
  if (x->count == y->count) {
    tn_k_copy(x->dtype, y->data, 0, x->data, 0, x->count);
    return TN_OK;
  }
  tn_move m = {.dtype = y->dtype, .rank = rank, .src = x->data, .dst = y->data};
  for (int d = 0; d < rank; d++) m.dims[d] = dims[d];
  tn_k_strides(rank, dims, m.to);
  tn_k_bcast_strides(x, rank, m.from);
  tn_k_move(k->pool, &m);
  return TN_OK;
}
