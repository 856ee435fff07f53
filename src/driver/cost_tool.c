/* `tenon cost`: what a model computes and moves, as formulas of its symbols, and evaluated.
 *
 * A multiply and an add are two operations. Products of matrices and convolutions count these; an elementwise node
 * counts one per element of its result, a reduction or pool one per element that it reads (pools: per tap), softmax and
 * normalisations five per element. Moving data counts none. Live bytes are those of the values that are still needed,
 * in program order of the main graph; constants are parameters, not live bytes. Regions count once. */
#include "driver/shapes.h"
#include "driver/tool.h"
#include "ir/op.h"

typedef struct cost_row {
  const tn_node *node;
  tn_sym flops, bytes;
} cost_row;

typedef struct cost {
  tn_graph *graph;
  tn_ctx *ctx;
  tn_symtab *syms;
  const char *dims, *vary;
  int64_t max_memory;
  bool json;
  tn_blob *out;
  TN_VEC(cost_row) rows;
  TN_VEC(tn_sym) live; /* sums of live bytes of which none is known to be below another */
  int64_t parameters, parameter_bytes;
  tn_sym flops, bytes;
  bool unknown; /* a value without a known shape was left out */
  bool *given;
  int64_t *value;
} cost;

static tn_sym cost_int(const cost *c, int64_t v) { return tn_sym_int(c->syms, v); }

static tn_sym cost_count(cost *c, const tn_value *v) {
  if (v && tn_type_has_rank(&v->type)) return tn_type_count(c->syms, &v->type);
  c->unknown |= v != NULL;
  return cost_int(c, 0);
}

static tn_sym cost_bytes(cost *c, const tn_value *v) {
  const int64_t bits = v && v->type.kind == TN_TYPE_TENSOR && v->type.dtype ? tn_dtype_bits(v->type.dtype) : 0;
  const tn_sym n = cost_count(c, v);
  return bits % 8 == 0 ? tn_sym_muli(c->syms, n, bits / 8)
                       : tn_sym_ceildiv(c->syms, tn_sym_muli(c->syms, n, bits), cost_int(c, 8));
}

static bool cost_is(const tn_node *node, const char *const *names) {
  for (; *names; names++)
    if (strcmp(node->op->name, *names) == 0) return true;
  return false;
}

static const tn_type *cost_in(const tn_node *node, int i) {
  return i < node->n_in && node->in[i] && tn_type_has_rank(&node->in[i]->type) ? &node->in[i]->type : NULL;
}

/* Product of the dims of a type from `from` on. */
static tn_sym cost_dims(const cost *c, const tn_type *t, int from) {
  tn_sym n = cost_int(c, 1);
  for (int i = from; i < t->rank; i++) n = tn_sym_mul(c->syms, n, t->dims[i]);
  return n;
}

static int64_t cost_attr(const tn_node *node, const char *name) {
  const tn_attr *a = tn_op_attr(node, name);
  return a && a->kind == TN_ATTR_INT ? a->i : 0;
}

/* Multiply-adds of the heavy operators; NULL: not one of them. */
static tn_sym cost_products(cost *c, const tn_node *node) {
  static const char *const matmuls[] = {"matmul", "matmul_integer", "qlinear_matmul", "fused_matmul", NULL};
  static const char *const convs[] = {"conv", "conv_integer", "fused_conv", NULL};
  static const char *const recurrent[] = {"lstm", "gru", "rnn", NULL};
  const tn_type *const a = cost_in(node, 0), *const w = cost_in(node, 1), *const h = cost_in(node, 2);
  const tn_sym out = node->n_out && node->out[0] ? cost_count(c, node->out[0]) : cost_int(c, 0);
  if (cost_is(node, matmuls)) return a && a->rank > 0 ? tn_sym_mul(c->syms, out, a->dims[a->rank - 1]) : NULL;
  if (strcmp(node->op->name, "gemm") == 0)
    return a && a->rank == 2 ? tn_sym_mul(c->syms, out, a->dims[cost_attr(node, "transA") ? 0 : 1]) : NULL;
  if (strcmp(node->op->name, "qlinear_conv") == 0)
    return cost_in(node, 3) ? tn_sym_mul(c->syms, out, cost_dims(c, cost_in(node, 3), 1)) : NULL;
  if (cost_is(node, convs)) return w && w->rank > 1 ? tn_sym_mul(c->syms, out, cost_dims(c, w, 1)) : NULL;
  if (strcmp(node->op->name, "conv_transpose") == 0)
    return a && w && w->rank > 1 ? tn_sym_mul(c->syms, cost_dims(c, a, 0), cost_dims(c, w, 1)) : NULL;
  if (cost_is(node, recurrent) && a && w && h && a->rank == 3)
    return tn_sym_mul(c->syms, tn_sym_mul(c->syms, a->dims[0], a->dims[1]),
                      tn_sym_add(c->syms, cost_dims(c, w, 0), cost_dims(c, h, 0)));
  return NULL;
}

static int cost_per_element(const tn_node *node, bool *of_input) {
  static const char *const five[] = {"softmax",
                                     "log_softmax",
                                     "layer_norm",
                                     "layer_normalization",
                                     "batch_normalization",
                                     "batchnorm",
                                     "instance_normalization",
                                     "group_normalization",
                                     "lp_normalization",
                                     "rms_normalization",
                                     "mean_variance_normalization",
                                     NULL};
  *of_input = strncmp(node->op->name, "reduce_", 7) == 0 || strncmp(node->op->name, "arg_", 4) == 0 ||
              strncmp(node->op->name, "global_", 7) == 0 || strcmp(node->op->name, "cumsum") == 0;
  if (cost_is(node, five)) return 5;
  if (*of_input) return 1;
  return (node->op->traits & TN_TRAIT_ELEMENTWISE) && !(node->op->traits & TN_TRAIT_VIEW) &&
                 strncmp(node->op->name, "cast", 4) != 0 && strcmp(node->op->name, "where") != 0
             ? 1
             : 0;
}

/* A window's taps per element of the result. */
static int64_t cost_taps(const tn_node *node) {
  static const char *const pools[] = {"max_pool", "average_pool", "lp_pool", "avg_pool", NULL};
  const tn_attr *a = cost_is(node, pools) ? tn_op_attr(node, "kernel_shape") : NULL;
  int64_t taps = 1;
  if (!a || a->kind != TN_ATTR_INTS) return 0;
  for (int64_t k = 0; k < a->n; k++)
    if (!tn_mul_i64(taps, a->ints[k], &taps)) return 0;
  return taps;
}

static tn_sym cost_flops(cost *c, const tn_node *node) {
  bool of_input;
  const tn_value *const out = node->n_out ? node->out[0] : NULL;
  if (!out || (out->type.content && out->type.dtype && !tn_dtype_is_float(out->type.dtype))) return cost_int(c, 0);
  const tn_sym products = cost_products(c, node);
  if (products) return tn_sym_muli(c->syms, products, 2);
  const int64_t taps = cost_taps(node);
  if (taps > 0) return tn_sym_muli(c->syms, cost_count(c, out), taps);
  const int per = cost_per_element(node, &of_input);
  if (per == 0) return cost_int(c, 0);
  return tn_sym_muli(c->syms, cost_count(c, of_input && node->n_in ? node->in[0] : out), per);
}

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
  cost_row row = {.node = node, .flops = cost_flops(c, node), .bytes = cost_int(c, 0)};
  for (int i = 0; i < node->n_in && !(node->op->traits & TN_TRAIT_VIEW); i++)
    if (node->in[i]) row.bytes = tn_sym_add(c->syms, row.bytes, cost_bytes(c, node->in[i]));
  for (int i = 0; i < node->n_out && !(node->op->traits & TN_TRAIT_VIEW); i++)
    if (node->out[i]) row.bytes = tn_sym_add(c->syms, row.bytes, cost_bytes(c, node->out[i]));
  c->flops = tn_sym_add(c->syms, c->flops, row.flops);
  c->bytes = tn_sym_add(c->syms, c->bytes, row.bytes);
  tn_vec_push(&c->ctx->arena, &c->rows, row);
  return TN_OK;
}

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
  for (int i = 0; i < g->main->n_params; i++) live = tn_sym_add(c->syms, live, cost_bytes(c, g->main->params[i]));
  for (const tn_node *node = g->main->first; node; node = node->next) {
    if (strcmp(node->op->name, "const") == 0) continue;
    const bool view = (node->op->traits & TN_TRAIT_VIEW) != 0;
    for (int i = 0; i < node->n_out && !view; i++)
      if (node->out[i]) live = tn_sym_add(c->syms, live, cost_bytes(c, node->out[i]));
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
      live = tn_sym_sub(c->syms, live, cost_bytes(c, v));
      last[v->id] = 0; /* an operand that stands twice dies once */
    }
    for (int i = 0; i < node->n_out && !view; i++)
      if (node->out[i] && last[node->out[i]->id] == 0) live = tn_sym_sub(c->syms, live, cost_bytes(c, node->out[i]));
  }
  return TN_OK;
}

static tn_sym cost_peak(cost *c) {
  tn_sym peak = cost_int(c, 0);
  for (size_t i = 0; i < c->live.n; i++) peak = tn_sym_max(c->syms, peak, c->live.at[i]);
  return peak;
}

/* Evaluation. */

static bool cost_env(void *arg, uint32_t symbol, int64_t *out) {
  const cost *const c = arg;
  *out = c->value[symbol];
  return c->given[symbol];
}

static bool cost_value(cost *c, tn_sym e, int64_t *out) { return tn_sym_eval(c->syms, e, cost_env, c, out) == TN_OK; }

static tn_status cost_read_dims(cost *c) {
  const tn_loc loc = {.kind = "option", .name = "--dim"};
  const char *at = c->dims ? c->dims : "";
  while (*at) {
    const char *const eq = strchr(at, '='), *const comma = strchr(at, ',');
    const char *const end = comma ? comma : at + strlen(at);
    int64_t v = 0;
    if (!eq || eq >= end || eq + 1 == end) return tn_fail(c->ctx, TN_INVALID, loc, "expected NAME=SIZE at '%s'", at);
    for (const char *d = eq + 1; d < end; d++)
      if (*d < '0' || *d > '9' || !tn_mul_i64(v, 10, &v) || !tn_add_i64(v, *d - '0', &v))
        return tn_fail(c->ctx, TN_INVALID, loc, "'%.*s' is no size", (int)(end - eq - 1), eq + 1);
    const char *const name = tn_arena_copy_str(&c->ctx->arena, (tn_str){at, (size_t)(eq - at)});
    const tn_symbol *const symbol = tn_sym_find_symbol(c->syms, name);
    if (!symbol) return tn_fail(c->ctx, TN_INVALID, loc, "the model has no symbol '%s'", name);
    c->given[symbol->var->k] = true;
    c->value[symbol->var->k] = v;
    at = comma ? comma + 1 : end;
  }
  return TN_OK;
}

/* The largest number of `vary` whose live bytes fit, by doubling and halving: live bytes grow with the sizes. */
static tn_status cost_solve(cost *c, int64_t *out) {
  const tn_loc loc = {.kind = "option", .name = "--vary"};
  const tn_symbol *const symbol = tn_sym_find_symbol(c->syms, c->vary);
  if (!symbol) return tn_fail(c->ctx, TN_INVALID, loc, "the model has no symbol '%s'", c->vary);
  const tn_sym var = symbol->var;
  const tn_sym peak = cost_peak(c);
  int64_t lo = 0, hi = INT64_C(1) << 40, bytes;
  c->given[var->k] = true;
  c->value[var->k] = 1;
  if (!cost_value(c, peak, &bytes)) return tn_fail(c->ctx, TN_INVALID, loc, "--dim must give the other symbols");
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo + 1) / 2;
    c->value[var->k] = mid;
    if (cost_value(c, peak, &bytes) && bytes <= c->max_memory)
      lo = mid;
    else
      hi = mid - 1;
  }
  *out = lo;
  return TN_OK;
}

/* Printing. */

static void cost_put(cost *c, tn_text *t, const char *label, tn_sym e) {
  int64_t v;
  tn_text_printf(t, "%s: %s", label, tn_sym_text(c->syms, e));
  if (!tn_sym_is_int(e) && c->dims && cost_value(c, e, &v)) tn_text_printf(t, " = %lld", (long long)v);
  tn_text_addz(t, "\n");
}

static void cost_put_text(cost *c, tn_text *t) {
  for (size_t i = 0; i < c->rows.n; i++) {
    const cost_row *const row = &c->rows.at[i];
    if (tn_sym_is(row->flops, 0) && tn_sym_is_int(row->bytes)) continue;
    int64_t flops, bytes;
    tn_text_printf(t, "%s: flops %s", tn_tool_where(c->ctx, row->node), tn_sym_text(c->syms, row->flops));
    if (c->dims && cost_value(c, row->flops, &flops)) tn_text_printf(t, " = %lld", (long long)flops);
    tn_text_printf(t, ", bytes %s", tn_sym_text(c->syms, row->bytes));
    if (c->dims && cost_value(c, row->bytes, &bytes)) tn_text_printf(t, " = %lld", (long long)bytes);
    tn_text_addz(t, "\n");
  }
  tn_text_printf(t, "parameters: %lld (%lld bytes)\n", (long long)c->parameters, (long long)c->parameter_bytes);
  cost_put(c, t, "flops", c->flops);
  cost_put(c, t, "bytes moved", c->bytes);
  cost_put(c, t, "largest live bytes", cost_peak(c));
  if (c->unknown) tn_text_addz(t, "values whose rank only the run knows are left out\n");
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
  cost_put_field(c, t, "flops", c->flops);
  tn_text_addz(t, ",\n ");
  cost_put_field(c, t, "bytes", c->bytes);
  tn_text_addz(t, ",\n ");
  cost_put_field(c, t, "live_bytes", cost_peak(c));
}

static tn_status cost_print(cost *c) {
  tn_text t;
  int64_t most = 0;
  tn_text_init(&t, &c->ctx->arena);
  if (c->json)
    cost_put_json(c, &t);
  else
    cost_put_text(c, &t);
  if (c->vary) {
    TN_TRY(cost_solve(c, &most));
    if (c->json)
      tn_text_printf(&t, ",\n \"largest\": %lld", (long long)most);
    else
      tn_text_printf(&t, "largest %s within %lld bytes: %lld\n", c->vary, (long long)c->max_memory, (long long)most);
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
  c->flops = c->bytes = cost_int(c, 0);
  c->given = TN_NEW_ARRAY(&c->ctx->arena, bool, tn_sym_n_symbols(c->syms) + 1);
  c->value = TN_NEW_ARRAY(&c->ctx->arena, int64_t, tn_sym_n_symbols(c->syms) + 1);
  TN_TRY(cost_read_dims(c));
  TN_TRY(tn_graph_walk(c->graph, cost_node, c));
  TN_TRY(cost_live(c));
  return cost_print(c);
}

tn_status tn_tool_cost(const char *path, const tn_compile_options *o, const char *dims, const char *vary,
                       int64_t max_memory, int json, tn_blob *out, tn_report **out_report) {
  tn_compilation compilation;
  const tn_compile_request q = {.allocator = tn_allocator_system(),
                                .path = path,
                                .options = o,
                                .stop_after = "infer",
                                .max_edits = -1,
                                .keeps_unknown = true};
  cost c = {.dims = dims, .vary = vary, .max_memory = max_memory, .json = json != 0, .out = out};
  *out = (tn_blob){0};
  return tn_tool_finish(&compilation, tn_compilation_run(&compilation, &q), cost_inside, &c, out_report);
}
