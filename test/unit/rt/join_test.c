/* Operands that are made where the result of a step has them. */
#include "rt/testing.h"

enum { X, A, B, Y };

/* a = x + x, b = x * x, y = (a, b) along axis 0 of [N], or axis `axis` of [N,1]. */
static void join_build(fixture *f, int rank, int64_t axis, const char *kernel) {
  build *const b = &f->b;
  fixture_init(f);
  const uint32_t n = build_symbol(b, "N", 1, 100, 1), segment = build_segment(b);
  build_bind(b, n, X, 0, false);
  const uint32_t one = build_const(b, 1), two = build_const(b, 2), both = build_ins(b, TN_SHAPE_MULI, n, 0, 2);
  const uint32_t *const sum = axis ? SLOTS(n, two) : SLOTS(both, one);
  build_region(b, TN_NO_INDEX, segment);
  const int32_t x = (int32_t)build_input(b, "x", TN_F32, rank, SLOTS(n, one), "f32[N]");
  b->regions[0].params = build_list(b, LIST(x));
  for (int i = 0; i < 2; i++) build_value(b, i ? "b" : "a", TN_F32, TN_STORE_BUFFER, rank, SLOTS(n, one));
  build_buffered(b, "y", TN_F32, rank, sum, 0, 2);
  build_step(b, 0, TN_STEP_KERNEL, "add", LIST(x, x), LIST(A));
  build_step(b, 0, TN_STEP_KERNEL, "mul", LIST(x, x), LIST(B));
  const uint32_t step = build_step(b, 0, TN_STEP_KERNEL, kernel, LIST(A, B), LIST(Y));
  build_attr(b, step, (tn_pattr){.name = "axis", .kind = TN_PATTR_INT, .i = axis});
  b->values[A].part = 1 + b->steps[step].in.first;
  b->values[B].part = 1 + b->steps[step].in.first + 1;
  b->regions[0].results = build_list(b, LIST(Y));
  build_output(b, Y, "f32[2*N]");
}

static void join_check(fixture *f, int64_t n) {
  const float x[] = {1, 2, 3, 4, 5};
  fixture_f32(f, 0, x, 1, DIMS(n));
  if (!CHECK_EQ_I(tn_rt_run(f->s, &f->err), TN_OK)) printf("  %s\n", f->err.text);
  const tn_karg *y = tn_rt_output(f->s, 0);
  const float *const at = y->data;
  CHECK_EQ_I(y->dims[0], 2 * n);
  for (int64_t i = 0; i < n; i++) {
    CHECK_EQ_F(at[i], 2 * x[i]);
    CHECK_EQ_F(at[n + i], x[i] * x[i]);
  }
}

TEST(parts_follow_the_sizes) {
  fixture f;
  float room[10];
  join_build(&f, 1, 0, "concat");
  if (!CHECK(fixture_start(&f))) return;
  join_check(&f, 3);
  join_check(&f, 5);
  join_check(&f, 1);
  CHECK_EQ_I(tn_rt_get_stats(f.s).arena_bytes, 64);                       /* nothing but y */
  CHECK_EQ_I(tn_rt_set_output(f.s, 0, room, sizeof room, &f.err), TN_OK); /* y and its parts move there */
  join_check(&f, 5);
  CHECK(tn_rt_output_is_in_place(f.s, 0));
  CHECK_EQ_F(room[9], 25);
  fixture_drop(&f);
}

TEST(only_kernels_that_join) {
  fixture f;
  join_build(&f, 1, 0, "add");
  CHECK_EQ_I(tn_program_copy(f.allocator, &f.b.p, true, &f.p, &f.err), TN_OK);
  CHECK_EQ_I(tn_rt_session_create(f.p, f.allocator, NULL, &f.s, &f.err), TN_INTERNAL);
  CHECK_STR(f.err.text, "add: kernel 'add' does not join");
  f.s = NULL;
  fixture_drop(&f);
}

TEST(rows_do_not_lie_together) { /* along axis 1 a and b are one after the other for one row only */
  const float x[] = {1, 2, 3};
  for (int64_t n = 1; n <= 3; n += 2) {
    fixture f;
    join_build(&f, 2, 1, "concat");
    if (!CHECK(fixture_start(&f))) return;
    fixture_f32(&f, 0, x, 2, DIMS(n, 1));
    CHECK_EQ_I(tn_rt_run(f.s, &f.err), n == 1 ? TN_OK : TN_MISMATCH);
    if (n != 1) CHECK_STR(f.err.text, "concat: what is joined does not make up 'y'");
    fixture_drop(&f);
  }
}
