/* place: an engine for each node, or all the reasons why there is none.
 *
 *   needs facts   gives places   breaks -
 *
 * Engines:  host     literals, symbolic contents, views, control flow: done by the run time itself
 *           general  a row of the kernel table */
#include "pass/known.h"
#include "pass/pass.h"

static bool place_is_late(const tn_pass *p, const tn_node *node, const tn_value *v) {
  return tn_type_is_tensor(&v->type) && !tn_known_type_before(p->known, &v->type, node);
}

/* A view that needs no step, or one that only copies a descriptor. */
static const char *place_view(const tn_pass *p, const tn_node *node, tn_place *out_place) {
  if (node->n_out < 1 || !node->out[0] || !node->in[0]) return "has no operand to be a view of";
  for (int i = 1; i < node->n_out; i++)
    if (node->out[i]) return "has more than one result";
  if (!tn_type_is_tensor(&node->in[0]->type) || !tn_type_is_tensor(&node->out[0]->type)) return "is no tensor";
  if (node->in[0]->type.dtype != node->out[0]->type.dtype) return "changes the element type";
  if (!place_is_late(p, node, node->out[0])) {
    *out_place = TN_PLACE_ALIAS;
    return NULL;
  }
  if (strcmp(node->op->name, "identity") != 0) return "has a size that is known only when run";
  *out_place = TN_PLACE_VIEW;
  return NULL;
}

static const char *place_host(const tn_pass *p, const tn_node *node, tn_place *out_place) {
  *out_place = TN_PLACE_DATA;
  const tn_lit *lit = node->n_out > 0 ? tn_pass_const_of(node->out[0]) : NULL;
  if (lit) return lit->kind == TN_TYPE_TENSOR ? NULL : "is a constant that is no tensor";
  if (strcmp(node->op->name, "shape_value") == 0) return NULL;
  if (node->op->traits & TN_TRAIT_CONTROL) {
    *out_place = TN_PLACE_CONTROL;
    return NULL;
  }
  if (tn_pass_parts_of(p, node->region->graph, node)) {
    *out_place = TN_PLACE_PART;
    return NULL;
  }
  return node->op->traits & TN_TRAIT_VIEW ? place_view(p, node, out_place) : "is not of the host";
}

static const char *place_attrs(const tn_node *node) {
  const int n = tn_op_n_attrs(node->op);
  for (int i = 0; i < n; i++) {
    const tn_attr *a = &node->attrs[i];
    if (a->kind == TN_ATTR_TENSORS) return "has a list of tensors as an attribute";
    if (a->kind == TN_ATTR_TENSOR && (!a->tensor || a->tensor->kind != TN_TYPE_TENSOR))
      return "has an attribute that is no tensor";
  }
  return NULL;
}

/* Kernels that do not size their results get them with dims and memory ready. */
static const char *place_sizes(const tn_pass *p, const tn_node *node) {
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i] && place_is_late(p, node, node->out[i])) return "has a result whose size is known only when run";
  for (int i = 0; i < node->n_in; i++)
    if (node->in[i] && tn_type_is_tensor(&node->in[i]->type) && node->in[i]->type.rank < 0)
      return "has an operand whose rank is known only when run";
  return NULL;
}

static const char *place_general(const tn_pass *p, const tn_node *node, tn_place *out_place) {
  tn_arena *a = &p->ctx->arena;
  uint32_t flags = 0;
  *out_place = TN_PLACE_KERNEL;
  if (!node->op->kernel) return tn_arena_printf(a, "%s has no kernel", node->op->name);
  if (!p->kernels->find(node->op->kernel, &flags))
    return tn_arena_printf(a, "%s has no kernel '%s'", node->op->name, node->op->kernel);
  const char *why = place_attrs(node);
  if (!why && !(flags & TN_KERNEL_SIZES)) why = place_sizes(p, node);
  return why ? tn_arena_printf(a, "%s %s", node->op->name, why) : NULL;
}

/* In order of preference; the reason of the last one is reported. */
static const tn_engine place_engines[] = {
    {"host", place_host},
    {"general", place_general},
    {NULL, NULL},
};

static const char *place_types(const tn_pass *p, const tn_node *node) {
  for (int i = 0; i < node->n_out; i++) {
    const tn_value *v = node->out[i];
    if (!v) continue;
    if (v->type.kind == TN_TYPE_UNKNOWN)
      return tn_arena_printf(&p->ctx->arena, "the kind of result %d is not known", i);
    if (v->type.kind == TN_TYPE_TENSOR && !v->type.dtype)
      return tn_arena_printf(&p->ctx->arena, "the element type of result %d is not known", i);
  }
  return NULL;
}

typedef struct place_all {
  tn_pass *pass;
  tn_status status;
} place_all;

static tn_status place_visit(void *arg, tn_node *node) {
  place_all *all = arg;
  tn_pass *p = all->pass;
  const char *why = place_types(p, node);
  for (const tn_engine *e = place_engines; !why && e->name; e++) {
    tn_place place;
    const char *refused = e->refuse(p, node, &place);
    if (!refused) {
      p->engine_of[node->id] = e;
      p->place_of[node->id] = (uint8_t)place;
      return TN_OK;
    }
    if (!e[1].name) why = refused;
  }
  all->status = tn_fail(p->ctx, TN_UNSUPPORTED, node->loc, "%s", why);
  return TN_OK;
}

tn_status tn_pass_place(tn_pass *p, tn_graph *g) {
  p->known = tn_known_new(g, &p->ctx->arena);
  p->engine_of = TN_NEW_ARRAY(&p->ctx->arena, const tn_engine *, g->n_nodes + 1);
  p->place_of = TN_NEW_ARRAY(&p->ctx->arena, uint8_t, g->n_nodes + 1);
  place_all all = {p, TN_OK};
  for (int i = 0; i < g->main->n_params; i++) {
    const tn_value *v = g->main->params[i];
    const tn_loc loc = {.kind = "input", .name = v->name};
    if (v->type.kind == TN_TYPE_UNKNOWN || (v->type.kind == TN_TYPE_TENSOR && !v->type.dtype))
      all.status = tn_fail(p->ctx, TN_UNSUPPORTED, loc, "of no known kind or element type");
  }
  TN_TRY(tn_graph_walk(g, place_visit, &all));
  return all.status;
}
