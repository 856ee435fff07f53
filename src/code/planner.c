/* Bind-time memory planner: best fit in order of birth, in about linear time; for few buffers also largest first
 * and the like, which are often tighter. The smallest result wins, so the plan depends on sizes and lifetimes alone. */
#include "code/planner.h"

#include <string.h>

#include "base/sort.h"

enum { PLAN_LOOK = 32 /* free pieces compared per bin */, PLAN_SMALL = 512, PLAN_UNIT = 64, PLAN_ROUNDS = 8 };

/* Bins by size: four for each power of two. */
static uint32_t plan_bin(size_t bytes) {
  uint64_t units = bytes / PLAN_UNIT;
  uint32_t log = 0;
  while (units > 7) {
    units >>= 1;
    log++;
  }
  return log * 4 + (uint32_t)units; /* units 0..7 at first, then 4..7 */
}

static void plan_bin_add(tn_planner *w, uint32_t node) {
  const uint32_t bin = plan_bin(w->nodes[node].bytes), head = w->bins[bin];
  w->nodes[node].is_free = true;
  w->nodes[node].bin_prev = 0;
  w->nodes[node].bin_next = head;
  if (head) w->nodes[head].bin_prev = node;
  w->bins[bin] = node;
  w->filled[bin / 64] |= UINT64_C(1) << (bin % 64);
}

static void plan_bin_remove(tn_planner *w, uint32_t node) {
  const tn_plan_node *x = &w->nodes[node];
  const uint32_t bin = plan_bin(x->bytes);
  if (x->bin_prev) {
    w->nodes[x->bin_prev].bin_next = x->bin_next;
  } else {
    w->bins[bin] = x->bin_next;
    if (!x->bin_next) w->filled[bin / 64] &= ~(UINT64_C(1) << (bin % 64));
  }
  if (x->bin_next) w->nodes[x->bin_next].bin_prev = x->bin_prev;
  w->nodes[node].is_free = false;
}

static uint32_t plan_look(const tn_planner *w, uint32_t bin, size_t bytes) {
  uint32_t best = 0;
  int left = PLAN_LOOK;
  for (uint32_t i = w->bins[bin]; i && left > 0; i = w->nodes[i].bin_next, left--)
    if (w->nodes[i].bytes >= bytes && (!best || w->nodes[i].bytes < w->nodes[best].bytes)) best = i;
  return best;
}

/* A free piece of at least `bytes`, 0 when there is none (or none was seen). */
static uint32_t plan_find(const tn_planner *w, size_t bytes) {
  const uint32_t bin = plan_bin(bytes);
  const uint32_t near = plan_look(w, bin, bytes);
  if (near) return near;
  for (uint32_t b = bin + 1; b < TN_PLANNER_BINS; b++) {
    if (!w->filled[b / 64]) {
      b |= 63;
    } else if (w->bins[b]) {
      return plan_look(w, b, bytes);
    }
  }
  return 0;
}

static uint32_t plan_node(tn_planner *w) {
  const uint32_t node = w->spare ? w->spare : w->n_nodes++;
  if (w->spare) w->spare = w->nodes[node].bin_next;
  w->nodes[node] = (tn_plan_node){0};
  return node;
}

static void plan_drop_node(tn_planner *w, uint32_t node) {
  w->nodes[node].bin_next = w->spare;
  w->spare = node;
}

/* Cuts what is over `bytes` off a taken piece. */
static void plan_trim(tn_planner *w, uint32_t node, size_t bytes) {
  if (w->nodes[node].bytes == bytes) return;
  const uint32_t rest = plan_node(w);
  tn_plan_node *x = &w->nodes[node], *r = &w->nodes[rest];
  r->offset = x->offset + bytes;
  r->bytes = x->bytes - bytes;
  r->below = node;
  r->above = x->above;
  if (x->above) w->nodes[x->above].below = rest;
  x->above = rest;
  x->bytes = bytes;
  if (w->top == node) w->top = rest;
  plan_bin_add(w, rest);
}

static uint32_t plan_take(tn_planner *w, size_t bytes) {
  uint32_t node = plan_find(w, bytes);
  if (node) {
    plan_bin_remove(w, node);
    plan_trim(w, node, bytes);
    return node;
  }
  if (w->top && w->nodes[w->top].is_free) {
    node = w->top;
    plan_bin_remove(w, node);
    if (w->nodes[node].bytes > bytes) { /* large enough, but not seen */
      plan_trim(w, node, bytes);
    } else {
      w->nodes[node].bytes = bytes;
    }
    return node;
  }
  node = plan_node(w);
  w->nodes[node].bytes = bytes;
  if (w->top) {
    w->nodes[node].offset = w->nodes[w->top].offset + w->nodes[w->top].bytes;
    w->nodes[node].below = w->top;
    w->nodes[w->top].above = node;
  }
  w->top = node;
  return node;
}

/* Joins a free piece that is in no bin with the one above it. */
static void plan_join(tn_planner *w, uint32_t node, uint32_t above) {
  w->nodes[node].bytes += w->nodes[above].bytes;
  w->nodes[node].above = w->nodes[above].above;
  if (w->nodes[node].above) w->nodes[w->nodes[node].above].below = node;
  if (w->top == above) w->top = node;
  plan_drop_node(w, above);
}

static void plan_give_back(tn_planner *w, uint32_t node) {
  const uint32_t above = w->nodes[node].above, below = w->nodes[node].below;
  if (above && w->nodes[above].is_free) {
    plan_bin_remove(w, above);
    plan_join(w, node, above);
  }
  if (below && w->nodes[below].is_free) {
    plan_bin_remove(w, below);
    plan_join(w, below, node);
    node = below;
  }
  plan_bin_add(w, node);
}

typedef struct plan_lives {
  uint64_t least, most;
} plan_lives;

static bool plan_is_in(plan_lives lives, const tn_interval_plan *x) {
  const uint64_t ticks = (uint64_t)x->last - x->first;
  return x->bytes && ticks >= lives.least && ticks < lives.most;
}

/* Those that live for at least `least` and less than `most` ticks, in order of birth: offsets from `base` on into
 * `other`. Returns the bytes needed. */
static size_t plan_by_birth(tn_planner *w, const tn_interval_plan *b, uint32_t n, const uint32_t *by_first,
                            const uint32_t *by_last, plan_lives lives, size_t base) {
  uint32_t dead = 0;
  memset(w->bins, 0, sizeof w->bins);
  memset(w->filled, 0, sizeof w->filled);
  w->n_nodes = 1; /* node 0 means none */
  w->spare = w->top = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t now = by_first[i];
    if (!plan_is_in(lives, &b[now])) continue;
    for (; dead < n && b[by_last[dead]].last < b[now].first; dead++)
      if (plan_is_in(lives, &b[by_last[dead]])) plan_give_back(w, w->node_of[by_last[dead]]);
    w->node_of[now] = plan_take(w, b[now].bytes);
    w->other[now] = base + w->nodes[w->node_of[now]].offset;
  }
  return w->top ? w->nodes[w->top].offset + w->nodes[w->top].bytes : 0;
}

typedef enum plan_order { PLAN_LONGEST, PLAN_AREA, PLAN_LARGEST, PLAN_N_ORDERS } plan_order;

typedef struct plan_order_of {
  const tn_interval_plan *b;
  plan_order by;
} plan_order_of;

/* Is buffer x to be placed before y? */
static bool plan_before(const void *arg, uint32_t x, uint32_t y) {
  const plan_order_of *o = arg;
  const tn_interval_plan *p = &o->b[x], *q = &o->b[y];
  const uint64_t long_x = (uint64_t)p->last - p->first + 1, long_y = (uint64_t)q->last - q->first + 1;
  const double area_x = (double)p->bytes * (double)long_x, area_y = (double)q->bytes * (double)long_y;
  if (o->by == PLAN_AREA && (area_x < area_y || area_x > area_y)) return area_x > area_y;
  if (o->by == PLAN_LONGEST && long_x != long_y) return long_x > long_y;
  return p->bytes != q->bytes ? p->bytes > q->bytes : x < y;
}

static void plan_sort(const tn_interval_plan *b, plan_order by, uint32_t *order, uint32_t n) {
  const plan_order_of how = {b, by};
  for (uint32_t i = 0; i < n; i++) order[i] = i;
  tn_sort_ids(order, n, plan_before, &how);
}

/* The tightest gap for buffer x between those placed that live when it does; `placed` is ordered by offset. */
static size_t plan_gap(const tn_planner *w, const tn_interval_plan *b, uint32_t n_placed, uint32_t x) {
  size_t end = 0, best = SIZE_MAX, best_bytes = SIZE_MAX;
  for (uint32_t i = 0; i < n_placed; i++) {
    const uint32_t y = w->placed[i];
    if (b[y].last < b[x].first || b[x].last < b[y].first) continue;
    if (w->other[y] >= end + b[x].bytes && w->other[y] - end < best_bytes) {
      best = end;
      best_bytes = w->other[y] - end;
    }
    if (w->other[y] + b[y].bytes > end) end = w->other[y] + b[y].bytes;
  }
  return best == SIZE_MAX ? end : best;
}

/* Places the buffers in w->order, into w->other. Returns the bytes needed. Quadratic, so for few buffers. */
static size_t plan_place(tn_planner *w, const tn_interval_plan *b, uint32_t n) {
  size_t peak = 0;
  uint32_t n_placed = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t x = w->order[i];
    w->other[x] = plan_gap(w, b, n_placed, x);
    uint32_t j = n_placed++;
    for (; j > 0 && w->other[w->placed[j - 1]] > w->other[x]; j--) w->placed[j] = w->placed[j - 1];
    w->placed[j] = x;
    if (w->other[x] + b[x].bytes > peak) peak = w->other[x] + b[x].bytes;
  }
  return peak;
}

/* Moves the buffer that reaches the peak to the front: it had no better place because others were there. */
static void plan_promote(tn_planner *w, const tn_interval_plan *b, uint32_t n, size_t peak) {
  for (uint32_t i = n; i-- > 1;) {
    const uint32_t x = w->order[i];
    if (w->other[x] + b[x].bytes != peak) continue;
    memmove(w->order + 1, w->order, i * sizeof *w->order);
    w->order[0] = x;
    return;
  }
}

static bool plan_is_tight(size_t peak, size_t live) { return peak - live <= live / 20; }

static size_t plan_keep(const tn_planner *w, tn_interval_plan *b, uint32_t n, size_t other, size_t peak) {
  if (other >= peak) return peak;
  for (uint32_t i = 0; i < n; i++) b[i].offset = b[i].bytes ? w->other[i] : 0;
  return other;
}

/* In order of birth; where that wastes memory, those that live long lie below the others, which they would cut apart:
 * several lengths are tried. */
static size_t plan_by_lives(tn_planner *w, tn_interval_plan *b, uint32_t n, const uint32_t *by_first,
                            const uint32_t *by_last, size_t live) {
  const plan_lives all = {0, UINT64_MAX};
  size_t peak = plan_keep(w, b, n, plan_by_birth(w, b, n, by_first, by_last, all, 0), SIZE_MAX);
  for (uint64_t length = 16; length < (UINT64_C(1) << 32) && !plan_is_tight(peak, live); length *= 8) {
    const size_t base = plan_by_birth(w, b, n, by_first, by_last, (plan_lives){length, UINT64_MAX}, 0);
    if (base == 0) break;
    const size_t rest = plan_by_birth(w, b, n, by_first, by_last, (plan_lives){0, length}, base);
    peak = plan_keep(w, b, n, base + rest, peak);
  }
  return peak;
}

/* Improves the plan while it is more than a twentieth above what nothing can beat, in about a millisecond. */
static size_t plan_improve(tn_planner *w, tn_interval_plan *b, uint32_t n, size_t peak, size_t live) {
  const uint32_t fit = PLAN_SMALL * PLAN_SMALL / (n * n), rounds = fit < PLAN_ROUNDS ? fit : PLAN_ROUNDS;
  for (uint32_t round = 0; round < rounds && !plan_is_tight(peak, live); round++) {
    if (round < PLAN_N_ORDERS) plan_sort(b, (plan_order)round, w->order, n);
    const size_t other = plan_place(w, b, n);
    if (round >= PLAN_N_ORDERS - 1) plan_promote(w, b, n, other);
    peak = plan_keep(w, b, n, other, peak);
  }
  return peak;
}

size_t tn_plan_live(const tn_interval_plan *b, uint32_t n, const uint32_t *by_first, const uint32_t *by_last) {
  size_t live = 0, most = 0;
  uint32_t dead = 0;
  for (uint32_t i = 0; i < n; i++) {
    for (; dead < n && b[by_last[dead]].last < b[by_first[i]].first; dead++) live -= b[by_last[dead]].bytes;
    live += b[by_first[i]].bytes;
    if (live > most) most = live;
  }
  return most;
}

bool tn_plan_offsets(tn_planner *w, tn_interval_plan *buffers, uint32_t n, const uint32_t *by_first,
                     const uint32_t *by_last, size_t *out_peak, size_t *out_live) {
  size_t sum = 0;
  for (uint32_t i = 0; i < n; i++)
    if (!tn_add_size(sum, buffers[i].bytes, &sum)) return false;
  *out_live = tn_plan_live(buffers, n, by_first, by_last);
  *out_peak = plan_by_lives(w, buffers, n, by_first, by_last, *out_live);
  if (n > 0 && n <= PLAN_SMALL) *out_peak = plan_improve(w, buffers, n, *out_peak, *out_live);
  return true;
}
