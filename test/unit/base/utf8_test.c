/* UTF-8: sequences, case, white space. */
#include "base/utf8.h"

#include "test.h"

static const char *turned(const char *z, tn_case to, bool is_ascii) {
  static char out[256];
  const tn_str s = tn_str_of(z);
  CHECK(tn_utf8_case_room(s) < sizeof out);
  out[tn_utf8_case(out, s, to, is_ascii)] = 0;
  return out;
}

TEST(case_mappings) {
  CHECK_STR(turned("Monday \xc3\x89\xce\xa3\xd0\x96", TN_CASE_LOWER, false), "monday \xc3\xa9\xcf\x83\xd0\xb6");
  CHECK_STR(turned("stra\xc3\x9f"
                   "e \xc3\xa9\xcf\x83",
                   TN_CASE_UPPER, false),
            "STRA\xc3\x9f"
            "E \xc3\x89\xce\xa3");
  CHECK_STR(turned("a\xc3\xa9", TN_CASE_UPPER, true), "A\xc3\xa9");
  CHECK_STR(turned("aB", TN_CASE_NONE, false), "aB");
  CHECK_STR(turned("a\xff\xc3", TN_CASE_UPPER, false), "A\xff\xc3");
  CHECK_EQ_I(tn_utf8_lower(0x1e9e), 0xdf);
  CHECK_EQ_I(tn_utf8_upper(0x10d), 0x10c);
  CHECK_EQ_I(tn_utf8_lower(0x10400), 0x10428);
}

TEST(sequences) {
  static const char *const bad[] = {"\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    size_t at = 0;
    CHECK_EQ_I(tn_utf8_next(tn_str_of(bad[i]), &at), 0xfffd);
    CHECK_EQ_I(at, 1);
  }
  static const uint32_t good[] = {0x41, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char text[TN_UTF8_MAX];
    const tn_str s = {text, tn_utf8_put(text, good[i])};
    size_t at = 0;
    CHECK_EQ_I(tn_utf8_next(s, &at), good[i]);
    CHECK_EQ_I(at, s.len);
  }
}

TEST(white_space) {
  CHECK(tn_utf8_is_space(' ') && tn_utf8_is_space('\n') && tn_utf8_is_space(0x3000) && tn_utf8_is_space(0xa0));
  CHECK(!tn_utf8_is_space('x') && !tn_utf8_is_space(0x200b));
}
