/* What is known of each node before the run: static, symbolic or dynamic, and why. */
#include "pass/split_mark.h"

#include "ir/op.h"
#include "pass/known.h"

typedef struct marker {
  tn_partition_set *s;
  const tn_split_options *o;
  tn_known *known;
  tn_why *values;           /* value id -> why it is of its kind */
  uint8_t *kinds;           /* value id -> 1 + kind; 0: not looked at */
  bool *is_used;            /* pattern -> a node has it */
  TN_VEC(tn_node *) owners; /* nodes with regions, outer before inner */
} marker;

bool tn_split_is_const(const tn_node *node) { return node->n_in == 0 && strcmp(node->op->name, "const") == 0; }

bool tn_split_same_origin(const tn_node *a, const tn_node *b) {
  return a->loc.index == b->loc.index && a->loc.name == b->loc.name && a->loc.op == b->loc.op && a->loc.kind &&
         b->loc.kind && strcmp(a->loc.kind, "node") == 0 && strcmp(b->loc.kind, "node") == 0;
}

/* Back to the last '*' on a mismatch, one byte further each time. */
bool tn_split_matches(const char *name, const char *pattern) {
  const char *star = NULL, *from = NULL;
  while (*name) {
    if (*pattern == '*') {
      star = pattern++;
      from = name;
    } else if (*pattern == '?' || *pattern == *name) {
      pattern++;
      name++;
    } else if (star) {
      pattern = star + 1;
      name = ++from;
    } else {
      return false;
    }
  }
  while (*pattern == '*') pattern++;
  return !*pattern;
}

static bool mark_is_ahead(const marker *m, tn_sym e) {
  return tn_known_on_entry(m->known, tn_known_when(m->known, e), m->s->graph->main);
}

static tn_part_kind mark_dims(const marker *m, const tn_value *v, tn_why *why) {
  tn_part_kind kind = TN_PART_STATIC;
  for (int i = 0; i < v->type.rank && kind < TN_PART_DYNAMIC; i++) {
    const tn_sym d = v->type.dims[i];
    if (tn_sym_is_int(d)) continue;
    const tn_part_kind dim = mark_is_ahead(m, d) ? TN_PART_SYMBOLIC : TN_PART_DYNAMIC;
    if (dim <= kind) continue;
    kind = dim;
    *why = (tn_why){.rule = TN_WHY_DIM, .index = i, .value = v};
  }
  return kind;
}

static tn_part_kind mark_value(marker *m, const tn_value *v) {
  if (m->kinds[v->id]) return (tn_part_kind)(m->kinds[v->id] - 1);
  tn_part_kind kind = TN_PART_DYNAMIC;
  tn_why *why = &m->values[v->id];
  if (v->type.kind != TN_TYPE_TENSOR)
    *why = (tn_why){.rule = TN_WHY_KIND, .value = v};
  else if (v->type.rank < 0)
    *why = (tn_why){.rule = TN_WHY_RANK, .value = v};
  else
    kind = mark_dims(m, v, why);
  m->kinds[v->id] = (uint8_t)(kind + 1);
  return kind;
}

/* Operands whose elements decide what a node does, not what it computes with: a compiler ahead of the run needs them.
 */
static bool mark_is_param(const tn_node *node, int i) {
  static const char *const names[] = {"axis", "axes",  "shape",   "starts", "ends",  "steps",       "pads",
                                      "k",    "split", "repeats", "scales", "sizes", "dft_length",  "depth",
                                      "size", "start", "limit",   "delta",  "tiles", "output_shape"};
  const tn_port *port = i > 0 || strcmp(node->op->name, "constant_of_shape") == 0 ? tn_op_in_port(node->op, i) : NULL;
  if (!port || !port->name) return false;
  for (size_t k = 0; k < TN_COUNT(names); k++)
    if (strcmp(port->name, names[k]) == 0) return true;
  return false;
}

static tn_part_kind mark_content(const marker *m, const tn_value *v) {
  if (v->def && tn_split_is_const(v->def)) return TN_PART_STATIC;
  if (!v->type.content) return TN_PART_DYNAMIC;
  tn_part_kind kind = TN_PART_STATIC;
  const int64_t n = tn_type_content_count(&v->type);
  for (int64_t i = 0; i < n; i++) {
    const tn_elem *e = &v->type.content[i];
    if (e->kind == TN_ELEM_NONE || (e->sym && !mark_is_ahead(m, e->sym))) return TN_PART_DYNAMIC;
    if (e->sym && !tn_sym_is_int(e->sym)) kind = TN_PART_SYMBOLIC;
  }
  return kind;
}

static void mark_raise(tn_partition_set *s, const tn_node *node, tn_part_kind kind, tn_why why) {
  uint8_t *have = &s->kind_of[node->id];
  if (kind <= *have) return;
  *have = (uint8_t)kind;
  s->why[node->id] = why;
}

static void mark_facts(marker *m, const tn_node *node) {
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) mark_raise(m->s, node, mark_value(m, node->out[i]), m->values[node->out[i]->id]);
  for (int i = 0; i < node->n_in; i++) {
    const tn_value *v = node->in[i];
    if (!v) continue;
    mark_raise(m->s, node, mark_value(m, v), m->values[v->id]);
    if (mark_is_param(node, i))
      mark_raise(m->s, node, mark_content(m, v), (tn_why){.rule = TN_WHY_PARAM, .index = i, .value = v});
  }
}

static void mark_forced(marker *m, const tn_node *node) {
  if (node->marks && node->marks->force_dynamic) mark_raise(m->s, node, TN_PART_DYNAMIC, (tn_why){.rule = TN_WHY_MARK});
  for (size_t i = 0; i < m->o->force_dynamic.n; i++) {
    const char *pattern = m->o->force_dynamic.at[i];
    if (!tn_split_matches(node->loc.name ? node->loc.name : "", pattern)) continue;
    m->is_used[i] = true;
    mark_raise(m->s, node, TN_PART_DYNAMIC, (tn_why){.rule = TN_WHY_PATTERN, .index = (int32_t)i, .text = pattern});
  }
}

static tn_status mark_visit(void *arg, tn_node *node) {
  marker *m = arg;
  if (tn_split_is_const(node)) return TN_OK;
  if (node->n_regions) tn_vec_push(&m->s->graph->ctx->arena, &m->owners, node);
  mark_forced(m, node);
  mark_facts(m, node);
  return TN_OK;
}

void tn_split_mark_owner(tn_partition_set *s, const tn_node *owner) {
  for (int i = 0; i < owner->n_regions; i++)
    for (const tn_node *node = owner->regions[i]->dead ? NULL : owner->regions[i]->first; node; node = node->next)
      mark_raise(s, owner, (tn_part_kind)s->kind_of[node->id], (tn_why){.rule = TN_WHY_BODY, .node = node});
}

tn_status tn_split_mark(tn_partition_set *s, const tn_split_options *o) {
  tn_arena *a = &s->graph->ctx->arena;
  marker m = {.s = s, .o = o, .known = tn_known_new(s->graph, a)};
  m.values = TN_NEW_ARRAY(a, tn_why, s->graph->n_values + 1);
  m.kinds = TN_NEW_ARRAY(a, uint8_t, s->graph->n_values + 1);
  m.is_used = TN_NEW_ARRAY(a, bool, o->force_dynamic.n + 1);
  s->kind_of = TN_NEW_ARRAY(a, uint8_t, s->graph->n_nodes + 1);
  s->why = TN_NEW_ARRAY(a, tn_why, s->graph->n_nodes + 1);
  TN_TRY(tn_graph_walk(s->graph, mark_visit, &m));
  for (size_t i = 0; i < o->force_dynamic.n; i++)
    if (!m.is_used[i])
      return tn_fail(s->graph->ctx, TN_INVALID, (tn_loc){.kind = "option", .name = "--force-dynamic"},
                     "no node has a name like '%s'", o->force_dynamic.at[i]);
  while (m.owners.n) tn_split_mark_owner(s, m.owners.at[--m.owners.n]); /* inner before outer */
  return TN_OK;
}
