#include "ir_test.h"

TEST(operators_are_sorted_and_found) {
  CHECK(tn_op_count() >= 2);
  for (int i = 0; i < tn_op_count(); i++) {
    CHECK(tn_op_find(tn_op_at(i)->name) == tn_op_at(i));
    if (i) CHECK(strcmp(tn_op_at(i - 1)->name, tn_op_at(i)->name) < 0);
  }
  CHECK(!tn_op_find("no_such_operator"));
  CHECK(!tn_op_find(""));
}

TEST(onnx_rows_are_found) {
  for (int i = 0; i < tn_onnx_count(); i++) {
    const tn_onnx_row *row = tn_onnx_at(i);
    bool known = false;
    CHECK(tn_onnx_find(row->domain, row->name, row->since, &known) == row);
    CHECK(known);
    CHECK(row->since <= row->last);
    CHECK(row->import);
  }
}

TEST(onnx_versions) {
  bool known = false;
  const tn_onnx_row *row = tn_onnx_find("", "Identity", 1, &known);
  CHECK(row && known);
  CHECK(tn_onnx_find("ai.onnx", "Identity", 21, NULL) == row);
  CHECK(!tn_onnx_find("", "Identity", 0, &known) && known);
  CHECK(!tn_onnx_find("", "NoSuchOperator", 13, &known) && !known);
  CHECK(!tn_onnx_find("", "Identit", 13, &known) && !known);
  CHECK(!tn_onnx_find("example.org", "Identity", 13, &known) && !known);
}

TEST(ports) {
  CHECK_STR(tn_op_in_port(&ir_op_sum, 1)->name, "b");
  CHECK(!tn_op_in_port(&ir_op_sum, 2));
  CHECK_STR(tn_op_in_port(&ir_op_block, 7)->name, "a");
  CHECK_EQ_I(tn_op_n_attrs(&ir_op_sum), 3);
  CHECK_EQ_I(tn_op_attr_index(&ir_op_sum, "mode"), 2);
  CHECK_EQ_I(tn_op_attr_index(&ir_op_sum, "axes"), -1);
}

TEST(attribute_defaults) {
  tn_attr a;
  const tn_attr_row zero = {"z", TN_ATTR_INT, .has_default = true}, none = {"n", TN_ATTR_INT, .i = 0};
  CHECK(tn_attr_row_default(&zero, &a));
  CHECK_EQ_I(a.kind, TN_ATTR_INT);
  CHECK(!tn_attr_row_default(&none, &a));
  CHECK_EQ_I(a.kind, TN_ATTR_NONE);
  const tn_attr_row tenth = {"t", TN_ATTR_FLOAT, .f = 0.1};
  CHECK(tn_attr_row_default(&tenth, &a));
  CHECK_EQ_F(a.f, 0.1f); /* as a float32 */
  const tn_attr_row empty = {"e", TN_ATTR_STR, .s = ""};
  CHECK(tn_attr_row_default(&empty, &a));
  CHECK_EQ_I(a.s.len, 0);
}
