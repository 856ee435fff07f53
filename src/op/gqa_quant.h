/* GroupQueryAttention over caches of integers. Only for op/. */
#ifndef TN_OP_GQA_QUANT_H
#define TN_OP_GQA_QUANT_H

#include "op/ms.h"

typedef struct tn_gqa_quant {
  int64_t bits;        /* of a number in the caches: 8, or 4 of which two make a byte; 0: they are floats */
  bool per_channel[2]; /* of k, of v: a scale for each element of each head, else one for all */
} tn_gqa_quant;

TN_MUST_CHECK tn_status tn_gqa_quant_read(tn_import *im, tn_gqa_quant *q);
TN_MUST_CHECK tn_status tn_gqa_quant_import(tn_import *im, const tn_gqa_quant *q);

#endif
