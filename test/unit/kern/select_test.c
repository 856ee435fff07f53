/* Kernels that find out how much comes out, and those of patterns and equations. */
#include "move_call.h"

extern const tn_kernel tn_kernel_non_zero, tn_kernel_compress, tn_kernel_unique, tn_kernel_non_max_suppression,
    tn_kernel_one_hot, tn_kernel_trilu, tn_kernel_eye_like, tn_kernel_einsum, tn_kernel_det, tn_kernel_dropout;

TEST(non_zero_columns) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(2, 3), V(1, 0, (double)NAN, -0.0, 2, 0));
  const tn_karg *const y = move_late(nn_out(&c, TN_I64, 0, NULL));
  if (nn_run(&c, &tn_kernel_non_zero) && CHECK_EQ_I(y->dims[0], 2) && CHECK_EQ_I(y->dims[1], 3))
    move_check(y, V(0, 0, 1, 0, 2, 1));
  nn_end(&c);
}
TEST(compress_short_condition) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_I64, DIMS(2, 3), V(1, 2, 3, 4, 5, 6));
  move_in(&c, TN_BOOL, DIMS(2), V(0, 1));
  nn_int(&c, "axis", 1);
  const tn_karg *const y = move_late(nn_out(&c, TN_I64, 0, NULL));
  if (nn_run(&c, &tn_kernel_compress) && CHECK_EQ_I(y->count, 2)) move_check(y, V(2, 5));
  nn_end(&c);
}
static void unique_check(int sorted, const double *y, const double *at, const double *inverse, const double *counts) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_I32, DIMS(5), V(7, 2, 7, 9, 2));
  nn_int(&c, "sorted", sorted);
  for (int i = 0; i < 4; i++) move_late(nn_out(&c, i ? TN_I64 : TN_I32, 0, NULL));
  if (nn_run(&c, &tn_kernel_unique) && CHECK_EQ_I(c.out[0]->count, 3)) {
    move_check(c.out[0], y);
    move_check(c.out[1], at);
    move_check(c.out[2], inverse);
    move_check(c.out[3], counts);
  }
  nn_end(&c);
}
TEST(unique_orders) {
  unique_check(1, V(2, 7, 9), V(1, 0, 3), V(1, 0, 1, 2, 0), V(2, 2, 1));
  unique_check(0, V(7, 2, 9), V(0, 1, 3), V(0, 1, 0, 2, 1), V(2, 2, 1));
}
TEST(non_max_suppression_keeps_the_best) {
  nn_call c;
  nn_begin(&c);
  /* Boxes 0 and 1 overlap by 0.8 of their union, 2 stands apart, 3 scores too little. */
  move_in(&c, TN_F32, DIMS(1, 4, 4), V(0, 0, 1, 0.9, 0, 0, 1, 0.72, 5, 5, 6, 6, 8, 8, 9, 9));
  move_in(&c, TN_F32, DIMS(1, 1, 4), V(0.5, 0.9, 0.7, 0.1));
  move_in(&c, TN_I64, DIMS(1), V(10));
  move_in(&c, TN_F32, DIMS(1), V(0.5));
  move_in(&c, TN_F32, DIMS(1), V(0.2));
  const tn_karg *const y = move_late(nn_out(&c, TN_I64, 0, NULL));
  if (nn_run(&c, &tn_kernel_non_max_suppression) && CHECK_EQ_I(y->count, 6)) move_check(y, V(0, 0, 1, 0, 0, 2));
  nn_end(&c);
}
TEST(one_hot_outside_is_off) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(4), V(1, -1, 3, 0.5));
  move_in(&c, TN_I64, DIMS(1), V(3));
  move_in(&c, TN_I32, DIMS(2), V(5, 9));
  nn_out(&c, TN_I32, 2, (int64_t[]){4, 3});
  /* a float index is cut toward zero */
  if (nn_run(&c, &tn_kernel_one_hot)) move_check(c.out[0], V(5, 9, 5, 5, 5, 9, 5, 5, 5, 9, 5, 5));
  nn_end(&c);
}
TEST(trilu_upper_and_lower) {
  for (int upper = 0; upper < 2; upper++) {
    nn_call c;
    nn_begin(&c);
    move_in(&c, TN_I64, DIMS(2, 3), V(1, 2, 3, 4, 5, 6));
    move_in(&c, TN_I64, DIMS(1), V(1));
    nn_int(&c, "upper", upper);
    nn_out(&c, TN_I64, 2, (int64_t[]){2, 3});
    if (nn_run(&c, &tn_kernel_trilu)) move_check(c.out[0], upper ? V(0, 2, 3, 0, 0, 6) : V(1, 2, 0, 4, 5, 6));
    nn_end(&c);
  }
}
TEST(eye_like_diagonal) {
  nn_call c;
  nn_begin(&c);
  nn_in(&c, TN_F32, 2, (int64_t[]){3, 2});
  nn_int(&c, "k", -1);
  nn_out(&c, TN_I32, 2, (int64_t[]){3, 2});
  if (nn_run(&c, &tn_kernel_eye_like)) move_check(c.out[0], V(0, 0, 1, 0, 0, 1));
  nn_end(&c);
}

static tn_status einsum_call(nn_call *c, const char *equation, tn_dtype d) {
  nn_begin(c);
  move_in(c, d, DIMS(2, 2), V(1, 2, 3, 4));
  move_in(c, d, DIMS(2, 3), V(1, 0, 2, 0, 1, 3));
  nn_str(c, "equation", equation);
  move_late(nn_out(c, d, 0, NULL));
  return tn_kernel_einsum.run(&c->call);
}
TEST(einsum_equations) {
  static const tn_dtype types[] = {TN_F32, TN_F64, TN_I64};
  for (size_t t = 0; t < TN_COUNT(types); t++) {
    nn_call c;
    if (CHECK(einsum_call(&c, "ij, jk", types[t]) == TN_OK)) move_check(c.out[0], V(1, 2, 8, 3, 4, 18));
    nn_end(&c);
    if (CHECK(einsum_call(&c, "ij,ik->kj", types[t]) == TN_OK)) move_check(c.out[0], V(1, 2, 3, 4, 11, 16));
    nn_end(&c);
    if (CHECK(einsum_call(&c, "ii,ij->j", types[t]) == TN_OK)) move_check(c.out[0], V(1, 4, 14));
    nn_end(&c);
    if (CHECK(einsum_call(&c, "ij,kl->", types[t]) == TN_OK)) move_check(c.out[0], V(70));
    nn_end(&c);
  }
}
static void einsum_refuses(const char *equation, const char *text) {
  nn_call c;
  CHECK(einsum_call(&c, equation, TN_F32) != TN_OK);
  CHECK_STR(c.err.text, text);
  nn_end(&c);
}
TEST(einsum_refusals) {
  einsum_refuses("ij", "the equation has fewer terms than operands");
  einsum_refuses("ij,jk,k", "the equation has more terms than operands");
  einsum_refuses("ijk,jk", "a term and its operand differ in rank");
  einsum_refuses("...,...a->...a", "the ellipses stand for different numbers of axes");
  einsum_refuses("ij,jk->ix", "a letter of the result is in no operand");
  einsum_refuses("ij,jk->ii", "a letter is twice in the result");
  einsum_refuses("ij,jk-", "the equation has a '-' without '>'");
  einsum_refuses("i1,jk", "the equation has a character that is no letter, comma, arrow or ellipsis");
  einsum_refuses("ij,kk->i", "operand 1 dim 1 is 3, but its letter stands for 2");
}
TEST(det_by_hand) { /* 2 * 3 - 1 * 4 = 2; a singular one */
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(2, 2, 2), V(2, 1, 4, 3, 1, 2, 2, 4));
  nn_out(&c, TN_F32, 1, (int64_t[]){2});
  if (nn_run(&c, &tn_kernel_det)) move_check(c.out[0], V(2, 0));
  nn_end(&c);
}
TEST(dropout_seed_is_numpys) { /* np.random.seed(0); np.random.uniform(0, 1, 4) >= 0.6: .5488 .7152 .6028 .5449 */
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(4), V(1, 1, 1, 1));
  move_in(&c, TN_F32, DIMS(1), V(0.6));
  move_in(&c, TN_BOOL, DIMS(1), V(1));
  nn_int(&c, "seed", 0);
  nn_out(&c, TN_F32, 1, (int64_t[]){4});
  nn_out(&c, TN_BOOL, 1, (int64_t[]){4});
  if (nn_run(&c, &tn_kernel_dropout)) {
    nn_near(c.out[0], V(0, 2.5, 2.5, 0), 1e-6, "kept");
    move_check(c.out[1], V(0, 1, 1, 0));
  }
  nn_end(&c);
}
