/* The parts of a split as models of their own. Nodes are copied byte for byte; what the model calls by name keeps its
 * name, so parts fit together by names. */
#ifndef TN_ONNX_PARTS_H
#define TN_ONNX_PARTS_H

#include "ir/part.h"
#include "onnx/onnx.h"

typedef struct tn_onnx_part_port {
  const char *name;
  const tn_type *type;
} tn_onnx_part_port;

typedef struct tn_onnx_part {
  tn_bytes model; /* ModelProto */
  const tn_onnx_part_port *inputs, *outputs;
  uint32_t n_inputs, n_outputs, n_nodes;
} tn_onnx_part;

typedef struct tn_onnx_part_weight { /* in the file of weights, in order of their offsets */
  uint64_t offset;
  tn_bytes data;
} tn_onnx_part_weight;

typedef struct tn_onnx_parts {
  const tn_onnx_part *parts; /* as many as the main region has */
  uint32_t n_parts;
  const tn_onnx_part_port *inputs, *outputs; /* of the whole model */
  uint32_t n_inputs, n_outputs;
  const tn_onnx_part_weight *weights;
  size_t n_weights;
} tn_onnx_parts;

/* In the context's arena; `s` is a plan over the graph that was imported from `m`, its nodes in place. Tensors of 1 KiB
 * and more are external data at `location`, beside the part; NULL: they are in the parts. Nodes that compute nothing
 * (aliases) and constants go into every part that needs them. UNSUPPORTED when the model has no node that is in a part.
 */
TN_MUST_CHECK tn_status tn_onnx_write_parts(tn_onnx_model *m, const tn_partition_set *s, const char *location,
                                            tn_onnx_parts *out);

/* One model again from the bytes of its parts, in their order: nodes and tensors that several have, byte for byte, are
 * there once. The inputs and outputs are those with the given names. INVALID when parts make one name in two ways, or
 * have different opsets of one domain or different functions of one name. */
TN_MUST_CHECK tn_status tn_onnx_join_parts(tn_ctx *ctx, const tn_bytes *models, size_t n, const tn_str *inputs,
                                           size_t n_inputs, const tn_str *outputs, size_t n_outputs, tn_bytes *out);

#endif
