/* MatMulNBits of com.microsoft: a product with a matrix of 2 to 8 bits a number, scaled by blocks. */
#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"
#include "op/move.h"

#define NBITS_TYPES (TN_SET(F32) | TN_SET(F16) | TN_SET(BF16))

static tn_status nbits_shape(tn_rule *r) {
  const int64_t n = tn_rule_int(r, "N"), k = tn_rule_int(r, "K"), bits = tn_rule_int(r, "bits");
  const int64_t block = tn_rule_int(r, "block_size");
  if (n < 1 || k < 1 || n > INT32_MAX || k > INT32_MAX || block < 16 || block > INT32_MAX ||
      (bits != 2 && bits != 4 && bits != 8))
    return tn_rule_fail(r, TN_INVALID, "N %lld, K %lld, block_size %lld, bits %lld", (long long)n, (long long)k,
                        (long long)block, (long long)bits);
  TN_TRY(tn_rule_need_rank(r, 0, 1, TN_MAX_RANK));
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  tn_symtab *const t = r->syms;
  const tn_type *const a = r->in[0];
  TN_TRY(tn_rule_unify(r, a->dims[a->rank - 1], tn_sym_int(t, k), "columns of a and rows of b", a->rank - 1, NULL));
  const int64_t blocks = (k + block - 1) / block, bytes = block * bits / 8;
  int64_t all; /* of three factors below 2^34 */
  if (!tn_mul_i64(n, blocks, &all) || !tn_mul_i64(all, bytes, &all))
    return tn_rule_fail(r, TN_LIMIT, "the matrix is too large");
  if (tn_rule_has_rank(r, 1))
    TN_TRY(tn_rule_unify(r, tn_type_count(t, r->in[1]), tn_sym_int(t, n * blocks * bytes), "bytes of b", 0, NULL));
  if (tn_rule_has_rank(r, 2))
    TN_TRY(tn_rule_unify(r, tn_type_count(t, r->in[2]), tn_sym_int(t, n * blocks), "scales of b", 0, NULL));
  tn_sym *const dims = tn_rule_dims(r, a->rank);
  for (int d = 0; d < a->rank - 1; d++) dims[d] = a->dims[d];
  dims[a->rank - 1] = tn_sym_int(t, n);
  tn_rule_set(r, 0, a->rank, dims);
  return TN_OK;
}

static int64_t nbits_ref_at(const tn_lit *x, int64_t row_bytes, int64_t row, int64_t i, int64_t bits) {
  const int64_t byte = tn_lit_i64_at(x, row * row_bytes + i * bits / 8);
  return byte >> (i * bits % 8) & ((1 << bits) - 1);
}

/* The block of row p of the matrix: g_idx says, else it is in order. */
static int64_t nbits_ref_block(const tn_lit *group, int64_t p, int64_t block) {
  return group ? tn_lit_i64_at(group, p) : p / block;
}

static tn_status nbits_eval(tn_eval *e) {
  const tn_lit *const a = e->in[0], *const zero = tn_op_eval_in(e, 3), *const bias = tn_op_eval_in(e, 5);
  const tn_lit *const group = tn_op_eval_in(e, 4);
  const int64_t n = tn_eval_int(e, "N"), k = tn_eval_int(e, "K"), bits = tn_eval_int(e, "bits");
  const int64_t block = tn_eval_int(e, "block_size"), blocks = (k + block - 1) / block;
  const int64_t row = blocks * block * bits / 8, zero_row = (blocks * bits + 7) / 8;
  const bool float_zero = zero && tn_dtype_is_float(zero->dtype);
  if (a->rank < 1 || a->dims[a->rank - 1] != k || e->in[1]->count < n * row || e->in[2]->count < n * blocks ||
      (zero && zero->count < n * (float_zero ? blocks : zero_row)) || (bias && bias->count < n) ||
      (group && group->count < k))
    return tn_eval_fail(e, TN_MISMATCH, "the operands of the product do not fit each other");
  for (int64_t p = 0; group && p < k; p++)
    if (tn_lit_i64_at(group, p) < 0 || tn_lit_i64_at(group, p) >= blocks)
      return tn_eval_fail(e, TN_MISMATCH, "g_idx %lld is %lld of %lld blocks", (long long)p,
                          (long long)tn_lit_i64_at(group, p), (long long)blocks);
  int64_t dims[TN_MAX_RANK];
  for (int d = 0; d < a->rank; d++) dims[d] = a->dims[d];
  dims[a->rank - 1] = n;
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, a->dtype, a->rank, dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t c = i % n;
    double sum = bias ? tn_lit_f64(bias, c) : 0;
    for (int64_t p = 0; p < k; p++) {
      const int64_t at = nbits_ref_block(group, p, block);
      double z = (double)(1 << (bits - 1));
      if (float_zero) z = tn_lit_f64(zero, c * blocks + at);
      if (zero && !float_zero) z = (double)nbits_ref_at(zero, zero_row, c, at, bits);
      sum += tn_lit_f64(a, i / n * k + p) * ((double)nbits_ref_at(e->in[1], row, c, p, bits) - z) *
             tn_lit_f64(e->in[2], c * blocks + at);
    }
    tn_store_f64(y->dtype, tn_lit_data(y), i, sum);
  }
  return TN_OK;
}

TN_OP(matmul_nbits){
    .name = "matmul_nbits",
    .in = {{"a", NBITS_TYPES, "T"},
           {"b", TN_SET(U8)},
           {"scales", NBITS_TYPES, "T"},
           {"zero_points", TN_SET(U8) | NBITS_TYPES, NULL, TN_PORT_OPTIONAL},
           {"g_idx", TN_SET(I32), NULL, TN_PORT_OPTIONAL},
           {"bias", NBITS_TYPES, "T", TN_PORT_OPTIONAL}},
    .out = {{"y", NBITS_TYPES, "T"}},
    .attrs = {{"K", TN_ATTR_INT, .required = true},
              {"N", TN_ATTR_INT, .required = true},
              {"bits", TN_ATTR_INT, .i = 4},
              {"block_size", TN_ATTR_INT, .required = true}},
    .type = tn_type_as_input,
    .shape = nbits_shape,
    .eval = nbits_eval,
    .kernel = "matmul_nbits",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "a * b^T + bias where row n of b is (code - zero point) * scale by blocks",
};

static tn_status nbits_import(tn_import *im) {
  int64_t prepacked;
  tn_import_ignore(im, "accuracy_level");
  TN_TRY(tn_import_int(im, "weight_prepacked", 0, &prepacked));
  if (prepacked) return tn_import_fail(im, TN_UNSUPPORTED, "weights packed for another run time are not supported");
  return tn_import_same(im);
}

TN_ONNX(ms, MatMulNBits, 1, TN_LATEST, matmul_nbits, nbits_import)
