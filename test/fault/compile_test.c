/* The k-th allocation fails, for every k until compiling and running succeed: always a status, nothing left behind. */
#include "driver/compile.h"
#include "driver/session.h"
#include "test.h"

/* Weights, shape arithmetic, views, branches, a loop, a size that only the run tells. */
static const char fault_model[] =
    "tenon 1\n"
    "graph @main(%x: f32[N,4], %c: bool[]) -> (%z: ?, %w: ?, %l: ?) {\n"
    "  %k = const() {value = dense(f32[4,2]: 1, 2, 3, 4, 5, 6, 7, 8)} : f32[4,2]\n"
    "  %t = matmul(%x, %k) : ?\n"
    "  %s = shape(%t) : ?\n"
    "  %m = const() {value = dense(i64[1]: -1)} : i64[1]\n"
    "  %z = reshape(%t, %m) : ?\n"
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

enum { ROWS = 3 };

static tn_status fault_set(tn_session *s, const char *name, const tn_tensor *t) {
  tn_report *report = NULL;
  const tn_status status = tn_session_set_input(s, name, t, &report);
  CHECK((report != NULL) == (status != TN_OK));
  tn_report_release(report);
  return status;
}

static tn_status fault_run(tn_program *p, tn_allocator a) {
  float x[ROWS * 4];
  const uint8_t c = 1;
  const int64_t dims[2] = {ROWS, 4};
  tn_session *s;
  tn_error err = {0};
  const tn_session_options o = {.size = sizeof o, .threads = 1};
  for (int i = 0; i < ROWS * 4; i++) x[i] = (float)i;
  tn_status status = tn_session_new(a, p, &o, &s, &err);
  if (status != TN_OK) return status;
  const tn_tensor tx = {.dtype = TN_F32, .rank = 2, .dims = dims, .data = x};
  const tn_tensor tc = {.dtype = TN_BOOL, .data = &c};
  status = fault_set(s, "x", &tx);
  if (status == TN_OK) status = fault_set(s, "c", &tc);
  if (status == TN_OK) status = tn_session_run(s, NULL);
  const tn_tensor *z = status == TN_OK ? tn_session_output(s, 0) : NULL;
  if (status == TN_OK && !z) status = TN_OOM;
  if (z && CHECK_EQ_I(z->dims[0], ROWS * 2)) CHECK_EQ_F(((const float *)z->data)[0], 1 * 3 + 2 * 5 + 3 * 7);
  tn_session_release(s);
  return status;
}

static tn_status fault_once(tn_alloc_probe *probe) {
  const tn_allocator a = tn_allocator_probe(probe);
  const tn_compile_request q = {
      .allocator = a, .bytes = {(const uint8_t *)fault_model, sizeof fault_model - 1}, .max_edits = -1};
  tn_program *p = NULL;
  tn_report *report = NULL;
  tn_status status = tn_compile(&q, NULL, &p, &report);
  if (status != TN_OK) {
    CHECK(p == NULL);
    CHECK(tn_report_count(report) > 0);
    if (status != TN_OOM) printf("%s", tn_report_text(report));
  }
  tn_report_release(report);
  if (status == TN_OK) status = fault_run(p, a);
  tn_program_release(p);
  return status;
}

static void fault_loop(bool forever) {
  int64_t k = 1;
  for (; k < 100000; k++) {
    tn_alloc_probe probe = {.inner = tn_allocator_system(), .fail_at = k, .fail_forever = forever};
    const tn_status status = fault_once(&probe);
    if (!CHECK_EQ_I(probe.live_bytes, 0)) printf("  when allocation %lld fails\n", (long long)k);
    if (status == TN_OK) break;
    if (!CHECK_EQ_I(status, TN_OOM)) return;
  }
  CHECK(k > 20);
  CHECK(k < 100000);
}

TEST(one_allocation_fails) { fault_loop(false); }
TEST(all_allocations_from_one_on_fail) { fault_loop(true); }

/* A run at a known shape infers nothing and asks for no memory, neither from the session's allocator nor a compile. */
TEST(a_second_run_allocates_nothing) {
  tn_alloc_probe probe = {.inner = tn_allocator_system()};
  const tn_allocator a = tn_allocator_probe(&probe);
  const tn_compile_request q = {
      .allocator = a, .bytes = {(const uint8_t *)fault_model, sizeof fault_model - 1}, .max_edits = -1};
  tn_program *p = NULL;
  tn_session *s = NULL;
  tn_error err = {0};
  float x[ROWS * 4] = {1};
  uint8_t c = 1;
  const int64_t dims[2] = {ROWS, 4};
  const tn_session_options o = {.size = sizeof o, .threads = 1};
  if (!CHECK_EQ_I(tn_compile(&q, NULL, &p, NULL), TN_OK)) return;
  CHECK_EQ_I(tn_session_new(a, p, &o, &s, &err), TN_OK);
  CHECK_EQ_I(fault_set(s, "x", &(tn_tensor){.dtype = TN_F32, .rank = 2, .dims = dims, .data = x}), TN_OK);
  CHECK_EQ_I(fault_set(s, "c", &(tn_tensor){.dtype = TN_BOOL, .data = &c}), TN_OK);
  CHECK_EQ_I(tn_session_run(s, NULL), TN_OK);
  const int64_t calls = probe.calls, compiles = tn_compile_runs();
  for (int i = 0; i < 3; i++) CHECK_EQ_I(tn_session_run(s, NULL), TN_OK);
  CHECK_EQ_I(probe.calls, calls);
  CHECK_EQ_I(tn_compile_runs(), compiles);
  c = 0; /* the other branch needs its own buffer once */
  CHECK_EQ_I(tn_session_run(s, NULL), TN_OK);
  tn_session_release(s);
  tn_program_release(p);
  CHECK_EQ_I(probe.live_bytes, 0);
}
