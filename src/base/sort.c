#include "base/sort.h"

static void sort_sift(uint32_t *heap, uint32_t n, uint32_t at, tn_sort_order is_before, const void *arg) {
  const uint32_t x = heap[at];
  while (at < n / 2) {
    uint32_t child = 2 * at + 1;
    if (child + 1 < n && is_before(arg, heap[child], heap[child + 1])) child++;
    if (!is_before(arg, x, heap[child])) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = x;
}

void tn_sort_ids(uint32_t *ids, uint32_t n, tn_sort_order is_before, const void *arg) {
  for (uint32_t i = n / 2; i-- > 0;) sort_sift(ids, n, i, is_before, arg);
  for (uint32_t i = n; i-- > 1;) {
    const uint32_t most = ids[0];
    ids[0] = ids[i];
    ids[i] = most;
    sort_sift(ids, i, 0, is_before, arg);
  }
}
