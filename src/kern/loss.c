/* NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss. */
#include <math.h>

#include "kern/line.h"
#include "kern/move.h"
#include "kern/recast.h"
#include "kern/vmath.h"

typedef struct loss_plan {
  int64_t batch, classes, inner;
  const tn_karg *labels, *weights;
} loss_plan;

static tn_status loss_begin(tn_kcall *k, loss_plan *p) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  TN_TRY(tn_k_int_type(k, 1));
  const tn_karg *const x = k->in[0];
  *p = (loss_plan){.inner = 1, .labels = k->in[1], .weights = tn_k_in(k, 2)};
  if (!tn_dtype_is_float(x->dtype)) return tn_k_no_dtype(k, 0);
  if (x->rank < 2 || p->labels->rank != x->rank - 1)
    return tn_k_fail(k, TN_MISMATCH, "scores have rank %d, labels %d", x->rank, p->labels->rank);
  p->batch = x->dims[0];
  p->classes = x->dims[1];
  for (int d = 0; d < x->rank - 1; d++) {
    if (p->labels->dims[d] != x->dims[d ? d + 1 : 0])
      return tn_k_fail(k, TN_MISMATCH, "dim %d of the labels is %lld, the scores have %lld", d,
                       (long long)p->labels->dims[d], (long long)x->dims[d ? d + 1 : 0]);
    if (d > 0) p->inner *= x->dims[d + 1];
  }
  if (p->weights && (p->weights->dtype != x->dtype || p->weights->count != p->classes))
    return tn_k_fail(k, TN_MISMATCH, "%lld weights for %lld classes", (long long)p->weights->count,
                     (long long)p->classes);
  return TN_OK;
}
/* Losses from log-probabilities in f64, laid out as the scores. */
static tn_status loss_finish(tn_kcall *k, const loss_plan *p, const double *logs) {
  const tn_karg *const x = k->in[0]; /* holds the log-probabilities itself when `logs` is NULL */
  const bool none = tn_k_str_is(k, "reduction", "none");
  const tn_kattr *const ignore = tn_k_attr(k, "ignore_index");
  double sum = 0, total = 0;
  TN_TRY(tn_k_out(k, 0, none ? p->labels->rank : 0, p->labels->dims));
  tn_karg *const y = k->out[0];
  for (int64_t i = 0; i < p->labels->count; i++) {
    const int64_t label = tn_k_i64(p->labels, i);
    const bool skip = ignore && label == ignore->i;
    if (!skip && (label < 0 || label >= p->classes))
      return tn_k_fail(k, TN_MISMATCH, "label %lld, element %lld, is outside %lld classes", (long long)label,
                       (long long)i, (long long)p->classes);
    const double w = skip ? 0 : (p->weights ? tn_load_f64(p->weights->dtype, p->weights->data, label) : 1);
    const int64_t at = skip ? 0 : (i / p->inner * p->classes + label) * p->inner + i % p->inner;
    const double loss = skip ? 0 : -w * (logs ? logs[at] : tn_load_f64(x->dtype, x->data, at));
    sum += loss;
    total += w;
    if (none) tn_store_f64(y->dtype, y->data, i, loss);
  }
  if (!none) tn_store_f64(y->dtype, y->data, 0, tn_k_str_is(k, "reduction", "sum") ? sum : sum / total);
  return TN_OK;
}

TN_KERNEL(nll_loss, TN_K_SIZES) {
  loss_plan p;
  TN_TRY(loss_begin(k, &p));
  return loss_finish(k, &p, NULL);
}

/* Lines of f32, one after another: the sums are those of softmax. */
static void loss_log_lines(const tn_karg *x, const loss_plan *p, double *logs) {
  const tn_line_isa *const isa = tn_line_isa_get();
  for (int64_t line = 0; x->count > 0 && line < p->batch; line++) {
    const float *const from = (const float *)x->data + line * p->classes;
    const float top = isa->max(from, p->classes);
    const double shift = (double)top + log((double)isa->fold[TN_LINE_EXP](from, p->classes, top));
    for (int64_t c = 0; c < p->classes; c++) logs[line * p->classes + c] = (double)from[c] - shift;
  }
}
static void loss_log_softmax(const tn_karg *x, const loss_plan *p, double *logs) {
  if (x->dtype == TN_F32 && p->inner == 1) {
    loss_log_lines(x, p, logs);
    return;
  }
  if (x->count > 0) (void)!tn_recast(TN_F64, logs, x->dtype, x->data, x->count, false);
  for (int64_t line = 0; x->count > 0 && line < p->batch * p->inner; line++) {
    double *const at = logs + line / p->inner * p->classes * p->inner + line % p->inner;
    double top = at[0], sum = 0;
    for (int64_t c = 1; c < p->classes; c++) top = at[c * p->inner] > top ? at[c * p->inner] : top;
    for (int64_t c = 0; c < p->classes; c++) sum += tn_exp(at[c * p->inner] - top);
    const double shift = top + log(sum);
    for (int64_t c = 0; c < p->classes; c++) at[c * p->inner] -= shift;
  }
}
TN_KERNEL(softmax_cross_entropy_loss, TN_K_SIZES) {
  loss_plan p;
  void *logs;
  TN_TRY(loss_begin(k, &p));
  const tn_karg *const x = k->in[0];
  TN_TRY(tn_k_out_type(k, 1, x->dtype));
  TN_TRY(tn_k_room(k, x->count, sizeof(double), &logs));
  loss_log_softmax(x, &p, logs);
  TN_TRY(tn_k_out(k, 1, x->rank, x->dims));
  tn_karg *const log_prob = tn_k_outp(k, 1);
  if (log_prob && x->count > 0) (void)!tn_recast(x->dtype, log_prob->data, TN_F64, logs, x->count, false);
  return loss_finish(k, &p, logs);
}
