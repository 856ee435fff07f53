/* The invariants of a graph, checked in one walk. */
#include "ir/verify.h"

#include "ir/edit.h"
#include "ir/op.h"

typedef struct verify {
  tn_graph *g;
  uint32_t invariants;
  uint8_t *defined;     /* by value id: seen so far in program order */
  uint32_t *slots;      /* by value id: operand slots and results that name it */
  uint8_t *nodes;       /* by node id: seen */
  tn_map symbols;       /* expressions whose symbols were checked */
  const tn_value *open; /* while checking symbols: the value whose type is looked at */
  tn_status status;
} verify;

#define verify_fail(v, loc, ...) tn_fail((v)->g->ctx, TN_INTERNAL, (loc), __VA_ARGS__)

/* Types. */

static void verify_symbol(void *arg, uint32_t number) {
  verify *v = arg;
  const tn_symbol *s = tn_sym_symbol(v->g->syms, number);
  if (v->status != TN_OK || s->source != TN_SOURCE_NONE) return;
  v->status =
      verify_fail(v, (tn_loc){0}, "symbol '%s' in the shape of value '%s' has no source", s->name, v->open->name);
}

static tn_status verify_sym(verify *v, tn_sym e) {
  if (tn_map_find(&v->symbols, tn_map_key(e), NULL)) return TN_OK;
  tn_map_set(&v->g->ctx->pass, &v->symbols, tn_map_key(e), 1);
  tn_sym_symbols(v->g->syms, e, verify_symbol, v);
  return v->status;
}

static tn_status verify_dims(verify *v, const tn_value *value, tn_loc loc) {
  const tn_type *t = &value->type;
  v->open = value;
  for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++) {
    if (!t->dims[j]) return verify_fail(v, loc, "dim %d of value '%s' is open", j, value->name);
    TN_TRY(verify_sym(v, t->dims[j]));
  }
  return TN_OK;
}

static tn_status verify_type(verify *v, const tn_value *value, tn_loc loc) {
  const tn_type *t = &value->type;
  if (t->kind == TN_TYPE_TENSOR && (t->rank < -1 || t->rank > TN_MAX_RANK))
    return verify_fail(v, loc, "value '%s' has rank %d", value->name, t->rank);
  if (t->kind == TN_TYPE_TENSOR && t->content && !tn_type_const_dims(t, NULL))
    return verify_fail(v, loc, "value '%s' has content but no constant shape", value->name);
  if (v->invariants & TN_HAS_SYMBOLS) TN_TRY(verify_dims(v, value, loc));
  if (!(v->invariants & TN_HAS_FACTS)) return TN_OK;
  if (t->kind == TN_TYPE_UNKNOWN) return verify_fail(v, loc, "the type of value '%s' is not known", value->name);
  if (t->kind == TN_TYPE_TENSOR && !t->dtype)
    return verify_fail(v, loc, "the element type of value '%s' is not known", value->name);
  return TN_OK;
}

/* Values. */

static tn_status verify_value(verify *v, const tn_value *value, tn_region *region, const tn_node *def, int index,
                              tn_loc loc) {
  if (value->id >= v->g->n_values) return verify_fail(v, loc, "value '%s' has an id past the last", value->name);
  if (v->defined[value->id]) return verify_fail(v, loc, "two values have the id %u of '%s'", value->id, value->name);
  if (value->region != region || value->def != def || value->index != index)
    return verify_fail(v, loc, "value '%s' does not know where it is defined", value->name);
  if (tn_graph_named(v->g, value->name) != value)
    return verify_fail(v, loc, "the name '%s' leads to another value", value->name);
  v->defined[value->id] = 1;
  return verify_type(v, value, loc);
}

static bool verify_visible(const tn_value *value, const tn_region *from) {
  for (; from; from = from->owner ? from->owner->region : NULL)
    if (value->region == from) return true;
  return false;
}

static tn_status verify_use(verify *v, const tn_value *value, const tn_use *use, const tn_region *from, tn_loc loc) {
  if (value->id >= v->g->n_values || !v->defined[value->id])
    return verify_fail(v, loc, "value '%s' is used before it is defined", value->name);
  if (!verify_visible(value, from)) return verify_fail(v, loc, "value '%s' is used outside its region", value->name);
  if (use->prev ? use->prev->next != use : value->uses != use)
    return verify_fail(v, loc, "a use of value '%s' is not in its list", value->name);
  v->slots[value->id]++;
  return TN_OK;
}

/* The list holds as many uses as slots name the value, and each of them names it: then they are the same. */
static tn_status verify_list(verify *v, const tn_value *value) {
  uint32_t n = 0;
  for (const tn_use *u = value->uses; u; u = u->next) {
    if (n++ >= value->n_uses) break;
    if (*tn_use_slot(u) != value || (u->next && u->next->prev != u)) n = value->n_uses + 1;
  }
  if (n != value->n_uses || v->slots[value->id] != n)
    return verify_fail(v, (tn_loc){0}, "value '%s' has %u uses, its list says otherwise", value->name,
                       v->slots[value->id]);
  return TN_OK;
}

static tn_status verify_lists(verify *v, const tn_region *r) {
  for (int i = 0; i < r->n_params; i++) TN_TRY(verify_list(v, r->params[i]));
  for (const tn_node *node = r->first; node; node = node->next) {
    for (int i = 0; i < node->n_out; i++)
      if (node->out[i]) TN_TRY(verify_list(v, node->out[i]));
    for (int i = 0; i < node->n_regions; i++) TN_TRY(verify_lists(v, node->regions[i]));
  }
  return TN_OK;
}

/* Nodes. */

static tn_status verify_region(verify *v, tn_region *r, const tn_node *owner, int depth);

static tn_status verify_node(verify *v, tn_node *node, tn_region *r, int depth) {
  if (node->region != r || node->id >= v->g->n_nodes || v->nodes[node->id])
    return verify_fail(v, node->loc, "a node is linked into the wrong region or twice");
  v->nodes[node->id] = 1;
  const char *fault = tn_op_fault(&v->g->ctx->pass, node);
  if (fault) return verify_fail(v, node->loc, "%s", fault);
  for (int i = 0; i < node->n_in; i++) {
    const tn_use *u = &node->uses[i];
    if (u->is_result || u->node != node || u->index != i)
      return verify_fail(v, node->loc, "operand %d has a wrong use", i);
    if (node->in[i]) TN_TRY(verify_use(v, node->in[i], u, r, node->loc));
  }
  for (int i = 0; i < node->n_regions; i++) TN_TRY(verify_region(v, node->regions[i], node, depth + 1));
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) TN_TRY(verify_value(v, node->out[i], r, node, i, node->loc));
  return TN_OK;
}

static tn_status verify_region_inside(verify *v, tn_region *r, const tn_node *owner, int depth) {
  const tn_loc loc = owner ? owner->loc : (tn_loc){0};
  uint32_t n = 0;
  if (depth > TN_MAX_NESTING) return verify_fail(v, loc, "regions are nested deeper than %d", TN_MAX_NESTING);
  if (r->owner != owner || r->graph != v->g) return verify_fail(v, loc, "a region does not know its owner");
  for (int i = 0; i < r->n_params; i++) TN_TRY(verify_value(v, r->params[i], r, NULL, i, loc));
  for (tn_node *node = r->first; node; node = node->next, n++) {
    if (node->prev ? node->prev->next != node : r->first != node)
      return verify_fail(v, node->loc, "the list of nodes is broken");
    if (!node->next && r->last != node) return verify_fail(v, node->loc, "the last node of a region is not its last");
    TN_TRY(verify_node(v, node, r, depth));
  }
  if (n != r->n_nodes) return verify_fail(v, loc, "a region counts %u nodes and has %u", r->n_nodes, n);
  for (int i = 0; i < r->n_results; i++) {
    const tn_use *u = &r->result_uses[i];
    if (!u->is_result || u->region != r || u->index != i) return verify_fail(v, loc, "result %d has a wrong use", i);
    if (!r->results[i]) return verify_fail(v, loc, "result %d is missing", i);
    TN_TRY(verify_use(v, r->results[i], u, r, loc));
  }
  return TN_OK;
}

/* Nothing is inferred in a region that is never entered. */
static tn_status verify_region(verify *v, tn_region *r, const tn_node *owner, int depth) {
  const uint32_t invariants = v->invariants;
  if (r->dead) v->invariants &= TN_HAS_GRAPH;
  const tn_status status = verify_region_inside(v, r, owner, depth);
  v->invariants = invariants;
  return status;
}

tn_status tn_verify(tn_graph *g, uint32_t invariants) {
  tn_arena *a = &g->ctx->pass;
  verify v = {.g = g,
              .invariants = invariants,
              .defined = TN_NEW_ARRAY(a, uint8_t, g->n_values + 1),
              .slots = TN_NEW_ARRAY(a, uint32_t, g->n_values + 1),
              .nodes = TN_NEW_ARRAY(a, uint8_t, g->n_nodes + 1),
              .status = TN_OK};
  TN_TRY(verify_region(&v, g->main, NULL, 0));
  return verify_lists(&v, g->main);
}
