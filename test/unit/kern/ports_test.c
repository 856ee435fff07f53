/* What the table of ports lets a kernel rely on. */
#include "kern/ports.h"

#include "test.h"

static tn_koperand operand_of(const void *self, int i) { return ((const tn_koperand *)self)[i]; }
static tn_status check(const char *kernel, const tn_koperand *operands, int n_in, int n_out, const char *text) {
  tn_error err = {TN_OK, ""};
  const tn_status status = tn_kernel_check(tn_kernel_find(kernel), operand_of, operands, n_in, n_out, &err);
  if (text) CHECK_HAS(err.text, text);
  return status;
}
#define TENSOR(dtype, rank) \
  { true, true, (dtype), (rank) }

TEST(operands_of_another_kind_are_refused) {
  const tn_koperand good[] = {TENSOR(TN_F32, 2), TENSOR(TN_F32, 2), TENSOR(TN_F32, 2)};
  CHECK_EQ_I(check("add", good, 2, 1, NULL), TN_OK);
  CHECK_EQ_I(check("add", good, 1, 1, "input 1 is missing"), TN_INVALID);
  CHECK_EQ_I(check("add", good, 2, 0, "output 0 is missing"), TN_INVALID);
  CHECK_EQ_I(check("relu", good, 2, 1, "input 1 is one too many"), TN_INVALID);
  const tn_koperand absent[] = {TENSOR(TN_F32, 2), {false, true, TN_F32, 2}, TENSOR(TN_F32, 2)};
  CHECK_EQ_I(check("add", absent, 2, 1, "input 1 is missing"), TN_INVALID);
  CHECK_EQ_I(check("clip", absent, 2, 1, NULL), TN_OK);
  CHECK_EQ_I(check("concat", absent, 2, 1, "input 1 is missing"), TN_INVALID);
  const tn_koperand mixed[] = {TENSOR(TN_F32, 2), TENSOR(TN_F64, 2), TENSOR(TN_F32, 2)};
  CHECK_EQ_I(check("add", mixed, 2, 1, "input 1 has element type f64, another operand f32"), TN_INVALID);
  const tn_koperand strings[] = {TENSOR(TN_STR, 2), TENSOR(TN_STR, 2), TENSOR(TN_STR, 2)};
  CHECK_EQ_I(check("add", strings, 2, 1, "input 0 cannot have element type str"), TN_INVALID);
  const tn_koperand sequence[] = {{true, false, TN_F32, -1}, TENSOR(TN_F32, 2), TENSOR(TN_F32, 2)};
  CHECK_EQ_I(check("add", sequence, 2, 1, "input 0 is no tensor"), TN_INVALID);
  CHECK_EQ_I(check("sequence_length", good, 1, 1, "input 0 is a tensor"), TN_INVALID);
  const tn_koperand bytes[] = {TENSOR(TN_U8, 4), TENSOR(TN_U8, 4)}; /* no input 3, whose rank is that of input 0 */
  const tn_koperand ranks[] = {TENSOR(TN_F32, 4), TENSOR(TN_F32, 3), TENSOR(TN_F32, 4)};
  CHECK_EQ_I(check("conv", ranks, 2, 1, "input 0 cannot have rank 4"), TN_INVALID);
  const tn_koperand unknown[] = {TENSOR(TN_F32, 4), TENSOR(TN_F32, -1), TENSOR(TN_F32, 4), TENSOR(TN_F32, 4)};
  CHECK_EQ_I(check("conv", unknown, 2, 1, NULL), TN_OK);
  CHECK_EQ_I(check("conv", unknown + 1, 2, 1, NULL), TN_OK);
  CHECK_EQ_I(check("qlinear_conv", bytes, 1, 1, "input 1 is missing"), TN_INVALID);
}
