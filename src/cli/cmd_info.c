/* tenon info: what a file holds. */
#include "cli/options.h"

int tn_cmd_info(int argc, char **argv) {
  bool is_json = false;
  const tn_option options[] = {{.name = "json", .flag = &is_json, .help = "print JSON"}};
  static const char about[] =
      "Prints what MODEL holds: versions, inputs and outputs as declared, operators, weights. Weights are not read.";
  const char *model;
  const int status = tn_options_parse_model("info", about, options, TN_CLI_COUNT(options), argc, argv, &model);
  if (status != TN_OPTIONS_GO_ON) return status;
  tn_blob text = {0};
  tn_report *report = NULL;
  const tn_status done = tn_tool_info(model, is_json, &text, &report);
  return tn_cli_finish(done, report, &text, NULL);
}
