/* The system allocator and the counting, failing one of the tests. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { ALLOC_ALIGN = 64 };

static void *alloc_system_resize(void *self, void *p, size_t old_size, size_t new_size) {
  (void)self;
  if (new_size == 0) {
    free(p);
    return NULL;
  }
  void *q = NULL;
  if (new_size > PTRDIFF_MAX || posix_memalign(&q, ALLOC_ALIGN, new_size) != 0) return NULL;
  if (p) {
    memcpy(q, p, old_size < new_size ? old_size : new_size);
    free(p);
  }
  return q;
}

tn_allocator tn_allocator_system(void) { return (tn_allocator){NULL, alloc_system_resize}; }

static void alloc_probe_count(tn_alloc_probe *probe, int64_t delta) {
  const int64_t live = __atomic_add_fetch(&probe->live_bytes, delta, __ATOMIC_RELAXED);
  int64_t peak = __atomic_load_n(&probe->peak_bytes, __ATOMIC_RELAXED);
  while (live > peak &&
         !__atomic_compare_exchange_n(&probe->peak_bytes, &peak, live, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

static void *alloc_probe_resize(void *self, void *p, size_t old_size, size_t new_size) {
  tn_alloc_probe *probe = self;
  if (new_size > old_size) {
    const int64_t call = __atomic_add_fetch(&probe->calls, 1, __ATOMIC_RELAXED);
    const bool reached = probe->fail_at > 0 && call >= probe->fail_at;
    if (reached && (probe->fail_forever || call == probe->fail_at)) return NULL;
  }
  void *q = probe->inner.resize(probe->inner.self, p, old_size, new_size);
  if (q || new_size == 0) alloc_probe_count(probe, (int64_t)new_size - (int64_t)old_size);
  return q;
}

tn_allocator tn_allocator_probe(tn_alloc_probe *probe) { return (tn_allocator){probe, alloc_probe_resize}; }
