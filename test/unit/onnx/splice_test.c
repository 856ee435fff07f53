#include "ir/infer.h"
#include "onnx_test.h"

static tn_bytes joined(tn_ctx *ctx, const tn_bytes *parts, size_t n) {
  msg m = m_new(ctx);
  for (size_t i = 0; i < n; i++) tn_wire_add_bytes(&m, parts[i].ptr, parts[i].len);
  return tn_wire_out_bytes(&m);
}

/* Imports, infers and writes back. */
static tn_bytes spliced(tn_ctx *ctx, const msg *model, size_t *n_parts) {
  tn_onnx_model *m;
  tn_graph *g;
  const tn_bytes *parts;
  if (!CHECK(m_import(ctx, model, &m, &g) == TN_OK)) return (tn_bytes){NULL, 0};
  CHECK_EQ_I(tn_infer_region(g, g->main), TN_OK);
  CHECK_EQ_I(tn_onnx_splice(m, g, &parts, n_parts), TN_OK);
  return joined(ctx, parts, *n_parts);
}

static msg two_identities(tn_ctx *ctx, const char *info_dims, const char *output_dims) {
  msg g = m_new(ctx);
  m_input(ctx, &g, "x", TN_F32, "N,3");
  m_add_node(ctx, &g, "Identity", "x", "m", "a");
  m_add_node(ctx, &g, "Identity", "m", "y", "b");
  if (info_dims) m_info(ctx, &g, "m", TN_F32, info_dims);
  if (output_dims) m_output(ctx, &g, "y", TN_F32, output_dims);
  return g;
}

ONNX_TEST(said_already_stays_byte_for_byte) {
  const msg g = two_identities(ctx, "N,3", "N,3"), model = m_model(ctx, &g);
  size_t n;
  const tn_bytes out = spliced(ctx, &model, &n);
  CHECK_EQ_I(n, 1);
  CHECK(out.len == model.bytes.n && memcmp(out.ptr, model.bytes.at, out.len) == 0);
}

ONNX_TEST(missing_and_wrong_shapes_are_written) {
  const msg was = two_identities(ctx, NULL, "?,7"), model = m_model(ctx, &was);
  msg want = two_identities(ctx, NULL, "N,3");
  m_info(ctx, &want, "m", TN_F32, "N,3");
  const msg want_model = m_model(ctx, &want);
  size_t n;
  const tn_bytes out = spliced(ctx, &model, &n);
  CHECK(out.len == want_model.bytes.n && memcmp(out.ptr, want_model.bytes.at, out.len) == 0);
}

/* An output without a type gets one; its name and unknown fields stay. */
ONNX_TEST(unknown_fields_stay) {
  msg g = two_identities(ctx, "N,3", NULL), info = m_new(ctx), want = two_identities(ctx, "N,3", NULL);
  m_str(&info, TN_F_value_info_name, "y");
  m_str(&info, 3, "a doc string");
  m_str(&info, 99, "from the future");
  msg want_info = info;
  const msg type = m_type(ctx, TN_F32, "N,3");
  m_msg(&want_info, TN_F_value_info_type, &type);
  m_msg(&g, TN_F_graph_output, &info);
  m_msg(&want, TN_F_graph_output, &want_info);
  m_str(&g, 98, "and here");
  m_str(&want, 98, "and here");
  msg model = m_model(ctx, &g), want_model = m_model(ctx, &want);
  m_str(&model, 97, "and there");
  m_str(&want_model, 97, "and there");
  size_t n;
  const tn_bytes out = spliced(ctx, &model, &n);
  CHECK(out.len == want_model.bytes.n && memcmp(out.ptr, want_model.bytes.at, out.len) == 0);
}

ONNX_TEST(denotations_stay) {
  msg g = two_identities(ctx, "N,3", NULL), dim = m_new(ctx), shape = m_new(ctx), tensor = m_new(ctx),
      type = m_new(ctx);
  msg info = m_new(ctx);
  m_int(&dim, TN_F_dim_dim_value, 9);
  m_str(&dim, 3, "DATA_BATCH");
  m_msg(&shape, TN_F_shape_dim, &dim);
  m_msg(&shape, TN_F_shape_dim, &dim);
  m_int(&tensor, TN_F_tensor_type_elem_type, TN_F32);
  m_msg(&tensor, TN_F_tensor_type_shape, &shape);
  m_msg(&type, TN_F_type_tensor_type, &tensor);
  m_str(&type, 6, "IMAGE");
  m_str(&info, TN_F_value_info_name, "y");
  m_msg(&info, TN_F_value_info_type, &type);
  m_msg(&g, TN_F_graph_output, &info);
  const msg model = m_model(ctx, &g);
  size_t n;
  const tn_bytes out = spliced(ctx, &model, &n);
  tn_onnx_model *m;
  tn_pb_type t;
  tn_pb_tensor_type tt;
  tn_pb_shape s;
  tn_pb_dim d;
  if (!CHECK(tn_onnx_read(ctx, out, NULL, &m) == TN_OK)) return;
  const tn_bytes y = m->graph.outputs[0].type;
  CHECK(tn_pb_read_type(ctx, y, (tn_loc){0}, &t) == TN_OK && y.len > 7 && memcmp(y.ptr + y.len - 5, "IMAGE", 5) == 0);
  CHECK(tn_pb_read_tensor_type(ctx, t.tensor_type, (tn_loc){0}, &tt) == TN_OK);
  CHECK(tn_pb_read_shape(ctx, tt.shape, (tn_loc){0}, &s) == TN_OK && s.dim.n == 2);
  CHECK(tn_pb_read_dim(ctx, s.dim.at[0], (tn_loc){0}, &d) == TN_OK && tn_str_is(d.dim_param, "N") && !d.dim_value.has);
  CHECK(memcmp(s.dim.at[1].ptr + s.dim.at[1].len - 10, "DATA_BATCH", 10) == 0);
}

/* The weights are neither read nor copied: all parts but small ones lie in the original. */
ONNX_TEST(weights_are_not_copied) {
  enum { N = 100000 };
  static float zeros[N];
  msg g = two_identities(ctx, NULL, "?,?"), w = m_tensor(ctx, "w", TN_F32, 1, (const int64_t[]){N});
  m_raw(&w, zeros, sizeof zeros);
  m_msg(&g, TN_F_graph_initializer, &w);
  const msg model = m_model(ctx, &g);
  tn_onnx_model *m;
  tn_graph *graph;
  const tn_bytes *parts;
  size_t n, copied = 0;
  if (!CHECK(m_import(ctx, &model, &m, &graph) == TN_OK)) return;
  CHECK_EQ_I(tn_infer_region(graph, graph->main), TN_OK);
  CHECK_EQ_I(tn_onnx_splice(m, graph, &parts, &n), TN_OK);
  for (size_t i = 0; i < n; i++)
    if (parts[i].ptr < model.bytes.at || parts[i].ptr >= model.bytes.at + model.bytes.n) copied += parts[i].len;
  CHECK(copied > 0 && copied < 200);
}

ONNX_TEST(subgraphs_too) {
  msg g = m_new(ctx), a = m_new(ctx), node = m_node(ctx, "If", "c", "y", "choose");
  m_input(ctx, &g, "c", TN_BOOL, "");
  m_input(ctx, &g, "x", TN_F32, "N");
  m_add_node(ctx, &a, "Identity", "x", "t", "one");
  m_add_node(ctx, &a, "Identity", "t", "o", "two");
  m_output(ctx, &a, "o", TN_F32, NULL);
  m_attr_msg(ctx, &node, "then_branch", TN_ONNX_ATTR_GRAPH, TN_F_attribute_g, &a);
  m_attr_msg(ctx, &node, "else_branch", TN_ONNX_ATTR_GRAPH, TN_F_attribute_g, &a);
  m_msg(&g, TN_F_graph_node, &node);
  m_output(ctx, &g, "y", TN_F32, NULL);
  const msg model = m_model(ctx, &g);
  size_t n;
  const tn_bytes out = spliced(ctx, &model, &n);
  tn_onnx_model *m;
  if (!CHECK(tn_onnx_read(ctx, out, NULL, &m) == TN_OK)) return;
  for (int i = 0; i < 2; i++) {
    const tn_onnx_graph *branch = m->graph.nodes[0].attrs[i].graph;
    CHECK_EQ_I(branch->n_infos, 1);
    CHECK(branch->n_infos == 1 && strcmp(branch->infos[0].name, "t") == 0);
  }
}

ONNX_TEST(expressions_are_written_as_text) {
  msg g = m_new(ctx);
  m_input(ctx, &g, "x", TN_F32, "past + seq");
  m_input(ctx, &g, "p", TN_F32, "past");
  m_input(ctx, &g, "s", TN_F32, "seq");
  m_add_node(ctx, &g, "Identity", "x", "y", "id");
  m_output(ctx, &g, "y", TN_F32, "?");
  const msg model = m_model(ctx, &g);
  size_t n;
  const tn_bytes out = spliced(ctx, &model, &n);
  tn_onnx_model *m;
  tn_graph *graph;
  if (!CHECK(tn_onnx_read(ctx, out, NULL, &m) == TN_OK && tn_onnx_import(m, &graph) == TN_OK)) return;
  const tn_bytes *parts; /* once written, nothing changes any more */
  CHECK_EQ_I(tn_infer_region(graph, graph->main), TN_OK);
  CHECK_EQ_I(tn_onnx_splice(m, graph, &parts, &n), TN_OK);
  CHECK_EQ_I(n, 1);
}
