/* The oracle: plain evaluation of operators on literals, in double and int64. Slow and obvious on purpose; constant
 * folding and `--compare=oracle` use it, the engines never do. */
#ifndef TN_IR_EVAL_H
#define TN_IR_EVAL_H

#include "ir/op.h"

typedef struct tn_eval {
  tn_ctx *ctx;
  tn_arena *arena; /* where results go */
  const tn_node *node;
  tn_loc loc;
  int n_in, n_out;
  const tn_lit *const *in; /* NULL = absent */
  tn_lit **out;            /* filled through tn_eval_out; an absent output may be left NULL */
  const bool *out_present;
  struct tn_interp *interp; /* NULL outside control operators */
  tn_graph *graph;
} tn_eval;

#define tn_eval_fail(e, code, ...) tn_fail((e)->ctx, (code), (e)->loc, __VA_ARGS__)

const tn_attr *tn_eval_attr(const tn_eval *e, const char *name); /* NULL when absent */
int64_t tn_eval_int(const tn_eval *e, const char *name);
double tn_eval_float(const tn_eval *e, const char *name);
bool tn_eval_str_is(const tn_eval *e, const char *name, const char *z);
tn_dtype tn_eval_out_dtype(const tn_eval *e, int i); /* as inferred */
/* New output literal, zeroed. LIMIT when the element count does not fit. */
TN_MUST_CHECK tn_status tn_eval_out(tn_eval *e, int i, tn_dtype d, int rank, const int64_t *dims, tn_lit **out);
TN_MUST_CHECK tn_status tn_eval_axis(tn_eval *e, int64_t axis, int rank, int *out);
/* Broadcast shape of two literals' dims; MISMATCH when they do not broadcast. out_dims may be a or b. */
TN_MUST_CHECK tn_status tn_eval_bcast(tn_eval *e, int ra, const int64_t *a, int rb, const int64_t *b, int *out_rank,
                                      int64_t *out_dims);
/* Row-major index helpers. */
void tn_strides(int rank, const int64_t *dims, int64_t *out_strides);
/* Offset in an operand (rank ro, dims od) of result element `index` under broadcasting to (rank, dims). */
int64_t tn_bcast_index(int64_t index, int rank, const int64_t *dims, int ro, const int64_t *od);

/* Runs regions of a graph. env maps value ids to literals: outer values and parameters must be there; it receives
 * every value computed. */
typedef struct tn_interp {
  tn_graph *graph;
  tn_arena *arena;
  const tn_lit **env; /* graph->n_values entries */
  int depth;
  const tn_node *failed; /* the innermost node that could not be evaluated */
  bool *entered;         /* by region, set when it runs; NULL: not wanted */
  /* Told of every value that is computed or enters a region, when env has it; NULL: nobody. With a watcher, results
   * need not be as inferred. */
  tn_status (*watch)(void *arg, const tn_value *v);
  void *watch_arg;
  int64_t most; /* elements of a value whose dims are not all integers; LIMIT beyond; 0: as many as memory holds */
} tn_interp;
TN_MUST_CHECK tn_status tn_interp_region(tn_interp *in, const tn_region *r);

/* Evaluates one node on literals. interp is needed by control operators only (captured values), NULL otherwise. */
TN_MUST_CHECK tn_status tn_eval_node(tn_graph *g, const tn_node *node, tn_interp *interp, tn_arena *arena,
                                     const tn_lit *const *in, tn_lit **out);
/* Content that is all constants; NULL when it is not that. */
const tn_lit *tn_lit_of_content(tn_arena *a, const tn_type *t);
/* For control operators' eval: runs region `index` of e->node on `params`; results has the region's n_results. */
TN_MUST_CHECK tn_status tn_eval_region(tn_eval *e, int index, const tn_lit *const *params, const tn_lit **results);

#endif
