/* Sums: k + sum of coef * mono; like terms are collected. */
#include "sym/node.h"

void tn_poly_init(tn_poly *p, tn_symtab *t) {
  p->t = t;
  p->at = p->small;
  p->n = 0;
  p->cap = TN_COUNT(p->small);
  p->k = 0;
  p->overflow = false;
}

void tn_poly_of(tn_poly *p, tn_symtab *t, tn_sym e) {
  tn_poly_init(p, t);
  tn_poly_add(p, e, 1);
}

/* Buffers hold 24 << class terms. A free one begins with the pointer to the next. */
static int poly_class(size_t cap) {
  int c = 0;
  while (((size_t)24 << c) < cap) c++;
  return c;
}

static void poly_give_back(tn_symtab *t, tn_sym_term *at, size_t cap) {
  const int c = poly_class(cap);
  memcpy(at, &t->pool[c], sizeof t->pool[c]);
  t->pool[c] = at;
}

static tn_sym_term *poly_take(tn_symtab *t, size_t need) {
  const int c = poly_class(need);
  tn_sym_term *const at = t->pool[c];
  if (!at) return tn_arena_alloc(t->arena, (size_t)24 << c, sizeof *at);
  memcpy(&t->pool[c], at, sizeof t->pool[c]);
  return at;
}

static void poly_reserve(tn_poly *p, size_t need) {
  if (need <= p->cap) return;
  tn_sym_term *const at = poly_take(p->t, need);
  memcpy(at, p->at, p->n * sizeof *at);
  if (p->at != p->small) poly_give_back(p->t, p->at, p->cap);
  p->at = at;
  p->cap = (size_t)24 << poly_class(need);
}

void tn_poly_drop(tn_poly *p) {
  if (p->at != p->small) poly_give_back(p->t, p->at, p->cap);
  tn_poly_init(p, p->t);
}

void tn_poly_push(tn_poly *p, tn_sym mono, int64_t coef) {
  if (p->n == p->cap) poly_reserve(p, p->n + 1);
  p->at[p->n++] = (tn_sym_term){mono, coef};
}

void tn_poly_addk(tn_poly *p, int64_t k) {
  if (!tn_add_i64(p->k, k, &p->k)) p->overflow = true;
}

static void poly_add_scaled(tn_poly *p, tn_sym mono, int64_t coef, int64_t scale) {
  int64_t c;
  if (!tn_mul_i64(coef, scale, &c)) {
    p->overflow = true;
    return;
  }
  const tn_sym fixed = tn_sym_fixed(p->t, mono);
  if (fixed == mono) {
    tn_poly_push(p, mono, c);
  } else if (tn_mul_i64(fixed->k, c, &c)) {
    tn_poly_addk(p, c);
  } else {
    p->overflow = true;
  }
}

void tn_poly_add(tn_poly *p, tn_sym e, int64_t coef) {
  int64_t k;
  if (e->kind == TN_SYM_OVERFLOW) {
    p->overflow = true;
  } else if (e->kind == TN_SYM_INT || e->kind == TN_SYM_ADD) {
    if (tn_mul_i64(e->k, coef, &k)) {
      tn_poly_addk(p, k);
    } else {
      p->overflow = true;
    }
    poly_reserve(p, p->n + e->n);
    for (uint32_t i = 0; i < e->n; i++) poly_add_scaled(p, e->args[i], e->coefs[i], coef);
  } else {
    poly_add_scaled(p, e, coef, 1);
  }
}

void tn_poly_add_poly(tn_poly *p, const tn_poly *q, int64_t coef) {
  int64_t k;
  if (q->overflow || !tn_mul_i64(q->k, coef, &k)) {
    p->overflow = true;
    return;
  }
  tn_poly_addk(p, k);
  poly_reserve(p, p->n + q->n);
  for (size_t i = 0; i < q->n; i++) poly_add_scaled(p, q->at[i].mono, q->at[i].coef, coef);
}

void tn_poly_push_times(tn_poly *p, tn_sym mono, tn_sym e, int64_t coef) {
  int64_t c;
  if (mono == p->t->one || tn_sym_is_overflow(e)) {
    tn_poly_add(p, e, coef);
    return;
  }
  if (e->kind != TN_SYM_INT && e->kind != TN_SYM_ADD) {
    tn_poly_push(p, tn_sym_mono_mul(p->t, mono, e), coef);
    return;
  }
  for (uint32_t i = 0; i < e->n; i++) {
    if (!tn_mul_i64(e->coefs[i], coef, &c)) p->overflow = true;
    tn_poly_push(p, tn_sym_mono_mul(p->t, mono, e->args[i]), c);
  }
  if (!tn_mul_i64(e->k, coef, &c)) p->overflow = true;
  if (e->k != 0) tn_poly_push(p, mono, c);
}

static void poly_merge_runs(tn_sym_term *at, size_t mid, size_t n, tn_sym_term *tmp) {
  memcpy(tmp, at, mid * sizeof *at);
  size_t i = 0, j = mid, to = 0;
  while (i < mid && j < n) at[to++] = tn_sym_compare(at[j].mono, tmp[i].mono) < 0 ? at[j++] : tmp[i++];
  while (i < mid) at[to++] = tmp[i++];
}

static void poly_sort(tn_sym_term *at, size_t n, tn_sym_term *tmp) {
  if (n < 2) return;
  const size_t mid = n / 2;
  poly_sort(at, mid, tmp);
  poly_sort(at + mid, n - mid, tmp);
  if (tn_sym_compare(at[mid].mono, at[mid - 1].mono) < 0) poly_merge_runs(at, mid, n, tmp);
}

/* The usual sum is two sorted runs: one merge does it. */
static void poly_order(tn_poly *p) {
  tn_sym_term small[32];
  size_t run = 1, end;
  while (run < p->n && tn_sym_compare(p->at[run - 1].mono, p->at[run].mono) <= 0) run++;
  if (run >= p->n) return;
  tn_sym_term *const tmp = p->n <= TN_COUNT(small) ? small : poly_take(p->t, p->n);
  end = run + 1;
  while (end < p->n && tn_sym_compare(p->at[end - 1].mono, p->at[end].mono) <= 0) end++;
  if (end == p->n) {
    poly_merge_runs(p->at, run, p->n, tmp);
  } else {
    poly_sort(p->at, p->n, tmp);
  }
  if (tmp != small) poly_give_back(p->t, tmp, p->n);
}

void tn_poly_merge(tn_poly *p) {
  if (p->overflow) return;
  poly_order(p);
  size_t to = 0;
  for (size_t i = 0; i < p->n;) {
    tn_i128 c = 0;
    const tn_sym mono = p->at[i].mono;
    for (; i < p->n && p->at[i].mono == mono; i++) c += p->at[i].coef;
    if (c < INT64_MIN || c > INT64_MAX) p->overflow = true;
    if (c != 0) p->at[to++] = (tn_sym_term){mono, (int64_t)c};
  }
  p->n = to;
}

void tn_poly_assign(tn_poly *to, const tn_poly *from) {
  to->n = 0;
  to->k = from->k;
  to->overflow = from->overflow;
  for (size_t i = 0; i < from->n; i++) tn_poly_push(to, from->at[i].mono, from->at[i].coef);
}

/* Facts: where k divides x, x % k is 0 and k * (x // k) is x. One factor of each product. */
static bool poly_use_divisors(tn_poly *p) {
  const size_t n = p->n;
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    const tn_sym_term term = p->at[i];
    const tn_sym *f;
    const size_t n_factors = tn_sym_factors(&term.mono, &f);
    for (size_t j = 0; j < n_factors && p->at[i].coef != 0; j++) {
      const bool mod = tn_sym_is_mod(f[j]);
      if (!mod && (!tn_sym_is_div(f[j]) || term.coef % f[j]->args[1]->k != 0)) continue;
      const int64_t k = f[j]->args[1]->k;
      if (tn_sym_divisor(p->t, f[j]->args[0]) % k != 0) continue;
      any = true;
      p->at[i].coef = 0;
      if (!mod) tn_poly_push_times(p, tn_sym_mono_div(p->t, term.mono, f[j]), f[j]->args[0], term.coef / k);
    }
  }
  if (any) tn_poly_merge(p);
  return any;
}

static bool poly_is_quotient(tn_sym e) { return e->kind == TN_SYM_FLOORDIV || e->kind == TN_SYM_MOD; }

/* Most sums have none, and are in normal form when they are merged. */
static bool poly_has_quotients(const tn_poly *p) {
  for (size_t i = 0; i < p->n; i++) {
    const tn_sym m = p->at[i].mono;
    if (poly_is_quotient(m)) return true;
    for (uint32_t j = 0; m->kind == TN_SYM_MUL && j < m->n; j++)
      if (poly_is_quotient(m->args[j])) return true;
  }
  return false;
}

void tn_poly_normalise(tn_poly *p) {
  tn_poly_merge(p);
  if (p->overflow || p->n > TN_SYM_MAX_PAIRS || !poly_has_quotients(p)) return;
  if (poly_use_divisors(p)) {
    tn_poly_normalise(p); /* each time with smaller parts */
    return;
  }
  tn_poly_pair(p);
}

tn_sym tn_poly_node_merged(tn_poly *p) {
  tn_symtab *const t = p->t;
  if (p->overflow) return t->overflow;
  if (p->n == 0) return tn_sym_int(t, p->k);
  if (p->n == 1 && p->at[0].coef == 1 && p->k == 0) return p->at[0].mono;
  enum { FEW = 24 };
  tn_sym small_args[FEW];
  int64_t small_coefs[FEW];
  const bool few = p->n <= FEW;
  tn_sym *const args = few ? small_args : tn_arena_alloc(t->arena, p->n, sizeof *args);
  int64_t *const coefs = few ? small_coefs : tn_arena_alloc(t->arena, p->n, sizeof *coefs);
  for (size_t i = 0; i < p->n; i++) {
    args[i] = p->at[i].mono;
    coefs[i] = p->at[i].coef;
  }
  if (few) return tn_sym_intern(t, TN_SYM_ADD, p->k, args, coefs, p->n);
  return tn_sym_intern_own(t, TN_SYM_ADD, p->k, args, coefs, p->n);
}

tn_sym tn_poly_node(tn_poly *p) {
  tn_poly_normalise(p);
  const tn_sym e = tn_poly_node_merged(p);
  tn_poly_drop(p);
  return e;
}

size_t tn_poly_n_negative(const tn_poly *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->n; i++) n += p->at[i].coef < 0;
  return n;
}

bool tn_poly_negative(const tn_poly *p) {
  if (p->n == 0) return p->k < 0;
  const size_t negative = tn_poly_n_negative(p);
  return negative * 2 != p->n ? negative * 2 > p->n : p->at[0].coef < 0;
}

int64_t tn_poly_content(const tn_poly *p, bool with_constant) {
  int64_t g = with_constant ? tn_sym_gcd(p->k, 0) : 0;
  for (size_t i = 0; i < p->n && g != 1; i++) g = tn_sym_gcd(g, p->at[i].coef);
  return g;
}
