/* Cast between any two element types, strings included. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/half.h"
#include "kern/recast.h"
#include "kern/shadow.h"

typedef struct cast_job {
  const tn_karg *x;
  tn_karg *y;
  bool saturate;
} cast_job;

static void cast_task(void *arg, int64_t begin, int64_t end, int worker) {
  const cast_job *const j = arg;
  (void)worker;
  /* Ranges begin at a multiple of the grain, so packed elements start on a byte. */
  const uint8_t *const src = (const uint8_t *)j->x->data + (size_t)begin * (size_t)tn_dtype_bits(j->x->dtype) / 8;
  uint8_t *const dst = (uint8_t *)j->y->data + (size_t)begin * (size_t)tn_dtype_bits(j->y->dtype) / 8;
  (void)!tn_recast(j->y->dtype, dst, j->x->dtype, src, end - begin, j->saturate);
}

/* Fewer significant digits than this certainly do not read back as v: what they read as is computed with its error, and
 * the rest is left to the C library. */
static int cast_least_digits(tn_dtype d, double v) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const double a = fabs(v);
  if ((d != TN_F32 && d != TN_F64) || !(a >= 1e-5 && a < 1e15)) return 1;
  int e = (int)floor(log10(a)); /* of the first digit */
  if (e < 0 ? a * powers[-e] < 1 : a < powers[e]) e--;
  for (int digits = 1; digits < 17; digits++) {
    const int shift = digits - 1 - e;
    const double p = powers[shift < 0 ? -shift : shift], scaled = shift < 0 ? a / p : a * p, m = nearbyint(scaled);
    const double c = shift < 0 ? m * p : m / p, lo = c * (1 - DBL_EPSILON), hi = c * (1 + DBL_EPSILON);
    const bool is_tie = fabs(scaled - m) > 0.5 - 2 * DBL_EPSILON * scaled;
    if (is_tie || (d == TN_F32 ? (float)lo <= (float)a && (float)hi >= (float)a : lo <= a && hi >= a)) return digits;
  }
  return 17;
}

static int cast_format(tn_dtype d, const void *p, int64_t i, char *text, size_t size) {
  if (d == TN_BOOL) return snprintf(text, size, "%s", tn_load_i64(d, p, i) ? "True" : "False");
  if (d == TN_U64) return snprintf(text, size, "%llu", (unsigned long long)tn_load_i64(d, p, i));
  if (tn_dtype_is_int(d)) return snprintf(text, size, "%lld", (long long)tn_load_i64(d, p, i));
  const double v = tn_load_f64(d, p, i);
  if (isnan(v)) return snprintf(text, size, "NaN");
  if (isinf(v)) return snprintf(text, size, v > 0 ? "INF" : "-INF");
  if (fabs(v) < 1e16 && trunc(v) == v) return snprintf(text, size, "%.0f", v); /* %g may choose 3e+04 */
  int n = 0;
  for (int digits = cast_least_digits(d, v); digits <= 17; digits++) {
    n = snprintf(text, size, "%.*g", digits, v);
    uint64_t back = 0;
    tn_store_f64(d, &back, 0, strtod(text, NULL));
    if (tn_load_f64(d, &back, 0) == v) break;
  }
  return n;
}

static tn_status cast_to_strings(tn_kcall *k, const tn_karg *x, tn_karg *y) {
  for (int64_t i = 0; i < x->count; i++) {
    char text[48];
    const int n = cast_format(x->dtype, x->data, i, text, sizeof text);
    char *const at = k->host->string(k->host_self, (size_t)n);
    if (!at) return tn_k_fail(k, TN_OOM, "no memory for a string");
    memcpy(at, text, (size_t)n);
    ((tn_str *)y->data)[i] = (tn_str){at, (size_t)n};
  }
  return TN_OK;
}

static bool cast_parse(tn_dtype d, const char *z, void *out, int64_t i) {
  char *end;
  errno = 0;
  if (tn_dtype_is_int(d)) {
    const int64_t v = d == TN_U64 ? (int64_t)strtoull(z, &end, 10) : strtoll(z, &end, 10);
    if (end != z && *end == 0 && errno == 0) {
      tn_store_i64(d, out, i, v);
      return true;
    }
  }
  const double v = strtod(z, &end);
  if (end == z || *end != 0) return false;
  tn_store_f64(d, out, i, v);
  return true;
}

static tn_status cast_from_strings(tn_kcall *k, const tn_karg *x, const tn_karg *y) {
  for (int64_t i = 0; i < x->count; i++) {
    const tn_str s = ((const tn_str *)x->data)[i];
    char text[128];
    if (s.len >= sizeof text) return tn_k_fail(k, TN_INVALID, "element %lld is not a number", (long long)i);
    if (s.len) memcpy(text, s.ptr, s.len);
    text[s.len] = 0;
    if (!cast_parse(y->dtype, text, y->data, i))
      return tn_k_fail(k, TN_INVALID, "element %lld, \"%s\", is not a number", (long long)i, text);
  }
  return TN_OK;
}

TN_KERNEL(cast, TN_K_SIZES) {
  const tn_karg *x = k->in[0];
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  tn_karg *const y = k->out[0], wide = {.kind = TN_KARG_TENSOR, .dtype = TN_F64, .rank = 1, .count = x->count};
  if (x->dtype == y->dtype) {
    tn_k_copy(x->dtype, y->data, 0, x->data, 0, x->count);
    return TN_OK;
  }
  if (y->dtype == TN_STR) return cast_to_strings(k, x, y);
  if (x->dtype == TN_STR && !tn_dtype_is_float(y->dtype)) return cast_from_strings(k, x, y);
  if (x->dtype == TN_STR) { /* as doubles, so that the attributes count */
    TN_TRY(tn_k_scratch_array(k, x->count, sizeof(double), &wide.data));
    TN_TRY(cast_from_strings(k, x, &wide));
    x = &wide;
  }
  if (!tn_convert(y->dtype, y->data, x->dtype, x->data, 0, true)) return tn_k_no_dtype(k, 0);
  cast_job j = {.x = x, .y = y, .saturate = tn_k_int(k, "saturate", 1) != 0};
  const bool nearest = tn_k_str_is(k, "round_mode", "nearest");
  if (y->dtype == TN_F8E8M0 && (nearest || tn_k_str_is(k, "round_mode", "down"))) {
    for (int64_t i = 0; i < x->count; i++)
      ((uint8_t *)y->data)[i] =
          tn_f64_to_e8m0(tn_load_f64(x->dtype, x->data, i), j.saturate, nearest ? TN_E8M0_NEAREST : TN_E8M0_DOWN);
    return TN_OK;
  }
  tn_pool_for(k->pool, x->count, 8192, cast_task, &j);
  return TN_OK;
}
