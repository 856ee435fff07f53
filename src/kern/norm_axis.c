/* LpNormalization, MeanVarianceNormalization, Det. Sums run in f64. */
#include <math.h>

#include "kern/move.h"

static tn_status norm_axis_floats(tn_kcall *k) {
  TN_TRY(tn_k_same_type(k, 1, 1));
  return tn_dtype_is_float(k->in[0]->dtype) ? TN_OK : tn_k_no_dtype(k, 0);
}
static double norm_axis_load(const tn_karg *x, int64_t i) {
  return x->dtype == TN_F32 ? (double)((const float *)x->data)[i] : tn_load_f64(x->dtype, x->data, i);
}
static void norm_axis_store(tn_karg *y, int64_t i, double v) {
  if (y->dtype == TN_F32)
    ((float *)y->data)[i] = (float)v;
  else
    tn_store_f64(y->dtype, y->data, i, v);
}

typedef struct norm_axis_job {
  const tn_karg *x;
  tn_karg *y;
  int64_t n, inner;
  bool p1;
} norm_axis_job;
static void norm_axis_task(void *arg, int64_t begin, int64_t end, int worker) {
  const norm_axis_job *const j = arg;
  (void)worker;
  for (int64_t line = begin; line < end; line++) {
    const int64_t base = line / j->inner * j->n * j->inner + line % j->inner;
    double sum = 0;
    for (int64_t i = 0; i < j->n; i++) {
      const double v = norm_axis_load(j->x, base + i * j->inner);
      sum += j->p1 ? fabs(v) : v * v;
    }
    const double norm = j->p1 ? sum : sqrt(sum);
    for (int64_t i = 0; i < j->n; i++)
      norm_axis_store(j->y, base + i * j->inner, norm == 0 ? 0 : norm_axis_load(j->x, base + i * j->inner) / norm);
  }
}
TN_KERNEL(lp_normalization, TN_K_SIZES) {
  int axis;
  TN_TRY(norm_axis_floats(k));
  const tn_karg *const x = k->in[0];
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", -1), x->rank, &axis));
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  norm_axis_job j = {.x = x, .y = k->out[0], .n = x->dims[axis], .p1 = tn_k_int(k, "p", 2) == 1};
  j.inner = tn_k_count(x->dims, axis + 1, x->rank);
  if (x->count == 0) return TN_OK;
  tn_pool_for(tn_dtype_bits(x->dtype) < 8 ? NULL : k->pool, x->count / j.n, 1 + 4096 / j.n, norm_axis_task, &j);
  return TN_OK;
}

/* Sum of x - mean, or of its squares. */
static double norm_axis_sum(const float *x, int64_t n, double mean, bool squares) {
  enum { LANES = 8 };
  double sum[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int l = 0; l < LANES; l++) {
      const double away = (double)x[i + l] - mean;
      sum[l] += squares ? away * away : away;
    }
  for (; i < n; i++) {
    const double away = (double)x[i] - mean;
    sum[0] += squares ? away * away : away;
  }
  for (int l = 1; l < LANES; l++) sum[0] += sum[l];
  return sum[0];
}
static void norm_axis_line(int pass, const float *restrict x, float *restrict y, int64_t n, double *mean,
                           double *scale) {
  const double m = *mean, s = *scale;
  if (pass == 0) *mean += norm_axis_sum(x, n, 0, false);
  if (pass == 1) *scale += norm_axis_sum(x, n, m, true);
  for (int64_t i = 0; pass == 2 && i < n; i++) y[i] = (float)(((double)x[i] - m) * s);
}
/* A run of elements in one of three passes: sums, sums of squares of what is left, the results. */
static void norm_axis_run(int pass, const tn_karg *x, tn_karg *y, int64_t first, int64_t run, int64_t step,
                          double *mean, double *scale) {
  const bool is_f32 = x->dtype == TN_F32;
  const float *const xs = is_f32 ? (const float *)x->data + first : NULL;
  if (is_f32 && step == 0) {
    norm_axis_line(pass, xs, (float *)y->data + first, run, mean, scale);
    return;
  }
  for (int64_t i = 0; i < run; i++) {
    const double v = is_f32 ? (double)xs[i] : norm_axis_load(x, first + i), away = v - mean[i * step];
    if (pass == 0)
      mean[i * step] += v;
    else if (pass == 1)
      scale[i * step] += away * away;
    else
      norm_axis_store(y, first + i, away * scale[i * step]);
  }
}

/* Sums over the axes that go: kept[] strides number the groups. */
TN_KERNEL(mean_variance_normalization, TN_K_SIZES) {
  static const int64_t usual[3] = {0, 2, 3};
  TN_TRY(norm_axis_floats(k));
  const tn_karg *const x = k->in[0];
  int64_t n_axes, group[TN_K_MAX_RANK], groups = 1, n = 1, at[TN_K_MAX_RANK] = {0};
  const int64_t *axes = tn_k_attr_ints(k, "axes", &n_axes);
  int set[TN_K_MAX_RANK];
  void *sums;
  if (!tn_k_attr(k, "axes")) {
    axes = usual;
    n_axes = 3;
  }
  TN_TRY(tn_k_axis_set(k, n_axes, axes, x->rank, set));
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  if (x->count == 0) return TN_OK;
  for (int d = x->rank - 1; d >= 0; d--) {
    group[d] = set[d] >= 0 ? 0 : groups;
    *(set[d] >= 0 ? &n : &groups) *= x->dims[d];
  }
  TN_TRY(tn_k_room(k, groups, 2 * sizeof(double), &sums));
  double *const mean = sums, *const scale = mean + groups;
  for (int64_t g = 0; g < groups; g++) mean[g] = scale[g] = 0;
  /* Runs along the last axes, of one group (step 0) or of neighbouring ones (1). */
  int outer = x->rank - 1;
  while (outer > 0 && (set[outer - 1] >= 0) == (set[x->rank - 1] >= 0)) outer--;
  const int64_t run = tn_k_count(x->dims, outer, x->rank), step = set[x->rank - 1] < 0;
  for (int pass = 0; pass < 3; pass++) {
    for (int64_t i = 0; i < x->count; i += run) {
      const int64_t g = tn_k_dot(outer, at, group);
      norm_axis_run(pass, x, k->out[0], i, run, step, mean + g, scale + g);
      (void)tn_k_next(outer, x->dims, at);
    }
    for (int64_t g = 0; g < groups && pass == 0; g++) mean[g] /= (double)n;
    for (int64_t g = 0; g < groups && pass == 1; g++) scale[g] = 1 / (sqrt(scale[g] / (double)n) + 1e-9);
  }
  return TN_OK;
}

/* Gauss with the largest pivot; destroys m. */
static double norm_axis_det(double *m, int64_t n) {
  double det = 1;
  for (int64_t c = 0; c < n; c++) {
    int64_t best = c;
    for (int64_t r = c + 1; r < n; r++) best = fabs(m[r * n + c]) > fabs(m[best * n + c]) ? r : best;
    const double pivot = m[best * n + c];
    if (!(pivot < 0 || pivot > 0)) return pivot; /* singular, or NaN */
    for (int64_t i = c; best != c && i < n; i++) {
      const double held = m[c * n + i];
      m[c * n + i] = m[best * n + i];
      m[best * n + i] = held;
    }
    det *= best == c ? pivot : -pivot;
    for (int64_t r = c + 1; r < n; r++) {
      const double f = m[r * n + c] / pivot;
      for (int64_t i = c + 1; i < n; i++) m[r * n + i] -= f * m[c * n + i];
    }
  }
  return det;
}
TN_KERNEL(det, TN_K_SIZES) {
  TN_TRY(norm_axis_floats(k));
  const tn_karg *const x = k->in[0];
  void *room;
  if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
    return tn_k_fail(k, TN_MISMATCH, "the matrices are not square");
  const int64_t n = x->dims[x->rank - 1];
  TN_TRY(tn_k_out(k, 0, x->rank - 2, x->dims));
  TN_TRY(tn_k_room(k, n * n, sizeof(double), &room));
  double *const m = room;
  for (int64_t i = 0; i < k->out[0]->count; i++) {
    for (int64_t e = 0; e < n * n; e++) m[e] = norm_axis_load(x, i * n * n + e);
    norm_axis_store(k->out[0], i, norm_axis_det(m, n));
  }
  return TN_OK;
}
