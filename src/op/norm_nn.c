/* Normalisations: BatchNormalization, InstanceNormalization, LayerNormalization, GroupNormalization, RMSNormalization
 * and LRN. */
#include <math.h>
#include <string.h>

#include "ir/axis.h"
#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"
#include "op/ms.h"

/* Input i, when its rank is known, is a vector of n elements. */
static tn_status norm_vector(tn_rule *r, int i, tn_sym n, const char *what) {
  TN_TRY(tn_rule_need_rank(r, i, 1, 1));
  if (!tn_rule_has_rank(r, i)) return TN_OK;
  return tn_rule_unify(r, r->in[i]->dims[0], n, what, 0, NULL);
}

static tn_status norm_channel_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 2, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  for (int i = 1; i < 3; i++)
    TN_TRY(norm_vector(r, i, r->in[0]->dims[1], i == 1 ? "scale and channels" : "bias and channels"));
  return tn_shape_as_input(r);
}

static const tn_lit *norm_input(const tn_eval *e, int i) { return i < e->n_in ? e->in[i] : NULL; }

static int64_t norm_extent(const tn_lit *x, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; i++) n *= x->dims[i];
  return n;
}

/* Mean and variance of elements [from, from + n). */
static void norm_moments(const tn_lit *x, int64_t from, int64_t n, double *mean, double *var) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) sum += tn_lit_f64(x, from + i);
  *mean = sum / (double)n;
  for (int64_t i = 0; i < n; i++) {
    const double v = tn_lit_f64(x, from + i) - *mean;
    squares += v * v;
  }
  *var = squares / (double)n;
}

static tn_status norm_instance_eval(tn_eval *e) {
  const tn_lit *x = e->in[0];
  if (x->rank < 2 || e->in[1]->count != x->dims[1] || e->in[2]->count != x->dims[1])
    return tn_eval_fail(e, TN_MISMATCH, "scale or bias does not have an element per channel");
  const int64_t n = norm_extent(x, 2, x->rank);
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  for (int64_t i = 0; n > 0 && i < x->count / n; i++) {
    double mean, var;
    const int64_t c = i % x->dims[1];
    norm_moments(x, i * n, n, &mean, &var);
    const double inv = 1 / sqrt(var + tn_eval_float(e, "epsilon"));
    for (int64_t j = i * n; j < (i + 1) * n; j++)
      tn_store_f64(y->dtype, tn_lit_data(y), j,
                   (tn_lit_f64(x, j) - mean) * inv * tn_lit_f64(e->in[1], c) + tn_lit_f64(e->in[2], c));
  }
  return TN_OK;
}

static tn_status norm_instance_import_1(tn_import *im) {
  tn_import_ignore(im, "consumed_inputs");
  return tn_import_same(im);
}

TN_OP(instance_norm){
    .name = "instance_norm",
    .in = {{"x", TN_SET_FLOATS, "T", 0}, {"scale", TN_SET_FLOATS, "T", 0}, {"b", TN_SET_FLOATS, "T", 0}},
    .out = {{"y", TN_SET_FLOATS, "T", 0}},
    .attrs = {{"epsilon", TN_ATTR_FLOAT, .f = (double)1e-5f}},
    .type = tn_type_as_input,
    .shape = norm_channel_shape,
    .eval = norm_instance_eval,
    .kernel = "instance_norm",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "scale * (x - mean) / sqrt(variance + epsilon) + b, by image and channel",
};
TN_ONNX(ai, InstanceNormalization, 1, 5, instance_norm, norm_instance_import_1)
TN_ONNX(ai, InstanceNormalization, 6, TN_LATEST, instance_norm, tn_import_same)

static tn_status norm_group_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 2, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const int64_t groups = tn_rule_int(r, "num_groups");
  if (groups < 1) return tn_rule_fail(r, TN_INVALID, "attribute 'num_groups' is %lld", (long long)groups);
  const tn_sym n = tn_sym_int(r->syms, groups), c = r->in[0]->dims[1];
  TN_TRY(tn_rule_demand(r, tn_sym_eq(r->syms, tn_sym_mod(r->syms, c, n), tn_sym_int(r->syms, 0)),
                        "%s channels do not divide into %lld groups", tn_sym_text(r->syms, c), (long long)groups));
  const bool per_group = tn_rule_int(r, "per_group") != 0;
  for (int i = 1; i < 3; i++)
    TN_TRY(norm_vector(r, i, per_group ? n : c, i == 1 ? "scale and channels" : "bias and channels"));
  return tn_shape_as_input(r);
}

static tn_status norm_group_eval(tn_eval *e) {
  const tn_lit *x = e->in[0], *scale = e->in[1], *bias = e->in[2];
  const int64_t groups = tn_eval_int(e, "num_groups"), by_group = tn_eval_int(e, "per_group");
  if (x->rank < 2 || groups < 1 || x->dims[1] % groups != 0 || scale->count != (by_group ? groups : x->dims[1]) ||
      bias->count != scale->count)
    return tn_eval_fail(e, TN_MISMATCH, "scale, bias or groups do not fit the channels");
  const int64_t spatial = norm_extent(x, 2, x->rank), n = x->dims[1] / groups * spatial;
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  for (int64_t i = 0; n > 0 && i < x->count / n; i++) {
    double mean, var;
    norm_moments(x, i * n, n, &mean, &var);
    for (int64_t j = i * n; j < (i + 1) * n; j++) {
      const int64_t p = by_group ? i % groups : j / spatial % x->dims[1];
      tn_store_f64(y->dtype, tn_lit_data(y), j,
                   (tn_lit_f64(x, j) - mean) / sqrt(var + tn_eval_float(e, "epsilon")) * tn_lit_f64(scale, p) +
                       tn_lit_f64(bias, p));
    }
  }
  return TN_OK;
}

/* The first version scaled by group, the next one by channel. */
static tn_status norm_group_import_18(tn_import *im) {
  tn_node *node = tn_import_node(im, "group_norm", im->in, im->n_in, im->n_out);
  tn_import_set_int(node, "per_group", 1);
  TN_TRY(tn_import_copy_attrs(im, node));
  tn_import_finish(im, node);
  return TN_OK;
}

TN_OP(group_norm){
    .name = "group_norm",
    .in = {{"x", TN_SET_FLOATS, "T", 0}, {"scale", TN_SET_FLOATS, "T", 0}, {"bias", TN_SET_FLOATS, "T", 0}},
    .out = {{"y", TN_SET_FLOATS, "T", 0}},
    .attrs = {{"epsilon", TN_ATTR_FLOAT, .f = (double)1e-5f},
              {"num_groups", TN_ATTR_INT, .required = true},
              {"per_group", TN_ATTR_INT, .has_default = true},
              {"stash_type", TN_ATTR_INT, .i = 1}},
    .type = tn_type_as_input,
    .shape = norm_group_shape,
    .eval = norm_group_eval,
    .kernel = "group_norm",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "normalisation over groups of channels, scaled by channel, or by group where per_group is set",
};
TN_ONNX(ai, GroupNormalization, 18, 20, group_norm, norm_group_import_18)
TN_ONNX(ai, GroupNormalization, 21, TN_LATEST, group_norm, tn_import_same)

/* Mean and InvStdDev have the type `stash_type` names. */
static tn_status norm_layer_type(tn_rule *r) {
  const int64_t stash = tn_rule_int(r, "stash_type");
  if (stash != TN_F32 && stash != TN_BF16 && stash != TN_F64 && stash != TN_F16)
    return tn_rule_fail(r, TN_INVALID, "attribute 'stash_type' is %lld", (long long)stash);
  tn_rule_set_dtype(r, 0, r->in[0]->dtype);
  for (int i = 1; i < r->n_out; i++)
    if (r->out_present[i]) tn_rule_set_dtype(r, i, (tn_dtype)stash);
  return TN_OK;
}

/* Every dim of a parameter is 1 or that of x at the same place from the end. */
static tn_status norm_fits(tn_rule *r, int i, const char *what) {
  if (!tn_rule_has_rank(r, i)) return TN_OK;
  tn_symtab *t = r->syms;
  const tn_type *x = r->in[0], *p = r->in[i];
  if (p->rank > x->rank) return tn_rule_fail(r, TN_MISMATCH, "%s of rank %d for rank %d", what, p->rank, x->rank);
  for (int d = 0; d < p->rank; d++) {
    const tn_sym want = x->dims[x->rank - p->rank + d];
    TN_TRY(tn_rule_demand(r, tn_sym_or(t, tn_sym_eq(t, p->dims[d], tn_sym_int(t, 1)), tn_sym_eq(t, p->dims[d], want)),
                          "cannot broadcast dim %d of %s: %s with %s", d, what, tn_sym_text(t, p->dims[d]),
                          tn_sym_text(t, want)));
  }
  return TN_OK;
}

static tn_status norm_layer_shape(tn_rule *r) {
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *x = r->in[0];
  int axis;
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), x->rank, &axis));
  TN_TRY(norm_fits(r, 1, "scale"));
  TN_TRY(norm_fits(r, 2, "bias"));
  tn_rule_set(r, 0, x->rank, x->dims);
  tn_sym *dims = tn_rule_dims(r, x->rank);
  for (int i = 0; i < x->rank; i++) dims[i] = i < axis ? x->dims[i] : tn_sym_int(r->syms, 1);
  for (int i = 1; i < r->n_out; i++)
    if (r->out_present[i]) tn_rule_set(r, i, x->rank, dims);
  return TN_OK;
}

static tn_status norm_layer_eval_any(tn_eval *e, bool is_rms) {
  const tn_lit *x = e->in[0], *scale = e->in[1], *bias = is_rms ? NULL : norm_input(e, 2);
  int axis;
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), x->rank, &axis));
  int rank;
  int64_t dims[TN_MAX_RANK], small[TN_MAX_RANK], n = norm_extent(x, axis, x->rank);
  for (int i = 1; i < 3 - is_rms; i++) {
    const tn_lit *p = norm_input(e, i);
    if (!p) continue;
    TN_TRY(tn_eval_bcast(e, x->rank, x->dims, p->rank, p->dims, &rank, dims));
    for (int d = 0; d < rank; d++)
      if (rank != x->rank || dims[d] != x->dims[d])
        return tn_eval_fail(e, TN_MISMATCH, "a parameter does not broadcast to the input");
  }
  tn_lit *out[3] = {NULL, NULL, NULL};
  for (int i = 0; i < x->rank; i++) small[i] = i < axis ? x->dims[i] : 1;
  for (int i = 0; i < e->n_out && i < 3; i++)
    if (e->out_present[i]) TN_TRY(tn_eval_out(e, i, tn_eval_out_dtype(e, i), x->rank, i ? small : x->dims, &out[i]));
  for (int64_t row = 0; row < norm_extent(x, 0, axis); row++) {
    double mean, var;
    norm_moments(x, row * n, n, &mean, &var);
    if (is_rms) {
      var += mean * mean;
      mean = 0;
    }
    const double inv = 1 / sqrt(var + tn_eval_float(e, "epsilon"));
    if (out[1]) tn_store_f64(out[1]->dtype, tn_lit_data(out[1]), row, mean);
    if (out[2]) tn_store_f64(out[2]->dtype, tn_lit_data(out[2]), row, inv);
    for (int64_t i = row * n; out[0] && i < (row + 1) * n; i++) {
      const double s = tn_lit_f64(scale, tn_bcast_index(i, x->rank, x->dims, scale->rank, scale->dims));
      const double b = bias ? tn_lit_f64(bias, tn_bcast_index(i, x->rank, x->dims, bias->rank, bias->dims)) : 0;
      tn_store_f64(out[0]->dtype, tn_lit_data(out[0]), i, (tn_lit_f64(x, i) - mean) * inv * s + b);
    }
  }
  return TN_OK;
}

static tn_status norm_layer_eval(tn_eval *e) { return norm_layer_eval_any(e, false); }
static tn_status norm_rms_eval(tn_eval *e) { return norm_layer_eval_any(e, true); }

TN_OP(layer_norm){
    .name = "layer_norm",
    .in = {{"x", TN_SET_FLOATS, "T", 0}, {"scale", TN_SET_FLOATS, "T", 0}, {"b", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL}},
    .out = {{"y", TN_SET_FLOATS, "T", 0},
            {"mean", TN_SET_FLOATS, NULL, TN_PORT_OPTIONAL},
            {"inv_std_dev", TN_SET_FLOATS, NULL, TN_PORT_OPTIONAL}},
    .attrs = {{"axis", TN_ATTR_INT, .i = -1},
              {"epsilon", TN_ATTR_FLOAT, .f = (double)1e-5f},
              {"stash_type", TN_ATTR_INT, .i = 1}},
    .type = norm_layer_type,
    .shape = norm_layer_shape,
    .eval = norm_layer_eval,
    .kernel = "layer_norm",
    .axis = tn_axis_before,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "normalisation over all axes from `axis` on, then scale and shift",
};
TN_ONNX(ai, LayerNormalization, 17, TN_LATEST, layer_norm, tn_import_same)
/* ONNX Runtime had it under this name before the standard did: its optimizers write it into models of any opset. */
TN_ONNX(ai, LayerNormalization, 1, 16, layer_norm, tn_import_same)

static tn_status norm_rms_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[1]->dtype);
  return TN_OK;
}

TN_OP(rms_norm){
    .name = "rms_norm",
    .in = {{"x", TN_SET_FLOATS, NULL, 0}, {"scale", TN_SET_FLOATS, "V", 0}},
    .out = {{"y", TN_SET_FLOATS, "V", 0}},
    .attrs = {{"axis", TN_ATTR_INT, .i = -1},
              {"epsilon", TN_ATTR_FLOAT, .f = (double)1e-5f},
              {"stash_type", TN_ATTR_INT, .i = 1}},
    .type = norm_rms_type,
    .shape = norm_layer_shape,
    .eval = norm_rms_eval,
    .kernel = "rms_norm",
    .axis = tn_axis_before,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "x / sqrt(mean(x * x) + epsilon) * scale, the mean over all axes from `axis` on",
};
TN_ONNX(ai, RMSNormalization, 23, TN_LATEST, rms_norm, tn_import_same)

/* Number of parameters: channels, or with spatial == 0 one for each element of an image. */
static tn_status norm_batch_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 1, TN_MAX_RANK));
  const bool spatial = tn_rule_int(r, "spatial") != 0;
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *x = r->in[0];
  static const char *const names[] = {"", "scale and channels", "bias and channels", "mean and channels",
                                      "variance and channels"};
  const tn_sym c = x->rank > 1 ? x->dims[1] : tn_sym_int(r->syms, 1);
  for (int i = 1; i < 5 && spatial; i++) TN_TRY(norm_vector(r, i, c, names[i]));
  tn_rule_set(r, 0, x->rank, x->dims);
  for (int i = 1; i < r->n_out; i++)
    if (r->out_present[i] && tn_rule_has_rank(r, i + 2)) tn_rule_set(r, i, r->in[i + 2]->rank, r->in[i + 2]->dims);
  return TN_OK;
}

static tn_status norm_batch_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[0]->dtype);
  for (int i = 1; i < r->n_out; i++)
    if (r->out_present[i]) tn_rule_set_dtype(r, i, r->in[3]->dtype);
  return TN_OK;
}

static tn_status norm_batch_eval(tn_eval *e) {
  const tn_lit *x = e->in[0];
  if (x->rank < 1) return tn_eval_fail(e, TN_MISMATCH, "input of rank 0, expected 1 or more");
  int64_t channels = x->rank > 1 ? x->dims[1] : 1, n = norm_extent(x, 2, x->rank);
  if (tn_eval_int(e, "spatial") == 0) {
    channels *= n;
    n = 1;
  }
  for (int i = 1; i < 5; i++)
    if (e->in[i]->count != channels) return tn_eval_fail(e, TN_MISMATCH, "input %d does not fit the channels", i);
  const bool training = tn_eval_int(e, "training_mode") != 0;
  const double epsilon = tn_eval_float(e, "epsilon"), keep = tn_eval_float(e, "momentum");
  tn_lit *out[3] = {NULL, NULL, NULL};
  for (int i = 0; i < e->n_out && i < 3; i++) {
    const tn_lit *like = i ? e->in[i + 2] : x;
    if (e->out_present[i]) TN_TRY(tn_eval_out(e, i, tn_eval_out_dtype(e, i), like->rank, like->dims, &out[i]));
  }
  for (int64_t c = 0; c < channels; c++) {
    double mean = tn_lit_f64(e->in[3], c), var = tn_lit_f64(e->in[4], c);
    const double old_mean = mean, old_var = var;
    if (training) {
      double sum = 0, squares = 0, count = 0;
      for (int64_t i = 0; i < x->count; i++) {
        if (i / n % channels != c) continue;
        sum += tn_lit_f64(x, i);
        count += 1;
      }
      mean = sum / count;
      for (int64_t i = 0; i < x->count; i++) {
        const double away = tn_lit_f64(x, i) - mean;
        if (i / n % channels == c) squares += away * away;
      }
      var = squares / count;
    }
    if (out[1]) tn_store_f64(out[1]->dtype, tn_lit_data(out[1]), c, keep * old_mean + (1 - keep) * mean);
    if (out[2]) tn_store_f64(out[2]->dtype, tn_lit_data(out[2]), c, keep * old_var + (1 - keep) * var);
    for (int64_t i = c * n; out[0] && n > 0 && i < x->count; i += channels * n)
      for (int64_t j = 0; j < n; j++)
        tn_store_f64(
            x->dtype, tn_lit_data(out[0]), i + j,
            (tn_lit_f64(x, i + j) - mean) / sqrt(var + epsilon) * tn_lit_f64(e->in[1], c) + tn_lit_f64(e->in[2], c));
  }
  return TN_OK;
}

/* Before opset 14 the outputs after the first said that this is training; the last two are the batch's own moments,
 * which are running ones that keep nothing of the old. */
static tn_status norm_batch_import_1(tn_import *im) {
  bool training = false;
  tn_import_ignore(im, "consumed_inputs");
  tn_import_ignore(im, "is_test");
  for (int i = 1; i < im->n_out; i++) training = training || tn_im_out(im, i);
  tn_node *node = tn_import_node(im, "batch_norm", im->in, im->n_in, training ? 3 : 1);
  TN_TRY(tn_import_copy_attrs(im, node));
  if (training) tn_import_set_int(node, "training_mode", 1);
  tn_import_finish(im, node);
  if (!tn_im_out(im, 3) && !tn_im_out(im, 4)) return TN_OK;
  tn_node *own = tn_import_node(im, "batch_norm", im->in, im->n_in, 3);
  memcpy(own->attrs, node->attrs, (size_t)tn_op_n_attrs(node->op) * sizeof *node->attrs);
  tn_import_set_float(own, "momentum", 0);
  for (int i = 3; i < 5; i++)
    if (tn_im_out(im, i)) im->out[i] = own->out[i - 2];
  return TN_OK;
}

/* The moments of training are those of the whole batch. */
static int batch_norm_axis(const tn_node *node, int input, int axis) {
  const tn_attr *training = tn_op_attr(node, "training_mode");
  return training && training->i ? TN_AXIS_MIXED : tn_axis_batch(node, input, axis);
}

TN_OP(batch_norm){
    .name = "batch_norm",
    .in = {{"x", TN_SET_FLOATS, "T", 0},
           {"scale", TN_SET_FLOATS, "T1", 0},
           {"b", TN_SET_FLOATS, "T1", 0},
           {"mean", TN_SET_FLOATS, "T2", 0},
           {"var", TN_SET_FLOATS, "T2", 0}},
    .out = {{"y", TN_SET_FLOATS, "T", 0},
            {"running_mean", TN_SET_FLOATS, "T2", TN_PORT_OPTIONAL},
            {"running_var", TN_SET_FLOATS, "T2", TN_PORT_OPTIONAL}},
    .attrs = {{"epsilon", TN_ATTR_FLOAT, .f = (double)1e-5f},
              {"momentum", TN_ATTR_FLOAT, .f = (double)0.9f},
              {"spatial", TN_ATTR_INT, .i = 1},
              {"training_mode", TN_ATTR_INT, .has_default = true}},
    .type = norm_batch_type,
    .shape = norm_batch_shape,
    .eval = norm_batch_eval,
    .kernel = "batch_norm",
    .axis = batch_norm_axis,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "scale * (x - mean) / sqrt(var + epsilon) + b by channel; with training_mode by the batch's own moments",
};
TN_ONNX(ai, BatchNormalization, 1, 13, batch_norm, norm_batch_import_1)
TN_ONNX(ai, BatchNormalization, 14, TN_LATEST, batch_norm, tn_import_same)

static tn_status norm_lrn_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 2, TN_MAX_RANK));
  if (tn_rule_int(r, "size") < 1)
    return tn_rule_fail(r, TN_INVALID, "attribute 'size' is %lld", (long long)tn_rule_int(r, "size"));
  return tn_shape_as_input(r);
}

static tn_status norm_lrn_eval(tn_eval *e) {
  const tn_lit *x = e->in[0];
  const int64_t size = tn_eval_int(e, "size");
  if (x->rank < 2 || size < 1)
    return tn_eval_fail(e, TN_MISMATCH, "lrn of rank %d, size %lld", x->rank, (long long)size);
  const int64_t n = norm_extent(x, 2, x->rank), channels = x->dims[1];
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t c = i / n % channels;
    double sum = 0;
    for (int64_t o = 0; o < channels; o++) {
      if (o < c - (size - 1) / 2 || o > c + size / 2) continue;
      const double v = tn_lit_f64(x, i + (o - c) * n);
      sum += v * v;
    }
    const double base = tn_eval_float(e, "bias") + tn_eval_float(e, "alpha") / (double)size * sum;
    tn_store_f64(y->dtype, tn_lit_data(y), i, tn_lit_f64(x, i) / pow(base, tn_eval_float(e, "beta")));
  }
  return TN_OK;
}

TN_OP(lrn){
    .name = "lrn",
    .in = {{"x", TN_SET_FLOATS, "T", 0}},
    .out = {{"y", TN_SET_FLOATS, "T", 0}},
    .attrs = {{"alpha", TN_ATTR_FLOAT, .f = (double)1e-4f},
              {"beta", TN_ATTR_FLOAT, .f = 0.75},
              {"bias", TN_ATTR_FLOAT, .f = 1.0},
              {"size", TN_ATTR_INT, .required = true}},
    .type = tn_type_as_input,
    .shape = norm_lrn_shape,
    .eval = norm_lrn_eval,
    .kernel = "lrn",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta",
};
TN_ONNX(ai, LRN, 1, TN_LATEST, lrn, tn_import_same)
