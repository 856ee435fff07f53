/* `tenon split --check`: do the parts, run one after the other, give what the whole model gives? */
#ifndef TN_CLI_SPLIT_CHECK_H
#define TN_CLI_SPLIT_CHECK_H

#include "cli/options.h"

typedef struct tn_split_check {
  const char *model, *dir; /* `dir` holds manifest.json and the parts */
  const tn_compile_options *compile;
  const char *runner; /* of the parts: "tenon" or "ort" */
  int64_t gear;       /* as tn_tool_split_options.gear */
  int64_t runs, seed;
} tn_split_check;

/* Prints a line for each run. Returns the exit status: FAILED when a result differs. */
int tn_split_check_run(const tn_split_check *q);

#endif
