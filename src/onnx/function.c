/* Model-local functions: each call becomes the nodes of the body, with names and attributes of its own. */
#include "onnx/importer.h"

static tn_status function_check_call(const tn_onnx_frame *frame, const tn_onnx_function *f, const tn_onnx_node *node,
                                     tn_loc loc) {
  tn_ctx *ctx = frame->imp->ctx;
  if (f->active) return tn_fail(ctx, TN_INVALID, loc, "function '%s' calls itself", f->name);
  if (frame->depth >= TN_ONNX_MAX_DEPTH)
    return tn_fail(ctx, TN_LIMIT, loc, "functions and graphs are nested more than %d deep", TN_ONNX_MAX_DEPTH);
  if (node->n_in > f->body.n_inputs)
    return tn_fail(ctx, TN_INVALID, loc, "%d inputs are more than the function takes, which is %d", node->n_in,
                   (int)f->body.n_inputs);
  if (node->n_out > f->body.n_outputs)
    return tn_fail(ctx, TN_INVALID, loc, "%d outputs are more than the function has, which is %d", node->n_out,
                   (int)f->body.n_outputs);
  return TN_OK;
}

static void function_warn_attrs(const tn_onnx_frame *frame, const tn_onnx_function *f, const tn_import_attr *attrs,
                                int n, tn_loc loc) {
  for (int i = 0; i < n; i++) {
    bool known = false;
    for (size_t k = 0; k < f->n_attrs; k++) known |= f->attrs[k] == attrs[i].name;
    for (size_t k = 0; k < f->n_defaults; k++) known |= f->defaults[k].name == attrs[i].name;
    if (!known)
      tn_warn(frame->imp->ctx, loc, "attribute '%s' is none of function '%s': it has no effect", attrs[i].name,
              f->name);
  }
}

static const char *function_prefix(const tn_onnx_frame *frame, const tn_onnx_node *node, tn_loc loc) {
  tn_arena *a = &frame->imp->ctx->arena;
  if (loc.name[0]) return tn_arena_printf(a, "%s/", loc.name);
  return tn_arena_printf(a, "%s_%d/", node->op, loc.index);
}

static tn_status function_outputs(const tn_onnx_frame *inner, const tn_onnx_function *f, const tn_onnx_node *node,
                                  tn_loc loc, tn_value **out) {
  for (int i = 0; i < node->n_out; i++) {
    const char *name = f->body.outputs[i].name;
    if (!node->out[i]) continue;
    if (!tn_onnx_lookup(inner, name, &out[i]) || !out[i])
      return tn_fail(inner->imp->ctx, TN_INVALID, loc, "function '%s' does not define its output '%s'", f->name, name);
  }
  return TN_OK;
}

tn_status tn_onnx_expand(const tn_onnx_frame *frame, tn_onnx_function *f, const tn_onnx_node *node, tn_loc loc,
                         tn_value *const *in, tn_region *region, tn_value **out) {
  tn_ctx *ctx = frame->imp->ctx;
  tn_map values = {.by_id = true};
  tn_import_attr *attrs = TN_NEW_ARRAY(&ctx->source, tn_import_attr, node->n_attrs + 1);
  tn_onnx_call call = {.function = f, .prefix = function_prefix(frame, node, loc)};
  tn_onnx_frame inner = {.imp = frame->imp, .call = &call, .values = &values, .depth = frame->depth + 1};
  TN_TRY(function_check_call(frame, f, node, loc));
  TN_TRY(tn_onnx_read_attrs(frame, node->attrs, node->n_attrs, loc, attrs, &call.n_attrs));
  call.attrs = attrs;
  function_warn_attrs(frame, f, attrs, call.n_attrs, loc);
  for (int i = 0; i < f->body.n_inputs; i++)
    tn_map_set_name(&ctx->source, &values, f->body.inputs[i].name, i < node->n_in ? in[i] : NULL);
  f->active = true;
  const tn_status status = tn_onnx_import_nodes(&inner, &f->body, region);
  f->active = false;
  if (status != TN_OK) {
    tn_note(ctx, "while expanding function '%s' for node '%s'", f->name, loc.name);
    return status;
  }
  return function_outputs(&inner, f, node, loc, out);
}
