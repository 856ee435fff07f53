/* Steps of optimisers (ai.onnx.preview.training) and what is refused beside them.
 *
 * All take the learning rate, the number of steps done, then `n` tensors of each role one role after the other: the
 * values, their gradients and one or two states. Results are the values and the states. */
#include <math.h>

#include "op/move.h"

/* Tensors of each role, or INVALID. */
static tn_status training_n(tn_ctx *ctx, tn_loc loc, int n_in, int n_out, int roles, int *out) {
  *out = (n_in - 2) / roles;
  if (n_in > 2 && (n_in - 2) % roles == 0 && n_out <= *out * (roles - 1)) return TN_OK;
  return tn_fail(ctx, TN_INVALID, loc, "%d operands and %d results: %d of each tensor go in and %d come out", n_in,
                 n_out, roles, roles - 1);
}
/* The operand that result i replaces. */
static int training_source(int i, int n) { return 2 + i + (i < n ? 0 : n); }

static tn_status training_type(tn_rule *r, int roles) {
  int n;
  TN_TRY(training_n(r->ctx, r->loc, r->n_in, r->n_out, roles, &n));
  for (int i = 0; i < r->n_out; i++) tn_rule_set_dtype(r, i, r->in[training_source(i, n)]->dtype);
  return TN_OK;
}
static tn_status training_shape(tn_rule *r, int roles) {
  int n;
  TN_TRY(training_n(r->ctx, r->loc, r->n_in, r->n_out, roles, &n));
  for (int i = 0; i < 2; i++) TN_TRY(tn_rule_need_rank(r, i, 0, 1));
  for (int i = 0; i < n; i++) {
    const tn_type *const x = r->in[2 + i];
    if (x->rank < 0) continue;
    tn_sym *const dims = tn_rule_dims(r, x->rank);
    for (int d = 0; d < x->rank; d++) dims[d] = x->dims[d];
    for (int role = 1; role < roles; role++) {
      const int at = 2 + role * n + i;
      TN_TRY(tn_rule_need_rank(r, at, x->rank, x->rank));
      for (int d = 0; d < x->rank && tn_rule_has_rank(r, at); d++)
        TN_TRY(tn_rule_unify(r, dims[d], r->in[at]->dims[d], "a value and its gradient or state", d, &dims[d]));
    }
    for (int at = i; at < r->n_out; at += n) tn_rule_set(r, at, x->rank, dims);
  }
  return TN_OK;
}

typedef struct training_element { /* value, gradient, states; the step's constants */
  double x, g, state[2];
  double rate, steps;
} training_element;
typedef void (*training_step)(const tn_eval *e, training_element *t);

static tn_status training_eval(tn_eval *e, int roles, training_step step) {
  int n;
  TN_TRY(training_n(e->ctx, e->loc, e->n_in, e->n_out, roles, &n));
  if (e->in[0]->count < 1 || e->in[1]->count < 1)
    return tn_eval_fail(e, TN_MISMATCH, "no learning rate or step number");
  for (int i = 0; i < n; i++) {
    const tn_lit *in[4] = {NULL, NULL, NULL, NULL};
    tn_lit *out[3] = {NULL, NULL, NULL};
    for (int role = 0; role < roles; role++) {
      in[role] = e->in[2 + role * n + i];
      if (in[role]->count != in[0]->count) return tn_eval_fail(e, TN_MISMATCH, "tensors of different sizes");
    }
    for (int role = 0; role < roles - 1; role++) {
      const tn_lit *const from = in[role ? role + 1 : 0];
      if (role * n + i >= e->n_out || !e->out_present[role * n + i]) continue;
      TN_TRY(tn_eval_out(e, role * n + i, from->dtype, from->rank, from->dims, &out[role]));
    }
    for (int64_t k = 0; k < in[0]->count; k++) {
      training_element t = {.x = tn_lit_f64(in[0], k), .g = tn_lit_f64(in[1], k), .state = {tn_lit_f64(in[2], k), 0}};
      if (roles > 3) t.state[1] = tn_lit_f64(in[3], k);
      t.rate = tn_lit_f64(e->in[0], 0);
      t.steps = tn_lit_f64(e->in[1], 0);
      step(e, &t);
      const double results[3] = {t.x, t.state[0], t.state[1]};
      for (int s = 0; s < roles - 1; s++)
        if (out[s]) tn_store_f64(out[s]->dtype, tn_lit_data(out[s]), k, results[s]);
    }
  }
  return TN_OK;
}

static void training_adagrad(const tn_eval *e, training_element *t) {
  const double g = tn_eval_float(e, "norm_coefficient") * t->x + t->g;
  t->state[0] += g * g;
  t->x -= t->rate / (1 + t->steps * tn_eval_float(e, "decay_factor")) * g /
          (sqrt(t->state[0]) + tn_eval_float(e, "epsilon"));
}

static void training_adam(const tn_eval *e, training_element *t) {
  const double g = tn_eval_float(e, "norm_coefficient") * t->x + t->g;
  const double alpha = tn_eval_float(e, "alpha"), beta = tn_eval_float(e, "beta");
  t->state[0] = alpha * t->state[0] + (1 - alpha) * g;
  t->state[1] = beta * t->state[1] + (1 - beta) * g * g;
  const double rate = t->steps > 0 ? t->rate * sqrt(1 - pow(beta, t->steps)) / (1 - pow(alpha, t->steps)) : t->rate;
  t->x -= rate * t->state[0] / (sqrt(t->state[1]) + tn_eval_float(e, "epsilon"));
  t->x *= 1 - tn_eval_float(e, "norm_coefficient_post");
}

static void training_momentum(const tn_eval *e, training_element *t) {
  const double g = tn_eval_float(e, "norm_coefficient") * t->x + t->g, alpha = tn_eval_float(e, "alpha");
  t->state[0] = alpha * t->state[0] + (t->steps > 0 ? tn_eval_float(e, "beta") : 1) * g;
  t->x -= t->rate * (tn_eval_str_is(e, "mode", "nesterov") ? g + alpha * t->state[0] : t->state[0]);
}

static tn_status adagrad_type(tn_rule *r) { return training_type(r, 3); }
static tn_status adagrad_shape(tn_rule *r) { return training_shape(r, 3); }
static tn_status adagrad_eval(tn_eval *e) { return training_eval(e, 3, training_adagrad); }
static tn_status adam_type(tn_rule *r) { return training_type(r, 4); }
static tn_status adam_shape(tn_rule *r) { return training_shape(r, 4); }
static tn_status adam_eval(tn_eval *e) { return training_eval(e, 4, training_adam); }
static tn_status momentum_type(tn_rule *r) { return training_type(r, 3); }
static tn_status momentum_shape(tn_rule *r) {
  if (!tn_rule_str_is(r, "mode", "standard") && !tn_rule_str_is(r, "mode", "nesterov"))
    return tn_rule_fail(r, TN_INVALID, "attribute 'mode' is neither 'standard' nor 'nesterov'");
  return training_shape(r, 3);
}
static tn_status momentum_eval(tn_eval *e) { return training_eval(e, 3, training_momentum); }

#define TRAINING_SET (TN_SET(F32) | TN_SET(F64))
#define TRAINING_PORTS                                                                                               \
  .in = {{"r", TRAINING_SET}, {"t", TN_SET(I64)}, {"inputs", TRAINING_SET, NULL, TN_PORT_VARIADIC | TN_PORT_MIXED}}, \
  .out = {{"outputs", TRAINING_SET, NULL, TN_PORT_VARIADIC | TN_PORT_MIXED}}, .traits = TN_TRAIT_PURE,               \
  .accuracy = {TN_ACC_REL, 1e-6}

TN_OP(adagrad){
    .name = "adagrad",
    TRAINING_PORTS,
    .attrs = {{"decay_factor", TN_ATTR_FLOAT, .has_default = true},
              {"epsilon", TN_ATTR_FLOAT, .f = (double)1e-6F},
              {"norm_coefficient", TN_ATTR_FLOAT, .has_default = true}},
    .type = adagrad_type,
    .shape = adagrad_shape,
    .eval = adagrad_eval,
    .kernel = "adagrad",
    .doc = "one step of Adagrad for any number of tensors",
};
TN_OP(adam){
    .name = "adam",
    TRAINING_PORTS,
    .attrs = {{"alpha", TN_ATTR_FLOAT, .f = (double)0.9F},
              {"beta", TN_ATTR_FLOAT, .f = (double)0.999F},
              {"epsilon", TN_ATTR_FLOAT, .f = (double)1e-6F},
              {"norm_coefficient", TN_ATTR_FLOAT, .has_default = true},
              {"norm_coefficient_post", TN_ATTR_FLOAT, .has_default = true}},
    .type = adam_type,
    .shape = adam_shape,
    .eval = adam_eval,
    .kernel = "adam",
    .doc = "one step of Adam for any number of tensors",
};
TN_OP(momentum){
    .name = "momentum",
    TRAINING_PORTS,
    .attrs = {{"alpha", TN_ATTR_FLOAT, .required = true},
              {"beta", TN_ATTR_FLOAT, .required = true},
              {"mode", TN_ATTR_STR, .required = true},
              {"norm_coefficient", TN_ATTR_FLOAT, .required = true}},
    .type = momentum_type,
    .shape = momentum_shape,
    .eval = momentum_eval,
    .kernel = "momentum",
    .doc = "one step of gradient descent with (Nesterov) momentum for any number of tensors",
};

/* clang-format off */
TN_ONNX(training, Adagrad, 1, TN_LATEST, adagrad, tn_import_same)
TN_ONNX(training, Adam, 1, TN_LATEST, adam, tn_import_same)
TN_ONNX(training, Momentum, 1, TN_LATEST, momentum, tn_import_same)
