/* Facts and the prover. A condition on one symbol narrows that symbol; any condition is remembered as it is, and an
 * order between sums is remembered as a lower bound of their difference. */
#include "sym/node.h"

static tn_truth assume_of(bool v) { return v ? TN_TRUE : TN_FALSE; }

static tn_truth assume_not(tn_truth v) { return v == TN_UNKNOWN ? v : assume_of(v == TN_FALSE); }

static tn_truth assume_recorded(const tn_symtab *t, tn_sym condition) {
  uint64_t v;
  return tn_map_find(&t->truth, tn_map_key(condition), &v) ? assume_of(v != 0) : TN_UNKNOWN;
}

/* rhs - lhs - (1 for <) */
static void assume_difference(tn_poly *p, tn_symtab *t, tn_sym e) {
  tn_poly_of(p, t, e->args[1]);
  tn_poly_add(p, e->args[0], -1);
  if (e->kind == TN_SYM_LT) tn_poly_addk(p, -1);
  tn_poly_normalise(p);
}

static tn_truth prove_order(tn_symtab *t, tn_sym e) {
  tn_poly p;
  assume_difference(&p, t, e);
  const tn_interval b = tn_poly_bounds(&p);
  return b.lo >= 0 ? TN_TRUE : b.hi < 0 ? TN_FALSE : TN_UNKNOWN;
}

static tn_truth prove_eq(tn_symtab *t, tn_sym e) {
  tn_poly p;
  assume_difference(&p, t, e);
  if (p.overflow) return TN_UNKNOWN;
  const tn_interval b = tn_poly_bounds(&p);
  const int64_t d = tn_poly_divisor(&p);
  if (b.lo == 0 && b.hi == 0) return TN_TRUE;
  if (b.lo > 0 || b.hi < 0 || (d > 1 && p.k % d != 0)) return TN_FALSE;
  return p.n == 0 ? assume_of(p.k == 0) : TN_UNKNOWN;
}

static tn_truth prove_depth(tn_symtab *t, tn_sym e, int depth) {
  const tn_truth recorded = assume_recorded(t, e);
  if (recorded != TN_UNKNOWN) return recorded;
  if (e->kind == TN_SYM_LE || e->kind == TN_SYM_LT) return prove_order(t, e);
  if (e->kind == TN_SYM_EQ) return prove_eq(t, e);
  if (e->kind == TN_SYM_OVERFLOW) return TN_UNKNOWN;
  if (depth < 32 && e->kind == TN_SYM_NOT) return assume_not(prove_depth(t, e->args[0], depth + 1));
  if (depth < 32 && (e->kind == TN_SYM_AND || e->kind == TN_SYM_OR)) {
    const tn_truth absorbing = assume_of(e->kind == TN_SYM_OR);
    tn_truth r = assume_not(absorbing);
    for (uint32_t i = 0; i < e->n; i++) {
      const tn_truth a = prove_depth(t, e->args[i], depth + 1);
      if (a == absorbing) return a;
      if (a == TN_UNKNOWN) r = a;
    }
    return r;
  }
  const tn_interval b = tn_sym_bounds(t, e);
  if (b.lo > 0 || b.hi < 0) return TN_TRUE;
  return b.lo == 0 && b.hi == 0 ? TN_FALSE : TN_UNKNOWN;
}

tn_truth tn_sym_prove(tn_symtab *t, tn_sym condition) { return prove_depth(t, condition, 0); }

/* Facts being narrowed: written back only if they hold together. */
typedef struct assume_facts {
  int64_t min, max, multiple_of;
} assume_facts;

static bool assume_write(tn_symtab *t, tn_sym var, assume_facts f) {
  tn_symbol *const s = &t->symbols.at[var->k];
  int64_t q;
  if (f.multiple_of < 1) f.multiple_of = 1;
  if (f.min != INT64_MIN) {
    if (!tn_ceildiv_i64(f.min, f.multiple_of, &q) || !tn_mul_i64(q, f.multiple_of, &f.min)) return false;
  }
  if (f.max != INT64_MAX) {
    if (!tn_floordiv_i64(f.max, f.multiple_of, &q) || !tn_mul_i64(q, f.multiple_of, &f.max)) return false;
  }
  if (f.min > f.max) return false;
  if (s->min == f.min && s->max == f.max && s->multiple_of == f.multiple_of) return true;
  s->min = f.min;
  s->max = f.max;
  s->multiple_of = f.multiple_of;
  t->epoch++;
  return true;
}

static assume_facts assume_read(const tn_symtab *t, tn_sym var) {
  const tn_symbol *const s = tn_sym_fact(t, var);
  return (assume_facts){s->min, s->max, s->multiple_of < 1 ? 1 : s->multiple_of};
}

/* lcm; a when it does not fit, which says less but nothing wrong. */
static int64_t assume_lcm(int64_t a, int64_t b) {
  int64_t r;
  if (a < 1) a = 1;
  if (b < 1) b = 1;
  return tn_mul_i64(a / tn_sym_gcd(a, b), b, &r) ? r : a;
}

/* c*S + k >= 0 */
static bool assume_range(tn_symtab *t, tn_sym_term term, int64_t k) {
  assume_facts f = assume_read(t, term.mono);
  int64_t minus, end;
  if (!tn_sub_i64(0, k, &minus)) return true;
  if (term.coef > 0 && tn_ceildiv_i64(minus, term.coef, &end) && end > f.min) f.min = end;
  if (term.coef < 0 && tn_floordiv_i64(minus, term.coef, &end) && end < f.max) f.max = end;
  return assume_write(t, term.mono, f);
}

static bool assume_value(tn_symtab *t, tn_sym_term term, int64_t k) {
  assume_facts f = assume_read(t, term.mono);
  int64_t minus, v;
  if (!tn_sub_i64(0, k, &minus)) return true;
  if (minus % term.coef != 0 || !tn_floordiv_i64(minus, term.coef, &v)) return false;
  if (v < f.min || v > f.max || v % f.multiple_of != 0) return false;
  f.min = f.max = v;
  return assume_write(t, term.mono, f);
}

/* Are x and y one value: both have the facts of both. */
static bool assume_same(tn_symtab *t, tn_sym x, tn_sym y) {
  assume_facts f = assume_read(t, x);
  const assume_facts g = assume_read(t, y);
  f.min = g.min > f.min ? g.min : f.min;
  f.max = g.max < f.max ? g.max : f.max;
  f.multiple_of = assume_lcm(f.multiple_of, g.multiple_of);
  return assume_write(t, x, f) && assume_write(t, y, f);
}

/* (c*S + k) % m == r, where it says that S is a multiple. */
static bool assume_multiple(tn_symtab *t, tn_sym mod, int64_t r) {
  const int64_t m = mod->args[1]->k;
  tn_poly num;
  tn_poly_of(&num, t, mod->args[0]);
  if (num.overflow || num.n != 1 || num.at[0].mono->kind != TN_SYM_VAR) return true;
  const tn_i128 rest = (tn_i128)r - num.k;
  if (rest % m != 0) return true;
  assume_facts f = assume_read(t, num.at[0].mono);
  f.multiple_of = assume_lcm(f.multiple_of, m / tn_sym_gcd(m, num.at[0].coef));
  return assume_write(t, num.at[0].mono, f);
}

static void assume_lower(tn_symtab *t, const tn_poly *p, int64_t sign) {
  tn_poly terms;
  int64_t lo;
  uint64_t known;
  tn_poly_init(&terms, t);
  for (size_t i = 0; i < p->n; i++) {
    int64_t c;
    if (!tn_mul_i64(p->at[i].coef, sign, &c)) return;
    tn_poly_push(&terms, p->at[i].mono, c);
  }
  if (terms.n == 0 || !tn_mul_i64(p->k, -sign, &lo)) return;
  const uint64_t key = tn_map_key(tn_poly_node_merged(&terms));
  if (tn_map_find(&t->lower, key, &known) && (int64_t)known >= lo) return;
  tn_map_set(t->arena, &t->lower, key, (uint64_t)lo);
  t->epoch++;
}

static bool assume_order(tn_symtab *t, tn_sym e) {
  tn_poly p;
  assume_difference(&p, t, e);
  if (p.overflow) return true;
  if (p.n == 1 && p.at[0].mono->kind == TN_SYM_VAR) return assume_range(t, p.at[0], p.k);
  assume_lower(t, &p, 1);
  return true;
}

static bool assume_eq(tn_symtab *t, tn_sym e) {
  tn_poly p;
  assume_difference(&p, t, e);
  if (p.overflow || p.n == 0) return true;
  const tn_sym first = p.at[0].mono;
  if (p.n == 1 && first->kind == TN_SYM_VAR) return assume_value(t, p.at[0], p.k);
  assume_lower(t, &p, 1);
  assume_lower(t, &p, -1);
  if (p.n == 1 && tn_sym_is_mod(first) && (p.at[0].coef == 1 || p.at[0].coef == -1) && p.k != INT64_MIN)
    return assume_multiple(t, first, p.at[0].coef == 1 ? -p.k : p.k);
  if (p.n == 2 && p.k == 0 && first->kind == TN_SYM_VAR && p.at[1].mono->kind == TN_SYM_VAR &&
      (p.at[0].coef == 1 || p.at[0].coef == -1) && p.at[1].coef == -p.at[0].coef)
    return assume_same(t, first, p.at[1].mono);
  return true;
}

/* S != its smallest or largest value */
static bool assume_ne(tn_symtab *t, tn_sym eq) {
  tn_poly p;
  assume_difference(&p, t, eq);
  if (p.overflow || p.n != 1 || p.at[0].mono->kind != TN_SYM_VAR) return true;
  assume_facts f = assume_read(t, p.at[0].mono);
  const tn_i128 at_min = (tn_i128)f.min * p.at[0].coef + p.k, at_max = (tn_i128)f.max * p.at[0].coef + p.k;
  if (at_min == 0 && f.min < INT64_MAX) f.min++;
  if (at_max == 0 && f.max > INT64_MIN) f.max--;
  return assume_write(t, p.at[0].mono, f);
}

static bool assume_one(tn_symtab *t, tn_sym e, int depth) {
  const tn_truth now = tn_sym_prove(t, e);
  if (now == TN_FALSE) return false;
  if (e->kind == TN_SYM_OVERFLOW) return false;
  if (e->kind == TN_SYM_AND && depth < 32) {
    for (uint32_t i = 0; i < e->n; i++)
      if (!assume_one(t, e->args[i], depth + 1)) return false;
  }
  if (tn_sym_is_int(e)) return true;
  tn_map_set(t->arena, &t->truth, tn_map_key(e), 1);
  tn_map_set(t->arena, &t->truth, tn_map_key(tn_sym_not(t, e)), 0);
  if (e->kind == TN_SYM_LE || e->kind == TN_SYM_LT) return assume_order(t, e);
  if (e->kind == TN_SYM_EQ) return assume_eq(t, e);
  if (e->kind == TN_SYM_NOT && e->args[0]->kind == TN_SYM_EQ) return assume_ne(t, e->args[0]);
  return true;
}

bool tn_sym_assume_quietly(tn_symtab *t, tn_sym condition) { return assume_one(t, condition, 0); }

tn_status tn_sym_assume(tn_symtab *t, tn_sym condition, tn_loc loc) {
  if (assume_one(t, condition, 0)) return TN_OK;
  return tn_fail(t->ctx, TN_INVALID, loc, "`%s` contradicts what is known", tn_sym_text(t, condition));
}
