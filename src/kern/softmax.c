/* Softmax, LogSoftmax, Hardmax. f16 and bf16 are widened line by line; f64 has a plain loop of its own. */
#include <math.h>

#include "kern/line.h"
#include "kern/move.h"

enum { SOFTMAX_COLUMNS = 256 };
typedef enum softmax_kind { SOFTMAX_EXP, SOFTMAX_LOG, SOFTMAX_HARD } softmax_kind;

static void softmax_row_hard(const float *x, float *y, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; i++)
    if (x[i] > x[best]) best = i;
  for (int64_t i = 0; i < n; i++) y[i] = 0;
  y[best] = 1;
}
static void softmax_row(const tn_line_isa *isa, softmax_kind kind, const float *x, float *y, int64_t n) {
  if (kind == SOFTMAX_HARD) {
    softmax_row_hard(x, y, n);
    return;
  }
  const float m = isa->max(x, n), sum = isa->exp_sum(x, kind == SOFTMAX_EXP ? y : NULL, n, m);
  if (kind == SOFTMAX_EXP) {
    isa->scale(y, n, 1.0f / sum);
    return;
  }
  const float log_sum = logf(sum);
  for (int64_t i = 0; i < n; i++) y[i] = x[i] - m - log_sum;
}

/* `w` neighbouring lines at once, `step` elements from one element of a line to the next. */
static void softmax_columns(const tn_line_isa *isa, softmax_kind kind, const float *x, float *y, int64_t n,
                            int64_t step, int64_t w) {
  float m[SOFTMAX_COLUMNS], sum[SOFTMAX_COLUMNS];
  for (int64_t c = 0; c < w; c++) {
    m[c] = -INFINITY;
    sum[c] = 0;
  }
  for (int64_t i = 0; i < n; i++) isa->columns_max(m, x + i * step, w);
  for (int64_t i = 0; i < n; i++) isa->columns_exp(sum, x + i * step, m, y + i * step, w);
  for (int64_t c = 0; c < w; c++) sum[c] = kind == SOFTMAX_EXP ? 1.0f / sum[c] : logf(sum[c]);
  for (int64_t i = 0; i < n; i++)
    for (int64_t c = 0; c < w; c++)
      y[i * step + c] = kind == SOFTMAX_EXP ? y[i * step + c] * sum[c] : x[i * step + c] - m[c] - sum[c];
}

static void softmax_columns_hard(const tn_line_isa *isa, const float *x, float *y, int64_t n, int64_t step, int64_t w) {
  float m[SOFTMAX_COLUMNS], open[SOFTMAX_COLUMNS]; /* open: 1 until the line has its 1 */
  memcpy(m, x, (size_t)w * sizeof *m);
  for (int64_t i = 1; i < n; i++) isa->columns_max(m, x + i * step, w);
  for (int64_t c = 0; c < w; c++) {
    y[c] = x[c] < m[c] ? 0.0f : 1.0f; /* NaN in front stays the maximum */
    open[c] = 1.0f - y[c];
  }
  for (int64_t i = 1; i < n; i++) {
    const float *restrict const from = x + i * step;
    float *restrict const to = y + i * step;
    for (int64_t c = 0; c < w; c++) {
      to[c] = from[c] == m[c] ? open[c] : 0.0f;
      open[c] -= to[c];
    }
  }
}

static void softmax_line_f64(softmax_kind kind, const double *x, double *y, int64_t n, int64_t step) {
  double m = x[0], sum = 0;
  int64_t best = 0;
  for (int64_t i = 1; i < n; i++)
    if (x[i * step] > m) {
      m = x[i * step];
      best = i;
    }
  if (kind == SOFTMAX_HARD) {
    for (int64_t i = 0; i < n; i++) y[i * step] = i == best ? 1 : 0;
    return;
  }
  for (int64_t i = 0; i < n; i++) sum += exp(x[i * step] - m);
  const double log_sum = log(sum);
  for (int64_t i = 0; i < n; i++) {
    const double v = x[i * step] - m;
    y[i * step] = kind == SOFTMAX_LOG ? v - log_sum : exp(v) / sum;
  }
}

typedef struct softmax_job {
  const tn_line_isa *isa;
  softmax_kind kind;
  tn_dtype dtype;
  const void *x;
  void *y;
  float *lines;             /* a line of room for each worker; NULL when lines can be used in place */
  int64_t n, inner, blocks; /* blocks of columns for each outer index */
} softmax_job;

/* A line with a step, or of a short type: through a buffer. */
static void softmax_buffered(const softmax_job *j, int64_t at, float *line) {
  for (int64_t i = 0; i < j->n; i++) line[i] = (float)tn_load_f64(j->dtype, j->x, at + i * j->inner);
  softmax_row(j->isa, j->kind, line, line, j->n);
  for (int64_t i = 0; i < j->n; i++) tn_store_f64(j->dtype, j->y, at + i * j->inner, (double)line[i]);
}
static void softmax_task(void *arg, int64_t begin, int64_t end, int worker) {
  const softmax_job *const j = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % j->blocks * SOFTMAX_COLUMNS, at = i / j->blocks * j->n * j->inner + column;
    const int64_t w = j->inner - column < SOFTMAX_COLUMNS ? j->inner - column : SOFTMAX_COLUMNS;
    if (j->dtype == TN_F64) {
      for (int64_t c = 0; c < w; c++)
        softmax_line_f64(j->kind, (const double *)j->x + at + c, (double *)j->y + at + c, j->n, j->inner);
    } else if (j->lines) {
      for (int64_t c = 0; c < w; c++) softmax_buffered(j, at + c, j->lines + worker * j->n);
    } else if (j->inner == 1) {
      softmax_row(j->isa, j->kind, (const float *)j->x + at, (float *)j->y + at, j->n);
    } else if (j->kind == SOFTMAX_HARD) {
      softmax_columns_hard(j->isa, (const float *)j->x + at, (float *)j->y + at, j->n, j->inner, w);
    } else {
      softmax_columns(j->isa, j->kind, (const float *)j->x + at, (float *)j->y + at, j->n, j->inner, w);
    }
  }
}

static tn_status softmax_run(tn_kcall *k, softmax_kind kind) {
  TN_TRY(tn_k_same_type(k, 1, 1));
  const tn_karg *const x = k->in[0];
  const bool flatten = tn_k_int(k, "flatten", 0) != 0;
  int64_t axis = tn_k_int(k, "axis", -1), size[3] = {1, 1, 1};
  if (axis < 0) axis += x->rank > 0 ? x->rank : 1;
  if (axis < 0 || axis > x->rank) return tn_k_fail(k, TN_MISMATCH, "axis is outside a tensor of rank %d", x->rank);
  for (int d = 0; d < x->rank; d++) size[d < axis ? 0 : (d == axis || flatten ? 1 : 2)] *= x->dims[d];
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  if (x->count == 0) return TN_OK;
  softmax_job j = {.isa = tn_line_isa_get(),
                   .kind = kind,
                   .dtype = x->dtype,
                   .x = x->data,
                   .y = k->out[0]->data,
                   .n = size[1],
                   .inner = size[2]};
  j.blocks = (j.inner + SOFTMAX_COLUMNS - 1) / SOFTMAX_COLUMNS;
  if (x->dtype != TN_F32 && x->dtype != TN_F64 && x->dtype != TN_F16 && x->dtype != TN_BF16) return tn_k_no_dtype(k, 0);
  if (x->dtype == TN_F16 || x->dtype == TN_BF16) {
    int64_t room;
    void *lines;
    if (!tn_mul_i64(j.n, tn_pool_threads(k->pool), &room)) return tn_k_fail(k, TN_LIMIT, "too many elements");
    TN_TRY(tn_k_room(k, room, sizeof(float), &lines));
    j.lines = lines;
  }
  const int64_t block = j.n * (j.inner < SOFTMAX_COLUMNS ? j.inner : SOFTMAX_COLUMNS);
  tn_pool_for(k->pool, size[0] * j.blocks, block >= 4096 ? 1 : 4096 / block, softmax_task, &j);
  return TN_OK;
}

TN_KERNEL(softmax, TN_K_SIZES | TN_K_IN_PLACE_FIRST) { return softmax_run(k, SOFTMAX_EXP); }
TN_KERNEL(log_softmax, TN_K_SIZES) { return softmax_run(k, SOFTMAX_LOG); }
TN_KERNEL(hardmax, TN_K_SIZES) { return softmax_run(k, SOFTMAX_HARD); }
