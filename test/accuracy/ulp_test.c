/* Accuracy of the elementwise float kernels, in units of the last place: every operator whose accuracy class is ULP is
 * held to its bound over all 2^16 inputs of f16 and bf16, and over samples of the whole range of f32 and f64 with the
 * edges of the type. The exact value is that of the C library in long double.
 *
 * A bound is of f32 and f64 (of f64 down to 1e-290); a short type has the bound, or 1 where that is less, because it
 * rounds the result of f32 once more.
 *
 * TENON_ULP_SAMPLES sets the number of samples of f32 (200,000). TENON_ULP_TABLE=1 prints the table. */
#include <float.h>
#include <stdlib.h>

#include "base/half.h"
#include "base/rng.h"
#include "ir/op.h"
#include "kern/nn_call.h"

typedef long double (*ulp_fn)(long double x, long double y);

typedef struct ulp_row {
  const char *op;
  ulp_fn fn;
  int n_in;
  const char *names[2]; /* of attributes */
  double values[2];
} ulp_row;

static long double ulp_sigmoid(long double x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
static long double ulp_softplus(long double x) { return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)); }
static long double ulp_clip(long double x, long double lo, long double hi) {
  return x != x ? x : (x < lo ? lo : (x > hi ? hi : x));
}
#define ULP_1(name, expr)                                       \
  static long double ulp_##name(long double x, long double y) { \
    (void)y;                                                    \
    return (expr);                                              \
  }
#define ULP_2(name, expr) \
  static long double ulp_##name(long double x, long double y) { return (expr); }
/* Attributes have the value of their float. */
#define A(v) ((long double)(double)(v##f))
#define ALPHA_SELU A(1.67326319217681884765625)
#define GAMMA_SELU A(1.05070102214813232421875)

ULP_1(abs, fabsl(x))
ULP_1(neg, -x)
ULP_1(sign, x > 0 ? 1 : (x < 0 ? -1 : x))
ULP_1(relu, x < 0 ? 0 : x)
ULP_1(ceil, ceill(x))
ULP_1(floor, floorl(x))
ULP_1(round, nearbyintl(x))
ULP_1(exp, expl(x))
ULP_1(log, logl(x))
ULP_1(sqrt, sqrtl(x))
ULP_1(reciprocal, 1 / x)
ULP_1(sin, sinl(x))
ULP_1(cos, cosl(x))
ULP_1(tan, tanl(x))
ULP_1(asin, asinl(x))
ULP_1(acos, acosl(x))
ULP_1(atan, atanl(x))
ULP_1(sinh, sinhl(x))
ULP_1(cosh, coshl(x))
ULP_1(tanh, tanhl(x))
ULP_1(asinh, asinhl(x))
ULP_1(acosh, acoshl(x))
ULP_1(atanh, atanhl(x))
ULP_1(erf, erfl(x))
ULP_1(logistic, ulp_sigmoid(x))
ULP_1(soft_plus, ulp_softplus(x))
ULP_1(softsign, x / (1 + fabsl(x)))
ULP_1(mish, x *(tanhl(ulp_softplus(x))))
ULP_1(hardswish, x *(ulp_clip(x / 6 + 0.5L, 0, 1)))
ULP_1(gelu, x *(0.5L * erfcl(-x * 0.707106781186547524400844362104849039L)))
ULP_1(swish, x *(ulp_sigmoid(A(1.5) * x)))
ULP_1(elu, x < 0 ? A(1.5) * expm1l(x) : x)
ULP_1(celu, x < 0 ? A(1.5) * expm1l(x / A(1.5)) : x)
ULP_1(selu, GAMMA_SELU *(x > 0 ? x : ALPHA_SELU * expm1l(x)))
ULP_1(leaky_relu, x < 0 ? A(0.1) * x : x)
ULP_1(thresholded_relu, x > A(0.7) ? x : 0)
ULP_1(hard_sigmoid, ulp_clip(A(0.3) * x + A(0.4), 0, 1))
ULP_1(shrink, x < -A(0.7) ? x + A(0.2) : (x > A(0.7) ? x - A(0.2) : 0))
ULP_2(add, x + y)
ULP_2(sub, x - y)
ULP_2(mul, x *y)
ULP_2(div, x / y)
ULP_2(pow, powl(x, y))
ULP_2(mod, fmodl(x, y))
ULP_2(prelu, x < 0 ? x * y : x)

static const ulp_row ulp_rows[] = {
    {"abs", ulp_abs, 1},
    {"neg", ulp_neg, 1},
    {"sign", ulp_sign, 1},
    {"relu", ulp_relu, 1},
    {"ceil", ulp_ceil, 1},
    {"floor", ulp_floor, 1},
    {"round", ulp_round, 1},
    {"exp", ulp_exp, 1},
    {"log", ulp_log, 1},
    {"sqrt", ulp_sqrt, 1},
    {"reciprocal", ulp_reciprocal, 1},
    {"sin", ulp_sin, 1},
    {"cos", ulp_cos, 1},
    {"tan", ulp_tan, 1},
    {"asin", ulp_asin, 1},
    {"acos", ulp_acos, 1},
    {"atan", ulp_atan, 1},
    {"sinh", ulp_sinh, 1},
    {"cosh", ulp_cosh, 1},
    {"tanh", ulp_tanh, 1},
    {"asinh", ulp_asinh, 1},
    {"acosh", ulp_acosh, 1},
    {"atanh", ulp_atanh, 1},
    {"erf", ulp_erf, 1},
    {"sigmoid", ulp_logistic, 1},
    {"softplus", ulp_soft_plus, 1},
    {"softsign", ulp_softsign, 1},
    {"mish", ulp_mish, 1},
    {"hardswish", ulp_hardswish, 1},
    {"gelu", ulp_gelu, 1},
    {"swish", ulp_swish, 1, {"alpha"}, {1.5}},
    {"elu", ulp_elu, 1, {"alpha"}, {1.5}},
    {"celu", ulp_celu, 1, {"alpha"}, {1.5}},
    {"selu", ulp_selu, 1, {"alpha", "gamma"}, {(double)1.67326319217681884765625f, (double)1.05070102214813232421875f}},
    {"leaky_relu", ulp_leaky_relu, 1, {"alpha"}, {(double)0.1f}},
    {"thresholded_relu", ulp_thresholded_relu, 1, {"alpha"}, {(double)0.7f}},
    {"hard_sigmoid", ulp_hard_sigmoid, 1, {"alpha", "beta"}, {(double)0.3f, (double)0.4f}},
    {"shrink", ulp_shrink, 1, {"lambd", "bias"}, {(double)0.7f, (double)0.2f}},
    {"add", ulp_add, 2},
    {"sub", ulp_sub, 2},
    {"mul", ulp_mul, 2},
    {"div", ulp_div, 2},
    {"pow", ulp_pow, 2},
    {"mod", ulp_mod, 2},
    {"prelu", ulp_prelu, 2},
};

typedef struct ulp_type {
  tn_dtype dtype;
  int digits, min_exponent, max_exponent; /* as in float.h: FLT_MANT_DIG, FLT_MIN_EXP, FLT_MAX_EXP */
} ulp_type;
static const ulp_type ulp_types[] = {{TN_F16, 11, -13, 16},
                                     {TN_BF16, 8, -125, 128},
                                     {TN_F32, FLT_MANT_DIG, FLT_MIN_EXP, FLT_MAX_EXP},
                                     {TN_F64, DBL_MANT_DIG, DBL_MIN_EXP, DBL_MAX_EXP}};

/* The distance in units of the last place of `want`; HUGE_VAL where one is no number and the other is. An infinity
 * counts as the first power of two that the type does not hold. */
static double ulp_error(const ulp_type *t, long double have, long double want) {
  const long double end = ldexpl(1, t->max_exponent);
  if (isnan(have) || isnan(want)) return isnan(have) && isnan(want) ? 0 : HUGE_VAL;
  have = have > end ? end : (have < -end ? -end : have);
  want = want > end ? end : (want < -end ? -end : want);
  int e;
  (void)frexpl(want, &e);
  if (want >= end || want <= -end) e = t->max_exponent;
  if (want == 0 || e < t->min_exponent) e = t->min_exponent;
  return (double)(fabsl(have - want) / ldexpl(1, e - t->digits));
}

static long double ulp_get(tn_dtype d, const void *data, int64_t i) { return (long double)tn_load_f64(d, data, i); }

enum { ULP_BLOCK = 65536 };

/* Inputs: all of a short type; else a third over all bits, a third over [-32, 32], a third around 1, edges first. */
static void ulp_fill(tn_dtype d, tn_karg *a, uint64_t stream, int64_t first) {
  static const double edges[] = {0,        1,         0.5,     2,        3,        0x1p-149, 0x1p-126,
                                 0x1p-127, 0x1p-24,   0x1p-12, 88.72283, 88.72284, 103.972,  104,
                                 709.782,  745.13,    8388608, 16777216, 1e10,     1e30,     3.4e38,
                                 1e300,    0x1p-1074, M_PI,    M_PI / 2, M_LN2,    5e-324};
  for (int64_t i = 0; i < a->count; i++) {
    const uint64_t at = (uint64_t)(first + i), bits = tn_rng_u64(stream, 2 * at);
    const double u = tn_rng_f64(stream, 2 * at + 1) * 2 - 1;
    if (d == TN_F16 || d == TN_BF16) {
      ((uint16_t *)a->data)[i] = (uint16_t)(stream ? bits : at);
      continue;
    }
    if (at < 2 * TN_COUNT(edges))
      tn_store_f64(d, a->data, i, at % 2 ? -edges[at / 2] : edges[at / 2]);
    else if (at < 2 * TN_COUNT(edges) + 3)
      tn_store_f64(d, a->data, i, at % 3 == 0 ? HUGE_VAL : (at % 3 == 1 ? -HUGE_VAL : (double)NAN));
    else if (at % 3 == 0)
      memcpy((char *)a->data + (size_t)i * (d == TN_F64 ? 8 : 4), &bits, d == TN_F64 ? 8 : 4);
    else
      tn_store_f64(d, a->data, i, at % 3 == 1 ? 32 * u : u > 0 ? 1 + u * u * u : -1 - u * u * u);
  }
}

typedef struct ulp_worst {
  double error;
  long double in[2], have, want;
} ulp_worst;

static bool ulp_block(const ulp_row *row, const ulp_type *t, uint64_t stream, int64_t first, ulp_worst *worst) {
  const int64_t n = ULP_BLOCK;
  nn_call c;
  nn_begin(&c);
  for (int i = 0; i < row->n_in; i++) ulp_fill(t->dtype, nn_in(&c, t->dtype, 1, &n), stream + (uint64_t)i, first);
  const tn_karg *const y = nn_out(&c, t->dtype, 1, &n);
  for (int i = 0; i < 2 && row->names[i]; i++) nn_float(&c, row->names[i], row->values[i]);
  if (strcmp(row->op, "mod") == 0) nn_int(&c, "fmod", 1);
  const bool ok = nn_run(&c, tn_kernel_find(tn_op_find(row->op)->kernel));
  for (int64_t i = 0; ok && i < n; i++) {
    long double in[2] = {0};
    for (int j = 0; j < row->n_in; j++) in[j] = ulp_get(t->dtype, c.in[j]->data, i);
    const long double want = row->fn(in[0], in[1]), have = ulp_get(t->dtype, y->data, i);
    const double error = ulp_error(t, have, want);
    if (t->dtype == TN_F64 && fabsl(want) < 1e-290L) continue; /* factors may be subnormal already */
    if (error > worst->error) *worst = (ulp_worst){error, {in[0], in[1]}, have, want};
  }
  nn_end(&c);
  return ok;
}

static int64_t ulp_samples(void) {
  const char *const given = getenv("TENON_ULP_SAMPLES");
  const long long n = given ? atoll(given) : 0;
  return n > 0 ? n : 200000;
}

static double ulp_of(const ulp_row *row, const ulp_type *t) {
  ulp_worst worst = {0};
  const double tol = tn_op_find(row->op)->accuracy.tol;
  const bool is_short = t->dtype == TN_F16 || t->dtype == TN_BF16;
  const double bound = is_short && tol > 1 ? 1 : tol;
  const int64_t n = t->dtype == TN_F32 ? ulp_samples() : t->dtype == TN_F64 ? 2 * ULP_BLOCK : ULP_BLOCK;
  for (int64_t first = 0; first < n; first += ULP_BLOCK)
    if (!ulp_block(row, t, (uint64_t)(row->n_in - 1) * 77, first, &worst)) return HUGE_VAL;
  if (!CHECK(worst.error <= bound))
    printf("%s of %s: %.3g ulp, at most %g allowed: (%.9Lg, %.9Lg) gives %.9Lg, not %.9Lg\n", row->op,
           tn_dtype_name(t->dtype), worst.error, bound, worst.in[0], worst.in[1], worst.have, worst.want);
  return worst.error;
}

TEST(elementwise_functions_keep_their_bound) {
  const bool table = getenv("TENON_ULP_TABLE") != NULL;
  if (table) printf("%-18s %6s %9s %9s %9s %9s\n", "operator", "bound", "f16", "bf16", "f32", "f64");
  for (size_t i = 0; i < TN_COUNT(ulp_rows); i++) {
    double worst[TN_COUNT(ulp_types)];
    for (size_t t = 0; t < TN_COUNT(ulp_types); t++) worst[t] = ulp_of(&ulp_rows[i], &ulp_types[t]);
    if (table)
      printf("%-18s %6g %9.3f %9.3f %9.3f %9.3f\n", ulp_rows[i].op, tn_op_find(ulp_rows[i].op)->accuracy.tol, worst[0],
             worst[1], worst[2], worst[3]);
  }
}

/* An operator of the class must have a row above. */
TEST(every_operator_of_the_class_is_held_to_it) {
  for (int i = 0; i < tn_op_count(); i++) {
    if (tn_op_at(i)->accuracy.kind != TN_ACC_ULP) continue;
    bool found = false;
    for (size_t r = 0; r < TN_COUNT(ulp_rows) && !found; r++) found = strcmp(ulp_rows[r].op, tn_op_at(i)->name) == 0;
    if (!CHECK(found)) printf("%s has no row\n", tn_op_at(i)->name);
  }
}
