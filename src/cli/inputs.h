/* Inputs of a run from `--input name=...` and `--dim name=value`. */
#ifndef TN_CLI_INPUTS_H
#define TN_CLI_INPUTS_H

#include "cli/fill.h"
#include "cli/npy.h"
#include "cli/options.h"

typedef enum tn_feed_how { TN_FEED_FILE, TN_FEED_NONE, TN_FEED_RANDOM, TN_FEED_ZEROS, TN_FEED_LITERAL } tn_feed_how;

typedef struct tn_feed {
  tn_value_info info; /* of the program's input */
  const char *text;   /* what stands after "name=" */
  tn_feed_how how;
  tn_literal literal;
  tn_tensor tensor; /* given to the session */
  tn_tensor inner;  /* of an optional */
  bool has_dims;
  int64_t dims[TN_NPY_MAX_RANK];
  tn_npy npy;
  tn_test_tensor *file; /* of a .pb file */
} tn_feed;

typedef struct tn_feeds {
  tn_feed *items; /* one per input of the program, in order */
  size_t n;
  const char **symbols; /* those that --dim, the inputs or a default gave */
  int64_t *values;
  bool *is_given; /* by --dim */
  size_t n_symbols;
} tn_feeds;

typedef struct tn_feed_request {
  const tn_texts *inputs, *dims;
  uint64_t seed;
} tn_feed_request;

/* Returns the exit status; messages are printed. Drop *out in any case, and after the session that uses it. */
int tn_feeds_make(const tn_program *p, const tn_feed_request *q, tn_feeds *out);
void tn_feeds_drop(tn_feeds *f);

#endif
