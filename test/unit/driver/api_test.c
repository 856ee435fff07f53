/* The public API from text to numbers. */
#include <stdlib.h>

#include "tenon/tenon.h"
#include "tenon/tenon_unstable.h"
#include "test.h"

static const char api_matmul[] =
    "tenon 1\n"
    "graph @main(%x: f32[N,2]) -> (%y: ?) {\n"
    "  %w = const() {value = dense(f32[2,2]: 1, 2, 3, 4)} : f32[2,2]\n"
    "  %m = matmul(%x, %w) : ?\n"
    "  %y = relu(%m) : ?\n"
    "}\n";

static tn_program *api_compile(const char *text, const tn_compile_options *o) {
  tn_program *p = NULL;
  tn_report *r = NULL;
  if (!CHECK_EQ_I(tn_compile_memory(text, strlen(text), o, &p, &r), TN_OK)) printf("%s", tn_report_text(r));
  tn_report_release(r);
  return p;
}

/* Compiling must fail with this status and these words. */
static void api_refused(const char *text, const tn_compile_options *o, tn_status want, const char *words) {
  tn_program *p = NULL;
  tn_report *r = NULL;
  CHECK_EQ_I(tn_compile_memory(text, strlen(text), o, &p, &r), want);
  CHECK(p == NULL);
  CHECK_HAS(tn_report_text(r), words);
  tn_report_release(r);
}

static tn_session *api_session(tn_program *p) {
  tn_session *s = NULL;
  tn_report *r = NULL;
  const tn_session_options o = {.size = sizeof o, .threads = 1};
  if (!CHECK_EQ_I(tn_session_create(p, &o, &s, &r), TN_OK)) printf("%s", tn_report_text(r));
  tn_report_release(r);
  return s;
}

static void api_set(tn_session *s, const char *name, int rank, const int64_t *dims, const float *data) {
  const tn_tensor t = {.dtype = TN_F32, .rank = rank, .dims = dims, .data = data};
  CHECK_EQ_I(tn_session_set_input(s, name, &t, NULL), TN_OK);
}

TEST(version_and_names) {
  CHECK_STR(tn_version(), "0.1.0");
  CHECK_STR(tn_status_name(TN_MISMATCH), "MISMATCH");
  CHECK_STR(tn_dtype_text(TN_BF16), "bf16");
  CHECK_STR(tn_report_text(NULL), "");
  CHECK_EQ_I(tn_report_count(NULL), 0);
}

TEST(one_program_serves_all_shapes) {
  const int64_t before = tn_compile_count();
  tn_program *p = api_compile(api_matmul, NULL);
  if (!CHECK(p != NULL)) return;
  tn_session *s = api_session(p);
  const float x[6] = {1, 1, -1, 0, 2, -1};
  for (int64_t n = 0; n <= 3; n++) {
    api_set(s, "x", 2, (const int64_t[]){n, 2}, x);
    CHECK_EQ_I(tn_session_run(s, NULL), TN_OK);
    const tn_tensor *y = tn_session_output(s, 0);
    if (!CHECK(y != NULL)) continue;
    CHECK_EQ_I(y->rank, 2);
    CHECK_EQ_I(y->dims[0], n);
    CHECK_EQ_I(y->bytes, (size_t)n * 2 * sizeof(float));
    if (n < 3) continue;
    const float want[6] = {4, 6, 0, 0, 0, 0}; /* rows [4 6], [-1 -2], [-1 0] through relu */
    for (int i = 0; i < 6; i++) CHECK_EQ_F(((const float *)y->data)[i] + 0.0F, want[i]);
  }
  CHECK_EQ_I(tn_compile_count() - before, 1);
  tn_session_release(s);
  tn_program_free(p);
}

TEST(the_program_describes_itself) {
  tn_program *p = api_compile(
      "tenon 1\n"
      "graph @main(%x: f32[N,3,H], %k: i64[]) -> (%y: ?) {\n"
      "  %s = shape(%x) : ?\n"
      "  %y = add(%s, %k) : ?\n"
      "}\n",
      NULL);
  if (!CHECK(p != NULL)) return;
  tn_value_info v;
  CHECK_EQ_I(tn_program_input_count(p), 2);
  CHECK_EQ_I(tn_program_output_count(p), 1);
  CHECK_EQ_I(tn_program_input(p, 0, &v), TN_OK);
  CHECK_STR(v.name, "x");
  CHECK_STR(v.type_text, "f32[N,3,H]");
  CHECK_EQ_I(v.dtype, TN_F32);
  CHECK_EQ_I(v.rank, 3);
  CHECK_STR(tn_program_input_dim(p, 0, 0), "N");
  CHECK_STR(tn_program_input_dim(p, 0, 1), "3");
  CHECK_STR(tn_program_input_dim(p, 0, 2), "H");
  CHECK(tn_program_input_dim(p, 0, 3) == NULL);
  CHECK(tn_program_input_dim(p, 1, 0) == NULL);
  CHECK(tn_program_input_dim(p, 2, 0) == NULL);
  CHECK_EQ_I(tn_program_input(p, 2, &v), TN_INVALID);
  CHECK_EQ_I(tn_program_output(p, 0, &v), TN_OK);
  CHECK_STR(v.name, "y");
  CHECK_STR(v.type_text, "i64[3]");
  tn_program_add_ref(p);
  tn_program_free(p);
  CHECK_EQ_I(tn_program_input_count(p), 2);
  tn_program_free(p);
}

TEST(bad_models_are_refused) {
  tn_program *p = NULL;
  tn_report *r = NULL;
  CHECK_EQ_I(tn_compile_file("no-such-file.onnx", NULL, &p, &r), TN_IO);
  CHECK_HAS(tn_report_text(r), "no-such-file.onnx");
  tn_report_release(r);
  CHECK_EQ_I(tn_compile_file(TN_TEST_DIR, NULL, &p, &r), TN_IO);
  tn_report_release(r);
  api_refused("this is no model", NULL, TN_INVALID, "");
  api_refused("tenon 1\ngraph @main(%x: f32[N]) -> (%y: ?) {\n  %y = nothing(%x) : ?\n}\n", NULL, TN_INVALID,
              "nothing");
  api_refused(
      "tenon 1\ngraph @main(%x: f32[3], %y: f32[4]) -> (%z: ?) {\n  %z = add(%x, %y) : ? at \"sum\" \"Add\"\n}\n", NULL,
      TN_MISMATCH, "node 'sum' (Add)");
}

TEST(bad_options_are_refused) {
  const char *const unknown[] = {"no_such_knob=1"}, *const no_value[] = {"verify"},
                    *const bad_value[] = {"verify=maybe"};
  const char *const never[] = {"N <= 3", "N >= 5"}, *const no_text[] = {"N +"};
  api_refused(api_matmul, &(tn_compile_options){.size = 1}, TN_INVALID, "size");
  api_refused(api_matmul, &(tn_compile_options){sizeof(tn_compile_options), unknown, 1, NULL, 0}, TN_INVALID,
              "no_such_knob");
  api_refused(api_matmul, &(tn_compile_options){sizeof(tn_compile_options), no_value, 1, NULL, 0}, TN_INVALID,
              "verify");
  api_refused(api_matmul, &(tn_compile_options){sizeof(tn_compile_options), bad_value, 1, NULL, 0}, TN_INVALID,
              "maybe");
  api_refused(api_matmul, &(tn_compile_options){sizeof(tn_compile_options), NULL, 0, never, 2}, TN_INVALID, "");
  api_refused(api_matmul, &(tn_compile_options){sizeof(tn_compile_options), NULL, 0, no_text, 1}, TN_INVALID, "N +");
}

TEST(assumptions_are_checked_when_run) {
  const char *const assume[] = {"N % 2 == 0, 2 <= N <= 4"};
  tn_program *p = api_compile(api_matmul, &(tn_compile_options){sizeof(tn_compile_options), NULL, 0, assume, 1});
  if (!CHECK(p != NULL)) return;
  tn_session *s = api_session(p);
  const float x[12] = {0};
  static const struct {
    int64_t n;
    tn_status status;
  } rows[] = {{1, TN_MISMATCH}, {2, TN_OK}, {3, TN_MISMATCH}, {4, TN_OK}, {6, TN_MISMATCH}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    tn_report *r = NULL;
    api_set(s, "x", 2, (const int64_t[]){rows[i].n, 2}, x);
    CHECK_EQ_I(tn_session_run(s, &r), rows[i].status);
    if (rows[i].status != TN_OK) CHECK_HAS(tn_report_text(r), "N");
    tn_report_release(r);
  }
  tn_session_release(s);
  tn_program_free(p);
}

TEST(bad_inputs_are_refused) {
  tn_program *p = api_compile(api_matmul, NULL);
  if (!CHECK(p != NULL)) return;
  tn_session *s = api_session(p);
  const float x[6] = {0};
  const int64_t dims[3] = {3, 2, 1}, wrong[2] = {2, 3}, negative[2] = {-1, 2};
  const struct {
    const char *name;
    tn_tensor t;
    tn_status status;
    const char *words;
  } rows[] = {
      {"nothing", {.dtype = TN_F32, .rank = 2, .dims = dims, .data = x}, TN_INVALID, "'nothing'"},
      {"x", {.dtype = TN_F64, .rank = 2, .dims = dims, .data = x}, TN_MISMATCH, "f64"},
      {"x", {.dtype = TN_F32, .rank = 3, .dims = dims, .data = x}, TN_MISMATCH, "rank"},
      {"x", {.dtype = TN_F32, .rank = 2, .dims = wrong, .data = x}, TN_MISMATCH, "3"},
      {"x", {.dtype = TN_F32, .rank = 2, .dims = negative, .data = x}, TN_INVALID, "-1"},
      {"x", {.dtype = TN_F32, .rank = 2, .dims = dims, .data = NULL}, TN_INVALID, "no data"},
      {"x", {.dtype = TN_F32, .rank = 2, .dims = dims, .data = x, .bytes = 8}, TN_MISMATCH, "8 bytes"},
      {"x", {.dtype = (tn_dtype)99, .rank = 2, .dims = dims, .data = x}, TN_INVALID, "99"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    tn_report *r = NULL;
    CHECK_EQ_I(tn_session_set_input(s, rows[i].name, &rows[i].t, &r), rows[i].status);
    CHECK_HAS(tn_report_text(r), rows[i].words);
    tn_report_release(r);
  }
  tn_report *r = NULL;
  CHECK(tn_session_run(s, &r) != TN_OK); /* the input is still missing */
  CHECK_HAS(tn_report_text(r), "'x'");
  tn_report_release(r);
  CHECK(tn_session_output(s, 0) == NULL);
  tn_session_release(s);
  tn_program_free(p);
}

TEST(a_symbol_that_inputs_do_not_tell_is_given) {
  tn_program *p = api_compile("tenon 1\ngraph @main(%x: f32[A*B]) -> (%y: ?) {\n  %y = neg(%x) : ?\n}\n", NULL);
  if (!CHECK(p != NULL)) return;
  tn_session *s = api_session(p);
  const float x[6] = {0};
  api_set(s, "x", 1, (const int64_t[]){6}, x);
  CHECK(tn_session_run(s, NULL) != TN_OK);
  CHECK_EQ_I(tn_session_set_symbol(s, "A", 2, NULL), TN_OK);
  CHECK_EQ_I(tn_session_set_symbol(s, "B", 3, NULL), TN_OK);
  CHECK(tn_session_set_symbol(s, "C", 3, NULL) != TN_OK);
  CHECK_EQ_I(tn_session_run(s, NULL), TN_OK);
  CHECK_EQ_I(tn_session_set_symbol(s, "B", 4, NULL), TN_OK); /* 2 * 4 is not 6 */
  CHECK(tn_session_run(s, NULL) != TN_OK);
  tn_session_release(s);
  tn_program_free(p);
}

TEST(a_saved_program_gives_the_same) {
  tn_program *p = api_compile(api_matmul, NULL), *q = NULL;
  char path[] = "/tmp/tenon-api-XXXXXX";
  const int fd = mkstemp(path);
  if (!CHECK(p != NULL) || !CHECK(fd >= 0)) return;
  CHECK_EQ_I(tn_program_save(p, path, NULL), TN_OK);
  CHECK_EQ_I(tn_program_load_file(path, &q, NULL), TN_OK);
  tn_program_free(p);
  remove(path);
  if (!CHECK(q != NULL)) return;
  tn_session *s = api_session(q);
  CHECK_STR(tn_program_input_dim(q, 0, 0), "N");
  api_set(s, "x", 2, (const int64_t[]){1, 2}, (const float[]){1, 1});
  CHECK_EQ_I(tn_session_run(s, NULL), TN_OK);
  const tn_tensor *y = tn_session_output(s, 0);
  if (CHECK(y != NULL)) CHECK_EQ_F(((const float *)y->data)[1], 6);
  tn_session_release(s);
  tn_program_free(q);
}

TEST(profile_counts_steps) {
  tn_program *p = api_compile(api_matmul, NULL);
  if (!CHECK(p != NULL)) return;
  tn_session *s = api_session(p);
  const tn_profile_row *rows = NULL;
  CHECK_EQ_I(tn_session_profile_rows(s, &rows), 0);
  CHECK_EQ_I(tn_session_profile(s, 1), TN_OK);
  api_set(s, "x", 2, (const int64_t[]){1, 2}, (const float[]){1, 1});
  CHECK_EQ_I(tn_session_run(s, NULL), TN_OK);
  CHECK_EQ_I(tn_session_run(s, NULL), TN_OK);
  CHECK_EQ_I(tn_session_profile_rows(s, &rows), 2);
  CHECK_STR(rows[0].kernel, "matmul");
  CHECK_EQ_I(rows[0].calls, 2);
  CHECK_EQ_I(tn_session_profile(s, 0), TN_OK);
  tn_session_stats stats = {.size = sizeof stats};
  tn_session_get_stats(s, &stats);
  CHECK_EQ_I(stats.binds, 1);
  CHECK_EQ_I(stats.runs, 2);
  tn_session_release(s);
  tn_program_free(p);
}

TEST(the_oracle_agrees) {
  char path[] = "/tmp/tenon-oracle-XXXXXX";
  const int fd = mkstemp(path);
  if (!CHECK(fd >= 0)) return;
  FILE *f = fopen(path, "w");
  if (!CHECK(f != NULL)) return;
  fputs(api_matmul, f);
  fclose(f);
  tn_session *s = NULL;
  tn_oracle *o = NULL;
  CHECK_EQ_I(tn_oracle_create(path, NULL, NULL, &s, &o, NULL), TN_OK);
  remove(path);
  if (!CHECK(o != NULL)) return;
  api_set(s, "x", 2, (const int64_t[]){2, 2}, (const float[]){1, 1, 0.25F, -3});
  CHECK_EQ_I(tn_session_run(s, NULL), TN_OK);
  tn_divergence d;
  tn_oracle_result(o, &d);
  CHECK_EQ_I(d.steps, 2);
  CHECK_EQ_I(d.failed, 0);
  CHECK(d.first == NULL);
  tn_oracle_release(o);
  tn_session_release(s);
}
