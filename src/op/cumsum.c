/* Running sums and products: CumSum, CumProd. ReverseSequence lives here too: both walk one axis. */
#include "op/elementwise.h"
#include "op/move.h"

/* --- cumsum, cumprod --- */

static tn_status cumsum_shape(tn_rule *r) {
  int64_t n, *axis;
  int unused;
  TN_TRY(tn_rule_need_rank(r, 1, 0, 1));
  if (tn_rule_has_rank(r, 0) && tn_rule_const_ints(r, 1, &n, &axis) && n == 1)
    TN_TRY(tn_rule_axis(r, "axis", axis[0], r->in[0]->rank, &unused));
  return tn_shape_as_input(r);
}
static tn_status cumsum_value(tn_rule *r, bool product) {
  int64_t n, n_axis, *axis64, dims[TN_MAX_RANK], inner = 1;
  tn_sym *v;
  int axis;
  if (tn_dtype_is_float(r->in[0]->dtype) || !tn_rule_ints(r, 0, &n, &v) || !tn_type_const_dims(r->in[0], dims))
    return TN_OK;
  if (!tn_rule_const_ints(r, 1, &n_axis, &axis64) || n_axis != 1) return TN_OK;
  TN_TRY(tn_rule_axis(r, "axis", axis64[0], r->in[0]->rank, &axis));
  for (int d = axis + 1; d < r->in[0]->rank; d++) inner *= dims[d];
  const bool reverse = tn_rule_int(r, "reverse") != 0, exclusive = tn_rule_int(r, "exclusive") != 0;
  tn_elem *const out = tn_rule_elems(r, n);
  const int64_t length = dims[axis];
  for (int64_t line = 0; length > 0 && line < n / length; line++) {
    tn_sym acc = tn_sym_int(r->syms, product ? 1 : 0);
    for (int64_t i = 0; i < length; i++) {
      const int64_t at = line / inner * length * inner + line % inner + (reverse ? length - 1 - i : i) * inner;
      if (exclusive && acc) out[at] = tn_elem_in_type(r, r->in[0]->dtype, tn_elem_sym(acc));
      if (acc && v[at])
        acc = product ? tn_sym_mul(r->syms, acc, v[at]) : tn_sym_add(r->syms, acc, v[at]);
      else
        acc = NULL;
      if (!exclusive && acc) out[at] = tn_elem_in_type(r, r->in[0]->dtype, tn_elem_sym(acc));
    }
  }
  tn_rule_set_content(r, 0, out);
  return TN_OK;
}
static tn_status cumsum_add_value(tn_rule *r) { return cumsum_value(r, false); }
static tn_status cumsum_mul_value(tn_rule *r) { return cumsum_value(r, true); }
static tn_status cumsum_run(tn_eval *e, bool product) {
  const tn_lit *const x = e->in[0];
  const bool reverse = tn_eval_int(e, "reverse") != 0, exclusive = tn_eval_int(e, "exclusive") != 0;
  int64_t inner = 1;
  int axis;
  tn_lit *y;
  if (e->in[1]->count != 1) return tn_eval_fail(e, TN_MISMATCH, "axis is no scalar");
  TN_TRY(tn_eval_axis(e, tn_lit_i64_at(e->in[1], 0), x->rank, &axis));
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  for (int d = axis + 1; d < x->rank; d++) inner *= x->dims[d];
  const int64_t n = x->dims[axis];
  for (int64_t line = 0; n > 0 && line < x->count / n; line++) {
    double f = product ? 1 : 0;
    uint64_t u = product ? 1 : 0;
    for (int64_t i = 0; i < n; i++) {
      const int64_t at = line / inner * n * inner + line % inner + (reverse ? n - 1 - i : i) * inner;
      const double before = f;
      const uint64_t u_before = u;
      if (tn_dtype_is_float(x->dtype)) {
        f = product ? f * tn_lit_f64(x, at) : f + tn_lit_f64(x, at);
        tn_store_f64(x->dtype, tn_lit_data(y), at, exclusive ? before : f);
      } else {
        u = product ? u * (uint64_t)tn_lit_i64_at(x, at) : u + (uint64_t)tn_lit_i64_at(x, at);
        tn_store_i64(x->dtype, tn_lit_data(y), at, (int64_t)(exclusive ? u_before : u));
      }
    }
  }
  return TN_OK;
}
static tn_status cumsum_eval(tn_eval *e) { return cumsum_run(e, false); }
static tn_status cumprod_eval(tn_eval *e) { return cumsum_run(e, true); }
#define CUMSUM_SET (TN_SET_FLOATS | TN_SET(I32) | TN_SET(I64) | TN_SET(U32) | TN_SET(U64))
#define TN_CUMSUM_OP(id, value_fn, text)                                   \
  TN_OP(id){                                                               \
      .name = #id,                                                         \
      .in = {{"x", CUMSUM_SET, "T"}, {"axis", TN_SET(I32) | TN_SET(I64)}}, \
      .out = {{"y", CUMSUM_SET, "T"}},                                     \
      .attrs = {{"exclusive", TN_ATTR_INT, .i = 0, .has_default = true},   \
                {"reverse", TN_ATTR_INT, .i = 0, .has_default = true}},    \
      .type = tn_type_as_input,                                            \
      .shape = cumsum_shape,                                               \
      .value = value_fn,                                                   \
      .eval = id##_eval,                                                   \
      .kernel = #id,                                                       \
      .traits = TN_TRAIT_PURE,                                             \
      .accuracy = {TN_ACC_REL, 1e-6},                                      \
      .doc = text,                                                         \
  };
/* clang-format off */
TN_CUMSUM_OP(cumsum, cumsum_add_value, "running sums along an axis")
TN_CUMSUM_OP(cumprod, cumsum_mul_value, "running products along an axis")
/* clang-format on */

/* --- reverse_sequence --- */

static tn_status reverse_sequence_shape(tn_rule *r) {
  int time, batch;
  TN_TRY(tn_rule_need_rank(r, 0, 2, TN_MAX_RANK));
  TN_TRY(tn_rule_need_rank(r, 1, 1, 1));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  TN_TRY(tn_rule_axis(r, "attribute 'time_axis'", tn_rule_int(r, "time_axis"), r->in[0]->rank, &time));
  TN_TRY(tn_rule_axis(r, "attribute 'batch_axis'", tn_rule_int(r, "batch_axis"), r->in[0]->rank, &batch));
  if (time == batch) return tn_rule_fail(r, TN_INVALID, "time_axis and batch_axis are both %d", time);
  if (tn_rule_has_rank(r, 1))
    TN_TRY(tn_rule_unify(r, r->in[1]->dims[0], r->in[0]->dims[batch], "the batches differ", -1, NULL));
  return tn_shape_as_input(r);
}
static tn_status reverse_sequence_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  int64_t strides[TN_MAX_RANK], at[TN_MAX_RANK] = {0};
  int time, batch;
  tn_lit *y;
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "time_axis"), x->rank, &time));
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "batch_axis"), x->rank, &batch));
  if (e->in[1]->count != x->dims[batch]) return tn_eval_fail(e, TN_MISMATCH, "one length for each batch is needed");
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  tn_strides(x->rank, x->dims, strides);
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t n = tn_lit_i64_at(e->in[1], at[batch]);
    if (n < 0 || n > x->dims[time]) return tn_eval_fail(e, TN_MISMATCH, "length %lld is out of range", (long long)n);
    const int64_t from = at[time] < n ? n - 1 - at[time] : at[time];
    tn_copy_element(x->dtype, tn_lit_data(y), i, x->data, i + (from - at[time]) * strides[time]);
    (void)tn_op_next(x->rank, x->dims, at);
  }
  return TN_OK;
}
TN_OP(reverse_sequence){
    .name = "reverse_sequence",
    .in = {{"input", 0, "T"}, {"sequence_lens", TN_SET(I64)}},
    .out = {{"y", 0, "T"}},
    .attrs = {{"time_axis", TN_ATTR_INT, .i = 0, .has_default = true}, {"batch_axis", TN_ATTR_INT, .i = 1}},
    .type = tn_type_as_input,
    .shape = reverse_sequence_shape,
    .value = tn_op_value_move_first,
    .eval = reverse_sequence_eval,
    .kernel = "reverse_sequence",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the first n elements of each batch's time axis in reverse",
};

/* clang-format off */
TN_ONNX(ai, CumSum, 11, TN_LATEST, cumsum, tn_import_same)
TN_ONNX(ai, CumProd, 26, TN_LATEST, cumprod, tn_import_same)
TN_ONNX(ai, ReverseSequence, 10, TN_LATEST, reverse_sequence, tn_import_same)
