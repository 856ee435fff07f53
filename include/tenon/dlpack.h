/* The DLPack exchange format for tensors (ABI version 0.x: the unversioned managed tensor), as far as Tenon uses it. A
 * program that includes another declaration of it defines TN_HAVE_DLPACK first. */
#ifndef TENON_DLPACK_H
#define TENON_DLPACK_H

#include <stdint.h>

#ifndef TN_HAVE_DLPACK

typedef struct DLDevice {
  int32_t device_type; /* 1: CPU; 3: CPU memory pinned for CUDA; others are not addressable here */
  int32_t device_id;
} DLDevice;

typedef struct DLDataType { /* one element: lanes numbers of `bits` bits */
  uint8_t code;             /* 0 signed, 1 unsigned, 2 float, 4 bfloat, 5 complex, 6 bool */
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;     /* in elements; NULL: row-major and dense */
  uint64_t byte_offset; /* of the first element from `data` */
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;                             /* the producer's own */
  void (*deleter)(struct DLManagedTensor *self); /* may be NULL; called once by the consumer */
} DLManagedTensor;

#endif
#endif
