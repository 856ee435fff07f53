#include "ir_test.h"

static const tn_lit *floats(tn_ctx *ctx, int64_t n, const double *v) {
  tn_lit *l = tn_lit_new(&ctx->arena, TN_F32, 1, &n);
  for (int64_t i = 0; i < n; i++) tn_store_f64(TN_F32, tn_lit_data(l), i, v[i]);
  return l;
}

IR_TEST(index_arithmetic) {
  const int64_t dims[3] = {2, 3, 4}, od[2] = {3, 1}, empty[2] = {0, 5};
  int64_t strides[3];
  tn_strides(3, dims, strides);
  CHECK_EQ_I(strides[0], 12);
  CHECK_EQ_I(strides[1], 4);
  CHECK_EQ_I(strides[2], 1);
  tn_strides(2, empty, strides);
  CHECK_EQ_I(strides[0], 5);
  CHECK_EQ_I(tn_bcast_index(0, 3, dims, 2, od), 0);
  CHECK_EQ_I(tn_bcast_index(7, 3, dims, 2, od), 1);  /* (0,1,3) -> (1,0) */
  CHECK_EQ_I(tn_bcast_index(23, 3, dims, 2, od), 2); /* (1,2,3) -> (2,0) */
  CHECK_EQ_I(tn_bcast_index(23, 3, dims, 3, dims), 23);
  CHECK_EQ_I(tn_bcast_index(23, 3, dims, 0, NULL), 0);
}

IR_TEST(node) {
  tn_graph *g = tn_graph_new(ctx);
  tn_value *x = tn_edit_add_param(g->main, "x", IR_TENSOR(g, TN_F32, "2"));
  tn_node *s = ir_sum(g->main, x, x);
  CHECK_EQ_I(tn_infer_node(g, s), TN_OK);
  const tn_lit *v = floats(ctx, 2, (const double[]){1.5, -4}), *in[2] = {v, v};
  tn_lit *out;
  CHECK_EQ_I(tn_eval_node(g, s, NULL, &ctx->arena, in, &out), TN_OK);
  CHECK_EQ_F(tn_lit_f64(out, 0), 3);
  CHECK_EQ_F(tn_lit_f64(out, 1), -8);
  const tn_lit *w = floats(ctx, 3, (const double[]){1, 2, 3}), *wrong[2] = {w, w};
  CHECK_EQ_I(tn_eval_node(g, s, NULL, &ctx->arena, wrong, &out), TN_INTERNAL); /* inference promised 2 elements */
  CHECK_STR(ir_last(ctx), "dim 0 of output 0 was inferred 2, the oracle gives 3");
}

IR_TEST(no_oracle) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *block = tn_edit_add_node(g->main, NULL, &ir_op_block, NULL, 0, 1, (tn_loc){0});
  tn_lit *out;
  CHECK_EQ_I(tn_eval_node(g, block, NULL, &ctx->arena, NULL, &out), TN_UNSUPPORTED);
  CHECK_STR(ir_last(ctx), "test_block cannot be evaluated by the oracle");
}

/* Runs its first region twice: on its operand, then on the result. */
static tn_status twice_eval(tn_eval *e) {
  const tn_lit *one, *two;
  TN_TRY(tn_eval_region(e, 0, &e->in[0], &one));
  TN_TRY(tn_eval_region(e, 0, &one, &two));
  tn_lit *own = TN_NEW(e->arena, tn_lit);
  *own = *two;
  e->out[0] = own;
  return TN_OK;
}

IR_TEST(regions) {
  tn_graph *g = tn_graph_new(ctx);
  tn_op op = ir_op_block;
  op.eval = twice_eval;
  op.n_regions = 1;
  tn_value *x = tn_edit_add_param(g->main, "x", IR_TENSOR(g, TN_F32, "1"));
  tn_value *outer = tn_edit_add_param(g->main, "outer", IR_TENSOR(g, TN_F32, "1"));
  tn_node *twice = tn_edit_add_node(g->main, NULL, &op, &x, 1, 1, (tn_loc){0});
  tn_region *body = twice->regions[0];
  tn_value *p = tn_edit_add_param(body, "p", IR_TENSOR(g, TN_F32, "1"));
  tn_node *s = ir_sum(body, p, outer); /* a captured value */
  CHECK_EQ_I(tn_infer_region(g, body), TN_OK);
  tn_edit_set_results(body, s->out, 1);
  const tn_lit **env = TN_NEW_ARRAY(&ctx->arena, const tn_lit *, g->n_values);
  tn_interp interp = {.graph = g, .arena = &ctx->arena, .env = env};
  CHECK_EQ_I(tn_interp_region(&interp, g->main), TN_INVALID);
  CHECK_STR(ir_last(ctx), "input 0 (value 'x') has no value");
  env[x->id] = floats(ctx, 1, (const double[]){1});
  env[outer->id] = floats(ctx, 1, (const double[]){10});
  CHECK_EQ_I(tn_interp_region(&interp, g->main), TN_OK);
  CHECK_EQ_F(tn_lit_f64(env[twice->out[0]->id], 0), 21);
  CHECK_EQ_I(interp.depth, 0);
}

IR_TEST(results_are_bounded) {
  tn_graph *g = tn_graph_new(ctx);
  tn_node *s = ir_sum(g->main, tn_edit_add_param(g->main, "x", (tn_type){0}), NULL);
  tn_lit *slot[1], *out;
  tn_eval e = {.ctx = ctx, .arena = &ctx->arena, .node = s, .n_out = 1, .out = slot, .graph = g};
  const int64_t huge[3] = {INT64_MAX, 2, 0}, fine[1] = {3};
  CHECK_EQ_I(tn_eval_out(&e, 0, TN_F32, 3, huge, &out), TN_LIMIT);
  CHECK_EQ_I(tn_eval_out(&e, 0, TN_DTYPE_NONE, 1, fine, &out), TN_INTERNAL);
  CHECK_EQ_I(tn_eval_out(&e, 0, TN_F32, 1, fine, &out), TN_OK);
  CHECK_EQ_F(tn_lit_f64(out, 2), 0);
  int rank = 0;
  int64_t dims[TN_MAX_RANK];
  const int64_t a[2] = {2, 1}, b[1] = {3}, c[1] = {2}, d[1] = {0};
  CHECK_EQ_I(tn_eval_bcast(&e, 2, a, 1, b, &rank, dims), TN_OK);
  CHECK(rank == 2 && dims[0] == 2 && dims[1] == 3);
  CHECK_EQ_I(tn_eval_bcast(&e, 2, a, 1, d, &rank, dims), TN_OK);
  CHECK_EQ_I(dims[1], 0);
  CHECK_EQ_I(tn_eval_bcast(&e, 1, c, 1, b, &rank, dims), TN_MISMATCH);
  CHECK_STR(ir_last(ctx), "cannot broadcast dim 0: 2 with 3");
}
