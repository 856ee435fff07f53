/* The neutral node handed to importers (no wire-format types). An importer makes one or more nodes that compute
 * im->out[i] for every present output. Old operator versions are normalised here, so that no pass asks for an opset. */
#ifndef TN_IR_IMPORT_H
#define TN_IR_IMPORT_H

#include "ir/edit.h"
#include "ir/op.h"

typedef struct tn_import_attr {
  const char *name;
  tn_attr value;
  bool used; /* set by the getters; an attribute nobody used is INVALID at the end of tn_import_same's callers */
} tn_import_attr;

typedef struct tn_import {
  tn_ctx *ctx;
  tn_graph *graph;
  tn_region *region; /* nodes are appended here */
  tn_loc loc;
  const tn_onnx_row *row;
  int64_t version; /* the model's opset for this domain */
  int n_in, n_out;
  tn_value **in;  /* NULL = absent ("" in the model or past the end) */
  tn_value **out; /* to be set; starts NULL */
  const bool *out_present;
  const char *const *out_names; /* interned: what the outputs are to be called; may be NULL, and [i] if absent */
  int n_attrs;
  tn_import_attr *attrs;
  /* Builds the graph of an attribute of kind REGION into `into` (parameters, nodes, results). Given by the reader. */
  tn_status (*build_region)(struct tn_import *im, const tn_attr *graph_attr, tn_region *into);
  /* The value that the model calls `name` at this place (interned), INVALID when nobody defines it. From the reader. */
  tn_status (*find_value)(struct tn_import *im, const char *name, tn_value **out);
  const void *reader;
} tn_import;

#define tn_import_fail(im, code, ...) tn_fail((im)->ctx, (code), (im)->loc, __VA_ARGS__)

/* Attribute getters: mark as used; a wrong kind is INVALID ("attribute 'axis' is a float, expected an int"). */
TN_MUST_CHECK tn_status tn_import_get(tn_import *im, const char *name, tn_attr_kind kind,
                                      const tn_attr **out); /* NULL = absent */
TN_MUST_CHECK tn_status tn_import_int(tn_import *im, const char *name, int64_t absent, int64_t *out);
TN_MUST_CHECK tn_status tn_import_float(tn_import *im, const char *name, double absent, double *out);
TN_MUST_CHECK tn_status tn_import_str(tn_import *im, const char *name, const char *absent, tn_str *out);
TN_MUST_CHECK tn_status tn_import_ints(tn_import *im, const char *name, const int64_t **out,
                                       int64_t *out_n);      /* NULL, 0 = absent */
TN_MUST_CHECK tn_status tn_import_check_used(tn_import *im); /* INVALID when an attribute was not looked at */
void tn_import_ignore(tn_import *im, const char *name); /* an attribute without effect on inference (consumed_inputs) */

/* One node of im->row->op: inputs by position, attributes by name and kind (an unknown name or wrong kind is INVALID),
 * graph attributes into regions in schema order, outputs by position. */
tn_status tn_import_same(tn_import *im);
/* The pieces, for importers that normalise. Both append to im->region. */
tn_node *tn_import_node(tn_import *im, const char *op, tn_value *const *in, int n_in, int n_out);
tn_value *tn_import_const_i64(tn_import *im, const int64_t *v, int64_t n); /* 1-D */
tn_value *tn_import_const_f32(tn_import *im, const double *v, int64_t n);  /* 1-D */
tn_value *tn_import_const_strs(tn_import *im, const tn_str *v, int64_t n); /* 1-D */
tn_value *tn_import_const_lit(tn_import *im, const tn_lit *lit);
void tn_import_set_int(tn_node *node, const char *attr, int64_t v);
void tn_import_set_ints(tn_node *node, const char *attr, const int64_t *v, int64_t n); /* copied */
void tn_import_set_float(tn_node *node, const char *attr, double v);
void tn_import_set_str(tn_node *node, const char *attr, const char *v);
/* Copies every not yet used attribute that the node's op has in its schema (kind checked). */
TN_MUST_CHECK tn_status tn_import_copy_attrs(tn_import *im, tn_node *node);
void tn_import_finish(tn_import *im, tn_node *node); /* out[i] = node->out[i] for every present output */

/* Stock importers of old forms. */
tn_status tn_import_attr_to_input(tn_import *im, const char *attr, int input_index, tn_value **out); /* INTS -> const */

#endif
