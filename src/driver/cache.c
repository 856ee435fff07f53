/* An entry of the cache:
 *
 *   0   "TENONCCH"
 *   8   u64 hash of all that follows
 *   16  key
 *   48  u64 bytes of the program, zeros
 *   64  the program; its sources are the files of the model, in the order they are mapped
 *   ... warnings of the compilation: kind, name, operator, index and text of each, every string with its NUL
 *
 * Its name is its key in hexadecimal: a digest of the model's bytes, its files, knobs, options and of the compiler's
 * own sources. Files are digested under a secret of the folder (base/digest.h), so that no model can be made that is
 * taken for another. */
#include "driver/cache.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/text.h"
#include "code/codec.h"
#include "source_hash.inc"

enum { CACHE_HEADER = 64, CACHE_HASHED = 16, CACHE_KEY = 16, CACHE_BYTES = 48, CACHE_SECRET = 32 };
static const char cache_magic[] = "TENONCCH";

/* The key. */

/* NULL and "" differ, and no two lists give the same bytes. */
static void cache_add_text(tn_digest *d, const char *z) {
  const uint8_t is_there = z != NULL;
  tn_digest_add(d, &is_there, 1);
  if (z) tn_digest_add(d, z, strlen(z) + 1);
}

static void cache_add_number(tn_digest *d, uint64_t x) {
  uint8_t bytes[8];
  tn_codec c = {.out = bytes};
  tn_codec_u64(&c, &x);
  tn_digest_add(d, bytes, sizeof bytes);
}

static void cache_add_knobs(tn_digest *d, const tn_knobs *k) {
  for (int i = 0; i < TN_N_KNOBS; i++) {
    if (i == TN_KNOB_cache || i == TN_KNOB_cache_max_mib) continue;
    cache_add_text(d, tn_knob_rows[i].name);
    cache_add_number(d, (uint64_t)k->num[i]);
    cache_add_text(d, k->str[i]);
  }
}

static void cache_add_options(tn_digest *d, const tn_compile_options *o) {
  static const tn_compile_options none;
  if (!o) o = &none;
  const char *const texts[] = {o->input_shape, o->batch_sizes,  o->image_sizes,
                               o->gear_dims,   o->input_format, o->gear_miss};
  for (size_t i = 0; i < TN_COUNT(texts); i++) cache_add_text(d, texts[i]);
  cache_add_number(d, o->n_assume);
  for (size_t i = 0; i < o->n_assume; i++) cache_add_text(d, o->assume[i]);
}

/* The secret is made by whoever comes first. */
static tn_status cache_secret(tn_ctx *ctx, const char *folder, tn_digest_key *out, tn_error *err) {
  const tn_allocator a = ctx->arena.allocator;
  const char *const path = tn_arena_printf(&ctx->arena, "%s/secret", folder);
  tn_file *file;
  if (tn_file_map(a, path, &file, err) != TN_OK) {
    uint8_t fresh[CACHE_SECRET];
    if (getrandom(fresh, sizeof fresh, 0) != (ssize_t)sizeof fresh)
      return tn_error_set(err, TN_IO, "there are no random numbers");
    *err = (tn_error){0};
    TN_TRY(tn_file_write_secret(path, (tn_bytes){fresh, sizeof fresh}, err));
    TN_TRY(tn_file_map(a, path, &file, err));
  }
  const bool good = file->bytes.len == CACHE_SECRET;
  if (good) tn_digest_expand(file->bytes.ptr, file->bytes.len, out);
  tn_file_close(file);
  return good ? TN_OK : tn_error_set(err, TN_IO, "'%.400s' is damaged: remove it", path);
}

static void cache_make_key(tn_cache *c, const tn_ctx *ctx, const tn_digest_key *key, tn_bytes model,
                           const tn_compile_options *o) {
  tn_digest d;
  tn_digest_init(&d);
  cache_add_text(&d, tn_version());
  cache_add_text(&d, TN_SOURCE_HASH);
  cache_add_number(&d, TN_PROGRAM_VERSION);
  cache_add_knobs(&d, &ctx->knobs);
  cache_add_options(&d, o);
  tn_digest_add_keyed(&d, key, model.ptr, model.len);
  cache_add_number(&d, ctx->files.n);
  for (size_t i = 0; i < ctx->files.n; i++)
    if (ctx->files.at[i]->bytes.ptr != model.ptr)
      tn_digest_add_keyed(&d, key, ctx->files.at[i]->bytes.ptr, ctx->files.at[i]->bytes.len);
  tn_digest_end(&d, c->key);
}

static const char *cache_path(tn_ctx *ctx, const char *folder, const uint8_t key[TN_DIGEST_BYTES]) {
  tn_text t;
  tn_text_init(&t, &ctx->arena);
  tn_text_printf(&t, "%s/", folder);
  for (int i = 0; i < TN_DIGEST_BYTES; i++) tn_text_printf(&t, "%02x", key[i]);
  return tn_text_z(&t);
}

void tn_cache_open(tn_cache *c, tn_ctx *ctx, tn_bytes model, const tn_compile_options *o) {
  const char *const folder = ctx->knobs.str[TN_KNOB_cache];
  tn_digest_key key;
  tn_error err = {0};
  *c = (tn_cache){.first = ctx->diags.n};
  if (!*folder) return;
  tn_status status = tn_file_own_folder(folder, &err);
  if (status == TN_OK) status = cache_secret(ctx, folder, &key, &err);
  if (status != TN_OK) {
    tn_warn(ctx, (tn_loc){0}, "the cache is not used: %s", err.text);
    return;
  }
  cache_make_key(c, ctx, &key, model, o);
  c->path = cache_path(ctx, folder, c->key);
}

/* Entries. */

static uint64_t cache_hash(const tn_bytes *parts, size_t n) {
  uint64_t h = 0;
  for (size_t i = 0; i < n; i++) h = tn_hash_bytes(parts[i].ptr, parts[i].len, h);
  return h;
}

typedef struct cache_entry {
  tn_bytes program, warnings;
} cache_entry;

static bool cache_read(const tn_cache *c, tn_bytes all, cache_entry *out) {
  uint64_t hash, bytes;
  if (all.len < CACHE_HEADER || memcmp(all.ptr, cache_magic, 8) != 0) return false;
  tn_codec in = {.in = all.ptr, .at = 8};
  tn_codec_u64(&in, &hash);
  in.at = CACHE_BYTES;
  tn_codec_u64(&in, &bytes);
  if (memcmp(all.ptr + CACHE_KEY, c->key, sizeof c->key) != 0 || bytes > all.len - CACHE_HEADER) return false;
  const tn_bytes parts[] = {{all.ptr + CACHE_HASHED, CACHE_HEADER - CACHE_HASHED},
                            {all.ptr + CACHE_HEADER, (size_t)bytes},
                            {all.ptr + CACHE_HEADER + bytes, all.len - CACHE_HEADER - (size_t)bytes}};
  *out = (cache_entry){parts[1], parts[2]};
  return cache_hash(parts, TN_COUNT(parts)) == hash;
}

static const char *cache_take(tn_bytes *rest) {
  const uint8_t *const end = rest->len ? memchr(rest->ptr, 0, rest->len) : NULL;
  if (!end) return NULL;
  const char *const z = (const char *)rest->ptr;
  rest->len -= (size_t)(end - rest->ptr) + 1;
  rest->ptr = end + 1;
  return z;
}

static void cache_warn(tn_ctx *ctx, tn_bytes warnings) {
  for (;;) {
    const char *z[5];
    for (size_t i = 0; i < TN_COUNT(z); i++)
      if (!(z[i] = cache_take(&warnings))) return;
    const tn_loc loc = {*z[0] ? z[0] : NULL, *z[1] ? z[1] : NULL, *z[2] ? z[2] : NULL, atoi(z[3])};
    tn_warn(ctx, loc, "%s", z[4]);
  }
}

/* `file`: the last of the context's; all of them are the program's then. */
static tn_program *cache_decode(const tn_cache *c, tn_ctx *ctx, tn_file *file) {
  cache_entry e;
  tn_error err = {0};
  tn_program *p = NULL;
  if (!cache_read(c, file->bytes, &e)) return NULL;
  cache_warn(ctx, e.warnings);
  const tn_status status = tn_program_decode_over(ctx->arena.allocator, e.program, file, ctx->files.at,
                                                  (uint32_t)ctx->files.n - 1, &p, &err);
  if (status == TN_OK) ctx->files.n = 0;
  return p;
}

tn_program *tn_cache_find(tn_cache *c, tn_ctx *ctx) {
  tn_error err = {0};
  tn_file *file;
  if (!c->path || tn_ctx_map(ctx, NULL, c->path, &file, &err) != TN_OK) return NULL;
  tn_program *p = cache_decode(c, ctx, file);
  if (p) tn_cache_touch(c->path);
  if (p) return p;
  ctx->files.n--;
  tn_file_close(file);
  ctx->n_diags -= ctx->diags.n - c->first;
  ctx->diags.n = c->first;
  tn_warn(ctx, (tn_loc){0}, "the entry '%s' of the cache is damaged: it is made anew", c->path);
  c->first = ctx->diags.n;
  return NULL;
}

static tn_bytes cache_warnings(const tn_cache *c, tn_ctx *ctx) {
  tn_text t;
  tn_text_init(&t, &ctx->arena);
  for (size_t i = c->first; i < ctx->diags.n; i++) {
    const tn_diag *const d = &ctx->diags.at[i];
    const char *const z[] = {d->loc.kind ? d->loc.kind : "", d->loc.name ? d->loc.name : "", d->loc.op ? d->loc.op : "",
                             tn_arena_printf(&ctx->arena, "%d", d->loc.index), d->text};
    for (size_t k = 0; k < TN_COUNT(z); k++) tn_text_add(&t, (tn_str){z[k], strlen(z[k]) + 1});
  }
  return (tn_bytes){(const uint8_t *)tn_text_z(&t), t.len};
}

/* Nothing may jump away between the encoded program and its end. */
static tn_status cache_write(const tn_cache *c, const tn_program *p, const tn_psource *sources, tn_bytes warnings,
                             tn_error *err) {
  uint8_t header[CACHE_HEADER] = {0};
  tn_bytes program;
  TN_TRY(tn_program_encode(p, p->allocator, sources, &program, err));
  uint64_t bytes = program.len, hash;
  tn_codec out = {.out = header, .at = CACHE_BYTES};
  memcpy(header, cache_magic, 8);
  memcpy(header + CACHE_KEY, c->key, sizeof c->key);
  tn_codec_u64(&out, &bytes);
  const tn_bytes parts[] = {{header + CACHE_HASHED, CACHE_HEADER - CACHE_HASHED}, program, warnings};
  hash = cache_hash(parts, TN_COUNT(parts));
  out.at = 8;
  tn_codec_u64(&out, &hash);
  const tn_bytes whole[] = {{header, sizeof header}, program, warnings};
  const tn_status status = tn_file_write(c->path, whole, TN_COUNT(whole), err);
  tn_free(p->allocator, (void *)(uintptr_t)program.ptr, program.len);
  return status;
}

void tn_cache_keep(const tn_cache *c, tn_ctx *ctx, const tn_program *p) {
  tn_error err = {0};
  const int64_t mib = ctx->knobs.num[TN_KNOB_cache_max_mib];
  if (!c->path) return;
  const tn_bytes warnings = cache_warnings(c, ctx);
  const tn_psource *const sources = TN_NEW_ARRAY(&ctx->arena, tn_psource, p->n_files + 1);
  if (cache_write(c, p, sources, warnings, &err) != TN_OK)
    tn_warn(ctx, (tn_loc){0}, "the program was not put into the cache: %s", err.text);
  if (mib > 0)
    tn_cache_trim(ctx, ctx->knobs.str[TN_KNOB_cache], mib > INT64_MAX >> 20 ? INT64_MAX : (uint64_t)mib << 20);
}
