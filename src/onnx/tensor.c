/* TensorProto to literals: shape and type first, then the one data field that holds the elements. */
#include "onnx/tensor.h"

#include <inttypes.h>

#include "base/text.h"

enum { TENSOR_KNOWN_DTYPES = 28 }; /* of ONNX; the last ones are packed 6-bit floats */

tn_status tn_onnx_dtype(tn_ctx *ctx, int64_t number, tn_loc loc, tn_dtype *out) {
  *out = TN_DTYPE_NONE;
  if (number == 0) return TN_OK;
  if (number < 0 || number > TENSOR_KNOWN_DTYPES)
    return tn_fail(ctx, TN_INVALID, loc, "element type %" PRId64 " is none of ONNX's", number);
  if (number >= TN_N_DTYPES || !tn_dtype_rows[number].name)
    return tn_fail(ctx, TN_UNSUPPORTED, loc, "element type %" PRId64 " is not supported", number);
  *out = (tn_dtype)number;
  return TN_OK;
}

static const char *tensor_shape_text(tn_ctx *ctx, int rank, const int64_t *dims) {
  tn_text t;
  tn_text_init(&t, &ctx->arena);
  tn_text_addz(&t, "[");
  for (int i = 0; i < rank; i++) tn_text_printf(&t, "%s%" PRId64, i ? "," : "", dims[i]);
  tn_text_addz(&t, "]");
  return tn_text_z(&t);
}

tn_status tn_onnx_dims(tn_ctx *ctx, const tn_wire_nums *nums, tn_loc loc, int *out_rank, const int64_t **out_dims,
                       int64_t *out_count) {
  int64_t n;
  if (!tn_wire_count(nums, TN_WIRE_VARINT, &n)) return tn_fail(ctx, TN_INVALID, loc, "damaged: dims are unreadable");
  if (n > TN_MAX_RANK)
    return tn_fail(ctx, TN_LIMIT, loc, "rank %" PRId64 " is beyond the %d dims a tensor may have", n, TN_MAX_RANK);
  int64_t *dims = TN_NEW_ARRAY(&ctx->arena, int64_t, n ? n : 1);
  tn_wire_iter it = tn_wire_iterate(nums, TN_WIRE_VARINT);
  uint64_t v;
  for (int i = 0; i < n && tn_wire_iter_next(&it, &v); i++) {
    dims[i] = (int64_t)v;
    if (dims[i] < 0) return tn_fail(ctx, TN_INVALID, loc, "dim %d is negative: %" PRId64, i, dims[i]);
  }
  if (!tn_dims_count(dims, (int)n, out_count))
    return tn_fail(ctx, TN_INVALID, loc, "shape %s has more elements than can be counted",
                   tensor_shape_text(ctx, (int)n, dims));
  *out_rank = (int)n;
  *out_dims = dims;
  return TN_OK;
}

tn_status tn_onnx_tensor_head(tn_ctx *ctx, tn_bytes bytes, tn_loc loc, tn_onnx_tensor *out) {
  memset(out, 0, sizeof *out);
  TN_TRY(tn_pb_read_tensor(ctx, bytes, loc, &out->pb));
  TN_TRY(tn_onnx_dtype(ctx, out->pb.data_type.v, loc, &out->dtype));
  if (!out->dtype) return tn_fail(ctx, TN_INVALID, loc, "the tensor has no element type");
  TN_TRY(tn_onnx_dims(ctx, &out->pb.dims, loc, &out->rank, &out->dims, &out->count));
  if (!tn_dtype_bytes(out->dtype, out->count, &out->bytes) || out->bytes > PTRDIFF_MAX)
    return tn_fail(ctx, TN_INVALID, loc, "shape %s takes more bytes than can be counted",
                   tensor_shape_text(ctx, out->rank, out->dims));
  out->external = out->pb.data_location.v == 1;
  if (out->pb.data_location.v != 0 && !out->external)
    return tn_fail(ctx, TN_INVALID, loc, "data_location %" PRId64 " is neither 0 nor 1", out->pb.data_location.v);
  if (out->pb.segment.ptr) return tn_fail(ctx, TN_UNSUPPORTED, loc, "tensors in segments are not supported");
  return TN_OK;
}

static tn_status tensor_fail_size(tn_ctx *ctx, const tn_onnx_tensor *t, tn_loc loc, uint64_t have, uint64_t need,
                                  const char *unit) {
  return tn_fail(ctx, TN_INVALID, loc, "%s: it has %" PRIu64 " %s of data, its shape %s of %s needs %" PRIu64,
                 have < need ? "data is shorter than the shape" : "data is longer than the shape", have, unit,
                 tensor_shape_text(ctx, t->rank, t->dims), tn_dtype_name(t->dtype), need);
}

static tn_lit *tensor_lit(tn_ctx *ctx, const tn_onnx_tensor *t) {
  tn_lit *l = TN_NEW(&ctx->arena, tn_lit);
  l->kind = TN_TYPE_TENSOR;
  l->dtype = t->dtype;
  l->rank = t->rank;
  l->dims = t->dims;
  l->count = t->count;
  l->bytes = t->bytes;
  l->file_offset = -1;
  return l;
}

static const tn_lit *tensor_window(tn_onnx_source *src, const tn_onnx_tensor *t, const uint8_t *at) {
  tn_lit *l = tensor_lit(src->ctx, t);
  l->data = at;
  if (src->base) l->file_offset = at - src->base;
  return l;
}

/* External data. */

typedef struct tensor_place {
  const char *location;
  uint64_t offset, length;
  bool has_length;
} tensor_place;

static bool tensor_parse_u64(tn_str s, uint64_t *out) {
  uint64_t v = 0;
  if (s.len == 0 || s.len > 19) return false;
  for (size_t i = 0; i < s.len; i++) {
    if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
    v = v * 10 + (uint64_t)(s.ptr[i] - '0');
  }
  *out = v;
  return v <= INT64_MAX;
}

static tn_status tensor_read_place(tn_ctx *ctx, const tn_onnx_tensor *t, tn_loc loc, tensor_place *out) {
  memset(out, 0, sizeof *out);
  for (size_t i = 0; i < t->pb.external_data.n; i++) {
    tn_pb_entry e;
    TN_TRY(tn_pb_read_entry(ctx, t->pb.external_data.at[i], loc, &e));
    bool good = true;
    if (tn_str_is(e.key, "location"))
      out->location = tn_ctx_name(ctx, e.value);
    else if (tn_str_is(e.key, "offset"))
      good = tensor_parse_u64(e.value, &out->offset);
    else if (tn_str_is(e.key, "length"))
      good = out->has_length = tensor_parse_u64(e.value, &out->length);
    if (!good)
      return tn_fail(ctx, TN_INVALID, loc, "external data: %.*s '%.*s' is no size", (int)e.key.len, e.key.ptr,
                     (int)(e.value.len < 40 ? e.value.len : 40), e.value.ptr);
    if (tn_str_is(e.key, "location") && strlen(out->location) != e.value.len)
      return tn_fail(ctx, TN_INVALID, loc, "external data: the location holds a zero byte");
  }
  if (!out->location || !out->location[0]) return tn_fail(ctx, TN_INVALID, loc, "external data: there is no location");
  return TN_OK;
}

static tn_status tensor_open(tn_onnx_source *src, const char *location, tn_loc loc, const char **missing,
                             const tn_file **out) {
  tn_ctx *ctx = src->ctx;
  *out = tn_map_find_ptr(&src->files, location);
  if (*out) return TN_OK;
  if (!src->dir)
    return tn_fail(ctx, TN_INVALID, loc, "external data '%s': the model was not read from a file", location);
  tn_error err = {0};
  tn_file *f = NULL;
  const tn_status status = tn_ctx_map(ctx, src->dir, location, &f, &err);
  if (status != TN_OK) {
    if (status == TN_OOM) return TN_OOM;
    const char *text = tn_arena_printf(&ctx->arena, "external data '%s': %s", location, err.text);
    if (status != TN_IO || !missing) return tn_fail(ctx, status, loc, "%s", text);
    *missing = text;
    return TN_OK;
  }
  tn_map_set_ptr(&ctx->arena, &src->files, location, f);
  *out = f;
  return TN_OK;
}

static tn_status tensor_external(tn_onnx_source *src, const tn_onnx_tensor *t, tn_loc loc, const char **missing,
                                 const tn_lit **out) {
  tensor_place place;
  const tn_file *f = NULL;
  TN_TRY(tensor_read_place(src->ctx, t, loc, &place));
  if (t->dtype == TN_STR) return tn_fail(src->ctx, TN_INVALID, loc, "external data cannot hold strings");
  TN_TRY(tensor_open(src, place.location, loc, missing, &f));
  if (!f) return TN_OK;
  if (place.has_length && place.length != t->bytes)
    return tensor_fail_size(src->ctx, t, loc, place.length, t->bytes, "bytes");
  if (place.offset > f->bytes.len || t->bytes > f->bytes.len - place.offset)
    return tn_fail(src->ctx, TN_INVALID, loc,
                   "external data '%s': %zu bytes at offset %" PRIu64 " go past the end of the file, which has %zu",
                   place.location, t->bytes, place.offset, f->bytes.len);
  tn_lit *l = tensor_lit(src->ctx, t);
  l->data = f->bytes.ptr + place.offset;
  l->file = place.location;
  l->file_offset = (int64_t)place.offset;
  *out = l;
  return TN_OK;
}

tn_status tn_onnx_tensor_open(tn_onnx_source *src, tn_bytes bytes, tn_loc loc) {
  tn_onnx_tensor t = {0};
  tensor_place place;
  const tn_file *f;
  TN_TRY(tn_pb_read_tensor(src->ctx, bytes, loc, &t.pb));
  if (t.pb.data_location.v != 1) return TN_OK;
  TN_TRY(tensor_read_place(src->ctx, &t, loc, &place));
  return tensor_open(src, place.location, loc, NULL, &f);
}

/* Typed data. */

typedef struct tensor_store { /* how the elements are stored in a typed field */
  const tn_wire_nums *nums;
  tn_wire_type type;
  int64_t n;    /* numbers */
  size_t width; /* bytes each takes as elements */
} tensor_store;

static tensor_store tensor_typed(const tn_onnx_tensor *t) {
  const tn_pb_tensor *pb = &t->pb;
  switch (t->dtype) {
    case TN_F32:
      return (tensor_store){&pb->float_data, TN_WIRE_I32, t->count, 4};
    case TN_C64:
      return (tensor_store){&pb->float_data, TN_WIRE_I32, 2 * t->count, 4};
    case TN_F64:
      return (tensor_store){&pb->double_data, TN_WIRE_I64, t->count, 8};
    case TN_C128:
      return (tensor_store){&pb->double_data, TN_WIRE_I64, 2 * t->count, 8};
    case TN_I64:
      return (tensor_store){&pb->int64_data, TN_WIRE_VARINT, t->count, 8};
    case TN_U64:
      return (tensor_store){&pb->uint64_data, TN_WIRE_VARINT, t->count, 8};
    case TN_U32:
      return (tensor_store){&pb->uint64_data, TN_WIRE_VARINT, t->count, 4};
    default: {
      const int bits = tn_dtype_bits(t->dtype);
      if (bits < 8) return (tensor_store){&pb->int32_data, TN_WIRE_VARINT, (int64_t)t->bytes, 1};
      return (tensor_store){&pb->int32_data, TN_WIRE_VARINT, t->count, (size_t)bits / 8};
    }
  }
}

static tn_status tensor_decode(tn_onnx_source *src, const tn_onnx_tensor *t, tn_loc loc, const tn_lit **out) {
  const tensor_store store = tensor_typed(t);
  int64_t n;
  if (!tn_wire_count(store.nums, store.type, &n))
    return tn_fail(src->ctx, TN_INVALID, loc, "damaged: the tensor's data is unreadable");
  if (n != store.n) return tensor_fail_size(src->ctx, t, loc, (uint64_t)n, (uint64_t)store.n, "numbers");
  if (store.nums->packed.ptr && store.type != TN_WIRE_VARINT) {
    *out = tensor_window(src, t, store.nums->packed.ptr);
    return TN_OK;
  }
  tn_lit *l = tn_lit_new(&src->ctx->arena, t->dtype, t->rank, t->dims);
  uint8_t *at = tn_lit_data(l);
  tn_wire_iter it = tn_wire_iterate(store.nums, store.type);
  uint64_t v;
  while (tn_wire_iter_next(&it, &v))
    for (size_t i = 0; i < store.width; i++) *at++ = (uint8_t)(v >> (8 * i));
  *out = l;
  return TN_OK;
}

static tn_status tensor_strings(tn_onnx_source *src, const tn_onnx_tensor *t, tn_loc loc, const tn_lit **out) {
  const tn_pb_strs *strings = &t->pb.string_data;
  if (t->pb.raw_data.ptr) return tn_fail(src->ctx, TN_INVALID, loc, "raw data cannot hold strings");
  if ((int64_t)strings->n != t->count)
    return tensor_fail_size(src->ctx, t, loc, strings->n, (uint64_t)t->count, "strings");
  tn_lit *l = tensor_lit(src->ctx, t);
  l->data = tn_pb_keep_strs(src->ctx, strings);
  *out = l;
  return TN_OK;
}

static int tensor_n_fields(const tn_pb_tensor *pb) {
  return (pb->raw_data.ptr != NULL) + (pb->float_data.n_fields > 0) + (pb->int32_data.n_fields > 0) +
         (pb->int64_data.n_fields > 0) + (pb->double_data.n_fields > 0) + (pb->uint64_data.n_fields > 0) +
         (pb->string_data.n > 0);
}

tn_status tn_onnx_tensor_data(tn_onnx_source *src, const tn_onnx_tensor *t, tn_loc loc, const char **missing,
                              const tn_lit **out) {
  *out = NULL;
  if (missing) *missing = NULL;
  if (t->external) return tensor_external(src, t, loc, missing, out);
  if (tensor_n_fields(&t->pb) > 1) return tn_fail(src->ctx, TN_INVALID, loc, "the tensor has two fields with data");
  if (t->dtype == TN_STR) return tensor_strings(src, t, loc, out);
  if (!t->pb.raw_data.ptr) return tensor_decode(src, t, loc, out);
  if (t->pb.raw_data.len != t->bytes) return tensor_fail_size(src->ctx, t, loc, t->pb.raw_data.len, t->bytes, "bytes");
  *out = tensor_window(src, t, (const uint8_t *)t->pb.raw_data.ptr);
  return TN_OK;
}

tn_status tn_onnx_tensor_read(tn_onnx_source *src, tn_bytes bytes, tn_loc loc, const tn_lit **out) {
  tn_onnx_tensor t;
  TN_TRY(tn_onnx_tensor_head(src->ctx, bytes, loc, &t));
  return tn_onnx_tensor_data(src, &t, loc, NULL, out);
}

/* Sparse tensors. */

/* A few stored elements must not become gigabytes. */
enum { TENSOR_DENSE_FREE = 64 << 20, TENSOR_DENSE_FACTOR = 256 };

static tn_status sparse_check(tn_ctx *ctx, const tn_lit *values, const tn_lit *indices, int rank, tn_loc loc) {
  const bool linear = indices->rank == 1;
  if (values->rank != 1 || values->dtype == TN_STR)
    return tn_fail(ctx, TN_INVALID, loc, "values of a sparse tensor must be a list of numbers");
  if (indices->dtype != TN_I64 || indices->rank < 1 || indices->rank > 2 || indices->dims[0] != values->count ||
      (!linear && indices->dims[1] != rank))
    return tn_fail(ctx, TN_INVALID, loc, "indices of a sparse tensor do not fit its %" PRId64 " values", values->count);
  return TN_OK;
}

static bool sparse_index(const tn_lit *indices, int64_t k, int rank, const int64_t *dims, int64_t count, int64_t *out) {
  if (indices->rank == 1) {
    *out = tn_lit_i64_at(indices, k);
    return *out >= 0 && *out < count;
  }
  int64_t at = 0;
  for (int d = 0; d < rank; d++) {
    const int64_t i = tn_lit_i64_at(indices, k * rank + d);
    if (i < 0 || i >= dims[d]) return false;
    at = at * dims[d] + i;
  }
  *out = at;
  return true;
}

tn_status tn_onnx_sparse_read(tn_onnx_source *src, const tn_pb_sparse *sparse, tn_loc loc, const tn_lit **out) {
  tn_ctx *ctx = src->ctx;
  const tn_lit *values, *indices;
  int rank;
  const int64_t *dims;
  int64_t count;
  size_t bytes;
  if (!sparse->values.ptr || !sparse->indices.ptr)
    return tn_fail(ctx, TN_INVALID, loc, "a sparse tensor needs values and indices");
  TN_TRY(tn_onnx_dims(ctx, &sparse->dims, loc, &rank, &dims, &count));
  TN_TRY(tn_onnx_tensor_read(src, sparse->values, loc, &values));
  TN_TRY(tn_onnx_tensor_read(src, sparse->indices, loc, &indices));
  TN_TRY(sparse_check(ctx, values, indices, rank, loc));
  if (!tn_dtype_bytes(values->dtype, count, &bytes) ||
      (bytes > TENSOR_DENSE_FREE && bytes / TENSOR_DENSE_FACTOR > values->bytes))
    return tn_fail(ctx, TN_LIMIT, loc, "sparse tensor %s with %" PRId64 " values is too large to be made dense",
                   tensor_shape_text(ctx, rank, dims), values->count);
  tn_lit *l = tn_lit_new(&ctx->arena, values->dtype, rank, dims);
  memset(tn_lit_data(l), 0, l->bytes);
  for (int64_t k = 0; k < values->count; k++) {
    int64_t at;
    if (!sparse_index(indices, k, rank, dims, count, &at))
      return tn_fail(ctx, TN_INVALID, loc, "index %" PRId64 " of a sparse tensor is outside its shape %s", k,
                     tensor_shape_text(ctx, rank, dims));
    tn_copy_element(l->dtype, tn_lit_data(l), at, values->data, k);
  }
  *out = l;
  return TN_OK;
}
