/* prune: removes branches that are never taken.
 *
 *   needs facts   gives live   breaks -
 *
 *   %y = if(%true) region () { %a = exp(%x) yield (%a) } region () { ... }   ->   %a = exp(%x)
 *
 * Inference does not look into such a branch (it may hold what its operands make impossible), so it must go before
 * anything reads its types. The operator's own rewrite does the work. */
#include "ir/rewrite.h"
#include "pass/pass.h"

typedef struct prune {
  tn_pass *pass;
  tn_graph *graph;
  TN_VEC(tn_node *) found; /* outer before inner */
} prune;

static tn_status prune_visit(void *arg, tn_node *node) {
  prune *p = arg;
  bool dead = false;
  for (int i = 0; i < node->n_regions; i++) dead |= node->regions[i]->dead;
  if (dead && node->op->simplify) tn_vec_push(&p->pass->ctx->pass, &p->found, node);
  return TN_OK;
}

static bool prune_is_erased(const tn_node *node, const bool *erased) {
  for (; node; node = node->region->owner)
    if (erased[node->id]) return true;
  return false;
}

static bool prune_is_used(const tn_node *node) {
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i] && node->out[i]->n_uses) return true;
  return false;
}

tn_status tn_pass_prune(tn_pass *pass, tn_graph *g) {
  prune p = {.pass = pass, .graph = g};
  bool *erased = TN_NEW_ARRAY(&pass->ctx->pass, bool, g->n_nodes + 1);
  TN_TRY(tn_graph_walk(g, prune_visit, &p));
  for (size_t i = 0; i < p.found.n; i++) {
    tn_node *node = p.found.at[i];
    tn_rewrite w = {.ctx = pass->ctx, .graph = g, .node = node};
    if (prune_is_erased(node, erased)) continue;
    TN_TRY(node->op->simplify(&w));
    if (prune_is_used(node)) continue;
    tn_edit_erase_node(node);
    erased[node->id] = true;
  }
  return TN_OK;
}
