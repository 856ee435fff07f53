/* tenon opt: chosen passes over a model or text IR. */
#include "cli/options.h"

typedef struct opt_args {
  tn_compile_flags flags;
  tn_tool_opt_options o;
  const char *out;
  int64_t edits;
  bool has_locations, has_times, is_listing;
} opt_args;

static int opt_parse(int argc, char **argv, opt_args *a, tn_texts *operands) {
  const tn_option options[] = {
      {.letter = 'p', .name = "pass", .arg = "A,B", .text = &a->o.passes, .help = "passes to run (all)"},
      {.name = "stop-after", .arg = "PASS", .text = &a->o.stop_after, .help = "end after that pass"},
      {.name = "stop-after-edits", .arg = "N", .integer = &a->edits, .help = "end after N changes of the graph"},
      {.letter = 'o', .name = "output", .arg = "FILE", .text = &a->out, .help = "instead of standard output"},
      {.name = "dump-dir", .arg = "DIR", .text = &a->o.dump_dir, .help = "write DIR/NN-pass.tn after every pass"},
      {.name = "locations", .flag = &a->has_locations, .help = "print each node's name in the model"},
      {.name = "time-passes", .flag = &a->has_times, .help = "print the time of every pass"},
      {.name = "list-passes", .flag = &a->is_listing, .help = "print the passes in order; FILE is not needed"},
      TN_COMPILE_ROWS(a->flags),
  };
  const tn_usage usage = {.command = "opt",
                          .operands = "FILE",
                          .max_operands = 1,
                          .about = "Runs passes over FILE (.onnx or text IR) and prints the graph as text IR.",
                          .options = options,
                          .n_options = TN_CLI_COUNT(options)};
  return tn_options_parse(&usage, argc, argv, operands);
}

int tn_cmd_opt(int argc, char **argv) {
  opt_args a = {.o = {.size = sizeof a.o}, .edits = -1};
  tn_texts operands;
  const int status = opt_parse(argc, argv, &a, &operands);
  if (status != TN_OPTIONS_GO_ON) return status;
  if (operands.n == 0 && !a.is_listing) {
    tn_cli_error("FILE expected (tenon opt --help)");
    return TN_EXIT_USAGE;
  }
  const tn_compile_options compile = tn_compile_flags_get(&a.flags);
  a.o.compile = &compile;
  a.o.stop_after_edits = a.edits;
  a.o.locations = a.has_locations;
  a.o.time_passes = a.has_times;
  a.o.list_passes = a.is_listing;
  tn_blob text = {0};
  tn_report *report = NULL;
  const tn_status done = tn_tool_opt(operands.n ? operands.items[0] : NULL, &a.o, &text, &report);
  return tn_cli_finish(done, report, &text, a.out);
}
