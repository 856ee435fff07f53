/* Runs regions on literals: the oracle of whole graphs. */
#include "ir/eval.h"

static tn_status interp_operands(tn_interp *in, const tn_node *node, const tn_lit **operands) {
  for (int i = 0; i < node->n_in; i++) {
    operands[i] = node->in[i] ? in->env[node->in[i]->id] : NULL;
    if (node->in[i] && !operands[i])
      return tn_fail(in->graph->ctx, TN_INVALID, node->loc, "input %d (value '%s') has no value", i, node->in[i]->name);
  }
  return TN_OK;
}

static tn_status interp_tell(const tn_interp *in, int n, tn_value *const *values) {
  for (int i = 0; in->watch && i < n; i++)
    if (values[i]) TN_TRY(in->watch(in->watch_arg, values[i]));
  return TN_OK;
}

static tn_status interp_node(tn_interp *in, const tn_node *node) {
  const tn_lit **operands = TN_NEW_ARRAY(in->arena, const tn_lit *, node->n_in > 0 ? node->n_in : 1);
  tn_lit **results = TN_NEW_ARRAY(in->arena, tn_lit *, node->n_out > 0 ? node->n_out : 1);
  TN_TRY(interp_operands(in, node, operands));
  const tn_status status = tn_eval_node(in->graph, node, in, in->arena, operands, results);
  if (status != TN_OK && !in->failed) in->failed = node;
  TN_TRY(status);
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) in->env[node->out[i]->id] = results[i];
  return interp_tell(in, node->n_out, node->out);
}

tn_status tn_interp_region(tn_interp *in, const tn_region *r) {
  if (in->depth >= TN_MAX_NESTING)
    return tn_fail(in->graph->ctx, TN_LIMIT, (tn_loc){0}, "regions are nested deeper than %d", TN_MAX_NESTING);
  in->depth++;
  if (in->entered) in->entered[r->id] = true;
  tn_status status = TN_OK;
  for (const tn_node *node = r->first; node && status == TN_OK; node = node->next) status = interp_node(in, node);
  in->depth--;
  return status;
}

tn_status tn_eval_region(tn_eval *e, int index, const tn_lit *const *params, const tn_lit **results) {
  if (!e->interp) return tn_eval_fail(e, TN_INTERNAL, "%s needs the values around it", e->node->op->name);
  const tn_region *r = e->node->regions[index];
  for (int i = 0; i < r->n_params; i++) e->interp->env[r->params[i]->id] = params[i];
  TN_TRY(interp_tell(e->interp, r->n_params, r->params));
  TN_TRY(tn_interp_region(e->interp, r));
  for (int i = 0; i < r->n_results; i++) {
    results[i] = e->interp->env[r->results[i]->id];
    if (!results[i]) return tn_eval_fail(e, TN_INTERNAL, "result %d of region %d has no value", i, index);
  }
  return TN_OK;
}
