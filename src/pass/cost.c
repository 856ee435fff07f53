/* What nodes hold and move, as formulas of the model's symbols; and sizes that the user gives. */
#include "pass/cost.h"

#include "ir/op.h"

static tn_sym costing_int(const tn_cost *c, int64_t v) { return tn_sym_int(c->syms, v); }

tn_sym tn_cost_count(tn_cost *c, const tn_value *v) {
  if (v && tn_type_has_rank(&v->type)) return tn_type_count(c->syms, &v->type);
  c->unknown |= v != NULL;
  return costing_int(c, 0);
}

tn_sym tn_cost_bytes(tn_cost *c, const tn_value *v) {
  const int64_t bits = v && v->type.kind == TN_TYPE_TENSOR && v->type.dtype ? tn_dtype_bits(v->type.dtype) : 0;
  const tn_sym n = tn_cost_count(c, v);
  return bits % 8 == 0 ? tn_sym_muli(c->syms, n, bits / 8)
                       : tn_sym_ceildiv(c->syms, tn_sym_muli(c->syms, n, bits), costing_int(c, 8));
}

tn_sym tn_cost_moved(tn_cost *c, const tn_node *node) {
  tn_sym bytes = costing_int(c, 0);
  if (node->op->traits & TN_TRAIT_VIEW) return bytes;
  for (int i = 0; i < node->n_in; i++)
    if (node->in[i]) bytes = tn_sym_add(c->syms, bytes, tn_cost_bytes(c, node->in[i]));
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) bytes = tn_sym_add(c->syms, bytes, tn_cost_bytes(c, node->out[i]));
  return bytes;
}

/* --- sizes that the user gives --- */

typedef struct costing_ask {
  tn_cost_sizes *sizes;
  bool is_missing; /* a symbol without a number was met */
} costing_ask;

typedef struct costing_words {
  tn_cost_sizes *sizes;
  tn_text *text;
  int n; /* symbols said */
} costing_words;

bool tn_cost_env(void *arg, uint32_t symbol, int64_t *out) {
  const tn_cost_sizes *s = arg;
  *out = s->value[symbol];
  return s->given[symbol];
}

tn_cost_sizes tn_cost_sizes_new(tn_symtab *syms, tn_arena *a) {
  const uint32_t n = tn_sym_n_symbols(syms);
  return (tn_cost_sizes){syms, n, TN_NEW_ARRAY(a, bool, n + 1), TN_NEW_ARRAY(a, int64_t, n + 1)};
}

bool tn_cost_value(tn_cost_sizes *s, tn_sym e, int64_t *out) {
  return tn_sym_eval(s->syms, e, tn_cost_env, s, out) == TN_OK;
}

/* --- do the model's conditions allow them? --- */

static bool costing_note_missing(void *arg, uint32_t symbol, int64_t *out) {
  costing_ask *const ask = arg;
  ask->is_missing |= !ask->sizes->given[symbol] && !tn_sym_symbol(ask->sizes->syms, symbol)->definition;
  return tn_cost_env(ask->sizes, symbol, out);
}

/* Is the condition surely broken? */
static bool costing_is_broken(tn_cost_sizes *s, tn_sym condition) {
  costing_ask ask = {s, false};
  int64_t v;
  const tn_status status = tn_sym_eval(s->syms, condition, costing_note_missing, &ask, &v);
  return status == TN_OK ? v == 0 : !ask.is_missing;
}

static void costing_put_symbol(void *arg, uint32_t symbol) {
  costing_words *const w = arg;
  const tn_sym var = tn_sym_symbol(w->sizes->syms, symbol)->var;
  int64_t v;
  if (!tn_cost_value(w->sizes, var, &v)) return;
  tn_text_printf(w->text, "%s%s=%lld", w->n++ ? ", " : " (", tn_sym_text(w->sizes->syms, var), (long long)v);
}

static bool costing_compares(tn_sym e) { return e->kind == TN_SYM_EQ || e->kind == TN_SYM_LE || e->kind == TN_SYM_LT; }

/* The comparison that tells most of a condition: of two sizes, else the last one. */
static tn_sym costing_comparison(tn_sym e) {
  tn_sym best = e;
  for (uint32_t i = 0; (e->kind == TN_SYM_OR || e->kind == TN_SYM_AND) && i < e->n; i++) {
    const tn_sym c = e->args[i];
    if (!costing_compares(c)) continue;
    best = c;
    if (!tn_sym_is_int(c->args[0]) && !tn_sym_is_int(c->args[1])) break;
  }
  return best;
}

/* " (H=5, where ceildiv(H, 4) is 2)": the numbers of a condition's symbols, and of what it compares. */
static const char *costing_numbers(tn_cost_sizes *s, tn_arena *a, tn_sym condition) {
  enum { LONG = 200 };
  const tn_sym e = costing_comparison(condition);
  tn_text t;
  tn_text_init(&t, a);
  costing_words w = {s, &t, 0};
  tn_sym_symbols(s->syms, condition, costing_put_symbol, &w);
  int n = 0;
  for (uint32_t i = 0; costing_compares(e) && i < 2; i++) {
    const tn_sym side = e->args[i];
    int64_t v;
    if (tn_sym_is_int(side) || tn_sym_is_var(side) || side->size > LONG || !tn_cost_value(s, side, &v)) continue;
    tn_text_printf(&t, "%s%s is %lld", n++ ? ", " : w.n ? ", where " : " (", tn_sym_text(s->syms, side), (long long)v);
  }
  if (w.n + n) tn_text_addz(&t, ")");
  return tn_text_z(&t);
}

static tn_status costing_check_symbol(const tn_cost_sizes *s, tn_ctx *ctx, uint32_t symbol) {
  const tn_loc loc = {.kind = "option", .name = "--dim"};
  const tn_symbol *const y = tn_sym_symbol(s->syms, symbol);
  const long long v = (long long)s->value[symbol];
  if (v < y->min)
    return tn_fail(ctx, TN_MISMATCH, loc, "%s is %lld, but must be at least %lld", y->name, v, (long long)y->min);
  if (v > y->max)
    return tn_fail(ctx, TN_MISMATCH, loc, "%s is %lld, but must be at most %lld", y->name, v, (long long)y->max);
  if (v % y->multiple_of != 0)
    return tn_fail(ctx, TN_MISMATCH, loc, "%s is %lld, but must be a multiple of %lld", y->name, v,
                   (long long)y->multiple_of);
  return TN_OK;
}

static tn_status costing_check(tn_cost_sizes *s, tn_graph *g) {
  const tn_loc loc = {.kind = "option", .name = "--dim"};
  for (uint32_t i = 0; i < s->n; i++)
    if (s->given[i]) TN_TRY(costing_check_symbol(s, g->ctx, i));
  for (size_t i = 0; i < g->checks.n; i++) {
    const tn_check *const c = &g->checks.at[i];
    const tn_region *region = c->region;
    while (region->merged) region = region->merged;
    if (region == g->main && costing_is_broken(s, c->condition))
      return tn_fail(g->ctx, TN_MISMATCH, c->loc, "%s%s", c->text, costing_numbers(s, &g->ctx->arena, c->condition));
  }
  for (size_t i = 0; i < g->assumed.n; i++)
    if (costing_is_broken(s, g->assumed.at[i]))
      return tn_fail(g->ctx, TN_MISMATCH, loc, "the assumption %s does not hold%s",
                     tn_sym_text(s->syms, g->assumed.at[i]), costing_numbers(s, &g->ctx->arena, g->assumed.at[i]));
  return TN_OK;
}

tn_status tn_cost_sizes_read(tn_cost_sizes *s, tn_graph *g, const char *dims) {
  tn_ctx *const ctx = g->ctx;
  const tn_loc loc = {.kind = "option", .name = "--dim"};
  const char *at = dims ? dims : "";
  while (*at) {
    const char *const eq = strchr(at, '='), *const comma = strchr(at, ',');
    const char *const end = comma ? comma : at + strlen(at);
    int64_t v = 0;
    if (!eq || eq >= end || eq + 1 == end) return tn_fail(ctx, TN_INVALID, loc, "expected NAME=SIZE at '%s'", at);
    for (const char *d = eq + 1; d < end; d++)
      if (*d < '0' || *d > '9' || !tn_mul_i64(v, 10, &v) || !tn_add_i64(v, *d - '0', &v))
        return tn_fail(ctx, TN_INVALID, loc, "'%.*s' is no size", (int)(end - eq - 1), eq + 1);
    const char *const name = tn_arena_copy_str(&ctx->arena, (tn_str){at, (size_t)(eq - at)});
    const tn_symbol *const symbol = tn_sym_find_symbol(s->syms, name);
    if (!symbol) return tn_fail(ctx, TN_INVALID, loc, "the model has no symbol '%s'", name);
    if (s->given[symbol->var->k]) return tn_fail(ctx, TN_INVALID, loc, "'%s' is given twice", name);
    s->given[symbol->var->k] = true;
    s->value[symbol->var->k] = v;
    at = comma ? comma + 1 : end;
  }
  return dims ? costing_check(s, g) : TN_OK;
}
