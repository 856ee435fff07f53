/* plan: where each value's bytes are, and how long they are needed.
 *
 *   needs order   gives buffers   breaks -
 *
 *   %a = relu(%x)          buffer 0, steps 0..1
 *   %b = reshape(%a, ..)   a view of %a
 *   %c = exp(%b)           step 1 reads buffer 0
 *
 * One buffer per class of views. Buffers whose lives do not meet are not merged here: the run time lays them out when
 * it knows their sizes. A use inside a nested region counts at the step that owns the region. */
#include "pass/known.h"
#include "pass/pass.h"

typedef struct plan {
  tn_pass *pass;
  tn_graph *graph;
  tn_plan *out;
  const tn_value **root; /* value id -> the value whose bytes it has */
  const tn_value **all;  /* in order of appearance */
  uint32_t n_all;
} plan;

static tn_pstore plan_result_store(const plan *p, const tn_node *node, const tn_value *v) {
  if (!tn_type_is_tensor(&v->type) || !tn_type_has_rank(&v->type)) return TN_STORE_LATE;
  for (int j = 0; j < v->type.rank; j++)
    if (!tn_known_on_entry(p->pass->known, tn_known_when(p->pass->known, v->type.dims[j]), node->region))
      return TN_STORE_LATE;
  return TN_STORE_BUFFER;
}

static void plan_add(plan *p, const tn_value *v, tn_pstore store, const tn_value *view_of) {
  p->out->store[v->id] = (uint8_t)store;
  p->out->view_of[v->id] = view_of ? (int32_t)view_of->id : -1;
  p->out->buffer[v->id] = -1;
  p->root[v->id] = view_of ? p->root[view_of->id] : v;
  p->all[p->n_all++] = v;
}

static void plan_params(plan *p, const tn_region *r) {
  for (int i = 0; i < r->n_params; i++) plan_add(p, r->params[i], r->owner ? TN_STORE_PARAM : TN_STORE_INPUT, NULL);
}

static tn_status plan_visit(void *arg, tn_node *node) {
  plan *p = arg;
  for (int i = 0; i < node->n_out; i++) {
    const tn_value *v = node->out[i];
    if (!v) continue;
    switch ((tn_place)p->pass->place_of[node->id]) {
      case TN_PLACE_DATA: {
        const bool is_const = tn_pass_const_of(v) != NULL;
        plan_add(p, v, is_const ? TN_STORE_CONST : TN_STORE_SHAPE, NULL);
        break;
      }
      case TN_PLACE_ALIAS:
      case TN_PLACE_VIEW:
        plan_add(p, v, TN_STORE_VIEW, node->in[0]);
        break;
      case TN_PLACE_KERNEL:
      case TN_PLACE_CONTROL:
        plan_add(p, v, plan_result_store(p, node, v), NULL);
        break;
    }
  }
  for (int i = 0; i < node->n_regions; i++) plan_params(p, node->regions[i]);
  return TN_OK;
}

/* The step of `home` at which a use happens; TN_NO_STEP for a view, which is a use only through its own uses. */
static uint32_t plan_use_step(const plan *p, const tn_region *home, const tn_use *u) {
  const tn_region *r = u->node ? u->node->region : u->region;
  const tn_node *at = u->node;
  if (!at && r == home) return TN_TO_THE_END;
  while (r != home) {
    at = r->owner;
    r = at->region;
  }
  return p->pass->order_of[at->id];
}

static void plan_extend(const plan *p, const tn_value *v) {
  const tn_value *root = p->root[v->id];
  const int32_t buffer = p->out->buffer[root->id];
  if (buffer < 0) return;
  uint32_t *last = &p->out->last[buffer];
  for (const tn_use *u = v->uses; u && *last != TN_TO_THE_END; u = u->next) {
    const bool is_result = !u->node && u->region == root->region;
    const uint32_t step = plan_use_step(p, root->region, u);
    if (is_result)
      *last = TN_TO_THE_END;
    else if (step != TN_NO_STEP && step > *last)
      *last = step;
  }
}

static void plan_buffers(plan *p, tn_arena *a) {
  for (uint32_t i = 0; i < p->n_all; i++)
    if (p->out->store[p->all[i]->id] == TN_STORE_BUFFER) p->out->buffer[p->all[i]->id] = (int32_t)p->out->n_buffers++;
  p->out->first = TN_NEW_ARRAY(a, uint32_t, p->out->n_buffers + 1);
  p->out->last = TN_NEW_ARRAY(a, uint32_t, p->out->n_buffers + 1);
  p->out->value = TN_NEW_ARRAY(a, uint32_t, p->out->n_buffers + 1);
  for (uint32_t i = 0; i < p->n_all; i++) {
    const int32_t b = p->out->buffer[p->all[i]->id];
    if (b < 0) continue;
    p->out->value[b] = p->all[i]->id;
    p->out->first[b] = p->out->last[b] = p->pass->order_of[p->all[i]->def->id];
  }
  for (uint32_t i = 0; i < p->n_all; i++) plan_extend(p, p->all[i]);
}

tn_status tn_pass_plan(tn_pass *pass, tn_graph *g) {
  tn_arena *a = &pass->ctx->arena, *side = &pass->ctx->pass;
  plan p = {.pass = pass, .graph = g, .out = TN_NEW(a, tn_plan)};
  p.out->buffer = TN_NEW_ARRAY(a, int32_t, g->n_values + 1);
  p.out->view_of = TN_NEW_ARRAY(a, int32_t, g->n_values + 1);
  p.out->store = TN_NEW_ARRAY(a, uint8_t, g->n_values + 1);
  p.root = TN_NEW_ARRAY(side, const tn_value *, g->n_values + 1);
  p.all = TN_NEW_ARRAY(side, const tn_value *, g->n_values + 1);
  plan_params(&p, g->main);
  TN_TRY(tn_graph_walk(g, plan_visit, &p));
  plan_buffers(&p, a);
  pass->plan = p.out;
  return TN_OK;
}
