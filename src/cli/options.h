/* Options of a command as rows: parsing and --help come from the same table. */
#ifndef TN_CLI_OPTIONS_H
#define TN_CLI_OPTIONS_H

#include "cli/cli.h"

typedef struct tn_texts {
  const char **items;
  size_t n;
} tn_texts;

typedef struct tn_option { /* exactly one of the pointers is set; it says the kind */
  char letter;             /* of the short form; 0: none */
  const char *name;        /* without dashes */
  const char *arg;         /* what it takes, for --help; NULL for a flag */
  const char *help;
  bool *flag;
  int64_t *integer; /* at least `least` */
  double *real;     /* at least 0 */
  const char **text;
  tn_texts *list; /* may be given many times */
  int64_t least;
} tn_option;

typedef struct tn_usage {
  const char *command, *operands; /* "run", "MODEL" */
  const char *about;              /* a paragraph for --help */
  const tn_option *options;
  size_t n_options;
  size_t min_operands, max_operands;
} tn_usage;

enum { TN_OPTIONS_GO_ON = -1 };

/* Fills the targets and the operands. Returns TN_OPTIONS_GO_ON, or the exit status after --help or a usage error.
 * `--name=value`, `--name value`, `-n value`; `--` ends the options. */
int tn_options_parse(const tn_usage *u, int argc, char **argv, tn_texts *operands);
/* The same for a command whose one operand is a MODEL. */
int tn_options_parse_model(const char *command, const char *about, const tn_option *options, size_t n, int argc,
                           char **argv, const char **out_model);

/* Options of every command that compiles. */
typedef struct tn_compile_flags {
  tn_texts knobs, assume;
} tn_compile_flags;
#define TN_COMPILE_ROWS(flags)                                                                                      \
  {.name = "knob", .arg = "NAME=VALUE", .list = &(flags).knobs, .help = "set a knob (see tenon knobs)"}, {          \
    .name = "assume", .arg = "FACT", .list = &(flags).assume, .help = "a fact such as \"S % 8 == 0, 1 <= B <= 64\"" \
  }
tn_compile_options tn_compile_flags_get(const tn_compile_flags *f); /* borrows */

#endif
