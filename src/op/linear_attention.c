/* What replaces attention in recurrent language models: LinearAttention, CausalConvWithState; and SwiGLU. */
#include <math.h>

#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"
#include "op/move.h"

#define LINEAR_TYPES (TN_SET(F32) | TN_SET(F16) | TN_SET(BF16))

/* --- linear_attention --- */

static bool linear_rule_has(tn_str rule, const char *part) { /* "gated", "delta" */
  return tn_str_is(rule, "gated_delta") || tn_str_is(rule, part);
}

static tn_status linear_usage(tn_rule *r, int64_t heads, int64_t kv_heads) {
  const tn_str rule = tn_rule_attr(r, "update_rule")->s;
  if (!linear_rule_has(rule, "gated") && !linear_rule_has(rule, "delta") && !tn_str_is(rule, "linear"))
    return tn_rule_fail(r, TN_INVALID, "attribute 'update_rule' is '%.*s'", (int)rule.len, rule.ptr);
  if (kv_heads < 1 || heads < 1 || heads > INT32_MAX || heads % kv_heads != 0)
    return tn_rule_fail(r, TN_INVALID, "%lld heads of the query for %lld of the keys", (long long)heads,
                        (long long)kv_heads);
  if (linear_rule_has(rule, "gated") != tn_rule_has(r, 4))
    return tn_rule_fail(r, TN_INVALID, "input 'decay' does not go with the rule '%.*s'", (int)rule.len, rule.ptr);
  if (linear_rule_has(rule, "delta") != tn_rule_has(r, 5))
    return tn_rule_fail(r, TN_INVALID, "input 'beta' does not go with the rule '%.*s'", (int)rule.len, rule.ptr);
  return TN_OK;
}

/* Input i is [batch, rows, heads * size] with size returned. */
static tn_status linear_packed(tn_rule *r, int i, int64_t heads, tn_sym *out_size) {
  tn_symtab *const t = r->syms;
  const tn_type *const x = r->in[i];
  const tn_sym n = tn_sym_int(t, heads);
  TN_TRY(tn_rule_unify(r, x->dims[0], r->in[0]->dims[0], "batch of the operands", 0, NULL));
  TN_TRY(tn_rule_unify(r, x->dims[1], r->in[0]->dims[1], "rows of the operands", 1, NULL));
  TN_TRY(tn_rule_demand(r, tn_sym_eq(t, tn_sym_mod(t, x->dims[2], n), tn_sym_int(t, 0)),
                        "dim 2 of input %d, %s, does not divide into %lld heads", i, tn_sym_text(t, x->dims[2]),
                        (long long)heads));
  *out_size = tn_sym_divexact(t, x->dims[2], n);
  return TN_OK;
}

/* The last dim of input i is one of two. */
static tn_status linear_gate(tn_rule *r, int i, tn_sym a, tn_sym b) {
  if (!tn_rule_has_rank(r, i)) return TN_OK;
  tn_symtab *const t = r->syms;
  const tn_sym *const d = r->in[i]->dims;
  TN_TRY(tn_rule_unify(r, d[0], r->in[0]->dims[0], "batch of the operands", 0, NULL));
  TN_TRY(tn_rule_unify(r, d[1], r->in[0]->dims[1], "rows of the operands", 1, NULL));
  return tn_rule_demand(r, tn_sym_or(t, tn_sym_eq(t, d[2], a), tn_sym_eq(t, d[2], b)),
                        "dim 2 of input %d is %s, expected %s or %s", i, tn_sym_text(t, d[2]), tn_sym_text(t, a),
                        tn_sym_text(t, b));
}

static tn_status linear_shape(tn_rule *r) {
  const int64_t heads = tn_rule_int(r, "q_num_heads"), kv_heads = tn_rule_int(r, "kv_num_heads");
  TN_TRY(linear_usage(r, heads, kv_heads));
  for (int i = 0; i < 6; i++) TN_TRY(tn_rule_need_rank(r, i, i == 3 ? 4 : 3, i == 3 ? 4 : 3));
  if (!tn_rule_has_rank(r, 0) || !tn_rule_has_rank(r, 1) || !tn_rule_has_rank(r, 2)) return TN_OK;
  tn_symtab *const t = r->syms;
  tn_sym dq, dk, dv;
  TN_TRY(linear_packed(r, 0, heads, &dq));
  TN_TRY(linear_packed(r, 1, kv_heads, &dk));
  TN_TRY(linear_packed(r, 2, kv_heads, &dv));
  TN_TRY(tn_rule_unify(r, dq, dk, "head size of query and key", 2, NULL));
  const tn_sym batch = r->in[0]->dims[0], n = tn_sym_int(t, kv_heads);
  const tn_sym state[4] = {batch, n, dk, dv};
  if (tn_rule_has_rank(r, 3))
    for (int d = 0; d < 4; d++)
      TN_TRY(tn_rule_unify(r, r->in[3]->dims[d], state[d], "dims of the past state", d, NULL));
  TN_TRY(linear_gate(r, 4, n, tn_sym_mul(t, n, dk)));
  TN_TRY(linear_gate(r, 5, n, tn_sym_int(t, 1)));
  tn_rule_set(r, 0, 3, (const tn_sym[]){batch, r->in[0]->dims[1], tn_sym_muli(t, dv, heads)});
  if (r->n_out > 1 && r->out_present[1]) tn_rule_set(r, 1, 4, state);
  return TN_OK;
}

static tn_status linear_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[0]->dtype);
  if (r->n_out > 1 && r->out_present[1]) tn_rule_set_dtype(r, 1, r->in[tn_rule_has(r, 3) ? 3 : 0]->dtype);
  return TN_OK;
}

typedef struct linear_plan {
  int64_t batch, rows, heads, kv_heads, dk, dv;
} linear_plan;

/* x is [batch, rows, heads * size]. */
static bool linear_is_packed(const linear_plan *p, const tn_lit *x, int64_t heads, int64_t size) {
  int64_t width;
  return x->rank == 3 && x->dims[0] == p->batch && x->dims[1] == p->rows && tn_mul_i64(heads, size, &width) &&
         x->dims[2] == width;
}

static tn_status linear_read(const tn_eval *e, linear_plan *p) {
  const tn_lit *const q = e->in[0], *const k = e->in[1], *const v = e->in[2], *const past = tn_op_eval_in(e, 3);
  const tn_lit *const decay = tn_op_eval_in(e, 4), *const beta = tn_op_eval_in(e, 5);
  p->heads = tn_eval_int(e, "q_num_heads");
  p->kv_heads = tn_eval_int(e, "kv_num_heads");
  if (q->rank != 3 || k->rank != 3 || v->rank != 3 || p->heads < 1 || p->heads > INT32_MAX || p->kv_heads < 1 ||
      p->heads % p->kv_heads != 0)
    return tn_eval_fail(e, TN_MISMATCH, "the operands of linear attention do not fit each other");
  p->batch = q->dims[0];
  p->rows = q->dims[1];
  p->dk = k->dims[2] / p->kv_heads;
  p->dv = v->dims[2] / p->kv_heads;
  const int64_t state[4] = {p->batch, p->kv_heads, p->dk, p->dv};
  int64_t n;
  if (!tn_dims_count(state, 4, &n)) return tn_eval_fail(e, TN_LIMIT, "the state is too large");
  if (!linear_is_packed(p, q, p->heads, p->dk) || !linear_is_packed(p, k, p->kv_heads, p->dk) ||
      !linear_is_packed(p, v, p->kv_heads, p->dv) || (past && past->count != n) ||
      (decay && !linear_is_packed(p, decay, p->kv_heads, 1) && !linear_is_packed(p, decay, p->kv_heads, p->dk)) ||
      (beta && !linear_is_packed(p, beta, p->kv_heads, 1) && !linear_is_packed(p, beta, 1, 1)))
    return tn_eval_fail(e, TN_MISMATCH, "the operands of linear attention do not fit each other");
  return TN_OK;
}

/* One token of one key head: the state decays, is corrected and written. */
static void linear_ref_step(const tn_eval *e, const linear_plan *p, int64_t token, int64_t h, double *state) {
  const tn_lit *const decay = tn_op_eval_in(e, 4), *const beta = tn_op_eval_in(e, 5);
  const int64_t key = (token * p->kv_heads + h) * p->dk, value = (token * p->kv_heads + h) * p->dv;
  for (int64_t i = 0; decay && i < p->dk; i++) {
    const int64_t n = decay->dims[2];
    const double g = exp(tn_lit_f64(decay, n == p->kv_heads ? token * n + h : token * n + h * p->dk + i));
    for (int64_t j = 0; j < p->dv; j++) state[i * p->dv + j] *= g;
  }
  for (int64_t j = 0; j < p->dv; j++) {
    double v = tn_lit_f64(e->in[2], value + j);
    if (beta) {
      for (int64_t i = 0; i < p->dk; i++) v -= state[i * p->dv + j] * tn_lit_f64(e->in[1], key + i);
      v *= tn_lit_f64(beta, beta->dims[2] == 1 ? token : token * p->kv_heads + h);
    }
    for (int64_t i = 0; i < p->dk; i++) state[i * p->dv + j] += tn_lit_f64(e->in[1], key + i) * v;
  }
}

static tn_status linear_eval(tn_eval *e) {
  linear_plan p = {0};
  TN_TRY(linear_read(e, &p));
  const tn_lit *const past = tn_op_eval_in(e, 3);
  tn_lit *y, *last = NULL;
  TN_TRY(tn_eval_out(e, 0, e->in[0]->dtype, 3, (const int64_t[]){p.batch, p.rows, p.heads * p.dv}, &y));
  if (e->n_out > 1 && e->out_present[1])
    TN_TRY(tn_eval_out(e, 1, tn_eval_out_dtype(e, 1), 4, (const int64_t[]){p.batch, p.kv_heads, p.dk, p.dv}, &last));
  double *const state = TN_NEW_ARRAY(e->arena, double, p.dk *p.dv + 1);
  const int64_t group = p.heads / p.kv_heads, size = p.dk * p.dv;
  const double given = tn_eval_float(e, "scale"), scale = given < 0 || given > 0 ? given : 1 / sqrt((double)p.dk);
  for (int64_t bh = 0; bh < p.batch * p.kv_heads; bh++) {
    for (int64_t i = 0; i < size; i++) state[i] = past ? tn_lit_f64(past, bh * size + i) : 0;
    for (int64_t s = 0; s < p.rows; s++) {
      const int64_t token = bh / p.kv_heads * p.rows + s;
      linear_ref_step(e, &p, token, bh % p.kv_heads, state);
      for (int64_t o = 0; o < group * p.dv; o++) {
        const int64_t head = token * p.heads + bh % p.kv_heads * group + o / p.dv;
        double sum = 0;
        for (int64_t i = 0; i < p.dk; i++) sum += tn_lit_f64(e->in[0], head * p.dk + i) * state[i * p.dv + o % p.dv];
        tn_store_f64(y->dtype, tn_lit_data(y), head * p.dv + o % p.dv, scale * sum);
      }
    }
    for (int64_t i = 0; last && i < size; i++) tn_store_f64(last->dtype, tn_lit_data(last), bh * size + i, state[i]);
  }
  return TN_OK;
}

TN_OP(linear_attention){
    .name = "linear_attention",
    .in = {{"query", LINEAR_TYPES, "T", .rank = 3},
           {"key", LINEAR_TYPES, "T", .rank = 3},
           {"value", LINEAR_TYPES, "T", .rank = 3},
           {"past_state", LINEAR_TYPES, NULL, TN_PORT_OPTIONAL, .rank = 4},
           {"decay", LINEAR_TYPES, "T", TN_PORT_OPTIONAL, .rank = 3},
           {"beta", LINEAR_TYPES, "T", TN_PORT_OPTIONAL, .rank = 3}},
    .out = {{"output", LINEAR_TYPES, "T"}, {"present_state", LINEAR_TYPES, NULL, TN_PORT_OPTIONAL}},
    .attrs = {{"chunk_size", TN_ATTR_INT, .i = 64},
              {"kv_num_heads", TN_ATTR_INT, .required = true},
              {"q_num_heads", TN_ATTR_INT, .required = true},
              {"scale", TN_ATTR_FLOAT, .has_default = true},
              {"update_rule", TN_ATTR_STR, .s = "gated_delta"}},
    .type = linear_type,
    .shape = linear_shape,
    .eval = linear_eval,
    .kernel = "linear_attention",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-4},
    .doc = "a state [dk, dv] by head that decays, is corrected by the delta rule and written by each token, then read",
};
TN_ONNX(ai, LinearAttention, 27, TN_LATEST, linear_attention, tn_import_same)

/* --- causal_conv --- */

static tn_status causal_shape(tn_rule *r) {
  const tn_str act = tn_rule_attr(r, "activation")->s;
  if (!tn_str_is(act, "none") && !tn_str_is(act, "silu") && !tn_str_is(act, "swish"))
    return tn_rule_fail(r, TN_INVALID, "attribute 'activation' is '%.*s'", (int)act.len, act.ptr);
  static const int ranks[4] = {3, 3, 1, 3};
  for (int i = 0; i < 4; i++) TN_TRY(tn_rule_need_rank(r, i, ranks[i], ranks[i]));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  tn_rule_set(r, 0, 3, r->in[0]->dims);
  if (!tn_rule_has_rank(r, 1)) return TN_OK;
  tn_symtab *const t = r->syms;
  const tn_sym *const x = r->in[0]->dims, *const w = r->in[1]->dims;
  TN_TRY(tn_rule_unify(r, w[0], x[1], "channels of the kernel and of the input", 0, NULL));
  TN_TRY(tn_rule_unify(r, w[1], tn_sym_int(t, 1), "channels of one filter", 1, NULL));
  TN_TRY(tn_op_at_least(r, w[2], 1, "taps of the kernel"));
  if (tn_rule_has_rank(r, 2)) TN_TRY(tn_rule_unify(r, r->in[2]->dims[0], x[1], "bias and channels", 0, NULL));
  const tn_sym state[3] = {x[0], x[1], tn_sym_addi(t, w[2], -1)};
  if (tn_rule_has_rank(r, 3))
    for (int d = 0; d < 3; d++)
      TN_TRY(tn_rule_unify(r, r->in[3]->dims[d], state[d], "dims of the past state", d, NULL));
  if (r->n_out > 1 && r->out_present[1]) tn_rule_set(r, 1, 3, state);
  return TN_OK;
}

/* Element at of row (of batch and channel) of the past followed by the input. */
static double causal_ref_at(const tn_eval *e, int64_t row, int64_t at, int64_t before) {
  const tn_lit *const past = tn_op_eval_in(e, 3);
  if (at >= before) return tn_lit_f64(e->in[0], row * e->in[0]->dims[2] + at - before);
  return past ? tn_lit_f64(past, row * before + at) : 0;
}

static tn_status causal_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0], *const w = e->in[1], *const bias = tn_op_eval_in(e, 2);
  const tn_lit *const past = tn_op_eval_in(e, 3);
  if (x->rank != 3 || w->rank != 3 || w->dims[0] != x->dims[1] || w->dims[1] != 1 || w->dims[2] < 1 ||
      (bias && bias->count != x->dims[1]) || (past && past->count != x->dims[0] * x->dims[1] * (w->dims[2] - 1)))
    return tn_eval_fail(e, TN_MISMATCH, "the operands of a causal convolution do not fit each other");
  const int64_t taps = w->dims[2], before = taps - 1, n = x->dims[2];
  const bool is_linear = tn_eval_str_is(e, "activation", "none");
  tn_lit *y, *last = NULL;
  TN_TRY(tn_eval_out(e, 0, x->dtype, 3, x->dims, &y));
  if (e->n_out > 1 && e->out_present[1])
    TN_TRY(tn_eval_out(e, 1, x->dtype, 3, (const int64_t[]){x->dims[0], x->dims[1], before}, &last));
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t row = i / n, c = row % x->dims[1];
    double sum = bias ? tn_lit_f64(bias, c) : 0;
    for (int64_t k = 0; k < taps; k++) sum += tn_lit_f64(w, c * taps + k) * causal_ref_at(e, row, i % n + k, before);
    tn_store_f64(y->dtype, tn_lit_data(y), i, is_linear ? sum : sum / (1 + exp(-sum)));
  }
  for (int64_t i = 0; last && i < last->count; i++)
    tn_store_f64(last->dtype, tn_lit_data(last), i, causal_ref_at(e, i / before, n + i % before, before));
  return TN_OK;
}

TN_OP(causal_conv){
    .name = "causal_conv",
    .in = {{"input", LINEAR_TYPES, "T", .rank = 3},
           {"weight", LINEAR_TYPES, "T", .rank = 3},
           {"bias", LINEAR_TYPES, "T", TN_PORT_OPTIONAL, .rank = 1},
           {"past_state", LINEAR_TYPES, "T", TN_PORT_OPTIONAL, .rank = 3}},
    .out = {{"output", LINEAR_TYPES, "T"}, {"present_state", LINEAR_TYPES, "T", TN_PORT_OPTIONAL}},
    .attrs = {{"activation", TN_ATTR_STR, .s = "none"}},
    .type = tn_type_as_input,
    .shape = causal_shape,
    .eval = causal_eval,
    .kernel = "causal_conv",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "a convolution of each channel over what came before, the last elements kept for the next call",
};
TN_ONNX(ai, CausalConvWithState, 27, TN_LATEST, causal_conv, tn_import_same)

/* --- swiglu --- */

static tn_status swiglu_shape(tn_rule *r) {
  if (tn_rule_has_rank(r, 0) && tn_rule_has_rank(r, 1)) {
    TN_TRY(tn_rule_need_rank(r, 1, r->in[0]->rank, r->in[0]->rank));
    for (int d = 0; d < r->in[0]->rank; d++)
      TN_TRY(tn_rule_unify(r, r->in[0]->dims[d], r->in[1]->dims[d], "dims of the gate and the value", d, NULL));
  }
  return tn_shape_as_input(r);
}

static tn_status swiglu_eval(tn_eval *e) {
  const tn_lit *const a = e->in[0], *const b = e->in[1];
  const double alpha = tn_eval_float(e, "alpha");
  if (a->count != b->count) return tn_eval_fail(e, TN_MISMATCH, "the gate and the value differ in size");
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, a->dtype, a->rank, a->dims, &y));
  for (int64_t i = 0; i < a->count; i++) {
    const double x = tn_lit_f64(a, i);
    tn_store_f64(y->dtype, tn_lit_data(y), i, x / (1 + exp(-alpha * x)) * tn_lit_f64(b, i));
  }
  return TN_OK;
}

TN_OP(swiglu){
    .name = "swiglu",
    .in = {{"a", TN_SET_FLOATS, "T"}, {"b", TN_SET_FLOATS, "T", .rank_as = 1}},
    .out = {{"y", TN_SET_FLOATS, "T"}},
    .attrs = {{"alpha", TN_ATTR_FLOAT, .f = 1.0, .has_default = true}},
    .type = tn_type_as_input,
    .shape = swiglu_shape,
    .eval = swiglu_eval,
    .kernel = "swiglu",
    .traits = TN_TRAIT_PURE | TN_TRAIT_ELEMENTWISE,
    .accuracy = {TN_ACC_REL, 1e-6},
    .doc = "a * sigmoid(alpha * a) * b",
};
TN_ONNX(ai, SwiGLU, 28, TN_LATEST, swiglu, tn_import_same)
