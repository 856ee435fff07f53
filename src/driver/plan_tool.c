/* The memory plan: a table of buffers with their lives, sizes and offsets, the bytes that it needs beside those that
 * nothing can do without, as formulas and at given sizes; the same as a drawing. */
#include "driver/plan_tool.h"
#include "code/planner.h"
#include "driver/shapes.h"
#include "driver/sums.h"
#include "driver/tool.h"
#include "pass/cost.h"

enum { PLAN_TOOL_MOST_NAMES = 4 };

typedef struct plan_tool {
  const char *dims, *svg;
  tn_plan_totals *totals; /* may be NULL */
  tn_blob *out;
  tn_ctx *ctx;
  tn_symtab *syms;
  const tn_plan *plan;
  tn_value **values;
  uint32_t *first_value, *next_value; /* of a buffer, 1 + id; 0: none */
  tn_cost_sizes sizes;
  tn_text text;
  uint32_t *first_buffer, *next_buffer; /* of a region, 1 + place in the plan; 0: none */
  /* The buffers of a region, by number. */
  const tn_region *region;
  uint32_t n;
  const tn_plan_buffer **buffers;
  tn_sym *bytes;
  tn_interval_plan *at;
  uint32_t *by_first, *by_last;
  bool has_sizes; /* `at` has sizes and offsets */
  size_t peak, live;
} plan_tool;

static void plan_tool_list_buffers(plan_tool *p, const tn_graph *g) {
  p->first_buffer = TN_NEW_ARRAY(&p->ctx->arena, uint32_t, g->n_regions + 1);
  p->next_buffer = TN_NEW_ARRAY(&p->ctx->arena, uint32_t, p->plan->n_buffers + 1);
  for (uint32_t i = p->plan->n_buffers; i-- > 0;) {
    uint32_t *first = &p->first_buffer[p->plan->buffers[i].region->id];
    p->next_buffer[i] = *first;
    *first = i + 1;
  }
}

static void plan_tool_collect(plan_tool *p, const tn_region *region) {
  tn_arena *const a = &p->ctx->arena;
  p->region = region;
  p->n = 0;
  for (uint32_t i = p->first_buffer[region->id]; i; i = p->next_buffer[i - 1]) p->n++;
  p->buffers = TN_NEW_ARRAY(a, const tn_plan_buffer *, p->n + 1);
  p->bytes = TN_NEW_ARRAY(a, tn_sym, p->n + 1);
  p->at = TN_NEW_ARRAY(a, tn_interval_plan, p->n + 1);
  p->by_first = TN_NEW_ARRAY(a, uint32_t, p->n + 1);
  p->by_last = TN_NEW_ARRAY(a, uint32_t, p->n + 1);
  for (uint32_t i = p->first_buffer[region->id]; i; i = p->next_buffer[i - 1]) {
    const tn_plan_buffer *b = &p->plan->buffers[i - 1];
    p->buffers[b->number] = b;
    p->bytes[b->number] = b->bytes;
    p->at[b->number] = (tn_interval_plan){.first = b->first,
                                          .last = b->last,
                                          .under = b->under < 0 ? TN_PLAN_NONE : (uint32_t)b->under,
                                          .over = b->over < 0 ? TN_PLAN_NONE : (uint32_t)b->over};
  }
  tn_plan_sort(p->at, p->n, false, p->by_first);
  tn_plan_sort(p->at, p->n, true, p->by_last);
}

static void plan_tool_replan(plan_tool *p) {
  tn_arena *const a = &p->ctx->arena;
  const size_t by_ties = p->peak;
  tn_planner w = {.nodes = TN_NEW_ARRAY(a, tn_plan_node, tn_planner_nodes(p->n)),
                  .node_of = TN_NEW_ARRAY(a, uint32_t, p->n + 1),
                  .order = TN_NEW_ARRAY(a, uint32_t, p->n + 1),
                  .placed = TN_NEW_ARRAY(a, uint32_t, p->n + 1),
                  .other = TN_NEW_ARRAY(a, size_t, p->n + 1)};
  if (!tn_plan_offsets(&w, p->at, p->n, p->by_first, p->by_last, &p->peak, &p->live) || by_ties < p->peak)
    p->peak = tn_plan_evaluate(p->at, p->n);
}

/* Sizes and offsets at the given dims, as binding finds them. False when a size is not known. */
static bool plan_tool_sizes(plan_tool *p) {
  size_t sum = 0;
  for (uint32_t i = 0; i < p->n; i++) {
    int64_t bytes = 0;
    if (!tn_cost_value(&p->sizes, p->bytes[i], &bytes)) return false;
    if (!tn_align_size(bytes > 0 ? (size_t)bytes : 0, TN_PLAN_ALIGN, &p->at[i].bytes)) return false;
    if (!tn_add_size(sum, p->at[i].bytes, &sum)) return false;
  }
  p->live = tn_plan_live(p->at, p->n, p->by_first, p->by_last);
  p->peak = tn_plan_evaluate(p->at, p->n);
  if (!tn_plan_is_tight(p->peak, p->live)) plan_tool_replan(p);
  return true;
}

/* Formulas. The plan by ties is as high as its largest chain of buffers, each above the one before. */

typedef struct plan_edges { /* over[first[i] .. first[i + 1]): the buffers that lie above buffer i */
  uint32_t *first, *over;
} plan_edges;

static plan_edges plan_tool_edges(const plan_tool *p) {
  tn_arena *const a = &p->ctx->arena;
  plan_edges e = {TN_NEW_ARRAY(a, uint32_t, p->n + 2), TN_NEW_ARRAY(a, uint32_t, 2 * p->n + 1)};
  for (uint32_t i = 0; i < p->n; i++) {
    if (p->at[i].under != TN_PLAN_NONE) e.first[p->at[i].under + 1]++;
    if (p->at[i].over != TN_PLAN_NONE) e.first[i + 1]++;
  }
  for (uint32_t i = 0; i < p->n; i++) e.first[i + 1] += e.first[i];
  uint32_t *const fill = TN_NEW_ARRAY(a, uint32_t, p->n + 1);
  memcpy(fill, e.first, p->n * sizeof *fill);
  for (uint32_t i = 0; i < p->n; i++) {
    if (p->at[i].under != TN_PLAN_NONE) e.over[fill[p->at[i].under]++] = i;
    if (p->at[i].over != TN_PLAN_NONE) e.over[fill[i]++] = p->at[i].over;
  }
  return e;
}

static tn_sym plan_tool_peak(plan_tool *p) {
  enum { MANY = 5000 };
  tn_arena *const a = &p->ctx->arena;
  const tn_sum_sizes sizes = {p->syms, p->bytes};
  if (p->n > MANY) return NULL;
  tn_sums **const below = TN_NEW_ARRAY(a, tn_sums *, p->n + 1), *const top = TN_NEW(a, tn_sums);
  const plan_edges e = plan_tool_edges(p);
  for (uint32_t i = 0; i < p->n; i++) {
    tn_sums *const ends = TN_NEW(a, tn_sums);
    const tn_sum nothing = {0};
    for (uint32_t j = 0; j < (below[i] ? below[i]->n : 1); j++) {
      tn_sum end;
      if (tn_sum_with(below[i] ? &below[i]->at[j] : &nothing, i, &end))
        tn_sums_add(&sizes, ends, &end);
      else
        top->is_cut = true;
    }
    top->is_cut |= ends->is_cut || (below[i] && below[i]->is_cut);
    for (uint32_t j = 0; j < ends->n; j++) {
      tn_sums_add(&sizes, top, &ends->at[j]);
      for (uint32_t k = e.first[i]; k < e.first[i + 1]; k++) {
        tn_sums **const at = &below[e.over[k]];
        if (!*at) *at = TN_NEW(a, tn_sums);
        tn_sums_add(&sizes, *at, &ends->at[j]);
      }
    }
    if (top->is_cut) return NULL;
  }
  return tn_sums_max(&sizes, top, TN_PLAN_ALIGN);
}

static tn_sym plan_tool_live(plan_tool *p) {
  const tn_sum_sizes sizes = {p->syms, p->bytes};
  tn_sums *const most = TN_NEW(&p->ctx->arena, tn_sums);
  tn_sum now = {0};
  uint32_t dead = 0;
  for (uint32_t i = 0; i < p->n; i++) {
    const uint32_t born = p->by_first[i];
    for (; dead < p->n && p->at[p->by_last[dead]].last < p->at[born].first; dead++) {
      uint32_t kept = 0;
      for (uint32_t j = 0; j < now.n; j++)
        if (now.ids[j] != p->by_last[dead]) now.ids[kept++] = now.ids[j];
      now.n = kept;
    }
    const tn_sum before = now;
    if (!tn_sum_with(&before, born, &now)) return NULL;
    const bool is_last = i + 1 == p->n || p->at[p->by_first[i + 1]].first > p->at[p->by_last[dead]].last;
    if (is_last) tn_sums_add(&sizes, most, &now); /* before anything dies */
    if (most->is_cut) return NULL;
  }
  return tn_sums_max(&sizes, most, TN_PLAN_ALIGN);
}

/* The table. */

static void plan_tool_names(plan_tool *p, const tn_plan_buffer *b) {
  int n = 0;
  for (uint32_t v = p->first_value[b - p->plan->buffers]; v; v = p->next_value[v - 1])
    if (n++ < PLAN_TOOL_MOST_NAMES) tn_text_printf(&p->text, "%s%.60s", n > 1 ? ", " : "", p->values[v - 1]->name);
  if (n > PLAN_TOOL_MOST_NAMES) tn_text_printf(&p->text, ", ... (%d)", n);
}

static void plan_tool_list_values(plan_tool *p, const tn_graph *g) {
  p->first_value = TN_NEW_ARRAY(&p->ctx->arena, uint32_t, p->plan->n_buffers + 1);
  p->next_value = TN_NEW_ARRAY(&p->ctx->arena, uint32_t, g->n_values + 1);
  for (uint32_t v = g->n_values; v-- > 0;) {
    if (!p->values[v] || p->plan->buffer[v] < 0) continue;
    p->next_value[v] = p->first_value[p->plan->buffer[v]];
    p->first_value[p->plan->buffer[v]] = v + 1;
  }
}

/* "end 3", "max(end 1, end 3)": where a buffer begins. */
static void plan_tool_offset(plan_tool *p, uint32_t i, const uint32_t *const *pushed) {
  const uint32_t under = p->at[i].under;
  const int n = (under != TN_PLAN_NONE) + (int)pushed[i][0];
  if (n == 0) tn_text_addz(&p->text, "0");
  if (n > 1) tn_text_addz(&p->text, "max(");
  if (under != TN_PLAN_NONE) tn_text_printf(&p->text, "end %u", under);
  for (uint32_t j = 1; j <= pushed[i][0]; j++)
    tn_text_printf(&p->text, "%send %u", j > 1 || under != TN_PLAN_NONE ? ", " : "", pushed[i][j]);
  if (n > 1) tn_text_addz(&p->text, ")");
}

/* For each buffer the ones whose tie `over` it is: their number, then they. */
static const uint32_t *const *plan_tool_pushed(const plan_tool *p) {
  tn_arena *const a = &p->ctx->arena;
  uint32_t **const out = TN_NEW_ARRAY(a, uint32_t *, p->n + 1), *const count = TN_NEW_ARRAY(a, uint32_t, p->n + 1);
  for (uint32_t i = 0; i < p->n; i++)
    if (p->at[i].over != TN_PLAN_NONE) count[p->at[i].over]++;
  for (uint32_t i = 0; i < p->n; i++) out[i] = TN_NEW_ARRAY(a, uint32_t, count[i] + 1);
  for (uint32_t i = 0; i < p->n; i++)
    if (p->at[i].over != TN_PLAN_NONE) out[p->at[i].over][++out[p->at[i].over][0]] = i;
  return (const uint32_t *const *)out;
}

static void plan_tool_table(plan_tool *p) {
  const uint32_t *const *const pushed = plan_tool_pushed(p);
  tn_text_printf(&p->text, "region %s: %u buffers\n", p->region->owner ? p->region->name : "main", p->n);
  tn_text_addz(&p->text, "buffer | ticks | bytes | offset | values\n");
  for (uint32_t i = 0; i < p->n; i++) {
    tn_text_printf(&p->text, "%u | %u..%u | %s", i, p->at[i].first, p->at[i].last, tn_sym_text(p->syms, p->bytes[i]));
    if (p->has_sizes) tn_text_printf(&p->text, " = %zu", p->at[i].bytes);
    tn_text_addz(&p->text, " | ");
    plan_tool_offset(p, i, pushed);
    if (p->has_sizes) tn_text_printf(&p->text, " = %zu", p->at[i].offset);
    tn_text_addz(&p->text, " | ");
    plan_tool_names(p, p->buffers[i]);
    tn_text_addz(&p->text, "\n");
  }
}

static void plan_tool_total(plan_tool *p, const char *label, tn_sym formula, size_t bytes) {
  tn_text_printf(&p->text, "%s: %s", label, formula ? tn_sym_text(p->syms, formula) : "(too many cases)");
  if (p->has_sizes && !(formula && tn_sym_is_int(formula))) tn_text_printf(&p->text, " = %zu", bytes);
  tn_text_addz(&p->text, "\n");
}

static tn_status plan_tool_region(plan_tool *p, const tn_region *region) {
  plan_tool_collect(p, region);
  if (p->n == 0 && region->owner) return TN_OK;
  p->has_sizes = plan_tool_sizes(p);
  if (p->dims && !p->has_sizes && !region->owner)
    return tn_fail(p->ctx, TN_INVALID, (tn_loc){.kind = "option", .name = "--dim"}, "it must give every symbol");
  const tn_sym peak = plan_tool_peak(p);
  if (p->totals && !region->owner) {
    p->totals->bytes = p->has_sizes ? (int64_t)p->peak : -1;
    return tn_blob_copy(tn_str_of(peak ? tn_sym_text(p->syms, peak) : "(too many cases)"), &p->totals->formula);
  }
  plan_tool_table(p);
  plan_tool_total(p, "peak", peak, p->peak);
  plan_tool_total(p, "bound (largest sum of live bytes)", plan_tool_live(p), p->live);
  if (p->plan->joined_bytes && !region->owner) {
    int64_t bytes = 0;
    (void)tn_cost_value(&p->sizes, p->plan->joined_bytes, &bytes);
    tn_text_printf(&p->text, "made where a Concat has them: %u values, ", p->plan->n_joined);
    plan_tool_total(p, "bytes not copied", p->plan->joined_bytes, (size_t)bytes);
  }
  if (p->has_sizes) tn_text_printf(&p->text, "peak / bound: %.4f\n", p->live ? (double)p->peak / (double)p->live : 1.0);
  return TN_OK;
}

/* The drawing: time to the right, address upwards. */

static void plan_tool_xml(tn_text *t, const char *z) {
  for (; *z; z++) {
    const unsigned char c = (unsigned char)*z;
    if (c == '<' || c == '&' || c == '"' || c < ' ')
      tn_text_printf(t, "&#%u;", c < ' ' ? ' ' : c);
    else
      tn_text_add(t, (tn_str){z, 1});
  }
}

static void plan_tool_rect(const plan_tool *p, tn_text *t, uint32_t i, double x_unit, double y_unit, double height) {
  const tn_interval_plan *b = &p->at[i];
  const double h = (double)b->bytes * y_unit, top = height - (double)b->offset * y_unit - h;
  tn_text_printf(t, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"hsl(%u,60%%,70%%)\"><title>",
                 b->first * x_unit, top, (b->last - b->first + 1) * x_unit, h, i * 137 % 360);
  plan_tool_xml(t, p->values[p->buffers[i]->value] ? p->values[p->buffers[i]->value]->name : "");
  tn_text_printf(t, ": buffer %u, %zu bytes at %zu, ticks %u..%u</title></rect>\n", i, b->bytes, b->offset, b->first,
                 b->last);
}

static tn_status plan_tool_draw(const plan_tool *p) {
  const double width = 1200, height = 600;
  uint32_t ticks = 1;
  tn_text t;
  tn_error err = {0};
  tn_text_init(&t, &p->ctx->arena);
  if (!p->has_sizes)
    return tn_fail(p->ctx, TN_INVALID, (tn_loc){.kind = "option", .name = "--plan-svg"},
                   "--dim must give every symbol");
  for (uint32_t i = 0; i < p->n; i++)
    if (p->at[i].last + 1 > ticks) ticks = p->at[i].last + 1;
  const double x_unit = width / ticks, y_unit = p->peak ? height / (double)p->peak : 0;
  tn_text_printf(
      &t,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" stroke=\"#444\" "
      "stroke-width=\"0.5\">\n<title>%u buffers over %u ticks, %zu bytes, %zu of them live at once</title>\n",
      width, height, p->n, ticks, p->peak, p->live);
  for (uint32_t i = 0; i < p->n; i++)
    if (p->at[i].bytes) plan_tool_rect(p, &t, i, x_unit, y_unit, height);
  const double bound = height - (double)p->live * y_unit;
  tn_text_printf(&t, "<path d=\"M0 %.2fH%.0f\" stroke=\"#c00\" stroke-width=\"2\"/>\n</svg>\n", bound, width);
  const tn_bytes part = {(const uint8_t *)tn_text_z(&t), t.len};
  if (tn_file_write(p->svg, &part, 1, &err) == TN_OK) return TN_OK;
  return tn_fail(p->ctx, err.status, (tn_loc){.kind = "file", .name = p->svg}, "%s", err.text);
}

static tn_status plan_tool_inner(void *arg, tn_node *node) {
  for (int i = 0; i < node->n_regions; i++) TN_TRY(plan_tool_region(arg, node->regions[i]));
  return TN_OK;
}

static tn_status plan_tool_inside(tn_compilation *c, void *arg) {
  plan_tool *const p = arg;
  if (c->is_program) return tn_fail(&c->ctx, TN_INVALID, (tn_loc){0}, "a program holds no model to ask");
  p->ctx = &c->ctx;
  p->syms = c->graph->syms;
  p->plan = c->pass.plan;
  p->sizes = tn_cost_sizes_new(p->syms, &p->ctx->arena);
  tn_text_init(&p->text, &p->ctx->arena);
  TN_TRY(tn_tool_values(c->graph, &p->values));
  plan_tool_list_values(p, c->graph);
  plan_tool_list_buffers(p, c->graph);
  TN_TRY(tn_cost_sizes_read(&p->sizes, c->graph, p->dims));
  TN_TRY(plan_tool_region(p, c->graph->main));
  if (p->totals) return TN_OK;
  if (p->svg) TN_TRY(plan_tool_draw(p));
  TN_TRY(tn_graph_walk(c->graph, plan_tool_inner, p));
  return tn_blob_copy((tn_str){tn_text_z(&p->text), p->text.len}, p->out);
}

static tn_status plan_tool_run(const char *path, const tn_compile_options *o, plan_tool *p, tn_report **out_report) {
  tn_compilation c;
  const tn_compile_request q = {
      .allocator = tn_allocator_system(), .path = path, .options = o, .stop_after = "plan", .max_edits = -1};
  return tn_tool_finish(&c, tn_compilation_run(&c, &q), plan_tool_inside, p, out_report);
}

tn_status tn_tool_plan(const char *path, const tn_compile_options *o, const char *dims, const char *svg, tn_blob *out,
                       tn_report **out_report) {
  plan_tool p = {.dims = dims, .svg = svg, .out = out};
  *out = (tn_blob){0};
  return plan_tool_run(path, o, &p, out_report);
}

tn_status tn_plan_totals_find(const char *path, const tn_compile_options *o, const char *dims, tn_plan_totals *out) {
  plan_tool p = {.dims = dims, .totals = out};
  *out = (tn_plan_totals){.bytes = -1};
  return plan_tool_run(path, o, &p, NULL);
}
