/* tenon compile: a program file. */
#include <string.h>
#include <sys/stat.h>

#include "cli/options.h"

static int compile_write(const char *model, const char *out, const tn_compile_options *o, tn_weights weights) {
  tn_program *program = NULL;
  tn_report *report = NULL;
  const tn_status compiled = tn_compile_file(model, o, &program, &report);
  int status = tn_cli_report(compiled, report);
  if (status != TN_EXIT_OK) return status;
  report = NULL;
  const tn_status saved = tn_program_save_as(program, out, weights, &report);
  status = tn_cli_report(saved, report);
  tn_program_free(program);
  struct stat info;
  if (status == TN_EXIT_OK && stat(out, &info) == 0)
    printf("%s: %lld bytes%s\n", out, (long long)info.st_size, tn_compile_count() ? "" : "; nothing was compiled");
  return status;
}

int tn_cmd_compile(int argc, char **argv) {
  tn_compile_flags flags = {0};
  const char *out = NULL, *weights = "embed";
  const tn_option options[] = {
      {.letter = 'o', .name = "output", .arg = "OUT.tnp", .text = &out, .help = "the program file (required)"},
      {.name = "weights",
       .arg = "WHERE",
       .text = &weights,
       .help = "embed (default), or reference: in the model's files, below OUT's folder"},
      TN_COMPILE_ROWS(flags),
      TN_GEAR_ROWS(flags),
  };
  static const char about[] =
      "Compiles MODEL once for all shapes. The program runs with `tenon run OUT.tnp` and needs no compiler.";
  const char *model;
  const int status = tn_options_parse_model("compile", about, options, TN_CLI_COUNT(options), argc, argv, &model);
  if (status != TN_OPTIONS_GO_ON) return status;
  if (!out) {
    tn_cli_error("-o OUT.tnp is missing");
    return TN_EXIT_USAGE;
  }
  const bool refers = strcmp(weights, "reference") == 0;
  if (!refers && strcmp(weights, "embed") != 0) {
    tn_cli_error("--weights takes 'embed' or 'reference', not '%s'", weights);
    return TN_EXIT_USAGE;
  }
  const tn_compile_options o = tn_compile_flags_get(&flags);
  return compile_write(model, out, &o, refers ? TN_WEIGHTS_REFERENCE : TN_WEIGHTS_EMBED);
}
