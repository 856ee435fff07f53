/* Convolution, channels first.
 *
 * f32: a product of the weights with the columns of the input that each output position sees. Columns are packed by
 * blocks, straight into the form the register tiles read, so that no unfolded input is ever stored. Few channels per
 * group go row by row instead: the input rows are laid out with their padding, split by phase of the stride, and every
 * tap is then a unit-stride vector operation. */
#include <string.h>

#include "kern/gemm.h"
#include "kern/shadow.h"
#include "kern/window.h"

enum {
  CONV_COLUMNS = 192,     /* of one packed block, at TN_GEMM_KC rows */
  CONV_MAX_COLUMNS = 768, /* when there are fewer rows */
  CONV_ROW = 16           /* rows of the tap kernel are written in multiples of this */
};

typedef struct conv_shape {
  int64_t batch, group, cg, mg; /* channels per group: input, output */
  int64_t k;                    /* cg * taps */
  tn_kwindow w;
} conv_shape;

static tn_status conv_read(tn_kcall *k, conv_shape *s) {
  const tn_karg *x = k->in[0], *w = k->in[1], *b = tn_k_in(k, 2), *y = k->out[0];
  s->group = tn_k_int(k, "group", 1);

  s->batch = x->dims[0];
  s->cg = w->dims[1];
  int64_t channels;
  if (s->group < 1 || w->dims[0] % s->group != 0 || !tn_mul_i64(s->cg, s->group, &channels) || channels != x->dims[1])
    return tn_k_fail(k, TN_MISMATCH, "conv: %lld input channels with weights for %lld in %lld groups",
                     (long long)x->dims[1], (long long)s->cg, (long long)s->group);
  s->mg = w->dims[0] / s->group;
  if (b && b->count != w->dims[0])
    return tn_k_fail(k, TN_MISMATCH, "conv: %lld biases for %lld channels", (long long)b->count, (long long)w->dims[0]);
  TN_TRY(tn_kwindow_read(k, x->rank - 2, x->dims + 2, y->dims + 2, w->dims + 2, &s->w));
  if (!tn_mul_i64(s->cg, s->w.n_taps, &s->k)) return tn_k_fail(k, TN_LIMIT, "conv: kernel too large");
  return TN_OK;
}

typedef struct conv_job {
  const tn_gemm_isa *isa;
  const conv_shape *s;
  tn_krows rows;
  const float *x, *w, *bias; /* w: packed for the product, as given for rows */
  float *y, *work;
  int64_t work_floats; /* per worker */
  int64_t columns, blocks;
  bool is_plain;         /* 1x1, stride 1, no padding: the input is the columns */
  int64_t *first, *last; /* by tap of the last axis: outputs that read inside */
  int64_t phase_width;   /* elements of one phase of one row, with slack */
  int64_t n_phases;
} conv_job;

static int64_t conv_min(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t conv_max(int64_t a, int64_t b) { return a > b ? a : b; }

typedef struct conv_segment { /* part of a panel's columns that lies in one output row */
  int64_t row, ox, n, at;
} conv_segment;

static int conv_segments(const tn_krows *r, int64_t p, int64_t n, conv_segment *out) {
  int count = 0;
  for (int64_t at = 0; at < n; count++) {
    const int64_t row = (p + at) / r->out, ox = (p + at) % r->out, take = conv_min(r->out - ox, n - at);
    out[count] = (conv_segment){row, ox, take, at};
    at += take;
  }
  return count;
}

/* The elements one tap (kx) reads for a segment; src is the input row, NULL for padding. */
static inline void conv_gather(const conv_job *j, const conv_segment *g, const float *src, int64_t kx, float *out) {
  const tn_krows *r = &j->rows;
  float *d = out + g->at;
  const int64_t a = conv_max(g->ox, j->first[kx]), b = conv_min(g->ox + g->n, j->last[kx]);
  if (!src || a >= b) {
    memset(d, 0, (size_t)g->n * sizeof *d);
    return;
  }
  for (int64_t i = g->ox; i < a; i++) *d++ = 0.0f;
  const float *s = src + a * r->stride + kx * r->dilation - r->lo;
  if (r->stride == 1 && b - a == 16) {
    memcpy(d, s, 16 * sizeof *d);
  } else if (r->stride == 1) {
    for (int64_t i = 0; i < b - a; i++) d[i] = s[i];
  } else {
    for (int64_t i = 0; i < b - a; i++) d[i] = s[i * r->stride];
  }
  d += b - a;
  for (int64_t i = b; i < g->ox + g->n; i++) *d++ = 0.0f;
}

typedef struct conv_walk { /* position in the unfolded input's rows: channel, outer tap, tap of the last axis */
  const float *plane;
  int64_t t, kx;
} conv_walk;

static conv_walk conv_walk_from(const tn_krows *r, const float *x, int64_t k) {
  return (conv_walk){x + k / (r->kernel * r->taps) * r->rows_in * r->in, k / r->kernel % r->taps, k % r->kernel};
}

static inline void conv_walk_next(const tn_krows *r, conv_walk *w) {
  if (++w->kx < r->kernel) return;
  w->kx = 0;
  if (++w->t < r->taps) return;
  w->t = 0;
  w->plane += r->rows_in * r->in;
}

/* A full panel inside one output row whose taps all lie inside the input row. */
static inline void conv_pack_inside(const conv_job *j, const float *x, const conv_segment *g, int64_t k0, int64_t kc,
                                    const int nr, float *out) {
  const tn_krows *r = &j->rows;
  conv_walk w = conv_walk_from(r, x, k0);
  const int64_t *map = r->map + g->row;
  for (int64_t k = 0; k < kc; k++, out += nr, conv_walk_next(r, &w)) {
    const int64_t row = map[w.t * r->rows_out];
    if (row < 0)
      memset(out, 0, (size_t)nr * sizeof *out);
    else
      memcpy(out, w.plane + row * r->in + g->ox + w.kx * r->dilation - r->lo, (size_t)nr * sizeof *out);
  }
}

/* Panel of columns [p, p + n), rows [k0, k0 + kc) of the unfolded input. */
static void conv_pack_panel(const conv_job *j, const float *x, int64_t p, int64_t n, int64_t k0, int64_t kc,
                            float *out) {
  const tn_krows *r = &j->rows;
  const int nr = j->isa->nr;
  conv_segment seg[TN_GEMM_MAX_NR];
  const int n_seg = conv_segments(r, p, n, seg);
  if (n_seg == 1 && n == nr && r->stride == 1 && seg->ox >= j->first[0] && seg->ox + n <= j->last[r->kernel - 1]) {
    if (nr == 16) /* a width the compiler knows makes straight moves */
      conv_pack_inside(j, x, seg, k0, kc, 16, out);
    else
      conv_pack_inside(j, x, seg, k0, kc, nr, out);
    return;
  }
  if (n < nr) memset(out, 0, (size_t)(kc * nr) * sizeof *out);
  conv_walk w = conv_walk_from(r, x, k0);
  for (int64_t k = 0; k < kc; k++, out += nr, conv_walk_next(r, &w)) {
    const int64_t *map = r->map + w.t * r->rows_out;
    for (int i = 0; i < n_seg; i++) {
      const int64_t row = map[seg[i].row];
      conv_gather(j, &seg[i], row < 0 ? NULL : w.plane + row * r->in, w.kx, out);
    }
  }
}

/* The same where the input is the columns already. */
static void conv_pack_plain(const conv_job *j, const float *x, int64_t p, int64_t n, int64_t k0, int64_t kc,
                            float *out) {
  const int nr = j->isa->nr;
  const int64_t step = j->s->w.n_in;
  const float *s = x + k0 * step + p;
  if (n == 16 && nr == 16) {
    for (int64_t k = 0; k < kc; k++) memcpy(out + k * 16, s + k * step, 16 * sizeof *out);
    return;
  }
  if (n < nr) memset(out, 0, (size_t)(kc * nr) * sizeof *out);
  for (int64_t k = 0; k < kc; k++) memcpy(out + k * nr, s + k * step, (size_t)n * sizeof *out);
}

static void conv_product_block(const conv_job *j, int64_t image, int64_t g, int64_t p0, float *room) {
  const conv_shape *s = j->s;
  const int64_t n_out = s->w.n_out, n = conv_min(j->columns, n_out - p0);
  const float *x = j->x + (image * s->group + g) * s->cg * s->w.n_in;
  float *y = j->y + (image * s->group + g) * s->mg * n_out + p0;
  const float *w = j->w + g * s->mg * s->k, *bias = j->bias ? j->bias + g * s->mg : NULL;
  for (int64_t k0 = 0; k0 < s->k; k0 += TN_GEMM_KC) {
    const int64_t kc = conv_min(TN_GEMM_KC, s->k - k0);
    for (int64_t i = 0; i < n; i += j->isa->nr)
      (j->is_plain ? conv_pack_plain : conv_pack_panel)(j, x, p0 + i, conv_min(j->isa->nr, n - i), k0, kc,
                                                        room + i * kc);
    tn_gemm_block(j->isa, s->mg, n, kc, w + k0 * s->mg, room, y, n_out,
                  k0     ? TN_START_ACC
                  : bias ? TN_START_ROW
                         : TN_START_ZERO,
                  bias);
  }
}

static void conv_product_task(void *arg, int64_t begin, int64_t end, int worker) {
  const conv_job *j = arg;
  for (int64_t t = begin; t < end; t++) {
    const int64_t block = t % j->blocks, ig = t / j->blocks;
    conv_product_block(j, ig / j->s->group, ig % j->s->group, block * j->columns, j->work + worker * j->work_floats);
  }
}

/* Columns of one block: as many as keep the packed block in the second-level cache, fewer to occupy all threads. */
static void conv_split(conv_job *j, int threads) {
  const conv_shape *s = j->s;
  const int64_t unit = TN_GEMM_MAX_NR, kc = conv_min(TN_GEMM_KC, s->k);
  int64_t columns = conv_min(CONV_MAX_COLUMNS, TN_GEMM_KC * CONV_COLUMNS / kc / unit * unit);
  if (threads > 1 && s->batch * s->group < threads) {
    const int64_t share = (s->w.n_out + threads - 1) / threads;
    columns = conv_min(columns, conv_max(unit, (share + unit - 1) / unit * unit));
  }
  j->columns = columns;
  j->blocks = (s->w.n_out + columns - 1) / columns;
  j->work_floats = kc * columns;
}

static tn_status conv_weights(tn_kcall *k, conv_job *j) {
  const conv_shape *s = j->s;
  const tn_karg *w = k->in[1];
  bool fresh = true;
  float *packed = tn_gemm_keep(k, w, 0, w->count, &fresh);
  if (!packed) {
    void *room;
    TN_TRY(tn_k_scratch_array(k, w->count, sizeof(float), &room));
    packed = room;
    fresh = true;
  }
  if (fresh)
    for (int64_t g = 0; g < s->group; g++)
      tn_gemm_pack_a(j->isa, packed + g * s->mg * s->k, (const float *)w->data + g * s->mg * s->k, s->k, 1, s->mg, s->k,
                     1.0f);
  j->w = packed;
  return TN_OK;
}

static tn_status conv_product(tn_kcall *k, conv_job *j) {
  const conv_shape *s = j->s;
  const int threads = tn_pool_threads(k->pool);
  TN_TRY(conv_weights(k, j));
  conv_split(j, threads);
  void *room;
  TN_TRY(tn_k_scratch_array(k, j->work_floats * threads, sizeof(float), &room));
  j->work = room;
  TN_TRY(tn_k_scratch_array(k, 2 * j->rows.kernel, sizeof(int64_t), &room));
  j->first = room;
  j->last = j->first + j->rows.kernel;
  for (int64_t kx = 0; kx < j->rows.kernel; kx++)
    tn_krange(j->rows.out, j->rows.in, j->rows.stride, kx * j->rows.dilation - j->rows.lo, &j->first[kx], &j->last[kx]);
  tn_pool_for(k->pool, s->batch * s->group * j->blocks, 1, conv_product_task, j);
  return TN_OK;
}

/* One output position: a matrix times a vector, weights where they lie. */
static void conv_vector_task(void *arg, int64_t begin, int64_t end, int worker) {
  const conv_job *j = arg;
  const conv_shape *s = j->s;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const int64_t m = i % (s->mg * s->group), image = i / (s->mg * s->group), g = m / s->mg;
    j->y[i] = j->isa->dot(j->w + m * s->k, j->x + (image * s->group + g) * s->k, s->k) + (j->bias ? j->bias[m] : 0.0f);
  }
}

/* Lays the rows of one channel out as [row][phase][phase_width]: element p of phase f is x[p * stride + f - lo]. */
static void conv_phase_rows(const conv_job *j, const float *x, float *out) {
  const tn_krows *r = &j->rows;
  for (int64_t row = 0; row < r->rows_in; row++, x += r->in)
    for (int64_t f = 0; f < j->n_phases; f++, out += j->phase_width) {
      int64_t a, b;
      tn_krange(j->phase_width, r->in, r->stride, f - r->lo, &a, &b);
      memset(out, 0, (size_t)a * sizeof *out);
      const float *s = x + a * r->stride + f - r->lo;
      if (r->stride == 1)
        memcpy(out + a, s, (size_t)(b - a) * sizeof *out);
      else
        for (int64_t i = 0; i < b - a; i++) out[a + i] = s[i * r->stride];
      memset(out + b, 0, (size_t)(j->phase_width - b) * sizeof *out);
    }
}

/* All output channels of one group of one image. Working memory: rows of the channels, a row of zeros, a row of
 * results, then the table of tap rows. */
static void conv_rows_group(const conv_job *j, int64_t image, int64_t g, float *work) {
  const conv_shape *s = j->s;
  const tn_krows *r = &j->rows;
  const int64_t plane = r->rows_in * j->n_phases * j->phase_width;
  float *zero = work + s->cg * plane, *result = zero + j->n_phases * j->phase_width;
  const float **taps = (const float **)(void *)(result + (r->out + CONV_ROW) / CONV_ROW * CONV_ROW);
  memset(zero, 0, (size_t)(j->n_phases * j->phase_width) * sizeof *zero);
  for (int64_t c = 0; c < s->cg; c++)
    conv_phase_rows(j, j->x + ((image * s->group + g) * s->cg + c) * s->w.n_in, work + c * plane);
  const int64_t full = (r->out + CONV_ROW - 1) / CONV_ROW * CONV_ROW;
  for (int64_t row = 0; row < r->rows_out; row++) {
    int64_t n = 0;
    for (int64_t c = 0; c < s->cg; c++)
      for (int64_t t = 0; t < r->taps; t++) {
        const int64_t in = r->map[t * r->rows_out + row];
        const float *from = in < 0 ? zero : work + c * plane + in * j->n_phases * j->phase_width;
        for (int64_t kx = 0; kx < r->kernel; kx++) {
          const int64_t x = kx * r->dilation;
          taps[n++] = from + x % r->stride * j->phase_width + x / r->stride;
        }
      }
    for (int64_t i = 0; i < s->mg; i++) {
      const int64_t m = g * s->mg + i;
      float *y = j->y + ((image * s->group * s->mg + m) * r->rows_out + row) * r->out;
      float *to = full == r->out ? y : result;
      j->isa->taps(to, full, taps, j->w + m * s->k, s->k, j->bias ? j->bias[m] : 0.0f);
      if (to != y) memcpy(y, to, (size_t)r->out * sizeof *y);
    }
  }
}

static void conv_rows_task(void *arg, int64_t begin, int64_t end, int worker) {
  const conv_job *j = arg;
  for (int64_t i = begin; i < end; i++)
    conv_rows_group(j, i / j->s->group, i % j->s->group, j->work + worker * j->work_floats);
}

static tn_status conv_by_rows(tn_kcall *k, conv_job *j) {
  const conv_shape *s = j->s;
  const tn_krows *r = &j->rows;
  const int64_t full = (r->out + CONV_ROW - 1) / CONV_ROW * CONV_ROW, reach = (r->kernel - 1) * r->dilation;
  j->w = k->in[1]->data;
  j->n_phases = conv_min(r->stride, reach + 1);
  j->phase_width = (full + reach / r->stride + 15) / 16 * 16;
  int64_t n, total;
  const int64_t row = j->n_phases * j->phase_width; /* bounded: both were checked to fit in 31 bits or are real sizes */
  if (!tn_mul_i64(row, s->cg * r->rows_in + 1, &n) || !tn_add_i64(n, full + CONV_ROW + 2 * s->k + 32, &n) ||
      !tn_mul_i64(n = (n + 15) / 16 * 16, tn_pool_threads(k->pool), &total))
    return tn_k_fail(k, TN_LIMIT, "conv: rows too long");
  void *room;
  TN_TRY(tn_k_scratch_array(k, total, sizeof(float), &room));
  j->work = room;
  j->work_floats = n;
  tn_pool_for(k->pool, s->batch * s->group, 1, conv_rows_task, j);
  return TN_OK;
}

/* Only a bias: the kernel has no elements. */
static void conv_fill_bias(const conv_job *j) {
  const conv_shape *s = j->s;
  const int64_t channels = s->group * s->mg;
  for (int64_t i = 0; i < s->batch * channels; i++)
    for (int64_t p = 0; p < s->w.n_out; p++) j->y[i * s->w.n_out + p] = j->bias ? j->bias[i % channels] : 0.0f;
}

static bool conv_is_plain(const tn_kwindow *w) {
  for (int i = 0; i < w->n; i++)
    if (w->kernel[i] != 1 || w->stride[i] != 1 || w->lo[i] != 0 || w->in[i] != w->out[i]) return false;
  return true;
}

static tn_status conv_f32(tn_kcall *k) {
  conv_shape s;
  TN_TRY(conv_read(k, &s));
  if (k->out[0]->count == 0) return TN_OK;
  conv_job j = {.isa = tn_gemm_isa_get(), .s = &s, .x = k->in[0]->data, .y = k->out[0]->data};
  j.bias = tn_k_f32(tn_k_in(k, 2));
  if (s.k == 0) {
    conv_fill_bias(&j);
    return TN_OK;
  }
  j.is_plain = conv_is_plain(&s.w);
  if (j.is_plain && s.w.n_out == 1) {
    j.w = k->in[1]->data;
    tn_pool_for(k->pool, s.batch * s.group * s.mg, 64, conv_vector_task, &j);
    return TN_OK;
  }
  TN_TRY(tn_krows_make(k, &s.w, &j.rows));
  if (s.mg <= 3 && s.k <= 128 && j.rows.stride <= 16) return conv_by_rows(k, &j);
  return conv_product(k, &j);
}

typedef struct conv_plain_job {
  const tn_kcall *k;
  const conv_shape *s;
  const tn_krows *rows;
} conv_plain_job;

static double conv_plain_at(const conv_shape *s, const tn_krows *r, const double *x, const double *w, int64_t row,
                            int64_t ox) {
  double sum = 0;
  for (int64_t c = 0; c < s->cg; c++, x += s->w.n_in)
    for (int64_t t = 0; t < r->taps; t++, w += r->kernel) {
      const int64_t in = r->map[t * r->rows_out + row];
      if (in < 0) continue;
      for (int64_t kx = 0; kx < r->kernel; kx++) {
        const int64_t ix = ox * r->stride + kx * r->dilation - r->lo;
        if (ix >= 0 && ix < r->in) sum += w[kx] * x[in * r->in + ix];
      }
    }
  return sum;
}

static void conv_plain_task(void *arg, int64_t begin, int64_t end, int worker) {
  const conv_plain_job *j = arg;
  const conv_shape *s = j->s;
  (void)worker;
  const double *bias = tn_k_f64(tn_k_in(j->k, 2));
  for (int64_t i = begin; i < end; i++) {
    const int64_t m = i % (s->mg * s->group), image = i / (s->mg * s->group), g = m / s->mg;
    const double *x = (const double *)j->k->in[0]->data + (image * s->group + g) * s->cg * s->w.n_in;
    const double *w = (const double *)j->k->in[1]->data + m * s->k;
    double *y = (double *)j->k->out[0]->data + i * s->w.n_out;
    for (int64_t p = 0; p < s->w.n_out; p++)
      y[p] = conv_plain_at(s, j->rows, x, w, p / j->rows->out, p % j->rows->out) + (bias ? bias[m] : 0.0);
  }
}

static tn_status conv_f64(tn_kcall *k) {
  conv_shape s;
  tn_krows rows;
  TN_TRY(conv_read(k, &s));
  if (k->out[0]->count == 0) return TN_OK;
  TN_TRY(tn_krows_make(k, &s.w, &rows));
  conv_plain_job j = {k, &s, &rows};
  tn_pool_for(k->pool, s.batch * s.group * s.mg, 1, conv_plain_task, &j);
  return TN_OK;
}

TN_KERNEL(conv, TN_K_SIZES) {
  const tn_karg *x = k->in[0], *w = k->in[1];
  int64_t dims[TN_K_MAX_RANK];
  if (x->rank < 2 || w->rank != x->rank)
    return tn_k_fail(k, TN_MISMATCH, "conv: input of rank %d with weights of rank %d", x->rank, w->rank);
  dims[0] = x->dims[0];
  dims[1] = w->dims[0];
  TN_TRY(tn_kwindow_sizes(k, x->rank - 2, x->dims + 2, w->dims + 2, false, dims + 2));
  TN_TRY(tn_k_out(k, 0, x->rank, dims));

  return tn_k_by_float(k, conv_f32, conv_f64);
}
