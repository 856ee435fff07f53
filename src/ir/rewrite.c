/* What a simplification may do to the graph. */
#include "ir/rewrite.h"

#include "ir/infer.h"

static bool rewrite_same_type(tn_symtab *syms, const tn_type *a, const tn_type *b) {
  if (tn_type_same(a, b)) return a->kind != TN_TYPE_TENSOR || a->rank >= 0;
  if (a->kind != TN_TYPE_TENSOR || b->kind != TN_TYPE_TENSOR || a->dtype != b->dtype) return false;
  if (a->rank < 0 || a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i] && tn_sym_prove(syms, tn_sym_eq(syms, a->dims[i], b->dims[i])) != TN_TRUE)
      return false;
  return true;
}

bool tn_rewrite_forward(tn_rewrite *w, int i, tn_value *v) {
  tn_value *old = w->node->out[i];
  if (!old || old == v || old->n_uses == 0 || !rewrite_same_type(w->graph->syms, &old->type, &v->type)) return false;
  tn_edit_replace_uses(old, v);
  w->changed = true;
  return true;
}

/* Takes back what a refused node left: its errors and its entries in the ledger. */
static void rewrite_undo(tn_rewrite *w, tn_node *node, size_t n_kept, size_t n_diags, size_t n_checks) {
  tn_graph *g = w->graph;
  w->ctx->diags.n = n_kept;
  w->ctx->n_diags = n_diags;
  for (size_t i = n_checks; i < g->checks.n; i++)
    tn_map_set(&w->ctx->arena, &g->check_of, tn_map_key(g->checks.at[i].condition), 0);
  g->checks.n = n_checks;
  tn_edit_erase_node(node);
}

tn_node *tn_rewrite_add_with(tn_rewrite *w, const char *op, tn_value *const *in, int n_in, int n_out,
                             const tn_rewrite_set *set, int n_set) {
  const tn_op *found = tn_op_find(op);
  if (!found) return NULL;
  const size_t n_kept = w->ctx->diags.n, n_diags = w->ctx->n_diags, n_checks = w->graph->checks.n;
  const int64_t edits = w->graph->edits;
  tn_node *node = tn_edit_add_node(w->node->region, w->node, found, in, n_in, n_out, w->node->loc);
  for (int i = 0; i < n_set; i++) tn_edit_set_attr(node, set[i].name, set[i].value);
  if (tn_infer_node(w->graph, node) == TN_OK) {
    w->changed = true;
    return node;
  }
  rewrite_undo(w, node, n_kept, n_diags, n_checks);
  w->graph->edits = edits;
  return NULL;
}

tn_node *tn_rewrite_add(tn_rewrite *w, const char *op, tn_value *const *in, int n_in, int n_out) {
  return tn_rewrite_add_with(w, op, in, n_in, n_out, NULL, 0);
}
