/* Elementwise operators of one operand. A row holds the meaning twice: the double (and integer) expression of the
 * oracle here, the kernel of the same name in kern/unary.c. */
#include <math.h>

#include "op/ratio.h"

/* Content through a function that keeps integers integers; other rows only compute constants. */
static tn_elem unary_const(tn_rule *r, const tn_elem *in, tn_f64_fn1 f) {
  double x;
  if (!tn_dtype_is_float(r->out[0].dtype) || !tn_elem_const(in, &x)) return (tn_elem){0};
  return tn_elem_round(r, f(x, tn_op_float_attr(r->node, 0), tn_op_float_attr(r->node, 1)));
}

#define UNARY_FNS(id, f_expr)                            \
  static double id##_f64(double x, double a, double b) { \
    (void)a, (void)b;                                    \
    return f_expr;                                       \
  }
#define UNARY_CONST_VALUE(id)                                                                      \
  static tn_elem id##_elem(tn_rule *r, const tn_elem *in) { return unary_const(r, in, id##_f64); } \
  static tn_status id##_value(tn_rule *r) { return tn_op_value_map(r, id##_elem); }
#define TN_UNARY_OP(id, set, acc, tol, traits_, doc_, ...)        \
  TN_OP(id){                                                      \
      .name = #id,                                                \
      .in = {{"x", set, "T"}},                                    \
      .out = {{"y", set, "T"}},                                   \
      .attrs = {__VA_ARGS__},                                     \
      .type = tn_type_by_group,                                   \
      .shape = tn_shape_as_input,                                 \
      .value = id##_value,                                        \
      .eval = id##_eval,                                          \
      .kernel = #id,                                              \
      .traits = TN_TRAIT_PURE | TN_TRAIT_ELEMENTWISE | (traits_), \
      .accuracy = {acc, tol},                                     \
      .doc = doc_,                                                \
  };

/* A float operator. */
#define TN_FLOAT_OP(id, tol, f_expr, doc_, ...)                                     \
  UNARY_FNS(id, f_expr)                                                             \
  UNARY_CONST_VALUE(id)                                                             \
  static tn_status id##_eval(tn_eval *e) { return tn_op_eval1(e, id##_f64, NULL); } \
  TN_UNARY_OP(id, TN_SET_FLOATS, TN_ACC_ULP, tol, 0, doc_, __VA_ARGS__)

/* Floats and integers; sym_expr gives the content of an integer `s`, fraction(r, in) that of a quotient. */
#define TN_NUMBER_OP(id, set, f_expr, i_expr, unsigned_, sym_expr, fraction, doc_)       \
  UNARY_FNS(id, f_expr)                                                                  \
  static int64_t id##_i64(int64_t x) { return i_expr; }                                  \
  static tn_elem id##_elem(tn_rule *r, const tn_elem *in) {                              \
    const tn_sym s = in->sym;                                                            \
    if (in->kind == TN_ELEM_RATIO || in->kind == TN_ELEM_SCALED) return fraction(r, in); \
    if (in->kind != TN_ELEM_SYM) return unary_const(r, in, id##_f64);                    \
    return tn_elem_sym(sym_expr);                                                        \
  }                                                                                      \
  static tn_status id##_value(tn_rule *r) { return tn_op_value_map(r, id##_elem); }      \
  static tn_status id##_eval(tn_eval *e) {                                               \
    const bool no_sign = tn_dtype_cls(e->in[0]->dtype) == TN_CLASS_UINT;                 \
    return tn_op_eval1(e, id##_f64, no_sign ? unary_##unsigned_ : id##_i64);             \
  }                                                                                      \
  TN_UNARY_OP(id, set, TN_ACC_EXACT, 0, 0, doc_, {0})

/* What a function of signed numbers is for unsigned ones, whose upper half tn_i64_fn1 gets as negative numbers. */
static int64_t unary_same(int64_t x) { return x; }
static int64_t unary_not_zero(int64_t x) { return x != 0; }

static double unary_sign(double x) { return x > 0 ? 1 : (x < 0 ? -1 : x); }
static tn_sym unary_sign_sym(tn_rule *r, tn_sym s) {
  tn_symtab *const t = r->syms;
  const tn_sym zero = tn_sym_int(t, 0);
  return tn_sym_sub(t, tn_sym_lt(t, zero, s), tn_sym_lt(t, s, zero));
}
static double unary_clip01(double x) { return x < 0 ? 0 : (x > 1 ? 1 : x); } /* NaN stays */
static double unary_log1pexp(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

/* Rows that also take quotients: what rounding or a sign makes of them. */
static tn_elem unary_no_fraction(tn_rule *r, const tn_elem *in) {
  (void)r, (void)in;
  return (tn_elem){0};
}
static tn_elem unary_keep_positive(tn_rule *r, const tn_elem *in) {
  return tn_sym_bounds(r->syms, in->sym).lo >= 0 && in->f >= 0 ? *in : (tn_elem){0};
}
static tn_elem unary_down(tn_rule *r, const tn_elem *in) {
  return tn_elem_whole(r, r->out[0].dtype, in, TN_ROUND_DOWN);
}
static tn_elem unary_up(tn_rule *r, const tn_elem *in) { return tn_elem_whole(r, r->out[0].dtype, in, TN_ROUND_UP); }
static tn_elem unary_even(tn_rule *r, const tn_elem *in) {
  return tn_elem_whole(r, r->out[0].dtype, in, TN_ROUND_EVEN);
}

TN_NUMBER_OP(abs, TN_SET_NUMBERS, fabs(x), x < 0 ? (int64_t)(0 - (uint64_t)x) : x, same,
             tn_sym_max(r->syms, s, tn_sym_neg(r->syms, s)), unary_keep_positive, "|x|")
TN_NUMBER_OP(neg, TN_SET_FLOATS | TN_SET_INTS, -x, (int64_t)(0 - (uint64_t)x), same, tn_sym_neg(r->syms, s),
             tn_elem_negate, "-x")
TN_NUMBER_OP(sign, TN_SET_NUMBERS, unary_sign(x), (x > 0) - (x < 0), not_zero, unary_sign_sym(r, s), unary_no_fraction,
             "-1, 0 or 1")
TN_NUMBER_OP(relu, TN_SET_FLOATS | TN_SET_INTS, x < 0 ? 0 : x, x < 0 ? 0 : x, same,
             tn_sym_max(r->syms, s, tn_sym_int(r->syms, 0)), unary_keep_positive, "max(x, 0)")
TN_NUMBER_OP(ceil, TN_SET_FLOATS, ceil(x), x, same, s, unary_up, "smallest integer >= x")
TN_NUMBER_OP(floor, TN_SET_FLOATS, floor(x), x, same, s, unary_down, "largest integer <= x")
TN_NUMBER_OP(round, TN_SET_FLOATS, nearbyint(x), x, same, s, unary_even, "nearest integer, halves to even")

TN_FLOAT_OP(exp, 2, exp(x), "e^x", {0})
TN_FLOAT_OP(log, 1, log(x), "natural logarithm", {0})
TN_FLOAT_OP(sqrt, 0.501, sqrt(x), "square root", {0})
TN_FLOAT_OP(reciprocal, 0.501, 1 / x, "1 / x", {0})
TN_FLOAT_OP(sin, 1, sin(x), "sine", {0})
TN_FLOAT_OP(cos, 1, cos(x), "cosine", {0})
TN_FLOAT_OP(tan, 2, tan(x), "tangent", {0})
TN_FLOAT_OP(asin, 1, asin(x), "arcsine", {0})
TN_FLOAT_OP(acos, 1, acos(x), "arccosine", {0})
TN_FLOAT_OP(atan, 1, atan(x), "arctangent", {0})
TN_FLOAT_OP(sinh, 2, sinh(x), "hyperbolic sine", {0})
TN_FLOAT_OP(cosh, 2, cosh(x), "hyperbolic cosine", {0})
TN_FLOAT_OP(tanh, 2, tanh(x), "hyperbolic tangent", {0})
TN_FLOAT_OP(asinh, 2, asinh(x), "inverse hyperbolic sine", {0})
TN_FLOAT_OP(acosh, 2, acosh(x), "inverse hyperbolic cosine", {0})
TN_FLOAT_OP(atanh, 2, atanh(x), "inverse hyperbolic tangent", {0})
TN_FLOAT_OP(sigmoid, 3, x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)), "1 / (1 + e^-x)", {0})
TN_FLOAT_OP(softplus, 2, unary_log1pexp(x), "log(1 + e^x)", {0})
TN_FLOAT_OP(softsign, 2, x / (1 + fabs(x)), "x / (1 + |x|)", {0})
TN_FLOAT_OP(mish, 4, x *tanh(unary_log1pexp(x)), "x * tanh(softplus(x))", {0})
TN_FLOAT_OP(hardswish, 2, x *unary_clip01((x + 3) / 6), "x * clip((x + 3) / 6, 0, 1)", {0})
TN_FLOAT_OP(swish, 4, x / (1 + exp(-a * x)), "x * sigmoid(alpha * x)", {"alpha", TN_ATTR_FLOAT, .f = 1})
TN_FLOAT_OP(elu, 2, x < 0 ? a * expm1(x) : x, "alpha * (e^x - 1) below 0, else x", {"alpha", TN_ATTR_FLOAT, .f = 1})
TN_FLOAT_OP(celu, 2, x < 0 ? a * expm1(x / a) : x, "alpha * (e^(x/alpha) - 1) below 0, else x",
            {"alpha", TN_ATTR_FLOAT, .f = 1})
TN_FLOAT_OP(selu, 3, b *(x > 0 ? x : a * expm1(x)), "gamma * (x, or alpha * (e^x - 1) below 0)",
            {"alpha", TN_ATTR_FLOAT, .f = 1.67326319217681884765625},
            {"gamma", TN_ATTR_FLOAT, .f = 1.05070102214813232421875})
TN_FLOAT_OP(leaky_relu, 0.501, x < 0 ? a * x : x, "alpha * x below 0, else x",
            {"alpha", TN_ATTR_FLOAT, .f = 0.00999999977648258209228515625})
TN_FLOAT_OP(thresholded_relu, 0.501, x > a ? x : 0, "x above alpha, else 0", {"alpha", TN_ATTR_FLOAT, .f = 1})
TN_FLOAT_OP(hard_sigmoid, 2, unary_clip01(a *x + b), "clip(alpha * x + beta, 0, 1)",
            {"alpha", TN_ATTR_FLOAT, .f = 0.20000000298023223876953125}, {"beta", TN_ATTR_FLOAT, .f = 0.5})

/* erf and shrink also take integers. */
UNARY_FNS(erf, erf(x))
UNARY_CONST_VALUE(erf)
static double erf_f32(double x, double a, double b) { return (void)a, (void)b, (double)(float)erf(x); }
static tn_status erf_eval(tn_eval *e) {
  return tn_op_eval1(e, tn_dtype_is_float(e->in[0]->dtype) ? erf_f64 : erf_f32, NULL);
}
TN_UNARY_OP(erf, TN_SET_NUMBERS, TN_ACC_ULP, 2, 0, "error function", {0})

UNARY_FNS(shrink, x < -a ? x + b : (x > a ? x - b : 0))
UNARY_CONST_VALUE(shrink)
static tn_status shrink_eval(tn_eval *e) { return tn_op_eval1(e, shrink_f64, NULL); }
TN_UNARY_OP(shrink, TN_SET_NUMBERS, TN_ACC_ULP, 1, 0, "x + bias below -lambd, x - bias above lambd, else 0",
            {"lambd", TN_ATTR_FLOAT, .f = 0.5}, {"bias", TN_ATTR_FLOAT, .f = 0, .has_default = true})

static tn_status gelu_eval(tn_eval *e) {
  const bool approximate = tn_eval_str_is(e, "approximate", "tanh");
  const tn_lit *const x = e->in[0];
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  for (int64_t i = 0; i < x->count; i++) {
    const double v = tn_lit_f64(x, i);
    const double u = sqrt(8 / M_PI) * (v + 0.044715 * pow(v, 3));
    tn_store_f64(y->dtype, tn_lit_data(y), i, approximate ? v / (1 + exp(-u)) : 0.5 * v * erfc(-v / sqrt(2)));
  }
  return TN_OK;
}
#define gelu_value NULL
TN_UNARY_OP(gelu, TN_SET_FLOATS, TN_ACC_ULP, 4, 0, "x * Phi(x), or its tanh approximation",
            {"approximate", TN_ATTR_STR, .s = "none"})
#undef gelu_value

/* --- predicates and logic --- */

static int64_t not_i64(int64_t x) { return !x; }
static tn_status not_eval(tn_eval *e) { return tn_op_eval1(e, NULL, not_i64); }
static tn_elem not_elem(tn_rule *r, const tn_elem *in) {
  return in->kind == TN_ELEM_SYM ? tn_elem_sym(tn_sym_not(r->syms, in->sym)) : (tn_elem){0};
}
static tn_status not_value(tn_rule *r) { return tn_op_value_map(r, not_elem); }
TN_UNARY_OP(not, TN_SET(BOOL), TN_ACC_EXACT, 0, 0, "logical not", {0})

static int64_t bitwise_not_i64(int64_t x) { return ~x; }
static tn_status bitwise_not_eval(tn_eval *e) { return tn_op_eval1(e, NULL, bitwise_not_i64); }
#define bitwise_not_value NULL
TN_UNARY_OP(bitwise_not, TN_SET_INTS | TN_SET_UINTS, TN_ACC_EXACT, 0, 0, "every bit inverted", {0})
#undef bitwise_not_value

static double isnan_f64(double x, double a, double b) { return (void)a, (void)b, x != x; }
static tn_status isnan_eval(tn_eval *e) { return tn_op_eval1(e, isnan_f64, NULL); }
static tn_status isinf_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, TN_BOOL, x->rank, x->dims, &y));
  for (int64_t i = 0; i < x->count; i++) {
    const double v = tn_lit_f64(x, i);
    const bool yes = isinf(v) && tn_eval_int(e, v > 0 ? "detect_positive" : "detect_negative");
    tn_store_i64(TN_BOOL, tn_lit_data(y), i, yes);
  }
  return TN_OK;
}
#define TN_PREDICATE_OP(id, doc_, ...)                \
  TN_OP(id){                                          \
      .name = #id,                                    \
      .in = {{"x", TN_SET_FLOATS | TN_SET_FLOAT8}},   \
      .out = {{"y", TN_SET(BOOL)}},                   \
      .attrs = {__VA_ARGS__},                         \
      .type = tn_type_bool,                           \
      .shape = tn_shape_as_input,                     \
      .eval = id##_eval,                              \
      .kernel = #id,                                  \
      .traits = TN_TRAIT_PURE | TN_TRAIT_ELEMENTWISE, \
      .accuracy = {TN_ACC_EXACT, 0},                  \
      .doc = doc_,                                    \
  };
TN_PREDICATE_OP(isnan, "x is not a number", {0})
TN_PREDICATE_OP(isinf, "x is an infinity of a wanted sign", {"detect_negative", TN_ATTR_INT, .i = 1},
                {"detect_positive", TN_ATTR_INT, .i = 1})

/* clang-format off */
TN_ONNX(ai, Abs, 1, TN_LATEST, abs, tn_import_same)
TN_ONNX(ai, Neg, 1, TN_LATEST, neg, tn_import_same)
TN_ONNX(ai, Sign, 9, TN_LATEST, sign, tn_import_same)
TN_ONNX(ai, Relu, 1, TN_LATEST, relu, tn_import_same)
TN_ONNX(ai, Ceil, 1, TN_LATEST, ceil, tn_import_same)
TN_ONNX(ai, Floor, 1, TN_LATEST, floor, tn_import_same)
TN_ONNX(ai, Round, 11, TN_LATEST, round, tn_import_same)
TN_ONNX(ai, Exp, 1, TN_LATEST, exp, tn_import_same)
TN_ONNX(ai, Log, 1, TN_LATEST, log, tn_import_same)
TN_ONNX(ai, Sqrt, 1, TN_LATEST, sqrt, tn_import_same)
TN_ONNX(ai, Reciprocal, 1, TN_LATEST, reciprocal, tn_import_same)
TN_ONNX(ai, Sin, 7, TN_LATEST, sin, tn_import_same)
TN_ONNX(ai, Cos, 7, TN_LATEST, cos, tn_import_same)
TN_ONNX(ai, Tan, 7, TN_LATEST, tan, tn_import_same)
TN_ONNX(ai, Asin, 7, TN_LATEST, asin, tn_import_same)
TN_ONNX(ai, Acos, 7, TN_LATEST, acos, tn_import_same)
TN_ONNX(ai, Atan, 7, TN_LATEST, atan, tn_import_same)
TN_ONNX(ai, Sinh, 9, TN_LATEST, sinh, tn_import_same)
TN_ONNX(ai, Cosh, 9, TN_LATEST, cosh, tn_import_same)
TN_ONNX(ai, Tanh, 1, TN_LATEST, tanh, tn_import_same)
TN_ONNX(ai, Asinh, 9, TN_LATEST, asinh, tn_import_same)
TN_ONNX(ai, Acosh, 9, TN_LATEST, acosh, tn_import_same)
TN_ONNX(ai, Atanh, 9, TN_LATEST, atanh, tn_import_same)
TN_ONNX(ai, Erf, 9, TN_LATEST, erf, tn_import_same)
TN_ONNX(ai, Sigmoid, 1, TN_LATEST, sigmoid, tn_import_same)
TN_ONNX(ai, Softplus, 1, TN_LATEST, softplus, tn_import_same)
TN_ONNX(ai, Softsign, 1, TN_LATEST, softsign, tn_import_same)
TN_ONNX(ai, Mish, 18, TN_LATEST, mish, tn_import_same)
TN_ONNX(ai, HardSwish, 14, TN_LATEST, hardswish, tn_import_same)
TN_ONNX(ai, Swish, 24, TN_LATEST, swish, tn_import_same)
TN_ONNX(ai, Elu, 1, TN_LATEST, elu, tn_import_same)
TN_ONNX(ai, Celu, 12, TN_LATEST, celu, tn_import_same)
TN_ONNX(ai, Selu, 1, TN_LATEST, selu, tn_import_same)
TN_ONNX(ai, LeakyRelu, 1, TN_LATEST, leaky_relu, tn_import_same)
TN_ONNX(ai, ThresholdedRelu, 1, TN_LATEST, thresholded_relu, tn_import_same)
TN_ONNX(ai, HardSigmoid, 1, TN_LATEST, hard_sigmoid, tn_import_same)
TN_ONNX(ai, Gelu, 20, TN_LATEST, gelu, tn_import_same)
TN_ONNX(ai, Shrink, 9, TN_LATEST, shrink, tn_import_same)
TN_ONNX(ai, Not, 1, TN_LATEST, not, tn_import_same)
TN_ONNX(ai, BitwiseNot, 18, TN_LATEST, bitwise_not, tn_import_same)
TN_ONNX(ai, IsNaN, 9, TN_LATEST, isnan, tn_import_same)
TN_ONNX(ai, IsInf, 10, TN_LATEST, isinf, tn_import_same)
