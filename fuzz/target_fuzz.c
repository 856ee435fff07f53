/* Tables of engines and files of stages, as text: refused with a sentence, or a plan that its verifier accepts, that
 * can be applied and undone. The first byte chooses the mode, the line "%" ends the table. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver/compile.h"
#include "driver/split.h"
#include "ir/verify.h"
#include "pass/split.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char target_model[] =
    "tenon 1\n"
    "graph @main(%x: f32[N,3,8,8], %t: i64[N,S]) -> (%y: f32[N,3,8,8], %z: i64[N,S]) {\n"
    "  %a = relu(%x) : f32[N,3,8,8] at \"encoder/relu\"\n"
    "  %b = softmax(%a) {axis = -1} : f32[N,3,8,8]\n"
    "  %c = max_pool(%b) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]} : f32[N,3,8,8]\n"
    "  %d = neg(%c) : f32[N,3,8,8]\n"
    "  %y = add(%d, %a) : f32[N,3,8,8]\n"
    "  %u = mul(%t, %t) : i64[N,S]\n"
    "  %z = add(%u, %t) : i64[N,S]\n"
    "}\n";

typedef struct target_case {
  tn_compilation c;
  const tn_tool_split_options *o;
} target_case;

static tn_status target_plan(tn_ctx *ctx, void *arg) {
  target_case *x = arg;
  tn_partition_set *set;
  (void)ctx;
  TN_TRY(tn_split_by_options(&x->c, x->o, &set));
  if (tn_split_apply(set) != TN_OK) abort();
  if (tn_verify(x->c.graph, TN_HAS_GRAPH | TN_HAS_SYMBOLS | TN_HAS_FACTS) != TN_OK) abort();
  if (tn_split_flatten(x->c.graph) != TN_OK) abort();
  return tn_verify(x->c.graph, TN_HAS_GRAPH) == TN_OK ? TN_OK : TN_INTERNAL;
}

/* A file in memory; options name files by their path. */
static int target_file(const char *name, const uint8_t *data, size_t size, char path[40]) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
  snprintf(path, 40, "/proc/self/fd/%d", fd);
  return fd;
}

static void target_split(const tn_tool_split_options *o) {
  target_case x = {.o = o};
  const tn_compile_request q = {.allocator = tn_allocator_system(),
                                .bytes = {(const uint8_t *)target_model, sizeof target_model - 1},
                                .stop_after = "infer",
                                .max_edits = -1};
  if (tn_compilation_run(&x.c, &q) != TN_OK) abort();
  const tn_status status = tn_ctx_run(&x.c.ctx, target_plan, &x);
  if (status == TN_INTERNAL || (status != TN_OK && status != TN_OOM && x.c.ctx.n_diags == 0)) abort();
  tn_compilation_drop(&x.c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const modes[] = {"paths", "known-first", "order"};
  char table_path[40], stages_path[40];
  if (size == 0) return 0;
  const uint8_t *const text = data + 1, *const cut = memmem(text, size - 1, "\n%\n", 3);
  const size_t n = cut ? (size_t)(cut - text) + 1 : size - 1, rest = cut ? n + 2 : n;
  const int table = target_file("table", text, n, table_path);
  const int stages = target_file("stages", text + rest, size - 1 - rest, stages_path);
  target_split(&(tn_tool_split_options){.size = sizeof(tn_tool_split_options),
                                        .mode = modes[data[0] % 3],
                                        .symbolic_is_dynamic = data[0] & 4,
                                        .min_static_ops = data[0] & 8 ? TN_BY_COST : 0,
                                        .target = table_path,
                                        .stage_file = cut ? stages_path : NULL});
  (void)close(table);
  (void)close(stages);
  return 0;
}
