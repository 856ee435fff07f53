/* Lists of expected verdicts: rows "name pass|fail|unsupported", '#' begins a comment. */
#ifndef TN_CLI_EXPECT_H
#define TN_CLI_EXPECT_H

#include "cli/case.h"

typedef struct tn_expect_row {
  const char *name;
  tn_verdict verdict;
} tn_expect_row;

typedef struct tn_expect {
  tn_expect_row *rows; /* sorted by name */
  size_t n;
} tn_expect;

/* Return the exit status; messages are printed. */
int tn_expect_read(const char *path, tn_expect *out);
int tn_expect_write(const char *path, const tn_cases *cases);
/* The row whose name ends the case's path, the longest such; NULL when there is none. */
const tn_expect_row *tn_expect_find(const tn_expect *e, const tn_case *c);

#endif
