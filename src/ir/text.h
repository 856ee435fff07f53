/* The text form of a graph: print(parse(t)) == t for canonical t. Grammar in doc/ir.md. */
#ifndef TN_IR_TEXT_H
#define TN_IR_TEXT_H

#include "ir/graph.h"

enum {
  TN_PRINT_LOCATIONS = 1, /* `at "node" "Op"` behind statements and checks */
  TN_PRINT_ALL = 2 /* every constant in full; without it those past 64 elements print as a hash, which parse refuses */
};
void tn_graph_print(tn_graph *g, tn_text *out, uint32_t flags);
/* Reads untrusted text into a new graph. External data is confined to `dir` (NULL: none allowed). Types in the text are
 * claims until inference has run. */
TN_MUST_CHECK tn_status tn_graph_parse(tn_ctx *ctx, tn_str text, const char *dir, tn_graph **out);

#endif
