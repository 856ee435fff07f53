/* Changing a graph. Every function keeps the use lists, owners, ids and names right. */
#include "ir/edit.h"

#include "base/hash.h"

#include "ir/op.h"

static tn_arena *edit_arena(const tn_region *r) { return &r->graph->ctx->arena; }

/* Room for one more in an array whose capacity is the next power of two of its length. */
static void *edit_append(tn_arena *a, void *at, int n, size_t size) {
  if (n & (n - 1)) return at;
  void *grown = tn_arena_zero(a, n ? 2 * (size_t)n : 1, size);
  if (n) memcpy(grown, at, (size_t)n * size);
  return grown;
}

static void edit_bind_name(tn_graph *g, tn_value *v, const char *name) { /* v NULL: nobody has it */
  const uint32_t id = tn_intern_id(name);
  if (id >= g->value_of.n) {
    const size_t n = g->value_of.n, all = g->ctx->names.n;
    g->value_of.at = tn_vec_grow(&g->ctx->arena, g->value_of.at, n, &g->value_of.cap, all, sizeof(tn_value *));
    memset(g->value_of.at + n, 0, (g->value_of.cap - n) * sizeof(tn_value *));
    g->value_of.n = g->value_of.cap;
  }
  g->value_of.at[id] = v;
}

static const char *edit_free_name(tn_graph *g, const char *stem) {
  uint64_t next = 1;
  (void)tn_map_find(&g->name_next, tn_map_key(stem), &next);
  for (;; next++) {
    const char *name = tn_ctx_namez(g->ctx, tn_arena_printf(&g->ctx->arena, "%s_%llu", stem, (unsigned long long)next));
    if (tn_graph_named(g, name)) continue;
    tn_map_set(&g->ctx->arena, &g->name_next, tn_map_key(stem), next + 1);
    return name;
  }
}

static void edit_give_name(tn_graph *g, tn_value *v, const char *name, bool made) {
  v->name = name;
  v->name_made = made;
  edit_bind_name(g, v, name);
}

static void edit_make_name(tn_graph *g, tn_value *v) {
  const char *name = tn_ctx_namez(g->ctx, tn_arena_printf(&g->ctx->arena, "v%u", v->id));
  edit_give_name(g, v, tn_graph_named(g, name) ? edit_free_name(g, name) : name, true);
}

static void edit_drop_name(tn_graph *g, const tn_value *v) { edit_bind_name(g, NULL, v->name); }

/* `name` interned or NULL. */
static void edit_set_name(tn_graph *g, tn_value *v, const char *name) {
  if (!name || !name[0]) {
    edit_make_name(g, v);
    return;
  }
  tn_value *holder = tn_graph_named(g, name);
  if (holder && !holder->name_made) {
    edit_give_name(g, v, edit_free_name(g, name), false);
    return;
  }
  edit_give_name(g, v, name, false);
  if (holder) edit_make_name(g, holder);
}

static const char *edit_intern(tn_graph *g, const char *name) { return name ? tn_ctx_namez(g->ctx, name) : NULL; }

void tn_edit_name_value(tn_value *v, const char *name) {
  tn_graph *g = v->region->graph;
  if (name && (name == v->name || strcmp(name, v->name) == 0)) {
    v->name_made = false;
    return;
  }
  edit_drop_name(g, v);
  edit_set_name(g, v, edit_intern(g, name));
  g->edits++;
}

static void edit_link(tn_use *u, tn_value *v) {
  u->prev = NULL;
  u->next = v->uses;
  if (v->uses) v->uses->prev = u;
  v->uses = u;
  v->n_uses++;
}

static void edit_unlink(tn_use *u, tn_value *v) {
  if (u->prev)
    u->prev->next = u->next;
  else
    v->uses = u->next;
  if (u->next) u->next->prev = u->prev;
  u->prev = u->next = NULL;
  v->n_uses--;
}

static void edit_put(tn_value **slot, tn_use *u, tn_value *v) {
  if (*slot) edit_unlink(u, *slot);
  *slot = v;
  if (v) edit_link(u, v);
}

void tn_edit_set_input(tn_node *node, int index, tn_value *v) {
  TN_ASSERT(index >= 0 && index < node->n_in);
  if (node->in[index] == v) return;
  edit_put(&node->in[index], &node->uses[index], v);
  node->region->graph->edits++;
}

void tn_edit_replace_uses(tn_value *from, tn_value *to) {
  if (from == to || !from->uses) return;
  while (from->uses) {
    tn_use *u = from->uses;
    edit_put(tn_use_slot(u), u, to);
  }
  from->region->graph->edits++;
}

static tn_value *edit_new_value(tn_region *r, const char *name, tn_node *def, int index) {
  tn_graph *g = r->graph;
  tn_value *v = TN_NEW(&g->ctx->arena, tn_value);
  v->id = g->n_values++;
  v->def = def;
  v->region = r;
  v->index = index;
  edit_set_name(g, v, name);
  return v;
}

tn_value *tn_edit_add_param(tn_region *r, const char *name, tn_type type) {
  tn_value *v = edit_new_value(r, edit_intern(r->graph, name), NULL, r->n_params);
  v->type = type;
  r->params = edit_append(edit_arena(r), r->params, r->n_params, sizeof(tn_value *));
  r->params[r->n_params++] = v;
  r->graph->edits++;
  return v;
}

tn_region *tn_edit_add_region(tn_graph *g, tn_node *owner, const char *name) {
  tn_region *r = TN_NEW(&g->ctx->arena, tn_region);
  r->id = g->n_regions++;
  r->graph = g;
  r->owner = owner;
  r->name = tn_ctx_namez(g->ctx, name ? name : "");
  if (owner) {
    owner->regions = edit_append(&g->ctx->arena, owner->regions, owner->n_regions, sizeof(tn_region *));
    owner->regions[owner->n_regions++] = r;
  }
  g->edits++;
  return r;
}

static void edit_insert(tn_region *r, tn_node *node, tn_node *before) {
  node->region = r;
  node->next = before;
  node->prev = before ? before->prev : r->last;
  if (node->prev)
    node->prev->next = node;
  else
    r->first = node;
  if (before)
    before->prev = node;
  else
    r->last = node;
  r->n_nodes++;
}

static void edit_remove(tn_node *node) {
  tn_region *r = node->region;
  if (node->prev)
    node->prev->next = node->next;
  else
    r->first = node->next;
  if (node->next)
    node->next->prev = node->prev;
  else
    r->last = node->prev;
  r->n_nodes--;
}

/* A node and its arrays, in one piece. */
static tn_node *edit_new_node(tn_arena *a, const tn_op *op, int n_in, int n_out) {
  const size_t in = (size_t)n_in, out = (size_t)n_out, attrs = (size_t)tn_op_n_attrs(op);
  const size_t uses_at = sizeof(tn_node) + attrs * sizeof(tn_attr), in_at = uses_at + in * sizeof(tn_use);
  char *const p = tn_arena_zero(a, in_at + (in + out) * sizeof(tn_value *), 1);
  tn_node *const node = (tn_node *)(void *)p;
  node->op = op;
  node->n_in = n_in;
  node->n_out = n_out;
  if (attrs) node->attrs = (tn_attr *)(void *)(p + sizeof(tn_node));
  if (in) node->uses = (tn_use *)(void *)(p + uses_at);
  if (in) node->in = (tn_value **)(void *)(p + in_at);
  if (out) node->out = (tn_value **)(void *)(p + in_at) + in;
  for (size_t i = 0; i < attrs; i++) (void)tn_attr_row_default(&op->attrs[i], &node->attrs[i]);
  return node;
}

/* Regions bear the names of the schema's graph attributes, in order. */
static void edit_fill_regions(tn_graph *g, tn_node *node) {
  int row = 0;
  for (int i = 0; i < node->op->n_regions; i++) {
    const tn_attr_row *rows = node->op->attrs;
    while (row < TN_MAX_ATTRS && rows[row].name && rows[row].kind != TN_ATTR_REGION) row++;
    const char *name = row < TN_MAX_ATTRS && rows[row].name ? rows[row++].name : "body";
    tn_edit_add_region(g, node, name);
  }
}

/* names NULL: all outputs are there, under names made up. */
static tn_node *edit_add_node(tn_region *r, tn_node *before, const tn_op *op, tn_value *const *in, int n_in,
                              const char *const *names, int n_out, tn_loc loc) {
  tn_graph *g = r->graph;
  tn_node *node = edit_new_node(&g->ctx->arena, op, n_in, n_out);
  node->id = g->n_nodes++;
  node->loc = loc;
  edit_insert(r, node, before);
  for (int i = 0; i < n_in; i++) {
    node->uses[i] = (tn_use){.node = node, .index = i};
    edit_put(&node->in[i], &node->uses[i], in[i]);
  }
  for (int i = 0; i < n_out; i++)
    if (!names || names[i]) node->out[i] = edit_new_value(r, names ? names[i] : NULL, node, i);
  edit_fill_regions(g, node);
  g->edits++;
  return node;
}

tn_node *tn_edit_add_node(tn_region *r, tn_node *before, const tn_op *op, tn_value *const *in, int n_in, int n_out,
                          tn_loc loc) {
  return edit_add_node(r, before, op, in, n_in, NULL, n_out, loc);
}

tn_node *tn_edit_add_named_node(tn_region *r, tn_node *before, const tn_op *op, tn_value *const *in, int n_in,
                                const char *const *names, int n_out, tn_loc loc) {
  return edit_add_node(r, before, op, in, n_in, names, n_out, loc);
}

void tn_edit_set_attr(tn_node *node, const char *name, tn_attr value) {
  const int i = tn_op_attr_index(node->op, name);
  TN_ASSERT(i >= 0);
  if (i < 0) return;
  node->attrs[i] = value;
  node->region->graph->edits++;
}

void tn_edit_drop_output(tn_node *node, int index) {
  tn_value *v = node->out[index];
  if (!v) return;
  TN_ASSERT(v->n_uses == 0);
  edit_drop_name(node->region->graph, v);
  node->out[index] = NULL;
  node->region->graph->edits++;
}

void tn_edit_set_results(tn_region *r, tn_value *const *results, int n) {
  tn_arena *a = edit_arena(r);
  for (int i = 0; i < r->n_results; i++) edit_put(&r->results[i], &r->result_uses[i], NULL);
  r->n_results = n;
  r->results = TN_NEW_ARRAY(a, tn_value *, n > 0 ? n : 1);
  r->result_uses = TN_NEW_ARRAY(a, tn_use, n > 0 ? n : 1);
  r->result_names = TN_NEW_ARRAY(a, const char *, n > 0 ? n : 1);
  for (int i = 0; i < n; i++) {
    r->result_uses[i] = (tn_use){.region = r, .is_result = true, .index = i};
    r->result_names[i] = results[i]->name;
    edit_put(&r->results[i], &r->result_uses[i], results[i]);
  }
  r->graph->edits++;
}

void tn_edit_set_result(tn_region *r, int index, tn_value *v) {
  TN_ASSERT(index >= 0 && index < r->n_results);
  if (r->results[index] == v) return;
  edit_put(&r->results[index], &r->result_uses[index], v);
  r->graph->edits++;
}

void tn_edit_name_result(tn_region *r, int index, const char *name) {
  TN_ASSERT(index >= 0 && index < r->n_results);
  r->result_names[index] = tn_ctx_namez(r->graph->ctx, name);
  r->graph->edits++;
}

/* Lets go of every value a node and the nodes in its regions use, and of the names they define. */
static void edit_release(tn_node *node) {
  tn_graph *g = node->region->graph;
  for (int i = 0; i < node->n_regions; i++) {
    tn_region *r = node->regions[i];
    for (int k = 0; k < r->n_results; k++) edit_put(&r->results[k], &r->result_uses[k], NULL);
    for (tn_node *inner = r->last; inner; inner = inner->prev) edit_release(inner);
    for (int k = 0; k < r->n_params; k++) edit_drop_name(g, r->params[k]);
  }
  for (int i = 0; i < node->n_in; i++) edit_put(&node->in[i], &node->uses[i], NULL);
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) edit_drop_name(g, node->out[i]);
}

void tn_edit_erase_node(tn_node *node) {
  for (int i = 0; i < node->n_out; i++) TN_ASSERT(!node->out[i] || node->out[i]->n_uses == 0);
  tn_graph *g = node->region->graph;
  edit_release(node);
  edit_remove(node);
  g->edits++;
}

static void edit_move(tn_node *node, tn_region *r, tn_node *before) {
  edit_remove(node);
  edit_insert(r, node, before);
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) node->out[i]->region = r;
  r->graph->edits++;
}

void tn_edit_move_before(tn_node *node, tn_node *before) {
  if (node != before && node->next != before) edit_move(node, before->region, before);
}

void tn_edit_move_to_end(tn_node *node, tn_region *r) {
  if (r->last != node) edit_move(node, r, NULL);
}

static bool edit_same_content(const tn_type *a, const tn_type *b) {
  if (a->content == b->content) return true;
  if (!a->content || !b->content) return false;
  const int64_t n = tn_type_content_count(a);
  for (int64_t i = 0; i < n; i++) {
    const tn_elem *x = &a->content[i], *y = &b->content[i];
    if (x->kind != y->kind || x->sym != y->sym || x->den != y->den) return false;
  }
  return true;
}

void tn_edit_set_type(tn_value *v, tn_type type) {
  tn_graph *g = v->region->graph;
  if (v->id < g->inferred.n) g->inferred.at[v->id] = 0;
  if (!tn_type_same(&v->type, &type) || !edit_same_content(&v->type, &type)) g->edits++;
  v->type = type;
}

static uint64_t edit_check_key(const tn_region *region, tn_sym condition) {
  return tn_hash_mix(tn_map_key(condition), region->id);
}

void tn_edit_add_check(tn_region *region, tn_sym condition, tn_loc loc, const char *text) {
  tn_graph *g = region->graph;
  for (const tn_region *r = region; r; r = r->owner ? r->owner->region : NULL)
    if (tn_map_find(&g->check_of, edit_check_key(r, condition), NULL)) return;
  tn_vec_push(&g->ctx->arena, &g->checks, (tn_check){region, condition, loc, text});
  tn_map_set(&g->ctx->arena, &g->check_of, edit_check_key(region, condition), 1);
  g->edits++;
}

tn_value *tn_edit_const(tn_region *r, const tn_lit *lit, const char *name) {
  tn_node *node = tn_edit_add_node(r, r->first, tn_op_find("const"), NULL, 0, 1, (tn_loc){0});
  tn_edit_set_attr(node, "value", (tn_attr){.kind = TN_ATTR_TENSOR, .tensor = lit});
  if (name) tn_edit_name_value(node->out[0], name);
  node->out[0]->type = tn_lit_type(r->graph->ctx, r->graph->syms, lit);
  return node->out[0];
}
