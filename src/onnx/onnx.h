/* ONNX files: read without copying, import into a graph, write back by splicing. */
#ifndef TN_ONNX_ONNX_H
#define TN_ONNX_ONNX_H

#include "ir/graph.h"

typedef struct tn_onnx_model tn_onnx_model;

/* Parses ModelProto over `bytes` (which must outlive the model; nothing is copied). `path` is the model's file name for
 * messages and for external data, which is confined to its folder; NULL: no external data. */
TN_MUST_CHECK tn_status tn_onnx_read(tn_ctx *ctx, tn_bytes bytes, const char *path, tn_onnx_model **out);

typedef struct tn_onnx_opset {
  const char *domain;
  int64_t version;
} tn_onnx_opset;
typedef struct tn_onnx_info {
  int64_t ir_version;
  const char *producer, *producer_version, *graph_name;
  const tn_onnx_opset *opsets;
  int64_t n_opsets;
  int64_t n_nodes, n_initializers, n_functions; /* nodes: of the main graph; n_nodes_total with subgraphs */
  int64_t n_nodes_total;
  int64_t weight_bytes; /* of initializers, external ones included */
  int64_t n_operators;  /* distinct (domain, type) with counts */
  const char *const *operators;
  const int64_t *operator_counts;
  int64_t n_metadata;
  const char *const *metadata_keys, *const *metadata_values;
} tn_onnx_info;
tn_onnx_info tn_onnx_get_info(tn_onnx_model *m);
/* Inputs and outputs of the main graph as the file declares them; inputs that have initializers are left out. A type
 * that is not said or that nothing here can hold has kind UNKNOWN, dims that are not said are NULL. */
typedef struct tn_onnx_declared {
  const char *name;
  tn_type type;
} tn_onnx_declared;
typedef struct tn_onnx_interface {
  const tn_onnx_declared *inputs, *outputs;
  size_t n_inputs, n_outputs;
} tn_onnx_interface;
TN_MUST_CHECK tn_status tn_onnx_read_interface(tn_onnx_model *m, tn_symtab *syms, tn_onnx_interface *out);

/* Builds the graph: inputs with declared types (dim_params become shared symbols, expressions are parsed), nodes
 * through the operators' importers, functions expanded, initializers as constants. Unsupported operators are reported
 * all at once, each with node name and reason; the status is then UNSUPPORTED. */
TN_MUST_CHECK tn_status tn_onnx_import(tn_onnx_model *m, tn_graph **out);
/* Before the import: maps all files that tensors of the model lie in, in an order that the model alone decides. false:
 * one cannot be; nothing is recorded, the import says it if it matters. */
bool tn_onnx_map_data(tn_onnx_model *m);
/* Before the import: a node whose operator nobody knows becomes one of `opaque`, with a warning. Such a graph can be
 * inferred, not run. */
void tn_onnx_keep_unknown(tn_onnx_model *m);

/* The original bytes with inferred shapes spliced in, as a list of parts that mostly point into the original. A value
 * whose shape is known gets a value_info (or its output's / existing value_info's type replaced). */
TN_MUST_CHECK tn_status tn_onnx_splice(tn_onnx_model *m, tn_graph *g, const tn_bytes **out_parts, size_t *out_n);

/* TensorProto, SequenceProto, OptionalProto files of test data. `kind` decides which message the bytes are. */
TN_MUST_CHECK tn_status tn_onnx_read_tensor(tn_ctx *ctx, tn_bytes bytes, tn_type_kind kind, const tn_lit **out);
/* TensorProto bytes (for writing test data). */
void tn_onnx_write_tensor(tn_ctx *ctx, const tn_lit *lit, const char *name, tn_bytes *out);

#endif
