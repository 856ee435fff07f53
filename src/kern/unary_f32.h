/* Elementwise functions of one f32: the loops are compiled once for each CPU level and take TN_KMAP_LANES at a time. x
 * is the element, a and b (af and bf as floats) are the operator's attributes. What is not exact in float is computed
 * in double and rounded once. */
#ifndef TN_KERN_UNARY_F32_H
#define TN_KERN_UNARY_F32_H

#include "kern/map.h"

/* clang-format off */
#define TN_UNARY_F32_ROWS(ROW)                                                           \
  ROW(abs, fabsf(x))                                                                     \
  ROW(neg, -x)                                                                           \
  ROW(sign, x > 0 ? 1.0f : (x < 0 ? -1.0f : x))                                          \
  ROW(relu, x < 0 ? 0.0f : x)                                                            \
  ROW(ceil, ceilf(x))                                                                    \
  ROW(floor, floorf(x))                                                                  \
  ROW(round, nearbyintf(x))                                                              \
  ROW(exp, tn_expf(x))                                                                   \
  ROW(log, tn_log((double)x))                                                            \
  ROW(sqrt, sqrtf(x))                                                                    \
  ROW(reciprocal, 1.0f / x)                                                              \
  ROW(sin, tn_sin((double)x))                                                            \
  ROW(cos, tn_cos((double)x))                                                            \
  ROW(tan, tn_tan((double)x))                                                            \
  ROW(asin, tn_asin((double)x))                                                          \
  ROW(acos, tn_acos((double)x))                                                          \
  ROW(atan, tn_atan((double)x))                                                          \
  ROW(sinh, tn_sinh((double)x))                                                          \
  ROW(cosh, tn_cosh((double)x))                                                          \
  ROW(tanh, tn_tanhf(x))                                                                 \
  ROW(asinh, tn_asinh((double)x))                                                        \
  ROW(acosh, tn_acosh((double)x))                                                        \
  ROW(atanh, tn_atanh((double)x))                                                        \
  ROW(erf, tn_erff(x))                                                                   \
  ROW(sigmoid, tn_sigmoidf(x))                                                           \
  ROW(softplus, tn_softplus((double)x))                                                  \
  ROW(softsign, (double)x / (1.0 + fabs((double)x)))                                     \
  ROW(mish, tn_mish((double)x))                                                          \
  ROW(hardswish, (double)x * tn_clip01(((double)x + 3.0) * (1.0 / 6)))                   \
  ROW(gelu_erf, tn_gelu((double)x))                                                      \
  ROW(gelu_tanh, tn_gelu_tanh((double)x))                                                \
  ROW(swish, tn_swish((double)x, a))                                                     \
  ROW(elu, x < 0 ? a * tn_expm1((double)x) : (double)x)                                  \
  ROW(celu, x < 0 ? a * tn_expm1((double)x / a) : (double)x)                             \
  ROW(selu, b * (x > 0 ? (double)x : a * tn_expm1((double)x)))                           \
  ROW(leaky_relu, x < 0 ? af * x : x)                                                    \
  ROW(thresholded_relu, x > af ? x : 0.0f)                                               \
  ROW(hard_sigmoid, tn_clip01f(tn_fmaf(af, x, bf)))
/* clang-format on */

#define TN_UNARY_NUMBER(id, expr) TN_UNARY_##id,
enum { TN_UNARY_F32_ROWS(TN_UNARY_NUMBER) TN_N_UNARY };
#undef TN_UNARY_NUMBER

extern const tn_kmap_fn tn_unary_f32_v1[TN_N_UNARY];
#if defined(__x86_64__)
extern const tn_kmap_fn tn_unary_f32_v3[TN_N_UNARY];
extern const tn_kmap_fn tn_unary_f32_v4[TN_N_UNARY];
#endif

#endif
