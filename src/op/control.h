/* What may leave a region: sizes that are known only inside do not. Only for op/. */
#ifndef TN_OP_CONTROL_H
#define TN_OP_CONTROL_H

#include "ir/rules.h"

typedef struct tn_op_inside {
  tn_symtab *syms;
  tn_arena *arena;
  tn_map values; /* ids of the values defined inside */
  bool found;
} tn_op_inside;

tn_op_inside tn_op_look_inside(tn_rule *r); /* of the node's regions */
bool tn_op_leaves(tn_op_inside *in, tn_sym e);

typedef struct tn_op_loop_body { /* a Loop whose body is inferred */
  tn_rule *rule;
  const tn_region *body;
  tn_op_inside inside;
} tn_op_loop_body;

/* The number of rounds, of which there are `most` (NULL: not known) while the condition holds; NULL: not known. */
tn_sym tn_op_loop_rounds(tn_op_loop_body *l, tn_sym most);
/* What each round adds to carried integer `state`, a scalar or one element; NULL where that is not known. */
tn_sym tn_op_loop_step(tn_op_loop_body *l, int state);

#endif
