/* Pieces that importers of com.microsoft and ai.onnx.ml operators are built of. Only for op/. */
#ifndef TN_OP_MS_H
#define TN_OP_MS_H

#include "ir/import.h"

static inline tn_value *tn_im_in(const tn_import *im, int i) { return i < im->n_in ? im->in[i] : NULL; }
static inline bool tn_im_out(const tn_import *im, int i) { return i < im->n_out && im->out_present[i]; }
static inline tn_value *tn_im1(tn_import *im, const char *op, tn_value *a) {
  return tn_import_node(im, op, &a, 1, 1)->out[0];
}
static inline tn_value *tn_im2(tn_import *im, const char *op, tn_value *a, tn_value *b) {
  tn_value *const in[2] = {a, b};
  return tn_import_node(im, op, in, 2, 1)->out[0];
}
static inline tn_value *tn_im3(tn_import *im, const char *op, tn_value *a, tn_value *b, tn_value *c) {
  tn_value *const in[3] = {a, b, c};
  return tn_import_node(im, op, in, 3, 1)->out[0];
}
/* a + b, or a when b is absent. */
static inline tn_value *tn_im_add(tn_import *im, tn_value *a, tn_value *b) { return b ? tn_im2(im, "add", a, b) : a; }
static inline tn_value *tn_im_int(tn_import *im, int64_t v) { return tn_import_const_i64(im, &v, 1); }
static inline tn_value *tn_im_float(tn_import *im, double v) {
  return tn_import_const_lit(im, tn_lit_scalar_f64(&im->ctx->arena, TN_F32, v));
}
static inline tn_value *tn_im_cast(tn_import *im, tn_value *a, tn_dtype to) {
  tn_node *const node = tn_import_node(im, "cast", &a, 1, 1);
  tn_import_set_int(node, "to", to);
  return node->out[0];
}
/* The number v in a's element type. */
static inline tn_value *tn_im_like(tn_import *im, double v, tn_value *a) {
  return tn_im2(im, "cast_like", tn_im_float(im, v), a);
}
/* One equation of one operand: a transpose of unknown rank. */
static inline tn_value *tn_im_einsum(tn_import *im, const char *equation, tn_value *a) {
  tn_node *const node = tn_import_node(im, "einsum", &a, 1, 1);
  tn_import_set_str(node, "equation", equation);
  return node->out[0];
}
/* Bytes that hold 8 / bits numbers each, the lowest first, as bytes of one number along the last axis. */
tn_value *tn_im_unpack(tn_import *im, tn_value *bytes, int64_t bits);
/* The importer's end: output i is v. */
static inline tn_status tn_im_done(tn_import *im, tn_value *v) {
  TN_TRY(tn_import_check_used(im));
  if (tn_im_out(im, 0)) im->out[0] = v;
  return TN_OK;
}
/* INVALID unless inputs 0..n-1 are there. */
TN_MUST_CHECK static inline tn_status tn_im_need(tn_import *im, int n) {
  for (int i = 0; i < n; i++)
    if (!tn_im_in(im, i)) return tn_import_fail(im, TN_INVALID, "input %d is required but absent", i);
  return TN_OK;
}
/* UNSUPPORTED when input (output) i is there. */
TN_MUST_CHECK static inline tn_status tn_im_refuse_in(tn_import *im, int i, const char *what) {
  return tn_im_in(im, i) ? tn_import_fail(im, TN_UNSUPPORTED, "input %d, %s", i, what) : TN_OK;
}
TN_MUST_CHECK static inline tn_status tn_im_refuse_out(tn_import *im, int i, const char *what) {
  return tn_im_out(im, i) ? tn_import_fail(im, TN_UNSUPPORTED, "output %d, %s", i, what) : TN_OK;
}

#endif
