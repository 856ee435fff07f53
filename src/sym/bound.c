/* Intervals and divisors of expressions. INT64_MIN and INT64_MAX in a lower and upper bound mean none; a lower bound is
 * never INT64_MAX and an upper one never INT64_MIN, so the ends saturate towards "none" and stay sound. */
#include "base/half.h"
#include "sym/node.h"

enum {
  BOUND_DEPTH = 200, /* of expressions not yet in the side table; deeper is "unknown" */
  BOUND_WORK = 24,   /* substitutions tried for one sum */
  BOUND_FACTORS = 4  /* of a product that is shifted to start at its lower bounds */
};

static const tn_interval bound_none = {INT64_MIN, INT64_MAX};

static int64_t bound_lo(tn_i128 v) { return v <= INT64_MIN ? INT64_MIN : v >= INT64_MAX ? INT64_MAX - 1 : (int64_t)v; }
static int64_t bound_hi(tn_i128 v) { return v >= INT64_MAX ? INT64_MAX : v <= INT64_MIN ? INT64_MIN + 1 : (int64_t)v; }
static bool bound_is_inf(int64_t v) { return v == INT64_MIN || v == INT64_MAX; }

/* Product of two ends; zero times infinity is zero, since the infinite end is never reached. */
static tn_i128 bound_mul_end(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (bound_is_inf(a) || bound_is_inf(b)) return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  return (tn_i128)a * b;
}

static tn_interval bound_mul(tn_interval a, tn_interval b) {
  const tn_i128 c[4] = {bound_mul_end(a.lo, b.lo), bound_mul_end(a.lo, b.hi), bound_mul_end(a.hi, b.lo),
                        bound_mul_end(a.hi, b.hi)};
  tn_i128 lo = c[0], hi = c[0];
  for (int i = 1; i < 4; i++) {
    lo = c[i] < lo ? c[i] : lo;
    hi = c[i] > hi ? c[i] : hi;
  }
  return (tn_interval){bound_lo(lo), bound_hi(hi)};
}

static tn_interval bound_negate(tn_interval a) {
  return (tn_interval){a.hi == INT64_MAX ? INT64_MIN : bound_lo(-(tn_i128)a.hi),
                       a.lo == INT64_MIN ? INT64_MAX : bound_hi(-(tn_i128)a.lo)};
}

static tn_interval bound_hull(tn_interval a, tn_interval b) {
  return (tn_interval){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static tn_interval bound_power(tn_interval a, int n) {
  if (n == 1) return a;
  if (n % 2 == 1) return bound_mul(bound_power(a, n - 1), a);
  const tn_interval minus = bound_negate(a);
  const tn_interval magnitude = a.lo >= 0 ? a : a.hi <= 0 ? minus : (tn_interval){0, a.hi > minus.hi ? a.hi : minus.hi};
  tn_interval r = magnitude;
  for (int i = 1; i < n && i < 64; i++) r = bound_mul(r, magnitude);
  return n > 64 ? (tn_interval){0, INT64_MAX} : r;
}

static tn_interval bound_product(tn_symtab *t, tn_sym e) {
  tn_interval r = {1, 1};
  for (uint32_t i = 0; i < e->n;) {
    int n = 0;
    const tn_sym f = e->args[i];
    for (; i < e->n && e->args[i] == f; i++) n++;
    r = bound_mul(r, bound_power(tn_sym_bounds(t, f), n));
  }
  return r;
}

/* floor of one end over another; b > 0. */
static int64_t bound_div_end(int64_t a, int64_t b) {
  int64_t q;
  if (a == INT64_MIN) return b == INT64_MAX ? -1 : INT64_MIN; /* a huge negative over a huge one: see the caller */
  if (b == INT64_MAX) return a < 0 ? -1 : 0;
  if (a == INT64_MAX) return INT64_MAX;
  return tn_floordiv_i64(a, b, &q) ? q : 0;
}

/* num // den with den.lo >= 1 */
static tn_interval bound_div_positive(tn_interval num, tn_interval den) {
  const int64_t a = bound_div_end(num.lo, den.lo), b = bound_div_end(num.lo, den.hi);
  const int64_t c = bound_div_end(num.hi, den.lo), d = bound_div_end(num.hi, den.hi);
  return (tn_interval){bound_lo(a < b ? a : b), bound_hi(c > d ? c : d)};
}

static tn_interval bound_div(tn_interval num, tn_interval den) {
  if (den.lo == 0) den.lo = 1; /* a zero divisor fails */
  if (den.hi == 0) den.hi = -1;
  if (den.lo > den.hi) return bound_none;
  if (den.lo >= 1) return bound_div_positive(num, den);
  if (den.hi <= -1) return bound_div_positive(bound_negate(num), bound_negate(den));
  return bound_hull(bound_div_positive(num, (tn_interval){1, den.hi}),
                    bound_div_positive(bound_negate(num), (tn_interval){1, bound_negate(den).hi}));
}

static tn_interval bound_mod(tn_interval num, tn_interval den) {
  if (den.lo >= 0) {
    if (num.lo >= 0 && num.hi < den.lo) return num;
    const int64_t hi = den.hi == INT64_MAX ? INT64_MAX : den.hi - 1;
    if (num.lo >= 0 && num.hi < hi) return (tn_interval){0, num.hi};
    return (tn_interval){0, hi < 0 ? 0 : hi};
  }
  const int64_t lo = den.lo == INT64_MIN ? INT64_MIN : den.lo + 1;
  const int64_t hi = den.hi == INT64_MAX ? INT64_MAX : den.hi <= 0 ? 0 : den.hi - 1;
  return (tn_interval){lo, hi};
}

static tn_interval bound_minmax(tn_symtab *t, tn_sym e) {
  tn_interval r = tn_sym_bounds(t, e->args[0]);
  for (uint32_t i = 1; i < e->n; i++) {
    const tn_interval a = tn_sym_bounds(t, e->args[i]);
    if (e->kind == TN_SYM_BCAST) {
      r = bound_hull(r, a);
    } else if (e->kind == TN_SYM_MIN) {
      r = (tn_interval){a.lo < r.lo ? a.lo : r.lo, a.hi < r.hi ? a.hi : r.hi};
    } else {
      r = (tn_interval){a.lo > r.lo ? a.lo : r.lo, a.hi > r.hi ? a.hi : r.hi};
    }
  }
  if (e->kind == TN_SYM_MAX && e->n == 2 && r.lo < 0) { /* max(x, -x) */
    tn_poly sum;
    tn_poly_of(&sum, t, e->args[0]);
    tn_poly_add(&sum, e->args[1], 1);
    tn_poly_merge(&sum);
    if (!sum.overflow && sum.n == 0 && sum.k >= 0) r.lo = (sum.k + 1) / 2;
    tn_poly_drop(&sum);
  }
  return r;
}

/* Rounding is monotone, so the ends of the argument give the ends of the result. */
static tn_interval bound_scale(tn_symtab *t, tn_sym e) {
  const tn_interval a = tn_sym_bounds(t, e->args[0]);
  tn_interval r = bound_none;
  const float c = tn_f32_of_bits((uint32_t)e->k);
  int64_t v;
  if (!(c >= 0 || c < 0)) return r;
  const int64_t from = c < 0 ? a.hi : a.lo, to = c < 0 ? a.lo : a.hi;
  if (!bound_is_inf(from) && tn_f32scale_i64(from, c, &v)) r.lo = bound_lo(v);
  if (!bound_is_inf(to) && tn_f32scale_i64(to, c, &v)) r.hi = bound_hi(v);
  return r;
}

/* Of what is not negative: grows with the first two, falls with the third, which is not 0. */
static tn_interval bound_ratio(tn_symtab *t, tn_sym e) {
  const tn_interval a = tn_sym_bounds(t, e->args[0]), n = tn_sym_bounds(t, e->args[1]),
                    d = tn_sym_bounds(t, e->args[2]);
  tn_interval r = bound_none;
  int64_t v;
  if (a.lo < 0 || n.lo < 0 || d.lo < 0) return r;
  r.lo = 0;
  if (!bound_is_inf(d.hi) && tn_f32ratio_i64(a.lo, n.lo, d.hi, &v)) r.lo = bound_lo(v);
  if (!bound_is_inf(a.hi) && !bound_is_inf(n.hi) && tn_f32ratio_i64(a.hi, n.hi, d.lo > 1 ? d.lo : 1, &v))
    r.hi = bound_hi(v);
  return r;
}

static tn_interval bound_var(const tn_symbol *s) {
  tn_interval r = {s->min, s->max};
  int64_t q;
  if (s->multiple_of > 1) {
    if (r.lo != INT64_MIN && tn_ceildiv_i64(r.lo, s->multiple_of, &q)) r.lo = bound_lo((tn_i128)q * s->multiple_of);
    if (r.hi != INT64_MAX && tn_floordiv_i64(r.hi, s->multiple_of, &q)) r.hi = bound_hi((tn_i128)q * s->multiple_of);
  }
  return r;
}

static tn_interval bound_compute(tn_symtab *t, tn_sym e) {
  tn_interval r;
  tn_poly p;
  switch ((tn_sym_kind)e->kind) {
    case TN_SYM_INT:
      return (tn_interval){bound_lo(e->k), bound_hi(e->k)};
    case TN_SYM_VAR:
      return bound_var(tn_sym_fact(t, e));
    case TN_SYM_ADD:
      tn_poly_of(&p, t, e);
      tn_poly_merge(&p);
      r = tn_poly_bounds(&p);
      tn_poly_drop(&p);
      return r;
    case TN_SYM_MUL:
      return bound_product(t, e);
    case TN_SYM_FLOORDIV:
      return bound_div(tn_sym_bounds(t, e->args[0]), tn_sym_bounds(t, e->args[1]));
    case TN_SYM_CEILDIV:
      return bound_negate(bound_div(bound_negate(tn_sym_bounds(t, e->args[0])), tn_sym_bounds(t, e->args[1])));
    case TN_SYM_MOD:
      return bound_mod(tn_sym_bounds(t, e->args[0]), tn_sym_bounds(t, e->args[1]));
    case TN_SYM_MIN:
    case TN_SYM_MAX:
    case TN_SYM_BCAST:
      return bound_minmax(t, e);
    case TN_SYM_F32SCALE:
      return bound_scale(t, e);
    case TN_SYM_F32RATIO:
      return bound_ratio(t, e);
    case TN_SYM_SELECT:
      return bound_hull(tn_sym_bounds(t, e->args[1]), tn_sym_bounds(t, e->args[2]));
    case TN_SYM_EQ:
    case TN_SYM_LT:
    case TN_SYM_LE:
    case TN_SYM_AND:
    case TN_SYM_OR:
    case TN_SYM_NOT:
      return (tn_interval){0, 1};
    case TN_SYM_OVERFLOW:
    case TN_N_SYM_KINDS:
      break;
  }
  return bound_none;
}

tn_interval tn_sym_bounds(tn_symtab *t, tn_sym e) {
  const tn_sym_memo *const known = tn_sym_memo_of(t, e);
  if (known->bounds_epoch == t->epoch) return known->bounds;
  const tn_interval old = known->bounds_epoch ? known->bounds : bound_none; /* facts only narrow, so it still holds */
  if (t->depth >= BOUND_DEPTH) return old;
  t->depth++;
  tn_interval r = bound_compute(t, e);
  t->depth--;
  if (old.lo > r.lo) r.lo = old.lo;
  if (old.hi < r.hi) r.hi = old.hi;
  tn_sym_memo *const m = tn_sym_memo_of(t, e);
  m->bounds = r;
  m->bounds_epoch = t->epoch;
  return r;
}

/* The sum of the terms' own bounds. */
static int64_t bound_sum_lower(const tn_poly *p) {
  tn_i128 sum = p->k;
  for (size_t i = 0; i < p->n; i++) {
    const tn_interval b = tn_sym_bounds(p->t, p->at[i].mono);
    const int64_t end = p->at[i].coef > 0 ? b.lo : b.hi;
    if (bound_is_inf(end)) return INT64_MIN;
    if (__builtin_add_overflow(sum, (tn_i128)end * p->at[i].coef, &sum)) return INT64_MIN;
  }
  return bound_lo(sum);
}

/* Each factor f with a lower bound L is L + f', f' >= 0; the product expanded over the f', which keep f's nodes. */
static void bound_shift_term(tn_poly *out, tn_sym_term term) {
  const tn_sym *const f = term.mono->kind == TN_SYM_MUL ? term.mono->args : &term.mono;
  const uint32_t n = term.mono->kind == TN_SYM_MUL ? term.mono->n : 1;
  if (n > BOUND_FACTORS) {
    out->overflow = true;
    return;
  }
  for (uint32_t subset = 0; subset < 1u << n; subset++) {
    tn_sym kept[BOUND_FACTORS];
    uint32_t n_kept = 0;
    int64_t c = term.coef;
    for (uint32_t i = 0; i < n; i++) {
      const int64_t lo = tn_sym_bounds(out->t, f[i]).lo;
      if (lo == INT64_MIN || (!(subset >> i & 1) && !tn_mul_i64(c, lo, &c))) out->overflow = true;
      if (subset >> i & 1) kept[n_kept++] = f[i];
    }
    if (out->overflow) return;
    if (n_kept == 0) tn_poly_addk(out, c);
    if (n_kept > 0 && c != 0)
      tn_poly_push(out, n_kept == 1 ? kept[0] : tn_sym_intern(out->t, TN_SYM_MUL, 0, kept, NULL, n_kept), c);
  }
}

static int64_t bound_shift_lower(const tn_poly *p) {
  bool any = false;
  tn_poly q;
  for (size_t i = 0; i < p->n; i++) any |= p->at[i].mono->kind == TN_SYM_MUL;
  if (!any || p->n > 16) return INT64_MIN;
  tn_poly_init(&q, p->t);
  q.k = p->k;
  for (size_t i = 0; i < p->n && !q.overflow; i++) bound_shift_term(&q, p->at[i]);
  tn_poly_merge(&q);
  if (q.overflow) return INT64_MIN;
  for (size_t i = 0; i < q.n; i++)
    if (q.at[i].coef < 0) return INT64_MIN;
  return bound_lo(q.k);
}

/* A bound that was assumed for this very sum. */
static int64_t bound_assumed_lower(const tn_poly *p) {
  tn_symtab *const t = p->t;
  tn_poly terms;
  uint64_t bits;
  if (t->lower.n == 0 || p->n == 0) return INT64_MIN;
  tn_poly_init(&terms, t);
  for (size_t i = 0; i < p->n; i++) tn_poly_push(&terms, p->at[i].mono, p->at[i].coef);
  if (!tn_map_find(&t->lower, tn_map_key(tn_poly_node_merged(&terms)), &bits)) return INT64_MIN;
  return bound_lo((tn_i128)(int64_t)bits + p->k);
}

static int64_t bound_lower(const tn_poly *p, int depth, int *work);

/* q = (p without term i) * scale */
static bool bound_without(tn_poly *q, const tn_poly *p, size_t skip, int64_t scale) {
  tn_poly_init(q, p->t);
  if (!tn_mul_i64(p->k, scale, &q->k)) return false;
  for (size_t i = 0; i < p->n; i++) {
    int64_t c;
    if (i == skip) continue;
    if (!tn_mul_i64(p->at[i].coef, scale, &c)) return false;
    tn_poly_push(q, p->at[i].mono, c);
  }
  return true;
}

/* (x - k + 1) / k <= x // k <= x / k */
static int64_t bound_lower_div(const tn_poly *p, size_t i, int depth, int *work) {
  const tn_sym_term term = p->at[i];
  const int64_t k = term.mono->args[1]->k;
  tn_poly q;
  int64_t slack, r;
  if (!bound_without(&q, p, i, k)) return INT64_MIN;
  tn_poly_add(&q, term.mono->args[0], term.coef);
  if (term.coef > 0) {
    if (!tn_mul_i64(term.coef, k - 1, &slack)) return INT64_MIN;
    tn_poly_addk(&q, -slack);
  }
  const int64_t lo = bound_lower(&q, depth - 1, work);
  tn_poly_drop(&q);
  return lo == INT64_MIN || !tn_ceildiv_i64(lo, k, &r) ? INT64_MIN : r;
}

/* A term that equals one of its arguments: the worst of them always holds, the best where the sign helps. */
static int64_t bound_lower_choice(const tn_poly *p, size_t i, bool any, int depth, int *work) {
  const tn_sym_term term = p->at[i];
  int64_t r = any ? INT64_MIN : INT64_MAX - 1;
  for (uint32_t j = term.mono->kind == TN_SYM_SELECT ? 1 : 0; j < term.mono->n; j++) {
    tn_poly q;
    if (!bound_without(&q, p, i, 1)) return INT64_MIN;
    tn_poly_add(&q, term.mono->args[j], term.coef);
    const int64_t lo = bound_lower(&q, depth - 1, work);
    tn_poly_drop(&q);
    if (any ? lo > r : lo < r) r = lo;
  }
  return r;
}

static int64_t bound_lower_term(const tn_poly *p, size_t i, int depth, int *work) {
  const tn_sym_term term = p->at[i];
  tn_poly q;
  switch ((tn_sym_kind)term.mono->kind) {
    case TN_SYM_FLOORDIV:
      return tn_sym_is_div(term.mono) ? bound_lower_div(p, i, depth, work) : INT64_MIN;
    case TN_SYM_MIN:
      return bound_lower_choice(p, i, term.coef < 0, depth, work);
    case TN_SYM_MAX:
      return bound_lower_choice(p, i, term.coef > 0, depth, work);
    case TN_SYM_BCAST:
    case TN_SYM_SELECT:
      return bound_lower_choice(p, i, false, depth, work);
    case TN_SYM_MOD: /* x % y <= x for x >= 0 and y > 0 */
      if (term.coef > 0 || tn_sym_bounds(p->t, term.mono->args[0]).lo < 0) return INT64_MIN;
      if (tn_sym_bounds(p->t, term.mono->args[1]).lo < 0 || !bound_without(&q, p, i, 1)) return INT64_MIN;
      tn_poly_add(&q, term.mono->args[0], term.coef);
      return bound_lower(&q, depth - 1, work);
    default:
      return INT64_MIN;
  }
}

static bool bound_is_relaxable(tn_sym e) {
  return tn_sym_is_div(e) || e->kind == TN_SYM_MIN || e->kind == TN_SYM_MAX || e->kind == TN_SYM_BCAST ||
         e->kind == TN_SYM_SELECT || e->kind == TN_SYM_MOD;
}

/* The best of: term by term, assumed, products shifted, and the largest special term replaced by what bounds it. */
static int64_t bound_lower_merged(const tn_poly *p, int depth, int *work) {
  int64_t best = bound_sum_lower(p);
  const int64_t others[2] = {bound_assumed_lower(p), p->n > 1 ? bound_shift_lower(p) : INT64_MIN};
  for (int i = 0; i < 2; i++) best = others[i] > best ? others[i] : best;
  if (depth == 0 || p->n < 2 || p->n > 16) return best;
  for (size_t i = p->n; i-- > 0;) {
    if (!bound_is_relaxable(p->at[i].mono) || --*work < 0) continue;
    const int64_t lo = bound_lower_term(p, i, depth, work);
    return lo > best ? lo : best;
  }
  return best;
}

static int64_t bound_lower(const tn_poly *given, int depth, int *work) {
  tn_poly p;
  tn_poly_init(&p, given->t);
  tn_poly_add_poly(&p, given, 1);
  tn_poly_merge(&p);
  const int64_t lo = p.overflow ? INT64_MIN : bound_lower_merged(&p, depth, work);
  tn_poly_drop(&p);
  return lo;
}

tn_interval tn_poly_bounds(const tn_poly *p) {
  tn_poly minus;
  int work = BOUND_WORK;
  if (p->overflow) return bound_none;
  if (p->n == 0) return (tn_interval){bound_lo(p->k), bound_hi(p->k)};
  if (p->n == 1 && p->at[0].coef == 1 && p->k == 0) return tn_sym_bounds(p->t, p->at[0].mono);
  const int64_t lo = bound_lower(p, 4, &work);
  tn_poly_init(&minus, p->t);
  tn_poly_add_poly(&minus, p, -1);
  work = BOUND_WORK;
  const int64_t up = bound_lower(&minus, 4, &work);
  tn_poly_drop(&minus);
  return (tn_interval){lo, up == INT64_MIN ? INT64_MAX : bound_hi(-(tn_i128)up)};
}

/* gcd of what every argument is a multiple of. */
static int64_t divisor_args(tn_symtab *t, tn_sym e, uint32_t from) {
  int64_t g = 0;
  for (uint32_t i = from; i < e->n && g != 1; i++) g = tn_sym_gcd(g, tn_sym_divisor(t, e->args[i]));
  return g;
}

static int64_t divisor_product(int64_t a, int64_t b) {
  int64_t c;
  if (tn_mul_i64(a, b, &c)) return c;
  return a > b ? a : b;
}

int64_t tn_poly_divisor(const tn_poly *p) {
  int64_t g = 0;
  for (size_t i = 0; i < p->n && g != 1; i++)
    g = tn_sym_gcd(g, divisor_product(tn_sym_gcd(p->at[i].coef, 0), tn_sym_divisor(p->t, p->at[i].mono)));
  return g;
}

static int64_t divisor_compute(tn_symtab *t, tn_sym e) {
  int64_t d = 1;
  tn_poly p;
  switch ((tn_sym_kind)e->kind) {
    case TN_SYM_INT:
      return tn_sym_gcd(e->k, 0);
    case TN_SYM_VAR:
      d = tn_sym_fact(t, e)->multiple_of;
      return d < 1 ? 1 : d;
    case TN_SYM_ADD:
      tn_poly_of(&p, t, e);
      tn_poly_merge(&p);
      return p.overflow ? 1 : tn_sym_gcd(tn_poly_divisor(&p), p.k);
    case TN_SYM_MUL:
      for (uint32_t i = 0; i < e->n; i++) d = divisor_product(d, tn_sym_divisor(t, e->args[i]));
      return d;
    case TN_SYM_FLOORDIV:
    case TN_SYM_CEILDIV:
      if (e->args[1]->kind != TN_SYM_INT || e->args[1]->k <= 0) return 1;
      d = tn_sym_divisor(t, e->args[0]);
      return d % e->args[1]->k == 0 ? d / e->args[1]->k : 1;
    case TN_SYM_MOD:
    case TN_SYM_MIN:
    case TN_SYM_MAX:
    case TN_SYM_BCAST:
      return divisor_args(t, e, 0);
    case TN_SYM_SELECT:
      return divisor_args(t, e, 1);
    default:
      return 1;
  }
}

int64_t tn_sym_divisor(tn_symtab *t, tn_sym e) {
  const tn_sym_memo *const known = tn_sym_memo_of(t, e);
  if (known->divisor_epoch == t->epoch) return known->divisor;
  if (t->depth >= BOUND_DEPTH) return known->divisor_epoch ? known->divisor : 1;
  t->depth++;
  const int64_t d = divisor_compute(t, e);
  t->depth--;
  tn_sym_memo *const m = tn_sym_memo_of(t, e);
  m->divisor = d;
  m->divisor_epoch = t->epoch;
  return d;
}

bool tn_sym_known_le(tn_symtab *t, tn_sym a, tn_sym b) {
  tn_poly p;
  int work = BOUND_WORK;
  if (a == b) return true;
  tn_poly_of(&p, t, b);
  tn_poly_add(&p, a, -1);
  const int64_t lo = bound_lower(&p, 4, &work);
  tn_poly_drop(&p);
  return lo >= 0;
}

bool tn_sym_known_nonzero(tn_symtab *t, tn_sym e) {
  const tn_interval b = tn_sym_bounds(t, e);
  return b.lo > 0 || b.hi < 0;
}

bool tn_sym_is_bool(tn_symtab *t, tn_sym e) {
  const tn_interval b = tn_sym_bounds(t, e);
  return b.lo >= 0 && b.hi <= 1;
}
