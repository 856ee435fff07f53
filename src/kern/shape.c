/* Sizes of tensors as tensors. */
#include "kern/kern.h"

static int64_t shape_clamp(int64_t at, int rank) {
  if (at < 0) at += rank;
  return at < 0 ? 0 : at > rank ? rank : at;
}

TN_KERNEL(shape, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  const tn_karg *x = k->in[0];
  if (x->kind != TN_KARG_TENSOR) return tn_k_fail(k, TN_INTERNAL, "input 0 is no tensor");
  const int64_t start = shape_clamp(tn_k_int(k, "start", 0), x->rank);
  const int64_t end = shape_clamp(tn_k_int(k, "end", x->rank), x->rank);
  const int64_t n = end > start ? end - start : 0;
  if (k->out[0]->dtype != TN_I64) return tn_k_fail(k, TN_INTERNAL, "output 0 is not i64");
  TN_TRY(tn_k_out(k, 0, 1, &n));
  for (int64_t i = 0; i < n; i++) tn_store_i64(TN_I64, k->out[0]->data, i, x->dims[start + i]);
  return TN_OK;
}

TN_KERNEL(size, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  const tn_karg *x = k->in[0];
  if (x->kind != TN_KARG_TENSOR) return tn_k_fail(k, TN_INTERNAL, "input 0 is no tensor");
  if (k->out[0]->dtype != TN_I64) return tn_k_fail(k, TN_INTERNAL, "output 0 is not i64");
  TN_TRY(tn_k_out(k, 0, 0, NULL));
  tn_store_i64(TN_I64, k->out[0]->data, 0, x->count);
  return TN_OK;
}
