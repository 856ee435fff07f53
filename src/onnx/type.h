/* TypeProto to types and back. A dim_param is a symbol shared by the whole model, or an expression of such symbols. */
#ifndef TN_ONNX_TYPE_H
#define TN_ONNX_TYPE_H

#include "base/map.h"
#include "ir/type.h"
#include "onnx/proto.h"

typedef struct tn_onnx_types {
  tn_ctx *ctx;
  tn_symtab *syms;
  tn_map declared; /* interned dim_params of the model's inputs that are names, not expressions */
} tn_onnx_types;

/* Notes the dim_params of an input's type that are names. Comes before tn_onnx_type_read, over all inputs. */
TN_MUST_CHECK tn_status tn_onnx_type_declare(tn_onnx_types *ts, tn_bytes bytes, tn_loc loc);

typedef enum tn_onnx_type_role {
  TN_ONNX_INPUT, /* names become symbols; a map or sequence may be had */
  TN_ONNX_CLAIM  /* what a file says of a value: dims that are no expression of declared names are unknown */
} tn_onnx_type_role;
/* UNSUPPORTED for sparse and opaque types; a map has kind MAP. Dims that are not known are NULL. */
TN_MUST_CHECK tn_status tn_onnx_type_read(tn_onnx_types *ts, tn_bytes bytes, tn_onnx_type_role role, tn_loc loc,
                                          tn_type *out);

/* The dim a dim_param stands for under the model's names; NULL when it is none of them. */
tn_sym tn_onnx_dim_known(tn_onnx_types *ts, tn_str text);
/* What is written as dim_param. */
const char *tn_onnx_dim_text(tn_symtab *syms, tn_sym dim);
/* A TypeProto; empty when the type is not known. In splice.c. */
tn_bytes tn_onnx_write_type(tn_ctx *ctx, tn_symtab *syms, const tn_type *t);

#endif
