/* Protobuf's wire format: every length is checked against what is left before anything is read. */
#include "onnx/wire.h"

#include "base/compiler.h"

enum { WIRE_MAX_GROUPS = 32 }; /* nesting; ONNX has no groups, so only unknown fields can hold them */

static bool wire_long_varint(tn_wire *w, uint64_t *out) {
  uint64_t v = 0;
  const uint8_t *p = w->at;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (p == w->end) return false;
    const uint8_t b = *p++;
    if (shift == 63 && b > 1) return false;
    v |= (uint64_t)(b & 0x7f) << shift;
    if (b < 0x80) {
      w->at = p;
      *out = v;
      return true;
    }
  }
  return false;
}

/* Nearly all are of one byte. */
TN_INLINE bool wire_varint(tn_wire *w, uint64_t *out) {
  if (w->at == w->end || *w->at >= 0x80) return wire_long_varint(w, out);
  *out = *w->at++;
  return true;
}

static bool wire_fixed(tn_wire *w, size_t n, uint64_t *out) {
  if ((size_t)(w->end - w->at) < n) return false;
  uint64_t v = 0;
  for (size_t i = 0; i < n; i++) v |= (uint64_t)w->at[i] << (8 * i);
  w->at += n;
  *out = v;
  return true;
}

TN_INLINE bool wire_tag(tn_wire *w, uint32_t *number, tn_wire_type *type) {
  uint64_t tag;
  if (!wire_varint(w, &tag) || tag > UINT32_MAX || tag >> 3 == 0 || (tag & 7) > TN_WIRE_I32) return false;
  *number = (uint32_t)(tag >> 3);
  *type = (tn_wire_type)(tag & 7);
  return true;
}

TN_INLINE bool wire_bytes(tn_wire *w, tn_wire_field *f) {
  uint64_t n;
  if (!wire_varint(w, &n)) return false;
  const size_t left = (size_t)(w->end - w->at);
  if (n > left) {
    w->bad_number = f->number;
    w->need = n;
    w->left = left;
    return false;
  }
  f->bytes = (tn_bytes){w->at, (size_t)n};
  w->at += n;
  return true;
}

TN_INLINE bool wire_payload(tn_wire *w, tn_wire_field *f) {
  switch (f->type) {
    case TN_WIRE_LEN:
      return wire_bytes(w, f);
    case TN_WIRE_VARINT:
      return wire_varint(w, &f->value);
    case TN_WIRE_I64:
      return wire_fixed(w, 8, &f->value);
    case TN_WIRE_I32:
      return wire_fixed(w, 4, &f->value);
    default:
      return false;
  }
}

/* The cursor stands after the opening tag of group `number`. */
static bool wire_skip_group(tn_wire *w, uint32_t number) {
  uint32_t open[WIRE_MAX_GROUPS] = {number};
  int depth = 1;
  while (depth > 0) {
    tn_wire_field f = {0};
    if (!wire_tag(w, &f.number, &f.type)) return false;
    if (f.type == TN_WIRE_GROUP) {
      if (depth == WIRE_MAX_GROUPS) return false;
      open[depth++] = f.number;
    } else if (f.type == TN_WIRE_GROUP_END) {
      if (open[--depth] != f.number) return false;
    } else if (!wire_payload(w, &f)) {
      return false;
    }
  }
  return true;
}

/* Most fields have tag and length, or tag and number, in two bytes: they are taken here, others one by one. */
TN_INLINE bool wire_short(tn_wire *w, tn_wire_field *f) {
  const uint8_t *const p = w->at;
  const size_t left = (size_t)(w->end - p);
  if (left < 2 || p[0] < 8 || (p[0] | p[1]) >= 0x80) return false;
  const tn_wire_type type = (tn_wire_type)(p[0] & 7);
  const size_t n = type == TN_WIRE_LEN ? p[1] : 0;
  if ((type != TN_WIRE_LEN && type != TN_WIRE_VARINT) || n > left - 2) return false;
  f->number = p[0] >> 3;
  f->type = type;
  f->value = p[1];
  f->bytes = (tn_bytes){p + 2, n};
  f->begin = p;
  f->after_tag = p + 1;
  f->end = w->at = p + 2 + n;
  return true;
}

bool tn_wire_next(tn_wire *w, tn_wire_field *f) {
  if (w->bad) return false;
  if (wire_short(w, f)) return true;
  if (w->at == w->end) return false;
  *f = (tn_wire_field){.begin = w->at};
  bool good = wire_tag(w, &f->number, &f->type);
  f->after_tag = w->at;
  if (good) good = f->type == TN_WIRE_GROUP ? wire_skip_group(w, f->number) : wire_payload(w, f);
  f->end = w->at;
  w->bad = !good;
  return good;
}

tn_wire_iter tn_wire_iterate(const tn_wire_nums *nums, tn_wire_type type) {
  const bool one = nums->packed.ptr != NULL;
  const tn_bytes none = {nums->message.ptr, 0};
  return (tn_wire_iter){
      .outer = tn_wire_over(one || nums->n_fields == 0 ? none : nums->message),
      .run = one ? tn_wire_over(nums->packed) : tn_wire_over(none),
      .number = nums->number,
      .type = type,
  };
}

static bool wire_number(tn_wire *w, tn_wire_type type, uint64_t *out) {
  if (type == TN_WIRE_VARINT) return wire_varint(w, out);
  return wire_fixed(w, type == TN_WIRE_I64 ? 8 : 4, out);
}

bool tn_wire_iter_next(tn_wire_iter *it, uint64_t *out) {
  while (it->run.at == it->run.end) {
    tn_wire_field f;
    if (!tn_wire_next(&it->outer, &f)) {
      it->bad = it->outer.bad;
      return false;
    }
    if (f.number != it->number) continue;
    if (f.type == it->type) {
      *out = f.value;
      return true;
    }
    if (f.type != TN_WIRE_LEN) {
      it->bad = true;
      return false;
    }
    it->run = tn_wire_over(f.bytes);
  }
  if (wire_number(&it->run, it->type, out)) return true;
  it->bad = true;
  return false;
}

bool tn_wire_count(const tn_wire_nums *nums, tn_wire_type type, int64_t *out) {
  int64_t n = 0;
  uint64_t v;
  const size_t width = type == TN_WIRE_I64 ? 8 : 4;
  if (nums->packed.ptr && type != TN_WIRE_VARINT) {
    *out = (int64_t)(nums->packed.len / width);
    return nums->packed.len % width == 0;
  }
  tn_wire_iter it = tn_wire_iterate(nums, type);
  while (tn_wire_iter_next(&it, &v)) n++;
  *out = n;
  return !it.bad;
}

size_t tn_wire_put_varint(uint8_t out[TN_WIRE_MAX_VARINT], uint64_t v) {
  size_t n = 0;
  while (v >= 0x80) {
    out[n++] = (uint8_t)(v | 0x80);
    v >>= 7;
  }
  out[n++] = (uint8_t)v;
  return n;
}

void tn_wire_add_bytes(tn_wire_out *o, const void *p, size_t n) {
  if (n == 0) return;
  if (n > o->bytes.cap - o->bytes.n)
    o->bytes.at = tn_vec_grow(o->arena, o->bytes.at, o->bytes.n, &o->bytes.cap, o->bytes.n + n, 1);
  memcpy(o->bytes.at + o->bytes.n, p, n);
  o->bytes.n += n;
}

static void wire_add_varint(tn_wire_out *o, uint64_t v) {
  uint8_t buffer[TN_WIRE_MAX_VARINT];
  tn_wire_add_bytes(o, buffer, tn_wire_put_varint(buffer, v));
}

void tn_wire_add_int_field(tn_wire_out *o, uint32_t number, uint64_t v) {
  wire_add_varint(o, (uint64_t)number << 3 | TN_WIRE_VARINT);
  wire_add_varint(o, v);
}

void tn_wire_add_len_field(tn_wire_out *o, uint32_t number, const void *p, size_t n) {
  wire_add_varint(o, (uint64_t)number << 3 | TN_WIRE_LEN);
  wire_add_varint(o, n);
  tn_wire_add_bytes(o, p, n);
}
