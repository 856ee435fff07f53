/* A table per test: SYM_OPEN ... SYM_CLOSE around the body. */
#ifndef TN_TEST_SYM_TESTING_H
#define TN_TEST_SYM_TESTING_H

#include "sym/sym.h"
#include "test.h"

typedef struct sym_bench {
  tn_ctx ctx;
  tn_symtab *t;
  void (*body)(struct sym_bench *b);
} sym_bench;

static tn_status sym_bench_body(tn_ctx *ctx, void *arg) {
  sym_bench *const b = arg;
  b->t = tn_symtab_new(ctx);
  b->body(b);
  return TN_OK;
}

TEST_UNUSED static void sym_bench_run(void (*body)(sym_bench *b)) {
  static sym_bench b;
  static tn_error err;
  b.body = body;
  if (!CHECK_EQ_I(tn_ctx_init(&b.ctx, tn_allocator_system(), &err), TN_OK)) return;
  CHECK_EQ_I(tn_ctx_run(&b.ctx, sym_bench_body, &b), TN_OK);
  tn_ctx_drop(&b.ctx);
}

/* TEST over a fresh table `b->t`. */
#define SYM_TEST(name)                      \
  static void sym_##name(sym_bench *b);     \
  TEST(name) { sym_bench_run(sym_##name); } \
  static void sym_##name(sym_bench *b)

TEST_UNUSED static tn_sym sym_of(sym_bench *b, const char *text) {
  tn_sym e = NULL;
  const tn_loc loc = {.kind = "value", .name = "test"};
  if (!CHECK_EQ_I(tn_sym_parse_str(b->t, tn_str_of(text), loc, &e), TN_OK)) printf("  text: %s\n", text);
  return e ? e : tn_sym_int(b->t, 0);
}

/* What text becomes. */
#define CHECK_SYM(text, expected) CHECK_STR(tn_sym_text(b->t, sym_of(b, text)), expected)

TEST_UNUSED static void sym_assume(sym_bench *b, const char *text) {
  const tn_loc loc = {.kind = "value", .name = "test"};
  if (!CHECK_EQ_I(tn_sym_assume(b->t, sym_of(b, text), loc), TN_OK)) printf("  text: %s\n", text);
}

#endif
