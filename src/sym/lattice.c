/* min, max, bcast, f32scale and f32ratio. */
#include <math.h>

#include "base/half.h"
#include "sym/node.h"

typedef TN_VEC(tn_sym) lattice_args;

enum { LATTICE_MANY = 16, LATTICE_TRIED = 64 };

/* What min and max may share: quotients and remainders are left where sums can pair them. */
static bool lattice_is_shared(tn_sym mono) {
  const tn_sym *const f = mono->kind == TN_SYM_MUL ? mono->args : &mono;
  const uint32_t n = mono->kind == TN_SYM_MUL ? mono->n : 1;
  for (uint32_t i = 0; i < n; i++)
    if (f[i]->kind == TN_SYM_FLOORDIV || f[i]->kind == TN_SYM_MOD) return false;
  return true;
}

/* min(a, b) + c: the place of the one min in a sum whose other terms it may have shared; -1 when it is no such sum. */
static int lattice_inner(tn_sym e, tn_sym_kind kind) {
  int found = -1;
  if (e->kind != TN_SYM_ADD || kind == TN_SYM_BCAST || e->n > LATTICE_MANY) return -1;
  for (uint32_t i = 0; i < e->n; i++) {
    const bool is_inner = e->args[i]->kind == kind && e->coefs[i] == 1;
    if (!is_inner && !lattice_is_shared(e->args[i])) return -1;
    if (is_inner && found >= 0) return -1;
    if (is_inner) found = (int)i;
  }
  return found;
}

static void lattice_flatten(tn_symtab *t, lattice_args *out, tn_sym_kind kind, const tn_sym *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const int inner = lattice_inner(args[i], kind);
    if (inner >= 0) {
      const tn_sym min = args[i]->args[inner], rest = tn_sym_sub(t, args[i], min);
      for (uint32_t j = 0; j < min->n; j++) tn_vec_push(t->arena, out, tn_sym_add(t, min->args[j], rest));
    } else if (args[i]->kind == kind) { /* canonical: its arguments are of another kind */
      for (uint32_t j = 0; j < args[i]->n; j++) tn_vec_push(t->arena, out, tn_sym_fixed(t, args[i]->args[j]));
    } else {
      tn_vec_push(t->arena, out, tn_sym_fixed(t, args[i]));
    }
  }
}

static void lattice_order(tn_symtab *t, lattice_args *v) {
  size_t to = 0;
  tn_sym_sort(t, v->at, v->n);
  for (size_t i = 0; i < v->n; i++)
    if (to == 0 || v->at[to - 1] != v->at[i]) v->at[to++] = v->at[i];
  v->n = to;
}

/* Constants sort first; the best of them stays. */
static void lattice_fold(lattice_args *v, tn_sym_kind kind) {
  size_t n = 0;
  while (n < v->n && tn_sym_is_int(v->at[n])) n++;
  if (n < 2) return;
  const tn_sym best = kind == TN_SYM_MIN ? v->at[0] : v->at[n - 1]; /* ordered by value */
  v->at[0] = best;
  memmove(v->at + 1, v->at + n, (v->n - n) * sizeof *v->at);
  v->n -= n - 1;
}

/* Drops what another argument decides: x <= y is known and this is min, so y goes. */
static void lattice_prune(tn_symtab *t, lattice_args *v, tn_sym_kind kind) {
  bool drop[LATTICE_MANY] = {false};
  if (v->n > LATTICE_MANY) return;
  for (size_t i = 0; i < v->n; i++) {
    for (size_t j = 0; j < v->n && !drop[i]; j++) {
      if (i == j || drop[j]) continue;
      const tn_sym worse = v->at[i], better = v->at[j];
      drop[i] = kind == TN_SYM_MIN ? tn_sym_known_le(t, better, worse) : tn_sym_known_le(t, worse, better);
    }
  }
  size_t to = 0;
  for (size_t i = 0; i < v->n; i++)
    if (!drop[i]) v->at[to++] = v->at[i];
  v->n = to;
}

static int64_t lattice_coef(tn_sym e, tn_sym mono) {
  if (e == mono) return 1;
  for (uint32_t i = 0; e->kind == TN_SYM_ADD && i < e->n; i++)
    if (e->args[i] == mono) return e->coefs[i];
  return 0;
}

static int64_t lattice_constant(tn_sym e) { return e->kind == TN_SYM_ADD || e->kind == TN_SYM_INT ? e->k : 0; }

/* c of min(a + c, b + c): the terms that all arguments have. */
static tn_sym lattice_common(tn_symtab *t, const lattice_args *v) {
  const tn_sym first = v->at[0];
  tn_poly common;
  tn_poly_init(&common, t);
  bool same = true;
  for (size_t i = 1; i < v->n; i++) same = same && lattice_constant(v->at[i]) == lattice_constant(first);
  if (same) tn_poly_addk(&common, lattice_constant(first));
  const uint32_t n = first->kind == TN_SYM_ADD ? first->n : tn_sym_is_int(first) ? 0 : 1;
  for (uint32_t k = 0; k < n && v->n <= LATTICE_MANY; k++) {
    const tn_sym mono = first->kind == TN_SYM_ADD ? first->args[k] : first;
    const int64_t c = lattice_coef(first, mono);
    bool shared = lattice_is_shared(mono);
    for (size_t i = 1; i < v->n && shared; i++) shared = lattice_coef(v->at[i], mono) == c;
    if (shared) tn_poly_push(&common, mono, c);
  }
  return tn_poly_node(&common);
}

static tn_sym lattice_minmax(tn_symtab *t, tn_sym_kind kind, lattice_args *v) {
  lattice_fold(v, kind);
  lattice_prune(t, v, kind);
  if (v->n == 1) return v->at[0];
  const tn_sym common = lattice_common(t, v);
  if (common == t->zero || tn_sym_is_overflow(common)) return tn_sym_intern(t, kind, 0, v->at, NULL, v->n);
  for (size_t i = 0; i < v->n; i++) v->at[i] = tn_sym_sub(t, v->at[i], common);
  lattice_order(t, v);
  return tn_sym_add(t, tn_sym_intern(t, kind, 0, v->at, NULL, v->n), common);
}

static tn_sym lattice_number(void *arg, uint32_t symbol) {
  const tn_sym *const of = arg; /* the symbol, its number */
  return (int64_t)symbol == of[0]->k ? of[1] : NULL;
}

/* Is b 1 wherever a is? min(a, 8) is, and of a = x + c what is 1 at x = 1 - c. Nothing that may say so of b is said of
 * by b, so that it does not matter which arguments meet first. */
static bool lattice_is_one_with(tn_symtab *t, tn_sym a, tn_sym b) {
  if (b->kind == TN_SYM_MIN && b->n <= LATTICE_MANY) {
    bool has = false, others = true;
    for (uint32_t i = 0; i < b->n; i++) {
      has |= b->args[i] == a;
      others &= b->args[i] == a || tn_sym_bounds(t, b->args[i]).lo >= 1;
    }
    if (has && others) return true;
  }
  const bool shifted = a->kind == TN_SYM_ADD && a->n == 1 && a->coefs[0] == 1;
  int64_t at = 1;
  if (b->size > LATTICE_TRIED || (shifted && !tn_sub_i64(1, a->k, &at))) return false;
  tn_sym of[2] = {shifted ? a->args[0] : a, tn_sym_int(t, at)};
  if (of[0]->kind != TN_SYM_VAR || b->kind == TN_SYM_VAR) return false;
  return tn_sym_is(tn_sym_substitute(t, b, lattice_number, of), 1);
}

/* bcast(a, b) is a wherever it has a value and b is 1 with a. */
static void lattice_drop_followers(tn_symtab *t, lattice_args *v) {
  size_t to = 0;
  bool drop[LATTICE_MANY] = {false};
  if (v->n < 2 || v->n > LATTICE_MANY) return;
  for (size_t j = 0; j < v->n; j++)
    for (size_t i = 0; i < v->n && !drop[j]; i++) drop[j] = i != j && lattice_is_one_with(t, v->at[i], v->at[j]);
  for (size_t i = 0; i < v->n; i++)
    if (!drop[i]) v->at[to++] = v->at[i];
  v->n = to;
}

/* Arguments that cannot be 1 are the result; two constants that disagree stay and fail on evaluation. */
static tn_sym lattice_bcast(tn_symtab *t, lattice_args *v) {
  size_t to = 0, n_consts = 0;
  for (size_t i = 0; i < v->n; i++) {
    const tn_interval b = tn_sym_bounds(t, v->at[i]);
    if (b.lo == 1 && b.hi == 1) continue;
    n_consts += tn_sym_is_int(v->at[i]);
    v->at[to++] = v->at[i];
  }
  v->n = to;
  if (to == 0) return t->one;
  if (n_consts > 0) v->n = n_consts;
  for (size_t i = 0; n_consts == 0 && i < v->n; i++) {
    const tn_interval b = tn_sym_bounds(t, v->at[i]);
    if (b.lo > 1 || b.hi < 1 || tn_sym_is(tn_sym_eq(t, v->at[i], t->one), 0)) return v->at[i];
  }
  lattice_drop_followers(t, v);
  return v->n == 1 ? v->at[0] : tn_sym_intern(t, TN_SYM_BCAST, 0, v->at, NULL, v->n);
}

tn_sym tn_sym_lattice(tn_symtab *t, tn_sym_kind kind, const tn_sym *args, size_t n) {
  lattice_args v = {0};
  TN_ASSERT(n > 0);
  lattice_flatten(t, &v, kind, args, n);
  for (size_t i = 0; i < v.n; i++)
    if (tn_sym_is_overflow(v.at[i])) return t->overflow;
  lattice_order(t, &v);
  return kind == TN_SYM_BCAST ? lattice_bcast(t, &v) : lattice_minmax(t, kind, &v);
}

static tn_sym lattice_two(tn_symtab *t, tn_sym_kind kind, tn_sym a, tn_sym b) {
  const tn_sym args[2] = {a, b};
  return tn_sym_lattice(t, kind, args, 2);
}

tn_sym tn_sym_min(tn_symtab *t, tn_sym a, tn_sym b) { return lattice_two(t, TN_SYM_MIN, a, b); }
tn_sym tn_sym_max(tn_symtab *t, tn_sym a, tn_sym b) { return lattice_two(t, TN_SYM_MAX, a, b); }
tn_sym tn_sym_bcast(tn_symtab *t, tn_sym a, tn_sym b) { return lattice_two(t, TN_SYM_BCAST, a, b); }

/* Below 2^24 every integer is a float32, so scaling by a whole number or by 1/2, 1/4, ... is exact while the result
 * stays there. */
static tn_sym scale_exact(tn_symtab *t, tn_sym a, float c) {
  const int64_t limit = INT64_C(1) << 24;
  const tn_interval b = tn_sym_bounds(t, a);
  int exponent;
  if (b.lo < -limit || b.hi > limit || !(c > 0)) return NULL;
  if (c >= 1 && c <= (float)limit && floorf(c) == c) {
    const int64_t k = (int64_t)c;
    return b.lo >= -limit / k && b.hi <= limit / k ? tn_sym_muli(t, a, k) : NULL;
  }
  if (c < 1 && frexpf(c, &exponent) == 0.5F && exponent >= -60)
    return tn_sym_floordiv_k(t, a, INT64_C(1) << (1 - exponent));
  return NULL;
}

tn_sym tn_sym_f32scale(tn_symtab *t, tn_sym a, float c) {
  int64_t v;
  a = tn_sym_fixed(t, a);
  if (tn_sym_is_overflow(a)) return a;
  if (tn_sym_is_int(a) && tn_f32scale_i64(a->k, c, &v)) return tn_sym_int(t, v);
  if (tn_sym_is_int(a)) return t->overflow;
  const tn_sym exact = scale_exact(t, a, c);
  if (exact) return exact;
  const uint32_t bits = c != c ? 0x7fc00000 : tn_f32_bits(c); /* one NaN */
  return tn_sym_intern(t, TN_SYM_F32SCALE, (int64_t)bits, &a, NULL, 1);
}

/* Is |e| known to be at most `limit`? */
static bool ratio_is_within(tn_symtab *t, tn_sym e, int64_t limit) {
  const tn_interval b = tn_sym_bounds(t, e);
  return b.lo >= -limit && b.hi <= limit;
}

tn_sym tn_sym_f32ratio(tn_symtab *t, tn_sym a, tn_sym n, tn_sym d) {
  const tn_sym args[] = {tn_sym_fixed(t, a), tn_sym_fixed(t, n), tn_sym_fixed(t, d)};
  bool is_constant = true;
  int64_t v;
  for (int i = 0; i < 3; i++) {
    if (tn_sym_is_overflow(args[i])) return args[i];
    is_constant = is_constant && tn_sym_is_int(args[i]);
  }
  if (is_constant && args[2]->k != 0)
    return tn_f32ratio_i64(args[0]->k, args[1]->k, args[2]->k, &v) ? tn_sym_int(t, v) : t->overflow;
  if (args[1] == args[2] && ratio_is_within(t, args[0], INT64_C(1) << 24)) return args[0];
  /* Both roundings together move n by less than n / 2^23. */
  if (args[0] == args[2] && ratio_is_within(t, args[1], INT64_C(1) << 21)) return args[1];
  if (!is_constant && tn_sym_is_int(args[1]) && tn_sym_is_int(args[2]) && args[2]->k != 0) {
    const tn_sym twice = scale_exact(t, args[0], 2 * ((float)args[1]->k / (float)args[2]->k));
    if (twice) return tn_sym_floordiv_k(t, tn_sym_addi(t, twice, 1), 2);
  }
  return tn_sym_intern(t, TN_SYM_F32RATIO, 0, args, NULL, 3);
}

/* --- shorter spellings --- */

static bool lattice_is_extreme(tn_sym e) { return e->kind == TN_SYM_MIN || e->kind == TN_SYM_MAX; }

/* min(a, b) + max(c, d), with c and d as far from a and b, in either order: the number; else NULL. */
static tn_sym lattice_both(tn_symtab *t, tn_sym min, tn_sym max) {
  const tn_sym *const a = min->args, *const c = max->args;
  if (min->kind != TN_SYM_MIN || max->kind != TN_SYM_MAX || min->n != 2 || max->n != 2) return NULL;
  if (tn_sym_sub(t, c[0], a[0]) == tn_sym_sub(t, c[1], a[1])) return tn_sym_add(t, a[1], c[0]);
  return tn_sym_sub(t, c[0], a[1]) == tn_sym_sub(t, c[1], a[0]) ? tn_sym_add(t, a[0], c[0]) : NULL;
}

/* A min and a max of a sum that are a plain sum together; NULL: none. */
static tn_sym tidy_pair(tn_symtab *t, tn_sym e) {
  for (uint32_t i = 0; i < e->n; i++) {
    for (uint32_t j = 0; j < e->n && e->args[i]->kind == TN_SYM_MIN; j++) {
      const int64_t c = e->coefs[i], d = e->coefs[j];
      const tn_sym both = (c > 0) == (d > 0) ? lattice_both(t, e->args[i], e->args[j]) : NULL;
      if (!both) continue;
      const int64_t k = c > 0 ? (c < d ? c : d) : c > d ? c : d;
      const tn_sym less = tn_sym_sub(t, both, tn_sym_add(t, e->args[i], e->args[j]));
      return tn_sym_add(t, e, tn_sym_muli(t, less, k));
    }
  }
  return NULL;
}

/* Does a term of the rest, or its constant, cancel in an argument of c * m? */
static bool tidy_cancels(tn_sym rest, tn_sym m, int64_t c) {
  for (uint32_t j = 0; j < m->n; j++) {
    const tn_sym arg = m->args[j];
    if (lattice_constant(rest) != 0 && c * lattice_constant(arg) == -lattice_constant(rest)) return true;
    if (rest->kind != TN_SYM_ADD && !tn_sym_is_int(rest) && c * lattice_coef(arg, rest) == -1) return true;
    for (uint32_t i = 0; rest->kind == TN_SYM_ADD && i < rest->n; i++)
      if (c * lattice_coef(arg, rest->args[i]) == -rest->coefs[i]) return true;
  }
  return false;
}

/* rest + min(a, b) as min(rest + a, rest + b) where that is shorter; NULL: it is not. */
static tn_sym tidy_push(tn_symtab *t, tn_sym e) {
  for (uint32_t i = 0; i < e->n; i++) {
    const tn_sym m = e->args[i];
    const int64_t c = e->coefs[i];
    if (!lattice_is_extreme(m) || m->n > LATTICE_MANY || (c != 1 && c != -1)) continue;
    const tn_sym rest = tn_sym_sub(t, e, tn_sym_muli(t, m, c));
    if (tn_sym_is_overflow(rest) || !tidy_cancels(rest, m, c)) continue;
    tn_sym args[LATTICE_MANY];
    for (uint32_t j = 0; j < m->n; j++) args[j] = tn_sym_add(t, rest, tn_sym_muli(t, m->args[j], c));
    const tn_sym_kind other = m->kind == TN_SYM_MIN ? TN_SYM_MAX : TN_SYM_MIN;
    const tn_sym pushed = tn_sym_lattice(t, c == 1 ? (tn_sym_kind)m->kind : other, args, m->n);
    if (!tn_sym_is_overflow(pushed) && pushed->size < e->size) return pushed;
  }
  return NULL;
}

static tn_sym tidy_at(tn_symtab *t, tn_sym e, int depth) {
  const bool is_div = tn_sym_is_div(e), is_choice = e->kind == TN_SYM_SELECT;
  const bool has_parts = e->kind == TN_SYM_ADD || lattice_is_extreme(e) || is_div || is_choice;
  if (depth == 0 || e->n > LATTICE_MANY || !has_parts) return e;
  tn_sym args[LATTICE_MANY];
  bool changed = false;
  for (uint32_t i = 0; i < e->n; i++) {
    args[i] = tidy_at(t, e->args[i], depth - 1);
    changed |= args[i] != e->args[i];
  }
  if (changed && e->kind == TN_SYM_ADD) {
    tn_sym sum = tn_sym_int(t, e->k);
    for (uint32_t i = 0; i < e->n; i++) sum = tn_sym_add(t, sum, tn_sym_muli(t, args[i], e->coefs[i]));
    e = sum;
  } else if (changed) {
    e = is_div      ? tn_sym_floordiv(t, args[0], args[1])
        : is_choice ? tn_sym_select(t, args[0], args[1], args[2])
                    : tn_sym_lattice(t, e->kind, args, e->n);
  }
  for (int again = LATTICE_MANY; again > 0 && e->kind == TN_SYM_ADD && e->n <= LATTICE_MANY; again--) {
    tn_sym next = tidy_pair(t, e);
    if (!next) next = tidy_push(t, e);
    if (!next || tn_sym_is_overflow(next)) break;
    e = next;
  }
  return e;
}

tn_sym tn_sym_tidy(tn_symtab *t, tn_sym e) {
  enum { DEPTH = 6 };
  const tn_sym tidy = tidy_at(t, e, DEPTH);
  return tn_sym_is_overflow(tidy) || tidy->size > e->size ? e : tidy;
}
