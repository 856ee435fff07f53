/* Runs passes over a graph given as text, without the driver. */
#ifndef TN_TEST_PASS_RUN_H
#define TN_TEST_PASS_RUN_H

#include "ir/text.h"
#include "pass/pass.h"
#include "test.h"

typedef struct pass_run {
  tn_ctx ctx;
  tn_graph *graph;
  tn_pass pass;
  const char *text;
  const tn_pass_fn *passes;         /* ends with NULL */
  void (*look)(struct pass_run *r); /* called when all went well, while memory may still be taken */
  tn_status status;
} pass_run;

/* Kernels of these tests: "relu" and the like size nothing; names that begin with "non_zero" size their results,
 * "sigmoid" may be written over its operand, "concat" joins. */
static bool run_find_kernel(const char *name, uint32_t *out_flags) {
  *out_flags = strncmp(name, "non_zero", 8) == 0 ? TN_KERNEL_SIZES
               : strcmp(name, "sigmoid") == 0    ? TN_KERNEL_IN_PLACE
               : strcmp(name, "concat") == 0     ? TN_KERNEL_JOINS
                                                 : 0;
  return strcmp(name, "tanh") != 0; /* for tests of what has none */
}

static const tn_kernel_facts run_kernels = {run_find_kernel};

static tn_status run_inside(tn_ctx *ctx, void *arg) {
  pass_run *r = arg;
  TN_TRY(tn_graph_parse(ctx, tn_str_of(r->text), NULL, &r->graph));
  r->pass = (tn_pass){.ctx = ctx, .kernels = &run_kernels, .max_edits = -1};
  for (const tn_pass_fn *fn = r->passes; *fn; fn++) {
    TN_TRY((*fn)(&r->pass, r->graph));
    TN_TRY(tn_verify(r->graph, TN_HAS_GRAPH));
    tn_arena_drop(&ctx->pass);
  }
  if (r->look) r->look(r);
  return TN_OK;
}

TEST_UNUSED static tn_status run_passes(pass_run *r, const char *text, const tn_pass_fn *passes,
                                        void (*look)(pass_run *)) {
  tn_error err = {0};
  memset(r, 0, sizeof *r);
  r->text = text;
  r->passes = passes;
  r->look = look;
  if (!CHECK_EQ_I(tn_ctx_init(&r->ctx, tn_allocator_system(), &err), TN_OK)) return TN_INTERNAL;
  r->status = tn_ctx_run(&r->ctx, run_inside, r);
  return r->status;
}

/* For texts that must pass. */
TEST_UNUSED static void run_ok(const char *text, const tn_pass_fn *passes, void (*look)(pass_run *)) {
  pass_run r;
  if (!CHECK_EQ_I(run_passes(&r, text, passes, look), TN_OK) && r.ctx.diags.n) printf("  %s\n", r.ctx.diags.at[0].full);
  tn_ctx_drop(&r.ctx);
}

TEST_UNUSED static const tn_pass_fn run_to_infer[] = {tn_pass_symbolize, tn_pass_infer, NULL};
TEST_UNUSED static const tn_pass_fn run_to_plan[] = {tn_pass_symbolize, tn_pass_infer,    tn_pass_fold, tn_pass_dce,
                                                     tn_pass_place,     tn_pass_schedule, tn_pass_plan, NULL};
TEST_UNUSED static const tn_pass_fn run_to_emit[] = {tn_pass_symbolize, tn_pass_infer, tn_pass_fold,
                                                     tn_pass_dce,       tn_pass_place, tn_pass_schedule,
                                                     tn_pass_plan,      tn_pass_emit,  NULL};

#endif
