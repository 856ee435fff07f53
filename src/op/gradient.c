/* Gradient of ai.onnx.preview.training: the nodes between the operands and y are walked backwards when the model is
 * read, and the derivative becomes nodes like any others, so that everything behind the import works on them, a second
 * Gradient included. What each operator hands on is in derivative.c. */
#include "op/gradient.h"

#include "base/sort.h"
#include "ir/eval.h"
#include "ir/rewrite.h"
#include "ir/rules.h"
#include "op/move.h"

enum { GRADIENT_MAX_WORK = 1000000 }; /* nodes that the Gradients of a model may walk and make */

/* --- sum_like: what a broadcast operand gets back --- */

static tn_status sum_like_shape(tn_rule *r) {
  const tn_type *const like = r->in[1];
  if (!tn_rule_has_rank(r, 1)) return TN_OK;
  tn_rule_set(r, 0, like->rank, like->dims);
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  const int more = r->in[0]->rank - like->rank;
  if (more < 0) return tn_rule_fail(r, TN_MISMATCH, "rank %d cannot be summed to rank %d", r->in[0]->rank, like->rank);
  for (int d = 0; d < like->rank; d++) {
    const tn_sym a = like->dims[d], b = r->in[0]->dims[more + d];
    const tn_sym fits = tn_sym_or(r->syms, tn_sym_eq(r->syms, a, b), tn_sym_eq(r->syms, a, tn_sym_int(r->syms, 1)));
    TN_TRY(tn_rule_demand(r, fits, "dim %d, %s, cannot be summed to %s", d, tn_sym_text(r->syms, b),
                          tn_sym_text(r->syms, a)));
  }
  return TN_OK;
}
static tn_status sum_like_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const like = e->in[1];
  int rank;
  int64_t dims[TN_MAX_RANK];
  tn_lit *y;
  TN_TRY(tn_eval_bcast(e, x->rank, x->dims, like->rank, like->dims, &rank, dims));
  bool fits = rank == x->rank;
  for (int d = 0; fits && d < rank; d++) fits = dims[d] == x->dims[d];
  if (!fits) return tn_eval_fail(e, TN_MISMATCH, "the second operand does not broadcast to the first");
  TN_TRY(tn_eval_out(e, 0, x->dtype, like->rank, like->dims, &y));
  double *const sums = TN_NEW_ARRAY(e->arena, double, y->count + 1);
  for (int64_t i = 0; i < x->count; i++) sums[tn_bcast_index(i, rank, dims, y->rank, y->dims)] += tn_lit_f64(x, i);
  for (int64_t i = 0; i < y->count; i++) tn_store_f64(y->dtype, tn_lit_data(y), i, sums[i]);
  return TN_OK;
}
static tn_status sum_like_simplify(tn_rewrite *w) {
  tn_rewrite_forward(w, 0, w->node->in[0]);
  return TN_OK;
}
TN_OP(sum_like){
    .name = "sum_like",
    .in = {{"x", TN_SET_FLOATS, "T"}, {"like", 0}},
    .out = {{"y", TN_SET_FLOATS, "T"}},
    .type = tn_type_as_input,
    .shape = sum_like_shape,
    .eval = sum_like_eval,
    .simplify = sum_like_simplify,
    .kernel = "sum_like",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_SUM, 1e-6},
    .doc = "x summed over the axes along which `like` would broadcast to it",
};

/* --- the walk --- */

typedef TN_VEC(tn_node *) gradient_nodes;

typedef struct gradient_part { /* what lies between the operands and y */
  tn_map ends;                 /* value id -> 1: named in xs or zs; nothing before it matters */
  tn_map seen;                 /* node id -> tn_node * */
  gradient_nodes nodes;        /* each after those it uses */
} gradient_part;

static tn_status gradient_spend(tn_import *im, int64_t n) {
  im->graph->derived += n;
  if (im->graph->derived > GRADIENT_MAX_WORK)
    return tn_import_fail(im, TN_LIMIT, "the gradients of the model need more than %d nodes", GRADIENT_MAX_WORK);
  return TN_OK;
}

static void gradient_push(tn_import *im, gradient_part *p, gradient_nodes *todo, const tn_value *v) {
  if (!v || !v->def || tn_map_find(&p->ends, v->id, NULL) || tn_map_find(&p->seen, v->def->id, NULL)) return;
  tn_map_set(&im->ctx->arena, &p->seen, v->def->id, tn_map_key(v->def));
  tn_vec_push(&im->ctx->arena, todo, v->def);
}

static bool gradient_is_before(const void *arg, uint32_t x, uint32_t y) { return (void)arg, x < y; }

/* Ids grow in the order of the model's nodes, which is one of use after definition. */
static void gradient_sort(tn_import *im, gradient_part *p) {
  const uint32_t n = (uint32_t)p->seen.n;
  uint32_t *const ids = TN_NEW_ARRAY(&im->ctx->arena, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++) ids[i] = (uint32_t)p->seen.entries[i].key;
  tn_sort_ids(ids, n, gradient_is_before, NULL);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t node;
    if (tn_map_find(&p->seen, ids[i], &node)) tn_vec_push(&im->ctx->arena, &p->nodes, (tn_node *)(uintptr_t)node);
  }
}

static tn_status gradient_collect(tn_import *im, gradient_part *p, const tn_value *y) {
  gradient_nodes todo = {0};
  gradient_push(im, p, &todo, y);
  for (size_t i = 0; i < todo.n; i++) { /* grows while it is walked */
    const tn_node *const node = todo.at[i];
    TN_TRY(gradient_spend(im, 1));
    if (node->n_regions > 0)
      return tn_import_fail(im, TN_UNSUPPORTED, "the derivative goes through node '%s' (%s), which holds graphs",
                            node->loc.name, node->op->name);
    for (int k = 0; k < node->n_in; k++) gradient_push(im, p, &todo, node->in[k]);
  }
  gradient_sort(im, p);
  return TN_OK;
}

/* --- other values in place of the named ones --- */

static tn_value *gradient_new_of(const tn_map *news, tn_value *v) {
  uint64_t found;
  return v && tn_map_find(news, v->id, &found) ? (tn_value *)(uintptr_t)found : v;
}

static tn_node *gradient_copy(tn_import *im, tn_map *news, const tn_node *old) {
  tn_value **const in = TN_NEW_ARRAY(&im->ctx->arena, tn_value *, old->n_in + 1);
  for (int i = 0; i < old->n_in; i++) in[i] = gradient_new_of(news, old->in[i]);
  tn_node *const copy = tn_edit_add_node(im->region, NULL, old->op, in, old->n_in, old->n_out, old->loc);
  for (int a = 0; a < tn_op_n_attrs(old->op); a++)
    if (tn_op_attr(old, old->op->attrs[a].name)) tn_edit_set_attr(copy, old->op->attrs[a].name, old->attrs[a]);
  for (int i = 0; i < old->n_out; i++) {
    if (!old->out[i])
      tn_edit_drop_output(copy, i);
    else
      tn_map_set(&im->ctx->arena, news, old->out[i]->id, tn_map_key(copy->out[i]));
  }
  return copy;
}

/* Nodes that follow from a replaced value are computed again. */
static tn_status gradient_replace(tn_import *im, gradient_part *p, tn_map *news) {
  for (size_t i = 0; news->n > 0 && i < p->nodes.n; i++) {
    const tn_node *const old = p->nodes.at[i];
    bool changed = false;
    for (int k = 0; k < old->n_in; k++) changed = changed || gradient_new_of(news, old->in[k]) != old->in[k];
    if (!changed) continue;
    TN_TRY(gradient_spend(im, 1));
    p->nodes.at[i] = gradient_copy(im, news, old);
  }
  return TN_OK;
}

/* --- backwards --- */

void tn_gradient_add(tn_gradient *g, const tn_value *v, tn_value *d) {
  if (!tn_gradient_needs(g, v)) return;
  tn_value *const before = tn_gradient_of(g, v);
  tn_map_set(&g->im->ctx->arena, &g->adjoint, v->id, tn_map_key(before ? tn_im2(g->im, "add", before, d) : d));
}

static void gradient_note_needs(tn_gradient *g, const gradient_part *p) {
  for (size_t i = 0; i < p->nodes.n; i++) {
    const tn_node *const node = p->nodes.at[i];
    bool needs = false;
    for (int k = 0; k < node->n_in; k++) needs = needs || tn_gradient_needs(g, node->in[k]);
    for (int k = 0; needs && k < node->n_out; k++)
      if (node->out[k]) tn_map_set(&g->im->ctx->arena, &g->needs, node->out[k]->id, 1);
  }
}

static tn_value *gradient_fill(tn_import *im, double number, tn_value *like) {
  return tn_im2(im, "expand", tn_im_like(im, number, like), tn_im1(im, "shape", like));
}

static tn_status gradient_backwards(tn_gradient *g, const gradient_part *p, tn_value *y) {
  tn_import *const im = g->im;
  if (tn_gradient_needs(g, y)) tn_gradient_add(g, y, gradient_fill(im, 1, y));
  for (size_t i = p->nodes.n; i-- > 0;) {
    const tn_node *const node = p->nodes.at[i];
    bool reached = false;
    for (int k = 0; k < node->n_out; k++) reached = reached || tn_gradient_of(g, node->out[k]);
    if (!reached) continue;
    const uint32_t before = im->graph->n_nodes;
    TN_TRY(tn_derive(g, node));
    TN_TRY(gradient_spend(im, (int64_t)(im->graph->n_nodes - before)));
  }
  return TN_OK;
}

/* --- the importer --- */

typedef struct gradient_names { /* xs, then zs */
  int n_xs, n;
  tn_value **named; /* the model's values of these names */
  tn_value **at;    /* where the derivative is taken */
} gradient_names;

static tn_status gradient_find_all(tn_import *im, const tn_attr *names, tn_value **out) {
  for (int64_t i = 0; names && i < names->n; i++)
    TN_TRY(im->find_value(im, tn_ctx_name(im->ctx, names->strs[i]), &out[i]));
  return TN_OK;
}

static tn_status gradient_read(tn_import *im, gradient_names *names, tn_value **out_y) {
  const tn_attr *xs, *zs, *y;
  TN_TRY(tn_import_get(im, "xs", TN_ATTR_STRS, &xs));
  TN_TRY(tn_import_get(im, "zs", TN_ATTR_STRS, &zs));
  TN_TRY(tn_import_get(im, "y", TN_ATTR_STR, &y));
  TN_TRY(tn_import_check_used(im));
  if (!xs || !y) return tn_import_fail(im, TN_INVALID, "attribute '%s' is required but absent", xs ? "y" : "xs");
  const int64_t n = xs->n + (zs ? zs->n : 0);
  if (n != im->n_in)
    return tn_import_fail(im, TN_INVALID, "%d inputs for %lld names in 'xs' and 'zs'", im->n_in, (long long)n);
  if (im->n_out > xs->n)
    return tn_import_fail(im, TN_INVALID, "%d outputs for %lld names in 'xs'", im->n_out, (long long)xs->n);
  TN_TRY(tn_im_need(im, im->n_in));
  *names = (gradient_names){.n_xs = (int)xs->n, .n = im->n_in};
  names->named = TN_NEW_ARRAY(&im->ctx->arena, tn_value *, n + 1);
  names->at = TN_NEW_ARRAY(&im->ctx->arena, tn_value *, n + 1);
  TN_TRY(gradient_find_all(im, xs, names->named));
  TN_TRY(gradient_find_all(im, zs, names->named + xs->n));
  return im->find_value(im, tn_ctx_name(im->ctx, y->s), out_y);
}

static tn_status gradient_import(tn_import *im) {
  gradient_names names = {0};
  tn_value *y;
  gradient_part part = {0};
  tn_map news = {0};
  TN_TRY(gradient_read(im, &names, &y));
  for (int i = 0; i < names.n; i++) tn_map_set(&im->ctx->arena, &part.ends, names.named[i]->id, 1);
  TN_TRY(gradient_collect(im, &part, y));
  for (int i = 0; i < names.n; i++) {
    names.at[i] = names.named[i];
    if (im->in[i] == names.named[i]) continue;
    names.at[i] = tn_im1(im, "identity", im->in[i]); /* a value of its own, even where two operands are one */
    tn_map_set(&im->ctx->arena, &news, names.named[i]->id, tn_map_key(names.at[i]));
  }
  TN_TRY(gradient_replace(im, &part, &news));
  tn_gradient g = {.im = im};
  for (int i = 0; i < names.n_xs; i++) tn_map_set(&im->ctx->arena, &g.needs, names.at[i]->id, 1);
  gradient_note_needs(&g, &part);
  TN_TRY(gradient_backwards(&g, &part, gradient_new_of(&news, y)));
  for (int i = 0; i < im->n_out; i++) {
    if (!im->out_present[i]) continue;
    tn_value *const d = tn_gradient_of(&g, names.at[i]);
    im->out[i] = tn_im1(im, "identity", d ? d : gradient_fill(im, 0, names.at[i]));
  }
  return TN_OK;
}

TN_ONNX(training, Gradient, 1, TN_LATEST, sum_like, gradient_import)
