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

/* The items with commas between them; NULL when there is none. */
const char *tn_texts_join(const tn_texts *texts);

/* Fills the targets and the operands. Returns TN_OPTIONS_GO_ON, or the exit status after --help or a usage error.
 * `--name=value`, `--name value`, `-n value`; `--` ends the options. */
int tn_options_parse(const tn_usage *u, int argc, char **argv, tn_texts *operands);
/* The same for a command whose one operand is a MODEL. */
int tn_options_parse_model(const char *command, const char *about, const tn_option *options, size_t n, int argc,
                           char **argv, const char **out_model);

/* Options of every command that compiles. */
typedef struct tn_compile_flags {
  tn_texts knobs, assume;
  const char *input_shape, *batch_sizes, *image_sizes, *gear_dims, *input_format, *gear_miss;
} tn_compile_flags;
#define TN_COMPILE_ROWS(flags)                                                                                      \
  {.name = "knob", .arg = "NAME=VALUE", .list = &(flags).knobs, .help = "set a knob (see tenon knobs)"}, {          \
    .name = "assume", .arg = "FACT", .list = &(flags).assume, .help = "a fact such as \"S % 8 == 0, 1 <= B <= 64\"" \
  }
/* Of those that make a program to run. */
/* clang-format off */
#define TN_GEAR_ROWS(flags)                                                                                          \
  {.name = "input-shape", .arg = "SHAPES", .text = &(flags).input_shape, .help = "\"x:-1,3,-1,-1;y:8\""},            \
  {.name = "dynamic-batch-size", .arg = "N,...", .text = &(flags).batch_sizes, .help = "gears \"1,4,8\""},           \
  {.name = "dynamic-image-size", .arg = "H,W;...", .text = &(flags).image_sizes, .help = "gears \"224,224;448,448\""}, \
  {.name = "dynamic-dims", .arg = "A,B;...", .text = &(flags).gear_dims,                                             \
   .help = "gears \"1,32;1,64\": a size for each -1"},                                                               \
  {.name = "input-format", .arg = "FORMAT", .text = &(flags).input_format, .help = "NCHW (default) or NHWC"},        \
  {.name = "gear-miss", .arg = "POLICY", .text = &(flags).gear_miss,                                                 \
   .help = "a shape that is no gear: dynamic (default), exact or pad"}
/* clang-format on */
tn_compile_options tn_compile_flags_get(const tn_compile_flags *f); /* borrows */

#endif
