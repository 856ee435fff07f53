/* `tenon contract`: which inputs are valid, the nodes that say so, the smallest valid sizes, and for each condition
 * sizes that break it alone. */
#include "driver/binding.h"
#include "driver/shapes.h"
#include "driver/tool.h"

enum { CONTRACT_NEAR = 130 /* numbers tried in one symbol's place */ };

typedef struct contract_row {
  tn_sym condition;
  tn_text why; /* the nodes */
  const char *words;
  const char *breaks; /* "H = 3", or NULL when none was found */
} contract_row;

typedef struct contract {
  tn_graph *graph;
  tn_ctx *ctx;
  tn_symtab *syms;
  bool json;
  tn_blob *out;
  TN_VEC(contract_row) rows;
  tn_binding at; /* the binding being tried */
} contract;

static bool contract_others_hold(contract *c, const contract_row *but) {
  for (size_t i = 0; i < c->rows.n; i++)
    if (&c->rows.at[i] != but && !tn_binding_holds(&c->at, c->rows.at[i].condition)) return false;
  return true;
}

typedef struct contract_break {
  contract *c;
  contract_row *row;
} contract_break;

/* From a valid binding: another number for one symbol that breaks this condition and, if possible, no other. */
static void contract_break_by(void *arg, uint32_t symbol) {
  const contract_break *const b = arg;
  contract *const c = b->c;
  if (!c->at.bound[symbol] || (b->row->breaks && b->row->breaks[0] != '*')) return;
  const int64_t had = c->at.value[symbol];
  for (int64_t k = -1; k < CONTRACT_NEAR + 64; k++) {
    const int64_t far =
        k < CONTRACT_NEAR ? k + 1 : (INT64_C(1) << (k - CONTRACT_NEAR < 62 ? k - CONTRACT_NEAR : 62)) + 1;
    if (!tn_binding_may_be(&c->at, symbol, far)) continue;
    c->at.value[symbol] = far;
    int64_t v;
    if (tn_sym_eval(c->syms, b->row->condition, tn_binding_env, &c->at, &v) != TN_OK || v != 0) continue;
    const bool alone = contract_others_hold(c, b->row);
    if (!alone && b->row->breaks) continue;
    b->row->breaks = tn_arena_printf(&c->ctx->arena, "%s%s = %lld", alone ? "" : "*",
                                     tn_sym_text(c->syms, tn_sym_symbol(c->syms, symbol)->var), (long long)far);
    if (alone) break;
  }
  c->at.value[symbol] = had;
}

/* Conditions. */

static void contract_add_why(contract *c, contract_row *row, const tn_check *demand) {
  const char *const name = demand->loc.name && demand->loc.name[0] ? demand->loc.name : demand->loc.op;
  if (row->why.len) tn_text_addz(&row->why, "; ");
  tn_text_printf(&row->why, "%s: %s", name ? name : "?", demand->text);
  (void)c;
}

static contract_row *contract_add_row(contract *c, tn_sym condition, const char *words) {
  tn_vec_push(&c->ctx->arena, &c->rows, ((contract_row){.condition = condition, .words = words}));
  contract_row *const row = &c->rows.at[c->rows.n - 1];
  tn_text_init(&row->why, &c->ctx->arena);
  return row;
}

/* What an alternative leaves of its one symbol, in words; NULL when it does not come to that. */
static const char *contract_alternative(contract *c, tn_sym e, tn_sym *var) {
  tn_premises *const alone = tn_premises_new(c->syms);
  tn_premises_add(alone, e);
  const char *found = NULL;
  for (size_t s = 0; s < c->at.inputs.n; s++) {
    const tn_sym symbol = tn_sym_symbol(c->syms, c->at.inputs.at[s])->var, at = tn_premises_coordinates(alone, symbol);
    if (at == symbol) continue;
    if (found || (*var && *var != symbol)) return NULL;
    *var = symbol;
    if (tn_sym_is_int(at)) found = tn_arena_printf(&c->ctx->arena, "%lld", (long long)at->k);
    if (at->kind == TN_SYM_ADD && at->n == 1 && at->k == 0 && at->args[0] == symbol)
      found = tn_arena_printf(&c->ctx->arena, "a multiple of %lld", (long long)at->coefs[0]);
  }
  return found;
}

/* "H must be 1 or a multiple of 8", else the condition's text. */
static const char *contract_words(contract *c, tn_sym e) {
  const char *const text = tn_sym_text(c->syms, e);
  tn_sym var = NULL;
  const char *words = NULL;
  if (e->kind != TN_SYM_OR) return text;
  for (uint32_t i = 0; i < e->n; i++) {
    const char *const one = contract_alternative(c, e->args[i], &var);
    if (!one) return text;
    words = words ? tn_arena_printf(&c->ctx->arena, "%s or %s", words, one) : one;
  }
  return words && var ? tn_arena_printf(&c->ctx->arena, "%s must be %s", tn_sym_text(c->syms, var), words) : text;
}

/* S = k * S' + r in the coordinates of all conditions: one condition on S instead of those that follow from it. */
static void contract_add_multiples(contract *c, const tn_premises *all, const tn_check *const *checks, size_t n,
                                   bool *done) {
  for (size_t s = 0; s < c->at.inputs.n; s++) {
    const tn_sym var = tn_sym_symbol(c->syms, c->at.inputs.at[s])->var;
    const tn_sym at = tn_premises_coordinates(all, var);
    if (at->kind != TN_SYM_ADD || at->n != 1 || at->args[0] != var || at->coefs[0] < 2) continue;
    int64_t rest = 0;
    if (!tn_mod_i64(at->k, at->coefs[0], &rest)) continue;
    const tn_sym k = tn_sym_int(c->syms, at->coefs[0]);
    const tn_sym condition = tn_sym_eq(c->syms, tn_sym_mod(c->syms, var, k), tn_sym_int(c->syms, rest));
    tn_premises *const alone = tn_premises_new(c->syms);
    tn_premises_add(alone, condition);
    const char *const name = tn_sym_text(c->syms, var);
    const long long by = (long long)at->coefs[0];
    const char *const words = rest == 0
                                  ? tn_arena_printf(&c->ctx->arena, "%s must be a multiple of %lld", name, by)
                                  : tn_arena_printf(&c->ctx->arena, "%s must be %lld more than a multiple of %lld",
                                                    name, (long long)rest, by);
    contract_row *row = NULL;
    for (size_t i = 0; i < n; i++) {
      if (done[i] || tn_premises_prove(alone, checks[i]->condition) != TN_TRUE) continue;
      if (!row) row = contract_add_row(c, condition, words);
      contract_add_why(c, row, checks[i]);
      done[i] = true;
    }
  }
}

static void contract_collect(contract *c) {
  const tn_check *const *const checks = c->at.early.at;
  const size_t n = c->at.early.n;
  bool *const done = TN_NEW_ARRAY(&c->ctx->arena, bool, n + 1);
  tn_premises *const all = tn_premises_new(c->syms);
  for (size_t i = 0; i < n; i++) tn_premises_add(all, checks[i]->condition);
  contract_add_multiples(c, all, checks, n, done);
  for (size_t i = 0; i < n; i++) {
    if (done[i]) continue;
    const tn_sym condition = checks[i]->condition;
    const char *const words = contract_words(c, condition);
    contract_add_why(c, contract_add_row(c, condition, words), checks[i]);
  }
}

/* Printing. */

static const char *contract_breaks(const contract_row *row) {
  return row->breaks ? row->breaks + (row->breaks[0] == '*') : NULL;
}

static void contract_put_text(contract *c, tn_text *t, bool valid) {
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
  for (size_t i = 0; i < c->rows.n; i++) {
    const char *const breaks = contract_breaks(&c->rows.at[i]);
    tn_text_printf(t, "%s   (%s)\n", c->rows.at[i].words, tn_text_z(&c->rows.at[i].why));
    if (breaks) tn_text_printf(t, "  fails at %s\n", breaks);
  }
  for (size_t i = 0; i < c->at.late.n; i++)
    tn_text_printf(t, "during the run: %s   (%s: %s)\n", tn_sym_text(c->syms, c->at.late.at[i]->condition),
                   c->at.late.at[i]->loc.name ? c->at.late.at[i]->loc.name : "?", c->at.late.at[i]->text);
  if (c->rows.n == 0) tn_text_addz(t, "every size is valid\n");
  if (!valid) {
    tn_text_addz(t, "no valid sizes were found\n");
    return;
  }
  if (c->at.inputs.n) tn_text_addz(t, "smallest valid sizes:");
  for (size_t i = 0; i < c->at.inputs.n; i++)
    tn_text_printf(t, "%s %s = %lld", i ? "," : "",
                   tn_sym_text(c->syms, tn_sym_symbol(c->syms, c->at.inputs.at[i])->var),
                   (long long)c->at.value[c->at.inputs.at[i]]);
  if (c->at.inputs.n) tn_text_addz(t, "\n");
}

static void contract_put_string(tn_text *t, const char *name, const char *z) {
  tn_text_printf(t, "\"%s\": ", name);
  if (z)
    tn_text_json(t, tn_str_of(z));
  else
    tn_text_addz(t, "null");
}

static void contract_put_json(contract *c, tn_text *t, bool valid) {
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
    tn_text_addz(t, i ? ",\n  {" : "\n  {");
    contract_put_string(t, "expr", tn_sym_text(c->syms, c->rows.at[i].condition));
    tn_text_addz(t, ", ");
    contract_put_string(t, "words", c->rows.at[i].words);
    tn_text_addz(t, ", ");
    contract_put_string(t, "why", tn_text_z(&c->rows.at[i].why));
    tn_text_addz(t, ", ");
    contract_put_string(t, "fails", contract_breaks(&c->rows.at[i]));
    tn_text_addz(t, "}");
  }
  tn_text_addz(t, "],\n \"during_run\": [");
  for (size_t i = 0; i < c->at.late.n; i++) {
    tn_text_addz(t, i ? ",\n  {" : "\n  {");
    contract_put_string(t, "expr", tn_sym_text(c->syms, c->at.late.at[i]->condition));
    tn_text_addz(t, ", ");
    contract_put_string(t, "why", c->at.late.at[i]->text);
    tn_text_addz(t, "}");
  }
  tn_text_addz(t, "],\n \"smallest\": ");
  tn_text_addz(t, valid ? "{" : "null");
  for (size_t i = 0; valid && i < c->at.inputs.n; i++) {
    tn_text_addz(t, i ? ", " : "");
    tn_text_json(t, tn_str_of(tn_sym_symbol(c->syms, c->at.inputs.at[i])->name));
    tn_text_printf(t, ": %lld", (long long)c->at.value[c->at.inputs.at[i]]);
  }
  tn_text_addz(t, valid ? "}\n}\n" : "\n}\n");
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
  for (size_t i = 0; valid && i < c->rows.n; i++) {
    contract_break b = {c, &c->rows.at[i]};
    tn_sym_symbols(c->syms, c->rows.at[i].condition, contract_break_by, &b);
  }
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
  tn_compilation compilation;
  const tn_compile_request q = {.allocator = tn_allocator_system(),
                                .path = path,
                                .options = o,
                                .stop_after = "infer",
                                .max_edits = -1,
                                .keeps_unknown = true};
  contract c = {.json = json != 0, .out = out};
  *out = (tn_blob){0};
  return tn_tool_finish(&compilation, tn_compilation_run(&compilation, &q), contract_inside, &c, out_report);
}
