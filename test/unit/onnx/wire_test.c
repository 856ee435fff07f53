#include "onnx/wire.h"

#include "test.h"

static tn_wire over(const uint8_t *p, size_t n) { return tn_wire_over((tn_bytes){p, n}); }

TEST(fields_of_every_kind) {
  static const uint8_t bytes[] = {0x08, 0x96, 0x01,                         /* 1: varint 150 */
                                  0x12, 0x02, 'h',  'i',                    /* 2: "hi" */
                                  0x1d, 1,    2,    3,   4,                 /* 3: fixed 32 */
                                  0x21, 1,    0,    0,   0, 0, 0, 0, 0x80}; /* 4: fixed 64 */
  tn_wire w = over(bytes, sizeof bytes);
  tn_wire_field f;
  CHECK(tn_wire_next(&w, &f) && f.number == 1 && f.type == TN_WIRE_VARINT && f.value == 150);
  CHECK(tn_wire_next(&w, &f) && f.number == 2 && f.bytes.len == 2 && f.bytes.ptr == bytes + 5);
  CHECK(f.begin == bytes + 3 && f.after_tag == bytes + 4 && f.end == bytes + 7);
  CHECK(tn_wire_next(&w, &f) && f.number == 3 && f.value == 0x04030201);
  CHECK(tn_wire_next(&w, &f) && f.number == 4 && f.value == 0x8000000000000001u);
  CHECK(!tn_wire_next(&w, &f) && !w.bad);
}

static bool refused(const uint8_t *p, size_t n) {
  tn_wire w = over(p, n);
  tn_wire_field f;
  while (tn_wire_next(&w, &f)) {
  }
  return w.bad;
}

TEST(bytes_that_are_no_fields) {
  CHECK(refused((const uint8_t[]){0x08}, 1));          /* no value */
  CHECK(refused((const uint8_t[]){0x08, 0x80}, 2));    /* varint cut */
  CHECK(refused((const uint8_t[]){0x00, 0x00}, 2));    /* field 0 */
  CHECK(refused((const uint8_t[]){0x0e, 0x00}, 2));    /* wire type 6 */
  CHECK(refused((const uint8_t[]){0x1d, 1, 2, 3}, 4)); /* fixed cut */
  CHECK(refused((const uint8_t[]){0x0c}, 1));          /* group end alone */
  CHECK(refused((const uint8_t[]){0x0b, 0x14}, 2));    /* group 1 ended as 2 */
  CHECK(!refused((const uint8_t[]){0x0b, 0x10, 1, 0x0c}, 4));
  uint8_t deep[100];
  memset(deep, 0x0b, sizeof deep); /* groups in groups */
  CHECK(refused(deep, sizeof deep));
  static const uint8_t long_varint[] = {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
  CHECK(refused(long_varint, sizeof long_varint)); /* 65 bits */
}

TEST(length_past_the_end) {
  static const uint8_t bytes[] = {0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 'x'};
  tn_wire w = over(bytes, sizeof bytes);
  tn_wire_field f;
  CHECK(!tn_wire_next(&w, &f) && w.bad);
  CHECK_EQ_I(w.bad_number, 2);
  CHECK(w.need == UINT64_MAX && w.left == 1);
}

TEST(numbers_packed_and_not) {
  static const uint8_t bytes[] = {0x3a, 0x03, 1, 0x96, 0x01, 0x10, 9, 0x38, 7, 0x3a, 0x01, 5}; /* 7: [1 150] 7 [5] */
  const tn_wire_nums nums = {{bytes, sizeof bytes}, 7, 3, {NULL, 0}};
  tn_wire_iter it = tn_wire_iterate(&nums, TN_WIRE_VARINT);
  static const uint64_t want[] = {1, 150, 7, 5};
  uint64_t v;
  for (size_t i = 0; i < 4; i++) CHECK(tn_wire_iter_next(&it, &v) && v == want[i]);
  CHECK(!tn_wire_iter_next(&it, &v) && !it.bad);
  int64_t n;
  CHECK(tn_wire_count(&nums, TN_WIRE_VARINT, &n) && n == 4);
  CHECK(!tn_wire_count(&nums, TN_WIRE_I32, &n)); /* 3 bytes are no floats */
  const tn_wire_nums run = {{bytes, sizeof bytes}, 7, 1, {bytes + 2, 3}};
  CHECK(tn_wire_count(&run, TN_WIRE_VARINT, &n) && n == 2);
  CHECK(!tn_wire_count(&run, TN_WIRE_I64, &n));
  const tn_wire_nums none = {{NULL, 0}, 0, 0, {NULL, 0}};
  CHECK(tn_wire_count(&none, TN_WIRE_I32, &n) && n == 0);
}

TEST(varints_written) {
  uint8_t out[TN_WIRE_MAX_VARINT];
  CHECK_EQ_I(tn_wire_put_varint(out, 0), 1);
  CHECK_EQ_I(tn_wire_put_varint(out, 300), 2);
  CHECK(out[0] == 0xac && out[1] == 0x02);
  CHECK_EQ_I(tn_wire_put_varint(out, UINT64_MAX), 10);
  CHECK_EQ_I(out[9], 1);
}
