/* Kernels that compute in one element type serve the others through converted copies of their operands. */
#ifndef TN_KERN_SHADOW_H
#define TN_KERN_SHADOW_H

#include "kern/kern.h"

/* Runs fn on a call in which every float operand has element type `work`: operands of other float types are converted
 * copies in scratch, results are converted back. Outputs must have their dims and data. */
TN_MUST_CHECK tn_status tn_k_as(tn_kcall *k, tn_dtype work, tn_kernel_fn fn);

/* By the element type of input 0: f32 and f64 directly, f16 and bf16 through f32, others UNSUPPORTED. */
TN_MUST_CHECK tn_status tn_k_by_float(tn_kcall *k, tn_kernel_fn f32, tn_kernel_fn f64);

/* n * size bytes of scratch with the overflow checked. */
TN_MUST_CHECK tn_status tn_k_scratch_array(tn_kcall *k, int64_t n, size_t size, void **out);

static inline const float *tn_k_f32(const tn_karg *a) { return a ? a->data : NULL; }
static inline const double *tn_k_f64(const tn_karg *a) { return a ? a->data : NULL; }

#endif
