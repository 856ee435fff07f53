/* If, Loop, Scan, SequenceMap; values whose size appears in the middle of a run. Expected values are computed by hand.
 */
#include "rt/testing.h"

static const int64_t control_i64[] = {0, 1, 2, 3};

static void control_set(fixture *x, uint32_t i, tn_karg arg) {
  if (!CHECK_EQ_I(tn_rt_set_input(x->s, i, &arg, &x->err), TN_OK)) printf("  %s\n", x->err.text);
}

static bool control_run(fixture *x) {
  x->err = (tn_error){TN_OK, ""};
  const bool ok = CHECK_EQ_I(tn_rt_run(x->s, &x->err), TN_OK);
  if (!ok) printf("  %s\n", x->err.text);
  return ok;
}

static void control_is_i64(const tn_karg *a, int n, const int64_t *want) {
  CHECK_EQ_I(a->dtype, TN_I64);
  CHECK_EQ_I(a->count, n);
  for (int i = 0; i < n && i < a->count; i++) CHECK_EQ_I(tn_load_i64(TN_I64, a->data, i), want[i]);
}

/* y = c ? x + x : x, planned and late. */
static void build_if(build *b, bool late) {
  const uint32_t n = build_symbol(b, "N", 0, INT64_MAX, 1);
  build_segment(b);
  build_bind(b, n, 1, 0, false);
  build_region(b, TN_NO_INDEX, 0);
  const int32_t c = (int32_t)build_input(b, "c", TN_BOOL, 0, SLOTS(n), "bool[]");
  const int32_t x = (int32_t)build_input(b, "x", TN_I64, 1, SLOTS(n), "i64[N]");
  const int32_t y = (int32_t)(late ? build_value(b, "y", TN_I64, TN_STORE_LATE, 1, NULL)
                                   : build_buffered(b, "y", TN_I64, 1, SLOTS(n), 0, 0));
  b->regions[0].params = build_list(b, LIST(c, x));
  const uint32_t step = build_step(b, 0, TN_STEP_IF, NULL, LIST(c), LIST(y));
  build_output(b, (uint32_t)y, "i64[N]");
  const uint32_t then_region = build_region(b, (int32_t)step, build_segment(b));
  const int32_t twice = (int32_t)build_buffered(b, "twice", TN_I64, 1, SLOTS(n), 0, 0);
  build_step(b, then_region, TN_STEP_KERNEL, "add", LIST(x, x), LIST(twice));
  b->regions[then_region].results = build_list(b, LIST(twice));
  const uint32_t else_region = build_region(b, (int32_t)step, build_segment(b));
  b->regions[else_region].results = build_list(b, LIST(x));
  b->steps[step].regions = build_list(b, LIST((int32_t)then_region, (int32_t)else_region));
}

TEST(if_planned_and_late) {
  for (int late = 0; late < 2; late++) {
    fixture x;
    fixture_init(&x);
    build_if(&x.b, late);
    if (!CHECK(fixture_start(&x))) return;
    const uint8_t yes = 1, no = 0;
    control_set(&x, 1, fixture_arg(TN_I64, control_i64, 1, DIMS(3)));
    control_set(&x, 0, fixture_arg(TN_BOOL, &yes, 0, NULL));
    if (control_run(&x)) control_is_i64(tn_rt_output(x.s, 0), 3, (const int64_t[]){0, 2, 4});
    control_set(&x, 0, fixture_arg(TN_BOOL, &no, 0, NULL));
    if (control_run(&x)) control_is_i64(tn_rt_output(x.s, 0), 3, (const int64_t[]){0, 1, 2});
    const int64_t calls = x.probe.calls;
    if (control_run(&x)) CHECK_EQ_I(x.probe.calls, calls);
    fixture_drop(&x);
  }
}

/* Loop(M, cond, s = [0]): body gives next = 0..iter+1 (a longer state each time), size(s + s); goes on while
 * iter < 2 when `by_condition`. Outputs: the last state, the sizes. */
static void build_loop(build *b, bool by_condition) {
  static const int64_t zero = 0, one = 1, two = 2;
  const uint32_t len = build_symbol(b, "L", 0, INT64_MAX, 1);
  build_segment(b);
  const uint32_t slot_one = build_const(b, 1);
  build_region(b, TN_NO_INDEX, 0);
  const int32_t m = (int32_t)build_input(b, "m", TN_I64, 0, SLOTS(len), "i64[]");
  const int32_t c = (int32_t)build_input(b, "c", TN_BOOL, 0, SLOTS(len), "bool[]");
  const int32_t start = (int32_t)build_constant(b, "start", TN_I64, 1, SLOTS(slot_one), &zero, 8);
  const int32_t k0 = (int32_t)build_constant(b, "k0", TN_I64, 0, SLOTS(len), &zero, 8);
  const int32_t k1 = (int32_t)build_constant(b, "k1", TN_I64, 0, SLOTS(len), &one, 8);
  const int32_t k2 = (int32_t)build_constant(b, "k2", TN_I64, 0, SLOTS(len), &two, 8);
  const int32_t last = (int32_t)build_value(b, "last", TN_I64, TN_STORE_LATE, 1, NULL);
  const int32_t sizes = (int32_t)build_value(b, "sizes", TN_I64, TN_STORE_LATE, 1, NULL);
  b->regions[0].params = build_list(b, LIST(m, c));
  const uint32_t step =
      build_step(b, 0, TN_STEP_LOOP, NULL, LIST(by_condition ? TN_NO_INDEX : m, c, start), LIST(last, sizes));
  build_output(b, (uint32_t)last, "i64[L]");
  build_output(b, (uint32_t)sizes, "i64[K]");
  const uint32_t segment = build_segment(b);
  const uint32_t body = build_region(b, (int32_t)step, segment);
  const int32_t iter = (int32_t)build_value(b, "iter", TN_I64, TN_STORE_PARAM, 0, SLOTS(len));
  const int32_t cond = (int32_t)build_value(b, "cond", TN_BOOL, TN_STORE_PARAM, 0, SLOTS(len));
  const int32_t s = (int32_t)build_value(b, "s", TN_I64, TN_STORE_PARAM, 1, SLOTS(len));
  build_bind(b, len, (uint32_t)s, 0, false);
  const int32_t end = (int32_t)build_buffered(b, "end", TN_I64, 0, SLOTS(len), 0, 1);
  const int32_t next = (int32_t)build_value(b, "next", TN_I64, TN_STORE_LATE, 1, NULL);
  const int32_t twice = (int32_t)build_buffered(b, "twice", TN_I64, 1, SLOTS(len), 2, 3);
  const int32_t size = (int32_t)build_buffered(b, "size", TN_I64, 0, SLOTS(len), 3, 4);
  const int32_t go_on = (int32_t)build_buffered(b, "go_on", TN_BOOL, 0, SLOTS(len), 4, 4);
  b->regions[body].params = build_list(b, LIST(iter, cond, s));
  build_step(b, body, TN_STEP_KERNEL, "add", LIST(iter, k2), LIST(end));
  build_step(b, body, TN_STEP_KERNEL, "range", LIST(k0, end, k1), LIST(next));
  build_step(b, body, TN_STEP_KERNEL, "add", LIST(s, s), LIST(twice));
  build_step(b, body, TN_STEP_KERNEL, "size", LIST(twice), LIST(size));
  build_step(b, body, TN_STEP_KERNEL, "less", LIST(iter, k2), LIST(go_on));
  b->regions[body].results = build_list(b, LIST(by_condition ? go_on : cond, next, size));
  b->steps[step].regions = build_list(b, LIST((int32_t)body));
}

TEST(loop_with_growing_state) {
  fixture x;
  fixture_init(&x);
  build_loop(&x.b, false);
  if (!CHECK(fixture_start(&x))) return;
  const uint8_t yes = 1, no = 0;
  control_set(&x, 1, fixture_arg(TN_BOOL, &yes, 0, NULL));
  control_set(&x, 0, fixture_arg(TN_I64, &control_i64[3], 0, NULL));
  for (int round = 0; round < 3; round++) {
    const int64_t calls = x.probe.calls;
    if (!control_run(&x)) break;
    control_is_i64(tn_rt_output(x.s, 0), 4, (const int64_t[]){0, 1, 2, 3});
    control_is_i64(tn_rt_output(x.s, 1), 3, (const int64_t[]){1, 2, 3});
    if (round > 0) CHECK_EQ_I(x.probe.calls, calls);
  }
  control_set(&x, 1, fixture_arg(TN_BOOL, &no, 0, NULL));
  if (control_run(&x)) {
    control_is_i64(tn_rt_output(x.s, 0), 1, (const int64_t[]){0});
    control_is_i64(tn_rt_output(x.s, 1), 0, NULL);
    CHECK_EQ_I(tn_rt_output(x.s, 1)->rank, 1);
  }
  fixture_drop(&x);
}

TEST(loop_until_condition) {
  fixture x;
  fixture_init(&x);
  build_loop(&x.b, true);
  if (!CHECK(fixture_start(&x))) return;
  const uint8_t yes = 1;
  control_set(&x, 0, fixture_arg(TN_I64, &control_i64[0], 0, NULL));
  control_set(&x, 1, fixture_arg(TN_BOOL, &yes, 0, NULL));
  if (control_run(&x)) control_is_i64(tn_rt_output(x.s, 1), 3, (const int64_t[]){1, 2, 3});
  fixture_drop(&x);
}

/* A planned scan out of 2 iterations; the loop makes another number. */
TEST(loop_against_its_plan) {
  fixture x;
  fixture_init(&x);
  build_loop(&x.b, false);
  build *b = &x.b;
  const uint32_t sizes = 7;
  CHECK_STR(b->values[sizes].name, "sizes");
  const uint32_t two = b->p.n_slots++;
  b->code[1] = (tn_shape_ins){.op = TN_SHAPE_CONST, .dst = two, .imm = 2};
  b->segments[0].code.n = b->p.n_code = 2;
  b->values[sizes].dims = build_dims(b, 1, SLOTS(two));
  if (!CHECK(fixture_start(&x))) return;
  const uint8_t yes = 1;
  control_set(&x, 1, fixture_arg(TN_BOOL, &yes, 0, NULL));
  control_set(&x, 0, fixture_arg(TN_I64, &control_i64[2], 0, NULL));
  if (control_run(&x)) control_is_i64(tn_rt_output(x.s, 1), 2, (const int64_t[]){1, 2});
  control_set(&x, 0, fixture_arg(TN_I64, &control_i64[1], 0, NULL));
  x.err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_MISMATCH);
  CHECK_STR(x.err.text, "control: result 1 has 1 iterations, expected 2");
  control_set(&x, 0, fixture_arg(TN_I64, &control_i64[3], 0, NULL));
  x.err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_MISMATCH);
  CHECK_STR(x.err.text, "control: result 1 has more than the expected 2 iterations");
  fixture_drop(&x);
}

/* (a, b) = (b, a + b): results that are parameters of the same body. */
TEST(loop_swaps_states) {
  static const int64_t first = 0, second = 1;
  fixture x;
  fixture_init(&x);
  build *b = &x.b;
  build_segment(b);
  const uint32_t none = build_const(b, 0);
  build_region(b, TN_NO_INDEX, 0);
  const int32_t m = (int32_t)build_input(b, "m", TN_I64, 0, SLOTS(none), "i64[]");
  const int32_t a0 = (int32_t)build_constant(b, "a0", TN_I64, 0, SLOTS(none), &first, 8);
  const int32_t b0 = (int32_t)build_constant(b, "b0", TN_I64, 0, SLOTS(none), &second, 8);
  const int32_t out_a = (int32_t)build_buffered(b, "out_a", TN_I64, 0, SLOTS(none), 0, 0);
  const int32_t out_b = (int32_t)build_buffered(b, "out_b", TN_I64, 0, SLOTS(none), 0, 0);
  b->regions[0].params = build_list(b, LIST(m));
  const uint32_t step = build_step(b, 0, TN_STEP_LOOP, NULL, LIST(m, TN_NO_INDEX, a0, b0), LIST(out_a, out_b));
  build_output(b, (uint32_t)out_a, "i64[]");
  build_output(b, (uint32_t)out_b, "i64[]");
  const uint32_t body = build_region(b, (int32_t)step, build_segment(b));
  const int32_t iter = (int32_t)build_value(b, "iter", TN_I64, TN_STORE_PARAM, 0, SLOTS(none));
  const int32_t cond = (int32_t)build_value(b, "cond", TN_BOOL, TN_STORE_PARAM, 0, SLOTS(none));
  const int32_t pa = (int32_t)build_value(b, "pa", TN_I64, TN_STORE_PARAM, 0, SLOTS(none));
  const int32_t pb = (int32_t)build_value(b, "pb", TN_I64, TN_STORE_PARAM, 0, SLOTS(none));
  const int32_t sum = (int32_t)build_buffered(b, "sum", TN_I64, 0, SLOTS(none), 0, 0);
  b->regions[body].params = build_list(b, LIST(iter, cond, pa, pb));
  build_step(b, body, TN_STEP_KERNEL, "add", LIST(pa, pb), LIST(sum));
  b->regions[body].results = build_list(b, LIST(cond, pb, sum));
  b->steps[step].regions = build_list(b, LIST((int32_t)body));
  if (!CHECK(fixture_start(&x))) return;
  const int64_t trips = 50;
  control_set(&x, 0, fixture_arg(TN_I64, &trips, 0, NULL));
  if (control_run(&x)) {
    control_is_i64(tn_rt_output(x.s, 0), 1, (const int64_t[]){12586269025});
    control_is_i64(tn_rt_output(x.s, 1), 1, (const int64_t[]){20365011074});
  }
  fixture_drop(&x);
}

/* Running sums of the columns (axis 1) or rows (axis 0) of x, forwards or backwards. */
static void build_scan(build *b, int axis, int reverse) {
  static const int64_t zeros[2] = {0, 0};
  const int64_t axes[1] = {axis - 2}, directions[1] = {reverse};
  const uint32_t t = build_symbol(b, "T", 0, INT64_MAX, 1);
  build_segment(b);
  build_bind(b, t, 0, axis, false);
  const uint32_t two = build_const(b, 2);
  const uint32_t *const dims = axis ? SLOTS(two, t) : SLOTS(t, two);
  build_region(b, TN_NO_INDEX, 0);
  const int32_t x = (int32_t)build_input(b, "x", TN_I64, 2, dims, "i64[T,2]");
  const int32_t start = (int32_t)build_constant(b, "start", TN_I64, 1, SLOTS(two), zeros, 16);
  const int32_t total = (int32_t)build_buffered(b, "total", TN_I64, 1, SLOTS(two), 0, 0);
  const int32_t sums = (int32_t)build_value(b, "sums", TN_I64, TN_STORE_LATE, 2, NULL);
  b->regions[0].params = build_list(b, LIST(x));
  const uint32_t step = build_step(b, 0, TN_STEP_SCAN, NULL, LIST(start, x), LIST(total, sums));
  build_attr(b, step, (tn_pattr){.name = "num_scan_inputs", .kind = TN_PATTR_INT, .i = 1});
  build_attr(b, step, (tn_pattr){.name = "scan_input_axes", .kind = TN_PATTR_INTS, .list = build_ints(b, 1, axes)});
  build_attr(b, step,
             (tn_pattr){.name = "scan_input_directions", .kind = TN_PATTR_INTS, .list = build_ints(b, 1, directions)});
  build_attr(b, step, (tn_pattr){.name = "scan_output_axes", .kind = TN_PATTR_INTS, .list = build_ints(b, 1, axes)});
  build_attr(b, step,
             (tn_pattr){.name = "scan_output_directions", .kind = TN_PATTR_INTS, .list = build_ints(b, 1, directions)});
  build_output(b, (uint32_t)total, "i64[2]");
  build_output(b, (uint32_t)sums, "i64[T,2]");
  const uint32_t body = build_region(b, (int32_t)step, build_segment(b));
  const int32_t state = (int32_t)build_value(b, "state", TN_I64, TN_STORE_PARAM, 1, SLOTS(two));
  const int32_t slice = (int32_t)build_value(b, "slice", TN_I64, TN_STORE_PARAM, 1, SLOTS(two));
  const int32_t sum = (int32_t)build_buffered(b, "sum", TN_I64, 1, SLOTS(two), 0, 0);
  b->regions[body].params = build_list(b, LIST(state, slice));
  build_step(b, body, TN_STEP_KERNEL, "add", LIST(state, slice), LIST(sum));
  b->regions[body].results = build_list(b, LIST(sum, sum));
  b->steps[step].regions = build_list(b, LIST((int32_t)body));
}

TEST(scan_axes_and_directions) {
  static const int64_t data[6] = {1, 2, 3, 4, 5, 6};
  static const int64_t want[4][6] = {
      {1, 2, 4, 6, 9, 12},  /* rows, forwards */
      {9, 12, 8, 10, 5, 6}, /* rows, backwards */
      {1, 3, 6, 4, 9, 15},  /* columns of [[1,2,3],[4,5,6]] */
      {6, 5, 3, 15, 11, 6},
  };
  for (int i = 0; i < 4; i++) {
    fixture x;
    fixture_init(&x);
    build_scan(&x.b, i / 2, i % 2);
    if (!CHECK(fixture_start(&x))) return;
    control_set(&x, 0, fixture_arg(TN_I64, data, 2, i / 2 ? DIMS(2, 3) : DIMS(3, 2)));
    for (int round = 0; round < 2; round++) {
      const int64_t calls = x.probe.calls;
      if (!control_run(&x)) break;
      control_is_i64(tn_rt_output(x.s, 1), 6, want[i]);
      CHECK_EQ_I(tn_rt_output(x.s, 1)->dims[0], i / 2 ? 2 : 3);
      control_is_i64(tn_rt_output(x.s, 0), 2, i / 2 ? (const int64_t[]){6, 15} : (const int64_t[]){9, 12});
      if (round) CHECK_EQ_I(x.probe.calls, calls);
    }
    control_set(&x, 0, fixture_arg(TN_I64, data, 2, i / 2 ? DIMS(2, 0) : DIMS(0, 2)));
    if (control_run(&x)) {
      control_is_i64(tn_rt_output(x.s, 0), 2, (const int64_t[]){0, 0});
      CHECK_EQ_I(tn_rt_output(x.s, 1)->dims[0], i / 2 ? 2 : 0); /* known though nothing ran */
      CHECK_EQ_I(tn_rt_output(x.s, 1)->dims[1], i / 2 ? 0 : 2);
    }
    fixture_drop(&x);
  }
}

/* Loop whose state is a sequence that gets the iteration; SequenceMap that adds one to each element. */
static void build_sequences(build *b) {
  static const int64_t one = 1;
  build_segment(b);
  const uint32_t none = build_const(b, 0);
  build_region(b, TN_NO_INDEX, 0);
  const int32_t m = (int32_t)build_input(b, "m", TN_I64, 0, SLOTS(none), "i64[]");
  const int32_t s0 = (int32_t)build_input(b, "s0", TN_I64, -2, NULL, "seq(i64[])");
  const int32_t k1 = (int32_t)build_constant(b, "k1", TN_I64, 0, SLOTS(none), &one, 8);
  const int32_t made = (int32_t)build_value(b, "made", TN_I64, TN_STORE_LATE, -2, NULL);
  const int32_t mapped = (int32_t)build_value(b, "mapped", TN_I64, TN_STORE_LATE, -2, NULL);
  b->regions[0].params = build_list(b, LIST(m, s0));
  const uint32_t loop = build_step(b, 0, TN_STEP_LOOP, NULL, LIST(m, TN_NO_INDEX, s0), LIST(made));
  const uint32_t map = build_step(b, 0, TN_STEP_SEQUENCE_MAP, NULL, LIST(made, k1), LIST(mapped));
  build_output(b, (uint32_t)mapped, "seq(i64[])");
  const uint32_t body = build_region(b, (int32_t)loop, build_segment(b));
  const int32_t iter = (int32_t)build_value(b, "iter", TN_I64, TN_STORE_PARAM, 0, SLOTS(none));
  const int32_t cond = (int32_t)build_value(b, "cond", TN_BOOL, TN_STORE_PARAM, 0, SLOTS(none));
  const int32_t s = (int32_t)build_value(b, "s", TN_I64, TN_STORE_PARAM, -2, NULL);
  const int32_t longer = (int32_t)build_value(b, "longer", TN_I64, TN_STORE_LATE, -2, NULL);
  b->regions[body].params = build_list(b, LIST(iter, cond, s));
  build_step(b, body, TN_STEP_KERNEL, "sequence_insert", LIST(s, iter), LIST(longer));
  b->regions[body].results = build_list(b, LIST(cond, longer));
  b->steps[loop].regions = build_list(b, LIST((int32_t)body));
  const uint32_t map_body = build_region(b, (int32_t)map, build_segment(b));
  const int32_t e = (int32_t)build_value(b, "e", TN_I64, TN_STORE_PARAM, -1, NULL);
  const int32_t k = (int32_t)build_value(b, "k", TN_I64, TN_STORE_PARAM, 0, SLOTS(none));
  const int32_t plus = (int32_t)build_value(b, "plus", TN_I64, TN_STORE_LATE, -1, NULL);
  b->regions[map_body].params = build_list(b, LIST(e, k));
  build_step(b, map_body, TN_STEP_KERNEL, "add", LIST(e, k), LIST(plus));
  b->regions[map_body].results = build_list(b, LIST(plus));
  b->steps[map].regions = build_list(b, LIST((int32_t)map_body));
}

TEST(sequences_in_loops) {
  fixture x;
  fixture_init(&x);
  build_sequences(&x.b);
  if (!CHECK(fixture_start(&x))) return;
  tn_karg item = fixture_arg(TN_I64, control_i64, 1, DIMS(3));
  tn_karg *items[1] = {&item};
  tn_karg seq = {.kind = TN_KARG_SEQUENCE, .dtype = TN_I64, .rank = -1, .items = items, .n_items = 1};
  control_set(&x, 0, fixture_arg(TN_I64, &control_i64[2], 0, NULL));
  control_set(&x, 1, seq);
  for (int round = 0; round < 3; round++) {
    const int64_t calls = x.probe.calls;
    if (!control_run(&x)) break;
    const tn_karg *y = tn_rt_output(x.s, 0);
    if (!CHECK_EQ_I(y->n_items, 3)) break;
    control_is_i64(y->items[0], 3, (const int64_t[]){1, 2, 3});
    control_is_i64(y->items[1], 1, (const int64_t[]){1});
    control_is_i64(y->items[2], 1, (const int64_t[]){2});
    if (round > 0) CHECK_EQ_I(x.probe.calls, calls);
  }
  item.dtype = TN_I32;
  x.err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_rt_set_input(x.s, 1, &seq, &x.err), TN_MISMATCH);
  CHECK_STR(x.err.text, "input 's0' element 0 is i32, expected i64");
  fixture_drop(&x);
}

/* The elements of s but the first. */
static void build_erase(build *b) {
  static const int64_t zero = 0;
  build_segment(b);
  const uint32_t none = build_const(b, 0);
  build_region(b, TN_NO_INDEX, 0);
  const int32_t s = (int32_t)build_input(b, "s", TN_I4, -2, NULL, "seq(i4[?])");
  const int32_t at = (int32_t)build_constant(b, "at", TN_I64, 0, SLOTS(none), &zero, 8);
  const int32_t y = (int32_t)build_value(b, "y", TN_I4, TN_STORE_LATE, -2, NULL);
  b->regions[0].params = build_list(b, LIST(s));
  build_step(b, 0, TN_STEP_KERNEL, "sequence_erase", LIST(s, at), LIST(y));
  build_output(b, (uint32_t)y, "seq(i4[?])");
}

TEST(bits_of_no_element_are_cleared_in_sequences) {
  fixture x;
  fixture_init(&x);
  build_erase(&x.b);
  if (!CHECK(fixture_start(&x))) return;
  static const uint8_t bytes[2] = {0x21, 0xf3};
  for (int n = 4; n >= 3; n--) { /* the second time in memory that holds the first result */
    tn_karg item = fixture_arg(TN_I4, bytes, 1, DIMS(n));
    tn_karg *items[2] = {&item, &item};
    control_set(&x, 0, (tn_karg){.kind = TN_KARG_SEQUENCE, .dtype = TN_I4, .rank = -1, .items = items, .n_items = 2});
    if (!control_run(&x)) break;
    const tn_karg *y = tn_rt_output(x.s, 0);
    if (!CHECK_EQ_I(y->n_items, 1)) break;
    CHECK_EQ_I(((const uint8_t *)y->items[0]->data)[0], 0x21);
    CHECK_EQ_I(((const uint8_t *)y->items[0]->data)[1], n == 4 ? 0xf3 : 0x03);
  }
  fixture_drop(&x);
}

/* r = range(0, n, 1) gives U when it has run; then r + r of size U (late, sized), a view of it and a shape value. */
static void build_late(build *b) {
  const uint32_t u = build_symbol(b, "U", 0, 6, 1);
  build_segment(b);
  const uint32_t one = build_const(b, 1), two = build_const(b, 2);
  build_region(b, TN_NO_INDEX, 0);
  const int32_t n = (int32_t)build_input(b, "n", TN_I64, 0, SLOTS(u), "i64[]");
  const int32_t k0 = (int32_t)build_constant(b, "k0", TN_I64, 0, SLOTS(u), &control_i64[0], 8);
  const int32_t k1 = (int32_t)build_constant(b, "k1", TN_I64, 0, SLOTS(u), &control_i64[1], 8);
  const int32_t r = (int32_t)build_value(b, "r", TN_I64, TN_STORE_LATE, 1, NULL);
  const int32_t twice = (int32_t)build_value(b, "twice", TN_I64, TN_STORE_LATE, 1, SLOTS(u));
  const int32_t row = (int32_t)build_value(b, "row", TN_I64, TN_STORE_VIEW, 2, SLOTS(one, u));
  b->values[row].index = twice;
  const int32_t same = (int32_t)build_value(b, "same", TN_I64, TN_STORE_VIEW, -1, NULL);
  b->values[same].index = r;
  const int32_t sizes = (int32_t)build_value(b, "sizes", TN_I64, TN_STORE_SHAPE, 1, SLOTS(two));
  b->values[sizes].shape_elems = (tn_pspan){b->p.n_dim_slots, 2};
  b->dim_slots[b->p.n_dim_slots++] = u;
  b->dim_slots[b->p.n_dim_slots++] = u + 3; /* 2 * U, written below */
  b->regions[0].params = build_list(b, LIST(n));
  const uint32_t range = build_step(b, 0, TN_STEP_KERNEL, "range", LIST(k0, n, k1), LIST(r));
  b->steps[range].segment = (int32_t)build_segment(b);
  build_bind(b, u, (uint32_t)r, 0, false);
  const uint32_t double_u = build_ins(b, TN_SHAPE_MULI, u, 0, 2);
  CHECK_EQ_I(double_u, u + 3);
  build_step(b, 0, TN_STEP_KERNEL, "add", LIST(r, r), LIST(twice));
  build_step(b, 0, TN_STEP_VIEW, NULL, LIST(r), LIST(same));
  b->regions[0].results = build_list(b, LIST(row, same, sizes));
  build_output(b, (uint32_t)row, "i64[1,U]");
  build_output(b, (uint32_t)same, "i64[U]");
  build_output(b, (uint32_t)sizes, "i64[2]");
}

TEST(sizes_that_appear_in_the_run) {
  fixture x;
  fixture_init(&x);
  build_late(&x.b);
  if (!CHECK(fixture_start(&x))) return;
  for (int64_t n = 0; n < 4; n++) {
    control_set(&x, 0, fixture_arg(TN_I64, &control_i64[n], 0, NULL));
    if (!control_run(&x)) break;
    control_is_i64(tn_rt_output(x.s, 0), (int)n, (const int64_t[]){0, 2, 4});
    control_is_i64(tn_rt_output(x.s, 1), (int)n, (const int64_t[]){0, 1, 2});
    control_is_i64(tn_rt_output(x.s, 2), 2, (const int64_t[]){n, 2 * n});
    CHECK_EQ_I(tn_rt_output(x.s, 0)->rank, 2);
    CHECK_EQ_I(tn_rt_output(x.s, 0)->dims[1], n);
  }
  CHECK_EQ_I(tn_rt_get_stats(x.s).binds, 1);
  const int64_t calls = x.probe.calls, seven = 7;
  if (control_run(&x)) CHECK_EQ_I(x.probe.calls, calls);
  control_set(&x, 0, fixture_arg(TN_I64, &seven, 0, NULL));
  x.err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_rt_run(x.s, &x.err), TN_MISMATCH);
  CHECK_STR(x.err.text, "range: value 'r' dim 0 is 7, but U must be at most 6");
  fixture_drop(&x);
}

typedef void (*control_builder)(build *b);
static void build_loop_plain(build *b) { build_loop(b, false); }
static void build_scan_columns(build *b) { build_scan(b, 1, 0); }

static tn_status control_try(fixture *x, const tn_karg *args, int n) {
  build_ticks(&x->b);
  tn_status status = tn_program_copy(x->allocator, &x->b.p, true, &x->p, &x->err);
  if (status == TN_OK) status = tn_rt_session_create(x->p, x->allocator, NULL, &x->s, &x->err);
  for (int i = 0; i < n && status == TN_OK; i++) status = tn_rt_set_input(x->s, (uint32_t)i, &args[i], &x->err);
  return status == TN_OK ? tn_rt_run(x->s, &x->err) : status;
}

TEST(every_allocation_may_fail_in_control_flow) {
  static const uint8_t yes = 1;
  static const int64_t data[6] = {1, 2, 3, 4, 5, 6};
  tn_karg item = fixture_arg(TN_I64, control_i64, 1, DIMS(3));
  tn_karg *items[1] = {&item};
  const tn_karg three = fixture_arg(TN_I64, &control_i64[3], 0, NULL);
  const tn_karg seq = {.kind = TN_KARG_SEQUENCE, .dtype = TN_I64, .rank = -1, .items = items, .n_items = 1};
  const struct {
    control_builder builder;
    int n;
    tn_karg args[2];
  } cases[] = {
      {build_loop_plain, 2, {three, fixture_arg(TN_BOOL, &yes, 0, NULL)}},
      {build_sequences, 2, {three, seq}},
      {build_late, 1, {three}},
      {build_scan_columns, 1, {fixture_arg(TN_I64, data, 2, DIMS(2, 3))}},
  };
  for (size_t c = 0; c < TN_COUNT(cases); c++) {
    bool done = false;
    int64_t k = 1;
    for (; !done && k < 1000; k++) {
      fixture x;
      fixture_init(&x);
      cases[c].builder(&x.b);
      x.probe.fail_at = k;
      const tn_status status = control_try(&x, cases[c].args, cases[c].n);
      done = status == TN_OK;
      CHECK(done || (status == TN_OOM && x.err.text[0]));
      fixture_drop(&x);
    }
    CHECK(done && k > 6);
  }
}
