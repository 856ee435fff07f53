/* The unit-test harness. A test file includes this once and holds TEST(name) { ... } functions; main is here.
 * A failed check is printed and counted against its test, and the test goes on. An argument runs the tests whose name
 * contains it. */
#ifndef TN_TEST_H
#define TN_TEST_H

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct test_case {
  const char *name;
  void (*fn)(void);
  struct test_case *next;
} test_case;

static test_case *test_first, **test_last = &test_first;
static int test_n_bad; /* failed checks of the running test */

#define TEST(name)                                                 \
  static void test_##name(void);                                   \
  __attribute__((constructor)) static void test_add_##name(void) { \
    static test_case row = {#name, test_##name, NULL};             \
    *test_last = &row;                                             \
    test_last = &row.next;                                         \
  }                                                                \
  static void test_##name(void)

#define TEST_UNUSED __attribute__((unused))

TEST_UNUSED static bool test_check(bool ok, const char *file, int line, const char *what) {
  if (!ok) {
    printf("%s:%d: %s\n", file, line, what);
    test_n_bad++;
  }
  return ok;
}

TEST_UNUSED static bool test_check_i(int64_t a, int64_t b, const char *file, int line, const char *what) {
  if (!test_check(a == b, file, line, what)) printf("  %" PRId64 " is not %" PRId64 "\n", a, b);
  return a == b;
}

/* Equal values, or both NaN; 0 and -0 differ. */
TEST_UNUSED static bool test_check_f(double a, double b, const char *file, int line, const char *what) {
  const bool ok = (isnan(a) && isnan(b)) || (a >= b && a <= b && !signbit(a) == !signbit(b));
  if (!test_check(ok, file, line, what)) printf("  %.17g is not %.17g\n", a, b);
  return ok;
}

TEST_UNUSED static bool test_check_near(double a, double b, double most, const char *file, int line, const char *what) {
  const bool ok = fabs(a - b) <= most;
  if (!test_check(ok, file, line, what)) printf("  %.17g is not within %g of %.17g\n", a, most, b);
  return ok;
}

TEST_UNUSED static bool test_check_str(const char *a, const char *b, const char *file, int line, const char *what) {
  const bool ok = a && b ? strcmp(a, b) == 0 : a == b;
  if (!test_check(ok, file, line, what)) printf("  \"%s\"\n  is not\n  \"%s\"\n", a ? a : "(null)", b ? b : "(null)");
  return ok;
}

TEST_UNUSED static bool test_check_has(const char *a, const char *part, const char *file, int line, const char *what) {
  const bool ok = a && strstr(a, part);
  if (!test_check(ok, file, line, what)) printf("  \"%s\"\n  does not hold\n  \"%s\"\n", a ? a : "(null)", part);
  return ok;
}

/* Each gives whether it held, so that `if (!CHECK(p)) return;` ends a test that cannot go on. */
#define CHECK(cond) test_check((cond), __FILE__, __LINE__, #cond)
#define CHECK_EQ_I(a, b) test_check_i((int64_t)(a), (int64_t)(b), __FILE__, __LINE__, #a " == " #b)
#define CHECK_EQ_F(a, b) test_check_f((double)(a), (double)(b), __FILE__, __LINE__, #a " == " #b)
#define CHECK_NEAR(a, b, most) test_check_near((double)(a), (double)(b), (most), __FILE__, __LINE__, #a " near " #b)
#define CHECK_STR(a, b) test_check_str((a), (b), __FILE__, __LINE__, #a " is " #b)
#define CHECK_HAS(a, part) test_check_has((a), (part), __FILE__, __LINE__, #a " holds " #part)

int main(int argc, char **argv) {
  int n_passed = 0, n_failed = 0;
  for (const test_case *t = test_first; t; t = t->next) {
    if (argc > 1 && !strstr(t->name, argv[1])) continue;
    test_n_bad = 0;
    t->fn();
    if (test_n_bad) printf("FAILED %s\n", t->name);
    n_passed += !test_n_bad;
    n_failed += !!test_n_bad;
  }
  printf("%d passed, %d failed\n", n_passed, n_failed);
  return n_failed || !n_passed;
}

#endif
