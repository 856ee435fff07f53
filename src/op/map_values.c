/* LabelEncoder and CategoryMapper: elements replaced through a list of pairs. */
#include "ir/eval.h"
#include "ir/rules.h"
#include "op/ms.h"

#define MAP_TYPES (TN_SET(STR) | TN_SET(I64) | TN_SET(F32) | TN_SET(I32) | TN_SET(I16) | TN_SET(F64))

static tn_status map_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[2]->dtype);
  return TN_OK;
}
static tn_status map_shape(tn_rule *r) {
  if (tn_rule_has_rank(r, 1) && tn_rule_has_rank(r, 2))
    TN_TRY(tn_rule_unify(r, r->in[1]->dims[0], r->in[2]->dims[0], "number of keys and of values", 0, NULL));
  return tn_shape_as_input(r);
}

/* NaN finds NaN. */
static bool map_equal(const tn_lit *a, int64_t i, const tn_lit *b, int64_t j) {
  if (a->dtype == TN_STR) return tn_str_eq(((const tn_str *)a->data)[i], ((const tn_str *)b->data)[j]);
  if (!tn_dtype_is_float(a->dtype)) return tn_lit_i64_at(a, i) == tn_lit_i64_at(b, j);
  const double x = tn_lit_f64(a, i), y = tn_lit_f64(b, j);
  return !(x < y) && !(x > y) && (x >= x) == (y >= y);
}

static tn_status map_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0], *const keys = e->in[1], *const values = e->in[2], *const absent = e->in[3];
  tn_lit *y;
  if (keys->count != values->count || absent->count < 1)
    return tn_eval_fail(e, TN_MISMATCH, "%lld keys for %lld values", (long long)keys->count, (long long)values->count);
  TN_TRY(tn_eval_out(e, 0, values->dtype, x->rank, x->dims, &y));
  for (int64_t i = 0; i < x->count; i++) {
    int64_t at = 0;
    while (at < keys->count && !map_equal(x, i, keys, at)) at++;
    tn_copy_element(y->dtype, tn_lit_data(y), i, at < keys->count ? values->data : absent->data,
                    at < keys->count ? at : 0);
  }
  return TN_OK;
}

TN_OP(map_values){
    .name = "map_values",
    .in = {{"x", MAP_TYPES, "K"},
           {"keys", MAP_TYPES, "K", .rank = 1},
           {"values", MAP_TYPES, "V", .rank = 1},
           {"absent", MAP_TYPES, "V"}},
    .out = {{"y", MAP_TYPES, "V"}},
    .type = map_type,
    .shape = map_shape,
    .eval = map_eval,
    .kernel = "map_values",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the value of the first key that equals x, or the value for absent ones",
};

/* One of <side>_tensor, _strings, _int64s, _floats as a vector. */
static tn_status map_side(tn_import *im, const char *const *names, tn_value **out) {
  const tn_attr *tensor, *strings, *ints, *floats;
  TN_TRY(tn_import_get(im, names[0], TN_ATTR_TENSOR, &tensor));
  TN_TRY(tn_import_get(im, names[1], TN_ATTR_STRS, &strings));
  TN_TRY(tn_import_get(im, names[2], TN_ATTR_INTS, &ints));
  TN_TRY(tn_import_get(im, names[3], TN_ATTR_FLOATS, &floats));
  if (tensor && tensor->tensor)
    *out = tn_import_const_lit(im, tensor->tensor);
  else if (strings)
    *out = tn_import_const_strs(im, strings->strs, strings->n);
  else if (ints)
    *out = tn_import_const_i64(im, ints->ints, ints->n);
  else if (floats)
    *out = tn_import_const_f32(im, floats->floats, floats->n);
  else
    return tn_import_fail(im, TN_INVALID, "none of %s, %s, %s and %s is there", names[0], names[1], names[2], names[3]);
  return TN_OK;
}

static tn_status map_import(tn_import *im) {
  static const char *const keys[] = {"keys_tensor", "keys_strings", "keys_int64s", "keys_floats"};
  static const char *const values[] = {"values_tensor", "values_strings", "values_int64s", "values_floats"};
  tn_value *k, *v, *absent;
  const tn_attr *tensor;
  tn_str s;
  int64_t n;
  double f;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(map_side(im, keys, &k));
  TN_TRY(map_side(im, values, &v));
  TN_TRY(tn_import_get(im, "default_tensor", TN_ATTR_TENSOR, &tensor));
  TN_TRY(tn_import_str(im, "default_string", "_Unused", &s));
  TN_TRY(tn_import_int(im, "default_int64", -1, &n));
  TN_TRY(tn_import_float(im, "default_float", -0.0, &f));
  const tn_dtype to = v->type.dtype;
  if (tensor && tensor->tensor)
    absent = tn_import_const_lit(im, tensor->tensor);
  else if (to == TN_STR)
    absent = tn_import_const_strs(im, &s, 1);
  else
    absent = tn_import_const_lit(im, tn_dtype_is_float(to) ? tn_lit_scalar_f64(&im->ctx->arena, to, f)
                                                           : tn_lit_scalar_i64(&im->ctx->arena, to, n));
  tn_value *const in[4] = {im->in[0], k, v, absent};
  return tn_im_done(im, tn_import_node(im, "map_values", in, 4, 1)->out[0]);
}

/* The first version mapped between strings and their places. */
static tn_status map_import_1(tn_import *im) {
  const tn_attr *classes;
  tn_str s;
  int64_t n;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_get(im, "classes_strings", TN_ATTR_STRS, &classes));
  TN_TRY(tn_import_str(im, "default_string", "_Unused", &s));
  TN_TRY(tn_import_int(im, "default_int64", -1, &n));
  const tn_dtype from = im->in[0]->type.dtype;
  if (!classes || (from != TN_STR && from != TN_I64))
    return tn_import_fail(im, TN_UNSUPPORTED, "an encoder without classes_strings or whose input's type is not known");
  int64_t *const places = TN_NEW_ARRAY(&im->ctx->arena, int64_t, classes->n + 1);
  for (int64_t i = 0; i < classes->n; i++) places[i] = i;
  tn_value *const names = tn_import_const_strs(im, classes->strs, classes->n);
  tn_value *const numbers = tn_import_const_i64(im, places, classes->n);
  const bool by_name = from == TN_STR;
  tn_value *const in[4] = {im->in[0], by_name ? names : numbers, by_name ? numbers : names,
                           by_name ? tn_im_int(im, n) : tn_import_const_strs(im, &s, 1)};
  return tn_im_done(im, tn_import_node(im, "map_values", in, 4, 1)->out[0]);
}

static tn_status map_import_category(tn_import *im) {
  const tn_attr *names, *numbers;
  tn_str s;
  int64_t n;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_get(im, "cats_strings", TN_ATTR_STRS, &names));
  TN_TRY(tn_import_get(im, "cats_int64s", TN_ATTR_INTS, &numbers));
  TN_TRY(tn_import_str(im, "default_string", "_Unused", &s));
  TN_TRY(tn_import_int(im, "default_int64", -1, &n));
  const tn_dtype from = im->in[0]->type.dtype;
  if (!names || !numbers) return tn_import_fail(im, TN_INVALID, "cats_strings and cats_int64s are needed");
  if (from != TN_STR && from != TN_I64)
    return tn_import_fail(im, TN_UNSUPPORTED, "the element type of the input is not known in the file");
  tn_value *const k = tn_import_const_strs(im, names->strs, names->n);
  tn_value *const v = tn_import_const_i64(im, numbers->ints, numbers->n);
  tn_value *const by_name[4] = {im->in[0], k, v, tn_im_int(im, n)};
  tn_value *const by_number[4] = {im->in[0], v, k, tn_import_const_strs(im, &s, 1)};
  return tn_im_done(im, tn_import_node(im, "map_values", from == TN_STR ? by_name : by_number, 4, 1)->out[0]);
}

TN_ONNX(ml, LabelEncoder, 1, 1, map_values, map_import_1)
TN_ONNX(ml, LabelEncoder, 2, TN_LATEST, map_values, map_import)
TN_ONNX(ml, CategoryMapper, 1, TN_LATEST, map_values, map_import_category)
