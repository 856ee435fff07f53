/* Oracle of attention over plain arrays. Only for op/. */
#ifndef TN_OP_ATTENTION_H
#define TN_OP_ATTENTION_H

#include "ir/eval.h"

typedef struct tn_attn_ref { /* everything row-major: [batch, heads, rows, size] */
  int64_t batch, heads, kv_heads, n_q, n_kv, d, dv;
  const double *q, *k, *v;
  const double *bias; /* [batch, heads, n_q, n_kv], -inf where a key does not count */
  double scale, softcap;
  const double *sink;  /* by head, or NULL */
  double *y;           /* [batch, heads, n_q, dv] */
  double *scores;      /* [batch, heads, n_q, n_kv] or NULL */
  int64_t scores_kind; /* qk_matmul_output_mode */
} tn_attn_ref;
void tn_attn_ref_run(tn_arena *arena, const tn_attn_ref *a);

/* [batch, heads, rows, size] into a literal of that form or of [batch, rows, heads * size]. */
void tn_attn_ref_store(const double *x, const int64_t *dims, tn_lit *out);

#endif
