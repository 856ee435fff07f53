/* Attention. A task is a block of query rows of one head: scores by the register tiles, softmax by rows, the weighted
 * sum of values by the tiles again. Columns that no row of the block may see are not computed. f64 has plain loops. */
#include "kern/attention.h"

#include <math.h>

#include "kern/gemm.h"
#include "kern/move.h"
#include "kern/shadow.h"
#include "kern/vmath.h"

enum { ATTN_ROWS = 48, ATTN_SCORES = 1 << 20 };

typedef struct attn_job {
  const tn_attn *a;
  const tn_gemm_isa *isa;
  int64_t rows, blocks; /* query rows of a task, tasks of a head */
  float *work;          /* NULL for f64 */
  int64_t work_floats, score_floats;
} attn_job;

static int64_t attn_min(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t attn_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* Keys [lo, hi) that row i of batch b may see. */
static void attn_range(const tn_attn *a, int64_t b, int64_t i, int64_t *lo, int64_t *hi) {
  const int64_t at = (a->offset ? a->offset[b] : a->offset_all) + i;
  *hi = a->kv_len ? attn_min(a->n_kv, a->kv_len[b]) : a->n_kv;
  if (a->bias.data || a->allow.data)
    if (a->bias_step) *hi = attn_min(*hi, a->bias_n);
  *lo = 0;
  if (a->right >= 0 && a->right < a->n_kv) *hi = attn_min(*hi, at + a->right + 1);
  if (a->left >= 0 && a->left < INT32_MAX) *lo = attn_max(0, at - a->left);
  *hi = attn_max(*hi, 0);
  *lo = attn_min(*lo, *hi);
}

static int64_t attn_at(const tn_rows *r, int64_t b, int64_t h, int64_t s) {
  return b * r->step[0] + h * r->step[1] + s * r->step[2];
}

/* A row of n scores becomes weights; `out`, when there, receives the stage that was asked for. */
#define ATTN_ROW(T, NAME, EXP, TANH)                                                                                  \
  static void NAME(const tn_attn *a, int64_t b, int64_t h, int64_t i, T *s, int64_t n, T *out) {                      \
    int64_t lo, hi;                                                                                                   \
    attn_range(a, b, i, &lo, &hi);                                                                                    \
    hi = attn_min(hi, n);                                                                                             \
    lo = attn_min(lo, hi);                                                                                            \
    const T *const bias = a->bias.data ? (const T *)a->bias.data + attn_at(&a->bias, b, h, i) : NULL;                 \
    const uint8_t *const allow = a->allow.data ? (const uint8_t *)a->allow.data + attn_at(&a->allow, b, h, i) : NULL; \
    const T *const filter = a->filter.data ? (const T *)a->filter.data + attn_at(&a->filter, b, 0, i) : NULL;         \
    if (out && a->scores_kind == TN_SCORES_RAW) memcpy(out, s, (size_t)n * sizeof *s);                                \
    const T cap = (T)a->softcap;                                                                                      \
    if (cap > 0)                                                                                                      \
      for (int64_t j = 0; j < n; j++) s[j] = cap * TANH(s[j] / cap);                                                  \
    if (out && a->scores_kind == TN_SCORES_CAPPED) memcpy(out, s, (size_t)n * sizeof *s);                             \
    if (filter)                                                                                                       \
      for (int64_t j = lo; j < hi; j++) s[j] += filter[j];                                                            \
    if (bias)                                                                                                         \
      for (int64_t j = lo; j < hi; j++) s[j] += bias[j * a->bias_step];                                               \
    if (allow)                                                                                                        \
      for (int64_t j = lo; j < hi; j++) s[j] = allow[j * a->bias_step] ? s[j] : (T)-INFINITY;                         \
    for (int64_t j = 0; j < lo; j++) s[j] = (T)-INFINITY;                                                             \
    for (int64_t j = hi; j < n; j++) s[j] = (T)-INFINITY;                                                             \
    if (out && a->scores_kind == TN_SCORES_BIASED) memcpy(out, s, (size_t)n * sizeof *s);                             \
    const bool has_sink = a->sink || a->has_zero_sink;                                                                \
    const T sink = a->sink ? ((const T *)a->sink)[h] : 0;                                                             \
    T m = has_sink ? sink : (T)-INFINITY, sum = 0;                                                                    \
    for (int64_t j = lo; j < hi; j++) m = s[j] > m ? s[j] : m;                                                        \
    bool is_empty = !(m > (T)-INFINITY);                                                                              \
    for (int64_t j = lo; is_empty && j < hi; j++) is_empty = !isnan(s[j]);                                            \
    for (int64_t j = lo; j < hi; j++) s[j] = EXP(s[j] - m);                                                           \
    for (int64_t j = lo; j < hi; j++) sum += s[j];                                                                    \
    if (has_sink) sum += EXP(sink - m);                                                                               \
    const T factor = 1 / sum;                                                                                         \
    for (int64_t j = lo; j < hi; j++) s[j] = is_empty ? 0 : s[j] * factor;                                            \
    for (int64_t j = 0; j < lo; j++) s[j] = 0;                                                                        \
    for (int64_t j = hi; j < n; j++) s[j] = 0;                                                                        \
    if (out && a->scores_kind == TN_SCORES_SOFTMAX) memcpy(out, s, (size_t)n * sizeof *s);                            \
  }
ATTN_ROW(float, attn_row_f32, tn_expf, tanhf)
ATTN_ROW(double, attn_row_f64, exp, tanh)
#undef ATTN_ROW

/* s[m, n] = scale * q k^T */
static void attn_scores(const attn_job *j, const float *q, const float *k, int64_t m, int64_t n, float *s,
                        float *work) {
  const tn_attn *const a = j->a;
  if (m < 4) {
    for (int64_t i = 0; i < m; i++)
      for (int64_t c = 0; c < n; c++)
        s[i * n + c] = (float)a->scale * j->isa->dot(q + i * a->q.step[2], k + c * a->k.step[2], a->d);
    return;
  }
  const tn_gemm g = {.m = m,
                     .n = n,
                     .k = a->d,
                     .a = q,
                     .a_rs = a->q.step[2],
                     .a_cs = 1,
                     .b = k,
                     .b_rs = 1,
                     .b_cs = a->k.step[2],
                     .alpha = (float)a->scale,
                     .c = s,
                     .ldc = n};
  tn_gemm_run(j->isa, &g, NULL, work);
}

static void attn_block_f32(const attn_job *j, int64_t b, int64_t h, int64_t i0, int64_t m, float *s, float *work) {
  const tn_attn *const a = j->a;
  const int64_t kv = h / (a->heads / a->kv_heads);
  int64_t n = 0, lo, hi;
  for (int64_t i = i0; i < i0 + m; i++) {
    attn_range(a, b, i, &lo, &hi);
    n = attn_max(n, hi);
  }
  if (a->scores) n = a->n_kv;
  attn_scores(j, (const float *)a->q.data + attn_at(&a->q, b, h, i0),
              (const float *)a->k.data + attn_at(&a->k, b, kv, 0), m, n, s, work);
  for (int64_t i = 0; i < m; i++) {
    const int64_t at = ((b * a->heads + h) * a->n_q + i0 + i) * a->n_kv;
    attn_row_f32(a, b, h, i0 + i, s + i * n, n, a->scores ? (float *)a->scores + at : NULL);
  }
  const tn_gemm g = {.m = m,
                     .n = a->dv,
                     .k = n,
                     .a = s,
                     .a_rs = n,
                     .a_cs = 1,
                     .alpha = 1,
                     .b = (const float *)a->v.data + attn_at(&a->v, b, kv, 0),
                     .b_rs = a->v.step[2],
                     .b_cs = 1,
                     .c = (float *)a->y.data + attn_at(&a->y, b, h, i0),
                     .ldc = a->y.step[2]};
  tn_gemm_run(j->isa, &g, NULL, work);
}

static void attn_block_f64(const attn_job *j, int64_t b, int64_t h, int64_t i0, int64_t m, double *s) {
  const tn_attn *const a = j->a;
  const int64_t kv = h / (a->heads / a->kv_heads);
  const double *const k = (const double *)a->k.data + attn_at(&a->k, b, kv, 0);
  const double *const v = (const double *)a->v.data + attn_at(&a->v, b, kv, 0);
  for (int64_t i = i0; i < i0 + m; i++) {
    const double *const q = (const double *)a->q.data + attn_at(&a->q, b, h, i);
    double *const y = (double *)a->y.data + attn_at(&a->y, b, h, i);
    for (int64_t c = 0; c < a->n_kv; c++) {
      double sum = 0;
      for (int64_t e = 0; e < a->d; e++) sum += q[e] * k[c * a->k.step[2] + e];
      s[c] = sum * a->scale;
    }
    const int64_t at = ((b * a->heads + h) * a->n_q + i) * a->n_kv;
    attn_row_f64(a, b, h, i, s, a->n_kv, a->scores ? (double *)a->scores + at : NULL);
    for (int64_t e = 0; e < a->dv; e++) y[e] = 0;
    for (int64_t c = 0; c < a->n_kv; c++)
      for (int64_t e = 0; e < a->dv; e++) y[e] += s[c] * v[c * a->v.step[2] + e];
  }
}

static void attn_task(void *arg, int64_t begin, int64_t end, int worker) {
  const attn_job *const j = arg;
  const tn_attn *const a = j->a;
  for (int64_t t = begin; t < end; t++) {
    const int64_t i0 = t % j->blocks * j->rows, head = t / j->blocks;
    const int64_t b = head / a->heads, h = head % a->heads, m = attn_min(j->rows, a->n_q - i0);
    float *const work = j->work + worker * j->work_floats;
    if (a->dtype == TN_F64)
      attn_block_f64(j, b, h, i0, m, (double *)(void *)work);
    else
      attn_block_f32(j, b, h, i0, m, work, work + j->score_floats);
  }
}

tn_status tn_attn_run(tn_kcall *k, const tn_attn *a) {
  if (a->batch == 0 || a->heads == 0 || a->n_q == 0) return TN_OK;
  attn_job j = {.a = a, .isa = tn_gemm_isa_get()};
  j.rows = attn_min(ATTN_ROWS, attn_max(1, ATTN_SCORES / attn_max(1, a->n_kv)));
  j.rows = attn_min(j.rows, a->n_q);
  j.blocks = (a->n_q + j.rows - 1) / j.rows;
  const tn_gemm first = {.m = j.rows, .n = a->n_kv, .k = a->d, .b_cs = 2};
  const tn_gemm second = {.m = j.rows, .n = a->dv, .k = a->n_kv, .b_cs = 2};
  int64_t one, two, all;
  if (!tn_gemm_work(j.isa, &first, 1, &one) || !tn_gemm_work(j.isa, &second, 1, &two) ||
      !tn_mul_i64(j.rows * (a->dtype == TN_F64 ? 2 : 1), a->n_kv, &j.score_floats) ||
      !tn_add_i64(j.score_floats, attn_max(one, two) + 32, &j.work_floats))
    return tn_k_fail(k, TN_LIMIT, "attention is too large");
  j.score_floats = (j.score_floats + 15) / 16 * 16;
  j.work_floats = (j.work_floats + 15) / 16 * 16;
  if (!tn_mul_i64(j.work_floats, tn_pool_threads(k->pool), &all))
    return tn_k_fail(k, TN_LIMIT, "attention is too large");
  void *work;
  TN_TRY(tn_k_scratch_array(k, all, sizeof(float), &work));
  j.work = work;
  tn_pool_for(k->pool, a->batch * a->heads * j.blocks, 1, attn_task, &j);
  return TN_OK;
}

/* --- attention of ai.onnx --- */

/* How an operand [batch, heads, rows, size] or [batch, rows, heads * size] lies. */
typedef struct attn_side {
  int64_t batch, heads, rows, size;
  tn_rows at;
} attn_side;
static tn_status attn_side_of(tn_kcall *k, const tn_karg *x, int64_t heads, const char *what, attn_side *out) {
  if (x->rank == 4) {
    *out = (attn_side){x->dims[0], x->dims[1], x->dims[2], x->dims[3], {.data = x->data}};
    out->at.step[2] = out->size;
    out->at.step[1] = x->count ? out->rows * out->size : 0;
  } else if (x->rank == 3 && heads > 0 && heads <= INT32_MAX && x->dims[2] % heads == 0) {
    *out = (attn_side){x->dims[0], heads, x->dims[1], x->dims[2] / heads, {.data = x->data}};
    out->at.step[1] = out->size;
    out->at.step[2] = x->dims[2];
  } else {
    return tn_k_fail(k, TN_MISMATCH, "%s does not divide into %lld heads", what, (long long)heads);
  }
  int64_t n;
  if (!tn_dims_count((const int64_t[]){out->batch, out->heads, out->rows, out->size}, 4, &n))
    return tn_k_fail(k, TN_LIMIT, "%s is too large", what);
  out->at.step[0] = n ? out->heads * out->rows * out->size : 0;
  return TN_OK;
}

/* Rows of `past` and of `now` one after the other in memory of shape [batch, heads, both rows, size]. */
static void attn_join(const tn_karg *past, attn_side *now, tn_dtype d, void *out) {
  const int64_t before = past ? past->dims[2] : 0, total = before + now->rows, size = now->size;
  for (int64_t b = 0; b < now->batch; b++)
    for (int64_t h = 0; h < now->heads; h++) {
      const int64_t to = (b * now->heads + h) * total * size;
      if (past) tn_k_copy(d, out, to, past->data, (b * now->heads + h) * before * size, before * size);
      for (int64_t s = 0; s < now->rows; s++)
        tn_k_copy(d, out, to + (before + s) * size, now->at.data, attn_at(&now->at, b, h, s), size);
    }
  now->rows = total;
  now->at = (tn_rows){out, {now->heads * total * size, total * size, size}};
}

static tn_status attn_past(tn_kcall *k, int i_past, int i_out, attn_side *side) {
  const tn_karg *const past = tn_k_in(k, i_past);
  tn_karg *const present = tn_k_outp(k, i_out);
  if (past &&
      (past->rank != 4 || past->dims[0] != side->batch || past->dims[1] != side->heads || past->dims[3] != side->size))
    return tn_k_fail(k, TN_MISMATCH, "input %d does not fit the keys or values", i_past);
  if (!past && !present) return TN_OK;
  const int64_t total = side->rows + (past ? past->dims[2] : 0);
  const tn_dtype d = k->in[0]->dtype;
  void *room = present ? present->data : NULL;
  if (present && present->count != side->batch * side->heads * total * side->size)
    return tn_k_fail(k, TN_INTERNAL, "output %d has another size", i_out);
  if (!present) {
    int64_t n;
    if (!tn_mul_i64(side->batch * side->heads * side->size, total, &n)) return tn_k_fail(k, TN_LIMIT, "too many keys");
    TN_TRY(tn_k_scratch_array(k, n + 1, d == TN_F64 ? 8 : 4, &room));
  }
  attn_join(past, side, d, room);
  return TN_OK;
}

/* The mask as bias or set of columns; any number type is read as floats. */
static tn_status attn_mask(tn_kcall *k, const tn_karg *mask, tn_attn *a) {
  if (mask->rank > 4 || mask->rank < 1) return tn_k_fail(k, TN_MISMATCH, "a mask of rank %d", mask->rank);
  const int64_t want[3] = {a->batch, a->heads, a->n_q};
  tn_rows rows = {.data = mask->data};
  int64_t step = mask->dims[mask->rank - 1];
  for (int i = 2; i >= 0; i--) {
    const int d = i - (4 - mask->rank);
    if (d < 0) continue;
    if (mask->dims[d] != 1 && mask->dims[d] != want[i])
      return tn_k_fail(k, TN_MISMATCH, "dim %d of the mask is %lld", d, (long long)mask->dims[d]);
    rows.step[i] = mask->dims[d] == 1 ? 0 : step;
    step *= mask->dims[d];
  }
  a->bias_n = mask->dims[mask->rank - 1];
  a->bias_step = 1;
  if (a->bias_n > a->n_kv) return tn_k_fail(k, TN_MISMATCH, "the mask has more columns than there are keys");
  if (mask->dtype == TN_BOOL) {
    a->allow = rows;
    return TN_OK;
  }
  if (mask->dtype != a->dtype) {
    TN_TRY(tn_k_scratch_array(k, mask->count + 1, a->dtype == TN_F64 ? 8 : 4, &rows.data));
    if (!tn_convert(a->dtype, rows.data, mask->dtype, mask->data, mask->count, true)) return tn_k_no_dtype(k, 3);
  }
  a->bias = rows;
  return TN_OK;
}

/* Is key j seen by query i of batch b? Rank 1: the number of keys by batch, then perhaps the first key by batch; rank 2
 * [batch, keys]; rank 3 [batch, queries, keys]. */
static bool attn_filter_sees(const tn_attn *a, const tn_karg *m, int64_t b, int64_t i, int64_t j) {
  if (m->rank == 1) return j < tn_k_i64(m, b) && (m->count == a->batch || j >= tn_k_i64(m, a->batch + b));
  return tn_k_i64(m, (b * (m->rank == 3 ? a->n_q : 1) + (m->rank == 3 ? i : 0)) * a->n_kv + j) != 0;
}

static tn_status attn_filter(tn_kcall *k, const tn_karg *m, tn_attn *a) {
  const int64_t rows = m->rank == 3 ? a->n_q : 1;
  if (m->rank < 1 || m->rank > 3 ||
      (m->rank == 1 ? m->count != a->batch && m->count != 2 * a->batch : m->count != a->batch * rows * a->n_kv))
    return tn_k_fail(k, TN_MISMATCH, "the key mask fits neither the batch nor the keys");
  const double value = tn_k_float(k, "mask_filter_value", -10000);
  void *room;
  TN_TRY(tn_k_scratch_array(k, a->batch * rows * a->n_kv + 1, a->dtype == TN_F64 ? 8 : 4, &room));
  for (int64_t at = 0; at < a->batch * rows * a->n_kv; at++) {
    const int64_t j = at % a->n_kv, i = at / a->n_kv % rows, b = at / (a->n_kv * rows);
    tn_store_f64(a->dtype, room, at, attn_filter_sees(a, m, b, i, j) ? 0 : value);
  }
  a->filter = (tn_rows){room, {rows * a->n_kv, 0, m->rank == 3 ? a->n_kv : 0}};
  return TN_OK;
}

static tn_status attn_lengths(tn_kcall *k, tn_attn *a) {
  const tn_karg *const len = tn_k_in(k, 6);
  if (!len) return TN_OK;
  if (len->count != a->batch || !tn_dtype_is_int(len->dtype))
    return tn_k_fail(k, TN_MISMATCH, "nonpad_kv_seqlen has %lld elements for a batch of %lld", (long long)len->count,
                     (long long)a->batch);
  void *room;
  TN_TRY(tn_k_scratch_array(k, 2 * a->batch, sizeof(int64_t), &room));
  int64_t *const n = room, *const offset = n + a->batch;
  for (int64_t b = 0; b < a->batch; b++) {
    n[b] = attn_max(0, attn_min(a->n_kv, tn_k_i64(len, b)));
    offset[b] = n[b] - a->n_q;
  }
  a->kv_len = n;
  a->offset = offset;
  return TN_OK;
}

static tn_status attn_run(tn_kcall *k) {
  const tn_karg *const past = tn_k_in(k, 4);
  attn_side q = {0}, key = {0}, v = {0};
  TN_TRY(attn_side_of(k, k->in[0], tn_k_int(k, "q_num_heads", 0), "q", &q));
  TN_TRY(attn_side_of(k, k->in[1], tn_k_int(k, "kv_num_heads", 0), "k", &key));
  TN_TRY(attn_side_of(k, k->in[2], tn_k_int(k, "kv_num_heads", 0), "v", &v));
  TN_TRY(attn_past(k, 4, 1, &key));
  TN_TRY(attn_past(k, 5, 2, &v));
  if (q.batch != key.batch || q.batch != v.batch || key.rows != v.rows || q.size != key.size || key.heads != v.heads ||
      key.heads < 1 || q.heads % key.heads != 0)
    return tn_k_fail(k, TN_MISMATCH, "q, k and v do not fit each other");
  tn_attn a = {.dtype = k->in[0]->dtype,
               .batch = q.batch,
               .heads = q.heads,
               .kv_heads = key.heads,
               .n_q = q.rows,
               .n_kv = key.rows,
               .d = q.size,
               .dv = v.size,
               .q = q.at,
               .k = key.at,
               .v = v.at};
  tn_karg *const y = k->out[0];
  if (y->count != a.batch * a.heads * a.n_q * a.dv) return tn_k_fail(k, TN_INTERNAL, "output 0 has another size");
  a.y = (tn_rows){y->data, {a.heads * a.n_q * a.dv, a.n_q * a.dv, a.dv}};
  if (k->in[0]->rank == 3) {
    a.y.step[1] = a.dv;
    a.y.step[2] = a.heads * a.dv;
  }
  a.scale = tn_k_float(k, "scale", 1 / sqrt((double)attn_max(1, a.d)));
  a.softcap = tn_k_float(k, "softcap", 0);
  a.left = tn_k_int(k, "left_window_size", -1);
  a.right = tn_k_int(k, "right_window_size", -1);
  if (tn_k_int(k, "is_causal", 0) != 0) a.right = 0;
  a.offset_all = past ? past->dims[2] : 0;
  if (tn_k_in(k, 3)) TN_TRY(attn_mask(k, tn_k_in(k, 3), &a));
  if (tn_k_in(k, 7)) TN_TRY(attn_filter(k, tn_k_in(k, 7), &a));
  TN_TRY(attn_lengths(k, &a));
  if (tn_k_outp(k, 3)) {
    a.scores = k->out[3]->data;
    a.scores_kind = (int)tn_k_int(k, "qk_matmul_output_mode", 0);
    if (k->out[3]->count != a.batch * a.heads * a.n_q * a.n_kv)
      return tn_k_fail(k, TN_INTERNAL, "output 3 has another size");
  }
  return tn_attn_run(k, &a);
}

/* Sizes of the outputs from those of the inputs: the checks that count are attn_run's. */
static tn_status attn_sizes(tn_kcall *k) {
  attn_side q = {0}, key = {0}, v = {0};
  TN_TRY(attn_side_of(k, k->in[0], tn_k_int(k, "q_num_heads", 0), "q", &q));
  TN_TRY(attn_side_of(k, k->in[1], tn_k_int(k, "kv_num_heads", 0), "k", &key));
  TN_TRY(attn_side_of(k, k->in[2], tn_k_int(k, "kv_num_heads", 0), "v", &v));
  const tn_karg *const past = tn_k_in(k, 4);
  const int64_t total = key.rows + (past && past->rank == 4 ? past->dims[2] : 0);
  if (k->in[0]->rank == 3)
    TN_TRY(tn_k_out(k, 0, 3, (const int64_t[]){q.batch, q.rows, q.heads * v.size}));
  else
    TN_TRY(tn_k_out(k, 0, 4, (const int64_t[]){q.batch, q.heads, q.rows, v.size}));
  TN_TRY(tn_k_out(k, 1, 4, (const int64_t[]){key.batch, key.heads, total, key.size}));
  TN_TRY(tn_k_out(k, 2, 4, (const int64_t[]){v.batch, v.heads, total, v.size}));
  return tn_k_out(k, 3, 4, (const int64_t[]){q.batch, q.heads, q.rows, total});
}

TN_KERNEL(attention, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 3, 1));
  TN_TRY(attn_sizes(k));
  return tn_k_by_float(k, attn_run, attn_run);
}
