/* Inside of a session. Memory only grows: what a run needed once, the next one finds. */
#ifndef TN_RT_SESSION_H
#define TN_RT_SESSION_H

#include "code/flow.h"
#include "rt/plan.h"
#include "rt/rt.h"

enum { TN_RT_CACHES = 4, TN_RT_ALIGN = 64, TN_RT_MAX_NESTING = 8 };

typedef struct tn_rt_block { /* grow-only memory; zero is empty */
  void *ptr;
  size_t bytes;
} tn_rt_block;

/* An element of a sequence or optional, or a loop state: an operand and the memory it owns. `arg` is first, so that the
 * host's functions find the item of an operand. Sequences keep the items they no longer use behind n_items. */
typedef struct tn_rt_item {
  tn_karg arg;
  tn_rt_block block;
} tn_rt_item;

typedef struct tn_rt_state { /* of a loop's parameter: one iteration reads one while it makes the other */
  tn_rt_item slot[2];
} tn_rt_state;

typedef struct tn_rt_region {
  tn_rt_block arena;
  bool is_planned; /* buffers lie where the dims of their values want them */
  size_t live_bytes, arena_bytes;
  tn_pspan buffer_values; /* session->events: values in buffers */
  tn_pspan entry;         /* session->events: SHAPE and VIEW values that exist from the entry, in order */
  tn_rt_state *states;    /* one per parameter */
  int64_t iteration;      /* parameters of a loop */
  uint8_t condition;
} tn_rt_region;

typedef struct tn_rt_step {
  uint32_t number;
  const tn_kernel *kernel; /* NULL for control steps and views */
  tn_kcall call;
  tn_pspan before; /* session->events: LATE outputs with known dims */
  tn_pspan after;  /* session->events: SHAPE and VIEW values that exist from then on */
  tn_rt_block cache[TN_RT_CACHES];
  size_t cache_bytes[TN_RT_CACHES]; /* as asked for; 0 = holds nothing */
} tn_rt_step;

typedef struct tn_rt_chunks { /* bump memory that is emptied and filled again in the same order */
  tn_rt_block *at;
  size_t n, cap;
  size_t current, used; /* next byte to give */
} tn_rt_chunks;

struct tn_rt_session {
  tn_allocator allocator;
  tn_program *p;
  tn_pool *pool;
  uint64_t seed, n_calls;
  tn_flow flow;
  tn_rt_block flow_memory, memory; /* of the arrays below */
  int64_t *slots;
  int64_t *given; /* symbol -> value set by the caller, when is_given */
  uint8_t *is_given;
  uint8_t *is_set;     /* input -> was given */
  tn_karg *args;       /* value -> operand */
  tn_rt_block *blocks; /* value -> memory of LATE and SHAPE values */
  tn_kattr *attrs;
  tn_karg **operands;
  tn_rt_step *steps;
  tn_rt_region *regions;
  tn_rt_state *states;
  uint32_t *events;
  tn_interval_plan *intervals;  /* buffer -> lifetime, size, place */
  uint32_t *by_first, *by_last; /* buffers of each region in order of birth and of death */
  tn_planner planner;
  tn_rt_chunks scratch, strings;
  tn_error kernel_error;
  tn_rt_hook hook;
  void *hook_arg;
  bool is_bound;
  int64_t binds, runs, total_bytes;
};

/* host.c: memory and the services for kernels. */
extern const tn_khost tn_rt_host;
/* At least `bytes`; the first `keep` bytes stay. False when memory ended (the block is then as it was). */
TN_MUST_CHECK bool tn_rt_grow(tn_rt_session *s, tn_rt_block *b, size_t bytes, size_t keep);
void tn_rt_drop(tn_rt_session *s, tn_rt_block *b);
void tn_rt_chunks_reset(tn_rt_chunks *c);
void tn_rt_chunks_drop(tn_rt_session *s, tn_rt_chunks *c);
void tn_rt_items_drop(tn_rt_session *s, tn_karg *seq);
/* A new item of a sequence at a position, in whatever state it was left; NULL when memory ended. */
tn_rt_item *tn_rt_item_insert(tn_rt_session *s, tn_karg *seq, int64_t at);
/* Deep copy into an operand that owns `block`. */
TN_MUST_CHECK tn_status tn_rt_assign(tn_rt_session *s, tn_karg *arg, tn_rt_block *block, const tn_karg *src,
                                     tn_error *err);
/* The session's error for what gets a label before it reaches the caller; empty. Valid until the next call or kernel.
 */
static inline tn_error *tn_rt_inner_error(tn_rt_session *s) {
  s->kernel_error.status = TN_OK;
  s->kernel_error.text[0] = 0;
  return &s->kernel_error;
}
/* Memory for arg's dtype and count. */
TN_MUST_CHECK tn_status tn_rt_reserve(tn_rt_session *s, tn_karg *arg, tn_rt_block *block, size_t keep, tn_error *err);

/* bind.c: symbols, sizes, places. */
TN_MUST_CHECK tn_status tn_rt_segment(tn_rt_session *s, uint32_t segment, tn_error *err);
TN_MUST_CHECK tn_status tn_rt_resolve(tn_rt_session *s, tn_pspan events, tn_error *err);
TN_MUST_CHECK tn_status tn_rt_resolve_value(tn_rt_session *s, uint32_t value, tn_error *err);
/* Parameters are set: runs the segment, checks the parameters, lays out the buffers, resolves what exists at entry. */
TN_MUST_CHECK tn_status tn_rt_enter(tn_rt_session *s, uint32_t region, tn_error *err);
TN_MUST_CHECK tn_status tn_rt_bind_main(tn_rt_session *s, tn_error *err);
bool tn_rt_elements_changed(tn_rt_session *s);
/* The dims of a value from its slots. */
TN_MUST_CHECK tn_status tn_rt_dims(tn_rt_session *s, uint32_t value, bool *out_changed, tn_error *err);
/* layout.c: gives the buffers of a region their sizes and places. */
TN_MUST_CHECK tn_status tn_rt_layout(tn_rt_session *s, uint32_t region, tn_error *err);
/* Is the size of this LATE or BUFFER value known before its step? */
static inline bool tn_rt_is_sized(const tn_pvalue *x) {
  return x->kind == 0 && x->rank >= 0 && x->dims.n == (uint32_t)x->rank;
}

/* run.c */
TN_MUST_CHECK tn_status tn_rt_steps(tn_rt_session *s, uint32_t region, tn_error *err);
/* control.c */
TN_MUST_CHECK tn_status tn_rt_control(tn_rt_session *s, uint32_t step, tn_error *err);

#endif
