/* tenon: the command line. One row per command. */
#include <errno.h>
#include <string.h>

#include "cli/cli.h"

static const tn_command main_commands[] = {
    {"run", tn_cmd_run, "compile a model and run it on files, random or given numbers"},
    {"compile", tn_cmd_compile, "write a program (.tnp) that runs without the compiler"},
    {"info", tn_cmd_info, "what a file holds: versions, operators, weights"},
    {"infer", tn_cmd_infer, "symbolic shape of every value"},
    {"contract", tn_cmd_contract, "which input shapes are valid, and the nodes that say so"},
    {"why", tn_cmd_why, "how the shape of a value was derived"},
    {"cost", tn_cmd_cost, "operations and bytes as formulas"},
    {"split", tn_cmd_split, "the parts of a model: static, symbolic, dynamic"},
    {"test", tn_cmd_test, "run folders of ONNX backend tests"},
    {"ops", tn_cmd_ops, "operators, their versions and types"},
    {"knobs", tn_cmd_knobs, "settings, their values and where those come from"},
    {"dump", tn_cmd_dump, "the compiled graph or program as text"},
    {"opt", tn_cmd_opt, "run passes over a model or over text IR"},
};

static void main_help(FILE *out) {
  fprintf(out, "usage: tenon COMMAND [options] ...\n\n");
  for (size_t i = 0; i < TN_CLI_COUNT(main_commands); i++)
    fprintf(out, "  %-8s  %s\n", main_commands[i].name, main_commands[i].help);
  fprintf(out,
          "\ntenon COMMAND --help lists what a command takes; tenon --version prints the version.\n"
          "Exit status: 0 success, 1 a test or comparison failed, 2 wrong use");
  for (int s = TN_INVALID; s < TN_N_STATUS; s++)
    fprintf(out, ",%s%d %s", s == TN_INVALID ? "\n" : " ", tn_status_exit_code((tn_status)s),
            tn_status_name((tn_status)s));
  fprintf(out, ".\n");
}

static int main_command(int argc, char **argv) {
  for (size_t i = 0; i < TN_CLI_COUNT(main_commands); i++)
    if (strcmp(argv[0], main_commands[i].name) == 0) return main_commands[i].run(argc, argv);
  tn_cli_error("unknown command '%s'", argv[0]);
  main_help(stderr);
  return TN_EXIT_USAGE;
}

static int main_dispatch(int argc, char **argv) {
  static char help[] = "--help";
  if (argc < 2) {
    main_help(stderr);
    return TN_EXIT_USAGE;
  }
  const char *const first = argv[1];
  if (strcmp(first, "--version") == 0) {
    printf("tenon %s\n", tn_version());
    return TN_EXIT_OK;
  }
  if (strcmp(first, "help") == 0 && argc > 2) return main_command(2, (char *[]){argv[2], help, NULL});
  if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0) {
    main_help(stdout);
    return TN_EXIT_OK;
  }
  return main_command(argc - 1, argv + 1);
}

int main(int argc, char **argv) {
  int status = main_dispatch(argc, argv);
  if ((fflush(stdout) != 0 || ferror(stdout)) && status == TN_EXIT_OK) {
    tn_cli_error("standard output: cannot write: %s", strerror(errno));
    status = tn_status_exit_code(TN_IO);
  }
  tn_cli_drop();
  return status;
}
