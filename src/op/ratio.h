/* Arithmetic on the content of float tensors: whole numbers, quotients, float32 products. Only for op/.
 *
 * Results are NONE where nothing exact can be said. Not for two constants: those are computed as floats. */
#ifndef TN_OP_RATIO_H
#define TN_OP_RATIO_H

#include "op/elementwise.h"

typedef enum tn_rounding { TN_ROUND_DOWN, TN_ROUND_UP, TN_ROUND_EVEN, TN_ROUND_TO_ZERO } tn_rounding;

tn_elem tn_elem_add(tn_rule *r, const tn_elem *in, int sign); /* in[0] + sign * in[1] */
tn_elem tn_elem_mul(tn_rule *r, const tn_elem *in);
tn_elem tn_elem_div(tn_rule *r, const tn_elem *in);
tn_elem tn_elem_negate(tn_rule *r, const tn_elem *e); /* SYM, RATIO, SCALED */
/* An element of a tensor of type d as a whole number. */
tn_elem tn_elem_whole(tn_rule *r, tn_dtype d, const tn_elem *e, tn_rounding how);
/* Integers that compare as the two elements do; false when there are none. */
bool tn_elem_compare(tn_rule *r, const tn_elem *in, tn_sym *out_a, tn_sym *out_b);
/* Does float type d hold the integer s, |s| <= 2^bits? Proved, or demanded of the run; false when it cannot be. */
bool tn_elem_fits(tn_rule *r, tn_dtype d, tn_sym s, int bits);

#endif
