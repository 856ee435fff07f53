/* The wire reader over any bytes: fields, groups and repeated numbers, entered as messages while they look like some.
 */
#include "onnx/wire.h"

enum { FUZZ_MAX_DEPTH = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_numbers(tn_bytes message, const tn_wire_field *f) {
  static const tn_wire_type types[] = {TN_WIRE_VARINT, TN_WIRE_I32, TN_WIRE_I64};
  const tn_bytes none = {NULL, 0};
  const tn_wire_nums all = {message, f->number, 2, none};
  const tn_wire_nums one = {message, f->number, 1, f->type == TN_WIRE_LEN ? f->bytes : none};
  for (size_t i = 0; i < TN_COUNT(types); i++) {
    int64_t n = 0, counted = 0;
    uint64_t v;
    tn_wire_iter it = tn_wire_iterate(&one, types[i]);
    while (tn_wire_iter_next(&it, &v)) n++;
    if (tn_wire_count(&one, types[i], &counted) && counted != n) __builtin_trap();
    it = tn_wire_iterate(&all, types[i]);
    while (tn_wire_iter_next(&it, &v)) {
    }
  }
}

static void fuzz_message(tn_bytes bytes, int depth) {
  tn_wire w = tn_wire_over(bytes);
  tn_wire_field f;
  const uint8_t *at = bytes.ptr;
  bool counted = false; /* once a message: each count walks all of it */
  while (tn_wire_next(&w, &f)) {
    if (f.begin != at || f.end <= f.begin || f.after_tag > f.end) __builtin_trap();
    if (f.type == TN_WIRE_LEN && f.bytes.ptr + f.bytes.len != f.end) __builtin_trap();
    at = f.end;
    if (f.type == TN_WIRE_LEN && depth < FUZZ_MAX_DEPTH) fuzz_message(f.bytes, depth + 1);
    if (!counted) fuzz_numbers(bytes, &f);
    counted = true;
  }
  if (!w.bad && at != w.end) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_message((tn_bytes){data, size}, 0);
  return 0;
}
