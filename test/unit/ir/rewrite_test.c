#include "ir/rewrite.h"
#include "ir_test.h"

IR_TEST(forward) {
  tn_graph *g = tn_graph_new(ctx);
  tn_value *x = tn_edit_add_param(g->main, "x", IR_TENSOR(g, TN_F32, "N"));
  tn_node *id = tn_edit_add_node(g->main, NULL, tn_op_find("identity"), &x, 1, 1, (tn_loc){0});
  CHECK_EQ_I(tn_infer_node(g, id), TN_OK);
  tn_edit_set_results(g->main, id->out, 1);
  tn_rewrite w = {.ctx = ctx, .graph = g, .node = id};
  CHECK_EQ_I(id->op->simplify(&w), TN_OK);
  CHECK(w.changed);
  CHECK(g->main->results[0] == x);
  tn_value *y = tn_edit_add_param(g->main, "y", IR_TENSOR(g, TN_F32, "M"));
  tn_edit_set_result(g->main, 0, id->out[0]);
  w.changed = false;
  CHECK(!tn_rewrite_forward(&w, 0, y)); /* N and M need not be equal */
  CHECK(!w.changed);
  CHECK(g->main->results[0] == id->out[0]);
}

IR_TEST(add) {
  tn_graph *g = tn_graph_new(ctx);
  tn_value *x = tn_edit_add_param(g->main, "x", IR_TENSOR(g, TN_F32, "N"));
  tn_node *s = ir_sum(g->main, x, NULL);
  tn_rewrite w = {.ctx = ctx, .graph = g, .node = s};
  tn_node *id = tn_rewrite_add(&w, "identity", &x, 1, 1);
  CHECK(id && g->main->first == id && id->next == s);
  CHECK_STR(ir_type_text(g, &id->out[0]->type), "f32[N]");
  const tn_rewrite_set set[1] = {
      {"value", {.kind = TN_ATTR_TENSOR, .tensor = tn_lit_scalar_f64(&ctx->arena, TN_F32, 1)}}};
  tn_node *c = tn_rewrite_add_with(&w, "const", NULL, 0, 1, set, 1);
  CHECK(c && c->out[0]->type.rank == 0);
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH), TN_OK);
}

IR_TEST(a_refused_node_leaves_nothing) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *s = ir_sum(g->main, tn_edit_add_param(g->main, "x", IR_TENSOR(g, TN_F32, "N")), NULL);
  tn_rewrite w = {.ctx = ctx, .graph = g, .node = s};
  const int64_t edits = g->edits;
  CHECK(!tn_rewrite_add(&w, "identity", NULL, 0, 1));
  CHECK(!tn_rewrite_add(&w, "no_such_operator", NULL, 0, 1));
  CHECK(!w.changed);
  CHECK_EQ_I(g->edits, edits);
  CHECK_EQ_I(ctx->diags.n, 0);
  CHECK(g->main->first == s && g->main->n_nodes == 1);
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH), TN_OK);
}
