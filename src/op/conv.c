/* Conv and DeformConv. */
#include "op/conv.h"
#include "ir/axis.h"

#include <math.h>

#include "ir/import.h"

/* Channels of the input against the weights: c == cg * group, and group divides the output channels. */
static tn_status conv_channels(tn_rule *r, tn_sym c, tn_sym cg, tn_sym m, int64_t group) {
  tn_symtab *t = r->syms;
  if (group < 1) return tn_rule_fail(r, TN_INVALID, "attribute 'group' is %lld", (long long)group);
  const tn_sym all = tn_sym_muli(t, cg, group);
  TN_TRY(tn_rule_unify(r, c, all, group == 1 ? "input channels and weights" : "input channels and groups of weights", 1,
                       NULL));
  return tn_rule_demand(r, tn_sym_eq(t, tn_sym_mod(t, m, tn_sym_int(t, group)), tn_sym_int(t, 0)),
                        "%s output channels do not divide into %lld groups", tn_sym_text(t, m), (long long)group);
}

tn_status tn_conv_kernel(tn_rule *r, const tn_window_attrs *w, const tn_type *weights, int i, tn_sym *out) {
  *out = weights->dims[2 + i];
  if (!w->has_kernel)
    return tn_rule_demand(r, tn_sym_lt(r->syms, tn_sym_int(r->syms, 0), *out), "spatial dim %d of the weights is %s", i,
                          tn_sym_text(r->syms, *out));
  const tn_sym given = tn_sym_int(r->syms, w->kernel[i]);
  TN_TRY(tn_rule_unify(r, *out, given, "weights and kernel_shape", 2 + i, NULL));
  *out = given;
  return TN_OK;
}

tn_status tn_conv_bias(tn_rule *r, int input, tn_sym m) {
  TN_TRY(tn_rule_need_rank(r, input, 1, 1));
  if (!tn_rule_has_rank(r, input)) return TN_OK;
  return tn_rule_unify(r, r->in[input]->dims[0], m, "bias and output channels", 0, NULL);
}

tn_status tn_conv_shape(tn_rule *r, int x_port, int w_port, int b_port) {
  TN_TRY(tn_rule_need_rank(r, x_port, 2, TN_MAX_RANK));
  TN_TRY(tn_rule_need_rank(r, w_port, 2, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, x_port) && !tn_rule_has_rank(r, w_port)) return TN_OK;
  const bool known = tn_rule_has_rank(r, x_port) && tn_rule_has_rank(r, w_port);
  const int rank = tn_rule_has_rank(r, x_port) ? r->in[x_port]->rank : r->in[w_port]->rank;
  if (!known) {
    tn_sym *dims = tn_rule_dims(r, rank);
    for (int i = 0; i < rank; i++) dims[i] = tn_rule_fresh(r, 0, i, 0, NULL);
    if (tn_rule_has_rank(r, x_port)) dims[0] = r->in[x_port]->dims[0];
    if (tn_rule_has_rank(r, w_port)) dims[1] = r->in[w_port]->dims[0];
    tn_rule_set(r, 0, rank, dims);
    return TN_OK;
  }
  const tn_type *x = r->in[x_port], *weights = r->in[w_port];
  if (x->rank != weights->rank)
    return tn_rule_fail(r, TN_MISMATCH, "input of rank %d with weights of rank %d", x->rank, weights->rank);
  tn_window_attrs w;
  TN_TRY(tn_window_read(r->ctx, r->loc, r->node, rank - 2, &w));
  TN_TRY(conv_channels(r, x->dims[1], weights->dims[1], weights->dims[0], tn_rule_int(r, "group")));
  if (b_port >= 0) TN_TRY(tn_conv_bias(r, b_port, weights->dims[0]));
  tn_sym *dims = tn_rule_dims(r, rank);
  dims[0] = x->dims[0];
  dims[1] = weights->dims[0];
  for (int i = 0; i < rank - 2; i++) {
    tn_sym kernel;
    TN_TRY(tn_conv_kernel(r, &w, weights, i, &kernel));
    TN_TRY(tn_window_dim(r, &w, i, x->dims[2 + i], kernel, &dims[2 + i]));
  }
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}

static tn_status conv_shape(tn_rule *r) { return tn_conv_shape(r, 0, 1, 2); }

/* Channels, groups and bias of literals. */
static tn_status conv_eval_check(tn_eval *e, const tn_lit *x, const tn_lit *w, const tn_lit *b, int64_t group) {
  if (x->rank < 2 || w->rank != x->rank)
    return tn_eval_fail(e, TN_MISMATCH, "input of rank %d with weights of rank %d", x->rank, w->rank);
  if (group < 1 || w->dims[0] % group != 0 || x->dims[1] % group != 0 || x->dims[1] / group != w->dims[1])
    return tn_eval_fail(e, TN_MISMATCH, "%lld input channels with weights for %lld in %lld groups",
                        (long long)x->dims[1], (long long)w->dims[1], (long long)group);
  if (b && b->count != w->dims[0]) return tn_eval_fail(e, TN_MISMATCH, "bias and output channels differ");
  return TN_OK;
}

static tn_status conv_eval(tn_eval *e) {
  const tn_lit *x = e->in[0], *w = e->in[1], *b = e->n_in > 2 ? e->in[2] : NULL;
  const int64_t group = tn_eval_int(e, "group");
  TN_TRY(conv_eval_check(e, x, w, b, group));
  tn_window win;
  TN_TRY(tn_window_eval(e, x->rank - 2, x->dims + 2, w->dims + 2, &win));
  int64_t dims[TN_MAX_RANK] = {x->dims[0], w->dims[0]};
  for (int i = 0; i < win.n; i++) dims[2 + i] = win.out[i];
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), x->rank, dims, &y));
  const int64_t m_count = w->dims[0], cg = w->dims[1], mg = m_count / group;
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t p = i % win.n_out, m = i / win.n_out % m_count, n = i / win.n_out / m_count;
    double sum = b ? tn_lit_f64(b, m) : 0;
    for (int64_t tap = 0; tap < win.n_taps; tap++) {
      const int64_t at = tn_window_at(&win, p, tap);
      if (at < 0) continue;
      for (int64_t c = 0; c < cg; c++)
        sum += tn_lit_f64(x, (n * x->dims[1] + m / mg * cg + c) * win.n_in + at) *
               tn_lit_f64(w, (m * cg + c) * win.n_taps + tap);
    }
    tn_store_f64(y->dtype, tn_lit_data(y), i, sum);
  }
  return TN_OK;
}

TN_OP(conv){
    .name = "conv",
    .in = {{"x", TN_SET_FLOATS, "T", .rank_as = 2},
           {"w", TN_SET_FLOATS, "T"},
           {"b", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL}},
    .out = {{"y", TN_SET_FLOATS, "T", 0}},
    .attrs = {TN_CONV_ATTRS},
    .type = tn_type_by_group,
    .shape = conv_shape,
    .eval = conv_eval,
    .kernel = "conv",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_SUM, 2e-5},
    .doc = "convolution of [N, C, spatial...] with [M, C / group, kernel...], plus a bias",
};

TN_ONNX(ai, Conv, 1, TN_LATEST, conv, tn_import_same)

/* offset: [N, offset_group * taps * 2, out...]; mask the same without the 2. */
static tn_status deform_conv_shape(tn_rule *r) {
  for (int i = 0; i < 3; i++) TN_TRY(tn_rule_need_rank(r, i, 4, 4));
  TN_TRY(tn_rule_need_rank(r, 4, 4, 4));
  if (!tn_rule_has_rank(r, 0) || !tn_rule_has_rank(r, 1)) return TN_OK;
  tn_symtab *t = r->syms;
  const tn_type *x = r->in[0], *weights = r->in[1];
  tn_window_attrs w;
  TN_TRY(tn_window_read(r->ctx, r->loc, r->node, 2, &w));
  TN_TRY(conv_channels(r, x->dims[1], weights->dims[1], weights->dims[0], tn_rule_int(r, "group")));
  TN_TRY(tn_conv_bias(r, 3, weights->dims[0]));
  const int64_t offset_group = tn_rule_int(r, "offset_group");
  if (offset_group < 1) return tn_rule_fail(r, TN_INVALID, "attribute 'offset_group' is %lld", (long long)offset_group);
  tn_sym dims[4] = {x->dims[0], weights->dims[0]}, taps = tn_sym_int(t, offset_group);
  for (int i = 0; i < 2; i++) {
    tn_sym kernel;
    TN_TRY(tn_conv_kernel(r, &w, weights, i, &kernel));
    TN_TRY(tn_window_dim(r, &w, i, x->dims[2 + i], kernel, &dims[2 + i]));
    taps = tn_sym_mul(t, taps, kernel);
  }
  TN_TRY(tn_rule_demand(r, tn_sym_eq(t, tn_sym_mod(t, x->dims[1], tn_sym_int(t, offset_group)), tn_sym_int(t, 0)),
                        "%s channels do not divide into %lld offset groups", tn_sym_text(t, x->dims[1]),
                        (long long)offset_group));
  for (int i = 2; i < 5; i += 2) {
    if (!tn_rule_has_rank(r, i)) continue;
    const tn_sym want[4] = {dims[0], i == 2 ? tn_sym_muli(t, taps, 2) : taps, dims[2], dims[3]};
    for (int d = 0; d < 4; d++)
      TN_TRY(tn_rule_unify(r, r->in[i]->dims[d], want[d], i == 2 ? "offset" : "mask", d, NULL));
  }
  tn_rule_set(r, 0, 4, dims);
  return TN_OK;
}

/* Bilinear value of a plane at (h, w); zero outside. */
static double deform_conv_sample(const tn_lit *x, int64_t plane, int64_t ih, int64_t iw, double h, double w) {
  if (!(h > -1 && h < (double)ih && w > -1 && w < (double)iw)) return 0;
  const double h0 = floor(h), w0 = floor(w);
  double sum = 0;
  for (int i = 0; i < 4; i++) {
    const double hh = h0 + (i >> 1), ww = w0 + (i & 1);
    if (hh < 0 || ww < 0 || hh >= (double)ih || ww >= (double)iw) continue;
    const double weight = (1 - fabs(h - hh)) * (1 - fabs(w - ww));
    sum += weight * tn_lit_f64(x, (plane * ih + (int64_t)hh) * iw + (int64_t)ww);
  }
  return sum;
}

static const tn_lit *deform_conv_input(const tn_eval *e, int i) { return i < e->n_in ? e->in[i] : NULL; }

static tn_status deform_conv_eval(tn_eval *e) {
  const tn_lit *x = e->in[0], *w = e->in[1], *offset = e->in[2], *b = deform_conv_input(e, 3),
               *mask = deform_conv_input(e, 4);
  const int64_t group = tn_eval_int(e, "group"), og = tn_eval_int(e, "offset_group");
  if (x->rank != 4) return tn_eval_fail(e, TN_MISMATCH, "input of rank %d, expected 4", x->rank);
  TN_TRY(conv_eval_check(e, x, w, b, group));
  tn_window win;
  TN_TRY(tn_window_eval(e, 2, x->dims + 2, w->dims + 2, &win));
  const int64_t c_all = x->dims[1], m_all = w->dims[0], cg = w->dims[1], mg = m_all / group;
  const int64_t dims[4] = {x->dims[0], m_all, win.out[0], win.out[1]}, n_out = win.n_out;
  if (og < 1 || c_all % og != 0 || offset->count != dims[0] * og * win.n_taps * 2 * n_out ||
      (mask && mask->count != offset->count / 2))
    return tn_eval_fail(e, TN_MISMATCH, "offset or mask has the wrong size");
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), 4, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t p = i % n_out, m = i / n_out % m_all, n = i / n_out / m_all;
    double sum = b ? tn_lit_f64(b, m) : 0;
    for (int64_t c = 0; c < cg; c++) {
      const int64_t channel = m / mg * cg + c, g = channel / (c_all / og);
      for (int64_t tap = 0; tap < win.n_taps; tap++) {
        const int64_t at = (n * og + g) * win.n_taps + tap, ky = tap / win.kernel[1], kx = tap % win.kernel[1];
        const double dy = tn_lit_f64(offset, 2 * at * n_out + p), dx = tn_lit_f64(offset, (2 * at + 1) * n_out + p);
        const double h = (double)(p / win.out[1] * win.stride[0] + ky * win.dilation[0] - win.lo[0]) + dy;
        const double v = (double)(p % win.out[1] * win.stride[1] + kx * win.dilation[1] - win.lo[1]) + dx;
        sum += deform_conv_sample(x, n * c_all + channel, win.in[0], win.in[1], h, v) *
               tn_lit_f64(w, (m * cg + c) * win.n_taps + tap) * (mask ? tn_lit_f64(mask, at * n_out + p) : 1);
      }
    }
    tn_store_f64(y->dtype, tn_lit_data(y), i, sum);
  }
  return TN_OK;
}

TN_OP(deform_conv){
    .name = "deform_conv",
    .in = {{"x", TN_SET_FLOATS, "T", 0},
           {"w", TN_SET_FLOATS, "T", 0},
           {"offset", TN_SET_FLOATS, "T", 0},
           {"b", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL},
           {"mask", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL}},
    .out = {{"y", TN_SET_FLOATS, "T", 0}},
    .attrs = {{"dilations", .kind = TN_ATTR_INTS},
              {"group", TN_ATTR_INT, .i = 1},
              {"kernel_shape", .kind = TN_ATTR_INTS},
              {"offset_group", TN_ATTR_INT, .i = 1},
              {"pads", .kind = TN_ATTR_INTS},
              {"strides", .kind = TN_ATTR_INTS}},
    .type = tn_type_by_group,
    .shape = deform_conv_shape,
    .eval = deform_conv_eval,
    .kernel = "deform_conv",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_SUM, 2e-5},
    .doc = "convolution whose taps read at positions moved by `offset` (bilinear), weighted by `mask`",
};

TN_ONNX(ai, DeformConv, 19, TN_LATEST, deform_conv, tn_import_same)
