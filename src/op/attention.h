/* Oracle of attention over plain arrays, and shapes of its operands. Only for op/. */
#ifndef TN_OP_ATTENTION_H
#define TN_OP_ATTENTION_H

#include "ir/eval.h"
#include "ir/rules.h"

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

/* A literal [batch, heads, rows, size] or [batch, rows, heads * size] as doubles in the first form. dims receives the
 * four sizes. MISMATCH when it has neither. */
TN_MUST_CHECK tn_status tn_attn_ref_load(tn_eval *e, const tn_lit *x, int64_t heads, const char *what, int64_t *dims,
                                         double **out);
/* The way back, into a literal of either form. */
void tn_attn_ref_store(const double *x, const int64_t *dims, tn_lit *out);

/* Dims [batch, heads, rows, size] of an operand of rank 3 or 4; false when its rank is not known. Demands that heads
 * divide the last dim. */
TN_MUST_CHECK tn_status tn_attn_dims(tn_rule *r, int i, int64_t heads, const char *heads_name, tn_sym *dims,
                                     bool *out_known);

#endif
