/* Words for parts. */
#include "ir/part.h"

const char *tn_part_kind_name(tn_part_kind kind) {
  static const char *const names[] = {"static", "symbolic", "dynamic"};
  return names[kind];
}

static const char *part_why_dim(const tn_partition_set *s, const tn_node *node, const tn_why *w) {
  tn_graph *g = s->graph;
  tn_text t;
  tn_text_init(&t, &g->ctx->arena);
  tn_text_printf(&t, "dim %d of '%s', ", (int)w->index, w->value->name);
  tn_sym_print(g->syms, &t, w->value->type.dims[w->index]);
  tn_text_addz(&t, s->kind_of[node->id] == TN_PART_DYNAMIC ? ", is known only when run" : ", depends on the inputs");
  return tn_text_z(&t);
}

const char *tn_part_why(const tn_partition_set *s, const tn_node *node) {
  tn_arena *a = &s->graph->ctx->arena;
  const tn_why *w = &s->why[node->id];
  const char *known = s->kind_of[node->id] == TN_PART_DYNAMIC ? "is known only when run" : "depends on the inputs";
  switch ((tn_why_rule)w->rule) {
    case TN_WHY_STATIC:
      return "all dims are numbers";
    case TN_WHY_DIM:
      return part_why_dim(s, node, w);
    case TN_WHY_RANK:
      return tn_arena_printf(a, "the rank of '%s' is known only when run", w->value->name);
    case TN_WHY_KIND:
      return tn_arena_printf(a, "'%s' is no tensor: its size is known only when run", w->value->name);
    case TN_WHY_PARAM:
      return tn_arena_printf(a, "operand %d, a parameter, %s", (int)w->index, known);
    case TN_WHY_MARK:
      return "tenon.force_dynamic";
    case TN_WHY_PATTERN:
      return tn_arena_printf(a, "forced by the pattern '%s'", w->text);
    case TN_WHY_ENGINE:
      return tn_arena_printf(a, "engine '%s' runs on the host", w->text);
    case TN_WHY_BODY:
      return tn_arena_printf(a, "node '%s' in its body is %s", w->node->loc.name ? w->node->loc.name : "",
                             tn_part_kind_name((tn_part_kind)s->kind_of[w->node->id]));
  }
  return "";
}
