#include "base/half.h"

#include "base/status.h"
#include "tenon/dtype.h"
#include "test.h"

static uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

/* The value of a code by the textbook formula, for finite codes without sign. */
static double formula(int code, int mantissa, int bias) {
  const int e = code >> mantissa, m = code & ((1 << mantissa) - 1);
  return e ? (1.0 + ldexp(m, -mantissa)) * ldexp(1, e - bias) : ldexp(m, 1 - bias - mantissa);
}

TEST(f16_every_code) {
  for (int code = 0; code < 0x7c00; code++) {
    const float v = tn_f16_to_f32((uint16_t)code);
    CHECK((double)v == formula(code, 10, 15));
    CHECK(bits_of(tn_f16_to_f32((uint16_t)(code | 0x8000))) == (bits_of(v) | 0x80000000u));
    CHECK(tn_f32_to_f16(v) == code && tn_f32_to_f16(-v) == (code | 0x8000));
    CHECK(tn_f64_to_f16((double)v) == code && tn_f64_to_f16(-(double)v) == (code | 0x8000));
  }
  CHECK(bits_of(tn_f16_to_f32(0x7c00)) == 0x7f800000u && bits_of(tn_f16_to_f32(0xfc00)) == 0xff800000u);
  for (int code = 0x7c01; code < 0x8000; code++) {
    CHECK(isnan(tn_f16_to_f32((uint16_t)code)));
    CHECK(tn_f32_to_f16(tn_f16_to_f32((uint16_t)code)) == (code | 0x200)); /* quiet, payload kept */
  }
}

TEST(f16_rounds_to_even) {
  for (int code = 0; code < 0x7c00; code++) { /* the last middle is 65520, which goes to infinity */
    const double low = formula(code, 10, 15), high = code == 0x7bff ? 65536 : formula(code + 1, 10, 15);
    const double middle = (low + high) / 2;
    const int even = code + (code & 1);
    CHECK(tn_f64_to_f16(middle) == even && tn_f32_to_f16((float)middle) == even);
    CHECK(tn_f64_to_f16(nextafter(middle, 0)) == code && tn_f64_to_f16(nextafter(middle, 1e9)) == code + 1);
    CHECK(tn_f32_to_f16(nextafterf((float)middle, 0)) == code &&
          tn_f32_to_f16(nextafterf((float)middle, 1e9f)) == code + 1);
  }
  CHECK(tn_f32_to_f16(INFINITY) == 0x7c00 && tn_f64_to_f16(-(double)INFINITY) == 0xfc00);
  CHECK(tn_f32_to_f16(3e38f) == 0x7c00 && tn_f64_to_f16(1e300) == 0x7c00 && tn_f64_to_f16(5e-324) == 0);
}

TEST(bf16) {
  for (int code = 0; code < 0x7f80; code++) {
    const double low = formula(code, 7, 127), high = formula(code + 1, 7, 127), middle = (low + high) / 2;
    CHECK((double)tn_bf16_to_f32((uint16_t)code) == low);
    CHECK(tn_f64_to_bf16(-low) == (code | 0x8000) && tn_f32_to_bf16((float)low) == code);
    const int even = code + (code & 1);
    CHECK(tn_f64_to_bf16(middle) == even && tn_f32_to_bf16((float)middle) == even);
    CHECK(tn_f64_to_bf16(nextafter(middle, 0)) == code && tn_f64_to_bf16(nextafter(middle, 1e300)) == code + 1);
  }
  CHECK(tn_f32_to_bf16(INFINITY) == 0x7f80 && tn_f64_to_bf16(-1e300) == 0xff80);
  CHECK((tn_f32_to_bf16(NAN) & 0x7fff) > 0x7f80 && (tn_f64_to_bf16((double)NAN) & 0x7fff) > 0x7f80);
  CHECK(isnan(tn_bf16_to_f32(0x7f81)));
  CHECK(tn_f64_to_bf16(1.00390625000000001) == 0x3f80); /* reads as the middle exactly */
}

typedef struct short_kind {
  int dtype, mantissa, bias, max, sign;
} short_kind;

static const short_kind short_kinds[] = {
    {TN_F8E4M3FN, 3, 7, 0x7e, 0x80},    {TN_F8E4M3FNUZ, 3, 8, 0x7f, 0x80}, {TN_F8E5M2, 2, 15, 0x7b, 0x80},
    {TN_F8E5M2FNUZ, 2, 16, 0x7f, 0x80}, {TN_F4E2M1, 1, 1, 7, 8},
};

TEST(f8_finite) {
  for (size_t i = 0; i < TN_COUNT(short_kinds); i++) {
    const short_kind k = short_kinds[i];
    const bool no_minus_zero = k.dtype == TN_F8E4M3FNUZ || k.dtype == TN_F8E5M2FNUZ;
    for (int code = 0; code <= k.max; code++) {
      const double low = formula(code, k.mantissa, k.bias), middle = (low + formula(code + 1, k.mantissa, k.bias)) / 2;
      const int minus = code == 0 && no_minus_zero ? 0 : code | k.sign, even = code + (code & 1);
      CHECK_EQ_F(tn_f8_to_f32(k.dtype, (uint8_t)code), low);
      CHECK_EQ_F(tn_f8_to_f32(k.dtype, (uint8_t)minus), minus ? -low : 0);
      CHECK_EQ_I(tn_f64_to_f8(k.dtype, low, false), code);
      CHECK_EQ_I(tn_f64_to_f8(k.dtype, -low, true), minus);
      if (code == k.max) continue;
      CHECK_EQ_I(tn_f64_to_f8(k.dtype, middle, true), even);
      CHECK_EQ_I(tn_f64_to_f8(k.dtype, nextafter(middle, 0), false), code);
      CHECK_EQ_I(tn_f64_to_f8(k.dtype, nextafter(middle, 1e9), false), code + 1);
    }
  }
}

/* Cast of ONNX Runtime 1.2x (E5M2, E4M3FN, FNUZ) and the tables of ONNX Cast and of its page on float4:
 * saturated: NaN, -NaN, Inf, -Inf, -0; not saturated: the same. */
TEST(f8_special) {
  static const struct {
    int dtype;
    uint8_t want[2][5];
  } rows[] = {
      {TN_F8E4M3FN, {{0x7f, 0xff, 0x7f, 0xff, 0x80}, {0x7f, 0xff, 0x7e, 0xfe, 0x80}}},
      {TN_F8E4M3FNUZ, {{0x80, 0x80, 0x80, 0x80, 0x00}, {0x80, 0x80, 0x7f, 0xff, 0x00}}},
      {TN_F8E5M2, {{0x7f, 0xff, 0x7c, 0xfc, 0x80}, {0x7f, 0xff, 0x7b, 0xfb, 0x80}}},
      {TN_F8E5M2FNUZ, {{0x80, 0x80, 0x80, 0x80, 0x00}, {0x80, 0x80, 0x7f, 0xff, 0x00}}},
      {TN_F4E2M1, {{0x08, 0x08, 0x07, 0x0f, 0x08}, {0x08, 0x08, 0x07, 0x0f, 0x08}}},
  };
  const double x[] = {copysign((double)NAN, 1), copysign((double)NAN, -1), (double)INFINITY, -(double)INFINITY, -0.0};
  for (size_t i = 0; i < TN_COUNT(rows); i++) {
    for (int saturate = 0; saturate < 2; saturate++) {
      for (size_t k = 0; k < TN_COUNT(x); k++)
        CHECK_EQ_I(tn_f64_to_f8(rows[i].dtype, x[k], saturate), rows[i].want[saturate][k]);
    }
  }
}

TEST(f8_overflow) {
  CHECK_EQ_I(tn_f64_to_f8(TN_F8E4M3FN, 464, false), 0x7e); /* the middle of 448 and 480 goes to the even 448 */
  CHECK_EQ_I(tn_f64_to_f8(TN_F8E4M3FN, 464.1, false), 0x7f);
  CHECK_EQ_I(tn_f64_to_f8(TN_F8E4M3FN, -1e30, false), 0xff);
  CHECK_EQ_I(tn_f64_to_f8(TN_F8E4M3FN, -1e30, true), 0xfe);
  CHECK_EQ_I(tn_f64_to_f8(TN_F8E4M3FNUZ, 247.9, false), 0x7f); /* 240 largest, 248 the middle */
  CHECK_EQ_I(tn_f64_to_f8(TN_F8E4M3FNUZ, 248, false), 0x80);
  CHECK_EQ_I(tn_f64_to_f8(TN_F8E4M3FNUZ, 1e300, true), 0x7f);
  CHECK_EQ_I(tn_f64_to_f8(TN_F8E5M2, 61440, false), 0x7c); /* the middle of 57344 and 65536 */
  CHECK_EQ_I(tn_f64_to_f8(TN_F8E5M2, 61439, false), 0x7b);
  CHECK_EQ_I(tn_f64_to_f8(TN_F8E5M2, -61440, true), 0xfb);
  CHECK_EQ_I(tn_f64_to_f8(TN_F8E5M2FNUZ, 61440, false), 0x80);
  CHECK_EQ_I(tn_f64_to_f8(TN_F4E2M1, -7, false), 0x0f);
  CHECK_EQ_I(tn_f64_to_f8(TN_F4E2M1, 5, true), 6); /* the middle of 4 and 6 */
}

TEST(f8_not_a_number) {
  CHECK(isnan(tn_f8_to_f32(TN_F8E4M3FN, 0x7f)) && isnan(tn_f8_to_f32(TN_F8E4M3FN, 0xff)));
  CHECK(isnan(tn_f8_to_f32(TN_F8E4M3FNUZ, 0x80)) && isnan(tn_f8_to_f32(TN_F8E5M2FNUZ, 0x80)));
  CHECK_EQ_F(tn_f8_to_f32(TN_F8E4M3FNUZ, 0xff), -240);
  CHECK_EQ_F(tn_f8_to_f32(TN_F8E5M2, 0x7c), INFINITY);
  CHECK_EQ_F(tn_f8_to_f32(TN_F8E5M2, 0xfc), -INFINITY);
  for (int b = 0x7d; b < 0x80; b++) CHECK(isnan(tn_f8_to_f32(TN_F8E5M2, (uint8_t)b)));
}

TEST(e8m0) {
  for (int b = 0; b < 255; b++) {
    const double v = ldexp(1, b - 127);
    CHECK_EQ_F(tn_f8_to_f32(TN_F8E8M0, (uint8_t)b), v);
    CHECK_EQ_I(tn_f64_to_f8(TN_F8E8M0, v, false), b);
    if (b < 254) CHECK_EQ_I(tn_f64_to_f8(TN_F8E8M0, nextafter(v, 1e300), true), b + 1); /* up */
  }
  CHECK(isnan(tn_f8_to_f32(TN_F8E8M0, 255)));
  /* saturated and not, as ONNX Runtime: NaN, Inf, past the largest, 0, negative */
  const double x[] = {(double)NAN, (double)INFINITY, 0x1.8p127, 0, -1};
  const uint8_t want[2][5] = {{0xff, 0xff, 0xff, 0xff, 0xff}, {0xff, 0xfe, 0xfe, 0, 0}};
  for (size_t i = 0; i < TN_COUNT(x); i++) {
    CHECK_EQ_I(tn_f64_to_f8(TN_F8E8M0, x[i], false), want[0][i]);
    CHECK_EQ_I(tn_f64_to_f8(TN_F8E8M0, x[i], true), want[1][i]);
  }
}

TEST(odd_double) {
  CHECK_EQ_F(tn_u64_to_odd_f64((UINT64_C(1) << 53) - 1), 9007199254740991.0);
  CHECK_EQ_F(tn_u64_to_odd_f64((UINT64_C(1) << 53) + 1), 9007199254740994.0); /* 2 is the last bit there */
  CHECK_EQ_F(tn_u64_to_odd_f64(UINT64_MAX), 0x1.fffffffffffffp63);
  CHECK_EQ_F(tn_u64_to_odd_f64(UINT64_C(1) << 63), 0x1p63);
}
