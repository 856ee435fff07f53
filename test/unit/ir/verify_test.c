#include "ir_test.h"

/* Each test breaks one thing by hand that ir/edit.h would keep right. */
typedef struct bed {
  tn_graph *g;
  tn_value *x;
  tn_node *a, *b;
} bed;

static bed bed_new(tn_ctx *ctx) {
  tn_graph *g = tn_graph_new(ctx);
  tn_value *x = tn_edit_add_param(g->main, "x", IR_TENSOR(g, TN_F32, "N"));
  tn_node *a = ir_sum(g->main, x, NULL), *b = ir_sum(g->main, a->out[0], x);
  tn_edit_set_results(g->main, b->out, 1);
  CHECK_EQ_I(tn_infer_region(g, g->main), TN_OK);
  tn_symbol *n = tn_sym_find_symbol(g->syms, "N");
  n->source = TN_SOURCE_DIM;
  n->value = x->id;
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH | TN_HAS_SYMBOLS | TN_HAS_FACTS), TN_OK);
  return (bed){g, x, a, b};
}

static void broken(tn_ctx *ctx, const bed *b, const char *words) {
  CHECK_EQ_I(tn_verify(b->g, TN_HAS_GRAPH | TN_HAS_SYMBOLS | TN_HAS_FACTS), TN_INTERNAL);
  CHECK_HAS(ir_last(ctx), words);
}

IR_TEST(wrong_owner) {
  bed b = bed_new(ctx);
  b.a->out[0]->def = b.b;
  broken(ctx, &b, "does not know where it is defined");
}
IR_TEST(operand_behind_the_lists) {
  bed b = bed_new(ctx);
  b.b->in[0] = b.x;
  broken(ctx, &b, "a use of value 'x' is not in its list");
}
IR_TEST(cut_list) {
  bed b = bed_new(ctx);
  b.x->uses->next = NULL;
  broken(ctx, &b, "use");
}
IR_TEST(count_of_uses) {
  bed b = bed_new(ctx);
  b.x->n_uses++;
  broken(ctx, &b, "value 'x' has 2 uses, its list says otherwise");
}
IR_TEST(names) {
  bed b = bed_new(ctx);
  b.a->out[0]->name = b.x->name;
  broken(ctx, &b, "leads to another value");
}
IR_TEST(node_counts) {
  bed b = bed_new(ctx);
  b.g->main->n_nodes = 7;
  broken(ctx, &b, "counts 7 nodes and has 2");
}
IR_TEST(links) {
  bed b = bed_new(ctx);
  b.b->prev = NULL;
  broken(ctx, &b, "the list of nodes is broken");
}
IR_TEST(attribute_kind) {
  bed b = bed_new(ctx);
  b.a->attrs[0].kind = TN_ATTR_FLOAT;
  broken(ctx, &b, "attribute 'axis' is a float, expected an int");
}
IR_TEST(missing_operand) {
  bed b = bed_new(ctx);
  tn_edit_set_input(b.b, 0, NULL);
  broken(ctx, &b, "input 0 (a) is required but absent");
}
IR_TEST(open_dim) {
  bed b = bed_new(ctx);
  static const tn_sym open[1] = {NULL};
  b.a->out[0]->type.dims = open;
  broken(ctx, &b, "dim 0 of value 'v1' is open");
  CHECK_EQ_I(tn_verify(b.g, TN_HAS_GRAPH), TN_OK);
}
IR_TEST(symbol_without_source) {
  bed b = bed_new(ctx);
  b.a->out[0]->type = IR_TENSOR(b.g, TN_F32, "Q + 1");
  broken(ctx, &b, "symbol 'Q' in the shape of value 'v1' has no source");
}
IR_TEST(unknown_facts) {
  bed b = bed_new(ctx);
  b.a->out[0]->type.dtype = TN_DTYPE_NONE;
  broken(ctx, &b, "the element type of value 'v1' is not known");
  b.a->out[0]->type = (tn_type){0};
  broken(ctx, &b, "the type of value 'v1' is not known");
}
IR_TEST(use_across_regions) {
  bed b = bed_new(ctx);
  tn_node *block = tn_edit_add_node(b.g->main, b.b, &ir_op_block, NULL, 0, 1, (tn_loc){0});
  tn_node *inner = ir_sum(block->regions[0], b.x, NULL);
  tn_edit_set_input(b.b, 1, inner->out[0]);
  CHECK_EQ_I(tn_verify(b.g, TN_HAS_GRAPH), TN_INTERNAL);
  CHECK_HAS(ir_last(ctx), "is used outside its region");
}
