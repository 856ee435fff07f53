/* Moves of elements between strided arrays, and what the kernels that move have in common. */
#ifndef TN_KERN_MOVE_H
#define TN_KERN_MOVE_H

#include "kern/kern.h"

enum { TN_MOVE_MAX_RANK = 2 * TN_K_MAX_RANK };

/* dst[dst_at + sum i*to] = src[src_at + sum i*from] for all i within dims. Strides are in elements; those of the source
 * may be negative or 0. The arrays do not overlap. */
typedef struct tn_move {
  tn_dtype dtype;
  int rank;
  int64_t dims[TN_MOVE_MAX_RANK], to[TN_MOVE_MAX_RANK], from[TN_MOVE_MAX_RANK];
  void *dst;
  int64_t dst_at;
  const void *src;
  int64_t src_at;
} tn_move;

void tn_k_move(tn_pool *pool, tn_move *m); /* uses m up */

/* INTERNAL unless inputs 0..n_in-1 and outputs 0..n_out-1 are tensors that are there. */
TN_MUST_CHECK tn_status tn_k_tensors(tn_kcall *k, int n_in, int n_out);
/* The same, and output 0 has input 0's element type. */
TN_MUST_CHECK tn_status tn_k_same_type(tn_kcall *k, int n_in, int n_out);
/* INTERNAL unless output i (when present) has element type d. */
TN_MUST_CHECK tn_status tn_k_out_type(tn_kcall *k, int i, tn_dtype d);
/* INTERNAL unless input i has an integer type. */
TN_MUST_CHECK tn_status tn_k_int_type(tn_kcall *k, int i);
/* The integers of input i: at most `max` of them. */
TN_MUST_CHECK tn_status tn_k_ints(tn_kcall *k, int i, int64_t max, int64_t *out, int64_t *out_n);
/* Element 0 of integer input i; `absent` when it is not there. */
TN_MUST_CHECK tn_status tn_k_scalar(tn_kcall *k, int i, int64_t absent, int64_t *out);
/* An attribute of kind INTS; *out_n = 0 and NULL when absent. */
const int64_t *tn_k_attr_ints(const tn_kcall *k, const char *name, int64_t *out_n);
/* Sets of `rank` axes out of n (negative ones count from the end): set[axis] = position in axes, -1 elsewhere. */
TN_MUST_CHECK tn_status tn_k_axis_set(tn_kcall *k, int64_t n, const int64_t *axes, int rank, int *set);
/* Room for n elements of `size` bytes. */
TN_MUST_CHECK tn_status tn_k_room(tn_kcall *k, int64_t n, size_t size, void **out);

void tn_k_strides(int rank, const int64_t *dims, int64_t *out);
static inline int64_t tn_k_count(const int64_t *dims, int from, int to) { /* of checked dims */
  int64_t n = 1;
  for (int i = from; i < to; i++) n *= dims[i];
  return n;
}
/* The next index in row-major order; false after the last one. */
static inline bool tn_k_next(int rank, const int64_t *dims, int64_t *index) {
  for (int i = rank - 1; i >= 0; i--) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}
static inline int64_t tn_k_dot(int rank, const int64_t *index, const int64_t *strides) {
  int64_t at = 0;
  for (int i = 0; i < rank; i++) at += index[i] * strides[i];
  return at;
}

#endif
