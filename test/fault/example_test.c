/* The example model: compiled once for every shape, nothing allocated when a shape is met again, and a status whichever
 * allocation fails. */
#include "driver/compile.h"
#include "driver/session.h"
#include "test.h"

#define EXAMPLE_PATH TN_SOURCE_DIR "/examples/dynamic.onnx"

enum { MOST_PIXELS = 2 * 3 * 48 * 64, MOST_TOKENS = 2 * 21 };

static float example_pixels[MOST_PIXELS];
static int64_t example_tokens[MOST_TOKENS];

static tn_status example_run(tn_session *s, int64_t batch, int64_t height, int64_t width, int64_t length) {
  const int64_t image_dims[4] = {batch, 3, height, width}, token_dims[2] = {batch, length};
  const tn_tensor image = {.dtype = TN_F32, .rank = 4, .dims = image_dims, .data = example_pixels};
  const tn_tensor tokens = {.dtype = TN_I64, .rank = 2, .dims = token_dims, .data = example_tokens};
  tn_status status = tn_session_set_input(s, "image", &image, NULL);
  if (status == TN_OK) status = tn_session_set_input(s, "tokens", &tokens, NULL);
  if (status == TN_OK) status = tn_session_run(s, NULL);
  if (status != TN_OK) return status;
  const tn_tensor *states = tn_session_output(s, 1);
  if (!states) return TN_OOM;
  if (CHECK_EQ_I(states->rank, 3)) {
    CHECK_EQ_I(states->dims[0], batch);
    CHECK_EQ_I(states->dims[1], length);
  }
  return TN_OK;
}

static tn_status example_compile(tn_allocator a, tn_program **p) {
  const tn_compile_request q = {.allocator = a, .path = EXAMPLE_PATH, .max_edits = -1};
  return tn_compile(&q, NULL, p, NULL);
}

TEST(one_compile_serves_all_shapes_and_known_ones_are_free) {
  tn_alloc_probe probe = {.inner = tn_allocator_system()};
  const tn_allocator a = tn_allocator_probe(&probe);
  const tn_session_options o = {.size = sizeof o, .threads = 1};
  const int64_t before = tn_compile_runs();
  tn_program *p = NULL;
  tn_session *s = NULL;
  tn_error err = {0};
  if (!CHECK_EQ_I(example_compile(a, &p), TN_OK)) return;
  if (!CHECK_EQ_I(tn_session_new(a, p, &o, &s, &err), TN_OK)) return;
  static const int64_t sizes[3][4] = {{1, 16, 24, 5}, {2, 48, 64, 21}, {2, 31, 47, 1}};
  for (int i = 0; i < 3; i++) {
    CHECK_EQ_I(example_run(s, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]), TN_OK);
    const int64_t calls = probe.calls;
    for (int again = 0; again < 3; again++)
      CHECK_EQ_I(example_run(s, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]), TN_OK);
    CHECK_EQ_I(probe.calls, calls);
  }
  tn_session_stats stats = {.size = sizeof stats};
  tn_session_get_stats(s, &stats);
  CHECK_EQ_I(stats.binds, 3);
  CHECK_EQ_I(stats.runs, 12);
  CHECK_EQ_I(tn_compile_runs(), before + 1);
  tn_session_release(s);
  tn_program_release(p);
  CHECK_EQ_I(probe.live_bytes, 0);
}

static tn_status example_once(tn_alloc_probe *probe) {
  const tn_allocator a = tn_allocator_probe(probe);
  const tn_session_options o = {.size = sizeof o, .threads = 1};
  tn_program *p = NULL;
  tn_session *s = NULL;
  tn_error err = {0};
  tn_status status = example_compile(a, &p);
  if (status == TN_OK) status = tn_session_new(a, p, &o, &s, &err);
  if (status == TN_OK) status = example_run(s, 1, 8, 8, 3);
  if (s) tn_session_release(s);
  tn_program_release(p);
  return status;
}

TEST(every_allocation_may_fail) {
  int64_t k = 1;
  for (; k < 100000; k++) {
    tn_alloc_probe probe = {.inner = tn_allocator_system(), .fail_at = k};
    const tn_status status = example_once(&probe);
    if (!CHECK_EQ_I(probe.live_bytes, 0)) printf("  when allocation %lld fails\n", (long long)k);
    if (status == TN_OK) break;
    if (!CHECK_EQ_I(status, TN_OOM)) return;
  }
  CHECK(k > 20);
  CHECK(k < 100000);
}
