/* Operators that read shapes or make tensors from them: Shape, Size, ConstantOfShape, Range, Expand. */
#include <math.h>

#include "ir/axis.h"
#include "op/move.h"
#include "op/ratio.h"

/* --- shape --- */

static void shape_window(int64_t rank, int64_t start, bool has_end, int64_t end, int64_t *out_first, int64_t *out_n) {
  if (!has_end) end = rank;
  if (start < 0) start += rank;
  if (end < 0) end += rank;
  start = start < 0 ? 0 : (start > rank ? rank : start);
  end = end < 0 ? 0 : (end > rank ? rank : end);
  *out_first = start;
  *out_n = end > start ? end - start : 0;
}

static tn_status shape_shape(tn_rule *r) {
  tn_sym dim;
  if (tn_rule_has_rank(r, 0)) {
    const tn_attr *const end = tn_rule_attr(r, "end");
    int64_t first, n;
    shape_window(r->in[0]->rank, tn_rule_int(r, "start"), end != NULL, end ? end->i : 0, &first, &n);
    dim = tn_sym_int(r->syms, n);
  } else {
    dim = tn_rule_fresh(r, 0, 0, 0, tn_sym_int(r->syms, TN_MAX_RANK));
  }
  tn_rule_set(r, 0, 1, &dim);
  return TN_OK;
}
static tn_status shape_value(tn_rule *r) {
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_attr *const end = tn_rule_attr(r, "end");
  int64_t first, n;
  shape_window(r->in[0]->rank, tn_rule_int(r, "start"), end != NULL, end ? end->i : 0, &first, &n);
  tn_elem *const out = tn_rule_elems(r, n);
  for (int64_t i = 0; i < n; i++) out[i] = tn_elem_sym(r->in[0]->dims[first + i]);
  tn_rule_set_content(r, 0, out);
  return TN_OK;
}
static tn_status shape_eval(tn_eval *e) {
  const tn_attr *const end = tn_eval_attr(e, "end");
  int64_t first, n;
  shape_window(e->in[0]->rank, tn_eval_int(e, "start"), end != NULL, end ? end->i : 0, &first, &n);
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, TN_I64, 1, &n, &y));
  for (int64_t i = 0; i < n; i++) tn_store_i64(TN_I64, tn_lit_data(y), i, e->in[0]->dims[first + i]);
  return TN_OK;
}
TN_OP(shape){
    .name = "shape",
    .in = {{"data", 0}},
    .out = {{"shape", TN_SET(I64)}},
    .attrs = {{"start", TN_ATTR_INT, .i = 0, .has_default = true}, {"end", TN_ATTR_INT}},
    .type = tn_type_i64,
    .shape = shape_shape,
    .value = shape_value,
    .eval = shape_eval,
    .kernel = "shape",
    .traits = TN_TRAIT_PURE | TN_TRAIT_HOST,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the dims of data from start up to end",
};

static tn_status size_value(tn_rule *r) {
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_elem e = tn_elem_sym(tn_type_count(r->syms, r->in[0]));
  tn_rule_set_content(r, 0, &e);
  return TN_OK;
}
static tn_status size_eval(tn_eval *e) {
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, TN_I64, 0, NULL, &y));
  tn_store_i64(TN_I64, tn_lit_data(y), 0, e->in[0]->count);
  return TN_OK;
}
TN_OP(size){
    .name = "size",
    .in = {{"data", 0}},
    .out = {{"size", TN_SET(I64)}},
    .type = tn_type_i64,
    .shape = tn_shape_scalar,
    .value = size_value,
    .eval = size_eval,
    .kernel = "size",
    .traits = TN_TRAIT_PURE | TN_TRAIT_HOST,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the number of elements",
};

/* Dims from input i's content: rank from its length; unknown ones are decided by the run. False: not even the rank. */
static tn_status shape_from_content(tn_rule *r, int i, bool *out_known, int *out_rank, tn_sym **out) {
  int64_t n;
  *out_known = false;
  if (!tn_rule_ints(r, i, &n, out)) {
    if (!tn_rule_has_rank(r, i)) return TN_OK;
    TN_TRY(tn_rule_need_rank(r, i, 1, 1));
    if (!tn_sym_is_int(r->in[i]->dims[0])) return TN_OK;
    n = r->in[i]->dims[0]->k;
    if (n <= TN_MAX_RANK) *out = tn_rule_dims(r, (int)n);
  }
  if (n > TN_MAX_RANK) return tn_rule_fail(r, TN_LIMIT, "rank %lld is above %d", (long long)n, TN_MAX_RANK);
  *out_known = true;
  *out_rank = (int)n;
  return TN_OK;
}

/* --- constant_of_shape --- */

static const tn_lit *constant_fill(const tn_attr *value) { return value ? value->tensor : NULL; }

static tn_status constant_of_shape_type(tn_rule *r) {
  const tn_lit *const fill = constant_fill(tn_rule_attr(r, "value"));
  if (fill && fill->count != 1)
    return tn_rule_fail(r, TN_INVALID, "attribute 'value' has %lld elements, not 1", (long long)fill->count);
  tn_rule_set_dtype(r, 0, fill ? fill->dtype : TN_F32);
  return TN_OK;
}
static tn_status constant_of_shape_shape(tn_rule *r) {
  bool known;
  int rank;
  tn_sym *dims;
  TN_TRY(shape_from_content(r, 0, &known, &rank, &dims));
  if (!known) return TN_OK;
  for (int i = 0; i < rank; i++) {
    if (!dims[i]) {
      dims[i] = tn_rule_fresh(r, 0, i, 0, NULL);
      continue;
    }
    TN_TRY(tn_rule_demand(r, tn_sym_le(r->syms, tn_sym_int(r->syms, 0), dims[i]), "dim %d is %s, which is negative", i,
                          tn_sym_text(r->syms, dims[i])));
  }
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}
static tn_status constant_of_shape_value(tn_rule *r) {
  int64_t dims[TN_MAX_RANK], n;
  if (!tn_type_const_dims(&r->out[0], dims) || !tn_dims_count(dims, r->out[0].rank, &n) || n > TN_MAX_CONTENT)
    return TN_OK;
  const tn_lit *const fill = constant_fill(tn_rule_attr(r, "value"));
  tn_elem e = fill && !tn_dtype_is_float(fill->dtype) ? (tn_elem){0} : tn_elem_f64(fill ? tn_lit_f64(fill, 0) : 0);
  if (fill && (tn_dtype_is_int(fill->dtype) || fill->dtype == TN_BOOL))
    e = tn_elem_sym(tn_sym_int(r->syms, tn_lit_i64_at(fill, 0)));
  if (e.kind == TN_ELEM_NONE) return TN_OK;
  tn_elem *const out = tn_rule_elems(r, n);
  for (int64_t i = 0; i < n; i++) out[i] = e;
  tn_rule_set_content(r, 0, out);
  return TN_OK;
}
static tn_status constant_of_shape_eval(tn_eval *e) {
  const tn_lit *const fill = constant_fill(tn_eval_attr(e, "value"));
  int64_t dims[TN_MAX_RANK];
  if (e->in[0]->count > TN_MAX_RANK)
    return tn_eval_fail(e, TN_LIMIT, "rank %lld is above %d", (long long)e->in[0]->count, TN_MAX_RANK);
  for (int i = 0; i < (int)e->in[0]->count; i++) dims[i] = tn_lit_i64_at(e->in[0], i);
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, fill ? fill->dtype : TN_F32, (int)e->in[0]->count, dims, &y));
  for (int64_t i = 0; fill && i < y->count; i++) tn_copy_element(y->dtype, tn_lit_data(y), i, fill->data, 0);
  return TN_OK;
}
TN_OP(constant_of_shape){
    .name = "constant_of_shape",
    .in = {{"input", TN_SET(I64), NULL, TN_PORT_SHAPES}},
    .out = {{"output", 0}},
    .attrs = {{"value", TN_ATTR_TENSOR}},
    .type = constant_of_shape_type,
    .shape = constant_of_shape_shape,
    .value = constant_of_shape_value,
    .eval = constant_of_shape_eval,
    .kernel = "constant_of_shape",
    .axis = tn_axis_fill,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "a tensor of the given shape filled with one value",
};

/* --- range --- */

static tn_sym range_length(tn_symtab *t, tn_sym start, tn_sym limit, tn_sym delta) {
  const tn_sym zero = tn_sym_int(t, 0), span = tn_sym_sub(t, limit, start);
  if (tn_sym_is(delta, 1)) return tn_sym_max(t, zero, span);
  return tn_sym_max(t, zero, tn_sym_ceildiv(t, span, delta));
}
/* Of floats, where the step is a whole number or a power of two, so that the quotient rounds as it is; NULL: not known.
 */
static tn_sym range_float_length(tn_rule *r) {
  tn_elem e[3];
  int exponent;
  for (int i = 0; i < 3; i++) {
    if (!r->in[i]->content) return NULL;
    e[i] = r->in[i]->content[0];
  }
  const double delta = e[2].kind == TN_ELEM_F64                              ? e[2].f
                       : e[2].kind == TN_ELEM_SYM && tn_sym_is_int(e[2].sym) ? (double)e[2].sym->k
                                                                             : 0;
  if (!(delta > 0 && delta < 0x1p24) || (floor(delta) != delta && frexp(delta, &exponent) != 0.5)) return NULL;
  const bool from_0 =
      (e[0].kind == TN_ELEM_F64 && !(e[0].f < 0 || e[0].f > 0)) || (e[0].kind == TN_ELEM_SYM && tn_sym_is(e[0].sym, 0));
  const tn_elem ends[2] = {e[1], e[0]}, span = from_0 ? e[1] : tn_elem_add(r, ends, -1);
  const tn_elem parts[2] = {span, e[2]}, steps = delta > 1 || delta < 1 ? tn_elem_div(r, parts) : span;
  if (steps.kind == TN_ELEM_NONE || steps.kind == TN_ELEM_F64) return NULL;
  const tn_elem n = tn_elem_whole(r, r->in[1]->dtype, &steps, TN_ROUND_UP);
  return n.kind == TN_ELEM_SYM ? tn_sym_max(r->syms, tn_sym_int(r->syms, 0), n.sym) : NULL;
}
static tn_status range_shape(tn_rule *r) {
  tn_sym *s[3];
  int64_t n;
  bool known = true;
  double f[3];
  for (int i = 0; i < 3; i++) {
    TN_TRY(tn_op_need_one(r, i)); /* scalars; exporters also write one element */
    double *v;
    known = known && tn_rule_ints(r, i, &n, &s[i]) && n == 1 && s[i][0];
    f[i] = tn_rule_const_floats(r, i, &n, &v) && n == 1 ? v[0] : (double)NAN;
  }
  tn_sym dim;
  if (known) TN_TRY(tn_rule_demand(r, tn_sym_ne(r->syms, s[2][0], tn_sym_int(r->syms, 0)), "delta is 0"));
  const double steps = ceil((f[1] - f[0]) / f[2]);
  if (known)
    dim = range_length(r->syms, s[0][0], s[1][0], s[2][0]);
  else if (isfinite(steps) && fabs(steps) < 1e15)
    dim = tn_sym_int(r->syms, steps > 0 ? (int64_t)steps : 0);
  else
    dim = tn_dtype_is_float(r->out[0].dtype) ? range_float_length(r) : NULL;
  if (!dim) dim = tn_rule_fresh(r, 0, 0, 0, NULL);
  tn_rule_set(r, 0, 1, &dim);
  return TN_OK;
}
static tn_status range_value(tn_rule *r) {
  tn_sym *start, *delta;
  int64_t n, m;
  if (!tn_sym_is_int(r->out[0].dims[0]) || r->out[0].dims[0]->k > TN_MAX_CONTENT) return TN_OK;
  if (tn_dtype_is_float(r->out[0].dtype) || !tn_rule_ints(r, 0, &n, &start) || !tn_rule_ints(r, 2, &m, &delta))
    return TN_OK;
  if (n != 1 || m != 1 || !start[0] || !delta[0]) return TN_OK;
  const int64_t count = r->out[0].dims[0]->k;
  tn_elem *const out = tn_rule_elems(r, count);
  for (int64_t i = 0; i < count; i++)
    out[i] = tn_elem_sym(tn_sym_add(r->syms, start[0], tn_sym_muli(r->syms, delta[0], i)));
  tn_rule_set_content(r, 0, out);
  return TN_OK;
}
static tn_status range_eval(tn_eval *e) {
  tn_lit *y;
  const tn_dtype d = e->in[0]->dtype;
  int64_t n = 0;
  for (int i = 0; i < 3; i++) TN_TRY(tn_op_eval_need_one(e, i));
  if (tn_dtype_is_float(d)) {
    const double steps = ceil((tn_lit_f64(e->in[1], 0) - tn_lit_f64(e->in[0], 0)) / tn_lit_f64(e->in[2], 0));
    n = steps > 0 && steps < 1e15 ? (int64_t)steps : 0;
  } else {
    const int64_t start = tn_lit_i64_at(e->in[0], 0), limit = tn_lit_i64_at(e->in[1], 0),
                  delta = tn_lit_i64_at(e->in[2], 0);
    int64_t span;
    if (delta == 0) return tn_eval_fail(e, TN_INVALID, "delta is 0");
    if (!tn_sub_i64(limit, start, &span) || !tn_ceildiv_i64(span, delta, &n))
      return tn_eval_fail(e, TN_LIMIT, "too many elements");
    n = n > 0 ? n : 0;
  }
  TN_TRY(tn_eval_out(e, 0, d, 1, &n, &y));
  for (int64_t i = 0; i < n; i++) {
    if (tn_dtype_is_float(d))
      tn_store_f64(d, tn_lit_data(y), i, tn_lit_f64(e->in[0], 0) + (double)i * tn_lit_f64(e->in[2], 0));
    else
      tn_store_i64(d, tn_lit_data(y), i, tn_lit_i64_at(e->in[0], 0) + i * tn_lit_i64_at(e->in[2], 0));
  }
  return TN_OK;
}
#define RANGE_SET (TN_SET(F32) | TN_SET(F64) | TN_SET(F16) | TN_SET(BF16) | TN_SET(I16) | TN_SET(I32) | TN_SET(I64))
TN_OP(range){
    .name = "range",
    .in = {{"start", RANGE_SET, "T", TN_PORT_SHAPES},
           {"limit", RANGE_SET, "T", TN_PORT_SHAPES},
           {"delta", RANGE_SET, "T", TN_PORT_SHAPES}},
    .out = {{"output", RANGE_SET, "T"}},
    .type = tn_type_as_input,
    .shape = range_shape,
    .value = range_value,
    .eval = range_eval,
    .kernel = "range",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-6},
    .doc = "start, start + delta, ... before limit",
};

/* --- expand --- */

static tn_status expand_dim(tn_rule *r, tn_sym a, tn_sym size, int i, tn_sym *out) {
  TN_TRY(tn_rule_demand(r, tn_sym_le(r->syms, tn_sym_int(r->syms, 0), size), "dim %d is %s, which is negative", i,
                        tn_sym_text(r->syms, size)));
  return tn_rule_bcast_dim(r, a, size, i, out);
}

static tn_status expand_shape(tn_rule *r) {
  bool known;
  int rank;
  tn_sym *dims;
  TN_TRY(shape_from_content(r, 1, &known, &rank, &dims));
  if (!known || !tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *const x = r->in[0];
  const int out_rank = rank > x->rank ? rank : x->rank;
  tn_sym *const out = tn_rule_dims(r, out_rank);
  for (int i = 0; i < out_rank; i++) {
    const int ix = i - (out_rank - x->rank), it = i - (out_rank - rank);
    const tn_sym a = ix >= 0 ? x->dims[ix] : tn_sym_int(r->syms, 1);
    if (it < 0)
      out[i] = a;
    else if (!dims[it])
      out[i] = tn_rule_fresh(r, 0, i, 0, NULL);
    else
      TN_TRY(expand_dim(r, a, dims[it], i, &out[i]));
  }
  tn_rule_set(r, 0, out_rank, out);
  return TN_OK;
}
static tn_status expand_value(tn_rule *r) {
  int64_t dims[TN_MAX_RANK], from[TN_MAX_RANK], n;
  if (!r->in[0]->content || !tn_type_const_dims(r->in[0], from) || !tn_type_const_dims(&r->out[0], dims)) return TN_OK;
  if (!tn_dims_count(dims, r->out[0].rank, &n) || n > TN_MAX_CONTENT) return TN_OK;
  tn_elem *const out = tn_rule_elems(r, n);
  for (int64_t i = 0; i < n; i++)
    out[i] = r->in[0]->content[tn_bcast_index(i, r->out[0].rank, dims, r->in[0]->rank, from)];
  tn_rule_set_content(r, 0, out);
  return TN_OK;
}
static tn_status expand_eval(tn_eval *e) {
  int64_t target[TN_MAX_RANK], dims[TN_MAX_RANK];
  int rank;
  tn_lit *y;
  if (e->in[1]->count > TN_MAX_RANK)
    return tn_eval_fail(e, TN_LIMIT, "rank %lld is above %d", (long long)e->in[1]->count, TN_MAX_RANK);
  for (int i = 0; i < (int)e->in[1]->count; i++) target[i] = tn_lit_i64_at(e->in[1], i);
  TN_TRY(tn_eval_bcast(e, e->in[0]->rank, e->in[0]->dims, (int)e->in[1]->count, target, &rank, dims));
  TN_TRY(tn_eval_out(e, 0, e->in[0]->dtype, rank, dims, &y));
  for (int64_t i = 0; i < y->count; i++)
    tn_copy_element(y->dtype, tn_lit_data(y), i, e->in[0]->data,
                    tn_bcast_index(i, rank, dims, e->in[0]->rank, e->in[0]->dims));
  return TN_OK;
}
TN_OP(expand){
    .name = "expand",
    .in = {{"input", 0, "T"}, {"shape", TN_SET(I64), NULL, TN_PORT_SHAPES}},
    .out = {{"output", 0, "T"}},
    .type = tn_type_as_input,
    .shape = expand_shape,
    .value = expand_value,
    .eval = expand_eval,
    .kernel = "expand",
    .axis = tn_axis_expand,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the input broadcast with the given shape",
};

/* clang-format off */
TN_ONNX(ai, Shape, 1, TN_LATEST, shape, tn_import_same)
TN_ONNX(ai, Size, 1, TN_LATEST, size, tn_import_same)
TN_ONNX(ai, ConstantOfShape, 9, TN_LATEST, constant_of_shape, tn_import_same)
TN_ONNX(ai, Range, 11, TN_LATEST, range, tn_import_same)
TN_ONNX(ai, Expand, 8, TN_LATEST, expand, tn_import_same)
