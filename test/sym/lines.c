/* Reads lines `x y z w TAB expression TAB the same in another order`, prints `canonical text TAB value TAB idempotent
 * TAB ordered`: the value `!` where it is not defined; 1 if the text, or the other order, parses to the same pointer.
 * For bigint.py. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sym/sym.h"

enum { BATCH = 1000, ROOM = 1 << 16, N_VALUES = 4 };

typedef struct batch {
  char *line;
  bool end;
} batch;

typedef struct binding {
  tn_symtab *t;
  int64_t v[N_VALUES];
} binding;

static bool lines_env(void *arg, uint32_t symbol, int64_t *out) {
  const binding *const b = arg;
  const char *const at = strchr("xyzw", tn_sym_symbol(b->t, symbol)->name[0]);
  if (!at) return false;
  *out = b->v[at - "xyzw"];
  return true;
}

static tn_status lines_one(tn_symtab *t, char *line) {
  binding b = {.t = t};
  char *at = line;
  tn_sym e, again, other;
  int64_t v;
  for (int i = 0; i < N_VALUES; i++) b.v[i] = strtoll(at, &at, 10);
  line[strcspn(line, "\n")] = 0;
  char *const second = strchr(at + 1, '\t');
  if (!second) return TN_INVALID;
  *second = 0;
  TN_TRY(tn_sym_parse_str(t, tn_str_of(at + 1), (tn_loc){0}, &e));
  TN_TRY(tn_sym_parse_str(t, tn_str_of(second + 1), (tn_loc){0}, &other));
  const char *const text = tn_sym_text(t, e);
  TN_TRY(tn_sym_parse_str(t, tn_str_of(text), (tn_loc){0}, &again));
  if (tn_sym_eval(t, e, lines_env, &b, &v) == TN_OK)
    printf("%s\t%" PRId64 "\t%d\t%d\n", text, v, again == e, other == e);
  else
    printf("%s\t!\t%d\t%d\n", text, again == e, other == e);
  return TN_OK;
}

static tn_status lines_batch(tn_ctx *ctx, void *arg) {
  batch *const b = arg;
  tn_symtab *const t = tn_symtab_new(ctx);
  for (int i = 0; i < BATCH && !b->end; i++) {
    b->end = !fgets(b->line, ROOM, stdin);
    if (!b->end) TN_TRY(lines_one(t, b->line));
  }
  return TN_OK;
}

int main(void) {
  static char line[ROOM];
  batch b = {line, false};
  while (!b.end) {
    tn_ctx ctx;
    tn_error err = {0};
    if (tn_ctx_init(&ctx, tn_allocator_system(), &err) != TN_OK) return 1;
    const tn_status s = tn_ctx_run(&ctx, lines_batch, &b);
    tn_ctx_drop(&ctx);
    if (s != TN_OK) {
      fprintf(stderr, "status %d at: %s\n", (int)s, line);
      return 1;
    }
  }
  return 0;
}
