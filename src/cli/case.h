/* One ONNX backend test: a folder with model.onnx and test_data_set_N/{input,output}_K.pb. */
#ifndef TN_CLI_CASE_H
#define TN_CLI_CASE_H

#include "cli/compare.h"
#include "cli/options.h"

typedef enum tn_verdict { TN_VERDICT_PASS, TN_VERDICT_FAIL, TN_VERDICT_UNSUPPORTED, TN_N_VERDICTS } tn_verdict;

typedef struct tn_case {
  const char *path, *name; /* name: the path below the folder that was asked for */
  tn_verdict verdict;
  const char *why; /* one line; NULL for PASS */
} tn_case;

typedef struct tn_cases {
  tn_case *items;
  size_t n;
} tn_cases;

typedef struct tn_case_options {
  tn_tolerance tolerance;
  tn_compile_options compile;
  int threads;
  bool is_through_program; /* compiled and saved by one process, loaded and run by another */
} tn_case_options;

const char *tn_verdict_text(tn_verdict v); /* "pass" */
/* Appends the cases below `dir`, or `dir` itself, sorted by name. Returns the exit status; messages are printed. */
int tn_cases_find(tn_cases *cases, const char *dir);
/* Sets verdict and why. */
void tn_case_run(tn_case *c, const tn_case_options *o);

#endif
