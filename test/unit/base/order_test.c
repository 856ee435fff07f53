/* base/order.h against a plain array. */
#include "base/order.h"
#include "test/unit/test.h"

enum { MANY = 3000 };

static tn_arena arena;
static jmp_buf oom;

static uint64_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

static void array_move(uint32_t *list, uint32_t n, uint32_t x, uint32_t at, bool is_before) {
  uint32_t k = 0;
  while (list[k] != x) k++;
  memmove(list + k, list + k + 1, (n - k - 1) * sizeof *list);
  k = 0;
  while (list[k] != at) k++;
  if (!is_before) k++;
  memmove(list + k + 1, list + k, (n - 1 - k) * sizeof *list);
  list[k] = x;
}

static bool same_order(const tn_order *o, const uint32_t *list) {
  uint32_t x = o->next[o->n];
  for (uint32_t i = 0; i < o->n; i++, x = o->next[x]) {
    if (x != list[i]) return false;
    if (i && !tn_order_before(o, list[i - 1], x)) return false;
  }
  return x == o->n;
}

TEST(random_moves) {
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  tn_arena_init(&arena, tn_allocator_system(), &oom);
  uint64_t state = 7;
  for (uint32_t n = 2; n < 60; n++) {
    tn_order o;
    uint32_t list[60];
    tn_order_init(&o, &arena, n);
    for (uint32_t i = 0; i < n; i++) list[i] = i;
    for (int k = 0; k < 400; k++) {
      const uint32_t x = (uint32_t)(next_random(&state) % n);
      const uint32_t at = (x + 1 + (uint32_t)(next_random(&state) % (n - 1))) % n;
      const bool is_before = next_random(&state) & 1;
      if (is_before)
        tn_order_move_before(&o, x, at);
      else
        tn_order_move_after(&o, x, at);
      array_move(list, n, x, at, is_before);
      if (!CHECK(same_order(&o, list))) return;
    }
  }
  tn_arena_drop(&arena);
}

/* All go to one place, which fills its gap again and again. */
TEST(one_place) {
  if (setjmp(oom)) {
    CHECK(false);
    return;
  }
  tn_arena_init(&arena, tn_allocator_system(), &oom);
  tn_order o;
  tn_order_init(&o, &arena, MANY);
  for (uint32_t i = 0; i < MANY - 1; i++) tn_order_move_before(&o, i, MANY - 1);
  for (uint32_t i = 0; i + 1 < MANY; i++) CHECK(tn_order_before(&o, i, i + 1));
  for (uint32_t i = 1; i < MANY; i++) tn_order_move_after(&o, i, 0);
  for (uint32_t i = 1; i + 1 < MANY; i++) CHECK(tn_order_before(&o, i + 1, i));
  tn_arena_drop(&arena);
}
