/* tenon infer: symbolic shapes. */
#include "cli/options.h"

int tn_cmd_infer(int argc, char **argv) {
  tn_compile_flags flags = {0};
  const char *out = NULL;
  bool is_json = false;
  const tn_option options[] = {
      {.letter = 'o',
       .name = "output",
       .arg = "OUT.onnx",
       .text = &out,
       .help = "copy of the model with the shapes in it"},
      {.name = "json", .flag = &is_json, .help = "print JSON: symbols, values, checks, warnings"},
      TN_COMPILE_ROWS(flags),
  };
  static const char about[] =
      "Prints the type and symbolic shape of every value. OUT.onnx is MODEL byte for byte but for its\n"
      "value_info and output shapes.";
  const char *model;
  const int status = tn_options_parse_model("infer", about, options, TN_CLI_COUNT(options), argc, argv, &model);
  if (status != TN_OPTIONS_GO_ON) return status;
  const tn_compile_options o = tn_compile_flags_get(&flags);
  tn_blob text = {0};
  tn_report *report = NULL;
  const tn_status done = tn_tool_infer(model, &o, is_json, out, &text, &report);
  return tn_cli_finish(done, report, &text, NULL);
}
