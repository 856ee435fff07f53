/* The compilation context, its diagnostics, and the one setjmp. */
#include "base/ctx.h"

#include <stdio.h>

#include "base/text.h"

/* A hostile name or a deep chain of notes must not make messages as large as the model. */
enum { CTX_MAX_TEXT = 2000, CTX_MAX_NAME = 500, CTX_MAX_FULL = 8000 };

tn_status tn_ctx_init(tn_ctx *ctx, tn_allocator allocator, tn_error *err) {
  memset(ctx, 0, sizeof *ctx);
  tn_arena_init(&ctx->arena, allocator, NULL);
  tn_arena_init(&ctx->pass, allocator, NULL);
  tn_arena_init(&ctx->source, allocator, NULL);
  tn_intern_init(&ctx->names, &ctx->arena);
  return tn_knobs_init(&ctx->knobs, err);
}

void tn_ctx_drop(tn_ctx *ctx) {
  for (size_t i = 0; i < ctx->files.n; i++) tn_file_close(ctx->files.at[i]);
  tn_arena_drop(&ctx->pass);
  tn_arena_drop(&ctx->source);
  tn_arena_drop(&ctx->arena);
  memset(ctx, 0, sizeof *ctx);
}

static void ctx_set_oom(tn_ctx *ctx, jmp_buf *oom) {
  ctx->arena.oom = oom;
  ctx->pass.oom = oom;
  ctx->source.oom = oom;
}

tn_status tn_ctx_map(tn_ctx *ctx, const char *dir, const char *path, tn_file **out, tn_error *err) {
  const tn_allocator a = ctx->arena.allocator;
  *out = NULL;
  tn_vec_push(&ctx->arena, &ctx->files, NULL); /* room first: nothing may jump away while only we hold the file */
  const tn_status status = dir ? tn_file_map_inside(a, dir, path, out, err) : tn_file_map(a, path, out, err);
  if (status == TN_OK)
    ctx->files.at[ctx->files.n - 1] = *out;
  else
    ctx->files.n--;
  return status;
}

tn_status tn_ctx_run(tn_ctx *ctx, tn_status (*fn)(tn_ctx *ctx, void *arg), void *arg) {
  TN_ASSERT(ctx->arena.oom == NULL); /* not nested: the inner run would take the outer one's way out */
  if (setjmp(ctx->oom) == 0) {
    ctx_set_oom(ctx, &ctx->oom);
    const tn_status result = fn(ctx, arg);
    ctx_set_oom(ctx, NULL);
    return result;
  }
  ctx_set_oom(ctx, NULL);
  return TN_OOM;
}

/* Names come from the model: bytes that would steer a terminal or forge a line are shown as \xNN. */
static void ctx_add_clean(tn_text *t, tn_str s) {
  size_t from = 0;
  for (size_t i = 0; i < s.len; i++) {
    const uint8_t c = (uint8_t)s.ptr[i];
    if (c >= 0x20 && c != 0x7f) continue;
    tn_text_add(t, (tn_str){s.ptr + from, i - from});
    tn_text_printf(t, "\\x%02x", c);
    from = i + 1;
  }
  if (from < s.len) tn_text_add(t, (tn_str){s.ptr + from, s.len - from});
}

static void ctx_add_name(tn_text *t, const char *name) {
  const tn_str all = tn_str_of(name);
  ctx_add_clean(t, (tn_str){all.ptr, all.len < CTX_MAX_NAME ? all.len : CTX_MAX_NAME});
  if (all.len > CTX_MAX_NAME) tn_text_addz(t, "...");
}

static void ctx_add_loc(tn_text *t, tn_loc loc) {
  if (!loc.kind) return;
  tn_text_addz(t, loc.kind);
  if (loc.name && loc.name[0]) {
    tn_text_addz(t, " '");
    ctx_add_name(t, loc.name);
    tn_text_addz(t, "'");
  } else {
    tn_text_printf(t, strcmp(loc.kind, "line") == 0 ? " %d" : " #%d", loc.index);
  }
  if (loc.op) {
    tn_text_addz(t, " (");
    ctx_add_name(t, loc.op);
    tn_text_addz(t, ")");
  }
  tn_text_addz(t, ": ");
}

TN_PRINTF(2, 0) static const char *ctx_format(tn_ctx *ctx, const char *fmt, va_list ap) {
  char buffer[CTX_MAX_TEXT];
  const int n = vsnprintf(buffer, sizeof buffer, fmt, ap);
  if (n < 0) buffer[0] = 0;
  if (n >= CTX_MAX_TEXT) memcpy(buffer + CTX_MAX_TEXT - 4, "...", 4);
  tn_text t;
  tn_text_init(&t, &ctx->arena);
  ctx_add_clean(&t, tn_str_of(buffer));
  return tn_text_z(&t);
}

static tn_loc ctx_keep_loc(tn_ctx *ctx, tn_loc loc) {
  if (loc.kind) loc.kind = tn_ctx_namez(ctx, loc.kind);
  if (loc.name) loc.name = tn_ctx_namez(ctx, loc.name);
  if (loc.op) loc.op = tn_ctx_namez(ctx, loc.op);
  return loc;
}

TN_PRINTF(5, 0)
static void ctx_record(tn_ctx *ctx, tn_severity severity, tn_status status, tn_loc loc, const char *fmt, va_list ap) {
  ctx->n_diags++;
  if (ctx->diags.n >= TN_MAX_DIAGS) return;
  tn_diag d = {severity, status, ctx_keep_loc(ctx, loc), ctx_format(ctx, fmt, ap), NULL};
  tn_text full;
  tn_text_init(&full, &ctx->arena);
  if (ctx->file) {
    ctx_add_name(&full, ctx->file);
    tn_text_addz(&full, ": ");
  }
  ctx_add_loc(&full, d.loc);
  tn_text_addz(&full, d.text);
  d.full = tn_text_z(&full);
  tn_vec_push(&ctx->arena, &ctx->diags, d);
}

tn_status tn_fail(tn_ctx *ctx, tn_status code, tn_loc loc, const char *fmt, ...) {
  TN_ASSERT(code != TN_OK);
  va_list ap;
  va_start(ap, fmt);
  ctx_record(ctx, TN_ERROR, code, loc, fmt, ap);
  va_end(ap);
  return code;
}

void tn_warn(tn_ctx *ctx, tn_loc loc, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  ctx_record(ctx, TN_WARNING, TN_OK, loc, fmt, ap);
  va_end(ap);
}

void tn_note(tn_ctx *ctx, const char *fmt, ...) {
  if (ctx->n_diags != ctx->diags.n) return; /* its error may be one that was not kept */
  size_t i = ctx->diags.n;
  while (i > 0 && ctx->diags.at[i - 1].severity != TN_ERROR) i--;
  if (i == 0) return;
  tn_diag *d = &ctx->diags.at[i - 1];
  if (strlen(d->full) > CTX_MAX_FULL) return;
  va_list ap;
  va_start(ap, fmt);
  const char *note = ctx_format(ctx, fmt, ap);
  va_end(ap);
  d->full = tn_arena_printf(&ctx->arena, "%s\n  %s", d->full, note);
}
