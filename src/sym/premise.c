/* What follows from conditions that hold together.
 *
 * Equations are solved one after the other, each in the coordinates that those before it left: a symbol that an
 * equation gives is replaced by the expression everywhere (S == T, S == 2*T + 1), a multiple S % k == 0 stretches the
 * symbol (S becomes k * S, where S now stands for S // k), and any other equation replaces its largest monomial (A*B by
 * C*D). Orders are kept as sums that are not negative; a sum is one too if it stays so after a multiple of one of them
 * was taken away. A condition is proved by what was added before, never by itself. */
#include "sym/node.h"

enum {
  PREMISE_MAX = 256,
  PREMISE_STEPS = 16,
  PREMISE_DEPTH = 3,
  PREMISE_WORK = 96,
  PREMISE_NEST = 24,
  PREMISE_SPLITS = 8
};

typedef struct premise_rule { /* lead_coef * lead == rest */
  tn_sym lead, rest;
  int64_t lead_coef; /* > 0 */
} premise_rule;

struct tn_premises {
  tn_symtab *t;
  TN_VEC(premise_rule) symbols; /* lead is a symbol, lead_coef 1: applied one by one, in order */
  TN_VEC(premise_rule) monos;
  TN_VEC(tn_sym) orders; /* >= 0 */
  TN_VEC(tn_sym) given;  /* as added, in the coordinates of that time */
  tn_map known;          /* condition in the newest coordinates -> 1 */
  bool contradiction;
};

tn_premises *tn_premises_new(tn_symtab *t) {
  tn_premises *const p = TN_NEW(t->arena, tn_premises);
  p->t = t;
  return p;
}

static tn_sym premise_pick(void *arg, uint32_t symbol) {
  const premise_rule *const rule = arg;
  return (int64_t)symbol == rule->lead->k ? rule->rest : NULL;
}

/* From the coordinates that the first `from` rules left to the newest. */
static tn_sym premise_coordinates(const tn_premises *p, tn_sym e, size_t from) {
  for (size_t i = from; i < p->symbols.n; i++) e = tn_sym_substitute(p->t, e, premise_pick, &p->symbols.at[i]);
  return e;
}

/* m = lead * others: the others through *out. */
static bool premise_divides(tn_symtab *t, tn_sym lead, tn_sym m, tn_sym *out) {
  const tn_sym *const f = lead->kind == TN_SYM_MUL ? lead->args : &lead;
  const uint32_t n = lead->kind == TN_SYM_MUL ? lead->n : 1;
  const tn_sym *const g = m->kind == TN_SYM_MUL ? m->args : &m;
  const uint32_t n_g = m->kind == TN_SYM_MUL ? m->n : 1;
  tn_sym others = t->one;
  uint32_t i = 0;
  for (uint32_t j = 0; j < n_g; j++) { /* both are ordered */
    if (i < n && f[i] == g[j])
      i++;
    else
      others = tn_sym_mul(t, others, g[j]);
  }
  *out = others;
  return i == n;
}

/* One monomial of e replaced; e times a positive number, or NULL when no rule applies. */
static tn_sym premise_step(const tn_premises *p, tn_sym e) {
  tn_symtab *const t = p->t;
  tn_poly sum;
  tn_sym result = NULL, others;
  tn_poly_of(&sum, t, e);
  for (size_t r = 0; r < p->monos.n && !result; r++) {
    const premise_rule *const rule = &p->monos.at[r];
    for (size_t i = 0; i < sum.n && !result; i++) {
      if (!premise_divides(t, rule->lead, sum.at[i].mono, &others)) continue;
      const int64_t g = tn_sym_gcd(sum.at[i].coef, rule->lead_coef);
      const tn_sym kept = tn_sym_sub(t, e, tn_sym_muli(t, sum.at[i].mono, sum.at[i].coef));
      const tn_sym by = tn_sym_muli(t, tn_sym_mul(t, rule->rest, others), sum.at[i].coef / g);
      result = tn_sym_add(t, tn_sym_muli(t, kept, rule->lead_coef / g), by);
    }
  }
  tn_poly_drop(&sum);
  return result;
}

static tn_sym premise_reduce(const tn_premises *p, tn_sym e) {
  for (int i = 0; i < PREMISE_STEPS; i++) {
    const tn_sym next = premise_step(p, e);
    if (!next || tn_sym_is_overflow(next)) break;
    e = next;
  }
  return e;
}

/* e = rest + c * (x // k), times k, without the quotient: not negative only if e is not. Exact for c == 1 and -1. */
static tn_sym premise_without_quotient(tn_symtab *t, tn_sym e) {
  tn_poly sum;
  tn_sym result = NULL;
  tn_poly_of(&sum, t, e);
  for (size_t i = 0; i < sum.n && !result && sum.n > 0; i++) {
    const tn_sym q = sum.at[i].mono;
    const int64_t c = sum.at[i].coef;
    int64_t slack;
    if (!tn_sym_is_div(q) || !tn_mul_i64(c, q->args[1]->k - 1, &slack)) continue;
    const int64_t k = q->args[1]->k;
    const tn_sym rest = tn_sym_sub(t, e, tn_sym_muli(t, q, c));
    const tn_sym whole = tn_sym_add(t, tn_sym_muli(t, rest, k), tn_sym_muli(t, q->args[0], c));
    result = tn_sym_addi(t, whole, c == -1 ? k - 1 : c > 1 ? -slack : 0);
  }
  tn_poly_drop(&sum);
  return result;
}

/* e >= 0? */
static bool premise_nonnegative(const tn_premises *p, tn_sym e, int depth, int *work) {
  tn_symtab *const t = p->t;
  if (tn_sym_is_overflow(e) || --*work < 0) return false;
  if (tn_sym_bounds(t, e).lo >= 0) return true;
  const tn_sym whole = depth > 0 ? premise_without_quotient(t, e) : NULL;
  if (whole && premise_nonnegative(p, whole, depth - 1, work)) return true;
  for (size_t k = 0; depth > 0 && k < p->orders.n; k++) {
    tn_poly a, b;
    tn_poly_of(&a, t, e);
    tn_poly_of(&b, t, p->orders.at[k]);
    bool found = false;
    for (size_t i = 0, j = 0; i < a.n && !found; i++) {
      for (j = 0; j < b.n && b.at[j].mono != a.at[i].mono; j++) continue;
      if (j == b.n || (a.at[i].coef < 0) != (b.at[j].coef < 0)) continue;
      const int64_t g = tn_sym_gcd(a.at[i].coef, b.at[j].coef);
      const int64_t up = b.at[j].coef / g, down = a.at[i].coef / g;
      const tn_sym left =
          tn_sym_sub(t, tn_sym_muli(t, e, up < 0 ? -up : up), tn_sym_muli(t, p->orders.at[k], down < 0 ? -down : down));
      found = premise_nonnegative(p, left, depth - 1, work);
    }
    tn_poly_drop(&a);
    tn_poly_drop(&b);
    if (found) return true;
  }
  return false;
}

static tn_sym premise_difference(const tn_premises *p, tn_sym e) {
  const tn_sym d = tn_sym_sub(p->t, e->args[1], e->args[0]);
  return premise_reduce(p, e->kind == TN_SYM_LT ? tn_sym_addi(p->t, d, -1) : d);
}

static bool premise_is_known_nonnegative(const tn_premises *p, tn_sym e) {
  int work = PREMISE_WORK;
  return premise_nonnegative(p, e, PREMISE_DEPTH, &work);
}

static tn_truth premise_order(const tn_premises *p, tn_sym e) {
  const tn_sym d = premise_difference(p, e);
  if (premise_is_known_nonnegative(p, d)) return TN_TRUE;
  return premise_is_known_nonnegative(p, tn_sym_addi(p->t, tn_sym_neg(p->t, d), -1)) ? TN_FALSE : TN_UNKNOWN;
}

static tn_truth premise_eq(const tn_premises *p, tn_sym e) {
  tn_symtab *const t = p->t;
  const tn_sym d = premise_difference(p, e), minus = tn_sym_neg(t, d);
  const tn_sym zero = tn_sym_eq(t, d, t->zero);
  if (tn_sym_is_int(zero)) return zero->k ? TN_TRUE : TN_FALSE;
  const bool up = premise_is_known_nonnegative(p, d), down = premise_is_known_nonnegative(p, minus);
  if (up && down) return TN_TRUE;
  if (up && premise_is_known_nonnegative(p, tn_sym_addi(t, d, -1))) return TN_FALSE;
  if (down && premise_is_known_nonnegative(p, tn_sym_addi(t, minus, -1))) return TN_FALSE;
  return TN_UNKNOWN;
}

static tn_truth premise_prove(const tn_premises *p, tn_sym e, int depth) {
  tn_symtab *const t = p->t;
  uint64_t known;
  if (tn_sym_is_int(e)) return e->k ? TN_TRUE : TN_FALSE;
  if (tn_map_find(&p->known, tn_map_key(e), &known)) return known ? TN_TRUE : TN_FALSE;
  if (e->kind == TN_SYM_LE || e->kind == TN_SYM_LT) return premise_order(p, e);
  if (e->kind == TN_SYM_EQ) return premise_eq(p, e);
  if (depth >= PREMISE_NEST) return TN_UNKNOWN;
  if (e->kind == TN_SYM_NOT) {
    const tn_truth r = premise_prove(p, e->args[0], depth + 1);
    return r == TN_UNKNOWN ? r : r == TN_TRUE ? TN_FALSE : TN_TRUE;
  }
  if (e->kind != TN_SYM_AND && e->kind != TN_SYM_OR) return tn_sym_prove(t, e);
  const tn_truth absorbing = e->kind == TN_SYM_OR ? TN_TRUE : TN_FALSE;
  tn_truth r = absorbing == TN_TRUE ? TN_FALSE : TN_TRUE;
  for (uint32_t i = 0; i < e->n; i++) {
    const tn_truth a = premise_prove(p, e->args[i], depth + 1);
    if (a == absorbing) return a;
    if (a == TN_UNKNOWN) r = a;
  }
  return r;
}

tn_truth tn_premises_prove(const tn_premises *p, tn_sym condition) {
  const tn_truth plain = tn_sym_prove(p->t, condition);
  if (plain != TN_UNKNOWN || p->given.n == 0) return plain;
  return premise_prove(p, premise_coordinates(p, condition, 0), 0);
}

static void premise_add(tn_premises *p, tn_sym e, int depth);

#define PREMISE_COPY(t, v) \
  ((v).at ? memcpy(tn_arena_alloc((t)->arena, (v).cap, sizeof *(v).at), (v).at, (v).n * sizeof *(v).at) : NULL)

static tn_premises *premise_copy(const tn_premises *p) {
  tn_premises *const q = tn_premises_new(p->t);
  *q = *p;
  q->symbols.at = PREMISE_COPY(p->t, p->symbols);
  q->monos.at = PREMISE_COPY(p->t, p->monos);
  q->orders.at = PREMISE_COPY(p->t, p->orders);
  q->given.at = PREMISE_COPY(p->t, p->given);
  q->known = (tn_map){0};
  for (size_t i = 0; i < q->given.n; i++) tn_map_set(p->t->arena, &q->known, tn_map_key(q->given.at[i]), 1);
  return q;
}

/* The factors that all terms of d share, at most `most`. */
static size_t premise_shared(const tn_poly *d, tn_sym *out, size_t most) {
  size_t n = 0;
  const tn_sym *f;
  if (d->n == 0 || d->k != 0) return 0;
  const size_t n_f = tn_sym_factors(&d->at[0].mono, &f);
  for (size_t i = 0; i < n_f && n < most; i++) {
    bool all = n == 0 || out[n - 1] != f[i];
    for (size_t j = 1; j < d->n && all; j++) all = tn_sym_has_factor(d->at[j].mono, f[i]);
    if (all) out[n++] = f[i];
  }
  return n;
}

size_t tn_sym_alternatives(tn_symtab *t, tn_sym e, tn_sym out[TN_SYM_ALTERNATIVES]) {
  if (e->kind == TN_SYM_OR && e->n <= TN_SYM_ALTERNATIVES) {
    memcpy(out, e->args, e->n * sizeof *out);
    return e->n;
  }
  if (e->kind != TN_SYM_EQ) return 0;
  tn_poly d, by, rest;
  tn_poly_of(&d, t, tn_sym_sub(t, e->args[0], e->args[1]));
  size_t n = d.overflow ? 0 : premise_shared(&d, out, TN_SYM_ALTERNATIVES - 1);
  if (n > 0) {
    tn_poly_of(&by, t, tn_sym_product(t, out, n));
    if (tn_poly_divide(&d, &by, &rest)) {
      for (size_t i = 0; i < n; i++) out[i] = tn_sym_eq(t, out[i], t->zero);
      out[n++] = tn_sym_eq(t, tn_poly_node(&rest), t->zero);
    } else {
      n = 0;
    }
  }
  tn_poly_drop(&d);
  return n;
}

/* Does e, in the newest coordinates, follow from every alternative? */
static bool premise_by_cases(const tn_premises *p, const tn_sym *alternatives, size_t n, tn_sym e) {
  for (size_t i = 0; i < n; i++) {
    tn_premises *const q = premise_copy(p);
    const size_t n_rules = q->symbols.n;
    premise_add(q, alternatives[i], 0);
    if (q->contradiction) continue;
    if (premise_prove(q, premise_coordinates(q, e, n_rules), 0) != TN_TRUE) return false;
  }
  return true;
}

tn_truth tn_premises_prove_by_cases(const tn_premises *p, tn_sym condition) {
  const tn_truth direct = tn_premises_prove(p, condition);
  if (direct != TN_UNKNOWN) return direct;
  const tn_sym e = premise_coordinates(p, condition, 0);
  int splits = 0;
  for (size_t i = 0; i < p->given.n && splits < PREMISE_SPLITS; i++) {
    tn_sym alternatives[TN_SYM_ALTERNATIVES];
    const size_t n = tn_sym_alternatives(p->t, p->given.at[i], alternatives);
    if (n == 0) continue;
    splits++;
    if (premise_by_cases(p, alternatives, n, e)) return TN_TRUE;
  }
  return TN_UNKNOWN;
}

/* Adding. */

static void premise_mentions(void *arg, uint32_t symbol) {
  premise_rule *const rule = arg;
  if ((int64_t)symbol == rule->lead->k) rule->lead_coef++;
}

static bool premise_has(tn_symtab *t, tn_sym e, tn_sym var) {
  premise_rule rule = {.lead = var, .lead_coef = 0};
  tn_sym_symbols(t, e, premise_mentions, &rule);
  return rule.lead_coef > 0;
}

/* What is kept in older coordinates goes over to the newest. */
static void premise_move(tn_premises *p, premise_rule rule) {
  tn_symtab *const t = p->t;
  tn_vec_push(t->arena, &p->symbols, rule);
  for (size_t i = 0; i < p->orders.n; i++)
    p->orders.at[i] = tn_sym_substitute(t, p->orders.at[i], premise_pick, &p->symbols.at[p->symbols.n - 1]);
  size_t kept = 0;
  for (size_t i = 0; i < p->monos.n; i++) {
    premise_rule m = p->monos.at[i];
    m.lead = tn_sym_substitute(t, m.lead, premise_pick, &p->symbols.at[p->symbols.n - 1]);
    m.rest = tn_sym_substitute(t, m.rest, premise_pick, &p->symbols.at[p->symbols.n - 1]);
    const bool is_mono = m.lead->kind != TN_SYM_ADD && m.lead->kind != TN_SYM_INT;
    if (is_mono) p->monos.at[kept++] = m;
  }
  p->monos.n = kept;
  p->known = (tn_map){0}; /* the old coordinates may spell something else now */
  for (size_t i = 0; i < p->given.n; i++) {
    p->given.at[i] = tn_sym_substitute(t, p->given.at[i], premise_pick, &p->symbols.at[p->symbols.n - 1]);
    tn_map_set(t->arena, &p->known, tn_map_key(p->given.at[i]), 1);
  }
}

/* (S + c) % k == 0, 0 <= c < k, or S % k == rest, where S counts from 0 or 1: S' = (S + c) // k does too, so what is
 * known of S holds for S', and S becomes k * S - c. Sums that were assumed to have bounds would not hold. */
static bool premise_stretch(tn_premises *p, tn_sym mod, int64_t rest) {
  tn_symtab *const t = p->t;
  if (!tn_sym_is_mod(mod) || t->lower.n > 0 || t->truth.n > 0) return false;
  const tn_sym num = mod->args[0], k = mod->args[1];
  const bool plain = num->kind == TN_SYM_VAR;
  if (rest < 0 || rest >= k->k || (rest > 0 && !plain)) return false;
  const bool shifted = num->kind == TN_SYM_ADD && num->n == 1 && num->coefs[0] == 1 && num->k > 0 && num->k < k->k;
  const tn_sym var = shifted ? num->args[0] : num;
  if ((!plain && !shifted) || var->kind != TN_SYM_VAR) return false;
  const tn_symbol *const s = tn_sym_fact(t, var);
  if (s->min < 0 || s->min > 1 || s->max < 1 || s->multiple_of > 1) return false;
  premise_move(p, (premise_rule){var,
                                 tn_sym_addi(t, tn_sym_muli(t, var, k->k),
                                             shifted    ? -num->k
                                             : rest > 0 ? rest - k->k
                                                        : 0),
                                 1});
  return true;
}

static bool premise_is_multiple(tn_premises *p, const tn_poly *sum) {
  if (sum->n != 1 || (sum->k != 0 && sum->at[0].coef != 1 && sum->at[0].coef != -1) || sum->k == INT64_MIN)
    return false;
  return premise_stretch(p, sum->at[0].mono, sum->at[0].coef > 0 ? -sum->k : sum->k);
}

/* A symbol with the coefficient 1 or -1 that stands nowhere else; the newest one. Replacing it loses its range: kept.
 */
static bool premise_solve(tn_premises *p, const tn_poly *sum, tn_sym d) {
  tn_symtab *const t = p->t;
  for (size_t i = sum->n; i-- > 0;) {
    const tn_sym var = sum->at[i].mono;
    if (var->kind != TN_SYM_VAR || (sum->at[i].coef != 1 && sum->at[i].coef != -1)) continue;
    const tn_sym minus_rest = tn_sym_sub(t, d, tn_sym_muli(t, var, sum->at[i].coef));
    const tn_sym rest = tn_sym_muli(t, minus_rest, -sum->at[i].coef);
    if (tn_sym_is_overflow(rest) || premise_has(t, rest, var)) continue;
    const tn_symbol s = *tn_sym_fact(t, var);
    premise_move(p, (premise_rule){var, rest, 1});
    if (s.min != INT64_MIN) tn_vec_push(t->arena, &p->orders, tn_sym_addi(t, rest, -s.min));
    if (s.max != INT64_MAX) tn_vec_push(t->arena, &p->orders, tn_sym_addi(t, tn_sym_neg(t, rest), s.max));
    return true;
  }
  return false;
}

static void premise_add_eq(tn_premises *p, tn_sym e) {
  tn_symtab *const t = p->t;
  tn_poly sum;
  const tn_sym d = premise_difference(p, e);
  tn_poly_of(&sum, t, d);
  if (sum.overflow || sum.n == 0) {
    p->contradiction |= !sum.overflow && sum.k != 0;
  } else if (!premise_is_multiple(p, &sum) && !premise_solve(p, &sum, d)) {
    size_t best = 0; /* the largest: the others are nearer to what the rest of the sum speaks of */
    for (size_t i = 1; i < sum.n; i++)
      if (sum.at[i].mono->size >= sum.at[best].mono->size) best = i;
    const tn_sym_term lead = sum.at[best];
    const tn_sym rest = tn_sym_sub(t, tn_sym_muli(t, lead.mono, lead.coef), d);
    const bool minus = lead.coef < 0;
    if (lead.coef != INT64_MIN && !tn_sym_is_overflow(rest))
      tn_vec_push(t->arena, &p->monos,
                  ((premise_rule){lead.mono, minus ? tn_sym_neg(t, rest) : rest, minus ? -lead.coef : lead.coef}));
  }
  tn_poly_drop(&sum);
}

static void premise_add(tn_premises *p, tn_sym e, int depth) {
  tn_symtab *const t = p->t;
  if (p->given.n >= PREMISE_MAX || tn_sym_is_overflow(e)) return;
  if (tn_sym_is_int(e)) {
    p->contradiction |= e->k == 0;
    return;
  }
  tn_vec_push(t->arena, &p->given, e);
  tn_map_set(t->arena, &p->known, tn_map_key(e), 1);
  const size_t n_rules = p->symbols.n;
  if (e->kind == TN_SYM_AND && depth < PREMISE_NEST)
    for (uint32_t i = 0; i < e->n; i++) premise_add(p, premise_coordinates(p, e->args[i], n_rules), depth + 1);
  if (e->kind == TN_SYM_LE || e->kind == TN_SYM_LT) tn_vec_push(t->arena, &p->orders, premise_difference(p, e));
  if (e->kind == TN_SYM_EQ) premise_add_eq(p, e);
}

void tn_premises_add(tn_premises *p, tn_sym condition) { premise_add(p, premise_coordinates(p, condition, 0), 0); }

bool tn_premises_contradict(const tn_premises *p) { return p->contradiction; }

tn_sym tn_premises_coordinates(const tn_premises *p, tn_sym e) { return premise_coordinates(p, e, 0); }
