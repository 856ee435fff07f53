/* What a node computes and moves, as formulas of the model's symbols.
 *
 * A multiply and an add are two operations. Products of matrices and convolutions count these; an elementwise node
 * counts one per element of its result, a reduction or pool one per element that it reads (pools: per tap), softmax and
 * normalisations five per element. Moving data counts none. */
#include "pass/cost.h"

#include "ir/op.h"

static tn_sym costing_int(const tn_cost *c, int64_t v) { return tn_sym_int(c->syms, v); }

static tn_sym costing_count(tn_cost *c, const tn_value *v) {
  if (v && tn_type_has_rank(&v->type)) return tn_type_count(c->syms, &v->type);
  c->unknown |= v != NULL;
  return costing_int(c, 0);
}

tn_sym tn_cost_bytes(tn_cost *c, const tn_value *v) {
  const int64_t bits = v && v->type.kind == TN_TYPE_TENSOR && v->type.dtype ? tn_dtype_bits(v->type.dtype) : 0;
  const tn_sym n = costing_count(c, v);
  return bits % 8 == 0 ? tn_sym_muli(c->syms, n, bits / 8)
                       : tn_sym_ceildiv(c->syms, tn_sym_muli(c->syms, n, bits), costing_int(c, 8));
}

static bool costing_is(const tn_node *node, const char *const *names) {
  for (; *names; names++)
    if (strcmp(node->op->name, *names) == 0) return true;
  return false;
}

static const tn_type *costing_in(const tn_node *node, int i) {
  return i < node->n_in && node->in[i] && tn_type_has_rank(&node->in[i]->type) ? &node->in[i]->type : NULL;
}

/* Product of the dims of a type from `from` on. */
static tn_sym costing_dims(const tn_cost *c, const tn_type *t, int from) {
  tn_sym n = costing_int(c, 1);
  for (int i = from; i < t->rank; i++) n = tn_sym_mul(c->syms, n, t->dims[i]);
  return n;
}

static int64_t costing_attr(const tn_node *node, const char *name) {
  const tn_attr *a = tn_op_attr(node, name);
  return a && a->kind == TN_ATTR_INT ? a->i : 0;
}

/* Multiply-adds of the heavy operators; NULL: not one of them. */
static tn_sym costing_products(tn_cost *c, const tn_node *node) {
  static const char *const matmuls[] = {"matmul", "matmul_integer", "qlinear_matmul", "fused_matmul", NULL};
  static const char *const convs[] = {"conv", "conv_integer", "fused_conv", NULL};
  static const char *const recurrent[] = {"lstm", "gru", "rnn", NULL};
  const tn_type *const a = costing_in(node, 0), *const w = costing_in(node, 1), *const h = costing_in(node, 2);
  const tn_sym out = node->n_out && node->out[0] ? costing_count(c, node->out[0]) : costing_int(c, 0);
  if (costing_is(node, matmuls)) return a && a->rank > 0 ? tn_sym_mul(c->syms, out, a->dims[a->rank - 1]) : NULL;
  if (strcmp(node->op->name, "gemm") == 0)
    return a && a->rank == 2 ? tn_sym_mul(c->syms, out, a->dims[costing_attr(node, "transA") ? 0 : 1]) : NULL;
  if (strcmp(node->op->name, "qlinear_conv") == 0)
    return costing_in(node, 3) ? tn_sym_mul(c->syms, out, costing_dims(c, costing_in(node, 3), 1)) : NULL;
  if (costing_is(node, convs)) return w && w->rank > 1 ? tn_sym_mul(c->syms, out, costing_dims(c, w, 1)) : NULL;
  if (strcmp(node->op->name, "conv_transpose") == 0)
    return a && w && w->rank > 1 ? tn_sym_mul(c->syms, costing_dims(c, a, 0), costing_dims(c, w, 1)) : NULL;
  if (costing_is(node, recurrent) && a && w && h && a->rank == 3)
    return tn_sym_mul(c->syms, tn_sym_mul(c->syms, a->dims[0], a->dims[1]),
                      tn_sym_add(c->syms, costing_dims(c, w, 0), costing_dims(c, h, 0)));
  return NULL;
}

static int costing_per_element(const tn_node *node, bool *of_input) {
  static const char *const five[] = {"softmax",
                                     "log_softmax",
                                     "layer_norm",
                                     "layer_normalization",
                                     "batch_normalization",
                                     "batchnorm",
                                     "instance_normalization",
                                     "group_normalization",
                                     "lp_normalization",
                                     "rms_normalization",
                                     "mean_variance_normalization",
                                     NULL};
  *of_input = strncmp(node->op->name, "reduce_", 7) == 0 || strncmp(node->op->name, "arg_", 4) == 0 ||
              strncmp(node->op->name, "global_", 7) == 0 || strcmp(node->op->name, "cumsum") == 0;
  if (costing_is(node, five)) return 5;
  if (*of_input) return 1;
  return (node->op->traits & TN_TRAIT_ELEMENTWISE) && !(node->op->traits & TN_TRAIT_VIEW) &&
                 strncmp(node->op->name, "cast", 4) != 0 && strcmp(node->op->name, "where") != 0
             ? 1
             : 0;
}

/* A window's taps per element of the result. */
static int64_t costing_taps(const tn_node *node) {
  static const char *const pools[] = {"max_pool", "average_pool", "lp_pool", "avg_pool", NULL};
  const tn_attr *a = costing_is(node, pools) ? tn_op_attr(node, "kernel_shape") : NULL;
  int64_t taps = 1;
  if (!a || a->kind != TN_ATTR_INTS) return 0;
  for (int64_t k = 0; k < a->n; k++)
    if (!tn_mul_i64(taps, a->ints[k], &taps)) return 0;
  return taps;
}

tn_sym tn_cost_flops(tn_cost *c, const tn_node *node) {
  bool of_input;
  const tn_value *const out = node->n_out ? node->out[0] : NULL;
  if (!out || (out->type.content && out->type.dtype && !tn_dtype_is_float(out->type.dtype))) return costing_int(c, 0);
  const tn_sym products = costing_products(c, node);
  if (products) return tn_sym_muli(c->syms, products, 2);
  const int64_t taps = costing_taps(node);
  if (taps > 0) return tn_sym_muli(c->syms, costing_count(c, out), taps);
  const int per = costing_per_element(node, &of_input);
  if (per == 0) return costing_int(c, 0);
  return tn_sym_muli(c->syms, costing_count(c, of_input && node->n_in ? node->in[0] : out), per);
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
    s->given[symbol->var->k] = true;
    s->value[symbol->var->k] = v;
    at = comma ? comma + 1 : end;
  }
  return TN_OK;
}
