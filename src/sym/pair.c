/* Halves and remainders: x % k is x - k * (x // k), and x // 2 + (x + 1) // 2 is x, so a sum has several spellings.
 *
 * The normal form is found in two steps: first every x % k and (x + 1) // 2, also as a factor of a product, is written
 * through x // k and x // 2, which leaves one spelling; from there each x // k, largest first, is replaced by its
 * partner where that makes the sum shorter. The result depends on the value of the sum alone, not on how it was
 * built. */
#include "sym/node.h"

enum {
  PAIR_ROUNDS = 16,  /* of one factor of each product */
  PAIR_SPELLED = 256 /* terms of a sum that is spelled out */
};

static void pair_copy(tn_poly *to, const tn_poly *from) {
  tn_poly_init(to, from->t);
  tn_poly_assign(to, from);
}

/* Is e = (x + 1) // 2 with x without constant? Then x through *out. */
static bool pair_is_upper_half(tn_symtab *t, tn_sym e, tn_sym *out) {
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
static tn_sym pair_quotient(tn_symtab *t, tn_sym x, tn_sym k) {
  const tn_sym e = tn_sym_intern2(t, TN_SYM_FLOORDIV, x, k);
  const tn_interval b = tn_sym_bounds(t, e);
  return b.lo == b.hi ? tn_sym_int(t, b.lo) : e;
}

/* The first factor of a product that step 1 replaces; NULL: none. */
static tn_sym pair_replaced(tn_symtab *t, tn_sym mono) {
  const tn_sym *f;
  const size_t n = tn_sym_factors(&mono, &f);
  for (size_t i = 0; i < n; i++)
    if (tn_sym_is_mod(f[i]) || pair_is_upper_half(t, f[i], NULL)) return f[i];
  return NULL;
}

/* One factor of each product: m * (x % k) is m * x - k * m * (x // k), m * ((x + 1) // 2) is m * x - m * (x // 2). */
static bool pair_spell_round(tn_poly *p) {
  bool any = false;
  const size_t n = p->n;
  for (size_t i = 0; i < n && !p->overflow; i++) {
    const tn_sym_term term = p->at[i];
    const tn_sym f = pair_replaced(p->t, term.mono);
    int64_t d;
    if (!f || !tn_mul_i64(term.coef, tn_sym_is_mod(f) ? -f->args[1]->k : -1, &d)) continue;
    tn_sym x = f->args[0];
    if (!tn_sym_is_mod(f)) (void)pair_is_upper_half(p->t, f, &x);
    const tn_sym rest = tn_sym_mono_div(p->t, term.mono, f);
    p->at[i].coef = 0;
    tn_poly_push_times(p, rest, pair_quotient(p->t, x, f->args[1]), d);
    tn_poly_push_times(p, rest, x, term.coef);
    any = true;
  }
  if (any) tn_poly_merge(p);
  return any;
}

bool tn_poly_spell_out(tn_poly *p) {
  int rounds = 0;
  while (rounds < PAIR_ROUNDS && p->n <= PAIR_SPELLED && pair_spell_round(p)) rounds++;
  return !p->overflow && p->n <= PAIR_SPELLED && rounds < PAIR_ROUNDS;
}

/* Fewer terms, then fewer mixed signs: the same answer for a sum and its negation. */
static bool pair_is_better(const tn_poly *a, const tn_poly *b) {
  const size_t minus_a = tn_poly_n_negative(a), minus_b = tn_poly_n_negative(b);
  if (a->n != b->n) return a->n < b->n;
  return (minus_a * 2 < a->n ? minus_a : a->n - minus_a) < (minus_b * 2 < b->n ? minus_b : b->n - minus_b);
}

static bool pair_has(const tn_poly *p, tn_sym mono) {
  size_t lo = 0, hi = p->n;
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    const int order = tn_sym_compare(p->at[mid].mono, mono);
    if (order == 0) return true;
    if (order < 0) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return false;
}

/* Is a term of rest * x there? Else a partner in its place makes no sum shorter. */
static bool pair_has_term_of(const tn_poly *p, tn_sym rest, tn_sym x) {
  if (x->kind != TN_SYM_ADD) return pair_has(p, tn_sym_mono_mul(p->t, rest, x));
  for (uint32_t i = 0; i < x->n; i++)
    if (pair_has(p, tn_sym_mono_mul(p->t, rest, x->args[i]))) return true;
  return false;
}

/* What may stand for q = x // k: k * q is x - partner, or with k = 2 and `half` q itself is. */
typedef struct pair_partner {
  tn_sym q, partner;
  int64_t scale; /* k, or 1 for the half */
} pair_partner;

/* Replaces one q in term i. False when the coefficient is no multiple of the scale. */
static bool pair_replace_one(tn_poly *p, size_t i, const pair_partner *by) {
  const tn_sym_term term = p->at[i];
  if (term.coef % by->scale != 0 || term.coef == INT64_MIN) return false;
  const int64_t c = term.coef / by->scale;
  const tn_sym rest = tn_sym_mono_div(p->t, term.mono, by->q);
  p->at[i].coef = 0;
  tn_poly_push_times(p, rest, by->q->args[0], c);
  tn_poly_push_times(p, rest, by->partner, -c);
  return true;
}

static void pair_keep_better(tn_poly *q, tn_poly *best) {
  tn_poly_merge(q);
  if (!q->overflow && pair_is_better(q, best)) tn_poly_assign(best, q);
}

/* *best = p with one q of the term replaced, when that is shorter than *best. */
static void pair_try_term(const tn_poly *p, tn_sym mono, const pair_partner *by, tn_poly *best) {
  tn_poly q;
  pair_copy(&q, p);
  size_t i = 0;
  while (i < q.n && q.at[i].mono != mono) i++;
  if (i < q.n && pair_replace_one(&q, i, by)) pair_keep_better(&q, best);
  tn_poly_drop(&q);
}

/* *best = p with every q replaced, in all products, when that is shorter than *best. */
static void pair_try_all(const tn_poly *p, const pair_partner *by, tn_poly *best) {
  tn_poly q;
  pair_copy(&q, p);
  bool any = true, fits = true;
  for (int rounds = 0; any && fits && rounds < PAIR_ROUNDS; rounds++) {
    any = false;
    const size_t n = q.n;
    for (size_t i = 0; i < n && fits; i++) {
      if (q.at[i].coef == 0 || !tn_sym_has_factor(q.at[i].mono, by->q)) continue;
      fits = pair_replace_one(&q, i, by);
      any = true;
    }
    if (any) tn_poly_merge(&q);
    fits &= !q.overflow && q.n <= PAIR_SPELLED;
  }
  if (fits && !any) pair_keep_better(&q, best);
  tn_poly_drop(&q);
}

/* Tries the partners of q = x // k: the remainder, since k * (x // k) is x - x % k, and for k = 2 the upper half.
 * mono: in this term; NULL: in all. */
static bool pair_try(tn_poly *p, tn_sym mono, tn_sym q) {
  const tn_sym x = q->args[0], k = q->args[1];
  tn_poly best;
  pair_copy(&best, p);
  pair_partner by = {q, tn_sym_intern2(p->t, TN_SYM_MOD, x, k), k->k};
  for (int half = 0; half < 2; half++) {
    if (half) {
      if (k->k != 2 || tn_sym_divisor(p->t, x) % 2 == 0) break;
      tn_poly num;
      tn_poly_of(&num, p->t, x);
      tn_poly_addk(&num, 1);
      by.partner = pair_quotient(p->t, tn_poly_node_merged(&num), k);
      by.scale = 1;
    }
    if (mono)
      pair_try_term(p, mono, &by, &best);
    else
      pair_try_all(p, &by, &best);
  }
  const bool better = pair_is_better(&best, p);
  tn_poly_assign(p, &best);
  tn_poly_drop(&best);
  return better;
}

typedef struct pair_quotients { /* of a sum: where they stand */
  struct {
    tn_sym mono, q;
  } at[TN_SYM_MAX_PAIRS];
  size_t n;
  bool in_products;
} pair_quotients;

static void pair_find(const tn_poly *p, pair_quotients *out) {
  out->n = 0;
  out->in_products = false;
  for (size_t i = p->n; i-- > 0;) {
    const tn_sym *f;
    const size_t n = tn_sym_factors(&p->at[i].mono, &f);
    for (size_t j = n; j-- > 0 && out->n < TN_COUNT(out->at);) {
      if (!tn_sym_is_div(f[j]) || pair_is_upper_half(p->t, f[j], NULL) || (j + 1 < n && f[j + 1] == f[j])) continue;
      out->at[out->n].mono = p->at[i].mono;
      out->at[out->n++].q = f[j];
      out->in_products |= n > 1;
    }
  }
}

/* In all products at once: ((x + 1) // 2) * ((x + 1) // 2) is longer with one half replaced than with none or both. */
static bool pair_everywhere(tn_poly *p, const pair_quotients *found) {
  bool any = false;
  for (size_t i = 0; i < found->n; i++) {
    bool first = true, may = false;
    for (size_t j = 0; j < i; j++) first &= found->at[j].q != found->at[i].q;
    for (size_t j = i; j < found->n && first && !may; j++) {
      const tn_sym mono = found->at[j].mono, q = found->at[j].q;
      may = q == found->at[i].q && pair_has_term_of(p, tn_sym_mono_div(p->t, mono, q), q->args[0]);
    }
    if (may) any |= pair_try(p, NULL, found->at[i].q);
  }
  return any;
}

static bool pair_term_by_term(tn_poly *p, const pair_quotients *found) {
  bool any = false;
  for (size_t i = 0; i < found->n; i++) {
    const tn_sym mono = found->at[i].mono, q = found->at[i].q;
    if (pair_has(p, mono) && pair_has_term_of(p, tn_sym_mono_div(p->t, mono, q), q->args[0]))
      any |= pair_try(p, mono, q);
  }
  return any;
}

static void pair_up(tn_poly *p) {
  pair_quotients found;
  bool again = true;
  for (int rounds = 0; again && rounds < PAIR_ROUNDS; rounds++) {
    pair_find(p, &found);
    again = found.in_products && pair_everywhere(p, &found);
    if (again) continue;
    again = pair_term_by_term(p, &found) && found.in_products;
  }
}

void tn_poly_pair(tn_poly *p) {
  bool divs = false, partners = false;
  for (size_t i = 0; i < p->n; i++) {
    const tn_sym *f;
    const size_t n = tn_sym_factors(&p->at[i].mono, &f);
    for (size_t j = 0; j < n; j++) {
      divs |= tn_sym_is_div(f[j]);
      partners |= tn_sym_is_mod(f[j]) || pair_is_upper_half(p->t, f[j], NULL);
    }
  }
  if (!divs && !partners) return;
  const bool is_one = p->n + (p->k != 0) < 2;
  if (is_one && (!partners || p->n == 0 || p->at[0].mono->kind != TN_SYM_MUL)) return;
  tn_poly q;
  pair_copy(&q, p);
  if (!partners || tn_poly_spell_out(&q)) {
    pair_up(&q);
    if (q.n <= TN_SYM_MAX_PAIRS) tn_poly_assign(p, &q);
  }
  tn_poly_drop(&q);
}
