/* Pools over windows: maximum, average, Lp norm; and over whole planes. */
#include <math.h>
#include <string.h>

#include "kern/shadow.h"
#include "kern/window.h"

typedef struct pool_job {
  const tn_kcall *k;
  const tn_kwindow *w;
  const tn_krows *rows;
  int64_t *first, *last; /* by tap of the last axis: outputs that read inside */
  int64_t *scale;        /* by output row of the outer axes: taps that count (average) */
  int64_t *columns;      /* by output of the last axis: taps that count */
  bool column_major;
  double p;
} pool_job;

/* Spatial geometry of the call; x[N, C, ...] -> y[N, C, ...]. */
static tn_status pool_read(tn_kcall *k, tn_kwindow *w, tn_krows *rows, pool_job *j) {
  const tn_karg *x = k->in[0], *y = k->out[0] ? k->out[0] : k->out[1];

  TN_TRY(tn_kwindow_read(k, x->rank - 2, x->dims + 2, y->dims + 2, NULL, w));
  TN_TRY(tn_krows_make(k, w, rows));
  void *room;
  TN_TRY(tn_k_scratch_array(k, 2 * rows->kernel, sizeof(int64_t), &room));
  *j = (pool_job){.k = k, .w = w, .rows = rows, .first = room};
  j->last = j->first + rows->kernel;
  for (int64_t t = 0; t < rows->kernel; t++)
    tn_krange(rows->out, rows->in, rows->stride, t * rows->dilation - rows->lo, &j->first[t], &j->last[t]);
  return TN_OK;
}

/* Sizes of every output; before anything reads them. */
static tn_status pool_size(tn_kcall *k) {
  const tn_karg *x = k->in[0];
  int64_t dims[TN_K_MAX_RANK];
  if (x->rank < 3) return tn_k_fail(k, TN_MISMATCH, "a pool needs an input of rank 3 or more, not %d", x->rank);
  dims[0] = x->dims[0];
  dims[1] = x->dims[1];
  TN_TRY(tn_kwindow_sizes(k, x->rank - 2, x->dims + 2, NULL, tn_k_int(k, "ceil_mode", 0) != 0, dims + 2));
  for (int i = 0; i < k->n_out; i++) TN_TRY(tn_k_out(k, i, x->rank, dims));
  return TN_OK;
}

static tn_status pool_global_size(tn_kcall *k) {
  const tn_karg *x = k->in[0];
  int64_t dims[TN_K_MAX_RANK];
  if (x->rank < 2) return tn_k_fail(k, TN_MISMATCH, "a pool of a whole plane needs rank 2 or more, not %d", x->rank);
  for (int i = 0; i < x->rank; i++) dims[i] = i < 2 ? x->dims[i] : 1;
  return tn_k_out(k, 0, x->rank, dims);
}

static int64_t pool_planes(const tn_kcall *k) { return k->in[0]->dims[0] * k->in[0]->dims[1]; }

/* Folds every tap of the window into the row of results: for each tap, a loop over outputs. */
#define POOL_ROW(T, NAME, STEP)                                                \
  static void NAME(const pool_job *j, const T *x, int64_t row, T *out) {       \
    const tn_krows *r = j->rows;                                               \
    for (int64_t t = 0; t < r->taps; t++) {                                    \
      const int64_t in = r->map[t * r->rows_out + row];                        \
      if (in < 0) continue;                                                    \
      for (int64_t kx = 0; kx < r->kernel; kx++) {                             \
        const T *restrict const s = x + in * r->in + kx * r->dilation - r->lo; \
        T *restrict const y = out;                                             \
        const int64_t a = j->first[kx], b = j->last[kx], step = r->stride;     \
        if (step == 1)                                                         \
          for (int64_t o = a; o < b; o++) STEP(y[o], s[o]);                    \
        else                                                                   \
          for (int64_t o = a; o < b; o++) STEP(y[o], s[o * step]);             \
      }                                                                        \
    }                                                                          \
  }

#define POOL_MAX(y, x) (y) = (x) > (y) ? (x) : (y)
#define POOL_ADD(y, x) (y) += (x)

#define POOL_MAX_TASK(T, NAME, LOWEST)                                         \
  POOL_ROW(T, NAME##_row, POOL_MAX)                                            \
  static void NAME(void *arg, int64_t begin, int64_t end, int worker) {        \
    const pool_job *j = arg;                                                   \
    (void)worker;                                                              \
    for (int64_t i = begin; i < end; i++)                                      \
      for (int64_t row = 0; row < j->rows->rows_out; row++) {                  \
        T *y = (T *)j->k->out[0]->data + i * j->w->n_out + row * j->rows->out; \
        T *restrict const low = y;                                             \
        const int64_t n = j->rows->out;                                        \
        for (int64_t o = 0; o < n; o++) low[o] = LOWEST;                       \
        NAME##_row(j, (const T *)j->k->in[0]->data + i * j->w->n_in, row, y);  \
      }                                                                        \
  }
POOL_MAX_TASK(float, pool_max_f32, -INFINITY)
POOL_MAX_TASK(double, pool_max_f64, (double)-INFINITY)
POOL_MAX_TASK(int8_t, pool_max_i8, INT8_MIN)
POOL_MAX_TASK(uint8_t, pool_max_u8, 0)

/* Index of input position `at` of a plane, in row- or column-major order. */
static int64_t pool_index(const pool_job *j, int64_t at) {
  if (!j->column_major) return at;
  int64_t index = 0, coords[TN_KW_MAX];
  for (int i = j->w->n - 1; i >= 0; i--) {
    coords[i] = at % j->w->in[i];
    at /= j->w->in[i];
  }
  for (int i = j->w->n - 1; i >= 0; i--) index = index * j->w->in[i] + coords[i];
  return index;
}

/* With indices: element by element; the first of equal maxima wins. */
static void pool_max_at(const pool_job *j, int64_t plane, int64_t row, int64_t o) {
  const tn_krows *r = j->rows;
  const tn_karg *x = j->k->in[0];
  tn_karg *y = j->k->out[0], *index = j->k->out[1];
  int64_t best = -1;
  double most = 0;
  for (int64_t t = 0; t < r->taps; t++) {
    const int64_t in = r->map[t * r->rows_out + row];
    for (int64_t kx = 0; kx < r->kernel && in >= 0; kx++) {
      const int64_t ix = o * r->stride + kx * r->dilation - r->lo;
      if (ix < 0 || ix >= r->in) continue;
      const double v = tn_load_f64(x->dtype, x->data, plane * j->w->n_in + in * r->in + ix);
      if (best >= 0 && !(v > most)) continue;
      best = in * r->in + ix;
      most = v;
    }
  }
  const int64_t at = (plane * r->rows_out + row) * r->out + o;
  ((int64_t *)index->data)[at] = plane * j->w->n_in + (best < 0 ? 0 : pool_index(j, best));
  if (y) tn_store_f64(y->dtype, y->data, at, best < 0 ? (double)-INFINITY : most);
}

static void pool_max_indices(void *arg, int64_t begin, int64_t end, int worker) {
  const pool_job *j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++)
    for (int64_t p = 0; p < j->w->n_out; p++) pool_max_at(j, i, p / j->rows->out, p % j->rows->out);
}

static tn_status pool_max_run(tn_kcall *k, tn_task_fn fn) {
  tn_kwindow w;
  tn_krows rows;
  pool_job j;
  TN_TRY(pool_read(k, &w, &rows, &j));
  j.column_major = tn_k_int(k, "storage_order", 0) != 0;
  tn_pool_for(k->pool, pool_planes(k), 1, fn, &j);
  return TN_OK;
}

static tn_status pool_max_run_f32(tn_kcall *k) { return pool_max_run(k, pool_max_f32); }
static tn_status pool_max_run_f64(tn_kcall *k) { return pool_max_run(k, pool_max_f64); }

TN_KERNEL(max_pool, TN_K_SIZES) {
  TN_TRY(pool_size(k));

  if (tn_k_outp(k, 1)) return pool_max_run(k, pool_max_indices);
  if (k->in[0]->dtype == TN_I8) return pool_max_run(k, pool_max_i8);
  if (k->in[0]->dtype == TN_U8) return pool_max_run(k, pool_max_u8);
  return tn_k_by_float(k, pool_max_run_f32, pool_max_run_f64);
}

/* Number of taps of output o that count: those inside, or with padding those that are inside the padded input. */
static int64_t pool_counted(int64_t o, int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t lo,
                            int64_t hi, bool with_pad) {
  int64_t n = 0;
  for (int64_t t = 0; t < kernel; t++) {
    const int64_t x = o * stride + t * dilation - lo;
    n += with_pad ? x < in + hi : x >= 0 && x < in;
  }
  return n;
}

/* Divisors of the average: the count is a product over axes, kept for rows (all outer axes) and for columns. */
static tn_status pool_average_counts(tn_kcall *k, pool_job *j) {
  const tn_kwindow *w = j->w;
  const tn_krows *r = j->rows;
  const bool with_pad = tn_k_int(k, "count_include_pad", 0) != 0;
  void *room;
  TN_TRY(tn_k_scratch_array(k, r->rows_out + r->out, sizeof(int64_t), &room));
  j->scale = room;
  j->columns = j->scale + r->rows_out;
  for (int64_t row = 0; row < r->rows_out; row++) {
    int64_t rest = row;
    j->scale[row] = 1;
    for (int i = w->n - 2; i >= 0; i--) {
      j->scale[row] *= pool_counted(rest % w->out[i], w->in[i], w->kernel[i], w->stride[i], w->dilation[i], w->lo[i],
                                    w->hi[i], with_pad);
      rest /= w->out[i];
    }
  }
  for (int64_t o = 0; o < r->out; o++)
    j->columns[o] = pool_counted(o, r->in, r->kernel, r->stride, r->dilation, r->lo, w->hi[w->n - 1], with_pad);
  return TN_OK;
}

#define POOL_AVERAGE(T, NAME)                                                  \
  POOL_ROW(T, NAME##_row, POOL_ADD)                                            \
  static void NAME##_task(void *arg, int64_t begin, int64_t end, int worker) { \
    const pool_job *j = arg;                                                   \
    (void)worker;                                                              \
    for (int64_t i = begin; i < end; i++)                                      \
      for (int64_t row = 0; row < j->rows->rows_out; row++) {                  \
        T *y = (T *)j->k->out[0]->data + i * j->w->n_out + row * j->rows->out; \
        memset(y, 0, (size_t)j->rows->out * sizeof *y);                        \
        NAME##_row(j, (const T *)j->k->in[0]->data + i * j->w->n_in, row, y);  \
        for (int64_t o = 0; o < j->rows->out; o++) {                           \
          const int64_t n = j->scale[row] * j->columns[o];                     \
          y[o] = n ? y[o] / (T)n : (T)0;                                       \
        }                                                                      \
      }                                                                        \
  }                                                                            \
  static tn_status NAME(tn_kcall *k) {                                         \
    tn_kwindow w;                                                              \
    tn_krows rows;                                                             \
    pool_job j;                                                                \
    TN_TRY(pool_read(k, &w, &rows, &j));                                       \
    TN_TRY(pool_average_counts(k, &j));                                        \
    tn_pool_for(k->pool, pool_planes(k), 1, NAME##_task, &j);                  \
    return TN_OK;                                                              \
  }
POOL_AVERAGE(float, pool_average_f32)
POOL_AVERAGE(double, pool_average_f64)

TN_KERNEL(average_pool, TN_K_SIZES) {
  TN_TRY(pool_size(k));
  return tn_k_by_float(k, pool_average_f32, pool_average_f64);
}

/* |x|^p summed, then its p-th root. */
static double pool_power(double x, double p) {
  x = fabs(x);
  return p == 1 ? x : p == 2 ? x * x : pow(x, p);
}
static double pool_root(double x, double p) { return p == 1 ? x : p == 2 ? sqrt(x) : pow(x, 1 / p); }

static void pool_lp_task(void *arg, int64_t begin, int64_t end, int worker) {
  const pool_job *j = arg;
  const tn_krows *r = j->rows;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const double *x = (const double *)j->k->in[0]->data + i * j->w->n_in;
    double *y = (double *)j->k->out[0]->data + i * j->w->n_out;
    for (int64_t row = 0; row < r->rows_out; row++, y += r->out) {
      memset(y, 0, (size_t)r->out * sizeof *y);
      for (int64_t t = 0; t < r->taps; t++) {
        const int64_t in = r->map[t * r->rows_out + row];
        for (int64_t kx = 0; kx < r->kernel && in >= 0; kx++) {
          const double *s = x + in * r->in + kx * r->dilation - r->lo;
          for (int64_t o = j->first[kx]; o < j->last[kx]; o++) y[o] += pool_power(s[o * r->stride], j->p);
        }
      }
      for (int64_t o = 0; o < r->out; o++) y[o] = pool_root(y[o], j->p);
    }
  }
}

/* p is an integer, a float in the first version. */
static double pool_p(const tn_kcall *k) {
  const tn_kattr *a = tn_k_attr(k, "p");
  return !a ? 2 : a->kind == TN_KATTR_INT ? (double)a->i : a->f;
}

static tn_status pool_lp(tn_kcall *k) {
  tn_kwindow w;
  tn_krows rows;
  pool_job j;
  TN_TRY(pool_read(k, &w, &rows, &j));
  j.p = pool_p(k);
  tn_pool_for(k->pool, pool_planes(k), 1, pool_lp_task, &j);
  return TN_OK;
}

static tn_status pool_lp_any(tn_kcall *k) { return tn_k_as(k, TN_F64, pool_lp); }
TN_KERNEL(lp_pool, TN_K_SIZES) {
  TN_TRY(pool_size(k));
  return tn_k_by_float(k, pool_lp_any, pool_lp);
}

typedef struct pool_global {
  const tn_kcall *k;
  int64_t n; /* elements of a plane */
  double p;
} pool_global;

static tn_status pool_global_run(tn_kcall *k, tn_task_fn fn) {
  const tn_karg *x = k->in[0];

  pool_global g = {k, 1, pool_p(k)};
  for (int i = 2; i < x->rank; i++) g.n *= x->dims[i];
  tn_pool_for(k->pool, x->dims[0] * x->dims[1], 8, fn, &g);
  return TN_OK;
}

/* Sixteen partial results, so that the loop has vector form and its order is fixed. */
#define POOL_GLOBAL(T, NAME, START, STEP, LAST)                                \
  static void NAME##_task(void *arg, int64_t begin, int64_t end, int worker) { \
    const pool_global *g = arg;                                                \
    (void)worker;                                                              \
    for (int64_t i = begin; i < end; i++) {                                    \
      const T *x = (const T *)g->k->in[0]->data + i * g->n;                    \
      T part[16];                                                              \
      for (int j = 0; j < 16; j++) part[j] = START;                            \
      int64_t at = 0;                                                          \
      for (; at + 16 <= g->n; at += 16)                                        \
        for (int j = 0; j < 16; j++) STEP(part[j], x[at + j]);                 \
      for (; at < g->n; at++) STEP(part[0], x[at]);                            \
      for (int j = 1; j < 16; j++) STEP(part[0], part[j]);                     \
      ((T *)g->k->out[0]->data)[i] = LAST;                                     \
    }                                                                          \
  }                                                                            \
  static tn_status NAME(tn_kcall *k) { return pool_global_run(k, NAME##_task); }
POOL_GLOBAL(float, pool_global_average_f32, 0.0f, POOL_ADD, part[0] / (float)g->n)
POOL_GLOBAL(double, pool_global_average_f64, 0.0, POOL_ADD, part[0] / (double)g->n)
POOL_GLOBAL(float, pool_global_max_f32, -INFINITY, POOL_MAX, part[0])
POOL_GLOBAL(double, pool_global_max_f64, (double)-INFINITY, POOL_MAX, part[0])

TN_KERNEL(global_average_pool, TN_K_SIZES) {
  TN_TRY(pool_global_size(k));
  return tn_k_by_float(k, pool_global_average_f32, pool_global_average_f64);
}
TN_KERNEL(global_max_pool, TN_K_SIZES) {
  TN_TRY(pool_global_size(k));
  return tn_k_by_float(k, pool_global_max_f32, pool_global_max_f64);
}

static void pool_global_lp_task(void *arg, int64_t begin, int64_t end, int worker) {
  const pool_global *g = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const double *x = (const double *)g->k->in[0]->data + i * g->n;
    double sum = 0;
    for (int64_t at = 0; at < g->n; at++) sum += pool_power(x[at], g->p);
    ((double *)g->k->out[0]->data)[i] = pool_root(sum, g->p);
  }
}

static tn_status pool_global_lp(tn_kcall *k) { return pool_global_run(k, pool_global_lp_task); }
static tn_status pool_global_lp_any(tn_kcall *k) { return tn_k_as(k, TN_F64, pool_global_lp); }
TN_KERNEL(global_lp_pool, TN_K_SIZES) {
  TN_TRY(pool_global_size(k));
  return tn_k_by_float(k, pool_global_lp_any, pool_global_lp);
}

#undef POOL_ROW
#undef POOL_MAX
#undef POOL_ADD
#undef POOL_MAX_TASK
#undef POOL_AVERAGE
#undef POOL_GLOBAL
