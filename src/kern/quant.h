/* Loops between f32 and quantised numbers, compiled once for each CPU level. */
#ifndef TN_KERN_QUANT_H
#define TN_KERN_QUANT_H

#include "kern/kern.h"

/* n elements with one scale and zero point (step 0), or with one of their own each (step 1). The arrays do not
 * overlap. */
typedef struct tn_quant_row {
  tn_dtype dtype;
  /* x / scale, to even, plus zero, saturated; NaN becomes the least. */
  void (*to)(const float *x, const float *scale, int64_t step, const void *zero, void *y, int64_t n);
  void (*from)(const void *x, const float *scale, int64_t step, const void *zero, float *y, int64_t n);
} tn_quant_row;

enum { TN_QUANT_U8, TN_QUANT_I8, TN_QUANT_U16, TN_QUANT_I16, TN_N_QUANT_ROWS };
extern const tn_quant_row tn_quant_rows_v1[TN_N_QUANT_ROWS];
#if defined(__x86_64__)
extern const tn_quant_row tn_quant_rows_v3[TN_N_QUANT_ROWS];
extern const tn_quant_row tn_quant_rows_v4[TN_N_QUANT_ROWS];
#endif

const tn_quant_row *tn_quant_rows_get(void); /* for this CPU */

#endif
