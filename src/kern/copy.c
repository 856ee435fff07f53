/* Copies of whole values. */
#include "kern/kern.h"

TN_KERNEL(identity, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  return tn_k_out_copy(k, 0, k->in[0]);
}
