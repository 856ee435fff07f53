/* `tenon split`: the parts of a model as a table or JSON, and the graph with its parts as calls. */
#include "driver/manifest.h"
#include "driver/report.h"
#include "driver/split.h"
#include "driver/tool.h"
#include "ir/text.h"
#include "pass/split.h"

typedef struct split_tool {
  const tn_tool_split_options *o;
  tn_split_options plan;
  const tn_partition_set *set;
  tn_ctx *ctx;
  tn_blob *out;
  tn_map first_check;   /* part -> 1 + its first check */
  uint32_t *next_check; /* check -> 1 + the next of its part; 0: none */
} split_tool;

static const char *split_node_name(const tn_node *node) {
  if (node->loc.name && node->loc.name[0]) return node->loc.name;
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) return node->out[i]->name;
  return node->op->name;
}

/* --- for people --- */

static void split_put_values(const split_tool *s, tn_text *t, const char *label, tn_value *const *v, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    tn_text_printf(t, "  %s %s: ", label, v[i]->name);
    tn_type_print(s->set->graph->syms, t, &v[i]->type);
    tn_text_addz(t, "\n");
  }
}

/* At the first of its nodes. */
static void split_put_composite(const split_tool *s, tn_text *t, const tn_node *node) {
  const tn_part_composite *c = s->set->composite_of[node->id];
  if (!c || c->nodes[0] != node) return;
  tn_text_printf(t, "  composite %s:", c->name);
  for (uint32_t i = 0; i < c->n_nodes; i++) tn_text_printf(t, " %s", split_node_name(c->nodes[i]));
  tn_text_addz(t, "\n");
}

static void split_put_part(const split_tool *s, tn_text *t, uint32_t number, const tn_part *part) {
  tn_text_printf(t, "part %u %s: %s, %u node%s, engine %s", number, part->name, tn_part_kind_name(part->kind),
                 part->n_nodes, part->n_nodes == 1 ? "" : "s", part->engine);
  if (part->stage != TN_NO_STAGE) tn_text_printf(t, ", stage %d", (int)part->stage);
  tn_text_printf(t, "\n  because %s\n", part->reason);
  for (uint32_t i = 0; s->o->nodes && i < part->n_nodes; i++)
    tn_text_printf(t, "%s%s%s", i ? " " : "  nodes ", split_node_name(part->nodes[i]),
                   i + 1 == part->n_nodes ? "\n" : "");
  for (uint32_t i = 0; s->o->nodes && i < part->n_nodes; i++) {
    const char *refused = s->set->refused[part->nodes[i]->id];
    if (refused) tn_text_printf(t, "  refused %s: %s\n", split_node_name(part->nodes[i]), refused);
    split_put_composite(s, t, part->nodes[i]);
  }
  split_put_values(s, t, "in", part->inputs, part->n_inputs);
  split_put_values(s, t, "out", part->outputs, part->n_outputs);
}

static const char *split_region_name(const split_tool *s, const tn_region *r) {
  if (!r->owner) return tn_arena_printf(&s->ctx->arena, "graph %s", r->name);
  return tn_arena_printf(&s->ctx->arena, "graph %s of %s", r->name, split_node_name(r->owner));
}

static void split_put_text(const split_tool *s, tn_text *t) {
  for (size_t i = 0; i < s->set->regions.n; i++) {
    const tn_partition *p = &s->set->regions.at[i];
    uint32_t n = 0;
    for (uint32_t k = 0; k < p->n_parts; k++) n += p->parts[k].n_nodes;
    tn_text_printf(t, "%s: %u node%s in %u part%s\n", split_region_name(s, p->region), n, n == 1 ? "" : "s", p->n_parts,
                   p->n_parts == 1 ? "" : "s");
    for (uint32_t k = 0; k < p->n_parts; k++) split_put_part(s, t, k, &p->parts[k]);
    for (uint32_t e = 0; e < p->n_edges; e++)
      tn_text_printf(t, "edge %u %s %u\n", p->edges[e].from, p->edges[e].is_order_only ? "~>" : "->", p->edges[e].to);
  }
}

/* --- JSON --- */

void tn_split_json_text(tn_text *t, const char *before, const char *z) {
  tn_text_addz(t, before);
  tn_text_json(t, tn_str_of(z));
}

void tn_split_json_part(tn_text *t, const tn_part *part) {
  tn_split_json_text(t, ", \"kind\": ", tn_part_kind_name(part->kind));
  tn_split_json_text(t, ", \"engine\": ", part->engine);
  if (part->stage == TN_NO_STAGE)
    tn_text_addz(t, ", \"stage\": null");
  else
    tn_text_printf(t, ", \"stage\": %d", (int)part->stage);
}

static void split_json_values(const split_tool *s, tn_text *t, const char *label, tn_value *const *v, uint32_t n) {
  tn_text_printf(t, ", \"%s\": [", label);
  for (uint32_t i = 0; i < n; i++) {
    tn_text type;
    tn_text_init(&type, &s->ctx->arena);
    tn_type_print(s->set->graph->syms, &type, &v[i]->type);
    tn_split_json_text(t, i ? ", {\"name\": " : "{\"name\": ", v[i]->name);
    tn_split_json_text(t, ", \"type\": ", tn_text_z(&type));
    const tn_sym bytes = tn_split_bytes(s->set, v[i]);
    if (bytes) tn_split_json_text(t, ", \"bytes\": ", tn_sym_text(s->set->graph->syms, bytes));
    tn_text_addz(t, "}");
  }
  tn_text_addz(t, "]");
}

/* Which part a check of the ledger comes from: that of the node it names. */
static void split_sort_checks(split_tool *s) {
  const tn_graph *g = s->set->graph;
  tn_arena *a = &s->ctx->arena;
  tn_map part_of = {0};
  s->next_check = TN_NEW_ARRAY(a, uint32_t, g->checks.n + 1);
  for (size_t r = 0; r < s->set->regions.n; r++)
    for (uint32_t k = 0; k < s->set->regions.at[r].n_parts; k++) {
      tn_part *part = &s->set->regions.at[r].parts[k];
      for (uint32_t i = 0; i < part->n_nodes; i++) {
        const tn_loc *loc = &part->nodes[i]->loc;
        if (loc->name && loc->name[0]) tn_map_set_ptr(a, &part_of, loc->name, part);
      }
    }
  for (size_t i = g->checks.n; i-- > 0;) {
    const tn_part *part = tn_map_find_ptr(&part_of, g->checks.at[i].loc.name);
    uint64_t next = 0;
    if (!part) continue;
    if (tn_map_find(&s->first_check, tn_map_key(part), &next)) s->next_check[i] = (uint32_t)next;
    tn_map_set(a, &s->first_check, tn_map_key(part), i + 1);
  }
}

/* What must hold of sizes for the nodes of a part: the checks that stayed open. */
static void split_json_conditions(const split_tool *s, tn_text *t, const tn_part *part) {
  uint64_t at = 0;
  bool any = tn_map_find(&s->first_check, tn_map_key(part), &at);
  tn_text_addz(t, ", \"conditions\": [");
  for (const char *before = ""; any && at; at = s->next_check[at - 1], before = ", ") {
    const tn_check *check = &s->set->graph->checks.at[at - 1];
    tn_text_addz(t, before);
    tn_split_json_text(t, "{\"expr\": ", tn_sym_text(s->set->graph->syms, check->condition));
    tn_split_json_text(t, ", \"why\": ", check->text);
    tn_text_addz(t, "}");
  }
  tn_text_addz(t, "]");
}

static void split_json_part(const split_tool *s, tn_text *t, const tn_part *part) {
  tn_split_json_text(t, "{\"name\": ", part->name);
  tn_split_json_part(t, part);
  tn_split_json_text(t, ", \"reason\": ", part->reason);
  tn_text_addz(t, ", \"nodes\": [");
  for (uint32_t i = 0; i < part->n_nodes; i++) {
    const tn_node *node = part->nodes[i];
    tn_split_json_text(t, i ? ", {\"name\": " : "{\"name\": ", split_node_name(node));
    tn_text_printf(t, ", \"id\": %u", node->id);
    tn_split_json_text(t, ", \"op\": ", node->loc.op ? node->loc.op : node->op->name);
    tn_split_json_text(t, ", \"kind\": ", tn_part_kind_name((tn_part_kind)s->set->kind_of[node->id]));
    tn_split_json_text(t, ", \"why\": ", tn_part_why(s->set, node));
    if (s->set->refused[node->id]) tn_split_json_text(t, ", \"refused\": ", s->set->refused[node->id]);
    const tn_part_composite *c = s->set->composite_of[node->id];
    if (c) {
      tn_split_json_text(t, ", \"composite\": {\"name\": ", c->name);
      tn_text_printf(t, ", \"first\": %u}", c->nodes[0]->id);
    }
    tn_text_addz(t, "}");
  }
  tn_text_addz(t, "]");
  split_json_values(s, t, "inputs", part->inputs, part->n_inputs);
  split_json_values(s, t, "outputs", part->outputs, part->n_outputs);
  const tn_sym flops = tn_split_part_flops(s->set, part);
  tn_split_json_text(t, ", \"flops\": ", tn_sym_text(s->set->graph->syms, flops));
  split_json_conditions(s, t, part);
  tn_text_addz(t, "}");
}

static void split_put_json(const split_tool *s, tn_text *t) {
  tn_text_addz(t, "{\"graphs\": [");
  for (size_t i = 0; i < s->set->regions.n; i++) {
    const tn_partition *p = &s->set->regions.at[i];
    tn_split_json_text(t, i ? ",\n {\"name\": " : "\n {\"name\": ", p->region->name);
    tn_split_json_text(t, ", \"owner\": ", p->region->owner ? split_node_name(p->region->owner) : "");
    tn_text_addz(t, ", \"parts\": [");
    for (uint32_t k = 0; k < p->n_parts; k++) {
      tn_text_addz(t, k ? ",\n  " : "\n  ");
      split_json_part(s, t, &p->parts[k]);
    }
    tn_text_addz(t, "], \"edges\": [");
    for (uint32_t e = 0; e < p->n_edges; e++)
      tn_text_printf(t, "%s{\"from\": %u, \"to\": %u, \"order_only\": %s}", e ? ", " : "", p->edges[e].from,
                     p->edges[e].to, p->edges[e].is_order_only ? "true" : "false");
    tn_text_addz(t, "]}");
  }
  tn_text_addz(t, "]}\n");
}

/* --- options --- */

static tn_status split_mode(split_tool *s) {
  static const struct {
    const char *name;
    tn_split_mode mode;
  } modes[] = {{"paths", TN_SPLIT_PATHS}, {"known-first", TN_SPLIT_KNOWN_FIRST}, {"order", TN_SPLIT_ORDER}};
  for (size_t i = 0; s->o->mode && i < TN_COUNT(modes); i++) {
    s->plan.mode = modes[i].mode;
    if (strcmp(s->o->mode, modes[i].name) == 0) return TN_OK;
  }
  if (!s->o->mode) return TN_OK;
  return tn_fail(s->ctx, TN_INVALID, (tn_loc){.kind = "option", .name = "--mode"},
                 "'%.100s' is not paths, known-first or order", s->o->mode);
}

static tn_status split_map(split_tool *s, const char *path, tn_str *out) {
  tn_error err = {0};
  tn_file *file = NULL;
  if (tn_ctx_map(s->ctx, NULL, path, &file, &err) != TN_OK)
    return tn_fail(s->ctx, err.status, (tn_loc){0}, "%s", err.text);
  *out = (tn_str){(const char *)file->bytes.ptr, file->bytes.len};
  return TN_OK;
}

static tn_status split_target(split_tool *s) {
  tn_target *target = tn_target_new(s->ctx);
  if (s->o->target) {
    tn_str text;
    TN_TRY(split_map(s, s->o->target, &text));
    TN_TRY(tn_target_parse(s->ctx, s->o->target, text, &target));
  }
  for (size_t i = 0; i < s->o->n_exclude; i++) {
    tn_target_engine *e = tn_target_find(target, s->o->exclude[i]);
    if (!e)
      return tn_fail(s->ctx, TN_INVALID, (tn_loc){.kind = "option", .name = "--exclude-engine"},
                     "there is no engine '%.100s'", s->o->exclude[i]);
    e->is_excluded = true;
  }
  s->plan.target = target;
  return TN_OK;
}

/* "STAGE PATTERN" a line; '#' begins a comment. */
static tn_status split_stage_line(split_tool *s, tn_str line, int number, tn_split_stage_rule *out, bool *out_has) {
  size_t i = 0, end = line.len;
  const char *hash = line.len ? memchr(line.ptr, '#', line.len) : NULL;
  if (hash) end = (size_t)(hash - line.ptr);
  while (end && (line.ptr[end - 1] == ' ' || line.ptr[end - 1] == '\t' || line.ptr[end - 1] == '\r')) end--;
  while (i < end && line.ptr[i] == ' ') i++;
  *out_has = i < end;
  if (i == end) return TN_OK;
  int32_t stage = 0;
  const size_t first = i;
  for (; i < end && line.ptr[i] >= '0' && line.ptr[i] <= '9' && stage <= TN_MAX_STAGE; i++)
    stage = stage * 10 + (line.ptr[i] - '0');
  const size_t digits = i - first;
  while (i < end && (line.ptr[i] == ' ' || line.ptr[i] == '\t')) i++;
  if (!digits || stage > TN_MAX_STAGE || i == first + digits || i == end)
    return tn_fail(s->ctx, TN_INVALID, (tn_loc){.kind = "line", .index = number}, "expected 'STAGE PATTERN'");
  *out = (tn_split_stage_rule){stage, tn_arena_copy_str(&s->ctx->arena, (tn_str){line.ptr + i, end - i})};
  return TN_OK;
}

static tn_status split_stage_lines(split_tool *s, tn_str text) {
  TN_VEC(tn_split_stage_rule) rules = {0};
  int number = 0;
  for (size_t at = 0; at < text.len;) {
    const char *newline = memchr(text.ptr + at, '\n', text.len - at);
    const size_t end = newline ? (size_t)(newline - text.ptr) : text.len;
    tn_split_stage_rule rule;
    bool has_rule;
    TN_TRY(split_stage_line(s, (tn_str){text.ptr + at, end - at}, ++number, &rule, &has_rule));
    if (has_rule) tn_vec_push(&s->ctx->arena, &rules, rule);
    at = end + 1;
  }
  s->plan.stage_rules = rules.at;
  s->plan.n_stage_rules = rules.n;
  return TN_OK;
}

static tn_status split_stages(split_tool *s) {
  tn_str text;
  s->plan.n_stages = s->o->n_stages;
  s->plan.dims = s->o->dims;
  if (!s->o->stage_file) return TN_OK;
  TN_TRY(split_map(s, s->o->stage_file, &text));
  const char *model = s->ctx->file;
  s->ctx->file = s->o->stage_file;
  const tn_status status = split_stage_lines(s, text);
  s->ctx->file = model;
  return status;
}

static tn_status split_options(split_tool *s) {
  s->plan = tn_split_defaults;
  s->plan.symbolic_is_dynamic = s->o->symbolic_is_dynamic != 0;
  s->plan.min_static_ops = s->o->min_static_ops;
  s->plan.force_dynamic = (tn_split_texts){s->o->force_dynamic, s->o->n_force_dynamic};
  TN_TRY(split_target(s));
  TN_TRY(split_stages(s));
  return split_mode(s);
}

/* The plan of a compilation that stopped after inference. */
static tn_status split_make(split_tool *s, const tn_compilation *c, tn_partition_set **out) {
  if (c->is_program) return tn_fail(s->ctx, TN_INVALID, (tn_loc){0}, "a program holds no model to split");
  TN_TRY(split_options(s));
  TN_TRY(tn_split_plan(c->graph, &s->plan, out));
  return tn_split_verify(*out);
}

tn_compile_request tn_split_request(const char *path, const tn_tool_split_options *o) {
  return (tn_compile_request){.allocator = tn_allocator_system(),
                              .path = path,
                              .options = o->compile,
                              .stop_after = "infer",
                              .max_edits = -1,
                              .keeps_model = true,
                              .gear = o->gear};
}

tn_status tn_split_by_options(tn_compilation *c, const tn_tool_split_options *o, tn_partition_set **out) {
  split_tool s = {.o = o, .ctx = &c->ctx};
  return split_make(&s, c, out);
}

static tn_status split_inside(tn_compilation *c, void *arg) {
  split_tool *s = arg;
  tn_partition_set *set;
  tn_text t;
  s->ctx = &c->ctx;
  TN_TRY(split_make(s, c, &set));
  s->set = set;
  tn_text_init(&t, &s->ctx->arena);
  if (s->o->graph) {
    TN_TRY(tn_split_apply(set));
    TN_TRY(tn_verify(c->graph, TN_HAS_GRAPH | TN_HAS_SYMBOLS | TN_HAS_FACTS));
    tn_graph_print(c->graph, &t, TN_PRINT_ALL | TN_PRINT_LOCATIONS);
  } else if (s->o->dir) {
    if (!c->model) return tn_fail(s->ctx, TN_UNSUPPORTED, (tn_loc){0}, "parts are written from ONNX models only");
    TN_TRY(tn_manifest_write(c->model, set, s->o->dir, &t));
  } else if (s->o->dot) {
    tn_split_dot(set, &t);
  } else if (s->o->json) {
    split_sort_checks(s);
    split_put_json(s, &t);
  } else
    split_put_text(s, &t);
  return tn_blob_copy((tn_str){tn_text_z(&t), t.len}, s->out);
}

tn_status tn_tool_split(const char *path, const tn_tool_split_options *o, tn_blob *out, tn_report **out_report) {
  tn_compilation c;
  *out = (tn_blob){0};
  if (o->size != sizeof *o)
    return tn_report_failure(out_report, TN_INVALID, "tn_tool_split_options.size is %zu, expected %zu", o->size,
                             sizeof *o);
  const tn_compile_request q = tn_split_request(path, o);
  split_tool s = {.o = o, .out = out};
  return tn_tool_finish(&c, tn_compilation_run(&c, &q), split_inside, &s, out_report);
}
