/* The graph as text, into a file per pass. */
#ifndef TN_DRIVER_DUMP_H
#define TN_DRIVER_DUMP_H

#include "ir/graph.h"

/* Writes DIR/NN-pass.tn. */
TN_MUST_CHECK tn_status tn_dump_pass(tn_graph *g, const char *dir, int number, const char *pass, uint32_t flags);

#endif
