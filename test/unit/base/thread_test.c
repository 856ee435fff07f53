#include "base/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rest.h"
#include "test.h"

enum { MAX_N = 5000, MAX_WORKERS = 8 };

typedef struct counts {
  int seen[MAX_N]; /* written once each, without atomics: a data race would be a double visit */
  int64_t n, grain;
  tn_pool *pool;
  _Atomic int bad;
  _Atomic int calls;
  bool nested;
} counts;

static void inner(void *arg, int64_t begin, int64_t end, int worker) {
  int64_t *sum = arg;
  if (worker < 0) *sum = -1000000;
  for (int64_t i = begin; i < end; i++) *sum += i;
}

static void visit(void *arg, int64_t begin, int64_t end, int worker) {
  counts *c = arg;
  atomic_fetch_add(&c->calls, 1);
  if (begin < 0 || begin >= end || end > c->n || worker < 0 || worker >= tn_pool_threads(c->pool)) {
    atomic_fetch_add(&c->bad, 1);
    return;
  }
  if (begin % c->grain != 0 || (end % c->grain != 0 && end != c->n)) atomic_fetch_add(&c->bad, 1);
  for (int64_t i = begin; i < end; i++) c->seen[i]++;
  if (c->nested) {
    int64_t sum = 0;
    tn_pool_for(c->pool, 100, 1, inner, &sum);
    if (sum != 4950) atomic_fetch_add(&c->bad, 1);
  }
}

static void check_for(tn_pool *pool, int64_t n, int64_t grain, bool nested) {
  static counts c;
  memset(&c, 0, sizeof c);
  c.n = n;
  c.grain = grain;
  c.pool = pool;
  c.nested = nested;
  tn_pool_for(pool, n, grain, visit, &c);
  int wrong = 0;
  for (int64_t i = 0; i < MAX_N; i++) wrong += c.seen[i] != (i < n);
  if (wrong || atomic_load(&c.bad)) printf("n %d grain %d threads %d\n", (int)n, (int)grain, tn_pool_threads(pool));
  CHECK_EQ_I(wrong, 0);
  CHECK_EQ_I(atomic_load(&c.bad), 0);
  if (n > 0 && n <= grain) CHECK_EQ_I(atomic_load(&c.calls), 1);
  if (n == 0) CHECK_EQ_I(atomic_load(&c.calls), 0);
}

static tn_pool *make_pool(int n_threads) {
  tn_error err = {0};
  tn_pool *pool;
  CHECK_EQ_I(tn_pool_create(tn_allocator_system(), n_threads, &pool, &err), TN_OK);
  return pool;
}

TEST(covers_every_item_once) {
  static const int64_t ns[] = {0, 1, 2, 7, 8, 9, 100, 4097, MAX_N}, grains[] = {1, 3, 16, 1000, 100000};
  for (int n_threads = 0; n_threads <= MAX_WORKERS; n_threads += n_threads < 4 ? 1 : 4) {
    tn_pool *pool = n_threads ? make_pool(n_threads) : NULL;
    CHECK_EQ_I(tn_pool_threads(pool), n_threads ? n_threads : 1);
    for (size_t i = 0; i < TN_COUNT(ns); i++) {
      for (size_t k = 0; k < TN_COUNT(grains); k++) check_for(pool, ns[i], grains[k], false);
    }
    check_for(pool, 1000, 10, true);
    tn_pool_release(pool);
  }
}

TEST(many_jobs_awake_and_asleep) {
  tn_pool *pool = make_pool(3);
  for (int i = 0; i < 300; i++) {
    check_for(pool, 50 + i, 1, false);
    if (i % 100 == 99) (void)usleep(2000); /* long enough for the workers to sleep */
  }
  tn_pool_release(pool);
}

static void add_length(void *arg, int64_t begin, int64_t end, int worker) {
  (void)worker;
  atomic_fetch_add((_Atomic int64_t *)arg, end - begin);
}

TEST(huge_counts) {
  tn_pool *pool = make_pool(2);
  static const int64_t grains[] = {1, INT64_MAX / 2 + 1, INT64_MAX - 1, -5};
  for (size_t i = 0; i < TN_COUNT(grains); i++) {
    _Atomic int64_t sum = 0;
    tn_pool_for(pool, INT64_MAX, grains[i], add_length, &sum);
    CHECK_EQ_I(atomic_load(&sum), INT64_MAX);
  }
  tn_pool_release(pool);
}

TEST(release_at_once) {
  for (int i = 0; i < 20; i++) tn_pool_release(make_pool(4));
  tn_pool_release(NULL);
}

TEST(refusals) {
  tn_error err = {0};
  tn_pool *pool;
  CHECK_EQ_I(tn_pool_create(tn_allocator_system(), 1000000, &pool, &err), TN_LIMIT);
  CHECK(!pool);
  CHECK_STR(err.text, "at most 1024 threads, not 1000000");
  tn_alloc_probe probe = {.inner = tn_allocator_system(), .fail_at = 1};
  memset(&err, 0, sizeof err);
  CHECK_EQ_I(tn_pool_create(tn_allocator_probe(&probe), 2, &pool, &err), TN_OOM);
  CHECK(!pool);
}

TEST(memory_is_returned) {
  tn_alloc_probe probe = {.inner = tn_allocator_system()};
  tn_error err = {0};
  tn_pool *pool;
  CHECK_EQ_I(tn_pool_create(tn_allocator_probe(&probe), 3, &pool, &err), TN_OK);
  const int64_t calls = probe.calls;
  check_for(pool, 1000, 1, false);
  CHECK_EQ_I(probe.calls, calls); /* running a job allocates nothing */
  tn_pool_release(pool);
  CHECK_EQ_I(probe.live_bytes, 0);
}

TEST(clock_and_processors) {
  const int64_t t = tn_now_ns();
  CHECK(tn_now_ns() >= t && t > 0);
  CHECK(tn_cpu_count() >= 1);
  tn_pool *pool = make_pool(0);
  CHECK_EQ_I(tn_pool_threads(pool), tn_cpu_count());
  tn_pool_release(pool);
}

static void share_add(void *arg, int64_t begin, int64_t end, int worker) {
  int *sum = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) sum[i] += (int)i;
}

static void *share_main(void *arg) {
  tn_pool *pool = arg;
  for (int round = 0; round < 200; round++) {
    int sum[64] = {0};
    tn_pool_for(pool, 64, 1, share_add, sum);
    for (int i = 0; i < 64; i++)
      if (sum[i] != i) return arg;
  }
  return NULL;
}

TEST(many_callers_share_a_pool) {
  tn_error err = {0};
  tn_pool *pool, *same, *other;
  const tn_pool_options three = {.threads = 3, .spin_us = -1}, two = {.threads = 2, .spin_us = 0, .is_bound = true};
  CHECK_EQ_I(tn_pool_shared(&three, &pool, &err), TN_OK);
  CHECK_EQ_I(tn_pool_shared(&three, &same, &err), TN_OK);
  CHECK_EQ_I(tn_pool_shared(&two, &other, &err), TN_OK);
  CHECK(pool == same && pool != other);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK_EQ_I(pthread_create(&threads[i], NULL, share_main, i < 3 ? pool : other), 0);
  for (int i = 0; i < 4; i++) {
    void *bad;
    CHECK_EQ_I(pthread_join(threads[i], &bad), 0);
    CHECK(!bad);
  }
  tn_pool_release(same);
  CHECK(!share_main(pool)); /* still there */
  tn_pool_release(pool);
  tn_pool_release(other);
  CHECK_EQ_I(tn_pool_shared(&(tn_pool_options){.threads = 1}, &pool, &err), TN_OK);
  CHECK(!pool);
}

/* What a forked child makes of its own has threads; ThreadSanitizer lets no forked child start any. */
static bool child_has_its_own(const tn_pool *parents) {
#ifdef __SANITIZE_THREAD__
  return parents != NULL;
#else
  tn_error err = {0};
  tn_pool *own = NULL;
  const bool ok = tn_pool_shared(&(tn_pool_options){.threads = 2, .spin_us = -1}, &own, &err) == TN_OK &&
                  own != parents && !share_main(own);
  tn_pool_release(own);
  return ok;
#endif
}

TEST(a_forked_child_works_alone) {
  tn_error err = {0};
  tn_pool *pool;
  CHECK_EQ_I(tn_pool_shared(&(tn_pool_options){.threads = 2, .spin_us = -1}, &pool, &err), TN_OK);
  CHECK(!share_main(pool));
  const pid_t child = fork();
  if (child == 0) {
    const bool ok = !share_main(pool) && child_has_its_own(pool);
    tn_pool_release(pool);
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK_EQ_I(status, 0);
  CHECK(!share_main(pool));
  tn_pool_release(pool);
}

TEST(idle_threads_sleep) {
  tn_pool *pool = make_pool(tn_cpu_count() > 1 ? 2 : 1);
  CHECK(!share_main(pool));
  CHECK(test_rests());
  tn_pool_release(pool);
}
