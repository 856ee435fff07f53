/* Steps of the planner. */
#ifndef TN_PASS_SPLIT_MARK_H
#define TN_PASS_SPLIT_MARK_H

#include "pass/split.h"

/* kind_of and why of each node. INVALID for a pattern that no node has. */
TN_MUST_CHECK tn_status tn_split_mark(tn_partition_set *s, const tn_split_options *o);
void tn_split_mark_owner(tn_partition_set *s, const tn_node *owner); /* is at least what is in its regions */
bool tn_split_is_const(const tn_node *node);                         /* in no part */
/* Were both made of one node of the model? Such nodes stand together in the program. */
bool tn_split_same_origin(const tn_node *a, const tn_node *b);
bool tn_split_matches(const char *name, const char *pattern); /* '*' any bytes, '?' one */

#endif
