/* Verification of parts of what a step joins: wrong plans of every kind are refused, and no plan that passes ever gives
 * a step another value than the one it asks for. The second is tried on random programs, run in thought. */
#include "base/rng.h"
#include "code/build.h"
#include "test.h"

enum { X, A, B, Y, Z }; /* a = x + x, b = x + x, y = (a, b), z = y + y; steps 0 to 3 */
enum { STEP_A, STEP_B, STEP_Y, STEP_Z };

static void refused(const build *b, const char *message, int line) {
  tn_error err = {TN_OK, ""};
  const tn_status status = tn_program_verify(&b->p, &err);
  if (!CHECK_EQ_I(status, TN_INVALID) || !CHECK_STR(err.text, message)) printf("  at line %d\n", line);
}

static uint32_t in_part(const build *b, uint32_t step, uint32_t operand) {
  return 1 + b->steps[step].in.first + operand;
}

static void joined(build *b) {
  build_init(b, tn_allocator_system());
  const uint32_t n = build_symbol(b, "N", 1, 100, 1), segment = build_segment(b);
  build_bind(b, n, X, 0, false);
  const uint32_t both = build_ins(b, TN_SHAPE_ADD, n, n, 0);
  build_region(b, TN_NO_INDEX, segment);
  const int32_t x = (int32_t)build_input(b, "x", TN_F32, 1, SLOTS(n), "f32[N]");
  b->regions[0].params = build_list(b, LIST(x));
  const char *const names[] = {"a", "b", "y"};
  for (uint32_t i = 0; i < 3; i++) {
    const uint32_t v = build_value(b, names[i], TN_F32, TN_STORE_BUFFER, 1, SLOTS(i < 2 ? n : both));
    b->values[v].index = 0;
  }
  b->buffers[0] = (tn_pbuffer){.first = 0, .last = 3, .value = Y};
  b->p.n_buffers = b->regions[0].buffers.n = 1;
  build_buffered(b, "z", TN_F32, 1, SLOTS(both), 3, 3);
  build_step(b, 0, TN_STEP_KERNEL, "add", LIST(x, x), LIST(A));
  build_step(b, 0, TN_STEP_KERNEL, "add", LIST(x, x), LIST(B));
  build_step(b, 0, TN_STEP_KERNEL, "concat", LIST(A, B), LIST(Y));
  build_step(b, 0, TN_STEP_KERNEL, "add", LIST(Y, Y), LIST(Z));
  b->values[A].part = in_part(b, STEP_Y, 0);
  b->values[B].part = in_part(b, STEP_Y, 1);
  b->regions[0].results = build_list(b, LIST(Z));
  build_output(b, Z, "f32[2*N]");
}

#define REFUSED(change, message)                \
  do {                                          \
    build b;                                    \
    joined(&b);                                 \
    change;                                     \
    refused(&b, "program: " message, __LINE__); \
  } while (0)

#define ACCEPTED(change)                                                               \
  do {                                                                                 \
    build b;                                                                           \
    tn_error err = {TN_OK, ""};                                                        \
    joined(&b);                                                                        \
    change;                                                                            \
    if (!CHECK_EQ_I(tn_program_verify(&b.p, &err), TN_OK)) printf("  %s\n", err.text); \
  } while (0)

TEST(good) {
  ACCEPTED((void)0);
  ACCEPTED((b.values[Z].index = 0, b.buffers[0].value = Z, b.p.n_buffers = b.regions[0].buffers.n = 1)); /* z over y */
  ACCEPTED(b.operands[b.steps[STEP_Y].in.first + 1] = A); /* b is not used */
  ACCEPTED(b.operands[b.steps[STEP_B].in.first] = A);     /* what lies beside a is made of a */
}

TEST(wrong_places) {
  REFUSED(b.values[B].part = b.values[A].part, "value 'b' is written over 'a', which is still needed");
  REFUSED((b.values[B].part = b.values[A].part, b.values[A].part++),
          "value 'y' is written over 'b', which is still needed");
  REFUSED(b.values[A].part = 0, "value 'b' is written over 'a', which is still needed");
  REFUSED(b.values[B].part = 0, "value 'b' is written over parts that are still needed");
  REFUSED((b.values[A].part = 0, b.values[B].part = 0), "value 'b' is written over 'a', which is still needed");
}

TEST(no_parts) {
  REFUSED(b.values[A].part = 1 + b.p.n_operands, "value 'a' is no part");
  REFUSED(b.values[A].part = 1, "value 'a' is no part of what a step joins"); /* entry 0: the parameter */
  REFUSED(b.values[A].part = in_part(&b, STEP_A, 0), "value 'a' is no part of what a step joins");
  REFUSED(b.values[A].part = in_part(&b, STEP_Z, 0), "value 'a' is no part of what a step joins"); /* another buffer */
  REFUSED(b.values[Y].part = in_part(&b, STEP_Y, 0), "value 'y' is no part of what a step joins");
  REFUSED(b.values[A].dtype = TN_I4, "value 'a' is no part");
  REFUSED(b.values[X].part = 1, "value 'x' is no part");
  REFUSED(b.steps[STEP_Y].kind = TN_STEP_VIEW, "step 2 cannot write value 'y'");
}

TEST(needed_later) { /* a is read when z is written over y */
  REFUSED((b.values[Z].index = 0, b.buffers[0].value = Z, b.p.n_buffers = b.regions[0].buffers.n = 1,
           b.operands[b.steps[STEP_Z].in.first] = A),
          "value 'z' is written over parts that are still needed");
  ACCEPTED(b.operands[b.steps[STEP_Z].in.first] = A); /* where y stays */
}

TEST(a_piece_of_a_value_is_copied) { /* operand 0 begins inside a: it cannot have been made where y has it */
  build b;
  joined(&b);
  const uint32_t n = 0, v = build_value(&b, "v", TN_F32, TN_STORE_VIEW, 1, SLOTS(n));
  b.values[v].index = A;
  b.operands[b.steps[STEP_Y].in.first] = (int32_t)v;
  tn_error err = {TN_OK, ""};
  CHECK_EQ_I(tn_program_verify(&b.p, &err), TN_OK); /* all of it */
  b.values[v].part = 1 + n;
  refused(&b, "program: value 'y' is written over 'a', which is still needed", __LINE__);
}

TEST(sizes_in_time) { /* what is joined has sizes known when the region is entered */
  build b;
  joined(&b);
  const uint32_t late = build_value(&b, "late", TN_F32, TN_STORE_LATE, -1, NULL);
  b.operands[b.steps[STEP_B].out.first] = (int32_t)late;
  b.operands[b.steps[STEP_Y].in.first + 1] = (int32_t)late;
  b.values[B].part = 0;
  refused(&b, "program: concat: the size of what it joins is not known in time", __LINE__);
}

TEST(one_step_joins_in_a_place) { /* z = (b, a) in the same buffer: its parts overlap those of y in ways nobody knows */
  build b;
  joined(&b);
  b.values[Z].index = 0;
  b.p.n_buffers = b.regions[0].buffers.n = 1;
  b.operands[b.steps[STEP_Z].in.first] = B;
  b.operands[b.steps[STEP_Z].in.first + 1] = A;
  b.values[B].part = in_part(&b, STEP_Z, 0);
  refused(&b, "program: value 'b' is part of what another step joins", __LINE__);
}

TEST(too_deep) { /* y1 = (x, x), y2 = (y1, x), ... */
  enum { DEEP = TN_PROGRAM_MAX_JOINS + 2 };
  build b;
  build_init(&b, tn_allocator_system());
  const uint32_t n = build_symbol(&b, "N", 1, 100, 1), segment = build_segment(&b);
  build_bind(&b, n, 0, 0, false);
  uint32_t size = n;
  build_region(&b, TN_NO_INDEX, segment);
  int32_t last = (int32_t)build_input(&b, "x", TN_F32, 1, SLOTS(n), "f32[N]");
  b.regions[0].params = build_list(&b, LIST(last));
  for (int i = 0; i < DEEP; i++) {
    size = build_ins(&b, TN_SHAPE_ADD, size, n, 0);
    const uint32_t y = build_value(&b, "y", TN_F32, TN_STORE_BUFFER, 1, SLOTS(size));
    const uint32_t step = build_step(&b, 0, TN_STEP_KERNEL, "concat", LIST(last, X), LIST((int32_t)y));
    if (i) b.values[last].part = in_part(&b, step, 0);
    last = (int32_t)y;
  }
  b.buffers[0] = (tn_pbuffer){.first = 0, .last = DEEP - 1, .value = (uint32_t)last};
  b.p.n_buffers = b.regions[0].buffers.n = 1;
  b.regions[0].results = build_list(&b, LIST(last));
  build_output(&b, (uint32_t)last, "f32[?]");
  refused(&b, "program: value 'y' is too many parts deep", __LINE__);
}

/* Random programs: values of one unit, and what joins two or three of them. */

enum { DRAW_STEPS = 10, DRAW_BUFFERS = 4, DRAW_UNITS = 32 };

typedef struct draw {
  uint64_t seed, at;
  uint32_t slots[DRAW_UNITS + 1]; /* of sizes in units, 0: none yet */
  uint32_t units[BUILD_MAX];      /* of values */
} draw;

static uint32_t draw_below(draw *d, uint32_t n) { return (uint32_t)(tn_rng_u64(d->seed, d->at++) % n); }

static int32_t draw_operand(draw *d, const build *b) {
  const uint32_t near = b->p.n_values < 4 ? b->p.n_values : 4;
  return (int32_t)(b->p.n_values - 1 - draw_below(d, draw_below(d, 3) ? near : b->p.n_values));
}

static int32_t draw_result(draw *d, build *b, uint32_t units, bool is_view) {
  if (!d->slots[units]) d->slots[units] = 1 + build_ins(b, TN_SHAPE_MULI, 0, 0, units);
  const uint32_t slot = d->slots[units] - 1;
  const uint32_t v = build_value(b, "v", TN_F32, is_view ? TN_STORE_VIEW : TN_STORE_BUFFER, 1, SLOTS(slot));
  b->values[v].index = draw_below(d, DRAW_BUFFERS);
  d->units[v] = units;
  return (int32_t)v;
}

static int64_t think_root(const build *b, int64_t v) {
  while (b->values[v].store == TN_STORE_VIEW) v = b->values[v].index;
  return v;
}

/* Operands of a step that joins become parts, most of them. */
static void draw_parts(draw *d, build *b, uint32_t step, int32_t y) {
  const tn_pspan in = b->steps[step].in;
  for (uint32_t i = 0; i < in.n; i++) {
    const int64_t v = think_root(b, b->operands[in.first + (draw_below(d, 12) ? i : draw_below(d, in.n))]);
    tn_pvalue *const x = &b->values[v];
    if (x->store != TN_STORE_BUFFER || draw_below(d, 5) == 0) continue;
    if (d->units[v] != d->units[b->operands[in.first + i]]) continue; /* sizes are looked at when they are known */
    x->part = 1 + in.first + i;
    x->index = b->values[y].index;
  }
}

/* Values in parts follow the result into its buffer. The lives of buffers are given as wide as they can be. */
static void draw_buffers(build *b) {
  for (uint32_t s = b->p.n_steps; s-- > 0;) {
    const int32_t y = b->operands[b->steps[s].out.first];
    for (uint32_t i = b->steps[s].in.first; i < b->steps[s].in.first + b->steps[s].in.n; i++)
      for (uint32_t v = 0; v < b->p.n_values; v++)
        if (b->values[v].store == TN_STORE_BUFFER && b->values[v].part == 1 + i)
          b->values[v].index = b->values[y].index;
  }
  uint32_t number[DRAW_BUFFERS] = {0}, n = 0;
  for (uint32_t v = 0; v < b->p.n_values; v++) {
    if (b->values[v].store != TN_STORE_BUFFER) continue;
    uint32_t *const at = &number[b->values[v].index];
    if (!*at) {
      *at = ++n;
      b->buffers[n - 1] = (tn_pbuffer){.first = 0, .last = b->p.n_steps - 1, .value = v};
    }
    b->values[v].index = *at - 1;
  }
  b->p.n_buffers = b->regions[0].buffers.n = n;
}

static void draw_step(draw *d, build *b) {
  int32_t in[4];
  uint32_t n = 2 + draw_below(d, 2), units = 0;
  for (uint32_t i = 0; i < n; i++) {
    in[i] = draw_operand(d, b);
    units += d->units[in[i]];
  }
  in[n] = -2;
  const bool joins = units <= DRAW_UNITS && draw_below(d, 2);
  const int32_t y = draw_result(d, b, joins ? units : 1, false);
  const uint32_t step = build_step(b, 0, TN_STEP_KERNEL, joins ? "concat" : "add", in, LIST(y));
  if (joins) draw_parts(d, b, step, y);
  if (draw_below(d, 4) == 0) {
    const int32_t v = draw_result(d, b, d->units[y], true);
    b->values[v].index = y;
  }
}

static void draw_program(draw *d, build *b) {
  build_init(b, tn_allocator_system());
  const uint32_t n = build_symbol(b, "N", 1, 100, 1), segment = build_segment(b);
  build_bind(b, n, 0, 0, false);
  d->slots[1] = 1 + n;
  build_region(b, TN_NO_INDEX, segment);
  const int32_t x = (int32_t)build_input(b, "x", TN_F32, 1, SLOTS(n), "f32[N]");
  d->units[x] = 1;
  b->regions[0].params = build_list(b, LIST(x));
  for (int i = 0; i < DRAW_STEPS; i++) draw_step(d, b);
  const int32_t out = draw_operand(d, b);
  b->regions[0].results = build_list(b, LIST(out));
  build_output(b, (uint32_t)out, "f32[?]");
  draw_buffers(b);
}

/* A memory of units. What a unit holds is the unit of a value that a step made of nothing else: what was joined holds
 * units of its operands. */
typedef struct thought {
  const draw *d;
  const build *b;
  int64_t memory[DRAW_BUFFERS][DRAW_UNITS];
} thought;

static uint32_t think_step(const build *b, uint32_t operand) {
  for (uint32_t s = 0; s < b->p.n_steps; s++)
    if (operand - b->steps[s].in.first < b->steps[s].in.n) return s;
  return 0;
}

/* The unit where a value begins in its buffer. */
static uint32_t think_at(const thought *t, int64_t v) {
  uint32_t at = 0;
  while (t->b->values[v].part) {
    const uint32_t operand = t->b->values[v].part - 1, step = think_step(t->b, operand);
    for (uint32_t i = t->b->steps[step].in.first; i < operand; i++) at += t->d->units[t->b->operands[i]];
    v = t->b->operands[t->b->steps[step].out.first];
  }
  return at;
}

static int64_t think_maker(const build *b, int64_t v) {
  for (uint32_t s = 0; s < b->p.n_steps; s++)
    if (b->operands[b->steps[s].out.first] == v) return s;
  return -1;
}

/* What unit k of a value ought to be. */
static int64_t think_unit(const thought *t, int64_t v, uint32_t k) {
  v = think_root(t->b, v);
  const int64_t s = think_maker(t->b, v);
  if (s < 0 || strcmp(t->b->steps[s].kernel, "concat") != 0) return v;
  uint32_t i = t->b->steps[s].in.first;
  while (k >= t->d->units[t->b->operands[i]]) k -= t->d->units[t->b->operands[i++]];
  return think_unit(t, t->b->operands[i], k);
}

static int64_t *think_memory(thought *t, int64_t v) {
  const tn_pvalue *x = &t->b->values[v];
  return x->store == TN_STORE_BUFFER ? &t->memory[x->index][think_at(t, v)] : NULL;
}

static bool think_has(thought *t, int64_t v) {
  const int64_t *const at = think_memory(t, think_root(t->b, v));
  for (uint32_t k = 0; at && k < t->d->units[v]; k++)
    if (at[k] != think_unit(t, v, k)) return false;
  return true;
}

/* A kernel writes its result while it reads its operands; one that joins copies one after the other. */
static bool think_run(thought *t, uint32_t s) {
  const tn_pspan in = t->b->steps[s].in;
  const bool joins = strcmp(t->b->steps[s].kernel, "concat") == 0;
  const int64_t y = t->b->operands[t->b->steps[s].out.first];
  int64_t *to = think_memory(t, y);
  for (uint32_t i = in.first; i < in.first + in.n; i++)
    if (!think_has(t, t->b->operands[i])) return false;
  if (!joins) {
    *to = y;
    return true;
  }
  for (uint32_t i = in.first; i < in.first + in.n; i++) {
    const int64_t v = t->b->operands[i];
    const int64_t *const from = think_memory(t, think_root(t->b, v));
    for (uint32_t k = 0; k < t->d->units[v]; k++) *to++ = from ? from[k] : think_unit(t, v, k);
  }
  return think_has(t, y);
}

/* A kernel that joins does not write over an operand at the same place: sessions refuse that, as only they know
 * kernels. */
static bool think_is_in_place(const build *b, uint32_t s) {
  const tn_pvalue *y = &b->values[b->operands[b->steps[s].out.first]];
  for (uint32_t i = b->steps[s].in.first; i < b->steps[s].in.first + b->steps[s].in.n; i++) {
    const tn_pvalue *x = &b->values[think_root(b, b->operands[i])];
    if (x->store == TN_STORE_BUFFER && x->index == y->index && x->part == y->part) return true;
  }
  return false;
}

static bool think_is_for_sessions(const build *b) {
  for (uint32_t s = 0; s < b->p.n_steps; s++)
    if (strcmp(b->steps[s].kernel, "concat") == 0 && think_is_in_place(b, s)) return true;
  return false;
}

static bool think(thought *t) {
  for (uint32_t s = 0; s < t->b->p.n_steps; s++)
    if (!think_run(t, s)) return false;
  return think_has(t, t->b->outputs[0].value);
}

TEST(what_passes_is_right) {
  int with_parts = 0, passed = 0, wrong = 0;
  for (uint64_t seed = 0; seed < 30000; seed++) {
    draw d = {.seed = seed};
    build b;
    tn_error err = {TN_OK, ""};
    draw_program(&d, &b);
    thought t = {.d = &d, .b = &b};
    memset(t.memory, -1, sizeof t.memory);
    bool has_parts = false;
    for (uint32_t v = 0; v < b.p.n_values; v++) has_parts |= b.values[v].part != 0;
    if (tn_program_verify(&b.p, &err) != TN_OK) {
      wrong += !think(&t);
      continue;
    }
    passed++;
    with_parts += has_parts;
    if (!CHECK(think(&t) || think_is_for_sessions(&b))) printf("  seed %d\n", (int)seed);
  }
  if (!CHECK(passed > 300 && with_parts > 100 && wrong > 1000)) printf("  %d %d %d\n", passed, with_parts, wrong);
}
