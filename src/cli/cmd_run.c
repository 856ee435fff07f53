/* tenon run: compile, bind, run, show. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inputs.h"
#include "cli/outputs.h"
#include "cli/trace.h"

enum { RUN_MAX_ROWS = 20 };

typedef struct run_args {
  tn_compile_flags flags;
  tn_texts inputs, dims;
  const char *model, *output, *compare, *trace, *max_memory, *weights;
  int64_t seed, repeat, threads;
  bool is_profiled, is_json;
} run_args;

typedef struct run_state {
  const run_args *args;
  tn_program *program;
  tn_session *session;
  tn_oracle *oracle;
  tn_feeds feeds;
  int64_t first_ns, min_ns, median_ns, compile_ns;
  tn_divergence divergence;
  tn_trace trace;
} run_state;

static int run_set_weights(run_args *a) {
  const bool copies = strcmp(a->weights, "copy") == 0;
  if (!copies && strcmp(a->weights, "map") != 0) {
    tn_cli_error("--weights takes 'map' or 'copy', not '%s'", a->weights);
    return TN_EXIT_USAGE;
  }
  tn_texts *const knobs = &a->flags.knobs;
  knobs->items = tn_cli_grow(knobs->items, knobs->n, sizeof(char *));
  knobs->items[knobs->n++] = copies ? "copy_weights=true" : "copy_weights=false";
  return TN_EXIT_OK;
}

static int run_parse(int argc, char **argv, run_args *a) {
  const tn_option options[] = {
      {.letter = 'i',
       .name = "input",
       .arg = "NAME=WHAT",
       .list = &a->inputs,
       .help = "FILE.npy, FILE.pb, random[:2x3], zeros[:2x3], a number or [1, 2]"},
      {.letter = 'd', .name = "dim", .arg = "B=8,S=128", .list = &a->dims, .help = "sizes of symbols"},
      {.letter = 'o',
       .name = "output",
       .arg = "DIR",
       .text = &a->output,
       .help = "write DIR/NAME.npy for every output"},
      {.name = "seed", .arg = "N", .integer = &a->seed, .help = "of random inputs and random operators (0)"},
      {.name = "repeat", .arg = "N", .integer = &a->repeat, .least = 1, .help = "run N times and print times"},
      {.name = "threads", .arg = "N", .integer = &a->threads, .help = "0: as many as there are processors (0)"},
      {.name = "compare",
       .arg = "oracle",
       .text = &a->compare,
       .help = "check every step against its operator's definition in double precision"},
      {.name = "max-memory",
       .arg = "BYTES",
       .text = &a->max_memory,
       .help = "a run that needs more fails (8GiB, 512MiB)"},
      {.name = "weights",
       .arg = "HOW",
       .text = &a->weights,
       .help = "map (default): shared with the file and other processes; copy: in memory"},
      {.name = "trace", .arg = "FILE", .text = &a->trace, .help = "write every step in the Chrome trace format"},
      {.name = "profile", .flag = &a->is_profiled, .help = "table of the steps that take longest"},
      {.name = "json", .flag = &a->is_json, .help = "print JSON"},
      TN_COMPILE_ROWS(a->flags),
      TN_GEAR_ROWS(a->flags),
  };
  const tn_usage usage = {
      .command = "run",
      .operands = "MODEL",
      .min_operands = 1,
      .max_operands = 1,
      .about =
          "Compiles MODEL (.onnx, or a program .tnp), runs it and prints one line per output. Every input must be\n"
          "given. Random numbers depend on the seed and the input's name only: floats in [-1, 1), integers in\n"
          "[0, 10). Dims that are not given follow from --dim and from the other inputs, or are 1.",
      .options = options,
      .n_options = TN_CLI_COUNT(options)};
  tn_texts operands;
  const int status = tn_options_parse(&usage, argc, argv, &operands);
  if (status != TN_OPTIONS_GO_ON) return status;
  a->model = operands.items[0];
  if (a->threads > 1024 || (a->compare && strcmp(a->compare, "oracle") != 0)) {
    tn_cli_error(a->threads > 1024 ? "--threads is at most 1024" : "--compare takes 'oracle'");
    return TN_EXIT_USAGE;
  }
  if (a->weights && run_set_weights(a) != TN_EXIT_OK) return TN_EXIT_USAGE;
  if (a->max_memory && tn_cli_read_size(a->max_memory) < 0) {
    tn_cli_error("--max-memory: '%s' is no size", a->max_memory);
    return TN_EXIT_USAGE;
  }
  return TN_OPTIONS_GO_ON;
}

static int run_create(run_state *s) {
  const run_args *const a = s->args;
  const tn_compile_options o = tn_compile_flags_get(&a->flags);
  const tn_session_options so = {.size = sizeof so,
                                 .threads = (int)a->threads,
                                 .seed = (uint64_t)a->seed,
                                 .max_memory = a->max_memory ? tn_cli_read_size(a->max_memory) : 0};
  tn_report *report = NULL;
  const int64_t begin = tn_clock_ns();
  const tn_status compiled = tn_compile_file(a->model, &o, &s->program, &report);
  s->compile_ns = tn_clock_ns() - begin;
  int status = tn_cli_report(compiled, report);
  if (status == TN_EXIT_OK)
    status = tn_feeds_make(s->program, &(tn_feed_request){&a->inputs, &a->dims, (uint64_t)a->seed}, &s->feeds);
  if (status != TN_EXIT_OK) return status;
  report = NULL;
  const tn_status created = a->compare ? tn_oracle_create(a->model, &o, &so, &s->session, &s->oracle, &report)
                                       : tn_session_create(s->program, &so, &s->session, &report);
  if (created == TN_OK) { /* the oracle's warnings were printed when compiling */
    tn_report_release(report);
    return TN_EXIT_OK;
  }
  return tn_cli_report(created, report);
}

static int run_feed(run_state *s) {
  for (size_t i = 0; i < s->feeds.n_symbols; i++) {
    tn_report *report = NULL;
    if (!s->feeds.is_given[i]) continue;
    const tn_status set = tn_session_set_symbol(s->session, s->feeds.symbols[i], s->feeds.values[i], &report);
    const int status = tn_cli_report(set, report);
    if (status != TN_EXIT_OK) return status;
  }
  for (size_t i = 0; i < s->feeds.n; i++) {
    tn_report *report = NULL;
    const tn_feed *const feed = &s->feeds.items[i];
    const tn_status set = tn_session_set_input(s->session, feed->info.name, &feed->tensor, &report);
    const int status = tn_cli_report(set, report);
    if (status != TN_EXIT_OK) return status;
  }
  return TN_EXIT_OK;
}

static int run_order(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int run_times(run_state *s) {
  const size_t n = (size_t)s->args->repeat;
  int64_t *const times = tn_cli_alloc(n, sizeof *times);
  tn_report *report = NULL;
  tn_status status = s->args->is_profiled ? tn_session_profile(s->session, 1) : TN_OK;
  if (s->args->trace) tn_session_trace(s->session, tn_trace_step, &s->trace);
  for (size_t i = 0; i < n && status == TN_OK; i++) {
    tn_report_release(report);
    report = NULL;
    const int64_t begin = tn_clock_ns();
    status = tn_session_run(s->session, &report);
    times[i] = tn_clock_ns() - begin;
    if (s->args->trace) tn_trace_step(&s->trace, "run", NULL, begin, times[i]);
  }
  s->first_ns = times[0];
  qsort(times, n, sizeof *times, run_order);
  s->min_ns = times[0];
  s->median_ns = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
  if (s->oracle) tn_oracle_result(s->oracle, &s->divergence);
  return tn_cli_report(status, report);
}

/* Profile. */

static int run_order_rows(const void *a, const void *b) {
  const tn_profile_row *const x = *(const tn_profile_row *const *)a, *const y = *(const tn_profile_row *const *)b;
  if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
  return strcmp(x->label ? x->label : "", y->label ? y->label : "");
}

static const tn_profile_row **run_rows(const run_state *s, size_t *out_n, int64_t *out_total) {
  const tn_profile_row *rows = NULL;
  const size_t n = tn_session_profile_rows(s->session, &rows);
  const tn_profile_row **const order = tn_cli_alloc(n, sizeof *order);
  *out_n = 0;
  *out_total = 0;
  for (size_t i = 0; i < n; i++) {
    *out_total += rows[i].ns;
    if (rows[i].calls > 0) order[(*out_n)++] = &rows[i];
  }
  qsort(order, *out_n, sizeof *order, run_order_rows);
  return order;
}

static void run_print_profile(const run_state *s) {
  size_t n;
  int64_t total;
  const tn_profile_row **const rows = run_rows(s, &n, &total);
  tn_session_stats stats = {.size = sizeof stats};
  tn_session_get_stats(s->session, &stats);
  printf("\n%10s %7s %8s  %-24s %s\n", "ms", "%", "calls", "kernel", "node");
  for (size_t i = 0; i < n && i < RUN_MAX_ROWS; i++)
    printf("%10.3f %7.2f %8" PRId64 "  %-24s %s\n", (double)rows[i]->ns / 1e6,
           total ? 100 * (double)rows[i]->ns / (double)total : 0, rows[i]->calls,
           rows[i]->kernel ? rows[i]->kernel : "", rows[i]->label ? rows[i]->label : "");
  printf("%10.3f   in %zu steps; memory: planned %" PRId64 " bytes (largest sum of live buffers %" PRId64
         "), session %" PRId64 "\n",
         (double)total / 1e6, n, stats.arena_bytes, stats.live_bytes, stats.total_bytes);
}

static void run_json_profile(const run_state *s, tn_json *j) {
  size_t n;
  int64_t total;
  const tn_profile_row **const rows = run_rows(s, &n, &total);
  tn_json_open(j, "profile", '[', false);
  for (size_t i = 0; i < n; i++) {
    tn_json_open(j, NULL, '{', true);
    tn_json_text(j, "node", rows[i]->label);
    tn_json_text(j, "kernel", rows[i]->kernel);
    tn_json_int(j, "calls", rows[i]->calls);
    tn_json_int(j, "ns", rows[i]->ns);
    tn_json_close(j, '}');
  }
  tn_json_close(j, ']');
}

/* Results. */

static const char *run_output_name(const run_state *s, size_t i) {
  tn_value_info info;
  return tn_program_output(s->program, i, &info) == TN_OK ? info.name : "";
}

static void run_print(const run_state *s) {
  const size_t n = tn_program_output_count(s->program);
  size_t width = 0;
  for (size_t i = 0; i < n; i++) {
    const size_t len = strlen(run_output_name(s, i));
    if (len > width && len <= 60) width = len;
  }
  for (size_t i = 0; i < n; i++) {
    const tn_tensor *const t = tn_session_output(s->session, i);
    if (t) tn_output_print(run_output_name(s, i), width, t);
  }
  if (s->args->repeat > 1)
    printf("%" PRId64 " runs: median %.3f ms, min %.3f ms, first %.3f ms\n", s->args->repeat,
           (double)s->median_ns / 1e6, (double)s->min_ns / 1e6, (double)s->first_ns / 1e6);
  if (s->oracle)
    printf("oracle: %zu steps compared, %zu differ, largest error %.3g\n", s->divergence.steps, s->divergence.failed,
           s->divergence.max_abs_error);
  if (s->args->is_profiled) run_print_profile(s);
}

static void run_json_input(tn_json *j, const tn_feed *feed) {
  tn_json_open(j, NULL, '{', true);
  tn_json_text(j, "name", feed->info.name);
  tn_json_text(j, "type", feed->info.type_text);
  tn_json_text(j, "from", feed->text);
  if (feed->tensor.kind == TN_KIND_TENSOR) {
    tn_json_open(j, "shape", '[', true);
    for (int i = 0; i < feed->tensor.rank; i++) tn_json_int(j, NULL, feed->tensor.dims[i]);
    tn_json_close(j, ']');
  }
  tn_json_close(j, '}');
}

static void run_json_figures(const run_state *s, tn_json *j) {
  tn_session_stats stats = {.size = sizeof stats};
  tn_session_get_stats(s->session, &stats);
  tn_json_open(j, "memory", '{', true);
  tn_json_int(j, "planned_bytes", stats.arena_bytes);
  tn_json_int(j, "live_bytes", stats.live_bytes);
  tn_json_int(j, "session_bytes", stats.total_bytes);
  tn_json_close(j, '}');
  if (s->args->repeat > 1) {
    tn_json_open(j, "time_ns", '{', true);
    tn_json_int(j, "runs", s->args->repeat);
    tn_json_int(j, "compile", s->compile_ns);
    tn_json_int(j, "first", s->first_ns);
    tn_json_int(j, "median", s->median_ns);
    tn_json_int(j, "min", s->min_ns);
    tn_json_close(j, '}');
  }
  if (!s->oracle) return;
  tn_json_open(j, "oracle", '{', true);
  tn_json_int(j, "steps", (int64_t)s->divergence.steps);
  tn_json_int(j, "failed", (int64_t)s->divergence.failed);
  tn_json_real(j, "max_abs_error", s->divergence.max_abs_error);
  tn_json_text(j, "first", s->divergence.first);
  tn_json_close(j, '}');
}

static void run_print_json(const run_state *s) {
  tn_json j = {.out = stdout};
  tn_json_open(&j, NULL, '{', false);
  tn_json_text(&j, "model", s->args->model);
  tn_json_int(&j, "compiles", tn_compile_count());
  tn_json_open(&j, "symbols", '{', true);
  for (size_t i = 0; i < s->feeds.n_symbols; i++) tn_json_int(&j, s->feeds.symbols[i], s->feeds.values[i]);
  tn_json_close(&j, '}');
  tn_json_open(&j, "inputs", '[', false);
  for (size_t i = 0; i < s->feeds.n; i++) run_json_input(&j, &s->feeds.items[i]);
  tn_json_close(&j, ']');
  tn_json_open(&j, "outputs", '[', false);
  for (size_t i = 0; i < tn_program_output_count(s->program); i++) {
    const tn_tensor *const t = tn_session_output(s->session, i);
    if (t) tn_output_json(&j, run_output_name(s, i), t);
  }
  tn_json_close(&j, ']');
  run_json_figures(s, &j);
  if (s->args->is_profiled) run_json_profile(s, &j);
  tn_json_close(&j, '}');
}

static int run_save(const run_state *s) {
  tn_output_files files;
  int status = tn_output_open(&files, s->args->output);
  for (size_t i = 0; i < tn_program_output_count(s->program) && status == TN_EXIT_OK; i++) {
    const tn_tensor *const t = tn_session_output(s->session, i);
    if (t) status = tn_output_save(&files, run_output_name(s, i), t);
  }
  return status;
}

static int run_all(run_state *s) {
  int status = run_create(s);
  if (status == TN_EXIT_OK) status = run_feed(s);
  if (status == TN_EXIT_OK) status = run_times(s);
  if (status != TN_EXIT_OK) return status;
  if (s->args->is_json)
    run_print_json(s);
  else
    run_print(s);
  if (s->args->output) status = run_save(s);
  if (status == TN_EXIT_OK && s->args->trace) status = tn_trace_write(&s->trace, s->args->trace);
  if (status == TN_EXIT_OK && s->oracle && s->divergence.failed > 0) {
    tn_cli_error("%s", s->divergence.first ? s->divergence.first : "a step differs from the oracle");
    status = TN_EXIT_FAILED;
  }
  return status;
}

int tn_cmd_run(int argc, char **argv) {
  run_args args = {.repeat = 1};
  int status = run_parse(argc, argv, &args);
  if (status != TN_OPTIONS_GO_ON) return status;
  run_state state = {.args = &args};
  status = run_all(&state);
  if (state.oracle) tn_oracle_release(state.oracle);
  if (state.session) tn_session_release(state.session);
  tn_feeds_drop(&state.feeds);
  if (state.program) tn_program_free(state.program);
  return status;
}
