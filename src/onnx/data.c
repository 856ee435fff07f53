/* Files of test data: tensors, sequences and optionals, and tensors written. */
#include "onnx/onnx.h"
#include "onnx/tensor.h"

enum { DATA_MAX_DEPTH = 16 };

static const tn_loc data_loc = {"file", "data", NULL, 0};

static tn_status data_read(tn_onnx_source *src, tn_bytes bytes, tn_type_kind kind, int depth, const tn_lit **out);

static tn_status data_items(tn_onnx_source *src, const tn_pb_msgs *msgs, tn_type_kind kind, int depth, tn_lit *l) {
  const tn_lit **items = TN_NEW_ARRAY(&src->ctx->arena, const tn_lit *, msgs->n + 1);
  for (size_t i = 0; i < msgs->n; i++) TN_TRY(data_read(src, msgs->at[i], kind, depth + 1, &items[i]));
  l->items = items;
  l->n_items = (int64_t)msgs->n;
  return TN_OK;
}

static tn_status data_sequence(tn_onnx_source *src, tn_bytes bytes, int depth, tn_lit *l) {
  tn_pb_sequence s;
  TN_TRY(tn_pb_read_sequence(src->ctx, bytes, data_loc, &s));
  if (s.map_values.n || s.sparse_tensor_values.n)
    return tn_fail(src->ctx, TN_UNSUPPORTED, data_loc, "sequences of maps or sparse tensors are not supported");
  if ((s.tensor_values.n > 0) + (s.sequence_values.n > 0) + (s.optional_values.n > 0) > 1)
    return tn_fail(src->ctx, TN_INVALID, data_loc, "the elements of a sequence are of several kinds");
  if (s.sequence_values.n) return data_items(src, &s.sequence_values, TN_TYPE_SEQUENCE, depth, l);
  if (s.optional_values.n) return data_items(src, &s.optional_values, TN_TYPE_OPTIONAL, depth, l);
  return data_items(src, &s.tensor_values, TN_TYPE_TENSOR, depth, l);
}

static tn_status data_optional(tn_onnx_source *src, tn_bytes bytes, int depth, tn_lit *l) {
  tn_pb_optional o;
  TN_TRY(tn_pb_read_optional(src->ctx, bytes, data_loc, &o));
  if (o.map_value.ptr || o.sparse_tensor_value.ptr)
    return tn_fail(src->ctx, TN_UNSUPPORTED, data_loc, "optional maps and sparse tensors are not supported");
  tn_bytes *values[] = {&o.tensor_value, &o.sequence_value, &o.optional_value};
  static const tn_type_kind kinds[] = {TN_TYPE_TENSOR, TN_TYPE_SEQUENCE, TN_TYPE_OPTIONAL};
  for (size_t i = 0; i < TN_COUNT(kinds); i++) {
    if (!values[i]->ptr) continue;
    if (l->n_items) return tn_fail(src->ctx, TN_INVALID, data_loc, "an optional holds two values");
    const tn_pb_msgs one = {values[i], 1, 1};
    TN_TRY(data_items(src, &one, kinds[i], depth, l));
  }
  return TN_OK;
}

static tn_status data_read(tn_onnx_source *src, tn_bytes bytes, tn_type_kind kind, int depth, const tn_lit **out) {
  if (depth > DATA_MAX_DEPTH) return tn_fail(src->ctx, TN_INVALID, data_loc, "the value is nested too deeply");
  if (kind == TN_TYPE_MAP) return tn_fail(src->ctx, TN_UNSUPPORTED, data_loc, "maps are not supported");
  if (kind != TN_TYPE_SEQUENCE && kind != TN_TYPE_OPTIONAL) return tn_onnx_tensor_read(src, bytes, data_loc, out);
  tn_lit *l = TN_NEW(&src->ctx->arena, tn_lit);
  l->kind = kind;
  l->file_offset = -1;
  *out = l;
  return kind == TN_TYPE_SEQUENCE ? data_sequence(src, bytes, depth, l) : data_optional(src, bytes, depth, l);
}

tn_status tn_onnx_read_tensor(tn_ctx *ctx, tn_bytes bytes, tn_type_kind kind, const tn_lit **out) {
  tn_onnx_source src = {.ctx = ctx};
  return data_read(&src, bytes, kind, 0, out);
}

void tn_onnx_write_tensor(tn_ctx *ctx, const tn_lit *lit, const char *name, tn_bytes *out) {
  tn_wire_out o = {.arena = &ctx->arena};
  for (int i = 0; i < lit->rank; i++) tn_wire_add_int_field(&o, TN_F_tensor_dims, (uint64_t)lit->dims[i]);
  tn_wire_add_int_field(&o, TN_F_tensor_data_type, (uint64_t)lit->dtype);
  tn_wire_add_len_field(&o, TN_F_tensor_name, name, strlen(name));
  if (lit->dtype == TN_STR) {
    for (int64_t i = 0; i < lit->count; i++) {
      tn_str s;
      memcpy(&s, (const char *)lit->data + (size_t)i * sizeof s, sizeof s);
      tn_wire_add_len_field(&o, TN_F_tensor_string_data, s.ptr, s.len);
    }
  } else {
    tn_wire_add_len_field(&o, TN_F_tensor_raw_data, lit->data, lit->bytes);
  }
  *out = tn_wire_out_bytes(&o);
}
