/* The split of a graph into parts: planned, checked, applied, undone (ir/part.h has what a plan is).
 *
 * A plan depends on the graph, the options and nothing else. The same nodes in another program order give the same
 * parts, as long as their results are used. */
#ifndef TN_PASS_SPLIT_H
#define TN_PASS_SPLIT_H

#include "ir/part.h"
#include "pass/split_cluster.h"
#include "pass/target.h"

enum { TN_ALL_DYNAMIC = -1, TN_BY_COST = -2 };

typedef struct tn_split_texts {
  const char *const *at;
  size_t n;
} tn_split_texts;

typedef struct tn_split_stage_rule {
  int32_t stage;
  const char *pattern; /* of nodes' names */
} tn_split_stage_rule;

typedef struct tn_split_options {
  tn_split_mode mode;
  bool symbolic_is_dynamic;     /* the target takes fixed shapes only */
  int64_t min_static_ops;       /* a static part of fewer operators becomes dynamic; TN_ALL_DYNAMIC, TN_BY_COST */
  tn_split_texts force_dynamic; /* patterns for nodes' names: '*' and '?' */
  const tn_target *target;      /* NULL: "tenon" takes everything */
  const tn_split_stage_rule *stage_rules; /* the first that fits; they come before metadata */
  size_t n_stage_rules;
  int64_t n_stages; /* > 0: as many of equal work, and no other stages */
  const char *dims; /* for that: "B=8,S=128" or NULL */
} tn_split_options;

extern const tn_split_options tn_split_defaults;

/* In the context's arena. The graph has facts (ir/verify.h). INVALID names the node whose metadata contradict. */
TN_MUST_CHECK tn_status tn_split_plan(tn_graph *g, const tn_split_options *o, tn_partition_set **out);
/* Independent of the planner: every node is in one part, the graph of parts has no cycle, orders asked for are kept,
 * inputs, outputs and edges are complete. INTERNAL says what is wrong. */
TN_MUST_CHECK tn_status tn_split_verify(const tn_partition_set *s);

/* Each part of a graph that has several becomes a `call` whose region holds its nodes; constants stay where they are.
 * LIMIT when that nests too deep: nothing has been changed then. The plan is used up. */
TN_MUST_CHECK tn_status tn_split_apply(const tn_partition_set *s);
/* Puts the nodes of all calls back where they stood: after tn_split_apply the graph is what it was. Where nodes were
 * added to a call or taken out of it, its nodes take its place. INVALID: a call from a text does not fit its region. */
TN_MUST_CHECK tn_status tn_split_flatten(tn_graph *g);

#endif
