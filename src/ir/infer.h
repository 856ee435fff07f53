/* Inference of one node: runs its rules and checks that facts only get sharper. */
#ifndef TN_IR_INFER_H
#define TN_IR_INFER_H

#include "ir/rules.h"

/* Checks operands against the schema (count, presence, kind, element type), runs type, shape and value rules, and joins
 * the results with what the outputs' types already say (a declared shape is a claim: a contradiction is a warning and
 * the inferred one stays, an unknown part is filled from the claim only where nothing is inferred). Nodes with regions
 * infer them through tn_infer_region. An operand of unknown rank meets a port's rank through an added `pin_rank` node.
 */
TN_MUST_CHECK tn_status tn_infer_node(tn_graph *g, tn_node *node);
/* All nodes of the region in order; parameters' types must be set. */
TN_MUST_CHECK tn_status tn_infer_region(tn_graph *g, tn_region *region);
/* Where all operands are constants and the rules left a small result open: sets out[] to the results' types with what
 * the operator's definition gives, false when there is nothing to say. */
bool tn_infer_literal(tn_graph *g, const tn_node *node, tn_type *out);

#endif
