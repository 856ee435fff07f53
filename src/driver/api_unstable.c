/* The small functions of tenon_unstable.h; the tools have files of their own. */
#include "base/checked.h"
#include "base/thread.h"
#include "driver/report.h"
#include "driver/session.h"
#include "driver/tool.h"

/* Bytes behind a blob's text: they follow from its length, so that it grows in few steps. */
static size_t blob_room(size_t len) {
  size_t room = 64;
  while (room <= len && room <= SIZE_MAX / 2) room *= 2;
  return room;
}

static tn_status blob_add(tn_str text, tn_blob *out) {
  const tn_allocator a = tn_allocator_system();
  const size_t had = out->text ? blob_room(out->len) : 0;
  size_t len;
  if (!tn_add_size(out->len, text.len, &len) || blob_room(len) <= len) return TN_OOM;
  if (blob_room(len) > had) {
    char *const grown = a.resize(a.self, out->text, had, blob_room(len));
    if (!grown) return TN_OOM;
    out->text = grown;
  }
  if (text.len) memcpy(out->text + out->len, text.ptr, text.len);
  out->text[len] = 0;
  out->len = len;
  return TN_OK;
}

tn_status tn_blob_copy(tn_str text, tn_blob *out) {
  *out = (tn_blob){0};
  return blob_add(text, out);
}

tn_status tn_blob_take(tn_text *t, tn_blob *out) {
  TN_TRY(blob_add((tn_str){tn_text_z(t), t->len}, out));
  t->len = 0;
  return TN_OK;
}

void tn_blob_free(tn_blob *b) {
  if (b->text) tn_free(tn_allocator_system(), b->text, blob_room(b->len));
  *b = (tn_blob){0};
}

typedef struct tool_call {
  tn_compilation *c;
  tn_status (*fn)(tn_compilation *c, void *arg);
  void *arg;
} tool_call;

static tn_status tool_inside(tn_ctx *ctx, void *arg) {
  const tool_call *call = arg;
  (void)ctx;
  return call->fn(call->c, call->arg);
}

tn_status tn_tool_finish(tn_compilation *c, tn_status status, tn_status (*fn)(tn_compilation *c, void *arg), void *arg,
                         tn_report **out_report) {
  tool_call call = {c, fn, arg};
  if (status == TN_OK) {
    status = tn_ctx_run(&c->ctx, tool_inside, &call);
    if (status == TN_OOM) status = tn_error_set(&c->error, TN_OOM, "out of memory");
  }
  if (out_report) *out_report = tn_compilation_report(c);
  tn_compilation_drop(c);
  return status;
}

tn_status tn_tool_inferred(const char *path, const tn_compile_options *o, int keep,
                           tn_status (*fn)(tn_compilation *c, void *arg), void *arg, tn_report **out_report) {
  tn_compilation c;
  const tn_compile_request q = {.allocator = tn_allocator_system(),
                                .path = path,
                                .options = o,
                                .stop_after = "infer",
                                .max_edits = -1,
                                .keeps_model = (keep & TN_TOOL_MODEL) != 0,
                                .keeps_unknown = (keep & TN_TOOL_UNKNOWN) != 0};
  return tn_tool_finish(&c, tn_compilation_run(&c, &q), fn, arg, out_report);
}

tn_status tn_session_profile(tn_session *s, int on) {
  tn_error err = {0};
  return tn_session_start_profile(s, on != 0, &err);
}

size_t tn_session_profile_rows(const tn_session *s, const tn_profile_row **out) {
  *out = s->rows;
  return s->rows ? s->n_rows : 0;
}

/* Elements. */

double tn_tensor_f64(const tn_tensor *t, int64_t i) { return tn_load_f64(t->dtype, t->data, i); }
int64_t tn_tensor_i64(const tn_tensor *t, int64_t i) { return tn_load_i64(t->dtype, t->data, i); }
void tn_tensor_store_f64(tn_dtype d, void *data, int64_t i, double v) { tn_store_f64(d, data, i, v); }
size_t tn_tensor_bytes(tn_dtype d, int64_t count) {
  size_t bytes;
  return tn_dtype_valid((int)d) && tn_dtype_bytes(d, count, &bytes) ? bytes : 0;
}
int tn_status_exit_code(tn_status s) { return tn_status_exit(s); }
int64_t tn_clock_ns(void) { return tn_now_ns(); }
int64_t tn_compile_count(void) { return tn_compile_runs(); }

/* Literals as tensors. */

/* Data in a file lies at any address; a tensor's is aligned to its elements. */
static const void *lit_aligned(tn_arena *a, const void *data, size_t bytes) {
  enum { ALIGN = 8 };
  if ((uintptr_t)data % ALIGN == 0) return data;
  void *copy = tn_arena_alloc(a, bytes, 1);
  memcpy(copy, data, bytes);
  return copy;
}

static void lit_tensor(tn_arena *a, const tn_lit *lit, int depth, tn_tensor *out) {
  enum { MAX_DEPTH = 4 };
  *out = (tn_tensor){.kind = TN_KIND_TENSOR,
                     .dtype = lit->dtype,
                     .rank = lit->rank,
                     .dims = lit->dims,
                     .data = lit_aligned(a, lit->data, lit->bytes),
                     .bytes = lit->bytes};
  if (lit->kind == TN_TYPE_TENSOR) return;
  out->kind = lit->kind == TN_TYPE_SEQUENCE ? TN_KIND_SEQUENCE : TN_KIND_OPTIONAL; /* no maps */
  tn_tensor *items = TN_NEW_ARRAY(a, tn_tensor, lit->n_items + 1);
  if (depth > MAX_DEPTH) return;
  for (int64_t i = 0; i < lit->n_items; i++) lit_tensor(a, lit->items[i], depth + 1, &items[i]);
  out->items = items;
  out->n_items = (size_t)lit->n_items;
}

void tn_lit_tensor(tn_arena *a, const tn_lit *lit, tn_tensor *out) { lit_tensor(a, lit, 0, out); }

/* Test data. The tensor lives in a context of its own. */

struct tn_test_tensor {
  tn_compilation c;
  tn_tensor tensor;
};

typedef struct test_tensor_call {
  tn_test_tensor *t;
  const char *path;
  tn_value_kind kind;
} test_tensor_call;

static tn_status test_tensor_inside(tn_ctx *ctx, void *arg) {
  const test_tensor_call *call = arg;
  static const tn_type_kind kinds[] = {TN_TYPE_TENSOR, TN_TYPE_SEQUENCE, TN_TYPE_OPTIONAL, TN_TYPE_MAP};
  tn_error err = {0};
  tn_file *file = NULL;
  const tn_lit *lit;
  ctx->file = tn_ctx_namez(ctx, call->path);
  if (tn_ctx_map(ctx, NULL, call->path, &file, &err) != TN_OK)
    return tn_fail(ctx, err.status, (tn_loc){0}, "%s", err.text);
  TN_TRY(tn_onnx_read_tensor(ctx, file->bytes, kinds[call->kind], &lit));
  tn_lit_tensor(&ctx->arena, lit, &call->t->tensor);
  return TN_OK;
}

tn_status tn_test_tensor_read(const char *path, tn_value_kind kind, tn_test_tensor **out, const tn_tensor **out_tensor,
                              tn_report **out_report) {
  const tn_allocator a = tn_allocator_system();
  tn_error err = {0};
  tn_test_tensor *t = tn_alloc(a, sizeof *t);
  *out = NULL;
  if (!t) return tn_report_failure(out_report, TN_OOM, "out of memory");
  memset(t, 0, sizeof *t);
  tn_status status = tn_ctx_init(&t->c.ctx, a, &err);
  test_tensor_call call = {t, path, kind};
  if (status == TN_OK) status = tn_ctx_run(&t->c.ctx, test_tensor_inside, &call);
  if (status == TN_OOM) status = tn_error_set(&err, TN_OOM, "out of memory");
  t->c.error = err;
  if (out_report) *out_report = tn_compilation_report(&t->c);
  if (status == TN_OK) {
    *out = t;
    *out_tensor = &t->tensor;
  } else {
    tn_test_tensor_release(t);
  }
  return status;
}

void tn_test_tensor_release(tn_test_tensor *t) {
  if (!t) return;
  tn_compilation_drop(&t->c);
  tn_free(tn_allocator_system(), t, sizeof *t);
}
