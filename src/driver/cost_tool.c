/* `tenon cost`: what a model computes and moves, as formulas of its symbols (pass/cost.h), and evaluated. A body counts
 * as often as it runs at most, of branches the one that counts most. Live bytes are those of the values that are still
 * needed, in program order of the main graph; constants are parameters, not live bytes. */
#include "driver/binding.h"
#include "driver/plan_tool.h"
#include "driver/shapes.h"
#include "driver/tool.h"
#include "ir/op.h"
#include "pass/cost.h"

#define COST_MOST (INT64_C(1) << 40) /* the largest size tried for --vary */

typedef struct cost_row {
  const tn_node *node;
  tn_sym flops, bytes;
} cost_row;

typedef struct cost_sum {
  tn_sym flops, bytes;
} cost_sum;

typedef struct cost_largest { /* numbers of --vary */
  bool fits, is_valid;        /* is there such a number? */
  int64_t most, valid;        /* the largest that fits; of these, the largest valid one */
} cost_largest;

typedef struct cost {
  tn_graph *graph;
  tn_ctx *ctx;
  tn_symtab *syms;
  const char *dims, *vary;
  int64_t max_memory;
  bool json, whole; /* whole: long formulas too */
  tn_blob *out;
  TN_VEC(cost_row) rows;
  TN_VEC(tn_sym) demands; /* of a number of --vary */
  TN_VEC(tn_sym) live;    /* sums of live bytes of which none is known to be below another */
  int64_t parameters, parameter_bytes;
  cost_sum *sums; /* by region: of all that is in it, run once */
  bool unknown_rounds;
  tn_cost of;
  tn_cost_sizes sizes;
  const tn_plan_totals *planned;
} cost;

static tn_sym cost_int(const cost *c, int64_t v) { return tn_sym_int(c->syms, v); }

static bool cost_is_const(const tn_value *v) { return v->def && strcmp(v->def->op->name, "const") == 0; }

static tn_status cost_node(void *arg, tn_node *node) {
  cost *const c = arg;
  if (strcmp(node->op->name, "const") == 0) {
    int64_t dims[TN_MAX_RANK], n, bytes;
    if (!tn_type_const_dims(&node->out[0]->type, dims) || !tn_dims_count(dims, node->out[0]->type.rank, &n))
      return TN_OK;
    if (!tn_dtype_is_float(node->out[0]->type.dtype) && node->out[0]->type.content)
      return TN_OK; /* a shape's numbers */
    if (tn_mul_i64(n, tn_dtype_bits(node->out[0]->type.dtype), &bytes)) c->parameter_bytes += bytes / 8;
    c->parameters += n;
    return TN_OK;
  }
  const cost_row row = {node, tn_cost_flops(&c->of, node), tn_cost_moved(&c->of, node)};
  tn_vec_push(&c->ctx->arena, &c->rows, row);
  return TN_OK;
}

/* What is in the regions of a node: the dearer branch, the body times its rounds. */
static cost_sum cost_inner(cost *c, const tn_node *node) {
  cost_sum sum = {cost_int(c, 0), cost_int(c, 0)};
  const bool is_choice = strcmp(node->op->name, "if") == 0;
  for (int i = 0; i < node->n_regions; i++) {
    const cost_sum *const in = &c->sums[node->regions[i]->id];
    if (node->regions[i]->dead) continue;
    sum.flops = (is_choice ? tn_sym_max : tn_sym_add)(c->syms, sum.flops, in->flops);
    sum.bytes = (is_choice ? tn_sym_max : tn_sym_add)(c->syms, sum.bytes, in->bytes);
  }
  const tn_sym rounds = node->n_regions ? tn_cost_rounds(&c->of, node) : cost_int(c, 1);
  c->unknown_rounds |= !rounds;
  if (!rounds) return sum;
  return (cost_sum){tn_sym_mul(c->syms, rounds, sum.flops), tn_sym_mul(c->syms, rounds, sum.bytes)};
}

/* Rows come outer before inner: the last first, so that a region is whole when its owner is met. */
static void cost_sum_up(cost *c) {
  c->sums = TN_NEW_ARRAY(&c->ctx->arena, cost_sum, c->graph->n_regions + 1);
  for (uint32_t i = 0; i <= c->graph->n_regions; i++) c->sums[i] = (cost_sum){cost_int(c, 0), cost_int(c, 0)};
  for (size_t i = c->rows.n; i-- > 0;) {
    cost_row *const row = &c->rows.at[i];
    cost_sum *const to = &c->sums[row->node->region->id];
    const cost_sum inner = cost_inner(c, row->node);
    row->flops = tn_sym_add(c->syms, row->flops, inner.flops);
    row->bytes = tn_sym_add(c->syms, row->bytes, inner.bytes);
    to->flops = tn_sym_add(c->syms, to->flops, row->flops);
    to->bytes = tn_sym_add(c->syms, to->bytes, row->bytes);
  }
}

static cost_sum cost_all(const cost *c) { return c->sums[c->graph->main->id]; }

/* Live bytes. */

static bool cost_below(cost *c, tn_sym a, tn_sym b) {
  const tn_interval d = tn_sym_bounds(c->syms, tn_sym_sub(c->syms, b, a));
  return d.lo >= 0;
}

static void cost_add_peak(cost *c, tn_sym live) {
  size_t kept = 0;
  for (size_t i = 0; i < c->live.n; i++)
    if (cost_below(c, live, c->live.at[i])) return;
  for (size_t i = 0; i < c->live.n; i++)
    if (!cost_below(c, c->live.at[i], live)) c->live.at[kept++] = c->live.at[i];
  c->live.n = kept;
  tn_vec_push(&c->ctx->arena, &c->live, live);
}

/* Position of the last node of the main graph that uses v, itself or through a region. */
static void cost_last_uses(const cost *c, const int64_t *position, int64_t *last) {
  for (const tn_node *node = c->graph->main->first; node; node = node->next)
    for (int i = 0; i < node->n_in; i++)
      if (node->in[i]) last[node->in[i]->id] = position[node->id];
}

static tn_status cost_inner_use(void *arg, tn_node *node) {
  int64_t *const *const at = arg; /* position by node, last by value */
  const tn_node *owner = node;
  while (owner->region->owner) owner = owner->region->owner;
  if (owner == node) return TN_OK;
  for (int i = 0; i < node->n_in; i++)
    if (node->in[i] && at[1][node->in[i]->id] < at[0][owner->id]) at[1][node->in[i]->id] = at[0][owner->id];
  return TN_OK;
}

static tn_status cost_live(cost *c) {
  tn_graph *const g = c->graph;
  int64_t *const position = TN_NEW_ARRAY(&c->ctx->arena, int64_t, g->n_nodes + 1);
  int64_t *const last = TN_NEW_ARRAY(&c->ctx->arena, int64_t, g->n_values + 1);
  int64_t n = 0;
  for (const tn_node *node = g->main->first; node; node = node->next) position[node->id] = ++n;
  cost_last_uses(c, position, last);
  int64_t *at[2] = {position, last};
  TN_TRY(tn_graph_walk(g, cost_inner_use, at));
  for (int i = 0; i < g->main->n_results; i++) last[g->main->results[i]->id] = INT64_MAX;
  tn_sym live = cost_int(c, 0);
  for (int i = 0; i < g->main->n_params; i++)
    live = tn_sym_add(c->syms, live, tn_cost_bytes(&c->of, g->main->params[i]));
  for (const tn_node *node = g->main->first; node; node = node->next) {
    if (strcmp(node->op->name, "const") == 0) continue;
    const bool view = (node->op->traits & TN_TRAIT_VIEW) != 0;
    for (int i = 0; i < node->n_out && !view; i++)
      if (node->out[i]) live = tn_sym_add(c->syms, live, tn_cost_bytes(&c->of, node->out[i]));
    if (view && node->in[0] && node->out[0] && !cost_is_const(node->in[0])) { /* what the view looks at lives on */
      const tn_value *root = node->in[0];
      while (root->def && (root->def->op->traits & TN_TRAIT_VIEW) && root->def->in[0]) root = root->def->in[0];
      if (last[node->out[0]->id] > last[root->id]) last[root->id] = last[node->out[0]->id];
    }
    cost_add_peak(c, live);
    for (int i = 0; i < node->n_in; i++) {
      const tn_value *const v = node->in[i];
      const bool dies = v && !cost_is_const(v) && last[v->id] == position[node->id];
      if (!dies || (v->def && (v->def->op->traits & TN_TRAIT_VIEW))) continue;
      live = tn_sym_sub(c->syms, live, tn_cost_bytes(&c->of, v));
      last[v->id] = 0; /* an operand that stands twice dies once */
    }
    for (int i = 0; i < node->n_out && !view; i++)
      if (node->out[i] && last[node->out[i]->id] == 0)
        live = tn_sym_sub(c->syms, live, tn_cost_bytes(&c->of, node->out[i]));
  }
  return TN_OK;
}

static tn_sym cost_peak(cost *c) {
  tn_sym peak = cost_int(c, 0);
  for (size_t i = 0; i < c->live.n; i++) peak = tn_sym_max(c->syms, peak, c->live.at[i]);
  return peak;
}

/* Evaluation. */

static bool cost_value(cost *c, tn_sym e, int64_t *out) { return tn_cost_value(&c->sizes, e, out); }

/* Do live bytes and parameters fit? */
static void cost_add_fits(cost *c) {
  tn_arena *const a = &c->ctx->arena;
  const tn_sym room = cost_int(c, c->max_memory);
  tn_vec_push(a, &c->demands, tn_sym_le(c->syms, cost_int(c, c->parameter_bytes), room));
  for (size_t i = 0; i < c->live.n; i++)
    tn_vec_push(a, &c->demands, tn_sym_le(c->syms, tn_sym_addi(c->syms, c->live.at[i], c->parameter_bytes), room));
}

static tn_sym cost_given(void *arg, uint32_t symbol) {
  const cost *const c = arg;
  return c->sizes.given[symbol] ? cost_int(c, c->sizes.value[symbol]) : NULL;
}

/* The multiples of m from the last one before lo on. */
static void cost_multiples(const cost *c, int64_t m, int64_t lo, tn_sym_set *out) {
  bool *const has = TN_NEW_ARRAY(&c->ctx->arena, bool, m);
  int64_t past;
  has[0] = true;
  if (tn_mod_i64(lo, m, &past)) *out = (tn_sym_set){.lo = lo - past, .from = lo - past, .period = m, .has = has};
}

/* The contract's conditions, and what they leave of `vary`, as far as they speak of it alone at the given sizes. */
static void cost_add_valid(cost *c, tn_sym_question *q, tn_sym_set *set) {
  tn_arena *const a = &c->ctx->arena;
  tn_binding b;
  tn_binding_init(&b, c->graph, false);
  const size_t n = b.conditions.n;
  tn_sym *const alone = TN_NEW_ARRAY(a, tn_sym, n + 1);
  bool *const solved = TN_NEW_ARRAY(a, bool, n + 1), *const implied = TN_NEW_ARRAY(a, bool, n + 1);
  const int64_t m = tn_sym_symbol(c->syms, (uint32_t)q->var->k)->multiple_of;
  for (size_t i = 0; i < n; i++) {
    tn_vec_push(a, &c->demands, b.conditions.at[i]);
    alone[i] = tn_sym_substitute(c->syms, b.conditions.at[i], cost_given, c);
  }
  q->set = set;
  if (tn_sym_solve(c->syms, a, q->var, alone, n, solved, implied, set) > 0) return;
  cost_multiples(c, m, q->lo, set);
}

static tn_status cost_ask(cost *c, tn_sym_question *q, const char *what, bool *is_found) {
  const tn_loc loc = {.kind = "option", .name = "--vary"};
  q->conditions = c->demands.at;
  q->n = c->demands.n;
  const tn_status s = tn_sym_largest(c->syms, q);
  *is_found = s == TN_OK;
  if (s == TN_INVALID)
    return tn_fail(c->ctx, s, loc, "--dim must give '%s' too", tn_sym_symbol(c->syms, q->missing)->name);
  if (s == TN_LIMIT)
    return tn_fail(c->ctx, s, loc, "none above %lld %s; looking further takes too long", (long long)q->found, what);
  return TN_OK;
}

static tn_status cost_solve(cost *c, cost_largest *out) {
  const tn_loc loc = {.kind = "option", .name = "--vary"};
  const tn_symbol *const symbol = tn_sym_find_symbol(c->syms, c->vary);
  if (!symbol) return tn_fail(c->ctx, TN_INVALID, loc, "the model has no symbol '%s'", c->vary);
  if (c->sizes.given[symbol->var->k]) return tn_fail(c->ctx, TN_INVALID, loc, "--dim gives '%s'", c->vary);
  tn_sym_set set;
  tn_sym_question q = {.var = symbol->var,
                       .env = tn_cost_env,
                       .arg = &c->sizes,
                       .lo = symbol->min > -COST_MOST ? symbol->min : -COST_MOST,
                       .hi = symbol->max < COST_MOST ? symbol->max : COST_MOST};
  cost_add_fits(c);
  TN_TRY(cost_ask(c, &q, "fits", &out->fits));
  out->most = q.found;
  if (!out->fits) return TN_OK;
  q.hi = q.found;
  cost_add_valid(c, &q, &set);
  TN_TRY(cost_ask(c, &q, "is valid", &out->is_valid));
  out->valid = q.found;
  return TN_OK;
}

/* Printing. */

static void cost_put_number(tn_text *t, const char *name, bool has, int64_t v) {
  tn_text_printf(t, has ? ",\n \"%s\": %lld" : ",\n \"%s\": null", name, (long long)v);
}

static void cost_put_largest(const cost *c, tn_text *t, const cost_largest *l) {
  if (c->json) {
    cost_put_number(t, "largest", l->fits, l->most);
    cost_put_number(t, "largest_valid", l->is_valid, l->valid);
    return;
  }
  if (!l->fits) {
    tn_text_printf(t, "no %s has live bytes and parameters that fit %lld bytes\n", c->vary, (long long)c->max_memory);
    return;
  }
  tn_text_printf(t, "largest %s whose live bytes and parameters fit %lld bytes: %lld%s\n", c->vary,
                 (long long)c->max_memory, (long long)l->most,
                 l->most == COST_MOST ? " (no larger one was tried)" : "");
  if (!l->is_valid)
    tn_text_addz(t, "none of those is valid with the other sizes (see tenon contract)\n");
  else if (l->valid < l->most)
    tn_text_printf(t, "largest of those that is valid (see tenon contract): %lld\n", (long long)l->valid);
}

/* A formula that nobody reads is told by its kind. */
static void cost_put_formula(const cost *c, tn_text *t, tn_sym e) {
  enum { LINE = 800 };
  const char *const text = tn_sym_text(c->syms, e);
  if (c->whole || strlen(text) <= LINE)
    tn_text_addz(t, text);
  else if (e->kind == TN_SYM_MAX)
    tn_text_printf(t, "max of %u sums (--long)", e->n);
  else
    tn_text_printf(t, "%s of %u terms (--long)", e->kind == TN_SYM_ADD ? "sum" : "formula", e->n);
}

static void cost_put_evaluated(cost *c, tn_text *t, tn_sym e) {
  int64_t v;
  cost_put_formula(c, t, e);
  if (c->dims && !tn_sym_is_int(e) && cost_value(c, e, &v)) tn_text_printf(t, " = %lld", (long long)v);
}

static void cost_put(cost *c, tn_text *t, const char *label, tn_sym e) {
  tn_text_printf(t, "%s: ", label);
  cost_put_evaluated(c, t, e);
  tn_text_addz(t, "\n");
}

/* What the program's buffers take: after rewriting, in place and views counted, each rounded up to 64 bytes. */
static void cost_put_planned(const cost *c, tn_text *t) {
  const tn_str text = {c->planned->formula.text, c->planned->formula.len};
  tn_sym formula;
  if (text.len == 0) return;
  tn_text_addz(t, "planned bytes: ");
  if (tn_sym_try_parse(c->syms, text, &formula))
    cost_put_formula(c, t, formula);
  else
    tn_text_add(t, text);
  if (c->planned->bytes >= 0 && c->dims) tn_text_printf(t, " = %lld", (long long)c->planned->bytes);
  tn_text_addz(t, "\n");
}

static void cost_put_planned_field(const cost *c, tn_text *t) {
  if (c->planned->formula.len == 0) return;
  tn_text_addz(t, ",\n \"planned_bytes\": {\"formula\": ");
  tn_text_json(t, (tn_str){c->planned->formula.text, c->planned->formula.len});
  if (c->planned->bytes >= 0)
    tn_text_printf(t, ", \"value\": %lld}", (long long)c->planned->bytes);
  else
    tn_text_addz(t, ", \"value\": null}");
}

static void cost_put_text(cost *c, tn_text *t) {
  for (size_t i = 0; i < c->rows.n; i++) {
    const cost_row *const row = &c->rows.at[i];
    if (tn_sym_is(row->flops, 0) && tn_sym_is_int(row->bytes)) continue;
    tn_text_printf(t, "%s: flops ", tn_tool_where(c->ctx, row->node));
    cost_put_evaluated(c, t, row->flops);
    tn_text_addz(t, ", bytes ");
    cost_put_evaluated(c, t, row->bytes);
    tn_text_addz(t, "\n");
  }
  tn_text_printf(t, "parameters: %lld (%lld bytes)\n", (long long)c->parameters, (long long)c->parameter_bytes);
  cost_put(c, t, "flops", cost_all(c).flops);
  cost_put(c, t, "bytes moved", cost_all(c).bytes);
  cost_put(c, t, "largest live bytes", cost_peak(c));
  cost_put_planned(c, t);
  if (c->of.unknown) tn_text_addz(t, "values whose rank only the run knows are left out\n");
  if (c->unknown_rounds) tn_text_addz(t, "bodies whose rounds only the run knows count once\n");
}

static void cost_put_field(cost *c, tn_text *t, const char *name, tn_sym e) {
  int64_t v;
  tn_text_printf(t, "\"%s\": {\"formula\": ", name);
  tn_text_json(t, tn_str_of(tn_sym_text(c->syms, e)));
  tn_text_addz(t, ", \"value\": ");
  if (cost_value(c, e, &v))
    tn_text_printf(t, "%lld}", (long long)v);
  else
    tn_text_addz(t, "null}");
}

static void cost_put_json(cost *c, tn_text *t) {
  tn_text_addz(t, "{\n \"nodes\": [");
  for (size_t i = 0; i < c->rows.n; i++) {
    const tn_node *const node = c->rows.at[i].node;
    tn_text_addz(t, i ? ",\n  {\"node\": " : "\n  {\"node\": ");
    tn_text_json(t, tn_str_of(node->loc.name ? node->loc.name : ""));
    tn_text_addz(t, ", \"op\": ");
    tn_text_json(t, tn_str_of(node->loc.op ? node->loc.op : node->op->name));
    tn_text_addz(t, ", ");
    cost_put_field(c, t, "flops", c->rows.at[i].flops);
    tn_text_addz(t, ", ");
    cost_put_field(c, t, "bytes", c->rows.at[i].bytes);
    tn_text_addz(t, "}");
  }
  tn_text_printf(t, "],\n \"parameters\": %lld,\n \"parameter_bytes\": %lld,\n ", (long long)c->parameters,
                 (long long)c->parameter_bytes);
  cost_put_field(c, t, "flops", cost_all(c).flops);
  tn_text_addz(t, ",\n ");
  cost_put_field(c, t, "bytes", cost_all(c).bytes);
  tn_text_addz(t, ",\n ");
  cost_put_field(c, t, "live_bytes", cost_peak(c));
  cost_put_planned_field(c, t);
}

static tn_status cost_print(cost *c) {
  tn_text t;
  cost_largest largest = {0};
  tn_text_init(&t, &c->ctx->arena);
  if (c->json)
    cost_put_json(c, &t);
  else
    cost_put_text(c, &t);
  if (c->vary) {
    TN_TRY(cost_solve(c, &largest));
    cost_put_largest(c, &t, &largest);
  }
  if (c->json) tn_text_addz(&t, "\n}\n");
  return tn_blob_copy((tn_str){tn_text_z(&t), t.len}, c->out);
}

static tn_status cost_inside(tn_compilation *compilation, void *arg) {
  cost *const c = arg;
  if (compilation->is_program)
    return tn_fail(&compilation->ctx, TN_INVALID, (tn_loc){0}, "a program holds no model to ask");
  c->ctx = &compilation->ctx;
  c->graph = compilation->graph;
  c->syms = c->graph->syms;
  c->of.syms = c->syms;
  c->sizes = tn_cost_sizes_new(c->syms, &c->ctx->arena);
  TN_TRY(tn_cost_sizes_read(&c->sizes, c->graph, c->dims));
  TN_TRY(tn_graph_walk(c->graph, cost_node, c));
  cost_sum_up(c);
  TN_TRY(cost_live(c));
  return cost_print(c);
}

tn_status tn_tool_cost(const char *path, const tn_compile_options *o, const char *dims, const char *vary,
                       int64_t max_memory, int form, tn_blob *out, tn_report **out_report) {
  tn_plan_totals planned;
  cost c = {.dims = dims,
            .vary = vary,
            .max_memory = max_memory,
            .json = form == 1,
            .whole = form == 2,
            .out = out,
            .planned = &planned};
  *out = (tn_blob){0};
  (void)tn_plan_totals_find(path, o, dims, &planned); /* what cannot be compiled has costs all the same */
  const tn_status status = tn_tool_inferred(path, o, TN_TOOL_UNKNOWN, cost_inside, &c, out_report);
  tn_blob_free(&planned.formula);
  return status;
}
