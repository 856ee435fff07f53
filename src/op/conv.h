/* Shared by the convolutions. Only for op/. */
#ifndef TN_OP_CONV_H
#define TN_OP_CONV_H

#include "ir/rules.h"

/* Output 0 has the shape of the convolution of the inputs at these positions (no bias: b_port < 0); window attributes
 * by their ONNX names. */
TN_MUST_CHECK tn_status tn_conv_shape(tn_rule *r, int x_port, int w_port, int b_port);

#endif
