/* Proofs that tell zero from the other sizes. */
#include "sym_testing.h"

static bool zeros_prove(sym_bench *b, const char *const *texts, const char *text) {
  tn_sym given[4];
  size_t n = 0;
  for (; texts[n]; n++) given[n] = sym_of(b, texts[n]);
  return tn_sym_prove_by_zeros(b->t, &b->ctx.arena, given, n, sym_of(b, text));
}

#define PROVE(text, ...) zeros_prove(b, (const char *const[]){__VA_ARGS__, NULL}, text)

SYM_TEST(reshape_of_nothing) {
  /* -1 in a target: 8*L*B elements by B*L, unless there are none */
  CHECK(PROVE("8*B*L == B*L*select(B*L == 0, 0, 8*B*L//(B*L))", "0 <= B"));
  CHECK(!PROVE("8*B*L == B*L*select(B*L == 0, 0, 7*B*L//(B*L))", "0 <= B"));
  CHECK(!PROVE("8*B == select(B*L == 0, 0, 8*B)", "0 <= B")); /* B = 1, L = 0 */
  CHECK(PROVE("8*B == select(B*L == 0, 0, 8*B)", "1 <= L"));
}

SYM_TEST(what_is_given_is_read_first) {
  CHECK(PROVE("B*L*select(B*L == 0, 0, 8*min(64, L)//L) == 8*B*min(64, L)", "L <= 64"));
  CHECK(!PROVE("B*L*select(B*L == 0, 0, 8*min(64, L)//L) == 8*B*min(64, L)", "L <= 65"));
  CHECK(PROVE("A*B//A == B", "1 <= A"));
  CHECK(!PROVE("A*B//A == 3*B", "1 <= A"));
}

SYM_TEST(limits) {
  CHECK(PROVE("A*B*C//(B*C) == A or B*C == 0", "0 <= A"));
  CHECK(!PROVE("A*B*C*D//(C*D) == A*B or C*D == 0", "0 <= A")); /* four symbols */
  sym_assume(b, "0 <= P + 5");
  tn_sym_symbol(b->t, (uint32_t)sym_of(b, "Q")->k)->min = -5;
  CHECK(!PROVE("Q*B == 0 or 1 <= Q*B", "0 <= B")); /* below zero there is more than these two */
}

SYM_TEST(facts_stay) {
  CHECK(PROVE("max(1, X) == X", "1 <= X"));
  CHECK_EQ_I(tn_sym_bounds(b->t, sym_of(b, "X")).lo, 0);
  CHECK_EQ_I(tn_sym_prove(b->t, sym_of(b, "max(1, X) == X")), TN_UNKNOWN);
}
