/* What is known of the items of a sequence. Only for op/. */
#ifndef TN_OP_SEQUENCE_H
#define TN_OP_SEQUENCE_H

#include "ir/rules.h"

/* Totals of `count` items of one type, whose dims are NULL where they differ; NULL when nothing is known. */
const tn_sym *tn_op_item_totals(tn_rule *r, const tn_type *elem, tn_sym count);

#endif
