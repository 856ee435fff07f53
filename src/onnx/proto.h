/* ONNX messages as structs of spans, made from proto.def. Reading one touches its own fields, not what is inside. */
#ifndef TN_ONNX_PROTO_H
#define TN_ONNX_PROTO_H

#include "base/ctx.h"
#include "onnx/wire.h"

typedef struct tn_pb_int {
  int64_t v; /* 0 when absent */
  bool has;
} tn_pb_int;
typedef struct tn_pb_f32 {
  float v;
  bool has;
} tn_pb_f32;
typedef struct tn_pb_strs {
  tn_str *at;
  size_t n, cap;
} tn_pb_strs;
typedef struct tn_pb_msgs {
  tn_bytes *at;
  size_t n, cap;
} tn_pb_msgs;

#define TN_PB_INT tn_pb_int
#define TN_PB_F32 tn_pb_f32
#define TN_PB_STR tn_str   /* ptr NULL: absent */
#define TN_PB_MSG tn_bytes /* ptr NULL: absent */
#define TN_PB_NUMS tn_wire_nums
#define TN_PB_STRS tn_pb_strs
#define TN_PB_MSGS tn_pb_msgs

#define TN_MESSAGE(m, text) typedef struct tn_pb_##m {
#define TN_FIELD(m, name, number, kind) TN_PB_##kind name;
#define TN_END(m) \
  }               \
  tn_pb_##m;
#include "onnx/proto.def"
#undef TN_MESSAGE
#undef TN_FIELD
#undef TN_END

/* Field numbers: TN_F_graph_node == 1. */
enum {
#define TN_MESSAGE(m, text)
#define TN_FIELD(m, name, number, kind) TN_F_##m##_##name = number,
#define TN_END(m)
#include "onnx/proto.def"
#undef TN_MESSAGE
#undef TN_FIELD
#undef TN_END
};

/* tn_pb_read_<message>(ctx, bytes, loc, out), lists into ctx->source: INVALID at `loc` when the bytes are no such
 * message, when a known field has another wire type, or when a field that is not repeated comes twice as a message. */
#define TN_MESSAGE(m, text) \
  TN_MUST_CHECK tn_status tn_pb_read_##m(tn_ctx *ctx, tn_bytes bytes, tn_loc loc, tn_pb_##m *out);
#define TN_FIELD(m, name, number, kind)
#define TN_END(m)
#include "onnx/proto.def"
#undef TN_MESSAGE
#undef TN_FIELD
#undef TN_END

/* The same into what an earlier call filled, whose lists' memory is used again; zero at first. */
TN_MUST_CHECK tn_status tn_pb_read_node_again(tn_ctx *ctx, tn_bytes bytes, tn_loc loc, tn_pb_node *io);
const tn_str *tn_pb_keep_strs(tn_ctx *ctx, const tn_pb_strs *strs); /* a copy in ctx->arena; never NULL */

#endif
