/* What an operator's simplify hook may do: look at its node and replace it. */
#ifndef TN_IR_REWRITE_H
#define TN_IR_REWRITE_H

#include "ir/edit.h"
#include "ir/op.h"

typedef struct tn_rewrite {
  tn_ctx *ctx;
  tn_graph *graph;
  tn_node *node;
  bool changed; /* set by the functions below */
} tn_rewrite;

/* Replaces result i of the node by an existing value of the same type (dims proved equal), else does nothing. */
bool tn_rewrite_forward(tn_rewrite *w, int i, tn_value *v);
/* New node before this one, with inferred types; NULL when its inference failed (nothing is changed then). */
tn_node *tn_rewrite_add(tn_rewrite *w, const char *op, tn_value *const *in, int n_in, int n_out);
typedef struct tn_rewrite_set { /* an attribute of the new node */
  const char *name;
  tn_attr value;
} tn_rewrite_set;
tn_node *tn_rewrite_add_with(tn_rewrite *w, const char *op, tn_value *const *in, int n_in, int n_out,
                             const tn_rewrite_set *set, int n_set);

#endif
