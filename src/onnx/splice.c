/* Writing back: the original bytes with value types spliced in. Only messages that hold a change get a new length; all
 * else is a window on the original. */
#include "onnx/model.h"

typedef struct splice_rope { /* a message in parts */
  TN_VEC(tn_bytes) parts;
  size_t len;
  bool changed;
} splice_rope;

typedef struct splice {
  tn_ctx *ctx;
  tn_onnx_types *types;
} splice;

static void splice_add(const splice *s, splice_rope *r, tn_bytes b) {
  if (b.len == 0) return;
  r->len += b.len; /* parts are disjoint pieces of memory, so the sum fits */
  tn_bytes *last = r->parts.n ? &r->parts.at[r->parts.n - 1] : NULL;
  if (last && last->ptr + last->len == b.ptr)
    last->len += b.len;
  else
    tn_vec_push(&s->ctx->arena, &r->parts, b);
}

static void splice_keep(const splice *s, splice_rope *r, const tn_wire_field *f) {
  splice_add(s, r, (tn_bytes){f->begin, (size_t)(f->end - f->begin)});
}

/* Field `f` of the outer message with new contents. */
static void splice_replace(const splice *s, splice_rope *r, const tn_wire_field *f, const splice_rope *inner) {
  uint8_t *len = tn_arena_alloc(&s->ctx->arena, TN_WIRE_MAX_VARINT, 1);
  splice_add(s, r, (tn_bytes){f->begin, (size_t)(f->after_tag - f->begin)});
  splice_add(s, r, (tn_bytes){len, tn_wire_put_varint(len, inner->len)});
  for (size_t i = 0; i < inner->parts.n; i++) splice_add(s, r, inner->parts.at[i]);
  r->changed = true;
}

/* Types. Readers below cannot fail: the import has read the same messages. */

static bool splice_known(const tn_type *t) {
  if (t->kind == TN_TYPE_TENSOR) return t->dtype != TN_DTYPE_NONE;
  if (t->kind == TN_TYPE_SEQUENCE || t->kind == TN_TYPE_OPTIONAL) return t->elem && splice_known(t->elem);
  return false;
}

static bool splice_same_dim(const splice *s, tn_bytes bytes, tn_sym dim) {
  tn_pb_dim d;
  if (!dim) return true;
  if (tn_pb_read_dim(s->ctx, bytes, (tn_loc){0}, &d) != TN_OK) return false;
  if (tn_sym_is_int(dim)) return d.dim_value.has && d.dim_value.v == dim->k;
  if (d.dim_value.has || d.dim_param.len == 0) return false;
  return tn_str_is(d.dim_param, tn_onnx_dim_text(s->types->syms, dim)) ||
         tn_onnx_dim_known(s->types, d.dim_param) == dim;
}

static bool splice_same_tensor(const splice *s, tn_bytes bytes, const tn_type *t) {
  tn_pb_tensor_type pb;
  tn_pb_shape shape;
  if (tn_pb_read_tensor_type(s->ctx, bytes, (tn_loc){0}, &pb) != TN_OK || pb.elem_type.v != (int64_t)t->dtype)
    return false;
  if (t->rank < 0) return true;
  if (!pb.shape.ptr || tn_pb_read_shape(s->ctx, pb.shape, (tn_loc){0}, &shape) != TN_OK) return false;
  if (shape.dim.n != (size_t)t->rank) return false;
  for (int i = 0; i < t->rank; i++)
    if (!splice_same_dim(s, shape.dim.at[i], t->dims[i])) return false;
  return true;
}

static bool splice_same_type(const splice *s, tn_bytes bytes, const tn_type *t) {
  tn_pb_type pb;
  tn_pb_holder_type h;
  if (tn_pb_read_type(s->ctx, bytes, (tn_loc){0}, &pb) != TN_OK) return false;
  if (t->kind == TN_TYPE_TENSOR) return pb.tensor_type.ptr && splice_same_tensor(s, pb.tensor_type, t);
  const tn_bytes holder = t->kind == TN_TYPE_SEQUENCE ? pb.sequence_type : pb.optional_type;
  if (!holder.ptr || tn_pb_read_holder_type(s->ctx, holder, (tn_loc){0}, &h) != TN_OK) return false;
  return h.elem_type.ptr && splice_same_type(s, h.elem_type, t->elem);
}

/* Copies the fields of `bytes` but those with the numbers a and b. */
static void splice_copy_others(tn_wire_out *o, tn_bytes bytes, uint32_t a, uint32_t b) {
  tn_wire w = tn_wire_over(bytes);
  tn_wire_field f;
  while (tn_wire_next(&w, &f))
    if (f.number != a && f.number != b) tn_wire_add_bytes(o, f.begin, (size_t)(f.end - f.begin));
}

static tn_wire_out splice_out(const splice *s) {
  tn_wire_out o = {.arena = &s->ctx->arena};
  return o;
}

static void splice_add_message(tn_wire_out *o, uint32_t number, const tn_wire_out *inner) {
  tn_wire_add_len_field(o, number, inner->bytes.at, inner->bytes.n);
}

static void splice_write_dim(const splice *s, tn_wire_out *o, tn_bytes was, tn_sym dim) {
  tn_wire_out d = splice_out(s);
  if (!dim) {
    tn_wire_add_len_field(o, TN_F_shape_dim, was.ptr, was.len);
    return;
  }
  if (tn_sym_is_int(dim)) {
    tn_wire_add_int_field(&d, TN_F_dim_dim_value, (uint64_t)dim->k);
  } else {
    const char *text = tn_onnx_dim_text(s->types->syms, dim);
    tn_wire_add_len_field(&d, TN_F_dim_dim_param, text, strlen(text));
  }
  splice_copy_others(&d, was, TN_F_dim_dim_value, TN_F_dim_dim_param);
  splice_add_message(o, TN_F_shape_dim, &d);
}

/* Dims keep their denotations while the rank stays. */
static void splice_write_shape(const splice *s, tn_wire_out *o, tn_bytes was, const tn_type *t) {
  tn_pb_shape shape = {0};
  tn_wire_out out = splice_out(s);
  const bool read = was.ptr && tn_pb_read_shape(s->ctx, was, (tn_loc){0}, &shape) == TN_OK;
  const bool keep = read && shape.dim.n == (size_t)t->rank;
  for (int i = 0; i < t->rank; i++) splice_write_dim(s, &out, keep ? shape.dim.at[i] : (tn_bytes){NULL, 0}, t->dims[i]);
  splice_copy_others(&out, was, TN_F_shape_dim, 0);
  splice_add_message(o, TN_F_tensor_type_shape, &out);
}

static void splice_write_tensor(const splice *s, tn_wire_out *o, tn_bytes was, const tn_type *t) {
  tn_pb_tensor_type pb = {0};
  tn_wire_out out = splice_out(s);
  if (was.ptr && tn_pb_read_tensor_type(s->ctx, was, (tn_loc){0}, &pb) != TN_OK) pb.shape.ptr = NULL;
  tn_wire_add_int_field(&out, TN_F_tensor_type_elem_type, (uint64_t)t->dtype);
  if (t->rank >= 0)
    splice_write_shape(s, &out, pb.shape, t);
  else if (pb.shape.ptr)
    tn_wire_add_len_field(&out, TN_F_tensor_type_shape, pb.shape.ptr, pb.shape.len);
  splice_copy_others(&out, was, TN_F_tensor_type_elem_type, TN_F_tensor_type_shape);
  splice_add_message(o, TN_F_type_tensor_type, &out);
}

/* A TypeProto's contents; what else the old one said (its denotation) stays, other kinds of type go. */
static void splice_write_type(const splice *s, tn_wire_out *o, tn_bytes was, const tn_type *t) {
  tn_pb_type pb = {0};
  if (was.ptr && tn_pb_read_type(s->ctx, was, (tn_loc){0}, &pb) != TN_OK) pb = (tn_pb_type){0};
  if (t->kind == TN_TYPE_TENSOR) {
    splice_write_tensor(s, o, pb.tensor_type, t);
  } else {
    const bool is_sequence = t->kind == TN_TYPE_SEQUENCE;
    const tn_bytes old = is_sequence ? pb.sequence_type : pb.optional_type;
    tn_pb_holder_type h = {0};
    tn_wire_out elem = splice_out(s), holder = splice_out(s);
    if (old.ptr && tn_pb_read_holder_type(s->ctx, old, (tn_loc){0}, &h) != TN_OK) h.elem_type.ptr = NULL;
    splice_write_type(s, &elem, h.elem_type, t->elem);
    splice_add_message(&holder, TN_F_holder_type_elem_type, &elem);
    splice_add_message(o, is_sequence ? TN_F_type_sequence_type : TN_F_type_optional_type, &holder);
  }
  tn_wire w = tn_wire_over(was);
  tn_wire_field f;
  while (tn_wire_next(&w, &f))
    if (f.number != TN_F_type_tensor_type && f.number != TN_F_type_sequence_type && f.number != TN_F_type_map_type &&
        f.number != TN_F_type_opaque_type && f.number != TN_F_type_sparse_tensor_type &&
        f.number != TN_F_type_optional_type)
      tn_wire_add_bytes(o, f.begin, (size_t)(f.end - f.begin));
}

tn_bytes tn_onnx_write_type(tn_ctx *ctx, tn_symtab *syms, const tn_type *t) {
  tn_onnx_types types = {.ctx = ctx, .syms = syms};
  const splice s = {ctx, &types};
  tn_wire_out o = splice_out(&s);
  if (splice_known(t)) splice_write_type(&s, &o, (tn_bytes){NULL, 0}, t);
  return tn_wire_out_bytes(&o);
}

/* Graphs. */

static const tn_type *splice_type_of(const tn_onnx_graph *g, const char *name) {
  const tn_value *v = tn_map_find_name(&g->values, name);
  return v && splice_known(&v->type) ? &v->type : NULL;
}

/* A ValueInfoProto with its type replaced where it is, or added at the end. */
static void splice_port(const splice *s, splice_rope *out, const tn_wire_field *field, const tn_onnx_port *port,
                        const tn_type *type) {
  if (!type || (port->type.ptr && splice_same_type(s, port->type, type))) {
    splice_keep(s, out, field);
    return;
  }
  tn_wire_out t = splice_out(s);
  splice_write_type(s, &t, port->type, type);
  splice_rope info = {0};
  const splice_rope inner = {.parts = {(tn_bytes[]){tn_wire_out_bytes(&t)}, 1, 1}, .len = t.bytes.n};
  tn_wire w = tn_wire_over(field->bytes);
  tn_wire_field f;
  bool done = false;
  while (tn_wire_next(&w, &f)) {
    if (f.number == TN_F_value_info_type) {
      splice_replace(s, &info, &f, &inner);
      done = true;
    } else {
      splice_keep(s, &info, &f);
    }
  }
  if (!done) {
    tn_wire_out o = splice_out(s);
    splice_add_message(&o, TN_F_value_info_type, &t);
    splice_add(s, &info, tn_wire_out_bytes(&o));
  }
  splice_replace(s, out, field, &info);
}

static void splice_graph(const splice *s, const tn_onnx_graph *g, splice_rope *out);

static void splice_attr(const splice *s, const tn_onnx_attr *attr, splice_rope *out) {
  tn_wire w = tn_wire_over(attr->bytes);
  tn_wire_field f;
  while (tn_wire_next(&w, &f)) {
    splice_rope inner = {0};
    if (f.number == TN_F_attribute_g) splice_graph(s, attr->graph, &inner);
    if (inner.changed)
      splice_replace(s, out, &f, &inner);
    else
      splice_keep(s, out, &f);
  }
}

static void splice_node(const splice *s, const tn_onnx_node *node, tn_bytes bytes, splice_rope *out) {
  tn_wire w = tn_wire_over(bytes);
  tn_wire_field f;
  int i = 0;
  while (tn_wire_next(&w, &f)) {
    splice_rope inner = {0};
    if (f.number == TN_F_node_attribute) {
      if (node->attrs[i].graph) splice_attr(s, &node->attrs[i], &inner);
      i++;
    }
    if (inner.changed)
      splice_replace(s, out, &f, &inner);
    else
      splice_keep(s, out, &f);
  }
}

static bool splice_has_graph(const tn_onnx_node *node) {
  for (int i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].graph) return true;
  return false;
}

static void splice_new_infos(const splice *s, const tn_onnx_graph *g, splice_rope *out) {
  tn_map said = {0};
  tn_wire_out o = splice_out(s);
  for (int64_t i = 0; i < g->n_infos; i++) tn_map_set(&s->ctx->arena, &said, tn_map_key(g->infos[i].name), 1);
  for (int64_t i = 0; i < g->n_outputs; i++) tn_map_set(&s->ctx->arena, &said, tn_map_key(g->outputs[i].name), 1);
  for (int64_t i = 0; i < g->n_nodes; i++) {
    const tn_onnx_node *node = &g->nodes[i];
    for (int k = 0; k < node->n_out; k++) {
      const tn_type *type = node->out[k] ? splice_type_of(g, node->out[k]) : NULL;
      if (!type || tn_map_find(&said, tn_map_key(node->out[k]), NULL)) continue;
      tn_wire_out t = splice_out(s), info = splice_out(s);
      splice_write_type(s, &t, (tn_bytes){NULL, 0}, type);
      tn_wire_add_len_field(&info, TN_F_value_info_name, node->out[k], strlen(node->out[k]));
      splice_add_message(&info, TN_F_value_info_type, &t);
      splice_add_message(&o, TN_F_graph_value_info, &info);
    }
  }
  if (o.bytes.n) out->changed = true;
  splice_add(s, out, tn_wire_out_bytes(&o));
}

static void splice_graph(const splice *s, const tn_onnx_graph *g, splice_rope *out) {
  tn_wire w = tn_wire_over(g->bytes);
  tn_wire_field f;
  int64_t node = 0, output = 0, info = 0;
  while (tn_wire_next(&w, &f)) {
    if (f.number == TN_F_graph_output) {
      const tn_onnx_port *port = &g->outputs[output++];
      splice_port(s, out, &f, port, splice_type_of(g, port->name));
    } else if (f.number == TN_F_graph_value_info) {
      const tn_onnx_port *port = &g->infos[info++];
      splice_port(s, out, &f, port, splice_type_of(g, port->name));
    } else if (f.number == TN_F_graph_node && splice_has_graph(&g->nodes[node])) {
      splice_rope inner = {0};
      splice_node(s, &g->nodes[node++], f.bytes, &inner);
      if (inner.changed)
        splice_replace(s, out, &f, &inner);
      else
        splice_keep(s, out, &f);
    } else {
      node += f.number == TN_F_graph_node;
      splice_keep(s, out, &f);
    }
  }
  splice_new_infos(s, g, out);
}

tn_status tn_onnx_splice(tn_onnx_model *m, tn_graph *g, const tn_bytes **out_parts, size_t *out_n) {
  const splice s = {m->ctx, &m->types};
  splice_rope graph = {0}, model = {0};
  if (m->types.syms != g->syms)
    return tn_fail(m->ctx, TN_INTERNAL, (tn_loc){0}, "the graph to write back is not the model's last import");
  splice_graph(&s, &m->graph, &graph);
  tn_wire w = tn_wire_over(m->bytes);
  tn_wire_field f;
  while (tn_wire_next(&w, &f)) {
    if (f.number == TN_F_model_graph && graph.changed)
      splice_replace(&s, &model, &f, &graph);
    else
      splice_keep(&s, &model, &f);
  }
  *out_parts = model.parts.at;
  *out_n = model.parts.n;
  return TN_OK;
}
