/* Maps: made of rows (ZipMap), and taken apart (DictVectorizer, CastMap). A map is its keys and its values, two vectors
 * of one length. */
#include "ir/eval.h"
#include "ir/rules.h"
#include "op/ms.h"

#define DICT_KEYS (TN_SET(STR) | TN_SET(I64))

/* --- zip_map --- */

static tn_status dict_no_type(tn_rule *r) {
  (void)r; /* the shape rule gives the whole type */
  return TN_OK;
}

static tn_status dict_zip_shape(tn_rule *r) {
  const tn_type *const x = r->in[0];
  if (tn_type_has_rank(x)) {
    if (x->rank < 1 || x->rank > 2)
      return tn_rule_fail(r, TN_MISMATCH, "input 0 (x) has rank %d, expected 1 or 2", x->rank);
    if (tn_rule_has_rank(r, 1))
      TN_TRY(tn_rule_unify(r, x->dims[x->rank - 1], r->in[1]->dims[0], "number of columns and of keys", 0, NULL));
  }
  tn_type *const value = TN_NEW(&r->ctx->arena, tn_type), *const map = TN_NEW(&r->ctx->arena, tn_type);
  *value = tn_type_tensor(x->dtype, 0, NULL);
  *map = (tn_type){.kind = TN_TYPE_MAP, .dtype = r->in[1]->dtype, .rank = -1, .elem = value};
  r->out[0] = (tn_type){.kind = TN_TYPE_SEQUENCE, .rank = -1, .elem = map};
  return TN_OK;
}

static tn_lit *dict_holder(tn_eval *e, tn_type_kind kind, int64_t n, const tn_lit ***items) {
  tn_lit *const l = TN_NEW(e->arena, tn_lit);
  *items = TN_NEW_ARRAY(e->arena, const tn_lit *, n + 1);
  *l = (tn_lit){.kind = kind, .file_offset = -1, .items = *items, .n_items = n};
  return l;
}

static tn_status dict_zip_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0], *const keys = e->in[1];
  if (x->rank < 1 || x->rank > 2 || keys->count != x->dims[x->rank - 1])
    return tn_eval_fail(e, TN_MISMATCH, "%lld keys for another number of columns", (long long)keys->count);
  const int64_t rows = x->rank == 2 ? x->dims[0] : 1;
  const tn_lit **maps, **parts;
  tn_lit *const y = dict_holder(e, TN_TYPE_SEQUENCE, rows, &maps);
  for (int64_t i = 0; i < rows; i++) {
    tn_lit *const values = tn_lit_new(e->arena, x->dtype, 1, &keys->count);
    for (int64_t j = 0; j < keys->count; j++)
      tn_copy_element(x->dtype, tn_lit_data(values), j, x->data, i * keys->count + j);
    maps[i] = dict_holder(e, TN_TYPE_MAP, 2, &parts);
    parts[0] = keys;
    parts[1] = values;
  }
  e->out[0] = y;
  return TN_OK;
}

TN_OP(zip_map){
    .name = "zip_map",
    .in = {{"x", TN_SET_NUMBERS}, {"keys", DICT_KEYS, NULL, .rank = 1}},
    .out = {{"z", 0, NULL, TN_PORT_SEQUENCE}},
    .type = dict_no_type,
    .shape = dict_zip_shape,
    .eval = dict_zip_eval,
    .kernel = "zip_map",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "a map from keys to values for each row",
};

/* --- map_split --- */

static tn_status dict_split_type(tn_rule *r) {
  const tn_type *const map = r->in[0];
  if (map->kind != TN_TYPE_MAP || !map->dtype || !map->elem || map->elem->kind != TN_TYPE_TENSOR)
    return tn_rule_fail(r, TN_MISMATCH, "input 0 (map) is no map of single numbers or texts");
  tn_rule_set_dtype(r, 0, map->dtype);
  tn_rule_set_dtype(r, 1, map->elem->dtype);
  return TN_OK;
}

static tn_status dict_split_shape(tn_rule *r) {
  const int named = r->out_present[0] ? 0 : 1; /* both have one length */
  const tn_sym n = tn_rule_fresh(r, named, 0, 0, NULL);
  tn_rule_set(r, 0, 1, &n);
  tn_rule_set(r, 1, 1, &n);
  return TN_OK;
}

static tn_status dict_split_eval(tn_eval *e) {
  const tn_lit *const map = e->in[0];
  if (map->kind != TN_TYPE_MAP || map->n_items != 2) return tn_eval_fail(e, TN_MISMATCH, "input 0 (map) is no map");
  for (int i = 0; i < 2; i++) e->out[i] = (tn_lit *)(uintptr_t)map->items[i];
  return TN_OK;
}

TN_OP(map_split){
    .name = "map_split",
    .in = {{"map", 0, NULL, TN_PORT_SEQUENCE}},
    .out = {{"keys", DICT_KEYS}, {"values", 0}},
    .type = dict_split_type,
    .shape = dict_split_shape,
    .eval = dict_split_eval,
    .kernel = "map_split",
    .traits = TN_TRAIT_PURE,
    .sizes = TN_SIZES_OPEN,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the keys and the values of a map",
};

/* --- import --- */

/* The one of two attributes that is there, as a vector. */
static tn_status dict_list(tn_import *im, const char *of_strings, const char *of_ints, tn_value **out) {
  const tn_attr *strings, *ints;
  TN_TRY(tn_import_get(im, of_strings, TN_ATTR_STRS, &strings));
  TN_TRY(tn_import_get(im, of_ints, TN_ATTR_INTS, &ints));
  const bool has_strings = strings && strings->n > 0, has_ints = ints && ints->n > 0;
  if (has_strings == has_ints) return tn_import_fail(im, TN_INVALID, "one of %s and %s is needed", of_strings, of_ints);
  *out =
      has_strings ? tn_import_const_strs(im, strings->strs, strings->n) : tn_import_const_i64(im, ints->ints, ints->n);
  return TN_OK;
}

static tn_status dict_zip(tn_import *im) {
  tn_value *keys;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(dict_list(im, "classlabels_strings", "classlabels_int64s", &keys));
  return tn_im_done(im, tn_im2(im, "zip_map", im->in[0], keys));
}

static tn_status dict_need_map(tn_import *im, tn_dtype *key, tn_dtype *value) {
  TN_TRY(tn_im_need(im, 1));
  const tn_type *const t = &im->in[0]->type;
  if (t->kind != TN_TYPE_MAP || !t->elem || t->elem->kind != TN_TYPE_TENSOR)
    return tn_import_fail(im, TN_INVALID, "input 0 is no map of single numbers or texts");
  *key = t->dtype;
  *value = t->elem->dtype;
  return TN_OK;
}

/* What the map has for each of `keys`, a row. */
static tn_value *dict_row(tn_import *im, tn_value *keys, const tn_node *parts, tn_value *absent) {
  tn_value *const in[4] = {keys, parts->out[0], parts->out[1], absent};
  return tn_im2(im, "unsqueeze", tn_import_node(im, "map_values", in, 4, 1)->out[0], tn_im_int(im, 0));
}

static tn_value *dict_zero(tn_import *im, tn_dtype d, const char *text) {
  const tn_str s = tn_str_of(text);
  if (d == TN_STR) return tn_import_const_strs(im, &s, 1);
  return tn_import_const_lit(
      im, tn_dtype_is_float(d) ? tn_lit_scalar_f64(&im->ctx->arena, d, 0) : tn_lit_scalar_i64(&im->ctx->arena, d, 0));
}

static tn_status dict_vectorizer(tn_import *im) {
  tn_value *keys;
  tn_dtype key, value;
  TN_TRY(dict_need_map(im, &key, &value));
  TN_TRY(dict_list(im, "string_vocabulary", "int64_vocabulary", &keys));
  if (keys->type.dtype != key)
    return tn_import_fail(im, TN_MISMATCH, "the vocabulary is %s, the keys are %s", tn_dtype_name(keys->type.dtype),
                          tn_dtype_name(key));
  const tn_node *const parts = tn_import_node(im, "map_split", &im->in[0], 1, 2);
  return tn_im_done(im, dict_row(im, keys, parts, dict_zero(im, value, "")));
}

/* The values in the order of their keys, a row. */
static tn_value *dict_dense(tn_import *im, const tn_node *parts) {
  tn_value *const size = tn_im1(im, "shape", parts->out[0]);
  tn_value *const in[2] = {parts->out[0], size};
  tn_node *const order = tn_import_node(im, "top_k", in, 2, 2);
  tn_import_set_int(order, "axis", 0);
  tn_import_set_int(order, "largest", 0);
  return tn_im2(im, "unsqueeze", tn_im2(im, "gather", parts->out[1], order->out[1]), tn_im_int(im, 0));
}

static tn_status dict_cast(tn_import *im) {
  static const struct {
    const char *name;
    tn_dtype dtype;
  } kinds[] = {{"TO_FLOAT", TN_F32}, {"TO_STRING", TN_STR}, {"TO_INT64", TN_I64}};
  tn_str to, form;
  int64_t most;
  tn_dtype key, value, dtype = TN_DTYPE_NONE;
  TN_TRY(dict_need_map(im, &key, &value));
  TN_TRY(tn_import_str(im, "cast_to", "TO_FLOAT", &to));
  TN_TRY(tn_import_str(im, "map_form", "DENSE", &form));
  TN_TRY(tn_import_int(im, "max_map", 1, &most));
  for (size_t i = 0; i < TN_COUNT(kinds); i++)
    if (tn_str_is(to, kinds[i].name)) dtype = kinds[i].dtype;
  const bool is_sparse = tn_str_is(form, "SPARSE");
  if (!dtype || (!is_sparse && !tn_str_is(form, "DENSE")) || key != TN_I64)
    return tn_import_fail(im, TN_INVALID, "no such cast_to or map_form, or the keys are %s", tn_dtype_name(key));
  if (is_sparse && (most < 1 || most > INT64_C(1) << 24))
    return tn_import_fail(im, TN_INVALID, "max_map is %lld", (long long)most);
  const tn_node *const parts = tn_import_node(im, "map_split", &im->in[0], 1, 2);
  tn_value *row;
  if (is_sparse) {
    int64_t *const places = TN_NEW_ARRAY(&im->ctx->arena, int64_t, most);
    for (int64_t i = 0; i < most; i++) places[i] = i;
    row = dict_row(im, tn_import_const_i64(im, places, most), parts, dict_zero(im, value, "0"));
  } else {
    row = dict_dense(im, parts);
  }
  return tn_im_done(im, value == dtype ? row : tn_im_cast(im, row, dtype));
}

/* clang-format off */
TN_ONNX(ml, ZipMap, 1, TN_LATEST, zip_map, dict_zip)
TN_ONNX(ml, DictVectorizer, 1, TN_LATEST, map_split, dict_vectorizer)
TN_ONNX(ml, CastMap, 1, TN_LATEST, map_split, dict_cast)
