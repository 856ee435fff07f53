/* Random tensors: RandomNormal, RandomUniform, their Like forms, Bernoulli, Multinomial.
 *
 * Number i of a result depends on the stream and on i alone. The attribute `seed` names the stream; without it the run
 * gives one. */
#include <math.h>

#include "base/rng.h"
#include "op/move.h"

static uint64_t random_stream(const tn_eval *e) {
  const tn_attr *const seed = tn_eval_attr(e, "seed");
  uint64_t bits = 0;
  if (seed) memcpy(&bits, &seed->f, sizeof bits);
  return bits;
}

/* The element type: attribute `dtype`, or that of input 0. */
static tn_status random_dtype(tn_rule *r, uint64_t allowed) {
  const tn_attr *const a = tn_rule_attr(r, "dtype");
  const int64_t d = a && a->i ? a->i : r->n_in > 0 ? (int64_t)r->in[0]->dtype : TN_F32;
  if (!tn_dtype_valid((int)d) || !(allowed >> d & 1))
    return tn_rule_fail(r, TN_INVALID, "element type %s of the result",
                        tn_dtype_valid((int)d) ? tn_dtype_name((tn_dtype)d) : "unknown");
  tn_rule_set_dtype(r, 0, (tn_dtype)d);
  return TN_OK;
}
static tn_status random_type_float(tn_rule *r) { return random_dtype(r, TN_SET_FLOATS); }
static tn_status random_type_any(tn_rule *r) { return random_dtype(r, TN_SET_NUMBERS | TN_SET(BOOL)); }

static tn_status random_shape_attr(tn_rule *r) {
  const tn_attr *const shape = tn_rule_attr(r, "shape");
  const int64_t n = shape ? shape->n : 0;
  if (n > TN_MAX_RANK) return tn_rule_fail(r, TN_LIMIT, "rank %lld is above %d", (long long)n, TN_MAX_RANK);
  tn_sym *const dims = tn_rule_dims(r, (int)n);
  for (int64_t i = 0; i < n; i++) {
    if (shape->ints[i] < 0)
      return tn_rule_fail(r, TN_INVALID, "dim %lld is %lld, which is negative", (long long)i,
                          (long long)shape->ints[i]);
    dims[i] = tn_sym_int(r->syms, shape->ints[i]);
  }
  tn_rule_set(r, 0, (int)n, dims);
  return TN_OK;
}

/* A result shaped by the attribute, or like input 0. */
static tn_status random_out(tn_eval *e, tn_lit **out) {
  const tn_dtype d = tn_eval_out_dtype(e, 0);
  if (e->n_in > 0) return tn_eval_out(e, 0, d, e->in[0]->rank, e->in[0]->dims, out);
  const tn_attr *const shape = tn_eval_attr(e, "shape");
  return tn_eval_out(e, 0, d, shape ? (int)shape->n : 0, shape ? shape->ints : NULL, out);
}

static tn_status random_normal_eval(tn_eval *e) {
  const uint64_t stream = random_stream(e);
  tn_lit *y;
  TN_TRY(random_out(e, &y));
  for (int64_t i = 0; i < y->count; i++)
    tn_store_f64(y->dtype, tn_lit_data(y), i,
                 tn_eval_float(e, "mean") + tn_eval_float(e, "scale") * tn_rng_normal(stream, (uint64_t)i));
  return TN_OK;
}

static tn_status random_uniform_eval(tn_eval *e) {
  const double low = tn_eval_float(e, "low"), high = tn_eval_float(e, "high");
  const uint64_t stream = random_stream(e);
  tn_lit *y;
  TN_TRY(random_out(e, &y));
  for (int64_t i = 0; i < y->count; i++) {
    tn_store_f64(y->dtype, tn_lit_data(y), i, low + (high - low) * tn_rng_f64(stream, (uint64_t)i));
    if (tn_lit_f64(y, i) >= high && low < high) tn_store_f64(y->dtype, tn_lit_data(y), i, low); /* rounded up */
  }
  return TN_OK;
}

/* clang-format off */
#define RANDOM_NORMAL_ATTRS \
  {"dtype", TN_ATTR_DTYPE}, {"mean", TN_ATTR_FLOAT, .has_default = true}, {"scale", TN_ATTR_FLOAT, .f = 1}, {"seed", TN_ATTR_FLOAT}
#define RANDOM_UNIFORM_ATTRS \
  {"dtype", TN_ATTR_DTYPE}, {"low", TN_ATTR_FLOAT, .has_default = true}, {"high", TN_ATTR_FLOAT, .f = 1}, {"seed", TN_ATTR_FLOAT}
/* clang-format on */
#define RANDOM_ROW .traits = TN_TRAIT_RANDOM, .accuracy = {TN_ACC_RANDOM, 0}

TN_OP(random_normal){
    .name = "random_normal",
    .out = {{"output", TN_SET_FLOATS}},
    .attrs = {{"shape", TN_ATTR_INTS, .required = true}, RANDOM_NORMAL_ATTRS},
    .type = random_type_float,
    .shape = random_shape_attr,
    .eval = random_normal_eval,
    .kernel = "random_normal",
    RANDOM_ROW,
    .doc = "normally distributed numbers with this mean and standard deviation",
};
TN_OP(random_normal_like){
    .name = "random_normal_like",
    .in = {{"input"}},
    .out = {{"output", TN_SET_FLOATS}},
    .attrs = {RANDOM_NORMAL_ATTRS},
    .type = random_type_float,
    .shape = tn_shape_as_input,
    .eval = random_normal_eval,
    .kernel = "random_normal_like",
    RANDOM_ROW,
    .doc = "normally distributed numbers in the shape of the input",
};
TN_OP(random_uniform){
    .name = "random_uniform",
    .out = {{"output", TN_SET_FLOATS}},
    .attrs = {{"shape", TN_ATTR_INTS, .required = true}, RANDOM_UNIFORM_ATTRS},
    .type = random_type_float,
    .shape = random_shape_attr,
    .eval = random_uniform_eval,
    .kernel = "random_uniform",
    RANDOM_ROW,
    .doc = "numbers spread evenly over [low, high)",
};
TN_OP(random_uniform_like){
    .name = "random_uniform_like",
    .in = {{"input"}},
    .out = {{"output", TN_SET_FLOATS}},
    .attrs = {RANDOM_UNIFORM_ATTRS},
    .type = random_type_float,
    .shape = tn_shape_as_input,
    .eval = random_uniform_eval,
    .kernel = "random_uniform_like",
    RANDOM_ROW,
    .doc = "numbers spread evenly over [low, high) in the shape of the input",
};

static tn_status bernoulli_eval(tn_eval *e) {
  const uint64_t stream = random_stream(e);
  tn_lit *y;
  TN_TRY(random_out(e, &y));
  for (int64_t i = 0; i < y->count; i++)
    tn_store_f64(y->dtype, tn_lit_data(y), i, tn_rng_f64(stream, (uint64_t)i) < tn_lit_f64(e->in[0], i));
  return TN_OK;
}
TN_OP(bernoulli){
    .name = "bernoulli",
    .in = {{"input", TN_SET_FLOATS}},
    .out = {{"output", TN_SET_NUMBERS | TN_SET(BOOL)}},
    .attrs = {{"dtype", TN_ATTR_DTYPE}, {"seed", TN_ATTR_FLOAT}},
    .type = random_type_any,
    .shape = tn_shape_as_input,
    .eval = bernoulli_eval,
    .kernel = "bernoulli",
    RANDOM_ROW,
    .doc = "1 with the probability that the input gives, else 0",
};

/* --- multinomial --- */

static tn_status multinomial_type(tn_rule *r) { return random_dtype(r, TN_SET(I32) | TN_SET(I64)); }

static tn_status multinomial_shape(tn_rule *r) {
  const int64_t n = tn_rule_int(r, "sample_size");
  if (n < 0) return tn_rule_fail(r, TN_INVALID, "attribute 'sample_size' is %lld", (long long)n);
  TN_TRY(tn_rule_need_rank(r, 0, 2, 2));
  tn_sym dims[2] = {NULL, tn_sym_int(r->syms, n)};
  dims[0] = tn_rule_has_rank(r, 0) ? r->in[0]->dims[0] : tn_rule_fresh(r, 0, 0, 0, NULL);
  tn_rule_set(r, 0, 2, dims);
  return TN_OK;
}

/* The class whose part of [0, sum of exp(x)) holds the fraction u of it; -1 when there is none. */
static int64_t multinomial_pick(const tn_lit *x, int64_t row, double u) {
  const int64_t n = x->dims[1];
  double top = -HUGE_VAL, sum = 0, at = 0;
  int64_t last = -1;
  for (int64_t i = 0; i < n; i++) top = fmax(top, tn_lit_f64(x, row * n + i));
  for (int64_t i = 0; i < n; i++) sum += exp(tn_lit_f64(x, row * n + i) - top);
  for (int64_t i = 0; i < n && sum > 0; i++) {
    const double p = exp(tn_lit_f64(x, row * n + i) - top);
    at += p;
    if (p > 0) last = i;
    if (at > u * sum) return i;
  }
  return last;
}

static tn_status multinomial_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const uint64_t stream = random_stream(e);
  tn_lit *y;
  if (x->rank != 2) return tn_eval_fail(e, TN_MISMATCH, "log probabilities of rank %d", x->rank);
  const int64_t dims[2] = {x->dims[0], tn_eval_int(e, "sample_size")};
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), 2, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t c = multinomial_pick(x, i / dims[1], tn_rng_f64(stream, (uint64_t)i));
    if (c < 0) return tn_eval_fail(e, TN_INVALID, "row %lld gives no class a probability", (long long)(i / dims[1]));
    tn_store_i64(y->dtype, tn_lit_data(y), i, c);
  }
  return TN_OK;
}
TN_OP(multinomial){
    .name = "multinomial",
    .in = {{"input", TN_SET_FLOATS}},
    .out = {{"output", TN_SET(I32) | TN_SET(I64)}},
    .attrs = {{"dtype", TN_ATTR_DTYPE, .i = TN_I32}, {"sample_size", TN_ATTR_INT, .i = 1}, {"seed", TN_ATTR_FLOAT}},
    .type = multinomial_type,
    .shape = multinomial_shape,
    .eval = multinomial_eval,
    .kernel = "multinomial",
    RANDOM_ROW,
    .doc = "classes drawn by the log probabilities in each row",
};

/* clang-format off */
TN_ONNX(ai, RandomNormal, 1, TN_LATEST, random_normal, tn_import_same)
TN_ONNX(ai, RandomNormalLike, 1, TN_LATEST, random_normal_like, tn_import_same)
TN_ONNX(ai, RandomUniform, 1, TN_LATEST, random_uniform, tn_import_same)
TN_ONNX(ai, RandomUniformLike, 1, TN_LATEST, random_uniform_like, tn_import_same)
TN_ONNX(ai, Bernoulli, 15, TN_LATEST, bernoulli, tn_import_same)
TN_ONNX(ai, Multinomial, 7, TN_LATEST, multinomial, tn_import_same)
