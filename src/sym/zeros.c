/* Proofs by cases: sizes are 0, or they are not. Each case is read anew in a table of its own, where the ranges and
 * what is given are facts: `select(B*S == 0, 0, 8*S//S)` is 8 where both are at least 1. */
#include "sym/node.h"

enum { ZEROS_MAX = 3 };

typedef struct zeros {
  tn_symtab *t, *to;
  uint32_t at[ZEROS_MAX];
  int n;
  int mask; /* bit i: symbol at[i] is not 0 */
} zeros;

static void zeros_visit(void *arg, uint32_t symbol) {
  zeros *const z = arg;
  if (z->n < ZEROS_MAX) z->at[z->n] = symbol;
  z->n++;
}

static tn_sym zeros_var(void *arg, uint32_t symbol) {
  const zeros *const z = arg;
  const tn_symbol *const s = &z->t->symbols.at[symbol];
  tn_symbol *const other = tn_sym_add_symbol(z->to, s->name);
  return other->var;
}

/* False: no number is left to a symbol. */
static bool zeros_enter_symbol(const zeros *z, uint32_t symbol, int which) {
  const tn_symbol *const s = &z->t->symbols.at[symbol];
  tn_symbol *const other = tn_sym_add_symbol(z->to, s->name);
  other->min = s->min;
  other->max = s->max;
  other->multiple_of = s->multiple_of;
  if (which == 0) other->min = other->max = 0;
  if (which == 1 && other->min < 1) other->min = 1;
  return other->min <= other->max && s->min <= other->min && other->max <= s->max;
}

/* The facts of the symbols that a condition speaks of; those told apart have theirs. */
static void zeros_bring(void *arg, uint32_t symbol) {
  const zeros *const z = arg;
  if (!tn_sym_find_symbol(z->to, z->t->symbols.at[symbol].name)) (void)zeros_enter_symbol(z, symbol, -1);
}

static tn_sym zeros_copy(zeros *z, tn_sym e) {
  tn_sym_symbols(z->t, e, zeros_bring, z);
  return tn_sym_copy(z->to, z->t, e, zeros_var, z);
}

/* True as well for a case that cannot be. */
static bool zeros_case(zeros *z, tn_arena *arena, const tn_sym *given, size_t n, tn_sym condition) {
  z->to = tn_symtab_new_in(z->t->ctx, arena);
  for (int i = 0; i < z->n; i++)
    if (!zeros_enter_symbol(z, z->at[i], z->mask >> i & 1)) return true;
  for (size_t i = 0; i < n; i++)
    if (!tn_sym_assume_quietly(z->to, zeros_copy(z, given[i]))) return true;
  const tn_sym e = zeros_copy(z, condition);
  if (tn_sym_prove(z->to, e) == TN_TRUE) return true;
  tn_premises *const p = tn_premises_new(z->to);
  for (size_t i = 0; i < n; i++) tn_premises_add(p, zeros_copy(z, given[i]));
  return tn_premises_contradict(p) || tn_premises_prove_by_cases(p, e) == TN_TRUE;
}

bool tn_sym_prove_by_zeros(tn_symtab *t, tn_arena *arena, const tn_sym *given, size_t n, tn_sym condition) {
  zeros z = {.t = t};
  tn_sym_symbols(t, condition, zeros_visit, &z);
  if (z.n > ZEROS_MAX) return false;
  for (int i = 0; i < z.n; i++)
    if (t->symbols.at[z.at[i]].min < 0) return false;
  for (z.mask = 0; z.mask < 1 << z.n; z.mask++)
    if (!zeros_case(&z, arena, given, n, condition)) return false;
  return true;
}
