/* tenon info: what a file holds. */
#include "cli/options.h"

int tn_cmd_info(int argc, char **argv) {
  bool is_json = false;
  const tn_option options[] = {{.name = "json", .flag = &is_json, .help = "print JSON"}};
  const tn_usage usage = {
      .command = "info",
      .operands = "MODEL",
      .min_operands = 1,
      .max_operands = 1,
      .about = "Prints what MODEL holds: versions, inputs, outputs, operators, weights. Weights are not read.",
      .options = options,
      .n_options = TN_CLI_COUNT(options)};
  tn_texts operands;
  const int status = tn_options_parse(&usage, argc, argv, &operands);
  if (status != TN_OPTIONS_GO_ON) return status;
  tn_blob text = {0};
  tn_report *report = NULL;
  const tn_status done = tn_tool_info(operands.items[0], is_json, &text, &report);
  return tn_cli_finish(done, report, &text, NULL);
}
