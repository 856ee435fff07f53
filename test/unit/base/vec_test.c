#include "base/vec.h"

#include "test.h"

TEST(push_keeps_all) {
  jmp_buf oom;
  tn_arena a;
  tn_arena_init(&a, tn_allocator_system(), &oom);
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  TN_VEC(int64_t) v = {0};
  for (int64_t i = 0; i < 10000; i++) tn_vec_push(&a, &v, i * i);
  CHECK_EQ_I(v.n, 10000);
  for (int64_t i = 0; i < 10000; i++) CHECK(v.at[i] == i * i);
  CHECK(a.bytes < 10000 * sizeof(int64_t) * 6);
  tn_arena_drop(&a);
}

TEST(grow_to_need) {
  jmp_buf oom;
  tn_arena a;
  tn_arena_init(&a, tn_allocator_system(), &oom);
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  size_t cap = 0;
  char *p = tn_vec_grow(&a, NULL, 0, &cap, 3, 1);
  CHECK(cap >= 3);
  p[2] = 5;
  p = tn_vec_grow(&a, p, 3, &cap, 1000, 1);
  CHECK(cap >= 1000 && p[2] == 5);
  tn_arena_drop(&a);
}

TEST(too_many_is_no_memory) {
  jmp_buf oom;
  tn_arena a;
  tn_arena_init(&a, tn_allocator_system(), &oom);
  size_t cap = SIZE_MAX / 2 + 1;
  if (setjmp(oom) == 0) {
    (void)tn_vec_grow(&a, NULL, 0, &cap, SIZE_MAX, 8);
    CHECK(false);
  }
  tn_arena_drop(&a);
}
