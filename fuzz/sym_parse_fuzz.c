/* The expression parser over any text: it ends; what it reads prints and reads back as the same node, keeps its bounds
 * and its divisor under evaluation, and is the same after an empty substitution. */
#include "sym/sym.h"

enum { SYM_FUZZ_MAX_TEXT = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct sym_fuzz_case {
  tn_str src;
  int64_t shift; /* makes the values differ between inputs */
} sym_fuzz_case;

static bool sym_fuzz_bind(void *arg, uint32_t symbol, int64_t *out) {
  const sym_fuzz_case *const c = arg;
  *out = (int64_t)(symbol * 7 % 11) + c->shift;
  return true;
}

static tn_sym sym_fuzz_keep(void *arg, uint32_t symbol) {
  (void)arg;
  (void)symbol;
  return NULL;
}

static void sym_fuzz_check(tn_symtab *t, tn_sym e, sym_fuzz_case *c) {
  tn_sym back;
  int64_t v;
  const char *const text = tn_sym_text(t, e);
  if (strchr(text, '?') == NULL && (!tn_sym_try_parse(t, tn_str_of(text), &back) || back != e)) __builtin_trap();
  if (tn_sym_substitute(t, e, sym_fuzz_keep, NULL) != e) __builtin_trap();
  const tn_interval b = tn_sym_bounds(t, e);
  const int64_t d = tn_sym_divisor(t, e);
  const tn_truth truth = tn_sym_prove(t, e);
  if (tn_sym_eval(t, e, sym_fuzz_bind, c, &v) != TN_OK) return;
  if (v < b.lo || v > b.hi || (d == 0 ? v != 0 : v % d != 0)) __builtin_trap();
  if (truth != TN_UNKNOWN && (truth == TN_TRUE) != (v != 0)) __builtin_trap();
}

static tn_status sym_fuzz_one(tn_ctx *ctx, void *arg) {
  sym_fuzz_case *const c = arg;
  tn_symtab *const t = tn_symtab_new(ctx);
  tn_sym e;
  if (!tn_sym_try_parse(t, c->src, &e)) {
    if (ctx->diags.n != 0 || tn_sym_n_symbols(t) != 0) __builtin_trap();
    const tn_loc loc = {.kind = "value", .name = "fuzz"};
    return tn_sym_parse_str(t, c->src, loc, &e);
  }
  sym_fuzz_check(t, e, c);
  const tn_loc loc = {.kind = "value", .name = "fuzz"};
  if (tn_sym_assume(t, e, loc) == TN_OK) (void)tn_sym_bounds(t, e);
  return tn_sym_try_parse(t, c->src, &e) ? TN_OK : TN_INTERNAL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_ctx ctx;
  tn_error err = {0};
  if (size > SYM_FUZZ_MAX_TEXT) return 0;
  if (tn_ctx_init(&ctx, tn_allocator_system(), &err) != TN_OK) __builtin_trap();
  sym_fuzz_case c = {{(const char *)data, size}, size > 0 ? data[size - 1] % 16 : 0};
  if (tn_ctx_run(&ctx, sym_fuzz_one, &c) == TN_INTERNAL) __builtin_trap();
  tn_ctx_drop(&ctx);
  return 0;
}
