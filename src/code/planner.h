/* Offsets for buffers with known lifetimes: for known sizes, or in an order that serves all sizes. No allocation: a new
 * shape is planned within a session's memory. */
#ifndef TN_CODE_PLANNER_H
#define TN_CODE_PLANNER_H

#include "base/checked.h"

typedef struct tn_interval_plan {
  uint32_t first, last; /* steps, inclusive */
  size_t bytes;         /* a multiple of the alignment */
  size_t offset;        /* result */
  uint32_t under, over; /* placed by order (tn_plan_orient): buffers that it lies above and below; or TN_PLAN_NONE */
} tn_interval_plan;
#define TN_PLAN_NONE UINT32_MAX

enum { TN_PLANNER_BINS = 256, TN_PLAN_ALIGN = 64 /* of sizes and offsets */ };

/* Does a plan for all sizes waste little enough to be taken: at most a 20th of what is live? */
static inline bool tn_plan_is_tight(size_t peak, size_t live) { return peak - live <= live / 20; }

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

/* The buffers in order of birth or of death, those of equal steps by number. O(n log n), in place. */
void tn_plan_sort(const tn_interval_plan *b, uint32_t n, bool by_last, uint32_t *out);

static inline size_t tn_planner_nodes(size_t n) { return 2 * n + 2; }

/* Sets the offsets of the n buffers. by_first and by_last order them by birth and by death. *out_peak = bytes that they
 * need, *out_live = largest sum of buffers that live at once, which no plan can beat. False when the sum of all sizes
 * overflows. */
TN_MUST_CHECK bool tn_plan_offsets(tn_planner *w, tn_interval_plan *buffers, uint32_t n, const uint32_t *by_first,
                                   const uint32_t *by_last, size_t *out_peak, size_t *out_live);
/* That largest sum. The sum of all sizes must not overflow. */
size_t tn_plan_live(const tn_interval_plan *b, uint32_t n, const uint32_t *by_first, const uint32_t *by_last);

/* A plan for all sizes: the buffers are numbered by address, and of every two that live together the higher one lies
 * above the lower one, however large they are. When a buffer is born between two that are live, it is tied to both
 * (`under`, `over`); the rest follows, as those that live always form a chain. `bits` has tn_plan_bits(n) words. */
void tn_plan_orient(tn_interval_plan *b, uint32_t n, const uint32_t *by_first, const uint32_t *by_last, uint64_t *bits);
/* Do the ties keep apart all buffers that live together? *out_buffer = one that is not tied as it must be. */
bool tn_plan_is_oriented(const tn_interval_plan *b, uint32_t n, const uint32_t *by_first, const uint32_t *by_last,
                         uint64_t *bits, uint32_t *out_buffer);
/* The lowest offsets that the ties allow. Returns the bytes that they need. The sum of all sizes must not overflow. */
size_t tn_plan_evaluate(tn_interval_plan *b, uint32_t n);
static inline size_t tn_plan_bits(size_t n) { return n / 64 + n / 4096 + 2; }

#endif
