/* Operands and attributes that only a changed program file can have: kernels refuse them with a status. */
#include "kern/nn_call.h"

static const int64_t four[4] = {1, 1, 4, 4}, kernel_dims[4] = {1, 1, 2, 2}, one[1] = {1}, two[1] = {2};

static tn_status run(nn_call *c, const char *kernel) { return tn_kernel_find(kernel)->run(&c->call); }

TEST(reinterpret_needs_as_many_bytes) {
  nn_call c;
  nn_begin(&c);
  nn_in(&c, TN_U8, 1, one);
  nn_out(&c, TN_F64, 1, one);
  CHECK_EQ_I(run(&c, "reinterpret"), TN_INTERNAL);
  nn_end(&c);
}

TEST(reinterpret_keeps_strings_apart) {
  nn_call c;
  nn_begin(&c);
  nn_in(&c, TN_F64, 1, two);
  nn_out(&c, TN_STR, 1, one);
  CHECK_EQ_I(run(&c, "reinterpret"), TN_UNSUPPORTED);
  nn_end(&c);
}

/* A list of another kind has a length, but no numbers. */
static tn_status run_with_floats(const char *kernel, const char *name) {
  static const double floats[2] = {1, 1};
  nn_call c;
  nn_begin(&c);
  nn_in(&c, TN_F32, 4, four);
  if (strcmp(kernel, "conv") == 0) nn_in(&c, TN_F32, 4, kernel_dims);
  nn_out(&c, TN_F32, 4, four);
  tn_kattr *const a = nn_attr(&c, name, TN_KATTR_FLOATS);
  a->n = 2;
  a->floats = floats;
  const tn_status status = run(&c, kernel);
  nn_end(&c);
  return status;
}

TEST(lists_of_another_kind_are_not_read) {
  CHECK_EQ_I(run_with_floats("conv", "strides"), TN_INTERNAL); /* as without: the result is 3 by 3 */
  CHECK_EQ_I(run_with_floats("max_pool", "kernel_shape"), TN_OK);
  CHECK_EQ_I(run_with_floats("resize", "axes"), TN_INVALID);
  CHECK_EQ_I(run_with_floats("max_roi_pool", "pooled_shape"), TN_INVALID);
}

TEST(the_value_of_a_fill_is_an_element_of_the_result) {
  nn_call c;
  nn_begin(&c);
  tn_karg *const dims = nn_in(&c, TN_I64, 1, one);
  ((int64_t *)dims->data)[0] = 1;
  nn_out(&c, TN_F64, 1, one);
  static uint8_t byte;
  const tn_karg small = {.dtype = TN_U8, .rank = 0, .count = 1, .data = &byte};
  nn_attr(&c, "value", TN_KATTR_TENSOR)->tensor = &small;
  CHECK_EQ_I(run(&c, "constant_of_shape"), TN_INTERNAL);
  c.attrs[0].kind = TN_KATTR_INT;
  CHECK_EQ_I(run(&c, "constant_of_shape"), TN_INTERNAL);
  nn_end(&c);
}
