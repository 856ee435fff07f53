/* The Mersenne twister MT19937, as numpy's legacy generator uses it: what ONNX's own data was drawn with where an
 * operator has a seed. */
#ifndef TN_BASE_MT_H
#define TN_BASE_MT_H

#include <stdint.h>

typedef struct tn_mt {
  uint32_t state[624];
  int at;
} tn_mt;

void tn_mt_init(tn_mt *m, uint32_t seed);
double tn_mt_f64(tn_mt *m); /* the next number of [0, 1), 53 bits */

#endif
