#include "ir/verify.h"
#include "onnx_test.h"

static msg fn_new(tn_ctx *ctx, const char *name, const char *in, const char *out) {
  msg f = m_new(ctx);
  m_str(&f, TN_F_function_name, name);
  m_str(&f, TN_F_function_domain, "my");
  m_list(&f, TN_F_function_input, in);
  m_list(&f, TN_F_function_output, out);
  m_opset(ctx, &f, TN_F_function_opset_import, "", 18);
  m_opset(ctx, &f, TN_F_function_opset_import, "my", 1);
  return f;
}

static msg fn_call(tn_ctx *ctx, const char *name, const char *in, const char *out, const char *node) {
  msg n = m_node(ctx, name, in, out, node);
  m_str(&n, TN_F_node_domain, "my");
  return n;
}

static void fn_add_call(tn_ctx *ctx, msg *f, const char *name, const char *in, const char *out, const char *node) {
  const msg n = fn_call(ctx, name, in, out, node);
  m_msg(f, TN_F_function_node, &n);
}

static void fn_add_node(tn_ctx *ctx, msg *f, const char *op, const char *in, const char *out, const char *node) {
  const msg n = m_node(ctx, op, in, out, node);
  m_msg(f, TN_F_function_node, &n);
}

/* x -> name(x) -> y with the functions given. */
static msg fn_model(tn_ctx *ctx, const msg *call, const msg *functions, int n) {
  msg g = m_new(ctx);
  m_input(ctx, &g, "x", TN_F32, "N");
  m_msg(&g, TN_F_graph_node, call);
  m_output(ctx, &g, "y", TN_F32, NULL);
  msg m = m_model(ctx, &g);
  m_opset(ctx, &m, TN_F_model_opset_import, "my", 1);
  for (int i = 0; i < n; i++) m_msg(&m, TN_F_model_functions, &functions[i]);
  return m;
}

static tn_status fn_import(tn_ctx *ctx, const msg *model, tn_graph **g) {
  tn_onnx_model *m;
  return m_import(ctx, model, &m, g);
}

ONNX_TEST(expanded) {
  msg f = fn_new(ctx, "Twice", "a", "b");
  fn_add_node(ctx, &f, "Add", "a,a", "t", "add");
  fn_add_node(ctx, &f, "Identity", "t", "b", "");
  msg g = m_new(ctx);
  m_input(ctx, &g, "x", TN_F32, "N");
  const msg one = fn_call(ctx, "Twice", "x", "t", "one"), two = fn_call(ctx, "Twice", "t", "y", "two");
  m_msg(&g, TN_F_graph_node, &one); /* the outer t is not the inner t */
  m_msg(&g, TN_F_graph_node, &two);
  m_output(ctx, &g, "y", TN_F32, NULL);
  msg model = m_model(ctx, &g);
  m_opset(ctx, &model, TN_F_model_opset_import, "my", 1);
  m_msg(&model, TN_F_model_functions, &f);
  tn_graph *graph;
  if (!CHECK(fn_import(ctx, &model, &graph) == TN_OK)) return;
  CHECK_EQ_I(graph->main->n_nodes, 4);
  const tn_node *n = graph->main->first;
  CHECK_STR(n->loc.name, "one/add");
  CHECK_STR(n->out[0]->name, "one/t");
  CHECK_STR(n->next->loc.name, "one/#1");
  CHECK_STR(n->next->out[0]->name, "t");
  CHECK_STR(n->next->next->out[0]->name, "two/t");
  CHECK(n->next->next->in[0] == n->next->out[0]);
  CHECK(graph->main->results[0] == graph->main->last->out[0]);
  CHECK_STR(graph->main->results[0]->name, "y");
  CHECK_EQ_I(tn_verify(graph, TN_HAS_GRAPH), TN_OK);
}

static msg fn_with_ref(tn_ctx *ctx) { /* y = Constant(value_int = @k), k defaults to 7 */
  msg f = fn_new(ctx, "K", "", "b"), node = m_node(ctx, "Constant", "", "b", "c"), ref = m_new(ctx), k = m_new(ctx);
  m_str(&ref, TN_F_attribute_name, "value_int");
  m_int(&ref, TN_F_attribute_type, TN_ONNX_ATTR_INT);
  m_str(&ref, TN_F_attribute_ref_attr_name, "k");
  m_msg(&node, TN_F_node_attribute, &ref);
  m_msg(&f, TN_F_function_node, &node);
  m_str(&k, TN_F_attribute_name, "k");
  m_int(&k, TN_F_attribute_type, TN_ONNX_ATTR_INT);
  m_int(&k, TN_F_attribute_i, 7);
  m_msg(&f, TN_F_function_attribute_proto, &k);
  return f;
}

ONNX_TEST(attributes_by_reference) {
  const msg f = fn_with_ref(ctx);
  msg given = fn_call(ctx, "K", "", "y", "call"), wrong = fn_call(ctx, "K", "", "y", "call"), s = m_new(ctx);
  const msg absent = given;
  m_attr(ctx, &given, "k", TN_ONNX_ATTR_INT, TN_F_attribute_i, 3);
  tn_graph *graph;
  msg model = fn_model(ctx, &given, &f, 1);
  if (!CHECK(fn_import(ctx, &model, &graph) == TN_OK)) return;
  CHECK_EQ_I(tn_lit_i64_at(graph->main->last->attrs[0].tensor, 0), 3);
  model = fn_model(ctx, &absent, &f, 1);
  if (!CHECK(fn_import(ctx, &model, &graph) == TN_OK)) return;
  CHECK_EQ_I(tn_lit_i64_at(graph->main->last->attrs[0].tensor, 0), 7);
  m_str(&s, TN_F_attribute_name, "k");
  m_int(&s, TN_F_attribute_type, TN_ONNX_ATTR_STRING);
  m_str(&s, TN_F_attribute_s, "x");
  m_msg(&wrong, TN_F_node_attribute, &s);
  model = fn_model(ctx, &wrong, &f, 1);
  CHECK_EQ_I(fn_import(ctx, &model, &graph), TN_INVALID);
  CHECK_HAS(last_text(ctx), "attribute 'value_int' is ");
}

ONNX_TEST(reference_outside_a_function) {
  msg g = m_new(ctx), node = m_node(ctx, "Constant", "", "y", "c"), ref = m_new(ctx);
  m_str(&ref, TN_F_attribute_name, "value_int");
  m_str(&ref, TN_F_attribute_ref_attr_name, "k");
  m_msg(&node, TN_F_node_attribute, &ref);
  m_msg(&g, TN_F_graph_node, &node);
  CHECK_REFUSED(ctx, &g, TN_INVALID, "refers to a function's 'k', but is in no function");
}

ONNX_TEST(recursion_is_refused) {
  msg f[2] = {fn_new(ctx, "F", "a", "b"), fn_new(ctx, "G", "a", "b")};
  fn_add_call(ctx, &f[0], "G", "a", "b", "to_g");
  fn_add_call(ctx, &f[1], "F", "a", "b", "to_f");
  const msg call = fn_call(ctx, "F", "x", "y", "start"), model = fn_model(ctx, &call, f, 2);
  tn_graph *graph;
  CHECK_EQ_I(fn_import(ctx, &model, &graph), TN_INVALID);
  CHECK_HAS(last_text(ctx), "node 'start/to_g/to_f' (F): function 'F' calls itself");
  CHECK_HAS(last_text(ctx), "while expanding function 'F' for node 'start'");
}

ONNX_TEST(recursion_through_an_if_body) {
  msg f = fn_new(ctx, "F", "a", "b"), branch = m_new(ctx), choose = m_node(ctx, "If", "a", "b", "choose");
  const msg inner = fn_call(ctx, "F", "a", "o", "again");
  m_msg(&branch, TN_F_graph_node, &inner);
  m_output(ctx, &branch, "o", TN_F32, NULL);
  m_attr_msg(ctx, &choose, "then_branch", TN_ONNX_ATTR_GRAPH, TN_F_attribute_g, &branch);
  m_attr_msg(ctx, &choose, "else_branch", TN_ONNX_ATTR_GRAPH, TN_F_attribute_g, &branch);
  m_msg(&f, TN_F_function_node, &choose);
  const msg call = fn_call(ctx, "F", "x", "y", "start"), model = fn_model(ctx, &call, &f, 1);
  tn_graph *graph;
  CHECK_EQ_I(fn_import(ctx, &model, &graph), TN_INVALID);
  CHECK_HAS(last_text(ctx), "function 'F' calls itself");
}

ONNX_TEST(overloads_and_absent_inputs) {
  msg f[2] = {fn_new(ctx, "F", "a,b", "o"), fn_new(ctx, "F", "a,b", "o")};
  fn_add_node(ctx, &f[0], "Identity", "a", "o", "first");
  fn_add_node(ctx, &f[1], "Add", "a,a", "o", "second");
  m_str(&f[1], TN_F_function_overload, "v2");
  msg call = fn_call(ctx, "F", "x", "y", "c");
  m_str(&call, TN_F_node_overload, "v2");
  const msg model = fn_model(ctx, &call, f, 2);
  tn_graph *graph;
  if (!CHECK(fn_import(ctx, &model, &graph) == TN_OK)) return;
  CHECK_STR(graph->main->last->op->name, "add");
  const msg same[2] = {f[0], f[0]}, twice = fn_model(ctx, &call, same, 2);
  CHECK_EQ_I(fn_import(ctx, &twice, &graph), TN_INVALID);
  CHECK_HAS(last_text(ctx), "function 'F': it is defined twice");
}

ONNX_TEST(calls_that_do_not_fit) {
  msg f = fn_new(ctx, "F", "a", "o"), lost = fn_new(ctx, "F", "a", "nobody");
  fn_add_node(ctx, &f, "Identity", "a", "o", "n");
  fn_add_node(ctx, &lost, "Identity", "a", "o", "n");
  msg in = fn_call(ctx, "F", "x,x", "y", "c"), out = fn_call(ctx, "F", "x", "y,z", "c"),
      ok = fn_call(ctx, "F", "x", "y", "c");
  tn_graph *graph;
  msg model = fn_model(ctx, &in, &f, 1);
  CHECK_EQ_I(fn_import(ctx, &model, &graph), TN_INVALID);
  CHECK_HAS(last_text(ctx), "2 inputs are more than the function takes, which is 1");
  model = fn_model(ctx, &out, &f, 1);
  CHECK_EQ_I(fn_import(ctx, &model, &graph), TN_INVALID);
  CHECK_HAS(last_text(ctx), "2 outputs are more than the function has, which is 1");
  model = fn_model(ctx, &ok, &lost, 1);
  CHECK_EQ_I(fn_import(ctx, &model, &graph), TN_INVALID);
  CHECK_HAS(last_text(ctx), "function 'F' does not define its output 'nobody'");
}

/* f0 calls f1 twice, f1 calls f2 twice, ...: 2^30 nodes from a kilobyte. */
ONNX_TEST(explosive_functions_are_refused) {
  enum { N = 30 };
  msg f[N];
  for (int i = 0; i < N; i++) {
    char name[16], next[16];
    snprintf(name, sizeof name, "f%d", i);
    snprintf(next, sizeof next, "f%d", i + 1);
    f[i] = fn_new(ctx, name, "a", "b");
    if (i < N - 1) {
      fn_add_call(ctx, &f[i], next, "a", "t", "one");
      fn_add_call(ctx, &f[i], next, "t", "b", "two");
    } else {
      fn_add_node(ctx, &f[i], "Identity", "a", "b", "id");
    }
  }
  const msg call = fn_call(ctx, "f0", "x", "y", "c"), model = fn_model(ctx, &call, f, N);
  tn_graph *graph;
  CHECK_EQ_I(fn_import(ctx, &model, &graph), TN_LIMIT);
  CHECK_HAS(last_text(ctx), "functions expand to more than");
}
