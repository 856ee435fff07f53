/* Equations of Einsum, as labels of axes. */
#ifndef TN_BASE_EINSUM_H
#define TN_BASE_EINSUM_H

#include "base/span.h"

enum {
  TN_EINSUM_RANK = 16,                                   /* axes of one operand */
  TN_EINSUM_LETTERS = 52,                                /* labels 0..51: A..Z, a..z */
  TN_EINSUM_LABELS = TN_EINSUM_LETTERS + TN_EINSUM_RANK, /* then the ellipsis' axes, counted from its last one */
  TN_EINSUM_MAX_IN = 16
};

typedef struct tn_einsum_term {
  int rank;
  uint8_t label[TN_EINSUM_RANK];
} tn_einsum_term;

typedef struct tn_einsum {
  int n_in;
  tn_einsum_term in[TN_EINSUM_MAX_IN], out;
} tn_einsum;

/* The labels of every axis, for operands of these ranks. NULL when all is well, else what is wrong. */
const char *tn_einsum_parse(tn_str equation, int n_in, const int *ranks, tn_einsum *out);

#endif
