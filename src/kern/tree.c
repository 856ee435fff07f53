/* Ensembles of decision trees; the form of the operands is described in op/tree.c. */
#include <math.h>
#include <stdatomic.h>

#include "kern/move.h"

typedef struct tree_job {
  const tn_karg *x, *members;
  const int64_t *nodes, *leaves, *targets, *roots;
  const double *splits, *weights;
  int64_t n_nodes, n_leaves, n_votes, n_roots, n_targets, how;
  double *room; /* sums of a row for each worker */
  tn_karg *y;
  atomic_bool is_broken;
} tree_job;

static bool tree_is_member(const tree_job *j, const int64_t *node, double x) {
  const double *const set = j->members->data;
  for (int64_t i = node[5]; i >= 0 && i < node[5] + node[6] && i < j->members->count; i++)
    if (x <= set[i] && x >= set[i]) return true;
  return false;
}

static bool tree_goes(const tree_job *j, int64_t at, double x) {
  const int64_t *const node = j->nodes + 7 * at;
  const double split = j->splits[at];
  if (!(x >= x)) return node[4] != 0;
  switch (node[1]) {
    case 0:
      return x <= split;
    case 1:
      return x < split;
    case 2:
      return x >= split;
    case 3:
      return x > split;
    case 4:
      return x <= split && x >= split;
    case 5:
      return x < split || x > split;
    default:
      return tree_is_member(j, node, x);
  }
}

/* The leaf a row comes to; -1 when the tree does not end. */
static int64_t tree_walk(const tree_job *j, int64_t root, int64_t row) {
  const int64_t width = j->x->dims[1];
  int64_t at = root;
  for (int64_t steps = 0; at >= 0; steps++) {
    if (at >= j->n_nodes || steps > j->n_nodes) return -1;
    const int64_t feature = j->nodes[7 * at];
    if (feature < 0 || feature >= width) return -1;
    const double x = tn_load_f64(j->x->dtype, j->x->data, row * width + feature);
    at = j->nodes[7 * at + (tree_goes(j, at, x) ? 2 : 3)];
  }
  return -1 - at;
}

/* Votes of one leaf. The least and the largest begin as NaN: no vote yet. */
static bool tree_vote(const tree_job *j, int64_t leaf, double *sum) {
  if (leaf < 0 || leaf >= j->n_leaves) return false;
  const int64_t first = j->leaves[2 * leaf], n = j->leaves[2 * leaf + 1];
  if (first < 0 || n < 0 || first > j->n_votes - n) return false;
  for (int64_t v = first; v < first + n; v++) {
    const int64_t t = j->targets[v];
    if (t < 0 || t >= j->n_targets) return false;
    const double w = j->weights[v];
    if (j->how < 2)
      sum[t] += w;
    else if (!(sum[t] >= sum[t]) || (j->how == 2 ? w < sum[t] : w > sum[t]))
      sum[t] = w;
  }
  return true;
}

static void tree_task(void *arg, int64_t begin, int64_t end, int worker) {
  tree_job *const j = arg;
  double *const sum = j->room + worker * j->n_targets;
  for (int64_t row = begin; row < end; row++) {
    for (int64_t t = 0; t < j->n_targets; t++) sum[t] = j->how < 2 ? 0 : (double)NAN;
    for (int64_t t = 0; t < j->n_roots; t++)
      if (!tree_vote(j, tree_walk(j, j->roots[t], row), sum)) {
        atomic_store(&j->is_broken, true);
        return;
      }
    for (int64_t t = 0; t < j->n_targets; t++) {
      double v = sum[t] >= sum[t] ? sum[t] : 0;
      if (j->how == 0 && j->n_roots > 0) v /= (double)j->n_roots;
      tn_store_f64(j->y->dtype, j->y->data, row * j->n_targets + t, v);
    }
  }
}

TN_KERNEL(tree_ensemble, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 8, 1));
  const tn_karg *const *const in = k->in;
  static const int types[] = {0, TN_I64, TN_F64, TN_I64, TN_I64, TN_F64, TN_I64, TN_F64};
  for (int i = 1; i < 8; i++)
    if ((int)in[i]->dtype != types[i]) return tn_k_no_dtype(k, i);
  tree_job j = {.x = in[0], .members = in[7], .nodes = in[1]->data, .splits = in[2]->data, .leaves = in[3]->data};
  j.targets = in[4]->data;
  j.weights = in[5]->data;
  j.roots = in[6]->data;
  j.n_nodes = in[2]->count;
  j.n_leaves = in[3]->count / 2;
  j.n_votes = in[4]->count;
  j.n_roots = in[6]->count;
  j.n_targets = tn_k_int(k, "n_targets", 1);
  j.how = tn_k_int(k, "aggregate", 1);
  j.y = k->out[0];
  if (j.x->rank != 2 || in[1]->count != 7 * j.n_nodes || in[5]->count != j.n_votes || j.n_targets < 1)
    return tn_k_fail(k, TN_MISMATCH, "the trees are not whole");
  TN_TRY(tn_k_out(k, 0, 2, (const int64_t[]){j.x->dims[0], j.n_targets}));
  int64_t n;
  void *room;
  if (!tn_mul_i64(j.n_targets, tn_pool_threads(k->pool), &n)) return tn_k_fail(k, TN_LIMIT, "too many targets");
  TN_TRY(tn_k_room(k, n, sizeof(double), &room));
  j.room = room;
  atomic_init(&j.is_broken, false);
  tn_pool_for(k->pool, j.x->dims[0], 1 + 256 / (j.n_roots + 1), tree_task, &j);
  return atomic_load(&j.is_broken)
             ? tn_k_fail(k, TN_MISMATCH, "a tree does not end, or looks at a feature that is not there")
             : TN_OK;
}
