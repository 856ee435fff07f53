/* Steps of runs as events of the Chrome trace format. */
#ifndef TN_CLI_TRACE_H
#define TN_CLI_TRACE_H

#include "cli/cli.h"

typedef struct tn_trace_event {
  const char *label, *kernel; /* kernel NULL: a whole run */
  int64_t begin_ns, ns;
} tn_trace_event;

typedef struct tn_trace {
  tn_trace_event *items;
  size_t n;
} tn_trace;

/* A tn_step_fn whose argument is a tn_trace. */
void tn_trace_step(void *trace, const char *label, const char *kernel, int64_t begin_ns, int64_t ns);
/* Returns the exit status; what is wrong is printed. */
int tn_trace_write(const tn_trace *trace, const char *path);

#endif
