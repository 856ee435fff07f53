/* Plans of random graphs with bodies, orders, groups, engines and stages are right by the verifier, and flatten undoes
 * what apply did, byte for byte. TENON_SPLIT_GRAPHS says how many. */
#include "pass/split.h"

#include <stdlib.h>

#include "run.h"

enum { TEXT = 1 << 16, MAX_NODES = 14, SHUFFLES = 100 };

static uint64_t state = 1;
static uint32_t draw(uint32_t n) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((state >> 33) % n);
}

/* --- graphs --- */

typedef struct maker {
  char text[TEXT];
  size_t len;
  char values[400][12]; /* in sight, of f32[4] */
  uint32_t n_values, n_nodes;
  bool is_mixed; /* orders may go back */
} maker;

static void put(maker *m, const char *fmt, ...) TN_PRINTF(2, 3);
static void put(maker *m, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  m->len += (size_t)vsnprintf(m->text + m->len, TEXT - m->len, fmt, args);
  va_end(args);
}

static void put_marks(maker *m, uint32_t first, uint32_t id) {
  char after[40] = "", group[20] = "", stage[20] = "";
  const uint32_t other = m->is_mixed ? first + draw(MAX_NODES) : id > first ? first + draw(id - first) : id;
  if (other != id && !draw(6)) snprintf(after, sizeof after, ", after = \"n%u\"", other);
  if (!draw(8)) snprintf(group, sizeof group, ", group = \"g%u\"", draw(2));
  if (m->is_mixed && !draw(9)) snprintf(stage, sizeof stage, ", stage = \"%u\"", draw(3));
  put(m, " at \"n%u\" {force_dynamic = \"%s\"%s%s%s}\n", id, draw(3) ? "false" : "true", after, group, stage);
}

static const char *pick(const maker *m) { return m->values[draw(m->n_values)]; }

static void put_region(maker *m, uint32_t n, int depth);

static void put_node(maker *m, uint32_t first, int depth) {
  const uint32_t id = m->n_nodes++, kind = draw(depth < 2 && m->n_nodes < 100 ? 9 : 8);
  char name[12];
  snprintf(name, sizeof name, "v%u", id);
  if (kind == 0) {
    put(m, "%%%s = const() {value = dense(f32[4]: 0.5)} : f32[4]\n", name);
  } else if (kind < 4) {
    put(m, "%%%s = relu(%%%s) : f32[4]", name, pick(m));
    put_marks(m, first, id);
  } else if (kind < 8) {
    put(m, "%%%s = add(%%%s, %%%s) : f32[4]", name, pick(m), pick(m));
    put_marks(m, first, id);
  } else {
    put(m, "%%%s = if(%%c) region () {\n", name);
    put_region(m, 1 + draw(4), depth + 1);
    put(m, "} region () {\n");
    put_region(m, draw(4), depth + 1);
    put(m, "} : f32[4]");
    put_marks(m, first, id);
  }
  snprintf(m->values[m->n_values++], sizeof name, "%s", name);
}

static void put_region(maker *m, uint32_t n, int depth) {
  const uint32_t outer = m->n_values, first = m->n_nodes;
  for (uint32_t i = 0; i < n; i++) put_node(m, first, depth);
  put(m, "yield (%%%s)\n", pick(m));
  m->n_values = outer;
}

static void make(maker *m) {
  m->len = m->n_nodes = 0;
  m->n_values = 2;
  m->is_mixed = !draw(4);
  snprintf(m->values[0], sizeof m->values[0], "x");
  snprintf(m->values[1], sizeof m->values[1], "y");
  char body[TEXT];
  const uint32_t n = 1 + draw(MAX_NODES);
  for (uint32_t i = 0; i < n; i++) put_node(m, 0, 0);
  memcpy(body, m->text, m->len + 1);
  m->len = 0;
  const char *result = pick(m);
  put(m, "tenon 1\n\ngraph @main(%%x: f32[4], %%y: f32[4], %%c: bool[]) -> (%%%s: f32[4], %%%s: f32[4]) {\n%s}\n",
      result, m->values[m->n_values - 1], body);
}

/* --- what is asked of each --- */

static const char *printed(tn_graph *g) {
  tn_text t;
  tn_text_init(&t, &g->ctx->arena);
  tn_graph_print(g, &t, TN_PRINT_ALL | TN_PRINT_LOCATIONS);
  return tn_text_z(&t);
}

static const char two_engines[] = "engine a { order 1 op relu weights part 10 } engine b { order 2 host op add }";

static uint32_t planned, refused, cut;

static void look_random(pass_run *r) {
  tn_split_options o = tn_split_defaults;
  tn_partition_set *set;
  tn_target *target;
  o.mode = (tn_split_mode)draw(3);
  o.min_static_ops = (int64_t)draw(5) - 2;
  if (!draw(3)) {
    if (!CHECK_EQ_I(tn_target_parse(&r->ctx, "two", tn_str_of(two_engines), &target), TN_OK)) return;
    o.target = target;
  }
  const char *before = printed(r->graph);
  const tn_status status = tn_split_plan(r->graph, &o, &set);
  if (status != TN_OK) {
    CHECK_EQ_I(status, TN_INVALID); /* a loop, a group or stages that contradict */
    CHECK_STR(printed(r->graph), before);
    refused++;
    return;
  }
  planned++;
  if (!CHECK_EQ_I(tn_split_verify(set), TN_OK)) return;
  CHECK_STR(printed(r->graph), before);
  for (size_t i = 0; i < set->regions.n; i++) cut += set->regions.at[i].n_parts > 1;
  CHECK_EQ_I(tn_split_apply(set), TN_OK);
  CHECK_EQ_I(tn_verify(r->graph, TN_HAS_GRAPH | TN_HAS_SYMBOLS | TN_HAS_FACTS), TN_OK);
  CHECK_EQ_I(tn_split_flatten(r->graph), TN_OK);
  CHECK_EQ_I(tn_verify(r->graph, TN_HAS_GRAPH), TN_OK);
  CHECK_STR(printed(r->graph), before);
}

TEST(random_graphs) {
  static maker m;
  const char *asked = getenv("TENON_SPLIT_GRAPHS");
  const long n = asked ? strtol(asked, NULL, 10) : 3000;
  for (long i = 0; i < n; i++) {
    pass_run r;
    make(&m);
    (void)run_passes(&r, m.text, run_to_infer, look_random);
    if (r.status != TN_OK) printf("%s\n%s\n", r.ctx.diags.n ? r.ctx.diags.at[0].full : "", m.text);
    CHECK_EQ_I(r.status, TN_OK);
    tn_ctx_drop(&r.ctx);
  }
  CHECK(planned > (uint32_t)n / 2 && refused > 0 && cut > (uint32_t)n / 4);
}

/* --- the order of the program says nothing --- */

enum { N = 12 };
typedef struct shuffled {
  uint32_t a[N], b[N]; /* operands: nodes before, or N: %x */
  bool is_dynamic[N];
} shuffled;

static const char *shuffle_value(uint32_t v, char *room) {
  snprintf(room, 12, v == N ? "x" : "v%u", v);
  return room;
}

static void shuffle_text(const shuffled *s, maker *m) {
  bool done[N] = {false};
  m->len = 0;
  put(m, "tenon 1\n\ngraph @main(%%x: f32[4]) -> (%%v%d: f32[4]) {\n", N - 1);
  for (uint32_t left = N; left > 0;) {
    char a[12], b[12];
    const uint32_t i = draw(N);
    if (done[i] || (s->a[i] < N && !done[s->a[i]]) || (s->b[i] < N && !done[s->b[i]])) continue;
    put(m, "%%v%u = add(%%%s, %%%s) : f32[4] at \"%c%u\"\n", i, shuffle_value(s->a[i], a), shuffle_value(s->b[i], b),
        s->is_dynamic[i] ? 'd' : 's', i);
    done[i] = true;
    left--;
  }
  put(m, "}\n");
}

static char signature[TEXT];

static void look_shuffled(pass_run *r) {
  static const char *const patterns[] = {"d*"};
  tn_split_options o = tn_split_defaults;
  tn_partition_set *set;
  size_t len = 0;
  o.min_static_ops = 2;
  o.force_dynamic = (tn_split_texts){patterns, 1};
  if (!CHECK_EQ_I(tn_split_plan(r->graph, &o, &set), TN_OK)) return;
  const tn_partition *p = &set->regions.at[0];
  for (uint32_t k = 0; k < p->n_parts; k++) {
    len += (size_t)snprintf(signature + len, TEXT - len, "%s:", p->parts[k].name);
    for (uint32_t i = 0; i < p->parts[k].n_nodes; i++)
      len += (size_t)snprintf(signature + len, TEXT - len, " %s", p->parts[k].nodes[i]->loc.name);
    for (uint32_t i = 0; i < p->parts[k].n_inputs; i++)
      len += (size_t)snprintf(signature + len, TEXT - len, " <%s", p->parts[k].inputs[i]->name);
    for (uint32_t i = 0; i < p->parts[k].n_outputs; i++)
      len += (size_t)snprintf(signature + len, TEXT - len, " >%s", p->parts[k].outputs[i]->name);
  }
}

TEST(shuffled_programs_give_the_same_plan) {
  static maker m;
  static char first[TEXT];
  shuffled s;
  for (uint32_t i = 0; i < N; i++) { /* every node has a use, so that all lead to the result */
    s.a[i] = i ? i - 1 - draw(i < 3 ? i : 3) : N;
    s.b[i] = i > 1 ? i - 2 : N;
    s.is_dynamic[i] = i == 2 || i == 8;
  }
  s.a[N - 1] = N - 2;
  for (int k = 0; k < SHUFFLES; k++) {
    shuffle_text(&s, &m);
    run_ok(m.text, run_to_infer, look_shuffled);
    if (k == 0) memcpy(first, signature, sizeof first);
    CHECK_STR(signature, first);
  }
  CHECK(strchr(first, '>') != NULL);
}

/* --- stages of equal work against all ways to cut --- */

enum { CHAIN = 9 };
typedef struct chain { /* node i: relu of value a, or a and b joined; value v < 2: a parameter, else node v - 2 */
  uint32_t a[CHAIN], b[CHAIN];
  bool is_concat[CHAIN];
  int64_t size[CHAIN + 2];
} chain;
static chain chain_now;
static int64_t chain_stages, chain_cuts;

static const char *chain_name(uint32_t v, char *room) {
  snprintf(room, 12, v < 2 ? "p%u" : "n%u", v < 2 ? v : v - 2);
  return room;
}

static void chain_make(chain *c, maker *m) {
  m->len = 0;
  c->size[0] = 100 + draw(3000);
  c->size[1] = 100 + draw(3000);
  put(m, "tenon 1\n\ngraph @main(%%p0: f32[%d], %%p1: f32[%d]) -> (%%n%d: f32[*]) {\n", (int)c->size[0],
      (int)c->size[1], CHAIN - 1);
  for (uint32_t i = 0; i < CHAIN; i++) {
    char a[12], b[12];
    c->a[i] = i ? i + 1 : 0; /* the node before, so that the plan's order is that of the program */
    c->b[i] = draw(i + 2);
    c->is_concat[i] = draw(2);
    c->size[i + 2] = c->size[c->a[i]] + (c->is_concat[i] ? c->size[c->b[i]] : 0);
    if (c->is_concat[i])
      put(m, "%%n%u = concat(%%%s, %%%s) {axis = 0} : f32[*] at \"n%u\"\n", i, chain_name(c->a[i], a),
          chain_name(c->b[i], b), i);
    else
      put(m, "%%n%u = relu(%%%s) : f32[*] at \"n%u\"\n", i, chain_name(c->a[i], a), i);
  }
  put(m, "}\n");
}

/* As doc/target.md: operations or bytes, whichever takes longer, and 300 ns. */
static int64_t chain_ns(const chain *c, uint32_t i) {
  const int64_t flops = c->is_concat[i] ? 0 : c->size[i + 2];
  const int64_t bytes = 4 * (c->size[i + 2] + c->size[c->a[i]] + (c->is_concat[i] ? c->size[c->b[i]] : 0));
  return 300 + (flops / 20 > bytes / 10 ? flops / 20 : bytes / 10);
}

/* Largest stage and bytes that cross, when bit j of `cuts` says that a stage begins with node j. */
static void chain_judge(const chain *c, uint32_t cuts, int64_t *out_largest, int64_t *out_bytes) {
  int64_t ns = 0;
  *out_largest = *out_bytes = 0;
  for (uint32_t i = 0; i < CHAIN; i++) {
    if (cuts >> i & 1) {
      ns = 0;
      for (uint32_t v = 0; v < i; v++) {
        bool crosses = false;
        for (uint32_t k = i; k < CHAIN; k++) crosses |= c->a[k] == v + 2 || (c->is_concat[k] && c->b[k] == v + 2);
        *out_bytes += crosses ? 4 * c->size[v + 2] : 0;
      }
    }
    ns += chain_ns(c, i);
    if (ns > *out_largest) *out_largest = ns;
  }
}

static int64_t chain_count(uint32_t cuts) {
  int64_t n = 0;
  for (; cuts; cuts &= cuts - 1) n++;
  return n;
}

static void look_chain(pass_run *r) {
  const chain *c = &chain_now;
  tn_split_options o = tn_split_defaults;
  tn_partition_set *set;
  o.n_stages = chain_stages;
  if (!CHECK_EQ_I(tn_split_plan(r->graph, &o, &set), TN_OK)) return;
  CHECK_EQ_I(tn_split_verify(set), TN_OK);
  uint32_t cuts = 0, i = 0;
  int32_t stage = 0;
  int64_t total = 0, smallest = INT64_MAX, largest, bytes, best = INT64_MAX;
  for (const tn_node *node = r->graph->main->first; node; node = node->next, i++) {
    if (set->stage_of[node->id] != stage) cuts |= 1u << i;
    stage = set->stage_of[node->id];
    total += chain_ns(c, i);
  }
  CHECK_EQ_I(stage, chain_stages - 1);
  for (uint32_t k = 0; k < 1u << CHAIN; k += 2) {
    chain_judge(c, k, &largest, &bytes);
    if (chain_count(k) == chain_stages - 1 && largest < smallest) smallest = largest;
  }
  const int64_t mean = total / chain_stages, allowed = mean + mean / 50;
  const int64_t limit = smallest > allowed ? smallest : allowed;
  for (uint32_t k = 0; k < 1u << CHAIN; k += 2) {
    chain_judge(c, k, &largest, &bytes);
    if (chain_count(k) == chain_stages - 1 && largest <= limit && bytes < best) best = bytes;
  }
  chain_judge(c, cuts, &largest, &bytes);
  CHECK(largest <= limit);
  CHECK_EQ_I(bytes, best);
  chain_cuts++;
}

TEST(stages_of_equal_work) {
  static maker m;
  for (int k = 0; k < 200; k++) {
    chain_stages = 1 + draw(4);
    chain_make(&chain_now, &m);
    run_ok(m.text, run_to_infer, look_chain);
  }
  CHECK_EQ_I(chain_cuts, 200);
}

/* --- what an optimiser did to a part stays --- */

static tn_node *find_node(tn_region *r, const char *name) {
  for (tn_node *node = r->first; node; node = node->next) {
    if (node->loc.name && strcmp(node->loc.name, name) == 0) return node;
    for (int i = 0; i < node->n_regions; i++) {
      tn_node *inner = find_node(node->regions[i], name);
      if (inner) return inner;
    }
  }
  return NULL;
}

static void look_edited(pass_run *r) {
  tn_split_options o = tn_split_defaults;
  tn_partition_set *set;
  o.min_static_ops = 0;
  CHECK_EQ_I(tn_split_plan(r->graph, &o, &set), TN_OK);
  CHECK_EQ_I(tn_split_apply(set), TN_OK);
  tn_node *node = find_node(r->graph->main, "gone");
  if (!CHECK(node && node->region != r->graph->main)) return;
  tn_edit_replace_uses(node->out[0], node->in[0]);
  tn_edit_erase_node(node);
  node = find_node(r->graph->main, "c");
  tn_node *more = tn_edit_add_node(node->region, node, node->op, node->in, 1, 1, node->loc);
  tn_edit_set_type(more->out[0], node->out[0]->type);
  tn_edit_set_input(node, 0, more->out[0]);
  CHECK_EQ_I(tn_verify(r->graph, TN_HAS_GRAPH), TN_OK);
  CHECK_EQ_I(tn_split_flatten(r->graph), TN_OK);
  CHECK_EQ_I(tn_verify(r->graph, TN_HAS_GRAPH), TN_OK);
  CHECK_EQ_I(r->graph->main->n_nodes, 4);
  for (const tn_node *n = r->graph->main->first; n; n = n->next) CHECK(strcmp(n->op->name, "call") != 0);
}

TEST(nodes_that_came_and_went) {
  run_ok(
      "tenon 1\n\ngraph @main(%x: f32[4]) -> (%d: f32[4]) {\n"
      "%a = relu(%x) : f32[4] at \"a\"\n%b = relu(%a) : f32[4] at \"gone\"\n"
      "%c = relu(%b) : f32[4] at \"c\" {force_dynamic = \"true\"}\n%d = relu(%c) : f32[4] at \"d\"\n}\n",
      run_to_infer, look_edited);
}

/* --- what cannot be applied leaves the graph alone --- */

static void look_deep(pass_run *r) {
  tn_split_options o = tn_split_defaults;
  tn_partition_set *set;
  o.min_static_ops = 0;
  const char *before = printed(r->graph);
  CHECK_EQ_I(tn_split_plan(r->graph, &o, &set), TN_OK);
  CHECK_EQ_I(tn_split_apply(set), TN_LIMIT);
  CHECK_STR(printed(r->graph), before);
  r->ctx.diags.n = 0;
}

TEST(too_deep) {
  static maker m;
  m.len = 0;
  put(&m, "tenon 1\n\ngraph @main(%%x: f32[4], %%c: bool[]) -> (%%r0: f32[4]) {\n");
  for (int d = 0; d < 8; d++)
    put(&m, "%%a%d = relu(%%x) : f32[4] at \"a%d\" {force_dynamic = \"true\"}\n%%r%d = if(%%c) region () {\n", d, d, d);
  put(&m, "%%q = relu(%%x) : f32[4]\nyield (%%q)\n");
  for (int d = 8; d-- > 0;) {
    put(&m, "} region () {\nyield (%%a%d)\n} : f32[4]\n", d);
    if (d) put(&m, "%%s%d = neg(%%r%d) : f32[4]\nyield (%%s%d)\n", d, d, d);
  }
  put(&m, "}\n");
  run_ok(m.text, run_to_infer, look_deep);
}

/* --- the verifier sees what is wrong --- */

static tn_partition_set *plan_fresh(pass_run *r) {
  static const char *const patterns[] = {"d*"};
  tn_split_options o = tn_split_defaults;
  tn_partition_set *set = NULL;
  o.min_static_ops = 0;
  o.force_dynamic = (tn_split_texts){patterns, 1};
  CHECK_EQ_I(tn_split_plan(r->graph, &o, &set), TN_OK);
  CHECK_EQ_I(tn_split_verify(set), TN_OK);
  CHECK_EQ_I(set->regions.at[0].n_parts, 3);
  return set;
}

static void check_wrong(pass_run *r, const tn_partition_set *set, const char *words) {
  CHECK_EQ_I(tn_split_verify(set), TN_INTERNAL);
  CHECK_HAS(r->ctx.diags.at[r->ctx.diags.n - 1].full, words);
}

static void look_seeded(pass_run *r) {
  tn_partition_set *set = plan_fresh(r);
  tn_partition *p = &set->regions.at[0];
  set->part_of[p->parts[1].nodes[0]->id] = 2;
  check_wrong(r, set, "in a part that is not its own");
  set = plan_fresh(r);
  p = &set->regions.at[0];
  p->parts[2].n_inputs--;
  check_wrong(r, set, "is no input of its part");
  set = plan_fresh(r);
  set->regions.at[0].parts[0].n_outputs = 0;
  check_wrong(r, set, "is no output of the part");
  set = plan_fresh(r);
  set->regions.at[0].n_edges--;
  check_wrong(r, set, "no edge from part");
  set = plan_fresh(r);
  p = &set->regions.at[0];
  p->edges[0].is_order_only = true;
  check_wrong(r, set, "not as the graph has it");
  set = plan_fresh(r);
  p = &set->regions.at[0];
  p->parts[1].name = p->parts[0].name;
  check_wrong(r, set, "two parts are called");
  set = plan_fresh(r);
  p = &set->regions.at[0]; /* parts 0 and 1 change places: an edge goes back */
  const tn_part part = p->parts[0];
  p->parts[0] = p->parts[1];
  p->parts[1] = part;
  for (uint32_t k = 0; k < 2; k++)
    for (uint32_t i = 0; i < p->parts[k].n_nodes; i++) set->part_of[p->parts[k].nodes[i]->id] = k;
  check_wrong(r, set, "comes before part");
  r->ctx.diags.n = 0;
}

TEST(wrong_plans_are_seen) {
  run_ok(
      "tenon 1\n\ngraph @main(%x: f32[4], %y: f32[4]) -> (%d: f32[4]) {\n"
      "%a = relu(%x) : f32[4] at \"a\"\n%b = relu(%a) : f32[4] at \"d1\"\n"
      "%c = relu(%b) : f32[4] at \"c\"\n%d = add(%c, %y) : f32[4] at \"e\"\n}\n",
      run_to_infer, look_seeded);
}
