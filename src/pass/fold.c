/* fold: replaces what is known by constants, and small integers over symbols by `shape_value` nodes.
 *
 *   needs facts   gives -   breaks -
 *
 *   %2 = add(%c1, %c2) : i64[1]     ->  %2 = const() {value = dense([3])} : i64[1]
 *   %s = shape(%x) : i64[2]         ->  %s = shape_value() {elems = ["N", "3*H"], ...} : i64[2]
 */
#include "ir/eval.h"
#include "pass/known.h"
#include "pass/pass.h"

typedef struct fold {
  tn_pass *pass;
  tn_graph *graph;
  tn_known *known;
  const tn_op *constant, *shape_value;
  int64_t budget; /* bytes that evaluation may still make */
} fold;

/* An unfolded node is no loss, but work without end is: the oracle is slow on purpose. */
enum { FOLD_MAX_WORK = 1 << 28, FOLD_MAX_GROWTH = 1 << 20 };

static void fold_replace(tn_value *old, tn_value *with) {
  const char *name = old->name_made ? NULL : old->name;
  tn_edit_replace_uses(old, with);
  if (!name) return;
  tn_edit_name_value(old, NULL);
  tn_edit_name_value(with, name);
}

/* Every element an expression that is known before the node runs (a late symbol of its own result is not). */
static bool fold_is_symbolic(const fold *f, const tn_value *v) {
  const tn_type *t = &v->type;
  if (!t->content || !(tn_dtype_is_int(t->dtype) || tn_dtype_is_float(t->dtype) || t->dtype == TN_BOOL)) return false;
  if (tn_dtype_bits(t->dtype) < 8 || !tn_type_const_dims(t, NULL)) return false;
  const int64_t n = tn_type_content_count(t);
  if (n == 0) return false;
  for (int64_t i = 0; i < n; i++) {
    if (t->content[i].kind != TN_ELEM_SYM) return false;
    if (!tn_known_before(f->known, tn_known_when(f->known, t->content[i].sym), v->def)) return false;
  }
  return true;
}

static void fold_to_shape_value(const fold *f, tn_value *v) {
  tn_arena *a = &f->graph->ctx->arena;
  const tn_type *t = &v->type;
  const int64_t n = tn_type_content_count(t);
  tn_node *node = tn_edit_add_node(v->region, v->def, f->shape_value, NULL, 0, 1, v->def->loc);
  int64_t *dims = TN_NEW_ARRAY(a, int64_t, t->rank + 1);
  tn_str *elems = TN_NEW_ARRAY(a, tn_str, n);
  for (int j = 0; j < t->rank; j++) dims[j] = t->dims[j]->k;
  for (int64_t i = 0; i < n; i++) elems[i] = tn_str_of(tn_sym_text(f->graph->syms, t->content[i].sym));
  tn_edit_set_attr(node, "dims", (tn_attr){.kind = TN_ATTR_INTS, .n = t->rank, .ints = dims});
  tn_edit_set_attr(node, "dtype", (tn_attr){.kind = TN_ATTR_DTYPE, .i = t->dtype});
  tn_edit_set_attr(node, "elems", (tn_attr){.kind = TN_ATTR_STRS, .n = n, .strs = elems});
  tn_edit_set_type(node->out[0], *t);
  fold_replace(v, node->out[0]);
}

static void fold_known_outputs(fold *f, tn_node *node) {
  for (int i = 0; i < node->n_out; i++) {
    tn_value *v = node->out[i];
    if (!v || !v->n_uses || !tn_type_is_tensor(&v->type) || !tn_pass_may_edit(f->pass, f->graph)) continue;
    const tn_lit *lit = tn_lit_of_content(&f->graph->ctx->arena, &v->type);
    if (lit)
      fold_replace(v, tn_edit_const(f->graph->main, lit, NULL));
    else if (fold_is_symbolic(f, v))
      fold_to_shape_value(f, v);
  }
}

const tn_lit *tn_pass_const_of(const tn_value *v) {
  if (!v || !v->def || strcmp(v->def->op->name, "const") != 0) return NULL;
  const tn_attr *a = tn_op_attr(v->def, "value");
  return a && a->kind == TN_ATTR_TENSOR ? a->tensor : NULL;
}

/* All inputs constant; the results fit, are no bloat, and cost little. */
static bool fold_may_eval(const fold *f, const tn_node *node, const tn_lit **in) {
  if (!node->op->eval || node->n_in == 0) return false;
  int64_t in_bytes = 0, in_count = 1, out_bytes = 0, out_count = 1, work;
  for (int i = 0; i < node->n_in; i++) {
    in[i] = tn_pass_const_of(node->in[i]);
    if (node->in[i] && !in[i]) return false;
    if (!in[i]) continue;
    if (in[i]->kind != TN_TYPE_TENSOR || !tn_add_i64(in_bytes, (int64_t)in[i]->bytes, &in_bytes)) return false;
    if (in[i]->count > in_count) in_count = in[i]->count;
  }
  for (int i = 0; i < node->n_out; i++) {
    int64_t dims[TN_MAX_RANK], count;
    size_t bytes;
    if (!node->out[i]) continue;
    const tn_type *t = &node->out[i]->type;
    if (!tn_type_has_rank(t) || !tn_dtype_valid((int)t->dtype)) return false;
    if (!tn_type_const_dims(t, dims)) return in_bytes <= FOLD_MAX_GROWTH;
    if (!tn_dims_count(dims, t->rank, &count) || !tn_dtype_bytes(t->dtype, count, &bytes)) return false;
    if (bytes > INT64_MAX || !tn_add_i64(out_bytes, (int64_t)bytes, &out_bytes)) return false;
    if (count > out_count) out_count = count;
  }
  if (out_bytes > f->budget || in_bytes > f->budget) return false;
  if (out_bytes > FOLD_MAX_GROWTH && out_bytes / 4 > in_bytes) return false;
  const bool cheap = node->op->accuracy.kind == TN_ACC_EXACT || (node->op->traits & TN_TRAIT_ELEMENTWISE);
  return cheap || (tn_mul_i64(in_count, out_count, &work) && work <= FOLD_MAX_WORK);
}

/* A dim that only this node's run was to tell is known now. */
static void fold_define_late(const fold *f, const tn_value *v, const tn_lit *lit) {
  for (int j = 0; j < v->type.rank && j < lit->rank; j++) {
    if (!tn_sym_is_var(v->type.dims[j])) continue;
    tn_symbol *s = tn_sym_symbol(f->graph->syms, (uint32_t)v->type.dims[j]->k);
    if (s->source != TN_SOURCE_DIM || s->value != v->id || s->index != j) continue;
    s->source = TN_SOURCE_DEFINED;
    s->definition = tn_sym_int(f->graph->syms, lit->dims[j]);
  }
}

/* A node that fails on these constants is left alone: it may stand in a branch that is never taken. */
static void fold_eval(fold *f, tn_node *node, const tn_lit *const *in) {
  tn_ctx *ctx = f->graph->ctx;
  tn_lit **out = TN_NEW_ARRAY(&ctx->pass, tn_lit *, node->n_out + 1);
  const size_t n_diags = ctx->diags.n, n_recorded = ctx->n_diags;
  if (tn_eval_node(f->graph, node, NULL, &ctx->arena, in, out) != TN_OK) {
    ctx->diags.n = n_diags;
    ctx->n_diags = n_recorded;
    return;
  }
  for (int i = 0; i < node->n_out; i++) {
    tn_value *v = node->out[i];
    if (!v || !out[i] || out[i]->kind != TN_TYPE_TENSOR || out[i]->dtype != v->type.dtype) continue;
    if (out[i]->rank != v->type.rank) continue;
    f->budget -= (int64_t)out[i]->bytes;
    fold_define_late(f, v, out[i]);
    if (v->n_uses) fold_replace(v, tn_edit_const(f->graph->main, out[i], NULL));
  }
}

static tn_status fold_visit(void *arg, tn_node *node) {
  fold *f = arg;
  if (!(node->op->traits & TN_TRAIT_PURE) || (node->op->traits & (TN_TRAIT_RANDOM | TN_TRAIT_CONTROL))) return TN_OK;
  if (node->op == f->constant || node->op == f->shape_value || !tn_pass_may_edit(f->pass, f->graph)) return TN_OK;
  fold_known_outputs(f, node);
  bool used = false;
  for (int i = 0; i < node->n_out; i++) used |= node->out[i] && node->out[i]->n_uses > 0;
  if (!used || !tn_pass_may_edit(f->pass, f->graph)) return TN_OK;
  const tn_lit **in = TN_NEW_ARRAY(&f->graph->ctx->pass, const tn_lit *, node->n_in + 1);
  if (fold_may_eval(f, node, in)) fold_eval(f, node, in);
  return TN_OK;
}

tn_status tn_pass_fold(tn_pass *p, tn_graph *g) {
  fold f = {.pass = p, .graph = g, .known = tn_known_new(g, &p->ctx->pass)};
  f.constant = tn_op_find("const");
  f.shape_value = tn_op_find("shape_value");
  const int64_t mib = p->ctx->knobs.num[TN_KNOB_fold_max_mib];
  f.budget = mib < 0 ? 0 : mib > 4096 ? INT64_C(4096) << 20 : mib << 20;
  if (!f.constant || !f.shape_value) return tn_fail(p->ctx, TN_INTERNAL, (tn_loc){0}, "operator table without const");
  return tn_graph_walk(g, fold_visit, &f);
}
