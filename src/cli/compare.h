/* Is a result what a test expects? */
#ifndef TN_CLI_COMPARE_H
#define TN_CLI_COMPARE_H

#include "cli/cli.h"

typedef struct tn_tolerance {
  double rtol, atol; /* |got - want| <= atol + rtol * |want|, for floats and complex; all else is exact */
} tn_tolerance;

/* NULL when they agree in kind, type, shape and elements (NaN equals NaN), else a sentence in lasting memory. */
const char *tn_compare(const tn_tensor *got, const tn_tensor *want, tn_tolerance tol);

#endif
