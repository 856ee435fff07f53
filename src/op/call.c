/* A part of a graph that was split (pass/split_apply.c): its region, run once. The pass `flatten` puts the nodes back
 * before anything is placed. */
#include "ir/edit.h"
#include "ir/eval.h"
#include "ir/infer.h"
#include "ir/rules.h"

static tn_status call_type(tn_rule *r) {
  (void)r; /* element types come with the region's results */
  return TN_OK;
}

/* Run once and always, so what is known inside is known outside. */
static tn_status call_shape(tn_rule *r) {
  tn_region *const body = r->node->regions[0];
  if (body->n_params != r->n_in || body->n_results != r->n_out)
    return tn_rule_fail(r, TN_INVALID, "the body has %d inputs and %d outputs, expected %d and %d", body->n_params,
                        body->n_results, r->n_in, r->n_out);
  for (int i = 0; i < r->n_in; i++) {
    if (!r->in[i]) return tn_rule_fail(r, TN_INVALID, "input %d is absent", i);
    tn_edit_set_type(body->params[i], *r->in[i]);
  }
  TN_TRY(tn_infer_region(r->graph, body));
  for (int i = 0; i < r->n_out; i++) r->out[i] = body->results[i]->type;
  return TN_OK;
}

static tn_status call_eval(tn_eval *e) {
  const tn_lit **const results = TN_NEW_ARRAY(e->arena, const tn_lit *, e->n_out + 1);
  TN_TRY(tn_eval_region(e, 0, e->in, results));
  for (int i = 0; i < e->n_out; i++) e->out[i] = (tn_lit *)(uintptr_t)results[i];
  return TN_OK;
}

TN_OP(call){
    .name = "call",
    .in = {{"inputs", 0, NULL, TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_ANY_KIND | TN_PORT_MIXED}},
    .out = {{"outputs", 0, NULL, TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_ANY_KIND | TN_PORT_MIXED}},
    .attrs = {{"body", TN_ATTR_REGION},
              {"part", TN_ATTR_STR, .required = true},
              {"kind", TN_ATTR_STR, .required = true},
              {"engine", TN_ATTR_STR},
              {"stage", TN_ATTR_INT, .i = -1},
              {"at", TN_ATTR_INTS}},
    .n_regions = 1,
    .type = call_type,
    .shape = call_shape,
    .eval = call_eval,
    .traits = TN_TRAIT_CONTROL,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "a part of a split graph: its region, run once; `at`: where its nodes stood",
};
