/* Passes: one per file, one public function each, listed only in driver/pipeline.c. */
#ifndef TN_PASS_PASS_H
#define TN_PASS_PASS_H

#include "code/program.h"
#include "ir/edit.h"
#include "ir/op.h"
#include "ir/verify.h"

/* How a node becomes part of the program. */
typedef enum tn_place {
  TN_PLACE_KERNEL,  /* a step of the general engine */
  TN_PLACE_CONTROL, /* a step with regions */
  TN_PLACE_DATA,    /* const, shape_value: no step */
  TN_PLACE_ALIAS,   /* a view whose dims are known in time: no step */
  TN_PLACE_PART,    /* results that are parts of an operand: no step */
  TN_PLACE_VIEW     /* a view that takes the dims of its source when it runs */
} tn_place;

typedef struct tn_plan_buffer { /* as tn_pbuffer */
  const tn_region *region;      /* whose memory it is in */
  uint32_t first, last;         /* ticks, inclusive */
  uint32_t value;               /* id of the value whose size it has */
  tn_sym bytes;
  bool has_bytes;      /* its size is not that of values of `region` alone */
  uint32_t number;     /* in its region, by address */
  int32_t under, over; /* ties: numbers of buffers of its region, or TN_NO_INDEX */
} tn_plan_buffer;

typedef struct tn_plan_join { /* the part of a result that an operand is, or no node */
  const tn_node *node;
  int operand;
} tn_plan_join;

typedef struct tn_plan { /* pass/plan.c: which values share memory */
  int32_t *buffer;       /* value id -> buffer, or -1 */
  tn_plan_join *join;    /* value id -> where it is in the place of the node's result */
  int32_t *view_of;      /* value id -> value id it is a view of, or -1 */
  tn_sym *part;          /* value id -> element of that one with which it begins, or NULL: it has all of its elements */
  uint8_t *store;        /* value id -> tn_pstore */
  uint32_t *begin, *end; /* node id -> ticks, of those that are steps */
  uint32_t *region_end;  /* region id -> the last tick inside it */
  uint32_t n_buffers;
  tn_plan_buffer *buffers;
  uint32_t n_joined;   /* operands that are made in the results of what joins them */
  tn_sym joined_bytes; /* of all of them; NULL: there are none */
} tn_plan;
#define TN_NO_STEP UINT32_MAX

/* What the passes know of the kernel table (a pass does not include kern/). */
enum {
  TN_KERNEL_SIZES = 1,
  TN_KERNEL_IN_PLACE = 2,
  TN_KERNEL_IN_PLACE_FIRST = 4,
  TN_KERNEL_JOINS = 8
}; /* as TN_K_... */
typedef struct tn_kernel_facts {
  bool (*find)(const char *name, uint32_t *out_flags); /* false: no such kernel */
} tn_kernel_facts;

typedef struct tn_pass { /* what the manager hands to every pass */
  tn_ctx *ctx;           /* ctx->pass is emptied after each pass */
  const char *name;
  const tn_kernel_facts *kernels;
  bool keep_operands; /* no result is written over an operand: someone looks at both */
  int64_t max_edits;  /* optional rewrites stop when the graph has seen as many edits; < 0: no limit */
  /* Products that later passes read; in the context's arena. */
  struct tn_known *known;             /* place: when sizes are known (pass/known.h) */
  const struct tn_engine **engine_of; /* place: node id -> engine */
  uint8_t *place_of;                  /* place: node id -> tn_place */
  uint32_t *order_of;                 /* schedule: node id -> step of its region; TN_NO_STEP when it is none */
  tn_plan *plan;
  tn_program *program;              /* emit: arrays in the context's arena */
  const tn_node *const *step_nodes; /* emit: step -> node */
} tn_pass;

typedef tn_status (*tn_pass_fn)(tn_pass *p, tn_graph *g);

tn_status tn_pass_flatten(tn_pass *p, tn_graph *g);   /* a split is undone */
tn_status tn_pass_symbolize(tn_pass *p, tn_graph *g); /* unnamed dims of inputs become symbols */
tn_status tn_pass_infer(tn_pass *p, tn_graph *g);     /* types, shapes, contents of every value */
tn_status tn_pass_prune(tn_pass *p, tn_graph *g);     /* branches that are never taken */
tn_status tn_pass_fold(tn_pass *p, tn_graph *g);      /* constants, and symbolic contents to `shape_value` nodes */
tn_status tn_pass_simplify(tn_pass *p, tn_graph *g);  /* operators' own rewrites, to a fixpoint */
tn_status tn_pass_cse(tn_pass *p, tn_graph *g);       /* equal pure nodes become one */
tn_status tn_pass_dce(tn_pass *p, tn_graph *g);       /* nodes nobody needs */
tn_status tn_pass_place(tn_pass *p, tn_graph *g);     /* an engine for each node; all refusals at once */
tn_status tn_pass_schedule(tn_pass *p, tn_graph *g);  /* the order of steps */
tn_status tn_pass_plan(tn_pass *p, tn_graph *g);      /* views and buffer lifetimes */
tn_status tn_pass_emit(tn_pass *p, tn_graph *g);      /* the program */

/* For passes whose rewrites may be cut short (--stop-after-edits). */
static inline bool tn_pass_may_edit(const tn_pass *p, const tn_graph *g) {
  return p->max_edits < 0 || g->edits < p->max_edits;
}

/* Region i of a node, as its step has them: an If runs its first region when the condition holds. */
static inline tn_region *tn_pass_region(const tn_node *node, int i) {
  const bool swapped = node->n_regions == 2 && strcmp(node->regions[0]->name, "else_branch") == 0;
  return node->regions[swapped ? 1 - i : i];
}

/* By result, the element of operand 0 from which it takes all its own, which lie together (pass/part.c); in the pass's
 * arena. NULL when that is not so of every result, or is not known before the node runs. */
const tn_sym *tn_pass_parts_of(const tn_pass *p, const tn_graph *g, const tn_node *node);

const tn_lit *tn_pass_const_of(const tn_value *v); /* the literal of a `const` node's result; else NULL */

/* Engines: what may run a node. */
typedef struct tn_engine {
  const char *name;
  /* NULL when it can, then *out_place says how; else why not ("has no kernel", "its size is known only when run"). */
  const char *(*refuse)(const tn_pass *p, const tn_node *node, tn_place *out_place);
} tn_engine;

#endif
