#include "ir/verify.h"
#include "onnx_test.h"

static const char *type_text(tn_graph *g, const char *name) {
  const tn_value *v = tn_graph_find_value(g, name);
  tn_text t;
  tn_text_init(&t, &g->ctx->arena);
  if (v) tn_type_print(g->syms, &t, &v->type);
  return tn_text_z(&t);
}

ONNX_TEST(inputs_have_types) {
  msg g = m_new(ctx), seq_type = m_new(ctx), seq = m_new(ctx), elem = m_type(ctx, TN_I64, "N"), info = m_new(ctx);
  m_input(ctx, &g, "a", TN_F32, "N,past + seq,3");
  m_input(ctx, &g, "b", TN_I64, "past,seq");
  m_input(ctx, &g, "c", TN_BOOL, "");
  m_input(ctx, &g, "d", TN_F16, NULL);
  m_input(ctx, &g, "e", TN_F32, "(seq-1)//8 + 1,16*H,batch-size,unk:0,?");
  m_msg(&seq, TN_F_holder_type_elem_type, &elem);
  m_msg(&seq_type, TN_F_type_sequence_type, &seq);
  m_str(&info, TN_F_value_info_name, "f");
  m_msg(&info, TN_F_value_info_type, &seq_type);
  m_msg(&g, TN_F_graph_input, &info);
  tn_graph *graph;
  if (!CHECK(m_import_graph(ctx, &g, &graph) == TN_OK)) return;
  CHECK_EQ_I(graph->main->n_params, 6);
  CHECK_STR(type_text(graph, "b"), "i64[past,seq]");
  CHECK_STR(type_text(graph, "c"), "bool[]");
  CHECK_STR(type_text(graph, "d"), "f16[*]");
  CHECK_STR(type_text(graph, "f"), "seq(i64[N])");
  tn_symtab *s = graph->syms;
  const tn_type *a = &tn_graph_find_value(graph, "a")->type, *e = &tn_graph_find_value(graph, "e")->type;
  const tn_sym past = tn_sym_add_symbol(s, "past")->var, seq_len = tn_sym_add_symbol(s, "seq")->var;
  CHECK(a->dims[1] == tn_sym_add(s, past, seq_len));
  CHECK(tn_sym_is(a->dims[2], 3));
  CHECK(e->dims[0] == tn_sym_addi(s, tn_sym_floordiv(s, tn_sym_addi(s, seq_len, -1), tn_sym_int(s, 8)), 1));
  CHECK(e->dims[1] == tn_sym_muli(s, tn_sym_add_symbol(s, "H")->var, 16));
  CHECK(e->dims[2] == tn_sym_add_symbol(s, "batch-size")->var); /* a name, not a difference */
  CHECK(e->dims[3] == tn_sym_add_symbol(s, "unk:0")->var);
  CHECK(e->dims[4] == NULL);
}

ONNX_TEST(negative_dims_are_unknown) {
  msg g = m_new(ctx);
  m_input(ctx, &g, "a", TN_F32, "-1,4");
  tn_graph *graph;
  if (!CHECK(m_import_graph(ctx, &g, &graph) == TN_OK)) return;
  CHECK_HAS(last_text(ctx), "input 'a': dim 0 is negative (-1): taken as unknown");
  CHECK(graph->main->params[0]->type.dims[0] == NULL);
}

ONNX_TEST(inputs_without_a_type) {
  msg g = m_new(ctx), t = m_new(ctx), type = m_new(ctx), info = m_new(ctx), r = m_new(ctx);
  m_input(ctx, &g, "a", 0, NULL);
  CHECK_REFUSED(ctx, &g, TN_INVALID, "input 'a': the model does not say its type");
  m_str(&info, TN_F_value_info_name, "o");
  tn_wire_add_len_field(&type, TN_F_type_opaque_type, "", 0);
  m_msg(&info, TN_F_value_info_type, &type);
  m_msg(&t, TN_F_graph_input, &info);
  CHECK_REFUSED(ctx, &t, TN_UNSUPPORTED, "input 'o': opaque types are not supported");
  m_input(ctx, &r, "r", TN_F32, "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
  CHECK_REFUSED(ctx, &r, TN_LIMIT, "input 'r': rank 17 is beyond");
}

ONNX_TEST(maps_have_keys_and_values) {
  msg g = m_new(ctx), type = m_new(ctx), info = m_new(ctx), map = m_new(ctx), value = m_new(ctx), number = m_new(ctx);
  tn_graph *graph;
  m_int(&number, TN_F_tensor_type_elem_type, TN_F32);
  m_msg(&value, TN_F_type_tensor_type, &number);
  m_int(&map, TN_F_map_type_key_type, TN_STR);
  m_msg(&map, TN_F_map_type_value_type, &value);
  m_msg(&type, TN_F_type_map_type, &map);
  m_str(&info, TN_F_value_info_name, "m");
  m_msg(&info, TN_F_value_info_type, &type);
  m_msg(&g, TN_F_graph_input, &info);
  m_add_node(ctx, &g, "Identity", "m", "y", "n");
  if (!CHECK(m_import_graph(ctx, &g, &graph) == TN_OK)) return;
  const tn_type *const m = &graph->main->params[0]->type;
  CHECK(m->kind == TN_TYPE_MAP && m->dtype == TN_STR && m->elem->dtype == TN_F32 && m->elem->rank == 0);
}

static msg f32_init(tn_ctx *ctx, const char *name, int64_t n) {
  static const float zeros[16] = {0};
  msg t = m_tensor(ctx, name, TN_F32, 1, &n);
  m_raw(&t, zeros, (size_t)n * 4);
  return t;
}

ONNX_TEST(nodes_and_initializers) {
  msg g = m_new(ctx), w = f32_init(ctx, "w", 3);
  m_input(ctx, &g, "x", TN_F32, "N,3");
  m_input(ctx, &g, "w", TN_F32, "3");
  m_msg(&g, TN_F_graph_initializer, &w);
  m_add_node(ctx, &g, "Add", "x,w", "s", "sum");
  m_add_node(ctx, &g, "Identity", "s", "y", "id");
  m_output(ctx, &g, "y", TN_F32, "N,3");
  m_output(ctx, &g, "s", TN_F32, NULL);
  tn_graph *graph;
  if (!CHECK(m_import_graph(ctx, &g, &graph) == TN_OK)) return;
  CHECK_EQ_I(ctx->n_diags, 0);
  CHECK_EQ_I(graph->main->n_params, 1); /* an input that is an initializer is a constant */
  CHECK_EQ_I(graph->main->n_results, 2);
  CHECK(graph->main->results[0] == tn_graph_find_value(graph, "y"));
  CHECK_STR(graph->main->result_names[1], "s");
  const tn_value *s = tn_graph_find_value(graph, "s");
  CHECK_STR(s->def->op->name, "add");
  CHECK_STR(s->def->loc.name, "sum");
  CHECK_STR(s->def->in[1]->def->op->name, "const");
  CHECK_STR(type_text(graph, "w"), "f32[3]");
  CHECK_EQ_I(tn_verify(graph, TN_HAS_GRAPH), TN_OK);
}

ONNX_TEST(initializer_with_a_stale_input) {
  msg g = m_new(ctx), w = f32_init(ctx, "w", 3);
  m_input(ctx, &g, "w", TN_F32, "7");
  m_msg(&g, TN_F_graph_initializer, &w);
  m_output(ctx, &g, "w", TN_F32, NULL);
  tn_graph *graph;
  if (!CHECK(m_import_graph(ctx, &g, &graph) == TN_OK)) return;
  CHECK_HAS(last_text(ctx), "initializer 'w': it is also an input with another shape");
  CHECK_STR(type_text(graph, "w"), "f32[3]");
}

ONNX_TEST(initializer_shorter_than_its_shape) {
  msg g = m_new(ctx), t = m_tensor(ctx, "w", TN_F32, 2, (const int64_t[]){2, 3});
  m_raw(&t, "0123456789ab", 12);
  m_msg(&g, TN_F_graph_initializer, &t);
  CHECK_REFUSED(ctx, &g, TN_INVALID, "initializer 'w': data is shorter than the shape: it has 12 bytes");
}

ONNX_TEST(undefined_values) {
  msg g = m_new(ctx), o = m_new(ctx);
  m_add_node(ctx, &g, "Identity", "ghost", "y", "n");
  CHECK_REFUSED(ctx, &g, TN_INVALID, "node 'n' (Identity): input 0, 'ghost', is not defined by any input");
  m_output(ctx, &o, "ghost", TN_F32, NULL);
  CHECK_REFUSED(ctx, &o, TN_INVALID, "output 'ghost': it is not defined");
}

/* Every operator nobody imports is named, in subgraphs and functions too, before anything else is said. */
ONNX_TEST(unsupported_operators_at_once) {
  msg g = m_new(ctx), node = m_node(ctx, "Foo", "x", "a", "n1");
  m_input(ctx, &g, "x", TN_F32, "1");
  m_str(&node, TN_F_node_domain, "my.domain");
  m_msg(&g, TN_F_graph_node, &node);
  m_add_node(ctx, &g, "Identity", "a", "b", "fine");
  m_add_node(ctx, &g, "NoSuchOp", "b", "c", "n2");
  tn_graph *graph;
  CHECK_EQ_I(m_import_graph(ctx, &g, &graph), TN_UNSUPPORTED);
  int n = 0;
  for (size_t i = 0; i < ctx->diags.n; i++) n += ctx->diags.at[i].severity == TN_ERROR;
  CHECK_EQ_I(n, 2);
  if (n < 2) return;
  CHECK_HAS(ctx->diags.at[ctx->diags.n - 2].full, "node 'n1' (Foo): domain 'my.domain' is not known");
  CHECK_HAS(last_text(ctx), "node 'n2' (NoSuchOp): operator is not supported (ai.onnx, opset 18)");
}

/* What is refused while building does not hide the next refusal; what depends on it is passed over. */
ONNX_TEST(refusals_while_building) {
  msg g = m_new(ctx), a = m_node(ctx, "Identity", "", "a", "n1"), b = m_node(ctx, "Identity", "", "b", "n3");
  m_attr(ctx, &a, "x", TN_ONNX_ATTR_GRAPHS, 99, 0);
  m_attr(ctx, &b, "x", TN_ONNX_ATTR_GRAPHS, 99, 0);
  m_msg(&g, TN_F_graph_node, &a);
  m_add_node(ctx, &g, "Add", "a,a", "c", "n2");
  m_msg(&g, TN_F_graph_node, &b);
  m_output(ctx, &g, "c", TN_F32, NULL);
  tn_graph *graph;
  CHECK_EQ_I(m_import_graph(ctx, &g, &graph), TN_UNSUPPORTED);
  if (!CHECK_EQ_I(ctx->n_diags, 2)) return;
  CHECK_HAS(ctx->diags.at[0].full, "node 'n1' (Identity): attribute 'x' is a list of graphs");
  CHECK_HAS(ctx->diags.at[1].full, "node 'n3' (Identity): attribute 'x' is a list of graphs");
}

ONNX_TEST(attribute_of_the_wrong_kind) {
  msg g = m_new(ctx), node = m_node(ctx, "Constant", "", "y", "c"), a = m_new(ctx);
  m_str(&a, TN_F_attribute_name, "value_int");
  m_int(&a, TN_F_attribute_type, TN_ONNX_ATTR_STRING);
  m_str(&a, TN_F_attribute_s, "no");
  m_msg(&node, TN_F_node_attribute, &a);
  m_msg(&g, TN_F_graph_node, &node);
  CHECK_REFUSED(ctx, &g, TN_INVALID, "node 'c' (Constant): attribute 'value_int' is ");
}

ONNX_TEST(attributes_of_every_kind) {
  msg g = m_new(ctx), model;
  msg ints = m_node(ctx, "Constant", "", "i", "c1"), floats = m_node(ctx, "Constant", "", "f", "c2");
  msg strs = m_node(ctx, "Constant", "", "s", "c3"), a = m_new(ctx), b = m_new(ctx), c = m_new(ctx);
  m_str(&a, TN_F_attribute_name, "value_ints"); /* no type: told by the field that is there */
  m_int(&a, TN_F_attribute_ints, 4);
  m_int(&a, TN_F_attribute_ints, -5);
  m_msg(&ints, TN_F_node_attribute, &a);
  m_str(&b, TN_F_attribute_name, "value_floats");
  m_int(&b, TN_F_attribute_type, TN_ONNX_ATTR_FLOATS);
  tn_wire_add_len_field(&b, TN_F_attribute_floats, (const float[]){0.25f, 8}, 8);
  m_msg(&floats, TN_F_node_attribute, &b);
  m_str(&c, TN_F_attribute_name, "value_strings");
  m_int(&c, TN_F_attribute_type, TN_ONNX_ATTR_STRINGS);
  m_str(&c, TN_F_attribute_strings, "hi");
  m_msg(&strs, TN_F_node_attribute, &c);
  m_msg(&g, TN_F_graph_node, &ints);
  m_msg(&g, TN_F_graph_node, &floats);
  m_msg(&g, TN_F_graph_node, &strs);
  model = m_model(ctx, &g);
  tn_onnx_model *m;
  tn_graph *graph;
  if (!CHECK(m_import(ctx, &model, &m, &graph) == TN_OK)) return;
  const tn_lit *i = tn_graph_find_value(graph, "i")->def->attrs[0].tensor;
  const tn_lit *f = tn_graph_find_value(graph, "f")->def->attrs[0].tensor;
  const tn_lit *s = tn_graph_find_value(graph, "s")->def->attrs[0].tensor;
  CHECK(i->count == 2 && tn_lit_i64_at(i, 1) == -5);
  CHECK(f->count == 2);
  CHECK_EQ_F(tn_lit_f64(f, 0), 0.25);
  CHECK(s->count == 1 && tn_str_is(((const tn_str *)s->data)[0], "hi"));
}

ONNX_TEST(nodes_that_do_not_fit_their_schema) {
  msg few = m_new(ctx), many = m_new(ctx);
  m_add_node(ctx, &few, "Add", "", "y", "n");
  CHECK_REFUSED(ctx, &few, TN_INVALID, "node 'n' (Add): 0 inputs are too few");
  m_input(ctx, &many, "x", TN_F32, "N");
  m_add_node(ctx, &many, "Add", "x,x,x", "y", "n");
  CHECK_REFUSED(ctx, &many, TN_INVALID, "node 'n' (Add): 3 inputs are more than add takes");
}

ONNX_TEST(missing_import_of_a_domain) {
  msg g = m_new(ctx), node = m_node(ctx, "NoSuchOp", "", "y", "n");
  m_str(&node, TN_F_node_domain, "com.microsoft");
  m_msg(&g, TN_F_graph_node, &node);
  tn_graph *graph;
  CHECK_EQ_I(m_import_graph(ctx, &g, &graph), TN_UNSUPPORTED);
  bool warned = false;
  for (size_t i = 0; i < ctx->diags.n; i++)
    warned |= strstr(ctx->diags.at[i].full, "imports no opset of domain 'com.microsoft'; version 1 is taken") != NULL;
  CHECK(warned);
}

/* The declared type of a result is kept where inference has nothing yet, without new symbols. */
ONNX_TEST(claims) {
  msg g = m_new(ctx);
  m_input(ctx, &g, "x", TN_F32, "N");
  m_add_node(ctx, &g, "Identity", "x", "m", "a");
  m_add_node(ctx, &g, "Identity", "m", "y", "b");
  m_info(ctx, &g, "m", TN_F32, "N+1,2");
  m_output(ctx, &g, "y", TN_F32, "N,unk__7");
  tn_graph *graph;
  if (!CHECK(m_import_graph(ctx, &g, &graph) == TN_OK)) return;
  const tn_type *m = &tn_graph_find_value(graph, "m")->type;
  if (!CHECK_EQ_I(m->rank, 2)) return;
  CHECK(m->dims[0] == tn_sym_addi(graph->syms, tn_sym_add_symbol(graph->syms, "N")->var, 1));
  CHECK(tn_sym_is(m->dims[1], 2));
  CHECK_STR(type_text(graph, "y"), "f32[*]"); /* a shape that is not wholly told */
  CHECK(tn_sym_find_symbol(graph->syms, "unk__7") == NULL);
}

static msg if_node(tn_ctx *ctx, const char *in, const char *out, const msg *then_branch, const msg *else_branch) {
  msg node = m_node(ctx, "If", in, out, "choose");
  m_attr_msg(ctx, &node, "then_branch", TN_ONNX_ATTR_GRAPH, TN_F_attribute_g, then_branch);
  m_attr_msg(ctx, &node, "else_branch", TN_ONNX_ATTR_GRAPH, TN_F_attribute_g, else_branch);
  return node;
}

ONNX_TEST(regions_see_outer_names) {
  msg g = m_new(ctx), a = m_new(ctx), b = m_new(ctx);
  m_input(ctx, &g, "c", TN_BOOL, "");
  m_input(ctx, &g, "x", TN_F32, "N");
  m_add_node(ctx, &a, "Add", "x,x", "o", "double");
  m_output(ctx, &a, "o", TN_F32, NULL);
  m_add_node(ctx, &b, "Identity", "x", "o", "same"); /* both branches call it o */
  m_output(ctx, &b, "o", TN_F32, NULL);
  const msg node = if_node(ctx, "c", "y", &a, &b);
  m_msg(&g, TN_F_graph_node, &node);
  m_output(ctx, &g, "y", TN_F32, NULL);
  tn_graph *graph;
  if (!CHECK(m_import_graph(ctx, &g, &graph) == TN_OK)) return;
  const tn_node *choose = graph->main->last;
  if (!CHECK_EQ_I(choose->n_regions, 2)) return;
  CHECK(choose->regions[0]->first->in[1] == graph->main->params[1]);
  CHECK(choose->regions[1]->n_results == 1);
  CHECK_EQ_I(tn_verify(graph, TN_HAS_GRAPH), TN_OK);
}

ONNX_TEST(inner_names_stay_inside) {
  msg g = m_new(ctx), a = m_new(ctx);
  m_input(ctx, &g, "c", TN_BOOL, "");
  m_add_node(ctx, &a, "Identity", "c", "o", "in");
  m_output(ctx, &a, "o", TN_BOOL, NULL);
  const msg node = if_node(ctx, "c", "y", &a, &a);
  m_msg(&g, TN_F_graph_node, &node);
  m_add_node(ctx, &g, "Identity", "o", "z", "outside");
  CHECK_REFUSED(ctx, &g, TN_INVALID, "node 'outside' (Identity): input 0, 'o', is not defined");
}

/* 30,000 nodes in a chain, written backwards: linear time, no deep recursion. */
ONNX_TEST(long_chain_backwards) {
  enum { N = 30000 };
  msg g = m_new(ctx);
  m_input(ctx, &g, "v0", TN_F32, "N");
  for (int i = N; i > 0; i--) {
    char in[20], out[20];
    snprintf(in, sizeof in, "v%d", i - 1);
    snprintf(out, sizeof out, "v%d", i);
    m_add_node(ctx, &g, "Identity", in, out, out);
  }
  m_output(ctx, &g, "v30000", TN_F32, NULL);
  tn_graph *graph;
  if (!CHECK(m_import_graph(ctx, &g, &graph) == TN_OK)) return;
  CHECK_EQ_I(graph->main->n_nodes, N);
  CHECK_STR(graph->main->first->loc.name, "v1");
}
