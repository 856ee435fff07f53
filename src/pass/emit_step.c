/* Nodes to steps: operands, attributes, regions. */
#include "pass/emit.h"

static tn_pspan emit_step_operands(tn_emit *e, tn_value *const *values, int n, int at_least) {
  const tn_pspan span = {(uint32_t)e->operands.n, (uint32_t)(n > at_least ? n : at_least)};
  for (int i = 0; i < n; i++) tn_vec_push(e->arena, &e->operands, values[i] ? e->value_of[values[i]->id] : TN_NO_INDEX);
  for (int i = n; i < at_least; i++) tn_vec_push(e->arena, &e->operands, TN_NO_INDEX);
  return span;
}

static void emit_step_list(tn_emit *e, const tn_attr *a, tn_pattr *out) {
  out->list.n = (uint32_t)a->n;
  if (a->kind == TN_ATTR_INTS) {
    out->kind = TN_PATTR_INTS;
    out->list.first = (uint32_t)e->ints.n;
    for (int64_t i = 0; i < a->n; i++) tn_vec_push(e->arena, &e->ints, a->ints[i]);
  } else if (a->kind == TN_ATTR_FLOATS) {
    out->kind = TN_PATTR_FLOATS;
    out->list.first = (uint32_t)e->floats.n;
    for (int64_t i = 0; i < a->n; i++) tn_vec_push(e->arena, &e->floats, a->floats[i]);
  } else {
    out->kind = TN_PATTR_STRS;
    out->list.first = (uint32_t)e->strings.n;
    for (int64_t i = 0; i < a->n; i++) tn_vec_push(e->arena, &e->strings, a->strs[i]);
  }
}

/* False for kinds that no kernel reads (types, graphs). */
static bool emit_step_attr(tn_emit *e, const char *name, const tn_attr *a, tn_pattr *out) {
  *out = (tn_pattr){.name = name};
  switch (a->kind) {
    case TN_ATTR_INT:
    case TN_ATTR_DTYPE:
      out->kind = TN_PATTR_INT;
      out->i = a->i;
      return true;
    case TN_ATTR_FLOAT:
      out->kind = TN_PATTR_FLOAT;
      out->f = a->f;
      return true;
    case TN_ATTR_STR:
      out->kind = TN_PATTR_STR;
      out->s = a->s;
      return true;
    case TN_ATTR_INTS:
    case TN_ATTR_FLOATS:
    case TN_ATTR_STRS:
      emit_step_list(e, a, out);
      return true;
    case TN_ATTR_TENSOR: {
      uint64_t value = 0;
      out->kind = TN_PATTR_TENSOR;
      if (!tn_map_find(&e->attr_value, tn_map_key(a->tensor), &value)) return false;
      out->value = (uint32_t)value;
      return true;
    }
    case TN_ATTR_NONE:
    case TN_ATTR_TENSORS:
    case TN_ATTR_TYPE:
    case TN_ATTR_REGION:
    case TN_ATTR_SPARSE:
      break;
  }
  return false;
}

/* Outputs, as a set of bits, whose shape is what the model declares: no rule knew it. */
static int64_t emit_step_declared(const tn_emit *e, const tn_node *node) {
  const tn_graph *g = e->graph;
  uint64_t set = 0;
  for (int i = 0; i < node->n_out && i < 63; i++) {
    const tn_value *v = node->out[i];
    if (v && tn_type_has_rank(&v->type) && (v->id >= g->inferred.n || !g->inferred.at[v->id])) set |= UINT64_C(1) << i;
  }
  return (int64_t)set;
}

static tn_pspan emit_step_attrs(tn_emit *e, const tn_node *node) {
  const uint32_t first = (uint32_t)e->attrs.n;
  const int n = tn_op_n_attrs(node->op);
  for (int i = 0; i < n; i++) {
    tn_pattr a;
    if (emit_step_attr(e, node->op->attrs[i].name, &node->attrs[i], &a)) tn_vec_push(e->arena, &e->attrs, a);
  }
  const int64_t declared = emit_step_declared(e, node);
  const tn_pattr mark = {.name = TN_STEP_DECLARED, .kind = TN_PATTR_INT, .i = declared};
  if (declared) tn_vec_push(e->arena, &e->attrs, mark);
  return (tn_pspan){first, (uint32_t)e->attrs.n - first};
}

static tn_status emit_step_kind(const tn_emit *e, const tn_node *node, uint8_t *out) {
  static const struct {
    const char *op;
    tn_pstep_kind kind;
  } rows[] = {
      {"if", TN_STEP_IF}, {"loop", TN_STEP_LOOP}, {"scan", TN_STEP_SCAN}, {"sequence_map", TN_STEP_SEQUENCE_MAP}};
  for (size_t i = 0; i < TN_COUNT(rows); i++) {
    if (strcmp(node->op->name, rows[i].op) != 0) continue;
    *out = (uint8_t)rows[i].kind;
    return TN_OK;
  }
  return tn_fail(e->pass->ctx, TN_UNSUPPORTED, node->loc, "control operator %s has no step", node->op->name);
}

static tn_pspan emit_step_regions(tn_emit *e, const tn_node *node) {
  const tn_pspan span = {(uint32_t)e->operands.n, (uint32_t)node->n_regions};
  for (int i = 0; i < node->n_regions; i++) {
    const tn_region *r = tn_pass_region(node, i);
    const uint32_t number = e->region_of[r->id];
    e->out_regions[number].parent_step = (int32_t)e->steps.n;
    tn_vec_push(e->arena, &e->operands, (int32_t)number);
  }
  return span;
}

static tn_status emit_step_node(tn_emit *e, const tn_node *node) {
  tn_pstep step = {.label = tn_emit_label(e, node), .segment = TN_NO_INDEX};
  int n_in = node->n_in, at_least = 0;
  switch ((tn_place)e->pass->place_of[node->id]) {
    case TN_PLACE_VIEW:
      step.kind = TN_STEP_VIEW;
      n_in = 1;
      break;
    case TN_PLACE_KERNEL:
      step.kind = TN_STEP_KERNEL;
      step.kernel = node->op->kernel;
      step.attrs = emit_step_attrs(e, node);
      break;
    case TN_PLACE_CONTROL:
      TN_TRY(emit_step_kind(e, node, &step.kind));
      step.attrs = emit_step_attrs(e, node);
      step.regions = emit_step_regions(e, node);
      at_least = step.kind == TN_STEP_LOOP ? 2 : 0;
      break;
    case TN_PLACE_DATA:
    case TN_PLACE_ALIAS:
    case TN_PLACE_PART:
      return TN_OK;
  }
  step.in = emit_step_operands(e, node->in, n_in, at_least);
  step.out = emit_step_operands(e, node->out, step.kind == TN_STEP_VIEW ? 1 : node->n_out, 0);
  tn_vec_push(e->arena, &e->steps, step);
  tn_vec_push(e->arena, &e->step_nodes, node);
  return TN_OK;
}

tn_status tn_emit_steps(tn_emit *e, uint32_t region) {
  const tn_region *r = e->regions[region];
  tn_pregion *out = &e->out_regions[region];
  out->steps.first = (uint32_t)e->steps.n;
  for (const tn_node *node = r->first; node; node = node->next) TN_TRY(emit_step_node(e, node));
  out->steps.n = (uint32_t)e->steps.n - out->steps.first;
  out->params = emit_step_operands(e, r->params, r->n_params, 0);
  out->results = emit_step_operands(e, r->results, r->n_results, 0);
  return TN_OK;
}
