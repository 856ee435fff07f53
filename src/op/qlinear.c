/* Sums and products of quantised bytes: dequantise, compute, quantise in one step. Scales and zero points are scalars.
 */
#include <math.h>

#include "ir/eval.h"
#include "ir/rules.h"

#define QLINEAR_BYTES (TN_SET(I8) | TN_SET(U8))

static double qlinear_zero(const tn_eval *e, int port) {
  return port < e->n_in && e->in[port] ? tn_lit_f64(e->in[port], 0) : 0;
}
static float qlinear_real(const tn_eval *e, int port, int64_t at) {
  return (float)(tn_lit_f64(e->in[port], at) - qlinear_zero(e, port + 2)) * (float)tn_lit_f64(e->in[port + 1], 0);
}

static tn_status qlinear_eval(tn_eval *e, bool is_product) {
  const tn_lit *const a = e->in[0], *const b = e->in[3];
  int rank;
  int64_t dims[TN_MAX_RANK];
  tn_lit *y;
  for (int i = 0; i < e->n_in; i++)
    if (i != 0 && i != 3 && e->in[i] && e->in[i]->count != 1)
      return tn_eval_fail(e, TN_MISMATCH, "operand %d has %lld elements, expected 1", i, (long long)e->in[i]->count);
  TN_TRY(tn_eval_bcast(e, a->rank, a->dims, b->rank, b->dims, &rank, dims));
  TN_TRY(tn_eval_out(e, 0, a->dtype, rank, dims, &y));
  const double lo = y->dtype == TN_I8 ? -128 : 0;
  for (int64_t i = 0; i < y->count; i++) {
    const float u = qlinear_real(e, 0, tn_bcast_index(i, rank, dims, a->rank, a->dims));
    const float v = qlinear_real(e, 3, tn_bcast_index(i, rank, dims, b->rank, b->dims));
    const float q = (is_product ? u * v : u + v) / (float)tn_lit_f64(e->in[6], 0);
    const double w = nearbyint((double)q) + qlinear_zero(e, 7);
    tn_store_i64(y->dtype, tn_lit_data(y), i, (int64_t)(w > lo ? (w < lo + 255 ? w : lo + 255) : lo));
  }
  return TN_OK;
}
static tn_status qlinear_add_eval(tn_eval *e) { return qlinear_eval(e, false); }
static tn_status qlinear_mul_eval(tn_eval *e) { return qlinear_eval(e, true); }

#define QLINEAR_ROW(id, doc_)                                                                                   \
  .name = #id,                                                                                                  \
  .in = {{"a", QLINEAR_BYTES, "T"},                                                                             \
         {"a_scale", TN_SET(F32)},                                                                              \
         {"a_zero_point", QLINEAR_BYTES, "T", TN_PORT_OPTIONAL},                                                \
         {"b", QLINEAR_BYTES, "T"},                                                                             \
         {"b_scale", TN_SET(F32)},                                                                              \
         {"b_zero_point", QLINEAR_BYTES, "T", TN_PORT_OPTIONAL},                                                \
         {"y_scale", TN_SET(F32)},                                                                              \
         {"y_zero_point", QLINEAR_BYTES, "T", TN_PORT_OPTIONAL}},                                               \
  .out = {{"y", QLINEAR_BYTES, "T"}}, .type = tn_type_by_group, .shape = tn_shape_broadcast, .eval = id##_eval, \
  .kernel = #id, .traits = TN_TRAIT_PURE, .accuracy = {TN_ACC_EXACT, 0}, .doc = doc_

TN_OP(qlinear_add){QLINEAR_ROW(qlinear_add, "sum of quantised a and b, quantised by y_scale and y_zero_point")};
TN_OP(qlinear_mul){QLINEAR_ROW(qlinear_mul, "product of quantised a and b, quantised by y_scale and y_zero_point")};
