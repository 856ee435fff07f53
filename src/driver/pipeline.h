/* The list of passes and the proof of its order. */
#ifndef TN_DRIVER_PIPELINE_H
#define TN_DRIVER_PIPELINE_H

#include "pass/pass.h"

typedef struct tn_pipeline_row {
  const char *name;
  tn_pass_fn run;
  uint32_t needs, gives, breaks; /* TN_HAS_* */
  bool is_optional;              /* the program is the same without it, only slower */
} tn_pipeline_row;

extern const tn_pipeline_row tn_pipeline[]; /* ends with a NULL name */

/* Does every pass find what it needs when the rows run in order, starting with `have`? INTERNAL names the first one
 * that does not. `rows` ends with a NULL name. */
TN_MUST_CHECK tn_status tn_pipeline_check(const tn_pipeline_row *rows, uint32_t have, tn_error *err);
const tn_pipeline_row *tn_pipeline_find(tn_str name); /* NULL when there is none */

#endif
