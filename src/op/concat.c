/* Concat and Split. */
#include "ir/axis.h"
#include "op/move.h"

/* --- concat --- */

/* The rank all inputs agree on; -1 when none is known. */
static tn_status concat_rank(tn_rule *r, int *out) {
  int first = -1;
  *out = -1;
  for (int i = 0; i < r->n_in; i++) {
    if (!tn_rule_has_rank(r, i)) continue;
    if (first >= 0 && r->in[i]->rank != *out)
      return tn_rule_fail(r, TN_MISMATCH, "inputs %d and %d have ranks %d and %d", first, i, *out, r->in[i]->rank);
    if (first < 0) first = i;
    *out = r->in[i]->rank;
  }
  return TN_OK;
}
static tn_sym concat_axis_dim(tn_rule *r, int axis) {
  tn_sym *const parts = tn_rule_dims(r, r->n_in);
  for (int i = 0; i < r->n_in; i++) {
    if (!tn_rule_has_rank(r, i)) return tn_rule_fresh(r, 0, axis, 0, NULL);
    parts[i] = r->in[i]->dims[axis];
  }
  return tn_sym_sum(r->syms, parts, (size_t)r->n_in);
}
static tn_status concat_other_dim(tn_rule *r, int d, tn_sym *out) {
  *out = NULL;
  for (int i = 0; i < r->n_in; i++) {
    if (!tn_rule_has_rank(r, i)) continue;
    const tn_sym dim = r->in[i]->dims[d];
    if (*out)
      TN_TRY(tn_rule_unify(r, *out, dim, "inputs differ in", d, out));
    else
      *out = dim;
  }
  return TN_OK;
}
static tn_status concat_shape(tn_rule *r) {
  int rank, axis;
  TN_TRY(concat_rank(r, &rank));
  if (rank < 0) return TN_OK;
  if (rank == 0) return tn_rule_fail(r, TN_MISMATCH, "scalars cannot be joined");
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), rank, &axis));
  tn_sym *const dims = tn_rule_dims(r, rank);
  for (int d = 0; d < rank; d++)
    if (d != axis) TN_TRY(concat_other_dim(r, d, &dims[d]));
  dims[axis] = concat_axis_dim(r, axis);
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}
/* Knowing some of the parts is enough, so this does not go through the oracle. */
static tn_status concat_value(tn_rule *r) {
  int64_t dims[TN_MAX_RANK], part[TN_MAX_RANK], n, inner = 1, base = 0;
  int axis;
  if (!tn_type_const_dims(&r->out[0], dims) || !tn_dims_count(dims, r->out[0].rank, &n) || n > TN_MAX_CONTENT)
    return TN_OK;
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), r->out[0].rank, &axis));
  for (int d = axis + 1; d < r->out[0].rank; d++) inner *= dims[d];
  tn_elem *const out = tn_rule_elems(r, n);
  const int64_t row = dims[axis] * inner;
  bool any = n == 0;
  for (int i = 0; i < r->n_in; i++) {
    if (!tn_rule_has_rank(r, i) || !tn_type_const_dims(r->in[i], part)) return TN_OK;
    const int64_t run = part[axis] * inner;
    for (int64_t k = 0; r->in[i]->content && run > 0 && k < n / row * run; k++) {
      out[k / run * row + base + k % run] = r->in[i]->content[k];
      any = true;
    }
    base += run;
  }
  if (any) tn_rule_set_content(r, 0, out);
  return TN_OK;
}
static tn_status concat_eval(tn_eval *e) {
  int64_t dims[TN_MAX_RANK], inner = 1, outer = 1, base = 0;
  int axis;
  tn_lit *y;
  const tn_lit *const first = e->in[0];
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), first->rank, &axis));
  for (int d = 0; d < first->rank; d++) dims[d] = d == axis ? 0 : first->dims[d];
  for (int i = 0; i < e->n_in; i++) {
    if (e->in[i]->rank != first->rank) return tn_eval_fail(e, TN_MISMATCH, "inputs 0 and %d differ in rank", i);
    for (int d = 0; d < first->rank; d++)
      if (d != axis && e->in[i]->dims[d] != dims[d])
        return tn_eval_fail(e, TN_MISMATCH, "inputs 0 and %d differ in dim %d", i, d);
    if (!tn_add_i64(dims[axis], e->in[i]->dims[axis], &dims[axis]))
      return tn_eval_fail(e, TN_LIMIT, "too many elements");
  }
  TN_TRY(tn_eval_out(e, 0, first->dtype, first->rank, dims, &y));
  for (int d = 0; d < first->rank; d++) *(d < axis ? &outer : &inner) *= d == axis ? 1 : dims[d];
  for (int i = 0; i < e->n_in; i++) {
    const int64_t run = e->in[i]->dims[axis] * inner;
    for (int64_t o = 0; o < outer; o++)
      for (int64_t k = 0; k < run; k++)
        tn_copy_element(y->dtype, tn_lit_data(y), o * dims[axis] * inner + base + k, e->in[i]->data, o * run + k);
    base += run;
  }
  return TN_OK;
}
TN_OP(concat){
    .name = "concat",
    .in = {{"inputs", 0, "T", TN_PORT_VARIADIC}},
    .out = {{"concat_result", 0, "T"}},
    .attrs = {{"axis", TN_ATTR_INT, .required = true}},
    .type = tn_type_as_input,
    .shape = concat_shape,
    .value = concat_value,
    .eval = concat_eval,
    .kernel = "concat",
    .axis = tn_axis_except,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the inputs one after another along an axis",
};

/* Opset 1 has a default axis. */
static tn_status concat_import_1(tn_import *im) {
  int64_t axis;
  TN_TRY(tn_import_int(im, "axis", 1, &axis));
  tn_node *const node = tn_import_node(im, "concat", im->in, im->n_in, im->n_out);
  tn_import_set_int(node, "axis", axis);
  TN_TRY(tn_import_check_used(im));
  tn_import_finish(im, node);
  return TN_OK;
}

/* --- split --- */

/* Equal parts; with num_outputs the last one may be smaller. */
static tn_status split_even(tn_rule *r, tn_sym dim, tn_sym *parts) {
  tn_symtab *const t = r->syms;
  const tn_sym n = tn_sym_int(t, r->n_out);
  const tn_attr *const count = tn_rule_attr(r, "num_outputs");
  if (count && count->i != r->n_out)
    return tn_rule_fail(r, TN_INVALID, "attribute 'num_outputs' is %lld, but there are %d outputs", (long long)count->i,
                        r->n_out);
  if (!count)
    TN_TRY(tn_rule_demand(r, tn_sym_eq(t, tn_sym_mod(t, dim, n), tn_sym_int(t, 0)),
                          "dim %s does not split into %d equal parts", tn_sym_text(t, dim), r->n_out));
  const tn_sym part = count ? tn_sym_ceildiv(t, dim, n) : tn_sym_divexact(t, dim, n);
  for (int i = 0; i < r->n_out; i++) parts[i] = part;
  if (count) parts[r->n_out - 1] = tn_sym_sub(t, dim, tn_sym_muli(t, part, r->n_out - 1));
  return count ? tn_op_at_least(r, parts[r->n_out - 1], 0, "the size of the last part") : TN_OK;
}
static tn_status split_given(tn_rule *r, int axis, tn_sym dim, tn_sym *parts) {
  const int64_t n = tn_op_length(r, 1);
  bool open = false;
  if (n >= 0 && n != r->n_out) return tn_rule_fail(r, TN_MISMATCH, "%lld sizes for %d outputs", (long long)n, r->n_out);
  for (int i = 0; i < r->n_out; i++) {
    parts[i] = tn_op_elem(r, 1, i);
    if (!parts[i]) {
      parts[i] = tn_rule_fresh(r, i, axis, 0, dim);
      open = true;
    } else {
      TN_TRY(tn_op_at_least(r, parts[i], 0, "the size of a part"));
    }
  }
  if (open) return TN_OK;
  const tn_sym sum = tn_sym_sum(r->syms, parts, (size_t)r->n_out);
  return tn_rule_demand(r, tn_sym_eq(r->syms, sum, dim), "the parts have %s elements along axis %d, the input has %s",
                        tn_sym_text(r->syms, sum), axis, tn_sym_text(r->syms, dim));
}
static tn_status split_shape(tn_rule *r) {
  int axis;
  if (!tn_rule_has_rank(r, 0) || r->n_out == 0) return TN_OK;
  const tn_type *const x = r->in[0];
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), x->rank, &axis));
  tn_sym *const parts = tn_rule_dims(r, r->n_out);
  tn_sym *const dims = tn_rule_dims(r, x->rank);
  if (tn_rule_has(r, 1))
    TN_TRY(split_given(r, axis, x->dims[axis], parts));
  else
    TN_TRY(split_even(r, x->dims[axis], parts));
  for (int i = 0; i < r->n_out; i++) {
    for (int d = 0; d < x->rank; d++) dims[d] = d == axis ? parts[i] : x->dims[d];
    tn_rule_set(r, i, x->rank, dims);
  }
  return TN_OK;
}
static tn_status split_sizes(tn_eval *e, int64_t dim, int64_t *parts) {
  const tn_lit *const given = tn_op_eval_in(e, 1);
  int64_t left = dim;
  const int64_t even = (dim + e->n_out - 1) / e->n_out;
  if (given && given->count != e->n_out) return tn_eval_fail(e, TN_MISMATCH, "sizes and outputs differ in number");
  if (!given && !tn_eval_attr(e, "num_outputs") && dim % e->n_out)
    return tn_eval_fail(e, TN_MISMATCH, "%lld does not split into %d equal parts", (long long)dim, e->n_out);
  for (int i = 0; i < e->n_out; i++) {
    parts[i] = given ? tn_lit_i64_at(given, i) : (i < e->n_out - 1 ? even : left);
    if (parts[i] < 0 || parts[i] > left)
      return tn_eval_fail(e, TN_MISMATCH, "part %d has %lld elements, %lld are left", i, (long long)parts[i],
                          (long long)left);
    left -= parts[i];
  }
  return left ? tn_eval_fail(e, TN_MISMATCH, "%lld elements are in no part", (long long)left) : TN_OK;
}
static tn_status split_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  int64_t dims[TN_MAX_RANK], inner = 1, outer = 1, base = 0;
  int axis;
  if (e->n_out == 0) return TN_OK;
  int64_t *const parts = TN_NEW_ARRAY(e->arena, int64_t, e->n_out);
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), x->rank, &axis));
  TN_TRY(split_sizes(e, x->dims[axis], parts));
  for (int d = 0; d < x->rank; d++) *(d < axis ? &outer : &inner) *= d == axis ? 1 : x->dims[d];
  for (int i = 0; i < e->n_out; i++) {
    tn_lit *y;
    for (int d = 0; d < x->rank; d++) dims[d] = d == axis ? parts[i] : x->dims[d];
    TN_TRY(tn_eval_out(e, i, x->dtype, x->rank, dims, &y));
    const int64_t run = parts[i] * inner;
    for (int64_t o = 0; o < outer; o++)
      for (int64_t k = 0; k < run; k++)
        tn_copy_element(y->dtype, tn_lit_data(y), o * run + k, x->data, o * x->dims[axis] * inner + base + k);
    base += run;
  }
  return TN_OK;
}
TN_OP(split){
    .name = "split",
    .in = {{"input", 0, "T"}, {"split", TN_SET(I64), NULL, TN_PORT_OPTIONAL | TN_PORT_SHAPES}},
    .out = {{"outputs", 0, "T", TN_PORT_VARIADIC}},
    .attrs = {{"axis", TN_ATTR_INT, .i = 0, .has_default = true}, {"num_outputs", TN_ATTR_INT}},
    .type = tn_type_as_input,
    .shape = split_shape,
    .value = tn_op_value_move_first,
    .eval = split_eval,
    .kernel = "split",
    .axis = tn_axis_except,
    .traits = TN_TRAIT_PURE,
    .part = TN_PART_SPLIT,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "parts along an axis: of the given sizes, or equal",
};

/* Below opset 13 the sizes are an attribute. In opset 1 an input could hold them, as floats. */
static tn_status split_import_1(tn_import *im) {
  tn_value *in[2] = {im->n_in > 0 ? im->in[0] : NULL, im->n_in > 1 ? im->in[1] : NULL};
  if (in[1] && im->version < 2) {
    tn_node *const cast = tn_import_node(im, "cast", &in[1], 1, 1);
    tn_import_set_int(cast, "to", TN_I64);
    in[1] = cast->out[0];
  } else {
    TN_TRY(tn_import_attr_to_input(im, "split", 1, &in[1]));
  }
  tn_node *const node = tn_import_node(im, "split", in, in[1] ? 2 : 1, im->n_out);
  TN_TRY(tn_import_copy_attrs(im, node));
  TN_TRY(tn_import_check_used(im));
  tn_import_finish(im, node);
  return TN_OK;
}

/* clang-format off */
TN_ONNX(ai, Concat, 1, 3, concat, concat_import_1)
TN_ONNX(ai, Concat, 4, TN_LATEST, concat, tn_import_same)
TN_ONNX(ai, Split, 1, 12, split, split_import_1)
TN_ONNX(ai, Split, 13, TN_LATEST, split, tn_import_same)
