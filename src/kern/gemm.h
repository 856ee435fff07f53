/* Matrix multiplication in f32: register tiles per CPU level, packed operands, blocked loops.
 *
 *   packed A: per block of TN_GEMM_KC of k, panels of mr rows (the last one narrower), each [k][rows of the panel]
 *   packed B: per block of TN_GEMM_KC of k, panels of nr columns (the last one filled with zeros), each [k][nr] */
#ifndef TN_KERN_GEMM_H
#define TN_KERN_GEMM_H

#include "kern/kern.h"

enum { TN_GEMM_KC = 256, TN_GEMM_MAX_NR = 32 };

enum { /* what a tile adds its products to */
       TN_START_ZERO,
       TN_START_ACC, /* what C holds */
       TN_START_ROW, /* bias[i] of the tile's row i */
       TN_START_COL  /* bias[j] of the tile's column j */
};

typedef struct tn_tile { /* C[mr, n] = start + A[mr, k] * B[k, n] */
  int64_t k;
  const float *a; /* [k][mr] */
  const float *b; /* row i at b + i * b_step, nr elements of each readable */
  int64_t b_step;
  float *c;
  int64_t ldc;
  int n; /* columns to write, 1..nr */
  int start;
  const float *bias;
} tn_tile;

typedef struct tn_gemm_isa {
  int mr, nr;
  void (*const *tile)(const tn_tile *t); /* by number of rows, 1..mr */
  /* y[i] = bias + sum over t of w[t] * rows[t][i], i < n */
  void (*taps)(float *y, int64_t n, const float *const *rows, const float *w, int64_t n_taps, float bias);
  float (*dot)(const float *a, const float *b, int64_t n);
} tn_gemm_isa;

extern const tn_gemm_isa tn_gemm_isa_v1;
#if defined(__x86_64__)
extern const tn_gemm_isa tn_gemm_isa_v3;
extern const tn_gemm_isa tn_gemm_isa_v4;
#endif
const tn_gemm_isa *tn_gemm_isa_get(void); /* for this CPU */

typedef struct tn_gemm {
  int64_t m, n, k;
  const float *a; /* element (i, p) at a[i * a_rs + p * a_cs]; unused when a_packed is given */
  int64_t a_rs, a_cs;
  const float *a_packed;
  const float *b; /* element (p, j) at b[p * b_rs + j * b_cs]; unused when b_packed is given */
  int64_t b_rs, b_cs;
  const float *b_packed;
  float alpha; /* factor of A when it is packed here */
  float *c;
  int64_t ldc;
  int start;
  const float *bias;
} tn_gemm;

/* Elements of the packed forms. */
static inline int64_t tn_gemm_b_columns(const tn_gemm_isa *isa, int64_t n) {
  return (n + isa->nr - 1) / isa->nr * isa->nr;
}
void tn_gemm_pack_a(const tn_gemm_isa *isa, float *out, const float *a, int64_t rs, int64_t cs, int64_t m, int64_t k,
                    float alpha);
void tn_gemm_pack_b(const tn_gemm_isa *isa, float *out, const float *b, int64_t rs, int64_t cs, int64_t k, int64_t n);

/* Elements of working memory tn_gemm_run needs with that many threads. */
TN_MUST_CHECK bool tn_gemm_work(const tn_gemm_isa *isa, const tn_gemm *g, int threads, int64_t *out);
void tn_gemm_run(const tn_gemm_isa *isa, const tn_gemm *g, tn_pool *pool, float *work);

/* C += tile products over one packed block: rows [0, m) of A's block, columns [0, n) of B's block, kc of k. */
void tn_gemm_block(const tn_gemm_isa *isa, int64_t m, int64_t n, int64_t kc, const float *a, const float *b, float *c,
                   int64_t ldc, int start, const float *bias);

/* Room that stays with the step for the packed form of a constant operand (slot 0..3); NULL when there is none. */
float *tn_gemm_keep(tn_kcall *k, const tn_karg *operand, int slot, int64_t n, bool *fresh);

#endif
