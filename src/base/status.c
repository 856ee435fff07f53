/* Status rows as functions, and the run time's fixed error buffer. Diagnostics of the compiler are in ctx.c. */
#include "base/status.h"

#include <stdio.h>

typedef struct status_row {
  const char *name;
  const char *text;
  int exit_status;
} status_row;

static const status_row status_rows[TN_N_STATUS] = {
#define TN_STATUS(name, number, exit_status, text) [number] = {#name, text, exit_status},
#include "tenon/status.def"
#undef TN_STATUS
};

static const status_row *status_find(tn_status s) {
  const size_t i = (size_t)s;
  return i < TN_N_STATUS && status_rows[i].name ? &status_rows[i] : &status_rows[TN_INTERNAL];
}

const char *tn_status_name(tn_status s) { return status_find(s)->name; }
const char *tn_status_text(tn_status s) { return status_find(s)->text; }
int tn_status_exit(tn_status s) { return status_find(s)->exit_status; }

tn_status tn_error_set(tn_error *e, tn_status code, const char *fmt, ...) {
  if (!e || e->status != TN_OK) return code;
  e->status = code;
  va_list ap;
  va_start(ap, fmt);
  if (vsnprintf(e->text, sizeof e->text, fmt, ap) < 0) e->text[0] = 0;
  va_end(ap);
  return code;
}
