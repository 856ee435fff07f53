/* tenon dump: the graph, the program or the memory plan as text. */
#include "cli/options.h"

int tn_cmd_dump(int argc, char **argv) {
  tn_compile_flags flags = {0};
  tn_tool_opt_options o = {.size = sizeof o, .stop_after_edits = -1};
  bool is_program = false, is_plan = false, has_locations = false, has_times = false;
  const char *out = NULL, *svg = NULL;
  tn_texts dims = {0};
  const tn_option options[] = {
      {.letter = 'o', .name = "output", .arg = "FILE", .text = &out, .help = "instead of standard output"},
      {.name = "program", .flag = &is_program, .help = "the program's listing instead of the graph"},
      {.name = "plan", .flag = &is_plan, .help = "the memory plan: buffers, lives, sizes, offsets, totals"},
      {.name = "plan-svg", .arg = "FILE", .text = &svg, .help = "draw the plan: time to the right, address upwards"},
      {.name = "dim", .arg = "B=8,S=128", .list = &dims, .help = "sizes for the plan"},
      {.name = "stop-after", .arg = "PASS", .text = &o.stop_after, .help = "the graph as it is after that pass"},
      {.name = "dump-dir", .arg = "DIR", .text = &o.dump_dir, .help = "write DIR/NN-pass.tn after every pass"},
      {.name = "locations", .flag = &has_locations, .help = "print each node's name in the model"},
      {.name = "time-passes", .flag = &has_times, .help = "print the time of every pass"},
      TN_COMPILE_ROWS(flags),
  };
  static const char about[] = "Compiles MODEL and prints its graph as text IR, its program, or its memory plan.";
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
  const tn_status done = is_plan || svg ? tn_tool_plan(model, &compile, tn_texts_join(&dims), svg, &text, &report)
                                        : tn_tool_opt(model, &o, &text, &report);
  return tn_cli_finish(done, report, &text, out);
}
