/* A small tensor whose elements are expressions over the symbols: made by the pass `fold`, written by shape code. */
#include "ir/eval.h"
#include "ir/rules.h"

static tn_status shape_value_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, (tn_dtype)tn_rule_int(r, "dtype"));
  return TN_OK;
}

static tn_status shape_value_dims(const tn_attr *dims, const tn_attr *elems, tn_ctx *ctx, tn_loc loc) {
  int64_t count = 0;
  if (!dims || !elems || dims->n > TN_MAX_RANK || !tn_dims_count(dims->ints, (int)dims->n, &count) ||
      count != elems->n || count > TN_MAX_CONTENT)
    return tn_fail(ctx, TN_INVALID, loc, "shape_value needs as many elements as its dims say, at most %d",
                   TN_MAX_CONTENT);
  return TN_OK;
}

static tn_status shape_value_shape(tn_rule *r) {
  const tn_attr *dims = tn_rule_attr(r, "dims");
  TN_TRY(shape_value_dims(dims, tn_rule_attr(r, "elems"), r->ctx, r->loc));
  tn_sym *out = tn_rule_dims(r, (int)dims->n);
  for (int i = 0; i < (int)dims->n; i++) out[i] = tn_sym_int(r->syms, dims->ints[i]);
  tn_rule_set(r, 0, (int)dims->n, out);
  return TN_OK;
}

static tn_status shape_value_value(tn_rule *r) {
  const tn_attr *elems = tn_rule_attr(r, "elems");
  tn_elem *out = tn_rule_elems(r, elems->n);
  for (int64_t i = 0; i < elems->n; i++) {
    tn_sym e;
    TN_TRY(tn_sym_parse_str(r->syms, elems->strs[i], r->loc, &e));
    out[i] = tn_elem_sym(e);
  }
  tn_rule_set_content(r, 0, out);
  return TN_OK;
}

/* The oracle knows no symbols: constants only. */
static tn_status shape_value_eval(tn_eval *e) {
  const tn_attr *dims = tn_eval_attr(e, "dims"), *elems = tn_eval_attr(e, "elems");
  TN_TRY(shape_value_dims(dims, elems, e->ctx, e->loc));
  tn_lit *out;
  TN_TRY(tn_eval_out(e, 0, (tn_dtype)tn_eval_int(e, "dtype"), (int)dims->n, dims->ints, &out));
  for (int64_t i = 0; i < elems->n; i++) {
    tn_sym x;
    TN_TRY(tn_sym_parse_str(e->graph->syms, elems->strs[i], e->loc, &x));
    if (!tn_sym_is_int(x)) return tn_eval_fail(e, TN_UNSUPPORTED, "element %d depends on a symbol", (int)i);
    tn_store_i64(out->dtype, tn_lit_data(out), i, x->k);
  }
  return TN_OK;
}

TN_OP(shape_value){
    .name = "shape_value",
    .out = {{"y", .dtypes = TN_SET_NUMBERS | TN_SET(BOOL)}},
    .attrs = {{"dims", TN_ATTR_INTS, .required = true},
              {"dtype", TN_ATTR_DTYPE, .required = true},
              {"elems", TN_ATTR_STRS, .required = true}},
    .type = shape_value_type,
    .shape = shape_value_shape,
    .value = shape_value_value,
    .eval = shape_value_eval,
    .traits = TN_TRAIT_PURE | TN_TRAIT_HOST,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "small tensor of expressions over the symbols",
};
