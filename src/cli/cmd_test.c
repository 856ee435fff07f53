/* tenon test: folders of ONNX backend tests. */
#include <string.h>
#include <unistd.h>

#include "cli/expect.h"
#include "cli/jobs.h"
#include "cli/json.h"

typedef struct test_args {
  tn_compile_flags flags;
  tn_case_options cases;
  const char *expect, *write_expect;
  int64_t jobs, threads;
  double timeout_s;
  bool is_json, is_quiet;
} test_args;

typedef struct test_state {
  const test_args *args;
  tn_cases cases;
  tn_expect expected;
  size_t counts[TN_N_VERDICTS], n_done, n_unexpected;
  bool has_progress;
} test_state;

static int test_parse(int argc, char **argv, test_args *a, tn_texts *folders) {
  const tn_option options[] = {
      {.name = "rtol", .arg = "X", .real = &a->cases.tolerance.rtol, .help = "relative tolerance of floats (1e-3)"},
      {.name = "atol", .arg = "X", .real = &a->cases.tolerance.atol, .help = "absolute tolerance of floats (1e-7)"},
      {.letter = 'j',
       .name = "jobs",
       .arg = "N",
       .integer = &a->jobs,
       .help = "processes at once (one per processor); 0: all cases in this one"},
      {.name = "threads", .arg = "N", .integer = &a->threads, .help = "threads of a case (1)"},
      {.name = "timeout", .arg = "SECONDS", .real = &a->timeout_s, .help = "a case that takes longer fails (60)"},
      {.name = "expect",
       .arg = "FILE",
       .text = &a->expect,
       .help = "rows NAME pass|fail|unsupported; fails when a case differs, also when it passes unexpectedly"},
      {.name = "write-expect", .arg = "FILE", .text = &a->write_expect, .help = "write such rows"},
      {.name = "through-program",
       .flag = &a->cases.is_through_program,
       .help = "save each program in one process, load and run it in another"},
      {.letter = 'q', .name = "quiet", .flag = &a->is_quiet, .help = "print failures and the last line only"},
      {.name = "json", .flag = &a->is_json, .help = "print JSON"},
      TN_COMPILE_ROWS(a->flags),
  };
  const tn_usage usage = {
      .command = "test",
      .operands = "DIR...",
      .min_operands = 1,
      .max_operands = SIZE_MAX,
      .about =
          "Runs every case in the folders: model.onnx with test_data_set_N/input_K.pb and output_K.pb. Types and\n"
          "shapes must be equal, floats close (NaN equals NaN), all else exact. Each case runs in a process of its\n"
          "own; a crash is a failure. Exit status 1 when a case fails or differs from what --expect says.",
      .options = options,
      .n_options = TN_CLI_COUNT(options)};
  return tn_options_parse(&usage, argc, argv, folders);
}

/* NULL when the verdict is the expected one or nothing is expected. */
static const char *test_unexpected(const test_state *s, const tn_case *c) {
  if (!s->args->expect) return NULL;
  const tn_expect_row *const row = tn_expect_find(&s->expected, c);
  if (!row) return "no row";
  return row->verdict == c->verdict ? NULL : tn_verdict_text(row->verdict);
}

static void test_done(void *arg, size_t i) {
  static const char *const words[TN_N_VERDICTS] = {"PASS", "FAIL", "UNSUPPORTED"};
  test_state *const s = arg;
  const tn_case *const c = &s->cases.items[i];
  const char *const expected = test_unexpected(s, c);
  s->counts[c->verdict]++;
  s->n_done++;
  s->n_unexpected += expected != NULL;
  if (s->has_progress) fprintf(stderr, "\r%zu of %zu\033[K", s->n_done, s->cases.n);
  if (s->args->is_json) return;
  const bool is_shown = !s->args->is_quiet || expected || (c->verdict == TN_VERDICT_FAIL && !s->args->expect);
  if (is_shown && s->has_progress) fputs("\r\033[K", stderr);
  if (is_shown) printf("%s %s%s%s\n", words[c->verdict], c->name, c->why ? ": " : "", c->why ? c->why : "");
  if (expected) printf("UNEXPECTED %s: %s expected\n", c->name, expected);
}

static void test_print_json(const test_state *s) {
  tn_json j = {.out = stdout};
  tn_json_open(&j, NULL, '{', false);
  tn_json_open(&j, "cases", '[', false);
  for (size_t i = 0; i < s->cases.n; i++) {
    const tn_case *const c = &s->cases.items[i];
    tn_json_open(&j, NULL, '{', true);
    tn_json_text(&j, "name", c->name);
    tn_json_text(&j, "result", tn_verdict_text(c->verdict));
    if (c->why) tn_json_text(&j, "why", c->why);
    if (s->args->expect) tn_json_bool(&j, "expected", !test_unexpected(s, c));
    tn_json_close(&j, '}');
  }
  tn_json_close(&j, ']');
  tn_json_int(&j, "passed", (int64_t)s->counts[TN_VERDICT_PASS]);
  tn_json_int(&j, "failed", (int64_t)s->counts[TN_VERDICT_FAIL]);
  tn_json_int(&j, "unsupported", (int64_t)s->counts[TN_VERDICT_UNSUPPORTED]);
  if (s->args->expect) tn_json_int(&j, "unexpected", (int64_t)s->n_unexpected);
  tn_json_close(&j, '}');
}

static int test_run(test_state *s, const tn_texts *folders) {
  const test_args *const a = s->args;
  int status = a->expect ? tn_expect_read(a->expect, &s->expected) : TN_EXIT_OK;
  for (size_t i = 0; i < folders->n && status == TN_EXIT_OK; i++) status = tn_cases_find(&s->cases, folders->items[i]);
  if (status != TN_EXIT_OK) return status;
  s->has_progress = isatty(STDERR_FILENO) && (!isatty(STDOUT_FILENO) || a->is_quiet);
  const tn_jobs_options jobs = {
      .cases = &a->cases, .jobs = a->jobs, .timeout_s = a->timeout_s, .done = test_done, .arg = s};
  tn_jobs_run(&s->cases, &jobs);
  if (s->has_progress) fputs("\r\033[K", stderr);
  if (a->write_expect) status = tn_expect_write(a->write_expect, &s->cases);
  if (a->is_json) {
    test_print_json(s);
  } else {
    if (a->expect) printf("%zu unexpected\n", s->n_unexpected);
    printf("%zu passed, %zu failed, %zu unsupported\n", s->counts[TN_VERDICT_PASS], s->counts[TN_VERDICT_FAIL],
           s->counts[TN_VERDICT_UNSUPPORTED]);
  }
  if (status != TN_EXIT_OK) return status;
  return (a->expect ? s->n_unexpected : s->counts[TN_VERDICT_FAIL]) ? TN_EXIT_FAILED : TN_EXIT_OK;
}

int tn_cmd_test(int argc, char **argv) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  test_args args = {.cases = {.tolerance = {.rtol = 1e-3, .atol = 1e-7}},
                    .jobs = processors > 1 ? processors : 1,
                    .threads = 1,
                    .timeout_s = 60};
  tn_texts folders;
  const int status = test_parse(argc, argv, &args, &folders);
  if (status != TN_OPTIONS_GO_ON) return status;
  if (args.threads > 1024 || args.timeout_s > 1e6) {
    tn_cli_error("--threads is at most 1024, --timeout at most 1e6");
    return TN_EXIT_USAGE;
  }
  args.cases.compile = tn_compile_flags_get(&args.flags);
  args.cases.threads = (int)args.threads;
  test_state state = {.args = &args};
  return test_run(&state, &folders);
}
