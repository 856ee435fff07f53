/* Programs kept in a folder by the contents of what they were made from (knob `cache`). A cache that cannot be used, an
 * entry that is damaged, are warnings of the compilation: it never fails for them. */
#ifndef TN_DRIVER_CACHE_H
#define TN_DRIVER_CACHE_H

#include "base/ctx.h"
#include "base/digest.h"
#include "code/program.h"
#include "tenon/tenon.h"

typedef struct tn_cache {
  const char *path; /* of the entry; NULL: nothing is looked up or kept */
  uint8_t key[TN_DIGEST_BYTES];
  size_t first; /* diagnostics from here on belong to the entry */
} tn_cache;

/* All inside tn_ctx_run. Opened when the model was read and its files are mapped (ctx->files). */
void tn_cache_open(tn_cache *c, tn_ctx *ctx, tn_bytes model, const tn_compile_options *o);
/* The program, whose warnings are given again; it owns the files. NULL: there is none. */
tn_program *tn_cache_find(tn_cache *c, tn_ctx *ctx);
/* p: as emitted, over the files that the context had when it was looked for. */
void tn_cache_keep(const tn_cache *c, tn_ctx *ctx, const tn_program *p);

/* In cache_trim.c. */
void tn_cache_touch(const char *path); /* the entry was used now */
/* Removes the entries used longest ago until the others are `most` bytes in all; the newest stays in any case. */
void tn_cache_trim(tn_ctx *ctx, const char *folder, uint64_t most);

#endif
