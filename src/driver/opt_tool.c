/* `tenon opt` and `tenon dump`: some passes or all, and the graph or the program as text. */
#include <limits.h>

#include "driver/report.h"
#include "driver/tool.h"
#include "ir/text.h"

typedef struct opt_tool {
  const char *path;
  const tn_tool_opt_options *o;
  tn_blob *out;
} opt_tool;

static void opt_append(void *arg, const char *text, size_t n) { tn_text_add(arg, (tn_str){text, n}); }

static void opt_put_times(tn_text *t, const tn_compilation *c) {
  for (int i = 0; i < c->n_times; i++)
    tn_text_printf(t, "# %-10s %10lld ns %8lld edits\n", c->times[i].pass, (long long)c->times[i].ns,
                   (long long)c->times[i].edits);
}

/* The program as it will be: verified, in memory of its own. */
static tn_status opt_put_program(tn_compilation *c, const char *path, tn_text *t) {
  tn_program *p = c->pass.program;
  if (c->is_program) {
    char folder[PATH_MAX];
    TN_TRY(tn_file_folder(path, folder, sizeof folder, &c->error));
    TN_TRY(tn_program_decode(tn_allocator_system(), c->bytes, NULL, folder, &p, &c->error));
    tn_program_print(p, opt_append, t);
    tn_program_release(p);
    return TN_OK;
  }
  if (!p) return tn_fail(&c->ctx, TN_INVALID, (tn_loc){0}, "the passes that ran make no program");
  p->allocator = tn_allocator_system();
  TN_TRY(tn_program_verify(p, &c->error));
  tn_program_print(p, opt_append, t);
  return TN_OK;
}

static tn_status opt_inside(tn_compilation *c, void *arg) {
  const opt_tool *tool = arg;
  const tn_tool_opt_options *o = tool->o;
  tn_text t;
  tn_text_init(&t, &c->ctx.arena);
  if (o->time_passes) opt_put_times(&t, c);
  if (o->program || c->is_program)
    TN_TRY(opt_put_program(c, tool->path, &t));
  else
    tn_graph_print(c->graph, &t, o->locations ? TN_PRINT_LOCATIONS : 0);
  return tn_blob_copy((tn_str){tn_text_z(&t), t.len}, tool->out);
}

static tn_status opt_list(tn_blob *out) {
  char text[1000];
  size_t n = 0;
  for (const tn_pipeline_row *row = tn_pipeline; row->name; row++) {
    const size_t len = strlen(row->name);
    if (n + len + 2 > sizeof text) break;
    memcpy(text + n, row->name, len);
    text[n + len] = '\n';
    n += len + 1;
  }
  return tn_blob_copy((tn_str){text, n}, out);
}

tn_status tn_tool_opt(const char *path, const tn_tool_opt_options *o, tn_blob *out, tn_report **out_report) {
  static const tn_tool_opt_options defaults = {.size = sizeof defaults, .stop_after_edits = -1};
  tn_compilation c;
  *out = (tn_blob){0};
  if (!o) o = &defaults;
  if (o->size != sizeof *o)
    return tn_report_failure(out_report, TN_INVALID, "tn_tool_opt_options.size is %zu, expected %zu", o->size,
                             sizeof *o);
  if (o->list_passes)
    return opt_list(out) == TN_OK ? tn_report_error(out_report, &(tn_error){0})
                                  : tn_report_failure(out_report, TN_OOM, "out of memory");
  const tn_compile_request q = {.allocator = tn_allocator_system(),
                                .path = path,
                                .options = o->compile,
                                .passes = o->passes,
                                .stop_after = o->stop_after,
                                .dump_dir = o->dump_dir,
                                .max_edits = o->stop_after_edits,
                                .locations = o->locations != 0};
  opt_tool tool = {path, o, out};
  return tn_tool_finish(&c, tn_compilation_run(&c, &q), opt_inside, &tool, out_report);
}
