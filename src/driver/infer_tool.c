/* `tenon infer`: symbolic shapes of every value as a table or JSON, and written back into the model. */
#include <math.h>

#include "driver/report.h"
#include "driver/shapes.h"
#include "driver/tool.h"

typedef struct infer_tool {
  const char *out_path;
  bool json, elements;
  tn_blob *out;
} infer_tool;

/* A text of a large model is handed over in pieces. */
static tn_status infer_flush(const infer_tool *tool, tn_text *t) {
  enum { PIECE = 1 << 20 };
  return t->len < PIECE ? TN_OK : tn_blob_take(t, tool->out);
}

/* Names as numpy has them: "float32", "int64", "bool"; others as ONNX has them. */
static const char *infer_dtype_name(tn_ctx *ctx, tn_dtype d) {
  const char *name = tn_dtype_name(d);
  if (d == TN_DTYPE_NONE) return NULL;
  if (d == TN_BOOL) return "bool";
  if (d == TN_STR) return "string";
  if (d == TN_BF16) return "bfloat16";
  const char *stem = name[0] == 'f' ? "float" : name[0] == 'i' ? "int" : name[0] == 'u' ? "uint" : "complex";
  return tn_arena_printf(&ctx->arena, "%s%s", stem, name + 1);
}

static void infer_put_bound(tn_text *t, int64_t v) {
  if (v == INT64_MIN || v == INT64_MAX)
    tn_text_addz(t, "null");
  else
    tn_text_printf(t, "%lld", (long long)v);
}

const char *tn_tool_where(tn_ctx *ctx, const tn_node *node) {
  const char *name = node->loc.name && node->loc.name[0] ? node->loc.name : NULL;
  const char *op = node->loc.op ? node->loc.op : node->op->name;
  return name ? tn_arena_printf(&ctx->arena, "node '%s' (%s)", name, op)
              : tn_arena_printf(&ctx->arena, "node #%d (%s)", node->loc.index, op);
}

const char *tn_tool_symbol_from(tn_graph *g, tn_value *const *values, const tn_symbol *s) {
  tn_arena *a = &g->ctx->arena;
  if (s->source == TN_SOURCE_DEFINED) return tn_sym_text(g->syms, s->definition);
  if (s->source == TN_SOURCE_GIVEN) return "given by the user";
  if ((s->source != TN_SOURCE_DIM && s->source != TN_SOURCE_ELEM) || s->value >= g->n_values || !values[s->value])
    return NULL;
  const tn_value *v = values[s->value];
  const char *what = s->source == TN_SOURCE_DIM ? "dim" : "element";
  if (v->def)
    return tn_arena_printf(a, "%s %lld of '%s', %s", what, (long long)s->index, v->name, tn_tool_where(g->ctx, v->def));
  return tn_arena_printf(a, "%s %lld of %s '%s'", what, (long long)s->index, v->region->owner ? "parameter" : "input",
                         v->name);
}

static void infer_put_symbols(tn_text *t, tn_graph *g, tn_value *const *values, const bool *used) {
  bool first = true;
  tn_text_addz(t, "{\n \"symbols\": {");
  for (uint32_t i = 0; i < tn_sym_n_symbols(g->syms); i++) {
    const tn_symbol *s = tn_sym_symbol(g->syms, i);
    if (!used[i]) continue;
    tn_text_addz(t, first ? "\n  " : ",\n  ");
    first = false;
    tn_text_json(t, tn_str_of(s->name));
    tn_text_addz(t, ": {\"min\": ");
    infer_put_bound(t, s->min);
    tn_text_addz(t, ", \"max\": ");
    infer_put_bound(t, s->max);
    tn_text_printf(t, ", \"multiple_of\": %lld, \"from\": ", (long long)s->multiple_of);
    const char *from = tn_tool_symbol_from(g, values, s);
    if (from)
      tn_text_json(t, tn_str_of(from));
    else
      tn_text_addz(t, "null");
    if (s->at_most && !tn_sym_is_int(s->at_most)) {
      tn_text_addz(t, ", \"at_most\": ");
      tn_text_json(t, tn_str_of(tn_sym_text(g->syms, s->at_most)));
    }
    tn_text_addz(t, "}");
  }
  tn_text_addz(t, "},\n");
}

static void infer_put_expr(tn_text *t, tn_graph *g, tn_sym e) {
  if (tn_sym_is_int(e))
    tn_text_i64(t, e->k);
  else
    tn_text_json(t, tn_str_of(tn_sym_text(g->syms, e)));
}

static void infer_put_shape(tn_text *t, tn_graph *g, const tn_type *type) {
  if (!tn_type_has_rank(type)) {
    tn_text_addz(t, "null");
    return;
  }
  tn_text_addz(t, "[");
  for (int j = 0; j < type->rank; j++) {
    if (j) tn_text_addz(t, ", ");
    infer_put_expr(t, g, type->dims[j]);
  }
  tn_text_addz(t, "]");
}

static void infer_put_elem(tn_text *t, tn_graph *g, const tn_elem *e) {
  if (e->kind == TN_ELEM_NONE || (e->kind == TN_ELEM_F64 && !isfinite(e->f))) {
    tn_text_addz(t, "null");
  } else if (e->kind == TN_ELEM_F64) {
    tn_text_printf(t, "{\"float\": %.17g}", e->f);
  } else if (e->kind == TN_ELEM_SYM) {
    infer_put_expr(t, g, e->sym);
  } else {
    tn_text_addz(t, e->kind == TN_ELEM_RATIO ? "{\"quotient\": [" : "{\"product\": [");
    infer_put_expr(t, g, e->sym);
    if (e->kind == TN_ELEM_RATIO)
      tn_text_printf(t, ", %lld]}", (long long)e->den);
    else
      tn_text_printf(t, ", %.17g]}", e->f);
  }
}

/* What is known of the elements, where something is. */
static void infer_put_elements(tn_text *t, tn_graph *g, const tn_type *type) {
  const int64_t n = tn_type_content_count(type);
  if (n == 0) return;
  tn_text_addz(t, ", \"elements\": [");
  for (int64_t i = 0; i < n; i++) {
    if (i) tn_text_addz(t, ", ");
    infer_put_elem(t, g, &type->content[i]);
  }
  tn_text_addz(t, "]");
}

/* Which symbols to tell: the inputs' and the user's, and of the others those that something told mentions, for a rule
 * may have named what a later one knew exactly. */
typedef struct infer_used {
  tn_graph *graph;
  bool *at; /* by symbol */
  TN_VEC(uint32_t) todo;
  tn_map seen; /* expressions */
} infer_used;

static void infer_use_symbol(void *arg, uint32_t symbol) {
  infer_used *const u = arg;
  if (u->at[symbol]) return;
  u->at[symbol] = true;
  tn_vec_push(&u->graph->ctx->arena, &u->todo, symbol);
}

static void infer_use(infer_used *u, tn_sym e) {
  uint64_t had;
  if (!e || tn_sym_is_int(e) || tn_map_find(&u->seen, tn_map_key(e), &had)) return;
  tn_map_set(&u->graph->ctx->arena, &u->seen, tn_map_key(e), 1);
  tn_sym_symbols(u->graph->syms, e, infer_use_symbol, u);
}

static void infer_use_value(infer_used *u, const tn_value *v) {
  const tn_type *t = v ? &v->type : NULL;
  while (t && t->elem) t = t->elem;
  if (!t) return;
  for (int i = 0; tn_type_has_rank(t) && i < t->rank; i++) infer_use(u, t->dims[i]);
  for (int64_t i = 0; i < tn_type_content_count(t); i++) infer_use(u, t->content[i].sym);
}

static tn_status infer_use_node(void *arg, tn_node *node) {
  for (int i = 0; i < node->n_out; i++) infer_use_value(arg, node->out[i]);
  for (int i = 0; i < node->n_regions; i++)
    for (int j = 0; j < node->regions[i]->n_params; j++) infer_use_value(arg, node->regions[i]->params[j]);
  return TN_OK;
}

static bool infer_is_input(const tn_graph *g, const tn_symbol *s, tn_value *const *values) {
  if (s->source == TN_SOURCE_GIVEN) return true;
  if ((s->source != TN_SOURCE_DIM && s->source != TN_SOURCE_ELEM) || s->value >= g->n_values) return false;
  const tn_value *const v = values[s->value];
  return v && !v->def && !v->region->owner;
}

static tn_status infer_symbols(tn_graph *g, tn_value *const *values, bool **out) {
  const uint32_t n = tn_sym_n_symbols(g->syms);
  infer_used u = {.graph = g, .at = TN_NEW_ARRAY(&g->ctx->arena, bool, n + 1)};
  uint32_t inputs = 0;
  *out = u.at;
  for (uint32_t i = 0; i < n; i++) {
    u.at[i] = infer_is_input(g, tn_sym_symbol(g->syms, i), values);
    inputs += u.at[i];
  }
  if (inputs == n) return TN_OK;
  TN_TRY(tn_graph_walk(g, infer_use_node, &u));
  for (size_t i = 0; i < g->checks.n; i++) infer_use(&u, g->checks.at[i].condition);
  while (u.todo.n) {
    const tn_symbol *const s = tn_sym_symbol(g->syms, u.todo.at[--u.todo.n]);
    if (s->source == TN_SOURCE_DEFINED) infer_use(&u, s->definition);
    infer_use(&u, s->at_most);
  }
  return TN_OK;
}

typedef struct infer_list { /* the values of a table or of JSON, one after the other */
  const infer_tool *tool;
  tn_graph *graph;
  tn_text *text;
  bool first;
} infer_list;

static void infer_put_row(const infer_list *l, const tn_value *v) {
  tn_text_addz(l->text, v->name);
  tn_text_addz(l->text, ": ");
  tn_type_print(l->graph->syms, l->text, &v->type);
  tn_text_addz(l->text, "\n");
}

static void infer_put_value(infer_list *l, const char *name, const tn_type *type) {
  tn_text *const t = l->text;
  tn_graph *const g = l->graph;
  tn_text_addz(t, l->first ? "\n  " : ",\n  ");
  l->first = false;
  tn_text_json(t, tn_str_of(name));
  const char *dtype = type->kind == TN_TYPE_TENSOR ? infer_dtype_name(g->ctx, type->dtype) : NULL;
  if (dtype) {
    tn_text_addz(t, ": {\"dtype\": ");
    tn_text_json(t, tn_str_of(dtype));
  } else {
    tn_text_addz(t, ": {\"dtype\": null");
  }
  if (type->kind != TN_TYPE_TENSOR && type->kind != TN_TYPE_UNKNOWN) {
    tn_text text;
    tn_text_init(&text, &g->ctx->arena);
    tn_type_print(g->syms, &text, type);
    tn_text_addz(t, ", \"type\": ");
    tn_text_json(t, tn_str_of(tn_text_z(&text)));
  }
  tn_text_addz(t, ", \"shape\": ");
  infer_put_shape(t, g, type);
  if (l->tool->elements && type->kind == TN_TYPE_TENSOR) infer_put_elements(t, g, type);
  tn_text_addz(t, "}");
}

static tn_status infer_put(infer_list *l, const tn_value *v) {
  if (l->tool->json)
    infer_put_value(l, v->name, &v->type);
  else
    infer_put_row(l, v);
  return infer_flush(l->tool, l->text);
}

static tn_status infer_put_params(infer_list *l, const tn_region *r) {
  for (int i = 0; i < r->n_params; i++) TN_TRY(infer_put(l, r->params[i]));
  return TN_OK;
}

static tn_status infer_put_node(void *arg, tn_node *node) {
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) TN_TRY(infer_put(arg, node->out[i]));
  for (int i = 0; i < node->n_regions; i++) TN_TRY(infer_put_params(arg, node->regions[i]));
  return TN_OK;
}

static tn_status infer_put_all(infer_list *l) {
  TN_TRY(infer_put_params(l, l->graph->main));
  return tn_graph_walk(l->graph, infer_put_node, l);
}

/* Results whose name is not that of the value: two names of one value. */
static void infer_put_results(infer_list *l) {
  const tn_region *const main = l->graph->main;
  for (int i = 0; i < main->n_results; i++)
    if (!tn_graph_find_value(l->graph, main->result_names[i]))
      infer_put_value(l, main->result_names[i], &main->results[i]->type);
}

static tn_status infer_put_json(const infer_tool *tool, tn_text *t, tn_graph *g, tn_value *const *values,
                                const bool *used) {
  infer_list list = {tool, g, t, true};
  infer_put_symbols(t, g, values, used);
  tn_text_addz(t, " \"values\": {");
  TN_TRY(infer_put_all(&list));
  infer_put_results(&list);
  tn_text_addz(t, "},\n \"checks\": [");
  for (size_t i = 0; i < g->checks.n; i++) {
    const tn_check *c = &g->checks.at[i];
    tn_text_addz(t, i ? ",\n  {\"expr\": " : "\n  {\"expr\": ");
    tn_text_json(t, tn_str_of(tn_sym_text(g->syms, c->condition)));
    tn_text_addz(t, ", \"node\": ");
    tn_text_json(t, tn_str_of(c->loc.name ? c->loc.name : ""));
    tn_text_addz(t, ", \"why\": ");
    tn_text_json(t, tn_str_of(c->text));
    tn_text_addz(t, "}");
  }
  tn_text_addz(t, "],\n \"warnings\": [");
  bool none = true;
  for (size_t i = 0; i < g->ctx->diags.n; i++) {
    if (g->ctx->diags.at[i].severity != TN_WARNING) continue;
    tn_text_addz(t, none ? "\n  " : ",\n  ");
    tn_text_json(t, tn_str_of(g->ctx->diags.at[i].full));
    none = false;
  }
  tn_text_addz(t, "]\n}\n");
  return TN_OK;
}

static tn_status infer_put_table(const infer_tool *tool, tn_text *t, tn_graph *g, tn_value *const *values,
                                 const bool *used) {
  for (uint32_t i = 0; i < tn_sym_n_symbols(g->syms); i++) {
    const tn_symbol *s = tn_sym_symbol(g->syms, i);
    if (!used[i]) continue;
    const char *from = tn_tool_symbol_from(g, values, s);
    tn_text_printf(t, "symbol %s: %s\n", tn_sym_text(g->syms, s->var), from ? from : "?");
  }
  infer_list list = {tool, g, t, true};
  TN_TRY(infer_put_all(&list));
  for (size_t i = 0; i < g->checks.n; i++)
    tn_text_printf(t, "check %s: %s\n", tn_sym_text(g->syms, g->checks.at[i].condition), g->checks.at[i].text);
  return TN_OK;
}

static tn_status infer_collect(void *arg, tn_node *node) {
  tn_value **values = arg;
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) values[node->out[i]->id] = node->out[i];
  for (int i = 0; i < node->n_regions; i++)
    for (int j = 0; j < node->regions[i]->n_params; j++)
      values[node->regions[i]->params[j]->id] = node->regions[i]->params[j];
  return TN_OK;
}

tn_status tn_tool_values(tn_graph *g, tn_value ***out) {
  tn_value **values = TN_NEW_ARRAY(&g->ctx->arena, tn_value *, g->n_values + 1);
  for (int i = 0; i < g->main->n_params; i++) values[g->main->params[i]->id] = g->main->params[i];
  *out = values;
  return tn_graph_walk(g, infer_collect, values);
}

/* The values that symbols come from: most often inputs, for which no node need be looked at. */
static tn_status infer_sources(tn_graph *g, tn_value ***out) {
  const tn_region *const main = g->main;
  tn_value **const values = TN_NEW_ARRAY(&g->ctx->arena, tn_value *, g->n_values + 1);
  for (int i = 0; i < main->n_params; i++) values[main->params[i]->id] = main->params[i];
  *out = values;
  for (uint32_t i = 0; i < tn_sym_n_symbols(g->syms); i++) {
    const tn_symbol *const s = tn_sym_symbol(g->syms, i);
    if ((s->source == TN_SOURCE_DIM || s->source == TN_SOURCE_ELEM) && s->value < g->n_values && !values[s->value])
      return tn_tool_values(g, out);
  }
  return TN_OK;
}

static tn_status infer_write(tn_compilation *c, const char *path) {
  const tn_bytes *parts;
  size_t n;
  tn_error err = {0};
  if (!c->model) return tn_fail(&c->ctx, TN_INVALID, (tn_loc){0}, "only an ONNX model can be written back");
  TN_TRY(tn_onnx_splice(c->model, c->graph, &parts, &n));
  if (tn_file_write(path, parts, n, &err) != TN_OK)
    return tn_fail(&c->ctx, err.status, (tn_loc){.kind = "file", .name = path}, "%s", err.text);
  return TN_OK;
}

static tn_status infer_inside(tn_compilation *c, void *arg) {
  const infer_tool *tool = arg;
  tn_graph *g = c->graph;
  if (c->is_program) return tn_fail(&c->ctx, TN_INVALID, (tn_loc){0}, "a program holds no model to infer");
  tn_value **values;
  TN_TRY(infer_sources(g, &values));
  bool *used;
  TN_TRY(infer_symbols(g, values, &used));
  tn_text t;
  tn_text_init(&t, &c->ctx.arena);
  TN_TRY(tool->json ? infer_put_json(tool, &t, g, values, used) : infer_put_table(tool, &t, g, values, used));
  TN_TRY(tn_blob_take(&t, tool->out));
  return tool->out_path ? infer_write(c, tool->out_path) : TN_OK;
}

tn_status tn_tool_infer(const char *path, const tn_compile_options *o, int json, const char *out_path, tn_blob *out,
                        tn_report **out_report) {
  infer_tool tool = {out_path, json != 0, json > 1, out};
  *out = (tn_blob){0};
  const int keep = out_path ? TN_TOOL_UNKNOWN | TN_TOOL_MODEL : TN_TOOL_UNKNOWN;
  const tn_status status = tn_tool_inferred(path, o, keep, infer_inside, &tool, out_report);
  if (status != TN_OK) tn_blob_free(out);
  return status;
}
