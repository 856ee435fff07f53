/* Messages, memory and reports of the commands. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct cli_block {
  struct cli_block *next;
  max_align_t data[];
} cli_block;

static cli_block *cli_blocks;

void *tn_cli_try_alloc(size_t n, size_t size) {
  size_t bytes;
  cli_block *block = NULL;
  if (!__builtin_mul_overflow(n, size, &bytes) && bytes < SIZE_MAX - sizeof(cli_block) - 1)
    block = calloc(1, sizeof(cli_block) + bytes + 1);
  if (!block) return NULL;
  block->next = cli_blocks;
  cli_blocks = block;
  return block->data;
}

void *tn_cli_alloc(size_t n, size_t size) {
  void *const p = tn_cli_try_alloc(n, size);
  if (p) return p;
  tn_cli_error("out of memory");
  exit(tn_status_exit_code(TN_OOM));
}

void tn_cli_drop(void) {
  while (cli_blocks) {
    cli_block *const next = cli_blocks->next;
    free(cli_blocks);
    cli_blocks = next;
  }
}

void *tn_cli_grow(void *items, size_t n, size_t size) {
  if (n & (n - 1) || n == 1) return items; /* room was made at the last power of two, and for 2 at 0 */
  void *const grown = tn_cli_alloc(n ? 2 * n : 2, size);
  if (n) memcpy(grown, items, n * size);
  return grown;
}

char *tn_cli_print(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const int len = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  const size_t room = (size_t)(len < 0 ? 0 : len) + 1;
  char *const text = tn_cli_alloc(room, 1);
  va_start(ap, fmt);
  vsnprintf(text, room, fmt, ap);
  va_end(ap);
  return text;
}

static void TN_CLI_PRINTF(2, 0) cli_say(const char *kind, const char *fmt, va_list ap) {
  fflush(stdout);
  fprintf(stderr, "tenon: %s: ", kind);
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
}

void tn_cli_error(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  cli_say("error", fmt, ap);
  va_end(ap);
}

void tn_cli_note(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  cli_say("note", fmt, ap);
  va_end(ap);
}

/* The text holds every message in full, further lines of one indented; the severity comes from the message's row. */
static void cli_print_report(const tn_report *r) {
  const size_t n = tn_report_count(r);
  size_t i = 0;
  for (const char *line = tn_report_text(r); *line;) {
    const size_t len = strcspn(line, "\n");
    if (*line != ' ') {
      char severity = 'e';
      tn_status status;
      const char *node, *text;
      if (i < n) tn_report_get(r, i++, &severity, &status, &node, &text);
      fprintf(stderr, "tenon: %s", severity == 'w' ? "" : "error: "); /* the text itself says "warning: " */
    }
    fwrite(line, 1, len, stderr);
    fputc('\n', stderr);
    line += len + (line[len] == '\n');
  }
}

int tn_cli_report(tn_status s, tn_report *r) {
  fflush(stdout);
  cli_print_report(r);
  if (s != TN_OK && tn_report_count(r) == 0) tn_cli_error("%s", tn_status_name(s));
  tn_report_release(r);
  return tn_status_exit_code(s);
}

int tn_cli_deliver(tn_blob *b, const char *path) {
  FILE *const file = path && strcmp(path, "-") != 0 ? fopen(path, "wb") : stdout;
  bool ok = file != NULL;
  if (ok) ok = fwrite(b->text, 1, b->len, file) == b->len;
  if (ok && file == stdout && b->len && b->text[b->len - 1] != '\n') ok = fputc('\n', file) != EOF;
  if (ok) ok = fflush(file) == 0;
  const int why = errno;
  if (file && file != stdout && fclose(file) != 0) ok = false;
  tn_blob_free(b);
  if (ok) return TN_EXIT_OK;
  tn_cli_error("%s: cannot write: %s", path ? path : "standard output", strerror(why));
  return tn_status_exit_code(TN_IO);
}

int tn_cli_finish(tn_status s, tn_report *r, tn_blob *text, const char *path) {
  const int code = tn_cli_report(s, r);
  return s == TN_OK ? tn_cli_deliver(text, path) : code;
}

char *tn_cli_temporary(bool is_folder) {
  const char *const given = getenv("TMPDIR"), *const folder = given && *given ? given : P_tmpdir;
  char *const path = tn_cli_print("%s/tenon-XXXXXX", folder);
  const int file = is_folder ? -1 : mkstemp(path);
  if (is_folder ? mkdtemp(path) != NULL : file >= 0 && close(file) == 0) return path;
  tn_cli_error("cannot make a %s in %s: %s", is_folder ? "folder" : "file", folder, strerror(errno));
  return NULL;
}

int tn_cli_spawn(char *const *argv) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    execvp(argv[0], argv);
    _exit(127);
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int64_t tn_cli_read_size(const char *text) {
  char *end;
  const long long n = strtoll(text, &end, 10);
  static const struct {
    const char *name;
    int64_t by;
  } units[] = {{"", 1},      {"KiB", 1024},   {"MiB", 1048576},  {"GiB", 1073741824},
               {"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000}};
  for (size_t i = 0; end != text && n > 0 && i < TN_CLI_COUNT(units); i++)
    if (strcmp(end, units[i].name) == 0) return n <= INT64_MAX / units[i].by ? (int64_t)n * units[i].by : -1;
  return -1;
}
