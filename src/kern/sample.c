/* Reading planes at fractional positions: GridSample, AffineGrid, RoiAlign, MaxRoiPool, DeformConv. Computed in double:
 * operands of every number type are converted once. */
#include <math.h>
#include <string.h>

#include "kern/move.h"
#include "kern/shadow.h"
#include "kern/window.h"

enum { SAMPLE_MAX_POINTS = 1 << 22 }; /* of one bin of roi_align */

/* A tensor's elements as doubles (its own when it holds doubles). */
static tn_status sample_doubles(tn_kcall *k, int input, const double **out) {
  const tn_karg *a = k->in[input];
  if (tn_dtype_cls(a->dtype) == TN_CLASS_STRING || tn_dtype_cls(a->dtype) == TN_CLASS_COMPLEX)
    return tn_k_no_dtype(k, input);
  *out = a->data;
  if (a->dtype == TN_F64) return TN_OK;
  void *room;
  TN_TRY(tn_k_scratch_array(k, a->count + 1, sizeof(double), &room));
  (void)!tn_convert(TN_F64, room, a->dtype, a->data, a->count, false);
  *out = room;
  return TN_OK;
}

typedef enum sample_padding { SAMPLE_ZEROS, SAMPLE_BORDER, SAMPLE_REFLECTION } sample_padding;

typedef struct sample_grid {
  const double *x, *grid;
  tn_karg *y;
  int n;                                            /* spatial axes */
  int64_t dims[TN_KW_MAX], channels, plane, points; /* points: outputs of an image */
  sample_padding padding;
  int taps; /* per axis: 1 nearest, 2 linear, 4 cubic */
  bool align_corners;
} sample_grid;

/* x folded back at the borders until it lies between them. */
static double sample_reflect(double x, double lo, double hi) {
  const double range = hi - lo;
  if (x >= lo && x <= hi) return x;
  if (!(range > 0)) return lo;
  const double past = x < lo ? lo - x : x - hi, turns = floor(past / range), rest = past - turns * range;
  const bool even = fmod(turns, 2) < 1;
  return (x < lo) == even ? lo + rest : hi - rest;
}

/* Element a tap at integer position i reads, or -1 for a zero. */
static int64_t sample_pixel(const sample_grid *g, double i, int axis) {
  const int64_t n = g->dims[axis];
  if (i >= 0 && i < (double)n) return (int64_t)i;
  if (g->padding == SAMPLE_ZEROS) return -1;
  if (g->padding == SAMPLE_BORDER) return i < 0 ? 0 : n - 1;
  const double edge = g->align_corners ? 0 : 0.5;
  const int64_t at = (int64_t)sample_reflect(i, -edge, (double)n - 1 + edge);
  return at < 0 ? 0 : at >= n ? n - 1 : at;
}

static double sample_cubic(double d) {
  const double a = -0.75;
  d = fabs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Taps of one axis at normalised coordinate v. */
static void sample_taps(const sample_grid *g, double v, int axis, int64_t *index, double *weight) {
  const double n = (double)g->dims[axis], edge = g->align_corners ? 0 : 0.5;
  /* in float32, as the reference: nearest depends on it */
  double x = (double)(float)(g->align_corners ? (v + 1) / 2 * (n - 1) : ((v + 1) * n - 1) / 2);
  if (g->taps == 1) x = nearbyint(x);
  if (x < -edge || x > n - 1 + edge) {
    /* a cubic keeps its position: only what it reads is held to the border */
    if (g->padding == SAMPLE_BORDER && g->taps != 4) x = x < 0 ? 0 : n - 1;
    if (g->padding == SAMPLE_REFLECTION) x = sample_reflect(x, -edge, n - 1 + edge);
  }
  if (!(fabs(x) < 1e15)) { /* no position at all */
    for (int t = 0; t < g->taps; t++) index[t] = -1;
    return;
  }
  const double base = floor(x) - (g->taps == 4 ? 1 : 0);
  for (int t = 0; t < g->taps; t++) {
    const double d = base + t - x;
    weight[t] = g->taps == 1 ? 1 : g->taps == 2 ? 1 - fabs(d) : sample_cubic(d);
    index[t] = sample_pixel(g, base + t, axis);
  }
}

static double sample_sum(const sample_grid *g, const double *x, int64_t (*index)[4], double (*weight)[4]) {
  int tap[TN_KW_MAX] = {0};
  double sum = 0;
  for (;;) {
    double w = 1;
    int64_t at = 0;
    for (int a = 0; a < g->n && at >= 0; a++) {
      w *= weight[a][tap[a]];
      at = index[a][tap[a]] < 0 ? -1 : at * g->dims[a] + index[a][tap[a]];
    }
    if (at >= 0) sum += w * x[at];
    int a = g->n - 1;
    while (a >= 0 && ++tap[a] == g->taps) tap[a--] = 0;
    if (a < 0) return sum;
  }
}

static void sample_store(const sample_grid *g, int64_t at, double v) {
  if (g->y->dtype == TN_F32)
    ((float *)g->y->data)[at] = (float)v;
  else
    tn_store_f64(g->y->dtype, g->y->data, at, v);
}

/* The same for two axes: elements and weights are gathered once for all channels. */
static void sample_image(const sample_grid *g, int64_t image, int64_t point, int64_t (*index)[4], double (*weight)[4]) {
  int64_t at[16];
  double w[16];
  int n = 0;
  for (int a = 0; a < g->taps; a++)
    for (int b = 0; b < g->taps; b++) {
      if (index[0][a] < 0 || index[1][b] < 0) continue;
      at[n] = index[0][a] * g->dims[1] + index[1][b];
      w[n++] = weight[0][a] * weight[1][b];
    }
  for (int64_t c = 0; c < g->channels; c++) {
    const double *const x = g->x + (image * g->channels + c) * g->plane;
    double sum = 0;
    for (int i = 0; i < n; i++) sum += w[i] * x[at[i]];
    sample_store(g, (image * g->channels + c) * g->points + point, sum);
  }
}

static void sample_grid_task(void *arg, int64_t begin, int64_t end, int worker) {
  const sample_grid *g = arg;
  (void)worker;
  int64_t index[TN_KW_MAX][4];
  double weight[TN_KW_MAX][4];
  for (int64_t i = begin; i < end; i++) {
    const int64_t image = i / g->points;
    for (int a = 0; a < g->n; a++) sample_taps(g, g->grid[i * g->n + g->n - 1 - a], a, index[a], weight[a]);
    if (g->n == 2) {
      sample_image(g, image, i % g->points, index, weight);
      continue;
    }
    for (int64_t c = 0; c < g->channels; c++)
      sample_store(g, (image * g->channels + c) * g->points + i % g->points,
                   sample_sum(g, g->x + (image * g->channels + c) * g->plane, index, weight));
  }
}

TN_KERNEL(grid_sample, TN_K_SIZES) {
  const tn_karg *x = k->in[0], *grid = k->in[1];
  sample_grid g = {.y = k->out[0], .n = x->rank - 2, .plane = 1, .points = 1};
  if (x->rank < 3 || grid->rank != x->rank || grid->dims[0] != x->dims[0] || grid->dims[x->rank - 1] != g.n)
    return tn_k_fail(k, TN_MISMATCH, "grid_sample: the grid does not fit an input of rank %d", x->rank);
  const bool cubic = tn_k_str_is(k, "mode", "cubic"), nearest = tn_k_str_is(k, "mode", "nearest");
  g.taps = nearest ? 1 : cubic ? 4 : 2;
  g.align_corners = tn_k_int(k, "align_corners", 0) != 0;
  g.padding = tn_k_str_is(k, "padding_mode", "border")       ? SAMPLE_BORDER
              : tn_k_str_is(k, "padding_mode", "reflection") ? SAMPLE_REFLECTION
                                                             : SAMPLE_ZEROS;

  int64_t dims[TN_K_MAX_RANK] = {x->dims[0], x->dims[1]};
  for (int i = 0; i < g.n; i++) dims[2 + i] = grid->dims[1 + i];
  TN_TRY(tn_k_out(k, 0, x->rank, dims));
  g.channels = x->dims[1];
  for (int i = 0; i < g.n; i++) {
    g.plane *= g.dims[i] = x->dims[2 + i];
    g.points *= grid->dims[1 + i];
  }
  if (g.y->count == 0) return TN_OK;
  if (g.plane == 0 && g.padding != SAMPLE_ZEROS) return tn_k_fail(k, TN_MISMATCH, "grid_sample: the input is empty");
  TN_TRY(sample_doubles(k, 0, &g.x));
  TN_TRY(sample_doubles(k, 1, &g.grid));
  tn_pool_for(k->pool, x->dims[0] * g.points, 64, sample_grid_task, &g);
  return TN_OK;
}

static double sample_place(int64_t p, int64_t len, bool align) {
  return align ? (len > 1 ? 2.0 * (double)p / (double)(len - 1) - 1 : -1) : (2.0 * (double)p + 1) / (double)len - 1;
}

/* Row `t` of a matrix times (x, `at`, 1) for the places x of a line: every n-th element of y from `first` on. */
static void sample_line(tn_karg *y, int64_t first, int64_t count, const double *xs, int64_t n, const double *t,
                        const double *at) {
  const double b = t[1] * at[0], c = n > 2 ? t[2] * at[1] : 0, d = t[n];
  for (int64_t i = 0; i < count && y->dtype == TN_F32; i++)
    ((float *)y->data)[first + i * n] = (float)(t[0] * xs[i] + b + c + d);
  for (int64_t i = 0; i < count && y->dtype != TN_F32; i++)
    tn_store_f64(y->dtype, y->data, first + i * n, t[0] * xs[i] + b + c + d);
}

TN_KERNEL(affine_grid, TN_K_SIZES) {
  const tn_karg *theta = k->in[0], *size = k->in[1];
  const int64_t n = size->count - 2; /* spatial axes */
  if ((n != 2 && n != 3) || theta->rank != 3 || theta->dims[1] != n || theta->dims[2] != n + 1)
    return tn_k_fail(k, TN_MISMATCH, "affine_grid: theta does not fit a size of %lld entries", (long long)size->count);
  int64_t dims[TN_K_MAX_RANK] = {tn_k_i64(size, 0)};
  for (int i = 0; i < n; i++) dims[1 + i] = tn_k_i64(size, 2 + i);
  dims[n + 1] = n;
  for (int i = 0; i <= n; i++)
    if (dims[i] < 0 || (i == 0 && dims[0] != theta->dims[0]))
      return tn_k_fail(k, TN_MISMATCH, "affine_grid: size entry %lld", (long long)dims[i]);
  TN_TRY(tn_k_out(k, 0, (int)n + 2, dims));
  const double *t;
  TN_TRY(sample_doubles(k, 0, &t));
  const int64_t width = dims[n];
  void *room;
  TN_TRY(tn_k_scratch_array(k, width + 1, sizeof(double), &room));
  double *const xs = room;
  const bool align = tn_k_int(k, "align_corners", 0) != 0;
  for (int64_t i = 0; i < width; i++) xs[i] = sample_place(i, width, align);
  for (int64_t line = 0; width > 0 && line < k->out[0]->count / (n * width); line++) {
    double at[2] = {0, 0}; /* y, (z) */
    int64_t rest = line;
    for (int64_t a = 0; a < n - 1; a++) {
      const int64_t len = dims[n - 1 - a];
      at[a] = sample_place(rest % len, len, align);
      rest /= len;
    }
    for (int64_t r = 0; r < n; r++)
      sample_line(k->out[0], line * width * n + r, width, xs, n, t + (rest * n + r) * (n + 1), at);
  }
  return TN_OK;
}

typedef struct sample_roi {
  const double *x, *rois;
  const tn_karg *batch; /* roi_align */
  double *y;
  int64_t images, channels, h, w, ph, pw, ratio;
  double scale, offset;
  bool is_max;
} sample_roi;

typedef struct sample_point { /* four neighbours and their weights */
  int64_t at[4];              /* at[0] < 0: outside of the plane, a zero */
  double weight[4];
} sample_point;

static bool sample_bilinear(double y, double x, int64_t h, int64_t w, sample_point *p) {
  if (!(y >= -1 && y <= (double)h && x >= -1 && x <= (double)w) || h == 0 || w == 0) return false;
  y = fmax(y, 0);
  x = fmax(x, 0);
  int64_t y0 = (int64_t)y, x0 = (int64_t)x;
  if (y0 >= h - 1) y = (double)(y0 = h - 1);
  if (x0 >= w - 1) x = (double)(x0 = w - 1);
  const int64_t y1 = y0 < h - 1 ? y0 + 1 : y0, x1 = x0 < w - 1 ? x0 + 1 : x0;
  const double ly = y - (double)y0, lx = x - (double)x0;
  *p = (sample_point){{y0 * w + x0, y0 * w + x1, y1 * w + x0, y1 * w + x1},
                      {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx}};
  return true;
}

/* Adds `n` points to one bin, or takes the largest product of them and what is there (of the first alone, itself). */
static double sample_bin(const double *plane, const sample_point *points, int n, double result, bool is_max,
                         bool is_first) {
  for (int p = 0; p < n; p++) {
    double sum = 0, most = 0;
    for (int i = 0; i < 4 && points[p].at[0] >= 0; i++) {
      const double v = points[p].weight[i] * plane[points[p].at[i]];
      sum += v;
      most = i == 0 || v > most ? v : most;
    }
    if (!is_max)
      result += sum;
    else if ((is_first && p == 0) || most > result)
      result = most;
  }
  return result;
}

typedef struct sample_box { /* of a region: where it starts, bin sizes, samples per bin */
  double y, x, bh, bw, ny, nx;
} sample_box;

static sample_box sample_roi_box(const sample_roi *r, int64_t i) {
  const double *roi = r->rois + 4 * i;
  sample_box b = {.y = roi[1] * r->scale - r->offset, .x = roi[0] * r->scale - r->offset};
  double w = roi[2] * r->scale - r->offset - b.x, h = roi[3] * r->scale - r->offset - b.y;
  if (r->offset <= 0) {
    w = fmax(w, 1);
    h = fmax(h, 1);
  }
  b.bh = h / (double)r->ph;
  b.bw = w / (double)r->pw;
  b.ny = r->ratio > 0 ? (double)r->ratio : fmax(ceil(b.bh), 0);
  b.nx = r->ratio > 0 ? (double)r->ratio : fmax(ceil(b.bw), 0);
  return b;
}

/* Bin p of region i in all channels, sampled ny x nx times: points are found once, some at a time. */
static void sample_roi_bin(const sample_roi *r, int64_t i, const sample_box *b, int64_t p) {
  enum { POINTS = 128 };
  sample_point points[POINTS];
  const int64_t ny = (int64_t)b->ny, nx = (int64_t)b->nx, bins = r->ph * r->pw, count = ny * nx;
  const double top = b->y + (double)(p / r->pw) * b->bh, left = b->x + (double)(p % r->pw) * b->bw;
  const double *const planes = r->x + tn_k_i64(r->batch, i) * r->channels * r->h * r->w;
  double *const y = r->y + i * r->channels * bins + p;
  for (int64_t c = 0; c < r->channels; c++) y[c * bins] = 0;
  for (int64_t from = 0; from < count; from += POINTS) {
    const int n = (int)(count - from < POINTS ? count - from : POINTS);
    for (int j = 0; j < n; j++) {
      const double iy = (double)((from + j) / nx), ix = (double)((from + j) % nx);
      if (!sample_bilinear(top + (iy + 0.5) * b->bh / (double)ny, left + (ix + 0.5) * b->bw / (double)nx, r->h, r->w,
                           &points[j]))
        points[j].at[0] = -1;
    }
    for (int64_t c = 0; c < r->channels; c++)
      y[c * bins] = sample_bin(planes + c * r->h * r->w, points, n, y[c * bins], r->is_max, from == 0);
  }
  for (int64_t c = 0; c < r->channels && !r->is_max && count > 1; c++) y[c * bins] /= (double)count;
}

static void sample_roi_task(void *arg, int64_t begin, int64_t end, int worker) {
  const sample_roi *r = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const sample_box b = sample_roi_box(r, i);
    for (int64_t p = 0; p < r->ph * r->pw; p++) sample_roi_bin(r, i, &b, p);
  }
}

static tn_status sample_roi_size(tn_kcall *k, int64_t h, int64_t w) {
  const tn_karg *x = k->in[0], *rois = k->in[1];
  if (x->rank != 4 || rois->rank != 2 || h < 1 || w < 1)
    return tn_k_fail(k, TN_MISMATCH, "regions of rank %d for an input of rank %d", rois->rank, x->rank);
  return tn_k_out(k, 0, 4, (const int64_t[]){rois->dims[0], x->dims[1], h, w});
}

static tn_status sample_roi_align(tn_kcall *k) {
  const tn_karg *x = k->in[0], *rois = k->in[1], *y = k->out[0];
  if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 4 || k->in[2]->count != rois->dims[0])
    return tn_k_fail(k, TN_MISMATCH, "roi_align: rois or batch_indices do not fit");
  sample_roi r = {.x = x->data, .rois = rois->data, .batch = k->in[2], .y = y->data, .images = x->dims[0]};
  r.channels = x->dims[1];
  r.h = x->dims[2];
  r.w = x->dims[3];
  r.ph = y->dims[2];
  r.pw = y->dims[3];
  r.ratio = tn_k_int(k, "sampling_ratio", 0);
  r.scale = tn_k_float(k, "spatial_scale", 1);
  r.offset = tn_k_str_is(k, "coordinate_transformation_mode", "half_pixel") ? 0.5 : 0;
  r.is_max = tn_k_str_is(k, "mode", "max");
  for (int64_t i = 0; i < rois->dims[0]; i++) {
    const int64_t image = tn_k_i64(r.batch, i);
    if (image < 0 || image >= r.images)
      return tn_k_fail(k, TN_MISMATCH, "roi_align: batch index %lld of %lld images", (long long)image,
                       (long long)r.images);
    const sample_box b = sample_roi_box(&r, i);
    if (!(b.ny * b.nx <= SAMPLE_MAX_POINTS))
      return tn_k_fail(k, TN_LIMIT, "roi_align: region %lld needs too many samples", (long long)i);
  }
  tn_pool_for(k->pool, rois->dims[0], 1, sample_roi_task, &r);
  return TN_OK;
}

static tn_status sample_roi_align_any(tn_kcall *k) { return tn_k_as(k, TN_F64, sample_roi_align); }
TN_KERNEL(roi_align, TN_K_SIZES) {
  TN_TRY(sample_roi_size(k, tn_k_int(k, "output_height", 1), tn_k_int(k, "output_width", 1)));
  return tn_k_by_float(k, sample_roi_align_any, sample_roi_align);
}

/* Bounds of bin p of n over a region that starts at `start` and has `size` elements, cut to [0, limit). */
static void sample_bounds(int64_t p, int64_t n, int64_t start, int64_t size, int64_t limit, int64_t *from,
                          int64_t *to) {
  const double bin = (double)size / (double)n;
  const int64_t a = (int64_t)floor((double)p * bin) + start, b = (int64_t)ceil((double)(p + 1) * bin) + start;
  *from = a < 0 ? 0 : a > limit ? limit : a;
  *to = b < 0 ? 0 : b > limit ? limit : b;
}

static void sample_max_roi(const sample_roi *r, int64_t i, int64_t c, int64_t image, const int64_t *box) {
  const double *plane = r->x + (image * r->channels + c) * r->h * r->w;
  for (int64_t p = 0; p < r->ph * r->pw; p++) {
    int64_t y0, y1, x0, x1;
    sample_bounds(p / r->pw, r->ph, box[1], box[3], r->h, &y0, &y1);
    sample_bounds(p % r->pw, r->pw, box[0], box[2], r->w, &x0, &x1);
    double most = y1 > y0 && x1 > x0 ? -HUGE_VAL : 0;
    for (int64_t y = y0; y < y1; y++)
      for (int64_t x = x0; x < x1; x++) most = plane[y * r->w + x] > most ? plane[y * r->w + x] : most;
    r->y[(i * r->channels + c) * r->ph * r->pw + p] = most;
  }
}

static tn_status sample_max_roi_pool(tn_kcall *k) {
  const tn_karg *x = k->in[0], *rois = k->in[1], *y = k->out[0];
  if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 5)
    return tn_k_fail(k, TN_MISMATCH, "max_roi_pool: rois do not fit");
  sample_roi r = {.x = x->data, .rois = rois->data, .y = y->data, .channels = x->dims[1], .h = x->dims[2]};
  r.w = x->dims[3];
  r.ph = y->dims[2];
  r.pw = y->dims[3];
  r.scale = tn_k_float(k, "spatial_scale", 1);
  for (int64_t i = 0; i < rois->dims[0]; i++) {
    const double *roi = r.rois + 5 * i;
    double at[4];
    for (int j = 0; j < 4; j++) {
      at[j] = round(roi[1 + j] * r.scale);
      if (!(fabs(at[j]) < 1e9))
        return tn_k_fail(k, TN_MISMATCH, "max_roi_pool: roi %lld is out of range", (long long)i);
    }
    if (!(roi[0] >= 0 && roi[0] < (double)x->dims[0]))
      return tn_k_fail(k, TN_MISMATCH, "max_roi_pool: batch index %g of %lld images", roi[0], (long long)x->dims[0]);
    const int64_t box[4] = {(int64_t)at[0], (int64_t)at[1], (int64_t)fmax(at[2] - at[0] + 1, 1),
                            (int64_t)fmax(at[3] - at[1] + 1, 1)};
    for (int64_t c = 0; c < r.channels; c++) sample_max_roi(&r, i, c, (int64_t)roi[0], box);
  }
  return TN_OK;
}

static tn_status sample_max_roi_any(tn_kcall *k) { return tn_k_as(k, TN_F64, sample_max_roi_pool); }
TN_KERNEL(max_roi_pool, TN_K_SIZES) {
  int64_t n;
  const int64_t *const size = tn_k_attr_ints(k, "pooled_shape", &n);
  if (n != 2) return tn_k_fail(k, TN_INVALID, "attribute 'pooled_shape' needs two entries");
  TN_TRY(sample_roi_size(k, size[0], size[1]));
  return tn_k_by_float(k, sample_max_roi_any, sample_max_roi_pool);
}

enum { SAMPLE_SUMS = 8 }; /* output channels at a time */
typedef double sample_pair TN_VECTOR(16);

typedef struct sample_deform {
  const double *x, *w, *offset, *bias, *mask; /* w: [group][blocks][cg * taps][SAMPLE_SUMS] */
  double *y, *columns;                        /* columns: [cg * taps] per worker */
  tn_kwindow win;
  int64_t channels, outputs, group, offset_group, blocks;
} sample_deform;

/* The point (y, x) of a plane; neighbours outside, whose places are -1, count as zero. */
static void sample_open(int64_t h, int64_t w, double y, double x, sample_point *p) {
  *p = (sample_point){{-1, -1, -1, -1}, {0}};
  if (!(y > -1 && y < (double)h && x > -1 && x < (double)w)) return;
  const int64_t y0 = (int64_t)floor(y), x0 = (int64_t)floor(x);
  const double ly = y - (double)y0, lx = x - (double)x0;
  for (int i = 0; i < 4; i++) {
    const int64_t row = y0 + i / 2, column = x0 + i % 2;
    if (row < 0 || row >= h || column < 0 || column >= w) continue;
    p->at[i] = row * w + column;
    p->weight[i] = (i / 2 ? ly : 1 - ly) * (i % 2 ? lx : 1 - lx);
  }
}

/* What output position p of an image sees of all channels. */
static void sample_deform_column(const sample_deform *s, int64_t image, int64_t p, double *column) {
  const tn_kwindow *const v = &s->win;
  const int64_t taps = v->n_taps, each = s->channels / s->offset_group;
  for (int64_t og = 0; og < s->offset_group; og++)
    for (int64_t t = 0; t < taps; t++) {
      const int64_t g = (image * s->offset_group + og) * taps + t;
      const double y = (double)(p / v->out[1] * v->stride[0] + t / v->kernel[1] * v->dilation[0] - v->lo[0]);
      const double x = (double)(p % v->out[1] * v->stride[1] + t % v->kernel[1] * v->dilation[1] - v->lo[1]);
      const double factor = s->mask ? s->mask[g * v->n_out + p] : 1;
      sample_point at;
      sample_open(v->in[0], v->in[1], y + s->offset[2 * g * v->n_out + p], x + s->offset[(2 * g + 1) * v->n_out + p],
                  &at);
      for (int64_t c = og * each; c < (og + 1) * each; c++) {
        const double *const plane = s->x + (image * s->channels + c) * v->n_in;
        double sum = 0;
        for (int i = 0; i < 4; i++) sum += at.at[i] < 0 ? 0 : at.weight[i] * plane[at.at[i]];
        column[c * taps + t] = sum * factor;
      }
    }
}

/* sum[l] += w[e][l] * column[e], written in vectors of two, which stay in registers. */
static void sample_deform_sums(const double *w, const double *column, int64_t n, double *sum) {
  sample_pair s[SAMPLE_SUMS / 2], v;
  memcpy(s, sum, sizeof s);
  for (int64_t e = 0; e < n; e++) {
    const sample_pair c = {column[e], column[e]};
    TN_UNROLL for (int l = 0; l < SAMPLE_SUMS / 2; l++) {
      memcpy(&v, w + e * SAMPLE_SUMS + 2 * l, sizeof v);
      s[l] += v * c;
    }
  }
  memcpy(sum, s, sizeof s);
}

/* One output position of one image: its column once, then every output channel. */
static void sample_deform_task(void *arg, int64_t begin, int64_t end, int worker) {
  const sample_deform *s = arg;
  const int64_t n_out = s->win.n_out, n = s->channels / s->group * s->win.n_taps, mg = s->outputs / s->group;
  double *const columns = s->columns + worker * s->channels * s->win.n_taps;
  for (int64_t i = begin; i < end; i++) {
    const int64_t image = i / n_out, p = i % n_out;
    sample_deform_column(s, image, p, columns);
    for (int64_t block = 0; block < s->group * s->blocks; block++) {
      const int64_t g = block / s->blocks, m0 = block % s->blocks * SAMPLE_SUMS;
      const double *const w = s->w + block * n * SAMPLE_SUMS, *const column = columns + g * n;
      double sum[SAMPLE_SUMS] = {0};
      for (int l = 0; s->bias && l < SAMPLE_SUMS && m0 + l < mg; l++) sum[l] = s->bias[g * mg + m0 + l];
      sample_deform_sums(w, column, n, sum);
      for (int l = 0; l < SAMPLE_SUMS && m0 + l < mg; l++)
        s->y[(image * s->outputs + g * mg + m0 + l) * n_out + p] = sum[l];
    }
  }
}

/* Weights [outputs][n] as blocks of output channels side by side; the last block of a group is filled with zeros. */
static tn_status sample_deform_weights(tn_kcall *k, sample_deform *s, const double *w, int64_t n) {
  const int64_t mg = s->outputs / s->group;
  void *room;
  int64_t all;
  s->blocks = mg / SAMPLE_SUMS + (mg % SAMPLE_SUMS != 0);
  if (!tn_mul_i64(s->group * s->blocks * SAMPLE_SUMS, n, &all))
    return tn_k_fail(k, TN_LIMIT, "deform_conv: too many weights");
  TN_TRY(tn_k_scratch_array(k, all + 1, sizeof(double), &room));
  double *const to = room;
  for (int64_t block = 0; block < s->group * s->blocks; block++)
    for (int l = 0; l < SAMPLE_SUMS; l++) {
      const int64_t m = block % s->blocks * SAMPLE_SUMS + l;
      const double *const from = w + (block / s->blocks * mg + m) * n;
      for (int64_t e = 0; e < n; e++) to[(block * n + e) * SAMPLE_SUMS + l] = m < mg ? from[e] : 0;
    }
  s->w = to;
  return TN_OK;
}

static tn_status sample_deform_conv(tn_kcall *k) {
  const tn_karg *x = k->in[0], *w = k->in[1], *offset = k->in[2], *b = tn_k_in(k, 3), *mask = tn_k_in(k, 4);
  sample_deform s = {.x = x->data, .offset = offset->data, .bias = tn_k_f64(b), .mask = tn_k_f64(mask)};
  s.y = k->out[0]->data;
  s.group = tn_k_int(k, "group", 1);
  s.offset_group = tn_k_int(k, "offset_group", 1);

  s.channels = x->dims[1];
  s.outputs = w->dims[0];
  TN_TRY(tn_kwindow_read(k, 2, x->dims + 2, k->out[0]->dims + 2, w->dims + 2, &s.win));
  int64_t n;
  if (s.group < 1 || s.offset_group < 1 || s.channels % s.group || s.outputs % s.group || s.channels % s.offset_group ||
      w->dims[1] != s.channels / s.group || (b && b->count != s.outputs))
    return tn_k_fail(k, TN_MISMATCH, "deform_conv: channels and groups do not fit");
  if (k->out[0]->count == 0) return TN_OK;
  if (!tn_mul_i64(s.win.n_taps, s.win.n_out, &n) || !tn_mul_i64(n, s.offset_group, &n) ||
      !tn_mul_i64(n, x->dims[0], &n) || offset->count % 2 != 0 || offset->count / 2 != n || (mask && mask->count != n))
    return tn_k_fail(k, TN_MISMATCH, "deform_conv: offset or mask does not fit");
  void *room;
  TN_TRY(tn_k_scratch_array(k, s.channels * s.win.n_taps * tn_pool_threads(k->pool), sizeof(double), &room));
  s.columns = room;
  TN_TRY(sample_deform_weights(k, &s, w->data, w->dims[1] * s.win.n_taps));
  tn_pool_for(k->pool, x->dims[0] * s.win.n_out, 8, sample_deform_task, &s);
  return TN_OK;
}

static tn_status sample_deform_any(tn_kcall *k) { return tn_k_as(k, TN_F64, sample_deform_conv); }
TN_KERNEL(deform_conv, TN_K_SIZES) {
  const tn_karg *x = k->in[0], *w = k->in[1];
  if (x->rank != 4 || w->rank != 4) return tn_k_fail(k, TN_UNSUPPORTED, "deform_conv of rank %d", x->rank);
  int64_t dims[4] = {x->dims[0], w->dims[0]};
  TN_TRY(tn_kwindow_sizes(k, 2, x->dims + 2, w->dims + 2, false, dims + 2));
  TN_TRY(tn_k_out(k, 0, 4, dims));
  return tn_k_by_float(k, sample_deform_any, sample_deform_conv);
}
