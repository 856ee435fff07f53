#include "pass/run.h"

static uint32_t plan_value(const pass_run *r, const char *name) {
  const tn_value *v = tn_graph_find_value(r->graph, name);
  return CHECK(v != NULL) ? v->id : 0;
}

static tn_pstore plan_store(const pass_run *r, const char *name) {
  return (tn_pstore)r->pass.plan->store[plan_value(r, name)];
}

static void plan_check_life(const pass_run *r, const char *name, uint32_t first, uint32_t last) {
  const int32_t b = r->pass.plan->buffer[plan_value(r, name)];
  if (!CHECK(b >= 0)) return;
  if (!CHECK_EQ_I(r->pass.plan->buffers[b].first, first) || !CHECK_EQ_I(r->pass.plan->buffers[b].last, last))
    printf("  %s\n", name);
}

static void plan_look_chain(pass_run *r) {
  CHECK_EQ_I(plan_store(r, "x"), TN_STORE_INPUT);
  CHECK_EQ_I(plan_store(r, "a"), TN_STORE_BUFFER);
  CHECK_EQ_I(plan_store(r, "v"), TN_STORE_VIEW);
  CHECK_EQ_I(r->pass.plan->view_of[plan_value(r, "v")], (int32_t)plan_value(r, "a"));
  CHECK_EQ_I(r->pass.plan->buffer[plan_value(r, "v")], -1);
  plan_check_life(r, "a", 0, 2); /* read through its view by step 2 */
  plan_check_life(r, "b", 1, 2);
  plan_check_life(r, "y", 2, 2);
  CHECK_EQ_I(r->pass.plan->n_buffers, 3);
}

TEST(views_keep_their_source_alive) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[N,2]) -> (%y: ?) {\n"
      "  %m = const() {value = dense(i64[1]: -1)} : i64[1]\n"
      "  %a = relu(%x) : ?\n"
      "  %v = reshape(%a, %m) : ?\n"
      "  %b = exp(%v) : ?\n"
      "  %y = add(%b, %v) : ?\n"
      "}\n",
      run_to_plan, plan_look_chain);
}

static void plan_look_nested(pass_run *r) {
  plan_check_life(r, "a", 0, 4); /* captured by the branches: alive until the step that owns them ends */
  plan_check_life(r, "w", 1, 5);
  plan_check_life(r, "t", 1, 5); /* in the memory of w */
  CHECK_EQ_I(r->pass.plan->buffer[plan_value(r, "t")], r->pass.plan->buffer[plan_value(r, "w")]);
  CHECK_EQ_I(r->pass.plan->buffer[plan_value(r, "e")], r->pass.plan->buffer[plan_value(r, "w")]);
  CHECK_EQ_I(plan_store(r, "t"), TN_STORE_BUFFER);
}

TEST(uses_in_regions_count_at_the_owner) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[N], %c: bool[]) -> (%y: ?) {\n"
      "  %a = relu(%x) : ?\n"
      "  %w = if(%c) region () {\n"
      "    %t = exp(%a) : ?\n"
      "    yield (%t)\n"
      "  } region () {\n"
      "    %e = neg(%a) : ?\n"
      "    yield (%e)\n"
      "  } : ?\n"
      "  %y = exp(%w) : ?\n"
      "}\n",
      run_to_plan, plan_look_nested);
}

static void plan_look_late(pass_run *r) {
  CHECK_EQ_I(plan_store(r, "nz"), TN_STORE_LATE);
  CHECK_EQ_I(plan_store(r, "y"), TN_STORE_LATE);
  CHECK_EQ_I(plan_store(r, "f"), TN_STORE_BUFFER);
  CHECK_EQ_I(r->pass.plan->n_buffers, 1);
}

TEST(late_sizes_have_no_buffer) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[N]) -> (%y: ?, %f: ?) {\n"
      "  %nz = non_zero(%x) : ?\n"
      "  %y = neg(%nz) : ?\n"
      "  %f = relu(%x) : ?\n"
      "}\n",
      run_to_plan, plan_look_late);
}

static int32_t plan_buffer(const pass_run *r, const char *name) { return r->pass.plan->buffer[plan_value(r, name)]; }

/* Is `name` operand `operand` of the node that makes `of`, in its buffer? operand -1: it lies elsewhere. */
static void plan_check_join(const pass_run *r, const char *name, const char *of, int operand) {
  const tn_plan_join *join = &r->pass.plan->join[plan_value(r, name)];
  const tn_value *y = tn_graph_find_value(r->graph, of);
  if (!CHECK(y != NULL)) return;
  if (!CHECK(operand < 0 ? !join->node : join->node == y->def && join->operand == operand) ||
      !CHECK_EQ_I(plan_buffer(r, name) == plan_buffer(r, of), operand >= 0))
    printf("  %s\n", name);
}

static void plan_look_joins(pass_run *r) {
  plan_check_join(r, "a", "c", 0);
  plan_check_join(r, "b", "c", 1);
  plan_check_join(r, "t", "c", 1); /* b is written over it */
  plan_check_join(r, "c", "y", 1); /* with all its parts */
  plan_check_join(r, "d", "y", 0); /* through a view */
  plan_check_life(r, "a", 0, 5);
  CHECK_EQ_I(r->pass.plan->n_buffers, 1);
  CHECK_EQ_I(r->pass.plan->n_joined, 4);
  if (!CHECK(r->pass.plan->joined_bytes != NULL)) return;
  CHECK_STR(tn_sym_text(r->graph->syms, r->pass.plan->joined_bytes), "40*N"); /* a 8N, b 4N, c 12N, d 16N */
}

TEST(what_is_joined_is_made_in_its_part) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[1,2,N], %z: f32[1,1,N], %w: f32[4,N]) -> (%y: ?) {\n"
      "  %m = const() {value = dense(i64[3]: 1, 4, -1)} : i64[3]\n"
      "  %a = relu(%x) : ?\n"
      "  %t = exp(%z) : ?\n"
      "  %b = sigmoid(%t) : ?\n"
      "  %c = concat(%a, %b) {axis = 1} : ?\n"
      "  %d = exp(%w) : ?\n"
      "  %v = reshape(%d, %m) : ?\n"
      "  %y = concat(%v, %c) {axis = 1} : ?\n"
      "}\n",
      run_to_plan, plan_look_joins);
}

static void plan_look_apart(pass_run *r) {
  plan_check_join(r, "a", "c", -1);
  plan_check_join(r, "d", "e", -1);
  CHECK_EQ_I(r->pass.plan->n_joined, 0);
}

TEST(what_does_not_lie_together_is_not_joined) { /* several rows; elements of half a byte */
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[B,2], %q: i4[N]) -> (%c: ?, %e: ?) {\n"
      "  %a = relu(%x) : ?\n"
      "  %c = concat(%a, %x) {axis = 1} : ?\n"
      "  %d = concat(%q, %q) {axis = 0} : ?\n"
      "  %e = concat(%d, %q) {axis = 0} : ?\n"
      "}\n",
      run_to_plan, plan_look_apart);
}

static void plan_look_later(pass_run *r) {
  plan_check_join(r, "a", "c", -1); /* y is written over c, while a is needed */
  plan_check_join(r, "b", "c", 1);
  CHECK_EQ_I(plan_buffer(r, "y"), plan_buffer(r, "c"));
  plan_check_join(r, "e", "h", 0);  /* nothing is written over h */
  plan_check_join(r, "f", "h", -1); /* g is written over it */
  plan_check_join(r, "k", "l", -1); /* a result of the graph */
}

TEST(what_is_needed_later) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[N]) -> (%y: ?, %z: ?, %h: ?, %g: ?, %o: ?, %k: ?, %l: ?) {\n"
      "  %a = relu(%x) : ?\n"
      "  %b = exp(%x) : ?\n"
      "  %c = concat(%a, %b) {axis = 0} : ?\n"
      "  %y = sigmoid(%c) : ?\n"
      "  %z = neg(%a) : ?\n"
      "  %e = relu(%x) : ?\n"
      "  %f = cos(%x) : ?\n"
      "  %h = concat(%e, %f) {axis = 0} : ?\n"
      "  %g = sigmoid(%f) : ?\n"
      "  %o = concat(%e, %x) {axis = 0} : ?\n"
      "  %k = sin(%x) : ?\n"
      "  %l = concat(%k, %x) {axis = 0} : ?\n"
      "}\n",
      run_to_plan, plan_look_later);
}

static void plan_look_cost(pass_run *r) {
  plan_check_join(r, "a", "c", -1);
  plan_check_join(r, "b", "c", 1);
}

TEST(a_part_that_would_cost_memory_is_not_joined) { /* c would live through the step where the most is live */
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[N]) -> (%c: ?) {\n"
      "  %m = const() {value = dense(i64[1]: 0)} : i64[1]\n"
      "  %a = relu(%x) : ?\n"
      "  %p = concat(%x, %x, %x, %x, %x, %x, %x, %x) {axis = 0} : ?\n"
      "  %q = concat(%p, %x) {axis = 0} : ?\n"
      "  %s = reduce_sum(%q, %m) : ?\n"
      "  %u = add(%s, %x) : ?\n"
      "  %b = cumsum(%u, %m) : ?\n"
      "  %c = concat(%a, %b) {axis = 0} : ?\n"
      "}\n",
      run_to_plan, plan_look_cost);
}
