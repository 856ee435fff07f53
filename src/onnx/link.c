/* Who defines what in one graph, what it needs from outside, and an order in which every use follows its definition. */
#include "onnx/model.h"

enum { LINK_MAX_SHOWN = 4 }; /* nodes of a cycle named in its message */

static tn_status link_fail_twice(tn_ctx *ctx, tn_loc loc, const char *name) {
  return tn_fail(ctx, TN_INVALID, loc, "value '%s' is defined twice: names must be unique", name);
}

static void link_define(tn_ctx *ctx, tn_onnx_graph *g, const char *name, uint64_t what) {
  tn_map_set(&ctx->source, &g->defs, tn_intern_id(name), what);
}

static tn_status link_define_ports(tn_ctx *ctx, tn_onnx_graph *g) {
  uint64_t was;
  g->defs.by_id = true;
  tn_map_reserve(&ctx->source, &g->defs, (size_t)(g->n_inputs + g->n_inits + g->n_nodes));
  for (int64_t i = 0; i < g->n_inputs; i++) {
    const char *name = g->inputs[i].name;
    if (tn_map_find(&g->defs, tn_intern_id(name), NULL))
      return link_fail_twice(ctx, (tn_loc){"input", name, NULL, 0}, name);
    link_define(ctx, g, name, TN_ONNX_DEF_INPUT);
  }
  for (int64_t i = 0; i < g->n_inits; i++) {
    const char *name = g->inits[i].name;
    if (tn_map_find(&g->defs, tn_intern_id(name), &was) && was == TN_ONNX_DEF_INIT)
      return link_fail_twice(ctx, (tn_loc){"initializer", name, NULL, 0}, name);
    link_define(ctx, g, name, TN_ONNX_DEF_INIT);
  }
  return TN_OK;
}

static tn_status link_define_nodes(tn_ctx *ctx, tn_onnx_graph *g) {
  for (int64_t i = 0; i < g->n_nodes; i++) {
    const tn_onnx_node *node = &g->nodes[i];
    for (int k = 0; k < node->n_out; k++) {
      if (!node->out[k]) continue;
      if (tn_map_find(&g->defs, tn_intern_id(node->out[k]), NULL))
        return link_fail_twice(ctx, tn_onnx_node_loc(node), node->out[k]);
      link_define(ctx, g, node->out[k], TN_ONNX_DEF_NODE + (uint64_t)i);
    }
  }
  return TN_OK;
}

/* Every name a node needs: its inputs and what the graphs it owns take from outside. */
static void link_each_use(const tn_onnx_node *node, void (*use)(void *arg, const char *name), void *arg) {
  for (int k = 0; k < node->n_in; k++)
    if (node->in[k]) use(arg, node->in[k]);
  for (int k = 0; k < node->n_attrs; k++) {
    const tn_onnx_graph *inner = node->attrs[k].graph;
    for (int64_t i = 0; inner && i < inner->n_free; i++) use(arg, inner->free[i]);
  }
}

/* What the uses tell: names that are defined further out, and whether a use comes before its definition. */
typedef struct link_uses {
  tn_ctx *ctx;
  const tn_onnx_graph *graph;
  int64_t node; /* whose uses are being visited */
  bool disordered;
  tn_map seen;
  TN_VEC(const char *) free;
} link_uses;

static void link_note_use(void *arg, const char *name) {
  link_uses *u = arg;
  uint64_t def;
  if (tn_map_find(&u->graph->defs, tn_intern_id(name), &def)) {
    u->disordered |= def >= TN_ONNX_DEF_NODE && (int64_t)(def - TN_ONNX_DEF_NODE) >= u->node;
    return;
  }
  if (tn_map_find(&u->seen, tn_map_key(name), NULL)) return;
  tn_map_set(&u->ctx->source, &u->seen, tn_map_key(name), 1);
  tn_vec_push(&u->ctx->source, &u->free, name);
}

static bool link_note_uses(tn_ctx *ctx, tn_onnx_graph *g) { /* false: the order of the nodes is none of use */
  link_uses u = {.ctx = ctx, .graph = g};
  for (; u.node < g->n_nodes; u.node++) link_each_use(&g->nodes[u.node], link_note_use, &u);
  for (int64_t i = 0; i < g->n_outputs; i++) link_note_use(&u, g->outputs[i].name);
  g->free = u.free.at;
  g->n_free = (int64_t)u.free.n;
  return !u.disordered;
}

/* Edges between the nodes of one graph, by producer. */
typedef struct link_sort {
  const tn_onnx_graph *graph;
  uint32_t node;       /* whose uses are being visited */
  uint32_t *n_missing; /* node -> uses not yet placed */
  size_t *at;          /* node -> end (while filling: next place) of its users */
  uint32_t *users;
  uint32_t *heap; /* nodes that may be placed, smallest first */
  size_t n_heap;
  uint32_t next; /* a node this one waits for */
} link_sort;

static bool link_producer(const link_sort *s, const char *name, uint32_t *out) {
  uint64_t def;
  if (!tn_map_find(&s->graph->defs, tn_intern_id(name), &def) || def < TN_ONNX_DEF_NODE) return false;
  *out = (uint32_t)(def - TN_ONNX_DEF_NODE);
  return true;
}

static void link_count_use(void *arg, const char *name) {
  link_sort *s = arg;
  uint32_t p;
  if (!link_producer(s, name, &p)) return;
  s->n_missing[s->node]++;
  s->at[p]++;
}
static void link_fill_use(void *arg, const char *name) {
  link_sort *s = arg;
  uint32_t p;
  if (link_producer(s, name, &p)) s->users[--s->at[p]] = s->node;
}
static void link_find_waiting(void *arg, const char *name) {
  link_sort *s = arg;
  uint32_t p;
  if (link_producer(s, name, &p) && s->n_missing[p] > 0) s->next = p;
}

static void link_all_uses(link_sort *s, void (*use)(void *arg, const char *name)) {
  for (s->node = 0; s->node < (uint32_t)s->graph->n_nodes; s->node++) link_each_use(&s->graph->nodes[s->node], use, s);
}

static void link_push(link_sort *s, uint32_t node) {
  size_t i = s->n_heap++;
  for (; i > 0 && s->heap[(i - 1) / 2] > node; i = (i - 1) / 2) s->heap[i] = s->heap[(i - 1) / 2];
  s->heap[i] = node;
}

static uint32_t link_pop(link_sort *s) {
  const uint32_t top = s->heap[0], last = s->heap[--s->n_heap];
  size_t i = 0;
  for (;;) {
    size_t child = 2 * i + 1;
    if (child >= s->n_heap) break;
    if (child + 1 < s->n_heap && s->heap[child + 1] < s->heap[child]) child++;
    if (s->heap[child] >= last) break;
    s->heap[i] = s->heap[child];
    i = child;
  }
  s->heap[i] = last;
  return top;
}

/* Follows nodes that wait for one another until one comes again: that one is on the cycle. */
static tn_status link_fail_cycle(tn_ctx *ctx, link_sort *s) {
  const tn_onnx_graph *g = s->graph;
  uint8_t *seen = TN_NEW_ARRAY(&ctx->source, uint8_t, g->n_nodes);
  uint32_t at = 0;
  while (s->n_missing[at] == 0) at++;
  while (!seen[at]) {
    seen[at] = 1;
    link_each_use(&g->nodes[at], link_find_waiting, s);
    at = s->next;
  }
  tn_text t;
  tn_text_init(&t, &ctx->source);
  const uint32_t first = at;
  for (int i = 0; i < LINK_MAX_SHOWN && (i == 0 || at != first); i++) {
    const tn_loc loc = tn_onnx_node_loc(&g->nodes[at]);
    tn_text_printf(&t, "%s%s '%.100s' #%d", i ? ", which needs " : "", loc.op, loc.name, loc.index);
    link_each_use(&g->nodes[at], link_find_waiting, s);
    at = s->next;
  }
  return tn_fail(ctx, TN_INVALID, tn_onnx_node_loc(&g->nodes[first]), "the nodes form a cycle: %s%s", tn_text_z(&t),
                 at == first ? ", which needs the first" : " and so on");
}

static tn_status link_order(tn_ctx *ctx, tn_onnx_graph *g, link_sort *s) {
  const size_t n = (size_t)g->n_nodes;
  s->n_missing = TN_NEW_ARRAY(&ctx->source, uint32_t, n);
  s->at = TN_NEW_ARRAY(&ctx->source, size_t, n + 1);
  s->heap = TN_NEW_ARRAY(&ctx->source, uint32_t, n + 1);
  link_all_uses(s, link_count_use);
  for (size_t i = 0, sum = 0; i <= n; i++) s->at[i] = sum += s->at[i];
  s->users = TN_NEW_ARRAY(&ctx->source, uint32_t, s->at[n] + 1);
  link_all_uses(s, link_fill_use); /* now at[i] is where the users of i begin */
  uint32_t *order = TN_NEW_ARRAY(&ctx->source, uint32_t, n);
  size_t n_placed = 0;
  for (uint32_t i = 0; i < n; i++)
    if (s->n_missing[i] == 0) link_push(s, i);
  while (s->n_heap > 0) {
    const uint32_t node = link_pop(s);
    order[n_placed++] = node;
    for (size_t u = s->at[node]; u < s->at[node + 1]; u++)
      if (--s->n_missing[s->users[u]] == 0) link_push(s, s->users[u]);
  }
  if (n_placed < n) return link_fail_cycle(ctx, s);
  g->order = order;
  return TN_OK;
}

tn_status tn_onnx_link_graph(tn_ctx *ctx, tn_onnx_graph *g) {
  TN_TRY(link_define_ports(ctx, g));
  TN_TRY(link_define_nodes(ctx, g));
  if (link_note_uses(ctx, g)) return TN_OK;
  link_sort s = {.graph = g};
  TN_TRY(link_order(ctx, g, &s));
  tn_warn(ctx, (tn_loc){0}, "graph '%s': nodes are not in the order of their uses; they were sorted", g->name);
  return TN_OK;
}
