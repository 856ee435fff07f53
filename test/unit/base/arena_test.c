#include "base/arena.h"

#include "base/status.h"
#include "test.h"

#if TN_ASAN
#include <sanitizer/asan_interface.h>
#endif

TEST(aligned_zeroed_and_apart) {
  jmp_buf oom;
  tn_alloc_probe probe = {.inner = tn_allocator_system()};
  tn_arena a;
  tn_arena_init(&a, tn_allocator_probe(&probe), &oom);
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  char *blocks[300];
  for (int i = 0; i < 300; i++) {
    blocks[i] = tn_arena_zero(&a, (size_t)i, 7);
    CHECK_EQ_I((uintptr_t)blocks[i] % 8, 0);
    for (int k = 0; k < i * 7; k++) CHECK(blocks[i][k] == 0);
    memset(blocks[i], i & 127, (size_t)i * 7);
  }
  for (int i = 0; i < 300; i++) {
    for (int k = 0; k < i * 7; k++) CHECK(blocks[i][k] == (i & 127));
  }
  char *big = tn_arena_alloc(&a, 5, 1 << 20);
  big[5 * (1 << 20) - 1] = 1;
  CHECK_EQ_I(a.bytes, probe.live_bytes);
  tn_arena_drop(&a);
  CHECK_EQ_I(probe.live_bytes, 0);
  CHECK_STR(tn_arena_copy_str(&a, tn_str_of("again")), "again");
  tn_arena_drop(&a);
  CHECK_EQ_I(probe.live_bytes, 0);
}

TEST(reserved) {
  jmp_buf oom;
  tn_arena a;
  tn_arena_init(&a, tn_allocator_system(), &oom);
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  tn_arena_reserve(&a, 1000);
  CHECK_EQ_I(a.bytes, 0); /* too little to matter */
  tn_arena_reserve(&a, 3 << 20);
  const size_t bytes = a.bytes;
  CHECK(bytes >= 3 << 20);
  for (int i = 0; i < 1500; i++) (void)tn_arena_alloc(&a, 1, 1024);
  (void)tn_arena_alloc(&a, 1, 1 << 20);
  CHECK_EQ_I(a.bytes, bytes);
  tn_arena_reserve(&a, SIZE_MAX);
  CHECK(a.bytes > bytes && a.bytes < bytes + (40 << 20));
  tn_arena_drop(&a);
}

static tn_status arena_never(tn_arena *a, jmp_buf *oom, size_t n, size_t size) {
  if (setjmp(*oom)) return TN_OOM;
  (void)tn_arena_alloc(a, n, size);
  return TN_OK;
}

TEST(overflow_and_exhaustion_jump) {
  jmp_buf oom;
  tn_alloc_probe probe = {.inner = tn_allocator_system(), .fail_at = 2, .fail_forever = true};
  tn_arena a;
  tn_arena_init(&a, tn_allocator_probe(&probe), &oom);
  CHECK_EQ_I(arena_never(&a, &oom, SIZE_MAX / 2, 3), TN_OOM);
  CHECK_EQ_I(arena_never(&a, &oom, SIZE_MAX, 1), TN_OOM);
  CHECK_EQ_I(arena_never(&a, &oom, SIZE_MAX - 15, 1), TN_OOM);
  CHECK_EQ_I(probe.calls, 0);
  CHECK_EQ_I(arena_never(&a, &oom, 10, 1), TN_OK);
  CHECK_EQ_I(arena_never(&a, &oom, 1 << 20, 1), TN_OOM);
  CHECK_EQ_I(arena_never(&a, &oom, 10, 1), TN_OK); /* the first block still has room */
  tn_arena_drop(&a);
  CHECK_EQ_I(probe.live_bytes, 0);
}

TEST(strings) {
  jmp_buf oom;
  tn_arena a;
  tn_arena_init(&a, tn_allocator_system(), &oom);
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  CHECK_STR(tn_arena_copy_str(&a, (tn_str){"abcdef", 3}), "abc");
  CHECK_STR(tn_arena_copy_str(&a, (tn_str){NULL, 0}), "");
  CHECK_STR(tn_arena_printf(&a, "%s-%d", "x", 12), "x-12");
  static char text[50001];
  memset(text, 'y', 50000);
  CHECK_EQ_I(strlen(tn_arena_printf(&a, "%s!", text)), 50001);
  tn_arena_drop(&a);
}

#if TN_ASAN
TEST(red_zones) {
  jmp_buf oom;
  tn_arena a;
  tn_arena_init(&a, tn_allocator_system(), &oom);
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  char *p = tn_arena_alloc(&a, 1, 13), *q = tn_arena_alloc(&a, 0, 1);
  CHECK(!__asan_address_is_poisoned(p + 12));
  CHECK(__asan_address_is_poisoned(p + 13));
  CHECK(__asan_address_is_poisoned(p + 16));
  CHECK(__asan_address_is_poisoned(q));
  CHECK(q != p);
  tn_arena_drop(&a);
}
#endif
