#include "pass/run.h"

static const tn_pass_fn place_passes[] = {tn_pass_symbolize, tn_pass_infer, tn_pass_place, NULL};

static tn_place place_of(const pass_run *r, const char *value) {
  const tn_value *v = tn_graph_find_value(r->graph, value);
  return (tn_place)r->pass.place_of[v->def->id];
}

static const char *place_engine(const pass_run *r, const char *value) {
  const tn_engine *e = r->pass.engine_of[tn_graph_find_value(r->graph, value)->def->id];
  return e ? e->name : "";
}

static void place_look(pass_run *r) {
  CHECK_STR(place_engine(r, "c"), "host");
  CHECK_STR(place_engine(r, "y"), "general");
  CHECK_EQ_I(place_of(r, "c"), TN_PLACE_DATA);
  CHECK_EQ_I(place_of(r, "v"), TN_PLACE_ALIAS);
  CHECK_EQ_I(place_of(r, "y"), TN_PLACE_KERNEL);
  CHECK_EQ_I(place_of(r, "nz"), TN_PLACE_KERNEL);
  CHECK_EQ_I(place_of(r, "i"), TN_PLACE_ALIAS); /* its size is late, but known when it runs */
}

TEST(engines) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[N,2]) -> (%y: ?, %i: ?) {\n"
      "  %c = const() {value = dense(i64[1]: -1)} : i64[1]\n"
      "  %v = reshape(%x, %c) : ?\n"
      "  %y = relu(%v) : ?\n"
      "  %nz = non_zero(%x) : ?\n"
      "  %i = identity(%nz) : ?\n"
      "}\n",
      place_passes, place_look);
}

TEST(refusals_come_all_at_once) {
  pass_run r;
  CHECK_EQ_I(run_passes(&r,
                        "tenon 1\n"
                        "graph @main(%x: f32[N], %u: f32[*]) -> (%a: ?, %b: ?, %c: ?) {\n"
                        "  %a = tanh(%x) : ? at \"first\" \"Tanh\"\n"
                        "  %b = relu(%x) : ?\n"
                        "  %c = exp(%u) : ? at \"third\" \"Exp\"\n"
                        "}\n",
                        place_passes, NULL),
             TN_UNSUPPORTED);
  if (CHECK_EQ_I(r.ctx.diags.n, 2)) {
    CHECK_HAS(r.ctx.diags.at[0].full, "node 'first' (Tanh): tanh has no kernel 'tanh'");
    CHECK_HAS(r.ctx.diags.at[1].full, "node 'third' (Exp): exp has a result whose size is known only when run");
  }
  tn_ctx_drop(&r.ctx);
}
