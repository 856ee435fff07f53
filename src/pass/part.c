/* Results that are elements of an operand which lie together: slices and splits along the first axis that is not 1, one
 * element of such an axis. They need no copy. */
#include "pass/known.h"
#include "pass/pass.h"

static bool part_is_one(tn_sym dim) { return tn_sym_is(dim, 1); }

/* Product of the dims of a type from `from` on. */
static tn_sym part_inner(tn_symtab *syms, const tn_type *t, int from) {
  tn_sym n = tn_sym_int(syms, 1);
  for (int i = from; i < t->rank; i++) n = tn_sym_mul(syms, n, t->dims[i]);
  return n;
}

/* Are all dims before `axis` 1? */
static bool part_leads(const tn_type *t, int axis) {
  for (int i = 0; i < axis; i++)
    if (!part_is_one(t->dims[i])) return false;
  return true;
}

static bool part_axis(const tn_node *node, const tn_type *x, int *out) {
  const tn_attr *a = tn_op_attr(node, "axis");
  int64_t axis = a && a->kind == TN_ATTR_INT ? a->i : 0;
  if (axis < 0) axis += x->rank;
  *out = (int)axis;
  return axis >= 0 && axis < x->rank;
}

/* One after the other: where each result begins, up to one that is absent. */
static void part_of_split(tn_symtab *syms, const tn_node *node, tn_sym *first) {
  const tn_type *x = &node->in[0]->type;
  int axis;
  if (!part_axis(node, x, &axis) || !part_leads(x, axis)) return;
  const tn_sym inner = part_inner(syms, x, axis + 1);
  tn_sym before = tn_sym_int(syms, 0);
  for (int i = 0; i < node->n_out; i++) {
    first[i] = tn_sym_mul(syms, before, inner);
    if (!node->out[i]) return;
    before = tn_sym_add(syms, before, node->out[i]->type.dims[axis]);
  }
}

/* Element i of a small integer operand; NULL when it is not known. */
static tn_sym part_elem(const tn_node *node, int in, int64_t i) {
  const tn_type *t = in < node->n_in && node->in[in] ? &node->in[in]->type : NULL;
  if (!t || i >= tn_type_content_count(t) || t->content[i].kind != TN_ELEM_SYM) return NULL;
  return t->content[i].sym;
}

/* Where position `at` of an axis of size n is, counted from the front; NULL when its sign is not known. */
static tn_sym part_from_front(tn_symtab *syms, tn_sym at, tn_sym n) {
  const tn_interval b = at ? tn_sym_bounds(syms, at) : (tn_interval){INT64_MIN, INT64_MAX};
  if (b.lo >= 0) return at;
  return b.hi < 0 ? tn_sym_add(syms, at, n) : NULL;
}

static tn_sym part_of_gather(tn_symtab *syms, const tn_node *node) {
  const tn_type *x = &node->in[0]->type;
  int axis;
  if (!part_axis(node, x, &axis) || !part_leads(x, axis)) return NULL;
  if (tn_type_content_count(&node->in[1]->type) != 1) return NULL;
  const tn_sym at = part_from_front(syms, part_elem(node, 1, 0), x->dims[axis]);
  if (!at || tn_sym_prove(syms, tn_sym_lt(syms, at, x->dims[axis])) != TN_TRUE || tn_sym_bounds(syms, at).lo < 0)
    return NULL;
  return tn_sym_mul(syms, at, part_inner(syms, x, axis + 1));
}

static bool part_slice_axis(const tn_node *node, int64_t i, int rank, int *out) {
  const bool has_axes = node->n_in > 3 && node->in[3];
  const tn_sym a = has_axes ? part_elem(node, 3, i) : NULL;
  int64_t axis = i;
  if (has_axes && (!a || !tn_sym_is_int(a))) return false;
  if (has_axes) axis = a->k < 0 ? a->k + rank : a->k;
  *out = (int)axis;
  return axis >= 0 && axis < rank;
}

/* The first element; only the axes up to the first one of the result that is not 1 may be
 * cut. */
static tn_sym part_of_slice(tn_symtab *syms, const tn_node *node) {
  const tn_type *x = &node->in[0]->type, *y = &node->out[0]->type;
  const int64_t n = tn_type_content_count(&node->in[1]->type);
  tn_sym first = tn_sym_int(syms, 0);
  if (n == 0) return NULL;
  for (int64_t i = 0; i < n; i++) {
    int axis;
    if (!part_slice_axis(node, i, x->rank, &axis)) return NULL;
    if (node->n_in > 4 && node->in[4]) {
      const tn_sym step = part_elem(node, 4, i);
      if (!step || !tn_sym_is(step, 1)) return NULL;
    }
    if (x->dims[axis] == y->dims[axis]) continue; /* all of it */
    const tn_sym start = part_from_front(syms, part_elem(node, 1, i), x->dims[axis]);
    if (!start || !part_leads(y, axis)) return NULL;
    const tn_sym at = tn_sym_max(syms, tn_sym_int(syms, 0), tn_sym_min(syms, start, x->dims[axis]));
    first = tn_sym_add(syms, first, tn_sym_mul(syms, at, part_inner(syms, x, axis + 1)));
  }
  return first;
}

/* first[i] := where result i begins, or NULL. Results have known ranks. */
static void part_first(tn_symtab *syms, const tn_node *node, tn_sym *first) {
  switch (node->op->part) {
    case TN_PART_SPLIT:
      part_of_split(syms, node, first);
      break;
    case TN_PART_PICK:
      if (node->n_in > 1 && node->in[1]) first[0] = part_of_gather(syms, node);
      break;
    case TN_PART_CUT:
      if (node->out[0] && node->n_in > 2 && node->in[1]) first[0] = part_of_slice(syms, node);
      break;
    case TN_PART_NONE:
      break;
  }
}

/* Are all results of fixed-size elements as operand 0 has them, and of sizes known before the node runs? */
static bool part_may_be(const tn_pass *p, const tn_node *node) {
  const tn_value *const x = node->n_in > 0 ? node->in[0] : NULL;
  int n = 0;
  if (node->op->part == TN_PART_NONE || !x || !tn_type_has_rank(&x->type)) return false;
  if (x->type.dtype == TN_STR || tn_dtype_bits(x->type.dtype) % 8 != 0) return false;
  for (int i = 0; i < node->n_out; i++) {
    const tn_value *const y = node->out[i];
    if (!y) continue;
    if (!tn_type_has_rank(&y->type) || y->type.dtype != x->type.dtype) return false;
    if (!tn_known_type_before(p->known, &y->type, node)) return false;
    n++;
  }
  return n > 0;
}

const tn_sym *tn_pass_parts_of(const tn_pass *p, const tn_graph *g, const tn_node *node) {
  if (!part_may_be(p, node)) return NULL;
  tn_sym *const first = TN_NEW_ARRAY(&p->ctx->pass, tn_sym, node->n_out + 1);
  part_first(g->syms, node, first);
  for (int i = 0; i < node->n_out; i++) {
    if (!node->out[i]) continue;
    if (!first[i] || !tn_known_before(p->known, tn_known_when(p->known, first[i]), node)) return NULL;
  }
  return first;
}
