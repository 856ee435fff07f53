/* `tenon contract`: which inputs are valid, the nodes that say so, the smallest valid sizes, and for each condition
 * sizes that break it alone. */
#include "driver/binding.h"
#include "driver/shapes.h"
#include "driver/sizes.h"
#include "driver/tool.h"
#include "ir/ledger.h"
#include "ir/op.h"

enum {
  CONTRACT_NEAR = 130, /* numbers tried in one symbol's place */
  CONTRACT_PAIR = 20,  /* and in each of two */
  CONTRACT_TRIED = 8   /* symbols of a condition */
};

typedef struct contract_row {
  tn_sym condition;
  const tn_region *region; /* where it is checked: on entry, or when what it speaks of is known */
  TN_VEC(size_t) checks;   /* of contract.checks: together they are the condition */
  tn_sym entry;            /* what chose the branch that it is in, or NULL */
  const char *words;
  int n_breaks; /* numbers that break it, for one or two symbols; the others stay at the smallest */
  bool breaks_alone;
  uint32_t break_symbol[2];
  int64_t break_number[2];
  const tn_sym_set *set; /* the numbers that the one symbol may be, or NULL */
} contract_row;

typedef struct contract {
  tn_graph *graph;
  tn_ctx *ctx;
  tn_symtab *syms;
  bool json;
  tn_blob *out;
  TN_VEC(contract_row) rows; /* those before the run first */
  size_t n_early;
  TN_VEC(const tn_check *) checks;
  tn_binding at; /* the binding being tried */
} contract;

static bool contract_others_hold(contract *c, const contract_row *but) {
  for (size_t i = 0; i < c->n_early; i++)
    if (&c->rows.at[i] != but && !tn_binding_holds(&c->at, c->rows.at[i].condition)) return false;
  return true;
}

typedef struct contract_break {
  contract *c;
  contract_row *row;
  uint32_t symbols[CONTRACT_TRIED]; /* of the condition */
  int n;
} contract_break;

static void contract_break_symbol(void *arg, uint32_t symbol) {
  contract_break *const b = arg;
  const tn_symbol *const s = tn_sym_symbol(b->c->syms, symbol);
  if (s->source == TN_SOURCE_DEFINED)
    tn_sym_symbols(b->c->syms, s->definition, contract_break_symbol, b);
  else if (b->c->at.bound[symbol] && b->n < CONTRACT_TRIED)
    b->symbols[b->n++] = symbol;
}

/* Does the binding being tried break the condition, and is it, if possible, the only one? */
static bool contract_breaks(const contract_break *b, const uint32_t *symbols, int n) {
  contract *const c = b->c;
  contract_row *const row = b->row;
  int64_t v;
  for (int i = 0; i < n; i++)
    if (!tn_binding_may_be(&c->at, symbols[i], c->at.value[symbols[i]])) return false;
  if (row->entry && (tn_sym_eval(c->syms, row->entry, tn_binding_env, &c->at, &v) != TN_OK || v == 0)) return false;
  if (tn_sym_eval(c->syms, row->condition, tn_binding_env, &c->at, &v) != TN_OK || v != 0) return false;
  const bool alone = contract_others_hold(c, row);
  if (row->n_breaks && !alone) return false;
  row->n_breaks = n;
  row->breaks_alone = alone;
  for (int i = 0; i < n; i++) {
    row->break_symbol[i] = symbols[i];
    row->break_number[i] = c->at.value[symbols[i]];
  }
  return alone;
}

/* The k-th number to try: the first that the set lacks, near ones, powers of two, near ones below 0. */
static int64_t contract_far(const contract_break *b, int64_t had, int64_t k) {
  const tn_sym_set *const set = b->row->set;
  if (k >= CONTRACT_NEAR + 64) return CONTRACT_NEAR + 63 - k;
  if (k > 0) return k <= CONTRACT_NEAR ? k - 1 : (INT64_C(1) << (k - CONTRACT_NEAR < 62 ? k - CONTRACT_NEAR : 62)) + 1;
  int64_t v = set ? set->lo > 1 ? set->lo : 1 : had;
  while (set && v < set->from + set->period && tn_sym_set_has(set, v)) v++;
  return v;
}

static bool contract_break_one(const contract_break *b, uint32_t symbol) {
  int64_t *const at = &b->c->at.value[symbol], had = *at;
  bool found = false;
  for (int64_t k = 0; k < 2 * CONTRACT_NEAR + 64 && !found; k++) {
    *at = contract_far(b, had, k);
    found = contract_breaks(b, &symbol, 1);
  }
  *at = had;
  return found;
}

static bool contract_break_two(const contract_break *b, uint32_t first, uint32_t second) {
  const uint32_t symbols[2] = {first, second};
  int64_t *const x = &b->c->at.value[first], *const y = &b->c->at.value[second], had_x = *x, had_y = *y;
  bool found = false;
  for (int64_t k = 0; k < CONTRACT_PAIR * CONTRACT_PAIR && !found; k++) {
    *x = (1 + k / CONTRACT_PAIR) % CONTRACT_PAIR; /* 0 comes last */
    *y = (1 + k % CONTRACT_PAIR) % CONTRACT_PAIR;
    found = contract_breaks(b, symbols, 2);
  }
  *x = had_x;
  *y = had_y;
  return found;
}

/* From a valid binding: other numbers, for as few symbols as possible, that break this condition. */
static void contract_break_row(contract *c, contract_row *row) {
  contract_break b = {.c = c, .row = row};
  bool found = false;
  tn_sym_symbols(c->syms, row->condition, contract_break_symbol, &b);
  for (int i = 0; i < b.n && !found; i++) found = contract_break_one(&b, b.symbols[i]);
  for (int i = 0; i < b.n; i++)
    for (int k = i + 1; k < b.n && !found; k++) found = contract_break_two(&b, b.symbols[i], b.symbols[k]);
}

/* Conditions. */

static contract_row *contract_add(contract *c, const tn_region *region, tn_sym condition, const char *words) {
  const tn_sym entry = tn_ledger_entry(c->graph, region);
  tn_vec_push(&c->ctx->arena, &c->rows,
              ((contract_row){.condition = condition, .region = region, .entry = entry, .words = words}));
  return &c->rows.at[c->rows.n - 1];
}

/* c <= S or S <= c */
static bool contract_is_bound(tn_sym e) {
  if (e->kind != TN_SYM_LE) return false;
  return tn_sym_is_int(e->args[0]) ? tn_sym_is_var(e->args[1]) : tn_sym_is_int(e->args[1]) && tn_sym_is_var(e->args[0]);
}

/* a <= b */
static const char *contract_order_words(const contract *c, tn_sym e) {
  if (e->kind != TN_SYM_LE) return NULL;
  const tn_sym a = e->args[0], b = e->args[1];
  const bool least = tn_sym_is_int(a);
  return tn_arena_printf(&c->ctx->arena, least ? "%s must be at least %s" : "%s must be at most %s",
                         tn_sym_text(c->syms, least ? b : a), tn_sym_text(c->syms, least ? a : b));
}

/* A == 1 or A == B or B == 1 */
static const char *contract_bcast_words(const contract *c, tn_sym e) {
  tn_sym ones[2], same = NULL;
  int n = 0;
  if (e->kind != TN_SYM_OR || e->n != 3) return NULL;
  for (uint32_t i = 0; i < 3; i++) {
    const tn_sym q = e->args[i];
    if (q->kind != TN_SYM_EQ) return NULL;
    const bool first = tn_sym_is(q->args[0], 1), is_one = first || tn_sym_is(q->args[1], 1);
    if (is_one && n < 2)
      ones[n++] = q->args[first ? 1 : 0];
    else
      same = q;
  }
  if (n != 2 || same != tn_sym_eq(c->syms, ones[0], ones[1])) return NULL;
  return tn_arena_printf(&c->ctx->arena, "%s and %s must be equal, or one of them 1", tn_sym_text(c->syms, ones[0]),
                         tn_sym_text(c->syms, ones[1]));
}

static const char *contract_words(const contract *c, tn_sym e);

/* x*a == x*b */
static const char *contract_factor_words(const contract *c, tn_sym e) {
  tn_sym cases[TN_SYM_ALTERNATIVES];
  const size_t n = e->kind == TN_SYM_EQ ? tn_sym_alternatives(c->syms, e, cases) : 0;
  const char *unless = NULL;
  const bool is_zero = n >= 2 && tn_sym_is(cases[n - 1], 0); /* x*y == 0 */
  if (n < 2 || (tn_sym_is_int(cases[n - 1]) && !is_zero)) return NULL;
  for (size_t i = 0; i + 1 < n; i++) {
    if (tn_sym_is(cases[i], 0)) continue;
    if (cases[i]->kind != TN_SYM_EQ) return NULL;
    const char *const text = tn_sym_text(c->syms, cases[i]->args[tn_sym_is_int(cases[i]->args[0]) ? 1 : 0]);
    unless = unless ? tn_arena_printf(&c->ctx->arena, "%s or %s", unless, text) : text;
  }
  if (is_zero) return unless ? tn_arena_printf(&c->ctx->arena, "%s must be 0", unless) : NULL;
  const char *const rest = contract_words(c, cases[n - 1]);
  return unless ? tn_arena_printf(&c->ctx->arena, "%s, unless %s is 0", rest, unless) : rest;
}

/* X == 0 or ...; P == 1 or P == M */
static const char *contract_either_words(const contract *c, tn_sym e) {
  if (e->kind != TN_SYM_OR || e->n != 2) return NULL;
  const tn_sym a = e->args[0], b = e->args[1];
  for (int i = 0; i < 2; i++) {
    const tn_sym zero = i ? b : a, other = i ? a : b;
    if (zero->kind != TN_SYM_EQ || !tn_sym_is(zero->args[1], 0) || !tn_sym_is_var(zero->args[0])) continue;
    if (other->kind != TN_SYM_EQ && other->kind != TN_SYM_LE) return NULL;
    return tn_arena_printf(&c->ctx->arena, "%s, unless %s is 0", contract_words(c, other),
                           tn_sym_text(c->syms, zero->args[0]));
  }
  for (int i = 0; i < 4 && a->kind == TN_SYM_EQ && b->kind == TN_SYM_EQ; i++) {
    const tn_sym same = a->args[i & 1], x = a->args[!(i & 1)], y = b->args[!(i >> 1)];
    if (same != b->args[i >> 1] || !tn_sym_is_var(same)) continue;
    return tn_arena_printf(&c->ctx->arena, "%s must be %s or %s", tn_sym_text(c->syms, same),
                           tn_sym_text(c->syms, tn_sym_is_int(y) ? y : x),
                           tn_sym_text(c->syms, tn_sym_is_int(y) ? x : y));
  }
  return NULL;
}

static const char *contract_words(const contract *c, tn_sym e) {
  const char *const either = contract_either_words(c, e);
  if (either) return either;
  const char *const order = contract_order_words(c, e), *const bcast = order ? NULL : contract_bcast_words(c, e);
  if (order || bcast) return order ? order : bcast;
  const char *const factor = contract_factor_words(c, e);
  if (factor) return factor;
  if (e->kind != TN_SYM_EQ) return tn_sym_text(c->syms, e);
  return tn_arena_printf(&c->ctx->arena, tn_sym_is_var(e->args[0]) ? "%s must be %s" : "%s must equal %s",
                         tn_sym_text(c->syms, e->args[0]), tn_sym_text(c->syms, e->args[1]));
}

static void contract_add_check(contract *c, size_t at) {
  const tn_check *const k = c->checks.at[at];
  contract_row *const row = contract_add(c, k->region, k->condition, contract_words(c, k->condition));
  tn_vec_push(&c->ctx->arena, &row->checks, at);
}

/* Is k in `k <= S` no size by the other conditions? Then the bound is not said by itself. */
static bool contract_is_loose(const tn_sym_set *all, tn_sym e) {
  return all && tn_sym_is_int(e->args[0]) && !tn_sym_set_has(all, e->args[0]->k);
}

/* The checks of a region on one symbol: bounds, and one row for all others that can be solved together. */
static void contract_add_symbol(contract *c, tn_sym var, const size_t *at, size_t n, bool *done) {
  tn_arena *const a = &c->ctx->arena;
  tn_sym *const conditions = TN_NEW_ARRAY(a, tn_sym, n + 1);
  size_t *const of = TN_NEW_ARRAY(a, size_t, n + 1);
  bool *const solved = TN_NEW_ARRAY(a, bool, n + 1), *const implied = TN_NEW_ARRAY(a, bool, n + 1);
  size_t m = 0;
  tn_sym_set together;
  for (size_t i = 0; i < n; i++) conditions[i] = c->checks.at[at[i]]->condition;
  const bool all = n > 1 && tn_sym_solve(c->syms, a, var, conditions, n, solved, implied, &together) == n;
  int64_t from = tn_sym_symbol(c->syms, (uint32_t)var->k)->min;
  for (size_t i = 0; i < n; i++) {
    const tn_sym e = c->checks.at[at[i]]->condition;
    if (contract_is_bound(e) && !contract_is_loose(all ? &together : NULL, e)) {
      if (tn_sym_is_int(e->args[0]) && e->args[0]->k > from) from = e->args[0]->k;
      contract_add_check(c, at[i]);
      done[at[i]] = true;
    } else {
      of[m] = at[i];
      conditions[m++] = e;
    }
  }
  tn_size_words sizes;
  tn_sym_set *const set = TN_NEW(a, tn_sym_set);
  if (m == 0 || tn_sym_solve(c->syms, a, var, conditions, m, solved, implied, set) == 0 ||
      !tn_sizes_describe(c->syms, a, set, from, &sizes))
    return;
  const char *const words = tn_arena_printf(a, "%s must be %s", tn_sym_text(c->syms, var), sizes.words);
  contract_row *const row = contract_add(c, c->checks.at[at[0]]->region, sizes.condition, words);
  row->set = set;
  for (size_t i = 0; i < m; i++) {
    if (solved[i]) tn_vec_push(a, &row->checks, of[i]);
    done[of[i]] |= solved[i];
  }
}

/* The next check of the same region and symbol, by check; `end` where there is none, `end + 1` for those of more
 * symbols than one. */
static size_t *contract_chain(contract *c, size_t begin, size_t end) {
  tn_arena *const a = &c->ctx->arena;
  size_t *const next = TN_NEW_ARRAY(a, size_t, end + 1);
  tn_map last = {0};
  for (size_t i = begin; i < end; i++) {
    const tn_check *const check = c->checks.at[i];
    const tn_sym var = tn_ledger_symbol(c->graph, check->condition);
    uint64_t before;
    next[i] = var ? end : end + 1;
    if (!var) continue;
    const uint64_t key = (uint64_t)(var->k + 1) << 32 | check->region->id;
    if (tn_map_find(&last, key, &before)) next[before] = i;
    tn_map_set(a, &last, key, i);
  }
  return next;
}

/* Rows of the checks from `begin` to `end`, in the order of the first check that each needs. */
static void contract_add_rows(contract *c, size_t begin, size_t end) {
  tn_arena *const a = &c->ctx->arena;
  bool *const done = TN_NEW_ARRAY(a, bool, end + 1), *const seen = TN_NEW_ARRAY(a, bool, end + 1);
  size_t *const at = TN_NEW_ARRAY(a, size_t, end + 1), *const next = contract_chain(c, begin, end);
  for (size_t i = begin; i < end; i++) {
    size_t n = 0;
    for (size_t k = i; k < end && next[k] <= end && !seen[k]; k = next[k]) {
      seen[k] = true;
      at[n++] = k;
    }
    if (n > 0) contract_add_symbol(c, tn_ledger_symbol(c->graph, c->checks.at[i]->condition), at, n, done);
    if (!done[i]) contract_add_check(c, i);
  }
}

static void contract_collect(contract *c) {
  for (size_t i = 0; i < c->at.early.n; i++) tn_vec_push(&c->ctx->arena, &c->checks, c->at.early.at[i]);
  contract_add_rows(c, 0, c->checks.n);
  c->n_early = c->rows.n;
  for (size_t i = 0; i < c->at.late.n; i++) tn_vec_push(&c->ctx->arena, &c->checks, c->at.late.at[i]);
  contract_add_rows(c, c->at.early.n, c->checks.n);
}

/* Printing. */

static const char *contract_node(const tn_check *k) {
  return k->loc.name && k->loc.name[0] ? k->loc.name : k->loc.op ? k->loc.op : "?";
}

/* "then_branch of node 'If_0' (If)"; NULL for the main graph. */
static const char *contract_region(const contract *c, const tn_region *r) {
  const tn_node *const owner = r->owner;
  if (!owner) return NULL;
  const char *name = "a region";
  for (int i = 0, k = 0; i < tn_op_n_attrs(owner->op); i++) {
    if (owner->op->attrs[i].kind != TN_ATTR_REGION) continue;
    if (k < owner->n_regions && owner->regions[k] == r) name = owner->op->attrs[i].name;
    k++;
  }
  return tn_arena_printf(&c->ctx->arena, "%s of %s", name, tn_tool_where(c->ctx, owner));
}

static void contract_put_breaks(const contract *c, tn_text *t, const contract_row *row) {
  for (int i = 0; i < row->n_breaks; i++)
    tn_text_printf(t, "%s%s = %lld", i ? ", " : "",
                   tn_sym_text(c->syms, tn_sym_symbol(c->syms, row->break_symbol[i])->var),
                   (long long)row->break_number[i]);
}

static void contract_put_row(const contract *c, tn_text *t, const contract_row *row, const char *indent) {
  tn_text_printf(t, "%s%s   (", indent, row->words);
  for (size_t i = 0; i < row->checks.n; i++) {
    const tn_check *const k = c->checks.at[row->checks.at[i]];
    tn_text_printf(t, "%s%s: %s", i ? "; " : "", contract_node(k), k->text);
  }
  tn_text_addz(t, ")\n");
  if (row->n_breaks == 0) return;
  tn_text_printf(t, "%s  fails at ", indent);
  contract_put_breaks(c, t, row);
  tn_text_addz(t, "\n");
}

static void contract_put_inputs(const contract *c, tn_text *t) {
  const tn_graph *const g = c->graph;
  for (int i = 0; i < g->main->n_params; i++) {
    tn_text_printf(t, "input %s: ", g->main->params[i]->name);
    tn_type_print(c->syms, t, &g->main->params[i]->type);
    tn_text_addz(t, "\n");
  }
  for (size_t i = 0; i < c->at.inputs.n; i++) {
    const tn_symbol *const s = tn_sym_symbol(c->syms, c->at.inputs.at[i]);
    if (s->min != INT64_MIN && s->min != 0)
      tn_text_printf(t, "%s >= %lld\n", tn_sym_text(c->syms, s->var), (long long)s->min);
    if (s->max != INT64_MAX) tn_text_printf(t, "%s <= %lld\n", tn_sym_text(c->syms, s->var), (long long)s->max);
    if (s->multiple_of > 1)
      tn_text_printf(t, "%s is a multiple of %lld\n", tn_sym_text(c->syms, s->var), (long long)s->multiple_of);
  }
  for (size_t i = 0; i < g->assumed.n; i++)
    if (!tn_ledger_symbol(g, g->assumed.at[i]) ||
        (g->assumed.at[i]->kind == TN_SYM_EQ && !tn_sym_is(g->assumed.at[i]->args[1], 0)))
      tn_text_printf(t, "assumed: %s\n", tn_sym_text(c->syms, g->assumed.at[i]));
}

static void contract_put_text(const contract *c, tn_text *t, bool valid) {
  contract_put_inputs(c, t);
  for (size_t i = 0; i < c->n_early; i++) contract_put_row(c, t, &c->rows.at[i], "");
  if (c->n_early == 0) tn_text_addz(t, c->rows.n ? "no size is refused before the run\n" : "every size is valid\n");
  const tn_region *in = NULL;
  for (size_t i = c->n_early; i < c->rows.n; i++) {
    const contract_row *const row = &c->rows.at[i];
    const char *const where = contract_region(c, row->region);
    if (row->region != in)
      tn_text_printf(t, where ? "during the run, in the %s:\n" : "during the run:\n", where ? where : "");
    in = row->region;
    contract_put_row(c, t, row, "  ");
  }
  if (!valid) {
    tn_text_addz(t, "no valid sizes were found\n");
    return;
  }
  if (c->at.inputs.n) tn_text_printf(t, "smallest valid sizes: %s\n", tn_binding_text(&c->at, &c->ctx->arena, false));
}

static void contract_put_string(tn_text *t, const char *name, const char *z) {
  tn_text_printf(t, "\"%s\": ", name);
  if (z)
    tn_text_json(t, tn_str_of(z));
  else
    tn_text_addz(t, "null");
}

static void contract_put_json_row(const contract *c, tn_text *t, const contract_row *row) {
  contract_put_string(t, "expr", tn_sym_text(c->syms, row->condition));
  tn_text_addz(t, ", ");
  contract_put_string(t, "words", row->words);
  tn_text_addz(t, ", ");
  contract_put_string(t, "in", contract_region(c, row->region));
  tn_text_addz(t, ", ");
  tn_text_addz(t, "\"fails\": {");
  for (int i = 0; i < row->n_breaks; i++) {
    tn_text_addz(t, i ? ", " : "");
    tn_text_json(t, tn_str_of(tn_sym_symbol(c->syms, row->break_symbol[i])->name));
    tn_text_printf(t, ": %lld", (long long)row->break_number[i]);
  }
  tn_text_addz(t, "},\n   \"checks\": [");
  for (size_t i = 0; i < row->checks.n; i++) {
    const tn_check *const k = c->checks.at[row->checks.at[i]];
    tn_text_addz(t, i ? ", {" : "{");
    contract_put_string(t, "expr", tn_sym_text(c->syms, k->condition));
    tn_text_addz(t, ", ");
    contract_put_string(t, "node", contract_node(k));
    tn_text_addz(t, ", ");
    contract_put_string(t, "why", k->text);
    tn_text_addz(t, "}");
  }
  tn_text_addz(t, "]}");
}

static void contract_put_json(const contract *c, tn_text *t, bool valid) {
  const tn_graph *const g = c->graph;
  tn_text_addz(t, "{\n \"inputs\": {");
  for (int i = 0; i < g->main->n_params; i++) {
    tn_text type;
    tn_text_init(&type, &c->ctx->arena);
    tn_type_print(c->syms, &type, &g->main->params[i]->type);
    tn_text_addz(t, i ? ", " : "");
    tn_text_json(t, tn_str_of(g->main->params[i]->name));
    tn_text_addz(t, ": ");
    tn_text_json(t, tn_str_of(tn_text_z(&type)));
  }
  tn_text_addz(t, "},\n \"conditions\": [");
  for (size_t i = 0; i < c->rows.n; i++) {
    if (i == c->n_early) tn_text_addz(t, "],\n \"during_run\": [");
    tn_text_addz(t, i && i != c->n_early ? ",\n  {" : "\n  {");
    contract_put_json_row(c, t, &c->rows.at[i]);
  }
  tn_text_addz(t, c->rows.n == c->n_early ? "],\n \"during_run\": [],\n \"smallest\": " : "],\n \"smallest\": ");
  if (valid)
    tn_text_printf(t, "{%s}\n}\n", tn_binding_text(&c->at, &c->ctx->arena, true));
  else
    tn_text_addz(t, "null\n}\n");
}

static tn_status contract_inside(tn_compilation *compilation, void *arg) {
  contract *const c = arg;
  if (compilation->is_program)
    return tn_fail(&compilation->ctx, TN_INVALID, (tn_loc){0}, "a program holds no model to ask");
  c->ctx = &compilation->ctx;
  c->graph = compilation->graph;
  c->syms = c->graph->syms;
  tn_binding_init(&c->at, c->graph, false);
  contract_collect(c);
  const bool valid = tn_binding_find(&c->at);
  if (valid) tn_binding_shrink(&c->at);
  for (size_t i = 0; valid && i < c->rows.n; i++) contract_break_row(c, &c->rows.at[i]);
  tn_text t;
  tn_text_init(&t, &c->ctx->arena);
  if (c->json)
    contract_put_json(c, &t, valid);
  else
    contract_put_text(c, &t, valid);
  return tn_blob_copy((tn_str){tn_text_z(&t), t.len}, c->out);
}

tn_status tn_tool_contract(const char *path, const tn_compile_options *o, int json, tn_blob *out,
                           tn_report **out_report) {
  contract c = {.json = json != 0, .out = out};
  *out = (tn_blob){0};
  return tn_tool_inferred(path, o, TN_TOOL_UNKNOWN, contract_inside, &c, out_report);
}
