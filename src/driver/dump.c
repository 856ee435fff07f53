/* Dumps between passes. */
#include "driver/dump.h"

#include "ir/text.h"

tn_status tn_dump_pass(tn_graph *g, const char *dir, int number, const char *pass, uint32_t flags) {
  tn_text text;
  tn_error err = {0};
  tn_text_init(&text, &g->ctx->pass);
  tn_graph_print(g, &text, flags);
  const char *path = tn_arena_printf(&g->ctx->pass, "%s/%02d-%s.tn", dir, number, pass);
  const tn_bytes part = {(const uint8_t *)tn_text_z(&text), text.len};
  if (tn_file_write(path, &part, 1, &err) == TN_OK) return TN_OK;
  return tn_fail(g->ctx, err.status, (tn_loc){.kind = "file", .name = path}, "%s", err.text);
}
