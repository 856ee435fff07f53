/* Program order over nested regions, without recursion. */
#include "ir/graph.h"

static tn_node *walk_enter(const tn_node *node, int from) { /* first node of the first non-empty region */
  for (int i = from; i < node->n_regions; i++)
    if (node->regions[i]->first) return node->regions[i]->first;
  return NULL;
}

static int walk_region_index(const tn_node *owner, const tn_region *r) {
  int i = 0;
  while (owner->regions[i] != r) i++;
  return i;
}

static tn_node *walk_next(const tn_node *node) {
  tn_node *inner = walk_enter(node, 0);
  if (inner) return inner;
  for (;;) {
    if (node->next) return node->next;
    const tn_node *owner = node->region->owner;
    if (!owner) return NULL;
    tn_node *sibling = walk_enter(owner, walk_region_index(owner, node->region) + 1);
    if (sibling) return sibling;
    node = owner;
  }
}

tn_status tn_graph_walk(tn_graph *g, tn_status (*visit)(void *arg, tn_node *node), void *arg) {
  for (tn_node *node = g->main->first; node; node = walk_next(node)) TN_TRY(visit(arg, node));
  return TN_OK;
}
