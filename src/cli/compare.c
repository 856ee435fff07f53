/* Comparing tensors, sequences and optionals. */
#include "cli/compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/types.h"

enum { COMPARE_MAX_DEPTH = 8 };

static bool compare_close(double got, double want, tn_tolerance tol) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (isinf(want) || isinf(got)) return isinf(want) && isinf(got) && signbit(want) == signbit(got);
  return fabs(got - want) <= tol.atol + tol.rtol * fabs(want);
}

static const char *compare_shapes(const tn_tensor *got, const tn_tensor *want) {
  bool same = got->dtype == want->dtype && got->rank == want->rank;
  for (int i = 0; same && i < want->rank; i++) same = got->dims[i] == want->dims[i];
  return same ? NULL : tn_cli_print("is %s, expected %s", tn_tensor_type_text(got), tn_tensor_type_text(want));
}

/* Floats and complex numbers, the latter as pairs. */
static const char *compare_floats(const tn_tensor *got, const tn_tensor *want, tn_tolerance tol) {
  const bool is_complex = tn_type_class_of(want->dtype) == TN_TYPE_COMPLEX;
  const int64_t count = tn_tensor_count(want), n = is_complex ? 2 * count : count;
  tn_tensor g = *got, w = *want;
  if (want->dtype == TN_BF16 && tol.rtol < 0x1p-6) tol.rtol = 0x1p-6; /* two units, as in ONNX's own runner */
  if (is_complex) g.dtype = w.dtype = want->dtype == TN_C64 ? TN_F32 : TN_F64;
  int64_t n_bad = 0, first = 0;
  double worst = 0;
  for (int64_t i = 0; i < n; i++) {
    const double a = tn_tensor_f64(&g, i), b = tn_tensor_f64(&w, i);
    if (compare_close(a, b, tol)) continue;
    if (n_bad++ == 0) first = i;
    if (fabs(a - b) > worst) worst = fabs(a - b);
  }
  if (n_bad == 0) return NULL;
  return tn_cli_print("element %" PRId64 " is %.9g, expected %.9g; %" PRId64 " of %" PRId64
                      " differ, largest error %.3g",
                      first, tn_tensor_f64(&g, first), tn_tensor_f64(&w, first), n_bad, n, worst);
}

static const char *compare_integers(const tn_tensor *got, const tn_tensor *want) {
  const int64_t count = tn_tensor_count(want);
  int64_t n_bad = 0, first = 0;
  for (int64_t i = 0; i < count; i++)
    if (tn_tensor_i64(got, i) != tn_tensor_i64(want, i) && n_bad++ == 0) first = i;
  if (n_bad == 0) return NULL;
  return tn_cli_print("element %" PRId64 " is %" PRId64 ", expected %" PRId64 "; %" PRId64 " of %" PRId64 " differ",
                      first, tn_tensor_i64(got, first), tn_tensor_i64(want, first), n_bad, count);
}

static const char *compare_strings(const tn_tensor *got, const tn_tensor *want) {
  const tn_string *const g = got->data, *const w = want->data;
  for (int64_t i = 0; i < tn_tensor_count(want); i++)
    if (g[i].len != w[i].len || (w[i].len && memcmp(g[i].ptr, w[i].ptr, w[i].len) != 0))
      return tn_cli_print("element %" PRId64 " is '%.*s', expected '%.*s'", i, (int)(g[i].len < 60 ? g[i].len : 60),
                          g[i].ptr, (int)(w[i].len < 60 ? w[i].len : 60), w[i].ptr);
  return NULL;
}

static const char *compare_tensors(const tn_tensor *got, const tn_tensor *want, tn_tolerance tol) {
  const char *const why = compare_shapes(got, want);
  if (why) return why;
  switch (tn_type_class_of(want->dtype)) {
    case TN_TYPE_FLOAT:
    case TN_TYPE_COMPLEX:
      return compare_floats(got, want, tol);
    case TN_TYPE_INT:
    case TN_TYPE_UINT:
    case TN_TYPE_BOOL:
      return compare_integers(got, want);
    case TN_TYPE_STRING:
      return compare_strings(got, want);
    case TN_TYPE_NONE:
      break;
  }
  return "has no element type";
}

static const char *compare_at(const tn_tensor *got, const tn_tensor *want, tn_tolerance tol, int depth) {
  if (got->kind != want->kind || (want->kind != TN_KIND_TENSOR && got->n_items != want->n_items))
    return tn_cli_print("is %s, expected %s", tn_tensor_type_text(got), tn_tensor_type_text(want));
  if (want->kind == TN_KIND_TENSOR) return compare_tensors(got, want, tol);
  if (depth >= COMPARE_MAX_DEPTH) return "is nested too deep";
  for (size_t i = 0; i < want->n_items; i++) {
    const char *const why = compare_at(&got->items[i], &want->items[i], tol, depth + 1);
    if (why) return tn_cli_print("item %zu: %s", i, why);
  }
  return NULL;
}

const char *tn_compare(const tn_tensor *got, const tn_tensor *want, tn_tolerance tol) {
  return compare_at(got, want, tol, 0);
}
