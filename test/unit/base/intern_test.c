#include "base/intern.h"

#include "test.h"

TEST(equal_strings_are_one_pointer) {
  jmp_buf oom;
  tn_arena a;
  tn_arena_init(&a, tn_allocator_system(), &oom);
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  tn_intern t;
  tn_intern_init(&t, &a);
  CHECK(!tn_intern_find(&t, tn_str_of("k1")));
  const char *kept[3000];
  char z[20];
  for (int i = 0; i < 3000; i++) {
    snprintf(z, sizeof z, "k%d", i);
    kept[i] = tn_intern_str(&t, tn_str_of(z));
    CHECK_STR(kept[i], z);
  }
  for (int i = 0; i < 3000; i++) {
    snprintf(z, sizeof z, "k%d", i);
    CHECK(tn_intern_str(&t, tn_str_of(z)) == kept[i]);
    CHECK(tn_intern_find(&t, tn_str_of(z)) == kept[i]);
  }
  CHECK_EQ_I(t.n, 3000);
  CHECK(!tn_intern_find(&t, tn_str_of("k3000")));
  tn_arena_drop(&a);
}

TEST(bytes_after_nul_count) {
  jmp_buf oom;
  tn_arena a;
  tn_arena_init(&a, tn_allocator_system(), &oom);
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  tn_intern t;
  tn_intern_init(&t, &a);
  const char *x = tn_intern_str(&t, (tn_str){"a\0b", 3}), *y = tn_intern_str(&t, (tn_str){"a\0c", 3});
  CHECK(x != y && x != tn_intern_str(&t, tn_str_of("a")));
  CHECK_STR(x, "a");
  CHECK(memcmp(y, "a\0c", 4) == 0);
  const char *empty = tn_intern_str(&t, (tn_str){NULL, 0});
  CHECK_STR(empty, "");
  CHECK(empty == tn_intern_str(&t, tn_str_of("")));
  tn_arena_drop(&a);
}
