/* Normalisations: batch, instance, layer, group, root mean square, and across channels (LRN). */
#include <math.h>
#include <string.h>

#include "kern/shadow.h"

/* Rows of n elements, each normalised by its own mean and deviation, then scaled and shifted: element e of row r by
 * parameter (r % mod) * step + e / chunk. */
typedef struct norm_job {
  const void *x, *scale, *bias; /* bias may be NULL */
  void *y, *mean, *inv;         /* mean and inv may be NULL: one element per row */
  int64_t rows, n, mod, step, chunk;
  double epsilon;
  bool is_rms; /* no mean, no shift */
} norm_job;

enum { NORM_LANES = 16 };

#define NORM_SUM(T, NAME, TERM)                                 \
  static T NAME(const T *x, int64_t n, T mean) {                \
    T part[NORM_LANES] = {0};                                   \
    int64_t i = 0;                                              \
    (void)mean;                                                 \
    for (; i + NORM_LANES <= n; i += NORM_LANES)                \
      for (int j = 0; j < NORM_LANES; j++) {                    \
        const T v = x[i + j];                                   \
        part[j] += TERM;                                        \
      }                                                         \
    for (; i < n; i++) {                                        \
      const T v = x[i];                                         \
      part[0] += TERM;                                          \
    }                                                           \
    for (int half = NORM_LANES / 2; half; half /= 2)            \
      for (int j = 0; j < half; j++) part[j] += part[j + half]; \
    return part[0];                                             \
  }

/* Of nearly equal numbers the rounding of the mean is as large as what is left of them: that rounding is `left`. */
#define NORM_ROWS(T, NAME, SQRT)                                                                                      \
  NORM_SUM(T, NAME##_sum, v)                                                                                          \
  NORM_SUM(T, NAME##_left, v - mean)                                                                                  \
  NORM_SUM(T, NAME##_squares, (v - mean) * (v - mean))                                                                \
  static void NAME(void *arg, int64_t begin, int64_t end, int worker) {                                               \
    const norm_job *j = arg;                                                                                          \
    const int64_t n = j->n;                                                                                           \
    const T *scale = j->scale, *bias = j->bias;                                                                       \
    (void)worker;                                                                                                     \
    for (int64_t r = begin; r < end; r++) {                                                                           \
      const T *x = (const T *)j->x + r * n;                                                                           \
      T *y = (T *)j->y + r * n;                                                                                       \
      const T mean = j->is_rms ? (T)0 : NAME##_sum(x, n, 0) / (T)n;                                                   \
      const T square = NAME##_squares(x, n, mean) / (T)n + (T)j->epsilon;                                             \
      const bool is_close = mean * mean > 16 * square;                                                                \
      const T left = is_close ? NAME##_left(x, n, mean) / (T)n : (T)0, spread = square - left * left;                 \
      const T inv = (T)1 / SQRT(spread < (T)j->epsilon ? (T)j->epsilon : spread), shift = left * inv;                 \
      const int64_t at = r % j->mod * j->step;                                                                        \
      if (j->mean) ((T *)j->mean)[r] = mean + left;                                                                   \
      if (j->inv) ((T *)j->inv)[r] = inv;                                                                             \
      if (!j->y) continue;                                                                                            \
      if (j->chunk == 1) {                                                                                            \
        const T *s = scale + at, *b = bias ? bias + at : NULL;                                                        \
        if (b) {                                                                                                      \
          TN_IN_PLACE_LOOP                                                                                            \
          for (int64_t i = 0; i < n; i++) y[i] = ((x[i] - mean) * inv - shift) * s[i] + b[i];                         \
        } else {                                                                                                      \
          TN_IN_PLACE_LOOP                                                                                            \
          for (int64_t i = 0; i < n; i++) y[i] = ((x[i] - mean) * inv - shift) * s[i];                                \
        }                                                                                                             \
        continue;                                                                                                     \
      }                                                                                                               \
      for (int64_t c = 0; c * j->chunk < n; c++, x += j->chunk, y += j->chunk) {                                      \
        const T a = scale[at + c] * inv, given = bias ? bias[at + c] : (T)0, b = is_close ? given - left * a : given; \
        TN_IN_PLACE_LOOP                                                                                              \
        for (int64_t i = 0; i < j->chunk; i++) y[i] = (x[i] - mean) * a + b;                                          \
      }                                                                                                               \
    }                                                                                                                 \
  }
NORM_ROWS(float, norm_rows_f32, sqrtf)
NORM_ROWS(double, norm_rows_f64, sqrt)

static tn_status norm_run(tn_kcall *k, const norm_job *j, bool is_f64) {
  norm_job copy = *j;
  void *const figures[2] = {j->mean, j->inv};
  for (int64_t i = 0; j->n == 0 && i < 2 * j->rows; i++) /* of nothing */
    if (figures[i % 2]) tn_store_f64(is_f64 ? TN_F64 : TN_F32, figures[i % 2], i / 2, (double)NAN);
  if (j->rows == 0 || j->n == 0) return TN_OK;
  tn_pool_for(k->pool, j->rows, 4096 / j->n + 1, is_f64 ? norm_rows_f64 : norm_rows_f32, &copy);
  return TN_OK;
}

static int64_t norm_product(const tn_karg *x, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; i++) n *= x->dims[i];
  return n;
}

/* y as x; further outputs (batch_norm's running mean and variance) as the parameters they come from. */
static tn_status norm_size(tn_kcall *k) {
  TN_TRY(tn_k_out(k, 0, k->in[0]->rank, k->in[0]->dims));
  for (int i = 1; i < k->n_out; i++) TN_TRY(tn_k_out(k, i, k->in[i + 2]->rank, k->in[i + 2]->dims));
  return TN_OK;
}

/* Parameters of scale and bias must have `n` elements. */
static tn_status norm_check(tn_kcall *k, const tn_karg *p, int64_t n, const char *what) {
  if (!p || p->count == n) return TN_OK;
  return tn_k_fail(k, TN_MISMATCH, "%s has %lld elements, expected %lld", what, (long long)p->count, (long long)n);
}

static tn_status norm_instance(tn_kcall *k) {
  const tn_karg *x = k->in[0];
  if (x->rank < 2) return tn_k_fail(k, TN_MISMATCH, "input of rank %d, expected 2 or more", x->rank);
  for (int i = 1; i < 3; i++) TN_TRY(norm_check(k, k->in[i], x->dims[1], i == 1 ? "scale" : "bias"));
  const int64_t n = norm_product(x, 2, x->rank);
  norm_job j = {.x = x->data, .scale = k->in[1]->data, .bias = k->in[2]->data, .y = k->out[0]->data};
  j.rows = x->dims[0] * x->dims[1];
  j.n = n;
  j.mod = x->dims[1];
  j.step = 1;
  j.chunk = n;
  j.epsilon = tn_k_float(k, "epsilon", 1e-5);
  return norm_run(k, &j, x->dtype == TN_F64);
}

TN_KERNEL(instance_norm, TN_K_SIZES | TN_K_IN_PLACE_FIRST) {
  TN_TRY(norm_size(k));
  return tn_k_by_float(k, norm_instance, norm_instance);
}

static tn_status norm_group(tn_kcall *k) {
  const tn_karg *x = k->in[0];
  const int64_t groups = tn_k_int(k, "num_groups", 1);
  const bool per_group = tn_k_int(k, "per_group", 0) != 0;
  if (x->rank < 2 || groups < 1 || x->dims[1] % groups != 0)
    return tn_k_fail(k, TN_MISMATCH, "channels do not divide into %lld groups", (long long)groups);
  const int64_t channels = x->dims[1] / groups, spatial = norm_product(x, 2, x->rank);
  for (int i = 1; i < 3; i++)
    TN_TRY(norm_check(k, k->in[i], per_group ? groups : x->dims[1], i == 1 ? "scale" : "bias"));
  norm_job j = {.x = x->data, .scale = k->in[1]->data, .bias = k->in[2]->data, .y = k->out[0]->data};
  j.rows = x->dims[0] * groups;
  j.n = channels * spatial;
  j.mod = groups;
  j.step = per_group ? 1 : channels;
  j.chunk = per_group ? j.n : spatial;
  j.epsilon = tn_k_float(k, "epsilon", 1e-5);
  return norm_run(k, &j, x->dtype == TN_F64);
}

TN_KERNEL(group_norm, TN_K_SIZES | TN_K_IN_PLACE_FIRST) {
  TN_TRY(norm_size(k));
  return tn_k_by_float(k, norm_group, norm_group);
}

/* A parameter spread over all of x: what broadcasting over more than the normalised axes asks for. */
static tn_status norm_expand(tn_kcall *k, const tn_karg *x, const tn_karg *p, const void **out) {
  int64_t strides[TN_K_MAX_RANK], at[TN_K_MAX_RANK] = {0}, from = 0;
  void *room;
  if (p->rank > x->rank) return tn_k_fail(k, TN_MISMATCH, "a parameter of rank %d for rank %d", p->rank, x->rank);
  for (int i = 0; i < p->rank; i++)
    if (p->dims[i] != 1 && p->dims[i] != x->dims[x->rank - p->rank + i])
      return tn_k_fail(k, TN_MISMATCH, "cannot broadcast dim %d of a parameter: %lld with %lld", i,
                       (long long)p->dims[i], (long long)x->dims[x->rank - p->rank + i]);
  const size_t size = (size_t)tn_dtype_bits(p->dtype) / 8;
  TN_TRY(tn_k_scratch_array(k, x->count, size, &room));
  tn_k_bcast_strides(p, x->rank, strides);
  for (int64_t i = 0; i < x->count; i++) {
    memcpy((char *)room + (size_t)i * size, (const char *)p->data + (size_t)from * size, size);
    for (int d = x->rank - 1; d >= 0; d--) {
      from += strides[d];
      if (++at[d] < x->dims[d]) break;
      from -= strides[d] * x->dims[d];
      at[d] = 0;
    }
  }
  *out = room;
  return TN_OK;
}

static tn_status norm_layer_size(tn_kcall *k) {
  const tn_karg *x = k->in[0];
  int64_t dims[TN_K_MAX_RANK];
  int axis;
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", -1), x->rank, &axis));
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  for (int i = 0; i < x->rank; i++) dims[i] = i < axis ? x->dims[i] : 1;
  for (int i = 1; i < k->n_out; i++) TN_TRY(tn_k_out(k, i, x->rank, dims));
  return TN_OK;
}

static tn_status norm_layer_any(tn_kcall *k, bool is_rms) {
  const tn_karg *x = k->in[0], *scale = k->in[1], *bias = is_rms ? NULL : tn_k_in(k, 2);
  int axis;
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", -1), x->rank, &axis));
  norm_job j = {.x = x->data, .scale = scale->data, .bias = bias ? bias->data : NULL, .chunk = 1, .mod = 1};
  j.rows = norm_product(x, 0, axis);
  j.n = norm_product(x, axis, x->rank);
  j.is_rms = is_rms;
  j.epsilon = tn_k_float(k, "epsilon", 1e-5);
  if (k->out[0]) j.y = k->out[0]->data;
  if (tn_k_outp(k, 1)) j.mean = k->out[1]->data;
  if (tn_k_outp(k, 2)) j.inv = k->out[2]->data;
  if (scale->count != j.n || (bias && bias->count != j.n)) {
    TN_TRY(norm_expand(k, x, scale, &j.scale));
    if (bias) TN_TRY(norm_expand(k, x, bias, &j.bias));
    j.mod = j.rows > 0 ? j.rows : 1;
    j.step = j.n;
  }
  return norm_run(k, &j, x->dtype == TN_F64);
}

static tn_status norm_layer(tn_kcall *k) { return norm_layer_any(k, false); }
static tn_status norm_rms(tn_kcall *k) { return norm_layer_any(k, true); }

TN_KERNEL(layer_norm, TN_K_SIZES | TN_K_IN_PLACE_FIRST) {
  TN_TRY(norm_layer_size(k));
  return tn_k_by_float(k, norm_layer, norm_layer);
}
TN_KERNEL(rms_norm, TN_K_SIZES | TN_K_IN_PLACE_FIRST) {
  TN_TRY(norm_layer_size(k));
  return tn_k_by_float(k, norm_rms, norm_rms);
}

typedef struct norm_batch {
  const void *x;
  void *y;
  void *mean, *a, *b; /* y = (x - mean) * a + b per channel */
  int64_t batch, channels, n;
} norm_batch;

#define NORM_AFFINE(T, NAME)                                                                   \
  static void NAME(void *arg, int64_t begin, int64_t end, int worker) {                        \
    const norm_batch *j = arg;                                                                 \
    (void)worker;                                                                              \
    const T *means = j->mean, *as = j->a, *bs = j->b;                                          \
    for (int64_t i = begin; i < end; i++) {                                                    \
      const T *x = (const T *)j->x + i * j->n;                                                 \
      T *y = (T *)j->y + i * j->n;                                                             \
      const T mean = means[i % j->channels], a = as[i % j->channels], b = bs[i % j->channels]; \
      TN_IN_PLACE_LOOP                                                                         \
      for (int64_t e = 0; e < j->n; e++) y[e] = (x[e] - mean) * a + b;                         \
    }                                                                                          \
  }
NORM_AFFINE(float, norm_affine_f32)
NORM_AFFINE(double, norm_affine_f64)

/* Mean and population variance of each channel over the batch. */
static void norm_batch_stats(const norm_batch *j, tn_dtype d, int64_t c, double *mean, double *var) {
  const double count = (double)j->batch * (double)j->n;
  double sum = 0, squares = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t i = 0; i < j->batch; i++)
      for (int64_t e = 0; e < j->n; e++) {
        const double v = tn_load_f64(d, j->x, (i * j->channels + c) * j->n + e);
        if (pass)
          squares += (v - *mean) * (v - *mean);
        else
          sum += v;
      }
    *mean = sum / count;
  }
  *var = squares / count;
}

static tn_status norm_batch_read(tn_kcall *k, norm_batch *j) {
  const tn_karg *x = k->in[0];
  if (x->rank < 1) return tn_k_fail(k, TN_MISMATCH, "input of rank 0, expected 1 or more");
  j->x = x->data;
  j->y = k->out[0]->data;
  j->batch = x->dims[0];
  j->channels = x->rank > 1 ? x->dims[1] : 1;
  j->n = norm_product(x, 2, x->rank);
  if (tn_k_int(k, "spatial", 1) == 0) {
    j->channels *= j->n;
    j->n = 1;
  }
  for (int i = 1; i < 5; i++) TN_TRY(norm_check(k, k->in[i], j->channels, "a parameter of batch_norm"));
  void *room;
  const size_t size = (size_t)tn_dtype_bits(x->dtype) / 8;
  TN_TRY(tn_k_scratch_array(k, 3 * j->channels, size, &room));
  j->mean = room;
  j->a = (char *)room + (size_t)j->channels * size;
  j->b = (char *)j->a + (size_t)j->channels * size;
  return TN_OK;
}

static tn_status norm_batch_run(tn_kcall *k) {
  norm_batch j;
  TN_TRY(norm_batch_read(k, &j));
  const tn_dtype d = k->in[0]->dtype;
  const bool training = tn_k_int(k, "training_mode", 0) != 0;
  const double epsilon = tn_k_float(k, "epsilon", 1e-5), momentum = tn_k_float(k, "momentum", 0.9);
  for (int64_t c = 0; c < j.channels; c++) {
    const double old_mean = tn_load_f64(d, k->in[3]->data, c), old_var = tn_load_f64(d, k->in[4]->data, c);
    double mean = old_mean, var = old_var;
    if (training) norm_batch_stats(&j, d, c, &mean, &var);
    const double a = tn_load_f64(d, k->in[1]->data, c) / sqrt(var + epsilon);
    tn_store_f64(d, j.a, c, a);
    tn_store_f64(d, j.mean, c, mean);
    tn_store_f64(d, j.b, c, tn_load_f64(d, k->in[2]->data, c) - (mean - tn_load_f64(d, j.mean, c)) * a);
    if (tn_k_outp(k, 1)) tn_store_f64(d, k->out[1]->data, c, old_mean * momentum + mean * (1 - momentum));
    if (tn_k_outp(k, 2)) tn_store_f64(d, k->out[2]->data, c, old_var * momentum + var * (1 - momentum));
  }
  if (j.n == 0) return TN_OK;
  tn_pool_for(k->pool, j.batch * j.channels, 4096 / j.n + 1, d == TN_F64 ? norm_affine_f64 : norm_affine_f32, &j);
  return TN_OK;
}

TN_KERNEL(batch_norm, TN_K_SIZES | TN_K_IN_PLACE_FIRST) {
  TN_TRY(norm_size(k));
  return tn_k_by_float(k, norm_batch_run, norm_batch_run);
}

typedef struct norm_lrn {
  const double *x;
  double *y;
  int64_t channels, n, below, above;
  double alpha, beta, bias;
} norm_lrn;

static void norm_lrn_task(void *arg, int64_t begin, int64_t end, int worker) {
  const norm_lrn *j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const int64_t c = i % j->channels;
    const int64_t from = c < j->below ? 0 : c - j->below;
    const int64_t to = j->channels - c <= j->above ? j->channels : c + j->above + 1;
    const double *image = j->x + (i - c) * j->n;
    double *y = j->y + i * j->n;
    memset(y, 0, (size_t)j->n * sizeof *y);
    for (int64_t o = from; o < to; o++)
      for (int64_t e = 0; e < j->n; e++) y[e] += image[o * j->n + e] * image[o * j->n + e];
    for (int64_t e = 0; e < j->n; e++) y[e] = image[c * j->n + e] / pow(j->bias + j->alpha * y[e], j->beta);
  }
}

static tn_status norm_lrn_run(tn_kcall *k) {
  const tn_karg *x = k->in[0];
  const int64_t size = tn_k_int(k, "size", 1);
  if (x->rank < 2 || size < 1) return tn_k_fail(k, TN_MISMATCH, "lrn: rank %d, size %lld", x->rank, (long long)size);
  norm_lrn j = {.x = x->data, .y = k->out[0]->data, .channels = x->dims[1], .n = norm_product(x, 2, x->rank)};
  j.below = (size - 1) / 2;
  j.above = size - 1 - j.below;
  j.alpha = tn_k_float(k, "alpha", 1e-4) / (double)size;
  j.beta = tn_k_float(k, "beta", 0.75);
  j.bias = tn_k_float(k, "bias", 1.0);
  tn_pool_for(k->pool, x->dims[0] * x->dims[1], 1, norm_lrn_task, &j);
  return TN_OK;
}

static tn_status norm_lrn_any(tn_kcall *k) { return tn_k_as(k, TN_F64, norm_lrn_run); }
TN_KERNEL(lrn, TN_K_SIZES) {
  TN_TRY(norm_size(k));
  return tn_k_by_float(k, norm_lrn_any, norm_lrn_run);
}

#undef NORM_SUM
#undef NORM_ROWS
#undef NORM_AFFINE
