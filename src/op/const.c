/* const: a literal. Constant nodes, initializers and the results of folding are all of this operator. */
#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"

static tn_status const_shape(tn_rule *r) { /* type, shape and content at once */
  r->out[0] = tn_lit_type(r->ctx, r->syms, tn_rule_attr(r, "value")->tensor);
  return TN_OK;
}

static tn_status const_eval(tn_eval *e) {
  tn_lit *same = TN_NEW(e->arena, tn_lit); /* literals are never written once made: the elements are shared */
  *same = *tn_eval_attr(e, "value")->tensor;
  e->out[0] = same;
  return TN_OK;
}

TN_OP(const){
    .name = "const",
    .out = {{"output", 0, NULL, TN_PORT_ANY_KIND}},
    .attrs = {{"value", TN_ATTR_TENSOR, .required = true}},
    .shape = const_shape,
    .eval = const_eval,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the literal `value`; it is data of the program, no kernel computes it",
};

static const tn_lit *const_floats(tn_arena *a, const double *v, int64_t n, int rank) {
  tn_lit *l = tn_lit_new(a, TN_F32, rank, &n);
  for (int64_t i = 0; i < l->count; i++) tn_store_f64(TN_F32, tn_lit_data(l), i, v[i]);
  return l;
}

static const tn_lit *const_strings(tn_arena *a, const tn_str *v, int64_t n, int rank) {
  tn_lit *l = tn_lit_new(a, TN_STR, rank, &n);
  if (l->bytes) memcpy(tn_lit_data(l), v, l->bytes);
  return l;
}

static const tn_lit *const_lit(tn_arena *a, const tn_attr *v) {
  switch (v->kind) {
    case TN_ATTR_TENSOR:
      return v->tensor;
    case TN_ATTR_INT:
      return tn_lit_scalar_i64(a, TN_I64, v->i);
    case TN_ATTR_INTS:
      return tn_lit_i64(a, v->ints, v->n);
    case TN_ATTR_FLOAT:
      return const_floats(a, &v->f, 1, 0);
    case TN_ATTR_FLOATS:
      return const_floats(a, v->floats, v->n, 1);
    case TN_ATTR_STR:
      return const_strings(a, &v->s, 1, 0);
    case TN_ATTR_STRS:
      return const_strings(a, v->strs, v->n, 1);
    default:
      return NULL;
  }
}

/* One of these names gives the value; a sparse one is handed over with its dense form. */
static tn_status const_import(tn_import *im) {
  static const struct {
    const char *name;
    tn_attr_kind kind;
  } forms[] = {{"value", TN_ATTR_TENSOR},        {"sparse_value", TN_ATTR_TENSOR}, {"value_float", TN_ATTR_FLOAT},
               {"value_floats", TN_ATTR_FLOATS}, {"value_int", TN_ATTR_INT},       {"value_ints", TN_ATTR_INTS},
               {"value_string", TN_ATTR_STR},    {"value_strings", TN_ATTR_STRS}};
  const tn_lit *lit = NULL;
  int n = 0;
  for (size_t i = 0; i < TN_COUNT(forms); i++) {
    const tn_attr *a;
    TN_TRY(tn_import_get(im, forms[i].name, forms[i].kind, &a));
    if (!a) continue;
    tn_attr dense = *a;
    dense.kind = forms[i].kind;
    lit = const_lit(&im->ctx->arena, &dense);
    n++;
  }
  if (n != 1 || !lit) return tn_import_fail(im, TN_INVALID, "%d values are given, expected one", n);
  TN_TRY(tn_import_check_used(im));
  if (im->n_out > 0) im->out[0] = tn_import_const_lit(im, lit);
  return TN_OK;
}
TN_ONNX(ai, Constant, 1, TN_LATEST, const, const_import)
