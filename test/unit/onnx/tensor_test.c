#include "onnx_test.h"

static tn_status read(tn_ctx *ctx, const msg *t, const tn_lit **out) {
  return tn_onnx_read_tensor(ctx, tn_wire_out_bytes(t), TN_TYPE_TENSOR, out);
}

ONNX_TEST(raw_is_a_window) {
  static const float data[6] = {1, 2, 3, 4, 5, 6};
  msg t = m_tensor(ctx, "w", TN_F32, 2, (const int64_t[]){2, 3});
  m_raw(&t, data, sizeof data);
  const tn_lit *l;
  if (!CHECK(read(ctx, &t, &l) == TN_OK)) return;
  CHECK_EQ_I(l->rank, 2);
  CHECK_EQ_I(l->dims[1], 3);
  CHECK_EQ_I(l->count, 6);
  CHECK_EQ_F(tn_lit_f64(l, 5), 6);
  const uint8_t *p = l->data;
  CHECK(p >= t.bytes.at && p + 24 == t.bytes.at + t.bytes.n);
}

ONNX_TEST(packed_floats_are_a_window) {
  static const float data[2] = {0.5f, -2};
  msg t = m_tensor(ctx, "w", TN_F32, 1, (const int64_t[]){2});
  tn_wire_add_len_field(&t, TN_F_tensor_float_data, data, sizeof data);
  const tn_lit *l;
  if (!CHECK(read(ctx, &t, &l) == TN_OK)) return;
  const uint8_t *p = l->data;
  CHECK(p >= t.bytes.at && p < t.bytes.at + t.bytes.n);
  CHECK_EQ_F(tn_lit_f64(l, 0), 0.5);
  CHECK_EQ_F(tn_lit_f64(l, 1), -2);
}

/* One field for each kind of typed data: int32_data holds the bits of everything small. */
ONNX_TEST(typed_numbers) {
  static const struct {
    int dtype;
    uint32_t field;
    int64_t stored;
    double value;
  } rows[] = {
      {TN_I8, TN_F_tensor_int32_data, -5, -5},
      {TN_U8, TN_F_tensor_int32_data, 200, 200},
      {TN_I16, TN_F_tensor_int32_data, -300, -300},
      {TN_U16, TN_F_tensor_int32_data, 65535, 65535},
      {TN_I32, TN_F_tensor_int32_data, INT32_MIN, INT32_MIN},
      {TN_BOOL, TN_F_tensor_int32_data, 1, 1},
      {TN_F16, TN_F_tensor_int32_data, 0x3e00, 1.5},
      {TN_BF16, TN_F_tensor_int32_data, 0xc040, -3},
      {TN_F8E4M3FN, TN_F_tensor_int32_data, 0x38, 1},
      {TN_I64, TN_F_tensor_int64_data, -1099511627776, -1099511627776.0},
      {TN_U32, TN_F_tensor_uint64_data, 4294967295, 4294967295.0},
      {TN_U64, TN_F_tensor_uint64_data, 1, 1},
  };
  for (size_t i = 0; i < TN_COUNT(rows); i++) {
    msg t = m_tensor(ctx, "w", rows[i].dtype, 1, (const int64_t[]){1});
    m_int(&t, rows[i].field, rows[i].stored);
    const tn_lit *l;
    if (!CHECK(read(ctx, &t, &l) == TN_OK)) continue;
    CHECK_EQ_F(tn_lit_f64(l, 0), rows[i].value);
  }
}

ONNX_TEST(small_integers_are_packed) {
  msg t = m_tensor(ctx, "w", TN_I4, 1, (const int64_t[]){3});
  m_int(&t, TN_F_tensor_int32_data, 0x2f); /* -1, 2 */
  m_int(&t, TN_F_tensor_int32_data, 0x07); /* 7 */
  const tn_lit *l;
  if (!CHECK(read(ctx, &t, &l) == TN_OK)) return;
  CHECK_EQ_I(tn_lit_i64_at(l, 0), -1);
  CHECK_EQ_I(tn_lit_i64_at(l, 1), 2);
  CHECK_EQ_I(tn_lit_i64_at(l, 2), 7);
  msg u = m_tensor(ctx, "w", TN_U2, 1, (const int64_t[]){5});
  m_raw(&u, (const uint8_t[]){0xe4, 0x01}, 2); /* 0 1 2 3, 1 */
  if (!CHECK(read(ctx, &u, &l) == TN_OK)) return;
  for (int i = 0; i < 4; i++) CHECK_EQ_I(tn_lit_i64_at(l, i), i);
  CHECK_EQ_I(tn_lit_i64_at(l, 4), 1);
}

ONNX_TEST(complex_and_double) {
  msg t = m_tensor(ctx, "w", TN_C64, 1, (const int64_t[]){1});
  tn_wire_add_len_field(&t, TN_F_tensor_float_data, (const float[]){3, 4}, 8);
  const tn_lit *l;
  if (!CHECK(read(ctx, &t, &l) == TN_OK)) return;
  CHECK(memcmp(l->data, (const float[]){3, 4}, 8) == 0);
  msg d = m_tensor(ctx, "w", TN_F64, 0, NULL);
  tn_wire_add_len_field(&d, TN_F_tensor_double_data, (const double[]){0.1}, 8);
  if (!CHECK(read(ctx, &d, &l) == TN_OK)) return;
  CHECK_EQ_I(l->rank, 0);
  CHECK_EQ_F(tn_lit_f64(l, 0), 0.1);
}

ONNX_TEST(strings) {
  msg t = m_tensor(ctx, "w", TN_STR, 1, (const int64_t[]){2});
  m_str(&t, TN_F_tensor_string_data, "ab");
  m_str(&t, TN_F_tensor_string_data, "");
  const tn_lit *l;
  if (!CHECK(read(ctx, &t, &l) == TN_OK)) return;
  const tn_str *s = l->data;
  CHECK(tn_str_is(s[0], "ab") && tn_str_is(s[1], ""));
}

ONNX_TEST(empty) {
  msg t = m_tensor(ctx, "w", TN_F32, 2, (const int64_t[]){0, 3});
  const tn_lit *l;
  CHECK(read(ctx, &t, &l) == TN_OK && l->count == 0);
  msg s = m_tensor(ctx, "w", TN_STR, 1, (const int64_t[]){0});
  CHECK(read(ctx, &s, &l) == TN_OK && l->count == 0);
}

#define CHECK_BAD(ctx, t, status, text)       \
  do {                                        \
    const tn_lit *l_;                         \
    CHECK_EQ_I(read(ctx, &(t), &l_), status); \
    CHECK_HAS(last_text(ctx), text);          \
  } while (0)

ONNX_TEST(data_that_does_not_fit_the_shape) {
  msg t = m_tensor(ctx, "w", TN_F32, 2, (const int64_t[]){2, 3});
  m_raw(&t, "0123456789ab", 12);
  CHECK_BAD(ctx, t, TN_INVALID,
            "data is shorter than the shape: it has 12 bytes of data, its shape [2,3] of f32 needs 24");
  msg u = m_tensor(ctx, "w", TN_F32, 1, (const int64_t[]){2});
  m_raw(&u, "0123456789ab", 12);
  CHECK_BAD(ctx, u, TN_INVALID, "data is longer than the shape");
  msg v = m_tensor(ctx, "w", TN_I64, 1, (const int64_t[]){1000000000});
  m_int(&v, TN_F_tensor_int64_data, 1);
  CHECK_BAD(ctx, v, TN_INVALID, "it has 1 numbers of data, its shape [1000000000] of i64 needs 1000000000");
  msg s = m_tensor(ctx, "w", TN_STR, 1, (const int64_t[]){2});
  m_str(&s, TN_F_tensor_string_data, "ab");
  CHECK_BAD(ctx, s, TN_INVALID, "it has 1 strings of data");
}

ONNX_TEST(absurd_shapes) {
  msg t = m_tensor(ctx, "w", TN_F32, 1, (const int64_t[]){-1});
  CHECK_BAD(ctx, t, TN_INVALID, "dim 0 is negative: -1");
  msg u = m_tensor(ctx, "w", TN_F32, 2, (const int64_t[]){INT64_MAX, 2});
  CHECK_BAD(ctx, u, TN_INVALID, "has more elements than can be counted");
  msg b = m_tensor(ctx, "w", TN_F32, 1, (const int64_t[]){INT64_MAX});
  CHECK_BAD(ctx, b, TN_INVALID, "takes more bytes than can be counted");
  static const int64_t ones[TN_MAX_RANK + 1] = {1};
  msg r = m_tensor(ctx, "w", TN_F32, TN_MAX_RANK + 1, ones);
  CHECK_BAD(ctx, r, TN_LIMIT, "rank 17 is beyond");
  msg d = m_tensor(ctx, "w", 27, 0, NULL);
  CHECK_BAD(ctx, d, TN_UNSUPPORTED, "element type 27 is not supported");
  msg e = m_tensor(ctx, "w", 99, 0, NULL);
  CHECK_BAD(ctx, e, TN_INVALID, "element type 99 is none of ONNX's");
  msg n = m_tensor(ctx, "w", 0, 0, NULL);
  CHECK_BAD(ctx, n, TN_INVALID, "has no element type");
}

ONNX_TEST(two_fields_with_data) {
  msg t = m_tensor(ctx, "w", TN_I32, 1, (const int64_t[]){1});
  m_int(&t, TN_F_tensor_int32_data, 1);
  m_raw(&t, "0123", 4);
  CHECK_BAD(ctx, t, TN_INVALID, "two fields with data");
}

ONNX_TEST(external_needs_a_folder) {
  msg t = m_tensor(ctx, "w", TN_I32, 1, (const int64_t[]){1}), e = m_new(ctx);
  m_str(&e, TN_F_entry_key, "location");
  m_str(&e, TN_F_entry_value, "w.bin");
  m_msg(&t, TN_F_tensor_external_data, &e);
  m_int(&t, TN_F_tensor_data_location, 1);
  CHECK_BAD(ctx, t, TN_INVALID, "external data 'w.bin': the model was not read from a file");
}

static msg sparse_indices(tn_ctx *ctx, int rank, const int64_t *dims, const int64_t *v, size_t n) {
  msg t = m_tensor(ctx, "", TN_I64, rank, dims);
  m_raw(&t, v, n * 8);
  return t;
}

static tn_status sparse_read(tn_ctx *ctx, const msg *indices, const int64_t *dims, int rank, const tn_lit **out) {
  msg values = m_tensor(ctx, "w", TN_F32, 1, (const int64_t[]){2}), s = m_new(ctx);
  m_raw(&values, (const float[]){5, 7}, 8);
  m_msg(&s, TN_F_sparse_values, &values);
  m_msg(&s, TN_F_sparse_indices, indices);
  for (int i = 0; i < rank; i++) m_int(&s, TN_F_sparse_dims, dims[i]);
  tn_pb_sparse pb;
  tn_onnx_source src = {.ctx = ctx};
  if (!CHECK(tn_pb_read_sparse(ctx, tn_wire_out_bytes(&s), (tn_loc){0}, &pb) == TN_OK)) return TN_INTERNAL;
  return tn_onnx_sparse_read(&src, &pb, (tn_loc){0}, out);
}

ONNX_TEST(sparse_becomes_dense) {
  const int64_t dims[] = {2, 3};
  msg linear = sparse_indices(ctx, 1, (const int64_t[]){2}, (const int64_t[]){1, 5}, 2);
  msg pairs = sparse_indices(ctx, 2, (const int64_t[]){2, 2}, (const int64_t[]){0, 1, 1, 2}, 4);
  const msg *forms[] = {&linear, &pairs};
  for (size_t f = 0; f < 2; f++) {
    const tn_lit *l;
    if (!CHECK(sparse_read(ctx, forms[f], dims, 2, &l) == TN_OK)) continue;
    static const double want[] = {0, 5, 0, 0, 0, 7};
    for (int i = 0; i < 6; i++) CHECK_EQ_F(tn_lit_f64(l, i), want[i]);
  }
}

ONNX_TEST(sparse_refused) {
  const tn_lit *l;
  msg out = sparse_indices(ctx, 1, (const int64_t[]){2}, (const int64_t[]){1, 6}, 2);
  CHECK_EQ_I(sparse_read(ctx, &out, (const int64_t[]){2, 3}, 2, &l), TN_INVALID);
  CHECK_HAS(last_text(ctx), "index 1 of a sparse tensor is outside its shape [2,3]");
  msg few = sparse_indices(ctx, 1, (const int64_t[]){1}, (const int64_t[]){1}, 1);
  CHECK_EQ_I(sparse_read(ctx, &few, (const int64_t[]){2, 3}, 2, &l), TN_INVALID);
  CHECK_HAS(last_text(ctx), "do not fit its 2 values");
  msg big = sparse_indices(ctx, 1, (const int64_t[]){2}, (const int64_t[]){1, 6}, 2);
  CHECK_EQ_I(sparse_read(ctx, &big, (const int64_t[]){1 << 30}, 1, &l), TN_LIMIT);
  CHECK_HAS(last_text(ctx), "too large to be made dense");
}

ONNX_TEST(sequences_and_optionals) {
  msg a = m_tensor(ctx, "a", TN_I64, 0, NULL), s = m_new(ctx), o = m_new(ctx), none = m_new(ctx);
  m_int(&a, TN_F_tensor_int64_data, 42);
  m_int(&s, TN_F_sequence_elem_type, 1);
  m_msg(&s, TN_F_sequence_tensor_values, &a);
  m_msg(&s, TN_F_sequence_tensor_values, &a);
  m_int(&o, TN_F_optional_elem_type, 3);
  m_msg(&o, TN_F_optional_sequence_value, &s);
  const tn_lit *l;
  if (!CHECK(tn_onnx_read_tensor(ctx, tn_wire_out_bytes(&o), TN_TYPE_OPTIONAL, &l) == TN_OK)) return;
  CHECK(l->kind == TN_TYPE_OPTIONAL && l->n_items == 1 && l->items[0]->kind == TN_TYPE_SEQUENCE);
  CHECK_EQ_I(l->items[0]->n_items, 2);
  CHECK_EQ_I(tn_lit_i64_at(l->items[0]->items[1], 0), 42);
  CHECK(tn_onnx_read_tensor(ctx, tn_wire_out_bytes(&none), TN_TYPE_OPTIONAL, &l) == TN_OK && l->n_items == 0);
  CHECK_EQ_I(tn_onnx_read_tensor(ctx, tn_wire_out_bytes(&none), TN_TYPE_MAP, &l), TN_UNSUPPORTED);
}

ONNX_TEST(deep_sequences_are_refused) {
  msg s = m_new(ctx);
  for (int i = 0; i < 40; i++) {
    msg outer = m_new(ctx);
    m_msg(&outer, TN_F_sequence_sequence_values, &s);
    s = outer;
  }
  const tn_lit *l;
  CHECK_EQ_I(tn_onnx_read_tensor(ctx, tn_wire_out_bytes(&s), TN_TYPE_SEQUENCE, &l), TN_INVALID);
  CHECK_HAS(last_text(ctx), "nested too deeply");
}

ONNX_TEST(written_tensors_read_back) {
  tn_lit *l = tn_lit_new(&ctx->arena, TN_I16, 2, (const int64_t[]){1, 3});
  for (int i = 0; i < 3; i++) tn_store_i64(TN_I16, tn_lit_data(l), i, i - 1);
  tn_bytes bytes;
  const tn_lit *back;
  tn_onnx_write_tensor(ctx, l, "y", &bytes);
  CHECK(tn_onnx_read_tensor(ctx, bytes, TN_TYPE_TENSOR, &back) == TN_OK && tn_lit_equal(l, back));
  tn_lit *s = tn_lit_new(&ctx->arena, TN_STR, 1, (const int64_t[]){1});
  ((tn_str *)tn_lit_data(s))[0] = tn_str_of("hello");
  tn_onnx_write_tensor(ctx, s, "s", &bytes);
  CHECK(tn_onnx_read_tensor(ctx, bytes, TN_TYPE_TENSOR, &back) == TN_OK && tn_lit_equal(s, back));
}
