#include "ir_test.h"

/* A rule over a test_sum node with the two given input types. */
typedef struct bed {
  tn_rule r;
  tn_type out[1];
  const tn_type *in[2];
  bool present[1];
} bed;

static void bed_init(bed *b, tn_ctx *ctx, tn_graph *g, const tn_type *a, const tn_type *c) {
  tn_value *x = tn_edit_add_param(g->main, NULL, (tn_type){0}), *y = tn_edit_add_param(g->main, NULL, (tn_type){0});
  tn_node *node = ir_sum(g->main, x, y);
  tn_edit_name_value(node->out[0], "y");
  *b = (bed){.in = {a, c}, .present = {true}};
  b->r = (tn_rule){.ctx = ctx,
                   .graph = g,
                   .syms = g->syms,
                   .node = node,
                   .loc = node->loc,
                   .n_in = 2,
                   .n_out = 1,
                   .in = b->in,
                   .out = b->out,
                   .out_present = b->present};
}

static tn_sym sym(tn_graph *g, const char *text) {
  tn_sym e = NULL;
  CHECK(tn_sym_try_parse(g->syms, tn_str_of(text), &e));
  return e;
}

IR_TEST(broadcast_of_constants) {
  tn_graph *g = tn_graph_new(ctx);
  tn_type a = IR_TENSOR(g, TN_F32, "2", "1", "4"), c = IR_TENSOR(g, TN_F32, "3", "4");
  bed b;
  bed_init(&b, ctx, g, &a, &c);
  CHECK_EQ_I(tn_type_by_group(&b.r), TN_OK);
  CHECK_EQ_I(tn_shape_broadcast(&b.r), TN_OK);
  CHECK_STR(ir_type_text(g, &b.out[0]), "f32[2,3,4]");
  tn_type bad = IR_TENSOR(g, TN_F32, "5", "4");
  b.in[0] = &c;
  b.in[1] = &bad;
  CHECK_EQ_I(tn_shape_broadcast(&b.r), TN_MISMATCH);
  CHECK_STR(ir_last(ctx), "cannot broadcast dim 0: 3 with 5");
  CHECK_EQ_I(g->checks.n, 0);
}

IR_TEST(broadcast_of_symbols) {
  tn_graph *g = tn_graph_new(ctx);
  bed b;
  bed_init(&b, ctx, g, NULL, NULL);
  tn_sym out;
  CHECK_EQ_I(tn_rule_bcast_dim(&b.r, sym(g, "S"), sym(g, "5"), 1, &out), TN_OK);
  CHECK(tn_sym_is(out, 5));
  CHECK_EQ_I(g->checks.n, 1);
  CHECK_STR(g->checks.at[0].text, "cannot broadcast dim 1: S with 5");
  CHECK_EQ_I(tn_rule_bcast_dim(&b.r, sym(g, "S"), sym(g, "1"), 1, &out), TN_OK);
  CHECK(out == sym(g, "S"));
  CHECK_EQ_I(tn_rule_bcast_dim(&b.r, sym(g, "S"), sym(g, "S"), 1, &out), TN_OK);
  CHECK_EQ_I(g->checks.n, 1);
  CHECK_EQ_I(tn_rule_bcast_dim(&b.r, sym(g, "S"), sym(g, "T"), 0, &out), TN_OK);
  CHECK(out == tn_sym_bcast(g->syms, sym(g, "S"), sym(g, "T")));
  CHECK_EQ_I(g->checks.n, 2);
  CHECK_EQ_I(tn_rule_bcast_dim(&b.r, sym(g, "0"), sym(g, "S"), 0, &out), TN_OK);
  CHECK(tn_sym_is(out, 0)); /* S is 0 or 1 */
}

IR_TEST(unify) {
  tn_graph *g = tn_graph_new(ctx);
  bed b;
  bed_init(&b, ctx, g, NULL, NULL);
  tn_sym out;
  CHECK_EQ_I(tn_rule_unify(&b.r, sym(g, "S"), sym(g, "7"), "a and b,", 2, &out), TN_OK);
  CHECK(tn_sym_is(out, 7));
  CHECK_STR(g->checks.at[0].text, "a and b, dim 2: S and 7 must be equal");
  CHECK_EQ_I(tn_rule_unify(&b.r, sym(g, "S + T"), sym(g, "U"), "x", -1, &out), TN_OK);
  CHECK(out == sym(g, "U"));
  CHECK_EQ_I(tn_rule_unify(&b.r, sym(g, "3"), sym(g, "7"), "x", -1, &out), TN_MISMATCH);
  CHECK_STR(ir_last(ctx), "x: 3 and 7 must be equal");
}

IR_TEST(demand_proved_by_facts) {
  tn_graph *g = tn_graph_new(ctx);
  bed b;
  bed_init(&b, ctx, g, NULL, NULL);
  CHECK_EQ_I(tn_sym_assume(g->syms, sym(g, "4 <= S"), (tn_loc){0}), TN_OK);
  CHECK_EQ_I(tn_rule_demand(&b.r, sym(g, "2 <= S"), "S is small"), TN_OK);
  CHECK_EQ_I(g->checks.n, 0);
  CHECK_EQ_I(tn_rule_demand(&b.r, sym(g, "S <= 3"), "S is %d", 4), TN_MISMATCH);
  CHECK_STR(ir_last(ctx), "S is 4");
}

IR_TEST(axis_and_rank) {
  tn_graph *g = tn_graph_new(ctx);
  tn_type a = IR_TENSOR(g, TN_F32, "2", "1", "4");
  bed b;
  int axis = 0;
  bed_init(&b, ctx, g, &a, NULL);
  CHECK_EQ_I(tn_rule_axis(&b.r, "axis", -3, 3, &axis), TN_OK);
  CHECK_EQ_I(axis, 0);
  CHECK_EQ_I(tn_rule_axis(&b.r, "axis", 3, 3, &axis), TN_MISMATCH);
  CHECK_STR(ir_last(ctx), "axis 3 is out of range for rank 3");
  CHECK_EQ_I(tn_rule_axis(&b.r, "axis", INT64_MIN, 3, &axis), TN_MISMATCH);
  CHECK_EQ_I(tn_rule_need_rank(&b.r, 0, 2, 3), TN_OK);
  CHECK_EQ_I(tn_rule_need_rank(&b.r, 1, 2, 3), TN_OK); /* absent */
  CHECK_EQ_I(tn_rule_need_rank(&b.r, 0, 4, 4), TN_MISMATCH);
  CHECK_STR(ir_last(ctx), "input 0 (a) has rank 3, expected 4");
  CHECK_EQ_I(tn_rule_need_rank(&b.r, 0, 4, TN_MAX_RANK), TN_MISMATCH);
  CHECK_STR(ir_last(ctx), "input 0 (a) has rank 3, expected at least 4");
  CHECK_EQ_I(tn_rule_need_rank(&b.r, 0, 4, 5), TN_MISMATCH);
  CHECK_STR(ir_last(ctx), "input 0 (a) has rank 3, expected 4 to 5");
}

IR_TEST(fresh_is_found_again) {
  tn_graph *g = tn_graph_new(ctx);
  bed b;
  bed_init(&b, ctx, g, NULL, NULL);
  tn_sym u = tn_rule_fresh(&b.r, 0, 1, 0, sym(g, "10"));
  const tn_symbol *s = tn_sym_symbol(g->syms, (uint32_t)u->k);
  CHECK_STR(s->name, "y_d1");
  CHECK_EQ_I(s->source, TN_SOURCE_DIM);
  CHECK_EQ_I(s->value, b.r.node->out[0]->id);
  CHECK_EQ_I(s->index, 1);
  CHECK_EQ_I(s->max, 10);
  CHECK(tn_rule_fresh(&b.r, 0, 1, 2, sym(g, "8")) == u);
  s = tn_sym_symbol(g->syms, (uint32_t)u->k);
  CHECK_EQ_I(s->min, 2);
  CHECK_EQ_I(s->max, 8);
  CHECK(tn_rule_fresh(&b.r, 0, 0, 0, NULL) != u);
}

IR_TEST(content_as_numbers) {
  tn_graph *g = tn_graph_new(ctx);
  tn_type a = IR_TENSOR(g, TN_F32, "3");
  const tn_elem e[3] = {tn_elem_f64(2), tn_elem_sym(sym(g, "N")), tn_elem_f64(0.5)};
  a.content = e;
  bed b;
  bed_init(&b, ctx, g, &a, NULL);
  int64_t n = 0, *ints;
  tn_sym *syms;
  double *floats;
  CHECK(tn_rule_ints(&b.r, 0, &n, &syms));
  CHECK_EQ_I(n, 3);
  CHECK(tn_sym_is(syms[0], 2) && syms[1] == sym(g, "N") && !syms[2]);
  CHECK(!tn_rule_const_ints(&b.r, 0, &n, &ints));
  CHECK(!tn_rule_const_floats(&b.r, 0, &n, &floats));
  CHECK(!tn_rule_ints(&b.r, 1, &n, &syms));
  const tn_elem c[3] = {tn_elem_f64(2), tn_elem_sym(sym(g, "-7")), tn_elem_f64(-3)};
  a.content = c;
  CHECK(tn_rule_const_ints(&b.r, 0, &n, &ints));
  CHECK_EQ_I(ints[1], -7);
  CHECK_EQ_I(ints[2], -3);
  CHECK(tn_rule_const_floats(&b.r, 0, &n, &floats));
  CHECK_EQ_F(floats[1], -7);
}

IR_TEST(outputs) {
  tn_graph *g = tn_graph_new(ctx);
  bed b;
  bed_init(&b, ctx, g, NULL, NULL);
  tn_rule_set_dtype(&b.r, 0, TN_I64);
  CHECK_STR(ir_type_text(g, &b.out[0]), "i64[*]");
  const tn_sym two[1] = {sym(g, "2")};
  tn_rule_set(&b.r, 0, 1, two);
  const tn_elem e[2] = {tn_elem_sym(sym(g, "N")), {0}};
  tn_rule_set_content(&b.r, 0, e);
  CHECK_STR(ir_type_text(g, &b.out[0]), "i64[2]");
  CHECK(b.out[0].content && b.out[0].content[0].sym == sym(g, "N"));
  const tn_sym open[1] = {sym(g, "N")};
  tn_rule_set(&b.r, 0, 1, open);
  tn_rule_set_content(&b.r, 0, e); /* no count, no content */
  CHECK(!b.out[0].content);
  CHECK_EQ_I(tn_shape_scalar(&b.r), TN_OK);
  CHECK_STR(ir_type_text(g, &b.out[0]), "i64[]");
}

IR_TEST(value_as_input) {
  tn_graph *g = tn_graph_new(ctx);
  tn_type a = IR_TENSOR(g, TN_I64, "2");
  const tn_elem e[2] = {tn_elem_sym(sym(g, "N")), tn_elem_sym(sym(g, "3"))};
  a.content = e;
  bed b;
  bed_init(&b, ctx, g, &a, NULL);
  b.out[0] = IR_TENSOR(g, TN_I64, "1", "2");
  CHECK_EQ_I(tn_value_as_input(&b.r), TN_OK);
  CHECK(b.out[0].content && b.out[0].content[1].sym == sym(g, "3"));
  b.out[0] = IR_TENSOR(g, TN_I64, "3");
  CHECK_EQ_I(tn_value_as_input(&b.r), TN_OK);
  CHECK(!b.out[0].content);
}

IR_TEST(attributes) {
  tn_graph *g = tn_graph_new(ctx);
  bed b;
  bed_init(&b, ctx, g, NULL, NULL);
  CHECK_EQ_I(tn_rule_int(&b.r, "axis"), -1);
  CHECK_EQ_F(tn_rule_attr(&b.r, "alpha")->f, 0.5);
  CHECK(tn_rule_str_is(&b.r, "mode", "x"));
  CHECK(!tn_rule_str_is(&b.r, "mode", "xy"));
  b.r.node->attrs[0].kind = TN_ATTR_NONE;
  CHECK(!tn_rule_attr(&b.r, "axis"));
  CHECK_EQ_I(tn_rule_int(&b.r, "axis"), 0);
}
