/* Inner loops over lines, compiled once for each CPU level: what softmax, the reductions and products of quantised
 * numbers are made of. The order of every sum is fixed by the length alone. */
#ifndef TN_KERN_LINE_H
#define TN_KERN_LINE_H

#include "kern/kern.h"

typedef enum tn_line_fold { /* what is joined of each element v */
                            TN_LINE_SUM,
                            TN_LINE_ABS,    /* sum of |v| */
                            TN_LINE_SQUARE, /* sum of v * v */
                            TN_LINE_PROD,
                            TN_LINE_MAX, /* NaN wins */
                            TN_LINE_MIN,
                            TN_LINE_EXP, /* sum of exp(v - shift) */
                            TN_N_LINE_FOLDS
} tn_line_fold;

typedef struct tn_line_isa {
  float (*max)(const float *x, int64_t n); /* n >= 1; NaN is passed over */
  /* y = exp(x - m), not stored when y is NULL; the sum. y may be x. */
  float (*exp_sum)(const float *x, float *y, int64_t n, float m);
  void (*scale)(float *y, int64_t n, float s);
  /* Column by column, w of them: m = max(m, x); y = exp(x - m) and sum += y. y may be x. */
  void (*columns_max)(float *m, const float *x, int64_t w);
  void (*columns_exp)(float *sum, const float *x, const float *m, float *y, int64_t w);
  /* out[j] = sum of a[i] * b[j * n + i], i < n, for j < columns: numbers of 9 bits, sums that wrap. */
  void (*dots)(const int16_t *a, const int16_t *b, int64_t n, int64_t columns, uint32_t *out);
  /* y[j] += sum of x[i] * b[i * n + j], i < 4, for j < n */
  void (*add_4_rows)(double *y, const double *x, const double *b, int64_t n);
  float (*fold[TN_N_LINE_FOLDS])(const float *x, int64_t n, float shift);
  void (*fold_rows[TN_N_LINE_FOLDS])(float *acc, const float *x, int64_t w, const float *shift); /* acc joined with x */
} tn_line_isa;

extern const tn_line_isa tn_line_isa_v1;
#if defined(__x86_64__)
extern const tn_line_isa tn_line_isa_v3;
extern const tn_line_isa tn_line_isa_v4;
#endif
const tn_line_isa *tn_line_isa_get(void); /* for this CPU */

#endif
