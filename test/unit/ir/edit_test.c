#include "ir_test.h"

static tn_status count_node(void *arg, tn_node *node) {
  tn_text *t = arg;
  tn_text_printf(t, "%u ", node->id);
  return TN_OK;
}

static const char *order(tn_graph *g) {
  tn_text t;
  tn_text_init(&t, &g->ctx->arena);
  CHECK_EQ_I(tn_graph_walk(g, count_node, &t), TN_OK);
  return tn_text_z(&t);
}

IR_TEST(names) {
  tn_graph *g = tn_graph_new(ctx);
  const tn_type t = {0};
  tn_value *x = tn_edit_add_param(g->main, "x", t), *y = tn_edit_add_param(g->main, "x", t);
  tn_value *made = tn_edit_add_param(g->main, NULL, t);
  CHECK_STR(x->name, "x");
  CHECK_STR(y->name, "x_1");
  CHECK_STR(made->name, "v2");
  tn_value *real = tn_edit_add_param(g->main, "v2", t); /* the model's name wins over a made-up one */
  CHECK_STR(real->name, "v2");
  CHECK_STR(made->name, "v2_1");
  CHECK(tn_graph_find_value(g, "v2") == real);
  CHECK(tn_graph_find_value(g, "v2_1") == made);
  tn_edit_name_value(x, "z");
  CHECK(tn_graph_find_value(g, "z") == x);
  CHECK(!tn_graph_find_value(g, "x"));
  CHECK(!tn_graph_find_value(g, "nowhere"));
  tn_edit_name_value(y, "x");
  CHECK_STR(y->name, "x");
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH), TN_OK);
}

IR_TEST(uses) {
  tn_graph *g = tn_graph_new(ctx);
  const tn_type t = {0};
  tn_value *x = tn_edit_add_param(g->main, "x", t), *y = tn_edit_add_param(g->main, "y", t);
  tn_node *a = ir_sum(g->main, x, x), *b = ir_sum(g->main, a->out[0], NULL);
  tn_edit_set_results(g->main, (tn_value *[]){b->out[0], x}, 2);
  CHECK_EQ_I(x->n_uses, 3);
  CHECK_EQ_I(a->out[0]->n_uses, 1);
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH), TN_OK);
  tn_edit_replace_uses(x, y);
  CHECK_EQ_I(x->n_uses, 0);
  CHECK_EQ_I(y->n_uses, 3);
  CHECK(a->in[0] == y && a->in[1] == y && g->main->results[1] == y);
  CHECK_STR(g->main->result_names[1], "x"); /* the outside still calls it x */
  tn_edit_set_input(b, 1, x);
  CHECK_EQ_I(x->n_uses, 1);
  tn_edit_set_input(b, 1, NULL);
  CHECK_EQ_I(x->n_uses, 0);
  tn_edit_set_result(g->main, 0, a->out[0]);
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH), TN_OK);
  tn_edit_erase_node(b);
  CHECK_EQ_I(g->main->n_nodes, 1);
  CHECK(g->main->last == a);
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH), TN_OK);
}

IR_TEST(edits_are_counted) {
  tn_graph *g = tn_graph_new(ctx);
  tn_value *x = tn_edit_add_param(g->main, "x", (tn_type){0});
  tn_node *a = ir_sum(g->main, x, NULL);
  const int64_t before = g->edits;
  tn_edit_set_input(a, 0, x); /* changes nothing */
  tn_edit_set_type(x, (tn_type){0});
  tn_edit_replace_uses(x, x);
  CHECK_EQ_I(g->edits, before);
  tn_edit_set_type(x, tn_type_tensor(TN_F32, -1, NULL));
  CHECK_EQ_I(g->edits, before + 1);
}

IR_TEST(attributes_start_as_defaults) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *a = ir_sum(g->main, tn_edit_add_param(g->main, "x", (tn_type){0}), NULL);
  CHECK_EQ_I(a->attrs[0].i, -1);
  CHECK_EQ_F(a->attrs[1].f, 0.5);
  CHECK(tn_str_is(a->attrs[2].s, "x"));
  tn_edit_set_attr(a, "axis", (tn_attr){.kind = TN_ATTR_INT, .i = 4});
  CHECK_EQ_I(a->attrs[0].i, 4);
}

IR_TEST(order_and_regions) {
  tn_graph *g = tn_graph_new(ctx);
  tn_value *x = tn_edit_add_param(g->main, "x", (tn_type){0});
  tn_node *first = ir_sum(g->main, x, NULL);
  tn_node *block = tn_edit_add_node(g->main, NULL, &ir_op_block, &x, 1, 1, (tn_loc){0});
  tn_node *last = ir_sum(g->main, block->out[0], NULL);
  CHECK_EQ_I(block->n_regions, 2);
  CHECK_STR(block->regions[1]->name, "second");
  tn_node *inner = ir_sum(block->regions[1], first->out[0], NULL);
  tn_edit_set_results(block->regions[1], inner->out, 1);
  tn_edit_set_results(block->regions[0], &x, 1);
  CHECK_STR(order(g), "0 1 3 2 ");
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH), TN_OK);
  tn_edit_move_before(last, NULL == block ? NULL : first);
  CHECK_STR(order(g), "2 0 1 3 ");
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH), TN_INTERNAL); /* last now stands before its operand */
  CHECK_HAS(ir_last(ctx), "is used before it is defined");
  tn_edit_erase_node(last);
  tn_edit_erase_node(block);
  CHECK_EQ_I(first->out[0]->n_uses, 0); /* the inner use went too */
  CHECK_EQ_I(x->n_uses, 1);
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH), TN_OK);
}

IR_TEST(constants_stand_first) {
  tn_graph *g = tn_graph_new(ctx);
  tn_value *x = tn_edit_add_param(g->main, "x", (tn_type){0});
  tn_node *a = ir_sum(g->main, x, NULL);
  tn_value *c = tn_edit_const(g->main, tn_lit_scalar_f64(&ctx->arena, TN_F32, 3), "c");
  tn_edit_set_input(a, 1, c);
  CHECK(g->main->first == c->def);
  CHECK_STR(ir_type_text(g, &c->type), "f32[]");
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH), TN_OK);
}

IR_TEST(checks_are_distinct) {
  tn_graph *g = tn_graph_new(ctx);
  tn_sym c;
  CHECK(tn_sym_try_parse(g->syms, tn_str_of("N == M"), &c));
  tn_edit_add_check(g->main, c, (tn_loc){0}, "first");
  tn_edit_add_check(g->main, c, (tn_loc){0}, "second");
  CHECK_EQ_I(g->checks.n, 1);
  CHECK_STR(g->checks.at[0].text, "first");
}

IR_TEST(many_of_one_name) { /* linear: 100,000 values that all want one name, and as many parameters */
  tn_graph *g = tn_graph_new(ctx);
  for (int i = 0; i < 100000; i++) tn_edit_add_param(g->main, "x", (tn_type){0});
  CHECK_EQ_I(g->main->n_params, 100000);
  CHECK_STR(g->main->params[99999]->name, "x_99999");
}

IR_TEST(dropped_outputs) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *block = tn_edit_add_node(g->main, NULL, &ir_op_block, NULL, 0, 2, (tn_loc){0});
  const char *name = block->out[1]->name;
  tn_edit_drop_output(block, 1);
  CHECK(!block->out[1]);
  CHECK(!tn_graph_find_value(g, name));
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH), TN_OK);
}
