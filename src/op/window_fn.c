/* Window functions: HannWindow, HammingWindow, BlackmanWindow. */
#include <math.h>

#include "op/move.h"

static tn_status window_fn_type(tn_rule *r) {
  const int64_t d = tn_rule_int(r, "output_datatype");
  if (!tn_dtype_valid((int)d))
    return tn_rule_fail(r, TN_INVALID, "attribute 'output_datatype' is %lld, which is no element type", (long long)d);
  tn_rule_set_dtype(r, 0, (tn_dtype)d);
  return TN_OK;
}
static tn_status window_fn_shape(tn_rule *r) {
  int64_t n;
  tn_sym *s, dim;
  TN_TRY(tn_op_need_one(r, 0));
  if (tn_rule_ints(r, 0, &n, &s) && n == 1 && s[0]) {
    dim = s[0];
    TN_TRY(tn_rule_demand(r, tn_sym_le(r->syms, tn_sym_int(r->syms, 0), dim), "the size is %s, which is negative",
                          tn_sym_text(r->syms, dim)));
  } else {
    dim = tn_rule_fresh(r, 0, 0, 0, NULL);
  }
  tn_rule_set(r, 0, 1, &dim);
  return TN_OK;
}
/* (a0 - a1 cos(2 pi k / N) + a2 cos(4 pi k / N)) / whole, N = size, or size - 1 for a symmetric window. */
static tn_status window_fn_eval(tn_eval *e, double a0, double a1, double a2, double whole) {
  TN_TRY(tn_op_eval_need_one(e, 0));
  const int64_t n = tn_lit_i64_at(e->in[0], 0);
  if (n < 0) return tn_eval_fail(e, TN_INVALID, "the size is %lld, which is negative", (long long)n);
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), 1, &n, &y));
  const double period = (double)(tn_eval_int(e, "periodic") ? n : n - 1);
  for (int64_t i = 0; i < n; i++) {
    const double t = period > 0 ? 2 * M_PI * (double)i / period : 0;
    tn_store_f64(y->dtype, tn_lit_data(y), i, (a0 - a1 * cos(t) + a2 * cos(2 * t)) / whole);
  }
  return TN_OK;
}
static tn_status hann_eval(tn_eval *e) { return window_fn_eval(e, 1, 1, 0, 2); }
static tn_status hamming_eval(tn_eval *e) { return window_fn_eval(e, 25, 21, 0, 46); }
static tn_status blackman_eval(tn_eval *e) { return window_fn_eval(e, 21, 25, 4, 50); }

/* clang-format off */
#define TN_WINDOW_OP(id, doc_)                                                          \
  TN_OP(id){                                                                            \
      .name = #id,                                                                      \
      .in = {{"size", TN_SET(I32) | TN_SET(I64), NULL, TN_PORT_SHAPES}},                \
      .out = {{"output", TN_SET_NUMBERS}},                                              \
      .attrs = {{"output_datatype", TN_ATTR_DTYPE, .i = TN_F32}, {"periodic", TN_ATTR_INT, .i = 1}}, \
      .type = window_fn_type,                                                           \
      .shape = window_fn_shape,                                                         \
      .eval = id##_eval,                                                                \
      .kernel = #id,                                                                    \
      .traits = TN_TRAIT_PURE,                                                          \
      .accuracy = {TN_ACC_REL, 1e-6},                                                   \
      .doc = doc_,                                                                      \
  };
TN_WINDOW_OP(hann, "0.5 - 0.5 cos(2 pi k / N)")
TN_WINDOW_OP(hamming, "25/46 - 21/46 cos(2 pi k / N)")
TN_WINDOW_OP(blackman, "0.42 - 0.5 cos(2 pi k / N) + 0.08 cos(4 pi k / N)")
TN_ONNX(ai, HannWindow, 17, TN_LATEST, hann, tn_import_same)
TN_ONNX(ai, HammingWindow, 17, TN_LATEST, hamming, tn_import_same)
TN_ONNX(ai, BlackmanWindow, 17, TN_LATEST, blackman, tn_import_same)
