/* Reshape and its relatives where the data must move or the sizes are known only now. */
#include "kern/kern.h"

static tn_status reshape_copy_to(tn_kcall *k, int rank, const int64_t *dims) {
  int64_t count;
  if (!tn_dims_count(dims, rank, &count) || count != k->in[0]->count)
    return tn_k_fail(k, TN_MISMATCH, "cannot reshape %lld elements to the given shape", (long long)k->in[0]->count);
  TN_TRY(tn_k_out(k, 0, rank, dims));
  tn_k_copy(k->in[0]->dtype, k->out[0]->data, 0, k->in[0]->data, 0, count);
  return TN_OK;
}

TN_KERNEL(reshape, TN_K_SIZES) {
  const tn_karg *const x = k->in[0];
  const tn_karg *const target = k->in[1];
  int64_t dims[TN_K_MAX_RANK], others = 1;
  int rest = -1;
  if (target->count > TN_K_MAX_RANK)
    return tn_k_fail(k, TN_LIMIT, "rank %lld is above %d", (long long)target->count, TN_K_MAX_RANK);
  for (int i = 0; i < (int)target->count; i++) {
    dims[i] = tn_k_i64(target, i);
    if (dims[i] == 0 && !tn_k_int(k, "allowzero", 0)) {
      if (i >= x->rank) return tn_k_fail(k, TN_INVALID, "target dim %d is 0, but the input has rank %d", i, x->rank);
      dims[i] = x->dims[i];
    }
    if (dims[i] == -1 && rest >= 0) return tn_k_fail(k, TN_INVALID, "target dims %d and %d are both -1", rest, i);
    if (dims[i] < -1) return tn_k_fail(k, TN_INVALID, "target dim %d is %lld", i, (long long)dims[i]);
    if (dims[i] == -1)
      rest = i;
    else if (!tn_mul_i64(others, dims[i], &others))
      return tn_k_fail(k, TN_LIMIT, "the target shape has too many elements");
  }
  if (rest >= 0 && others == 0)
    return tn_k_fail(k, TN_MISMATCH, "nothing tells the dim that is -1 when the others are 0");
  if (rest >= 0) dims[rest] = x->count / others;
  return reshape_copy_to(k, (int)target->count, dims);
}

TN_KERNEL(flatten, TN_K_SIZES) {
  const tn_karg *const x = k->in[0];
  int64_t axis = tn_k_int(k, "axis", 1), dims[2] = {1, 1};
  if (axis < 0) axis += x->rank;
  if (axis < 0 || axis > x->rank) return tn_k_fail(k, TN_INVALID, "axis is outside rank %d", x->rank);
  for (int i = 0; i < x->rank; i++) dims[i >= axis] *= x->dims[i];
  return reshape_copy_to(k, 2, dims);
}

static tn_status reshape_axis_set(tn_kcall *k, const tn_karg *axes, int rank, bool *set) {
  for (int64_t i = 0; i < axes->count; i++) {
    int axis;
    TN_TRY(tn_k_axis(k, tn_k_i64(axes, i), rank, &axis));
    set[axis] = true;
  }
  return TN_OK;
}

TN_KERNEL(squeeze, TN_K_SIZES) {
  const tn_karg *const x = k->in[0];
  const tn_karg *const axes = tn_k_in(k, 1);
  bool gone[TN_K_MAX_RANK] = {false};
  int64_t dims[TN_K_MAX_RANK];
  int rank = 0;
  if (axes) TN_TRY(reshape_axis_set(k, axes, x->rank, gone));
  for (int i = 0; i < x->rank; i++) {
    if (gone[i] && x->dims[i] != 1)
      return tn_k_fail(k, TN_MISMATCH, "cannot squeeze dim %d: it is %lld, not 1", i, (long long)x->dims[i]);
    if (axes ? !gone[i] : x->dims[i] != 1) dims[rank++] = x->dims[i];
  }
  return reshape_copy_to(k, rank, dims);
}

TN_KERNEL(unsqueeze, TN_K_SIZES) {
  const tn_karg *const x = k->in[0];
  bool fresh[TN_K_MAX_RANK] = {false};
  int64_t dims[TN_K_MAX_RANK];
  const int64_t rank = x->rank + k->in[1]->count;
  if (rank > TN_K_MAX_RANK) return tn_k_fail(k, TN_LIMIT, "rank %lld is above %d", (long long)rank, TN_K_MAX_RANK);
  TN_TRY(reshape_axis_set(k, k->in[1], (int)rank, fresh));
  int from = 0;
  for (int i = 0; i < rank; i++) {
    if (!fresh[i] && from == x->rank) return tn_k_fail(k, TN_INVALID, "an axis is given twice");
    dims[i] = fresh[i] ? 1 : x->dims[from++];
  }
  return reshape_copy_to(k, (int)rank, dims);
}
