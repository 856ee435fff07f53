/* Pools over windows and over whole planes: MaxPool, AveragePool, LpPool and their global forms. */
#include <math.h>

#include "ir/axis.h"
#include "ir/import.h"
#include "op/window.h"

/* Of an input of unknown rank the kernel tells the rank. */
static tn_status pool_unknown(tn_rule *r) {
  const tn_attr *kernel = tn_rule_attr(r, "kernel_shape");
  if (!kernel || kernel->n < 1 || kernel->n > TN_WINDOW_MAX) return TN_OK;
  const int rank = (int)kernel->n + 2;
  tn_sym *dims = tn_rule_dims(r, rank);
  for (int o = 0; o < r->n_out; o++) {
    if (!r->out_present[o]) continue;
    for (int i = 0; i < rank; i++) dims[i] = tn_rule_fresh(r, o, i, 0, NULL);
    tn_rule_set(r, o, rank, dims);
  }
  return TN_OK;
}

static tn_status pool_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 3, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, 0)) return pool_unknown(r);
  const tn_type *x = r->in[0];
  tn_window_attrs w;
  TN_TRY(tn_window_read(r->ctx, r->loc, r->node, x->rank - 2, &w));
  if (!w.has_kernel) return tn_rule_fail(r, TN_INVALID, "attribute 'kernel_shape' is missing or empty");
  tn_sym *dims = tn_rule_dims(r, x->rank);
  dims[0] = x->dims[0];
  dims[1] = x->dims[1];
  for (int i = 0; i < w.n; i++)
    TN_TRY(tn_window_dim(r, &w, i, x->dims[2 + i], tn_sym_int(r->syms, w.kernel[i]), &dims[2 + i]));
  for (int i = 0; i < r->n_out; i++)
    if (r->out_present[i]) tn_rule_set(r, i, x->rank, dims);
  return TN_OK;
}

static tn_status pool_max_type(tn_rule *r) {
  TN_TRY(tn_type_as_input(r));
  if (r->n_out > 1 && r->out_present[1]) tn_rule_set_dtype(r, 1, TN_I64);
  return TN_OK;
}

/* Geometry and output literal `i` of an evaluation. */
static tn_status pool_eval_begin(tn_eval *e, int i, tn_dtype d, tn_window *w, tn_lit **y) {
  const tn_lit *x = e->in[0];
  if (x->rank < 3) return tn_eval_fail(e, TN_MISMATCH, "a pool needs an input of rank 3 or more, not %d", x->rank);
  TN_TRY(tn_window_eval(e, x->rank - 2, x->dims + 2, NULL, w));
  int64_t dims[TN_MAX_RANK] = {x->dims[0], x->dims[1]};
  for (int a = 0; a < w->n; a++) dims[2 + a] = w->out[a];
  return tn_eval_out(e, i, d, x->rank, dims, y);
}

static int64_t pool_column_major(const tn_window *w, int64_t at) {
  int64_t coords[TN_WINDOW_MAX], index = 0;
  for (int i = w->n - 1; i >= 0; i--) {
    coords[i] = at % w->in[i];
    at /= w->in[i];
  }
  for (int i = w->n - 1; i >= 0; i--) index = index * w->in[i] + coords[i];
  return index;
}

static tn_status pool_max_eval(tn_eval *e) {
  const tn_lit *x = e->in[0];
  tn_window w;
  tn_lit *y = NULL, *index = NULL;
  if (e->out_present[0]) TN_TRY(pool_eval_begin(e, 0, x->dtype, &w, &y));
  if (e->n_out > 1 && e->out_present[1]) TN_TRY(pool_eval_begin(e, 1, TN_I64, &w, &index));
  if (!y && !index) return TN_OK;
  const bool by_column = tn_eval_int(e, "storage_order") != 0;
  const bool is_float = tn_dtype_is_float(x->dtype);
  for (int64_t i = 0; i < (y ? y : index)->count; i++) {
    const int64_t plane = i / w.n_out;
    int64_t best = -1;
    double most = is_float ? -HUGE_VAL : tn_dtype_cls(x->dtype) == TN_CLASS_UINT ? 0 : -128;
    for (int64_t tap = 0; tap < w.n_taps; tap++) {
      const int64_t at = tn_window_at(&w, i % w.n_out, tap);
      if (at < 0) continue;
      const double v = tn_lit_f64(x, plane * w.n_in + at);
      if (best >= 0 && !(v > most)) continue;
      best = at;
      most = v;
    }
    if (y) tn_store_f64(y->dtype, tn_lit_data(y), i, most);
    if (!index) continue;
    const int64_t at = best < 0 ? 0 : by_column ? pool_column_major(&w, best) : best;
    tn_store_i64(TN_I64, tn_lit_data(index), i, plane * w.n_in + at);
  }
  return TN_OK;
}

/* Whether tap `tap` of output `at` lies in the padded input (windows of ceil_mode may reach past it). */
static bool pool_in_padded(const tn_window *w, int64_t at, int64_t tap) {
  for (int i = w->n - 1; i >= 0; i--) {
    const int64_t x = at % w->out[i] * w->stride[i] + tap % w->kernel[i] * w->dilation[i] - w->lo[i];
    at /= w->out[i];
    tap /= w->kernel[i];
    if (x >= w->in[i] + w->hi[i]) return false;
  }
  return true;
}

static tn_status pool_average_eval(tn_eval *e) {
  const tn_lit *x = e->in[0];
  tn_window w;
  tn_lit *y;
  TN_TRY(pool_eval_begin(e, 0, x->dtype, &w, &y));
  const bool with_pad = tn_eval_int(e, "count_include_pad") != 0;
  for (int64_t i = 0; i < y->count; i++) {
    double sum = 0, n = 0;
    for (int64_t tap = 0; tap < w.n_taps; tap++) {
      const int64_t at = tn_window_at(&w, i % w.n_out, tap);
      if (at >= 0) sum += tn_lit_f64(x, i / w.n_out * w.n_in + at);
      if (at >= 0 || (with_pad && pool_in_padded(&w, i % w.n_out, tap))) n += 1;
    }
    tn_store_f64(y->dtype, tn_lit_data(y), i, n > 0 ? sum / n : 0);
  }
  return TN_OK;
}

static double pool_eval_p(const tn_eval *e) { return (double)tn_eval_int(e, "p"); }

static tn_status pool_lp_eval(tn_eval *e) {
  const tn_lit *x = e->in[0];
  const double p = pool_eval_p(e);
  tn_window w;
  tn_lit *y;
  TN_TRY(pool_eval_begin(e, 0, x->dtype, &w, &y));
  for (int64_t i = 0; i < y->count; i++) {
    double sum = 0;
    for (int64_t tap = 0; tap < w.n_taps; tap++) {
      const int64_t at = tn_window_at(&w, i % w.n_out, tap);
      if (at >= 0) sum += pow(fabs(tn_lit_f64(x, i / w.n_out * w.n_in + at)), p);
    }
    tn_store_f64(y->dtype, tn_lit_data(y), i, pow(sum, 1 / p));
  }
  return TN_OK;
}

static tn_status pool_global_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 2, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *x = r->in[0];
  tn_sym *dims = tn_rule_dims(r, x->rank);
  for (int i = 0; i < x->rank; i++) dims[i] = i < 2 ? x->dims[i] : tn_sym_int(r->syms, 1);
  tn_rule_set(r, 0, x->rank, dims);
  return TN_OK;
}

/* kind: 0 average, 1 maximum, 2 Lp norm */
static tn_status pool_global_eval(tn_eval *e, int kind) {
  const tn_lit *x = e->in[0];
  if (x->rank < 2) return tn_eval_fail(e, TN_MISMATCH, "a pool needs an input of rank 2 or more, not %d", x->rank);
  int64_t dims[TN_MAX_RANK], n = 1;
  for (int i = 0; i < x->rank; i++) dims[i] = i < 2 ? x->dims[i] : 1;
  for (int i = 2; i < x->rank; i++) n *= x->dims[i];
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    double v = kind == 1 ? -HUGE_VAL : 0;
    for (int64_t j = 0; j < n; j++) {
      const double a = tn_lit_f64(x, i * n + j);
      v = kind == 0 ? v + a : kind == 1 ? fmax(v, a) : v + pow(fabs(a), pool_eval_p(e));
    }
    if (kind == 0) v /= (double)n;
    if (kind == 2) v = pow(v, 1 / pool_eval_p(e));
    tn_store_f64(y->dtype, tn_lit_data(y), i, v);
  }
  return TN_OK;
}

static tn_status pool_global_average_eval(tn_eval *e) { return pool_global_eval(e, 0); }
static tn_status pool_global_max_eval(tn_eval *e) { return pool_global_eval(e, 1); }
static tn_status pool_global_lp_eval(tn_eval *e) { return pool_global_eval(e, 2); }

/* p was a float once; every whole one is the integer of today. */
static tn_status pool_import_p(tn_import *im) {
  double p;
  TN_TRY(tn_import_float(im, "p", 2.0, &p));
  if (!(p >= 1 && p <= 1e6) || floor(p) < p)
    return tn_import_fail(im, TN_UNSUPPORTED, "attribute 'p' is %g: only whole numbers from 1 are done", p);
  tn_node *node = tn_import_node(im, im->row->op->name, im->in, im->n_in, im->n_out);
  tn_import_set_int(node, "p", (int64_t)p);
  TN_TRY(tn_import_copy_attrs(im, node));
  tn_import_finish(im, node);
  return TN_OK;
}

#define POOL_WINDOW_ATTRS                                                                                       \
  {"auto_pad", TN_ATTR_STR, .s = "NOTSET"}, {"kernel_shape", TN_ATTR_INTS, .required = true},                   \
      {"pads", .kind = TN_ATTR_INTS}, {"strides", .kind = TN_ATTR_INTS}, {"dilations", .kind = TN_ATTR_INTS}, { \
    "ceil_mode", TN_ATTR_INT, .has_default = true                                                               \
  }

TN_OP(max_pool){
    .name = "max_pool",
    .in = {{"x", TN_SET_FLOATS | TN_SET(I8) | TN_SET(U8), "T", 0}},
    .out = {{"y", TN_SET_FLOATS | TN_SET(I8) | TN_SET(U8), "T", 0}, {"indices", TN_SET(I64), NULL, TN_PORT_OPTIONAL}},
    .attrs = {POOL_WINDOW_ATTRS, {"storage_order", TN_ATTR_INT, .has_default = true}},
    .type = pool_max_type,
    .shape = pool_shape,
    .eval = pool_max_eval,
    .kernel = "max_pool",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "maximum of each window, and where in the input it was found",
};
TN_ONNX(ai, MaxPool, 1, TN_LATEST, max_pool, tn_import_same)

TN_OP(average_pool){
    .name = "average_pool",
    .in = {{"x", TN_SET_FLOATS, "T", 0}},
    .out = {{"y", TN_SET_FLOATS, "T", 0}},
    .attrs = {POOL_WINDOW_ATTRS, {"count_include_pad", TN_ATTR_INT, .has_default = true}},
    .type = tn_type_as_input,
    .shape = pool_shape,
    .eval = pool_average_eval,
    .kernel = "average_pool",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "mean of each window, over its elements inside the input or, on demand, the padded input",
};
TN_ONNX(ai, AveragePool, 1, TN_LATEST, average_pool, tn_import_same)

TN_OP(lp_pool){
    .name = "lp_pool",
    .in = {{"x", TN_SET_FLOATS, "T", 0}},
    .out = {{"y", TN_SET_FLOATS, "T", 0}},
    .attrs = {POOL_WINDOW_ATTRS, {"p", TN_ATTR_INT, .i = 2}},
    .type = tn_type_as_input,
    .shape = pool_shape,
    .eval = pool_lp_eval,
    .kernel = "lp_pool",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "p-norm of each window",
};
TN_ONNX(ai, LpPool, 1, 1, lp_pool, pool_import_p)
TN_ONNX(ai, LpPool, 2, TN_LATEST, lp_pool, tn_import_same)

TN_OP(global_average_pool){
    .name = "global_average_pool",
    .in = {{"x", TN_SET_FLOATS, "T", 0}},
    .out = {{"y", TN_SET_FLOATS, "T", 0}},
    .type = tn_type_as_input,
    .shape = pool_global_shape,
    .eval = pool_global_average_eval,
    .kernel = "global_average_pool",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "mean over all spatial axes",
};
TN_ONNX(ai, GlobalAveragePool, 1, TN_LATEST, global_average_pool, tn_import_same)

TN_OP(global_max_pool){
    .name = "global_max_pool",
    .in = {{"x", TN_SET_FLOATS, "T", 0}},
    .out = {{"y", TN_SET_FLOATS, "T", 0}},
    .type = tn_type_as_input,
    .shape = pool_global_shape,
    .eval = pool_global_max_eval,
    .kernel = "global_max_pool",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "maximum over all spatial axes",
};
TN_ONNX(ai, GlobalMaxPool, 1, TN_LATEST, global_max_pool, tn_import_same)

TN_OP(global_lp_pool){
    .name = "global_lp_pool",
    .in = {{"x", TN_SET_FLOATS, "T", 0}},
    .out = {{"y", TN_SET_FLOATS, "T", 0}},
    .attrs = {{"p", TN_ATTR_INT, .i = 2}},
    .type = tn_type_as_input,
    .shape = pool_global_shape,
    .eval = pool_global_lp_eval,
    .kernel = "global_lp_pool",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "p-norm over all spatial axes",
};
TN_ONNX(ai, GlobalLpPool, 1, 1, global_lp_pool, pool_import_p)
TN_ONNX(ai, GlobalLpPool, 2, TN_LATEST, global_lp_pool, tn_import_same)
