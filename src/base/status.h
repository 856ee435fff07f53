/* Status, locations, diagnostics: how a refusal reaches the user.
 *
 * A status is a plain code; the words live in the context (compiler) or in a report (run time). Every message names a
 * place in the user's model, is lower case, has no final period, and says the values. */
#ifndef TN_BASE_STATUS_H
#define TN_BASE_STATUS_H

#include <stdarg.h>

#include "base/compiler.h"
#include "tenon/status.h"

struct tn_ctx;

typedef struct tn_loc { /* where in the user's model; all zero = the model as a whole */
  const char *kind;     /* "node", "input", "output", "initializer", "value", "function", "line", "file" */
  const char *name;     /* may be NULL or "" (unnamed) */
  const char *op;       /* operator type of a node, else NULL */
  int index;            /* node index in file order, used when the name is empty; line number for "line" */
} tn_loc;

TN_EXPORT const char *tn_status_name(tn_status s); /* "INVALID"; also part of the public API */
const char *tn_status_text(tn_status s);           /* the row's sentence */
int tn_status_exit(tn_status s);                   /* exit status of the CLI */

/* Records an error in the context and returns `code`. Printed as "FILE: node '/a' (Add): message". */
TN_MUST_CHECK tn_status tn_fail(struct tn_ctx *ctx, tn_status code, tn_loc loc, const char *fmt, ...) TN_PRINTF(4, 5);
void tn_warn(struct tn_ctx *ctx, tn_loc loc, const char *fmt, ...) TN_PRINTF(3, 4);
void tn_note(struct tn_ctx *ctx, const char *fmt, ...) TN_PRINTF(2, 3); /* "  while ..." under the last error */

#define TN_TRY(expr)                             \
  do {                                           \
    tn_status try_ = (expr);                     \
    if (TN_UNLIKELY(try_ != TN_OK)) return try_; \
  } while (0)
#define TN_TRY_WHILE(ctx, expr, ...)        \
  do {                                      \
    tn_status try_ = (expr);                \
    if (TN_UNLIKELY(try_ != TN_OK)) {       \
      tn_note((ctx), "while " __VA_ARGS__); \
      return try_;                          \
    }                                       \
  } while (0)

/* The run time's errors: one fixed buffer, no allocation. The first error stays. */
typedef struct tn_error {
  tn_status status;
  char text[1000];
} tn_error;

TN_MUST_CHECK tn_status tn_error_set(tn_error *e, tn_status code, const char *fmt, ...) TN_PRINTF(3, 4);

#endif
