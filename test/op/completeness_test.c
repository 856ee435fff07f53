/* Every operator descriptor is whole: a newcomer's file that forgets something fails here, by name. */
#include "ir/op.h"
#include "kern/kern.h"
#include "test.h"

static bool completeness_say(bool ok, const char *op, const char *what) {
  if (!ok) printf("%s: %s\n", op, what);
  return ok;
}
#define SAY(cond, op, what) CHECK(completeness_say((cond), (op), (what)))

TEST(every_operator_is_whole) {
  CHECK(tn_op_count() > 100);
  for (int i = 0; i < tn_op_count(); i++) {
    const tn_op *const op = tn_op_at(i);
    const bool literal = strcmp(op->name, "const") == 0 || strcmp(op->name, "shape_value") == 0;
    const bool opaque = strcmp(op->name, "opaque") == 0; /* for inference alone */
    SAY(tn_op_find(op->name) == op, op->name, "is not found by its name");
    SAY(op->doc && op->doc[0], op->name, "has no doc");
    SAY(op->shape != NULL, op->name, "has no shape rule");
    SAY(op->type != NULL || literal, op->name, "has no type rule");
    SAY(op->eval != NULL || literal || opaque, op->name, "has no oracle");
    SAY(op->out[0].name != NULL, op->name, "has no outputs");
    SAY((op->accuracy.kind == TN_ACC_EXACT || op->accuracy.kind == TN_ACC_RANDOM) == (op->accuracy.tol <= 0), op->name,
        "has an accuracy class without tolerance, or the other way round");
    if (op->traits & TN_TRAIT_CONTROL)
      SAY(op->n_regions > 0 && !op->kernel, op->name, "owns no regions, or has a kernel beside them");
    else if (!literal && !opaque)
      SAY(op->kernel && tn_kernel_find(op->kernel), op->name, "names no kernel that exists");
    for (int a = 0; a < TN_MAX_ATTRS && op->attrs[a].name; a++)
      SAY(tn_op_attr_index(op, op->attrs[a].name) == a, op->name, "has an attribute twice");
  }
}

TEST(operators_are_sorted_and_unique) {
  for (int i = 1; i < tn_op_count(); i++) CHECK(strcmp(tn_op_at(i - 1)->name, tn_op_at(i)->name) < 0);
}

/* The rows of one ONNX name must not overlap: a version has one meaning. */
TEST(onnx_rows_do_not_overlap) {
  for (int i = 0; i < tn_onnx_count(); i++) {
    const tn_onnx_row *const row = tn_onnx_at(i);
    SAY(row->import != NULL, row->name, "has no importer");
    SAY(!row->op || tn_op_find(row->op->name) == row->op, row->name, "leads to an operator that the scan did not find");
    SAY(row->since <= row->last, row->name, "ends before it begins");
    if (i == 0) continue;
    const tn_onnx_row *const before = tn_onnx_at(i - 1);
    if (strcmp(before->domain, row->domain) == 0 && strcmp(before->name, row->name) == 0)
      SAY(before->last < row->since, row->name, "has two rows for one version");
  }
}

/* A kernel that no operator names is dead code. */
TEST(every_kernel_is_used) {
  for (int k = 0; k < tn_kernel_count(); k++) {
    bool used = false;
    for (int i = 0; i < tn_op_count() && !used; i++) {
      const char *const name = tn_op_at(i)->kernel;
      used = name && strcmp(name, tn_kernel_at(k)->name) == 0;
    }
    SAY(used, tn_kernel_at(k)->name, "is a kernel that no operator names");
  }
}
