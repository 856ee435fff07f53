/* tenon contract: which inputs are valid. */
#include "cli/options.h"

int tn_cmd_contract(int argc, char **argv) {
  tn_compile_flags flags = {0};
  bool is_json = false;
  const tn_option options[] = {
      {.name = "json", .flag = &is_json, .help = "print JSON: inputs, conditions, smallest"},
      TN_COMPILE_ROWS(flags),
  };
  static const char about[] =
      "Prints the conditions that the sizes of the inputs must meet, the nodes that need them, sizes that break\n"
      "each of them, and the smallest valid sizes.";
  const char *model;
  const int status = tn_options_parse_model("contract", about, options, TN_CLI_COUNT(options), argc, argv, &model);
  if (status != TN_OPTIONS_GO_ON) return status;
  const tn_compile_options o = tn_compile_flags_get(&flags);
  tn_blob text = {0};
  tn_report *report = NULL;
  const tn_status done = tn_tool_contract(model, &o, is_json, &text, &report);
  return tn_cli_finish(done, report, &text, NULL);
}
