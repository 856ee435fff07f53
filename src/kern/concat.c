/* Concat and Split: runs of consecutive elements, one for each index before the axis. */
#include "kern/move.h"

/* `outer` runs of `n` elements, `to` and `from` elements apart. */
static void concat_runs(tn_kcall *k, const tn_karg *x, tn_karg *y, int64_t outer, int64_t n, int64_t to, int64_t dst_at,
                        int64_t from, int64_t src_at) {
  tn_move m = {.dtype = x->dtype, .rank = 2, .dims = {outer, n}, .to = {to, 1}, .from = {from, 1}};
  m.dst = y->data;
  m.dst_at = dst_at;
  m.src = x->data;
  m.src_at = src_at;
  tn_k_move(k->pool, &m);
}

/* Was the operand made in its part of the result? */
static bool concat_is_there(const tn_karg *x, const tn_karg *y, int64_t outer, int64_t base) {
  const int bits = tn_dtype_bits(y->dtype);
  return outer == 1 && bits % 8 == 0 && (const char *)x->data == (const char *)y->data + base * (bits / 8);
}

TN_KERNEL(concat, TN_K_SIZES | TN_K_JOINS) {
  TN_TRY(tn_k_same_type(k, k->n_in > 0 ? k->n_in : 1, 1));
  const tn_karg *const first = k->in[0];
  int64_t dims[TN_K_MAX_RANK], base = 0;
  int axis;
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", 0), first->rank, &axis));
  for (int d = 0; d < first->rank; d++) dims[d] = first->dims[d];
  for (int i = 1; i < k->n_in; i++) {
    const tn_karg *const x = k->in[i];
    if (x->dtype != first->dtype) return tn_k_fail(k, TN_INTERNAL, "inputs 0 and %d differ in element type", i);
    if (x->rank != first->rank)
      return tn_k_fail(k, TN_MISMATCH, "inputs 0 and %d have ranks %d and %d", i, first->rank, x->rank);
    for (int d = 0; d < first->rank; d++)
      if (d != axis && x->dims[d] != dims[d])
        return tn_k_fail(k, TN_MISMATCH, "inputs 0 and %d differ in dim %d: %lld and %lld", i, d, (long long)dims[d],
                         (long long)x->dims[d]);
    if (!tn_add_i64(dims[axis], x->dims[axis], &dims[axis])) return tn_k_fail(k, TN_LIMIT, "too many elements");
  }
  TN_TRY(tn_k_out(k, 0, first->rank, dims));
  const int64_t outer = tn_k_count(dims, 0, axis), inner = tn_k_count(dims, axis + 1, first->rank);
  for (int i = 0; i < k->n_in; i++) {
    const int64_t run = k->in[i]->dims[axis] * inner;
    if (!concat_is_there(k->in[i], k->out[0], outer, base))
      concat_runs(k, k->in[i], k->out[0], outer, run, dims[axis] * inner, base, run, 0);
    base += run;
  }
  return TN_OK;
}

static tn_status concat_parts(tn_kcall *k, int64_t dim, int64_t *parts) {
  const tn_karg *const given = tn_k_in(k, 1);
  const int n = k->n_out;
  int64_t left = dim;
  const int64_t even = dim / n + (dim % n > 0);
  if (given) TN_TRY(tn_k_int_type(k, 1));
  if (given && given->count != n)
    return tn_k_fail(k, TN_MISMATCH, "%lld sizes for %d outputs", (long long)given->count, n);
  if (!given && dim % n && !tn_k_attr(k, "num_outputs"))
    return tn_k_fail(k, TN_MISMATCH, "%lld does not split into %d equal parts", (long long)dim, n);
  for (int i = 0; i < n; i++) {
    parts[i] = given ? tn_k_i64(given, i) : (i < n - 1 ? even : left);
    if (parts[i] < 0 || parts[i] > left)
      return tn_k_fail(k, TN_MISMATCH, "part %d has %lld elements, %lld are left", i, (long long)parts[i],
                       (long long)left);
    left -= parts[i];
  }
  if (left) return tn_k_fail(k, TN_MISMATCH, "%lld elements are in no part", (long long)left);
  return TN_OK;
}

TN_KERNEL(split, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 1, 0));
  const tn_karg *const x = k->in[0];
  int64_t dims[TN_K_MAX_RANK], base = 0;
  void *parts_room;
  int axis;
  if (k->n_out < 1) return TN_OK;
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", 0), x->rank, &axis));
  TN_TRY(tn_k_room(k, k->n_out, sizeof(int64_t), &parts_room));
  int64_t *const parts = parts_room;
  TN_TRY(concat_parts(k, x->dims[axis], parts));
  const int64_t outer = tn_k_count(x->dims, 0, axis), inner = tn_k_count(x->dims, axis + 1, x->rank);
  for (int d = 0; d < x->rank; d++) dims[d] = x->dims[d];
  for (int i = 0; i < k->n_out; i++) {
    const int64_t run = parts[i] * inner;
    dims[axis] = parts[i];
    if (k->out[i]) {
      TN_TRY(tn_k_out_type(k, i, x->dtype));
      TN_TRY(tn_k_out(k, i, x->rank, dims));
      concat_runs(k, x, k->out[i], outer, run, run, 0, x->dims[axis] * inner, base);
    }
    base += run;
  }
  return TN_OK;
}
