/* Substitution and the symbols of an expression: walks over the graph without recursion, each node once. */
#include "base/half.h"
#include "sym/node.h"

typedef struct subst_walk {
  tn_symtab *t, *to; /* the expression's table, the result's */
  tn_sym (*subst)(void *arg, uint32_t symbol);
  void *arg;
  uint32_t stamp;
  TN_VEC(tn_sym_frame) stack;
} subst_walk;

static tn_sym subst_of(subst_walk *w, tn_sym e) {
  const tn_sym_memo *const m = tn_sym_memo_of(w->t, e);
  return m->stamp == w->stamp ? m->result : NULL;
}

static void subst_set(subst_walk *w, tn_sym e, tn_sym result) {
  tn_sym_memo *const m = tn_sym_memo_of(w->t, e);
  m->stamp = w->stamp;
  m->state = 0;
  m->result = result;
}

static tn_sym subst_sum(tn_symtab *t, tn_sym e, const tn_sym *args) {
  tn_poly p;
  tn_poly_init(&p, t);
  p.k = e->k;
  for (uint32_t i = 0; i < e->n; i++) tn_poly_add(&p, args[i], e->coefs[i]);
  return tn_poly_node(&p);
}

static tn_sym subst_scale(tn_symtab *t, tn_sym e, tn_sym a) {
  return tn_sym_f32scale(t, a, tn_f32_of_bits((uint32_t)e->k));
}

static tn_sym subst_rebuild(tn_symtab *t, tn_sym e, const tn_sym *args) {
  switch ((tn_sym_kind)e->kind) {
    case TN_SYM_ADD:
      return subst_sum(t, e, args);
    case TN_SYM_MUL:
      return tn_sym_product(t, args, e->n);
    case TN_SYM_FLOORDIV:
      return tn_sym_floordiv(t, args[0], args[1]);
    case TN_SYM_CEILDIV:
      return tn_sym_ceildiv(t, args[0], args[1]);
    case TN_SYM_MOD:
      return tn_sym_mod(t, args[0], args[1]);
    case TN_SYM_MIN:
    case TN_SYM_MAX:
    case TN_SYM_BCAST:
      return tn_sym_lattice(t, (tn_sym_kind)e->kind, args, e->n);
    case TN_SYM_F32SCALE:
      return subst_scale(t, e, args[0]);
    case TN_SYM_F32RATIO:
      return tn_sym_f32ratio(t, args[0], args[1], args[2]);
    case TN_SYM_EQ:
      return tn_sym_eq(t, args[0], args[1]);
    case TN_SYM_LT:
      return tn_sym_lt(t, args[0], args[1]);
    case TN_SYM_LE:
      return tn_sym_le(t, args[0], args[1]);
    case TN_SYM_AND:
    case TN_SYM_OR:
      return tn_sym_logic(t, (tn_sym_kind)e->kind, args, e->n);
    case TN_SYM_NOT:
      return tn_sym_not(t, args[0]);
    case TN_SYM_SELECT:
      return tn_sym_select(t, args[0], args[1], args[2]);
    case TN_SYM_INT:
    case TN_SYM_VAR:
    case TN_SYM_OVERFLOW:
    case TN_N_SYM_KINDS:
      break;
  }
  return e;
}

/* All arguments are done: e is e where none changed. */
static void subst_leave(subst_walk *w, tn_sym e) {
  tn_sym small[16] = {NULL};
  tn_sym *const args = e->n <= TN_COUNT(small) ? small : TN_NEW_ARRAY(w->to->arena, tn_sym, e->n);
  bool changed = false;
  for (uint32_t i = 0; i < e->n; i++) {
    args[i] = subst_of(w, e->args[i]);
    changed |= args[i] != e->args[i];
  }
  subst_set(w, e, changed ? subst_rebuild(w->to, e, args) : e);
}

static tn_sym subst_leaf(subst_walk *w, tn_sym e) {
  const tn_sym by = e->kind == TN_SYM_VAR ? w->subst(w->arg, (uint32_t)e->k) : NULL;
  if (by || w->to == w->t) return by ? by : e;
  return e->kind == TN_SYM_INT ? tn_sym_int(w->to, e->k) : w->to->overflow;
}

static void subst_enter(subst_walk *w, tn_sym e) {
  if (e->n == 0) {
    subst_set(w, e, subst_leaf(w, e));
  } else {
    tn_vec_push(w->t->arena, &w->stack, (tn_sym_frame){e, 0});
  }
}

/* The callback may start walks of its own, which take over rows of the side table: what is missing is done again. */
tn_sym tn_sym_copy(tn_symtab *to, tn_symtab *t, tn_sym e, tn_sym (*subst)(void *arg, uint32_t symbol), void *arg) {
  subst_walk w = {.t = t, .to = to, .subst = subst, .arg = arg, .stamp = ++t->stamp};
  subst_enter(&w, e);
  while (w.stack.n > 0) {
    tn_sym_frame *const f = &w.stack.at[w.stack.n - 1];
    while (f->next < f->e->n && subst_of(&w, f->e->args[f->next])) f->next++;
    if (f->next < f->e->n) {
      subst_enter(&w, f->e->args[f->next]);
      continue;
    }
    f->next = 0;
    while (f->next < f->e->n && subst_of(&w, f->e->args[f->next])) f->next++;
    if (f->next < f->e->n) continue;
    const tn_sym done = f->e;
    w.stack.n--;
    subst_leave(&w, done);
  }
  return subst_of(&w, e);
}

tn_sym tn_sym_substitute(tn_symtab *t, tn_sym e, tn_sym (*subst)(void *arg, uint32_t symbol), void *arg) {
  return tn_sym_copy(t, t, e, subst, arg);
}

static void symbols_sort(uint32_t *at, size_t n, uint32_t *tmp) {
  if (n < 2) return;
  const size_t mid = n / 2;
  symbols_sort(at, mid, tmp);
  symbols_sort(at + mid, n - mid, tmp);
  memcpy(tmp, at, mid * sizeof *at);
  size_t i = 0, j = mid, to = 0;
  while (i < mid && j < n) at[to++] = at[j] < tmp[i] ? at[j++] : tmp[i++];
  while (i < mid) at[to++] = tmp[i++];
}

static bool symbols_enter(tn_symtab *t, uint32_t stamp, tn_sym e) {
  tn_sym_memo *const m = tn_sym_memo_of(t, e);
  if (m->stamp == stamp) return false;
  m->stamp = stamp;
  m->result = NULL;
  m->state = 0;
  return true;
}

void tn_sym_symbols(tn_symtab *t, tn_sym e, void (*visit)(void *arg, uint32_t symbol), void *arg) {
  const uint32_t stamp = ++t->stamp;
  TN_VEC(uint32_t) found = {0};
  TN_VEC(tn_sym) todo = {0};
  (void)symbols_enter(t, stamp, e);
  tn_vec_push(t->arena, &todo, e);
  while (todo.n > 0) {
    const tn_sym at = todo.at[--todo.n];
    if (at->kind == TN_SYM_VAR) tn_vec_push(t->arena, &found, (uint32_t)at->k);
    for (uint32_t i = 0; i < at->n; i++)
      if (symbols_enter(t, stamp, at->args[i])) tn_vec_push(t->arena, &todo, at->args[i]);
  }
  if (found.n > 1) symbols_sort(found.at, found.n, TN_NEW_ARRAY(t->arena, uint32_t, found.n));
  for (size_t i = 0; i < found.n; i++) visit(arg, found.at[i]);
}
