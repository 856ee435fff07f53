/* Attention on strided operands: softmax(scale * q k^T, capped, biased and masked) v, by blocks of query rows. */
#ifndef TN_KERN_ATTENTION_H
#define TN_KERN_ATTENTION_H

#include "kern/kern.h"

enum { /* what `scores` receives */
       TN_SCORES_RAW,
       TN_SCORES_CAPPED,
       TN_SCORES_BIASED,
       TN_SCORES_SOFTMAX
};

typedef struct tn_rows { /* vectors of one operand: element e of (batch b, head h, row s) at
                            b*step[0]+h*step[1]+s*step[2]+e */
  void *data;
  int64_t step[3];
} tn_rows;

typedef struct tn_attn {
  tn_dtype dtype; /* of every float operand: F32 or F64 */
  int64_t batch, heads, kv_heads, n_q, n_kv, d, dv;
  tn_rows q, k, v, y;    /* head h reads k and v of head h / (heads / kv_heads) */
  tn_rows bias;          /* added to scores; (batch, head, query) -> columns; data NULL: none */
  tn_rows allow;         /* bool: columns that count; data NULL: all */
  tn_rows filter;        /* added too, [batch, 1, queries or 1, keys]; data NULL: none */
  int64_t bias_n;        /* columns of bias and allow: those from here on do not count */
  int64_t bias_step;     /* of columns: 0 or 1 */
  const int64_t *kv_len; /* by batch: keys that count; NULL: all */
  const int64_t *offset; /* by batch: the position of query 0 among the keys; NULL: `offset_all` */
  int64_t offset_all;
  int64_t left, right; /* keys before and after a query's position that it sees; -1: all */
  double scale, softcap;
  const void *sink;   /* by head: one more score that takes part in the sum; NULL: none */
  bool has_zero_sink; /* the same with a score of 0 */
  void *scores;       /* [batch, heads, n_q, n_kv] or NULL */
  int scores_kind;
} tn_attn;

/* Shapes have been checked: every (batch, head, row) lies within its operand. */
TN_MUST_CHECK tn_status tn_attn_run(tn_kcall *k, const tn_attn *a);

/* Rotates pairs of the first `dim` elements of a vector by angles given as cosines and sines (dim / 2 of each). */
void tn_rotate_f32(const float *x, float *y, int64_t dim, const float *cosines, const float *sines, bool interleaved);

#endif
