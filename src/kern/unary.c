/* Elementwise kernels of one operand. A row gives the meaning in float, double and integers; f16 and bf16 go through
 * float. p[0], p[1], ... are the row's attributes. */
#include <float.h>
#include <math.h>

#include "kern/unary_f32.h"
#include "kern/vmath.h"

typedef struct unary_row {
  tn_kmap_fn f32; /* NULL: number `fast` of unary_f32.h */
  int fast;
  tn_kmap_fn f64;
  tn_kmap_fn ints[TN_N_DTYPES]; /* integer and bool types by number; NULL = not defined */
  const char *params[3];        /* names of float attributes */
  bool to_bool, no_floats;
} unary_row;

static tn_kmap_fn unary_fast(int number) {
#if defined(__x86_64__)
  const int level = tn_cpu_level();
  if (level >= 4) return tn_unary_f32_v4[number];
  if (level >= 3) return tn_unary_f32_v3[number];
#endif
  return tn_unary_f32_v1[number];
}
static tn_kmap_fn unary_f32(const unary_row *row) {
  return row->f32 || row->no_floats ? row->f32 : unary_fast(row->fast);
}

static tn_status unary_run(tn_kcall *k, const unary_row *row) {
  const tn_karg *const x = k->in[0];
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  double params[3] = {0};
  for (int i = 0; i < 3 && row->params[i]; i++) params[i] = tn_k_float(k, row->params[i], 0);
  tn_kmap m = {.n_in = 1, .param = params};
  switch (x->dtype) {
    case TN_F32:
    case TN_F16:
    case TN_BF16:
      m.fn = unary_f32(row);
      m.lanes = row->f32 ? 0 : TN_KMAP_LANES;
      m.in[0] = TN_F32;
      break;
    case TN_F64:
      m.fn = row->f64;
      m.in[0] = TN_F64;
      break;
    default:
      m.fn = row->ints[x->dtype];
      m.in[0] = x->dtype;
  }
  if (!m.fn) return tn_k_no_dtype(k, 0);
  m.out = row->to_bool ? TN_BOOL : m.in[0];
  return tn_k_map(k, &m, k->in, k->out[0]);
}

#define UNARY_LOOP(id, suffix, T, R, expr)                                                                         \
  static void id##_##suffix(const void *const *in, const int64_t *step, void *out, int64_t n, const void *param) { \
    const T *const xs = in[0];                                                                                     \
    R *const ys = out;                                                                                             \
    const double *const p = param;                                                                                 \
    (void)p;                                                                                                       \
    (void)step; /* 1, or n is 1: the operand has the dims of the result */                                         \
    TN_IN_PLACE_LOOP                                                                                               \
    for (int64_t i = 0; i < n; i++) {                                                                              \
      const T x = xs[i];                                                                                           \
      ys[i] = (R)(expr);                                                                                           \
    }                                                                                                              \
  }

/* A float function: the double expression; the one of f32 is in unary_f32.h. */
#define UNARY_ROW(id, f64_expr, ...)            \
  UNARY_LOOP(id, f64, double, double, f64_expr) \
  static const unary_row id##_row = {.fast = TN_UNARY_##id, .f64 = id##_f64, .params = {__VA_ARGS__}};
#define TN_UNARY_KERNEL(id, f64_expr, ...) \
  UNARY_ROW(id, f64_expr, __VA_ARGS__)     \
  TN_KERNEL(id, TN_K_SIZES | TN_K_IN_PLACE) { return unary_run(k, &id##_row); }

/* Function number `fast` up to TN_FAR, libm's beyond. */
static void unary_near(int fast, float (*far)(float), const float *xs, float *ys, int64_t n) {
  enum { BLOCK = 256 };
  const double no_attributes[2] = {0};
  float x[BLOCK] = {0}, y[BLOCK];
  const void *const in[1] = {x};
  const int64_t step = 1;
  for (int64_t done = 0; done < n; done += BLOCK) {
    const int64_t part = n - done < BLOCK ? n - done : BLOCK;
    memcpy(x, xs + done, (size_t)part * sizeof *x);
    unary_fast(fast)(in, &step, y, (part + TN_KMAP_LANES - 1) & -(int64_t)TN_KMAP_LANES, no_attributes);
    for (int64_t i = 0; i < part; i++)
      if (!(fabsf(x[i]) < TN_FAR)) y[i] = far(x[i]);
    memcpy(ys + done, y, (size_t)part * sizeof *y);
  }
}
#define TN_PERIODIC_KERNEL(id, far, f64_expr)                                                                 \
  static void id##_f32(const void *const *in, const int64_t *step, void *out, int64_t n, const void *param) { \
    (void)step, (void)param;                                                                                  \
    unary_near(TN_UNARY_##id, far, in[0], out, n);                                                            \
  }                                                                                                           \
  UNARY_LOOP(id, f64, double, double, f64_expr)                                                               \
  static const unary_row id##_row = {.f32 = id##_f32, .f64 = id##_f64};                                       \
  TN_KERNEL(id, TN_K_SIZES | TN_K_IN_PLACE) { return unary_run(k, &id##_row); }

/* Loops of all integers, and their places in a row. */
#define UNARY_INTS(id, i_expr, u_expr)            \
  UNARY_LOOP(id, i8, int8_t, int8_t, i_expr)      \
  UNARY_LOOP(id, i16, int16_t, int16_t, i_expr)   \
  UNARY_LOOP(id, i32, int32_t, int32_t, i_expr)   \
  UNARY_LOOP(id, i64, int64_t, int64_t, i_expr)   \
  UNARY_LOOP(id, u8, uint8_t, uint8_t, u_expr)    \
  UNARY_LOOP(id, u16, uint16_t, uint16_t, u_expr) \
  UNARY_LOOP(id, u32, uint32_t, uint32_t, u_expr) \
  UNARY_LOOP(id, u64, uint64_t, uint64_t, u_expr)
#define UNARY_INT_FNS(id)                                                                                \
  {                                                                                                      \
    [TN_I8] = id##_i8, [TN_I16] = id##_i16, [TN_I32] = id##_i32, [TN_I64] = id##_i64, [TN_U8] = id##_u8, \
    [TN_U16] = id##_u16, [TN_U32] = id##_u32, [TN_U64] = id##_u64                                        \
  }

/* A float and signed integer operator; unsigned ones take the u_expr. */
#define TN_NUMERIC_KERNEL(id, f64_expr, i_expr, u_expr)                                                  \
  UNARY_LOOP(id, f64, double, double, f64_expr)                                                          \
  UNARY_INTS(id, i_expr, u_expr)                                                                         \
  static const unary_row id##_row = {.fast = TN_UNARY_##id, .f64 = id##_f64, .ints = UNARY_INT_FNS(id)}; \
  TN_KERNEL(id, TN_K_SIZES | TN_K_IN_PLACE) { return unary_run(k, &id##_row); }

static double unary_sigmoid(double x) {
  const double e = exp(-fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}
/* sigmoid(alpha * x): what rounding takes from the product counts as much as the product is large. */
static double unary_sigmoid_of(double alpha, double x) {
  const double u = alpha * x, rest = fma(alpha, x, -u), s = unary_sigmoid(u);
  return fabs(rest) < 1 ? s + s * (1 - s) * rest : s;
}
static double unary_gelu(double x) {
  const double k = -0.70710678118654752440, z = k * x; /* erfc's argument, and what it lacks */
  const double rest = fma(k, x, -z) + x * 4.833646656726457e-17;
  const double e = erfc(z) - 1.12837916709551257390 * exp(-z * z) * rest;
  return 0.5 * x * (fabs(rest) < 1 ? e : erfc(z));
}
static double unary_mish(double x) { /* tanh(log(1 + e^x)) */
  const double e = exp(-fabs(x)), low = e * (e + 2);
  return x < 0 ? low / (low + 2) : (1 + 2 * e) / (1 + 2 * e + 2 * e * e);
}
static double unary_gelu_tanh(double x) {
  return x * unary_sigmoid(1.59576912160573071176 * (x + 0.044715 * x * x * x));
}
static double unary_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static double unary_clip01(double x) { return x < 0 ? 0 : (x > 1 ? 1 : x); }
static double unary_shrink(double x, double lambd, double bias) {
  return x < -lambd ? x + bias : (x > lambd ? x - bias : 0);
}

/* Integer negation wraps: the unsigned subtraction is defined for the smallest value too. */
#define UNARY_WRAP_NEG(x) ((int64_t)(0 - (uint64_t)(x)))

TN_NUMERIC_KERNEL(abs, fabs(x), x < 0 ? UNARY_WRAP_NEG(x) : (int64_t)x, x)
TN_NUMERIC_KERNEL(neg, -x, UNARY_WRAP_NEG(x), 0u - x)
TN_NUMERIC_KERNEL(sign, x > 0 ? 1.0 : (x < 0 ? -1.0 : x), (x > 0) - (x < 0), x > 0)
TN_NUMERIC_KERNEL(relu, x < 0 ? 0.0 : x, x < 0 ? 0 : x, x)

TN_UNARY_KERNEL(ceil, ceil(x), NULL)
TN_UNARY_KERNEL(floor, floor(x), NULL)
TN_UNARY_KERNEL(round, nearbyint(x), NULL)
TN_UNARY_KERNEL(exp, exp(x), NULL)
TN_UNARY_KERNEL(log, log(x), NULL)
TN_UNARY_KERNEL(sqrt, sqrt(x), NULL)
TN_UNARY_KERNEL(reciprocal, 1.0 / x, NULL)
TN_PERIODIC_KERNEL(sin, sinf, sin(x))
TN_PERIODIC_KERNEL(cos, cosf, cos(x))
TN_PERIODIC_KERNEL(tan, tanf, tan(x))
TN_UNARY_KERNEL(asin, asin(x), NULL)
TN_UNARY_KERNEL(acos, acos(x), NULL)
TN_UNARY_KERNEL(atan, atan(x), NULL)
TN_UNARY_KERNEL(sinh, sinh(x), NULL)
TN_UNARY_KERNEL(cosh, cosh(x), NULL)
TN_UNARY_KERNEL(tanh, tanh(x), NULL)
TN_UNARY_KERNEL(asinh, asinh(x), NULL)
TN_UNARY_KERNEL(acosh, acosh(x), NULL)
TN_UNARY_KERNEL(atanh, atanh(x), NULL)
TN_UNARY_KERNEL(sigmoid, unary_sigmoid(x), NULL)
TN_UNARY_KERNEL(softplus, unary_softplus(x), NULL)
TN_UNARY_KERNEL(softsign, x / (1.0 + fabs(x)), NULL)
TN_UNARY_KERNEL(mish, x *unary_mish(x), NULL)
TN_UNARY_KERNEL(hardswish, x *unary_clip01((x + 3) / 6), NULL)
UNARY_ROW(gelu_erf, unary_gelu(x), NULL)
UNARY_ROW(gelu_tanh, unary_gelu_tanh(x), NULL)
TN_UNARY_KERNEL(swish, x *unary_sigmoid_of(p[0], x), "alpha")
TN_UNARY_KERNEL(elu, x < 0 ? p[0] * expm1(x) : x, "alpha")
TN_UNARY_KERNEL(celu, x < 0 ? p[0] * expm1(x / p[0]) : x, "alpha")
TN_UNARY_KERNEL(selu, p[1] * (x > 0 ? x : p[0] * expm1(x)), "alpha", "gamma")
TN_UNARY_KERNEL(leaky_relu, x < 0 ? p[0] * x : x, "alpha")
TN_UNARY_KERNEL(thresholded_relu, x > p[0] ? x : 0.0, "alpha")
TN_UNARY_KERNEL(hard_sigmoid, unary_clip01(fma(p[0], x, p[1])), "alpha", "beta")

TN_KERNEL(gelu, TN_K_SIZES | TN_K_IN_PLACE) {
  return unary_run(k, tn_k_str_is(k, "approximate", "tanh") ? &gelu_tanh_row : &gelu_erf_row);
}

/* Shrink: floats and all integers, computed in double. */
static uint64_t unary_whole(double v) { /* toward zero, held to what 64 bits have; NaN is 0 */
  if (v >= 0x1p63) return v >= 0x1p64 ? UINT64_MAX : (uint64_t)(v - 0x1p63) + (UINT64_C(1) << 63);
  return (uint64_t)(v >= -0x1p63 ? (int64_t)v : (v < 0 ? INT64_MIN : 0));
}
UNARY_LOOP(shrink, f32, float, float, unary_shrink((double)x, p[0], p[1]))
UNARY_LOOP(shrink, f64, double, double, unary_shrink(x, p[0], p[1]))
#define SHRINK_WHOLE unary_whole(unary_shrink((double)x, p[0], p[1]))
UNARY_INTS(shrink, SHRINK_WHOLE, SHRINK_WHOLE)
static const unary_row shrink_row = {
    .f32 = shrink_f32, .f64 = shrink_f64, .ints = UNARY_INT_FNS(shrink), .params = {"lambd", "bias"}};
TN_KERNEL(shrink, TN_K_SIZES | TN_K_IN_PLACE) { return unary_run(k, &shrink_row); }

/* Erf of an integer is -1, 0 or 1: the float cut toward zero. */
UNARY_LOOP(erf, f64, double, double, erf(x))
#define ERF_WHOLE unary_whole((double)(float)erf((double)x))
UNARY_INTS(erf, ERF_WHOLE, ERF_WHOLE)
static const unary_row erf_row = {.fast = TN_UNARY_erf, .f64 = erf_f64, .ints = UNARY_INT_FNS(erf)};
TN_KERNEL(erf, TN_K_SIZES) { return unary_run(k, &erf_row); }

UNARY_LOOP(not, u8, uint8_t, uint8_t, !x)
static const unary_row not_row = {.no_floats = true, .ints = {[TN_BOOL] = not_u8}};
TN_KERNEL(not, TN_K_SIZES | TN_K_IN_PLACE) { return unary_run(k, &not_row); }

UNARY_LOOP(bitwise_not, u8, uint8_t, uint8_t, ~x)
UNARY_LOOP(bitwise_not, u16, uint16_t, uint16_t, ~x)
UNARY_LOOP(bitwise_not, u32, uint32_t, uint32_t, ~x)
UNARY_LOOP(bitwise_not, u64, uint64_t, uint64_t, ~x)
static const unary_row bitwise_not_row = {.no_floats = true,
                                          .ints = {[TN_I8] = bitwise_not_u8,
                                                   [TN_I16] = bitwise_not_u16,
                                                   [TN_I32] = bitwise_not_u32,
                                                   [TN_I64] = bitwise_not_u64,
                                                   [TN_U8] = bitwise_not_u8,
                                                   [TN_U16] = bitwise_not_u16,
                                                   [TN_U32] = bitwise_not_u32,
                                                   [TN_U64] = bitwise_not_u64}};
TN_KERNEL(bitwise_not, TN_K_SIZES | TN_K_IN_PLACE) { return unary_run(k, &bitwise_not_row); }

/* Predicates of every float type; what is shorter than 32 bits is widened. */
static tn_status unary_predicate(tn_kcall *k, tn_kmap_fn f32, tn_kmap_fn f64, const double *params) {
  const tn_karg *const x = k->in[0];
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  if (!tn_dtype_is_float(x->dtype)) return tn_k_no_dtype(k, 0);
  const tn_dtype in = x->dtype == TN_F64 ? TN_F64 : TN_F32;
  const tn_kmap m = {.fn = in == TN_F64 ? f64 : f32, .n_in = 1, .in = {in}, .out = TN_BOOL, .param = params};
  return tn_k_map(k, &m, k->in, k->out[0]);
}

UNARY_LOOP(isnan, f32, float, uint8_t, x != x)
UNARY_LOOP(isnan, f64, double, uint8_t, x != x)
TN_KERNEL(isnan, TN_K_SIZES) { return unary_predicate(k, isnan_f32, isnan_f64, NULL); }

UNARY_LOOP(isinf, f32, float, uint8_t, ((x > FLT_MAX) & (p[1] != 0)) | ((x < -FLT_MAX) & (p[0] != 0)))
UNARY_LOOP(isinf, f64, double, uint8_t, ((x > DBL_MAX) & (p[1] != 0)) | ((x < -DBL_MAX) & (p[0] != 0)))
TN_KERNEL(isinf, TN_K_SIZES) {
  const double sides[2] = {(double)tn_k_int(k, "detect_negative", 1), (double)tn_k_int(k, "detect_positive", 1)};
  return unary_predicate(k, isinf_f32, isinf_f64, sides);
}
