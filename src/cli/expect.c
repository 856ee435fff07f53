/* Expected verdicts. */
#include "cli/expect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { EXPECT_MAX_LINE = 4096 };

static int expect_order(const void *a, const void *b) {
  return strcmp(((const tn_expect_row *)a)->name, ((const tn_expect_row *)b)->name);
}

/* One line into a row; false when it is neither a row nor blank. */
static bool expect_line(tn_expect *e, char *line) {
  line[strcspn(line, "#\n")] = 0;
  char *rest = NULL;
  const char *const name = strtok_r(line, " \t", &rest), *const text = strtok_r(NULL, " \t", &rest);
  if (!name) return true;
  if (!text || strtok_r(NULL, " \t", &rest)) return false;
  for (int v = 0; v < TN_N_VERDICTS; v++) {
    if (strcmp(text, tn_verdict_text((tn_verdict)v)) != 0) continue;
    e->rows = tn_cli_grow(e->rows, e->n, sizeof *e->rows);
    e->rows[e->n++] = (tn_expect_row){tn_cli_print("%s", name), (tn_verdict)v};
    return true;
  }
  return false;
}

static int expect_fail(tn_status s, const char *text) {
  tn_cli_error("%s", text);
  return tn_status_exit_code(s);
}

int tn_expect_read(const char *path, tn_expect *out) {
  char line[EXPECT_MAX_LINE];
  int number = 0;
  bool ok = true;
  *out = (tn_expect){0};
  FILE *const file = fopen(path, "r");
  if (!file) return expect_fail(TN_IO, tn_cli_print("%s: cannot open: %s", path, strerror(errno)));
  while (ok && fgets(line, sizeof line, file)) {
    number++;
    ok = expect_line(out, line);
  }
  fclose(file);
  if (!ok)
    return expect_fail(TN_INVALID, tn_cli_print("%s:%d: expected NAME and pass, fail or unsupported", path, number));
  if (out->n) qsort(out->rows, out->n, sizeof *out->rows, expect_order);
  for (size_t i = 1; i < out->n; i++)
    if (strcmp(out->rows[i - 1].name, out->rows[i].name) == 0)
      return expect_fail(TN_INVALID, tn_cli_print("%s: '%s' has two rows", path, out->rows[i].name));
  return TN_EXIT_OK;
}

int tn_expect_write(const char *path, const tn_cases *cases) {
  FILE *const file = fopen(path, "w");
  bool ok = file != NULL;
  for (size_t i = 0; ok && i < cases->n; i++)
    ok = fprintf(file, "%s %s\n", cases->items[i].name, tn_verdict_text(cases->items[i].verdict)) > 0;
  if (ok) ok = fflush(file) == 0;
  const int why = errno;
  if (file && fclose(file) != 0) ok = false;
  return ok ? TN_EXIT_OK : expect_fail(TN_IO, tn_cli_print("%s: cannot write: %s", path, strerror(why)));
}

const tn_expect_row *tn_expect_find(const tn_expect *e, const tn_case *c) {
  for (const char *name = c->path; name && e->n; name = strchr(name, '/')) {
    if (*name == '/') name++;
    const tn_expect_row key = {.name = name};
    const tn_expect_row *const row = bsearch(&key, e->rows, e->n, sizeof key, expect_order);
    if (row) return row;
  }
  return NULL;
}
