/* Operators that grow or crop axes: Pad, Tile, CenterCropPad. */
#include "op/move.h"

/* --- pad --- */

typedef enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP, PAD_NONE } pad_mode;
static pad_mode pad_mode_of(const tn_attr *mode) {
  static const char *const names[4] = {"constant", "reflect", "edge", "wrap"};
  for (int i = 0; mode && i < 4; i++)
    if (tn_str_is(mode->s, names[i])) return (pad_mode)i;
  return mode ? PAD_NONE : PAD_CONSTANT;
}

/* Position in the list of pads of each axis, -1 = none; *out_n axes. False: not known. */
static tn_status pad_axes(tn_rule *r, int rank, bool *out_known, int64_t *out_n, int *set) {
  int64_t n = rank, *axes = NULL;
  *out_known = !tn_rule_has(r, 3) || tn_rule_const_ints(r, 3, &n, &axes);
  *out_n = n;
  for (int d = 0; d < rank; d++) set[d] = d;
  return *out_known && axes ? tn_op_axis_set(r, n, axes, rank, set) : TN_OK;
}
static tn_status pad_dim(tn_rule *r, pad_mode mode, int d, tn_sym before, tn_sym after, tn_sym *out) {
  const tn_sym dim = r->in[0]->dims[d];
  if (!before || !after) {
    *out = tn_rule_fresh(r, 0, d, 0, NULL);
    return TN_OK;
  }
  tn_symtab *const t = r->syms;
  const tn_sym zero = tn_sym_int(t, 0), shrinks = tn_sym_and(t, tn_sym_le(t, before, zero), tn_sym_le(t, after, zero));
  *out = tn_sym_add(t, dim, tn_sym_add(t, before, after));
  if (mode != PAD_CONSTANT)
    TN_TRY(tn_rule_demand(r, tn_sym_or(t, tn_sym_le(t, tn_sym_int(t, 1), dim), shrinks),
                          "dim %d of size %s cannot be continued", d, tn_sym_text(t, dim)));
  return tn_rule_demand(r, tn_sym_le(t, zero, *out), "padding makes dim %d negative: %s", d, tn_sym_text(t, *out));
}
static tn_status pad_shape(tn_rule *r) {
  const tn_type *const x = r->in[0];
  const pad_mode mode = pad_mode_of(tn_rule_attr(r, "mode"));
  int64_t n;
  bool known;
  int set[TN_MAX_RANK];
  if (mode == PAD_NONE) return tn_rule_fail(r, TN_INVALID, "attribute 'mode' is none of constant, reflect, edge, wrap");
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  TN_TRY(pad_axes(r, x->rank, &known, &n, set));
  if (known) TN_TRY(tn_op_need_length(r, 1, 2 * n));
  tn_sym *const dims = tn_rule_dims(r, x->rank);
  for (int d = 0; d < x->rank; d++) {
    dims[d] = x->dims[d];
    if (!known)
      dims[d] = tn_rule_fresh(r, 0, d, 0, NULL);
    else if (set[d] >= 0)
      TN_TRY(pad_dim(r, mode, d, tn_op_elem(r, 1, set[d]), tn_op_elem(r, 1, set[d] + n), &dims[d]));
  }
  tn_rule_set(r, 0, x->rank, dims);
  return TN_OK;
}
static tn_status pad_value(tn_rule *r) { return tn_op_value_move(r, 1 | 4); /* the data and the constant */ }

/* Source place of result place `at`; -1 = the constant. `size` elements are left after cropping `cut` at the start. */
static int64_t pad_source(pad_mode mode, int64_t at, int64_t before, int64_t cut, int64_t size) {
  int64_t i = at - (before > 0 ? before : 0), period = size;
  if (i >= 0 && i < size) return cut + i;
  if (mode == PAD_CONSTANT || size <= 0) return -1;
  if (mode == PAD_EDGE || size == 1) return cut + (i < 0 ? 0 : size - 1);
  if (mode == PAD_REFLECT) period = 2 * (size - 1);
  i %= period;
  if (i < 0) i += period;
  return cut + (i < size ? i : period - i);
}
static tn_status pad_read(tn_eval *e, int64_t *before, int64_t *after) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const pads = e->in[1];
  const tn_lit *const axes = tn_op_eval_in(e, 3);
  const int64_t n = axes ? axes->count : x->rank;
  if (pads->count != 2 * n) return tn_eval_fail(e, TN_MISMATCH, "pads and axes differ in number");
  for (int64_t i = 0; i < n; i++) {
    int d;
    TN_TRY(tn_eval_axis(e, axes ? tn_lit_i64_at(axes, i) : i, x->rank, &d));
    before[d] = tn_lit_i64_at(pads, i);
    after[d] = tn_lit_i64_at(pads, i + n);
  }
  return TN_OK;
}
static tn_status pad_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const fill = tn_op_eval_in(e, 2);
  const pad_mode mode = pad_mode_of(tn_eval_attr(e, "mode"));
  int64_t before[TN_MAX_RANK] = {0}, after[TN_MAX_RANK] = {0}, dims[TN_MAX_RANK], strides[TN_MAX_RANK];
  int64_t at[TN_MAX_RANK] = {0}, cut[TN_MAX_RANK], size[TN_MAX_RANK];
  tn_lit *y;
  TN_TRY(pad_read(e, before, after));
  for (int d = 0; d < x->rank; d++) {
    int64_t sum;
    if (!tn_add_i64(before[d], after[d], &sum) || !tn_add_i64(x->dims[d], sum, &dims[d]) || dims[d] < 0)
      return tn_eval_fail(e, TN_MISMATCH, "padding makes dim %d negative or too large", d);
    cut[d] = before[d] < 0 ? -before[d] : 0;
    size[d] = x->dims[d] - cut[d] + (after[d] < 0 ? after[d] : 0);
  }
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, dims, &y));
  tn_strides(x->rank, x->dims, strides);
  for (int64_t i = 0; i < y->count; i++) {
    int64_t from = 0;
    for (int d = 0; d < x->rank && from >= 0; d++) {
      const int64_t place = pad_source(mode, at[d], before[d], cut[d], size[d]);
      from = place < 0 ? -1 : from + place * strides[d];
    }
    if (from >= 0) tn_copy_element(y->dtype, tn_lit_data(y), i, x->data, from);
    if (from < 0 && mode != PAD_CONSTANT) return tn_eval_fail(e, TN_MISMATCH, "there is nothing to continue");
    if (from < 0 && fill && fill->count > 0) tn_copy_element(y->dtype, tn_lit_data(y), i, fill->data, 0);
    (void)tn_op_next(x->rank, dims, at);
  }
  return TN_OK;
}
TN_OP(pad){
    .name = "pad",
    .in = {{"data", 0, "T"},
           {"pads", TN_SET(I64), NULL, TN_PORT_SHAPES},
           {"constant_value", 0, "T", TN_PORT_OPTIONAL},
           {"axes", TN_SET(I32) | TN_SET(I64), NULL, TN_PORT_OPTIONAL | TN_PORT_SHAPES}},
    .out = {{"output", 0, "T"}},
    .attrs = {{"mode", TN_ATTR_STR, .s = "constant"}},
    .type = tn_type_as_input,
    .shape = pad_shape,
    .value = pad_value,
    .eval = pad_eval,
    .kernel = "pad",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "elements added around the data; negative numbers crop first",
};

/* Below opset 11: pads ("paddings" in opset 1) and value are attributes. */
static tn_status pad_import_1(tn_import *im) {
  tn_value *in[3] = {im->n_in > 0 ? im->in[0] : NULL, NULL, NULL};
  double value;
  TN_TRY(tn_import_attr_to_input(im, im->version < 2 ? "paddings" : "pads", 1, &in[1]));
  TN_TRY(tn_import_float(im, "value", 0, &value));
  if (value < 0 || value > 0 || value != value) {
    tn_value *const lit = tn_import_const_lit(im, tn_lit_scalar_f64(&im->ctx->arena, TN_F32, value));
    tn_value *const pair[2] = {lit, in[0]};
    in[2] = tn_import_node(im, "cast_like", pair, 2, 1)->out[0];
  }
  tn_node *const node = tn_import_node(im, "pad", in, in[2] ? 3 : 2, im->n_out);
  TN_TRY(tn_import_copy_attrs(im, node));
  TN_TRY(tn_import_check_used(im));
  tn_import_finish(im, node);
  return TN_OK;
}

/* --- tile --- */

static tn_status tile_shape(tn_rule *r) {
  const int64_t length = tn_op_length(r, 1);
  if (!tn_rule_has_rank(r, 0) && (length < 0 || length > TN_MAX_RANK)) return TN_OK;
  const int rank = tn_rule_has_rank(r, 0) ? r->in[0]->rank : (int)length;
  TN_TRY(tn_op_need_length(r, 1, rank));
  tn_sym *const dims = tn_rule_dims(r, rank);
  for (int d = 0; d < rank; d++) {
    const tn_sym times = tn_op_elem(r, 1, d);
    if (times) TN_TRY(tn_op_at_least(r, times, 0, "a number of repeats"));
    dims[d] = times && tn_rule_has_rank(r, 0) ? tn_sym_mul(r->syms, r->in[0]->dims[d], times)
                                              : tn_rule_fresh(r, 0, d, 0, NULL);
  }
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}
static tn_status tile_fill(tn_eval *e, const int64_t *times) {
  const tn_lit *const x = e->in[0];
  int64_t dims[TN_MAX_RANK], strides[TN_MAX_RANK], at[TN_MAX_RANK] = {0};
  tn_lit *y;
  for (int d = 0; d < x->rank; d++)
    if (times[d] < 0 || !tn_mul_i64(x->dims[d], times[d], &dims[d]))
      return tn_eval_fail(e, TN_MISMATCH, "dim %d cannot be repeated %lld times", d, (long long)times[d]);
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, dims, &y));
  tn_strides(x->rank, x->dims, strides);
  for (int64_t i = 0; i < y->count; i++) {
    int64_t from = 0;
    for (int d = 0; d < x->rank; d++) from += at[d] % x->dims[d] * strides[d];
    tn_copy_element(y->dtype, tn_lit_data(y), i, x->data, from);
    (void)tn_op_next(x->rank, dims, at);
  }
  return TN_OK;
}
static tn_status tile_eval(tn_eval *e) {
  int64_t times[TN_MAX_RANK];
  if (e->in[1]->count != e->in[0]->rank) return tn_eval_fail(e, TN_MISMATCH, "repeats and axes differ in number");
  for (int d = 0; d < e->in[0]->rank; d++) times[d] = tn_lit_i64_at(e->in[1], d);
  return tile_fill(e, times);
}
TN_OP(tile){
    .name = "tile",
    .in = {{"input", 0, "T"}, {"repeats", TN_SET(I64), NULL, TN_PORT_SHAPES}},
    .out = {{"output", 0, "T"}},
    .type = tn_type_as_input,
    .shape = tile_shape,
    .value = tn_op_value_move_first,
    .eval = tile_eval,
    .kernel = "tile",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the input repeated along each axis",
};

/* Opset 1: one axis, and the numbers come as tensors of the data's type. */
static tn_status tile_axis_shape(tn_rule *r) {
  int64_t n, *axis64;
  int axis;
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *const x = r->in[0];
  const tn_sym times = tn_op_elem(r, 1, 0);
  tn_sym *const dims = tn_rule_dims(r, x->rank);
  const bool known = tn_rule_const_ints(r, 2, &n, &axis64) && n == 1;
  axis = -1;
  if (known) TN_TRY(tn_rule_axis(r, "axis", axis64[0], x->rank, &axis));
  if (times) TN_TRY(tn_op_at_least(r, times, 0, "the number of repeats"));
  for (int d = 0; d < x->rank; d++) {
    dims[d] = x->dims[d];
    if (!known || (d == axis && !times))
      dims[d] = tn_rule_fresh(r, 0, d, 0, NULL);
    else if (d == axis)
      dims[d] = tn_sym_mul(r->syms, dims[d], times);
  }
  tn_rule_set(r, 0, x->rank, dims);
  return TN_OK;
}
static tn_status tile_axis_eval(tn_eval *e) {
  int64_t times[TN_MAX_RANK];
  int axis;
  for (int d = 0; d < TN_MAX_RANK; d++) times[d] = 1;
  if (e->in[1]->count != 1 || e->in[2]->count != 1) return tn_eval_fail(e, TN_MISMATCH, "tiles and axis are scalars");
  TN_TRY(tn_eval_axis(e, tn_lit_i64_at(e->in[2], 0), e->in[0]->rank, &axis));
  times[axis] = tn_lit_i64_at(e->in[1], 0);
  return tile_fill(e, times);
}
TN_OP(tile_axis){
    .name = "tile_axis",
    .in = {{"input", TN_SET_NUMBERS, "T"},
           {"tiles", TN_SET_NUMBERS, "T", TN_PORT_SHAPES},
           {"axis", TN_SET_NUMBERS, "T", TN_PORT_SHAPES}},
    .out = {{"output", TN_SET_NUMBERS, "T"}},
    .type = tn_type_as_input,
    .shape = tile_axis_shape,
    .eval = tile_axis_eval,
    .kernel = "tile_axis",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the input repeated along one axis (Tile of opset 1)",
};

/* --- center_crop_pad --- */

static tn_status center_crop_pad_axes(tn_rule *r, int64_t *out_n, int *set) {
  const tn_attr *const axes = tn_rule_attr(r, "axes");
  const int rank = r->in[0]->rank;
  for (int d = 0; d < rank; d++) set[d] = d;
  *out_n = axes ? axes->n : rank;
  return axes ? tn_op_axis_set(r, axes->n, axes->ints, rank, set) : TN_OK;
}
static tn_status center_crop_pad_shape(tn_rule *r) {
  int64_t n;
  int set[TN_MAX_RANK];
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *const x = r->in[0];
  TN_TRY(center_crop_pad_axes(r, &n, set));
  TN_TRY(tn_op_need_length(r, 1, n));
  tn_sym *const dims = tn_rule_dims(r, x->rank);
  for (int d = 0; d < x->rank; d++) {
    dims[d] = x->dims[d];
    if (set[d] < 0) continue;
    dims[d] = tn_op_elem(r, 1, set[d]);
    if (!dims[d])
      dims[d] = tn_rule_fresh(r, 0, d, 0, NULL);
    else
      TN_TRY(tn_op_at_least(r, dims[d], 0, "a target size"));
  }
  tn_rule_set(r, 0, x->rank, dims);
  return TN_OK;
}
static tn_status center_crop_pad_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_attr *const axes = tn_eval_attr(e, "axes");
  const int64_t n = axes ? axes->n : x->rank;
  int64_t dims[TN_MAX_RANK], strides[TN_MAX_RANK], at[TN_MAX_RANK] = {0}, shift[TN_MAX_RANK];
  tn_lit *y;
  for (int d = 0; d < x->rank; d++) dims[d] = x->dims[d];
  if (e->in[1]->count != n) return tn_eval_fail(e, TN_MISMATCH, "sizes and axes differ in number");
  for (int64_t i = 0; i < n; i++) {
    int d;
    TN_TRY(tn_eval_axis(e, axes ? axes->ints[i] : i, x->rank, &d));
    dims[d] = tn_lit_i64_at(e->in[1], i);
    if (dims[d] < 0) return tn_eval_fail(e, TN_MISMATCH, "target size %lld is negative", (long long)dims[d]);
  }
  for (int d = 0; d < x->rank; d++) { /* result place minus input place, rounded toward zero */
    shift[d] = (dims[d] - x->dims[d]) / 2;
  }
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, dims, &y));
  tn_strides(x->rank, x->dims, strides);
  for (int64_t i = 0; i < y->count; i++) {
    int64_t from = 0;
    bool inside = true;
    for (int d = 0; d < x->rank; d++) {
      const int64_t place = at[d] - shift[d];
      inside = inside && place >= 0 && place < x->dims[d];
      from += place * strides[d];
    }
    if (inside) tn_copy_element(y->dtype, tn_lit_data(y), i, x->data, from);
    (void)tn_op_next(x->rank, dims, at);
  }
  return TN_OK;
}
TN_OP(center_crop_pad){
    .name = "center_crop_pad",
    .in = {{"input_data", 0, "T"}, {"shape", TN_SET(I32) | TN_SET(I64), NULL, TN_PORT_SHAPES}},
    .out = {{"output_data", 0, "T"}},
    .attrs = {{"axes", TN_ATTR_INTS}},
    .type = tn_type_as_input,
    .shape = center_crop_pad_shape,
    .value = tn_op_value_move_first,
    .eval = center_crop_pad_eval,
    .kernel = "center_crop_pad",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "cropped or padded with zeros to the given sizes, around the centre",
};

/* clang-format off */
TN_ONNX(ai, Pad, 1, 10, pad, pad_import_1)
TN_ONNX(ai, Pad, 11, TN_LATEST, pad, tn_import_same)
TN_ONNX(ai, Tile, 1, 5, tile_axis, tn_import_same)
TN_ONNX(ai, Tile, 6, TN_LATEST, tile, tn_import_same)
TN_ONNX(ai, CenterCropPad, 18, TN_LATEST, center_crop_pad, tn_import_same)
