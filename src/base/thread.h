/* The only file that knows the OS threads: a pool that divides work by index, so that results cannot depend on the
 * number of threads or their timing. */
#ifndef TN_BASE_THREAD_H
#define TN_BASE_THREAD_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"

typedef struct tn_pool tn_pool;

/* n_threads counts the caller: 1 makes no thread. <= 0: as many as the process may use (affinity mask). Workers spin
 * for a bounded time after work, then sleep. */
TN_MUST_CHECK tn_status tn_pool_create(tn_allocator allocator, int n_threads, tn_pool **out, tn_error *err);
void tn_pool_release(tn_pool *pool);      /* joins the threads; NULL is fine */
int tn_pool_threads(const tn_pool *pool); /* 1 for NULL */

/* Calls fn(arg, begin, end, worker) over disjoint ranges that cover [0, n), every range a multiple of `grain` items
 * but the last; 0 <= worker < tn_pool_threads(pool). Runs in the caller when pool is NULL, n <= grain, or when called
 * from inside a running task (nested use is serial). Returns when all is done. fn must not depend on how ranges are
 * cut. One caller at a time. */
typedef void (*tn_task_fn)(void *arg, int64_t begin, int64_t end, int worker);
void tn_pool_for(tn_pool *pool, int64_t n, int64_t grain, tn_task_fn fn, void *arg);

int tn_cpu_count(void);
int64_t tn_now_ns(void); /* monotonic */

#endif
