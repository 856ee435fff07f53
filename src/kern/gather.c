/* Gather, GatherElements, GatherND. Indices are checked before anything is read. */
#include "kern/move.h"

static tn_status gather_index(tn_kcall *k, const tn_karg *at, int64_t i, int64_t dim, int64_t *out) {
  const int64_t v = tn_k_i64(at, i);
  if (v < -dim || v >= dim)
    return tn_k_fail(k, TN_MISMATCH, "index %lld, element %lld of the indices, is out of range for a dim of %lld",
                     (long long)v, (long long)i, (long long)dim);
  *out = v < 0 ? v + dim : v;
  return TN_OK;
}

/* n elements y[i] = x[base + i * step + place(i) * stride], places checked. Returns the first bad one, or n. */
#define GATHER_ROW(name, T)                                                                               \
  static int64_t gather_row_##name(void *to, const void *from, const int64_t *at, int64_t n, int64_t dim, \
                                   int64_t step, int64_t stride) {                                        \
    T *const y = to;                                                                                      \
    const T *const x = from;                                                                              \
    for (int64_t i = 0; i < n; i++) {                                                                     \
      const int64_t place = at[i] < 0 ? at[i] + dim : at[i];                                              \
      if (at[i] < -dim || place >= dim) return i;                                                         \
      y[i] = x[i * step + place * stride];                                                                \
    }                                                                                                     \
    return n;                                                                                             \
  }
GATHER_ROW(b1, uint8_t)
GATHER_ROW(b2, uint16_t)
GATHER_ROW(b4, uint32_t)
GATHER_ROW(b8, uint64_t)

typedef int64_t (*gather_row_fn)(void *to, const void *from, const int64_t *at, int64_t n, int64_t dim, int64_t step,
                                 int64_t stride);
/* NULL: element by element. */
static gather_row_fn gather_row_of(const tn_karg *x) {
  const int bits = tn_dtype_bits(x->dtype);
  if (bits == 8) return gather_row_b1;
  if (bits == 16) return gather_row_b2;
  if (bits == 32) return gather_row_b4;
  return bits == 64 ? gather_row_b8 : NULL;
}

typedef struct gather_job {
  const tn_karg *x;
  tn_karg *y;
  const void *at;           /* the indices, where they are bytes */
  const int64_t *from;      /* by run of the group: first element relative to the group's */
  int64_t runs, run, group; /* runs of `run` elements in each group; elements of a group of x */
} gather_job;

static void gather_task(void *arg, int64_t begin, int64_t end, int worker) {
  const gather_job *const j = arg;
  const gather_row_fn fast = j->run == 1 ? gather_row_of(j->x) : NULL;
  const int64_t size = tn_dtype_bits(j->x->dtype) / 8;
  (void)worker;
  for (int64_t i = begin, n; fast && i < end; i += n) { /* single elements, a group at a time */
    const int64_t first = i % j->runs;
    n = j->runs - first < end - i ? j->runs - first : end - i;
    (void)fast((char *)j->y->data + i * size, (const char *)j->x->data + i / j->runs * j->group * size, j->from + first,
               n, j->group, 0, 1);
  }
  for (int64_t i = begin; !fast && i < end; i++)
    tn_k_copy(j->x->dtype, j->y->data, i * j->run, j->x->data, i / j->runs * j->group + j->from[i % j->runs], j->run);
}
static void gather_run(tn_kcall *k, const gather_job *j, int64_t groups) {
  const int64_t n = groups * j->runs;
  const bool packed = tn_dtype_bits(j->x->dtype) < 8;
  if (n == 0 || j->run == 0) return;
  gather_job own = *j;
  tn_pool_for(packed ? NULL : k->pool, n, j->run >= 4096 ? 4 : 16384 / j->run, gather_task, &own);
}

/* Bytes looked up in a table of 256 by bytes: negative ones name the same places. */
static void gather_bytes_task(void *arg, int64_t begin, int64_t end, int worker) {
  const gather_job *const j = arg;
  const uint8_t *restrict const table = j->x->data, *restrict const at = j->at;
  uint8_t *restrict const y = j->y->data;
  (void)worker;
  for (int64_t i = begin; i < end; i++) y[i] = table[at[i]];
}

TN_KERNEL(gather, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  TN_TRY(tn_k_int_type(k, 1));
  const tn_karg *const x = k->in[0];
  const tn_karg *const at = k->in[1];
  int64_t dims[2 * TN_K_MAX_RANK];
  int axis, n = 0;
  void *room;
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", 0), x->rank, &axis));
  for (int d = 0; d < axis; d++) dims[n++] = x->dims[d];
  for (int d = 0; d < at->rank; d++) dims[n++] = at->dims[d];
  for (int d = axis + 1; d < x->rank; d++) dims[n++] = x->dims[d];
  TN_TRY(tn_k_out(k, 0, n, dims));
  if (x->rank == 1 && x->count == 256 && tn_dtype_bits(x->dtype) == 8 && (at->dtype == TN_U8 || at->dtype == TN_I8)) {
    gather_job bytes = {.x = x, .y = k->out[0], .at = at->data};
    tn_pool_for(k->pool, at->count, 16384, gather_bytes_task, &bytes);
    return TN_OK;
  }
  TN_TRY(tn_k_room(k, at->count, sizeof(int64_t), &room));
  int64_t *const from = room;
  gather_job j = {.x = x, .y = k->out[0], .from = from, .runs = at->count};
  j.run = tn_k_count(x->dims, axis + 1, x->rank);
  j.group = x->dims[axis] * j.run;
  for (int64_t i = 0; i < at->count; i++) {
    int64_t index;
    TN_TRY(gather_index(k, at, i, x->dims[axis], &index));
    from[i] = index * j.run;
  }
  gather_run(k, &j, tn_k_count(x->dims, 0, axis));
  return TN_OK;
}

TN_KERNEL(gather_elements, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  TN_TRY(tn_k_int_type(k, 1));
  const tn_karg *const x = k->in[0];
  const tn_karg *const at = k->in[1];
  int64_t strides[TN_K_MAX_RANK], index[TN_K_MAX_RANK] = {0};
  int axis;
  if (at->rank != x->rank) return tn_k_fail(k, TN_MISMATCH, "data and indices have ranks %d and %d", x->rank, at->rank);
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", 0), x->rank, &axis));
  for (int d = 0; d < x->rank; d++)
    if (d != axis && at->dims[d] > x->dims[d])
      return tn_k_fail(k, TN_MISMATCH, "dim %d of the indices is %lld, of the data %lld", d, (long long)at->dims[d],
                       (long long)x->dims[d]);
  TN_TRY(tn_k_out(k, 0, at->rank, at->dims));
  tn_k_strides(x->rank, x->dims, strides);
  const int last = x->rank - 1;
  const int64_t row = at->dims[last], step = axis == last ? 0 : 1, size = tn_dtype_bits(x->dtype) / 8;
  const gather_row_fn fast = at->dtype == TN_I64 ? gather_row_of(x) : NULL;
  for (int64_t i = 0; i < at->count; i += row) {
    const int64_t base = tn_k_dot(last, index, strides) - (axis == last ? 0 : index[axis] * strides[axis]);
    int64_t done = 0;
    if (fast)
      done = fast((char *)k->out[0]->data + i * size, (const char *)x->data + base * size,
                  (const int64_t *)at->data + i, row, x->dims[axis], step, strides[axis]);
    for (int64_t e = done; e < row; e++) {
      int64_t place;
      TN_TRY(gather_index(k, at, i + e, x->dims[axis], &place));
      tn_copy_element(x->dtype, k->out[0]->data, i + e, x->data, base + e * step + place * strides[axis]);
    }
    (void)tn_k_next(last, at->dims, index);
  }
  return TN_OK;
}

TN_KERNEL(gather_nd, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  TN_TRY(tn_k_int_type(k, 1));
  const tn_karg *const x = k->in[0];
  const tn_karg *const at = k->in[1];
  const int64_t batch64 = tn_k_int(k, "batch_dims", 0);
  if (batch64 < 0 || batch64 >= at->rank || batch64 > x->rank || at->dims[at->rank - 1] > x->rank - batch64)
    return tn_k_fail(k, TN_MISMATCH, "the indices have more places than the data has axes behind the batch");
  const int batch = (int)batch64, tuple = (int)at->dims[at->rank - 1];
  int64_t dims[2 * TN_K_MAX_RANK], strides[TN_K_MAX_RANK];
  int n = 0;
  for (int d = 0; d < at->rank - 1; d++) dims[n++] = at->dims[d];
  for (int d = batch + tuple; d < x->rank; d++) dims[n++] = x->dims[d];
  for (int d = 0; d < batch; d++)
    if (at->dims[d] != x->dims[d])
      return tn_k_fail(k, TN_MISMATCH, "the batches differ in dim %d: %lld and %lld", d, (long long)x->dims[d],
                       (long long)at->dims[d]);
  TN_TRY(tn_k_out(k, 0, n, dims));
  const int64_t run = tn_k_count(x->dims, batch + tuple, x->rank), runs = tn_k_count(at->dims, 0, at->rank - 1);
  const int64_t groups = tn_k_count(x->dims, 0, batch), group = tn_k_count(x->dims, batch, x->rank);
  tn_k_strides(x->rank, x->dims, strides);
  for (int64_t i = 0; i < runs; i++) {
    int64_t from = i / (runs / groups) * group, place;
    for (int p = 0; p < tuple; p++) {
      TN_TRY(gather_index(k, at, i * tuple + p, x->dims[batch + p], &place));
      from += place * strides[batch + p];
    }
    tn_k_copy(x->dtype, k->out[0]->data, i * run, x->data, from, run);
  }
  return TN_OK;
}
