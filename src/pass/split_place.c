/* Which engine each node is on: the first, in the table's order, that takes it and all that must be in one part with
 * it. Composites come first: chains of nodes that an engine takes as one. What then does not pay as a part of its
 * engine goes to one next to it. A node that owns regions is on an engine other than "tenon" only where all nodes in
 * them are.
 */
#include "ir/op.h"
#include "pass/split_mark.h"
#include "pass/split_pays.h"

typedef struct placer {
  tn_partition_set *s;
  const tn_split_options *o;
  tn_split_work *work;
  const tn_target *target;
  tn_ctx *ctx;
  const tn_split_flow *f;
  uint32_t *first, *next; /* group -> its nodes */
  uint32_t *user;         /* group -> the one that alone needs it, or PLACE_NONE; NULL: no engine has composites */
  tn_text refused;        /* by the engines asked so far */
  tn_status status;
} placer;

#define PLACE_NONE UINT32_MAX

static const char *place_body_reason(const placer *p, const tn_target_engine *e, const tn_node *node) {
  if (tn_target_is_last(p->target, e)) return NULL;
  for (int i = 0; i < node->n_regions; i++)
    for (const tn_node *n = node->regions[i]->dead ? NULL : node->regions[i]->first; n; n = n->next)
      if (!tn_split_is_const(n) && p->s->engine_of[n->id] != e->name)
        return tn_arena_printf(&p->ctx->arena, "does not have '%s' in its body", n->loc.name ? n->loc.name : "");
  return NULL;
}

static const char *place_static_reason(const placer *p, const tn_target_engine *e, const tn_node *node) {
  const uint8_t kind = p->s->kind_of[node->id];
  if (!e->is_static || kind == TN_PART_STATIC) return NULL;
  if (kind == TN_PART_SYMBOLIC && !p->o->symbolic_is_dynamic) return NULL;
  return tn_arena_printf(&p->ctx->arena, "takes fixed shapes only: %s", tn_part_why(p->s, node));
}

static const char *place_mark_reason(const tn_target_engine *e, const tn_node *node) {
  if (!node->marks || !node->marks->engine || strcmp(node->marks->engine, e->name) == 0) return NULL;
  return "is not the one of tenon.engine";
}

/* Why the engine cannot have a group, or have it as a step of a composite. */
static const char *place_refuse(const placer *p, const tn_target_engine *e, const tn_target_ops *step, uint32_t group) {
  for (uint32_t i = p->first[group]; i != PLACE_NONE; i = p->next[i]) {
    const tn_node *node = p->f->nodes[i];
    const char *why = place_mark_reason(e, node);
    if (!why) why = step ? tn_target_refuse_step(p->ctx, step, node) : tn_target_refuse(p->ctx, e, node);
    if (!why) why = place_static_reason(p, e, node);
    if (!why) why = place_body_reason(p, e, node);
    if (why) return why;
  }
  return NULL;
}

static void place_take(const placer *p, const tn_target_engine *e, uint32_t group, const char *refused) {
  for (uint32_t i = p->first[group]; i != PLACE_NONE; i = p->next[i]) {
    const uint32_t id = p->f->ids[i];
    p->s->engine_of[id] = e->name;
    p->s->refused[id] = refused;
    if (!e->is_host || p->s->kind_of[id] == TN_PART_DYNAMIC) continue;
    p->s->kind_of[id] = TN_PART_DYNAMIC;
    p->s->why[id] = (tn_why){.rule = TN_WHY_ENGINE, .text = e->name};
  }
}

static void place_group(placer *p, uint32_t group) {
  tn_text *refused = &p->refused;
  refused->len = 0;
  for (size_t i = 0; i < p->target->engines.n; i++) {
    const tn_target_engine *e = &p->target->engines.at[i];
    const char *why = place_refuse(p, e, NULL, group);
    if (!why) {
      place_take(p, e, group, refused->len ? tn_ctx_name(p->ctx, (tn_str){refused->ptr, refused->len}) : NULL);
      return;
    }
    tn_text_printf(refused, "%s%s: %s", refused->len ? "; " : "", e->name, why);
  }
  p->status = tn_fail(p->ctx, TN_UNSUPPORTED, p->f->nodes[group]->loc, "no engine takes it: %.*s", (int)refused->len,
                      refused->ptr);
}

static void place_link(placer *p) {
  tn_arena *a = &p->ctx->pass;
  p->first = TN_NEW_ARRAY(a, uint32_t, p->f->n + 1);
  p->next = TN_NEW_ARRAY(a, uint32_t, p->f->n + 1);
  for (uint32_t i = 0; i < p->f->n; i++) p->first[i] = PLACE_NONE;
  for (uint32_t i = p->f->n; i-- > 0;) {
    p->next[i] = p->first[p->f->group[i]];
    p->first[p->f->group[i]] = i;
  }
}

/* --- composites --- */

static bool place_is_result(const placer *p, const tn_node *node) {
  for (int i = 0; i < node->n_out; i++)
    for (const tn_use *u = node->out[i] ? node->out[i]->uses : NULL; u; u = u->next)
      if (u->is_result && u->region == p->f->region) return true;
  return false;
}

static uint32_t place_find_user(const placer *p, uint32_t group) {
  const tn_split_flow *f = p->f;
  uint32_t user = PLACE_NONE;
  for (uint32_t i = p->first[group]; i != PLACE_NONE; i = p->next[i]) {
    if (place_is_result(p, f->nodes[i])) return PLACE_NONE;
    for (uint32_t k = f->first_out[i]; k < f->first_out[i + 1]; k++) {
      const uint32_t to = f->group[f->to[f->out[k]]];
      if (to == group || to == user) continue;
      if (user != PLACE_NONE) return PLACE_NONE;
      user = to;
    }
  }
  return user;
}

/* A step is one node of the model that is not placed yet. */
static bool place_is_step(const placer *p, const tn_target_engine *e, const tn_target_ops *step, uint32_t group) {
  const uint32_t origin = p->f->origin[group];
  for (uint32_t i = p->first[group]; i != PLACE_NONE; i = p->next[i])
    if (p->f->origin[i] != origin || p->s->engine_of[p->f->ids[i]]) return false;
  return p->first[group] != PLACE_NONE && !place_refuse(p, e, step, group);
}

/* The groups become one. No path leaves it and comes back: all but the last are needed by the next one alone. */
static void place_join(placer *p, const tn_target_engine *e, const char *name, const uint32_t *chain, size_t n) {
  tn_arena *a = &p->ctx->arena;
  tn_part_composite *c = TN_NEW(a, tn_part_composite);
  uint32_t root = chain[0], n_nodes = 0, last = PLACE_NONE;
  for (size_t k = 0; k < n; k++) {
    if (chain[k] < root) root = chain[k];
    for (uint32_t i = p->first[chain[k]]; i != PLACE_NONE; i = p->next[i]) n_nodes++;
  }
  *c = (tn_part_composite){.name = name, .nodes = TN_NEW_ARRAY(a, tn_node *, n_nodes)};
  for (size_t k = n; k-- > 0;) {
    for (uint32_t i = p->first[chain[k]], next; i != PLACE_NONE; i = next) {
      next = p->next[i];
      p->next[i] = last;
      last = i;
      p->f->group[i] = root;
      p->s->composite_of[p->f->nodes[i]->id] = c;
    }
    p->first[chain[k]] = PLACE_NONE;
  }
  p->first[root] = last;
  for (uint32_t i = last; i != PLACE_NONE; i = p->next[i]) c->nodes[c->n_nodes++] = p->f->nodes[i];
  place_take(p, e, root, NULL);
}

static void place_composite(placer *p, const tn_target_engine *e, const tn_target_composite *c, uint32_t group) {
  uint32_t chain[TN_TARGET_MAX_STEPS];
  for (size_t k = 0; k < c->steps.n; k++) {
    if (group == PLACE_NONE || !place_is_step(p, e, &c->steps.at[k], group)) return;
    chain[k] = group;
    group = p->user[group];
  }
  const int32_t stage = tn_split_asked_stage(p->o, p->f->nodes[chain[0]]);
  for (size_t k = 1; k < c->steps.n; k++)
    if (tn_split_asked_stage(p->o, p->f->nodes[chain[k]]) != stage) return;
  place_join(p, e, c->name, chain, c->steps.n);
}

static void place_composites(placer *p) {
  if (!p->user) return;
  for (uint32_t i = 0; i < p->f->n; i++) p->user[i] = place_find_user(p, i);
  for (size_t k = 0; k < p->target->engines.n; k++) {
    const tn_target_engine *e = &p->target->engines.at[k];
    for (size_t c = 0; !e->is_excluded && c < e->composites.n; c++)
      for (uint32_t i = 0; i < p->f->n; i++) place_composite(p, e, &e->composites.at[c], i);
  }
}

/* What the regions of a node have become since it was marked. */
static void place_raise_owner(const placer *p) {
  const tn_region *r = p->f->region;
  if (r->owner) tn_split_mark_owner(p->s, r->owner);
}

/* --- what does not pay goes back --- */

static uint32_t *place_colors(const placer *p) {
  uint32_t *color = TN_NEW_ARRAY(&p->ctx->pass, uint32_t, p->f->n + 1);
  for (uint32_t i = 0; i < p->f->n; i++) color[i] = (uint32_t)tn_intern_id(p->s->engine_of[p->f->ids[i]]);
  return color;
}

static bool place_is_worth(void *arg, const uint32_t *nodes, uint32_t n) {
  (void)arg, (void)nodes, (void)n;
  return true;
}

static int64_t place_work(const placer *p, const tn_target_engine *e, const uint32_t *nodes, uint32_t n) {
  int64_t ns = 0;
  for (uint32_t i = 0; i < n; i++) ns += tn_split_work_ns(p->work, &e->cost, p->f->nodes[nodes[i]]);
  return ns;
}

/* What the engine saves of the time that the other one takes. */
static int64_t place_faster(const placer *p, const tn_target_engine *e, const tn_target_engine *other,
                            const uint32_t *nodes, uint32_t n) {
  if (e->cost.flops == other->cost.flops && e->cost.bytes == other->cost.bytes) return 0;
  return place_work(p, other, nodes, n) - place_work(p, e, nodes, n);
}

static bool place_takes_all(const placer *p, const tn_target_engine *e, const uint32_t *nodes, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (p->f->group[nodes[i]] == nodes[i] && place_refuse(p, e, NULL, nodes[i])) return false;
  return true;
}

/* A body is next to the node that owns it. */
static bool place_has_next(const placer *p, const tn_target_engine *e, const uint32_t *nodes, uint32_t n) {
  const tn_split_flow *f = p->f;
  if (f->region->owner && p->s->engine_of[f->region->owner->id] == e->name) return true;
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t k = f->first[nodes[i]]; k < f->first[nodes[i] + 1]; k++)
      if (p->s->engine_of[f->ids[f->from[k]]] == e->name) return true;
    for (uint32_t k = f->first_out[nodes[i]]; k < f->first_out[nodes[i] + 1]; k++)
      if (p->s->engine_of[f->ids[f->to[f->out[k]]]] == e->name) return true;
  }
  return false;
}

/* A part of the engine goes to the first that has nodes next to it and takes all of it. */
static void place_give_back(const placer *p, tn_split_pays *pays, const tn_target_engine *e, const uint32_t *nodes,
                            uint32_t n) {
  const tn_target_engine *to = NULL;
  for (size_t k = 0; k < p->target->engines.n && !to; k++) {
    const tn_target_engine *other = &p->target->engines.at[k];
    if (other != e && place_has_next(p, other, nodes, n) && place_takes_all(p, other, nodes, n)) to = other;
  }
  if (!to || tn_split_pays_part(pays, nodes, n, place_faster(p, e, to, nodes, n))) return;
  for (uint32_t i = 0; i < n; i++) {
    const char *refused = p->s->refused[p->f->nodes[nodes[i]]->id];
    p->s->composite_of[p->f->nodes[nodes[i]]->id] = NULL;
    if (p->f->group[nodes[i]] != nodes[i]) continue;
    place_take(p, to, nodes[i],
               tn_arena_printf(&p->ctx->arena, "%s%s%s: a part of its own would cost more than it saves",
                               refused ? refused : "", refused ? "; " : "", e->name));
  }
}

static bool place_has(const placer *p, const tn_target_engine *e) {
  for (uint32_t i = 0; i < p->f->n; i++)
    if (p->s->engine_of[p->f->ids[i]] == e->name) return true;
  return false;
}

static void place_weigh(const placer *p, const tn_target_engine *e) {
  tn_arena *a = &p->ctx->pass;
  const tn_split_dag dag = tn_split_dag_of(p->s, p->o, p->f, place_colors(p), a);
  const tn_split_rule rule = {p->o->mode, place_is_worth, NULL};
  tn_split_parts parts;
  tn_split_pays pays;
  uint32_t culprit;
  if (tn_split_cluster(a, &dag, &rule, &parts, &culprit) != TN_OK) return; /* the plan says so */
  tn_split_pays_init(&pays, p->s, p->o, p->f, a);
  uint32_t *first = TN_NEW_ARRAY(a, uint32_t, parts.n + 2), *nodes = TN_NEW_ARRAY(a, uint32_t, p->f->n + 1);
  for (uint32_t i = 0; i < p->f->n; i++) first[parts.of[i] + 2]++;
  for (uint32_t k = 0; k < parts.n; k++) first[k + 2] += first[k + 1];
  for (uint32_t i = 0; i < p->f->n; i++) nodes[first[parts.of[i] + 1]++] = i;
  for (uint32_t k = 0; k < parts.n; k++)
    if (!parts.is_dynamic[k] && p->s->engine_of[p->f->nodes[nodes[first[k]]]->id] == e->name)
      place_give_back(p, &pays, e, &nodes[first[k]], first[k + 1] - first[k]);
}

/* Engine by engine, so that what one gives back counts for the next. A body of a node that is on the engine goes with
 * it. */
static void place_weigh_all(const placer *p) {
  const tn_node *owner = p->f->region->owner;
  for (size_t k = 0; k + 1 < p->target->engines.n; k++) {
    const tn_target_engine *e = &p->target->engines.at[k];
    if (e->is_host || (owner && p->s->engine_of[owner->id] == e->name) || !place_has(p, e)) continue;
    place_weigh(p, e);
  }
}

static tn_status place_check_names(const placer *p) {
  for (uint32_t i = 0; i < p->f->n && p->f->has_marks; i++) {
    const tn_marks *m = p->f->nodes[i]->marks;
    if (m && m->engine && !tn_target_find(p->target, m->engine))
      return tn_fail(p->ctx, TN_INVALID, p->f->nodes[i]->loc, "tenon.engine: there is no engine '%s'", m->engine);
  }
  return TN_OK;
}

tn_status tn_split_place(tn_partition_set *s, const tn_split_options *o, tn_split_work *work,
                         const tn_split_flow *flows, size_t n) {
  placer p = {.s = s, .o = o, .work = work, .target = o->target, .ctx = s->graph->ctx};
  tn_text_init(&p.refused, &p.ctx->pass);
  s->engine_of = TN_NEW_ARRAY(&p.ctx->arena, const char *, s->graph->n_nodes + 1);
  s->refused = TN_NEW_ARRAY(&p.ctx->arena, const char *, s->graph->n_nodes + 1);
  s->composite_of = TN_NEW_ARRAY(&p.ctx->arena, const tn_part_composite *, s->graph->n_nodes + 1);
  for (size_t i = 0; i < p.target->engines.n; i++)
    if (p.target->engines.at[i].composites.n && !p.user)
      p.user = TN_NEW_ARRAY(&p.ctx->pass, uint32_t, s->graph->n_nodes + 1);
  for (size_t i = n; i-- > 0;) { /* inner before outer */
    p.f = &flows[i];
    TN_TRY(place_check_names(&p));
    place_link(&p);
    place_composites(&p);
    for (uint32_t k = 0; k < p.f->n; k++)
      if (p.first[k] != PLACE_NONE && !s->engine_of[p.f->ids[k]]) place_group(&p, k);
    place_raise_owner(&p);
  }
  TN_TRY(p.status);
  for (size_t i = 0; i < n; i++) { /* an owner first: what it keeps, its bodies keep */
    p.f = &flows[i];
    place_link(&p);
    place_weigh_all(&p);
  }
  return TN_OK;
}
