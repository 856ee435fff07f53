/* Slice.
 *
 * Along one axis of D elements, with step k > 0, counted forward:
 *   first = start >= 0 ? start : max(start + D, 0)        last = end >= 0 ? min(end, D) : end + D
 *   length = max(0, ceil((last - first) / k))
 * A start past D or an end before 0 makes the difference negative, so those clamps need not be written. With k < 0:
 *   first = min(start >= 0 ? start : max(start + D, 0), D - 1)     last = end >= 0 ? end : max(end + D, -1)
 *   length = max(0, ceil((first - last) / -k)) */
#include "op/move.h"

enum { SLICE_FAR = INT32_MAX };

/* What exporters write for "to the end": the largest int32, or anything no dim can reach. */
static bool slice_is_far(int64_t v) { return v == SLICE_FAR || v >= INT64_MAX / 2; }
static bool slice_is_far_back(int64_t v) { return v == -(int64_t)SLICE_FAR || v == INT32_MIN || v <= -(INT64_MAX / 2); }

/* v >= 0 ? plus : minus, decided where the sign is known. */
static tn_sym slice_by_sign(tn_symtab *t, tn_sym v, tn_sym plus, tn_sym minus) {
  const tn_interval b = tn_sym_bounds(t, v);
  if (b.lo >= 0) return plus;
  if (b.hi < 0) return minus;
  return tn_sym_select(t, tn_sym_lt(t, v, tn_sym_int(t, 0)), minus, plus);
}
/* Steps of `step` that it takes to cover `span`; the step is not 0, so it cancels where it divides the span as a term.
 */
static tn_sym slice_steps(tn_symtab *t, tn_sym span, tn_sym step) {
  const tn_sym exact = tn_sym_divexact(t, span, step);
  return tn_sym_mul(t, exact, step) == span ? exact : tn_sym_ceildiv(t, span, step);
}
static tn_sym slice_forward(tn_symtab *t, tn_sym start, tn_sym end, tn_sym step, tn_sym dim) {
  const tn_sym zero = tn_sym_int(t, 0);
  const bool to_end = tn_sym_is_int(end) && slice_is_far(end->k);
  const tn_interval b = tn_sym_bounds(t, start);
  const tn_sym wrapped = tn_sym_max(t, tn_sym_add(t, start, dim), zero);
  const tn_sym last = to_end ? dim : slice_by_sign(t, end, tn_sym_min(t, end, dim), tn_sym_add(t, end, dim));
  const tn_sym plus = tn_sym_max(t, zero, slice_steps(t, tn_sym_sub(t, last, b.hi == 0 ? zero : start), step));
  if (b.lo >= 0) return plus;
  return slice_by_sign(t, start, plus, tn_sym_max(t, zero, slice_steps(t, tn_sym_sub(t, last, wrapped), step)));
}
static tn_sym slice_backward(tn_symtab *t, tn_sym start, tn_sym end, tn_sym step, tn_sym dim) {
  const tn_sym zero = tn_sym_int(t, 0), top = tn_sym_addi(t, dim, -1), below = tn_sym_int(t, -1);
  const bool from_end = tn_sym_is_int(start) && (slice_is_far(start->k) || start->k == -1);
  const bool to_start = tn_sym_is_int(end) && slice_is_far_back(end->k);
  const tn_sym wrapped = tn_sym_max(t, tn_sym_add(t, start, dim), zero);
  const tn_sym first = from_end ? top : tn_sym_min(t, slice_by_sign(t, start, start, wrapped), top);
  const tn_sym last = to_start ? below : slice_by_sign(t, end, end, tn_sym_max(t, tn_sym_add(t, end, dim), below));
  const tn_sym span = tn_sym_sub(t, first, last);
  return tn_sym_max(t, zero, slice_steps(t, span, tn_sym_neg(t, step)));
}
static tn_sym slice_length(tn_rule *r, int axis, tn_sym start, tn_sym end, tn_sym step, tn_sym dim) {
  tn_symtab *const t = r->syms;
  if (!start || !end || !step) return tn_rule_fresh(r, 0, axis, 0, dim);
  /* That the step is not 0 has been demanded. */
  const bool forward = tn_sym_bounds(t, step).lo >= 0, backward = tn_sym_bounds(t, step).hi <= 0;
  /* end + D cannot leave int64 where a sentinel is meant. */
  if (tn_sym_is_int(end) && slice_is_far_back(end->k) && forward) return tn_sym_int(t, 0);
  if (tn_sym_is_int(start) && slice_is_far_back(start->k)) start = tn_sym_int(t, 0);
  if (tn_sym_is_int(start) && slice_is_far(start->k) && forward) return tn_sym_int(t, 0);
  if (forward) return slice_forward(t, start, end, step, dim);
  if (backward) return slice_backward(t, start, end, step, dim);
  return tn_sym_select(t, tn_sym_lt(t, tn_sym_int(t, 0), step), slice_forward(t, start, end, step, dim),
                       slice_backward(t, start, end, step, dim));
}

/* Number of sliced axes; -1 when it is not known. The lists must agree. */
static tn_status slice_count(tn_rule *r, int64_t *out) {
  *out = -1;
  for (int i = 1; i < 5; i++) {
    if (!tn_rule_has(r, i)) continue;
    TN_TRY(tn_rule_need_rank(r, i, 0, 1));
    const int64_t n = tn_op_length(r, i);
    if (n < 0) continue;
    if (*out >= 0 && n != *out)
      return tn_rule_fail(r, TN_MISMATCH, "input %d has %lld elements, the lists before it %lld", i, (long long)n,
                          (long long)*out);
    *out = n;
  }
  return TN_OK;
}
static tn_status slice_known_axes(tn_rule *r, int64_t n, tn_sym *dims) {
  int64_t n_axes = n, *axes = NULL;
  const tn_type *const x = r->in[0];
  int set[TN_MAX_RANK];
  if (tn_rule_has(r, 3) && !tn_rule_const_ints(r, 3, &n_axes, &axes)) return TN_OK;
  if (n > x->rank) return tn_rule_fail(r, TN_MISMATCH, "%lld axes for rank %d", (long long)n, x->rank);
  int64_t *const all = TN_NEW_ARRAY(&r->ctx->arena, int64_t, x->rank + 1);
  for (int i = 0; i < x->rank; i++) all[i] = i;
  TN_TRY(tn_op_axis_set(r, n, axes ? axes : all, x->rank, set));
  for (int d = 0; d < x->rank; d++) {
    dims[d] = x->dims[d];
    if (set[d] < 0) continue;
    const tn_sym step = tn_rule_has(r, 4) ? tn_op_elem(r, 4, set[d]) : tn_sym_int(r->syms, 1);
    if (step)
      TN_TRY(tn_rule_demand(r, tn_sym_ne(r->syms, step, tn_sym_int(r->syms, 0)), "the step of axis %d is 0", d));
    dims[d] = slice_length(r, d, tn_op_elem(r, 1, set[d]), tn_op_elem(r, 2, set[d]), step, x->dims[d]);
  }
  return TN_OK;
}
static tn_status slice_shape(tn_rule *r) {
  int64_t n;
  TN_TRY(slice_count(r, &n));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *const x = r->in[0];
  tn_sym *const dims = tn_rule_dims(r, x->rank);
  if (n >= 0) TN_TRY(slice_known_axes(r, n, dims));
  for (int d = 0; d < x->rank; d++)
    if (!dims[d]) dims[d] = tn_rule_fresh(r, 0, d, 0, x->dims[d]);
  tn_rule_set(r, 0, x->rank, dims);
  return TN_OK;
}

static tn_status slice_window(tn_eval *e, int64_t start, int64_t end, int64_t step, int64_t dim, int64_t *first,
                              int64_t *n) {
  if (step == 0) return tn_eval_fail(e, TN_INVALID, "a step is 0");
  if (start < 0) start = start < -dim ? 0 : start + dim;
  if (slice_is_far(end) || end > dim) end = dim;
  if (end < 0) end = slice_is_far_back(end) || end < -dim ? -1 : end + dim;
  if (step > 0) {
    *first = start > dim ? dim : start;
    end = end < 0 ? 0 : end;
    *n = end > *first ? 1 + (end - *first - 1) / step : 0;
  } else {
    *first = start > dim - 1 ? dim - 1 : start;
    *n = *first > end ? 1 + (int64_t)((uint64_t)(*first - end - 1) / (0 - (uint64_t)step)) : 0;
  }
  return TN_OK;
}
static tn_status slice_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const axes = tn_op_eval_in(e, 3);
  const tn_lit *const steps = tn_op_eval_in(e, 4);
  int64_t dims[TN_MAX_RANK], first[TN_MAX_RANK] = {0}, step[TN_MAX_RANK], strides[TN_MAX_RANK], at[TN_MAX_RANK] = {0};
  tn_lit *y;
  for (int d = 0; d < x->rank; d++) {
    dims[d] = x->dims[d];
    step[d] = 1;
  }
  if (e->in[2]->count != e->in[1]->count || (axes && axes->count != e->in[1]->count) ||
      (steps && steps->count != e->in[1]->count))
    return tn_eval_fail(e, TN_MISMATCH, "starts, ends, axes and steps differ in length");
  for (int64_t i = 0; i < e->in[1]->count; i++) {
    int d;
    TN_TRY(tn_eval_axis(e, axes ? tn_lit_i64_at(axes, i) : i, x->rank, &d));
    step[d] = steps ? tn_lit_i64_at(steps, i) : 1;
    TN_TRY(slice_window(e, tn_lit_i64_at(e->in[1], i), tn_lit_i64_at(e->in[2], i), step[d], x->dims[d], &first[d],
                        &dims[d]));
  }
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, dims, &y));
  tn_strides(x->rank, x->dims, strides);
  for (int64_t i = 0; i < y->count; i++) {
    int64_t from = 0;
    for (int d = 0; d < x->rank; d++) from += (first[d] + at[d] * (dims[d] > 1 ? step[d] : 0)) * strides[d];
    tn_copy_element(y->dtype, tn_lit_data(y), i, x->data, from);
    (void)tn_op_next(x->rank, dims, at);
  }
  return TN_OK;
}

#define SLICE_INDEX (TN_SET(I32) | TN_SET(I64))
TN_OP(slice){
    .name = "slice",
    .in = {{"data", 0, "T"},
           {"starts", SLICE_INDEX, "Tind", TN_PORT_SHAPES},
           {"ends", SLICE_INDEX, "Tind", TN_PORT_SHAPES},
           {"axes", SLICE_INDEX, "Tind", TN_PORT_OPTIONAL | TN_PORT_SHAPES},
           {"steps", SLICE_INDEX, "Tind", TN_PORT_OPTIONAL | TN_PORT_SHAPES}},
    .out = {{"output", 0, "T"}},
    .type = tn_type_as_input,
    .shape = slice_shape,
    .value = tn_op_value_move_first,
    .eval = slice_eval,
    .kernel = "slice",
    .traits = TN_TRAIT_PURE,
    .part = TN_PART_CUT,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "a window along each axis, with steps; negative places count from the end",
};

/* Below opset 10 the window is given by attributes. */
static tn_status slice_import_1(tn_import *im) {
  static const char *const names[3] = {"starts", "ends", "axes"};
  tn_value *in[4] = {im->n_in > 0 ? im->in[0] : NULL, NULL, NULL, NULL};
  for (int i = 0; i < 3; i++) TN_TRY(tn_import_attr_to_input(im, names[i], i + 1, &in[i + 1]));
  tn_node *const node = tn_import_node(im, "slice", in, in[3] ? 4 : 3, im->n_out);
  TN_TRY(tn_import_check_used(im));
  tn_import_finish(im, node);
  return TN_OK;
}

/* clang-format off */
TN_ONNX(ai, Slice, 1, 9, slice, slice_import_1)
TN_ONNX(ai, Slice, 10, TN_LATEST, slice, tn_import_same)
