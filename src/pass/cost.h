/* What nodes compute and move, as formulas; and their values at sizes that the user gives. */
#ifndef TN_PASS_COST_H
#define TN_PASS_COST_H

#include "ir/graph.h"

typedef struct tn_cost {
  tn_symtab *syms;
  bool unknown; /* a value without a known shape was left out */
} tn_cost;

tn_sym tn_cost_count(tn_cost *c, const tn_value *v); /* elements; v may be NULL: 0 */
tn_sym tn_cost_bytes(tn_cost *c, const tn_value *v);
/* Operations of the node itself: what is in its regions counts apart. */
tn_sym tn_cost_flops(tn_cost *c, const tn_node *node);
/* How often a Loop or Scan runs its body, at most; NULL where only the run tells, 1 for other nodes. */
tn_sym tn_cost_rounds(tn_cost *c, const tn_node *node);
tn_sym tn_cost_moved(tn_cost *c, const tn_node *node); /* bytes of operands and results; a view moves none */

typedef struct tn_cost_sizes { /* by number of symbol */
  tn_symtab *syms;
  uint32_t n;
  bool *given;
  int64_t *value;
} tn_cost_sizes;

tn_cost_sizes tn_cost_sizes_new(tn_symtab *syms, tn_arena *a);
/* "B=8,S=128"; NULL: none. INVALID for what is no size or no symbol of the model, MISMATCH where a condition on the
 * graph's inputs refuses the sizes, whatever those are that are not given. */
TN_MUST_CHECK tn_status tn_cost_sizes_read(tn_cost_sizes *s, tn_graph *g, const char *dims);
bool tn_cost_value(tn_cost_sizes *s, tn_sym e, int64_t *out); /* false: a symbol is not given, or it has no value */
bool tn_cost_env(void *arg, uint32_t symbol, int64_t *out);   /* as tn_sym_env wants it; arg are the sizes */

#endif
