/* Inside of a session. Memory only grows: what a run needed once, the next one finds. */
#ifndef TN_RT_SESSION_H
#define TN_RT_SESSION_H

#include "code/flow.h"
#include "code/planner.h"
#include "rt/rt.h"

enum { TN_RT_CACHES = 4, TN_RT_ALIGN = TN_PLAN_ALIGN, TN_RT_MAX_NESTING = 8 };

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
  tn_pspan joins;         /* session->joins: steps that find operands in their out, the last first */
  tn_rt_state *states;    /* one per parameter */
  uint64_t run;           /* number of the body's run at hand, of all bodies in all runs */
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

typedef struct tn_rt_part { /* where an operand is in the buffer of the step's result */
  size_t at, bytes;
} tn_rt_part;

typedef struct tn_rt_aim_of { /* of a buffer */
  uint32_t first;             /* 1 + a value in it, then next_in_buffer; 0: none */
  bool is_movable;            /* all of them are of one region, and no strings */
  uint64_t run;               /* the last run of a body for which it lay elsewhere */
} tn_rt_aim_of;

typedef struct tn_rt_chunks { /* bump memory that is emptied and filled again in the same order */
  tn_rt_block *at;
  size_t n, cap;
  size_t current, used; /* next byte to give */
  size_t n_given;       /* chunks up to the last that something was given of since it was emptied */
} tn_rt_chunks;

typedef struct tn_rt_bound { /* a shape that was bound */
  uint64_t hash, used;       /* used: number of the bind; 0 = empty */
  tn_rt_block memory;        /* of the arrays */
  int64_t *key, *slots;
  size_t *offsets; /* of the main region's buffers */
  size_t arena_bytes, live_bytes;
} tn_rt_bound;

typedef struct tn_rt_user_output { /* memory of the caller for an output */
  void *data;                      /* NULL: none */
  size_t bytes;
  bool is_in_place; /* the buffer of the value lies there */
  bool is_copied;   /* `arg` is the output */
  tn_karg arg;
} tn_rt_user_output;

typedef struct tn_rt_gears { /* only in programs that have gears */
  int32_t number, wanted;    /* of the last run; of all runs. TN_NO_INDEX: none */
  bool is_padded;            /* the run's inputs are `padded`, its outputs `cut` */
  bool is_inside;            /* ... and it has not ended */
  tn_karg *inputs;           /* as the caller gave them */
  tn_rt_item *padded, *cut;
  int64_t *slots; /* while padded: of the caller's shapes */
} tn_rt_gears;

typedef struct tn_rt_link_state { /* of an input */
  uint32_t output;                /* 1 + the output that becomes it, or 0 */
  uint32_t turn;                  /* the item that was kept */
  bool is_kept;                   /* ... and is the next run's input, unless another is set */
  tn_rt_item item[2];
} tn_rt_link_state;

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
  tn_rt_aim_of *aims;       /* by buffer */
  uint32_t *next_in_buffer; /* value -> 1 + the next one in its buffer, or 0 */
  uint64_t n_bodies;        /* runs of bodies so far */
  uint32_t *joins;
  tn_rt_part *parts;            /* by place in program->operands: of those that `joins` read */
  tn_interval_plan *intervals;  /* buffer -> lifetime, size, place */
  uint32_t *by_first, *by_last; /* buffers of each region in order of birth and of death */
  tn_planner planner;
  tn_rt_chunks scratch, strings;
  tn_error kernel_error;
  tn_rt_hook hook;
  void *hook_arg;
  tn_rt_bound *bound; /* the last shapes, n_bound of them */
  uint32_t n_bound;
  uint32_t key_size;
  int64_t *key;              /* of the shape to be bound */
  const tn_rt_bound *recall; /* while a kept shape is bound again */
  tn_rt_user_output *user_outputs;
  tn_rt_gears gear;
  tn_rt_link_state *links; /* by input */
  char **buffer_base;      /* buffer of the main region -> where its values' data were placed, NULL: in the arena */
  uint32_t n_user_outputs;
  bool has_moved_buffers;
  int64_t max_memory, denied_bytes; /* denied: what would have been needed when max_memory said no; 0 = not */
  bool is_shrinking;
  int cancelled; /* atomic */
  int64_t deadline_ns, until_ns;
  tn_rt_progress progress;
  void *progress_arg;
  bool is_bound;
  int64_t binds, bind_hits, runs, total_bytes;
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
/* Parameters are set: runs the segment, checks the parameters, lays out the buffers. What exists at entry is to be
 * resolved then. */
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

/* bound.c: shapes that were bound before. */
size_t tn_rt_key_size(const tn_program *p); /* integers that tell the inputs of one bind from another's */
/* Looks for the shape of the inputs in the kept ones: s->recall, or NULL. */
void tn_rt_recall(tn_rt_session *s);
/* Keeps what the main region has now; memory that ends is no error. */
void tn_rt_keep(tn_rt_session *s);
void tn_rt_forget(tn_rt_session *s);

/* output.c: outputs in the caller's memory. */
void tn_rt_move_buffers_back(tn_rt_session *s);
/* After the layout of the main region, before anything that looks at addresses. */
TN_MUST_CHECK tn_status tn_rt_move_buffers(tn_rt_session *s, tn_error *err);
TN_MUST_CHECK tn_status tn_rt_copy_outputs(tn_rt_session *s, tn_error *err); /* after a run */

/* aim.c: results of bodies made where they are wanted. */
void tn_rt_aims_init(tn_rt_session *s);
/* After tn_rt_enter: a result of the region is made at `to` if it has `bytes` and can be, else where its buffer lies.
 * False when it is not, or is already made elsewhere for another result. */
bool tn_rt_aim(tn_rt_session *s, uint32_t region, uint32_t value, void *to, size_t bytes);
/* Has the result a buffer that may be moved, and was not in this run of the body? It must then be aimed. */
bool tn_rt_can_aim(const tn_rt_session *s, uint32_t region, uint32_t value);
bool tn_rt_is_aimed(const tn_rt_session *s, uint32_t region, uint32_t value);

/* link.c: after a run linked outputs are copied; before the next one they become inputs. */
TN_MUST_CHECK tn_status tn_rt_keep_links(tn_rt_session *s, tn_error *err);
TN_MUST_CHECK tn_status tn_rt_give_links(tn_rt_session *s, tn_error *err);
void tn_rt_links_drop(tn_rt_session *s);
/* gear.c: before a run the inputs become operands, padded or not; after it results are cut. */
TN_MUST_CHECK tn_status tn_rt_gear_enter(tn_rt_session *s, tn_error *err);
TN_MUST_CHECK tn_status tn_rt_gear_leave(tn_rt_session *s, tn_error *err);
void tn_rt_gear_drop(tn_rt_session *s); /* the memory of padded and cut tensors */
/* Output i before it is copied to the caller's memory. */
static inline const tn_karg *tn_rt_made(const tn_rt_session *s, uint32_t i) {
  return s->gear.is_padded ? &s->gear.cut[i].arg : &s->args[s->p->outputs[i].value];
}

/* run.c */
/* OOM that came from max_memory, as LIMIT with both sizes; other statuses as they are. */
tn_status tn_rt_denied(tn_rt_session *s, tn_status status, tn_error *err);
/* CANCELLED when the run is to end now. */
TN_MUST_CHECK tn_status tn_rt_watch(tn_rt_session *s, tn_error *err);
TN_MUST_CHECK tn_status tn_rt_steps(tn_rt_session *s, uint32_t region, tn_error *err);
/* control.c */
TN_MUST_CHECK tn_status tn_rt_control(tn_rt_session *s, uint32_t step, tn_error *err);

#endif
