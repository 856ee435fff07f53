/* Places for all sizes. Offsets are planned for a few guesses of the symbols; each plan says which buffer lies above
 * which, and that order gives a plan for every size (code/planner.h). The order whose worst guess is best is taken. At
 * run time it gives way to a plan for the sizes at hand where it wastes memory. */
#include "code/planner.h"
#include "pass/plan.h"

typedef struct spot_guess {
  tn_symtab *syms;
  int number;
} spot_guess;

static bool spot_symbol(void *arg, uint32_t symbol, int64_t *out) {
  static const int64_t sizes[TN_PLAN_GUESSES] = {64, 640, 7, 1};
  const spot_guess *g = arg;
  const tn_symbol *s = tn_sym_symbol(g->syms, symbol);
  if (s->source == TN_SOURCE_DEFINED) return false;
  const int64_t step = s->multiple_of > 1 ? s->multiple_of : 1;
  int64_t v = sizes[g->number];
  if (v > s->max) v = s->max;
  if (v < s->min) v = s->min;
  v -= v % step;
  *out = v < s->min && v <= INT64_MAX - step ? v + step : v;
  return true;
}

void tn_plan_guess(tn_symtab *syms, const tn_plan_buffer *buffers, const uint32_t *which, uint32_t n, int guess,
                   size_t *out) {
  spot_guess g = {syms, guess};
  const tn_sym_evaluation sizes = tn_sym_evaluation_begin(syms, spot_symbol, &g);
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t b = which ? which[i] : i;
    int64_t value = 0;
    const bool is_good = tn_sym_evaluate(&sizes, buffers[b].bytes, &value) == TN_OK && value > 0 &&
                         value < INT64_MAX / 1024 / (int64_t)n && tn_align_size((size_t)value, TN_PLAN_ALIGN, &out[b]);
    if (!is_good) out[b] = 0;
  }
}

typedef struct spots {
  tn_arena *side;
  tn_symtab *syms;
  tn_plan *plan;
  tn_planner planner;
  uint64_t *bits;
  uint32_t n;
  uint32_t *of;               /* position -> buffer of the plan */
  tn_interval_plan *b, *best; /* by address, with ties */
  uint32_t *best_of;
  uint32_t *by_first, *by_last, *rank, *room;
  size_t *sizes[TN_PLAN_GUESSES]; /* by buffer of the plan */
  double worst;
} spots;

static void spot_load(spots *p, int guess) {
  for (uint32_t i = 0; i < p->n; i++) p->b[i].bytes = p->sizes[guess][p->of[i]];
}

static void spot_sort_lives(spots *p) {
  tn_plan_sort(p->b, p->n, false, p->by_first);
  tn_plan_sort(p->b, p->n, true, p->by_last);
}

/* By address; what is empty lies below what begins there. */
static bool spot_is_below(const tn_interval_plan *b, uint32_t x, uint32_t y) {
  if (b[x].offset != b[y].offset) return b[x].offset < b[y].offset;
  if ((b[x].bytes == 0) != (b[y].bytes == 0)) return b[x].bytes == 0;
  return x < y;
}

static void spot_sort(const tn_interval_plan *b, uint32_t *order, uint32_t *room, uint32_t n) { /* merge sort */
  for (uint32_t i = 0; i < n; i++) order[i] = i;
  for (uint32_t width = 1; width < n; width *= 2) {
    for (uint32_t low = 0; low < n; low += 2 * width) {
      const uint32_t middle = low + width < n ? low + width : n, high = middle + width < n ? middle + width : n;
      uint32_t i = low, j = middle;
      for (uint32_t k = low; k < high; k++)
        room[k] = j >= high || (i < middle && !spot_is_below(b, order[j], order[i])) ? order[i++] : order[j++];
    }
    memcpy(order, room, n * sizeof *order);
  }
}

/* Numbers the buffers by the addresses of a plan, and ties them. */
static void spot_order(spots *p) {
  spot_sort(p->b, p->rank, p->room, p->n);
  memcpy(p->room, p->of, p->n * sizeof *p->of);
  tn_interval_plan *const old = TN_NEW_ARRAY(p->side, tn_interval_plan, p->n);
  memcpy(old, p->b, p->n * sizeof *old);
  for (uint32_t i = 0; i < p->n; i++) {
    p->b[i] = old[p->rank[i]];
    p->of[i] = p->room[p->rank[i]];
  }
  spot_sort_lives(p);
  tn_plan_orient(p->b, p->n, p->by_first, p->by_last, p->bits);
}

/* The worst ratio of memory needed to memory live over all guesses. */
static double spot_worst(spots *p, int guesses) {
  double worst = 1;
  for (int g = 0; g < guesses; g++) {
    spot_load(p, g);
    const size_t live = tn_plan_live(p->b, p->n, p->by_first, p->by_last), peak = tn_plan_evaluate(p->b, p->n);
    if (live && (double)peak / (double)live > worst) worst = (double)peak / (double)live;
  }
  return worst;
}

static void spot_guess_once(spots *p, int guess, int guesses) {
  size_t peak, live;
  spot_load(p, guess);
  spot_sort_lives(p);
  if (!tn_plan_offsets(&p->planner, p->b, p->n, p->by_first, p->by_last, &peak, &live)) return;
  spot_order(p);
  const double worst = spot_worst(p, guesses);
  if (p->worst > 0 && worst >= p->worst) return;
  p->worst = worst;
  memcpy(p->best, p->b, p->n * sizeof *p->b);
  memcpy(p->best_of, p->of, p->n * sizeof *p->of);
}

static void spot_region(spots *p, const uint32_t *buffers) {
  const int guesses = p->n > TN_PLAN_MANY ? 1 : TN_PLAN_GUESSES;
  p->worst = 0;
  for (int g = 0; g < guesses; g++) tn_plan_guess(p->syms, p->plan->buffers, buffers, p->n, g, p->sizes[g]);
  for (uint32_t i = 0; i < p->n; i++) {
    const tn_plan_buffer *b = &p->plan->buffers[buffers[i]];
    p->of[i] = buffers[i];
    p->b[i] = (tn_interval_plan){.first = b->first, .last = b->last};
  }
  for (int g = 0; g < guesses && (p->worst <= 0 || p->worst > 1); g++) spot_guess_once(p, g, guesses);
  for (uint32_t i = 0; i < p->n; i++) {
    tn_plan_buffer *b = &p->plan->buffers[p->best_of[i]];
    b->number = i;
    b->under = p->best[i].under == TN_PLAN_NONE ? TN_NO_INDEX : (int32_t)p->best[i].under;
    b->over = p->best[i].over == TN_PLAN_NONE ? TN_NO_INDEX : (int32_t)p->best[i].over;
  }
}

static void spot_init(spots *p, tn_arena *a, uint32_t n) {
  p->planner.nodes = TN_NEW_ARRAY(a, tn_plan_node, tn_planner_nodes(n));
  p->planner.node_of = TN_NEW_ARRAY(a, uint32_t, n + 1);
  p->planner.order = TN_NEW_ARRAY(a, uint32_t, n + 1);
  p->planner.placed = TN_NEW_ARRAY(a, uint32_t, n + 1);
  p->planner.other = TN_NEW_ARRAY(a, size_t, n + 1);
  p->bits = TN_NEW_ARRAY(a, uint64_t, tn_plan_bits(n));
  p->b = TN_NEW_ARRAY(a, tn_interval_plan, n + 1);
  p->best = TN_NEW_ARRAY(a, tn_interval_plan, n + 1);
  p->of = TN_NEW_ARRAY(a, uint32_t, n + 1);
  p->best_of = TN_NEW_ARRAY(a, uint32_t, n + 1);
  p->by_first = TN_NEW_ARRAY(a, uint32_t, n + 1);
  p->by_last = TN_NEW_ARRAY(a, uint32_t, n + 1);
  p->rank = TN_NEW_ARRAY(a, uint32_t, n + 1);
  p->room = TN_NEW_ARRAY(a, uint32_t, n + 1);
  for (int i = 0; i < TN_PLAN_GUESSES; i++) p->sizes[i] = TN_NEW_ARRAY(a, size_t, n + 1);
}

void tn_plan_place(tn_pass *pass, tn_graph *g, tn_plan *places) {
  tn_arena *const side = &pass->ctx->pass;
  spots p = {.side = side, .syms = g->syms, .plan = places};
  uint32_t *const start = TN_NEW_ARRAY(side, uint32_t, g->n_regions + 2);
  uint32_t *const fill = TN_NEW_ARRAY(side, uint32_t, g->n_regions + 2);
  uint32_t *const buffers = TN_NEW_ARRAY(side, uint32_t, places->n_buffers + 1);
  for (uint32_t i = 0; i < places->n_buffers; i++) start[places->buffers[i].region->id + 1]++;
  for (uint32_t r = 0; r < g->n_regions; r++) start[r + 1] += start[r];
  for (uint32_t r = 0; r < g->n_regions; r++) fill[r] = start[r];
  for (uint32_t i = 0; i < places->n_buffers; i++) buffers[fill[places->buffers[i].region->id]++] = i;
  spot_init(&p, side, places->n_buffers);
  for (uint32_t r = 0; r < g->n_regions; r++) {
    p.n = start[r + 1] - start[r];
    if (p.n) spot_region(&p, buffers + start[r]);
  }
}
