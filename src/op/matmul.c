/* MatMul and Gemm. */
#include "op/matmul.h"
#include "ir/axis.h"

#include "ir/eval.h"
#include "ir/import.h"

#define MATMUL_TYPES (TN_SET_FLOATS | TN_SET(I32) | TN_SET(I64) | TN_SET(U32) | TN_SET(U64))

tn_status tn_matmul_shape(tn_rule *r, int a_port, int b_port) {
  TN_TRY(tn_rule_need_rank(r, a_port, 1, TN_MAX_RANK));
  TN_TRY(tn_rule_need_rank(r, b_port, 1, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, a_port) || !tn_rule_has_rank(r, b_port)) return TN_OK;
  const tn_type *a = r->in[a_port], *b = r->in[b_port];
  const int ba = a->rank > 2 ? a->rank - 2 : 0, bb = b->rank > 2 ? b->rank - 2 : 0;
  TN_TRY(tn_rule_unify(r, a->dims[a->rank - 1], b->dims[b->rank > 1 ? b->rank - 2 : 0], "columns of a and rows of b",
                       a->rank - 1, NULL));
  int rank;
  tn_sym *batch;
  TN_TRY(tn_rule_bcast(r, ba, a->dims, bb, b->dims, &rank, &batch));
  tn_sym dims[TN_MAX_RANK + 2];
  for (int i = 0; i < rank; i++) dims[i] = batch[i];
  if (a->rank > 1) dims[rank++] = a->dims[a->rank - 2];
  if (b->rank > 1) dims[rank++] = b->dims[b->rank - 1];
  tn_rule_set(r, 0, rank, dims);
  return TN_OK;
}

static tn_status matmul_shape(tn_rule *r) { return tn_matmul_shape(r, 0, 1); }

/* Sum of products of two vectors with element steps, stored as element `at` of y. */
static void matmul_eval_dot(const tn_lit *a, int64_t ia, int64_t sa, const tn_lit *b, int64_t ib, int64_t sb, int64_t n,
                            tn_lit *y, int64_t at) {
  if (tn_dtype_is_int(y->dtype)) {
    uint64_t sum = 0;
    for (int64_t p = 0; p < n; p++)
      sum += (uint64_t)tn_lit_i64_at(a, ia + p * sa) * (uint64_t)tn_lit_i64_at(b, ib + p * sb);
    tn_store_i64(y->dtype, tn_lit_data(y), at, (int64_t)sum);
    return;
  }
  double sum = 0;
  for (int64_t p = 0; p < n; p++) sum += tn_lit_f64(a, ia + p * sa) * tn_lit_f64(b, ib + p * sb);
  tn_store_f64(y->dtype, tn_lit_data(y), at, sum);
}

static tn_status matmul_eval(tn_eval *e) {
  const tn_lit *a = e->in[0], *b = e->in[1];
  if (a->rank < 1 || b->rank < 1)
    return tn_eval_fail(e, TN_MISMATCH, "a matrix product needs operands of rank 1 or more");
  const int64_t m = a->rank > 1 ? a->dims[a->rank - 2] : 1, k = a->dims[a->rank - 1];
  const int64_t n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
  if (b->dims[b->rank > 1 ? b->rank - 2 : 0] != k)
    return tn_eval_fail(e, TN_MISMATCH, "cannot multiply: columns of a and rows of b differ");
  const int ba = a->rank > 2 ? a->rank - 2 : 0, bb = b->rank > 2 ? b->rank - 2 : 0;
  int rank = 0;
  int64_t dims[TN_MAX_RANK + 2];
  TN_TRY(tn_eval_bcast(e, ba, a->dims, bb, b->dims, &rank, dims));
  const int batch_rank = rank;
  int64_t batch = 1, batch_dims[TN_MAX_RANK];
  for (int i = 0; i < rank; i++) batch *= batch_dims[i] = dims[i];
  if (a->rank > 1) dims[rank++] = m;
  if (b->rank > 1) dims[rank++] = n;
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), rank, dims, &y));
  if (y->count == 0) return TN_OK;
  for (int64_t i = 0; i < batch; i++) {
    const int64_t oa = tn_bcast_index(i, batch_rank, batch_dims, ba, a->dims) * m * k;
    const int64_t ob = tn_bcast_index(i, batch_rank, batch_dims, bb, b->dims) * k * n;
    for (int64_t r = 0; r < m; r++)
      for (int64_t c = 0; c < n; c++) matmul_eval_dot(a, oa + r * k, 1, b, ob + c, n, k, y, (i * m + r) * n + c);
  }
  return TN_OK;
}

TN_OP(matmul){
    .name = "matmul",
    .in = {{"a", MATMUL_TYPES, "T", 0}, {"b", MATMUL_TYPES, "T", 0}},
    .out = {{"y", MATMUL_TYPES, "T", 0}},
    .type = tn_type_by_group,
    .shape = matmul_shape,
    .eval = matmul_eval,
    .kernel = "matmul",
    .axis = tn_axis_matmul,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_SUM, 1e-5},
    .doc = "matrix product over the last two dims, with broadcasting of the others, as numpy.matmul",
};

TN_ONNX(ai, MatMul, 1, TN_LATEST, matmul, tn_import_same)

static tn_status gemm_shape(tn_rule *r) {
  for (int i = 0; i < 2; i++) TN_TRY(tn_rule_need_rank(r, i, 2, 2));
  TN_TRY(tn_rule_need_rank(r, 2, 0, 2));
  if (!tn_rule_has_rank(r, 0) || !tn_rule_has_rank(r, 1)) return TN_OK;
  const bool ta = tn_rule_int(r, "transA") != 0, tb = tn_rule_int(r, "transB") != 0;
  const tn_sym *a = r->in[0]->dims, *b = r->in[1]->dims;
  TN_TRY(tn_rule_unify(r, a[!ta], b[tb], "columns of a and rows of b", !ta, NULL));
  const tn_sym dims[2] = {a[ta], b[!tb]};
  if (tn_rule_has_rank(r, 2)) {
    const tn_type *c = r->in[2];
    for (int i = 0; i < c->rank; i++) {
      const int j = i + 2 - c->rank;
      const tn_sym one = tn_sym_int(r->syms, 1);
      TN_TRY(tn_rule_demand(
          r, tn_sym_or(r->syms, tn_sym_eq(r->syms, c->dims[i], one), tn_sym_eq(r->syms, c->dims[i], dims[j])),
          "cannot broadcast dim %d of c: %s with %s", i, tn_sym_text(r->syms, c->dims[i]),
          tn_sym_text(r->syms, dims[j])));
    }
  }
  tn_rule_set(r, 0, 2, dims);
  return TN_OK;
}

static tn_status gemm_eval(tn_eval *e) {
  const tn_lit *a = e->in[0], *b = e->in[1], *c = e->n_in > 2 ? e->in[2] : NULL;
  if (a->rank != 2 || b->rank != 2) return tn_eval_fail(e, TN_MISMATCH, "gemm needs operands of rank 2");
  const bool ta = tn_eval_int(e, "transA") != 0, tb = tn_eval_int(e, "transB") != 0;
  const int64_t dims[2] = {a->dims[ta], b->dims[!tb]}, k = a->dims[!ta];
  if (b->dims[tb] != k) return tn_eval_fail(e, TN_MISMATCH, "cannot multiply: columns of a and rows of b differ");
  const double alpha = tn_eval_float(e, "alpha"), beta = tn_eval_float(e, "beta");
  if (c) {
    int rank;
    int64_t both[TN_MAX_RANK];
    TN_TRY(tn_eval_bcast(e, 2, dims, c->rank, c->dims, &rank, both));
    if (rank != 2 || both[0] != dims[0] || both[1] != dims[1])
      return tn_eval_fail(e, TN_MISMATCH, "cannot broadcast c to the product");
  }
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, tn_eval_out_dtype(e, 0), 2, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t row = i / dims[1], col = i % dims[1];
    const int64_t ia = ta ? row : row * k, sa = ta ? dims[0] : 1, ib = tb ? col * k : col, sb = tb ? 1 : dims[1];
    const int64_t ic = c ? tn_bcast_index(i, 2, dims, c->rank, c->dims) : 0;
    if (tn_dtype_is_int(y->dtype) && alpha == 1.0 && beta == 1.0) {
      uint64_t whole = c ? (uint64_t)tn_lit_i64_at(c, ic) : 0;
      for (int64_t p = 0; p < k; p++)
        whole += (uint64_t)tn_lit_i64_at(a, ia + p * sa) * (uint64_t)tn_lit_i64_at(b, ib + p * sb);
      tn_store_i64(y->dtype, tn_lit_data(y), i, (int64_t)whole);
      continue;
    }
    double sum = 0;
    for (int64_t p = 0; p < k; p++) sum += tn_lit_f64(a, ia + p * sa) * tn_lit_f64(b, ib + p * sb);
    sum *= alpha;
    if (c && beta != 0.0) sum += beta * tn_lit_f64(c, ic);
    tn_store_f64(y->dtype, tn_lit_data(y), i, sum);
  }
  return TN_OK;
}

/* Before opset 7 C broadcast only when `broadcast` said so; a C that fits needs no flag. */
static tn_status gemm_import_1(tn_import *im) {
  tn_import_ignore(im, "broadcast");
  return tn_import_same(im);
}

TN_OP(gemm){
    .name = "gemm",
    .in = {{"a", MATMUL_TYPES, "T", .rank = 2},
           {"b", MATMUL_TYPES, "T", .rank = 2},
           {"c", MATMUL_TYPES, "T", TN_PORT_OPTIONAL}},
    .out = {{"y", MATMUL_TYPES, "T", 0}},
    .attrs = {{"alpha", TN_ATTR_FLOAT, .f = 1.0},
              {"beta", TN_ATTR_FLOAT, .f = 1.0},
              {"transA", TN_ATTR_INT, .has_default = true},
              {"transB", TN_ATTR_INT, .has_default = true}},
    .type = tn_type_by_group,
    .shape = gemm_shape,
    .eval = gemm_eval,
    .kernel = "gemm",
    .axis = tn_axis_gemm,
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_SUM, 1e-5},
    .doc = "alpha * a * b + beta * c for matrices, a and b transposed on demand, c broadcast to the product",
};

TN_ONNX(ai, Gemm, 1, 6, gemm, gemm_import_1)
TN_ONNX(ai, Gemm, 7, TN_LATEST, gemm, tn_import_same)
