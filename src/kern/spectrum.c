/* Kernels of spectra: DFT, STFT, MelWeightMatrix. */
#include <math.h>

#include "kern/fft.h"
#include "kern/move.h"

typedef struct spectrum_job {
  const tn_karg *x, *window;
  tn_karg *y;
  tn_fft fft;
  double *room; /* per worker: one line, then the transform's */
  int64_t room_each;
  int64_t inner;               /* positions behind the axis, without the complex one */
  int64_t in, out, take;       /* elements along the axis; `take` of the input's are used */
  int64_t parts_in, parts_out; /* 1 real, 2 complex */
  bool is_hermitian;           /* the input is half a spectrum */
  int64_t frames, step;        /* of STFT */
} spectrum_job;

static tn_status spectrum_rooms(tn_kcall *k, spectrum_job *j) {
  void *room;
  int64_t all;
  j->room_each = (2 * j->fft.n + tn_fft_room(&j->fft) + 7) / 8 * 8;
  if (!tn_mul_i64(j->room_each, tn_pool_threads(k->pool), &all)) return tn_k_fail(k, TN_LIMIT, "too many threads");
  TN_TRY(tn_k_room(k, all, sizeof(double), &room));
  j->room = room;
  return TN_OK;
}

/* The other half of the spectrum of a real signal. */
static void spectrum_complete(double *line, int64_t n) {
  line[1] = 0;
  if (n % 2 == 0) line[n + 1] = 0;
  for (int64_t i = 1; i < (n + 1) / 2; i++) {
    line[2 * (n - i)] = line[2 * i];
    line[2 * (n - i) + 1] = -line[2 * i + 1];
  }
}

static void spectrum_line(const spectrum_job *j, int64_t i, double *line) {
  const int64_t n = j->fft.n, outer = i / j->inner, at = i % j->inner;
  memset(line, 0, (size_t)(2 * n) * sizeof *line);
  for (int64_t e = 0; e < j->take; e++)
    for (int64_t part = 0; part < j->parts_in; part++)
      line[2 * e + part] =
          tn_load_f64(j->x->dtype, j->x->data, ((outer * j->in + e) * j->inner + at) * j->parts_in + part);
  if (j->is_hermitian) spectrum_complete(line, n);
  tn_fft_run(&j->fft, line, line + 2 * n);
  for (int64_t e = 0; e < j->out; e++)
    for (int64_t part = 0; part < j->parts_out; part++)
      tn_store_f64(j->y->dtype, j->y->data, ((outer * j->out + e) * j->inner + at) * j->parts_out + part,
                   line[2 * e + part]);
}

static void spectrum_task(void *arg, int64_t begin, int64_t end, int worker) {
  const spectrum_job *const j = arg;
  for (int64_t i = begin; i < end; i++) spectrum_line(j, i, j->room + worker * j->room_each);
}

static tn_status spectrum_parts(tn_kcall *k, const tn_karg *x, int64_t *out) {
  *out = x->dims[x->rank - 1];
  if (*out == 1 || *out == 2) return TN_OK;
  return tn_k_fail(k, TN_MISMATCH, "the last dim is %lld: 1 (real) or 2 (complex) is needed", (long long)*out);
}

static tn_status spectrum_read(tn_kcall *k, spectrum_job *j, int *out_axis) {
  const tn_karg *const x = j->x;
  int64_t axis_given, length;
  if (x->rank < 2) return tn_k_fail(k, TN_MISMATCH, "a tensor of rank %d", x->rank);
  TN_TRY(spectrum_parts(k, x, &j->parts_in));
  TN_TRY(tn_k_scalar(k, 2, -2, &axis_given));
  TN_TRY(tn_k_axis(k, axis_given, x->rank, out_axis));
  if (*out_axis == x->rank - 1) return tn_k_fail(k, TN_MISMATCH, "axis %lld is the complex one", (long long)axis_given);
  j->in = x->dims[*out_axis];
  j->is_hermitian = tn_k_int(k, "inverse", 0) != 0 && tn_k_int(k, "onesided", 0) != 0;
  TN_TRY(tn_k_scalar(k, 1, j->is_hermitian ? 2 * (j->in - 1) : j->in, &length));
  TN_TRY(tn_fft_make(k, length, tn_k_int(k, "inverse", 0) != 0, &j->fft));
  const int64_t half = length / 2 + 1;
  j->out = tn_k_int(k, "onesided", 0) && !j->is_hermitian ? half : length;
  j->parts_out = j->is_hermitian ? 1 : 2;
  j->take = j->is_hermitian ? half : length;
  if (j->take > j->in) j->take = j->in;
  return TN_OK;
}

TN_KERNEL(dft, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 1, 1));
  spectrum_job j = {.x = k->in[0], .y = k->out[0]};
  int axis;
  if (!tn_dtype_is_float(j.x->dtype)) return tn_k_no_dtype(k, 0);
  TN_TRY(spectrum_read(k, &j, &axis));
  int64_t dims[TN_K_MAX_RANK];
  for (int i = 0; i < j.x->rank; i++) dims[i] = j.x->dims[i];
  dims[axis] = j.out;
  dims[j.x->rank - 1] = j.parts_out;
  TN_TRY(tn_k_out(k, 0, j.x->rank, dims));
  if (j.y->count == 0) return TN_OK;
  j.inner = tn_k_count(dims, axis + 1, j.x->rank - 1);
  TN_TRY(spectrum_rooms(k, &j));
  tn_pool_for(k->pool, tn_k_count(dims, 0, axis) * j.inner, 1, spectrum_task, &j);
  return TN_OK;
}

/* --- stft --- */

static void spectrum_stft_task(void *arg, int64_t begin, int64_t end, int worker) {
  const spectrum_job *const j = arg;
  const int64_t n = j->fft.n;
  double *const line = j->room + worker * j->room_each;
  for (int64_t i = begin; i < end; i++) {
    const int64_t first = i / j->frames * j->in + i % j->frames * j->step;
    for (int64_t e = 0; e < n; e++) {
      const double w = j->window ? tn_load_f64(j->window->dtype, j->window->data, e) : 1;
      line[2 * e] = w * tn_load_f64(j->x->dtype, j->x->data, (first + e) * j->parts_in);
      line[2 * e + 1] = j->parts_in == 2 ? w * tn_load_f64(j->x->dtype, j->x->data, (first + e) * 2 + 1) : 0;
    }
    tn_fft_run(&j->fft, line, line + 2 * n);
    for (int64_t e = 0; e < 2 * j->out; e++) tn_store_f64(j->y->dtype, j->y->data, i * 2 * j->out + e, line[e]);
  }
}

static tn_status spectrum_stft_read(tn_kcall *k, spectrum_job *j) {
  const tn_karg *const x = j->x, *const w = j->window;
  int64_t length;
  if (x->rank != 2 && x->rank != 3) return tn_k_fail(k, TN_MISMATCH, "a signal of rank %d", x->rank);
  j->parts_in = 1;
  if (x->rank == 3) TN_TRY(spectrum_parts(k, x, &j->parts_in));
  if (w && (w->rank != 1 || w->dtype != x->dtype)) return tn_k_fail(k, TN_MISMATCH, "a window of rank %d", w->rank);
  j->in = x->dims[1];
  TN_TRY(tn_k_scalar(k, 1, 1, &j->step));
  TN_TRY(tn_k_scalar(k, 3, w ? w->dims[0] : j->in, &length));
  if (j->step < 1) return tn_k_fail(k, TN_INVALID, "the frame step is %lld", (long long)j->step);
  if (w && w->dims[0] != length)
    return tn_k_fail(k, TN_MISMATCH, "a window of %lld for frames of %lld", (long long)w->dims[0], (long long)length);
  TN_TRY(tn_fft_make(k, length, false, &j->fft));
  if (length > j->in)
    return tn_k_fail(k, TN_MISMATCH, "frames of %lld in a signal of %lld", (long long)length, (long long)j->in);
  j->frames = (j->in - length) / j->step + 1;
  j->out = tn_k_int(k, "onesided", 1) ? length / 2 + 1 : length;
  return TN_OK;
}

TN_KERNEL(stft, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  spectrum_job j = {.x = k->in[0], .window = tn_k_in(k, 2), .y = k->out[0]};
  if (!tn_dtype_is_float(j.x->dtype)) return tn_k_no_dtype(k, 0);
  TN_TRY(spectrum_stft_read(k, &j));
  const int64_t dims[4] = {j.x->dims[0], j.frames, j.out, 2};
  TN_TRY(tn_k_out(k, 0, 4, dims));
  if (j.y->count == 0) return TN_OK;
  TN_TRY(spectrum_rooms(k, &j));
  tn_pool_for(k->pool, dims[0] * j.frames, 1, spectrum_stft_task, &j);
  return TN_OK;
}

/* --- mel_weight_matrix --- */

static double spectrum_mel_of(double hertz) { return 2595 * log10(1 + hertz / 700); }

static tn_status spectrum_mel_edge(tn_kcall *k, int i, double *out) {
  const tn_karg *const a = k->in[i];
  if (a->count < 1) return tn_k_fail(k, TN_MISMATCH, "input %d is empty", i);
  *out = tn_load_f64(a->dtype, a->data, 0);
  if (*out >= 0 && *out < 1e12) return TN_OK;
  return tn_k_fail(k, TN_INVALID, "an edge at %g Hz", *out);
}

/* Column c of the matrix: a triangle over the bins low .. center .. high. */
static void spectrum_mel_column(tn_karg *y, int64_t bins, int64_t columns, int64_t c, int64_t low, int64_t center,
                                int64_t high) {
  if (center == low && center < bins) tn_store_f64(y->dtype, y->data, center * columns + c, 1);
  for (int64_t b = low; center > low && b <= center && b < bins; b++)
    tn_store_f64(y->dtype, y->data, b * columns + c, (double)(b - low) / (double)(center - low));
  for (int64_t b = center; b < high && b < bins; b++)
    tn_store_f64(y->dtype, y->data, b * columns + c, (double)(high - b) / (double)(high - center));
}

TN_KERNEL(mel_weight_matrix, TN_K_SIZES) {
  int64_t columns, length, rate;
  double low = 0, high = 0;
  TN_TRY(tn_k_tensors(k, 5, 1));
  TN_TRY(tn_k_scalar(k, 0, 0, &columns));
  TN_TRY(tn_k_scalar(k, 1, 0, &length));
  TN_TRY(tn_k_scalar(k, 2, 0, &rate));
  TN_TRY(spectrum_mel_edge(k, 3, &low));
  TN_TRY(spectrum_mel_edge(k, 4, &high));
  if (columns < 0 || length < 0 || length > INT32_MAX || columns > INT32_MAX || rate < 1)
    return tn_k_fail(k, TN_INVALID, "%lld mel bins of %lld at a rate of %lld", (long long)columns, (long long)length,
                     (long long)rate);
  const int64_t dims[2] = {length / 2 + 1, columns};
  TN_TRY(tn_k_out(k, 0, 2, dims));
  tn_karg *const y = k->out[0];
  size_t bytes;
  if (!tn_dtype_bytes(y->dtype, y->count, &bytes)) return tn_k_fail(k, TN_LIMIT, "too many elements");
  if (bytes) memset(y->data, 0, bytes);
  const double from = spectrum_mel_of(low), step = (spectrum_mel_of(high) - from) / (double)(columns + 2);
  int64_t edge[3] = {0, 0, 0};
  for (int64_t i = 0; i < columns + 2; i++) {
    const double hertz = 700 * (pow(10, (from + step * (double)i) / 2595) - 1);
    edge[i % 3] = (int64_t)floor((double)(length + 1) * hertz / (double)rate);
    if (i >= 2) spectrum_mel_column(y, dims[0], columns, i - 2, edge[(i - 2) % 3], edge[(i - 1) % 3], edge[i % 3]);
  }
  return TN_OK;
}
