/* Identities that symbolic engines of shapes are tested by, in our terms: |x| is max(x, -x), align(x, k) is
 * k*ceildiv(x, k), hints are an evaluation, replacements are premises. */
#include "sym_testing.h"

SYM_TEST(same_node) {
  static const char *const same[][2] = {
      {"s0*s1", "s1*s0"},
      {"s0 + s1 + s0", "2*s0 + s1"},
      {"s0 == s1", "s1 == s0"},
      {"not (s0 == s1)", "s0 != s1"},
      {"not not (s0 == s1)", "s0 == s1"},
      {"s0 > s1", "s1 < s0"},
      {"s0 >= s1", "s1 <= s0"},
      {"ceildiv(s0 - 2, 1)", "ceildiv(s0, 1) - 2"},
      {"ceildiv(s0 - 6, 3)", "ceildiv(s0, 3) - 2"},
      {"(s0 - 6)//3", "s0//3 - 2"},
      {"max(s0 - 2, 2 - s0)", "max(2 - s0, s0 - 2)"},
      {"8*ceildiv(s0, 8)", "8*((7 + s0)//8)"},
      {"2*s0//4", "s0//2"},
      {"2*s0*s1//3", "s1*2*s0//3"},
      {"ceildiv(min(192, s0) - min(0, s0), 5)", "-(-(min(192, s0) - min(0, s0))//5)"},
      {"ceildiv(ceildiv(s0, 2) - 20, 1)", "(s0 + 1)//2 - 20"},
  };
  for (size_t i = 0; i < TN_COUNT(same); i++)
    if (!CHECK(sym_of(b, same[i][0]) == sym_of(b, same[i][1]))) printf("  %s, %s\n", same[i][0], same[i][1]);
}

SYM_TEST(written) {
  sym_assume(b, "s1 >= 0");
  tn_sym_symbol(b->t, (uint32_t)sym_of(b, "n")->k)->min = -5;
  CHECK_SYM("2 <= 3", "1");
  CHECK_SYM("3 < 2", "0");
  CHECK_SYM("max(n, -2)", "max(-2, n)");
  CHECK_SYM("max(-2, n)", "max(-2, n)");
  CHECK_SYM("32*ceildiv(s0, 32)", "32*((s0 + 31)//32)");
  CHECK_SYM("8*ceildiv(12, 8)", "16");
  CHECK_SYM("f32scale(2, 0.25)", "0");
  CHECK_SYM("ceildiv(ceildiv(s0, 2) - 20, 1)", tn_sym_text(b->t, sym_of(b, "ceildiv(s0, 2) - 20")));
}

static bool identity_hint(void *arg, uint32_t symbol, int64_t *out) {
  (void)arg;
  *out = (int64_t)symbol + 1; /* s0 = 1, s1 = 2, s2 = 3 */
  return symbol < 3;
}

SYM_TEST(hints) {
  int64_t v = 0;
  (void)sym_of(b, "s0 + s1*s2*s2"); /* in this order */
  CHECK_EQ_I(tn_sym_eval(b->t, sym_of(b, "2*(s0*s2) + max(s0 + 3*s1, s2)"), identity_hint, NULL, &v), TN_OK);
  CHECK_EQ_I(v, 13);
  CHECK_EQ_I(tn_sym_eval(b->t, sym_of(b, "3*s0 == s1*s1*s1 - (s2 + 2)"), identity_hint, NULL, &v), TN_OK);
  CHECK_EQ_I(v, 1);
}

/* Does the expression equal the other where the conditions hold? */
static bool replaced(sym_bench *b, const char *const *conditions, const char *text, const char *expected) {
  tn_premises *const p = tn_premises_new(b->t);
  for (; *conditions; conditions++) tn_premises_add(p, sym_of(b, *conditions));
  return tn_premises_prove(p, tn_sym_eq(b->t, sym_of(b, text), sym_of(b, expected))) == TN_TRUE;
}

#define REPLACED(text, expected, ...) CHECK(replaced(b, (const char *const[]){__VA_ARGS__, NULL}, text, expected))

SYM_TEST(replacements) {
  REPLACED("ceildiv(5*s0, 1) + min(2, s0)*max(2, s0)", "0", "s0 == 0");
  REPLACED("2 - s0 - 5 % 3", "0", "s0 == 0");
  REPLACED("max(s0 + 2, -s0 - 2)//2*s0", "0", "s0 == 0");
  REPLACED("2*(s0 + s1) + s1*s2 + s3 + s2", "15 + s3", "s2 == s0 + s1", "s1 == 2*s0", "s0 == 1");
  REPLACED("s3 + 2*s1 + s2", "3*s0 + 8", "s1 == s2", "2 == s3", "s0 + s3 == s2");
  REPLACED("s3*s0", "2*s2*min(8, s2)", "s0 == s1", "s1 == min(8, s2)", "s3 == 2*s2");
  CHECK(!replaced(b, (const char *const[]){"s1 == s2", NULL}, "s3 + s1", "s3 + s0"));
}

SYM_TEST(cyclic_replacement) {
  tn_premises *const p = tn_premises_new(b->t);
  const tn_sym n = sym_of(b, "n");
  tn_sym_symbol(b->t, (uint32_t)n->k)->min = -5;
  tn_premises_add(p, sym_of(b, "n == max(0, n)"));
  CHECK(tn_premises_coordinates(p, n) == n);
  CHECK_EQ_I(tn_premises_prove(p, sym_of(b, "0 <= n")), TN_TRUE);
}
