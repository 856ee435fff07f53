/* The thread pool.
 *
 * A job is a number of equal chunks. `ticket` holds (job number << 32 | chunks not yet taken); a chunk is taken by
 * decreasing it. The job's fields are written only while no chunk is untaken or running, and a thread that takes a
 * chunk by compare-and-swap knows that the fields it read before belong to that job. Idle threads spin for a bounded
 * time, then sleep on a condition variable; whoever has news for sleepers looks at their count after publishing, and
 * they look at the news after raising the count, so none is missed. */
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"

enum { THREAD_MAX = 1024, THREAD_CHUNKS = 4, THREAD_SPIN_NS = 50000 };

typedef struct thread_worker {
  tn_pool *pool;
  int index;
  pthread_t handle;
} thread_worker;

struct tn_pool {
  tn_allocator allocator;
  size_t size; /* of this block */
  int n_threads;
  int64_t spin_ns;

  _Atomic uint64_t ticket;
  _Atomic uint32_t unfinished; /* chunks of the current job that have not returned */
  _Atomic int sleepers;
  _Atomic bool caller_sleeps, stop;

  _Atomic(tn_task_fn) fn;
  _Atomic(void *) arg;
  _Atomic int64_t n, chunk, n_chunks;

  pthread_mutex_t mutex;
  pthread_cond_t work, done;
  thread_worker workers[]; /* n_threads - 1 */
};

static _Thread_local const tn_pool *thread_pool; /* whose task this thread is running */
static _Thread_local int thread_index;

int64_t tn_now_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int tn_cpu_count(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  const int64_t n = sysconf(_SC_NPROCESSORS_ONLN); /* more processors than the set has room for */
  return n < 1 ? 1 : n > THREAD_MAX ? THREAD_MAX : (int)n;
}

static void thread_call(const tn_pool *pool, tn_task_fn fn, void *arg, int64_t begin, int64_t end, int index) {
  thread_pool = pool;
  thread_index = index;
  fn(arg, begin, end, index);
  thread_pool = NULL;
}

/* The caller waits for the last chunk; wake it when it sleeps. */
static void thread_finish_chunk(tn_pool *pool) {
  if (atomic_fetch_sub(&pool->unfinished, 1) != 1) return;
  if (!atomic_load(&pool->caller_sleeps)) return;
  (void)pthread_mutex_lock(&pool->mutex);
  (void)pthread_cond_signal(&pool->done);
  (void)pthread_mutex_unlock(&pool->mutex);
}

static bool thread_run_chunk(tn_pool *pool, int index) {
  uint64_t ticket = atomic_load(&pool->ticket);
  for (;;) {
    const int64_t left = (int64_t)(ticket & UINT32_MAX);
    if (left == 0) return false;
    const tn_task_fn fn = atomic_load_explicit(&pool->fn, memory_order_relaxed);
    void *arg = atomic_load_explicit(&pool->arg, memory_order_relaxed);
    const int64_t n = atomic_load_explicit(&pool->n, memory_order_relaxed);
    const int64_t chunk = atomic_load_explicit(&pool->chunk, memory_order_relaxed);
    const int64_t n_chunks = atomic_load_explicit(&pool->n_chunks, memory_order_relaxed);
    if (!atomic_compare_exchange_weak(&pool->ticket, &ticket, ticket - 1)) continue;
    const int64_t begin = (n_chunks - left) * chunk;
    thread_call(pool, fn, arg, begin, n - begin < chunk ? n : begin + chunk, index);
    thread_finish_chunk(pool);
    return true;
  }
}

static bool thread_has_work(tn_pool *pool) {
  return (atomic_load(&pool->ticket) & UINT32_MAX) != 0 || atomic_load(&pool->stop);
}

static bool thread_is_done(tn_pool *pool) { return atomic_load(&pool->unfinished) == 0; }

/* Spins until ready(pool) or the time is up; reading the clock costs more than a look, so it is read rarely. */
static bool thread_spin(tn_pool *pool, bool (*ready)(tn_pool *)) {
  if (ready(pool)) return true;
  if (pool->spin_ns == 0) return false;
  const int64_t until = tn_now_ns() + pool->spin_ns;
  do {
    for (int i = 0; i < 32; i++) {
      if (ready(pool)) return true;
      TN_CPU_RELAX();
    }
  } while (tn_now_ns() < until);
  return false;
}

static void thread_sleep_for_work(tn_pool *pool) {
  (void)pthread_mutex_lock(&pool->mutex);
  (void)atomic_fetch_add(&pool->sleepers, 1);
  while (!thread_has_work(pool)) (void)pthread_cond_wait(&pool->work, &pool->mutex);
  (void)atomic_fetch_sub(&pool->sleepers, 1);
  (void)pthread_mutex_unlock(&pool->mutex);
}

static void thread_wait_done(tn_pool *pool) {
  if (thread_spin(pool, thread_is_done)) return;
  (void)pthread_mutex_lock(&pool->mutex);
  atomic_store(&pool->caller_sleeps, true);
  while (!thread_is_done(pool)) (void)pthread_cond_wait(&pool->done, &pool->mutex);
  atomic_store(&pool->caller_sleeps, false);
  (void)pthread_mutex_unlock(&pool->mutex);
}

static void *thread_main(void *arg) {
  const thread_worker *w = arg;
  while (!atomic_load(&w->pool->stop)) {
    if (thread_run_chunk(w->pool, w->index)) continue;
    if (!thread_spin(w->pool, thread_has_work)) thread_sleep_for_work(w->pool);
  }
  return NULL;
}

static void thread_wake_workers(tn_pool *pool) {
  if (atomic_load(&pool->sleepers) == 0) return;
  (void)pthread_mutex_lock(&pool->mutex);
  (void)pthread_cond_broadcast(&pool->work);
  (void)pthread_mutex_unlock(&pool->mutex);
}

/* Chunks are multiples of grain, a few for each thread. */
static int64_t thread_chunk(int64_t n, int64_t grain, int n_threads) {
  const int64_t pieces = (int64_t)n_threads * THREAD_CHUNKS;
  const int64_t even = n / pieces + (n % pieces != 0), grains = even / grain + (even % grain != 0);
  int64_t chunk;
  return tn_mul_i64(grains, grain, &chunk) ? chunk : n;
}

void tn_pool_for(tn_pool *pool, int64_t n, int64_t grain, tn_task_fn fn, void *arg) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  if (!pool || pool->n_threads == 1 || n <= grain || thread_pool) {
    fn(arg, 0, n, pool && thread_pool == pool ? thread_index : 0);
    return;
  }
  const int64_t chunk = thread_chunk(n, grain, pool->n_threads);
  const int64_t n_chunks = n / chunk + (n % chunk != 0);
  atomic_store_explicit(&pool->fn, fn, memory_order_relaxed);
  atomic_store_explicit(&pool->arg, arg, memory_order_relaxed);
  atomic_store_explicit(&pool->n, n, memory_order_relaxed);
  atomic_store_explicit(&pool->chunk, chunk, memory_order_relaxed);
  atomic_store_explicit(&pool->n_chunks, n_chunks, memory_order_relaxed);
  atomic_store(&pool->unfinished, (uint32_t)n_chunks);
  const uint64_t job = (atomic_load(&pool->ticket) >> 32) + 1;
  atomic_store(&pool->ticket, job << 32 | (uint64_t)n_chunks);
  thread_wake_workers(pool);
  while (thread_run_chunk(pool, 0)) {
  }
  thread_wait_done(pool);
}

static void thread_stop(tn_pool *pool, int n_workers) {
  atomic_store(&pool->stop, true);
  thread_wake_workers(pool);
  for (int i = 0; i < n_workers; i++) (void)pthread_join(pool->workers[i].handle, NULL);
  (void)pthread_cond_destroy(&pool->done);
  (void)pthread_cond_destroy(&pool->work);
  (void)pthread_mutex_destroy(&pool->mutex);
  tn_free(pool->allocator, pool, pool->size);
}

/* Starts the workers with all signals blocked: the host's handlers are to run on the host's threads. */
static int thread_start(tn_pool *pool, int *out_started) {
  sigset_t all, old;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &old);
  int number = 0, i = 0;
  for (; i < pool->n_threads - 1; i++) {
    pool->workers[i].pool = pool;
    pool->workers[i].index = i + 1;
    number = pthread_create(&pool->workers[i].handle, NULL, thread_main, &pool->workers[i]);
    if (number) break;
  }
  (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
  *out_started = i;
  return number;
}

tn_status tn_pool_create(tn_allocator allocator, int n_threads, tn_pool **out, tn_error *err) {
  *out = NULL;
  const int n_cpus = tn_cpu_count(), n = n_threads <= 0 ? n_cpus : n_threads;
  if (n > THREAD_MAX) return tn_error_set(err, TN_LIMIT, "at most %d threads, not %d", THREAD_MAX, n);
  const size_t size = sizeof(tn_pool) + (size_t)(n - 1) * sizeof(thread_worker);
  tn_pool *pool = tn_alloc(allocator, size);
  if (!pool) return tn_error_set(err, TN_OOM, "no memory for a pool of %d threads", n);
  memset(pool, 0, size);
  pool->allocator = allocator;
  pool->size = size;
  pool->n_threads = n;
  pool->spin_ns = n <= n_cpus ? THREAD_SPIN_NS : 0; /* with fewer processors than threads spinning delays the others */
  (void)pthread_mutex_init(&pool->mutex, NULL);
  (void)pthread_cond_init(&pool->work, NULL);
  (void)pthread_cond_init(&pool->done, NULL);
  int started;
  const int number = thread_start(pool, &started);
  if (number) {
    thread_stop(pool, started);
    const char *why = number == EAGAIN ? "the system allows no more" : "the system refused";
    return tn_error_set(err, TN_LIMIT, "cannot start thread %d of %d: %s", started + 1, n, why);
  }
  *out = pool;
  return TN_OK;
}

void tn_pool_release(tn_pool *pool) {
  if (pool) thread_stop(pool, pool->n_threads - 1);
}

int tn_pool_threads(const tn_pool *pool) { return pool ? pool->n_threads : 1; }
