/* GraphProto and FunctionProto to trees of nodes with interned names. */
#include <inttypes.h>
#include <limits.h>

#include "onnx/model.h"

enum { GRAPH_BYTES_OF_NODE = 240, GRAPH_BYTES_MADE = 500 }; /* here, and until it is inferred; of small nodes, about */

static const char *graph_domain(tn_ctx *ctx, tn_str domain) {
  const tn_str own = {"", 0};
  return tn_ctx_name(ctx, domain.len == 0 || tn_str_is(domain, "ai.onnx") ? own : domain);
}

/* Names are C strings from here on. */
static tn_status graph_name(tn_ctx *ctx, tn_str s, tn_loc loc, const char **out) {
  *out = tn_ctx_name(ctx, s);
  if (s.len && memchr(s.ptr, 0, s.len)) return tn_fail(ctx, TN_INVALID, loc, "name '%s' holds a zero byte", *out);
  return TN_OK;
}

static tn_status graph_names(tn_ctx *ctx, const tn_pb_strs *strs, tn_loc loc, const char *const **out) {
  const char **names = strs->n ? TN_NEW_ARRAY(&ctx->source, const char *, strs->n) : NULL;
  *out = names;
  for (size_t i = 0; i < strs->n; i++)
    if (strs->at[i].len) TN_TRY(graph_name(ctx, strs->at[i], loc, &names[i]));
  return TN_OK;
}

/* Old files leave the type out; the one field that is there tells it. */
static int graph_attr_type(const tn_pb_attribute *a) {
  if (a->type.v) return a->type.v > 0 && a->type.v <= TN_ONNX_ATTR_TYPES ? (int)a->type.v : -1;
  if (a->ref_attr_name.len) return TN_ONNX_ATTR_UNDEFINED;
  if (a->f.has) return TN_ONNX_ATTR_FLOAT;
  if (a->i.has) return TN_ONNX_ATTR_INT;
  if (a->s.ptr) return TN_ONNX_ATTR_STRING;
  if (a->t.ptr) return TN_ONNX_ATTR_TENSOR;
  if (a->g.ptr) return TN_ONNX_ATTR_GRAPH;
  if (a->floats.n_fields) return TN_ONNX_ATTR_FLOATS;
  if (a->ints.n_fields) return TN_ONNX_ATTR_INTS;
  if (a->strings.n) return TN_ONNX_ATTR_STRINGS;
  if (a->tensors.n) return TN_ONNX_ATTR_TENSORS;
  return -1;
}

static tn_status graph_read_attr(tn_ctx *ctx, tn_bytes bytes, tn_loc loc, int depth, tn_onnx_attr *out) {
  tn_pb_attribute a;
  TN_TRY(tn_pb_read_attribute(ctx, bytes, loc, &a));
  if (a.name.len == 0) return tn_fail(ctx, TN_INVALID, loc, "an attribute has no name");
  out->name = tn_ctx_name(ctx, a.name);
  out->bytes = bytes;
  out->type = graph_attr_type(&a);
  if (out->type < 0) return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' has no type and no value", out->name);
  if (a.ref_attr_name.len) {
    out->ref = tn_ctx_name(ctx, a.ref_attr_name);
    return TN_OK;
  }
  if (out->type == TN_ONNX_ATTR_UNDEFINED)
    return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' has no type and no value", out->name);
  out->i = a.i.v;
  if (out->type != TN_ONNX_ATTR_GRAPH) return TN_OK;
  if (!a.g.ptr) return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' has no graph", out->name);
  out->graph = TN_NEW(&ctx->source, tn_onnx_graph);
  return tn_onnx_read_graph(ctx, a.g, depth + 1, out->graph);
}

static tn_status graph_check_attr_names(tn_ctx *ctx, const tn_onnx_attr *attrs, size_t n, tn_loc loc) {
  tn_map seen = {0};
  for (size_t i = 0; i < n; i++) {
    bool again = false;
    if (n <= 8)
      for (size_t j = 0; j < i; j++) again |= attrs[j].name == attrs[i].name;
    else
      again = tn_map_find(&seen, tn_map_key(attrs[i].name), NULL);
    if (again) return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' is given twice", attrs[i].name);
    if (n > 8) tn_map_set(&ctx->source, &seen, tn_map_key(attrs[i].name), 1);
  }
  return TN_OK;
}

static tn_status graph_read_attrs(tn_ctx *ctx, const tn_pb_msgs *msgs, tn_loc loc, int depth,
                                  const tn_onnx_attr **out) {
  tn_onnx_attr *attrs = msgs->n ? TN_NEW_ARRAY(&ctx->source, tn_onnx_attr, msgs->n) : NULL;
  for (size_t i = 0; i < msgs->n; i++) TN_TRY(graph_read_attr(ctx, msgs->at[i], loc, depth, &attrs[i]));
  *out = attrs;
  return graph_check_attr_names(ctx, attrs, msgs->n, loc);
}

/* Metadata named "tenon.*"; what else there is, is for others. */
static tn_status graph_read_marks(tn_ctx *ctx, const tn_pb_msgs *msgs, tn_loc loc, tn_onnx_node *out) {
  static const char prefix[] = "tenon.";
  tn_marks marks = TN_NO_MARKS;
  bool has_marks = false;
  for (size_t i = 0; i < msgs->n; i++) {
    tn_pb_entry e;
    TN_TRY(tn_pb_read_entry(ctx, msgs->at[i], loc, &e));
    if (e.key.len < sizeof prefix || memcmp(e.key.ptr, prefix, sizeof prefix - 1) != 0) continue;
    const tn_str key = {e.key.ptr + sizeof prefix - 1, e.key.len - (sizeof prefix - 1)};
    TN_TRY(tn_marks_read(ctx, loc, key, e.value, &marks));
    has_marks = true;
  }
  if (!has_marks) return TN_OK;
  tn_marks *kept = TN_NEW(&ctx->arena, tn_marks);
  *kept = marks;
  out->marks = kept;
  return TN_OK;
}

/* The names that a node brings are new: each is found nowhere in a table that is larger than the caches. */
static tn_status graph_read_message(tn_ctx *ctx, tn_bytes bytes, size_t index, tn_pb_node *out) {
  TN_TRY(tn_pb_read_node_again(ctx, bytes, (tn_loc){"node", "", NULL, (int)index}, out));
  tn_intern_expect(&ctx->names, out->name);
  if (out->output.n) tn_intern_expect(&ctx->names, out->output.at[0]);
  return TN_OK;
}

static tn_status graph_read_node(tn_ctx *ctx, const tn_pb_node *n, size_t index, int depth, tn_onnx_node *out) {
  out->index = (int)index;
  out->name = tn_ctx_name(ctx, n->name);
  out->op = tn_ctx_name(ctx, n->op_type);
  out->domain = graph_domain(ctx, n->domain);
  out->overload = tn_ctx_name(ctx, n->overload);
  const tn_loc loc = tn_onnx_node_loc(out);
  if (n->op_type.len == 0) return tn_fail(ctx, TN_INVALID, loc, "the node has no operator type");
  if (n->input.n > INT_MAX / 2 || n->output.n > INT_MAX / 2 || n->attribute.n > INT_MAX / 2)
    return tn_fail(ctx, TN_LIMIT, loc, "the node has too many inputs, outputs or attributes");
  out->n_in = (int)n->input.n;
  out->n_out = (int)n->output.n;
  out->n_attrs = (int)n->attribute.n;
  TN_TRY(graph_names(ctx, &n->input, loc, &out->in));
  TN_TRY(graph_names(ctx, &n->output, loc, &out->out));
  TN_TRY(graph_read_marks(ctx, &n->metadata_props, loc, out));
  return graph_read_attrs(ctx, &n->attribute, loc, depth, &out->attrs);
}

static tn_status graph_read_nodes(tn_ctx *ctx, const tn_pb_msgs *msgs, int depth, tn_onnx_graph *out) {
  if (msgs->n >= INT32_MAX) return tn_fail(ctx, TN_LIMIT, (tn_loc){0}, "a graph has too many nodes");
  out->nodes = TN_NEW_ARRAY(&ctx->source, tn_onnx_node, msgs->n + 1);
  out->n_nodes = (int64_t)msgs->n;
  tn_pb_node ahead[2] = {{{0}}}; /* a node, and the next one */
  for (size_t i = 0; i <= msgs->n; i++) {
    if (i < msgs->n) TN_TRY(graph_read_message(ctx, msgs->at[i], i, &ahead[i % 2]));
    if (i > 0) TN_TRY(graph_read_node(ctx, &ahead[(i - 1) % 2], i - 1, depth, &out->nodes[i - 1]));
  }
  return TN_OK;
}

static tn_status graph_read_ports(tn_ctx *ctx, const tn_pb_msgs *msgs, const char *kind, tn_onnx_port **out,
                                  int64_t *out_n) {
  tn_onnx_port *ports = TN_NEW_ARRAY(&ctx->source, tn_onnx_port, msgs->n + 1);
  for (size_t i = 0; i < msgs->n; i++) {
    tn_pb_value_info v;
    const tn_loc loc = {kind, "", NULL, (int)(i & INT_MAX)};
    TN_TRY(tn_pb_read_value_info(ctx, msgs->at[i], loc, &v));
    if (v.name.len == 0 && strcmp(kind, "value") != 0) return tn_fail(ctx, TN_INVALID, loc, "it has no name");
    ports[i].type = v.type;
    TN_TRY(graph_name(ctx, v.name, loc, &ports[i].name));
  }
  *out = ports;
  *out_n = (int64_t)msgs->n;
  return TN_OK;
}

static tn_status graph_read_init(tn_ctx *ctx, tn_bytes bytes, bool sparse, size_t index, tn_onnx_init *out) {
  const tn_loc loc = {"initializer", "", NULL, (int)(index & INT_MAX)};
  tn_bytes tensor = bytes;
  if (sparse) {
    tn_pb_sparse s;
    TN_TRY(tn_pb_read_sparse(ctx, bytes, loc, &s));
    if (!s.values.ptr) return tn_fail(ctx, TN_INVALID, loc, "a sparse tensor needs values and indices");
    tensor = s.values;
  }
  tn_pb_tensor t;
  TN_TRY(tn_pb_read_tensor(ctx, tensor, loc, &t));
  if (t.name.len == 0) return tn_fail(ctx, TN_INVALID, loc, "it has no name");
  out->bytes = bytes;
  out->sparse = sparse;
  return graph_name(ctx, t.name, loc, &out->name);
}

static tn_status graph_read_inits(tn_ctx *ctx, const tn_pb_graph *g, tn_onnx_graph *out) {
  out->inits = TN_NEW_ARRAY(&ctx->source, tn_onnx_init, g->initializer.n + g->sparse_initializer.n + 1);
  for (size_t i = 0; i < g->initializer.n; i++)
    TN_TRY(graph_read_init(ctx, g->initializer.at[i], false, i, &out->inits[out->n_inits++]));
  for (size_t i = 0; i < g->sparse_initializer.n; i++)
    TN_TRY(graph_read_init(ctx, g->sparse_initializer.at[i], true, i, &out->inits[out->n_inits++]));
  return TN_OK;
}

tn_status tn_onnx_read_graph(tn_ctx *ctx, tn_bytes bytes, int depth, tn_onnx_graph *out) {
  tn_pb_graph g;
  if (depth > TN_ONNX_MAX_DEPTH)
    return tn_fail(ctx, TN_LIMIT, (tn_loc){0}, "graphs are nested more than %d deep", TN_ONNX_MAX_DEPTH);
  TN_TRY(tn_pb_read_graph(ctx, bytes, (tn_loc){0}, &g));
  tn_arena_reserve(&ctx->source, (size_t)GRAPH_BYTES_OF_NODE * g.node.n);
  tn_arena_reserve(&ctx->arena, (size_t)GRAPH_BYTES_MADE * g.node.n);
  out->bytes = bytes;
  out->name = tn_ctx_name(ctx, g.name);
  TN_TRY(graph_read_ports(ctx, &g.input, "input", &out->inputs, &out->n_inputs));
  TN_TRY(graph_read_ports(ctx, &g.output, "output", &out->outputs, &out->n_outputs));
  TN_TRY(graph_read_ports(ctx, &g.value_info, "value", &out->infos, &out->n_infos));
  tn_intern_reserve(&ctx->names, g.initializer.n + g.node.n);
  TN_TRY(graph_read_inits(ctx, &g, out));
  TN_TRY(graph_read_nodes(ctx, &g.node, depth, out));
  return tn_onnx_link_graph(ctx, out);
}

static tn_status graph_ports_of(tn_ctx *ctx, const tn_pb_strs *names, tn_loc loc, tn_onnx_port **out, int64_t *out_n) {
  *out = TN_NEW_ARRAY(&ctx->source, tn_onnx_port, names->n + 1);
  *out_n = (int64_t)names->n;
  for (size_t i = 0; i < names->n; i++) {
    if (names->at[i].len == 0) return tn_fail(ctx, TN_INVALID, loc, "an input or output of the function has no name");
    TN_TRY(graph_name(ctx, names->at[i], loc, &(*out)[i].name));
  }
  return TN_OK;
}

tn_status tn_onnx_read_opsets(tn_ctx *ctx, const tn_pb_msgs *msgs, tn_onnx_opset **out, size_t *out_n) {
  *out = TN_NEW_ARRAY(&ctx->arena, tn_onnx_opset, msgs->n + 1);
  *out_n = msgs->n;
  for (size_t i = 0; i < msgs->n; i++) {
    tn_pb_opset o;
    TN_TRY(tn_pb_read_opset(ctx, msgs->at[i], (tn_loc){0}, &o));
    (*out)[i] = (tn_onnx_opset){graph_domain(ctx, o.domain), o.version.v};
    if (o.version.v <= 0)
      return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "unknown opset: version %" PRId64 " of domain '%.*s'", o.version.v,
                     (int)(o.domain.len < 100 ? o.domain.len : 100), o.domain.ptr ? o.domain.ptr : "");
  }
  return TN_OK;
}

tn_status tn_onnx_read_function(tn_ctx *ctx, tn_bytes bytes, tn_onnx_function *out) {
  tn_pb_function f;
  tn_onnx_opset *opsets;
  TN_TRY(tn_pb_read_function(ctx, bytes, (tn_loc){0}, &f));
  const tn_loc loc = {"function", tn_ctx_name(ctx, f.name), NULL, 0};
  if (f.name.len == 0) return tn_fail(ctx, TN_INVALID, loc, "it has no name");
  out->name = loc.name;
  out->domain = graph_domain(ctx, f.domain);
  out->overload = tn_ctx_name(ctx, f.overload);
  TN_TRY(graph_names(ctx, &f.attribute, loc, &out->attrs));
  out->n_attrs = f.attribute.n;
  out->n_defaults = f.attribute_proto.n;
  out->body.bytes = bytes;
  out->body.name = out->name;
  TN_TRY(tn_onnx_read_opsets(ctx, &f.opset_import, &opsets, &out->n_opsets));
  out->opsets = opsets;
  TN_TRY_WHILE(ctx, graph_read_attrs(ctx, &f.attribute_proto, loc, 1, &out->defaults), "reading function '%s'",
               out->name);
  TN_TRY(graph_ports_of(ctx, &f.input, loc, &out->body.inputs, &out->body.n_inputs));
  TN_TRY(graph_ports_of(ctx, &f.output, loc, &out->body.outputs, &out->body.n_outputs));
  TN_TRY_WHILE(ctx, graph_read_nodes(ctx, &f.node, 1, &out->body), "reading function '%s'", out->name);
  TN_TRY_WHILE(ctx, tn_onnx_link_graph(ctx, &out->body), "reading function '%s'", out->name);
  return TN_OK;
}
