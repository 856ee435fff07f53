#include "base/text.h"

#include <float.h>

#include "base/rng.h"
#include "test.h"

typedef struct text_fixture {
  jmp_buf oom;
  tn_arena arena;
  tn_text t;
} text_fixture;

static text_fixture fixture;

#define TEXT_BEGIN()                                                  \
  tn_arena_init(&fixture.arena, tn_allocator_system(), &fixture.oom); \
  if (setjmp(fixture.oom)) {                                          \
    CHECK(false);                                                     \
    return;                                                           \
  }                                                                   \
  tn_text *const t = &fixture.t;                                      \
  tn_text_init(t, &fixture.arena)
#define TEXT_END() tn_arena_drop(&fixture.arena)

TEST(building) {
  TEXT_BEGIN();
  CHECK_STR(tn_text_z(t), "");
  tn_text_add(t, (tn_str){"abc", 2});
  tn_text_addz(t, "-");
  tn_text_printf(t, "%d", 7);
  CHECK_STR(tn_text_z(t), "ab-7");
  tn_text_init(t, &fixture.arena);
  for (int i = 0; i < 10000; i++) tn_text_printf(t, "%04d", i);
  CHECK_EQ_I(t->len, 40000);
  CHECK(memcmp(tn_text_z(t) + 4 * 9876, "9876", 4) == 0);
  tn_text_init(t, &fixture.arena);
  for (int n = 60; n < 70; n++) tn_text_printf(t, "%0*d", n, n); /* around the first capacity */
  CHECK_EQ_I(t->len, 645);
  TEXT_END();
}

TEST(quote) {
  TEXT_BEGIN();
  tn_text_quote(t, (tn_str){"a\"b\\c\n\t\r\0\x7f\xc3\xa9\xff", 13});
  CHECK_STR(tn_text_z(t), "\"a\\\"b\\\\c\\n\\t\\x0d\\x00\\x7f\xc3\xa9\\xff\"");
  TEXT_END();
}

TEST(json) {
  TEXT_BEGIN();
  tn_text_json(t, (tn_str){"a\"\\\n\0\xe2\x82\xac\xff\xed\xa0\x80z\xe2\x82", 15});
  CHECK_STR(tn_text_z(t),
            "\"a\\\"\\\\\\u000a\\u0000\xe2\x82\xac\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf"
            "\xbd\"");
  tn_text_init(t, &fixture.arena);
  tn_text_json(t, (tn_str){"\xc0\x80\xf4\x90\x80\x80\xf0\x9f\x98\x80", 10}); /* overlong, too large, fine */
  CHECK_STR(tn_text_z(t),
            "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80\"");
  TEXT_END();
}

TEST(shortest_f64) { /* digits as Python's repr */
  static const struct {
    double v;
    const char *want;
  } rows[] = {
      {0, "0.0"},
      {-0.0, "-0.0"},
      {1, "1.0"},
      {0.1, "0.1"},
      {1.0 / 3, "0.3333333333333333"},
      {1e20, "1e20"},
      {1e-7, "1e-7"},
      {2.5e-10, "2.5e-10"},
      {0.1 + 0.2, "0.30000000000000004"},
      {123456789012345680.0, "1.2345678901234568e17"},
      {5e-324, "5e-324"},
      {DBL_MIN, "2.2250738585072014e-308"},
      {DBL_MAX, "1.7976931348623157e308"},
      {100, "100.0"},
      {9007199254740993.0, "9007199254740992.0"},
      {-1.5, "-1.5"},
      {2e-323, "2e-323"},
      {1e15, "1e15"},
      {1e100, "1e100"},
  };
  TEXT_BEGIN();
  for (size_t i = 0; i < TN_COUNT(rows); i++) {
    tn_text_init(t, &fixture.arena);
    tn_text_f64(t, rows[i].v);
    CHECK_STR(tn_text_z(t), rows[i].want);
  }
  tn_text_init(t, &fixture.arena);
  tn_text_f64(t, (double)NAN);
  tn_text_addz(t, " ");
  tn_text_f64(t, -(double)INFINITY);
  tn_text_addz(t, " ");
  tn_text_f32(t, INFINITY);
  CHECK_STR(tn_text_z(t), "nan -inf inf");
  TEXT_END();
}

TEST(shortest_f32) { /* digits as numpy's str(float32) */
  static const struct {
    float v;
    const char *want;
  } rows[] = {
      {0.1f, "0.1"},     {1.0f / 3, "0.33333334"},  {16777216, "16777216.0"},
      {1e-45f, "1e-45"}, {FLT_MAX, "3.4028235e38"}, {FLT_MIN, "1.1754944e-38"},
      {0.7f, "0.7"},     {3.1415927f, "3.1415927"}, {1e-5f, "1e-5"},
      {-2, "-2.0"},
  };
  TEXT_BEGIN();
  for (size_t i = 0; i < TN_COUNT(rows); i++) {
    tn_text_init(t, &fixture.arena);
    tn_text_f32(t, rows[i].v);
    CHECK_STR(tn_text_z(t), rows[i].want);
  }
  TEXT_END();
}

TEST(round_trip) {
  TEXT_BEGIN();
  for (uint64_t i = 0; i < 3000; i++) {
    const uint64_t u = tn_rng_u64(11, i);
    const uint32_t w = (uint32_t)u;
    double d, back;
    float f;
    memcpy(&d, &u, sizeof d);
    memcpy(&f, &w, sizeof f);
    if (!isfinite(d) || !isfinite(f)) continue;
    tn_text_init(t, &fixture.arena);
    tn_text_f64(t, d);
    CHECK(tn_text_parse_f64((tn_str){t->ptr, t->len}, &back));
    CHECK_EQ_F(back, d);
    tn_text_init(t, &fixture.arena);
    tn_text_f32(t, f);
    CHECK(tn_text_parse_f64((tn_str){t->ptr, t->len}, &back));
    CHECK_EQ_F((float)back, f);
  }
  TEXT_END();
}

TEST(parse_f64) {
  double v;
  CHECK(tn_text_parse_f64(tn_str_of("12"), &v) && CHECK_EQ_F(v, 12));
  CHECK(tn_text_parse_f64(tn_str_of("-1.5e+3"), &v) && CHECK_EQ_F(v, -1500));
  CHECK(tn_text_parse_f64(tn_str_of("1e-999"), &v) && CHECK_EQ_F(v, 0));
  static const char *const bad[] = {"", "1e999", "0x10", "inf", "nan", " 1", "1 ", "1,5", "e5", "--1", "1e", "."};
  for (size_t i = 0; i < TN_COUNT(bad); i++) CHECK(!tn_text_parse_f64(tn_str_of(bad[i]), &v));
  char longest[500];
  memset(longest, '1', sizeof longest);
  CHECK(!tn_text_parse_f64((tn_str){longest, sizeof longest}, &v));
}
