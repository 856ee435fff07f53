/* Small programs made by hand. Everything is added in program order: a region's values, then its steps; a segment's
 * binds, code and checks while it is open. */
#ifndef TN_TEST_CODE_BUILD_H
#define TN_TEST_CODE_BUILD_H

#include "code/program.h"

enum { BUILD_MAX = 256 };

typedef struct build {
  tn_program p;
  tn_psymbol symbols[16];
  tn_shape_ins code[BUILD_MAX];
  tn_pbind binds[BUILD_MAX];
  tn_pcheck checks[16];
  tn_psegment segments[32];
  uint32_t dim_slots[BUILD_MAX];
  tn_pvalue values[BUILD_MAX];
  tn_pbuffer buffers[BUILD_MAX];
  int32_t operands[1024];
  tn_pattr attrs[32];
  int64_t ints[64];
  double floats[8];
  tn_str strings[8];
  tn_pstep steps[BUILD_MAX];
  tn_pregion regions[16];
  tn_pio inputs[8], outputs[8];
  const void *external[BUILD_MAX];
  uint32_t segment; /* the open one */
  bool has_ticks;
} build;

__attribute__((unused)) static void build_init(build *b, tn_allocator allocator) {
  memset(b, 0, sizeof *b);
  b->p = (tn_program){.allocator = allocator, .refs = 1};
  b->p.symbols = b->symbols;
  b->p.code = b->code;
  b->p.binds = b->binds;
  b->p.checks = b->checks;
  b->p.segments = b->segments;
  b->p.dim_slots = b->dim_slots;
  b->p.values = b->values;
  b->p.buffers = b->buffers;
  b->p.operands = b->operands;
  b->p.attrs = b->attrs;
  b->p.ints = b->ints;
  b->p.floats = b->floats;
  b->p.strings = b->strings;
  b->p.steps = b->steps;
  b->p.regions = b->regions;
  b->p.inputs = b->inputs;
  b->p.outputs = b->outputs;
  b->p.external = b->external;
}

/* Symbols first, before any other slot. */
__attribute__((unused)) static uint32_t build_symbol(build *b, const char *name, int64_t min, int64_t max,
                                                     int64_t multiple) {
  b->symbols[b->p.n_symbols++] = (tn_psymbol){name, min, max, multiple};
  return b->p.n_slots++;
}

__attribute__((unused)) static uint32_t build_segment(build *b) {
  b->segment = b->p.n_segments++;
  b->segments[b->segment] = (tn_psegment){{b->p.n_binds, 0}, {b->p.n_code, 0}, {b->p.n_checks, 0}};
  return b->segment;
}

__attribute__((unused)) static void build_bind(build *b, uint32_t slot, uint32_t value, int64_t index, bool is_elem) {
  b->binds[b->p.n_binds++] = (tn_pbind){slot, value, index, is_elem};
  b->segments[b->segment].binds.n++;
}

__attribute__((unused)) static uint32_t build_ins(build *b, tn_shape_opcode op, uint32_t x, uint32_t y, int64_t imm) {
  const uint32_t dst = op == TN_SHAPE_JUMPZ ? 0 : b->p.n_slots++;
  b->code[b->p.n_code++] = (tn_shape_ins){.op = (uint8_t)op, .dst = dst, .a = x, .b = y, .imm = imm};
  b->segments[b->segment].code.n++;
  return dst;
}

__attribute__((unused)) static uint32_t build_const(build *b, int64_t v) {
  return build_ins(b, TN_SHAPE_CONST, 0, 0, v);
}

__attribute__((unused)) static void build_check(build *b, uint32_t slot, const char *text) {
  b->checks[b->p.n_checks++] = (tn_pcheck){slot, text};
  b->segments[b->segment].checks.n++;
}

__attribute__((unused)) static tn_pspan build_dims(build *b, int n, const uint32_t *slots) {
  const tn_pspan span = {b->p.n_dim_slots, (uint32_t)n};
  for (int i = 0; i < n; i++) b->dim_slots[b->p.n_dim_slots++] = slots[i];
  return span;
}

__attribute__((unused)) static uint32_t build_region(build *b, int32_t parent_step, uint32_t segment) {
  b->regions[b->p.n_regions] = (tn_pregion){.values = {b->p.n_values, 0},
                                            .steps = {b->p.n_steps, 0},
                                            .buffers = {b->p.n_buffers, 0},
                                            .segment = segment,
                                            .parent_step = parent_step};
  return b->p.n_regions++;
}

/* A value of the region made last. rank -2: a sequence. slots NULL: the dims are not known. */
__attribute__((unused)) static uint32_t build_value(build *b, const char *name, tn_dtype d, tn_pstore store, int rank,
                                                    const uint32_t *slots) {
  const uint32_t region = b->p.n_regions - 1, v = b->p.n_values++;
  b->values[v] = (tn_pvalue){.name = name,
                             .kind = rank == -2,
                             .dtype = (uint8_t)d,
                             .store = (uint8_t)store,
                             .rank = (int8_t)(rank < 0 ? -1 : rank),
                             .region = region};
  if (slots) b->values[v].dims = build_dims(b, rank, slots);
  b->regions[region].values.n++;
  return v;
}

__attribute__((unused)) static uint32_t build_input(build *b, const char *name, tn_dtype d, int rank,
                                                    const uint32_t *slots, const char *type_text) {
  const uint32_t v = build_value(b, name, d, TN_STORE_INPUT, rank, slots);
  b->values[v].index = b->p.n_inputs;
  b->inputs[b->p.n_inputs++] = (tn_pio){name, v, type_text};
  return v;
}

__attribute__((unused)) static void build_output(build *b, uint32_t v, const char *type_text) {
  b->outputs[b->p.n_outputs++] = (tn_pio){b->values[v].name, v, type_text};
}

/* With a buffer of its own. */
__attribute__((unused)) static uint32_t build_buffered(build *b, const char *name, tn_dtype d, int rank,
                                                       const uint32_t *slots, uint32_t first, uint32_t last) {
  const uint32_t v = build_value(b, name, d, TN_STORE_BUFFER, rank, slots);
  b->values[v].index = b->p.n_buffers;
  b->buffers[b->p.n_buffers++] = (tn_pbuffer){b->p.n_regions - 1, first, last, v};
  b->regions[b->p.n_regions - 1].buffers.n++;
  return v;
}

__attribute__((unused)) static uint32_t build_constant(build *b, const char *name, tn_dtype d, int rank,
                                                       const uint32_t *slots, const void *data, uint64_t bytes) {
  const uint32_t v = build_value(b, name, d, TN_STORE_CONST, rank, slots);
  b->values[v].bytes = bytes;
  b->external[v] = data;
  return v;
}

/* A list of operands that ends with -2. */
__attribute__((unused)) static tn_pspan build_list(build *b, const int32_t *list) {
  tn_pspan span = {b->p.n_operands, 0};
  for (int i = 0; list[i] != -2; i++, span.n++) b->operands[b->p.n_operands++] = list[i];
  return span;
}
#define LIST(...) ((const int32_t[]){__VA_ARGS__, -2})
#define EMPTY ((const int32_t[]){-2})

/* A step of the region `region`. */
__attribute__((unused)) static uint32_t build_step(build *b, uint32_t region, tn_pstep_kind kind, const char *kernel,
                                                   const int32_t *in, const int32_t *out) {
  const uint32_t s = b->p.n_steps++;
  b->steps[s] = (tn_pstep){.kind = (uint8_t)kind,
                           .kernel = kernel,
                           .label = kernel ? kernel : "control",
                           .in = build_list(b, in),
                           .out = build_list(b, out),
                           .segment = TN_NO_INDEX};
  if (b->regions[region].steps.n++ == 0) b->regions[region].steps.first = s;
  return s;
}

__attribute__((unused)) static void build_attr(build *b, uint32_t step, tn_pattr a) {
  if (b->steps[step].attrs.n++ == 0) b->steps[step].attrs.first = b->p.n_attrs;
  b->attrs[b->p.n_attrs++] = a;
}

__attribute__((unused)) static tn_pspan build_ints(build *b, int n, const int64_t *v) {
  const tn_pspan span = {b->p.n_ints, (uint32_t)n};
  for (int i = 0; i < n; i++) b->ints[b->p.n_ints++] = v[i];
  return span;
}

/* Turns the steps that buffers were given as lives into ticks; those that last to the end of a region get its end. */
__attribute__((unused)) static void build_region_ticks(build *b, uint32_t region, uint32_t *clock) {
  const tn_pregion *r = &b->regions[region];
  uint32_t begin[BUILD_MAX], end[BUILD_MAX];
  for (uint32_t k = 0; k < r->steps.n; k++) {
    const tn_pspan inner = b->steps[r->steps.first + k].regions;
    begin[k] = (*clock)++;
    for (uint32_t i = 0; i < inner.n; i++) build_region_ticks(b, (uint32_t)b->operands[inner.first + i], clock);
    end[k] = inner.n ? (*clock)++ : begin[k];
  }
  for (uint32_t i = r->buffers.first; i < r->buffers.first + r->buffers.n; i++) {
    b->buffers[i].first = begin[b->buffers[i].first];
    b->buffers[i].last = end[b->buffers[i].last];
  }
}
__attribute__((unused)) static void build_ticks(build *b) {
  uint32_t clock = 0;
  if (!b->has_ticks) build_region_ticks(b, 0, &clock);
  b->has_ticks = true;
}

#define SLOTS(...) ((const uint32_t[]){__VA_ARGS__})

/* y[N,2] = a[N,2] + b[N,2] + (1, 2), the output being `identity` of it. N in [1, 100]. */
__attribute__((unused)) static void build_add(build *b, tn_allocator allocator) {
  static const _Alignas(64) float bias[2] = {1, 2};
  build_init(b, allocator);
  const uint32_t n = build_symbol(b, "N", 1, 100, 1);
  const uint32_t main_segment = build_segment(b);
  build_bind(b, n, 0, 0, false);
  build_bind(b, n, 1, 0, false);
  const uint32_t two = build_const(b, 2);
  build_region(b, TN_NO_INDEX, main_segment);
  const int32_t x = (int32_t)build_input(b, "a", TN_F32, 2, SLOTS(n, two), "f32[N,2]");
  const int32_t y = (int32_t)build_input(b, "b", TN_F32, 2, SLOTS(n, two), "f32[N,2]");
  const int32_t c = (int32_t)build_constant(b, "bias", TN_F32, 1, SLOTS(two), bias, sizeof bias);
  const int32_t sum = (int32_t)build_buffered(b, "sum", TN_F32, 2, SLOTS(n, two), 0, 1);
  const int32_t biased = (int32_t)build_buffered(b, "biased", TN_F32, 2, SLOTS(n, two), 1, 2);
  const int32_t out = (int32_t)build_buffered(b, "y", TN_F32, 2, SLOTS(n, two), 2, 2);
  b->regions[0].params = build_list(b, LIST(x, y));
  build_step(b, 0, TN_STEP_KERNEL, "add", LIST(x, y), LIST(sum));
  build_step(b, 0, TN_STEP_KERNEL, "add", LIST(sum, c), LIST(biased));
  build_step(b, 0, TN_STEP_KERNEL, "identity", LIST(biased), LIST(out));
  b->regions[0].results = build_list(b, LIST(out));
  build_output(b, (uint32_t)out, "f32[N,2]");
}

#endif
