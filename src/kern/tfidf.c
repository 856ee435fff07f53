/* TfIdfVectorizer: the pool's n-grams as a tree whose edges are found by hashing, walked from every place of a row. */
#include "base/hash.h"
#include "kern/move.h"

typedef struct tfidf_edge { /* from a node by an item to a node; node 0 is the root */
  int64_t from, to, item;   /* item: its place in the pool; to = 0: free */
} tfidf_edge;

typedef struct tfidf_tree {
  const tn_str *strs;
  const int64_t *ints;
  int64_t pool;
  tfidf_edge *edges;
  uint64_t mask;
  int64_t *column; /* of the n-gram that ends at a node, -1 when none does */
  int64_t nodes;
} tfidf_tree;

typedef struct tfidf_job {
  tfidf_tree tree;
  const tn_karg *x;
  float *y;
  const float *weights;                              /* by column */
  int64_t shortest, longest, skips, columns, length; /* length: items of a row */
  bool is_idf, is_weighted;
} tfidf_job;

static uint64_t tfidf_hash(int64_t from, bool text, tn_str s, int64_t v) {
  return tn_hash_mix((uint64_t)from, text ? tn_hash_bytes(s.ptr, s.len, 0) : (uint64_t)v);
}

/* The edge from a node by an item, or the free place for it. */
static tfidf_edge *tfidf_find(const tfidf_tree *t, int64_t from, tn_str s, int64_t v) {
  uint64_t at = tfidf_hash(from, t->strs != NULL, s, v) & t->mask;
  for (; t->edges[at].to; at = (at + 1) & t->mask) {
    const tfidf_edge *const e = &t->edges[at];
    if (e->from == from && (t->strs ? tn_str_eq(t->strs[e->item], s) : t->ints[e->item] == v)) break;
  }
  return &t->edges[at];
}

static tn_status tfidf_tree_room(tn_kcall *k, tfidf_tree *t) {
  int64_t size = 4;
  void *edges, *column;
  while (size < 2 * t->pool) size *= 2;
  TN_TRY(tn_k_room(k, size, sizeof(tfidf_edge), &edges));
  TN_TRY(tn_k_room(k, t->pool + 1, sizeof(int64_t), &column));
  t->edges = edges;
  t->column = column;
  t->mask = (uint64_t)size - 1;
  t->nodes = 1;
  memset(t->edges, 0, (size_t)size * sizeof *t->edges);
  for (int64_t i = 0; i <= t->pool; i++) t->column[i] = -1;
  return TN_OK;
}

static void tfidf_add(tfidf_tree *t, int64_t at, int64_t n, int64_t column) {
  int64_t node = 0;
  for (int64_t i = at; i < at + n; i++) {
    tfidf_edge *const e = tfidf_find(t, node, t->strs ? t->strs[i] : (tn_str){"", 0}, t->strs ? 0 : t->ints[i]);
    if (!e->to) *e = (tfidf_edge){node, t->nodes++, i};
    node = e->to;
  }
  t->column[node] = column;
}

static tn_status tfidf_plant(tn_kcall *k, tfidf_job *j) {
  int64_t n_counts, n_indexes, gram = 0;
  const int64_t *const counts = tn_k_attr_ints(k, "ngram_counts", &n_counts);
  const int64_t *const indexes = tn_k_attr_ints(k, "ngram_indexes", &n_indexes);
  tfidf_tree *const t = &j->tree;
  TN_TRY(tfidf_tree_room(k, t));
  j->columns = 0;
  for (int64_t n = 1; n <= n_counts; n++) {
    const int64_t begin = counts[n - 1], end = n < n_counts ? counts[n] : t->pool;
    if (begin < 0 || begin > end || end > t->pool || (end - begin) % n != 0)
      return tn_k_fail(k, TN_INVALID, "attribute 'ngram_counts' does not fit the pool");
    for (int64_t at = begin; at < end; at += n, gram++) {
      if (gram >= n_indexes || indexes[gram] < 0 || indexes[gram] > INT32_MAX)
        return tn_k_fail(k, TN_INVALID, "attribute 'ngram_indexes' does not fit the pool");
      if (indexes[gram] >= j->columns) j->columns = indexes[gram] + 1;
      if (n >= j->shortest && n <= j->longest) tfidf_add(t, at, n, indexes[gram]);
    }
  }
  return TN_OK;
}

/* Counts what begins at `start` with items `skip` apart and has `from` items or more. */
static void tfidf_walk(const tfidf_job *j, int64_t row, int64_t start, int64_t skip, int64_t from, float *y) {
  const tfidf_tree *const t = &j->tree;
  int64_t node = 0;
  for (int64_t n = 1, at = start; n <= j->longest && at < j->length; n++, at += skip) {
    const int64_t i = row * j->length + at;
    const tfidf_edge *const e = tfidf_find(t, node, t->strs ? ((const tn_str *)j->x->data)[i] : (tn_str){"", 0},
                                           t->strs ? 0 : tn_k_i64(j->x, i));
    if (!e->to) return;
    node = e->to;
    if (n >= from && t->column[node] >= 0) y[t->column[node]] += 1.0f;
  }
}

static void tfidf_task(void *arg, int64_t begin, int64_t end, int worker) {
  const tfidf_job *const j = arg;
  (void)worker;
  for (int64_t row = begin; row < end; row++) {
    float *const y = j->y + row * j->columns;
    memset(y, 0, (size_t)j->columns * sizeof *y);
    for (int64_t skip = 1; skip <= j->skips + 1 && skip <= j->length; skip++) {
      /* Single items are the same whatever the skip. */
      const int64_t from = skip > 1 && j->shortest < 2 ? 2 : j->shortest;
      for (int64_t start = 0; start < j->length; start++) tfidf_walk(j, row, start, skip, from, y);
    }
    for (int64_t c = 0; j->is_weighted && c < j->columns; c++) {
      y[c] = j->is_idf ? (y[c] > 0 ? j->weights[c] : 0) : y[c] * j->weights[c];
    }
  }
}

/* Weight i is that of n-gram i, and so of its column. */
static tn_status tfidf_weigh(tn_kcall *k, tfidf_job *j) {
  const tn_kattr *const given = tn_k_attr(k, "weights");
  int64_t n;
  const int64_t *const indexes = tn_k_attr_ints(k, "ngram_indexes", &n);
  void *room;
  TN_TRY(tn_k_room(k, j->columns, sizeof(float), &room));
  float *const weights = room;
  for (int64_t c = 0; c < j->columns; c++) weights[c] = 1;
  for (int64_t i = 0; given && given->kind == TN_KATTR_FLOATS && i < n && i < given->n; i++)
    if (indexes[i] >= 0 && indexes[i] < j->columns) weights[indexes[i]] = (float)given->floats[i];
  j->weights = weights;
  return TN_OK;
}

static tn_status tfidf_read(tn_kcall *k, tfidf_job *j) {
  const tn_kattr *const strs = tn_k_attr(k, "pool_strings"), *const ints = tn_k_attr(k, "pool_int64s");
  const bool text = j->x->dtype == TN_STR;
  if (!text && j->x->dtype != TN_I32 && j->x->dtype != TN_I64) return tn_k_no_dtype(k, 0);
  if (text && (!strs || strs->kind != TN_KATTR_STRS)) return tn_k_fail(k, TN_MISMATCH, "the pool holds no strings");
  if (!text && (!ints || ints->kind != TN_KATTR_INTS)) return tn_k_fail(k, TN_MISMATCH, "the pool holds no integers");
  if (text)
    j->tree = (tfidf_tree){.strs = strs->strs, .pool = strs->n};
  else
    j->tree = (tfidf_tree){.ints = ints->ints, .pool = ints->n};
  j->shortest = tn_k_int(k, "min_gram_length", 1);
  j->longest = tn_k_int(k, "max_gram_length", 1);
  j->skips = tn_k_int(k, "max_skip_count", 0);
  j->is_idf = tn_k_str_is(k, "mode", "IDF");
  j->is_weighted = !tn_k_str_is(k, "mode", "TF");
  if (j->skips < 0 || j->skips == INT64_MAX) return tn_k_fail(k, TN_INVALID, "attribute 'max_skip_count'");
  TN_TRY(tfidf_plant(k, j));
  return tfidf_weigh(k, j);
}

TN_KERNEL(tf_idf_vectorizer, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 1, 1));
  TN_TRY(tn_k_out_type(k, 0, TN_F32));
  tfidf_job j = {.x = k->in[0]};
  const tn_karg *const x = k->in[0];
  if (x->rank < 1 || x->rank > 2) return tn_k_fail(k, TN_MISMATCH, "a tensor of rank %d", x->rank);
  TN_TRY(tfidf_read(k, &j));
  j.length = x->dims[x->rank - 1];
  const int64_t rows = x->rank == 2 ? x->dims[0] : 1, dims[2] = {x->rank == 2 ? rows : j.columns, j.columns};
  TN_TRY(tn_k_out(k, 0, x->rank, dims));
  j.y = k->out[0]->data;
  if (k->out[0]->count > 0) tn_pool_for(k->pool, rows, 1, tfidf_task, &j);
  return TN_OK;
}
