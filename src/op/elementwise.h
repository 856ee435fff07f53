/* Shared by the elementwise families: oracles over broadcast operands and symbolic content. Only for op/. */
#ifndef TN_OP_ELEMENTWISE_H
#define TN_OP_ELEMENTWISE_H

#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"

/* Oracles. `f` serves float types, `g` integers and bool; NULL = that class is not allowed. a, b are the operator's
 * first two FLOAT attributes. */
typedef double (*tn_f64_fn1)(double x, double a, double b);
typedef int64_t (*tn_i64_fn1)(int64_t x);
double tn_op_float_attr(const tn_node *node, int which); /* FLOAT attribute number `which`; 0 when there is none */
tn_status tn_op_eval1(tn_eval *e, tn_f64_fn1 f, tn_i64_fn1 g);
typedef double (*tn_f64_fn2)(double x, double y);
typedef int64_t (*tn_i64_fn2)(int64_t x, int64_t y);
tn_status tn_op_eval2(tn_eval *e, tn_f64_fn2 f, tn_i64_fn2 g);      /* output type = input type */
tn_status tn_op_eval_chain(tn_eval *e, tn_f64_fn2 f, tn_i64_fn2 g); /* variadic, from the left */
tn_status tn_op_eval_compare(tn_eval *e, tn_f64_fn2 f,
                             tn_i64_fn2 g); /* to bool; also strings through g on memcmp == 0 */

/* Content of output 0 element by element; an element whose function gives NONE is unknown. */
typedef tn_elem (*tn_elem_fn)(tn_rule *r, const tn_elem *in); /* one element of each input */
tn_status tn_op_value_map(tn_rule *r, tn_elem_fn fn);
bool tn_elem_const(const tn_elem *e, double *out); /* a constant, as double */
/* The result e of integer arithmetic as an element of type d: constants wrap, what may wrap is NONE; that a symbolic
 * one fits int32 is demanded. */
tn_elem tn_elem_in_type(tn_rule *r, tn_dtype d, tn_elem e);
tn_elem tn_elem_round(tn_rule *r, double v); /* a float constant rounded to output 0's element type */

/* Opsets below 7: operand 1 aligned to operand 0 at `axis` when `broadcast` is 1. */
tn_status tn_import_legacy_broadcast(tn_import *im);

#endif
