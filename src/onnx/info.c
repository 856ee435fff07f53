/* What `tenon info` shows: counts over the tree, without touching a weight. */
#include <stdlib.h>

#include "onnx/model.h"

typedef struct info_walk {
  tn_onnx_model *model;
  tn_map operators; /* interned "Conv" or "com.microsoft.Gelu" -> count */
} info_walk;

static void info_count_operator(info_walk *w, const tn_onnx_node *node) {
  tn_ctx *ctx = w->model->ctx;
  const char *name = node->op;
  uint64_t n = 0;
  if (node->domain[0]) name = tn_ctx_namez(ctx, tn_arena_printf(&ctx->pass, "%s.%s", node->domain, node->op));
  (void)tn_map_find(&w->operators, tn_map_key(name), &n);
  tn_map_set(&ctx->arena, &w->operators, tn_map_key(name), n + 1);
}

/* Sizes that do not count are left out here and refused by the import. */
static size_t info_init_bytes(const tn_onnx_init *init, tn_ctx *ctx) {
  tn_pb_tensor t;
  int64_t dims[TN_MAX_RANK], count;
  uint64_t v;
  int rank = 0;
  size_t bytes = 0;
  if (init->sparse) return init->bytes.len;
  if (tn_pb_read_tensor(ctx, init->bytes, (tn_loc){0}, &t) != TN_OK || t.data_type.v <= 0 ||
      t.data_type.v >= TN_N_DTYPES || t.data_type.v == TN_STR)
    return 0;
  tn_wire_iter it = tn_wire_iterate(&t.dims, TN_WIRE_VARINT);
  for (; rank < TN_MAX_RANK && tn_wire_iter_next(&it, &v); rank++) dims[rank] = (int64_t)v;
  if (!tn_dims_count(dims, rank, &count) || !tn_dtype_bytes((tn_dtype)t.data_type.v, count, &bytes)) return 0;
  return bytes;
}

static void info_graph(info_walk *w, const tn_onnx_graph *g) {
  tn_onnx_info *info = &w->model->info;
  info->n_nodes_total += g->n_nodes;
  for (int64_t i = 0; i < g->n_inits; i++) {
    const size_t bytes = info_init_bytes(&g->inits[i], w->model->ctx);
    if (!tn_add_i64(info->weight_bytes, (int64_t)bytes, &info->weight_bytes)) info->weight_bytes = INT64_MAX;
  }
  for (int64_t i = 0; i < g->n_nodes; i++) {
    const tn_onnx_node *node = &g->nodes[i];
    info_count_operator(w, node);
    for (int k = 0; k < node->n_attrs; k++)
      if (node->attrs[k].graph) info_graph(w, node->attrs[k].graph); /* depth was limited when it was read */
  }
}

static int info_compare(const void *a, const void *b) {
  const tn_map_entry *x = a, *y = b;
  return strcmp((const char *)(uintptr_t)x->key, (const char *)(uintptr_t)y->key);
}

static void info_fill_operators(info_walk *w) {
  tn_onnx_info *info = &w->model->info;
  tn_arena *a = &w->model->ctx->arena;
  const size_t n = w->operators.n;
  const char **names = TN_NEW_ARRAY(a, const char *, n + 1);
  int64_t *counts = TN_NEW_ARRAY(a, int64_t, n + 1);
  tn_map_entry *entries = TN_NEW_ARRAY(a, tn_map_entry, n + 1);
  for (size_t i = 0; i < n; i++) entries[i] = w->operators.entries[i];
  qsort(entries, n, sizeof entries[0], info_compare);
  for (size_t i = 0; i < n; i++) {
    names[i] = (const char *)(uintptr_t)entries[i].key;
    counts[i] = (int64_t)entries[i].value;
  }
  info->n_operators = (int64_t)n;
  info->operators = names;
  info->operator_counts = counts;
}

static tn_status info_fill_metadata(tn_onnx_model *m) {
  const tn_pb_msgs *msgs = &m->pb.metadata_props;
  const char **keys = TN_NEW_ARRAY(&m->ctx->arena, const char *, msgs->n + 1);
  const char **values = TN_NEW_ARRAY(&m->ctx->arena, const char *, msgs->n + 1);
  for (size_t i = 0; i < msgs->n; i++) {
    tn_pb_entry e;
    TN_TRY(tn_pb_read_entry(m->ctx, msgs->at[i], (tn_loc){0}, &e));
    keys[i] = tn_ctx_name(m->ctx, e.key);
    values[i] = tn_ctx_name(m->ctx, e.value);
  }
  m->info.n_metadata = (int64_t)msgs->n;
  m->info.metadata_keys = keys;
  m->info.metadata_values = values;
  return TN_OK;
}

tn_status tn_onnx_fill_info(tn_onnx_model *m) {
  tn_onnx_info *info = &m->info;
  info->ir_version = m->pb.ir_version.v;
  info->producer = tn_ctx_name(m->ctx, m->pb.producer_name);
  info->producer_version = tn_ctx_name(m->ctx, m->pb.producer_version);
  info->graph_name = m->graph.name;
  info->opsets = m->opsets;
  info->n_opsets = (int64_t)m->n_opsets;
  info->n_nodes = m->graph.n_nodes;
  info->n_initializers = m->graph.n_inits;
  info->n_functions = (int64_t)m->n_functions;
  return info_fill_metadata(m);
}

static tn_status info_declared(tn_onnx_types *ts, const tn_onnx_port *port, const char *kind, tn_onnx_declared *out) {
  const tn_loc loc = {kind, port->name, NULL, 0};
  tn_pb_type type;
  *out = (tn_onnx_declared){.name = port->name};
  if (!port->type.ptr) return TN_OK;
  TN_TRY(tn_pb_read_type(ts->ctx, port->type, loc, &type));
  if (type.sparse_tensor_type.ptr || type.opaque_type.ptr) return TN_OK;
  return tn_onnx_type_read(ts, port->type, TN_ONNX_INPUT, loc, &out->type);
}

tn_status tn_onnx_read_interface(tn_onnx_model *m, tn_symtab *syms, tn_onnx_interface *out) {
  const tn_onnx_graph *const g = &m->graph;
  tn_onnx_types ts = {.ctx = m->ctx, .syms = syms};
  tn_onnx_declared *const in = TN_NEW_ARRAY(&m->ctx->arena, tn_onnx_declared, (size_t)g->n_inputs + 1);
  tn_onnx_declared *const result = TN_NEW_ARRAY(&m->ctx->arena, tn_onnx_declared, (size_t)g->n_outputs + 1);
  *out = (tn_onnx_interface){.inputs = in, .outputs = result};
  for (int64_t i = 0; i < g->n_inputs; i++) {
    uint64_t def;
    if (tn_map_find(&g->defs, tn_map_key(g->inputs[i].name), &def) && def == TN_ONNX_DEF_INIT) continue;
    TN_TRY(info_declared(&ts, &g->inputs[i], "input", &in[out->n_inputs++]));
  }
  for (; (int64_t)out->n_outputs < g->n_outputs; out->n_outputs++)
    TN_TRY(info_declared(&ts, &g->outputs[out->n_outputs], "output", &result[out->n_outputs]));
  return TN_OK;
}

tn_onnx_info tn_onnx_get_info(tn_onnx_model *m) {
  info_walk w = {.model = m};
  if (m->info.operators) return m->info;
  info_graph(&w, &m->graph);
  info_fill_operators(&w);
  return m->info;
}
