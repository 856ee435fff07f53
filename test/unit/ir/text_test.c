#include "ir_test.h"

static tn_graph *parsed(tn_ctx *ctx, const char *text) {
  tn_graph *g = NULL;
  if (!CHECK(tn_graph_parse(ctx, tn_str_of(text), NULL, &g) == TN_OK)) printf("  %s\n", ir_last(ctx));
  return g;
}

static const char *printed(tn_graph *g, uint32_t flags) {
  tn_text t;
  tn_text_init(&t, &g->ctx->arena);
  tn_graph_print(g, &t, flags);
  return tn_text_z(&t);
}

static void round_trip(tn_ctx *ctx, const char *text, uint32_t flags) {
  tn_graph *g = parsed(ctx, text);
  if (!g) return;
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH), TN_OK);
  CHECK_STR(printed(g, flags), text);
}

static void refused(tn_ctx *ctx, const char *text, const char *words) {
  tn_graph *g = NULL;
  CHECK_EQ_I(tn_graph_parse(ctx, tn_str_of(text), NULL, &g), TN_INVALID);
  CHECK(!g);
  if (!CHECK_HAS(ctx->diags.at[ctx->diags.n - 1].full, words)) printf("  for: %s\n", text);
}

IR_TEST(small) {
  round_trip(ctx,
             "tenon 1\n"
             "\n"
             "graph @main(%x: f32[N,S,768], %mask: bool[N,S]) -> (%p: f32[N,S,768]) {\n"
             "  %w = const() {value = dense(f32[2]: 0.5, -1.0)} : f32[2]\n"
             "  %p = identity(%x) : f32[N,S,768]\n"
             "}\n",
             0);
}

IR_TEST(locations) {
  round_trip(ctx,
             "tenon 1\n\n"
             "graph @main(%x: f32[N]) -> (%p: f32[N]) {\n"
             "  %p = identity(%x) : f32[N] at \"/enc/0\" \"Identity\"\n"
             "}\n\n"
             "check \"cannot broadcast dim 0: N with 5\": N == 5 at \"/enc/1\" \"Add\"\n",
             TN_PRINT_LOCATIONS);
}

IR_TEST(marks) {
  round_trip(ctx,
             "tenon 1\n\n"
             "graph @main(%x: f32[N]) -> (%q: f32[N]) {\n"
             "  %p = identity(%x) : f32[N] at \"a\" \"Identity\" {force_dynamic = \"true\", stage = \"3\"}\n"
             "  %q = identity(%p) : f32[N] at \"b\" {group = \"g\", engine = \"e\", after = \"a,c\"}\n"
             "}\n",
             TN_PRINT_LOCATIONS);
  refused(ctx, "tenon 1\ngraph @m(%x: f32[1]) -> () {\n%p = identity(%x) : f32[1] at \"a\" {stage = \"-1\"}\n}",
          "tenon.stage is '-1', expected a number");
  refused(ctx, "tenon 1\ngraph @m(%x: f32[1]) -> () {\n%p = identity(%x) : f32[1] at \"a\" {rank = \"1\"}\n}",
          "there is no mark tenon.rank");
  refused(ctx, "tenon 1\ngraph @m(%x: f32[1]) -> () {\n%p = identity(%x) : f32[1] at \"a\" {after = \"b,\"}\n}",
          "expected a name");
}

IR_TEST(types) {
  round_trip(ctx,
             "tenon 1\nsymbol N\nsymbol M\n\n"
             "graph @g(%a: ?, %b: ?[*], %c: ?[], %d: f16[?,3], %e: seq(f32[*]), %f: opt(seq(?)), %g: map(str, i64[2]), "
             "%\"odd name\": u4[0], %s: str[N//2,max(N, M)]) -> () {\n"
             "}\n",
             0);
}

IR_TEST(symbols) {
  round_trip(ctx,
             "tenon 1\n"
             "symbol N = dim(%x, 0) in [1, 4096] multiple 8\n"
             "symbol k0 = elem(%k, 0)\n"
             "symbol u = dim(%y, 0) in [1, inf]\n"
             "symbol big = (3*N + k0)\n"
             "symbol free in [-5, 5]\n"
             "\n"
             "graph @main(%x: f32[N,free], %k: i64[2] = [k0, ?], %h: f32[2] = [!0.5, 3]) -> (%y: f32[big,u]) {\n"
             "  %y = identity(%x) : f32[big,u]\n"
             "}\n",
             0);
}

IR_TEST(symbols_of_a_reordered_graph) { /* M is older than N: both get a line, so that sums keep their order */
  tn_graph *g = tn_graph_new(ctx);
  tn_type t = IR_TENSOR(g, TN_F32, "M + N", "M"), u = IR_TENSOR(g, TN_F32, "N", "M");
  tn_value *x = tn_edit_add_param(g->main, "x", u);
  for (int j = 0; j < 2; j++) {
    tn_symbol *s = tn_sym_symbol(g->syms, (uint32_t)u.dims[j]->k);
    s->source = TN_SOURCE_DIM;
    s->value = x->id;
    s->index = j;
  }
  tn_node *n = ir_sum(g->main, x, NULL);
  n->op = tn_op_find("identity");
  tn_edit_set_type(n->out[0], t);
  tn_edit_name_value(n->out[0], "y");
  n->n_in = 1;
  const char *text = printed(g, 0);
  CHECK_STR(text,
            "tenon 1\n"
            "symbol M = dim(%x, 1)\n"
            "symbol N = dim(%x, 0)\n"
            "\n"
            "graph @main(%x: f32[N,M]) -> () {\n"
            "  %y = identity(%x) : f32[M + N,M]\n"
            "}\n");
  round_trip(ctx, text, 0);
}

IR_TEST(implied_sources) {
  tn_graph *g = parsed(ctx, "tenon 1 graph @m(%x: f32[2*N,S,S], %y: f32[N]) -> () {}");
  if (!g) return;
  const tn_symbol *n = tn_sym_find_symbol(g->syms, "N"), *s = tn_sym_find_symbol(g->syms, "S");
  CHECK_EQ_I(n->source, TN_SOURCE_DIM);
  CHECK_EQ_I(n->value, g->main->params[1]->id);
  CHECK_EQ_I(s->value, g->main->params[0]->id);
  CHECK_EQ_I(s->index, 1);
  CHECK_EQ_I(tn_verify(g, TN_HAS_GRAPH | TN_HAS_SYMBOLS), TN_OK);
}

IR_TEST(assumptions) {
  tn_graph *g = parsed(ctx, "tenon 1 assume 1 <= N, N <= 64 graph @m(%x: f32[N]) -> () {}");
  if (!g) return;
  CHECK_EQ_I(g->assumed.n, 2);
  CHECK_EQ_I(tn_sym_bounds(g->syms, g->main->params[0]->type.dims[0]).hi, 64);
  const char *text = printed(g, 0);
  CHECK_HAS(text, "symbol N = dim(%x, 0) in [1, 64]\nassume 1 <= N\nassume N <= 64\n");
  round_trip(ctx, text, 0);
}

IR_TEST(literals) {
  round_trip(ctx,
             "tenon 1\n\n"
             "graph @main() -> () {\n"
             "  %a = const() {value = dense(i64[3]: -9223372036854775808, 0, 9223372036854775807)} : i64[3]\n"
             "  %b = const() {value = dense(f64[5]: 0.1, -0.0, inf, -inf, nan)} : f64[5]\n"
             "  %c = const() {value = dense(f32[2]: bits(2143289345), 3.4028235e38)} : f32[2]\n"
             "  %d = const() {value = dense(f16[2,1]: 65504.0, 0.099975586)} : f16[2,1]\n"
             "  %e = const() {value = dense(c64[2]: 1.0, 2.0, 0.0, -1.0)} : c64[2]\n"
             "  %f = const() {value = dense(str[2]: \"a\\\"b\", \"\")} : str[2]\n"
             "  %g = const() {value = dense(u4[3]: 15, 0, 9)} : u4[3]\n"
             "  %h = const() {value = dense(i4[2]: -8, 7)} : i4[2]\n"
             "  %i = const() {value = dense(bool[]: 1)} : bool[]\n"
             "  %j = const() {value = dense(f32[0,7]:)} : f32[0,7]\n"
             "  %k = const() {value = dense(f32[100,100]: 0.25)} : f32[100,100]\n"
             "  %l = const() {value = seq(dense(i8[1]: 1), dense(i8[2]: 1, 2))} : seq(i8[*])\n"
             "  %m = const() {value = opt()} : opt(?)\n"
             "  %n = const() {value = dense(bf16[1]: 1.0)} : bf16[1]\n"
             "  %o = const() {value = dense(u64[1]: -1)} : u64[1]\n"
             "}\n",
             0);
}

IR_TEST(f16_is_rounded_once) {
  tn_graph *g = parsed(ctx, "tenon 1 graph @m() -> () { %a = const() {value = dense(f16[1]: 0.1)} : ? }");
  if (!g) return;
  CHECK_EQ_I(tn_lit_bits(g->main->first->attrs[0].tensor, 0), 0x2e66); /* numpy.float16(0.1) */
}

IR_TEST(large_constants) {
  tn_graph *g = tn_graph_new(ctx);
  int64_t v[65];
  for (int i = 0; i < 65; i++) v[i] = i;
  tn_edit_const(g->main, tn_lit_i64(&ctx->arena, v, 65), "c");
  const char *text = printed(g, 0);
  CHECK_HAS(text, "dense(i64[65]: hash \"");
  refused(ctx, text, "line 4: the text holds only a hash of this constant, not its elements");
  round_trip(ctx, printed(g, TN_PRINT_ALL), TN_PRINT_ALL);
}

IR_TEST(renamed_results) {
  tn_graph *g = parsed(ctx, "tenon 1 graph @m(%x: f32[N]) -> (%y: f32[N], %x: f32[N]) { %y = identity(%x) : ? }");
  if (!g) return;
  CHECK_STR(ir_type_text(g, &g->main->results[0]->type), "f32[N]"); /* the header's claim */
  tn_edit_replace_uses(g->main->results[0], g->main->params[0]);
  CHECK_HAS(printed(g, 0), "-> (%x as \"y\": f32[N], %x: f32[N])");
  round_trip(ctx, printed(g, 0), 0);
}

IR_TEST(regions_print) {
  tn_graph *g = tn_graph_new(ctx);
  tn_value *x = tn_edit_add_param(g->main, "x", IR_TENSOR(g, TN_F32, "N"));
  tn_value *in[2] = {NULL, x};
  tn_node *block = tn_edit_add_node(g->main, NULL, &ir_op_block, in, 2, 2, (tn_loc){0});
  tn_edit_name_value(block->out[1], "y");
  tn_edit_drop_output(block, 0);
  tn_value *p = tn_edit_add_param(block->regions[0], "p", IR_TENSOR(g, TN_I64, "1"));
  tn_node *s = ir_sum(block->regions[1], x, NULL);
  tn_edit_set_attr(s, "mode", (tn_attr){.kind = TN_ATTR_STR, .s = tn_str_of("a\nb")});
  tn_edit_name_value(s->out[0], "s");
  tn_edit_set_results(block->regions[0], (tn_value *[]){p, x}, 2);
  tn_edit_set_results(block->regions[1], s->out, 1);
  CHECK_HAS(printed(g, 0),
            "  _, %y = test_block(_, %x) region (%p: i64[1]) {\n"
            "    yield (%p, %x)\n"
            "  } region () {\n"
            "    %s = test_sum(%x, _) {axis = -1, alpha = 0.5, mode = \"a\\nb\"} : ?\n"
            "    yield (%s)\n"
            "  } : _, ?\n");
}

IR_TEST(regions) {
  round_trip(ctx,
             "tenon 1\n\n"
             "graph @main(%c: bool[], %x: f32[N]) -> (%y: f32[N]) {\n"
             "  %y = if(%c) region () {\n"
             "    %a = neg(%x) : f32[N]\n"
             "    yield (%a)\n"
             "  } region () {\n"
             "    %b = if(%c) region () {\n"
             "      yield (%x)\n"
             "    } region () {\n"
             "      yield (%x)\n"
             "    } : f32[N]\n"
             "    yield (%b)\n"
             "  } : f32[N]\n"
             "}\n",
             0);
  refused(ctx,
          "tenon 1 graph @m(%c: bool[]) -> () { %y = if(%c) region () { %a = neg(%c) : ? yield (%a) } region () {"
          " yield (%a) } : ? }",
          "value 'a' belongs to a region that is closed");
  refused(ctx,
          "tenon 1 graph @m(%c: bool[]) -> () { %y = if(%c) region () { yield (%y) } region () { yield (%c) } : ? }",
          "value 'y' is not defined before its use");
  refused(ctx, "tenon 1 graph @m(%c: bool[]) -> () { %y = if(%c) region () { yield (%c) } : ? }",
          "expected 'region', found ':'");
}

IR_TEST(regions_nest_so_deep) {
  tn_text t;
  tn_text_init(&t, &ctx->arena);
  tn_text_addz(&t, "tenon 1 graph @m(%c: bool[]) -> () {");
  for (int i = 0; i < 50000; i++) tn_text_printf(&t, "%%y%d = if(%%c) region () {", i);
  refused(ctx, tn_text_z(&t), "regions are nested deeper than 12");
}

IR_TEST(attributes_by_kind) { /* defaults are printed too */
  tn_graph *g = parsed(ctx,
                       "tenon 1 graph @main(%x: f32[N,4,5,5], %w: f32[4,4,3,3]) -> () {"
                       " %a = cast(%x) {to = f16} : ?"
                       " %b = leaky_relu(%x) {alpha = 1} : ?"
                       " %c = conv(%x, %w) {pads = [0, 1, -0, 1], strides = []} : ? }");
  if (!g) return;
  const char *text = printed(g, 0);
  CHECK_HAS(text, "%a = cast(%x) {to = f16, saturate = 1, round_mode = \"up\"} : ?\n");
  CHECK_HAS(text, "%b = leaky_relu(%x) {alpha = 1.0} : ?\n");
  CHECK_HAS(text, "pads = [0, 1, 0, 1]");
  CHECK_HAS(text, "strides = []");
  round_trip(ctx, text, 0);
}

IR_TEST(refusals) {
  refused(ctx, "", "line 1: expected 'tenon', found the end");
  refused(ctx, "tenon 2", "text form 2 is not known, expected 1");
  refused(ctx, "tenon 1\n\ngraph @m(", "line 3: ");
  refused(ctx, "tenon 1 graph @m() -> () {} graph", "expected check or the end, found 'graph'");
  refused(ctx, "tenon 1 graph @m() -> () { %a = nonsense() : ? }", "there is no operator 'nonsense'");
  refused(ctx, "tenon 1 graph @m() -> () { %a = identity(%b) : ? }", "value 'b' is not defined before its use");
  refused(ctx, "tenon 1 graph @m() -> () { %a = identity(%a) : ? }", "value 'a' is not defined before its use");
  refused(ctx, "tenon 1 graph @m() -> () { %v1 = identity(%v0) : ? }", "value 'v0' is not defined before its use");
  refused(ctx, "tenon 1 graph @m(%a: ?, %a: ?) -> () {}", "value 'a' is defined twice");
  refused(ctx, "tenon 1 graph @m(%a: ?) -> (%b: ?) {}", "result 'b' is not defined");
  refused(ctx, "tenon 1 graph @m(%a: f32[2]) -> (%a: f32[3]) {}", "result 'a' is f32[3] here and f32[2] where it is");
  refused(ctx, "tenon 1 graph @m(%a: f32[-3]) -> () {}", "dim -3 is negative");
  refused(ctx, "tenon 1 graph @m(%a: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]) -> () {}", "at most 16 dims");
  refused(ctx, "tenon 1 graph @m(%a: f33[2]) -> () {}", "expected a type, found 'f33'");
  refused(ctx, "tenon 1 graph @m(%a: seq(seq(seq(seq(seq(seq(seq(seq(seq(?)))))))))) -> () {}", "deeper than 8");
  refused(ctx, "tenon 1 graph @m(%a: f32[N] = [1]) -> () {}", "content needs constant dims");
}

IR_TEST(refused_attributes) {
#define CONST(attrs) "tenon 1 graph @m() -> () {\n %a = const() {" attrs "} : ? }"
  refused(ctx, CONST(""), "line 2: attribute 'value' is required but absent");
  refused(ctx, "tenon 1 graph @m() -> () { %a = identity() : ? }", "0 inputs are too few: input 0 (input) is required");
  refused(ctx, "tenon 1 graph @m() -> () { %a, %b = identity(_) : ?, ? }", "input 0 (input) is required but absent");
  refused(ctx, CONST("valu = 3"), "line 2: operator const has no attribute 'valu'");
  refused(ctx, CONST("value = 3"), "expected a literal, found '3'");
  refused(ctx, CONST("value = dense(f32[]: 1.0), value = dense(f32[]: 1.0)"), "attribute 'value' is given twice");
  refused(ctx, CONST("value = dense(f32[2]: 1.0, 2.0, 3.0)"), "expected ')', found ','");
  refused(ctx, CONST("value = dense(f32[3]: 1.0, 2.0)"), "expected ',', found ')'");
  refused(ctx, CONST("value = dense(f32[1000000]: 1.0, 2.0)"), "the text is too short for 1000000 elements");
  refused(ctx, CONST("value = dense(f32[N]: 1.0)"), "a literal needs a type with constant dims");
  refused(ctx, CONST("value = dense(f32[4294967296,4294967296]: 1.0)"), "too many elements");
  refused(ctx, CONST("value = dense(u8[1]: 256)"), "256 does not fit u8");
  refused(ctx, CONST("value = dense(i4[1]: -9)"), "-9 does not fit i4");
  refused(ctx, CONST("value = dense(bool[1]: 2)"), "2 does not fit bool");
  refused(ctx, CONST("value = dense(f16[1]: bits(65536))"), "65536 has more than 16 bits");
  refused(ctx, CONST("value = file(f32[1], \"w.bin\", 0, 4)"), "external data is not allowed here");
  refused(ctx, CONST("value = file(f32[1], \"w.bin\", 0, 5)"), "5 bytes are given, the type takes 4");
  refused(ctx, CONST("value = opt(opt(), opt())"), "an optional holds at most one element");
#undef CONST
}

IR_TEST(refused_symbols) {
  refused(ctx, "tenon 1 symbol N in [3, 2] graph @m() -> () {}", "the range is empty");
  refused(ctx, "tenon 1 symbol N in [9, 9] assume N <= 8 graph @m() -> () {}", "exclude each other");
  refused(ctx, "tenon 1 symbol N multiple 0 graph @m() -> () {}", "a multiple of 0 is no fact");
  refused(ctx, "tenon 1 symbol N symbol N graph @m() -> () {}", "symbol 'N' was used before its line");
  refused(ctx, "tenon 1 symbol N = (N + 1) graph @m() -> () {}", "symbol 'N' is defined by itself");
  refused(ctx, "tenon 1 symbol N = (M) symbol M = (N) graph @m() -> () {}", "symbol 'M' was used before its line");
  refused(ctx, "tenon 1\nsymbol N = dim(%x, 0) graph @m() -> () {}", "line 2: value 'x' is not defined");
  refused(ctx, "tenon 1 symbol N = dim(%x, 1) graph @m(%x: f32[2]) -> () {}", "value 'x' has no dim 1");
  refused(ctx, "tenon 1 symbol N = dim(%x, 99) graph @m(%x: ?) -> () {}", "index 99 is out of range");
}

IR_TEST(repeated_elements_are_bounded) {
  tn_graph *g = NULL;
  const char *text = "tenon 1 graph @m() -> () { %a = const() {value = dense(f32[100000,1000]: 1.0)} : ? }";
  CHECK_EQ_I(tn_graph_parse(ctx, tn_str_of(text), NULL, &g), TN_LIMIT);
  CHECK_HAS(ir_last(ctx), "repeated elements take more than");
}

IR_TEST(deep_expressions_are_refused) {
  tn_text t;
  tn_text_init(&t, &ctx->arena);
  tn_text_addz(&t, "tenon 1 graph @m(%a: f32[");
  for (int i = 0; i < 100000; i++) tn_text_addz(&t, "(");
  tn_graph *g = NULL;
  CHECK(tn_graph_parse(ctx, (tn_str){t.ptr, t.len}, NULL, &g) != TN_OK);
}

IR_TEST(cut_anywhere) { /* every prefix ends in a status */
  const char *text =
      "tenon 1\nsymbol N = dim(%x, 0) in [1, 9]\nassume N <= 8\n"
      "graph @m(%x: f32[N], %k: i64[1] = [3]) -> (%p: f32[N]) {\n"
      "  %c = const() {value = dense(f32[2]: 1.0, bits(5))} : f32[2]\n"
      "  %p = identity(%x) : f32[N] at \"a\" \"B\"\n}\ncheck \"t\": N == 5\n";
  const size_t n = strlen(text);
  for (size_t i = 0; i + 30 < n; i++) {
    tn_graph *g = NULL;
    CHECK_EQ_I(tn_graph_parse(ctx, (tn_str){text, i}, NULL, &g), TN_INVALID);
  }
  CHECK(parsed(ctx, text) != NULL);
}
