/* DepthToSpace and SpaceToDepth. */
#include "ir/axis.h"
#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"

static tn_status depth_block(tn_rule *r, int64_t *b) {
  TN_TRY(tn_rule_need_rank(r, 0, 4, 4));
  *b = tn_rule_int(r, "blocksize");
  if (*b < 1 || *b > INT32_MAX) return tn_rule_fail(r, TN_INVALID, "attribute 'blocksize' is %lld", (long long)*b);
  if (tn_rule_str_is(r, "mode", "DCR") || tn_rule_str_is(r, "mode", "CRD")) return TN_OK;
  return tn_rule_fail(r, TN_INVALID, "unknown mode");
}

/* d / by, demanded to be exact. */
static tn_status depth_divide(tn_rule *r, tn_sym d, int64_t by, int dim, tn_sym *out) {
  tn_symtab *t = r->syms;
  const tn_sym b = tn_sym_int(t, by);
  *out = tn_sym_divexact(t, d, b);
  return tn_rule_demand(r, tn_sym_eq(t, tn_sym_mod(t, d, b), tn_sym_int(t, 0)),
                        "dim %d of size %s does not divide by %lld", dim, tn_sym_text(t, d), (long long)by);
}

static tn_status depth_to_space_shape(tn_rule *r) {
  int64_t b;
  TN_TRY(depth_block(r, &b));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_sym *x = r->in[0]->dims;
  tn_sym dims[4] = {x[0], NULL, tn_sym_muli(r->syms, x[2], b), tn_sym_muli(r->syms, x[3], b)};
  TN_TRY(depth_divide(r, x[1], b * b, 1, &dims[1]));
  tn_rule_set(r, 0, 4, dims);
  return TN_OK;
}

static tn_status depth_to_depth_shape(tn_rule *r) {
  int64_t b;
  TN_TRY(depth_block(r, &b));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const tn_sym *x = r->in[0]->dims;
  tn_sym dims[4] = {x[0], tn_sym_muli(r->syms, x[1], b * b), NULL, NULL};
  for (int i = 2; i < 4; i++) TN_TRY(depth_divide(r, x[i], b, i, &dims[i]));
  tn_rule_set(r, 0, 4, dims);
  return TN_OK;
}

static tn_status depth_eval(tn_eval *e, bool to_space) {
  const tn_lit *x = e->in[0];
  const int64_t b = tn_eval_int(e, "blocksize");
  if (x->rank != 4 || b < 1 || b > INT32_MAX || (to_space ? x->dims[1] % (b * b) : x->dims[2] % b + x->dims[3] % b))
    return tn_eval_fail(e, TN_MISMATCH, "blocks of %lld do not divide the input", (long long)b);
  const bool crd = tn_eval_str_is(e, "mode", "CRD");
  const int64_t n = x->dims[0], c = to_space ? x->dims[1] / (b * b) : x->dims[1];
  const int64_t h = to_space ? x->dims[2] : x->dims[2] / b, w = to_space ? x->dims[3] : x->dims[3] / b;
  const int64_t dims[4] = {n, to_space ? c : c * b * b, to_space ? h * b : h, to_space ? w * b : w};
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, 4, dims, &y));
  if (y->count == 0) return TN_OK;
  for (int64_t image = 0; image < n; image++)
    for (int64_t d = 0; d < c * b * b; d++)
      for (int64_t p = 0; p < h * w; p++) {
        const int64_t channel = crd ? d / (b * b) : d % c, block = crd ? d % (b * b) : d / c;
        const int64_t row = p / w * b + block / b, column = p % w * b + block % b;
        const int64_t deep = (image * c * b * b + d) * h * w + p,
                      large = ((image * c + channel) * h * b + row) * w * b + column;
        tn_copy_element(y->dtype, tn_lit_data(y), to_space ? large : deep, x->data, to_space ? deep : large);
      }
  return TN_OK;
}

static tn_status depth_to_space_eval(tn_eval *e) { return depth_eval(e, true); }
static tn_status depth_to_depth_eval(tn_eval *e) { return depth_eval(e, false); }

TN_OP(depth_to_space){
    .name = "depth_to_space",
    .in = {{"x", TN_SET_ALL, "T", .rank = 4}},
    .out = {{"y", TN_SET_ALL, "T", 0}},
    .attrs = {{"blocksize", TN_ATTR_INT, .required = true}, {"mode", TN_ATTR_STR, .s = "DCR"}},
    .type = tn_type_as_input,
    .shape = depth_to_space_shape,
    .eval = depth_to_space_eval,
    .kernel = "depth_to_space",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "moves blocks of channels into blocks of pixels",
};
TN_ONNX(ai, DepthToSpace, 1, TN_LATEST, depth_to_space, tn_import_same)

TN_OP(space_to_depth){
    .name = "space_to_depth",
    .in = {{"x", TN_SET_ALL, "T", .rank = 4}},
    .out = {{"y", TN_SET_ALL, "T", 0}},
    .attrs = {{"blocksize", TN_ATTR_INT, .required = true}, {"mode", TN_ATTR_STR, .s = "DCR"}},
    .type = tn_type_as_input,
    .shape = depth_to_depth_shape,
    .eval = depth_to_depth_eval,
    .kernel = "space_to_depth",
    .axis = tn_axis_batch,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "moves blocks of pixels into blocks of channels",
};
TN_ONNX(ai, SpaceToDepth, 1, TN_LATEST, space_to_depth, tn_import_same)
