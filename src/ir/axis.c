/* Axes of common kinds of operators. */
#include "ir/axis.h"

static int axis_rank(const tn_value *v) { return v && tn_type_has_rank(&v->type) ? v->type.rank : -1; }
static int axis_out_rank(const tn_node *node) { return node->n_out ? axis_rank(node->out[0]) : -1; }

static int64_t axis_attr(const tn_node *node, const char *name, int64_t otherwise) {
  const tn_attr *a = tn_op_attr(node, name);
  return a && a->kind == TN_ATTR_INT ? a->i : otherwise;
}

/* The attribute `axis`, from the front. */
static int64_t axis_own(const tn_node *node, int rank) {
  const int64_t axis = axis_attr(node, "axis", 0);
  return axis < 0 ? axis + rank : axis;
}

/* Axes are counted from the last one; a dim of 1 is repeated along the result. */
static int axis_from_end(const tn_node *node, int input, int axis) {
  const int to = axis + axis_out_rank(node) - axis_rank(node->in[input]);
  return to >= 0 ? to : TN_AXIS_MIXED;
}

int tn_axis_batch(const tn_node *node, int input, int axis) {
  (void)node;
  return input == 0 && axis == 0 ? 0 : TN_AXIS_MIXED;
}

int tn_axis_matmul(const tn_node *node, int input, int axis) {
  const int rank[2] = {axis_rank(node->in[0]), axis_rank(node->in[1])}, out = axis_out_rank(node);
  if (axis == TN_AXIS_WHOLE || input > 1 || rank[0] < 1 || rank[1] < 1 || out < 0) return TN_AXIS_MIXED;
  const int from_end = rank[input] - axis;
  if (from_end == (input == 0 || rank[1] == 1 ? 1 : 2)) return TN_AXIS_MIXED; /* what is summed over */
  if (from_end > 2) return out - from_end + (rank[1 - input] == 1);
  if (input == 0) return rank[1] == 1 ? out - 1 : out - 2;
  return out - 1;
}

int tn_axis_gemm(const tn_node *node, int input, int axis) {
  if (axis == TN_AXIS_WHOLE || input > 2) return TN_AXIS_MIXED;
  if (input == 2) return axis_from_end(node, 2, axis);
  const int kept = axis_attr(node, input == 0 ? "transA" : "transB", 0) ? 1 - input : input;
  return axis == kept ? input : TN_AXIS_MIXED;
}

int tn_axis_before(const tn_node *node, int input, int axis) {
  if (axis == TN_AXIS_WHOLE || input != 0) return TN_AXIS_MIXED;
  return axis < axis_own(node, axis_rank(node->in[0])) ? axis : TN_AXIS_MIXED;
}

int tn_axis_except(const tn_node *node, int input, int axis) {
  if (axis == TN_AXIS_WHOLE || axis_rank(node->in[input]) != axis_out_rank(node)) return TN_AXIS_MIXED;
  if (axis_attr(node, "flatten", 0)) return tn_axis_before(node, input, axis);
  return axis == axis_own(node, axis_rank(node->in[input])) ? TN_AXIS_MIXED : axis;
}

int tn_axis_reduce(const tn_node *node, int input, int axis) {
  const tn_type *axes = node->n_in > 1 && node->in[1] ? &node->in[1]->type : NULL;
  const int rank = axis_rank(node->in[0]);
  if (axis == TN_AXIS_WHOLE || input != 0 || !axes || !axes->content) return TN_AXIS_MIXED;
  const int64_t n = tn_type_content_count(axes);
  int gone = 0;
  for (int64_t i = 0; i < n; i++) {
    const tn_elem *e = &axes->content[i];
    if (e->kind != TN_ELEM_SYM || !tn_sym_is_int(e->sym)) return TN_AXIS_MIXED;
    const int64_t a = e->sym->k < 0 ? e->sym->k + rank : e->sym->k;
    if (a == axis) return TN_AXIS_MIXED;
    gone += a < axis;
  }
  return n == 0 ? TN_AXIS_MIXED : axis_attr(node, "keepdims", 1) ? axis : axis - gone;
}

int tn_axis_transpose(const tn_node *node, int input, int axis) {
  const tn_attr *perm = tn_op_attr(node, "perm");
  const int rank = axis_rank(node->in[0]);
  if (axis == TN_AXIS_WHOLE || input != 0) return TN_AXIS_MIXED;
  if (!perm || perm->kind != TN_ATTR_INTS) return rank - 1 - axis;
  for (int i = 0; i < rank; i++)
    if (perm->ints[i] == axis) return i;
  return TN_AXIS_MIXED;
}

int tn_axis_gather(const tn_node *node, int input, int axis) {
  const int rank = axis_rank(node->in[0]), indices = axis_rank(node->in[1]);
  const int64_t own = axis_own(node, rank);
  if (axis == TN_AXIS_WHOLE || indices < 0) return TN_AXIS_MIXED;
  if (input == 1) return (int)own + axis;
  return axis == own ? TN_AXIS_MIXED : axis < own ? axis : axis + indices - 1;
}

int tn_axis_expand(const tn_node *node, int input, int axis) {
  if (axis == TN_AXIS_WHOLE) return input == 1 ? TN_AXIS_SIZES : TN_AXIS_MIXED;
  return input == 0 ? axis_from_end(node, 0, axis) : TN_AXIS_MIXED;
}

int tn_axis_fill(const tn_node *node, int input, int axis) {
  (void)node;
  return axis == TN_AXIS_WHOLE && input == 0 ? TN_AXIS_SIZES : TN_AXIS_MIXED;
}

int tn_axis_of(const tn_node *node, int input, int axis) {
  if (node->op->axis) return node->op->axis(node, input, axis);
  if (!(node->op->traits & TN_TRAIT_ELEMENTWISE) || axis == TN_AXIS_WHOLE) return TN_AXIS_MIXED;
  return axis_from_end(node, input, axis);
}
