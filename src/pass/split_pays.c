/* Weights of the split: see split_pays.h. */
#include "pass/split_pays.h"

#include "ir/op.h"
#include "pass/split_mark.h"

/* --- work of a node --- */

tn_status tn_split_work_init(tn_split_work *w, tn_graph *g, const char *dims) {
  *w = (tn_split_work){.cost = {.syms = g->syms}, .sizes = tn_cost_sizes_new(g->syms, &g->ctx->pass)};
  return tn_cost_sizes_read(&w->sizes, g, dims);
}

int64_t tn_split_work_number(tn_split_work *w, tn_sym e) {
  int64_t v;
  if (tn_cost_value(&w->sizes, e, &v)) return v < 0 ? 0 : v < INT64_MAX / 1024 ? v : INT64_MAX / 1024;
  const tn_interval range = tn_sym_bounds(w->cost.syms, e);
  return range.hi < INT64_MAX / 1024 && range.hi >= 0 ? range.hi : 1;
}

/* What takes elements out of an operand reads those alone, however large it is. */
static tn_sym work_moved(tn_split_work *w, const tn_node *node) {
  static const char *const picks[] = {"gather", "gather_elements", "gather_nd", "slice"};
  bool is_pick = false;
  for (size_t i = 0; i < TN_COUNT(picks); i++) is_pick |= strcmp(node->op->name, picks[i]) == 0;
  if (!is_pick || !node->out[0]) return tn_cost_moved(&w->cost, node);
  tn_sym bytes = tn_sym_muli(w->cost.syms, tn_cost_bytes(&w->cost, node->out[0]), 2);
  for (int i = 1; i < node->n_in; i++)
    if (node->in[i]) bytes = tn_sym_add(w->cost.syms, bytes, tn_cost_bytes(&w->cost, node->in[i]));
  return bytes;
}

int64_t tn_split_work_ns(tn_split_work *w, const tn_split_cost *c, const tn_node *node) {
  const int64_t compute = tn_split_work_number(w, tn_cost_flops(&w->cost, node)) / c->flops;
  const int64_t move = tn_split_work_number(w, work_moved(w, node)) / c->bytes;
  int64_t ns = compute > move ? compute : move;
  for (int i = 0; i < node->n_regions; i++)
    for (const tn_node *n = node->regions[i]->first; n && ns < INT32_MAX; n = n->next)
      if (!tn_split_is_const(n)) ns += c->node + tn_split_work_ns(w, c, n);
  return ns < INT32_MAX ? ns : INT32_MAX;
}

/* --- does a part pay? --- */

static bool pays_is_elementwise(const tn_node *node) {
  return (node->op->traits & TN_TRAIT_ELEMENTWISE) && !(node->op->traits & TN_TRAIT_VIEW);
}

static int64_t pays_kib(const tn_value *v) {
  int64_t dims[TN_MAX_RANK], bytes;
  if (!tn_type_has_rank(&v->type) || !tn_type_const_dims(&v->type, dims)) return 0;
  bytes = tn_dtype_bits(v->type.dtype) / 8;
  for (int i = 0; i < v->type.rank; i++)
    if (!tn_mul_i64(bytes, dims[i], &bytes)) return INT32_MAX;
  return bytes / 1024 < INT32_MAX ? bytes / 1024 : INT32_MAX;
}

/* KiB of the results that only elementwise nodes of the part look at. */
static int64_t pays_fused(const tn_split_pays *p, uint32_t i, uint32_t look) {
  const tn_split_flow *f = p->f;
  if (!pays_is_elementwise(f->nodes[i]) || f->first_out[i] == f->first_out[i + 1]) return 0;
  for (uint32_t k = f->first_out[i]; k < f->first_out[i + 1]; k++) {
    const uint32_t to = f->to[f->out[k]];
    if (p->look[to] != look || !pays_is_elementwise(f->nodes[to])) return 0;
  }
  return f->nodes[i]->out[0] ? 2 * pays_kib(f->nodes[i]->out[0]) : 0;
}

void tn_split_pays_init(tn_split_pays *p, const tn_partition_set *s, const tn_split_options *o, const tn_split_flow *f,
                        tn_arena *a) {
  *p = (tn_split_pays){.s = s, .o = o, .f = f, .look = TN_NEW_ARRAY(a, uint32_t, f->n + 1)};
}

static int64_t pays_operators(const tn_split_flow *f, const uint32_t *nodes, uint32_t n) {
  int64_t operators = 0;
  for (uint32_t i = 0; i < n; i++) operators += f->origin[nodes[i]] == nodes[i];
  return operators;
}

bool tn_split_pays_part(tn_split_pays *p, const uint32_t *nodes, uint32_t n, int64_t more) {
  const tn_split_flow *f = p->f;
  const tn_split_cost *c = &tn_target_find(p->o->target, p->s->engine_of[f->ids[nodes[0]]])->cost;
  const uint32_t look = p->n_looks += 2; /* of the nodes; look + 1: of what lies outside */
  int64_t kib = 0, values = 0;
  if (p->o->min_static_ops != TN_BY_COST) return pays_operators(f, nodes, n) >= p->o->min_static_ops;
  for (uint32_t i = 0; i < n; i++) p->look[nodes[i]] = look;
  for (uint32_t i = 0; i < n; i++) {
    bool is_seen = true;
    for (uint32_t e = f->first[nodes[i]]; e < f->first[nodes[i] + 1]; e++) {
      if (p->look[f->from[e]] == look || p->look[f->from[e]] == look + 1 || f->is_order[e]) continue;
      p->look[f->from[e]] = look + 1;
      values++;
    }
    for (uint32_t k = f->first_out[nodes[i]]; k < f->first_out[nodes[i] + 1]; k++)
      is_seen &= p->look[f->to[f->out[k]]] == look;
    values += !is_seen;
    kib += pays_fused(p, nodes[i], look);
  }
  return c->node * pays_operators(f, nodes, n) + c->kib * kib + more >= c->part + c->value * values;
}

/* --- for the clusters --- */

static uint32_t *pays_groups(const tn_split_flow *f, tn_arena *a) {
  uint32_t *group = TN_NEW_ARRAY(a, uint32_t, f->n + 1), *size = TN_NEW_ARRAY(a, uint32_t, f->n + 1);
  for (uint32_t i = 0; i < f->n; i++) size[f->group[i]]++;
  for (uint32_t i = 0; i < f->n; i++) group[i] = size[f->group[i]] > 1 ? f->group[i] : TN_SPLIT_ALONE;
  return group;
}

static bool pays_is_dynamic(const tn_partition_set *s, const tn_split_options *o, uint32_t id) {
  const uint8_t kind = s->kind_of[id];
  return kind == TN_PART_DYNAMIC || (kind == TN_PART_SYMBOLIC && o->symbolic_is_dynamic) ||
         o->min_static_ops == TN_ALL_DYNAMIC;
}

tn_split_dag tn_split_dag_of(const tn_partition_set *s, const tn_split_options *o, const tn_split_flow *f,
                             const uint32_t *color, tn_arena *a) {
  uint8_t *is_dynamic = TN_NEW_ARRAY(a, uint8_t, f->n + 1);
  for (uint32_t i = 0; i < f->n; i++) is_dynamic[i] = pays_is_dynamic(s, o, f->ids[i]);
  return (tn_split_dag){f->n, f->n_edges, f->from, f->to, color, is_dynamic, pays_groups(f, a)};
}
