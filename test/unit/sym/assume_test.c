/* Facts, bounds, divisors and the prover. */
#include "sym_testing.h"

static tn_truth assume_prove(sym_bench *b, const char *text) {
  /* `0 <= c` style conditions fold in the constructor when facts decide them: prove sees the constant then */
  return tn_sym_prove(b->t, sym_of(b, text));
}

static const tn_symbol *assume_symbol(sym_bench *b, const char *name) { return tn_sym_find_symbol(b->t, name); }

#define CHECK_BOUNDS(text, low, high)                              \
  do {                                                             \
    const tn_interval got_ = tn_sym_bounds(b->t, sym_of(b, text)); \
    CHECK_EQ_I(got_.lo, low);                                      \
    CHECK_EQ_I(got_.hi, high);                                     \
  } while (0)

SYM_TEST(narrowing) {
  sym_assume(b, "1 <= S <= 64");
  CHECK_EQ_I(assume_symbol(b, "S")->min, 1);
  CHECK_EQ_I(assume_symbol(b, "S")->max, 64);
  sym_assume(b, "S % 8 == 0");
  CHECK_EQ_I(assume_symbol(b, "S")->multiple_of, 8);
  CHECK_EQ_I(assume_symbol(b, "S")->min, 8);
  sym_assume(b, "S % 12 == 0");
  CHECK_EQ_I(assume_symbol(b, "S")->multiple_of, 24);
  CHECK_EQ_I(assume_symbol(b, "S")->max, 48);
  sym_assume(b, "S != 48");
  CHECK_EQ_I(assume_symbol(b, "S")->max, 24);
  CHECK_SYM("S + 1", "25");
  sym_assume(b, "2*T < 13");
  CHECK_EQ_I(assume_symbol(b, "T")->max, 6);
  sym_assume(b, "U == T");
  CHECK_EQ_I(assume_symbol(b, "U")->max, 6);
}

SYM_TEST(contradictions) {
  static const char *const bad[] = {"S >= 65", "S == 0",  "S % 8 == 3 and S == 8", "S == 7 and S == 8", "2*S == 9", "0",
                                    "S < 1",   "overflow"};
  for (size_t i = 0; i < TN_COUNT(bad); i++) {
    const tn_loc loc = {.kind = "input", .name = "x"};
    tn_symbol *const s = tn_sym_add_symbol(b->t, "S");
    s->min = 1;
    s->max = 64;
    s->multiple_of = 1;
    const size_t n = b->ctx.diags.n;
    if (!CHECK_EQ_I(tn_sym_assume(b->t, sym_of(b, bad[i]), loc), TN_INVALID)) printf("  %s\n", bad[i]);
    if (CHECK_EQ_I(b->ctx.diags.n, n + 1)) CHECK_HAS(b->ctx.diags.at[n].text, "contradicts what is known");
  }
}

SYM_TEST(bounds) {
  const int64_t inf = INT64_MAX, minus_inf = INT64_MIN;
  CHECK_BOUNDS("N", 0, inf);
  CHECK_BOUNDS("1 - N", minus_inf, 1);
  CHECK_BOUNDS("N % 8", 0, 7);
  CHECK_BOUNDS("max(N - M, M - N)", 0, inf);
  CHECK_BOUNDS("max(N - M, M - N + 5)", 3, inf);
  CHECK_BOUNDS("N % M", 0, inf);
  CHECK_BOUNDS("-N // 4", minus_inf, 0);
  CHECK_BOUNDS("N - N//3", 0, inf);
  CHECK_BOUNDS("N - min(N, M)", 0, inf);
  CHECK_BOUNDS("(N//4) % 2", 0, 1);
  CHECK_BOUNDS("N < M", 0, 1);
  sym_assume(b, "-5 + N <= 5 and N >= 2");
  CHECK_BOUNDS("N", 2, 10);
  CHECK_BOUNDS("N*N - N", 2, 98);
  CHECK_BOUNDS("(N - 5)*(N - 5)", -71, 105); /* of N*N - 10*N + 25, term by term */
  CHECK_BOUNDS("7 // N", 0, 3);
  CHECK_BOUNDS("-7 // N", -4, -1);
  CHECK_BOUNDS("max(N, 4) + min(N, 4)", 6, 14);
  CHECK_BOUNDS("select(M == 3, N, -N)", -10, 10);
  CHECK_BOUNDS("f32scale(N, 1.5)", 3, 15);
  CHECK_BOUNDS("f32ratio(N, 10, N + 1)", 2, 33); /* 2*10/11 and 10*10/3 */
  CHECK_BOUNDS("9223372036854775807*N", inf - 1, inf);
  CHECK_BOUNDS("overflow", minus_inf, inf);
}

SYM_TEST(divisors) {
  sym_assume(b, "S % 8 == 0");
  CHECK_EQ_I(tn_sym_divisor(b->t, sym_of(b, "S")), 8);
  CHECK_EQ_I(tn_sym_divisor(b->t, sym_of(b, "3*S + 12")), 12);
  CHECK_EQ_I(tn_sym_divisor(b->t, sym_of(b, "S*S*T")), 64);
  CHECK_EQ_I(tn_sym_divisor(b->t, sym_of(b, "S//4")), 2);
  CHECK_EQ_I(tn_sym_divisor(b->t, sym_of(b, "min(S, 12)")), 4);
  CHECK_EQ_I(tn_sym_divisor(b->t, sym_of(b, "0")), 0);
  CHECK_EQ_I(tn_sym_divisor(b->t, sym_of(b, "T + 1")), 1);
  CHECK_SYM("4*(S//4)", "S");
  CHECK_SYM("S % 4", "0");
  CHECK_SYM("(S + 3)//4", "S//4");
  CHECK_SYM("S + 4 == T*16", "0");
}

SYM_TEST(prover) {
  CHECK_EQ_I(assume_prove(b, "x + 1 > x"), TN_TRUE);
  CHECK_EQ_I(assume_prove(b, "x//2 <= x"), TN_TRUE);
  CHECK_EQ_I(assume_prove(b, "min(x, y) <= max(x, y)"), TN_TRUE);
  CHECK_EQ_I(assume_prove(b, "x - y <= x"), TN_TRUE);
  CHECK_EQ_I(assume_prove(b, "x == x + 1"), TN_FALSE);
  CHECK_EQ_I(assume_prove(b, "x <= y"), TN_UNKNOWN);
  CHECK_EQ_I(assume_prove(b, "x <= x*y"), TN_UNKNOWN);
  CHECK_EQ_I(assume_prove(b, "overflow"), TN_UNKNOWN);
  const uint32_t n = tn_sym_n_symbols(b->t);
  const tn_sym later = sym_of(b, "x <= x*y");
  sym_assume(b, "y >= 1");
  CHECK_EQ_I(tn_sym_prove(b->t, later), TN_TRUE);
  CHECK_EQ_I(tn_sym_n_symbols(b->t), n);
}

SYM_TEST(recorded) {
  const tn_sym order = sym_of(b, "u + 3 <= v"), shape = sym_of(b, "p*q == r*s"), either = sym_of(b, "p == 1 or q == 1");
  const tn_loc loc = {.kind = "value", .name = "test"};
  CHECK_EQ_I(tn_sym_assume(b->t, tn_sym_and(b->t, order, tn_sym_and(b->t, shape, either)), loc), TN_OK);
  CHECK_EQ_I(tn_sym_prove(b->t, shape), TN_TRUE);
  CHECK_EQ_I(assume_prove(b, "p*q != r*s"), TN_FALSE);
  CHECK_EQ_I(assume_prove(b, "p*q >= r*s"), TN_TRUE);
  CHECK_EQ_I(tn_sym_prove(b->t, either), TN_TRUE);
  CHECK_EQ_I(assume_prove(b, "p != 1 and q != 1"), TN_FALSE);
  CHECK_EQ_I(assume_prove(b, "u < v"), TN_TRUE);
  CHECK_EQ_I(assume_prove(b, "v < u"), TN_FALSE);
  CHECK_EQ_I(assume_prove(b, "u + 4 <= v"), TN_UNKNOWN);
  CHECK_EQ_I(tn_sym_assume(b->t, sym_of(b, "p*q < r*s"), loc), TN_INVALID);
}

/* Bounds are kept per node: a deep graph after new facts costs no recursion of its depth. */
SYM_TEST(deep_graphs) {
  tn_symtab *const t = b->t;
  tn_sym e = sym_of(b, "x");
  const tn_sym y = sym_of(b, "y");
  for (int i = 0; i < 100000; i++) e = tn_sym_bcast(t, tn_sym_floordiv(t, e, y), y);
  sym_assume(b, "y >= 3");
  CHECK(tn_sym_bounds(t, e).lo <= 0);
  CHECK(tn_sym_divisor(t, e) == 1);
  CHECK_STR(tn_sym_text(t, e), "?");
}
