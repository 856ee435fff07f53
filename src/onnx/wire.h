/* Reading and writing protobuf's wire format over bytes that nobody has checked. Nothing is copied. */
#ifndef TN_ONNX_WIRE_H
#define TN_ONNX_WIRE_H

#include "base/checked.h"
#include "base/span.h"
#include "base/vec.h"

typedef enum tn_wire_type {
  TN_WIRE_VARINT = 0,
  TN_WIRE_I64 = 1,
  TN_WIRE_LEN = 2,
  TN_WIRE_GROUP = 3,
  TN_WIRE_GROUP_END = 4,
  TN_WIRE_I32 = 5
} tn_wire_type;

typedef struct tn_wire { /* a cursor over one message */
  const uint8_t *at, *end;
  bool bad;            /* the bytes at `at` are no field */
  uint32_t bad_number; /* field that is cut short; 0 when it is something else */
  uint64_t need, left; /* bytes it wants and bytes there are */
} tn_wire;

typedef struct tn_wire_field {
  uint32_t number;
  tn_wire_type type;
  uint64_t value;             /* VARINT, I64, I32 */
  tn_bytes bytes;             /* LEN: the payload */
  const uint8_t *begin, *end; /* the whole field, tag included */
  const uint8_t *after_tag;
} tn_wire_field;

static inline tn_wire tn_wire_over(tn_bytes b) {
  return (tn_wire){b.ptr, b.len ? b.ptr + b.len : b.ptr, false, 0, 0, 0};
}
/* Next field; false at the end of the message or when w->bad. Groups are stepped over as one field. */
bool tn_wire_next(tn_wire *w, tn_wire_field *f);

/* A repeated number: one packed run, several, or an element a field. Elements are not looked at until asked for. */
typedef struct tn_wire_nums {
  tn_bytes message; /* the message whose field this is */
  uint32_t number;
  uint32_t n_fields; /* saturating; 0: absent */
  tn_bytes packed;   /* the run when it is the only field, else ptr NULL */
} tn_wire_nums;

typedef struct tn_wire_iter {
  tn_wire outer, run;
  uint32_t number;
  tn_wire_type type; /* of the elements */
  bool bad;
} tn_wire_iter;

tn_wire_iter tn_wire_iterate(const tn_wire_nums *nums, tn_wire_type type);
bool tn_wire_iter_next(tn_wire_iter *it, uint64_t *out); /* false at the end or when it->bad */
/* Elements in all; false when the bytes are no such numbers. */
TN_MUST_CHECK bool tn_wire_count(const tn_wire_nums *nums, tn_wire_type type, int64_t *out);

/* A growing message. */
typedef struct tn_wire_out {
  tn_arena *arena;
  TN_VEC(uint8_t) bytes;
} tn_wire_out;

enum { TN_WIRE_MAX_VARINT = 10 };
size_t tn_wire_put_varint(uint8_t out[TN_WIRE_MAX_VARINT], uint64_t v); /* bytes written */
void tn_wire_add_bytes(tn_wire_out *o, const void *p, size_t n);
void tn_wire_add_int_field(tn_wire_out *o, uint32_t number, uint64_t v);
void tn_wire_add_len_field(tn_wire_out *o, uint32_t number, const void *p, size_t n);
static inline tn_bytes tn_wire_out_bytes(const tn_wire_out *o) { return (tn_bytes){o->bytes.at, o->bytes.n}; }

#endif
