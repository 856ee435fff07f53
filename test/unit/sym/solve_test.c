/* Conditions in one symbol, solved, against evaluation number by number. */
#include "sym_testing.h"

enum { MOST = 8 };

static bool solve_env(void *arg, uint32_t symbol, int64_t *out) {
  const int64_t *const at = arg;
  *out = at[1];
  return (int64_t)symbol == at[0];
}

static bool solve_true(sym_bench *b, tn_sym e, tn_sym var, int64_t v) {
  int64_t at[2] = {var->k, v}, r;
  return tn_sym_eval(b->t, e, solve_env, at, &r) == TN_OK && r != 0;
}

/* How many conditions were solved; every number up to `reach` past the table is compared. */
static size_t solve_same(sym_bench *b, tn_sym_set *set, bool *implied, const char *const *texts) {
  enum { REACH = 2000 };
  const tn_sym var = sym_of(b, "S");
  tn_sym conditions[MOST];
  bool solved[MOST];
  size_t n = 0;
  for (; texts[n]; n++) conditions[n] = sym_of(b, texts[n]);
  const size_t count = tn_sym_solve(b->t, &b->ctx.arena, var, conditions, n, solved, implied, set);
  int faults = 0;
  for (int64_t v = set->lo; count == n && v < set->from + 3 * set->period + REACH; v++) {
    const int64_t by = tn_sym_symbol(b->t, (uint32_t)var->k)->multiple_of;
    bool all = v % by == 0 && v <= tn_sym_symbol(b->t, (uint32_t)var->k)->max, kept = all;
    for (size_t i = 0; i < n; i++) {
      all = all && solve_true(b, conditions[i], var, v);
      kept = kept && (implied[i] || solve_true(b, conditions[i], var, v));
    }
    if (set->period && v > tn_sym_symbol(b->t, (uint32_t)var->k)->max) continue;
    faults += tn_sym_set_has(set, v) != all || kept != all;
  }
  CHECK_EQ_I(faults, 0);
  return count;
}

#define SOLVE(set, ...) solve_same(b, set, implied, (const char *const[]){__VA_ARGS__, NULL})

SYM_TEST(halvings) {
  tn_sym_set s;
  bool implied[MOST];
  CHECK_EQ_I(SOLVE(&s, "ceildiv(S, 2) == 2*ceildiv(S, 4)"), 1);
  CHECK_EQ_I(s.period, 4);
  CHECK(tn_sym_set_has(&s, 3) && tn_sym_set_has(&s, 4) && !tn_sym_set_has(&s, 5) && !tn_sym_set_has(&s, 6));
  CHECK_EQ_I(SOLVE(&s, "S == 2*(S//2)", "S//2 == 2*(S//4)", "S//4 == 2*(S//8)"), 3);
  CHECK_EQ_I(s.period, 8);
  CHECK_EQ_I(s.from, 0);
  CHECK_EQ_I(
      SOLVE(&s, "1 <= S", "(S + 15)//16 == 1 or (S + 15)//16 == 2*((S + 31)//32)",
            "(S + 7)//8 == 1 or (S + 7)//8 == 4*((S + 31)//32)", "(S + 3)//4 == 1 or (S + 3)//4 == 8*((S + 31)//32)"),
      4);
  CHECK_EQ_I(s.period, 32);
  CHECK_EQ_I(s.from, 5);
  CHECK(!implied[0] && implied[1] && implied[2] && !implied[3]);
  CHECK_EQ_I(SOLVE(&s, "3*((S + 2)//3) == S", "(S + 26)//27*9 == (S + 2)//3"), 2);
  CHECK_EQ_I(s.period, 27);
}

SYM_TEST(ranges) {
  tn_sym_set s;
  bool implied[MOST];
  CHECK_EQ_I(SOLVE(&s, "S == 1 or S == min(64, S) or min(64, S) == 1"), 1);
  CHECK(tn_sym_set_has(&s, 64) && !tn_sym_set_has(&s, 65) && s.period == 1 && s.from == 65);
  CHECK_EQ_I(SOLVE(&s, "1 <= S", "192 <= S", "(max(0, (S + 64)//128 - 1) + 3)//4 == 1"), 3);
  CHECK(tn_sym_set_has(&s, 192) && tn_sym_set_has(&s, 703) && !tn_sym_set_has(&s, 191) && !tn_sym_set_has(&s, 704));
  CHECK(implied[0]);
  CHECK_EQ_I(SOLVE(&s, "10 <= S and S != 12", "not S == 15"), 2);
}

SYM_TEST(quotients_by_the_symbol) {
  tn_sym_set s;
  bool implied[MOST];
  CHECK_EQ_I(SOLVE(&s, "8*S//S == 8", "100 % (S + 1) <= 3"), 2);
  CHECK_EQ_I(SOLVE(&s, "(7*S + 3)//(2*S - 9) == 3"), 1);
  CHECK_EQ_I(SOLVE(&s, "(3 - 5*S)//(S + 2) <= -5", "(S - 20) // -3 >= 2", "select(S % 5 == 2, 8//S, S) != 4"), 3);
  CHECK_EQ_I(SOLVE(&s, "bcast(S, 2*(S//2)) == S", "1//S == 0 or S == 1"), 2);
}

SYM_TEST(what_is_not_solved) {
  tn_sym_set s;
  bool implied[MOST];
  CHECK_EQ_I(SOLVE(&s, "S*S == 2*S"), 0);
  CHECK_EQ_I(SOLVE(&s, "S % 100003 == 0"), 0);
  CHECK_EQ_I(SOLVE(&s, "S <= 16777216"), 0);
  CHECK_EQ_I(SOLVE(&s, "f32scale(S, 0.7) % 4 == 0"), 0);
  CHECK_EQ_I(SOLVE(&s, "S == T", "S % 4 == 0"), 1);
  CHECK_EQ_I(s.period, 4);
  CHECK_EQ_I(SOLVE(&s, "select(S < 3, T, 1) == 1"), 0);
}

SYM_TEST(facts) {
  tn_sym_set s;
  bool implied[MOST];
  sym_assume(b, "1 <= S <= 100 and S % 8 == 0");
  CHECK_EQ_I(SOLVE(&s, "S % 32 == 0"), 1);
  CHECK_EQ_I(s.period, 32);
  CHECK_EQ_I(SOLVE(&s, "f32scale(S, 0.7) % 4 == 0", "S*S > 100"), 2);
  CHECK_EQ_I(s.period, 0);
  CHECK_EQ_I(SOLVE(&s, "S % 4 == 0", "S % 16 == 0"), 2);
  CHECK(implied[0] && !implied[1]);
}

SYM_TEST(random_conditions) {
  static const char *const forms[] = {
      "(S + @)//@ == @*((S + @)//@)",
      "(S - @) % @ <= @ or S < @ + @",
      "min(S, @) + S//@ == @*(S//3) + max(@, S - @)",
      "bcast((S + @)//@, S//@ + @) % @ != 1",
      "select(S//@ % @ == 1, S - @, ceildiv(S, @)) != @",
      "(3*S - @)//(S - @) == @ or S % (S//@ + @) == 1",
  };
  uint32_t seed = 5;
  for (int i = 0; i < 240; i++) {
    char text[2][128];
    for (int k = 0; k < 2; k++) {
      char *at = text[k];
      for (const char *f = forms[(i + k) % 6]; *f; f++)
        *at++ = *f == '@' ? (char)('1' + ((seed = seed * 1664525u + 1013904223u) >> 24) % 9) : *f;
      *at = 0;
    }
    tn_sym_set s;
    bool implied[MOST];
    CHECK_EQ_I(SOLVE(&s, text[0], text[1]), 2);
  }
}
