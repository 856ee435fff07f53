/* What a type, shape or value rule sees and says, and the stock rules.
 *
 * A rule never writes to the graph: it fills r->out[]. Missing knowledge is not an error: an output whose rank cannot
 * be known keeps rank -1; a dim that is decided by data is a fresh symbol with bounds (tn_rule_fresh). What the
 * operator demands of its operands goes to tn_rule_demand. */
#ifndef TN_IR_RULES_H
#define TN_IR_RULES_H

#include "ir/op.h"

typedef struct tn_rule {
  tn_ctx *ctx;
  tn_graph *graph;
  tn_symtab *syms;
  tn_node *node;
  tn_loc loc;
  int n_in, n_out;
  const tn_type *const *in; /* NULL = absent */
  tn_type *out;             /* starts UNKNOWN kind; TYPE rule sets dtype; an absent output has out_present false */
  const bool *out_present;
  tn_sym demanded; /* the last demand that was not proved, and whether it is refuted */
  bool is_refuted;
} tn_rule;

/* Fails with "node 'x' (Op): ..." */
#define tn_rule_fail(r, code, ...) tn_fail((r)->ctx, (code), (r)->loc, __VA_ARGS__)

/* Attributes by schema name (a name not in the schema is a fault of ours). */
const tn_attr *tn_rule_attr(const tn_rule *r, const char *name); /* NULL when absent without default */
int64_t tn_rule_int(const tn_rule *r, const char *name);         /* 0 when absent */
bool tn_rule_str_is(const tn_rule *r, const char *name, const char *z);

/* Inputs. */
bool tn_rule_has(const tn_rule *r, int i);                        /* present */
bool tn_rule_has_rank(const tn_rule *r, int i);                   /* present tensor with known rank */
tn_status tn_rule_need_rank(tn_rule *r, int i, int min, int max); /* MISMATCH when known and outside [min, max] */
TN_MUST_CHECK tn_status tn_rule_axis(tn_rule *r, const char *what, int64_t axis, int rank,
                                     int *out); /* negative from the end */
/* Content of input i as integers: n elements, NULL entries where one is unknown. False when no content is known at
 * all. Constants, symbolic integers and float content that is exactly an integer count. */
bool tn_rule_ints(const tn_rule *r, int i, int64_t *out_n, tn_sym **out);
bool tn_rule_const_ints(const tn_rule *r, int i, int64_t *out_n, int64_t **out); /* all constant */
bool tn_rule_const_floats(const tn_rule *r, int i, int64_t *out_n, double **out);

/* Outputs. */
void tn_rule_set(tn_rule *r, int i, int rank, const tn_sym *dims); /* copies dims; keeps the dtype */
void tn_rule_set_dtype(tn_rule *r, int i, tn_dtype d);             /* and makes the output a tensor */
tn_sym *tn_rule_dims(tn_rule *r, int rank);                        /* room for dims, zeroed, in the arena */
/* A dim only the run can tell: symbol of (output i, dim j), the same one each time the rule runs. lo >= 0; `hi` (may be
 * NULL) bounds it from above, kept as a fact where constant. The kernel must size this output itself. */
tn_sym tn_rule_fresh(tn_rule *r, int i, int j, int64_t lo, tn_sym hi);
/* The same for dim j of any value: a region's parameter whose size changes from entry to entry. */
tn_sym tn_rule_fresh_value(tn_rule *r, const tn_value *v, int j);
void tn_rule_set_content(tn_rule *r, int i, const tn_elem *elems); /* copies; dims must be constant and small */
tn_elem *tn_rule_elems(tn_rule *r, int64_t n);                     /* room for elements, zeroed (NONE) */
tn_elem tn_elem_sym(tn_sym s);
tn_elem tn_elem_f64(double f);

/* 1 <= e, by what is known and by the checks so far, a product factor by factor. */
bool tn_rule_is_positive(const tn_rule *r, tn_sym e);
/* tn_rule_demand(r, condition, fmt, ...), to the ledger: proved -> dropped; refuted -> MISMATCH with the text; open ->
 * a check when bound. The text says what is wrong when the condition is false; it is not made when that is proved. */
#define tn_rule_demand(r, condition, ...) \
  (tn_rule_proves((r), (condition)) ? TN_OK : tn_rule_leave_open((r), __VA_ARGS__))
TN_MUST_CHECK bool tn_rule_proves(tn_rule *r, tn_sym condition); /* false: noted in r->demanded */
TN_MUST_CHECK tn_status tn_rule_leave_open(tn_rule *r, const char *fmt, ...) TN_PRINTF(2, 3);
/* a and b must be equal; returns the better known of the two in *out (may be NULL). */
TN_MUST_CHECK tn_status tn_rule_unify(tn_rule *r, tn_sym a, tn_sym b, const char *what, int dim, tn_sym *out);
/* One dim of multidirectional broadcasting. */
TN_MUST_CHECK tn_status tn_rule_bcast_dim(tn_rule *r, tn_sym a, tn_sym b, int dim, tn_sym *out);
/* Broadcasts the shapes of two (rank, dims) pairs. */
TN_MUST_CHECK tn_status tn_rule_bcast(tn_rule *r, int ra, const tn_sym *a, int rb, const tn_sym *b, int *out_rank,
                                      tn_sym **out);

/* Stock type rules. */
tn_status tn_type_as_input(tn_rule *r); /* every output: element type of input 0 */
tn_status tn_type_bool(tn_rule *r);     /* output 0: bool */
tn_status tn_type_i64(tn_rule *r);      /* output 0: i64 */
tn_status tn_type_by_group(tn_rule *r); /* outputs by port group (`same`), or the single type of the port's set */
/* Stock shape rules. */
tn_status tn_shape_as_input(tn_rule *r);  /* every output: shape of input 0 */
tn_status tn_shape_broadcast(tn_rule *r); /* output 0: broadcast of all inputs */
tn_status tn_shape_scalar(tn_rule *r);    /* output 0: rank 0 */
/* Stock value rules. */
tn_status tn_value_as_input(tn_rule *r); /* output 0: content of input 0, reshaped */

#endif
