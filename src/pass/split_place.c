/* Which engine each node is on: the first, in the table's order, that takes it and all that must be in one part with
 * it. A node that owns regions is on an engine other than "tenon" only where all nodes in them are. */
#include "ir/op.h"
#include "pass/split_flow.h"
#include "pass/split_mark.h"

typedef struct placer {
  tn_partition_set *s;
  const tn_split_options *o;
  const tn_target *target;
  tn_ctx *ctx;
  const tn_split_flow *f;
  uint32_t *first, *next; /* group -> its nodes */
  tn_text refused;        /* by the engines asked so far */
  tn_status status;
} placer;

#define PLACE_NONE UINT32_MAX

static bool place_is_last(const placer *p, const tn_target_engine *e) {
  return e == &p->target->engines.at[p->target->engines.n - 1];
}

static const char *place_body_reason(const placer *p, const tn_target_engine *e, const tn_node *node) {
  if (place_is_last(p, e)) return NULL;
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

/* Why the engine cannot have a group; the node that says so. */
static const char *place_refuse(const placer *p, const tn_target_engine *e, uint32_t group, const tn_node **out) {
  for (uint32_t i = p->first[group]; i != PLACE_NONE; i = p->next[i]) {
    const tn_node *node = *out = p->f->nodes[i];
    const char *why = place_mark_reason(e, node);
    if (!why) why = tn_target_refuse(p->ctx, e, node);
    if (!why) why = place_static_reason(p, e, node);
    if (!why) why = place_body_reason(p, e, node);
    if (why) return why;
  }
  return NULL;
}

static void place_take(const placer *p, const tn_target_engine *e, uint32_t group, const char *refused) {
  for (uint32_t i = p->first[group]; i != PLACE_NONE; i = p->next[i]) {
    const tn_node *node = p->f->nodes[i];
    p->s->engine_of[node->id] = e->name;
    p->s->refused[node->id] = refused;
    if (!e->is_host || p->s->kind_of[node->id] == TN_PART_DYNAMIC) continue;
    p->s->kind_of[node->id] = TN_PART_DYNAMIC;
    p->s->why[node->id] = (tn_why){.rule = TN_WHY_ENGINE, .text = e->name};
  }
}

static void place_group(placer *p, uint32_t group) {
  const tn_node *node = p->f->nodes[group];
  tn_text *refused = &p->refused;
  refused->len = 0;
  for (size_t i = 0; i < p->target->engines.n; i++) {
    const tn_target_engine *e = &p->target->engines.at[i];
    const char *why = place_refuse(p, e, group, &node);
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

/* What the regions of a node have become since it was marked. */
static void place_raise_owner(const placer *p) {
  const tn_region *r = p->f->region;
  if (r->owner) tn_split_mark_owner(p->s, r->owner);
}

static tn_status place_check_names(const placer *p) {
  for (uint32_t i = 0; i < p->f->n; i++) {
    const tn_marks *m = p->f->nodes[i]->marks;
    if (m && m->engine && !tn_target_find(p->target, m->engine))
      return tn_fail(p->ctx, TN_INVALID, p->f->nodes[i]->loc, "tenon.engine: there is no engine '%s'", m->engine);
  }
  return TN_OK;
}

tn_status tn_split_place(tn_partition_set *s, const tn_split_options *o, const tn_split_flow *flows, size_t n) {
  placer p = {.s = s, .o = o, .target = o->target, .ctx = s->graph->ctx};
  tn_text_init(&p.refused, &p.ctx->pass);
  s->engine_of = TN_NEW_ARRAY(&p.ctx->arena, const char *, s->graph->n_nodes + 1);
  s->refused = TN_NEW_ARRAY(&p.ctx->arena, const char *, s->graph->n_nodes + 1);
  while (n-- > 0) { /* inner before outer */
    p.f = &flows[n];
    TN_TRY(place_check_names(&p));
    place_link(&p);
    for (uint32_t i = 0; i < p.f->n; i++)
      if (p.first[i] != PLACE_NONE) place_group(&p, i);
    place_raise_owner(&p);
  }
  return p.status;
}
