/* Passes: one per file, one public function each, listed only in driver/pipeline.c. */
#ifndef TN_PASS_PASS_H
#define TN_PASS_PASS_H

#include "code/program.h"
#include "ir/edit.h"
#include "ir/verify.h"

typedef struct tn_plan { /* pass/plan.c: which values share memory */
  int32_t *buffer;  /* value id -> buffer, or -1 */
  int32_t *view_of; /* value id -> value id it is a view of, or -1 */
  uint32_t n_buffers;
  uint32_t *first, *last; /* buffer -> steps of its region */
} tn_plan;

typedef struct tn_pass { /* what the manager hands to every pass */
  tn_ctx *ctx;           /* ctx->pass is emptied after each pass */
  const char *name;
  /* Products that later passes read; in the context's arena. */
  const struct tn_engine **engine_of; /* place: node id -> engine */
  uint32_t *order_of;                 /* schedule: node id -> position in its region */
  tn_plan *plan;
  tn_program *program; /* emit: arrays in the context's arena */
} tn_pass;

typedef tn_status (*tn_pass_fn)(tn_pass *p, tn_graph *g);

tn_status tn_pass_symbolize(tn_pass *p, tn_graph *g); /* unnamed dims of inputs become symbols */
tn_status tn_pass_infer(tn_pass *p, tn_graph *g);     /* types, shapes, contents of every value */
tn_status tn_pass_fold(tn_pass *p, tn_graph *g);      /* constants, and symbolic contents to `shape_value` nodes */
tn_status tn_pass_simplify(tn_pass *p, tn_graph *g);  /* operators' own rewrites, to a fixpoint */
tn_status tn_pass_cse(tn_pass *p, tn_graph *g);       /* equal pure nodes become one */
tn_status tn_pass_dce(tn_pass *p, tn_graph *g);       /* nodes nobody needs */
tn_status tn_pass_place(tn_pass *p, tn_graph *g);     /* an engine for each node; all refusals at once */
tn_status tn_pass_schedule(tn_pass *p, tn_graph *g);  /* the order of steps */
tn_status tn_pass_plan(tn_pass *p, tn_graph *g);      /* views and buffer lifetimes */
tn_status tn_pass_emit(tn_pass *p, tn_graph *g);      /* the program */

/* Engines: what may run a node. */
typedef struct tn_engine {
  const char *name;
  /* NULL when it can; else why not ("no kernel", "rank known only at run time"). */
  const char *(*refuse)(tn_ctx *ctx, const tn_node *node);
} tn_engine;
extern const tn_engine tn_engines[]; /* in order of preference; ends with a NULL name */

#endif
