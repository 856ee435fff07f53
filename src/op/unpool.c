/* MaxUnpool and Col2Im. */
#include "ir/import.h"
#include "op/window.h"

static tn_status unpool_max_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[0]->dtype);
  return TN_OK;
}

static tn_status unpool_max_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 3, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_type *x = r->in[0];
  tn_symtab *t = r->syms;
  tn_window_attrs w;
  TN_TRY(tn_window_read(r->ctx, r->loc, r->node, x->rank - 2, &w));
  if (!w.has_kernel) return tn_rule_fail(r, TN_INVALID, "attribute 'kernel_shape' is missing or empty");
  TN_TRY(tn_rule_need_rank(r, 1, x->rank, x->rank));
  for (int i = 0; i < x->rank && tn_rule_has_rank(r, 1); i++)
    TN_TRY(tn_rule_unify(r, r->in[1]->dims[i], x->dims[i], "indices and x", i, NULL));
  tn_sym *dims = tn_rule_dims(r, x->rank), *given = NULL;
  int64_t n = 0;
  const bool has_shape = tn_rule_has(r, 2), known = has_shape && tn_rule_ints(r, 2, &n, &given) && n == x->rank;
  for (int i = 0; i < x->rank; i++) {
    if (has_shape)
      dims[i] = known && given[i] ? given[i] : tn_rule_fresh(r, 0, i, 0, NULL);
    else if (i < 2)
      dims[i] = x->dims[i];
    else
      dims[i] = tn_sym_addi(t, tn_sym_muli(t, tn_sym_addi(t, x->dims[i], -1), w.stride[i - 2]),
                            w.kernel[i - 2] - w.lo[i - 2] - w.hi[i - 2]);
    TN_TRY(tn_rule_demand(r, tn_sym_le(t, tn_sym_int(t, 0), dims[i]), "dim %d gets the size %s", i,
                          tn_sym_text(t, dims[i])));
  }
  tn_rule_set(r, 0, x->rank, dims);
  return TN_OK;
}

static tn_status unpool_max_eval(tn_eval *e) {
  const tn_lit *x = e->in[0], *index = e->in[1], *shape = e->n_in > 2 ? e->in[2] : NULL;
  if (x->rank < 3 || index->count != x->count || (shape && shape->count != x->rank))
    return tn_eval_fail(e, TN_MISMATCH, "indices or output_shape do not fit");
  tn_window_attrs w;
  TN_TRY(tn_window_read(e->ctx, e->loc, e->node, x->rank - 2, &w));
  int64_t own[TN_MAX_RANK], dims[TN_MAX_RANK], all;
  for (int i = 0; i < x->rank; i++) {
    own[i] = i < 2 ? x->dims[i] : (x->dims[i] - 1) * w.stride[i - 2] + w.kernel[i - 2] - w.lo[i - 2] - w.hi[i - 2];
    dims[i] = shape ? tn_lit_i64_at(shape, i) : own[i];
  }
  tn_lit *y;
  if (!tn_dims_count(own, x->rank, &all)) return tn_eval_fail(e, TN_MISMATCH, "a dim is negative or too large");
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, dims, &y));
  for (int64_t i = 0; i < x->count; i++) {
    int64_t at = tn_lit_i64_at(index, i), coords[TN_MAX_RANK], to = 0;
    bool inside = true;
    if (at < 0 || at >= all) return tn_eval_fail(e, TN_MISMATCH, "index %lld of %lld", (long long)at, (long long)all);
    for (int d = x->rank - 1; d >= 0; d--) {
      coords[d] = at % own[d];
      at /= own[d];
    }
    for (int d = 0; d < x->rank; d++) {
      inside = inside && coords[d] < dims[d];
      to = to * dims[d] + coords[d];
    }
    if (inside) tn_copy_element(y->dtype, tn_lit_data(y), to, x->data, i);
  }
  return TN_OK;
}

TN_OP(max_unpool){
    .name = "max_unpool",
    .in = {{"x", TN_SET_FLOATS, "T1", 0},
           {"i", TN_SET(I64), "T2", 0},
           {"output_shape", TN_SET(I64), "T2", TN_PORT_OPTIONAL | TN_PORT_SHAPES}},
    .out = {{"y", TN_SET_FLOATS, "T1", 0}},
    .attrs = {{"kernel_shape", TN_ATTR_INTS, .required = true},
              {"pads", .kind = TN_ATTR_INTS},
              {"strides", .kind = TN_ATTR_INTS}},
    .type = unpool_max_type,
    .shape = unpool_max_shape,
    .eval = unpool_max_eval,
    .kernel = "max_unpool",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "puts each element where the index of a max pool says, zeros elsewhere",
};
TN_ONNX(ai, MaxUnpool, 9, TN_LATEST, max_unpool, tn_import_same)

static tn_status unpool_col2im_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 3, 3));
  for (int i = 1; i < 3; i++) TN_TRY(tn_rule_need_rank(r, i, 1, 1));
  int64_t n, n_block;
  tn_sym *image, *block;
  if (!tn_rule_has_rank(r, 1) || !tn_sym_is_int(r->in[1]->dims[0]) || !tn_rule_has_rank(r, 0)) return TN_OK;
  const int64_t axes = r->in[1]->dims[0]->k;
  if (axes < 1 || axes > TN_WINDOW_MAX) return tn_rule_fail(r, TN_UNSUPPORTED, "%lld image dims", (long long)axes);
  tn_symtab *t = r->syms;
  tn_window_attrs w;
  TN_TRY(tn_window_read(r->ctx, r->loc, r->node, (int)axes, &w));
  const bool has_image = tn_rule_ints(r, 1, &n, &image) && n == axes;
  const bool has_block = tn_rule_ints(r, 2, &n_block, &block) && n_block == axes;
  const tn_sym *x = r->in[0]->dims;
  tn_sym *dims = tn_rule_dims(r, (int)axes + 2), taps = tn_sym_int(t, 1), columns = taps;
  bool known = has_image && has_block;
  dims[0] = x[0];
  for (int i = 0; i < axes; i++) {
    dims[2 + i] = has_image && image[i] ? image[i] : tn_rule_fresh(r, 0, 2 + i, 0, NULL);
    known = known && image[i] && block[i];
    if (!known) continue;
    tn_sym count;
    TN_TRY(tn_window_dim(r, &w, i, image[i], block[i], &count));
    columns = tn_sym_mul(t, columns, count);
    taps = tn_sym_mul(t, taps, block[i]);
  }
  dims[1] = known ? tn_sym_divexact(t, x[1], taps) : tn_rule_fresh(r, 0, 1, 0, x[1]);
  if (known) {
    TN_TRY(tn_rule_unify(r, x[2], columns, "columns and window positions", 2, NULL));
    TN_TRY(tn_rule_demand(r, tn_sym_eq(t, tn_sym_mod(t, x[1], taps), tn_sym_int(t, 0)),
                          "%s rows do not divide by a block of %s", tn_sym_text(t, x[1]), tn_sym_text(t, taps)));
  }
  tn_rule_set(r, 0, (int)axes + 2, dims);
  return TN_OK;
}

static tn_status unpool_col2im_eval(tn_eval *e) {
  const tn_lit *x = e->in[0], *image = e->in[1], *block = e->in[2];
  const int64_t n = image->count;
  int64_t in[TN_WINDOW_MAX], kernel[TN_WINDOW_MAX], dims[TN_MAX_RANK];
  if (n < 1 || n > TN_WINDOW_MAX || block->count != n || x->rank != 3 ||
      (!tn_dtype_is_float(x->dtype) && !tn_dtype_is_int(x->dtype)))
    return tn_eval_fail(e, TN_UNSUPPORTED, "%lld image dims of %s", (long long)n, tn_dtype_name(x->dtype));
  for (int64_t i = 0; i < n; i++) {
    in[i] = dims[2 + i] = tn_lit_i64_at(image, i);
    kernel[i] = tn_lit_i64_at(block, i);
    if (in[i] < 0 || kernel[i] < 1) return tn_eval_fail(e, TN_MISMATCH, "image or block dim %lld", (long long)i);
  }
  tn_window w;
  TN_TRY(tn_window_eval(e, (int)n, in, kernel, &w));
  if (w.n_out != x->dims[2] || x->dims[1] % w.n_taps != 0)
    return tn_eval_fail(e, TN_MISMATCH, "%lld columns, expected %lld", (long long)x->dims[2], (long long)w.n_out);
  dims[0] = x->dims[0];
  dims[1] = x->dims[1] / w.n_taps;
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, (int)n + 2, dims, &y));
  double *sum = TN_NEW_ARRAY(e->arena, double, y->count + 1);
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t row = i / w.n_out, at = tn_window_at(&w, i % w.n_out, row % w.n_taps);
    if (at >= 0) sum[row / w.n_taps * w.n_in + at] += tn_lit_f64(x, i);
  }
  for (int64_t i = 0; i < y->count; i++) tn_store_f64(y->dtype, tn_lit_data(y), i, sum[i]);
  return TN_OK;
}

TN_OP(col2im){
    .name = "col2im",
    .in = {{"x", TN_SET_ALL, "T", 0},
           {"image_shape", TN_SET(I64), NULL, TN_PORT_SHAPES},
           {"block_shape", TN_SET(I64), NULL, TN_PORT_SHAPES}},
    .out = {{"y", TN_SET_ALL, "T", 0}},
    .attrs = {{"dilations", .kind = TN_ATTR_INTS}, {"pads", .kind = TN_ATTR_INTS}, {"strides", .kind = TN_ATTR_INTS}},
    .type = tn_type_as_input,
    .shape = unpool_col2im_shape,
    .eval = unpool_col2im_eval,
    .kernel = "col2im",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "sums columns of window positions back into an image",
};
TN_ONNX(ai, Col2Im, 18, TN_LATEST, col2im, tn_import_same)
