/* Making a graph and finding values in it. */
#include "ir/graph.h"

#include "ir/edit.h"

tn_graph *tn_graph_new(tn_ctx *ctx) {
  tn_graph *g = TN_NEW(&ctx->arena, tn_graph);
  g->ctx = ctx;
  g->syms = tn_symtab_new(ctx);
  g->main = tn_edit_add_region(g, NULL, "main");
  return g;
}

tn_value *tn_graph_find_value(const tn_graph *g, const char *name) {
  const char *interned = tn_intern_find(&g->ctx->names, tn_str_of(name));
  return interned ? tn_graph_named(g, interned) : NULL;
}
