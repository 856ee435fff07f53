/* The compiling part of the public API. */
#include "driver/compile.h"
#include "driver/report.h"

static tn_compile_request api_request(const tn_compile_options *o) {
  return (tn_compile_request){.allocator = tn_allocator_system(), .options = o, .max_edits = -1, .is_cached = true};
}

tn_status tn_compile_file(const char *path, const tn_compile_options *o, tn_program **out, tn_report **out_report) {
  tn_compile_request q = api_request(o);
  q.path = path;
  return tn_compile(&q, NULL, out, out_report);
}

tn_status tn_compile_memory(const void *bytes, size_t n, const tn_compile_options *o, tn_program **out,
                            tn_report **out_report) {
  tn_compile_request q = api_request(o);
  q.bytes = (tn_bytes){bytes, n};
  return tn_compile(&q, NULL, out, out_report);
}
