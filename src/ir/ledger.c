/* What follows from the checks in the ledger. */
#include "ir/ledger.h"

#include "ir/op.h"

enum {
  LEDGER_NEST = 16,  /* definitions in definitions */
  LEDGER_CASES = 96, /* checks up to which cases are split */
  LEDGER_ZEROS = 24  /* checks that may be proved by telling zeros apart */
};

typedef struct ledger_walk {
  const tn_graph *graph;
  int depth;
  bool early;
} ledger_walk;

static bool ledger_is_param(const tn_graph *g, uint32_t value) {
  for (int i = 0; i < g->main->n_params; i++)
    if (g->main->params[i]->id == value) return true;
  return false;
}

static void ledger_visit(void *arg, uint32_t symbol) {
  ledger_walk *const w = arg;
  const tn_symbol *const s = tn_sym_symbol(w->graph->syms, symbol);
  if (!w->early || s->source == TN_SOURCE_GIVEN) return;
  if (s->source == TN_SOURCE_DEFINED && w->depth < LEDGER_NEST) {
    ledger_walk inner = {w->graph, w->depth + 1, true};
    tn_sym_symbols(w->graph->syms, s->definition, ledger_visit, &inner);
    w->early = inner.early;
    return;
  }
  w->early = (s->source == TN_SOURCE_DIM || s->source == TN_SOURCE_ELEM) && ledger_is_param(w->graph, s->value);
}

bool tn_ledger_is_early(const tn_graph *g, tn_sym e) {
  ledger_walk w = {g, 0, true};
  tn_sym_symbols(g->syms, e, ledger_visit, &w);
  return w.early;
}

tn_sym tn_ledger_entry(const tn_graph *g, const tn_region *region) {
  tn_sym all = NULL;
  for (const tn_region *r = region; r->owner; r = r->owner->region) {
    const tn_node *const node = r->owner;
    const tn_type *const cond = node->n_in > 0 && node->in[0] ? &node->in[0]->type : NULL;
    if (strcmp(node->op->name, "if") != 0 || !cond || !cond->content || cond->content[0].kind != TN_ELEM_SYM) continue;
    const tn_sym chosen = cond->content[0].sym;
    if (!tn_ledger_is_early(g, chosen)) continue;
    const tn_sym holds = r == node->regions[0] ? chosen : tn_sym_not(g->syms, chosen);
    all = all ? tn_sym_and(g->syms, all, holds) : holds;
  }
  return all;
}

typedef struct ledger_only {
  tn_symtab *syms;
  tn_sym var; /* the last one seen */
  int n;      /* changes of symbol */
} ledger_only;

static void ledger_count(void *arg, uint32_t symbol) {
  ledger_only *const o = arg;
  const tn_symbol *const s = tn_sym_symbol(o->syms, symbol);
  if (s->source == TN_SOURCE_DEFINED) {
    tn_sym_symbols(o->syms, s->definition, ledger_count, o);
    return;
  }
  if (o->var != s->var) o->n++;
  o->var = s->var;
}

tn_sym tn_ledger_symbol(const tn_graph *g, tn_sym e) {
  ledger_only o = {.syms = g->syms};
  if (!tn_ledger_is_early(g, e)) return NULL;
  tn_sym_symbols(g->syms, e, ledger_count, &o);
  return o.n == 1 ? o.var : NULL;
}

static bool ledger_counts(const tn_graph *g, const tn_check *c) {
  return c->region == g->main && tn_ledger_is_early(g, c->condition);
}

/* Trials of rewrites take checks back: then the premises begin anew. */
static tn_premises *ledger_premises(tn_graph *g) {
  if (!g->premises || g->n_premises > g->checks.n) {
    g->premises = tn_premises_new(g->syms);
    g->n_premises = 0;
  }
  for (; g->n_premises < g->checks.n; g->n_premises++) {
    const tn_check *const c = &g->checks.at[g->n_premises];
    if (ledger_counts(g, c)) tn_premises_add(g->premises, c->condition);
  }
  return g->premises;
}

bool tn_ledger_implies(tn_graph *g, tn_sym condition) {
  if (g->checks.n == 0 || !tn_ledger_is_early(g, condition)) return false;
  return tn_premises_prove(ledger_premises(g), condition) == TN_TRUE;
}

bool tn_ledger_implies_by_cases(tn_graph *g, tn_sym condition) {
  if (tn_ledger_implies(g, condition)) return true;
  if (g->checks.n == 0 || g->checks.n > LEDGER_CASES || !tn_ledger_is_early(g, condition)) return false;
  if (tn_premises_prove_by_cases(ledger_premises(g), condition) != TN_TRUE) return false;
  tn_premises_add(g->premises, condition); /* the next node of its kind is spared the cases */
  return true;
}

tn_sym tn_ledger_shorter(tn_graph *g, tn_sym e) {
  e = tn_sym_tidy(g->syms, e);
  const tn_sym whole = tn_sym_without_rests(g->syms, e);
  return whole != e && tn_ledger_implies(g, tn_sym_eq(g->syms, e, whole)) ? whole : e;
}

/* Minimising. */

typedef struct ledger_group { /* checks of one region that speak of one symbol only */
  const tn_region *region;
  tn_sym var;
  TN_VEC(size_t) checks;
} ledger_group;

typedef TN_VEC(tn_sym) ledger_conditions;

typedef struct ledger_rest {
  tn_graph *graph;
  tn_arena *arena;
  bool *drop, *solved; /* by check */
  TN_VEC(ledger_group) groups;
  tn_map group_of;          /* symbol and region -> group */
  ledger_conditions ranges; /* that follow from the checks of a symbol */
} ledger_rest;

static uint64_t ledger_key(tn_sym var, const tn_region *region) { return (uint64_t)(var->k + 1) << 32 | region->id; }

static void ledger_enter(ledger_rest *m, size_t check) {
  const tn_check *const c = &m->graph->checks.at[check];
  const tn_sym var = tn_ledger_symbol(m->graph, c->condition);
  uint64_t at = m->groups.n;
  if (!var) return;
  if (!tn_map_find(&m->group_of, ledger_key(var, c->region), &at)) {
    tn_map_set(m->arena, &m->group_of, ledger_key(var, c->region), at);
    tn_vec_push(m->arena, &m->groups, ((ledger_group){.region = c->region, .var = var}));
  }
  tn_vec_push(m->arena, &m->groups.at[at].checks, check);
}

static void ledger_push_group(const ledger_rest *m, const ledger_group *group, ledger_conditions *out) {
  for (size_t i = 0; i < group->checks.n; i++)
    tn_vec_push(m->arena, out, m->graph->checks.at[group->checks.at[i]].condition);
}

static void ledger_range(ledger_rest *m, const tn_sym_set *set) {
  tn_symtab *const t = m->graph->syms;
  int64_t lo = 0, hi = tn_sym_set_count(set) - 1;
  while (lo <= hi && !set->has[lo]) lo++;
  while (hi >= lo && !set->has[hi]) hi--;
  if (lo > hi) return; /* no number at all: nothing is gained from saying that everything follows */
  const bool repeats = hi >= set->from - set->lo;
  tn_vec_push(m->arena, &m->ranges, tn_sym_le(t, tn_sym_int(t, set->lo + lo), set->var));
  if (!repeats) tn_vec_push(m->arena, &m->ranges, tn_sym_le(t, set->var, tn_sym_int(t, set->lo + hi)));
}

/* Checks on one symbol are decided exactly. Those of the regions around hold when a region is entered: they come first,
 * and that they may follow from inner ones is of no use. */
static void ledger_solve(ledger_rest *m, const ledger_group *group) {
  ledger_conditions all = {0};
  uint64_t at;
  for (const tn_region *r = group->region; r->owner; r = r->owner->region)
    if (tn_map_find(&m->group_of, ledger_key(group->var, r->owner->region), &at))
      ledger_push_group(m, &m->groups.at[at], &all);
  const tn_sym entry = tn_ledger_entry(m->graph, group->region);
  if (entry && tn_ledger_symbol(m->graph, entry) == group->var) tn_vec_push(m->arena, &all, entry);
  const size_t n_outer = all.n;
  ledger_push_group(m, group, &all);
  bool *const solved = TN_NEW_ARRAY(m->arena, bool, all.n + 1), *const implied =
                                                                    TN_NEW_ARRAY(m->arena, bool, all.n + 1);
  tn_sym_set set;
  if (tn_sym_solve(m->graph->syms, m->arena, group->var, all.at, all.n, solved, implied, &set) == 0) return;
  for (size_t i = 0; i < group->checks.n; i++) {
    m->solved[group->checks.at[i]] = solved[n_outer + i];
    m->drop[group->checks.at[i]] = implied[n_outer + i];
  }
  if (group->region == m->graph->main) ledger_range(m, &set);
}

/* Of a branch: does the condition follow from what chose it, with what is given? */
static bool ledger_follows_inside(const ledger_rest *m, const ledger_conditions *given, const tn_check *c) {
  const tn_sym entry = c->region == m->graph->main ? NULL : tn_ledger_entry(m->graph, c->region);
  if (!entry) return false;
  tn_premises *const p = tn_premises_new(m->graph->syms);
  tn_premises_add(p, entry);
  for (size_t i = 0; i < given->n && i < LEDGER_CASES; i++) tn_premises_add(p, given->at[i]);
  return tn_premises_contradict(p) || tn_premises_prove_by_cases(p, c->condition) == TN_TRUE;
}

/* From the last check to the first, what follows from those that stay is dropped; what earlier checks imply was never
 * recorded. Nothing is proved by itself, nor by what is dropped, but for `ranges`, which follow from what was solved.
 */
static void ledger_prove(ledger_rest *m) {
  tn_graph *const g = m->graph;
  const bool by_cases = g->checks.n <= LEDGER_CASES;
  tn_premises *const kept = tn_premises_new(g->syms), *const all = tn_premises_new(g->syms);
  ledger_conditions given = {0};
  int zeros = by_cases ? LEDGER_ZEROS : 0;
  for (size_t i = 0; i < m->ranges.n; i++) {
    tn_premises_add(all, m->ranges.at[i]);
    tn_vec_push(m->arena, &given, m->ranges.at[i]);
  }
  for (size_t i = g->checks.n; i-- > 0;) {
    const tn_check *const c = &g->checks.at[i];
    if (m->drop[i] || !tn_ledger_is_early(g, c->condition)) continue;
    const tn_premises *const p = m->solved[i] ? kept : all;
    const tn_truth r = by_cases ? tn_premises_prove_by_cases(p, c->condition) : tn_premises_prove(p, c->condition);
    m->drop[i] =
        r == TN_TRUE || ledger_follows_inside(m, &given, c) ||
        (!m->solved[i] && zeros-- > 0 && tn_sym_prove_by_zeros(g->syms, m->arena, given.at, given.n, c->condition));
    if (m->drop[i] || !ledger_counts(g, c)) continue;
    tn_premises_add(kept, c->condition);
    tn_premises_add(all, c->condition);
    tn_vec_push(m->arena, &given, c->condition);
  }
}

/* x*a == x*b is a == b where the orders that stay say that x is not 0. */
static void ledger_divide(const ledger_rest *m) {
  tn_graph *const g = m->graph;
  tn_premises *const orders = tn_premises_new(g->syms);
  if (g->checks.n > LEDGER_CASES) return;
  for (size_t i = 0; i < m->ranges.n; i++) tn_premises_add(orders, m->ranges.at[i]);
  for (size_t i = 0; i < g->checks.n; i++) {
    const tn_check *const c = &g->checks.at[i];
    if (ledger_counts(g, c) && (c->condition->kind == TN_SYM_LE || c->condition->kind == TN_SYM_LT))
      tn_premises_add(orders, c->condition);
  }
  for (size_t i = 0; i < g->checks.n; i++) {
    tn_check *const c = &g->checks.at[i];
    tn_sym cases[TN_SYM_ALTERNATIVES];
    const size_t n =
        ledger_counts(g, c) && c->condition->kind == TN_SYM_EQ ? tn_sym_alternatives(g->syms, c->condition, cases) : 0;
    tn_sym left = NULL;
    size_t n_left = 0;
    for (size_t k = 0; k < n; k++) {
      if (tn_premises_prove(orders, cases[k]) == TN_FALSE) continue;
      left = cases[k];
      n_left++;
    }
    if (n_left == 1 && !tn_sym_is_int(left)) c->condition = left;
  }
}

void tn_ledger_minimise(tn_graph *g) {
  const size_t n = g->checks.n;
  ledger_rest m = {.graph = g, .arena = &g->ctx->pass};
  if (n == 0) return;
  m.drop = TN_NEW_ARRAY(m.arena, bool, n);
  m.solved = TN_NEW_ARRAY(m.arena, bool, n);
  for (size_t i = 0; i < n; i++) ledger_enter(&m, i);
  for (size_t i = 0; i < m.groups.n; i++) ledger_solve(&m, &m.groups.at[i]);
  ledger_prove(&m);
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (!m.drop[i]) g->checks.at[kept++] = g->checks.at[i];
  if (kept < n) g->edits++;
  g->checks.n = kept;
  g->premises = NULL;
  ledger_divide(&m);
}
