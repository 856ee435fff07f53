#include "base/order.h"

#include <math.h>

/* Labels use 62 bits, so that sums of two do not wrap. */
enum { ORDER_BITS = 62 };
#define ORDER_END (UINT64_C(1) << ORDER_BITS)

void tn_order_init(tn_order *o, tn_arena *a, uint32_t n) {
  o->n = n;
  o->label = TN_NEW_ARRAY(a, uint64_t, n + 1);
  o->prev = TN_NEW_ARRAY(a, uint32_t, n + 1);
  o->next = TN_NEW_ARRAY(a, uint32_t, n + 1);
  const uint64_t gap = ORDER_END / ((uint64_t)n + 1);
  for (uint32_t i = 0; i <= n; i++) {
    o->label[i] = i == n ? 0 : gap * (i + 1);
    o->prev[i] = i == 0 ? n : i - 1;
    o->next[i] = i == n ? 0 : i + 1;
  }
}

static uint64_t order_label_after(const tn_order *o, uint32_t x) {
  return o->next[x] == o->n ? ORDER_END : o->label[o->next[x]];
}

/* Spreads labels around `at`: the smallest aligned range of 2^k labels that holds at most 2^k / 1.4^k ids. */
static void order_spread(tn_order *o, uint32_t at) {
  uint32_t first = at, last = at;
  uint64_t count = 1;
  for (int k = 1; k <= ORDER_BITS; k++) {
    const uint64_t width = UINT64_C(1) << k, low = o->label[at] & ~(width - 1), high = low + (width - 1);
    while (o->prev[first] != o->n && o->label[o->prev[first]] >= low) first = o->prev[first], count++;
    while (o->next[last] != o->n && o->label[o->next[last]] <= high) last = o->next[last], count++;
    if (k < ORDER_BITS && (double)count > pow(2 / 1.4, k)) continue;
    const uint64_t gap = width / (count + 1);
    if (gap < 2) continue;
    uint64_t label = low;
    for (uint32_t x = first;; x = o->next[x]) {
      o->label[x] = label += gap;
      if (x == last) return;
    }
  }
}

static void order_unlink(tn_order *o, uint32_t x) {
  o->next[o->prev[x]] = o->next[x];
  o->prev[o->next[x]] = o->prev[x];
}

/* x is in no list; `at` may be the head. */
static void order_insert_after(tn_order *o, uint32_t x, uint32_t at) {
  if (order_label_after(o, at) - o->label[at] < 2) order_spread(o, at == o->n ? o->next[at] : at);
  o->label[x] = o->label[at] + (order_label_after(o, at) - o->label[at]) / 2;
  o->prev[x] = at;
  o->next[x] = o->next[at];
  o->prev[o->next[x]] = x;
  o->next[at] = x;
}

void tn_order_move_before(tn_order *o, uint32_t x, uint32_t at) {
  order_unlink(o, x);
  order_insert_after(o, x, o->prev[at]);
}

void tn_order_move_after(tn_order *o, uint32_t x, uint32_t at) {
  order_unlink(o, x);
  order_insert_after(o, x, at);
}
