/* ConvTranspose. */
#include "ir/axis.h"
#include "ir/import.h"
#include "op/conv.h"

/* `n` entries of an INTS attribute, or none. */
static tn_status deconv_ints(tn_ctx *ctx, tn_loc loc, const tn_attr *a, const char *name, int n, int64_t min,
                             const int64_t **out) {
  *out = NULL;
  if (!a || a->n == 0) return TN_OK;
  if (a->n != n)
    return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' has %lld entries, expected %d", name, (long long)a->n, n);
  for (int i = 0; i < n; i++)
    if (a->ints[i] < min || a->ints[i] > INT32_MAX)
      return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' has the entry %lld", name, (long long)a->ints[i]);
  *out = a->ints;
  return TN_OK;
}

/* SAME never grows the result by padding of less than nothing: where taps leave gaps it ends with the last tap. */
static tn_status deconv_dim(tn_rule *r, const tn_window_attrs *w, int i, tn_sym in, tn_sym kernel, int64_t extra,
                            tn_sym *out) {
  tn_symtab *t = r->syms;
  const tn_sym taps = tn_sym_muli(t, tn_sym_addi(t, kernel, -1), w->dilation[i]);
  if (w->auto_pad == TN_PAD_SAME_UPPER || w->auto_pad == TN_PAD_SAME_LOWER) {
    const tn_sym missing = tn_sym_sub(t, tn_sym_int(t, w->stride[i]), tn_sym_addi(t, taps, extra + 1));
    *out = tn_sym_sub(t, tn_sym_muli(t, in, w->stride[i]), tn_sym_max(t, missing, tn_sym_int(t, 0)));
    return tn_rule_demand(r, tn_sym_le(t, tn_sym_int(t, 0), *out), "spatial dim %d of size %s gives the size %s", i,
                          tn_sym_text(t, in), tn_sym_text(t, *out));
  }
  *out = tn_sym_add(t, tn_sym_muli(t, tn_sym_addi(t, in, -1), w->stride[i]),
                    tn_sym_addi(t, taps, extra + 1 - w->lo[i] - w->hi[i]));
  return tn_rule_demand(r, tn_sym_le(t, tn_sym_int(t, 0), *out), "spatial dim %d of size %s gives the size %s", i,
                        tn_sym_text(t, in), tn_sym_text(t, *out));
}

static tn_status deconv_channels(tn_rule *r, const tn_type *x, const tn_type *weights, tn_sym *m) {
  tn_symtab *t = r->syms;
  const int64_t group = tn_rule_int(r, "group");
  if (group < 1) return tn_rule_fail(r, TN_INVALID, "attribute 'group' is %lld", (long long)group);
  TN_TRY(tn_rule_unify(r, x->dims[1], weights->dims[0], "input channels and weights", 1, NULL));
  TN_TRY(tn_rule_demand(r, tn_sym_eq(t, tn_sym_mod(t, x->dims[1], tn_sym_int(t, group)), tn_sym_int(t, 0)),
                        "%s input channels do not divide into %lld groups", tn_sym_text(t, x->dims[1]),
                        (long long)group));
  *m = tn_sym_muli(t, weights->dims[1], group);
  return tn_conv_bias(r, 2, *m);
}

/* `output_shape`: the taps may leave out less than a stride at its end. */
static tn_status deconv_given(tn_rule *r, const tn_window_attrs *w, int i, tn_sym in, tn_sym kernel, int64_t extra,
                              int64_t out, tn_sym *dim) {
  tn_symtab *const t = r->syms;
  const tn_sym window = tn_sym_muli(t, tn_sym_addi(t, kernel, -1), w->dilation[i]);
  const tn_sym most = tn_sym_addi(t, tn_sym_add(t, tn_sym_muli(t, in, w->stride[i]), window), extra);
  *dim = tn_sym_int(t, out);
  return tn_rule_demand(r, tn_sym_le(t, *dim, most), "spatial dim %d of size %s is too small for the output size %lld",
                        i, tn_sym_text(t, in), (long long)out);
}

static tn_status deconv_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 2, TN_MAX_RANK));
  TN_TRY(tn_rule_need_rank(r, 1, 2, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, 0) || !tn_rule_has_rank(r, 1)) return TN_OK;
  const tn_type *x = r->in[0], *weights = r->in[1];
  const int n = x->rank - 2;
  if (x->rank != weights->rank)
    return tn_rule_fail(r, TN_MISMATCH, "input of rank %d with weights of rank %d", x->rank, weights->rank);
  tn_window_attrs w;
  const int64_t *extra, *shape;
  TN_TRY(tn_window_read(r->ctx, r->loc, r->node, n, &w));
  TN_TRY(deconv_ints(r->ctx, r->loc, tn_rule_attr(r, "output_padding"), "output_padding", n, 0, &extra));
  TN_TRY(deconv_ints(r->ctx, r->loc, tn_rule_attr(r, "output_shape"), "output_shape", n, 0, &shape));
  tn_sym *dims = tn_rule_dims(r, x->rank);
  dims[0] = x->dims[0];
  TN_TRY(deconv_channels(r, x, weights, &dims[1]));
  for (int i = 0; i < n; i++) {
    tn_sym kernel;
    TN_TRY(tn_conv_kernel(r, &w, weights, i, &kernel));
    if (shape)
      TN_TRY(deconv_given(r, &w, i, x->dims[2 + i], kernel, extra ? extra[i] : 0, shape[i], &dims[2 + i]));
    else
      TN_TRY(deconv_dim(r, &w, i, x->dims[2 + i], kernel, extra ? extra[i] : 0, &dims[2 + i]));
  }
  tn_rule_set(r, 0, x->rank, dims);
  return TN_OK;
}

/* Output size and leading padding of axis i. */
static tn_status deconv_eval_axis(tn_eval *e, const tn_window_attrs *a, int i, int64_t in, int64_t kernel,
                                  int64_t extra, const int64_t *shape, int64_t *out, int64_t *lo) {
  const bool same = a->auto_pad == TN_PAD_SAME_UPPER || a->auto_pad == TN_PAD_SAME_LOWER;
  const int64_t full = (in - 1) * a->stride[i] + extra + (kernel - 1) * a->dilation[i] + 1;
  *lo = a->lo[i];
  *out = shape ? shape[i] : !same ? full - a->lo[i] - a->hi[i] : full < in * a->stride[i] ? full : in * a->stride[i];
  if (*out < 0 || (shape && *out >= full + a->stride[i]))
    return tn_eval_fail(e, TN_MISMATCH, "spatial dim %d of size %lld gives the size %lld", i, (long long)in,
                        (long long)*out);
  if (!shape && !same) return TN_OK;
  const int64_t total = full > *out ? full - *out : 0;
  *lo = a->auto_pad == TN_PAD_SAME_UPPER ? total / 2 : (total + 1) / 2;
  return TN_OK;
}

static tn_status deconv_eval(tn_eval *e) {
  const tn_lit *x = e->in[0], *w = e->in[1], *b = e->n_in > 2 ? e->in[2] : NULL;
  const int64_t group = tn_eval_int(e, "group");
  if (x->rank < 2 || w->rank != x->rank || group < 1 || x->dims[1] != w->dims[0] || x->dims[1] % group != 0)
    return tn_eval_fail(e, TN_MISMATCH, "the weights do not fit the input");
  const int n = x->rank - 2;
  tn_window_attrs a;
  const int64_t *extra, *shape;
  TN_TRY(tn_window_read(e->ctx, e->loc, e->node, n, &a));
  TN_TRY(deconv_ints(e->ctx, e->loc, tn_eval_attr(e, "output_padding"), "output_padding", n, 0, &extra));
  TN_TRY(deconv_ints(e->ctx, e->loc, tn_eval_attr(e, "output_shape"), "output_shape", n, 0, &shape));
  int64_t dims[TN_MAX_RANK] = {x->dims[0], w->dims[1] * group}, lo[TN_MAX_RANK], n_in = 1, n_out = 1, taps = 1;
  for (int i = 0; i < n; i++) {
    TN_TRY(
        deconv_eval_axis(e, &a, i, x->dims[2 + i], w->dims[2 + i], extra ? extra[i] : 0, shape, &dims[2 + i], &lo[i]));
    n_in *= x->dims[2 + i];
    taps *= w->dims[2 + i];
  }
  if (b && b->count != dims[1]) return tn_eval_fail(e, TN_MISMATCH, "bias and output channels differ");
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, dims, &y));
  for (int i = 0; i < n; i++) n_out *= dims[2 + i];
  const int64_t mg = w->dims[1], cg = x->dims[1] / group;
  double *sum = TN_NEW_ARRAY(e->arena, double, y->count + 1);
  for (int64_t i = 0; i < y->count; i++) sum[i] = b ? tn_lit_f64(b, i / n_out % dims[1]) : 0;
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t p = i % n_in, c = i / n_in % x->dims[1], image = i / n_in / x->dims[1], g = c / cg;
    for (int64_t tap = 0; tap < taps; tap++) {
      int64_t rest = p, rest_tap = tap, at = 0, step = 1;
      bool inside = true;
      for (int d = n - 1; d >= 0; d--) {
        const int64_t o = rest % x->dims[2 + d] * a.stride[d] + rest_tap % w->dims[2 + d] * a.dilation[d] - lo[d];
        rest /= x->dims[2 + d];
        rest_tap /= w->dims[2 + d];
        inside = inside && o >= 0 && o < dims[2 + d];
        at += o * step;
        step *= dims[2 + d];
      }
      for (int64_t m = 0; m < mg && inside; m++)
        sum[(image * dims[1] + g * mg + m) * n_out + at] += tn_lit_f64(x, i) * tn_lit_f64(w, (c * mg + m) * taps + tap);
    }
  }
  for (int64_t i = 0; i < y->count; i++) tn_store_f64(y->dtype, tn_lit_data(y), i, sum[i]);
  return TN_OK;
}

TN_OP(conv_transpose){
    .name = "conv_transpose",
    .in = {{"x", TN_SET_FLOATS, "T", .rank_as = 2},
           {"w", TN_SET_FLOATS, "T"},
           {"b", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL}},
    .out = {{"y", TN_SET_FLOATS, "T", 0}},
    .attrs = {{"auto_pad", TN_ATTR_STR, .s = "NOTSET"},
              {"dilations", .kind = TN_ATTR_INTS},
              {"group", TN_ATTR_INT, .i = 1},
              {"kernel_shape", .kind = TN_ATTR_INTS},
              {"output_padding", .kind = TN_ATTR_INTS},
              {"output_shape", .kind = TN_ATTR_INTS},
              {"pads", .kind = TN_ATTR_INTS},
              {"strides", .kind = TN_ATTR_INTS}},
    .type = tn_type_by_group,
    .shape = deconv_shape,
    .eval = deconv_eval,
    .kernel = "conv_transpose",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_SUM, 2e-5},
    .doc = "the gradient of a convolution with respect to its input: each element spreads over a window",
};

TN_ONNX(ai, ConvTranspose, 1, TN_LATEST, conv_transpose, tn_import_same)
