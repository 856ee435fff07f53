/* May inputs be filled up at the end of some dims, so that each result only goes on after what it was? */
#ifndef TN_PASS_PADDING_H
#define TN_PASS_PADDING_H

#include "ir/graph.h"

/* `grows`: by number, the symbols that become larger; the parameters of the main region are filled up along the dims
 * that are one of them. OK when it is proved, for all sizes, that the leading part of every result is the result
 * without filling. Else UNSUPPORTED, naming the first node that mixes, or the result. */
TN_MUST_CHECK tn_status tn_padding_prove(tn_graph *g, const bool *grows);

#endif
