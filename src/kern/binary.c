/* Elementwise kernels of two or more broadcast operands. */
#include <math.h>

#include "kern/map.h"

typedef struct binary_row {
  tn_kmap_fn fn[TN_N_DTYPES]; /* by element type; f16 and bf16 go through F32 */
  bool to_bool;
  bool takes_steps; /* the functions repeat elements themselves */
} binary_row;

/* Elements of a loop's least vector: 16 bytes of the operands, or of the result where that is bool. */
#define BINARY_LANES(size, to_bool) ((to_bool) || (size) >= 16 ? 16 : 16 / (int)(size))

#define BINARY_LOOP(id, suffix, T, R, expr)                                                                        \
  static void id##_##suffix(const void *const *in, const int64_t *step, void *out, int64_t n, const void *param) { \
    const T *const as = in[0];                                                                                     \
    const T *const bs = in[1];                                                                                     \
    R *const ys = out;                                                                                             \
    const int64_t whole = TN_KMAP_WHOLE(n, BINARY_LANES(sizeof(T), sizeof(R) == 1));                               \
    (void)step, (void)param;                                                                                       \
    TN_IN_PLACE_LOOP                                                                                               \
    for (int64_t i = 0; i < whole; i++) {                                                                          \
      const T a = as[i], b = bs[i];                                                                                \
      (void)b, ys[i] = (R)(expr);                                                                                  \
    }                                                                                                              \
  }

static tn_kmap_fn binary_fn(const binary_row *row, tn_dtype d, tn_kmap *m) {
  const tn_dtype work = d == TN_F16 || d == TN_BF16 ? TN_F32 : d;
  m->fn = row->fn[work];
  m->n_in = 2;
  m->in[0] = m->in[1] = work;
  m->out = row->to_bool ? TN_BOOL : work;
  m->lanes = row->takes_steps ? 0 : BINARY_LANES(tn_dtype_bits(work) / 8, tn_dtype_bits(m->out) == 8);
  return m->fn;
}

static tn_status binary_run(tn_kcall *k, const binary_row *row) {
  int rank;
  int64_t dims[TN_K_MAX_RANK];
  tn_kmap m = {0};
  TN_TRY(tn_k_bcast(k, k->in, 2, &rank, dims));
  if (!binary_fn(row, k->in[0]->dtype, &m)) return tn_k_no_dtype(k, 0);
  TN_TRY(tn_k_out(k, 0, rank, dims));
  return tn_k_map(k, &m, k->in, k->out[0]);
}

/* out = in[0] op in[1] op in[2] ..., from the left. */
static tn_status binary_chain(tn_kcall *k, const binary_row *row) {
  int rank;
  int64_t dims[TN_K_MAX_RANK];
  tn_kmap m = {0};
  TN_TRY(tn_k_bcast(k, k->in, k->n_in, &rank, dims));
  if (!binary_fn(row, k->in[0]->dtype, &m)) return tn_k_no_dtype(k, 0);
  TN_TRY(tn_k_out(k, 0, rank, dims));
  if (k->n_in == 1) {
    if (k->out[0]->data == k->in[0]->data) return TN_OK;
    tn_k_copy(k->in[0]->dtype, k->out[0]->data, 0, k->in[0]->data, 0, k->in[0]->count);
    return TN_OK;
  }
  TN_TRY(tn_k_map(k, &m, k->in, k->out[0]));
  for (int i = 2; i < k->n_in; i++) {
    const tn_karg *const pair[2] = {k->out[0], k->in[i]};
    TN_TRY(tn_k_map(k, &m, pair, k->out[0]));
  }
  return TN_OK;
}

#define BINARY_FLOATS(id, f_expr, d_expr) \
  BINARY_LOOP(id, f32, float, float, f_expr) BINARY_LOOP(id, f64, double, double, d_expr)
/* i_expr computes in the type's own width: signed types wrap through their unsigned twin where overflow may happen. */
#define BINARY_INTS(id, i_expr, u_expr)            \
  BINARY_LOOP(id, i8, int8_t, int8_t, i_expr)      \
  BINARY_LOOP(id, i16, int16_t, int16_t, i_expr)   \
  BINARY_LOOP(id, i32, int32_t, int32_t, i_expr)   \
  BINARY_LOOP(id, i64, int64_t, int64_t, i_expr)   \
  BINARY_LOOP(id, u8, uint8_t, uint8_t, u_expr)    \
  BINARY_LOOP(id, u16, uint16_t, uint16_t, u_expr) \
  BINARY_LOOP(id, u32, uint32_t, uint32_t, u_expr) \
  BINARY_LOOP(id, u64, uint64_t, uint64_t, u_expr)
#define BINARY_FLOAT_SLOTS(id) [TN_F32] = id##_f32, [TN_F64] = id##_f64
#define BINARY_INT_SLOTS(id)                                                                           \
  [TN_I8] = id##_i8, [TN_I16] = id##_i16, [TN_I32] = id##_i32, [TN_I64] = id##_i64, [TN_U8] = id##_u8, \
  [TN_U16] = id##_u16, [TN_U32] = id##_u32, [TN_U64] = id##_u64

/* A numeric operator: float expression, signed and unsigned integer expressions. */
#define ARITH_ROW(id, f_expr, d_expr, i_expr, u_expr) \
  BINARY_FLOATS(id, f_expr, d_expr)                   \
  BINARY_INTS(id, i_expr, u_expr)                     \
  static const binary_row id##_row = {.fn = {BINARY_FLOAT_SLOTS(id), BINARY_INT_SLOTS(id)}};
#define TN_ARITH_KERNEL(id, f_expr, d_expr, i_expr, u_expr) \
  ARITH_ROW(id, f_expr, d_expr, i_expr, u_expr)             \
  TN_KERNEL(id, TN_K_SIZES | TN_K_IN_PLACE) { return binary_run(k, &id##_row); }

#define BINARY_WRAP(a, op, b) ((uint64_t)(a)op(uint64_t)(b))
/* Division by zero gives 0 and the one overflowing quotient wraps: a kernel never traps. */
#define BINARY_DIV(a, b) \
  ((b) == 0              \
       ? 0               \
       : ((b) == (__typeof__(b))-1 && (__typeof__(b))-1 < 0 ? (int64_t)(0 - (uint64_t)(a)) : (int64_t)((a) / (b))))
static int64_t binary_floor_mod(int64_t a, int64_t b) {
  int64_t r;
  return tn_mod_i64(a, b, &r) ? r : 0;
}
static int64_t binary_trunc_mod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static int64_t binary_int_pow(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : (a == -1 ? (b & 1 ? -1 : 1) : 0);
  uint64_t r = 1, x = (uint64_t)a;
  for (uint64_t e = (uint64_t)b; e; e >>= 1) {
    if (e & 1) r *= x;
    x *= x;
  }
  return (int64_t)r;
}
/* NaN in either operand gives NaN. */
#define BINARY_MAX(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define BINARY_MIN(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))

TN_ARITH_KERNEL(add, a + b, a + b, BINARY_WRAP(a, +, b), a + b)
TN_ARITH_KERNEL(sub, a - b, a - b, BINARY_WRAP(a, -, b), a - b)
TN_ARITH_KERNEL(mul, a *b, a *b, BINARY_WRAP(a, *, b), BINARY_WRAP(a, *, b))
TN_ARITH_KERNEL(div, a / b, a / b, BINARY_DIV(a, b), b == 0 ? 0 : a / b)
/* The remainder with the sign of b, also when it is zero. */
static double binary_floor_fmod(double a, double b) {
  const double m = fmod(a, b);
  return m == 0 ? copysign(0, b) : ((m < 0) != (b < 0) && !isnan(m) ? m + b : m);
}
static float binary_floor_fmodf(float a, float b) {
  const float m = fmodf(a, b);
  return m == 0 ? copysignf(0, b) : ((m < 0) != (b < 0) && !isnan(m) ? m + b : m);
}
ARITH_ROW(mod_floor, binary_floor_fmodf(a, b), binary_floor_fmod(a, b), binary_floor_mod(a, b), b == 0 ? 0 : a % b)
ARITH_ROW(mod_trunc, fmodf(a, b), fmod(a, b), binary_trunc_mod(a, b), b == 0 ? 0 : a % b)
TN_ARITH_KERNEL(prelu, a < 0 ? a * b : a, a < 0 ? a * b : a, a < 0 ? BINARY_WRAP(a, *, b) : (uint64_t)a, a)

#define TN_CHAIN_KERNEL(id, f_expr, i_expr)                                                  \
  BINARY_FLOATS(id, f_expr, f_expr)                                                          \
  BINARY_INTS(id, i_expr, i_expr)                                                            \
  static const binary_row id##_row = {.fn = {BINARY_FLOAT_SLOTS(id), BINARY_INT_SLOTS(id)}}; \
  TN_KERNEL(id, TN_K_SIZES | TN_K_IN_PLACE_FIRST) { return binary_chain(k, &id##_row); }
TN_CHAIN_KERNEL(max, BINARY_MAX(a, b), a > b ? a : b)
TN_CHAIN_KERNEL(min, BINARY_MIN(a, b), a < b ? a : b)
TN_KERNEL(sum, TN_K_SIZES | TN_K_IN_PLACE_FIRST) { return binary_chain(k, &add_row); }

static void mean_scale(void *arg, int64_t begin, int64_t end, int worker) {
  const tn_kcall *const k = arg;
  (void)worker;
  tn_karg *const y = k->out[0];
  const float n = (float)k->n_in;
  if (y->dtype == TN_F32)
    for (int64_t i = begin; i < end; i++) ((float *)y->data)[i] /= n;
  for (int64_t i = y->dtype == TN_F32 ? end : begin; i < end; i++)
    tn_store_f64(y->dtype, y->data, i, tn_load_f64(y->dtype, y->data, i) / k->n_in);
}
TN_KERNEL(mean, TN_K_SIZES | TN_K_IN_PLACE_FIRST) {
  TN_TRY(binary_chain(k, &add_row));
  tn_pool_for(k->pool, k->out[0]->count, 4096, mean_scale, k);
  return TN_OK;
}

TN_KERNEL(mod, TN_K_SIZES | TN_K_IN_PLACE) {
  return binary_run(k, tn_k_int(k, "fmod", 0) ? &mod_trunc_row : &mod_floor_row);
}

/* Pow: the exponent may have another type; it is read as double (or int64 for integer bases). */
static double binary_pow(double a, double b) { return b == 2 ? a * a : (b == 0.5 && a >= 0 ? sqrt(a) : pow(a, b)); }
#define POW_LOOP(suffix, T, square_root, power)                                                                   \
  static void pow_##suffix(const void *const *in, const int64_t *step, void *out, int64_t n, const void *param) { \
    const T *const as = in[0];                                                                                    \
    const T *const bs = in[1];                                                                                    \
    T *const ys = out;                                                                                            \
    (void)param;                                                                                                  \
    if (step[0] == 1 && step[1] == 0 && bs[0] == 2) {                                                             \
      TN_IN_PLACE_LOOP                                                                                            \
      for (int64_t i = 0; i < n; i++) ys[i] = as[i] * as[i];                                                      \
      return;                                                                                                     \
    }                                                                                                             \
    for (int64_t i = 0; i < n; i++) {                                                                             \
      const T a = as[i * step[0]], b = bs[i * step[1]];                                                           \
      ys[i] = b == 2 ? a * a : (b == (T)0.5 && a >= 0 ? square_root(a) : power(a, b));                            \
    }                                                                                                             \
  }
POW_LOOP(f32, float, sqrtf, powf)
POW_LOOP(f64, double, sqrt, pow)
static const binary_row pow_row = {.fn = {BINARY_FLOAT_SLOTS(pow)}, .takes_steps = true};

typedef struct pow_job {
  const tn_karg *a, *b, *y;
  int64_t sa[TN_K_MAX_RANK], sb[TN_K_MAX_RANK];
} pow_job;
static void pow_task(void *arg, int64_t begin, int64_t end, int worker) {
  const pow_job *const j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    int64_t rest = i, ia = 0, ib = 0;
    for (int d = j->y->rank - 1; d >= 0; d--) {
      const int64_t at = rest % j->y->dims[d];
      rest /= j->y->dims[d];
      ia += at * j->sa[d];
      ib += at * j->sb[d];
    }
    if (tn_dtype_is_int(j->a->dtype) && tn_dtype_is_int(j->b->dtype))
      tn_store_i64(j->y->dtype, j->y->data, i, binary_int_pow(tn_k_i64(j->a, ia), tn_k_i64(j->b, ib)));
    else
      tn_store_f64(j->y->dtype, j->y->data, i,
                   binary_pow(tn_load_f64(j->a->dtype, j->a->data, ia), tn_load_f64(j->b->dtype, j->b->data, ib)));
  }
}
TN_KERNEL(pow, TN_K_SIZES | TN_K_IN_PLACE_FIRST) {
  if (k->in[0]->dtype == k->in[1]->dtype && tn_dtype_is_float(k->in[0]->dtype)) return binary_run(k, &pow_row);
  int rank;
  int64_t dims[TN_K_MAX_RANK];
  TN_TRY(tn_k_bcast(k, k->in, 2, &rank, dims));
  TN_TRY(tn_k_out(k, 0, rank, dims));
  pow_job j = {.a = k->in[0], .b = k->in[1], .y = k->out[0]};
  tn_k_bcast_strides(j.a, rank, j.sa);
  tn_k_bcast_strides(j.b, rank, j.sb);
  tn_pool_for(k->pool, k->out[0]->count, 1024, pow_task, &j);
  return TN_OK;
}

/* Comparisons. */
#define TN_COMPARE_KERNEL(id, expr)                                                                              \
  BINARY_LOOP(id, f32, float, uint8_t, expr)                                                                     \
  BINARY_LOOP(id, f64, double, uint8_t, expr)                                                                    \
  BINARY_LOOP(id, i8, int8_t, uint8_t, expr)                                                                     \
  BINARY_LOOP(id, i16, int16_t, uint8_t, expr)                                                                   \
  BINARY_LOOP(id, i32, int32_t, uint8_t, expr)                                                                   \
  BINARY_LOOP(id, i64, int64_t, uint8_t, expr)                                                                   \
  BINARY_LOOP(id, u8, uint8_t, uint8_t, expr)                                                                    \
  BINARY_LOOP(id, u16, uint16_t, uint8_t, expr)                                                                  \
  BINARY_LOOP(id, u32, uint32_t, uint8_t, expr)                                                                  \
  BINARY_LOOP(id, u64, uint64_t, uint8_t, expr)                                                                  \
  static const binary_row id##_row = {.fn = {BINARY_FLOAT_SLOTS(id), BINARY_INT_SLOTS(id), [TN_BOOL] = id##_u8}, \
                                      .to_bool = true};                                                          \
  TN_KERNEL(id, TN_K_SIZES | TN_K_IN_PLACE) { return binary_run(k, &id##_row); }
TN_COMPARE_KERNEL(less, a < b)
TN_COMPARE_KERNEL(less_or_equal, a <= b)
TN_COMPARE_KERNEL(greater, a > b)
TN_COMPARE_KERNEL(greater_or_equal, a >= b)

BINARY_LOOP(equal, f32, float, uint8_t, a == b)
BINARY_LOOP(equal, f64, double, uint8_t, a == b)
BINARY_LOOP(equal, u8, uint8_t, uint8_t, a == b)
BINARY_LOOP(equal, u16, uint16_t, uint8_t, a == b)
BINARY_LOOP(equal, u32, uint32_t, uint8_t, a == b)
BINARY_LOOP(equal, u64, uint64_t, uint8_t, a == b)
BINARY_LOOP(equal, str, tn_str, uint8_t, tn_str_eq(a, b))
static const binary_row equal_row = {.fn = {[TN_F32] = equal_f32,
                                            [TN_F64] = equal_f64,
                                            [TN_I8] = equal_u8,
                                            [TN_U8] = equal_u8,
                                            [TN_BOOL] = equal_u8,
                                            [TN_I16] = equal_u16,
                                            [TN_U16] = equal_u16,
                                            [TN_I32] = equal_u32,
                                            [TN_U32] = equal_u32,
                                            [TN_I64] = equal_u64,
                                            [TN_U64] = equal_u64,
                                            [TN_STR] = equal_str},
                                     .to_bool = true};
TN_KERNEL(equal, TN_K_SIZES | TN_K_IN_PLACE) { return binary_run(k, &equal_row); }

/* Logic on bool, and bits on integers. */
#define TN_LOGIC_KERNEL(id, expr)                                   \
  BINARY_LOOP(id, u8, uint8_t, uint8_t, expr)                       \
  static const binary_row id##_row = {.fn = {[TN_BOOL] = id##_u8}}; \
  TN_KERNEL(id, TN_K_SIZES | TN_K_IN_PLACE) { return binary_run(k, &id##_row); }
TN_LOGIC_KERNEL(and, a &b & 1)
TN_LOGIC_KERNEL(or, (a | b) & 1)
TN_LOGIC_KERNEL(xor, (a ^ b) & 1)

#define BITS_ROW(id, expr)                                        \
  BINARY_LOOP(id, u8, uint8_t, uint8_t, expr)                     \
  BINARY_LOOP(id, u16, uint16_t, uint16_t, expr)                  \
  BINARY_LOOP(id, u32, uint32_t, uint32_t, expr)                  \
  BINARY_LOOP(id, u64, uint64_t, uint64_t, expr)                  \
  static const binary_row id##_row = {.fn = {[TN_I8] = id##_u8,   \
                                             [TN_U8] = id##_u8,   \
                                             [TN_I16] = id##_u16, \
                                             [TN_U16] = id##_u16, \
                                             [TN_I32] = id##_u32, \
                                             [TN_U32] = id##_u32, \
                                             [TN_I64] = id##_u64, \
                                             [TN_U64] = id##_u64}};
#define TN_BITS_KERNEL(id, expr) \
  BITS_ROW(id, expr)             \
  TN_KERNEL(id, TN_K_SIZES | TN_K_IN_PLACE) { return binary_run(k, &id##_row); }
TN_BITS_KERNEL(bitwise_and, a &b)
TN_BITS_KERNEL(bitwise_or, a | b)
TN_BITS_KERNEL(bitwise_xor, a ^ b)
/* Counts are compared as unsigned, so negative ones are too large as well. */
BITS_ROW(shift_left, b >= 8 * sizeof(a) ? 0 : (uint64_t)a << b)
#define SHIFT_RIGHT_SIGNED (b < 0 || (size_t)b >= 8 * sizeof(a) ? (a < 0 ? -1 : 0) : a >> b)
BINARY_INTS(shift_right, SHIFT_RIGHT_SIGNED, b >= 8 * sizeof(a) ? 0 : a >> b)
static const binary_row shift_right_row = {.fn = {BINARY_INT_SLOTS(shift_right)}};
TN_KERNEL(bit_shift, TN_K_SIZES | TN_K_IN_PLACE) {
  return binary_run(k, tn_k_str_is(k, "direction", "LEFT") ? &shift_left_row : &shift_right_row);
}

/* Where: one loop per element size. */
#define WHERE_LOOP(suffix, T)                                                                                       \
  static void where_##suffix(const void *const *in, const int64_t *step, void *out, int64_t n, const void *param) { \
    const uint8_t *const c = in[0];                                                                                 \
    const T *const as = in[1];                                                                                      \
    const T *const bs = in[2];                                                                                      \
    T *const ys = out;                                                                                              \
    (void)param;                                                                                                    \
    for (int64_t i = 0; i < n; i++) ys[i] = c[i * step[0]] ? as[i * step[1]] : bs[i * step[2]];                     \
  }
typedef struct where_pair {
  uint64_t lo, hi;
} where_pair;
WHERE_LOOP(1, uint8_t)
WHERE_LOOP(2, uint16_t)
WHERE_LOOP(4, uint32_t)
WHERE_LOOP(8, uint64_t)
WHERE_LOOP(16, where_pair)
TN_KERNEL(where, TN_K_SIZES | TN_K_IN_PLACE) {
  int rank;
  int64_t dims[TN_K_MAX_RANK];
  const tn_dtype d = k->in[1]->dtype;
  const int bytes = tn_dtype_bits(d) / 8;
  const tn_kmap_fn fn = bytes == 1   ? where_1
                        : bytes == 2 ? where_2
                        : bytes == 4 ? where_4
                        : bytes == 8 ? where_8
                                     : where_16;
  if (bytes == 0) return tn_k_no_dtype(k, 1);
  const tn_kmap m = {.fn = fn, .n_in = 3, .in = {TN_BOOL, d, d}, .out = d};
  TN_TRY(tn_k_bcast(k, k->in, 3, &rank, dims));
  TN_TRY(tn_k_out(k, 0, rank, dims));
  return tn_k_map(k, &m, k->in, k->out[0]);
}

/* Clip: bounds are scalars, either may be absent; x below min becomes min, then above max becomes max. */
#define CLIP_LOOP(suffix, T)                                                                                       \
  static void clip_##suffix(const void *const *in, const int64_t *step, void *out, int64_t n, const void *param) { \
    const T *const xs = in[0];                                                                                     \
    T *const ys = out;                                                                                             \
    const T *const range = param;                                                                                  \
    const T lo = range[0], hi = range[1];                                                                          \
    TN_IN_PLACE_LOOP                                                                                               \
    for (int64_t i = 0; i < n; i++) {                                                                              \
      const T x = xs[i * step[0]];                                                                                 \
      const T y = x < lo ? lo : x;                                                                                 \
      ys[i] = y > hi ? hi : y;                                                                                     \
    }                                                                                                              \
  }
CLIP_LOOP(f32, float)
CLIP_LOOP(f64, double)
CLIP_LOOP(i8, int8_t)
CLIP_LOOP(i16, int16_t)
CLIP_LOOP(i32, int32_t)
CLIP_LOOP(i64, int64_t)
CLIP_LOOP(u8, uint8_t)
CLIP_LOOP(u16, uint16_t)
CLIP_LOOP(u32, uint32_t)
CLIP_LOOP(u64, uint64_t)
static const tn_kmap_fn clip_fns[TN_N_DTYPES] = {BINARY_FLOAT_SLOTS(clip), BINARY_INT_SLOTS(clip)};

static tn_status clip_store(tn_kcall *k, tn_dtype d, void *range, int which) {
  const tn_karg *const bound = tn_k_in(k, 1 + which);
  if (bound && bound->count != 1)
    return tn_k_fail(k, TN_MISMATCH, "input %d has %lld elements, expected 1", 1 + which, (long long)bound->count);
  if (bound && tn_dtype_is_float(d))
    tn_store_f64(d, range, which, tn_load_f64(bound->dtype, bound->data, 0));
  else if (bound)
    tn_store_i64(d, range, which, tn_load_i64(bound->dtype, bound->data, 0));
  else if (tn_dtype_is_float(d))
    tn_store_f64(d, range, which, which ? HUGE_VAL : -HUGE_VAL);
  else if (tn_dtype_cls(d) == TN_CLASS_UINT)
    tn_store_i64(d, range, which, which ? -1 : 0);
  else
    tn_store_i64(
        d, range, which,
        which ? (int64_t)(UINT64_MAX >> (65 - tn_dtype_bits(d))) : -(INT64_C(1) << (tn_dtype_bits(d) - 2)) * 2);
  return TN_OK;
}
TN_KERNEL(clip, TN_K_SIZES | TN_K_IN_PLACE_FIRST) {
  const tn_karg *const x = k->in[0];
  const tn_dtype work = x->dtype == TN_F16 || x->dtype == TN_BF16 ? TN_F32 : x->dtype;
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  if (!clip_fns[work]) return tn_k_no_dtype(k, 0);
  double range[2];
  for (int which = 0; which < 2; which++) TN_TRY(clip_store(k, work, range, which));
  const tn_kmap m = {.fn = clip_fns[work], .n_in = 1, .in = {work}, .out = work, .param = range};
  return tn_k_map(k, &m, k->in, k->out[0]);
}
