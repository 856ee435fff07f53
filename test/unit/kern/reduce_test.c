/* Reductions, softmax, arg and top-k kernels on hand-computed values and against plain sums in double. */
#include "move_call.h"

extern const tn_kernel tn_kernel_reduce_sum, tn_kernel_reduce_mean, tn_kernel_reduce_max, tn_kernel_reduce_prod,
    tn_kernel_reduce_l2, tn_kernel_reduce_log_sum_exp, tn_kernel_reduce_min, tn_kernel_softmax, tn_kernel_log_softmax,
    tn_kernel_hardmax, tn_kernel_argmax, tn_kernel_argmin, tn_kernel_top_k, tn_kernel_cumsum, tn_kernel_cumprod;

static tn_karg *reduce_call(nn_call *c, tn_dtype d, int rank, const int64_t *dims, int64_t axis) {
  nn_begin(c);
  tn_karg *const x = nn_in(c, d, rank, dims);
  move_in(c, TN_I64, DIMS(1), V((double)axis));
  nn_int(c, "keepdims", 0);
  return x;
}

/* Sum of squares' root and sum along one axis of a cube, contiguous or not, in runs longer than a block. */
static void reduce_check_axis(int axis, int64_t a, int64_t b, int64_t e, tn_pool *pool) {
  const int64_t dims[3] = {a, b, e}, out[2] = {dims[axis == 0], dims[axis == 2 ? 1 : 2]};
  const int64_t inner = axis == 0 ? b * e : (axis == 1 ? e : 1), n = dims[axis];
  for (int which = 0; which < 2; which++) {
    nn_call c;
    const tn_karg *const x = reduce_call(&c, TN_F32, 3, dims, axis);
    c.call.pool = pool;
    const tn_karg *const y = nn_out(&c, TN_F32, 2, out);
    double *const want = nn_hold(&c, (size_t)(y->count + 1) * sizeof *want);
    for (int64_t i = 0; i < y->count; i++) {
      want[i] = 0;
      for (int64_t k = 0; k < n; k++) {
        const double v = nn_get(x, i / inner * inner * n + k * inner + i % inner);
        want[i] += which ? v * v : v;
      }
      if (which) want[i] = sqrt(want[i]);
    }
    if (nn_run(&c, which ? &tn_kernel_reduce_l2 : &tn_kernel_reduce_sum)) nn_near(y, want, 1e-6, "reduce");
    nn_end(&c);
  }
}
TEST(reduce_every_axis) {
  tn_pool *pool = NULL;
  tn_error err = {0};
  CHECK(tn_pool_create(tn_allocator_system(), 2, &pool, &err) == TN_OK);
  for (int axis = 0; axis < 3; axis++) {
    reduce_check_axis(axis, 5, 7, 3, NULL);
    reduce_check_axis(axis, 3, 700, 37, pool);
    reduce_check_axis(axis, 600, 2, 130, pool);
  }
  tn_pool_release(pool);
}

static double reduce_one(const tn_kernel *kernel, tn_dtype d, int n, const double *v) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, d, 1, (int64_t[]){n}, v);
  nn_int(&c, "keepdims", 0);
  const tn_karg *const y = nn_out(&c, d, 0, NULL);
  const double got = nn_run(&c, kernel) ? nn_get(y, 0) : 0;
  nn_end(&c);
  return got;
}
TEST(reduce_types) {
  CHECK_EQ_F(reduce_one(&tn_kernel_reduce_prod, TN_I64, 3, V(2, -3, 4)), -24);
  CHECK_EQ_F(reduce_one(&tn_kernel_reduce_mean, TN_I32, 2, V(2, 5)), 3); /* 3.5 toward zero */
  CHECK_EQ_F(reduce_one(&tn_kernel_reduce_mean, TN_I32, 2, V(-2, -5)), -3);
  CHECK_EQ_F(reduce_one(&tn_kernel_reduce_max, TN_U8, 3, V(2, 255, 0)), 255);
  CHECK_EQ_F(reduce_one(&tn_kernel_reduce_min, TN_BOOL, 2, V(1, 0)), 0);
  CHECK_EQ_F(reduce_one(&tn_kernel_reduce_max, TN_F16, 3, V(-2, -1, -8)), -1);
  CHECK_EQ_F(reduce_one(&tn_kernel_reduce_max, TN_F32, 3, V(1, (double)NAN, 2)), (double)NAN);
}
TEST(reduce_of_nothing) { /* the standard's values for an empty set */
  CHECK_EQ_F(reduce_one(&tn_kernel_reduce_sum, TN_F32, 0, V(0)), 0);
  CHECK_EQ_F(reduce_one(&tn_kernel_reduce_prod, TN_F32, 0, V(0)), 1);
  CHECK_EQ_F(reduce_one(&tn_kernel_reduce_max, TN_F32, 0, V(0)), -HUGE_VAL);
  CHECK_EQ_F(reduce_one(&tn_kernel_reduce_min, TN_F32, 0, V(0)), HUGE_VAL);
  CHECK_EQ_F(reduce_one(&tn_kernel_reduce_log_sum_exp, TN_F32, 0, V(0)), -HUGE_VAL);
}
TEST(reduce_log_sum_exp_is_stable) { /* 1000 + log(2) */
  CHECK_NEAR(reduce_one(&tn_kernel_reduce_log_sum_exp, TN_F32, 2, V(1000, 1000)), 1000.6931471805599, 1e-4);
}

static void softmax_check(tn_dtype d, int axis, int flatten, tn_pool *pool) {
  const int64_t dims[3] = {3, 70, 5};
  int64_t n = 1, inner = 1;
  for (int i = axis; i < 3; i++) *(i == axis || flatten ? &n : &inner) *= dims[i];
  nn_call c;
  nn_begin(&c);
  c.call.pool = pool;
  const tn_karg *const x = nn_in(&c, d, 3, dims);
  nn_int(&c, "axis", axis);
  nn_int(&c, "flatten", flatten);
  const tn_karg *const y = nn_out(&c, d, 3, dims);
  double *const want = nn_hold(&c, (size_t)y->count * sizeof *want);
  for (int64_t line = 0; line < y->count / n; line++) {
    const int64_t base = line / inner * n * inner + line % inner;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp(nn_get(x, base + i * inner));
    for (int64_t i = 0; i < n; i++) want[base + i * inner] = exp(nn_get(x, base + i * inner)) / sum;
  }
  if (nn_run(&c, &tn_kernel_softmax)) nn_near(y, want, 1e-6, "softmax");
  for (int64_t i = 0; i < y->count; i++) want[i] = log(want[i]);
  if (nn_run(&c, &tn_kernel_log_softmax)) nn_near(y, want, 2e-6, "log_softmax");
  nn_end(&c);
}
TEST(softmax_axes) {
  static const tn_dtype types[] = {TN_F32, TN_F64, TN_F16};
  tn_pool *pool = NULL;
  tn_error err = {0};
  CHECK(tn_pool_create(tn_allocator_system(), 2, &pool, &err) == TN_OK);
  for (size_t t = 0; t < TN_COUNT(types); t++)
    for (int axis = 0; axis < 3; axis++)
      for (int flatten = 0; flatten < 2; flatten++) softmax_check(types[t], axis, flatten, pool);
  tn_pool_release(pool);
}
TEST(hardmax_takes_the_first) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(2, 3), V(1, 5, 5, 3, 2, 1));
  nn_int(&c, "axis", -1);
  nn_out(&c, TN_F32, 2, (int64_t[]){2, 3});
  if (nn_run(&c, &tn_kernel_hardmax)) move_check(c.out[0], V(0, 1, 0, 1, 0, 0));
  nn_end(&c);
}

static void arg_check(const tn_kernel *kernel, int last, const double *v, double want) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(5), v);
  nn_int(&c, "keepdims", 0);
  nn_int(&c, "select_last_index", last);
  nn_out(&c, TN_I64, 0, NULL);
  if (nn_run(&c, kernel)) move_check(c.out[0], &want);
  nn_end(&c);
}
TEST(arg_places) {
  arg_check(&tn_kernel_argmax, 0, V(1, 7, 3, 7, 2), 1);
  arg_check(&tn_kernel_argmax, 1, V(1, 7, 3, 7, 2), 3);
  arg_check(&tn_kernel_argmin, 0, V(4, 1, 3, 1, 2), 1);
  arg_check(&tn_kernel_argmin, 1, V(4, 1, 3, 1, 2), 3);
  arg_check(&tn_kernel_argmax, 0, V(4, (double)NAN, 3, (double)NAN, 2), 1);
  arg_check(&tn_kernel_argmax, 1, V(-0.0, 0, -1, -2, -3), 1);
}

static void top_k_check(int largest, const double *values, const double *places) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(6), V(3, 1, 3, -2, 9, 1));
  move_in(&c, TN_I64, DIMS(1), V(4));
  nn_int(&c, "largest", largest);
  nn_out(&c, TN_F32, 1, (int64_t[]){4});
  nn_out(&c, TN_I64, 1, (int64_t[]){4});
  if (nn_run(&c, &tn_kernel_top_k)) {
    move_check(c.out[0], values);
    move_check(c.out[1], places);
  }
  nn_end(&c);
}
TEST(top_k_order) { /* equal values: the earlier place first */
  top_k_check(1, V(9, 3, 3, 1), V(4, 0, 2, 1));
  top_k_check(0, V(-2, 1, 1, 3), V(3, 1, 5, 0));
}
TEST(top_k_refuses_too_many) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(2), V(3, 1));
  move_in(&c, TN_I64, DIMS(1), V(3));
  move_late(nn_out(&c, TN_F32, 0, NULL));
  move_late(nn_out(&c, TN_I64, 0, NULL));
  CHECK(tn_kernel_top_k.run(&c.call) == TN_MISMATCH);
  CHECK_STR(c.err.text, "k is 3, but dim 0 is 2");
  nn_end(&c);
}

static void running_check(const tn_kernel *kernel, int exclusive, int reverse, const double *want) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_I32, DIMS(4), V(2, 3, 4, 5));
  move_in(&c, TN_I64, DIMS(1), V(-1));
  nn_int(&c, "exclusive", exclusive);
  nn_int(&c, "reverse", reverse);
  nn_out(&c, TN_I32, 1, (int64_t[]){4});
  if (nn_run(&c, kernel)) move_check(c.out[0], want);
  nn_end(&c);
}
TEST(running_sums_and_products) {
  running_check(&tn_kernel_cumsum, 0, 0, V(2, 5, 9, 14));
  running_check(&tn_kernel_cumsum, 1, 0, V(0, 2, 5, 9));
  running_check(&tn_kernel_cumsum, 0, 1, V(14, 12, 9, 5));
  running_check(&tn_kernel_cumsum, 1, 1, V(12, 9, 5, 0));
  running_check(&tn_kernel_cumprod, 0, 0, V(2, 6, 24, 120));
  running_check(&tn_kernel_cumprod, 1, 1, V(60, 20, 5, 1));
}
