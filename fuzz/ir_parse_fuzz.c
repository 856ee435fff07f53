/* Graph text of any bytes: it is refused, or it verifies, prints to a text that prints the same when read again, and
 * can be inferred without a fault of ours. */
#include "ir/infer.h"
#include "ir/text.h"
#include "ir/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tn_str ir_fuzz_print(tn_ctx *ctx, tn_graph *g) {
  tn_text t;
  tn_text_init(&t, &ctx->arena);
  tn_graph_print(g, &t, TN_PRINT_ALL | TN_PRINT_LOCATIONS);
  return (tn_str){t.ptr, t.len};
}

/* What reading rules out for a graph that was printed. */
static void ir_fuzz_again(tn_ctx *ctx, tn_str text) {
  tn_graph *g = NULL;
  if (tn_graph_parse(ctx, text, NULL, &g) != TN_OK) __builtin_trap();
  const tn_str again = ir_fuzz_print(ctx, g);
  tn_graph *third = NULL;
  if (tn_graph_parse(ctx, again, NULL, &third) != TN_OK) __builtin_trap();
  if (!tn_str_eq(ir_fuzz_print(ctx, third), again)) __builtin_trap();
}

static bool ir_fuzz_is_open(const tn_type *t) {
  for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++)
    if (!t->dims[j]) return true;
  return false;
}

static tn_status ir_fuzz_has_open(void *arg, tn_node *node) {
  bool *open = arg;
  for (int i = 0; i < node->n_regions; i++)
    for (int k = 0; k < node->regions[i]->n_params; k++) *open |= ir_fuzz_is_open(&node->regions[i]->params[k]->type);
  return TN_OK;
}

static void ir_fuzz_infer(tn_graph *g) {
  bool open = false;
  for (int k = 0; k < g->main->n_params; k++) open |= ir_fuzz_is_open(&g->main->params[k]->type);
  if (tn_graph_walk(g, ir_fuzz_has_open, &open) != TN_OK || open) return; /* the pass before inference closes those */
  if (tn_infer_region(g, g->main) == TN_INTERNAL) __builtin_trap();
}

static tn_status ir_fuzz_all(tn_ctx *ctx, void *arg) {
  const tn_str src = *(const tn_str *)arg;
  tn_graph *g = NULL;
  TN_TRY(tn_graph_parse(ctx, src, NULL, &g));
  if (tn_verify(g, TN_HAS_GRAPH) != TN_OK) __builtin_trap();
  ir_fuzz_again(ctx, ir_fuzz_print(ctx, g));
  ir_fuzz_infer(g);
  return TN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_ctx ctx;
  tn_error err = {0};
  if (tn_ctx_init(&ctx, tn_allocator_system(), &err) != TN_OK) __builtin_trap();
  tn_str src = {(const char *)data, size};
  const tn_status status = tn_ctx_run(&ctx, ir_fuzz_all, &src);
  if (status == TN_INTERNAL) __builtin_trap();
  tn_ctx_drop(&ctx);
  return 0;
}
