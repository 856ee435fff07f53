/* tenon why: how a shape was derived. */
#include "cli/options.h"

int tn_cmd_why(int argc, char **argv) {
  tn_compile_flags flags = {0};
  const tn_option options[] = {TN_COMPILE_ROWS(flags)};
  const tn_usage usage = {.command = "why",
                          .operands = "MODEL VALUE",
                          .min_operands = 2,
                          .max_operands = 2,
                          .about =
                              "Prints the chain of nodes and operands that gave VALUE its type, back to the inputs,\n"
                              "and where the numbers behind its symbols come from.",
                          .options = options,
                          .n_options = TN_CLI_COUNT(options)};
  tn_texts operands;
  const int status = tn_options_parse(&usage, argc, argv, &operands);
  if (status != TN_OPTIONS_GO_ON) return status;
  const tn_compile_options o = tn_compile_flags_get(&flags);
  tn_blob text = {0};
  tn_report *report = NULL;
  const tn_status done = tn_tool_why(operands.items[0], &o, operands.items[1], &text, &report);
  return tn_cli_finish(done, report, &text, NULL);
}
