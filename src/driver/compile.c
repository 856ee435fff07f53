/* The pass manager, and the way from a file to a program. */
#include "driver/compile.h"

#include <limits.h>
#include <stdatomic.h>

#include "base/thread.h"
#include "driver/dump.h"
#include "driver/gear.h"
#include "driver/manifest.h"
#include "driver/report.h"
#include "ir/text.h"
#include "rt/rt.h"

static _Atomic int64_t compile_runs;

int64_t tn_compile_runs(void) { return atomic_load(&compile_runs); }

bool tn_is_program(tn_bytes bytes) {
  static const char magic[] = "TENONPRG";
  return bytes.len >= sizeof magic - 1 && memcmp(bytes.ptr, magic, sizeof magic - 1) == 0;
}

static bool compile_is_text(tn_bytes bytes) {
  static const char head[] = "tenon ";
  size_t i = 0;
  while (i < bytes.len && (bytes.ptr[i] == '#' || bytes.ptr[i] == '\n' || bytes.ptr[i] == ' ')) {
    if (bytes.ptr[i] == '#')
      while (i < bytes.len && bytes.ptr[i] != '\n') i++;
    else
      i++;
  }
  return bytes.len - i >= sizeof head - 1 && memcmp(bytes.ptr + i, head, sizeof head - 1) == 0;
}

static bool compile_find_kernel(const char *name, uint32_t *out_flags) {
  const tn_kernel *kernel = tn_kernel_find(name);
  if (!kernel) return false;
  *out_flags = kernel->flags;
  return true;
}

_Static_assert((int)TN_KERNEL_SIZES == (int)TN_K_SIZES && (int)TN_KERNEL_IN_PLACE == (int)TN_K_IN_PLACE &&
                   (int)TN_KERNEL_IN_PLACE_FIRST == (int)TN_K_IN_PLACE_FIRST && (int)TN_KERNEL_JOINS == (int)TN_K_JOINS,
               "one meaning of flags");
_Static_assert((int)TN_GEAR_EXACT == (int)TN_PGEAR_EXACT && (int)TN_GEAR_PAD == (int)TN_PGEAR_PAD,
               "one order of policies");
static const tn_kernel_facts compile_kernels = {compile_find_kernel};

/* Options. */

static tn_status compile_knobs(tn_ctx *ctx, const tn_compile_options *o) {
  for (size_t i = 0; o && i < o->n_knobs; i++) {
    const char *text = tn_arena_copy_str(&ctx->arena, tn_str_of(o->knobs[i])), *equals = strchr(text, '=');
    tn_error err = {0};
    if (!equals) return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "knob '%s' has no value (name=value)", text);
    const char *name = tn_arena_copy_str(&ctx->arena, (tn_str){text, (size_t)(equals - text)});
    if (tn_knobs_set(&ctx->knobs, name, equals + 1, "option", &err) != TN_OK)
      return tn_fail(ctx, err.status, (tn_loc){0}, "%s", err.text);
  }
  return TN_OK;
}

/* "S % 8 == 0", "1 <= B <= 64, N >= 1" */
static tn_status compile_assume_text(tn_graph *g, const char *text) {
  const tn_loc loc = {.kind = "option", .name = "--assume"};
  tn_scan scan;
  tn_scan_init(&scan, g->ctx, tn_str_of(tn_arena_copy_str(&g->ctx->arena, tn_str_of(text))));
  do {
    tn_sym condition;
    TN_TRY_WHILE(g->ctx, tn_sym_parse(g->syms, &scan, &condition), "reading the assumption '%.200s'", text);
    TN_TRY_WHILE(g->ctx, tn_sym_assume(g->syms, condition, loc), "taking the assumption '%.200s'", text);
    tn_vec_push(&g->ctx->arena, &g->assumed, condition);
  } while (tn_scan_take(&scan, ","));
  return scan.tok.kind == TN_TOK_END ? TN_OK : tn_scan_fail(&scan, "',' or the end");
}

/* Names that the model does not have may be of dims without name, or of sizes that data decides. */
static tn_status compile_assume(tn_graph *g, const tn_compile_options *o) {
  const uint32_t n_known = tn_sym_n_symbols(g->syms);
  for (size_t i = 0; o && i < o->n_assume; i++) TN_TRY(compile_assume_text(g, o->assume[i]));
  for (uint32_t i = n_known; i < tn_sym_n_symbols(g->syms); i++) tn_sym_symbol(g->syms, i)->is_awaited = true;
  return TN_OK;
}

static void compile_warn_awaited(tn_graph *g) {
  for (uint32_t i = 0; i < tn_sym_n_symbols(g->syms); i++)
    if (tn_sym_symbol(g->syms, i)->is_awaited)
      tn_warn(g->ctx, (tn_loc){.kind = "option", .name = "--assume"}, "no size of the model is called '%s'",
              tn_sym_symbol(g->syms, i)->name);
}

/* What is compiled has its shapes and facts already; knobs of the run still count. */
static tn_status compile_no_options(tn_ctx *ctx, const tn_compile_options *o) {
  if (!o || !(o->n_assume || o->input_shape || o->batch_sizes || o->image_sizes || o->gear_dims || o->input_format ||
              o->gear_miss))
    return TN_OK;
  return tn_fail(ctx, TN_INVALID, (tn_loc){0},
                 "a compiled program takes no facts, shapes or gears; compile the model with them");
}

/* Reading. */

static tn_status compile_map(tn_compilation *c, const tn_compile_request *q) {
  tn_ctx *ctx = &c->ctx;
  tn_error err = {0};
  tn_file *file = NULL;
  ctx->file = tn_ctx_namez(ctx, q->path);
  if (tn_ctx_map(ctx, NULL, q->path, &file, &err) != TN_OK)
    return tn_fail(ctx, err.status, (tn_loc){0}, "%s", err.text);
  c->bytes = file->bytes;
  return TN_OK;
}

static const char *compile_folder(tn_ctx *ctx, const char *path) {
  return path ? tn_arena_copy_str(&ctx->arena, tn_file_folder_of(path)) : NULL;
}

static bool compile_find(tn_compilation *c, const tn_compile_request *q) {
  if (!*c->ctx.knobs.str[TN_KNOB_cache] || !tn_onnx_map_data(c->model)) return false;
  tn_cache_open(&c->cache, &c->ctx, c->bytes, q->options);
  c->cached = tn_cache_find(&c->cache, &c->ctx);
  return c->cached != NULL;
}

static tn_status compile_read(tn_compilation *c, const tn_compile_request *q) {
  c->bytes = q->bytes;
  if (q->path) TN_TRY(compile_map(c, q));
  if (tn_is_program(c->bytes)) {
    c->is_program = true;
    return TN_OK;
  }
  if (compile_is_text(c->bytes)) {
    const tn_str text = {(const char *)c->bytes.ptr, c->bytes.len};
    return tn_graph_parse(&c->ctx, text, compile_folder(&c->ctx, q->path), &c->graph);
  }
  if (tn_is_manifest(c->bytes)) {
    tn_manifest manifest;
    if (!q->path) return tn_fail(&c->ctx, TN_INVALID, (tn_loc){0}, "a manifest without a folder has no parts");
    TN_TRY(tn_manifest_read(&c->ctx, c->bytes, &manifest));
    TN_TRY(tn_manifest_join(&c->ctx, &manifest, compile_folder(&c->ctx, q->path), &c->bytes));
  }
  TN_TRY(tn_onnx_read(&c->ctx, c->bytes, q->path, &c->model));
  if (q->keeps_unknown) tn_onnx_keep_unknown(c->model);
  if (q->is_cached && compile_find(c, q)) return TN_OK;
  TN_TRY(tn_onnx_import(c->model, &c->graph));
  if (q->keeps_model) return TN_OK;
  c->model = NULL;
  tn_arena_drop(&c->ctx.source);
  return TN_OK;
}

/* The pass manager. */

typedef struct compile_manager {
  tn_compilation *c;
  const tn_compile_request *request;
  uint32_t have;
  int number;
} compile_manager;

static bool compile_in_list(const char *list, const char *name) {
  const size_t n = strlen(name);
  for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == 0)) return true;
  return false;
}

static tn_status compile_verify(const compile_manager *m) {
  tn_ctx *ctx = &m->c->ctx;
  bool wanted = ctx->knobs.num[TN_KNOB_verify] != 0;
#ifdef TN_DEBUG
  wanted = true;
#endif
  if (!wanted) return TN_OK;
  /* Before inference has spoken, claims about results may leave dims open. */
  uint32_t known = TN_HAS_GRAPH | (m->have & TN_HAS_FACTS ? m->have & (TN_HAS_SYMBOLS | TN_HAS_FACTS) : 0);
  if (m->request->keeps_unknown) known &= ~(uint32_t)TN_HAS_FACTS; /* what unknown operators give has no element type */
  return tn_verify(m->c->graph, known);
}

static tn_status compile_after_pass(compile_manager *m, const tn_pipeline_row *row, int64_t ns, int64_t edits) {
  tn_compilation *c = m->c;
  if (c->n_times < TN_MAX_PASSES_RUN) c->times[c->n_times++] = (tn_pass_time){row->name, ns, edits};
  m->have = (m->have & ~row->breaks) | row->gives;
  TN_TRY_WHILE(&c->ctx, compile_verify(m), "checking the graph after pass %s", row->name);
  if (m->request->dump_dir)
    TN_TRY(tn_dump_pass(c->graph, m->request->dump_dir, m->number, row->name,
                        m->request->locations ? TN_PRINT_LOCATIONS : 0));
  return TN_OK;
}

static tn_status compile_run_pass(compile_manager *m, const tn_pipeline_row *row) {
  tn_compilation *c = m->c;
  if (row->needs & ~m->have)
    return tn_fail(&c->ctx, TN_INTERNAL, (tn_loc){0}, "pass %s runs before what it needs", row->name);
  m->number++;
  c->pass.name = row->name;
  const int64_t start = tn_now_ns(), edits = c->graph->edits;
  TN_TRY_WHILE(&c->ctx, row->run(&c->pass, c->graph), "running pass %s", row->name);
  const tn_status status = compile_after_pass(m, row, tn_now_ns() - start, c->graph->edits - edits);
  tn_arena_drop(&c->ctx.pass);
  return status;
}

/* What `row` lacks is given by rows above it, which are run as they stand there. */
static tn_status compile_run_with_needs(compile_manager *m, const tn_pipeline_row *row) {
  for (const tn_pipeline_row *before = tn_pipeline; before < row; before++)
    if (!before->is_optional && (before->gives & ~m->have) && (row->needs & ~m->have))
      TN_TRY(compile_run_pass(m, before));
  return compile_run_pass(m, row);
}

static tn_status compile_run_list(compile_manager *m, const char *list) {
  tn_ctx *ctx = &m->c->ctx;
  for (const char *at = list; *at;) {
    const size_t n = strcspn(at, ",");
    const tn_pipeline_row *row = tn_pipeline_find((tn_str){at, n});
    if (!row) return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "there is no pass '%.*s'", n > 100 ? 100 : (int)n, at);
    TN_TRY(compile_run_with_needs(m, row));
    at += n;
    if (*at == ',') at++;
  }
  return TN_OK;
}

static tn_status compile_run_all(compile_manager *m) {
  tn_ctx *ctx = &m->c->ctx;
  const char *stop = m->request->stop_after, *skip = ctx->knobs.str[TN_KNOB_skip];
  if (stop && !tn_pipeline_find(tn_str_of(stop)))
    return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "there is no pass '%.100s'", stop);
  for (const tn_pipeline_row *row = tn_pipeline; row->name; row++) {
    if (row->is_optional && compile_in_list(skip, row->name)) continue;
    TN_TRY(compile_run_pass(m, row));
    if (stop && strcmp(stop, row->name) == 0) break;
  }
  return TN_OK;
}

typedef struct compile_call {
  tn_compilation *c;
  const tn_compile_request *request;
} compile_call;

static tn_status compile_inside(tn_ctx *ctx, void *arg) {
  const compile_call *call = arg;
  tn_compilation *c = call->c;
  const tn_compile_request *q = call->request;
  TN_TRY(compile_knobs(ctx, q->options));
  TN_TRY(compile_read(c, q));
  if (c->is_program) return compile_no_options(ctx, q->options);
  if (c->cached) return TN_OK;
  TN_TRY(compile_assume(c->graph, q->options));
  tn_gear_spec gears;
  TN_TRY(tn_gear_read(ctx, q->options, &gears));
  if (q->gear) TN_TRY(tn_gear_choose(ctx, &gears, q->gear - 1));
  TN_TRY(tn_gear_narrow(c->graph, &gears));
  compile_manager m = {.c = c, .request = q, .have = TN_HAS_GRAPH};
  c->pass = (tn_pass){.ctx = ctx,
                      .kernels = &compile_kernels,
                      .max_edits = q->max_edits < 0 ? -1 : q->max_edits,
                      .keep_operands = q->keep_operands};
  TN_TRY(compile_verify(&m));
  TN_TRY(q->passes ? compile_run_list(&m, q->passes) : compile_run_all(&m));
  if (m.have & TN_HAS_FACTS) compile_warn_awaited(c->graph);
  return c->pass.program ? tn_gear_emit(c->graph, &gears, c->pass.program) : TN_OK;
}

static tn_status compile_check_options(const tn_compile_options *o, tn_error *err) {
  if (o && o->size != sizeof *o)
    return tn_error_set(err, TN_INVALID, "tn_compile_options.size is %zu, expected %zu", o->size, sizeof *o);
  return TN_OK;
}

tn_status tn_compilation_run(tn_compilation *c, const tn_compile_request *request) {
  memset(c, 0, sizeof *c);
  TN_TRY(tn_ctx_init(&c->ctx, request->allocator, &c->error));
  TN_TRY(compile_check_options(request->options, &c->error));
  compile_call call = {c, request};
  const tn_status status = tn_ctx_run(&c->ctx, compile_inside, &call);
  if (status == TN_OOM) return tn_error_set(&c->error, TN_OOM, "out of memory");
  return status;
}

/* The program that `emit` left, with memory of its own; takes over the mapped files. */
static tn_status compile_program(tn_compilation *c, tn_allocator allocator, tn_program **out) {
  tn_program *p = c->pass.program;
  if (!p) return tn_error_set(&c->error, TN_INTERNAL, "no program was made");
  p->allocator = allocator;
  p->files = c->ctx.files.at;
  p->n_files = (uint32_t)c->ctx.files.n;
  const bool keeps_files = !c->ctx.knobs.num[TN_KNOB_copy_weights];
  TN_TRY(tn_program_copy(allocator, p, keeps_files, out, &c->error));
  if (keeps_files) c->ctx.files.n = 0;
  atomic_fetch_add(&compile_runs, 1);
  return TN_OK;
}

static void compile_take(tn_compilation *c, tn_program **out) {
  *out = c->cached;
  c->cached = NULL;
}

static tn_status compile_keep(tn_ctx *ctx, void *arg) {
  const tn_compilation *c = arg;
  tn_cache_keep(&c->cache, ctx, c->pass.program);
  return TN_OK;
}

void tn_compilation_drop(tn_compilation *c) {
  tn_program_release(c->cached);
  if (c->ctx.arena.allocator.resize) tn_ctx_drop(&c->ctx);
}

/* A program file that was mapped to look at it becomes the program. */
static tn_status compile_load(tn_compilation *c, const tn_compile_request *q, tn_program **out) {
  tn_file *file = c->ctx.files.n ? c->ctx.files.at[0] : NULL;
  char folder[PATH_MAX];
  if (q->path) TN_TRY(tn_file_folder(q->path, folder, sizeof folder, &c->error));
  TN_TRY(tn_program_decode(q->allocator, c->bytes, file, q->path ? folder : NULL, out, &c->error));
  c->ctx.files.n = 0;
  return TN_OK;
}

static tn_status compile_make(tn_compilation *c, tn_allocator allocator, tn_program **out) {
  TN_TRY(compile_program(c, allocator, out));
  const tn_status kept = tn_ctx_run(&c->ctx, compile_keep, c);
  (void)kept; /* the program is there all the same */
  return TN_OK;
}

static void compile_report_row(const void *arg, size_t i, tn_report_row *out) {
  const tn_compilation *c = arg;
  if (i >= c->ctx.diags.n) {
    *out = (tn_report_row){'e', c->error.status, NULL, c->error.text, c->error.text};
    return;
  }
  const tn_diag *d = &c->ctx.diags.at[i];
  const bool is_node = d->loc.kind && strcmp(d->loc.kind, "node") == 0 && d->loc.name;
  *out = (tn_report_row){d->severity == TN_ERROR ? 'e' : 'w', d->status, is_node ? d->loc.name : "", d->text, d->full};
}

tn_report *tn_compilation_report(const tn_compilation *c) {
  return tn_report_new(c->ctx.diags.n + (c->error.status != TN_OK ? 1 : 0), compile_report_row, c);
}

tn_status tn_compile(const tn_compile_request *request, tn_compilation *keep, tn_program **out,
                     tn_report **out_report) {
  tn_compilation local, *c = keep ? keep : &local;
  *out = NULL;
  tn_status status = tn_compilation_run(c, request);
  const bool is_made =
      c->is_program || c->cached; /* and mapped; what is compiled here owns its weights when it should */
  if (status == TN_OK && c->is_program)
    status = compile_load(c, request, out);
  else if (status == TN_OK && c->cached)
    compile_take(c, out);
  else if (status == TN_OK)
    status = compile_make(c, request->allocator, out);
  if (status == TN_OK && is_made && c->ctx.knobs.num[TN_KNOB_copy_weights])
    status = tn_program_own(request->allocator, out, &c->error);
  if (out_report) *out_report = tn_compilation_report(c);
  if (!keep) tn_compilation_drop(c);
  return status;
}
