/* `tenon why`: the rules and operands that gave a value its shape, from the value back to the inputs; where a size is
 * decided by data, the node that decides it. */
#include "driver/shapes.h"
#include "driver/tool.h"
#include "ir/op.h"

enum { WHY_MAX_LINES = 200, WHY_MAX_CONTENT = 16 };

typedef struct why {
  tn_graph *graph;
  tn_value **values;
  tn_text text;
  bool *seen;    /* by value id */
  bool *symbols; /* by number: spoken of */
  TN_VEC(const tn_value *) queue;
} why;

typedef struct why_tool {
  const char *value;
  tn_blob *out;
} why_tool;

static void why_mark(void *arg, uint32_t symbol) { ((why *)arg)->symbols[symbol] = true; }

static void why_type(why *w, const tn_type *t) {
  const tn_graph *const g = w->graph;
  tn_type_print(g->syms, &w->text, t);
  const int64_t n = tn_type_content_count(t);
  if (n == 0 || n > WHY_MAX_CONTENT) return;
  tn_text_addz(&w->text, " = [");
  for (int64_t i = 0; i < n; i++) {
    const tn_elem *const e = &t->content[i];
    tn_text_addz(&w->text, i ? ", " : "");
    if (e->sym)
      tn_sym_print(g->syms, &w->text, e->sym);
    else if (e->kind == TN_ELEM_F64)
      tn_text_f64(&w->text, e->f);
    else
      tn_text_addz(&w->text, "?");
    if (e->kind == TN_ELEM_RATIO) tn_text_printf(&w->text, " / %lld", (long long)e->den);
    if (e->kind == TN_ELEM_SCALED) tn_text_printf(&w->text, " * %g", e->f);
  }
  tn_text_addz(&w->text, "]");
}

static void why_mark_type(why *w, const tn_type *t) {
  for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++) tn_sym_symbols(w->graph->syms, t->dims[j], why_mark, w);
  const int64_t n = tn_type_content_count(t);
  for (int64_t i = 0; i < n; i++)
    if (t->content[i].sym) tn_sym_symbols(w->graph->syms, t->content[i].sym, why_mark, w);
}

static bool why_is_const(const tn_value *v) { return v->def && strcmp(v->def->op->name, "const") == 0; }

static void why_push(why *w, const tn_value *v) {
  if (!v || w->seen[v->id] || w->queue.n >= WHY_MAX_LINES) return;
  w->seen[v->id] = true;
  tn_vec_push(&w->graph->ctx->arena, &w->queue, v);
}

static void why_attrs(why *w, const tn_node *node) {
  const int n = tn_op_n_attrs(node->op);
  for (int i = 0; i < n; i++) {
    const tn_attr *const a = &node->attrs[i];
    if (a->kind == TN_ATTR_INT) tn_text_printf(&w->text, " %s=%lld", node->op->attrs[i].name, (long long)a->i);
    if (a->kind != TN_ATTR_INTS) continue;
    tn_text_printf(&w->text, " %s=[", node->op->attrs[i].name);
    for (int64_t k = 0; k < a->n && k < WHY_MAX_CONTENT; k++)
      tn_text_printf(&w->text, "%s%lld", k ? "," : "", (long long)a->ints[k]);
    tn_text_addz(&w->text, a->n > WHY_MAX_CONTENT ? ",...]" : "]");
  }
}

static void why_node(why *w, const tn_value *v) {
  const tn_node *const node = v->def;
  tn_text_printf(&w->text, "  from %s", tn_tool_where(w->graph->ctx, node));
  why_attrs(w, node);
  tn_text_addz(&w->text, "\n");
  for (int i = 0; i < node->n_in; i++) {
    if (!node->in[i]) continue;
    const tn_port *const port = tn_op_in_port(node->op, i);
    tn_text_printf(&w->text, "    %s %s: ", port ? port->name : "input", node->in[i]->name);
    why_type(w, &node->in[i]->type);
    tn_text_addz(&w->text, why_is_const(node->in[i]) ? " (constant)\n" : "\n");
    if (!why_is_const(node->in[i])) why_push(w, node->in[i]);
  }
  for (int k = 0; k < node->n_regions; k++)
    for (int i = 0; i < node->regions[k]->n_results; i++)
      if (i == v->index) why_push(w, node->regions[k]->results[i]);
}

/* The operands whose elements decide the sizes and are not known: those that the operator names for it, else all. */
static void why_elements(why *w, const tn_node *node) {
  int n = 0;
  for (int named = 1; named >= 0 && n == 0; named--)
    for (int i = 0; i < node->n_in; i++) {
      const tn_port *const port = node->in[i] ? tn_op_in_port(node->op, i) : NULL;
      const bool is_named = port && (port->flags & TN_PORT_SHAPES);
      if (!node->in[i] || node->in[i]->type.content || why_is_const(node->in[i]) || (named && !is_named)) continue;
      tn_text_printf(&w->text, "%s'%s'", n++ ? ", " : " the elements of ", node->in[i]->name);
    }
}

/* The first node on the way from the inputs that gives no rank says why. */
static void why_stops(why *w, const tn_node *node) {
  for (int i = 0; i < node->n_in; i++)
    if (node->in[i] && node->in[i]->type.kind == TN_TYPE_TENSOR && node->in[i]->type.rank < 0) return;
  tn_text_printf(&w->text, "  stops at %s: ", tn_tool_where(w->graph->ctx, node));
  if (strcmp(node->op->name, "opaque") == 0) {
    tn_text_addz(&w->text, "nobody knows this operator\n");
    return;
  }
  tn_text_addz(&w->text, "the rank depends on");
  why_elements(w, node);
  tn_text_addz(&w->text, "\n");
}

static void why_value(why *w, const tn_value *v) {
  tn_text_printf(&w->text, "%s: ", v->name);
  why_type(w, &v->type);
  tn_text_addz(&w->text, "\n");
  why_mark_type(w, &v->type);
  const bool has_no_rank = v->type.kind == TN_TYPE_UNKNOWN || (v->type.kind == TN_TYPE_TENSOR && v->type.rank < 0);
  if (has_no_rank) tn_text_addz(&w->text, "  its rank is known only when the model runs\n");
  if (has_no_rank && v->def && v->def->n_regions == 0) why_stops(w, v->def);
  if (v->def)
    why_node(w, v);
  else
    tn_text_addz(&w->text, v->region->owner ? "  parameter of a region\n" : "  input of the model\n");
}

static void why_symbols(why *w) {
  for (uint32_t i = 0; i < tn_sym_n_symbols(w->graph->syms); i++) {
    if (!w->symbols[i]) continue;
    const tn_symbol *const s = tn_sym_symbol(w->graph->syms, i);
    const char *const from = tn_tool_symbol_from(w->graph, w->values, s);
    tn_text_printf(&w->text, "symbol %s: %s", tn_sym_text(w->graph->syms, s->var), from ? from : "given by no value");
    if (s->min != 0 && s->min != INT64_MIN) tn_text_printf(&w->text, ", at least %lld", (long long)s->min);
    if (s->max != INT64_MAX) tn_text_printf(&w->text, ", at most %lld", (long long)s->max);
    if (s->at_most && !tn_sym_is_int(s->at_most)) {
      tn_text_addz(&w->text, ", at most ");
      tn_sym_print(w->graph->syms, &w->text, s->at_most);
    }
    if (s->source == TN_SOURCE_DIM && s->value < w->graph->n_values && w->values[s->value] &&
        w->values[s->value]->def) {
      tn_text_addz(&w->text, ": decided by data,");
      why_elements(w, w->values[s->value]->def);
    }
    tn_text_addz(&w->text, "\n");
  }
}

static const tn_value *why_find(const tn_graph *g, const char *name) {
  const tn_value *const v = tn_graph_find_value(g, name);
  for (int i = 0; !v && i < g->main->n_results; i++)
    if (strcmp(g->main->result_names[i], name) == 0) return g->main->results[i];
  return v;
}

static tn_status why_inside(tn_compilation *c, void *arg) {
  const why_tool *const tool = arg;
  if (c->is_program) return tn_fail(&c->ctx, TN_INVALID, (tn_loc){0}, "a program holds no model to ask");
  why w = {.graph = c->graph};
  const tn_value *const v = why_find(c->graph, tool->value);
  if (!v) return tn_fail(&c->ctx, TN_INVALID, (tn_loc){0}, "the model has no value '%s'", tool->value);
  TN_TRY(tn_tool_values(c->graph, &w.values));
  tn_text_init(&w.text, &c->ctx.arena);
  w.seen = TN_NEW_ARRAY(&c->ctx.arena, bool, c->graph->n_values + 1);
  w.symbols = TN_NEW_ARRAY(&c->ctx.arena, bool, tn_sym_n_symbols(c->graph->syms) + 1);
  why_push(&w, v);
  for (size_t i = 0; i < w.queue.n; i++) why_value(&w, w.queue.at[i]);
  if (w.queue.n >= WHY_MAX_LINES) tn_text_printf(&w.text, "... only the nearest %d values\n", WHY_MAX_LINES);
  why_symbols(&w);
  return tn_blob_copy((tn_str){tn_text_z(&w.text), w.text.len}, tool->out);
}

tn_status tn_tool_why(const char *path, const tn_compile_options *o, const char *value, tn_blob *out,
                      tn_report **out_report) {
  why_tool tool = {value, out};
  *out = (tn_blob){0};
  return tn_tool_inferred(path, o, TN_TOOL_UNKNOWN, why_inside, &tool, out_report);
}
