#include "base/map.h"

#include "test.h"

TEST(insertion_order) {
  jmp_buf oom;
  tn_arena a;
  tn_arena_init(&a, tn_allocator_system(), &oom);
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  tn_map m = {0};
  uint64_t v = 42;
  CHECK(!tn_map_find(&m, 0, &v));
  for (uint64_t i = 0; i < 5000; i++) tn_map_set(&a, &m, i * 0x100000001u, i);
  for (uint64_t i = 0; i < 5000; i += 2) tn_map_set(&a, &m, i * 0x100000001u, i + 1000000);
  CHECK_EQ_I(m.n, 5000);
  for (uint64_t i = 0; i < 5000; i++) {
    CHECK(m.entries[i].key == i * 0x100000001u);
    CHECK(tn_map_find(&m, i * 0x100000001u, &v) && v == (i % 2 ? i : i + 1000000));
  }
  v = 42;
  CHECK(!tn_map_find(&m, 77, &v));
  CHECK_EQ_I(v, 42);
  CHECK(tn_map_find(&m, 0, NULL));
  CHECK(tn_map_find(&m, 0, &v));
  tn_arena_drop(&a);
}

TEST(pointers) {
  jmp_buf oom;
  tn_arena a;
  tn_arena_init(&a, tn_allocator_system(), &oom);
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  tn_map m = {0};
  int x = 1, y = 2;
  tn_map_set_ptr(&a, &m, &x, &y);
  CHECK(tn_map_find_ptr(&m, &x) == &y);
  CHECK(!tn_map_find_ptr(&m, &y));
  tn_map_set(&a, &m, UINT64_MAX, 0);
  uint64_t v = 1;
  CHECK(tn_map_find(&m, UINT64_MAX, &v) && v == 0);
  tn_arena_drop(&a);
}
