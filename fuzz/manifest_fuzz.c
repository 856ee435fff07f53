/* A manifest and the parts it is of, in one input, pieces cut by the line "%%": read, joined, and the joined model
 * imported. Memory is capped. */
#include <stdlib.h>

#include "driver/manifest.h"
#include "fuzz/cap.h"
#include "ir/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MANIFEST_CAP = 256 << 20, MANIFEST_PIECES = 16, MANIFEST_PARTS = 64 };

static size_t manifest_cut(tn_bytes all, tn_bytes pieces[MANIFEST_PIECES]) {
  static const char mark[] = "\n%%\n";
  size_t n = 0;
  for (const uint8_t *at = all.ptr, *end = at + all.len; n < MANIFEST_PIECES; n++) {
    const uint8_t *stop = n + 1 < MANIFEST_PIECES && at < end ? memmem(at, (size_t)(end - at), mark, 4) : NULL;
    pieces[n] = (tn_bytes){at, (size_t)((stop ? stop : end) - at)};
    if (!stop) return n + 1;
    at = stop + 4;
  }
  return n;
}

/* Part i is piece 1 + i, whatever its file is called. */
static tn_status manifest_inside(tn_ctx *ctx, void *arg) {
  tn_bytes pieces[MANIFEST_PIECES], models[MANIFEST_PARTS], whole;
  const size_t n = manifest_cut(*(const tn_bytes *)arg, pieces);
  tn_manifest m;
  tn_onnx_model *model;
  tn_graph *g;
  TN_TRY(tn_manifest_read(ctx, pieces[0], &m));
  if (m.parts.n > MANIFEST_PARTS || n < 2) return TN_OK;
  for (size_t i = 0; i < m.parts.n; i++) models[i] = pieces[1 + i % (n - 1)];
  TN_TRY(tn_onnx_join_parts(ctx, models, m.parts.n, m.inputs.at, m.inputs.n, m.outputs.at, m.outputs.n, &whole));
  TN_TRY(tn_onnx_read(ctx, whole, NULL, &model));
  TN_TRY(tn_onnx_import(model, &g));
  if (tn_verify(g, TN_HAS_GRAPH) != TN_OK) abort();
  return TN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_cap cap = fuzz_cap_new(MANIFEST_CAP);
  tn_bytes bytes = {data, size};
  tn_ctx ctx;
  tn_error err = {0};
  if (tn_ctx_init(&ctx, fuzz_cap_allocator(&cap), &err) != TN_OK) abort();
  const tn_status status = tn_ctx_run(&ctx, manifest_inside, &bytes);
  if (status == TN_INTERNAL || (status != TN_OK && status != TN_OOM && ctx.n_diags == 0)) abort();
  tn_ctx_drop(&ctx);
  if (cap.live != 0) abort();
  return 0;
}
