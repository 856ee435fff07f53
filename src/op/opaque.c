/* A node of the model that no operator stands for, kept so that the rest can be inferred (tn_onnx_keep_unknown). Of its
 * results is known what the model declares. */
#include "ir/rules.h"

static tn_status opaque_type(tn_rule *r) {
  (void)r;
  return TN_OK;
}
/* Without a claim: a tensor of which nothing is known. */
static tn_status opaque_shape(tn_rule *r) {
  for (int i = 0; i < r->n_out; i++)
    if (r->out_present[i] && r->node->out[i]->type.kind == TN_TYPE_UNKNOWN)
      r->out[i] = tn_type_tensor(TN_DTYPE_NONE, -1, NULL);
  return TN_OK;
}
TN_OP(opaque){
    .name = "opaque",
    .in = {{"inputs", 0, NULL, TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_ANY_KIND | TN_PORT_MIXED}},
    .out = {{"outputs", 0, NULL, TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_ANY_KIND | TN_PORT_MIXED}},
    .type = opaque_type,
    .shape = opaque_shape,
    .sizes = TN_SIZES_OPEN,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "an operator that nobody knows: results are what the model declares of them",
};
