/* RoiAlign and MaxRoiPool. */
#include <math.h>

#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"

/* [regions, channels, height, width] */
static tn_status roi_set(tn_rule *r, int64_t h, int64_t w, int64_t columns) {
  TN_TRY(tn_rule_need_rank(r, 0, 4, 4));
  TN_TRY(tn_rule_need_rank(r, 1, 2, 2));
  if (h < 1 || w < 1) return tn_rule_fail(r, TN_INVALID, "a pooled size of %lld x %lld", (long long)h, (long long)w);
  tn_sym dims[4] = {NULL, NULL, tn_sym_int(r->syms, h), tn_sym_int(r->syms, w)};
  dims[0] = tn_rule_has_rank(r, 1) ? r->in[1]->dims[0] : tn_rule_fresh(r, 0, 0, 0, NULL);
  dims[1] = tn_rule_has_rank(r, 0) ? r->in[0]->dims[1] : tn_rule_fresh(r, 0, 1, 0, NULL);
  if (tn_rule_has_rank(r, 1))
    TN_TRY(tn_rule_unify(r, r->in[1]->dims[1], tn_sym_int(r->syms, columns), "numbers of a region", 1, NULL));
  tn_rule_set(r, 0, 4, dims);
  return TN_OK;
}

static tn_status roi_align_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 1, 2, 2));
  TN_TRY(tn_rule_need_rank(r, 2, 1, 1));
  if (tn_rule_has_rank(r, 1) && tn_rule_has_rank(r, 2))
    TN_TRY(tn_rule_unify(r, r->in[2]->dims[0], r->in[1]->dims[0], "batch_indices and rois", 0, NULL));
  return roi_set(r, tn_rule_int(r, "output_height"), tn_rule_int(r, "output_width"), 4);
}

static tn_status roi_align_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[0]->dtype);
  return TN_OK;
}

/* Weighted neighbour `corner` (0..3) of (y, x) in the plane at `from`; zero outside [-1, size]. */
static double roi_corner(const tn_lit *x, int64_t from, double py, double px, int corner) {
  const double h = (double)x->dims[2], w = (double)x->dims[3];
  if (py < -1 || py > h || px < -1 || px > w) return 0;
  py = fmin(fmax(py, 0), h - 1);
  px = fmin(fmax(px, 0), w - 1);
  const double y = floor(py) + (corner >> 1), z = floor(px) + (corner & 1);
  const double weight = (1 - fabs(py - y)) * (1 - fabs(px - z));
  if (y > h - 1 || z > w - 1) return 0;
  return weight * tn_lit_f64(x, from + (int64_t)y * x->dims[3] + (int64_t)z);
}

static tn_status roi_align_eval(tn_eval *e) {
  const tn_lit *x = e->in[0], *rois = e->in[1], *batch = e->in[2];
  if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 4 || batch->count != rois->dims[0])
    return tn_eval_fail(e, TN_MISMATCH, "rois or batch_indices do not fit");
  const int64_t oh = tn_eval_int(e, "output_height"), ow = tn_eval_int(e, "output_width");
  const int64_t dims[4] = {rois->dims[0], x->dims[1], oh, ow}, samples = tn_eval_int(e, "sampling_ratio");
  const double scale = tn_eval_float(e, "spatial_scale");
  const bool half = tn_eval_str_is(e, "coordinate_transformation_mode", "half_pixel");
  const bool is_max = tn_eval_str_is(e, "mode", "max");
  tn_lit *y;
  if (oh < 1 || ow < 1)
    return tn_eval_fail(e, TN_INVALID, "a pooled size of %lld x %lld", (long long)oh, (long long)ow);
  TN_TRY(tn_eval_out(e, 0, x->dtype, 4, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t roi = i / (ow * oh * dims[1]), c = i / (ow * oh) % dims[1], image = tn_lit_i64_at(batch, roi);
    if (image < 0 || image >= x->dims[0]) return tn_eval_fail(e, TN_MISMATCH, "batch index %lld", (long long)image);
    double box[4];
    for (int j = 0; j < 4; j++) box[j] = tn_lit_f64(rois, roi * 4 + j) * scale - (half ? 0.5 : 0);
    double w = box[2] - box[0], h = box[3] - box[1];
    if (!half) w = fmax(w, 1), h = fmax(h, 1);
    const double bh = h / (double)oh, bw = w / (double)ow;
    const double ny = samples > 0 ? (double)samples : ceil(bh), nx = samples > 0 ? (double)samples : ceil(bw);
    if (!(ny * nx < 1e7)) return tn_eval_fail(e, TN_LIMIT, "region %lld needs too many samples", (long long)roi);
    const int64_t from = (image * x->dims[1] + c) * x->dims[2] * x->dims[3];
    double sum = 0, most = -HUGE_VAL;
    for (double sy = 0.5; sy < ny; sy += 1)
      for (double sx = 0.5; sx < nx; sx += 1)
        for (int corner = 0; corner < 4; corner++) {
          const double v = roi_corner(x, from, box[1] + (double)(i / ow % oh) * bh + sy * bh / ny,
                                      box[0] + (double)(i % ow) * bw + sx * bw / nx, corner);
          sum += v;
          most = fmax(most, v);
        }
    const bool any = ny > 0 && nx > 0;
    tn_store_f64(y->dtype, tn_lit_data(y), i, !any ? 0 : is_max ? most : sum / (ny * nx));
  }
  return TN_OK;
}

/* Before opset 16 regions were not shifted by half a pixel. */
static tn_status roi_align_import_10(tn_import *im) {
  tn_node *node = tn_import_node(im, "roi_align", im->in, im->n_in, im->n_out);
  tn_import_set_str(node, "coordinate_transformation_mode", "output_half_pixel");
  TN_TRY(tn_import_copy_attrs(im, node));
  tn_import_finish(im, node);
  return TN_OK;
}

TN_OP(roi_align){
    .name = "roi_align",
    .in = {{"x", TN_SET_FLOATS, "T1", .rank = 4},
           {"rois", TN_SET_FLOATS, "T1", .rank = 2},
           {"batch_indices", TN_SET(I64), "T2", .rank = 1}},
    .out = {{"y", TN_SET_FLOATS, "T1", 0}},
    .attrs = {{"coordinate_transformation_mode", TN_ATTR_STR, .s = "half_pixel"},
              {"mode", TN_ATTR_STR, .s = "avg"},
              {"output_height", TN_ATTR_INT, .i = 1},
              {"output_width", TN_ATTR_INT, .i = 1},
              {"sampling_ratio", TN_ATTR_INT, .has_default = true},
              {"spatial_scale", TN_ATTR_FLOAT, .f = 1.0}},
    .type = roi_align_type,
    .shape = roi_align_shape,
    .eval = roi_align_eval,
    .kernel = "roi_align",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-4},
    .doc = "pools regions of images by bilinear samples",
};
TN_ONNX(ai, RoiAlign, 10, 15, roi_align, roi_align_import_10)
TN_ONNX(ai, RoiAlign, 16, TN_LATEST, roi_align, tn_import_same)

static tn_status roi_max_shape(tn_rule *r) {
  const tn_attr *a = tn_rule_attr(r, "pooled_shape");
  if (!a || a->n != 2) return tn_rule_fail(r, TN_INVALID, "attribute 'pooled_shape' needs two entries");
  return roi_set(r, a->ints[0], a->ints[1], 5);
}

/* First and end element of bin p of n. */
static void roi_bin(double start, double size, int64_t p, int64_t n, int64_t limit, int64_t *from, int64_t *to) {
  const double a = floor((double)p * size / (double)n) + start, b = ceil((double)(p + 1) * size / (double)n) + start;
  *from = (int64_t)fmin(fmax(a, 0), (double)limit);
  *to = (int64_t)fmin(fmax(b, 0), (double)limit);
}

static tn_status roi_max_eval(tn_eval *e) {
  const tn_lit *x = e->in[0], *rois = e->in[1];
  const tn_attr *a = tn_eval_attr(e, "pooled_shape");
  if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 5 || !a || a->n != 2 || a->ints[0] < 1 || a->ints[1] < 1)
    return tn_eval_fail(e, TN_MISMATCH, "rois or pooled_shape do not fit");
  const int64_t dims[4] = {rois->dims[0], x->dims[1], a->ints[0], a->ints[1]};
  const double scale = tn_eval_float(e, "spatial_scale");
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, 4, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t roi = i / (dims[3] * dims[2] * dims[1]), c = i / (dims[3] * dims[2]) % dims[1];
    const double image = tn_lit_f64(rois, roi * 5);
    double at[4];
    for (int j = 0; j < 4; j++) at[j] = round(tn_lit_f64(rois, roi * 5 + 1 + j) * scale);
    if (!(image >= 0 && image < (double)x->dims[0])) return tn_eval_fail(e, TN_MISMATCH, "batch index %g", image);
    int64_t y0, y1, x0, x1;
    roi_bin(at[1], fmax(at[3] - at[1] + 1, 1), i / dims[3] % dims[2], dims[2], x->dims[2], &y0, &y1);
    roi_bin(at[0], fmax(at[2] - at[0] + 1, 1), i % dims[3], dims[3], x->dims[3], &x0, &x1);
    double most = y1 > y0 && x1 > x0 ? -HUGE_VAL : 0;
    for (int64_t h = y0; h < y1; h++)
      for (int64_t w = x0; w < x1; w++)
        most = fmax(most, tn_lit_f64(x, (((int64_t)image * x->dims[1] + c) * x->dims[2] + h) * x->dims[3] + w));
    tn_store_f64(y->dtype, tn_lit_data(y), i, most);
  }
  return TN_OK;
}

TN_OP(max_roi_pool){
    .name = "max_roi_pool",
    .in = {{"x", TN_SET_FLOATS, "T", .rank = 4}, {"rois", TN_SET_FLOATS, "T", .rank = 2}},
    .out = {{"y", TN_SET_FLOATS, "T", 0}},
    .attrs = {{"pooled_shape", TN_ATTR_INTS, .required = true}, {"spatial_scale", TN_ATTR_FLOAT, .f = 1.0}},
    .type = tn_type_as_input,
    .shape = roi_max_shape,
    .eval = roi_max_eval,
    .kernel = "max_roi_pool",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "maximum of each bin of regions of images",
};
TN_ONNX(ai, MaxRoiPool, 1, TN_LATEST, max_roi_pool, tn_import_same)
