/* Growth of the typed arrays of vec.h. */
#include "base/vec.h"

#include "base/checked.h"

void *tn_vec_grow(tn_arena *a, void *at, size_t n, size_t *cap, size_t need, size_t size) {
  size_t next = *cap < 8 ? 8 : *cap;
  if (*cap >= 8 && !tn_mul_size(*cap, 2, &next)) next = SIZE_MAX;
  if (next < need) next = need;
  void *p = tn_arena_alloc(a, next, size);
  if (n) memcpy(p, at, n * size);
  *cap = next;
  return p;
}
