/* The model as a tree of spans and interned names: what its structure says, before any operator is looked at. Reading
 * proves that every message outside tensors is well formed, that names are defined once and that nodes can be put in
 * an order. */
#ifndef TN_ONNX_MODEL_H
#define TN_ONNX_MODEL_H

#include "ir/mark.h"
#include "ir/op.h"
#include "onnx/onnx.h"
#include "onnx/tensor.h"
#include "onnx/type.h"

enum { TN_ONNX_MAX_DEPTH = 64 }; /* graphs in graphs, and functions in functions */

/* AttributeProto.AttributeType */
enum {
  TN_ONNX_ATTR_UNDEFINED,
  TN_ONNX_ATTR_FLOAT,
  TN_ONNX_ATTR_INT,
  TN_ONNX_ATTR_STRING,
  TN_ONNX_ATTR_TENSOR,
  TN_ONNX_ATTR_GRAPH,
  TN_ONNX_ATTR_FLOATS,
  TN_ONNX_ATTR_INTS,
  TN_ONNX_ATTR_STRINGS,
  TN_ONNX_ATTR_TENSORS,
  TN_ONNX_ATTR_GRAPHS,
  TN_ONNX_ATTR_SPARSE,
  TN_ONNX_ATTR_SPARSES,
  TN_ONNX_ATTR_TYPE,
  TN_ONNX_ATTR_TYPES
};

typedef struct tn_onnx_graph tn_onnx_graph;

typedef struct tn_onnx_attr {
  const char *name;
  const char *ref;      /* the attribute of the enclosing function it stands for; NULL: it has its own value */
  int type;             /* deduced where the file does not say; of a reference: what is expected, or UNDEFINED */
  tn_bytes bytes;       /* AttributeProto */
  int64_t i;            /* INT */
  tn_onnx_graph *graph; /* GRAPH */
} tn_onnx_attr;

typedef struct tn_onnx_node {
  const char *name, *domain, *op, *overload; /* domain "ai.onnx" is "" */
  const char *const *in, *const *out;        /* NULL: absent */
  int index;                                 /* in its graph */
  int n_in, n_out, n_attrs;
  const tn_onnx_attr *attrs;
  const tn_marks *marks;  /* NULL: none */
  const tn_onnx_row *row; /* set by tn_onnx_check_operators; NULL: a call of a function */
} tn_onnx_node;

static inline tn_loc tn_onnx_node_loc(const tn_onnx_node *node) {
  return (tn_loc){"node", node->name, node->op, node->index};
}

typedef struct tn_onnx_port { /* an input, output or value_info */
  const char *name;
  tn_bytes type; /* TypeProto; ptr NULL: none */
} tn_onnx_port;

typedef struct tn_onnx_init {
  const char *name;
  tn_bytes bytes; /* TensorProto, or SparseTensorProto */
  bool sparse;
} tn_onnx_init;

enum { TN_ONNX_DEF_INPUT, TN_ONNX_DEF_INIT, TN_ONNX_DEF_NODE }; /* INIT also when it is an input as well */

struct tn_onnx_graph {
  tn_bytes bytes; /* GraphProto; of a function FunctionProto */
  const char *name;
  tn_onnx_node *nodes; /* in file order */
  tn_onnx_port *inputs, *outputs, *infos;
  tn_onnx_init *inits;
  int64_t n_nodes, n_inputs, n_outputs, n_infos, n_inits;
  tn_map defs;             /* every name defined here -> TN_ONNX_DEF_*, or TN_ONNX_DEF_NODE + index of its node */
  const char *const *free; /* names used here and defined further out, each once */
  int64_t n_free;
  const uint32_t *order; /* nodes in an order of use; NULL: the file's is one */
  tn_map values;         /* name -> tn_value * once imported outside functions: what splicing writes about */
};

typedef struct tn_onnx_function {
  const char *domain, *name, *overload;
  tn_onnx_graph body;
  const char *const *attrs; /* names without default */
  size_t n_attrs;
  const tn_onnx_attr *defaults;
  size_t n_defaults;
  const tn_onnx_opset *opsets;
  size_t n_opsets;
  bool active;  /* being expanded */
  bool checked; /* its operators have been looked up */
} tn_onnx_function;

typedef struct tn_onnx_row_seen {
  int64_t version;
  const tn_onnx_row *row;
} tn_onnx_row_seen;

struct tn_onnx_model {
  tn_ctx *ctx;
  tn_bytes bytes;
  tn_pb_model pb;
  tn_onnx_source source;
  tn_onnx_graph graph;
  tn_onnx_opset *opsets;
  size_t n_opsets;
  tn_onnx_function *functions;
  size_t n_functions;
  tn_map function_of; /* interned "domain\0name\0overload" -> tn_onnx_function * */
  tn_map rows;        /* operator and domain -> index of rows_seen: the last version met */
  TN_VEC(tn_onnx_row_seen) rows_seen;
  int64_t n_nodes; /* of the main graph and those in it; set by tn_onnx_check_operators */
  tn_onnx_info info;
  tn_onnx_types types; /* the names of the last import */
  bool keeps_unknown;  /* tn_onnx_keep_unknown */
};

/* 0 when the (interned) domain has no version there. */
int64_t tn_onnx_opset_of(const tn_onnx_opset *opsets, size_t n, const char *domain);
tn_onnx_function *tn_onnx_find_function(const tn_onnx_model *m, const tn_onnx_node *node); /* NULL: none */
/* The tree of one GraphProto (or, `function`, of a FunctionProto's nodes, inputs and outputs). */
TN_MUST_CHECK tn_status tn_onnx_read_graph(tn_ctx *ctx, tn_bytes bytes, int depth, tn_onnx_graph *out);
TN_MUST_CHECK tn_status tn_onnx_read_function(tn_ctx *ctx, tn_bytes bytes, tn_onnx_function *out);
TN_MUST_CHECK tn_status tn_onnx_read_opsets(tn_ctx *ctx, const tn_pb_msgs *msgs, tn_onnx_opset **out, size_t *out_n);
/* Fills defs, free and order. INVALID: a name defined twice, or a cycle. */
TN_MUST_CHECK tn_status tn_onnx_link_graph(tn_ctx *ctx, tn_onnx_graph *g);
TN_MUST_CHECK tn_status tn_onnx_fill_info(tn_onnx_model *m);

#endif
