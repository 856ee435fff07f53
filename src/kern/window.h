/* Windows that slide over spatial axes, at run time. */
#ifndef TN_KERN_WINDOW_H
#define TN_KERN_WINDOW_H

#include "kern/kern.h"

enum { TN_KW_MAX = TN_K_MAX_RANK - 2 };

typedef struct tn_kwindow {
  int n; /* spatial axes, >= 0 */
  int64_t in[TN_KW_MAX], out[TN_KW_MAX], kernel[TN_KW_MAX], stride[TN_KW_MAX], dilation[TN_KW_MAX];
  int64_t lo[TN_KW_MAX], hi[TN_KW_MAX]; /* padding; hi may reach past the last window */
  int64_t n_in, n_out, n_taps;          /* products */
} tn_kwindow;

/* `n` entries of the INTS attribute `name`, or all `absent` when it is not there. */
TN_MUST_CHECK tn_status tn_kwindow_ints(tn_kcall *k, const char *name, int n, int64_t absent, int64_t *out);

/* Reads strides, dilations, pads and auto_pad; sizes are given: in and out of the planned operands, the kernel from
 * the weights (NULL: the attribute kernel_shape). */
TN_MUST_CHECK tn_status tn_kwindow_read(tn_kcall *k, int n, const int64_t *in, const int64_t *out,
                                        const int64_t *kernel, tn_kwindow *w);

/* Sizes of the outputs, by the rule of src/op/window.h: kernel as above, ceil_mode as given. MISMATCH where a window
 * does not fit. */
TN_MUST_CHECK tn_status tn_kwindow_sizes(tn_kcall *k, int n, const int64_t *in, const int64_t *kernel, bool ceil_mode,
                                         int64_t *out);

/* All axes but the last as one: map[t * rows_out + r] is the input row that outer tap t of output row r reads, or -1
 * for padding. */
typedef struct tn_krows {
  int64_t rows_in, rows_out, taps;               /* products of the outer axes */
  int64_t in, out, kernel, stride, dilation, lo; /* the last axis; one of size 1 when there is none */
  int64_t *map;
} tn_krows;
TN_MUST_CHECK tn_status tn_krows_make(tn_kcall *k, const tn_kwindow *w, tn_krows *out);

/* Outputs o in [*first, *last) of an axis read an element inside for this tap. */
static inline void tn_krange(int64_t out, int64_t in, int64_t stride, int64_t offset, int64_t *first, int64_t *last) {
  int64_t a = offset < 0 ? (-offset + stride - 1) / stride : 0;
  int64_t b = in > offset ? (in - offset + stride - 1) / stride : 0;
  if (b > out) b = out;
  if (a > b) a = b;
  *first = a;
  *last = b;
}

#endif
