/* emit: the program.
 *
 *   needs buffers   gives program   breaks -
 *
 * Regions are numbered owners first; the values of a region, its steps and its buffers are contiguous. See
 * code/program.h for what the tables mean. */
#include "pass/emit.h"

static tn_status emit_number_regions(void *arg, tn_node *node) {
  tn_emit *e = arg;
  for (int i = 0; i < node->n_regions; i++) {
    e->region_of[node->regions[i]->id] = e->n_regions;
    e->regions[e->n_regions++] = node->regions[i];
  }
  return TN_OK;
}

static const tn_type *emit_inner(const tn_type *t) {
  while (t && (t->kind == TN_TYPE_SEQUENCE || t->kind == TN_TYPE_OPTIONAL)) t = t->elem;
  return t;
}

static uint8_t emit_kind(const tn_type *t) {
  return t->kind == TN_TYPE_SEQUENCE ? 1 : t->kind == TN_TYPE_OPTIONAL ? 2 : t->kind == TN_TYPE_MAP ? 3 : 0;
}

/* Are the dims from slots, at the time when the program needs them for this kind of storage? */
static bool emit_has_dims(const tn_emit *e, const tn_value *v, tn_pstore store) {
  const tn_type *t = &v->type;
  if (!tn_type_has_rank(t)) return false;
  if (store == TN_STORE_LATE || store == TN_STORE_VIEW) return tn_known_type_before(e->pass->known, t, v->def);
  for (int j = 0; j < t->rank; j++)
    if (store == TN_STORE_PARAM &&
        !tn_known_on_entry(e->pass->known, tn_known_when(e->pass->known, t->dims[j]), v->region))
      return false;
  return true;
}

static tn_status emit_dims(tn_emit *e, const tn_sym *dims, int rank, tn_pspan *out) {
  *out = (tn_pspan){(uint32_t)e->dim_slots.n, (uint32_t)rank};
  for (int j = 0; j < rank; j++) {
    uint32_t slot;
    TN_TRY(tn_emit_expression(e, dims[j], &slot));
    tn_vec_push(e->arena, &e->dim_slots, slot);
  }
  return TN_OK;
}

static tn_status emit_elems(tn_emit *e, const tn_value *v, tn_pspan *out) {
  const int64_t n = tn_type_content_count(&v->type);
  *out = (tn_pspan){(uint32_t)e->dim_slots.n, (uint32_t)n};
  for (int64_t i = 0; i < n; i++) {
    uint32_t slot;
    const tn_elem *x = &v->type.content[i];
    if (x->kind != TN_ELEM_SYM) return tn_fail(e->pass->ctx, TN_INTERNAL, v->def->loc, "a shape value without content");
    TN_TRY(tn_emit_expression(e, x->sym, &slot));
    tn_vec_push(e->arena, &e->dim_slots, slot);
  }
  return TN_OK;
}

static tn_status emit_const(tn_emit *e, const tn_lit *lit, tn_pvalue *out, const void **external) {
  out->dtype = (uint8_t)lit->dtype;
  out->rank = (int8_t)lit->rank;
  out->bytes = lit->bytes;
  *external = lit->data;
  tn_sym *dims = TN_NEW_ARRAY(e->side, tn_sym, lit->rank + 1);
  for (int j = 0; j < lit->rank; j++) dims[j] = tn_sym_int(e->graph->syms, lit->dims[j]);
  return emit_dims(e, dims, lit->rank, &out->dims);
}

/* The numbers of a region's buffers follow each other, by address. */
static void emit_number_buffers(tn_emit *e) {
  const tn_plan *plan = e->pass->plan;
  uint32_t at = 0;
  for (uint32_t i = 0; i < plan->n_buffers; i++) e->out_regions[e->region_of[plan->buffers[i].region->id]].buffers.n++;
  for (uint32_t r = 0; r < e->n_regions; r++) {
    e->out_regions[r].buffers.first = at;
    e->out_regions[r].is_placed = true;
    at += e->out_regions[r].buffers.n;
  }
}

static int64_t emit_buffer_number(const tn_emit *e, int32_t buffer) {
  const tn_plan_buffer *b = &e->pass->plan->buffers[buffer];
  return (int64_t)e->out_regions[e->region_of[b->region->id]].buffers.first + b->number;
}

static tn_status emit_value(tn_emit *e, const tn_value *v, uint32_t region, int64_t input) {
  const tn_plan *plan = e->pass->plan;
  const tn_pstore store = (tn_pstore)plan->store[v->id];
  const tn_type *inner = emit_inner(&v->type);
  const void *external = NULL;
  tn_pvalue out = {.name = v->name, .kind = emit_kind(&v->type), .store = (uint8_t)store, .rank = -1, .region = region};
  if (inner && inner->kind == TN_TYPE_TENSOR) out.dtype = (uint8_t)inner->dtype;
  if (out.kind == 0) out.rank = (int8_t)v->type.rank;
  if (store == TN_STORE_BUFFER) out.index = emit_buffer_number(e, plan->buffer[v->id]);
  if (store == TN_STORE_VIEW) out.index = e->value_of[plan->view_of[v->id]];
  if (store == TN_STORE_INPUT) out.index = input;
  if (store == TN_STORE_CONST)
    TN_TRY(emit_const(e, tn_pass_const_of(v), &out, &external));
  else if (out.kind == 0 && emit_has_dims(e, v, store))
    TN_TRY(emit_dims(e, v->type.dims, v->type.rank, &out.dims));
  if (store == TN_STORE_SHAPE) TN_TRY(emit_elems(e, v, &out.shape_elems));
  if (plan->part[v->id]) {
    TN_TRY(tn_emit_expression(e, plan->part[v->id], &out.part));
    out.part++;
  }
  tn_vec_push(e->arena, &e->values, out);
  tn_vec_push(e->arena, &e->external, external);
  return TN_OK;
}

/* Attributes that are tensors become constants of the main region, after its own values. */
static tn_status emit_attr_values(tn_emit *e, const tn_region *r) {
  for (const tn_node *node = r->first; node; node = node->next) {
    const int n = e->pass->place_of[node->id] == TN_PLACE_KERNEL ? tn_op_n_attrs(node->op) : 0;
    for (int i = 0; i < n; i++) {
      const tn_attr *a = &node->attrs[i];
      uint64_t have;
      if (a->kind != TN_ATTR_TENSOR || tn_map_find(&e->attr_value, tn_map_key(a->tensor), &have)) continue;
      tn_pvalue out = {.name = node->op->attrs[i].name, .store = TN_STORE_CONST};
      const void *external;
      tn_map_set(e->side, &e->attr_value, tn_map_key(a->tensor), e->values.n);
      TN_TRY(emit_const(e, a->tensor, &out, &external));
      tn_vec_push(e->arena, &e->values, out);
      tn_vec_push(e->arena, &e->external, external);
    }
  }
  return TN_OK;
}

static void emit_number(tn_emit *e, const tn_value *v, int32_t *next) {
  if (v) e->value_of[v->id] = (*next)++;
}

static int32_t emit_count_attr_values(const tn_emit *e) {
  int32_t count = 0;
  tn_map seen = {0};
  for (uint32_t r = 0; r < e->n_regions; r++)
    for (const tn_node *node = e->regions[r]->first; node; node = node->next) {
      const int n = e->pass->place_of[node->id] == TN_PLACE_KERNEL ? tn_op_n_attrs(node->op) : 0;
      for (int i = 0; i < n; i++) {
        if (node->attrs[i].kind != TN_ATTR_TENSOR) continue;
        if (tn_map_find(&seen, tn_map_key(node->attrs[i].tensor), NULL)) continue;
        tn_map_set(e->side, &seen, tn_map_key(node->attrs[i].tensor), 1);
        count++;
      }
    }
  return count;
}

static void emit_number_values(tn_emit *e) {
  int32_t next = 0;
  for (uint32_t i = 0; i < e->n_regions; i++) {
    const tn_region *r = e->regions[i];
    for (int k = 0; k < r->n_params; k++) emit_number(e, r->params[k], &next);
    for (const tn_node *node = r->first; node; node = node->next)
      for (int k = 0; k < node->n_out; k++) emit_number(e, node->out[k], &next);
    if (i == 0) next += emit_count_attr_values(e);
  }
}

static tn_status emit_region_values(tn_emit *e, uint32_t region) {
  const tn_region *r = e->regions[region];
  tn_pregion *out = &e->out_regions[region];
  out->values.first = (uint32_t)e->values.n;
  e->home = r;
  for (int k = 0; k < r->n_params; k++) TN_TRY(emit_value(e, r->params[k], region, k));
  for (const tn_node *node = r->first; node; node = node->next)
    for (int k = 0; k < node->n_out; k++)
      if (node->out[k]) TN_TRY(emit_value(e, node->out[k], region, 0));
  for (uint32_t i = 0; region == 0 && i < e->n_regions; i++) TN_TRY(emit_attr_values(e, e->regions[i]));
  out->values.n = (uint32_t)e->values.n - out->values.first;
  return TN_OK;
}

static tn_status emit_buffers(tn_emit *e) {
  const tn_plan *plan = e->pass->plan;
  e->buffers = TN_NEW_ARRAY(e->arena, tn_pbuffer, plan->n_buffers + 1);
  for (uint32_t i = 0; i < plan->n_buffers; i++) {
    const tn_plan_buffer *b = &plan->buffers[i];
    const uint32_t region = e->region_of[b->region->id];
    const int32_t first = (int32_t)e->out_regions[region].buffers.first;
    tn_pbuffer *out = &e->buffers[emit_buffer_number(e, (int32_t)i)];
    *out = (tn_pbuffer){.region = region,
                        .first = b->first,
                        .last = b->last,
                        .value = (uint32_t)e->value_of[b->value],
                        .under = b->under == TN_NO_INDEX ? TN_NO_INDEX : first + b->under,
                        .over = b->over == TN_NO_INDEX ? TN_NO_INDEX : first + b->over};
    if (!b->has_bytes) continue;
    e->home = b->region;
    TN_TRY(tn_emit_expression(e, b->bytes, &out->bytes));
    out->bytes++;
  }
  return TN_OK;
}

static void emit_segments(tn_emit *e, tn_program *p) {
  tn_psegment *segments = TN_NEW_ARRAY(e->arena, tn_psegment, e->segments.n + 1);
  TN_VEC(tn_pbind) binds = {0};
  TN_VEC(tn_shape_ins) code = {0};
  TN_VEC(tn_pcheck) checks = {0};
  for (size_t i = 0; i < e->segments.n; i++) {
    const tn_emit_segment *s = e->segments.at[i];
    segments[i].binds = (tn_pspan){(uint32_t)binds.n, (uint32_t)s->binds.n};
    segments[i].code = (tn_pspan){(uint32_t)code.n, (uint32_t)s->code.n};
    segments[i].checks = (tn_pspan){(uint32_t)checks.n, (uint32_t)s->checks.n};
    for (size_t k = 0; k < s->binds.n; k++) tn_vec_push(e->arena, &binds, s->binds.at[k]);
    for (size_t k = 0; k < s->code.n; k++) tn_vec_push(e->arena, &code, s->code.at[k]);
    for (size_t k = 0; k < s->checks.n; k++) tn_vec_push(e->arena, &checks, s->checks.at[k]);
  }
  for (uint32_t i = 0; i < e->n_regions; i++) e->out_regions[i].segment = i;
  for (size_t i = 0; i < e->steps.n; i++) e->steps.at[i].segment = e->segment_of_node[e->step_nodes.at[i]->id];
  p->segments = segments;
  p->n_segments = (uint32_t)e->segments.n;
  p->binds = binds.at;
  p->n_binds = (uint32_t)binds.n;
  p->code = code.at;
  p->n_code = (uint32_t)code.n;
  p->checks = checks.at;
  p->n_checks = (uint32_t)checks.n;
}

static const tn_psymbol *emit_symbol_rows(const tn_emit *e) {
  tn_psymbol *out = TN_NEW_ARRAY(e->arena, tn_psymbol, e->symbols.n + 1);
  for (size_t i = 0; i < e->symbols.n; i++) {
    const tn_symbol *s = tn_sym_symbol(e->graph->syms, e->symbols.at[i]);
    out[i] = (tn_psymbol){s->name, s->min, s->max, s->multiple_of < 1 ? 1 : s->multiple_of};
  }
  return out;
}

static const tn_pio *emit_ports(const tn_emit *e, tn_value *const *values, const char *const *names, int n) {
  tn_pio *out = TN_NEW_ARRAY(e->arena, tn_pio, n + 1);
  for (int i = 0; i < n; i++) {
    tn_text text;
    tn_text_init(&text, e->arena);
    tn_type_print(e->graph->syms, &text, &values[i]->type);
    out[i].name = names ? names[i] : values[i]->name;
    out[i].value = (uint32_t)e->value_of[values[i]->id];
    out[i].type_text = tn_text_z(&text);
  }
  return out;
}

/* The first strings of a program are the dims of its inputs as text, each with its NUL. */
static void emit_input_dims(tn_emit *e) {
  for (int i = 0; i < e->graph->main->n_params; i++) {
    const tn_type *t = &e->graph->main->params[i]->type;
    for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++) {
      const char *text = tn_sym_text(e->graph->syms, t->dims[j]);
      tn_vec_push(e->arena, &e->strings, (tn_str){text, strlen(text) + 1});
    }
  }
}

static tn_program *emit_program(tn_emit *e) {
  tn_program *p = TN_NEW(e->arena, tn_program);
  const tn_region *main = e->graph->main;
  p->buffers = e->buffers;
  p->n_buffers = e->pass->plan->n_buffers;
  emit_segments(e, p);
  p->symbols = emit_symbol_rows(e);
  p->n_symbols = (uint32_t)e->symbols.n;
  p->n_slots = e->n_slots;
  p->dim_slots = e->dim_slots.at;
  p->n_dim_slots = (uint32_t)e->dim_slots.n;
  p->values = e->values.at;
  p->n_values = (uint32_t)e->values.n;
  p->external = e->external.at;
  p->operands = e->operands.at;
  p->n_operands = (uint32_t)e->operands.n;
  p->attrs = e->attrs.at;
  p->n_attrs = (uint32_t)e->attrs.n;
  p->ints = e->ints.at;
  p->n_ints = (uint32_t)e->ints.n;
  p->floats = e->floats.at;
  p->n_floats = (uint32_t)e->floats.n;
  p->strings = e->strings.at;
  p->n_strings = (uint32_t)e->strings.n;
  p->steps = e->steps.at;
  p->n_steps = (uint32_t)e->steps.n;
  p->regions = e->out_regions;
  p->n_regions = e->n_regions;
  p->inputs = emit_ports(e, main->params, NULL, main->n_params);
  p->n_inputs = (uint32_t)main->n_params;
  p->outputs = emit_ports(e, main->results, main->result_names, main->n_results);
  p->n_outputs = (uint32_t)main->n_results;
  return p;
}

static tn_status emit_start(tn_emit *e) {
  tn_graph *g = e->graph;
  e->regions = TN_NEW_ARRAY(e->side, const tn_region *, g->n_regions + 1);
  e->region_of = TN_NEW_ARRAY(e->side, uint32_t, g->n_regions + 1);
  e->value_of = TN_NEW_ARRAY(e->side, int32_t, g->n_values + 1);
  e->segment_of_node = TN_NEW_ARRAY(e->side, int32_t, g->n_nodes + 1);
  e->slot_in = TN_NEW_ARRAY(e->side, tn_map, g->n_regions + 1);
  for (uint32_t i = 0; i < g->n_nodes; i++) e->segment_of_node[i] = TN_NO_INDEX;
  e->regions[e->n_regions++] = g->main;
  TN_TRY(tn_graph_walk(g, emit_number_regions, e));
  e->out_regions = TN_NEW_ARRAY(e->arena, tn_pregion, e->n_regions);
  for (uint32_t i = 0; i < e->n_regions; i++) {
    e->out_regions[i].parent_step = TN_NO_INDEX;
    tn_vec_push(e->side, &e->segments, TN_NEW(e->side, tn_emit_segment));
  }
  emit_number_values(e);
  return TN_OK;
}

/* The places of operands are known once the steps are there. */
static void emit_joins(tn_emit *e) {
  uint32_t *const step = TN_NEW_ARRAY(e->side, uint32_t, e->graph->n_nodes + 1);
  for (size_t i = 0; i < e->steps.n; i++) step[e->step_nodes.at[i]->id] = (uint32_t)i;
  for (uint32_t v = 0; v < e->graph->n_values; v++) {
    const tn_plan_join *join = &e->pass->plan->join[v];
    if (join->node)
      e->values.at[e->value_of[v]].part = 1 + e->steps.at[step[join->node->id]].in.first + (uint32_t)join->operand;
  }
}

tn_status tn_pass_emit(tn_pass *pass, tn_graph *g) {
  tn_emit e = {.pass = pass, .graph = g, .arena = &pass->ctx->arena, .side = &pass->ctx->pass};
  TN_TRY(emit_start(&e));
  emit_input_dims(&e);
  TN_TRY(tn_emit_symbols(&e));
  emit_number_buffers(&e);
  for (uint32_t i = 0; i < e.n_regions; i++) TN_TRY(emit_region_values(&e, i));
  TN_TRY(emit_buffers(&e));
  TN_TRY(tn_emit_checks(&e));
  for (uint32_t i = 0; i < e.n_regions; i++) TN_TRY(tn_emit_steps(&e, i));
  emit_joins(&e);
  pass->program = emit_program(&e);
  pass->step_nodes = e.step_nodes.at;
  return TN_OK;
}
