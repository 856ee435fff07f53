/* Control flow: If, Loop, Scan. The run time executes them itself (no kernel); their rules infer the regions and join
 * what comes out of them.
 *
 * A size that is known only inside a region does not leave it: outside, the result's dim is a symbol of its own. */
#include "op/control.h"
#include "ir/edit.h"
#include "ir/eval.h"
#include "ir/import.h"
#include "ir/infer.h"
#include "ir/rewrite.h"
#include "op/ms.h"
#include "op/sequence.h"

/* --- what may leave a region --- */

static void control_collect(tn_op_inside *in, const tn_region *region) {
  for (int i = 0; i < region->n_params; i++) tn_map_set(in->arena, &in->values, region->params[i]->id, 1);
  for (const tn_node *n = region->first; n; n = n->next) {
    for (int i = 0; i < n->n_out; i++)
      if (n->out[i]) tn_map_set(in->arena, &in->values, n->out[i]->id, 1);
    for (int i = 0; i < n->n_regions; i++) control_collect(in, n->regions[i]);
  }
}

static void control_visit(void *arg, uint32_t symbol) {
  tn_op_inside *const in = arg;
  const tn_symbol *const s = tn_sym_symbol(in->syms, symbol);
  if (s->source == TN_SOURCE_DEFINED) tn_sym_symbols(in->syms, s->definition, control_visit, in);
  if ((s->source == TN_SOURCE_DIM || s->source == TN_SOURCE_ELEM) && tn_map_find(&in->values, s->value, NULL))
    in->found = true;
}

bool tn_op_leaves(tn_op_inside *in, tn_sym e) {
  in->found = false;
  tn_sym_symbols(in->syms, e, control_visit, in);
  return !in->found;
}

tn_op_inside tn_op_look_inside(tn_rule *r) {
  tn_op_inside in = {.syms = r->syms, .arena = &r->ctx->arena};
  for (int i = 0; i < r->node->n_regions; i++) control_collect(&in, r->node->regions[i]);
  return in;
}

static void control_forget_region(tn_region *region) {
  for (tn_node *n = region->first; n; n = n->next) {
    for (int i = 0; i < n->n_out; i++)
      if (n->out[i]) tn_edit_set_type(n->out[i], (tn_type){0});
    for (int i = 0; i < n->n_regions; i++) control_forget_region(n->regions[i]);
  }
}

/* The dims that may leave; the others stay NULL. */
static const tn_sym *control_out_dims(tn_rule *r, tn_op_inside *in, int n, const tn_sym *dims) {
  tn_sym *const out = tn_rule_dims(r, n);
  for (int d = 0; d < n; d++) out[d] = dims[d] && tn_op_leaves(in, dims[d]) ? dims[d] : NULL;
  return out;
}

/* The type of items, with those dims open that may not leave. */
static const tn_type *control_open(tn_rule *r, tn_op_inside *in, const tn_type *elem) {
  if (!elem || (elem->kind == TN_TYPE_TENSOR && elem->rank < 0)) return elem;
  tn_type *const own = TN_NEW(&r->ctx->arena, tn_type);
  *own = *elem;
  own->items = NULL;
  if (elem->kind == TN_TYPE_TENSOR)
    own->dims = control_out_dims(r, in, elem->rank, elem->dims);
  else
    own->elem = control_open(r, in, elem->elem);
  return own;
}

/* Output i := t; what may not leave becomes the run's. */
static void control_set_out(tn_rule *r, tn_op_inside *in, int i, const tn_type *t) {
  r->out[i] = *t;
  r->out[i].content = NULL;
  r->out[i].items = NULL;
  r->out[i].elem = control_open(r, in, t->elem);
  if (t->kind != TN_TYPE_TENSOR || t->rank < 0) return;
  tn_sym *const dims = tn_rule_dims(r, t->rank);
  for (int d = 0; d < t->rank; d++)
    dims[d] = tn_op_leaves(in, t->dims[d]) ? t->dims[d] : tn_rule_fresh(r, i, d, 0, NULL);
  tn_rule_set(r, i, t->rank, dims);
}

/* Of the sequence that output i is. */
static void control_set_items(tn_rule *r, tn_op_inside *in, int i, tn_sym count, const tn_sym *totals) {
  const tn_type *const elem = r->out[i].elem;
  if (r->out[i].kind != TN_TYPE_SEQUENCE || !elem || !count || !tn_op_leaves(in, count)) return;
  tn_items *const items = TN_NEW(&r->ctx->arena, tn_items);
  *items = (tn_items){.count = count, .totals = tn_op_item_totals(r, elem, count)};
  if (totals && elem->kind == TN_TYPE_TENSOR && elem->rank >= 0)
    items->totals = control_out_dims(r, in, elem->rank, totals);
  r->out[i].items = items;
}

static tn_status control_results(tn_rule *r, const tn_region *region, int want) {
  if (region->n_results == want) return TN_OK;
  return tn_rule_fail(r, TN_INVALID, "graph '%s' has %d outputs, expected %d", region->name ? region->name : "",
                      region->n_results, want);
}

static tn_status control_no_type(tn_rule *r) {
  (void)r; /* element types come with the regions' results */
  return TN_OK;
}

/* --- if --- */

static bool if_known(const tn_type *cond, bool *out) {
  if (!cond->content || cond->content[0].kind != TN_ELEM_SYM || !tn_sym_is_int(cond->content[0].sym)) return false;
  *out = cond->content[0].sym->k != 0;
  return true;
}

/* The condition as an expression, or NULL. */
static tn_sym if_condition(const tn_rule *r) {
  const tn_type *const cond = r->in[0];
  return cond && cond->content && cond->content[0].kind == TN_ELEM_SYM ? cond->content[0].sym : NULL;
}

/* One size of either branch: where the condition is an expression, that of the branch it chooses. */
static tn_sym if_join_dim(tn_rule *r, tn_op_inside *in, int i, int d, tn_sym a, tn_sym b) {
  if (a == b) return a;
  const tn_sym cond = if_condition(r);
  const int64_t lo_a = tn_sym_bounds(r->syms, a).lo, lo_b = tn_sym_bounds(r->syms, b).lo;
  const bool leaves = tn_op_leaves(in, a) && tn_op_leaves(in, b);
  if (leaves && cond) return tn_sym_select(r->syms, cond, a, b);
  return tn_rule_fresh(r, i, d, lo_a < lo_b ? lo_a : lo_b, leaves ? tn_sym_max(r->syms, a, b) : NULL);
}

static tn_status if_join(tn_rule *r, tn_op_inside *in, int i, const tn_type *a, const tn_type *b) {
  if (a->kind == TN_TYPE_UNKNOWN || b->kind == TN_TYPE_UNKNOWN) {
    r->out[i] = a->kind == TN_TYPE_UNKNOWN ? *b : *a;
    r->out[i].content = NULL;
    if (r->out[i].kind == TN_TYPE_TENSOR) r->out[i].rank = -1;
    return TN_OK;
  }
  if (a->kind != b->kind) return tn_rule_fail(r, TN_MISMATCH, "output %d is a tensor in one branch only", i);
  if (a->kind != TN_TYPE_TENSOR) {
    tn_type t = *a;
    t.elem = tn_type_join_elem(&r->ctx->arena, a->elem, b->elem);
    control_set_out(r, in, i, &t);
    if (a->items && b->items && a->items->count == b->items->count) control_set_items(r, in, i, a->items->count, NULL);
    return TN_OK;
  }
  if (a->dtype && b->dtype && a->dtype != b->dtype)
    return tn_rule_fail(r, TN_MISMATCH, "output %d is %s in one branch and %s in the other", i, tn_dtype_name(a->dtype),
                        tn_dtype_name(b->dtype));
  tn_type t = *a;
  if (!t.dtype) t.dtype = b->dtype;
  if (a->rank != b->rank) t.rank = -1;
  if (t.rank >= 0) {
    tn_sym *const dims = tn_rule_dims(r, t.rank);
    for (int d = 0; d < t.rank; d++) dims[d] = if_join_dim(r, in, i, d, a->dims[d], b->dims[d]);
    t.dims = dims;
  }
  control_set_out(r, in, i, &t);
  return TN_OK;
}

/* What the taken branch knows of elements, as far as it may leave. */
static void if_content(tn_rule *r, tn_op_inside *in, int i, const tn_type *t) {
  if (t->kind != TN_TYPE_TENSOR || !t->content) return;
  const int64_t n = tn_type_content_count(t);
  tn_elem *const out = tn_rule_elems(r, n);
  for (int64_t k = 0; k < n; k++)
    if (!t->content[k].sym || tn_op_leaves(in, t->content[k].sym)) out[k] = t->content[k];
  tn_rule_set_content(r, i, out);
}

static tn_status if_shape(tn_rule *r) {
  bool taken;
  const bool known = if_known(r->in[0], &taken);
  for (int i = 0; i < 2; i++) {
    TN_TRY(control_results(r, r->node->regions[i], r->n_out));
    /* A branch that is never taken may hold what its operands make impossible. */
    r->node->regions[i]->dead = known && (i == 0) != taken;
    if (r->node->regions[i]->dead) continue;
    TN_TRY(tn_infer_region(r->graph, r->node->regions[i]));
  }
  tn_op_inside in = tn_op_look_inside(r);
  for (int i = 0; i < r->n_out; i++) {
    const tn_type *const a = &r->node->regions[0]->results[i]->type;
    const tn_type *const b = &r->node->regions[1]->results[i]->type;
    if (!known) {
      TN_TRY(if_join(r, &in, i, a, b));
      continue;
    }
    control_set_out(r, &in, i, taken ? a : b);
    if_content(r, &in, i, taken ? a : b);
  }
  return TN_OK;
}

static tn_status if_eval(tn_eval *e) {
  const tn_lit **const results = TN_NEW_ARRAY(e->arena, const tn_lit *, e->n_out);
  TN_TRY(tn_eval_region(e, tn_lit_i64_at(e->in[0], 0) ? 0 : 1, NULL, results));
  for (int i = 0; i < e->n_out; i++) e->out[i] = (tn_lit *)(uintptr_t)results[i];
  return TN_OK;
}

/* A known condition: the branch takes the node's place. */
static tn_status if_simplify(tn_rewrite *w) {
  bool taken;
  tn_node *const node = w->node;
  if (!if_known(&node->in[0]->type, &taken)) return TN_OK;
  tn_region *const branch = node->regions[taken ? 0 : 1];
  while (branch->first) tn_edit_move_before(branch->first, node);
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) tn_edit_replace_uses(node->out[i], branch->results[i]);
  branch->merged = node->region;
  w->changed = true;
  return TN_OK;
}

TN_OP(if){
    .name = "if",
    .in = {{"cond", TN_SET(BOOL), NULL, TN_PORT_SHAPES}},
    .out = {{"outputs", 0, NULL, TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_ANY_KIND | TN_PORT_MIXED}},
    .attrs = {{"then_branch", TN_ATTR_REGION}, {"else_branch", TN_ATTR_REGION}},
    .n_regions = 2,
    .type = control_no_type,
    .shape = if_shape,
    .eval = if_eval,
    .simplify = if_simplify,
    .traits = TN_TRAIT_CONTROL,
    .sizes = TN_SIZES_BOUND,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the results of one of two regions",
};

/* --- loop --- */

static bool control_has_items(const tn_type *t) { return t->kind == TN_TYPE_SEQUENCE || t->kind == TN_TYPE_OPTIONAL; }

/* A carried sequence or optional: its items are those that came in, and those that the body puts there. */
static bool loop_generalise_items(tn_rule *r, tn_op_inside *in, tn_value *param, const tn_type *result) {
  tn_type t = param->type;
  if (t.kind != result->kind || tn_type_same(t.elem, result->elem)) return false;
  t.elem = control_open(r, in, tn_type_join_elem(&r->ctx->arena, t.elem, result->elem));
  if (tn_type_same(t.elem, param->type.elem)) return false;
  tn_edit_set_type(param, t);
  return true;
}

/* The type a loop-carried value has in every round: dims that the body changes become symbols bound at each entry. */
static bool loop_generalise(tn_rule *r, tn_value *param, const tn_type *result) {
  tn_type t = param->type;
  if (t.kind != TN_TYPE_TENSOR || result->kind != TN_TYPE_TENSOR) return false;
  bool changed = false;
  if (t.rank >= 0 && result->rank != t.rank) {
    t.rank = -1;
    t.dims = NULL;
    changed = true;
  }
  if (t.rank >= 0) {
    tn_sym *const dims = tn_rule_dims(r, t.rank);
    for (int d = 0; d < t.rank; d++) {
      dims[d] = t.dims[d];
      if (result->dims[d] == t.dims[d]) continue;
      dims[d] = tn_rule_fresh_value(r, param, d);
      changed = changed || dims[d] != t.dims[d];
    }
    t.dims = dims;
  }
  if (changed) tn_edit_set_type(param, t);
  return changed;
}

/* How many items a carried sequence has, and which, changes from round to round. */
static void control_set_param(tn_value *param, tn_type t) {
  t.content = NULL;
  t.items = NULL;
  tn_edit_set_type(param, t);
}

/* Infers `body` until the carried values keep their types; params[first..first+n) against results[at..at+n). */
static tn_status loop_fixpoint(tn_rule *r, tn_region *body, int first, int at, int n) {
  tn_op_inside in = {0};
  for (int round = 0;; round++) {
    control_forget_region(body);
    TN_TRY(tn_infer_region(r->graph, body));
    bool changed = false;
    for (int i = 0; i < n; i++) {
      tn_value *const param = body->params[first + i];
      const tn_type *const result = &body->results[at + i]->type;
      const bool has_items = control_has_items(&param->type);
      if (has_items && !in.syms) in = tn_op_look_inside(r);
      changed =
          (has_items ? loop_generalise_items(r, &in, param, result) : loop_generalise(r, param, result)) || changed;
    }
    if (!changed) return TN_OK;
    if (round > 2 * TN_MAX_RANK) return tn_rule_fail(r, TN_INTERNAL, "the body's types do not settle");
  }
}

typedef struct loop_rounds { /* either may be NULL */
  tn_sym exact, most;
} loop_rounds;

/* A dim that the body changes, as it leaves: each round adds the same, or sets it. NULL: neither, or the number of
 * rounds is not known. */
static tn_sym loop_last_dim(tn_rule *r, tn_op_inside *in, tn_sym rounds, tn_sym first, tn_sym entered, tn_sym left) {
  tn_symtab *const t = r->syms;
  if (!rounds || !tn_op_leaves(in, first)) return NULL;
  const tn_sym step = tn_sym_sub(t, left, entered);
  tn_sym last = NULL;
  if (tn_op_leaves(in, step))
    last = tn_sym_add(t, first, tn_sym_mul(t, rounds, step));
  else if (tn_op_leaves(in, left))
    last = tn_sym_select(t, tn_sym_le(t, tn_sym_int(t, 1), rounds), left, first);
  return last && tn_sym_bounds(t, last).lo >= 0 ? last : NULL;
}

/* Carried dims that the body changes, in a few rounds: the symbols they have inside, what they are now and next. */
typedef struct loop_run {
  TN_VEC(tn_sym) symbols, now, next;
} loop_run;

static tn_sym loop_run_symbol(void *arg, uint32_t symbol) {
  const loop_run *const run = arg;
  for (size_t i = 0; i < run->symbols.n; i++)
    if (run->symbols.at[i]->k == (int64_t)symbol) return run->now.at[i];
  return NULL;
}

/* A carried value as it leaves: dims the body keeps are those that came in. */
static void loop_set_state(tn_rule *r, tn_op_inside *in, int i, const tn_type *first, const tn_value *param,
                           const tn_type *result, tn_sym rounds, const loop_run *run) {
  tn_type t = param->type;
  if (t.kind != result->kind && result->kind != TN_TYPE_UNKNOWN) t = *result; /* an optional that the body fills */
  if (t.kind == TN_TYPE_TENSOR && !t.dtype) t.dtype = result->dtype;
  if (t.kind == TN_TYPE_TENSOR && t.rank >= 0 && t.rank == first->rank && t.rank == result->rank) {
    tn_sym *const dims = tn_rule_dims(r, t.rank);
    for (int d = 0; d < t.rank; d++) {
      const tn_sym entered = t.dims[d];
      tn_sym last =
          run && tn_sym_is_var(entered) ? loop_run_symbol((void *)(uintptr_t)run, (uint32_t)entered->k) : NULL;
      if (!last && !tn_op_leaves(in, entered))
        last = loop_last_dim(r, in, rounds, first->dims[d], entered, result->dims[d]);
      dims[d] = last ? last : entered;
    }
    t.dims = dims;
  }
  control_set_out(r, in, i, &t);
}

/* Stacked results: one more dim in front (or at `axis` for Scan). */
static void control_set_stacked(tn_rule *r, tn_op_inside *in, int i, const tn_type *t, loop_rounds rounds, int axis) {
  r->out[i] = tn_type_tensor(t->dtype, -1, NULL);
  if (t->kind != TN_TYPE_TENSOR || t->rank < 0 || t->rank >= TN_MAX_RANK) return;
  tn_sym *const dims = tn_rule_dims(r, t->rank + 1);
  for (int d = 0, from = 0; d <= t->rank; d++) {
    if (d == axis)
      dims[d] = rounds.exact ? rounds.exact : tn_rule_fresh(r, i, d, 0, rounds.most);
    else
      dims[d] = tn_op_leaves(in, t->dims[from]) ? t->dims[from] : tn_rule_fresh(r, i, d, 0, NULL);
    if (d != axis) from++;
  }
  tn_rule_set(r, i, t->rank + 1, dims);
}

static loop_rounds loop_count(tn_op_loop_body *l) {
  tn_rule *const r = l->rule;
  loop_rounds rounds = {NULL, NULL};
  tn_sym *trips;
  int64_t n;
  if (tn_rule_has(r, 0) && tn_rule_ints(r, 0, &n, &trips) && n == 1 && trips[0])
    rounds.most = tn_sym_max(r->syms, tn_sym_int(r->syms, 0), trips[0]);
  if (rounds.most || !tn_rule_has(r, 0)) rounds.exact = tn_op_loop_rounds(l, rounds.most);
  return rounds;
}

static void loop_run_add(tn_rule *r, tn_op_inside *in, loop_run *run, const tn_type *first, const tn_type *entered,
                         const tn_type *left) {
  if (entered->kind != TN_TYPE_TENSOR || first->kind != TN_TYPE_TENSOR || left->kind != TN_TYPE_TENSOR) return;
  if (entered->rank < 0 || first->rank != entered->rank || left->rank != entered->rank) return;
  for (int d = 0; d < entered->rank; d++) {
    if (tn_op_leaves(in, entered->dims[d]) || !tn_sym_is_var(entered->dims[d])) continue;
    tn_vec_push(&r->ctx->arena, &run->symbols, entered->dims[d]);
    tn_vec_push(&r->ctx->arena, &run->now, first->dims[d]);
    tn_vec_push(&r->ctx->arena, &run->next, left->dims[d]);
  }
}

/* The dims behind the loop, of as few rounds as may be followed one by one. */
static void loop_run_rounds(tn_rule *r, tn_op_inside *in, loop_run *run, int64_t rounds) {
  tn_sym *const to = tn_rule_dims(r, (int)run->now.n);
  for (int64_t k = 0; k < rounds; k++) {
    for (size_t i = 0; i < run->now.n; i++) {
      tn_sym e = run->now.at[i] ? tn_sym_substitute(r->syms, run->next.at[i], loop_run_symbol, run) : NULL;
      if (e) e = tn_sym_tidy(r->syms, e);
      to[i] = e && e->size <= TN_SYM_MAX_SIZE && tn_op_leaves(in, e) ? e : NULL;
    }
    for (size_t i = 0; i < run->now.n; i++) run->now.at[i] = to[i];
  }
}

static loop_run loop_follow(tn_op_loop_body *l, int n_states, tn_sym rounds) {
  enum { FEW = 16 };
  loop_run run = {0};
  if (!rounds || !tn_sym_is_int(rounds) || rounds->k > FEW) return run;
  for (int i = 0; i < n_states; i++)
    loop_run_add(l->rule, &l->inside, &run, l->rule->in[2 + i], &l->body->params[2 + i]->type,
                 &l->body->results[1 + i]->type);
  loop_run_rounds(l->rule, &l->inside, &run, rounds->k);
  return run;
}

/* The items that a round puts into a carried sequence: how many, and their sizes added up. False: it is not only that.
 */
static bool loop_inserted(tn_rule *r, tn_op_inside *in, const tn_value *param, const tn_value *v, int rank, int64_t *n,
                          tn_sym *sizes) {
  enum { MANY = 64 };
  *n = 0;
  for (int d = 0; d < rank; d++) sizes[d] = tn_sym_int(r->syms, 0);
  for (; v != param; v = v->def->in[0]) {
    if (!v->def || *n > MANY) return false;
    if (strcmp(v->def->op->name, "identity") == 0) continue;
    if (strcmp(v->def->op->name, "sequence_insert") != 0) return false;
    const tn_type *const t = &v->def->in[1]->type;
    for (int d = 0; d < rank; d++) {
      const bool known = sizes[d] && tn_type_has_rank(t) && t->rank == rank && tn_op_leaves(in, t->dims[d]);
      sizes[d] = known ? tn_sym_add(r->syms, sizes[d], t->dims[d]) : NULL;
    }
    ++*n;
  }
  return true;
}

/* A carried sequence as it leaves, where the rounds only put items in. */
static void loop_set_items(tn_op_loop_body *l, int i, tn_sym rounds) {
  tn_rule *const r = l->rule;
  tn_symtab *const t = r->syms;
  const tn_items *const first = r->in[2 + i]->items;
  const tn_type *const elem = r->out[i].elem;
  const int rank = elem && elem->kind == TN_TYPE_TENSOR && elem->rank > 0 ? elem->rank : 0;
  tn_sym *const sizes = tn_rule_dims(r, rank), *const totals = tn_rule_dims(r, rank);
  int64_t n;
  if (!first || !first->count || !rounds) return;
  if (!loop_inserted(r, &l->inside, l->body->params[2 + i], l->body->results[1 + i], rank, &n, sizes)) return;
  const bool empty = tn_sym_is(first->count, 0);
  for (int d = 0; d < rank; d++) {
    const tn_sym before = empty                                               ? tn_sym_int(t, 0)
                          : first->totals && r->in[2 + i]->elem->rank == rank ? first->totals[d]
                                                                              : NULL;
    totals[d] = before && sizes[d] ? tn_sym_add(t, before, tn_sym_mul(t, rounds, sizes[d])) : NULL;
  }
  control_set_items(r, &l->inside, i, tn_sym_add(t, first->count, tn_sym_muli(t, rounds, n)), totals);
}

/* A carried integer to which each round adds the same. */
static void loop_set_number(tn_op_loop_body *l, int i, tn_sym rounds) {
  tn_rule *const r = l->rule;
  const tn_elem *const first = r->in[2 + i]->content;
  const tn_sym step = rounds ? tn_op_loop_step(l, i) : NULL;
  int64_t dims[TN_MAX_RANK];
  if (!step || !first || first[0].kind != TN_ELEM_SYM || !tn_type_const_dims(&r->out[i], dims)) return;
  const tn_elem last = tn_elem_sym(tn_sym_add(r->syms, first[0].sym, tn_sym_mul(r->syms, rounds, step)));
  tn_rule_set_content(r, i, &last);
}

static tn_status loop_shape(tn_rule *r) {
  tn_region *const body = r->node->regions[0];
  const int n_states = r->n_in > 2 ? r->n_in - 2 : 0;
  if (body->n_params != n_states + 2)
    return tn_rule_fail(r, TN_INVALID, "the body takes %d inputs, expected %d", body->n_params, n_states + 2);
  if (body->n_results < n_states + 1 || r->n_out > body->n_results - 1)
    return tn_rule_fail(r, TN_INVALID, "the body gives %d outputs, expected %d", body->n_results, r->n_out + 1);
  control_set_param(body->params[0], tn_type_tensor(TN_I64, 0, NULL));
  control_set_param(body->params[1], tn_type_tensor(TN_BOOL, 0, NULL));
  for (int i = 0; i < n_states; i++) {
    if (!r->in[2 + i]) return tn_rule_fail(r, TN_INVALID, "input %d is absent", 2 + i);
    control_set_param(body->params[2 + i], *r->in[2 + i]);
  }
  TN_TRY(loop_fixpoint(r, body, 2, 1, n_states));
  tn_op_loop_body l = {r, body, tn_op_look_inside(r)};
  const loop_rounds rounds = loop_count(&l);
  const loop_run run = loop_follow(&l, n_states, rounds.exact);
  for (int i = 0; i < r->n_out; i++) {
    const tn_type *const result = &body->results[1 + i]->type;
    if (i >= n_states) {
      control_set_stacked(r, &l.inside, i, result, rounds, 0);
      continue;
    }
    loop_set_state(r, &l.inside, i, r->in[2 + i], body->params[2 + i], result, rounds.exact, &run);
    loop_set_items(&l, i, rounds.exact);
    loop_set_number(&l, i, rounds.exact);
  }
  return TN_OK;
}

typedef struct control_stack { /* literals to be joined along a new axis */
  TN_VEC(const tn_lit *) items;
} control_stack;

/* A symbol by what the values around hold. */
static bool control_number(void *arg, uint32_t symbol, int64_t *out) {
  const tn_eval *const e = arg;
  const tn_symbol *const s = tn_sym_symbol(e->graph->syms, symbol);
  if ((s->source != TN_SOURCE_DIM && s->source != TN_SOURCE_ELEM) || s->value >= e->graph->n_values) return false;
  const tn_lit *const l = e->interp ? e->interp->env[s->value] : NULL;
  if (!l || l->kind != TN_TYPE_TENSOR || s->index >= (s->source == TN_SOURCE_DIM ? l->rank : l->count)) return false;
  *out = s->source == TN_SOURCE_DIM ? l->dims[s->index] : tn_lit_i64_at(l, s->index);
  return true;
}

static tn_status control_join(tn_eval *e, int i, const control_stack *s, int axis, bool backward) {
  const tn_lit *const first = s->items.n ? s->items.at[0] : NULL;
  int64_t dims[TN_MAX_RANK] = {0};
  tn_lit *y;
  if (!first) { /* no round: an empty tensor; the inner dims are those that inference knows, else 0 */
    const tn_type *const t = &e->node->out[i]->type;
    const int rank = t->rank > 0 ? t->rank : 1;
    for (int d = 0; d < rank; d++)
      if (d == axis || t->rank <= 0 || tn_sym_eval(e->graph->syms, t->dims[d], control_number, e, &dims[d]) != TN_OK)
        dims[d] = 0;
    return tn_eval_out(e, i, tn_eval_out_dtype(e, i), rank, dims, &y);
  }
  if (first->rank >= TN_MAX_RANK) return tn_eval_fail(e, TN_LIMIT, "rank %d is above %d", first->rank + 1, TN_MAX_RANK);
  int64_t outer = 1, inner = 1;
  for (int d = 0, from = 0; d <= first->rank; d++) dims[d] = d == axis ? (int64_t)s->items.n : first->dims[from++];
  for (int d = 0; d < axis; d++) outer *= dims[d];
  for (int d = axis + 1; d <= first->rank; d++) inner *= dims[d];
  TN_TRY(tn_eval_out(e, i, first->dtype, first->rank + 1, dims, &y));
  const int64_t n = (int64_t)s->items.n;
  for (int64_t k = 0; k < n; k++) {
    const tn_lit *const item = s->items.at[backward ? n - 1 - k : k];
    if (item->count != first->count) return tn_eval_fail(e, TN_MISMATCH, "scan output %d changes its shape", i);
    for (int64_t o = 0; o < outer; o++)
      for (int64_t c = 0; c < inner; c++)
        tn_copy_element(y->dtype, tn_lit_data(y), (o * n + k) * inner + c, item->data, o * inner + c);
  }
  return TN_OK;
}

static tn_status loop_eval(tn_eval *e) {
  const tn_region *const body = e->node->regions[0];
  const int n_states = body->n_params - 2, n_scans = body->n_results - 1 - n_states;
  const int64_t trips = e->n_in > 0 && e->in[0] ? tn_lit_i64_at(e->in[0], 0) : INT64_MAX;
  bool go = e->n_in > 1 && e->in[1] ? tn_lit_i64_at(e->in[1], 0) != 0 : true;
  const tn_lit **const params = TN_NEW_ARRAY(e->arena, const tn_lit *, body->n_params);
  const tn_lit **const results = TN_NEW_ARRAY(e->arena, const tn_lit *, body->n_results);
  control_stack *const scans = TN_NEW_ARRAY(e->arena, control_stack, n_scans);
  for (int i = 0; i < n_states; i++) params[2 + i] = e->in[2 + i];
  for (int64_t iter = 0; iter < trips && go; iter++) {
    params[0] = tn_lit_scalar_i64(e->arena, TN_I64, iter);
    params[1] = tn_lit_scalar_i64(e->arena, TN_BOOL, go);
    TN_TRY(tn_eval_region(e, 0, params, results));
    go = tn_lit_i64_at(results[0], 0) != 0;
    for (int i = 0; i < n_states; i++) params[2 + i] = results[1 + i];
    for (int i = 0; i < n_scans; i++) tn_vec_push(e->arena, &scans[i].items, results[1 + n_states + i]);
  }
  for (int i = 0; i < e->n_out; i++) {
    if (i < n_states)
      e->out[i] = (tn_lit *)(uintptr_t)params[2 + i];
    else if (e->out_present[i])
      TN_TRY(control_join(e, i, &scans[i - n_states], 0, false));
  }
  return TN_OK;
}

TN_OP(loop){
    .name = "loop",
    .in = {{"M", TN_SET(I64), NULL, TN_PORT_OPTIONAL | TN_PORT_SHAPES},
           {"cond", TN_SET(BOOL), NULL, TN_PORT_OPTIONAL | TN_PORT_SHAPES},
           {"v_initial", 0, NULL, TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_ANY_KIND | TN_PORT_MIXED}},
    .out = {{"v_final_and_scan_outputs", 0, NULL,
             TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_ANY_KIND | TN_PORT_MIXED}},
    .attrs = {{"body", TN_ATTR_REGION}},
    .n_regions = 1,
    .type = control_no_type,
    .shape = loop_shape,
    .eval = loop_eval,
    .traits = TN_TRAIT_CONTROL,
    .sizes = TN_SIZES_BOUND,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "rounds of a region, at most M and while its condition holds; carries values, stacks others",
};

/* --- scan --- */

static int64_t scan_entry(const tn_attr *list, int i) { return list && i < list->n ? list->ints[i] : 0; }

static tn_status scan_axis(tn_rule *r, const char *attr, int i, int rank, int *out) {
  return tn_rule_axis(r, attr, scan_entry(tn_rule_attr(r, attr), i), rank, out);
}

static tn_status scan_shape(tn_rule *r) {
  tn_region *const body = r->node->regions[0];
  const int64_t n_scan = tn_rule_int(r, "num_scan_inputs");
  if (n_scan < 1 || n_scan > r->n_in)
    return tn_rule_fail(r, TN_INVALID, "attribute 'num_scan_inputs' is %lld with %d inputs", (long long)n_scan,
                        r->n_in);
  const int n_states = r->n_in - (int)n_scan;
  if (body->n_params != r->n_in)
    return tn_rule_fail(r, TN_INVALID, "the body takes %d inputs, expected %d", body->n_params, r->n_in);
  TN_TRY(control_results(r, body, r->n_out));
  if (body->n_results < n_states)
    return tn_rule_fail(r, TN_INVALID, "the body gives %d outputs for %d states", body->n_results, n_states);
  tn_sym length = NULL;
  for (int i = 0; i < n_states; i++) control_set_param(body->params[i], *r->in[i]);
  for (int i = 0; i < (int)n_scan; i++) {
    const tn_type *const x = r->in[n_states + i];
    tn_type slice = tn_type_tensor(x->dtype, -1, NULL);
    if (x->rank == 0) return tn_rule_fail(r, TN_MISMATCH, "scan input %d is a scalar", i);
    if (x->rank > 0) {
      int axis;
      TN_TRY(scan_axis(r, "scan_input_axes", i, x->rank, &axis));
      tn_sym *const dims = tn_rule_dims(r, x->rank);
      for (int d = 0, to = 0; d < x->rank; d++)
        if (d != axis) dims[to++] = x->dims[d];
      slice = tn_type_tensor(x->dtype, x->rank - 1, dims);
      TN_TRY(tn_rule_unify(r, length ? length : x->dims[axis], x->dims[axis], "scan length", axis, &length));
    }
    control_set_param(body->params[n_states + i], slice);
  }
  TN_TRY(loop_fixpoint(r, body, 0, 0, n_states));
  tn_op_inside in = tn_op_look_inside(r);
  for (int i = 0; i < r->n_out; i++) {
    const tn_type *const result = &body->results[i]->type;
    if (i < n_states) {
      loop_set_state(r, &in, i, r->in[i], body->params[i], result, length, NULL);
      continue;
    }
    int axis = 0;
    if (result->rank >= 0) TN_TRY(scan_axis(r, "scan_output_axes", i - n_states, result->rank + 1, &axis));
    control_set_stacked(r, &in, i, result, (loop_rounds){length, length}, axis);
  }
  return TN_OK;
}

/* Element `at` along `axis`. */
static tn_lit *scan_slice(tn_eval *e, const tn_lit *x, int axis, int64_t at) {
  int64_t dims[TN_MAX_RANK], outer = 1, inner = 1;
  for (int d = 0, to = 0; d < x->rank; d++)
    if (d != axis) dims[to++] = x->dims[d];
  for (int d = 0; d < axis; d++) outer *= x->dims[d];
  for (int d = axis + 1; d < x->rank; d++) inner *= x->dims[d];
  tn_lit *const y = tn_lit_new(e->arena, x->dtype, x->rank - 1, dims);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t c = 0; c < inner; c++)
      tn_copy_element(x->dtype, tn_lit_data(y), o * inner + c, x->data, (o * x->dims[axis] + at) * inner + c);
  return y;
}

static tn_status scan_eval(tn_eval *e) {
  const tn_region *const body = e->node->regions[0];
  const int n_scan = (int)tn_eval_int(e, "num_scan_inputs"), n_states = e->n_in - n_scan;
  const tn_lit **const params = TN_NEW_ARRAY(e->arena, const tn_lit *, e->n_in);
  const tn_lit **const results = TN_NEW_ARRAY(e->arena, const tn_lit *, body->n_results);
  control_stack *const scans = TN_NEW_ARRAY(e->arena, control_stack, body->n_results);
  int axes[64];
  int64_t rounds = 0;
  if (n_scan > 64) return tn_eval_fail(e, TN_LIMIT, "%d scan inputs", n_scan);
  for (int i = 0; i < n_scan; i++) {
    TN_TRY(tn_eval_axis(e, scan_entry(tn_eval_attr(e, "scan_input_axes"), i), e->in[n_states + i]->rank, &axes[i]));
    rounds = e->in[n_states + i]->dims[axes[i]];
  }
  for (int i = 0; i < n_states; i++) params[i] = e->in[i];
  for (int64_t t = 0; t < rounds; t++) {
    for (int i = 0; i < n_scan; i++) {
      const bool backward = scan_entry(tn_eval_attr(e, "scan_input_directions"), i) != 0;
      params[n_states + i] = scan_slice(e, e->in[n_states + i], axes[i], backward ? rounds - 1 - t : t);
    }
    TN_TRY(tn_eval_region(e, 0, params, results));
    for (int i = 0; i < n_states; i++) params[i] = results[i];
    for (int i = n_states; i < body->n_results; i++) tn_vec_push(e->arena, &scans[i].items, results[i]);
  }
  for (int i = 0; i < e->n_out; i++) {
    if (i < n_states) {
      e->out[i] = (tn_lit *)(uintptr_t)params[i];
      continue;
    }
    const int k = i - n_states;
    int axis;
    const int rank = scans[i].items.n ? scans[i].items.at[0]->rank + 1
                                      : (e->node->out[i]->type.rank > 0 ? e->node->out[i]->type.rank : 1);
    TN_TRY(tn_eval_axis(e, scan_entry(tn_eval_attr(e, "scan_output_axes"), k), rank, &axis));
    TN_TRY(control_join(e, i, &scans[i], axis, scan_entry(tn_eval_attr(e, "scan_output_directions"), k) != 0));
  }
  return TN_OK;
}

TN_OP(scan){
    .name = "scan",
    .in = {{"initial_state_and_scan_inputs", 0, NULL, TN_PORT_VARIADIC | TN_PORT_MIXED}},
    .out = {{"final_state_and_scan_outputs", 0, NULL, TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_MIXED}},
    .attrs = {{"body", TN_ATTR_REGION},
              {"num_scan_inputs", TN_ATTR_INT, .required = true},
              {"scan_input_axes", TN_ATTR_INTS},
              {"scan_input_directions", TN_ATTR_INTS},
              {"scan_output_axes", TN_ATTR_INTS},
              {"scan_output_directions", TN_ATTR_INTS}},
    .n_regions = 1,
    .type = control_no_type,
    .shape = scan_shape,
    .eval = scan_eval,
    .traits = TN_TRAIT_CONTROL,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "a region run over slices of its operands; carries values, stacks others",
};

/* A batch's length of opset 8 cuts what is scanned: [length, all - length], of which split takes no negative one. */
static tn_value *scan_cuts(tn_import *im, tn_value *length, tn_value *scanned) {
  tn_node *const all = tn_import_node(im, "shape", &scanned, 1, 1);
  tn_import_set_int(all, "end", 1);
  tn_value *const one = tn_im2(im, "reshape", length, tn_im_int(im, 1));
  tn_value *const cuts[2] = {one, tn_im2(im, "sub", all->out[0], one)};
  tn_node *const joined = tn_import_node(im, "concat", cuts, 2, 1);
  tn_import_set_int(joined, "axis", 0);
  return joined->out[0];
}

/* The scan of one batch of opset 8. What it stacks is filled up with zeros to the length of the longest batch. */
static tn_node *scan_batch(tn_import *im, tn_value *length, tn_value **params, int n, int n_scan, tn_value **results) {
  tn_value *const cuts = length ? scan_cuts(im, length, params[n - n_scan]) : NULL;
  for (int i = n - n_scan; i < n && cuts; i++) {
    tn_value *const in[2] = {params[i], cuts};
    params[i] = tn_import_node(im, "split", in, 2, 2)->out[0];
  }
  tn_node *const scan = tn_import_node(im, "scan", params, n, im->n_out);
  tn_import_set_int(scan, "num_scan_inputs", n_scan);
  const int64_t none_of_first[2] = {0, 1};
  tn_value *const pads = cuts ? tn_im2(im, "mul", cuts, tn_import_const_i64(im, none_of_first, 2)) : NULL;
  for (int i = 0; i < im->n_out; i++) {
    tn_value *const in[4] = {scan->out[i], pads, NULL, tn_im_int(im, 0)};
    results[i] = cuts && i >= n - n_scan ? tn_import_node(im, "pad", in, 4, 1)->out[0] : scan->out[i];
  }
  return scan;
}

/* Opset 8 has a batch dim in front of everything: today's scan inside a scan over the batch, in which nothing is
 * carried. */
static tn_status scan_import_8(tn_import *im) {
  tn_region *const region = im->region;
  const tn_attr *body, *directions;
  int64_t n_scan;
  int depth = 2;
  for (const tn_region *r = region; r->owner; r = r->owner->region) depth++;
  if (depth > TN_MAX_NESTING) return tn_import_fail(im, TN_LIMIT, "graphs are nested deeper than %d", TN_MAX_NESTING);
  TN_TRY(tn_import_get(im, "body", TN_ATTR_REGION, &body));
  TN_TRY(tn_import_int(im, "num_scan_inputs", 0, &n_scan));
  TN_TRY(tn_import_get(im, "directions", TN_ATTR_INTS, &directions));
  if (im->n_in < 2 || n_scan < 1 || n_scan > im->n_in - 1 || !body || im->n_out < 1)
    return tn_import_fail(im, TN_INVALID, "%d inputs, 'num_scan_inputs' is %lld", im->n_in, (long long)n_scan);
  const int n = im->n_in - 1, with_lengths = im->in[0] != NULL;
  tn_value **const params = TN_NEW_ARRAY(&im->ctx->arena, tn_value *, n + 1);
  tn_value **const results = TN_NEW_ARRAY(&im->ctx->arena, tn_value *, im->n_out);
  tn_node *const outer = tn_import_node(im, "scan", im->in + 1 - with_lengths, n + with_lengths, im->n_out);
  tn_region *const batch = outer->regions[0];
  tn_import_set_int(outer, "num_scan_inputs", n + with_lengths);
  for (int i = !with_lengths; i <= n; i++) {
    if (!im->in[i]) return tn_import_fail(im, TN_INVALID, "input %d is required but absent", i);
    params[i] = tn_edit_add_param(batch, NULL, (tn_type){.kind = TN_TYPE_UNKNOWN});
  }
  im->region = batch;
  tn_node *const inner = scan_batch(im, with_lengths ? params[0] : NULL, params + 1, n, (int)n_scan, results);
  im->region = region;
  if (directions) tn_edit_set_attr(inner, "scan_input_directions", *directions);
  TN_TRY(im->build_region(im, body, inner->regions[0]));
  tn_edit_set_results(batch, results, im->n_out);
  TN_TRY(tn_import_check_used(im));
  tn_import_finish(im, outer);
  return TN_OK;
}

/* clang-format off */
TN_ONNX(ai, If, 1, TN_LATEST, if, tn_import_same)
TN_ONNX(ai, Loop, 1, TN_LATEST, loop, tn_import_same)
TN_ONNX(ai, Scan, 8, 8, scan, scan_import_8)
TN_ONNX(ai, Scan, 9, TN_LATEST, scan, tn_import_same)
