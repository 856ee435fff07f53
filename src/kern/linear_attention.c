/* LinearAttention, CausalConvWithState, SwiGLU. */
#include <math.h>

#include "kern/gemm.h"
#include "kern/move.h"
#include "kern/shadow.h"
#include "kern/vmath.h"

typedef struct linear_job {
  const float *q, *k, *v, *past, *decay, *beta;
  float *y, *state, *rows_of_v; /* state [batch, kv_heads, dk, dv]; a row of dv for each worker */
  int64_t rows, heads, kv_heads, dk, dv, n_decay, n_beta;
  float scale;
} linear_job;

static void linear_step(const linear_job *j, int64_t token, int64_t h, float *state, float *v) {
  const float *const key = j->k + (token * j->kv_heads + h) * j->dk;
  const float *const value = j->v + (token * j->kv_heads + h) * j->dv;
  const int64_t dv = j->dv;
  for (int64_t c = 0; c < dv; c++) v[c] = value[c];
  for (int64_t i = 0; j->decay && i < j->dk; i++) {
    const float g = expf(j->decay[token * j->n_decay + (j->n_decay == j->kv_heads ? h : h * j->dk + i)]);
    for (int64_t c = 0; c < dv; c++) state[i * dv + c] *= g;
  }
  if (j->beta) {
    for (int64_t i = 0; i < j->dk; i++)
      for (int64_t c = 0; c < dv; c++) v[c] -= state[i * dv + c] * key[i];
    const float b = j->beta[token * j->n_beta + (j->n_beta == 1 ? 0 : h)];
    for (int64_t c = 0; c < dv; c++) v[c] *= b;
  }
  for (int64_t i = 0; i < j->dk; i++)
    for (int64_t c = 0; c < dv; c++) state[i * dv + c] += key[i] * v[c];
}

static void linear_read(const linear_job *j, int64_t head, const float *state) {
  const float *const q = j->q + head * j->dk;
  float *const y = j->y + head * j->dv;
  for (int64_t c = 0; c < j->dv; c++) y[c] = 0;
  for (int64_t i = 0; i < j->dk; i++) {
    const float x = q[i] * j->scale;
    for (int64_t c = 0; c < j->dv; c++) y[c] += x * state[i * j->dv + c];
  }
}

static void linear_task(void *arg, int64_t begin, int64_t end, int worker) {
  const linear_job *const j = arg;
  const int64_t size = j->dk * j->dv, group = j->heads / j->kv_heads;
  for (int64_t bh = begin; bh < end; bh++) {
    const int64_t h = bh % j->kv_heads;
    float *const state = j->state + bh * size;
    for (int64_t i = 0; i < size; i++) state[i] = j->past ? j->past[bh * size + i] : 0;
    for (int64_t s = 0; s < j->rows; s++) {
      const int64_t token = bh / j->kv_heads * j->rows + s;
      linear_step(j, token, h, state, j->rows_of_v + worker * j->dv);
      for (int64_t g = 0; g < group; g++) linear_read(j, token * j->heads + h * group + g, state);
    }
  }
}

/* x is [batch, rows, heads * size], as q has them. */
static bool linear_is_packed(const tn_karg *x, const tn_karg *q, int64_t heads, int64_t size) {
  int64_t width;
  return x->rank == 3 && x->dims[0] == q->dims[0] && x->dims[1] == q->dims[1] && tn_mul_i64(heads, size, &width) &&
         x->dims[2] == width;
}

static tn_status linear_f32(tn_kcall *k) {
  const tn_karg *const q = k->in[0], *const past = tn_k_in(k, 3), *const decay = tn_k_in(k, 4);
  const tn_karg *const beta = tn_k_in(k, 5), *const last = tn_k_outp(k, 1);
  linear_job j = {.q = q->data, .k = k->in[1]->data, .v = k->in[2]->data, .y = k->out[0]->data, .past = tn_k_f32(past)};
  j.decay = tn_k_f32(decay);
  j.beta = tn_k_f32(beta);
  j.rows = q->dims[1];
  j.heads = tn_k_int(k, "q_num_heads", 0);
  j.kv_heads = tn_k_int(k, "kv_num_heads", 0);
  j.dk = k->in[1]->dims[2] / j.kv_heads;
  j.dv = k->in[2]->dims[2] / j.kv_heads;
  j.n_decay = decay ? decay->dims[decay->rank - 1] : 0;
  j.n_beta = beta ? beta->dims[beta->rank - 1] : 0;
  const int64_t batch = q->dims[0], state[4] = {batch, j.kv_heads, j.dk, j.dv};
  int64_t n_state;
  if (!tn_dims_count(state, 4, &n_state)) return tn_k_fail(k, TN_LIMIT, "the state is too large");
  if (!linear_is_packed(q, q, j.heads, j.dk) || !linear_is_packed(k->in[1], q, j.kv_heads, j.dk) ||
      !linear_is_packed(k->in[2], q, j.kv_heads, j.dv) || (past && past->count != n_state) ||
      (decay && !linear_is_packed(decay, q, j.kv_heads, 1) && !linear_is_packed(decay, q, j.kv_heads, j.dk)) ||
      (beta && !linear_is_packed(beta, q, j.kv_heads, 1) && !linear_is_packed(beta, q, 1, 1)))
    return tn_k_fail(k, TN_MISMATCH, "the operands of linear attention do not fit each other");
  const float given = (float)tn_k_float(k, "scale", 0);
  j.scale = given < 0 || given > 0 ? given : 1 / sqrtf((float)j.dk);
  void *room;
  TN_TRY(tn_k_scratch_array(k, j.dv * tn_pool_threads(k->pool) + 1, sizeof(float), &room));
  j.rows_of_v = room;
  room = last ? last->data : NULL;
  if (!last) TN_TRY(tn_k_scratch_array(k, n_state + 1, sizeof(float), &room));
  j.state = room;
  tn_pool_for(k->pool, batch * j.kv_heads, 1, linear_task, &j);
  return TN_OK;
}
static tn_status linear_f64(tn_kcall *k) { return tn_k_no_dtype(k, 0); }

TN_KERNEL(linear_attention, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 3, 1));
  const int64_t heads = tn_k_int(k, "q_num_heads", 0), kv_heads = tn_k_int(k, "kv_num_heads", 0);
  const tn_karg *const *const in = k->in;
  if (in[0]->rank != 3 || in[1]->rank != 3 || in[2]->rank != 3 || kv_heads < 1 || heads < 1 || heads > INT32_MAX ||
      heads % kv_heads != 0)
    return tn_k_fail(k, TN_MISMATCH, "the operands of linear attention do not fit each other");
  const int64_t batch = in[0]->dims[0], dk = in[1]->dims[2] / kv_heads, dv = in[2]->dims[2] / kv_heads;
  int64_t width;
  if (!tn_mul_i64(heads, dv, &width)) return tn_k_fail(k, TN_LIMIT, "the result is too large");
  TN_TRY(tn_k_out(k, 0, 3, (const int64_t[]){batch, in[0]->dims[1], width}));
  TN_TRY(tn_k_out(k, 1, 4, (const int64_t[]){batch, kv_heads, dk, dv}));
  return tn_k_by_float(k, linear_f32, linear_f64);
}

/* --- causal_conv --- */

typedef struct causal_job {
  const tn_gemm_isa *isa;
  const float *x, *w, *bias, *past;
  float *y, *last, *lines;
  const float **taps; /* lists of `n_taps` rows, one list for each worker */
  int64_t channels, n, n_taps;
  bool is_silu;
} causal_job;

static void causal_task(void *arg, int64_t begin, int64_t end, int worker) {
  const causal_job *const j = arg;
  const int64_t before = j->n_taps - 1;
  float *const line = j->lines + worker * (before + j->n);
  const float **const taps = j->taps + worker * j->n_taps;
  for (int64_t i = 0; i < j->n_taps; i++) taps[i] = line + i;
  for (int64_t row = begin; row < end; row++) {
    const int64_t c = row % j->channels;
    for (int64_t i = 0; i < before; i++) line[i] = j->past ? j->past[row * before + i] : 0;
    memcpy(line + before, j->x + row * j->n, (size_t)j->n * sizeof *line);
    float *const y = j->y + row * j->n;
    j->isa->taps(y, j->n, taps, j->w + c * j->n_taps, j->n_taps, j->bias ? j->bias[c] : 0);
    for (int64_t i = 0; j->is_silu && i < j->n; i++) y[i] *= tn_sigmoidf(y[i]);
    if (j->last) memcpy(j->last + row * before, line + j->n, (size_t)before * sizeof *line);
  }
}

static tn_status causal_f32(tn_kcall *k) {
  const tn_karg *const x = k->in[0], *const w = k->in[1], *const bias = tn_k_in(k, 2), *const past = tn_k_in(k, 3);
  causal_job j = {.isa = tn_gemm_isa_get(), .x = x->data, .w = w->data, .bias = tn_k_f32(bias), .y = k->out[0]->data};
  j.past = tn_k_f32(past);
  j.last = tn_k_outp(k, 1) ? k->out[1]->data : NULL;
  j.channels = x->dims[1];
  j.n = x->dims[2];
  j.n_taps = w->dims[2];
  j.is_silu = tn_k_str_is(k, "activation", "silu") || tn_k_str_is(k, "activation", "swish");
  const int64_t threads = tn_pool_threads(k->pool), rows = x->dims[0] * x->dims[1];
  if (w->count != j.channels * j.n_taps || (bias && bias->count != j.channels) ||
      (past && past->count != rows * (j.n_taps - 1)))
    return tn_k_fail(k, TN_MISMATCH, "the operands of a causal convolution do not fit each other");
  void *room;
  TN_TRY(tn_k_scratch_array(k, threads * (j.n_taps + j.n + 64), sizeof(float), &room));
  j.lines = room;
  TN_TRY(tn_k_scratch_array(k, threads * j.n_taps, sizeof(float *), &room));
  j.taps = room;
  tn_pool_for(k->pool, rows, 1 + 4096 / (j.n + 1), causal_task, &j);
  return TN_OK;
}

TN_KERNEL(causal_conv, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  const tn_karg *const x = k->in[0], *const w = k->in[1];
  if (x->rank != 3 || w->rank != 3 || w->dims[2] < 1)
    return tn_k_fail(k, TN_MISMATCH, "the operands of a causal convolution do not fit each other");
  TN_TRY(tn_k_out(k, 0, 3, x->dims));
  TN_TRY(tn_k_out(k, 1, 3, (const int64_t[]){x->dims[0], x->dims[1], w->dims[2] - 1}));
  return tn_k_by_float(k, causal_f32, linear_f64);
}

/* --- swiglu --- */

typedef struct swiglu_job {
  const void *a, *b;
  void *y;
  double alpha;
} swiglu_job;

static void swiglu_task_f32(void *arg, int64_t begin, int64_t end, int worker) {
  const swiglu_job *const j = arg;
  (void)worker;
  const float *const a = j->a, *const b = j->b, alpha = (float)j->alpha;
  float *const y = j->y;
  for (int64_t i = begin; i < end; i++) y[i] = a[i] * tn_sigmoidf(alpha * a[i]) * b[i];
}
static void swiglu_task_f64(void *arg, int64_t begin, int64_t end, int worker) {
  const swiglu_job *const j = arg;
  (void)worker;
  const double *const a = j->a, *const b = j->b;
  double *const y = j->y;
  for (int64_t i = begin; i < end; i++) y[i] = a[i] / (1 + exp(-j->alpha * a[i])) * b[i];
}
static tn_status swiglu_run(tn_kcall *k, tn_task_fn task) {
  swiglu_job j = {k->in[0]->data, k->in[1]->data, k->out[0]->data, tn_k_float(k, "alpha", 1)};
  tn_pool_for(k->pool, k->in[0]->count, 4096, task, &j);
  return TN_OK;
}
static tn_status swiglu_f32(tn_kcall *k) { return swiglu_run(k, swiglu_task_f32); }
static tn_status swiglu_f64(tn_kcall *k) { return swiglu_run(k, swiglu_task_f64); }

TN_KERNEL(swiglu, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  if (k->in[0]->count != k->in[1]->count) return tn_k_fail(k, TN_MISMATCH, "the gate and the value differ in size");
  TN_TRY(tn_k_out(k, 0, k->in[0]->rank, k->in[0]->dims));
  return tn_k_by_float(k, swiglu_f32, swiglu_f64);
}
