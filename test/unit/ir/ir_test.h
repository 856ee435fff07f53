/* What the tests of ir/ share: a body that runs inside a compilation, operators of their own, last messages. */
#ifndef TN_TEST_IR_H
#define TN_TEST_IR_H

#include "ir/edit.h"
#include "ir/eval.h"
#include "ir/infer.h"
#include "ir/rules.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "test.h"

TEST_UNUSED static void ir_run(tn_status (*fn)(tn_ctx *ctx, void *arg)) {
  tn_ctx ctx;
  tn_error err = {0};
  if (!CHECK(tn_ctx_init(&ctx, tn_allocator_system(), &err) == TN_OK)) return;
  CHECK_EQ_I(tn_ctx_run(&ctx, fn, NULL), TN_OK);
  tn_ctx_drop(&ctx);
}

#define IR_TEST(name)                                          \
  static void irtest_##name(TEST_UNUSED tn_ctx *ctx);          \
  static tn_status irtest_run_##name(tn_ctx *ctx, void *arg) { \
    (void)arg;                                                 \
    irtest_##name(ctx);                                        \
    return TN_OK;                                              \
  }                                                            \
  TEST(name) { ir_run(irtest_run_##name); }                    \
  static void irtest_##name(TEST_UNUSED tn_ctx *ctx)

TEST_UNUSED static const char *ir_last(const tn_ctx *ctx) {
  return ctx->diags.n ? ctx->diags.at[ctx->diags.n - 1].text : "";
}

TEST_UNUSED static tn_status ir_pass(tn_rule *r) {
  (void)r;
  return TN_OK;
}

TEST_UNUSED static tn_status ir_sum_eval(tn_eval *e) { /* all inputs, of one shape, added */
  tn_lit *out;
  TN_TRY(tn_eval_out(e, 0, e->in[0]->dtype, e->in[0]->rank, e->in[0]->dims, &out));
  for (int64_t i = 0; i < out->count; i++) {
    double v = 0;
    for (int k = 0; k < e->n_in; k++) v += tn_lit_f64(e->in[k], i);
    tn_store_f64(out->dtype, tn_lit_data(out), i, v);
  }
  return TN_OK;
}

/* Operators that are in no table: nodes of them are made by pointer. */
TEST_UNUSED static const tn_op ir_op_sum = {
    .name = "test_sum",
    .in = {{"a", TN_SET_FLOATS, "T", 0}, {"b", TN_SET_FLOATS, "T", TN_PORT_OPTIONAL}},
    .out = {{"c", 0, "T", 0}},
    .attrs = {{"axis", TN_ATTR_INT, .i = -1}, {"alpha", TN_ATTR_FLOAT, .f = 0.5}, {"mode", TN_ATTR_STR, .s = "x"}},
    .type = tn_type_by_group,
    .shape = tn_shape_broadcast,
    .value = NULL,
    .eval = ir_sum_eval,
};
TEST_UNUSED static const tn_op ir_op_block = {
    .name = "test_block",
    .in = {{"a", 0, NULL, TN_PORT_VARIADIC | TN_PORT_OPTIONAL | TN_PORT_ANY_KIND}},
    .out = {{"c", 0, NULL, TN_PORT_VARIADIC | TN_PORT_ANY_KIND}},
    .attrs = {{"first", TN_ATTR_REGION, .required = true}, {"second", TN_ATTR_REGION, .required = true}},
    .n_regions = 2,
    .shape = ir_pass,
};

TEST_UNUSED static tn_type ir_tensor(tn_graph *g, tn_dtype d, int rank, const char *const *dims) {
  tn_sym *own = TN_NEW_ARRAY(&g->ctx->arena, tn_sym, rank + 1);
  for (int i = 0; i < rank; i++) CHECK(tn_sym_try_parse(g->syms, tn_str_of(dims[i]), &own[i]));
  return tn_type_tensor(d, rank, own);
}
#define IR_TENSOR(g, d, ...) \
  ir_tensor((g), (d), (int)TN_COUNT(((const char *const[]){__VA_ARGS__})), (const char *const[]){__VA_ARGS__})

TEST_UNUSED static const char *ir_type_text(tn_graph *g, const tn_type *t) {
  tn_text text;
  tn_text_init(&text, &g->ctx->arena);
  tn_type_print(g->syms, &text, t);
  return tn_text_z(&text);
}

TEST_UNUSED static tn_node *ir_sum(tn_region *r, tn_value *a, tn_value *b) {
  tn_value *in[2] = {a, b};
  return tn_edit_add_node(r, NULL, &ir_op_sum, in, 2, 1, (tn_loc){.kind = "node", .name = "s", .op = "Sum"});
}

#endif
