/* Softmax, LogSoftmax, Hardmax: one axis since opset 13; before, all axes from `axis` on as one (`flatten`). */
#include <math.h>

#include "ir/axis.h"
#include "op/move.h"

static tn_status softmax_shape(tn_rule *r) {
  int axis;
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const int rank = r->in[0]->rank;
  const int64_t given = tn_rule_int(r, "axis");
  if (!(tn_rule_int(r, "flatten") && given == rank)) /* nothing behind it: one element each */
    TN_TRY(tn_rule_axis(r, "axis", given, rank > 0 ? rank : 1, &axis));
  return tn_shape_as_input(r);
}

typedef struct softmax_plan {
  int64_t outer, n, inner;
} softmax_plan;
static softmax_plan softmax_split(const tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const bool flatten = tn_eval_int(e, "flatten") != 0;
  int64_t axis = tn_eval_int(e, "axis");
  softmax_plan p = {1, 1, 1};
  if (axis < 0) axis += x->rank;
  for (int d = 0; d < x->rank; d++) *(d < axis ? &p.outer : (d == axis || flatten ? &p.n : &p.inner)) *= x->dims[d];
  return p;
}
typedef void (*softmax_fn)(const double *x, double *y, int64_t n);
static tn_status softmax_lines(tn_eval *e, softmax_fn fn) {
  const tn_lit *const x = e->in[0];
  const softmax_plan p = softmax_split(e);
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  if (y->count == 0) return TN_OK;
  double *const from = TN_NEW_ARRAY(e->arena, double, p.n);
  double *const to = TN_NEW_ARRAY(e->arena, double, p.n);
  for (int64_t line = 0; line < p.outer * p.inner; line++) {
    const int64_t base = line / p.inner * p.n * p.inner + line % p.inner;
    for (int64_t i = 0; i < p.n; i++) from[i] = tn_lit_f64(x, base + i * p.inner);
    fn(from, to, p.n);
    for (int64_t i = 0; i < p.n; i++) tn_store_f64(y->dtype, tn_lit_data(y), base + i * p.inner, to[i]);
  }
  return TN_OK;
}
static double softmax_max(const double *x, int64_t n) {
  double m = x[0];
  for (int64_t i = 1; i < n; i++) m = x[i] > m || isnan(x[i]) ? x[i] : m;
  return m;
}
static void softmax_exp(const double *x, double *y, int64_t n) {
  const double m = softmax_max(x, n);
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += y[i] = exp(x[i] - m);
  for (int64_t i = 0; i < n; i++) y[i] /= sum;
}
static void softmax_log(const double *x, double *y, int64_t n) {
  const double m = softmax_max(x, n);
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += exp(x[i] - m);
  for (int64_t i = 0; i < n; i++) y[i] = x[i] - m - log(sum);
}
static void softmax_hard(const double *x, double *y, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; i++)
    if (x[i] > x[best]) best = i;
  for (int64_t i = 0; i < n; i++) y[i] = i == best;
}
static tn_status softmax_eval(tn_eval *e) { return softmax_lines(e, softmax_exp); }
static tn_status log_softmax_eval(tn_eval *e) { return softmax_lines(e, softmax_log); }
static tn_status hardmax_eval(tn_eval *e) { return softmax_lines(e, softmax_hard); }

#define TN_SOFTMAX_OP(id, eval_fn, tolerance, text)                                                     \
  TN_OP(id){                                                                                            \
      .name = #id,                                                                                      \
      .in = {{"input", TN_SET_FLOATS, "T"}},                                                            \
      .out = {{"output", TN_SET_FLOATS, "T"}},                                                          \
      .attrs = {{"axis", TN_ATTR_INT, .i = -1}, {"flatten", TN_ATTR_INT, .i = 0, .has_default = true}}, \
      .type = tn_type_as_input,                                                                         \
      .shape = softmax_shape,                                                                           \
      .eval = eval_fn,                                                                                  \
      .kernel = #id,                                                                                    \
      .axis = tn_axis_except,                                                                           \
      .traits = TN_TRAIT_PURE,                                                                          \
      .accuracy = tolerance,                                                                            \
      .doc = text,                                                                                      \
  };
/* clang-format off */
#define SOFTMAX_REL {TN_ACC_REL, 2e-6}
#define SOFTMAX_EXACT {TN_ACC_EXACT, 0}
TN_SOFTMAX_OP(softmax, softmax_eval, SOFTMAX_REL, "exp(x) over the sum of exp(x) along the axis")
TN_SOFTMAX_OP(log_softmax, log_softmax_eval, SOFTMAX_REL, "the logarithm of softmax")
TN_SOFTMAX_OP(hardmax, hardmax_eval, SOFTMAX_EXACT, "1 at the first largest element along the axis, 0 elsewhere")
/* clang-format on */

static tn_status softmax_import_1(tn_import *im) {
  int64_t axis;
  TN_TRY(tn_import_int(im, "axis", 1, &axis));
  tn_node *const node = tn_import_node(im, im->row->op->name, im->in, im->n_in, im->n_out);
  tn_import_set_int(node, "axis", axis);
  tn_import_set_int(node, "flatten", 1);
  TN_TRY(tn_import_check_used(im));
  tn_import_finish(im, node);
  return TN_OK;
}

/* clang-format off */
TN_ONNX(ai, Softmax, 1, 12, softmax, softmax_import_1)
TN_ONNX(ai, Softmax, 13, TN_LATEST, softmax, tn_import_same)
TN_ONNX(ai, LogSoftmax, 1, 12, log_softmax, softmax_import_1)
TN_ONNX(ai, LogSoftmax, 13, TN_LATEST, log_softmax, tn_import_same)
TN_ONNX(ai, Hardmax, 1, 12, hardmax, softmax_import_1)
TN_ONNX(ai, Hardmax, 13, TN_LATEST, hardmax, tn_import_same)
