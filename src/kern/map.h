/* Elementwise loops over broadcast operands: one driver for every elementwise kernel. */
#ifndef TN_KERN_MAP_H
#define TN_KERN_MAP_H

#include "kern/kern.h"

enum { TN_KMAP_MAX_IN = 3, TN_KMAP_LANES = 16 };

/* out[i] = f(in[0][i * step[0]], ...) for n elements; step 0 repeats one element, 1 is contiguous. `param` is the
 * kernel's own (attributes). */
typedef void (*tn_kmap_fn)(const void *const *in, const int64_t *step, void *out, int64_t n, const void *param);

typedef struct tn_kmap {
  tn_kmap_fn fn;
  int n_in;
  tn_dtype in[TN_KMAP_MAX_IN]; /* the types fn works on; an operand of type f16 or bf16 is widened to f32 for it */
  tn_dtype out;
  const void *param;
  /* Not 0: the driver repeats elements and fills up rows, so that fn is called with all steps 1 and n a multiple of
   * this power of two, at most TN_KMAP_LANES. What fn makes of the filling is dropped. */
  int lanes;
} tn_kmap;

/* n, in a way that lets the compiler know that nothing is left over after its vectors. */
#define TN_KMAP_WHOLE(n, lanes) ((n) & -(int64_t)(lanes))

/* Runs m over the operands broadcast to out's dims (set and allocated before). */
TN_MUST_CHECK tn_status tn_k_map(tn_kcall *k, const tn_kmap *m, const tn_karg *const *in, tn_karg *out);

#endif
