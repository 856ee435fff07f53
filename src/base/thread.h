/* The only file that knows the OS threads: a pool that divides work by index, so that results cannot depend on the
 * number of threads or their timing. */
#ifndef TN_BASE_THREAD_H
#define TN_BASE_THREAD_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"

typedef struct tn_pool tn_pool;

typedef struct tn_pool_options {
  int threads;   /* counts the caller: 1 makes no thread. <= 0: as many as the process may use (affinity mask) */
  int spin_us;   /* how long idle threads look for work before they sleep; < 0: 50 */
  bool is_bound; /* worker i stays on the i-th processor of the affinity mask */
} tn_pool_options;

TN_MUST_CHECK tn_status tn_pool_create(tn_allocator allocator, int n_threads, tn_pool **out, tn_error *err);
TN_MUST_CHECK tn_status tn_pool_create_with(tn_allocator allocator, const tn_pool_options *o, tn_pool **out,
                                            tn_error *err);
/* The process's pool of these options: made at the first call, shared by all who hold it, ended by the last release.
 * NULL for one thread. */
TN_MUST_CHECK tn_status tn_pool_shared(const tn_pool_options *o, tn_pool **out, tn_error *err);
void tn_pool_retain(tn_pool *pool);       /* NULL is fine */
void tn_pool_release(tn_pool *pool);      /* the last one joins the threads; NULL is fine */
int tn_pool_threads(const tn_pool *pool); /* 1 for NULL */

/* Calls fn(arg, begin, end, worker) over disjoint ranges that cover [0, n), every range a multiple of `grain` items
 * but the last; 0 <= worker < tn_pool_threads(pool). Runs in the caller alone when pool is NULL, n <= grain, when
 * called from inside a running task (nested use is serial), while another thread uses the pool, and in a process that
 * was forked after the pool was made. Returns when all is done. fn must not depend on how ranges are cut. */
typedef void (*tn_task_fn)(void *arg, int64_t begin, int64_t end, int worker);
void tn_pool_for(tn_pool *pool, int64_t n, int64_t grain, tn_task_fn fn, void *arg);

int tn_cpu_count(void);
int64_t tn_now_ns(void); /* monotonic */

#endif
