#include "pass/run.h"

static const tn_program *emit_checked(pass_run *r) {
  tn_error err = {0};
  tn_program *p = r->pass.program;
  p->allocator = tn_allocator_system();
  if (!CHECK_EQ_I(tn_program_verify(p, &err), TN_OK)) printf("  %s\n", err.text);
  return p;
}

/* Evaluates the main segment with these symbols (in slot order) and gives a slot of a value. */
static int64_t emit_dim(const tn_program *p, const int64_t *symbols, uint32_t value, uint32_t dim) {
  int64_t slots[256] = {0};
  uint32_t at;
  const tn_psegment *s = &p->segments[p->regions[0].segment];
  if (!CHECK(p->n_slots <= 256) || !CHECK(dim < p->values[value].dims.n)) return -1;
  for (uint32_t i = 0; i < p->n_symbols; i++) slots[i] = symbols[i];
  CHECK_EQ_I(tn_shape_run(p->code + s->code.first, s->code.n, slots, &at), TN_OK);
  return slots[p->dim_slots[p->values[value].dims.first + dim]];
}

static void emit_look_static(pass_run *r) {
  const tn_program *p = emit_checked(r);
  CHECK_EQ_I(p->n_symbols, 2); /* N, S */
  CHECK_STR(p->symbols[0].name, "N");
  CHECK_EQ_I(p->n_steps, 1);
  CHECK_STR(p->steps[0].label, "node 'act' (Relu)");
  CHECK_STR(p->inputs[0].name, "x");
  CHECK_STR(p->outputs[0].name, "y");
  CHECK_STR(p->outputs[0].type_text, "f32[2*N*S]");
  CHECK_EQ_I(p->values[p->outputs[0].value].store, TN_STORE_BUFFER);
  CHECK_EQ_I(emit_dim(p, (const int64_t[]){3, 5}, p->outputs[0].value, 0), 30);
  CHECK_EQ_I(p->n_strings, 3);
  CHECK_STR(p->strings[0].ptr, "N");
  CHECK_STR(p->strings[1].ptr, "2");
  CHECK_STR(p->strings[2].ptr, "S");
}

TEST(sizes_become_shape_code) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[N,2,S]) -> (%y: ?) {\n"
      "  %m = const() {value = dense(i64[1]: -1)} : i64[1]\n"
      "  %r = reshape(%x, %m) : ?\n"
      "  %y = relu(%r) : ? at \"act\" \"Relu\"\n"
      "}\n",
      run_to_emit, emit_look_static);
}

static void emit_look_late(pass_run *r) {
  const tn_program *p = emit_checked(r);
  const tn_pvalue *y = &p->values[p->outputs[0].value];
  CHECK_EQ_I(p->n_steps, 2);
  CHECK(p->steps[0].segment >= 0); /* binds the late size */
  CHECK_EQ_I(p->steps[1].segment, TN_NO_INDEX);
  const tn_psegment *s = &p->segments[p->steps[0].segment];
  CHECK_EQ_I(s->binds.n, 1);
  CHECK_EQ_I(p->binds[s->binds.first].index, 1);
  CHECK_EQ_I(y->store, TN_STORE_LATE);
  CHECK_EQ_I(y->dims.n, 2); /* known before its step: memory is ready */
  CHECK_EQ_I(p->values[p->binds[s->binds.first].value].dims.n, 0);
}

TEST(late_sizes_are_bound_behind_their_step) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[N]) -> (%y: ?) {\n"
      "  %nz = non_zero(%x) : ?\n"
      "  %y = neg(%nz) : ?\n"
      "}\n",
      run_to_emit, emit_look_late);
}

static void emit_look_regions(pass_run *r) {
  const tn_program *p = emit_checked(r);
  CHECK_EQ_I(p->n_regions, 3);
  CHECK_EQ_I(p->steps[0].kind, TN_STEP_IF);
  CHECK_EQ_I(p->steps[0].regions.n, 2);
  CHECK_EQ_I(p->regions[1].parent_step, 0);
  CHECK_EQ_I(p->regions[1].steps.n, 1);
  CHECK_EQ_I(p->regions[2].steps.n, 1);
  CHECK_EQ_I(p->n_buffers, 1); /* the branches write where the If has its result */
  CHECK_EQ_I(p->regions[0].buffers.n, 1);
  const int32_t then = p->operands[p->steps[0].regions.first];
  CHECK_STR(p->steps[p->regions[then].steps.first].kernel, "exp");
}

TEST(regions) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[N], %c: bool[]) -> (%y: ?) {\n"
      "  %y = if(%c) region () {\n"
      "    %t = exp(%x) : ?\n"
      "    yield (%t)\n"
      "  } region () {\n"
      "    %e = neg(%x) : ?\n"
      "    yield (%e)\n"
      "  } : ?\n"
      "}\n",
      run_to_emit, emit_look_regions);
}

/* select(N == 0, 7, 100 // N): the division must not run when N is 0. */
static void emit_look_select(pass_run *r) {
  const tn_program *p = emit_checked(r);
  CHECK_EQ_I(emit_dim(p, (const int64_t[]){0, 7}, p->inputs[1].value, 0), 7);
  CHECK_EQ_I(emit_dim(p, (const int64_t[]){9, 11}, p->inputs[1].value, 0), 11);
}

TEST(arms_of_select_are_guarded) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[N], %z: f32[select(N == 0, 7, 100 // N)]) -> (%y: ?) {\n"
      "  %y = relu(%x) : ?\n"
      "}\n",
      run_to_emit, emit_look_select);
}

/* A size that divides by zero in a branch that is not taken is nobody's concern. */
static void emit_look_branch(pass_run *r) {
  const tn_program *p = emit_checked(r);
  int64_t slots[256] = {0};
  uint32_t at, divisions = 0;
  const tn_psegment *s = &p->segments[p->regions[0].segment];
  CHECK_EQ_I(tn_shape_run(p->code + s->code.first, s->code.n, slots, &at), TN_OK); /* all symbols are 0 */
  for (uint32_t i = 0; i < p->n_code; i++) divisions += p->code[i].op == TN_SHAPE_FLOORDIV;
  CHECK(divisions > 0);
}

TEST(branches_that_are_not_taken_do_not_fail) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: i64[], %d: i64[], %c: bool[]) -> (%y: ?) {\n"
      "  %y = if(%c) region () {\n"
      "    %k = const() {value = dense(i64[]: 10)} : i64[]\n"
      "    %r = range(%x, %k, %d) : ?\n"
      "    %n = neg(%r) : ?\n"
      "    yield (%n)\n"
      "  } region () {\n"
      "    %m = const() {value = dense(i64[1]: 1)} : i64[1]\n"
      "    %b = reshape(%x, %m) : ?\n"
      "    yield (%b)\n"
      "  } : ?\n"
      "}\n",
      run_to_emit, emit_look_branch);
}

static void emit_look_const(pass_run *r) {
  const tn_program *p = emit_checked(r);
  const tn_pvalue *w = &p->values[p->outputs[0].value];
  CHECK_EQ_I(w->store, TN_STORE_CONST);
  CHECK_EQ_I(w->bytes, 2 * sizeof(float));
  CHECK_EQ_F(((const float *)tn_program_data(p, p->outputs[0].value))[1], 4);
  CHECK_EQ_I(p->values[p->outputs[1].value].store, TN_STORE_INPUT);
  CHECK_STR(p->outputs[1].name, "x");
  CHECK_EQ_I(p->n_steps, 0);
}

TEST(outputs_without_steps) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[N]) -> (%w: ?, %x: f32[N]) {\n"
      "  %w = const() {value = dense(f32[2]: 3, 4)} : f32[2]\n"
      "}\n",
      run_to_emit, emit_look_const);
}
