/* flatten: a split is undone, so that every later pass sees nodes and no parts.
 *
 *   needs graph   gives nodes   breaks -
 *
 * The nodes of a call take its place; then, where all calls of a region still have the nodes they were made with, each
 * goes back to where it stood. */
#include "pass/pass.h"
#include "pass/split.h"

typedef struct flattener {
  tn_graph *g;
  TN_VEC(tn_region *) regions; /* with calls; outer before inner */
  int64_t *position;           /* node id -> place in its region, or -1 */
  bool is_known;               /* all places of the region at hand are */
} flattener;

static bool flatten_is_call(const tn_node *node) { return strcmp(node->op->name, "call") == 0; }

static void flatten_see(flattener *f, tn_region *r) {
  for (const tn_node *node = r->first; node; node = node->next)
    if (flatten_is_call(node)) {
      tn_vec_push(&f->g->ctx->pass, &f->regions, r);
      return;
    }
}

static tn_status flatten_visit(void *arg, tn_node *node) {
  for (int i = 0; i < node->n_regions; i++) flatten_see(arg, node->regions[i]);
  return TN_OK;
}

/* A call may come from a text. */
static tn_status flatten_check(const flattener *f, const tn_node *call) {
  const tn_region *body = call->regions[0];
  if (body->n_params != call->n_in || body->n_results != call->n_out)
    return tn_fail(f->g->ctx, TN_INVALID, call->loc, "its body has %d inputs and %d outputs, expected %d and %d",
                   body->n_params, body->n_results, call->n_in, call->n_out);
  for (int i = 0; i < call->n_in; i++)
    if (!call->in[i]) return tn_fail(f->g->ctx, TN_INVALID, call->loc, "input %d is absent", i);
  return TN_OK;
}

static void flatten_note(flattener *f, const tn_node *call) {
  const tn_attr *at = tn_op_attr(call, "at");
  const tn_region *body = call->regions[0];
  if (!at || at->kind != TN_ATTR_INTS || at->n != body->n_nodes) {
    f->is_known = false;
    return;
  }
  int64_t i = 0;
  for (const tn_node *node = body->first; node; node = node->next) f->position[node->id] = at->ints[i++];
}

static void flatten_call(flattener *f, tn_node *call) {
  tn_region *body = call->regions[0];
  flatten_note(f, call);
  for (int i = 0; i < body->n_params; i++) tn_edit_replace_uses(body->params[i], call->in[i]);
  while (body->first) tn_edit_move_before(body->first, call);
  for (int i = 0; i < call->n_out; i++)
    if (call->out[i]) tn_edit_replace_uses(call->out[i], body->results[i]);
  body->merged = call->region;
  tn_edit_erase_node(call);
}

/* Nodes by place; those that were in no call have the places that are left, in order. False when two share one. */
static bool flatten_sort(const flattener *f, const tn_region *r, tn_node **nodes) {
  int64_t next = 0;
  for (tn_node *node = r->first; node; node = node->next) {
    const int64_t at = f->position[node->id];
    if (at < 0) continue;
    if (at >= r->n_nodes || nodes[at]) return false;
    nodes[at] = node;
  }
  for (tn_node *node = r->first; node; node = node->next) {
    if (f->position[node->id] >= 0) continue;
    while (nodes[next]) next++;
    nodes[next] = node;
    f->position[node->id] = next;
  }
  return true;
}

static bool flatten_is_before(const flattener *f, const tn_region *r, const tn_value *v, int64_t at) {
  return !v || !v->def || v->region != r || f->position[v->def->id] < at;
}

/* Does all that `node` and the nodes in its regions use stand before `at`? */
static bool flatten_fits(const flattener *f, const tn_region *r, const tn_node *node, int64_t at) {
  for (int i = 0; i < node->n_in; i++)
    if (!flatten_is_before(f, r, node->in[i], at)) return false;
  for (int i = 0; i < node->n_regions; i++) {
    const tn_region *inner = node->regions[i];
    for (const tn_node *n = inner->first; n; n = n->next)
      if (!flatten_fits(f, r, n, at)) return false;
    for (int k = 0; k < inner->n_results; k++)
      if (!flatten_is_before(f, r, inner->results[k], at)) return false;
  }
  return true;
}

static void flatten_reorder(const flattener *f, tn_region *r) {
  const uint32_t n = r->n_nodes;
  tn_node **nodes = TN_NEW_ARRAY(&f->g->ctx->pass, tn_node *, n + 1);
  if (!flatten_sort(f, r, nodes)) return;
  for (uint32_t i = 0; i < n; i++)
    if (!flatten_fits(f, r, nodes[i], f->position[nodes[i]->id])) return;
  for (uint32_t i = 0; i < n; i++) tn_edit_move_to_end(nodes[i], r);
}

static tn_status flatten_region(flattener *f, tn_region *r) {
  f->is_known = true;
  for (tn_node *node = r->first, *next; node; node = next) {
    next = node->next;
    f->position[node->id] = -1;
    if (!flatten_is_call(node)) continue;
    TN_TRY(flatten_check(f, node));
    flatten_call(f, node);
  }
  if (f->is_known) flatten_reorder(f, r);
  return TN_OK;
}

tn_status tn_split_flatten(tn_graph *g) {
  flattener f = {.g = g};
  if (g->n_regions == 1) return TN_OK; /* a call owns one */
  flatten_see(&f, g->main);
  TN_TRY(tn_graph_walk(g, flatten_visit, &f));
  if (f.regions.n) f.position = TN_NEW_ARRAY(&g->ctx->pass, int64_t, g->n_nodes + 1);
  while (f.regions.n) TN_TRY(flatten_region(&f, f.regions.at[--f.regions.n]));
  return TN_OK;
}

tn_status tn_pass_flatten(tn_pass *p, tn_graph *g) {
  (void)p;
  return tn_split_flatten(g);
}
