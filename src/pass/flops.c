/* What a node computes, as a formula of the model's symbols.
 *
 * A multiply and an add are two operations. Counted so are products of matrices, convolutions, recurrent layers
 * (without their gates), attention and Einsum; attention's scores take five more for softmax, and are counted in full
 * where a mask hides some. An elementwise node counts one per element of its result, a reduction one per element that
 * it reads, a pool one per tap, softmax and normalisations five per element, transforms what the product with their
 * matrix counts. Moving, choosing and resampling data counts none. */
#include "base/einsum.h"
#include "ir/op.h"
#include "pass/cost.h"

static tn_sym flops_int(const tn_cost *c, int64_t v) { return tn_sym_int(c->syms, v); }

static tn_sym flops_times(const tn_cost *c, tn_sym a, tn_sym b) { return tn_sym_mul(c->syms, a, b); }

static bool flops_is(const tn_node *node, const char *name) { return strcmp(node->op->name, name) == 0; }

static const tn_type *flops_ranked(const tn_value *v) { return v && tn_type_has_rank(&v->type) ? &v->type : NULL; }

static const tn_type *flops_in(const tn_node *node, int i) { return i < node->n_in ? flops_ranked(node->in[i]) : NULL; }

static const tn_type *flops_out(const tn_node *node, int i) {
  return i < node->n_out ? flops_ranked(node->out[i]) : NULL;
}

static tn_sym flops_count(tn_cost *c, const tn_type *t) { return tn_type_count(c->syms, t); }

/* Product of the dims of a type from `from` on. */
static tn_sym flops_dims(const tn_cost *c, const tn_type *t, int from) {
  tn_sym n = flops_int(c, 1);
  for (int i = from; i < t->rank; i++) n = flops_times(c, n, t->dims[i]);
  return n;
}

static int64_t flops_attr(const tn_node *node, const char *name, int64_t otherwise) {
  const tn_attr *const a = tn_op_attr(node, name);
  return a && a->kind == TN_ATTR_INT ? a->i : otherwise;
}

/* The one number that a value is known to hold; NULL when it is not. */
static tn_sym flops_number(const tn_node *node, int i) {
  const tn_value *const v = i < node->n_in ? node->in[i] : NULL;
  return v && v->type.content && tn_type_content_count(&v->type) == 1 && v->type.content[0].kind == TN_ELEM_SYM
             ? v->type.content[0].sym
             : NULL;
}

/* Rules: operations of one node, NULL where a shape that they need is not known. */

static tn_sym flops_matmul(tn_cost *c, const tn_node *node) {
  const tn_type *const a = flops_in(node, 0), *const y = flops_out(node, 0);
  if (!a || !y || a->rank == 0) return NULL;
  return tn_sym_muli(c->syms, flops_times(c, flops_count(c, y), a->dims[a->rank - 1]), 2);
}

static tn_sym flops_gemm(tn_cost *c, const tn_node *node) {
  const tn_type *const a = flops_in(node, 0), *const y = flops_out(node, 0);
  if (!a || !y || a->rank != 2) return NULL;
  return tn_sym_muli(c->syms, flops_times(c, flops_count(c, y), a->dims[flops_attr(node, "transA", 0) ? 0 : 1]), 2);
}

static tn_sym flops_nbits(tn_cost *c, const tn_node *node) {
  const tn_type *const y = flops_out(node, 0);
  return y ? tn_sym_muli(c->syms, tn_sym_muli(c->syms, flops_count(c, y), flops_attr(node, "K", 0)), 2) : NULL;
}

/* Per element of the result, the weights of one output channel. */
static tn_sym flops_conv_with(tn_cost *c, const tn_node *node, int weights) {
  const tn_type *const w = flops_in(node, weights), *const y = flops_out(node, 0);
  if (!w || !y || w->rank < 2) return NULL;
  return tn_sym_muli(c->syms, flops_times(c, flops_count(c, y), flops_dims(c, w, 1)), 2);
}

static tn_sym flops_conv(tn_cost *c, const tn_node *node) { return flops_conv_with(c, node, 1); }

static tn_sym flops_qlinear_conv(tn_cost *c, const tn_node *node) { return flops_conv_with(c, node, 3); }

/* Each tap is a mean of four pixels: four multiply-adds. */
static tn_sym flops_deform_conv(tn_cost *c, const tn_node *node) {
  const tn_type *const x = flops_in(node, 0), *const w = flops_in(node, 1), *const y = flops_out(node, 0);
  const tn_sym products = flops_conv(c, node);
  if (!products || !x || x->rank < 2 || y->rank < 2) return NULL;
  const tn_sym places = flops_times(c, flops_times(c, x->dims[0], x->dims[1]), flops_dims(c, y, 2));
  return tn_sym_add(c->syms, products, tn_sym_muli(c->syms, flops_times(c, places, flops_dims(c, w, 2)), 8));
}

static tn_sym flops_conv_transpose(tn_cost *c, const tn_node *node) {
  const tn_type *const x = flops_in(node, 0), *const w = flops_in(node, 1);
  if (!x || !w || w->rank < 2) return NULL;
  return tn_sym_muli(c->syms, flops_times(c, flops_count(c, x), flops_dims(c, w, 1)), 2);
}

static tn_sym flops_recurrent(tn_cost *c, const tn_node *node) {
  const tn_type *const x = flops_in(node, 0), *const w = flops_in(node, 1), *const r = flops_in(node, 2);
  if (!x || !w || !r || x->rank != 3) return NULL;
  const tn_sym weights = tn_sym_add(c->syms, flops_dims(c, w, 0), flops_dims(c, r, 0));
  return tn_sym_muli(c->syms, flops_times(c, flops_times(c, x->dims[0], x->dims[1]), weights), 2);
}

/* All combinations of the labels, each with one multiplication per further operand and one addition. */
static tn_sym flops_einsum(tn_cost *c, const tn_node *node) {
  const tn_attr *const equation = tn_op_attr(node, "equation");
  tn_sym size[TN_EINSUM_LABELS] = {NULL};
  int ranks[TN_EINSUM_MAX_IN];
  tn_einsum e;
  if (!equation || node->n_in > TN_EINSUM_MAX_IN) return NULL;
  for (int i = 0; i < node->n_in; i++) {
    if (!flops_in(node, i)) return NULL;
    ranks[i] = node->in[i]->type.rank;
  }
  if (tn_einsum_parse(equation->s, node->n_in, ranks, &e)) return NULL;
  int n_labels = 0;
  for (int i = 0; i < e.n_in; i++)
    for (int d = 0; d < e.in[i].rank; d++) {
      tn_sym *const s = &size[e.in[i].label[d]];
      const tn_sym dim = node->in[i]->type.dims[d];
      n_labels += !*s;
      if (!*s || tn_sym_is(*s, 1)) *s = dim;
    }
  tn_sym all = flops_int(c, e.n_in > 1 || n_labels > e.out.rank ? e.n_in : 0);
  for (int l = 0; l < TN_EINSUM_LABELS; l++)
    if (size[l]) all = flops_times(c, all, size[l]);
  return all;
}

/* Scores of `rows` queries (with their heads) over `keys` positions, from `q` elements of queries to `y` of results. */
static tn_sym flops_scores(const tn_cost *c, tn_sym rows, tn_sym keys, tn_sym q, tn_sym y) {
  const tn_sym products = tn_sym_muli(c->syms, tn_sym_add(c->syms, q, y), 2);
  return flops_times(c, keys, tn_sym_add(c->syms, products, tn_sym_muli(c->syms, rows, 5)));
}

static tn_sym flops_attention(tn_cost *c, const tn_node *node) {
  const tn_type *const q = flops_in(node, 0), *const k = flops_in(node, 1), *const past = flops_in(node, 4);
  const tn_type *const y = flops_out(node, 0);
  if (!q || !k || !y || (q->rank != 3 && q->rank != 4) || k->rank < 3) return NULL;
  tn_sym keys = k->dims[k->rank - 2], rows = flops_times(c, q->dims[0], q->dims[1]);
  if (past && past->rank == 4) keys = tn_sym_add(c->syms, keys, past->dims[2]);
  rows =
      q->rank == 4 ? flops_times(c, rows, q->dims[2]) : tn_sym_muli(c->syms, rows, flops_attr(node, "q_num_heads", 1));
  return flops_scores(c, rows, keys, flops_count(c, q), flops_count(c, y));
}

static tn_sym flops_grouped(tn_cost *c, const tn_node *node) {
  const tn_type *const q = flops_in(node, 0), *const y = flops_out(node, 0), *const present = flops_out(node, 1);
  if (!q || !y || q->rank != 3) return NULL;
  const tn_sym keys = present && present->rank == 4 ? present->dims[2] : q->dims[1];
  const tn_sym rows = tn_sym_muli(c->syms, flops_times(c, q->dims[0], q->dims[1]), flops_attr(node, "num_heads", 1));
  return flops_scores(c, rows, keys, flops_count(c, y), flops_count(c, y));
}

/* Per token and head, on its matrix: an update (2), the result (2), a decay (1), what the delta rule takes away (2). */
static tn_sym flops_linear_attention(tn_cost *c, const tn_node *node) {
  const tn_type *const k = flops_in(node, 1), *const v = flops_in(node, 2), *const y = flops_out(node, 0);
  const tn_attr *const rule = tn_op_attr(node, "update_rule");
  const int64_t heads = flops_attr(node, "kv_num_heads", 1);
  if (!k || !v || !y || k->rank != 3 || v->rank != 3 || heads < 1) return NULL;
  const tn_str said = rule && rule->kind == TN_ATTR_STR ? rule->s : tn_str_of("gated_delta");
  const bool delta = tn_str_is(said, "delta") || tn_str_is(said, "gated_delta");
  const bool decays = tn_str_is(said, "gated") || tn_str_is(said, "gated_delta");
  const tn_sym dk = tn_sym_divexact(c->syms, k->dims[2], flops_int(c, heads));
  const tn_sym dv = tn_sym_divexact(c->syms, v->dims[2], flops_int(c, heads));
  const tn_sym update =
      tn_sym_muli(c->syms, flops_times(c, flops_count(c, k), dv), 2 + (delta ? 2 : 0) + (decays ? 1 : 0));
  return tn_sym_add(c->syms, update, tn_sym_muli(c->syms, flops_times(c, flops_count(c, y), dk), 2));
}

static tn_sym flops_causal_conv(tn_cost *c, const tn_node *node) {
  const tn_type *const w = flops_in(node, 1), *const y = flops_out(node, 0);
  if (!w || !y || w->rank != 3) return NULL;
  return tn_sym_muli(c->syms, flops_times(c, flops_count(c, y), w->dims[2]), 2);
}

/* Per number of the result, `length` numbers of `parts` parts each. */
static tn_sym flops_transform(tn_cost *c, const tn_node *node, tn_sym length) {
  const tn_type *const x = flops_in(node, 0), *const y = flops_out(node, 0);
  if (!x || !y || x->rank < 2 || !length) return NULL;
  return tn_sym_muli(c->syms, flops_times(c, flops_times(c, flops_count(c, y), length), x->dims[x->rank - 1]), 2);
}

static tn_sym flops_dft(tn_cost *c, const tn_node *node) {
  const tn_type *const x = flops_in(node, 0);
  const tn_sym given = flops_number(node, 2), length = flops_number(node, 1);
  if (!x || (node->n_in > 2 && node->in[2] && (!given || !tn_sym_is_int(given)))) return NULL;
  int64_t axis = given ? given->k : -2;
  if (axis < 0) axis += x->rank;
  if (axis < 0 || axis >= x->rank) return NULL;
  return flops_transform(c, node, length ? tn_sym_min(c->syms, length, x->dims[axis]) : x->dims[axis]);
}

static tn_sym flops_stft(tn_cost *c, const tn_node *node) {
  const tn_type *const window = flops_in(node, 2);
  const tn_type *const x = flops_in(node, 0);
  if (x && x->rank == 2) return NULL;
  return flops_transform(c, node, window && window->rank == 1 ? window->dims[0] : flops_number(node, 3));
}

static tn_sym flops_pool(tn_cost *c, const tn_node *node) {
  const tn_attr *const kernel = tn_op_attr(node, "kernel_shape");
  const tn_type *const y = flops_out(node, 0);
  if (!y || !kernel || kernel->kind != TN_ATTR_INTS) return NULL;
  tn_sym taps = flops_count(c, y);
  for (int64_t k = 0; k < kernel->n; k++) taps = tn_sym_muli(c->syms, taps, kernel->ints[k]);
  return taps;
}

static tn_sym flops_lrn(tn_cost *c, const tn_node *node) {
  const tn_type *const y = flops_out(node, 0);
  return y ? tn_sym_muli(c->syms, tn_sym_muli(c->syms, flops_count(c, y), flops_attr(node, "size", 1)), 2) : NULL;
}

typedef struct flops_row {
  const char *op;
  tn_sym (*rule)(tn_cost *c, const tn_node *node); /* or: */
  int per;                                         /* operations per element of the result */
  int per_read;                                    /* per element of the first operand */
} flops_row;

static const flops_row flops_rows[] = {
    {"matmul", flops_matmul, 0, 0},
    {"matmul_integer", flops_matmul, 0, 0},
    {"qlinear_matmul", flops_matmul, 0, 0},
    {"gemm", flops_gemm, 0, 0},
    {"matmul_nbits", flops_nbits, 0, 0},
    {"conv", flops_conv, 0, 0},
    {"conv_integer", flops_conv, 0, 0},
    {"qlinear_conv", flops_qlinear_conv, 0, 0},
    {"deform_conv", flops_deform_conv, 0, 0},
    {"conv_transpose", flops_conv_transpose, 0, 0},
    {"causal_conv", flops_causal_conv, 0, 0},
    {"lstm", flops_recurrent, 0, 0},
    {"gru", flops_recurrent, 0, 0},
    {"rnn", flops_recurrent, 0, 0},
    {"einsum", flops_einsum, 0, 0},
    {"attention", flops_attention, 0, 0},
    {"group_query_attention", flops_grouped, 0, 0},
    {"linear_attention", flops_linear_attention, 0, 0},
    {"dft", flops_dft, 0, 0},
    {"stft", flops_stft, 0, 0},
    {"max_pool", flops_pool, 0, 0},
    {"average_pool", flops_pool, 0, 0},
    {"lp_pool", flops_pool, 0, 0},
    {"lrn", flops_lrn, 0, 0},
    {"softmax", NULL, 5, 0},
    {"log_softmax", NULL, 5, 0},
    {"layer_norm", NULL, 5, 0},
    {"rms_norm", NULL, 5, 0},
    {"group_norm", NULL, 5, 0},
    {"instance_norm", NULL, 5, 0},
    {"batch_norm", NULL, 5, 0},
    {"lp_normalization", NULL, 5, 0},
    {"mean_variance_normalization", NULL, 5, 0},
    {"rotary_embedding", NULL, 3, 0},
    {"swiglu", NULL, 3, 0},
    {"quantize_linear", NULL, 1, 0},
    {"dequantize_linear", NULL, 1, 0},
    {"dynamic_quantize_linear", NULL, 0, 3}, /* least, greatest, quantised */
    {"global_average_pool", NULL, 0, 1},
    {"global_max_pool", NULL, 0, 1},
    {"global_lp_pool", NULL, 0, 1},
    {"cumsum", NULL, 0, 1},
    {"cast", NULL, 0, 0},
    {"cast_like", NULL, 0, 0},
    {"bit_cast", NULL, 0, 0},
    {"where", NULL, 0, 0},
    {"identity", NULL, 0, 0},
};

static const flops_row *flops_find(const tn_node *node) {
  static const flops_row elementwise = {"", NULL, 1, 0}, reduction = {"", NULL, 0, 1}, none = {"", NULL, 0, 0};
  for (size_t i = 0; i < TN_COUNT(flops_rows); i++)
    if (flops_is(node, flops_rows[i].op)) return &flops_rows[i];
  if (strncmp(node->op->name, "reduce_", 7) == 0 || strncmp(node->op->name, "arg_", 4) == 0) return &reduction;
  return (node->op->traits & TN_TRAIT_ELEMENTWISE) && !(node->op->traits & TN_TRAIT_VIEW) ? &elementwise : &none;
}

tn_sym tn_cost_flops(tn_cost *c, const tn_node *node) {
  const tn_value *const out = node->n_out ? node->out[0] : NULL;
  const tn_sym nothing = flops_int(c, 0);
  if (!out || (out->type.content && out->type.dtype && !tn_dtype_is_float(out->type.dtype))) return nothing;
  const flops_row *const row = flops_find(node);
  if (row->rule) {
    const tn_sym n = row->rule(c, node);
    c->unknown |= !n;
    return n ? n : nothing;
  }
  if (row->per == 0 && row->per_read == 0) return nothing;
  if (row->per) return tn_sym_muli(c->syms, tn_cost_count(c, out), row->per);
  return tn_sym_muli(c->syms, tn_cost_count(c, node->n_in ? node->in[0] : NULL), row->per_read);
}

/* The length of what is stacked by round, where something is. */
static tn_sym flops_stacked(const tn_node *node, int first) {
  for (int i = first; i < node->n_out; i++)
    if (flops_out(node, i) && flops_out(node, i)->rank > 0) return flops_out(node, i)->dims[0];
  return NULL;
}

static tn_sym flops_scan_rounds(const tn_node *node) {
  const int64_t n_scanned = flops_attr(node, "num_scan_inputs", 0);
  const tn_attr *const axes = tn_op_attr(node, "scan_input_axes");
  const tn_type *const x =
      n_scanned > 0 && n_scanned <= node->n_in ? flops_in(node, node->n_in - (int)n_scanned) : NULL;
  int64_t axis = axes && axes->kind == TN_ATTR_INTS && axes->n > 0 ? axes->ints[0] : 0;
  if (!x) return NULL;
  if (axis < 0) axis += x->rank;
  return axis >= 0 && axis < x->rank ? x->dims[axis] : NULL;
}

tn_sym tn_cost_rounds(tn_cost *c, const tn_node *node) {
  if (flops_is(node, "scan")) return flops_scan_rounds(node);
  if (!flops_is(node, "loop")) return flops_int(c, 1);
  const tn_sym most = flops_number(node, 0), stacked = flops_stacked(node, node->n_in > 2 ? node->n_in - 2 : 0);
  if (stacked) return stacked;
  return most ? tn_sym_max(c->syms, flops_int(c, 0), most) : NULL;
}
