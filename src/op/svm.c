/* Support vector machines: a kernel with every support vector, then linear forms; probabilities by coupling pairs. */
#include <math.h>

#include "ir/eval.h"
#include "ir/rules.h"
#include "op/ml.h"

enum { SVM_MAX_CLASSES = 1 << 12 };

/* --- pair_coupling: what libsvm does --- */

static tn_status svm_coupling_shape(tn_rule *r) {
  const int64_t k = tn_rule_int(r, "n_classes");
  TN_TRY(tn_rule_need_rank(r, 0, 2, 2));
  if (k < 2 || k > SVM_MAX_CLASSES) return tn_rule_fail(r, TN_INVALID, "attribute 'n_classes' is %lld", (long long)k);
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  TN_TRY(tn_rule_unify(r, r->in[0]->dims[1], tn_sym_int(r->syms, k * (k - 1) / 2), "number of pairs", 1, NULL));
  tn_rule_set(r, 0, 2, (const tn_sym[]){r->in[0]->dims[0], tn_sym_int(r->syms, k)});
  return TN_OK;
}

/* Minimises the sum over pairs of (r_ji p_i - r_ij p_j)^2 where p sums to 1; r[i*k+j] is P(i | i or j). */
static void svm_couple(int64_t k, const double *r, double *q, double *p) {
  double *const qp = p + k;
  for (int64_t t = 0; t < k; t++) {
    p[t] = 1.0 / (double)k;
    q[t * k + t] = 0;
    for (int64_t j = 0; j < k; j++) {
      if (j == t) continue;
      q[t * k + t] += r[j * k + t] * r[j * k + t];
      q[t * k + j] = -r[j * k + t] * r[t * k + j];
    }
  }
  const int64_t most = k > 100 ? k : 100;
  for (int64_t round = 0; round < most; round++) {
    double pqp = 0, worst = 0;
    for (int64_t t = 0; t < k; t++) {
      qp[t] = 0;
      for (int64_t j = 0; j < k; j++) qp[t] += q[t * k + j] * p[j];
      pqp += p[t] * qp[t];
    }
    for (int64_t t = 0; t < k; t++) worst = fmax(worst, fabs(qp[t] - pqp));
    if (worst < 0.005 / (double)k) return;
    for (int64_t t = 0; t < k; t++) {
      const double step = (pqp - qp[t]) / q[t * k + t], scale = 1 + step;
      p[t] += step;
      pqp = (pqp + step * (step * q[t * k + t] + 2 * qp[t])) / scale / scale;
      for (int64_t j = 0; j < k; j++) {
        qp[j] = (qp[j] + step * q[t * k + j]) / scale;
        p[j] /= scale;
      }
    }
  }
}

static tn_status svm_coupling_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const int64_t k = tn_eval_int(e, "n_classes");
  tn_lit *y;
  if (x->rank != 2 || k < 2 || k > SVM_MAX_CLASSES || x->dims[1] != k * (k - 1) / 2)
    return tn_eval_fail(e, TN_MISMATCH, "%lld classes of another number of pairs", (long long)k);
  TN_TRY(tn_eval_out(e, 0, x->dtype, 2, (const int64_t[]){x->dims[0], k}, &y));
  double *const r = TN_NEW_ARRAY(e->arena, double, 2 * k * k + 2 * k), *const q = r + k * k, *const p = q + k * k;
  for (int64_t row = 0, at = 0; row < x->dims[0]; row++) {
    for (int64_t i = 0; i < k; i++)
      for (int64_t j = i + 1; j < k; j++, at++) {
        r[i * k + j] = tn_lit_f64(x, at);
        r[j * k + i] = 1 - r[i * k + j];
      }
    svm_couple(k, r, q, p);
    for (int64_t i = 0; i < k; i++) tn_store_f64(y->dtype, tn_lit_data(y), row * k + i, p[i]);
  }
  return TN_OK;
}

TN_OP(pair_coupling){
    .name = "pair_coupling",
    .in = {{"x", TN_SET(F32) | TN_SET(F64), "T", .rank = 2}},
    .out = {{"y", TN_SET(F32) | TN_SET(F64), "T"}},
    .attrs = {{"n_classes", TN_ATTR_INT, .required = true}},
    .type = tn_type_as_input,
    .shape = svm_coupling_shape,
    .eval = svm_coupling_eval,
    .kernel = "pair_coupling",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "the probabilities of classes from those of each pair of them",
};

/* --- row_distances: without a tensor of all differences --- */

static tn_status svm_distances_shape(tn_rule *r) {
  for (int i = 0; i < 2; i++) TN_TRY(tn_rule_need_rank(r, i, 2, 2));
  if (!tn_rule_has_rank(r, 0) || !tn_rule_has_rank(r, 1)) return TN_OK;
  TN_TRY(tn_rule_unify(r, r->in[0]->dims[1], r->in[1]->dims[1], "columns of x and of the vectors", 1, NULL));
  tn_rule_set(r, 0, 2, (const tn_sym[]){r->in[0]->dims[0], r->in[1]->dims[0]});
  return TN_OK;
}

static tn_status svm_distances_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0], *const v = e->in[1];
  tn_lit *y;
  if (x->rank != 2 || v->rank != 2 || x->dims[1] != v->dims[1])
    return tn_eval_fail(e, TN_MISMATCH, "the rows of x and of the vectors differ in length");
  TN_TRY(tn_eval_out(e, 0, x->dtype, 2, (const int64_t[]){x->dims[0], v->dims[0]}, &y));
  for (int64_t i = 0; i < y->count; i++) {
    const int64_t n = x->dims[1], row = i / v->dims[0] * n, vector = i % v->dims[0] * n;
    double sum = 0;
    for (int64_t c = 0; c < n; c++) {
      const double d = tn_lit_f64(x, row + c) - tn_lit_f64(v, vector + c);
      sum += d * d;
    }
    tn_store_f64(y->dtype, tn_lit_data(y), i, sum);
  }
  return TN_OK;
}

TN_OP(row_distances){
    .name = "row_distances",
    .in = {{"x", TN_SET(F32), "T", .rank = 2}, {"vectors", TN_SET(F32), "T", .rank = 2}},
    .out = {{"y", TN_SET(F32), "T"}},
    .type = tn_type_as_input,
    .shape = svm_distances_shape,
    .eval = svm_distances_eval,
    .kernel = "row_distances",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "the square of the distance of every row of x to every vector",
};

/* --- import --- */

/* The kernel of x with every support vector, [rows, vectors]. */
static tn_status svm_kernel(tn_import *im, tn_value *x, tn_value *vectors, tn_value **out) {
  tn_str kind;
  const tn_attr *params;
  TN_TRY(tn_import_str(im, "kernel_type", "LINEAR", &kind));
  TN_TRY(tn_import_get(im, "kernel_params", TN_ATTR_FLOATS, &params));
  const double gamma = params && params->n > 0 ? params->floats[0] : 0;
  const double coef0 = params && params->n > 1 ? params->floats[1] : 0;
  const double degree = params && params->n > 2 ? params->floats[2] : 0;
  if (tn_str_is(kind, "RBF")) {
    *out = tn_im1(im, "exp", tn_im2(im, "mul", tn_im2(im, "row_distances", x, vectors), tn_im_float(im, -gamma)));
    return TN_OK;
  }
  tn_value *const in[2] = {x, vectors};
  tn_node *const dot = tn_import_node(im, "gemm", in, 2, 1);
  tn_import_set_int(dot, "transB", 1);
  *out = dot->out[0];
  if (tn_str_is(kind, "LINEAR")) return TN_OK;
  *out = tn_im2(im, "add", tn_im2(im, "mul", *out, tn_im_float(im, gamma)), tn_im_float(im, coef0));
  if (tn_str_is(kind, "SIGMOID"))
    *out = tn_im1(im, "tanh", *out);
  else if (tn_str_is(kind, "POLY"))
    *out = tn_im2(im, "pow", *out, tn_im_float(im, degree));
  else
    return tn_import_fail(im, TN_INVALID, "attribute 'kernel_type' is '%.*s'", (int)kind.len, kind.ptr);
  return TN_OK;
}

/* Attribute `name` as a matrix of `rows`; INVALID when it is none. */
static tn_status svm_matrix(tn_import *im, const char *name, int64_t rows, tn_value **out) {
  const tn_attr *a;
  TN_TRY(tn_import_get(im, name, TN_ATTR_FLOATS, &a));
  if (!a || a->n < 1 || rows < 1 || a->n % rows != 0)
    return tn_import_fail(im, TN_INVALID, "%lld %s for %lld rows", (long long)(a ? a->n : 0), name, (long long)rows);
  const int64_t shape[2] = {rows, a->n / rows};
  *out = tn_im2(im, "reshape", tn_ml_floats(im, a), tn_import_const_i64(im, shape, 2));
  return TN_OK;
}

/* x times the rows of w. */
static tn_value *svm_times(tn_import *im, tn_value *x, tn_value *w) {
  tn_value *const in[2] = {x, w};
  tn_node *const node = tn_import_node(im, "gemm", in, 2, 1);
  tn_import_set_int(node, "transB", 1);
  return node->out[0];
}

/* Without support vectors the coefficients are the weights of a linear form. */
static tn_status svm_regressor(tn_import *im) {
  static const char *const unread[] = {"kernel_type", "kernel_params", "support_vectors"};
  const tn_attr *rho;
  int64_t n, one_class;
  tn_ml_post_kind post;
  tn_value *w, *vectors, *x;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_import_get(im, "rho", TN_ATTR_FLOATS, &rho));
  TN_TRY(tn_import_int(im, "n_supports", 0, &n));
  TN_TRY(tn_import_int(im, "one_class", 0, &one_class));
  TN_TRY(tn_ml_post_attr(im, &post));
  TN_TRY(svm_matrix(im, "coefficients", 1, &w));
  if (!rho || rho->n < 1) return tn_import_fail(im, TN_INVALID, "attribute 'rho' is required but absent");
  x = tn_im_cast(im, im->in[0], TN_F32);
  if (n > 0) {
    TN_TRY(svm_matrix(im, "support_vectors", n, &vectors));
    TN_TRY(svm_kernel(im, x, vectors, &x));
  }
  for (size_t i = 0; i < TN_COUNT(unread); i++) tn_import_ignore(im, unread[i]);
  tn_value *y = tn_im2(im, "add", svm_times(im, x, w), tn_im_float(im, rho->floats[0]));
  if (one_class) {
    tn_value *const above = tn_im2(im, "greater", y, tn_im_float(im, 0));
    y = tn_im3(im, "where", above, tn_im_float(im, 1), tn_im_float(im, -1));
  }
  return tn_im_done(im, tn_ml_post(im, post, y));
}

typedef struct svm_classes {
  int64_t n, n_pairs, n_vectors;
  const int64_t *counts; /* support vectors of each class */
} svm_classes;

/* Row r of the coefficients holds, for the vectors of class i, those of the pair (i, r + 1) where r >= i, else (r, i).
 * The sums of each class's vectors with all rows, class after class, n - 1 columns each. */
static tn_value *svm_sums(tn_import *im, const svm_classes *c, tn_value *kernel, tn_value *w) {
  tn_value **const parts = TN_NEW_ARRAY(&im->ctx->arena, tn_value *, c->n);
  tn_value *const axis = tn_im_int(im, 1);
  for (int64_t i = 0, first = 0; i < c->n; first += c->counts[i++]) {
    tn_value *const from = tn_im_int(im, first), *const to = tn_im_int(im, first + c->counts[i]);
    tn_value *const of_kernel[4] = {kernel, from, to, axis}, *const of_w[4] = {w, from, to, axis};
    parts[i] = svm_times(im, tn_import_node(im, "slice", of_kernel, 4, 1)->out[0],
                         tn_import_node(im, "slice", of_w, 4, 1)->out[0]);
  }
  tn_node *const all = tn_import_node(im, "concat", parts, (int)c->n, 1);
  tn_import_set_int(all, "axis", 1);
  return all->out[0];
}

static tn_value *svm_columns(tn_import *im, tn_value *x, const int64_t *places, int64_t n) {
  tn_value *const in[2] = {x, tn_import_const_i64(im, places, n)};
  tn_node *const node = tn_import_node(im, "gather", in, 2, 1);
  tn_import_set_int(node, "axis", 1);
  return node->out[0];
}

/* The decision of each pair (i, j), i < j, in order; above 0 it is for i. */
static tn_value *svm_pairs(tn_import *im, const svm_classes *c, tn_value *sums, const tn_attr *rho) {
  int64_t *const of_i = TN_NEW_ARRAY(&im->ctx->arena, int64_t, c->n_pairs);
  int64_t *const of_j = TN_NEW_ARRAY(&im->ctx->arena, int64_t, c->n_pairs);
  for (int64_t i = 0, p = 0; i < c->n; i++)
    for (int64_t j = i + 1; j < c->n; j++, p++) {
      of_i[p] = i * (c->n - 1) + j - 1;
      of_j[p] = j * (c->n - 1) + i;
    }
  tn_value *const first = svm_columns(im, sums, of_i, c->n_pairs), *const second =
                                                                       svm_columns(im, sums, of_j, c->n_pairs);
  return tn_im2(im, "add", tn_im2(im, "add", first, second), tn_ml_floats(im, rho));
}

/* How many pairs each class wins. */
static tn_value *svm_votes(tn_import *im, const svm_classes *c, tn_value *pairs) {
  const int64_t dims[2] = {c->n_pairs, c->n};
  tn_lit *const change = tn_lit_new(&im->ctx->arena, TN_F32, 2, dims);
  tn_lit *const base = tn_lit_new(&im->ctx->arena, TN_F32, 1, &c->n);
  memset(tn_lit_data(change), 0, change->bytes);
  for (int64_t i = 0, p = 0; i < c->n; i++) {
    tn_store_f64(TN_F32, tn_lit_data(base), i, (double)i); /* pairs in which it is the second */
    for (int64_t j = i + 1; j < c->n; j++, p++) {
      tn_store_f64(TN_F32, tn_lit_data(change), p * c->n + i, 1);
      tn_store_f64(TN_F32, tn_lit_data(change), p * c->n + j, -1);
    }
  }
  tn_value *const wins = tn_im_cast(im, tn_im2(im, "greater", pairs, tn_im_float(im, 0)), TN_F32);
  tn_value *const more = tn_im2(im, "matmul", wins, tn_import_const_lit(im, change));
  return tn_im2(im, "add", more, tn_import_const_lit(im, base));
}

/* A sigmoid of each pair's decision, then the classes' probabilities. */
static tn_value *svm_probabilities(tn_import *im, const svm_classes *c, tn_value *pairs, const tn_attr *a,
                                   const tn_attr *b) {
  tn_value *const line = tn_im2(im, "add", tn_im2(im, "mul", pairs, tn_ml_floats(im, a)), tn_ml_floats(im, b));
  tn_value *const share = tn_im1(im, "sigmoid", tn_im1(im, "neg", line));
  tn_value *const in[3] = {share, tn_im_float(im, 1e-7), tn_im_float(im, 1 - 1e-7)};
  tn_node *const node = tn_import_node(im, "pair_coupling", &tn_import_node(im, "clip", in, 3, 1)->out[0], 1, 1);
  tn_import_set_int(node, "n_classes", c->n);
  return node->out[0];
}

/* One linear form for each class. Of two classes a large score is for the second, as in ONNX Runtime: from 1/2 on where
 * no coefficient is negative, else above 0. */
static tn_status svm_linear(tn_import *im, int64_t n, double rho, tn_value **place, tn_value **scores) {
  const tn_attr *coefficients;
  tn_value *w;
  TN_TRY(svm_matrix(im, "coefficients", n, &w));
  TN_TRY(tn_import_get(im, "coefficients", TN_ATTR_FLOATS, &coefficients));
  *scores = tn_im2(im, "add", svm_times(im, tn_im_cast(im, im->in[0], TN_F32), w), tn_im_float(im, rho));
  *place = tn_ml_best(im, *scores);
  if (n != 2) return TN_OK;
  bool all_positive = true;
  for (int64_t i = 0; i < coefficients->n; i++) all_positive = all_positive && coefficients->floats[i] >= 0;
  tn_value *const in[2] = {*scores, tn_im_int(im, -1)};
  tn_node *const most = tn_import_node(im, "reduce_max", in, 2, 1);
  tn_import_set_int(most, "keepdims", 0);
  tn_value *const up =
      tn_im2(im, all_positive ? "greater_or_equal" : "greater", most->out[0], tn_im_float(im, all_positive ? 0.5 : 0));
  *place = tn_im3(im, "where", up, tn_im_int(im, 1), *place);
  return TN_OK;
}

/* Votes of pairs; *scores: probabilities, or the pairs' decisions. */
static tn_status svm_by_pairs(tn_import *im, const svm_classes *c, const tn_attr *rho, tn_value **place,
                              tn_value **scores, bool *has_shares) {
  const tn_attr *a, *b;
  tn_value *w, *vectors, *kernel;
  TN_TRY(tn_import_get(im, "prob_a", TN_ATTR_FLOATS, &a));
  TN_TRY(tn_import_get(im, "prob_b", TN_ATTR_FLOATS, &b));
  TN_TRY(svm_matrix(im, "coefficients", c->n - 1, &w));
  TN_TRY(svm_matrix(im, "support_vectors", c->n_vectors, &vectors));
  TN_TRY(svm_kernel(im, tn_im_cast(im, im->in[0], TN_F32), vectors, &kernel));
  *has_shares = a && a->n > 0;
  if (rho->n != c->n_pairs || (*has_shares && (a->n != c->n_pairs || !b || b->n != c->n_pairs)))
    return tn_import_fail(im, TN_INVALID, "rho, prob_a or prob_b have not one number for each of %lld pairs",
                          (long long)c->n_pairs);
  tn_value *const pairs = svm_pairs(im, c, svm_sums(im, c, kernel, w), rho);
  *scores = *has_shares ? svm_probabilities(im, c, pairs, a, b) : pairs;
  *place = tn_ml_best(im, svm_votes(im, c, pairs));
  return TN_OK;
}

static tn_status svm_read_classes(tn_import *im, svm_classes *c) {
  int64_t n;
  TN_TRY(tn_import_ints(im, "vectors_per_class", &c->counts, &n));
  for (int64_t i = 0; i < n; i++)
    if (c->counts[i] < 0 || !tn_add_i64(c->n_vectors, c->counts[i], &c->n_vectors))
      return tn_import_fail(im, TN_INVALID, "class %lld has %lld support vectors", (long long)i,
                            (long long)c->counts[i]);
  if (c->n_vectors == 0) return TN_OK;
  if (n != c->n || c->n < 2 || c->n > SVM_MAX_CLASSES)
    return tn_import_fail(im, TN_INVALID, "support vectors of %lld classes, %lld labels", (long long)n,
                          (long long)c->n);
  c->n_pairs = c->n * (c->n - 1) / 2;
  return TN_OK;
}

static tn_status svm_classifier(tn_import *im) {
  static const char *const unread[] = {"kernel_type", "kernel_params", "support_vectors", "prob_a", "prob_b"};
  const tn_attr *rho;
  tn_ml_post_kind post;
  svm_classes c = {0};
  bool has_shares = false;
  tn_value *labels, *place = NULL, *scores = NULL;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_ml_labels(im, "classlabels_ints", &labels, &c.n));
  TN_TRY(tn_ml_post_attr(im, &post));
  TN_TRY(tn_import_get(im, "rho", TN_ATTR_FLOATS, &rho));
  TN_TRY(svm_read_classes(im, &c));
  if (!rho || rho->n < 1) return tn_import_fail(im, TN_INVALID, "attribute 'rho' is required but absent");
  if (c.n_vectors > 0)
    TN_TRY(svm_by_pairs(im, &c, rho, &place, &scores, &has_shares));
  else
    TN_TRY(svm_linear(im, c.n, rho->floats[0], &place, &scores));
  for (size_t i = 0; i < TN_COUNT(unread); i++) tn_import_ignore(im, unread[i]);
  if (tn_im_out(im, 0)) im->out[0] = tn_im2(im, "gather", labels, place);
  const bool is_one = c.n_vectors > 0 && !has_shares && c.n == 2;
  const bool is_share = post == TN_ML_SOFTMAX || post == TN_ML_SOFTMAX_ZERO;
  scores = is_one ? tn_ml_post_pair(im, post, is_share, scores) : tn_ml_post(im, post, scores);
  if (tn_im_out(im, 1)) im->out[1] = scores;
  return tn_import_check_used(im);
}

/* clang-format off */
TN_ONNX(ml, SVMRegressor, 1, TN_LATEST, gemm, svm_regressor)
TN_ONNX(ml, SVMClassifier, 1, TN_LATEST, gemm, svm_classifier)
