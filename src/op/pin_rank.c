/* A value whose rank only the run can tell, from a place on where an operator demands one rank of it. Made by
 * inference. */
#include "ir/eval.h"
#include "ir/rewrite.h"
#include "ir/rules.h"

static tn_status pin_rank_shape(tn_rule *r) {
  const int rank = (int)tn_rule_int(r, "rank");
  if (rank < 0 || rank > TN_MAX_RANK) return tn_rule_fail(r, TN_LIMIT, "rank %d is outside [0, %d]", rank, TN_MAX_RANK);
  TN_TRY(tn_rule_need_rank(r, 0, rank, rank));
  if (tn_rule_has_rank(r, 0)) return tn_shape_as_input(r);
  tn_sym *const dims = tn_rule_dims(r, rank);
  for (int d = 0; d < rank; d++) dims[d] = tn_rule_fresh(r, 0, d, 0, NULL);
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}
static tn_status pin_rank_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  if (x->rank != tn_eval_int(e, "rank"))
    return tn_eval_fail(e, TN_MISMATCH, "rank is %d, expected %d", x->rank, (int)tn_eval_int(e, "rank"));
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  if (y->bytes) memcpy(tn_lit_data(y), x->data, y->bytes);
  return TN_OK;
}
static tn_status pin_rank_simplify(tn_rewrite *w) {
  if (tn_type_has_rank(&w->node->in[0]->type)) (void)tn_rewrite_forward(w, 0, w->node->in[0]);
  return TN_OK;
}
TN_OP(pin_rank){
    .name = "pin_rank",
    .in = {{"x", 0, "T"}},
    .out = {{"y", 0, "T"}},
    .attrs = {{"rank", TN_ATTR_INT, .required = true}},
    .type = tn_type_as_input,
    .shape = pin_rank_shape,
    .value = tn_value_as_input,
    .eval = pin_rank_eval,
    .simplify = pin_rank_simplify,
    .kernel = "pin_rank",
    .traits = TN_TRAIT_PURE | TN_TRAIT_VIEW,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the operand, which must have the given rank when it is met at run time",
};
