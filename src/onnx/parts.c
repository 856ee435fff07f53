/* Which nodes, tensors and names each part of a split consists of, as ONNX has them. */
#include "onnx/parts.h"

#include <stdlib.h>

#include "onnx/model.h"

enum { PARTS_INLINE = 1024, PARTS_ALIGN = 64 };
#define PARTS_NONE UINT32_MAX

typedef struct parts_set { /* what a part is made of */
  TN_VEC(uint32_t) nodes;  /* positions in the order of the file */
  TN_VEC(const char *) inputs, inits, outputs;
  tn_map seen; /* name -> 1: made in the part, or in one of the lists */
} parts_set;

typedef struct parts {
  tn_onnx_model *m;
  const tn_onnx_graph *g;
  const tn_partition_set *s;
  tn_arena *arena;
  const char *location;
  uint32_t n;
  parts_set *sets;
  uint32_t *owner;    /* node of the file -> part, PARTS_NONE: it computes nothing */
  uint32_t *position; /* node of the file -> place in an order of use */
  tn_map leaves;      /* names that their part gives to others, or to the caller -> 1 */
  tn_map weights;     /* value id -> 1 + offset in the file of weights */
  uint64_t weights_end;
  TN_VEC(tn_onnx_part_weight) files;
  TN_VEC(const char *) work;
} parts;

static tn_value *parts_value(const parts *p, const char *name) { return tn_map_find_name(&p->g->values, name); }

static const tn_lit *parts_lit(const tn_value *v) {
  if (!v || !v->def || strcmp(v->def->op->name, "const") != 0) return NULL;
  const tn_attr *a = tn_op_attr(v->def, "value");
  return a && a->tensor->kind == TN_TYPE_TENSOR ? a->tensor : NULL;
}

static uint32_t parts_at(const parts *p, uint32_t i) { return p->g->order ? p->g->order[i] : i; }

/* A node is in the part of the first value that it, and no node before it, defines. */
static void parts_own(parts *p) {
  uint8_t *is_taken = tn_arena_zero(p->arena, p->s->graph->n_values + 1u, 1);
  for (uint32_t i = 0; i < p->g->n_nodes; i++) {
    const uint32_t k = parts_at(p, i);
    p->position[k] = i;
    p->owner[k] = PARTS_NONE;
    for (int j = 0; j < p->g->nodes[k].n_out; j++) {
      const char *name = p->g->nodes[k].out[j];
      const tn_value *v = name ? parts_value(p, name) : NULL;
      if (!v || !v->def || is_taken[v->id]) continue;
      is_taken[v->id] = 1;
      if (!parts_lit(v) && p->owner[k] == PARTS_NONE) p->owner[k] = p->s->part_of[v->def->id];
    }
  }
}

static void parts_put_node(const parts *p, uint32_t part, uint32_t k) {
  parts_set *set = &p->sets[part];
  const tn_onnx_node *node = &p->g->nodes[k];
  tn_vec_push(p->arena, &set->nodes, p->position[k]);
  for (int j = 0; j < node->n_out; j++)
    if (node->out[j]) tn_map_set_name(p->arena, &set->seen, node->out[j], set);
}

/* What a node uses, in its graphs too, is to be looked at. */
static void parts_push_uses(parts *p, uint32_t k) {
  const tn_onnx_node *node = &p->g->nodes[k];
  for (int j = 0; j < node->n_in; j++)
    if (node->in[j]) tn_vec_push(p->arena, &p->work, node->in[j]);
  for (int j = 0; j < node->n_attrs; j++) {
    const tn_onnx_graph *inner = node->attrs[j].graph;
    for (int64_t f = 0; inner && f < inner->n_free; f++) tn_vec_push(p->arena, &p->work, inner->free[f]);
  }
}

/* A name that the part uses: from where does it have it? */
static void parts_need(parts *p, uint32_t part, const char *name) {
  parts_set *set = &p->sets[part];
  uint64_t def;
  if (tn_map_find_name(&set->seen, name) || !tn_map_find(&p->g->defs, tn_intern_id(name), &def)) return;
  tn_map_set_name(p->arena, &set->seen, name, set);
  if (parts_lit(parts_value(p, name))) {
    tn_vec_push(p->arena, &set->inits, name);
    return;
  }
  const uint32_t k = def >= TN_ONNX_DEF_NODE ? (uint32_t)(def - TN_ONNX_DEF_NODE) : PARTS_NONE;
  if (k != PARTS_NONE && p->owner[k] == PARTS_NONE) {
    parts_put_node(p, part, k);
    parts_push_uses(p, k);
    return;
  }
  tn_vec_push(p->arena, &set->inputs, name);
  if (k != PARTS_NONE) tn_map_set_name(p->arena, &p->leaves, name, set);
}

static void parts_settle(parts *p, uint32_t part) {
  while (p->work.n) parts_need(p, part, p->work.at[--p->work.n]);
}

static int parts_compare(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static tn_status parts_gather(parts *p) {
  bool any = false;
  for (uint32_t i = 0; i < p->g->n_nodes; i++) {
    const uint32_t k = parts_at(p, i);
    if (p->owner[k] == PARTS_NONE) continue;
    any = true;
    parts_put_node(p, p->owner[k], k);
  }
  if (!any || !p->n)
    return tn_fail(p->m->ctx, TN_UNSUPPORTED, (tn_loc){0}, "the model computes nothing: there is nothing to split");
  for (uint32_t part = 0; part < p->n; part++) {
    const size_t n = p->sets[part].nodes.n; /* its own; more come as they are needed */
    for (size_t i = n; i-- > 0;) parts_push_uses(p, parts_at(p, p->sets[part].nodes.at[i]));
    parts_settle(p, part);
  }
  return TN_OK;
}

/* Outputs of the model that no node of a part makes are the last part's. */
static void parts_outputs(parts *p) {
  parts_set *last = &p->sets[p->n - 1];
  for (int64_t i = 0; i < p->g->n_outputs; i++) {
    const char *name = p->g->outputs[i].name;
    uint64_t def = 0;
    if (!tn_map_find(&p->g->defs, tn_intern_id(name), &def)) continue;
    const bool is_made = def >= TN_ONNX_DEF_NODE && p->owner[def - TN_ONNX_DEF_NODE] != PARTS_NONE;
    tn_map_set_name(p->arena, &p->leaves, name, p);
    if (is_made) continue;
    tn_vec_push(p->arena, &p->work, name);
    parts_settle(p, p->n - 1);
    tn_vec_push(p->arena, &last->outputs, name);
  }
  for (uint32_t part = 0; part < p->n; part++) {
    parts_set *set = &p->sets[part];
    qsort(set->nodes.at, set->nodes.n, sizeof set->nodes.at[0], parts_compare);
    for (size_t i = 0; i < set->nodes.n; i++) {
      const uint32_t k = parts_at(p, set->nodes.at[i]);
      for (int j = 0; p->owner[k] == part && j < p->g->nodes[k].n_out; j++)
        if (p->g->nodes[k].out[j] && tn_map_find_name(&p->leaves, p->g->nodes[k].out[j]))
          tn_vec_push(p->arena, &set->outputs, p->g->nodes[k].out[j]);
    }
  }
}

/* Writing. */

static tn_wire_out parts_out(const parts *p) { return (tn_wire_out){.arena = p->arena}; }

static void parts_add(tn_wire_out *o, uint32_t number, tn_bytes b) { tn_wire_add_len_field(o, number, b.ptr, b.len); }

static void parts_add_text(tn_wire_out *o, uint32_t number, const char *z) {
  tn_wire_add_len_field(o, number, z, strlen(z));
}

static void parts_write_entry(const parts *p, tn_wire_out *o, const char *key, const char *value) {
  tn_wire_out entry = parts_out(p);
  parts_add_text(&entry, TN_F_entry_key, key);
  parts_add_text(&entry, TN_F_entry_value, value);
  parts_add(o, TN_F_tensor_external_data, tn_wire_out_bytes(&entry));
}

static uint64_t parts_place(parts *p, const tn_value *v, const tn_lit *lit) {
  uint64_t at = 0;
  if (tn_map_find(&p->weights, v->id, &at)) return at - 1;
  at = p->weights_end;
  tn_map_set(p->arena, &p->weights, v->id, at + 1);
  tn_vec_push(p->arena, &p->files, (tn_onnx_part_weight){at, {lit->data, lit->bytes}});
  p->weights_end = (at + lit->bytes + PARTS_ALIGN - 1) / PARTS_ALIGN * PARTS_ALIGN;
  return at;
}

static tn_bytes parts_tensor(parts *p, const char *name) {
  const tn_value *v = parts_value(p, name);
  const tn_lit *lit = parts_lit(v);
  tn_bytes whole;
  if (lit->dtype == TN_STR || lit->bytes < PARTS_INLINE || !p->location) {
    tn_onnx_write_tensor(p->m->ctx, lit, name, &whole);
    return whole;
  }
  tn_wire_out o = parts_out(p);
  for (int i = 0; i < lit->rank; i++) tn_wire_add_int_field(&o, TN_F_tensor_dims, (uint64_t)lit->dims[i]);
  tn_wire_add_int_field(&o, TN_F_tensor_data_type, (uint64_t)lit->dtype);
  parts_add_text(&o, TN_F_tensor_name, name);
  parts_write_entry(p, &o, "location", p->location);
  parts_write_entry(p, &o, "offset", tn_arena_printf(p->arena, "%llu", (unsigned long long)parts_place(p, v, lit)));
  parts_write_entry(p, &o, "length", tn_arena_printf(p->arena, "%zu", lit->bytes));
  tn_wire_add_int_field(&o, TN_F_tensor_data_location, 1);
  return tn_wire_out_bytes(&o);
}

static const tn_onnx_part_port *parts_ports(const parts *p, const char *const *names, size_t n) {
  tn_onnx_part_port *ports = TN_NEW_ARRAY(p->arena, tn_onnx_part_port, n + 1);
  for (size_t i = 0; i < n; i++) ports[i] = (tn_onnx_part_port){names[i], &parts_value(p, names[i])->type};
  return ports;
}

/* A part alone knows only the symbols that are whole dims of its inputs. A dim made of others gets a name of its own:
 * equal dims one name. */
typedef struct parts_names {
  parts *p;
  tn_map known;   /* symbols -> 1 */
  tn_map renamed; /* expression -> symbol */
  const char *value;
  bool all_known;
} parts_names;

static void parts_note_dims(parts_names *n, const tn_type *t) {
  for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++)
    if (tn_sym_is_var(t->dims[j])) tn_map_set(n->p->arena, &n->known, (uint64_t)t->dims[j]->k, 1);
}

static void parts_visit_symbol(void *arg, uint32_t symbol) {
  parts_names *n = arg;
  n->all_known &= tn_map_find(&n->known, symbol, NULL);
}

static tn_sym parts_rename(parts_names *n, tn_sym dim, int axis) {
  tn_symtab *syms = n->p->m->types.syms;
  n->all_known = true;
  tn_sym_symbols(syms, dim, parts_visit_symbol, n);
  if (n->all_known) return dim;
  const tn_sym had = tn_map_find_ptr(&n->renamed, dim);
  if (had) return had;
  char *stem = tn_arena_printf(n->p->arena, "%s_d%d", n->value, axis);
  for (char *c = stem; *c; c++)
    if (!strchr("_.", *c) && !(*c >= '0' && *c <= '9') && !((*c | 32) >= 'a' && (*c | 32) <= 'z')) *c = '_';
  const tn_sym var = tn_sym_fresh_symbol(syms, stem)->var;
  tn_map_set_ptr(n->p->arena, &n->renamed, dim, (void *)(uintptr_t)var);
  return var;
}

static tn_type parts_type(parts_names *n, const tn_onnx_part_port *port) {
  tn_type t = *port->type;
  n->value = port->name;
  if (!tn_type_has_rank(&t)) return t;
  tn_sym *dims = TN_NEW_ARRAY(n->p->arena, tn_sym, t.rank + 1);
  for (int j = 0; j < t.rank; j++) dims[j] = parts_rename(n, t.dims[j], j);
  t.dims = dims;
  return t;
}

static void parts_write_ports(parts_names *n, tn_wire_out *o, uint32_t number, const tn_onnx_part_port *ports,
                              size_t n_ports) {
  const parts *p = n->p;
  for (size_t i = 0; i < n_ports; i++) {
    tn_wire_out info = parts_out(p);
    const tn_type type = parts_type(n, &ports[i]);
    parts_add_text(&info, TN_F_value_info_name, ports[i].name);
    parts_add(&info, TN_F_value_info_type, tn_onnx_write_type(p->m->ctx, p->m->types.syms, &type));
    parts_add(o, number, tn_wire_out_bytes(&info));
  }
}

/* Everything of the model but its graph. */
static void parts_write_head(tn_wire_out *o, tn_bytes model) {
  tn_wire w = tn_wire_over(model);
  tn_wire_field f;
  while (tn_wire_next(&w, &f))
    if (f.number != TN_F_model_graph) tn_wire_add_bytes(o, f.begin, (size_t)(f.end - f.begin));
}

/* The bytes of all nodes, in the order of the file. */
static const tn_bytes *parts_node_bytes(const parts *p) {
  tn_bytes *nodes = TN_NEW_ARRAY(p->arena, tn_bytes, p->g->n_nodes + 1);
  tn_wire w = tn_wire_over(p->g->bytes);
  tn_wire_field f;
  int64_t i = 0;
  while (i < p->g->n_nodes && tn_wire_next(&w, &f))
    if (f.number == TN_F_graph_node) nodes[i++] = f.bytes;
  return nodes;
}

static void parts_write(parts *p, uint32_t part, const tn_bytes *nodes, tn_onnx_part *out) {
  const parts_set *set = &p->sets[part];
  tn_wire_out graph = parts_out(p), model = parts_out(p);
  out->inputs = parts_ports(p, set->inputs.at, set->inputs.n);
  out->n_inputs = (uint32_t)set->inputs.n;
  out->outputs = parts_ports(p, set->outputs.at, set->outputs.n);
  out->n_outputs = (uint32_t)set->outputs.n;
  out->n_nodes = (uint32_t)set->nodes.n;
  for (size_t i = 0; i < set->nodes.n; i++) parts_add(&graph, TN_F_graph_node, nodes[parts_at(p, set->nodes.at[i])]);
  parts_add_text(&graph, TN_F_graph_name, p->s->regions.at[0].parts[part].name);
  for (size_t i = 0; i < set->inits.n; i++)
    parts_add(&graph, TN_F_graph_initializer, parts_tensor(p, set->inits.at[i]));
  parts_names names = {.p = p};
  for (size_t i = 0; i < out->n_inputs; i++) parts_note_dims(&names, out->inputs[i].type);
  parts_write_ports(&names, &graph, TN_F_graph_input, out->inputs, out->n_inputs);
  parts_write_ports(&names, &graph, TN_F_graph_output, out->outputs, out->n_outputs);
  parts_write_head(&model, p->m->bytes);
  parts_add(&model, TN_F_model_graph, tn_wire_out_bytes(&graph));
  out->model = tn_wire_out_bytes(&model);
}

static void parts_whole(parts *p, tn_onnx_parts *out) {
  TN_VEC(const char *) inputs = {0}, outputs = {0};
  for (int64_t i = 0; i < p->g->n_inputs; i++)
    if (!parts_lit(parts_value(p, p->g->inputs[i].name))) tn_vec_push(p->arena, &inputs, p->g->inputs[i].name);
  for (int64_t i = 0; i < p->g->n_outputs; i++) tn_vec_push(p->arena, &outputs, p->g->outputs[i].name);
  out->inputs = parts_ports(p, inputs.at, inputs.n);
  out->n_inputs = (uint32_t)inputs.n;
  out->outputs = parts_ports(p, outputs.at, outputs.n);
  out->n_outputs = (uint32_t)outputs.n;
}

tn_status tn_onnx_write_parts(tn_onnx_model *m, const tn_partition_set *s, const char *location, tn_onnx_parts *out) {
  tn_arena *a = &m->ctx->arena;
  parts p = {.m = m, .g = &m->graph, .s = s, .arena = a, .location = location, .n = s->regions.at[0].n_parts};
  p.sets = TN_NEW_ARRAY(a, parts_set, p.n + 1);
  p.owner = TN_NEW_ARRAY(a, uint32_t, p.g->n_nodes + 1);
  p.position = TN_NEW_ARRAY(a, uint32_t, p.g->n_nodes + 1);
  parts_own(&p);
  TN_TRY(parts_gather(&p));
  parts_outputs(&p);
  const tn_bytes *nodes = parts_node_bytes(&p);
  tn_onnx_part *list = TN_NEW_ARRAY(a, tn_onnx_part, p.n + 1);
  for (uint32_t i = 0; i < p.n; i++) parts_write(&p, i, nodes, &list[i]);
  *out = (tn_onnx_parts){.parts = list, .n_parts = p.n, .weights = p.files.at, .n_weights = p.files.n};
  parts_whole(&p, out);
  return TN_OK;
}

/* Joining. */

typedef struct parts_join {
  tn_ctx *ctx;
  tn_wire_out model, graph;
  tn_map made;            /* names of tensors and results -> the field that makes them, as a tn_bytes */
  tn_map inputs, outputs; /* name -> ValueInfoProto, as a tn_bytes */
  tn_map domains;         /* -> tn_onnx_opset */
  tn_map functions;       /* domain, name and overload -> FunctionProto, as a tn_bytes */
} parts_join;

static const tn_bytes *parts_keep(parts_join *j, tn_map *into, const char *key, tn_bytes bytes) {
  tn_bytes *copy = TN_NEW(&j->ctx->arena, tn_bytes);
  *copy = bytes;
  tn_map_set_name(&j->ctx->arena, into, key, copy);
  return copy;
}

static bool parts_equal(tn_bytes a, tn_bytes b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Is what makes these names new? It is skipped when an earlier part has it, byte for byte. */
static tn_status parts_make(parts_join *j, const tn_wire_field *f, const tn_str *names, size_t n, bool *is_new) {
  *is_new = true;
  for (size_t i = 0; i < n; i++) {
    const char *key = tn_intern_str(&j->ctx->names, names[i]);
    const tn_bytes *had = names[i].len ? tn_map_find_name(&j->made, key) : NULL;
    if (!had) continue;
    if (!parts_equal(*had, f->bytes))
      return tn_fail(j->ctx, TN_INVALID, (tn_loc){0}, "two parts make '%s', each in its own way", key);
    *is_new = false;
  }
  for (size_t i = 0; i < n && *is_new; i++)
    if (names[i].len) parts_keep(j, &j->made, tn_intern_str(&j->ctx->names, names[i]), f->bytes);
  return TN_OK;
}

static tn_status parts_join_port(parts_join *j, const tn_wire_field *f, tn_map *into) {
  tn_pb_value_info info;
  TN_TRY(tn_pb_read_value_info(j->ctx, f->bytes, (tn_loc){0}, &info));
  parts_keep(j, into, tn_intern_str(&j->ctx->names, info.name), f->bytes);
  return TN_OK;
}

static tn_status parts_join_field(parts_join *j, const tn_wire_field *f) {
  bool is_new = f->number == TN_F_graph_sparse_initializer;
  if (f->number == TN_F_graph_input) return parts_join_port(j, f, &j->inputs);
  if (f->number == TN_F_graph_output) return parts_join_port(j, f, &j->outputs);
  if (f->number == TN_F_graph_initializer) {
    tn_pb_tensor t;
    TN_TRY(tn_pb_read_tensor(j->ctx, f->bytes, (tn_loc){0}, &t));
    TN_TRY(parts_make(j, f, &t.name, 1, &is_new));
  } else if (f->number == TN_F_graph_node) {
    tn_pb_node n;
    TN_TRY(tn_pb_read_node(j->ctx, f->bytes, (tn_loc){0}, &n));
    TN_TRY(parts_make(j, f, n.output.at, n.output.n, &is_new));
  }
  if (is_new) tn_wire_add_bytes(&j->graph, f->begin, (size_t)(f->end - f->begin));
  return TN_OK;
}

/* All parts must mean the same by the names of operators. */
static tn_status parts_join_opsets(parts_join *j, const tn_pb_model *pb, size_t part) {
  tn_onnx_opset *opsets = NULL;
  size_t n = 0;
  TN_TRY(tn_onnx_read_opsets(j->ctx, &pb->opset_import, &opsets, &n));
  for (size_t i = 0; i < n; i++) {
    const tn_onnx_opset *had = tn_map_find_name(&j->domains, opsets[i].domain);
    if (had && had->version != opsets[i].version)
      return tn_fail(j->ctx, TN_INVALID, (tn_loc){0}, "part %zu has opset %lld of domain '%s', a part before it %lld",
                     part, (long long)opsets[i].version, opsets[i].domain, (long long)had->version);
    if (had) continue;
    tn_map_set_name(&j->ctx->arena, &j->domains, opsets[i].domain, &opsets[i]);
    if (part == 0) continue; /* in the head */
    tn_wire_out opset = {.arena = &j->ctx->arena};
    parts_add_text(&opset, TN_F_opset_domain, opsets[i].domain);
    tn_wire_add_int_field(&opset, TN_F_opset_version, (uint64_t)opsets[i].version);
    parts_add(&j->model, TN_F_model_opset_import, tn_wire_out_bytes(&opset));
  }
  return TN_OK;
}

static const char *parts_function_key(parts_join *j, const tn_pb_function *f) {
  tn_text t;
  tn_text_init(&t, &j->ctx->arena);
  tn_text_printf(&t, "%zu %zu ", f->domain.len, f->name.len); /* so that no two have one text */
  tn_text_add(&t, f->domain);
  tn_text_add(&t, f->name);
  tn_text_add(&t, f->overload);
  return tn_ctx_name(j->ctx, (tn_str){t.ptr, t.len});
}

static tn_status parts_join_functions(parts_join *j, const tn_pb_model *pb, size_t part) {
  for (size_t i = 0; i < pb->functions.n; i++) {
    tn_pb_function f;
    TN_TRY(tn_pb_read_function(j->ctx, pb->functions.at[i], (tn_loc){0}, &f));
    const char *key = parts_function_key(j, &f);
    const tn_bytes *had = tn_map_find_name(&j->functions, key);
    if (had && part > 0 && !parts_equal(*had, pb->functions.at[i]))
      return tn_fail(j->ctx, TN_INVALID, (tn_loc){0}, "two parts have a function '%.*s', each its own",
                     f.name.len < 200 ? (int)f.name.len : 200, f.name.ptr ? f.name.ptr : "");
    if (had) continue;
    parts_keep(j, &j->functions, key, pb->functions.at[i]);
    if (part > 0) parts_add(&j->model, TN_F_model_functions, pb->functions.at[i]);
  }
  return TN_OK;
}

static tn_status parts_join_names(parts_join *j, uint32_t number, const tn_str *names, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const char *key = tn_intern_str(&j->ctx->names, names[i]);
    const tn_bytes *info = tn_map_find_name(number == TN_F_graph_input ? &j->inputs : &j->outputs, key);
    if (info)
      parts_add(&j->graph, number, *info);
    else
      return tn_fail(j->ctx, TN_INVALID, (tn_loc){0}, "no part has the %s '%s'",
                     number == TN_F_graph_input ? "input" : "output", key);
  }
  return TN_OK;
}

tn_status tn_onnx_join_parts(tn_ctx *ctx, const tn_bytes *models, size_t n, const tn_str *inputs, size_t n_inputs,
                             const tn_str *outputs, size_t n_outputs, tn_bytes *out) {
  parts_join j = {.ctx = ctx, .model = {.arena = &ctx->arena}, .graph = {.arena = &ctx->arena}};
  for (size_t i = 0; i < n; i++) {
    tn_pb_model pb;
    tn_wire_field f;
    TN_TRY(tn_pb_read_model(ctx, models[i], (tn_loc){0}, &pb));
    if (i == 0) parts_write_head(&j.model, models[i]);
    TN_TRY(parts_join_opsets(&j, &pb, i));
    TN_TRY(parts_join_functions(&j, &pb, i));
    tn_wire w = tn_wire_over(pb.graph);
    while (tn_wire_next(&w, &f)) TN_TRY(parts_join_field(&j, &f));
    if (w.bad) return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "the graph of part %zu is damaged", i);
  }
  parts_add_text(&j.graph, TN_F_graph_name, "joined");
  TN_TRY(parts_join_names(&j, TN_F_graph_input, inputs, n_inputs));
  TN_TRY(parts_join_names(&j, TN_F_graph_output, outputs, n_outputs));
  parts_add(&j.model, TN_F_model_graph, tn_wire_out_bytes(&j.graph));
  *out = tn_wire_out_bytes(&j.model);
  return TN_OK;
}
