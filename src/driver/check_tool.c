/* `tenon infer --check`: runs the model in the oracle at random valid sizes and compares what every value is, in
 * regions too, with what inference says of it: element type, rank, dims, known elements, the bounds of symbols. */
#include <math.h>

#include "base/rng.h"
#include "driver/draw.h"
#include "driver/shapes.h"
#include "driver/tool.h"
#include "ir/eval.h"

enum {
  CHECK_BINDINGS = 16, /* tried until one is not refused during the run */
  CHECK_MAX_FAULTS = 50,
  CHECK_MAX_DEPTH = 4,         /* of sequences in sequences */
  CHECK_MAX_ELEMENTS = 1 << 22 /* of a value that contents make large */
};

typedef struct check_fault {
  int64_t run;
  const char *value, *node, *text;
} check_fault;

typedef struct check_run {
  const char *sizes, *sizes_json;
  int64_t values;
} check_run;

typedef struct checking {
  tn_graph *graph;
  tn_ctx *ctx;
  tn_symtab *syms;
  int64_t runs, seed;
  bool json;
  int *out_failed;
  tn_blob *out;
  tn_binding at;
  TN_VEC(check_fault) faults;
  TN_VEC(check_run) done;
  int64_t n_faults, n_values, refused;
  bool *faulty; /* by value: already spoken of */
  /* Of one run: */
  const tn_lit **env;
  bool *entered;        /* by region */
  bool by_data;         /* it failed at a node that no check guards */
  int64_t values;       /* compared */
  const char *no_value; /* why a symbol's number is not what its facts allow */
  tn_draw draw;
} checking;

/* What a run says. */

static bool check_symbol_number(checking *c, const tn_symbol *s, uint32_t number, int64_t *out) {
  if (s->source == TN_SOURCE_GIVEN) return tn_binding_env(&c->at, number, out);
  if ((s->source != TN_SOURCE_DIM && s->source != TN_SOURCE_ELEM) || s->value >= c->graph->n_values) return false;
  const tn_lit *const l = c->env[s->value];
  if (!l || l->kind != TN_TYPE_TENSOR) return false;
  if (s->index >= (s->source == TN_SOURCE_DIM ? l->rank : l->count)) return false;
  *out = s->source == TN_SOURCE_DIM ? l->dims[s->index] : tn_lit_i64_at(l, s->index);
  return true;
}

static bool check_env(void *arg, uint32_t number, int64_t *out) {
  checking *const c = arg;
  const tn_symbol *const s = tn_sym_symbol(c->syms, number);
  if (!check_symbol_number(c, s, number, out)) return false;
  if (*out < s->min || *out > s->max || (s->multiple_of > 1 && *out % s->multiple_of != 0))
    c->no_value =
        tn_arena_printf(&c->ctx->arena, "symbol %s is %lld, by its facts in [%lld, %lld], a multiple of %lld", s->name,
                        (long long)*out, (long long)s->min, (long long)s->max, (long long)s->multiple_of);
  return true;
}

/* NULL, or in words what is not as e says. */
static const char *check_number(checking *c, tn_sym e, int64_t real) {
  int64_t v = 0;
  c->no_value = NULL;
  const tn_status status = tn_sym_eval(c->syms, e, check_env, c, &v);
  if (c->no_value) return c->no_value;
  const char *const text = tn_sym_text(c->syms, e);
  if (status != TN_OK) return tn_arena_printf(&c->ctx->arena, "%lld, but %s has no value", (long long)real, text);
  if (v == real) return NULL;
  if (tn_sym_is_int(e)) return tn_arena_printf(&c->ctx->arena, "%lld, not %s", (long long)real, text);
  return tn_arena_printf(&c->ctx->arena, "%lld, but %s is %lld", (long long)real, text, (long long)v);
}

static const char *check_float(checking *c, const tn_elem *e, tn_dtype d, double real) {
  int64_t n = 0;
  double v = e->f;
  if (e->kind != TN_ELEM_F64) {
    if (tn_sym_eval(c->syms, e->sym, check_env, c, &n) != TN_OK)
      return tn_arena_printf(&c->ctx->arena, "%g, but %s has no value", real, tn_sym_text(c->syms, e->sym));
    v = e->kind == TN_ELEM_RATIO    ? (double)n / (double)e->den
        : e->kind == TN_ELEM_SCALED ? (double)((float)n * (float)e->f)
                                    : (double)n;
  }
  const double step = d == TN_F64 ? 0x1p-52 : d == TN_F32 ? 0x1p-23 : d == TN_F16 ? 0x1p-10 : 0x1p-7;
  const bool exact = e->kind == TN_ELEM_SYM || e->kind == TN_ELEM_SCALED;
  if ((isnan(v) && isnan(real)) || fabs(v - real) <= (exact ? 0 : step * fabs(v)) || !(v < real || v > real))
    return NULL;
  return tn_arena_printf(&c->ctx->arena, "%.9g, but inferred %.9g", real, v);
}

static const char *check_element(checking *c, const tn_elem *e, const tn_lit *l, int64_t i) {
  if (e->kind == TN_ELEM_NONE) return NULL;
  if (tn_dtype_is_float(l->dtype)) return check_float(c, e, l->dtype, tn_lit_f64(l, i));
  return e->kind == TN_ELEM_SYM ? check_number(c, e->sym, tn_lit_i64_at(l, i)) : NULL;
}

static const char *check_tensor(checking *c, const tn_type *t, const tn_lit *l) {
  tn_arena *const a = &c->ctx->arena;
  if (t->dtype && t->dtype != l->dtype)
    return tn_arena_printf(a, "element type is %s, not %s", tn_dtype_name(l->dtype), tn_dtype_name(t->dtype));
  if (t->rank < 0) return NULL;
  if (t->rank != l->rank) return tn_arena_printf(a, "rank is %d, not %d", l->rank, t->rank);
  for (int j = 0; j < t->rank; j++) {
    const char *const why = t->dims[j] ? check_number(c, t->dims[j], l->dims[j]) : NULL;
    if (why) return tn_arena_printf(a, "dim %d is %s", j, why);
  }
  const int64_t n = tn_type_content_count(t);
  for (int64_t i = 0; i < n && i < l->count; i++) {
    const char *const why = check_element(c, &t->content[i], l, i);
    if (why) return tn_arena_printf(a, "element %lld is %s", (long long)i, why);
  }
  return NULL;
}

static const char *check_type(checking *c, const tn_type *t, const tn_lit *l, int depth) {
  static const char *const kinds[] = {"unknown", "a tensor", "a sequence", "an optional", "a map"};
  if (t->kind == TN_TYPE_UNKNOWN || depth > CHECK_MAX_DEPTH) return NULL;
  if (t->kind != l->kind) return tn_arena_printf(&c->ctx->arena, "it is %s, not %s", kinds[l->kind], kinds[t->kind]);
  if (t->kind == TN_TYPE_TENSOR) return check_tensor(c, t, l);
  for (int64_t i = 0; t->elem && i < l->n_items; i++) {
    const char *const why = check_type(c, t->elem, l->items[i], depth + 1);
    if (why) return tn_arena_printf(&c->ctx->arena, "item %lld: %s", (long long)i, why);
  }
  return NULL;
}

/* A check of the run that is false where it was reached: the program would have stopped there. */
static bool check_is_refused(checking *c) {
  for (size_t i = 0; i < c->at.late.n; i++) {
    const tn_check *const late = c->at.late.at[i];
    int64_t v;
    if (!c->entered[late->region->id]) continue;
    if (tn_sym_eval(c->syms, late->condition, check_env, c, &v) == TN_OK && v == 0) return true;
  }
  return false;
}

static void check_add_fault(checking *c, const char *value, const char *node, const char *text) {
  c->n_faults++;
  if (c->faults.n < CHECK_MAX_FAULTS)
    tn_vec_push(&c->ctx->arena, &c->faults, ((check_fault){(int64_t)c->done.n + 1, value, node, text}));
}

/* INVALID: the run goes no further, a check of the run refuses it. */
static tn_status check_watch(void *arg, const tn_value *v) {
  checking *const c = arg;
  if (!c->env[v->id]) return TN_OK;
  c->values++;
  const char *const why = check_type(c, &v->type, c->env[v->id], 0);
  if (!why) return TN_OK;
  if (check_is_refused(c)) return TN_INVALID;
  if (c->faulty[v->id]) return TN_OK;
  c->faulty[v->id] = true;
  check_add_fault(c, v->name, v->def ? tn_tool_where(c->ctx, v->def) : "an input", why);
  return TN_OK;
}

/* Runs. */

/* Has the tensor elements that inference does not know? */
static bool check_is_unknown(const tn_type *t) {
  const int64_t n = tn_type_content_count(t);
  if (!t->content) return true;
  for (int64_t i = 0; i < n; i++)
    if (t->content[i].kind == TN_ELEM_NONE) return true;
  return false;
}

/* Has the node a result or an operand whose shape no rule gave, or one unknown that decides shapes? Then no check
 * guards it. */
static bool check_is_by_data(const checking *c, const tn_node *node) {
  for (int i = 0; i < node->n_in; i++) {
    const tn_port *const port = tn_op_in_port(node->op, i);
    if (node->in[i] && port && port->flags & TN_PORT_SHAPES && check_is_unknown(&node->in[i]->type)) return true;
  }
  for (int i = 0; i < node->n_out + node->n_in; i++) {
    const tn_value *const v = i < node->n_out ? node->out[i] : node->in[i - node->n_out];
    if (!v || !v->def || v->type.kind != TN_TYPE_TENSOR) continue;
    if (v->type.rank < 0 || v->id >= c->graph->inferred.n || !c->graph->inferred.at[v->id]) return true;
  }
  return false;
}

static tn_status check_interpret(checking *c) {
  tn_graph *const g = c->graph;
  c->env = TN_NEW_ARRAY(&c->ctx->pass, const tn_lit *, g->n_values + 1);
  c->entered = TN_NEW_ARRAY(&c->ctx->pass, bool, g->n_regions + 1);
  c->values = 0;
  c->by_data = false;
  for (int i = 0; i < g->main->n_params; i++)
    TN_TRY(tn_draw_input(&c->draw, g->main->params[i], &c->env[g->main->params[i]->id]));
  for (int i = 0; i < g->main->n_params; i++) TN_TRY(check_watch(c, g->main->params[i]));
  tn_interp in = {.graph = g,
                  .arena = &c->ctx->pass,
                  .env = c->env,
                  .entered = c->entered,
                  .watch = check_watch,
                  .watch_arg = c,
                  .most = CHECK_MAX_ELEMENTS};
  const tn_status status = tn_interp_region(&in, g->main);
  c->by_data = in.failed && check_is_by_data(c, in.failed);
  TN_TRY(status);
  return check_is_refused(c) ? TN_INVALID : TN_OK;
}

typedef enum check_outcome { CHECK_RAN, CHECK_REFUSED, CHECK_FAILED } check_outcome;

/* At one binding, with several contents. *out_text := why the last failed. */
static tn_status check_at_binding(checking *c, check_outcome *out, const char **out_text) {
  *out = CHECK_REFUSED;
  for (c->draw.fill = 0; c->draw.fill < TN_DRAW_FILLS; c->draw.fill++) {
    const size_t n_diags = c->ctx->diags.n;
    const tn_status status = check_interpret(c);
    const bool is_refused = status != TN_OK && (c->by_data || (c->entered && check_is_refused(c)));
    tn_arena_drop(&c->ctx->pass);
    c->env = NULL;
    c->entered = NULL;
    if (status == TN_OK) {
      *out = CHECK_RAN;
      return TN_OK;
    }
    if (status == TN_UNSUPPORTED || c->ctx->diags.n == n_diags) {
      if (status == TN_UNSUPPORTED) return status;
      continue; /* the watcher stopped it */
    }
    const tn_diag *const d = &c->ctx->diags.at[n_diags];
    if (!is_refused && status != TN_LIMIT) {
      *out = CHECK_FAILED;
      *out_text = tn_arena_printf(&c->ctx->arena, "%s", d->full);
    }
    c->ctx->diags.n = n_diags;
  }
  return TN_OK;
}

static tn_status check_one_run(checking *c, int64_t run) {
  for (int b = 0; b < CHECK_BINDINGS; b++) {
    const uint64_t stream = tn_rng_u64((uint64_t)c->seed, (uint64_t)run * CHECK_BINDINGS + (uint64_t)b);
    check_outcome outcome;
    const char *text = NULL;
    if (!tn_binding_draw(&c->at, stream)) return tn_fail(c->ctx, TN_LIMIT, (tn_loc){0}, "no valid sizes were found");
    c->draw = (tn_draw){.at = &c->at, .arena = &c->ctx->pass, .stream = stream};
    const check_run row = {tn_binding_text(&c->at, &c->ctx->arena, false),
                           tn_binding_text(&c->at, &c->ctx->arena, true), 0};
    TN_TRY(check_at_binding(c, &outcome, &text));
    if (outcome == CHECK_REFUSED) {
      c->refused++;
      continue;
    }
    if (outcome == CHECK_FAILED) check_add_fault(c, NULL, NULL, text);
    tn_vec_push(&c->ctx->arena, &c->done, row);
    c->done.at[c->done.n - 1].values = c->values;
    c->n_values += c->values;
    return TN_OK;
  }
  return TN_OK;
}

/* Printing. */

static void check_put_text(const checking *c, tn_text *t) {
  for (size_t i = 0; i < c->done.n; i++)
    tn_text_printf(t, "run %zu: %s%s%lld values\n", i + 1, c->done.at[i].sizes, c->done.at[i].sizes[0] ? ": " : "",
                   (long long)c->done.at[i].values);
  for (size_t i = 0; i < c->faults.n; i++) {
    const check_fault *const f = &c->faults.at[i];
    if (f->value)
      tn_text_printf(t, "run %lld: %s: value '%s': %s\n", (long long)f->run, f->node, f->value, f->text);
    else
      tn_text_printf(t, "run %lld: valid by every check, but it fails: %s\n", (long long)f->run, f->text);
  }
  tn_text_printf(t, "%zu runs, %lld values compared, %lld differ", c->done.n, (long long)c->n_values,
                 (long long)c->n_faults);
  if (c->refused) tn_text_printf(t, "; %lld sizes were refused by checks of the run", (long long)c->refused);
  tn_text_addz(t, "\n");
}

static void check_put_name(tn_text *t, const char *key, const char *z) {
  tn_text_printf(t, "\"%s\": ", key);
  if (z)
    tn_text_json(t, tn_str_of(z));
  else
    tn_text_addz(t, "null");
}

static void check_put_json(const checking *c, tn_text *t) {
  tn_text_addz(t, "{\n \"runs\": [");
  for (size_t i = 0; i < c->done.n; i++)
    tn_text_printf(t, "%s{\"sizes\": {%s}, \"values\": %lld}", i ? ",\n  " : "\n  ", c->done.at[i].sizes_json,
                   (long long)c->done.at[i].values);
  tn_text_addz(t, "],\n \"differ\": [");
  for (size_t i = 0; i < c->faults.n; i++) {
    const check_fault *const f = &c->faults.at[i];
    tn_text_printf(t, "%s{\"run\": %lld, ", i ? ",\n  " : "\n  ", (long long)f->run);
    check_put_name(t, "node", f->node);
    tn_text_addz(t, ", ");
    check_put_name(t, "value", f->value);
    tn_text_addz(t, ", ");
    check_put_name(t, "text", f->text);
    tn_text_addz(t, "}");
  }
  tn_text_printf(t, "],\n \"n_values\": %lld,\n \"n_differ\": %lld,\n \"n_refused\": %lld\n}\n", (long long)c->n_values,
                 (long long)c->n_faults, (long long)c->refused);
}

static tn_status check_inside(tn_compilation *compilation, void *arg) {
  checking *const c = arg;
  c->ctx = &compilation->ctx;
  if (compilation->is_program) return tn_fail(c->ctx, TN_INVALID, (tn_loc){0}, "a program holds no model to infer");
  c->graph = compilation->graph;
  c->syms = c->graph->syms;
  c->faulty = TN_NEW_ARRAY(&c->ctx->arena, bool, c->graph->n_values + 1);
  tn_binding_init(&c->at, c->graph, true);
  for (int64_t run = 0; run < c->runs; run++) TN_TRY(check_one_run(c, run));
  if (c->done.n == 0)
    return tn_fail(c->ctx, TN_LIMIT, (tn_loc){0}, "checks of the run refused all %lld sizes that were drawn",
                   (long long)c->refused);
  *c->out_failed = c->n_faults > 0;
  tn_text t;
  tn_text_init(&t, &c->ctx->arena);
  if (c->json)
    check_put_json(c, &t);
  else
    check_put_text(c, &t);
  return tn_blob_copy((tn_str){tn_text_z(&t), t.len}, c->out);
}

tn_status tn_tool_check(const char *path, const tn_compile_options *o, int64_t runs, int64_t seed, int json,
                        int *out_failed, tn_blob *out, tn_report **out_report) {
  checking c = {.runs = runs, .seed = seed, .json = json != 0, .out_failed = out_failed, .out = out};
  *out = (tn_blob){0};
  *out_failed = 0;
  return tn_tool_inferred(path, o, 0, check_inside, &c, out_report);
}
