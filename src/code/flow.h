/* What verification finds out about a program, for those who run it: when each value and slot exists. */
#ifndef TN_CODE_FLOW_H
#define TN_CODE_FLOW_H

#include "code/planner.h"
#include "code/program.h"

#define TN_FLOW_NEVER UINT32_MAX

/* Arrays for a program; the caller gives the memory (tn_flow_bytes, zeroed). */
typedef struct tn_flow {
  uint32_t *value_at;     /* value -> 0: exists at its region's entry; k + 1: after step k of it; TN_FLOW_NEVER */
  uint8_t *bind_checks;   /* bind -> its slot already has a number: both must agree */
  uint8_t *slot_is_const; /* slot -> written by one CONST instruction alone */
  int64_t *slot_const;    /* its number */
  uint8_t *slot_is_free;  /* slot -> written by nothing: a symbol that the caller gives */
  uint32_t *slot_region;  /* slot -> the region that writes it */
  uint32_t *root;         /* value -> the value that it is a view of, directly or not; itself when it is none */
  uint32_t *step_begin, *step_end; /* ticks */
  uint32_t *step_region;
  uint8_t *step_joins;          /* values lie in the parts of its out 0 */
  uint32_t *operand_step;       /* place in program->operands -> 1 + the step that reads it */
  uint32_t *region_end;         /* the last tick inside a region */
  tn_interval_plan *intervals;  /* buffer -> ticks and ties, these relative to its region's first buffer */
  uint32_t *by_first, *by_last; /* buffers of each region in order of birth and of death, relative too */
  /* Of the verifier itself. */
  uint32_t *slot_at, *slot_next, *slot_writers, *value_last, *value_step, *births;
  uint32_t *held_by, *below_last, *joined_by; /* by place: buffers, then operands */
  uint64_t *bits;
  uint8_t *is_result, *is_part;
  int64_t *current;
  uint8_t *owned_binds, *owned_code, *owned_checks, *owned_segments, *owned_steps, *owned_buffers, *buffer_holds,
      *slot_known;
} tn_flow;

/* False when the size overflows. */
TN_MUST_CHECK bool tn_flow_bytes(const tn_program *p, size_t *out);
void tn_flow_init(tn_flow *f, const tn_program *p, void *memory);
/* tn_program_verify with its findings. */
TN_MUST_CHECK tn_status tn_flow_run(const tn_program *p, tn_flow *f, tn_error *err);
/* Its last part, which looks at what shares memory (code/memory.c). */
TN_MUST_CHECK tn_status tn_flow_memory(const tn_program *p, tn_flow *f, tn_error *err);
/* The part of it that looks at each table alone: indices, ranges, ranks, names (code/verify.c). */
TN_MUST_CHECK tn_status tn_program_verify_tables(const tn_program *p, tn_flow *f, tn_error *err);

static inline bool tn_pspan_ok(tn_pspan s, uint32_t total) { return s.first <= total && s.n <= total - s.first; }

#endif
