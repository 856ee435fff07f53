/* The normal form: what becomes of which text. */
#include "sym_testing.h"

SYM_TEST(sums) {
  CHECK_SYM("a + b + a", "2*a + b");
  CHECK_SYM("(a+2) - (a+1)", "1");
  CHECK_SYM("b - a", "b - a");
  CHECK_SYM("1 - a", "1 - a");
  CHECK_SYM("-a - 3", "-a - 3");
  CHECK_SYM("a*b - b*a", "0");
  CHECK_SYM("(a+1)*(a-1)", "a*a - 1");
  CHECK_SYM("(a+b)*(c+d) - a*c - b*d", "a*d + b*c");
  CHECK_SYM("2*3*a", "6*a");
}

SYM_TEST(overflow) {
  CHECK_SYM("9223372036854775807 + 1", "overflow");
  CHECK_SYM("overflow*0", "overflow");
  CHECK_SYM("a*4611686018427387904*4", "overflow");
  CHECK_SYM("-9223372036854775807 - 1", "(-9223372036854775807 - 1)");
  CHECK_SYM("select(1, a, overflow)", "a");
  CHECK_SYM("0 and overflow", "0");
}

SYM_TEST(floor_division) {
  CHECK_SYM("(4*x + 3)//4", "x");
  CHECK_SYM("(4*x + 7)//4", "x + 1");
  CHECK_SYM("4*(x//4) + 4*((x % 4 + 3)//4)", "4*((x + 3)//4)");
  CHECK_SYM("x + (4 - x % 4) % 4", "4*((x + 3)//4)");
  CHECK_SYM("(x % 8)//4", "x//4 - 2*(x//8)");
  CHECK_SYM("(3*(x % 4) + y)//6 + 2*(x//4)", "(3*x + y)//6");
  CHECK_SYM("(x % 4 + 2)//8", "0");
  CHECK_SYM("(8*x + y)//8", "x + y//8");
  CHECK_SYM("2*(x//2)", "2*(x//2)");
  CHECK_SYM("x//2 + (x+1)//2", "x");
  CHECK_SYM("(x//2)//3", "x//6");
  CHECK_SYM("(x - 1)//2 + 1", "(x + 1)//2");
  CHECK_SYM("((x+1)//2 + 1)//2", "(x + 3)//4");
  CHECK_SYM("(6*x + 3)//4", "x + (x + 1)//2");
  CHECK_SYM("(6*x + 2)//4", "x + (x + 1)//2");
  CHECK_SYM("-(-x//8)", "(x + 7)//8");
  CHECK_SYM("ceildiv(x, 8)", "(x + 7)//8");
  CHECK_SYM("ceildiv(ceildiv(x, 2), 2)", "(x + 3)//4");
  CHECK_SYM("x//-8", "-((x + 7)//8)");
  CHECK_SYM("x//0", "x//0");
  CHECK_SYM("7//2", "3");
  CHECK_SYM("-7//2", "-4");
  CHECK_SYM("ceildiv(-7, 2)", "-3");
  CHECK_SYM("x//1", "x");
}

SYM_TEST(modulus) {
  CHECK_SYM("x % 8", "x % 8");
  CHECK_SYM("8*x % 8", "0");
  CHECK_SYM("(8*x + y) % 8", "y % 8");
  CHECK_SYM("x - 8*(x//8)", "x % 8");
  CHECK_SYM("x % 8 + 8*(x//8)", "x");
  CHECK_SYM("x % 8 - x", "-8*(x//8)");
  CHECK_SYM("(4*x + 2) % 6", "2*((2*x + 1) % 3)");
  CHECK_SYM("x % 1", "0");
  CHECK_SYM("-7 % 3", "2");
  CHECK_SYM("7 % -3", "-2");
}

/* The same sum reached by adding and taking away in any order. */
SYM_TEST(halves_in_any_order) {
  const char *const same[] = {"(x+1)//2",     "x - x//2",          "x//2 + (x+1)//2 - x//2", "x//2 + 2*((x+1)//2) - x",
                              "x % 2 + x//2", "x - (x - x % 2)//2"};
  for (size_t i = 0; i < TN_COUNT(same); i++) CHECK_SYM(same[i], "(x + 1)//2");
}

/* What a product spells does not depend on what is multiplied first. */
SYM_TEST(halves_in_products) {
  static const struct {
    const char *as_given, *other;
  } same[] = {{"(x % 4 - 7)*(x + 100)*z", "(x % 4 - 7)*z*(x + 100)"},
              {"(x % 4 + 3*(x//4))*z", "z*(x % 4) + 3*z*(x//4)"},
              {"((x+1)//2 + y % 2)*(x - x//2)*z", "((x+1)//2)*z*((x+1)//2 + y - 2*(y//2))"},
              {"(x % 2)*((x+1)//2)*(y % 4)", "((x+1)//2)*((y % 4)*(x % 2))"}};
  for (size_t i = 0; i < TN_COUNT(same); i++) CHECK(sym_of(b, same[i].as_given) == sym_of(b, same[i].other));
  CHECK_SYM("((x+1)//2)*((x+1)//2)*c", "c*((x + 1)//2)*((x + 1)//2)");
  CHECK_SYM("((x+1)//2)*((y+1)//2)*c", "c*((x + 1)//2)*((y + 1)//2)");
  CHECK_SYM("z*x - 4*z*(x//4)", "z*(x % 4)");
  CHECK_SYM("x*y - x*(y//2)", "x*((y + 1)//2)");
  CHECK_SYM("(x//2)*c + ((x+1)//2)*c", "x*c");
  CHECK(tn_sym_divexact(b->t, sym_of(b, "(x + y)*(x + x % 2)"), sym_of(b, "x + x % 2")) == sym_of(b, "x + y"));
}

SYM_TEST(symbolic_division) {
  CHECK_SYM("x*y//y", "x*y//y"); /* y may be 0 */
  sym_assume(b, "y >= 1");
  CHECK_SYM("x*y//y", "x");
  CHECK_SYM("(x*y + z)//y", "x + z//y");
  CHECK_SYM("(x*y + z) % y", "z % y");
  CHECK_SYM("(x*y)//(y*w)", "x//w");
  CHECK_SYM("(4*x)//(2*w)", "2*x//w");
  CHECK_SYM("0//w", "0//w");
  CHECK_SYM("0//y", "0");
  CHECK_SYM("-x//w", "-ceildiv(x, w)");
}

/* bcast(a, b) has a value where a == b, a == 1 or b == 1. */
SYM_TEST(followers_of_a_broadcast) {
  CHECK_SYM("bcast(a, min(64, a))", "a");
  CHECK_SYM("bcast(min(64, a), a, c)", "bcast(a, c)");
  CHECK_SYM("bcast(a + 1, min(7, a + 1))", "a + 1");
  CHECK_SYM("bcast((a + 1)//2, min(8, (a + 1)//2))", "(a + 1)//2");
  CHECK_SYM("bcast(a, min(0, a))", "0");
  CHECK_SYM("bcast(a, a*a)", "a");
  CHECK_SYM("bcast(2*a, c)", "2*a");
  CHECK_SYM("bcast(a, min(c, a))", "bcast(a, min(a, c))"); /* c may be 0: then it is 0 where a is 1 */
  CHECK_SYM("bcast(a, 2*a - 2)", "2*a - 2");               /* even: not 1 */
}

SYM_TEST(equal_to_an_extreme) {
  CHECK_SYM("a == min(64, a)", "a <= 64");
  CHECK_SYM("max(a, c) == c", "a <= c");
  CHECK_SYM("min(a, c) + 1 == c + 1", "c <= a");
  CHECK_SYM("min(8, a) == 3", "a == 3");
  CHECK_SYM("min(8, a) == 8", "8 <= a");
  CHECK_SYM("max(8, a) == 9", "a == 9");
  CHECK_SYM("min(8, a) == 9", "0");
}

SYM_TEST(absorbed_comparisons) {
  CHECK_SYM("a == 1 or a <= 64", "a <= 64");
  CHECK_SYM("a == 65 or a <= 64", "a == 65 or a <= 64");
  CHECK_SYM("a <= 3 and a <= 8", "a <= 3");
  CHECK_SYM("a + c <= 3 or a + c < 8", "a + c <= 7");
  CHECK_SYM("a == 5 and 3 <= a", "a == 5");
  CHECK_SYM("a == 1 or a == min(64, a) or min(64, a) == 1", "a <= 64");
}

SYM_TEST(min_max) {
  CHECK_SYM("min(x, x+1)", "x");
  CHECK_SYM("max(x, x+1)", "x + 1");
  CHECK_SYM("max(0, x)", "x");
  CHECK_SYM("min(0, x)", "0");
  CHECK_SYM("min(x, min(y, x))", "min(x, y)");
  CHECK_SYM("min(y, 7, 9, x)", "min(7, x, y)");
  CHECK_SYM("min(x, max(x, y))", "x");
  CHECK_SYM("max(x, min(x, y))", "x");
  CHECK_SYM("min(x, x//3)", "x//3");
  CHECK_SYM("max(x, (x+1)//2)", "x");
  CHECK_SYM("min(x % 8, 7)", "x % 8");
}

/* What all arguments have stands outside. */
SYM_TEST(min_max_of_sums) {
  CHECK_SYM("min(a + c, b + c)", "c + min(a, b)");
  CHECK_SYM("min(a + c, b + c) - c", "min(a, b)");
  CHECK_SYM("max(2*a + 3, b + 3, 2*a + b + 3)", "2*a + b + 3");
  CHECK_SYM("max(a - 2*c + 1, b - 2*c + 1) + 2*c", "max(a, b) + 1");
  CHECK_SYM("min(a*b + c, a*b + d)", "a*b + min(c, d)");
  CHECK_SYM("min(a + c, 2*b + c, d)", "min(d, a + c, c + 2*b)");
  CHECK(sym_of(b, "min(min(a + c, b + c), d)") == sym_of(b, "min(a + c, min(d, c + b))"));
  CHECK(sym_of(b, "max(max(a, b) + c, d + c)") == sym_of(b, "max(a, d, b) + c"));
  CHECK_SYM("max(min(a + 1, b + 1), 1)", "min(a, b) + 1");
}

SYM_TEST(bcast) {
  CHECK_SYM("bcast(a, 1)", "a");
  CHECK_SYM("bcast(a, a)", "a");
  CHECK_SYM("bcast(a, 5)", "5");
  CHECK_SYM("bcast(a, 0)", "0");
  CHECK_SYM("bcast(1, 1)", "1");
  CHECK_SYM("bcast(b, bcast(a, b), c)", "bcast(a, b, c)");
  CHECK_SYM("bcast(bcast(b, c), a)", "bcast(a, b, c)");
  CHECK_SYM("bcast(2, 3)", "bcast(2, 3)");
  sym_assume(b, "a >= 2");
  CHECK_SYM("bcast(a, b)", "a");
}

SYM_TEST(scale) {
  CHECK_SYM("f32scale(10, 1.5)", "15");
  CHECK_SYM("f32scale(x, 0.1)", "f32scale(x, 0.1)");
  CHECK_SYM("f32scale(x, 2)", "f32scale(x, 2.0)"); /* x may be past 2^24 */
  sym_assume(b, "x <= 1000000");
  CHECK_SYM("f32scale(x, 2)", "2*x");
  CHECK_SYM("f32scale(x, 0.5)", "x//2");
  CHECK_SYM("f32scale(x, 1.0)", "x");
  CHECK_SYM("f32scale(x, 100.0)", "f32scale(x, 100.0)");
  CHECK_SYM("f32ratio(3, 224, 64)", "11"); /* 10.5 */
  CHECK_SYM("f32ratio(3, 224, 0)", "f32ratio(3, 224, 0)");
  CHECK_SYM("f32ratio(y, 224, y)", "224");
  CHECK_SYM("f32ratio(y, 2097153, y)", "f32ratio(y, 2097153, y)");
  CHECK_SYM("f32ratio(x, y, y)", "x");
  CHECK_SYM("f32ratio(y, x, x)", "f32ratio(y, x, x)"); /* y may be past 2^24 */
  CHECK_SYM("f32ratio(x, 6, 3)", "2*x");
  CHECK_SYM("f32ratio(x, 3, 6)", "(x + 1)//2");
  CHECK_SYM("f32ratio(x, 3, 7)", "f32ratio(x, 3, 7)");
}

SYM_TEST(comparisons) {
  CHECK_SYM("2*r == 4055", "0");
  CHECK_SYM("2*r + 42 == 4096", "r == 2027");
  CHECK_SYM("r + 41 == 4096", "r == 4055");
  CHECK_SYM("x - 1 == 3", "x == 4");
  CHECK_SYM("3 <= x - 1", "4 <= x");
  CHECK_SYM("x > 1", "2 <= x");
  CHECK_SYM("x + 1 < 0", "0");
  CHECK_SYM("x >= 0", "1");
  CHECK_SYM("x < y", "x < y");
  CHECK_SYM("not x < y", "y <= x");
  CHECK_SYM("x != y", "x != y");
  CHECK_SYM("y == x", "x == y");
  CHECK_SYM("2*x*y + 4*x == 0", "2*x + x*y == 0");
  CHECK_SYM("x % 2 - 1 <= 0", "1");
  CHECK_SYM("4*x <= 7", "x <= 1");
  CHECK_SYM("1 <= (x + 2)//3", "1 <= x");
  CHECK_SYM("x//3 <= 4", "x <= 14");
  CHECK_SYM("3*((x//2 + 1)//3) < 7", "x <= 15");
  CHECK_SYM("1 <= x <= 64", "1 <= x and x <= 64");
  CHECK_SYM("x + 1 == x", "0");
  CHECK_SYM("x % 8 == 0", "x % 8 == 0");
  CHECK_SYM("x == y + 1", "x == y + 1");
}

SYM_TEST(logic) {
  CHECK_SYM("not not (x == y)", "x == y");
  CHECK_SYM("x == y and 1", "x == y");
  CHECK_SYM("x == y and x != y", "0");
  CHECK_SYM("x == y or x != y", "1");
  CHECK_SYM("x < y or y <= x", "1");
  CHECK_SYM("not (x == y and x == z)", "x != y or x != z");
  CHECK_SYM("not x", "x == 0");
  CHECK_SYM("select(x == y, z, z)", "z");
  CHECK_SYM("select(x != y, z, w)", "select(x == y, w, z)");
  CHECK_SYM("select(x == y, 1, 0)", "x == y");
  CHECK_SYM("select(x > 16, 16, x)", "min(16, x)");
  CHECK_SYM("select(x < 4, 4, x)", "max(4, x)");
  CHECK_SYM("select(y <= x, y + z, x + z)", "z + min(x, y)");
  CHECK_SYM("select(x < 16, 16, x + 1)", "max(16, x + 1)");
  CHECK_SYM("select(x < 16, 16, x + 3)", "select(x <= 15, 16, x + 3)");
  CHECK_SYM("select(4 <= x, min(3, x), x)", "min(3, x)");
  CHECK_SYM("select(x <= y, max(x, y + 1, z), w)", "select(x <= y, max(z, y + 1), w)");
  CHECK_SYM("select(x <= y, w, min(x, y, z))", "select(x <= y, w, min(y, z))");
  CHECK_SYM("x == 0 or y == 0 or x == 0", "x == 0 or y == 0");
}

SYM_TEST(exact_division) {
  tn_symtab *const t = b->t;
  const tn_sym num = sym_of(b, "B*S*768"), den = sym_of(b, "B*12*64");
  CHECK_STR(tn_sym_text(t, tn_sym_divexact(t, num, den)), "S");
  CHECK_STR(tn_sym_text(t, tn_sym_divexact(t, sym_of(b, "3*B*S*H"), sym_of(b, "2*B*3"))), "S*H//2");
  CHECK_STR(tn_sym_text(t, tn_sym_divexact(t, sym_of(b, "B*(S+1)*4"), sym_of(b, "S+1"))), "4*B");
  CHECK_STR(tn_sym_text(t, tn_sym_divexact(t, sym_of(b, "B*S + B*H"), sym_of(b, "S+H"))), "B");
  CHECK_STR(tn_sym_text(t, tn_sym_divexact(t, sym_of(b, "7"), sym_of(b, "2"))), "3");
  CHECK_STR(tn_sym_text(t, tn_sym_divexact(t, sym_of(b, "B"), sym_of(b, "0"))), "B//0");
}

/* A product too large to expand keeps its factors, and reads back. */
SYM_TEST(large_products) {
  const char *const text = "x*(a+b+c+d)*(e+f+g+h)*(i+j+k+l)*(m+n+o+p)";
  const tn_sym e = sym_of(b, text);
  CHECK(e->kind == TN_SYM_MUL);
  CHECK(sym_of(b, tn_sym_text(b->t, e)) == e);
  CHECK(sym_of(b, "(2*m+2*n+2*o+2*p)*(e+f+g+h)*(-i-j-k-l)*(a*x+b*x+c*x+d*x)") == tn_sym_muli(b->t, e, -2));
}

SYM_TEST(long_chains) {
  tn_symtab *const t = b->t;
  tn_sym sum = tn_sym_int(t, 0), x = sym_of(b, "x"), deep = x;
  const tn_sym step = sym_of(b, "3*B");
  for (int i = 0; i < 10000; i++) sum = tn_sym_add(t, sum, step);
  CHECK_STR(tn_sym_text(t, sum), "30000*B");
  for (int i = 0; i < 60; i++) x = tn_sym_add(t, x, x);
  CHECK_STR(tn_sym_text(t, x), "1152921504606846976*x");
  for (int i = 0; i < 10000; i++) deep = tn_sym_min(t, tn_sym_addi(t, tn_sym_floordiv(t, deep, step), 1), sum);
  CHECK(deep->size > 10000);
  CHECK(tn_sym_bounds(t, deep).lo <= 1);
}

/* At once, a sum keeps one node of n terms; one by one it would keep n of them. */
SYM_TEST(sums_at_once) {
  tn_symtab *const t = b->t;
  tn_sym *const terms = TN_NEW_ARRAY(&b->ctx.arena, tn_sym, 20000), step = tn_sym_int(t, 5);
  for (size_t i = 0; i < 20000; i++) terms[i] = i % 3 == 0 ? step : tn_sym_fresh_symbol(t, "n")->var;
  tn_sym few = tn_sym_int(t, 0);
  for (size_t i = 0; i < 50; i++) few = tn_sym_add(t, few, terms[i]);
  CHECK(tn_sym_sum(t, terms, 50) == few);
  CHECK(tn_sym_sum(t, terms, 0) == tn_sym_int(t, 0));
  CHECK(tn_sym_sum(t, terms, 1) == step);
  const size_t before = b->ctx.arena.bytes;
  const tn_sym all = tn_sym_sum(t, terms, 20000);
  CHECK_EQ_I(all->n, 13333);
  CHECK_EQ_I(all->k, 6667 * 5);
  CHECK(b->ctx.arena.bytes - before < 8 << 20);
  terms[7] = tn_sym_int(t, INT64_MAX);
  CHECK(tn_sym_sum(t, terms, 20000)->kind == TN_SYM_OVERFLOW);
}

SYM_TEST(size_limit) {
  tn_symtab *const t = b->t;
  tn_sym e = tn_sym_int(t, 0);
  for (int i = 0; i < 500; i++) e = tn_sym_add(t, e, tn_sym_fresh_symbol(t, "n")->var);
  const tn_sym s = tn_sym_bound_size(t, e, "big");
  CHECK_STR(tn_sym_text(t, s), "big");
  CHECK(tn_sym_bound_size(t, e, "big") == s);
  CHECK(tn_sym_bound_size(t, s, "big") == s);
  const tn_symbol *const symbol = tn_sym_symbol(t, (uint32_t)s->k);
  CHECK(symbol->definition == e);
  CHECK_EQ_I(symbol->source, TN_SOURCE_DEFINED);
  CHECK_EQ_I(symbol->min, 0);
}

SYM_TEST(symbols) {
  tn_symtab *const t = b->t;
  CHECK(tn_sym_find_symbol(t, "N") == NULL);
  const tn_sym n = tn_sym_add_symbol(t, "N")->var;
  CHECK(tn_sym_add_symbol(t, "N")->var == n);
  CHECK(tn_sym_find_symbol(t, "N")->var == n);
  CHECK_STR(tn_sym_fresh_symbol(t, "N")->name, "N_1");
  CHECK_STR(tn_sym_fresh_symbol(t, "N")->name, "N_2");
  CHECK_STR(tn_sym_fresh_symbol(t, "M")->name, "M");
  CHECK_EQ_I(tn_sym_n_symbols(t), 4);
  CHECK_EQ_I(tn_sym_symbol(t, 0)->max, INT64_MAX);
}
