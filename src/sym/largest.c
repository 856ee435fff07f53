/* The largest number of one symbol for which conditions hold: ranges of numbers, the upper half first, from which those
 * are left out in which some condition cannot hold. What a condition may be over a range is an interval, at one number
 * its value or nothing, so that the answer is exact, and quick where the conditions are orders between what grows. */
#include "base/half.h"
#include "sym/node.h"

enum {
  LARGEST_WORK = 1 << 25, /* nodes looked at */
  LARGEST_OPEN = 1,       /* a node is being collected */
  LARGEST_DONE = 2        /* it has a row */
};

typedef struct largest_range { /* the defined values of an expression; none when it has none */
  int64_t lo, hi;
  bool none;
} largest_range;

typedef struct largest_row {
  tn_sym e;
  uint32_t first;  /* of its arguments' rows in `args`; of a defined symbol that of its definition */
  uint32_t n;      /* arguments there */
  bool is_settled; /* does not depend on the symbol: evaluated once */
  largest_range now;
} largest_row;

typedef struct largest_walk {
  tn_symtab *t;
  tn_sym_question *q;
  TN_VEC(largest_row) rows; /* arguments before what is made of them */
  TN_VEC(uint32_t) args;
  TN_VEC(tn_sym_frame) stack;
  TN_VEC(uint32_t) conditions; /* rows */
  largest_range var;
  int64_t work;
} largest_walk;

static const largest_range largest_none = {.none = true};

static bool largest_is_point(largest_range r) { return !r.none && r.lo == r.hi; }
static bool largest_may_be(largest_range r, int64_t v) { return !r.none && r.lo <= v && v <= r.hi; }
static bool largest_may_hold(largest_range r) { return !r.none && (r.lo != 0 || r.hi != 0); }

/* What left int64 has no value. */
static largest_range largest_clamp(tn_i128 lo, tn_i128 hi) {
  if (lo > INT64_MAX || hi < INT64_MIN) return largest_none;
  return (largest_range){lo < INT64_MIN ? INT64_MIN : (int64_t)lo, hi > INT64_MAX ? INT64_MAX : (int64_t)hi, false};
}

static largest_range largest_union(largest_range a, largest_range b) {
  if (a.none || b.none) return a.none ? b : a;
  return (largest_range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi, false};
}

static largest_range largest_truth(bool may_fail, bool may_hold) {
  return (largest_range){may_fail ? 0 : 1, may_hold ? 1 : 0, !may_fail && !may_hold};
}

static const largest_range *largest_arg(const largest_walk *w, const largest_row *row, uint32_t i) {
  return &w->rows.at[w->args.at[row->first + i]].now;
}

static largest_range largest_sum(const largest_walk *w, const largest_row *row) {
  tn_i128 lo = row->e->k, hi = row->e->k;
  bool is_point = true, fits = true;
  for (uint32_t i = 0; i < row->n; i++) {
    const largest_range r = *largest_arg(w, row, i);
    const tn_i128 c = row->e->coefs[i];
    if (r.none) return r;
    is_point = is_point && r.lo == r.hi;
    fits = fits && !__builtin_add_overflow(lo, c * (c < 0 ? r.hi : r.lo), &lo) &&
           !__builtin_add_overflow(hi, c * (c < 0 ? r.lo : r.hi), &hi);
  }
  if (fits) return largest_clamp(lo, hi);
  return is_point ? largest_none : (largest_range){INT64_MIN, INT64_MAX, false};
}

/* Zero times what left int64 is zero. */
static largest_range largest_product(const largest_walk *w, const largest_row *row) {
  largest_range product = {1, 1, false};
  bool may_be_zero = false, is_zero = false, is_big = false;
  for (uint32_t i = 0; i < row->n; i++) {
    const largest_range r = *largest_arg(w, row, i);
    if (r.none) return r;
    may_be_zero = may_be_zero || largest_may_be(r, 0);
    is_zero = is_zero || (r.lo == 0 && r.hi == 0);
    const tn_i128 at[4] = {(tn_i128)product.lo * r.lo, (tn_i128)product.lo * r.hi, (tn_i128)product.hi * r.lo,
                           (tn_i128)product.hi * r.hi};
    tn_i128 lo = at[0], hi = at[0];
    for (int k = 1; k < 4; k++) {
      lo = at[k] < lo ? at[k] : lo;
      hi = at[k] > hi ? at[k] : hi;
    }
    is_big = is_big || lo > INT64_MAX || hi < INT64_MIN;
    product.lo = lo > INT64_MAX ? INT64_MAX : lo < INT64_MIN ? INT64_MIN : (int64_t)lo;
    product.hi = hi > INT64_MAX ? INT64_MAX : hi < INT64_MIN ? INT64_MIN : (int64_t)hi;
  }
  if (is_zero) return (largest_range){0, 0, false};
  return is_big && !may_be_zero ? largest_none : product;
}

/* By a divisor of one sign, at the corners: quotients grow or fall with each operand. */
static largest_range largest_quotient(tn_sym_kind kind, largest_range a, largest_range b) {
  const int64_t x[2] = {a.lo, a.hi}, y[2] = {b.lo, b.hi};
  largest_range r = largest_none;
  for (int i = 0; i < 4; i++) {
    int64_t v;
    const bool ok =
        kind == TN_SYM_FLOORDIV ? tn_floordiv_i64(x[i & 1], y[i >> 1], &v) : tn_ceildiv_i64(x[i & 1], y[i >> 1], &v);
    if (!ok) v = INT64_MAX; /* INT64_MIN // -1 */
    if (ok || a.lo != a.hi || b.lo != b.hi) r = largest_union(r, (largest_range){v, v, false});
  }
  return r;
}

/* From a divisor's least and largest magnitude, both positive. */
static largest_range largest_rest(largest_range a, largest_range b) {
  int64_t below, above;
  if (a.lo >= 0 && a.hi < b.lo) return a;
  if (largest_is_point(b) && tn_floordiv_i64(a.lo, b.lo, &below) && tn_floordiv_i64(a.hi, b.lo, &above) &&
      below == above)
    return (largest_range){a.lo - below * b.lo, a.hi - below * b.lo, false};
  return (largest_range){0, b.hi - 1, false};
}

static largest_range largest_by(tn_sym_kind kind, largest_range a, largest_range b) {
  if (kind != TN_SYM_MOD) return largest_quotient(kind, a, b);
  int64_t v;
  if (largest_is_point(a) && largest_is_point(b))
    return tn_mod_i64(a.lo, b.lo, &v) ? (largest_range){v, v, false} : largest_none;
  if (b.lo > 0) return largest_rest(a, b);
  return (largest_range){b.lo < -INT64_MAX ? b.lo : b.lo + 1, 0, false};
}

static largest_range largest_divide(tn_sym_kind kind, largest_range a, largest_range b) {
  largest_range r = largest_none;
  if (a.none || b.none) return largest_none;
  if (b.lo < 0) r = largest_by(kind, a, (largest_range){b.lo, b.hi < 0 ? b.hi : -1, false});
  if (b.hi > 0) r = largest_union(r, largest_by(kind, a, (largest_range){b.lo > 0 ? b.lo : 1, b.hi, false}));
  return r;
}

static largest_range largest_pair(tn_sym_kind kind, largest_range a, largest_range b) {
  if (a.none || b.none) return largest_none;
  const int64_t lo = a.lo > b.lo ? a.lo : b.lo, hi = a.hi < b.hi ? a.hi : b.hi;
  if (kind == TN_SYM_MAX) return (largest_range){lo, a.hi > b.hi ? a.hi : b.hi, false};
  if (kind == TN_SYM_MIN) return (largest_range){a.lo < b.lo ? a.lo : b.lo, hi, false};
  largest_range r = lo <= hi ? (largest_range){lo, hi, false} : largest_none; /* both the same */
  if (largest_may_be(a, 1)) r = largest_union(r, b);
  if (largest_may_be(b, 1)) r = largest_union(r, a);
  return r;
}

static largest_range largest_choice(const largest_walk *w, const largest_row *row) {
  largest_range r = *largest_arg(w, row, 0);
  for (uint32_t i = 1; i < row->n; i++) r = largest_pair((tn_sym_kind)row->e->kind, r, *largest_arg(w, row, i));
  return r;
}

/* As tn_sym_eval: what decides, decides whatever the others are. */
static largest_range largest_logic(const largest_walk *w, const largest_row *row) {
  const bool is_and = row->e->kind == TN_SYM_AND;
  bool one = false, all = true; /* may one be what decides, may all be what does not */
  for (uint32_t i = 0; i < row->n; i++) {
    const largest_range r = *largest_arg(w, row, i);
    const bool may_fail = largest_may_be(r, 0), may_hold = largest_may_hold(r);
    one = one || (is_and ? may_fail : may_hold);
    all = all && (is_and ? may_hold : may_fail);
  }
  return is_and ? largest_truth(one, all) : largest_truth(all, one);
}

static largest_range largest_compare(tn_sym_kind kind, largest_range a, largest_range b) {
  if (a.none || b.none) return largest_none;
  if (kind == TN_SYM_LT) return largest_truth(a.hi >= b.lo, a.lo < b.hi);
  if (kind == TN_SYM_LE) return largest_truth(a.hi > b.lo, a.lo <= b.hi);
  return largest_truth(a.lo != a.hi || b.lo != b.hi || a.lo != b.lo, a.lo <= b.hi && b.lo <= a.hi);
}

static largest_range largest_scale(largest_range a, float c) {
  largest_range r = a;
  if (a.none) return a;
  const bool has_lo = tn_f32scale_i64(c < 0 ? a.hi : a.lo, c, &r.lo);
  const bool has_hi = tn_f32scale_i64(c < 0 ? a.lo : a.hi, c, &r.hi);
  if (a.lo == a.hi && !has_lo) return largest_none;
  if (!has_lo) r.lo = INT64_MIN;
  if (!has_hi) r.hi = INT64_MAX;
  return r;
}

/* Of what is not negative; of else, numbers alone. */
static largest_range largest_ratio(const largest_walk *w, const largest_row *row) {
  const largest_range a = *largest_arg(w, row, 0), n = *largest_arg(w, row, 1), d = *largest_arg(w, row, 2);
  largest_range r = {INT64_MIN, INT64_MAX, false};
  if (a.none || n.none || d.none || (d.lo == 0 && d.hi == 0)) return largest_none;
  if (a.lo == a.hi && n.lo == n.hi && d.lo == d.hi)
    return tn_f32ratio_i64(a.lo, n.lo, d.lo, &r.lo) ? (largest_range){r.lo, r.lo, false} : largest_none;
  if (a.lo < 0 || n.lo < 0 || d.lo < 0) return r;
  if (!tn_f32ratio_i64(a.lo, n.lo, d.hi, &r.lo)) r.lo = 0;
  if (!tn_f32ratio_i64(a.hi, n.hi, d.lo > 0 ? d.lo : 1, &r.hi)) r.hi = INT64_MAX;
  return r;
}

static largest_range largest_one(const largest_walk *w, const largest_row *row) {
  const largest_range a = *largest_arg(w, row, 0);
  if (row->e->kind == TN_SYM_F32SCALE) return largest_scale(a, tn_f32_of_bits((uint32_t)row->e->k));
  if (row->e->kind == TN_SYM_NOT) return largest_truth(largest_may_hold(a), largest_may_be(a, 0));
  largest_range r = largest_none;
  if (largest_may_hold(a)) r = *largest_arg(w, row, 1);
  return largest_may_be(a, 0) ? largest_union(r, *largest_arg(w, row, 2)) : r;
}

static largest_range largest_var(const largest_walk *w, const largest_row *row) {
  int64_t v;
  if (row->e == w->q->var) return w->var;
  if (w->q->env && w->q->env(w->q->arg, (uint32_t)row->e->k, &v)) return (largest_range){v, v, false};
  return row->n ? *largest_arg(w, row, 0) : largest_none;
}

static largest_range largest_node(const largest_walk *w, const largest_row *row) {
  const tn_sym_kind kind = (tn_sym_kind)row->e->kind;
  switch (kind) {
    case TN_SYM_INT:
      return (largest_range){row->e->k, row->e->k, false};
    case TN_SYM_VAR:
      return largest_var(w, row);
    case TN_SYM_ADD:
      return largest_sum(w, row);
    case TN_SYM_MUL:
      return largest_product(w, row);
    case TN_SYM_FLOORDIV:
    case TN_SYM_CEILDIV:
    case TN_SYM_MOD:
      return largest_divide(kind, *largest_arg(w, row, 0), *largest_arg(w, row, 1));
    case TN_SYM_MIN:
    case TN_SYM_MAX:
    case TN_SYM_BCAST:
      return largest_choice(w, row);
    case TN_SYM_EQ:
    case TN_SYM_LT:
    case TN_SYM_LE:
      return largest_compare(kind, *largest_arg(w, row, 0), *largest_arg(w, row, 1));
    case TN_SYM_AND:
    case TN_SYM_OR:
      return largest_logic(w, row);
    case TN_SYM_NOT:
    case TN_SYM_F32SCALE:
    case TN_SYM_SELECT:
      return largest_one(w, row);
    case TN_SYM_F32RATIO:
      return largest_ratio(w, row);
    case TN_SYM_OVERFLOW:
    case TN_N_SYM_KINDS:
      break;
  }
  return largest_none;
}

/* --- rows --- */

/* Argument i of e, definitions being arguments of their symbols; NULL past the last. */
static tn_sym largest_next(const largest_walk *w, tn_sym e, uint32_t i) {
  int64_t v;
  if (e->kind != TN_SYM_VAR) return i < e->n ? e->args[i] : NULL;
  if (i > 0 || e == w->q->var || (w->q->env && w->q->env(w->q->arg, (uint32_t)e->k, &v))) return NULL;
  return w->t->symbols.at[e->k].definition;
}

/* All arguments have rows, but for a definition that holds its own symbol: that has no value. */
static void largest_leave(largest_walk *w, tn_sym e) {
  largest_row row = {.e = e, .first = (uint32_t)w->args.n, .is_settled = e != w->q->var};
  for (tn_sym a = largest_next(w, e, 0); a; a = largest_next(w, e, row.n)) {
    const tn_sym_memo *const m = tn_sym_memo_of(w->t, a);
    if (m->state == LARGEST_OPEN) {
      row.n = 0;
      break;
    }
    tn_vec_push(w->t->arena, &w->args, (uint32_t)m->value);
    row.is_settled = row.is_settled && w->rows.at[m->value].is_settled;
    row.n++;
  }
  row.now = row.is_settled ? largest_node(w, &row) : largest_none;
  tn_sym_memo *const m = tn_sym_memo_of(w->t, e);
  m->state = LARGEST_DONE;
  m->value = (int64_t)w->rows.n;
  tn_vec_push(w->t->arena, &w->rows, row);
}

static bool largest_enter(largest_walk *w, tn_sym e, uint32_t stamp) {
  tn_sym_memo *const m = tn_sym_memo_of(w->t, e);
  if (m->stamp == stamp) return false;
  m->stamp = stamp;
  m->state = LARGEST_OPEN;
  tn_vec_push(w->t->arena, &w->stack, (tn_sym_frame){e, 0});
  return true;
}

static bool largest_collect(largest_walk *w, tn_sym condition, uint32_t stamp) {
  (void)largest_enter(w, condition, stamp);
  while (w->stack.n > 0) {
    tn_sym_frame *const f = &w->stack.at[w->stack.n - 1];
    const tn_sym e = f->e, next = largest_next(w, e, f->next);
    int64_t v;
    if (next) {
      f->next++;
      (void)largest_enter(w, next, stamp);
      continue;
    }
    const bool is_bare = e->kind == TN_SYM_VAR && e != w->q->var && f->next == 0;
    if (is_bare && !(w->q->env && w->q->env(w->q->arg, (uint32_t)e->k, &v))) {
      w->q->missing = (uint32_t)e->k;
      return false;
    }
    w->stack.n--;
    largest_leave(w, e);
  }
  tn_vec_push(w->t->arena, &w->conditions, (uint32_t)tn_sym_memo_of(w->t, condition)->value);
  return true;
}

/* --- the search --- */

static bool largest_some(largest_walk *w, int64_t lo, int64_t hi) {
  w->var = (largest_range){lo, hi, false};
  for (size_t i = 0; i < w->rows.n; i++) {
    largest_row *const row = &w->rows.at[i];
    if (!row->is_settled) row->now = largest_node(w, row);
  }
  w->work -= (int64_t)w->rows.n + 1;
  for (size_t i = 0; i < w->conditions.n; i++)
    if (!largest_may_hold(w->rows.at[w->conditions.at[i]].now)) return false;
  return true;
}

/* Down to a member of the set; false when there is none from lo on. */
static bool largest_member(largest_walk *w, int64_t lo, int64_t *hi) {
  const tn_sym_set *const set = w->q->set;
  if (!set) return true;
  if (lo < set->lo) lo = set->lo;
  if (set->period == 0 && *hi >= set->from) *hi = set->from - 1;
  for (int64_t k = 0; *hi >= lo && !tn_sym_set_has(set, *hi); k++) {
    *hi = k >= set->period && *hi >= set->from ? set->from - 1 : *hi - 1; /* no member repeats */
    w->work--;
  }
  return *hi >= lo;
}

tn_status tn_sym_largest(tn_symtab *t, tn_sym_question *q) {
  largest_walk w = {.t = t, .q = q, .work = LARGEST_WORK};
  int64_t range[2 * 66] = {q->lo, q->hi}; /* disjoint, the highest last; halved each time */
  const uint32_t stamp = ++t->stamp;
  q->found = q->lo;
  for (size_t i = 0; i < q->n; i++)
    if (!largest_collect(&w, q->conditions[i], stamp)) return TN_INVALID;
  for (int n = q->lo <= q->hi; n > 0;) {
    int64_t hi = range[2 * n - 1];
    const int64_t lo = range[2 * n - 2];
    n--;
    q->found = hi;
    if (!largest_member(&w, lo, &hi)) continue;
    if (w.work < 0) return TN_LIMIT;
    if (!largest_some(&w, lo, hi)) continue;
    q->found = hi;
    if (lo == hi) return TN_OK;
    const int64_t mid = (int64_t)(((tn_i128)lo + hi) >> 1); /* rounds down, below zero too */
    range[2 * n] = lo;
    range[2 * n + 1] = mid;
    range[2 * n + 2] = mid + 1;
    range[2 * n + 3] = hi;
    n += 2;
  }
  return TN_MISMATCH;
}
