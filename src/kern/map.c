/* The driver of elementwise kernels: collapses the dims that are contiguous in all operands, walks the rest row by row,
 * and divides the result by index. */
#include "kern/map.h"

#include "kern/recast.h"

enum { MAP_BLOCK = 512, MAP_GRAIN = 16384, MAP_ROW = 128, MAP_MAX_SIZE = 16 };

typedef struct map_job {
  const tn_kmap *map;
  int rank;
  int64_t dims[TN_K_MAX_RANK];
  int64_t strides[TN_KMAP_MAX_IN][TN_K_MAX_RANK];
  const uint8_t *data[TN_KMAP_MAX_IN];
  tn_dtype dtype[TN_KMAP_MAX_IN]; /* of the operands in memory */
  size_t size[TN_KMAP_MAX_IN];
  uint8_t *out;
  tn_dtype out_dtype;
  size_t out_size;
  bool widen; /* some operand or the result is a short float that fn does not know */
} map_job;

static void map_load(const map_job *j, int i, const uint8_t *src, int64_t step, int64_t n, float *buffer) {
  if (step == 1) {
    (void)!tn_recast(TN_F32, buffer, j->dtype[i], src, n, false);
    return;
  }
  for (int64_t e = 0; e < n; e++) buffer[e] = (float)tn_load_f64(j->dtype[i], src, e * step);
}

/* n copies of one element. */
static void map_repeat(uint8_t *row, const void *element, size_t size, int64_t n) {
  memcpy(row, element, size);
  const size_t bytes = (size_t)n * size;
  for (size_t done = size; done < bytes; done *= 2) memcpy(row + done, row, done < bytes - done ? done : bytes - done);
}

/* fn over n elements in whole lanes: repeated elements are written out, and the last lanes go through memory of ours.
 */
static void map_lanes(const tn_kmap *m, const void *const *src, const int64_t *step, uint8_t *dst, int64_t n) {
  _Alignas(64) uint8_t rows[TN_KMAP_MAX_IN][MAP_ROW * MAP_MAX_SIZE];
  _Alignas(64) uint8_t last[TN_KMAP_LANES * MAP_MAX_SIZE];
  const int64_t padded = (n + m->lanes - 1) & -(int64_t)m->lanes;
  const size_t out_size = (size_t)tn_dtype_bits(m->out) / 8;
  size_t size[TN_KMAP_MAX_IN];
  int64_t most = padded, part;
  for (int i = 0; i < m->n_in; i++) {
    size[i] = (size_t)tn_dtype_bits(m->in[i]) / 8;
    if (step[i]) continue;
    most = padded < MAP_ROW ? padded : MAP_ROW;
    map_repeat(rows[i], src[i], size[i], most);
  }
  for (int64_t done = 0; done < n; done += part) {
    const void *in[TN_KMAP_MAX_IN] = {NULL};
    const int64_t left = n - done;
    const bool is_last = left < m->lanes;
    for (int i = 0; i < m->n_in; i++) {
      in[i] = step[i] && !is_last ? (const uint8_t *)src[i] + (size_t)done * size[i] : rows[i];
      if (!step[i] || !is_last) continue;
      memset(rows[i], 0, (size_t)m->lanes * size[i]);
      memcpy(rows[i], (const uint8_t *)src[i] + (size_t)done * size[i], (size_t)left * size[i]);
    }
    part = is_last ? m->lanes : TN_KMAP_WHOLE(left < most ? left : most, m->lanes);
    m->fn(in, step, is_last ? last : dst + (size_t)done * out_size, part, m->param);
    if (is_last) memcpy(dst + (size_t)done * out_size, last, (size_t)left * out_size);
  }
}

static void map_call(const tn_kmap *m, const void *const *src, const int64_t *step, void *dst, int64_t n) {
  if (m->lanes)
    map_lanes(m, src, step, dst, n);
  else
    m->fn(src, step, dst, n, m->param);
}

/* One run of n elements along the innermost dim. */
static void map_run(const map_job *j, const uint8_t *const *src, const int64_t *step, uint8_t *dst, int64_t n) {
  const tn_kmap *const m = j->map;
  if (!j->widen) {
    map_call(m, (const void *const *)src, step, dst, n);
    return;
  }
  float in[TN_KMAP_MAX_IN][MAP_BLOCK];
  float out[MAP_BLOCK];
  for (int64_t done = 0; done < n; done += MAP_BLOCK) {
    const int64_t part = n - done < MAP_BLOCK ? n - done : MAP_BLOCK;
    const void *p[TN_KMAP_MAX_IN] = {NULL};
    int64_t s[TN_KMAP_MAX_IN] = {0};
    for (int i = 0; i < m->n_in; i++) {
      const uint8_t *const at = src[i] + (size_t)(done * step[i]) * j->size[i];
      p[i] = at;
      s[i] = step[i];
      if (j->dtype[i] == m->in[i]) continue;
      map_load(j, i, at, step[i], step[i] == 0 ? 1 : part, in[i]);
      p[i] = in[i];
      s[i] = step[i] == 0 ? 0 : 1;
    }
    uint8_t *const to = dst + (size_t)done * j->out_size;
    const bool narrow = j->out_dtype != m->out;
    map_call(m, p, s, narrow ? (void *)out : (void *)to, part);
    if (narrow) (void)!tn_recast(j->out_dtype, to, m->out, out, part, false);
  }
}

static void map_task(void *arg, int64_t begin, int64_t end, int worker) {
  (void)worker;
  const map_job *const j = arg;
  const int last = j->rank - 1;
  const int64_t row = j->dims[last];
  int64_t step[TN_KMAP_MAX_IN];
  for (int i = 0; i < j->map->n_in; i++) step[i] = j->strides[i][last];
  while (begin < end) {
    const int64_t at = begin % row;
    int64_t rest = begin / row;
    int64_t offset[TN_KMAP_MAX_IN] = {0};
    for (int d = last - 1; d >= 0; d--) {
      const int64_t index = rest % j->dims[d];
      rest /= j->dims[d];
      for (int i = 0; i < j->map->n_in; i++) offset[i] += index * j->strides[i][d];
    }
    const uint8_t *src[TN_KMAP_MAX_IN] = {NULL};
    for (int i = 0; i < j->map->n_in; i++) src[i] = j->data[i] + (size_t)(offset[i] + at * step[i]) * j->size[i];
    const int64_t n = row - at < end - begin ? row - at : end - begin;
    map_run(j, src, step, j->out + (size_t)begin * j->out_size, n);
    begin += n;
  }
}

static bool map_has_dims(const tn_karg *a, const tn_karg *out) {
  if (a->rank != out->rank) return false;
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] != out->dims[d]) return false;
  return true;
}

/* The common case without preparation: few elements, every operand has the dims of the result or one element. */
static bool map_small(const tn_kmap *m, const tn_karg *const *in, const tn_karg *out) {
  const void *src[TN_KMAP_MAX_IN] = {NULL};
  int64_t step[TN_KMAP_MAX_IN] = {0};
  if (out->count > MAP_GRAIN || out->dtype != m->out) return false;
  for (int i = 0; i < m->n_in; i++) {
    if (in[i]->dtype != m->in[i] || (in[i]->count != 1 && !map_has_dims(in[i], out))) return false;
    src[i] = in[i]->data;
    step[i] = in[i]->count != 1;
  }
  map_call(m, src, step, out->data, out->count);
  return true;
}

tn_status tn_k_map(tn_kcall *k, const tn_kmap *m, const tn_karg *const *in, tn_karg *out) {
  if (out->count == 0 || map_small(m, in, out)) return TN_OK;
  map_job j = {.map = m, .rank = out->rank, .out = out->data, .out_dtype = out->dtype};
  j.out_size = (size_t)tn_dtype_bits(out->dtype) / 8;
  j.widen = out->dtype != m->out;
  int64_t *strides[TN_KMAP_MAX_IN];
  for (int d = 0; d < out->rank; d++) j.dims[d] = out->dims[d];
  for (int i = 0; i < m->n_in; i++) {
    tn_k_bcast_strides(in[i], out->rank, j.strides[i]);
    strides[i] = j.strides[i];
    j.data[i] = in[i]->data;
    j.dtype[i] = in[i]->dtype;
    j.size[i] = (size_t)tn_dtype_bits(in[i]->dtype) / 8;
    if (in[i]->dtype != m->in[i]) j.widen = true;
  }
  tn_k_collapse(&j.rank, j.dims, strides, m->n_in);
  tn_pool_for(k->pool, out->count, MAP_GRAIN, map_task, &j);
  return TN_OK;
}
