/* Losses of a classification: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss. */
#include <math.h>

#include "op/move.h"

/* scores [N, C, d1, ..., dk], labels [N, d1, ..., dk], weights [C]; output 0: labels' shape, or a scalar. */
static tn_status loss_shape(tn_rule *r) {
  const bool none = tn_rule_str_is(r, "reduction", "none");
  if (!none && !tn_rule_str_is(r, "reduction", "mean") && !tn_rule_str_is(r, "reduction", "sum"))
    return tn_rule_fail(r, TN_INVALID, "attribute 'reduction' is none of none, mean, sum");
  TN_TRY(tn_rule_need_rank(r, 0, 2, TN_MAX_RANK));
  TN_TRY(tn_rule_need_rank(r, 2, 1, 1));
  if (tn_rule_has_rank(r, 0)) {
    const tn_type *const x = r->in[0];
    tn_sym *const dims = tn_rule_dims(r, x->rank - 1);
    TN_TRY(tn_rule_need_rank(r, 1, x->rank - 1, x->rank - 1));
    for (int d = 0; d < x->rank - 1; d++) {
      dims[d] = x->dims[d ? d + 1 : 0];
      if (tn_rule_has_rank(r, 1))
        TN_TRY(tn_rule_unify(r, dims[d], r->in[1]->dims[d], "scores and labels differ in", d, &dims[d]));
    }
    if (tn_rule_has_rank(r, 2))
      TN_TRY(tn_rule_unify(r, x->dims[1], r->in[2]->dims[0], "classes and weights differ", -1, NULL));
    if (none) tn_rule_set(r, 0, x->rank - 1, dims);
    if (r->n_out > 1) tn_rule_set(r, 1, x->rank, x->dims);
  } else if (none && tn_rule_has_rank(r, 1)) {
    tn_rule_set(r, 0, r->in[1]->rank, r->in[1]->dims);
  }
  return none ? TN_OK : tn_shape_scalar(r);
}

typedef struct loss_sizes {
  int64_t batch, classes, inner;
} loss_sizes;
static tn_status loss_measure(tn_eval *e, loss_sizes *s) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const weights = tn_op_eval_in(e, 2);
  if (x->rank < 2 || e->in[1]->rank != x->rank - 1) return tn_eval_fail(e, TN_MISMATCH, "scores and labels do not fit");
  *s = (loss_sizes){x->dims[0], x->dims[1], 1};
  for (int d = 2; d < x->rank; d++) s->inner *= x->dims[d];
  if (e->in[1]->count != s->batch * s->inner) return tn_eval_fail(e, TN_MISMATCH, "scores and labels do not fit");
  if (weights && weights->count != s->classes)
    return tn_eval_fail(e, TN_MISMATCH, "one weight for each class is needed");
  return TN_OK;
}
/* logs: the log-probabilities, laid out as the scores. */
static tn_status loss_reduce(tn_eval *e, const loss_sizes *s, const double *logs) {
  const tn_lit *const labels = e->in[1];
  const tn_lit *const weights = tn_op_eval_in(e, 2);
  const tn_attr *const ignore = tn_eval_attr(e, "ignore_index");
  const bool none = tn_eval_str_is(e, "reduction", "none");
  double sum = 0, total = 0;
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, e->in[0]->dtype, none ? labels->rank : 0, labels->dims, &y));
  for (int64_t i = 0; i < labels->count; i++) {
    const int64_t label = tn_lit_i64_at(labels, i);
    double loss = 0;
    if (!ignore || label != ignore->i) {
      if (label < 0 || label >= s->classes)
        return tn_eval_fail(e, TN_MISMATCH, "label %lld, there are %lld classes", (long long)label,
                            (long long)s->classes);
      const double w = weights ? tn_lit_f64(weights, label) : 1;
      loss = -w * logs[(i / s->inner * s->classes + label) * s->inner + i % s->inner];
      total += w;
    }
    sum += loss;
    if (none) tn_store_f64(y->dtype, tn_lit_data(y), i, loss);
  }
  if (!none) tn_store_f64(y->dtype, tn_lit_data(y), 0, tn_eval_str_is(e, "reduction", "mean") ? sum / total : sum);
  return TN_OK;
}

static tn_status nll_loss_eval(tn_eval *e) {
  loss_sizes s;
  TN_TRY(loss_measure(e, &s));
  double *const logs = TN_NEW_ARRAY(e->arena, double, e->in[0]->count + 1);
  for (int64_t i = 0; i < e->in[0]->count; i++) logs[i] = tn_lit_f64(e->in[0], i);
  return loss_reduce(e, &s, logs);
}
static tn_status softmax_cross_entropy_loss_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  loss_sizes s;
  TN_TRY(loss_measure(e, &s));
  double *const logs = TN_NEW_ARRAY(e->arena, double, x->count + 1);
  for (int64_t line = 0; x->count > 0 && line < s.batch * s.inner; line++) {
    const int64_t base = line / s.inner * s.classes * s.inner + line % s.inner;
    double top = -HUGE_VAL, sum = 0;
    for (int64_t c = 0; c < s.classes; c++) top = fmax(top, tn_lit_f64(x, base + c * s.inner));
    for (int64_t c = 0; c < s.classes; c++) sum += exp(tn_lit_f64(x, base + c * s.inner) - top);
    for (int64_t c = 0; c < s.classes; c++)
      logs[base + c * s.inner] = tn_lit_f64(x, base + c * s.inner) - top - log(sum);
  }
  if (e->n_out > 1 && e->out_present[1]) {
    tn_lit *log_prob;
    TN_TRY(tn_eval_out(e, 1, x->dtype, x->rank, x->dims, &log_prob));
    for (int64_t i = 0; i < x->count; i++) tn_store_f64(x->dtype, tn_lit_data(log_prob), i, logs[i]);
  }
  return loss_reduce(e, &s, logs);
}

#define LOSS_LABELS (TN_SET(I32) | TN_SET(I64))
TN_OP(nll_loss){
    .name = "nll_loss",
    .in = {{"input", TN_SET_FLOATS, "T"}, {"target", LOSS_LABELS}, {"weight", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL}},
    .out = {{"loss", TN_SET_FLOATS, "T"}},
    .attrs = {{"ignore_index", TN_ATTR_INT}, {"reduction", TN_ATTR_STR, .s = "mean"}},
    .type = tn_type_as_input,
    .shape = loss_shape,
    .eval = nll_loss_eval,
    .kernel = "nll_loss",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "minus the log-probability of each label, weighted by class",
};
TN_OP(softmax_cross_entropy_loss){
    .name = "softmax_cross_entropy_loss",
    .in = {{"scores", TN_SET_FLOATS, "T"}, {"labels", LOSS_LABELS}, {"weights", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL}},
    .out = {{"output", TN_SET_FLOATS, "T"}, {"log_prob", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL}},
    .attrs = {{"ignore_index", TN_ATTR_INT}, {"reduction", TN_ATTR_STR, .s = "mean"}},
    .type = tn_type_as_input,
    .shape = loss_shape,
    .eval = softmax_cross_entropy_loss_eval,
    .kernel = "softmax_cross_entropy_loss",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "nll_loss of the log-softmax of scores",
};

/* clang-format off */
TN_ONNX(ai, NegativeLogLikelihoodLoss, 12, TN_LATEST, nll_loss, tn_import_same)
TN_ONNX(ai, SoftmaxCrossEntropyLoss, 12, TN_LATEST, softmax_cross_entropy_loss, tn_import_same)
