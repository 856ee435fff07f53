/* Reverse-mode differentiation while importing. Only for op/. */
#ifndef TN_OP_GRADIENT_H
#define TN_OP_GRADIENT_H

#include "op/ms.h"

typedef struct tn_gradient {
  tn_import *im;  /* of the node Gradient: new nodes come before it */
  tn_map needs;   /* value id -> 1: it depends on what is differentiated by */
  tn_map adjoint; /* value id -> tn_value *: the derivative by it, as far as it is known */
} tn_gradient;

static inline bool tn_gradient_needs(const tn_gradient *g, const tn_value *v) {
  return v && tn_map_find(&g->needs, v->id, NULL);
}
static inline tn_value *tn_gradient_of(const tn_gradient *g, const tn_value *v) { /* NULL: nothing yet */
  uint64_t found;
  return v && tn_map_find(&g->adjoint, v->id, &found) ? (tn_value *)(uintptr_t)found : NULL;
}
/* Adds d to the derivative by v; nothing when v does not need one. */
void tn_gradient_add(tn_gradient *g, const tn_value *v, tn_value *d);

/* Hands the derivatives by a node's results on to its operands; UNSUPPORTED when its operator has no rule. */
TN_MUST_CHECK tn_status tn_derive(tn_gradient *g, const tn_node *n);

#endif
