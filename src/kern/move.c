/* The engine of data movement: long runs are copied whole, two axes that trade places go by tiles, and the rest moves
 * element by element. */
#include "kern/move.h"

enum { MOVE_TILE = 32, MOVE_COLUMNS = 8, MOVE_GRAIN = 16384 };

typedef struct move_pair {
  uint64_t lo, hi;
} move_pair;

/* A row of n elements with strides. */
#define MOVE_ROW(name, T)                                                                        \
  static void move_row_##name(void *dst, int64_t to, const void *src, int64_t from, int64_t n) { \
    T *const d = dst;                                                                            \
    const T *const s = src;                                                                      \
    if (from == 0 && to == 1) {                                                                  \
      const T v = s[0];                                                                          \
      for (int64_t i = 0; i < n; i++) d[i] = v;                                                  \
    } else {                                                                                     \
      for (int64_t i = 0; i < n; i++) d[i * to] = s[i * from];                                   \
    }                                                                                            \
  }
MOVE_ROW(b1, uint8_t)
MOVE_ROW(b2, uint16_t)
MOVE_ROW(b4, uint32_t)
MOVE_ROW(b8, uint64_t)
MOVE_ROW(b16, move_pair)

/* d[r * to + c] = s[r + c * from]. Few columns at a time, so that their source lines stay in the cache even where
 * strides of a power of two put them all in one set. */
#define MOVE_TILE_FN(name, T)                                                                                      \
  static void move_tile_##name(void *dst, int64_t to, const void *src, int64_t from, int64_t rows, int64_t cols) { \
    T *const d = dst;                                                                                              \
    const T *const s = src;                                                                                        \
    for (int64_t c0 = 0; c0 < cols; c0 += MOVE_COLUMNS) {                                                          \
      const int64_t c1 = cols - c0 < MOVE_COLUMNS ? cols : c0 + MOVE_COLUMNS;                                      \
      for (int64_t r = 0; r < rows; r++)                                                                           \
        for (int64_t c = c0; c < c1; c++) d[r * to + c] = s[r + c * from];                                         \
    }                                                                                                              \
  }
MOVE_TILE_FN(b1_any, uint8_t)
MOVE_TILE_FN(b2, uint16_t)
MOVE_TILE_FN(b8, uint64_t)
MOVE_TILE_FN(b16, move_pair)

/* 8 x 8 bytes in eight words: halves, quarters and bytes off the diagonal trade places (little-endian). */
static void move_8x8(uint8_t *d, int64_t to, const uint8_t *s, int64_t from) {
  static const uint64_t low[3] = {UINT64_C(0x00000000ffffffff), UINT64_C(0x0000ffff0000ffff),
                                  UINT64_C(0x00ff00ff00ff00ff)};
  uint64_t v[8];
  for (int c = 0; c < 8; c++) memcpy(&v[c], s + c * from, 8);
  for (int step = 0; step < 3; step++) {
    const int apart = 4 >> step, bits = 32 >> step;
    for (int i = 0; i < 8; i++) {
      if (i & apart) continue;
      const uint64_t t = ((v[i] >> bits) ^ v[i + apart]) & low[step];
      v[i + apart] ^= t;
      v[i] ^= t << bits;
    }
  }
  for (int r = 0; r < 8; r++) memcpy(d + r * to, &v[r], 8);
}
static void move_tile_b1(void *dst, int64_t to, const void *src, int64_t from, int64_t rows, int64_t cols) {
  uint8_t *const d = dst;
  const uint8_t *const s = src;
  const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  const int64_t full_rows = little ? rows - rows % 8 : 0, full_cols = little ? cols - cols % 8 : 0;
  for (int64_t c = 0; c < full_cols; c += 8)
    for (int64_t r = 0; r < full_rows; r += 8) move_8x8(d + r * to + c, to, s + r + c * from, from);
  if (full_rows < rows) move_tile_b1_any(d + full_rows * to, to, s + full_rows, from, rows - full_rows, full_cols);
  if (full_cols < cols) move_tile_b1_any(d + full_cols, to, s + full_cols * from, from, rows, cols - full_cols);
}

typedef uint32_t move_four TN_VECTOR(16);
static move_four move_load4(const uint32_t *p) {
  move_four v;
  memcpy(&v, p, sizeof v);
  return v;
}
static void move_4x4(uint32_t *d, int64_t to, const uint32_t *s, int64_t from) {
  const move_four a = move_load4(s), b = move_load4(s + from), c = move_load4(s + 2 * from);
  const move_four e = move_load4(s + 3 * from);
  const move_four ab_lo = TN_SHUFFLE(a, b, 0, 4, 1, 5), ab_hi = TN_SHUFFLE(a, b, 2, 6, 3, 7);
  const move_four ce_lo = TN_SHUFFLE(c, e, 0, 4, 1, 5), ce_hi = TN_SHUFFLE(c, e, 2, 6, 3, 7);
  const move_four rows[4] = {TN_SHUFFLE(ab_lo, ce_lo, 0, 1, 4, 5), TN_SHUFFLE(ab_lo, ce_lo, 2, 3, 6, 7),
                             TN_SHUFFLE(ab_hi, ce_hi, 0, 1, 4, 5), TN_SHUFFLE(ab_hi, ce_hi, 2, 3, 6, 7)};
  for (int r = 0; r < 4; r++) memcpy(d + r * to, &rows[r], sizeof rows[r]);
}
static void move_tile_b4(void *dst, int64_t to, const void *src, int64_t from, int64_t rows, int64_t cols) {
  uint32_t *const d = dst;
  const uint32_t *const s = src;
  const int64_t full_rows = rows - rows % 4, full_cols = cols - cols % 16;
  for (int64_t c = 0; c < full_cols; c += 16) {
    for (int64_t r = 0; r < full_rows; r += 4)
      for (int64_t i = c; i < c + 16; i += 4) move_4x4(d + r * to + i, to, s + r + i * from, from);
    for (int64_t r = full_rows; r < rows; r++)
      for (int64_t i = c; i < c + 16; i++) d[r * to + i] = s[r + i * from];
  }
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = full_cols; c < cols; c++) d[r * to + c] = s[r + c * from];
}

typedef void (*move_row_fn)(void *dst, int64_t to, const void *src, int64_t from, int64_t n);
typedef void (*move_tile_fn)(void *dst, int64_t to, const void *src, int64_t from, int64_t rows, int64_t cols);

typedef struct move_job {
  const tn_move *m;
  int64_t size; /* bytes of an element; 0 = packed */
  int outer;    /* leading dims that the tasks are numbered by */
  int64_t row_blocks;
  move_row_fn row;
  move_tile_fn tile;
} move_job;

static void move_kinds(move_job *j) {
  static const move_row_fn rows[5] = {move_row_b1, move_row_b2, move_row_b4, move_row_b8, move_row_b16};
  static const move_tile_fn tiles[5] = {move_tile_b1, move_tile_b2, move_tile_b4, move_tile_b8, move_tile_b16};
  int log = 0;
  while (log < 4 && (1 << log) < j->size) log++;
  j->row = rows[log];
  j->tile = tiles[log];
}

static void move_offsets(const move_job *j, int64_t number, int64_t *out_to, int64_t *out_from) {
  const tn_move *const m = j->m;
  int64_t to = m->dst_at, from = m->src_at;
  for (int d = j->outer - 1; d >= 0; d--) {
    const int64_t at = number % m->dims[d];
    number /= m->dims[d];
    to += at * m->to[d];
    from += at * m->from[d];
  }
  *out_to = to;
  *out_from = from;
}

static void move_row_task(void *arg, int64_t begin, int64_t end, int worker) {
  const move_job *const j = arg;
  const tn_move *const m = j->m;
  const int last = m->rank - 1;
  const bool run = m->to[last] == 1 && m->from[last] == 1;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    int64_t to, from;
    move_offsets(j, i, &to, &from);
    if (run) {
      tn_k_copy(m->dtype, m->dst, to, m->src, from, m->dims[last]);
    } else if (j->size > 0) {
      j->row((char *)m->dst + to * j->size, m->to[last], (const char *)m->src + from * j->size, m->from[last],
             m->dims[last]);
    } else {
      for (int64_t e = 0; e < m->dims[last]; e++)
        tn_copy_element(m->dtype, m->dst, to + e * m->to[last], m->src, from + e * m->from[last]);
    }
  }
}

static void move_tile_task(void *arg, int64_t begin, int64_t end, int worker) {
  const move_job *const j = arg;
  const tn_move *const m = j->m;
  const int r = m->rank - 2, c = m->rank - 1;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    int64_t to, from;
    const int64_t first = i % j->row_blocks * MOVE_TILE;
    move_offsets(j, i / j->row_blocks, &to, &from);
    const int64_t rows = m->dims[r] - first < MOVE_TILE ? m->dims[r] - first : MOVE_TILE;
    j->tile((char *)m->dst + (to + first * m->to[r]) * j->size, m->to[r],
            (const char *)m->src + (from + first) * j->size, m->from[c], rows, m->dims[c]);
  }
}

/* Brings the axis along which the source is contiguous next to the last one. False: there is none worth it. */
static bool move_prepare_tile(tn_move *m) {
  const int last = m->rank - 1;
  if (m->to[last] != 1 || m->dims[last] < 4) return false;
  for (int d = 0; d < last; d++) {
    if (m->from[d] != 1 || m->dims[d] < 4) continue;
    const int64_t dim = m->dims[d], to = m->to[d];
    for (int i = d; i < last - 1; i++) {
      m->dims[i] = m->dims[i + 1];
      m->to[i] = m->to[i + 1];
      m->from[i] = m->from[i + 1];
    }
    m->dims[last - 1] = dim;
    m->to[last - 1] = to;
    m->from[last - 1] = 1;
    return true;
  }
  return false;
}

static int64_t move_grain(int64_t elements) {
  return elements >= MOVE_GRAIN ? 1 : MOVE_GRAIN / (elements > 0 ? elements : 1);
}

void tn_k_move(tn_pool *pool, tn_move *m) {
  int64_t *strides[2] = {m->to, m->from};
  for (int d = 0; d < m->rank; d++)
    if (m->dims[d] == 0) return;
  tn_k_collapse(&m->rank, m->dims, strides, 2);
  const int bits = tn_dtype_bits(m->dtype);
  move_job j = {.m = m, .size = bits < 8 ? 0 : bits / 8, .outer = m->rank - 1};
  move_kinds(&j);
  if (m->dims[m->rank - 1] == 1) m->to[m->rank - 1] = m->from[m->rank - 1] = 1;
  if (j.size > 0 && m->from[m->rank - 1] != 1 && move_prepare_tile(m)) {
    j.outer = m->rank - 2;
    j.row_blocks = (m->dims[j.outer] + MOVE_TILE - 1) / MOVE_TILE;
    tn_pool_for(pool, tn_k_count(m->dims, 0, j.outer) * j.row_blocks, move_grain(MOVE_TILE * m->dims[m->rank - 1]),
                move_tile_task, &j);
    return;
  }
  /* Neighbouring packed rows may share a byte. */
  tn_pool_for(j.size > 0 ? pool : NULL, tn_k_count(m->dims, 0, j.outer), move_grain(m->dims[m->rank - 1]),
              move_row_task, &j);
}

tn_status tn_k_tensors(tn_kcall *k, int n_in, int n_out) {
  TN_TRY(tn_k_need(k, n_in, n_out));
  for (int i = 0; i < n_in; i++)
    if (k->in[i]->kind != TN_KARG_TENSOR) return tn_k_fail(k, TN_INTERNAL, "input %d is no tensor", i);
  for (int i = 0; i < n_out; i++)
    if (k->out[i]->kind != TN_KARG_TENSOR) return tn_k_fail(k, TN_INTERNAL, "output %d is no tensor", i);
  return TN_OK;
}
tn_status tn_k_out_type(tn_kcall *k, int i, tn_dtype d) {
  const tn_karg *const y = tn_k_outp(k, i);
  if (!y || y->dtype == d) return TN_OK;
  return tn_k_fail(k, TN_INTERNAL, "output %d has element type %s, not %s", i, tn_dtype_name(y->dtype),
                   tn_dtype_name(d));
}
tn_status tn_k_same_type(tn_kcall *k, int n_in, int n_out) {
  TN_TRY(tn_k_tensors(k, n_in, n_out));
  return tn_k_out_type(k, 0, k->in[0]->dtype);
}
tn_status tn_k_int_type(tn_kcall *k, int i) {
  const tn_karg *const a = tn_k_in(k, i);
  if (a && a->kind == TN_KARG_TENSOR && tn_dtype_is_int(a->dtype)) return TN_OK;
  return tn_k_fail(k, TN_INTERNAL, "input %d is no tensor of integers", i);
}
tn_status tn_k_ints(tn_kcall *k, int i, int64_t max, int64_t *out, int64_t *out_n) {
  TN_TRY(tn_k_int_type(k, i));
  const tn_karg *const a = k->in[i];
  if (a->count > max)
    return tn_k_fail(k, TN_MISMATCH, "input %d has %lld elements, at most %lld make sense", i, (long long)a->count,
                     (long long)max);
  for (int64_t e = 0; e < a->count; e++) out[e] = tn_k_i64(a, e);
  *out_n = a->count;
  return TN_OK;
}
tn_status tn_k_scalar(tn_kcall *k, int i, int64_t absent, int64_t *out) {
  *out = absent;
  if (!tn_k_in(k, i)) return TN_OK;
  TN_TRY(tn_k_int_type(k, i));
  if (k->in[i]->count != 1)
    return tn_k_fail(k, TN_MISMATCH, "input %d has %lld elements, expected 1", i, (long long)k->in[i]->count);
  *out = tn_k_i64(k->in[i], 0);
  return TN_OK;
}
const int64_t *tn_k_attr_ints(const tn_kcall *k, const char *name, int64_t *out_n) {
  const tn_kattr *const a = tn_k_attr(k, name);
  *out_n = a && a->kind == TN_KATTR_INTS ? a->n : 0;
  return *out_n ? a->ints : NULL;
}
tn_status tn_k_axis_set(tn_kcall *k, int64_t n, const int64_t *axes, int rank, int *set) {
  for (int i = 0; i < rank; i++) set[i] = -1;
  for (int64_t i = 0; i < n; i++) {
    int axis;
    TN_TRY(tn_k_axis(k, axes[i], rank, &axis));
    if (set[axis] >= 0) return tn_k_fail(k, TN_INVALID, "axis %d is given twice", axis);
    set[axis] = (int)i;
  }
  return TN_OK;
}
tn_status tn_k_room(tn_kcall *k, int64_t n, size_t size, void **out) {
  size_t bytes;
  if (n < 0 || !tn_mul_size((size_t)n, size, &bytes)) return tn_k_fail(k, TN_LIMIT, "too many elements");
  return tn_k_scratch(k, bytes > 0 ? bytes : 1, out);
}
void tn_k_strides(int rank, const int64_t *dims, int64_t *out) {
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    out[i] = stride;
    stride *= dims[i];
  }
}
