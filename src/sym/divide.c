/* //, ceildiv and %: by positive constants all goes through one normal form of x // k; by anything else only what is
 * exact is taken out. */
#include "sym/node.h"

/* sign * (num // k), with what was taken out collected in q. */
typedef struct divide_state {
  tn_symtab *t;
  tn_poly num, q;
  int64_t k, sign;
} divide_state;

static void divide_reset(tn_poly *p, tn_sym e) {
  p->n = 0;
  p->k = 0;
  tn_poly_add(p, e, 1);
}

/* (k*x + y) // k -> x + y // k. The remaining constant is in [0, k), the coefficients below k in magnitude. */
static bool divide_take_multiples(divide_state *d) {
  bool any = false;
  int64_t c;
  for (size_t i = 0; i < d->num.n; i++) {
    tn_sym_term *const term = &d->num.at[i];
    const int64_t whole = term->coef / d->k;
    if (whole == 0) continue;
    any = true;
    term->coef -= whole * d->k;
    tn_poly_push(&d->q, term->mono, whole * d->sign);
  }
  if (tn_floordiv_i64(d->num.k, d->k, &c) && c != 0) {
    if (!tn_mod_i64(d->num.k, d->k, &d->num.k)) d->num.overflow = true;
    tn_poly_addk(&d->q, c * d->sign);
  }
  tn_poly_merge(&d->num);
  return any;
}

/* (g*x + c) // (g*k) -> (x + c // g) // k */
static bool divide_cancel(divide_state *d) {
  const int64_t g = tn_sym_gcd(tn_poly_content(&d->num, false), d->k);
  if (g <= 1) return false;
  for (size_t i = 0; i < d->num.n; i++) d->num.at[i].coef /= g;
  d->num.k /= g;
  d->k /= g;
  return true;
}

/* (-x) // k -> -((x + k - 1) // k). Coefficients are below k in magnitude, so nothing overflows. */
static void divide_flip(divide_state *d) {
  if (!tn_poly_negative(&d->num)) return;
  for (size_t i = 0; i < d->num.n; i++) d->num.at[i].coef = -d->num.at[i].coef;
  d->num.k = d->k - 1 - d->num.k;
  d->sign = -d->sign;
}

/* (y // a + x) // k -> (y + a*x) // (a*k), when exactly one such term stands there. */
static bool divide_nest(divide_state *d) {
  size_t found = d->num.n;
  for (size_t i = 0; i < d->num.n; i++) {
    if (!tn_sym_is_div(d->num.at[i].mono)) continue;
    if (found < d->num.n) return false;
    found = i;
  }
  if (found == d->num.n || d->num.at[found].coef != 1) return false;
  const tn_sym inner = d->num.at[found].mono;
  int64_t k;
  if (inner->args[0]->n > TN_SYM_MAX_PAIRS || !tn_mul_i64(d->k, inner->args[1]->k, &k)) return false;
  tn_poly p;
  tn_poly_of(&p, d->t, inner->args[0]);
  d->num.at[found].coef = 0;
  tn_poly_add_poly(&p, &d->num, inner->args[1]->k);
  tn_poly_merge(&p);
  if (p.overflow) {
    d->num.at[found].coef = 1;
    return false;
  }
  divide_reset(&d->num, tn_poly_node_merged(&p));
  d->k = k;
  return true;
}

/* Facts: a quotient with one possible value is that value. */
static bool divide_is_known(divide_state *d, int64_t *out) {
  const tn_interval b = tn_poly_bounds(&d->num);
  int64_t lo, hi;
  if (b.lo == INT64_MIN || b.hi == INT64_MAX) return false;
  if (!tn_floordiv_i64(b.lo, d->k, &lo) || !tn_floordiv_i64(b.hi, d->k, &hi)) return false;
  *out = lo;
  return lo == hi;
}

/* Facts: (x + 1) // 2 is x - x // 2, and the latter may have one possible value. */
static bool divide_is_known_half(divide_state *d) {
  int64_t known;
  if (d->k != 2 || d->num.k != 1) return false;
  d->num.k = 0;
  const bool yes = divide_is_known(d, &known) && tn_mul_i64(known, -d->sign, &known);
  if (yes) {
    tn_poly_add_poly(&d->q, &d->num, d->sign);
    tn_poly_addk(&d->q, known);
  }
  d->num.k = 1;
  return yes;
}

/* Facts: terms that k divides leave the others alone. Moves them to *exact; false when that separates nothing. */
static bool divide_separate(divide_state *d, tn_poly *exact) {
  size_t n = 0, to = 0;
  for (size_t i = 0; i < d->num.n; i++) {
    const tn_sym_term term = d->num.at[i];
    int64_t c;
    if (tn_mul_i64(term.coef, tn_sym_divisor(d->t, term.mono), &c) && c % d->k == 0) n++;
  }
  if (n == 0 || (n == d->num.n && d->num.k == 0)) return false;
  tn_poly_init(exact, d->t);
  for (size_t i = 0; i < d->num.n; i++) {
    const tn_sym_term term = d->num.at[i];
    int64_t c;
    if (tn_mul_i64(term.coef, tn_sym_divisor(d->t, term.mono), &c) && c % d->k == 0) {
      tn_poly_push(exact, term.mono, term.coef);
    } else {
      d->num.at[to++] = term;
    }
  }
  d->num.n = to;
  return true;
}

/* (c*(x % j) + y) // k -> (c*x + y) // k - c*j//k * (x // j), where k divides c*j; also in products. */
static bool divide_unwrap(divide_state *d) {
  bool any = false;
  int64_t known;
  const size_t n = d->num.n;
  for (size_t i = 0; i < n; i++) {
    const tn_sym_term term = d->num.at[i];
    const tn_sym *f;
    const size_t n_factors = tn_sym_factors(&term.mono, &f);
    size_t at = 0;
    int64_t c = 0;
    while (at < n_factors && !(tn_sym_is_mod(f[at]) && tn_mul_i64(term.coef, f[at]->args[1]->k, &c) && c % d->k == 0))
      at++;
    if (at == n_factors || c == INT64_MIN || (!any && divide_is_known(d, &known))) continue;
    const tn_sym x = f[at]->args[0], rest = tn_sym_mono_div(d->t, term.mono, f[at]);
    d->num.at[i].coef = 0;
    tn_poly_push_times(&d->num, rest, x, term.coef);
    tn_poly_push_times(&d->q, rest, tn_sym_floordiv_k(d->t, x, f[at]->args[1]->k), -(c / d->k) * d->sign);
    any = true;
  }
  if (any) tn_poly_merge(&d->num);
  return any;
}

/* One turn; true when the state changed and another is due. */
static bool divide_step(divide_state *d) {
  tn_poly_normalise(&d->num);
  if (d->num.overflow) return false;
  const bool taken = divide_take_multiples(d);
  if (divide_cancel(d) || taken || divide_unwrap(d)) return true;
  divide_flip(d);
  return divide_nest(d);
}

static void divide_rest(divide_state *d) {
  int64_t known;
  tn_poly exact;
  if (d->num.n == 0 && d->k > d->num.k && d->num.k >= 0) return; /* a constant in [0, k) */
  if (divide_is_known(d, &known)) {
    if (tn_mul_i64(known, d->sign, &known)) {
      tn_poly_addk(&d->q, known);
    } else {
      d->q.overflow = true;
    }
  } else if (divide_is_known_half(d)) {
    return;
  } else if (divide_separate(d, &exact)) {
    const tn_sym k = tn_sym_int(d->t, d->k);
    tn_poly_add(&d->q, tn_sym_floordiv_k(d->t, tn_poly_node(&exact), k->k), d->sign);
    tn_poly_add(&d->q, tn_sym_floordiv_k(d->t, tn_poly_node(&d->num), k->k), d->sign);
  } else {
    const tn_sym num = tn_poly_node_merged(&d->num);
    tn_poly_add(&d->q, tn_sym_intern2(d->t, TN_SYM_FLOORDIV, num, tn_sym_int(d->t, d->k)), d->sign);
  }
}

tn_sym tn_sym_floordiv_k(tn_symtab *t, tn_sym num, int64_t k) {
  TN_ASSERT(k > 0);
  divide_state d = {.t = t, .k = k, .sign = 1};
  tn_poly_of(&d.num, t, num);
  tn_poly_init(&d.q, t);
  int turns = 0;
  while (turns < 64 && divide_step(&d)) turns++;
  if (d.num.overflow) return t->overflow;
  divide_rest(&d);
  tn_poly_drop(&d.num);
  return tn_poly_node(&d.q);
}

static tn_sym divide_mod_k(tn_symtab *t, tn_sym num, int64_t k) {
  const tn_sym q = tn_sym_floordiv_k(t, num, k);
  const int64_t divisor = tn_sym_divisor(t, num);
  if (divisor % k == 0) return t->zero; /* also 0 % k */
  tn_poly p;
  tn_poly_of(&p, t, num);
  tn_poly_add(&p, q, -k);
  return tn_poly_node(&p);
}

/* num = q * den + rest, taking out every term that a den of one term divides, or all of num. */
static bool divide_take(tn_symtab *t, tn_sym num, tn_sym den, tn_poly *q, tn_poly *rest) {
  tn_poly n, d, part;
  tn_poly_of(&n, t, num);
  tn_poly_of(&d, t, den);
  tn_poly_init(q, t);
  tn_poly_init(rest, t);
  if (tn_poly_divide(&n, &d, q)) return true;
  tn_poly_init(q, t);
  if (d.n != 1 || d.k != 0) return false;
  rest->k = n.k;
  for (size_t i = 0; i < n.n; i++) {
    tn_poly one;
    tn_poly_init(&one, t);
    tn_poly_push(&one, n.at[i].mono, n.at[i].coef);
    if (tn_poly_divide(&one, &d, &part)) {
      tn_poly_add_poly(q, &part, 1);
    } else {
      tn_poly_push(rest, n.at[i].mono, n.at[i].coef);
    }
  }
  tn_poly_merge(q);
  return q->n > 0 || q->k != 0;
}

/* Is 0 <= a < b known? */
static bool divide_is_below(tn_symtab *t, tn_sym a, tn_sym b) {
  return tn_sym_bounds(t, a).lo >= 0 && tn_sym_known_le(t, tn_sym_addi(t, a, 1), b);
}

static tn_sym divide_negated(tn_symtab *t, tn_sym e) {
  tn_poly p;
  tn_poly_of(&p, t, e);
  if (p.overflow || !tn_poly_negative(&p)) return NULL;
  const tn_sym n = tn_sym_neg(t, e);
  return tn_sym_is_overflow(n) ? NULL : n;
}

/* (g*a) // (g*b) -> a // b for constants, and for atoms that cannot be zero. */
static bool divide_common(tn_symtab *t, tn_sym *num, tn_sym *den) {
  tn_poly n, d;
  tn_poly_of(&n, t, *num);
  tn_poly_of(&d, t, *den);
  const int64_t g = tn_sym_gcd(tn_poly_content(&n, true), tn_poly_content(&d, true));
  bool any = false;
  if (g > 1) {
    const tn_sym by = tn_sym_int(t, g);
    *num = tn_sym_divexact(t, *num, by);
    *den = tn_sym_divexact(t, *den, by);
    any = true;
  }
  const tn_sym dm = d.n == 1 && d.k == 0 ? d.at[0].mono : NULL;
  for (uint32_t i = 0; dm && dm->kind == TN_SYM_MUL && i < dm->n; i++) {
    tn_poly q, f;
    tn_poly_of(&n, t, *num);
    tn_poly_of(&f, t, dm->args[i]);
    if (!tn_sym_known_nonzero(t, dm->args[i]) || !tn_poly_divide(&n, &f, &q)) continue;
    *num = tn_poly_node(&q);
    *den = tn_sym_divexact(t, *den, dm->args[i]);
    any = true;
  }
  return any;
}

static tn_sym divide_atom(tn_symtab *t, tn_sym_kind kind, tn_sym num, tn_sym den) {
  if (kind == TN_SYM_FLOORDIV && divide_is_below(t, num, den)) return t->zero;
  const tn_sym e = tn_sym_intern2(t, kind, num, den);
  const tn_interval b = tn_sym_bounds(t, e);
  return b.lo == b.hi && tn_sym_known_nonzero(t, den) ? tn_sym_int(t, b.lo) : e;
}

static tn_sym divide_symbolic(tn_symtab *t, tn_sym_kind kind, tn_sym num, tn_sym den) {
  tn_poly q, rest;
  const bool nonzero = tn_sym_known_nonzero(t, den);
  if (divide_take(t, num, den, &q, &rest)) {
    const tn_sym r = tn_poly_node(&rest);
    if (!tn_sym_is(r, 0)) {
      tn_poly_add(&q, kind == TN_SYM_FLOORDIV ? tn_sym_floordiv(t, r, den) : tn_sym_ceildiv(t, r, den), 1);
      return tn_poly_node(&q);
    }
    if (nonzero) return tn_poly_node(&q);
  }
  if (nonzero && tn_sym_is(num, 0)) return t->zero;
  if (divide_common(t, &num, &den))
    return kind == TN_SYM_FLOORDIV ? tn_sym_floordiv(t, num, den) : tn_sym_ceildiv(t, num, den);
  if (tn_sym_bounds(t, den).lo < 1) { /* else ceildiv is written through //, and a sign has nowhere to go */
    const tn_sym minus = divide_negated(t, num);
    if (minus)
      return tn_sym_neg(t, divide_atom(t, kind == TN_SYM_FLOORDIV ? TN_SYM_CEILDIV : TN_SYM_FLOORDIV, minus, den));
  }
  return divide_atom(t, kind, num, den);
}

static tn_sym divide_floordiv_new(tn_symtab *t, tn_sym a, tn_sym b) {
  a = tn_sym_fixed(t, a);
  b = tn_sym_fixed(t, b);
  if (tn_sym_is_overflow(a) || tn_sym_is_overflow(b)) return t->overflow;
  if (!tn_sym_is_int(b)) return divide_symbolic(t, TN_SYM_FLOORDIV, a, b);
  if (b->k > 0) return tn_sym_floordiv_k(t, a, b->k);
  const tn_sym minus = tn_sym_neg(t, a);
  if (b->k == 0 || b->k == INT64_MIN || tn_sym_is_overflow(minus)) {
    int64_t q;
    if (!tn_sym_is_int(a) || b->k == 0) return tn_sym_intern2(t, TN_SYM_FLOORDIV, a, b);
    return tn_floordiv_i64(a->k, b->k, &q) ? tn_sym_int(t, q) : t->overflow;
  }
  return tn_sym_floordiv_k(t, minus, -b->k);
}

tn_sym tn_sym_floordiv(tn_symtab *t, tn_sym a, tn_sym b) {
  const tn_sym_recent *const r = tn_sym_recent_of(t, TN_DID_DIV, a, b);
  if (tn_sym_did(t, r, TN_DID_DIV, a, b)) return r->result;
  return tn_sym_done(t, TN_DID_DIV, a, b, divide_floordiv_new(t, a, b));
}

tn_sym tn_sym_ceildiv(tn_symtab *t, tn_sym a, tn_sym b) {
  int64_t q;
  a = tn_sym_fixed(t, a);
  b = tn_sym_fixed(t, b);
  if (tn_sym_is_overflow(a) || tn_sym_is_overflow(b)) return t->overflow;
  if (tn_sym_is_int(a) && tn_sym_is_int(b) && b->k != 0)
    return tn_ceildiv_i64(a->k, b->k, &q) ? tn_sym_int(t, q) : t->overflow;
  if (tn_sym_is_int(b)) { /* ceildiv(a, k) == -((-a) // k) */
    const tn_sym minus = tn_sym_neg(t, a);
    if (b->k == 0 || tn_sym_is_overflow(minus)) return tn_sym_intern2(t, TN_SYM_CEILDIV, a, b);
    return tn_sym_neg(t, tn_sym_floordiv(t, minus, b));
  }
  if (tn_sym_bounds(t, b).lo >= 1) {
    const tn_sym up = tn_sym_add(t, a, tn_sym_addi(t, b, -1));
    if (!tn_sym_is_overflow(up)) return tn_sym_floordiv(t, up, b);
  }
  return divide_symbolic(t, TN_SYM_CEILDIV, a, b);
}

static tn_sym divide_mod_symbolic(tn_symtab *t, tn_sym num, tn_sym den) {
  tn_poly q, rest;
  if (divide_take(t, num, den, &q, &rest)) num = tn_poly_node(&rest);
  if (tn_sym_is_overflow(num)) return num;
  if (tn_sym_is(num, 0) && tn_sym_known_nonzero(t, den)) return t->zero;
  if (divide_is_below(t, num, den)) return num;
  return tn_sym_intern2(t, TN_SYM_MOD, num, den);
}

tn_sym tn_sym_mod(tn_symtab *t, tn_sym a, tn_sym b) {
  a = tn_sym_fixed(t, a);
  b = tn_sym_fixed(t, b);
  if (tn_sym_is_overflow(a) || tn_sym_is_overflow(b)) return t->overflow;
  if (!tn_sym_is_int(b)) return divide_mod_symbolic(t, a, b);
  if (b->k > 0) return divide_mod_k(t, a, b->k);
  if (b->k == 0) return tn_sym_intern2(t, TN_SYM_MOD, a, b);
  int64_t r;
  if (tn_sym_is_int(a) && tn_mod_i64(a->k, b->k, &r)) return tn_sym_int(t, r);
  const tn_sym minus = tn_sym_neg(t, a);
  if (b->k == INT64_MIN || tn_sym_is_overflow(minus)) return tn_sym_intern2(t, TN_SYM_MOD, a, b);
  return tn_sym_neg(t, divide_mod_k(t, minus, -b->k)); /* x % -k == -((-x) % k) */
}

/* A sum of symbols and products plus a symbol that it lacks: the general way would look at every term several times.
 * NULL when it is not that. */
static tn_sym divide_add_symbol(tn_symtab *t, tn_sym sum, tn_sym var) {
  if (sum->kind != TN_SYM_ADD || var->kind != TN_SYM_VAR || tn_sym_fixed(t, var) != var) return NULL;
  uint32_t lo = 0, hi = sum->n;
  for (uint32_t i = 0; i < sum->n; i++) {
    const tn_sym m = sum->args[i];
    if (m->kind != TN_SYM_MUL && (m->kind != TN_SYM_VAR || tn_sym_fixed(t, m) != m)) return NULL;
  }
  while (lo < hi) {
    const uint32_t mid = lo + (hi - lo) / 2;
    const int order = tn_sym_compare(sum->args[mid], var);
    if (order == 0) return NULL;
    if (order < 0) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  tn_sym *const args = tn_arena_alloc(t->arena, (size_t)sum->n + 1, sizeof *args);
  int64_t *const coefs = tn_arena_alloc(t->arena, (size_t)sum->n + 1, sizeof *coefs);
  memcpy(args, sum->args, lo * sizeof *args);
  memcpy(coefs, sum->coefs, lo * sizeof *coefs);
  args[lo] = var;
  coefs[lo] = 1;
  memcpy(args + lo + 1, sum->args + lo, (sum->n - lo) * sizeof *args);
  memcpy(coefs + lo + 1, sum->coefs + lo, (sum->n - lo) * sizeof *coefs);
  return tn_sym_intern_longer(t, sum, lo, args, coefs);
}

static tn_sym divide_add_new(tn_symtab *t, tn_sym a, tn_sym b) {
  tn_poly p;
  const tn_sym quick = a->kind == TN_SYM_ADD ? divide_add_symbol(t, a, b) : divide_add_symbol(t, b, a);
  if (quick) return quick;
  tn_poly_of(&p, t, a);
  tn_poly_add(&p, b, 1);
  return tn_poly_node(&p);
}

tn_sym tn_sym_add(tn_symtab *t, tn_sym a, tn_sym b) {
  const tn_sym_recent *const r = tn_sym_recent_of(t, TN_DID_ADD, a, b);
  if (tn_sym_did(t, r, TN_DID_ADD, a, b)) return r->result;
  return tn_sym_done(t, TN_DID_ADD, a, b, divide_add_new(t, a, b));
}

static tn_sym divide_sub_new(tn_symtab *t, tn_sym a, tn_sym b) {
  tn_poly p;
  tn_poly_of(&p, t, a);
  tn_poly_add(&p, b, -1);
  return tn_poly_node(&p);
}

tn_sym tn_sym_sub(tn_symtab *t, tn_sym a, tn_sym b) {
  const tn_sym_recent *const r = tn_sym_recent_of(t, TN_DID_SUB, a, b);
  if (tn_sym_did(t, r, TN_DID_SUB, a, b)) return r->result;
  return tn_sym_done(t, TN_DID_SUB, a, b, divide_sub_new(t, a, b));
}

tn_sym tn_sym_neg(tn_symtab *t, tn_sym a) { return tn_sym_muli(t, a, -1); }

tn_sym tn_sym_addi(tn_symtab *t, tn_sym a, int64_t b) {
  tn_poly p;
  tn_poly_of(&p, t, a);
  tn_poly_addk(&p, b);
  return tn_poly_node(&p);
}

tn_sym tn_sym_muli(tn_symtab *t, tn_sym a, int64_t b) {
  tn_poly p;
  if (b == 0) return tn_sym_is_overflow(a) ? a : t->zero;
  tn_poly_init(&p, t);
  tn_poly_add(&p, a, b);
  return tn_poly_node(&p);
}

static tn_sym divide_mul_new(tn_symtab *t, tn_sym a, tn_sym b) {
  const tn_sym factors[2] = {a, b};
  return tn_sym_product(t, factors, 2);
}

tn_sym tn_sym_mul(tn_symtab *t, tn_sym a, tn_sym b) {
  const tn_sym_recent *const r = tn_sym_recent_of(t, TN_DID_MUL, a, b);
  if (tn_sym_did(t, r, TN_DID_MUL, a, b)) return r->result;
  return tn_sym_done(t, TN_DID_MUL, a, b, divide_mul_new(t, a, b));
}
