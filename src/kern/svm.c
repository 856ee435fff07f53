/* Distances to support vectors. Probabilities of classes from those of pairs of classes: the second method of Wu, Lin
 * and Weng (2004), with the stopping rule of libsvm, whose numbers all implementations give. */
#include <math.h>
#include <string.h>

#include "kern/move.h"

enum { SVM_LANES = 64 };

typedef struct svm_space {
  const float *x, *columns; /* columns: of the vectors, [n / SVM_LANES rounded up, width, SVM_LANES] */
  float *y;
  int64_t n, width;
} svm_space;

static void svm_distances(void *arg, int64_t begin, int64_t end, int worker) {
  const svm_space *const s = arg;
  (void)worker;
  for (int64_t row = begin; row < end; row++)
    for (int64_t first = 0; first < s->n; first += SVM_LANES) {
      const float *const block = s->columns + first * s->width, *const x = s->x + row * s->width;
      const int64_t n = s->n - first < SVM_LANES ? s->n - first : SVM_LANES;
      float sums[SVM_LANES] = {0};
      for (int64_t c = 0; c < s->width; c++)
        for (int i = 0; i < SVM_LANES; i++) {
          const float d = x[c] - block[c * SVM_LANES + i];
          sums[i] += d * d;
        }
      memcpy(s->y + row * s->n + first, sums, (size_t)n * sizeof *sums);
    }
}

TN_KERNEL(row_distances, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 2, 1));
  const tn_karg *const x = k->in[0], *const v = k->in[1];
  if (x->dtype != TN_F32) return tn_k_no_dtype(k, 0);
  if (x->rank != 2 || v->rank != 2 || x->dims[1] != v->dims[1])
    return tn_k_fail(k, TN_MISMATCH, "the rows of x and of the vectors differ in length");
  TN_TRY(tn_k_out(k, 0, 2, (const int64_t[]){x->dims[0], v->dims[0]}));
  svm_space s = {.x = x->data, .y = k->out[0]->data, .n = v->dims[0], .width = x->dims[1]};
  if (k->out[0]->count == 0) return TN_OK;
  int64_t whole;
  void *room;
  if (!tn_mul_i64((s.n + SVM_LANES - 1) / SVM_LANES * SVM_LANES, s.width, &whole))
    return tn_k_fail(k, TN_LIMIT, "too many vectors");
  TN_TRY(tn_k_room(k, whole + 1, sizeof(float), &room));
  float *const columns = room;
  memset(columns, 0, (size_t)whole * sizeof *columns);
  for (int64_t i = 0; i < v->count; i++) {
    const int64_t vector = i / s.width, lane = vector % SVM_LANES;
    columns[(vector - lane) * s.width + i % s.width * SVM_LANES + lane] = ((const float *)v->data)[i];
  }
  s.columns = columns;
  tn_pool_for(k->pool, x->dims[0], 1 + 65536 / (whole + 1), svm_distances, &s);
  return TN_OK;
}

typedef struct svm_job {
  const tn_karg *x;
  tn_karg *y;
  int64_t k, room_each;
  double *room;
} svm_job;

/* One sweep makes each p[t] fit in turn; q is symmetric, qp = q p, and all is kept scaled so that p sums to 1. */
static void svm_sweep(int64_t k, const double *q, double *qp, double *p, double pqp) {
  for (int64_t t = 0; t < k; t++) {
    const double *const row = q + t * k;
    const double d = (pqp - qp[t]) / row[t], down = 1 / (1 + d);
    pqp = (pqp + d * (d * row[t] + 2 * qp[t])) * down * down;
    p[t] += d;
    for (int64_t j = 0; j < k; j++) {
      p[j] *= down;
      qp[j] = (qp[j] + d * row[j]) * down;
    }
  }
}

static void svm_fill(const svm_job *j, int64_t row, double *q) {
  const int64_t k = j->k;
  int64_t at = row * (k * (k - 1) / 2);
  for (int64_t i = 0; i < k * k; i++) q[i] = 0;
  for (int64_t a = 0; a < k; a++)
    for (int64_t b = a + 1; b < k; b++, at++) {
      const double ab = tn_load_f64(j->x->dtype, j->x->data, at), ba = 1 - ab;
      q[a * k + a] += ba * ba;
      q[b * k + b] += ab * ab;
      q[a * k + b] = q[b * k + a] = -ab * ba;
    }
}

static void svm_row(const svm_job *j, int64_t row, double *q) {
  const int64_t k = j->k;
  double *const qp = q + k * k, *const p = qp + k;
  svm_fill(j, row, q);
  for (int64_t t = 0; t < k; t++) p[t] = 1.0 / (double)k;
  for (int64_t round = 0; round < (k > 100 ? k : 100); round++) {
    double pqp = 0, worst = 0;
    for (int64_t t = 0; t < k; t++) {
      qp[t] = 0;
      for (int64_t i = 0; i < k; i++) qp[t] += q[t * k + i] * p[i];
      pqp += p[t] * qp[t];
    }
    for (int64_t t = 0; t < k; t++) worst = fmax(worst, fabs(qp[t] - pqp));
    if (worst < 0.005 / (double)k) break;
    svm_sweep(k, q, qp, p, pqp);
  }
  for (int64_t t = 0; t < k; t++) tn_store_f64(j->y->dtype, j->y->data, row * k + t, p[t]);
}

static void svm_task(void *arg, int64_t begin, int64_t end, int worker) {
  const svm_job *const j = arg;
  for (int64_t row = begin; row < end; row++) svm_row(j, row, j->room + worker * j->room_each);
}

TN_KERNEL(pair_coupling, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 1, 1));
  svm_job j = {.x = k->in[0], .y = k->out[0], .k = tn_k_int(k, "n_classes", 0)};
  if (!tn_dtype_is_float(j.x->dtype)) return tn_k_no_dtype(k, 0);
  if (j.x->rank != 2 || j.k < 2 || j.k > 1 << 12 || j.x->dims[1] != j.k * (j.k - 1) / 2)
    return tn_k_fail(k, TN_MISMATCH, "%lld classes of another number of pairs", (long long)j.k);
  TN_TRY(tn_k_out(k, 0, 2, (const int64_t[]){j.x->dims[0], j.k}));
  j.room_each = j.k * j.k + 2 * j.k;
  void *room;
  TN_TRY(tn_k_room(k, j.room_each * tn_pool_threads(k->pool), sizeof(double), &room));
  j.room = room;
  tn_pool_for(k->pool, j.x->dims[0], 1 + 4096 / j.room_each, svm_task, &j);
  return TN_OK;
}
