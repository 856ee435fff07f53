/* Kernels of the optimisers' steps. */
#include <math.h>

#include "kern/move.h"

enum { TRAINING_MAX_ROLES = 4 };

typedef struct training_job {
  const tn_karg *in[TRAINING_MAX_ROLES]; /* value, gradient, states */
  tn_karg *out[TRAINING_MAX_ROLES - 1];  /* value, states; NULL = not wanted */
  double rate, alpha, beta, beta_now, epsilon, norm, keep;
  bool is_nesterov;
} training_job;

static inline double training_get(const tn_karg *a, int64_t i) {
  return a->dtype == TN_F32 ? (double)((const float *)a->data)[i] : ((const double *)a->data)[i];
}
static inline void training_put(const tn_karg *a, int64_t i, double v) {
  if (!a) return;
  if (a->dtype == TN_F32)
    ((float *)a->data)[i] = (float)v;
  else
    ((double *)a->data)[i] = v;
}

static void training_adagrad_task(void *arg, int64_t begin, int64_t end, int worker) {
  const training_job *const j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const double x = training_get(j->in[0], i), g = j->norm * x + training_get(j->in[1], i);
    const double h = training_get(j->in[2], i) + g * g;
    training_put(j->out[0], i, x - j->rate * g / (sqrt(h) + j->epsilon));
    training_put(j->out[1], i, h);
  }
}
static void training_adam_task(void *arg, int64_t begin, int64_t end, int worker) {
  const training_job *const j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const double x = training_get(j->in[0], i), g = j->norm * x + training_get(j->in[1], i);
    const double v = j->alpha * training_get(j->in[2], i) + (1 - j->alpha) * g;
    const double h = j->beta * training_get(j->in[3], i) + (1 - j->beta) * g * g;
    training_put(j->out[0], i, j->keep * (x - j->rate * v / (sqrt(h) + j->epsilon)));
    training_put(j->out[1], i, v);
    training_put(j->out[2], i, h);
  }
}
static void training_momentum_task(void *arg, int64_t begin, int64_t end, int worker) {
  const training_job *const j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const double x = training_get(j->in[0], i), g = j->norm * x + training_get(j->in[1], i);
    const double v = j->alpha * training_get(j->in[2], i) + j->beta_now * g;
    training_put(j->out[0], i, x - j->rate * (j->is_nesterov ? g + j->alpha * v : v));
    training_put(j->out[1], i, v);
  }
}

static bool training_is_float(const tn_karg *a) { return a->dtype == TN_F32 || a->dtype == TN_F64; }

/* Tensor i of n of every role. */
static tn_status training_take(tn_kcall *k, training_job *j, int roles, int i, int n) {
  for (int role = 0; role < roles; role++) {
    const tn_karg *const a = j->in[role] = k->in[2 + role * n + i];
    if (!training_is_float(a)) return tn_k_no_dtype(k, 2 + role * n + i);
    if (a->count != j->in[0]->count)
      return tn_k_fail(k, TN_MISMATCH, "a value of %lld elements with a gradient or state of %lld",
                       (long long)j->in[0]->count, (long long)a->count);
  }
  for (int role = 0; role < roles - 1; role++) {
    j->out[role] = tn_k_outp(k, role * n + i);
    TN_TRY(tn_k_out_type(k, role * n + i, j->in[role ? role + 1 : 0]->dtype));
    TN_TRY(tn_k_out(k, role * n + i, j->in[0]->rank, j->in[0]->dims));
  }
  return TN_OK;
}

static tn_status training_run(tn_kcall *k, training_job *j, int roles, tn_task_fn task) {
  const int n = (k->n_in - 2) / roles;
  for (int i = 0; i < n; i++) {
    TN_TRY(training_take(k, j, roles, i, n));
    tn_pool_for(k->pool, j->in[0]->count, 4096, task, j);
  }
  return TN_OK;
}

/* The learning rate, the number of steps and what the operators share. */
static tn_status training_read(tn_kcall *k, int roles, training_job *j, double *out_steps) {
  *j = (training_job){.norm = tn_k_float(k, "norm_coefficient", 0)};
  const int n = k->n_in > 2 ? (k->n_in - 2) / roles : 0;
  if (n == 0 || n * roles + 2 != k->n_in || k->n_out > n * (roles - 1))
    return tn_k_fail(k, TN_INTERNAL, "%d operands and %d results", k->n_in, k->n_out);
  TN_TRY(tn_k_tensors(k, k->n_in, 0));
  if (!training_is_float(k->in[0])) return tn_k_no_dtype(k, 0);
  if (k->in[0]->count != 1) return tn_k_fail(k, TN_MISMATCH, "%lld learning rates", (long long)k->in[0]->count);
  int64_t steps;
  TN_TRY(tn_k_scalar(k, 1, 0, &steps));
  j->rate = training_get(k->in[0], 0);
  j->alpha = tn_k_float(k, "alpha", 0);
  j->beta = tn_k_float(k, "beta", 0);
  j->epsilon = tn_k_float(k, "epsilon", 0);
  *out_steps = (double)steps;
  return TN_OK;
}

TN_KERNEL(adagrad, TN_K_SIZES) {
  training_job j;
  double steps;
  TN_TRY(training_read(k, 3, &j, &steps));
  j.rate /= 1 + steps * tn_k_float(k, "decay_factor", 0);
  return training_run(k, &j, 3, training_adagrad_task);
}
TN_KERNEL(adam, TN_K_SIZES) {
  training_job j;
  double steps;
  TN_TRY(training_read(k, 4, &j, &steps));
  j.keep = 1 - tn_k_float(k, "norm_coefficient_post", 0);
  if (steps > 0) j.rate *= sqrt(1 - pow(j.beta, steps)) / (1 - pow(j.alpha, steps));
  return training_run(k, &j, 4, training_adam_task);
}
TN_KERNEL(momentum, TN_K_SIZES) {
  training_job j;
  double steps;
  TN_TRY(training_read(k, 3, &j, &steps));
  j.beta_now = steps > 0 ? j.beta : 1;
  j.is_nesterov = tn_k_str_is(k, "mode", "nesterov");
  return training_run(k, &j, 3, training_momentum_task);
}
