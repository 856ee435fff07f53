/* The lexer over any bytes: it ends, tokens move forward, strings that it reads print and read back the same. */
#include "base/scan.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void scan_fuzz_round_trip(tn_ctx *ctx, tn_str s) {
  tn_text t;
  tn_text_init(&t, &ctx->arena);
  tn_text_quote(&t, s);
  tn_scan again;
  tn_scan_init(&again, ctx, (tn_str){t.ptr, t.len});
  if (again.tok.kind != TN_TOK_STRING || !tn_str_eq(again.tok.text, s)) __builtin_trap();
}

static tn_status scan_fuzz_all(tn_ctx *ctx, void *arg) {
  const tn_str src = *(const tn_str *)arg;
  tn_scan s;
  size_t before = 0;
  for (tn_scan_init(&s, ctx, src); s.tok.kind != TN_TOK_END; tn_scan_next(&s)) {
    if (s.pos <= before || s.pos > src.len) __builtin_trap();
    before = s.pos;
    if (s.tok.kind == TN_TOK_STRING) scan_fuzz_round_trip(ctx, s.tok.text);
  }
  tn_scan_init(&s, ctx, src);
  int64_t value;
  while (tn_scan_need_int(&s, &value) == TN_OK && tn_scan_take(&s, ",")) {
  }
  return tn_scan_need(&s, ";");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_ctx ctx;
  tn_error err = {0};
  if (tn_ctx_init(&ctx, tn_allocator_system(), &err) != TN_OK) __builtin_trap();
  tn_str src = {(const char *)data, size};
  (void)!tn_ctx_run(&ctx, scan_fuzz_all, &src);
  tn_ctx_drop(&ctx);
  return 0;
}
