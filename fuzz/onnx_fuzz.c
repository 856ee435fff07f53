/* A model from any bytes: read, imported, inferred and written back; what was written must read again. Also the readers
 * of test data. Memory is capped, so that an input that asks for too much ends as OOM. */
#include <stdlib.h>

#include "fuzz/cap.h"
#include "ir/edit.h"
#include "ir/infer.h"
#include "ir/verify.h"
#include "onnx/onnx.h"

enum { FUZZ_MAX_BYTES = 256 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_name_dims(tn_graph *g) {
  for (int i = 0; i < g->main->n_params; i++) {
    tn_value *v = g->main->params[i];
    if (!tn_type_has_rank(&v->type)) continue;
    tn_sym *dims = TN_NEW_ARRAY(&g->ctx->arena, tn_sym, v->type.rank + 1);
    for (int k = 0; k < v->type.rank; k++)
      dims[k] = v->type.dims[k] ? v->type.dims[k] : tn_sym_fresh_symbol(g->syms, v->name)->var;
    tn_edit_set_type(v, tn_type_tensor(v->type.dtype, v->type.rank, dims));
  }
}

static void fuzz_write_back(tn_ctx *ctx, tn_onnx_model *m, tn_graph *g) {
  const tn_bytes *parts;
  size_t n, len = 0;
  if (tn_onnx_splice(m, g, &parts, &n) != TN_OK) abort();
  for (size_t i = 0; i < n; i++) len += parts[i].len;
  uint8_t *all = tn_arena_alloc(&ctx->arena, len + 1, 1);
  len = 0;
  for (size_t i = 0; i < n; i++) {
    memcpy(all + len, parts[i].ptr, parts[i].len);
    len += parts[i].len;
  }
  tn_onnx_model *again;
  if (tn_onnx_read(ctx, (tn_bytes){all, len}, NULL, &again) != TN_OK) abort();
}

static tn_status fuzz_model(tn_ctx *ctx, void *arg) {
  tn_onnx_model *m;
  tn_graph *g;
  TN_TRY(tn_onnx_read(ctx, *(const tn_bytes *)arg, NULL, &m));
  TN_TRY(tn_onnx_import(m, &g));
  if (tn_verify(g, TN_HAS_GRAPH) != TN_OK) abort();
  fuzz_name_dims(g);
  const tn_status inferred = tn_infer_region(g, g->main);
  fuzz_write_back(ctx, m, g);
  return inferred;
}

static tn_status fuzz_data(tn_ctx *ctx, void *arg) {
  static const tn_type_kind kinds[] = {TN_TYPE_TENSOR, TN_TYPE_SEQUENCE, TN_TYPE_OPTIONAL};
  tn_status last = TN_OK;
  for (size_t i = 0; i < TN_COUNT(kinds); i++) {
    const tn_lit *l;
    tn_bytes written;
    last = tn_onnx_read_tensor(ctx, *(const tn_bytes *)arg, kinds[i], &l);
    if (last == TN_OK && l->kind == TN_TYPE_TENSOR) tn_onnx_write_tensor(ctx, l, "x", &written);
  }
  return last;
}

static void fuzz_run(tn_status (*fn)(tn_ctx *ctx, void *arg), const uint8_t *data, size_t size) {
  fuzz_cap cap = fuzz_cap_new(FUZZ_MAX_BYTES);
  tn_bytes bytes = {data, size};
  tn_ctx ctx;
  tn_error err = {0};
  if (tn_ctx_init(&ctx, fuzz_cap_allocator(&cap), &err) != TN_OK) abort();
  const tn_status s = tn_ctx_run(&ctx, fn, &bytes);
  if (s != TN_OK && s != TN_OOM && ctx.n_diags == 0) abort(); /* every refusal has a sentence */
  tn_ctx_drop(&ctx);
  if (cap.live != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_run(fuzz_model, data, size);
  fuzz_run(fuzz_data, data, size);
  return 0;
}
