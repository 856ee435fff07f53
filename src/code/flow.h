/* What verification finds out about a program, for those who run it: when each value and slot exists. */
#ifndef TN_CODE_FLOW_H
#define TN_CODE_FLOW_H

#include "code/program.h"

#define TN_FLOW_NEVER UINT32_MAX

/* Arrays for a program; the caller gives the memory (tn_flow_bytes, zeroed). */
typedef struct tn_flow {
  uint32_t *value_at;     /* value -> 0: exists at its region's entry; k + 1: after step k of it; TN_FLOW_NEVER */
  uint8_t *bind_checks;   /* bind -> its slot already has a number: both must agree */
  uint8_t *slot_is_const; /* slot -> written by one CONST instruction alone */
  int64_t *slot_const;    /* its number */
  uint8_t *slot_is_free;  /* slot -> written by nothing: a symbol that the caller gives */
  /* Of the verifier itself. */
  uint32_t *slot_at, *slot_region, *slot_next, *root, *slot_writers;
  int64_t *current;
  uint8_t *owned_binds, *owned_code, *owned_checks, *owned_segments, *owned_steps, *owned_buffers, *buffer_holds,
      *slot_known;
} tn_flow;

/* False when the size overflows. */
TN_MUST_CHECK bool tn_flow_bytes(const tn_program *p, size_t *out);
void tn_flow_init(tn_flow *f, const tn_program *p, void *memory);
/* tn_program_verify with its findings. */
TN_MUST_CHECK tn_status tn_flow_run(const tn_program *p, tn_flow *f, tn_error *err);
/* The part of it that looks at each table alone: indices, ranges, ranks, names (code/verify.c). */
TN_MUST_CHECK tn_status tn_program_verify_tables(const tn_program *p, tn_flow *f, tn_error *err);

static inline bool tn_pspan_ok(tn_pspan s, uint32_t total) { return s.first <= total && s.n <= total - s.first; }

#endif
