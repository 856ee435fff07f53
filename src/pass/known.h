/* When is an expression known? At run time a symbol gets its number when the value it comes from appears: when its
 * region is entered (parameters) or after a node has run (results). An expression is known at the latest of these. */
#ifndef TN_PASS_KNOWN_H
#define TN_PASS_KNOWN_H

#include "ir/graph.h"

typedef struct tn_when {
  const tn_region *region; /* NULL: never (its symbols are not visible together) */
  const tn_node *after;    /* a node of the region; NULL: on entry */
} tn_when;

typedef struct tn_known tn_known;
/* A snapshot of the graph in `arena`: valid until nodes are added, moved or erased. */
tn_known *tn_known_new(tn_graph *g, tn_arena *arena);
tn_when tn_known_when(tn_known *k, tn_sym e);
bool tn_known_before(const tn_known *k, tn_when w, const tn_node *node);       /* before `node` runs? */
bool tn_known_on_entry(const tn_known *k, tn_when w, const tn_region *region); /* when `region` has been entered? */
bool tn_known_type_before(tn_known *k, const tn_type *t, const tn_node *node); /* every dim */
/* The value with this id; NULL when it was erased. */
const tn_value *tn_known_value(const tn_known *k, uint32_t id);

#endif
