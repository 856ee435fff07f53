/* The option parser. */
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int options_fail(const tn_usage *u, const char *text) {
  tn_cli_error("%s", text);
  fprintf(stderr, "usage: tenon %s [options] %s\n       tenon %s --help lists the options\n", u->command, u->operands,
          u->command);
  return TN_EXIT_USAGE;
}

static void options_print_row(char letter, const char *name, const char *arg, const char *help) {
  char left[64];
  const char short_form[] = {'-', letter, ',', 0};
  snprintf(left, sizeof left, "  %3s --%s%s%s", letter ? short_form : "", name, arg ? " " : "", arg ? arg : "");
  printf("%-34s %s\n", left, help);
}

static int options_help(const tn_usage *u) {
  printf("usage: tenon %s [options]%s%s\n\n%s\n\n", u->command, *u->operands ? " " : "", u->operands, u->about);
  for (size_t i = 0; i < u->n_options; i++) {
    const tn_option *const o = &u->options[i];
    options_print_row(o->letter, o->name, o->arg, o->help);
  }
  options_print_row('h', "help", NULL, "print this text");
  return TN_EXIT_OK;
}

static const tn_option *options_find(const tn_usage *u, const char *name, size_t len) {
  for (size_t i = 0; i < u->n_options; i++)
    if (strlen(u->options[i].name) == len && memcmp(u->options[i].name, name, len) == 0) return &u->options[i];
  return NULL;
}

static const tn_option *options_find_letter(const tn_usage *u, char letter) {
  for (size_t i = 0; i < u->n_options; i++)
    if (u->options[i].letter == letter) return &u->options[i];
  return NULL;
}

static bool options_read_integer(const char *text, int64_t least, int64_t *out) {
  char *end;
  errno = 0;
  const long long v = strtoll(text, &end, 10);
  if (errno || end == text || *end || v < least) return false;
  *out = v;
  return true;
}

static bool options_read_real(const char *text, double *out) {
  char *end;
  const double v = strtod(text, &end);
  if (end == text || *end || !(v >= 0)) return false;
  *out = v;
  return true;
}

static int options_store(const tn_usage *u, const tn_option *o, const char *value) {
  if (o->text) {
    *o->text = value;
  } else if (o->list) {
    o->list->items = tn_cli_grow(o->list->items, o->list->n, sizeof(char *));
    o->list->items[o->list->n++] = value;
  } else if (o->integer && !options_read_integer(value, o->least, o->integer)) {
    return options_fail(
        u, tn_cli_print("--%s takes an integer of at least %lld, not '%s'", o->name, (long long)o->least, value));
  } else if (o->real && !options_read_real(value, o->real)) {
    return options_fail(u, tn_cli_print("--%s takes a number of at least 0, not '%s'", o->name, value));
  }
  return TN_OPTIONS_GO_ON;
}

/* One argument that begins with '-', and its value, which may be the next one. */
static int options_take(const tn_usage *u, int argc, char **argv, int *at) {
  const char *const arg = argv[*at], *value = NULL;
  const tn_option *o;
  if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) return options_help(u);
  if (arg[1] == '-') {
    const size_t len = strcspn(arg + 2, "=");
    o = options_find(u, arg + 2, len);
    if (arg[2 + len] == '=') value = arg + 3 + len;
  } else {
    o = options_find_letter(u, arg[1]);
    if (arg[2]) value = arg + 2;
  }
  if (!o) return options_fail(u, tn_cli_print("unknown option '%s'", arg));
  if (o->flag) {
    if (value) return options_fail(u, tn_cli_print("--%s takes no value", o->name));
    *o->flag = true;
    return TN_OPTIONS_GO_ON;
  }
  if (!value && *at + 1 >= argc) return options_fail(u, tn_cli_print("--%s needs a value: %s", o->name, o->arg));
  return options_store(u, o, value ? value : argv[++*at]);
}

const char *tn_texts_join(const tn_texts *texts) {
  size_t room = 1;
  for (size_t i = 0; i < texts->n; i++) room += strlen(texts->items[i]) + 1;
  char *const text = tn_cli_alloc(room, 1), *end = text;
  for (size_t i = 0; i < texts->n; i++) {
    if (i) *end++ = ',';
    end = stpcpy(end, texts->items[i]);
  }
  return texts->n ? text : NULL;
}

int tn_options_parse(const tn_usage *u, int argc, char **argv, tn_texts *operands) {
  bool is_ended = false;
  *operands = (tn_texts){0};
  for (int i = 1; i < argc; i++) {
    if (!is_ended && strcmp(argv[i], "--") == 0) {
      is_ended = true;
    } else if (!is_ended && argv[i][0] == '-' && argv[i][1]) {
      const int status = options_take(u, argc, argv, &i);
      if (status != TN_OPTIONS_GO_ON) return status;
    } else {
      operands->items = tn_cli_grow(operands->items, operands->n, sizeof(char *));
      operands->items[operands->n++] = argv[i];
    }
  }
  if (operands->n < u->min_operands) return options_fail(u, tn_cli_print("%s expected", u->operands));
  if (operands->n > u->max_operands)
    return options_fail(u, tn_cli_print("unexpected argument '%s'", operands->items[u->max_operands]));
  return TN_OPTIONS_GO_ON;
}

int tn_options_parse_model(const char *command, const char *about, const tn_option *options, size_t n, int argc,
                           char **argv, const char **out_model) {
  const tn_usage usage = {.command = command,
                          .operands = "MODEL",
                          .about = about,
                          .options = options,
                          .n_options = n,
                          .min_operands = 1,
                          .max_operands = 1};
  tn_texts operands;
  const int status = tn_options_parse(&usage, argc, argv, &operands);
  if (status == TN_OPTIONS_GO_ON) *out_model = operands.items[0];
  return status;
}

tn_compile_options tn_compile_flags_get(const tn_compile_flags *f) {
  return (tn_compile_options){.size = sizeof(tn_compile_options),
                              .knobs = f->knobs.items,
                              .n_knobs = f->knobs.n,
                              .assume = f->assume.items,
                              .n_assume = f->assume.n,
                              .input_shape = f->input_shape,
                              .batch_sizes = f->batch_sizes,
                              .image_sizes = f->image_sizes,
                              .gear_dims = f->gear_dims,
                              .input_format = f->input_format,
                              .gear_miss = f->gear_miss};
}
