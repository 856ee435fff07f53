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
