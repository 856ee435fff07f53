/* What kernels share: attributes, output sizes, broadcasting, copies. */
#include "kern/kern.h"

#include <string.h>

enum { KERN_MAX_NESTING = 8 }; /* sequences in optionals in ... */

tn_status tn_k_no_dtype(tn_kcall *k, int input) {
  const tn_karg *a = tn_k_in(k, input);
  return tn_k_fail(k, TN_UNSUPPORTED, "element type %s of input %d is not supported",
                   tn_dtype_name(a ? a->dtype : TN_DTYPE_NONE), input);
}

const tn_kattr *tn_k_attr(const tn_kcall *k, const char *name) {
  for (int i = 0; i < k->n_attrs; i++)
    if (strcmp(k->attrs[i].name, name) == 0) return &k->attrs[i];
  return NULL;
}

int64_t tn_k_int(const tn_kcall *k, const char *name, int64_t absent) {
  const tn_kattr *a = tn_k_attr(k, name);
  return a && a->kind == TN_KATTR_INT ? a->i : absent;
}

double tn_k_float(const tn_kcall *k, const char *name, double absent) {
  const tn_kattr *a = tn_k_attr(k, name);
  return a && a->kind == TN_KATTR_FLOAT ? a->f : absent;
}

bool tn_k_str_is(const tn_kcall *k, const char *name, const char *z) {
  const tn_kattr *a = tn_k_attr(k, name);
  return a && a->kind == TN_KATTR_STR && tn_str_is(a->s, z);
}

tn_status tn_k_need(tn_kcall *k, int n_in, int n_out) {
  for (int i = 0; i < n_in; i++)
    if (!tn_k_in(k, i)) return tn_k_fail(k, TN_INTERNAL, "input %d is missing", i);
  for (int i = 0; i < n_out; i++)
    if (!tn_k_outp(k, i)) return tn_k_fail(k, TN_INTERNAL, "output %d is missing", i);
  return TN_OK;
}

static tn_status kern_out_planned(tn_kcall *k, int i, const tn_karg *out, int rank, const int64_t *dims) {
  const bool declared = i < 64 && (k->declared >> i & 1) != 0;
  const tn_status code = declared ? TN_MISMATCH : TN_INTERNAL;
  const char *const by = declared ? "the model declares" : "the plan is";
  if (out->rank != rank) return tn_k_fail(k, code, "output %d has rank %d, but %s %d", i, rank, by, out->rank);
  for (int d = 0; d < rank; d++)
    if (out->dims[d] != dims[d])
      return tn_k_fail(k, code, "output %d dim %d is %lld, but %s %lld", i, d, (long long)dims[d], by,
                       (long long)out->dims[d]);
  return TN_OK;
}

tn_status tn_k_out(tn_kcall *k, int i, int rank, const int64_t *dims) {
  tn_karg *out = tn_k_outp(k, i);
  if (!out) return TN_OK;
  if (out->kind != TN_KARG_TENSOR) return tn_k_fail(k, TN_INTERNAL, "output %d is no tensor", i);
  if (!out->is_late) return kern_out_planned(k, i, out, rank, dims);
  if (rank < 0 || rank > TN_K_MAX_RANK) return tn_k_fail(k, TN_LIMIT, "output %d has rank %d", i, rank);
  if (!tn_dims_count(dims, rank, &out->count)) return tn_k_fail(k, TN_LIMIT, "output %d is too large", i);
  out->rank = rank;
  for (int d = 0; d < rank; d++) out->dims[d] = dims[d];
  return k->host->alloc(k->host_self, k, out);
}

tn_status tn_k_axis(tn_kcall *k, int64_t axis, int rank, int *out) {
  if (axis < -rank || axis >= rank)
    return tn_k_fail(k, TN_MISMATCH, "axis %lld is outside a tensor of rank %d", (long long)axis, rank);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return TN_OK;
}

tn_status tn_k_scratch(tn_kcall *k, size_t bytes, void **out) {
  *out = k->host->scratch(k->host_self, bytes);
  return *out ? TN_OK : tn_k_fail(k, TN_OOM, "no memory for %zu bytes of scratch", bytes);
}

tn_status tn_k_cache(tn_kcall *k, int slot, size_t bytes, void **out, bool *out_fresh) {
  *out = k->host->cache(k->host_self, k, slot, bytes, out_fresh);
  return *out ? TN_OK : tn_k_fail(k, TN_OOM, "no memory for %zu bytes that are kept", bytes);
}

tn_status tn_k_string(tn_kcall *k, size_t bytes, char **out) {
  *out = k->host->string(k->host_self, bytes);
  return *out ? TN_OK : tn_k_fail(k, TN_OOM, "no memory for a string of %zu bytes", bytes);
}

tn_status tn_k_item(tn_kcall *k, tn_karg *seq, int64_t at, tn_dtype d, int rank, const int64_t *dims, tn_karg **out) {
  int64_t count = 0;
  size_t bytes;
  if (rank >= 0 && (rank > TN_K_MAX_RANK || !tn_dims_count(dims, rank, &count) || !tn_dtype_bytes(d, count, &bytes)))
    return tn_k_fail(k, TN_LIMIT, "element %lld of a sequence is too large", (long long)at);
  *out = k->host->item(k->host_self, k, seq, at, d, rank, dims);
  return *out ? TN_OK : tn_k_fail(k, TN_OOM, "no memory for element %lld of a sequence", (long long)at);
}

tn_status tn_k_bcast(tn_kcall *k, const tn_karg *const *args, int n, int *out_rank, int64_t *out_dims) {
  int rank = 0;
  for (int i = 0; i < n; i++)
    if (args[i] && args[i]->rank > rank) rank = args[i]->rank;
  for (int d = 0; d < rank; d++) out_dims[d] = 1;
  for (int i = 0; i < n; i++) {
    const int skip = args[i] ? rank - args[i]->rank : 0;
    for (int d = 0; args[i] && d < args[i]->rank; d++) {
      const int64_t have = out_dims[d + skip], dim = args[i]->dims[d];
      if (dim == 1 || dim == have) continue;
      if (have != 1)
        return tn_k_fail(k, TN_MISMATCH, "cannot broadcast dim %d: %lld with %lld", d + skip, (long long)have,
                         (long long)dim);
      out_dims[d + skip] = dim;
    }
  }
  *out_rank = rank;
  return TN_OK;
}

void tn_k_bcast_strides(const tn_karg *a, int rank, int64_t *out_strides) {
  const int skip = rank - a->rank;
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; d--) {
    const int64_t dim = d >= skip ? a->dims[d - skip] : 1;
    out_strides[d] = dim == 1 ? 0 : stride;
    stride *= dim;
  }
}

static bool kern_mergeable(const int64_t *dims, int64_t *const *strides, int n, int left, int right) {
  for (int i = 0; i < n; i++)
    if (strides[i][left] != strides[i][right] * dims[right]) return false;
  return true;
}

static void kern_move_dim(int64_t *dims, int64_t *const *strides, int n, int to, int from) {
  dims[to] = dims[from];
  for (int i = 0; i < n; i++) strides[i][to] = strides[i][from];
}

void tn_k_collapse(int *rank, int64_t *dims, int64_t *const *strides, int n) {
  int kept = 0;
  for (int d = 0; d < *rank; d++) {
    if (dims[d] == 1) continue;
    if (kept > 0 && kern_mergeable(dims, strides, n, kept - 1, d)) {
      const int64_t merged = dims[kept - 1] * dims[d];
      kern_move_dim(dims, strides, n, kept - 1, d);
      dims[kept - 1] = merged;
    } else {
      kern_move_dim(dims, strides, n, kept++, d);
    }
  }
  if (kept == 0) {
    dims[0] = 1;
    for (int i = 0; i < n; i++) strides[i][0] = 0;
    kept = 1;
  }
  *rank = kept;
}

void tn_k_copy(tn_dtype d, void *dst, int64_t di, const void *src, int64_t si, int64_t n) {
  const int64_t bits = tn_dtype_bits(d), per_byte = bits < 8 ? 8 / bits : 1;
  int64_t done = 0;
  if (n <= 0) return;
  if (di % per_byte == 0 && si % per_byte == 0) {
    const int64_t step = bits < 8 ? 1 : bits / 8; /* bytes of `per_byte` elements */
    const int64_t groups = n / per_byte;
    memcpy((char *)dst + di / per_byte * step, (const char *)src + si / per_byte * step, (size_t)(groups * step));
    done = groups * per_byte;
  }
  for (; done < n; done++) tn_copy_element(d, dst, di + done, src, si + done);
}

static tn_status kern_item_copy(tn_kcall *k, tn_karg *seq, int64_t at, const tn_karg *src, int depth) {
  tn_karg *item;
  if (depth > KERN_MAX_NESTING) return tn_k_fail(k, TN_LIMIT, "sequences are nested too deeply");
  if (src->kind == TN_KARG_TENSOR) {
    TN_TRY(tn_k_item(k, seq, at, src->dtype, src->rank, src->dims, &item));
    tn_k_copy(src->dtype, item->data, 0, src->data, 0, src->count);
    return TN_OK;
  }
  TN_TRY(tn_k_item(k, seq, at, src->dtype, -1, NULL, &item));
  item->kind = src->kind;
  for (int64_t i = 0; i < src->n_items; i++) TN_TRY(kern_item_copy(k, item, i, src->items[i], depth + 1));
  return TN_OK;
}

tn_status tn_k_item_copy(tn_kcall *k, tn_karg *seq, int64_t at, const tn_karg *src) {
  return kern_item_copy(k, seq, at, src, 0);
}

tn_status tn_k_out_copy(tn_kcall *k, int i, const tn_karg *src) {
  tn_karg *out = tn_k_outp(k, i);
  if (!out) return TN_OK;
  if (out->kind != src->kind) return tn_k_fail(k, TN_INTERNAL, "output %d is of another kind than its source", i);
  if (src->kind == TN_KARG_TENSOR) {
    if (out->dtype != src->dtype) return tn_k_fail(k, TN_INTERNAL, "output %d is of another type than its source", i);
    TN_TRY(tn_k_out(k, i, src->rank, src->dims));
    if (out->data != src->data) tn_k_copy(src->dtype, out->data, 0, src->data, 0, src->count);
    return TN_OK;
  }
  for (int64_t j = 0; j < src->n_items; j++) TN_TRY(kern_item_copy(k, out, j, src->items[j], 0));
  return TN_OK;
}
