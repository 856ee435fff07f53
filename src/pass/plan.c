/* plan: where each value's bytes are, and how long they are needed.
 *
 *   needs order   gives buffers   breaks -
 *
 *   %a = relu(%x)            buffer 0, ticks 0..3
 *   %b = reshape(%a, ..)     a view of %a
 *   %w = if(%c) { exp(%b) }  the branch writes buffer 1, that of %w
 *   %y = neg(%w)             over %w: buffer 1, ticks 1..4
 *
 * Values that may share memory get one buffer: views with their source, an elementwise result with an operand that dies
 * there, the results of branches with those of their If, what a Concat joins with its result (plan_join.c). A buffer
 * belongs to the outermost region that knows its size when it is entered, so that branches and bodies of loops share
 * the memory of what is around them. See code/program.h for ticks; places are found in plan_place.c. */
#include "pass/plan.h"

int64_t tn_plan_buffer_of(const tn_planning *p, const tn_value *v, bool *out_whole) {
  const int32_t b = p->out->buffer[p->root[v->id]->id];
  *out_whole = p->is_whole[v->id];
  return b < 0 ? -1 : (int64_t)tn_plan_find(p, (uint32_t)b);
}

static tn_pstore plan_result_store(const tn_planning *p, const tn_node *node, const tn_value *v) {
  if (!tn_type_is_tensor(&v->type) || !tn_type_has_rank(&v->type)) return TN_STORE_LATE;
  for (int j = 0; j < v->type.rank; j++)
    if (!tn_known_on_entry(p->pass->known, tn_known_when(p->pass->known, v->type.dims[j]), node->region))
      return TN_STORE_LATE;
  return TN_STORE_BUFFER;
}

static void plan_add(tn_planning *p, const tn_value *v, tn_pstore store, const tn_value *view_of, tn_sym part) {
  p->out->store[v->id] = (uint8_t)store;
  p->out->view_of[v->id] = view_of ? (int32_t)view_of->id : -1;
  p->out->part[v->id] = part;
  p->out->buffer[v->id] = -1;
  p->root[v->id] = view_of ? p->root[view_of->id] : v;
  p->is_whole[v->id] = !part && (!view_of || p->is_whole[view_of->id]);
  p->all[p->n_all++] = v;
}

static void plan_params(tn_planning *p, const tn_region *r) {
  for (int i = 0; i < r->n_params; i++)
    plan_add(p, r->params[i], r->owner ? TN_STORE_PARAM : TN_STORE_INPUT, NULL, NULL);
}

static tn_status plan_visit(void *arg, tn_node *node) {
  tn_planning *p = arg;
  const tn_place place = (tn_place)p->pass->place_of[node->id];
  const tn_sym *const first = place == TN_PLACE_PART ? tn_pass_parts_of(p->pass, p->graph, node) : NULL;
  for (int i = 0; i < node->n_out; i++) {
    const tn_value *v = node->out[i];
    if (!v) continue;
    switch (place) {
      case TN_PLACE_DATA: {
        const bool is_const = tn_pass_const_of(v) != NULL;
        plan_add(p, v, is_const ? TN_STORE_CONST : TN_STORE_SHAPE, NULL, NULL);
        break;
      }
      case TN_PLACE_ALIAS:
      case TN_PLACE_VIEW:
        plan_add(p, v, TN_STORE_VIEW, node->in[0], NULL);
        break;
      case TN_PLACE_PART:
        plan_add(p, v, TN_STORE_VIEW, node->in[0], first ? first[i] : NULL);
        break;
      case TN_PLACE_KERNEL:
      case TN_PLACE_CONTROL:
        plan_add(p, v, plan_result_store(p, node, v), NULL, NULL);
        break;
    }
  }
  for (int i = 0; i < node->n_regions; i++) plan_params(p, node->regions[i]);
  return TN_OK;
}

/* Ticks, as running takes them. */
static void plan_ticks(tn_planning *p, const tn_region *r) {
  for (const tn_node *node = r->first; node; node = node->next) {
    if (p->pass->order_of[node->id] == TN_NO_STEP) continue;
    p->out->begin[node->id] = p->clock++;
    for (int i = 0; i < node->n_regions; i++) plan_ticks(p, tn_pass_region(node, i));
    p->out->end[node->id] = node->n_regions ? p->clock++ : p->out->begin[node->id];
  }
  p->out->region_end[r->id] = p->clock ? p->clock - 1 : 0;
}

/* Until when a use keeps a value of region `home`; false: it is a use only through uses of its own (a view). */
static bool plan_use_tick(const tn_planning *p, const tn_region *home, const tn_use *u, uint32_t *out) {
  const tn_region *r = u->is_result ? u->region : u->node->region;
  const tn_node *at = u->is_result ? NULL : u->node;
  *out = p->out->region_end[home->id];
  if (!at && r == home) return true;
  for (; r != home; r = at->region) at = r->owner;
  *out = p->out->end[at->id];
  return p->pass->order_of[at->id] != TN_NO_STEP;
}

static void plan_extend(const tn_planning *p, const tn_value *v) {
  const tn_value *root = p->root[v->id];
  const int32_t buffer = p->out->buffer[root->id];
  if (buffer < 0) return;
  for (const tn_use *u = v->uses; u; u = u->next) {
    uint32_t tick;
    if (plan_use_tick(p, root->region, u, &tick) && tick > p->out->buffers[buffer].last)
      p->out->buffers[buffer].last = tick;
    p->is_result[buffer] |= u->is_result && u->region == root->region;
  }
}

static tn_sym plan_bytes(tn_symtab *syms, const tn_type *t) {
  const int64_t bits = tn_dtype_bits(t->dtype);
  const tn_sym n = tn_type_count(syms, t);
  if (bits % 8 == 0) return tn_sym_muli(syms, n, bits / 8);
  return tn_sym_ceildiv(syms, tn_sym_muli(syms, n, bits), tn_sym_int(syms, 8));
}

static void plan_buffers(tn_planning *p, tn_arena *a) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_all; i++)
    if (p->out->store[p->all[i]->id] == TN_STORE_BUFFER) p->out->buffer[p->all[i]->id] = (int32_t)n++;
  p->out->n_buffers = n;
  p->out->buffers = TN_NEW_ARRAY(a, tn_plan_buffer, n + 1);
  p->is_result = TN_NEW_ARRAY(&p->pass->ctx->pass, bool, n + 1);
  p->is_shared = TN_NEW_ARRAY(&p->pass->ctx->pass, bool, n + 1);
  p->merged = TN_NEW_ARRAY(&p->pass->ctx->pass, uint32_t, n + 1);
  p->join = TN_NEW_ARRAY(&p->pass->ctx->pass, tn_plan_join, n + 1);
  for (uint32_t i = 0; i < p->n_all; i++) {
    const tn_value *v = p->all[i];
    const int32_t b = p->out->buffer[v->id];
    if (b < 0) continue;
    p->merged[b] = (uint32_t)b;
    p->out->buffers[b] = (tn_plan_buffer){.region = v->region,
                                          .value = v->id,
                                          .bytes = plan_bytes(p->graph->syms, &v->type),
                                          .first = p->out->begin[v->def->id],
                                          .last = p->out->end[v->def->id]};
  }
  for (uint32_t i = 0; i < p->n_all; i++) plan_extend(p, p->all[i]);
}

static bool plan_same_dims(const tn_type *a, const tn_type *b) {
  if (!tn_type_has_rank(a) || a->rank != b->rank) return false;
  for (int j = 0; j < a->rank; j++)
    if (a->dims[j] != b->dims[j]) return false;
  return true;
}

/* Do the other operands bear that this one is overwritten? Those in the same buffer are read element by element too. */
static bool plan_others_agree(const tn_planning *p, const tn_node *node, int in, int64_t buffer, uint32_t flags) {
  for (int i = 0; i < node->n_in; i++) {
    bool whole;
    if (i == in || !node->in[i] || tn_plan_buffer_of(p, node->in[i], &whole) != buffer) continue;
    if (!(flags & TN_KERNEL_IN_PLACE) || !whole || !plan_same_dims(&node->in[i]->type, &node->out[0]->type))
      return false;
  }
  return true;
}

/* May the first result of a node be written over operand `in`? */
static bool plan_may_overwrite(const tn_planning *p, const tn_node *node, int in, uint32_t flags) {
  bool whole;
  const tn_value *x = node->in[in], *y = node->out[0];
  const int64_t from = x ? tn_plan_buffer_of(p, x, &whole) : -1, to = p->out->buffer[y->id];
  if (from < 0 || !whole || from == to || y->type.dtype == TN_STR || x->type.dtype == TN_STR) return false;
  const tn_plan_buffer *b = &p->out->buffers[from];
  if (b->region != node->region || p->is_result[from] || b->last != p->out->begin[node->id]) return false;
  if (b->bytes != p->out->buffers[to].bytes || tn_dtype_bits(x->type.dtype) != tn_dtype_bits(y->type.dtype))
    return false;
  return plan_same_dims(&x->type, &y->type) && plan_others_agree(p, node, in, from, flags);
}

static void plan_merge(const tn_planning *p, uint32_t from, uint32_t into) {
  tn_plan_buffer *a = &p->out->buffers[into];
  const tn_plan_buffer *b = &p->out->buffers[from];
  if (b->first < a->first) a->first = b->first;
  if (b->last > a->last) a->last = b->last;
  p->merged[from] = into;
}

static tn_status plan_in_place(void *arg, tn_node *node) {
  const tn_planning *p = arg;
  uint32_t flags = 0;
  const tn_value *y = node->n_out > 0 ? node->out[0] : NULL;
  if (p->pass->place_of[node->id] != TN_PLACE_KERNEL || !y || p->out->buffer[y->id] < 0) return TN_OK;
  if (p->keep_operands || !p->pass->kernels->find(node->op->kernel, &flags)) return TN_OK;
  const int n = flags & TN_KERNEL_IN_PLACE ? node->n_in : flags & TN_KERNEL_IN_PLACE_FIRST && node->n_in ? 1 : 0;
  for (int i = 0; i < n; i++) {
    bool whole;
    if (!plan_may_overwrite(p, node, i, flags)) continue;
    const uint32_t from = (uint32_t)tn_plan_buffer_of(p, node->in[i], &whole), to = (uint32_t)p->out->buffer[y->id];
    p->is_result[from] = p->is_result[to];
    plan_merge(p, to, from);
    break;
  }
  return TN_OK;
}

/* The results of a region are written where result k of its If is. */
static void plan_branch(const tn_planning *p, const tn_node *node, const tn_region *r, int k) {
  bool whole;
  const tn_value *y = node->out[k], *x = r->results[k];
  const int32_t out = p->out->buffer[y->id], first = p->out->buffer[p->root[x->id]->id];
  if (first < 0 || p->root[x->id]->region != r || y->type.dtype == TN_STR) return;
  const uint32_t from = (uint32_t)tn_plan_buffer_of(p, x, &whole), into = tn_plan_find(p, (uint32_t)out);
  const tn_plan_buffer *b = &p->out->buffers[from];
  if (!whole || b->region != r || b->bytes != p->out->buffers[out].bytes) return;
  plan_merge(p, from, into);
  p->is_shared[into] = true;
}

static tn_status plan_branches(void *arg, tn_node *node) {
  const tn_planning *p = arg;
  if (strcmp(node->op->name, "if") != 0) return TN_OK;
  for (int k = 0; k < node->n_out; k++)
    for (int i = 0; node->out[k] && p->out->buffer[node->out[k]->id] >= 0 && i < node->n_regions; i++)
      if (k < node->regions[i]->n_results) plan_branch(p, node, node->regions[i], k);
  return TN_OK;
}

static bool plan_may_fail(tn_sym x, int *budget) {
  if (--*budget < 0 || x->kind == TN_SYM_OVERFLOW) return true;
  const bool divides = x->kind == TN_SYM_FLOORDIV || x->kind == TN_SYM_CEILDIV || x->kind == TN_SYM_MOD;
  if (divides && (!tn_sym_is_int(x->args[1]) || x->args[1]->k == 0)) return true;
  if (x->kind == TN_SYM_F32RATIO && (!tn_sym_is_int(x->args[2]) || x->args[2]->k == 0)) return true;
  for (uint32_t i = 0; i < x->n; i++)
    if (plan_may_fail(x->args[i], budget)) return true;
  return false;
}

/* The outermost region that knows the size when it is entered. What may fail is not computed for a branch that is
 * perhaps not taken. */
static const tn_region *plan_home(const tn_planning *p, const tn_plan_buffer *b) {
  enum { BUDGET = 4000 };
  const tn_region *home = b->region;
  int budget = BUDGET;
  const tn_when when = tn_known_when(p->pass->known, b->bytes);
  if (!home->owner || plan_may_fail(b->bytes, &budget)) return home;
  while (home->owner && tn_known_on_entry(p->pass->known, when, home->owner->region)) home = home->owner->region;
  return home;
}

/* Numbers the buffers that are left. */
static void plan_settle(tn_planning *p) {
  uint32_t *const number = TN_NEW_ARRAY(&p->pass->ctx->pass, uint32_t, p->out->n_buffers + 1);
  int32_t *const buffer = TN_NEW_ARRAY(&p->pass->ctx->pass, int32_t, p->graph->n_values + 1);
  uint32_t n = 0;
  memcpy(buffer, p->out->buffer, p->graph->n_values * sizeof *buffer);
  for (uint32_t i = 0; i < p->out->n_buffers; i++) {
    if (p->merged[i] != i || p->join[i].node) continue;
    tn_plan_buffer b = p->out->buffers[i];
    const tn_region *const home = plan_home(p, &b);
    b.has_bytes = p->is_shared[i] || home != b.region;
    b.region = home;
    number[i] = n;
    p->out->buffers[n++] = b;
  }
  for (uint32_t i = 0; i < p->n_all; i++) {
    int32_t *const b = &p->out->buffer[p->all[i]->id];
    if (*b < 0) continue;
    uint32_t at = tn_plan_find(p, (uint32_t)*b);
    p->out->join[p->all[i]->id] = p->join[at];
    while (p->join[at].node) at = tn_plan_find(p, (uint32_t)buffer[p->join[at].node->out[0]->id]);
    *b = (int32_t)number[at];
  }
  p->out->n_buffers = n;
}

tn_status tn_pass_plan(tn_pass *pass, tn_graph *g) {
  tn_arena *a = &pass->ctx->arena, *side = &pass->ctx->pass;
  tn_planning p = {.pass = pass, .graph = g, .out = TN_NEW(a, tn_plan)};
  p.keep_operands = pass->keep_operands || !pass->ctx->knobs.num[TN_KNOB_in_place];
  p.out->buffer = TN_NEW_ARRAY(a, int32_t, g->n_values + 1);
  p.out->join = TN_NEW_ARRAY(a, tn_plan_join, g->n_values + 1);
  p.out->view_of = TN_NEW_ARRAY(a, int32_t, g->n_values + 1);
  p.out->part = TN_NEW_ARRAY(a, tn_sym, g->n_values + 1);
  p.out->store = TN_NEW_ARRAY(a, uint8_t, g->n_values + 1);
  p.out->begin = TN_NEW_ARRAY(a, uint32_t, g->n_nodes + 1);
  p.out->end = TN_NEW_ARRAY(a, uint32_t, g->n_nodes + 1);
  p.out->region_end = TN_NEW_ARRAY(a, uint32_t, g->n_regions + 1);
  p.root = TN_NEW_ARRAY(side, const tn_value *, g->n_values + 1);
  p.all = TN_NEW_ARRAY(side, const tn_value *, g->n_values + 1);
  p.is_whole = TN_NEW_ARRAY(side, bool, g->n_values + 1);
  plan_params(&p, g->main);
  TN_TRY(tn_graph_walk(g, plan_visit, &p));
  plan_ticks(&p, g->main);
  plan_buffers(&p, a);
  TN_TRY(tn_graph_walk(g, plan_in_place, &p));
  TN_TRY(tn_graph_walk(g, plan_branches, &p));
  if (pass->ctx->knobs.num[TN_KNOB_join_parts]) TN_TRY(tn_plan_joins(&p));
  plan_settle(&p);
  tn_plan_place(pass, g, p.out);
  pass->plan = p.out;
  return TN_OK;
}
