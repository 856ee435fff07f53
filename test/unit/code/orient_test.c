/* Plans for all sizes: whatever the sizes, buffers that live together lie apart; a tie that is wrong is found. */
#include <stdlib.h>

#include "base/rng.h"
#include "code/planner.h"
#include "test.h"

enum { MOST = 200 };

typedef struct field {
  uint32_t n;
  tn_interval_plan b[MOST];
  uint32_t by_first[MOST], by_last[MOST];
  uint64_t *bits;
} field;

static void field_draw(field *f, uint64_t seed, uint32_t n) {
  f->n = n;
  for (uint32_t i = 0; i < n; i++) {
    const uint64_t r = tn_rng_u64(seed, i);
    const uint32_t first = (uint32_t)(r % n);
    f->b[i] = (tn_interval_plan){.first = first, .last = first + (uint32_t)((r >> 20) % (seed % 3 ? 6 : n))};
  }
  f->bits = calloc(tn_plan_bits(n), sizeof *f->bits);
  tn_plan_sort(f->b, n, false, f->by_first);
  tn_plan_sort(f->b, n, true, f->by_last);
}

static bool field_together(const field *f, uint32_t i, uint32_t j) {
  return i != j && f->b[i].first <= f->b[j].last && f->b[j].first <= f->b[i].last;
}

static void field_sizes(field *f, uint64_t seed) {
  for (uint32_t i = 0; i < f->n; i++) {
    const uint64_t r = tn_rng_u64(seed, i);
    f->b[i].bytes = r % 4 ? 64 * (size_t)(1 + (r >> 8) % (r % 3 ? 10 : 10000)) : 0;
  }
}

/* In order of number, apart, and no higher than they must lie. */
static void field_check(const field *f, size_t peak) {
  size_t top = 0;
  for (uint32_t i = 0; i < f->n; i++) {
    size_t least = 0;
    for (uint32_t j = 0; j < i; j++)
      if (field_together(f, i, j) && f->b[j].offset + f->b[j].bytes > least) least = f->b[j].offset + f->b[j].bytes;
    CHECK_EQ_I(f->b[i].offset, least);
    if (f->b[i].bytes && f->b[i].offset + f->b[i].bytes > top) top = f->b[i].offset + f->b[i].bytes;
  }
  CHECK_EQ_I(peak, top);
}

TEST(all_sizes) {
  for (uint64_t seed = 0; seed < 60; seed++) {
    field f;
    uint32_t wrong;
    field_draw(&f, seed, 1 + (uint32_t)(seed * 7 % MOST));
    tn_plan_orient(f.b, f.n, f.by_first, f.by_last, f.bits);
    CHECK(tn_plan_is_oriented(f.b, f.n, f.by_first, f.by_last, f.bits, &wrong));
    for (uint64_t sizes = 0; sizes < 5; sizes++) {
      field_sizes(&f, 1000 * seed + sizes);
      field_check(&f, tn_plan_evaluate(f.b, f.n));
    }
    free(f.bits);
  }
}

TEST(wrong_ties_are_found) {
  int tried = 0;
  for (uint64_t seed = 0; seed < 200; seed++) {
    field f;
    uint32_t wrong = 0;
    field_draw(&f, seed, 20);
    tn_plan_orient(f.b, f.n, f.by_first, f.by_last, f.bits);
    const uint64_t r = tn_rng_u64(seed, 99);
    const uint32_t at = (uint32_t)(r % f.n), to = (uint32_t)(r >> 8) % (f.n + 1);
    uint32_t *const tie = r >> 40 & 1 ? &f.b[at].under : &f.b[at].over;
    const uint32_t changed = to == f.n ? TN_PLAN_NONE : to;
    if (*tie != changed) {
      *tie = changed;
      tried++;
      CHECK(!tn_plan_is_oriented(f.b, f.n, f.by_first, f.by_last, f.bits, &wrong));
      CHECK_EQ_I(wrong, at);
    }
    free(f.bits);
  }
  CHECK(tried > 100);
}

/* More than 64 words of bits, so that the second level is walked: neighbours are far apart. */
TEST(neighbours_far_apart) {
  enum { N = 20000 };
  tn_interval_plan *const b = calloc(N, sizeof *b);
  uint32_t *const by_first = calloc(N, sizeof *by_first), *const by_last = calloc(N, sizeof *by_last);
  uint64_t *const bits = calloc(tn_plan_bits(N), sizeof *bits);
  for (uint32_t i = 0; i < N; i++) b[i] = (tn_interval_plan){.first = 10 + i, .last = 10 + i, .bytes = 64};
  b[0] = (tn_interval_plan){.first = 0, .last = N + 20, .bytes = 128};
  b[N - 1] = (tn_interval_plan){.first = 1, .last = N + 20, .bytes = 128};
  tn_plan_sort(b, N, false, by_first);
  tn_plan_sort(b, N, true, by_last);
  tn_plan_orient(b, N, by_first, by_last, bits);
  CHECK_EQ_I(b[N - 1].under, 0);
  CHECK_EQ_I(b[9000].under, 0);
  CHECK_EQ_I(b[9000].over, N - 1);
  CHECK_EQ_I(tn_plan_evaluate(b, N), 128 + 64 + 128);
  free(b);
  free(by_first);
  free(by_last);
  free(bits);
}

TEST(sorting) {
  tn_interval_plan b[] = {{.first = 3, .last = 3}, {.first = 0, .last = 9}, {.first = 3, .last = 4}};
  uint32_t order[3];
  tn_plan_sort(b, 3, false, order);
  CHECK(order[0] == 1 && order[1] == 0 && order[2] == 2); /* equal ones by number */
  tn_plan_sort(b, 3, true, order);
  CHECK(order[0] == 0 && order[1] == 2 && order[2] == 1);
}
