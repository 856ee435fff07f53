/* Shared by the convolutions. Only for op/. */
#ifndef TN_OP_CONV_H
#define TN_OP_CONV_H

#include "op/window.h"

/* Output 0 has the shape of the convolution of the inputs at these positions (no bias: b_port < 0); window attributes
 * by their ONNX names. */
TN_MUST_CHECK tn_status tn_conv_shape(tn_rule *r, int x_port, int w_port, int b_port);
/* Kernel size of axis i: of the weights, and of kernel_shape where that is given. */
TN_MUST_CHECK tn_status tn_conv_kernel(tn_rule *r, const tn_window_attrs *w, const tn_type *weights, int i,
                                       tn_sym *out);
/* A bias, where there is one, has a number for each of the m output channels. */
TN_MUST_CHECK tn_status tn_conv_bias(tn_rule *r, int input, tn_sym m);

/* Rows of a schema. */
/* clang-format off */
#define TN_CONV_ATTRS                                                                                \
  {"auto_pad", TN_ATTR_STR, .s = "NOTSET"}, {"dilations", TN_ATTR_INTS}, {"group", TN_ATTR_INT, .i = 1}, \
  {"kernel_shape", TN_ATTR_INTS}, {"pads", TN_ATTR_INTS}, {"strides", TN_ATTR_INTS}
/* clang-format on */

#endif
