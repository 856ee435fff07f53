/* What follows from the checks in the ledger. */
#include "ir/ledger.h"

enum { LEDGER_NEST = 16, LEDGER_CASES = 96 }; /* definitions in definitions; checks up to which cases are split */

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

/* What earlier checks imply was never recorded, so it is left to look at the later ones: from the last to the first,
 * what follows from those that stay is dropped. Nothing is proved by itself, nor by what is dropped. */
void tn_ledger_minimise(tn_graph *g) {
  const size_t n = g->checks.n;
  if (n < 2) return;
  bool *const drop = TN_NEW_ARRAY(&g->ctx->arena, bool, n);
  tn_premises *const p = tn_premises_new(g->syms);
  for (size_t i = n; i-- > 0;) {
    const tn_check *const c = &g->checks.at[i];
    if (!tn_ledger_is_early(g, c->condition)) continue;
    drop[i] = (n <= LEDGER_CASES ? tn_premises_prove_by_cases(p, c->condition) : tn_premises_prove(p, c->condition)) ==
              TN_TRUE;
    if (!drop[i] && ledger_counts(g, c)) tn_premises_add(p, c->condition);
  }
  size_t kept = 0;
  for (size_t i = 0; i < n; i++)
    if (!drop[i]) g->checks.at[kept++] = g->checks.at[i];
  if (kept < n) g->edits++;
  g->checks.n = kept;
  g->premises = NULL;
}
