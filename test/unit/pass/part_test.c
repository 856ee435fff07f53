/* Which results are parts of an operand, and where they begin; what looks like one and is none. */
#include "pass/run.h"

/* The element of its source where `name` begins, as text; "" when it is no part. */
static const char *part_begin(const pass_run *r, const char *name) {
  const tn_value *v = tn_graph_find_value(r->graph, name);
  if (!CHECK(v != NULL)) return "";
  const tn_sym part = r->pass.plan->part[v->id];
  return part ? tn_sym_text(r->graph->syms, part) : "";
}

static void part_is(const pass_run *r, const char *name, const char *begin) {
  if (!CHECK_STR(part_begin(r, name), begin)) printf("  %s\n", name);
  const tn_value *v = tn_graph_find_value(r->graph, name);
  if (v) CHECK_EQ_I(r->pass.plan->store[v->id] == TN_STORE_VIEW, begin[0] != 0);
}

static void look_split(pass_run *r) {
  part_is(r, "a", "0");
  part_is(r, "b", "2*N");
  part_is(r, "c", "");
  part_is(r, "d", "");
  CHECK_EQ_I(r->pass.plan->n_buffers, 2); /* c and d */
}

TEST(split) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[1,5,N], %z: f32[N,4]) -> (%a: ?, %b: ?, %c: ?, %d: ?) {\n"
      "  %m = const() {value = dense(i64[2]: 2, 3)} : i64[2]\n"
      "  %a, %b = split(%x, %m) {axis = 1} : ?, ?\n" /* axis 0 is 1 */
      "  %k = const() {value = dense(i64[2]: 2, 2)} : i64[2]\n"
      "  %c, %d = split(%z, %k) {axis = 1} : ?, ?\n" /* rows are cut */
      "}\n",
      run_to_plan, look_split);
}

static void look_gather(pass_run *r) {
  part_is(r, "a", "12");
  part_is(r, "b", ""); /* index -1: N may be 0 */
  part_is(r, "c", ""); /* two of them */
  part_is(r, "d", ""); /* of the inner axis */
}

TEST(gather) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[5,4], %z: f32[N,4]) -> (%a: ?, %b: ?, %c: ?, %d: ?) {\n"
      "  %i = const() {value = dense(i64[]: 3)} : i64[]\n"
      "  %j = const() {value = dense(i64[]: -1)} : i64[]\n"
      "  %k = const() {value = dense(i64[2]: 0, 1)} : i64[2]\n"
      "  %a = gather(%x, %i) : ?\n"
      "  %b = gather(%z, %j) : ?\n"
      "  %c = gather(%x, %k) : ?\n"
      "  %d = gather(%x, %i) {axis = 1} : ?\n"
      "}\n",
      run_to_plan, look_gather);
}

static void look_slice(pass_run *r) {
  part_is(r, "a", "8");  /* rows 2 to 4 */
  part_is(r, "b", "");   /* every second row */
  part_is(r, "c", "");   /* columns */
  part_is(r, "d", "13"); /* of row 3, columns 1 to 3 */
  part_is(r, "e", "");   /* backwards */
}

TEST(slice) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: f32[5,4]) -> (%a: ?, %b: ?, %c: ?, %d: ?, %e: ?) {\n"
      "  %zero = const() {value = dense(i64[1]: 0)} : i64[1]\n"
      "  %one = const() {value = dense(i64[1]: 1)} : i64[1]\n"
      "  %two = const() {value = dense(i64[1]: 2)} : i64[1]\n"
      "  %four = const() {value = dense(i64[1]: 4)} : i64[1]\n"
      "  %back = const() {value = dense(i64[1]: -1)} : i64[1]\n"
      "  %from = const() {value = dense(i64[2]: 3, 1)} : i64[2]\n"
      "  %to = const() {value = dense(i64[2]: 4, 4)} : i64[2]\n"
      "  %a = slice(%x, %two, %four) : ?\n"
      "  %b = slice(%x, %zero, %four, %zero, %two) : ?\n"
      "  %c = slice(%x, %one, %two, %one) : ?\n"
      "  %d = slice(%x, %from, %to) : ?\n"
      "  %e = slice(%x, %four, %zero, %zero, %back) : ?\n"
      "}\n",
      run_to_plan, look_slice);
}

static void look_types(pass_run *r) { /* elements of less than a byte, and strings, are never parts */
  part_is(r, "a", "");
  part_is(r, "b", "");
}

TEST(types) {
  run_ok(
      "tenon 1\n"
      "graph @main(%x: i4[5,4], %s: str[5,4]) -> (%a: ?, %b: ?) {\n"
      "  %i = const() {value = dense(i64[]: 3)} : i64[]\n"
      "  %a = gather(%x, %i) : ?\n"
      "  %b = gather(%s, %i) : ?\n"
      "}\n",
      run_to_plan, look_types);
}
