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
  TN_PLACE_VIEW     /* a view that takes the dims of its source when it runs */
} tn_place;

typedef struct tn_plan { /* pass/plan.c: which values share memory */
  int32_t *buffer;       /* value id -> buffer, or -1 */
  int32_t *view_of;      /* value id -> value id it is a view of, or -1 */
  uint8_t *store;        /* value id -> tn_pstore */
  uint32_t n_buffers;
  uint32_t *first, *last; /* buffer -> steps of its region (inclusive); last may be TN_TO_THE_END */
  uint32_t *value;        /* buffer -> id of the value whose size it has */
} tn_plan;
#define TN_TO_THE_END UINT32_MAX
#define TN_NO_STEP UINT32_MAX

/* What the passes know of the kernel table (a pass does not include kern/). */
enum { TN_KERNEL_SIZES = 1 }; /* as TN_K_SIZES */
typedef struct tn_kernel_facts {
  bool (*find)(const char *name, uint32_t *out_flags); /* false: no such kernel */
} tn_kernel_facts;

typedef struct tn_pass { /* what the manager hands to every pass */
  tn_ctx *ctx;           /* ctx->pass is emptied after each pass */
  const char *name;
  const tn_kernel_facts *kernels;
  int64_t max_edits; /* optional rewrites stop when the graph has seen as many edits; < 0: no limit */
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

const tn_lit *tn_pass_const_of(const tn_value *v); /* the literal of a `const` node's result; else NULL */

/* Engines: what may run a node. */
typedef struct tn_engine {
  const char *name;
  /* NULL when it can, then *out_place says how; else why not ("has no kernel", "its size is known only when run"). */
  const char *(*refuse)(const tn_pass *p, const tn_node *node, tn_place *out_place);
} tn_engine;

#endif
