/* Inputs at random valid sizes, as tensors. */
#include "base/rng.h"
#include "driver/draw.h"
#include "driver/report.h"
#include "driver/tool.h"

struct tn_drawer {
  tn_compilation c;
  tn_binding at;
  uint64_t seed;
  tn_tensor *inputs;
  const char *sizes;
};

static tn_status drawer_inside(tn_ctx *ctx, void *arg) {
  tn_drawer *d = arg;
  tn_region *main = d->c.graph->main;
  tn_draw draw = {.at = &d->at, .arena = &ctx->pass, .stream = d->seed, .fill = (int)(d->seed % TN_DRAW_FILLS)};
  tn_arena_drop(&ctx->pass);
  if (!d->at.graph) tn_binding_init(&d->at, d->c.graph, true);
  if (!tn_binding_draw(&d->at, d->seed)) return tn_fail(ctx, TN_LIMIT, (tn_loc){0}, "no valid sizes were found");
  d->inputs = TN_NEW_ARRAY(&ctx->pass, tn_tensor, main->n_params + 1);
  for (int i = 0; i < main->n_params; i++) {
    const tn_lit *lit;
    TN_TRY(tn_draw_input(&draw, main->params[i], &lit));
    tn_lit_tensor(&ctx->pass, lit, &d->inputs[i]);
  }
  d->sizes = tn_binding_text(&d->at, &ctx->pass, false);
  return TN_OK;
}

tn_status tn_drawer_create(const char *path, const tn_compile_options *o, int64_t gear, tn_drawer **out,
                           tn_report **out_report) {
  tn_drawer *d = tn_alloc(tn_allocator_system(), sizeof *d);
  *out = NULL;
  if (!d) return tn_report_failure(out_report, TN_OOM, "out of memory");
  memset(d, 0, sizeof *d);
  const tn_compile_request q = {.allocator = tn_allocator_system(),
                                .path = path,
                                .options = o,
                                .stop_after = "infer",
                                .max_edits = -1,
                                .gear = gear};
  tn_status status = tn_compilation_run(&d->c, &q);
  if (status == TN_OK && d->c.is_program)
    status = tn_error_set(&d->c.error, TN_INVALID, "a program does not say which sizes are valid");
  if (out_report) *out_report = tn_compilation_report(&d->c);
  if (status == TN_OK)
    *out = d;
  else
    tn_drawer_release(d);
  return status;
}

tn_status tn_drawer_next(tn_drawer *d, uint64_t seed, const tn_tensor **out_inputs, const char **out_sizes,
                         tn_report **out_report) {
  d->seed = seed;
  d->c.ctx.diags.n = 0;
  tn_status status = tn_ctx_run(&d->c.ctx, drawer_inside, d);
  if (status == TN_OOM) status = tn_error_set(&d->c.error, TN_OOM, "out of memory");
  if (out_report) *out_report = tn_compilation_report(&d->c);
  *out_inputs = status == TN_OK ? d->inputs : NULL;
  *out_sizes = status == TN_OK ? d->sizes : NULL;
  return status;
}

void tn_drawer_release(tn_drawer *d) {
  if (!d) return;
  tn_compilation_drop(&d->c);
  tn_free(tn_allocator_system(), d, sizeof *d);
}
