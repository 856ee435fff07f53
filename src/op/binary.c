/* Elementwise operators of two or more broadcast operands: arithmetic, comparison, logic, bits, selection. Kernels of
 * the same names are in kern/binary.c. */
#include <math.h>

#include "ir/ledger.h"
#include "op/move.h"
#include "op/ratio.h"

#define TN_BINARY_OP(id, set, traits_, acc, tol, doc_, ...)       \
  TN_OP(id){                                                      \
      .name = #id,                                                \
      .in = {{"a", set, "T"}, {"b", set, "T"}},                   \
      .out = {{"c", set, "T"}},                                   \
      .attrs = {__VA_ARGS__},                                     \
      .type = tn_type_by_group,                                   \
      .shape = tn_shape_broadcast,                                \
      .value = id##_value,                                        \
      .eval = id##_eval,                                          \
      .kernel = #id,                                              \
      .traits = TN_TRAIT_PURE | TN_TRAIT_ELEMENTWISE | (traits_), \
      .accuracy = {acc, tol},                                     \
      .doc = doc_,                                                \
  };

/* --- arithmetic: content of integers stays symbolic --- */

typedef tn_sym (*binary_sym_fn)(tn_symtab *t, tn_sym a, tn_sym b);

/* The quotient of a number that is not negative by a positive one, rounded down. */
static tn_sym binary_quotient(tn_symtab *t, tn_sym a, tn_sym b) {
  const tn_sym exact = tn_sym_divexact(t, a, b);
  return exact->kind == TN_SYM_FLOORDIV ? tn_sym_floordiv(t, a, b) : exact;
}

/* A whole float constant beside a symbolic integer counts as that integer. */
static tn_elem binary_whole(tn_rule *r, tn_elem e) {
  if (e.kind != TN_ELEM_F64 || !(fabs(e.f) <= 0x1p53) || e.f < nearbyint(e.f) || e.f > nearbyint(e.f)) return e;
  return tn_elem_sym(tn_sym_int(r->syms, (int64_t)e.f));
}

static tn_elem binary_elem(tn_rule *r, const tn_elem *in, tn_f64_fn2 f, binary_sym_fn s) {
  double a, b;
  const bool floats = tn_dtype_is_float(r->out[0].dtype);
  if (floats && tn_elem_const(&in[0], &a) && tn_elem_const(&in[1], &b)) return tn_elem_round(r, f(a, b));
  if (s && in[0].kind == TN_ELEM_SYM && in[1].kind == TN_ELEM_SYM) {
    const tn_sym e = s(r->syms, in[0].sym, in[1].sym);
    return e ? tn_elem_sym(e) : (tn_elem){0};
  }
  return (tn_elem){0};
}

#define TN_ARITH_OP(id, traits_, f_expr, i_expr, sym_fn, float_expr, doc_)                                   \
  static double id##_f64(double x, double y) { return f_expr; }                                              \
  static int64_t id##_i64(int64_t x, int64_t y) { return i_expr; }                                           \
  static tn_elem id##_elem(tn_rule *r, const tn_elem *in) {                                                  \
    double a, b;                                                                                             \
    if (tn_elem_const(&in[0], &a) && tn_elem_const(&in[1], &b)) return binary_elem(r, in, id##_f64, sym_fn); \
    if (tn_dtype_is_float(r->out[0].dtype)) return float_expr;                                               \
    return binary_elem(r, in, id##_f64, sym_fn);                                                             \
  }                                                                                                          \
  static tn_status id##_value(tn_rule *r) { return tn_op_value_map(r, id##_elem); }                          \
  static tn_status id##_eval(tn_eval *e) { return tn_op_eval2(e, id##_f64, id##_i64); }                      \
  TN_BINARY_OP(id, TN_SET_NUMBERS, traits_, TN_ACC_ULP, 0.501, doc_, {0})

/* The quotient of two symbolic contents, of which the divisor is not 0: integers truncate toward zero. */
static tn_sym binary_div_int(tn_symtab *t, tn_sym a, tn_sym b) {
  if (tn_sym_bounds(t, a).lo >= 0) return binary_quotient(t, a, b);
  if (tn_sym_bounds(t, a).hi <= 0) return tn_sym_ceildiv(t, a, b);
  const tn_sym down = tn_sym_floordiv(t, a, b), up = tn_sym_ceildiv(t, a, b);
  return tn_sym_select(t, tn_sym_le(t, tn_sym_int(t, 0), a), down, up);
}

static int64_t binary_trunc_div(int64_t x, int64_t y) {
  if (y == 0) return 0;
  return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

TN_ARITH_OP(add, TN_TRAIT_COMMUTATIVE, x + y, (int64_t)((uint64_t)x + (uint64_t)y), tn_sym_add, tn_elem_add(r, in, 1),
            "a + b")
TN_ARITH_OP(sub, 0, x - y, (int64_t)((uint64_t)x - (uint64_t)y), tn_sym_sub, tn_elem_add(r, in, -1), "a - b")
TN_ARITH_OP(mul, TN_TRAIT_COMMUTATIVE, x *y, (int64_t)((uint64_t)x *(uint64_t)y), tn_sym_mul, tn_elem_mul(r, in),
            "a * b")

/* Is b, an integer of which others are parted, not 0? Proved, or demanded of the run. */
static bool binary_divides(tn_rule *r, tn_sym b) {
  const tn_interval bounds = tn_sym_bounds(r->syms, b);
  if (tn_rule_is_positive(r, b)) return true;
  if (bounds.lo != 0 || bounds.hi == 0) return false;
  return tn_rule_demand(r, tn_sym_le(r->syms, tn_sym_int(r->syms, 1), b), "an integer is divided by %s, which is 0",
                        tn_sym_text(r->syms, b)) == TN_OK;
}

static double div_f64(double x, double y) { return x / y; }
static tn_elem div_elem(tn_rule *r, const tn_elem *in) {
  double a, b;
  if (tn_dtype_is_float(r->out[0].dtype)) {
    const bool known = tn_elem_const(&in[0], &a) && tn_elem_const(&in[1], &b);
    return known ? binary_elem(r, in, div_f64, NULL) : tn_elem_div(r, in);
  }
  if (in[0].kind != TN_ELEM_SYM || in[1].kind != TN_ELEM_SYM || !binary_divides(r, in[1].sym)) return (tn_elem){0};
  const bool is_known = tn_sym_bounds(r->syms, in[0].sym).lo >= 0 || tn_sym_bounds(r->syms, in[0].sym).hi <= 0;
  const tn_sym least = tn_sym_le(r->syms, tn_sym_int(r->syms, 0), in[0].sym);
  if (!is_known && tn_ledger_implies(r->graph, least))
    return tn_elem_sym(binary_quotient(r->syms, in[0].sym, in[1].sym));
  return binary_elem(r, in, div_f64, binary_div_int);
}
static tn_status div_value(tn_rule *r) { return tn_op_value_map(r, div_elem); }
/* Unsigned 64-bit quotients differ from signed ones above 2^63. */
static tn_status div_eval(tn_eval *e) {
  TN_TRY(tn_op_eval2(e, div_f64, binary_trunc_div));
  if (e->in[0]->dtype != TN_U64) return TN_OK;
  for (int64_t i = 0; i < e->out[0]->count; i++) {
    const int64_t ia = tn_bcast_index(i, e->out[0]->rank, e->out[0]->dims, e->in[0]->rank, e->in[0]->dims);
    const int64_t ib = tn_bcast_index(i, e->out[0]->rank, e->out[0]->dims, e->in[1]->rank, e->in[1]->dims);
    const uint64_t x = (uint64_t)tn_lit_i64_at(e->in[0], ia), y = (uint64_t)tn_lit_i64_at(e->in[1], ib);
    tn_store_i64(TN_U64, tn_lit_data(e->out[0]), i, (int64_t)(y ? x / y : 0));
  }
  return TN_OK;
}
TN_BINARY_OP(div, TN_SET_NUMBERS, 0, TN_ACC_ULP, 0.501, "a / b; integers truncate toward zero", {0})

static int64_t mod_floor_i64(int64_t x, int64_t y) {
  int64_t m;
  return tn_mod_i64(x, y, &m) ? m : 0;
}
static int64_t mod_trunc_i64(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
static int64_t mod_u64(int64_t x, int64_t y) { return y ? (int64_t)((uint64_t)x % (uint64_t)y) : 0; }
static double mod_floor_f64(double x, double y) {
  const double m = fmod(x, y);
  if (m == 0) return signbit(y) ? -0.0 : 0.0;
  return isnan(m) || signbit(m) == signbit(y) ? m : m + y;
}
static tn_status mod_eval(tn_eval *e) {
  const tn_i64_fn2 g = e->in[0]->dtype == TN_U64 ? mod_u64 : (tn_eval_int(e, "fmod") ? mod_trunc_i64 : mod_floor_i64);
  return tn_op_eval2(e, tn_eval_int(e, "fmod") ? fmod : mod_floor_f64, g);
}
static tn_elem mod_elem(tn_rule *r, const tn_elem *in) {
  const tn_dtype d = r->in[0]->dtype;
  double of, by;
  if (tn_dtype_is_float(d) && tn_elem_const(&in[0], &of) && tn_elem_const(&in[1], &by))
    return tn_elem_round(r, fmod(of, by));
  if (tn_dtype_is_float(d)) { /* whole numbers that are held exactly */
    if (in[0].kind != TN_ELEM_SYM || !tn_elem_const(&in[1], &by) || !(by >= 1 && by <= 0x1p24 && floor(by) >= by))
      return (tn_elem){0};
    if (tn_sym_bounds(r->syms, in[0].sym).lo < 0 || !tn_elem_fits(r, d, in[0].sym, 24)) return (tn_elem){0};
    return tn_elem_sym(tn_sym_mod(r->syms, in[0].sym, tn_sym_int(r->syms, (int64_t)by)));
  }
  if (in[0].kind != TN_ELEM_SYM || in[1].kind != TN_ELEM_SYM || !binary_divides(r, in[1].sym)) return (tn_elem){0};
  if (tn_rule_int(r, "fmod") && tn_sym_bounds(r->syms, in[0].sym).lo < 0) return (tn_elem){0};
  return tn_elem_sym(tn_sym_mod(r->syms, in[0].sym, in[1].sym));
}
static tn_status mod_value(tn_rule *r) { return tn_op_value_map(r, mod_elem); }
TN_BINARY_OP(mod, TN_SET_NUMBERS, 0, TN_ACC_EXACT, 0, "remainder: sign of b, or of a with fmod",
             {"fmod", TN_ATTR_INT, .i = 0, .has_default = true})

/* --- pow: the exponent has its own type --- */

static int64_t pow_i64(int64_t x, int64_t y) {
  if (y < 0) return x == 1 ? 1 : (x == -1 ? (y % 2 ? -1 : 1) : 0);
  uint64_t p = 1;
  for (uint64_t base = (uint64_t)x, n = (uint64_t)y; n; n >>= 1, base *= base)
    if (n & 1) p *= base;
  return (int64_t)p;
}
static tn_status pow_eval(tn_eval *e) {
  int rank;
  int64_t dims[TN_MAX_RANK];
  tn_lit *y;
  const tn_lit *const a = e->in[0];
  const tn_lit *const b = e->in[1];
  TN_TRY(tn_eval_bcast(e, a->rank, a->dims, b->rank, b->dims, &rank, dims));
  TN_TRY(tn_eval_out(e, 0, a->dtype, rank, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t ia = tn_bcast_index(i, rank, dims, a->rank, a->dims),
                  ib = tn_bcast_index(i, rank, dims, b->rank, b->dims);
    if (tn_dtype_is_int(a->dtype) && tn_dtype_is_int(b->dtype))
      tn_store_i64(y->dtype, tn_lit_data(y), i, pow_i64(tn_lit_i64_at(a, ia), tn_lit_i64_at(b, ib)));
    else
      tn_store_f64(y->dtype, tn_lit_data(y), i, pow(tn_lit_f64(a, ia), tn_lit_f64(b, ib)));
  }
  return TN_OK;
}
static tn_elem pow_elem(tn_rule *r, const tn_elem *in) {
  double a, b;
  if (tn_elem_const(&in[0], &a) && tn_elem_const(&in[1], &b)) {
    if (tn_dtype_is_float(r->out[0].dtype)) return tn_elem_round(r, pow(a, b));
    if (b >= 0 && b < 9e15 && b == floor(b) && fabs(a) < 9e15 && fabs(pow(a, b)) < 9e15)
      return tn_elem_sym(tn_sym_int(r->syms, pow_i64((int64_t)a, (int64_t)b)));
    return (tn_elem){0};
  }
  if (in[0].kind != TN_ELEM_SYM || !tn_elem_const(&in[1], &b) || (b != 1 && b != 2 && b != 3)) return (tn_elem){0};
  tn_sym s = in[0].sym;
  for (int i = 1; i < (int)b; i++) s = tn_sym_mul(r->syms, s, in[0].sym);
  return tn_elem_sym(s);
}
static tn_status pow_value(tn_rule *r) { return tn_op_value_map(r, pow_elem); }
TN_OP(pow){
    .name = "pow",
    .in = {{"x", TN_SET_NUMBERS, "T"}, {"y", TN_SET_NUMBERS, "T1"}},
    .out = {{"z", TN_SET_NUMBERS, "T"}},
    .type = tn_type_as_input,
    .shape = tn_shape_broadcast,
    .value = pow_value,
    .eval = pow_eval,
    .kernel = "pow",
    .traits = TN_TRAIT_PURE | TN_TRAIT_ELEMENTWISE,
    .accuracy = {TN_ACC_ULP, 1},
    .doc = "x to the power y",
};

/* prelu: the slope broadcasts to x, never the other way. */
static double prelu_f64(double x, double y) { return x < 0 ? x * y : x; }
static int64_t prelu_i64(int64_t x, int64_t y) { return x < 0 ? (int64_t)((uint64_t)x * (uint64_t)y) : x; }
static int64_t prelu_u64(int64_t x, int64_t y) { return (void)y, x; }
static tn_status prelu_eval(tn_eval *e) {
  return tn_op_eval2(e, prelu_f64, e->in[0]->dtype == TN_U64 ? prelu_u64 : prelu_i64);
}
#define prelu_value NULL
TN_BINARY_OP(prelu, TN_SET_NUMBERS, 0, TN_ACC_ULP, 0.501, "slope * x below 0, else x", {0})
#undef prelu_value

/* --- variadic --- */

#define TN_CHAIN_OP(id, set, f_expr, i_expr, sym_fn, doc_)                                 \
  static double id##_f64(double x, double y) { return f_expr; }                            \
  static int64_t id##_i64(int64_t x, int64_t y) { return i_expr; }                         \
  static int64_t id##_u64(int64_t sx, int64_t sy) {                                        \
    const uint64_t x = (uint64_t)sx, y = (uint64_t)sy;                                     \
    return (int64_t)(i_expr);                                                              \
  }                                                                                        \
  static tn_elem id##_elem(tn_rule *r, const tn_elem *in) {                                \
    tn_elem sum = in[0];                                                                   \
    for (int i = 1; i < r->n_in && sum.kind != TN_ELEM_NONE; i++) {                        \
      const tn_elem pair[2] = {binary_whole(r, sum), binary_whole(r, in[i])};              \
      sum = binary_elem(r, pair, id##_f64, sym_fn);                                        \
    }                                                                                      \
    return sum;                                                                            \
  }                                                                                        \
  static tn_status id##_value(tn_rule *r) { return tn_op_value_map(r, id##_elem); }        \
  static tn_status id##_eval(tn_eval *e) {                                                 \
    return tn_op_eval_chain(e, id##_f64, e->in[0]->dtype == TN_U64 ? id##_u64 : id##_i64); \
  }                                                                                        \
  TN_VARIADIC_OP(id, set, doc_)
#define TN_VARIADIC_OP(id, set, doc_)                                        \
  TN_OP(id){                                                                 \
      .name = #id,                                                           \
      .in = {{"data_0", set, "T", TN_PORT_VARIADIC}},                        \
      .out = {{#id, set, "T"}},                                              \
      .type = tn_type_by_group,                                              \
      .shape = tn_shape_broadcast,                                           \
      .value = id##_value,                                                   \
      .eval = id##_eval,                                                     \
      .kernel = #id,                                                         \
      .traits = TN_TRAIT_PURE | TN_TRAIT_ELEMENTWISE | TN_TRAIT_COMMUTATIVE, \
      .accuracy = {TN_ACC_REL, 1e-6},                                        \
      .doc = doc_,                                                           \
  };
/* NaN wins. */
TN_CHAIN_OP(max, TN_SET_NUMBERS, x != x || x > y ? x : y, x > y ? x : y, tn_sym_max, "largest of all operands")
TN_CHAIN_OP(min, TN_SET_NUMBERS, x != x || x < y ? x : y, x < y ? x : y, tn_sym_min, "smallest of all operands")
TN_CHAIN_OP(sum, TN_SET_FLOATS, x + y, x + y, tn_sym_add, "sum of all operands")

static tn_status mean_eval(tn_eval *e) {
  TN_TRY(tn_op_eval_chain(e, sum_f64, sum_i64));
  for (int64_t i = 0; i < e->out[0]->count; i++)
    tn_store_f64(e->out[0]->dtype, tn_lit_data(e->out[0]), i, tn_lit_f64(e->out[0], i) / e->n_in);
  return TN_OK;
}
#define mean_value NULL
TN_VARIADIC_OP(mean, TN_SET_FLOATS, "mean of all operands")
#undef mean_value

/* --- comparison --- */

#define TN_COMPARE_OP(id, set, expr, sym_expr, doc_)                                                           \
  static double id##_f64(double x, double y) { return expr; }                                                  \
  static int64_t id##_i64(int64_t x, int64_t y) { return expr; }                                               \
  static int64_t id##_u64(int64_t sx, int64_t sy) {                                                            \
    const uint64_t x = (uint64_t)sx, y = (uint64_t)sy;                                                         \
    return expr;                                                                                               \
  }                                                                                                            \
  static tn_elem id##_elem(tn_rule *r, const tn_elem *in) {                                                    \
    double x, y;                                                                                               \
    tn_sym a = in[0].sym, b = in[1].sym;                                                                       \
    if (in[0].kind == TN_ELEM_SYM && in[1].kind == TN_ELEM_SYM) return tn_elem_sym(sym_expr);                  \
    if (tn_elem_const(&in[0], &x) && tn_elem_const(&in[1], &y)) return tn_elem_sym(tn_sym_int(r->syms, expr)); \
    return tn_elem_compare(r, in, &a, &b) ? tn_elem_sym(sym_expr) : (tn_elem){0};                              \
  }                                                                                                            \
  static tn_status id##_value(tn_rule *r) { return tn_op_value_map(r, id##_elem); }                            \
  static tn_status id##_eval(tn_eval *e) {                                                                     \
    return tn_op_eval_compare(e, id##_f64, e->in[0]->dtype == TN_U64 ? id##_u64 : id##_i64);                   \
  }                                                                                                            \
  TN_OP(id){                                                                                                   \
      .name = #id,                                                                                             \
      .in = {{"a", set, "T"}, {"b", set, "T"}},                                                                \
      .out = {{"c", TN_SET(BOOL)}},                                                                            \
      .type = tn_type_bool,                                                                                    \
      .shape = tn_shape_broadcast,                                                                             \
      .value = id##_value,                                                                                     \
      .eval = id##_eval,                                                                                       \
      .kernel = #id,                                                                                           \
      .traits = TN_TRAIT_PURE | TN_TRAIT_ELEMENTWISE,                                                          \
      .accuracy = {TN_ACC_EXACT, 0},                                                                           \
      .doc = doc_,                                                                                             \
  };
TN_COMPARE_OP(equal, TN_SET_NUMBERS | TN_SET(BOOL) | TN_SET(STR), x == y, tn_sym_eq(r->syms, a, b), "a == b")
TN_COMPARE_OP(less, TN_SET_NUMBERS, x < y, tn_sym_lt(r->syms, a, b), "a < b")
TN_COMPARE_OP(less_or_equal, TN_SET_NUMBERS, x <= y, tn_sym_le(r->syms, a, b), "a <= b")
TN_COMPARE_OP(greater, TN_SET_NUMBERS, x > y, tn_sym_lt(r->syms, b, a), "a > b")
TN_COMPARE_OP(greater_or_equal, TN_SET_NUMBERS, x >= y, tn_sym_le(r->syms, b, a), "a >= b")

/* --- logic and bits --- */

#define TN_LOGIC_OP(id, expr, sym_expr, doc_)                                                             \
  static int64_t id##_i64(int64_t x, int64_t y) { return expr; }                                          \
  static tn_elem id##_elem(tn_rule *r, const tn_elem *in) {                                               \
    const tn_sym a = in[0].sym, b = in[1].sym;                                                            \
    return in[0].kind == TN_ELEM_SYM && in[1].kind == TN_ELEM_SYM ? tn_elem_sym(sym_expr) : (tn_elem){0}; \
  }                                                                                                       \
  static tn_status id##_value(tn_rule *r) { return tn_op_value_map(r, id##_elem); }                       \
  static tn_status id##_eval(tn_eval *e) { return tn_op_eval2(e, NULL, id##_i64); }                       \
  TN_BINARY_OP(id, TN_SET(BOOL), TN_TRAIT_COMMUTATIVE, TN_ACC_EXACT, 0, doc_, {0})
TN_LOGIC_OP(and, x &&y, tn_sym_and(r->syms, a, b), "both")
TN_LOGIC_OP(or, x || y, tn_sym_or(r->syms, a, b), "either or both")
TN_LOGIC_OP(xor, !x != !y, tn_sym_ne(r->syms, a, b), "exactly one")

#define TN_BITS_OP(id, expr, doc_)                                                  \
  static int64_t id##_i64(int64_t x, int64_t y) { return expr; }                    \
  static tn_status id##_eval(tn_eval *e) { return tn_op_eval2(e, NULL, id##_i64); } \
  TN_BINARY_OP(id, TN_SET_INTS | TN_SET_UINTS, TN_TRAIT_COMMUTATIVE, TN_ACC_EXACT, 0, doc_, {0})
#define bitwise_and_value NULL
#define bitwise_or_value NULL
#define bitwise_xor_value NULL
TN_BITS_OP(bitwise_and, x &y, "bits set in both")
TN_BITS_OP(bitwise_or, x | y, "bits set in either")
TN_BITS_OP(bitwise_xor, x ^ y, "bits set in exactly one")
#undef bitwise_and_value
#undef bitwise_or_value
#undef bitwise_xor_value

static int64_t bit_shift_left(int64_t x, int64_t y) { return (uint64_t)y > 63 ? 0 : (int64_t)((uint64_t)x << y); }
static int64_t bit_shift_right(int64_t x, int64_t y) { return (uint64_t)y > 63 ? 0 : (int64_t)((uint64_t)x >> y); }
/* Copies of the sign come in. */
static int64_t bit_shift_right_signed(int64_t x, int64_t y) {
  const int64_t n = (uint64_t)y > 63 ? 63 : y;
  return x < 0 ? ~(~x >> n) : x >> n;
}
static tn_status bit_shift_eval(tn_eval *e) {
  const bool is_signed = (TN_SET_INTS >> e->in[0]->dtype) & 1;
  return tn_op_eval2(e, NULL,
                     tn_eval_str_is(e, "direction", "LEFT") ? bit_shift_left
                     : is_signed                            ? bit_shift_right_signed
                                                            : bit_shift_right);
}
#define bit_shift_value NULL
TN_BINARY_OP(bit_shift, TN_SET_INTS | TN_SET_UINTS, 0, TN_ACC_EXACT, 0, "a shifted by b bits",
             {"direction", TN_ATTR_STR, .required = true})
#undef bit_shift_value

/* --- where --- */

static tn_status where_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[1]->dtype);
  return TN_OK;
}
static tn_elem where_elem(tn_rule *r, const tn_elem *in) {
  if (in[0].kind != TN_ELEM_SYM) return (tn_elem){0};
  if (tn_sym_is_int(in[0].sym)) return in[0].sym->k ? in[1] : in[2];
  if (in[1].kind != TN_ELEM_SYM || in[2].kind != TN_ELEM_SYM) return (tn_elem){0};
  return tn_elem_sym(tn_sym_select(r->syms, in[0].sym, in[1].sym, in[2].sym));
}
static tn_status where_value(tn_rule *r) { return tn_op_value_map(r, where_elem); }
static tn_status where_eval(tn_eval *e) {
  int rank;
  int64_t dims[TN_MAX_RANK];
  tn_lit *y;
  TN_TRY(tn_eval_bcast(e, e->in[0]->rank, e->in[0]->dims, e->in[1]->rank, e->in[1]->dims, &rank, dims));
  TN_TRY(tn_eval_bcast(e, rank, dims, e->in[2]->rank, e->in[2]->dims, &rank, dims));
  TN_TRY(tn_eval_out(e, 0, e->in[1]->dtype, rank, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t at = tn_bcast_index(i, rank, dims, e->in[0]->rank, e->in[0]->dims);
    const tn_lit *const from = tn_lit_i64_at(e->in[0], at) ? e->in[1] : e->in[2];
    tn_copy_element(y->dtype, tn_lit_data(y), i, from->data, tn_bcast_index(i, rank, dims, from->rank, from->dims));
  }
  return TN_OK;
}
TN_OP(where){
    .name = "where",
    .in = {{"condition", TN_SET(BOOL)}, {"x", 0, "T"}, {"y", 0, "T"}},
    .out = {{"output", 0, "T"}},
    .type = where_type,
    .shape = tn_shape_broadcast,
    .value = where_value,
    .eval = where_eval,
    .kernel = "where",
    .traits = TN_TRAIT_PURE | TN_TRAIT_ELEMENTWISE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "x where the condition holds, else y",
};

/* --- clip --- */

static tn_status clip_shape(tn_rule *r) {
  for (int i = 1; i < 3; i++) TN_TRY(tn_op_need_one(r, i)); /* the standard wants scalars; exporters write [1] */
  return tn_shape_as_input(r);
}
static bool clip_bound(const tn_rule *r, int i, tn_sym *out) {
  int64_t n;
  tn_sym *s;
  if (!tn_rule_has(r, i)) return false;
  *out = tn_rule_ints(r, i, &n, &s) && n == 1 ? s[0] : NULL;
  return true;
}
static tn_status clip_value(tn_rule *r) {
  tn_sym lo = NULL, hi = NULL;
  const bool has_lo = clip_bound(r, 1, &lo), has_hi = clip_bound(r, 2, &hi);
  const int64_t n = tn_type_content_count(r->in[0]);
  if (!r->in[0]->content || (has_lo && !lo) || (has_hi && !hi)) return TN_OK;
  tn_elem *const out = tn_rule_elems(r, n);
  for (int64_t i = 0; i < n; i++) {
    tn_sym s = r->in[0]->content[i].sym;
    if (r->in[0]->content[i].kind != TN_ELEM_SYM) continue;
    if (has_lo) s = tn_sym_max(r->syms, s, lo);
    if (has_hi) s = tn_sym_min(r->syms, s, hi);
    out[i] = tn_elem_sym(s);
  }
  tn_rule_set_content(r, 0, out);
  return TN_OK;
}
static tn_status clip_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const lo = e->n_in > 1 ? e->in[1] : NULL;
  const tn_lit *const hi = e->n_in > 2 ? e->in[2] : NULL;
  tn_lit *y;
  for (int i = 1; i < 3; i++) TN_TRY(tn_op_eval_need_one(e, i));
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  for (int64_t i = 0; i < x->count; i++) {
    if (tn_dtype_is_float(x->dtype)) {
      double v = tn_lit_f64(x, i);
      if (lo && v < tn_lit_f64(lo, 0)) v = tn_lit_f64(lo, 0);
      if (hi && v > tn_lit_f64(hi, 0)) v = tn_lit_f64(hi, 0);
      tn_store_f64(y->dtype, tn_lit_data(y), i, v);
      continue;
    }
    const uint64_t flip = x->dtype == TN_U64 ? UINT64_C(1) << 63 : 0; /* orders unsigned values as signed ones */
    uint64_t v = (uint64_t)tn_lit_i64_at(x, i);
    const uint64_t a = lo ? (uint64_t)tn_lit_i64_at(lo, 0) : 0, b = hi ? (uint64_t)tn_lit_i64_at(hi, 0) : 0;
    if (lo && (int64_t)(v ^ flip) < (int64_t)(a ^ flip)) v = a;
    if (hi && (int64_t)(v ^ flip) > (int64_t)(b ^ flip)) v = b;
    tn_store_i64(y->dtype, tn_lit_data(y), i, (int64_t)v);
  }
  return TN_OK;
}
TN_OP(clip){
    .name = "clip",
    .in = {{"input", TN_SET_NUMBERS, "T"},
           {"min", TN_SET_NUMBERS, "T", TN_PORT_OPTIONAL},
           {"max", TN_SET_NUMBERS, "T", TN_PORT_OPTIONAL}},
    .out = {{"output", TN_SET_NUMBERS, "T"}},
    .type = tn_type_as_input,
    .shape = clip_shape,
    .value = clip_value,
    .eval = clip_eval,
    .kernel = "clip",
    .traits = TN_TRAIT_PURE | TN_TRAIT_ELEMENTWISE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "min(max(x, lo), hi)",
};

/* Opsets below 11: the bounds are attributes. They meet the data's type through cast_like. */
static tn_status clip_import_6(tn_import *im) {
  tn_value *in[3] = {im->in[0], NULL, NULL};
  static const char *const names[2] = {"min", "max"};
  for (int i = 0; i < 2; i++) {
    const tn_attr *bound;
    TN_TRY(tn_import_get(im, names[i], TN_ATTR_FLOAT, &bound));
    if (!bound) continue;
    tn_value *const lit = tn_import_const_lit(im, tn_lit_scalar_f64(&im->ctx->arena, TN_F32, bound->f));
    tn_value *const pair[2] = {lit, im->in[0]};
    in[i + 1] = tn_import_node(im, "cast_like", pair, 2, 1)->out[0];
  }
  tn_import_ignore(im, "consumed_inputs");
  tn_import_finish(im, tn_import_node(im, "clip", in, 3, im->n_out));
  return TN_OK;
}

/* PRelu below opset 7: a slope of rank 1 runs along the channels (axis 1). */
static tn_status prelu_import_1(tn_import *im) {
  tn_value *const pair[2] = {im->n_in > 1 ? im->in[1] : NULL, im->in[0]};
  tn_node *const align = tn_import_node(im, "align_axis", pair, 2, 1);
  tn_import_set_int(align, "axis", 1);
  tn_value *const in[2] = {im->in[0], align->out[0]};
  tn_import_ignore(im, "consumed_inputs");
  tn_import_finish(im, tn_import_node(im, "prelu", in, 2, im->n_out));
  return TN_OK;
}

/* clang-format off */
TN_ONNX(ai, Add, 1, 6, add, tn_import_legacy_broadcast)
TN_ONNX(ai, Add, 7, TN_LATEST, add, tn_import_same)
TN_ONNX(ai, Sub, 1, 6, sub, tn_import_legacy_broadcast)
TN_ONNX(ai, Sub, 7, TN_LATEST, sub, tn_import_same)
TN_ONNX(ai, Mul, 1, 6, mul, tn_import_legacy_broadcast)
TN_ONNX(ai, Mul, 7, TN_LATEST, mul, tn_import_same)
TN_ONNX(ai, Div, 1, 6, div, tn_import_legacy_broadcast)
TN_ONNX(ai, Div, 7, TN_LATEST, div, tn_import_same)
TN_ONNX(ai, Mod, 10, TN_LATEST, mod, tn_import_same)
TN_ONNX(ai, Pow, 1, 6, pow, tn_import_legacy_broadcast)
TN_ONNX(ai, Pow, 7, TN_LATEST, pow, tn_import_same)
TN_ONNX(ai, PRelu, 1, 6, prelu, prelu_import_1)
TN_ONNX(ai, PRelu, 7, TN_LATEST, prelu, tn_import_same)
TN_ONNX(ai, Max, 1, TN_LATEST, max, tn_import_same)
TN_ONNX(ai, Min, 1, TN_LATEST, min, tn_import_same)
TN_ONNX(ai, Sum, 1, TN_LATEST, sum, tn_import_same)
TN_ONNX(ai, Mean, 1, TN_LATEST, mean, tn_import_same)
TN_ONNX(ai, Equal, 1, 6, equal, tn_import_legacy_broadcast)
TN_ONNX(ai, Equal, 7, TN_LATEST, equal, tn_import_same)
TN_ONNX(ai, Less, 1, 6, less, tn_import_legacy_broadcast)
TN_ONNX(ai, Less, 7, TN_LATEST, less, tn_import_same)
TN_ONNX(ai, Greater, 1, 6, greater, tn_import_legacy_broadcast)
TN_ONNX(ai, Greater, 7, TN_LATEST, greater, tn_import_same)
TN_ONNX(ai, LessOrEqual, 12, TN_LATEST, less_or_equal, tn_import_same)
TN_ONNX(ai, GreaterOrEqual, 12, TN_LATEST, greater_or_equal, tn_import_same)
TN_ONNX(ai, And, 1, 6, and, tn_import_legacy_broadcast)
TN_ONNX(ai, And, 7, TN_LATEST, and, tn_import_same)
TN_ONNX(ai, Or, 1, 6, or, tn_import_legacy_broadcast)
TN_ONNX(ai, Or, 7, TN_LATEST, or, tn_import_same)
TN_ONNX(ai, Xor, 1, 6, xor, tn_import_legacy_broadcast)
TN_ONNX(ai, Xor, 7, TN_LATEST, xor, tn_import_same)
TN_ONNX(ai, BitShift, 11, TN_LATEST, bit_shift, tn_import_same)
TN_ONNX(ai, BitwiseAnd, 18, TN_LATEST, bitwise_and, tn_import_same)
TN_ONNX(ai, BitwiseOr, 18, TN_LATEST, bitwise_or, tn_import_same)
TN_ONNX(ai, BitwiseXor, 18, TN_LATEST, bitwise_xor, tn_import_same)
TN_ONNX(ai, Where, 9, TN_LATEST, where, tn_import_same)
TN_ONNX(ai, Clip, 1, 10, clip, clip_import_6)
TN_ONNX(ai, Clip, 11, TN_LATEST, clip, tn_import_same)
