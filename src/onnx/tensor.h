/* TensorProto and its kin to literals: windows on the bytes wherever the file's layout is the element layout. */
#ifndef TN_ONNX_TENSOR_H
#define TN_ONNX_TENSOR_H

#include "base/map.h"
#include "ir/tensor.h"
#include "onnx/proto.h"

typedef struct tn_onnx_source { /* where tensors' bytes come from */
  tn_ctx *ctx;
  const uint8_t *base; /* start of the mapped model, for offsets; NULL: the bytes are memory */
  const char *dir;     /* external data is confined to it; NULL: there may be none */
  tn_map files;        /* interned location -> tn_file * */
} tn_onnx_source;

typedef struct tn_onnx_tensor { /* a TensorProto whose element type and shape have been checked, its data not */
  tn_pb_tensor pb;
  tn_dtype dtype;
  int rank;
  const int64_t *dims;
  int64_t count;
  size_t bytes; /* the elements take, packed */
  bool external;
} tn_onnx_tensor;

TN_MUST_CHECK tn_status tn_onnx_tensor_head(tn_ctx *ctx, tn_bytes bytes, tn_loc loc, tn_onnx_tensor *out);
/* `missing` NULL: an external file that cannot be opened is IO. Else that is no failure: *missing is the reason and
 * *out is NULL. */
TN_MUST_CHECK tn_status tn_onnx_tensor_data(tn_onnx_source *src, const tn_onnx_tensor *t, tn_loc loc,
                                            const char **missing, const tn_lit **out);
TN_MUST_CHECK tn_status tn_onnx_tensor_read(tn_onnx_source *src, tn_bytes bytes, tn_loc loc, const tn_lit **out);
/* Maps the file that the tensor's data is in, if it is another one than the model's. */
TN_MUST_CHECK tn_status tn_onnx_tensor_open(tn_onnx_source *src, tn_bytes bytes, tn_loc loc);
/* A SparseTensorProto, made dense. */
TN_MUST_CHECK tn_status tn_onnx_sparse_read(tn_onnx_source *src, const tn_pb_sparse *sparse, tn_loc loc,
                                            const tn_lit **out);
/* Dims of a message; INVALID when one is negative or their product is no int64, LIMIT past TN_MAX_RANK. */
TN_MUST_CHECK tn_status tn_onnx_dims(tn_ctx *ctx, const tn_wire_nums *nums, tn_loc loc, int *out_rank,
                                     const int64_t **out_dims, int64_t *out_count);
/* An element type number: INVALID when it is none, UNSUPPORTED when ONNX has it and we do not. 0 gives NONE. */
TN_MUST_CHECK tn_status tn_onnx_dtype(tn_ctx *ctx, int64_t number, tn_loc loc, tn_dtype *out);

#endif
