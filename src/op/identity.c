/* identity: the operand itself, of any kind. */
#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rewrite.h"
#include "ir/rules.h"

static tn_status identity_type(tn_rule *r) {
  if (r->in[0]->kind == TN_TYPE_TENSOR) return tn_type_as_input(r);
  r->out[0] = *r->in[0];
  return TN_OK;
}

static tn_status identity_shape(tn_rule *r) { return r->in[0]->kind == TN_TYPE_TENSOR ? tn_shape_as_input(r) : TN_OK; }

static tn_status identity_eval(tn_eval *e) {
  tn_lit *same = TN_NEW(e->arena, tn_lit); /* literals are never written once made: the elements are shared */
  *same = *e->in[0];
  e->out[0] = same;
  return TN_OK;
}

static tn_status identity_simplify(tn_rewrite *w) {
  tn_rewrite_forward(w, 0, w->node->in[0]);
  return TN_OK;
}

TN_OP(identity){
    .name = "identity",
    .in = {{"input", 0, "T", TN_PORT_ANY_KIND}},
    .out = {{"output", 0, "T", TN_PORT_ANY_KIND}},
    .type = identity_type,
    .shape = identity_shape,
    .value = tn_value_as_input,
    .eval = identity_eval,
    .simplify = identity_simplify,
    .kernel = "identity",
    .traits = TN_TRAIT_PURE | TN_TRAIT_VIEW,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the input itself",
};
TN_ONNX(ai, Identity, 1, TN_LATEST, identity, tn_import_same)
