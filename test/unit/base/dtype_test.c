#include "base/dtype.h"

#include "test.h"

TEST(rows) {
  for (int d = 1; d < TN_N_DTYPES; d++) {
    CHECK(tn_dtype_rows[d].name);
    CHECK_EQ_I(tn_dtype_find(tn_str_of(tn_dtype_rows[d].name)), d);
  }
  CHECK_EQ_I(tn_dtype_find(tn_str_of("f33")), TN_DTYPE_NONE);
  CHECK_EQ_I(tn_dtype_find(tn_str_of("")), TN_DTYPE_NONE);
  CHECK_STR(tn_dtype_rows[TN_BF16].onnx, "bfloat16");
  CHECK_STR(tn_dtype_rows[TN_C64].npy, "c8");
  CHECK_STR(tn_dtype_name(TN_DTYPE_NONE), "?");
  CHECK(tn_dtype_is_float(TN_F8E8M0) && !tn_dtype_is_float(TN_I4) && tn_dtype_is_int(TN_U2) &&
        !tn_dtype_is_int(TN_BOOL));
  CHECK_EQ_I(tn_dtype_cls(TN_DTYPE_NONE), TN_CLASS_NONE);
}

TEST(bytes) {
  size_t n;
  CHECK(tn_dtype_bytes(TN_F32, 3, &n) && n == 12);
  CHECK(tn_dtype_bytes(TN_C128, 3, &n) && n == 48);
  CHECK(tn_dtype_bytes(TN_I4, 3, &n) && n == 2);
  CHECK(tn_dtype_bytes(TN_U2, 5, &n) && n == 2);
  CHECK(tn_dtype_bytes(TN_I2, 0, &n) && n == 0);
  CHECK(tn_dtype_bytes(TN_U4, INT64_MAX, &n) && n == (size_t)1 << 62);
  CHECK(!tn_dtype_bytes(TN_F32, -1, &n));
  CHECK(!tn_dtype_bytes(TN_C128, INT64_MAX, &n));
}

TEST(packed) {
  const uint8_t raw[] = {0x8f, 0x71};
  CHECK_EQ_I(tn_load_i64(TN_U4, raw, 0), 15);
  CHECK_EQ_I(tn_load_i64(TN_I4, raw, 0), -1);
  CHECK_EQ_I(tn_load_i64(TN_I4, raw, 1), -8);
  CHECK_EQ_I(tn_load_i64(TN_I4, raw, 3), 7);
  CHECK_EQ_F(tn_load_f64(TN_F4E2M1, raw, 0), -6);
  CHECK_EQ_F(tn_load_f64(TN_F4E2M1, raw, 2), 0.5);
  CHECK_EQ_F(tn_load_f64(TN_F4E2M1, raw, 1), -0.0);
  CHECK_EQ_I(tn_load_i64(TN_U2, raw, 0), 3);
  CHECK_EQ_I(tn_load_i64(TN_I2, raw, 3), -2); /* 0x8f: 11 11 00 10 from the low end */
  CHECK_EQ_I(tn_load_i64(TN_U2, raw, 4), 1);
  uint8_t out[2] = {0xff, 0xff};
  tn_store_i64(TN_I4, out, 1, -3);
  CHECK_EQ_I(out[0], 0xdf);
  tn_store_i64(TN_U2, out, 5, 4 + 1);
  CHECK_EQ_I(out[1], 0xf7);
  tn_store_f64(TN_I4, out, 0, 100); /* 0x64: the short kinds wrap */
  CHECK_EQ_I(out[0], 0xd4);
  tn_copy_element(TN_U4, out, 3, raw, 2);
  CHECK_EQ_I(out[1], 0x17);
}

TEST(floats_into_integers) {
  static const struct {
    tn_dtype d;
    double v;
    int64_t want;
  } rows[] = {
      {TN_I8, 127.9, 127},
      {TN_I8, 1000, 127},
      {TN_I8, -128.9, -128},
      {TN_I8, -1e9, -128},
      {TN_U8, -0.9, 0},
      {TN_U8, -5, 0},
      {TN_U8, 255.9, 255},
      {TN_U8, 256, 255},
      {TN_I16, 40000, 32767},
      {TN_U16, 70000, 65535},
      {TN_I32, 3e9, INT32_MAX},
      {TN_I32, -3e9, INT32_MIN},
      {TN_U32, 5e9, UINT32_MAX},
      {TN_I64, 1e19, INT64_MAX},
      {TN_I64, -1e19, INT64_MIN},
      {TN_U64, 1e19, (int64_t)10000000000000000000u},
      {TN_U64, 1e20, -1},
      {TN_U64, -1, 0},
      {TN_I4, 7.9, 7},
      {TN_I4, -9, 7}, /* test_cast_FLOAT_to_INT4 of ONNX */
      {TN_U4, 16, 0},
      {TN_U2, 9, 1},
      {TN_I2, -9, -1},
      {TN_BOOL, 0.1, 1},
      {TN_BOOL, -0.0, 0},
      {TN_I32, -1.9, -1},
  };
  for (size_t i = 0; i < TN_COUNT(rows); i++) {
    uint64_t cell = 0;
    tn_store_f64(rows[i].d, &cell, 0, rows[i].v);
    CHECK_EQ_I(tn_load_i64(rows[i].d, &cell, 0), rows[i].want);
  }
  for (int d = TN_F32; d < TN_N_DTYPES; d++) {
    if (!tn_dtype_is_int((tn_dtype)d)) continue;
    uint64_t cell = UINT64_MAX;
    tn_store_f64((tn_dtype)d, &cell, 0, (double)NAN);
    CHECK_EQ_I(tn_load_i64((tn_dtype)d, &cell, 0), 0);
  }
}

TEST(floats_read_as_integers) {
  double v = -2.9;
  CHECK_EQ_I(tn_load_i64(TN_F64, &v, 0), -2);
  v = 1e300;
  CHECK_EQ_I(tn_load_i64(TN_F64, &v, 0), INT64_MAX);
  v = -(double)INFINITY;
  CHECK_EQ_I(tn_load_i64(TN_F64, &v, 0), INT64_MIN);
  v = (double)NAN;
  CHECK_EQ_I(tn_load_i64(TN_F64, &v, 0), 0);
}

TEST(every_number_type_holds_one) { /* at an odd address, in the second place */
  for (int d = 1; d < TN_N_DTYPES; d++) {
    if (d == TN_STR) continue;
    uint8_t raw[65] = {0};
    tn_store_i64((tn_dtype)d, raw + 1, 1, 1);
    CHECK_EQ_F(tn_load_f64((tn_dtype)d, raw + 1, 1), 1);
    CHECK_EQ_I(tn_load_i64((tn_dtype)d, raw + 1, 1), 1);
    uint8_t copy[65] = {0};
    tn_copy_element((tn_dtype)d, copy + 3, 2, raw + 1, 1);
    CHECK_EQ_F(tn_load_f64((tn_dtype)d, copy + 3, 2), 1);
  }
}

TEST(integers_round_once) {
  uint8_t raw[8];
  const int64_t v = (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1; /* just above the middle of two bf16 */
  tn_store_i64(TN_BF16, raw, 0, v);
  CHECK_EQ_F(tn_load_f64(TN_BF16, raw, 0), 0x1.02p62);
  tn_store_i64(TN_BF16, raw, 0, v - 1);
  CHECK_EQ_F(tn_load_f64(TN_BF16, raw, 0), 0x1p62);
  tn_store_i64(TN_F32, raw, 0, (INT64_C(1) << 61) + (INT64_C(1) << 37) + 1);
  CHECK_EQ_F(tn_load_f64(TN_F32, raw, 0), 0x1.000002p61);
  tn_store_i64(TN_F16, raw, 0, 65519);
  CHECK_EQ_F(tn_load_f64(TN_F16, raw, 0), 65504);
  tn_store_i64(TN_F16, raw, 0, -65520);
  CHECK_EQ_F(tn_load_f64(TN_F16, raw, 0), -INFINITY);
  tn_store_i64(TN_F8E8M0, raw, 0, 5);
  CHECK_EQ_F(tn_load_f64(TN_F8E8M0, raw, 0), 8);
}

TEST(strings_and_complex) {
  const tn_str s[2] = {tn_str_of("a"), tn_str_of("bcd")};
  tn_str t[1];
  tn_copy_element(TN_STR, t, 0, s, 1);
  CHECK(t[0].ptr == s[1].ptr && t[0].len == 3);
  double c[4] = {1, 2, 3, 4};
  CHECK_EQ_F(tn_load_f64(TN_C128, c, 1), 3);
  tn_store_f64(TN_C128, c, 0, 7);
  CHECK(c[0] > 6 && c[1] < 1 && c[2] > 2);
  const uint64_t big = UINT64_MAX;
  CHECK_EQ_F(tn_load_f64(TN_U64, &big, 0), 0x1p64);
  CHECK_EQ_I(tn_load_i64(TN_U64, &big, 0), -1);
  const uint8_t truth = 2;
  CHECK_EQ_I(tn_load_i64(TN_BOOL, &truth, 0), 1);
}
