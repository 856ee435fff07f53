/* Elementwise kernels of one operand. A row gives the meaning in float, double and integers; f16 and bf16 go through
 * float. p[0], p[1], ... are the row's attributes. */
#include <math.h>

#include "kern/map.h"
#include "kern/vmath.h"

typedef struct unary_row {
  tn_map_fn f32, f64;
  tn_map_fn ints[TN_N_DTYPES]; /* integer and bool types by number; NULL = not defined */
  const char *params[3];       /* names of float attributes */
  bool to_bool;
} unary_row;

static tn_status unary_run(tn_kcall *k, const unary_row *row) {
  const tn_karg *const x = k->in[0];
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  double params[3] = {0};
  for (int i = 0; i < 3 && row->params[i]; i++) params[i] = tn_k_float(k, row->params[i], 0);
  tn_map m = {.n_in = 1, .param = params};
  switch (x->dtype) {
    case TN_F32:
    case TN_F16:
    case TN_BF16:
      m.fn = row->f32;
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
    if (step[0] == 1) {                                                                                            \
      for (int64_t i = 0; i < n; i++) {                                                                            \
        const T x = xs[i];                                                                                         \
        ys[i] = (R)(expr);                                                                                         \
      }                                                                                                            \
      return;                                                                                                      \
    }                                                                                                              \
    for (int64_t i = 0; i < n; i++) {                                                                              \
      const T x = xs[i * step[0]];                                                                                 \
      ys[i] = (R)(expr);                                                                                           \
    }                                                                                                              \
  }

/* A float function. In the double expression the same names mean double. */
#define UNARY_ROW(id, f32_expr, f64_expr, ...)  \
  UNARY_LOOP(id, f32, float, float, f32_expr)   \
  UNARY_LOOP(id, f64, double, double, f64_expr) \
  static const unary_row id##_row = {.f32 = id##_f32, .f64 = id##_f64, .params = {__VA_ARGS__}};
#define TN_UNARY_KERNEL(id, f32_expr, f64_expr, ...) \
  UNARY_ROW(id, f32_expr, f64_expr, __VA_ARGS__)     \
  TN_KERNEL(id, TN_K_SIZES) { return unary_run(k, &id##_row); }

/* A float and signed integer operator; unsigned ones take the u_expr. */
#define TN_NUMERIC_KERNEL(id, f32_expr, f64_expr, i_expr, u_expr)    \
  UNARY_LOOP(id, f32, float, float, f32_expr)                        \
  UNARY_LOOP(id, f64, double, double, f64_expr)                      \
  UNARY_LOOP(id, i8, int8_t, int8_t, i_expr)                         \
  UNARY_LOOP(id, i16, int16_t, int16_t, i_expr)                      \
  UNARY_LOOP(id, i32, int32_t, int32_t, i_expr)                      \
  UNARY_LOOP(id, i64, int64_t, int64_t, i_expr)                      \
  UNARY_LOOP(id, u8, uint8_t, uint8_t, u_expr)                       \
  UNARY_LOOP(id, u16, uint16_t, uint16_t, u_expr)                    \
  UNARY_LOOP(id, u32, uint32_t, uint32_t, u_expr)                    \
  UNARY_LOOP(id, u64, uint64_t, uint64_t, u_expr)                    \
  static const unary_row id##_row = {.f32 = id##_f32,                \
                                     .f64 = id##_f64,                \
                                     .ints = {[TN_I8] = id##_i8,     \
                                              [TN_I16] = id##_i16,   \
                                              [TN_I32] = id##_i32,   \
                                              [TN_I64] = id##_i64,   \
                                              [TN_U8] = id##_u8,     \
                                              [TN_U16] = id##_u16,   \
                                              [TN_U32] = id##_u32,   \
                                              [TN_U64] = id##_u64}}; \
  TN_KERNEL(id, TN_K_SIZES) { return unary_run(k, &id##_row); }

static double unary_round_even(double x) { return nearbyint(x); }

static double unary_gelu(double x) { return 0.5 * x * (1 + erf(x * 0.70710678118654752440)); }
static double unary_gelu_tanh(double x) {
  return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
static double unary_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static float unary_softplusf(float x) { return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)); }
static double unary_shrink(double x, double lambd, double bias) {
  return x < -lambd ? x + bias : (x > lambd ? x - bias : 0);
}

/* Integer negation wraps: the unsigned subtraction is defined for the smallest value too. */
#define UNARY_WRAP_NEG(x) ((int64_t)(0 - (uint64_t)(x)))

TN_NUMERIC_KERNEL(abs, fabsf(x), fabs(x), x < 0 ? UNARY_WRAP_NEG(x) : (int64_t)x, x)
TN_NUMERIC_KERNEL(neg, -x, -x, UNARY_WRAP_NEG(x), 0u - x)
TN_NUMERIC_KERNEL(sign, x > 0 ? 1.0f : (x < 0 ? -1.0f : x), x > 0 ? 1.0 : (x < 0 ? -1.0 : x), (x > 0) - (x < 0), x > 0)
TN_NUMERIC_KERNEL(relu, x < 0 ? 0.0f : x, x < 0 ? 0.0 : x, x < 0 ? 0 : x, x)

TN_UNARY_KERNEL(ceil, ceilf(x), ceil(x), NULL)
TN_UNARY_KERNEL(floor, floorf(x), floor(x), NULL)
TN_UNARY_KERNEL(round, nearbyintf(x), unary_round_even(x), NULL)
TN_UNARY_KERNEL(exp, tn_expf(x), exp(x), NULL)
TN_UNARY_KERNEL(log, logf(x), log(x), NULL)
TN_UNARY_KERNEL(sqrt, sqrtf(x), sqrt(x), NULL)
TN_UNARY_KERNEL(reciprocal, 1.0f / x, 1.0 / x, NULL)
TN_UNARY_KERNEL(sin, sinf(x), sin(x), NULL)
TN_UNARY_KERNEL(cos, cosf(x), cos(x), NULL)
TN_UNARY_KERNEL(tan, tanf(x), tan(x), NULL)
TN_UNARY_KERNEL(asin, asinf(x), asin(x), NULL)
TN_UNARY_KERNEL(acos, acosf(x), acos(x), NULL)
TN_UNARY_KERNEL(atan, atanf(x), atan(x), NULL)
TN_UNARY_KERNEL(sinh, sinhf(x), sinh(x), NULL)
TN_UNARY_KERNEL(cosh, coshf(x), cosh(x), NULL)
TN_UNARY_KERNEL(tanh, tanhf(x), tanh(x), NULL)
TN_UNARY_KERNEL(asinh, asinhf(x), asinh(x), NULL)
TN_UNARY_KERNEL(acosh, acoshf(x), acosh(x), NULL)
TN_UNARY_KERNEL(atanh, atanhf(x), atanh(x), NULL)
TN_UNARY_KERNEL(erf, erff(x), erf(x), NULL)
TN_UNARY_KERNEL(sigmoid, tn_sigmoidf(x), 1.0 / (1.0 + exp(-x)), NULL)
TN_UNARY_KERNEL(softplus, unary_softplusf(x), unary_softplus(x), NULL)
TN_UNARY_KERNEL(softsign, x / (1.0f + fabsf(x)), x / (1.0 + fabs(x)), NULL)
TN_UNARY_KERNEL(mish, x *tanhf(unary_softplusf(x)), x *tanh(unary_softplus(x)), NULL)
TN_UNARY_KERNEL(hardswish, x *fminf(1.0f, fmaxf(0.0f, x *(1.0f / 6) + 0.5f)), x *fmin(1, fmax(0, x / 6 + 0.5)), NULL)
UNARY_ROW(gelu_erf, (float)unary_gelu((double)x), unary_gelu(x), NULL)
UNARY_ROW(gelu_tanh, (float)unary_gelu_tanh((double)x), unary_gelu_tanh(x), NULL)
TN_UNARY_KERNEL(swish, x *tn_sigmoidf((float)p[0] * x), x / (1.0 + exp(-p[0] * x)), "alpha")
TN_UNARY_KERNEL(elu, x < 0 ? (float)p[0] * expm1f(x) : x, x < 0 ? p[0] * expm1(x) : x, "alpha")
TN_UNARY_KERNEL(celu, x < 0 ? (float)p[0] * expm1f(x / (float)p[0]) : x, x < 0 ? p[0] * expm1(x / p[0]) : x, "alpha")
TN_UNARY_KERNEL(selu, (float)p[1] * (x > 0 ? x : (float)p[0] * expm1f(x)), p[1] * (x > 0 ? x : p[0] * expm1(x)),
                "alpha", "gamma")
TN_UNARY_KERNEL(leaky_relu, x < 0 ? (float)p[0] * x : x, x < 0 ? p[0] * x : x, "alpha")
TN_UNARY_KERNEL(thresholded_relu, x > (float)p[0] ? x : 0.0f, x > p[0] ? x : 0.0, "alpha")
TN_UNARY_KERNEL(hard_sigmoid, fminf(1.0f, fmaxf(0.0f, (float)p[0] * x + (float)p[1])),
                fmin(1, fmax(0, p[0] * x + p[1])), "alpha", "beta")

TN_KERNEL(gelu, TN_K_SIZES) {
  return unary_run(k, tn_k_str_is(k, "approximate", "tanh") ? &gelu_tanh_row : &gelu_erf_row);
}

/* Shrink: floats and all integers, computed in double. */
#define SHRINK_LOOP(suffix, T) UNARY_LOOP(shrink, suffix, T, T, unary_shrink((double)x, p[0], p[1]))
SHRINK_LOOP(f32, float)
SHRINK_LOOP(f64, double)
SHRINK_LOOP(i8, int8_t)
SHRINK_LOOP(i16, int16_t)
SHRINK_LOOP(i32, int32_t)
SHRINK_LOOP(i64, int64_t)
SHRINK_LOOP(u8, uint8_t)
SHRINK_LOOP(u16, uint16_t)
SHRINK_LOOP(u32, uint32_t)
SHRINK_LOOP(u64, uint64_t)
static const unary_row shrink_row = {.f32 = shrink_f32,
                                     .f64 = shrink_f64,
                                     .ints = {[TN_I8] = shrink_i8,
                                              [TN_I16] = shrink_i16,
                                              [TN_I32] = shrink_i32,
                                              [TN_I64] = shrink_i64,
                                              [TN_U8] = shrink_u8,
                                              [TN_U16] = shrink_u16,
                                              [TN_U32] = shrink_u32,
                                              [TN_U64] = shrink_u64},
                                     .params = {"lambd", "bias"}};
TN_KERNEL(shrink, TN_K_SIZES) { return unary_run(k, &shrink_row); }

UNARY_LOOP(not, u8, uint8_t, uint8_t, !x)
static const unary_row not_row = {.ints = {[TN_BOOL] = not_u8}};
TN_KERNEL(not, TN_K_SIZES) { return unary_run(k, &not_row); }

UNARY_LOOP(bitwise_not, u8, uint8_t, uint8_t, ~x)
UNARY_LOOP(bitwise_not, u16, uint16_t, uint16_t, ~x)
UNARY_LOOP(bitwise_not, u32, uint32_t, uint32_t, ~x)
UNARY_LOOP(bitwise_not, u64, uint64_t, uint64_t, ~x)
static const unary_row bitwise_not_row = {.ints = {[TN_I8] = bitwise_not_u8,
                                                   [TN_I16] = bitwise_not_u16,
                                                   [TN_I32] = bitwise_not_u32,
                                                   [TN_I64] = bitwise_not_u64,
                                                   [TN_U8] = bitwise_not_u8,
                                                   [TN_U16] = bitwise_not_u16,
                                                   [TN_U32] = bitwise_not_u32,
                                                   [TN_U64] = bitwise_not_u64}};
TN_KERNEL(bitwise_not, TN_K_SIZES) { return unary_run(k, &bitwise_not_row); }

UNARY_LOOP(isnan, f32, float, uint8_t, x != x)
UNARY_LOOP(isnan, f64, double, uint8_t, x != x)
static const unary_row isnan_row = {.f32 = isnan_f32, .f64 = isnan_f64, .to_bool = true};
TN_KERNEL(isnan, TN_K_SIZES) { return unary_run(k, &isnan_row); }

UNARY_LOOP(isinf, f32, float, uint8_t, isinf(x) && (x > 0 ? p[1] != 0 : p[0] != 0))
UNARY_LOOP(isinf, f64, double, uint8_t, isinf(x) && (x > 0 ? p[1] != 0 : p[0] != 0))
TN_KERNEL(isinf, TN_K_SIZES) {
  const tn_karg *const x = k->in[0];
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  if (!tn_dtype_is_float(x->dtype)) return tn_k_no_dtype(k, 0);
  const double sides[2] = {(double)tn_k_int(k, "detect_negative", 1), (double)tn_k_int(k, "detect_positive", 1)};
  const tn_dtype in = x->dtype == TN_F64 ? TN_F64 : TN_F32;
  const tn_map m = {.fn = in == TN_F64 ? isinf_f64 : isinf_f32, .n_in = 1, .in = {in}, .out = TN_BOOL, .param = sides};
  return tn_k_map(k, &m, k->in, k->out[0]);
}
