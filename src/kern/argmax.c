/* Places of extreme elements: ArgMax, ArgMin, TopK. NaN counts as the largest value. */
#include <math.h>

#include "kern/line.h"
#include "kern/move.h"
#include "kern/order.h"

typedef struct argmax_job {
  const tn_line_isa *isa;
  tn_dtype dtype;
  const void *x;
  int64_t *places;
  int64_t n, inner;
  bool max, last;
} argmax_job;

static int64_t argmax_line(const argmax_job *j, int64_t base) {
  int64_t best = 0, top = tn_order_key(j->dtype, j->x, base);
  for (int64_t i = 1; i < j->n; i++) {
    const int64_t key = tn_order_key(j->dtype, j->x, base + i * j->inner);
    if ((j->max ? key > top : key < top) || (j->last && key == top)) {
      top = key;
      best = i;
    }
  }
  return best;
}
/* The plain case: f32, first place in a contiguous line. */
static int64_t argmax_line_f32(const argmax_job *j, int64_t base) {
  const float *const x = (const float *)j->x + base;
  const float top = j->isa->fold[j->max ? TN_LINE_MAX : TN_LINE_MIN](x, j->n, 0);
  int64_t i = 0;
  if (top != top) return argmax_line(j, base);
  while (i < j->n - 1 && x[i] != top) i++;
  return i;
}
static void argmax_task(void *arg, int64_t begin, int64_t end, int worker) {
  const argmax_job *const j = arg;
  const bool plain = j->dtype == TN_F32 && j->inner == 1 && !j->last;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const int64_t base = i / j->inner * j->n * j->inner + i % j->inner;
    j->places[i] = plain ? argmax_line_f32(j, base) : argmax_line(j, base);
  }
}
static tn_status argmax_run(tn_kcall *k, bool max) {
  TN_TRY(tn_k_tensors(k, 1, 1));
  TN_TRY(tn_k_out_type(k, 0, TN_I64));
  const tn_karg *const x = k->in[0];
  int64_t dims[TN_K_MAX_RANK];
  int axis, rank = 0;
  if (!tn_dtype_is_float(x->dtype) && !tn_dtype_is_int(x->dtype)) return tn_k_no_dtype(k, 0);
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", 0), x->rank, &axis));
  for (int d = 0; d < x->rank; d++) {
    if (d != axis) dims[rank++] = x->dims[d];
    if (d == axis && tn_k_int(k, "keepdims", 1)) dims[rank++] = 1;
  }
  TN_TRY(tn_k_out(k, 0, rank, dims));
  argmax_job j = {.isa = tn_line_isa_get(),
                  .dtype = x->dtype,
                  .x = x->data,
                  .places = k->out[0]->data,
                  .n = x->dims[axis],
                  .max = max};
  j.inner = tn_k_count(x->dims, axis + 1, x->rank);
  j.last = tn_k_int(k, "select_last_index", 0) != 0;
  if (k->out[0]->count == 0) return TN_OK;
  if (j.n == 0) return tn_k_fail(k, TN_MISMATCH, "dim %d, which is searched, is 0", axis);
  tn_pool_for(k->pool, k->out[0]->count, 1 + 8192 / j.n, argmax_task, &j);
  return TN_OK;
}
TN_KERNEL(argmax, TN_K_SIZES) { return argmax_run(k, true); }
TN_KERNEL(argmin, TN_K_SIZES) { return argmax_run(k, false); }

/* --- top_k --- */

typedef struct top_k_item {
  int64_t key, place;
} top_k_item;

typedef struct top_k_job {
  tn_dtype dtype;
  const void *x;
  void *y;
  int64_t *places;
  int64_t n, inner, k;
  bool largest;
  top_k_item *heaps; /* k for each worker */
} top_k_job;

/* Is a behind b? Equal values: the later place is. */
static bool top_k_behind(const top_k_item *a, const top_k_item *b) {
  return a->key != b->key ? a->key < b->key : a->place > b->place;
}
/* The heap has the hindmost item on top. */
static void top_k_sink(top_k_item *heap, int64_t n, int64_t i) {
  const top_k_item moved = heap[i];
  for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
    if (child + 1 < n && top_k_behind(&heap[child + 1], &heap[child])) child++;
    if (!top_k_behind(&heap[child], &moved)) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = moved;
}
static void top_k_line(const top_k_job *j, top_k_item *heap, int64_t from) {
  const int64_t k = j->k;
  const float *const plain = j->dtype == TN_F32 ? (const float *)j->x + from : NULL;
  for (int64_t i = 0; i < j->n; i++) {
    const int64_t key =
        plain ? tn_order_key_f32(plain[i * j->inner]) : tn_order_key(j->dtype, j->x, from + i * j->inner);
    if (i >= k && (j->largest ? key : ~key) <= heap[0].key) continue; /* an equal one further on is behind */
    const top_k_item item = {j->largest ? key : ~key, i};
    if (i < k) {
      heap[i] = item;
      for (int64_t at = k / 2 - 1; i == k - 1 && at >= 0; at--) top_k_sink(heap, k, at);
    } else if (top_k_behind(&heap[0], &item)) {
      heap[0] = item;
      top_k_sink(heap, k, 0);
    }
  }
  for (int64_t n = k - 1; n > 0; n--) { /* best first */
    const top_k_item hindmost = heap[0];
    heap[0] = heap[n];
    top_k_sink(heap, n, 0);
    heap[n] = hindmost;
  }
}
static void top_k_task(void *arg, int64_t begin, int64_t end, int worker) {
  const top_k_job *const j = arg;
  top_k_item *const heap = j->heaps + worker * j->k;
  for (int64_t line = begin; line < end; line++) {
    const int64_t from = line / j->inner * j->n * j->inner + line % j->inner;
    const int64_t to = line / j->inner * j->k * j->inner + line % j->inner;
    top_k_line(j, heap, from);
    for (int64_t i = 0; i < j->k; i++) {
      if (j->y) tn_copy_element(j->dtype, j->y, to + i * j->inner, j->x, from + heap[i].place * j->inner);
      if (j->places) j->places[to + i * j->inner] = heap[i].place;
    }
  }
}
TN_KERNEL(top_k, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 2, 0));
  const tn_karg *const x = k->in[0];
  int64_t dims[TN_K_MAX_RANK], count, room;
  int axis;
  if (!tn_dtype_is_float(x->dtype) && !tn_dtype_is_int(x->dtype)) return tn_k_no_dtype(k, 0);
  TN_TRY(tn_k_out_type(k, 0, x->dtype));
  TN_TRY(tn_k_out_type(k, 1, TN_I64));
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", -1), x->rank, &axis));
  TN_TRY(tn_k_scalar(k, 1, 0, &count));
  if (count < 0 || count > x->dims[axis])
    return tn_k_fail(k, TN_MISMATCH, "k is %lld, but dim %d is %lld", (long long)count, axis, (long long)x->dims[axis]);
  for (int d = 0; d < x->rank; d++) dims[d] = d == axis ? count : x->dims[d];
  TN_TRY(tn_k_out(k, 0, x->rank, dims));
  TN_TRY(tn_k_out(k, 1, x->rank, dims));
  top_k_job j = {.dtype = x->dtype, .x = x->data, .n = x->dims[axis], .k = count};
  j.y = tn_k_outp(k, 0) ? k->out[0]->data : NULL;
  j.places = tn_k_outp(k, 1) ? k->out[1]->data : NULL;
  j.inner = tn_k_count(x->dims, axis + 1, x->rank);
  j.largest = tn_k_int(k, "largest", 1) != 0;
  const int64_t lines = tn_k_count(x->dims, 0, axis) * j.inner;
  if (count == 0 || lines == 0) return TN_OK;
  void *heaps;
  if (!tn_mul_i64(count, tn_pool_threads(k->pool), &room)) return tn_k_fail(k, TN_LIMIT, "k is too large");
  TN_TRY(tn_k_room(k, room, sizeof(top_k_item), &heaps));
  j.heaps = heaps;
  tn_pool_for(tn_dtype_bits(x->dtype) < 8 ? NULL : k->pool, lines, 1 + 2048 / j.n, top_k_task, &j);
  return TN_OK;
}
