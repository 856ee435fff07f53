/* LSTM, GRU and RNN.
 *
 * The products of the whole sequence with W come first, in one matrix product per direction; then, step by step, the
 * products of the state with R are added and the gates applied. */
#include "kern/rnn.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "kern/gemm.h"
#include "kern/shadow.h"

static const char *const rnn_names[RNN_N_ACTS] = {
    "Relu",       "Tanh",        "Sigmoid", "Affine",   "LeakyRelu", "ThresholdedRelu",
    "ScaledTanh", "HardSigmoid", "Elu",     "Softsign", "Softplus"};
/* Defaults of alpha and beta, and how many of the two an activation has. */
static const struct {
  double alpha, beta;
  int n;
} rnn_defaults[RNN_N_ACTS] = {{0, 0, 0}, {0, 0, 0},     {0, 0, 0}, {1, 0, 2}, {0.01, 0, 1}, {1, 0, 1},
                              {1, 1, 2}, {0.2, 0.5, 2}, {1, 0, 1}, {0, 0, 0}, {0, 0, 0}};

static bool rnn_str_same(tn_str s, const char *z) { return s.len == strlen(z) && strncasecmp(s.ptr, z, s.len) == 0; }

static tn_status rnn_act_find(tn_kcall *k, tn_str name, rnn_act_kind *out) {
  for (int i = 0; i < RNN_N_ACTS; i++)
    if (rnn_str_same(name, rnn_names[i])) {
      *out = (rnn_act_kind)i;
      return TN_OK;
    }
  return tn_k_fail(k, TN_UNSUPPORTED, "activation '%.*s'", (int)(name.len > 40 ? 40 : name.len), name.ptr);
}

/* Activations of all directions; alpha and beta lists are consumed in order by the activations that have them. */
static tn_status rnn_acts(tn_kcall *k, rnn_shape *s) {
  static const rnn_act_kind standard[3][3] = {
      {RNN_SIGMOID, RNN_TANH, RNN_TANH}, {RNN_SIGMOID, RNN_TANH, RNN_TANH}, {RNN_TANH, RNN_TANH, RNN_TANH}};
  const tn_kattr *names = tn_k_attr(k, "activations"), *alphas = tn_k_attr(k, "activation_alpha"),
                 *betas = tn_k_attr(k, "activation_beta");
  const int each = s->cell == RNN_LSTM ? 3 : s->cell == RNN_GRU ? 2 : 1;
  const bool given = names && names->kind == TN_KATTR_STRS && names->n > 0;
  int64_t next_alpha = 0, next_beta = 0;
  if (alphas && alphas->kind != TN_KATTR_FLOATS) alphas = NULL;
  if (betas && betas->kind != TN_KATTR_FLOATS) betas = NULL;
  if (given && names->n < each * s->directions)
    return tn_k_fail(k, TN_INVALID, "%lld activations, expected %d", (long long)names->n, each * s->directions);
  for (int d = 0; d < s->directions; d++)
    for (int i = 0; i < each; i++) {
      rnn_act *a = &s->acts[d][i];
      a->kind = standard[s->cell][i];
      if (given) TN_TRY(rnn_act_find(k, names->strs[d * each + i], &a->kind));
      a->alpha = rnn_defaults[a->kind].alpha;
      a->beta = rnn_defaults[a->kind].beta;
      if (rnn_defaults[a->kind].n > 0 && alphas && next_alpha < alphas->n) a->alpha = alphas->floats[next_alpha++];
      if (rnn_defaults[a->kind].n > 1 && betas && next_beta < betas->n) a->beta = betas->floats[next_beta++];
    }
  return TN_OK;
}

static tn_status rnn_need(tn_kcall *k, const tn_karg *a, int64_t n, const char *what) {
  if (!a || a->count == n) return TN_OK;
  return tn_k_fail(k, TN_MISMATCH, "%s has %lld elements, expected %lld", what, (long long)a->count, (long long)n);
}

static tn_status rnn_lengths(tn_kcall *k, rnn_shape *s) {
  const tn_karg *lens = tn_k_in(k, 4);
  s->lens = NULL;
  if (!lens) return TN_OK;
  TN_TRY(rnn_need(k, lens, s->batch, "sequence_lens"));
  if (lens->dtype != TN_I32) return tn_k_no_dtype(k, 4);
  bool all = true;
  for (int64_t b = 0; b < s->batch; b++) {
    const int64_t n = tn_k_i64(lens, b);
    if (n < 0 || n > s->steps)
      return tn_k_fail(k, TN_INVALID, "sequence_lens has %lld for %lld steps", (long long)n, (long long)s->steps);
    all = all && n == s->steps;
  }
  if (!all) s->lens = lens->data;
  return TN_OK;
}

static tn_status rnn_read(tn_kcall *k, rnn_cell cell, rnn_shape *s) {
  const tn_karg *x = k->in[0], *w = k->in[1], *r = k->in[2];
  *s = (rnn_shape){.cell = cell, .gates = cell == RNN_LSTM ? 4 : cell == RNN_GRU ? 3 : 1};
  if (x->rank != 3 || w->rank != 3 || r->rank != 3) return tn_k_fail(k, TN_MISMATCH, "x, w and r must have rank 3");
  s->batch_first = tn_k_int(k, "layout", 0) != 0;
  s->steps = x->dims[s->batch_first];
  s->batch = x->dims[!s->batch_first];
  s->input = x->dims[2];
  s->hidden = r->dims[2];
  s->is_reverse = tn_k_str_is(k, "direction", "reverse");
  s->directions = tn_k_str_is(k, "direction", "bidirectional") ? 2 : 1;
  const int64_t wide = s->gates * s->hidden, cells = s->directions * s->hidden;
  if (w->dims[0] != s->directions || r->dims[0] != s->directions || w->dims[1] != wide || r->dims[1] != wide ||
      w->dims[2] != s->input)
    return tn_k_fail(k, TN_MISMATCH, "w or r does not fit %lld inputs, %lld hidden units, %d directions",
                     (long long)s->input, (long long)s->hidden, s->directions);
  TN_TRY(rnn_need(k, tn_k_in(k, 3), 2 * wide * s->directions, "the bias"));
  TN_TRY(rnn_need(k, tn_k_in(k, 5), cells * s->batch, "initial_h"));
  if (cell == RNN_LSTM) {
    TN_TRY(rnn_need(k, tn_k_in(k, 6), cells * s->batch, "initial_c"));
    TN_TRY(rnn_need(k, tn_k_in(k, 7), 3 * cells, "the peephole weights"));
  }
  const tn_kattr *clip = tn_k_attr(k, "clip");
  s->clip = clip && clip->f > 0 ? clip->f : 0;
  s->input_forget = tn_k_int(k, "input_forget", 0) != 0;
  s->linear_before_reset = tn_k_int(k, "linear_before_reset", 0) != 0;
  TN_TRY(rnn_acts(k, s));
  return rnn_lengths(k, s);
}

static tn_status rnn_size(tn_kcall *k, rnn_cell cell) {
  rnn_shape s;
  TN_TRY(rnn_read(k, cell, &s));
  const int64_t d = s.directions, h = s.hidden;
  const int64_t all[2][4] = {{s.steps, d, s.batch, h}, {s.batch, s.steps, d, h}};
  const int64_t last[2][3] = {{d, s.batch, h}, {s.batch, d, h}};
  TN_TRY(tn_k_out(k, 0, 4, all[s.batch_first]));
  for (int i = 1; i < k->n_out; i++) TN_TRY(tn_k_out(k, i, 3, last[s.batch_first]));
  return TN_OK;
}

/* A constant matrix [n][k], used as C += A * its transpose. */
typedef struct rnn_matrix_f32 {
  const float *packed;
  int64_t n, k;
} rnn_matrix_f32;
typedef struct rnn_matrix_f64 {
  const double *w;
  int64_t n, k;
} rnn_matrix_f64;

/* Rows [from, from + n) of w's matrices, one after the other for each direction, packed. */
static tn_status rnn_pack(tn_kcall *k, const tn_karg *w, int slot, int64_t per_direction, int64_t from, int64_t n,
                          int directions, rnn_matrix_f32 *out) {
  const tn_gemm_isa *isa = tn_gemm_isa_get();
  const int64_t kk = w->dims[2];
  int64_t each, all;
  bool fresh = true;
  if (!tn_mul_i64(kk, tn_gemm_b_columns(isa, n), &each) || !tn_mul_i64(each, directions, &all))
    return tn_k_fail(k, TN_LIMIT, "matrix too large");
  float *packed = tn_gemm_keep(k, w, slot, all, &fresh);
  if (!packed) {
    void *room;
    TN_TRY(tn_k_scratch_array(k, all, sizeof(float), &room));
    packed = room;
    fresh = true;
  }
  for (int d = 0; d < directions; d++) {
    if (fresh)
      tn_gemm_pack_b(isa, packed + d * each, (const float *)w->data + (d * per_direction + from) * kk, 1, kk, kk, n);
    out[d] = (rnn_matrix_f32){packed + d * each, n, kk};
  }
  return TN_OK;
}

static tn_status rnn_pack_f32(tn_kcall *k, const rnn_shape *s, rnn_matrix_f32 *w, rnn_matrix_f32 *r,
                              rnn_matrix_f32 *r2) {
  const int64_t h = s->hidden, wide = s->gates * h, first = s->cell == RNN_GRU ? 2 * h : wide;
  TN_TRY(rnn_pack(k, k->in[1], 0, wide, 0, wide, s->directions, w));
  TN_TRY(rnn_pack(k, k->in[2], 1, wide, 0, first, s->directions, r));
  return s->cell == RNN_GRU ? rnn_pack(k, k->in[2], 2, wide, first, h, s->directions, r2) : TN_OK;
}

static tn_status rnn_pack_f64(tn_kcall *k, const rnn_shape *s, rnn_matrix_f64 *w, rnn_matrix_f64 *r,
                              rnn_matrix_f64 *r2) {
  const int64_t h = s->hidden, wide = s->gates * h, first = s->cell == RNN_GRU ? 2 * h : wide;
  for (int d = 0; d < s->directions; d++) {
    const double *rw = (const double *)k->in[2]->data + d * wide * h;
    w[d] = (rnn_matrix_f64){(const double *)k->in[1]->data + d * wide * s->input, wide, s->input};
    r[d] = (rnn_matrix_f64){rw, first, h};
    r2[d] = (rnn_matrix_f64){rw + first * h, h, h};
  }
  return TN_OK;
}

static int64_t rnn_work_f32(const rnn_shape *s, int threads) {
  (void)s;
  int64_t n = 0;
  static const float any = 0;
  const tn_gemm g = {.b_packed = &any, .k = 1};
  return tn_gemm_work(tn_gemm_isa_get(), &g, threads, &n) ? n : 0;
}
static int64_t rnn_work_f64(const rnn_shape *s, int threads) {
  (void)s;
  return threads > 0 ? 1 : 0;
}

/* C[m, n] = start + A[m, k] * W^T */
static void rnn_product_f32(tn_kcall *k, const rnn_matrix_f32 *w, int64_t m, const float *a, int64_t lda, float *c,
                            int64_t ldc, int start, const float *bias, float *work) {
  const tn_gemm g = {.m = m,
                     .n = w->n,
                     .k = w->k,
                     .a = a,
                     .a_rs = lda,
                     .a_cs = 1,
                     .b_packed = w->packed,
                     .alpha = 1,
                     .c = c,
                     .ldc = ldc,
                     .start = start,
                     .bias = bias};
  tn_gemm_run(tn_gemm_isa_get(), &g, k->pool, work);
}
static void rnn_product_f64(tn_kcall *k, const rnn_matrix_f64 *w, int64_t m, const double *a, int64_t lda, double *c,
                            int64_t ldc, int start, const double *bias, double *work) {
  (void)k;
  (void)work;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < w->n; j++) {
      double sum = start == TN_START_ACC ? c[i * ldc + j] : start == TN_START_COL ? bias[j] : 0;
      for (int64_t p = 0; p < w->k; p++) sum += a[i * lda + p] * w->w[j * w->k + p];
      c[i * ldc + j] = sum;
    }
}

#define RNN_T float
#define RNN_NAME(x) rnn_##x##_f32
#define RNN_MATH(x) x##f
#include "kern/rnn_cell.h"
#define RNN_T double
#define RNN_NAME(x) rnn_##x##_f64
#define RNN_MATH(x) x
#include "kern/rnn_cell.h"

TN_KERNEL(lstm, TN_K_SIZES) {
  TN_TRY(rnn_size(k, RNN_LSTM));
  return tn_k_by_float(k, rnn_lstm_f32, rnn_lstm_f64);
}
TN_KERNEL(gru, TN_K_SIZES) {
  TN_TRY(rnn_size(k, RNN_GRU));
  return tn_k_by_float(k, rnn_gru_f32, rnn_gru_f64);
}
TN_KERNEL(rnn, TN_K_SIZES) {
  TN_TRY(rnn_size(k, RNN_PLAIN));
  return tn_k_by_float(k, rnn_rnn_f32, rnn_rnn_f64);
}
