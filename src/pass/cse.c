/* cse: of equal pure nodes, the first one serves all.
 *
 *   needs facts   gives -   breaks -
 *
 *   %a = shape(%x)      ->   %a = shape(%x)
 *   %b = shape(%x)           (uses of %b become uses of %a; `dce` removes it)
 *
 * Nodes that own regions, draw random numbers or are the source of a symbol stay as they are. */
#include "base/hash.h"
#include "pass/pass.h"

typedef struct cse_entry {
  tn_node *node;
  struct cse_entry *older; /* same hash */
} cse_entry;

typedef struct cse {
  tn_pass *pass;
  tn_graph *graph;
  tn_map table; /* hash -> cse_entry * */
} cse;

enum { CSE_MAX_CONST_BYTES = 4096, CSE_MAX_CHAIN = 32 };

static uint64_t cse_hash_lit(const tn_lit *l) {
  if (!l) return 0;
  uint64_t h = tn_hash_mix((uint64_t)l->dtype, (uint64_t)l->count);
  if (l->kind != TN_TYPE_TENSOR || l->dtype == TN_STR || l->bytes > CSE_MAX_CONST_BYTES) return h;
  return tn_hash_mix(h, tn_hash_bytes(l->data, l->bytes, 1));
}

static uint64_t cse_hash_attr(const tn_attr *a) {
  uint64_t h = tn_hash_u64((uint64_t)a->kind);
  if (a->kind == TN_ATTR_INT || a->kind == TN_ATTR_DTYPE) h = tn_hash_mix(h, (uint64_t)a->i);
  if (a->kind == TN_ATTR_FLOATS) h = tn_hash_mix(h, (uint64_t)a->n);
  if (a->kind == TN_ATTR_FLOAT) h = tn_hash_mix(h, tn_hash_bytes(&a->f, sizeof a->f, 2));
  if (a->kind == TN_ATTR_STR) h = tn_hash_mix(h, tn_hash_bytes(a->s.ptr, a->s.len, 3));
  if (a->kind == TN_ATTR_INTS && a->n) h = tn_hash_mix(h, tn_hash_bytes(a->ints, (size_t)a->n * sizeof *a->ints, 4));
  if (a->kind == TN_ATTR_STRS)
    for (int64_t i = 0; i < a->n; i++) h = tn_hash_mix(h, tn_hash_bytes(a->strs[i].ptr, a->strs[i].len, 5));
  if (a->kind == TN_ATTR_TENSOR) h = tn_hash_mix(h, cse_hash_lit(a->tensor));
  return h;
}

/* Bit for bit where cheap; large weights only when they are the same bytes in memory. */
static bool cse_lit_equal(const tn_lit *a, const tn_lit *b) {
  if (a == b) return true;
  if (!a || !b || a->kind != TN_TYPE_TENSOR || b->kind != TN_TYPE_TENSOR || a->bytes != b->bytes) return false;
  if (a->bytes <= CSE_MAX_CONST_BYTES) return tn_lit_equal(a, b);
  if (a->data != b->data || a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

static bool cse_same_bits(double a, double b) {
  uint64_t x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  return x == y;
}

static bool cse_attr_equal(const tn_attr *a, const tn_attr *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case TN_ATTR_NONE:
      return true;
    case TN_ATTR_INT:
    case TN_ATTR_DTYPE:
      return a->i == b->i;
    case TN_ATTR_FLOAT:
      return cse_same_bits(a->f, b->f);
    case TN_ATTR_STR:
      return tn_str_eq(a->s, b->s);
    case TN_ATTR_INTS:
      return a->n == b->n && (!a->n || memcmp(a->ints, b->ints, (size_t)a->n * sizeof *a->ints) == 0);
    case TN_ATTR_FLOATS:
      if (a->n != b->n) return false;
      for (int64_t i = 0; i < a->n; i++)
        if (!cse_same_bits(a->floats[i], b->floats[i])) return false;
      return true;
    case TN_ATTR_STRS:
      if (a->n != b->n) return false;
      for (int64_t i = 0; i < a->n; i++)
        if (!tn_str_eq(a->strs[i], b->strs[i])) return false;
      return true;
    case TN_ATTR_TENSOR:
      return cse_lit_equal(a->tensor, b->tensor);
    case TN_ATTR_TENSORS:
    case TN_ATTR_TYPE:
    case TN_ATTR_REGION:
    case TN_ATTR_SPARSE:
      break;
  }
  return false;
}

static uint64_t cse_hash(const tn_node *node) {
  uint64_t h = tn_hash_bytes(node->op->name, strlen(node->op->name), (uint64_t)node->n_out);
  for (int i = 0; i < node->n_in; i++) h = tn_hash_mix(h, node->in[i] ? node->in[i]->id + 1 : 0);
  const int n = tn_op_n_attrs(node->op);
  for (int i = 0; i < n; i++) h = tn_hash_mix(h, cse_hash_attr(&node->attrs[i]));
  return h;
}

static bool cse_equal(const tn_node *a, const tn_node *b) {
  if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out) return false;
  for (int i = 0; i < a->n_in; i++)
    if (a->in[i] != b->in[i]) return false;
  const int n = tn_op_n_attrs(a->op);
  for (int i = 0; i < n; i++)
    if (!cse_attr_equal(&a->attrs[i], &b->attrs[i])) return false;
  for (int i = 0; i < a->n_out; i++) {
    if (!b->out[i]) continue;
    if (!a->out[i] || !tn_type_same(&a->out[i]->type, &b->out[i]->type)) return false;
  }
  return true;
}

/* Nodes are met in program order, so an earlier one in this or an enclosing region has always run. */
static bool cse_is_visible(const tn_region *from, const tn_region *to) {
  while (to != from && to->owner) to = to->owner->region;
  return to == from;
}

static bool cse_is_late_source(const cse *c, const tn_value *v) {
  if (!tn_type_has_rank(&v->type)) return v->type.kind == TN_TYPE_TENSOR;
  for (int j = 0; j < v->type.rank; j++) {
    const tn_sym d = v->type.dims[j];
    if (!d || !tn_sym_is_var(d)) continue;
    const tn_symbol *s = tn_sym_symbol(c->graph->syms, (uint32_t)d->k);
    if (s->source == TN_SOURCE_DIM && s->value == v->id) return true;
  }
  return false;
}

static bool cse_may_share(const cse *c, const tn_node *node) {
  if (!(node->op->traits & TN_TRAIT_PURE) || (node->op->traits & (TN_TRAIT_RANDOM | TN_TRAIT_CONTROL))) return false;
  if (node->n_regions) return false;
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i] && cse_is_late_source(c, node->out[i])) return false;
  return true;
}

static tn_node *cse_find(const cse_entry *e, const tn_node *node) {
  for (int i = 0; e && i < CSE_MAX_CHAIN; i++, e = e->older)
    if (cse_is_visible(e->node->region, node->region) && cse_equal(e->node, node)) return e->node;
  return NULL;
}

static tn_status cse_visit(void *arg, tn_node *node) {
  cse *c = arg;
  if (!cse_may_share(c, node) || !tn_pass_may_edit(c->pass, c->graph)) return TN_OK;
  const uint64_t hash = cse_hash(node);
  uint64_t found = 0;
  (void)tn_map_find(&c->table, hash, &found);
  cse_entry *entry = (cse_entry *)(uintptr_t)found;
  tn_node *first = cse_find(entry, node);
  if (!first) {
    cse_entry *e = TN_NEW(&c->pass->ctx->pass, cse_entry);
    *e = (cse_entry){node, entry};
    tn_map_set(&c->pass->ctx->pass, &c->table, hash, tn_map_key(e));
    return TN_OK;
  }
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) tn_edit_replace_uses(node->out[i], first->out[i]);
  return TN_OK;
}

tn_status tn_pass_cse(tn_pass *p, tn_graph *g) {
  cse c = {.pass = p, .graph = g};
  return tn_graph_walk(g, cse_visit, &c);
}
