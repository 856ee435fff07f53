/* Which axes of its operands an operator walks side by side: position i along such an axis of an operand reaches only
 * position i along one axis of the results. What a batch is made of, and what may be padded (pass/padding.h).
 *
 * An operator says it in tn_op.axis; elementwise ones and views need not. */
#ifndef TN_IR_AXIS_H
#define TN_IR_AXIS_H

#include "ir/op.h"

enum {
  TN_AXIS_MIXED = -1, /* positions along the axis meet (or nothing is known) */
  TN_AXIS_SIZES = -2, /* asked for axis TN_AXIS_WHOLE: the operand only tells how far results go on */
  TN_AXIS_WHOLE = INT_MAX
};

/* The axis of the results that axis `axis` of operand `input` goes to. The operand's rank is known; those of the
 * results too. */
int tn_axis_batch(const tn_node *node, int input, int axis); /* axis 0 of operand 0 alone */
int tn_axis_matmul(const tn_node *node, int input, int axis);
int tn_axis_gemm(const tn_node *node, int input, int axis);
int tn_axis_before(const tn_node *node, int input, int axis); /* of operand 0, those before attribute `axis` */
int tn_axis_except(const tn_node *node, int input, int axis); /* those but attribute `axis`, of every operand */
int tn_axis_reduce(const tn_node *node, int input, int axis); /* those that operand 1 does not name, with `keepdims` */
int tn_axis_transpose(const tn_node *node, int input, int axis);
int tn_axis_gather(const tn_node *node, int input, int axis);
int tn_axis_expand(const tn_node *node, int input, int axis);
int tn_axis_fill(const tn_node *node, int input, int axis); /* operand 0 gives sizes */

/* By the operator's traits or its function. */
int tn_axis_of(const tn_node *node, int input, int axis);

#endif
