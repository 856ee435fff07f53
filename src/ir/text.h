/* The text form of a graph: print(parse(t)) == t for canonical t. Grammar in doc/ir.md. */
#ifndef TN_IR_TEXT_H
#define TN_IR_TEXT_H

#include "ir/graph.h"

enum { TN_PRINT_LOCATIONS = 1 };
/* Constants up to 64 elements print as dense(...), larger ones as dense(#hash bytes) unless TN_PRINT_ALL. */
enum { TN_PRINT_ALL = 2 };
void tn_graph_print(tn_graph *g, tn_text *out, uint32_t flags);
/* Reads untrusted text into a new graph. External data is confined to `dir` (NULL: none allowed). */
TN_MUST_CHECK tn_status tn_graph_parse(tn_ctx *ctx, tn_str text, const char *dir, tn_graph **out);

#endif
