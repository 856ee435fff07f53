/* Verification: one fault at a time in a good program, and the sentence that names it. */
#include "code/build.h"
#include "code/program.h"
#include "test.h"

enum { A, B, BIAS, SUM, BIASED, Y }; /* values of build_add */

static void refused(const build *b, const char *message, int line) {
  tn_error err = {TN_OK, ""};
  const tn_status status = tn_program_verify(&b->p, &err);
  if (!CHECK_EQ_I(status, TN_INVALID) || !CHECK_STR(err.text, message)) printf("  at line %d\n", line);
}

#define REFUSED(change, message)                \
  do {                                          \
    build b;                                    \
    build_add(&b, tn_allocator_system());       \
    change;                                     \
    refused(&b, "program: " message, __LINE__); \
  } while (0)

TEST(good) {
  build b;
  tn_error err = {TN_OK, ""};
  build_add(&b, tn_allocator_system());
  if (!CHECK_EQ_I(tn_program_verify(&b.p, &err), TN_OK)) printf("  %s\n", err.text);
}

TEST(tables) {
  REFUSED(b.p.n_regions = 0, "no main region");
  REFUSED(b.symbols[0].name = NULL, "symbol 0 has no name");
  REFUSED(b.symbols[0].min = 101, "symbol 0 has no possible value");
  REFUSED(b.symbols[0].multiple_of = 0, "symbol 0 has no possible value");
  REFUSED(b.p.n_slots = 0, "more symbols than slots");
  REFUSED(b.p.n_slots = 9, "9 slots, but fewer are written");
  REFUSED(b.p.n_slots = 3, "nothing writes slot 2");
  REFUSED(b.binds[1].slot = 2, "bind 1 is out of range");
  REFUSED(b.binds[1].value = 6, "bind 1 is out of range");
  REFUSED(b.binds[1].index = 16, "bind 1 reads element 16");
  REFUSED(b.binds[1].index = -1, "bind 1 reads element -1");
  REFUSED(b.code[0].op = TN_N_SHAPE_OPS, "instruction 0 has an unknown opcode");
  REFUSED(b.code[0].dst = 2, "instruction 0 names a slot that is not there");
  REFUSED(b.code[0].b = 2, "instruction 0 names a slot that is not there");
  REFUSED((b.code[0].op = TN_SHAPE_SELECT, b.code[0].imm = 2), "instruction 0 names a slot that is not there");
  REFUSED(build_check(&b, 2, "text"), "check 0 is out of range");
  REFUSED(build_check(&b, 1, NULL), "check 0 is out of range");
  REFUSED(b.segments[0].binds.n = UINT32_MAX, "segment 0 is out of range");
  REFUSED(b.dim_slots[0] = 2, "dim 0 is out of range");
  REFUSED(b.values[SUM].name = NULL, "value 3 has no name");
  REFUSED(b.values[SUM].kind = 4, "value 'sum' is malformed");
  REFUSED(b.values[SUM].store = TN_STORE_SHAPE + 1, "value 'sum' is malformed");
  REFUSED(b.values[SUM].region = 1, "value 'sum' is malformed");
  REFUSED(b.values[SUM].dtype = 0, "value 'sum' has no element type");
  REFUSED(b.values[SUM].dtype = TN_N_DTYPES, "value 'sum' has no element type");
  REFUSED(b.values[SUM].rank = 17, "value 'sum' has rank 17");
  REFUSED(b.values[SUM].rank = 3, "value 'sum' has 2 dims and rank 3");
  REFUSED(b.values[SUM].dims.first = 11, "the dims of value 'sum' are out of range");
  REFUSED(b.values[SUM].kind = 1, "value 'sum' is no tensor and cannot be stored so");
  REFUSED(b.values[SUM].index = 3, "value 'sum' has no buffer");
  REFUSED(b.values[A].index = 1, "input 0 is malformed");
  REFUSED((b.values[Y].store = TN_STORE_VIEW, b.values[Y].index = Y, b.p.n_buffers = b.regions[0].buffers.n = 2),
          "value 'y' is a view of a later one");
  REFUSED((b.values[SUM].store = TN_STORE_SHAPE, b.values[SUM].dtype = TN_STR),
          "value 'sum' is made of integers, but is str");
  REFUSED(b.buffers[0].first = 2, "buffer 0 is malformed");
  REFUSED(b.buffers[0].value = BIASED, "buffer 0 is malformed");
  REFUSED(b.steps[0].kind = TN_STEP_SEQUENCE_MAP + 1, "step 0 is of no known kind");
  REFUSED(b.steps[0].label = NULL, "step 0 has no name");
  REFUSED(b.steps[0].kernel = NULL, "step 0 has no name");
  REFUSED(b.steps[0].segment = 1, "step 0 is out of range");
  REFUSED(b.steps[0].segment = -2, "step 0 is out of range");
  REFUSED(b.steps[0].in.first = 99, "step 0 is out of range");
  REFUSED(b.steps[0].in = b.steps[1].in; b.p.n_operands -= 1;
          b.regions[0].results.first -= 1, "lists share their elements");
  REFUSED(b.regions[0].segment = 1, "region 0 is out of range");
  REFUSED(b.inputs[0].value = B, "input 0 is malformed");
  REFUSED((b.values[Y].store = TN_STORE_INPUT, b.p.n_buffers = b.regions[0].buffers.n = 2, b.values[Y].index = 0),
          "value 'y' is no input");
  REFUSED(b.outputs[0].value = 6, "output 0 is malformed");
}

TEST(constants) {
  REFUSED(b.values[BIAS].bytes = 12, "constant 'bias' has 12 bytes, its dims need 8");
  REFUSED(b.dim_slots[b.values[BIAS].dims.first] = 0, "constant 'bias' has dims that are not constant");
  REFUSED(b.code[0].imm = -1, "constant 'bias' is too large");
  REFUSED(b.values[BIAS].dims.n = 0, "constant 'bias' has no dims");
  REFUSED(b.external[BIAS] = NULL, "constant 'bias' lies outside the weights");
}

TEST(attributes) {
  REFUSED(build_attr(&b, 0, (tn_pattr){.kind = TN_PATTR_INT}), "attribute 0 has no name");
  REFUSED(build_attr(&b, 0, (tn_pattr){.name = "a", .kind = 7}), "attribute 0, a, is malformed");
  REFUSED(build_attr(&b, 0, (tn_pattr){.name = "a", .kind = TN_PATTR_INTS, .list = {0, 1}}),
          "attribute 0, a, is malformed");
  REFUSED(build_attr(&b, 0, (tn_pattr){.name = "a", .kind = TN_PATTR_FLOATS, .list = {1, 0}}),
          "attribute 0, a, is malformed");
  REFUSED(build_attr(&b, 0, (tn_pattr){.name = "a", .kind = TN_PATTR_TENSOR, .value = SUM}),
          "attribute 0, a, is malformed");
  REFUSED(b.steps[0].attrs = ((tn_pspan){0, 1}), "step 0 is out of range");
}

TEST(order) {
  REFUSED(b.operands[b.steps[0].in.first] = BIASED, "add: value 'biased' is used too early");
  REFUSED(b.operands[b.steps[0].in.first] = SUM, "add: value 'sum' is used too early");
  REFUSED(b.operands[b.steps[0].in.first] = 77, "add: operand out of range");
  REFUSED(b.operands[b.steps[0].out.first] = A, "step 0 cannot write value 'a'");
  REFUSED(b.operands[b.steps[1].out.first] = SUM, "value 'sum' is written twice");
  REFUSED(b.operands[b.steps[1].out.first] = -7, "an output of step 1 is out of range");
  REFUSED(b.operands[b.steps[2].in.first] = SUM, "identity: value 'sum' has lost its buffer");
  REFUSED(b.buffers[1].first = 2, "add: value 'biased' has no buffer yet");
  REFUSED(b.outputs[0].value = SUM, "y: value 'sum' has lost its buffer");
  REFUSED(b.operands[b.regions[0].results.first] = SUM, "result: value 'sum' has lost its buffer");
  REFUSED(b.operands[b.regions[0].params.first] = SUM, "parameter 0 of region 0 is malformed");
  REFUSED(b.regions[0].parent_step = 0, "the main region has an owner");
  REFUSED(b.regions[0].steps.n = 2, "result: value 'y' is used too early");
  REFUSED((b.values[SUM].dtype = TN_STR, b.values[BIASED].index = 0, b.buffers[1].value = Y, b.values[Y].index = 1,
           b.buffers[2] = b.buffers[1], b.p.n_buffers = b.regions[0].buffers.n = 2),
          "a buffer mixes strings and data");
}

/* y as a view of biased. */
static void build_view(build *b) {
  build_add(b, tn_allocator_system());
  b->values[Y].store = TN_STORE_VIEW;
  b->values[Y].index = BIASED;
  b->p.n_buffers = b->regions[0].buffers.n = 2;
  b->p.n_steps = b->regions[0].steps.n = 2;
}

#define REFUSED_VIEW(change, message)           \
  do {                                          \
    build b;                                    \
    build_view(&b);                             \
    change;                                     \
    refused(&b, "program: " message, __LINE__); \
  } while (0)

TEST(good_view) {
  build b;
  tn_error err = {TN_OK, ""};
  build_view(&b);
  if (!CHECK_EQ_I(tn_program_verify(&b.p, &err), TN_OK)) printf("  %s\n", err.text);
}

TEST(views) {
  REFUSED_VIEW(b.values[Y].dtype = TN_STR, "view 'y' mixes strings and data");
  REFUSED_VIEW(b.values[Y].dims.n = 0, "view 'y' has no dims");
  REFUSED_VIEW((b.values[Y].index = SUM, b.buffers[0].last = 0, b.operands[b.steps[1].in.first] = A),
               "result: value 'y' has lost its buffer");
  REFUSED_VIEW((b.values[BIASED].store = TN_STORE_LATE, b.operands[b.steps[1].out.first] = TN_NO_INDEX,
                b.p.n_buffers = b.regions[0].buffers.n = 1),
               "result: value 'y' is used too early");
}

TEST(shape_code) {
  REFUSED(b.binds[0].value = b.binds[1].value = SUM, "bind 0 reads a value that is not there yet");
  REFUSED((build_ins(&b, TN_SHAPE_COPY, 2, 0, 0), b.segments[0].code.n = 2), "instruction 1 reads slot 2 too early");
  REFUSED((build_ins(&b, TN_SHAPE_COPY, 0, 0, 0), b.code[1].dst = 0, b.p.n_slots--), "slot 0 is written twice");
  REFUSED(build_ins(&b, TN_SHAPE_JUMPZ, 0, 0, 1), "instruction 1 jumps out of its segment");
  REFUSED(build_ins(&b, TN_SHAPE_JUMPZ, 0, 0, -1), "instruction 1 jumps out of its segment");
  REFUSED(build_segment(&b), "segment 1 belongs to nothing");
  REFUSED(b.steps[0].segment = 0, "segment 0 has two owners");
  REFUSED((b.steps[0].segment = (int32_t)build_segment(&b), b.segments[1].code = (tn_pspan){0, 1}),
          "segment 1 shares with another");
  /* y's size is known only after step 0. */
  REFUSED((b.steps[0].segment = (int32_t)build_segment(&b), b.segments[0].binds.n = 0,
           b.segments[1].binds = (tn_pspan){0, 2}, b.binds[0].value = b.binds[1].value = SUM),
          "the size of value 'sum' is not known in time");
}

/* An If in the main region: c ? x : x + x. */
static void build_branch(build *b) {
  build_add(b, tn_allocator_system());
  const uint32_t n = 0;
  b->p.n_values = BIASED + 1;
  b->regions[0].values.n = BIASED + 1;
  b->values[A].dtype = TN_BOOL;
  b->steps[2] = (tn_pstep){.kind = TN_STEP_IF, .label = "if", .segment = TN_NO_INDEX};
  b->steps[2].in = build_list(b, LIST(A));
  b->outputs[0].value = BIASED;
  b->operands[b->regions[0].results.first] = BIASED;
  b->p.n_buffers = b->regions[0].buffers.n = 2;
  for (int i = 0; i < 2; i++) {
    const uint32_t r = build_region(b, 2, build_segment(b));
    build_value(b, "inner", TN_F32, TN_STORE_LATE, 1, SLOTS(n));
    b->regions[r].steps.first = b->p.n_steps;
  }
  b->steps[2].regions = build_list(b, LIST(1, 2));
  build_ticks(b);
}

#define REFUSED_IN(change, message)             \
  do {                                          \
    build b;                                    \
    build_branch(&b);                           \
    change;                                     \
    refused(&b, "program: " message, __LINE__); \
  } while (0)

TEST(good_regions) {
  build b;
  tn_error err = {TN_OK, ""};
  build_branch(&b);
  if (!CHECK_EQ_I(tn_program_verify(&b.p, &err), TN_OK)) printf("  %s\n", err.text);
}

TEST(regions) {
  REFUSED_IN(b.regions[1].parent_step = 0, "if: region 1 belongs to another step");
  REFUSED_IN(b.operands[b.steps[2].regions.first] = 2, "region 2 is used twice");
  REFUSED_IN(b.operands[b.steps[2].regions.first] = 0, "if: region out of range");
  REFUSED_IN(b.steps[2].regions.n = 1, "if: 1 regions");
  REFUSED_IN(b.steps[2].kind = TN_STEP_LOOP, "if: 2 regions");
  REFUSED_IN((b.steps[2].kind = TN_STEP_LOOP, b.steps[2].regions.n = 1), "if: 1 inputs");
  REFUSED_IN((b.steps[2].kind = TN_STEP_SCAN, b.steps[2].regions.n = 1), "if: -1 scan inputs");
  REFUSED_IN(b.regions[1].params = build_list(&b, LIST(5)), "if: region 1 has 1 params and 0 results");
  REFUSED_IN((b.steps[2].kind = TN_STEP_KERNEL, b.steps[2].kernel = "identity"), "if: has regions");
  REFUSED_IN(b.regions[2].results = build_list(&b, LIST(6)), "result: value 'inner' is used too early");
  REFUSED_IN(b.regions[2].results = build_list(&b, LIST(5)), "result: value 'inner' is used too early");
  REFUSED_IN(b.regions[2].values = ((tn_pspan){5, 1}), "value 'inner' is in two regions");
  REFUSED_IN(b.regions[2].values.n = 0, "values belong to no region");
  REFUSED_IN(b.regions[2].buffers = b.regions[0].buffers, "regions share buffers");
  REFUSED_IN(b.regions[2].steps = ((tn_pspan){0, 1}), "step 0 is in two regions");
  REFUSED_IN((b.operands[b.steps[2].in.first] = SUM), "if: value 'sum' has lost its buffer");
}

/* An If in the then-branch of an If in the then-branch ..., `levels` of them. */
static tn_status verify_nested(uint32_t levels, tn_error *err) {
  static tn_pregion regions[200];
  static tn_pstep steps[100];
  static tn_psegment segments[200];
  static int32_t operands[400];
  static const uint8_t yes = 1;
  build b;
  build_init(&b, tn_allocator_system());
  build_region(&b, TN_NO_INDEX, 0);
  build_constant(&b, "c", TN_BOOL, 0, SLOTS(0), &yes, 1);
  regions[0] = b.regions[0];
  for (uint32_t i = 0; i < levels; i++) {
    const uint32_t deeper = 2 * i + 1;
    operands[3 * i] = 0;
    operands[3 * i + 1] = (int32_t)deeper;
    operands[3 * i + 2] = (int32_t)deeper + 1;
    steps[i] = (tn_pstep){
        .kind = TN_STEP_IF, .label = "if", .in = {3 * i, 1}, .regions = {3 * i + 1, 2}, .segment = TN_NO_INDEX};
    regions[deeper] = (tn_pregion){.steps = {i + 1, i + 1 < levels}, .segment = deeper, .parent_step = (int32_t)i};
    regions[deeper + 1] = (tn_pregion){.segment = deeper + 1, .parent_step = (int32_t)i};
  }
  regions[0].steps = (tn_pspan){0, 1};
  b.p.regions = regions;
  b.p.steps = steps;
  b.p.segments = segments;
  b.p.operands = operands;
  b.p.n_regions = b.p.n_segments = 2 * levels + 1;
  b.p.n_operands = 3 * levels;
  b.p.n_steps = levels;
  *err = (tn_error){TN_OK, ""};
  return tn_program_verify(&b.p, err);
}

TEST(depth) {
  tn_error err;
  if (!CHECK_EQ_I(verify_nested(64, &err), TN_OK)) printf("  %s\n", err.text);
  CHECK_EQ_I(verify_nested(65, &err), TN_INVALID);
  CHECK_STR(err.text, "program: regions are nested deeper than 64");
}

/* A row of gears times their number is beyond 64 bits, and what is left of it is the number of sizes. */
TEST(gears) {
  enum { OUTPUTS = 32768, SIZES = 196606 };
  static tn_pio outputs[OUTPUTS];
  static int64_t sizes[SIZES];
  build big;
  build_add(&big, tn_allocator_system());
  for (size_t i = 0; i < OUTPUTS; i++) outputs[i] = big.outputs[0];
  for (size_t i = 0; i < SIZES; i++) sizes[i] = 1;
  big.p.outputs = outputs;
  big.p.n_outputs = OUTPUTS;
  big.p.gear_columns = UINT32_MAX;
  big.p.n_gears = 4294901762u;
  big.p.gear_sizes = sizes;
  big.p.n_gear_sizes = SIZES;
  refused(&big, "program: the gears are malformed", __LINE__);
  REFUSED(b.p.gear_miss = 1, "there are no gears");
  REFUSED((b.p.n_gears = 2, b.p.gear_columns = 1), "the gears are malformed");
}
