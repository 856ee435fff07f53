/* What the command line knows of element types: rows of tenon/dtype.def. */
#ifndef TN_CLI_TYPES_H
#define TN_CLI_TYPES_H

#include "cli/cli.h"

typedef enum tn_type_class {
  TN_TYPE_NONE,
  TN_TYPE_FLOAT,
  TN_TYPE_INT,
  TN_TYPE_UINT,
  TN_TYPE_BOOL,
  TN_TYPE_STRING,
  TN_TYPE_COMPLEX
} tn_type_class;

tn_type_class tn_type_class_of(tn_dtype d); /* NONE for a number without a row */
int tn_type_bits(tn_dtype d);
int64_t tn_tensor_count(const tn_tensor *t);         /* elements; 0 when one dim is */
const char *tn_tensor_type_text(const tn_tensor *t); /* "f32[2,3]", "seq(4)", "optional(f32[2,3])", "optional()" */

#endif
