/* Comparisons, and/or/not, select. A comparison is decided by the difference of its sides; what is left is written
 * with positive coefficients on both sides. */
#include "sym/node.h"

static tn_sym logic_bool(tn_symtab *t, bool v) { return v ? t->one : t->zero; }

/* 0 or 1: is e not 0? */
static tn_sym logic_truth(tn_symtab *t, tn_sym e) {
  e = tn_sym_fixed(t, e);
  if (tn_sym_is_int(e)) return logic_bool(t, e->k != 0);
  if (tn_sym_is_overflow(e) || tn_sym_is_bool(t, e)) return e;
  return tn_sym_ne(t, e, t->zero);
}

static bool logic_is_condition(tn_sym e) {
  return e->kind == TN_SYM_EQ || e->kind == TN_SYM_LT || e->kind == TN_SYM_LE || e->kind == TN_SYM_AND ||
         e->kind == TN_SYM_OR || e->kind == TN_SYM_NOT;
}

/* p >= 0 (or p == 0) as terms with positive coefficients on two sides. False when a negation overflows. */
static bool logic_sides(const tn_poly *p, tn_poly *minus, tn_poly *plus) {
  tn_poly_init(minus, p->t);
  tn_poly_init(plus, p->t);
  for (size_t i = 0; i < p->n; i++) {
    int64_t c;
    if (p->at[i].coef > 0) {
      tn_poly_push(plus, p->at[i].mono, p->at[i].coef);
    } else if (tn_sub_i64(0, p->at[i].coef, &c)) {
      tn_poly_push(minus, p->at[i].mono, c);
    } else {
      return false;
    }
  }
  return p->k != INT64_MIN;
}

static void logic_divide(tn_poly *p, int64_t g) {
  int64_t k;
  for (size_t i = 0; i < p->n; i++) p->at[i].coef /= g;
  if (tn_floordiv_i64(p->k, g, &k)) p->k = k;
}

/* Smaller coefficients may bring halves and remainders together that were apart. */
static bool logic_divide_content(tn_poly *p) {
  const int64_t g = tn_poly_content(p, false);
  if (g <= 1) return false;
  logic_divide(p, g);
  tn_poly_normalise(p);
  return true;
}

static tn_sym logic_le_node(tn_poly *p) {
  tn_symtab *const t = p->t;
  tn_poly minus, plus;
  if (!logic_sides(p, &minus, &plus)) return NULL;
  const bool strict = p->k == -1 && minus.n > 0 && plus.n > 0;
  if (minus.n == 0 || (p->k < 0 && plus.n > 0)) {
    minus.k = strict ? 0 : -p->k;
  } else {
    plus.k = p->k;
  }
  return tn_sym_intern2(t, strict ? TN_SYM_LT : TN_SYM_LE, tn_poly_node(&minus), tn_poly_node(&plus));
}

/* x // d + k >= 0 is x + d*k >= 0, k - x // d >= 0 is d*k + d - 1 - x >= 0. False when p is not of that form. */
static bool logic_lift_quotient(tn_poly *p) {
  const tn_sym q = p->n == 1 ? p->at[0].mono : NULL;
  const int64_t sign = q ? p->at[0].coef : 0;
  int64_t k;
  if (!q || !tn_sym_is_div(q) || (sign != 1 && sign != -1) || !tn_mul_i64(p->k, q->args[1]->k, &k)) return false;
  if (sign < 0 && !tn_add_i64(k, q->args[1]->k - 1, &k)) return false;
  tn_poly x;
  tn_poly_init(&x, p->t);
  tn_poly_add(&x, q->args[0], sign);
  tn_poly_addk(&x, k);
  tn_poly_normalise(&x);
  const bool fits = !x.overflow;
  if (fits) tn_poly_assign(p, &x);
  tn_poly_drop(&x);
  return fits;
}

static tn_sym logic_order(tn_symtab *t, tn_sym a, tn_sym b, bool strict) {
  a = tn_sym_fixed(t, a);
  b = tn_sym_fixed(t, b);
  if (tn_sym_is_overflow(a) || tn_sym_is_overflow(b)) return t->overflow;
  if (tn_sym_is_int(a) && tn_sym_is_int(b)) return logic_bool(t, strict ? a->k < b->k : a->k <= b->k);
  tn_poly p;
  tn_poly_of(&p, t, b);
  tn_poly_add(&p, a, -1);
  if (strict) tn_poly_addk(&p, -1);
  tn_poly_normalise(&p);
  if (p.overflow) return tn_sym_intern2(t, strict ? TN_SYM_LT : TN_SYM_LE, a, b);
  const tn_interval r = tn_poly_bounds(&p);
  if (r.lo >= 0) return t->one;
  if (r.hi < 0) return t->zero;
  bool changed = logic_divide_content(&p);
  while (logic_lift_quotient(&p)) changed = logic_divide_content(&p) || true;
  if (changed) {
    const tn_interval again = tn_poly_bounds(&p);
    if (again.lo >= 0) return t->one;
    if (again.hi < 0) return t->zero;
  }
  const tn_sym e = logic_le_node(&p);
  tn_poly_drop(&p);
  return e ? e : tn_sym_intern2(t, strict ? TN_SYM_LT : TN_SYM_LE, a, b);
}

tn_sym tn_sym_le(tn_symtab *t, tn_sym a, tn_sym b) {
  const tn_sym_recent *const r = tn_sym_recent_of(t, TN_DID_LE, a, b);
  if (tn_sym_did(t, r, TN_DID_LE, a, b)) return r->result;
  return tn_sym_done(t, TN_DID_LE, a, b, logic_order(t, a, b, false));
}
tn_sym tn_sym_lt(tn_symtab *t, tn_sym a, tn_sym b) { return logic_order(t, a, b, true); }

static tn_sym logic_eq_raw(tn_symtab *t, tn_sym a, tn_sym b) {
  return tn_sym_compare(a, b) <= 0 ? tn_sym_intern2(t, TN_SYM_EQ, a, b) : tn_sym_intern2(t, TN_SYM_EQ, b, a);
}

/* Can p never be 0: by its range, or because a divisor of its terms does not divide its constant? */
static bool logic_never_zero(const tn_poly *p) {
  const tn_interval r = tn_poly_bounds(p);
  const int64_t d = tn_poly_divisor(p);
  return r.lo > 0 || r.hi < 0 || (d > 1 && p->k % d != 0) || (d == 0 && p->k != 0);
}

static tn_sym logic_eq_node(tn_poly *p) {
  tn_symtab *const t = p->t;
  tn_poly minus, plus;
  if (!logic_sides(p, &minus, &plus)) return NULL;
  tn_poly *const left = tn_poly_negative(p) ? &minus : &plus;
  tn_poly *const right = tn_poly_negative(p) ? &plus : &minus;
  const int64_t k = tn_poly_negative(p) ? p->k : -p->k; /* left == right + k */
  if (k < 0 && right->n > 0) {
    left->k = -k;
  } else {
    right->k = k;
  }
  const tn_sym l = tn_poly_node(left), r = tn_poly_node(right);
  if (logic_is_condition(l) && tn_sym_is(r, 0)) return tn_sym_not(t, l);
  if (logic_is_condition(l) && tn_sym_is(r, 1)) return l;
  return tn_sym_intern2(t, TN_SYM_EQ, l, r);
}

/* (x + c) % k == r is x % k == (r - c) % k. NULL when p == 0 is not of that form. */
static tn_sym logic_eq_mod(const tn_poly *p) {
  const tn_sym mod = p->n == 1 ? p->at[0].mono : NULL;
  if (!mod || !tn_sym_is_mod(mod) || (p->at[0].coef != 1 && p->at[0].coef != -1)) return NULL;
  if (mod->args[0]->kind != TN_SYM_ADD || mod->args[0]->k == 0) return NULL;
  int64_t r, rest;
  if (!tn_mul_i64(p->k, -p->at[0].coef, &r) || !tn_sub_i64(r, mod->args[0]->k, &rest)) return NULL;
  if (!tn_mod_i64(rest, mod->args[1]->k, &rest)) return NULL;
  const tn_sym x = tn_sym_addi(p->t, mod->args[0], -mod->args[0]->k);
  const tn_sym left = tn_sym_mod(p->t, x, mod->args[1]);
  return tn_sym_is_mod(left) && left->args[0] == x ? tn_sym_eq(p->t, left, tn_sym_int(p->t, rest)) : NULL;
}

/* The one min or max of p, with the coefficient 1 or -1; -1: none. */
static int logic_find_extreme(const tn_poly *p) {
  int found = -1;
  for (size_t i = 0; i < p->n; i++) {
    if (p->at[i].mono->kind != TN_SYM_MIN && p->at[i].mono->kind != TN_SYM_MAX) continue;
    if (found >= 0 || (p->at[i].coef != 1 && p->at[i].coef != -1)) return -1;
    found = (int)i;
  }
  return found;
}

/* min(a, b) == a is a <= b, min(8, a) == 3 is a == 3; max likewise. NULL when p == 0 is not of that form. */
static tn_sym logic_eq_extreme(const tn_poly *p) {
  tn_symtab *const t = p->t;
  const int at = logic_find_extreme(p);
  if (at < 0) return NULL;
  const tn_sym e = p->at[at].mono;
  const bool is_min = e->kind == TN_SYM_MIN;
  tn_poly rest; /* e == rest */
  tn_poly_init(&rest, t);
  tn_poly_add_poly(&rest, p, -p->at[at].coef);
  tn_poly_add(&rest, e, 1);
  const tn_sym r = tn_poly_node(&rest);
  bool has = false;
  for (uint32_t i = 0; i < e->n; i++) has |= e->args[i] == r;
  if (has) {
    tn_sym all = t->one;
    for (uint32_t i = 0; i < e->n; i++)
      if (e->args[i] != r) all = tn_sym_and(t, all, is_min ? tn_sym_le(t, r, e->args[i]) : tn_sym_le(t, e->args[i], r));
    return all;
  }
  const bool bounded = e->n == 2 && tn_sym_is_int(e->args[0]) && tn_sym_is_int(r); /* constants sort first */
  if (!bounded || (is_min ? r->k > e->args[0]->k : r->k < e->args[0]->k)) return NULL;
  return tn_sym_eq(t, e->args[1], r);
}

static tn_sym logic_eq_new(tn_symtab *t, tn_sym a, tn_sym b) {
  a = tn_sym_fixed(t, a);
  b = tn_sym_fixed(t, b);
  if (tn_sym_is_overflow(a) || tn_sym_is_overflow(b)) return t->overflow;
  if (tn_sym_is_int(a) && tn_sym_is_int(b)) return logic_bool(t, a->k == b->k);
  tn_poly p;
  tn_poly_of(&p, t, a);
  tn_poly_add(&p, b, -1);
  tn_poly_normalise(&p);
  if (p.overflow) return logic_eq_raw(t, a, b);
  if (p.n == 0) return logic_bool(t, p.k == 0);
  if (logic_never_zero(&p)) return t->zero;
  if (logic_divide_content(&p) && logic_never_zero(&p)) return t->zero;
  tn_sym e = logic_eq_mod(&p);
  if (!e) e = logic_eq_extreme(&p);
  if (!e) e = logic_eq_node(&p);
  tn_poly_drop(&p);
  return e ? e : logic_eq_raw(t, a, b);
}

tn_sym tn_sym_eq(tn_symtab *t, tn_sym a, tn_sym b) {
  const tn_sym_recent *const r = tn_sym_recent_of(t, TN_DID_EQ, a, b);
  if (tn_sym_did(t, r, TN_DID_EQ, a, b)) return r->result;
  return tn_sym_done(t, TN_DID_EQ, a, b, logic_eq_new(t, a, b));
}

tn_sym tn_sym_ne(tn_symtab *t, tn_sym a, tn_sym b) { return tn_sym_not(t, tn_sym_eq(t, a, b)); }

tn_sym tn_sym_not(tn_symtab *t, tn_sym a) {
  a = logic_truth(t, a);
  if (tn_sym_is_overflow(a)) return a;
  if (tn_sym_is_int(a)) return logic_bool(t, a->k == 0);
  if (a->kind == TN_SYM_NOT) return logic_truth(t, a->args[0]);
  if (a->kind == TN_SYM_LT) return tn_sym_le(t, a->args[1], a->args[0]);
  if (a->kind == TN_SYM_LE) return tn_sym_lt(t, a->args[1], a->args[0]);
  if (a->kind != TN_SYM_AND && a->kind != TN_SYM_OR) return tn_sym_intern(t, TN_SYM_NOT, 0, &a, NULL, 1);
  tn_sym *const args = TN_NEW_ARRAY(t->arena, tn_sym, a->n);
  for (uint32_t i = 0; i < a->n; i++) args[i] = tn_sym_not(t, a->args[i]); /* not an AND in an AND: one level */
  return tn_sym_logic(t, a->kind == TN_SYM_AND ? TN_SYM_OR : TN_SYM_AND, args, a->n);
}

static bool logic_contains(const tn_sym *at, size_t n, tn_sym e) {
  size_t lo = 0, hi = n;
  while (lo < hi) {
    const size_t mid = (lo + hi) / 2;
    const int c = tn_sym_compare(at[mid], e);
    if (c == 0) return true;
    if (c < 0) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return false;
}

/* x and not x. Only plain conditions are negated here, so that this stays linear. */
static bool logic_has_both(tn_symtab *t, const tn_sym *at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const bool plain = at[i]->kind != TN_SYM_AND && at[i]->kind != TN_SYM_OR;
    if (plain && logic_contains(at, n, tn_sym_not(t, at[i]))) return true;
  }
  return false;
}

/* What a comparison says is not negative, or with EQ is 0; NULL for others. */
static tn_sym logic_margin(tn_symtab *t, tn_sym e) {
  if (e->kind != TN_SYM_LE && e->kind != TN_SYM_LT && e->kind != TN_SYM_EQ) return NULL;
  const tn_sym d = tn_sym_sub(t, e->args[1], e->args[0]);
  return e->kind == TN_SYM_LT ? tn_sym_addi(t, d, -1) : d;
}

/* Does b, an order, follow from the comparison a: is its margin that of a and a constant? */
static bool logic_follows(tn_symtab *t, tn_sym a, tn_sym b) {
  if (b->kind != TN_SYM_LE && b->kind != TN_SYM_LT) return false;
  const tn_sym from = logic_margin(t, a), to = logic_margin(t, b);
  if (!from || tn_sym_is_overflow(from) || tn_sym_is_overflow(to)) return false;
  const tn_sym more = tn_sym_sub(t, to, from), sum = a->kind == TN_SYM_EQ ? tn_sym_add(t, to, from) : more;
  return (tn_sym_is_int(more) && more->k >= 0) || (tn_sym_is_int(sum) && sum->k >= 0);
}

/* x == 3 or x <= 8 is x <= 8, x <= 3 and x <= 8 is x <= 3. */
static size_t logic_absorb(tn_symtab *t, tn_sym_kind kind, tn_sym *at, size_t n) {
  enum { MANY = 8 };
  bool drop[MANY] = {false}, orders = false;
  size_t to = 0;
  for (size_t i = 0; i < n; i++) orders |= at[i]->kind == TN_SYM_LE || at[i]->kind == TN_SYM_LT;
  if (n > MANY || !orders) return n;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n && !drop[i]; j++)
      drop[i] =
          i != j && !drop[j] && (kind == TN_SYM_OR ? logic_follows(t, at[i], at[j]) : logic_follows(t, at[j], at[i]));
  for (size_t i = 0; i < n; i++)
    if (!drop[i]) at[to++] = at[i];
  return to;
}

tn_sym tn_sym_logic(tn_symtab *t, tn_sym_kind kind, const tn_sym *args, size_t n) {
  TN_VEC(tn_sym) v = {0};
  const int64_t absorbing = kind == TN_SYM_AND ? 0 : 1;
  bool overflow = false;
  for (size_t i = 0; i < n; i++) {
    const tn_sym a = logic_truth(t, args[i]);
    if (tn_sym_is(a, absorbing)) return a;
    overflow |= tn_sym_is_overflow(a);
    for (uint32_t j = 0; a->kind == kind && j < a->n; j++) tn_vec_push(t->arena, &v, a->args[j]);
    if (a->kind != kind && !tn_sym_is_int(a)) tn_vec_push(t->arena, &v, a);
  }
  if (overflow) return t->overflow;
  tn_sym_sort(t, v.at, v.n);
  size_t to = 0;
  for (size_t i = 0; i < v.n; i++)
    if (to == 0 || v.at[to - 1] != v.at[i]) v.at[to++] = v.at[i];
  if (to == 0) return logic_bool(t, absorbing == 0);
  to = logic_absorb(t, kind, v.at, to);
  if (to == 1) return v.at[0];
  if (logic_has_both(t, v.at, to)) return logic_bool(t, absorbing == 1);
  return tn_sym_intern(t, kind, 0, v.at, NULL, to);
}

static tn_sym logic_two(tn_symtab *t, tn_sym_kind kind, tn_sym a, tn_sym b) {
  const tn_sym args[2] = {a, b};
  return tn_sym_logic(t, kind, args, 2);
}

tn_sym tn_sym_and(tn_symtab *t, tn_sym a, tn_sym b) { return logic_two(t, TN_SYM_AND, a, b); }
tn_sym tn_sym_or(tn_symtab *t, tn_sym a, tn_sym b) { return logic_two(t, TN_SYM_OR, a, b); }

/* Of min and max in an arm where `margin` is not negative: drops what an argument then decides. */
static tn_sym logic_arm(tn_symtab *t, tn_sym arm, tn_sym margin) {
  enum { MANY = 4 };
  tn_sym kept[MANY];
  size_t n = 0;
  if ((arm->kind != TN_SYM_MIN && arm->kind != TN_SYM_MAX) || arm->n > MANY) return arm;
  for (uint32_t i = 0; i < arm->n; i++) {
    bool decided = false;
    for (uint32_t j = 0; j < arm->n && !decided; j++) {
      const tn_sym over = arm->kind == TN_SYM_MIN ? tn_sym_sub(t, arm->args[i], arm->args[j])
                                                  : tn_sym_sub(t, arm->args[j], arm->args[i]);
      const tn_sym more = tn_sym_sub(t, over, margin);
      decided = i != j && tn_sym_is_int(more) && more->k >= 0;
    }
    if (!decided) kept[n++] = arm->args[i];
  }
  return n == 0 || n == arm->n ? arm : tn_sym_lattice(t, arm->kind, kept, n);
}

/* `a <= b ? a : b` and its like. What the arms differ by is what the condition compares, so that nothing is evaluated
 * that was not. NULL: no such choice. */
static tn_sym logic_extreme(tn_symtab *t, tn_sym margin, tn_sym a, tn_sym b) {
  const tn_sym more = tn_sym_sub(t, b, a);
  const tn_sym up = tn_sym_sub(t, more, margin), down = tn_sym_add(t, more, margin);
  if (tn_sym_is(up, 0) || tn_sym_is(up, 1)) return tn_sym_min(t, a, b);
  return tn_sym_is(down, 0) || tn_sym_is(down, -1) ? tn_sym_max(t, a, b) : NULL;
}

tn_sym tn_sym_select(tn_symtab *t, tn_sym c, tn_sym a, tn_sym b) {
  c = logic_truth(t, c);
  a = tn_sym_fixed(t, a);
  b = tn_sym_fixed(t, b);
  if (tn_sym_is_overflow(c)) return c;
  if (tn_sym_is_int(c)) return c->k ? a : b;
  if (a == b) return a;
  if (c->kind == TN_SYM_NOT) return tn_sym_select(t, c->args[0], b, a);
  if (tn_sym_is(a, 1) && tn_sym_is(b, 0)) return c;
  if (tn_sym_is(a, 0) && tn_sym_is(b, 1)) return tn_sym_not(t, c);
  const tn_sym margin = c->kind == TN_SYM_EQ ? NULL : logic_margin(t, c);
  if (margin && !tn_sym_is_overflow(margin)) {
    a = logic_arm(t, a, margin);
    b = logic_arm(t, b, tn_sym_addi(t, tn_sym_neg(t, margin), -1));
    if (a == b) return a;
    const tn_sym extreme = logic_extreme(t, margin, a, b);
    if (extreme) return extreme;
  }
  const tn_sym args[3] = {c, a, b};
  return tn_sym_intern(t, TN_SYM_SELECT, 0, args, NULL, 3);
}
