/* Evaluates an expression's text for given symbols: what the command line needs to size an input. */
#include <string.h>

#include "sym/sym.h"
#include "tenon/tenon_unstable.h"

typedef struct eval_request {
  const char *expr;
  const char *const *names;
  const int64_t *values;
  size_t n;
  tn_symtab *table;
  char *missing;
  size_t room;
  int64_t *out;
} eval_request;

static bool eval_lookup(void *arg, uint32_t symbol, int64_t *out) {
  eval_request *const q = arg;
  const char *const name = tn_sym_symbol(q->table, symbol)->name;
  for (size_t i = 0; i < q->n; i++) {
    if (strcmp(q->names[i], name) != 0) continue;
    *out = q->values[i];
    return true;
  }
  return false;
}

static void eval_note_missing(void *arg, uint32_t symbol) {
  eval_request *const q = arg;
  int64_t v;
  if (q->room == 0 || *q->missing || eval_lookup(q, symbol, &v)) return;
  const char *const name = tn_sym_symbol(q->table, symbol)->name;
  const size_t len = strlen(name), n = len < q->room ? len : q->room - 1;
  memcpy(q->missing, name, n);
  q->missing[n] = 0;
}

static tn_status eval_run(tn_ctx *ctx, void *arg) {
  eval_request *const q = arg;
  tn_sym e;
  q->table = tn_symtab_new(ctx);
  TN_TRY(tn_sym_parse_str(q->table, tn_str_of(q->expr), (tn_loc){0}, &e));
  tn_sym_symbols(q->table, e, eval_note_missing, q);
  if (q->room > 0 && *q->missing) return TN_INVALID;
  return tn_sym_eval(q->table, e, eval_lookup, q, q->out);
}

tn_status tn_tool_eval(const char *expr, const char *const *names, const int64_t *values, size_t n, int64_t *out,
                       char *missing, size_t room) {
  eval_request q = {
      .expr = expr, .names = names, .values = values, .n = n, .missing = missing, .room = room, .out = out};
  tn_ctx ctx;
  tn_error err = {0};
  if (room > 0) *missing = 0;
  tn_status s = tn_ctx_init(&ctx, tn_allocator_system(), &err);
  if (s != TN_OK) return s;
  s = tn_ctx_run(&ctx, eval_run, &q);
  tn_ctx_drop(&ctx);
  return s;
}
