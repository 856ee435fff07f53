/* What `tenon cost` asks of the memory plan. */
#ifndef TN_DRIVER_PLAN_TOOL_H
#define TN_DRIVER_PLAN_TOOL_H

#include "tenon/tenon_unstable.h"

typedef struct tn_plan_totals { /* of the main graph */
  tn_blob formula;              /* the bytes that the plan for all sizes needs; the caller frees it */
  int64_t bytes;                /* at the given sizes; -1: they were not all given */
} tn_plan_totals;

tn_status tn_plan_totals_find(const char *path, const tn_compile_options *o, const char *dims, tn_plan_totals *out);

#endif
