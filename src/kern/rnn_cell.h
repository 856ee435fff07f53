/* Recurrent layers in one float type. Not a module: rnn.c includes it with RNN_T (the type), RNN_NAME (names of that
 * type) and RNN_MATH (its functions of math.h). */
#include "kern/rnn.h"

#ifdef RNN_T

typedef struct RNN_NAME(layer) {
  tn_kcall *k;
  const rnn_shape *s;
  RNN_NAME(matrix) w[2], r[2], r2[2]; /* r2: GRU's candidate gate */
  RNN_T *gates;                       /* [rows][gates * hidden], rows as in x */
  RNN_T *h, *c;                       /* state of the running direction, [batch][hidden] */
  RNN_T *extra;                       /* GRU: [batch][hidden] */
  RNN_T *bias;                        /* of the products with W */
  RNN_T *work;
} RNN_NAME(layer);

static void RNN_NAME(apply)(const rnn_act *a, RNN_T clip, RNN_T *x, int64_t n) {
  const RNN_T alpha = (RNN_T)a->alpha, beta = (RNN_T)a->beta;
  if (clip > 0)
    for (int64_t i = 0; i < n; i++) x[i] = x[i] < -clip ? -clip : x[i] > clip ? clip : x[i];
  switch (a->kind) {
    case RNN_RELU:
      for (int64_t i = 0; i < n; i++) x[i] = x[i] > 0 ? x[i] : 0;
      break;
    case RNN_TANH:
      for (int64_t i = 0; i < n; i++) x[i] = RNN_MATH(tanh)(x[i]);
      break;
    case RNN_SIGMOID:
      for (int64_t i = 0; i < n; i++) x[i] = 1 / (1 + RNN_MATH(exp)(-x[i]));
      break;
    case RNN_AFFINE:
      for (int64_t i = 0; i < n; i++) x[i] = alpha * x[i] + beta;
      break;
    case RNN_LEAKY_RELU:
      for (int64_t i = 0; i < n; i++) x[i] = x[i] >= 0 ? x[i] : alpha * x[i];
      break;
    case RNN_THRESHOLDED_RELU:
      for (int64_t i = 0; i < n; i++) x[i] = x[i] > alpha ? x[i] : 0;
      break;
    case RNN_SCALED_TANH:
      for (int64_t i = 0; i < n; i++) x[i] = alpha * RNN_MATH(tanh)(beta * x[i]);
      break;
    case RNN_HARD_SIGMOID:
      for (int64_t i = 0; i < n; i++) {
        const RNN_T v = alpha * x[i] + beta;
        x[i] = v < 0 ? 0 : v > 1 ? 1 : v;
      }
      break;
    case RNN_ELU:
      for (int64_t i = 0; i < n; i++) x[i] = x[i] >= 0 ? x[i] : alpha * (RNN_MATH(exp)(x[i]) - 1);
      break;
    case RNN_SOFTSIGN:
      for (int64_t i = 0; i < n; i++) x[i] = x[i] / (1 + RNN_MATH(fabs)(x[i]));
      break;
    default:
      for (int64_t i = 0; i < n; i++)
        x[i] = (x[i] > 0 ? x[i] : 0) + RNN_MATH(log1p)(RNN_MATH(exp)(-RNN_MATH(fabs)(x[i])));
  }
}

/* Gates i, o, f, c of one sequence; p: peephole weights for i, o, f, or NULL. */
static void RNN_NAME(lstm_gates)(const rnn_shape *s, const rnn_act *act, RNN_T *g, const RNN_T *p, RNN_T *h, RNN_T *c) {
  const int64_t n = s->hidden;
  const RNN_T clip = (RNN_T)s->clip;
  RNN_T *gi = g, *go = g + n, *gf = g + 2 * n, *gc = g + 3 * n;
  for (int64_t i = 0; i < n && p; i++) {
    gi[i] += p[i] * c[i];
    gf[i] += p[2 * n + i] * c[i];
  }
  RNN_NAME(apply)(&act[0], clip, gi, n);
  if (s->input_forget)
    for (int64_t i = 0; i < n; i++) gf[i] = 1 - gi[i];
  else
    RNN_NAME(apply)(&act[0], clip, gf, n);
  RNN_NAME(apply)(&act[1], clip, gc, n);
  for (int64_t i = 0; i < n; i++) {
    c[i] = gf[i] * c[i] + gi[i] * gc[i];
    if (p) go[i] += p[n + i] * c[i];
    h[i] = c[i];
  }
  RNN_NAME(apply)(&act[0], clip, go, n);
  RNN_NAME(apply)(&act[2], 0, h, n);
  for (int64_t i = 0; i < n; i++) h[i] *= go[i];
}

/* Sequences [b, b + m) at the step whose gates are the rows from g on, `ld` apart. */
static void RNN_NAME(lstm_step)(const RNN_NAME(layer) * l, int d, int64_t b, int64_t m, RNN_T *g, int64_t ld) {
  const rnn_shape *s = l->s;
  const tn_karg *p = tn_k_in(l->k, 7);
  const int64_t n = s->hidden;
  RNN_NAME(product)(l->k, &l->r[d], m, l->h + b * n, n, g, ld, TN_START_ACC, NULL, l->work);
  for (int64_t i = 0; i < m; i++) RNN_NAME(lstm_gates)
  (s, s->acts[d], g + i * ld, p ? (const RNN_T *)p->data + 3 * d * n : NULL, l->h + (b + i) * n, l->c + (b + i) * n);
}

static void RNN_NAME(plain_step)(const RNN_NAME(layer) * l, int d, int64_t b, int64_t m, RNN_T *g, int64_t ld) {
  const rnn_shape *s = l->s;
  const int64_t n = s->hidden;
  RNN_NAME(product)(l->k, &l->r[d], m, l->h + b * n, n, g, ld, TN_START_ACC, NULL, l->work);
  for (int64_t i = 0; i < m; i++) {
    RNN_NAME(apply)(&s->acts[d][0], (RNN_T)s->clip, g + i * ld, n);
    memcpy(l->h + (b + i) * n, g + i * ld, (size_t)n * sizeof(RNN_T));
  }
}

/* Gates z, r, h. */
static void RNN_NAME(gru_step)(const RNN_NAME(layer) * l, int d, int64_t b, int64_t m, RNN_T *g, int64_t ld) {
  const rnn_shape *s = l->s;
  const int64_t n = s->hidden;
  const RNN_T clip = (RNN_T)s->clip;
  RNN_T *h = l->h + b * n, *extra = l->extra + b * n;
  const RNN_T *bias = tn_k_in(l->k, 3) ? (const RNN_T *)l->k->in[3]->data + (d * 6 + 5) * n : NULL;
  RNN_NAME(product)(l->k, &l->r[d], m, h, n, g, ld, TN_START_ACC, NULL, l->work);
  for (int64_t i = 0; i < m; i++) RNN_NAME(apply)(&s->acts[d][0], clip, g + i * ld, 2 * n);
  if (s->linear_before_reset) {
    RNN_NAME(product)(l->k, &l->r2[d], m, h, n, extra, n, bias ? TN_START_COL : TN_START_ZERO, bias, l->work);
    for (int64_t i = 0; i < m; i++)
      for (int64_t e = 0; e < n; e++) g[i * ld + 2 * n + e] += g[i * ld + n + e] * extra[i * n + e];
  } else {
    for (int64_t i = 0; i < m; i++)
      for (int64_t e = 0; e < n; e++) extra[i * n + e] = g[i * ld + n + e] * h[i * n + e];
    RNN_NAME(product)(l->k, &l->r2[d], m, extra, n, g + 2 * n, ld, TN_START_ACC, NULL, l->work);
  }
  for (int64_t i = 0; i < m; i++) {
    RNN_T *z = g + i * ld, *c = z + 2 * n;
    RNN_NAME(apply)(&s->acts[d][1], clip, c, n);
    for (int64_t e = 0; e < n; e++) h[i * n + e] = (1 - z[e]) * c[e] + z[e] * h[i * n + e];
  }
}

/* The bias of the products with W: both halves, but for GRU's candidate gate when its own half is scaled by r. */
static void RNN_NAME(bias_sum)(const RNN_NAME(layer) * l, int d) {
  const rnn_shape *s = l->s;
  const int64_t wide = s->gates * s->hidden;
  const RNN_T *b = (const RNN_T *)l->k->in[3]->data + 2 * d * wide;
  for (int64_t i = 0; i < wide; i++) {
    const bool alone = s->cell == RNN_GRU && s->linear_before_reset && i >= 2 * s->hidden;
    l->bias[i] = alone ? b[i] : b[i] + b[wide + i];
  }
}

/* Copies the state of direction d from (`to_layer`) or to an operand of shape [directions, batch, hidden] or
 * [batch, directions, hidden]. */
static void RNN_NAME(state)(const rnn_shape *s, int d, RNN_T *state, const tn_karg *a, bool to_layer) {
  const int64_t n = s->hidden;
  if (!a && to_layer) memset(state, 0, (size_t)(s->batch * n) * sizeof *state);
  for (int64_t b = 0; b < s->batch && a; b++) {
    RNN_T *there = (RNN_T *)a->data + (s->batch_first ? b * s->directions + d : d * s->batch + b) * n;
    memcpy(to_layer ? state + b * n : there, to_layer ? there : state + b * n, (size_t)n * sizeof *state);
  }
}

static void RNN_NAME(output)(const RNN_NAME(layer) * l, int d, int64_t t, int64_t b, bool is_past) {
  const rnn_shape *s = l->s;
  tn_karg *y = tn_k_outp(l->k, 0);
  if (!y) return;
  const int64_t row = s->batch_first ? (b * s->steps + t) * s->directions + d : (t * s->directions + d) * s->batch + b;
  RNN_T *to = (RNN_T *)y->data + row * s->hidden;
  if (is_past)
    memset(to, 0, (size_t)s->hidden * sizeof *to);
  else
    memcpy(to, l->h + b * s->hidden, (size_t)s->hidden * sizeof *to);
}

static void RNN_NAME(direction)(const RNN_NAME(layer) * l, int d) {
  const rnn_shape *s = l->s;
  const bool backward = d == 1 || s->is_reverse;
  const int64_t wide = s->gates * s->hidden, rows = s->steps * s->batch;
  const tn_karg *bias = tn_k_in(l->k, 3);
  if (bias) RNN_NAME(bias_sum)(l, d);
  RNN_NAME(product)
  (l->k, &l->w[d], rows, l->k->in[0]->data, s->input, l->gates, wide, bias ? TN_START_COL : TN_START_ZERO, l->bias,
   l->work);
  RNN_NAME(state)(s, d, l->h, tn_k_in(l->k, 5), true);
  if (s->cell == RNN_LSTM) RNN_NAME(state)(s, d, l->c, tn_k_in(l->k, 6), true);
  const int64_t each = s->lens ? 1 : s->batch; /* sequences that go in step */
  for (int64_t step = 0; step < s->steps && s->batch > 0; step++)
    for (int64_t b = 0; b < s->batch; b += each) {
      const int64_t n = s->lens ? s->lens[b] : s->steps;
      if (step >= n) {
        RNN_NAME(output)(l, d, step, b, true);
        continue;
      }
      const int64_t t = backward ? n - 1 - step : step, row = s->batch_first ? b * s->steps + t : t * s->batch + b;
      RNN_T *g = l->gates + row * wide;
      const int64_t ld = s->batch_first ? s->steps * wide : wide;
      if (s->cell == RNN_LSTM) RNN_NAME(lstm_step)(l, d, b, each, g, ld);
      if (s->cell == RNN_GRU) RNN_NAME(gru_step)(l, d, b, each, g, ld);
      if (s->cell == RNN_PLAIN) RNN_NAME(plain_step)(l, d, b, each, g, ld);
      for (int64_t i = 0; i < each; i++) RNN_NAME(output)(l, d, t, b + i, false);
    }
  if (tn_k_outp(l->k, 1)) RNN_NAME(state)(s, d, l->h, l->k->out[1], false);
  if (tn_k_outp(l->k, 2)) RNN_NAME(state)(s, d, l->c, l->k->out[2], false);
}

static tn_status RNN_NAME(any)(tn_kcall *k, rnn_cell cell) {
  rnn_shape s;
  TN_TRY(rnn_read(k, cell, &s));
  RNN_NAME(layer) l = {.k = k, .s = &s};
  TN_TRY(RNN_NAME(pack)(k, &s, l.w, l.r, l.r2));
  const int64_t wide = s.gates * s.hidden;
  int64_t n, all, state = s.batch * s.hidden;
  if (!tn_mul_i64(s.steps * s.batch, wide, &n) || !tn_add_i64(n, 3 * state + wide + 64, &all) ||
      !tn_add_i64(all, RNN_NAME(work)(&s, tn_pool_threads(k->pool)), &all))
    return tn_k_fail(k, TN_LIMIT, "sequence too long");
  void *room;
  TN_TRY(tn_k_scratch_array(k, all, sizeof(RNN_T), &room));
  l.gates = room;
  l.h = l.gates + n;
  l.c = l.h + state;
  l.extra = l.c + state;
  l.bias = l.extra + state;
  l.work = l.bias + wide;
  for (int d = 0; d < s.directions; d++) RNN_NAME(direction)(&l, d);
  return TN_OK;
}

static tn_status RNN_NAME(lstm)(tn_kcall *k) { return RNN_NAME(any)(k, RNN_LSTM); }
static tn_status RNN_NAME(gru)(tn_kcall *k) { return RNN_NAME(any)(k, RNN_GRU); }
static tn_status RNN_NAME(rnn)(tn_kcall *k) { return RNN_NAME(any)(k, RNN_PLAIN); }

#undef RNN_T
#undef RNN_NAME
#undef RNN_MATH
#endif
