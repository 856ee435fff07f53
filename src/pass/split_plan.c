/* The plan of a split: kinds, then for each region a DAG, clusters of it, and what the parts exchange. */
#include "ir/op.h"
#include "pass/split_flow.h"
#include "pass/split_mark.h"
#include "pass/split_pays.h"

const tn_split_options tn_split_defaults = {.min_static_ops = TN_BY_COST};

typedef struct planner {
  tn_graph *g;
  const tn_split_options *o;
  tn_partition_set *s;
  tn_arena *temp;
  uint32_t *index;             /* node id -> number in the region at hand */
  uint32_t *listed;            /* value id -> 1 + the part that listed it last, counted over all regions */
  uint32_t n_parts;            /* so far */
  uint32_t number;             /* of the region at hand */
  TN_VEC(tn_split_flow) flows; /* of all regions, outer before inner */
  tn_split_flow flow;          /* of the region at hand */
  tn_split_parts parts;
  tn_split_pays pays;
} planner;

/* What another engine has and did not give back pays there, or nothing else takes it. */
static bool plan_is_worth(void *arg, const uint32_t *nodes, uint32_t n) {
  planner *p = arg;
  const char *engine = p->s->engine_of[p->flow.nodes[nodes[0]]->id];
  if (!tn_target_is_last(p->o->target, tn_target_find(p->o->target, engine))) return true;
  return tn_split_pays_part(&p->pays, nodes, n, 0);
}

/* --- clusters --- */

static void plan_one_part(planner *p) {
  p->parts.n = p->flow.n > 0;
  p->parts.of = TN_NEW_ARRAY(p->temp, uint32_t, p->flow.n + 1);
  p->parts.is_dynamic = TN_NEW_ARRAY(p->temp, uint8_t, 1);
  p->parts.is_dynamic[0] = 1;
}

static tn_status plan_fail_group(const planner *p, const tn_node *node) {
  const char *name = node->marks && node->marks->group ? node->marks->group : "";
  return tn_fail(p->g->ctx, TN_INVALID, node->loc,
                 "tenon.group '%s' cannot be one part: it, or what lies between its nodes, is on several engines or "
                 "stages",
                 name);
}

/* Nodes of one engine and stage have one colour: the number of the first of them. */
static uint32_t *plan_colors(const planner *p) {
  const tn_split_flow *f = &p->flow;
  uint32_t *color = TN_NEW_ARRAY(p->temp, uint32_t, f->n + 1);
  tn_map first = {0};        /* engine and stage -> */
  const char *engine = NULL; /* of the last node */
  int32_t stage = 0;
  for (uint32_t i = 0; i < f->n; i++) {
    const uint32_t id = f->ids[i];
    uint64_t known;
    if (i && p->s->engine_of[id] == engine && p->s->stage_of[id] == stage) {
      color[i] = color[i - 1];
      continue;
    }
    engine = p->s->engine_of[id];
    stage = p->s->stage_of[id];
    const uint64_t key = (uint64_t)tn_intern_id(engine) << 32 | (uint32_t)stage;
    if (tn_map_find(&first, key, &known))
      color[i] = (uint32_t)known;
    else
      tn_map_set(p->temp, &first, key, color[i] = i);
  }
  return color;
}

static tn_status plan_cluster(planner *p) {
  const tn_split_flow *f = &p->flow;
  uint32_t *color = plan_colors(p);
  bool is_one_color = true;
  for (uint32_t i = 0; i < f->n; i++) is_one_color &= color[i] == color[0];
  if (p->o->min_static_ops == TN_ALL_DYNAMIC && is_one_color) {
    plan_one_part(p);
    return TN_OK;
  }
  const tn_split_dag dag = tn_split_dag_of(p->s, p->o, f, color, p->temp);
  const tn_split_rule rule = {p->o->mode, plan_is_worth, p};
  uint32_t culprit = 0;
  tn_split_pays_init(&p->pays, p->s, p->o, f, p->temp);
  const tn_status status = tn_split_cluster(p->temp, &dag, &rule, &p->parts, &culprit);
  return status == TN_OK ? TN_OK : plan_fail_group(p, f->nodes[culprit]);
}

/* --- parts --- */

/* Parts become files: of plain characters, and no longer than a file's name may be. */
static const char *plan_name(const planner *p, uint32_t part, tn_part_kind kind) {
  tn_arena *a = &p->g->ctx->arena;
  const char *name = p->g->main->name, *kind_name = tn_part_kind_name(kind);
  char *safe = tn_arena_printf(a, "%.100s", name && name[0] ? name : "graph");
  for (char *c = safe; *c; c++) {
    const bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                          *c == '_' || *c == '-' || (*c == '.' && c > safe);
    if (!is_plain) *c = '_';
  }
  if (!p->number) return tn_arena_printf(a, "%s_part%u_%s", safe, part, kind_name);
  return tn_arena_printf(a, "%s_body%u_part%u_%s", safe, p->number, part, kind_name);
}

static void plan_fill_nodes(planner *p, tn_partition *out) {
  const tn_split_flow *f = &p->flow;
  tn_arena *a = &p->g->ctx->arena;
  for (uint32_t i = 0; i < f->n; i++) out->parts[p->parts.of[i]].n_nodes++;
  for (uint32_t k = 0; k < out->n_parts; k++) {
    out->parts[k].nodes = TN_NEW_ARRAY(a, tn_node *, out->parts[k].n_nodes + 1);
    out->parts[k].n_nodes = 0;
  }
  for (uint32_t i = 0; i < f->n; i++) {
    tn_part *part = &out->parts[p->parts.of[i]];
    part->nodes[part->n_nodes++] = f->nodes[i];
    p->s->part_of[f->ids[i]] = p->parts.of[i];
  }
}

static const char *plan_degraded(const planner *p) {
  if (p->o->min_static_ops == TN_ALL_DYNAMIC) return "nothing is to be static";
  if (p->o->min_static_ops == TN_BY_COST) return "a part of its own would cost more than it saves";
  return tn_arena_printf(&p->g->ctx->arena, "fewer than %lld operators", (long long)p->o->min_static_ops);
}

/* The largest kind of its nodes; what is not worth a part of its own is as what it is run with. */
static void plan_fill_kind(const planner *p, tn_part *part, bool is_dynamic) {
  const tn_node *first = part->nodes[0];
  for (uint32_t i = 1; i < part->n_nodes; i++)
    if (p->s->kind_of[part->nodes[i]->id] > p->s->kind_of[first->id]) first = part->nodes[i];
  part->kind = (tn_part_kind)p->s->kind_of[first->id];
  const tn_part_kind least =
      p->o->symbolic_is_dynamic && p->o->min_static_ops != TN_ALL_DYNAMIC ? TN_PART_SYMBOLIC : TN_PART_DYNAMIC;
  if (is_dynamic && part->kind < least) {
    part->kind = least;
    part->reason = plan_degraded(p);
    return;
  }
  const char *why = tn_part_why(p->s, first);
  const char *name = first->loc.name && first->loc.name[0] ? first->loc.name : first->op->name;
  part->reason = part->kind == TN_PART_STATIC ? why : tn_arena_printf(&p->g->ctx->arena, "%s: %s", name, why);
}

typedef TN_VEC(tn_value *) plan_values;

typedef struct plan_inputs {
  planner *p;
  const tn_partition *partition;
  uint32_t part, number; /* number: over all regions */
  int depth;             /* of the region */
  plan_values values;
} plan_inputs;

/* Made outside of the part: by another part, a parameter, or in a region around this one. */
static void plan_see_input(plan_inputs *in, tn_value *v) {
  const tn_region *r = in->partition->region;
  if (!v || (v->def && tn_split_is_const(v->def)) || in->p->listed[v->id] == in->number) return;
  if (v->region == r && v->def && in->p->s->part_of[v->def->id] == in->part) return;
  if (v->region != r && tn_split_depth(v->region) > in->depth) return; /* of a region inside */
  in->p->listed[v->id] = in->number;
  tn_vec_push(&in->p->g->ctx->arena, &in->values, v);
}

static void plan_see_inputs(plan_inputs *in, const tn_node *node) {
  for (int i = 0; i < node->n_in; i++) plan_see_input(in, node->in[i]);
  for (int i = 0; i < node->n_regions; i++) {
    const tn_region *r = node->regions[i];
    for (const tn_node *n = r->first; n; n = n->next) plan_see_inputs(in, n);
    for (int k = 0; k < r->n_results; k++) plan_see_input(in, r->results[k]);
  }
}

static bool plan_leaves(const planner *p, const tn_region *r, const tn_value *v, uint32_t part) {
  for (const tn_use *u = v->uses; u; u = u->next) {
    if (u->is_result && u->region == r) return true;
    const tn_node *by = tn_split_holder(r, tn_use_node(u));
    if (p->s->part_of[by->id] != part) return true;
  }
  return false;
}

static void plan_fill_values(planner *p, const tn_partition *partition, uint32_t k) {
  tn_part *part = &partition->parts[k];
  plan_inputs in = {p, partition, k, ++p->n_parts, tn_split_depth(partition->region), {0}};
  plan_values out = {0};
  for (uint32_t i = 0; i < part->n_nodes; i++) {
    const tn_node *node = part->nodes[i];
    plan_see_inputs(&in, node);
    for (int j = 0; j < node->n_out; j++)
      if (node->out[j] && plan_leaves(p, partition->region, node->out[j], k))
        tn_vec_push(&p->g->ctx->arena, &out, node->out[j]);
  }
  part->inputs = in.values.at;
  part->n_inputs = (uint32_t)in.values.n;
  part->outputs = out.at;
  part->n_outputs = (uint32_t)out.n;
}

typedef TN_VEC(tn_part_edge) plan_edges;

/* By `to` first; then sorted by `from`, which keeps the order of those that are equal. */
static void plan_fill_edges(planner *p, tn_partition *out) {
  const tn_split_flow *f = &p->flow;
  plan_edges edges = {0};
  uint32_t *at = TN_NEW_ARRAY(p->temp, uint32_t, out->n_parts + 1); /* part -> 1 + its edge to the part at hand */
  uint32_t *place = TN_NEW_ARRAY(p->temp, uint32_t, out->n_parts + 2);
  for (uint32_t k = 0; k < out->n_parts; k++) {
    const uint32_t first = (uint32_t)edges.n;
    for (uint32_t i = 0; i < out->parts[k].n_nodes; i++) {
      const uint32_t node = p->index[out->parts[k].nodes[i]->id];
      for (uint32_t e = f->first[node]; e < f->first[node + 1]; e++) {
        const uint32_t from = p->parts.of[f->from[e]];
        if (from == k) continue;
        if (at[from] <= first) {
          tn_vec_push(p->temp, &edges, (tn_part_edge){from, k, true});
          at[from] = (uint32_t)edges.n;
          place[from + 1]++;
        }
        edges.at[at[from] - 1].is_order_only &= f->is_order[e];
      }
    }
  }
  for (uint32_t k = 0; k < out->n_parts; k++) place[k + 1] += place[k];
  out->edges = TN_NEW_ARRAY(&p->g->ctx->arena, tn_part_edge, edges.n + 1);
  out->n_edges = (uint32_t)edges.n;
  for (size_t e = 0; e < edges.n; e++) out->edges[place[edges.at[e].from]++] = edges.at[e];
}

static tn_status plan_region(planner *p, tn_region *r) {
  tn_arena *a = &p->g->ctx->arena;
  tn_partition out = {.region = r};
  TN_TRY(plan_cluster(p));
  out.n_parts = p->parts.n;
  out.parts = TN_NEW_ARRAY(a, tn_part, out.n_parts + 1);
  plan_fill_nodes(p, &out);
  for (uint32_t k = 0; k < out.n_parts; k++) {
    tn_part *part = &out.parts[k];
    part->stage = p->s->stage_of[part->nodes[0]->id];
    part->engine = p->s->engine_of[part->nodes[0]->id];
    plan_fill_kind(p, part, p->parts.is_dynamic[k]);
    part->name = plan_name(p, k, part->kind);
  }
  for (uint32_t k = 0; k < out.n_parts; k++) plan_fill_values(p, &out, k);
  plan_fill_edges(p, &out);
  tn_vec_push(a, &p->s->regions, out);
  p->number++;
  return TN_OK;
}

static tn_status plan_flow(planner *p, tn_region *r) {
  tn_split_flow flow;
  TN_TRY(tn_split_flow_new(r, p->temp, p->index, &flow));
  tn_vec_push(p->temp, &p->flows, flow);
  return TN_OK;
}

static tn_status plan_inner_flows(void *arg, tn_node *node) {
  planner *p = arg;
  for (int i = 0; i < node->n_regions; i++)
    if (!node->regions[i]->dead) TN_TRY(plan_flow(p, node->regions[i]));
  return TN_OK;
}

tn_status tn_split_plan(tn_graph *g, const tn_split_options *o, tn_partition_set **out) {
  tn_arena *a = &g->ctx->arena;
  tn_split_options own = *o;
  if (!own.target) own.target = tn_target_new(g->ctx);
  planner p = {.g = g, .o = &own, .temp = &g->ctx->pass, .s = TN_NEW(a, tn_partition_set)};
  p.s->graph = g;
  p.s->part_of = TN_NEW_ARRAY(a, uint32_t, g->n_nodes + 1);
  memset(p.s->part_of, 0xff, ((size_t)g->n_nodes + 1) * sizeof(uint32_t));
  p.s->stage_of = TN_NEW_ARRAY(a, int32_t, g->n_nodes + 1);
  memset(p.s->stage_of, 0xff, ((size_t)g->n_nodes + 1) * sizeof(int32_t)); /* TN_NO_STAGE */
  p.index = TN_NEW_ARRAY(a, uint32_t, g->n_nodes + 1);
  p.listed = TN_NEW_ARRAY(p.temp, uint32_t, g->n_values + 1);
  TN_TRY(tn_split_mark(p.s, &own));
  TN_TRY(plan_flow(&p, g->main));
  TN_TRY(tn_graph_walk(g, plan_inner_flows, &p));
  tn_split_work work;
  TN_TRY(tn_split_work_init(&work, g, own.dims));
  TN_TRY(tn_split_place(p.s, &own, &work, p.flows.at, p.flows.n));
  TN_TRY(tn_split_stage(p.s, &own, &work, &p.flows.at[0]));
  for (size_t i = 0; i < p.flows.n; i++) {
    p.flow = p.flows.at[i];
    TN_TRY(plan_region(&p, p.flow.region));
  }
  *out = p.s;
  return TN_OK;
}
