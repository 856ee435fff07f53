/* Regions as DAGs: see split_flow.h. Edges are first found in program order, then numbered anew. */
#include "pass/split_flow.h"

#include "ir/op.h"
#include "pass/split_mark.h"

#define FLOW_NONE UINT32_MAX
enum { FLOW_MAX_NAMED = 256 }; /* nodes of one name, so that edges stay few */

typedef TN_VEC(uint32_t) flow_ids;

typedef struct flow_name { /* nodes of one name: those of one node of the model stand together */
  uint32_t first, last;    /* in program order */
  bool is_shared;          /* by several nodes of the model */
} flow_name;

typedef struct flow_state {
  tn_arena *a;
  tn_ctx *ctx;
  tn_region *r;
  int depth;
  uint32_t n;
  tn_node **nodes;    /* in program order */
  uint32_t *position; /* node id -> place among them */
  uint32_t *seen;     /* node -> 1 + the node that was seen to need it last */
  flow_ids from;      /* by node that needs */
  uint32_t *first;    /* node -> its first edge */
  uint32_t *n_data;   /* node -> how many of its edges carry values; those come first */
  uint32_t *same;     /* node -> itself, or the first one of the same node of the model */
  uint32_t *number;   /* node -> in the order found */
  uint32_t *order;    /* and back */
  uint32_t n_order;
  bool has_marks;
  tn_map names; /* -> flow_name *, only where order is asked for */
} flow_state;

int tn_split_depth(const tn_region *r) {
  int depth = 0;
  for (; r->owner; r = r->owner->region) depth++;
  return depth;
}

const tn_node *tn_split_holder(const tn_region *r, const tn_node *node) {
  while (node && node->region != r) node = node->region->owner;
  return node;
}

static void flow_collect(flow_state *f) {
  f->nodes = TN_NEW_ARRAY(f->a, tn_node *, f->r->n_nodes + 1);
  f->same = TN_NEW_ARRAY(f->a, uint32_t, f->r->n_nodes + 1);
  for (tn_node *node = f->r->first; node; node = node->next) {
    f->position[node->id] = FLOW_NONE;
    if (tn_split_is_const(node)) continue;
    const bool is_same = f->n > 0 && tn_split_same_origin(f->nodes[f->n - 1], node);
    f->same[f->n] = is_same ? f->same[f->n - 1] : f->n;
    f->nodes[f->n] = node;
    f->has_marks |= node->marks != NULL;
    f->position[node->id] = f->n++;
  }
}

static void flow_need(flow_state *f, uint32_t by, uint32_t what) {
  if (what == FLOW_NONE || f->seen[what] == by + 1) return;
  f->seen[what] = by + 1;
  tn_vec_push(f->a, &f->from, what);
}

static void flow_need_value(flow_state *f, uint32_t by, const tn_value *v) {
  if (v && v->def && v->region == f->r) flow_need(f, by, f->position[v->def->id]);
}

/* What a node needs, its regions included: they are at most TN_MAX_NESTING deep. */
static void flow_need_of(flow_state *f, uint32_t by, const tn_node *node) {
  for (int i = 0; i < node->n_in; i++) flow_need_value(f, by, node->in[i]);
  for (int i = 0; i < node->n_regions; i++) {
    const tn_region *inner = node->regions[i];
    for (const tn_node *n = inner->first; n; n = n->next) flow_need_of(f, by, n);
    for (int k = 0; k < inner->n_results; k++) flow_need_value(f, by, inner->results[k]);
  }
}

static void flow_name_nodes(flow_state *f) {
  for (uint32_t i = 0; i < f->n; i++) {
    const char *name = f->nodes[i]->loc.name;
    if (!name || !name[0]) continue;
    name = tn_ctx_namez(f->ctx, name);
    flow_name *have = tn_map_find_ptr(&f->names, name);
    if (have) {
      have->is_shared |= f->same[have->first] != f->same[i];
      have->last = i;
      continue;
    }
    have = TN_NEW(f->a, flow_name);
    *have = (flow_name){.first = i, .last = i};
    tn_map_set_ptr(f->a, &f->names, name, have);
  }
}

static tn_status flow_need_named(flow_state *f, uint32_t by, const char *name) {
  const tn_loc loc = f->nodes[by]->loc;
  const flow_name *found = tn_map_find_ptr(&f->names, name);
  if (!found) return tn_fail(f->ctx, TN_INVALID, loc, "tenon.after: its graph has no node '%s'", name);
  if (found->is_shared) return tn_fail(f->ctx, TN_INVALID, loc, "tenon.after: several nodes are called '%s'", name);
  if (f->same[found->first] == f->same[by])
    return tn_fail(f->ctx, TN_INVALID, loc, "tenon.after: a node cannot come after itself");
  if (found->last - found->first >= FLOW_MAX_NAMED)
    return tn_fail(f->ctx, TN_LIMIT, loc, "tenon.after: '%s' became more than %d nodes", name, FLOW_MAX_NAMED);
  for (uint32_t i = found->first; i <= found->last; i++) flow_need(f, by, i);
  return TN_OK;
}

static tn_status flow_needs(flow_state *f) {
  bool is_ordered = false;
  for (uint32_t i = 0; i < f->n && f->has_marks; i++) is_ordered |= f->nodes[i]->marks && f->nodes[i]->marks->n_after;
  if (is_ordered) flow_name_nodes(f);
  f->first = TN_NEW_ARRAY(f->a, uint32_t, f->n + 1);
  f->n_data = TN_NEW_ARRAY(f->a, uint32_t, f->n + 1);
  f->seen = TN_NEW_ARRAY(f->a, uint32_t, f->n + 1);
  for (uint32_t i = 0; i < f->n; i++) {
    const tn_marks *marks = f->nodes[i]->marks;
    f->first[i] = (uint32_t)f->from.n;
    flow_need_of(f, i, f->nodes[i]);
    f->n_data[i] = (uint32_t)f->from.n - f->first[i];
    for (int k = 0; marks && k < marks->n_after; k++) TN_TRY(flow_need_named(f, i, marks->after[k]));
    if (f->from.n > INT32_MAX) return tn_fail(f->ctx, TN_LIMIT, f->nodes[i]->loc, "too many edges");
  }
  f->first[f->n] = (uint32_t)f->from.n;
  return TN_OK;
}

typedef struct flow_frame {
  uint32_t node, edge;
} flow_frame;

/* Depth first from one node; `seen` is 0 new, 1 on the stack, 2 done. */
static tn_status flow_visit(flow_state *f, flow_frame *stack, uint32_t root) {
  uint32_t depth = 0;
  if (f->seen[root]) return TN_OK;
  stack[depth++] = (flow_frame){root, f->first[root]};
  f->seen[root] = 1;
  while (depth) {
    flow_frame *top = &stack[depth - 1];
    if (top->edge == f->first[top->node + 1]) {
      f->seen[top->node] = 2;
      f->number[top->node] = f->n_order;
      f->order[f->n_order++] = top->node;
      depth--;
      continue;
    }
    const uint32_t next = f->from.at[top->edge++];
    if (f->seen[next] == 1) {
      const tn_node *other = f->nodes[next];
      return tn_fail(f->ctx, TN_INVALID, f->nodes[top->node]->loc,
                     "a closed loop: it comes after '%s', which comes after it",
                     other->loc.name ? other->loc.name : other->op->name);
    }
    if (f->seen[next]) continue;
    f->seen[next] = 1;
    stack[depth++] = (flow_frame){next, f->first[next]};
  }
  return TN_OK;
}

static tn_status flow_sort(flow_state *f) {
  flow_frame *stack = TN_NEW_ARRAY(f->a, flow_frame, f->n + 1);
  f->number = TN_NEW_ARRAY(f->a, uint32_t, f->n + 1);
  f->order = TN_NEW_ARRAY(f->a, uint32_t, f->n + 1);
  memset(f->seen, 0, ((size_t)f->n + 1) * sizeof *f->seen);
  for (int i = 0; i < f->r->n_results; i++) {
    const tn_value *v = f->r->results[i];
    if (!v->def || v->region != f->r || f->position[v->def->id] == FLOW_NONE) continue;
    TN_TRY(flow_visit(f, stack, f->position[v->def->id]));
  }
  for (uint32_t i = 0; i < f->n; i++) TN_TRY(flow_visit(f, stack, i));
  return TN_OK;
}

static void flow_out(tn_split_flow *out, tn_arena *a) {
  out->first_out = TN_NEW_ARRAY(a, uint32_t, out->n + 2);
  out->out = TN_NEW_ARRAY(a, uint32_t, out->n_edges + 1);
  for (uint32_t e = 0; e < out->n_edges; e++) out->first_out[out->from[e] + 2]++;
  for (uint32_t i = 0; i < out->n; i++) out->first_out[i + 2] += out->first_out[i + 1];
  for (uint32_t e = 0; e < out->n_edges; e++) out->out[out->first_out[out->from[e] + 1]++] = e;
}

static void flow_finish(flow_state *f, tn_split_flow *out) {
  *out = (tn_split_flow){.region = f->r, .n = f->n, .n_edges = (uint32_t)f->from.n};
  out->nodes = TN_NEW_ARRAY(f->a, tn_node *, f->n + 1);
  out->from = TN_NEW_ARRAY(f->a, uint32_t, f->from.n + 1);
  out->to = TN_NEW_ARRAY(f->a, uint32_t, f->from.n + 1);
  out->is_order = TN_NEW_ARRAY(f->a, bool, f->from.n + 1);
  out->ids = TN_NEW_ARRAY(f->a, uint32_t, f->n + 1);
  out->has_marks = f->has_marks;
  out->first = TN_NEW_ARRAY(f->a, uint32_t, f->n + 1);
  uint32_t n_edges = 0;
  for (uint32_t i = 0; i < f->n; i++) {
    const uint32_t p = f->order[i];
    out->nodes[i] = f->nodes[p];
    out->ids[i] = out->nodes[i]->id;
    out->first[i] = n_edges;
    for (uint32_t e = f->first[p]; e < f->first[p + 1]; e++) {
      out->from[n_edges] = f->number[f->from.at[e]];
      out->to[n_edges] = i;
      out->is_order[n_edges++] = e >= f->first[p] + f->n_data[p];
    }
  }
  out->first[f->n] = n_edges;
  flow_out(out, f->a);
}

/* Groups: nodes made of one node of the model, and those whose metadata name one group. Union-find, roots smallest. */

static uint32_t flow_root(uint32_t *up, uint32_t x) {
  while (up[x] != x) x = up[x] = up[up[x]];
  return x;
}

static void flow_unite(uint32_t *up, uint32_t x, uint32_t y) {
  x = flow_root(up, x);
  y = flow_root(up, y);
  up[x > y ? x : y] = x > y ? y : x;
}

static void flow_groups(const flow_state *f, tn_split_flow *out) {
  tn_map named = {0};
  uint32_t *up = TN_NEW_ARRAY(f->a, uint32_t, f->n + 1);
  out->origin = TN_NEW_ARRAY(f->a, uint32_t, f->n + 1);
  for (uint32_t i = 0; i < f->n; i++) up[i] = i;
  for (uint32_t i = 0; i < f->n; i++) {
    uint64_t first;
    out->origin[i] = f->number[f->same[f->order[i]]];
    flow_unite(up, i, out->origin[i]);
    if (!f->has_marks) continue;
    const tn_node *node = out->nodes[i];
    if (!node->marks || !node->marks->group) continue;
    if (tn_map_find(&named, tn_map_key(node->marks->group), &first))
      flow_unite(up, i, (uint32_t)first);
    else
      tn_map_set(f->a, &named, tn_map_key(node->marks->group), i);
  }
  for (uint32_t i = 0; i < f->n; i++) up[i] = flow_root(up, i);
  out->group = up;
}

tn_status tn_split_flow_new(tn_region *r, tn_arena *a, uint32_t *index, tn_split_flow *out) {
  flow_state f = {.a = a, .ctx = r->graph->ctx, .r = r, .position = index};
  flow_collect(&f);
  TN_TRY(flow_needs(&f));
  TN_TRY(flow_sort(&f));
  flow_finish(&f, out);
  flow_groups(&f, out);
  for (uint32_t i = 0; i < f.n; i++) index[out->ids[i]] = i;
  out->index = index;
  return TN_OK;
}
