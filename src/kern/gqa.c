/* GroupQueryAttention: new keys (rotated) and values go to the cache, then attention over the cache. */
#include <math.h>

#include "kern/attention.h"
#include "kern/move.h"
#include "kern/shadow.h"

typedef struct gqa_job {
  int64_t batch, rows, heads, kv_heads, size, before, cache, parts;
  const float *q, *k, *v; /* rows of `q_width` and `kv_width` */
  int64_t q_width, kv_width;
  const tn_karg *past_k, *past_v, *cosines, *sines, *places;
  bool rotates, interleaved;
  int64_t half;
  int64_t *old, *len;                    /* by batch: rows in the cache before and after the call */
  float *present_k, *present_v, *turned; /* turned: q after rotation, [batch, rows, heads, size] */
} gqa_job;

static tn_status gqa_misfit(tn_kcall *k) {
  return tn_k_fail(k, TN_MISMATCH, "the operands of the attention do not fit each other");
}

static tn_status gqa_read(tn_kcall *k, gqa_job *j) {
  const tn_karg *const q = k->in[0], *const key = tn_k_in(k, 1), *const v = tn_k_in(k, 2);
  j->past_k = tn_k_in(k, 3);
  j->past_v = tn_k_in(k, 4);
  j->heads = tn_k_int(k, "num_heads", 0);
  j->kv_heads = tn_k_int(k, "kv_num_heads", 0);
  if (q->rank != 3 || j->heads < 1 || j->heads > INT32_MAX || j->kv_heads < 1 || j->heads % j->kv_heads != 0 ||
      k->in[6]->count != 1 || k->in[5]->count != q->dims[0] || !tn_dtype_is_int(k->in[5]->dtype) ||
      !tn_dtype_is_int(k->in[6]->dtype))
    return gqa_misfit(k);
  j->batch = q->dims[0];
  j->rows = q->dims[1];
  j->parts = key ? j->heads : j->heads + 2 * j->kv_heads;
  j->size = q->dims[2] / j->parts;
  j->before = j->past_k && j->past_k->rank == 4 ? j->past_k->dims[2] : 0;
  const int64_t total = tn_k_i64(k->in[6], 0);
  int64_t old, kv, all;
  if (!tn_dims_count((const int64_t[]){j->batch, j->kv_heads, j->before, j->size}, 4, &old) ||
      !tn_dims_count((const int64_t[]){j->batch, j->kv_heads, j->rows, j->size}, 4, &kv) ||
      !tn_dims_count((const int64_t[]){j->batch, j->heads, j->rows, j->size}, 4, &all))
    return tn_k_fail(k, TN_LIMIT, "attention is too large");
  j->cache = total > j->before ? total : j->before;
  if (j->size * j->parts != q->dims[2] || (key && (!v || key->count != kv || v->count != kv)) ||
      (j->past_k && (!j->past_v || j->past_k->count != old || j->past_v->count != old)))
    return gqa_misfit(k);
  void *room;
  TN_TRY(tn_k_scratch_array(k, 2 * j->batch + 1, sizeof(int64_t), &room));
  j->old = room;
  j->len = j->old + j->batch;
  for (int64_t b = 0; b < j->batch; b++) {
    j->old[b] = j->rows == total ? 0 : tn_k_i64(k->in[5], b) + 1 - j->rows;
    if (j->old[b] < 0 || j->old[b] > j->before || j->old[b] + j->rows > j->cache)
      return tn_k_fail(k, TN_MISMATCH, "seqlens_k of batch %lld does not fit the cache", (long long)b);
    j->len[b] = j->old[b] + j->rows;
  }
  return TN_OK;
}

static int64_t gqa_place(const gqa_job *j, int64_t b, int64_t s) {
  return j->places ? tn_k_i64(j->places, b * j->rows + s) : j->old[b] + s;
}

static tn_status gqa_rotation(tn_kcall *k, gqa_job *j) {
  j->rotates = tn_k_int(k, "do_rotary", 0) != 0;
  if (!j->rotates) return TN_OK;
  j->interleaved = tn_k_int(k, "rotary_interleaved", 0) != 0;
  j->cosines = tn_k_in(k, 7);
  j->sines = tn_k_in(k, 8);
  j->places = tn_k_in(k, 9);
  if (!j->cosines || !j->sines || j->cosines->rank != 2 || j->cosines->count != j->sines->count ||
      (j->places && j->places->count != j->batch * j->rows))
    return gqa_misfit(k);
  j->half = j->cosines->dims[1];
  if (2 * j->half > j->size) return gqa_misfit(k);
  for (int64_t t = 0; t < j->batch * j->rows; t++) {
    const int64_t at = gqa_place(j, t / j->rows, t % j->rows);
    if (at < 0 || at >= j->cosines->dims[0])
      return tn_k_fail(k, TN_MISMATCH, "position %lld of a cache of %lld", (long long)at,
                       (long long)j->cosines->dims[0]);
  }
  return TN_OK;
}

static void gqa_turn(const gqa_job *j, const float *x, float *y, int64_t b, int64_t s) {
  int64_t i = 0;
  if (j->rotates) {
    const int64_t at = gqa_place(j, b, s) * j->half;
    tn_rotate_f32(x, y, 2 * j->half, (const float *)j->cosines->data + at, (const float *)j->sines->data + at,
                  j->interleaved);
    i = 2 * j->half;
  }
  for (; i < j->size; i++) y[i] = x[i];
}

/* One head of the cache, and the query heads that read it. */
static void gqa_task(void *arg, int64_t begin, int64_t end, int worker) {
  const gqa_job *const j = arg;
  (void)worker;
  const int64_t group = j->heads / j->kv_heads, n = j->size;
  for (int64_t bh = begin; bh < end; bh++) {
    const int64_t b = bh / j->kv_heads, h = bh % j->kv_heads, old = j->old[b];
    float *const pk = j->present_k + bh * j->cache * n, *const pv = j->present_v + bh * j->cache * n;
    if (old > 0) {
      tn_k_copy(TN_F32, pk, 0, j->past_k->data, bh * j->before * n, old * n);
      tn_k_copy(TN_F32, pv, 0, j->past_v->data, bh * j->before * n, old * n);
    }
    for (int64_t s = 0; s < j->rows; s++) {
      const int64_t row = b * j->rows + s;
      gqa_turn(j, j->k + row * j->kv_width + h * n, pk + (old + s) * n, b, s);
      tn_k_copy(TN_F32, pv, (old + s) * n, j->v, row * j->kv_width + h * n, n);
      for (int64_t g = h * group; j->turned && g < (h + 1) * group; g++)
        gqa_turn(j, j->q + row * j->q_width + g * n, j->turned + (row * j->heads + g) * n, b, s);
    }
    for (int64_t i = (old + j->rows) * n; i < j->cache * n; i++) pk[i] = pv[i] = 0;
  }
}

static tn_status gqa_operands(tn_kcall *k, gqa_job *j) {
  const tn_karg *const key = tn_k_in(k, 1);
  j->q = k->in[0]->data;
  j->q_width = j->parts * j->size;
  j->kv_width = key ? j->kv_heads * j->size : j->q_width;
  j->k = key ? key->data : (const void *)(j->q + j->heads * j->size);
  j->v = key ? k->in[2]->data : (const void *)(j->q + (j->heads + j->kv_heads) * j->size);
  void *room;
  if (j->rotates) {
    TN_TRY(tn_k_scratch_array(k, j->batch * j->rows * j->heads * j->size + 1, sizeof(float), &room));
    j->turned = room;
  }
  int64_t n;
  if (!tn_mul_i64(j->batch * j->kv_heads * j->size, j->cache, &n)) return tn_k_fail(k, TN_LIMIT, "cache too large");
  float **const presents[2] = {&j->present_k, &j->present_v};
  for (int i = 0; i < 2; i++) {
    room = tn_k_outp(k, i + 1) ? k->out[i + 1]->data : NULL;
    if (!tn_k_outp(k, i + 1)) TN_TRY(tn_k_scratch_array(k, n + 1, sizeof(float), &room));
    *presents[i] = room;
  }
  return TN_OK;
}

static tn_status gqa_bias(tn_kcall *k, tn_attn *a) {
  const tn_karg *const bias = tn_k_in(k, 10);
  if (!bias) return TN_OK;
  if (bias->rank != 4 || (bias->dims[0] != 1 && bias->dims[0] != a->batch) ||
      (bias->dims[1] != 1 && bias->dims[1] != a->heads) || bias->dims[2] != a->n_q)
    return gqa_misfit(k);
  const int64_t plane = bias->dims[2] * bias->dims[3];
  a->bias = (tn_rows){bias->data,
                      {bias->dims[0] == 1 ? 0 : bias->dims[1] * plane, bias->dims[1] == 1 ? 0 : plane, bias->dims[3]}};
  a->bias_n = bias->dims[3];
  a->bias_step = 1;
  return TN_OK;
}

/* Scores of the first `total` columns of the cache to output 3; 0 where a key is not seen. */
static void gqa_scores(const tn_kcall *k, const gqa_job *j, const tn_attn *a) {
  tn_karg *const out = k->out[3];
  const int64_t total = out->dims[3];
  for (int64_t row = 0; row < j->batch * j->heads * j->rows; row++) {
    const int64_t b = row / (j->heads * j->rows), p = j->old[b] + row % j->rows;
    const float *const s = (const float *)a->scores + row * j->cache;
    float *const y = (float *)out->data + row * total;
    for (int64_t c = 0; c < total; c++) {
      const bool hidden = (a->right == 0 && c > p) || c >= j->len[b] || (a->left >= 0 && c < p - a->left);
      y[c] = hidden ? 0 : s[c];
    }
  }
}

static tn_status gqa_f32(tn_kcall *k) {
  gqa_job j = {0};
  TN_TRY(gqa_read(k, &j));
  TN_TRY(gqa_rotation(k, &j));
  TN_TRY(gqa_operands(k, &j));
  tn_pool_for(k->pool, j.batch * j.kv_heads, 1, gqa_task, &j);
  const int64_t n = j.size, plane = j.cache * n, width = j.turned ? j.heads * n : j.q_width;
  tn_attn a = {.dtype = TN_F32,
               .batch = j.batch,
               .heads = j.heads,
               .kv_heads = j.kv_heads,
               .n_q = j.rows,
               .n_kv = j.cache,
               .d = n,
               .dv = n,
               .left = -1,
               .right = tn_k_int(k, "causal", 1) != 0 ? 0 : -1,
               .kv_len = j.len,
               .offset = j.old};
  void *const q = j.turned ? j.turned : k->in[0]->data;
  a.q = (tn_rows){q, {j.rows * width, n, width}};
  a.k = (tn_rows){j.present_k, {j.kv_heads * plane, plane, n}};
  a.v = (tn_rows){j.present_v, {j.kv_heads * plane, plane, n}};
  a.y = (tn_rows){k->out[0]->data, {j.rows * j.heads * n, n, j.heads * n}};
  const double given = tn_k_float(k, "scale", 0);
  a.scale = given < 0 || given > 0 ? given : 1 / sqrt((double)n);
  a.softcap = tn_k_float(k, "softcap", 0);
  const int64_t window = tn_k_int(k, "local_window_size", -1);
  if (window > 0) a.left = window - 1;
  const tn_karg *const sink = tn_k_in(k, 11);
  if (sink && sink->count != j.heads) return gqa_misfit(k);
  if (sink) a.sink = sink->data;
  a.has_zero_sink = tn_k_int(k, "smooth_softmax", 0) > 0;
  TN_TRY(gqa_bias(k, &a));
  if (!tn_k_outp(k, 3)) return tn_attn_run(k, &a);
  int64_t count;
  if (!tn_mul_i64(j.batch * j.heads * j.rows, j.cache, &count)) return tn_k_fail(k, TN_LIMIT, "too many scores");
  TN_TRY(tn_k_scratch_array(k, count + 1, sizeof(float), &a.scores));
  a.scores_kind = tn_k_int(k, "qk_output", 0) == 1 ? TN_SCORES_BIASED : TN_SCORES_SOFTMAX;
  TN_TRY(tn_attn_run(k, &a));
  gqa_scores(k, &j, &a);
  return TN_OK;
}
static tn_status gqa_f64(tn_kcall *k) { return tn_k_no_dtype(k, 0); }

TN_KERNEL(group_query_attention, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 1, 1));
  if (!tn_k_in(k, 5) || !tn_k_in(k, 6)) return tn_k_fail(k, TN_INTERNAL, "inputs 5 and 6 are needed");
  gqa_job j = {0};
  TN_TRY(gqa_read(k, &j));
  TN_TRY(tn_k_out(k, 0, 3, (const int64_t[]){j.batch, j.rows, j.heads * j.size}));
  for (int i = 1; i < 3; i++) TN_TRY(tn_k_out(k, i, 4, (const int64_t[]){j.batch, j.kv_heads, j.cache, j.size}));
  const int64_t total = tn_k_i64(k->in[6], 0);
  if (tn_k_outp(k, 3)) TN_TRY(tn_k_out(k, 3, 4, (const int64_t[]){j.batch, j.heads, j.rows, total > 0 ? total : 0}));
  return tn_k_by_float(k, gqa_f32, gqa_f64);
}
