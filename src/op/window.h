/* Windows that slide over spatial axes: what convolutions and pools share.
 *
 * Attributes by their ONNX names: kernel_shape, strides, dilations, pads, auto_pad, ceil_mode. An operator that lacks
 * one in its schema has that attribute's default. */
#ifndef TN_OP_WINDOW_H
#define TN_OP_WINDOW_H

#include "ir/eval.h"
#include "ir/rules.h"

enum { TN_WINDOW_MAX = TN_MAX_RANK - 2 };

typedef enum tn_auto_pad { TN_PAD_EXPLICIT, TN_PAD_SAME_UPPER, TN_PAD_SAME_LOWER, TN_PAD_VALID } tn_auto_pad;

/* Attributes as numbers, checked: strides and dilations >= 1, counts that fit n axes. */
typedef struct tn_window_attrs {
  int n;
  tn_auto_pad auto_pad;
  bool ceil_mode;
  bool has_kernel; /* kernel_shape was given */
  bool is_pool;    /* the operator has ceil_mode */
  int64_t kernel[TN_WINDOW_MAX], stride[TN_WINDOW_MAX], dilation[TN_WINDOW_MAX], lo[TN_WINDOW_MAX], hi[TN_WINDOW_MAX];
} tn_window_attrs;

TN_MUST_CHECK tn_status tn_window_read(tn_ctx *ctx, tn_loc loc, const tn_node *node, int n, tn_window_attrs *out);

/* Size of one output axis: `in` elements, a kernel of `kernel` taps. Adds the demand that the window fits. */
TN_MUST_CHECK tn_status tn_window_dim(tn_rule *r, const tn_window_attrs *w, int axis, tn_sym in, tn_sym kernel,
                                      tn_sym *out);

/* Concrete geometry of one evaluation. */
typedef struct tn_window {
  int n;
  int64_t in[TN_WINDOW_MAX], out[TN_WINDOW_MAX], kernel[TN_WINDOW_MAX], stride[TN_WINDOW_MAX];
  int64_t dilation[TN_WINDOW_MAX], lo[TN_WINDOW_MAX], hi[TN_WINDOW_MAX];
  int64_t n_in, n_out, n_taps; /* products */
} tn_window;

/* kernel NULL: the attribute kernel_shape. */
TN_MUST_CHECK tn_status tn_window_eval(const tn_eval *e, int n, const int64_t *in, const int64_t *kernel,
                                       tn_window *out);
/* Offset in the input plane that tap `tap` of output position `at` reads, or -1 when it reads padding. */
int64_t tn_window_at(const tn_window *w, int64_t at, int64_t tap);

#endif
