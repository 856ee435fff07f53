/* Sizes of symbols as options give them. */
#include "driver/shapes.h"

tn_status tn_tool_read_dims(tn_ctx *ctx, tn_symtab *syms, const char *dims, bool *given, int64_t *value) {
  const tn_loc loc = {.kind = "option", .name = "--dim"};
  const char *at = dims ? dims : "";
  while (*at) {
    const char *const eq = strchr(at, '='), *const comma = strchr(at, ',');
    const char *const end = comma ? comma : at + strlen(at);
    int64_t v = 0;
    if (!eq || eq >= end || eq + 1 == end) return tn_fail(ctx, TN_INVALID, loc, "expected NAME=SIZE at '%s'", at);
    for (const char *d = eq + 1; d < end; d++)
      if (*d < '0' || *d > '9' || !tn_mul_i64(v, 10, &v) || !tn_add_i64(v, *d - '0', &v))
        return tn_fail(ctx, TN_INVALID, loc, "'%.*s' is no size", (int)(end - eq - 1), eq + 1);
    const char *const name = tn_arena_copy_str(&ctx->arena, (tn_str){at, (size_t)(eq - at)});
    const tn_symbol *const symbol = tn_sym_find_symbol(syms, name);
    if (!symbol) return tn_fail(ctx, TN_INVALID, loc, "the model has no symbol '%s'", name);
    given[symbol->var->k] = true;
    value[symbol->var->k] = v;
    at = comma ? comma + 1 : end;
  }
  return TN_OK;
}
