/* Kernels of products of quantised numbers.
 *
 * Operands become int16 with their zero points taken off; both factors of a sum lie contiguous, so that a product is a
 * sum of pairs. Sums are int32 and wrap. */
#include <math.h>

#include "kern/line.h"
#include "kern/move.h"
#include "kern/window.h"

enum { QPRODUCT_ROWS = 16, QPRODUCT_COLUMNS = 64 };

typedef struct qproduct_ports { /* positions of the operands; -1 = the operator has none */
  int a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias;
} qproduct_ports;
static const qproduct_ports qproduct_plain = {0, -1, 2, 1, -1, 3, -1, -1, -1};
static const qproduct_ports qproduct_linear = {0, 1, 2, 3, 4, 5, 6, 7, 8};

/* Scales or zero points: one number, one per line, or one per line of every matrix. */
typedef struct qproduct_param {
  const tn_karg *arg;
  int64_t lines;
} qproduct_param;

static tn_status qproduct_param_read(tn_kcall *k, int port, int64_t lines, int64_t matrices, qproduct_param *p) {
  int64_t all;
  *p = (qproduct_param){port >= 0 ? tn_k_in(k, port) : NULL, lines};
  if (!p->arg) return TN_OK;
  const tn_dtype d = p->arg->dtype;
  if (p->arg->kind != TN_KARG_TENSOR || (!tn_dtype_is_float(d) && !tn_dtype_is_int(d))) return tn_k_no_dtype(k, port);
  if (!tn_mul_i64(lines, matrices, &all) || (p->arg->count != 1 && p->arg->count != lines && p->arg->count != all))
    return tn_k_fail(k, TN_MISMATCH, "operand %d has %lld elements for %lld rows, columns or channels", port,
                     (long long)p->arg->count, (long long)lines);
  return TN_OK;
}
static double qproduct_param_at(const qproduct_param *p, int64_t matrix, int64_t line, double absent) {
  if (!p->arg) return absent;
  const int64_t n = p->arg->count;
  return tn_load_f64(p->arg->dtype, p->arg->data, n == 1 ? 0 : n == p->lines ? line : matrix * p->lines + line);
}
static int qproduct_zero_at(const qproduct_param *p, int64_t matrix, int64_t line) {
  const double z = qproduct_param_at(p, matrix, line, 0);
  return z >= -128 && z <= 255 ? (int)z : 0;
}
static inline int16_t qproduct_load(const tn_karg *a, int64_t i, int zero) {
  const int sign = a->dtype == TN_I8 ? 128 : 0; /* i8 is read as u8: its upper bit turned, it is 128 more */
  return (int16_t)((((const uint8_t *)a->data)[i] ^ sign) - sign - zero);
}
static bool qproduct_is_bytes(const tn_karg *a) { return a->dtype == TN_U8 || a->dtype == TN_I8; }

/* Elements of the result from `at` on: the sums themselves, or quantised again. A product is held to +-2^20, where
 * adding 1.5 * 2^52 rounds; NaN becomes the least. */
static void qproduct_store(tn_karg *y, int64_t at, const uint32_t *restrict sums, const double *restrict scale,
                           double zero, int64_t n) {
  const double lo = y->dtype == TN_I8 ? -128 : 0, hi = lo + 255, magic = 6755399441055744.0;
  uint8_t *restrict const q = (uint8_t *)y->data + at;
  if (y->dtype == TN_I32) {
    memcpy((int32_t *)y->data + at, sums, (size_t)n * sizeof(int32_t));
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    double v = (double)(int32_t)sums[i] * scale[i];
    v = v > -1048576.0 ? v : -1048576.0;
    v = v < 1048576.0 ? v : 1048576.0;
    v = ((v + magic) - magic) + zero;
    v = v > lo ? v : lo;
    q[i] = (uint8_t)(int32_t)(v < hi ? v : hi);
  }
}

/* --- matrices --- */

typedef struct qproduct_matmul {
  const tn_line_isa *isa;
  const tn_karg *a, *b;
  tn_karg *y;
  qproduct_param a_scale, a_zero, b_scale, b_zero, y_scale, y_zero;
  int64_t m, n, k, batch, batch_a, batch_b;
  int rank; /* of the batch dims */
  int64_t dims[TN_K_MAX_RANK], a_step[TN_K_MAX_RANK], b_step[TN_K_MAX_RANK];
  const int16_t *a16; /* [batch_a][m][k] */
  const int16_t *b16; /* [batch_b][n][k] */
} qproduct_matmul;

static tn_status qproduct_matmul_size(tn_kcall *k, const qproduct_ports *p, qproduct_matmul *j) {
  const tn_karg *const a = j->a = k->in[p->a];
  const tn_karg *const b = j->b = k->in[p->b];
  if (a->rank < 1 || b->rank < 1) return tn_k_fail(k, TN_MISMATCH, "a matrix product of a scalar");
  tn_karg ba = {.rank = a->rank > 2 ? a->rank - 2 : 0}, bb = {.rank = b->rank > 2 ? b->rank - 2 : 0};
  for (int i = 0; i < ba.rank; i++) ba.dims[i] = a->dims[i];
  for (int i = 0; i < bb.rank; i++) bb.dims[i] = b->dims[i];
  j->m = a->rank > 1 ? a->dims[a->rank - 2] : 1;
  j->n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
  j->k = a->dims[a->rank - 1];
  const int64_t kb = b->dims[b->rank > 1 ? b->rank - 2 : 0];
  if (kb != j->k)
    return tn_k_fail(k, TN_MISMATCH, "cannot multiply: %lld columns by %lld rows", (long long)j->k, (long long)kb);
  const tn_karg *const both[2] = {&ba, &bb};
  TN_TRY(tn_k_bcast(k, both, 2, &j->rank, j->dims));
  tn_k_bcast_strides(&ba, j->rank, j->a_step);
  tn_k_bcast_strides(&bb, j->rank, j->b_step);
  j->batch_a = tn_k_count(ba.dims, 0, ba.rank);
  j->batch_b = tn_k_count(bb.dims, 0, bb.rank);
  int64_t dims[TN_K_MAX_RANK + 2];
  int rank = j->rank;
  for (int i = 0; i < rank; i++) dims[i] = j->dims[i];
  if (a->rank > 1) dims[rank++] = j->m;
  if (b->rank > 1) dims[rank++] = j->n;
  TN_TRY(tn_k_out(k, 0, rank, dims));
  j->y = k->out[0];
  j->batch = tn_k_count(j->dims, 0, j->rank);
  return TN_OK;
}

static tn_status qproduct_matmul_params(tn_kcall *k, const qproduct_ports *p, qproduct_matmul *j) {
  TN_TRY(qproduct_param_read(k, p->a_scale, j->m, j->batch_a, &j->a_scale));
  TN_TRY(qproduct_param_read(k, p->a_zero, j->m, j->batch_a, &j->a_zero));
  TN_TRY(qproduct_param_read(k, p->b_scale, j->n, j->batch_b, &j->b_scale));
  TN_TRY(qproduct_param_read(k, p->b_zero, j->n, j->batch_b, &j->b_zero));
  TN_TRY(qproduct_param_read(k, p->y_scale, j->m, j->batch, &j->y_scale));
  return qproduct_param_read(k, p->y_zero, j->m, j->batch, &j->y_zero);
}

static void qproduct_split(const qproduct_matmul *j, int64_t batch, int64_t *out_a, int64_t *out_b) {
  *out_a = *out_b = 0;
  for (int d = j->rank - 1; d >= 0; d--) {
    *out_a += batch % j->dims[d] * j->a_step[d];
    *out_b += batch % j->dims[d] * j->b_step[d];
    batch /= j->dims[d];
  }
}

static double qproduct_matmul_scale(const qproduct_matmul *j, int64_t batch, int64_t a, int64_t b, int64_t row,
                                    int64_t column) {
  const float sa = (float)qproduct_param_at(&j->a_scale, a, row, 1);
  const float sb = (float)qproduct_param_at(&j->b_scale, b, column, 1);
  return (double)(sa * sb / (float)qproduct_param_at(&j->y_scale, batch, row, 1));
}

static int64_t qproduct_tiles(int64_t n, int64_t of) { return (n + of - 1) / of; }

static void qproduct_matmul_task(void *arg, int64_t begin, int64_t end, int worker) {
  const qproduct_matmul *const j = arg;
  const int64_t row_tiles = qproduct_tiles(j->m, QPRODUCT_ROWS), column_tiles = qproduct_tiles(j->n, QPRODUCT_COLUMNS);
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const int64_t batch = i / column_tiles / row_tiles, r0 = i / column_tiles % row_tiles * QPRODUCT_ROWS;
    const int64_t c0 = i % column_tiles * QPRODUCT_COLUMNS;
    const int64_t columns = j->n - c0 < QPRODUCT_COLUMNS ? j->n - c0 : QPRODUCT_COLUMNS;
    int64_t a, b;
    qproduct_split(j, batch, &a, &b);
    float by_column[QPRODUCT_COLUMNS];
    for (int64_t c = 0; c < columns; c++) by_column[c] = (float)qproduct_param_at(&j->b_scale, b, c0 + c, 1);
    for (int64_t row = r0; row < j->m && row < r0 + QPRODUCT_ROWS; row++) {
      uint32_t sums[QPRODUCT_COLUMNS];
      double scale[QPRODUCT_COLUMNS];
      const float sa = (float)qproduct_param_at(&j->a_scale, a, row, 1);
      const float sy = (float)qproduct_param_at(&j->y_scale, batch, row, 1);
      for (int64_t c = 0; c < columns; c++) scale[c] = (double)(sa * by_column[c] / sy);
      j->isa->dots(j->a16 + (a * j->m + row) * j->k, j->b16 + (b * j->n + c0) * j->k, j->k, columns, sums);
      qproduct_store(j->y, (batch * j->m + row) * j->n + c0, sums, scale, qproduct_param_at(&j->y_zero, batch, row, 0),
                     columns);
    }
  }
}

static void qproduct_pack_rows(const qproduct_matmul *j, int16_t *out) {
  for (int64_t i = 0; i < j->batch_a * j->m; i++) {
    const int zero = qproduct_zero_at(&j->a_zero, i / j->m, i % j->m);
    for (int64_t p = 0; p < j->k; p++) out[i * j->k + p] = qproduct_load(j->a, i * j->k + p, zero);
  }
}
static void qproduct_pack_columns(const qproduct_matmul *j, int16_t *out) {
  for (int64_t b = 0; b < j->batch_b; b++)
    for (int64_t c0 = 0; c0 < j->n; c0 += QPRODUCT_COLUMNS) {
      const int64_t columns = j->n - c0 < QPRODUCT_COLUMNS ? j->n - c0 : QPRODUCT_COLUMNS;
      int zero[QPRODUCT_COLUMNS];
      for (int64_t c = 0; c < columns; c++) zero[c] = qproduct_zero_at(&j->b_zero, b, c0 + c);
      for (int64_t p = 0; p < j->k; p++)
        for (int64_t c = 0; c < columns; c++)
          out[(b * j->n + c0 + c) * j->k + p] = qproduct_load(j->b, (b * j->k + p) * j->n + c0 + c, zero[c]);
    }
}

/* Columns that are the same in every run are packed once. */
static tn_status qproduct_pack(tn_kcall *k, qproduct_matmul *j) {
  void *a16, *b16;
  bool fresh = true;
  TN_TRY(tn_k_room(k, j->a->count, sizeof(int16_t), &a16));
  qproduct_pack_rows(j, a16);
  if (j->b->is_const && (!j->b_zero.arg || j->b_zero.arg->is_const) && j->b->count > 0)
    TN_TRY(tn_k_cache(k, 0, (size_t)j->b->count * sizeof(int16_t), &b16, &fresh));
  else
    TN_TRY(tn_k_room(k, j->b->count, sizeof(int16_t), &b16));
  if (fresh) qproduct_pack_columns(j, b16);
  j->a16 = a16;
  j->b16 = b16;
  return TN_OK;
}

/* 8-bit floats: every element by itself. */
static void qproduct_float_task(void *arg, int64_t begin, int64_t end, int worker) {
  const qproduct_matmul *const j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const int64_t row = i / j->n % j->m, column = i % j->n, batch = i / j->n / j->m;
    int64_t a, b;
    qproduct_split(j, batch, &a, &b);
    const double za = qproduct_param_at(&j->a_zero, a, row, 0), zb = qproduct_param_at(&j->b_zero, b, column, 0);
    double sum = 0;
    for (int64_t p = 0; p < j->k; p++)
      sum += (tn_load_f64(j->a->dtype, j->a->data, (a * j->m + row) * j->k + p) - za) *
             (tn_load_f64(j->b->dtype, j->b->data, (b * j->k + p) * j->n + column) - zb);
    sum *= qproduct_matmul_scale(j, batch, a, b, row, column);
    if (tn_dtype_is_float(j->y->dtype)) {
      tn_store_f64_sat(j->y->dtype, j->y->data, i, sum, true);
      continue;
    }
    const double lo = j->y->dtype == TN_I8 ? -128 : 0,
                 v = nearbyint(sum) + qproduct_param_at(&j->y_zero, batch, row, 0);
    tn_store_i64(j->y->dtype, j->y->data, i, (int64_t)(v > lo ? (v < lo + 255 ? v : lo + 255) : lo));
  }
}

static tn_status qproduct_matmul_run(tn_kcall *k, const qproduct_ports *p) {
  qproduct_matmul j = {.isa = tn_line_isa_get()};
  TN_TRY(qproduct_matmul_size(k, p, &j));
  TN_TRY(qproduct_matmul_params(k, p, &j));
  if (j.y->count == 0) return TN_OK;
  if (!qproduct_is_bytes(j.a) || !qproduct_is_bytes(j.b) || (!qproduct_is_bytes(j.y) && j.y->dtype != TN_I32)) {
    for (int i = 0; i < 2; i++) {
      const int port = i ? p->b : p->a;
      if (!tn_dtype_is_float(k->in[port]->dtype) && !qproduct_is_bytes(k->in[port])) return tn_k_no_dtype(k, port);
    }
    tn_pool_for(k->pool, j.y->count, 64, qproduct_float_task, &j);
    return TN_OK;
  }
  TN_TRY(qproduct_pack(k, &j));
  const int64_t tiles = qproduct_tiles(j.m, QPRODUCT_ROWS) * qproduct_tiles(j.n, QPRODUCT_COLUMNS);
  tn_pool_for(k->pool, j.batch * tiles, 1, qproduct_matmul_task, &j);
  return TN_OK;
}

TN_KERNEL(matmul_integer, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 2, 1));
  TN_TRY(tn_k_out_type(k, 0, TN_I32));
  return qproduct_matmul_run(k, &qproduct_plain);
}
TN_KERNEL(qlinear_matmul, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 8, 1));
  TN_TRY(tn_k_out_type(k, 0, k->in[7]->dtype));
  return qproduct_matmul_run(k, &qproduct_linear);
}

/* --- convolutions --- */

typedef struct qproduct_conv {
  const tn_line_isa *isa;
  const tn_karg *x, *bias;
  tn_karg *y;
  qproduct_param w_scale, w_zero;
  int x_zero;
  double y_zero;
  float x_scale, y_scale;
  int64_t batch, group, cg, mg, k; /* channels per group: input, output; k = cg * taps */
  tn_kwindow w;
  tn_krows rows;
  const int16_t *w16; /* [group * mg][k] */
  int16_t *columns;   /* per worker: QPRODUCT_COLUMNS positions of k */
} qproduct_conv;

/* What output position p of one image and group sees. */
static void qproduct_conv_column(const qproduct_conv *j, int64_t image, int64_t g, int64_t p, int16_t *out) {
  const tn_krows *const r = &j->rows;
  const int64_t row = p / r->out, x0 = p % r->out * r->stride - r->lo;
  for (int64_t c = 0; c < j->cg; c++) {
    const int64_t plane = ((image * j->group + g) * j->cg + c) * j->w.n_in;
    for (int64_t t = 0; t < r->taps; t++) {
      const int64_t in = r->map[t * r->rows_out + row];
      const bool inside = in >= 0 && x0 >= 0 && x0 + (r->kernel - 1) * r->dilation < r->in;
      for (int64_t kx = 0; kx < r->kernel; kx++, out++) {
        const int64_t x = x0 + kx * r->dilation;
        const bool outside = !inside && (in < 0 || x < 0 || x >= r->in);
        *out = outside ? 0 : qproduct_load(j->x, plane + in * r->in + x, j->x_zero);
      }
    }
  }
}

static void qproduct_conv_task(void *arg, int64_t begin, int64_t end, int worker) {
  const qproduct_conv *const j = arg;
  int16_t *const columns = j->columns + worker * QPRODUCT_COLUMNS * j->k;
  const int64_t tiles = qproduct_tiles(j->w.n_out, QPRODUCT_COLUMNS);
  for (int64_t i = begin; i < end; i++) {
    const int64_t p0 = i % tiles * QPRODUCT_COLUMNS, g = i / tiles % j->group, image = i / tiles / j->group;
    const int64_t n = j->w.n_out - p0 < QPRODUCT_COLUMNS ? j->w.n_out - p0 : QPRODUCT_COLUMNS;
    for (int64_t p = 0; p < n; p++) qproduct_conv_column(j, image, g, p0 + p, columns + p * j->k);
    for (int64_t m = g * j->mg; m < (g + 1) * j->mg; m++) {
      uint32_t sums[QPRODUCT_COLUMNS];
      double scale[QPRODUCT_COLUMNS];
      j->isa->dots(j->w16 + m * j->k, columns, j->k, n, sums);
      const uint32_t bias = j->bias ? (uint32_t)((const int32_t *)j->bias->data)[m] : 0;
      const double each = (double)(j->x_scale * (float)qproduct_param_at(&j->w_scale, 0, m, 1) / j->y_scale);
      for (int64_t p = 0; p < n; p++) {
        sums[p] += bias;
        scale[p] = each;
      }
      qproduct_store(j->y, (image * j->group * j->mg + m) * j->w.n_out + p0, sums, scale, j->y_zero, n);
    }
  }
}

static tn_status qproduct_conv_params(tn_kcall *k, const qproduct_ports *p, const tn_karg *w, qproduct_conv *j) {
  qproduct_param single;
  TN_TRY(qproduct_param_read(k, p->b_scale, w->dims[0], 1, &j->w_scale));
  TN_TRY(qproduct_param_read(k, p->b_zero, w->dims[0], 1, &j->w_zero));
  TN_TRY(qproduct_param_read(k, p->a_zero, 1, 1, &single));
  j->x_zero = qproduct_zero_at(&single, 0, 0);
  TN_TRY(qproduct_param_read(k, p->y_zero, 1, 1, &single));
  j->y_zero = qproduct_param_at(&single, 0, 0, 0);
  TN_TRY(qproduct_param_read(k, p->a_scale, 1, 1, &single));
  j->x_scale = (float)qproduct_param_at(&single, 0, 0, 1);
  TN_TRY(qproduct_param_read(k, p->y_scale, 1, 1, &single));
  j->y_scale = (float)qproduct_param_at(&single, 0, 0, 1);
  j->bias = p->bias >= 0 ? tn_k_in(k, p->bias) : NULL;
  if (j->bias && (j->bias->dtype != TN_I32 || j->bias->count != w->dims[0]))
    return tn_k_fail(k, TN_MISMATCH, "%lld biases for %lld channels", (long long)j->bias->count, (long long)w->dims[0]);
  return TN_OK;
}

static tn_status qproduct_conv_size(tn_kcall *k, const tn_karg *x, const tn_karg *w, qproduct_conv *j) {
  int64_t dims[TN_K_MAX_RANK], channels;
  if (x->rank < 2 || w->rank != x->rank)
    return tn_k_fail(k, TN_MISMATCH, "input of rank %d with weights of rank %d", x->rank, w->rank);
  j->batch = dims[0] = x->dims[0];
  dims[1] = w->dims[0];
  j->group = tn_k_int(k, "group", 1);
  j->cg = w->dims[1];
  if (j->group < 1 || dims[1] % j->group != 0 || !tn_mul_i64(j->cg, j->group, &channels) || channels != x->dims[1])
    return tn_k_fail(k, TN_MISMATCH, "%lld input channels with weights for %lld in %lld groups", (long long)x->dims[1],
                     (long long)j->cg, (long long)j->group);
  j->mg = dims[1] / j->group;
  TN_TRY(tn_kwindow_sizes(k, x->rank - 2, x->dims + 2, w->dims + 2, false, dims + 2));
  TN_TRY(tn_k_out(k, 0, x->rank, dims));
  j->y = k->out[0];
  return tn_kwindow_read(k, x->rank - 2, x->dims + 2, dims + 2, w->dims + 2, &j->w);
}

static tn_status qproduct_conv_weights(tn_kcall *k, const tn_karg *w, qproduct_conv *j) {
  void *room;
  bool fresh = true;
  if (w->is_const && (!j->w_zero.arg || j->w_zero.arg->is_const) && w->count > 0)
    TN_TRY(tn_k_cache(k, 0, (size_t)w->count * sizeof(int16_t), &room, &fresh));
  else
    TN_TRY(tn_k_room(k, w->count, sizeof(int16_t), &room));
  int16_t *const w16 = room;
  for (int64_t m = 0; fresh && m < w->dims[0]; m++) {
    const int zero = qproduct_zero_at(&j->w_zero, 0, m);
    for (int64_t i = m * j->k; i < (m + 1) * j->k; i++) w16[i] = qproduct_load(w, i, zero);
  }
  j->w16 = w16;
  return TN_OK;
}

static tn_status qproduct_conv_run(tn_kcall *k, const qproduct_ports *p) {
  const tn_karg *const x = k->in[p->a];
  const tn_karg *const w = k->in[p->b];
  qproduct_conv j = {.isa = tn_line_isa_get(), .x = x};
  int64_t each;
  void *columns;
  if (!qproduct_is_bytes(x)) return tn_k_no_dtype(k, p->a);
  if (!qproduct_is_bytes(w)) return tn_k_no_dtype(k, p->b);
  TN_TRY(qproduct_conv_size(k, x, w, &j));
  TN_TRY(qproduct_conv_params(k, p, w, &j));
  if (j.y->count == 0) return TN_OK;
  if (!tn_mul_i64(j.cg, j.w.n_taps, &j.k) || !tn_mul_i64(j.k, QPRODUCT_COLUMNS, &each) ||
      !tn_mul_i64(each, tn_pool_threads(k->pool), &each))
    return tn_k_fail(k, TN_LIMIT, "the kernel is too large");
  TN_TRY(tn_krows_make(k, &j.w, &j.rows));
  TN_TRY(qproduct_conv_weights(k, w, &j));
  TN_TRY(tn_k_room(k, each, sizeof(int16_t), &columns));
  j.columns = columns;
  tn_pool_for(k->pool, j.batch * j.group * qproduct_tiles(j.w.n_out, QPRODUCT_COLUMNS), 1, qproduct_conv_task, &j);
  return TN_OK;
}

TN_KERNEL(conv_integer, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 2, 1));
  TN_TRY(tn_k_out_type(k, 0, TN_I32));
  return qproduct_conv_run(k, &qproduct_plain);
}
TN_KERNEL(qlinear_conv, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 8, 1));
  TN_TRY(tn_k_out_type(k, 0, k->in[7]->dtype));
  if (!qproduct_is_bytes(k->out[0])) return tn_k_no_dtype(k, 7);
  return qproduct_conv_run(k, &qproduct_linear);
}
