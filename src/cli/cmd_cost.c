/* tenon cost: operations and bytes. */
#include "cli/options.h"

int tn_cmd_cost(int argc, char **argv) {
  tn_compile_flags flags = {0};
  tn_texts dims = {0};
  const char *vary = NULL, *memory = NULL;
  bool is_json = false, is_long = false;
  const tn_option options[] = {
      {.name = "dim", .arg = "B=8,S=128", .list = &dims, .help = "evaluate for these sizes"},
      {.name = "max-memory",
       .arg = "BYTES",
       .text = &memory,
       .help = "with --vary: room for live bytes and parameters (8GiB, 512MiB)"},
      {.name = "vary", .arg = "NAME", .text = &vary, .help = "the symbol to solve for"},
      {.name = "long", .flag = &is_long, .help = "print formulas of any length (JSON has them always)"},
      {.name = "json", .flag = &is_json, .help = "print JSON: nodes and sums"},
      TN_COMPILE_ROWS(flags),
  };
  static const char about[] =
      "Prints parameters, floating point operations, bytes moved and the largest sum of live bytes as formulas.\n"
      "A multiply and an add are two operations; an elementwise node takes one per element of its result, a\n"
      "reduction one per element that it reads, softmax and normalisation five; what only moves data takes none.\n"
      "Bytes moved are those of all operands and results of each node. A body counts as often as it runs at most,\n"
      "of two branches the dearer one; the nodes in them are listed for one round.";
  const char *model;
  const int status = tn_options_parse_model("cost", about, options, TN_CLI_COUNT(options), argc, argv, &model);
  if (status != TN_OPTIONS_GO_ON) return status;
  const int64_t bytes = memory ? tn_cli_read_size(memory) : 0;
  if (bytes < 0 || !memory != !vary) {
    tn_cli_error(bytes < 0 ? "--max-memory: '%s' is no size" : "--max-memory and --vary go together%s",
                 bytes < 0 ? memory : "");
    return TN_EXIT_USAGE;
  }
  const tn_compile_options o = tn_compile_flags_get(&flags);
  tn_blob text = {0};
  tn_report *report = NULL;
  const tn_status done = tn_tool_cost(model, &o, tn_texts_join(&dims), vary, bytes,
                                      is_json   ? 1
                                      : is_long ? 2
                                                : 0,
                                      &text, &report);
  return tn_cli_finish(done, report, &text, NULL);
}
