/* The nodes of one region as a DAG on numbers, in an order that does not depend on the program's: depth first from the
 * region's results, operands from left to right, then what regions inside use, then what the model asked to come first.
 * Nodes that no result needs come last, in program order. */
#ifndef TN_PASS_SPLIT_FLOW_H
#define TN_PASS_SPLIT_FLOW_H

#include "pass/split.h"

typedef struct tn_split_flow {
  tn_region *region;
  uint32_t n;
  tn_node **nodes;       /* constants are left out */
  uint32_t *ids;         /* number -> node id: nodes lie far apart */
  bool has_marks;        /* a node has metadata */
  const uint32_t *index; /* node id -> number, in this region */
  uint32_t n_edges;
  uint32_t *from, *to;       /* each pair once, by rising `to`; from < to */
  bool *is_order;            /* edge: no value, only an order that the model asked for */
  uint32_t *first;           /* node -> its first edge in; first[n] == n_edges */
  uint32_t *first_out, *out; /* node -> edges out, as numbers of edges in out[first_out[i]..first_out[i + 1]) */
  uint32_t *origin;          /* node -> one of those made of the same node of the model, the same for all of them */
  uint32_t *group;           /* node -> smallest node that has to be in one part with it */
} tn_split_flow;

/* `index` has room for all ids of the graph. INVALID: a closed loop, or a name that no node or several have. */
TN_MUST_CHECK tn_status tn_split_flow_new(tn_region *r, tn_arena *a, uint32_t *index, tn_split_flow *out);

/* stage_of of the nodes of the main graph, after they were placed. INVALID names the edge that goes back. */
struct tn_split_work;
TN_MUST_CHECK tn_status tn_split_stage(tn_partition_set *s, const tn_split_options *o, struct tn_split_work *work,
                                       const tn_split_flow *f);

int32_t tn_split_asked_stage(const tn_split_options *o, const tn_node *node); /* by file or metadata; TN_NO_STAGE */

/* The node of region r that is `node` or holds it in its regions; NULL when it lies outside. */
const tn_node *tn_split_holder(const tn_region *r, const tn_node *node);
int tn_split_depth(const tn_region *r);

/* engine_of, refused and composite_of of each node, and what that makes of kinds; the nodes of a composite become one
 * group of their flow. `flows`: of all regions, outer before inner.
 * UNSUPPORTED when no engine takes a node: all such nodes are reported. */
TN_MUST_CHECK tn_status tn_split_place(tn_partition_set *s, const tn_split_options *o, struct tn_split_work *work,
                                       const tn_split_flow *flows, size_t n);

#endif
