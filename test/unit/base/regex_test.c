/* Regular expressions: what RE2's syntax page says. */
#include "base/regex.h"

#include "test.h"

static tn_regex_inst room[TN_REGEX_ROOM];
static int32_t work[TN_REGEX_WORK * TN_REGEX_ROOM];

static bool matches(const char *pattern, const char *text) {
  tn_regex r;
  tn_regex_fault fault;
  if (tn_regex_compile(tn_str_of(pattern), room, &r, &fault) == TN_OK)
    return tn_regex_full_match(&r, tn_str_of(text), work);
  printf("%s: %s at %zu\n", pattern, fault.text, fault.at);
  return CHECK(false);
}
#define YES(pattern, text) CHECK(matches(pattern, text))
#define NO(pattern, text) CHECK(!matches(pattern, text))

static tn_status refused(const char *pattern) {
  tn_regex r;
  tn_regex_fault fault = {NULL, 0};
  const tn_status s = tn_regex_compile(tn_str_of(pattern), room, &r, &fault);
  CHECK(s == TN_OK || (fault.text != NULL && fault.at <= strlen(pattern)));
  return s;
}

TEST(characters) {
  YES("", "");
  NO("", "a");
  YES("abc", "abc");
  NO("abc", "abcd");
  NO("abc", "xabc");
  YES("a.c",
      "a\xc3\xa9"
      "c");
  NO("a.c", "a\nc");
  YES("(?s)a.c", "a\nc");
  YES("\\x41\\x{20AC}\\101\\.\\t",
      "A\xe2\x82\xac"
      "A.\t");
  YES("\\Qa.b*\\E", "a.b*");
  YES("\\Qab\\E+", "abbb");
  NO("\\Qa.b\\E", "axb");
  YES("a{b", "a{b");
}

TEST(classes) {
  YES("[a-c]+", "abcabc");
  NO("[a-c]+", "abd");
  YES("[^a-c]", "d");
  NO("[^a-c]", "b");
  YES("[]a]+", "a]");
  YES("[a-]+", "-a");
  YES("\\d\\D\\w\\W\\s\\S", "5a_- x");
  NO("\\d", "a");
  YES("[[:alpha:]_][[:alnum:]_]*", "_a1");
  YES("[[:^digit:]\\d]+", "a1");
  YES("[^\\D]", "7");
  NO("[^\\d]", "7");
  YES("[\xce\xb1-\xcf\x89]", "\xce\xb2");
}

TEST(repetition) {
  YES("a*", "");
  YES("a*b", "aaab");
  NO("a+", "");
  YES("a+", "aaa");
  YES("ab?c", "ac");
  YES("a{3}", "aaa");
  NO("a{3}", "aa");
  NO("a{3}", "aaaa");
  YES("a{2,}", "aaaaa");
  NO("a{2,}", "a");
  YES("(ab){1,3}", "ababab");
  NO("(ab){1,3}", "abababab");
  YES("a{0,2}b", "b");
  YES("a{0,2}b", "aab");
  NO("a{0,2}b", "aaab");
  YES("a{0}b", "b");
  YES("(a*)*", "aaaa");
  YES("(a|b*)+c", "abbac");
  YES("a*?b+?c??", "aab");
}

TEST(alternatives_and_groups) {
  YES("a|bc|d", "bc");
  NO("a|bc|d", "b");
  YES("(a|b)(c|d)", "bd");
  YES("(?:x|)y", "y");
  YES("(?P<year>\\d{4})-(?<m>\\d\\d)", "2024-07");
  YES("(?i)straSSe|x", "STRASSE");
  YES("(?i:a)b", "Ab");
  NO("(?i:a)b", "AB");
  YES("a(?i)b|c", "C");
  YES("(?i)\xc3\xa9", "\xc3\x89");
  YES("(?i)[a-z]+", "QuEry");
  NO("(?i)[^a]", "A");
}

TEST(places) {
  YES("^abc$", "abc");
  YES("\\Aabc\\z", "abc");
  NO("a^b", "ab");
  NO("a$\nb", "a\nb");
  YES("(?m)a$\n^b", "a\nb");
  YES("a\\b.\\bb", "a b");
  NO("a\\bb", "ab");
  YES("a\\Bb", "ab");
}

TEST(mail_addresses) {
  const char *const mail = "(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)";
  YES(mail, "account@gmail.com");
  YES(mail, "account@yahoo.com");
  NO(mail, "not email");
  NO(mail, "please@hotmail.com");
}

/* The first match at or behind `from`, the longest one there: "begin-end", or "none". */
static bool finds(const char *pattern, const char *text, size_t from, const char *want) {
  static size_t starts[2 * TN_REGEX_ROOM];
  tn_regex r;
  tn_regex_fault fault;
  size_t begin = 0, end = 0;
  char got[64] = "none";
  if (!CHECK(tn_regex_compile(tn_str_of(pattern), room, &r, &fault) == TN_OK)) return false;
  if (tn_regex_find(&r, tn_str_of(text), from, work, starts, &begin, &end))
    snprintf(got, sizeof got, "%zu-%zu", begin, end);
  if (strcmp(got, want) != 0) printf("%s in %s from %zu: %s, expected %s\n", pattern, text, from, got, want);
  return strcmp(got, want) == 0;
}

TEST(searching) {
  CHECK(finds("a+", "xaay", 0, "1-3"));
  CHECK(finds("a+", "xaay", 2, "2-3"));
  CHECK(finds("foo|foobar", "a foobar", 0, "2-8"));
  CHECK(finds("ab|bcd", "abcd", 0, "0-2")); /* the first before the longer */
  CHECK(finds("abcx|bc", "abcd", 0, "1-3"));
  CHECK(finds("a*", "baa", 0, "0-0"));
  CHECK(finds("z", "abc", 0, "none"));
  CHECK(finds("z*", "abc", 3, "3-3"));
  CHECK(finds("z*", "abc", 4, "none"));
  CHECK(finds("^a", "aa", 1, "none")); /* the text before still counts */
  CHECK(finds("\\bc", "ab cd", 0, "3-4"));
  CHECK(finds("\\bb", "ab", 1, "none"));
  CHECK(finds("c$", "c\nc", 0, "2-3"));
  CHECK(finds("(?i)\xc3\xa9", "x\xc3\x89", 0, "1-3"));
}

/* Two million steps of each instruction; a second loop over the text would be 10^12. */
TEST(long_texts) {
  static char text[(1 << 20) + 1];
  static size_t starts[2 * TN_REGEX_ROOM];
  tn_regex r;
  tn_regex_fault fault;
  size_t begin, end;
  memset(text, 'a', sizeof text - 1);
  NO("(a*)*b", text);
  CHECK(tn_regex_compile(tn_str_of("a*b|a*c"), room, &r, &fault) == TN_OK);
  CHECK(!tn_regex_find(&r, tn_str_of(text), 0, work, starts, &begin, &end));
}

/* Backtracking would take 2^30 steps. */
TEST(time_is_linear) {
  YES("(a?){30}a{30}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
  NO("(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

TEST(refusals) {
  static const char *const invalid[] = {"(",       "a)",  "[a",  "[z-a]", "*a",     "a**",    "a{3,2}",
                                        "a{1001}", "\\",  "\\1", "(?=a)", "(?<=a)", "(?P=n)", "[[:nix:]]",
                                        "\\xZ",    "a|*", "\\y", "(?",    "(?P<>a)"};
  for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
    if (!CHECK(refused(invalid[i]) == TN_INVALID)) printf("%s\n", invalid[i]);
  CHECK(refused("\\p{Greek}") == TN_UNSUPPORTED);
  CHECK(refused("\\C") == TN_UNSUPPORTED);
  CHECK(refused("((a{1000}){1000}){1000}") == TN_LIMIT);
}

TEST(bytes_that_are_no_text) {
  YES(".", "\xff");
  NO("a", "\xff");
}
