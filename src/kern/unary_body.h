/* The f32 loops of kern/unary_f32.h for one CPU level. Not a module: unary_v1.c, unary_v3.c and unary_v4.c include it
 * with UNARY_LEVEL, the suffix of the names. */
#include <math.h>

#include "kern/unary_f32.h"
#include "kern/vmath.h"

#ifndef UNARY_LEVEL
#define UNARY_LEVEL _v0
#endif

#define UNARY_PASTE_(a, b) a##b
#define UNARY_PASTE(a, b) UNARY_PASTE_(a, b)
#define UNARY_NAME(id) UNARY_PASTE(unary_##id, UNARY_LEVEL)

#define UNARY_F32(id, expr)                                                                                         \
  static void UNARY_NAME(id)(const void *const *in, const int64_t *step, void *out, int64_t n, const void *param) { \
    const float *const xs = in[0];                                                                                  \
    float *const ys = out;                                                                                          \
    const double a = ((const double *)param)[0], b = ((const double *)param)[1];                                    \
    const float af = (float)a, bf = (float)b;                                                                       \
    const int64_t whole = TN_KMAP_WHOLE(n, TN_KMAP_LANES);                                                          \
    (void)step, (void)a, (void)b, (void)af, (void)bf;                                                               \
    TN_IN_PLACE_LOOP                                                                                                \
    for (int64_t i = 0; i < whole; i++) {                                                                           \
      const float x = xs[i];                                                                                        \
      ys[i] = (float)(expr);                                                                                        \
    }                                                                                                               \
  }
TN_UNARY_F32_ROWS(UNARY_F32)

#define UNARY_SLOT(id, expr) [TN_UNARY_##id] = UNARY_NAME(id),
extern const tn_kmap_fn UNARY_PASTE(tn_unary_f32, UNARY_LEVEL)[TN_N_UNARY];
const tn_kmap_fn UNARY_PASTE(tn_unary_f32, UNARY_LEVEL)[TN_N_UNARY] = {TN_UNARY_F32_ROWS(UNARY_SLOT)};

#undef UNARY_LEVEL
#undef UNARY_PASTE_
#undef UNARY_PASTE
#undef UNARY_NAME
#undef UNARY_F32
#undef UNARY_SLOT
