/* Transpose. */
#include "ir/axis.h"
#include "op/move.h"

/* perm as given, or the axes in reverse. */
static bool transpose_perm(const tn_attr *attr, int rank, int *perm) {
  bool seen[TN_MAX_RANK] = {false};
  if (attr && attr->n != rank) return false;
  for (int i = 0; i < rank; i++) {
    const int64_t p = attr ? attr->ints[i] : rank - 1 - i;
    if (p < 0 || p >= rank || seen[p]) return false;
    seen[p] = true;
    perm[i] = (int)p;
  }
  return true;
}

static tn_status transpose_shape(tn_rule *r) {
  const tn_type *const x = r->in[0];
  const tn_attr *const attr = tn_rule_attr(r, "perm");
  int perm[TN_MAX_RANK];
  if (!tn_rule_has_rank(r, 0)) {
    if (!attr || attr->n > TN_MAX_RANK) return TN_OK;
    tn_sym *const open = tn_rule_dims(r, (int)attr->n);
    for (int i = 0; i < (int)attr->n; i++) open[i] = tn_rule_fresh(r, 0, i, 0, NULL);
    tn_rule_set(r, 0, (int)attr->n, open);
    return TN_OK;
  }
  if (!transpose_perm(attr, x->rank, perm))
    return tn_rule_fail(r, TN_INVALID, "attribute 'perm' is no permutation of %d axes", x->rank);
  tn_sym *const dims = tn_rule_dims(r, x->rank);
  for (int i = 0; i < x->rank; i++) dims[i] = x->dims[perm[i]];
  tn_rule_set(r, 0, x->rank, dims);
  return TN_OK;
}

static tn_status transpose_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  int perm[TN_MAX_RANK];
  int64_t dims[TN_MAX_RANK], strides[TN_MAX_RANK], at[TN_MAX_RANK] = {0};
  tn_lit *y;
  if (!transpose_perm(tn_eval_attr(e, "perm"), x->rank, perm))
    return tn_eval_fail(e, TN_INVALID, "attribute 'perm' is no permutation of %d axes", x->rank);
  tn_strides(x->rank, x->dims, strides);
  for (int i = 0; i < x->rank; i++) dims[i] = x->dims[perm[i]];
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    int64_t from = 0;
    for (int d = 0; d < x->rank; d++) from += at[d] * strides[perm[d]];
    tn_copy_element(y->dtype, tn_lit_data(y), i, x->data, from);
    (void)tn_op_next(x->rank, dims, at);
  }
  return TN_OK;
}

TN_OP(transpose){
    .name = "transpose",
    .in = {{"data", 0, "T"}},
    .out = {{"transposed", 0, "T"}},
    .attrs = {{"perm", TN_ATTR_INTS}},
    .type = tn_type_as_input,
    .shape = transpose_shape,
    .value = tn_op_value_move_first,
    .eval = transpose_eval,
    .kernel = "transpose",
    .axis = tn_axis_transpose,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the axes in another order; without perm reversed",
};

/* clang-format off */
TN_ONNX(ai, Transpose, 1, TN_LATEST, transpose, tn_import_same)
