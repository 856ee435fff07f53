/* Kernels that move elements, on hand-computed values. */
#include "move_call.h"

extern const tn_kernel tn_kernel_transpose, tn_kernel_concat, tn_kernel_split, tn_kernel_slice, tn_kernel_gather,
    tn_kernel_gather_elements, tn_kernel_gather_nd, tn_kernel_pad, tn_kernel_tile, tn_kernel_scatter_elements,
    tn_kernel_scatter_nd, tn_kernel_reverse_sequence;

TEST(transpose_two_axes) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(2, 3), V(1, 2, 3, 4, 5, 6));
  nn_out(&c, TN_F32, 2, (int64_t[]){3, 2});
  if (nn_run(&c, &tn_kernel_transpose)) move_check(c.out[0], V(1, 4, 2, 5, 3, 6));
  nn_end(&c);
}

/* Every element of a larger transpose, for each element size: tiles, their edges, threads. */
static void transpose_check(tn_dtype d, int64_t rows, int64_t cols, tn_pool *pool) {
  static const int64_t perm[3] = {0, 2, 1};
  nn_call c;
  nn_begin(&c);
  c.call.pool = pool;
  tn_karg *x = nn_in(&c, d, 3, (int64_t[]){2, rows, cols});
  for (int64_t i = 0; i < x->count; i++) tn_store_i64(d, x->data, i, i % 13);
  tn_karg *y = nn_out(&c, d, 3, (int64_t[]){2, cols, rows});
  nn_ints(&c, "perm", 3, perm);
  int64_t wrong = 0;
  if (nn_run(&c, &tn_kernel_transpose))
    for (int64_t i = 0; i < x->count; i++) {
      const int64_t b = i / (rows * cols), r = i / cols % rows, col = i % cols;
      wrong += tn_load_i64(d, y->data, (b * cols + col) * rows + r) != i % 13;
    }
  CHECK_EQ_I(wrong, 0);
  nn_end(&c);
}
TEST(transpose_tiles) {
  static const tn_dtype types[] = {TN_I8, TN_I16, TN_F32, TN_F64, TN_U4};
  tn_pool *pool = NULL;
  tn_error err = {0};
  CHECK(tn_pool_create(tn_allocator_system(), 2, &pool, &err) == TN_OK);
  for (size_t i = 0; i < TN_COUNT(types); i++) {
    transpose_check(types[i], 37, 53, NULL);
    transpose_check(types[i], 64, 130, pool);
    transpose_check(types[i], 3, 300, pool);
  }
  tn_pool_release(pool);
}

TEST(concat_middle_axis) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_I64, DIMS(2, 1, 2), V(1, 2, 3, 4));
  move_in(&c, TN_I64, DIMS(2, 2, 2), V(5, 6, 7, 8, 9, 10, 11, 12));
  nn_int(&c, "axis", -2);
  nn_out(&c, TN_I64, 3, (int64_t[]){2, 3, 2});
  if (nn_run(&c, &tn_kernel_concat)) move_check(c.out[0], V(1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12));
  nn_end(&c);
}
TEST(concat_refuses_other_dims) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_I64, DIMS(1, 2), V(1, 2));
  move_in(&c, TN_I64, DIMS(1, 3), V(1, 2, 3));
  nn_int(&c, "axis", 0);
  nn_out(&c, TN_I64, 2, (int64_t[]){2, 2});
  CHECK(tn_kernel_concat.run(&c.call) == TN_MISMATCH);
  CHECK_STR(c.err.text, "inputs 0 and 1 differ in dim 1: 2 and 3");
  nn_end(&c);
}

TEST(split_uneven) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(5), V(1, 2, 3, 4, 5));
  nn_int(&c, "axis", 0);
  nn_int(&c, "num_outputs", 3);
  for (int i = 0; i < 3; i++) nn_out(&c, TN_F32, 1, (int64_t[]){i < 2 ? 2 : 1});
  if (nn_run(&c, &tn_kernel_split)) {
    move_check(c.out[0], V(1, 2));
    move_check(c.out[1], V(3, 4));
    move_check(c.out[2], V(5));
  }
  nn_end(&c);
}
TEST(split_refuses_wrong_sum) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(5), V(1, 2, 3, 4, 5));
  move_in(&c, TN_I64, DIMS(2), V(1, 3));
  for (int i = 0; i < 2; i++) move_late(nn_out(&c, TN_F32, 0, NULL));
  CHECK(tn_kernel_split.run(&c.call) == TN_MISMATCH);
  CHECK_STR(c.err.text, "1 elements are in no part");
  nn_end(&c);
}

static void slice_check(int64_t start, int64_t end, int64_t step, int64_t n, const double *want) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(6), V(0, 1, 2, 3, 4, 5));
  const int64_t list[4] = {start, end, 0, step};
  for (int i = 0; i < 4; i++) {
    tn_karg *a = nn_in(&c, TN_I64, 1, (int64_t[]){1});
    ((int64_t *)a->data)[0] = list[i];
  }
  tn_karg *y = move_late(nn_out(&c, TN_F32, 0, NULL));
  if (nn_run(&c, &tn_kernel_slice) && CHECK_EQ_I(y->count, n)) move_check(y, want);
  nn_end(&c);
}
TEST(slice_places) { /* as numpy: np.arange(6)[start:end:step] */
  slice_check(1, 4, 1, 3, V(1, 2, 3));
  slice_check(-2, INT64_MAX, 1, 2, V(4, 5));
  slice_check(-100, 100, 4, 2, V(0, 4));
  slice_check(4, 2, 1, 0, V(0));
  slice_check(-1, INT64_MIN, -1, 6, V(5, 4, 3, 2, 1, 0));
  slice_check(4, 0, -2, 2, V(4, 2));
  slice_check(INT64_MAX, -100, -5, 2, V(5, 0));
  slice_check(0, 6, INT64_MAX, 1, V(0));
  slice_check(5, INT64_MIN, INT64_MIN, 1, V(5));
}

TEST(gather_rows) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F16, DIMS(3, 2), V(1, 2, 3, 4, 5, 6));
  move_in(&c, TN_I32, DIMS(2), V(-1, 0));
  nn_int(&c, "axis", 0);
  nn_out(&c, TN_F16, 2, (int64_t[]){2, 2});
  if (nn_run(&c, &tn_kernel_gather)) move_check(c.out[0], V(5, 6, 1, 2));
  nn_end(&c);
}
TEST(gather_refuses_outside) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(3), V(1, 2, 3));
  move_in(&c, TN_I64, DIMS(2), V(0, 3));
  nn_out(&c, TN_F32, 1, (int64_t[]){2});
  CHECK(tn_kernel_gather.run(&c.call) == TN_MISMATCH);
  CHECK_STR(c.err.text, "index 3, element 1 of the indices, is out of range for a dim of 3");
  nn_end(&c);
}
TEST(gather_elements_both_axes) {
  for (int axis = 0; axis < 2; axis++) {
    nn_call c;
    nn_begin(&c);
    move_in(&c, TN_I32, DIMS(2, 2), V(1, 2, 3, 4));
    move_in(&c, TN_I64, DIMS(2, 2), V(0, 0, 1, 0));
    nn_int(&c, "axis", axis);
    nn_out(&c, TN_I32, 2, (int64_t[]){2, 2});
    if (nn_run(&c, &tn_kernel_gather_elements)) move_check(c.out[0], axis ? V(1, 1, 4, 3) : V(1, 2, 3, 2));
    nn_end(&c);
  }
}
TEST(gather_nd_batch) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_I32, DIMS(2, 2, 2), V(0, 1, 2, 3, 4, 5, 6, 7));
  move_in(&c, TN_I64, DIMS(2, 1), V(1, 0));
  nn_int(&c, "batch_dims", 1);
  nn_out(&c, TN_I32, 2, (int64_t[]){2, 2});
  if (nn_run(&c, &tn_kernel_gather_nd)) move_check(c.out[0], V(2, 3, 4, 5));
  nn_end(&c);
}

static void pad_check(const char *mode, int64_t before, int64_t after, int64_t n, const double *want) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(3), V(1, 2, 3));
  tn_karg *pads = nn_in(&c, TN_I64, 1, (int64_t[]){2});
  ((int64_t *)pads->data)[0] = before;
  ((int64_t *)pads->data)[1] = after;
  nn_str(&c, "mode", mode);
  tn_karg *y = move_late(nn_out(&c, TN_F32, 0, NULL));
  if (nn_run(&c, &tn_kernel_pad) && CHECK_EQ_I(y->count, n)) move_check(y, want);
  nn_end(&c);
}
TEST(pad_modes) {
  pad_check("constant", 1, 2, 6, V(0, 1, 2, 3, 0, 0));
  pad_check("constant", -1, 1, 3, V(2, 3, 0));
  pad_check("constant", -4, 4, 3, V(0, 0, 0));
  pad_check("reflect", 2, 3, 8, V(3, 2, 1, 2, 3, 2, 1, 2));
  pad_check("edge", 2, 1, 6, V(1, 1, 1, 2, 3, 3));
  pad_check("wrap", 2, 4, 9, V(2, 3, 1, 2, 3, 1, 2, 3, 1));
}

TEST(tile_strings_share_bytes) {
  nn_call c;
  nn_begin(&c);
  tn_karg *x = nn_arg(&c, TN_STR, 2, (int64_t[]){1, 2});
  ((tn_str *)x->data)[0] = tn_str_of("a");
  ((tn_str *)x->data)[1] = tn_str_of("bc");
  c.in[c.call.n_in++] = x;
  move_in(&c, TN_I64, DIMS(2), V(2, 2));
  tn_karg *y = nn_out(&c, TN_STR, 2, (int64_t[]){2, 4});
  if (nn_run(&c, &tn_kernel_tile))
    for (int i = 0; i < 8; i++) CHECK(tn_str_is(((tn_str *)y->data)[i], i % 2 ? "bc" : "a"));
  nn_end(&c);
}

/* Element 1 is 2; two updates, 4 then 3, meet there. */
static void scatter_check(const char *reduction, double want) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(3), V(9, 2, 9));
  move_in(&c, TN_I64, DIMS(2), V(1, -2));
  move_in(&c, TN_F32, DIMS(2), V(4, 3));
  nn_str(&c, "reduction", reduction);
  nn_out(&c, TN_F32, 1, (int64_t[]){3});
  if (nn_run(&c, &tn_kernel_scatter_elements)) move_check(c.out[0], V(9, want, 9));
  nn_end(&c);
}
TEST(scatter_reductions) {
  scatter_check("none", 3);
  scatter_check("add", 9);
  scatter_check("mul", 24);
  scatter_check("max", 4);
  scatter_check("min", 2);
}
TEST(scatter_nd_rows) {
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_I64, DIMS(3, 2), V(1, 2, 3, 4, 5, 6));
  move_in(&c, TN_I64, DIMS(2, 1), V(2, 0));
  move_in(&c, TN_I64, DIMS(2, 2), V(10, 20, 30, 40));
  nn_out(&c, TN_I64, 2, (int64_t[]){3, 2});
  if (nn_run(&c, &tn_kernel_scatter_nd)) move_check(c.out[0], V(30, 40, 3, 4, 10, 20));
  nn_end(&c);
}
TEST(reverse_sequence_by_batch) { /* the standard's first example: time along axis 0 */
  nn_call c;
  nn_begin(&c);
  move_in(&c, TN_F32, DIMS(4, 2), V(0, 4, 1, 5, 2, 6, 3, 7));
  move_in(&c, TN_I64, DIMS(2), V(4, 3));
  nn_int(&c, "time_axis", 0);
  nn_int(&c, "batch_axis", 1);
  nn_out(&c, TN_F32, 2, (int64_t[]){4, 2});
  if (nn_run(&c, &tn_kernel_reverse_sequence)) move_check(c.out[0], V(3, 6, 2, 5, 1, 4, 0, 7));
  nn_end(&c);
}
