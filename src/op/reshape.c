/* Operators that give the same elements other dims: Reshape, Flatten, Squeeze, Unsqueeze. */
#include "ir/eval.h"
#include "ir/import.h"
#include "ir/ledger.h"
#include "ir/rules.h"

static tn_status reshape_copy(tn_eval *e, int rank, const int64_t *dims) {
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, e->in[0]->dtype, rank, dims, &y));
  if (y->count != e->in[0]->count)
    return tn_eval_fail(e, TN_MISMATCH, "%lld elements do not fill the new shape", (long long)e->in[0]->count);
  if (y->bytes) memcpy(tn_lit_data(y), e->in[0]->data, y->bytes);
  return TN_OK;
}

/* --- reshape --- */

/* A size that turns out to be 0 would be read as a copied dim, which is hardly ever meant: all is well where that dim
 * is 0 too, as one is of which the size is a factor, or which is a factor of the size while the others are not 0. */
static tn_status reshape_demand_size(tn_rule *r, tn_sym e, int i) {
  tn_symtab *const t = r->syms;
  const tn_type *const x = r->in[0];
  const tn_sym size = tn_sym_le(t, tn_sym_int(t, 1), e);
  if (i >= x->rank)
    return tn_rule_demand(r, size, "target dim %d, %s, would be 0: a copy of a dim that is not there", i,
                          tn_sym_text(t, e));
  if (tn_sym_divexact(t, x->dims[i], e)->kind != TN_SYM_FLOORDIV) return TN_OK;
  const tn_sym times = tn_sym_divexact(t, e, x->dims[i]);
  if (times->kind != TN_SYM_FLOORDIV && tn_rule_is_positive(r, times)) return TN_OK;
  return tn_rule_demand(r, tn_sym_or(t, size, tn_sym_eq(t, x->dims[i], tn_sym_int(t, 0))),
                        "target dim %d, %s, would be 0: a copy of the dim %s", i, tn_sym_text(t, e),
                        tn_sym_text(t, x->dims[i]));
}

/* The lower bound of e, up to 1, as far as the checks so far tell: the dims of a convolution, say, are not negative. */
static int64_t reshape_least(const tn_rule *r, tn_sym e) {
  tn_symtab *const t = r->syms;
  const int64_t lo = tn_sym_bounds(t, e).lo;
  if (lo > 0 || tn_sym_is_int(e)) return lo;
  if (tn_rule_is_positive(r, e)) return 1;
  return lo < 0 && tn_ledger_implies(r->graph, tn_sym_le(t, tn_sym_int(t, 0), e)) ? 0 : lo;
}

/* What element e of the target says about dim i: itself, 0 = the input's dim, NULL = unknown. -1 stays -1. */
static tn_status reshape_entry(tn_rule *r, tn_sym e, int i, tn_sym *out) {
  tn_symtab *const t = r->syms;
  const tn_type *const x = r->in[0];
  *out = e;
  if (!e || tn_rule_int(r, "allowzero")) return TN_OK;
  const int64_t least = reshape_least(r, e);
  if (least > 0 || tn_sym_bounds(t, e).hi < 0) return TN_OK;
  if (tn_sym_is(e, 0)) {
    if (x->rank >= 0 && i >= x->rank)
      return tn_rule_fail(r, TN_INVALID, "target dim %d is 0, but the input has rank %d", i, x->rank);
    *out = x->rank >= 0 ? x->dims[i] : NULL;
  } else if (x->rank > i && x->dims[i] != e && least < 0) {
    *out = tn_sym_select(t, tn_sym_eq(t, e, tn_sym_int(t, 0)), x->dims[i], e);
  } else if (x->rank >= 0 && i >= x->rank && least < 0) {
    return tn_rule_demand(r, tn_sym_ne(t, e, tn_sym_int(t, 0)),
                          "target dim %d, %s, would be 0: a copy of a dim that is not there", i, tn_sym_text(t, e));
  } else if (least == 0 && (i >= x->rank || x->dims[i] != e)) {
    return reshape_demand_size(r, e, i);
  }
  return TN_OK;
}

/* What -1 stands for where another dim is 0 is not told by the number of elements. */
static tn_status reshape_demand_others(tn_rule *r, int n, const tn_sym *dims, int rest) {
  for (int i = 0; i < n; i++)
    if (i != rest)
      TN_TRY(tn_rule_demand(r, tn_sym_le(r->syms, tn_sym_int(r->syms, 1), dims[i]),
                            "target dim %d is -1, which nothing tells when dim %d, %s, is 0", rest, i,
                            tn_sym_text(r->syms, dims[i])));
  return TN_OK;
}

/* Elements that a run-time input gives may turn out to be -1. */
static tn_status reshape_maybe_rest(tn_rule *r, int n, const tn_sym *entries, tn_sym *dims, tn_sym total) {
  tn_symtab *const t = r->syms;
  const tn_sym zero = tn_sym_int(t, 0), one = tn_sym_int(t, 1), minus = tn_sym_int(t, -1);
  tn_sym others = one, rests = zero;
  for (int i = 0; i < n; i++) {
    const tn_sym is_rest = tn_sym_eq(t, entries[i], minus);
    TN_TRY(tn_rule_demand(r, tn_sym_le(t, minus, entries[i]), "target dim %d is %s", i, tn_sym_text(t, entries[i])));
    rests = tn_sym_add(t, rests, is_rest);
    others = tn_sym_mul(t, others, tn_sym_select(t, is_rest, one, dims[i]));
  }
  TN_TRY(tn_rule_demand(r, tn_sym_le(t, rests, one), "more than one target dim is -1"));
  TN_TRY(tn_rule_demand(r, tn_sym_or(t, tn_sym_eq(t, rests, zero), tn_sym_ne(t, others, zero)),
                        "a target dim is -1, which nothing tells when another is 0"));
  for (int i = 0; i < n; i++)
    dims[i] = tn_sym_select(t, tn_sym_eq(t, entries[i], minus), tn_sym_divexact(t, total, others), dims[i]);
  return TN_OK;
}

/* What -1 stands for. The checks so far may say that an earlier division of the same elements left no rest. */
static tn_sym reshape_rest(tn_rule *r, tn_sym total, tn_sym others) {
  tn_symtab *const t = r->syms;
  const tn_sym plain = tn_sym_divexact(t, total, others), shorter = tn_ledger_shorter(r->graph, total);
  if (shorter == total) return plain;
  const tn_sym exact = tn_sym_divexact(t, shorter, others);
  if (tn_sym_mul(t, exact, others) != shorter) return plain;
  return tn_sym_mul(t, plain, others) != total || exact->size < plain->size ? exact : plain;
}

/* Where a dim is not known, one that may be -1 is not either. */
static void reshape_unclear(tn_rule *r, int n, tn_sym *dims, int rest) {
  for (int i = 0; i < n && rest < 0; i++)
    if (dims[i] && reshape_least(r, dims[i]) < 0) dims[i] = NULL;
}

static tn_status reshape_known(tn_rule *r, int n, const tn_sym *entries) {
  tn_symtab *const t = r->syms;
  tn_sym *const dims = tn_rule_dims(r, n);
  tn_sym others = tn_sym_int(t, 1);
  int rest = -1, unknown = 0;
  bool maybe = false;
  for (int i = 0; i < n; i++) {
    TN_TRY(reshape_entry(r, entries[i], i, &dims[i]));
    if (!dims[i]) {
      unknown++;
    } else if (tn_sym_is(dims[i], -1)) {
      if (rest >= 0) return tn_rule_fail(r, TN_INVALID, "target dims %d and %d are both -1", rest, i);
      rest = i;
    } else if (tn_sym_bounds(t, dims[i]).hi < -1) {
      return tn_rule_fail(r, TN_INVALID, "target dim %d is %s", i, tn_sym_text(t, dims[i]));
    } else {
      maybe = maybe || reshape_least(r, dims[i]) < 0;
      others = tn_sym_mul(t, others, dims[i]);
    }
  }
  const tn_type *const x = r->in[0];
  const tn_sym total = x->rank >= 0 ? tn_type_count(t, x) : NULL;
  if (maybe && total && !unknown && rest < 0) {
    TN_TRY(reshape_maybe_rest(r, n, entries, dims, total));
  } else if (maybe) {
    reshape_unclear(r, n, dims, rest);
    unknown += rest < 0;
  }
  if (rest >= 0 && !unknown) TN_TRY(reshape_demand_others(r, n, dims, rest));
  if (rest >= 0) dims[rest] = total && !unknown ? reshape_rest(r, total, others) : NULL;
  tn_sym count = tn_sym_int(t, 1);
  for (int i = 0; i < n; i++) {
    if (!dims[i]) dims[i] = tn_rule_fresh(r, 0, i, 0, NULL);
    count = tn_sym_mul(t, count, dims[i]);
  }
  tn_rule_set(r, 0, n, dims);
  if (!total || unknown) return TN_OK;
  const tn_sym fits = tn_sym_eq(t, count, total);
  if (tn_sym_is(fits, 1)) return TN_OK;
  if (maybe) return tn_rule_demand(r, fits, "cannot reshape %s elements to the target given", tn_sym_text(t, total));
  return tn_rule_demand(r, fits, "cannot reshape %s elements to %s", tn_sym_text(t, total), tn_sym_text(t, count));
}

static tn_status reshape_shape(tn_rule *r) {
  int64_t n = 0;
  tn_sym *entries;
  if (tn_rule_ints(r, 1, &n, &entries)) {
    if (n > TN_MAX_RANK) return tn_rule_fail(r, TN_LIMIT, "rank %lld is above %d", (long long)n, TN_MAX_RANK);
    return reshape_known(r, (int)n, entries);
  }
  if (!tn_rule_has_rank(r, 1)) return TN_OK;
  TN_TRY(tn_rule_need_rank(r, 1, 1, 1));
  const tn_sym length = r->in[1]->dims[0];
  if (!tn_sym_is_int(length)) return TN_OK;
  if (length->k > TN_MAX_RANK)
    return tn_rule_fail(r, TN_LIMIT, "rank %lld is above %d", (long long)length->k, TN_MAX_RANK);
  return reshape_known(r, (int)length->k, tn_rule_dims(r, (int)length->k));
}

static tn_status reshape_eval(tn_eval *e) {
  int64_t dims[TN_MAX_RANK];
  const int64_t n = e->in[1]->count;
  int rest = -1;
  int64_t others = 1;
  if (n > TN_MAX_RANK) return tn_eval_fail(e, TN_LIMIT, "rank %lld is above %d", (long long)n, TN_MAX_RANK);
  for (int i = 0; i < (int)n; i++) {
    dims[i] = tn_lit_i64_at(e->in[1], i);
    if (dims[i] == 0 && !tn_eval_int(e, "allowzero") && i < e->in[0]->rank) dims[i] = e->in[0]->dims[i];
    if (dims[i] == -1)
      rest = i;
    else if (!tn_mul_i64(others, dims[i], &others))
      return tn_eval_fail(e, TN_LIMIT, "the new shape has too many elements");
  }
  if (rest >= 0 && others == 0)
    return tn_eval_fail(e, TN_MISMATCH, "nothing tells the dim that is -1 when the others are 0");
  if (rest >= 0) dims[rest] = e->in[0]->count / others;
  return reshape_copy(e, (int)n, dims);
}

#define RESHAPE_TRAITS .traits = TN_TRAIT_PURE | TN_TRAIT_VIEW, .accuracy = {TN_ACC_EXACT, 0}

TN_OP(reshape){
    .name = "reshape",
    .in = {{"data", 0, "T"}, {"shape", TN_SET(I64), NULL, TN_PORT_SHAPES}},
    .out = {{"reshaped", 0, "T"}},
    .attrs = {{"allowzero", TN_ATTR_INT, .i = 0, .has_default = true}},
    .type = tn_type_as_input,
    .shape = reshape_shape,
    .value = tn_value_as_input,
    .eval = reshape_eval,
    .kernel = "reshape",
    RESHAPE_TRAITS,
    .doc = "the elements of data under another shape; -1 is what remains, 0 copies a dim",
};

static tn_status reshape_import_1(tn_import *im) {
  tn_value *in[2] = {im->in[0], NULL};
  TN_TRY(tn_import_attr_to_input(im, "shape", 1, &in[1]));
  tn_import_ignore(im, "consumed_inputs");
  tn_import_finish(im, tn_import_node(im, "reshape", in, 2, im->n_out));
  return TN_OK;
}

/* --- flatten --- */

static tn_status flatten_shape(tn_rule *r) {
  const tn_type *const x = r->in[0];
  int64_t axis = tn_rule_int(r, "axis");
  if (x->rank < 0) {
    const tn_sym dims[2] = {tn_rule_fresh(r, 0, 0, 0, NULL), tn_rule_fresh(r, 0, 1, 0, NULL)};
    tn_rule_set(r, 0, 2, dims);
    return TN_OK;
  }
  if (axis < -x->rank || axis > x->rank)
    return tn_rule_fail(r, TN_INVALID, "axis %lld is outside [%d, %d]", (long long)axis, -x->rank, x->rank);
  if (axis < 0) axis += x->rank;
  tn_sym dims[2] = {tn_sym_int(r->syms, 1), tn_sym_int(r->syms, 1)};
  for (int i = 0; i < x->rank; i++) dims[i >= axis] = tn_sym_mul(r->syms, dims[i >= axis], x->dims[i]);
  tn_rule_set(r, 0, 2, dims);
  return TN_OK;
}
static tn_status flatten_eval(tn_eval *e) {
  int64_t axis = tn_eval_int(e, "axis"), dims[2] = {1, 1};
  if (axis < 0) axis += e->in[0]->rank;
  for (int i = 0; i < e->in[0]->rank; i++) dims[i >= axis] *= e->in[0]->dims[i];
  return reshape_copy(e, 2, dims);
}
TN_OP(flatten){
    .name = "flatten",
    .in = {{"input", 0, "T"}},
    .out = {{"output", 0, "T"}},
    .attrs = {{"axis", TN_ATTR_INT, .i = 1}},
    .type = tn_type_as_input,
    .shape = flatten_shape,
    .value = tn_value_as_input,
    .eval = flatten_eval,
    .kernel = "flatten",
    RESHAPE_TRAITS,
    .doc = "a matrix: dims before axis by dims from axis on",
};

/* --- squeeze, unsqueeze --- */

/* axes as a set over `rank` dims; MISMATCH when one is out of range or twice. */
static tn_status reshape_axes(tn_rule *r, int64_t n, const int64_t *axes, int rank, bool *out) {
  for (int i = 0; i < rank; i++) out[i] = false;
  for (int64_t i = 0; i < n; i++) {
    int axis;
    TN_TRY(tn_rule_axis(r, "axes", axes[i], rank, &axis));
    if (out[axis]) return tn_rule_fail(r, TN_INVALID, "axis %d is given twice", axis);
    out[axis] = true;
  }
  return TN_OK;
}

static tn_status squeeze_given(tn_rule *r, int64_t n, const int64_t *axes) {
  const tn_type *const x = r->in[0];
  bool gone[TN_MAX_RANK];
  tn_sym dims[TN_MAX_RANK];
  int rank = 0;
  TN_TRY(reshape_axes(r, n, axes, x->rank, gone));
  for (int i = 0; i < x->rank; i++) {
    if (!gone[i]) dims[rank++] = x->dims[i];
    if (gone[i])
      TN_TRY(tn_rule_demand(r, tn_sym_eq(r->syms, x->dims[i], tn_sym_int(r->syms, 1)),
                            "cannot squeeze dim %d: it is %s, not 1", i, tn_sym_text(r->syms, x->dims[i])));
  }
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}
/* Without axes every dim that is 1 goes: the rank is known only when each dim surely is or is not 1. */
static tn_status squeeze_all(tn_rule *r) {
  const tn_type *const x = r->in[0];
  tn_sym dims[TN_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < x->rank; i++) {
    const tn_truth one = tn_sym_prove(r->syms, tn_sym_eq(r->syms, x->dims[i], tn_sym_int(r->syms, 1)));
    if (one == TN_UNKNOWN) return TN_OK;
    if (one == TN_FALSE) dims[rank++] = x->dims[i];
  }
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}
static tn_status squeeze_shape(tn_rule *r) {
  int64_t n, *axes;
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  if (!tn_rule_has(r, 1)) return squeeze_all(r);
  if (tn_rule_const_ints(r, 1, &n, &axes)) return squeeze_given(r, n, axes);
  if (!tn_rule_has_rank(r, 1) || r->in[1]->rank != 1 || !tn_sym_is_int(r->in[1]->dims[0])) return TN_OK;
  const int64_t rank = r->in[0]->rank - r->in[1]->dims[0]->k;
  if (rank < 0) return tn_rule_fail(r, TN_MISMATCH, "more axes than dims");
  tn_sym *const dims = tn_rule_dims(r, (int)rank);
  for (int i = 0; i < rank; i++) dims[i] = tn_rule_fresh(r, 0, i, 0, NULL);
  tn_rule_set(r, 0, (int)rank, dims);
  return TN_OK;
}
static tn_status squeeze_eval(tn_eval *e) {
  bool gone[TN_MAX_RANK] = {false};
  int64_t dims[TN_MAX_RANK];
  int rank = 0;
  const tn_lit *const axes = e->n_in > 1 ? e->in[1] : NULL;
  for (int64_t i = 0; axes && i < axes->count; i++) {
    int axis;
    TN_TRY(tn_eval_axis(e, tn_lit_i64_at(axes, i), e->in[0]->rank, &axis));
    gone[axis] = true;
  }
  for (int i = 0; i < e->in[0]->rank; i++)
    if (axes ? !gone[i] : e->in[0]->dims[i] != 1) dims[rank++] = e->in[0]->dims[i];
  return reshape_copy(e, rank, dims);
}
TN_OP(squeeze){
    .name = "squeeze",
    .in = {{"data", 0, "T"}, {"axes", TN_SET(I64), NULL, TN_PORT_OPTIONAL | TN_PORT_SHAPES}},
    .out = {{"squeezed", 0, "T"}},
    .type = tn_type_as_input,
    .shape = squeeze_shape,
    .value = tn_value_as_input,
    .eval = squeeze_eval,
    .kernel = "squeeze",
    RESHAPE_TRAITS,
    .doc = "without the given dims of 1, or without every dim of 1",
};

static tn_status unsqueeze_shape(tn_rule *r) {
  int64_t n, *axes;
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const bool known = tn_rule_const_ints(r, 1, &n, &axes);
  if (!known) {
    if (!tn_rule_has_rank(r, 1) || r->in[1]->rank > 1) return TN_OK;
    if (r->in[1]->rank == 1 && !tn_sym_is_int(r->in[1]->dims[0])) return TN_OK;
    n = r->in[1]->rank == 1 ? r->in[1]->dims[0]->k : 1;
  }
  if (n > TN_MAX_RANK - r->in[0]->rank)
    return tn_rule_fail(r, TN_LIMIT, "rank %lld is above %d", (long long)(n + r->in[0]->rank), TN_MAX_RANK);
  const int rank = r->in[0]->rank + (int)n;
  tn_sym *const dims = tn_rule_dims(r, rank);
  bool fresh[TN_MAX_RANK] = {false};
  if (known) TN_TRY(reshape_axes(r, n, axes, rank, fresh));
  for (int i = 0, from = 0; i < rank; i++) {
    if (!known)
      dims[i] = tn_rule_fresh(r, 0, i, 0, NULL);
    else
      dims[i] = fresh[i] ? tn_sym_int(r->syms, 1) : r->in[0]->dims[from++];
  }
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}
static tn_status unsqueeze_eval(tn_eval *e) {
  bool fresh[TN_MAX_RANK] = {false};
  int64_t dims[TN_MAX_RANK];
  const int64_t rank = e->in[0]->rank + e->in[1]->count;
  if (rank > TN_MAX_RANK) return tn_eval_fail(e, TN_LIMIT, "rank %lld is above %d", (long long)rank, TN_MAX_RANK);
  for (int64_t i = 0; i < e->in[1]->count; i++) {
    int axis;
    TN_TRY(tn_eval_axis(e, tn_lit_i64_at(e->in[1], i), (int)rank, &axis));
    fresh[axis] = true;
  }
  for (int i = 0, from = 0; i < rank; i++)
    dims[i] = fresh[i] ? 1 : (from < e->in[0]->rank ? e->in[0]->dims[from++] : 1);
  return reshape_copy(e, (int)rank, dims);
}
TN_OP(unsqueeze){
    .name = "unsqueeze",
    .in = {{"data", 0, "T"}, {"axes", TN_SET(I64), NULL, TN_PORT_SHAPES}},
    .out = {{"expanded", 0, "T"}},
    .type = tn_type_as_input,
    .shape = unsqueeze_shape,
    .value = tn_value_as_input,
    .eval = unsqueeze_eval,
    .kernel = "unsqueeze",
    RESHAPE_TRAITS,
    .doc = "with dims of 1 inserted at the given places of the result",
};

/* Below opset 13 the axes are an attribute. */
static tn_status squeeze_import_1(tn_import *im) {
  tn_value *in[2] = {im->in[0], NULL};
  TN_TRY(tn_import_attr_to_input(im, "axes", 1, &in[1]));
  tn_import_finish(im, tn_import_node(im, im->row->op->name, in, 2, im->n_out));
  return TN_OK;
}

/* clang-format off */
TN_ONNX(ai, Reshape, 1, 4, reshape, reshape_import_1)
TN_ONNX(ai, Reshape, 5, TN_LATEST, reshape, tn_import_same)
TN_ONNX(ai, Flatten, 1, TN_LATEST, flatten, tn_import_same)
TN_ONNX(ai, Squeeze, 1, 12, squeeze, squeeze_import_1)
TN_ONNX(ai, Squeeze, 13, TN_LATEST, squeeze, tn_import_same)
TN_ONNX(ai, Unsqueeze, 1, 12, unsqueeze, squeeze_import_1)
TN_ONNX(ai, Unsqueeze, 13, TN_LATEST, unsqueeze, tn_import_same)
