/* The largest number for which conditions hold, against evaluation number by number. */
#include "sym_testing.h"

enum { MOST = 8, REACH = 3000 };

typedef struct largest_numbers { /* of S, which varies, and two given symbols */
  int64_t number[3];
  tn_sym var[3];
  bool with_s;
} largest_numbers;

static bool largest_env(void *arg, uint32_t symbol, int64_t *out) {
  const largest_numbers *const n = arg;
  for (int i = n->with_s ? 0 : 1; i < 3; i++) {
    if (n->var[i]->k != (int64_t)symbol) continue;
    *out = n->number[i];
    return true;
  }
  return false;
}

static bool largest_holds(sym_bench *b, largest_numbers *at, const tn_sym *conditions, size_t n, int64_t s) {
  int64_t v;
  at->with_s = true;
  at->number[0] = s;
  for (size_t i = 0; i < n; i++)
    if (tn_sym_eval(b->t, conditions[i], largest_env, at, &v) != TN_OK || v == 0) return false;
  return true;
}

/* The answer from -5 up to `reach`; INT64_MIN: none. It is the one found by evaluating all, which are at most REACH. */
static int64_t largest_of(sym_bench *b, int64_t reach, const char *const *texts) {
  largest_numbers at = {{0, 4, 7}, {sym_of(b, "S"), sym_of(b, "A"), sym_of(b, "B")}, false};
  tn_sym conditions[MOST];
  size_t n = 0;
  for (; texts[n]; n++) conditions[n] = sym_of(b, texts[n]);
  tn_sym_question q = {
      .var = at.var[0], .conditions = conditions, .n = n, .env = largest_env, .arg = &at, .lo = -5, .hi = reach};
  const tn_status status = tn_sym_largest(b->t, &q);
  CHECK(status == TN_OK || status == TN_MISMATCH);
  if (reach > REACH) return status == TN_OK ? q.found : INT64_MIN;
  int64_t want = reach;
  while (want >= q.lo && !largest_holds(b, &at, conditions, n, want)) want--;
  if (!CHECK_EQ_I(status, want < q.lo ? TN_MISMATCH : TN_OK) || (status == TN_OK && !CHECK_EQ_I(q.found, want)))
    printf("  first condition: %s\n", texts[0]);
  return status == TN_OK ? q.found : INT64_MIN;
}

#define LARGEST(reach, ...) largest_of(b, reach, (const char *const[]){__VA_ARGS__, NULL})

SYM_TEST(orders) {
  CHECK_EQ_I(LARGEST(REACH, "3*S + A <= 1000"), 332);
  CHECK_EQ_I(LARGEST(INT64_C(1) << 40, "64*S*S + 512*S*A <= 8589934592"), 11569); /* (S + 16)^2 <= 2^27 + 256 */
  CHECK_EQ_I(LARGEST(INT64_MAX, "S*S <= 9000000000000000000"), 3000000000);
  CHECK_EQ_I(LARGEST(INT64_MAX, "S*S*S >= 1"), 2097151); /* past it the cube leaves 64 bits */
  CHECK_EQ_I(LARGEST(REACH, "max(S//3, S - 100) + (S + 31)//32*8 <= 700"), 640);
  CHECK_EQ_I(LARGEST(REACH, "S <= -6"), INT64_MIN);
  CHECK_EQ_I(LARGEST(REACH, "1 <= 2"), REACH);
}

SYM_TEST(not_monotone) {
  CHECK_EQ_I(LARGEST(REACH, "S % 64 + S//2 <= 700", "S*S % 17 == 4"), 1362);
  CHECK_EQ_I(LARGEST(REACH, "(S - 50)*(S - 50) <= 100"), 60);
  CHECK_EQ_I(LARGEST(REACH, "(S - 50)*(S - 80) <= -225"), 65);
  CHECK_EQ_I(LARGEST(REACH, "(S - 50)*(S - 80) <= -226"), INT64_MIN);
  CHECK_EQ_I(LARGEST(REACH, "select(S % 2 == 0, S*S, S) <= 900"), 899);
  CHECK_EQ_I(LARGEST(REACH, "B*A // S == 3", "A*7 % S >= 1"), 9);
  CHECK_EQ_I(LARGEST(REACH, "(0 - B*A) // S == -3", "ceildiv(A*B, 0 - S) == -2"), 13);
  CHECK_EQ_I(LARGEST(REACH, "not (S == 7 or S > 5 and S != 11)"), 11);
}

SYM_TEST(undefined) {
  CHECK_EQ_I(LARGEST(INT64_C(1) << 40, "bcast(S, B) <= 100"), 7);
  CHECK_EQ_I(LARGEST(INT64_C(1) << 40, "bcast(S, B, A) <= 100"), INT64_MIN);
  CHECK_EQ_I(LARGEST(REACH, "bcast(S//100, A) == 4"), 499);
  CHECK_EQ_I(LARGEST(REACH, "0 <= A // (S - 2999)", "S >= 2998"), 3000);
  CHECK_EQ_I(LARGEST(REACH, "S == 9 or 1//(S//4000) == 1"), 9);
  CHECK_EQ_I(LARGEST(REACH, "not (S <= 2000 and 1//(S//4000) == 1)"), REACH);
}

SYM_TEST(scaled) {
  CHECK_EQ_I(LARGEST(REACH, "f32scale(S, 0.7) <= 70"), 101);
  CHECK_EQ_I(LARGEST(INT64_C(1) << 40, "min(2000, f32ratio(S, 224, A*B)) <= 1000"), 125); /* S * 8, A*B is 28 */
  CHECK_EQ_I(LARGEST(REACH, "2*f32scale(S, 0.3) == S - 13"), LARGEST(REACH, "2*f32scale(S, 0.3) + 13 == S"));
}

static uint64_t largest_next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

/* Random conditions of a few operators. */
SYM_TEST(random) {
  static const char *const terms[] = {"S",
                                      "S//3",
                                      "S % 5",
                                      "S*S",
                                      "A*S",
                                      "min(S, B*20)",
                                      "max(S - 90, A)",
                                      "ceildiv(S, B)",
                                      "bcast(S // 40, A)",
                                      "S*(S - 33)",
                                      "f32scale(S, 1.3)",
                                      "f32ratio(S, 13, S + 5)",
                                      "f32ratio(A, S, B)",
                                      "A // (S - 20)",
                                      "select(S < 60, S, 2*S)",
                                      "(S + 7) % (A + 1)",
                                      "B // (0 - S)",
                                      "(0 - S) % B"};
  static const char *const orders[] = {"<=", "==", "<", "!="};
  uint64_t state = 42;
  for (int i = 0; i < 3000; i++) {
    char text[2][200];
    for (int k = 0; k < 2; k++)
      snprintf(text[k], sizeof text[k], "%s%s + %d*(%s) %s %d*(%s) + %d", largest_next(&state) % 8 ? "" : "not ",
               terms[largest_next(&state) % TN_COUNT(terms)], (int)(largest_next(&state) % 7) - 3,
               terms[largest_next(&state) % TN_COUNT(terms)], orders[largest_next(&state) % 4],
               (int)(largest_next(&state) % 5), terms[largest_next(&state) % TN_COUNT(terms)],
               (int)(largest_next(&state) % 100));
    LARGEST(200, text[0], text[1]);
  }
}

SYM_TEST(in_a_set) {
  const tn_sym s = sym_of(b, "S"), fits = sym_of(b, "2640*S*S <= 100000000000");
  const tn_sym valid[] = {sym_of(b, "(S + 3)//4 == 1 or (S + 3)//4 == 8*((S + 31)//32)"), sym_of(b, "S <= 4")};
  bool solved[2], implied[2];
  tn_sym_set set;
  CHECK_EQ_I(tn_sym_solve(b->t, &b->ctx.arena, s, valid, 1, solved, implied, &set), 1);
  tn_sym_question q = {.var = s, .conditions = &fits, .n = 1, .set = &set, .lo = 0, .hi = INT64_C(1) << 40};
  CHECK_EQ_I(tn_sym_largest(b->t, &q), TN_OK);
  CHECK_EQ_I(q.found, 6144); /* 6154 fits */
  CHECK_EQ_I(tn_sym_solve(b->t, &b->ctx.arena, s, valid, 2, solved, implied, &set), 2);
  CHECK_EQ_I(tn_sym_largest(b->t, &q), TN_OK);
  CHECK_EQ_I(q.found, 4);
  q.lo = 5;
  CHECK_EQ_I(tn_sym_largest(b->t, &q), TN_MISMATCH);
}

SYM_TEST(ends) {
  const tn_sym s = sym_of(b, "S"), other = sym_of(b, "S <= 10 - Q"), never = sym_of(b, "S*S*S % 8191 == 8192");
  tn_sym_question q = {.var = s, .conditions = &other, .n = 1, .lo = 0, .hi = 100};
  CHECK_EQ_I(tn_sym_largest(b->t, &q), TN_INVALID);
  CHECK_EQ_I(q.missing, sym_of(b, "Q")->k);
  q.conditions = &never;
  q.hi = INT64_MAX;
  CHECK_EQ_I(tn_sym_largest(b->t, &q), TN_MISMATCH); /* the remainder is below 8191 */
  const tn_sym odd = sym_of(b, "S*S % 4 == 2");      /* no square is */
  q.conditions = &odd;
  q.hi = 3000000000;
  CHECK_EQ_I(tn_sym_largest(b->t, &q), TN_LIMIT);
  CHECK(q.found < q.hi && q.found > q.hi - (INT64_C(1) << 25));
}
