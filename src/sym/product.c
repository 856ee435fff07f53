/* Products: expanded while small, a product of sums beyond; exact division of sums. */
#include "sym/node.h"

typedef struct product_parts {
  tn_symtab *t;
  TN_VEC(tn_sym) atoms;
  TN_VEC(tn_sym) sums; /* ADD nodes of two entries or more */
  int64_t coef;
  bool zero;     /* a factor is 0 */
  bool overflow; /* a factor is `overflow` */
  bool big;      /* coef does not fit */
} product_parts;

static void product_scale(product_parts *p, int64_t c) {
  if (c == 0) p->zero = true;
  if (!tn_mul_i64(p->coef, c, &p->coef)) p->big = true;
}

static void product_take(product_parts *p, tn_sym e) {
  e = tn_sym_fixed(p->t, e);
  if (e->kind == TN_SYM_ADD && e->n == 1 && e->k == 0) {
    product_scale(p, e->coefs[0]);
    e = tn_sym_fixed(p->t, e->args[0]);
  }
  if (e->kind == TN_SYM_INT) {
    product_scale(p, e->k);
  } else if (e->kind == TN_SYM_OVERFLOW) {
    p->overflow = true;
  } else if (e->kind == TN_SYM_ADD) {
    tn_vec_push(p->t->arena, &p->sums, e);
  } else if (e->kind == TN_SYM_MUL) {
    for (uint32_t i = 0; i < e->n; i++) {
      const tn_sym f = tn_sym_fixed(p->t, e->args[i]);
      if (f->kind == TN_SYM_INT) {
        product_scale(p, f->k);
      } else if (f->kind == TN_SYM_ADD) {
        tn_vec_push(p->t->arena, &p->sums, f);
      } else {
        tn_vec_push(p->t->arena, &p->atoms, f);
      }
    }
  } else {
    tn_vec_push(p->t->arena, &p->atoms, e);
  }
}

static tn_sym product_mono(tn_symtab *t, tn_sym *atoms, size_t n) {
  if (n == 0) return t->one;
  if (n == 1) return atoms[0];
  tn_sym_sort(t, atoms, n);
  return tn_sym_intern(t, TN_SYM_MUL, 0, atoms, NULL, n);
}

size_t tn_sym_factors(const tn_sym *mono, const tn_sym **out) {
  if ((*mono)->kind == TN_SYM_MUL) {
    *out = (*mono)->args;
    return (*mono)->n;
  }
  *out = mono;
  return (*mono)->kind == TN_SYM_INT ? 0 : 1;
}

bool tn_sym_has_factor(tn_sym mono, tn_sym atom) {
  const tn_sym *f;
  const size_t n = tn_sym_factors(&mono, &f);
  for (size_t i = 0; i < n; i++)
    if (f[i] == atom) return true;
  return false;
}

tn_sym tn_sym_mono_mul(tn_symtab *t, tn_sym a, tn_sym b) {
  const tn_sym *fa, *fb;
  const size_t na = tn_sym_factors(&a, &fa), nb = tn_sym_factors(&b, &fb);
  if (na == 0) return b;
  if (nb == 0) return a;
  tn_sym small[16];
  tn_sym *const all = na + nb <= TN_COUNT(small) ? small : TN_NEW_ARRAY(t->arena, tn_sym, na + nb);
  memcpy(all, fa, na * sizeof *all);
  memcpy(all + na, fb, nb * sizeof *all);
  return product_mono(t, all, na + nb);
}

static void product_push(tn_poly *p, tn_sym mono, int64_t coef) {
  if (mono->kind == TN_SYM_INT) {
    tn_poly_addk(p, coef);
  } else {
    tn_poly_push(p, mono, coef);
  }
}

/* out = p * q, both with merged terms; few enough to expand. */
static void product_expand(const tn_poly *p, tn_sym q, tn_poly *out) {
  tn_symtab *const t = p->t;
  tn_poly_init(out, t);
  out->overflow = p->overflow;
  for (size_t i = 0; i <= p->n && !out->overflow; i++) {
    const tn_sym m = i < p->n ? p->at[i].mono : t->one;
    const int64_t cm = i < p->n ? p->at[i].coef : p->k;
    for (uint32_t j = 0; j <= q->n; j++) {
      int64_t c;
      if (!tn_mul_i64(cm, j < q->n ? q->coefs[j] : q->k, &c)) out->overflow = true;
      if (!out->overflow && c != 0) product_push(out, tn_sym_mono_mul(t, m, j < q->n ? q->args[j] : t->one), c);
    }
  }
  tn_poly_merge(out);
}

/* What divides both. */
static tn_sym product_mono_gcd(tn_symtab *t, tn_sym a, tn_sym b) {
  const tn_sym *fa, *fb;
  const size_t na = tn_sym_factors(&a, &fa), nb = tn_sym_factors(&b, &fb);
  tn_sym *const both = TN_NEW_ARRAY(t->arena, tn_sym, na + 1);
  size_t n = 0;
  for (size_t i = 0, j = 0; i < na && j < nb;) {
    const int c = tn_sym_compare(fa[i], fb[j]);
    if (c == 0) both[n++] = fa[i];
    i += c <= 0;
    j += c >= 0;
  }
  return product_mono(t, both, n);
}

tn_sym tn_sym_mono_div(tn_symtab *t, tn_sym a, tn_sym b) {
  const tn_sym *fa, *fb;
  const size_t na = tn_sym_factors(&a, &fa), nb = tn_sym_factors(&b, &fb);
  if (nb > na) return NULL;
  tn_sym *const rest = TN_NEW_ARRAY(t->arena, tn_sym, na + 1);
  size_t n = 0, j = 0;
  for (size_t i = 0; i < na; i++) {
    if (j < nb && fa[i] == fb[j]) {
      j++;
    } else {
      rest[n++] = fa[i];
    }
  }
  return j == nb ? product_mono(t, rest, n) : NULL;
}

/* The largest product of atoms that divides every term; 1 when there is a constant. */
static tn_sym product_common(const tn_poly *p) {
  if (p->n == 0 || p->k != 0) return p->t->one;
  tn_sym g = p->at[0].mono;
  for (size_t i = 1; i < p->n && g != p->t->one; i++) g = product_mono_gcd(p->t, g, p->at[i].mono);
  return g;
}

static void product_cancel(tn_poly *p, tn_sym mono, int64_t c) {
  tn_poly q;
  tn_poly_init(&q, p->t);
  q.k = p->k / c;
  for (size_t i = 0; i < p->n; i++)
    product_push(&q, mono == p->t->one ? p->at[i].mono : tn_sym_mono_div(p->t, p->at[i].mono, mono), p->at[i].coef / c);
  tn_poly_merge(&q);
  tn_poly_assign(p, &q);
}

static bool product_has_min(const tn_poly *p) {
  bool found = p->k == INT64_MIN;
  for (size_t i = 0; i < p->n; i++) found |= p->at[i].coef == INT64_MIN;
  return found;
}

/* The integer common to all entries of both, with the sign of b. */
static int64_t product_content(const tn_poly *a, const tn_poly *b) {
  const int64_t c = tn_sym_gcd(tn_poly_content(a, true), tn_poly_content(b, true));
  if (c == 0) return 1;
  return tn_poly_negative(b) && !product_has_min(a) && !product_has_min(b) ? -c : c;
}

/* Too large to expand: each sum is kept as a factor, free of integer, sign and atoms in common. */
static void product_keep_sum(product_parts *p, tn_sym sum) {
  tn_poly s;
  tn_poly_of(&s, p->t, sum);
  tn_poly_merge(&s);
  const tn_sym common = product_common(&s);
  const int64_t c = product_content(&s, &s);
  product_scale(p, c);
  if (common != p->t->one) product_take(p, common);
  product_cancel(&s, common, c);
  tn_vec_push(p->t->arena, &p->atoms, tn_poly_node_merged(&s));
}

static bool product_is_small(const product_parts *p) {
  if (p->sums.n <= 1) return true;
  size_t terms = 1;
  for (size_t i = 0; i < p->sums.n && terms <= TN_SYM_MAX_PRODUCT; i++)
    terms *= (size_t)p->sums.at[i]->n + (p->sums.at[i]->k != 0);
  return terms <= TN_SYM_MAX_PRODUCT;
}

tn_sym tn_sym_product(tn_symtab *t, const tn_sym *factors, size_t n) {
  product_parts p = {.t = t, .coef = 1};
  for (size_t i = 0; i < n; i++) product_take(&p, factors[i]);
  if (p.overflow) return t->overflow;
  if (p.zero) return t->zero;
  if (!product_is_small(&p)) {
    const size_t n_sums = p.sums.n;
    for (size_t i = 0; i < n_sums; i++) product_keep_sum(&p, p.sums.at[i]);
    p.sums.n = 0;
  }
  if (p.big) return t->overflow;
  tn_poly acc, next;
  tn_poly_init(&acc, t);
  product_push(&acc, product_mono(t, p.atoms.at, p.atoms.n), p.coef);
  for (size_t i = 0; i < p.sums.n; i++) {
    product_expand(&acc, p.sums.at[i], &next);
    tn_poly_assign(&acc, &next);
  }
  return tn_poly_node(&acc);
}

tn_sym tn_sym_sum(tn_symtab *t, const tn_sym *terms, size_t n) {
  tn_poly p;
  tn_poly_init(&p, t);
  for (size_t i = 0; i < n; i++) tn_poly_add(&p, terms[i], 1);
  return tn_poly_node(&p);
}

/* The monomial order of the division: lexicographic, so that it agrees with multiplication. */
static int product_lex(tn_sym a, tn_sym b) {
  const tn_sym *fa, *fb;
  const size_t na = tn_sym_factors(&a, &fa), nb = tn_sym_factors(&b, &fb);
  for (size_t i = 0; i < na && i < nb; i++) {
    const int c = tn_sym_compare(fa[i], fb[i]);
    if (c != 0) return -c;
  }
  return na < nb ? -1 : na > nb;
}

static tn_sym_term product_leading(const tn_poly *p) {
  tn_sym_term best = {p->t->one, p->k};
  for (size_t i = 0; i < p->n; i++)
    if (best.coef == 0 || product_lex(p->at[i].mono, best.mono) > 0) best = p->at[i];
  return best;
}

bool tn_poly_divide(const tn_poly *num, const tn_poly *den, tn_poly *q) {
  tn_symtab *const t = num->t;
  tn_poly_init(q, t);
  if (num->overflow || den->overflow || (den->n == 0 && den->k == 0)) return false;
  if (num->n > 256 || den->n > 64) return false;
  const tn_sym_term lead = product_leading(den);
  tn_poly rest, d;
  tn_poly_init(&rest, t);
  tn_poly_init(&d, t);
  tn_poly_assign(&rest, num);
  tn_poly_assign(&d, den);
  const tn_sym divisor = tn_poly_node_merged(&d);
  for (int steps = 0; rest.n > 0 || rest.k != 0; steps++) {
    const tn_sym_term top = product_leading(&rest);
    const tn_sym m = tn_sym_mono_div(t, top.mono, lead.mono);
    if (!m || top.coef % lead.coef != 0 || steps == 256 || (top.coef == INT64_MIN && lead.coef == -1)) return false;
    const int64_t c = top.coef / lead.coef;
    product_push(q, m, c);
    const tn_sym factors[2] = {m, divisor};
    if (c == INT64_MIN) return false;
    if (divisor->kind == TN_SYM_ADD) {
      tn_poly one, part;
      tn_poly_init(&one, t);
      product_push(&one, m, 1);
      product_expand(&one, divisor, &part);
      tn_poly_add_poly(&rest, &part, -c);
    } else {
      tn_poly_add(&rest, tn_sym_product(t, factors, 2), -c);
    }
    tn_poly_merge(&rest);
    if (rest.overflow) return false;
  }
  tn_poly_merge(q);
  return !q->overflow;
}

static void product_cancel_common(tn_poly *num, tn_poly *den) {
  tn_symtab *const t = num->t;
  const tn_sym common = product_mono_gcd(t, product_common(num), product_common(den));
  const int64_t c = product_content(num, den);
  product_cancel(num, common, c);
  product_cancel(den, common, c);
}

/* With halves and remainders in the one spelling in which a factor is seen wherever it is. */
static bool product_divide_spelled_out(const tn_poly *num, const tn_poly *den, tn_poly *q) {
  tn_poly n, d;
  tn_poly_init(&n, num->t);
  tn_poly_init(&d, num->t);
  tn_poly_assign(&n, num);
  tn_poly_assign(&d, den);
  return tn_poly_spell_out(&n) && tn_poly_spell_out(&d) && tn_poly_divide(&n, &d, q);
}

static tn_sym product_divexact_new(tn_symtab *t, tn_sym a, tn_sym b) {
  tn_poly num, den, q;
  tn_poly_of(&num, t, a);
  tn_poly_of(&den, t, b);
  tn_poly_normalise(&num);
  tn_poly_normalise(&den);
  if (num.overflow || den.overflow) return t->overflow;
  if (den.n == 0 && den.k == 0) return tn_sym_floordiv(t, a, b);
  if (tn_poly_divide(&num, &den, &q)) return tn_poly_node(&q);
  if (product_divide_spelled_out(&num, &den, &q)) return tn_poly_node(&q);
  product_cancel_common(&num, &den);
  if (tn_poly_divide(&num, &den, &q)) return tn_poly_node(&q);
  return tn_sym_floordiv(t, tn_poly_node(&num), tn_poly_node(&den));
}

tn_sym tn_sym_divexact(tn_symtab *t, tn_sym a, tn_sym b) {
  const tn_sym_recent *const r = tn_sym_recent_of(t, TN_DID_DIVEXACT, a, b);
  if (tn_sym_did(t, r, TN_DID_DIVEXACT, a, b)) return r->result;
  return tn_sym_done(t, TN_DID_DIVEXACT, a, b, product_divexact_new(t, a, b));
}

/* One term's quotients, as far as its coefficient undoes them; *mono keeps the others. The numerators' product. */
static tn_sym product_undo(tn_symtab *t, tn_sym *mono, int64_t *coef) {
  tn_sym numerators = t->one;
  for (bool again = true; again;) {
    const tn_sym *f;
    const size_t n = tn_sym_factors(mono, &f);
    again = false;
    for (size_t i = 0; i < n && !again; i++) {
      again = tn_sym_is_div(f[i]) && *coef % f[i]->args[1]->k == 0;
      if (!again) continue;
      *coef /= f[i]->args[1]->k;
      numerators = tn_sym_mul(t, numerators, f[i]->args[0]);
      *mono = tn_sym_mono_div(t, *mono, f[i]);
    }
  }
  return numerators;
}

tn_sym tn_sym_without_rests(tn_symtab *t, tn_sym e) {
  if (e->kind != TN_SYM_ADD) return e;
  tn_sym undone = NULL;
  for (uint32_t i = 0; i < e->n; i++) {
    tn_sym mono = e->args[i];
    int64_t coef = e->coefs[i];
    const tn_sym numerators = product_undo(t, &mono, &coef);
    if (numerators == t->one) continue;
    const tn_sym now = tn_sym_mul(t, tn_sym_muli(t, mono, coef), numerators);
    undone = tn_sym_add(t, undone ? undone : e, tn_sym_sub(t, now, tn_sym_muli(t, e->args[i], e->coefs[i])));
  }
  return undone && !tn_sym_is_overflow(undone) ? undone : e;
}
