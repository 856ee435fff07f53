#include "onnx_test.h"

static tn_status read_bytes(tn_ctx *ctx, const void *p, size_t n) {
  tn_onnx_model *m;
  return tn_onnx_read(ctx, (tn_bytes){p, n}, NULL, &m);
}

ONNX_TEST(not_a_model) {
  CHECK_EQ_I(read_bytes(ctx, "", 0), TN_INVALID);
  CHECK_HAS(last_text(ctx), "not an ONNX model: the file is empty");
  static const char text[] = "hello, this is a text file\n";
  CHECK_EQ_I(read_bytes(ctx, text, sizeof text - 1), TN_INVALID);
  CHECK_HAS(last_text(ctx), "not an ONNX model");
  static const uint8_t png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13};
  CHECK_EQ_I(read_bytes(ctx, png, sizeof png), TN_INVALID);
  CHECK_HAS(last_text(ctx), "not an ONNX model");
  static const uint8_t no_graph[] = {0x08, 0x08};
  CHECK_EQ_I(read_bytes(ctx, no_graph, sizeof no_graph), TN_INVALID);
  CHECK_HAS(last_text(ctx), "it has no graph");
}

static msg small_graph(tn_ctx *ctx) {
  msg g = m_new(ctx);
  m_str(&g, TN_F_graph_name, "g");
  m_input(ctx, &g, "x", TN_F32, "N,3");
  m_add_node(ctx, &g, "Identity", "x", "y", "id");
  m_output(ctx, &g, "y", TN_F32, NULL);
  return g;
}

ONNX_TEST(cut_short_at_every_byte) {
  const msg g = small_graph(ctx), m = m_model(ctx, &g);
  for (size_t n = 0; n < m.bytes.n; n++) CHECK_EQ_I(read_bytes(ctx, m.bytes.at, n), TN_INVALID);
  CHECK_EQ_I(read_bytes(ctx, m.bytes.at, m.bytes.n), TN_OK);
  CHECK_EQ_I(read_bytes(ctx, m.bytes.at, m.bytes.n - 5), TN_INVALID);
  CHECK_HAS(last_text(ctx), "cut short: field 'graph' of ModelProto needs");
}

static tn_status read_versions(tn_ctx *ctx, int64_t ir, const char *domain, int64_t opset) {
  const msg g = small_graph(ctx);
  msg m = m_new(ctx);
  m_int(&m, TN_F_model_ir_version, ir);
  if (domain) m_opset(ctx, &m, TN_F_model_opset_import, domain, opset);
  m_msg(&m, TN_F_model_graph, &g);
  tn_onnx_model *model;
  return tn_onnx_read(ctx, tn_wire_out_bytes(&m), NULL, &model);
}

ONNX_TEST(versions) {
  CHECK_EQ_I(read_versions(ctx, 8, "", 18), TN_OK);
  CHECK_EQ_I(read_versions(ctx, 2, NULL, 0), TN_OK); /* before opsets were written down */
  CHECK_EQ_I(ctx->n_diags, 0);
  CHECK_EQ_I(read_versions(ctx, 8, NULL, 0), TN_INVALID);
  CHECK_HAS(last_text(ctx), "unknown opset: the model imports none");
  CHECK_EQ_I(read_versions(ctx, 8, "", 0), TN_INVALID);
  CHECK_HAS(last_text(ctx), "unknown opset: version 0 of domain ''");
  CHECK_EQ_I(read_versions(ctx, 8, "", -3), TN_INVALID);
  CHECK_EQ_I(read_versions(ctx, 8, "", 1000), TN_OK);
  CHECK_HAS(last_text(ctx), "opset 1000 is newer than");
  CHECK_EQ_I(read_versions(ctx, 99, "", 18), TN_OK);
  CHECK_HAS(last_text(ctx), "IR version 99 is newer than");
  CHECK_EQ_I(read_versions(ctx, 0, "", 18), TN_INVALID);
}

#define CHECK_READ(ctx, g, status, text)                                    \
  do {                                                                      \
    const msg model_ = m_model((ctx), &(g));                                \
    CHECK_EQ_I(read_bytes((ctx), model_.bytes.at, model_.bytes.n), status); \
    CHECK_HAS(last_text(ctx), text);                                        \
  } while (0)

ONNX_TEST(names_defined_twice) {
  msg nodes = m_new(ctx), inputs = m_new(ctx), inits = m_new(ctx), both = m_new(ctx);
  m_add_node(ctx, &nodes, "Identity", "x", "y", "a");
  m_add_node(ctx, &nodes, "Identity", "x", "y", "b");
  CHECK_READ(ctx, nodes, TN_INVALID, "node 'b' (Identity): value 'y' is defined twice: names must be unique");
  m_input(ctx, &inputs, "x", TN_F32, "1");
  m_input(ctx, &inputs, "x", TN_F32, "1");
  CHECK_READ(ctx, inputs, TN_INVALID, "input 'x': value 'x' is defined twice");
  msg w = m_tensor(ctx, "w", TN_F32, 1, (const int64_t[]){0});
  m_msg(&inits, TN_F_graph_initializer, &w);
  m_msg(&inits, TN_F_graph_initializer, &w);
  CHECK_READ(ctx, inits, TN_INVALID, "initializer 'w': value 'w' is defined twice");
  m_msg(&both, TN_F_graph_initializer, &w);
  m_add_node(ctx, &both, "Identity", "x", "w", "a");
  CHECK_READ(ctx, both, TN_INVALID, "node 'a' (Identity): value 'w' is defined twice");
}

ONNX_TEST(cycle) {
  msg g = m_new(ctx), self = m_new(ctx);
  m_add_node(ctx, &g, "Identity", "x", "first", "start");
  m_add_node(ctx, &g, "Add", "first,c", "a", "one");
  m_add_node(ctx, &g, "Identity", "a", "b", "two");
  m_add_node(ctx, &g, "Identity", "b", "c", "three");
  CHECK_READ(ctx, g, TN_INVALID, "the nodes form a cycle: ");
  CHECK_HAS(last_text(ctx), "which needs Identity 'two' #2");
  m_add_node(ctx, &self, "Identity", "y", "y", "me");
  CHECK_READ(ctx, self, TN_INVALID,
             "node 'me' (Identity): the nodes form a cycle: Identity 'me' #0, which needs the first");
}

ONNX_TEST(out_of_order_is_sorted) {
  msg g = m_new(ctx);
  m_input(ctx, &g, "x", TN_F32, "N");
  m_add_node(ctx, &g, "Identity", "b", "c", "3");
  m_add_node(ctx, &g, "Identity", "x", "a", "1");
  m_add_node(ctx, &g, "Identity", "a", "b", "2");
  m_output(ctx, &g, "c", TN_F32, NULL);
  tn_graph *graph;
  if (!CHECK(m_import_graph(ctx, &g, &graph) == TN_OK)) return;
  CHECK_HAS(last_text(ctx), "they were sorted");
  CHECK_STR(graph->main->first->loc.name, "1");
  CHECK_STR(graph->main->first->next->loc.name, "2");
  CHECK_STR(graph->main->last->loc.name, "3");
}

/* A branch uses what a later node of the outer graph makes, and that node needs the If. */
ONNX_TEST(use_before_definition_across_regions) {
  msg g = m_new(ctx), branch = m_new(ctx), node = m_node(ctx, "If", "cond", "r", "choose");
  m_add_node(ctx, &branch, "Identity", "late", "out", "inner");
  m_output(ctx, &branch, "out", TN_F32, NULL);
  m_attr_msg(ctx, &node, "then_branch", TN_ONNX_ATTR_GRAPH, TN_F_attribute_g, &branch);
  m_attr_msg(ctx, &node, "else_branch", TN_ONNX_ATTR_GRAPH, TN_F_attribute_g, &branch);
  m_msg(&g, TN_F_graph_node, &node);
  m_add_node(ctx, &g, "Identity", "r", "late", "after");
  CHECK_READ(ctx, g, TN_INVALID, "the nodes form a cycle: If 'choose' #0, which needs Identity 'after' #1");
}

ONNX_TEST(nested_too_deeply) {
  msg g = m_new(ctx);
  for (int i = 0; i < TN_ONNX_MAX_DEPTH + 1; i++) {
    msg outer = m_new(ctx), node = m_node(ctx, "If", "c", "", "n");
    m_attr_msg(ctx, &node, "then_branch", TN_ONNX_ATTR_GRAPH, TN_F_attribute_g, &g);
    m_msg(&outer, TN_F_graph_node, &node);
    g = outer;
  }
  CHECK_READ(ctx, g, TN_LIMIT, "graphs are nested more than 64 deep");
}

ONNX_TEST(damaged_inside) {
  msg g = m_new(ctx);
  tn_wire_add_len_field(&g, TN_F_graph_node, "\xff\xff", 2);
  CHECK_READ(ctx, g, TN_INVALID, "node #0: damaged: this is not a NodeProto");
  msg h = m_new(ctx);
  m_int(&h, TN_F_graph_node, 1);
  CHECK_READ(ctx, h, TN_INVALID, "field 'node' of GraphProto has wire type 0");
  msg n = m_new(ctx), node = m_new(ctx);
  m_str(&node, TN_F_node_name, "x");
  m_msg(&n, TN_F_graph_node, &node);
  CHECK_READ(ctx, n, TN_INVALID, "node 'x' (): the node has no operator type");
  msg z = m_new(ctx), zero = m_new(ctx);
  m_str(&zero, TN_F_node_op_type, "Identity");
  tn_wire_add_len_field(&zero, TN_F_node_input, "a\0b", 3);
  m_msg(&z, TN_F_graph_node, &zero);
  CHECK_READ(ctx, z, TN_INVALID, "name 'a' holds a zero byte");
}

ONNX_TEST(attributes_given_twice) {
  msg g = m_new(ctx), node = m_node(ctx, "Softmax", "x", "y", "s");
  m_attr(ctx, &node, "axis", TN_ONNX_ATTR_INT, TN_F_attribute_i, 1);
  m_attr(ctx, &node, "axis", TN_ONNX_ATTR_INT, TN_F_attribute_i, 1);
  m_msg(&g, TN_F_graph_node, &node);
  CHECK_READ(ctx, g, TN_INVALID, "attribute 'axis' is given twice");
}

ONNX_TEST(info) {
  msg g = small_graph(ctx), inner = m_new(ctx), node = m_node(ctx, "If", "c", "z", "i");
  msg w = m_tensor(ctx, "w", TN_F16, 2, (const int64_t[]){4, 5}), entry = m_new(ctx);
  m_msg(&g, TN_F_graph_initializer, &w);
  m_add_node(ctx, &inner, "Identity", "x", "o", "in");
  m_attr_msg(ctx, &node, "then_branch", TN_ONNX_ATTR_GRAPH, TN_F_attribute_g, &inner);
  m_str(&node, TN_F_node_domain, "my.domain");
  m_msg(&g, TN_F_graph_node, &node);
  msg model = m_model(ctx, &g);
  m_str(&entry, TN_F_entry_key, "author");
  m_str(&entry, TN_F_entry_value, "nobody");
  m_msg(&model, TN_F_model_metadata_props, &entry);
  m_str(&model, TN_F_model_producer_name, "maker");
  tn_onnx_model *m;
  if (!CHECK(tn_onnx_read(ctx, tn_wire_out_bytes(&model), NULL, &m) == TN_OK)) return;
  const tn_onnx_info info = tn_onnx_get_info(m);
  CHECK_EQ_I(info.ir_version, 8);
  CHECK_STR(info.producer, "maker");
  CHECK_STR(info.graph_name, "g");
  CHECK(info.n_opsets == 1 && info.opsets[0].version == 18);
  CHECK_EQ_I(info.n_nodes, 2);
  CHECK_EQ_I(info.n_nodes_total, 3);
  CHECK_EQ_I(info.n_initializers, 1);
  CHECK_EQ_I(info.weight_bytes, 40);
  if (!CHECK_EQ_I(info.n_operators, 2)) return;
  CHECK_STR(info.operators[0], "Identity");
  CHECK_EQ_I(info.operator_counts[0], 2);
  CHECK_STR(info.operators[1], "my.domain.If");
  CHECK(info.n_metadata == 1);
  CHECK_STR(info.metadata_keys[0], "author");
  CHECK_STR(info.metadata_values[0], "nobody");
}
