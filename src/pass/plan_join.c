/* Parts of what a Concat makes. When all dims before its axis are 1 its operands lie one after the other in its result,
 * and whoever makes an operand may write it there: nothing is copied, and the operand needs no buffer of its own.
 *
 *   %a = relu(%x)                     buffer 2, operand 0 of %c
 *   %b = conv(%x, %w)                 buffer 2, operand 1 of %c
 *   %c = concat(%a, %b) {axis = 1}    buffer 2, from the tick of %a on
 *
 * The result's buffer then lives from the first operand on. That is done only where the largest sum of live bytes does
 * not grow, at any guess of the symbols: all operands that can move do, or those made last. */
#include "base/sort.h"
#include "pass/plan.h"

typedef struct join_tree { /* over ticks: bytes live, with the largest of each range */
  int64_t *most, *add;     /* add: of all ticks of a node of the tree */
} join_tree;

typedef struct joins {
  tn_planning *p;
  TN_VEC(const tn_node *) nodes;
  uint32_t *newest, *n_values, *height;
  uint32_t leaves; /* a power of 2 */
  int n_guesses;
  size_t *sizes[TN_PLAN_GUESSES]; /* by buffer */
  join_tree trees[TN_PLAN_GUESSES];
  int64_t before[TN_PLAN_GUESSES];
  uint32_t *moving, n_moving; /* candidates: operand numbers of the node at hand, the last made first */
  const tn_node *node;
  TN_VEC(tn_sym) bytes; /* of what moved */
} joins;

static void join_add_in(join_tree *t, uint32_t at, uint32_t low, uint32_t n, uint32_t first, uint32_t last,
                        int64_t delta) {
  if (first <= low && low + n - 1 <= last) {
    t->add[at] += delta;
    t->most[at] += delta;
    return;
  }
  const uint32_t middle = low + n / 2;
  if (first < middle) join_add_in(t, 2 * at, low, n / 2, first, last, delta);
  if (last >= middle) join_add_in(t, 2 * at + 1, middle, n / 2, first, last, delta);
  const int64_t left = t->most[2 * at], right = t->most[2 * at + 1];
  t->most[at] = (left > right ? left : right) + t->add[at];
}

/* A buffer's life begins to count (sign 1), or counts no longer (-1). */
static void join_count(joins *j, uint32_t buffer, uint32_t first, uint32_t last, int sign) {
  for (int g = 0; g < j->n_guesses; g++) {
    join_add_in(&j->trees[g], 1, 0, j->leaves, first, last, sign * (int64_t)j->sizes[g][buffer]);
  }
}

static void join_settle(joins *j) {
  for (int g = 0; g < j->n_guesses; g++) j->before[g] = j->trees[g].most[1];
}

static bool join_fits(const joins *j) {
  for (int g = 0; g < j->n_guesses; g++)
    if (j->trees[g].most[1] > j->before[g]) return false;
  return true;
}

static tn_status join_find(void *arg, tn_node *node) {
  joins *j = arg;
  uint32_t flags = 0;
  if (j->p->pass->place_of[node->id] != TN_PLACE_KERNEL || node->n_out < 1 || !node->out[0]) return TN_OK;
  if (!j->p->pass->kernels->find(node->op->kernel, &flags) || !(flags & TN_KERNEL_JOINS)) return TN_OK;
  if (j->p->out->buffer[node->out[0]->id] >= 0) tn_vec_push(&j->p->pass->ctx->pass, &j->nodes, node);
  return TN_OK;
}

/* Are the operands one after the other in the result, each at a place that is known when the region is entered? */
static bool join_is_plain(const joins *j, const tn_node *node) {
  const tn_type *y = &node->out[0]->type;
  const tn_attr *a = tn_op_attr(node, "axis");
  if (!a || a->kind != TN_ATTR_INT || y->dtype == TN_STR || tn_dtype_bits(y->dtype) % 8 != 0) return false;
  const int64_t axis = a->i < 0 ? a->i + y->rank : a->i;
  for (int64_t d = 0; d < axis; d++)
    if (!tn_sym_is(y->dims[d], 1)) return false;
  for (int i = 0; i < node->n_in; i++) {
    const tn_type *x = node->in[i] ? &node->in[i]->type : NULL;
    if (!x || !tn_type_is_tensor(x) || !tn_type_has_rank(x) || x->dtype != y->dtype) return false;
    for (int d = 0; d < x->rank; d++)
      if (!tn_known_on_entry(j->p->pass->known, tn_known_when(j->p->pass->known, x->dims[d]), node->region))
        return false;
  }
  return true;
}

/* The buffer of operand i when it may become part of buffer `into`; else -1. */
static int64_t join_operand(const joins *j, const tn_node *node, int i, uint32_t into) {
  const tn_planning *p = j->p;
  bool whole;
  const int64_t from = tn_plan_buffer_of(p, node->in[i], &whole);
  const tn_value *x = p->root[node->in[i]->id];
  const uint32_t tick = p->out->begin[node->id];
  if (from < 0 || !whole || from == (int64_t)into || p->join[from].node) return -1;
  const tn_plan_buffer *b = &p->out->buffers[from];
  if (b->region != node->region || x->region != node->region || p->is_shared[from] || p->is_result[from]) return -1;
  if (p->out->begin[x->def->id] != j->newest[from] || j->newest[from] >= tick) return -1;
  if (b->last > tick && j->n_values[into] > 1) return -1; /* something is written over the result */
  return j->height[from] + 1 < TN_PROGRAM_MAX_JOINS ? from : -1;
}

static uint32_t join_buffer(const joins *j, uint32_t operand) {
  bool whole;
  return (uint32_t)tn_plan_buffer_of(j->p, j->node->in[operand], &whole);
}

static bool join_is_later(const void *arg, uint32_t x, uint32_t y) {
  const joins *j = arg;
  const uint32_t at_x = j->p->out->buffers[join_buffer(j, x)].first;
  const uint32_t at_y = j->p->out->buffers[join_buffer(j, y)].first;
  return at_x != at_y ? at_x > at_y : x < y;
}

/* The life of the result's buffer when the first n candidates are in it. */
static tn_plan_buffer join_life(const joins *j, uint32_t into, uint32_t n) {
  tn_plan_buffer life = j->p->out->buffers[into];
  for (uint32_t i = 0; i < n; i++) {
    const tn_plan_buffer *b = &j->p->out->buffers[join_buffer(j, j->moving[i])];
    if (b->first < life.first) life.first = b->first;
    if (b->last > life.last) life.last = b->last;
  }
  return life;
}

static void join_candidates(joins *j, uint32_t into) {
  tn_planning *p = j->p;
  j->n_moving = 0;
  for (int i = 0; i < j->node->n_in; i++) {
    const int64_t from = join_operand(j, j->node, i, into);
    if (from < 0) continue;
    p->join[from] = (tn_plan_join){j->node, i}; /* an operand that stands twice moves once */
    j->moving[j->n_moving++] = (uint32_t)i;
  }
  tn_sort_ids(j->moving, j->n_moving, join_is_later, j);
}

/* How many of the candidates move: all, or as many of those made last as fit. */
static uint32_t join_choose(joins *j, uint32_t into) {
  const tn_plan_buffer *buffers = j->p->out->buffers;
  uint32_t n = j->n_moving;
  uint32_t *const last = TN_NEW_ARRAY(&j->p->pass->ctx->pass, uint32_t, n + 1); /* of the life with the first i */
  last[0] = buffers[into].last;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t b = join_buffer(j, j->moving[i]);
    last[i + 1] = buffers[b].last > last[i] ? buffers[b].last : last[i];
    join_count(j, b, buffers[b].first, buffers[b].last, -1);
  }
  join_count(j, into, buffers[into].first, buffers[into].last, -1);
  for (;;) {
    const uint32_t first = n ? buffers[join_buffer(j, j->moving[n - 1])].first : buffers[into].first;
    join_count(j, into, first, last[n], 1);
    if (n == 0 || join_fits(j)) return n;
    const uint32_t b = join_buffer(j, j->moving[--n]);
    join_count(j, into, first, last[n + 1], -1);
    join_count(j, b, buffers[b].first, buffers[b].last, 1);
  }
}

static void join_node(joins *j, const tn_node *node) {
  tn_planning *p = j->p;
  const uint32_t into = tn_plan_find(p, (uint32_t)p->out->buffer[node->out[0]->id]);
  const tn_plan_buffer *y = &p->out->buffers[into];
  if (y->region != node->region || p->is_shared[into] || y->first != p->out->begin[node->id]) return;
  if (!join_is_plain(j, node)) return;
  j->node = node;
  join_candidates(j, into);
  if (j->n_moving == 0) return;
  const uint32_t n = join_choose(j, into);
  for (uint32_t i = 0; i < j->n_moving; i++) {
    const uint32_t from = join_buffer(j, j->moving[i]);
    if (i >= n) {
      p->join[from] = (tn_plan_join){NULL, 0};
      continue;
    }
    if (j->height[from] >= j->height[into]) j->height[into] = j->height[from] + 1;
    tn_vec_push(&p->pass->ctx->pass, &j->bytes, p->out->buffers[from].bytes);
  }
  p->out->buffers[into] = join_life(j, into, n);
  join_settle(j);
}

static void join_init(joins *j) {
  const tn_planning *p = j->p;
  tn_arena *const a = &p->pass->ctx->pass;
  const uint32_t n = p->out->n_buffers;
  uint32_t most = 0;
  j->newest = TN_NEW_ARRAY(a, uint32_t, n + 1);
  j->n_values = TN_NEW_ARRAY(a, uint32_t, n + 1);
  j->height = TN_NEW_ARRAY(a, uint32_t, n + 1);
  for (uint32_t i = 0; i < p->n_all; i++) {
    const tn_value *v = p->all[i];
    if (p->out->buffer[v->id] < 0) continue;
    const uint32_t b = tn_plan_find(p, (uint32_t)p->out->buffer[v->id]), tick = p->out->begin[v->def->id];
    if (tick > j->newest[b]) j->newest[b] = tick;
    j->n_values[b]++;
  }
  for (size_t i = 0; i < j->nodes.n; i++)
    if ((uint32_t)j->nodes.at[i]->n_in > most) most = (uint32_t)j->nodes.at[i]->n_in;
  j->moving = TN_NEW_ARRAY(a, uint32_t, most + 1);
  j->n_guesses = n > TN_PLAN_MANY ? 1 : TN_PLAN_GUESSES;
  for (j->leaves = 1; j->leaves < p->clock;) j->leaves *= 2;
  for (int g = 0; g < j->n_guesses; g++) {
    j->sizes[g] = TN_NEW_ARRAY(a, size_t, n + 1);
    tn_plan_guess(p->graph->syms, p->out->buffers, NULL, n, g, j->sizes[g]);
    j->trees[g].most = TN_NEW_ARRAY(a, int64_t, 2 * (size_t)j->leaves);
    j->trees[g].add = TN_NEW_ARRAY(a, int64_t, 2 * (size_t)j->leaves);
  }
  for (uint32_t i = 0; i < n; i++)
    if (p->merged[i] == i) join_count(j, i, p->out->buffers[i].first, p->out->buffers[i].last, 1);
  join_settle(j);
}

tn_status tn_plan_joins(tn_planning *p) {
  joins j = {.p = p};
  TN_TRY(tn_graph_walk(p->graph, join_find, &j));
  bool any = false;
  for (size_t i = 0; i < j.nodes.n && !any; i++) any = join_is_plain(&j, j.nodes.at[i]);
  if (!any) return TN_OK;
  join_init(&j);
  for (size_t i = 0; i < j.nodes.n; i++) join_node(&j, j.nodes.at[i]);
  p->out->n_joined = (uint32_t)j.bytes.n;
  if (j.bytes.n) p->out->joined_bytes = tn_sym_sum(p->graph->syms, j.bytes.at, j.bytes.n);
  return TN_OK;
}
