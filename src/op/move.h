/* Shared by the operators that move elements. Only for op/. */
#ifndef TN_OP_MOVE_H
#define TN_OP_MOVE_H

#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"

/* Content of all outputs of an operator whose results are copies of elements of the inputs in the bit set `data` (or
 * zero): runs the operator's oracle on the elements' numbers. Known where the other inputs are constant. The oracle
 * must take the element type from its first data input. */
tn_status tn_op_value_move(tn_rule *r, uint32_t data);
tn_status tn_op_value_move_first(tn_rule *r); /* data = input 0 */

/* Axes of input i (or all absent) as a set: set[axis] = position in the list, -1 elsewhere. */
TN_MUST_CHECK tn_status tn_op_axis_set(tn_rule *r, int64_t n, const int64_t *axes, int rank, int *set);
TN_MUST_CHECK tn_status tn_op_eval_axis_set(tn_eval *e, int64_t n, const int64_t *axes, int rank, int *set);

/* Element k of integer input i as an expression; NULL when it is not known. */
tn_sym tn_op_elem(tn_rule *r, int i, int64_t k);
/* Constant number of elements of rank-1 input i; -1 when it is not known. A scalar counts 1. */
int64_t tn_op_length(const tn_rule *r, int i);
/* Demands that input i, when it is there, is a vector of n elements; a scalar does for one. */
TN_MUST_CHECK tn_status tn_op_need_length(tn_rule *r, int i, int64_t n);
TN_MUST_CHECK tn_status tn_op_need_one(tn_rule *r, int i);
/* MISMATCH unless operand i is absent or has one element: an oracle may meet ranks that no rule knew. */
TN_MUST_CHECK tn_status tn_op_eval_need_one(tn_eval *e, int i);
/* The demand lo <= e. */
TN_MUST_CHECK tn_status tn_op_at_least(tn_rule *r, tn_sym e, int64_t lo, const char *what);
/* Demands that the constant elements of input i are indices of `dim`: -dim <= index < dim. */
TN_MUST_CHECK tn_status tn_op_indices(tn_rule *r, int i, tn_sym dim, int axis);
/* The index of element k of a literal, made positive; MISMATCH when it is outside [-dim, dim). */
TN_MUST_CHECK tn_status tn_op_eval_index(tn_eval *e, const tn_lit *indices, int64_t k, int64_t dim, int64_t *out);
static inline const tn_lit *tn_op_eval_in(const tn_eval *e, int i) { return i < e->n_in ? e->in[i] : NULL; }
/* The next index in row-major order; false after the last one. */
static inline bool tn_op_next(int rank, const int64_t *dims, int64_t *index) {
  for (int i = rank - 1; i >= 0; i--) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}
static inline int64_t tn_op_dot(int rank, const int64_t *index, const int64_t *strides) {
  int64_t at = 0;
  for (int i = 0; i < rank; i++) at += index[i] * strides[i];
  return at;
}

/* Sorts places stably; before(arg, a, b): must a come before b? */
void tn_op_sort(tn_arena *arena, int64_t *places, int64_t n, bool (*before)(const void *arg, int64_t a, int64_t b),
                const void *arg);

/* Importer of forms whose INTS attribute `axes` became input 1; everything else is the same. */
tn_status tn_import_axes_attr(tn_import *im);

#endif
