/* Runs cases, each in a process of its own, so that one that crashes or hangs is a failed case. */
#ifndef TN_CLI_JOBS_H
#define TN_CLI_JOBS_H

#include "cli/case.h"

typedef struct tn_jobs_options {
  const tn_case_options *cases;
  int64_t jobs;                      /* at once; 0: all in this process, one after another, without a time limit */
  double timeout_s;                  /* of one case */
  void (*done)(void *arg, size_t i); /* called for every case, in order of the cases */
  void *arg;
} tn_jobs_options;

void tn_jobs_run(tn_cases *cases, const tn_jobs_options *o);

#endif
