/* The oracle's side of an operator: attributes, results, index arithmetic. */
#include "ir/eval.h"

const tn_attr *tn_eval_attr(const tn_eval *e, const char *name) {
  TN_ASSERT(tn_op_attr_index(e->node->op, name) >= 0);
  return tn_op_attr(e->node, name);
}

int64_t tn_eval_int(const tn_eval *e, const char *name) {
  const tn_attr *a = tn_eval_attr(e, name);
  return a ? a->i : 0;
}

double tn_eval_float(const tn_eval *e, const char *name) {
  const tn_attr *a = tn_eval_attr(e, name);
  return a ? a->f : 0;
}

bool tn_eval_str_is(const tn_eval *e, const char *name, const char *z) {
  const tn_attr *a = tn_eval_attr(e, name);
  return a && a->kind == TN_ATTR_STR && tn_str_is(a->s, z);
}

tn_dtype tn_eval_out_dtype(const tn_eval *e, int i) {
  const tn_value *v = e->node->out[i];
  return v && v->type.kind == TN_TYPE_TENSOR ? v->type.dtype : TN_DTYPE_NONE;
}

/* Is the size of output i known from the file alone? */
static bool eval_is_fixed(const tn_eval *e, int i) {
  const tn_value *const v = e->node->out[i];
  if (!v || v->type.kind != TN_TYPE_TENSOR || v->type.rank < 0) return false;
  for (int j = 0; j < v->type.rank; j++)
    if (!v->type.dims[j] || !tn_sym_is_int(v->type.dims[j])) return false;
  return true;
}

tn_status tn_eval_out(tn_eval *e, int i, tn_dtype d, int rank, const int64_t *dims, tn_lit **out) {
  int64_t count;
  size_t bytes;
  if (!tn_dtype_valid((int)d))
    return tn_eval_fail(e, TN_INTERNAL, "the element type of output %d of %s is not known", i, e->node->op->name);
  if (rank < 0 || rank > TN_MAX_RANK)
    return tn_eval_fail(e, TN_LIMIT, "output %d has rank %d, the most is %d", i, rank, TN_MAX_RANK);
  if (!tn_dims_count(dims, rank, &count) || !tn_dtype_bytes(d, count, &bytes))
    return tn_eval_fail(e, TN_LIMIT, "output %d has too many elements", i);
  if (e->interp && e->interp->most && count > e->interp->most && !eval_is_fixed(e, i))
    return tn_eval_fail(e, TN_LIMIT, "output %d has %lld elements, at most %lld are tried", i, (long long)count,
                        (long long)e->interp->most);
  tn_lit *l = tn_lit_new(e->arena, d, rank, dims);
  if (l->bytes) memset(tn_lit_data(l), 0, l->bytes);
  e->out[i] = l;
  *out = l;
  return TN_OK;
}

tn_status tn_eval_axis(tn_eval *e, int64_t axis, int rank, int *out) {
  if (axis < -rank || axis >= rank)
    return tn_eval_fail(e, TN_MISMATCH, "axis %lld is out of range for rank %d", (long long)axis, rank);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return TN_OK;
}

tn_status tn_eval_bcast(tn_eval *e, int ra, const int64_t *a, int rb, const int64_t *b, int *out_rank,
                        int64_t *out_dims) {
  const int rank = ra > rb ? ra : rb;
  for (int i = rank - 1; i >= 0; i--) { /* from the last one: out_dims may be a or b */
    const int ia = i - (rank - ra), ib = i - (rank - rb);
    const int64_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1)
      return tn_eval_fail(e, TN_MISMATCH, "cannot broadcast dim %d: %lld with %lld", i, (long long)da, (long long)db);
    out_dims[i] = da == 1 ? db : da;
  }
  *out_rank = rank;
  return TN_OK;
}

void tn_strides(int rank, const int64_t *dims, int64_t *out_strides) {
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    out_strides[i] = stride;
    stride *= dims[i] > 0 ? dims[i] : 1;
  }
}

int64_t tn_bcast_index(int64_t index, int rank, const int64_t *dims, int ro, const int64_t *od) {
  int64_t offset = 0, stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    const int64_t at = index % dims[i];
    const int io = i - (rank - ro);
    index /= dims[i];
    if (io < 0) continue;
    if (od[io] != 1) offset += at * stride;
    stride *= od[io];
  }
  return offset;
}

/* A result that is not what inference promised is a fault of a rule or of the oracle. */
static tn_status eval_check_result(tn_eval *e, int i) {
  const tn_lit *l = e->out[i];
  const tn_type *t = &e->node->out[i]->type;
  if (!l) return tn_eval_fail(e, TN_INTERNAL, "the oracle of %s left output %d open", e->node->op->name, i);
  if (e->interp && e->interp->watch) return TN_OK;
  if (l->kind != TN_TYPE_TENSOR || t->kind != TN_TYPE_TENSOR) return TN_OK;
  if (t->dtype && t->dtype != l->dtype)
    return tn_eval_fail(e, TN_INTERNAL, "output %d was inferred %s, the oracle gives %s", i, tn_dtype_name(t->dtype),
                        tn_dtype_name(l->dtype));
  if (t->rank < 0) return TN_OK;
  if (t->rank != l->rank)
    return tn_eval_fail(e, TN_INTERNAL, "output %d was inferred of rank %d, the oracle gives %d", i, t->rank, l->rank);
  for (int j = 0; j < t->rank; j++)
    if (t->dims[j] && tn_sym_is_int(t->dims[j]) && t->dims[j]->k != l->dims[j])
      return tn_eval_fail(e, TN_INTERNAL, "dim %d of output %d was inferred %lld, the oracle gives %lld", j, i,
                          (long long)t->dims[j]->k, (long long)l->dims[j]);
  return TN_OK;
}

tn_status tn_eval_node(tn_graph *g, const tn_node *node, tn_interp *interp, tn_arena *arena, const tn_lit *const *in,
                       tn_lit **out) {
  const size_t n_out = node->n_out > 0 ? (size_t)node->n_out : 1;
  bool *present = TN_NEW_ARRAY(arena, bool, n_out);
  for (int i = 0; i < node->n_out; i++) {
    present[i] = node->out[i] != NULL;
    out[i] = NULL;
  }
  tn_eval e = {.ctx = g->ctx,
               .arena = arena,
               .node = node,
               .loc = node->loc,
               .n_in = node->n_in,
               .n_out = node->n_out,
               .in = in,
               .out = out,
               .out_present = present,
               .interp = interp,
               .graph = g};
  if (!node->op->eval) return tn_eval_fail(&e, TN_UNSUPPORTED, "%s cannot be evaluated by the oracle", node->op->name);
  TN_TRY_WHILE(g->ctx, node->op->eval(&e), "evaluating %s", node->op->name);
  for (int i = 0; i < node->n_out; i++)
    if (present[i]) TN_TRY(eval_check_result(&e, i));
  return TN_OK;
}
