#include "base/alloc.h"

#include "test.h"

TEST(system_is_aligned_and_keeps_bytes) {
  const tn_allocator a = tn_allocator_system();
  char *p = tn_alloc(a, 100);
  if (!CHECK(p)) return;
  CHECK_EQ_I((uintptr_t)p % 64, 0);
  memset(p, 7, 100);
  p = a.resize(a.self, p, 100, 100000);
  if (!CHECK(p)) return;
  CHECK_EQ_I((uintptr_t)p % 64, 0);
  CHECK(p[0] == 7 && p[99] == 7);
  p = a.resize(a.self, p, 100000, 10);
  if (!CHECK(p)) return;
  CHECK(p[9] == 7);
  tn_free(a, p, 10);
}

TEST(system_refuses_the_absurd) {
  CHECK(!tn_alloc(tn_allocator_system(), SIZE_MAX));
  CHECK(!tn_alloc(tn_allocator_system(), (size_t)PTRDIFF_MAX + 1));
}

TEST(no_bytes_is_an_allocation) {
  void *p = tn_alloc(tn_allocator_system(), 0);
  CHECK(p);
  tn_free(tn_allocator_system(), p, 0);
  tn_free(tn_allocator_system(), NULL, 5);
}

TEST(probe_counts) {
  tn_alloc_probe probe = {.inner = tn_allocator_system()};
  const tn_allocator a = tn_allocator_probe(&probe);
  void *p = tn_alloc(a, 10), *q = tn_alloc(a, 20);
  p = a.resize(a.self, p, 10, 40); /* grows: a call */
  p = a.resize(a.self, p, 40, 5);  /* shrinks: none */
  CHECK_EQ_I(probe.calls, 3);
  CHECK_EQ_I(probe.live_bytes, 25);
  CHECK_EQ_I(probe.peak_bytes, 60);
  tn_free(a, p, 5);
  tn_free(a, q, 20);
  CHECK_EQ_I(probe.calls, 3);
  CHECK_EQ_I(probe.live_bytes, 0);
}

TEST(probe_fails_once_or_forever) {
  for (int forever = 0; forever < 2; forever++) {
    tn_alloc_probe probe = {.inner = tn_allocator_system(), .fail_at = 2, .fail_forever = forever};
    const tn_allocator a = tn_allocator_probe(&probe);
    char *p = tn_alloc(a, 10);
    if (!CHECK(p)) return;
    p[0] = 3;
    CHECK(!a.resize(a.self, p, 10, 20));
    CHECK(p[0] == 3); /* the old block stays */
    void *r = tn_alloc(a, 1);
    CHECK((r == NULL) == (forever != 0));
    tn_free(a, r, 1);
    tn_free(a, p, 10);
    CHECK_EQ_I(probe.live_bytes, 0);
    CHECK_EQ_I(probe.calls, 3);
  }
}
