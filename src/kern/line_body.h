/* The loops of kern/line.h for one CPU level. Not a module: line_v1.c, line_v3.c and line_v4.c include it with
 * LINE_LEVEL, the suffix of the names. Lanes are written out as short arrays, which become vectors of any width. */
#include <math.h>

#include "kern/line.h"
#include "kern/vmath.h"

#ifndef LINE_LEVEL
#define LINE_LEVEL _v0
#endif

#define LINE_PASTE_(a, b) a##b
#define LINE_PASTE(a, b) LINE_PASTE_(a, b)
#define LINE_NAME(x) LINE_PASTE(line_##x, LINE_LEVEL)
#define LINE_N 32      /* lanes */
#define LINE_SPAN 8192 /* products of two 9-bit numbers that fit in an int32 sum */

static float LINE_NAME(max)(const float *x, int64_t n) {
  float m[LINE_N];
  int64_t i = 0;
  for (int l = 0; l < LINE_N; l++) m[l] = -INFINITY;
  for (; i + LINE_N <= n; i += LINE_N)
    for (int l = 0; l < LINE_N; l++) m[l] = x[i + l] > m[l] ? x[i + l] : m[l];
  for (; i < n; i++) m[0] = x[i] > m[0] ? x[i] : m[0];
  for (int half = LINE_N / 2; half > 0; half /= 2)
    for (int l = 0; l < half; l++) m[l] = m[l + half] > m[l] ? m[l + half] : m[l];
  return m[0];
}
static float LINE_NAME(total)(float *s) {
  for (int half = LINE_N / 2; half > 0; half /= 2)
    for (int l = 0; l < half; l++) s[l] += s[l + half];
  return s[0];
}
static float LINE_NAME(exp_sum)(const float *x, float *y, int64_t n, float m) {
  float sum[LINE_N] = {0};
  int64_t i = 0;
  for (; i + LINE_N <= n; i += LINE_N) {
    float e[LINE_N];
    for (int l = 0; l < LINE_N; l++) e[l] = tn_expf(x[i + l] - m);
    for (int l = 0; l < LINE_N; l++) sum[l] += e[l];
    if (y) memcpy(y + i, e, sizeof e);
  }
  for (; i < n; i++) {
    const float e = tn_expf(x[i] - m);
    sum[0] += e;
    if (y) y[i] = e;
  }
  return LINE_NAME(total)(sum);
}
static void LINE_NAME(scale)(float *y, int64_t n, float s) {
  for (int64_t i = 0; i < n; i++) y[i] *= s;
}
static void LINE_NAME(columns_max)(float *restrict m, const float *restrict x, int64_t w) {
  for (int64_t c = 0; c < w; c++) m[c] = x[c] > m[c] ? x[c] : m[c];
}
static void LINE_NAME(columns_exp)(float *restrict sum, const float *x, const float *restrict m, float *y, int64_t w) {
  TN_IN_PLACE_LOOP
  for (int64_t c = 0; c < w; c++) {
    const float e = tn_expf(x[c] - m[c]);
    sum[c] += e;
    y[c] = e;
  }
}

/* Four columns, `step` apart. */
static void LINE_NAME(dot_4)(const int16_t *a, const int16_t *b, int64_t step, int64_t n, uint32_t *out) {
  for (int j = 0; j < 4; j++) out[j] = 0;
  for (int64_t from = 0; from < n; from += LINE_SPAN) {
    const int64_t end = from + LINE_SPAN < n ? from + LINE_SPAN : n;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    const int16_t *const b0 = b, *const b1 = b + step, *const b2 = b + 2 * step, *const b3 = b + 3 * step;
    for (int64_t i = from; i < end; i++) {
      s0 += a[i] * b0[i];
      s1 += a[i] * b1[i];
      s2 += a[i] * b2[i];
      s3 += a[i] * b3[i];
    }
    out[0] += (uint32_t)s0;
    out[1] += (uint32_t)s1;
    out[2] += (uint32_t)s2;
    out[3] += (uint32_t)s3;
  }
}
static void LINE_NAME(dots)(const int16_t *a, const int16_t *b, int64_t n, int64_t columns, uint32_t *out) {
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4) LINE_NAME(dot_4)(a, b + j * n, n, n, out + j);
  for (; j < columns; j++) {
    uint32_t same[4];
    LINE_NAME(dot_4)(a, b + j * n, 0, n, same);
    out[j] = same[0];
  }
}
static void LINE_NAME(add_4_rows)(double *restrict y, const double *restrict x, const double *restrict b, int64_t n) {
  const double *const b1 = b + n, *const b2 = b1 + n, *const b3 = b2 + n;
  const double x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
  for (int64_t j = 0; j < n; j++) y[j] += (x0 * b[j] + x1 * b1[j]) + (x2 * b2[j] + x3 * b3[j]);
}

/* `expr` is what element v counts with `shift`; JOIN(a, b) joins two results, of which `neutral` changes none. */
#define LINE_FOLD(name, neutral, expr, JOIN)                                                  \
  static float LINE_NAME(fold_##name)(const float *x, int64_t n, float all) {                 \
    float s[LINE_N];                                                                          \
    const float shift = all;                                                                  \
    int64_t i = 0;                                                                            \
    (void)shift;                                                                              \
    for (int l = 0; l < LINE_N; l++) s[l] = (neutral);                                        \
    for (; i + LINE_N <= n; i += LINE_N)                                                      \
      for (int l = 0; l < LINE_N; l++) {                                                      \
        const float v = x[i + l];                                                             \
        const float u = (expr);                                                               \
        s[l] = JOIN(s[l], u);                                                                 \
      }                                                                                       \
    for (; i < n; i++) {                                                                      \
      const float v = x[i];                                                                   \
      const float u = (expr);                                                                 \
      s[0] = JOIN(s[0], u);                                                                   \
    }                                                                                         \
    for (int half = LINE_N / 2; half > 0; half /= 2)                                          \
      for (int l = 0; l < half; l++) s[l] = JOIN(s[l], s[l + half]);                          \
    return s[0];                                                                              \
  }                                                                                           \
  static void LINE_NAME(rows_##name)(float *restrict acc, const float *restrict x, int64_t w, \
                                     const float *restrict shifts) {                          \
    (void)shifts;                                                                             \
    for (int64_t i = 0; i < w; i++) {                                                         \
      const float shift = shifts[i];                                                          \
      const float v = x[i];                                                                   \
      const float u = (expr);                                                                 \
      (void)shift;                                                                            \
      acc[i] = JOIN(acc[i], u);                                                               \
    }                                                                                         \
  }
#define LINE_ADD(a, b) ((a) + (b))
#define LINE_MUL(a, b) ((a) * (b))
#define LINE_TOP(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a))
#define LINE_LOW(a, b) ((((b) < (a)) | ((b) != (b))) ? (b) : (a))
LINE_FOLD(sum, 0, v, LINE_ADD)
LINE_FOLD(abs, 0, fabsf(v), LINE_ADD)
LINE_FOLD(square, 0, v *v, LINE_ADD)
LINE_FOLD(prod, 1, v, LINE_MUL)
LINE_FOLD(max, -INFINITY, v, LINE_TOP)
LINE_FOLD(min, INFINITY, v, LINE_LOW)
LINE_FOLD(exp, 0, tn_expf(v - shift), LINE_ADD)

extern const tn_line_isa LINE_PASTE(tn_line_isa, LINE_LEVEL);
const tn_line_isa LINE_PASTE(tn_line_isa, LINE_LEVEL) = {
    .max = LINE_NAME(max),
    .exp_sum = LINE_NAME(exp_sum),
    .scale = LINE_NAME(scale),
    .columns_max = LINE_NAME(columns_max),
    .columns_exp = LINE_NAME(columns_exp),
    .dots = LINE_NAME(dots),
    .add_4_rows = LINE_NAME(add_4_rows),
    .fold = {LINE_NAME(fold_sum), LINE_NAME(fold_abs), LINE_NAME(fold_square), LINE_NAME(fold_prod),
             LINE_NAME(fold_max), LINE_NAME(fold_min), LINE_NAME(fold_exp)},
    .fold_rows = {LINE_NAME(rows_sum), LINE_NAME(rows_abs), LINE_NAME(rows_square), LINE_NAME(rows_prod),
                  LINE_NAME(rows_max), LINE_NAME(rows_min), LINE_NAME(rows_exp)},
};

#undef LINE_LEVEL
#undef LINE_PASTE_
#undef LINE_PASTE
#undef LINE_NAME
#undef LINE_N
#undef LINE_SPAN
#undef LINE_FOLD
#undef LINE_ADD
#undef LINE_MUL
#undef LINE_TOP
#undef LINE_LOW
