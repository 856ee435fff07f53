/* ModelProto: the header, opset imports, functions, and the main graph's tree. */
#include "onnx/model.h"

#include <inttypes.h>

enum { MODEL_KNOWN_IR = 14, MODEL_OLDEST_IR = 1, MODEL_ABSURD_IR = 1000 };

int64_t tn_onnx_opset_of(const tn_onnx_opset *opsets, size_t n, const char *domain) {
  for (size_t i = 0; i < n; i++)
    if (opsets[i].domain == domain) return opsets[i].version;
  return 0;
}

static const char *model_function_key(tn_ctx *ctx, const char *domain, const char *name, const char *overload) {
  const tn_str key = {NULL, strlen(domain) + strlen(name) + strlen(overload) + 2};
  char *text = tn_arena_alloc(&ctx->pass, key.len + 1, 1);
  memcpy(text, domain, strlen(domain) + 1);
  memcpy(text + strlen(domain) + 1, name, strlen(name) + 1);
  memcpy(text + strlen(domain) + strlen(name) + 2, overload, strlen(overload) + 1);
  return tn_ctx_name(ctx, (tn_str){text, key.len});
}

tn_onnx_function *tn_onnx_find_function(const tn_onnx_model *m, const tn_onnx_node *node) {
  if (m->n_functions == 0) return NULL;
  return tn_map_find_ptr(&m->function_of, model_function_key(m->ctx, node->domain, node->op, node->overload));
}

/* A wrong field of the outermost message is most often a file that is no model at all. */
static tn_status model_read_header(tn_ctx *ctx, tn_bytes bytes, tn_pb_model *out) {
  const tn_loc all = {0};
  tn_wire w = tn_wire_over(bytes);
  tn_wire_field f;
  bool has_version = false;
  memset(out, 0, sizeof *out);
  if (bytes.len == 0) return tn_fail(ctx, TN_INVALID, all, "not an ONNX model: the file is empty");
  while (tn_wire_next(&w, &f))
    if (f.number == TN_F_model_ir_version && f.type == TN_WIRE_VARINT)
      has_version = f.value >= MODEL_OLDEST_IR && f.value < MODEL_ABSURD_IR;
  if (w.bad && !has_version) return tn_fail(ctx, TN_INVALID, all, "not an ONNX model: its bytes are no ModelProto");
  TN_TRY(tn_pb_read_model(ctx, bytes, all, out));
  if (!out->graph.ptr) return tn_fail(ctx, TN_INVALID, all, "not an ONNX model: it has no graph");
  return TN_OK;
}

static tn_status model_check_versions(tn_onnx_model *m) {
  tn_ctx *ctx = m->ctx;
  const tn_loc all = {0};
  const int64_t ir = m->pb.ir_version.v;
  TN_TRY(tn_onnx_read_opsets(ctx, &m->pb.opset_import, &m->opsets, &m->n_opsets));
  if (ir < MODEL_OLDEST_IR) return tn_fail(ctx, TN_INVALID, all, "IR version %" PRId64 " is none of ONNX's", ir);
  if (ir > MODEL_KNOWN_IR)
    tn_warn(ctx, all, "IR version %" PRId64 " is newer than %d, the newest known", ir, MODEL_KNOWN_IR);
  if (m->n_opsets == 0) {
    if (ir >= 3) return tn_fail(ctx, TN_INVALID, all, "unknown opset: the model imports none");
    m->opsets[0] = (tn_onnx_opset){tn_ctx_namez(ctx, ""), 1};
    m->n_opsets = 1;
  }
  for (size_t i = 0; i < m->n_opsets; i++) {
    if (tn_onnx_opset_of(m->opsets, i, m->opsets[i].domain) != 0 &&
        tn_onnx_opset_of(m->opsets, i, m->opsets[i].domain) != m->opsets[i].version)
      return tn_fail(ctx, TN_INVALID, all, "the model imports two opsets of domain '%s'", m->opsets[i].domain);
    if (m->opsets[i].domain[0] == 0 && m->opsets[i].version > TN_KNOWN_OPSET)
      tn_warn(ctx, all, "opset %" PRId64 " is newer than %d, the newest known: operators keep their meaning of %d",
              m->opsets[i].version, TN_KNOWN_OPSET, TN_KNOWN_OPSET);
  }
  return TN_OK;
}

static tn_status model_read_functions(tn_onnx_model *m) {
  tn_ctx *ctx = m->ctx;
  m->n_functions = m->pb.functions.n;
  m->functions = TN_NEW_ARRAY(&ctx->source, tn_onnx_function, m->n_functions + 1);
  for (size_t i = 0; i < m->n_functions; i++) {
    tn_onnx_function *f = &m->functions[i];
    TN_TRY(tn_onnx_read_function(ctx, m->pb.functions.at[i], f));
    const char *key = model_function_key(ctx, f->domain, f->name, f->overload);
    if (tn_map_find(&m->function_of, tn_map_key(key), NULL))
      return tn_fail(ctx, TN_INVALID, (tn_loc){"function", f->name, NULL, 0}, "it is defined twice");
    tn_map_set_ptr(&ctx->source, &m->function_of, key, f);
  }
  return TN_OK;
}

tn_status tn_onnx_read(tn_ctx *ctx, tn_bytes bytes, const char *path, tn_onnx_model **out) {
  tn_onnx_model *m = TN_NEW(&ctx->arena, tn_onnx_model);
  m->ctx = ctx;
  m->bytes = bytes;
  m->source.ctx = ctx;
  if (path) {
    m->source.base = bytes.ptr;
    m->source.dir = tn_arena_copy_str(&ctx->arena, tn_file_folder_of(path));
    if (!ctx->file) ctx->file = tn_ctx_namez(ctx, path);
  }
  TN_TRY(model_read_header(ctx, bytes, &m->pb));
  TN_TRY(model_check_versions(m));
  TN_TRY(tn_onnx_read_graph(ctx, m->pb.graph, 0, &m->graph));
  TN_TRY(model_read_functions(m));
  TN_TRY(tn_onnx_fill_info(m));
  *out = m;
  return TN_OK;
}
