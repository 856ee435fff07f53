/* What the files of the import share: scopes of names, calls of functions, and the pieces that walk them. */
#ifndef TN_ONNX_IMPORTER_H
#define TN_ONNX_IMPORTER_H

#include "ir/import.h"
#include "onnx/model.h"

typedef struct tn_onnx_importer {
  tn_onnx_model *model;
  tn_ctx *ctx;
  tn_graph *graph;
  int64_t n_expanded, max_expanded; /* nodes that came out of functions */
  tn_value lost;                    /* stands for the results of a node that was refused as UNSUPPORTED */
  bool refused;                     /* there was one; the walk goes on, to report all of them */
} tn_onnx_importer;

typedef struct tn_onnx_call { /* a function being expanded */
  tn_onnx_function *function;
  const tn_import_attr *attrs; /* the caller's */
  int n_attrs;
  const char *prefix; /* of the names of its nodes and values: "call/" */
} tn_onnx_call;

/* One graph being built. Lives on the stack of the walk; inner frames point to outer ones. */
typedef struct tn_onnx_frame {
  tn_onnx_importer *imp;
  const struct tn_onnx_frame *up; /* whose names are visible too; NULL for the main graph and for functions */
  const tn_onnx_call *call;       /* NULL outside functions */
  tn_map *values;                 /* interned name -> tn_value *; NULL value: an absent input of a function */
  tn_map claims;                  /* interned name -> tn_onnx_port * with what the file says of its type */
  int depth;
} tn_onnx_frame;

typedef struct tn_onnx_closure { /* a graph attribute and where its free names are looked up */
  tn_onnx_graph *graph;
  const tn_onnx_frame *frame;
} tn_onnx_closure;

/* Opset version of a domain inside `call` (NULL: the model's); 0 when nobody imports it. */
int64_t tn_onnx_version_of(const tn_onnx_model *m, const tn_onnx_function *f, const char *domain);
/* Reports every node that no importer takes; UNSUPPORTED when there is one. */
TN_MUST_CHECK tn_status tn_onnx_check_operators(tn_onnx_model *m);

/* Values of a node's attributes; references to the enclosing function's attributes are replaced, those that nobody gave
 * are left out. */
TN_MUST_CHECK tn_status tn_onnx_read_attrs(const tn_onnx_frame *frame, const tn_onnx_attr *attrs, int n, tn_loc loc,
                                           tn_import_attr *out, int *out_n); /* room for n */
/* Expands a call. in[] may hold NULL; out[i] is set for every output of the node. */
TN_MUST_CHECK tn_status tn_onnx_expand(const tn_onnx_frame *frame, tn_onnx_function *f, const tn_onnx_node *node,
                                       tn_loc loc, tn_value *const *in, tn_region *region, tn_value **out);
/* All nodes of a graph, in order, into region; the names they define go into frame->values. */
TN_MUST_CHECK tn_status tn_onnx_import_nodes(tn_onnx_frame *frame, const tn_onnx_graph *g, tn_region *region);
/* The value of a name, here or further out. False: nobody defines it. */
TN_MUST_CHECK bool tn_onnx_lookup(const tn_onnx_frame *frame, const char *name, tn_value **out);

#endif
