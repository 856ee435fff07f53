/* The files of a model's external data, before anything is imported. */
#include "onnx/model.h"

static tn_status external_sparse(tn_onnx_source *src, tn_bytes bytes) {
  tn_pb_sparse s;
  TN_TRY(tn_pb_read_sparse(src->ctx, bytes, (tn_loc){0}, &s));
  TN_TRY(tn_onnx_tensor_open(src, s.values, (tn_loc){0}));
  return tn_onnx_tensor_open(src, s.indices, (tn_loc){0});
}

static tn_status external_attr(tn_onnx_source *src, const tn_onnx_attr *attr) {
  tn_pb_attribute a;
  if (attr->type != TN_ONNX_ATTR_TENSOR && attr->type != TN_ONNX_ATTR_TENSORS && attr->type != TN_ONNX_ATTR_SPARSE)
    return TN_OK;
  TN_TRY(tn_pb_read_attribute(src->ctx, attr->bytes, (tn_loc){0}, &a));
  if (a.t.ptr) TN_TRY(tn_onnx_tensor_open(src, a.t, (tn_loc){0}));
  if (a.sparse_tensor.ptr) TN_TRY(external_sparse(src, a.sparse_tensor));
  for (size_t i = 0; i < a.tensors.n; i++) TN_TRY(tn_onnx_tensor_open(src, a.tensors.at[i], (tn_loc){0}));
  return TN_OK;
}

static tn_status external_graph(tn_onnx_source *src, const tn_onnx_graph *g) {
  for (int64_t i = 0; i < g->n_inits; i++) {
    const tn_onnx_init *init = &g->inits[i];
    TN_TRY(init->sparse ? external_sparse(src, init->bytes) : tn_onnx_tensor_open(src, init->bytes, (tn_loc){0}));
  }
  for (int64_t i = 0; i < g->n_nodes; i++) {
    const tn_onnx_node *node = &g->nodes[i];
    for (int k = 0; k < node->n_attrs; k++) {
      TN_TRY(external_attr(src, &node->attrs[k]));
      if (node->attrs[k].graph) TN_TRY(external_graph(src, node->attrs[k].graph)); /* depth was limited when read */
    }
  }
  return TN_OK;
}

static tn_status external_model(tn_onnx_model *m) {
  TN_TRY(external_graph(&m->source, &m->graph));
  for (size_t i = 0; i < m->n_functions; i++) {
    const tn_onnx_function *f = &m->functions[i];
    for (size_t k = 0; k < f->n_defaults; k++) TN_TRY(external_attr(&m->source, &f->defaults[k]));
    TN_TRY(external_graph(&m->source, &f->body));
  }
  return TN_OK;
}

bool tn_onnx_map_data(tn_onnx_model *m) {
  const size_t n = m->ctx->diags.n, n_diags = m->ctx->n_diags;
  if (external_model(m) == TN_OK) return true;
  m->ctx->diags.n = n;
  m->ctx->n_diags = n_diags;
  return false;
}
