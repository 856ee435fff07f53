/* AttributeProto to attribute values. */
#include "base/half.h"
#include "onnx/importer.h"

static tn_status attr_ints(tn_ctx *ctx, const tn_pb_attribute *a, const char *name, tn_loc loc, tn_attr *out) {
  uint64_t v;
  if (!tn_wire_count(&a->ints, TN_WIRE_VARINT, &out->n))
    return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' is damaged", name);
  int64_t *ints = TN_NEW_ARRAY(&ctx->arena, int64_t, out->n + 1);
  tn_wire_iter it = tn_wire_iterate(&a->ints, TN_WIRE_VARINT);
  for (int64_t i = 0; tn_wire_iter_next(&it, &v); i++) ints[i] = (int64_t)v;
  out->kind = TN_ATTR_INTS;
  out->ints = ints;
  return TN_OK;
}

static tn_status attr_floats(tn_ctx *ctx, const tn_pb_attribute *a, const char *name, tn_loc loc, tn_attr *out) {
  uint64_t v;
  if (!tn_wire_count(&a->floats, TN_WIRE_I32, &out->n))
    return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' is damaged", name);
  double *floats = TN_NEW_ARRAY(&ctx->arena, double, out->n + 1);
  tn_wire_iter it = tn_wire_iterate(&a->floats, TN_WIRE_I32);
  for (int64_t i = 0; tn_wire_iter_next(&it, &v); i++) floats[i] = (double)tn_f32_of_bits((uint32_t)v);
  out->kind = TN_ATTR_FLOATS;
  out->floats = floats;
  return TN_OK;
}

static tn_status attr_tensors(tn_onnx_source *src, const tn_pb_attribute *a, tn_loc loc, tn_attr *out) {
  const tn_lit **tensors = TN_NEW_ARRAY(&src->ctx->arena, const tn_lit *, a->tensors.n + 1);
  for (size_t i = 0; i < a->tensors.n; i++) TN_TRY(tn_onnx_tensor_read(src, a->tensors.at[i], loc, &tensors[i]));
  out->kind = TN_ATTR_TENSORS;
  out->n = (int64_t)a->tensors.n;
  out->tensors = tensors;
  return TN_OK;
}

static tn_status attr_sparse(tn_onnx_source *src, const tn_pb_attribute *a, tn_loc loc, tn_attr *out) {
  tn_pb_sparse s;
  TN_TRY(tn_pb_read_sparse(src->ctx, a->sparse_tensor, loc, &s));
  out->kind = TN_ATTR_SPARSE;
  return tn_onnx_sparse_read(src, &s, loc, &out->tensor);
}

static tn_status attr_type(const tn_onnx_frame *frame, const tn_pb_attribute *a, tn_loc loc, tn_attr *out) {
  tn_type *type = TN_NEW(&frame->imp->ctx->arena, tn_type);
  out->kind = TN_ATTR_TYPE;
  out->type = type;
  return tn_onnx_type_read(&frame->imp->model->types, a->tp, TN_ONNX_CLAIM, loc, type);
}

static tn_status attr_missing(tn_ctx *ctx, const tn_onnx_attr *attr, tn_loc loc) {
  return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' has no value of its type", attr->name);
}

static tn_status attr_value(const tn_onnx_frame *frame, const tn_onnx_attr *attr, tn_loc loc, tn_attr *out) {
  tn_ctx *ctx = frame->imp->ctx;
  tn_onnx_source *src = &frame->imp->model->source;
  tn_pb_attribute a;
  if (attr->type == TN_ONNX_ATTR_INT) {
    *out = (tn_attr){.kind = TN_ATTR_INT, .i = attr->i};
    return TN_OK;
  }
  memset(out, 0, sizeof *out);
  TN_TRY(tn_pb_read_attribute(ctx, attr->bytes, loc, &a));
  switch (attr->type) {
    case TN_ONNX_ATTR_FLOAT:
      *out = (tn_attr){.kind = TN_ATTR_FLOAT, .f = (double)a.f.v};
      return TN_OK;
    case TN_ONNX_ATTR_STRING:
      *out = (tn_attr){.kind = TN_ATTR_STR, .s = a.s.ptr ? a.s : tn_str_of("")};
      return TN_OK;
    case TN_ONNX_ATTR_TENSOR:
      if (!a.t.ptr) return attr_missing(ctx, attr, loc);
      out->kind = TN_ATTR_TENSOR;
      return tn_onnx_tensor_read(src, a.t, loc, &out->tensor);
    case TN_ONNX_ATTR_GRAPH: {
      tn_onnx_closure *closure = TN_NEW(&ctx->arena, tn_onnx_closure);
      *closure = (tn_onnx_closure){attr->graph, frame};
      *out = (tn_attr){.kind = TN_ATTR_REGION, .region = closure};
      return TN_OK;
    }
    case TN_ONNX_ATTR_FLOATS:
      return attr_floats(ctx, &a, attr->name, loc, out);
    case TN_ONNX_ATTR_INTS:
      return attr_ints(ctx, &a, attr->name, loc, out);
    case TN_ONNX_ATTR_STRINGS:
      *out = (tn_attr){.kind = TN_ATTR_STRS, .n = (int64_t)a.strings.n, .strs = tn_pb_keep_strs(ctx, &a.strings)};
      return TN_OK;
    case TN_ONNX_ATTR_TENSORS:
      return attr_tensors(src, &a, loc, out);
    case TN_ONNX_ATTR_SPARSE:
      if (!a.sparse_tensor.ptr) return attr_missing(ctx, attr, loc);
      return attr_sparse(src, &a, loc, out);
    case TN_ONNX_ATTR_TYPE:
      if (!a.tp.ptr) return attr_missing(ctx, attr, loc);
      return attr_type(frame, &a, loc, out);
    default:
      return tn_fail(ctx, TN_UNSUPPORTED, loc, "attribute '%s' is a list of graphs, types or sparse tensors",
                     attr->name);
  }
}

/* Kind a reference asks for; NONE: it does not say. */
static tn_attr_kind attr_kind_of(int onnx_type) {
  static const tn_attr_kind kinds[TN_ONNX_ATTR_TYPES + 1] = {
      [TN_ONNX_ATTR_FLOAT] = TN_ATTR_FLOAT,     [TN_ONNX_ATTR_INT] = TN_ATTR_INT,
      [TN_ONNX_ATTR_STRING] = TN_ATTR_STR,      [TN_ONNX_ATTR_TENSOR] = TN_ATTR_TENSOR,
      [TN_ONNX_ATTR_GRAPH] = TN_ATTR_REGION,    [TN_ONNX_ATTR_FLOATS] = TN_ATTR_FLOATS,
      [TN_ONNX_ATTR_INTS] = TN_ATTR_INTS,       [TN_ONNX_ATTR_STRINGS] = TN_ATTR_STRS,
      [TN_ONNX_ATTR_TENSORS] = TN_ATTR_TENSORS, [TN_ONNX_ATTR_SPARSE] = TN_ATTR_SPARSE,
      [TN_ONNX_ATTR_TYPE] = TN_ATTR_TYPE,
  };
  return kinds[onnx_type];
}

/* The value a reference stands for: the caller's, else the function's default; *found false: neither. */
static tn_status attr_resolve(const tn_onnx_frame *frame, const tn_onnx_attr *attr, tn_loc loc, tn_attr *out,
                              bool *found) {
  tn_ctx *ctx = frame->imp->ctx;
  const tn_onnx_call *call = frame->call;
  *found = true;
  if (!attr->ref) return attr_value(frame, attr, loc, out);
  if (!call)
    return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' refers to a function's '%s', but is in no function",
                   attr->name, attr->ref);
  for (int i = 0; i < call->n_attrs; i++) {
    if (call->attrs[i].name != attr->ref) continue;
    *out = call->attrs[i].value;
    const tn_attr_kind want = attr_kind_of(attr->type);
    if (want != TN_ATTR_NONE && want != out->kind)
      return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' is %s, expected %s", attr->name,
                     tn_attr_kind_name(out->kind), tn_attr_kind_name(want));
    return TN_OK;
  }
  for (size_t i = 0; i < call->function->n_defaults; i++)
    if (call->function->defaults[i].name == attr->ref && !call->function->defaults[i].ref)
      return attr_value(frame, &call->function->defaults[i], loc, out);
  *found = false;
  return TN_OK;
}

tn_status tn_onnx_read_attrs(const tn_onnx_frame *frame, const tn_onnx_attr *attrs, int n, tn_loc loc,
                             tn_import_attr *out, int *out_n) {
  int n_found = 0;
  for (int i = 0; i < n; i++) {
    bool found;
    out[n_found].name = attrs[i].name;
    TN_TRY(attr_resolve(frame, &attrs[i], loc, &out[n_found].value, &found));
    n_found += found;
  }
  *out_n = n_found;
  return TN_OK;
}
