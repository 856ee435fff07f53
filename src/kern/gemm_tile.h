/* The register tiles of one CPU level. Not a module: gemm_v1.c, gemm_v3.c and gemm_v4.c include it with
 *
 *   TILE_LEVEL   suffix of the names      TILE_VL  floats of a vector
 *   TILE_MR      rows of the full tile    TILE_NV  vectors of a row
 *
 * Written with vector extensions, so that one text serves every level. */
#include <string.h>

#include "kern/gemm.h"

#ifndef TILE_LEVEL
#define TILE_LEVEL _v0
#define TILE_VL 4
#define TILE_MR 6
#define TILE_NV 2
#endif

#define TILE_PASTE_(a, b) a##b
#define TILE_PASTE(a, b) TILE_PASTE_(a, b)
#define TILE_NAME(x) TILE_PASTE(tile_##x, TILE_LEVEL)
#define TILE_NR (TILE_VL * TILE_NV)

typedef float TILE_NAME(vec) TN_VECTOR(TILE_VL * 4);

TN_INLINE TILE_NAME(vec) TILE_NAME(load)(const float *p) {
  TILE_NAME(vec) v;
  memcpy(&v, p, sizeof v);
  return v;
}
TN_INLINE void TILE_NAME(store)(float *p, TILE_NAME(vec) v) { memcpy(p, &v, sizeof v); }
TN_INLINE TILE_NAME(vec) TILE_NAME(all)(float x) { return x - (TILE_NAME(vec)){0}; }

/* The columns a narrow tile has, in a full row of memory. */
TN_INLINE void TILE_NAME(widen)(float *to, const float *from, int n) {
  memset(to, 0, TILE_NR * sizeof(float));
  memcpy(to, from, (size_t)n * sizeof(float));
}

TN_INLINE void TILE_NAME(run)(const int mr, const tn_tile *t) {
  TILE_NAME(vec) x[TILE_MR][TILE_NV];
  float part[TILE_MR * TILE_NR];
  const bool narrow = t->n < TILE_NR;
  float *c = t->c;
  int64_t ldc = t->ldc;
  if (narrow) {
    c = part;
    ldc = TILE_NR;
    if (t->start == TN_START_ACC)
      for (int i = 0; i < mr; i++) TILE_NAME(widen)(part + i * TILE_NR, t->c + i * t->ldc, t->n);
    if (t->start == TN_START_COL) TILE_NAME(widen)(part, t->bias, t->n);
  }
  if (t->start == TN_START_ACC) {
    TN_UNROLL for (int i = 0; i < mr; i++) {
      TN_UNROLL for (int j = 0; j < TILE_NV; j++) x[i][j] = TILE_NAME(load)(c + i * ldc + j * TILE_VL);
    }
  } else if (t->start == TN_START_COL) {
    const float *bias = narrow ? part : t->bias;
    TN_UNROLL for (int i = 0; i < mr; i++) {
      TN_UNROLL for (int j = 0; j < TILE_NV; j++) x[i][j] = TILE_NAME(load)(bias + j * TILE_VL);
    }
  } else {
    TN_UNROLL for (int i = 0; i < mr; i++) {
      const float bias = t->start == TN_START_ROW ? t->bias[i] : 0.0f;
      TN_UNROLL for (int j = 0; j < TILE_NV; j++) x[i][j] = TILE_NAME(all)(bias);
    }
  }
  const float *a = t->a, *b = t->b;
  for (int64_t k = t->k; k > 0; k--) {
    TILE_NAME(vec) v[TILE_NV];
    TN_UNROLL for (int j = 0; j < TILE_NV; j++) v[j] = TILE_NAME(load)(b + j * TILE_VL);
    TN_UNROLL for (int i = 0; i < mr; i++) {
      const TILE_NAME(vec) s = TILE_NAME(all)(a[i]);
      TN_UNROLL for (int j = 0; j < TILE_NV; j++) x[i][j] += s * v[j];
    }
    a += mr;
    b += t->b_step;
  }
  TN_UNROLL for (int i = 0; i < mr; i++) {
    TN_UNROLL for (int j = 0; j < TILE_NV; j++) TILE_NAME(store)(c + i * ldc + j * TILE_VL, x[i][j]);
  }
  if (narrow)
    for (int i = 0; i < mr; i++) memcpy(t->c + i * t->ldc, part + i * TILE_NR, (size_t)t->n * sizeof(float));
}

/* One row: four steps of k at a time, each with accumulators of its own, to hide the latency of the sums. */
static void TILE_NAME(1)(const tn_tile *t) {
  TILE_NAME(vec) x[4][TILE_NV];
  TN_UNROLL for (int i = 0; i < 4; i++) { TN_UNROLL for (int j = 0; j < TILE_NV; j++) x[i][j] = TILE_NAME(all)(0.0f); }
  const float *a = t->a, *b = t->b;
  int64_t k = t->k;
  for (; k >= 4; k -= 4) {
    TN_UNROLL for (int i = 0; i < 4; i++) {
      const TILE_NAME(vec) s = TILE_NAME(all)(a[i]);
      TN_UNROLL for (int j = 0; j < TILE_NV; j++) x[i][j] += s * TILE_NAME(load)(b + j * TILE_VL);
      b += t->b_step;
    }
    a += 4;
  }
  for (; k > 0; k--) {
    const TILE_NAME(vec) s = TILE_NAME(all)(*a++);
    TN_UNROLL for (int j = 0; j < TILE_NV; j++) x[0][j] += s * TILE_NAME(load)(b + j * TILE_VL);
    b += t->b_step;
  }
  float sum[TILE_NR];
  TN_UNROLL for (int j = 0; j < TILE_NV; j++)
      TILE_NAME(store)(sum + j * TILE_VL, (x[0][j] + x[1][j]) + (x[2][j] + x[3][j]));
  switch (t->start) {
    case TN_START_ACC:
      for (int j = 0; j < t->n; j++) t->c[j] += sum[j];
      break;
    case TN_START_COL:
      for (int j = 0; j < t->n; j++) t->c[j] = t->bias[j] + sum[j];
      break;
    case TN_START_ROW:
      for (int j = 0; j < t->n; j++) t->c[j] = t->bias[0] + sum[j];
      break;
    default:
      memcpy(t->c, sum, (size_t)t->n * sizeof(float));
  }
}

#define TILE_ROWS(rows) \
  static TN_NOINLINE void TILE_NAME(rows)(const tn_tile *t) { TILE_NAME(run)(rows, t); }
TILE_ROWS(2)
TILE_ROWS(3)
TILE_ROWS(4)
TILE_ROWS(5)
TILE_ROWS(6)
#if TILE_MR > 6
TILE_ROWS(7)
TILE_ROWS(8)
TILE_ROWS(9)
TILE_ROWS(10)
TILE_ROWS(11)
TILE_ROWS(12)
#endif
#undef TILE_ROWS

static void (*const TILE_NAME(table)[TILE_MR + 1])(const tn_tile *t) = {
    NULL,         TILE_NAME(1), TILE_NAME(2), TILE_NAME(3),  TILE_NAME(4),  TILE_NAME(5),  TILE_NAME(6),
#if TILE_MR > 6
    TILE_NAME(7), TILE_NAME(8), TILE_NAME(9), TILE_NAME(10), TILE_NAME(11), TILE_NAME(12),
#endif
};

static void TILE_NAME(taps)(float *y, int64_t n, const float *const *rows, const float *w, int64_t n_taps, float bias) {
  int64_t i = 0;
  for (; i + 4 * TILE_VL <= n; i += 4 * TILE_VL) {
    TILE_NAME(vec) x[4];
    TN_UNROLL for (int j = 0; j < 4; j++) x[j] = TILE_NAME(all)(bias);
    for (int64_t t = 0; t < n_taps; t++) {
      const TILE_NAME(vec) s = TILE_NAME(all)(w[t]);
      const float *r = rows[t] + i;
      TN_UNROLL for (int j = 0; j < 4; j++) x[j] += s * TILE_NAME(load)(r + j * TILE_VL);
    }
    TN_UNROLL for (int j = 0; j < 4; j++) TILE_NAME(store)(y + i + j * TILE_VL, x[j]);
  }
  for (; i + TILE_VL <= n; i += TILE_VL) {
    TILE_NAME(vec) x = TILE_NAME(all)(bias);
    for (int64_t t = 0; t < n_taps; t++) x += TILE_NAME(all)(w[t]) * TILE_NAME(load)(rows[t] + i);
    TILE_NAME(store)(y + i, x);
  }
  for (; i < n; i++) {
    float x = bias;
    for (int64_t t = 0; t < n_taps; t++) x += w[t] * rows[t][i];
    y[i] = x;
  }
}

static float TILE_NAME(dot)(const float *a, const float *b, int64_t n) {
  TILE_NAME(vec) x[4];
  TN_UNROLL for (int j = 0; j < 4; j++) x[j] = TILE_NAME(all)(0.0f);
  int64_t i = 0;
  for (; i + 4 * TILE_VL <= n; i += 4 * TILE_VL) {
    TN_UNROLL for (int j = 0; j < 4; j++) x[j] +=
        TILE_NAME(load)(a + i + j * TILE_VL) * TILE_NAME(load)(b + i + j * TILE_VL);
  }
  float lanes[TILE_VL], sum = 0.0f;
  TILE_NAME(store)(lanes, (x[0] + x[1]) + (x[2] + x[3]));
  for (int j = 0; j < TILE_VL; j++) sum += lanes[j];
  for (; i < n; i++) sum += a[i] * b[i];
  return sum;
}

extern const tn_gemm_isa TILE_PASTE(tn_gemm_isa, TILE_LEVEL);
const tn_gemm_isa TILE_PASTE(tn_gemm_isa, TILE_LEVEL) = {TILE_MR, TILE_NR, TILE_NAME(table), TILE_NAME(taps),
                                                         TILE_NAME(dot)};

#undef TILE_LEVEL
#undef TILE_VL
#undef TILE_MR
#undef TILE_NV
#undef TILE_NR
#undef TILE_NAME
#undef TILE_PASTE
#undef TILE_PASTE_
