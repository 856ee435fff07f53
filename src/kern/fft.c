/* Discrete Fourier transforms of any length. */
#include "kern/fft.h"

#include <math.h>

#include "kern/move.h"

#define FFT_MAX_LENGTH (INT64_C(1) << 28)

static bool fft_factor(int64_t n, tn_fft_factors *f) {
  static const int radices[] = {4, 2, 3, 5, 7};
  f->n = n;
  f->count = 0;
  for (int i = 0; i < 5; i++)
    for (; n % radices[i] == 0; n /= radices[i]) f->radix[f->count++] = radices[i];
  return n == 1;
}

static tn_status fft_roots(tn_kcall *k, tn_fft_factors *f) {
  void *room;
  TN_TRY(tn_k_room(k, f->n, 2 * sizeof(double), &room));
  double *const w = room;
  for (int64_t i = 0; i < f->n; i++) {
    const double angle = 2 * M_PI * (double)i / (double)f->n;
    w[2 * i] = cos(angle);
    w[2 * i + 1] = -sin(angle);
  }
  f->roots = w;
  return TN_OK;
}

/* y = a * b of complex numbers; y may be a. */
static inline void fft_mul(double *y, const double *a, const double *b) {
  const double re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
  y[0] = re;
  y[1] = im;
}

/* One step of Stockham's method: `s` interleaved transforms of length r * m become r * s of length m. */
typedef struct fft_step {
  int r;
  int64_t m, s;
} fft_step;

static void fft_step_2(const tn_fft_factors *f, fft_step t, const double *x, double *y) {
  for (int64_t p = 0; p < t.m; p++) {
    const double *const w = f->roots + 2 * p * t.s;
    for (int64_t q = 0; q < t.s; q++) {
      const double *const a = x + 2 * (q + t.s * p), *const b = a + 2 * t.s * t.m;
      double *const out = y + 2 * (q + t.s * 2 * p);
      const double difference[2] = {a[0] - b[0], a[1] - b[1]};
      out[0] = a[0] + b[0];
      out[1] = a[1] + b[1];
      fft_mul(out + 2 * t.s, difference, w);
    }
  }
}

static void fft_step_4(const tn_fft_factors *f, fft_step t, const double *x, double *y) {
  const int64_t apart = 2 * t.s * t.m;
  for (int64_t p = 0; p < t.m; p++) {
    const double *const w1 = f->roots + 2 * p * t.s, *const w2 = f->roots + 4 * p * t.s;
    const double *const w3 = f->roots + 6 * p * t.s;
    for (int64_t q = 0; q < t.s; q++) {
      const double *const a = x + 2 * (q + t.s * p), *const b = a + apart, *const c = b + apart, *const d = c + apart;
      double *const out = y + 2 * (q + t.s * 4 * p);
      const double ac[2] = {a[0] + c[0], a[1] + c[1]}, amc[2] = {a[0] - c[0], a[1] - c[1]};
      const double bd[2] = {b[0] + d[0], b[1] + d[1]}, ibmd[2] = {b[1] - d[1], d[0] - b[0]}; /* -i (b - d) */
      const double one[2] = {amc[0] + ibmd[0], amc[1] + ibmd[1]}, two[2] = {ac[0] - bd[0], ac[1] - bd[1]};
      const double three[2] = {amc[0] - ibmd[0], amc[1] - ibmd[1]};
      out[0] = ac[0] + bd[0];
      out[1] = ac[1] + bd[1];
      fft_mul(out + 2 * t.s, one, w1);
      fft_mul(out + 4 * t.s, two, w2);
      fft_mul(out + 6 * t.s, three, w3);
    }
  }
}

static void fft_step_any(const tn_fft_factors *f, fft_step t, const double *x, double *y) {
  for (int64_t p = 0; p < t.m; p++)
    for (int64_t q = 0; q < t.s; q++)
      for (int64_t h = 0; h < t.r; h++) {
        double sum[2] = {0, 0}, part[2];
        for (int64_t j = 0; j < t.r; j++) {
          fft_mul(part, x + 2 * (q + t.s * (p + t.m * j)), f->roots + 2 * (f->n / t.r * (j * h % t.r)));
          sum[0] += part[0];
          sum[1] += part[1];
        }
        fft_mul(y + 2 * (q + t.s * (t.r * p + h)), sum, f->roots + 2 * (p * h * t.s));
      }
}

/* The forward transform of f->n numbers in place. */
static void fft_by_factors(const tn_fft_factors *f, double *x, double *room) {
  double *from = x, *to = room;
  int64_t left = f->n, s = 1;
  for (int i = 0; i < f->count; i++) {
    const fft_step t = {f->radix[i], left / f->radix[i], s};
    if (t.r == 2)
      fft_step_2(f, t, from, to);
    else if (t.r == 4)
      fft_step_4(f, t, from, to);
    else
      fft_step_any(f, t, from, to);
    double *const last = from;
    from = to;
    to = last;
    left = t.m;
    s *= t.r;
  }
  if (from != x) memcpy(x, from, (size_t)(2 * f->n) * sizeof *x);
}

static tn_status fft_make_chirp(tn_kcall *k, tn_fft *f) {
  int64_t m = 1;
  while (m < 2 * f->n - 1) m *= 2;
  void *chirp_room, *filter_room, *room;
  if (!fft_factor(m, &f->core)) return tn_k_fail(k, TN_INTERNAL, "a power of two did not factor");
  TN_TRY(fft_roots(k, &f->core));
  TN_TRY(tn_k_room(k, f->n, 2 * sizeof(double), &chirp_room));
  TN_TRY(tn_k_room(k, m, 2 * sizeof(double), &filter_room));
  TN_TRY(tn_k_room(k, m, 2 * sizeof(double), &room));
  double *const chirp = chirp_room, *const filter = filter_room;
  memset(filter, 0, (size_t)(2 * m) * sizeof *filter);
  for (int64_t i = 0; i < f->n; i++) {
    const double angle = M_PI * (double)(i * i % (2 * f->n)) / (double)f->n, re = cos(angle), im = sin(angle);
    const int64_t back = i ? m - i : 0;
    chirp[2 * i] = re;
    chirp[2 * i + 1] = -im;
    filter[2 * i] = filter[2 * back] = re / (double)m;
    filter[2 * i + 1] = filter[2 * back + 1] = im / (double)m;
  }
  fft_by_factors(&f->core, filter, room);
  f->chirp = chirp;
  f->filter = filter;
  return TN_OK;
}

tn_status tn_fft_make(tn_kcall *k, int64_t n, bool is_inverse, tn_fft *f) {
  memset(f, 0, sizeof *f);
  if (n < 1) return tn_k_fail(k, TN_INVALID, "a transform of length %lld", (long long)n);
  if (n > FFT_MAX_LENGTH) return tn_k_fail(k, TN_LIMIT, "a transform of length %lld", (long long)n);
  f->n = n;
  f->is_inverse = is_inverse;
  f->is_chirp = !fft_factor(n, &f->core);
  return f->is_chirp ? fft_make_chirp(k, f) : fft_roots(k, &f->core);
}

int64_t tn_fft_room(const tn_fft *f) { return (f->is_chirp ? 4 : 2) * f->core.n; }

/* X[k] = chirp[k] * sum_j (x[j] chirp[j]) conj(chirp[k - j]): a cyclic convolution of length m, whose transform back is
 * done by the forward one on conjugates. */
static void fft_by_chirp(const tn_fft *f, double *x, double *room) {
  const int64_t n = f->n, m = f->core.n;
  double *const a = room;
  for (int64_t i = 0; i < n; i++) fft_mul(a + 2 * i, x + 2 * i, f->chirp + 2 * i);
  memset(a + 2 * n, 0, (size_t)(2 * (m - n)) * sizeof *a);
  fft_by_factors(&f->core, a, room + 2 * m);
  for (int64_t i = 0; i < m; i++) {
    fft_mul(a + 2 * i, a + 2 * i, f->filter + 2 * i);
    a[2 * i + 1] = -a[2 * i + 1];
  }
  fft_by_factors(&f->core, a, room + 2 * m);
  for (int64_t i = 0; i < n; i++) {
    a[2 * i + 1] = -a[2 * i + 1];
    fft_mul(x + 2 * i, a + 2 * i, f->chirp + 2 * i);
  }
}

/* The inverse is the conjugate of the transform of the conjugates, divided by n. */
static void fft_conjugate(double *x, int64_t n, double scale) {
  for (int64_t i = 0; i < n; i++) {
    x[2 * i] *= scale;
    x[2 * i + 1] *= -scale;
  }
}

void tn_fft_run(const tn_fft *f, double *x, double *room) {
  if (f->is_inverse) fft_conjugate(x, f->n, 1);
  if (f->is_chirp)
    fft_by_chirp(f, x, room);
  else
    fft_by_factors(&f->core, x, room);
  if (f->is_inverse) fft_conjugate(x, f->n, 1 / (double)f->n);
}
