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

static bool costing_env(void *arg, uint32_t symbol, int64_t *out) {
  const tn_cost_sizes *s = arg;
  *out = s->value[symbol];
  return s->given[symbol];
}

tn_cost_sizes tn_cost_sizes_new(tn_symtab *syms, tn_arena *a) {
  const uint32_t n = tn_sym_n_symbols(syms);
  return (tn_cost_sizes){syms, n, TN_NEW_ARRAY(a, bool, n + 1), TN_NEW_ARRAY(a, int64_t, n + 1)};
}

bool tn_cost_value(tn_cost_sizes *s, tn_sym e, int64_t *out) {
  return tn_sym_eval(s->syms, e, costing_env, s, out) == TN_OK;
}

tn_status tn_cost_sizes_read(tn_cost_sizes *s, tn_ctx *ctx, const char *dims) {
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
  return TN_OK;
}
