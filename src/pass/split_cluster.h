/* Which nodes of a DAG go together: the policies of the split, on plain numbers, so that they can be tested against
 * brute force. The parts are convex: the graph of the parts has no cycle. */
#ifndef TN_PASS_SPLIT_CLUSTER_H
#define TN_PASS_SPLIT_CLUSTER_H

#include "base/arena.h"
#include "base/status.h"

#define TN_SPLIT_ALONE UINT32_MAX /* of no group */

typedef struct tn_split_dag {
  uint32_t n, n_edges;
  const uint32_t *from, *to; /* data and order edges, by rising `to`; from < to: the numbers are a topological order */
  const uint32_t *color;     /* node -> number; parts have one colour (a stage and an engine) */
  const uint8_t *is_dynamic; /* node -> waits for results of the run */
  const uint32_t *group;     /* node -> group that must be in one part with all between, or TN_SPLIT_ALONE */
} tn_split_dag;

typedef enum tn_split_mode {
  /* Neighbours that are both dynamic go together with every node on a path between them; known ones when the path is
   * unique; then what is too small becomes dynamic and joins dynamic neighbours when the path is unique. */
  TN_SPLIT_PATHS,
  TN_SPLIT_KNOWN_FIRST, /* the same without the first step */
  TN_SPLIT_ORDER        /* runs of one kind in the order of the numbers, connected or not */
} tn_split_mode;

typedef struct tn_split_rule {
  tn_split_mode mode;
  /* Stays a known part known? Asked only where something is dynamic. */
  bool (*is_worth)(void *arg, const uint32_t *nodes, uint32_t n);
  void *arg;
} tn_split_rule;

typedef struct tn_split_parts {
  uint32_t n;
  uint32_t *of;        /* node -> part; parts are numbered in a topological order */
  uint8_t *is_dynamic; /* part -> kind */
} tn_split_parts;

/* In the arena. INVALID when a group holds two colours or has another colour between its members; *out_node is then a
 * node of that group. Deterministic. Near-linear: a search for a second path ends when the smaller side is known. */
TN_MUST_CHECK tn_status tn_split_cluster(tn_arena *a, const tn_split_dag *dag, const tn_split_rule *rule,
                                         tn_split_parts *out, uint32_t *out_node);

/* Independent of the above: every edge stays in its part or goes to a higher one. */
bool tn_split_is_convex(const tn_split_dag *dag, const tn_split_parts *parts);

#endif
