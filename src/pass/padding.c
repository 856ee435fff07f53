/* What filling up inputs does to every value, in one sweep from inputs to results.
 *
 * A value is SAME (no element changes, no dim grows), LONGER (it only goes on along some axes), SIZES (its elements are
 * formulas over what grows), or MIXED (something else happened: nothing is claimed). */
#include "pass/padding.h"

#include "ir/axis.h"

typedef enum padding_kind { PADDING_SAME, PADDING_LONGER, PADDING_SIZES, PADDING_MIXED } padding_kind;

typedef struct padding_state {
  uint8_t kind;
  uint32_t axes; /* LONGER: bits, those that go on */
} padding_state;

typedef struct padding {
  tn_graph *graph;
  uint32_t n_symbols;
  bool *grows;            /* symbols, with those defined by others */
  padding_state *state;   /* by value id */
  const tn_node *culprit; /* the first node whose results are MIXED */
} padding;

typedef struct padding_search {
  const bool *grows;
  bool found;
} padding_search;

static void padding_visit(void *arg, uint32_t symbol) {
  padding_search *s = arg;
  s->found |= s->grows[symbol];
}

static bool padding_grows(const padding *p, tn_sym e) {
  if (tn_sym_is_int(e)) return false;
  padding_search s = {p->grows, false};
  tn_sym_symbols(p->graph->syms, e, padding_visit, &s);
  return s.found;
}

/* Symbols that stand for expressions grow with them. A definition may use symbols of any number. */
static void padding_close(padding *p) {
  bool is_new = true;
  while (is_new) {
    is_new = false;
    for (uint32_t i = 0; i < p->n_symbols; i++) {
      const tn_symbol *s = tn_sym_symbol(p->graph->syms, i);
      if (p->grows[i] || s->source != TN_SOURCE_DEFINED || !padding_grows(p, s->definition)) continue;
      p->grows[i] = is_new = true;
    }
  }
}

static uint32_t padding_growing_axes(const padding *p, const tn_value *v) {
  uint32_t axes = 0;
  for (int j = 0; tn_type_has_rank(&v->type) && j < v->type.rank; j++)
    if (padding_grows(p, v->type.dims[j])) axes |= UINT32_C(1) << j;
  return axes;
}

/* A value whose elements are all known says itself what becomes of it. */
static bool padding_by_content(const padding *p, const tn_value *v, padding_state *out) {
  const tn_elem *content = v->type.content;
  const int64_t n = tn_type_content_count(&v->type);
  *out = (padding_state){PADDING_SAME, 0};
  for (int64_t i = 0; i < n; i++) {
    if (content[i].kind == TN_ELEM_NONE) return false;
    if (content[i].sym && padding_grows(p, content[i].sym)) out->kind = PADDING_SIZES;
  }
  return n > 0;
}

static padding_state padding_of(const padding *p, const tn_value *v) {
  return v ? p->state[v->id] : (padding_state){PADDING_SAME, 0};
}

/* The product of dims `from` to before `to`. */
static tn_sym padding_product(const padding *p, const tn_type *t, int from, int to) {
  tn_sym all = tn_sym_int(p->graph->syms, 1);
  for (int j = from; j < to; j++) all = tn_sym_mul(p->graph->syms, all, t->dims[j]);
  return all;
}

/* Where axis `a` of a view's operand is in its result: at the same place between the same other dims, or, when it is
 * outermost, in the outermost dim that grows. */
static int padding_view_axis(const padding *p, const tn_node *node, int a, uint32_t axes) {
  const tn_type *in = &node->in[0]->type, *out = &node->out[0]->type;
  const tn_sym before = padding_product(p, in, 0, a);
  for (int b = 0; b < out->rank; b++) {
    if (padding_product(p, out, 0, b) != before) continue;
    if (out->dims[b] == in->dims[a]) return b;
    const uint32_t others = padding_growing_axes(p, node->out[0]) & ~(UINT32_C(1) << b);
    if (tn_sym_is(before, 1) && axes == UINT32_C(1) << a && !others && padding_grows(p, out->dims[b])) return b;
  }
  return TN_AXIS_MIXED;
}

/* Adds to `axes` where operand i goes on in the results. */
static bool padding_operand(const padding *p, const tn_node *node, int i, uint32_t *axes, bool *extends) {
  const padding_state s = padding_of(p, node->in[i]);
  const bool is_view = (node->op->traits & TN_TRAIT_VIEW) != 0;
  if (s.kind == PADDING_SAME) return true;
  if (s.kind == PADDING_MIXED) return false;
  if (s.kind == PADDING_SIZES) {
    if (is_view && i > 0) return true;
    *extends = true;
    return tn_axis_of(node, i, TN_AXIS_WHOLE) == TN_AXIS_SIZES;
  }
  for (int a = 0; a < node->in[i]->type.rank; a++) {
    if (!(s.axes >> a & 1)) continue;
    const int to = !is_view ? tn_axis_of(node, i, a) : i == 0 ? padding_view_axis(p, node, a, s.axes) : TN_AXIS_MIXED;
    if (to < 0 || to >= TN_MAX_RANK) return false;
    *axes |= UINT32_C(1) << to;
  }
  return true;
}

static bool padding_is_known(const tn_node *node) {
  for (int i = 0; i < node->n_in; i++)
    if (node->in[i] && !tn_type_has_rank(&node->in[i]->type)) return false;
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i] && !tn_type_has_rank(&node->out[i]->type)) return false;
  return true;
}

/* Do the operands, and what regions inside use, stay as they are? */
static bool padding_is_untouched(const padding *p, const tn_node *node) {
  for (int i = 0; i < node->n_in; i++)
    if (padding_of(p, node->in[i]).kind != PADDING_SAME) return false;
  for (int r = 0; r < node->n_regions; r++) {
    const tn_region *region = node->regions[r];
    for (int i = 0; i < region->n_results; i++)
      if (padding_of(p, region->results[i]).kind != PADDING_SAME) return false;
    for (const tn_node *n = region->first; n; n = n->next)
      if (!padding_is_untouched(p, n)) return false;
  }
  return true;
}

static bool padding_result(const padding *p, const tn_value *v, uint32_t axes, bool extends, padding_state *out) {
  if (padding_by_content(p, v, out)) return true;
  const uint32_t growing = padding_growing_axes(p, v);
  *out = growing ? (padding_state){PADDING_LONGER, growing} : (padding_state){PADDING_SAME, 0};
  return (growing & ~axes) == 0 || extends;
}

static void padding_node(padding *p, const tn_node *node) {
  uint32_t axes = 0;
  bool extends = false, ok = true;
  if (!padding_is_untouched(p, node)) {
    ok = node->n_regions == 0 && padding_is_known(node) && !(node->op->traits & TN_TRAIT_RANDOM);
    for (int i = 0; ok && i < node->n_in; i++) ok = padding_operand(p, node, i, &axes, &extends);
  }
  bool is_mixed = false;
  for (int i = 0; i < node->n_out; i++) {
    if (!node->out[i]) continue;
    padding_state s;
    if (!padding_result(p, node->out[i], axes, extends, &s) || (!ok && !padding_by_content(p, node->out[i], &s))) {
      s = (padding_state){PADDING_MIXED, 0};
      is_mixed = true;
    }
    p->state[node->out[i]->id] = s;
  }
  if (is_mixed && !p->culprit) p->culprit = node;
}

static tn_status padding_results(const padding *p) {
  const tn_region *main = p->graph->main;
  for (int i = 0; i < main->n_results; i++) {
    const padding_state s = padding_of(p, main->results[i]);
    if (s.kind == PADDING_SAME || s.kind == PADDING_LONGER) continue;
    const tn_loc loc = p->culprit && s.kind == PADDING_MIXED ? p->culprit->loc : (tn_loc){0};
    return tn_fail(p->graph->ctx, TN_UNSUPPORTED, loc,
                   s.kind == PADDING_MIXED
                       ? "inputs cannot be padded: what is filled in may reach output '%s' from here on"
                       : "inputs cannot be padded: output '%s' tells their sizes",
                   main->result_names[i]);
  }
  return TN_OK;
}

tn_status tn_padding_prove(tn_graph *g, const bool *grows) {
  padding p = {.graph = g, .n_symbols = tn_sym_n_symbols(g->syms)};
  p.grows = TN_NEW_ARRAY(&g->ctx->arena, bool, p.n_symbols + 1);
  p.state = TN_NEW_ARRAY(&g->ctx->arena, padding_state, g->n_values + 1);
  memcpy(p.grows, grows, p.n_symbols);
  padding_close(&p);
  for (int i = 0; i < g->main->n_params; i++) {
    const tn_value *v = g->main->params[i];
    const uint32_t axes = padding_growing_axes(&p, v);
    p.state[v->id] = axes ? (padding_state){PADDING_LONGER, axes} : (padding_state){PADDING_SAME, 0};
  }
  for (const tn_node *node = g->main->first; node; node = node->next) padding_node(&p, node);
  return padding_results(&p);
}
