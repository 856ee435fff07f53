/* tenon ops: the operator reference. */
#include "cli/options.h"

int tn_cmd_ops(int argc, char **argv) {
  bool is_json = false, is_markdown = false;
  const tn_option options[] = {
      {.name = "json", .flag = &is_json, .help = "print JSON"},
      {.name = "markdown", .flag = &is_markdown, .help = "print a Markdown table"},
  };
  const tn_usage usage = {.command = "ops",
                          .operands = "",
                          .about = "Lists the operators that Tenon knows.",
                          .options = options,
                          .n_options = TN_CLI_COUNT(options)};
  tn_texts operands;
  const int status = tn_options_parse(&usage, argc, argv, &operands);
  if (status != TN_OPTIONS_GO_ON) return status;
  tn_blob text = {0};
  const tn_status done = tn_tool_ops(is_json, is_markdown, &text);
  return done == TN_OK ? tn_cli_deliver(&text, NULL) : tn_cli_report(done, NULL);
}
