/* Results of bodies that are made where they are wanted, seen by where their memory is. */
#include "rt/session.h"
#include "rt/testing.h"

typedef struct aim_seen {
  tn_rt_session *s;
  const void *made[8], *out, *stacked;
  int n;
} aim_seen;

enum { M, C, X, Y, Z, I, K, S, T }; /* values: inputs, outs of the loop, parameters, t = s + s */

static tn_status aim_look(void *arg, uint32_t step, const tn_kcall *call, int64_t ns, tn_error *err) {
  aim_seen *seen = arg;
  (void)step, (void)ns, (void)err;
  if (seen->n < 8) seen->made[seen->n++] = call->out[0]->data;
  seen->out = seen->s->args[Y].data;
  seen->stacked = seen->s->args[Z].data;
  return TN_OK;
}

/* y, z = loop m times: t = s + s; yields t as state, and stacks it when `stacks`. x is i64[N], z i64[3,N]. */
static void aim_build(fixture *f, bool stacks) {
  build *const b = &f->b;
  fixture_init(f);
  const uint32_t n = build_symbol(b, "N", 1, 100, 1), segment = build_segment(b);
  build_bind(b, n, X, 0, false);
  const uint32_t three = build_const(b, 3);
  build_region(b, TN_NO_INDEX, segment);
  const int32_t m = (int32_t)build_input(b, "m", TN_I64, 0, SLOTS(n), "i64[]");
  const int32_t c = (int32_t)build_input(b, "c", TN_BOOL, 0, SLOTS(n), "bool[]");
  const int32_t x = (int32_t)build_input(b, "x", TN_I64, 1, SLOTS(n), "i64[N]");
  const int32_t y = (int32_t)build_buffered(b, "y", TN_I64, 1, SLOTS(n), 0, 0);
  const int32_t z = (int32_t)build_buffered(b, "z", TN_I64, 2, SLOTS(three, n), 0, 0);
  b->regions[0].params = build_list(b, LIST(m, c, x));
  const uint32_t step = build_step(b, 0, TN_STEP_LOOP, NULL, LIST(m, c, x), LIST(y, stacks ? z : TN_NO_INDEX));
  b->regions[0].results = build_list(b, LIST(y));
  build_output(b, (uint32_t)y, "i64[N]");
  const uint32_t body = build_region(b, (int32_t)step, build_segment(b));
  const int32_t i = (int32_t)build_value(b, "i", TN_I64, TN_STORE_PARAM, 0, SLOTS(n));
  const int32_t k = (int32_t)build_value(b, "k", TN_BOOL, TN_STORE_PARAM, 0, SLOTS(n));
  const int32_t s = (int32_t)build_value(b, "s", TN_I64, TN_STORE_PARAM, 1, SLOTS(n));
  const int32_t t = (int32_t)build_buffered(b, "t", TN_I64, 1, SLOTS(n), 0, 0);
  b->regions[body].params = build_list(b, LIST(i, k, s));
  build_step(b, body, TN_STEP_KERNEL, "add", LIST(s, s), LIST(t));
  b->regions[body].results = build_list(b, LIST(k, t, t));
  b->steps[step].regions = build_list(b, LIST((int32_t)body));
}

static void aim_run(fixture *f, aim_seen *seen, int64_t trips) {
  static const uint8_t yes = 1;
  static const int64_t x[] = {1, 2};
  const tn_karg args[] = {fixture_arg(TN_I64, &trips, 0, NULL), fixture_arg(TN_BOOL, &yes, 0, NULL),
                          fixture_arg(TN_I64, x, 1, DIMS(2))};
  *seen = (aim_seen){.s = f->s};
  for (uint32_t i = 0; i < 3; i++) CHECK_EQ_I(tn_rt_set_input(f->s, i, &args[i], &f->err), TN_OK);
  tn_rt_set_hook(f->s, aim_look, seen);
  if (!CHECK_EQ_I(tn_rt_run(f->s, &f->err), TN_OK)) printf("  %s\n", f->err.text);
  const int64_t *const y = tn_rt_output(f->s, 0)->data;
  CHECK_EQ_I(y[0], INT64_C(1) << trips);
  CHECK_EQ_I(y[1], INT64_C(2) << trips);
  CHECK_EQ_I(seen->n, trips);
}

TEST(states_take_turns_and_the_last_is_the_out) {
  fixture f;
  aim_seen seen;
  aim_build(&f, false);
  if (!CHECK(fixture_start(&f))) return;
  for (int64_t trips = 1; trips <= 4; trips++) {
    aim_run(&f, &seen, trips);
    for (int i = 0; i < seen.n; i++) CHECK_EQ_I(seen.made[i] == seen.out, (seen.n - 1 - i) % 2 == 0);
    for (int i = 2; i < seen.n; i++) CHECK(seen.made[i] == seen.made[i - 2]);
  }
  fixture_drop(&f);
}

TEST(stacked_results_are_made_in_the_stack) {
  fixture f;
  aim_seen seen;
  aim_build(&f, true);
  if (!CHECK(fixture_start(&f))) return;
  aim_run(&f, &seen, 3);
  for (int i = 0; i < seen.n; i++) CHECK(seen.made[i] == (const char *)seen.stacked + i * 16);
  const int64_t *const z = seen.stacked;
  for (int i = 0; i < 3; i++) CHECK_EQ_I(z[2 * i + 1], 4 << i);
  fixture_drop(&f);
}
