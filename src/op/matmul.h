/* Shared by the operators that multiply matrices. Only for op/. */
#ifndef TN_OP_MATMUL_H
#define TN_OP_MATMUL_H

#include "ir/rules.h"

/* Output 0 has the shape of the product of the inputs at these positions. */
TN_MUST_CHECK tn_status tn_matmul_shape(tn_rule *r, int a_port, int b_port);

#endif
