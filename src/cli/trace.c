#include "cli/trace.h"

#include <errno.h>
#include <string.h>

#include "cli/json.h"

void tn_trace_step(void *trace, const char *label, const char *kernel, int64_t begin_ns, int64_t ns) {
  tn_trace *const t = trace;
  t->items = tn_cli_grow(t->items, t->n, sizeof *t->items);
  t->items[t->n++] = (tn_trace_event){label, kernel, begin_ns, ns};
}

static void trace_event(tn_json *j, const tn_trace_event *e, int64_t origin_ns) {
  tn_json_open(j, NULL, '{', true);
  tn_json_text(j, "name", e->label);
  tn_json_text(j, "cat", e->kernel ? e->kernel : "run");
  tn_json_text(j, "ph", "X");
  tn_json_real(j, "ts", (double)(e->begin_ns - origin_ns) / 1e3);
  tn_json_real(j, "dur", (double)e->ns / 1e3);
  tn_json_int(j, "pid", 1);
  tn_json_int(j, "tid", 1);
  tn_json_close(j, '}');
}

int tn_trace_write(const tn_trace *trace, const char *path) {
  FILE *const out = fopen(path, "w");
  int64_t origin_ns = INT64_MAX;
  if (!out) {
    tn_cli_error("%s: %s", path, strerror(errno));
    return tn_status_exit_code(TN_IO);
  }
  for (size_t i = 0; i < trace->n; i++)
    if (trace->items[i].begin_ns < origin_ns) origin_ns = trace->items[i].begin_ns;
  tn_json j = {.out = out};
  tn_json_open(&j, NULL, '{', false);
  tn_json_text(&j, "displayTimeUnit", "ms");
  tn_json_open(&j, "traceEvents", '[', false);
  for (size_t i = 0; i < trace->n; i++) trace_event(&j, &trace->items[i], origin_ns);
  tn_json_close(&j, ']');
  tn_json_close(&j, '}');
  const bool is_bad = ferror(out) != 0;
  if (fclose(out) == 0 && !is_bad) return TN_EXIT_OK;
  tn_cli_error("%s: %s", path, strerror(errno));
  return tn_status_exit_code(TN_IO);
}
