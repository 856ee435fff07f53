/* A plan becomes calls. Inner regions first: their calls are then nodes of the regions around them like others.
 *
 *     %a = relu(%x)                   %a_1 = call(%x) {part = "main_part0_static", ...} region (%x_1) {
 *     %b = neg(%a)            =>        %a = relu(%x_1)
 *                                       yield (%a)
 *                                     }
 *                                     %b_1 = call(%a_1) ... */
#include "ir/edit.h"
#include "ir/op.h"
#include "pass/split_flow.h"
#include "pass/split_mark.h"

typedef struct applier {
  tn_graph *g;
  const tn_op *op;
  int64_t *position; /* node id -> place in its region */
  tn_map params;     /* value id -> parameter of the call at hand */
} applier;

static void apply_note_positions(const applier *a, const tn_region *r) {
  int64_t n = 0;
  for (const tn_node *node = r->first; node; node = node->next) a->position[node->id] = n++;
}

static void apply_set_str(tn_node *call, const char *name, const char *value) {
  tn_edit_set_attr(call, name, (tn_attr){.kind = TN_ATTR_STR, .s = tn_str_of(value)});
}

static tn_node *apply_call(const applier *a, tn_region *r, const tn_part *part) {
  const tn_loc loc = {.kind = "part", .name = part->name};
  const char **names = TN_NEW_ARRAY(&a->g->ctx->arena, const char *, part->n_outputs + 1);
  int64_t *at = TN_NEW_ARRAY(&a->g->ctx->arena, int64_t, part->n_nodes + 1);
  for (uint32_t i = 0; i < part->n_outputs; i++) names[i] = part->outputs[i]->name;
  for (uint32_t i = 0; i < part->n_nodes; i++) at[i] = a->position[part->nodes[i]->id];
  tn_node *call =
      tn_edit_add_named_node(r, NULL, a->op, part->inputs, (int)part->n_inputs, names, (int)part->n_outputs, loc);
  apply_set_str(call, "part", part->name);
  apply_set_str(call, "kind", tn_part_kind_name(part->kind));
  apply_set_str(call, "engine", part->engine);
  if (part->stage != TN_NO_STAGE) tn_edit_set_attr(call, "stage", (tn_attr){.kind = TN_ATTR_INT, .i = part->stage});
  tn_edit_set_attr(call, "at", (tn_attr){.kind = TN_ATTR_INTS, .ints = at, .n = part->n_nodes});
  return call;
}

static tn_value *apply_param(const applier *a, const tn_value *v) {
  uint64_t param;
  return v && tn_map_find(&a->params, v->id, &param) ? (tn_value *)(uintptr_t)param : NULL;
}

static void apply_params(const applier *a, tn_node *node) {
  for (int i = 0; i < node->n_in; i++) {
    tn_value *param = apply_param(a, node->in[i]);
    if (param) tn_edit_set_input(node, i, param);
  }
  for (int i = 0; i < node->n_regions; i++) {
    tn_region *r = node->regions[i];
    for (tn_node *n = r->first; n; n = n->next) apply_params(a, n);
    for (int k = 0; k < r->n_results; k++) {
      tn_value *param = apply_param(a, r->results[k]);
      if (param) tn_edit_set_result(r, k, param);
    }
  }
}

static void apply_fill(applier *a, tn_node *call, const tn_part *part) {
  tn_region *body = call->regions[0];
  a->params = (tn_map){0};
  for (uint32_t i = 0; i < part->n_inputs; i++) {
    const tn_value *v = part->inputs[i];
    tn_map_set(&a->g->ctx->arena, &a->params, v->id, tn_map_key(tn_edit_add_param(body, v->name, v->type)));
  }
  for (uint32_t i = 0; i < part->n_nodes; i++) {
    tn_edit_move_to_end(part->nodes[i], body);
    apply_params(a, part->nodes[i]);
  }
  tn_edit_set_results(body, part->outputs, (int)part->n_outputs);
}

static bool apply_is_inside(const tn_use *u, const tn_region *body) {
  if (u->is_result && u->region == body) return true;
  const tn_node *by = tn_use_node(u);
  return by && tn_split_holder(body, by) != NULL;
}

/* What lies outside of the call uses its results. */
static void apply_results(const tn_node *call, const tn_part *part) {
  for (uint32_t i = 0; i < part->n_outputs; i++) {
    tn_value *v = part->outputs[i], *out = call->out[i];
    tn_edit_set_type(out, v->type);
    for (tn_use *u = v->uses, *next; u; u = next) {
      next = u->next;
      if (apply_is_inside(u, call->regions[0])) continue;
      if (u->is_result)
        tn_edit_set_result(u->region, u->index, out);
      else
        tn_edit_set_input(u->node, u->index, out);
    }
  }
}

static void apply_partition(applier *a, const tn_partition *p) {
  if (p->n_parts < 2) return;
  tn_node **calls = TN_NEW_ARRAY(&a->g->ctx->pass, tn_node *, p->n_parts);
  apply_note_positions(a, p->region);
  for (uint32_t k = 0; k < p->n_parts; k++) {
    calls[k] = apply_call(a, p->region, &p->parts[k]);
    apply_fill(a, calls[k], &p->parts[k]);
  }
  for (uint32_t k = 0; k < p->n_parts; k++) apply_results(calls[k], &p->parts[k]);
}

/* A region that is cut adds one level to all that lie inside it. */
static tn_status apply_check_depth(const tn_partition_set *s) {
  uint8_t *is_cut = TN_NEW_ARRAY(&s->graph->ctx->pass, uint8_t, s->graph->n_regions + 1);
  for (size_t i = 0; i < s->regions.n; i++) is_cut[s->regions.at[i].region->id] = s->regions.at[i].n_parts > 1;
  for (size_t i = 0; i < s->regions.n; i++) {
    int depth = 0;
    for (const tn_region *r = s->regions.at[i].region; r; r = r->owner ? r->owner->region : NULL)
      depth += (r->owner != NULL) + is_cut[r->id];
    if (depth > TN_MAX_NESTING)
      return tn_fail(s->graph->ctx, TN_LIMIT, s->regions.at[i].region->owner->loc,
                     "with parts in parts its graphs would be nested deeper than %d", TN_MAX_NESTING);
  }
  return TN_OK;
}

tn_status tn_split_apply(const tn_partition_set *s) {
  applier a = {.g = s->graph, .op = tn_op_find("call")};
  TN_TRY(apply_check_depth(s));
  a.position = TN_NEW_ARRAY(&a.g->ctx->pass, int64_t, a.g->n_nodes + 1);
  for (size_t i = s->regions.n; i-- > 0;) apply_partition(&a, &s->regions.at[i]);
  return TN_OK;
}
