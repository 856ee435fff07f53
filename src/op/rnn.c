/* LSTM, GRU and RNN. */
#include <math.h>
#include <strings.h>

#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"

enum { RNN_X, RNN_W, RNN_R, RNN_B, RNN_LENS, RNN_H0, RNN_C0, RNN_P };

static int64_t rnn_gates(const tn_op *op) {
  return strcmp(op->name, "lstm") == 0 ? 4 : strcmp(op->name, "gru") == 0 ? 3 : 1;
}

/* Input i, when its rank is known, has these dims. */
static tn_status rnn_want(tn_rule *r, int i, int rank, const tn_sym *dims, const char *what) {
  TN_TRY(tn_rule_need_rank(r, i, rank, rank));
  if (!tn_rule_has_rank(r, i)) return TN_OK;
  for (int d = 0; d < rank; d++) TN_TRY(tn_rule_unify(r, r->in[i]->dims[d], dims[d], what, d, NULL));
  return TN_OK;
}

static tn_status rnn_directions(tn_rule *r, int64_t *out) {
  *out = tn_rule_str_is(r, "direction", "bidirectional") ? 2 : 1;
  if (*out == 2 || tn_rule_str_is(r, "direction", "forward") || tn_rule_str_is(r, "direction", "reverse")) return TN_OK;
  return tn_rule_fail(r, TN_INVALID, "unknown direction");
}

/* Dims of x. Where its rank is not known: the input size from w, the batch from initial_h, the rest from the run. */
static void rnn_input(tn_rule *r, bool batch_first, tn_sym *x) {
  if (tn_rule_has_rank(r, RNN_X)) {
    for (int i = 0; i < 3; i++) x[i] = r->in[RNN_X]->dims[i];
    return;
  }
  const int out = r->out_present[0] ? 0 : 1;
  const int batch_at = batch_first ? 0 : out == 0 ? 2 : 1; /* where the batch is in that output */
  x[2] = tn_rule_has_rank(r, RNN_W) ? r->in[RNN_W]->dims[2] : NULL;
  x[batch_first] = out == 0 ? tn_rule_fresh(r, 0, batch_first, 0, NULL) : NULL;
  x[!batch_first] = tn_rule_has_rank(r, RNN_H0) ? r->in[RNN_H0]->dims[!batch_first] : NULL;
  if (!x[!batch_first]) x[!batch_first] = tn_rule_fresh(r, out, batch_at, 0, NULL);
}

static tn_status rnn_shape(tn_rule *r) {
  tn_symtab *t = r->syms;
  int64_t directions;
  TN_TRY(rnn_directions(r, &directions));
  for (int i = 0; i < 3; i++) TN_TRY(tn_rule_need_rank(r, i, 3, 3));
  const int64_t gates = rnn_gates(r->node->op), hidden_attr = tn_rule_int(r, "hidden_size");
  const bool batch_first = tn_rule_int(r, "layout") != 0;
  tn_sym hidden = hidden_attr > 0 ? tn_sym_int(t, hidden_attr) : NULL;
  if (tn_rule_has_rank(r, RNN_R)) {
    if (hidden)
      TN_TRY(tn_rule_unify(r, r->in[RNN_R]->dims[2], hidden, "r and hidden_size", 2, &hidden));
    else
      hidden = r->in[RNN_R]->dims[2];
  }
  if (!hidden) return TN_OK;
  tn_sym x[3];
  rnn_input(r, batch_first, x);
  const tn_sym d = tn_sym_int(t, directions), wide = tn_sym_muli(t, hidden, gates);
  const tn_sym steps = x[batch_first], batch = x[!batch_first];
  if (x[2]) TN_TRY(rnn_want(r, RNN_W, 3, (const tn_sym[]){d, wide, x[2]}, "w"));
  TN_TRY(rnn_want(r, RNN_R, 3, (const tn_sym[]){d, wide, hidden}, "r"));
  TN_TRY(rnn_want(r, RNN_B, 2, (const tn_sym[]){d, tn_sym_muli(t, wide, 2)}, "b"));
  TN_TRY(rnn_want(r, RNN_LENS, 1, &batch, "sequence_lens"));
  const tn_sym state[3] = {batch_first ? batch : d, batch_first ? d : batch, hidden};
  TN_TRY(rnn_want(r, RNN_H0, 3, state, "initial_h"));
  TN_TRY(rnn_want(r, RNN_C0, 3, state, "initial_c"));
  TN_TRY(rnn_want(r, RNN_P, 2, (const tn_sym[]){d, tn_sym_muli(t, hidden, 3)}, "p"));
  if (r->out_present[0])
    tn_rule_set(r, 0, 4,
                batch_first ? (const tn_sym[]){batch, steps, d, hidden} : (const tn_sym[]){steps, d, batch, hidden});
  for (int i = 1; i < r->n_out; i++)
    if (r->out_present[i]) tn_rule_set(r, i, 3, state);
  return TN_OK;
}

/* One activation by name with its alpha and beta. */
typedef struct rnn_fn {
  tn_str name;
  double alpha, beta;
} rnn_fn;

static bool rnn_is(tn_str s, const char *z) { return s.len == strlen(z) && strncasecmp(s.ptr, z, s.len) == 0; }

static tn_status rnn_act(tn_eval *e, const rnn_fn *f, double x, double *out) {
  const tn_str n = f->name;
  if (rnn_is(n, "Relu"))
    *out = fmax(x, 0);
  else if (rnn_is(n, "Tanh"))
    *out = tanh(x);
  else if (rnn_is(n, "Sigmoid"))
    *out = 1 / (1 + exp(-x));
  else if (rnn_is(n, "Affine"))
    *out = f->alpha * x + f->beta;
  else if (rnn_is(n, "LeakyRelu"))
    *out = x >= 0 ? x : f->alpha * x;
  else if (rnn_is(n, "ThresholdedRelu"))
    *out = x > f->alpha ? x : 0;
  else if (rnn_is(n, "ScaledTanh"))
    *out = f->alpha * tanh(f->beta * x);
  else if (rnn_is(n, "HardSigmoid"))
    *out = fmin(fmax(f->alpha * x + f->beta, 0), 1);
  else if (rnn_is(n, "Elu"))
    *out = x >= 0 ? x : f->alpha * expm1(x);
  else if (rnn_is(n, "Softsign"))
    *out = x / (1 + fabs(x));
  else if (rnn_is(n, "Softplus"))
    *out = x > 30 ? x : log1p(exp(x));
  else
    return tn_eval_fail(e, TN_UNSUPPORTED, "activation '%.*s'", (int)(n.len > 40 ? 40 : n.len), n.ptr);
  return TN_OK;
}

/* The activation of a gate, whose argument is clipped. */
static tn_status rnn_call(tn_eval *e, const rnn_fn *f, double x, double *out) {
  const double clip = tn_eval_float(e, "clip");
  return rnn_act(e, f, clip > 0 ? fmin(fmax(x, -clip), clip) : x, out);
}

static void rnn_default_fn(rnn_fn *f) {
  const char *const names[] = {"LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Affine"};
  const double alphas[] = {0.01, 1, 1, 0.2, 1, 1}, betas[] = {0, 0, 1, 0.5, 0, 0};
  f->alpha = f->beta = 0;
  for (int i = 0; i < 6; i++)
    if (rnn_is(f->name, names[i])) {
      f->alpha = alphas[i];
      f->beta = betas[i];
    }
}

static tn_status rnn_fns(tn_eval *e, int each, int directions, rnn_fn *out) {
  const tn_attr *names = tn_eval_attr(e, "activations"), *a = tn_eval_attr(e, "activation_alpha"),
                *b = tn_eval_attr(e, "activation_beta");
  int64_t na = 0, nb = 0;
  if (names && names->n > 0 && names->n < each * directions)
    return tn_eval_fail(e, TN_INVALID, "%lld activations, expected %d", (long long)names->n, each * directions);
  for (int i = 0; i < each * directions; i++) {
    rnn_fn *f = &out[i];
    f->name = tn_str_of(each > 1 && i % each == 0 ? "Sigmoid" : "Tanh");
    if (names && names->n > 0) f->name = names->strs[i];
    rnn_default_fn(f);
    const bool two = rnn_is(f->name, "Affine") || rnn_is(f->name, "ScaledTanh") || rnn_is(f->name, "HardSigmoid");
    const bool one =
        two || rnn_is(f->name, "LeakyRelu") || rnn_is(f->name, "ThresholdedRelu") || rnn_is(f->name, "Elu");
    if (one && a && na < a->n) f->alpha = a->floats[na++];
    if (two && b && nb < b->n) f->beta = b->floats[nb++];
  }
  return TN_OK;
}

typedef struct rnn_run {
  tn_eval *e;
  int64_t steps, batch, input, hidden, gates;
  int directions;
  bool batch_first;
  rnn_fn fns[6];
  double *h, *c, *next; /* state of one sequence and the state that follows */
} rnn_run;

static const tn_lit *rnn_lit(const rnn_run *r, int i) { return i < r->e->n_in ? r->e->in[i] : NULL; }

/* Row `row` of a [directions, gates * hidden, n] matrix times a vector. */
static double rnn_dot(const tn_lit *w, int64_t row, int64_t n, const double *v) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += tn_lit_f64(w, row * n + i) * v[i];
  return sum;
}

/* Products with W (first) and R (second) of gate g for unit j, biases included. */
static void rnn_sums(const rnn_run *r, int d, int64_t g, int64_t j, const double *x, const double *h, double *wx,
                     double *rh) {
  const int64_t wide = r->gates * r->hidden, row = g * r->hidden + j;
  const tn_lit *b = rnn_lit(r, RNN_B);
  *wx = rnn_dot(r->e->in[RNN_W], d * wide + row, r->input, x) + (b ? tn_lit_f64(b, 2 * d * wide + row) : 0);
  *rh = rnn_dot(r->e->in[RNN_R], d * wide + row, r->hidden, h) + (b ? tn_lit_f64(b, (2 * d + 1) * wide + row) : 0);
}

static tn_status rnn_lstm_unit(rnn_run *r, int d, int64_t j, const double *x) {
  tn_eval *e = r->e;
  const rnn_fn *f = r->fns + 3 * d;
  const tn_lit *p = rnn_lit(r, RNN_P);
  double pre[4], i, o, forget, c, wx, rh;
  for (int g = 0; g < 4; g++) {
    rnn_sums(r, d, g, j, x, r->h, &wx, &rh);
    pre[g] = wx + rh;
  }
  const double peep[3] = {p ? tn_lit_f64(p, d * 3 * r->hidden + j) : 0,
                          p ? tn_lit_f64(p, (d * 3 + 1) * r->hidden + j) : 0,
                          p ? tn_lit_f64(p, (d * 3 + 2) * r->hidden + j) : 0};
  TN_TRY(rnn_call(e, &f[0], pre[0] + peep[0] * r->c[j], &i));
  TN_TRY(rnn_call(e, &f[0], pre[2] + peep[2] * r->c[j], &forget));
  if (tn_eval_int(e, "input_forget")) forget = 1 - i;
  TN_TRY(rnn_call(e, &f[1], pre[3], &c));
  r->c[j] = forget * r->c[j] + i * c;
  TN_TRY(rnn_call(e, &f[0], pre[1] + peep[1] * r->c[j], &o));
  TN_TRY(rnn_act(e, &f[2], r->c[j], &c));
  r->next[j] = o * c;
  return TN_OK;
}

/* All r gates are needed before the first candidate: unit 0 computes them. */
static tn_status rnn_gru_unit(rnn_run *r, int d, int64_t j, const double *x, double *scaled) {
  tn_eval *e = r->e;
  const rnn_fn *f = r->fns + 2 * d;
  double z, reset, cand, wx, rh;
  rnn_sums(r, d, 0, j, x, r->h, &wx, &rh);
  TN_TRY(rnn_call(e, &f[0], wx + rh, &z));
  if (tn_eval_int(e, "linear_before_reset")) {
    rnn_sums(r, d, 1, j, x, r->h, &wx, &rh);
    TN_TRY(rnn_call(e, &f[0], wx + rh, &reset));
    rnn_sums(r, d, 2, j, x, r->h, &wx, &rh);
    TN_TRY(rnn_call(e, &f[1], wx + reset * rh, &cand));
  } else {
    for (int64_t i = 0; i < r->hidden && j == 0; i++) {
      rnn_sums(r, d, 1, i, x, r->h, &wx, &rh);
      TN_TRY(rnn_call(e, &f[0], wx + rh, &reset));
      scaled[i] = reset * r->h[i];
    }
    rnn_sums(r, d, 2, j, x, scaled, &wx, &rh);
    TN_TRY(rnn_call(e, &f[1], wx + rh, &cand));
  }
  r->next[j] = (1 - z) * cand + z * r->h[j];
  return TN_OK;
}

static tn_status rnn_unit(rnn_run *r, int d, int64_t j, const double *x, double *scaled) {
  double wx, rh;
  if (r->gates == 4) return rnn_lstm_unit(r, d, j, x);
  if (r->gates == 3) return rnn_gru_unit(r, d, j, x, scaled);
  rnn_sums(r, d, 0, j, x, r->h, &wx, &rh);
  return rnn_call(r->e, &r->fns[d], wx + rh, &r->next[j]);
}

/* One sequence in one direction. */
static tn_status rnn_sequence(rnn_run *r, int d, int64_t b, tn_lit *const *out) {
  tn_eval *e = r->e;
  const tn_lit *lens = rnn_lit(r, RNN_LENS), *h0 = rnn_lit(r, RNN_H0), *c0 = rnn_lit(r, RNN_C0);
  const int64_t n = lens ? tn_lit_i64_at(lens, b) : r->steps;
  const int64_t at = (r->batch_first ? b * r->directions + d : d * r->batch + b) * r->hidden;
  const bool backward = d == 1 || tn_eval_str_is(e, "direction", "reverse");
  if (n < 0 || n > r->steps) return tn_eval_fail(e, TN_INVALID, "sequence_lens has %lld", (long long)n);
  for (int64_t j = 0; j < r->hidden; j++) {
    r->h[j] = h0 ? tn_lit_f64(h0, at + j) : 0;
    r->c[j] = c0 ? tn_lit_f64(c0, at + j) : 0;
  }
  double *x = TN_NEW_ARRAY(e->arena, double, r->input + r->hidden + 1), *scaled = x + r->input;
  for (int64_t s = 0; s < n; s++) {
    const int64_t t = backward ? n - 1 - s : s, row = r->batch_first ? b * r->steps + t : t * r->batch + b;
    for (int64_t i = 0; i < r->input; i++) x[i] = tn_lit_f64(e->in[RNN_X], row * r->input + i);
    for (int64_t j = 0; j < r->hidden; j++) TN_TRY(rnn_unit(r, d, j, x, scaled));
    const int64_t to = r->batch_first ? (b * r->steps + t) * r->directions + d : (t * r->directions + d) * r->batch + b;
    for (int64_t j = 0; j < r->hidden; j++) {
      r->h[j] = r->next[j];
      if (out[0]) tn_store_f64(out[0]->dtype, tn_lit_data(out[0]), to * r->hidden + j, r->h[j]);
    }
  }
  for (int64_t j = 0; j < r->hidden; j++) {
    if (out[1]) tn_store_f64(out[1]->dtype, tn_lit_data(out[1]), at + j, r->h[j]);
    if (out[2]) tn_store_f64(out[2]->dtype, tn_lit_data(out[2]), at + j, r->c[j]);
  }
  return TN_OK;
}

static bool rnn_fits(const rnn_run *r, int i, int64_t n) {
  const tn_lit *l = rnn_lit(r, i);
  return !l || l->count == n;
}

static tn_status rnn_eval(tn_eval *e) {
  const tn_lit *x = e->in[RNN_X], *w = e->in[RNN_W], *rr = e->in[RNN_R];
  rnn_run r = {.e = e, .gates = rnn_gates(e->node->op), .batch_first = tn_eval_int(e, "layout") != 0};
  if (x->rank != 3 || w->rank != 3 || rr->rank != 3) return tn_eval_fail(e, TN_MISMATCH, "x, w and r must have rank 3");
  r.steps = x->dims[r.batch_first];
  r.batch = x->dims[!r.batch_first];
  r.input = x->dims[2];
  r.hidden = rr->dims[2];
  r.directions = tn_eval_str_is(e, "direction", "bidirectional") ? 2 : 1;
  const int64_t cells = r.directions * r.hidden, wide = cells * r.gates;
  if (w->count != wide * r.input || rr->count != wide * r.hidden || !rnn_fits(&r, RNN_B, 2 * wide) ||
      !rnn_fits(&r, RNN_LENS, r.batch) || !rnn_fits(&r, RNN_H0, cells * r.batch) ||
      !rnn_fits(&r, RNN_C0, cells * r.batch) || !rnn_fits(&r, RNN_P, 3 * cells))
    return tn_eval_fail(e, TN_MISMATCH, "operands do not fit %lld hidden units in %d directions", (long long)r.hidden,
                        r.directions);
  TN_TRY(rnn_fns(e, r.gates == 4 ? 3 : r.gates == 3 ? 2 : 1, r.directions, r.fns));
  const int64_t d = r.directions, h = r.hidden;
  const int64_t all[2][4] = {{r.steps, d, r.batch, h}, {r.batch, r.steps, d, h}};
  const int64_t last[2][3] = {{d, r.batch, h}, {r.batch, d, h}};
  tn_lit *out[3] = {NULL, NULL, NULL};
  for (int i = 0; i < e->n_out && i < 3; i++)
    if (e->out_present[i])
      TN_TRY(tn_eval_out(e, i, x->dtype, i ? 3 : 4, i ? last[r.batch_first] : all[r.batch_first], &out[i]));
  r.h = TN_NEW_ARRAY(e->arena, double, 3 * h + 1);
  r.c = r.h + h;
  r.next = r.c + h;
  for (int i = 0; i < r.directions; i++)
    for (int64_t b = 0; b < r.batch; b++) TN_TRY(rnn_sequence(&r, i, b, out));
  return TN_OK;
}

/* output_sequence only said whether Y is wanted; "foward" was the default of the first GRU. */
static tn_status rnn_import_1(tn_import *im) {
  tn_str direction;
  tn_import_ignore(im, "output_sequence");
  TN_TRY(tn_import_str(im, "direction", "forward", &direction));
  tn_node *node = tn_import_node(im, im->row->op->name, im->in, im->n_in, im->n_out);
  const bool forward = tn_str_is(direction, "foward") || tn_str_is(direction, "forward");
  if (!forward && !tn_str_is(direction, "reverse") && !tn_str_is(direction, "bidirectional"))
    return tn_import_fail(im, TN_INVALID, "unknown direction '%.*s'", (int)(direction.len > 40 ? 40 : direction.len),
                          direction.ptr);
  tn_import_set_str(node, "direction",
                    forward                           ? "forward"
                    : tn_str_is(direction, "reverse") ? "reverse"
                                                      : "bidirectional");
  TN_TRY(tn_import_copy_attrs(im, node));
  tn_import_finish(im, node);
  return TN_OK;
}

/* clang-format off */
#define RNN_INPUTS                                                                                              \
  {"x", TN_SET_FLOATS, "T", .rank = 3}, {"w", TN_SET_FLOATS, "T", .rank = 3}, {"r", TN_SET_FLOATS, "T", .rank = 3}, \
  {"b", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL, .rank = 2},                                                        \
  {"sequence_lens", TN_SET(I32), NULL, TN_PORT_OPTIONAL, .rank = 1},                                             \
  {"initial_h", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL, .rank = 3}
/* clang-format on */
#define RNN_OUTPUTS \
  {"y", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL}, { "y_h", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL }
#define RNN_ATTRS                                                                            \
  {"activation_alpha", .kind = TN_ATTR_FLOATS}, {"activation_beta", .kind = TN_ATTR_FLOATS}, \
      {"activations", .kind = TN_ATTR_STRS}, {"clip", .kind = TN_ATTR_FLOAT},                \
      {"direction", TN_ATTR_STR, .s = "forward"}, {"hidden_size", .kind = TN_ATTR_INT}, {    \
    "layout", TN_ATTR_INT, .has_default = true                                               \
  }

TN_OP(lstm){
    .name = "lstm",
    .in = {RNN_INPUTS,
           {"initial_c", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL, .rank = 3},
           {"p", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL}},
    .out = {RNN_OUTPUTS, {"y_c", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL}},
    .attrs = {RNN_ATTRS, {"input_forget", TN_ATTR_INT, .has_default = true}},
    .type = tn_type_as_input,
    .shape = rnn_shape,
    .eval = rnn_eval,
    .kernel = "lstm",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 2e-5},
    .doc = "long short-term memory over a sequence, in one or two directions",
};
TN_ONNX(ai, LSTM, 1, 6, lstm, rnn_import_1)
TN_ONNX(ai, LSTM, 7, TN_LATEST, lstm, tn_import_same)

TN_OP(gru){
    .name = "gru",
    .in = {RNN_INPUTS},
    .out = {RNN_OUTPUTS},
    .attrs = {RNN_ATTRS, {"linear_before_reset", TN_ATTR_INT, .has_default = true}},
    .type = tn_type_as_input,
    .shape = rnn_shape,
    .eval = rnn_eval,
    .kernel = "gru",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 2e-5},
    .doc = "gated recurrent units over a sequence, in one or two directions",
};
TN_ONNX(ai, GRU, 1, 6, gru, rnn_import_1)
TN_ONNX(ai, GRU, 7, TN_LATEST, gru, tn_import_same)

TN_OP(rnn){
    .name = "rnn",
    .in = {RNN_INPUTS},
    .out = {RNN_OUTPUTS},
    .attrs = {RNN_ATTRS},
    .type = tn_type_as_input,
    .shape = rnn_shape,
    .eval = rnn_eval,
    .kernel = "rnn",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 2e-5},
    .doc = "a simple recurrent layer over a sequence, in one or two directions",
};
TN_ONNX(ai, RNN, 1, 6, rnn, rnn_import_1)
TN_ONNX(ai, RNN, 7, TN_LATEST, rnn, tn_import_same)
