/* pass/split_cluster.h: the policies against the same policies by brute force on small DAGs (a matrix of paths), and
 * convexity, scale and the groups' errors on large ones. */
#include "pass/split_cluster.h"

#include <stdlib.h>

#include "test/unit/test.h"

enum { SMALL = 9, LARGE = 100000 };

static tn_arena arena;
static jmp_buf oom;
static uint64_t state = 1;

static uint32_t draw(uint32_t n) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((state >> 33) % n);
}

typedef struct graph {
  tn_split_dag dag;
  uint32_t from[64], to[64], color[SMALL], group[SMALL];
  uint8_t is_dynamic[SMALL];
} graph;

static void graph_draw(graph *g) {
  memset(g, 0, sizeof *g);
  g->dag = (tn_split_dag){1 + draw(SMALL), 0, g->from, g->to, g->color, g->is_dynamic, g->group};
  const uint32_t dense = 2 + draw(4), colors = 1 + draw(2), dynamic = 1 + draw(4);
  for (uint32_t v = 0; v < g->dag.n; v++) {
    for (uint32_t u = 0; u < v; u++)
      if (!draw(dense)) {
        g->from[g->dag.n_edges] = u;
        g->to[g->dag.n_edges++] = v;
      }
    g->color[v] = draw(colors);
    g->is_dynamic[v] = !draw(dynamic);
    g->group[v] = draw(8) ? TN_SPLIT_ALONE : draw(2);
  }
}

static uint32_t least;
static bool count_rule(void *arg, const uint32_t *nodes, uint32_t n) {
  (void)arg, (void)nodes;
  return n >= least;
}

/* --- by brute force: sets of bits --- */
typedef struct brute {
  const graph *g;
  uint32_t set_of[SMALL]; /* node -> members of its set */
  bool is_dynamic[SMALL]; /* node -> kind of its set */
} brute;

static void brute_unite(brute *b, uint32_t set) {
  bool is_dynamic = false;
  for (uint32_t i = 0; i < b->g->dag.n; i++)
    if (set >> i & 1) set |= b->set_of[i], is_dynamic |= b->is_dynamic[i];
  for (uint32_t i = 0; i < b->g->dag.n; i++)
    if (set >> i & 1) b->set_of[i] = set, b->is_dynamic[i] = is_dynamic;
}

/* Nodes reached by one edge or more from the sets of the nodes in `set`, whole sets. */
static uint32_t brute_reach(const brute *b, uint32_t set, bool back) {
  uint32_t seen = 0;
  for (bool more = true; more;) {
    more = false;
    for (uint32_t e = 0; e < b->g->dag.n_edges; e++) {
      const uint32_t u = back ? b->g->to[e] : b->g->from[e], v = back ? b->g->from[e] : b->g->to[e];
      if (b->set_of[u] == b->set_of[v] || !((set | seen) >> u & 1) || (seen >> v & 1)) continue;
      seen |= b->set_of[v];
      more = true;
    }
  }
  return seen;
}

static uint32_t brute_between(const brute *b, uint32_t u, uint32_t v) {
  const uint32_t x = b->set_of[u], y = b->set_of[v];
  const uint32_t there = brute_reach(b, x, false) & brute_reach(b, y, true);
  const uint32_t back = brute_reach(b, y, false) & brute_reach(b, x, true);
  return (there | back) & ~(x | y);
}

static bool brute_same_color(const brute *b, uint32_t set) {
  uint32_t color = TN_SPLIT_ALONE;
  for (uint32_t i = 0; i < b->g->dag.n; i++) {
    if (!(set >> i & 1)) continue;
    if (color != TN_SPLIT_ALONE && color != b->g->color[i]) return false;
    color = b->g->color[i];
  }
  return true;
}

static bool brute_absorb(brute *b, uint32_t u, uint32_t v) {
  const uint32_t all = b->set_of[u] | b->set_of[v] | brute_between(b, u, v);
  if (!brute_same_color(b, all)) return false;
  brute_unite(b, all);
  return true;
}

static void brute_unique(brute *b, bool is_dynamic) {
  for (uint32_t e = 0; e < b->g->dag.n_edges; e++) {
    const uint32_t u = b->g->from[e], v = b->g->to[e];
    if (b->is_dynamic[u] != is_dynamic || b->is_dynamic[v] != is_dynamic) continue;
    if (b->g->color[u] == b->g->color[v] && !brute_between(b, u, v)) brute_unite(b, b->set_of[u] | b->set_of[v]);
  }
}

static bool brute_cluster(brute *b, const graph *g, tn_split_mode mode) {
  b->g = g;
  bool any = false;
  for (uint32_t i = 0; i < g->dag.n; i++) b->set_of[i] = 1u << i, any |= b->is_dynamic[i] = g->is_dynamic[i];
  uint32_t last[2] = {TN_SPLIT_ALONE, TN_SPLIT_ALONE};
  for (uint32_t i = 0; i < g->dag.n; i++) {
    if (g->group[i] == TN_SPLIT_ALONE) continue;
    if (last[g->group[i]] != TN_SPLIT_ALONE && !brute_absorb(b, last[g->group[i]], i)) return false;
    last[g->group[i]] = i;
  }
  for (bool more = mode == TN_SPLIT_PATHS; more;) {
    more = false;
    for (uint32_t e = 0; e < g->dag.n_edges; e++)
      if (b->is_dynamic[g->from[e]] && b->is_dynamic[g->to[e]] && b->set_of[g->from[e]] != b->set_of[g->to[e]])
        more |= brute_absorb(b, g->from[e], g->to[e]);
  }
  brute_unique(b, false);
  for (uint32_t i = 0; any && i < g->dag.n; i++)
    if ((uint32_t)__builtin_popcount(b->set_of[i]) < least) b->is_dynamic[i] = true;
  brute_unique(b, true);
  return true;
}

/* With several colours the order of the first step shows; then only what must hold is asked. */
static bool has_one_color(const graph *g) {
  for (uint32_t i = 1; i < g->dag.n; i++)
    if (g->color[i] != g->color[0]) return false;
  return true;
}

static bool is_legal(const graph *g, const tn_split_parts *parts) {
  for (uint32_t i = 0; i < g->dag.n; i++)
    for (uint32_t k = 0; k < i; k++) {
      if (parts->of[i] == parts->of[k] && g->color[i] != g->color[k]) return false;
      if (parts->of[i] != parts->of[k] && g->group[i] == g->group[k] && g->group[i] != TN_SPLIT_ALONE) return false;
    }
  return tn_split_is_convex(&g->dag, parts);
}

static bool same_parts(const brute *b, const tn_split_parts *parts) {
  for (uint32_t i = 0; i < b->g->dag.n; i++) {
    if (parts->is_dynamic[parts->of[i]] != b->is_dynamic[i]) return false;
    for (uint32_t k = 0; k < b->g->dag.n; k++)
      if ((parts->of[i] == parts->of[k]) != (b->set_of[i] == b->set_of[k])) return false;
  }
  return true;
}

static void graph_print(const graph *g, const tn_split_parts *parts) {
  for (uint32_t i = 0; i < g->dag.n; i++)
    printf("  %u color %u %s group %d -> %u\n", i, g->color[i], g->is_dynamic[i] ? "dynamic" : "known",
           (int)g->group[i], parts->of ? parts->of[i] : 0);
  for (uint32_t e = 0; e < g->dag.n_edges; e++) printf("  %u->%u", g->from[e], g->to[e]);
  printf("\n");
}

/* One random graph; false: it differs. Counts those whose groups could be kept. */
static bool try_one(long *out_valid) {
  if (setjmp(oom)) return CHECK(false);
  tn_arena_init(&arena, tn_allocator_system(), &oom);
  graph g;
  graph_draw(&g);
  least = draw(5);
  const tn_split_rule rule = {draw(2) ? TN_SPLIT_PATHS : TN_SPLIT_KNOWN_FIRST, count_rule, NULL};
  brute b;
  tn_split_parts parts = {0};
  uint32_t node;
  const tn_status status = tn_split_cluster(&arena, &g.dag, &rule, &parts, &node);
  const bool is_ok = brute_cluster(&b, &g, rule.mode);
  const bool is_unique = rule.mode == TN_SPLIT_KNOWN_FIRST || has_one_color(&g);
  const bool same =
      is_ok ? status == TN_OK && is_legal(&g, &parts) && (!is_unique || same_parts(&b, &parts)) : status == TN_INVALID;
  if (!CHECK(same)) graph_print(&g, &parts);
  tn_arena_drop(&arena);
  *out_valid += is_ok;
  return same;
}

TEST(small_against_brute_force) {
  const char *more = getenv("TENON_SPLIT_GRAPHS");
  const long n = more ? atol(more) : 20000;
  long valid = 0;
  for (long k = 0; k < n; k++)
    if (!try_one(&valid)) return;
  CHECK(valid > n / 2);
}

/* Part i of the nodes `kinds`, d(ynamic) or s, is the digit parts[i]. */
static void check_in_order(const char *kinds, const char *want) {
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  tn_arena_init(&arena, tn_allocator_system(), &oom);
  graph g = {0};
  g.dag = (tn_split_dag){(uint32_t)strlen(kinds), 0, g.from, g.to, g.color, g.is_dynamic, g.group};
  for (uint32_t i = 0; i < g.dag.n; i++) g.is_dynamic[i] = kinds[i] == 'd', g.group[i] = TN_SPLIT_ALONE;
  tn_split_parts parts;
  uint32_t node;
  const tn_split_rule rule = {TN_SPLIT_ORDER, count_rule, NULL};
  CHECK_EQ_I(tn_split_cluster(&arena, &g.dag, &rule, &parts, &node), TN_OK);
  for (uint32_t i = 0; i < g.dag.n; i++) CHECK_EQ_I(parts.of[i], want[i] - '0');
  tn_arena_drop(&arena);
}

TEST(runs_in_order) { /* d d s s d: the run of two is too short; d d s s s s d: four are enough; a tail of one is not */
  static const struct {
    const char *kinds, *parts;
  } rows[] = {{"ddssd", "00000"}, {"ddssssd", "0011112"}, {"dsss", "0000"}, {"dssss", "01111"}, {"dds", "000"},
              {"dsds", "0000"},   {"ssd", "000"},         {"ssss", "0000"}, {"s", "0"}};
  least = 4;
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) check_in_order(rows[r].kinds, rows[r].parts);
}

/* Alternating kinds with skips over 1, 10 and all nodes: convex; a quadratic search would not end. */
TEST(large) {
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  tn_arena_init(&arena, tn_allocator_system(), &oom);
  for (int mode = TN_SPLIT_PATHS; mode <= TN_SPLIT_ORDER; mode++)
    for (uint32_t shape = 0; shape < 4; shape++) {
      uint32_t *from = TN_NEW_ARRAY(&arena, uint32_t, 3 * LARGE), *to = TN_NEW_ARRAY(&arena, uint32_t, 3 * LARGE);
      uint32_t *color = TN_NEW_ARRAY(&arena, uint32_t, LARGE), *group = TN_NEW_ARRAY(&arena, uint32_t, LARGE);
      uint8_t *is_dynamic = TN_NEW_ARRAY(&arena, uint8_t, LARGE);
      tn_split_dag dag = {LARGE, 0, from, to, color, is_dynamic, group};
      for (uint32_t i = 0; i < LARGE; i++) {
        group[i] = TN_SPLIT_ALONE;
        is_dynamic[i] = shape == 3 ? draw(3) == 0 : i % 2 == 1;
        const uint32_t back[3] = {i - 1, i - (shape == 3 ? 1 + draw(30) : 10), shape == 1 ? 0 : i - 2};
        for (uint32_t k = 0; k < (shape == 0 ? 1u : 3u); k++)
          if (back[k] < i) from[dag.n_edges] = back[k], to[dag.n_edges++] = i;
      }
      least = 0;
      tn_split_parts parts;
      uint32_t node;
      const tn_split_rule rule = {(tn_split_mode)mode, count_rule, NULL};
      CHECK_EQ_I(tn_split_cluster(&arena, &dag, &rule, &parts, &node), TN_OK);
      CHECK(tn_split_is_convex(&dag, &parts));
    }
  tn_arena_drop(&arena);
}
