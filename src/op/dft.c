/* Spectra: DFT, STFT, MelWeightMatrix. */
#include <math.h>

#include "op/move.h"

#define DFT_INTS (TN_SET(I32) | TN_SET(I64))

/* The last dim says whether the numbers are real (1) or complex (2). */
static tn_status dft_parts(tn_rule *r, tn_sym d) {
  tn_symtab *const t = r->syms;
  return tn_rule_demand(r, tn_sym_or(t, tn_sym_eq(t, d, tn_sym_int(t, 1)), tn_sym_eq(t, d, tn_sym_int(t, 2))),
                        "the last dim is %s: 1 (real) or 2 (complex) is needed", tn_sym_text(t, d));
}

static tn_sym dft_half(tn_rule *r, tn_sym n) {
  return tn_sym_addi(r->syms, tn_sym_floordiv(r->syms, n, tn_sym_int(r->syms, 2)), 1);
}

/* Element 0 of integer input i, or what is meant when that is absent; NULL when unknown. */
static tn_sym dft_scalar(tn_rule *r, int i, tn_sym absent) { return tn_rule_has(r, i) ? tn_op_elem(r, i, 0) : absent; }

/* Only its rank and last dim are known of a result whose axis is not. */
static void dft_set_open(tn_rule *r, int rank, tn_sym last) {
  tn_sym *const dims = tn_rule_dims(r, rank);
  for (int i = 0; i < rank - 1; i++) dims[i] = tn_rule_fresh(r, 0, i, 0, NULL);
  dims[rank - 1] = last;
  tn_rule_set(r, 0, rank, dims);
}

static tn_status dft_shape(tn_rule *r) {
  for (int i = 1; i < 3; i++) TN_TRY(tn_rule_need_rank(r, i, 0, 1));
  TN_TRY(tn_rule_need_rank(r, 0, 2, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  tn_symtab *const t = r->syms;
  const tn_type *const x = r->in[0];
  const bool half = tn_rule_int(r, "onesided") != 0, hermitian = half && tn_rule_int(r, "inverse") != 0;
  const tn_sym last = tn_sym_int(t, hermitian ? 1 : 2);
  TN_TRY(dft_parts(r, x->dims[x->rank - 1]));
  const tn_sym axis_given = dft_scalar(r, 2, tn_sym_int(t, -2));
  if (!axis_given || !tn_sym_is_int(axis_given)) {
    dft_set_open(r, x->rank, last);
    return TN_OK;
  }
  int axis;
  TN_TRY(tn_rule_axis(r, "axis", axis_given->k, x->rank, &axis));
  if (axis == x->rank - 1) return tn_rule_fail(r, TN_MISMATCH, "axis %d is the complex one", axis);
  const tn_sym d = x->dims[axis], whole = hermitian ? tn_sym_muli(t, tn_sym_addi(t, d, -1), 2) : d;
  const tn_sym n = dft_scalar(r, 1, whole);
  tn_sym *const dims = tn_rule_dims(r, x->rank);
  for (int i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  if (n) TN_TRY(tn_op_at_least(r, n, 1, "the length of the transform"));
  dims[axis] = !n ? tn_rule_fresh(r, 0, axis, 1, NULL) : half && !hermitian ? dft_half(r, n) : n;
  dims[x->rank - 1] = last;
  tn_rule_set(r, 0, x->rank, dims);
  return TN_OK;
}

/* A line of n complex numbers and its transform, by the definition. */
typedef struct dft_line {
  int64_t n;
  double *in, *out;
} dft_line;

static tn_status dft_line_make(tn_eval *e, int64_t n, dft_line *l) {
  if (n < 1 || n > INT32_MAX / 4) return tn_eval_fail(e, TN_INVALID, "a transform of length %lld", (long long)n);
  l->n = n;
  l->in = TN_NEW_ARRAY(e->arena, double, 2 * n);
  l->out = TN_NEW_ARRAY(e->arena, double, 2 * n);
  return TN_OK;
}

static void dft_line_run(dft_line *l, double sign) {
  for (int64_t k = 0; k < l->n; k++) {
    double re = 0, im = 0;
    for (int64_t i = 0; i < l->n; i++) {
      const double angle = sign * 2 * M_PI * (double)(k * i % l->n) / (double)l->n, c = cos(angle), s = sin(angle);
      re += l->in[2 * i] * c - l->in[2 * i + 1] * s;
      im += l->in[2 * i] * s + l->in[2 * i + 1] * c;
    }
    l->out[2 * k] = re;
    l->out[2 * k + 1] = im;
  }
}

static tn_status dft_eval_parts(tn_eval *e, const tn_lit *x, int64_t *out) {
  *out = x->dims[x->rank - 1];
  if (*out == 1 || *out == 2) return TN_OK;
  return tn_eval_fail(e, TN_MISMATCH, "the last dim is %lld", (long long)*out);
}

/* Bin k of half a spectrum stands for bin n - k of the whole one too. */
static void dft_line_mirror(dft_line *l) {
  for (int64_t i = 0; i <= l->n / 2; i++) {
    const int64_t other = (l->n - i) % l->n;
    if (other == i)
      l->in[2 * i + 1] = 0;
    else {
      l->in[2 * other] = l->in[2 * i];
      l->in[2 * other + 1] = -l->in[2 * i + 1];
    }
  }
}

static int64_t dft_eval_scalar(const tn_eval *e, int i, int64_t absent) {
  const tn_lit *const a = tn_op_eval_in(e, i);
  return a && a->count > 0 ? tn_lit_i64_at(a, 0) : absent;
}

static tn_status dft_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const bool half = tn_eval_int(e, "onesided") != 0, inverse = tn_eval_int(e, "inverse") != 0;
  const bool hermitian = half && inverse;
  int axis;
  int64_t parts, dims[TN_MAX_RANK], inner = 1;
  dft_line l;
  tn_lit *y;
  if (x->rank < 2) return tn_eval_fail(e, TN_MISMATCH, "a tensor of rank %d", x->rank);
  TN_TRY(dft_eval_parts(e, x, &parts));
  TN_TRY(tn_eval_axis(e, dft_eval_scalar(e, 2, -2), x->rank, &axis));
  if (axis == x->rank - 1) return tn_eval_fail(e, TN_MISMATCH, "axis %d is the complex one", axis);
  const int64_t in = x->dims[axis];
  TN_TRY(dft_line_make(e, dft_eval_scalar(e, 1, hermitian ? 2 * (in - 1) : in), &l));
  for (int i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  for (int i = axis + 1; i < x->rank - 1; i++) inner *= dims[i];
  const int64_t out = dims[axis] = half && !hermitian ? l.n / 2 + 1 : l.n;
  const int64_t parts_out = dims[x->rank - 1] = hermitian ? 1 : 2;
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, dims, &y));
  const int64_t lines = y->count / (out * parts_out), reach = hermitian ? l.n / 2 + 1 : l.n;
  for (int64_t i = 0; i < lines; i++) {
    memset(l.in, 0, (size_t)(2 * l.n) * sizeof *l.in);
    for (int64_t j = 0; j < in && j < reach; j++)
      for (int64_t p = 0; p < parts; p++)
        l.in[2 * j + p] = tn_lit_f64(x, ((i / inner * in + j) * inner + i % inner) * parts + p);
    if (hermitian) dft_line_mirror(&l);
    dft_line_run(&l, inverse ? 1 : -1);
    for (int64_t j = 0; j < out; j++)
      for (int64_t p = 0; p < parts_out; p++)
        tn_store_f64(y->dtype, tn_lit_data(y), ((i / inner * out + j) * inner + i % inner) * parts_out + p,
                     l.out[2 * j + p] / (inverse ? (double)l.n : 1));
  }
  return TN_OK;
}

TN_OP(dft){
    .name = "dft",
    .in = {{"input", TN_SET_FLOATS, "T1"},
           {"dft_length", DFT_INTS, NULL, TN_PORT_OPTIONAL | TN_PORT_SHAPES},
           {"axis", TN_SET(I64), NULL, TN_PORT_OPTIONAL | TN_PORT_SHAPES}},
    .out = {{"output", TN_SET_FLOATS, "T1"}},
    .attrs = {{"inverse", TN_ATTR_INT, .has_default = true}, {"onesided", TN_ATTR_INT, .has_default = true}},
    .type = tn_type_as_input,
    .shape = dft_shape,
    .eval = dft_eval,
    .kernel = "dft",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "discrete Fourier transform along an axis; the last dim holds real and imaginary parts",
};

/* Before opset 20 the axis was an attribute. */
static tn_status dft_import_17(tn_import *im) {
  int64_t axis;
  tn_value *in[3] = {im->n_in > 0 ? im->in[0] : NULL, im->n_in > 1 ? im->in[1] : NULL, NULL};
  TN_TRY(tn_import_int(im, "axis", 1, &axis));
  in[2] = tn_import_const_i64(im, &axis, 1);
  tn_node *const node = tn_import_node(im, "dft", in, 3, 1);
  TN_TRY(tn_import_copy_attrs(im, node));
  TN_TRY(tn_import_check_used(im));
  tn_import_finish(im, node);
  return TN_OK;
}

/* --- stft --- */

static tn_status stft_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 2, 3)); /* of rank 2: real, as ONNX Runtime has it */
  TN_TRY(tn_rule_need_rank(r, 1, 0, 1));
  TN_TRY(tn_rule_need_rank(r, 2, 1, 1));
  TN_TRY(tn_rule_need_rank(r, 3, 0, 1));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  tn_symtab *const t = r->syms;
  const tn_sym *const x = r->in[0]->dims;
  const tn_sym step = dft_scalar(r, 1, NULL), window = tn_rule_has_rank(r, 2) ? r->in[2]->dims[0] : NULL;
  const tn_sym length = dft_scalar(r, 3, tn_rule_has(r, 2) ? window : x[1]);
  tn_sym dims[4] = {x[0], NULL, NULL, tn_sym_int(t, 2)};
  if (r->in[0]->rank == 3) TN_TRY(dft_parts(r, x[2]));
  if (step) TN_TRY(tn_op_at_least(r, step, 1, "the frame step"));
  if (length) {
    TN_TRY(tn_op_at_least(r, length, 1, "the frame length"));
    if (window) TN_TRY(tn_rule_unify(r, length, window, "the frame length and the window", 0, NULL));
    TN_TRY(tn_rule_demand(r, tn_sym_le(t, length, x[1]), "frames of %s in a signal of %s", tn_sym_text(t, length),
                          tn_sym_text(t, x[1])));
  }
  dims[1] = step && length ? tn_sym_addi(t, tn_sym_floordiv(t, tn_sym_sub(t, x[1], length), step), 1)
                           : tn_rule_fresh(r, 0, 1, 1, x[1]);
  if (length)
    dims[2] = tn_rule_int(r, "onesided") ? dft_half(r, length) : length;
  else
    dims[2] = tn_rule_fresh(r, 0, 2, 1, x[1]);
  tn_rule_set(r, 0, 4, dims);
  return TN_OK;
}

static tn_status stft_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const w = tn_op_eval_in(e, 2);
  int64_t parts = 1;
  dft_line l;
  tn_lit *y;
  if (x->rank != 2 && x->rank != 3) return tn_eval_fail(e, TN_MISMATCH, "a signal of rank %d", x->rank);
  if (x->rank == 3) TN_TRY(dft_eval_parts(e, x, &parts));
  const int64_t step = dft_eval_scalar(e, 1, 0), length = dft_eval_scalar(e, 3, w ? w->count : x->dims[1]);
  TN_TRY(dft_line_make(e, length, &l));
  if (step < 1 || length > x->dims[1] || (w && w->count != length))
    return tn_eval_fail(e, TN_MISMATCH, "frames of %lld with a step of %lld in a signal of %lld", (long long)length,
                        (long long)step, (long long)x->dims[1]);
  const int64_t frames = (x->dims[1] - length) / step + 1, out = tn_eval_int(e, "onesided") ? length / 2 + 1 : length;
  const int64_t dims[4] = {x->dims[0], frames, out, 2};
  TN_TRY(tn_eval_out(e, 0, x->dtype, 4, dims, &y));
  for (int64_t f = 0; f < dims[0] * frames; f++) {
    for (int64_t i = 0; i < length; i++)
      for (int64_t p = 0; p < parts; p++)
        l.in[2 * i + p] =
            (w ? tn_lit_f64(w, i) : 1) * tn_lit_f64(x, (f / frames * x->dims[1] + f % frames * step + i) * parts + p);
    dft_line_run(&l, -1);
    for (int64_t i = 0; i < 2 * out; i++) tn_store_f64(y->dtype, tn_lit_data(y), f * 2 * out + i, l.out[i]);
  }
  return TN_OK;
}

TN_OP(stft){
    .name = "stft",
    .in = {{"signal", TN_SET_FLOATS, "T1"},
           {"frame_step", DFT_INTS, "T2", TN_PORT_SHAPES},
           {"window", TN_SET_FLOATS, "T1", TN_PORT_OPTIONAL},
           {"frame_length", DFT_INTS, "T2", TN_PORT_OPTIONAL | TN_PORT_SHAPES}},
    .out = {{"output", TN_SET_FLOATS, "T1"}},
    .attrs = {{"onesided", TN_ATTR_INT, .i = 1}},
    .type = tn_type_as_input,
    .shape = stft_shape,
    .eval = stft_eval,
    .kernel = "stft",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "discrete Fourier transforms of the frames of a signal, weighted by a window",
};

/* --- mel_weight_matrix --- */

static tn_status mel_type(tn_rule *r) {
  const int64_t d = tn_rule_int(r, "output_datatype");
  if (!tn_dtype_valid((int)d) || !(TN_SET_NUMBERS >> d & 1))
    return tn_rule_fail(r, TN_INVALID, "attribute 'output_datatype' is %lld, which is no number type", (long long)d);
  tn_rule_set_dtype(r, 0, (tn_dtype)d);
  return TN_OK;
}

static tn_status mel_shape(tn_rule *r) {
  for (int i = 0; i < 5; i++) TN_TRY(tn_rule_need_rank(r, i, 0, 1));
  const tn_sym columns = tn_op_elem(r, 0, 0), length = tn_op_elem(r, 1, 0);
  if (columns) TN_TRY(tn_op_at_least(r, columns, 0, "the number of mel bins"));
  if (length) TN_TRY(tn_op_at_least(r, length, 0, "the length of the transform"));
  const tn_sym dims[2] = {length ? dft_half(r, length) : tn_rule_fresh(r, 0, 0, 1, NULL),
                          columns ? columns : tn_rule_fresh(r, 0, 1, 0, NULL)};
  tn_rule_set(r, 0, 2, dims);
  return TN_OK;
}

/* The bin of edge i of n + 2, evenly apart on the mel scale. */
static int64_t mel_edge(const tn_eval *e, int64_t i, int64_t n, int64_t length) {
  const double low = 2595 * log10(1 + tn_lit_f64(e->in[3], 0) / 700);
  const double high = 2595 * log10(1 + tn_lit_f64(e->in[4], 0) / 700);
  const double mel = low + (high - low) / (double)(n + 2) * (double)i, hertz = 700 * (pow(10, mel / 2595) - 1);
  return (int64_t)floor((double)(length + 1) * hertz / (double)tn_lit_i64_at(e->in[2], 0));
}

static tn_status mel_eval(tn_eval *e) {
  for (int i = 0; i < 5; i++)
    if (e->in[i]->count < 1) return tn_eval_fail(e, TN_MISMATCH, "operand %d is empty", i);
  const int64_t n = tn_lit_i64_at(e->in[0], 0), length = tn_lit_i64_at(e->in[1], 0);
  const double edges[2] = {tn_lit_f64(e->in[3], 0), tn_lit_f64(e->in[4], 0)};
  if (n < 0 || length < 0 || n > INT32_MAX || length > INT32_MAX || tn_lit_i64_at(e->in[2], 0) < 1 ||
      !(edges[0] >= 0 && edges[0] < 1e12 && edges[1] >= 0 && edges[1] < 1e12))
    return tn_eval_fail(e, TN_INVALID, "%lld mel bins of %lld between %g and %g Hz", (long long)n, (long long)length,
                        edges[0], edges[1]);
  const int64_t dims[2] = {length / 2 + 1, n};
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), 2, dims, &y));
  for (int64_t c = 0; c < n; c++) {
    const int64_t low = mel_edge(e, c, n, length), center = mel_edge(e, c + 1, n, length),
                  high = mel_edge(e, c + 2, n, length);
    for (int64_t b = 0; b < dims[0]; b++) {
      double v = 0;
      if (b >= low && b <= center) v = center > low ? (double)(b - low) / (double)(center - low) : 1;
      if (b >= center && b < high) v = (double)(high - b) / (double)(high - center);
      tn_store_f64(y->dtype, tn_lit_data(y), b * n + c, v);
    }
  }
  return TN_OK;
}

TN_OP(mel_weight_matrix){
    .name = "mel_weight_matrix",
    .in = {{"num_mel_bins", DFT_INTS, "T1", TN_PORT_SHAPES},
           {"dft_length", DFT_INTS, "T1", TN_PORT_SHAPES},
           {"sample_rate", DFT_INTS, "T1"},
           {"lower_edge_hertz", TN_SET_FLOATS, "T2"},
           {"upper_edge_hertz", TN_SET_FLOATS, "T2"}},
    .out = {{"output", TN_SET_NUMBERS}},
    .attrs = {{"output_datatype", TN_ATTR_DTYPE, .i = TN_F32}},
    .type = mel_type,
    .shape = mel_shape,
    .eval = mel_eval,
    .kernel = "mel_weight_matrix",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-6},
    .doc = "weights that gather the bins of a spectrum into bins evenly apart on the mel scale",
};

/* clang-format off */
TN_ONNX(ai, DFT, 17, 19, dft, dft_import_17)
TN_ONNX(ai, DFT, 20, TN_LATEST, dft, tn_import_same)
TN_ONNX(ai, STFT, 17, TN_LATEST, stft, tn_import_same)
TN_ONNX(ai, MelWeightMatrix, 17, TN_LATEST, mel_weight_matrix, tn_import_same)
