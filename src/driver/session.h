/* Inside of the public session. */
#ifndef TN_DRIVER_SESSION_H
#define TN_DRIVER_SESSION_H

#include "rt/rt.h"
#include "tenon/tenon.h"
#include "tenon/tenon_unstable.h"

typedef struct tn_session_block { /* grow-only memory; zero is empty */
  void *ptr;
  size_t bytes;
} tn_session_block;

struct tn_session {
  tn_allocator allocator;
  tn_program *program;
  tn_rt_session *rt;
  bool has_run, is_finite_checked;
  tn_progress_fn progress;
  void *progress_arg;
  tn_session_block *inputs;  /* per input: items of a sequence */
  tn_session_block *outputs; /* per output: the tn_tensor and its items */
  size_t n_inputs, n_outputs;
  /* Profile: one row per step, NULL while off. */
  tn_profile_row *rows;
  size_t n_rows;
  tn_step_fn trace; /* another listener */
  void *trace_arg;
  /* A further listener (the oracle). */
  tn_rt_hook hook;
  void *hook_arg;
};

TN_MUST_CHECK tn_status tn_session_new(tn_allocator allocator, tn_program *p, const tn_session_options *o,
                                       tn_session **out, tn_error *err);
void tn_session_listen(tn_session *s, tn_rt_hook hook, void *arg); /* NULL: no longer */
TN_MUST_CHECK tn_status tn_session_start_profile(tn_session *s, bool on, tn_error *err);

#endif
