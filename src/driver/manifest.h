/* The folder that `tenon split -o` writes: a model per part, their weights in one file, and manifest.json, which says
 * how they fit together (doc/split.md has its schema). */
#ifndef TN_DRIVER_MANIFEST_H
#define TN_DRIVER_MANIFEST_H

#include "onnx/parts.h"

#define TN_MANIFEST_NAME "manifest.json"
#define TN_MANIFEST_WEIGHTS "weights.bin"

/* Writes all files; the folder is made when there is none. IO names the file. `out_text`: a line for each. */
TN_MUST_CHECK tn_status tn_manifest_write(tn_onnx_model *m, const tn_partition_set *s, const char *dir,
                                          tn_text *out_text);

typedef struct tn_manifest_part {
  const char *name, *file;
} tn_manifest_part;

typedef struct tn_manifest {
  TN_VEC(tn_manifest_part) parts;
  TN_VEC(tn_str) inputs, outputs; /* of the whole */
} tn_manifest;

bool tn_is_manifest(tn_bytes bytes); /* does it begin as one? */
/* INVALID with the line. */
TN_MUST_CHECK tn_status tn_manifest_read(tn_ctx *ctx, tn_bytes bytes, tn_manifest *out);
/* The parts put together as one model; their files are mapped into the context and lie in `dir`. */
TN_MUST_CHECK tn_status tn_manifest_join(tn_ctx *ctx, const tn_manifest *m, const char *dir, tn_bytes *out);

#endif
