/* How often a loop runs, where its condition compares what each round changes by the same number: the round's number,
 * counters that are carried, and what the loop leaves alone. */
#include "op/control.h"

enum { ROUNDS_DEPTH = 16 };

typedef struct rounds_line { /* the value in round i, from 0: first + step * i */
  tn_sym first;
  int64_t step;
} rounds_line;

static bool rounds_of(tn_op_loop_body *l, const tn_value *v, int depth, rounds_line *out);

static bool rounds_is(const tn_node *n, const char *name) { return n && strcmp(n->op->name, name) == 0; }

static bool rounds_is_one(const tn_type *t) {
  return t->kind == TN_TYPE_TENSOR && t->dtype == TN_I64 && tn_type_has_rank(t) && t->rank <= 1 &&
         (t->rank == 0 || tn_sym_is(t->dims[0], 1));
}

/* What an integer is that is the same in all rounds, or NULL. */
static tn_sym rounds_fixed(tn_op_loop_body *l, const tn_type *t) {
  const bool known = t->content && t->content[0].kind == TN_ELEM_SYM;
  return known && tn_op_leaves(&l->inside, t->content[0].sym) ? t->content[0].sym : NULL;
}

/* a + sign * b */
static bool rounds_sum(tn_op_loop_body *l, const tn_node *n, int64_t sign, int depth, rounds_line *out) {
  rounds_line a, b;
  int64_t step;
  if (!rounds_of(l, n->in[0], depth, &a) || !rounds_of(l, n->in[1], depth, &b)) return false;
  if (!tn_mul_i64(b.step, sign, &step) || !tn_add_i64(a.step, step, &step)) return false;
  *out = (rounds_line){tn_sym_add(l->rule->syms, a.first, tn_sym_muli(l->rule->syms, b.first, sign)), step};
  return true;
}

/* What a round adds to a carried integer: the result is the parameter and something fixed. NULL: not so. */
static tn_sym rounds_added(tn_op_loop_body *l, const tn_value *v, const tn_value *param, int depth) {
  tn_symtab *const t = l->rule->syms;
  if (v == param) return tn_sym_int(t, 0);
  if (!v->def || depth == 0 || !rounds_is_one(&v->type)) return NULL;
  const tn_node *const n = v->def;
  const bool add = rounds_is(n, "add"), sub = rounds_is(n, "sub");
  if (rounds_is(n, "identity")) return rounds_added(l, n->in[0], param, depth - 1);
  if (!add && !sub) return NULL;
  const tn_sym right = rounds_fixed(l, &n->in[1]->type), left = add ? rounds_fixed(l, &n->in[0]->type) : NULL;
  const tn_sym rest = right  ? rounds_added(l, n->in[0], param, depth - 1)
                      : left ? rounds_added(l, n->in[1], param, depth - 1)
                             : NULL;
  if (!rest) return NULL;
  return right && sub ? tn_sym_sub(t, rest, right) : tn_sym_add(t, rest, right ? right : left);
}

tn_sym tn_op_loop_step(tn_op_loop_body *l, int state) {
  const tn_value *const param = l->body->params[2 + state];
  return rounds_is_one(&param->type) ? rounds_added(l, l->body->results[1 + state], param, ROUNDS_DEPTH) : NULL;
}

/* A carried integer, as it comes into a round. */
static bool rounds_carried(tn_op_loop_body *l, const tn_value *v, rounds_line *out) {
  for (int i = 2; i < l->body->n_params; i++) {
    if (v != l->body->params[i] || !rounds_is_one(&v->type)) continue;
    const tn_sym first = rounds_fixed(l, l->rule->in[i]), step = tn_op_loop_step(l, i - 2);
    if (!first || !step || !tn_sym_is_int(step)) return false;
    *out = (rounds_line){first, step->k};
    return true;
  }
  return false;
}

static bool rounds_of(tn_op_loop_body *l, const tn_value *v, int depth, rounds_line *out) {
  if (depth == 0 || !rounds_is_one(&v->type)) return false;
  const tn_sym fixed = rounds_fixed(l, &v->type);
  *out = fixed ? (rounds_line){fixed, 0} : (rounds_line){tn_sym_int(l->rule->syms, 0), 1};
  if (fixed || v == l->body->params[0]) return true;
  if (rounds_carried(l, v, out)) return true;
  const tn_node *const n = v->def;
  if (rounds_is(n, "identity") || rounds_is(n, "reshape") || rounds_is(n, "squeeze") || rounds_is(n, "unsqueeze"))
    return rounds_of(l, n->in[0], depth - 1, out);
  if (rounds_is(n, "add")) return rounds_sum(l, n, 1, depth - 1, out);
  return rounds_is(n, "sub") && rounds_sum(l, n, -1, depth - 1, out);
}

/* `margin` >= 0 in the rounds after which another follows. */
static bool rounds_margin(tn_op_loop_body *l, const tn_node *n, rounds_line *margin) {
  rounds_line a, b;
  const bool less = rounds_is(n, "less"), le = rounds_is(n, "less_or_equal");
  const bool greater = rounds_is(n, "greater"), ge = rounds_is(n, "greater_or_equal");
  if (!less && !le && !greater && !ge) return false;
  const tn_value *const low = n->in[less || le ? 0 : 1], *const high = n->in[less || le ? 1 : 0];
  if (!rounds_of(l, low, ROUNDS_DEPTH, &a) || !rounds_of(l, high, ROUNDS_DEPTH, &b)) return false;
  margin->first = tn_sym_addi(l->rule->syms, tn_sym_sub(l->rule->syms, b.first, a.first), less || greater ? -1 : 0);
  return tn_sub_i64(b.step, a.step, &margin->step) && margin->step != INT64_MIN;
}

/* The comparison that ends the loop, or NULL. True in *out_all: nothing does. */
static const tn_node *rounds_condition(const tn_op_loop_body *l, bool *out_all) {
  const tn_value *v = l->body->results[0];
  *out_all = false;
  for (int depth = ROUNDS_DEPTH; depth > 0; depth--) {
    const tn_sym fixed = v->type.content && v->type.content[0].kind == TN_ELEM_SYM ? v->type.content[0].sym : NULL;
    *out_all = v == l->body->params[1] || (fixed && tn_sym_is_int(fixed) && fixed->k != 0);
    if (*out_all || !v->def) return NULL;
    const bool both = rounds_is(v->def, "and"); /* the condition that let the round begin is true in it */
    const int other = both && v->def->in[0] == l->body->params[1] ? 1 : 0;
    if (!rounds_is(v->def, "identity") && !(both && v->def->in[1 - other] == l->body->params[1])) return v->def;
    v = v->def->in[other];
  }
  return NULL;
}

tn_sym tn_op_loop_rounds(tn_op_loop_body *l, tn_sym most) {
  tn_symtab *const t = l->rule->syms;
  const tn_type *const begin = tn_rule_has(l->rule, 1) ? l->rule->in[1] : NULL;
  const tn_sym zero = tn_sym_int(t, 0), one = tn_sym_int(t, 1);
  const tn_sym begins = !begin                                                    ? one
                        : begin->content && begin->content[0].kind == TN_ELEM_SYM ? begin->content[0].sym
                                                                                  : NULL;
  bool all;
  rounds_line margin;
  const tn_node *const n = rounds_condition(l, &all);
  if (!begins) return NULL;
  if (all) return most ? tn_sym_select(t, begins, most, zero) : NULL;
  if (!n || !rounds_margin(l, n, &margin)) return NULL;
  if (margin.step >= 0) /* once true it stays so */
    return most && tn_sym_bounds(t, margin.first).lo >= 0 ? tn_sym_select(t, begins, most, zero) : NULL;
  const tn_sym count = tn_sym_addi(t, tn_sym_floordiv(t, margin.first, tn_sym_int(t, -margin.step)), 2);
  const bool same = begins == tn_sym_le(t, zero, tn_sym_addi(t, margin.first, -margin.step)); /* a while loop */
  const tn_sym runs = tn_sym_max(t, same ? zero : one, count), some = most ? tn_sym_min(t, most, runs) : runs;
  return same ? some : tn_sym_select(t, begins, some, zero);
}
