/* dce: removes nodes that nothing needs, and optional results that nothing reads.
 *
 *   needs facts   gives -   breaks -
 *
 * A node is needed when a needed node or a result uses it, or when it is the source of a symbol that a needed value's
 * size, a symbolic content or a check depends on. */
#include "pass/pass.h"

typedef struct dce {
  tn_pass *pass;
  tn_graph *graph;
  tn_node **def_of; /* value id -> node, NULL for parameters */
  bool *live;       /* by node id */
  bool *symbol_live;
  uint32_t n_symbols;
  bool *value_live; /* by value id: read, or the source of a symbol */
  TN_VEC(tn_node *) stack;
  TN_VEC(uint32_t) symbols; /* to be looked at */
  TN_VEC(tn_node *) all;    /* in program order */
} dce;

static void dce_mark_node(dce *d, tn_node *node) {
  if (!node || d->live[node->id]) return;
  d->live[node->id] = true;
  tn_vec_push(&d->pass->ctx->pass, &d->stack, node);
}

static void dce_mark_value(dce *d, const tn_value *v) {
  if (!v) return;
  d->value_live[v->id] = true;
  dce_mark_node(d, v->def);
}

static void dce_mark_symbol(void *arg, uint32_t symbol) {
  dce *d = arg;
  if (symbol >= d->n_symbols || d->symbol_live[symbol]) return;
  d->symbol_live[symbol] = true;
  tn_vec_push(&d->pass->ctx->pass, &d->symbols, symbol);
}

static void dce_mark_expression(dce *d, tn_sym e) {
  if (e) tn_sym_symbols(d->graph->syms, e, dce_mark_symbol, d);
}

static void dce_mark_type(dce *d, const tn_type *t, bool with_content) {
  for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++) dce_mark_expression(d, t->dims[j]);
  const int64_t n = with_content ? tn_type_content_count(t) : 0;
  for (int64_t i = 0; i < n; i++)
    if (t->content[i].sym) dce_mark_expression(d, t->content[i].sym);
}

static void dce_follow_node(dce *d, const tn_node *node) {
  const bool is_shape_value = strcmp(node->op->name, "shape_value") == 0;
  for (int i = 0; i < node->n_in; i++) dce_mark_value(d, node->in[i]);
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) dce_mark_type(d, &node->out[i]->type, is_shape_value);
  for (int i = 0; i < node->n_regions; i++) {
    const tn_region *r = node->regions[i];
    for (int k = 0; k < r->n_results; k++) dce_mark_value(d, r->results[k]);
    for (int k = 0; k < r->n_params; k++) dce_mark_type(d, &r->params[k]->type, false);
  }
  dce_mark_node(d, node->region->owner);
}

static void dce_follow_symbol(dce *d, uint32_t symbol) {
  const tn_symbol *s = tn_sym_symbol(d->graph->syms, symbol);
  if (s->source == TN_SOURCE_DEFINED) {
    dce_mark_expression(d, s->definition);
    return;
  }
  if ((s->source != TN_SOURCE_DIM && s->source != TN_SOURCE_ELEM) || s->value >= d->graph->n_values) return;
  d->value_live[s->value] = true;
  dce_mark_node(d, d->def_of[s->value]);
}

static void dce_follow(dce *d) {
  while (d->stack.n || d->symbols.n) {
    if (d->stack.n)
      dce_follow_node(d, d->stack.at[--d->stack.n]);
    else
      dce_follow_symbol(d, d->symbols.at[--d->symbols.n]);
  }
}

static tn_status dce_visit(void *arg, tn_node *node) {
  dce *d = arg;
  tn_vec_push(&d->pass->ctx->pass, &d->all, node);
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) d->def_of[node->out[i]->id] = node;
  return TN_OK;
}

static void dce_drop_outputs(const dce *d, tn_node *node) {
  if (node->n_regions) return; /* results of control nodes answer to those of their regions */
  for (int i = 0; i < node->n_out; i++) {
    const tn_port *port = tn_op_out_port(node->op, i);
    if (!node->out[i] || node->out[i]->n_uses || d->value_live[node->out[i]->id]) continue;
    if (!port || !(port->flags & TN_PORT_OPTIONAL) || (port->flags & TN_PORT_VARIADIC)) continue;
    tn_edit_drop_output(node, i);
  }
}

tn_status tn_pass_dce(tn_pass *p, tn_graph *g) {
  tn_arena *a = &p->ctx->pass;
  dce d = {.pass = p, .graph = g, .n_symbols = tn_sym_n_symbols(g->syms)};
  d.def_of = TN_NEW_ARRAY(a, tn_node *, g->n_values + 1);
  d.live = TN_NEW_ARRAY(a, bool, g->n_nodes + 1);
  d.value_live = TN_NEW_ARRAY(a, bool, g->n_values + 1);
  d.symbol_live = TN_NEW_ARRAY(a, bool, d.n_symbols + 1);
  TN_TRY(tn_graph_walk(g, dce_visit, &d));
  for (int i = 0; i < g->main->n_results; i++) dce_mark_value(&d, g->main->results[i]);
  for (size_t i = 0; i < g->checks.n; i++) dce_mark_expression(&d, g->checks.at[i].condition);
  for (size_t i = 0; i < g->assumed.n; i++) dce_mark_expression(&d, g->assumed.at[i]);
  dce_follow(&d);
  for (size_t i = d.all.n; i-- > 0 && tn_pass_may_edit(p, g);) { /* users before what they use */
    const tn_node *owner = d.all.at[i]->region->owner;
    if (owner && !d.live[owner->id]) continue; /* it goes with the owner: a result of its region may use it */
    if (!d.live[d.all.at[i]->id])
      tn_edit_erase_node(d.all.at[i]);
    else
      dce_drop_outputs(&d, d.all.at[i]);
  }
  return TN_OK;
}
