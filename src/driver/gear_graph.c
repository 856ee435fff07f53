/* What gears say of a graph's inputs. */
#include <inttypes.h>
#include <stdlib.h>

#include "driver/gear.h"
#include "ir/edit.h"
#include "pass/padding.h"

static tn_status narrow_disagrees(tn_graph *g, const tn_value *v, int j, const char *said) {
  const tn_loc loc = {.kind = "input", .name = v->name};
  if (j < 0) return tn_fail(g->ctx, TN_INVALID, loc, "%s in --input-shape, but %d in the model", said, v->type.rank);
  return tn_fail(g->ctx, TN_INVALID, loc, "dim %d is %s in --input-shape, but %s in the model", j, said,
                 tn_sym_text(g->syms, v->type.dims[j]));
}

static tn_status narrow_assume(tn_graph *g, const tn_value *v, tn_sym condition) {
  const tn_loc loc = {.kind = "input", .name = v->name};
  if (tn_sym_is(condition, 1)) return TN_OK;
  TN_TRY(tn_sym_assume(g->syms, condition, loc));
  tn_vec_push(&g->ctx->arena, &g->assumed, condition);
  return TN_OK;
}

/* The symbol is but another name of a size. */
static void narrow_define(tn_graph *g, uint32_t symbol, tn_sym size) {
  tn_symbol *s = tn_sym_symbol(g->syms, symbol);
  s->source = TN_SOURCE_DEFINED;
  s->definition = size;
}

static tn_sym narrow_defined(void *arg, uint32_t symbol) {
  const tn_symbol *s = tn_sym_symbol(arg, symbol);
  return s->source == TN_SOURCE_DEFINED && tn_sym_is_int(s->definition) ? s->definition : NULL;
}

static void narrow_param(tn_graph *g, tn_value *v) {
  if (!tn_type_has_rank(&v->type)) return;
  tn_type type = v->type;
  tn_sym *dims = TN_NEW_ARRAY(&g->ctx->arena, tn_sym, type.rank + 1);
  for (int j = 0; j < type.rank; j++)
    dims[j] = type.dims[j] ? tn_sym_substitute(g->syms, type.dims[j], narrow_defined, g->syms) : NULL;
  type.dims = dims;
  tn_edit_set_type(v, type);
}

/* A dim without a name gets a size, or a symbol to hold the range. */
static tn_status narrow_dim(tn_graph *g, tn_value *v, int j, const tn_gear_range *range, tn_sym *dim) {
  const tn_sym low = tn_sym_int(g->syms, range->min), high = tn_sym_int(g->syms, range->max);
  if (range->is_free) return TN_OK;
  if (!*dim && range->min == range->max) *dim = low;
  if (!*dim) *dim = tn_sym_awaited_symbol(g->syms, tn_arena_printf(&g->ctx->arena, "%s_d%d", v->name, j))->var;
  if (tn_sym_is_int(*dim)) {
    if ((*dim)->k >= range->min && (*dim)->k <= range->max) return TN_OK;
    return narrow_disagrees(
        g, v, j,
        tn_arena_printf(&g->ctx->arena, "%" PRId64 "%s", range->min, range->min == range->max ? "" : " or more"));
  }
  if (range->min == range->max) {
    if (tn_sym_is_var(*dim)) narrow_define(g, (uint32_t)(*dim)->k, low);
    return narrow_assume(g, v, tn_sym_eq(g->syms, *dim, low));
  }
  TN_TRY(narrow_assume(g, v, tn_sym_le(g->syms, low, *dim)));
  return range->max == INT64_MAX ? TN_OK : narrow_assume(g, v, tn_sym_le(g->syms, *dim, high));
}

static tn_status narrow_input(tn_graph *g, tn_value *v, const tn_gear_input *in) {
  tn_type type = v->type;
  if (type.kind != TN_TYPE_TENSOR)
    return tn_fail(g->ctx, TN_INVALID, (tn_loc){.kind = "input", .name = v->name},
                   "--input-shape gives sizes to what is no tensor");
  if (type.rank >= 0 && type.rank != in->rank)
    return narrow_disagrees(g, v, -1, tn_arena_printf(&g->ctx->arena, "%d dims", in->rank));
  tn_sym *dims = TN_NEW_ARRAY(&g->ctx->arena, tn_sym, in->rank + 1);
  for (int j = 0; j < in->rank; j++) {
    if (type.rank >= 0) dims[j] = type.dims[j];
    TN_TRY(narrow_dim(g, v, j, &in->dims[j], &dims[j]));
  }
  type.rank = in->rank;
  type.dims = dims;
  tn_edit_set_type(v, type);
  return TN_OK;
}

static uint32_t narrow_find(const tn_graph *g, const char *name) {
  const tn_value *v = tn_graph_find_value(g, name);
  return v && !v->def && v->region == g->main ? (uint32_t)v->index : (uint32_t)g->main->n_params;
}

static int narrow_order(const void *a, const void *b) {
  const tn_gear_dim *x = a, *y = b;
  if (x->input != y->input) return x->input < y->input ? -1 : 1;
  return (x->axis > y->axis) - (x->axis < y->axis);
}

/* With gears every size is said: an input that is not named is one too many. */
static tn_status narrow_all_named(tn_graph *g, const bool *is_named) {
  for (int i = 0; i < g->main->n_params; i++)
    if (!is_named[i])
      return tn_fail(g->ctx, TN_INVALID, (tn_loc){.kind = "input", .name = g->main->params[i]->name},
                     "gears need its sizes in --input-shape ('%s:' for a scalar)", g->main->params[i]->name);
  return TN_OK;
}

tn_status tn_gear_narrow(tn_graph *g, tn_gear_spec *spec) {
  const uint32_t n_params = (uint32_t)g->main->n_params;
  bool *is_named = TN_NEW_ARRAY(&g->ctx->arena, bool, n_params + 1);
  uint32_t *number = TN_NEW_ARRAY(&g->ctx->arena, uint32_t, spec->n_inputs + 1);
  for (uint32_t i = 0; i < spec->n_inputs; i++) {
    number[i] = narrow_find(g, spec->inputs[i].name);
    if (number[i] == n_params)
      return tn_fail(g->ctx, TN_INVALID, (tn_loc){0}, "--input-shape: the model has no input '%.200s'",
                     spec->inputs[i].name);
    is_named[number[i]] = true;
    TN_TRY(narrow_input(g, g->main->params[number[i]], &spec->inputs[i]));
  }
  for (uint32_t i = 0; i < n_params && spec->n_inputs; i++) narrow_param(g, g->main->params[i]);
  tn_gear_dim *dims = TN_NEW_ARRAY(&g->ctx->arena, tn_gear_dim, spec->n_dims + 1);
  for (uint32_t i = 0; i < spec->n_dims; i++) {
    dims[i] = spec->dims[i];
    dims[i].input = number[dims[i].input];
  }
  qsort(dims, spec->n_dims, sizeof *dims, narrow_order);
  spec->dims = dims;
  return spec->n_gears ? narrow_all_named(g, is_named) : TN_OK;
}

/* The table of a program. */

typedef struct gear_binding { /* symbol -> its size in one gear, or NULL */
  tn_graph *graph;
  tn_sym *size;
} gear_binding;

static tn_sym gear_size_of(void *arg, uint32_t symbol) {
  const gear_binding *b = arg;
  const tn_symbol *y = tn_sym_symbol(b->graph->syms, symbol);
  if (b->size[symbol]) return b->size[symbol];
  return y->source == TN_SOURCE_DEFINED && y->definition
             ? tn_sym_substitute(b->graph->syms, y->definition, gear_size_of, arg)
             : NULL;
}

static tn_status gear_fix(const gear_binding *b, const tn_gear_spec *spec, uint32_t gear) {
  tn_graph *g = b->graph;
  for (uint32_t i = 0; i < spec->n_dims; i++) {
    const tn_gear_dim *d = &spec->dims[i];
    const tn_value *v = g->main->params[d->input];
    const tn_sym dim = v->type.dims[d->axis];
    const int64_t size = spec->sizes[(size_t)gear * spec->n_columns + d->column];
    const tn_interval may = tn_sym_bounds(g->syms, dim);
    const tn_sym before = tn_sym_is_var(dim) ? b->size[dim->k] : tn_sym_is_int(dim) ? dim : NULL;
    if (size < may.lo || size > may.hi || size % tn_sym_divisor(g->syms, dim) != 0 ||
        (before && !tn_sym_is(before, size)))
      return tn_fail(g->ctx, TN_INVALID, (tn_loc){.kind = "input", .name = v->name},
                     "gear %u has %" PRId64 " in dim %u, where the model has %s%s%s", gear, size, d->axis,
                     tn_sym_text(g->syms, dim), before && tn_sym_is_var(dim) ? " = " : "",
                     before && tn_sym_is_var(dim) ? tn_sym_text(g->syms, before) : "");
    if (tn_sym_is_var(dim)) b->size[dim->k] = tn_sym_int(g->syms, size);
  }
  return TN_OK;
}

static tn_status gear_check_conditions(gear_binding *b, uint32_t gear) {
  tn_graph *g = b->graph;
  for (size_t i = 0; i < g->checks.n; i++) {
    const tn_check *c = &g->checks.at[i];
    if (c->region != g->main || !tn_sym_is(tn_sym_substitute(g->syms, c->condition, gear_size_of, b), 0)) continue;
    return tn_fail(g->ctx, TN_INVALID, c->loc, "gear %u is no valid shape: %s", gear, c->text);
  }
  return TN_OK;
}

/* The dims of all outputs in one gear. */
static int64_t *gear_outputs(gear_binding *b, int64_t *out) {
  const tn_region *main = b->graph->main;
  for (int i = 0; i < main->n_results; i++) {
    const tn_type *t = &main->results[i]->type;
    for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++) {
      const tn_sym dim = tn_sym_substitute(b->graph->syms, t->dims[j], gear_size_of, b);
      *out++ = tn_sym_is_int(dim) && dim->k >= 0 ? dim->k : -1;
    }
  }
  return out;
}

/* Padding moves whole elements of tensors. */
static bool gear_is_paddable(const tn_type *t) {
  return tn_type_has_rank(t) && t->dtype != TN_STR && tn_dtype_bits(t->dtype) >= 8;
}

static tn_status gear_prove_padding(tn_graph *g, const tn_gear_spec *spec) {
  bool *grows = TN_NEW_ARRAY(&g->ctx->arena, bool, tn_sym_n_symbols(g->syms) + 1);
  for (uint32_t i = 0; i < spec->n_dims; i++) {
    const tn_value *v = g->main->params[spec->dims[i].input];
    const tn_sym dim = v->type.dims[spec->dims[i].axis];
    if (!gear_is_paddable(&v->type))
      return tn_fail(g->ctx, TN_UNSUPPORTED, (tn_loc){.kind = "input", .name = v->name}, "it cannot be padded: %s",
                     tn_dtype_name(v->type.dtype));
    if (tn_sym_is_var(dim)) grows[dim->k] = true;
  }
  for (int i = 0; i < g->main->n_results; i++)
    if (!gear_is_paddable(&g->main->results[i]->type))
      return tn_fail(g->ctx, TN_UNSUPPORTED, (tn_loc){.kind = "output", .name = g->main->result_names[i]},
                     "it cannot be cut after padding: its rank or its elements do not allow it");
  return tn_padding_prove(g, grows);
}

tn_status tn_gear_emit(tn_graph *g, const tn_gear_spec *spec, tn_program *p) {
  tn_arena *a = &g->ctx->arena;
  const uint32_t n_symbols = tn_sym_n_symbols(g->syms);
  const size_t n_sizes = (size_t)spec->n_gears * spec->n_columns;
  size_t n = n_sizes;
  if (!spec->n_gears) return TN_OK;
  if (spec->miss == TN_GEAR_PAD) TN_TRY(gear_prove_padding(g, spec));
  for (int i = 0; i < g->main->n_results; i++) {
    const tn_type *t = &g->main->results[i]->type;
    n += tn_type_has_rank(t) ? (size_t)t->rank * spec->n_gears : 0;
  }
  int64_t *sizes = TN_NEW_ARRAY(a, int64_t, n + 1), *outputs = sizes + n_sizes;
  memcpy(sizes, spec->sizes, n_sizes * sizeof *sizes);
  for (uint32_t i = 0; i < spec->n_gears; i++) {
    gear_binding b = {g, TN_NEW_ARRAY(a, tn_sym, n_symbols + 1)};
    TN_TRY(gear_fix(&b, spec, i));
    TN_TRY(gear_check_conditions(&b, i));
    outputs = gear_outputs(&b, outputs);
  }
  tn_pgear_dim *dims = TN_NEW_ARRAY(a, tn_pgear_dim, spec->n_dims + 1);
  for (uint32_t i = 0; i < spec->n_dims; i++)
    dims[i] = (tn_pgear_dim){spec->dims[i].input, spec->dims[i].axis, spec->dims[i].column};
  p->gear_dims = dims;
  p->n_gear_dims = spec->n_dims;
  p->gear_sizes = sizes;
  p->n_gear_sizes = (uint32_t)n;
  p->n_gears = spec->n_gears;
  p->gear_columns = spec->n_columns;
  p->gear_miss = (uint32_t)spec->miss;
  return TN_OK;
}
