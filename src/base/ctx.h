/* What one compilation owns. All compiler memory is in ctx->arena; when memory ends, tn_arena_alloc longjmps to
 * tn_ctx_run, which returns TN_OOM. That is sound because compiler code holds nothing but arena memory and the mapped
 * files that hang on the context. One thread at a time. */
#ifndef TN_BASE_CTX_H
#define TN_BASE_CTX_H

#include "base/arena.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/knob.h"
#include "base/status.h"
#include "base/vec.h"

typedef enum tn_severity { TN_ERROR, TN_WARNING } tn_severity;

typedef struct tn_diag {
  tn_severity severity;
  tn_status status; /* TN_OK for warnings */
  tn_loc loc;       /* strings owned by the context */
  const char *text; /* the sentence alone */
  const char *full; /* "FILE: node 'x' (Op): text\n  while ...": what is printed */
} tn_diag;

typedef struct tn_ctx {
  tn_arena arena;
  tn_arena pass;   /* side tables of the running pass; emptied by the pass manager */
  tn_arena source; /* how the model's file was written; emptied once the graph is built, if it is not written back */
  tn_intern names;
  tn_knobs knobs;
  const char *file;        /* name of the model in messages; may be NULL */
  TN_VEC(tn_diag) diags;   /* in order; at most TN_MAX_DIAGS kept */
  size_t n_diags;          /* recorded in all, those not kept included */
  TN_VEC(tn_file *) files; /* mapped, closed by tn_ctx_drop */
  jmp_buf oom;
} tn_ctx;

enum { TN_MAX_DIAGS = 1000 };

/* Fails only on a malformed environment knob (in *err). Allocates nothing. */
TN_MUST_CHECK tn_status tn_ctx_init(tn_ctx *ctx, tn_allocator allocator, tn_error *err);
void tn_ctx_drop(tn_ctx *ctx);
/* Runs fn(ctx, arg) under the one setjmp. TN_OOM when memory ended anywhere inside; diagnostics recorded so far may
 * then be read, nothing more may be compiled in this context. */
TN_MUST_CHECK tn_status tn_ctx_run(tn_ctx *ctx, tn_status (*fn)(tn_ctx *ctx, void *arg), void *arg);

/* Maps a file that stays until the context goes; inside the folder `dir` when that is not NULL (base/file.h). *err says
 * why not; it is not recorded. */
TN_MUST_CHECK tn_status tn_ctx_map(tn_ctx *ctx, const char *dir, const char *path, tn_file **out, tn_error *err);

/* Interned, NUL-terminated. */
static inline const char *tn_ctx_name(tn_ctx *ctx, tn_str s) { return tn_intern_str(&ctx->names, s); }
static inline const char *tn_ctx_namez(tn_ctx *ctx, const char *z) { return tn_intern_str(&ctx->names, tn_str_of(z)); }

#endif
