/* One reader for every message, driven by the rows of proto.def. */
#include "onnx/proto.h"

#include <inttypes.h>

typedef enum proto_kind { PROTO_INT, PROTO_F32, PROTO_STR, PROTO_MSG, PROTO_NUMS, PROTO_STRS, PROTO_MSGS } proto_kind;

typedef struct proto_row {
  const char *name; /* NULL ends the rows of a message */
  uint32_t number;
  proto_kind kind;
  size_t offset;
} proto_row;

#define TN_MESSAGE(m, text) static const proto_row proto_rows_##m[] = {
#define TN_FIELD(m, name, number, kind) {#name, number, PROTO_##kind, offsetof(tn_pb_##m, name)},
#define TN_END(m)           \
  { NULL, 0, PROTO_INT, 0 } \
  }                         \
  ;
#include "onnx/proto.def"
#undef TN_MESSAGE
#undef TN_FIELD
#undef TN_END

static const proto_row *proto_find(const proto_row *rows, uint32_t number) {
  for (; rows->name; rows++)
    if (rows->number == number) return rows;
  return NULL;
}

static bool proto_wire_fits(proto_kind kind, tn_wire_type type) {
  switch (kind) {
    case PROTO_INT:
      return type == TN_WIRE_VARINT;
    case PROTO_F32:
      return type == TN_WIRE_I32;
    case PROTO_NUMS:
      return type == TN_WIRE_LEN || type == TN_WIRE_VARINT || type == TN_WIRE_I32 || type == TN_WIRE_I64;
    default:
      return type == TN_WIRE_LEN;
  }
}

static void proto_set_nums(tn_wire_nums *nums, const tn_wire_field *f, tn_bytes message) {
  const tn_bytes none = {NULL, 0};
  nums->packed = nums->n_fields == 0 && f->type == TN_WIRE_LEN ? f->bytes : none;
  nums->message = message;
  nums->number = f->number;
  if (nums->n_fields < UINT32_MAX) nums->n_fields++;
}

/* False when a single message comes a second time. */
static bool proto_set(tn_ctx *ctx, proto_kind kind, const tn_wire_field *f, tn_bytes message, void *out) {
  const tn_str text = {(const char *)f->bytes.ptr, f->bytes.len};
  const uint32_t bits = (uint32_t)f->value;
  tn_bytes *single = out;
  switch (kind) {
    case PROTO_INT:
      *(tn_pb_int *)out = (tn_pb_int){(int64_t)f->value, true};
      return true;
    case PROTO_F32:
      memcpy(&((tn_pb_f32 *)out)->v, &bits, sizeof bits);
      ((tn_pb_f32 *)out)->has = true;
      return true;
    case PROTO_STR:
      *(tn_str *)out = text;
      return true;
    case PROTO_MSG:
      if (single->ptr) return false;
      *single = f->bytes;
      return true;
    case PROTO_NUMS:
      proto_set_nums(out, f, message);
      return true;
    case PROTO_STRS:
      tn_vec_push(&ctx->arena, (tn_pb_strs *)out, text);
      return true;
    case PROTO_MSGS:
      tn_vec_push(&ctx->arena, (tn_pb_msgs *)out, f->bytes);
      return true;
  }
  return false;
}

static tn_status proto_fail_cut(tn_ctx *ctx, tn_loc loc, const char *text, const proto_row *rows, const tn_wire *w) {
  const proto_row *row = w->bad_number ? proto_find(rows, w->bad_number) : NULL;
  if (!row) return tn_fail(ctx, TN_INVALID, loc, "damaged: this is not a %s", text);
  return tn_fail(ctx, TN_INVALID, loc, "cut short: field '%s' of %s needs %" PRIu64 " bytes, %" PRIu64 " are left",
                 row->name, text, w->need, w->left);
}

static tn_status proto_read(tn_ctx *ctx, const proto_row *rows, const char *text, tn_bytes bytes, tn_loc loc,
                            void *out) {
  tn_wire w = tn_wire_over(bytes);
  tn_wire_field f;
  while (tn_wire_next(&w, &f)) {
    const proto_row *row = proto_find(rows, f.number);
    if (!row) continue;
    if (!proto_wire_fits(row->kind, f.type))
      return tn_fail(ctx, TN_INVALID, loc, "damaged: field '%s' of %s has wire type %d", row->name, text, (int)f.type);
    if (!proto_set(ctx, row->kind, &f, bytes, (char *)out + row->offset))
      return tn_fail(ctx, TN_INVALID, loc, "damaged: field '%s' of %s comes twice", row->name, text);
  }
  if (w.bad) return proto_fail_cut(ctx, loc, text, rows, &w);
  return TN_OK;
}

#define TN_MESSAGE(m, text)                                                           \
  tn_status tn_pb_read_##m(tn_ctx *ctx, tn_bytes bytes, tn_loc loc, tn_pb_##m *out) { \
    memset(out, 0, sizeof *out);                                                      \
    return proto_read(ctx, proto_rows_##m, text, bytes, loc, out);                    \
  }
#define TN_FIELD(m, name, number, kind)
#define TN_END(m)
#include "onnx/proto.def"
#undef TN_MESSAGE
#undef TN_FIELD
#undef TN_END
