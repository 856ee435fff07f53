/* The only functions that build and change a graph. Each keeps uses, ids and names right and counts one edit. */
#ifndef TN_IR_EDIT_H
#define TN_IR_EDIT_H

#include "base/map.h"
#include "ir/graph.h"

/* name may be NULL or taken: then a free one is made from it ("v12", "x_1"). */
tn_value *tn_edit_add_param(tn_region *r, const char *name, tn_type type);
tn_region *tn_edit_add_region(tn_graph *g, tn_node *owner, const char *name); /* appended to owner->regions */

/* New node before `before` (NULL: at the end of r), outputs with UNKNOWN type. in[i] may be NULL. Attributes are filled
 * with the op's defaults. `n_regions` empty regions are added. */
tn_node *tn_edit_add_node(tn_region *r, tn_node *before, const struct tn_op *op, tn_value *const *in, int n_in,
                          int n_out, tn_loc loc);
/* The same with interned names for the outputs; names[i] NULL: output i is absent. */
tn_node *tn_edit_add_named_node(tn_region *r, tn_node *before, const struct tn_op *op, tn_value *const *in, int n_in,
                                const char *const *names, int n_out, tn_loc loc);
void tn_edit_name_value(tn_value *v, const char *name);
void tn_edit_set_attr(tn_node *node, const char *name, tn_attr value); /* the name must be in the op's schema */
void tn_edit_set_input(tn_node *node, int index, tn_value *v);
void tn_edit_set_results(tn_region *r, tn_value *const *results, int n);
void tn_edit_set_result(tn_region *r, int index, tn_value *v);
void tn_edit_name_result(tn_region *r, int index, const char *name); /* tn_edit_set_results takes the values' names */
void tn_edit_drop_output(tn_node *node, int index);                  /* absent from now on; it must have no uses */
void tn_edit_replace_uses(tn_value *from, tn_value *to);             /* every use and every region result */
void tn_edit_erase_node(tn_node *node); /* its outputs must have no uses; erases its regions too */
void tn_edit_move_before(tn_node *node, tn_node *before);
void tn_edit_move_to_end(tn_node *node, tn_region *r);
void tn_edit_set_type(tn_value *v, tn_type type);
/* No-op when the region or one around it has the condition already. */
void tn_edit_add_check(tn_region *region, tn_sym condition, tn_loc loc, const char *text);

/* Constants (op "const") at the start of region r, so that they dominate every use. */
tn_value *tn_edit_const(tn_region *r, const tn_lit *lit, const char *name);

#endif
