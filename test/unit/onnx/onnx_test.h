/* What the tests of onnx share: a context for each test, and models built message by message. */
#ifndef TN_ONNX_TEST_H
#define TN_ONNX_TEST_H

#include <stdlib.h>

#include "onnx/importer.h"
#include "test.h"

typedef tn_wire_out msg;

TEST_UNUSED static tn_status onnx_run(tn_ctx *ctx, void *arg) {
  void (**fn)(tn_ctx *) = arg;
  (*fn)(ctx);
  return TN_OK;
}

/* A test that gets a context: its arena is live, memory must not end. */
#define ONNX_TEST(name)                                                          \
  static void onnx_##name(tn_ctx *ctx);                                          \
  TEST(name) {                                                                   \
    tn_ctx ctx;                                                                  \
    tn_error err = {0};                                                          \
    void (*fn)(tn_ctx *) = onnx_##name;                                          \
    if (!CHECK(tn_ctx_init(&ctx, tn_allocator_system(), &err) == TN_OK)) return; \
    CHECK_EQ_I(tn_ctx_run(&ctx, onnx_run, &fn), TN_OK);                          \
    tn_ctx_drop(&ctx);                                                           \
  }                                                                              \
  static void onnx_##name(tn_ctx *ctx)

static inline msg m_new(tn_ctx *ctx) { return (msg){.arena = &ctx->arena}; }
static inline void m_str(msg *m, uint32_t number, const char *z) { tn_wire_add_len_field(m, number, z, strlen(z)); }
static inline void m_int(msg *m, uint32_t number, int64_t v) { tn_wire_add_int_field(m, number, (uint64_t)v); }
static inline void m_msg(msg *m, uint32_t number, const msg *inner) {
  tn_wire_add_len_field(m, number, inner->bytes.at, inner->bytes.n);
}

/* Calls add for every name of a comma-separated list; "" between commas is an absent one, "" alone none at all. */
TEST_UNUSED static void m_list(msg *m, uint32_t number, const char *list) {
  if (!list[0]) return;
  for (const char *p = list;; p++) {
    const size_t n = strcspn(p, ",");
    tn_wire_add_len_field(m, number, p, n);
    p += n;
    if (!*p) return;
  }
}

/* dims: "N,3,?" with "?" for nothing known; NULL: no shape. */
TEST_UNUSED static msg m_shape(tn_ctx *ctx, const char *dims) {
  msg shape = m_new(ctx);
  for (const char *p = dims; *p;) {
    const size_t n = strcspn(p, ",");
    msg dim = m_new(ctx);
    char text[100] = {0};
    memcpy(text, p, n < 99 ? n : 99);
    if ((text[0] >= '0' && text[0] <= '9' && strspn(text, "0123456789") == n) || text[0] == '-')
      m_int(&dim, TN_F_dim_dim_value, strtoll(text, NULL, 10));
    else if (text[0] != '?')
      m_str(&dim, TN_F_dim_dim_param, text);
    m_msg(&shape, TN_F_shape_dim, &dim);
    p += n + (p[n] == ',');
  }
  return shape;
}

TEST_UNUSED static msg m_type(tn_ctx *ctx, int dtype, const char *dims) {
  msg tensor = m_new(ctx), type = m_new(ctx);
  m_int(&tensor, TN_F_tensor_type_elem_type, dtype);
  if (dims) {
    msg shape = m_shape(ctx, dims);
    m_msg(&tensor, TN_F_tensor_type_shape, &shape);
  }
  m_msg(&type, TN_F_type_tensor_type, &tensor);
  return type;
}

/* An input, output or value_info of graph g by field number. */
TEST_UNUSED static void m_port(tn_ctx *ctx, msg *g, uint32_t number, const char *name, int dtype, const char *dims) {
  msg info = m_new(ctx);
  m_str(&info, TN_F_value_info_name, name);
  if (dtype) {
    msg type = m_type(ctx, dtype, dims);
    m_msg(&info, TN_F_value_info_type, &type);
  }
  m_msg(g, number, &info);
}
#define m_input(ctx, g, name, dtype, dims) m_port(ctx, g, TN_F_graph_input, name, dtype, dims)
#define m_output(ctx, g, name, dtype, dims) m_port(ctx, g, TN_F_graph_output, name, dtype, dims)
#define m_info(ctx, g, name, dtype, dims) m_port(ctx, g, TN_F_graph_value_info, name, dtype, dims)

TEST_UNUSED static msg m_node(tn_ctx *ctx, const char *op, const char *in, const char *out, const char *name) {
  msg n = m_new(ctx);
  m_list(&n, TN_F_node_input, in);
  m_list(&n, TN_F_node_output, out);
  m_str(&n, TN_F_node_name, name);
  m_str(&n, TN_F_node_op_type, op);
  return n;
}
TEST_UNUSED static void m_add_node(tn_ctx *ctx, msg *g, const char *op, const char *in, const char *out,
                                   const char *name) {
  msg n = m_node(ctx, op, in, out, name);
  m_msg(g, TN_F_graph_node, &n);
}

TEST_UNUSED static void m_attr(tn_ctx *ctx, msg *node, const char *name, int type, uint32_t field, int64_t i) {
  msg a = m_new(ctx);
  m_str(&a, TN_F_attribute_name, name);
  m_int(&a, TN_F_attribute_type, type);
  m_int(&a, field, i);
  m_msg(node, TN_F_node_attribute, &a);
}
TEST_UNUSED static void m_attr_msg(tn_ctx *ctx, msg *node, const char *name, int type, uint32_t field,
                                   const msg *value) {
  msg a = m_new(ctx);
  m_str(&a, TN_F_attribute_name, name);
  m_int(&a, TN_F_attribute_type, type);
  m_msg(&a, field, value);
  m_msg(node, TN_F_node_attribute, &a);
}

/* A TensorProto without data. */
TEST_UNUSED static msg m_tensor(tn_ctx *ctx, const char *name, int dtype, int rank, const int64_t *dims) {
  msg t = m_new(ctx);
  for (int i = 0; i < rank; i++) m_int(&t, TN_F_tensor_dims, dims[i]);
  m_int(&t, TN_F_tensor_data_type, dtype);
  m_str(&t, TN_F_tensor_name, name);
  return t;
}
TEST_UNUSED static void m_raw(msg *tensor, const void *p, size_t n) {
  tn_wire_add_len_field(tensor, TN_F_tensor_raw_data, p, n);
}

TEST_UNUSED static void m_opset(tn_ctx *ctx, msg *model, uint32_t number, const char *domain, int64_t version) {
  msg o = m_new(ctx);
  m_str(&o, TN_F_opset_domain, domain);
  m_int(&o, TN_F_opset_version, version);
  m_msg(model, number, &o);
}

TEST_UNUSED static msg m_model(tn_ctx *ctx, const msg *graph) {
  msg m = m_new(ctx);
  m_int(&m, TN_F_model_ir_version, 8);
  m_opset(ctx, &m, TN_F_model_opset_import, "", 18);
  m_msg(&m, TN_F_model_graph, graph);
  return m;
}

TEST_UNUSED static tn_status m_import(tn_ctx *ctx, const msg *model, tn_onnx_model **m, tn_graph **g) {
  const tn_status s = tn_onnx_read(ctx, tn_wire_out_bytes(model), NULL, m);
  return s == TN_OK ? tn_onnx_import(*m, g) : s;
}
TEST_UNUSED static tn_status m_import_graph(tn_ctx *ctx, const msg *graph, tn_graph **g) {
  tn_onnx_model *m;
  const msg model = m_model(ctx, graph);
  return m_import(ctx, &model, &m, g);
}

TEST_UNUSED static const char *last_text(const tn_ctx *ctx) { /* of the newest diagnostic */
  return ctx->diags.n ? ctx->diags.at[ctx->diags.n - 1].full : "";
}

/* The graph is refused with this status and a message that holds `text`. */
#define CHECK_REFUSED(ctx, graph, status, text)                    \
  do {                                                             \
    tn_graph *refused_;                                            \
    CHECK_EQ_I(m_import_graph((ctx), (graph), &refused_), status); \
    CHECK_HAS(last_text(ctx), text);                               \
  } while (0)

#endif
