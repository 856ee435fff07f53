/* Offsets for buffers with known sizes and lifetimes. No allocation: a new shape is planned within a session's memory.
 */
#ifndef TN_RT_PLAN_H
#define TN_RT_PLAN_H

#include "base/checked.h"

typedef struct tn_interval_plan {
  uint32_t first, last; /* steps, inclusive */
  size_t bytes;         /* a multiple of the alignment */
  size_t offset;        /* result */
} tn_interval_plan;

enum { TN_PLANNER_BINS = 256 };

typedef struct tn_plan_node { /* a piece of the memory: the pieces tile it, in order of address */
  size_t offset, bytes;
  uint32_t below, above;       /* neighbours by address; 0 = none */
  uint32_t bin_prev, bin_next; /* other free pieces of about this size */
  bool is_free;
} tn_plan_node;

typedef struct tn_planner { /* workspace for up to n buffers: tn_planner_nodes(n) nodes, n of the others */
  tn_plan_node *nodes;
  uint32_t *node_of; /* buffer -> its node */
  uint32_t *order;
  uint32_t *placed;
  size_t *other; /* offsets of the second plan */
  uint32_t n_nodes, spare, top;
  uint32_t bins[TN_PLANNER_BINS];
  uint64_t filled[TN_PLANNER_BINS / 64];
} tn_planner;

static inline size_t tn_planner_nodes(size_t n) { return 2 * n + 2; }

/* Sets the offsets of the n buffers. by_first and by_last order them by birth and by death. *out_peak = bytes that they
 * need, *out_live = largest sum of buffers that live at once, which no plan can beat. False when the sum of all sizes
 * overflows. */
TN_MUST_CHECK bool tn_plan_offsets(tn_planner *w, tn_interval_plan *buffers, uint32_t n, const uint32_t *by_first,
                                   const uint32_t *by_last, size_t *out_peak, size_t *out_live);

#endif
