/* Bindings: the equations among the conditions leave some symbols free; numbers for these are drawn and give the
 * others, and what holds in all conditions is kept. */
#include "driver/binding.h"

#include "base/rng.h"
#include "ir/ledger.h"

enum {
  BINDING_DRAWS = 4096,     /* tried for a valid one */
  BINDING_ELEMENTS = 16384, /* of all inputs: more than these only when fewer are hard to find */
  BINDING_NEAR = 130        /* numbers tried in one symbol's place */
};

/* Collecting. */

static void binding_add(void *arg, uint32_t symbol) {
  tn_binding *const b = arg;
  const tn_symbol *const s = tn_sym_symbol(b->syms, symbol);
  if (s->source == TN_SOURCE_DEFINED) {
    tn_sym_symbols(b->syms, s->definition, binding_add, b);
  } else if (!b->bound[symbol]) {
    b->bound[symbol] = true;
    tn_vec_push(&b->ctx->arena, &b->inputs, symbol);
  }
}

static void binding_add_param(tn_binding *b, const tn_type *t, bool with_contents) {
  for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++) tn_sym_symbols(b->syms, t->dims[j], binding_add, b);
  const int64_t n = with_contents ? tn_type_content_count(t) : 0;
  for (int64_t i = 0; i < n; i++)
    if (t->content[i].sym) tn_sym_symbols(b->syms, t->content[i].sym, binding_add, b);
}

static void binding_note_free(void *arg, uint32_t symbol) {
  tn_binding *const b = arg;
  b->is_free |= tn_sym_symbol(b->syms, symbol)->source != TN_SOURCE_DEFINED && !b->bound[symbol];
}

/* What the user assumed of the inputs holds too. */
static void binding_add_assumed(tn_binding *b) {
  for (size_t i = 0; i < b->graph->assumed.n; i++) {
    const tn_sym condition = b->graph->assumed.at[i];
    b->is_free = false;
    tn_sym_symbols(b->syms, condition, binding_note_free, b);
    if (!b->is_free && !tn_sym_is_int(condition)) tn_vec_push(&b->ctx->arena, &b->conditions, condition);
  }
}

void tn_binding_init(tn_binding *b, tn_graph *g, bool with_contents) {
  *b = (tn_binding){.graph = g, .ctx = g->ctx, .syms = g->syms};
  b->value = TN_NEW_ARRAY(&g->ctx->arena, int64_t, tn_sym_n_symbols(g->syms) + 1);
  b->bound = TN_NEW_ARRAY(&g->ctx->arena, bool, tn_sym_n_symbols(g->syms) + 1);
  for (int i = 0; i < g->main->n_params; i++) binding_add_param(b, &g->main->params[i]->type, with_contents);
  for (size_t i = 0; i < g->checks.n; i++) {
    const tn_check *const check = &g->checks.at[i];
    if (check->region != g->main || !tn_ledger_is_early(g, check->condition)) {
      tn_vec_push(&g->ctx->arena, &b->late, check);
      if (tn_ledger_is_early(g, check->condition)) tn_vec_push(&g->ctx->arena, &b->wishes, check->condition);
      continue;
    }
    tn_vec_push(&g->ctx->arena, &b->early, check);
    tn_vec_push(&g->ctx->arena, &b->conditions, check->condition);
    tn_sym_symbols(g->syms, check->condition, binding_add, b);
  }
  binding_add_assumed(b);
}

/* Numbers. */

bool tn_binding_env(void *arg, uint32_t symbol, int64_t *out) {
  const tn_binding *const b = arg;
  if (!b->bound[symbol]) return false;
  *out = b->value[symbol];
  return true;
}

bool tn_binding_holds(tn_binding *b, tn_sym condition) {
  int64_t v;
  return tn_sym_eval(b->syms, condition, tn_binding_env, b, &v) == TN_OK && v != 0;
}

bool tn_binding_all_hold(tn_binding *b) {
  for (size_t i = 0; i < b->conditions.n; i++)
    if (!tn_binding_holds(b, b->conditions.at[i])) return false;
  return true;
}

bool tn_binding_may_be(const tn_binding *b, uint32_t symbol, int64_t v) {
  const tn_symbol *const s = tn_sym_symbol(b->syms, symbol);
  return v >= s->min && v <= s->max && (s->multiple_of <= 1 || v % s->multiple_of == 0);
}

/* The k-th member from 1 up, the last one where there are fewer. */
static int64_t binding_member(const tn_sym_set *set, int64_t k) {
  int64_t v = set->lo > 1 ? set->lo : 1, last = v, in_period = 0, far;
  const int64_t repeats = set->from > v ? set->from : v;
  for (; v < repeats; v++) {
    if (!tn_sym_set_has(set, v)) continue;
    if (k-- == 0) return v;
    last = v;
  }
  for (int64_t i = 0; i < set->period; i++) in_period += tn_sym_set_has(set, repeats + i);
  if (in_period == 0) return last;
  const int64_t turns = k / in_period;
  k %= in_period;
  while (!tn_sym_set_has(set, v) || k-- > 0) v++;
  return tn_mul_i64(turns, set->period, &far) && tn_add_i64(v, far, &v) ? v : last;
}

int64_t tn_binding_number(const tn_binding *b, uint32_t symbol, int64_t k) {
  if (b->sets && b->sets[symbol]) return binding_member(b->sets[symbol], k);
  const tn_symbol *const s = tn_sym_symbol(b->syms, symbol);
  const int64_t m = s->multiple_of > 1 ? s->multiple_of : 1;
  const int64_t from = s->min > 1 ? s->min : s->max < 1 ? s->max : 1;
  const int64_t first = from <= INT64_MAX - m ? (from + m - 1) / m * m : from;
  int64_t v, step;
  if (tn_mul_i64(k, m, &step) && tn_add_i64(first, step, &v) && v <= s->max) return v;
  return s->max;
}

static bool binding_wishes_hold(tn_binding *b) {
  for (size_t i = 0; i < b->wishes.n; i++)
    if (!tn_binding_holds(b, b->wishes.at[i])) return false;
  return true;
}

/* Elements of all inputs together, saturating. */
static int64_t binding_elements(tn_binding *b) {
  int64_t sum = 0;
  for (int i = 0; i < b->graph->main->n_params; i++) {
    const tn_type *const t = &b->graph->main->params[i]->type;
    int64_t n = 1, dim;
    for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++)
      if (tn_sym_eval(b->syms, t->dims[j], tn_binding_env, b, &dim) != TN_OK || !tn_mul_i64(n, dim, &n))
        return INT64_MAX;
    if (!tn_add_i64(sum, n, &sum)) return INT64_MAX;
  }
  return sum;
}

static tn_sym binding_pick(void *arg, uint32_t symbol) {
  const tn_binding *const b = arg;
  return b->bound[symbol] ? tn_sym_int(b->syms, b->value[symbol]) : NULL;
}

static bool binding_try(tn_binding *b, const int64_t *draw) {
  for (size_t i = 0; i < b->inputs.n; i++) b->value[b->inputs.at[i]] = draw[i];
  int64_t *const real = TN_NEW_ARRAY(&b->ctx->pass, int64_t, b->inputs.n + 1);
  for (size_t i = 0; i < b->inputs.n; i++) {
    const tn_sym v = tn_sym_substitute(b->syms, b->coordinates[i], binding_pick, b);
    if (!tn_sym_is_int(v) || !tn_binding_may_be(b, b->inputs.at[i], v->k)) return false;
    real[i] = v->k;
  }
  for (size_t i = 0; i < b->inputs.n; i++) b->value[b->inputs.at[i]] = real[i];
  return tn_binding_all_hold(b);
}

typedef struct binding_alone { /* conditions that speak of one symbol */
  TN_VEC(tn_sym) conditions;
  TN_VEC(size_t) of; /* numbers among the conditions, then the wishes */
} binding_alone;

/* Conditions on one symbol leave a set of numbers, equations among the others coordinates. */
static void binding_solve_symbol(tn_binding *b, uint32_t symbol, const binding_alone *alone, bool *is_solved) {
  tn_arena *const a = &b->ctx->arena;
  const size_t n = alone->conditions.n;
  if (n == 0) return;
  bool *const solved = TN_NEW_ARRAY(a, bool, n), *const implied = TN_NEW_ARRAY(a, bool, n);
  tn_sym_set *const set = TN_NEW(a, tn_sym_set);
  if (tn_sym_solve(b->syms, a, tn_sym_symbol(b->syms, symbol)->var, alone->conditions.at, n, solved, implied, set) == 0)
    return;
  b->sets[symbol] = set;
  for (size_t i = 0; i < n; i++)
    if (alone->of.at[i] < b->conditions.n) is_solved[alone->of.at[i]] = solved[i];
}

static void binding_solve_symbols(tn_binding *b, bool *is_solved) {
  tn_arena *const a = &b->ctx->arena;
  const size_t n = b->conditions.n + (b->with_wishes ? b->wishes.n : 0);
  binding_alone *const alone = TN_NEW_ARRAY(a, binding_alone, tn_sym_n_symbols(b->syms) + 1);
  for (size_t i = 0; i < n; i++) {
    const tn_sym c = i < b->conditions.n ? b->conditions.at[i] : b->wishes.at[i - b->conditions.n];
    const tn_sym var = tn_ledger_symbol(b->graph, c);
    if (!var) continue;
    tn_vec_push(a, &alone[var->k].conditions, c);
    tn_vec_push(a, &alone[var->k].of, i);
  }
  for (size_t i = 0; i < b->inputs.n; i++) binding_solve_symbol(b, b->inputs.at[i], &alone[b->inputs.at[i]], is_solved);
}

static void binding_solve(tn_binding *b, bool with_wishes) {
  if (b->coordinates && b->with_wishes == with_wishes) return;
  tn_arena *const a = &b->ctx->arena;
  b->with_wishes = with_wishes;
  b->sets = TN_NEW_ARRAY(a, const tn_sym_set *, tn_sym_n_symbols(b->syms) + 1);
  b->coordinates = TN_NEW_ARRAY(a, tn_sym, b->inputs.n + 1);
  bool *const is_solved = TN_NEW_ARRAY(a, bool, b->conditions.n + 1);
  binding_solve_symbols(b, is_solved);
  tn_premises *const p = tn_premises_new(b->syms);
  for (size_t i = 0; i < b->conditions.n; i++)
    if (!is_solved[i]) tn_premises_add(p, b->conditions.at[i]);
  for (size_t i = 0; i < b->inputs.n; i++)
    b->coordinates[i] = tn_premises_coordinates(p, tn_sym_symbol(b->syms, b->inputs.at[i])->var);
}

bool tn_binding_find(tn_binding *b) {
  int64_t *const draw = TN_NEW_ARRAY(&b->ctx->arena, int64_t, b->inputs.n + 1);
  for (int pass = b->wishes.n ? 0 : 1; pass < 2; pass++) {
    binding_solve(b, pass == 0);
    for (uint64_t k = 0; k < BINDING_DRAWS; k++) {
      const uint64_t reach = 2 + k / 16;
      for (size_t i = 0; i < b->inputs.n; i++) {
        const int64_t at = k < 16 ? (int64_t)k : (int64_t)(tn_rng_u64(7, k * 64 + i) % reach);
        draw[i] = tn_binding_number(b, b->inputs.at[i], at);
      }
      if (binding_try(b, draw) && (pass || binding_wishes_hold(b))) return true;
    }
  }
  return false;
}

/* A number for one symbol: near its least, or a multiple of what networks halve by; at times 0, elements at times
 * below. */
static int64_t binding_random(const tn_binding *b, uint32_t symbol, uint64_t bits, uint64_t reach) {
  static const int64_t multiples[] = {1, 1, 1, 1, 1, 1, 8, 32};
  const bool is_element = tn_sym_symbol(b->syms, symbol)->source == TN_SOURCE_ELEM;
  const uint64_t odds = bits >> 56;
  if (is_element && odds < 96) {
    const int64_t low = (int64_t)(bits % 4) - 2;
    if (tn_binding_may_be(b, symbol, low)) return low;
  }
  if (odds < 12 && tn_binding_may_be(b, symbol, 0)) return 0;
  const int64_t multiple = multiples[(bits >> 48) % 8], step = (int64_t)(bits % reach);
  const int64_t far = multiple * (1 + step / (multiple > 8 ? 4 : 1));
  if (multiple > 1 && tn_binding_may_be(b, symbol, far)) return far;
  return tn_binding_number(b, symbol, step);
}

/* Numbers for all symbols; in every other draw some are tied to the one before, as sizes of different inputs often are.
 */
static void binding_draw_numbers(const tn_binding *b, uint64_t seed, uint64_t k, int64_t *draw) {
  const uint64_t first = k << 20, shape = tn_rng_u64(seed, first), reach = 2 + shape % (12 + k / 16);
  for (size_t i = 0; i < b->inputs.n; i++) {
    const uint64_t bits = tn_rng_u64(seed, first + i + 1);
    const size_t other = i ? (size_t)(bits >> 32) % i : 0;
    const bool is_tied = i > 0 && (shape >> 60) % 2 && (bits >> 20) % 2;
    draw[i] = is_tied && tn_binding_may_be(b, b->inputs.at[i], draw[other])
                  ? draw[other]
                  : binding_random(b, b->inputs.at[i], bits, reach);
  }
}

bool tn_binding_draw(tn_binding *b, uint64_t seed) {
  int64_t *const draw = TN_NEW_ARRAY(&b->ctx->arena, int64_t, b->inputs.n + 1);
  for (int pass = b->wishes.n ? 0 : 1; pass < 2; pass++) {
    binding_solve(b, pass == 0);
    for (uint64_t k = 0; k < BINDING_DRAWS; k++) {
      binding_draw_numbers(b, seed + (uint64_t)pass, k, draw);
      const int64_t most = BINDING_ELEMENTS * (int64_t)(1 + k / 512);
      if (binding_try(b, draw) && (pass || binding_wishes_hold(b)) &&
          (k > BINDING_DRAWS / 2 || binding_elements(b) <= most))
        return true;
    }
  }
  return false;
}

void tn_binding_shrink(tn_binding *b) {
  for (size_t i = 0; i < b->inputs.n; i++) {
    const uint32_t s = b->inputs.at[i];
    const int64_t had = b->value[s];
    bool found = false;
    for (int64_t k = 0; k < BINDING_NEAR && !found; k++) {
      b->value[s] = tn_binding_number(b, s, k);
      found = b->value[s] <= had && tn_binding_all_hold(b) && (!b->with_wishes || binding_wishes_hold(b));
    }
    if (!found) b->value[s] = had;
  }
}

const char *tn_binding_text(const tn_binding *b, tn_arena *a, bool json) {
  tn_text t;
  tn_text_init(&t, a);
  for (size_t i = 0; i < b->inputs.n; i++) {
    const tn_symbol *const s = tn_sym_symbol(b->syms, b->inputs.at[i]);
    tn_text_addz(&t, i ? ", " : "");
    if (json)
      tn_text_json(&t, tn_str_of(s->name));
    else
      tn_text_addz(&t, tn_sym_text(b->syms, s->var));
    tn_text_printf(&t, json ? ": %lld" : " = %lld", (long long)b->value[b->inputs.at[i]]);
  }
  return tn_text_z(&t);
}
