/* OneHot, EyeLike, Trilu. */
#include "kern/move.h"

static tn_status onehot_zero(tn_kcall *k, tn_karg *y) {
  size_t bytes;
  if (!tn_dtype_bytes(y->dtype, y->count, &bytes)) return tn_k_fail(k, TN_LIMIT, "too many elements");
  if (bytes) memset(y->data, 0, bytes);
  return TN_OK;
}
static bool onehot_is_number(const tn_karg *a) { return tn_dtype_is_float(a->dtype) || tn_dtype_is_int(a->dtype); }

static void onehot_lines(const int64_t *x, int64_t n, int64_t depth, float on, float *y) {
  for (int64_t i = 0; i < n; i++) {
    const int64_t place = x[i] < 0 ? x[i] + depth : x[i];
    if (place >= 0 && place < depth) y[i * depth + place] = on;
  }
}

TN_KERNEL(one_hot, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 3, 1));
  const tn_karg *const x = k->in[0];
  const tn_karg *const values = k->in[2];
  int64_t dims[TN_K_MAX_RANK + 1];
  int axis;
  TN_TRY(tn_k_out_type(k, 0, values->dtype));
  if (!onehot_is_number(x) || !onehot_is_number(k->in[1])) return tn_k_no_dtype(k, onehot_is_number(x) ? 1 : 0);
  if (k->in[1]->count != 1 || values->count != 2)
    return tn_k_fail(k, TN_MISMATCH, "depth has %lld elements and values %lld, expected 1 and 2",
                     (long long)k->in[1]->count, (long long)values->count);
  const int64_t depth = tn_k_i64(k->in[1], 0);
  if (depth < 0) return tn_k_fail(k, TN_MISMATCH, "depth is %lld", (long long)depth);
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", -1), x->rank + 1, &axis));
  for (int d = 0, from = 0; d <= x->rank; d++) dims[d] = d == axis ? depth : x->dims[from++];
  TN_TRY(tn_k_out(k, 0, x->rank + 1, dims));
  tn_karg *const y = k->out[0];
  if (y->count == 0) return TN_OK;
  tn_copy_element(y->dtype, y->data, 0, values->data, 0);
  for (int64_t done = 1; done < y->count; done *= 2)
    tn_k_copy(y->dtype, y->data, done, y->data, 0, done < y->count - done ? done : y->count - done);
  const int64_t inner = tn_k_count(x->dims, axis, x->rank);
  if (inner == 1 && x->dtype == TN_I64 && y->dtype == TN_F32) { /* the usual case */
    onehot_lines(x->data, x->count, depth, ((const float *)values->data)[1], y->data);
    return TN_OK;
  }
  for (int64_t i = 0; i < x->count; i++) {
    int64_t place = tn_k_i64(x, i); /* floats are cut toward zero */
    if (place < 0) place += depth;
    if (place < 0 || place >= depth) continue;
    tn_copy_element(y->dtype, y->data, (i / inner * depth + place) * inner + i % inner, values->data, 1);
  }
  return TN_OK;
}

TN_KERNEL(eye_like, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 1, 1));
  const tn_karg *const x = k->in[0];
  if (x->rank != 2) return tn_k_fail(k, TN_MISMATCH, "the input has rank %d, expected 2", x->rank);
  TN_TRY(tn_k_out(k, 0, 2, x->dims));
  tn_karg *const y = k->out[0];
  if (!onehot_is_number(y) && y->dtype != TN_BOOL)
    return tn_k_fail(k, TN_UNSUPPORTED, "element type %s of the result", tn_dtype_name(y->dtype));
  TN_TRY(onehot_zero(k, y));
  const int64_t shift = tn_k_int(k, "k", 0), cols = x->dims[1];
  if (shift <= -x->dims[0] || shift >= cols) return TN_OK;
  for (int64_t r = shift < 0 ? -shift : 0; r < x->dims[0] && r + shift < cols; r++)
    tn_store_f64(y->dtype, y->data, r * cols + r + shift, 1);
  return TN_OK;
}

TN_KERNEL(trilu, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 1, 1));
  const tn_karg *const x = k->in[0];
  const bool upper = tn_k_int(k, "upper", 1) != 0;
  int64_t shift;
  if (x->rank < 2) return tn_k_fail(k, TN_MISMATCH, "the input has rank %d, expected at least 2", x->rank);
  TN_TRY(tn_k_scalar(k, 1, 0, &shift));
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  TN_TRY(onehot_zero(k, k->out[0]));
  const int64_t rows = x->dims[x->rank - 2], cols = x->dims[x->rank - 1];
  /* Beyond these the triangle is all or nothing. */
  if (shift > cols) shift = cols;
  if (shift < -rows) shift = -rows;
  for (int64_t i = 0; cols > 0 && i < x->count / cols; i++) {
    const int64_t edge = i % rows + shift; /* the column of the diagonal */
    int64_t lo = upper ? edge : 0, hi = upper ? cols : edge + 1;
    if (lo < 0) lo = 0;
    if (hi > cols) hi = cols;
    if (lo < hi) tn_k_copy(x->dtype, k->out[0]->data, i * cols + lo, x->data, i * cols + lo, hi - lo);
  }
  return TN_OK;
}
