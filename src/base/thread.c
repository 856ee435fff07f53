/* The thread pool.
 *
 * A job is a number of equal chunks. `ticket` holds (job number << 32 | chunks not yet taken); a chunk is taken by
 * decreasing it. The job's fields are written only while no chunk is untaken or running, and a thread that takes a
 * chunk by compare-and-swap knows that the fields it read before belong to that job. Idle threads spin for a bounded
 * time, then sleep on a condition variable; whoever has news for sleepers looks at their count after publishing, and
 * they look at the news after raising the count, so none is missed.
 *
 * Several threads may share a pool: whoever finds it busy does its work alone. After a fork the child has none of the
 * threads: `generation` tells, and its work is done by the caller. */
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

enum { THREAD_MAX = 1024, THREAD_CHUNKS = 4, THREAD_SPIN_US = 50 };

typedef struct thread_worker {
  tn_pool *pool;
  int index;
  pthread_t handle;
} thread_worker;

struct tn_pool {
  tn_allocator allocator;
  size_t size; /* of this block */
  int n_threads;
  int refs; /* guarded by thread_registry */
  uint32_t generation;
  tn_pool_options options; /* as asked for: of a shared pool */
  tn_pool *next;           /* shared pools */
  int64_t spin_ns;
  _Atomic bool busy; /* someone's job runs */

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

static pthread_mutex_t thread_registry = PTHREAD_MUTEX_INITIALIZER;
static tn_pool *thread_shared;             /* guarded by thread_registry */
static _Atomic uint32_t thread_generation; /* raised in the child of a fork */
static pthread_once_t thread_fork_once = PTHREAD_ONCE_INIT;

static void thread_fork_lock(void) { (void)pthread_mutex_lock(&thread_registry); }
static void thread_fork_unlock(void) { (void)pthread_mutex_unlock(&thread_registry); }
static void thread_fork_child(void) {
  thread_shared = NULL;
  (void)atomic_fetch_add(&thread_generation, 1);
  thread_fork_unlock();
}
static void thread_fork_watch(void) { (void)pthread_atfork(thread_fork_lock, thread_fork_unlock, thread_fork_child); }

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

static void thread_post(tn_pool *pool, int64_t n, int64_t grain, tn_task_fn fn, void *arg) {
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
}

void tn_pool_for(tn_pool *pool, int64_t n, int64_t grain, tn_task_fn fn, void *arg) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  const bool alone = !pool || pool->n_threads == 1 || n <= grain || thread_pool ||
                     pool->generation != atomic_load_explicit(&thread_generation, memory_order_relaxed);
  if (alone || atomic_exchange(&pool->busy, true)) {
    fn(arg, 0, n, pool && thread_pool == pool ? thread_index : 0);
    return;
  }
  thread_post(pool, n, grain, fn, arg);
  thread_wake_workers(pool);
  while (thread_run_chunk(pool, 0)) {
  }
  thread_wait_done(pool);
  atomic_store(&pool->busy, false);
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

/* Places a worker on the processor of its number, round and round. A refusal leaves it free. */
static void thread_bind(pthread_t handle, int number) {
  cpu_set_t mask, one;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0 || CPU_COUNT(&mask) == 0) return;
  int left = number % CPU_COUNT(&mask);
  for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &mask) || left-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    (void)pthread_setaffinity_np(handle, sizeof one, &one);
    return;
  }
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
    if (pool->options.is_bound) thread_bind(pool->workers[i].handle, i + 1);
  }
  (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
  *out_started = i;
  return number;
}

tn_status tn_pool_create_with(tn_allocator allocator, const tn_pool_options *o, tn_pool **out, tn_error *err) {
  *out = NULL;
  const int n_cpus = tn_cpu_count(), n = o->threads <= 0 ? n_cpus : o->threads;
  const int64_t spin_us = o->spin_us < 0 ? THREAD_SPIN_US : o->spin_us;
  if (n > THREAD_MAX) return tn_error_set(err, TN_LIMIT, "at most %d threads, not %d", THREAD_MAX, n);
  const size_t size = sizeof(tn_pool) + (size_t)(n - 1) * sizeof(thread_worker);
  tn_pool *pool = tn_alloc(allocator, size);
  if (!pool) return tn_error_set(err, TN_OOM, "no memory for a pool of %d threads", n);
  memset(pool, 0, size);
  (void)pthread_once(&thread_fork_once, thread_fork_watch);
  pool->allocator = allocator;
  pool->size = size;
  pool->n_threads = n;
  pool->refs = 1;
  pool->generation = atomic_load(&thread_generation);
  pool->options = *o;
  pool->spin_ns = n <= n_cpus ? spin_us * 1000 : 0; /* with fewer processors than threads spinning delays the others */
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

tn_status tn_pool_create(tn_allocator allocator, int n_threads, tn_pool **out, tn_error *err) {
  return tn_pool_create_with(allocator, &(tn_pool_options){.threads = n_threads, .spin_us = -1}, out, err);
}

static bool thread_same_options(const tn_pool_options *x, const tn_pool_options *y) {
  return x->threads == y->threads && x->spin_us == y->spin_us && x->is_bound == y->is_bound;
}

tn_status tn_pool_shared(const tn_pool_options *o, tn_pool **out, tn_error *err) {
  tn_pool_options full = *o;
  if (full.threads <= 0) full.threads = tn_cpu_count();
  *out = NULL;
  if (full.threads == 1) return TN_OK;
  tn_status status = TN_OK;
  thread_fork_lock();
  tn_pool *pool = thread_shared;
  while (pool && !thread_same_options(&pool->options, &full)) pool = pool->next;
  if (pool) {
    pool->refs++;
  } else {
    status = tn_pool_create_with(tn_allocator_system(), &full, &pool, err);
    if (status == TN_OK) {
      pool->next = thread_shared;
      thread_shared = pool;
    }
  }
  thread_fork_unlock();
  *out = pool;
  return status;
}

void tn_pool_retain(tn_pool *pool) {
  if (!pool) return;
  thread_fork_lock();
  pool->refs++;
  thread_fork_unlock();
}

void tn_pool_release(tn_pool *pool) {
  if (!pool) return;
  thread_fork_lock();
  const bool is_last = --pool->refs == 0;
  for (tn_pool **at = &thread_shared; is_last && *at; at = &(*at)->next) {
    if (*at != pool) continue;
    *at = pool->next;
    break;
  }
  thread_fork_unlock();
  if (!is_last) return;
  if (pool->generation == atomic_load(&thread_generation))
    thread_stop(pool, pool->n_threads - 1);
  else /* the threads are in another process */
    tn_free(pool->allocator, pool, pool->size);
}

int tn_pool_threads(const tn_pool *pool) { return pool ? pool->n_threads : 1; }
