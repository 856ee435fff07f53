/* A user of tenon.h, valid as C11 and as C++17: compiles the model named by its argument and runs it at two shapes.
 * Prints the output's type and the sums of the outputs. */
#include <stdio.h>
#include <tenon/tenon.h>

static int fail(const char *what, tn_status status, tn_report *report) {
  fprintf(stderr, "%s: %s: %s", what, tn_status_name(status), tn_report_text(report));
  tn_report_release(report);
  return 1;
}

static int run_at(tn_session *session, int64_t n) {
  float x[8];
  const int64_t dims[2] = {n, 2};
  tn_tensor t = {TN_KIND_TENSOR, TN_F32, 2, dims, x, 0, NULL, 0};
  tn_report *report = NULL;
  double sum = 0;
  for (int i = 0; i < 8; i++) x[i] = (float)i;
  tn_status status = tn_session_set_input(session, "x", &t, &report);
  if (status != TN_OK) return fail("input", status, report);
  tn_report_release(report);
  status = tn_session_run(session, &report);
  if (status != TN_OK) return fail("run", status, report);
  tn_report_release(report);
  const tn_tensor *y = tn_session_output(session, 0);
  if (y == NULL || y->dtype != TN_F32 || y->rank != 2 || y->dims[0] != n) return 1;
  for (size_t i = 0; i < y->bytes / sizeof(float); i++) sum += ((const float *)y->data)[i];
  printf("%lld rows: %g\n", (long long)n, sum);
  return 0;
}

int main(int argc, char **argv) {
  tn_program *program = NULL;
  tn_session *session = NULL;
  tn_report *report = NULL;
  tn_value_info info;
  if (argc != 2) return 2;
  tn_status status = tn_compile_file(argv[1], NULL, &program, &report);
  if (status != TN_OK) return fail("compile", status, report);
  tn_report_release(report);
  if (tn_program_output(program, 0, &info) != TN_OK) return 1;
  printf("%s: %s\n", info.name, info.type_text);
  status = tn_session_create(program, NULL, &session, &report);
  if (status != TN_OK) return fail("session", status, report);
  tn_report_release(report);
  const int failed = run_at(session, 1) || run_at(session, 3);
  tn_session_release(session);
  tn_program_free(program);
  return failed;
}
