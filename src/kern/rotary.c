/* RotaryEmbedding. */
#include "kern/attention.h"
#include "kern/move.h"
#include "kern/shadow.h"

void tn_rotate_f32(const float *x, float *y, int64_t dim, const float *cosines, const float *sines, bool interleaved) {
  const int64_t half = dim / 2;
  if (interleaved) {
    for (int64_t i = 0; i < half; i++) {
      const float a = x[2 * i], b = x[2 * i + 1];
      y[2 * i] = a * cosines[i] - b * sines[i];
      y[2 * i + 1] = a * sines[i] + b * cosines[i];
    }
    return;
  }
  for (int64_t i = 0; i < half; i++) {
    const float a = x[i], b = x[i + half];
    y[i] = a * cosines[i] - b * sines[i];
    y[i + half] = a * sines[i] + b * cosines[i];
  }
}

typedef struct rotary_job {
  const float *x, *cosines, *sines;
  float *y;
  const tn_karg *places; /* NULL: the cache has a row for each token */
  bool is_flat, interleaved, is_offset;
  int64_t heads, rows, size, half;
} rotary_job;

static int64_t rotary_place(const rotary_job *j, int64_t b, int64_t s) {
  if (!j->places) return b * j->rows + s;
  return j->is_offset ? tn_k_i64(j->places, 0) + s : tn_k_i64(j->places, b * j->rows + s);
}

static void rotary_task(void *arg, int64_t begin, int64_t end, int worker) {
  const rotary_job *const j = arg;
  (void)worker;
  for (int64_t v = begin; v < end; v++) {
    const int64_t b = v / (j->rows * j->heads), s = j->is_flat ? v / j->heads % j->rows : v % j->rows;
    const int64_t at = rotary_place(j, b, s) * j->half;
    const float *const x = j->x + v * j->size;
    float *const y = j->y + v * j->size;
    tn_rotate_f32(x, y, 2 * j->half, j->cosines + at, j->sines + at, j->interleaved);
    for (int64_t i = 2 * j->half; i < j->size; i++) y[i] = x[i];
  }
}

static tn_status rotary_misfit(tn_kcall *k) {
  return tn_k_fail(k, TN_MISMATCH, "the operands of a rotation do not fit each other");
}

static tn_status rotary_f32(tn_kcall *k) {
  const tn_karg *const x = k->in[0], *const c = k->in[1], *const places = tn_k_in(k, 3);
  if ((x->rank != 3 && x->rank != 4) || c->rank != (places ? 2 : 3) || c->count != k->in[2]->count)
    return rotary_misfit(k);
  rotary_job j = {.x = x->data, .cosines = c->data, .sines = k->in[2]->data, .y = k->out[0]->data, .places = places};
  if (x->count == 0) return TN_OK;
  j.is_flat = x->rank == 3;
  j.interleaved = tn_k_int(k, "interleaved", 0) != 0;
  j.half = c->dims[c->rank - 1];
  j.heads = j.is_flat ? tn_k_int(k, "num_heads", 0) : x->dims[1];
  if (j.is_flat && j.heads < 1 && j.half > 0) j.heads = x->dims[2] / (2 * j.half);
  if (j.heads < 1) return rotary_misfit(k);
  j.rows = x->dims[j.is_flat ? 1 : 2];
  j.size = x->dims[x->rank - 1] / (j.is_flat ? j.heads : 1);
  const int64_t rotated = tn_k_int(k, "rotary_embedding_dim", 0), n = rotated > 0 ? rotated : j.size;
  const int64_t tokens = x->dims[0] * j.rows, cache_rows = j.half ? c->count / j.half : 0;
  j.is_offset = places && places->rank < 2;
  if ((j.is_flat && j.heads * j.size != x->dims[2]) || n != 2 * j.half || n > j.size ||
      (places && places->count != (j.is_offset ? 1 : tokens)))
    return rotary_misfit(k);
  for (int64_t t = 0; t < tokens; t++) {
    const int64_t at = rotary_place(&j, t / j.rows, t % j.rows);
    if (at < 0 || at >= cache_rows)
      return tn_k_fail(k, TN_MISMATCH, "position %lld of a cache of %lld", (long long)at, (long long)cache_rows);
  }
  tn_pool_for(k->pool, x->count / j.size, 1 + 4096 / j.size, rotary_task, &j);
  return TN_OK;
}
static tn_status rotary_f64(tn_kcall *k) { return tn_k_no_dtype(k, 0); }

TN_KERNEL(rotary_embedding, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 3, 1));
  TN_TRY(tn_k_out(k, 0, k->in[0]->rank, k->in[0]->dims));
  return tn_k_by_float(k, rotary_f32, rotary_f64);
}
