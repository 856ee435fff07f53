/* Recurrent layers against their formulas in double. */
#include "nn_call.h"

extern const tn_kernel tn_kernel_lstm, tn_kernel_gru, tn_kernel_rnn;

enum { S = 4, B = 2, I = 3, H = 5 };

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* Row `row` of [gates * H, n] times v. */
static double dot(const tn_karg *w, int64_t row, int64_t n, const double *v) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += nn_get(w, row * n + i) * v[i];
  return sum;
}

typedef struct layer {
  const tn_karg *x, *w, *r, *b, *p;
  int gates, d;
  bool linear;
} layer;

static double part(const layer *l, int g, int j, const double *x, const double *h, bool w, bool r) {
  const int row = (l->d * l->gates + g) * H + j, bias = (l->d * 2 * l->gates + g) * H + j;
  return (w ? dot(l->w, row, I, x) + nn_get(l->b, bias) : 0) +
         (r ? dot(l->r, row, H, h) + nn_get(l->b, bias + l->gates * H) : 0);
}

static void step(const layer *l, const double *x, double *h, double *c) {
  double next[H], scaled[H];
  for (int j = 0; j < H && l->gates == 3; j++) scaled[j] = h[j] * sigmoid(part(l, 1, j, x, h, true, true));
  for (int j = 0; j < H; j++) {
    if (l->gates == 1) next[j] = tanh(part(l, 0, j, x, h, true, true));
    if (l->gates == 3) {
      const double z = sigmoid(part(l, 0, j, x, h, true, true)), reset = sigmoid(part(l, 1, j, x, h, true, true));
      const double n = l->linear ? part(l, 2, j, x, h, true, false) + reset * part(l, 2, j, x, h, false, true)
                                 : part(l, 2, j, x, scaled, true, true);
      next[j] = (1 - z) * tanh(n) + z * h[j];
    }
    if (l->gates != 4) continue;
    const double pi = l->p ? nn_get(l->p, l->d * 3 * H + j) : 0, po = l->p ? nn_get(l->p, (l->d * 3 + 1) * H + j) : 0;
    const double pf = l->p ? nn_get(l->p, (l->d * 3 + 2) * H + j) : 0;
    const double i = sigmoid(part(l, 0, j, x, h, true, true) + pi * c[j]);
    const double f = sigmoid(part(l, 2, j, x, h, true, true) + pf * c[j]);
    c[j] = f * c[j] + i * tanh(part(l, 3, j, x, h, true, true));
    next[j] = sigmoid(part(l, 1, j, x, h, true, true) + po * c[j]) * tanh(c[j]);
  }
  memcpy(h, next, sizeof next);
}

typedef struct options {
  int gates, directions;
  bool batch_first, lens, peephole, linear;
  tn_dtype type;
} options;

static void check(const options *o) {
  static const int32_t lens[B] = {4, 2};
  const int64_t d = o->directions, g = o->gates;
  const int64_t state[] = {o->batch_first ? B : d, o->batch_first ? d : B, H};
  const int64_t all[2][4] = {{S, d, B, H}, {B, S, d, H}};
  nn_call c;
  nn_begin(&c);
  layer l = {.gates = o->gates, .linear = o->linear};
  l.x = nn_in(&c, o->type, 3, o->batch_first ? (int64_t[]){B, S, I} : (int64_t[]){S, B, I});
  l.w = nn_in(&c, o->type, 3, (int64_t[]){d, g * H, I});
  l.r = nn_in(&c, o->type, 3, (int64_t[]){d, g * H, H});
  l.b = nn_in(&c, o->type, 2, (int64_t[]){d, 2 * g * H});
  tn_karg *n = nn_in(&c, TN_I32, 1, o->lens ? (int64_t[]){B} : NULL);
  if (n) memcpy(n->data, lens, sizeof lens);
  const tn_karg *h0 = nn_in(&c, o->type, 3, state), *c0 = g == 4 ? nn_in(&c, o->type, 3, state) : NULL;
  l.p = g == 4 ? nn_in(&c, o->type, 2, o->peephole ? (int64_t[]){d, 3 * H} : NULL) : NULL;
  tn_karg *y = nn_out(&c, o->type, 4, all[o->batch_first]), *yh = nn_out(&c, o->type, 3, state);
  tn_karg *yc = g == 4 ? nn_out(&c, o->type, 3, state) : NULL;
  nn_str(&c, "direction", d == 2 ? "bidirectional" : o->lens ? "reverse" : "forward");
  nn_int(&c, "layout", o->batch_first);
  nn_int(&c, "linear_before_reset", o->linear);
  double want[S * 2 * B * H] = {0}, want_h[2 * B * H], want_c[2 * B * H], x[I], h[H], cell[H];
  for (int k = 0; k < d; k++)
    for (int b = 0; b < B; b++) {
      const int at = (o->batch_first ? b * (int)d + k : k * B + b) * H, steps = o->lens ? lens[b] : S;
      l.d = k;
      for (int j = 0; j < H; j++) {
        h[j] = nn_get(h0, at + j);
        cell[j] = c0 ? nn_get(c0, at + j) : 0;
      }
      for (int s = 0; s < steps; s++) {
        const int t = k == 1 || (d == 1 && o->lens) ? steps - 1 - s : s;
        for (int i = 0; i < I; i++) x[i] = nn_get(l.x, (o->batch_first ? b * S + t : t * B + b) * I + i);
        step(&l, x, h, cell);
        memcpy(want + (o->batch_first ? (b * S + t) * d + k : (t * d + k) * B + b) * H, h, sizeof h);
      }
      memcpy(want_h + at, h, sizeof h);
      memcpy(want_c + at, cell, sizeof cell);
    }
  if (nn_run(&c, g == 4 ? &tn_kernel_lstm : g == 3 ? &tn_kernel_gru : &tn_kernel_rnn)) {
    nn_near(y, want, 1e-5, "y");
    nn_near(yh, want_h, 1e-5, "y_h");
    if (yc) nn_near(yc, want_c, 1e-5, "y_c");
  }
  nn_end(&c);
}

TEST(all_forms) {
  const int gates[] = {1, 3, 4};
  for (int form = 0; form < 32; form++)
    for (int i = 0; i < 3; i++) {
      const options o = {.gates = gates[i],
                         .directions = 1 + (form & 1),
                         .batch_first = form & 2,
                         .lens = form & 4,
                         .peephole = form & 8,
                         .linear = form & 8,
                         .type = form & 16 ? TN_F64 : TN_F32};
      check(&o);
    }
}

TEST(half_precision) {
  const options o = {.gates = 4, .directions = 2, .type = TN_F16};
  check(&o);
}
