#include "base/checked.h"

#include "test.h"

TEST(overflow) {
  int64_t v;
  size_t z;
  CHECK(tn_add_i64(INT64_MAX - 1, 1, &v) && v == INT64_MAX);
  CHECK(!tn_add_i64(INT64_MAX, 1, &v));
  CHECK(!tn_sub_i64(INT64_MIN, 1, &v));
  CHECK(!tn_mul_i64(INT64_MIN, -1, &v));
  CHECK(tn_mul_i64(1 << 30, 1 << 30, &v) && v == INT64_C(1) << 60);
  CHECK(!tn_add_size(SIZE_MAX, 1, &z));
  CHECK(!tn_mul_size(SIZE_MAX / 2, 3, &z));
  CHECK(tn_align_size(65, 64, &z) && z == 128);
  CHECK(tn_align_size(0, 64, &z) && z == 0);
  CHECK(!tn_align_size(SIZE_MAX - 3, 64, &z));
}

TEST(division_as_python) { /* python3: [(a // b, -(-a // b), a % b) for ...] */
  static const int64_t rows[][5] = {
      {7, 2, 3, 4, 1},
      {-7, 2, -4, -3, 1},
      {7, -2, -4, -3, -1},
      {-7, -2, 3, 4, -1},
      {6, 3, 2, 2, 0},
      {-6, 3, -2, -2, 0},
      {0, 5, 0, 0, 0},
      {1, -5, -1, 0, -4},
      {INT64_MIN, 1, INT64_MIN, INT64_MIN, 0},
      {INT64_MAX, -1, -INT64_MAX, -INT64_MAX, 0},
  };
  for (size_t i = 0; i < TN_COUNT(rows); i++) {
    const int64_t a = rows[i][0], b = rows[i][1];
    int64_t q = 0, c = 0, r = 0;
    CHECK(tn_floordiv_i64(a, b, &q));
    CHECK(tn_ceildiv_i64(a, b, &c));
    CHECK(tn_mod_i64(a, b, &r));
    CHECK_EQ_I(q, rows[i][2]);
    CHECK_EQ_I(c, rows[i][3]);
    CHECK_EQ_I(r, rows[i][4]);
  }
  int64_t v;
  CHECK(!tn_floordiv_i64(1, 0, &v) && !tn_ceildiv_i64(1, 0, &v) && !tn_mod_i64(1, 0, &v));
  CHECK(!tn_floordiv_i64(INT64_MIN, -1, &v) && !tn_ceildiv_i64(INT64_MIN, -1, &v));
  CHECK(tn_mod_i64(INT64_MIN, -1, &v) && v == 0);
}

TEST(resize_scale) { /* numpy: int(np.floor(np.float32(a) * np.float32(c))) */
  int64_t v;
  CHECK(tn_f32scale_i64(10, 0.6f, &v) && v == 6);
  CHECK(tn_f32scale_i64(3, 1.0f / 3, &v) && v == 1);
  CHECK(tn_f32scale_i64(7, 0.3f, &v) && v == 2);
  CHECK(tn_f32scale_i64(-7, 0.5f, &v) && v == -4);
  CHECK(tn_f32scale_i64(16777217, 1.0f, &v) && v == 16777216);
  CHECK(!tn_f32scale_i64(INT64_MAX, 1.0f, &v));
  CHECK(tn_f32scale_i64(INT64_MIN, 1.0f, &v) && v == INT64_MIN);
  CHECK(!tn_f32scale_i64(1, NAN, &v));
  CHECK(!tn_f32scale_i64(1, INFINITY, &v));
  CHECK(tn_f32ratio_i64(3, 224, 64, &v) && v == 11);
  CHECK(tn_f32ratio_i64(16777217, 1, 1, &v) && v == 16777216);
  CHECK(tn_f32ratio_i64(8388609, 1, 1, &v) && v == 8388609); /* adding 0.5 in float32 would round up */
  CHECK(!tn_f32ratio_i64(1, 1, 0, &v) && !tn_f32ratio_i64(INT64_MAX, 1, 1, &v));
}

TEST(dims) {
  int64_t n;
  CHECK(tn_dims_count(NULL, 0, &n) && n == 1);
  CHECK(tn_dims_count((const int64_t[]){2, 3, 4}, 3, &n) && n == 24);
  CHECK(tn_dims_count((const int64_t[]){2, 0, 4}, 3, &n) && n == 0);
  CHECK(!tn_dims_count((const int64_t[]){2, -1}, 2, &n));
  CHECK(!tn_dims_count((const int64_t[]){0, -1}, 2, &n));
  CHECK(!tn_dims_count((const int64_t[]){INT64_MAX, 2}, 2, &n));
  CHECK(!tn_dims_count((const int64_t[]){INT64_MAX, 0, 2}, 3, &n));
  CHECK(tn_dims_count((const int64_t[]){INT64_MAX, 1}, 2, &n) && n == INT64_MAX);
  CHECK(!tn_dims_count(NULL, -1, &n));
}
