/* Ensembles of decision trees: one form for TreeEnsemble and the classifier and regressor before it.
 *
 *   nodes   [n, 7]  feature, mode, true child, false child, where NaN goes (1: true), first member, number of members
 *   splits  [n]     what the feature is compared with
 *   leaves  [m, 2]  first vote and number of votes
 *   targets [v], weights [v]  of the votes
 *   roots   [t]     of the trees
 *   members [..]    sets of the nodes that test membership
 *
 * A child or root c >= 0 is node c, c < 0 is leaf -1 - c. */
#include <math.h>

#include "ir/eval.h"
#include "ir/rules.h"
#include "op/ml.h"
#include "op/move.h"

enum { TREE_LEQ, TREE_LT, TREE_GTE, TREE_GT, TREE_EQ, TREE_NEQ, TREE_MEMBER, TREE_N_MODES };
enum { TREE_AVERAGE, TREE_SUM, TREE_MIN, TREE_MAX };

static tn_status tree_type(tn_rule *r) {
  const tn_attr *const to = tn_rule_attr(r, "to");
  tn_rule_set_dtype(r, 0, to && to->i ? (tn_dtype)to->i : r->in[0]->dtype);
  return TN_OK;
}

static tn_status tree_shape(tn_rule *r) {
  const int64_t n = tn_rule_int(r, "n_targets"), features = tn_rule_int(r, "n_features");
  if (n < 1) return tn_rule_fail(r, TN_INVALID, "attribute 'n_targets' is %lld", (long long)n);
  TN_TRY(tn_rule_need_rank(r, 0, 2, 2));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  TN_TRY(tn_rule_demand(r, tn_sym_le(r->syms, tn_sym_int(r->syms, features), r->in[0]->dims[1]),
                        "the trees look at %lld features of %s", (long long)features,
                        tn_sym_text(r->syms, r->in[0]->dims[1])));
  tn_rule_set(r, 0, 2, (const tn_sym[]){r->in[0]->dims[0], tn_sym_int(r->syms, n)});
  return TN_OK;
}

static bool tree_ref_goes(const tn_eval *e, int64_t node, double x) {
  const tn_lit *const nodes = e->in[1];
  const double split = tn_lit_f64(e->in[2], node);
  if (!(x >= x)) return tn_lit_i64_at(nodes, node * 7 + 4) != 0;
  switch (tn_lit_i64_at(nodes, node * 7 + 1)) {
    case TREE_LEQ:
      return x <= split;
    case TREE_LT:
      return x < split;
    case TREE_GTE:
      return x >= split;
    case TREE_GT:
      return x > split;
    case TREE_EQ:
      return x <= split && x >= split;
    case TREE_NEQ:
      return x < split || x > split;
    default:
      break;
  }
  const int64_t first = tn_lit_i64_at(nodes, node * 7 + 5), n = tn_lit_i64_at(nodes, node * 7 + 6);
  for (int64_t i = first; i < first + n && i < e->in[7]->count; i++) {
    const double v = tn_lit_f64(e->in[7], i);
    if (x <= v && x >= v) return true;
  }
  return false;
}

/* The leaf row `row` comes to; -1 when the tree does not end. */
static int64_t tree_ref_walk(const tn_eval *e, int64_t root, int64_t row) {
  const tn_lit *const x = e->in[0], *const nodes = e->in[1];
  int64_t at = root;
  for (int64_t steps = 0; at >= 0; steps++) {
    if (at >= e->in[2]->count || steps > e->in[2]->count) return -1;
    const int64_t feature = tn_lit_i64_at(nodes, at * 7);
    if (feature < 0 || feature >= x->dims[1]) return -1;
    at = tn_lit_i64_at(nodes, at * 7 + (tree_ref_goes(e, at, tn_lit_f64(x, row * x->dims[1] + feature)) ? 2 : 3));
  }
  return -1 - at;
}

static tn_status tree_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0], *const leaves = e->in[3], *const roots = e->in[6];
  const int64_t n = tn_eval_int(e, "n_targets"), how = tn_eval_int(e, "aggregate");
  if (x->rank != 2 || e->in[1]->count != 7 * e->in[2]->count || n < 1)
    return tn_eval_fail(e, TN_MISMATCH, "the trees are not whole");
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), 2, (const int64_t[]){x->dims[0], n}, &y));
  double *const sum = TN_NEW_ARRAY(e->arena, double, n);
  bool *const seen = TN_NEW_ARRAY(e->arena, bool, n);
  for (int64_t row = 0; row < x->dims[0]; row++) {
    for (int64_t t = 0; t < n; t++) sum[t] = 0, seen[t] = false;
    for (int64_t t = 0; t < roots->count; t++) {
      const int64_t leaf = tree_ref_walk(e, tn_lit_i64_at(roots, t), row);
      if (leaf < 0 || 2 * leaf + 1 >= leaves->count)
        return tn_eval_fail(e, TN_MISMATCH, "tree %lld does not end", (long long)t);
      const int64_t first = tn_lit_i64_at(leaves, 2 * leaf), votes = tn_lit_i64_at(leaves, 2 * leaf + 1);
      for (int64_t v = first; v < first + votes && v < e->in[4]->count; v++) {
        const int64_t target = tn_lit_i64_at(e->in[4], v);
        const double w = tn_lit_f64(e->in[5], v);
        if (target < 0 || target >= n) return tn_eval_fail(e, TN_MISMATCH, "target %lld", (long long)target);
        if (how == TREE_SUM || how == TREE_AVERAGE)
          sum[target] += w;
        else if (!seen[target] || (how == TREE_MIN ? w < sum[target] : w > sum[target]))
          sum[target] = w;
        seen[target] = true;
      }
    }
    for (int64_t t = 0; t < n; t++)
      tn_store_f64(y->dtype, tn_lit_data(y), row * n + t,
                   how == TREE_AVERAGE && roots->count ? sum[t] / (double)roots->count : sum[t]);
  }
  return TN_OK;
}

#define TREE_INPUTS (TN_SET(F32) | TN_SET(F64) | TN_SET(F16) | TN_SET(I64) | TN_SET(I32))
TN_OP(tree_ensemble){
    .name = "tree_ensemble",
    .in = {{"x", TREE_INPUTS, NULL, .rank = 2},
           {"nodes", TN_SET(I64)},
           {"splits", TN_SET(F64)},
           {"leaves", TN_SET(I64)},
           {"targets", TN_SET(I64)},
           {"weights", TN_SET(F64)},
           {"roots", TN_SET(I64)},
           {"members", TN_SET(F64)}},
    .out = {{"y", TN_SET(F32) | TN_SET(F64) | TN_SET(F16)}},
    .attrs = {{"aggregate", TN_ATTR_INT, .i = TREE_SUM},
              {"n_features", TN_ATTR_INT, .has_default = true},
              {"n_targets", TN_ATTR_INT, .required = true},
              {"to", TN_ATTR_DTYPE}},
    .type = tree_type,
    .shape = tree_shape,
    .eval = tree_eval,
    .kernel = "tree_ensemble",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-6},
    .doc = "the sum (average, least, largest) by target of the votes of the leaves that a row comes to",
};

/* --- import --- */

typedef struct tree_build {
  tn_import *im;
  int64_t n_nodes, n_leaves, n_votes, n_roots, n_members, n_features;
  int64_t *nodes, *leaves, *targets, *roots;
  double *splits, *weights, *members;
} tree_build;

static tn_value *tree_ints(tn_import *im, const int64_t *v, int64_t rows, int64_t columns) {
  const int64_t dims[2] = {rows, columns};
  tn_lit *const lit = tn_lit_new(&im->ctx->arena, TN_I64, columns > 1 ? 2 : 1, dims);
  for (int64_t i = 0; i < rows * columns; i++) tn_store_i64(TN_I64, tn_lit_data(lit), i, v[i]);
  return tn_import_const_lit(im, lit);
}
static tn_value *tree_doubles(tn_import *im, const double *v, int64_t n) {
  tn_lit *const lit = tn_lit_new(&im->ctx->arena, TN_F64, 1, &n);
  for (int64_t i = 0; i < n; i++) tn_store_f64(TN_F64, tn_lit_data(lit), i, v[i]);
  return tn_import_const_lit(im, lit);
}

static void tree_room(tree_build *b, int64_t nodes, int64_t leaves, int64_t votes, int64_t roots, int64_t members) {
  tn_arena *const a = &b->im->ctx->arena;
  b->nodes = TN_NEW_ARRAY(a, int64_t, 7 * nodes + 7);
  b->splits = TN_NEW_ARRAY(a, double, nodes + 1);
  b->leaves = TN_NEW_ARRAY(a, int64_t, 2 * leaves + 2);
  b->targets = TN_NEW_ARRAY(a, int64_t, votes + 1);
  b->weights = TN_NEW_ARRAY(a, double, votes + 1);
  b->roots = TN_NEW_ARRAY(a, int64_t, roots + 1);
  b->members = TN_NEW_ARRAY(a, double, members + 1);
}

static tn_value *tree_node(const tree_build *b, int64_t n_targets, int64_t how, tn_dtype to) {
  tn_import *const im = b->im;
  tn_value *const in[8] = {im->in[0],
                           tree_ints(im, b->nodes, b->n_nodes, 7),
                           tree_doubles(im, b->splits, b->n_nodes),
                           tree_ints(im, b->leaves, b->n_leaves, 2),
                           tree_ints(im, b->targets, b->n_votes, 1),
                           tree_doubles(im, b->weights, b->n_votes),
                           tree_ints(im, b->roots, b->n_roots, 1),
                           tree_doubles(im, b->members, b->n_members)};
  tn_node *const node = tn_import_node(im, "tree_ensemble", in, 8, 1);
  tn_import_set_int(node, "n_targets", n_targets);
  tn_import_set_int(node, "n_features", b->n_features);
  tn_import_set_int(node, "aggregate", how);
  if (to) tn_import_set_int(node, "to", to);
  return node->out[0];
}

/* Attribute `name` (floats) or `name`_as_tensor as doubles; n -1 when neither is there. */
static tn_status tree_reals(tn_import *im, const char *name, const char *tensor_name, const double **out, int64_t *n) {
  const tn_attr *floats, *tensor;
  TN_TRY(tn_import_get(im, name, TN_ATTR_FLOATS, &floats));
  TN_TRY(tn_import_get(im, tensor_name, TN_ATTR_TENSOR, &tensor));
  *n = -1;
  *out = NULL;
  if (tensor && tensor->tensor) {
    double *const v = TN_NEW_ARRAY(&im->ctx->arena, double, tensor->tensor->count + 1);
    *n = tensor->tensor->count;
    for (int64_t i = 0; i < *n; i++) v[i] = tn_lit_f64(tensor->tensor, i);
    *out = v;
  } else if (floats) {
    *n = floats->n;
    *out = floats->floats;
  }
  return TN_OK;
}

/* INTS that must have n elements; n < 0: any number, which is returned. */
static tn_status tree_list(tn_import *im, const char *name, int64_t *n, const int64_t **out) {
  int64_t have;
  TN_TRY(tn_import_ints(im, name, out, &have));
  if (*n < 0) *n = have;
  if (have != *n)
    return tn_import_fail(im, TN_INVALID, "attribute '%s' has %lld elements, expected %lld", name, (long long)have,
                          (long long)*n);
  return TN_OK;
}

/* A child of TreeEnsemble-5. */
static tn_status tree_child(tree_build *b, bool is_leaf, int64_t id, int64_t *out) {
  if (id < 0 || id >= (is_leaf ? b->n_leaves : b->n_nodes))
    return tn_import_fail(b->im, TN_INVALID, "a branch leads to %s %lld, which is not there", is_leaf ? "leaf" : "node",
                          (long long)id);
  *out = is_leaf ? -1 - id : id;
  return TN_OK;
}

/* The sets of TreeEnsemble-5's member nodes: lists that end in NaN, in order. */
static tn_status tree_sets(tree_build *b, const tn_lit *sets) {
  int64_t at = 0;
  for (int64_t i = 0; i < b->n_nodes; i++) {
    if (b->nodes[7 * i + 1] != TREE_MEMBER) continue;
    b->nodes[7 * i + 5] = b->n_members;
    for (; sets && at < sets->count && tn_lit_f64(sets, at) >= tn_lit_f64(sets, at); at++)
      b->members[b->n_members++] = tn_lit_f64(sets, at);
    b->nodes[7 * i + 6] = b->n_members - b->nodes[7 * i + 5];
    at++;
  }
  return TN_OK;
}

static tn_status tree_need_tensor(tn_import *im, const char *name, const tn_lit **out) {
  const tn_attr *a;
  TN_TRY(tn_import_get(im, name, TN_ATTR_TENSOR, &a));
  *out = a ? a->tensor : NULL;
  return *out ? TN_OK : tn_import_fail(im, TN_INVALID, "attribute '%s' is required but absent", name);
}

static tn_status tree_import_5(tn_import *im) {
  tree_build b = {.im = im};
  const tn_lit *splits, *modes, *weights;
  const tn_attr *sets;
  const int64_t *features, *on_true, *on_false, *true_leaf, *false_leaf, *missing, *targets, *roots;
  int64_t n_targets, how, post, n_missing = -1;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tree_need_tensor(im, "nodes_splits", &splits));
  TN_TRY(tree_need_tensor(im, "nodes_modes", &modes));
  TN_TRY(tree_need_tensor(im, "leaf_weights", &weights));
  TN_TRY(tn_import_get(im, "membership_values", TN_ATTR_TENSOR, &sets));
  TN_TRY(tn_import_int(im, "n_targets", 1, &n_targets));
  TN_TRY(tn_import_int(im, "aggregate_function", TREE_SUM, &how));
  TN_TRY(tn_import_int(im, "post_transform", 0, &post));
  tn_import_ignore(im, "nodes_hitrates");
  b.n_nodes = splits->count;
  b.n_leaves = b.n_votes = weights->count;
  b.n_roots = -1;
  TN_TRY(tree_list(im, "nodes_featureids", &b.n_nodes, &features));
  TN_TRY(tree_list(im, "nodes_truenodeids", &b.n_nodes, &on_true));
  TN_TRY(tree_list(im, "nodes_falsenodeids", &b.n_nodes, &on_false));
  TN_TRY(tree_list(im, "nodes_trueleafs", &b.n_nodes, &true_leaf));
  TN_TRY(tree_list(im, "nodes_falseleafs", &b.n_nodes, &false_leaf));
  TN_TRY(tree_list(im, "nodes_missing_value_tracks_true", &n_missing, &missing));
  TN_TRY(tree_list(im, "leaf_targetids", &b.n_leaves, &targets));
  TN_TRY(tree_list(im, "tree_roots", &b.n_roots, &roots));
  if (modes->count != b.n_nodes || (missing && n_missing != b.n_nodes))
    return tn_import_fail(im, TN_INVALID, "nodes_* have different numbers of elements");
  if (how < 0 || how > 3 || post < 0 || post > 4)
    return tn_import_fail(im, TN_INVALID, "an unknown aggregate_function or post_transform");
  tree_room(&b, b.n_nodes, b.n_leaves, b.n_votes, b.n_roots, sets && sets->tensor ? sets->tensor->count : 0);
  for (int64_t i = 0; i < b.n_nodes; i++) {
    int64_t *const node = b.nodes + 7 * i;
    node[0] = features[i];
    node[1] = tn_lit_i64_at(modes, i);
    node[4] = missing ? missing[i] : 0;
    if (node[0] < 0 || node[1] < 0 || node[1] >= TREE_N_MODES)
      return tn_import_fail(im, TN_INVALID, "node %lld has no such mode or feature", (long long)i);
    if (node[0] >= b.n_features) b.n_features = node[0] + 1;
    TN_TRY(tree_child(&b, true_leaf[i] != 0, on_true[i], &node[2]));
    TN_TRY(tree_child(&b, false_leaf[i] != 0, on_false[i], &node[3]));
    b.splits[i] = tn_lit_f64(splits, i);
  }
  for (int64_t i = 0; i < b.n_leaves; i++) {
    b.leaves[2 * i] = i;
    b.leaves[2 * i + 1] = 1;
    b.targets[i] = targets[i];
    b.weights[i] = tn_lit_f64(weights, i);
    if (targets[i] < 0 || targets[i] >= n_targets)
      return tn_import_fail(im, TN_INVALID, "leaf %lld votes for target %lld", (long long)i, (long long)targets[i]);
  }
  for (int64_t i = 0; i < b.n_roots; i++) TN_TRY(tree_child(&b, false, roots[i], &b.roots[i]));
  TN_TRY(tree_sets(&b, sets ? sets->tensor : NULL));
  tn_value *const y = tree_node(&b, n_targets, how, TN_DTYPE_NONE);
  return tn_im_done(im, tn_ml_post(im, (tn_ml_post_kind)post, y));
}

/* --- the forms before: nodes and votes by (tree, node) --- */

typedef struct tree_keys {
  const int64_t *trees, *ids;
} tree_keys;
static int tree_compare(int64_t ta, int64_t ia, int64_t tb, int64_t ib) {
  if (ta != tb) return ta < tb ? -1 : 1;
  return ia == ib ? 0 : (ia < ib ? -1 : 1);
}
static bool tree_before(const void *arg, int64_t a, int64_t b) {
  const tree_keys *const k = arg;
  return tree_compare(k->trees[a], k->ids[a], k->trees[b], k->ids[b]) < 0;
}
static int64_t *tree_sorted(tn_import *im, const tree_keys *k, int64_t n) {
  int64_t *const places = TN_NEW_ARRAY(&im->ctx->arena, int64_t, n + 1);
  for (int64_t i = 0; i < n; i++) places[i] = i;
  tn_op_sort(&im->ctx->arena, places, n, tree_before, k);
  return places;
}
/* The first place in sorted order that is not before (tree, id). */
static int64_t tree_find(const tree_keys *k, const int64_t *sorted, int64_t n, int64_t tree, int64_t id) {
  int64_t lo = 0, hi = n;
  while (lo < hi) {
    const int64_t mid = lo + (hi - lo) / 2;
    if (tree_compare(k->trees[sorted[mid]], k->ids[sorted[mid]], tree, id) < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

static int64_t tree_mode(tn_str name) {
  static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
  for (int i = 0; i < 6; i++)
    if (tn_str_is(name, names[i])) return i;
  return tn_str_is(name, "LEAF") ? -1 : -2;
}

typedef struct tree_old { /* attributes of the older forms */
  const int64_t *features, *missing, *on_true, *on_false, *vote_targets;
  const tn_attr *modes;
  const double *values, *weights, *base;
  tree_keys nodes, votes;
  int64_t n, n_votes, n_base;
} tree_old;

static tn_status tree_read_old(tn_import *im, bool is_classifier, tree_old *o) {
  const char *const trees = is_classifier ? "class_treeids" : "target_treeids";
  const char *const ids = is_classifier ? "class_nodeids" : "target_nodeids";
  int64_t n_values, n_weights, n_missing = -1;
  o->n = -1;
  o->n_votes = -1;
  TN_TRY(tree_list(im, "nodes_treeids", &o->n, &o->nodes.trees));
  TN_TRY(tree_list(im, "nodes_nodeids", &o->n, &o->nodes.ids));
  TN_TRY(tree_list(im, "nodes_featureids", &o->n, &o->features));
  TN_TRY(tree_list(im, "nodes_truenodeids", &o->n, &o->on_true));
  TN_TRY(tree_list(im, "nodes_falsenodeids", &o->n, &o->on_false));
  TN_TRY(tree_list(im, "nodes_missing_value_tracks_true", &n_missing, &o->missing));
  TN_TRY(tn_import_get(im, "nodes_modes", TN_ATTR_STRS, &o->modes));
  TN_TRY(tree_reals(im, "nodes_values", "nodes_values_as_tensor", &o->values, &n_values));
  TN_TRY(tree_list(im, trees, &o->n_votes, &o->votes.trees));
  TN_TRY(tree_list(im, ids, &o->n_votes, &o->votes.ids));
  TN_TRY(tree_list(im, is_classifier ? "class_ids" : "target_ids", &o->n_votes, &o->vote_targets));
  TN_TRY(tree_reals(im, is_classifier ? "class_weights" : "target_weights",
                    is_classifier ? "class_weights_as_tensor" : "target_weights_as_tensor", &o->weights, &n_weights));
  TN_TRY(tree_reals(im, "base_values", "base_values_as_tensor", &o->base, &o->n_base));
  tn_import_ignore(im, "nodes_hitrates");
  tn_import_ignore(im, "nodes_hitrates_as_tensor");
  if (o->n < 1 || n_values != o->n || n_weights != o->n_votes || !o->modes || o->modes->n != o->n ||
      (o->missing && n_missing != o->n && n_missing != 0))
    return tn_import_fail(im, TN_INVALID, "the attributes of the trees have different numbers of elements");
  if (n_missing == 0) o->missing = NULL;
  return TN_OK;
}

static tn_status tree_convert(tree_build *b, const tree_old *o, int64_t n_targets) {
  tn_import *const im = b->im;
  tree_room(b, o->n, o->n, o->n_votes, o->n, 0);
  const int64_t *const by_node = tree_sorted(im, &o->nodes, o->n);
  const int64_t *const by_vote = tree_sorted(im, &o->votes, o->n_votes);
  int64_t *const code = TN_NEW_ARRAY(&im->ctx->arena, int64_t, o->n); /* as a child: node or leaf */
  for (int64_t i = 0; i < o->n; i++) {
    const int64_t mode = tree_mode(o->modes->strs[i]);
    if (mode == -2) return tn_import_fail(im, TN_INVALID, "node %lld has an unknown mode", (long long)i);
    code[i] = mode == -1 ? -1 - b->n_leaves++ : b->n_nodes++;
  }
  for (int64_t i = 0; i < o->n_votes; i++) {
    b->targets[i] = o->vote_targets[by_vote[i]];
    b->weights[i] = o->weights[by_vote[i]];
    if (b->targets[i] < 0 || b->targets[i] >= n_targets)
      return tn_import_fail(im, TN_INVALID, "a vote for target %lld", (long long)b->targets[i]);
  }
  b->n_votes = o->n_votes;
  for (int64_t i = 0; i < o->n; i++) {
    const int64_t tree = o->nodes.trees[i], id = o->nodes.ids[i];
    if (i == 0 || o->nodes.trees[i - 1] != tree) b->roots[b->n_roots++] = code[i];
    if (code[i] < 0) {
      int64_t *const leaf = b->leaves + 2 * (-1 - code[i]);
      leaf[0] = tree_find(&o->votes, by_vote, o->n_votes, tree, id);
      for (leaf[1] = 0; leaf[0] + leaf[1] < o->n_votes; leaf[1]++) {
        const int64_t v = by_vote[leaf[0] + leaf[1]];
        if (tree_compare(o->votes.trees[v], o->votes.ids[v], tree, id) != 0) break;
      }
      continue;
    }
    int64_t *const node = b->nodes + 7 * code[i];
    node[0] = o->features[i];
    node[1] = tree_mode(o->modes->strs[i]);
    node[4] = o->missing ? o->missing[i] : 0;
    node[5] = node[6] = 0;
    if (node[0] < 0)
      return tn_import_fail(im, TN_INVALID, "node %lld looks at feature %lld", (long long)i, (long long)node[0]);
    if (node[0] >= b->n_features) b->n_features = node[0] + 1;
    b->splits[code[i]] = o->values[i];
    for (int side = 0; side < 2; side++) {
      const int64_t child = side ? o->on_false[i] : o->on_true[i];
      const int64_t at = tree_find(&o->nodes, by_node, o->n, tree, child);
      if (at >= o->n || o->nodes.trees[by_node[at]] != tree || o->nodes.ids[by_node[at]] != child)
        return tn_import_fail(im, TN_INVALID, "node %lld leads to node %lld of tree %lld, which is not there",
                              (long long)i, (long long)child, (long long)tree);
      node[2 + side] = code[by_node[at]];
    }
  }
  return TN_OK;
}

static tn_value *tree_base(tn_import *im, tn_value *y, const double *base, int64_t n) {
  return tn_im2(im, "add", y, tn_import_const_f32(im, base, n));
}

static tn_status tree_import_regressor(tn_import *im) {
  static const char *const aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  tree_build b = {.im = im};
  tree_old o = {0};
  tn_str aggregate;
  tn_ml_post_kind post;
  int64_t n_targets, how = 0;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tree_read_old(im, false, &o));
  TN_TRY(tn_import_int(im, "n_targets", 1, &n_targets));
  TN_TRY(tn_import_str(im, "aggregate_function", "SUM", &aggregate));
  TN_TRY(tn_ml_post_attr(im, &post));
  while (how < 4 && !tn_str_is(aggregate, aggregates[how])) how++;
  if (how == 4 || n_targets < 1) return tn_import_fail(im, TN_INVALID, "an unknown aggregate_function or no target");
  TN_TRY(tree_convert(&b, &o, n_targets));
  tn_value *y = tree_node(&b, n_targets, how, TN_F32);
  if (o.n_base > 0) {
    if (o.n_base != 1 && o.n_base != n_targets)
      return tn_import_fail(im, TN_INVALID, "%lld base values", (long long)o.n_base);
    y = tree_base(im, y, o.base, o.n_base);
  }
  return tn_im_done(im, tn_ml_post(im, post, y));
}

static tn_status tree_import_classifier(tn_import *im) {
  tree_build b = {.im = im};
  tree_old o = {0};
  tn_ml_post_kind post;
  int64_t n;
  tn_value *labels = NULL, *place = NULL, *scores;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tree_read_old(im, true, &o));
  TN_TRY(tn_ml_labels(im, "classlabels_int64s", &labels, &n));
  TN_TRY(tn_ml_post_attr(im, &post));
  bool one_class = n == 2 && o.n_votes > 0, all_positive = true;
  for (int64_t i = 0; i < o.n_votes; i++) {
    one_class = one_class && o.vote_targets[i] == o.vote_targets[0];
    all_positive = all_positive && o.weights[i] >= 0;
  }
  TN_TRY(tree_convert(&b, &o, n));
  if (one_class)
    for (int64_t i = 0; i < b.n_votes; i++) b.targets[i] = 0;
  scores = tree_node(&b, one_class ? 1 : n, TREE_SUM, TN_F32);
  if (o.n_base > 0) {
    if (o.n_base != n && o.n_base != 1) return tn_import_fail(im, TN_INVALID, "%lld base values", (long long)o.n_base);
    scores = tree_base(im, scores, one_class ? o.base + o.n_base - 1 : o.base, one_class ? 1 : o.n_base);
  }
  if (one_class) { /* two labels, votes for one of them: by the sign, or against 1/2 where all votes are positive */
    place = tn_ml_above(im, scores, all_positive ? 0.5 : 0);
    scores = tn_ml_post_pair(im, post, all_positive, scores);
  } else {
    place = tn_ml_best(im, scores);
    scores = tn_ml_post(im, post, scores);
  }
  if (tn_im_out(im, 0)) im->out[0] = tn_im2(im, "gather", labels, place);
  if (tn_im_out(im, 1)) im->out[1] = scores;
  return tn_import_check_used(im);
}

TN_ONNX(ml, TreeEnsemble, 5, TN_LATEST, tree_ensemble, tree_import_5)
TN_ONNX(ml, TreeEnsembleRegressor, 1, TN_LATEST, tree_ensemble, tree_import_regressor)
TN_ONNX(ml, TreeEnsembleClassifier, 1, TN_LATEST, tree_ensemble, tree_import_classifier)
