/* Is this graph well formed? A failure is INTERNAL: passes must keep it so. */
#ifndef TN_IR_VERIFY_H
#define TN_IR_VERIFY_H

#include "ir/graph.h"

enum {                     /* invariants that hold at a point of the pipeline */
       TN_HAS_GRAPH = 1,   /* uses, owners, order, names, schemas are consistent */
       TN_HAS_SYMBOLS = 2, /* no NULL dim; every symbol has a source */
       TN_HAS_FACTS = 4,   /* every value has a kind and, a tensor, an element type */
       TN_HAS_PLACES = 8,  /* every node is on an engine */
       TN_HAS_ORDER = 16,
       TN_HAS_BUFFERS = 32,
       TN_HAS_PROGRAM = 64,
       TN_HAS_LIVE = 128, /* no region that is never entered */
       TN_HAS_NODES = 256 /* no parts: nodes stand in their graph */
};
/* Checks the graph, and its symbols and facts when asked for; the others say only what a pass needs, gives and breaks.
 * Works in ctx->pass. */
TN_MUST_CHECK tn_status tn_verify(tn_graph *g, uint32_t invariants);

#endif
