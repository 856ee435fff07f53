/* Pad, Tile, CenterCropPad. */
#include "kern/move.h"

typedef enum pad_how { PAD_K_CONSTANT, PAD_K_REFLECT, PAD_K_EDGE, PAD_K_WRAP } pad_how;

/* One axis: elements [cut, cut + size) of the operand stand at [at, at + size) of the result. */
typedef struct pad_axis {
  int64_t cut, size, at;
} pad_axis;

static tn_status pad_all(tn_kcall *k, tn_karg *y, const void *element) {
  size_t bytes;
  if (!tn_dtype_bytes(y->dtype, y->count, &bytes)) return tn_k_fail(k, TN_LIMIT, "too many elements");
  if (bytes) memset(y->data, 0, bytes);
  if (!element || y->count == 0) return TN_OK;
  tn_copy_element(y->dtype, y->data, 0, element, 0);
  for (int64_t done = 1; done < y->count; done *= 2)
    tn_k_copy(y->dtype, y->data, done, y->data, 0, done < y->count - done ? done : y->count - done);
  return TN_OK;
}
static void pad_inside(tn_kcall *k, const tn_karg *x, tn_karg *y, const pad_axis *axes) {
  int64_t from[TN_K_MAX_RANK], to[TN_K_MAX_RANK];
  tn_move m = {.dtype = x->dtype, .rank = x->rank, .src = x->data, .dst = y->data};
  tn_k_strides(x->rank, x->dims, from);
  tn_k_strides(y->rank, y->dims, to);
  for (int d = 0; d < x->rank; d++) {
    m.dims[d] = axes[d].size > 0 ? axes[d].size : 0;
    m.from[d] = from[d];
    m.to[d] = to[d];
    if (m.dims[d] == 0) continue;
    m.src_at += axes[d].cut * from[d];
    m.dst_at += axes[d].at * to[d];
  }
  tn_k_move(k->pool, &m);
}

/* Continues the operand: place in it of result place `at`. */
static int64_t pad_place(pad_how how, const pad_axis *a, int64_t at) {
  int64_t i = at - a->at;
  if (how == PAD_K_EDGE || a->size == 1) return a->cut + (i < 0 ? 0 : (i >= a->size ? a->size - 1 : i));
  const int64_t period = how == PAD_K_WRAP ? a->size : 2 * (a->size - 1);
  i %= period;
  if (i < 0) i += period;
  return a->cut + (i < a->size ? i : period - i);
}

typedef struct pad_job {
  const tn_karg *x;
  tn_karg *y;
  int64_t strides[TN_K_MAX_RANK];
  const int64_t *places[TN_K_MAX_RANK]; /* by axis and result place: element offset in x */
  pad_axis last;
} pad_job;
static void pad_task(void *arg, int64_t begin, int64_t end, int worker) {
  const pad_job *const j = arg;
  const int last = j->y->rank - 1;
  const int64_t row = j->y->dims[last];
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    int64_t rest = i, from = 0;
    for (int d = last - 1; d >= 0; d--) {
      from += j->places[d][rest % j->y->dims[d]];
      rest /= j->y->dims[d];
    }
    for (int64_t e = 0; e < row; e++) {
      if (e == j->last.at) {
        tn_k_copy(j->x->dtype, j->y->data, i * row + e, j->x->data, from + j->last.cut, j->last.size);
        e += j->last.size;
        if (e == row) break;
      }
      tn_copy_element(j->x->dtype, j->y->data, i * row + e, j->x->data, from + j->places[last][e]);
    }
  }
}
static tn_status pad_continue(tn_kcall *k, pad_how how, const pad_axis *axes) {
  const tn_karg *const x = k->in[0];
  tn_karg *const y = k->out[0];
  pad_job j = {.x = x, .y = y};
  if (y->count == 0) return TN_OK;
  tn_k_strides(x->rank, x->dims, j.strides);
  for (int d = 0; d < x->rank; d++) {
    void *room;
    if (axes[d].size < 1) return tn_k_fail(k, TN_MISMATCH, "dim %d has nothing to continue", d);
    TN_TRY(tn_k_room(k, y->dims[d], sizeof(int64_t), &room));
    int64_t *const places = room;
    for (int64_t i = 0; i < y->dims[d]; i++) places[i] = pad_place(how, &axes[d], i) * j.strides[d];
    j.places[d] = places;
  }
  j.last = axes[x->rank - 1];
  const int64_t row = y->dims[y->rank - 1];
  tn_pool_for(tn_dtype_bits(x->dtype) < 8 ? NULL : k->pool, y->count / row, 1 + 16384 / row, pad_task, &j);
  return TN_OK;
}

static tn_status pad_read(tn_kcall *k, pad_axis *axes, int64_t *dims) {
  const tn_karg *const x = k->in[0];
  int64_t pads[2 * TN_K_MAX_RANK], list[TN_K_MAX_RANK], n_pads, n = x->rank;
  int set[TN_K_MAX_RANK];
  TN_TRY(tn_k_ints(k, 1, 2 * x->rank, pads, &n_pads));
  for (int d = 0; d < x->rank; d++) list[d] = d;
  if (tn_k_in(k, 3)) TN_TRY(tn_k_ints(k, 3, x->rank, list, &n));
  if (n_pads != 2 * n) return tn_k_fail(k, TN_MISMATCH, "%lld pads for %lld axes", (long long)n_pads, (long long)n);
  TN_TRY(tn_k_axis_set(k, n, list, x->rank, set));
  for (int d = 0; d < x->rank; d++) {
    const int64_t before = set[d] < 0 ? 0 : pads[set[d]], after = set[d] < 0 ? 0 : pads[set[d] + n];
    if (before < -(INT64_MAX / 4) || after < -(INT64_MAX / 4) || before > INT64_MAX / 4 || after > INT64_MAX / 4)
      return tn_k_fail(k, TN_LIMIT, "the pads of axis %d are too large", d);
    axes[d].cut = before < 0 ? -before : 0;
    axes[d].at = before > 0 ? before : 0;
    axes[d].size = x->dims[d] - axes[d].cut + (after < 0 ? after : 0);
    dims[d] = x->dims[d] + before + after;
    if (dims[d] < 0) return tn_k_fail(k, TN_MISMATCH, "padding makes dim %d %lld", d, (long long)dims[d]);
  }
  return TN_OK;
}
TN_KERNEL(pad, TN_K_SIZES) {
  static const char *const names[4] = {"constant", "reflect", "edge", "wrap"};
  TN_TRY(tn_k_same_type(k, 2, 1));
  const tn_karg *const x = k->in[0];
  const tn_karg *const fill = tn_k_in(k, 2);
  pad_axis axes[TN_K_MAX_RANK];
  int64_t dims[TN_K_MAX_RANK];
  pad_how how = PAD_K_CONSTANT;
  for (int i = 1; i < 4; i++)
    if (tn_k_str_is(k, "mode", names[i])) how = (pad_how)i;
  TN_TRY(pad_read(k, axes, dims));
  TN_TRY(tn_k_out(k, 0, x->rank, dims));
  if (x->rank == 0) return tn_k_out_copy(k, 0, x);
  if (how != PAD_K_CONSTANT) return pad_continue(k, how, axes);
  if (fill && (fill->dtype != x->dtype || fill->count < 1))
    return tn_k_fail(k, TN_MISMATCH, "input 2 is no element of the data's type");
  TN_TRY(pad_all(k, k->out[0], fill ? fill->data : NULL));
  pad_inside(k, x, k->out[0], axes);
  return TN_OK;
}

TN_KERNEL(center_crop_pad, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  const tn_karg *const x = k->in[0];
  int64_t sizes[TN_K_MAX_RANK], dims[TN_K_MAX_RANK], n_axes, n;
  const int64_t *const list = tn_k_attr_ints(k, "axes", &n_axes);
  int set[TN_K_MAX_RANK];
  pad_axis axes[TN_K_MAX_RANK];
  TN_TRY(tn_k_ints(k, 1, x->rank, sizes, &n));
  for (int d = 0; d < x->rank; d++) set[d] = d;
  if (list) TN_TRY(tn_k_axis_set(k, n_axes, list, x->rank, set));
  if (n != (list ? n_axes : x->rank)) return tn_k_fail(k, TN_MISMATCH, "sizes and axes differ in number");
  for (int d = 0; d < x->rank; d++) {
    dims[d] = set[d] < 0 ? x->dims[d] : sizes[set[d]];
    if (dims[d] < 0) return tn_k_fail(k, TN_MISMATCH, "target size %lld is negative", (long long)dims[d]);
    const bool crop = x->dims[d] > dims[d];
    axes[d].cut = crop ? (x->dims[d] - dims[d]) / 2 : 0;
    axes[d].at = crop ? 0 : (dims[d] - x->dims[d]) / 2;
    axes[d].size = crop ? dims[d] : x->dims[d];
  }
  TN_TRY(tn_k_out(k, 0, x->rank, dims));
  TN_TRY(pad_all(k, k->out[0], NULL));
  pad_inside(k, x, k->out[0], axes);
  return TN_OK;
}

static tn_status pad_tile(tn_kcall *k, const int64_t *times) {
  const tn_karg *const x = k->in[0];
  int64_t dims[TN_K_MAX_RANK], from[TN_K_MAX_RANK], to[TN_K_MAX_RANK];
  for (int d = 0; d < x->rank; d++)
    if (times[d] < 0 || !tn_mul_i64(x->dims[d], times[d], &dims[d]))
      return tn_k_fail(k, TN_MISMATCH, "dim %d cannot be repeated %lld times", d, (long long)times[d]);
  TN_TRY(tn_k_out(k, 0, x->rank, dims));
  tn_move m = {.dtype = x->dtype, .rank = 2 * x->rank, .src = x->data, .dst = k->out[0]->data};
  tn_k_strides(x->rank, x->dims, from);
  tn_k_strides(x->rank, dims, to);
  for (int d = 0; d < x->rank; d++) {
    m.dims[2 * d] = times[d];
    m.to[2 * d] = to[d] * x->dims[d];
    m.dims[2 * d + 1] = x->dims[d];
    m.to[2 * d + 1] = to[d];
    m.from[2 * d + 1] = from[d];
  }
  tn_k_move(k->pool, &m);
  return TN_OK;
}
TN_KERNEL(tile, TN_K_SIZES) {
  int64_t times[TN_K_MAX_RANK], n;
  TN_TRY(tn_k_same_type(k, 2, 1));
  TN_TRY(tn_k_ints(k, 1, k->in[0]->rank, times, &n));
  if (n != k->in[0]->rank) return tn_k_fail(k, TN_MISMATCH, "%lld repeats for rank %d", (long long)n, k->in[0]->rank);
  return pad_tile(k, times);
}
TN_KERNEL(tile_axis, TN_K_SIZES) {
  int64_t times[TN_K_MAX_RANK];
  int axis;
  TN_TRY(tn_k_same_type(k, 3, 1));
  const tn_karg *const tiles = k->in[1];
  const tn_karg *const along = k->in[2];
  if (tiles->count != 1 || along->count != 1 || tiles->dtype == TN_STR || along->dtype == TN_STR)
    return tn_k_fail(k, TN_MISMATCH, "tiles and axis are scalars");
  TN_TRY(tn_k_axis(k, tn_k_i64(along, 0), k->in[0]->rank, &axis));
  for (int d = 0; d < k->in[0]->rank; d++) times[d] = 1;
  times[axis] = tn_k_i64(tiles, 0);
  return pad_tile(k, times);
}
