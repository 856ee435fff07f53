/* simplify: the operators' own rewrites, until none applies.
 *
 *   needs facts   gives -   breaks -
 *
 *   %y = identity(%x)                       ->  uses of %y become uses of %x
 *   %y = transpose(%t) {perm = [1, 0]}, %t = transpose(%x) {perm = [1, 0]}   ->   %x
 *
 * Only nodes whose surroundings changed are looked at again, so the work is linear in the number of rewrites. Nodes
 * that lost their uses are left to `dce`. */
#include <stdlib.h>

#include "ir/rewrite.h"
#include "pass/pass.h"

typedef struct simplify {
  tn_pass *pass;
  tn_graph *graph;
  TN_VEC(tn_node *) queue; /* first in, first out */
  size_t next;
  TN_VEC(bool) queued; /* by node id */
} simplify;

static void simplify_push(simplify *s, tn_node *node) {
  while (s->queued.n <= node->id) tn_vec_push(&s->pass->ctx->pass, &s->queued, false);
  if (s->queued.at[node->id] || !node->op->simplify) return;
  s->queued.at[node->id] = true;
  tn_vec_push(&s->pass->ctx->pass, &s->queue, node);
}

static tn_status simplify_push_all(void *arg, tn_node *node) {
  simplify_push(arg, node);
  return TN_OK;
}

/* The nodes that use a node's results, before they change hands; in order of id, for use lists have none. */
typedef struct simplify_users {
  TN_VEC(tn_node *) at;
} simplify_users;

static void simplify_collect(const simplify *s, const tn_node *node, simplify_users *users) {
  for (int i = 0; i < node->n_out; i++) {
    if (!node->out[i]) continue;
    for (const tn_use *u = node->out[i]->uses; u; u = u->next)
      if (!u->is_result) tn_vec_push(&s->pass->ctx->pass, &users->at, u->node);
  }
}

static int simplify_by_id(const void *a, const void *b) {
  const tn_node *const *x = a, *const *y = b;
  return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

static void simplify_node(simplify *s, tn_node *node) {
  simplify_users users = {{0}};
  const tn_node *before = node->prev;
  simplify_collect(s, node, &users);
  tn_rewrite w = {.ctx = s->pass->ctx, .graph = s->graph, .node = node};
  tn_ctx *ctx = s->pass->ctx;
  const size_t n_diags = ctx->diags.n, n_recorded = ctx->n_diags;
  if (node->op->simplify(&w) != TN_OK) { /* a rewrite that does not work out is no fault of the model */
    ctx->diags.n = n_diags;
    ctx->n_diags = n_recorded;
  }
  if (!w.changed) return;
  for (tn_node *made = node->prev; made && made != before; made = made->prev) simplify_push(s, made);
  if (users.at.n > 1) qsort(users.at.at, users.at.n, sizeof(tn_node *), simplify_by_id);
  for (size_t i = 0; i < users.at.n; i++) simplify_push(s, users.at.at[i]);
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i] && node->out[i]->n_uses) simplify_push(s, node);
}

static bool simplify_is_used(const tn_node *node) {
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i] && node->out[i]->n_uses) return true;
  return false;
}

tn_status tn_pass_simplify(tn_pass *p, tn_graph *g) {
  simplify s = {.pass = p, .graph = g};
  TN_TRY(tn_graph_walk(g, simplify_push_all, &s));
  /* Rules shrink, so this ends; the bound holds should two of them ever undo each other. */
  const size_t most = s.queue.n * 16 + 1000;
  for (; s.next < s.queue.n && s.next < most; s.next++) {
    tn_node *node = s.queue.at[s.next];
    s.queued.at[node->id] = false;
    if (!tn_pass_may_edit(p, g)) break;
    if (simplify_is_used(node)) simplify_node(&s, node);
  }
  return TN_OK;
}
