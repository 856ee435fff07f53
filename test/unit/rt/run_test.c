/* Bind and run: the smallest program, its errors, its second run. */
#include "code/build.h"
#include "rt/testing.h"

TEST(adds) {
  fixture x;
  if (!CHECK(fixture_add(&x))) return;
  const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {10, 20, 30, 40, 50, 60};
  fixture_f32(&x, 0, a, 2, DIMS(3, 2));
  fixture_f32(&x, 1, b, 2, DIMS(3, 2));
  if (CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_OK)) {
    const tn_karg *y = tn_rt_output(x.s, 0);
    CHECK_EQ_I(y->rank, 2);
    CHECK_EQ_I(y->dims[0], 3);
    CHECK_EQ_I(y->dims[1], 2);
    const float want[6] = {12, 24, 34, 46, 56, 68};
    for (int i = 0; i < 6; i++) CHECK_EQ_F(((const float *)y->data)[i], want[i]);
    const tn_rt_stats stats = tn_rt_get_stats(x.s);
    CHECK_EQ_I(stats.live_bytes, 128); /* two of three buffers of 24 bytes live at once, each 64 */
    CHECK_EQ_I(stats.arena_bytes, 128);
  } else {
    printf("  %s\n", x.err.text);
  }
  fixture_drop(&x);
}

TEST(second_run_allocates_and_binds_nothing) {
  fixture x;
  if (!CHECK(fixture_add(&x))) return;
  static float a[200], b[200];
  for (int round = 0; round < 4; round++) {
    const int64_t n = round < 2 ? 3 : 100;
    const int64_t calls = x.probe.calls;
    fixture_f32(&x, 0, a, 2, DIMS(n, 2));
    fixture_f32(&x, 1, b, 2, DIMS(n, 2));
    a[1] = (float)round;
    CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_OK);
    CHECK_EQ_F(((const float *)tn_rt_output(x.s, 0)->data)[1], round + 2);
    if (round == 1 || round == 3) CHECK_EQ_I(x.probe.calls, calls);
    CHECK_EQ_I(tn_rt_get_stats(x.s).binds, round < 2 ? 1 : 2);
  }
  CHECK_EQ_I(tn_rt_get_stats(x.s).runs, 4);
  fixture_drop(&x);
}

TEST(wrong_inputs_say_why) {
  fixture x;
  if (!CHECK(fixture_add(&x))) return;
  static const float data[1000];
  tn_error err = {TN_OK, ""};
  CHECK_EQ_I(tn_rt_run(x.s, &err), TN_MISMATCH);
  CHECK_STR(err.text, "input 'a' is missing (f32[N,2])");
#define REFUSED(i, karg, code, message)                        \
  do {                                                         \
    const tn_karg arg = karg;                                  \
    err = (tn_error){TN_OK, ""};                               \
    CHECK_EQ_I(tn_rt_set_input(x.s, (i), &arg, &err), (code)); \
    CHECK_STR(err.text, message);                              \
  } while (0)
  REFUSED(0, fixture_arg(TN_F64, data, 2, DIMS(3, 2)), TN_MISMATCH, "input 'a' is f64, expected f32 (f32[N,2])");
  REFUSED(0, fixture_arg(TN_F32, data, 1, DIMS(3)), TN_MISMATCH, "input 'a' has rank 1, expected 2 (f32[N,2])");
  REFUSED(0, fixture_arg(TN_F32, data, 2, DIMS(3, 4)), TN_MISMATCH, "input 'a' dim 1 is 4, expected 2 (f32[N,2])");
  REFUSED(0, fixture_arg(TN_F32, data, 2, DIMS(-3, 2)), TN_INVALID, "input 'a' dim 0 is -3");
  REFUSED(0, fixture_arg(TN_F32, NULL, 2, DIMS(3, 2)), TN_INVALID, "input 'a' has no data");
  REFUSED(0, fixture_arg(TN_F32, (const char *)data + 2, 2, DIMS(3, 2)), TN_INVALID,
          "the data of input 'a' is not aligned to its elements");
  REFUSED(0, fixture_arg(TN_F32, data, 2, DIMS(INT64_MAX, 2)), TN_LIMIT, "input 'a' is too large");
  REFUSED(5, fixture_arg(TN_F32, data, 2, DIMS(3, 2)), TN_INVALID, "there is no input 5: the model has 2");
  tn_karg seq = fixture_arg(TN_F32, data, 2, DIMS(3, 2));
  seq.kind = TN_KARG_SEQUENCE;
  REFUSED(0, seq, TN_MISMATCH, "input 'a' is a sequence, expected a tensor (f32[N,2])");
  fixture_f32(&x, 0, data, 2, DIMS(3, 2));
  fixture_f32(&x, 1, data, 2, DIMS(5, 2));
  err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_rt_run(x.s, &err), TN_MISMATCH);
  CHECK_STR(err.text, "input 'b' dim 0 is 5, but N is 3 (input 'a' dim 0)");
  fixture_f32(&x, 0, data, 2, DIMS(101, 2));
  err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_rt_run(x.s, &err), TN_MISMATCH);
  CHECK_STR(err.text, "input 'a' dim 0 is 101, but N must be at most 100");
  fixture_f32(&x, 0, data, 2, DIMS(0, 2));
  err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_rt_run(x.s, &err), TN_MISMATCH);
  CHECK_STR(err.text, "input 'a' dim 0 is 0, but N must be at least 1");
  fixture_f32(&x, 0, data, 2, DIMS(5, 2));
  CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_OK); /* usable after errors */
  fixture_drop(&x);
}

TEST(symbols_by_the_caller) {
  fixture x;
  if (!CHECK(fixture_add(&x))) return;
  static const float data[20];
  tn_error err = {TN_OK, ""};
  CHECK_EQ_I(tn_rt_set_symbol(x.s, "M", 4, &err), TN_INVALID);
  CHECK_STR(err.text, "there is no symbol 'M'");
  CHECK_EQ_I(tn_rt_set_symbol(x.s, "N", 4, &x.err), TN_OK);
  fixture_f32(&x, 0, data, 2, DIMS(3, 2));
  fixture_f32(&x, 1, data, 2, DIMS(3, 2));
  err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_rt_run(x.s, &err), TN_MISMATCH);
  CHECK_STR(err.text, "input 'a' dim 0 is 3, but N was set to 4");
  CHECK_EQ_I(tn_rt_set_symbol(x.s, "N", 3, &x.err), TN_OK);
  CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_OK);
  fixture_drop(&x);
}

/* Needed: symbol K that no input gives. x[K] -> y = identity. */
TEST(free_symbol) {
  fixture x;
  fixture_init(&x);
  build *b = &x.b;
  const uint32_t k = build_symbol(b, "K", 1, 8, 2);
  const uint32_t segment = build_segment(b);
  build_region(b, TN_NO_INDEX, segment);
  const int32_t in = (int32_t)build_input(b, "x", TN_F32, 1, SLOTS(k), "f32[K]");
  const int32_t y = (int32_t)build_buffered(b, "y", TN_F32, 1, SLOTS(k), 0, 0);
  b->regions[0].params = build_list(b, LIST(in));
  build_step(b, 0, TN_STEP_KERNEL, "identity", LIST(in), LIST(y));
  build_output(b, (uint32_t)y, "f32[K]");
  if (!CHECK(fixture_start(&x))) return;
  static const float data[8] = {1, 2, 3, 4};
  tn_error err = {TN_OK, ""};
  fixture_f32(&x, 0, data, 1, DIMS(4));
  CHECK_EQ_I(tn_rt_run(x.s, &err), TN_MISMATCH);
  CHECK_STR(err.text, "no input gives symbol 'K': it must be set");
  CHECK_EQ_I(tn_rt_set_symbol(x.s, "K", 3, &x.err), TN_OK);
  err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_rt_run(x.s, &err), TN_MISMATCH);
  CHECK_STR(err.text, "K is 3, but K must be a multiple of 2");
  CHECK_EQ_I(tn_rt_set_symbol(x.s, "K", 6, &x.err), TN_OK);
  err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_rt_run(x.s, &err), TN_MISMATCH);
  CHECK_STR(err.text, "input 'x' dim 0 is 4, expected 6 (K=6)");
  CHECK_EQ_I(tn_rt_set_symbol(x.s, "K", 4, &x.err), TN_OK);
  CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_OK);
  CHECK_EQ_F(((const float *)tn_rt_output(x.s, 0)->data)[3], 4);
  fixture_drop(&x);
}

/* n (i64[]) gives N by its content; y = identity of x[N*2-6]; check N != 5; a view, a shape value {N, N*2-6}. */
static void build_elements(build *b) {
  const uint32_t n = build_symbol(b, "N", 0, INT64_MAX, 1);
  const uint32_t segment = build_segment(b);
  build_bind(b, n, 0, 0, true);
  const uint32_t two_n = build_ins(b, TN_SHAPE_MULI, n, 0, 2), six = build_const(b, -6);
  const uint32_t size = build_ins(b, TN_SHAPE_ADD, two_n, six, 0);
  const uint32_t five = build_const(b, 5), two = build_const(b, 2), one = build_const(b, 1);
  const uint32_t is_five = build_ins(b, TN_SHAPE_EQ, n, five, 0), not_five = build_ins(b, TN_SHAPE_NOT, is_five, 0, 0);
  build_check(b, not_five, "node 'pick' (Slice): N must not be 5");
  build_region(b, TN_NO_INDEX, segment);
  const int32_t count = (int32_t)build_input(b, "n", TN_I64, 0, SLOTS(n), "i64[]");
  const int32_t a = (int32_t)build_value(b, "a", TN_F32, TN_STORE_LATE, 1, SLOTS(size));
  const int32_t v = (int32_t)build_value(b, "v", TN_F32, TN_STORE_VIEW, 2, SLOTS(one, size));
  b->values[v].index = a;
  const int32_t sizes = (int32_t)build_value(b, "sizes", TN_I32, TN_STORE_SHAPE, 1, SLOTS(two));
  b->values[sizes].shape_elems = build_dims(b, 2, SLOTS(n, size));
  static const float one_f = 1;
  const int32_t unit = (int32_t)build_constant(b, "one", TN_F32, 0, SLOTS(0), &one_f, 4);
  const int32_t y = (int32_t)build_buffered(b, "y", TN_F32, 2, SLOTS(one, size), 1, 1);
  b->regions[0].params = build_list(b, LIST(count));
  build_step(b, 0, TN_STEP_KERNEL, "expand", LIST(unit, (int32_t)b->p.n_values), LIST(a));
  build_step(b, 0, TN_STEP_KERNEL, "identity", LIST(v), LIST(y));
  const int32_t expand_to = (int32_t)build_value(b, "expand_to", TN_I64, TN_STORE_SHAPE, 1, SLOTS(one));
  b->values[expand_to].shape_elems = build_dims(b, 1, SLOTS(size));
  build_output(b, (uint32_t)y, "f32[1,2*N-6]");
  build_output(b, (uint32_t)sizes, "i32[2]");
}

static tn_status run_with(fixture *x, int64_t n, tn_error *err) {
  static int64_t held;
  held = n;
  const tn_karg arg = fixture_arg(TN_I64, &held, 0, NULL);
  *err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_rt_set_input(x->s, 0, &arg, err), TN_OK);
  return tn_rt_run(x->s, err);
}

TEST(contents_that_are_shapes) {
  fixture x;
  fixture_init(&x);
  build_elements(&x.b);
  if (!CHECK(fixture_start(&x))) return;
  tn_error err;
  if (!CHECK_EQ_I(run_with(&x, 7, &err), TN_OK)) printf("  %s\n", err.text);
  CHECK_EQ_I(tn_rt_output(x.s, 0)->dims[1], 8);
  CHECK_EQ_F(((const float *)tn_rt_output(x.s, 0)->data)[7], 1);
  CHECK_EQ_I(((const int32_t *)tn_rt_output(x.s, 1)->data)[0], 7);
  CHECK_EQ_I(((const int32_t *)tn_rt_output(x.s, 1)->data)[1], 8);
  CHECK_EQ_I(run_with(&x, 7, &err), TN_OK);
  CHECK_EQ_I(tn_rt_get_stats(x.s).binds, 1);
  CHECK_EQ_I(run_with(&x, 6, &err), TN_OK);
  CHECK_EQ_I(tn_rt_get_stats(x.s).binds, 2);
  CHECK_EQ_I(tn_rt_output(x.s, 0)->dims[1], 6);
  CHECK_EQ_I(run_with(&x, 3, &err), TN_OK); /* nothing in it */
  CHECK_EQ_I(tn_rt_output(x.s, 0)->count, 0);
  CHECK_EQ_I(run_with(&x, 5, &err), TN_MISMATCH);
  CHECK_STR(err.text, "node 'pick' (Slice): N must not be 5 (N=5)");
  CHECK_EQ_I(run_with(&x, 2, &err), TN_MISMATCH);
  CHECK_STR(err.text, "value 'y' dim 1 would be -2 (N=2)");
  CHECK_EQ_I(run_with(&x, INT64_MAX, &err), TN_LIMIT);
  CHECK_STR(err.text, "value 'a': a size is beyond 64 bits (N=9223372036854775807)");
  CHECK_EQ_I(run_with(&x, (INT64_C(1) << 62) - 1, &err), TN_LIMIT);
  CHECK_STR(err.text, "value 'y' is too large");
  x.probe.fail_at = x.probe.calls + 1;
  CHECK_EQ_I(run_with(&x, 1003, &err), TN_OOM);
  CHECK_STR(err.text, "no memory for buffers of 8000 bytes (the largest is of value 'y', 8000 bytes)");
  x.probe.fail_at = 0;
  CHECK_EQ_I(run_with(&x, -1, &err), TN_MISMATCH);
  CHECK_STR(err.text, "input 'n' element 0 is -1, but N must be at least 0");
  CHECK_EQ_I(run_with(&x, 4, &err), TN_OK);
  CHECK_EQ_I(tn_rt_output(x.s, 0)->dims[1], 2);
  fixture_drop(&x);
}

TEST(unknown_kernels_are_all_named) {
  fixture x;
  fixture_init(&x);
  build_add(&x.b, x.allocator);
  x.b.steps[0].kernel = "frobnicate";
  x.b.steps[2].kernel = "nope";
  x.b.steps[2].label = "node 'last' (Nope)";
  tn_program *p = NULL;
  if (!CHECK_EQ_I(tn_program_copy(x.allocator, &x.b.p, true, &p, &x.err), TN_OK)) return;
  CHECK_EQ_I(tn_rt_session_create(p, x.allocator, NULL, &x.s, &x.err), TN_UNSUPPORTED);
  CHECK_STR(x.err.text, "add: no kernel 'frobnicate'; node 'last' (Nope): no kernel 'nope'");
  tn_program_release(p);
  CHECK_EQ_I(x.probe.live_bytes, 0);
}

/* A kernel that decides sizes disagrees with the program. */
TEST(planned_size_that_the_kernel_contradicts) {
  fixture x;
  fixture_init(&x);
  build_add(&x.b, x.allocator);
  x.b.dim_slots[x.b.values[5].dims.first] = x.b.p.n_symbols; /* y[2,2] instead of y[N,2] */
  if (!CHECK(fixture_start(&x))) return;
  static const float data[6];
  fixture_f32(&x, 0, data, 2, DIMS(3, 2));
  fixture_f32(&x, 1, data, 2, DIMS(3, 2));
  CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_INTERNAL);
  CHECK_STR(x.err.text, "identity: output 0 dim 0 is 3, but the plan is 2");
  fixture_drop(&x);
}

static tn_status count_steps(void *arg, uint32_t step, const tn_kcall *call, int64_t ns, tn_error *err) {
  int *seen = arg;
  CHECK_EQ_I(step, seen[0]);
  CHECK(ns >= 0 && call->n_out == 1);
  seen[0]++;
  return seen[0] == seen[1] ? tn_error_set(err, TN_INVALID, "stopped by the hook") : TN_OK;
}

TEST(hook) {
  fixture x;
  if (!CHECK(fixture_add(&x))) return;
  static const float data[6];
  int seen[2] = {0, 0};
  fixture_f32(&x, 0, data, 2, DIMS(3, 2));
  fixture_f32(&x, 1, data, 2, DIMS(3, 2));
  tn_rt_set_hook(x.s, count_steps, seen);
  CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_OK);
  CHECK_EQ_I(seen[0], 3);
  seen[0] = 0;
  seen[1] = 2;
  CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_INVALID);
  CHECK_STR(x.err.text, "stopped by the hook");
  fixture_drop(&x);
}

/* Allocation k fails, for every k until all succeeds: a status, and nothing is left. */
TEST(every_allocation_may_fail) {
  static const float data[6];
  bool done = false;
  int64_t k = 1;
  for (; !done && k < 1000; k++) {
    fixture x;
    fixture_init(&x);
    build_add(&x.b, x.allocator);
    x.probe.fail_at = k;
    tn_status status = TN_OK;
    tn_program *p = NULL;
    tn_rt_session *s = NULL;
    const tn_karg a = fixture_arg(TN_F32, data, 2, DIMS(3, 2));
    status = tn_program_copy(x.allocator, &x.b.p, true, &p, &x.err);
    if (status == TN_OK) status = tn_rt_session_create(p, x.allocator, NULL, &s, &x.err);
    if (status == TN_OK) status = tn_rt_set_input(s, 0, &a, &x.err);
    if (status == TN_OK) status = tn_rt_set_input(s, 1, &a, &x.err);
    if (status == TN_OK) status = tn_rt_run(s, &x.err);
    done = status == TN_OK;
    CHECK(done || (status == TN_OOM && x.err.text[0]));
    if (!done && s) { /* the session works once memory is back */
      x.err = (tn_error){TN_OK, ""};
      CHECK_EQ_I(tn_rt_run(s, &x.err), TN_OK);
    }
    tn_rt_session_release(s);
    tn_program_release(p);
    CHECK_EQ_I(x.probe.live_bytes, 0);
  }
  CHECK(done && k > 6);
}

/* When memory ends while the state is kept, the next run goes on from the state before. */
TEST(state_is_kept_whole) {
  fixture x;
  if (!CHECK(fixture_add(&x))) return;
  const float a[4] = {1, 2, 3, 4}, b[4] = {10, 10, 10, 10};
  fixture_f32(&x, 0, a, 2, DIMS(2, 2));
  fixture_f32(&x, 1, b, 2, DIMS(2, 2));
  CHECK_EQ_I(tn_rt_link(x.s, 0, 0, &x.err), TN_OK);
  CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_OK);
  CHECK_EQ_F(((const float *)tn_rt_output(x.s, 0)->data)[0], 12);
  x.probe.fail_at = x.probe.calls + 1;
  CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_OOM);
  x.probe.fail_at = 0;
  for (int i = 1; i < 4; i++) {
    CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_OK);
    CHECK_EQ_F(((const float *)tn_rt_output(x.s, 0)->data)[0], 12 + 11 * i);
  }
  fixture_drop(&x);
}
