#include "base/dtype.h"
#include "test.h"

static bool number(int d) { return d != TN_STR && d != TN_C64 && d != TN_C128; }

TEST(which_pairs) {
  uint8_t a[16] = {0}, b[16] = {0};
  for (int to = 1; to < TN_N_DTYPES; to++) {
    for (int from = 1; from < TN_N_DTYPES; from++) {
      const bool want = to != TN_STR && from != TN_STR && number(to) == number(from);
      CHECK(tn_convert((tn_dtype)to, a, (tn_dtype)from, b, 1, true) == want);
    }
  }
  CHECK(!tn_convert(TN_F32, a, TN_DTYPE_NONE, b, 1, true));
  CHECK(tn_convert(TN_F32, a, TN_I8, b, 0, true));
}

/* Small values all types hold; every pair, odd count, odd addresses. */
TEST(small_values_every_pair) {
  for (int from = 1; from < TN_N_DTYPES; from++) {
    for (int to = 1; to < TN_N_DTYPES; to++) {
      if (!number(from) || !number(to)) continue;
      uint8_t src[80] = {0}, dst[80] = {0};
      for (int i = 0; i < 7; i++) tn_store_i64((tn_dtype)from, src + 1, i, 1);
      CHECK(tn_convert((tn_dtype)to, dst + 3, (tn_dtype)from, src + 1, 7, true));
      for (int i = 0; i < 7; i++) CHECK_EQ_F(tn_load_f64((tn_dtype)to, dst + 3, i), 1);
      size_t n;
      CHECK(tn_dtype_bytes((tn_dtype)to, 7, &n) && dst[3 + n] == 0 && dst[2] == 0);
    }
  }
}

TEST(floats_to_integers) { /* ONNX leaves out of range open; here it saturates and NaN is 0 */
  const float x[] = {-1e30f, -129, -128.9f, -1.9f, -0.9f, 0.9f,     127.9f,   128,
                     255.9f, 256,  3e9f,    1e30f, NAN,   INFINITY, -INFINITY};
  enum { N = TN_COUNT(x) };
  int8_t i8[N];
  uint8_t u8[N], b[N];
  int32_t i32[N];
  int64_t i64[N];
  CHECK(tn_convert(TN_I8, i8, TN_F32, x, N, true) && tn_convert(TN_U8, u8, TN_F32, x, N, true));
  CHECK(tn_convert(TN_I32, i32, TN_F32, x, N, true) && tn_convert(TN_I64, i64, TN_F32, x, N, true));
  CHECK(tn_convert(TN_BOOL, b, TN_F32, x, N, true));
  static const int want8[N] = {-128, -128, -128, -1, 0, 0, 127, 127, 127, 127, 127, 127, 0, 127, -128};
  static const int want8u[N] = {0, 0, 0, 0, 0, 0, 127, 128, 255, 255, 255, 255, 0, 255, 0};
  for (int i = 0; i < N; i++) {
    CHECK_EQ_I(i8[i], want8[i]);
    CHECK_EQ_I(u8[i], want8u[i]);
    CHECK_EQ_I(b[i], 1);
    uint8_t slow[8];
    tn_store_f64(TN_I32, slow, 0, (double)x[i]);
    CHECK_EQ_I(i32[i], tn_load_i64(TN_I32, slow, 0));
    CHECK_EQ_I(i64[i], tn_load_i64(TN_F32, x, i));
  }
  CHECK_EQ_I(i32[10], INT32_MAX);
  CHECK_EQ_I(i64[10], 3000000000);
  CHECK_EQ_I(i64[0], INT64_MIN);
}

TEST(integers_wrap) {
  const int64_t x[] = {200, -200, 65536 + 7, (INT64_C(1) << 32) + 5, -1};
  int8_t i8[5];
  int32_t i32[5];
  uint8_t i4[3], b[5];
  CHECK(tn_convert(TN_I8, i8, TN_I64, x, 5, true) && tn_convert(TN_I32, i32, TN_I64, x, 5, true));
  CHECK(tn_convert(TN_I4, i4, TN_I64, x, 5, true) && tn_convert(TN_BOOL, b, TN_I64, x, 5, true));
  CHECK_EQ_I(i8[0], -56);
  CHECK_EQ_I(i8[1], 56);
  CHECK_EQ_I(i32[3], 5);
  CHECK_EQ_I(i32[4], -1);
  CHECK_EQ_I(tn_load_i64(TN_I4, i4, 0), -8); /* 200 = 0xc8 */
  CHECK_EQ_I(tn_load_i64(TN_I4, i4, 4), -1);
  CHECK_EQ_I(b[4], 1);
}

TEST(large_integers_round_once) {
  const int64_t x[] = {(INT64_C(1) << 62) + (INT64_C(1) << 54) + 1, -((INT64_C(1) << 62) + (INT64_C(1) << 54) + 1),
                       INT64_MIN};
  const uint64_t u[] = {UINT64_MAX, (UINT64_C(1) << 63) + (UINT64_C(1) << 55) + 1, 9007199254740993u};
  uint16_t h[3];
  float f[3];
  double d[3];
  CHECK(tn_convert(TN_BF16, h, TN_I64, x, 3, true));
  CHECK(h[0] == 0x5e81 && h[1] == 0xde81 && h[2] == 0xdf00);
  CHECK(tn_convert(TN_BF16, h, TN_U64, u, 3, true));
  CHECK(h[0] == 0x5f80 && h[1] == 0x5f01);
  CHECK(tn_convert(TN_F32, f, TN_U64, u, 3, true) && tn_convert(TN_F64, d, TN_U64, u, 3, true));
  CHECK_EQ_F(f[0], 0x1p64);
  CHECK_EQ_F(d[2], 9007199254740992.0);
}

TEST(saturate_reaches_the_8_bit_kinds) {
  const float x[] = {1000, -INFINITY};
  const int32_t i[] = {1000, -70000};
  uint8_t b[2];
  CHECK(tn_convert(TN_F8E4M3FN, b, TN_F32, x, 2, true) && b[0] == 0x7e && b[1] == 0xfe);
  CHECK(tn_convert(TN_F8E4M3FN, b, TN_F32, x, 2, false) && b[0] == 0x7f && b[1] == 0xff);
  CHECK(tn_convert(TN_F8E5M2, b, TN_I32, i, 2, true) && b[1] == 0xfb);
  CHECK(tn_convert(TN_F8E5M2, b, TN_I32, i, 2, false) && b[1] == 0xfc);
}

TEST(complex) {
  const float c[] = {1, -2, 3, 4};
  double d[4];
  CHECK(tn_convert(TN_C128, d, TN_C64, c, 2, true));
  CHECK_EQ_F(d[1], -2);
  CHECK_EQ_F(d[3], 4);
}

TEST(float_pairs_agree_with_single_elements) {
  static const tn_dtype kinds[] = {TN_F32, TN_F64, TN_F16, TN_BF16, TN_F8E5M2};
  const float x[] = {0, -0.0f, 1, -1.5f, 65504, 65520, 1e-7f, 6e-8f, 3e38f, 1e-40f, INFINITY, 0.1f};
  enum { N = TN_COUNT(x) };
  for (size_t a = 0; a < TN_COUNT(kinds); a++) {
    double src[N], dst[N], one;
    for (int i = 0; i < N; i++) tn_store_f64(kinds[a], src, i, (double)x[i]);
    for (size_t b = 0; b < TN_COUNT(kinds); b++) {
      CHECK(tn_convert(kinds[b], dst, kinds[a], src, N, true));
      for (int i = 0; i < N; i++) {
        tn_store_f64(kinds[b], &one, 0, tn_load_f64(kinds[a], src, i));
        CHECK_EQ_F(tn_load_f64(kinds[b], dst, i), tn_load_f64(kinds[b], &one, 0));
      }
    }
  }
}
