/* Resize and Upsample. */
#include <math.h>

#include "ir/axis.h"
#include "ir/eval.h"
#include "ir/import.h"
#include "ir/ledger.h"
#include "ir/rules.h"
#include "op/elementwise.h"

enum { RESIZE_X, RESIZE_ROI, RESIZE_SCALES, RESIZE_SIZES };

/* Which axes scales, sizes and roi speak of. */
static tn_status resize_rule_axes(tn_rule *r, int rank, int *n, int *axes) {
  const tn_attr *a = tn_rule_attr(r, "axes");
  *n = rank;
  for (int i = 0; i < rank; i++) axes[i] = i;
  if (!a || a->n == 0) return TN_OK;
  if (a->n > rank) return tn_rule_fail(r, TN_INVALID, "attribute 'axes' has %lld entries", (long long)a->n);
  *n = (int)a->n;
  for (int i = 0; i < *n; i++) TN_TRY(tn_rule_axis(r, "axis", a->ints[i], rank, &axes[i]));
  return TN_OK;
}

/* An operand that is an empty constant counts as absent. */
static bool resize_is_given(const tn_rule *r, int i) {
  if (!tn_rule_has(r, i)) return false;
  return !(tn_rule_has_rank(r, i) && r->in[i]->rank == 1 && tn_sym_is(r->in[i]->dims[0], 0));
}

static tn_status resize_count(tn_rule *r, int i, int n) {
  TN_TRY(tn_rule_need_rank(r, i, 1, 1));
  if (!tn_rule_has_rank(r, i)) return TN_OK;
  return tn_rule_unify(r, r->in[i]->dims[0], tn_sym_int(r->syms, n), i == RESIZE_SIZES ? "sizes" : "scales", 0, NULL);
}

/* Whole scales and halves, quarters, ... are exact; others round down the float32 product. */
static tn_sym resize_scaled_dim(tn_symtab *t, tn_sym in, float scale) {
  int exponent;
  if (floorf(scale) >= scale && scale < 1e9f) return tn_sym_muli(t, in, (int64_t)scale);
  if (frexpf(scale, &exponent) <= 0.5f && exponent > -30 && exponent <= 0)
    return tn_sym_floordiv(t, in, tn_sym_int(t, INT64_C(1) << (1 - exponent)));
  return tn_sym_f32scale(t, in, scale);
}

static tn_status resize_by_scales(tn_rule *r, int n, const int *axes, tn_sym *dims) {
  TN_TRY(resize_count(r, RESIZE_SCALES, n));
  const tn_type *const scales = r->in[RESIZE_SCALES];
  for (int i = 0; i < n; i++) {
    double scale;
    if (!scales->content || tn_type_content_count(scales) != n || !tn_elem_const(&scales->content[i], &scale)) {
      dims[axes[i]] = tn_rule_fresh(r, 0, axes[i], 0, NULL);
      continue;
    }
    if (!((float)scale > 0) || !isfinite((float)scale))
      return tn_rule_fail(r, TN_INVALID, "scale %g of dim %d", scale, axes[i]);
    dims[axes[i]] = resize_scaled_dim(r->syms, dims[axes[i]], (float)scale);
  }
  return TN_OK;
}

/* Of a dim of 0 nothing but 0 can be made. */
static tn_status resize_demand_source(tn_rule *r, int axis, tn_sym in, tn_sym size) {
  tn_symtab *const t = r->syms;
  if (in == size) return TN_OK;
  const tn_sym some = tn_sym_le(t, tn_sym_int(t, 1), in), none = tn_sym_eq(t, size, tn_sym_int(t, 0));
  return tn_rule_demand(r, tn_sym_or(t, some, none), "cannot resize dim %d of size %s to %s", axis, tn_sym_text(t, in),
                        tn_sym_text(t, size));
}

/* A dim under one ratio of all sides: that of axis `by`. Of a dim of 0 to a size of 0 the ratio is 1. */
static tn_sym resize_by_ratio(tn_rule *r, tn_sym in, tn_sym size, tn_sym by) {
  tn_symtab *const t = r->syms;
  const tn_sym zero = tn_sym_int(t, 0), some = tn_sym_le(t, tn_sym_int(t, 1), by);
  const tn_sym scaled = tn_sym_f32ratio(t, in, size, by);
  if (tn_sym_prove(t, some) == TN_TRUE || tn_ledger_implies(r->graph, some)) return scaled;
  return tn_sym_select(t, tn_sym_eq(t, by, zero), in, scaled);
}

/* A policy keeps the ratio of the sides: the one that makes the smallest (largest) result. Sizes that are not known
 * leave a bound. */
static void resize_keep_ratio(tn_rule *r, int n, const int *axes, const tn_sym *sizes, bool larger, tn_sym *dims) {
  tn_symtab *const t = r->syms;
  tn_sym in[TN_MAX_RANK];
  for (int i = 0; i < n; i++) in[i] = dims[axes[i]];
  for (int i = 0; i < n; i++) {
    tn_sym best = NULL;
    bool all = true;
    for (int k = 0; k < n; k++) {
      const tn_sym one = sizes && sizes[k] ? resize_by_ratio(r, in[i], sizes[k], in[k]) : NULL;
      all = all && one;
      if (one) best = !best ? one : larger ? tn_sym_max(t, best, one) : tn_sym_min(t, best, one);
    }
    if (all && best)
      dims[axes[i]] = best;
    else if (best && larger)
      dims[axes[i]] = tn_rule_fresh(r, 0, axes[i], tn_sym_bounds(t, best).lo > 0 ? tn_sym_bounds(t, best).lo : 0, NULL);
    else
      dims[axes[i]] = tn_rule_fresh(r, 0, axes[i], 0, best);
  }
}

static tn_status resize_demand_size(tn_rule *r, int axis, tn_sym in, tn_sym size) {
  TN_TRY(tn_rule_demand(r, tn_sym_le(r->syms, tn_sym_int(r->syms, 0), size), "size %s of dim %d is negative",
                        tn_sym_text(r->syms, size), axis));
  return resize_demand_source(r, axis, in, size);
}

static tn_status resize_by_sizes(tn_rule *r, int n, const int *axes, tn_sym *dims) {
  TN_TRY(resize_count(r, RESIZE_SIZES, n));
  int64_t count;
  tn_sym *sizes;
  const bool known = tn_rule_ints(r, RESIZE_SIZES, &count, &sizes) && count == n;
  const bool larger = tn_rule_str_is(r, "keep_aspect_ratio_policy", "not_smaller");
  for (int i = 0; i < n && known; i++)
    if (sizes[i]) TN_TRY(resize_demand_size(r, axes[i], dims[axes[i]], sizes[i]));
  if (larger || tn_rule_str_is(r, "keep_aspect_ratio_policy", "not_larger")) {
    resize_keep_ratio(r, n, axes, known ? sizes : NULL, larger, dims);
    return TN_OK;
  }
  for (int i = 0; i < n; i++) dims[axes[i]] = known && sizes[i] ? sizes[i] : tn_rule_fresh(r, 0, axes[i], 0, NULL);
  return TN_OK;
}

static tn_status resize_shape(tn_rule *r) {
  if (!tn_rule_has_rank(r, RESIZE_X)) return TN_OK;
  const tn_type *x = r->in[RESIZE_X];
  int n, axes[TN_MAX_RANK];
  TN_TRY(resize_rule_axes(r, x->rank, &n, axes));
  tn_sym *dims = tn_rule_dims(r, x->rank);
  for (int i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  if (resize_is_given(r, RESIZE_SIZES))
    TN_TRY(resize_by_sizes(r, n, axes, dims));
  else if (resize_is_given(r, RESIZE_SCALES))
    TN_TRY(resize_by_scales(r, n, axes, dims));
  else
    return tn_rule_fail(r, TN_INVALID, "has neither scales nor sizes");
  tn_rule_set(r, 0, x->rank, dims);
  return TN_OK;
}

typedef struct resize_side { /* one axis of an evaluation */
  int64_t in, out, taps;
  float scale, length, start, end;
  int64_t *index; /* taps of output position i from i * taps: input elements (clamped) and weights */
  double *weight;
  bool *outside; /* by output position */
} resize_side;

static const tn_lit *resize_lit(const tn_eval *e, int i) {
  const tn_lit *l = i < e->n_in ? e->in[i] : NULL;
  return l && l->count > 0 ? l : NULL;
}

static tn_status resize_eval_axes(tn_eval *e, int rank, int *n, int *axes) {
  const tn_attr *a = tn_eval_attr(e, "axes");
  *n = rank;
  for (int i = 0; i < rank; i++) axes[i] = i;
  if (!a || a->n == 0) return TN_OK;
  if (a->n > rank) return tn_eval_fail(e, TN_INVALID, "attribute 'axes' has %lld entries", (long long)a->n);
  *n = (int)a->n;
  for (int i = 0; i < *n; i++) TN_TRY(tn_eval_axis(e, a->ints[i], rank, &axes[i]));
  return TN_OK;
}

static tn_status resize_eval_sizes(tn_eval *e, int n, const int *axes, resize_side *side) {
  const tn_lit *sizes = resize_lit(e, RESIZE_SIZES), *scales = resize_lit(e, RESIZE_SCALES);
  const tn_lit *given = sizes ? sizes : scales;
  if (!given || given->count != n) return tn_eval_fail(e, TN_MISMATCH, "needs scales or sizes for %d axes", n);
  const bool larger = tn_eval_str_is(e, "keep_aspect_ratio_policy", "not_smaller");
  const bool keep = sizes && (larger || tn_eval_str_is(e, "keep_aspect_ratio_policy", "not_larger"));
  float common = 0;
  for (int i = 0; i < n; i++) {
    resize_side *s = &side[axes[i]];
    s->scale = !sizes ? (float)tn_lit_f64(scales, i) : s->in ? (float)tn_lit_i64_at(sizes, i) / (float)s->in : 1;
    if (i == 0 || (larger ? s->scale > common : s->scale < common)) common = s->scale;
  }
  for (int i = 0; i < n; i++) {
    resize_side *s = &side[axes[i]];
    if (keep) s->scale = common;
    s->length = s->scale * (float)s->in;
    if (sizes && !keep) {
      s->out = tn_lit_i64_at(sizes, i);
      s->length = (float)s->out;
    } else if (keep) {
      s->out = (int64_t)floor((double)s->length + 0.5);
    } else if (!(s->scale > 0) || !(s->length < 1e9f)) {
      return tn_eval_fail(e, TN_INVALID, "scale %g of dim %d", (double)s->scale, axes[i]);
    } else {
      s->out = floorf(s->scale) >= s->scale ? s->in * (int64_t)s->scale : (int64_t)floorf(s->length);
    }
    if (s->out < 0 || (s->in == 0 && s->out > 0)) return tn_eval_fail(e, TN_MISMATCH, "cannot resize dim %d", axes[i]);
  }
  return TN_OK;
}

static float resize_eval_source(const tn_eval *e, const resize_side *s, int64_t i) {
  const char *name = "coordinate_transformation_mode";
  const float x = (float)i, in = (float)s->in;
  if (tn_eval_str_is(e, name, "asymmetric")) return x / s->scale;
  if (tn_eval_str_is(e, name, "tf_half_pixel_for_nn")) return (x + 0.5f) / s->scale;
  if (tn_eval_str_is(e, name, "align_corners")) return s->out == 1 ? 0 : x * (in - 1) / (s->length - 1);
  if (tn_eval_str_is(e, name, "pytorch_half_pixel") && s->out == 1) return 0;
  if (tn_eval_str_is(e, name, "tf_crop_and_resize"))
    return s->out == 1 ? 0.5f * (s->start + s->end) * (in - 1)
                       : s->start * (in - 1) + x * (s->end - s->start) * (in - 1) / (s->length - 1);
  const float half = (x + 0.5f) / s->scale - 0.5f;
  if (tn_eval_str_is(e, name, "half_pixel_symmetric")) return in / 2 * (1 - (float)s->out / s->length) + half;
  return half;
}

static double resize_eval_filter(const tn_eval *e, double d) {
  const double a = tn_eval_float(e, "cubic_coeff_a");
  d = fabs(d);
  if (tn_eval_str_is(e, "mode", "linear")) return fmax(0, 1 - d);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

static int64_t resize_eval_nearest(const tn_eval *e, float x, float scale) {
  if (tn_eval_str_is(e, "nearest_mode", "floor")) return (int64_t)floorf(x);
  if (tn_eval_str_is(e, "nearest_mode", "ceil")) return (int64_t)ceilf(x);
  if (tn_eval_str_is(e, "nearest_mode", "simple")) return scale < 1 ? (int64_t)ceilf(x) : (int64_t)floorf(x);
  const float below = floorf(x), part = x - below;
  if (part < 0.5f || (part <= 0.5f && tn_eval_str_is(e, "nearest_mode", "round_prefer_floor"))) return (int64_t)below;
  return (int64_t)below + 1;
}

static void resize_eval_taps(const tn_eval *e, resize_side *s, int64_t i) {
  const float x = resize_eval_source(e, s, i);
  int64_t *const index = s->index + i * s->taps;
  double *const weight = s->weight + i * s->taps;
  s->outside[i] =
      tn_eval_str_is(e, "coordinate_transformation_mode", "tf_crop_and_resize") && !(x >= 0 && x <= (float)(s->in - 1));
  if (s->outside[i]) return;
  if (tn_eval_str_is(e, "mode", "nearest")) {
    const int64_t at = resize_eval_nearest(e, x, s->scale);
    index[0] = at < 0 ? 0 : at >= s->in ? s->in - 1 : at;
    weight[0] = 1;
    return;
  }
  const double stretch = tn_eval_int(e, "antialias") && s->scale < 1 ? (double)s->scale : 1;
  double sum = 0;
  for (int64_t t = 0; t < s->taps; t++) {
    const int64_t at = (int64_t)floorf(x) - s->taps / 2 + 1 + t;
    weight[t] = resize_eval_filter(e, ((double)at - (double)x) * stretch);
    if (tn_eval_int(e, "exclude_outside") && (at < 0 || at >= s->in)) weight[t] = 0;
    index[t] = at < 0 ? 0 : at >= s->in ? s->in - 1 : at;
    sum += weight[t];
  }
  for (int64_t t = 0; t < s->taps; t++) weight[t] /= sum;
}

static void resize_eval_table(const tn_eval *e, resize_side *s) {
  s->index = tn_arena_zero(e->arena, (size_t)s->out, (size_t)s->taps * sizeof *s->index);
  s->weight = tn_arena_zero(e->arena, (size_t)s->out, (size_t)s->taps * sizeof *s->weight);
  s->outside = TN_NEW_ARRAY(e->arena, bool, s->out);
  for (int64_t i = 0; i < s->out; i++) resize_eval_taps(e, s, i);
}

/* Sum over all combinations of taps of one output position. */
static double resize_eval_sum(const tn_lit *x, const resize_side *side, const int64_t *position) {
  int64_t tap[TN_MAX_RANK] = {0};
  double sum = 0;
  for (;;) {
    double weight = 1;
    int64_t at = 0;
    for (int a = 0; a < x->rank; a++) {
      const int64_t t = position[a] * side[a].taps + tap[a];
      weight *= side[a].weight[t];
      at = at * side[a].in + side[a].index[t];
    }
    sum += weight * tn_lit_f64(x, at);
    int a = x->rank - 1;
    while (a >= 0 && ++tap[a] == side[a].taps) tap[a--] = 0;
    if (a < 0) return sum;
  }
}

static tn_status resize_eval_begin(tn_eval *e, resize_side *side, tn_lit **y) {
  const tn_lit *x = e->in[RESIZE_X], *roi = resize_lit(e, RESIZE_ROI);
  int n, axes[TN_MAX_RANK];
  int64_t dims[TN_MAX_RANK];
  TN_TRY(resize_eval_axes(e, x->rank, &n, axes));
  for (int a = 0; a < x->rank; a++)
    side[a] = (resize_side){.in = x->dims[a], .out = x->dims[a], .scale = 1, .length = (float)x->dims[a], .end = 1};
  TN_TRY(resize_eval_sizes(e, n, axes, side));
  for (int i = 0; i < n && roi; i++) {
    if (roi->count != 2 * n) return tn_eval_fail(e, TN_MISMATCH, "roi has %lld entries", (long long)roi->count);
    side[axes[i]].start = (float)tn_lit_f64(roi, i);
    side[axes[i]].end = (float)tn_lit_f64(roi, n + i);
  }
  const bool nearest = tn_eval_str_is(e, "mode", "nearest");
  for (int a = 0; a < x->rank; a++) {
    double reach = tn_eval_str_is(e, "mode", "cubic") ? 2 : 1;
    if (tn_eval_int(e, "antialias") && side[a].scale < 1) reach = ceil(reach / (double)side[a].scale);
    if (reach > 1e6) return tn_eval_fail(e, TN_LIMIT, "scale %g is too small", (double)side[a].scale);
    side[a].taps = nearest ? 1 : 2 * (int64_t)reach;
    dims[a] = side[a].out;
  }
  return tn_eval_out(e, 0, x->dtype, x->rank, dims, y);
}

static tn_status resize_eval(tn_eval *e) {
  const tn_lit *x = e->in[RESIZE_X];
  resize_side side[TN_MAX_RANK];
  tn_lit *y;
  TN_TRY(resize_eval_begin(e, side, &y));
  const bool copies = tn_eval_str_is(e, "mode", "nearest");
  const double beyond = tn_eval_float(e, "extrapolation_value");
  for (int a = 0; a < x->rank && y->count; a++) resize_eval_table(e, &side[a]);
  for (int64_t i = 0; i < y->count; i++) {
    int64_t rest = i, at = 0, position[TN_MAX_RANK];
    bool outside = false;
    for (int a = x->rank - 1; a >= 0; a--) {
      position[a] = rest % side[a].out;
      rest /= side[a].out;
      outside = outside || side[a].outside[position[a]];
    }
    for (int a = 0; a < x->rank && copies && !outside; a++) at = at * side[a].in + side[a].index[position[a]];
    if (outside)
      tn_store_f64(y->dtype, tn_lit_data(y), i, beyond);
    else if (copies)
      tn_copy_element(y->dtype, tn_lit_data(y), i, x->data, at);
    else
      tn_store_f64(y->dtype, tn_lit_data(y), i, resize_eval_sum(x, side, position));
  }
  return TN_OK;
}

/* The first Resize and Upsample: asymmetric coordinates; nearest rounds down, or up when shrinking. */
static tn_status resize_import_scales(tn_import *im, tn_value *scales) {
  tn_value *in[4] = {im->n_in > 0 ? im->in[0] : NULL, NULL, scales, NULL};
  if (!in[0] || !scales) return tn_import_fail(im, TN_INVALID, "input x or scales is missing");
  tn_node *node = tn_import_node(im, "resize", in, 3, im->n_out);
  tn_str mode;
  TN_TRY(tn_import_str(im, "mode", "nearest", &mode));
  if (!tn_str_is(mode, "nearest") && !tn_str_is(mode, "linear") && !tn_str_is(mode, "bilinear"))
    return tn_import_fail(im, TN_INVALID, "unknown mode '%.*s'", (int)(mode.len > 40 ? 40 : mode.len), mode.ptr);
  tn_import_set_str(node, "mode", tn_str_is(mode, "nearest") ? "nearest" : "linear");
  tn_import_set_str(node, "coordinate_transformation_mode", "asymmetric");
  tn_import_set_str(node, "nearest_mode", "simple");
  tn_import_finish(im, node);
  return TN_OK;
}

static tn_status resize_import_10(tn_import *im) { return resize_import_scales(im, im->n_in > 1 ? im->in[1] : NULL); }

static tn_status resize_import_upsample_7(tn_import *im) {
  const tn_attr *scales;
  TN_TRY(tn_import_get(im, "scales", TN_ATTR_FLOATS, &scales));
  if (!scales) return tn_import_fail(im, TN_INVALID, "attribute 'scales' is missing");
  return resize_import_scales(im, tn_import_const_f32(im, scales->floats, scales->n));
}

static tn_status resize_import_upsample_1(tn_import *im) {
  double scales[4] = {1, 1, 0, 0};
  TN_TRY(tn_import_float(im, "height_scale", 0, &scales[2]));
  TN_TRY(tn_import_float(im, "width_scale", 0, &scales[3]));
  return resize_import_scales(im, tn_import_const_f32(im, scales, 4));
}

TN_OP(resize){
    .name = "resize",
    .in = {{"x", TN_SET_ALL, "T1", 0},
           {"roi", TN_SET_FLOATS, "T2", TN_PORT_OPTIONAL | TN_PORT_SHAPES},
           {"scales", TN_SET(F32), NULL, TN_PORT_OPTIONAL | TN_PORT_SHAPES},
           {"sizes", TN_SET(I64), NULL, TN_PORT_OPTIONAL | TN_PORT_SHAPES}},
    .out = {{"y", TN_SET_ALL, "T1", 0}},
    .attrs = {{"antialias", TN_ATTR_INT, .has_default = true},
              {"axes", .kind = TN_ATTR_INTS},
              {"coordinate_transformation_mode", TN_ATTR_STR, .s = "half_pixel"},
              {"cubic_coeff_a", TN_ATTR_FLOAT, .f = -0.75},
              {"exclude_outside", TN_ATTR_INT, .has_default = true},
              {"extrapolation_value", TN_ATTR_FLOAT, .has_default = true},
              {"keep_aspect_ratio_policy", TN_ATTR_STR, .s = "stretch"},
              {"mode", TN_ATTR_STR, .s = "nearest"},
              {"nearest_mode", TN_ATTR_STR, .s = "round_prefer_floor"}},
    .type = tn_type_as_input,
    .shape = resize_shape,
    .eval = resize_eval,
    .kernel = "resize",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "resamples along axes: nearest, linear or cubic, by scales or to sizes",
};

TN_ONNX(ai, Resize, 10, 10, resize, resize_import_10)
TN_ONNX(ai, Resize, 11, TN_LATEST, resize, tn_import_same)
TN_ONNX(ai, Upsample, 1, 6, resize, resize_import_upsample_1)
TN_ONNX(ai, Upsample, 7, 8, resize, resize_import_upsample_7)
TN_ONNX(ai, Upsample, 9, TN_LATEST, resize, resize_import_10)
