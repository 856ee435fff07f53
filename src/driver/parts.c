/* Parts of a model in memory: listed, taken out, put in, compiled together; and those of a manifest, by name. */
#include "onnx/parts.h"
#include "driver/manifest.h"
#include "driver/report.h"
#include "driver/split.h"

typedef struct parts_own parts_own;

typedef struct parts_entry {
  tn_part_info info;
  const tn_part_port *inputs, *outputs;
  parts_own *own; /* NULL: it is one of the split's */
  char *name;     /* of an added one */
} parts_entry;

static void parts_own_drop(parts_own *own);
static void parts_entry_drop(const parts_entry *e) {
  if (e->own) parts_own_drop(e->own);
  if (e->name) tn_free(tn_allocator_system(), e->name, strlen(e->name) + 1);
}

struct tn_parts {
  tn_compilation c; /* the arena that everything lies in */
  const tn_tool_split_options *o;
  TN_VEC(parts_entry) entries; /* in an order in which they can run, as far as added ones allow */
  const tn_str *outputs;       /* of the whole model */
  size_t n_outputs;
};

static tn_part_port parts_port(const tn_partition_set *s, const char *name, const tn_type *type) {
  tn_arena *a = &s->graph->ctx->arena;
  tn_text t;
  tn_text_init(&t, a);
  tn_type_print(s->graph->syms, &t, type);
  const tn_value value = {.type = *type};
  const tn_sym bytes = tn_split_bytes(s, &value);
  return (tn_part_port){tn_arena_copy_str(a, tn_str_of(name)), tn_text_z(&t),
                        bytes ? tn_sym_text(s->graph->syms, bytes) : NULL};
}

static const tn_part_port *parts_ports(const tn_partition_set *s, const tn_onnx_part_port *from, size_t n) {
  tn_part_port *ports = TN_NEW_ARRAY(&s->graph->ctx->arena, tn_part_port, n + 1);
  for (size_t i = 0; i < n; i++) ports[i] = parts_port(s, from[i].name, from[i].type);
  return ports;
}

static parts_entry parts_entry_of(const tn_partition_set *s, const tn_part *part, const tn_onnx_part *as) {
  return (parts_entry){.info = {.name = part->name,
                                .kind = tn_part_kind_name(part->kind),
                                .engine = part->engine,
                                .stage = part->stage,
                                .n_nodes = as->n_nodes,
                                .n_inputs = as->n_inputs,
                                .n_outputs = as->n_outputs,
                                .flops = tn_sym_text(s->graph->syms, tn_split_part_flops(s, part)),
                                .model = as->model.ptr,
                                .model_bytes = as->model.len},
                       .inputs = parts_ports(s, as->inputs, as->n_inputs),
                       .outputs = parts_ports(s, as->outputs, as->n_outputs)};
}

static tn_status parts_list(tn_compilation *c, tn_parts *p, const tn_tool_split_options *o) {
  tn_partition_set *set;
  tn_onnx_parts parts;
  if (!c->model) return tn_fail(&c->ctx, TN_UNSUPPORTED, (tn_loc){0}, "only ONNX models have parts that are models");
  TN_TRY(tn_split_by_options(c, o, &set));
  TN_TRY(tn_onnx_write_parts(c->model, set, NULL, &parts));
  for (uint32_t i = 0; i < parts.n_parts; i++)
    tn_vec_push(&p->c.ctx.arena, &p->entries, parts_entry_of(set, &set->regions.at[0].parts[i], &parts.parts[i]));
  tn_str *outputs = TN_NEW_ARRAY(&p->c.ctx.arena, tn_str, parts.n_outputs + 1);
  for (uint32_t i = 0; i < parts.n_outputs; i++) outputs[i] = tn_str_of(parts.outputs[i].name);
  p->outputs = outputs;
  p->n_outputs = parts.n_outputs;
  return TN_OK;
}

static tn_status parts_inside(tn_ctx *ctx, void *arg) {
  tn_parts *p = arg;
  (void)ctx;
  return parts_list(&p->c, p, p->o);
}

tn_status tn_parts_create(const char *path, const tn_tool_split_options *o, tn_parts **out, tn_report **out_report) {
  const tn_allocator a = tn_allocator_system();
  tn_parts *p = tn_alloc(a, sizeof *p);
  *out = NULL;
  if (!p) return tn_report_failure(out_report, TN_OOM, "out of memory");
  memset(p, 0, sizeof *p);
  const tn_compile_request q = tn_split_request(path, o);
  p->o = o;
  tn_status status = tn_compilation_run(&p->c, &q);
  if (status == TN_OK) status = tn_ctx_run(&p->c.ctx, parts_inside, p);
  if (status == TN_OOM) status = tn_error_set(&p->c.error, TN_OOM, "out of memory");
  if (out_report) *out_report = tn_compilation_report(&p->c);
  p->o = NULL;
  if (status == TN_OK)
    *out = p;
  else
    tn_parts_release(p);
  return status;
}

void tn_parts_release(tn_parts *p) {
  if (!p) return;
  for (size_t i = 0; i < p->entries.n; i++) parts_entry_drop(&p->entries.at[i]);
  tn_compilation_drop(&p->c);
  tn_free(tn_allocator_system(), p, sizeof *p);
}

size_t tn_parts_count(const tn_parts *p) { return p->entries.n; }

tn_status tn_parts_get(const tn_parts *p, size_t i, tn_part_info *out) {
  if (i >= p->entries.n) return TN_INVALID;
  *out = p->entries.at[i].info;
  return TN_OK;
}

size_t tn_parts_find(const tn_parts *p, const char *name) {
  size_t i = 0;
  while (i < p->entries.n && strcmp(p->entries.at[i].info.name, name) != 0) i++;
  return i;
}

tn_status tn_parts_input(const tn_parts *p, size_t i, size_t j, tn_part_port *out) {
  if (i >= p->entries.n || j >= p->entries.at[i].info.n_inputs) return TN_INVALID;
  *out = p->entries.at[i].inputs[j];
  return TN_OK;
}

tn_status tn_parts_output(const tn_parts *p, size_t i, size_t j, tn_part_port *out) {
  if (i >= p->entries.n || j >= p->entries.at[i].info.n_outputs) return TN_INVALID;
  *out = p->entries.at[i].outputs[j];
  return TN_OK;
}

tn_status tn_parts_remove(tn_parts *p, const char *name, tn_report **out_report) {
  const size_t i = tn_parts_find(p, name);
  if (i == p->entries.n) return tn_report_failure(out_report, TN_INVALID, "there is no part '%.200s'", name);
  parts_entry_drop(&p->entries.at[i]);
  memmove(&p->entries.at[i], &p->entries.at[i + 1], (p->entries.n - i - 1) * sizeof p->entries.at[0]);
  p->entries.n--;
  return TN_OK;
}

/* --- adding --- */

struct parts_own { /* what an added part lies in */
  tn_compilation c;
  void *bytes;
  size_t n_bytes;
};

static void parts_own_drop(parts_own *own) {
  tn_compilation_drop(&own->c);
  if (own->bytes) tn_free(tn_allocator_system(), own->bytes, own->n_bytes);
  tn_free(tn_allocator_system(), own, sizeof *own);
}

typedef struct parts_addition {
  tn_parts *p;
  parts_own *own;
  parts_entry entry;
} parts_addition;

/* What the added model is on its own: of the largest kind of its parts. */
static tn_status parts_describe(tn_ctx *ctx, void *arg) {
  static const tn_tool_split_options plain = {.size = sizeof plain, .min_static_ops = 0};
  parts_addition *q = arg;
  tn_partition_set *set;
  tn_onnx_parts parts;
  (void)ctx;
  if (!q->own->c.model) return tn_fail(&q->own->c.ctx, TN_UNSUPPORTED, (tn_loc){0}, "a part is an ONNX model");
  TN_TRY(tn_split_by_options(&q->own->c, &plain, &set));
  TN_TRY(tn_onnx_write_parts(q->own->c.model, set, NULL, &parts));
  const tn_partition *main = &set->regions.at[0];
  tn_part whole = {.kind = TN_PART_STATIC, .engine = main->parts[0].engine, .stage = TN_NO_STAGE};
  tn_sym flops = tn_sym_int(set->graph->syms, 0);
  for (uint32_t i = 0; i < main->n_parts; i++) {
    if (main->parts[i].kind > whole.kind) whole.kind = main->parts[i].kind;
    flops = tn_sym_add(set->graph->syms, flops, tn_split_part_flops(set, &main->parts[i]));
  }
  q->entry = parts_entry_of(set, &whole,
                            &(tn_onnx_part){.model = {q->own->bytes, q->own->n_bytes},
                                            .inputs = parts.inputs,
                                            .n_inputs = parts.n_inputs,
                                            .outputs = parts.outputs,
                                            .n_outputs = parts.n_outputs});
  for (uint32_t i = 0; i < parts.n_parts; i++) q->entry.info.n_nodes += parts.parts[i].n_nodes;
  q->entry.info.flops = tn_sym_text(set->graph->syms, flops);
  q->entry.own = q->own;
  return TN_OK;
}

static tn_status parts_append(tn_ctx *ctx, void *arg) {
  parts_addition *q = arg;
  tn_vec_push(&ctx->arena, &q->p->entries, q->entry);
  return TN_OK;
}

static tn_status parts_read(parts_addition *q, const char *name, const void *model, size_t bytes) {
  const tn_allocator a = tn_allocator_system();
  q->own->bytes = tn_alloc(a, bytes);
  q->own->n_bytes = bytes;
  if (!q->own->bytes) return tn_error_set(&q->own->c.error, TN_OOM, "out of memory");
  if (bytes) memcpy(q->own->bytes, model, bytes);
  const tn_compile_request request = {
      .allocator = a, .bytes = {q->own->bytes, bytes}, .stop_after = "infer", .max_edits = -1, .keeps_model = true};
  TN_TRY(tn_compilation_run(&q->own->c, &request));
  TN_TRY(tn_ctx_run(&q->own->c.ctx, parts_describe, q));
  char *copy = tn_alloc(a, strlen(name) + 1);
  if (!copy) return tn_error_set(&q->own->c.error, TN_OOM, "out of memory");
  q->entry.info.name = strcpy(copy, name);
  q->entry.name = copy;
  const tn_status status = tn_ctx_run(&q->p->c.ctx, parts_append, q);
  if (status != TN_OK) tn_free(a, copy, strlen(name) + 1);
  return status;
}

tn_status tn_parts_add(tn_parts *p, const char *name, const void *model, size_t bytes, tn_report **out_report) {
  if (tn_parts_find(p, name) != p->entries.n)
    return tn_report_failure(out_report, TN_INVALID, "there is a part '%.200s' already", name);
  parts_addition q = {.p = p, .own = tn_alloc(tn_allocator_system(), sizeof *q.own)};
  if (!q.own) return tn_report_failure(out_report, TN_OOM, "out of memory");
  memset(q.own, 0, sizeof *q.own);
  const tn_status status = parts_read(&q, name, model, bytes);
  if (out_report) *out_report = tn_compilation_report(&q.own->c);
  if (status != TN_OK) parts_own_drop(q.own);
  return status;
}

/* --- compiling --- */

typedef struct parts_joining {
  const tn_parts *p;
  tn_bytes out;
} parts_joining;

static tn_status parts_join(tn_ctx *ctx, void *arg) {
  parts_joining *q = arg;
  const tn_parts *p = q->p;
  tn_arena *a = &ctx->arena;
  tn_map made = {0}, asked = {0};
  TN_VEC(tn_str) inputs = {0}, outputs = {0};
  tn_bytes *models = TN_NEW_ARRAY(a, tn_bytes, p->entries.n + 1);
  for (size_t i = 0; i < p->entries.n; i++) {
    const parts_entry *e = &p->entries.at[i];
    models[i] = (tn_bytes){e->info.model, e->info.model_bytes};
    for (size_t j = 0; j < e->info.n_outputs; j++)
      tn_map_set_name(a, &made, tn_ctx_namez(ctx, e->outputs[j].name), ctx);
  }
  for (size_t i = 0; i < p->entries.n; i++)
    for (size_t j = 0; j < p->entries.at[i].info.n_inputs; j++) {
      const char *name = tn_ctx_namez(ctx, p->entries.at[i].inputs[j].name);
      if (tn_map_find_name(&made, name) || tn_map_find_name(&asked, name)) continue;
      tn_map_set_name(a, &asked, name, ctx);
      tn_vec_push(a, &inputs, tn_str_of(name));
    }
  for (size_t i = 0; i < p->n_outputs; i++)
    if (tn_map_find_name(&made, tn_ctx_namez(ctx, p->outputs[i].ptr))) tn_vec_push(a, &outputs, p->outputs[i]);
  if (!outputs.n) return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "no part that is left gives an output of the model");
  return tn_onnx_join_parts(ctx, models, p->entries.n, inputs.at, inputs.n, outputs.at, outputs.n, &q->out);
}

tn_status tn_parts_compile(const tn_parts *p, const tn_compile_options *o, tn_program **out, tn_report **out_report) {
  tn_compilation c = {0};
  parts_joining q = {.p = p};
  *out = NULL;
  tn_status status = tn_ctx_init(&c.ctx, tn_allocator_system(), &c.error);
  if (status == TN_OK) status = tn_ctx_run(&c.ctx, parts_join, &q);
  if (status == TN_OOM) status = tn_error_set(&c.error, TN_OOM, "out of memory");
  if (status == TN_OK) {
    const tn_compile_request request = {
        .allocator = tn_allocator_system(), .bytes = q.out, .options = o, .max_edits = -1};
    status = tn_compile(&request, NULL, out, out_report);
  } else if (out_report) {
    *out_report = tn_compilation_report(&c);
  }
  tn_compilation_drop(&c);
  return status;
}

/* --- the parts of a manifest --- */

typedef struct part_list {
  tn_compilation c;
  const char *path;
  tn_blob *out;
} part_list;

static tn_status part_list_inside(tn_ctx *ctx, void *arg) {
  part_list *l = arg;
  tn_error err = {0};
  tn_file *file = NULL;
  tn_manifest m;
  tn_text t;
  ctx->file = tn_ctx_namez(ctx, l->path);
  if (tn_ctx_map(ctx, NULL, l->path, &file, &err) != TN_OK)
    return tn_fail(ctx, err.status, (tn_loc){0}, "%s", err.text);
  TN_TRY(tn_manifest_read(ctx, file->bytes, &m));
  tn_text_init(&t, &ctx->arena);
  for (size_t i = 0; i < m.parts.n; i++) tn_text_printf(&t, "%s\n", m.parts.at[i].file);
  return tn_blob_copy((tn_str){tn_text_z(&t), t.len}, l->out);
}

tn_status tn_tool_parts(const char *path, tn_blob *out, tn_report **out_report) {
  part_list l = {.path = path, .out = out};
  *out = (tn_blob){0};
  tn_status status = tn_ctx_init(&l.c.ctx, tn_allocator_system(), &l.c.error);
  if (status == TN_OK) status = tn_ctx_run(&l.c.ctx, part_list_inside, &l);
  if (status == TN_OOM) status = tn_error_set(&l.c.error, TN_OOM, "out of memory");
  if (out_report) *out_report = tn_compilation_report(&l.c);
  tn_compilation_drop(&l.c);
  return status;
}
