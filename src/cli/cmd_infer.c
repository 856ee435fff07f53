/* tenon infer: symbolic shapes. */
#include "cli/options.h"

int tn_cmd_infer(int argc, char **argv) {
  tn_compile_flags flags = {0};
  const char *out = NULL;
  bool is_json = false, is_check = false, has_elements = false;
  int64_t runs = 0, seed = -1;
  const tn_option options[] = {
      {.letter = 'o',
       .name = "output",
       .arg = "OUT.onnx",
       .text = &out,
       .help = "copy of the model with the shapes in it"},
      {.name = "json", .flag = &is_json, .help = "print JSON: symbols, values, checks, warnings"},
      {.name = "elements", .flag = &has_elements, .help = "with --json: what is known of elements too"},
      {.name = "check", .flag = &is_check, .help = "run at random valid sizes and compare every value"},
      {.name = "runs", .arg = "N", .integer = &runs, .least = 1, .help = "with --check: runs (8)"},
      {.name = "seed", .arg = "N", .integer = &seed, .least = 0, .help = "with --check: of sizes and contents (0)"},
      TN_COMPILE_ROWS(flags),
  };
  static const char about[] =
      "Prints the type and symbolic shape of every value. OUT.onnx is MODEL byte for byte but for its\n"
      "value_info and output shapes. --check prints what differs instead, and exits with 1 when something does.";
  const char *model;
  const int status = tn_options_parse_model("infer", about, options, TN_CLI_COUNT(options), argc, argv, &model);
  if (status != TN_OPTIONS_GO_ON) return status;
  if (is_check ? out || has_elements : runs || seed >= 0 || (has_elements && !is_json)) {
    tn_cli_error("%s; see tenon infer --help", is_check  ? "--check takes neither --output nor --elements"
                                               : is_json ? "--runs and --seed go with --check"
                                                         : "--runs and --seed go with --check, --elements with --json");
    return TN_EXIT_USAGE;
  }
  const tn_compile_options o = tn_compile_flags_get(&flags);
  tn_blob text = {0};
  tn_report *report = NULL;
  if (is_check) {
    int failed = 0;
    const tn_status ran =
        tn_tool_check(model, &o, runs ? runs : 8, seed < 0 ? 0 : seed, is_json, &failed, &text, &report);
    const int exit_status = tn_cli_finish(ran, report, &text, NULL);
    return exit_status == TN_EXIT_OK && failed ? TN_EXIT_FAILED : exit_status;
  }
  const tn_status done = tn_tool_infer(model, &o, is_json ? 1 + has_elements : 0, out, &text, &report);
  return tn_cli_finish(done, report, &text, NULL);
}
