/* Kernels that find out how much comes out: NonZero, Compress, NonMaxSuppression. They count first and write second. */
#include <math.h>

#include "kern/move.h"

static bool select_is_nonzero(const tn_karg *x, int64_t i) {
  switch (x->dtype) {
    case TN_BOOL:
    case TN_U8:
    case TN_I8:
      return ((const uint8_t *)x->data)[i] != 0;
    case TN_I64:
    case TN_U64:
      return ((const uint64_t *)x->data)[i] != 0;
    case TN_STR:
      return ((const tn_str *)x->data)[i].len > 0;
    case TN_C64:
    case TN_C128: {
      const tn_dtype part = x->dtype == TN_C64 ? TN_F32 : TN_F64;
      const double re = tn_load_f64(part, x->data, 2 * i), im = tn_load_f64(part, x->data, 2 * i + 1);
      return !(re >= 0 && re <= 0 && im >= 0 && im <= 0);
    }
    default:
      break;
  }
  const double v = tn_load_f64(x->dtype, x->data, i);
  return !(v >= 0 && v <= 0);
}

TN_KERNEL(non_zero, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 1, 1));
  TN_TRY(tn_k_out_type(k, 0, TN_I64));
  const tn_karg *const x = k->in[0];
  int64_t dims[2] = {x->rank, 0}, index[TN_K_MAX_RANK] = {0}, at = 0;
  for (int64_t i = 0; i < x->count; i++) dims[1] += select_is_nonzero(x, i);
  TN_TRY(tn_k_out(k, 0, 2, dims));
  int64_t *const y = k->out[0]->data;
  const int last = x->rank - 1;
  for (int64_t i = 0, row = x->rank > 0 ? x->dims[last] : 1; i < x->count; i += row) {
    for (int64_t e = 0; e < row; e++) {
      if (!select_is_nonzero(x, i + e)) continue;
      for (int d = 0; d < last; d++) y[d * dims[1] + at] = index[d];
      if (last >= 0) y[last * dims[1] + at] = e;
      at++;
    }
    (void)tn_k_next(last, x->dims, index);
  }
  return TN_OK;
}

TN_KERNEL(compress, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  const tn_karg *const x = k->in[0];
  const tn_karg *const condition = k->in[1];
  const tn_kattr *const attr = tn_k_attr(k, "axis");
  int64_t dims[TN_K_MAX_RANK + 1], outer = 1, inner = 1, length = x->count, kept = 0, to = 0;
  int axis = 0;
  if (condition->dtype != TN_BOOL) return tn_k_no_dtype(k, 1);
  if (attr) {
    TN_TRY(tn_k_axis(k, attr->i, x->rank, &axis));
    outer = tn_k_count(x->dims, 0, axis);
    length = x->dims[axis];
    inner = tn_k_count(x->dims, axis + 1, x->rank);
  }
  const uint8_t *const keep = condition->data;
  const int64_t n = condition->count < length ? condition->count : length;
  for (int64_t i = 0; i < n; i++) kept += keep[i] != 0;
  for (int d = 0; d < x->rank; d++) dims[d] = x->dims[d];
  dims[axis] = kept;
  TN_TRY(tn_k_out(k, 0, attr ? x->rank : 1, dims));
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < n; i++) {
      if (!keep[i]) continue;
      tn_k_copy(x->dtype, k->out[0]->data, to, x->data, (o * length + i) * inner, inner);
      to += inner;
    }
  return TN_OK;
}

/* --- non_max_suppression --- */

typedef struct select_rect {
  float y0, x0, y1, x1, area;
} select_rect;
typedef struct select_ranked {
  float score;
  int64_t box;
} select_ranked;

static void select_rects(const float *boxes, int64_t n, bool centre, select_rect *out) {
  for (int64_t i = 0; i < n; i++) {
    const float *const v = boxes + 4 * i;
    select_rect r = {fminf(v[0], v[2]), fminf(v[1], v[3]), fmaxf(v[0], v[2]), fmaxf(v[1], v[3]), 0};
    if (centre) r = (select_rect){v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2, 0};
    r.area = (r.y1 - r.y0) * (r.x1 - r.x0);
    out[i] = r;
  }
}
static bool select_overlaps(const select_rect *a, const select_rect *b, float most) {
  const float h = fminf(a->y1, b->y1) - fmaxf(a->y0, b->y0), w = fminf(a->x1, b->x1) - fmaxf(a->x0, b->x0);
  if (h <= 0 || w <= 0 || a->area <= 0 || b->area <= 0) return 0.0f > most;
  const float both = h * w;
  return both / (a->area + b->area - both) > most;
}
static bool select_better(const select_ranked *a, const select_ranked *b) { /* equal scores: the earlier box */
  return a->score != b->score ? a->score > b->score : a->box < b->box;
}
static void select_sink(select_ranked *heap, int64_t n, int64_t i) {
  const select_ranked moved = heap[i];
  for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
    if (child + 1 < n && select_better(&heap[child + 1], &heap[child])) child++;
    if (!select_better(&heap[child], &moved)) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = moved;
}
/* The boxes of one class that stay, best first. */
static int64_t select_class(const select_rect *rects, const float *scores, int64_t n, float least, float most,
                            int64_t limit, select_ranked *heap, int64_t *out) {
  int64_t size = 0, kept = 0;
  for (int64_t i = 0; i < n; i++)
    if (scores[i] > least) heap[size++] = (select_ranked){scores[i], i};
  for (int64_t i = size / 2 - 1; i >= 0; i--) select_sink(heap, size, i);
  while (size > 0 && kept < limit) {
    const int64_t box = heap[0].box;
    heap[0] = heap[--size];
    if (size > 0) select_sink(heap, size, 0);
    bool stays = true;
    for (int64_t p = 0; p < kept && stays; p++) stays = !select_overlaps(&rects[box], &rects[out[p]], most);
    if (stays) out[kept++] = box;
  }
  return kept;
}
static tn_status select_float(tn_kcall *k, int i, float absent, float *out) {
  const tn_karg *const a = tn_k_in(k, i);
  *out = absent;
  if (!a) return TN_OK;
  if (a->dtype != TN_F32) return tn_k_no_dtype(k, i);
  if (a->count > 0) *out = *(const float *)a->data;
  return TN_OK;
}
static tn_status select_nms_operands(tn_kcall *k) {
  TN_TRY(tn_k_tensors(k, 2, 1));
  TN_TRY(tn_k_out_type(k, 0, TN_I64));
  const tn_karg *const boxes = k->in[0];
  const tn_karg *const scores = k->in[1];
  if (boxes->dtype != TN_F32 || scores->dtype != TN_F32) return tn_k_no_dtype(k, boxes->dtype == TN_F32);
  if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 || boxes->dims[0] != scores->dims[0] ||
      boxes->dims[1] != scores->dims[2])
    return tn_k_fail(k, TN_MISMATCH, "boxes and scores do not fit");
  return TN_OK;
}
TN_KERNEL(non_max_suppression, TN_K_SIZES) {
  TN_TRY(select_nms_operands(k));
  const int64_t images = k->in[1]->dims[0], classes = k->in[1]->dims[1], n = k->in[0]->dims[1];
  int64_t limit, room;
  float most, least;
  void *rects, *heap, *kept, *counts;
  TN_TRY(tn_k_scalar(k, 2, 0, &limit));
  TN_TRY(select_float(k, 3, 0, &most));
  TN_TRY(select_float(k, 4, -INFINITY, &least));
  if (limit < 0) limit = 0;
  if (limit > n) limit = n;
  if (!tn_mul_i64(images * classes, limit, &room)) return tn_k_fail(k, TN_LIMIT, "too many boxes");
  TN_TRY(tn_k_room(k, n, sizeof(select_rect), &rects));
  TN_TRY(tn_k_room(k, n, sizeof(select_ranked), &heap));
  TN_TRY(tn_k_room(k, room, sizeof(int64_t), &kept));
  TN_TRY(tn_k_room(k, images * classes, sizeof(int64_t), &counts));
  int64_t dims[2] = {0, 3};
  for (int64_t i = 0; i < images * classes; i++) {
    if (i % classes == 0)
      select_rects((const float *)k->in[0]->data + i / classes * n * 4, n, tn_k_int(k, "center_point_box", 0) != 0,
                   rects);
    ((int64_t *)counts)[i] = select_class(rects, (const float *)k->in[1]->data + i * n, n, least, most, limit, heap,
                                          (int64_t *)kept + i * limit);
    dims[0] += ((int64_t *)counts)[i];
  }
  TN_TRY(tn_k_out(k, 0, 2, dims));
  int64_t *y = k->out[0]->data;
  for (int64_t i = 0; i < images * classes; i++)
    for (int64_t p = 0; p < ((int64_t *)counts)[i]; p++) {
      *y++ = i / classes;
      *y++ = i % classes;
      *y++ = ((int64_t *)kept)[i * limit + p];
    }
  return TN_OK;
}
