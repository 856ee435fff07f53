/* Windows that slide over spatial axes, at run time. */
#include "kern/window.h"

#include "kern/move.h"
#include "kern/shadow.h"

enum { KWINDOW_MAX_SIZE = INT32_MAX };

tn_status tn_kwindow_ints(tn_kcall *k, const char *name, int n, int64_t absent, int64_t *out) {
  int64_t n_given;
  const int64_t *const given = tn_k_attr_ints(k, name, &n_given);
  if (given && n_given != n)
    return tn_k_fail(k, TN_INVALID, "attribute '%s' has %lld entries, expected %d", name, (long long)n_given, n);
  for (int i = 0; i < n; i++) {
    out[i] = given ? given[i] : absent;
    if (out[i] < -KWINDOW_MAX_SIZE || out[i] > KWINDOW_MAX_SIZE)
      return tn_k_fail(k, TN_INVALID, "attribute '%s' has the entry %lld", name, (long long)out[i]);
  }
  return TN_OK;
}

/* Padding of axis i for auto_pad SAME: what makes the last window end with the input, halved. */
static void kwindow_same(tn_kwindow *w, int i, bool upper) {
  int64_t total = (w->out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - w->in[i];
  if (total < 0) total = 0;
  w->lo[i] = upper ? total / 2 : total - total / 2;
  w->hi[i] = total - w->lo[i];
}

tn_status tn_kwindow_read(tn_kcall *k, int n, const int64_t *in, const int64_t *out, const int64_t *kernel,
                          tn_kwindow *w) {
  if (n < 0 || n > TN_KW_MAX) return tn_k_fail(k, TN_UNSUPPORTED, "%d spatial axes", n);
  int64_t pads[2 * TN_KW_MAX];
  w->n = n;
  if (kernel)
    for (int i = 0; i < n; i++) w->kernel[i] = kernel[i];
  else
    TN_TRY(tn_kwindow_ints(k, "kernel_shape", n, 1, w->kernel));
  TN_TRY(tn_kwindow_ints(k, "strides", n, 1, w->stride));
  TN_TRY(tn_kwindow_ints(k, "dilations", n, 1, w->dilation));
  TN_TRY(tn_kwindow_ints(k, "pads", 2 * n, 0, pads));
  const bool upper = tn_k_str_is(k, "auto_pad", "SAME_UPPER"), same = upper || tn_k_str_is(k, "auto_pad", "SAME_LOWER");
  const bool is_explicit = !same && !tn_k_str_is(k, "auto_pad", "VALID");
  w->n_in = w->n_out = w->n_taps = 1;
  for (int i = 0; i < n; i++) {
    w->in[i] = in[i];
    w->out[i] = out[i];
    w->lo[i] = is_explicit ? pads[i] : 0;
    w->hi[i] = is_explicit ? pads[n + i] : 0;
    if (w->stride[i] < 1 || w->dilation[i] < 1 || w->kernel[i] < 0 || w->kernel[i] > KWINDOW_MAX_SIZE)
      return tn_k_fail(k, TN_INVALID, "a stride, dilation or kernel size of spatial dim %d is out of range", i);
    if (same) kwindow_same(w, i, upper);
    if (!tn_mul_i64(w->n_in, in[i], &w->n_in) || !tn_mul_i64(w->n_out, out[i], &w->n_out) ||
        !tn_mul_i64(w->n_taps, w->kernel[i], &w->n_taps))
      return tn_k_fail(k, TN_LIMIT, "too many positions");
  }
  return TN_OK;
}

static int64_t kwindow_ceildiv(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/* lo, hi: padding; extent: of the kernel with its dilation. */
static tn_status kwindow_size(tn_kcall *k, int axis, int64_t in, int64_t extent, int64_t s, int64_t lo, int64_t hi,
                              bool ceil_mode, int64_t *out) {
  const int64_t room = in + lo + hi - extent;
  if (ceil_mode && hi + s > extent) {
    *out = kwindow_ceildiv(in + lo, s);
    return TN_OK;
  }
  if (room + (ceil_mode ? s - 1 : s == 1 ? 1 : 0) < 0)
    return tn_k_fail(k, TN_MISMATCH, "a window of %lld does not fit spatial dim %d of size %lld with padding %lld",
                     (long long)extent, axis, (long long)in, (long long)(lo + hi));
  *out = room < 0 ? (ceil_mode ? 1 : 0) : (ceil_mode ? kwindow_ceildiv(room, s) : room / s) + 1;
  return TN_OK;
}

tn_status tn_kwindow_sizes(tn_kcall *k, int n, const int64_t *in, const int64_t *kernel, bool ceil_mode, int64_t *out) {
  tn_kwindow w;
  if (n < 0 || n > TN_KW_MAX) return tn_k_fail(k, TN_UNSUPPORTED, "%d spatial axes", n);
  const int64_t none[TN_KW_MAX] = {0};
  TN_TRY(tn_kwindow_read(k, n, none, none, kernel, &w));
  const bool same = tn_k_str_is(k, "auto_pad", "SAME_UPPER") || tn_k_str_is(k, "auto_pad", "SAME_LOWER");
  for (int i = 0; i < n; i++) {
    if (in[i] > INT64_MAX / 4) return tn_k_fail(k, TN_LIMIT, "spatial dim %d is too large", i);
    if (same)
      out[i] = kwindow_ceildiv(in[i], w.stride[i]);
    else
      TN_TRY(kwindow_size(k, i, in[i], (w.kernel[i] - 1) * w.dilation[i] + 1, w.stride[i], w.lo[i], w.hi[i], ceil_mode,
                          &out[i]));
  }
  return TN_OK;
}

/* Rows that tap t of each output row reads, over the first n - 1 axes; -1: none. */
static void krows_fill(const tn_kwindow *w, int64_t t, int64_t n, int64_t *map) {
  const int axes = w->n - 1;
  int64_t index[TN_KW_MAX] = {0}, from[TN_KW_MAX];
  for (int i = axes - 1; i >= 0; i--) {
    from[i] = t % w->kernel[i] * w->dilation[i] - w->lo[i];
    t /= w->kernel[i];
  }
  for (int64_t r = 0; r < n; r++) {
    int64_t row = 0;
    for (int i = 0; i < axes && row >= 0; i++) {
      const int64_t x = from[i] + index[i] * w->stride[i];
      row = x < 0 || x >= w->in[i] ? -1 : row * w->in[i] + x;
    }
    map[r] = row;
    (void)tn_k_next(axes, w->out, index);
  }
}

tn_status tn_krows_make(tn_kcall *k, const tn_kwindow *w, tn_krows *s) {
  const int last = w->n - 1;
  *s = (tn_krows){1, 1, 1, 1, 1, 1, 1, 1, 0, NULL};
  for (int i = 0; i < last; i++) {
    s->rows_in *= w->in[i];
    s->rows_out *= w->out[i];
    s->taps *= w->kernel[i];
  }
  if (last >= 0) {
    s->in = w->in[last];
    s->out = w->out[last];
    s->kernel = w->kernel[last];
    s->stride = w->stride[last];
    s->dilation = w->dilation[last];
    s->lo = w->lo[last];
  }
  int64_t n;
  void *map;
  if (!tn_mul_i64(s->taps, s->rows_out, &n)) return tn_k_fail(k, TN_LIMIT, "too many positions");
  TN_TRY(tn_k_scratch_array(k, n, sizeof(int64_t), &map));
  s->map = map;
  for (int64_t t = 0; t < s->taps; t++) krows_fill(w, t, s->rows_out, s->map + t * s->rows_out);
  return TN_OK;
}
