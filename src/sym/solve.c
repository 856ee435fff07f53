/* The numbers of one symbol that satisfy conditions, exactly.
 *
 * Along v = first + period * q, with a period that every constant divisor goes into, sums, quotients, remainders, min,
 * max and choices of v are lines a + b*q once q is large enough, and a comparison no longer changes. So conditions
 * repeat with the period from some number on; all before that, and one period, are evaluated one by one. */
#include "base/half.h"
#include "sym/node.h"

enum {
  SOLVE_PERIOD = 1 << 14,  /* longest period looked for */
  SOLVE_NUMBERS = 1 << 16, /* where it must have begun */
  SOLVE_RANGE = 1 << 12,   /* numbers that are all evaluated where no period is seen */
  SOLVE_WORK = 1 << 22,    /* nodes visited for one group of conditions */
  SOLVE_DEPTH = 200,
  SOLVE_NEST = 16 /* definitions in definitions */
};

typedef struct solve_line {
  int64_t a, b; /* a + b*q */
} solve_line;

typedef enum solve_state {
  SOLVE_DEFINED,
  SOLVE_UNDEFINED, /* for all large q: the condition does not hold */
  SOLVE_UNKNOWN
} solve_state;

typedef struct solve_walk {
  tn_symtab *t;
  tn_sym var;
  solve_line v;    /* what the symbol is */
  int64_t settled; /* the lines hold from this q on */
  int64_t need;    /* what the period lacks, as a factor */
  int64_t work;
  int depth;
} solve_walk;

static bool solve_scale(solve_line *x, int64_t c) { return tn_mul_i64(x->a, c, &x->a) && tn_mul_i64(x->b, c, &x->b); }

static bool solve_subtract(solve_line x, solve_line y, solve_line *out) {
  return tn_sub_i64(x.a, y.a, &out->a) && tn_sub_i64(x.b, y.b, &out->b);
}

/* -1, 0 or 1: the sign from `settled` on. */
static int solve_sign(solve_walk *w, solve_line x) {
  if (x.b == 0) return x.a < 0 ? -1 : x.a > 0;
  const uint64_t a = x.a < 0 ? 0 - (uint64_t)x.a : (uint64_t)x.a, b = x.b < 0 ? 0 - (uint64_t)x.b : (uint64_t)x.b;
  const int64_t past = a / b >= INT64_MAX ? INT64_MAX : (int64_t)(a / b) + 1;
  if (past > w->settled) w->settled = past;
  return x.b < 0 ? -1 : 1;
}

/* By a positive constant: a line again where the slope is a multiple. */
static solve_state solve_divide_by(solve_walk *w, solve_line x, int64_t k, solve_line *out) {
  if (x.b % k != 0) {
    const int64_t lacks = k / tn_sym_gcd(x.b, k);
    const int64_t more = lacks / tn_sym_gcd(w->need, lacks);
    if (!tn_mul_i64(w->need, more, &w->need)) w->need = INT64_MAX;
    return SOLVE_UNKNOWN;
  }
  out->b = x.b / k;
  return tn_floordiv_i64(x.a, k, &out->a) ? SOLVE_DEFINED : SOLVE_UNDEFINED;
}

/* By a line that grows: x - c*y, with c = slope // slope, settles between 0 and y or just below 0. */
static solve_state solve_divide_by_line(solve_walk *w, solve_line x, solve_line y, solve_line *out) {
  if (solve_sign(w, y) < 0 && (!solve_scale(&x, -1) || !solve_scale(&y, -1))) return SOLVE_UNKNOWN;
  int64_t c;
  solve_line part = y, rest, left;
  if (!tn_floordiv_i64(x.b, y.b, &c) || !solve_scale(&part, c) || !solve_subtract(x, part, &rest)) return SOLVE_UNKNOWN;
  const bool below = solve_sign(w, rest) < 0;
  if (below && !solve_scale(&rest, -1)) return SOLVE_UNKNOWN;
  if (!solve_subtract(y, rest, &left)) return SOLVE_UNKNOWN;
  (void)solve_sign(w, left);
  *out = (solve_line){below ? c - 1 : c, 0};
  return SOLVE_DEFINED;
}

static solve_state solve_floordiv(solve_walk *w, solve_line x, solve_line y, solve_line *out) {
  if (y.b != 0) return solve_divide_by_line(w, x, y, out);
  if (y.a == 0) return SOLVE_UNDEFINED;
  if (y.a < 0 && (!solve_scale(&x, -1) || !solve_scale(&y, -1))) return SOLVE_UNKNOWN;
  return solve_divide_by(w, x, y.a, out);
}

static solve_state solve_ceildiv(solve_walk *w, solve_line x, solve_line y, solve_line *out) {
  if (!solve_scale(&x, -1)) return SOLVE_UNKNOWN;
  const solve_state s = solve_floordiv(w, x, y, out);
  return s == SOLVE_DEFINED && !solve_scale(out, -1) ? SOLVE_UNKNOWN : s;
}

static solve_state solve_times(solve_line x, solve_line y, solve_line *out) {
  if (x.b != 0 && y.b != 0) return SOLVE_UNKNOWN;
  *out = x.b != 0 ? x : y;
  return solve_scale(out, x.b != 0 ? y.a : x.a) ? SOLVE_DEFINED : SOLVE_UNKNOWN;
}

static solve_state solve_mod(solve_walk *w, solve_line x, solve_line y, solve_line *out) {
  solve_line q;
  const solve_state s = solve_floordiv(w, x, y, &q);
  if (s != SOLVE_DEFINED) return s;
  const solve_state p = solve_times(q, y, &q);
  return p == SOLVE_DEFINED && !solve_subtract(x, q, out) ? SOLVE_UNKNOWN : p;
}

static solve_state solve_eval(solve_walk *w, tn_sym e, solve_line *out);

static solve_state solve_sum(solve_walk *w, tn_sym e, solve_line *out) {
  solve_state worst = SOLVE_DEFINED;
  tn_i128 a = e->k, b = 0;
  bool fits = true;
  for (uint32_t i = 0; i < e->n; i++) {
    solve_line x;
    const solve_state s = solve_eval(w, e->args[i], &x);
    if (s > worst) worst = s;
    fits = fits && !__builtin_add_overflow(a, (tn_i128)x.a * e->coefs[i], &a) &&
           !__builtin_add_overflow(b, (tn_i128)x.b * e->coefs[i], &b);
  }
  *out = (solve_line){(int64_t)a, (int64_t)b};
  return worst == SOLVE_DEFINED && (!fits || out->a != a || out->b != b) ? SOLVE_UNKNOWN : worst;
}

static solve_state solve_product(solve_walk *w, tn_sym e, solve_line *out) {
  solve_state worst = SOLVE_DEFINED;
  *out = (solve_line){1, 0};
  for (uint32_t i = 0; i < e->n; i++) {
    solve_line x;
    solve_state s = solve_eval(w, e->args[i], &x);
    if (s == SOLVE_DEFINED && worst == SOLVE_DEFINED) s = solve_times(*out, x, out);
    if (s > worst) worst = s;
  }
  return worst;
}

/* The argument that is least or greatest in the end; for bcast the one that is not 1. */
static solve_state solve_choice(solve_walk *w, tn_sym e, solve_line *out) {
  solve_state worst = SOLVE_DEFINED;
  for (uint32_t i = 0; i < e->n; i++) {
    solve_line x, d;
    solve_state s = solve_eval(w, e->args[i], &x);
    if (s == SOLVE_DEFINED && i > 0 && worst == SOLVE_DEFINED) {
      if (!solve_subtract(x, *out, &d)) return SOLVE_UNKNOWN;
      const int sign = solve_sign(w, d);
      const bool is_one = solve_sign(w, (solve_line){out->a - 1, out->b}) == 0;
      if (e->kind == TN_SYM_BCAST && sign != 0 && !is_one && solve_sign(w, (solve_line){x.a - 1, x.b}) != 0)
        s = SOLVE_UNDEFINED;
      const bool takes = e->kind == TN_SYM_BCAST ? is_one : e->kind == TN_SYM_MIN ? sign < 0 : sign > 0;
      if (!takes) x = *out;
    }
    if (s > worst) worst = s;
    *out = x;
  }
  return worst;
}

static solve_state solve_truth(solve_walk *w, tn_sym e, bool *out) {
  solve_line x;
  const solve_state s = solve_eval(w, e, &x);
  if (s == SOLVE_DEFINED) *out = solve_sign(w, x) != 0;
  return s;
}

/* As tn_sym_eval: what decides, decides whatever the others are. */
static solve_state solve_logic(solve_walk *w, tn_sym e, solve_line *out) {
  const bool absorbing = e->kind == TN_SYM_OR;
  solve_state worst = SOLVE_DEFINED;
  for (uint32_t i = 0; i < e->n; i++) {
    bool v = false;
    const solve_state s = solve_truth(w, e->args[i], &v);
    *out = (solve_line){absorbing, 0};
    if (s == SOLVE_DEFINED && v == absorbing) return s;
    if (s > worst) worst = s;
  }
  *out = (solve_line){!absorbing, 0};
  return worst;
}

static solve_state solve_select(solve_walk *w, tn_sym e, solve_line *out) {
  bool c = false;
  const solve_state s = solve_truth(w, e->args[0], &c);
  return s == SOLVE_DEFINED ? solve_eval(w, e->args[c ? 1 : 2], out) : s;
}

static solve_state solve_one(solve_walk *w, tn_sym e, solve_line *out) {
  bool v = false;
  solve_state s;
  if (e->kind == TN_SYM_NOT) {
    s = solve_truth(w, e->args[0], &v);
    *out = (solve_line){!v, 0};
    return s;
  }
  s = solve_eval(w, e->args[0], out);
  if (s != SOLVE_DEFINED) return s;
  if (out->b != 0) return SOLVE_UNKNOWN; /* float32 rounds: no line */
  return tn_f32scale_i64(out->a, tn_f32_of_bits((uint32_t)e->k), &out->a) ? SOLVE_DEFINED : SOLVE_UNDEFINED;
}

static solve_state solve_two(solve_walk *w, tn_sym e, solve_line *out) {
  solve_line x, y, d;
  const solve_state s = solve_eval(w, e->args[0], &x), r = solve_eval(w, e->args[1], &y);
  if (s != SOLVE_DEFINED || r != SOLVE_DEFINED) return s > r ? s : r;
  if (e->kind == TN_SYM_FLOORDIV) return solve_floordiv(w, x, y, out);
  if (e->kind == TN_SYM_CEILDIV) return solve_ceildiv(w, x, y, out);
  if (e->kind == TN_SYM_MOD) return solve_mod(w, x, y, out);
  if (!solve_subtract(x, y, &d)) return SOLVE_UNKNOWN;
  const int sign = solve_sign(w, d);
  *out = (solve_line){e->kind == TN_SYM_EQ ? sign == 0 : e->kind == TN_SYM_LT ? sign < 0 : sign <= 0, 0};
  return SOLVE_DEFINED;
}

/* float32 rounds: no line. */
static solve_state solve_ratio(solve_walk *w, tn_sym e, solve_line *out) {
  solve_line x[3];
  for (int i = 0; i < 3; i++) {
    const solve_state s = solve_eval(w, e->args[i], &x[i]);
    if (s != SOLVE_DEFINED) return s;
    if (x[i].b != 0) return SOLVE_UNKNOWN;
  }
  return tn_f32ratio_i64(x[0].a, x[1].a, x[2].a, &out->a) ? SOLVE_DEFINED : SOLVE_UNDEFINED;
}

static solve_state solve_var(solve_walk *w, tn_sym e, solve_line *out) {
  const tn_sym definition = w->t->symbols.at[e->k].definition;
  *out = w->v;
  return e == w->var ? SOLVE_DEFINED : definition ? solve_eval(w, definition, out) : SOLVE_UNKNOWN;
}

static solve_state solve_node(solve_walk *w, tn_sym e, solve_line *out) {
  switch ((tn_sym_kind)e->kind) {
    case TN_SYM_INT:
      *out = (solve_line){e->k, 0};
      return SOLVE_DEFINED;
    case TN_SYM_VAR:
      return solve_var(w, e, out);
    case TN_SYM_ADD:
      return solve_sum(w, e, out);
    case TN_SYM_MUL:
      return solve_product(w, e, out);
    case TN_SYM_MIN:
    case TN_SYM_MAX:
    case TN_SYM_BCAST:
      return solve_choice(w, e, out);
    case TN_SYM_AND:
    case TN_SYM_OR:
      return solve_logic(w, e, out);
    case TN_SYM_SELECT:
      return solve_select(w, e, out);
    case TN_SYM_NOT:
    case TN_SYM_F32SCALE:
      return solve_one(w, e, out);
    case TN_SYM_F32RATIO:
      return solve_ratio(w, e, out);
    case TN_SYM_OVERFLOW:
    case TN_N_SYM_KINDS:
      return SOLVE_UNDEFINED;
    default:
      return solve_two(w, e, out);
  }
}

static solve_state solve_eval(solve_walk *w, tn_sym e, solve_line *out) {
  *out = (solve_line){0, 0};
  if (w->depth >= SOLVE_DEPTH || --w->work < 0) return SOLVE_UNKNOWN;
  w->depth++;
  const solve_state s = solve_node(w, e, out);
  w->depth--;
  return s;
}

/* Where one condition begins to repeat, and with which period; false when it is not seen to. */
static bool solve_repeats(solve_walk *w, tn_sym condition, int64_t lo, int64_t *from, int64_t *period) {
  *period = 1;
  for (int64_t r = 0; r < *period; r++) {
    bool v;
    w->v = (solve_line){lo + r, *period};
    if (r == 0) w->settled = 0;
    w->need = 1;
    if (solve_truth(w, condition, &v) != SOLVE_UNKNOWN) continue;
    if (w->need < 2 || w->need > SOLVE_PERIOD || *period * w->need > SOLVE_PERIOD) return false;
    *period *= w->need;
    r = -1;
  }
  int64_t reach;
  return tn_mul_i64(w->settled, *period, &reach) && tn_add_i64(lo, reach, from) && reach <= SOLVE_NUMBERS;
}

/* Is the symbol the only one, definitions entered? */
static void solve_visit(void *arg, uint32_t symbol) {
  solve_walk *const w = arg;
  const tn_sym definition = w->t->symbols.at[symbol].definition;
  if ((int64_t)symbol == w->var->k) return;
  if (!definition || w->depth >= SOLVE_NEST) {
    w->need = 0;
    return;
  }
  w->depth++;
  tn_sym_symbols(w->t, definition, solve_visit, w);
  w->depth--;
}

static bool solve_is_alone(solve_walk *w, tn_sym condition) {
  w->need = 1;
  tn_sym_symbols(w->t, condition, solve_visit, w);
  return w->need == 1;
}

/* What cannot be said at one number spoils the whole. */
static bool solve_holds(solve_walk *w, tn_sym condition, int64_t number) {
  bool v = false;
  w->v = (solve_line){number, 0};
  const solve_state s = solve_truth(w, condition, &v);
  if (s == SOLVE_UNKNOWN) w->work = -1;
  return s == SOLVE_DEFINED && v;
}

/* Those conditions that repeat soon enough, and the period of all. Where one does not, but the symbol's range is small,
 * the set has no period and ends. */
static size_t solve_gather(solve_walk *w, const tn_sym *conditions, size_t n, bool *solved, tn_sym_set *out) {
  const tn_symbol *const s = tn_sym_fact(w->t, w->var);
  const bool is_small = s->max < SOLVE_RANGE;
  size_t count = 0;
  out->from = s->min;
  out->period = s->multiple_of;
  for (size_t i = 0; i < n && out->period; i++) {
    int64_t from, period;
    if (!solve_is_alone(w, conditions[i])) continue;
    if (solve_repeats(w, conditions[i], s->min, &from, &period)) {
      const int64_t both = out->period / tn_sym_gcd(out->period, period) * period;
      solved[i] = both <= SOLVE_PERIOD;
      if (solved[i]) out->period = both;
      if (solved[i] && from > out->from) out->from = from;
    } else if (is_small) {
      out->period = 0;
      out->from = s->max + 1;
    }
  }
  for (size_t i = 0; i < n; i++) {
    if (out->period == 0) solved[i] = solve_is_alone(w, conditions[i]);
    count += solved[i];
  }
  return count;
}

/* Evaluating costs; what is past the limit is left out. */
static size_t solve_afford(const tn_sym *conditions, size_t n, bool *solved, int64_t numbers) {
  int64_t left = SOLVE_WORK / 4;
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const int64_t costs = numbers * (int64_t)conditions[i]->size; /* < 2^17 * 2^32 */
    solved[i] = solved[i] && costs <= left;
    if (solved[i]) left -= costs;
    count += solved[i];
  }
  return count;
}

static bool solve_may_be(const solve_walk *w, int64_t number) {
  const int64_t by = tn_sym_fact(w->t, w->var)->multiple_of;
  return by <= 1 || number % by == 0;
}

/* A condition is implied where each number that it refuses is refused by another one that stays. */
static void solve_drop_implied(solve_walk *w, const tn_sym *conditions, size_t n, const bool *solved, bool *implied,
                               const tn_sym_set *set, tn_arena *arena) {
  const int64_t count = tn_sym_set_count(set);
  uint32_t *const refusals = TN_NEW_ARRAY(arena, uint32_t, count + 1);
  bool *const holds = TN_NEW_ARRAY(arena, bool, count + 1);
  for (int64_t k = 0; k < count; k++)
    for (size_t i = 0; i < n; i++) refusals[k] += solved[i] && !solve_holds(w, conditions[i], set->lo + k);
  for (size_t i = n; i-- > 0;) {
    if (!solved[i]) continue;
    implied[i] = true;
    for (int64_t k = 0; k < count; k++) {
      holds[k] = solve_holds(w, conditions[i], set->lo + k);
      implied[i] = implied[i] && (holds[k] || refusals[k] > 1 || !solve_may_be(w, set->lo + k));
    }
    for (int64_t k = 0; implied[i] && k < count; k++) refusals[k] -= !holds[k];
  }
}

int64_t tn_sym_set_count(const tn_sym_set *set) { return set->from + set->period - set->lo; }

bool tn_sym_set_has(const tn_sym_set *set, int64_t number) {
  if (number < set->lo || (set->period == 0 && number >= set->from)) return false;
  return set->has[number < set->from ? number - set->lo : set->from - set->lo + (number - set->from) % set->period];
}

/* The shortest period, from the first number on. */
static void solve_shorten(tn_sym_set *set) {
  for (int64_t p = 1; p < set->period; p++) {
    bool same = set->period % p == 0;
    for (int64_t k = set->from - set->lo; same && k + p < tn_sym_set_count(set); k++)
      same = set->has[k] == set->has[k + p];
    if (same) set->period = p;
  }
  while (set->period && set->from > set->lo &&
         tn_sym_set_has(set, set->from - 1) == tn_sym_set_has(set, set->from - 1 + set->period))
    set->from--;
}

size_t tn_sym_solve(tn_symtab *t, tn_arena *arena, tn_sym var, const tn_sym *conditions, size_t n, bool *solved,
                    bool *implied, tn_sym_set *out) {
  const tn_symbol *const s = tn_sym_fact(t, var);
  solve_walk w = {.t = t, .var = var, .need = 1, .work = SOLVE_WORK};
  *out = (tn_sym_set){.var = var, .lo = s->min};
  for (size_t i = 0; i < n; i++) solved[i] = implied[i] = false;
  if (s->min < -SOLVE_RANGE || s->min > SOLVE_RANGE || s->max < s->min || s->multiple_of > SOLVE_RANGE) return 0;
  size_t count = solve_gather(&w, conditions, n, solved, out);
  const int64_t numbers = tn_sym_set_count(out);
  count = count ? solve_afford(conditions, n, solved, numbers) : 0;
  if (count == 0) return 0;
  bool *const has = TN_NEW_ARRAY(arena, bool, numbers + 1);
  w.work = SOLVE_WORK;
  for (int64_t k = 0; k < numbers; k++) {
    has[k] = solve_may_be(&w, out->lo + k);
    for (size_t i = 0; i < n && has[k]; i++) has[k] = !solved[i] || solve_holds(&w, conditions[i], out->lo + k);
  }
  out->has = has;
  if (n > 1) solve_drop_implied(&w, conditions, n, solved, implied, out, arena);
  if (w.work < 0) {
    for (size_t i = 0; i < n; i++) solved[i] = implied[i] = false;
    return 0;
  }
  solve_shorten(out);
  return count;
}
