/* The same bytes under other dims or as other elements: runs only where the planner could not make the output a view.
 */
#include "kern/kern.h"

TN_KERNEL(reinterpret, 0) {
  const tn_karg *const x = k->in[0], *const y = k->out[0];
  size_t have, want;
  if ((x->dtype == TN_STR) != (y->dtype == TN_STR)) return tn_k_no_dtype(k, 0);
  if (!tn_dtype_bytes(x->dtype, x->count, &have) || !tn_dtype_bytes(y->dtype, y->count, &want) || have != want)
    return tn_k_fail(k, TN_INTERNAL, "the output has not the bytes of the input");
  if (want) memcpy(y->data, x->data, want);
  return TN_OK;
}
