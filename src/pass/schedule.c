/* schedule: which step of its region each node is.
 *
 *   needs places   gives order   breaks -
 *
 * Program order is kept: it is the model's own, it is stable, and every use follows its definition. Nodes that need no
 * step (constants, symbolic contents, views) are left out. */
#include "pass/pass.h"

static void schedule_region(const tn_pass *p, const tn_region *r) {
  uint32_t step = 0;
  for (const tn_node *node = r->first; node; node = node->next) {
    const uint8_t place = p->place_of[node->id];
    p->order_of[node->id] =
        place == TN_PLACE_DATA || place == TN_PLACE_ALIAS || place == TN_PLACE_PART ? TN_NO_STEP : step++;
  }
}

static tn_status schedule_visit(void *arg, tn_node *node) {
  for (int i = 0; i < node->n_regions; i++) schedule_region(arg, node->regions[i]);
  return TN_OK;
}

tn_status tn_pass_schedule(tn_pass *p, tn_graph *g) {
  p->order_of = TN_NEW_ARRAY(&p->ctx->arena, uint32_t, g->n_nodes + 1);
  schedule_region(p, g->main);
  return tn_graph_walk(g, schedule_visit, p);
}
