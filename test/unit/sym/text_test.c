/* The text form: precedence, names, refusals, round trips. */
#include "sym_testing.h"

/* text -> node -> text -> the same node */
#define CHECK_BACK(text)                           \
  do {                                             \
    const tn_sym e_ = sym_of(b, text);             \
    CHECK(sym_of(b, tn_sym_text(b->t, e_)) == e_); \
  } while (0)

SYM_TEST(precedence) {
  CHECK(sym_of(b, "a + b*c") == sym_of(b, "a + (b*c)"));
  CHECK(sym_of(b, "a*b//c*d % e") == sym_of(b, "(((a*b)//c)*d) % e"));
  CHECK(sym_of(b, "-a//2") == sym_of(b, "(-a)//2"));
  CHECK(sym_of(b, "--a") == sym_of(b, "a"));
  CHECK(sym_of(b, "a - b - c") == sym_of(b, "a - (b + c)"));
  CHECK(sym_of(b, "not a == b") == sym_of(b, "a != b"));
  CHECK(sym_of(b, "a == b or c == d and e == f") == sym_of(b, "a == b or (c == d and e == f)"));
  CHECK(sym_of(b, "a < b <= c") == sym_of(b, "a < b and b <= c"));
  CHECK(sym_of(b, "a >= b") == sym_of(b, "b <= a"));
}

SYM_TEST(round_trips) {
  static const char *const texts[] = {"-(x//2)",
                                      "2*(x//3)",
                                      "x*(y//3)",
                                      "x//(y*z)",
                                      "(x + 1)//2",
                                      "-x//y",
                                      "2*x//y",
                                      "-2*x//y",
                                      "x//y//z",
                                      "x//(y//z)",
                                      "x % y % z",
                                      "x % (y % z)",
                                      "(x < y) + 1",
                                      "2*(x < y)",
                                      "(x == y) == z",
                                      "not (x and y)",
                                      "x == y and z == w and u == v",
                                      "x == y or z == w or u == v",
                                      "select(x < y, x//0, overflow)",
                                      "f32scale(x, 0.1)",
                                      "f32ratio(x, y + 1, 2*z)",
                                      "f32scale(x, -0)",
                                      "f32scale(x, inf)",
                                      "f32scale(x, -nan)",
                                      "f32scale(x, 1e-40)",
                                      "min(x, y, 7)",
                                      "ceildiv(x, y)",
                                      "-9223372036854775807 - 1",
                                      "x - 9223372036854775807 - 1",
                                      "x*(-9223372036854775807 - 1)",
                                      "\"a b\" + \"min\" + \"1\" + \"not\" + \"\\\"\\n\"",
                                      "\"\" + 1",
                                      "\"a.b.c\" + _x",
                                      "-(x == y) - 2",
                                      "x == 9223372036854775807",
                                      "-x*y",
                                      "-(x % 2)*y"};
  for (size_t i = 0; i < TN_COUNT(texts); i++) CHECK_BACK(texts[i]);
}

SYM_TEST(printing) {
  CHECK_SYM("past+seq", "past + seq");
  CHECK_SYM("(s-1)//8 + 1", "(s + 7)//8");
  CHECK_SYM("\"max\"", "\"max\"");
  CHECK_SYM("2*a.b.0", "2*\"a.b.0\"");
  CHECK_SYM("\"plain\"", "plain");
  CHECK_SYM("\"batch size\"*2", "2*\"batch size\"");
  CHECK_SYM("-(p//2)", "-(p//2)");
  CHECK_SYM("3 - p//2", "3 - p//2");
  CHECK_SYM("overflow", "overflow");
}

SYM_TEST(refusals) {
  static const char *const bad[][2] = {
      {"", "expected an expression, found the end"},
      {"1 +", "expected an expression"},
      {"a b", "expected an operator or the end, found 'b'"},
      {"3 & 8", "is no expression"},
      {"a / b", "expected an operator or the end, found '/'"},
      {"foo(x)", "that name is no function"},
      {"min()", "expected an expression"},
      {"ceildiv(a)", "another argument"},
      {"ceildiv(a, b, c)", "expected ')'"},
      {"select(a, b)", "another argument"},
      {"f32scale(a, b)", "expected a float"},
      {"min + 1", "expected an expression, found 'min'"},
      {"(a", "expected ')'"},
      {"a +* b", "expected an expression"},
      {"99999999999999999999", "is no expression"},
      {"\"a\\x00b\"", "zero byte"},
      {"a = b", "expected an operator or the end"},
      {"1x", "is no expression"},
  };
  for (size_t i = 0; i < TN_COUNT(bad); i++) {
    tn_sym e;
    const tn_loc loc = {.kind = "input", .name = "in"};
    const size_t n = b->ctx.diags.n;
    if (!CHECK_EQ_I(tn_sym_parse_str(b->t, tn_str_of(bad[i][0]), loc, &e), TN_INVALID)) printf("  %s\n", bad[i][0]);
    if (CHECK_EQ_I(b->ctx.diags.n, n + 1)) CHECK_HAS(b->ctx.diags.at[n].text, bad[i][1]);
    CHECK(!tn_sym_try_parse(b->t, tn_str_of(bad[i][0]), &e));
    CHECK_EQ_I(b->ctx.diags.n, n + 1);
  }
  CHECK_EQ_I(tn_sym_n_symbols(b->t), 0); /* a refused text adds no symbols */
}

SYM_TEST(depth_limit) {
  tn_text text;
  tn_sym e;
  const tn_loc loc = {.kind = "input", .name = "in"};
  for (int levels = 100; levels <= 100000; levels *= 1000) {
    tn_text_init(&text, &b->ctx.arena);
    for (int i = 0; i < levels; i++) tn_text_addz(&text, "(");
    tn_text_addz(&text, "x");
    for (int i = 0; i < levels; i++) tn_text_addz(&text, ")");
    const tn_status s = tn_sym_parse_str(b->t, (tn_str){tn_text_z(&text), text.len}, loc, &e);
    CHECK_EQ_I(s, levels == 100 ? TN_OK : TN_LIMIT);
  }
  CHECK_HAS(b->ctx.diags.at[0].text, "nested more than");
}

SYM_TEST(inside_a_scan) {
  tn_scan s;
  tn_sym e;
  tn_scan_init(&s, &b->ctx, tn_str_of("[N + 1, S//2]"));
  CHECK(tn_scan_take(&s, "["));
  CHECK_EQ_I(tn_sym_parse(b->t, &s, &e), TN_OK);
  CHECK_STR(tn_sym_text(b->t, e), "N + 1");
  CHECK(tn_scan_take(&s, ","));
  CHECK_EQ_I(tn_sym_parse(b->t, &s, &e), TN_OK);
  CHECK_STR(tn_sym_text(b->t, e), "S//2");
  CHECK(tn_scan_take(&s, "]"));
}

/* A hundred thousand terms, factors and conditions in one text. */
SYM_TEST(long_texts) {
  static const char *const op[] = {" + ", "*", " and ", " or "};
  for (size_t k = 0; k < TN_COUNT(op); k++) {
    tn_text text;
    tn_sym e;
    tn_text_init(&text, &b->ctx.arena);
    for (int i = 0; i < 30000; i++) tn_text_printf(&text, "%sn%d", i ? op[k] : "", i);
    CHECK(tn_sym_try_parse(b->t, (tn_str){tn_text_z(&text), text.len}, &e));
    CHECK_EQ_I(e->n, 30000);
  }
}
