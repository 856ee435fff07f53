/* Sorting of ids in place, without memory of its own. */
#ifndef TN_BASE_SORT_H
#define TN_BASE_SORT_H

#include <stdbool.h>
#include <stdint.h>

/* Heapsort, O(n log n) whatever the order was. `is_before` is a strict total order, so the result is unique. */
typedef bool (*tn_sort_order)(const void *arg, uint32_t x, uint32_t y);
void tn_sort_ids(uint32_t *ids, uint32_t n, tn_sort_order is_before, const void *arg);

#endif
