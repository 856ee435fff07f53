#include "pass/known.h"

#include "pass/run.h"

/* %u is a size that only the run tells; the state of the loop grows, so its parameter has a size of its own. */
static const char known_text[] =
    "tenon 1\n"
    "graph @main(%x: f32[N], %k: i64[], %c: bool[]) -> (%y: ?, %l: ?) {\n"
    "  %nz = non_zero(%x) : ?\n"
    "  %y = relu(%x) : ?\n"
    "  %l = loop(%k, %c, %x) region (%i: i64[], %go: bool[], %v: ?) {\n"
    "    %w = concat(%v, %v) {axis = 0} : ?\n"
    "    yield (%go, %w)\n"
    "  } : ?\n"
    "}\n";

static tn_node *known_node(pass_run *r, const char *value) {
  const tn_value *v = tn_graph_find_value(r->graph, value);
  return CHECK(v != NULL) ? v->def : NULL;
}

static void known_look(pass_run *r) {
  tn_symtab *syms = r->graph->syms;
  tn_known *k = tn_known_new(r->graph, &r->ctx.arena);
  const tn_value *nz = tn_graph_find_value(r->graph, "nz"), *v = tn_graph_find_value(r->graph, "v");
  const tn_sym n = tn_sym_find_symbol(syms, "N")->var, late = nz->type.dims[1], inner = v->type.dims[0];
  const tn_region *main = r->graph->main, *body = v->region;
  CHECK(tn_known_on_entry(k, tn_known_when(k, n), main));
  CHECK(tn_known_on_entry(k, tn_known_when(k, tn_sym_int(syms, 7)), main));
  CHECK(!tn_known_on_entry(k, tn_known_when(k, late), main));
  CHECK(!tn_known_before(k, tn_known_when(k, late), nz->def));
  CHECK(tn_known_before(k, tn_known_when(k, late), known_node(r, "y")));
  CHECK(tn_known_before(k, tn_known_when(k, tn_sym_add(syms, late, n)), known_node(r, "y")));
  CHECK(tn_known_on_entry(k, tn_known_when(k, late), body)); /* the loop stands behind it */
  CHECK(tn_known_when(k, tn_sym_mul(syms, late, n)).after == nz->def);
  CHECK(!tn_known_on_entry(k, tn_known_when(k, inner), main));
  CHECK(tn_known_before(k, tn_known_when(k, inner), known_node(r, "w")));
  CHECK(tn_known_when(k, tn_sym_add(syms, inner, late)).region == body);
}

TEST(when_symbols_appear) { run_ok(known_text, run_to_infer, known_look); }

/* Definitions lean on each other, in any order of their numbers; a cycle is never known. */
static void known_definitions(pass_run *r) {
  tn_symtab *syms = r->graph->syms;
  const tn_sym n = tn_sym_find_symbol(syms, "N")->var;
  tn_sym before = n;
  for (int i = 0; i < 5000; i++) {
    tn_symbol *s = tn_sym_fresh_symbol(syms, "d");
    s->source = TN_SOURCE_DEFINED;
    const tn_sym var = s->var;
    const uint32_t number = (uint32_t)var->k;
    const tn_sym definition = tn_sym_addi(syms, tn_sym_mul(syms, before, n), 1);
    tn_sym_symbol(syms, number)->definition = definition;
    before = var;
  }
  const tn_sym a = tn_sym_fresh_symbol(syms, "a")->var, b = tn_sym_fresh_symbol(syms, "b")->var;
  const tn_sym uses[2] = {a, b};
  for (int i = 0; i < 2; i++) {
    tn_symbol *s = tn_sym_symbol(syms, (uint32_t)uses[i]->k);
    s->source = TN_SOURCE_DEFINED;
    s->definition = uses[1 - i];
  }
  tn_known *k = tn_known_new(r->graph, &r->ctx.arena);
  CHECK(tn_known_on_entry(k, tn_known_when(k, before), r->graph->main));
  CHECK(tn_known_when(k, a).region == NULL);
  CHECK(tn_known_when(k, tn_sym_add(syms, b, n)).region == NULL);
}

TEST(definitions) {
  run_ok("tenon 1\ngraph @main(%x: f32[N]) -> (%y: ?) {\n  %y = relu(%x) : ?\n}\n", run_to_infer, known_definitions);
}
