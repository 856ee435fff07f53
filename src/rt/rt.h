/* The run time: bind a shape, run the steps. Links without the compiler. A program is shared; a session is used by one
 * thread at a time. */
#ifndef TN_RT_RT_H
#define TN_RT_RT_H

#include "code/program.h"
#include "kern/kern.h"

typedef struct tn_rt_session tn_rt_session;

typedef struct tn_rt_options {
  tn_pool_options pool;
  tn_pool *own_pool;  /* instead of the process's pool; retained */
  uint64_t seed;      /* of random operators */
  int64_t max_memory; /* bytes of the session; 0: no bound */
  uint32_t shapes;    /* bound shapes that are kept */
  bool is_shrinking;  /* a new shape gives back the memory of the one before it first */
} tn_rt_options;

/* Retains the program. Looks up every kernel: a missing one is UNSUPPORTED, all of them named. */
TN_MUST_CHECK tn_status tn_rt_session_create(tn_program *p, tn_allocator allocator, const tn_rt_options *o,
                                             tn_rt_session **out, tn_error *err);
void tn_rt_session_release(tn_rt_session *s);

/* Input i := a view of the caller's tensor (kind, dtype, rank, dims, data; items for sequences). Borrowed until the
 * next set or release; the data is read by run only. Checks kind, dtype, rank and constant dims: MISMATCH names the
 * input. */
TN_MUST_CHECK tn_status tn_rt_set_input(tn_rt_session *s, uint32_t i, const tn_karg *arg, tn_error *err);
/* A symbol that no input gives (or that must agree with what the inputs give). */
TN_MUST_CHECK tn_status tn_rt_set_symbol(tn_rt_session *s, const char *name, int64_t value, tn_error *err);

/* Evaluates symbols, checks and sizes and lays out memory, if the inputs' shapes (or shape-like contents) differ from
 * those of the last bind; then runs. After an error the session may be used again. The second run with the same shapes
 * infers nothing and allocates nothing. */
TN_MUST_CHECK tn_status tn_rt_run(tn_rt_session *s, tn_error *err);
/* From now on a run must be in this gear, else MISMATCH; TN_NO_INDEX: in any. */
TN_MUST_CHECK tn_status tn_rt_set_gear(tn_rt_session *s, int32_t gear, tn_error *err);
int32_t tn_rt_gear(const tn_rt_session *s); /* of the last run (padded to it, perhaps); TN_NO_INDEX: of none */
const tn_karg *tn_rt_output(const tn_rt_session *s, uint32_t i); /* valid until the next run or release */

/* Output i is made in, or copied to, the caller's memory from now on; NULL: in the session's again. */
TN_MUST_CHECK tn_status tn_rt_set_output(tn_rt_session *s, uint32_t i, void *data, size_t bytes, tn_error *err);
/* Is output i made in the caller's memory, so that nothing was copied? After a run. */
bool tn_rt_output_is_in_place(const tn_rt_session *s, uint32_t i);

/* After each run output `output` (UINT32_MAX: none any more) is copied and becomes input `input` of the next one; the
 * first run's is set. MISMATCH when it cannot: element types differ, no tensors, or strings. */
TN_MUST_CHECK tn_status tn_rt_link(tn_rt_session *s, uint32_t output, uint32_t input, tn_error *err);

/* Ends the run in progress, or the next one when there is none, with CANCELLED before its next step. Any thread. */
void tn_rt_cancel(tn_rt_session *s);
void tn_rt_set_deadline(tn_rt_session *s, int64_t ns); /* of each run, from its beginning; 0: none */
/* Called before each step of the main region with the number of steps done; true cancels the run. NULL: nobody. */
typedef bool (*tn_rt_progress)(void *arg, uint32_t done, uint32_t all);
void tn_rt_set_progress(tn_rt_session *s, tn_rt_progress progress, void *arg);
/* Gives back all memory that the next run can make again. Outputs are no longer valid. */
void tn_rt_trim(tn_rt_session *s);

/* Called after every kernel step (control steps call it for the steps inside): for --compare, --trace and --profile. */
typedef tn_status (*tn_rt_hook)(void *arg, uint32_t step, const tn_kcall *call, int64_t ns, tn_error *err);
void tn_rt_set_hook(tn_rt_session *s, tn_rt_hook hook, void *arg);

typedef struct tn_rt_stats {
  int64_t binds, runs;
  int64_t bind_hits;   /* binds whose shape was kept */
  int64_t arena_bytes; /* planned buffers of the main region at the bound shape */
  int64_t live_bytes;  /* largest sum of live buffers: the lower bound of arena_bytes */
  int64_t total_bytes; /* all memory of the session */
} tn_rt_stats;
tn_rt_stats tn_rt_get_stats(const tn_rt_session *s);

#endif
