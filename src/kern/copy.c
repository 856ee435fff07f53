/* Copies of whole values. */
#include "kern/kern.h"

TN_KERNEL(identity, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  return tn_k_out_copy(k, 0, k->in[0]);
}

TN_KERNEL(pin_rank, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  const int64_t rank = tn_k_int(k, "rank", 0);
  if (k->in[0]->rank != rank) return tn_k_fail(k, TN_MISMATCH, "rank is %d, expected %d", k->in[0]->rank, (int)rank);
  return tn_k_out_copy(k, 0, k->in[0]);
}
