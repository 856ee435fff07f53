/* A plan for all sizes: who lies above whom. */
#include "code/planner.h"

#include <string.h>

#include "base/compiler.h"
#include "base/sort.h"

typedef struct orient_order {
  const tn_interval_plan *b;
  bool by_last;
} orient_order;

static bool orient_is_before(const void *arg, uint32_t x, uint32_t y) {
  const orient_order *o = arg;
  const uint32_t at_x = o->by_last ? o->b[x].last : o->b[x].first, at_y = o->by_last ? o->b[y].last : o->b[y].first;
  return at_x != at_y ? at_x < at_y : x < y;
}

void tn_plan_sort(const tn_interval_plan *b, uint32_t n, bool by_last, uint32_t *out) {
  const orient_order order = {b, by_last};
  bool is_sorted = true;
  for (uint32_t i = 0; i < n; i++) out[i] = i;
  for (uint32_t i = 1; i < n && is_sorted; i++) is_sorted = orient_is_before(&order, i - 1, i);
  if (!is_sorted) tn_sort_ids(out, n, orient_is_before, &order);
}

/* A set of numbers below n with the neighbours of each: a bit per number, and a bit per word that is not empty. */
typedef struct orient_set {
  uint64_t *bits, *words;
  uint32_t n_words;
} orient_set;

static orient_set orient_set_init(uint64_t *bits, uint32_t n) {
  memset(bits, 0, tn_plan_bits(n) * sizeof *bits);
  return (orient_set){bits, bits + n / 64 + 1, n / 64 + 1};
}

static void orient_set_add(const orient_set *s, uint32_t x) {
  s->bits[x / 64] |= UINT64_C(1) << (x % 64);
  s->words[x / 4096] |= UINT64_C(1) << (x / 64 % 64);
}

static void orient_set_remove(const orient_set *s, uint32_t x) {
  s->bits[x / 64] &= ~(UINT64_C(1) << (x % 64));
  if (!s->bits[x / 64]) s->words[x / 4096] &= ~(UINT64_C(1) << (x / 64 % 64));
}

static uint32_t orient_lowest(uint64_t w) { return (uint32_t)TN_CTZ64(w); }
static uint32_t orient_highest(uint64_t w) { return 63 - (uint32_t)TN_CLZ64(w); }

/* Bits above or below position `at` of a word. */
static uint64_t orient_above(uint64_t w, uint32_t at) { return at == 63 ? 0 : w & (UINT64_MAX << (at + 1)); }
static uint64_t orient_below(uint64_t w, uint32_t at) { return w & ((UINT64_C(1) << at) - 1); }

static uint32_t orient_next(const orient_set *s, uint32_t x) {
  const uint64_t here = orient_above(s->bits[x / 64], x % 64);
  if (here) return x / 64 * 64 + orient_lowest(here);
  const uint32_t n_groups = (s->n_words + 63) / 64;
  uint32_t group = x / 4096;
  uint64_t words = orient_above(s->words[group], x / 64 % 64);
  while (!words && ++group < n_groups) words = s->words[group];
  if (!words) return TN_PLAN_NONE;
  const uint32_t word = group * 64 + orient_lowest(words);
  return word * 64 + orient_lowest(s->bits[word]);
}

static uint32_t orient_previous(const orient_set *s, uint32_t x) {
  const uint64_t here = orient_below(s->bits[x / 64], x % 64);
  if (here) return x / 64 * 64 + orient_highest(here);
  uint32_t group = x / 4096;
  uint64_t words = orient_below(s->words[group], x / 64 % 64);
  while (!words && group > 0) words = s->words[--group];
  if (!words) return TN_PLAN_NONE;
  const uint32_t word = group * 64 + orient_highest(words);
  return word * 64 + orient_highest(s->bits[word]);
}

/* Walks births and deaths. `tie` sees each buffer when it is born, with its neighbours; false ends the walk. */
typedef bool (*orient_tie)(void *arg, uint32_t x, uint32_t under, uint32_t over);
static bool orient_walk(const tn_interval_plan *b, uint32_t n, const uint32_t *by_first, const uint32_t *by_last,
                        uint64_t *bits, orient_tie tie, void *arg) {
  const orient_set live = orient_set_init(bits, n);
  uint32_t dead = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t x = by_first[i];
    for (; dead < n && b[by_last[dead]].last < b[x].first; dead++) orient_set_remove(&live, by_last[dead]);
    if (!tie(arg, x, orient_previous(&live, x), orient_next(&live, x))) return false;
    orient_set_add(&live, x);
  }
  return true;
}

static bool orient_set_ties(void *arg, uint32_t x, uint32_t under, uint32_t over) {
  tn_interval_plan *b = arg;
  b[x].under = under;
  b[x].over = over;
  return true;
}

void tn_plan_orient(tn_interval_plan *b, uint32_t n, const uint32_t *by_first, const uint32_t *by_last,
                    uint64_t *bits) {
  (void)orient_walk(b, n, by_first, by_last, bits, orient_set_ties, b);
}

typedef struct orient_check {
  const tn_interval_plan *b;
  uint32_t wrong;
} orient_check;

static bool orient_check_ties(void *arg, uint32_t x, uint32_t under, uint32_t over) {
  orient_check *c = arg;
  c->wrong = x;
  return c->b[x].under == under && c->b[x].over == over;
}

bool tn_plan_is_oriented(const tn_interval_plan *b, uint32_t n, const uint32_t *by_first, const uint32_t *by_last,
                         uint64_t *bits, uint32_t *out_buffer) {
  orient_check c = {b, 0};
  const bool is_good = orient_walk(b, n, by_first, by_last, bits, orient_check_ties, &c);
  *out_buffer = c.wrong;
  return is_good;
}

size_t tn_plan_evaluate(tn_interval_plan *b, uint32_t n) {
  size_t peak = 0;
  for (uint32_t i = 0; i < n; i++) b[i].offset = 0;
  for (uint32_t i = 0; i < n; i++) {
    tn_interval_plan *x = &b[i];
    if (x->under != TN_PLAN_NONE && b[x->under].offset + b[x->under].bytes > x->offset)
      x->offset = b[x->under].offset + b[x->under].bytes;
    const size_t end = x->offset + x->bytes;
    if (x->over != TN_PLAN_NONE && end > b[x->over].offset) b[x->over].offset = end;
    if (x->bytes && end > peak) peak = end;
  }
  return peak;
}
