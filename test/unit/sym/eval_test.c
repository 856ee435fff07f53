/* Evaluation, substitution, symbols of an expression. */
#include "sym_testing.h"

static bool eval_env(void *arg, uint32_t symbol, int64_t *out) {
  const int64_t *const values = arg;
  if (symbol >= 3) return false;
  *out = values[symbol];
  return true;
}

static tn_status eval_at(sym_bench *b, const char *text, int64_t x, int64_t y, int64_t z, int64_t *out) {
  int64_t values[3] = {x, y, z};
  for (size_t i = 0; i < 3; i++) (void)sym_of(b, (const char *const[]){"x", "y", "z"}[i]);
  return tn_sym_eval(b->t, sym_of(b, text), eval_env, values, out);
}

#define CHECK_EVAL(text, x, y, z, expected)              \
  do {                                                   \
    int64_t got_ = -99;                                  \
    CHECK_EQ_I(eval_at(b, text, x, y, z, &got_), TN_OK); \
    CHECK_EQ_I(got_, expected);                          \
  } while (0)
#define CHECK_EVAL_FAILS(text, x, y, z, status)           \
  do {                                                    \
    int64_t got_;                                         \
    CHECK_EQ_I(eval_at(b, text, x, y, z, &got_), status); \
  } while (0)

SYM_TEST(values) {
  CHECK_EVAL("2*(x*z) + max(x + 3*y, z)", 1, 2, 3, 13);
  CHECK_EVAL("x//y", -7, 2, 0, -4);
  CHECK_EVAL("x//y", 7, -2, 0, -4);
  CHECK_EVAL("x % y", -7, 2, 0, 1);
  CHECK_EVAL("x % y", 7, -2, 0, -1);
  CHECK_EVAL("ceildiv(x, y)", -7, 2, 0, -3);
  CHECK_EVAL("ceildiv(x, 8)", 17, 0, 0, 3);
  CHECK_EVAL("bcast(x, y, z)", 1, 5, 5, 5);
  CHECK_EVAL("bcast(x, y)", 1, 0, 0, 0);
  CHECK_EVAL("f32scale(x, 0.1)", 16777217, 0, 0, 1677721);
  CHECK_EVAL("f32ratio(x, y, z)", 3, 224, 64, 11);
  CHECK_EVAL("f32ratio(x, y, z)", 27, 1, 6, 5); /* 4.5 in float32: 27 * 0.16666667 */
  CHECK_EVAL("f32ratio(x, y, z)", 0, 5, 7, 0);
  CHECK_EVAL("select(x == y, 10//z, 3)", 1, 2, 0, 3);
  CHECK_EVAL("x < y and 5//z == 1", 3, 2, 0, 0);
  CHECK_EVAL("x < y or 5//z == 1", 1, 2, 0, 1);
  CHECK_EVAL("not (x < y)", 1, 2, 0, 0);
  CHECK_EVAL("x + y - z", INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX); /* only the result must fit */
}

SYM_TEST(failures) {
  CHECK_EVAL_FAILS("x//y", 1, 0, 0, TN_INVALID);
  CHECK_EVAL_FAILS("x % y", 1, 0, 0, TN_INVALID);
  CHECK_EVAL_FAILS("x//0", 1, 0, 0, TN_INVALID);
  CHECK_EVAL_FAILS("bcast(x, y)", 2, 3, 0, TN_INVALID);
  CHECK_EVAL_FAILS("bcast(2, 3)", 2, 3, 0, TN_INVALID);
  CHECK_EVAL_FAILS("x*y", INT64_MAX, 2, 0, TN_LIMIT);
  CHECK_EVAL_FAILS("x + y", INT64_MAX, 2, 0, TN_LIMIT);
  CHECK_EVAL_FAILS("x//y", INT64_MIN, -1, 0, TN_LIMIT);
  CHECK_EVAL_FAILS("overflow", 0, 0, 0, TN_LIMIT);
  CHECK_EVAL_FAILS("f32scale(x, 1e30)", 1000, 0, 0, TN_LIMIT);
  CHECK_EVAL_FAILS("f32ratio(x, y, z)", 1, 1, 0, TN_INVALID);
  CHECK_EVAL_FAILS("f32ratio(x, y, z)", INT64_MAX, INT64_MAX, 1, TN_LIMIT);
  CHECK_EVAL_FAILS("x + unbound", 0, 0, 0, TN_INVALID);
  CHECK_EVAL_FAILS("x < y and 5//z == 1", 1, 2, 0, TN_INVALID);
}

SYM_TEST(definitions) {
  tn_symtab *const t = b->t;
  int64_t values[3] = {5, 6, 7}, got = 0;
  const tn_sym e = sym_of(b, "x + y*z");
  tn_symbol *const s = tn_sym_add_symbol(t, "big");
  s->definition = e;
  CHECK_EQ_I(tn_sym_eval(t, sym_of(b, "big + 1"), eval_env, values, &got), TN_OK);
  CHECK_EQ_I(got, 48);
  tn_sym_find_symbol(t, "big")->definition = sym_of(b, "big + 2"); /* of itself: refused, not endless */
  CHECK_EQ_I(tn_sym_eval(t, sym_of(b, "big + 1"), eval_env, values, &got), TN_INVALID);
}

/* A graph of 2^60 paths has 61 nodes. */
SYM_TEST(shared_nodes) {
  tn_symtab *const t = b->t;
  int64_t values[3] = {5, 3, 7}, got = 0;
  tn_sym e = sym_of(b, "x");
  const tn_sym y = sym_of(b, "y");
  for (int i = 0; i < 60; i++) e = tn_sym_min(t, tn_sym_mod(t, e, y), tn_sym_floordiv(t, e, y));
  CHECK(e->size == UINT32_MAX);
  CHECK_EQ_I(tn_sym_eval(t, e, eval_env, values, &got), TN_OK);
  CHECK_EQ_I(got, 0);
}

static bool eval_counted(void *arg, uint32_t symbol, int64_t *out) {
  int64_t *const asked = arg;
  *out = symbol;
  if (symbol < 2000) asked[symbol]++;
  return symbol < 2000;
}

/* Sums that grow past the limit become definitions of one another; each symbol is asked for once. */
SYM_TEST(many_expressions) {
  enum { N = 2000 };
  static int64_t asked[N];
  static tn_sym sums[N];
  tn_symtab *const t = b->t;
  for (int i = 0; i < N; i++) (void)sym_of(b, tn_arena_printf(&b->ctx.arena, "s%d", i));
  for (int i = 0; i < N; i++) {
    const tn_sym s = sym_of(b, tn_arena_printf(&b->ctx.arena, "s%d", i));
    sums[i] = tn_sym_bound_size(t, i ? tn_sym_add(t, sums[i - 1], s) : s, "sum");
  }
  CHECK(sums[N - 1]->size < N);
  const tn_sym_evaluation w = tn_sym_evaluation_begin(t, eval_counted, asked);
  int64_t got = -1;
  for (int i = 0; i < N; i++) {
    CHECK_EQ_I(tn_sym_evaluate(&w, sums[i], &got), TN_OK);
    CHECK_EQ_I(got, (int64_t)i * (i + 1) / 2);
    CHECK_EQ_I(asked[i], 1);
  }
  CHECK_EQ_I(tn_sym_evaluate(&w, tn_sym_floordiv(t, sums[5], sym_of(b, "s0")), &got), TN_INVALID);
  CHECK_EQ_I(tn_sym_evaluate(&w, tn_sym_mul(t, sums[3], sums[4]), &got), TN_OK);
  CHECK_EQ_I(got, 60);
  CHECK_EQ_I(asked[3], 1);
}

static tn_sym eval_replace(void *arg, uint32_t symbol) {
  sym_bench *const b = arg;
  return symbol == 0 ? sym_of(b, "y + 1") : NULL;
}

static void eval_visit(void *arg, uint32_t symbol) { tn_text_printf(arg, "%u ", (unsigned)symbol); }

SYM_TEST(substitution) {
  (void)sym_of(b, "x");
  (void)sym_of(b, "y");
  const tn_sym e = sym_of(b, "x*x - y*y + min(x, y) + x//2 + x % 4 + select(x == y, 1, z)");
  const tn_sym r = tn_sym_substitute(b->t, e, eval_replace, b);
  CHECK_STR(tn_sym_text(b->t, r), tn_sym_text(b->t, sym_of(b, "3*y + z + 1 + (y+1)//2 + (y+1) % 4")));
  const tn_sym same = sym_of(b, "y//3 + z");
  CHECK(tn_sym_substitute(b->t, same, eval_replace, b) == same);
  tn_text text;
  tn_text_init(&text, &b->ctx.arena);
  tn_sym_symbols(b->t, sym_of(b, "z + y//z + min(x, y)"), eval_visit, &text);
  CHECK_STR(tn_text_z(&text), "0 1 2 ");
}
