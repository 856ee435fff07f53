#include "ir_test.h"

static tn_value *param(tn_graph *g, const char *name, tn_type t) { return tn_edit_add_param(g->main, name, t); }

static const char *inferred(tn_graph *g, tn_node *node) {
  CHECK_EQ_I(tn_infer_node(g, node), TN_OK);
  return ir_type_text(g, &node->out[0]->type);
}

IR_TEST(type_and_shape) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *s = ir_sum(g->main, param(g, "x", IR_TENSOR(g, TN_F16, "N", "1")), param(g, "y", IR_TENSOR(g, TN_F16, "4")));
  CHECK_STR(inferred(g, s), "f16[N,4]");
  CHECK_STR(inferred(g, s), "f16[N,4]");
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH | TN_HAS_FACTS), TN_OK);
}

IR_TEST(schema) {
  tn_graph *g = tn_graph_new(ctx);
  tn_value *f32 = param(g, "x", IR_TENSOR(g, TN_F32, "N")), *str = param(g, "s", IR_TENSOR(g, TN_STR, "N"));
  tn_value *f16 = param(g, "h", IR_TENSOR(g, TN_F16, "N"));
  tn_type elem = f32->type;
  tn_value *seq = param(g, "q", (tn_type){.kind = TN_TYPE_SEQUENCE, .elem = &elem});
  CHECK_EQ_I(tn_infer_node(g, ir_sum(g->main, str, NULL)), TN_MISMATCH);
  CHECK_STR(ir_last(ctx), "input 0 (a) is str, expected f32, f16, f64 or bf16");
  CHECK_HAS(ctx->diags.at[0].full, "node 's' (Sum): input 0 (a) is str");
  CHECK_EQ_I(tn_infer_node(g, ir_sum(g->main, f32, f16)), TN_MISMATCH);
  CHECK_STR(ir_last(ctx), "inputs 0 (a) and 1 (b) differ in element type: f32 and f16");
  CHECK_EQ_I(tn_infer_node(g, ir_sum(g->main, NULL, f16)), TN_INVALID);
  CHECK_STR(ir_last(ctx), "input 0 (a) is required but absent");
  CHECK_EQ_I(tn_infer_node(g, ir_sum(g->main, seq, NULL)), TN_MISMATCH);
  CHECK_STR(ir_last(ctx), "input 0 (a) is a sequence, expected a tensor");
  CHECK_EQ_I(tn_infer_node(g, tn_edit_add_node(g->main, NULL, &ir_op_sum, NULL, 0, 1, (tn_loc){0})), TN_INVALID);
  CHECK_STR(ir_last(ctx), "0 inputs are too few: input 0 (a) is required");
  tn_value *three[3] = {f32, f32, f32};
  CHECK_EQ_I(tn_infer_node(g, tn_edit_add_node(g->main, NULL, &ir_op_sum, three, 3, 1, (tn_loc){0})), TN_INVALID);
  CHECK_STR(ir_last(ctx), "3 inputs are more than test_sum takes");
  CHECK_EQ_I(tn_infer_node(g, tn_edit_add_node(g->main, NULL, &ir_op_sum, three, 1, 2, (tn_loc){0})), TN_INVALID);
  CHECK_STR(ir_last(ctx), "2 outputs are more than test_sum has");
}

IR_TEST(required_attribute) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *c = tn_edit_add_node(g->main, NULL, tn_op_find("const"), NULL, 0, 1, (tn_loc){0});
  CHECK_EQ_I(tn_infer_node(g, c), TN_INVALID);
  CHECK_STR(ir_last(ctx), "attribute 'value' is required but absent");
}

IR_TEST(a_false_claim_is_a_warning) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *s = ir_sum(g->main, param(g, "x", IR_TENSOR(g, TN_F32, "2", "3")), NULL);
  tn_edit_name_value(s->out[0], "y");
  tn_edit_set_type(s->out[0], IR_TENSOR(g, TN_F32, "2", "4"));
  CHECK_STR(inferred(g, s), "f32[2,3]");
  CHECK_STR(ir_last(ctx), "value 'y' is declared f32[2,4] but inferred f32[2,3]");
  CHECK_EQ_I(ctx->diags.at[0].severity, TN_WARNING);
  CHECK_STR(inferred(g, s), "f32[2,3]"); /* once */
  CHECK_EQ_I(ctx->diags.n, 1);
}

IR_TEST(a_named_claim_gives_way) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *s = ir_sum(g->main, param(g, "x", IR_TENSOR(g, TN_F32, "N + 1", "3")), NULL);
  tn_edit_set_type(s->out[0], IR_TENSOR(g, TN_F32, "M", "3"));
  CHECK_STR(inferred(g, s), "f32[N + 1,3]");
  CHECK_EQ_I(ctx->diags.n, 0);
}

IR_TEST(a_claim_fills_what_is_not_known) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *s = ir_sum(g->main, param(g, "x", tn_type_tensor(TN_F32, -1, NULL)), NULL);
  tn_edit_name_value(s->out[0], "y");
  tn_type claim = IR_TENSOR(g, TN_DTYPE_NONE, "K", "3", "1");
  tn_sym dims[3] = {claim.dims[0], claim.dims[1], NULL};
  tn_edit_set_type(s->out[0], tn_type_tensor(TN_DTYPE_NONE, 3, dims));
  CHECK_STR(inferred(g, s), "f32[K,3,y_d2]");
  const tn_symbol *k = tn_sym_find_symbol(g->syms, "K");
  CHECK_EQ_I(k->source, TN_SOURCE_DIM);
  CHECK_EQ_I(k->value, s->out[0]->id);
  CHECK_STR(inferred(g, s), "f32[K,3,y_d2]");
  CHECK_EQ_I(ctx->diags.n, 0);
  tn_edit_set_type(s->in[0], IR_TENSOR(g, TN_F32, "5", "3", "2")); /* the claim may prove true or not: no fault */
  CHECK_STR(inferred(g, s), "f32[5,3,2]");
  CHECK_EQ_I(ctx->diags.n, 0);
}

IR_TEST(facts_get_sharper) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *s = ir_sum(g->main, param(g, "x", IR_TENSOR(g, TN_F32, "N", "3")), NULL);
  CHECK_STR(inferred(g, s), "f32[N,3]");
  tn_edit_set_type(s->in[0], IR_TENSOR(g, TN_F32, "4", "3"));
  CHECK_STR(inferred(g, s), "f32[4,3]");
  tn_edit_set_type(s->in[0], IR_TENSOR(g, TN_F32, "N", "3"));
  CHECK_STR(inferred(g, s), "f32[4,3]"); /* what was proved stays */
  tn_edit_set_type(s->in[0], tn_type_tensor(TN_F32, -1, NULL));
  CHECK_STR(inferred(g, s), "f32[4,3]");
  tn_edit_set_type(s->in[0], IR_TENSOR(g, TN_F32, "5", "3"));
  CHECK_EQ_I(tn_infer_node(g, s), TN_INTERNAL);
  CHECK_HAS(ir_last(ctx), "was inferred f32[4,3] and is now f32[5,3]");
  tn_edit_set_type(s->out[0], (tn_type){0}); /* forgotten on purpose */
  CHECK_STR(inferred(g, s), "f32[5,3]");
}

IR_TEST(facts_in_a_region_may_widen) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *block = tn_edit_add_node(g->main, NULL, &ir_op_block, NULL, 0, 1, (tn_loc){0});
  tn_value *p = tn_edit_add_param(block->regions[0], "p", IR_TENSOR(g, TN_F32, "1"));
  tn_node *s = ir_sum(block->regions[0], p, NULL);
  CHECK_EQ_I(tn_infer_region(g, block->regions[0]), TN_OK);
  tn_edit_set_type(p, IR_TENSOR(g, TN_F32, "L"));
  CHECK_EQ_I(tn_infer_region(g, block->regions[0]), TN_OK);
  CHECK_STR(ir_type_text(g, &s->out[0]->type), "f32[L]");
}

static tn_status run_body_often(tn_rule *r) {
  for (int i = 0; i < 20; i++) TN_TRY(tn_infer_region(r->graph, r->node->regions[0]));
  return TN_OK;
}

IR_TEST(nested_loops_are_bounded) { /* 20^10 inferences of the innermost region */
  tn_graph *g = tn_graph_new(ctx);
  tn_op op = ir_op_block;
  op.shape = run_body_often;
  tn_region *r = g->main;
  for (int i = 0; i < 10; i++) r = tn_edit_add_node(r, NULL, &op, NULL, 0, 1, (tn_loc){0})->regions[0];
  CHECK_EQ_I(tn_infer_region(g, g->main), TN_LIMIT);
  CHECK_HAS(ir_last(ctx), "loops are nested in a way that takes too long to infer");
}

static tn_status make_rank_17(tn_rule *r) {
  tn_sym *dims = tn_rule_dims(r, 17);
  for (int i = 0; i < 17; i++) dims[i] = tn_sym_int(r->syms, 1);
  tn_rule_set(r, 0, 17, dims);
  return TN_OK;
}
static tn_status make_negative(tn_rule *r) {
  const tn_sym dims[1] = {tn_sym_int(r->syms, -2)};
  tn_rule_set(r, 0, 1, dims);
  return TN_OK;
}
static tn_status make_overflow(tn_rule *r) {
  const tn_sym dims[1] = {tn_sym_muli(r->syms, tn_sym_int(r->syms, INT64_MAX), 2)};
  tn_rule_set(r, 0, 1, dims);
  return TN_OK;
}
static tn_status make_huge(tn_rule *r) { /* an expression of 2 * 300 nodes and more */
  tn_sym e = tn_sym_int(r->syms, 1);
  for (int i = 0; i < 300; i++) {
    const char *name = tn_arena_printf(&r->ctx->arena, "h%d", i);
    e = tn_sym_max(r->syms, tn_sym_floordiv(r->syms, e, tn_sym_int(r->syms, 2)), tn_sym_add_symbol(r->syms, name)->var);
  }
  const tn_sym dims[1] = {e};
  tn_rule_set(r, 0, 1, dims);
  return TN_OK;
}

static tn_node *node_with_shape(tn_graph *g, tn_status (*shape)(tn_rule *r)) {
  tn_op *op = TN_NEW(&g->ctx->arena, tn_op);
  *op = ir_op_sum;
  op->shape = shape;
  tn_value *x = tn_edit_add_param(g->main, "x", IR_TENSOR(g, TN_F32, "2"));
  return tn_edit_add_node(g->main, NULL, op, &x, 1, 1, (tn_loc){0});
}

IR_TEST(impossible_shapes) {
  tn_graph *g = tn_graph_new(ctx);
  CHECK_EQ_I(tn_infer_node(g, node_with_shape(g, make_rank_17)), TN_LIMIT);
  CHECK_STR(ir_last(ctx), "output 0 has rank 17, the most is 16");
  CHECK_EQ_I(tn_infer_node(g, node_with_shape(g, make_negative)), TN_MISMATCH);
  CHECK_STR(ir_last(ctx), "dim 0 of output 0 is negative: -2");
  CHECK_EQ_I(tn_infer_node(g, node_with_shape(g, make_overflow)), TN_LIMIT);
  CHECK_STR(ir_last(ctx), "dim 0 of output 0 is beyond int64");
}

IR_TEST(growth_is_bounded) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *n = node_with_shape(g, make_huge);
  CHECK_EQ_I(tn_infer_node(g, n), TN_OK);
  const tn_sym d = n->out[0]->type.dims[0];
  CHECK(tn_sym_is_var(d));
  CHECK_EQ_I(tn_sym_symbol(g->syms, (uint32_t)d->k)->source, TN_SOURCE_DEFINED);
  CHECK_EQ_I(tn_infer_node(g, n), TN_OK);
  CHECK(n->out[0]->type.dims[0] == d); /* the same symbol again */
}

IR_TEST(identity_of_anything) {
  tn_graph *g = tn_graph_new(ctx);
  tn_type elem = IR_TENSOR(g, TN_F32, "N");
  tn_value *q = param(g, "q", (tn_type){.kind = TN_TYPE_SEQUENCE, .elem = &elem});
  tn_node *n = tn_edit_add_node(g->main, NULL, tn_op_find("identity"), &q, 1, 1, (tn_loc){0});
  CHECK_STR(inferred(g, n), "seq(f32[N])");
  const int64_t v[2] = {5, 6};
  tn_value *c = tn_edit_const(g->main, tn_lit_i64(&ctx->arena, v, 2), NULL);
  n = tn_edit_add_node(g->main, NULL, tn_op_find("identity"), &c, 1, 1, (tn_loc){0});
  CHECK_STR(inferred(g, n), "i64[2]");
  CHECK_EQ_I(n->out[0]->type.content[1].sym->k, 6);
}
