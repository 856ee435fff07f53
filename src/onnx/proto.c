/* One reader for every message, driven by the rows of proto.def. */
#include "onnx/proto.h"

#include <inttypes.h>

typedef enum proto_kind { PROTO_INT, PROTO_F32, PROTO_STR, PROTO_MSG, PROTO_NUMS, PROTO_STRS, PROTO_MSGS } proto_kind;

typedef struct proto_row {
  const char *name; /* NULL: a number without a row */
  uint16_t kind, offset;
} proto_row;

typedef struct proto_message {
  const char *text;
  const proto_row *rows; /* by field number */
  uint32_t n;
} proto_message;

#define TN_MESSAGE(m, text) static const proto_row proto_rows_##m[] = {
#define TN_FIELD(m, name, number, kind) [number] = {#name, PROTO_##kind, offsetof(tn_pb_##m, name)},
#define TN_END(m) \
  }               \
  ;
#include "onnx/proto.def"
#undef TN_MESSAGE
#undef TN_FIELD
#undef TN_END

static const proto_row *proto_find(const proto_message *m, uint32_t number) {
  return number < m->n && m->rows[number].name ? &m->rows[number] : NULL;
}

static bool proto_wire_fits(uint32_t kind, tn_wire_type type) {
  static const uint8_t fitting[] = {
      [PROTO_INT] = 1 << TN_WIRE_VARINT,
      [PROTO_F32] = 1 << TN_WIRE_I32,
      [PROTO_STR] = 1 << TN_WIRE_LEN,
      [PROTO_MSG] = 1 << TN_WIRE_LEN,
      [PROTO_STRS] = 1 << TN_WIRE_LEN,
      [PROTO_MSGS] = 1 << TN_WIRE_LEN,
      [PROTO_NUMS] = 1 << TN_WIRE_LEN | 1 << TN_WIRE_VARINT | 1 << TN_WIRE_I32 | 1 << TN_WIRE_I64,
  };
  return fitting[kind] >> type & 1;
}

static void proto_set_nums(tn_wire_nums *nums, const tn_wire_field *f, tn_bytes message) {
  const tn_bytes none = {NULL, 0};
  nums->packed = nums->n_fields == 0 && f->type == TN_WIRE_LEN ? f->bytes : none;
  nums->message = message;
  nums->number = f->number;
  if (nums->n_fields < UINT32_MAX) nums->n_fields++;
}

static size_t proto_count_rest(tn_wire w, uint32_t number) {
  tn_wire_field f;
  size_t n = 0;
  while (tn_wire_next(&w, &f)) n += f.number == number;
  return n;
}

_Static_assert(sizeof(tn_str) == sizeof(tn_bytes), "one growth for lists of either");

/* Room for one more span in a list that is full. Short lists grow by doubling; for a long one the rest of the message
 * is counted, so that no memory is left behind. */
static void *proto_grow(tn_ctx *ctx, void *at, size_t n, size_t *cap, const tn_wire *w, uint32_t number) {
  enum { LONG = 16 };
  const size_t more = n < LONG ? 0 : proto_count_rest(*w, number);
  return tn_vec_grow(&ctx->source, at, n, cap, n + 1 + more, sizeof(tn_str));
}

static void proto_add_str(tn_ctx *ctx, tn_pb_strs *list, const tn_wire_field *f, const tn_wire *w) {
  if (list->n == list->cap) list->at = proto_grow(ctx, list->at, list->n, &list->cap, w, f->number);
  list->at[list->n++] = (tn_str){(const char *)f->bytes.ptr, f->bytes.len};
}

static void proto_add_msg(tn_ctx *ctx, tn_pb_msgs *list, const tn_wire_field *f, const tn_wire *w) {
  if (list->n == list->cap) list->at = proto_grow(ctx, list->at, list->n, &list->cap, w, f->number);
  list->at[list->n++] = f->bytes;
}

/* False when a single message comes a second time. */
static bool proto_set(tn_ctx *ctx, uint32_t kind, const tn_wire_field *f, const tn_wire *w, tn_bytes message,
                      void *out) {
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
      *(tn_str *)out = (tn_str){(const char *)f->bytes.ptr, f->bytes.len};
      return true;
    case PROTO_MSG:
      if (single->ptr) return false;
      *single = f->bytes;
      return true;
    case PROTO_NUMS:
      proto_set_nums(out, f, message);
      return true;
    case PROTO_STRS:
      proto_add_str(ctx, out, f, w);
      return true;
    case PROTO_MSGS:
      proto_add_msg(ctx, out, f, w);
      return true;
  }
  return false;
}

static tn_status proto_fail_cut(tn_ctx *ctx, tn_loc loc, const proto_message *m, const tn_wire *w) {
  const proto_row *row = w->bad_number ? proto_find(m, w->bad_number) : NULL;
  if (!row) return tn_fail(ctx, TN_INVALID, loc, "damaged: this is not a %s", m->text);
  return tn_fail(ctx, TN_INVALID, loc, "cut short: field '%s' of %s needs %" PRIu64 " bytes, %" PRIu64 " are left",
                 row->name, m->text, w->need, w->left);
}

static tn_status proto_read(tn_ctx *ctx, const proto_message *m, tn_bytes bytes, tn_loc loc, void *out) {
  tn_wire w = tn_wire_over(bytes);
  tn_wire_field f;
  while (tn_wire_next(&w, &f)) {
    const proto_row *row = proto_find(m, f.number);
    if (!row) continue;
    if (!proto_wire_fits(row->kind, f.type))
      return tn_fail(ctx, TN_INVALID, loc, "damaged: field '%s' of %s has wire type %d", row->name, m->text,
                     (int)f.type);
    if (!proto_set(ctx, row->kind, &f, &w, bytes, (char *)out + row->offset))
      return tn_fail(ctx, TN_INVALID, loc, "damaged: field '%s' of %s comes twice", row->name, m->text);
  }
  if (w.bad) return proto_fail_cut(ctx, loc, m, &w);
  return TN_OK;
}

#define TN_MESSAGE(m, text)                                                                        \
  static const proto_message proto_message_##m = {text, proto_rows_##m, TN_COUNT(proto_rows_##m)}; \
  tn_status tn_pb_read_##m(tn_ctx *ctx, tn_bytes bytes, tn_loc loc, tn_pb_##m *out) {              \
    memset(out, 0, sizeof *out);                                                                   \
    return proto_read(ctx, &proto_message_##m, bytes, loc, out);                                   \
  }
#define TN_FIELD(m, name, number, kind)
#define TN_END(m)
#include "onnx/proto.def"
#undef TN_MESSAGE
#undef TN_FIELD
#undef TN_END

const tn_str *tn_pb_keep_strs(tn_ctx *ctx, const tn_pb_strs *strs) {
  tn_str *kept = tn_arena_alloc(&ctx->arena, strs->n, sizeof kept[0]);
  if (strs->n) memcpy(kept, strs->at, strs->n * sizeof kept[0]);
  return kept;
}

tn_status tn_pb_read_node_again(tn_ctx *ctx, tn_bytes bytes, tn_loc loc, tn_pb_node *io) {
  const tn_pb_node old = *io;
  memset(io, 0, sizeof *io);
  io->input = (tn_pb_strs){old.input.at, 0, old.input.cap};
  io->output = (tn_pb_strs){old.output.at, 0, old.output.cap};
  io->attribute = (tn_pb_msgs){old.attribute.at, 0, old.attribute.cap};
  io->metadata_props = (tn_pb_msgs){old.metadata_props.at, 0, old.metadata_props.cap};
  return proto_read(ctx, &proto_message_node, bytes, loc, io);
}
