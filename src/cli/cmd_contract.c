/* tenon contract: which inputs are valid. */
#include "cli/options.h"

int tn_cmd_contract(int argc, char **argv) {
  tn_compile_flags flags = {0};
  bool is_json = false;
  const tn_option options[] = {
      {.name = "json", .flag = &is_json, .help = "print JSON: inputs, conditions, smallest"},
      TN_COMPILE_ROWS(flags),
  };
  const tn_usage usage = {
      .command = "contract",
      .operands = "MODEL",
      .min_operands = 1,
      .max_operands = 1,
      .about =
          "Prints the conditions that the sizes of the inputs must meet, the nodes that need them, sizes that break\n"
          "each of them, and the smallest valid sizes.",
      .options = options,
      .n_options = TN_CLI_COUNT(options)};
  tn_texts operands;
  const int status = tn_options_parse(&usage, argc, argv, &operands);
  if (status != TN_OPTIONS_GO_ON) return status;
  const tn_compile_options o = tn_compile_flags_get(&flags);
  tn_blob text = {0};
  tn_report *report = NULL;
  const tn_status done = tn_tool_contract(operands.items[0], &o, is_json, &text, &report);
  return tn_cli_finish(done, report, &text, NULL);
}
