/* When expressions are known: see known.h. */
#include "pass/known.h"

typedef struct known_symbol {
  tn_when when;
  uint8_t state; /* 0 new, 1 on the stack, 2 done */
} known_symbol;

struct tn_known {
  tn_graph *graph;
  tn_arena *arena;
  uint32_t *position;      /* node id -> place in its region */
  const tn_value **values; /* by id; NULL = erased */
  known_symbol *symbols;
  uint32_t n_symbols;
  tn_map memo; /* expression -> tn_when * */
};

static void known_add_value(tn_known *k, const tn_value *v) {
  if (v) k->values[v->id] = v;
}

static void known_add_region(tn_known *k, const tn_region *r) {
  for (int i = 0; i < r->n_params; i++) known_add_value(k, r->params[i]);
  uint32_t position = 0;
  for (const tn_node *node = r->first; node; node = node->next) k->position[node->id] = position++;
}

static tn_status known_visit(void *arg, tn_node *node) {
  tn_known *k = arg;
  for (int i = 0; i < node->n_out; i++) known_add_value(k, node->out[i]);
  for (int i = 0; i < node->n_regions; i++) known_add_region(k, node->regions[i]);
  return TN_OK;
}

tn_known *tn_known_new(tn_graph *g, tn_arena *arena) {
  tn_known *k = TN_NEW(arena, tn_known);
  k->graph = g;
  k->arena = arena;
  k->position = TN_NEW_ARRAY(arena, uint32_t, g->n_nodes + 1);
  k->values = TN_NEW_ARRAY(arena, const tn_value *, g->n_values + 1);
  k->n_symbols = tn_sym_n_symbols(g->syms);
  k->symbols = TN_NEW_ARRAY(arena, known_symbol, k->n_symbols + 1);
  known_add_region(k, g->main);
  const tn_status walked = tn_graph_walk(g, known_visit, k);
  TN_ASSERT(walked == TN_OK); /* the visitor never fails */
  (void)walked;
  return k;
}

const tn_value *tn_known_value(const tn_known *k, uint32_t id) {
  return id < k->graph->n_values ? k->values[id] : NULL;
}

/* The node of `outer` inside whose regions `inner` lies; NULL when it does not. */
static const tn_node *known_owner_in(const tn_region *outer, const tn_region *inner) {
  while (inner->owner) {
    if (inner->owner->region == outer) return inner->owner;
    inner = inner->owner->region;
  }
  return NULL;
}

bool tn_known_before(const tn_known *k, tn_when w, const tn_node *node) {
  if (!w.region) return false;
  const tn_node *at = node->region == w.region ? node : known_owner_in(w.region, node->region);
  return at && (!w.after || k->position[w.after->id] < k->position[at->id]);
}

bool tn_known_on_entry(const tn_known *k, tn_when w, const tn_region *region) {
  if (!w.region) return false;
  if (w.region == region) return !w.after;
  const tn_node *at = known_owner_in(w.region, region);
  return at && (!w.after || k->position[w.after->id] < k->position[at->id]);
}

static tn_when known_later(const tn_known *k, tn_when a, tn_when b) {
  if (!a.region || !b.region) return (tn_when){0};
  if (a.region == b.region) {
    if (!a.after) return b;
    if (!b.after) return a;
    return k->position[a.after->id] < k->position[b.after->id] ? b : a;
  }
  if (tn_known_on_entry(k, a, b.region)) return b;
  if (tn_known_on_entry(k, b, a.region)) return a;
  return (tn_when){0};
}

static tn_when known_source(const tn_known *k, const tn_symbol *s) {
  const tn_when start = {k->graph->main, NULL};
  if (s->source == TN_SOURCE_NONE || s->source == TN_SOURCE_GIVEN) return start;
  const tn_value *v = tn_known_value(k, s->value);
  if (!v) return (tn_when){0};
  return (tn_when){v->region, v->def};
}

typedef struct known_join {
  tn_known *known;
  tn_when when;
} known_join;

typedef TN_VEC(uint32_t) known_stack;

typedef struct known_need {
  tn_known *known;
  known_stack *stack;
} known_need;

static void known_push_undone(void *arg, uint32_t symbol) {
  known_need *need = arg;
  if (symbol >= need->known->n_symbols || need->known->symbols[symbol].state != 0) return;
  tn_vec_push(need->known->arena, need->stack, symbol);
}

static void known_join_done(void *arg, uint32_t symbol) {
  known_join *j = arg;
  tn_when w = {0};
  if (symbol < j->known->n_symbols && j->known->symbols[symbol].state == 2) w = j->known->symbols[symbol].when;
  j->when = known_later(j->known, j->when, w);
}

static tn_when known_join_all(tn_known *k, tn_sym e) {
  known_join j = {.known = k, .when = {k->graph->main, NULL}};
  tn_sym_symbols(k->graph->syms, e, known_join_done, &j);
  return j.when;
}

/* Of a symbol; DEFINED ones by their definitions. These may lean on definitions without end, so the walk keeps its own
 * stack. A cycle ends as "never". */
static void known_find(void *arg, uint32_t symbol) {
  tn_known *k = arg;
  known_stack stack = {0};
  known_need need = {k, &stack};
  known_push_undone(&need, symbol);
  while (stack.n) {
    const uint32_t top = stack.at[stack.n - 1];
    known_symbol *state = &k->symbols[top];
    const tn_symbol *s = tn_sym_symbol(k->graph->syms, top);
    if (state->state == 2) {
      stack.n--;
      continue;
    }
    if (s->source == TN_SOURCE_DEFINED && state->state == 0) {
      state->state = 1;
      tn_sym_symbols(k->graph->syms, s->definition, known_push_undone, &need);
      continue;
    }
    state->when = s->source == TN_SOURCE_DEFINED ? known_join_all(k, s->definition) : known_source(k, s);
    state->state = 2;
    stack.n--;
  }
}

tn_when tn_known_when(tn_known *k, tn_sym e) {
  if (!e) return (tn_when){0};
  if (tn_sym_is_int(e)) return (tn_when){k->graph->main, NULL};
  tn_when *memo = tn_map_find_ptr(&k->memo, e);
  if (memo) return *memo;
  tn_sym_symbols(k->graph->syms, e, known_find, k);
  memo = TN_NEW(k->arena, tn_when);
  *memo = known_join_all(k, e);
  tn_map_set_ptr(k->arena, &k->memo, e, memo);
  return *memo;
}

bool tn_known_type_before(tn_known *k, const tn_type *t, const tn_node *node) {
  if (!tn_type_has_rank(t)) return false;
  for (int i = 0; i < t->rank; i++)
    if (!tn_known_before(k, tn_known_when(k, t->dims[i]), node)) return false;
  return true;
}
