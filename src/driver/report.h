/* Reports: copies of diagnostics that outlive the context they were made in. */
#ifndef TN_DRIVER_REPORT_H
#define TN_DRIVER_REPORT_H

#include "base/compiler.h"
#include "base/status.h"
#include "tenon/tenon.h"

typedef struct tn_report_row {
  char severity; /* 'e' or 'w' */
  tn_status status;
  const char *node; /* its name, ""; NULL: to be found in the text */
  const char *text, *full;
} tn_report_row;

/* Copies n rows, which `get` fills one at a time and may be asked for twice; NULL when n is 0. When there is no memory
 * for that: a report that says so. */
tn_report *tn_report_new(size_t n, void (*get)(const void *arg, size_t i, tn_report_row *out), const void *arg);
/* *out_report (when asked for) := the error as one row, or NULL when there is none. Returns err->status. */
tn_status tn_report_error(tn_report **out_report, const tn_error *err);
/* The same for a failure that is known here; returns `status`. */
tn_status tn_report_failure(tn_report **out_report, tn_status status, const char *fmt, ...) TN_PRINTF(3, 4);

#endif
