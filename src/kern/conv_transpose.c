/* Transposed convolution: the products of weights and input, added where the taps of each input position land.
 *
 * The geometry is that of the convolution that goes the other way: its "input" is our result. A task owns whole output
 * channels, so that nothing is added twice or in an order that depends on threads. */
#include <string.h>

#include "kern/gemm.h"
#include "kern/shadow.h"
#include "kern/window.h"

enum { DECONV_COLUMNS = 192, DECONV_ROWS = 96 }; /* of one block of products, about */

typedef struct deconv_shape {
  int64_t batch, group, cg, mg;
  tn_kwindow w; /* in: our output, out: our input */
} deconv_shape;

/* Padding that auto_pad or output_shape leave to be found: what is too much, halved. */
static tn_status deconv_pads(tn_kcall *k, tn_kwindow *w) {
  int64_t extra[TN_KW_MAX];
  const tn_kattr *shape = tn_k_attr(k, "output_shape");
  const bool upper = tn_k_str_is(k, "auto_pad", "SAME_UPPER");
  if (!upper && !tn_k_str_is(k, "auto_pad", "SAME_LOWER") && !(shape && shape->n > 0)) return TN_OK;
  TN_TRY(tn_kwindow_ints(k, "output_padding", w->n, 0, extra));
  for (int i = 0; i < w->n; i++) {
    int64_t total = (w->out[i] - 1) * w->stride[i] + extra[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - w->in[i];
    if (total < 0) total = 0;
    w->lo[i] = upper ? total / 2 : total - total / 2;
    w->hi[i] = total - w->lo[i];
  }
  return TN_OK;
}

static tn_status deconv_read(tn_kcall *k, deconv_shape *s) {
  const tn_karg *x = k->in[0], *w = k->in[1], *b = tn_k_in(k, 2), *y = k->out[0];
  if (x->rank < 2 || w->rank != x->rank || y->rank != x->rank)
    return tn_k_fail(k, TN_MISMATCH, "conv_transpose: input of rank %d with weights of rank %d", x->rank, w->rank);
  s->group = tn_k_int(k, "group", 1);
  s->batch = x->dims[0];
  s->mg = w->dims[1];
  if (s->group < 1 || x->dims[1] != w->dims[0] || x->dims[1] % s->group != 0 || y->dims[1] % s->group != 0 ||
      y->dims[1] / s->group != s->mg)
    return tn_k_fail(k, TN_MISMATCH, "conv_transpose: %lld input channels with weights for %lld in %lld groups",
                     (long long)x->dims[1], (long long)w->dims[0], (long long)s->group);
  s->cg = x->dims[1] / s->group;
  if (b && b->count != y->dims[1])
    return tn_k_fail(k, TN_MISMATCH, "conv_transpose: %lld biases for %lld channels", (long long)b->count,
                     (long long)y->dims[1]);
  TN_TRY(tn_kwindow_read(k, x->rank - 2, y->dims + 2, x->dims + 2, w->dims + 2, &s->w));
  return deconv_pads(k, &s->w);
}

typedef struct deconv_job {
  const tn_gemm_isa *isa;
  const deconv_shape *s;
  tn_krows rows;
  const float *x, *w, *bias; /* w: packed by chunks of output channels */
  float *y, *work;
  int64_t chunk, chunks; /* output channels of a task, tasks of a group */
  int64_t work_floats, pack_floats;
  int64_t *first, *last; /* by tap of the last axis: inputs that land inside */
} deconv_job;

static int64_t deconv_min(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t deconv_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* Adds one row of products, columns [p, p + n), to the plane y. */
static void deconv_scatter(const deconv_job *j, const float *products, int64_t p, int64_t n, int64_t tap, int64_t kx,
                           float *y) {
  const tn_krows *r = &j->rows;
  for (int64_t at = 0; at < n;) {
    const int64_t row = (p + at) / r->out, x = (p + at) % r->out, take = deconv_min(r->out - x, n - at);
    const int64_t to = r->map[tap * r->rows_out + row];
    const int64_t a = deconv_max(x, j->first[kx]), b = deconv_min(x + take, j->last[kx]);
    if (to >= 0 && a < b) {
      float *d = y + to * r->in + a * r->stride + kx * r->dilation - r->lo;
      const float *s = products + at + a - x;
      if (r->stride == 2)
        for (int64_t i = 0; i < b - a; i++) d[2 * i] += s[i];
      else
        for (int64_t i = 0; i < b - a; i++) d[i * r->stride] += s[i];
    }
    at += take;
  }
}

static void deconv_pack(const deconv_job *j, const float *x, int64_t p, int64_t n, int64_t k0, int64_t kc, float *out) {
  const int nr = j->isa->nr;
  const int64_t step = j->s->w.n_out;
  for (int64_t i = 0; i < n; i += nr, out += kc * nr) {
    const int64_t take = deconv_min(nr, n - i);
    if (take < nr) memset(out, 0, (size_t)(kc * nr) * sizeof *out);
    for (int64_t c = 0; c < kc; c++) memcpy(out + c * nr, x + (k0 + c) * step + p + i, (size_t)take * sizeof *out);
  }
}

/* Output channels [m0, m0 + m) of a group. Working memory: packed columns, then products. */
static void deconv_chunk(const deconv_job *j, int64_t image, int64_t g, int64_t m0, int64_t m, float *work) {
  const deconv_shape *s = j->s;
  const int64_t taps = s->w.n_taps, rows = m * taps, n_in = s->w.n_out, plane = s->w.n_in;
  float *y = j->y + (image * s->group * s->mg + g * s->mg + m0) * plane, *products = work + j->pack_floats;
  const float *x = j->x + (image * s->group + g) * s->cg * n_in, *w = j->w + (g * s->mg + m0) * taps * s->cg;
  for (int64_t i = 0; i < m; i++) {
    const float bias = j->bias ? j->bias[g * s->mg + m0 + i] : 0.0f;
    for (int64_t e = 0; e < plane; e++) y[i * plane + e] = bias;
  }
  for (int64_t p = 0; p < n_in; p += DECONV_COLUMNS) {
    const int64_t n = deconv_min(DECONV_COLUMNS, n_in - p);
    for (int64_t k0 = 0; k0 < s->cg; k0 += TN_GEMM_KC) {
      const int64_t kc = deconv_min(TN_GEMM_KC, s->cg - k0);
      deconv_pack(j, x, p, n, k0, kc, work);
      tn_gemm_block(j->isa, rows, n, kc, w + k0 * rows, work, products, DECONV_COLUMNS,
                    k0 ? TN_START_ACC : TN_START_ZERO, NULL);
    }
    for (int64_t i = 0; i < rows && s->cg > 0; i++)
      deconv_scatter(j, products + i * DECONV_COLUMNS, p, n, i % taps / j->rows.kernel, i % j->rows.kernel,
                     y + i / taps * plane);
  }
}

static void deconv_task(void *arg, int64_t begin, int64_t end, int worker) {
  const deconv_job *j = arg;
  for (int64_t t = begin; t < end; t++) {
    const int64_t m0 = t % j->chunks * j->chunk, ig = t / j->chunks;
    deconv_chunk(j, ig / j->s->group, ig % j->s->group, m0, deconv_min(j->chunk, j->s->mg - m0),
                 j->work + worker * j->work_floats);
  }
}

static tn_status deconv_weights(tn_kcall *k, deconv_job *j) {
  const deconv_shape *s = j->s;
  const tn_karg *w = k->in[1];
  const int64_t taps = s->w.n_taps, step = s->mg * taps;
  bool fresh = true;
  float *packed = tn_gemm_keep(k, w, 0, w->count, &fresh);
  if (!packed) {
    void *room;
    TN_TRY(tn_k_scratch_array(k, w->count, sizeof(float), &room));
    packed = room;
    fresh = true;
  }
  j->w = packed;
  for (int64_t g = 0; g < s->group && fresh; g++)
    for (int64_t m = 0; m < s->mg; m += j->chunk)
      tn_gemm_pack_a(j->isa, packed + (g * s->mg + m) * taps * s->cg,
                     (const float *)w->data + g * s->cg * step + m * taps, 1, step,
                     deconv_min(j->chunk, s->mg - m) * taps, s->cg, 1.0f);
  return TN_OK;
}

static tn_status deconv_f32(tn_kcall *k) {
  deconv_shape s;
  TN_TRY(deconv_read(k, &s));
  if (k->out[0]->count == 0) return TN_OK;
  deconv_job j = {.isa = tn_gemm_isa_get(), .s = &s, .x = k->in[0]->data, .y = k->out[0]->data};
  j.bias = tn_k_f32(tn_k_in(k, 2));
  TN_TRY(tn_krows_make(k, &s.w, &j.rows));
  const int64_t taps = s.w.n_taps;
  j.chunk = deconv_min(s.mg, deconv_max(1, DECONV_ROWS / (taps > 0 ? taps : 1)));
  j.chunks = (s.mg + j.chunk - 1) / j.chunk;
  TN_TRY(deconv_weights(k, &j));
  void *room;
  TN_TRY(tn_k_scratch_array(k, 2 * j.rows.kernel, sizeof(int64_t), &room));
  j.first = room;
  j.last = j.first + j.rows.kernel;
  for (int64_t kx = 0; kx < j.rows.kernel; kx++)
    tn_krange(j.rows.out, j.rows.in, j.rows.stride, kx * j.rows.dilation - j.rows.lo, &j.first[kx], &j.last[kx]);
  int64_t n;
  j.pack_floats = TN_GEMM_KC * DECONV_COLUMNS;
  if (!tn_mul_i64(j.chunk, taps, &n) || !tn_mul_i64(n, DECONV_COLUMNS, &n) ||
      !tn_add_i64(n, j.pack_floats, &j.work_floats) || !tn_mul_i64(j.work_floats, tn_pool_threads(k->pool), &n))
    return tn_k_fail(k, TN_LIMIT, "conv_transpose: kernel too large");
  TN_TRY(tn_k_scratch_array(k, n, sizeof(float), &room));
  j.work = room;
  tn_pool_for(k->pool, s.batch * s.group * j.chunks, 1, deconv_task, &j);
  return TN_OK;
}

/* Plain form: one input plane and one kernel into one output plane. */
static void deconv_plain_plane(const tn_krows *r, const double *x, const double *w, double *y) {
  for (int64_t t = 0; t < r->taps; t++)
    for (int64_t row = 0; row < r->rows_out; row++) {
      const int64_t to = r->map[t * r->rows_out + row];
      for (int64_t kx = 0; kx < r->kernel && to >= 0; kx++)
        for (int64_t i = 0; i < r->out; i++) {
          const int64_t o = i * r->stride + kx * r->dilation - r->lo;
          if (o >= 0 && o < r->in) y[to * r->in + o] += w[t * r->kernel + kx] * x[row * r->out + i];
        }
    }
}

typedef struct deconv_plain_job {
  const tn_kcall *k;
  const deconv_shape *s;
  const tn_krows *rows;
} deconv_plain_job;

static void deconv_plain_task(void *arg, int64_t begin, int64_t end, int worker) {
  const deconv_plain_job *j = arg;
  const deconv_shape *s = j->s;
  (void)worker;
  const double *x = j->k->in[0]->data, *w = j->k->in[1]->data, *bias = tn_k_f64(tn_k_in(j->k, 2));
  for (int64_t i = begin; i < end; i++) {
    const int64_t m = i % (s->mg * s->group), image = i / (s->mg * s->group), g = m / s->mg;
    double *y = (double *)j->k->out[0]->data + i * s->w.n_in;
    for (int64_t e = 0; e < s->w.n_in; e++) y[e] = bias ? bias[m] : 0.0;
    for (int64_t c = 0; c < s->cg; c++)
      deconv_plain_plane(j->rows, x + ((image * s->group + g) * s->cg + c) * s->w.n_out,
                         w + ((g * s->cg + c) * s->mg + m % s->mg) * s->w.n_taps, y);
  }
}

static tn_status deconv_f64(tn_kcall *k) {
  deconv_shape s;
  tn_krows rows;
  TN_TRY(deconv_read(k, &s));
  if (k->out[0]->count == 0) return TN_OK;
  TN_TRY(tn_krows_make(k, &s.w, &rows));
  deconv_plain_job j = {k, &s, &rows};
  tn_pool_for(k->pool, s.batch * s.group * s.mg, 1, deconv_plain_task, &j);
  return TN_OK;
}

static tn_status deconv_size(tn_kcall *k) {
  const tn_karg *x = k->in[0], *w = k->in[1];
  const int64_t none[TN_KW_MAX] = {0};
  int64_t dims[TN_K_MAX_RANK], extra[TN_KW_MAX], shape[TN_KW_MAX];
  const int n = x->rank - 2;
  tn_kwindow v;
  if (n < 0 || w->rank != x->rank)
    return tn_k_fail(k, TN_MISMATCH, "conv_transpose: input of rank %d with weights of rank %d", x->rank, w->rank);
  TN_TRY(tn_kwindow_read(k, n, none, none, w->dims + 2, &v));
  TN_TRY(tn_kwindow_ints(k, "output_padding", n, 0, extra));
  TN_TRY(tn_kwindow_ints(k, "output_shape", n, -1, shape));
  const bool same = tn_k_str_is(k, "auto_pad", "SAME_UPPER") || tn_k_str_is(k, "auto_pad", "SAME_LOWER");
  dims[0] = x->dims[0];
  if (!tn_mul_i64(w->dims[1], tn_k_int(k, "group", 1), &dims[1])) return tn_k_fail(k, TN_LIMIT, "too many channels");
  for (int i = 0; i < n; i++) {
    const int64_t in = x->dims[2 + i], s = v.stride[i];
    if (in > INT32_MAX) return tn_k_fail(k, TN_LIMIT, "spatial dim %d is too large", i);
    dims[2 + i] = (in - 1) * s + extra[i] + (v.kernel[i] - 1) * v.dilation[i] + 1 - v.lo[i] - v.hi[i];
    if (same) dims[2 + i] = in * s;
    if (shape[i] >= 0) dims[2 + i] = shape[i];
    if (dims[2 + i] < 0) return tn_k_fail(k, TN_MISMATCH, "spatial dim %d of size %lld is too small", i, (long long)in);
  }
  return tn_k_out(k, 0, x->rank, dims);
}

TN_KERNEL(conv_transpose, TN_K_SIZES) {
  TN_TRY(deconv_size(k));
  return tn_k_by_float(k, deconv_f32, deconv_f64);
}
