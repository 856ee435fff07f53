/* Attention: scaled products of queries and keys, softmax, weighted sums of values. */
#include "op/attention.h"

#include <math.h>

#include "ir/import.h"
#include "op/move.h"

/* --- shape --- */

/* Dims [batch, heads, rows, size] of an operand of rank 3 or 4; false when its rank is not known. Demands that heads
 * divide the last dim. */
static tn_status attn_dims(tn_rule *r, int i, int64_t heads, const char *heads_name, tn_sym *dims, bool *out_known) {
  *out_known = false;
  TN_TRY(tn_rule_need_rank(r, i, 3, 4));
  if (!tn_rule_has_rank(r, i)) return TN_OK;
  const tn_type *const x = r->in[i];
  *out_known = true;
  if (x->rank == 4) {
    for (int d = 0; d < 4; d++) dims[d] = x->dims[d];
    return TN_OK;
  }
  if (heads < 1 || heads > INT32_MAX)
    return tn_rule_fail(r, TN_INVALID, "attribute '%s' is %lld; operands of rank 3 need the number of heads",
                        heads_name, (long long)heads);
  tn_symtab *const t = r->syms;
  const tn_sym n = tn_sym_int(t, heads);
  TN_TRY(tn_rule_demand(r, tn_sym_eq(t, tn_sym_mod(t, x->dims[2], n), tn_sym_int(t, 0)),
                        "dim 2 of input %d, %s, does not divide into %lld heads", i, tn_sym_text(t, x->dims[2]),
                        (long long)heads));
  dims[0] = x->dims[0];
  dims[1] = n;
  dims[2] = x->dims[1];
  dims[3] = tn_sym_divexact(t, x->dims[2], n);
  return TN_OK;
}

/* Both or none. */
static tn_status attn_pair(tn_rule *r, int a, int b, const char *what) {
  if (tn_rule_has(r, a) == tn_rule_has(r, b)) return TN_OK;
  return tn_rule_fail(r, TN_INVALID, "%s need each other", what);
}

/* Dim j of input i, when its rank is known, is `want`. */
static tn_status attn_same(tn_rule *r, int i, int j, tn_sym want, const char *what) {
  if (!tn_rule_has_rank(r, i)) return TN_OK;
  return tn_rule_unify(r, r->in[i]->dims[j], want, what, j, NULL);
}

static tn_status attn_past(tn_rule *r, int i, const tn_sym *now) {
  TN_TRY(tn_rule_need_rank(r, i, 4, 4));
  TN_TRY(attn_same(r, i, 0, now[0], "batch of the past and of the present"));
  TN_TRY(attn_same(r, i, 1, now[1], "heads of the past and of the present"));
  return attn_same(r, i, 3, now[3], "head size of the past and of the present");
}

/* The mask broadcasts to (batch, heads, queries, keys); its last dim may also be shorter. */
static tn_status attn_mask(tn_rule *r, const tn_sym *q, tn_sym total) {
  TN_TRY(tn_rule_need_rank(r, 3, 1, 4));
  if (!tn_rule_has_rank(r, 3)) return TN_OK;
  const tn_type *const m = r->in[3];
  tn_symtab *const t = r->syms;
  for (int d = 0; d < m->rank - 1; d++) {
    const tn_sym want = q[d + 4 - m->rank];
    TN_TRY(tn_rule_demand(r, tn_sym_or(t, tn_sym_eq(t, m->dims[d], tn_sym_int(t, 1)), tn_sym_eq(t, m->dims[d], want)),
                          "cannot broadcast dim %d of the mask: %s with %s", d, tn_sym_text(t, m->dims[d]),
                          tn_sym_text(t, want)));
  }
  const tn_sym last = m->dims[m->rank - 1];
  return tn_rule_demand(r, tn_sym_le(t, last, total), "the mask has %s columns for %s keys", tn_sym_text(t, last),
                        tn_sym_text(t, total));
}

/* The key mask: lengths by batch (perhaps with starts after them), [batch, keys] or [batch, queries, keys]. */
static tn_status attn_filter(tn_rule *r, const tn_sym *q, tn_sym total) {
  TN_TRY(tn_rule_need_rank(r, 7, 1, 3));
  if (!tn_rule_has_rank(r, 7)) return TN_OK;
  tn_symtab *const t = r->syms;
  const tn_type *const m = r->in[7];
  if (m->rank == 1)
    return tn_rule_demand(
        r, tn_sym_or(t, tn_sym_eq(t, m->dims[0], q[0]), tn_sym_eq(t, m->dims[0], tn_sym_muli(t, q[0], 2))),
        "a key mask of %s elements for a batch of %s", tn_sym_text(t, m->dims[0]), tn_sym_text(t, q[0]));
  TN_TRY(tn_rule_unify(r, m->dims[0], q[0], "batch of the key mask", 0, NULL));
  if (m->rank == 3) TN_TRY(tn_rule_unify(r, m->dims[1], q[2], "rows of the key mask", 1, NULL));
  return tn_rule_unify(r, m->dims[m->rank - 1], total, "columns of the key mask", m->rank - 1, NULL);
}

static tn_status attn_fit(tn_rule *r, const tn_sym *q, const tn_sym *k, const tn_sym *v) {
  tn_symtab *const t = r->syms;
  TN_TRY(tn_rule_unify(r, q[0], k[0], "batch of q and k", 0, NULL));
  TN_TRY(tn_rule_unify(r, q[0], v[0], "batch of q and v", 0, NULL));
  TN_TRY(tn_rule_unify(r, k[1], v[1], "heads of k and v", 1, NULL));
  TN_TRY(tn_rule_unify(r, k[2], v[2], "rows of k and v", 2, NULL));
  TN_TRY(tn_rule_unify(r, q[3], k[3], "head size of q and k", 3, NULL));
  return tn_rule_demand(r, tn_sym_eq(t, tn_sym_mod(t, q[1], k[1]), tn_sym_int(t, 0)),
                        "%s heads of q do not divide into %s heads of k", tn_sym_text(t, q[1]), tn_sym_text(t, k[1]));
}

static tn_status attn_usage(tn_rule *r) {
  TN_TRY(attn_pair(r, 4, 5, "past_key and past_value"));
  if (tn_rule_has(r, 4) && tn_rule_has(r, 6))
    return tn_rule_fail(r, TN_INVALID, "nonpad_kv_seqlen and a past exclude each other");
  static const char *const windows[] = {"left_window_size", "right_window_size"};
  for (int i = 0; i < 2; i++)
    if (tn_rule_int(r, windows[i]) < -1)
      return tn_rule_fail(r, TN_INVALID, "attribute '%s' is %lld", windows[i], (long long)tn_rule_int(r, windows[i]));
  const int64_t mode = tn_rule_int(r, "qk_matmul_output_mode");
  if (mode < 0 || mode > 3)
    return tn_rule_fail(r, TN_INVALID, "attribute 'qk_matmul_output_mode' is %lld", (long long)mode);
  return TN_OK;
}

static tn_status attn_shape(tn_rule *r) {
  TN_TRY(attn_usage(r));
  const int64_t q_heads = tn_rule_int(r, "q_num_heads"), kv_heads = tn_rule_int(r, "kv_num_heads");
  tn_sym q[4], k[4], v[4];
  bool has_q, has_k, has_v;
  TN_TRY(attn_dims(r, 0, q_heads, "q_num_heads", q, &has_q));
  TN_TRY(attn_dims(r, 1, kv_heads, "kv_num_heads", k, &has_k));
  TN_TRY(attn_dims(r, 2, kv_heads, "kv_num_heads", v, &has_v));
  if (!has_q || !has_k || !has_v) return TN_OK;
  TN_TRY(attn_fit(r, q, k, v));
  tn_symtab *const t = r->syms;
  tn_sym total = k[2];
  bool known = true;
  if (tn_rule_has(r, 4)) {
    TN_TRY(attn_past(r, 4, k));
    TN_TRY(attn_past(r, 5, v));
    const int from = tn_rule_has_rank(r, 4) ? 4 : 5;
    known = tn_rule_has_rank(r, from);
    if (known) total = tn_sym_add(t, r->in[from]->dims[2], k[2]);
    if (known) TN_TRY(attn_same(r, 5, 2, r->in[from]->dims[2], "rows of the past keys and values"));
  }
  if (tn_rule_has(r, 6)) {
    TN_TRY(tn_rule_need_rank(r, 6, 1, 1));
    TN_TRY(attn_same(r, 6, 0, q[0], "nonpad_kv_seqlen and batch"));
  }
  if (known && tn_rule_has(r, 3)) TN_TRY(attn_mask(r, q, total));
  if (known && tn_rule_has(r, 7)) TN_TRY(attn_filter(r, q, total));
  if (r->in[0]->rank == 3)
    tn_rule_set(r, 0, 3, (const tn_sym[]){q[0], q[2], tn_sym_mul(t, q[1], v[3])});
  else
    tn_rule_set(r, 0, 4, (const tn_sym[]){q[0], q[1], q[2], v[3]});
  if (!known) return TN_OK;
  const tn_sym outs[3][4] = {{k[0], k[1], total, k[3]}, {v[0], v[1], total, v[3]}, {q[0], q[1], q[2], total}};
  for (int i = 1; i < r->n_out; i++)
    if (r->out_present[i]) tn_rule_set(r, i, 4, outs[i - 1]);
  return TN_OK;
}

static tn_status attn_type(tn_rule *r) {
  for (int i = 0; i < r->n_out; i++)
    if (r->out_present[i]) tn_rule_set_dtype(r, i, r->in[i == 3 ? 0 : i]->dtype);
  return TN_OK;
}

/* --- oracle --- */

/* A literal [batch, heads, rows, size] or [batch, rows, heads * size] as doubles in the first form. dims receives the
 * four sizes. MISMATCH when it has neither. */
static tn_status attn_load(tn_eval *e, const tn_lit *x, int64_t heads, const char *what, int64_t *dims, double **out) {
  if (x->rank == 4) {
    for (int d = 0; d < 4; d++) dims[d] = x->dims[d];
  } else if (x->rank == 3 && heads > 0 && heads <= INT32_MAX && x->dims[2] % heads == 0) {
    const int64_t own[4] = {x->dims[0], heads, x->dims[1], x->dims[2] / heads};
    for (int d = 0; d < 4; d++) dims[d] = own[d];
  } else {
    return tn_eval_fail(e, TN_MISMATCH, "%s does not divide into %lld heads", what, (long long)heads);
  }
  double *const y = TN_NEW_ARRAY(e->arena, double, x->count);
  for (int64_t i = 0; i < x->count; i++) {
    int64_t from = i;
    if (x->rank == 3) {
      const int64_t c = i % dims[3], s = i / dims[3] % dims[2], h = i / (dims[3] * dims[2]) % dims[1];
      from = ((i / (dims[3] * dims[2] * dims[1]) * dims[2] + s) * dims[1] + h) * dims[3] + c;
    }
    y[i] = tn_lit_f64(x, from);
  }
  *out = y;
  return TN_OK;
}

void tn_attn_ref_store(const double *x, const int64_t *dims, tn_lit *out) {
  for (int64_t i = 0; i < out->count; i++) {
    int64_t to = i;
    if (out->rank == 3) {
      const int64_t c = i % dims[3], s = i / dims[3] % dims[2], h = i / (dims[3] * dims[2]) % dims[1];
      to = ((i / (dims[3] * dims[2] * dims[1]) * dims[2] + s) * dims[1] + h) * dims[3] + c;
    }
    tn_store_f64(out->dtype, tn_lit_data(out), to, x[i]);
  }
}

/* One row of n scores: capped, biased, weighed. `out` receives the stage `kind`. */
static void attn_ref_row(const tn_attn_ref *a, double *s, const double *bias, const double *sink, double *out) {
  const int64_t n = a->n_kv;
  double m = sink ? *sink : (double)-INFINITY, sum = 0;
  bool is_masked = !sink;
  for (int64_t j = 0; j < n; j++) {
    if (out && a->scores_kind == 0) out[j] = s[j];
    if (a->softcap > 0) s[j] = a->softcap * tanh(s[j] / a->softcap);
    if (out && a->scores_kind == 1) out[j] = s[j];
    s[j] += bias[j];
    if (isinf(bias[j]) && bias[j] < 0)
      s[j] = (double)-INFINITY;
    else
      is_masked = false;
    if (out && a->scores_kind == 2) out[j] = s[j];
    m = s[j] > m ? s[j] : m;
  }
  if (sink) sum = exp(*sink - m);
  for (int64_t j = 0; j < n; j++) sum += exp(s[j] - m);
  for (int64_t j = 0; j < n; j++) {
    s[j] = is_masked ? 0 : exp(s[j] - m) / sum;
    if (out && a->scores_kind == 3) out[j] = s[j];
  }
}

void tn_attn_ref_run(tn_arena *arena, const tn_attn_ref *a) {
  double *const s = TN_NEW_ARRAY(arena, double, a->n_kv + 1);
  for (int64_t row = 0; row < a->batch * a->heads * a->n_q; row++) {
    const int64_t h = row / a->n_q % a->heads, b = row / (a->n_q * a->heads);
    const int64_t kv = (b * a->kv_heads + h / (a->heads / a->kv_heads)) * a->n_kv;
    for (int64_t j = 0; j < a->n_kv; j++) {
      s[j] = 0;
      for (int64_t c = 0; c < a->d; c++) s[j] += a->q[row * a->d + c] * a->k[(kv + j) * a->d + c];
      s[j] *= a->scale;
    }
    attn_ref_row(a, s, a->bias + row * a->n_kv, a->sink ? a->sink + h : NULL,
                 a->scores ? a->scores + row * a->n_kv : NULL);
    for (int64_t c = 0; c < a->dv; c++) {
      double sum = 0;
      for (int64_t j = 0; j < a->n_kv; j++) sum += s[j] * a->v[(kv + j) * a->dv + c];
      a->y[row * a->dv + c] = sum;
    }
  }
}

/* [batch, heads, rows, size] after its past, along the rows. */
static tn_status attn_ref_join(tn_eval *e, const tn_lit *past, int64_t *dims, double **x) {
  if (!past) return TN_OK;
  if (past->rank != 4 || past->dims[0] != dims[0] || past->dims[1] != dims[1] || past->dims[3] != dims[3])
    return tn_eval_fail(e, TN_MISMATCH, "the past does not fit the keys or values");
  const int64_t before = past->dims[2], total = before + dims[2], size = dims[3], outer = dims[0] * dims[1];
  double *const y = TN_NEW_ARRAY(e->arena, double, outer *total *size);
  for (int64_t i = 0; i < outer; i++)
    for (int64_t j = 0; j < total * size; j++)
      y[i * total * size + j] =
          j < before * size ? tn_lit_f64(past, i * before * size + j) : (*x)[i * dims[2] * size + j - before * size];
  dims[2] = total;
  *x = y;
  return TN_OK;
}

/* What the key mask adds to the score of (b, i, j). */
static double attn_ref_filter(const tn_eval *e, const int64_t *full, int64_t b, int64_t i, int64_t j) {
  const tn_lit *const m = tn_op_eval_in(e, 7);
  if (!m) return 0;
  bool sees = m->rank == 1 ? j < tn_lit_i64_at(m, b) : tn_lit_i64_at(m, b * full[3] + j) != 0;
  if (m->rank == 1 && m->count == 2 * full[0]) sees = sees && j >= tn_lit_i64_at(m, full[0] + b);
  if (m->rank == 3) sees = tn_lit_i64_at(m, (b * full[2] + i) * full[3] + j) != 0;
  return sees ? 0 : tn_eval_float(e, "mask_filter_value");
}

/* What is added to the score of (b, h, i, j): the mask, the windows and the number of keys in one. */
static double attn_ref_bias(const tn_eval *e, const int64_t *full, int64_t at, int64_t past) {
  const int64_t j = at % full[3], i = at / full[3] % full[2], h = at / (full[3] * full[2]) % full[1];
  const int64_t b = at / (full[3] * full[2] * full[1]);
  const tn_lit *const mask = tn_op_eval_in(e, 3), *const len = tn_op_eval_in(e, 6);
  const int64_t left = tn_eval_int(e, "left_window_size"), right = tn_eval_int(e, "right_window_size");
  int64_t n = len ? tn_lit_i64_at(len, b) : full[3];
  n = n < 0 ? 0 : n < full[3] ? n : full[3];
  const int64_t p = i + (len ? n - full[2] : past);
  if (j >= n || (tn_eval_int(e, "is_causal") && j > p) || (left >= 0 && p - j > left) || (right >= 0 && j - p > right))
    return (double)-INFINITY;
  const double filter = attn_ref_filter(e, full, b, i, j);
  if (!mask) return filter;
  const int64_t index[4] = {b, h, i, j};
  int64_t from = 0;
  for (int d = 0; d < mask->rank; d++) {
    const int64_t x = index[d + 4 - mask->rank];
    if (d == mask->rank - 1 && x >= mask->dims[d]) return (double)-INFINITY;
    from = from * mask->dims[d] + (mask->dims[d] == 1 ? 0 : x);
  }
  const double v = tn_lit_f64(mask, from);
  return filter + (mask->dtype != TN_BOOL ? v : (v != 0 ? 0 : (double)-INFINITY));
}

static tn_status attn_ref_check(tn_eval *e, const int64_t *q, const int64_t *k, const int64_t *v) {
  const tn_lit *const mask = tn_op_eval_in(e, 3), *const len = tn_op_eval_in(e, 6);
  if (q[0] != k[0] || q[0] != v[0] || k[1] != v[1] || k[2] != v[2] || q[3] != k[3] || k[1] < 1 || q[1] % k[1] != 0)
    return tn_eval_fail(e, TN_MISMATCH, "q, k and v do not fit each other");
  if (len && len->count != q[0]) return tn_eval_fail(e, TN_MISMATCH, "nonpad_kv_seqlen does not fit the batch");
  const tn_lit *const filter = tn_op_eval_in(e, 7);
  const int64_t columns = filter && filter->rank > 1 ? k[2] : 1, rows = filter && filter->rank == 3 ? q[2] : 1;
  if (filter && filter->count != q[0] * rows * columns && !(filter->rank == 1 && filter->count == 2 * q[0]))
    return tn_eval_fail(e, TN_MISMATCH, "the key mask fits neither the batch nor the keys");
  if (!mask) return TN_OK;
  const int64_t full[4] = {q[0], q[1], q[2], k[2]};
  if (mask->rank < 1 || mask->rank > 4) return tn_eval_fail(e, TN_MISMATCH, "a mask of rank %d", mask->rank);
  for (int d = 0; d < mask->rank; d++) {
    const int64_t have = mask->dims[d], want = full[d + 4 - mask->rank];
    if (have != 1 && have != want && !(d == mask->rank - 1 && have < want))
      return tn_eval_fail(e, TN_MISMATCH, "dim %d of the mask is %lld", d, (long long)have);
  }
  return TN_OK;
}

static tn_status attn_eval(tn_eval *e) {
  int64_t q[4], k[4], v[4];
  double *qs, *ks, *vs;
  TN_TRY(attn_load(e, e->in[0], tn_eval_int(e, "q_num_heads"), "q", q, &qs));
  TN_TRY(attn_load(e, e->in[1], tn_eval_int(e, "kv_num_heads"), "k", k, &ks));
  TN_TRY(attn_load(e, e->in[2], tn_eval_int(e, "kv_num_heads"), "v", v, &vs));
  const tn_lit *const past = tn_op_eval_in(e, 4);
  TN_TRY(attn_ref_join(e, past, k, &ks));
  TN_TRY(attn_ref_join(e, tn_op_eval_in(e, 5), v, &vs));
  TN_TRY(attn_ref_check(e, q, k, v));
  const int64_t full[4] = {q[0], q[1], q[2], k[2]}, y_dims[4] = {q[0], q[1], q[2], v[3]};
  const int64_t flat[3] = {q[0], q[2], q[1] * v[3]};
  tn_lit *out[4] = {NULL, NULL, NULL, NULL};
  const int64_t *const dims[4] = {e->in[0]->rank == 3 ? flat : y_dims, k, v, full};
  for (int i = 0; i < e->n_out; i++)
    if (e->out_present[i])
      TN_TRY(tn_eval_out(e, i, tn_eval_out_dtype(e, i), i == 0 ? e->in[0]->rank : 4, dims[i], &out[i]));
  int64_t n;
  if (!tn_dims_count(full, 4, &n)) return tn_eval_fail(e, TN_LIMIT, "attention is too large");
  double *const bias = TN_NEW_ARRAY(e->arena, double, n + 1);
  for (int64_t i = 0; i < n; i++) bias[i] = attn_ref_bias(e, full, i, past ? past->dims[2] : 0);
  const tn_attr *const scale = tn_eval_attr(e, "scale");
  tn_attn_ref a = {q[0], q[1], k[1], q[2], k[2], q[3], v[3], qs, ks, vs, bias};
  a.scale = scale ? scale->f : 1 / sqrt((double)(q[3] > 0 ? q[3] : 1));
  a.softcap = tn_eval_float(e, "softcap");
  a.y = TN_NEW_ARRAY(e->arena, double, q[0] * q[1] * q[2] * v[3] + 1);
  a.scores = out[3] ? TN_NEW_ARRAY(e->arena, double, n + 1) : NULL;
  a.scores_kind = tn_eval_int(e, "qk_matmul_output_mode");
  tn_attn_ref_run(e->arena, &a);
  const double *const data[4] = {a.y, ks, vs, a.scores};
  for (int i = 0; i < 4; i++)
    if (out[i]) tn_attn_ref_store(data[i], i == 0 ? y_dims : dims[i], out[i]);
  return TN_OK;
}

#define ATTN_MASKS (TN_SET_NUMBERS | TN_SET(BOOL))

TN_OP(attention){
    .name = "attention",
    .in = {{"q", TN_SET_FLOATS, "T1"},
           {"k", TN_SET_FLOATS, "T1"},
           {"v", TN_SET_FLOATS, "T2"},
           {"attn_mask", ATTN_MASKS, NULL, TN_PORT_OPTIONAL},
           {"past_key", TN_SET_FLOATS, "T1", TN_PORT_OPTIONAL, .rank = 4},
           {"past_value", TN_SET_FLOATS, "T2", TN_PORT_OPTIONAL, .rank = 4},
           {"nonpad_kv_seqlen", TN_SET(I64) | TN_SET(I32), NULL, TN_PORT_OPTIONAL, .rank = 1},
           {"key_mask", TN_SET(I32), NULL, TN_PORT_OPTIONAL}},
    .out = {{"y", TN_SET_FLOATS, "T1"},
            {"present_key", TN_SET_FLOATS, "T1", TN_PORT_OPTIONAL},
            {"present_value", TN_SET_FLOATS, "T2", TN_PORT_OPTIONAL},
            {"qk_matmul_output", TN_SET_FLOATS, "T1", TN_PORT_OPTIONAL}},
    .attrs = {{"is_causal", TN_ATTR_INT, .has_default = true},
              {"kv_num_heads", TN_ATTR_INT, .has_default = true},
              {"left_window_size", TN_ATTR_INT, .i = -1},
              {"mask_filter_value", TN_ATTR_FLOAT, .f = -10000},
              {"q_num_heads", TN_ATTR_INT, .has_default = true},
              {"qk_matmul_output_mode", TN_ATTR_INT, .has_default = true},
              {"right_window_size", TN_ATTR_INT, .i = -1},
              {"scale", TN_ATTR_FLOAT},
              {"softcap", TN_ATTR_FLOAT, .has_default = true},
              {"softmax_precision", TN_ATTR_DTYPE}},
    .type = attn_type,
    .shape = attn_shape,
    .eval = attn_eval,
    .kernel = "attention",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "softmax(scale * q k^T + mask) v by head, with cached keys and values before k and v",
};

/* softmax_precision is a lower bound of ours: the softmax is never taken in less than f32. */
static tn_status attention_import_23(tn_import *im) {
  if (im->version < 25) {
    const tn_import_attr *a = im->attrs;
    for (int i = 0; i < im->n_attrs; i++)
      if (strcmp(a[i].name, "left_window_size") == 0 || strcmp(a[i].name, "right_window_size") == 0)
        return tn_import_fail(im, TN_INVALID, "attribute '%s' is not known to Attention-%d", a[i].name, im->row->since);
  }
  return tn_import_same(im);
}

TN_ONNX(ai, Attention, 23, TN_LATEST, attention, attention_import_23)
