/* Elementwise loops over broadcast operands: one driver for every elementwise kernel. */
#ifndef TN_KERN_MAP_H
#define TN_KERN_MAP_H

#include "kern/kern.h"

enum { TN_KMAP_MAX_IN = 3 };

/* out[i] = f(in[0][i * step[0]], ...) for n elements; step 0 repeats one element, 1 is contiguous. `param` is the
 * kernel's own (attributes). */
typedef void (*tn_kmap_fn)(const void *const *in, const int64_t *step, void *out, int64_t n, const void *param);

typedef struct tn_kmap {
  tn_kmap_fn fn;
  int n_in;
  tn_dtype in[TN_KMAP_MAX_IN]; /* the types fn works on; an operand of type f16 or bf16 is widened to f32 for it */
  tn_dtype out;
  const void *param;
} tn_kmap;

/* Runs m over the operands broadcast to out's dims (set and allocated before). */
TN_MUST_CHECK tn_status tn_k_map(tn_kcall *k, const tn_kmap *m, const tn_karg *const *in, tn_karg *out);

#endif
