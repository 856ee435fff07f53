/* symbolize: every dim of every input becomes an expression over symbols with a source.
 *
 *   needs graph   gives symbols   breaks -
 *
 *   (%x: f32[?,3,H])           ->  (%x: f32[x_d0,3,H])         x_d0 = dim 0 of x, H = dim 2 of x
 *   (%m: i64[past + seq])      ->  seq := m_d0 - past          when `past` has a source of its own
 *   (%shape: i64[2])           ->  contents `shape_e0`, `shape_e1`, when a shape depends on them
 */
#include "pass/pass.h"

enum { SYMBOLIZE_MAX_CONTENT = 64 };

static bool symbolize_is_open(tn_graph *g, uint32_t symbol) {
  return tn_sym_symbol(g->syms, symbol)->source == TN_SOURCE_NONE;
}

static void symbolize_set_source(tn_graph *g, uint32_t symbol, tn_source_kind kind, const tn_value *v, int64_t index) {
  tn_symbol *s = tn_sym_symbol(g->syms, symbol);
  s->source = kind;
  s->value = v->id;
  s->index = index;
}

static tn_sym symbolize_new(tn_graph *g, const tn_value *v, int j) {
  const char *stem = tn_arena_printf(&g->ctx->arena, "%s_d%d", v->name, j);
  tn_symbol *s = tn_sym_awaited_symbol(g->syms, stem);
  s->source = TN_SOURCE_DIM;
  s->value = v->id;
  s->index = j;
  return s->var;
}

static void symbolize_container(tn_graph *g, tn_value *v) {
  if (v->type.kind != TN_TYPE_SEQUENCE && v->type.kind != TN_TYPE_OPTIONAL) return;
  tn_type type = v->type;
  type.elem = tn_type_open_elem(&g->ctx->arena, type.elem);
  tn_edit_set_type(v, type);
}

/* Gives symbols to unnamed dims, and sources to those that stand alone. */
static void symbolize_param(tn_graph *g, tn_value *v) {
  symbolize_container(g, v);
  if (!tn_type_has_rank(&v->type)) return;
  tn_type type = v->type;
  tn_sym *dims = TN_NEW_ARRAY(&g->ctx->arena, tn_sym, type.rank + 1);
  for (int j = 0; j < type.rank; j++) {
    dims[j] = type.dims[j] ? type.dims[j] : symbolize_new(g, v, j);
    if (tn_sym_is_var(dims[j]) && symbolize_is_open(g, (uint32_t)dims[j]->k))
      symbolize_set_source(g, (uint32_t)dims[j]->k, TN_SOURCE_DIM, v, j);
  }
  type.dims = dims;
  tn_edit_set_type(v, type);
}

typedef struct symbolize_equation {
  tn_value *value;
  int dim;
} symbolize_equation;

typedef struct symbolize_count {
  tn_graph *graph;
  uint32_t n_open, last;
} symbolize_count;

static void symbolize_count_open(void *arg, uint32_t symbol) {
  symbolize_count *c = arg;
  if (!symbolize_is_open(c->graph, symbol)) return;
  c->n_open++;
  c->last = symbol;
}

/* The coefficient (1 or -1) of a symbol that a sum has as one of its terms and nowhere else; 0 when it is not so. */
static int64_t symbolize_coefficient(tn_graph *g, tn_sym e, uint32_t symbol) {
  if (e->kind != TN_SYM_ADD) return 0;
  int64_t coefficient = 0;
  for (uint32_t i = 0; i < e->n; i++) {
    if (tn_sym_is_var(e->args[i]) && e->args[i]->k == (int64_t)symbol) {
      coefficient = e->coefs[i];
      continue;
    }
    symbolize_count c = {g, 0, 0}; /* the only open symbol of e: any open one inside a term is it */
    tn_sym_symbols(g->syms, e->args[i], symbolize_count_open, &c);
    if (c.n_open) return 0;
  }
  return coefficient == 1 || coefficient == -1 ? coefficient : 0;
}

/* With dim = c * s + rest and only s open: s := c * (dim - rest). */
static bool symbolize_solve(tn_graph *g, const symbolize_equation *q) {
  const tn_sym e = q->value->type.dims[q->dim];
  symbolize_count c = {g, 0, 0};
  tn_sym_symbols(g->syms, e, symbolize_count_open, &c);
  if (c.n_open != 1) return false;
  const int64_t coefficient = symbolize_coefficient(g, e, c.last);
  if (!coefficient) return false;
  const tn_sym var = tn_sym_symbol(g->syms, c.last)->var;
  const tn_sym rest = tn_sym_sub(g->syms, e, tn_sym_muli(g->syms, var, coefficient));
  const tn_sym dim = symbolize_new(g, q->value, q->dim);
  const tn_sym definition = tn_sym_muli(g->syms, tn_sym_sub(g->syms, dim, rest), coefficient);
  tn_symbol *s = tn_sym_symbol(g->syms, c.last);
  s->source = TN_SOURCE_DEFINED;
  s->definition = definition;
  const char *text =
      tn_arena_printf(&g->ctx->arena, "dim %d of input '%s' gives a negative %s", q->dim, q->value->name, s->name);
  const tn_loc loc = {.kind = "input", .name = q->value->name};
  tn_edit_add_check(g->main, tn_sym_le(g->syms, tn_sym_int(g->syms, 0), definition), loc, text);
  return true;
}

static void symbolize_give(void *arg, uint32_t symbol) {
  tn_graph *g = arg;
  if (!symbolize_is_open(g, symbol)) return;
  tn_symbol *s = tn_sym_symbol(g->syms, symbol);
  s->source = TN_SOURCE_GIVEN;
  tn_warn(g->ctx, (tn_loc){0}, "the inputs do not tell the symbol '%s': it must be given (--dim %s=...)", s->name,
          s->name);
}

/* Each round solves at least one symbol or is the last; rounds are bounded, so that a chain built to be long ends as
 * symbols that --dim must give. */
static void symbolize_equations(tn_graph *g) {
  TN_VEC(symbolize_equation) open = {0};
  for (int i = 0; i < g->main->n_params; i++) {
    tn_value *v = g->main->params[i];
    if (!tn_type_has_rank(&v->type)) continue;
    for (int j = 0; j < v->type.rank; j++) {
      symbolize_count c = {g, 0, 0};
      tn_sym_symbols(g->syms, v->type.dims[j], symbolize_count_open, &c);
      if (c.n_open) tn_vec_push(&g->ctx->arena, &open, (symbolize_equation){v, j});
    }
  }
  enum { MAX_ROUNDS = 64 };
  bool again = true;
  for (int round = 0; again && round < MAX_ROUNDS; round++) {
    again = false;
    for (size_t i = 0; i < open.n; i++)
      if (symbolize_solve(g, &open.at[i])) again = true;
  }
  for (size_t i = 0; i < open.n; i++)
    tn_sym_symbols(g->syms, open.at[i].value->type.dims[open.at[i].dim], symbolize_give, g);
}

/* Which values' contents does a shape or a branch depend on? Found backwards from index operands, through operators
 * with value rules. */
typedef struct symbolize_wanted {
  tn_graph *graph;
  bool *wanted; /* by value id */
  TN_VEC(tn_value *) stack;
} symbolize_wanted;

static void symbolize_want(symbolize_wanted *w, tn_value *v) {
  if (!v || w->wanted[v->id]) return;
  w->wanted[v->id] = true;
  tn_vec_push(&w->graph->ctx->pass, &w->stack, v);
}

static bool symbolize_is_index(const tn_op *op, int i) {
  const tn_port *port = tn_op_in_port(op, i);
  return port && port->flags & TN_PORT_SHAPES;
}

static tn_status symbolize_node(void *arg, tn_node *node) {
  symbolize_wanted *w = arg;
  for (int i = 0; i < node->n_in; i++)
    if (symbolize_is_index(node->op, i)) symbolize_want(w, node->in[i]);
  for (int i = 0; i < node->n_regions; i++)
    for (int j = 0; j < node->regions[i]->n_params; j++) symbolize_param(w->graph, node->regions[i]->params[j]);
  return TN_OK;
}

/* A scalar or a short vector of integers; *n := their number. */
static bool symbolize_may_have_content(const tn_type *t, int64_t *n) {
  *n = 1;
  return !t->content && tn_type_has_rank(t) && t->rank <= 1 && (t->dtype == TN_I64 || t->dtype == TN_I32) &&
         tn_type_const_dims(t, t->rank == 1 ? n : NULL) && *n <= SYMBOLIZE_MAX_CONTENT;
}

static void symbolize_content(tn_graph *g, tn_value *v) {
  int64_t n;
  tn_type type = v->type;
  if (!symbolize_may_have_content(&type, &n)) return;
  tn_elem *elems = TN_NEW_ARRAY(&g->ctx->arena, tn_elem, n + 1);
  for (int64_t k = 0; k < n; k++) {
    tn_symbol *s = tn_sym_awaited_symbol(g->syms, tn_arena_printf(&g->ctx->arena, "%s_e%lld", v->name, (long long)k));
    s->source = TN_SOURCE_ELEM;
    s->value = v->id;
    s->index = k;
    s->min = type.dtype == TN_I32 ? INT32_MIN : INT64_MIN;
    s->max = type.dtype == TN_I32 ? INT32_MAX : INT64_MAX;
    elems[k] = (tn_elem){.kind = TN_ELEM_SYM, .sym = s->var};
  }
  type.content = elems;
  tn_edit_set_type(v, type);
}

/* Nodes matter for what inputs and regions they have. */
static bool symbolize_needs_nodes(const tn_graph *g) {
  int64_t n;
  for (int i = 0; i < g->main->n_params; i++)
    if (symbolize_may_have_content(&g->main->params[i]->type, &n)) return true;
  return g->n_regions > 1;
}

static tn_status symbolize_nodes(tn_graph *g) {
  symbolize_wanted w = {.graph = g, .wanted = TN_NEW_ARRAY(&g->ctx->pass, bool, g->n_values + 1)};
  TN_TRY(tn_graph_walk(g, symbolize_node, &w));
  while (w.stack.n) {
    const tn_value *v = w.stack.at[--w.stack.n];
    if (!v->def || !v->def->op->value) continue;
    for (int i = 0; i < v->def->n_in; i++) symbolize_want(&w, v->def->in[i]);
  }
  for (int i = 0; i < g->main->n_params; i++)
    if (w.wanted[g->main->params[i]->id]) symbolize_content(g, g->main->params[i]);
  return TN_OK;
}

tn_status tn_pass_symbolize(tn_pass *p, tn_graph *g) {
  (void)p;
  for (int i = 0; i < g->main->n_params; i++) symbolize_param(g, g->main->params[i]);
  symbolize_equations(g);
  return symbolize_needs_nodes(g) ? symbolize_nodes(g) : TN_OK;
}
