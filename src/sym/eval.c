/* Exact evaluation. Walks without recursion; each node once. Sums are added in 128 bits, so only the result must fit.
 */
#include "base/half.h"
#include "sym/node.h"

enum { EVAL_OPEN = 1, EVAL_DONE = 16 }; /* DONE + the status */

static tn_status eval_known(const tn_sym_evaluation *w, tn_sym e, int64_t *out) {
  const tn_sym_memo *const m = tn_sym_memo_of(w->t, e);
  *out = m->value;
  return (tn_status)(m->state - EVAL_DONE);
}

static bool eval_is_known(const tn_sym_evaluation *w, tn_sym e) {
  const tn_sym_memo *const m = tn_sym_memo_of(w->t, e);
  return m->stamp == w->stamp && m->state >= EVAL_DONE;
}

static bool eval_is_open(const tn_sym_evaluation *w, tn_sym e) {
  const tn_sym_memo *const m = tn_sym_memo_of(w->t, e);
  return m->stamp == w->stamp && m->state == EVAL_OPEN;
}

static void eval_set(const tn_sym_evaluation *w, tn_sym e, tn_status s, int64_t v) {
  tn_sym_memo *const m = tn_sym_memo_of(w->t, e);
  m->stamp = w->stamp;
  m->state = (uint8_t)(EVAL_DONE + (int)s);
  m->value = v;
}

static tn_status eval_sum(const tn_sym_evaluation *w, tn_sym e, int64_t *out) {
  tn_i128 sum = e->k;
  for (uint32_t i = 0; i < e->n; i++) {
    int64_t v;
    TN_TRY(eval_known(w, e->args[i], &v));
    if (__builtin_add_overflow(sum, (tn_i128)v * e->coefs[i], &sum)) return TN_LIMIT;
  }
  if (sum < INT64_MIN || sum > INT64_MAX) return TN_LIMIT;
  *out = (int64_t)sum;
  return TN_OK;
}

static tn_status eval_product(const tn_sym_evaluation *w, tn_sym e, int64_t *out) {
  int64_t r = 1;
  bool zero = false, big = false;
  for (uint32_t i = 0; i < e->n; i++) {
    int64_t v;
    TN_TRY(eval_known(w, e->args[i], &v));
    zero |= v == 0;
    big |= !tn_mul_i64(r, v, &r);
  }
  *out = zero ? 0 : r;
  return big && !zero ? TN_LIMIT : TN_OK;
}

/* A false argument decides `and` whatever the others do, in any order; so does a true one `or`. */
static tn_status eval_logic(const tn_sym_evaluation *w, tn_sym e, int64_t *out) {
  const bool absorbing = e->kind == TN_SYM_OR;
  tn_status worst = TN_OK;
  for (uint32_t i = 0; i < e->n; i++) {
    int64_t v;
    const tn_status s = eval_known(w, e->args[i], &v);
    if (s == TN_OK && (v != 0) == absorbing) {
      *out = absorbing;
      return TN_OK;
    }
    if (worst == TN_OK) worst = s;
  }
  *out = !absorbing;
  return worst;
}

static tn_status eval_choice(const tn_sym_evaluation *w, tn_sym e, int64_t *out) {
  int64_t r;
  TN_TRY(eval_known(w, e->args[0], &r));
  for (uint32_t i = 1; i < e->n; i++) {
    int64_t v;
    TN_TRY(eval_known(w, e->args[i], &v));
    if (e->kind == TN_SYM_BCAST) {
      if (v != r && v != 1 && r != 1) return TN_INVALID;
      r = r == 1 ? v : r;
    } else {
      r = (e->kind == TN_SYM_MIN) == (v < r) ? v : r;
    }
  }
  *out = r;
  return TN_OK;
}

static tn_status eval_divide(tn_sym_kind kind, int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return TN_INVALID;
  const bool ok = kind == TN_SYM_FLOORDIV  ? tn_floordiv_i64(a, b, out)
                  : kind == TN_SYM_CEILDIV ? tn_ceildiv_i64(a, b, out)
                                           : tn_mod_i64(a, b, out);
  return ok ? TN_OK : TN_LIMIT;
}

static tn_status eval_two(const tn_sym_evaluation *w, tn_sym e, int64_t *out) {
  int64_t a, b;
  TN_TRY(eval_known(w, e->args[0], &a));
  TN_TRY(eval_known(w, e->args[1], &b));
  switch ((tn_sym_kind)e->kind) {
    case TN_SYM_EQ:
      *out = a == b;
      return TN_OK;
    case TN_SYM_LT:
      *out = a < b;
      return TN_OK;
    case TN_SYM_LE:
      *out = a <= b;
      return TN_OK;
    default:
      return eval_divide((tn_sym_kind)e->kind, a, b, out);
  }
}

static tn_status eval_one(const tn_sym_evaluation *w, tn_sym e, int64_t *out) {
  int64_t a;
  switch ((tn_sym_kind)e->kind) {
    case TN_SYM_NOT:
      TN_TRY(eval_known(w, e->args[0], &a));
      *out = a == 0;
      return TN_OK;
    case TN_SYM_F32SCALE:
      TN_TRY(eval_known(w, e->args[0], &a));
      return tn_f32scale_i64(a, tn_f32_of_bits((uint32_t)e->k), out) ? TN_OK : TN_LIMIT;
    case TN_SYM_SELECT:
      TN_TRY(eval_known(w, e->args[0], &a));
      return eval_known(w, e->args[a ? 1 : 2], out);
    default:
      return TN_LIMIT; /* overflow */
  }
}

static tn_status eval_ratio(const tn_sym_evaluation *w, tn_sym e, int64_t *out) {
  int64_t a, n, d;
  TN_TRY(eval_known(w, e->args[0], &a));
  TN_TRY(eval_known(w, e->args[1], &n));
  TN_TRY(eval_known(w, e->args[2], &d));
  if (d == 0) return TN_INVALID;
  return tn_f32ratio_i64(a, n, d, out) ? TN_OK : TN_LIMIT;
}

static tn_status eval_args(const tn_sym_evaluation *w, tn_sym e, int64_t *out) {
  switch ((tn_sym_kind)e->kind) {
    case TN_SYM_INT:
      *out = e->k;
      return TN_OK;
    case TN_SYM_ADD:
      return eval_sum(w, e, out);
    case TN_SYM_MUL:
      return eval_product(w, e, out);
    case TN_SYM_AND:
    case TN_SYM_OR:
      return eval_logic(w, e, out);
    case TN_SYM_MIN:
    case TN_SYM_MAX:
    case TN_SYM_BCAST:
      return eval_choice(w, e, out);
    case TN_SYM_NOT:
    case TN_SYM_F32SCALE:
    case TN_SYM_SELECT:
    case TN_SYM_OVERFLOW:
      return eval_one(w, e, out);
    case TN_SYM_F32RATIO:
      return eval_ratio(w, e, out);
    default:
      return eval_two(w, e, out);
  }
}

/* What e still waits for; NULL when it can be computed. */
static tn_sym eval_waits_for(const tn_sym_evaluation *w, tn_sym_frame *f) {
  const tn_sym e = f->e;
  int64_t c;
  if (e->kind == TN_SYM_VAR) {
    const tn_sym d = w->t->symbols.at[e->k].definition;
    return eval_is_known(w, d) ? NULL : d;
  }
  if (e->kind == TN_SYM_SELECT) {
    if (!eval_is_known(w, e->args[0])) return e->args[0];
    if (eval_known(w, e->args[0], &c) != TN_OK) return NULL;
    const tn_sym arm = e->args[c ? 1 : 2];
    return eval_is_known(w, arm) ? NULL : arm;
  }
  while (f->next < e->n && eval_is_known(w, e->args[f->next])) f->next++;
  return f->next < e->n ? e->args[f->next] : NULL;
}

/* Constants and bound symbols at once; the rest waits on the stack. */
static void eval_enter(const tn_sym_evaluation *w, tn_sym e) {
  int64_t v = 0;
  if (e->kind == TN_SYM_VAR) {
    if (w->env && w->env(w->arg, (uint32_t)e->k, &v)) {
      eval_set(w, e, TN_OK, v);
      return;
    }
    if (!w->t->symbols.at[e->k].definition) {
      eval_set(w, e, TN_INVALID, 0);
      return;
    }
  }
  tn_sym_memo *const m = tn_sym_memo_of(w->t, e);
  m->stamp = w->stamp;
  m->state = EVAL_OPEN;
  tn_vec_push(w->t->arena, &w->t->frames, (tn_sym_frame){e, 0});
}

static void eval_leave(const tn_sym_evaluation *w, tn_sym e) {
  int64_t v = 0;
  const tn_status s =
      e->kind == TN_SYM_VAR ? eval_known(w, w->t->symbols.at[e->k].definition, &v) : eval_args(w, e, &v);
  eval_set(w, e, s, v);
  w->t->frames.n--;
}

tn_sym_evaluation tn_sym_evaluation_begin(tn_symtab *t, tn_sym_env env, void *arg) {
  return (tn_sym_evaluation){.t = t, .env = env, .arg = arg, .stamp = ++t->stamp};
}

tn_status tn_sym_evaluate(const tn_sym_evaluation *w, tn_sym e, int64_t *out) {
  const size_t base = w->t->frames.n;
  if (e->kind == TN_SYM_INT) {
    *out = e->k;
    return TN_OK;
  }
  if (!eval_is_known(w, e)) eval_enter(w, e);
  while (w->t->frames.n > base) {
    tn_sym_frame *const f = &w->t->frames.at[w->t->frames.n - 1];
    const tn_sym next = eval_waits_for(w, f);
    if (!next) {
      eval_leave(w, f->e);
    } else if (eval_is_open(w, next)) { /* only a definition that holds its own symbol does that */
      eval_set(w, next, TN_INVALID, 0);
    } else {
      eval_enter(w, next);
    }
  }
  return eval_known(w, e, out);
}

tn_status tn_sym_eval(tn_symtab *t, tn_sym e, tn_sym_env env, void *arg, int64_t *out) {
  const tn_sym_evaluation once = tn_sym_evaluation_begin(t, env, arg);
  return tn_sym_evaluate(&once, e, out);
}
