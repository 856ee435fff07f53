/* What the tools that talk about shapes share. */
#ifndef TN_DRIVER_SHAPES_H
#define TN_DRIVER_SHAPES_H

#include "ir/graph.h"

/* "node 'name' (Op)", in the arena. */
const char *tn_tool_where(tn_ctx *ctx, const tn_node *node);
/* Every value by its id, NULL where there is none any more. */
TN_MUST_CHECK tn_status tn_tool_values(tn_graph *g, tn_value ***out);
/* Where a symbol's number comes from, in words; NULL when nothing tells it. */
const char *tn_tool_symbol_from(tn_graph *g, tn_value *const *values, const tn_symbol *s);

#endif
