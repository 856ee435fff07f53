/* Kernels of the window functions. */
#include <math.h>

#include "kern/kern.h"

/* The coefficients are parts of `whole`, so that a window's top is 1 exactly. */
static tn_status window_fn_run(tn_kcall *k, double a0, double a1, double a2, double whole) {
  TN_TRY(tn_k_need(k, 1, 1));
  if (k->in[0]->count != 1) return tn_k_fail(k, TN_MISMATCH, "the size has %lld elements", (long long)k->in[0]->count);
  const int64_t n = tn_k_i64(k->in[0], 0);
  if (n < 0) return tn_k_fail(k, TN_INVALID, "the size is %lld, which is negative", (long long)n);
  TN_TRY(tn_k_out(k, 0, 1, &n));
  const double step = tn_k_int(k, "periodic", 1) ? 2 * M_PI / (double)n : (n > 1 ? 2 * M_PI / (double)(n - 1) : 0);
  for (int64_t i = 0; i < n; i++) {
    const double c = cos(step * (double)i); /* cos 2t = 2 cos^2 t - 1 */
    tn_store_f64(k->out[0]->dtype, k->out[0]->data, i, (a0 - a1 * c + a2 * (2 * c * c - 1)) / whole);
  }
  return TN_OK;
}

TN_KERNEL(hann, TN_K_SIZES) { return window_fn_run(k, 1, 1, 0, 2); }
TN_KERNEL(hamming, TN_K_SIZES) { return window_fn_run(k, 25, 21, 0, 46); }
TN_KERNEL(blackman, TN_K_SIZES) { return window_fn_run(k, 21, 25, 4, 50); }
