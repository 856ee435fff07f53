#include "ir/import.h"
#include "ir_test.h"

static const tn_op with_dtype = {
    .name = "test_cast",
    .in = {{"x"}},
    .out = {{"y"}, {"z"}},
    .attrs = {{"to", TN_ATTR_DTYPE, .required = true}, {"axis", TN_ATTR_INT, .i = 1}, {"alpha", TN_ATTR_FLOAT}},
};
static const tn_onnx_row cast_row = {"", "TestCast", 13, TN_LATEST, &with_dtype, tn_import_same};

typedef struct bed {
  tn_import im;
  tn_value *in[3], *out[3];
  bool present[3];
  tn_import_attr attrs[4];
} bed;

static void bed_init(bed *b, tn_ctx *ctx) {
  tn_graph *g = tn_graph_new(ctx);
  *b = (bed){.present = {true, false, false}};
  b->in[0] = tn_edit_add_param(g->main, "x", (tn_type){0});
  b->im = (tn_import){.ctx = ctx,
                      .graph = g,
                      .region = g->main,
                      .row = &cast_row,
                      .version = 13,
                      .n_in = 1,
                      .n_out = 1,
                      .in = b->in,
                      .out = b->out,
                      .out_present = b->present,
                      .attrs = b->attrs};
}
static void bed_attr(bed *b, const char *name, tn_attr value) {
  b->attrs[b->im.n_attrs++] = (tn_import_attr){name, value, false};
}

IR_TEST(same) {
  bed b;
  bed_init(&b, ctx);
  b.im.n_in = 3; /* absent ones at the end fall away */
  b.im.n_out = 3;
  bed_attr(&b, "to", (tn_attr){.kind = TN_ATTR_INT, .i = TN_F16});
  CHECK_EQ_I(tn_import_same(&b.im), TN_OK);
  const tn_node *node = b.im.region->first;
  CHECK(b.out[0] == node->out[0]);
  CHECK_EQ_I(node->n_in, 1);
  CHECK_EQ_I(node->n_out, 1);
  CHECK_EQ_I(node->attrs[0].kind, TN_ATTR_DTYPE);
  CHECK_EQ_I(node->attrs[0].i, TN_F16);
  CHECK_EQ_I(node->attrs[1].i, 1);
}

IR_TEST(absent_outputs_in_the_middle) {
  bed b;
  bed_init(&b, ctx);
  b.im.n_out = 2;
  b.present[0] = false;
  b.present[1] = true;
  bed_attr(&b, "to", (tn_attr){.kind = TN_ATTR_INT, .i = TN_F16});
  CHECK_EQ_I(tn_import_same(&b.im), TN_OK);
  CHECK(!b.out[0] && b.out[1]);
  CHECK(!b.im.region->first->out[0]);
  CHECK_EQ_I(tn_verify(b.im.graph, TN_HAS_GRAPH), TN_OK);
}

IR_TEST(refusals) {
  bed b;
  bed_init(&b, ctx);
  bed_attr(&b, "to", (tn_attr){.kind = TN_ATTR_FLOAT, .f = 1});
  CHECK_EQ_I(tn_import_same(&b.im), TN_INVALID);
  CHECK_STR(ir_last(ctx), "attribute 'to' is a float, expected an element type");
  b.im.n_attrs = 0;
  bed_attr(&b, "to", (tn_attr){.kind = TN_ATTR_INT, .i = 99});
  CHECK_EQ_I(tn_import_same(&b.im), TN_INVALID);
  CHECK_STR(ir_last(ctx), "attribute 'to' is 99, which is no element type");
  b.im.n_attrs = 0;
  bed_attr(&b, "too", (tn_attr){.kind = TN_ATTR_INT, .i = 1});
  CHECK_EQ_I(tn_import_same(&b.im), TN_INVALID);
  CHECK_STR(ir_last(ctx), "attribute 'too' is not known to TestCast-13");
  int64_t i = 0;
  b.im.n_attrs = 0;
  bed_attr(&b, "axis", (tn_attr){.kind = TN_ATTR_STR});
  CHECK_EQ_I(tn_import_int(&b.im, "axis", 0, &i), TN_INVALID);
  CHECK_STR(ir_last(ctx), "attribute 'axis' is a string, expected an int");
}

IR_TEST(getters) {
  bed b;
  bed_init(&b, ctx);
  const int64_t list[2] = {3, 4}, *v;
  int64_t i = 0, n = 0;
  double f = 0;
  tn_str s;
  bed_attr(&b, "axes", (tn_attr){.kind = TN_ATTR_INTS, .ints = list, .n = 2});
  bed_attr(&b, "old", (tn_attr){.kind = TN_ATTR_INT, .i = 1});
  CHECK_EQ_I(tn_import_int(&b.im, "none", 7, &i), TN_OK);
  CHECK_EQ_I(i, 7);
  CHECK_EQ_I(tn_import_float(&b.im, "none", 0.5, &f), TN_OK);
  CHECK_EQ_F(f, 0.5);
  CHECK_EQ_I(tn_import_str(&b.im, "none", "NOTSET", &s), TN_OK);
  CHECK(tn_str_is(s, "NOTSET"));
  CHECK_EQ_I(tn_import_check_used(&b.im), TN_INVALID);
  CHECK_EQ_I(tn_import_ints(&b.im, "axes", &v, &n), TN_OK);
  CHECK(v == list && n == 2);
  tn_import_ignore(&b.im, "old");
  CHECK_EQ_I(tn_import_check_used(&b.im), TN_OK);
}

IR_TEST(attribute_to_input) {
  bed b;
  bed_init(&b, ctx);
  const int64_t list[2] = {3, 4};
  tn_value *v;
  CHECK_EQ_I(tn_import_attr_to_input(&b.im, "axes", 1, &v), TN_OK);
  CHECK(!v);
  bed_attr(&b, "axes", (tn_attr){.kind = TN_ATTR_INTS, .ints = list, .n = 2});
  CHECK_EQ_I(tn_import_attr_to_input(&b.im, "axes", 1, &v), TN_OK);
  CHECK(v && v->type.content && v->type.content[1].sym->k == 4);
  CHECK_EQ_I(tn_import_attr_to_input(&b.im, "axes", 0, &v), TN_INVALID);
  CHECK_STR(ir_last(ctx), "attribute 'axes' and input 0 say the same thing twice");
}

static tn_status nest_again(tn_import *im, const tn_attr *graph_attr, tn_region *into) {
  (void)graph_attr;
  tn_import inner = *im;
  tn_import_attr attrs[2] = {{"first", {.kind = TN_ATTR_REGION}, false}, {"second", {.kind = TN_ATTR_REGION}, false}};
  inner.region = into;
  inner.attrs = attrs;
  inner.n_attrs = 2;
  return tn_import_same(&inner);
}

IR_TEST(nesting_is_bounded) {
  const tn_onnx_row block = {"", "TestBlock", 1, TN_LATEST, &ir_op_block, tn_import_same};
  bed b;
  bed_init(&b, ctx);
  b.im.row = &block;
  b.im.build_region = nest_again;
  CHECK_EQ_I(nest_again(&b.im, NULL, b.im.region), TN_LIMIT);
  CHECK_STR(ir_last(ctx), "graphs are nested deeper than 12");
}

static tn_value *constant(tn_ctx *ctx, const char *name, tn_attr a) {
  bed b;
  bed_init(&b, ctx);
  const tn_onnx_row *constant_row = tn_onnx_find("", "Constant", 13, NULL);
  b.im.row = constant_row;
  bed_attr(&b, name, a);
  CHECK_EQ_I(constant_row->import(&b.im), TN_OK);
  return b.out[0];
}

IR_TEST(constants) {
  const int64_t ints[2] = {3, -4};
  const double floats[1] = {0.25};
  tn_value *v = constant(ctx, "value_ints", (tn_attr){.kind = TN_ATTR_INTS, .ints = ints, .n = 2});
  CHECK_EQ_I(tn_lit_i64_at(v->def->attrs[0].tensor, 1), -4);
  v = constant(ctx, "value_float", (tn_attr){.kind = TN_ATTR_FLOAT, .f = 0.5});
  CHECK_EQ_I(v->type.rank, 0);
  CHECK_EQ_F(v->type.content[0].f, 0.5);
  v = constant(ctx, "value_floats", (tn_attr){.kind = TN_ATTR_FLOATS, .floats = floats, .n = 1});
  CHECK_EQ_I(v->type.rank, 1);
  CHECK_EQ_F(v->type.content[0].f, 0.25);
  v = constant(ctx, "value_string", (tn_attr){.kind = TN_ATTR_STR, .s = tn_str_of("hi")});
  CHECK_EQ_I(v->type.dtype, TN_STR);
  bed b;
  bed_init(&b, ctx);
  b.im.row = tn_onnx_find("", "Constant", 13, NULL);
  CHECK_EQ_I(b.im.row->import(&b.im), TN_INVALID);
  CHECK_STR(ir_last(ctx), "0 values are given, expected one");
}
