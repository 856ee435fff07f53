/* Inference of nodes whose operands are constants: what no value rule tells, the operator's definition does. */
#include "ir/eval.h"
#include "ir/infer.h"

enum { LITERAL_MAX_WORK = 1 << 20 }; /* elements of an operand times elements of a result */

const tn_lit *tn_lit_of_content(tn_arena *a, const tn_type *t) {
  int64_t dims[TN_MAX_RANK];
  if (t->kind != TN_TYPE_TENSOR || !t->content || !tn_dtype_valid((int)t->dtype) || !tn_type_const_dims(t, dims))
    return NULL;
  const int64_t n = tn_type_content_count(t);
  const bool is_float = tn_dtype_is_float(t->dtype);
  for (int64_t i = 0; i < n; i++) {
    const tn_elem *e = &t->content[i];
    if (e->kind != TN_ELEM_F64 && (e->kind != TN_ELEM_SYM || !tn_sym_is_int(e->sym))) return NULL;
    if (e->kind == TN_ELEM_F64 && !is_float) return NULL;
  }
  tn_lit *lit = tn_lit_new(a, t->dtype, t->rank, dims);
  for (int64_t i = 0; i < n; i++) {
    const tn_elem *e = &t->content[i];
    if (is_float)
      tn_store_f64(t->dtype, tn_lit_data(lit), i, e->kind == TN_ELEM_F64 ? e->f : (double)e->sym->k);
    else
      tn_store_i64(t->dtype, tn_lit_data(lit), i, e->sym->k);
  }
  return lit;
}

/* A result that is small, and exact whoever computes it. */
static bool literal_wants(const tn_node *node, int i, int64_t operand) {
  const tn_value *v = node->out[i];
  int64_t dims[TN_MAX_RANK], count, work;
  if (!v || v->type.kind != TN_TYPE_TENSOR || v->type.content || !v->type.dtype) return false;
  if (tn_dtype_is_float(v->type.dtype) && node->op->accuracy.kind != TN_ACC_EXACT) return false;
  if (v->type.rank < 0 || !tn_type_const_dims(&v->type, dims)) return node->op->sizes == TN_SIZES_BOUND;
  return tn_dims_count(dims, v->type.rank, &count) && count <= TN_MAX_CONTENT && tn_mul_i64(count, operand, &work) &&
         work <= LITERAL_MAX_WORK;
}

/* Are all operands constants? Counts the elements of the longest. */
static bool literal_operands(const tn_node *node, int64_t *out_most) {
  *out_most = 1;
  for (int i = 0; i < node->n_in; i++) {
    const tn_value *v = node->in[i];
    if (v && !v->type.content) return false;
    const int64_t n = v ? tn_type_content_count(&v->type) : 0;
    if (n > *out_most) *out_most = n;
  }
  return node->n_in > 0;
}

bool tn_infer_literal(tn_graph *g, const tn_node *node, tn_type *out) {
  int64_t most;
  const uint32_t traits = node->op->traits;
  if (!node->op->eval || !(traits & TN_TRAIT_PURE) || (traits & (TN_TRAIT_RANDOM | TN_TRAIT_CONTROL))) return false;
  if (!literal_operands(node, &most)) return false;
  bool wanted = false;
  for (int i = 0; i < node->n_out; i++) wanted = wanted || literal_wants(node, i, most);
  if (!wanted) return false;
  tn_ctx *ctx = g->ctx;
  const tn_lit **in = TN_NEW_ARRAY(&ctx->arena, const tn_lit *, node->n_in);
  tn_lit **results = TN_NEW_ARRAY(&ctx->arena, tn_lit *, node->n_out + 1);
  for (int i = 0; i < node->n_in; i++)
    if (node->in[i] && !(in[i] = tn_lit_of_content(&ctx->arena, &node->in[i]->type))) return false;
  const size_t n_diags = ctx->diags.n, n_recorded = ctx->n_diags;
  if (tn_eval_node(g, node, NULL, &ctx->arena, in, results) != TN_OK) { /* it may stand in a branch never taken */
    ctx->diags.n = n_diags;
    ctx->n_diags = n_recorded;
    return false;
  }
  for (int i = 0; i < node->n_out; i++) {
    out[i] = node->out[i] ? node->out[i]->type : (tn_type){0};
    if (literal_wants(node, i, most) && results[i] && results[i]->dtype == out[i].dtype)
      out[i] = tn_lit_type(ctx, g->syms, results[i]);
  }
  return true;
}
