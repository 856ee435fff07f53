/* What follows from conditions that hold together. The facts are arithmetic, worked by hand. */
#include "sym_testing.h"

static tn_premises *premises_of(sym_bench *b, const char *const *texts) {
  tn_premises *const p = tn_premises_new(b->t);
  for (; *texts; texts++) tn_premises_add(p, sym_of(b, *texts));
  return p;
}

#define GIVEN(...) premises_of(b, (const char *const[]){__VA_ARGS__, NULL})
#define FOLLOWS(p, text) CHECK_EQ_I(tn_premises_prove(p, sym_of(b, text)), TN_TRUE)
#define REFUTED(p, text) CHECK_EQ_I(tn_premises_prove(p, sym_of(b, text)), TN_FALSE)
#define OPEN(p, text) CHECK_EQ_I(tn_premises_prove(p, sym_of(b, text)), TN_UNKNOWN)

SYM_TEST(equal_symbols) {
  tn_premises *const p = GIVEN("S == T", "T == U");
  FOLLOWS(p, "S == U");
  FOLLOWS(p, "(S + 7)//8 == (U + 7)//8");
  FOLLOWS(p, "S*B == U*B");
  FOLLOWS(p, "S == 1 or S == T or T == 1");
  REFUTED(p, "S == U + 1");
  OPEN(p, "S == V");
}

SYM_TEST(linear_equations) {
  tn_premises *const p = GIVEN("A + B == 10", "A == B + 2");
  FOLLOWS(p, "A == 6");
  FOLLOWS(p, "B == 4");
  REFUTED(p, "A == 5");
  tn_premises *const q = GIVEN("2*A == 3*B");
  FOLLOWS(q, "4*A == 6*B");
  FOLLOWS(q, "2*A + C == 3*B + C");
  OPEN(q, "A == B");
}

SYM_TEST(products) {
  tn_premises *const p = GIVEN("A*B == C*D");
  FOLLOWS(p, "A*B*E == C*D*E");
  FOLLOWS(p, "2*A*B + 1 == 2*C*D + 1");
  OPEN(p, "A == C");
}

SYM_TEST(gcd) {
  const tn_premises *const p = GIVEN("A <= B");
  REFUTED(p, "2*r == 4055");
  REFUTED(p, "4*r == 6*q + 3");
}

SYM_TEST(orders) {
  tn_premises *const p = GIVEN("A <= B", "B <= C");
  FOLLOWS(p, "A <= C");
  FOLLOWS(p, "A <= C + 3");
  FOLLOWS(p, "2*A <= 2*C");
  FOLLOWS(p, "A <= B + C");
  OPEN(p, "A <= C - 1");
  OPEN(p, "C <= A");
  tn_premises *const q = GIVEN("N <= 100");
  FOLLOWS(q, "(N + 7)//8 <= 13");
  FOLLOWS(q, "N//2 <= 50");
  REFUTED(q, "101 <= N");
  OPEN(q, "(N + 7)//8 <= 12");
}

SYM_TEST(multiples) {
  tn_premises *const p = GIVEN("H % 2 == 0", "(H + 1)//2 % 2 == 0");
  FOLLOWS(p, "H % 4 == 0");
  FOLLOWS(p, "4*(H//4) == H");
  FOLLOWS(p, "2*((H + 3)//4) == (H + 1)//2");
  OPEN(p, "H % 8 == 0");
  CHECK_SYM("(S + 3) % 8 == 0", "S % 8 == 5");
  CHECK_SYM("(S + 7) % 8 == 7", "S % 8 == 0");
  tn_premises *const q = GIVEN("(S + 3) % 8 == 0");
  FOLLOWS(q, "S % 4 == 1");
  FOLLOWS(q, "S % 8 == 5");
  OPEN(q, "S % 16 == 5");
}

SYM_TEST(keys_of_old_coordinates_do_not_count) {
  tn_premises *const p = GIVEN("H % 2 == 0");
  OPEN(p, "H % 4 == 0"); /* H is 2*H' now, and H' % 2 == 0 is spelled like what was given */
  tn_premises *const q = GIVEN("H % 2 == 0 and W % 2 == 0");
  FOLLOWS(q, "H*W % 4 == 0");
  OPEN(q, "H % 4 == 0");
}

SYM_TEST(facts_that_do_not_stretch) {
  sym_assume(b, "32 <= L");
  tn_premises *const p = GIVEN("L % 8 == 0");
  OPEN(p, "256 <= L");
  FOLLOWS(p, "32 <= L");
}

SYM_TEST(nothing_proves_itself) {
  tn_premises *const p = tn_premises_new(b->t);
  const tn_sym e = sym_of(b, "X == Y");
  CHECK_EQ_I(tn_premises_prove(p, e), TN_UNKNOWN);
  tn_premises_add(p, e);
  CHECK_EQ_I(tn_premises_prove(p, e), TN_TRUE);
  CHECK_EQ_I(tn_sym_prove(b->t, e), TN_UNKNOWN);
}

SYM_TEST(contradictions) {
  CHECK(tn_premises_contradict(GIVEN("A == 3", "A == 4")));
  CHECK(!tn_premises_contradict(GIVEN("A == 3", "B == 4")));
}

SYM_TEST(cases) {
  tn_premises *const p = GIVEN("1 <= H", "H == 1 or H % 8 == 0");
  CHECK_EQ_I(tn_premises_prove(p, sym_of(b, "(H + 3)//4 == 1 or (H + 3)//4 == 2*((H + 7)//8)")), TN_UNKNOWN);
  CHECK_EQ_I(tn_premises_prove_by_cases(p, sym_of(b, "(H + 3)//4 == 1 or (H + 3)//4 == 2*((H + 7)//8)")), TN_TRUE);
  CHECK_EQ_I(tn_premises_prove_by_cases(p, sym_of(b, "H % 4 == 0")), TN_UNKNOWN);
  FOLLOWS(p, "2 <= 2*((H + 7)//8)");
  tn_premises *const q = GIVEN("B*S*D == 32*B*S");
  CHECK_EQ_I(tn_premises_prove_by_cases(q, sym_of(b, "8*B*S == B*S*min(8, D)")), TN_TRUE);
  CHECK_EQ_I(tn_premises_prove_by_cases(q, sym_of(b, "D == 32")), TN_UNKNOWN);
  CHECK_EQ_I(tn_premises_prove_by_cases(q, sym_of(b, "9*B*S == B*S*min(8, D)")), TN_UNKNOWN);
}
