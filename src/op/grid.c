/* GridSample and AffineGrid. */
#include <math.h>

#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"

#define GRID_NUMBERS (TN_SET_NUMBERS | TN_SET(BOOL))

static tn_status grid_sample_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[0]->dtype);
  return TN_OK;
}

/* Outside of an image without elements there are zeros, but no border and nothing to reflect. */
static tn_status grid_demand_pixels(tn_rule *r) {
  tn_symtab *const t = r->syms;
  const tn_type *const x = r->in[0];
  if (tn_rule_str_is(r, "padding_mode", "zeros")) return TN_OK;
  const tn_sym nothing = tn_sym_eq(t, tn_type_count(t, &r->out[0]), tn_sym_int(t, 0));
  for (int i = 2; i < x->rank; i++)
    TN_TRY(tn_rule_demand(r, tn_sym_or(t, tn_sym_le(t, tn_sym_int(t, 1), x->dims[i]), nothing),
                          "dim %d of the input, %s, has no element to pad with", i, tn_sym_text(t, x->dims[i])));
  return TN_OK;
}

static tn_status grid_sample_shape(tn_rule *r) {
  for (int i = 0; i < 2; i++) TN_TRY(tn_rule_need_rank(r, i, 3, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, 0) || !tn_rule_has_rank(r, 1)) return TN_OK;
  const tn_type *x = r->in[0], *grid = r->in[1];
  if (x->rank != grid->rank)
    return tn_rule_fail(r, TN_MISMATCH, "input of rank %d with a grid of rank %d", x->rank, grid->rank);
  tn_sym *dims = tn_rule_dims(r, x->rank);
  TN_TRY(tn_rule_unify(r, x->dims[0], grid->dims[0], "x and grid", 0, &dims[0]));
  TN_TRY(tn_rule_unify(r, grid->dims[x->rank - 1], tn_sym_int(r->syms, x->rank - 2), "coordinates and spatial axes",
                       x->rank - 1, NULL));
  dims[1] = x->dims[1];
  for (int i = 2; i < x->rank; i++) dims[i] = grid->dims[i - 1];
  tn_rule_set(r, 0, x->rank, dims);
  return grid_demand_pixels(r);
}

static double grid_fold(double x, double lo, double hi) {
  if (!(hi > lo)) return lo;
  for (int i = 0; i < 1000 && (x < lo || x > hi); i++) x = x < lo ? 2 * lo - x : 2 * hi - x;
  return fmin(fmax(x, lo), hi);
}

/* Element that integer position i of an axis of n reads; -1: zero. */
static int64_t grid_pixel(const tn_eval *e, double i, int64_t n, double edge) {
  if (i < 0 || i > (double)(n - 1)) {
    if (tn_eval_str_is(e, "padding_mode", "border")) return i < 0 ? 0 : n - 1;
    if (!tn_eval_str_is(e, "padding_mode", "reflection")) return -1;
    i = fmin(fmax(trunc(grid_fold(i, -edge, (double)n - 1 + edge)), 0), (double)(n - 1));
  }
  return (int64_t)i;
}

/* Where coordinate v of an axis of n points to, after padding. */
static double grid_position(const tn_eval *e, double v, int64_t n, double edge) {
  const double size = (double)n;
  float x = (float)(edge > 0 ? ((v + 1) * size - 1) / 2 : (v + 1) / 2 * (size - 1));
  if (tn_eval_str_is(e, "mode", "nearest")) x = nearbyintf(x);
  if ((double)x >= -edge && (double)x <= size - 1 + edge) return (double)x;
  if (tn_eval_str_is(e, "padding_mode", "border") && !tn_eval_str_is(e, "mode", "cubic"))
    return fmin(fmax((double)x, 0), size - 1);
  if (tn_eval_str_is(e, "padding_mode", "reflection")) return grid_fold((double)x, -edge, size - 1 + edge);
  return (double)x;
}

static double grid_weight(const tn_eval *e, double d) {
  d = fabs(d);
  if (tn_eval_str_is(e, "mode", "nearest")) return 1;
  if (!tn_eval_str_is(e, "mode", "cubic")) return 1 - d;
  return d <= 1 ? 1.25 * d * d * d - 2.25 * d * d + 1 : -0.75 * (d * d * d - 5 * d * d + 8 * d - 4);
}

/* Value at `where` of the plane whose elements start at `from`: axis by axis. */
static double grid_value(const tn_eval *e, const tn_lit *x, int64_t from, int axis, const double *where, double edge) {
  if (axis == x->rank) return tn_lit_f64(x, from);
  const int64_t n = x->dims[axis];
  int64_t step = 1;
  for (int i = axis + 1; i < x->rank; i++) step *= x->dims[i];
  const double at = where[axis - 2], base = floor(at);
  const bool nearest = tn_eval_str_is(e, "mode", "nearest"), cubic = tn_eval_str_is(e, "mode", "cubic");
  double sum = 0;
  if (!(fabs(at) < 1e15)) return 0;
  for (int t = cubic ? -1 : 0; t <= (nearest ? 0 : cubic ? 2 : 1); t++) {
    const int64_t i = grid_pixel(e, base + t, n, edge);
    if (i >= 0) sum += grid_weight(e, base + t - at) * grid_value(e, x, from + i * step, axis + 1, where, edge);
  }
  return sum;
}

static tn_status grid_sample_eval(tn_eval *e) {
  const tn_lit *x = e->in[0], *grid = e->in[1];
  const int n = x->rank - 2;
  if (n < 1 || grid->rank != x->rank || grid->dims[0] != x->dims[0] || grid->dims[x->rank - 1] != n ||
      tn_dtype_cls(x->dtype) == TN_CLASS_STRING || tn_dtype_cls(x->dtype) == TN_CLASS_COMPLEX)
    return tn_eval_fail(e, TN_MISMATCH, "the grid does not fit the input");
  int64_t dims[TN_MAX_RANK] = {x->dims[0], x->dims[1]}, points = 1, plane = 1;
  for (int i = 2; i < x->rank; i++) {
    points *= dims[i] = grid->dims[i - 1];
    plane *= x->dims[i];
  }
  const double edge = tn_eval_int(e, "align_corners") ? 0 : 0.5;
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, dims, &y));
  for (int64_t i = 0; i < y->count && plane > 0; i++) {
    double where[TN_MAX_RANK];
    const int64_t image = i / points / dims[1], p = image * points + i % points;
    for (int a = 0; a < n; a++) where[a] = grid_position(e, tn_lit_f64(grid, p * n + n - 1 - a), x->dims[2 + a], edge);
    tn_store_f64(y->dtype, tn_lit_data(y), i, grid_value(e, x, i / points * plane, 2, where, edge));
  }
  return TN_OK;
}

/* The first version called the modes by their two-dimensional names. */
static tn_status grid_sample_import_16(tn_import *im) {
  tn_str mode;
  TN_TRY(tn_import_str(im, "mode", "bilinear", &mode));
  tn_node *node = tn_import_node(im, "grid_sample", im->in, im->n_in, im->n_out);
  const bool cubic = tn_str_is(mode, "bicubic"), nearest = tn_str_is(mode, "nearest");
  if (!cubic && !nearest && !tn_str_is(mode, "bilinear"))
    return tn_import_fail(im, TN_INVALID, "unknown mode '%.*s'", (int)(mode.len > 40 ? 40 : mode.len), mode.ptr);
  tn_import_set_str(node, "mode", cubic ? "cubic" : nearest ? "nearest" : "linear");
  TN_TRY(tn_import_copy_attrs(im, node));
  tn_import_finish(im, node);
  return TN_OK;
}

TN_OP(grid_sample){
    .name = "grid_sample",
    .in = {{"x", GRID_NUMBERS, "T1", .rank_as = 2}, {"grid", TN_SET_FLOATS, "T2", .rank_as = 1}},
    .out = {{"y", GRID_NUMBERS, "T1", 0}},
    .attrs = {{"align_corners", TN_ATTR_INT, .has_default = true},
              {"mode", TN_ATTR_STR, .s = "linear"},
              {"padding_mode", TN_ATTR_STR, .s = "zeros"}},
    .type = grid_sample_type,
    .shape = grid_sample_shape,
    .eval = grid_sample_eval,
    .kernel = "grid_sample",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "reads the input at the normalised positions of a grid",
};
TN_ONNX(ai, GridSample, 16, 19, grid_sample, grid_sample_import_16)
TN_ONNX(ai, GridSample, 20, TN_LATEST, grid_sample, tn_import_same)

static tn_status grid_affine_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 3, 3));
  TN_TRY(tn_rule_need_rank(r, 1, 1, 1));
  if (!tn_rule_has_rank(r, 1) || !tn_sym_is_int(r->in[1]->dims[0])) return TN_OK;
  const int64_t axes = r->in[1]->dims[0]->k - 2;
  if (axes != 2 && axes != 3)
    return tn_rule_fail(r, TN_MISMATCH, "size has %lld entries, expected 4 or 5", (long long)(axes + 2));
  int64_t n;
  tn_sym *size;
  const bool known = tn_rule_ints(r, 1, &n, &size) && n == axes + 2;
  tn_sym dims[5];
  dims[0] = known && size[0] ? size[0] : tn_rule_fresh(r, 0, 0, 0, NULL);
  for (int i = 1; i <= axes; i++) dims[i] = known && size[i + 1] ? size[i + 1] : tn_rule_fresh(r, 0, i, 0, NULL);
  dims[axes + 1] = tn_sym_int(r->syms, axes);
  if (tn_rule_has_rank(r, 0)) {
    const tn_sym *theta = r->in[0]->dims;
    TN_TRY(tn_rule_unify(r, theta[0], dims[0], "theta and size", 0, known && size[0] ? &dims[0] : NULL));
    TN_TRY(tn_rule_unify(r, theta[1], dims[axes + 1], "theta and size", 1, NULL));
    TN_TRY(tn_rule_unify(r, theta[2], tn_sym_int(r->syms, axes + 1), "theta and size", 2, NULL));
  }
  tn_rule_set(r, 0, (int)axes + 2, dims);
  return TN_OK;
}

static double grid_affine_at(int64_t i, int64_t n, bool align) {
  if (align) return n > 1 ? -1 + 2 * (double)i / (double)(n - 1) : -1;
  return -1 + 1 / (double)n + 2 * (double)i / (double)n;
}

static tn_status grid_affine_eval(tn_eval *e) {
  const tn_lit *theta = e->in[0], *size = e->in[1];
  const int64_t n = size->count - 2;
  if ((n != 2 && n != 3) || theta->rank != 3 || theta->dims[1] != n || theta->dims[2] != n + 1 ||
      theta->dims[0] != tn_lit_i64_at(size, 0))
    return tn_eval_fail(e, TN_MISMATCH, "theta does not fit a size of %lld entries", (long long)size->count);
  int64_t dims[5] = {theta->dims[0]};
  for (int64_t i = 1; i <= n; i++) dims[i] = tn_lit_i64_at(size, i + 1);
  dims[n + 1] = n;
  const bool align = tn_eval_int(e, "align_corners") != 0;
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, theta->dtype, (int)n + 2, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    int64_t rest = i / n;
    double sum = 0;
    double at[3];
    for (int64_t a = 0; a < n; a++) {
      at[a] = grid_affine_at(rest % dims[n - a], dims[n - a], align);
      rest /= dims[n - a];
    }
    for (int64_t c = 0; c <= n; c++) sum += tn_lit_f64(theta, (rest * n + i % n) * (n + 1) + c) * (c < n ? at[c] : 1);
    tn_store_f64(y->dtype, tn_lit_data(y), i, sum);
  }
  return TN_OK;
}

TN_OP(affine_grid){
    .name = "affine_grid",
    .in = {{"theta", TN_SET_FLOATS, "T1", .rank = 3}, {"size", TN_SET(I64), NULL, TN_PORT_SHAPES}},
    .out = {{"grid", TN_SET_FLOATS, "T1", 0}},
    .attrs = {{"align_corners", TN_ATTR_INT, .has_default = true}},
    .type = tn_type_as_input,
    .shape = grid_affine_shape,
    .eval = grid_affine_eval,
    .kernel = "affine_grid",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "the grid of positions that an affine map sends an image's pixels to",
};
TN_ONNX(ai, AffineGrid, 20, TN_LATEST, affine_grid, tn_import_same)
