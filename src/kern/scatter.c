/* ScatterElements, ScatterND, TensorScatter. Updates are applied in order, so equal indices have one outcome. */
#include <math.h>

#include "kern/move.h"

typedef enum scatter_mode { SCATTER_K_NONE, SCATTER_K_ADD, SCATTER_K_MUL, SCATTER_K_MAX, SCATTER_K_MIN } scatter_mode;

static tn_status scatter_begin(tn_kcall *k, scatter_mode *out) {
  static const char *const names[5] = {"none", "add", "mul", "max", "min"};
  TN_TRY(tn_k_same_type(k, 3, 1));
  TN_TRY(tn_k_int_type(k, 1));
  const tn_karg *const x = k->in[0];
  if (k->in[2]->dtype != x->dtype) return tn_k_fail(k, TN_INTERNAL, "data and updates differ in element type");
  *out = SCATTER_K_NONE;
  for (int i = 1; i < 5; i++)
    if (tn_k_str_is(k, "reduction", names[i])) *out = (scatter_mode)i;
  if (*out != SCATTER_K_NONE && !tn_dtype_is_float(x->dtype) && !tn_dtype_is_int(x->dtype) && x->dtype != TN_BOOL)
    return tn_k_no_dtype(k, 0);
  return tn_k_out_copy(k, 0, x);
}
static double scatter_f64(scatter_mode mode, double a, double b) {
  if (mode == SCATTER_K_ADD) return a + b;
  if (mode == SCATTER_K_MUL) return a * b;
  if (isnan(a) || isnan(b)) return (double)NAN;
  return (mode == SCATTER_K_MAX) == (b > a) ? b : a;
}
static int64_t scatter_i64(scatter_mode mode, tn_dtype d, int64_t a, int64_t b) {
  if (mode == SCATTER_K_ADD) return d == TN_BOOL ? (a | b) : (int64_t)((uint64_t)a + (uint64_t)b);
  if (mode == SCATTER_K_MUL) return (int64_t)((uint64_t)a * (uint64_t)b);
  const bool above = d == TN_U64 ? (uint64_t)b > (uint64_t)a : b > a;
  return (mode == SCATTER_K_MAX) == above ? b : a;
}
/* n consecutive elements. */
static void scatter_put_run(scatter_mode mode, tn_karg *y, int64_t to, const tn_karg *u, int64_t from, int64_t n) {
  const tn_dtype d = y->dtype;
  if (mode == SCATTER_K_NONE) {
    tn_k_copy(d, y->data, to, u->data, from, n);
  } else if (d == TN_F32) {
    float *const a = (float *)y->data + to;
    const float *const b = (const float *)u->data + from;
    for (int64_t i = 0; i < n; i++)
      a[i] = mode == SCATTER_K_ADD ? a[i] + b[i] : (float)scatter_f64(mode, (double)a[i], (double)b[i]);
  } else {
    for (int64_t i = 0; i < n; i++) {
      if (tn_dtype_is_float(d))
        tn_store_f64(d, y->data, to + i,
                     scatter_f64(mode, tn_load_f64(d, y->data, to + i), tn_load_f64(d, u->data, from + i)));
      else
        tn_store_i64(d, y->data, to + i,
                     scatter_i64(mode, d, tn_load_i64(d, y->data, to + i), tn_load_i64(d, u->data, from + i)));
    }
  }
}
static tn_status scatter_index(tn_kcall *k, const tn_karg *at, int64_t i, int64_t dim, int64_t *out) {
  const int64_t v = tn_k_i64(at, i);
  if (v < -dim || v >= dim)
    return tn_k_fail(k, TN_MISMATCH, "index %lld, element %lld of the indices, is out of range for a dim of %lld",
                     (long long)v, (long long)i, (long long)dim);
  *out = v < 0 ? v + dim : v;
  return TN_OK;
}

TN_KERNEL(scatter_elements, TN_K_SIZES) {
  scatter_mode mode;
  TN_TRY(scatter_begin(k, &mode));
  const tn_karg *const x = k->in[0];
  const tn_karg *const at = k->in[1];
  const tn_karg *const u = k->in[2];
  int64_t strides[TN_K_MAX_RANK], index[TN_K_MAX_RANK] = {0};
  int axis;
  if (at->rank != x->rank || u->rank != at->rank)
    return tn_k_fail(k, TN_MISMATCH, "data, indices and updates have ranks %d, %d and %d", x->rank, at->rank, u->rank);
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", 0), x->rank, &axis));
  for (int d = 0; d < x->rank; d++)
    if (u->dims[d] != at->dims[d] || (d != axis && at->dims[d] > x->dims[d]))
      return tn_k_fail(k, TN_MISMATCH, "dim %d of data, indices and updates is %lld, %lld and %lld", d,
                       (long long)x->dims[d], (long long)at->dims[d], (long long)u->dims[d]);
  tn_k_strides(x->rank, x->dims, strides);
  for (int64_t i = 0; i < at->count; i++) {
    int64_t place;
    TN_TRY(scatter_index(k, at, i, x->dims[axis], &place));
    scatter_put_run(mode, k->out[0], tn_k_dot(x->rank, index, strides) + (place - index[axis]) * strides[axis], u, i,
                    1);
    (void)tn_k_next(at->rank, at->dims, index);
  }
  return TN_OK;
}

TN_KERNEL(scatter_nd, TN_K_SIZES) {
  scatter_mode mode;
  TN_TRY(scatter_begin(k, &mode));
  const tn_karg *const x = k->in[0];
  const tn_karg *const at = k->in[1];
  const tn_karg *const u = k->in[2];
  int64_t strides[TN_K_MAX_RANK];
  if (at->rank < 1 || at->dims[at->rank - 1] > x->rank)
    return tn_k_fail(k, TN_MISMATCH, "the indices have more places than the data has axes");
  const int lead = at->rank - 1, tuple = (int)at->dims[lead];
  if (u->rank != lead + x->rank - tuple) return tn_k_fail(k, TN_MISMATCH, "the updates have rank %d", u->rank);
  for (int d = 0; d < u->rank; d++)
    if (u->dims[d] != (d < lead ? at->dims[d] : x->dims[d - lead + tuple]))
      return tn_k_fail(k, TN_MISMATCH, "dim %d of the updates is %lld", d, (long long)u->dims[d]);
  const int64_t run = tn_k_count(x->dims, tuple, x->rank), tuples = tn_k_count(at->dims, 0, lead);
  tn_k_strides(x->rank, x->dims, strides);
  for (int64_t i = 0; i < tuples; i++) {
    int64_t to = 0, place;
    for (int p = 0; p < tuple; p++) {
      TN_TRY(scatter_index(k, at, i * tuple + p, x->dims[p], &place));
      to += place * strides[p];
    }
    scatter_put_run(mode, k->out[0], to, u, i * run, run);
  }
  return TN_OK;
}

TN_KERNEL(tensor_scatter, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  const tn_karg *const x = k->in[0];
  const tn_karg *const u = k->in[1];
  const tn_karg *const starts = tn_k_in(k, 2);
  const bool circular = tn_k_str_is(k, "mode", "circular");
  int axis;
  if (u->dtype != x->dtype) return tn_k_fail(k, TN_INTERNAL, "cache and update differ in element type");
  if (starts) TN_TRY(tn_k_int_type(k, 2));
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", -2), x->rank, &axis));
  if (axis == 0 || u->rank != x->rank || (starts && starts->count != x->dims[0]))
    return tn_k_fail(k, TN_MISMATCH, "cache, update and write_indices do not fit");
  for (int d = 0; d < x->rank; d++)
    if (d == axis ? u->dims[d] > x->dims[d] : u->dims[d] != x->dims[d])
      return tn_k_fail(k, TN_MISMATCH, "dim %d is %lld in the cache, %lld in the update", d, (long long)x->dims[d],
                       (long long)u->dims[d]);
  TN_TRY(tn_k_out_copy(k, 0, x));
  const int64_t inner = tn_k_count(x->dims, axis + 1, x->rank), middle = tn_k_count(x->dims, 1, axis);
  const int64_t size = x->dims[axis], news = u->dims[axis];
  for (int64_t b = 0; b < x->dims[0]; b++) {
    const int64_t start = starts ? tn_k_i64(starts, b) : 0;
    if (start < 0 || (circular ? start >= size && size > 0 : start > size - news))
      return tn_k_fail(k, TN_MISMATCH, "write index %lld of batch %lld: %lld entries do not fit %lld", (long long)start,
                       (long long)b, (long long)news, (long long)size);
    for (int64_t m = 0; m < middle; m++)
      for (int64_t s = 0; s < news; s++)
        tn_k_copy(x->dtype, k->out[0]->data, ((b * middle + m) * size + (start + s) % size) * inner, u->data,
                  ((b * middle + m) * news + s) * inner, inner);
  }
  return TN_OK;
}
