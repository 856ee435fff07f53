/* Is a plan right? Looks at the graph itself and shares nothing with the planner but the meaning of a constant. */
#include "ir/op.h"
#include "pass/split_mark.h"

typedef struct checker {
  const tn_partition_set *s;
  const tn_partition *p;
  tn_ctx *ctx;
  tn_map inputs;   /* value id and part -> 1: listed, 2: and used */
  uint32_t *made;  /* value id -> 1 + the part that has it as an output, over all regions */
  uint32_t base;   /* parts of the regions before */
  uint64_t *edges; /* from << 32 | to, as listed */
  uint8_t *used;   /* edge -> 1: by order, 2: by a value */
} checker;

#define check_fail(c, node, ...) tn_fail((c)->ctx, TN_INTERNAL, (node)->loc, __VA_ARGS__)

/* Nodes: each of the region in one part and each of a part in the region. */
static tn_status check_nodes(const checker *c) {
  uint32_t listed = 0, there = 0;
  for (uint32_t k = 0; k < c->p->n_parts; k++) {
    const tn_part *part = &c->p->parts[k];
    for (uint32_t i = 0; i < part->n_nodes; i++) {
      const tn_node *node = part->nodes[i];
      if (node->region != c->p->region || c->s->part_of[node->id] != k)
        return check_fail(c, node, "the plan has it in a part that is not its own");
    }
    if (part->n_nodes == 0) return tn_fail(c->ctx, TN_INTERNAL, (tn_loc){0}, "part %s is empty", part->name);
    listed += part->n_nodes;
  }
  for (const tn_node *node = c->p->region->first; node; node = node->next) {
    const uint32_t part = c->s->part_of[node->id];
    if (tn_split_is_const(node) ? part != TN_NO_PART : part >= c->p->n_parts)
      return check_fail(c, node, "the plan has it in part %u", part);
    there += part != TN_NO_PART;
  }
  if (listed == there) return TN_OK; /* no node twice: each knows its one part, and as many are listed */
  return tn_fail(c->ctx, TN_INTERNAL, (tn_loc){0}, "the parts list %u nodes of %u", listed, there);
}

static bool check_find_edge(const checker *c, uint32_t from, uint32_t to, uint32_t *out) {
  const uint64_t want = (uint64_t)from << 32 | to;
  uint32_t lo = 0, hi = c->p->n_edges;
  while (lo < hi) {
    const uint32_t mid = lo + (hi - lo) / 2;
    if (c->edges[mid] < want)
      lo = mid + 1;
    else
      hi = mid;
  }
  *out = lo;
  return lo < c->p->n_edges && c->edges[lo] == want;
}

/* `by` in part `to` comes after `what`. */
static tn_status check_order(const checker *c, const tn_node *by, uint32_t to, const tn_node *what, uint8_t how) {
  const uint32_t from = c->s->part_of[what->id];
  uint32_t edge;
  if (from == to) return TN_OK;
  if (from > to) return check_fail(c, by, "its part %u comes before part %u, which it needs", to, from);
  if (!check_find_edge(c, from, to, &edge)) return check_fail(c, by, "no edge from part %u to part %u", from, to);
  c->used[edge] |= how;
  return TN_OK;
}

static uint64_t check_key(const checker *c, const tn_value *v, uint32_t part) {
  return (uint64_t)v->id << 32 | (c->base + part);
}

static bool check_is_around(const tn_region *outer, const tn_region *inner) {
  for (; inner; inner = inner->owner ? inner->owner->region : NULL)
    if (inner == outer) return true;
  return false;
}

/* A value that `node`, or a node in its regions, uses. */
static tn_status check_use(checker *c, const tn_node *node, const tn_value *v) {
  const uint32_t part = c->s->part_of[node->id];
  if (!v || (v->def && tn_split_is_const(v->def)) || !check_is_around(v->region, c->p->region)) return TN_OK;
  if (v->region == c->p->region && v->def) {
    if (c->s->part_of[v->def->id] == part) return TN_OK;
    TN_TRY(check_order(c, node, part, v->def, 2));
    if (c->made[v->id] != c->base + c->s->part_of[v->def->id] + 1)
      return check_fail(c, node, "'%s' is no output of the part that makes it", v->name);
  }
  uint64_t state;
  if (!tn_map_find(&c->inputs, check_key(c, v, part), &state))
    return check_fail(c, node, "'%s' is no input of its part", v->name);
  if (state == 1) tn_map_set(&c->ctx->pass, &c->inputs, check_key(c, v, part), 2);
  return TN_OK;
}

static tn_status check_uses(checker *c, const tn_node *node, const tn_node *inside) {
  for (int i = 0; i < inside->n_in; i++) TN_TRY(check_use(c, node, inside->in[i]));
  for (int i = 0; i < inside->n_regions; i++) {
    const tn_region *r = inside->regions[i];
    for (const tn_node *n = r->first; n; n = n->next) TN_TRY(check_uses(c, node, n));
    for (int k = 0; k < r->n_results; k++) TN_TRY(check_use(c, node, r->results[k]));
  }
  return TN_OK;
}

static tn_status check_after(const checker *c, const tn_map *names, const tn_node *node) {
  for (int i = 0; node->marks && i < node->marks->n_after; i++) {
    const tn_node *first = tn_map_find_ptr(names, node->marks->after[i]);
    if (!first) return check_fail(c, node, "the node it comes after is not there");
    TN_TRY(check_order(c, node, c->s->part_of[node->id], first, 1));
  }
  return TN_OK;
}

/* Values: a part's inputs and outputs once each. */
static tn_status check_lists(checker *c) {
  for (uint32_t k = 0; k < c->p->n_parts; k++) {
    const tn_part *part = &c->p->parts[k];
    for (uint32_t i = 0; i < part->n_inputs; i++) {
      if (tn_map_find(&c->inputs, check_key(c, part->inputs[i], k), NULL))
        return tn_fail(c->ctx, TN_INTERNAL, (tn_loc){0}, "part %s has input '%s' twice", part->name,
                       part->inputs[i]->name);
      tn_map_set(&c->ctx->pass, &c->inputs, check_key(c, part->inputs[i], k), 1);
    }
    for (uint32_t i = 0; i < part->n_outputs; i++) {
      const tn_value *v = part->outputs[i];
      if (!v->def || v->region != c->p->region || c->s->part_of[v->def->id] != k || c->made[v->id] == c->base + k + 1)
        return tn_fail(c->ctx, TN_INTERNAL, (tn_loc){0}, "part %s has a wrong output '%s'", part->name, v->name);
      c->made[v->id] = c->base + k + 1;
    }
  }
  return TN_OK;
}

static tn_status check_results(const checker *c) {
  const tn_region *r = c->p->region;
  for (int i = 0; i < r->n_results; i++) {
    const tn_value *v = r->results[i];
    if (v->region != r || !v->def || tn_split_is_const(v->def)) continue;
    if (c->made[v->id] != c->base + c->s->part_of[v->def->id] + 1)
      return tn_fail(c->ctx, TN_INTERNAL, v->def->loc, "result '%s' is no output of its part", v->name);
  }
  return TN_OK;
}

static tn_status check_edges(checker *c) {
  c->edges = TN_NEW_ARRAY(&c->ctx->pass, uint64_t, c->p->n_edges + 1);
  c->used = TN_NEW_ARRAY(&c->ctx->pass, uint8_t, c->p->n_edges + 1);
  for (uint32_t e = 0; e < c->p->n_edges; e++) {
    const tn_part_edge *edge = &c->p->edges[e];
    c->edges[e] = (uint64_t)edge->from << 32 | edge->to;
    if (edge->from >= edge->to || edge->to >= c->p->n_parts || (e && c->edges[e - 1] >= c->edges[e]))
      return tn_fail(c->ctx, TN_INTERNAL, (tn_loc){0}, "edge %u of the plan is out of order", e);
  }
  return TN_OK;
}

/* Groups stay together; the one names of nodes for `tenon.after`. */
static tn_status check_groups(const checker *c, tn_map *names) {
  tn_map groups = {0};
  for (const tn_node *node = c->p->region->first; node; node = node->next) {
    uint64_t part;
    if (tn_split_is_const(node)) continue;
    if (node->loc.name && node->loc.name[0])
      tn_map_set_ptr(&c->ctx->pass, names, tn_ctx_namez(c->ctx, node->loc.name), (void *)(uintptr_t)node);
    if (!node->marks || !node->marks->group) continue;
    if (!tn_map_find(&groups, tn_map_key(node->marks->group), &part))
      tn_map_set(&c->ctx->pass, &groups, tn_map_key(node->marks->group), c->s->part_of[node->id]);
    else if (part != c->s->part_of[node->id])
      return check_fail(c, node, "group '%s' is in two parts", node->marks->group);
  }
  return TN_OK;
}

static tn_status check_partition(checker *c) {
  tn_map names = {0};
  TN_TRY(check_nodes(c));
  TN_TRY(check_edges(c));
  TN_TRY(check_lists(c));
  TN_TRY(check_groups(c, &names));
  for (const tn_node *node = c->p->region->first; node; node = node->next) {
    if (tn_split_is_const(node)) continue;
    TN_TRY(check_uses(c, node, node));
    TN_TRY(check_after(c, &names, node));
  }
  for (uint32_t e = 0; e < c->p->n_edges; e++)
    if (c->used[e] != (c->p->edges[e].is_order_only ? 1 : 2) && !(c->used[e] == 3 && !c->p->edges[e].is_order_only))
      return tn_fail(c->ctx, TN_INTERNAL, (tn_loc){0}, "the edge from part %u to part %u is not as the graph has it",
                     c->p->edges[e].from, c->p->edges[e].to);
  return check_results(c);
}

static tn_status check_names(const checker *c) {
  tn_map names = {0};
  for (size_t r = 0; r < c->s->regions.n; r++)
    for (uint32_t k = 0; k < c->s->regions.at[r].n_parts; k++) {
      const char *name = tn_ctx_namez(c->ctx, c->s->regions.at[r].parts[k].name);
      if (tn_map_find(&names, tn_map_key(name), NULL))
        return tn_fail(c->ctx, TN_INTERNAL, (tn_loc){0}, "two parts are called %s", name);
      tn_map_set(&c->ctx->pass, &names, tn_map_key(name), 1);
    }
  return TN_OK;
}

tn_status tn_split_verify(const tn_partition_set *s) {
  checker c = {.s = s, .ctx = s->graph->ctx};
  c.made = TN_NEW_ARRAY(&c.ctx->pass, uint32_t, s->graph->n_values + 1);
  for (size_t r = 0; r < s->regions.n; r++) {
    c.p = &s->regions.at[r];
    TN_TRY(check_partition(&c));
    c.base += c.p->n_parts;
  }
  for (size_t i = 0; i < c.inputs.n; i++)
    if (c.inputs.entries[i].value == 1)
      return tn_fail(c.ctx, TN_INTERNAL, (tn_loc){0}, "a part has an input that it does not use");
  return check_names(&c);
}
