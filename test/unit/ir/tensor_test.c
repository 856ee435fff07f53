#include "ir_test.h"

IR_TEST(new_is_aligned_and_packed) {
  const int64_t dims[2] = {3, 1};
  tn_lit *l = tn_lit_new(&ctx->arena, TN_U4, 2, dims);
  CHECK_EQ_I(l->count, 3);
  CHECK_EQ_I(l->bytes, 2);
  CHECK_EQ_I((uintptr_t)l->data % 64, 0);
  memset(tn_lit_data(l), 0, 2);
  for (int i = 0; i < 3; i++) tn_lit_set_bits(l, i, (uint64_t)i + 9);
  CHECK_EQ_I(tn_lit_bits(l, 0), 9);
  CHECK_EQ_I(tn_lit_bits(l, 2), 11);
  CHECK_EQ_I(tn_lit_i64_at(l, 1), 10);
  CHECK_EQ_I(((const uint8_t *)l->data)[0], 0xa9);
}

IR_TEST(equal) {
  const int64_t v[3] = {1, -2, 3};
  tn_lit *a = tn_lit_i64(&ctx->arena, v, 3), *b = tn_lit_i64(&ctx->arena, v, 3), *c = tn_lit_i64(&ctx->arena, v, 2);
  CHECK(tn_lit_equal(a, b));
  CHECK(!tn_lit_equal(a, c));
  tn_store_i64(TN_I64, tn_lit_data(b), 1, 2);
  CHECK(!tn_lit_equal(a, b));
  CHECK(!tn_lit_equal(tn_lit_scalar_f64(&ctx->arena, TN_F32, 0.0), tn_lit_scalar_f64(&ctx->arena, TN_F32, -0.0)));
  CHECK(!tn_lit_equal(tn_lit_scalar_i64(&ctx->arena, TN_I32, 1), tn_lit_scalar_i64(&ctx->arena, TN_U32, 1)));
  const int64_t one = 1;
  tn_lit *s = tn_lit_new(&ctx->arena, TN_STR, 1, &one), *t = tn_lit_new(&ctx->arena, TN_STR, 1, &one);
  char hi[3] = "hi";
  *(tn_str *)tn_lit_data(s) = tn_str_of("hi");
  *(tn_str *)tn_lit_data(t) = tn_str_of(hi);
  CHECK(tn_lit_equal(s, t));
  const tn_lit *items[2] = {a, s};
  tn_lit q = {.kind = TN_TYPE_SEQUENCE, .items = items, .n_items = 2}, r = q;
  CHECK(tn_lit_equal(&q, &r));
  r.n_items = 1;
  CHECK(!tn_lit_equal(&q, &r));
}

IR_TEST(type_has_content) {
  tn_graph *g = tn_graph_new(ctx);
  const int64_t v[2] = {7, -1};
  tn_type t = tn_lit_type(ctx, g->syms, tn_lit_i64(&ctx->arena, v, 2));
  CHECK_STR(ir_type_text(g, &t), "i64[2]");
  CHECK_EQ_I(t.content[1].kind, TN_ELEM_SYM);
  CHECK_EQ_I(t.content[1].sym->k, -1);
  t = tn_lit_type(ctx, g->syms, tn_lit_scalar_f64(&ctx->arena, TN_F16, 2.5));
  CHECK_EQ_I(t.content[0].kind, TN_ELEM_F64);
  CHECK_EQ_F(t.content[0].f, 2.5);
  t = tn_lit_type(ctx, g->syms, tn_lit_scalar_i64(&ctx->arena, TN_U64, -1));
  CHECK_EQ_I(t.content[0].kind, TN_ELEM_NONE); /* 2^64 - 1 is no int64 */
  const int64_t big = TN_MAX_CONTENT + 1;
  t = tn_lit_type(ctx, g->syms, tn_lit_new(&ctx->arena, TN_U8, 1, &big));
  CHECK(!t.content);
}

IR_TEST(type_of_sequences) {
  tn_graph *g = tn_graph_new(ctx);
  const int64_t v[2] = {7, -1};
  const tn_lit *items[2] = {tn_lit_i64(&ctx->arena, v, 2), tn_lit_i64(&ctx->arena, v, 1)};
  const tn_lit q = {.kind = TN_TYPE_SEQUENCE, .items = items, .n_items = 2};
  tn_type t = tn_lit_type(ctx, g->syms, &q);
  CHECK_STR(ir_type_text(g, &t), "seq(i64[*])");
  const tn_lit empty = {.kind = TN_TYPE_OPTIONAL};
  t = tn_lit_type(ctx, g->syms, &empty);
  CHECK_STR(ir_type_text(g, &t), "opt(?)");
}
