/* Data for inputs: random and zero elements, and numbers written on the command line. */
#ifndef TN_CLI_FILL_H
#define TN_CLI_FILL_H

#include "cli/cli.h"

/* Memory for `count` zeros (strings: empty ones). LIMIT when that is more than can be addressed, OOM when there is
 * none. */
tn_status tn_fill_new(tn_dtype d, int64_t count, void **out_data, size_t *out_bytes);
/* Floats in [-1, 1), integers in [0, 10) or what the type holds of that, booleans 0 or 1, strings of one letter. The
 * same for the same seed and name. */
void tn_fill_random(tn_dtype d, void *data, int64_t count, uint64_t seed, const char *name);

enum { TN_LITERAL_MAX_RANK = 16 };

typedef struct tn_literal { /* "1.5", "[1, 2]", "[[1, 2], [3, 4]]" */
  int rank;
  int64_t dims[TN_LITERAL_MAX_RANK];
  const char **items; /* the numbers' text, in order */
  size_t n;
} tn_literal;

/* `is_text`: outside of brackets everything is one item. NULL, or a sentence that says what is wrong. */
const char *tn_literal_parse(const char *text, bool is_text, tn_literal *out);
/* Element `i` := the text read as a number of type d, which must hold it: integers exactly, floats rounded. */
const char *tn_literal_store(tn_dtype d, void *data, int64_t i, const char *text);

#endif
