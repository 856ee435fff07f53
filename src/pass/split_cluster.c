/* Clusters are sets of a union-find; a list kept in a topological order of their graph (base/order.h) prunes the
 * searches. A merge of u with a later v needs what lies on paths between: forward from u and backward from v are
 * searched in turn, an edge each, and the first side that is known whole decides. Its clusters then move out of the
 * way, so a merge costs about the smaller side and not the distance. */
#include "pass/split_cluster.h"

#include <stdlib.h>

#include "base/order.h"

#define NO_EDGE UINT32_MAX
enum { OUT, IN, SIDES };

typedef struct cluster_list { /* edges of a cluster, of which some may have become inner ones */
  uint32_t first, last;
} cluster_list;

typedef struct cluster_side { /* one direction of a search */
  uint32_t *seen;             /* cluster -> number of the search that saw it */
  uint32_t *queue;
  uint32_t head, tail;
  uint32_t edge, before; /* next edge of queue[head] and the one before it in its list */
} cluster_side;

typedef struct clusters {
  const tn_split_dag *dag;
  tn_order order;
  uint32_t *up, *size;        /* union-find; size at roots, in nodes */
  uint32_t *first, *next;     /* members: root -> first, node -> next or itself at the end */
  uint32_t *last;             /* root -> last member */
  uint8_t *is_dynamic;        /* root -> kind */
  cluster_list *edges[SIDES]; /* root -> */
  uint32_t *next_edge[SIDES]; /* edge -> */
  cluster_side side[SIDES];
  uint32_t search;
  uint32_t *between, n_between; /* of the last search */
  uint32_t *rest, n_rest;       /* seen by the side that ended, and not between */
  uint32_t *path_seen;
  int ended;                /* that side */
  uint32_t *woken, n_woken; /* nodes that have become dynamic, in the order of that */
} clusters;

static uint32_t cluster_find(clusters *c, uint32_t x) {
  while (c->up[x] != x) x = c->up[x] = c->up[c->up[x]];
  return x;
}

static uint32_t cluster_end(clusters *c, int side, uint32_t edge) {
  return cluster_find(c, side == OUT ? c->dag->to[edge] : c->dag->from[edge]);
}

static void cluster_add_edge(clusters *c, int side, uint32_t x, uint32_t edge) {
  cluster_list *l = &c->edges[side][x];
  c->next_edge[side][edge] = NO_EDGE;
  if (l->first == NO_EDGE)
    l->first = edge;
  else
    c->next_edge[side][l->last] = edge;
  l->last = edge;
}

static void clusters_init(clusters *c, tn_arena *a, const tn_split_dag *dag) {
  const uint32_t n = dag->n;
  c->dag = dag;
  tn_order_init(&c->order, a, n);
  c->up = TN_NEW_ARRAY(a, uint32_t, n + 1);
  c->size = TN_NEW_ARRAY(a, uint32_t, n + 1);
  c->first = TN_NEW_ARRAY(a, uint32_t, n + 1);
  c->next = TN_NEW_ARRAY(a, uint32_t, n + 1);
  c->last = TN_NEW_ARRAY(a, uint32_t, n + 1);
  c->is_dynamic = TN_NEW_ARRAY(a, uint8_t, n + 1);
  c->woken = TN_NEW_ARRAY(a, uint32_t, n + 1);
  c->between = TN_NEW_ARRAY(a, uint32_t, n + 1);
  c->rest = TN_NEW_ARRAY(a, uint32_t, n + 1);
  c->path_seen = TN_NEW_ARRAY(a, uint32_t, n + 1);
  for (int s = 0; s < SIDES; s++) {
    c->edges[s] = TN_NEW_ARRAY(a, cluster_list, n + 1);
    c->next_edge[s] = TN_NEW_ARRAY(a, uint32_t, dag->n_edges + 1);
    c->side[s].seen = TN_NEW_ARRAY(a, uint32_t, n + 1);
    c->side[s].queue = TN_NEW_ARRAY(a, uint32_t, n + 1);
  }
  for (uint32_t i = 0; i < n; i++) {
    c->up[i] = c->first[i] = c->next[i] = c->last[i] = i;
    c->size[i] = 1;
    c->is_dynamic[i] = dag->is_dynamic[i];
    c->edges[OUT][i].first = c->edges[IN][i].first = NO_EDGE;
  }
  for (uint32_t e = 0; e < dag->n_edges; e++) {
    cluster_add_edge(c, OUT, dag->from[e], e);
    cluster_add_edge(c, IN, dag->to[e], e);
  }
}

static void cluster_concat(clusters *c, int side, uint32_t into, uint32_t from) {
  cluster_list *a = &c->edges[side][into];
  const cluster_list *b = &c->edges[side][from];
  if (b->first == NO_EDGE) return;
  if (a->first == NO_EDGE) {
    *a = *b;
    return;
  }
  c->next_edge[side][a->last] = b->first;
  a->last = b->last;
}

static void cluster_wake(clusters *c, uint32_t x) {
  for (uint32_t m = c->first[x];; m = c->next[m]) {
    c->woken[c->n_woken++] = m;
    if (c->next[m] == m) break;
  }
}

/* One set out of two; keeps the place of `keep` in the order. The root is the larger one's. */
static uint32_t cluster_join(clusters *c, uint32_t x, uint32_t y, uint32_t keep) {
  const uint32_t root = c->size[x] >= c->size[y] ? x : y, other = root == x ? y : x;
  if (root != keep) tn_order_move_before(&c->order, root, keep); /* takes over the place */
  if (c->is_dynamic[x] != c->is_dynamic[y]) cluster_wake(c, c->is_dynamic[x] ? y : x);
  c->up[other] = root;
  c->size[root] += c->size[other];
  c->is_dynamic[root] |= c->is_dynamic[other];
  c->next[c->last[root]] = c->first[other];
  c->last[root] = c->last[other];
  for (int s = 0; s < SIDES; s++) cluster_concat(c, s, root, other);
  return root;
}

static void side_enter(clusters *c, int s, uint32_t x) {
  cluster_side *d = &c->side[s];
  d->seen[x] = c->search;
  d->queue[d->tail++] = x;
}

/* The next edge of the side to an end that is not its own cluster; inner edges are taken out of the list. */
static uint32_t side_next(clusters *c, int s) {
  cluster_side *d = &c->side[s];
  while (d->head < d->tail) {
    const uint32_t x = d->queue[d->head];
    cluster_list *l = &c->edges[s][x];
    while (d->edge != NO_EDGE) {
      const uint32_t e = d->edge, next = c->next_edge[s][e];
      d->edge = next;
      const uint32_t y = cluster_end(c, s, e);
      if (y != x) {
        d->before = e;
        return y;
      }
      if (d->before == NO_EDGE)
        l->first = next;
      else
        c->next_edge[s][d->before] = next;
      if (next == NO_EDGE) l->last = d->before;
    }
    d->head++;
    d->before = NO_EDGE;
    d->edge = d->head < d->tail ? c->edges[s][d->queue[d->head]].first : NO_EDGE;
  }
  return TN_SPLIT_ALONE;
}

static void side_start(clusters *c, int s, uint32_t x) {
  cluster_side *d = &c->side[s];
  d->head = d->tail = 0;
  d->before = NO_EDGE;
  d->edge = c->edges[s][x].first;
  side_enter(c, s, x);
}

static int cluster_by_order(const void *a, const void *b, void *order) {
  const uint64_t x = ((const tn_order *)order)->label[*(const uint32_t *)a];
  const uint64_t y = ((const tn_order *)order)->label[*(const uint32_t *)b];
  return (x > y) - (x < y);
}

/* Divides what the ended side saw into what reaches the other end too, and the rest. Each cluster is asked after those
 * that lie nearer to that end. */
static void cluster_trace(clusters *c, uint32_t goal) {
  cluster_side *d = &c->side[c->ended];
  const uint32_t n = d->tail - 1;
  uint32_t *seen = d->queue + 1;
  c->n_between = c->n_rest = 0;
  if (n > 1) qsort_r(seen, n, sizeof *seen, cluster_by_order, &c->order);
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t x = seen[c->ended == IN ? i : n - 1 - i];
    bool is_between = false;
    for (uint32_t e = c->edges[c->ended][x].first; e != NO_EDGE && !is_between; e = c->next_edge[c->ended][e]) {
      const uint32_t y = cluster_end(c, c->ended, e);
      is_between = y == goal || c->path_seen[y] == c->search;
    }
    if (is_between) {
      c->path_seen[x] = c->search;
      c->between[c->n_between++] = x;
    }
  }
  for (uint32_t i = 0; i < n; i++)
    if (c->path_seen[seen[i]] != c->search) c->rest[c->n_rest++] = seen[i];
}

/* Is there a path from u to a later v through another cluster? With `all`, fills `between` and `rest` in any case;
 * else only when there is none. */
static bool cluster_search(clusters *c, uint32_t u, uint32_t v, bool all) {
  bool is_met = false;
  c->search++;
  side_start(c, OUT, u);
  side_start(c, IN, v);
  for (int s = OUT;; s = !s) {
    const uint32_t y = side_next(c, s);
    if (y == TN_SPLIT_ALONE) {
      c->ended = s;
      break;
    }
    const uint32_t own = s == OUT ? u : v, goal = s == OUT ? v : u;
    if (y == goal) {
      if (c->side[s].queue[c->side[s].head] != own) is_met = true;
    } else if (c->side[s].seen[y] != c->search) {
      if (s == OUT ? !tn_order_before(&c->order, y, v) : !tn_order_before(&c->order, u, y)) continue;
      side_enter(c, s, y);
      if (c->side[!s].seen[y] == c->search) is_met = true;
    }
    if (is_met && !all) return true;
  }
  cluster_trace(c, c->ended == OUT ? v : u);
  return c->n_between > 0;
}

/* u, v and what the last search found between them become one cluster. */
static uint32_t cluster_merge(clusters *c, uint32_t u, uint32_t v) {
  const uint32_t keep = c->ended == IN ? u : v;
  uint32_t at = v;
  for (uint32_t i = 0; i < c->n_rest; i++) {
    if (c->ended == IN)
      tn_order_move_before(&c->order, c->rest[i], u);
    else
      tn_order_move_after(&c->order, c->rest[i], at);
    at = c->rest[i];
  }
  uint32_t root = cluster_join(c, u, v, keep);
  for (uint32_t i = 0; i < c->n_between; i++) root = cluster_join(c, root, c->between[i], root);
  return root;
}

static bool cluster_has_color(const clusters *c, uint32_t u, uint32_t v) {
  const uint32_t color = c->dag->color[u];
  if (c->dag->color[v] != color) return false;
  for (uint32_t i = 0; i < c->n_between; i++)
    if (c->dag->color[c->between[i]] != color) return false;
  return true;
}

/* Two clusters with all between them, where their colour allows. */
static bool cluster_absorb(clusters *c, uint32_t x, uint32_t y) {
  if (x == y) return true;
  const bool is_before = tn_order_before(&c->order, x, y);
  const uint32_t u = is_before ? x : y, v = is_before ? y : x;
  cluster_search(c, u, v, true);
  if (!cluster_has_color(c, u, v)) return false;
  cluster_merge(c, u, v);
  return true;
}

static tn_status cluster_groups(clusters *c, tn_arena *a, uint32_t *out_node) {
  const tn_split_dag *dag = c->dag;
  uint32_t n = 0;
  for (uint32_t i = 0; i < dag->n; i++)
    if (dag->group[i] != TN_SPLIT_ALONE && dag->group[i] >= n) n = dag->group[i] + 1;
  uint32_t *last = TN_NEW_ARRAY(a, uint32_t, n + 1); /* group -> a member, plus one */
  for (uint32_t i = 0; i < dag->n; i++) {
    const uint32_t g = dag->group[i];
    if (g == TN_SPLIT_ALONE) continue;
    *out_node = i;
    if (last[g] && !cluster_absorb(c, cluster_find(c, last[g] - 1), cluster_find(c, i))) return TN_INVALID;
    last[g] = i + 1;
  }
  return TN_OK;
}

/* Neighbours that are both dynamic. What gets absorbed is dynamic from then on, and its edges are looked at again. */
static void cluster_dynamic(clusters *c, tn_arena *a) {
  const tn_split_dag *dag = c->dag;
  c->n_woken = 0;
  for (uint32_t i = 0; i < dag->n; i++)
    if (c->is_dynamic[cluster_find(c, i)]) c->woken[c->n_woken++] = i;
  uint32_t *edge_of[SIDES] = {TN_NEW_ARRAY(a, uint32_t, dag->n + 2), TN_NEW_ARRAY(a, uint32_t, dag->n + 2)};
  uint32_t *list[SIDES] = {TN_NEW_ARRAY(a, uint32_t, dag->n_edges + 1), TN_NEW_ARRAY(a, uint32_t, dag->n_edges + 1)};
  for (int s = 0; s < SIDES; s++) { /* neighbours of nodes: the clusters' own lists change */
    const uint32_t *own = s == OUT ? dag->from : dag->to, *other = s == OUT ? dag->to : dag->from;
    for (uint32_t e = 0; e < dag->n_edges; e++) edge_of[s][own[e] + 2]++;
    for (uint32_t i = 0; i < dag->n; i++) edge_of[s][i + 2] += edge_of[s][i + 1];
    for (uint32_t e = 0; e < dag->n_edges; e++) list[s][edge_of[s][own[e] + 1]++] = other[e];
  }
  for (uint32_t done = 0; done < c->n_woken; done++) {
    const uint32_t i = c->woken[done];
    for (int s = 0; s < SIDES; s++)
      for (uint32_t k = edge_of[s][i]; k < edge_of[s][i + 1]; k++) {
        const uint32_t x = cluster_find(c, i), y = cluster_find(c, list[s][k]);
        if (c->is_dynamic[y]) cluster_absorb(c, x, y);
      }
  }
}

/* Neighbours of one kind and colour that are joined by their edge alone, in the order of the numbers. */
static void cluster_unique(clusters *c, bool is_dynamic) {
  for (uint32_t e = 0; e < c->dag->n_edges; e++) {
    const uint32_t u = cluster_find(c, c->dag->from[e]), v = cluster_find(c, c->dag->to[e]);
    if (u == v || c->is_dynamic[u] != is_dynamic || c->is_dynamic[v] != is_dynamic) continue;
    if (c->dag->color[u] != c->dag->color[v] || cluster_search(c, u, v, false)) continue;
    cluster_merge(c, u, v);
  }
}

/* Neighbours in the list, connected or not: an interval of a topological order is convex. */
static void cluster_runs(clusters *c) {
  const uint32_t none = c->order.n;
  uint32_t x = none;
  for (uint32_t y = c->order.next[none], next; y != none; y = next) {
    next = c->order.next[y]; /* joining moves y */
    if (c->up[y] != y) continue;
    const bool is_run = x != none && c->is_dynamic[x] == c->is_dynamic[y] && c->dag->color[x] == c->dag->color[y];
    x = is_run ? cluster_join(c, x, y, x) : y;
  }
}

static void cluster_degrade(clusters *c, tn_arena *a, const tn_split_rule *rule) {
  uint32_t *nodes = TN_NEW_ARRAY(a, uint32_t, c->dag->n + 1);
  for (uint32_t i = 0; i < c->dag->n; i++) {
    if (c->up[i] != i || c->is_dynamic[i]) continue;
    uint32_t n = 0;
    for (uint32_t m = c->first[i];; m = c->next[m]) {
      nodes[n++] = m;
      if (c->next[m] == m) break;
    }
    c->is_dynamic[i] = !rule->is_worth(rule->arg, nodes, n);
  }
}

static void cluster_number(clusters *c, tn_arena *a, tn_split_parts *out) {
  uint32_t *number = TN_NEW_ARRAY(a, uint32_t, c->dag->n + 1);
  out->n = 0;
  out->of = TN_NEW_ARRAY(a, uint32_t, c->dag->n + 1);
  out->is_dynamic = TN_NEW_ARRAY(a, uint8_t, c->dag->n + 1);
  for (uint32_t x = c->order.next[c->order.n]; x != c->order.n; x = c->order.next[x]) {
    if (c->up[x] != x) continue;
    out->is_dynamic[out->n] = c->is_dynamic[x];
    number[x] = out->n++;
  }
  for (uint32_t i = 0; i < c->dag->n; i++) out->of[i] = number[cluster_find(c, i)];
}

tn_status tn_split_cluster(tn_arena *a, const tn_split_dag *dag, const tn_split_rule *rule, tn_split_parts *out,
                           uint32_t *out_node) {
  clusters c = {0};
  clusters_init(&c, a, dag);
  TN_TRY(cluster_groups(&c, a, out_node));
  bool has_dynamic = false;
  for (uint32_t i = 0; i < dag->n; i++) has_dynamic |= dag->is_dynamic[i];
  if (rule->mode == TN_SPLIT_ORDER) {
    cluster_runs(&c);
    if (has_dynamic) cluster_degrade(&c, a, rule);
    cluster_runs(&c);
  } else {
    if (rule->mode == TN_SPLIT_PATHS) cluster_dynamic(&c, a);
    cluster_unique(&c, false);
    if (has_dynamic) cluster_degrade(&c, a, rule);
    cluster_unique(&c, true);
  }
  cluster_number(&c, a, out);
  return TN_OK;
}

bool tn_split_is_convex(const tn_split_dag *dag, const tn_split_parts *parts) {
  for (uint32_t e = 0; e < dag->n_edges; e++)
    if (parts->of[dag->from[e]] > parts->of[dag->to[e]]) return false;
  return true;
}
