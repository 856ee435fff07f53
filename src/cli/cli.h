/* What the commands share: the table, messages, memory that lives until the program ends, printing reports. */
#ifndef TN_CLI_CLI_H
#define TN_CLI_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tenon/tenon.h"
#include "tenon/tenon_unstable.h"

#define TN_CLI_COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TN_CLI_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* Exit statuses beside those of tn_status_exit_code. */
enum { TN_EXIT_OK = 0, TN_EXIT_FAILED = 1, TN_EXIT_USAGE = 2 };

typedef struct tn_command {
  const char *name;
  int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
  const char *help;                  /* one line */
} tn_command;

int tn_cmd_run(int argc, char **argv);
int tn_cmd_compile(int argc, char **argv);
int tn_cmd_info(int argc, char **argv);
int tn_cmd_infer(int argc, char **argv);
int tn_cmd_contract(int argc, char **argv);
int tn_cmd_why(int argc, char **argv);
int tn_cmd_cost(int argc, char **argv);
int tn_cmd_split(int argc, char **argv);
int tn_cmd_test(int argc, char **argv);
int tn_cmd_ops(int argc, char **argv);
int tn_cmd_knobs(int argc, char **argv);
int tn_cmd_dump(int argc, char **argv);
int tn_cmd_opt(int argc, char **argv);

/* Zeroed memory for n elements, kept until tn_cli_drop. Ends the program when there is none. */
void *tn_cli_alloc(size_t n, size_t size);
void *tn_cli_try_alloc(size_t n, size_t size); /* NULL when memory ends */
void tn_cli_drop(void);
char *tn_cli_print(const char *fmt, ...) TN_CLI_PRINTF(1, 2); /* as above */
/* items[n] = item, growing the array by doubling: `size` bytes an element. Returns the array. */
void *tn_cli_grow(void *items, size_t n, size_t size);

/* One line to stderr, with "tenon: error: " and so on before it. */
void tn_cli_error(const char *fmt, ...) TN_CLI_PRINTF(1, 2);
void tn_cli_note(const char *fmt, ...) TN_CLI_PRINTF(1, 2);
/* Prints and releases a report (NULL is fine) and returns the exit status for `s`. */
int tn_cli_report(tn_status s, tn_report *r);
/* Writes a text of the library to `path` (NULL or "-": stdout) and frees it. */
int tn_cli_deliver(tn_blob *b, const char *path);
/* Both: the report of a tool, and its text when it was made. */
int tn_cli_finish(tn_status s, tn_report *r, tn_blob *text, const char *path);

/* An empty file or folder of our own in $TMPDIR, for the caller to remove; NULL, and said so, when there can be none.
 */
char *tn_cli_temporary(bool is_folder);
/* Runs a program that is found in $PATH, and waits. Its exit status; 127: it could not be run; -1: it was ended. argv
 * ends with NULL. */
int tn_cli_spawn(char *const *argv);

/* "8GiB", "512MiB", "1000": bytes; -1 when it is no size. */
int64_t tn_cli_read_size(const char *text);

#endif
