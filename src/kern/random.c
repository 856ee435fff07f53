/* Kernels of random tensors: number i of a stream is a function of i, so threads cannot change results. */
#include <math.h>

#include "base/rng.h"
#include "kern/move.h"
#include "kern/vmath.h"

typedef struct random_job {
  uint64_t stream;
  const tn_karg *x;
  tn_karg *y;
  double a, b;        /* mean and scale, or low and high */
  const double *sums; /* multinomial: running sums of the weights of each row */
  int64_t n;          /* samples of a row */
} random_job;

static uint64_t random_seed(const tn_kcall *k) {
  const tn_kattr *const seed = tn_k_attr(k, "seed");
  if (!seed || seed->kind != TN_KATTR_FLOAT) return k->seed;
  uint64_t bits;
  memcpy(&bits, &seed->f, sizeof bits);
  return bits;
}

/* Sizes the result by attribute `shape`, or like input 0. */
static tn_status random_begin(tn_kcall *k, bool like, random_job *j) {
  *j = (random_job){.stream = random_seed(k)};
  if (like) {
    TN_TRY(tn_k_tensors(k, 1, 1));
    j->x = k->in[0];
    TN_TRY(tn_k_out(k, 0, j->x->rank, j->x->dims));
  } else {
    int64_t rank;
    const int64_t *const shape = tn_k_attr_ints(k, "shape", &rank);
    TN_TRY(tn_k_tensors(k, 0, 1));
    if (rank > TN_K_MAX_RANK) return tn_k_fail(k, TN_LIMIT, "rank %lld", (long long)rank);
    TN_TRY(tn_k_out(k, 0, (int)rank, shape));
  }
  j->y = k->out[0];
  return TN_OK;
}

/* tn_rng_normal to about 1e-9, which f32 does not see. */
static double random_normal_f32(uint64_t stream, uint64_t i) {
  const double u = 1.0 - tn_rng_f64(stream, 2 * i);
  return sqrt(-2.0 * tn_log(u)) * tn_cos(6.28318530717958647693 * tn_rng_f64(stream, 2 * i + 1));
}
static void random_normal_task(void *arg, int64_t begin, int64_t end, int worker) {
  const random_job *const j = arg;
  (void)worker;
  if (j->y->dtype == TN_F32) {
    for (int64_t i = begin; i < end; i++)
      ((float *)j->y->data)[i] = (float)(j->a + j->b * random_normal_f32(j->stream, (uint64_t)i));
    return;
  }
  for (int64_t i = begin; i < end; i++)
    tn_store_f64(j->y->dtype, j->y->data, i, j->a + j->b * tn_rng_normal(j->stream, (uint64_t)i));
}
static tn_status random_normal_run(tn_kcall *k, bool like) {
  random_job j;
  TN_TRY(random_begin(k, like, &j));
  if (!tn_dtype_is_float(j.y->dtype)) return tn_k_fail(k, TN_INTERNAL, "the result is of no float type");
  j.a = tn_k_float(k, "mean", 0);
  j.b = tn_k_float(k, "scale", 1);
  tn_pool_for(k->pool, j.y->count, 1024, random_normal_task, &j);
  return TN_OK;
}
TN_KERNEL(random_normal, TN_K_SIZES) { return random_normal_run(k, false); }
TN_KERNEL(random_normal_like, TN_K_SIZES) { return random_normal_run(k, true); }

static void random_uniform_task(void *arg, int64_t begin, int64_t end, int worker) {
  const random_job *const j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    tn_store_f64(j->y->dtype, j->y->data, i, j->a + (j->b - j->a) * tn_rng_f64(j->stream, (uint64_t)i));
    /* The end of the interval is outside it, but a short type may round up to it. */
    if (j->a < j->b && tn_load_f64(j->y->dtype, j->y->data, i) >= j->b) tn_store_f64(j->y->dtype, j->y->data, i, j->a);
  }
}
static tn_status random_uniform_run(tn_kcall *k, bool like) {
  random_job j;
  TN_TRY(random_begin(k, like, &j));
  if (!tn_dtype_is_float(j.y->dtype)) return tn_k_fail(k, TN_INTERNAL, "the result is of no float type");
  j.a = tn_k_float(k, "low", 0);
  j.b = tn_k_float(k, "high", 1);
  tn_pool_for(k->pool, j.y->count, 1024, random_uniform_task, &j);
  return TN_OK;
}
TN_KERNEL(random_uniform, TN_K_SIZES) { return random_uniform_run(k, false); }
TN_KERNEL(random_uniform_like, TN_K_SIZES) { return random_uniform_run(k, true); }

static void random_bernoulli_task(void *arg, int64_t begin, int64_t end, int worker) {
  const random_job *const j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++)
    tn_store_f64(j->y->dtype, j->y->data, i,
                 tn_rng_f64(j->stream, (uint64_t)i) < tn_load_f64(j->x->dtype, j->x->data, i));
}
TN_KERNEL(bernoulli, TN_K_SIZES) {
  random_job j;
  TN_TRY(random_begin(k, true, &j));
  if (!tn_dtype_is_float(j.x->dtype)) return tn_k_no_dtype(k, 0);
  if (j.y->dtype == TN_STR || tn_dtype_cls(j.y->dtype) == TN_CLASS_COMPLEX || tn_dtype_bits(j.y->dtype) < 8)
    return tn_k_fail(k, TN_INTERNAL, "the result is of no number type");
  tn_pool_for(k->pool, j.y->count, 1024, random_bernoulli_task, &j);
  return TN_OK;
}

/* The first class whose running sum is above u times the whole: never one of weight 0. */
static int64_t random_class(const double *sums, int64_t n, double u) {
  int64_t low = 0, high = n - 1;
  const double at = u * sums[n - 1];
  while (low < high) {
    const int64_t mid = low + (high - low) / 2;
    if (sums[mid] > at)
      high = mid;
    else
      low = mid + 1;
  }
  return low;
}
static void random_multinomial_task(void *arg, int64_t begin, int64_t end, int worker) {
  const random_job *const j = arg;
  const int64_t classes = j->x->dims[1];
  (void)worker;
  for (int64_t i = begin; i < end; i++)
    tn_store_i64(j->y->dtype, j->y->data, i,
                 random_class(j->sums + i / j->n * classes, classes, tn_rng_f64(j->stream, (uint64_t)i)));
}

static tn_status random_weights(tn_kcall *k, const tn_karg *x, double *sums) {
  const int64_t n = x->dims[1];
  for (int64_t row = 0; row < x->dims[0]; row++) {
    double top = -HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < n; i++) {
      const double v = tn_load_f64(x->dtype, x->data, row * n + i);
      if (v > top) top = v;
    }
    for (int64_t i = 0; i < n; i++) sums[row * n + i] = sum += exp(tn_load_f64(x->dtype, x->data, row * n + i) - top);
    if (!(sum > 0)) return tn_k_fail(k, TN_INVALID, "row %lld gives no class a probability", (long long)row);
  }
  return TN_OK;
}

TN_KERNEL(multinomial, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 1, 1));
  random_job j = {.stream = random_seed(k), .x = k->in[0], .y = k->out[0], .n = tn_k_int(k, "sample_size", 1)};
  void *sums;
  if (!tn_dtype_is_float(j.x->dtype)) return tn_k_no_dtype(k, 0);
  if (j.x->rank != 2) return tn_k_fail(k, TN_MISMATCH, "log probabilities of rank %d", j.x->rank);
  if (!tn_dtype_is_int(j.y->dtype)) return tn_k_fail(k, TN_INTERNAL, "the result is of no integer type");
  const int64_t dims[2] = {j.x->dims[0], j.n};
  TN_TRY(tn_k_out(k, 0, 2, dims));
  if (j.y->count == 0) return TN_OK;
  TN_TRY(tn_k_room(k, j.x->count, sizeof(double), &sums));
  TN_TRY(random_weights(k, j.x, sums));
  j.sums = sums;
  tn_pool_for(k->pool, j.y->count, 256, random_multinomial_task, &j);
  return TN_OK;
}
