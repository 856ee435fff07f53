/* Element types. Numbers are those of ONNX TensorProto.DataType and are stored in program files. */
#ifndef TENON_DTYPE_H
#define TENON_DTYPE_H

typedef enum tn_dtype {
  TN_DTYPE_NONE = 0, /* absent or not known */
#define TN_DTYPE(name, onnx, text, bits, cls, npy) TN_##name = onnx,
#include "tenon/dtype.def"
#undef TN_DTYPE
  TN_N_DTYPES
} tn_dtype;

#endif
