/* Verification of memory: wrong plans of every kind are refused, and no plan that passes ever gives a step another
 * value than the one it asks for. The second is tried on random programs, run in thought. */
#include "base/rng.h"
#include "code/build.h"
#include "test.h"

enum { A, B, BIAS, SUM, BIASED, Y }; /* values of build_add: sum = a + b, biased = sum + bias, y = biased */

static void refused(const build *b, const char *message, int line) {
  tn_error err = {TN_OK, ""};
  const tn_status status = tn_program_verify(&b->p, &err);
  if (!CHECK_EQ_I(status, TN_INVALID) || !CHECK_STR(err.text, message)) printf("  at line %d\n", line);
}

static void accepted(const build *b, int line) {
  tn_error err = {TN_OK, ""};
  if (!CHECK_EQ_I(tn_program_verify(&b->p, &err), TN_OK)) printf("  %s, at line %d\n", err.text, line);
}

/* `from` lies in the buffer of `to`, whose own buffer is dropped; the last values move up. */
static void share(build *b, uint32_t value, uint32_t with, uint32_t last) {
  const int64_t gone = b->values[value].index, kept = b->values[with].index;
  b->values[value].index = kept;
  b->buffers[kept].last = last;
  for (uint32_t i = 0; i < b->p.n_values; i++)
    if (b->values[i].store == TN_STORE_BUFFER && b->values[i].index > gone) b->values[i].index--;
  for (uint32_t i = (uint32_t)gone; i + 1 < b->p.n_buffers; i++) b->buffers[i] = b->buffers[i + 1];
  b->p.n_buffers--;
  b->regions[0].buffers.n--;
}

TEST(in_place) {
  build b;
  build_add(&b, tn_allocator_system());
  share(&b, BIASED, SUM, 2); /* biased over sum, which dies there */
  accepted(&b, __LINE__);
  b.operands[b.steps[2].in.first] = SUM;
  refused(&b, "program: value 'biased' is written over 'sum', which is still needed", __LINE__);
}

TEST(over_a_value_that_a_view_keeps) {
  build b;
  build_add(&b, tn_allocator_system());
  share(&b, BIASED, SUM, 2);
  b.regions[0].values.n = b.p.n_values;
  const uint32_t n = 0, two = 1;
  const uint32_t v = build_value(&b, "v", TN_F32, TN_STORE_VIEW, 2, SLOTS(n, two));
  b.values[v].index = SUM;
  b.operands[b.steps[2].in.first] = (int32_t)v;
  refused(&b, "program: value 'biased' is written over 'sum', which is still needed", __LINE__);
}

TEST(over_what_the_step_does_not_read) {
  build b;
  build_add(&b, tn_allocator_system());
  share(&b, Y, SUM, 2); /* sum died at step 1: free */
  accepted(&b, __LINE__);
  build_add(&b, tn_allocator_system());
  share(&b, BIASED, SUM, 2);
  b.operands[b.steps[1].in.first] = A; /* sum is read by nobody: dead when it is born */
  accepted(&b, __LINE__);
}

TEST(only_the_first_result_of_a_kernel) {
  build b;
  build_add(&b, tn_allocator_system());
  share(&b, BIASED, SUM, 2);
  const int32_t list[] = {TN_NO_INDEX, BIASED, -2};
  b.steps[1].out = build_list(&b, list);
  refused(&b, "program: value 'biased' is written over 'sum', which is still needed", __LINE__);
}

TEST(two_results_of_a_step_in_one_place) {
  build b;
  build_add(&b, tn_allocator_system());
  share(&b, Y, BIASED, 2);
  b.p.n_steps = b.regions[0].steps.n = 2;
  b.steps[1].out = build_list(&b, LIST(BIASED, Y));
  b.buffers[1].last = 1;
  refused(&b, "program: value 'y' is written over 'biased', which is still needed", __LINE__);
}

/* Ties of build_add: sum lives 0..1, biased 1..2, y 2..2. */
static void tied(build *b) {
  build_add(b, tn_allocator_system());
  for (int i = 0; i < 3; i++) b->buffers[i].under = b->buffers[i].over = TN_NO_INDEX;
  b->buffers[1].under = 0;
  b->buffers[2].under = 1;
  b->regions[0].is_placed = 1;
}

#define REFUSED_TIED(change, message)           \
  do {                                          \
    build b;                                    \
    tied(&b);                                   \
    change;                                     \
    refused(&b, "program: " message, __LINE__); \
  } while (0)

TEST(good_ties) {
  build b;
  tied(&b);
  accepted(&b, __LINE__);
}

TEST(wrong_ties) {
  REFUSED_TIED(b.buffers[1].under = TN_NO_INDEX, "buffer 1 is not kept apart from others");
  REFUSED_TIED(b.buffers[2].under = TN_NO_INDEX, "buffer 2 is not kept apart from others");
  REFUSED_TIED(b.buffers[2].under = 0, "buffer 2 is not kept apart from others");
  REFUSED_TIED((b.buffers[1].under = TN_NO_INDEX, b.buffers[1].over = 0), "buffer 1 is not kept apart from others");
  REFUSED_TIED(b.buffers[0].over = 2, "buffer 0 is not kept apart from others");
  REFUSED_TIED(b.buffers[1].under = 3, "buffer 1 is tied to what is not there");
  REFUSED_TIED(b.buffers[1].over = -2, "buffer 1 is tied to what is not there");
  REFUSED_TIED(b.buffers[0].region = 1, "buffer 0 is malformed");
}

/* Random programs: steps of up to two operands and two results, views now and then, buffers shared at random. */

enum { DRAW_STEPS = 12, DRAW_VALUES = 40, DRAW_BUFFERS = 6 };

typedef struct draw {
  uint64_t seed, at;
} draw;

static uint32_t draw_below(draw *d, uint32_t n) { return (uint32_t)(tn_rng_u64(d->seed, d->at++) % n); }

static int32_t draw_operand(draw *d, const build *b) {
  const uint32_t near = b->p.n_values < 4 ? b->p.n_values : 4;
  return (int32_t)(b->p.n_values - 1 - draw_below(d, draw_below(d, 4) ? near : b->p.n_values));
}

static uint32_t draw_result(draw *d, build *b) {
  const uint32_t n = 0, v = build_value(b, "v", TN_F32, TN_STORE_BUFFER, 1, SLOTS(n));
  b->values[v].index = draw_below(d, DRAW_BUFFERS);
  return v;
}

/* The lives of buffers are given as wide as they can be, so that only sharing is judged. Unused buffers go. */
static void draw_buffers(build *b) {
  uint32_t number[DRAW_BUFFERS] = {0}, of[DRAW_BUFFERS] = {0}, n = 0;
  bool used[DRAW_BUFFERS] = {false};
  for (uint32_t v = 0; v < b->p.n_values; v++)
    if (b->values[v].store == TN_STORE_BUFFER && !used[b->values[v].index]) {
      used[b->values[v].index] = true;
      of[b->values[v].index] = v;
    }
  for (uint32_t i = 0; i < DRAW_BUFFERS; i++)
    if (used[i]) number[i] = n++;
  for (uint32_t i = 0; i < DRAW_BUFFERS; i++)
    if (used[i]) b->buffers[number[i]] = (tn_pbuffer){.first = 0, .last = b->p.n_steps - 1, .value = of[i]};
  for (uint32_t v = 0; v < b->p.n_values; v++)
    if (b->values[v].store == TN_STORE_BUFFER) b->values[v].index = number[b->values[v].index];
  b->p.n_buffers = b->regions[0].buffers.n = n;
}

static void draw_program(draw *d, build *b) {
  build_init(b, tn_allocator_system());
  const uint32_t n = build_symbol(b, "N", 1, 100, 1);
  const uint32_t segment = build_segment(b);
  build_bind(b, n, 0, 0, false);
  build_region(b, TN_NO_INDEX, segment);
  const int32_t x = (int32_t)build_input(b, "x", TN_F32, 1, SLOTS(n), "f32[N]");
  b->regions[0].params = build_list(b, LIST(x));
  for (int i = 0; i < DRAW_STEPS; i++) {
    const int32_t in[] = {draw_operand(d, b), draw_operand(d, b), -2};
    const int32_t y = (int32_t)draw_result(d, b);
    const int32_t z = draw_below(d, 4) ? TN_NO_INDEX : (int32_t)draw_result(d, b);
    build_step(b, 0, TN_STEP_KERNEL, "add", in, LIST(y, z));
    if (draw_below(d, 3) == 0) {
      const uint32_t v = build_value(b, "w", TN_F32, TN_STORE_VIEW, 1, SLOTS(n));
      b->values[v].index = y;
    }
  }
  const int32_t out = draw_operand(d, b);
  b->regions[0].results = build_list(b, LIST(out));
  build_output(b, (uint32_t)out, "f32[N]");
  draw_buffers(b);
}

static int64_t think_root(const build *b, int64_t v) {
  while (b->values[v].store == TN_STORE_VIEW) v = b->values[v].index;
  return v;
}

/* Is what `v` asks for what its buffer holds? */
static bool think_has(const build *b, const int64_t *holds, int64_t v) {
  v = think_root(b, v);
  return b->values[v].store != TN_STORE_BUFFER || holds[b->values[v].index] == v;
}

/* Runs the program in thought. A kernel may write its first result while it reads; it reads its operands to the end
 * while it writes the others. */
static bool think(const build *b) {
  int64_t holds[DRAW_BUFFERS] = {-1, -1, -1, -1, -1, -1};
  for (uint32_t s = 0; s < b->p.n_steps; s++) {
    const tn_pspan in = b->steps[s].in, out = b->steps[s].out;
    for (uint32_t i = out.first + 1; i < out.first + out.n; i++)
      if (b->operands[i] != TN_NO_INDEX) holds[b->values[b->operands[i]].index] = b->operands[i];
    for (uint32_t i = in.first; i < in.first + in.n; i++)
      if (!think_has(b, holds, b->operands[i])) return false;
    holds[b->values[b->operands[out.first]].index] = b->operands[out.first];
    for (uint32_t i = out.first; i < out.first + out.n; i++)
      if (b->operands[i] != TN_NO_INDEX && !think_has(b, holds, b->operands[i])) return false;
  }
  return think_has(b, holds, b->outputs[0].value);
}

TEST(what_passes_is_right) {
  int passed = 0, wrong = 0;
  for (uint64_t seed = 0; seed < 20000; seed++) {
    draw d = {seed, 0};
    build b;
    tn_error err = {TN_OK, ""};
    draw_program(&d, &b);
    const bool is_right = think(&b), passes = tn_program_verify(&b.p, &err) == TN_OK;
    passed += passes;
    wrong += !is_right;
    if (!passes) CHECK_HAS(err.text, "which is still needed");
    if (passes && !CHECK(is_right)) printf("  seed %d\n", (int)seed);
    if (is_right && !CHECK(passes)) printf("  seed %d: %s\n", (int)seed, err.text);
  }
  CHECK(passed > 100 && wrong > 1000); /* both kinds were drawn */
}
