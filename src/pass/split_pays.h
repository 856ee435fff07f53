/* What the policies of the split weigh: the work of nodes, and whether a part of its own pays. */
#ifndef TN_PASS_SPLIT_PAYS_H
#define TN_PASS_SPLIT_PAYS_H

#include "pass/cost.h"
#include "pass/split_flow.h"

typedef struct tn_split_work { /* sizes that the user gave, and formulas */
  tn_cost cost;
  tn_cost_sizes sizes;
} tn_split_work;

/* `dims` as in tn_cost_sizes_read. */
TN_MUST_CHECK tn_status tn_split_work_init(tn_split_work *w, tn_graph *g, const char *dims);
/* What only data decides is taken as large as it may be, where that is known, else as 1; as is a size not given. */
int64_t tn_split_work_number(tn_split_work *w, tn_sym e);
/* Of operations or bytes of the node and of its regions, whichever takes longer; at most INT32_MAX. */
int64_t tn_split_work_ns(tn_split_work *w, const tn_split_cost *c, const tn_node *node);

typedef struct tn_split_pays { /* of one region */
  const tn_partition_set *s;
  const tn_split_options *o;
  const tn_split_flow *f;
  uint32_t *look; /* node -> number of the look that saw it */
  uint32_t n_looks;
} tn_split_pays;

void tn_split_pays_init(tn_split_pays *p, const tn_partition_set *s, const tn_split_options *o, const tn_split_flow *f,
                        tn_arena *a);
/* Does a static part of these nodes save what it costs, by the weights of its engine? `more`: nanoseconds that it saves
 * besides. */
bool tn_split_pays_part(tn_split_pays *p, const uint32_t *nodes, uint32_t n, int64_t more);

/* The region for tn_split_cluster, in the arena. */
tn_split_dag tn_split_dag_of(const tn_partition_set *s, const tn_split_options *o, const tn_split_flow *f,
                             const uint32_t *color, tn_arena *a);

#endif
