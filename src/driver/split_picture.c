/* Parts as a drawing. */
#include "driver/split.h"

#include <string.h>

#include "ir/op.h"
#include "pass/cost.h"

enum { PICTURE_MAX_NODES = 400, PICTURE_MAX_TEXT = 40 };

static const char *const picture_fill[] = {
    [TN_PART_STATIC] = "#cfe8cf", [TN_PART_SYMBOLIC] = "#cfe0f5", [TN_PART_DYNAMIC] = "#f7d9c4"};
static const char *const picture_frame[] = {"#444444", "#7b1fa2", "#00838f", "#c62828", "#5d4037", "#283593"};

typedef struct picture {
  const tn_partition_set *s;
  tn_text *out;
  bool is_small; /* operators are drawn */
  const char *engines[TN_COUNT(picture_frame)];
  size_t n_engines;
} picture;

/* Engines in the order they occur, as far as there are frames. */
static void picture_engines(picture *p) {
  for (size_t r = 0; r < p->s->regions.n; r++)
    for (uint32_t k = 0; k < p->s->regions.at[r].n_parts; k++) {
      const char *engine = p->s->regions.at[r].parts[k].engine;
      size_t i = 0;
      while (i < p->n_engines && strcmp(p->engines[i], engine) != 0) i++;
      if (i == p->n_engines && i < TN_COUNT(p->engines)) p->engines[p->n_engines++] = engine;
    }
}

static const char *picture_frame_of(const picture *p, const char *engine) {
  for (size_t i = 0; i < p->n_engines; i++)
    if (strcmp(p->engines[i], engine) == 0) return picture_frame[i];
  return picture_frame[0];
}

static void picture_text(const picture *p, const char *z) {
  for (size_t i = 0; z[i]; i++) {
    if (strchr("\"\\", z[i])) tn_text_addz(p->out, "\\");
    tn_text_printf(p->out, "%c", z[i] == '\n' ? ' ' : z[i]);
  }
}

static const char *picture_short(const picture *p, const char *z) {
  const size_t n = strlen(z);
  return n <= PICTURE_MAX_TEXT ? z : tn_arena_printf(&p->s->graph->ctx->arena, "...%s", z + n - (PICTURE_MAX_TEXT - 3));
}

static void picture_node(const picture *p, const tn_node *node) {
  const char *name = node->loc.name && node->loc.name[0] ? node->loc.name : node->op->name;
  tn_text_printf(p->out, "    node%u [id=\"node%u\", fillcolor=\"%s\", label=\"", node->id, node->id,
                 picture_fill[p->s->kind_of[node->id]]);
  picture_text(p, node->loc.op ? node->loc.op : node->op->name);
  tn_text_addz(p->out, "\", tooltip=\"");
  picture_text(p, name);
  tn_text_addz(p->out, "\"];\n");
}

static void picture_part(const picture *p, size_t region, uint32_t k, const tn_part *part) {
  const char *frame = picture_frame_of(p, part->engine);
  tn_text_printf(p->out, "  subgraph cluster_%zu_%u {\n    id=\"part%zu_%u\"; style=\"rounded,filled\"; penwidth=2; ",
                 region, k, region, k);
  tn_text_printf(p->out, "color=\"%s\"; fillcolor=\"%s\"; label=\"", frame, picture_fill[part->kind]);
  picture_text(p, part->name);
  tn_text_printf(p->out, "\\n%u node%s, engine ", part->n_nodes, part->n_nodes == 1 ? "" : "s");
  picture_text(p, part->engine);
  tn_text_addz(p->out, "\";\n");
  if (!p->is_small)
    tn_text_printf(p->out, "    box%zu_%u [label=\"%u nodes\", id=\"box%zu_%u\"];\n", region, k, part->n_nodes, region,
                   k);
  for (uint32_t i = 0; p->is_small && i < part->n_nodes; i++) picture_node(p, part->nodes[i]);
  tn_text_addz(p->out, "  }\n");
}

/* From where a value comes: its node, or its part. False for parameters and constants. */
static bool picture_end(const picture *p, size_t region, const tn_node *node) {
  const uint32_t part = p->s->part_of[node->id];
  if (part == TN_NO_PART) return false;
  if (p->is_small)
    tn_text_printf(p->out, "node%u", node->id);
  else
    tn_text_printf(p->out, "box%zu_%u", region, part);
  return true;
}

static void picture_label(const picture *p, const tn_value *v) {
  const tn_sym bytes = tn_split_bytes(p->s, v);
  tn_text_addz(p->out, " [label=\"");
  if (bytes) picture_text(p, picture_short(p, tn_sym_text(p->s->graph->syms, bytes)));
  tn_text_addz(p->out, bytes ? " B\", penwidth=2" : "\", penwidth=2");
  tn_text_addz(p->out, ", tooltip=\"");
  picture_text(p, v->name);
  tn_text_addz(p->out, "\"]");
}

/* Each value that crosses into a part is drawn once, at the first node there that uses it. */
static void picture_crossings(const picture *p, size_t region, const tn_part *part) {
  for (uint32_t i = 0; i < part->n_inputs; i++) {
    const tn_value *v = part->inputs[i];
    const tn_node *user = NULL;
    if (!v->def || v->region != p->s->regions.at[region].region) continue;
    for (const tn_use *u = p->is_small ? v->uses : NULL; u; u = u->next) {
      const tn_node *n = u->is_result ? NULL : u->node;
      if (n && n->region == v->region && p->s->part_of[n->id] == p->s->part_of[part->nodes[0]->id] &&
          (!user || n->id < user->id))
        user = n;
    }
    if (!user) user = part->nodes[0]; /* used in a region inside */
    tn_text_addz(p->out, "  ");
    if (!picture_end(p, region, v->def)) continue;
    tn_text_addz(p->out, " -> ");
    if (picture_end(p, region, user)) picture_label(p, v);
    tn_text_addz(p->out, ";\n");
  }
}

static void picture_inside(const picture *p, const tn_part *part) {
  for (uint32_t i = 0; i < part->n_nodes; i++) {
    const tn_node *node = part->nodes[i];
    for (int j = 0; j < node->n_in; j++) {
      const tn_node *def = node->in[j] ? node->in[j]->def : NULL;
      if (def && def->region == node->region && p->s->part_of[def->id] == p->s->part_of[node->id])
        tn_text_printf(p->out, "  node%u -> node%u;\n", def->id, node->id);
    }
  }
}

void tn_split_dot(const tn_partition_set *s, tn_text *out) {
  picture p = {.s = s, .out = out};
  picture_engines(&p);
  uint64_t n = 0;
  for (size_t r = 0; r < s->regions.n; r++)
    for (uint32_t k = 0; k < s->regions.at[r].n_parts; k++) n += s->regions.at[r].parts[k].n_nodes;
  p.is_small = n <= PICTURE_MAX_NODES;
  tn_text_addz(out,
               "digraph parts {\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=Helvetica, "
               "fontsize=10];\n  edge [fontname=Helvetica, fontsize=9];\n  fontname=Helvetica; fontsize=11;\n");
  for (size_t r = 0; r < s->regions.n; r++) {
    const tn_partition *partition = &s->regions.at[r];
    for (uint32_t k = 0; k < partition->n_parts; k++) picture_part(&p, r, k, &partition->parts[k]);
    for (uint32_t k = 0; k < partition->n_parts; k++) {
      if (p.is_small) picture_inside(&p, &partition->parts[k]);
      picture_crossings(&p, r, &partition->parts[k]);
    }
    for (uint32_t e = 0; e < partition->n_edges; e++) {
      if (!partition->edges[e].is_order_only) continue;
      tn_text_addz(out, "  ");
      picture_end(&p, r, partition->parts[partition->edges[e].from].nodes[0]);
      tn_text_addz(out, " -> ");
      picture_end(&p, r, partition->parts[partition->edges[e].to].nodes[0]);
      tn_text_addz(out, " [style=dashed];\n");
    }
  }
  tn_text_addz(out, "}\n");
}

tn_sym tn_split_part_flops(const tn_partition_set *s, const tn_part *part) {
  tn_cost c = {.syms = s->graph->syms};
  tn_sym sum = tn_sym_int(c.syms, 0);
  for (uint32_t i = 0; i < part->n_nodes; i++)
    sum = tn_sym_bound_size(c.syms, tn_sym_add(c.syms, sum, tn_cost_flops(&c, part->nodes[i])), "flops");
  return sum;
}

tn_sym tn_split_bytes(const tn_partition_set *s, const tn_value *v) {
  tn_cost c = {.syms = s->graph->syms};
  const tn_sym bytes = tn_cost_bytes(&c, v);
  return c.unknown ? NULL : bytes;
}
