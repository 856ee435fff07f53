/* Conversions of element type: Cast, CastLike, BitCast. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/half.h"
#include "op/ratio.h"

static tn_dtype cast_target(const tn_attr *to) {
  return to && tn_dtype_valid((int)to->i) ? (tn_dtype)to->i : TN_DTYPE_NONE;
}

static tn_status cast_type(tn_rule *r) {
  const tn_dtype d = cast_target(tn_rule_attr(r, "to"));
  if (!d)
    return tn_rule_fail(r, TN_INVALID, "attribute 'to' is %lld, which is no element type",
                        (long long)tn_rule_int(r, "to"));
  tn_rule_set_dtype(r, 0, d);
  return TN_OK;
}
static tn_status cast_like_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[1]->dtype);
  return TN_OK;
}

/* num / 2^k is the same number in float32 and float64; other quotients are rounded to their type. */
static tn_elem cast_fraction(tn_rule *r, tn_dtype d, const tn_elem *in) {
  const tn_dtype from = r->in[0]->dtype;
  if (d == from) return *in;
  if (d == TN_I64 || d == TN_I32) return tn_elem_whole(r, from, in, TN_ROUND_TO_ZERO);
  const bool dyadic = in->kind == TN_ELEM_RATIO && (in->den & (in->den - 1)) == 0;
  const bool fits = dyadic && (d == TN_F32 || d == TN_F64) && tn_elem_fits(r, TN_F32, in->sym, 24);
  return fits ? *in : (tn_elem){0};
}

/* May it, as far as is known, pass what any float holds exactly? Sizes do not; numbers that stand for "to the end" do.
 */
static bool cast_is_huge(tn_rule *r, tn_sym s) {
  const int64_t limit = INT64_C(1) << 53;
  const tn_interval b = tn_sym_bounds(r->syms, s);
  return (b.lo != INT64_MIN && b.lo < -limit) || (b.hi != INT64_MAX && b.hi > limit);
}

/* Content: an integer stays the integer in every type that surely holds it. How the short floats round and saturate is
 * left to the evaluation. */
static tn_elem cast_elem(tn_rule *r, const tn_elem *in) {
  const tn_dtype d = r->out[0].dtype;
  double v;
  if (tn_dtype_is_float(d) && tn_dtype_bits(d) < 16) return (tn_elem){0};
  if (in->kind == TN_ELEM_SYM && !tn_sym_is_int(in->sym)) {
    if (d == TN_BOOL) return tn_elem_sym(tn_sym_ne(r->syms, in->sym, tn_sym_int(r->syms, 0)));
    const bool is_float = d == TN_F32 || d == TN_F64;
    const bool wide = d == TN_I64 || d == TN_I32 || (is_float && !cast_is_huge(r, in->sym));
    const bool leaves = r->in[0]->dtype == TN_F32 && d != TN_F32;
    return wide && (!leaves || tn_elem_fits(r, TN_F32, in->sym, 24)) ? *in : (tn_elem){0};
  }
  if (in->kind == TN_ELEM_RATIO || in->kind == TN_ELEM_SCALED) return cast_fraction(r, d, in);
  if (!tn_elem_const(in, &v) || tn_dtype_cls(d) == TN_CLASS_STRING || tn_dtype_cls(d) == TN_CLASS_COMPLEX)
    return (tn_elem){0};
  if (tn_dtype_is_float(d)) return tn_elem_round(r, v);
  uint64_t bits = 0;
  if (in->kind == TN_ELEM_SYM)
    tn_store_i64(d, &bits, 0, in->sym->k);
  else
    tn_store_f64(d, &bits, 0, v);
  return tn_elem_sym(tn_sym_int(r->syms, tn_load_i64(d, &bits, 0)));
}
static tn_status cast_value(tn_rule *r) {
  tn_rule one = *r; /* only the first operand has content that matters */
  one.n_in = 1;
  return tn_op_value_map(&one, cast_elem);
}

/* The shortest decimal that reads back as the same value, as numpy prints it. */
static tn_str cast_print(tn_eval *e, tn_dtype d, const void *p, int64_t i) {
  if (tn_dtype_is_int(d))
    return tn_str_of(
        tn_arena_printf(e->arena, d == TN_U64 ? "%llu" : "%lld", (unsigned long long)tn_load_i64(d, p, i)));
  if (d == TN_BOOL) return tn_str_of(tn_load_i64(d, p, i) ? "True" : "False");
  const double v = tn_load_f64(d, p, i);
  if (isnan(v)) return tn_str_of("NaN");
  if (isinf(v)) return tn_str_of(v > 0 ? "INF" : "-INF");
  if (fabs(v) < 1e16 && trunc(v) == v) return tn_str_of(tn_arena_printf(e->arena, "%.0f", v)); /* %g may take 3e+04 */
  char text[40];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, v);
    uint64_t back = 0;
    tn_store_f64(d, &back, 0, strtod(text, NULL));
    if (tn_load_f64(d, &back, 0) == v) break;
  }
  return tn_str_of(tn_arena_copy_str(e->arena, tn_str_of(text)));
}

static tn_status cast_read(tn_eval *e, tn_dtype d, tn_str s, void *out, int64_t i) {
  const char *const z = tn_arena_copy_str(e->arena, s);
  char *end;
  errno = 0;
  if (tn_dtype_is_int(d)) {
    const int64_t v = d == TN_U64 ? (int64_t)strtoull(z, &end, 10) : strtoll(z, &end, 10);
    if (end != z && *end == 0 && errno == 0) {
      tn_store_i64(d, out, i, v);
      return TN_OK;
    }
  }
  const double v = strtod(z, &end);
  if (end == z || *end != 0)
    return tn_eval_fail(e, TN_INVALID, "element %lld, \"%s\", is not a number", (long long)i, z);
  tn_store_f64(d, out, i, v);
  return TN_OK;
}

static tn_status cast_eval(tn_eval *e) {
  const tn_lit *x = e->in[0];
  const tn_dtype d = tn_eval_out_dtype(e, 0);
  const tn_attr *const sat = tn_eval_attr(e, "saturate");
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, d, x->rank, x->dims, &y));
  if (x->dtype == TN_STR && d == TN_STR) {
    if (x->bytes) memcpy(tn_lit_data(y), x->data, x->bytes);
    return TN_OK;
  }
  if (x->dtype == TN_STR && tn_dtype_is_float(d)) { /* as doubles, so that the attributes count */
    tn_lit *const wide = tn_lit_new(e->arena, TN_F64, x->rank, x->dims);
    for (int64_t i = 0; i < x->count; i++)
      TN_TRY(cast_read(e, TN_F64, ((const tn_str *)x->data)[i], tn_lit_data(wide), i));
    x = wide;
  }
  for (int64_t i = 0; i < x->count && x->dtype == TN_STR; i++)
    TN_TRY(cast_read(e, d, ((const tn_str *)x->data)[i], tn_lit_data(y), i));
  for (int64_t i = 0; i < x->count && d == TN_STR; i++)
    ((tn_str *)tn_lit_data(y))[i] = cast_print(e, x->dtype, x->data, i);
  if (x->dtype == TN_STR || d == TN_STR) return TN_OK;
  const bool nearest = tn_eval_str_is(e, "round_mode", "nearest");
  if (d == TN_F8E8M0 && (nearest || tn_eval_str_is(e, "round_mode", "down"))) {
    for (int64_t i = 0; i < x->count; i++)
      ((uint8_t *)tn_lit_data(y))[i] =
          tn_f64_to_e8m0(tn_dtype_is_float(x->dtype) ? tn_lit_f64(x, i) : (double)tn_lit_i64_at(x, i), !sat || sat->i,
                         nearest ? TN_E8M0_NEAREST : TN_E8M0_DOWN);
    return TN_OK;
  }
  if (!tn_convert(d, tn_lit_data(y), x->dtype, x->data, x->count, !sat || sat->i))
    return tn_eval_fail(e, TN_INVALID, "%s does not convert to %s", tn_dtype_name(x->dtype), tn_dtype_name(d));
  return TN_OK;
}

TN_OP(cast){
    .name = "cast",
    .in = {{"input", 0}},
    .out = {{"output", 0}},
    .attrs = {{"to", TN_ATTR_DTYPE, .required = true},
              {"saturate", TN_ATTR_INT, .i = 1},
              {"round_mode", TN_ATTR_STR, .s = "up"}},
    .type = cast_type,
    .shape = tn_shape_as_input,
    .value = cast_value,
    .eval = cast_eval,
    .kernel = "cast",
    .traits = TN_TRAIT_PURE | TN_TRAIT_ELEMENTWISE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the same values in another element type",
};
TN_OP(cast_like){
    .name = "cast_like",
    .in = {{"input", 0}, {"target_type", 0}},
    .out = {{"output", 0}},
    .attrs = {{"saturate", TN_ATTR_INT, .i = 1}, {"round_mode", TN_ATTR_STR, .s = "up"}},
    .type = cast_like_type,
    .shape = tn_shape_as_input,
    .value = cast_value,
    .eval = cast_eval,
    .kernel = "cast",
    .traits = TN_TRAIT_PURE | TN_TRAIT_ELEMENTWISE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the first operand in the element type of the second",
};

/* --- bit_cast --- */

static tn_status bit_cast_shape(tn_rule *r) {
  const int from = r->in[0]->dtype ? tn_dtype_bits(r->in[0]->dtype) : 0, to = tn_dtype_bits(r->out[0].dtype);
  if (from && from != to)
    return tn_rule_fail(r, TN_INVALID, "%s has %d bits, %s has %d", tn_dtype_name(r->in[0]->dtype), from,
                        tn_dtype_name(r->out[0].dtype), to);
  return tn_shape_as_input(r);
}
static tn_status bit_cast_eval(tn_eval *e) {
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), e->in[0]->rank, e->in[0]->dims, &y));
  if (y->bytes) memcpy(tn_lit_data(y), e->in[0]->data, y->bytes);
  return TN_OK;
}
TN_OP(bit_cast){
    .name = "bit_cast",
    .in = {{"input", 0}},
    .out = {{"output", 0}},
    .attrs = {{"to", TN_ATTR_DTYPE, .required = true}},
    .type = cast_type,
    .shape = bit_cast_shape,
    .eval = bit_cast_eval,
    .kernel = "reinterpret",
    .traits = TN_TRAIT_PURE | TN_TRAIT_VIEW,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the same bits read as another element type of the same width",
};

/* Opsets below 6 name the target by text. */
static tn_status cast_import_1(tn_import *im) {
  tn_str to;
  TN_TRY(tn_import_str(im, "to", NULL, &to));
  tn_dtype d = TN_DTYPE_NONE;
  for (int i = 1; i < TN_N_DTYPES && !d; i++) {
    const char *const name = tn_dtype_rows[i].onnx;
    if (name && strlen(name) == to.len && strncasecmp(name, to.ptr, to.len) == 0) d = (tn_dtype)i;
  }
  if (!d)
    return tn_import_fail(im, TN_INVALID, "attribute 'to' is '%.*s', which is no element type", (int)to.len, to.ptr);
  tn_node *const node = tn_import_node(im, "cast", im->in, 1, im->n_out);
  tn_edit_set_attr(node, "to", (tn_attr){.kind = TN_ATTR_DTYPE, .i = d});
  tn_import_finish(im, node);
  return TN_OK;
}

/* clang-format off */
TN_ONNX(ai, Cast, 1, 5, cast, cast_import_1)
TN_ONNX(ai, Cast, 6, TN_LATEST, cast, tn_import_same)
TN_ONNX(ai, CastLike, 15, TN_LATEST, cast_like, tn_import_same)
TN_ONNX(ai, BitCast, 26, TN_LATEST, bit_cast, tn_import_same)
