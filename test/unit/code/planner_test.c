/* The memory planner against its definition: buffers that live together do not overlap, the peak is what the offsets
 * say, and it is close to the largest live sum. */
#include "code/planner.h"

#include <stdlib.h>
#include <time.h>

#include "base/rng.h"
#include "test.h"

typedef struct workspace {
  tn_planner planner;
  tn_interval_plan *b;
  uint32_t *by_first, *by_last;
} workspace;

static const tn_interval_plan *plan_sorting;
static int plan_compare_first(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  const uint32_t fx = plan_sorting[x].first, fy = plan_sorting[y].first;
  return fx != fy ? (fx < fy ? -1 : 1) : x < y ? -1 : x > y;
}
static int plan_compare_last(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  const uint32_t lx = plan_sorting[x].last, ly = plan_sorting[y].last;
  return lx != ly ? (lx < ly ? -1 : 1) : x < y ? -1 : x > y;
}

static void workspace_init(workspace *w, uint32_t n) {
  w->planner.nodes = calloc(tn_planner_nodes(n), sizeof *w->planner.nodes);
  w->planner.node_of = calloc(n + 1, sizeof *w->planner.node_of);
  w->planner.order = calloc(n + 1, sizeof *w->planner.order);
  w->planner.placed = calloc(n + 1, sizeof *w->planner.placed);
  w->planner.other = calloc(n + 1, sizeof *w->planner.other);
  w->b = calloc(n + 1, sizeof *w->b);
  w->by_first = calloc(n + 1, sizeof *w->by_first);
  w->by_last = calloc(n + 1, sizeof *w->by_last);
}

static void workspace_drop(workspace *w) {
  free(w->planner.nodes);
  free(w->planner.node_of);
  free(w->planner.order);
  free(w->planner.placed);
  free(w->planner.other);
  free(w->b);
  free(w->by_first);
  free(w->by_last);
}

static bool workspace_plan(workspace *w, uint32_t n, size_t *peak, size_t *live) {
  for (uint32_t i = 0; i < n; i++) w->by_first[i] = w->by_last[i] = i;
  plan_sorting = w->b;
  qsort(w->by_first, n, sizeof *w->by_first, plan_compare_first);
  qsort(w->by_last, n, sizeof *w->by_last, plan_compare_last);
  return tn_plan_offsets(&w->planner, w->b, n, w->by_first, w->by_last, peak, live);
}

static void check_plan(const tn_interval_plan *b, uint32_t n, size_t peak, size_t live) {
  size_t top = 0, most = 0;
  bool overlap = false;
  for (uint32_t i = 0; i < n; i++) {
    size_t sum = 0;
    if (b[i].bytes && b[i].offset + b[i].bytes > top) top = b[i].offset + b[i].bytes;
    for (uint32_t j = 0; j < n; j++) {
      if (b[j].first <= b[i].first && b[i].first <= b[j].last) sum += b[j].bytes; /* live when i is born */
      const bool together = i != j && b[i].bytes && b[j].bytes && b[i].first <= b[j].last && b[j].first <= b[i].last;
      overlap |= together && b[i].offset < b[j].offset + b[j].bytes && b[j].offset < b[i].offset + b[i].bytes;
    }
    if (sum > most) most = sum;
  }
  CHECK(!overlap);
  CHECK_EQ_I(peak, top);
  CHECK_EQ_I(live, most);
}

TEST(random_buffers) {
  for (uint64_t seed = 0; seed < 200; seed++) {
    const uint32_t n = 1 + (uint32_t)(tn_rng_u64(seed, 0) % 700);
    workspace w;
    workspace_init(&w, n);
    for (uint32_t i = 0; i < n; i++) {
      const uint64_t r = tn_rng_u64(seed, i + 1);
      w.b[i].first = (uint32_t)(r % n);
      w.b[i].last = w.b[i].first + (uint32_t)((r >> 16) % (seed % 2 ? 4 : n));
      w.b[i].bytes = (size_t)((r >> 32) % 100) << (6 + (r >> 40) % 20) / (seed % 3 + 1) << 6;
    }
    size_t peak = 0, live = 0;
    CHECK(workspace_plan(&w, n, &peak, &live));
    check_plan(w.b, n, peak, live);
    workspace_drop(&w);
  }
}

/* A chain of layers, each buffer read by the next step, every fourth also three steps later: as in a residual network.
 */
TEST(residual_chain_is_tight) {
  enum { N = 300 };
  workspace w;
  workspace_init(&w, N);
  for (uint32_t i = 0; i < N; i++) {
    w.b[i].first = i;
    w.b[i].last = i + (i % 4 == 0 ? 4 : 1);
    w.b[i].bytes = (size_t)64 * (1 + (i * 7) % 23) * (i < 100 ? 16 : i < 200 ? 4 : 1);
  }
  size_t peak = 0, live = 0;
  CHECK(workspace_plan(&w, N, &peak, &live));
  check_plan(w.b, N, peak, live);
  if (!CHECK((double)peak <= 1.05 * (double)live)) printf("  %zu for %zu\n", peak, live);
  workspace_drop(&w);
}

/* Stretches of buffers of one size each; a small result of every stretch lives on through the next: it must not cut the
 * room that a larger stretch needs. */
TEST(small_results_that_live_long) {
  enum { STRETCHES = 40, LENGTH = 50, N = STRETCHES * LENGTH };
  workspace w;
  workspace_init(&w, N);
  for (uint32_t i = 0; i < N; i++) {
    const bool is_result = i % LENGTH == LENGTH - 1;
    w.b[i].first = i;
    const uint32_t end = i - i % LENGTH + LENGTH - 1;
    w.b[i].last = is_result ? i + LENGTH + 1 : i + 3 < end ? i + 3 : end;
    w.b[i].bytes = is_result ? 64 : (size_t)6400 * (1 + (i / LENGTH * 7) % 16);
  }
  size_t peak = 0, live = 0;
  CHECK(workspace_plan(&w, N, &peak, &live));
  check_plan(w.b, N, peak, live);
  if (!CHECK((double)peak <= 1.05 * (double)live)) printf("  %zu for %zu\n", peak, live);
  workspace_drop(&w);
}

TEST(many_buffers_in_linear_time) {
  enum { N = 200000 };
  workspace w;
  workspace_init(&w, N);
  for (uint32_t i = 0; i < N; i++) {
    const uint64_t r = tn_rng_u64(1, i);
    w.b[i].first = i;
    w.b[i].last = i + (uint32_t)(r % 100) + (i % 2 ? 0 : N / 2);
    w.b[i].bytes = 64 * (1 + (size_t)(r >> 32) % 1000);
  }
  size_t peak = 0, live = 0;
  CHECK(workspace_plan(&w, N, &peak, &live));
  const clock_t before = clock();
  CHECK(tn_plan_offsets(&w.planner, w.b, N, w.by_first, w.by_last, &peak, &live));
  CHECK(clock() - before < 20 * CLOCKS_PER_SEC); /* linear takes a tenth of a second, quadratic minutes */
  CHECK(peak >= live && (double)peak < 1.2 * (double)live);
  workspace_drop(&w);
}

TEST(edges) {
  workspace w;
  size_t peak = 1, live = 1;
  workspace_init(&w, 3);
  CHECK(workspace_plan(&w, 0, &peak, &live));
  CHECK_EQ_I(peak, 0);
  CHECK_EQ_I(live, 0);
  w.b[0] = (tn_interval_plan){0, 0, 0, 7}; /* nothing in it */
  w.b[1] = (tn_interval_plan){0, 1, 64, 7};
  w.b[2] = (tn_interval_plan){2, 2, 64, 7}; /* takes over the place of 1 */
  CHECK(workspace_plan(&w, 3, &peak, &live));
  CHECK_EQ_I(peak, 64);
  CHECK_EQ_I(w.b[0].offset, 0);
  CHECK_EQ_I(w.b[2].offset, 0);
  w.b[1].bytes = w.b[2].bytes = SIZE_MAX - 63;
  CHECK(!workspace_plan(&w, 3, &peak, &live));
  workspace_drop(&w);
}
