/* Gather, GatherElements, GatherND, and tables looked up by bytes. */
#include "ir/axis.h"
#include "op/move.h"

/* --- gather --- */

static tn_status gather_shape(tn_rule *r) {
  const tn_type *const x = r->in[0];
  const tn_type *const at = r->in[1];
  int axis;
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  if (x->rank == 0) return tn_rule_fail(r, TN_MISMATCH, "a scalar has no axis to gather along");
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), x->rank, &axis));
  TN_TRY(tn_op_indices(r, 1, x->dims[axis], axis));
  if (!tn_rule_has_rank(r, 1)) return TN_OK;
  const int rank = x->rank - 1 + at->rank;
  if (rank > TN_MAX_RANK) return tn_rule_fail(r, TN_LIMIT, "rank %d is above %d", rank, TN_MAX_RANK);
  tn_sym *const dims = tn_rule_dims(r, rank);
  int n = 0;
  for (int d = 0; d < axis; d++) dims[n++] = x->dims[d];
  for (int d = 0; d < at->rank; d++) dims[n++] = at->dims[d];
  for (int d = axis + 1; d < x->rank; d++) dims[n++] = x->dims[d];
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}
static tn_status gather_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const at = e->in[1];
  int64_t dims[2 * TN_MAX_RANK], outer = 1, inner = 1, to = 0;
  int axis, n = 0;
  tn_lit *y;
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), x->rank, &axis));
  for (int d = 0; d < axis; d++) outer *= dims[n++] = x->dims[d];
  for (int d = 0; d < at->rank; d++) dims[n++] = at->dims[d];
  for (int d = axis + 1; d < x->rank; d++) inner *= dims[n++] = x->dims[d];
  TN_TRY(tn_eval_out(e, 0, x->dtype, n, dims, &y));
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < at->count; i++) {
      int64_t index;
      TN_TRY(tn_op_eval_index(e, at, i, x->dims[axis], &index));
      for (int64_t k = 0; k < inner; k++)
        tn_copy_element(y->dtype, tn_lit_data(y), to++, x->data, (o * x->dims[axis] + index) * inner + k);
    }
  return TN_OK;
}
/* The usual case, elements of a list by constant numbers, needs no literals. */
static tn_status gather_value(tn_rule *r) {
  const tn_type *const x = r->in[0];
  int64_t n, *at;
  if (!x->content || !tn_type_has_rank(x) || x->rank != 1 || !tn_rule_const_ints(r, 1, &n, &at))
    return tn_op_value_move_first(r);
  const int64_t length = x->dims[0]->k;
  tn_elem *const out = tn_rule_elems(r, n);
  for (int64_t i = 0; i < n; i++) {
    if (at[i] < -length || at[i] >= length) return tn_op_value_move_first(r); /* which says what is wrong */
    out[i] = x->content[at[i] < 0 ? at[i] + length : at[i]];
  }
  tn_rule_set_content(r, 0, out);
  return TN_OK;
}
#define GATHER_INDEX (TN_SET(I32) | TN_SET(I64))
TN_OP(gather){
    .name = "gather",
    .in = {{"data", 0, "T"}, {"indices", GATHER_INDEX}},
    .out = {{"output", 0, "T"}},
    .attrs = {{"axis", TN_ATTR_INT, .i = 0, .has_default = true}},
    .type = tn_type_as_input,
    .shape = gather_shape,
    .value = gather_value,
    .eval = gather_eval,
    .kernel = "gather",
    .axis = tn_axis_gather,
    .traits = TN_TRAIT_PURE,
    .part = TN_PART_PICK,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the slices of an axis that the indices name",
};

/* --- table_lookup --- */

enum { LOOKUP_CODES = 256 };

static tn_status lookup_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 1, 1));
  if (tn_rule_has_rank(r, 0))
    TN_TRY(tn_rule_unify(r, r->in[0]->dims[0], tn_sym_int(r->syms, LOOKUP_CODES), "table", 0, NULL));
  return tn_rule_has_rank(r, 1) ? (tn_rule_set(r, 0, r->in[1]->rank, r->in[1]->dims), TN_OK) : TN_OK;
}
static tn_status lookup_eval(tn_eval *e) {
  const tn_lit *const table = e->in[0], *const codes = e->in[1];
  const uint8_t *const code = codes->data;
  tn_lit *y;
  if (table->count != LOOKUP_CODES) return tn_eval_fail(e, TN_MISMATCH, "a table of %lld", (long long)table->count);
  TN_TRY(tn_eval_out(e, 0, table->dtype, codes->rank, codes->dims, &y));
  for (int64_t i = 0; i < codes->count; i++) tn_copy_element(y->dtype, tn_lit_data(y), i, table->data, code[i]);
  return TN_OK;
}
static int lookup_axis(const tn_node *node, int input, int axis) {
  (void)node;
  return input == 1 && axis != TN_AXIS_WHOLE ? axis : TN_AXIS_MIXED;
}
/* The kernel counts negative bytes from the end of the table, where their bits say the same. */
TN_OP(table_lookup){
    .name = "table_lookup",
    .in = {{"table", 0, "T"}, {"codes", TN_SET(I8) | TN_SET(U8)}},
    .out = {{"output", 0, "T"}},
    .type = tn_type_as_input,
    .shape = lookup_shape,
    .eval = lookup_eval,
    .kernel = "gather",
    .axis = lookup_axis,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "for each byte the element of a table of 256 that its bits number: functions of quantised bytes",
};

/* --- gather_elements --- */

static tn_status gather_elements_shape(tn_rule *r) {
  const tn_type *const x = r->in[0];
  int axis;
  if (!tn_rule_has_rank(r, 1)) {
    if (!tn_rule_has_rank(r, 0)) return TN_OK;
    tn_sym *const dims = tn_rule_dims(r, x->rank);
    for (int d = 0; d < x->rank; d++) dims[d] = tn_rule_fresh(r, 0, d, 0, NULL);
    tn_rule_set(r, 0, x->rank, dims);
    return TN_OK;
  }
  const tn_type *const at = r->in[1];
  tn_rule_set(r, 0, at->rank, at->dims);
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  TN_TRY(tn_rule_need_rank(r, 1, x->rank, x->rank));
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), x->rank, &axis));
  return tn_op_indices(r, 1, x->dims[axis], axis);
}
static tn_status gather_elements_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const at = e->in[1];
  int64_t strides[TN_MAX_RANK], index[TN_MAX_RANK] = {0};
  int axis;
  tn_lit *y;
  if (at->rank != x->rank) return tn_eval_fail(e, TN_MISMATCH, "data and indices differ in rank");
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), x->rank, &axis));
  TN_TRY(tn_eval_out(e, 0, x->dtype, at->rank, at->dims, &y));
  tn_strides(x->rank, x->dims, strides);
  for (int64_t i = 0; i < y->count; i++) {
    int64_t from = 0;
    for (int d = 0; d < x->rank; d++) {
      int64_t place = index[d];
      if (d == axis) TN_TRY(tn_op_eval_index(e, at, i, x->dims[d], &place));
      if (place >= x->dims[d]) return tn_eval_fail(e, TN_MISMATCH, "indices are larger than the data in dim %d", d);
      from += place * strides[d];
    }
    tn_copy_element(y->dtype, tn_lit_data(y), i, x->data, from);
    (void)tn_op_next(at->rank, at->dims, index);
  }
  return TN_OK;
}
TN_OP(gather_elements){
    .name = "gather_elements",
    .in = {{"data", 0, "T"}, {"indices", GATHER_INDEX}},
    .out = {{"output", 0, "T"}},
    .attrs = {{"axis", TN_ATTR_INT, .i = 0, .has_default = true}},
    .type = tn_type_as_input,
    .shape = gather_elements_shape,
    .value = tn_op_value_move_first,
    .eval = gather_elements_eval,
    .kernel = "gather_elements",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "one element for each index, at the index's own place but for `axis`",
};

/* --- gather_nd --- */

static tn_status gather_nd_shape(tn_rule *r) {
  if (!tn_rule_has_rank(r, 0) || !tn_rule_has_rank(r, 1)) return TN_OK;
  const tn_type *const x = r->in[0];
  const tn_type *const at = r->in[1];
  const int64_t batch = tn_rule_int(r, "batch_dims");
  TN_TRY(tn_rule_need_rank(r, 0, 1, TN_MAX_RANK));
  TN_TRY(tn_rule_need_rank(r, 1, 1, TN_MAX_RANK));
  if (batch < 0 || batch >= x->rank || batch >= at->rank)
    return tn_rule_fail(r, TN_INVALID, "attribute 'batch_dims' is %lld for ranks %d and %d", (long long)batch, x->rank,
                        at->rank);
  const tn_sym tuple = at->dims[at->rank - 1];
  if (!tn_sym_is_int(tuple)) return TN_OK;
  if (tuple->k > x->rank - batch)
    return tn_rule_fail(r, TN_MISMATCH, "indices have %lld places, the data %lld axes behind the batch",
                        (long long)tuple->k, (long long)(x->rank - batch));
  tn_sym dims[2 * TN_MAX_RANK];
  int n = 0;
  for (int d = 0; d < at->rank - 1; d++) {
    dims[n++] = at->dims[d];
    if (d < batch) TN_TRY(tn_rule_unify(r, at->dims[d], x->dims[d], "the batches differ in", d, &dims[d]));
  }
  for (int d = (int)(batch + tuple->k); d < x->rank; d++) dims[n++] = x->dims[d];
  if (n > TN_MAX_RANK) return tn_rule_fail(r, TN_LIMIT, "rank %d is above %d", n, TN_MAX_RANK);
  tn_rule_set(r, 0, n, dims);
  return TN_OK;
}
static tn_status gather_nd_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const at = e->in[1];
  const int batch = (int)tn_eval_int(e, "batch_dims"), last = at->rank - 1;
  int64_t dims[2 * TN_MAX_RANK], strides[TN_MAX_RANK], groups = 1, run = 1;
  int n = 0;
  tn_lit *y;
  if (batch < 0 || last < batch || batch + at->dims[last] > x->rank)
    return tn_eval_fail(e, TN_MISMATCH, "the indices have more places than the data has axes");
  const int64_t tuple = at->dims[last];
  for (int d = 0; d < last; d++) dims[n++] = at->dims[d];
  for (int d = batch + (int)tuple; d < x->rank; d++) run *= dims[n++] = x->dims[d];
  for (int d = 0; d < batch; d++) {
    groups *= x->dims[d];
    if (x->dims[d] != at->dims[d]) return tn_eval_fail(e, TN_MISMATCH, "the batches differ in dim %d", d);
  }
  TN_TRY(tn_eval_out(e, 0, x->dtype, n, dims, &y));
  if (y->count == 0) return TN_OK;
  tn_strides(x->rank, x->dims, strides);
  const int64_t tuples = y->count / run, each = x->count / (groups > 0 ? groups : 1);
  for (int64_t i = 0; i < tuples; i++) {
    int64_t from = i / (tuples / groups) * each, place;
    for (int64_t p = 0; p < tuple; p++) {
      TN_TRY(tn_op_eval_index(e, at, i * tuple + p, x->dims[batch + p], &place));
      from += place * strides[batch + p];
    }
    for (int64_t k = 0; k < run; k++) tn_copy_element(y->dtype, tn_lit_data(y), i * run + k, x->data, from + k);
  }
  return TN_OK;
}
TN_OP(gather_nd){
    .name = "gather_nd",
    .in = {{"data", 0, "T"}, {"indices", TN_SET(I64)}},
    .out = {{"output", 0, "T"}},
    .attrs = {{"batch_dims", TN_ATTR_INT, .i = 0, .has_default = true}},
    .type = tn_type_as_input,
    .shape = gather_nd_shape,
    .value = tn_op_value_move_first,
    .eval = gather_nd_eval,
    .kernel = "gather_nd",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the slices that tuples of indices name",
};

/* clang-format off */
TN_ONNX(ai, Gather, 1, TN_LATEST, gather, tn_import_same)
TN_ONNX(ai, GatherElements, 11, TN_LATEST, gather_elements, tn_import_same)
TN_ONNX(ai, GatherND, 11, TN_LATEST, gather_nd, tn_import_same)
