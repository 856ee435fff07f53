/* Attribute values. */
#ifndef TN_IR_ATTR_H
#define TN_IR_ATTR_H

#include "ir/tensor.h"

typedef enum tn_attr_kind {
  TN_ATTR_NONE,
  TN_ATTR_INT,
  TN_ATTR_FLOAT,
  TN_ATTR_STR,
  TN_ATTR_DTYPE, /* an INT in ONNX that names an element type */
  TN_ATTR_TENSOR,
  TN_ATTR_INTS,
  TN_ATTR_FLOATS,
  TN_ATTR_STRS,
  TN_ATTR_TENSORS, /* only ai.onnx.ml; kept for import */
  TN_ATTR_TYPE,    /* a TypeProto (Optional) */
  TN_ATTR_REGION,  /* only in tn_import: becomes a node's region */
  TN_ATTR_SPARSE   /* only in tn_import: densified before use */
} tn_attr_kind;

typedef struct tn_attr {
  tn_attr_kind kind;
  union {
    tn_str s; /* STR */
    struct {
      union {
        int64_t i; /* INT, DTYPE */
        double f;  /* FLOAT: a float32 value, exactly */
        const int64_t *ints;
        const double *floats;
        const tn_str *strs;
        const tn_lit *tensor;
        const tn_lit *const *tensors;
        const tn_type *type;
        const void *region; /* importer's own */
      };
      int64_t n; /* INTS, FLOATS, STRS, TENSORS */
    };
  };
} tn_attr;

const char *tn_attr_kind_name(tn_attr_kind k); /* "an int", "a list of floats" */

#endif
