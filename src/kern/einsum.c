/* Einsum. Two f32 operands become a batch of matrix products on packed copies; all else is summed term by term. */
#include "base/einsum.h"

#include "kern/gemm.h"
#include "kern/move.h"

typedef struct einsum_plan {
  tn_einsum q;
  int64_t size[TN_EINSUM_LABELS];
  int64_t step[TN_EINSUM_MAX_IN][TN_EINSUM_LABELS]; /* element strides of each operand by label */
  bool in_out[TN_EINSUM_LABELS];
} einsum_plan;

static tn_status einsum_prepare(tn_kcall *k, einsum_plan *p) {
  const tn_kattr *const equation = tn_k_attr(k, "equation");
  int ranks[TN_EINSUM_MAX_IN];
  if (k->n_in > TN_EINSUM_MAX_IN || !equation) return tn_k_fail(k, TN_INTERNAL, "einsum lacks its equation");
  for (int i = 0; i < k->n_in; i++) ranks[i] = k->in[i]->rank;
  const char *const wrong = tn_einsum_parse(equation->s, k->n_in, ranks, &p->q);
  if (wrong) return tn_k_fail(k, TN_INVALID, "%s", wrong);
  for (int l = 0; l < TN_EINSUM_LABELS; l++) p->size[l] = 1;
  for (int i = 0; i < k->n_in; i++)
    for (int d = 0; d < ranks[i]; d++) {
      int64_t *const size = &p->size[p->q.in[i].label[d]];
      const int64_t dim = k->in[i]->dims[d];
      if (*size != 1 && dim != 1 && dim != *size)
        return tn_k_fail(k, TN_MISMATCH, "operand %d dim %d is %lld, but its letter stands for %lld", i, d,
                         (long long)dim, (long long)*size);
      if (*size == 1) *size = dim;
    }
  for (int i = 0; i < k->n_in; i++) {
    int64_t strides[TN_K_MAX_RANK];
    if (k->in[i]->dtype != k->in[0]->dtype) return tn_k_fail(k, TN_INTERNAL, "operands differ in element type");
    tn_k_strides(ranks[i], k->in[i]->dims, strides);
    for (int d = 0; d < ranks[i]; d++)
      if (k->in[i]->dims[d] != 1) p->step[i][p->q.in[i].label[d]] += strides[d];
  }
  for (int d = 0; d < p->q.out.rank; d++) p->in_out[p->q.out.label[d]] = true;
  return TN_OK;
}

/* --- term by term --- */

typedef struct einsum_job {
  const einsum_plan *p;
  const tn_kcall *k;
  int n_lost;
  int lost[TN_EINSUM_LABELS];
  int64_t dims[TN_EINSUM_LABELS]; /* of the lost labels */
} einsum_job;
static double einsum_sum_f64(const einsum_job *j, int64_t *from) {
  int64_t index[TN_EINSUM_LABELS] = {0};
  double sum = 0;
  do {
    double product = 1;
    for (int i = 0; i < j->k->n_in; i++) {
      int64_t at = from[i];
      for (int l = 0; l < j->n_lost; l++) at += index[l] * j->p->step[i][j->lost[l]];
      product *= tn_load_f64(j->k->in[i]->dtype, j->k->in[i]->data, at);
    }
    sum += product;
  } while (tn_k_next(j->n_lost, j->dims, index));
  return sum;
}
static int64_t einsum_sum_i64(const einsum_job *j, int64_t *from) {
  int64_t index[TN_EINSUM_LABELS] = {0};
  uint64_t sum = 0;
  do {
    uint64_t product = 1;
    for (int i = 0; i < j->k->n_in; i++) {
      int64_t at = from[i];
      for (int l = 0; l < j->n_lost; l++) at += index[l] * j->p->step[i][j->lost[l]];
      product *= (uint64_t)tn_k_i64(j->k->in[i], at);
    }
    sum += product;
  } while (tn_k_next(j->n_lost, j->dims, index));
  return (int64_t)sum;
}
static void einsum_task(void *arg, int64_t begin, int64_t end, int worker) {
  const einsum_job *const j = arg;
  tn_karg *const y = j->k->out[0];
  (void)worker;
  for (int64_t o = begin; o < end; o++) {
    int64_t rest = o, from[TN_EINSUM_MAX_IN] = {0};
    for (int d = y->rank - 1; d >= 0; d--) {
      const int64_t at = rest % y->dims[d];
      rest /= y->dims[d];
      for (int i = 0; i < j->k->n_in; i++) from[i] += at * j->p->step[i][j->p->q.out.label[d]];
    }
    if (tn_dtype_is_float(y->dtype))
      tn_store_f64(y->dtype, y->data, o, einsum_sum_f64(j, from));
    else
      tn_store_i64(y->dtype, y->data, o, einsum_sum_i64(j, from));
  }
}
static tn_status einsum_terms(tn_kcall *k, const einsum_plan *p) {
  tn_karg *const y = k->out[0];
  einsum_job j = {.p = p, .k = k};
  size_t bytes;
  int64_t terms = 1;
  for (int l = 0; l < TN_EINSUM_LABELS; l++) {
    if (p->in_out[l] || p->size[l] == 1) continue;
    j.dims[j.n_lost] = p->size[l];
    j.lost[j.n_lost++] = l;
    if (!tn_mul_i64(terms, p->size[l], &terms)) return tn_k_fail(k, TN_LIMIT, "too many products to sum");
  }
  if (terms == 0) { /* sums of nothing */
    if (!tn_dtype_bytes(y->dtype, y->count, &bytes)) return tn_k_fail(k, TN_LIMIT, "too many elements");
    if (bytes) memset(y->data, 0, bytes);
    return TN_OK;
  }
  tn_pool_for(tn_dtype_bits(y->dtype) < 8 ? NULL : k->pool, y->count, 1 + 1024 / terms, einsum_task, &j);
  return TN_OK;
}

/* --- one operand whose axes change places --- */

static bool einsum_only_moves(const einsum_plan *p) {
  for (int l = 0; l < TN_EINSUM_LABELS; l++)
    if (!p->in_out[l] && p->size[l] != 1) return false;
  return true;
}
static tn_status einsum_move(tn_kcall *k, const einsum_plan *p) {
  tn_karg *const y = k->out[0];
  tn_move m = {.dtype = y->dtype, .rank = y->rank, .src = k->in[0]->data, .dst = y->data};
  for (int d = 0; d < y->rank; d++) {
    m.dims[d] = y->dims[d];
    m.from[d] = p->step[0][p->q.out.label[d]];
  }
  tn_k_strides(y->rank, y->dims, m.to);
  tn_k_move(k->pool, &m);
  return TN_OK;
}

/* --- two operands as matrices --- */

enum { EINSUM_BATCH, EINSUM_M, EINSUM_N, EINSUM_K, EINSUM_GROUPS };
typedef struct einsum_groups {
  int n[EINSUM_GROUPS], label[EINSUM_GROUPS][TN_EINSUM_LABELS];
  int64_t size[EINSUM_GROUPS];
} einsum_groups;

/* False when some label is summed in one operand alone. */
static bool einsum_group(const einsum_plan *p, einsum_groups *g) {
  for (int i = 0; i < EINSUM_GROUPS; i++) g->size[i] = 1;
  for (int l = 0; l < TN_EINSUM_LABELS; l++) {
    const bool a = p->step[0][l] != 0, b = p->step[1][l] != 0;
    if (p->size[l] == 1) continue;
    if (!p->in_out[l] && !(a && b)) return false;
    const int group = !p->in_out[l] ? EINSUM_K : (a && b ? EINSUM_BATCH : (a ? EINSUM_M : EINSUM_N));
    g->label[group][g->n[group]++] = l;
    if (!tn_mul_i64(g->size[group], p->size[l], &g->size[group])) return false;
  }
  return g->n[EINSUM_BATCH] + g->n[EINSUM_M] + g->n[EINSUM_N] + g->n[EINSUM_K] <= TN_MOVE_MAX_RANK;
}
/* Axes of groups one after another, with an operand's steps. */
static void einsum_axes(const einsum_plan *p, const einsum_groups *g, const int *order, const int64_t *step, tn_move *m,
                        bool is_dst) {
  int64_t *const outside = is_dst ? m->to : m->from, *const packed = is_dst ? m->from : m->to, stride = 1;
  m->rank = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < g->n[order[i]]; j++) {
      const int l = g->label[order[i]][j];
      m->dims[m->rank] = p->size[l];
      outside[m->rank++] = step[l];
    }
  for (int d = m->rank - 1; d >= 0; d--) {
    packed[d] = stride;
    stride *= m->dims[d];
  }
}
static tn_status einsum_pack(tn_kcall *k, const einsum_plan *p, const einsum_groups *g, int operand, const int *order,
                             float **out) {
  void *room;
  tn_move m = {.dtype = TN_F32, .src = k->in[operand]->data};
  const int64_t n = g->size[order[0]] * g->size[order[1]] * g->size[order[2]];
  TN_TRY(tn_k_room(k, n, sizeof(float), &room));
  einsum_axes(p, g, order, p->step[operand], &m, false);
  m.dst = room;
  tn_k_move(k->pool, &m);
  *out = room;
  return TN_OK;
}
static tn_status einsum_gemm(tn_kcall *k, const einsum_plan *p, const einsum_groups *g) {
  static const int order_a[3] = {EINSUM_BATCH, EINSUM_M, EINSUM_K}, order_b[3] = {EINSUM_BATCH, EINSUM_K, EINSUM_N};
  static const int order_c[3] = {EINSUM_BATCH, EINSUM_M, EINSUM_N};
  const int64_t m = g->size[EINSUM_M], n = g->size[EINSUM_N], kk = g->size[EINSUM_K];
  const tn_gemm_isa *const isa = tn_gemm_isa_get();
  tn_karg *const y = k->out[0];
  float *a, *b;
  void *c, *work;
  int64_t room, step[TN_EINSUM_LABELS] = {0}, strides[TN_K_MAX_RANK];
  TN_TRY(einsum_pack(k, p, g, 0, order_a, &a));
  TN_TRY(einsum_pack(k, p, g, 1, order_b, &b));
  TN_TRY(tn_k_room(k, y->count, sizeof(float), &c));
  tn_gemm mm = {.m = m,
                .n = n,
                .k = kk,
                .a_rs = kk,
                .a_cs = 1,
                .b_rs = n,
                .b_cs = 1,
                .alpha = 1,
                .ldc = n,
                .start = TN_START_ZERO};
  if (!tn_gemm_work(isa, &mm, tn_pool_threads(k->pool), &room)) return tn_k_fail(k, TN_LIMIT, "too many elements");
  TN_TRY(tn_k_room(k, room, sizeof(float), &work));
  for (int64_t i = 0; i < g->size[EINSUM_BATCH]; i++) {
    mm.a = a + i * m * kk;
    mm.b = b + i * kk * n;
    mm.c = (float *)c + i * m * n;
    tn_gemm_run(isa, &mm, k->pool, work);
  }
  tn_k_strides(y->rank, y->dims, strides);
  for (int d = 0; d < y->rank; d++) step[p->q.out.label[d]] = strides[d];
  tn_move back = {.dtype = TN_F32, .src = c, .dst = y->data};
  einsum_axes(p, g, order_c, step, &back, true);
  tn_k_move(k->pool, &back);
  return TN_OK;
}

TN_KERNEL(einsum, TN_K_SIZES) {
  einsum_plan p = {0};
  einsum_groups g = {0};
  int64_t dims[TN_K_MAX_RANK];
  bool empty = false;
  TN_TRY(tn_k_same_type(k, k->n_in > 0 ? k->n_in : 1, 1));
  TN_TRY(einsum_prepare(k, &p));
  if (!tn_dtype_is_float(k->in[0]->dtype) && !tn_dtype_is_int(k->in[0]->dtype)) return tn_k_no_dtype(k, 0);
  for (int d = 0; d < p.q.out.rank; d++) dims[d] = p.size[p.q.out.label[d]];
  TN_TRY(tn_k_out(k, 0, p.q.out.rank, dims));
  for (int l = 0; l < TN_EINSUM_LABELS; l++) empty = empty || p.size[l] == 0;
  if (!empty && k->n_in == 1 && einsum_only_moves(&p)) return einsum_move(k, &p);
  if (!empty && k->n_in == 2 && k->in[0]->dtype == TN_F32 && einsum_group(&p, &g)) return einsum_gemm(k, &p, &g);
  return einsum_terms(k, &p);
}
