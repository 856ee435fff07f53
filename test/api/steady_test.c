/* A session at rest: runs at a shape that is bound take no memory; many sessions of one program run in many threads;
 * idle threads take no processor time. */
#include <pthread.h>

#include "base/thread.h"
#include "driver/compile.h"
#include "driver/session.h"
#include "rest.h"
#include "test.h"

/* Weights, a view, a branch, a loop, a size that only the run tells, a reduction. */
static const char steady_model[] =
    "tenon 1\n"
    "graph @main(%x: f32[N,4], %c: bool[]) -> (%z: ?, %w: ?, %l: ?, %nz: ?, %p: ?) {\n"
    "  %k = const() {value = dense(f32[4,2]: 1, 2, 3, 4, 5, 6, 7, 8)} : f32[4,2]\n"
    "  %t = matmul(%x, %k) : ?\n"
    "  %m = const() {value = dense(i64[1]: -1)} : i64[1]\n"
    "  %z = reshape(%t, %m) : ?\n"
    "  %p = softmax(%t) : ?\n"
    "  %nz = non_zero(%x) : ?\n"
    "  %w = if(%c) region () {\n"
    "    %a = neg(%x) : ?\n"
    "    yield (%a)\n"
    "  } region () {\n"
    "    %b = exp(%x) : ?\n"
    "    yield (%b)\n"
    "  } : ?\n"
    "  %trip = const() {value = dense(i64[]: 3)} : i64[]\n"
    "  %true = const() {value = dense(bool[]: 1)} : bool[]\n"
    "  %l = loop(%trip, %true, %x) region (%i: i64[], %go: bool[], %v: ?) {\n"
    "    %v2 = add(%v, %x) : ?\n"
    "    yield (%go, %v2)\n"
    "  } : ?\n"
    "}\n";

enum { MOST_ROWS = 40000 };
static float steady_x[MOST_ROWS * 4];

static tn_program *steady_compile(void) {
  const tn_compile_request q = {.allocator = tn_allocator_system(),
                                .bytes = {(const uint8_t *)steady_model, sizeof steady_model - 1},
                                .max_edits = -1};
  tn_program *p = NULL;
  tn_report *report = NULL;
  for (int i = 0; i < MOST_ROWS * 4; i++) steady_x[i] = (float)(i % 7) - 3;
  if (!CHECK_EQ_I(tn_compile(&q, NULL, &p, &report), TN_OK)) printf("  %s\n", tn_report_text(report));
  tn_report_release(report);
  return p;
}

static tn_status steady_run(tn_session *s, int64_t rows, uint8_t c) {
  const int64_t dims[2] = {rows, 4};
  const tn_tensor tx = {.dtype = TN_F32, .rank = 2, .dims = dims, .data = steady_x},
                  tc = {.dtype = TN_BOOL, .data = &c};
  tn_status status = tn_session_set_input(s, "x", &tx, NULL);
  if (status == TN_OK) status = tn_session_set_input(s, "c", &tc, NULL);
  return status == TN_OK ? tn_session_run(s, NULL) : status;
}

TEST(no_memory_is_taken) {
  tn_program *p = steady_compile();
  for (int threads = 1; p && threads <= 3; threads += 2) {
    tn_alloc_probe probe = {.inner = tn_allocator_system()};
    const tn_session_options o = {.size = sizeof o, .threads = threads};
    tn_session *s = NULL;
    tn_error err = {0};
    if (!CHECK_EQ_I(tn_session_new(tn_allocator_probe(&probe), p, &o, &s, &err), TN_OK)) break;
    for (int64_t rows = 9000; rows > 0; rows -= 4500)
      for (uint8_t c = 0; c < 2; c++) CHECK_EQ_I(steady_run(s, rows, c), TN_OK);
    const int64_t calls = probe.calls;
    for (int i = 0; i < 20; i++) CHECK_EQ_I(steady_run(s, 4500, i & 1), TN_OK);
    CHECK_EQ_I(probe.calls, calls);
    for (int i = 0; i < 20; i++) CHECK_EQ_I(steady_run(s, i & 2 ? 9000 : 4500, i & 1), TN_OK); /* both are kept */
    CHECK_EQ_I(probe.calls, calls);
    CHECK_EQ_I(steady_run(s, 123, 1), TN_OK); /* a new shape is kept too: that takes memory, so calls are counted */
    CHECK(probe.calls > calls);
    tn_session_release(s);
    CHECK_EQ_I(probe.live_bytes, 0);
  }
  tn_program_free(p);
}

/* Sums of the outputs at a number of rows, by one thread alone. */
static bool steady_sums(tn_session *s, int64_t rows, double *sums) {
  if (steady_run(s, rows, (uint8_t)(rows & 1)) != TN_OK) return false;
  for (size_t i = 0; i < 5; i++) {
    const tn_tensor *t = tn_session_output(s, i);
    sums[i] = 0;
    for (size_t e = 0; t && t->dtype == TN_F32 && e < t->bytes / sizeof(float); e++)
      sums[i] += (double)((const float *)t->data)[e];
    for (size_t e = 0; t && t->dtype == TN_I64 && e < t->bytes / 8; e++)
      sums[i] += (double)((const int64_t *)t->data)[e];
  }
  return true;
}

enum { MANY_SHAPES = 6, MANY_RUNS = 30, MANY_THREADS = 5 };

typedef struct many {
  tn_program *program;
  double sums[MANY_SHAPES][5];
  int failed; /* atomic */
} many;

static int64_t many_rows(int shape) { return 1 + (int64_t)shape * 3000; }

static void *many_work(void *arg) {
  many *m = arg;
  const tn_session_options o = {.size = sizeof o, .threads = 3};
  tn_session *s = NULL;
  if (tn_session_create(m->program, &o, &s, NULL) != TN_OK) {
    __atomic_fetch_add(&m->failed, 1, __ATOMIC_RELAXED);
    return NULL;
  }
  for (int i = 0; i < MANY_RUNS; i++) {
    double sums[5];
    const int shape = i * 5 % MANY_SHAPES;
    const bool is_good = steady_sums(s, many_rows(shape), sums) && memcmp(sums, m->sums[shape], sizeof sums) == 0;
    __atomic_fetch_add(&m->failed, !is_good, __ATOMIC_RELAXED);
  }
  tn_session_release(s);
  return NULL;
}

TEST(many_sessions_of_one_program) {
  many m = {.program = steady_compile()};
  const tn_session_options one = {.size = sizeof one, .threads = 1};
  tn_session *s = NULL;
  pthread_t threads[MANY_THREADS];
  if (!m.program || !CHECK_EQ_I(tn_session_create(m.program, &one, &s, NULL), TN_OK)) return;
  for (int i = 0; i < MANY_SHAPES; i++) CHECK(steady_sums(s, many_rows(i), m.sums[i]));
  tn_session_release(s);
  for (int i = 0; i < MANY_THREADS; i++) CHECK(pthread_create(&threads[i], NULL, many_work, &m) == 0);
  for (int i = 0; i < MANY_THREADS; i++) pthread_join(threads[i], NULL);
  CHECK_EQ_I(m.failed, 0);
  tn_program_free(m.program);
}

TEST(idle_threads_rest) {
  tn_program *p = steady_compile();
  const tn_session_options o = {.size = sizeof o, .threads = 4};
  tn_session *s = NULL;
  if (!p || !CHECK_EQ_I(tn_session_create(p, &o, &s, NULL), TN_OK)) return;
  CHECK_EQ_I(steady_run(s, MOST_ROWS, 1), TN_OK);
  CHECK(test_rests());
  tn_session_release(s);
  tn_program_free(p);
}
