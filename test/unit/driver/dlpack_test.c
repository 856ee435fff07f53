/* DLPack both ways: whose memory it is, who gives it back, strides, offsets, what is refused. */
#include "tenon/dlpack.h"

#include "tenon/tenon.h"
#include "test.h"

static int deleted, released;

static void owner_delete(DLManagedTensor *m) {
  deleted++;
  CHECK(m->manager_ctx == &deleted);
}

static void owner_release(void *arg) {
  released++;
  CHECK(arg == &released);
}

static DLManagedTensor managed(void *data, int32_t ndim, int64_t *shape, int64_t *strides) {
  return (DLManagedTensor){
      .dl_tensor =
          {.data = data, .device = {1, 0}, .ndim = ndim, .dtype = {2, 32, 1}, .shape = shape, .strides = strides},
      .manager_ctx = &deleted,
      .deleter = owner_delete};
}

static void check_elements(const tn_tensor *t, int n, const float *expected) {
  for (int i = 0; i < n; i++) CHECK_EQ_F(((const float *)t->data)[i], expected[i]);
}

TEST(dense_is_not_copied) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  for (int with_strides = 0; with_strides < 2; with_strides++) {
    DLManagedTensor m = managed(data, 2, shape, with_strides ? strides : NULL);
    tn_tensor *t = NULL;
    deleted = 0;
    if (!CHECK_EQ_I(tn_tensor_from_dlpack(&m, &t, NULL), TN_OK)) return;
    CHECK(t->data == data && t->kind == TN_KIND_TENSOR && t->dtype == TN_F32);
    CHECK_EQ_I(t->rank, 2);
    CHECK_EQ_I(t->dims[0], 2);
    CHECK_EQ_I(t->dims[1], 3);
    CHECK_EQ_I(t->bytes, 24);
    CHECK_EQ_I(deleted, 0);
    tn_tensor_release(t);
    CHECK_EQ_I(deleted, 1);
  }
}

TEST(strides) {
  float data[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  int64_t shape[2] = {3, 2}, transposed[2] = {1, 3}, backwards[2] = {-4, 2}, repeated[2] = {1, 0};
  DLManagedTensor m = managed(data, 2, shape, transposed);
  tn_tensor *t = NULL;
  if (!CHECK_EQ_I(tn_tensor_from_dlpack(&m, &t, NULL), TN_OK)) return;
  CHECK(t->data != data);
  check_elements(t, 6, (const float[]){0, 3, 1, 4, 2, 5});
  tn_tensor_release(t);
  m = managed(data + 8, 2, shape, backwards);
  if (!CHECK_EQ_I(tn_tensor_from_dlpack(&m, &t, NULL), TN_OK)) return;
  check_elements(t, 6, (const float[]){8, 10, 4, 6, 0, 2});
  tn_tensor_release(t);
  m = managed(data, 2, shape, repeated);
  m.dl_tensor.byte_offset = 5 * sizeof(float);
  if (!CHECK_EQ_I(tn_tensor_from_dlpack(&m, &t, NULL), TN_OK)) return;
  check_elements(t, 6, (const float[]){5, 5, 6, 6, 7, 7});
  tn_tensor_release(t);
}

TEST(unaligned_is_copied) {
  _Alignas(8) char raw[13];
  const float x[2] = {1.5f, -2};
  int64_t shape[1] = {2};
  memcpy(raw + 1, x, sizeof x);
  DLManagedTensor m = managed(raw, 1, shape, NULL);
  m.dl_tensor.byte_offset = 1;
  tn_tensor *t = NULL;
  if (!CHECK_EQ_I(tn_tensor_from_dlpack(&m, &t, NULL), TN_OK)) return;
  CHECK_EQ_I((uintptr_t)t->data % sizeof(float), 0);
  check_elements(t, 2, x);
  tn_tensor_release(t);
}

TEST(scalar_and_empty) {
  float one = 7;
  int64_t shape[2] = {0, 3}, strides[2] = {5, 5};
  tn_tensor *t = NULL;
  DLManagedTensor m = managed(&one, 0, NULL, NULL);
  if (!CHECK_EQ_I(tn_tensor_from_dlpack(&m, &t, NULL), TN_OK)) return;
  CHECK_EQ_I(t->rank, 0);
  CHECK(t->data == &one);
  tn_tensor_release(t);
  m = managed(NULL, 2, shape, strides);
  if (!CHECK_EQ_I(tn_tensor_from_dlpack(&m, &t, NULL), TN_OK)) return;
  CHECK_EQ_I(t->bytes, 0);
  CHECK(t->data != NULL);
  tn_tensor_release(t);
}

/* A refused tensor stays its owner's. */
static void refused(DLManagedTensor m, tn_status status, const char *part) {
  tn_tensor *t = (tn_tensor *)&m;
  tn_report *r = NULL;
  deleted = 0;
  CHECK_EQ_I(tn_tensor_from_dlpack(&m, &t, &r), status);
  CHECK(t == NULL);
  CHECK_EQ_I(deleted, 0);
  CHECK_HAS(tn_report_text(r), part);
  tn_report_release(r);
}

TEST(refusals) {
  float x[4] = {0};
  int64_t shape[2] = {2, 2}, negative[2] = {2, -1}, large[2] = {INT64_MAX / 2, 8};
  DLManagedTensor m = managed(x, 2, shape, NULL);
  m.dl_tensor.device.device_type = 2;
  refused(m, TN_UNSUPPORTED, "device 2");
  m = managed(x, 2, shape, NULL);
  m.dl_tensor.dtype = (DLDataType){2, 32, 4};
  refused(m, TN_UNSUPPORTED, "4 lanes");
  m.dl_tensor.dtype = (DLDataType){2, 8, 1};
  refused(m, TN_UNSUPPORTED, "type 2 of 8 bits");
  refused(managed(x, 17, shape, NULL), TN_UNSUPPORTED, "rank 17");
  refused(managed(x, -1, shape, NULL), TN_UNSUPPORTED, "rank -1");
  refused(managed(x, 2, NULL, NULL), TN_UNSUPPORTED, "rank 2");
  refused(managed(x, 2, negative, NULL), TN_INVALID, "dim 1 is -1");
  refused(managed(NULL, 2, shape, NULL), TN_INVALID, "no data");
  refused(managed(x, 2, large, NULL), TN_LIMIT, "too large");
}

TEST(export) {
  const int64_t dims[2] = {2, 2};
  const float data[4] = {1, 2, 3, 4};
  tn_tensor t = {.dtype = TN_F32, .rank = 2, .dims = dims, .data = data};
  DLManagedTensor *m = NULL;
  released = 0;
  if (!CHECK_EQ_I(tn_tensor_to_dlpack(&t, owner_release, &released, &m, NULL), TN_OK)) return;
  CHECK(m->dl_tensor.data == data && m->dl_tensor.strides == NULL && m->dl_tensor.byte_offset == 0);
  CHECK_EQ_I(m->dl_tensor.device.device_type, 1);
  CHECK_EQ_I(m->dl_tensor.shape[1], 2);
  CHECK(m->dl_tensor.dtype.code == 2 && m->dl_tensor.dtype.bits == 32 && m->dl_tensor.dtype.lanes == 1);
  tn_tensor *back = NULL;
  if (!CHECK_EQ_I(tn_tensor_from_dlpack(m, &back, NULL), TN_OK)) return;
  CHECK(back->data == data);
  CHECK_EQ_I(released, 0);
  tn_tensor_release(back); /* gives m back, which gives the data back */
  CHECK_EQ_I(released, 1);
}

TEST(export_refusals) {
  const int64_t dims[1] = {1};
  tn_report *r = NULL;
  DLManagedTensor *m = NULL;
  const tn_tensor strings = {.dtype = TN_STR, .rank = 1, .dims = dims}, sequence = {.kind = TN_KIND_SEQUENCE};
  released = 0;
  CHECK_EQ_I(tn_tensor_to_dlpack(&strings, owner_release, &released, &m, &r), TN_UNSUPPORTED);
  CHECK_HAS(tn_report_text(r), "str");
  tn_report_release(r);
  CHECK_EQ_I(tn_tensor_to_dlpack(&sequence, owner_release, &released, &m, NULL), TN_UNSUPPORTED);
  CHECK(m == NULL);
  CHECK_EQ_I(released, 0);
  tn_tensor_release(NULL);
}

TEST(every_type_there_and_back) {
  static const tn_dtype types[] = {TN_I8,  TN_I16, TN_I32, TN_I64,  TN_U8,  TN_U16,  TN_U32, TN_U64,
                                   TN_F16, TN_F32, TN_F64, TN_BF16, TN_C64, TN_C128, TN_BOOL};
  _Alignas(16) const char data[16] = {0};
  const int64_t dims[1] = {1};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    DLManagedTensor *m = NULL;
    tn_tensor *t = NULL;
    const tn_tensor from = {.dtype = types[i], .rank = 1, .dims = dims, .data = data};
    if (!CHECK_EQ_I(tn_tensor_to_dlpack(&from, NULL, NULL, &m, NULL), TN_OK)) return;
    if (!CHECK_EQ_I(tn_tensor_from_dlpack(m, &t, NULL), TN_OK)) return;
    CHECK_EQ_I(t->dtype, types[i]);
    CHECK_EQ_I(t->bytes, m->dl_tensor.dtype.bits / 8);
    tn_tensor_release(t);
  }
}
