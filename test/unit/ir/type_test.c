#include "ir_test.h"

IR_TEST(print) {
  tn_graph *g = tn_graph_new(ctx);
  tn_type t = IR_TENSOR(g, TN_F32, "N", "S//2", "3");
  CHECK_STR(ir_type_text(g, &t), "f32[N,S//2,3]");
  tn_type any = tn_type_tensor(TN_I64, -1, NULL);
  CHECK_STR(ir_type_text(g, &any), "i64[*]");
  tn_type scalar = tn_type_tensor(TN_DTYPE_NONE, 0, NULL);
  CHECK_STR(ir_type_text(g, &scalar), "?[]");
  tn_type unknown = {0};
  CHECK_STR(ir_type_text(g, &unknown), "?");
  tn_type seq = {.kind = TN_TYPE_SEQUENCE, .elem = &any}, opt = {.kind = TN_TYPE_OPTIONAL, .elem = &seq};
  CHECK_STR(ir_type_text(g, &opt), "opt(seq(i64[*]))");
  tn_type map = {.kind = TN_TYPE_MAP, .dtype = TN_STR, .elem = &any};
  CHECK_STR(ir_type_text(g, &map), "map(str, i64[*])");
}

IR_TEST(same) {
  tn_graph *g = tn_graph_new(ctx);
  tn_type a = IR_TENSOR(g, TN_F32, "N", "3"), b = IR_TENSOR(g, TN_F32, "N", "3"), c = IR_TENSOR(g, TN_F32, "N", "4");
  CHECK(tn_type_same(&a, &b));
  CHECK(!tn_type_same(&a, &c));
  b.dtype = TN_F16;
  CHECK(!tn_type_same(&a, &b));
  tn_type sa = {.kind = TN_TYPE_SEQUENCE, .elem = &a}, sc = {.kind = TN_TYPE_SEQUENCE, .elem = &c};
  CHECK(!tn_type_same(&sa, &sc));
  CHECK(tn_type_same(&sa, &sa));
  CHECK(!tn_type_same(&sa, &a));
}

IR_TEST(const_dims_and_count) {
  tn_graph *g = tn_graph_new(ctx);
  int64_t dims[TN_MAX_RANK];
  tn_type a = IR_TENSOR(g, TN_F32, "2", "0", "3"), b = IR_TENSOR(g, TN_F32, "N", "3");
  CHECK(tn_type_const_dims(&a, dims));
  CHECK_EQ_I(dims[2], 3);
  CHECK(!tn_type_const_dims(&b, NULL));
  CHECK(tn_type_count(g->syms, &b) == tn_sym_muli(g->syms, tn_sym_add_symbol(g->syms, "N")->var, 3));
  CHECK(tn_sym_is(tn_type_count(g->syms, &a), 0));
  tn_type scalar = tn_type_tensor(TN_F32, 0, NULL);
  CHECK(tn_sym_is(tn_type_count(g->syms, &scalar), 1));
  CHECK_EQ_I(tn_type_content_count(&scalar), 0);
  tn_elem e = {.kind = TN_ELEM_F64, .f = 1};
  scalar.content = &e;
  CHECK_EQ_I(tn_type_content_count(&scalar), 1);
}
