/* Reductions. Floats: a pass over short runs in f32 lanes, the runs' results joined in f64, in an order that the sizes
 * alone decide, so that no number of threads changes a bit. f16 and bf16 are widened once. Other types go element by
 * element in f64 or int64. */
#include <math.h>

#include "kern/line.h"
#include "kern/move.h"
#include "kern/recast.h"

enum { REDUCE_RUN = 256, REDUCE_COLUMNS = 1024 };

typedef enum reduce_kind {
  REDUCE_SUM,
  REDUCE_MEAN,
  REDUCE_PROD,
  REDUCE_MAX,
  REDUCE_MIN,
  REDUCE_L1,
  REDUCE_L2,
  REDUCE_LOG_SUM,
  REDUCE_LOG_SUM_EXP,
  REDUCE_SUM_SQUARE
} reduce_kind;

/* How two partial results join. */
typedef enum reduce_join { REDUCE_BY_ADD, REDUCE_BY_MUL, REDUCE_BY_MAX, REDUCE_BY_MIN } reduce_join;
static reduce_join reduce_join_of(reduce_kind kind) {
  if (kind == REDUCE_PROD) return REDUCE_BY_MUL;
  if (kind == REDUCE_MAX) return REDUCE_BY_MAX;
  return kind == REDUCE_MIN ? REDUCE_BY_MIN : REDUCE_BY_ADD;
}

typedef struct reduce_plan {
  const tn_line_isa *isa;
  tn_dtype dtype;
  const void *x;
  void *y;
  reduce_kind kind;
  int n_kept, n_lost;
  int64_t kept[TN_K_MAX_RANK], kept_step[TN_K_MAX_RANK], lost[TN_K_MAX_RANK], lost_step[TN_K_MAX_RANK];
  int64_t n_out, n_in; /* results; elements of one result */
} reduce_plan;

static double reduce_neutral(reduce_kind kind) {
  if (kind == REDUCE_PROD) return 1;
  if (kind == REDUCE_MAX) return -HUGE_VAL;
  return kind == REDUCE_MIN ? HUGE_VAL : 0;
}
static double reduce_combine(reduce_join join, double a, double b) {
  switch (join) {
    case REDUCE_BY_MUL:
      return a * b;
    case REDUCE_BY_MAX:
      return b > a || isnan(b) ? b : a;
    case REDUCE_BY_MIN:
      return b < a || isnan(b) ? b : a;
    case REDUCE_BY_ADD:
      break;
  }
  return a + b;
}
static double reduce_finish(reduce_kind kind, double v, int64_t n, double shift) {
  switch (kind) {
    case REDUCE_MEAN:
      return v / (double)n;
    case REDUCE_L2:
      return sqrt(v);
    case REDUCE_LOG_SUM:
      return log(v);
    case REDUCE_LOG_SUM_EXP:
      return n == 0 || isinf(shift) ? shift : shift + log(v);
    default:
      return v;
  }
}

static tn_line_fold reduce_fold(reduce_kind kind) {
  switch (kind) {
    case REDUCE_PROD:
      return TN_LINE_PROD;
    case REDUCE_MAX:
      return TN_LINE_MAX;
    case REDUCE_MIN:
      return TN_LINE_MIN;
    case REDUCE_L1:
      return TN_LINE_ABS;
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE:
      return TN_LINE_SQUARE;
    case REDUCE_LOG_SUM_EXP:
      return TN_LINE_EXP;
    default:
      return TN_LINE_SUM;
  }
}

static int64_t reduce_offset(int n, const int64_t *dims, const int64_t *step, int64_t number) {
  int64_t at = 0;
  for (int d = n - 1; d >= 0; d--) {
    at += number % dims[d] * step[d];
    number /= dims[d];
  }
  return at;
}

/* One result whose elements lie in runs of the last lost axis. */
static double reduce_one(const reduce_plan *p, reduce_kind kind, const float *x, float shift) {
  const tn_line_fold fold = reduce_fold(kind);
  const reduce_join join = reduce_join_of(kind);
  const int last = p->n_lost - 1;
  const int64_t run = p->lost[last], step = p->lost_step[last];
  double acc = reduce_neutral(kind);
  for (int64_t i = 0; i < p->n_in / run; i++) {
    const float *const line = x + reduce_offset(last, p->lost, p->lost_step, i);
    for (int64_t at = 0; at < run; at += REDUCE_RUN) {
      const int64_t n = run - at < REDUCE_RUN ? run - at : REDUCE_RUN;
      float buffer[REDUCE_RUN];
      for (int64_t e = 0; step != 1 && e < n; e++) buffer[e] = line[(at + e) * step];
      acc = reduce_combine(join, acc, (double)p->isa->fold[fold](step == 1 ? line + at : buffer, n, shift));
    }
  }
  return acc;
}
static void reduce_task_one(void *arg, int64_t begin, int64_t end, int worker) {
  const reduce_plan *const p = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const float *const x = (const float *)p->x + reduce_offset(p->n_kept, p->kept, p->kept_step, i);
    double shift = 0;
    if (p->kind == REDUCE_LOG_SUM_EXP) shift = reduce_one(p, REDUCE_MAX, x, 0);
    ((float *)p->y)[i] = (float)reduce_finish(p->kind, reduce_one(p, p->kind, x, (float)shift), p->n_in, shift);
  }
}

/* `w` neighbouring results: rows of them are joined one after another. */
static void reduce_columns(const reduce_plan *p, reduce_kind kind, const float *x, int64_t w, const float *shift,
                           double *acc) {
  const tn_line_fold fold = reduce_fold(kind);
  const reduce_join join = reduce_join_of(kind);
  const float neutral = (float)reduce_neutral(kind);
  float part[REDUCE_COLUMNS];
  int64_t index[TN_K_MAX_RANK] = {0};
  for (int64_t c = 0; c < w; c++) acc[c] = reduce_neutral(kind);
  for (int64_t at = 0; at < p->n_in; at += REDUCE_RUN) {
    const int64_t n = p->n_in - at < REDUCE_RUN ? p->n_in - at : REDUCE_RUN;
    for (int64_t c = 0; c < w; c++) part[c] = neutral;
    for (int64_t i = 0; i < n; i++) {
      p->isa->fold_rows[fold](part, x + tn_k_dot(p->n_lost, index, p->lost_step), w, shift);
      (void)tn_k_next(p->n_lost, p->lost, index);
    }
    for (int64_t c = 0; c < w; c++) acc[c] = reduce_combine(join, acc[c], (double)part[c]);
  }
}
static void reduce_task_columns(void *arg, int64_t begin, int64_t end, int worker) {
  const reduce_plan *const p = arg;
  const int last = p->n_kept - 1;
  const int64_t row = p->kept[last], blocks = (row + REDUCE_COLUMNS - 1) / REDUCE_COLUMNS;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const int64_t column = i % blocks * REDUCE_COLUMNS,
                  w = row - column < REDUCE_COLUMNS ? row - column : REDUCE_COLUMNS;
    const float *const x = (const float *)p->x + reduce_offset(last, p->kept, p->kept_step, i / blocks) + column;
    float *const y = (float *)p->y + i / blocks * row + column;
    float shift[REDUCE_COLUMNS] = {0};
    double acc[REDUCE_COLUMNS], top[REDUCE_COLUMNS] = {0};
    if (p->kind == REDUCE_LOG_SUM_EXP) {
      reduce_columns(p, REDUCE_MAX, x, w, shift, top);
      for (int64_t c = 0; c < w; c++) shift[c] = (float)top[c];
    }
    reduce_columns(p, p->kind, x, w, shift, acc);
    for (int64_t c = 0; c < w; c++) y[c] = (float)reduce_finish(p->kind, acc[c], p->n_in, top[c]);
  }
}

static void reduce_f32(tn_kcall *k, reduce_plan *p) {
  const int last = p->n_kept - 1;
  const bool columns = last >= 0 && p->kept_step[last] == 1 && p->kept[last] >= 4 && p->n_in > 0;
  if (columns) {
    const int64_t w = p->kept[last] < REDUCE_COLUMNS ? p->kept[last] : REDUCE_COLUMNS;
    const int64_t blocks = (p->kept[last] + REDUCE_COLUMNS - 1) / REDUCE_COLUMNS;
    tn_pool_for(k->pool, p->n_out / p->kept[last] * blocks, 1 + 16384 / (w * p->n_in), reduce_task_columns, p);
  } else {
    tn_pool_for(k->pool, p->n_out, 1 + 16384 / (p->n_in + 1), reduce_task_one, p);
  }
}

/* Any other type, element by element. */
static double reduce_element_f64(reduce_kind kind, double v, double shift) {
  if (kind == REDUCE_L1) return fabs(v);
  if (kind == REDUCE_L2 || kind == REDUCE_SUM_SQUARE) return v * v;
  return kind == REDUCE_LOG_SUM_EXP ? exp(v - shift) : v;
}
static double reduce_any_f64(const reduce_plan *p, int64_t base, reduce_kind kind, double shift) {
  const reduce_join join = reduce_join_of(kind);
  int64_t index[TN_K_MAX_RANK] = {0};
  double acc = reduce_neutral(kind);
  for (int64_t i = 0; i < p->n_in; i++) {
    const double v = tn_load_f64(p->dtype, p->x, base + tn_k_dot(p->n_lost, index, p->lost_step));
    acc = reduce_combine(join, acc, reduce_element_f64(kind, v, shift));
    (void)tn_k_next(p->n_lost, p->lost, index);
  }
  return acc;
}
/* acc joined with v, in the two's complement; unsigned order where `flip` has the top bit. */
static int64_t reduce_join_i64(reduce_kind kind, int64_t acc, int64_t v, uint64_t flip) {
  const int64_t a = (int64_t)((uint64_t)acc ^ flip), b = (int64_t)((uint64_t)v ^ flip);
  switch (kind) {
    case REDUCE_PROD:
      return (int64_t)((uint64_t)acc * (uint64_t)v);
    case REDUCE_MAX:
      return b > a ? v : acc;
    case REDUCE_MIN:
      return b < a ? v : acc;
    case REDUCE_L1:
      return (int64_t)((uint64_t)acc + (v < 0 && !flip ? 0 - (uint64_t)v : (uint64_t)v));
    case REDUCE_SUM_SQUARE:
      return (int64_t)((uint64_t)acc + (uint64_t)v * (uint64_t)v);
    default:
      return (int64_t)((uint64_t)acc + (uint64_t)v);
  }
}
static int64_t reduce_wrap(tn_dtype d, int64_t v) { /* as the type would have it */
  uint64_t bits = 0;
  tn_store_i64(d, &bits, 0, v);
  return tn_load_i64(d, &bits, 0);
}
static int64_t reduce_start_i64(reduce_kind kind, tn_dtype d) {
  if (kind == REDUCE_PROD) return 1;
  if (kind != REDUCE_MAX && kind != REDUCE_MIN) return 0;
  if (d == TN_BOOL) return kind == REDUCE_MIN;
  uint64_t bits = 0;
  tn_store_f64(d, &bits, 0, kind == REDUCE_MAX ? -HUGE_VAL : HUGE_VAL);
  return tn_load_i64(d, &bits, 0);
}
/* Greatest and least of n neighbouring i32: what shape arithmetic and index tensors ask for most. */
static int64_t reduce_line_i32(const reduce_plan *p, int64_t base) {
  const int32_t *const x = (const int32_t *)p->x + base;
  const bool max = p->kind == REDUCE_MAX;
  int32_t acc = x[0];
  if (max)
    for (int64_t i = 1; i < p->n_in; i++) acc = x[i] > acc ? x[i] : acc;
  else
    for (int64_t i = 1; i < p->n_in; i++) acc = x[i] < acc ? x[i] : acc;
  return acc;
}
static int64_t reduce_any_i64(const reduce_plan *p, int64_t base) {
  const bool is_line = p->n_lost == 1 && p->lost_step[0] == 1 && p->n_in > 0;
  if (is_line && p->dtype == TN_I32 && (p->kind == REDUCE_MAX || p->kind == REDUCE_MIN))
    return reduce_line_i32(p, base);
  int64_t index[TN_K_MAX_RANK] = {0}, acc = reduce_start_i64(p->kind, p->dtype);
  const uint64_t flip = p->dtype == TN_U64 ? UINT64_C(1) << 63 : 0;
  for (int64_t i = 0; i < p->n_in; i++) {
    const int64_t v = tn_load_i64(p->dtype, p->x, base + tn_k_dot(p->n_lost, index, p->lost_step));
    acc = reduce_join_i64(p->kind, acc, v, flip);
    (void)tn_k_next(p->n_lost, p->lost, index);
  }
  acc = reduce_wrap(p->dtype, acc);
  if (p->kind != REDUCE_MEAN) return acc;
  if (p->n_in == 0) return 0;
  return flip ? (int64_t)((uint64_t)acc / (uint64_t)p->n_in) : acc / p->n_in;
}
static void reduce_task_any(void *arg, int64_t begin, int64_t end, int worker) {
  const reduce_plan *const p = arg;
  const bool in_f64 =
      tn_dtype_is_float(p->dtype) || p->kind == REDUCE_L2 || p->kind == REDUCE_LOG_SUM || p->kind == REDUCE_LOG_SUM_EXP;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const int64_t base = reduce_offset(p->n_kept, p->kept, p->kept_step, i);
    if (in_f64) {
      const double shift = p->kind == REDUCE_LOG_SUM_EXP ? reduce_any_f64(p, base, REDUCE_MAX, 0) : 0;
      tn_store_f64(p->dtype, p->y, i, reduce_finish(p->kind, reduce_any_f64(p, base, p->kind, shift), p->n_in, shift));
    } else {
      tn_store_i64(p->dtype, p->y, i, reduce_any_i64(p, base));
    }
  }
}

/* Widens the operand, reduces in f32, narrows the results. */
static tn_status reduce_short(tn_kcall *k, reduce_plan *p) {
  const tn_karg *const x = k->in[0];
  void *wide, *results, *const y = p->y;
  TN_TRY(tn_k_room(k, x->count, sizeof(float), &wide));
  TN_TRY(tn_k_room(k, p->n_out, sizeof(float), &results));
  if (!tn_recast(TN_F32, wide, x->dtype, x->data, x->count, false)) return tn_k_no_dtype(k, 0);
  p->x = wide;
  p->y = results;
  reduce_f32(k, p);
  return tn_recast(x->dtype, y, TN_F32, results, p->n_out, false) ? TN_OK : tn_k_no_dtype(k, 0);
}

/* Splits the axes in kept and lost ones; out gets the result's dims. */
static tn_status reduce_prepare(tn_kcall *k, reduce_plan *p, int *out_rank, int64_t *out) {
  const tn_karg *const x = k->in[0];
  int64_t n = 0, axes[TN_K_MAX_RANK], strides[TN_K_MAX_RANK];
  int set[TN_K_MAX_RANK];
  if (tn_k_in(k, 1)) TN_TRY(tn_k_ints(k, 1, x->rank, axes, &n));
  TN_TRY(tn_k_axis_set(k, n, axes, x->rank, set));
  const bool all = n == 0 && !tn_k_int(k, "noop_with_empty_axes", 0);
  tn_k_strides(x->rank, x->dims, strides);
  *out_rank = 0;
  for (int d = 0; d < x->rank; d++) {
    const bool gone = all || set[d] >= 0;
    if (gone) {
      p->lost[p->n_lost] = x->dims[d];
      p->lost_step[p->n_lost++] = strides[d];
    } else {
      p->kept[p->n_kept] = x->dims[d];
      p->kept_step[p->n_kept++] = strides[d];
    }
    if (!gone || tn_k_int(k, "keepdims", 1)) out[(*out_rank)++] = gone ? 1 : x->dims[d];
  }
  return TN_OK;
}
static void reduce_collapse(reduce_plan *p) {
  int64_t *kept[1] = {p->kept_step}, *lost[1] = {p->lost_step};
  if (p->n_in == 0 || p->n_out == 0) { /* nothing is read */
    p->n_lost = 1;
    p->lost[0] = 1;
    return;
  }
  tn_k_collapse(&p->n_kept, p->kept, kept, 1);
  tn_k_collapse(&p->n_lost, p->lost, lost, 1);
  if (p->lost[p->n_lost - 1] == 1) p->lost_step[p->n_lost - 1] = 1;
}
static tn_status reduce_run(tn_kcall *k, reduce_plan *p) {
  const tn_dtype d = p->dtype;
  p->n_out = tn_k_count(p->kept, 0, p->n_kept);
  p->n_in = tn_k_count(p->lost, 0, p->n_lost);
  p->y = k->out[0]->data;
  reduce_collapse(p);
  if (p->n_out == 0) return TN_OK;
  if (d == TN_F32) {
    reduce_f32(k, p);
    return TN_OK;
  }
  if (d == TN_F16 || d == TN_BF16) return reduce_short(k, p);
  if (d != TN_F64 && d != TN_BOOL && !tn_dtype_is_int(d)) return tn_k_no_dtype(k, 0);
  tn_pool_for(tn_dtype_bits(d) < 8 ? NULL : k->pool, p->n_out, 1 + 4096 / (p->n_in + 1), reduce_task_any, p);
  return TN_OK;
}
static tn_status reduce_kernel(tn_kcall *k, reduce_kind kind) {
  TN_TRY(tn_k_same_type(k, 1, 1));
  const tn_karg *const x = k->in[0];
  reduce_plan p = {.isa = tn_line_isa_get(), .dtype = x->dtype, .x = x->data, .kind = kind};
  int64_t dims[TN_K_MAX_RANK];
  int rank;
  TN_TRY(reduce_prepare(k, &p, &rank, dims));
  TN_TRY(tn_k_out(k, 0, rank, dims));
  return reduce_run(k, &p);
}

/* The sum over the axes along which input 1 would broadcast to input 0. */
TN_KERNEL(sum_like, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 2, 1));
  TN_TRY(tn_k_same_type(k, 1, 1));
  const tn_karg *const x = k->in[0];
  const tn_karg *const like = k->in[1];
  const int more = x->rank - like->rank;
  reduce_plan p = {.isa = tn_line_isa_get(), .dtype = x->dtype, .x = x->data, .kind = REDUCE_SUM};
  int64_t strides[TN_K_MAX_RANK];
  if (more < 0) return tn_k_fail(k, TN_MISMATCH, "rank %d cannot be summed to rank %d", x->rank, like->rank);
  tn_k_strides(x->rank, x->dims, strides);
  for (int d = 0; d < x->rank; d++) {
    const bool gone = d < more || (like->dims[d - more] == 1 && x->dims[d] != 1);
    if (!gone && like->dims[d - more] != x->dims[d])
      return tn_k_fail(k, TN_MISMATCH, "dim %d, %lld, cannot be summed to %lld", d, (long long)x->dims[d],
                       (long long)like->dims[d - more]);
    const int at = gone ? p.n_lost++ : p.n_kept++;
    (gone ? p.lost : p.kept)[at] = x->dims[d];
    (gone ? p.lost_step : p.kept_step)[at] = strides[d];
  }
  TN_TRY(tn_k_out(k, 0, like->rank, like->dims));
  return reduce_run(k, &p);
}

#define TN_REDUCE_KERNEL(id, kind) \
  TN_KERNEL(id, TN_K_SIZES) { return reduce_kernel(k, (kind)); }
TN_REDUCE_KERNEL(reduce_sum, REDUCE_SUM)
TN_REDUCE_KERNEL(reduce_mean, REDUCE_MEAN)
TN_REDUCE_KERNEL(reduce_prod, REDUCE_PROD)
TN_REDUCE_KERNEL(reduce_max, REDUCE_MAX)
TN_REDUCE_KERNEL(reduce_min, REDUCE_MIN)
TN_REDUCE_KERNEL(reduce_l1, REDUCE_L1)
TN_REDUCE_KERNEL(reduce_l2, REDUCE_L2)
TN_REDUCE_KERNEL(reduce_log_sum, REDUCE_LOG_SUM)
TN_REDUCE_KERNEL(reduce_log_sum_exp, REDUCE_LOG_SUM_EXP)
TN_REDUCE_KERNEL(reduce_sum_square, REDUCE_SUM_SQUARE)
