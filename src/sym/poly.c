/* Sums: k + sum of coef * mono, and their one normal form.
 *
 * Like terms are collected. Beyond that, x % k is x - k * (x // k), and x // 2 + (x + 1) // 2 is x, so a sum has
 * several spellings. The normal form is found in two steps: first every x % k and (x + 1) // 2 is written through x //
 * k and x // 2, which leaves one spelling; from there each x // k, largest first, is replaced by its partner where that
 * makes the sum shorter. The result depends on the value of the sum alone, not on how it was built. */
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

static void poly_copy(tn_poly *to, const tn_poly *from) {
  tn_poly_init(to, from->t);
  to->k = from->k;
  to->overflow = from->overflow;
  for (size_t i = 0; i < from->n; i++) tn_poly_push(to, from->at[i].mono, from->at[i].coef);
}

/* Is e = (x + 1) // 2 with x without constant? Then x through *out. */
static bool poly_is_upper_half(tn_symtab *t, tn_sym e, tn_sym *out) {
  if (!tn_sym_is_div(e) || e->args[1]->k != 2) return false;
  const tn_sym num = e->args[0];
  if (num->kind != TN_SYM_ADD || num->k != 1) return false;
  if (out) {
    *out = num->n == 1 && num->coefs[0] == 1 ? num->args[0]
                                             : tn_sym_intern(t, TN_SYM_ADD, 0, num->args, num->coefs, num->n);
  }
  return true;
}

/* x // k, or the only value it can have. */
static tn_sym poly_quotient(tn_symtab *t, tn_sym x, tn_sym k) {
  const tn_sym e = tn_sym_intern2(t, TN_SYM_FLOORDIV, x, k);
  const tn_interval b = tn_sym_bounds(t, e);
  return b.lo == b.hi ? tn_sym_int(t, b.lo) : e;
}

/* Step 1. Inner sums are in normal form, but substituting them may bring new candidates: repeated, bounded by size. */
static bool poly_spell_out(tn_poly *p) {
  bool again = false;
  const size_t n = p->n;
  for (size_t i = 0; i < n && !p->overflow; i++) {
    const tn_sym m = p->at[i].mono;
    const int64_t c = p->at[i].coef;
    int64_t d;
    tn_sym x;
    if (tn_sym_is_mod(m)) {
      if (!tn_mul_i64(c, -m->args[1]->k, &d)) continue;
      p->at[i].coef = 0;
      tn_poly_add(p, poly_quotient(p->t, m->args[0], m->args[1]), d);
      tn_poly_add(p, m->args[0], c);
      again = true;
    } else if (c != INT64_MIN && poly_is_upper_half(p->t, m, &x)) {
      p->at[i].coef = 0;
      tn_poly_add(p, poly_quotient(p->t, x, m->args[1]), -c);
      tn_poly_add(p, x, c);
      again = true;
    }
  }
  if (again) tn_poly_merge(p);
  return again;
}

static size_t poly_n_negative(const tn_poly *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->n; i++) n += p->at[i].coef < 0;
  return n;
}

/* Fewer terms, then fewer mixed signs: the same answer for a sum and its negation. */
static bool poly_is_better(const tn_poly *a, const tn_poly *b) {
  const size_t minus_a = poly_n_negative(a), minus_b = poly_n_negative(b);
  if (a->n != b->n) return a->n < b->n;
  return (minus_a * 2 < a->n ? minus_a : a->n - minus_a) < (minus_b * 2 < b->n ? minus_b : b->n - minus_b);
}

static bool poly_has_term_of(const tn_poly *p, tn_sym x) {
  for (size_t i = 0; i < p->n; i++) {
    if (x->kind != TN_SYM_ADD && p->at[i].mono == x) return true;
    for (uint32_t j = 0; x->kind == TN_SYM_ADD && j < x->n; j++)
      if (p->at[i].mono == x->args[j]) return true;
  }
  return false;
}

void tn_poly_assign(tn_poly *to, const tn_poly *from) {
  to->n = 0;
  to->k = from->k;
  to->overflow = from->overflow;
  for (size_t i = 0; i < from->n; i++) tn_poly_push(to, from->at[i].mono, from->at[i].coef);
}

/* *best = p with coef * (x // k) replaced by c * (x - partner), when that is shorter than *best. */
static void poly_try(const tn_poly *p, const tn_sym_term *term, int64_t c, tn_sym partner, tn_poly *best) {
  tn_poly q;
  poly_copy(&q, p);
  for (size_t i = 0; i < q.n; i++)
    if (q.at[i].mono == term->mono) q.at[i].coef = 0;
  tn_poly_add(&q, term->mono->args[0], c);
  tn_poly_add(&q, partner, -c);
  tn_poly_merge(&q);
  if (!q.overflow && poly_is_better(&q, best)) tn_poly_assign(best, &q);
  tn_poly_drop(&q);
}

/* The partners of x // k: the remainder, since k * (x // k) is x - x % k, and for k = 2 the upper half. */
static void poly_pair(tn_poly *p, const tn_sym_term *term) {
  const tn_sym x = term->mono->args[0], k = term->mono->args[1];
  tn_poly best;
  poly_copy(&best, p);
  if (term->coef % k->k == 0) poly_try(p, term, term->coef / k->k, tn_sym_intern2(p->t, TN_SYM_MOD, x, k), &best);
  if (k->k == 2 && tn_sym_divisor(p->t, x) % 2 != 0) {
    tn_poly num;
    tn_poly_of(&num, p->t, x);
    tn_poly_addk(&num, 1);
    poly_try(p, term, term->coef, poly_quotient(p->t, tn_poly_node_merged(&num), k), &best);
  }
  tn_poly_assign(p, &best);
  tn_poly_drop(&best);
}

static void poly_pair_up(tn_poly *p) {
  tn_sym_term atoms[TN_SYM_MAX_PAIRS];
  size_t n = 0;
  for (size_t i = p->n; i-- > 0 && n < TN_COUNT(atoms);)
    if (tn_sym_is_div(p->at[i].mono)) atoms[n++] = p->at[i];
  for (size_t i = 0; i < n; i++) {
    tn_sym_term now = {atoms[i].mono, 0};
    for (size_t j = 0; j < p->n; j++)
      if (p->at[j].mono == now.mono) now.coef = p->at[j].coef;
    if (now.coef != 0 && now.coef != INT64_MIN && poly_has_term_of(p, now.mono->args[0])) poly_pair(p, &now);
  }
}

/* Facts: where k divides x, x % k is 0 and k * (x // k) is x. */
static bool poly_use_divisors(tn_poly *p) {
  const size_t n = p->n;
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    const tn_sym_term term = p->at[i];
    const bool mod = tn_sym_is_mod(term.mono);
    if (!mod && (!tn_sym_is_div(term.mono) || term.coef % term.mono->args[1]->k != 0)) continue;
    if (tn_sym_divisor(p->t, term.mono->args[0]) % term.mono->args[1]->k != 0) continue;
    any = true;
    p->at[i].coef = 0;
    if (!mod) tn_poly_add(p, term.mono->args[0], term.coef / term.mono->args[1]->k);
  }
  if (any) tn_poly_merge(p);
  return any;
}

void tn_poly_normalise(tn_poly *p) {
  tn_poly_merge(p);
  if (p->overflow || p->n > TN_SYM_MAX_PAIRS) return;
  bool divs = false, partners = false;
  for (size_t i = 0; i < p->n; i++) {
    divs |= tn_sym_is_div(p->at[i].mono);
    partners |= tn_sym_is_mod(p->at[i].mono) || poly_is_upper_half(p->t, p->at[i].mono, NULL);
  }
  if (!divs && !partners) return;
  if (poly_use_divisors(p)) {
    tn_poly_normalise(p); /* each time with smaller parts */
    return;
  }
  if (p->n + (p->k != 0) < 2) return;
  tn_poly q;
  poly_copy(&q, p);
  if (partners) {
    int rounds = 0;
    while (rounds < 16 && q.n <= TN_SYM_MAX_PAIRS && poly_spell_out(&q)) rounds++;
  }
  if (!q.overflow && q.n <= TN_SYM_MAX_PAIRS) {
    poly_pair_up(&q);
    tn_poly_assign(p, &q);
  }
  tn_poly_drop(&q);
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

bool tn_poly_negative(const tn_poly *p) {
  if (p->n == 0) return p->k < 0;
  const size_t negative = poly_n_negative(p);
  return negative * 2 != p->n ? negative * 2 > p->n : p->at[0].coef < 0;
}

int64_t tn_poly_content(const tn_poly *p, bool with_constant) {
  int64_t g = with_constant ? tn_sym_gcd(p->k, 0) : 0;
  for (size_t i = 0; i < p->n && g != 1; i++) g = tn_sym_gcd(g, p->at[i].coef);
  return g;
}
