/* Tensors of other libraries through DLPack. */
#include "base/alloc.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "driver/report.h"
#include "tenon/dlpack.h"

enum { DLPACK_CPU = 1, DLPACK_PINNED = 3, DLPACK_MAX_RANK = 16 };

typedef struct dlpack_row {
  uint8_t code, bits;
  tn_dtype dtype;
} dlpack_row;

static const dlpack_row dlpack_rows[] = {
    {0, 8, TN_I8},   {0, 16, TN_I16},  {0, 32, TN_I32}, {0, 64, TN_I64},   {1, 8, TN_U8},
    {1, 16, TN_U16}, {1, 32, TN_U32},  {1, 64, TN_U64}, {2, 16, TN_F16},   {2, 32, TN_F32},
    {2, 64, TN_F64}, {4, 16, TN_BF16}, {5, 64, TN_C64}, {5, 128, TN_C128}, {6, 8, TN_BOOL},
};

typedef struct dlpack_import { /* what tn_tensor_release gives back; `tensor` is first */
  tn_tensor tensor;
  int64_t dims[DLPACK_MAX_RANK];
  DLManagedTensor *source;
  void *copy;
  size_t copy_bytes;
} dlpack_import;

typedef struct dlpack_export { /* `managed` is first */
  DLManagedTensor managed;
  int64_t shape[DLPACK_MAX_RANK];
  void (*release)(void *arg);
  void *arg;
} dlpack_export;

static tn_status dlpack_type(const DLTensor *t, tn_dtype *out, tn_error *err) {
  for (size_t i = 0; i < TN_COUNT(dlpack_rows) && t->dtype.lanes == 1; i++) {
    if (dlpack_rows[i].code != t->dtype.code || dlpack_rows[i].bits != t->dtype.bits) continue;
    *out = dlpack_rows[i].dtype;
    return TN_OK;
  }
  return tn_error_set(err, TN_UNSUPPORTED, "DLPack element type %d of %d bits and %d lanes", t->dtype.code,
                      t->dtype.bits, t->dtype.lanes);
}

static tn_status dlpack_shape(const DLTensor *t, dlpack_import *x, int64_t *out_count, tn_error *err) {
  if (t->device.device_type != DLPACK_CPU && t->device.device_type != DLPACK_PINNED)
    return tn_error_set(err, TN_UNSUPPORTED, "DLPack device %d: only the CPU's memory can be read",
                        (int)t->device.device_type);
  if (t->ndim < 0 || t->ndim > DLPACK_MAX_RANK || (t->ndim > 0 && !t->shape))
    return tn_error_set(err, TN_UNSUPPORTED, "DLPack tensor of rank %d, at most %d", (int)t->ndim, DLPACK_MAX_RANK);
  for (int d = 0; d < t->ndim; d++) {
    if (t->shape[d] < 0) return tn_error_set(err, TN_INVALID, "DLPack dim %d is %lld", d, (long long)t->shape[d]);
    x->dims[d] = t->shape[d];
  }
  if (!tn_dims_count(x->dims, t->ndim, out_count) || !tn_dtype_bytes(x->tensor.dtype, *out_count, &x->tensor.bytes))
    return tn_error_set(err, TN_LIMIT, "the DLPack tensor is too large");
  if (x->tensor.bytes > 0 && !t->data) return tn_error_set(err, TN_INVALID, "the DLPack tensor has no data");
  return TN_OK;
}

static bool dlpack_is_dense(const DLTensor *t) {
  int64_t expected = 1;
  for (int d = t->ndim - 1; d >= 0 && t->strides; d--) {
    if (t->shape[d] != 1 && t->strides[d] != expected) return false;
    expected *= t->shape[d];
  }
  return true;
}

/* The elements in row-major order: every index in turn, like a counter. */
static void dlpack_gather(const DLTensor *t, size_t size, const char *from, char *to, int64_t count) {
  int64_t at[DLPACK_MAX_RANK] = {0};
  for (int64_t i = 0; i < count; i++) {
    int64_t offset = 0;
    for (int d = 0; d < t->ndim; d++) offset += at[d] * t->strides[d];
    memcpy(to + (size_t)i * size, from + offset * (int64_t)size, size);
    for (int d = t->ndim - 1; d >= 0 && ++at[d] == t->shape[d]; d--) at[d] = 0;
  }
}

static tn_status dlpack_data(const DLTensor *t, dlpack_import *x, int64_t count, tn_error *err) {
  static const _Alignas(64) char nothing[64];
  const size_t size = (size_t)tn_dtype_bits(x->tensor.dtype) / 8, align = size > 8 ? 8 : size;
  const char *const data = t->data ? (const char *)t->data + t->byte_offset : nothing;
  x->tensor.data = data;
  if (x->tensor.bytes == 0 || (dlpack_is_dense(t) && (uintptr_t)data % align == 0)) return TN_OK;
  x->copy = tn_alloc(tn_allocator_system(), x->tensor.bytes);
  if (!x->copy) return tn_error_set(err, TN_OOM, "no memory for %zu bytes", x->tensor.bytes);
  x->copy_bytes = x->tensor.bytes;
  x->tensor.data = x->copy;
  if (dlpack_is_dense(t))
    memcpy(x->copy, data, x->tensor.bytes);
  else
    dlpack_gather(t, size, data, x->copy, count);
  return TN_OK;
}

static tn_status dlpack_fill(DLManagedTensor *m, dlpack_import *x, tn_error *err) {
  const DLTensor *t = &m->dl_tensor;
  int64_t count = 0;
  x->tensor.kind = TN_KIND_TENSOR;
  x->tensor.rank = t->ndim;
  x->tensor.dims = x->dims;
  TN_TRY(dlpack_type(t, &x->tensor.dtype, err));
  TN_TRY(dlpack_shape(t, x, &count, err));
  TN_TRY(dlpack_data(t, x, count, err));
  x->source = m;
  return TN_OK;
}

tn_status tn_tensor_from_dlpack(struct DLManagedTensor *m, tn_tensor **out, tn_report **out_report) {
  tn_error err = {0};
  dlpack_import *x = tn_alloc(tn_allocator_system(), sizeof *x);
  *out = NULL;
  if (!x) return tn_report_failure(out_report, TN_OOM, "out of memory");
  memset(x, 0, sizeof *x);
  if (dlpack_fill(m, x, &err) == TN_OK)
    *out = &x->tensor;
  else
    tn_tensor_release(&x->tensor);
  return tn_report_error(out_report, &err);
}

void tn_tensor_release(tn_tensor *t) {
  if (!t) return;
  dlpack_import *x = (dlpack_import *)(void *)t;
  if (x->source && x->source->deleter) x->source->deleter(x->source);
  tn_free(tn_allocator_system(), x->copy, x->copy_bytes);
  tn_free(tn_allocator_system(), x, sizeof *x);
}

static void dlpack_delete(DLManagedTensor *m) {
  dlpack_export *x = (dlpack_export *)(void *)m;
  if (x->release) x->release(x->arg);
  tn_free(tn_allocator_system(), x, sizeof *x);
}

static tn_status dlpack_make(const tn_tensor *t, dlpack_export *x, tn_error *err) {
  DLTensor *d = &x->managed.dl_tensor;
  if (t->kind != TN_KIND_TENSOR || t->rank < 0 || t->rank > DLPACK_MAX_RANK)
    return tn_error_set(err, TN_UNSUPPORTED, "only tensors of at most %d dims go through DLPack", DLPACK_MAX_RANK);
  for (size_t i = 0; i < TN_COUNT(dlpack_rows); i++)
    if (dlpack_rows[i].dtype == t->dtype) d->dtype = (DLDataType){dlpack_rows[i].code, dlpack_rows[i].bits, 1};
  if (!d->dtype.lanes)
    return tn_error_set(err, TN_UNSUPPORTED, "DLPack has no element type %s", tn_dtype_text(t->dtype));
  for (int i = 0; i < t->rank; i++) x->shape[i] = t->dims[i];
  d->data = (void *)(uintptr_t)t->data;
  d->device = (DLDevice){DLPACK_CPU, 0};
  d->ndim = t->rank;
  d->shape = x->shape;
  x->managed.deleter = dlpack_delete;
  return TN_OK;
}

tn_status tn_tensor_to_dlpack(const tn_tensor *t, void (*release)(void *arg), void *arg, struct DLManagedTensor **out,
                              tn_report **out_report) {
  tn_error err = {0};
  dlpack_export *x = tn_alloc(tn_allocator_system(), sizeof *x);
  *out = NULL;
  if (!x) return tn_report_failure(out_report, TN_OOM, "out of memory");
  memset(x, 0, sizeof *x);
  x->release = release;
  x->arg = arg;
  if (dlpack_make(t, x, &err) == TN_OK)
    *out = &x->managed;
  else
    tn_free(tn_allocator_system(), x, sizeof *x);
  return tn_report_error(out_report, &err);
}
