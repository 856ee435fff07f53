/* Matrix multiplication in f32: packing and the loops around the register tiles. */
#include "kern/gemm.h"

#include <string.h>

enum { GEMM_MC = 120, GEMM_NC = 1024 }; /* rows and columns of one task; GEMM_MC is a multiple of every mr */

const tn_gemm_isa *tn_gemm_isa_get(void) {
#if defined(__x86_64__)
  const int level = tn_cpu_level();
  if (level >= 4) return &tn_gemm_isa_v4;
  if (level >= 3) return &tn_gemm_isa_v3;
#endif
  return &tn_gemm_isa_v1;
}

static int64_t gemm_min(int64_t a, int64_t b) { return a < b ? a : b; }

/* One panel of `rows` rows and kc of k. */
static void gemm_pack_panel(float *out, const float *a, int64_t rs, int64_t cs, int64_t rows, int64_t kc, float alpha) {
  for (int64_t i = 0; i < rows; i++) {
    const float *s = a + i * rs;
    float *d = out + i;
    for (int64_t k = 0; k < kc; k++) d[k * rows] = alpha * s[k * cs];
  }
}

/* Rows [0, m), kc of k: what tn_gemm_block takes. */
static void gemm_pack_rows(const tn_gemm_isa *isa, float *out, const float *a, int64_t rs, int64_t cs, int64_t m,
                           int64_t kc, float alpha) {
  for (int64_t i = 0; i < m; i += isa->mr)
    gemm_pack_panel(out + i * kc, a + i * rs, rs, cs, gemm_min(isa->mr, m - i), kc, alpha);
}

void tn_gemm_pack_a(const tn_gemm_isa *isa, float *out, const float *a, int64_t rs, int64_t cs, int64_t m, int64_t k,
                    float alpha) {
  for (int64_t k0 = 0; k0 < k; k0 += TN_GEMM_KC)
    gemm_pack_rows(isa, out + k0 * m, a + k0 * cs, rs, cs, m, gemm_min(TN_GEMM_KC, k - k0), alpha);
}

/* One panel of n <= nr columns and kc of k. */
static void gemm_pack_columns(float *out, int nr, const float *b, int64_t rs, int64_t cs, int64_t kc, int64_t n) {
  if (n < nr) memset(out, 0, (size_t)(kc * nr) * sizeof(float));
  if (cs == 1) {
    for (int64_t k = 0; k < kc; k++) memcpy(out + k * nr, b + k * rs, (size_t)n * sizeof(float));
  } else {
    for (int64_t j = 0; j < n; j++)
      for (int64_t k = 0; k < kc; k++) out[k * nr + j] = b[k * rs + j * cs];
  }
}

typedef struct gemm_pack {
  const tn_gemm_isa *isa;
  float *out;
  const float *b;
  int64_t rs, cs, k, n;
} gemm_pack;

static void gemm_pack_task(void *arg, int64_t begin, int64_t end, int worker) {
  const gemm_pack *p = arg;
  (void)worker;
  const int nr = p->isa->nr;
  const int64_t columns = tn_gemm_b_columns(p->isa, p->n);
  for (int64_t j = begin * nr; j < end * nr && j < p->n; j += nr)
    for (int64_t k0 = 0; k0 < p->k; k0 += TN_GEMM_KC) {
      const int64_t kc = gemm_min(TN_GEMM_KC, p->k - k0);
      gemm_pack_columns(p->out + k0 * columns + j * kc, nr, p->b + k0 * p->rs + j * p->cs, p->rs, p->cs, kc,
                        gemm_min(nr, p->n - j));
    }
}

void tn_gemm_pack_b(const tn_gemm_isa *isa, float *out, const float *b, int64_t rs, int64_t cs, int64_t k, int64_t n) {
  gemm_pack p = {isa, out, b, rs, cs, k, n};
  gemm_pack_task(&p, 0, tn_gemm_b_columns(isa, n) / isa->nr, 0);
}

/* All rows of one panel of columns. */
static void gemm_column(const tn_gemm_isa *isa, tn_tile *t, int64_t m, const float *a, float *c) {
  const float *bias = t->bias;
  for (int64_t i = 0; i < m; i += isa->mr) {
    t->a = a + i * t->k;
    t->c = c + i * t->ldc;
    if (t->start == TN_START_ROW) t->bias = bias + i;
    isa->tile[gemm_min(isa->mr, m - i)](t);
  }
  t->bias = bias;
}

void tn_gemm_block(const tn_gemm_isa *isa, int64_t m, int64_t n, int64_t kc, const float *a, const float *b, float *c,
                   int64_t ldc, int start, const float *bias) {
  for (int64_t j = 0; j < n; j += isa->nr) {
    tn_tile t = {.k = kc, .b = b + j * kc, .b_step = isa->nr, .ldc = ldc, .start = start, .bias = bias};
    t.n = (int)gemm_min(isa->nr, n - j);
    if (start == TN_START_COL) t.bias = bias + j;
    gemm_column(isa, &t, m, a, c + j);
  }
}

/* The same with B where it lies; the last, narrow panel is packed into `room`. */
static void gemm_block_direct(const tn_gemm_isa *isa, const tn_gemm *g, int64_t kc, const float *a, const float *b,
                              int64_t n, float *c, int start, const float *bias, float *room) {
  for (int64_t j = 0; j < n; j += isa->nr) {
    tn_tile t = {.k = kc, .b = b + j, .b_step = g->b_rs, .ldc = g->ldc, .start = start, .bias = bias};
    t.n = (int)gemm_min(isa->nr, n - j);
    if (t.n < isa->nr) {
      gemm_pack_columns(room, isa->nr, t.b, g->b_rs, 1, kc, t.n);
      t.b = room;
      t.b_step = isa->nr;
    }
    if (start == TN_START_COL) t.bias = bias + j;
    gemm_column(isa, &t, g->m, a, c + j);
  }
}

/* With so few rows B is read about once: packing it would cost as much as the product. */
static bool gemm_is_direct(const tn_gemm_isa *isa, const tn_gemm *g) {
  return !g->b_packed && g->b_cs == 1 && g->m <= isa->mr;
}

static int64_t gemm_worker_floats(const tn_gemm_isa *isa) { return (int64_t)TN_GEMM_KC * (GEMM_MC + isa->nr); }

bool tn_gemm_work(const tn_gemm_isa *isa, const tn_gemm *g, int threads, int64_t *out) {
  int64_t packed = 0;
  if (!g->b_packed && !gemm_is_direct(isa, g) && !tn_mul_i64(g->k, tn_gemm_b_columns(isa, g->n), &packed)) return false;
  return tn_add_i64(packed, threads * gemm_worker_floats(isa), out);
}

typedef struct gemm_run {
  const tn_gemm_isa *isa;
  const tn_gemm *g;
  const float *b_packed; /* NULL: direct */
  float *work;
  int64_t row_blocks;
} gemm_run;

static void gemm_task(void *arg, int64_t begin, int64_t end, int worker) {
  const gemm_run *r = arg;
  const tn_gemm *g = r->g;
  float *room = r->work + worker * gemm_worker_floats(r->isa);
  const int64_t columns = tn_gemm_b_columns(r->isa, g->n);
  for (int64_t task = begin; task < end; task++) {
    const int64_t i0 = task % r->row_blocks * GEMM_MC, j0 = task / r->row_blocks * GEMM_NC;
    const int64_t m = gemm_min(GEMM_MC, g->m - i0), n = gemm_min(GEMM_NC, g->n - j0);
    float *c = g->c + i0 * g->ldc + j0;
    const float *bias = g->bias;
    if (g->start == TN_START_ROW) bias += i0;
    if (g->start == TN_START_COL) bias += j0;
    for (int64_t k0 = 0; k0 < g->k; k0 += TN_GEMM_KC) {
      const int64_t kc = gemm_min(TN_GEMM_KC, g->k - k0);
      const int start = k0 ? TN_START_ACC : g->start;
      const float *a;
      if (g->a_packed) {
        a = g->a_packed + k0 * g->m + i0 * kc;
      } else if (m == 1 && g->a_cs == 1 && g->alpha == 1.0f) {
        a = g->a + i0 * g->a_rs + k0;
      } else {
        gemm_pack_rows(r->isa, room, g->a + i0 * g->a_rs + k0 * g->a_cs, g->a_rs, g->a_cs, m, kc, g->alpha);
        a = room;
      }
      if (r->b_packed)
        tn_gemm_block(r->isa, m, n, kc, a, r->b_packed + k0 * columns + j0 * kc, c, g->ldc, start, bias);
      else
        gemm_block_direct(r->isa, g, kc, a, g->b + k0 * g->b_rs + j0, n, c, start, bias, room + TN_GEMM_KC * GEMM_MC);
    }
  }
}

/* No products at all: C is what the sum starts with. */
static void gemm_start_only(const tn_gemm *g) {
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      float *c = &g->c[i * g->ldc + j];
      if (g->start == TN_START_ZERO) *c = 0.0f;
      if (g->start == TN_START_ROW) *c = g->bias[i];
      if (g->start == TN_START_COL) *c = g->bias[j];
    }
}

void tn_gemm_run(const tn_gemm_isa *isa, const tn_gemm *g, tn_pool *pool, float *work) {
  if (g->m == 0 || g->n == 0) return;
  if (g->k == 0) {
    gemm_start_only(g);
    return;
  }
  if ((double)g->m * (double)g->n * (double)g->k < 65536.0) pool = NULL;
  gemm_run r = {isa, g, g->b_packed, work, (g->m + GEMM_MC - 1) / GEMM_MC};
  if (!g->b_packed && !gemm_is_direct(isa, g)) {
    gemm_pack p = {isa, work, g->b, g->b_rs, g->b_cs, g->k, g->n};
    const int64_t columns = tn_gemm_b_columns(isa, g->n);
    tn_pool_for(pool, columns / isa->nr, 8, gemm_pack_task, &p);
    r.b_packed = work;
    r.work = work + g->k * columns;
  }
  tn_pool_for(pool, r.row_blocks * ((g->n + GEMM_NC - 1) / GEMM_NC), 1, gemm_task, &r);
}

float *tn_gemm_keep(tn_kcall *k, const tn_karg *operand, int slot, int64_t n, bool *fresh) {
  size_t bytes;
  if (!operand->is_const || !k->host->cache || !tn_mul_size((size_t)n, sizeof(float), &bytes) || bytes == 0)
    return NULL;
  return k->host->cache(k->host_self, k, slot, bytes, fresh);
}
