/* Time of a split per node, for graphs of 100,000 and of 1,000,000 nodes (or as many as the arguments say):
 *
 *     split [NODES MORE_NODES [ROUNDS [GRAPH]]]
 *
 * `alternate`: a chain of dynamic and static nodes in turn. `skips`: runs of 6 static nodes between dynamic ones, and
 * an edge around each run. `layers`: static nodes in 8 columns with edges to neighbours, every 50th dynamic. `random`:
 * two operands among the last 1000 values, every 5th dynamic. Processor time, the median of the rounds (5), in which
 * both sizes and all modes take turns; each run is a process of its own, so that none finds memory that another one has
 * warmed up. The ratio is the time per node of the larger graph to that of the smaller one. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ir/edit.h"
#include "ir/op.h"
#include "ir/verify.h"
#include "pass/split.h"

static uint64_t bench_state;
static uint32_t bench_draw(uint32_t n) {
  bench_state = bench_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((bench_state >> 33) % n);
}

typedef struct bench_case {
  const char *name;
  bool (*node)(uint32_t i, uint32_t *a, uint32_t *b); /* operands; is it dynamic? */
} bench_case;

static bool bench_alternate(uint32_t i, uint32_t *a, uint32_t *b) {
  *a = *b = i ? i - 1 : 0;
  return i % 2;
}

static bool bench_skips(uint32_t i, uint32_t *a, uint32_t *b) {
  *a = i ? i - 1 : 0;
  *b = i % 7 == 0 && i >= 7 ? i - 7 : *a;
  return i % 7 == 0;
}

static bool bench_layers(uint32_t i, uint32_t *a, uint32_t *b) {
  *a = i >= 8 ? i - 8 : 0;
  *b = i >= 8 ? i - 8 + (i % 8 != 7) : 0;
  return i % 50 == 0;
}

static bool bench_random(uint32_t i, uint32_t *a, uint32_t *b) {
  const uint32_t near = i < 1000 ? i : 1000;
  *a = near ? i - 1 - bench_draw(near) : 0;
  *b = near ? i - 1 - bench_draw(near) : 0;
  return bench_draw(5) == 0;
}

static const bench_case bench_cases[] = {
    {"alternate", bench_alternate}, {"skips", bench_skips}, {"layers", bench_layers}, {"random", bench_random}};

typedef struct bench {
  const bench_case *of;
  uint32_t n;
  tn_split_mode mode;
  double plan, verify, apply, flatten; /* seconds */
  uint32_t n_parts;
} bench;

static double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tn_graph *bench_graph(tn_ctx *ctx, const bench *b) {
  tn_graph *g = tn_graph_new(ctx);
  const tn_op *add = tn_op_find("add");
  const tn_sym dim = tn_sym_int(g->syms, 4);
  tn_sym *dims = TN_NEW(&ctx->arena, tn_sym);
  *dims = dim;
  const tn_type type = tn_type_tensor(TN_F32, 1, dims);
  tn_marks *dynamic = TN_NEW(&ctx->arena, tn_marks);
  *dynamic = TN_NO_MARKS;
  dynamic->force_dynamic = true;
  tn_value *x = tn_edit_add_param(g->main, "x", type);
  tn_value **made = TN_NEW_ARRAY(&ctx->arena, tn_value *, b->n);
  for (uint32_t i = 0; i < b->n; i++) {
    uint32_t at[2];
    const bool is_dynamic = b->of->node(i, &at[0], &at[1]);
    tn_value *in[2] = {i ? made[at[0]] : x, i ? made[at[1]] : x};
    tn_node *node =
        tn_edit_add_node(g->main, NULL, add, in, 2, 1, (tn_loc){.kind = "node", .name = "n", .index = (int)i});
    node->marks = is_dynamic ? dynamic : NULL;
    tn_edit_set_type(node->out[0], type);
    made[i] = node->out[0];
  }
  tn_edit_set_results(g->main, &made[b->n - 1], 1);
  return g;
}

static tn_status bench_inside(tn_ctx *ctx, void *arg) {
  bench *b = arg;
  tn_split_options o = tn_split_defaults;
  tn_partition_set *set;
  o.mode = b->mode;
  o.min_static_ops = 4;
  tn_graph *g = bench_graph(ctx, b);
  const double start = bench_now();
  TN_TRY(tn_split_plan(g, &o, &set));
  const double planned = bench_now();
  TN_TRY(tn_split_verify(set));
  const double verified = bench_now();
  TN_TRY(tn_split_apply(set));
  const double applied = bench_now();
  TN_TRY(tn_split_flatten(g));
  const double flat = bench_now();
  TN_TRY(tn_verify(g, TN_HAS_GRAPH));
  b->n_parts = set->regions.at[0].n_parts;
  b->plan = planned - start;
  b->verify = verified - planned;
  b->apply = applied - verified;
  b->flatten = flat - applied;
  return TN_OK;
}

static bool bench_run(bench *b) {
  tn_ctx ctx;
  tn_error err = {0};
  bench_state = 1;
  if (tn_ctx_init(&ctx, tn_allocator_system(), &err) != TN_OK) return false;
  const tn_status status = tn_ctx_run(&ctx, bench_inside, b);
  if (status != TN_OK) printf("%s: %s\n", b->of->name, ctx.diags.n ? ctx.diags.at[0].full : "failed");
  tn_ctx_drop(&ctx);
  return status == TN_OK;
}

static bool bench_run_apart(bench *b) {
  int ends[2], status = 1;
  if (pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    const bool is_done = bench_run(b) && write(ends[1], b, sizeof *b) == (ssize_t)sizeof *b;
    _exit(!is_done);
  }
  close(ends[1]);
  const bool is_read = child > 0 && read(ends[0], b, sizeof *b) == (ssize_t)sizeof *b;
  close(ends[0]);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 && is_read;
}

static int bench_by_plan(const void *a, const void *b) {
  const double x = ((const bench *)a)->plan, y = ((const bench *)b)->plan;
  return (x > y) - (x < y);
}

enum { BENCH_MODES = 3, BENCH_SIZES = 2, BENCH_MAX_ROUNDS = 99 };

static bool bench_graphs(const bench_case *of, const uint32_t *sizes, int rounds) {
  static const char *const modes[BENCH_MODES] = {"paths", "known-first", "order"};
  static bench runs[BENCH_MODES][BENCH_SIZES][BENCH_MAX_ROUNDS];
  for (int round = 0; round < rounds; round++)
    for (int mode = 0; mode < BENCH_MODES; mode++)
      for (int s = 0; s < BENCH_SIZES; s++) {
        bench *b = &runs[mode][s][round];
        *b = (bench){.of = of, .n = sizes[s], .mode = (tn_split_mode)mode};
        if (!bench_run_apart(b)) return false;
      }
  for (int mode = 0; mode < BENCH_MODES; mode++) {
    double per_node[BENCH_SIZES];
    for (int s = 0; s < BENCH_SIZES; s++) {
      qsort(runs[mode][s], (size_t)rounds, sizeof runs[mode][s][0], bench_by_plan);
      const bench *b = &runs[mode][s][rounds / 2];
      per_node[s] = 1e9 * b->plan / b->n;
      printf("%-10s %-12s %9u %8u %8.3f %8.3f %8.3f %9.3f %8.0f\n", of->name, modes[mode], b->n, b->n_parts, b->plan,
             b->verify, b->apply, b->flatten, per_node[s]);
    }
    printf("%-10s %-12s ratio %.2f\n", of->name, modes[mode], per_node[1] / per_node[0]);
  }
  return true;
}

int main(int argc, char **argv) {
  const uint32_t sizes[BENCH_SIZES] = {argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100000,
                                       argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000000};
  const int rounds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 5;
  if (!sizes[0] || !sizes[1] || rounds < 1 || rounds > BENCH_MAX_ROUNDS) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("%-10s %-12s %9s %8s %8s %8s %8s %8s %8s\n", "graph", "mode", "nodes", "parts", "plan s", "verify s",
         "apply s", "flatten s", "ns/node");
  for (size_t c = 0; c < sizeof bench_cases / sizeof *bench_cases; c++)
    if ((argc < 5 || strcmp(argv[4], bench_cases[c].name) == 0) && !bench_graphs(&bench_cases[c], sizes, rounds))
      return 1;
  return 0;
}
