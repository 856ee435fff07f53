#include "base/ctx.h"

#include <stdlib.h>

#include "test.h"

#define FIRST                                                         \
  "m.onnx: node '/enc/Add' (Add): cannot broadcast dim 1: S with 5\n" \
  "  while inferring the shape of add\n"                              \
  "  while running pass infer"

static tn_ctx *begin(tn_ctx *ctx) {
  tn_error err = {0};
  CHECK_EQ_I(tn_ctx_init(ctx, tn_allocator_system(), &err), TN_OK);
  return ctx;
}

static tn_status fail_all_kinds(tn_ctx *ctx, void *arg) {
  (void)arg;
  char name[] = "/enc/Add"; /* the context must keep its own copy */
  const tn_loc node = {.kind = "node", .name = name, .op = "Add", .index = 3};
  ctx->file = "m.onnx";
  CHECK_EQ_I(tn_fail(ctx, TN_MISMATCH, node, "cannot broadcast dim %d: %s with %d", 1, "S", 5), TN_MISMATCH);
  name[0] = 'X';
  tn_note(ctx, "while inferring the shape of %s", "add");
  tn_note(ctx, "while running pass infer");
  CHECK_EQ_I(tn_fail(ctx, TN_INVALID, (tn_loc){.kind = "node", .name = "", .op = "Add", .index = 12}, "x"), TN_INVALID);
  CHECK_EQ_I(tn_fail(ctx, TN_INVALID, (tn_loc){.kind = "input", .name = "x"}, "a"), TN_INVALID);
  CHECK_EQ_I(tn_fail(ctx, TN_INVALID, (tn_loc){.kind = "line", .index = 12}, "b"), TN_INVALID);
  CHECK_EQ_I(tn_fail(ctx, TN_INVALID, (tn_loc){0}, "c"), TN_INVALID);
  tn_warn(ctx, (tn_loc){.kind = "output", .name = "y\n\x1b[2J"}, "d\n");
  ctx->file = NULL;
  return tn_fail(ctx, TN_IO, (tn_loc){.kind = "file", .name = "w.bin"}, "e");
}

TEST(messages) {
  tn_ctx c, *ctx = begin(&c);
  CHECK_EQ_I(tn_ctx_run(ctx, fail_all_kinds, NULL), TN_IO);
  static const char *const want[] = {
      FIRST,
      "m.onnx: node #12 (Add): x",
      "m.onnx: input 'x': a",
      "m.onnx: line 12: b",
      "m.onnx: c",
      "m.onnx: output 'y\\x0a\\x1b[2J': d\\x0a",
      "file 'w.bin': e",
  };
  CHECK_EQ_I(ctx->diags.n, TN_COUNT(want));
  for (size_t i = 0; i < ctx->diags.n && i < TN_COUNT(want); i++) CHECK_STR(ctx->diags.at[i].full, want[i]);
  CHECK_STR(ctx->diags.at[0].text, "cannot broadcast dim 1: S with 5");
  CHECK_STR(ctx->diags.at[0].loc.name, "/enc/Add");
  CHECK_EQ_I(ctx->diags.at[0].status, TN_MISMATCH);
  CHECK_EQ_I(ctx->diags.at[5].severity, TN_WARNING);
  CHECK_EQ_I(ctx->diags.at[5].status, TN_OK);
  tn_ctx_drop(ctx);
}

static tn_status fail_often(tn_ctx *ctx, void *arg) {
  (void)arg;
  for (int i = 0; i < TN_MAX_DIAGS + 50; i++)
    if (tn_fail(ctx, TN_INVALID, (tn_loc){0}, "%d", i) == TN_OK) return TN_OK;
  tn_note(ctx, "while nobody keeps it");
  return TN_INVALID;
}

TEST(many_are_counted) {
  tn_ctx c, *ctx = begin(&c);
  CHECK_EQ_I(tn_ctx_run(ctx, fail_often, NULL), TN_INVALID);
  CHECK_EQ_I(ctx->diags.n, TN_MAX_DIAGS);
  CHECK_EQ_I(ctx->n_diags, TN_MAX_DIAGS + 50);
  CHECK_STR(ctx->diags.at[TN_MAX_DIAGS - 1].full, "999");
  tn_ctx_drop(ctx);
}

static tn_status fail_at_length(tn_ctx *ctx, void *arg) {
  const tn_loc loc = {.kind = "node", .name = arg};
  const tn_status status = tn_fail(ctx, TN_INVALID, loc, "%s", (const char *)arg);
  for (int i = 0; i < 10000; i++) tn_note(ctx, "while %d", i);
  return status;
}

TEST(long_texts_are_cut) {
  static char text[100001];
  memset(text, 'x', sizeof text - 1);
  tn_ctx c, *ctx = begin(&c);
  CHECK_EQ_I(tn_ctx_run(ctx, fail_at_length, text), TN_INVALID);
  CHECK_HAS(ctx->diags.at[0].full, "xxx...': xxx");
  CHECK_HAS(ctx->diags.at[0].full, "xxx...\n  while 0\n  while 1\n");
  CHECK(strlen(ctx->diags.at[0].full) < 10000);
  tn_ctx_drop(ctx);
}

static tn_status note_without_error(tn_ctx *ctx, void *arg) {
  (void)arg;
  tn_note(ctx, "while nothing");
  tn_warn(ctx, (tn_loc){0}, "w");
  tn_note(ctx, "while nothing");
  return TN_OK;
}

TEST(notes_need_an_error) {
  tn_ctx c, *ctx = begin(&c);
  CHECK_EQ_I(tn_ctx_run(ctx, note_without_error, NULL), TN_OK);
  CHECK_STR(ctx->diags.at[0].full, "w");
  tn_ctx_drop(ctx);
}

static tn_status allocate_much(tn_ctx *ctx, void *arg) {
  (void)arg;
  const tn_status status = tn_fail(ctx, TN_INVALID, (tn_loc){0}, "first");
  for (int i = 0; i < 1000; i++) (void)tn_arena_alloc(i % 2 ? &ctx->arena : &ctx->pass, 1, 5000);
  return status;
}

TEST(every_allocation_may_fail) {
  tn_status status = TN_OOM;
  for (int k = 1; status == TN_OOM && k < 1000; k++) {
    tn_alloc_probe probe = {.inner = tn_allocator_system(), .fail_at = k, .fail_forever = true};
    tn_ctx ctx;
    tn_error err = {0};
    CHECK_EQ_I(tn_ctx_init(&ctx, tn_allocator_probe(&probe), &err), TN_OK);
    CHECK_EQ_I(probe.calls, 0);
    status = tn_ctx_run(&ctx, allocate_much, NULL);
    if (k > 1) CHECK_STR(ctx.diags.n ? ctx.diags.at[0].full : NULL, "first");
    tn_ctx_drop(&ctx);
    CHECK_EQ_I(probe.live_bytes, 0);
  }
  CHECK_EQ_I(status, TN_INVALID);
}

TEST(knobs_come_from_the_environment) {
  tn_ctx ctx;
  tn_error err = {0};
  CHECK(setenv("TENON_THREADS", "three", 1) == 0);
  CHECK_EQ_I(tn_ctx_init(&ctx, tn_allocator_system(), &err), TN_INVALID);
  CHECK_STR(err.text, "knob 'threads' (environment): 'three' is not an integer");
  tn_ctx_drop(&ctx);
  CHECK(unsetenv("TENON_THREADS") == 0);
}
