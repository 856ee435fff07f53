/* tenon dump: the graph or the program as text. */
#include "cli/options.h"

int tn_cmd_dump(int argc, char **argv) {
  tn_compile_flags flags = {0};
  tn_tool_opt_options o = {.size = sizeof o, .stop_after_edits = -1};
  bool is_program = false, has_locations = false, has_times = false;
  const char *out = NULL;
  const tn_option options[] = {
      {.letter = 'o', .name = "output", .arg = "FILE", .text = &out, .help = "instead of standard output"},
      {.name = "program", .flag = &is_program, .help = "the program's listing instead of the graph"},
      {.name = "stop-after", .arg = "PASS", .text = &o.stop_after, .help = "the graph as it is after that pass"},
      {.name = "dump-dir", .arg = "DIR", .text = &o.dump_dir, .help = "write DIR/NN-pass.tn after every pass"},
      {.name = "locations", .flag = &has_locations, .help = "print each node's name in the model"},
      {.name = "time-passes", .flag = &has_times, .help = "print the time of every pass"},
      TN_COMPILE_ROWS(flags),
  };
  static const char about[] = "Compiles MODEL and prints its graph as text IR, or its program.";
  const char *model;
  const int status = tn_options_parse_model("dump", about, options, TN_CLI_COUNT(options), argc, argv, &model);
  if (status != TN_OPTIONS_GO_ON) return status;
  const tn_compile_options compile = tn_compile_flags_get(&flags);
  o.compile = &compile;
  o.program = is_program;
  o.locations = has_locations;
  o.time_passes = has_times;
  tn_blob text = {0};
  tn_report *report = NULL;
  const tn_status done = tn_tool_opt(model, &o, &text, &report);
  return tn_cli_finish(done, report, &text, out);
}
