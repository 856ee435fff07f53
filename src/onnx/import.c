/* The walk that builds a graph: names to values scope by scope, nodes through the operators' importers. */
#include "onnx/importer.h"

enum { IMPORT_EXPAND_FREE = 100000, IMPORT_EXPAND_FACTOR = 100 }; /* nodes that may come out of functions */

bool tn_onnx_lookup(const tn_onnx_frame *frame, const char *name, tn_value **out) {
  uint64_t v;
  for (; frame; frame = frame->up) {
    if (!tn_map_find(frame->values, tn_intern_id(name), &v)) continue;
    *out = (tn_value *)(uintptr_t)v;
    return true;
  }
  *out = NULL;
  return false;
}

static void import_define(tn_onnx_frame *frame, const char *name, tn_value *v) {
  tn_map_set_name(&frame->imp->ctx->source, frame->values, name, v);
}

/* A value's name in the graph: inside a function with the call before it. */
static const char *import_full_name(const tn_onnx_frame *frame, const char *name) {
  tn_ctx *ctx = frame->imp->ctx;
  if (!frame->call) return name;
  return tn_ctx_namez(ctx, tn_arena_printf(&ctx->arena, "%s%s", frame->call->prefix, name));
}

static tn_loc import_loc(const tn_onnx_frame *frame, const tn_onnx_node *node) {
  tn_loc loc = tn_onnx_node_loc(node);
  if (!frame->call) return loc;
  if (loc.name[0])
    loc.name = import_full_name(frame, loc.name);
  else
    loc.name = tn_arena_printf(&frame->imp->ctx->arena, "%s#%d", frame->call->prefix, loc.index);
  return loc;
}

/* What the file says of a value's type, if anything. A shape that is not wholly told is left out: a dim of a result has
 * to be an expression. */
static tn_status import_claim(tn_onnx_frame *frame, const char *name, tn_value *v) {
  const tn_onnx_port *port = tn_map_find_name(&frame->claims, name);
  tn_type type;
  if (!port || !port->type.ptr || v->type.kind != TN_TYPE_UNKNOWN) return TN_OK;
  TN_TRY(
      tn_onnx_type_read(&frame->imp->model->types, port->type, TN_ONNX_CLAIM, (tn_loc){"value", name, NULL, 0}, &type));
  for (int i = 0; tn_type_has_rank(&type) && i < type.rank; i++)
    if (!type.dims[i]) type.rank = -1;
  if (type.kind != TN_TYPE_UNKNOWN) tn_edit_set_type(v, type);
  return TN_OK;
}

static tn_status import_inputs(tn_onnx_frame *frame, const tn_onnx_node *node, tn_loc loc, tn_value **in) {
  tn_ctx *ctx = frame->imp->ctx;
  for (int i = 0; i < node->n_in; i++) {
    if (!node->in[i]) continue;
    if (!tn_onnx_lookup(frame, node->in[i], &in[i]))
      return tn_fail(ctx, TN_INVALID, loc,
                     "input %d, '%s', is not defined by any input, initializer or earlier node in sight", i,
                     node->in[i]);
  }
  return TN_OK;
}

/* Values that the node made bear the model's names; what it only passes on keeps its own. */
static tn_status import_outputs(tn_onnx_frame *frame, const tn_onnx_node *node, tn_loc loc, uint32_t first_new,
                                const char *const *names, tn_value *const *out) {
  for (int i = 0; i < node->n_out; i++) {
    if (!node->out[i]) continue;
    if (!out[i])
      return tn_fail(frame->imp->ctx, TN_INVALID, loc, "output %d, '%s', is more than the operator has", i,
                     node->out[i]);
    import_define(frame, node->out[i], out[i]);
    if (out[i] == &frame->imp->lost || out[i]->id < first_new) continue;
    tn_edit_name_value(out[i], names[i]);
    TN_TRY(import_claim(frame, node->out[i], out[i]));
  }
  return TN_OK;
}

/* What an importer sees of a node: on the stack for nodes of the usual size. */
typedef struct import_slots {
  tn_value **in, **out;
  bool *present;
  const char **names; /* of the outputs in the graph; NULL: absent */
  tn_import_attr *attrs;
  tn_value *few_in[8], *few_out[4];
  bool few_present[4];
  const char *few_names[4];
  tn_import_attr few_attrs[4];
} import_slots;

static void import_slots_init(import_slots *s, const tn_onnx_frame *frame, const tn_onnx_node *node) {
  tn_arena *a = &frame->imp->ctx->source;
  const bool few_out = (size_t)node->n_out <= TN_COUNT(s->few_out);
  s->in = (size_t)node->n_in <= TN_COUNT(s->few_in) ? s->few_in : TN_NEW_ARRAY(a, tn_value *, node->n_in);
  s->out = few_out ? s->few_out : TN_NEW_ARRAY(a, tn_value *, node->n_out);
  s->present = few_out ? s->few_present : TN_NEW_ARRAY(a, bool, node->n_out);
  s->names = few_out ? s->few_names : TN_NEW_ARRAY(a, const char *, node->n_out);
  s->attrs =
      (size_t)node->n_attrs <= TN_COUNT(s->few_attrs) ? s->few_attrs : TN_NEW_ARRAY(a, tn_import_attr, node->n_attrs);
  for (int i = 0; i < node->n_in; i++) s->in[i] = NULL;
  for (int i = 0; i < node->n_attrs; i++) s->attrs[i].used = false;
  for (int i = 0; i < node->n_out; i++) {
    s->out[i] = NULL;
    s->present[i] = node->out[i] != NULL;
    s->names[i] = node->out[i] ? import_full_name(frame, node->out[i]) : NULL;
  }
}

static tn_status import_build_region(tn_import *im, const tn_attr *attr, tn_region *into);

static tn_status import_find_value(tn_import *im, const char *name, tn_value **out) {
  const tn_onnx_frame *const frame = im->reader;
  if (!tn_onnx_lookup(frame, name, out) || !*out)
    return tn_import_fail(im, TN_INVALID, "'%s' is not defined by any input, initializer or earlier node in sight",
                          name);
  return *out == &frame->imp->lost ? TN_UNSUPPORTED : TN_OK; /* which has been reported */
}

/* What the model's node became must fit the schema, else the model's node does not. */
static tn_status import_check_nodes(tn_ctx *ctx, const tn_node *node, tn_loc loc) {
  for (; node; node = node->next) {
    const char *fault = tn_op_fault(&ctx->arena, node);
    if (fault) return tn_fail(ctx, TN_INVALID, loc, "%s", fault);
  }
  return TN_OK;
}

static tn_status import_opaque(tn_onnx_frame *frame, const tn_onnx_node *node, tn_loc loc, const import_slots *s,
                               tn_region *region) {
  if (!frame->imp->model->keeps_unknown)
    return tn_fail(frame->imp->ctx, TN_UNSUPPORTED, loc, "operator is not supported");
  const tn_node *opaque = tn_edit_add_node(region, NULL, tn_op_find("opaque"), s->in, node->n_in, node->n_out, loc);
  for (int i = 0; i < node->n_out; i++) s->out[i] = opaque->out[i];
  return TN_OK;
}

static tn_status import_operator(tn_onnx_frame *frame, const tn_onnx_node *node, tn_loc loc, import_slots *s,
                                 tn_region *region) {
  tn_onnx_importer *imp = frame->imp;
  const tn_onnx_function *f = frame->call ? frame->call->function : NULL;
  const int64_t imported = tn_onnx_version_of(imp->model, f, node->domain);
  const int64_t version = imported ? imported : 1;
  if (!node->row) return import_opaque(frame, node, loc, s, region);
  tn_import im = {
      .ctx = imp->ctx,
      .graph = imp->graph,
      .region = region,
      .loc = loc,
      .row = node->row,
      .version = version,
      .n_in = node->n_in,
      .n_out = node->n_out,
      .in = s->in,
      .out = s->out,
      .out_present = s->present,
      .out_names = s->names,
      .attrs = s->attrs,
      .build_region = import_build_region,
      .find_value = import_find_value,
      .reader = frame,
  };
  TN_TRY(tn_onnx_read_attrs(frame, node->attrs, node->n_attrs, loc, im.attrs, &im.n_attrs));
  const tn_node *last = region->last;
  TN_TRY(node->row->import(&im));
  return import_check_nodes(imp->ctx, last ? last->next : region->first, loc);
}

/* What was said since, and the nodes behind `last`, of an operator that is not supported as it is used: it stays
 * unknown. */
static tn_status import_unsupported(tn_onnx_frame *frame, const tn_onnx_node *node, tn_loc loc, import_slots *s,
                                    tn_region *region, const tn_node *last, size_t n_diags) {
  tn_ctx *const ctx = frame->imp->ctx;
  for (size_t i = n_diags; i < ctx->diags.n; i++) {
    ctx->diags.at[i].severity = TN_WARNING;
    ctx->diags.at[i].status = TN_OK;
  }
  while (region->last != last) tn_edit_erase_node(region->last);
  for (int i = 0; i < node->n_out; i++) s->out[i] = NULL;
  return import_opaque(frame, node, loc, s, region);
}

/* Of a call of a function all nodes that it expands to, where they have none of their own. */
static void import_marks(const tn_onnx_node *from, tn_node *node) {
  for (; from->marks && node; node = node->next)
    if (!node->marks) node->marks = from->marks;
}

/* A node that is not supported, or that needs what such a node would have given. */
static tn_status import_lose(tn_onnx_frame *frame, const tn_onnx_node *node) {
  frame->imp->refused = true;
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) import_define(frame, node->out[i], &frame->imp->lost);
  return TN_OK;
}

static tn_status import_node(tn_onnx_frame *frame, const tn_onnx_node *node, tn_region *region) {
  tn_onnx_importer *imp = frame->imp;
  const tn_loc loc = import_loc(frame, node);
  const uint32_t first_new = imp->graph->n_values;
  import_slots slots;
  import_slots_init(&slots, frame, node);
  if (frame->call && ++imp->n_expanded > imp->max_expanded)
    return tn_fail(imp->ctx, TN_LIMIT, loc, "functions expand to more than %lld nodes", (long long)imp->max_expanded);
  const tn_status given = import_inputs(frame, node, loc, slots.in);
  if (given == TN_UNSUPPORTED) return import_lose(frame, node);
  TN_TRY(given);
  for (int i = 0; i < node->n_in; i++)
    if (slots.in[i] == &imp->lost) return import_lose(frame, node);
  tn_onnx_function *f = tn_onnx_find_function(imp->model, node);
  const tn_node *last = region->last;
  const size_t n_diags = imp->ctx->diags.n;
  tn_status s = f ? tn_onnx_expand(frame, f, node, loc, slots.in, region, slots.out)
                  : import_operator(frame, node, loc, &slots, region);
  if (s == TN_UNSUPPORTED && !f && imp->model->keeps_unknown)
    s = import_unsupported(frame, node, loc, &slots, region, last, n_diags);
  if (s == TN_UNSUPPORTED) return import_lose(frame, node);
  TN_TRY(s);
  import_marks(node, last ? last->next : region->first);
  return import_outputs(frame, node, loc, first_new, slots.names, slots.out);
}

tn_status tn_onnx_import_nodes(tn_onnx_frame *frame, const tn_onnx_graph *g, tn_region *region) {
  tn_arena *a = &frame->imp->ctx->source;
  tn_map_reserve(a, frame->values, frame->values->n + (size_t)g->n_nodes);
  for (int64_t i = 0; i < g->n_nodes; i++) TN_TRY(import_node(frame, &g->nodes[g->order ? g->order[i] : i], region));
  return TN_OK;
}

/* Initializers. */

static void import_const(tn_onnx_frame *frame, const char *name, const tn_lit *lit, tn_region *region) {
  const tn_loc loc = {"initializer", name, NULL, 0};
  tn_node *node = tn_edit_add_node(region, NULL, tn_op_find("const"), NULL, 0, 1, loc);
  tn_edit_set_attr(node, "value", (tn_attr){.kind = TN_ATTR_TENSOR, .tensor = lit});
  tn_edit_name_value(node->out[0], import_full_name(frame, name));
  tn_edit_set_type(node->out[0], tn_lit_type(frame->imp->ctx, frame->imp->graph->syms, lit));
  import_define(frame, name, node->out[0]);
}

/* A weight whose file is not there: shapes can be inferred all the same, and it can be given as an input. */
static void import_missing(tn_onnx_frame *frame, const char *name, const tn_onnx_tensor *t, const char *why,
                           tn_region *region) {
  tn_onnx_importer *imp = frame->imp;
  tn_sym *dims = TN_NEW_ARRAY(&imp->ctx->arena, tn_sym, t->rank + 1);
  for (int i = 0; i < t->rank; i++) dims[i] = tn_sym_int(imp->graph->syms, t->dims[i]);
  tn_warn(imp->ctx, (tn_loc){"initializer", name, NULL, 0}, "%s; it becomes an input of the model", why);
  import_define(frame, name, tn_edit_add_param(region, name, tn_type_tensor(t->dtype, t->rank, dims)));
}

static tn_status import_init(tn_onnx_frame *frame, const tn_onnx_init *init, tn_region *region) {
  tn_onnx_importer *imp = frame->imp;
  tn_onnx_source *src = &imp->model->source;
  const tn_loc loc = {"initializer", init->name, NULL, 0};
  const bool may_miss = region == imp->graph->main;
  const tn_lit *lit;
  const char *missing = NULL;
  if (init->sparse) {
    tn_pb_sparse s;
    TN_TRY(tn_pb_read_sparse(imp->ctx, init->bytes, loc, &s));
    TN_TRY(tn_onnx_sparse_read(src, &s, loc, &lit));
    import_const(frame, init->name, lit, region);
    return TN_OK;
  }
  tn_onnx_tensor t;
  TN_TRY(tn_onnx_tensor_head(imp->ctx, init->bytes, loc, &t));
  TN_TRY(tn_onnx_tensor_data(src, &t, loc, may_miss ? &missing : NULL, &lit));
  if (lit)
    import_const(frame, init->name, lit, region);
  else
    import_missing(frame, init->name, &t, missing, region);
  return TN_OK;
}

/* An input that is an initializer too is a constant; the file may still contradict itself about its shape. */
static tn_status import_check_default(tn_onnx_frame *frame, const tn_onnx_port *port) {
  tn_value *v;
  tn_type said;
  const tn_loc loc = {"initializer", port->name, NULL, 0};
  if (!port->type.ptr || !tn_onnx_lookup(frame, port->name, &v) || !v) return TN_OK;
  TN_TRY(tn_onnx_type_read(&frame->imp->model->types, port->type, TN_ONNX_CLAIM, loc, &said));
  if (!tn_type_has_rank(&said) || !tn_type_has_rank(&v->type)) return TN_OK;
  bool same = said.rank == v->type.rank;
  for (int i = 0; same && i < said.rank; i++)
    same = !said.dims[i] || !tn_sym_is_int(said.dims[i]) || said.dims[i] == v->type.dims[i];
  if (!same) tn_warn(frame->imp->ctx, loc, "it is also an input with another shape: its own shape is taken");
  return TN_OK;
}

/* Graphs. */

static bool import_is_init(const tn_onnx_graph *g, const char *name) {
  uint64_t def;
  return tn_map_find(&g->defs, tn_intern_id(name), &def) && def == TN_ONNX_DEF_INIT;
}

/* Of a tensor, or of what a sequence or optional holds. */
static bool import_type_is_told(const tn_type *t) {
  while (t && (t->kind == TN_TYPE_SEQUENCE || t->kind == TN_TYPE_OPTIONAL)) t = t->elem;
  return t && t->kind != TN_TYPE_UNKNOWN && (t->kind != TN_TYPE_TENSOR || t->dtype);
}

static tn_status import_param(tn_onnx_frame *frame, const tn_onnx_port *port, tn_region *region) {
  tn_onnx_importer *imp = frame->imp;
  const tn_loc loc = {"input", port->name, NULL, 0};
  const bool is_main = region == imp->graph->main;
  tn_type type = {0};
  if (port->type.ptr)
    TN_TRY(tn_onnx_type_read(&imp->model->types, port->type, is_main ? TN_ONNX_INPUT : TN_ONNX_CLAIM, loc, &type));
  if (is_main && !import_type_is_told(&type))
    return tn_fail(imp->ctx, TN_INVALID, loc, "the model does not say its type");
  import_define(frame, port->name, tn_edit_add_param(region, import_full_name(frame, port->name), type));
  return TN_OK;
}

static void import_note_claims(tn_onnx_frame *frame, const tn_onnx_graph *g) {
  tn_arena *a = &frame->imp->ctx->source;
  frame->claims.by_id = true;
  for (int64_t i = 0; i < g->n_infos; i++) tn_map_set_name(a, &frame->claims, g->infos[i].name, &g->infos[i]);
  for (int64_t i = 0; i < g->n_outputs; i++) tn_map_set_name(a, &frame->claims, g->outputs[i].name, &g->outputs[i]);
}

static tn_status import_results(tn_onnx_frame *frame, const tn_onnx_graph *g, tn_region *region) {
  tn_ctx *ctx = frame->imp->ctx;
  tn_value **results = TN_NEW_ARRAY(&ctx->source, tn_value *, g->n_outputs + 1);
  if (g->n_outputs > INT_MAX / 2) return tn_fail(ctx, TN_LIMIT, (tn_loc){0}, "a graph has too many outputs");
  for (int64_t i = 0; i < g->n_outputs; i++)
    if (!tn_onnx_lookup(frame, g->outputs[i].name, &results[i]) || !results[i])
      return tn_fail(ctx, TN_INVALID, (tn_loc){"output", g->outputs[i].name, NULL, 0},
                     "it is not defined by any input, initializer or node");
  for (int64_t i = 0; i < g->n_outputs; i++)
    if (results[i] == &frame->imp->lost) return TN_UNSUPPORTED; /* and has been reported */
  tn_edit_set_results(region, results, (int)g->n_outputs);
  for (int i = 0; i < region->n_results; i++) tn_edit_name_result(region, i, g->outputs[i].name);
  return TN_OK;
}

static tn_status import_graph(tn_onnx_frame *frame, const tn_onnx_graph *g, tn_region *region) {
  import_note_claims(frame, g);
  for (int64_t i = 0; i < g->n_inputs; i++)
    if (!import_is_init(g, g->inputs[i].name)) TN_TRY(import_param(frame, &g->inputs[i], region));
  for (int64_t i = 0; i < g->n_inits; i++) TN_TRY(import_init(frame, &g->inits[i], region));
  for (int64_t i = 0; i < g->n_inputs; i++)
    if (import_is_init(g, g->inputs[i].name)) TN_TRY(import_check_default(frame, &g->inputs[i]));
  TN_TRY(tn_onnx_import_nodes(frame, g, region));
  return import_results(frame, g, region);
}

static tn_status import_build_region(tn_import *im, const tn_attr *attr, tn_region *into) {
  const tn_onnx_closure *closure = attr->region;
  const tn_onnx_frame *up = closure->frame;
  tn_map values = {.by_id = true};
  tn_onnx_frame frame = {.imp = up->imp, .up = up, .call = up->call, .values = &values, .depth = up->depth + 1};
  if (frame.depth > TN_ONNX_MAX_DEPTH)
    return tn_import_fail(im, TN_LIMIT, "functions and graphs are nested more than %d deep", TN_ONNX_MAX_DEPTH);
  TN_TRY(import_graph(&frame, closure->graph, into));
  if (!frame.call) closure->graph->values = values;
  return TN_OK;
}

static tn_status import_declare(tn_onnx_importer *imp) {
  const tn_onnx_graph *g = &imp->model->graph;
  for (int64_t i = 0; i < g->n_inputs; i++) {
    const tn_onnx_port *port = &g->inputs[i];
    if (!port->type.ptr || import_is_init(g, port->name)) continue;
    TN_TRY(tn_onnx_type_declare(&imp->model->types, port->type, (tn_loc){"input", port->name, NULL, 0}));
  }
  return TN_OK;
}

tn_status tn_onnx_import(tn_onnx_model *m, tn_graph **out) {
  TN_TRY(tn_onnx_check_operators(m));
  tn_onnx_importer imp = {.model = m, .ctx = m->ctx, .graph = tn_graph_new(m->ctx)};
  m->types = (tn_onnx_types){.ctx = m->ctx, .syms = imp.graph->syms};
  imp.max_expanded = IMPORT_EXPAND_FREE + IMPORT_EXPAND_FACTOR * m->n_nodes;
  m->graph.values = (tn_map){.by_id = true};
  tn_onnx_frame frame = {.imp = &imp, .values = &m->graph.values};
  TN_TRY(import_declare(&imp));
  TN_TRY(import_graph(&frame, &m->graph, imp.graph->main));
  if (imp.refused) return TN_UNSUPPORTED;
  *out = imp.graph;
  return TN_OK;
}
