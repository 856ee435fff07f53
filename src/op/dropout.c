/* Dropout: the input itself unless training_mode says otherwise. */
#include "base/mt.h"
#include "ir/rewrite.h"
#include "op/move.h"

static tn_status dropout_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[0]->dtype);
  if (r->n_out > 1) tn_rule_set_dtype(r, 1, TN_BOOL);
  return TN_OK;
}
static tn_status dropout_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 1, 0, 1));
  TN_TRY(tn_rule_need_rank(r, 2, 0, 1));
  return tn_shape_as_input(r);
}
static tn_status dropout_value(tn_rule *r) {
  const tn_sym training = tn_op_elem(r, 2, 0);
  if (tn_rule_has(r, 2) && !(training && tn_sym_is(training, 0))) return TN_OK;
  return tn_value_as_input(r);
}
/* With a seed, numpy's numbers; without one any will do. */
static tn_status dropout_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const ratio_in = tn_op_eval_in(e, 1);
  const tn_lit *const training = tn_op_eval_in(e, 2);
  const tn_attr *const seed = tn_eval_attr(e, "seed");
  const double ratio = ratio_in && ratio_in->count ? tn_lit_f64(ratio_in, 0) : 0.5;
  const bool drops = training && training->count && tn_lit_i64_at(training, 0) && ratio > 0;
  tn_lit *y, *mask = NULL;
  tn_mt *const random = TN_NEW(e->arena, tn_mt);
  tn_mt_init(random, seed ? (uint32_t)seed->i : 0);
  if (drops && ratio >= 1) return tn_eval_fail(e, TN_INVALID, "ratio %g is not below 1", ratio);
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  if (e->n_out > 1) TN_TRY(tn_eval_out(e, 1, TN_BOOL, x->rank, x->dims, &mask));
  for (int64_t i = 0; i < x->count; i++) {
    const bool keep = !drops || tn_mt_f64(random) >= ratio;
    if (mask) tn_store_i64(TN_BOOL, tn_lit_data(mask), i, keep);
    if (keep && drops)
      tn_store_f64(x->dtype, tn_lit_data(y), i, tn_lit_f64(x, i) / (1 - ratio));
    else if (keep)
      tn_copy_element(x->dtype, tn_lit_data(y), i, x->data, i);
  }
  return TN_OK;
}
static tn_status dropout_simplify(tn_rewrite *w) {
  const tn_node *const n = w->node;
  if (n->n_in > 2 && n->in[2]) {
    const tn_type *const t = &n->in[2]->type;
    if (!t->content || tn_type_content_count(t) != 1 || t->content[0].kind != TN_ELEM_SYM ||
        !tn_sym_is(t->content[0].sym, 0))
      return TN_OK;
  }
  if (n->n_out < 2 || !n->out[1] || n->out[1]->n_uses == 0) tn_rewrite_forward(w, 0, n->in[0]);
  return TN_OK;
}
#define DROPOUT_SET (TN_SET_FLOATS | TN_SET_FLOAT8)
TN_OP(dropout){
    .name = "dropout",
    .in = {{"data", DROPOUT_SET, "T"},
           {"ratio", DROPOUT_SET, NULL, TN_PORT_OPTIONAL},
           {"training_mode", TN_SET(BOOL), NULL, TN_PORT_OPTIONAL}},
    .out = {{"output", DROPOUT_SET, "T"}, {"mask", TN_SET(BOOL), NULL, TN_PORT_OPTIONAL}},
    .attrs = {{"seed", TN_ATTR_INT}},
    .type = dropout_type,
    .shape = dropout_shape,
    .value = dropout_value,
    .eval = dropout_eval,
    .simplify = dropout_simplify,
    .kernel = "dropout",
    .traits = TN_TRAIT_RANDOM,
    .accuracy = {TN_ACC_RANDOM, 0},
    .doc = "the data; in training mode some elements dropped and the others scaled",
};

/* Below opset 12 only inference is meant; the mask is of the data's type below 10. */
static tn_status dropout_import_1(tn_import *im) {
  static const char *const without_effect[3] = {"ratio", "is_test", "consumed_inputs"};
  for (int i = 0; i < 3; i++) tn_import_ignore(im, without_effect[i]);
  TN_TRY(tn_import_check_used(im));
  const bool mask = im->n_out > 1 && im->out_present[1];
  tn_node *const node = tn_import_node(im, "dropout", im->in, im->n_in > 0 ? 1 : 0, mask ? 2 : 1);
  tn_import_finish(im, node);
  if (mask && im->version < 10) {
    tn_value *const pair[2] = {node->out[1], im->in[0]};
    im->out[1] = tn_import_node(im, "cast_like", pair, 2, 1)->out[0];
  }
  return TN_OK;
}

/* clang-format off */
TN_ONNX(ai, Dropout, 1, 11, dropout, dropout_import_1)
TN_ONNX(ai, Dropout, 12, TN_LATEST, dropout, tn_import_same)
