/* Which operators of a model nobody imports: found before anything is built, and all reported. */
#include <inttypes.h>

#include "onnx/importer.h"

typedef struct check_walk {
  tn_onnx_model *model;
  const tn_onnx_function *function; /* whose body this is; NULL: the model's graphs */
  tn_map warned;                    /* domains nobody imports */
  TN_VEC(tn_onnx_function *) todo;  /* functions in use, each once */
  int64_t n_nodes;
  tn_status status;
} check_walk;

int64_t tn_onnx_version_of(const tn_onnx_model *m, const tn_onnx_function *f, const char *domain) {
  const int64_t own = f ? tn_onnx_opset_of(f->opsets, f->n_opsets, domain) : 0;
  return own ? own : tn_onnx_opset_of(m->opsets, m->n_opsets, domain);
}

/* The same few operators come again and again: each is looked up once, as long as its version stays. */
static const tn_onnx_row *check_find_row(tn_onnx_model *m, const tn_onnx_node *node, int64_t version, bool *out_known) {
  const uint64_t key = (uint64_t)tn_intern_id(node->op) << 32 | tn_intern_id(node->domain);
  uint64_t at;
  if (tn_map_find(&m->rows, key, &at) && m->rows_seen.at[at].version == version) {
    *out_known = true;
    return m->rows_seen.at[at].row;
  }
  const tn_onnx_row *row = tn_onnx_find(node->domain, node->op, version, out_known);
  if (!row) return NULL;
  if (tn_map_find(&m->rows, key, &at)) {
    m->rows_seen.at[at] = (tn_onnx_row_seen){version, row};
    return row;
  }
  tn_map_set(&m->ctx->arena, &m->rows, key, m->rows_seen.n);
  tn_vec_push(&m->ctx->arena, &m->rows_seen, (tn_onnx_row_seen){version, row});
  return row;
}

static bool check_domain_known(const char *domain) {
  for (int i = 0; i < tn_onnx_count(); i++)
    if (strcmp(tn_onnx_at(i)->domain, domain) == 0) return true;
  return false;
}

static const char *check_reason(tn_ctx *ctx, const tn_onnx_node *node, int64_t version, bool known) {
  const char *domain = node->domain[0] ? node->domain : "ai.onnx";
  if (known)
    return tn_arena_printf(&ctx->pass, "version %" PRId64 " of this operator (%s) is not supported", version, domain);
  if (!check_domain_known(node->domain))
    return tn_arena_printf(&ctx->pass, "domain '%s' is not known, and the model has no such function", domain);
  return tn_arena_printf(&ctx->pass, "operator is not supported (%s, opset %" PRId64 ")", domain, version);
}

static tn_status check_refuse(check_walk *w, const tn_onnx_node *node, int64_t version, bool known) {
  tn_ctx *ctx = w->model->ctx;
  tn_loc loc = tn_onnx_node_loc(node);
  if (w->function) loc.name = tn_ctx_namez(ctx, tn_arena_printf(&ctx->pass, "%s/%s", w->function->name, node->name));
  const char *why = check_reason(ctx, node, version, known);
  if (!w->model->keeps_unknown) return tn_fail(ctx, TN_UNSUPPORTED, loc, "%s", why);
  tn_warn(ctx, loc, "%s", why);
  return TN_OK;
}

/* A domain nobody imports: the node may still be one whose first version is meant. */
static int64_t check_missing_import(check_walk *w, const tn_onnx_node *node) {
  tn_ctx *ctx = w->model->ctx;
  if (node->domain[0] && !tn_map_find(&w->warned, tn_map_key(node->domain), NULL)) {
    tn_map_set(&ctx->arena, &w->warned, tn_map_key(node->domain), 1);
    tn_warn(ctx, tn_onnx_node_loc(node), "the model imports no opset of domain '%s'; version 1 is taken", node->domain);
  }
  return 1;
}

static void check_node(check_walk *w, tn_onnx_node *node) {
  tn_onnx_function *f = tn_onnx_find_function(w->model, node);
  if (f) {
    node->row = NULL;
    if (!f->checked) tn_vec_push(&w->model->ctx->arena, &w->todo, f);
    f->checked = true;
    return;
  }
  int64_t version = tn_onnx_version_of(w->model, w->function, node->domain);
  bool known = false;
  if (version == 0 && node->domain[0] == 0) {
    const tn_status s = tn_fail(w->model->ctx, TN_INVALID, tn_onnx_node_loc(node),
                                "unknown opset: the model imports none of domain ai.onnx");
    if (w->status == TN_OK) w->status = s;
    return;
  }
  if (version == 0) version = check_missing_import(w, node);
  node->row = check_find_row(w->model, node, version, &known);
  if (node->row) return;
  const tn_status s = check_refuse(w, node, version, known);
  if (w->status == TN_OK) w->status = s;
}

static void check_graph(check_walk *w, const tn_onnx_graph *g) {
  w->n_nodes += g->n_nodes;
  for (int64_t i = 0; i < g->n_nodes && w->status != TN_INVALID; i++) {
    check_node(w, &g->nodes[i]);
    for (int k = 0; k < g->nodes[i].n_attrs; k++)
      if (g->nodes[i].attrs[k].graph) check_graph(w, g->nodes[i].attrs[k].graph);
  }
}

void tn_onnx_keep_unknown(tn_onnx_model *m) { m->keeps_unknown = true; }

tn_status tn_onnx_check_operators(tn_onnx_model *m) {
  check_walk w = {.model = m};
  for (size_t i = 0; i < m->n_functions; i++) m->functions[i].checked = false;
  check_graph(&w, &m->graph);
  m->n_nodes = w.n_nodes;
  for (size_t i = 0; i < w.todo.n; i++) {
    w.function = w.todo.at[i];
    check_graph(&w, &w.function->body);
  }
  return w.status;
}
