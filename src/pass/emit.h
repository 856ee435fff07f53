/* Shared by the files of the pass `emit`: emit.c (order, values, tables), emit_code.c (expressions to shape code),
 * emit_step.c (steps and attributes). */
#ifndef TN_PASS_EMIT_H
#define TN_PASS_EMIT_H

#include "pass/known.h"
#include "pass/pass.h"

typedef struct tn_emit_segment { /* under construction */
  TN_VEC(tn_pbind) binds;
  TN_VEC(tn_shape_ins) code;
  TN_VEC(tn_pcheck) checks;
} tn_emit_segment;

typedef struct tn_emit {
  tn_pass *pass;
  tn_graph *graph;
  tn_arena *arena; /* the context's: the program's arrays */
  tn_arena *side;

  /* Numbers in the program. */
  const tn_region **regions; /* in order: owners before what they own */
  uint32_t n_regions;
  uint32_t *region_of; /* region id -> number */
  int32_t *value_of;   /* value id -> number */
  int32_t *segment_of_node;
  TN_VEC(tn_emit_segment *) segments; /* the first n_regions belong to the regions, in order */

  /* Slots. */
  TN_VEC(uint32_t) symbols; /* symbol numbers in slot order */
  int64_t *slot_of_symbol;  /* -1: has none */
  uint32_t n_slots;
  tn_map slot_of;        /* expression -> slot + 1 */
  tn_map may_fail;       /* expression -> 0 or 1: divides by what is not constant */
  tn_map *slot_in;       /* by number of a region: those that may fail and are computed when it is entered */
  const tn_region *home; /* whose values or checks are being emitted */
  tn_map *arm;           /* the same inside a guarded arm of select; NULL outside */
  tn_emit_segment *arm_segment;

  tn_pbuffer *buffers;
  TN_VEC(tn_pvalue) values;
  TN_VEC(const void *) external;
  TN_VEC(uint32_t) dim_slots;
  TN_VEC(int32_t) operands;
  TN_VEC(tn_pattr) attrs;
  TN_VEC(int64_t) ints;
  TN_VEC(double) floats;
  TN_VEC(tn_str) strings;
  TN_VEC(tn_pstep) steps;
  TN_VEC(const tn_node *) step_nodes;
  tn_pregion *out_regions;
  tn_map attr_value; /* tn_lit of an attribute -> value number + 1 */
} tn_emit;

/* The slot of an expression, emitting the code that computes it where all it needs is known. */
TN_MUST_CHECK tn_status tn_emit_expression(tn_emit *e, tn_sym x, uint32_t *out_slot);
/* Gives slots to the symbols that the program reads, and binds them to the values they come from. */
TN_MUST_CHECK tn_status tn_emit_symbols(tn_emit *e);
TN_MUST_CHECK tn_status tn_emit_checks(tn_emit *e);
/* Steps of one region; values have their numbers. */
TN_MUST_CHECK tn_status tn_emit_steps(tn_emit *e, uint32_t region);
/* "node '/a' (Add)" */
const char *tn_emit_label(tn_emit *e, const tn_node *node);

#endif
