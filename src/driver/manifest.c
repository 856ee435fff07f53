/* manifest.json: written, read, and followed to the parts. */
#include "driver/manifest.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/scan.h"
#include "driver/split.h"

enum { MANIFEST_DEPTH = 32, MANIFEST_VERSION = 1 };
#define MANIFEST_FORMAT "tenon-parts"

/* --- writing --- */

typedef struct manifest_writer {
  tn_ctx *ctx;
  const tn_partition *plan;
  const tn_onnx_parts *parts;
  tn_symtab *syms;
  tn_text text;
} manifest_writer;

static void manifest_ports(manifest_writer *w, const char *key, const tn_onnx_part_port *ports, uint32_t n) {
  tn_text_printf(&w->text, "\"%s\": [", key);
  for (uint32_t i = 0; i < n; i++) {
    tn_text type;
    tn_text_init(&type, &w->ctx->arena);
    tn_type_print(w->syms, &type, ports[i].type);
    tn_split_json_text(&w->text, i ? ", {\"name\": " : "{\"name\": ", ports[i].name);
    tn_split_json_text(&w->text, ", \"type\": ", tn_text_z(&type));
    tn_text_addz(&w->text, "}");
  }
  tn_text_addz(&w->text, "]");
}

/* Parts that come before one though no value says so. */
static void manifest_after(manifest_writer *w, uint32_t part) {
  bool any = false;
  tn_text_addz(&w->text, ", \"after\": [");
  for (uint32_t e = 0; e < w->plan->n_edges; e++) {
    if (w->plan->edges[e].to != part || !w->plan->edges[e].is_order_only) continue;
    tn_text_printf(&w->text, "%s%u", any ? ", " : "", w->plan->edges[e].from);
    any = true;
  }
  tn_text_addz(&w->text, "]");
}

static void manifest_part(manifest_writer *w, uint32_t i) {
  const tn_part *part = &w->plan->parts[i];
  const tn_onnx_part *p = &w->parts->parts[i];
  tn_split_json_text(&w->text, i ? ",\n  {\"name\": " : "\n  {\"name\": ", part->name);
  tn_split_json_text(&w->text, ", \"file\": ", tn_arena_printf(&w->ctx->arena, "%s.onnx", part->name));
  tn_split_json_part(&w->text, part);
  manifest_after(w, i);
  tn_text_addz(&w->text, ",\n   ");
  manifest_ports(w, "inputs", p->inputs, p->n_inputs);
  tn_text_addz(&w->text, ",\n   ");
  manifest_ports(w, "outputs", p->outputs, p->n_outputs);
  tn_text_addz(&w->text, "}");
}

static void manifest_print(manifest_writer *w) {
  tn_text_printf(&w->text, "{\"format\": \"%s\", \"version\": %d,\n ", MANIFEST_FORMAT, MANIFEST_VERSION);
  manifest_ports(w, "inputs", w->parts->inputs, w->parts->n_inputs);
  tn_text_addz(&w->text, ",\n ");
  manifest_ports(w, "outputs", w->parts->outputs, w->parts->n_outputs);
  tn_split_json_text(&w->text, ",\n \"weights\": ", w->parts->n_weights ? TN_MANIFEST_WEIGHTS : "");
  tn_text_addz(&w->text, ",\n \"parts\": [");
  for (uint32_t i = 0; i < w->parts->n_parts; i++) manifest_part(w, i);
  tn_text_addz(&w->text, "]}\n");
}

static tn_status manifest_file(tn_ctx *ctx, const char *dir, const char *name, const tn_bytes *pieces, size_t n,
                               tn_text *out_text) {
  tn_error err = {0};
  size_t bytes = 0;
  const char *path = tn_arena_printf(&ctx->arena, "%s/%s", dir, name);
  if (tn_file_write(path, pieces, n, &err) != TN_OK)
    return tn_fail(ctx, err.status, (tn_loc){.kind = "file", .name = path}, "%s", err.text);
  for (size_t i = 0; i < n; i++) bytes += pieces[i].len;
  tn_text_printf(out_text, "%s: %zu bytes\n", path, bytes);
  return TN_OK;
}

static tn_status manifest_weights(tn_ctx *ctx, const tn_onnx_parts *parts, const char *dir, tn_text *out_text) {
  static const uint8_t zeros[64];
  tn_bytes *pieces = TN_NEW_ARRAY(&ctx->arena, tn_bytes, 2 * parts->n_weights + 1);
  uint64_t at = 0;
  size_t n = 0;
  if (!parts->n_weights) return TN_OK;
  for (size_t i = 0; i < parts->n_weights; i++) {
    const tn_onnx_part_weight *w = &parts->weights[i];
    if (w->offset > at) pieces[n++] = (tn_bytes){zeros, (size_t)(w->offset - at)};
    pieces[n++] = w->data;
    at = w->offset + w->data.len;
  }
  return manifest_file(ctx, dir, TN_MANIFEST_WEIGHTS, pieces, n, out_text);
}

tn_status tn_manifest_write(tn_onnx_model *m, const tn_partition_set *s, const char *dir, tn_text *out_text) {
  tn_ctx *ctx = s->graph->ctx;
  tn_onnx_parts parts;
  TN_TRY(tn_onnx_write_parts(m, s, TN_MANIFEST_WEIGHTS, &parts));
  manifest_writer w = {.ctx = ctx, .plan = &s->regions.at[0], .parts = &parts, .syms = s->graph->syms};
  if (mkdir(dir, 0777) != 0 && errno != EEXIST)
    return tn_fail(ctx, TN_IO, (tn_loc){.kind = "file", .name = dir}, "cannot make the folder: %s", strerror(errno));
  TN_TRY(manifest_weights(ctx, &parts, dir, out_text));
  for (uint32_t i = 0; i < parts.n_parts; i++) {
    const char *name = tn_arena_printf(&ctx->arena, "%s.onnx", w.plan->parts[i].name);
    TN_TRY(manifest_file(ctx, dir, name, &parts.parts[i].model, 1, out_text));
  }
  tn_text_init(&w.text, &ctx->arena);
  manifest_print(&w);
  const tn_bytes whole = {(const uint8_t *)tn_text_z(&w.text), w.text.len};
  return manifest_file(ctx, dir, TN_MANIFEST_NAME, &whole, 1, out_text); /* last: it says that the rest is there */
}

/* --- reading --- */

bool tn_is_manifest(tn_bytes bytes) {
  static const char head[] = "{\"format\": \"" MANIFEST_FORMAT "\"";
  return bytes.len >= sizeof head - 1 && memcmp(bytes.ptr, head, sizeof head - 1) == 0;
}

typedef struct manifest_reader {
  tn_scan scan;
  tn_manifest *out;
  tn_map files; /* of the parts -> 1 */
} manifest_reader;

static tn_status manifest_text(manifest_reader *r, tn_str *out) {
  if (r->scan.tok.kind != TN_TOK_STRING) return tn_scan_fail(&r->scan, "a string");
  *out = r->scan.tok.text;
  tn_scan_next(&r->scan);
  return TN_OK;
}

static tn_status manifest_skip(manifest_reader *r);

/* Calls `field` with each key of an object, at its value. */
static tn_status manifest_object(manifest_reader *r, tn_status (*field)(manifest_reader *r, tn_str key, void *arg),
                                 void *arg) {
  if (++r->scan.depth > MANIFEST_DEPTH) return tn_scan_fail(&r->scan, "less nesting");
  TN_TRY(tn_scan_need(&r->scan, "{"));
  while (!tn_scan_at(&r->scan, "}")) {
    tn_str key;
    TN_TRY(manifest_text(r, &key));
    TN_TRY(tn_scan_need(&r->scan, ":"));
    TN_TRY(field(r, key, arg));
    if (!tn_scan_take(&r->scan, ",")) break;
  }
  r->scan.depth--;
  return tn_scan_need(&r->scan, "}");
}

static tn_status manifest_array(manifest_reader *r, tn_status (*item)(manifest_reader *r, void *arg), void *arg) {
  if (++r->scan.depth > MANIFEST_DEPTH) return tn_scan_fail(&r->scan, "less nesting");
  TN_TRY(tn_scan_need(&r->scan, "["));
  while (!tn_scan_at(&r->scan, "]")) {
    TN_TRY(item(r, arg));
    if (!tn_scan_take(&r->scan, ",")) break;
  }
  r->scan.depth--;
  return tn_scan_need(&r->scan, "]");
}

static tn_status manifest_skip_field(manifest_reader *r, tn_str key, void *arg) {
  (void)key, (void)arg;
  return manifest_skip(r);
}
static tn_status manifest_skip_item(manifest_reader *r, void *arg) {
  (void)arg;
  return manifest_skip(r);
}

static tn_status manifest_skip(manifest_reader *r) {
  if (tn_scan_at(&r->scan, "{")) return manifest_object(r, manifest_skip_field, NULL);
  if (tn_scan_at(&r->scan, "[")) return manifest_array(r, manifest_skip_item, NULL);
  tn_scan_take(&r->scan, "-");
  if (r->scan.tok.kind != TN_TOK_STRING && r->scan.tok.kind != TN_TOK_INT && r->scan.tok.kind != TN_TOK_FLOAT &&
      r->scan.tok.kind != TN_TOK_NAME)
    return tn_scan_fail(&r->scan, "a value");
  tn_scan_next(&r->scan);
  return TN_OK;
}

static tn_status manifest_port_field(manifest_reader *r, tn_str key, void *arg) {
  return tn_str_is(key, "name") ? manifest_text(r, arg) : manifest_skip(r);
}

static tn_status manifest_port(manifest_reader *r, void *arg) {
  tn_str name = {0};
  TN_TRY(manifest_object(r, manifest_port_field, &name));
  if (!name.ptr) return tn_scan_fail(&r->scan, "a port with a name before this");
  if (arg == &r->out->inputs)
    tn_vec_push(&r->scan.ctx->arena, &r->out->inputs, name);
  else
    tn_vec_push(&r->scan.ctx->arena, &r->out->outputs, name);
  return TN_OK;
}

static tn_status manifest_part_field(manifest_reader *r, tn_str key, void *arg) {
  tn_manifest_part *part = arg;
  const bool is_name = tn_str_is(key, "name"), is_file = tn_str_is(key, "file");
  tn_str text;
  if (!is_name && !is_file) return manifest_skip(r);
  TN_TRY(manifest_text(r, &text));
  *(is_name ? &part->name : &part->file) = tn_arena_copy_str(&r->scan.ctx->arena, text);
  return TN_OK;
}

static tn_status manifest_read_part(manifest_reader *r, void *arg) {
  tn_manifest_part part = {0};
  (void)arg;
  TN_TRY(manifest_object(r, manifest_part_field, &part));
  if (!part.name || !part.file) return tn_scan_fail(&r->scan, "a part with a name and a file before this");
  const char *file = tn_ctx_namez(r->scan.ctx, part.file);
  if (tn_map_find_name(&r->files, file))
    return tn_fail(r->scan.ctx, TN_INVALID, (tn_loc){0}, "two parts have the file '%.200s'", file);
  tn_map_set_name(&r->scan.ctx->arena, &r->files, file, r);
  tn_vec_push(&r->scan.ctx->arena, &r->out->parts, part);
  return TN_OK;
}

static tn_status manifest_field(manifest_reader *r, tn_str key, void *arg) {
  int64_t version;
  (void)arg;
  if (tn_str_is(key, "parts")) return manifest_array(r, manifest_read_part, NULL);
  if (tn_str_is(key, "inputs")) return manifest_array(r, manifest_port, &r->out->inputs);
  if (tn_str_is(key, "outputs")) return manifest_array(r, manifest_port, &r->out->outputs);
  if (!tn_str_is(key, "version")) return manifest_skip(r);
  TN_TRY(tn_scan_need_int(&r->scan, &version));
  if (version == MANIFEST_VERSION) return TN_OK;
  return tn_fail(r->scan.ctx, TN_UNSUPPORTED, (tn_loc){0}, "manifest version %lld; this version reads %d",
                 (long long)version, MANIFEST_VERSION);
}

tn_status tn_manifest_read(tn_ctx *ctx, tn_bytes bytes, tn_manifest *out) {
  manifest_reader r = {.out = out};
  memset(out, 0, sizeof *out);
  tn_scan_init(&r.scan, ctx, (tn_str){(const char *)bytes.ptr, bytes.len});
  TN_TRY_WHILE(ctx, manifest_object(&r, manifest_field, NULL), "reading the manifest");
  if (r.scan.tok.kind != TN_TOK_END) return tn_scan_fail(&r.scan, "the end");
  if (!out->parts.n) return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "the manifest has no parts");
  return TN_OK;
}

tn_status tn_manifest_join(tn_ctx *ctx, const tn_manifest *m, const char *dir, tn_bytes *out) {
  tn_bytes *models = TN_NEW_ARRAY(&ctx->arena, tn_bytes, m->parts.n + 1);
  for (size_t i = 0; i < m->parts.n; i++) {
    tn_error err = {0};
    tn_file *file = NULL;
    if (tn_ctx_map(ctx, dir, m->parts.at[i].file, &file, &err) != TN_OK)
      return tn_fail(ctx, err.status, (tn_loc){.kind = "file", .name = m->parts.at[i].file}, "%s", err.text);
    models[i] = file->bytes;
  }
  return tn_onnx_join_parts(ctx, models, m->parts.n, m->inputs.at, m->inputs.n, m->outputs.at, m->outputs.n, out);
}
