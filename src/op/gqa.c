/* GroupQueryAttention of com.microsoft: rotation, a cache of keys and values that grows, causal attention. */
#include <math.h>

#include "ir/import.h"
#include "op/attention.h"
#include "op/gqa_quant.h"
#include "op/move.h"

#define GQA_TYPES (TN_SET(F32) | TN_SET(F16) | TN_SET(BF16))

static tn_status gqa_type(tn_rule *r) {
  for (int i = 0; i < r->n_out; i++)
    if (r->out_present[i]) tn_rule_set_dtype(r, i, r->in[0]->dtype);
  return TN_OK;
}

static tn_status gqa_past(tn_rule *r, int i, tn_sym batch, tn_sym heads, tn_sym size, tn_sym rows) {
  if (!tn_rule_has_rank(r, i)) return TN_OK;
  const tn_sym want[4] = {batch, heads, rows, size};
  for (int d = 0; d < 4; d++)
    if (want[d]) TN_TRY(tn_rule_unify(r, r->in[i]->dims[d], want[d], "dims of the past", d, NULL));
  return TN_OK;
}

/* Rows of the caches after the call: as many as the longest sequence has, or as there were room. */
static tn_sym gqa_present(tn_rule *r, int out) {
  tn_symtab *const t = r->syms;
  const tn_sym total = tn_op_elem(r, 6, 0);
  const bool has_past = tn_rule_has_rank(r, 3);
  if (total && (!tn_rule_has(r, 3) || has_past))
    return has_past ? tn_sym_max(t, total, r->in[3]->dims[2]) : tn_sym_max(t, total, tn_sym_int(t, 0));
  return tn_rule_fresh(r, out, 2, 0, NULL);
}

static tn_status gqa_shape_scores(tn_rule *r, tn_sym batch, tn_sym heads, tn_sym rows) {
  const int64_t kind = tn_rule_int(r, "qk_output");
  if (kind < 0 || kind > 2) return tn_rule_fail(r, TN_INVALID, "attribute 'qk_output' is %lld", (long long)kind);
  if (r->n_out < 4 || !r->out_present[3]) return TN_OK;
  if (kind == 0) return tn_rule_fail(r, TN_INVALID, "output 3 needs attribute 'qk_output'");
  tn_sym total = tn_op_elem(r, 6, 0);
  total = total ? tn_sym_max(r->syms, total, tn_sym_int(r->syms, 0)) : tn_rule_fresh(r, 3, 3, 0, NULL);
  tn_rule_set(r, 3, 4, (const tn_sym[]){batch, heads, rows, total});
  return TN_OK;
}

static tn_status gqa_shape(tn_rule *r) {
  const int64_t heads = tn_rule_int(r, "num_heads"), kv_heads = tn_rule_int(r, "kv_num_heads");
  if (heads < 1 || heads > INT32_MAX || kv_heads < 1 || heads % kv_heads != 0)
    return tn_rule_fail(r, TN_INVALID, "%lld heads of q for %lld of k", (long long)heads, (long long)kv_heads);
  if (tn_rule_has(r, 1) != tn_rule_has(r, 2) || tn_rule_has(r, 3) != tn_rule_has(r, 4))
    return tn_rule_fail(r, TN_INVALID, "keys and values need each other");
  if (tn_rule_int(r, "do_rotary") && !(tn_rule_has(r, 7) && tn_rule_has(r, 8)))
    return tn_rule_fail(r, TN_INVALID, "do_rotary needs cos_cache and sin_cache");
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  tn_symtab *const t = r->syms;
  const tn_sym *const q = r->in[0]->dims;
  const int64_t parts = tn_rule_has(r, 1) ? heads : heads + 2 * kv_heads;
  const tn_sym n = tn_sym_int(t, parts);
  TN_TRY(tn_rule_demand(r, tn_sym_eq(t, tn_sym_mod(t, q[2], n), tn_sym_int(t, 0)),
                        "dim 2 of the query, %s, does not divide into %lld heads", tn_sym_text(t, q[2]),
                        (long long)parts));
  const tn_sym size = tn_sym_divexact(t, q[2], n);
  for (int i = 1; i < 3; i++) {
    if (!tn_rule_has_rank(r, i)) continue;
    const tn_sym want[3] = {q[0], q[1], tn_sym_muli(t, size, kv_heads)};
    for (int d = 0; d < 3; d++)
      TN_TRY(tn_rule_unify(r, r->in[i]->dims[d], want[d], "dims of keys and values", d, NULL));
  }
  const tn_sym rows = tn_rule_has_rank(r, 3) ? r->in[3]->dims[2] : NULL;
  for (int i = 3; i < 5; i++) TN_TRY(gqa_past(r, i, q[0], tn_sym_int(t, kv_heads), size, rows));
  tn_rule_set(r, 0, 3, (const tn_sym[]){q[0], q[1], tn_sym_muli(t, size, heads)});
  for (int i = 1; i < r->n_out && i < 3; i++)
    if (r->out_present[i])
      tn_rule_set(r, i, 4, (const tn_sym[]){q[0], tn_sym_int(t, kv_heads), gqa_present(r, i), size});
  return gqa_shape_scores(r, q[0], tn_sym_int(t, heads), q[1]);
}

/* --- oracle --- */

typedef struct gqa_ref {
  tn_eval *e;
  int64_t batch, rows, heads, kv_heads, size, before, total, cache; /* rows: of q; before: of the past */
  const tn_lit *q, *k, *v;
} gqa_ref;

/* Tokens of batch b that lie in the cache already. A first call has as many rows as there are tokens. */
static int64_t gqa_ref_past(const gqa_ref *g, int64_t b) {
  return g->rows == g->total ? 0 : tn_lit_i64_at(g->e->in[5], b) + 1 - g->rows;
}

/* Element c of head h of row s of the operand whose heads begin at `first` in a packed query. */
static double gqa_ref_at(const gqa_ref *g, const tn_lit *x, int64_t first, int64_t b, int64_t s, int64_t h, int64_t c) {
  const int64_t width = x->dims[2];
  return tn_lit_f64(x, (b * g->rows + s) * width + (first + h) * g->size + c);
}

static tn_status gqa_ref_rotated(const gqa_ref *g, const tn_lit *x, int64_t first, int64_t b, int64_t s, int64_t h,
                                 int64_t c, double *out) {
  *out = gqa_ref_at(g, x, first, b, s, h, c);
  if (!tn_eval_int(g->e, "do_rotary")) return TN_OK;
  const tn_lit *const co = g->e->in[7], *const si = g->e->in[8], *const places = tn_op_eval_in(g->e, 9);
  const int64_t half = co->dims[co->rank - 1];
  if (c >= 2 * half) return TN_OK;
  const int64_t at = places ? tn_lit_i64_at(places, b * g->rows + s) : gqa_ref_past(g, b) + s;
  if (at < 0 || (at + 1) * half > co->count)
    return tn_eval_fail(g->e, TN_MISMATCH, "position %lld is outside the cache", (long long)at);
  const bool interleaved = tn_eval_int(g->e, "rotary_interleaved") != 0;
  const int64_t pair = interleaved ? c / 2 : c % half;
  const bool second = interleaved ? c % 2 : c >= half;
  const double other = gqa_ref_at(g, x, first, b, s, h, c + (second ? -1 : 1) * (interleaved ? 1 : half));
  const double a = tn_lit_f64(co, at * half + pair), z = tn_lit_f64(si, at * half + pair);
  *out = a * *out + (second ? z : -z) * other;
  return TN_OK;
}

/* The cache after the call: what was there, then the new rows. */
static tn_status gqa_ref_cache(const gqa_ref *g, bool is_key, double *out) {
  const tn_lit *const past = tn_op_eval_in(g->e, is_key ? 3 : 4), *const x = is_key ? g->k : g->v;
  const int64_t first = x == g->q ? g->heads + (is_key ? 0 : g->kv_heads) : 0;
  for (int64_t i = 0; i < g->batch * g->kv_heads * g->cache * g->size; i++) {
    const int64_t c = i % g->size, s = i / g->size % g->cache, bh = i / (g->size * g->cache);
    const int64_t b = bh / g->kv_heads, h = bh % g->kv_heads, old = gqa_ref_past(g, b);
    out[i] = 0;
    if (s < old && s < g->before) out[i] = tn_lit_f64(past, (bh * g->before + s) * g->size + c);
    if (s < old || s >= old + g->rows) continue;
    if (is_key)
      TN_TRY(gqa_ref_rotated(g, x, first, b, s - old, h, c, &out[i]));
    else
      out[i] = gqa_ref_at(g, x, first, b, s - old, h, c);
  }
  return TN_OK;
}

static tn_status gqa_ref_read(tn_eval *e, gqa_ref *g) {
  const tn_lit *const past = tn_op_eval_in(e, 3), *const past_v = tn_op_eval_in(e, 4);
  g->e = e;
  g->q = e->in[0];
  g->k = e->in[1] ? e->in[1] : g->q;
  g->v = e->in[1] ? e->in[2] : g->q;
  g->heads = tn_eval_int(e, "num_heads");
  g->kv_heads = tn_eval_int(e, "kv_num_heads");
  if (g->heads < 1 || g->heads > INT32_MAX || g->kv_heads < 1 || g->heads % g->kv_heads != 0)
    return tn_eval_fail(e, TN_MISMATCH, "%lld heads of q for %lld of k", (long long)g->heads, (long long)g->kv_heads);
  const int64_t parts = e->in[1] ? g->heads : g->heads + 2 * g->kv_heads;
  if (g->q->rank != 3 || e->in[6]->count != 1 || e->in[5]->count != g->q->dims[0])
    return tn_eval_fail(e, TN_MISMATCH, "the operands of the attention do not fit each other");
  g->batch = g->q->dims[0];
  g->rows = g->q->dims[1];
  g->size = g->q->dims[2] / parts;
  g->before = past && past->rank == 4 ? past->dims[2] : 0;
  g->total = tn_lit_i64_at(e->in[6], 0);
  g->cache = g->total > g->before ? g->total : g->before;
  int64_t kv, old;
  if (!tn_dims_count((const int64_t[]){g->batch, g->kv_heads, g->rows, g->size}, 4, &kv) ||
      !tn_dims_count((const int64_t[]){g->batch, g->kv_heads, g->before, g->size}, 4, &old))
    return tn_eval_fail(e, TN_LIMIT, "attention is too large");
  if (g->q->dims[2] != parts * g->size ||
      (g->k != g->q && (g->k->count != kv || g->v->count != kv || g->k->rank != 3)) ||
      (past && (past->count != old || !past_v || past_v->count != old)) || g->total < 0)
    return tn_eval_fail(e, TN_MISMATCH, "the operands of the attention do not fit each other");
  for (int64_t b = 0; b < g->batch; b++) {
    const int64_t n = gqa_ref_past(g, b);
    if (n < 0 || n + g->rows > g->cache || (n > g->before))
      return tn_eval_fail(e, TN_MISMATCH, "seqlens_k of batch %lld does not fit the cache", (long long)b);
  }
  return TN_OK;
}

static bool gqa_ref_hidden(const gqa_ref *g, int64_t b, int64_t i, int64_t j) {
  const int64_t p = gqa_ref_past(g, b) + i, n = tn_lit_i64_at(g->e->in[5], b) + 1;
  const int64_t window = tn_eval_int(g->e, "local_window_size");
  const bool causal = tn_eval_int(g->e, "causal") != 0;
  return (causal && j > p) || j >= (n > p + 1 ? n : p + 1) || (window > 0 && j <= p - window);
}

static double gqa_ref_bias(const gqa_ref *g, int64_t b, int64_t h, int64_t i, int64_t j) {
  const tn_lit *const bias = tn_op_eval_in(g->e, 10);
  if (gqa_ref_hidden(g, b, i, j)) return (double)-INFINITY;
  if (!bias) return 0;
  const int64_t columns = bias->dims[3];
  if (j >= columns) return (double)-INFINITY;
  const int64_t row = (bias->dims[0] == 1 ? 0 : b) * bias->dims[1] + (bias->dims[1] == 1 ? 0 : h);
  return tn_lit_f64(bias, (row * g->rows + i) * columns + j);
}

/* Output 3: what is not seen is 0. */
static tn_status gqa_ref_scores(const gqa_ref *g, const double *scores) {
  const int64_t dims[4] = {g->batch, g->heads, g->rows, g->total};
  tn_lit *out;
  TN_TRY(tn_eval_out(g->e, 3, g->q->dtype, 4, dims, &out));
  for (int64_t i = 0; i < out->count; i++) {
    const int64_t j = i % g->total, row = i / g->total;
    const bool hidden = gqa_ref_hidden(g, row / (g->rows * g->heads), row % g->rows, j);
    tn_store_f64(out->dtype, tn_lit_data(out), i, hidden ? 0 : scores[row * g->cache + j]);
  }
  return TN_OK;
}

static tn_status gqa_eval(tn_eval *e) {
  gqa_ref g = {0};
  TN_TRY(gqa_ref_read(e, &g));
  const int64_t dims[4] = {g.batch, g.kv_heads, g.cache, g.size}, y_dims[4] = {g.batch, g.heads, g.rows, g.size};
  const int64_t full[4] = {g.batch, g.heads, g.rows, g.cache}, flat[3] = {g.batch, g.rows, g.heads * g.size};
  int64_t n, n_cache, n_q;
  if (!tn_dims_count(full, 4, &n) || !tn_dims_count(dims, 4, &n_cache) || !tn_dims_count(y_dims, 4, &n_q))
    return tn_eval_fail(e, TN_LIMIT, "attention is too large");
  double *const q = TN_NEW_ARRAY(e->arena, double, n_q + 1), *const y = TN_NEW_ARRAY(e->arena, double, n_q + 1);
  double *const k = TN_NEW_ARRAY(e->arena, double, n_cache + 1), *const v = TN_NEW_ARRAY(e->arena, double, n_cache + 1);
  double *const bias = TN_NEW_ARRAY(e->arena, double, n + 1), *const sink = TN_NEW_ARRAY(e->arena, double, g.heads);
  TN_TRY(gqa_ref_cache(&g, true, k));
  TN_TRY(gqa_ref_cache(&g, false, v));
  for (int64_t i = 0; i < n_q; i++) {
    const int64_t s = i / g.size % g.rows, h = i / (g.size * g.rows) % g.heads, b = i / (g.size * g.rows * g.heads);
    TN_TRY(gqa_ref_rotated(&g, g.q, 0, b, s, h, i % g.size, &q[i]));
  }
  for (int64_t i = 0; i < n; i++)
    bias[i] = gqa_ref_bias(&g, i / (g.cache * g.rows * g.heads), i / (g.cache * g.rows) % g.heads, i / g.cache % g.rows,
                           i % g.cache);
  const tn_lit *const sinks = tn_op_eval_in(e, 11);
  if (sinks && sinks->count != g.heads) return tn_eval_fail(e, TN_MISMATCH, "head_sink does not fit the heads");
  for (int64_t h = 0; h < g.heads; h++) sink[h] = sinks ? tn_lit_f64(sinks, h) : 0;
  const double given = tn_eval_float(e, "scale");
  tn_attn_ref a = {g.batch, g.heads, g.kv_heads, g.rows, g.cache, g.size, g.size, q, k, v, bias};
  a.scale = given < 0 || given > 0 ? given : 1 / sqrt((double)g.size);
  a.softcap = tn_eval_float(e, "softcap");
  a.sink = sinks || tn_eval_int(e, "smooth_softmax") > 0 ? sink : NULL;
  a.y = y;
  const bool has_scores = e->n_out > 3 && e->out_present[3];
  if (has_scores) a.scores = TN_NEW_ARRAY(e->arena, double, n + 1);
  a.scores_kind = tn_eval_int(e, "qk_output") == 1 ? 2 : 3;
  tn_attn_ref_run(e->arena, &a);
  tn_lit *out[3] = {NULL, NULL, NULL};
  for (int i = 0; i < e->n_out && i < 3; i++)
    if (e->out_present[i]) TN_TRY(tn_eval_out(e, i, g.q->dtype, i ? 4 : 3, i ? dims : flat, &out[i]));
  const double *const data[3] = {y, k, v};
  for (int i = 0; i < 3; i++)
    if (out[i]) tn_attn_ref_store(data[i], i ? dims : y_dims, out[i]);
  return has_scores ? gqa_ref_scores(&g, a.scores) : TN_OK;
}

TN_OP(group_query_attention){
    .name = "group_query_attention",
    .in = {{"query", GQA_TYPES, "T", .rank = 3},
           {"key", GQA_TYPES, "T", TN_PORT_OPTIONAL, .rank = 3},
           {"value", GQA_TYPES, "T", TN_PORT_OPTIONAL, .rank = 3},
           {"past_key", GQA_TYPES, "T", TN_PORT_OPTIONAL, .rank = 4},
           {"past_value", GQA_TYPES, "T", TN_PORT_OPTIONAL, .rank = 4},
           {"seqlens_k", TN_SET(I32)},
           {"total_sequence_length", TN_SET(I32)},
           {"cos_cache", GQA_TYPES, "T", TN_PORT_OPTIONAL, .rank = 2},
           {"sin_cache", GQA_TYPES, "T", TN_PORT_OPTIONAL, .rank = 2},
           {"position_ids", TN_SET(I64), NULL, TN_PORT_OPTIONAL, .rank = 2},
           {"attention_bias", GQA_TYPES, "T", TN_PORT_OPTIONAL, .rank = 4},
           {"head_sink", GQA_TYPES, "T", TN_PORT_OPTIONAL, .rank = 1}},
    .out = {{"output", GQA_TYPES, "T"},
            {"present_key", GQA_TYPES, "T", TN_PORT_OPTIONAL},
            {"present_value", GQA_TYPES, "T", TN_PORT_OPTIONAL},
            {"output_qk", GQA_TYPES, "T", TN_PORT_OPTIONAL}},
    .attrs = {{"causal", TN_ATTR_INT, .i = 1},
              {"do_rotary", TN_ATTR_INT, .has_default = true},
              {"kv_num_heads", TN_ATTR_INT, .required = true},
              {"local_window_size", TN_ATTR_INT, .i = -1},
              {"num_heads", TN_ATTR_INT, .required = true},
              {"qk_output", TN_ATTR_INT, .has_default = true},
              {"rotary_interleaved", TN_ATTR_INT, .has_default = true},
              {"scale", TN_ATTR_FLOAT, .has_default = true},
              {"smooth_softmax", TN_ATTR_INT, .has_default = true},
              {"softcap", TN_ATTR_FLOAT, .has_default = true}},
    .type = gqa_type,
    .shape = gqa_shape,
    .eval = gqa_eval,
    .kernel = "group_query_attention",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc =
        "attention (causal unless told not to be) of grouped heads over a cache of keys and values, to which the new "
        "rows are added; output_qk: products of q and k before (qk_output 1) or after (2) the softmax, 0 where a key "
        "is "
        "not seen",
};

/* Norms of q and k are not done; quantised caches are of another file. */
static tn_status gqa_import(tn_import *im) {
  static const char *const epsilons[] = {"k_norm_epsilon", "q_norm_epsilon", "qk_norm_epsilon"};
  tn_gqa_quant quant = {0};
  int64_t sliding;
  TN_TRY(tn_import_int(im, "sliding_window_cache", 0, &sliding));
  if (sliding != 0) return tn_import_fail(im, TN_UNSUPPORTED, "a cache of the window alone is not supported");
  for (int i = 0; i < 3; i++) tn_import_ignore(im, epsilons[i]);
  TN_TRY(tn_im_refuse_in(im, 14, "norms of q and k"));
  TN_TRY(tn_im_refuse_in(im, 15, "norms of q and k"));
  TN_TRY(tn_im_refuse_in(im, 16, "lengths of the queries"));
  TN_TRY(tn_gqa_quant_read(im, &quant));
  if (quant.bits) return tn_gqa_quant_import(im, &quant);
  im->n_in = im->n_in > 12 ? 12 : im->n_in; /* scales of nothing */
  return tn_import_same(im);
}

TN_ONNX(ms, GroupQueryAttention, 1, TN_LATEST, group_query_attention, gqa_import)
