/* A list of ids 0..n-1 in which "a comes before b" costs one comparison and moving an id costs amortised O(log n)
 * (labels, spread again over the smallest thin enough range when a gap is full: Dietz and Sleator 1987; Bender, Cole,
 * Demaine, Farach-Colton, Zito 2002). */
#ifndef TN_BASE_ORDER_H
#define TN_BASE_ORDER_H

#include <stdbool.h>

#include "base/arena.h"

typedef struct tn_order { /* the element n is the list's head, before the first and after the last id */
  uint32_t n;
  uint64_t *label; /* grows along the list; that of the head is 0 */
  uint32_t *prev, *next;
} tn_order;

/* The list 0, 1, ..., n-1. n < 2^31. */
void tn_order_init(tn_order *o, tn_arena *a, uint32_t n);
static inline bool tn_order_before(const tn_order *o, uint32_t x, uint32_t y) { return o->label[x] < o->label[y]; }
/* x goes out of its place to the one right before or after `at`; x != at. */
void tn_order_move_before(tn_order *o, uint32_t x, uint32_t at);
void tn_order_move_after(tn_order *o, uint32_t x, uint32_t at);

#endif
