/* `tenon info`, `tenon ops`, `tenon knobs`: tables as lines for people or as JSON. */
#include "driver/report.h"
#include "driver/tool.h"

typedef struct info_tool {
  const char *path;
  bool json, markdown;
  tn_blob *out;
} info_tool;

typedef struct info_file {
  tn_ctx *ctx;
  tn_symtab *syms;
  tn_onnx_interface at;
} info_file;

static void info_put_string(tn_text *t, const char *key, const char *value, const char *after) {
  tn_text_printf(t, "  \"%s\": ", key);
  tn_text_json(t, tn_str_of(value ? value : ""));
  tn_text_addz(t, after);
}

static const char *info_type_text(tn_ctx *ctx, tn_symtab *syms, const tn_type *type) {
  tn_text text;
  tn_text_init(&text, &ctx->arena);
  tn_type_print(syms, &text, type);
  return tn_text_z(&text);
}

static void info_put_ports(tn_text *t, const info_file *f, const char *key, const tn_onnx_declared *ports, size_t n) {
  tn_text_printf(t, "  \"%s\": {", key);
  for (size_t k = 0; k < n; k++) {
    tn_text_addz(t, k ? ", " : "");
    tn_text_json(t, tn_str_of(ports[k].name));
    tn_text_addz(t, ": ");
    tn_text_json(t, tn_str_of(info_type_text(f->ctx, f->syms, &ports[k].type)));
  }
  tn_text_addz(t, "},\n");
}

static void info_put_json(tn_text *t, const info_file *f, const tn_onnx_info *i) {
  tn_text_printf(t, "{\n  \"ir_version\": %lld,\n", (long long)i->ir_version);
  info_put_string(t, "producer", i->producer, ",\n");
  info_put_string(t, "producer_version", i->producer_version, ",\n");
  info_put_string(t, "graph", i->graph_name, ",\n");
  info_put_ports(t, f, "inputs", f->at.inputs, f->at.n_inputs);
  info_put_ports(t, f, "outputs", f->at.outputs, f->at.n_outputs);
  tn_text_addz(t, "  \"opsets\": {");
  for (int64_t k = 0; k < i->n_opsets; k++) {
    tn_text_addz(t, k ? ", " : "");
    tn_text_json(t, tn_str_of(i->opsets[k].domain && i->opsets[k].domain[0] ? i->opsets[k].domain : "ai.onnx"));
    tn_text_printf(t, ": %lld", (long long)i->opsets[k].version);
  }
  tn_text_printf(t, "},\n  \"nodes\": %lld,\n  \"nodes_total\": %lld,\n  \"initializers\": %lld,\n",
                 (long long)i->n_nodes, (long long)i->n_nodes_total, (long long)i->n_initializers);
  tn_text_printf(t, "  \"functions\": %lld,\n  \"weight_bytes\": %lld,\n  \"operators\": {", (long long)i->n_functions,
                 (long long)i->weight_bytes);
  for (int64_t k = 0; k < i->n_operators; k++) {
    tn_text_addz(t, k ? ", " : "");
    tn_text_json(t, tn_str_of(i->operators[k]));
    tn_text_printf(t, ": %lld", (long long)i->operator_counts[k]);
  }
  tn_text_addz(t, "},\n  \"metadata\": {");
  for (int64_t k = 0; k < i->n_metadata; k++) {
    tn_text_addz(t, k ? ", " : "");
    tn_text_json(t, tn_str_of(i->metadata_keys[k]));
    tn_text_addz(t, ": ");
    tn_text_json(t, tn_str_of(i->metadata_values[k]));
  }
  tn_text_addz(t, "}\n}\n");
}

static void info_put_lines(tn_text *t, const info_file *f, const tn_onnx_info *i) {
  tn_text_printf(t, "graph        %s\n", i->graph_name ? i->graph_name : "");
  tn_text_printf(t, "producer     %s %s\n", i->producer ? i->producer : "",
                 i->producer_version ? i->producer_version : "");
  tn_text_printf(t, "ir version   %lld\n", (long long)i->ir_version);
  for (int64_t k = 0; k < i->n_opsets; k++)
    tn_text_printf(t, "opset        %s %lld\n",
                   i->opsets[k].domain && i->opsets[k].domain[0] ? i->opsets[k].domain : "ai.onnx",
                   (long long)i->opsets[k].version);
  for (size_t k = 0; k < f->at.n_inputs; k++)
    tn_text_printf(t, "input        %s: %s\n", f->at.inputs[k].name,
                   info_type_text(f->ctx, f->syms, &f->at.inputs[k].type));
  for (size_t k = 0; k < f->at.n_outputs; k++)
    tn_text_printf(t, "output       %s: %s\n", f->at.outputs[k].name,
                   info_type_text(f->ctx, f->syms, &f->at.outputs[k].type));
  tn_text_printf(t, "nodes        %lld (%lld with subgraphs)\n", (long long)i->n_nodes, (long long)i->n_nodes_total);
  tn_text_printf(t, "functions    %lld\n", (long long)i->n_functions);
  tn_text_printf(t, "initializers %lld, %lld bytes\n", (long long)i->n_initializers, (long long)i->weight_bytes);
  for (int64_t k = 0; k < i->n_operators; k++)
    tn_text_printf(t, "%8lld  %s\n", (long long)i->operator_counts[k], i->operators[k]);
  for (int64_t k = 0; k < i->n_metadata; k++)
    tn_text_printf(t, "%s = %s\n", i->metadata_keys[k], i->metadata_values[k]);
}

static tn_status info_read(tn_compilation *c, void *arg) {
  const info_tool *tool = arg;
  tn_ctx *ctx = &c->ctx;
  tn_error err = {0};
  tn_file *file = NULL;
  ctx->file = tn_ctx_namez(ctx, tool->path);
  tn_vec_push(&ctx->arena, &ctx->files, NULL);
  if (tn_file_map(tn_allocator_system(), tool->path, &file, &err) != TN_OK)
    return tn_fail(ctx, err.status, (tn_loc){0}, "%s", err.text);
  ctx->files.at[ctx->files.n - 1] = file;
  if (tn_is_program(file->bytes))
    return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "this is a compiled program, not a model");
  TN_TRY(tn_onnx_read(ctx, file->bytes, tool->path, &c->model));
  const tn_onnx_info info = tn_onnx_get_info(c->model);
  info_file f = {.ctx = ctx, .syms = tn_symtab_new(ctx)};
  TN_TRY(tn_onnx_read_interface(c->model, f.syms, &f.at));
  tn_text t;
  tn_text_init(&t, &ctx->arena);
  if (tool->json)
    info_put_json(&t, &f, &info);
  else
    info_put_lines(&t, &f, &info);
  return tn_blob_copy((tn_str){tn_text_z(&t), t.len}, tool->out);
}

static tn_status info_run(info_tool *tool, tn_status (*fn)(tn_compilation *c, void *arg), tn_report **out_report) {
  tn_compilation c;
  memset(&c, 0, sizeof c);
  *tool->out = (tn_blob){0};
  const tn_status status = tn_ctx_init(&c.ctx, tn_allocator_system(), &c.error);
  return tn_tool_finish(&c, status, fn, tool, out_report);
}

tn_status tn_tool_info(const char *path, int json, tn_blob *out, tn_report **out_report) {
  info_tool tool = {.path = path, .json = json != 0, .out = out};
  return info_run(&tool, info_read, out_report);
}

/* "ulp 2", "exact": how near a kernel comes (ir/op.h). */
static const char *ops_accuracy(tn_text *t, const tn_op *op) {
  static const char *const kinds[] = {"exact", "rel", "sum", "ulp", "random"};
  if (!op->kernel) return "-";
  if (op->accuracy.tol <= 0) return kinds[op->accuracy.kind];
  return tn_arena_printf(t->arena, "%s %g", kinds[op->accuracy.kind], op->accuracy.tol);
}

/* The operator table: every ONNX row with the operator that serves it. */
static void ops_put_row(tn_text *t, const info_tool *tool, const tn_onnx_row *row, bool first) {
  const char *domain = row->domain[0] ? row->domain : "ai.onnx";
  const char *last = row->last == TN_LATEST ? "" : tn_arena_printf(t->arena, "%d", row->last);
  static const tn_op refused = {.name = "(refused)", .doc = "known, and refused with a sentence"};
  const tn_op *op = row->op ? row->op : &refused;
  const char *kernel = op->kernel ? op->kernel : op->traits & TN_TRAIT_CONTROL ? "(control)" : "-";
  const char *value = op->value ? "yes" : "no";
  const int shape_class = row->op ? tn_op_shape_class(row->op) : 4;
  if (tool->json) {
    tn_text_printf(t, "%s  {\"domain\": \"%s\", \"name\": \"%s\", \"since\": %d, \"last\": %s, \"op\": \"%s\", ",
                   first ? "" : ",\n", domain, row->name, row->since, last[0] ? last : "null", op->name);
    tn_text_printf(t, "\"accuracy\": \"%s\", \"kernel\": %s%s%s, \"class\": %d, \"value_rule\": %s}",
                   ops_accuracy(t, op), op->kernel ? "\"" : "", op->kernel ? op->kernel : "null",
                   op->kernel ? "\"" : "", shape_class, op->value ? "true" : "false");
  } else if (tool->markdown) {
    tn_text_printf(t, "| %s | %s | %d-%s | %s | %s | %s | %d | %s | %s |\n", domain, row->name, row->since, last,
                   op->name, kernel, ops_accuracy(t, op), shape_class, value, op->doc ? op->doc : "");
  } else {
    tn_text_printf(t, "%-12s %-28s %3d-%-3s %-24s %-24s %-10s class %d%s\n", domain, row->name, row->since, last,
                   op->name, kernel, ops_accuracy(t, op), shape_class, op->value ? ", values" : "");
  }
}

static tn_status ops_write(tn_compilation *c, void *arg) {
  const info_tool *tool = arg;
  tn_text t;
  tn_text_init(&t, &c->ctx.arena);
  if (tool->json) tn_text_addz(&t, "[\n");
  if (tool->markdown)
    tn_text_addz(&t,
                 "| domain | operator | opsets | as | kernel | accuracy | class | value rule | meaning "
                 "|\n|---|---|---|---|---|---|---|---|---|\n");
  for (int i = 0; i < tn_onnx_count(); i++) ops_put_row(&t, tool, tn_onnx_at(i), i == 0);
  if (tool->json) tn_text_addz(&t, "\n]\n");
  return tn_blob_copy((tn_str){tn_text_z(&t), t.len}, tool->out);
}

tn_status tn_tool_ops(int json, int markdown, tn_blob *out) {
  info_tool tool = {.json = json != 0, .markdown = markdown != 0, .out = out};
  return info_run(&tool, ops_write, NULL);
}

static void knobs_put_row(tn_text *t, const tn_knobs *knobs, int i, bool json) {
  const tn_knob_row *row = &tn_knob_rows[i];
  static const char *const types[] = {"int", "bool", "str"};
  const char *value =
      row->type == TN_KNOB_STR ? knobs->str[i] : tn_arena_printf(t->arena, "%lld", (long long)knobs->num[i]);
  if (!json) {
    tn_text_printf(t, "%-16s %-5s %-10s %-12s %s (default: %s)\n", row->name, types[row->type],
                   value[0] ? value : "\"\"", knobs->source[i], row->doc,
                   row->default_text[0] ? row->default_text : "\"\"");
    return;
  }
  tn_text_printf(t, "%s  {\"name\": \"%s\", \"type\": \"%s\", \"value\": ", i ? ",\n" : "", row->name,
                 types[row->type]);
  tn_text_json(t, tn_str_of(value));
  tn_text_printf(t, ", \"source\": \"%s\", \"default\": ", knobs->source[i]);
  tn_text_json(t, tn_str_of(row->default_text));
  tn_text_addz(t, ", \"doc\": ");
  tn_text_json(t, tn_str_of(row->doc));
  tn_text_addz(t, "}");
}

static tn_status knobs_write(tn_compilation *c, void *arg) {
  const info_tool *tool = arg;
  tn_text t;
  tn_text_init(&t, &c->ctx.arena);
  if (tool->json) tn_text_addz(&t, "[\n");
  for (int i = 0; i < TN_N_KNOBS; i++) knobs_put_row(&t, &c->ctx.knobs, i, tool->json);
  if (tool->json) tn_text_addz(&t, "\n]\n");
  return tn_blob_copy((tn_str){tn_text_z(&t), t.len}, tool->out);
}

tn_status tn_tool_knobs(int json, tn_blob *out, tn_report **out_report) {
  info_tool tool = {.json = json != 0, .out = out};
  return info_run(&tool, knobs_write, out_report);
}
