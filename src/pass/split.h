/* The split of a graph into parts: planned, checked, applied, undone (ir/part.h has what a plan is).
 *
 * A plan depends on the graph, the options and nothing else. The same nodes in another program order give the same
 * parts, as long as their results are used. */
#ifndef TN_PASS_SPLIT_H
#define TN_PASS_SPLIT_H

#include "ir/part.h"
#include "pass/split_cluster.h"

/* What a part costs and saves, in nanoseconds: the default rule for what stays static. */
typedef struct tn_split_cost {
  int64_t node;  /* saved by each node that is planned ahead */
  int64_t kib;   /* saved by each KiB that needs not go through memory between two elementwise nodes of a part */
  int64_t part;  /* paid for a part: one more entry */
  int64_t value; /* paid for each value that crosses its boundary */
} tn_split_cost;

enum { TN_ALL_DYNAMIC = -1, TN_BY_COST = -2 };

typedef struct tn_split_texts {
  const char *const *at;
  size_t n;
} tn_split_texts;

typedef struct tn_split_options {
  tn_split_mode mode;
  bool symbolic_is_dynamic;     /* the target takes fixed shapes only */
  int64_t min_static_ops;       /* a static part of fewer operators becomes dynamic; TN_ALL_DYNAMIC, TN_BY_COST */
  tn_split_cost cost;           /* of TN_BY_COST */
  tn_split_texts force_dynamic; /* patterns for nodes' names: '*' and '?' */
} tn_split_options;

extern const tn_split_options tn_split_defaults;

/* In the context's arena. The graph has facts (ir/verify.h). INVALID names the node whose metadata contradict. */
TN_MUST_CHECK tn_status tn_split_plan(tn_graph *g, const tn_split_options *o, tn_partition_set **out);
/* Independent of the planner: every node is in one part, the graph of parts has no cycle, orders asked for are kept,
 * inputs, outputs and edges are complete. INTERNAL says what is wrong. */
TN_MUST_CHECK tn_status tn_split_verify(const tn_partition_set *s);

#endif
