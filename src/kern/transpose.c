/* Transpose. */
#include "kern/move.h"

TN_KERNEL(transpose, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 1, 1));
  const tn_karg *const x = k->in[0];
  int64_t n, dims[TN_K_MAX_RANK], strides[TN_K_MAX_RANK];
  const int64_t *const perm = tn_k_attr_ints(k, "perm", &n);
  int set[TN_K_MAX_RANK];
  if (perm && n != x->rank) return tn_k_fail(k, TN_MISMATCH, "attribute 'perm' has %lld axes", (long long)n);
  if (perm) TN_TRY(tn_k_axis_set(k, n, perm, x->rank, set));
  tn_move m = {.dtype = x->dtype, .rank = x->rank, .src = x->data};
  tn_k_strides(x->rank, x->dims, strides);
  for (int d = 0; d < x->rank; d++) {
    const int from = perm ? (int)(perm[d] < 0 ? perm[d] + x->rank : perm[d]) : x->rank - 1 - d;
    dims[d] = m.dims[d] = x->dims[from];
    m.from[d] = strides[from];
  }
  TN_TRY(tn_k_out(k, 0, x->rank, dims));
  m.dst = k->out[0]->data;
  tn_k_strides(x->rank, dims, m.to);
  tn_k_move(k->pool, &m);
  return TN_OK;
}
