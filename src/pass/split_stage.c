/* Stages of the main graph: what runs in one place of a pipeline. No node needs one of a later stage.
 *
 * Asked for node by node (a file, else metadata): what a staged node needs is of its stage or an earlier one, the
 * lowest that needs it; what no staged node needs comes last, in a stage of its own. Or N stages of equal work:
 * intervals of the plan's order, cut where the fewest bytes cross. */
#include "base/sort.h"
#include "ir/op.h"
#include "pass/split_mark.h"
#include "pass/split_pays.h"

enum { STAGE_MAX = 256, STAGE_SLACK = 50 /* a stage may be 1/50 above the mean to save bytes */ };

typedef struct stager {
  tn_partition_set *s;
  const tn_split_options *o;
  const tn_split_flow *f;
  tn_ctx *ctx;
  int32_t *level;    /* node -> stage, or TN_NO_STAGE so far */
  bool *is_asked;    /* node -> by the user */
  uint32_t *members; /* nodes by group */
  uint32_t *first;   /* group -> its first place there; first[group + 1] ends it */
} stager;

static const char *stage_name(const tn_node *node) {
  return node->loc.name && node->loc.name[0] ? node->loc.name : node->op->name;
}

/* --- asked for --- */

static void stage_members(stager *s) {
  const uint32_t n = s->f->n;
  uint32_t *at = TN_NEW_ARRAY(&s->ctx->pass, uint32_t, n + 2);
  s->members = TN_NEW_ARRAY(&s->ctx->pass, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++) at[s->f->group[i] + 2]++;
  for (uint32_t i = 0; i < n; i++) at[i + 2] += at[i + 1];
  for (uint32_t i = 0; i < n; i++) s->members[at[s->f->group[i] + 1]++] = i;
  s->first = at;
}

static size_t stage_rule_of(const tn_split_options *o, const tn_node *node) {
  size_t k = 0;
  while (k < o->n_stage_rules && !tn_split_matches(node->loc.name ? node->loc.name : "", o->stage_rules[k].pattern))
    k++;
  return k;
}

int32_t tn_split_asked_stage(const tn_split_options *o, const tn_node *node) {
  const size_t k = stage_rule_of(o, node);
  if (k < o->n_stage_rules) return o->stage_rules[k].stage;
  return node->marks ? node->marks->stage : TN_NO_STAGE;
}

/* One stage for a group. */
static tn_status stage_ask(stager *s, uint32_t i, int32_t level) {
  const uint32_t group = s->f->group[i];
  for (uint32_t k = s->first[group]; k < s->first[group + 1]; k++) {
    const uint32_t j = s->members[k];
    if (s->is_asked[j] && s->level[j] != level)
      return tn_fail(s->ctx, TN_INVALID, s->f->nodes[i]->loc,
                     "it is to be in stage %d and in one part with '%s' of stage %d", (int)level,
                     stage_name(s->f->nodes[j]), (int)s->level[j]);
    s->level[j] = level;
    s->is_asked[j] = true;
  }
  return TN_OK;
}

static tn_status stage_read(stager *s, bool *out_any) {
  bool *is_used = TN_NEW_ARRAY(&s->ctx->pass, bool, s->o->n_stage_rules + 1);
  for (uint32_t i = 0; i < s->f->n; i++) {
    const int32_t level = tn_split_asked_stage(s->o, s->f->nodes[i]);
    is_used[stage_rule_of(s->o, s->f->nodes[i])] = true;
    if (level == TN_NO_STAGE) continue;
    *out_any = true;
    TN_TRY(stage_ask(s, i, level));
  }
  for (size_t k = 0; k < s->o->n_stage_rules; k++)
    if (!is_used[k])
      return tn_fail(s->ctx, TN_INVALID, (tn_loc){.kind = "option", .name = "--stage-file"},
                     "no node of the main graph has a name like '%s'", s->o->stage_rules[k].pattern);
  return TN_OK;
}

static bool stage_is_lower(const void *arg, uint32_t x, uint32_t y) {
  const int32_t *level = arg;
  return level[x] != level[y] ? level[x] < level[y] : x < y;
}

/* What node i needs, and what is in one part with that, is of its stage where it has none. */
static uint32_t stage_pull(stager *s, uint32_t i, uint32_t *queue, uint32_t n) {
  const tn_split_flow *f = s->f;
  for (uint32_t e = f->first[i]; e < f->first[i + 1]; e++) {
    const uint32_t group = f->group[f->from[e]];
    if (s->level[f->from[e]] != TN_NO_STAGE) continue;
    for (uint32_t k = s->first[group]; k < s->first[group + 1]; k++) {
      s->level[s->members[k]] = s->level[i];
      queue[n++] = s->members[k];
    }
  }
  return n;
}

/* Upstream from the lowest stage on, so that each node is met once. Returns the highest. */
static int32_t stage_spread(stager *s) {
  uint32_t *asked = TN_NEW_ARRAY(&s->ctx->pass, uint32_t, s->f->n + 1);
  uint32_t *queue = TN_NEW_ARRAY(&s->ctx->pass, uint32_t, s->f->n + 1), n_asked = 0;
  for (uint32_t i = 0; i < s->f->n; i++)
    if (s->is_asked[i]) asked[n_asked++] = i;
  tn_sort_ids(asked, n_asked, stage_is_lower, s->level);
  for (uint32_t k = 0; k < n_asked; k++) {
    uint32_t n = stage_pull(s, asked[k], queue, 0);
    for (uint32_t done = 0; done < n; done++) n = stage_pull(s, queue[done], queue, n);
  }
  return n_asked ? s->level[asked[n_asked - 1]] : TN_NO_STAGE;
}

static tn_status stage_check(const stager *s) {
  const tn_split_flow *f = s->f;
  for (uint32_t e = 0; e < f->n_edges; e++)
    if (s->level[f->from[e]] > s->level[f->to[e]])
      return tn_fail(s->ctx, TN_INVALID, f->nodes[f->to[e]]->loc,
                     "it is in stage %d and needs '%s', which is in stage %d", (int)s->level[f->to[e]],
                     stage_name(f->nodes[f->from[e]]), (int)s->level[f->from[e]]);
  return TN_OK;
}

static tn_status stage_by_marks(stager *s) {
  bool any = false;
  if (!s->f->has_marks && !s->o->n_stage_rules) return TN_OK;
  stage_members(s);
  TN_TRY(stage_read(s, &any));
  if (!any) return TN_OK;
  const int32_t last = stage_spread(s);
  for (uint32_t i = 0; i < s->f->n; i++)
    if (s->level[i] == TN_NO_STAGE) s->level[i] = last + 1;
  return stage_check(s);
}

/* --- of equal work --- */

typedef struct balance {
  stager *s;
  tn_split_work *work;
  uint32_t n;          /* nodes; cut j lies before node j */
  int64_t *before;     /* j -> nanoseconds of the nodes before it */
  int64_t *crosses;    /* j -> bytes of values that are needed on both sides */
  bool *is_cut;        /* j -> no group lies across */
  const char *missing; /* a size that is not given */
} balance;

static int64_t balance_ns(balance *b, const tn_node *node) {
  const tn_split_cost *c = &tn_target_find(b->s->o->target, b->s->s->engine_of[node->id])->cost;
  return c->node + tn_split_work_ns(b->work, c, node);
}

static void balance_work(balance *b) {
  const tn_split_flow *f = b->s->f;
  b->before = TN_NEW_ARRAY(&b->s->ctx->pass, int64_t, b->n + 1);
  for (uint32_t i = 0; i < b->n; i++) b->before[i + 1] = b->before[i] + balance_ns(b, f->nodes[i]);
}

/* Each value crosses the cuts between its node and the last that needs it. */
static void balance_bytes(balance *b) {
  const tn_split_flow *f = b->s->f;
  b->crosses = TN_NEW_ARRAY(&b->s->ctx->pass, int64_t, b->n + 2);
  for (uint32_t i = 0; i < b->n; i++)
    for (int k = 0; k < f->nodes[i]->n_out; k++) {
      const tn_value *v = f->nodes[i]->out[k];
      uint32_t last = i;
      for (const tn_use *u = v ? v->uses : NULL; u; u = u->next) {
        const tn_node *by = tn_split_holder(f->region, tn_use_node(u));
        if (by && f->index[by->id] > last) last = f->index[by->id];
      }
      if (last == i) continue;
      const int64_t bytes = tn_split_work_number(b->work, tn_cost_bytes(&b->work->cost, v));
      b->crosses[i + 1] += bytes;
      b->crosses[last + 1] -= bytes;
    }
  for (uint32_t j = 1; j <= b->n; j++) b->crosses[j] += b->crosses[j - 1];
}

static void balance_cuts(balance *b) {
  const tn_split_flow *f = b->s->f;
  uint32_t *last = TN_NEW_ARRAY(&b->s->ctx->pass, uint32_t, b->n + 1), reach = 0;
  b->is_cut = TN_NEW_ARRAY(&b->s->ctx->pass, bool, b->n + 1);
  for (uint32_t i = 0; i < b->n; i++) last[f->group[i]] = i;
  for (uint32_t j = 0; j <= b->n; j++) {
    b->is_cut[j] = j == 0 || j == b->n || reach < j;
    if (j < b->n && last[f->group[j]] > reach) reach = last[f->group[j]];
  }
}

/* Fewest stages of at most `limit`: each as long as it may be. */
static int64_t balance_count(const balance *b, int64_t limit) {
  int64_t n = 0;
  for (uint32_t start = 0; start < b->n; n++) {
    uint32_t end = start;
    for (uint32_t j = start + 1; j <= b->n && b->before[j] - b->before[start] <= limit; j++)
      if (b->is_cut[j]) end = j;
    if (end == start) return INT64_MAX;
    start = end;
  }
  return n;
}

/* The smallest work of the largest stage, or a little above the mean when it is below that. */
static int64_t balance_limit(const balance *b, int64_t n_stages) {
  int64_t lo = 0, hi = b->before[b->n];
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (balance_count(b, mid) <= n_stages)
      hi = mid;
    else
      lo = mid + 1;
  }
  const int64_t mean = b->before[b->n] / n_stages;
  return lo > mean + mean / STAGE_SLACK ? lo : mean + mean / STAGE_SLACK;
}

/* One more stage for each prefix: best[j] := the fewest bytes when the last of them begins at from[j]. A queue keeps
 * the beginnings that may still be best, by rising place and bytes. */
static void balance_round(const balance *b, int64_t limit, const int64_t *before, int64_t *best, uint32_t *from,
                          uint32_t *queue) {
  uint32_t head = 0, tail = 0;
  for (uint32_t j = 0; j <= b->n; j++) {
    best[j] = INT64_MAX;
    while (head < tail && b->before[j] - b->before[queue[head]] > limit) head++;
    if (head < tail && b->is_cut[j]) {
      best[j] = before[queue[head]] + (j < b->n ? b->crosses[j] : 0);
      from[j] = queue[head];
    }
    if (before[j] == INT64_MAX) continue;
    while (head < tail && before[queue[tail - 1]] > before[j]) tail--;
    queue[tail++] = j;
  }
}

static tn_status balance_cut(balance *b, int64_t n_stages) {
  tn_arena *a = &b->s->ctx->pass;
  const int64_t limit = balance_limit(b, n_stages);
  int64_t *best[2] = {TN_NEW_ARRAY(a, int64_t, b->n + 1), TN_NEW_ARRAY(a, int64_t, b->n + 1)};
  uint32_t *queue = TN_NEW_ARRAY(a, uint32_t, b->n + 1), **from = TN_NEW_ARRAY(a, uint32_t *, n_stages);
  for (uint32_t j = 1; j <= b->n; j++) best[0][j] = INT64_MAX;
  for (int64_t k = 0; k < n_stages; k++) {
    from[k] = TN_NEW_ARRAY(a, uint32_t, b->n + 1);
    balance_round(b, limit, best[k % 2], best[(k + 1) % 2], from[k], queue);
  }
  if (best[n_stages % 2][b->n] == INT64_MAX)
    return tn_fail(b->s->ctx, TN_INVALID, (tn_loc){.kind = "option", .name = "--stages"},
                   "the model cannot be cut into %lld stages", (long long)n_stages);
  uint32_t end = b->n;
  for (int64_t k = n_stages; k-- > 0;) {
    const uint32_t start = from[k][end];
    for (uint32_t i = start; i < end; i++) b->s->level[i] = (int32_t)k;
    end = start;
  }
  return TN_OK;
}

static void balance_missing(void *arg, uint32_t symbol) {
  balance *b = arg;
  if (!b->work->sizes.given[symbol] && !b->missing) b->missing = tn_sym_symbol(b->work->cost.syms, symbol)->name;
}

static tn_status balance_check_sizes(balance *b) {
  const tn_region *r = b->s->f->region;
  for (int i = 0; i < r->n_params; i++)
    for (int d = 0; tn_type_has_rank(&r->params[i]->type) && d < r->params[i]->type.rank; d++)
      tn_sym_symbols(b->work->cost.syms, r->params[i]->type.dims[d], balance_missing, b);
  if (!b->missing) return TN_OK;
  return tn_fail(b->s->ctx, TN_INVALID, (tn_loc){.kind = "option", .name = "--stages"},
                 "work depends on '%s': --dim %s=SIZE", b->missing, b->missing);
}

static tn_status stage_by_work(stager *s, tn_split_work *work, int64_t n_stages) {
  balance b = {.s = s, .work = work, .n = s->f->n};
  if (n_stages > STAGE_MAX)
    return tn_fail(s->ctx, TN_LIMIT, (tn_loc){.kind = "option", .name = "--stages"}, "more than %d stages", STAGE_MAX);
  TN_TRY(balance_check_sizes(&b));
  balance_work(&b);
  balance_bytes(&b);
  balance_cuts(&b);
  return balance_cut(&b, n_stages);
}

tn_status tn_split_stage(tn_partition_set *set, const tn_split_options *o, tn_split_work *work,
                         const tn_split_flow *f) {
  stager s = {.s = set, .o = o, .f = f, .ctx = set->graph->ctx};
  s.level = TN_NEW_ARRAY(&s.ctx->pass, int32_t, f->n + 1);
  s.is_asked = TN_NEW_ARRAY(&s.ctx->pass, bool, f->n + 1);
  for (uint32_t i = 0; i < f->n; i++) s.level[i] = TN_NO_STAGE;
  TN_TRY(o->n_stages > 0 ? stage_by_work(&s, work, o->n_stages) : stage_by_marks(&s));
  for (uint32_t i = 0; i < f->n; i++) set->stage_of[f->ids[i]] = s.level[i];
  return TN_OK;
}
