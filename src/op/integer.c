/* Products of quantised numbers: MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv. Sums are int32 and wrap. */
#include <math.h>

#include "op/conv.h"
#include "op/matmul.h"
#include "op/move.h"
#include "op/window.h"

#define INTEGER_BYTES (TN_SET(I8) | TN_SET(U8))
#define INTEGER_OR_F8 (INTEGER_BYTES | TN_SET_FLOAT8)
#define INTEGER_SCALES (TN_SET(F32) | TN_SET(F16) | TN_SET(BF16))

static tn_status integer_type_i32(tn_rule *r) {
  tn_rule_set_dtype(r, 0, TN_I32);
  return TN_OK;
}
static tn_status integer_type_of_zero(tn_rule *r) { /* QLinear*: that of y_zero_point */
  tn_rule_set_dtype(r, 0, r->in[7]->dtype);
  return TN_OK;
}

/* A scale or zero point is one number, or one for each of `lines`; matrices may have them per matrix too, in which case
 * the run checks them. */
static tn_status integer_param(tn_rule *r, int i, tn_sym lines) {
  tn_symtab *const t = r->syms;
  if (!tn_rule_has_rank(r, i) || r->in[i]->rank != 1) return TN_OK;
  const tn_sym d = r->in[i]->dims[0];
  return tn_rule_demand(r, tn_sym_or(t, tn_sym_eq(t, d, tn_sym_int(t, 1)), tn_sym_eq(t, d, lines)),
                        "%s scales or zero points (operand %d) for %s rows, columns or channels", tn_sym_text(t, d), i,
                        tn_sym_text(t, lines));
}

/* --- matrices --- */

typedef struct integer_ports { /* positions of the operands; -1 = the operator has none */
  int a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias;
} integer_ports;
static const integer_ports integer_plain = {0, -1, 2, 1, -1, 3, -1, -1, -1};
static const integer_ports integer_linear = {0, 1, 2, 3, 4, 5, 6, 7, 8};

static tn_status integer_matmul_shape(tn_rule *r, const integer_ports *p) {
  TN_TRY(tn_matmul_shape(r, p->a, p->b));
  if (!tn_rule_has_rank(r, p->a) || !tn_rule_has_rank(r, p->b)) return TN_OK;
  const tn_type *const a = r->in[p->a];
  const tn_type *const b = r->in[p->b];
  const tn_sym one = tn_sym_int(r->syms, 1);
  const tn_sym rows = a->rank > 1 ? a->dims[a->rank - 2] : one, columns = b->rank > 1 ? b->dims[b->rank - 1] : one;
  const int by_row[] = {p->a_scale, p->a_zero, p->y_scale, p->y_zero}, by_column[] = {p->b_scale, p->b_zero};
  for (int i = 0; i < 4; i++)
    if (by_row[i] >= 0) TN_TRY(integer_param(r, by_row[i], rows));
  for (int i = 0; i < 2; i++)
    if (by_column[i] >= 0) TN_TRY(integer_param(r, by_column[i], columns));
  return TN_OK;
}
static tn_status matmul_integer_shape(tn_rule *r) { return integer_matmul_shape(r, &integer_plain); }
static tn_status qlinear_matmul_shape(tn_rule *r) { return integer_matmul_shape(r, &integer_linear); }

/* The number for a line of matrix `batch`: one for all, one per line, or one per line of every matrix. */
static tn_status integer_pick(tn_eval *e, int port, int64_t batch, int64_t line, int64_t lines, double absent,
                              double *out) {
  const tn_lit *const a = port >= 0 ? tn_op_eval_in(e, port) : NULL;
  *out = absent;
  if (!a) return TN_OK;
  const int64_t at = a->count == 1 ? 0 : a->count == lines ? line : batch * lines + line;
  if (at >= a->count)
    return tn_eval_fail(e, TN_MISMATCH, "operand %d has %lld elements for %lld rows, columns or channels", port,
                        (long long)a->count, (long long)lines);
  *out = tn_lit_f64(a, at);
  return TN_OK;
}

/* Element `at` of the result: the sum itself, or quantised again by `scale` (a float) and `zero`. */
static void integer_store(tn_lit *y, int64_t at, double sum, double scale, double zero) {
  if (y->dtype == TN_I32) {
    tn_store_i64(TN_I32, tn_lit_data(y), at, (int64_t)sum);
    return;
  }
  if (tn_dtype_is_float(y->dtype)) {
    tn_store_f64_sat(y->dtype, tn_lit_data(y), at, sum * scale, true);
    return;
  }
  const double lo = y->dtype == TN_I8 ? -128 : 0, v = nearbyint(sum * scale) + zero;
  tn_store_i64(y->dtype, tn_lit_data(y), at, (int64_t)(v > lo ? (v < lo + 255 ? v : lo + 255) : lo));
}

/* A sum of integers as int32 holds it. */
static double integer_wrap(double sum) { return fabs(sum) < 0x1p62 ? (double)(int32_t)(uint32_t)(int64_t)sum : 0; }

typedef struct integer_matrices {
  int64_t m, n, k;
  int rank, ra, rb;
  int64_t dims[TN_MAX_RANK + 2];
} integer_matrices;

/* Element (row, column) of product `batch`. */
static tn_status integer_dot(tn_eval *e, const integer_ports *p, const integer_matrices *s, int64_t batch, int64_t row,
                             int64_t column, tn_lit *y) {
  const tn_lit *const a = e->in[p->a];
  const tn_lit *const b = e->in[p->b];
  const int64_t ba = tn_bcast_index(batch, s->rank, s->dims, s->ra, a->dims);
  const int64_t bb = tn_bcast_index(batch, s->rank, s->dims, s->rb, b->dims);
  double za, zb, zy, sa, sb, sy, sum = 0;
  TN_TRY(integer_pick(e, p->a_zero, ba, row, s->m, 0, &za));
  TN_TRY(integer_pick(e, p->b_zero, bb, column, s->n, 0, &zb));
  TN_TRY(integer_pick(e, p->y_zero, batch, row, s->m, 0, &zy));
  TN_TRY(integer_pick(e, p->a_scale, ba, row, s->m, 1, &sa));
  TN_TRY(integer_pick(e, p->b_scale, bb, column, s->n, 1, &sb));
  TN_TRY(integer_pick(e, p->y_scale, batch, row, s->m, 1, &sy));
  for (int64_t i = 0; i < s->k; i++)
    sum += (tn_lit_f64(a, (ba * s->m + row) * s->k + i) - za) * (tn_lit_f64(b, (bb * s->k + i) * s->n + column) - zb);
  if (!tn_dtype_is_float(a->dtype) && !tn_dtype_is_float(b->dtype)) sum = integer_wrap(sum);
  integer_store(y, (batch * s->m + row) * s->n + column, sum, (double)((float)sa * (float)sb / (float)sy), zy);
  return TN_OK;
}

static tn_status integer_matmul_eval(tn_eval *e, const integer_ports *p) {
  const tn_lit *const a = e->in[p->a];
  const tn_lit *const b = e->in[p->b];
  if (a->rank < 1 || b->rank < 1) return tn_eval_fail(e, TN_MISMATCH, "a matrix product of a scalar");
  integer_matrices s = {.ra = a->rank > 2 ? a->rank - 2 : 0, .rb = b->rank > 2 ? b->rank - 2 : 0};
  s.m = a->rank > 1 ? a->dims[a->rank - 2] : 1;
  s.n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
  s.k = a->dims[a->rank - 1];
  if (b->dims[b->rank > 1 ? b->rank - 2 : 0] != s.k)
    return tn_eval_fail(e, TN_MISMATCH, "cannot multiply: columns of a and rows of b differ");
  TN_TRY(tn_eval_bcast(e, s.ra, a->dims, s.rb, b->dims, &s.rank, s.dims));
  int64_t dims[TN_MAX_RANK + 2];
  int rank = s.rank;
  for (int i = 0; i < rank; i++) dims[i] = s.dims[i];
  if (a->rank > 1) dims[rank++] = s.m;
  if (b->rank > 1) dims[rank++] = s.n;
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), rank, dims, &y));
  for (int64_t i = 0; i < y->count; i++) TN_TRY(integer_dot(e, p, &s, i / s.n / s.m, i / s.n % s.m, i % s.n, y));
  return TN_OK;
}
static tn_status matmul_integer_eval(tn_eval *e) { return integer_matmul_eval(e, &integer_plain); }
static tn_status qlinear_matmul_eval(tn_eval *e) { return integer_matmul_eval(e, &integer_linear); }

TN_OP(matmul_integer){
    .name = "matmul_integer",
    .in = {{"a", INTEGER_BYTES, "T1"},
           {"b", INTEGER_BYTES, "T2"},
           {"a_zero_point", INTEGER_BYTES, "T1", TN_PORT_OPTIONAL},
           {"b_zero_point", INTEGER_BYTES, "T2", TN_PORT_OPTIONAL}},
    .out = {{"y", TN_SET(I32)}},
    .type = integer_type_i32,
    .shape = matmul_integer_shape,
    .eval = matmul_integer_eval,
    .kernel = "matmul_integer",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "matrix product of (a - a_zero_point) and (b - b_zero_point) in int32",
};

TN_OP(qlinear_matmul){
    .name = "qlinear_matmul",
    .in = {{"a", INTEGER_OR_F8, "T1"},
           {"a_scale", INTEGER_SCALES, "TS"},
           {"a_zero_point", INTEGER_OR_F8, "T1"},
           {"b", INTEGER_OR_F8, "T2"},
           {"b_scale", INTEGER_SCALES, "TS"},
           {"b_zero_point", INTEGER_OR_F8, "T2"},
           {"y_scale", INTEGER_SCALES, "TS"},
           {"y_zero_point", INTEGER_OR_F8, "T3"}},
    .out = {{"y", INTEGER_OR_F8, "T3"}},
    .type = integer_type_of_zero,
    .shape = qlinear_matmul_shape,
    .eval = qlinear_matmul_eval,
    .kernel = "qlinear_matmul",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "matrix product of quantised a and b, quantised by y_scale and y_zero_point",
};

/* --- convolutions --- */

static tn_status integer_conv_shape(tn_rule *r, const integer_ports *p) {
  TN_TRY(tn_conv_shape(r, p->a, p->b, p->bias));
  const tn_sym one = tn_sym_int(r->syms, 1);
  const int single[] = {p->a_scale, p->a_zero, p->y_scale, p->y_zero}, by_channel[] = {p->b_scale, p->b_zero};
  for (int i = 0; i < 4; i++)
    if (single[i] >= 0) TN_TRY(integer_param(r, single[i], one));
  for (int i = 0; i < 2 && tn_rule_has_rank(r, p->b); i++)
    if (by_channel[i] >= 0) TN_TRY(integer_param(r, by_channel[i], r->in[p->b]->dims[0]));
  return TN_OK;
}
static tn_status conv_integer_shape(tn_rule *r) { return integer_conv_shape(r, &integer_plain); }
static tn_status qlinear_conv_shape(tn_rule *r) { return integer_conv_shape(r, &integer_linear); }

typedef struct integer_channel {
  double zx, zw, zy, scale, bias;
} integer_channel;

static tn_status integer_channel_read(tn_eval *e, const integer_ports *p, int64_t m, int64_t channels,
                                      integer_channel *c) {
  double sx, sw, sy;
  TN_TRY(integer_pick(e, p->a_zero, 0, 0, 1, 0, &c->zx));
  TN_TRY(integer_pick(e, p->b_zero, 0, m, channels, 0, &c->zw));
  TN_TRY(integer_pick(e, p->y_zero, 0, 0, 1, 0, &c->zy));
  TN_TRY(integer_pick(e, p->a_scale, 0, 0, 1, 1, &sx));
  TN_TRY(integer_pick(e, p->b_scale, 0, m, channels, 1, &sw));
  TN_TRY(integer_pick(e, p->y_scale, 0, 0, 1, 1, &sy));
  TN_TRY(integer_pick(e, p->bias, 0, m, channels, 0, &c->bias));
  c->scale = (double)((float)sx * (float)sw / (float)sy);
  return TN_OK;
}

static tn_status integer_conv_eval(tn_eval *e, const integer_ports *p) {
  const tn_lit *const x = e->in[p->a];
  const tn_lit *const w = e->in[p->b];
  const int64_t group = tn_eval_int(e, "group");
  tn_window win;
  tn_lit *y;
  if (x->rank < 2 || w->rank != x->rank)
    return tn_eval_fail(e, TN_MISMATCH, "input of rank %d with weights of rank %d", x->rank, w->rank);
  if (group < 1 || w->dims[0] % group != 0 || x->dims[1] % group != 0 || x->dims[1] / group != w->dims[1])
    return tn_eval_fail(e, TN_MISMATCH, "%lld input channels with weights for %lld in %lld groups",
                        (long long)x->dims[1], (long long)w->dims[1], (long long)group);
  TN_TRY(tn_window_eval(e, x->rank - 2, x->dims + 2, w->dims + 2, &win));
  int64_t dims[TN_MAX_RANK] = {x->dims[0], w->dims[0]};
  for (int i = 0; i < win.n; i++) dims[2 + i] = win.out[i];
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), x->rank, dims, &y));
  const int64_t channels = w->dims[0], cg = w->dims[1];
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t at = i % win.n_out, m = i / win.n_out % channels, image = i / win.n_out / channels;
    integer_channel c;
    TN_TRY(integer_channel_read(e, p, m, channels, &c));
    double sum = c.bias;
    for (int64_t tap = 0; tap < win.n_taps; tap++) {
      const int64_t from = tn_window_at(&win, at, tap);
      for (int64_t ch = 0; from >= 0 && ch < cg; ch++)
        sum += (tn_lit_f64(x, (image * x->dims[1] + m / (channels / group) * cg + ch) * win.n_in + from) - c.zx) *
               (tn_lit_f64(w, (m * cg + ch) * win.n_taps + tap) - c.zw);
    }
    integer_store(y, i, integer_wrap(sum), c.scale, c.zy);
  }
  return TN_OK;
}
static tn_status conv_integer_eval(tn_eval *e) { return integer_conv_eval(e, &integer_plain); }
static tn_status qlinear_conv_eval(tn_eval *e) { return integer_conv_eval(e, &integer_linear); }

TN_OP(conv_integer){
    .name = "conv_integer",
    .in = {{"x", INTEGER_BYTES, "T1", .rank_as = 2},
           {"w", INTEGER_BYTES, "T2"},
           {"x_zero_point", INTEGER_BYTES, "T1", TN_PORT_OPTIONAL},
           {"w_zero_point", INTEGER_BYTES, "T2", TN_PORT_OPTIONAL}},
    .out = {{"y", TN_SET(I32)}},
    .attrs = {TN_CONV_ATTRS},
    .type = integer_type_i32,
    .shape = conv_integer_shape,
    .eval = conv_integer_eval,
    .kernel = "conv_integer",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "convolution of (x - x_zero_point) with (w - w_zero_point) in int32; padding counts as x_zero_point",
};

TN_OP(qlinear_conv){
    .name = "qlinear_conv",
    .in = {{"x", INTEGER_BYTES, "T1", .rank_as = 4},
           {"x_scale", TN_SET(F32)},
           {"x_zero_point", INTEGER_BYTES, "T1"},
           {"w", INTEGER_BYTES, "T2"},
           {"w_scale", TN_SET(F32)},
           {"w_zero_point", INTEGER_BYTES, "T2"},
           {"y_scale", TN_SET(F32)},
           {"y_zero_point", INTEGER_BYTES, "T3"},
           {"b", TN_SET(I32), NULL, TN_PORT_OPTIONAL}},
    .out = {{"y", INTEGER_BYTES, "T3"}},
    .attrs = {TN_CONV_ATTRS},
    .type = integer_type_of_zero,
    .shape = qlinear_conv_shape,
    .eval = qlinear_conv_eval,
    .kernel = "qlinear_conv",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "convolution of quantised x with quantised w plus a bias, quantised by y_scale and y_zero_point",
};

/* clang-format off */
TN_ONNX(ai, MatMulInteger, 10, TN_LATEST, matmul_integer, tn_import_same)
TN_ONNX(ai, ConvInteger, 10, TN_LATEST, conv_integer, tn_import_same)
TN_ONNX(ai, QLinearMatMul, 10, TN_LATEST, qlinear_matmul, tn_import_same)
TN_ONNX(ai, QLinearConv, 10, TN_LATEST, qlinear_conv, tn_import_same)
