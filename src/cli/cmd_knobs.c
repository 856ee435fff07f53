/* tenon knobs: settings. */
#include "cli/options.h"

int tn_cmd_knobs(int argc, char **argv) {
  bool is_json = false;
  const tn_option options[] = {{.name = "json", .flag = &is_json, .help = "print JSON"}};
  const tn_usage usage = {
      .command = "knobs",
      .operands = "",
      .about =
          "Lists the knobs: name, value, where it comes from, default, meaning. TENON_<NAME> in the environment or\n"
          "--knob NAME=VALUE sets one.",
      .options = options,
      .n_options = TN_CLI_COUNT(options)};
  tn_texts operands;
  const int status = tn_options_parse(&usage, argc, argv, &operands);
  if (status != TN_OPTIONS_GO_ON) return status;
  tn_blob text = {0};
  tn_report *report = NULL;
  const tn_status done = tn_tool_knobs(is_json, &text, &report);
  return tn_cli_finish(done, report, &text, NULL);
}
