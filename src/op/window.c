/* Windows that slide over spatial axes. */
#include "op/window.h"

#include <string.h>

enum { WINDOW_MAX_SIZE = INT32_MAX }; /* of strides, dilations, pads and kernels: products stay far from int64's end */

/* `n` numbers >= min of an INTS attribute, or all `absent`. */
static tn_status window_ints(tn_ctx *ctx, tn_loc loc, const tn_node *node, const char *name, int n, int64_t absent,
                             int64_t min, int64_t *out) {
  const tn_attr *a = tn_op_attr(node, name);
  for (int i = 0; i < n; i++) out[i] = absent;
  if (!a || a->n == 0) return TN_OK;
  if (a->n != n)
    return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' has %lld entries, expected %d", name, (long long)a->n, n);
  for (int i = 0; i < n; i++) {
    out[i] = a->ints[i];
    if (out[i] < min || out[i] > WINDOW_MAX_SIZE)
      return tn_fail(ctx, TN_INVALID, loc, "attribute '%s' has the entry %lld", name, (long long)out[i]);
  }
  return TN_OK;
}

static tn_status window_auto_pad(tn_ctx *ctx, tn_loc loc, const tn_node *node, tn_auto_pad *out) {
  static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  const tn_attr *a = tn_op_attr(node, "auto_pad");
  *out = TN_PAD_EXPLICIT;
  if (!a || a->s.len == 0) return TN_OK;
  for (int i = 0; i < 4; i++)
    if (tn_str_eq(a->s, tn_str_of(names[i]))) {
      *out = (tn_auto_pad)i;
      return TN_OK;
    }
  return tn_fail(ctx, TN_INVALID, loc, "unknown auto_pad '%.*s'", (int)(a->s.len > 40 ? 40 : a->s.len), a->s.ptr);
}

tn_status tn_window_read(tn_ctx *ctx, tn_loc loc, const tn_node *node, int n, tn_window_attrs *w) {
  int64_t pads[2 * TN_WINDOW_MAX];
  w->n = n;
  TN_TRY(window_auto_pad(ctx, loc, node, &w->auto_pad));
  const tn_attr *ceil_mode = tn_op_attr(node, "ceil_mode"), *kernel = tn_op_attr(node, "kernel_shape");
  w->ceil_mode = ceil_mode && ceil_mode->i != 0;
  w->has_kernel = kernel && kernel->n > 0;
  w->is_pool = tn_op_attr_index(node->op, "ceil_mode") >= 0;
  TN_TRY(window_ints(ctx, loc, node, "kernel_shape", n, 1, 1, w->kernel));
  TN_TRY(window_ints(ctx, loc, node, "strides", n, 1, 1, w->stride));
  TN_TRY(window_ints(ctx, loc, node, "dilations", n, 1, 1, w->dilation));
  TN_TRY(window_ints(ctx, loc, node, "pads", 2 * n, 0, 0, pads));
  for (int i = 0; i < n; i++) {
    w->lo[i] = w->auto_pad == TN_PAD_EXPLICIT ? pads[i] : 0;
    w->hi[i] = w->auto_pad == TN_PAD_EXPLICIT ? pads[n + i] : 0;
  }
  return TN_OK;
}

/* Whether an input that is one short of the window gives nothing. So do pools of stride 1; a convolution that keeps
 * sizes gives nothing for nothing. Else a window that does not fit has no meaning. */
static bool window_may_miss_by_one(const tn_window_attrs *w, int axis, int64_t extent) {
  return w->stride[axis] == 1 && (w->is_pool || w->lo[axis] + w->hi[axis] == extent - 1);
}

tn_status tn_window_dim(tn_rule *r, const tn_window_attrs *w, int axis, tn_sym in, tn_sym kernel, tn_sym *out) {
  tn_symtab *t = r->syms;
  const int64_t s = w->stride[axis], d = w->dilation[axis], lo = w->lo[axis], hi = w->hi[axis];
  const tn_sym stride = tn_sym_int(t, s);
  if (w->auto_pad == TN_PAD_SAME_UPPER || w->auto_pad == TN_PAD_SAME_LOWER) {
    *out = tn_sym_ceildiv(t, in, stride);
    return TN_OK;
  }
  /* room = in + pads - extent of the kernel */
  const tn_sym extent = tn_sym_addi(t, tn_sym_muli(t, tn_sym_addi(t, kernel, -1), d), 1);
  const tn_sym room = tn_sym_sub(t, tn_sym_addi(t, in, lo + hi), extent);
  /* The last window of ceil_mode must start before the end padding: where the end padding is wide enough for one that
   * does not, exactly the starts in [0, in + lo) count. */
  const bool counts_starts = w->ceil_mode && tn_sym_is_int(extent) && hi + s > extent->k;
  if (counts_starts) {
    *out = tn_sym_ceildiv(t, tn_sym_addi(t, in, lo), stride);
    return TN_OK;
  }
  int64_t slack = w->ceil_mode ? s - 1 : 0;
  if (!w->ceil_mode && window_may_miss_by_one(w, axis, tn_sym_is_int(extent) ? extent->k : 0)) slack = 1;
  TN_TRY(tn_rule_demand(r, tn_sym_le(t, tn_sym_int(t, 0), tn_sym_addi(t, room, slack)),
                        "a window of %s does not fit spatial dim %d of size %s with padding %lld",
                        tn_sym_text(t, extent), axis, tn_sym_text(t, in), (long long)(lo + hi)));
  *out = tn_sym_addi(t, w->ceil_mode ? tn_sym_ceildiv(t, room, stride) : tn_sym_floordiv(t, room, stride), 1);
  return TN_OK;
}

static tn_status window_eval_axis(const tn_eval *e, const tn_window_attrs *a, int i, tn_window *w) {
  const int64_t s = a->stride[i], in = w->in[i], extent = (w->kernel[i] - 1) * a->dilation[i] + 1;
  int64_t lo = a->lo[i], hi = a->hi[i], out;
  if (a->auto_pad == TN_PAD_SAME_UPPER || a->auto_pad == TN_PAD_SAME_LOWER) {
    out = in / s + (in % s != 0);
    int64_t total = (out - 1) * s + extent - in;
    if (total < 0) total = 0;
    lo = a->auto_pad == TN_PAD_SAME_UPPER ? total / 2 : total - total / 2;
    hi = total - lo;
  } else if (a->ceil_mode) {
    out = 0;
    for (int64_t start = 0; start < in + lo; start += s) {
      out++;
      if (start + extent >= in + lo + hi) break;
    }
  } else {
    const int64_t room = in + lo + hi - extent;
    if (room < (window_may_miss_by_one(a, i, extent) ? -1 : 0))
      return tn_eval_fail(e, TN_MISMATCH, "a window of %lld does not fit spatial dim %d of size %lld with padding %lld",
                          (long long)extent, i, (long long)in, (long long)(lo + hi));
    out = room < 0 ? 0 : room / s + 1;
  }
  w->stride[i] = s;
  w->dilation[i] = a->dilation[i];
  w->lo[i] = lo;
  w->hi[i] = hi;
  w->out[i] = out;
  return TN_OK;
}

tn_status tn_window_eval(const tn_eval *e, int n, const int64_t *in, const int64_t *kernel, tn_window *w) {
  tn_window_attrs a;
  if (n > TN_WINDOW_MAX) return tn_eval_fail(e, TN_UNSUPPORTED, "%d spatial axes", n);
  TN_TRY(tn_window_read(e->ctx, e->loc, e->node, n, &a));
  memset(w, 0, sizeof *w);
  w->n = n;
  w->n_in = w->n_out = w->n_taps = 1;
  for (int i = 0; i < n; i++) {
    w->in[i] = in[i];
    w->kernel[i] = kernel ? kernel[i] : a.kernel[i];
    if (w->kernel[i] > WINDOW_MAX_SIZE || in[i] > INT64_MAX / 4)
      return tn_eval_fail(e, TN_LIMIT, "spatial dim %d is too large", i);
    TN_TRY(window_eval_axis(e, &a, i, w));
    if (!tn_mul_i64(w->n_in, w->in[i], &w->n_in) || !tn_mul_i64(w->n_out, w->out[i], &w->n_out) ||
        !tn_mul_i64(w->n_taps, w->kernel[i], &w->n_taps))
      return tn_eval_fail(e, TN_LIMIT, "too many positions");
  }
  return TN_OK;
}

int64_t tn_window_at(const tn_window *w, int64_t at, int64_t tap) {
  int64_t offset = 0, step = 1;
  for (int i = w->n - 1; i >= 0; i--) {
    const int64_t o = at % w->out[i], t = tap % w->kernel[i];
    at /= w->out[i];
    tap /= w->kernel[i];
    const int64_t x = o * w->stride[i] + t * w->dilation[i] - w->lo[i];
    if (x < 0 || x >= w->in[i]) return -1;
    offset += x * step;
    step *= w->in[i];
  }
  return offset;
}
