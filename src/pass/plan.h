/* Shared by the files of the pass `plan`: plan.c (buffers and their lives), plan_join.c (parts of a Concat),
 * plan_place.c (their places). */
#ifndef TN_PASS_PLAN_H
#define TN_PASS_PLAN_H

#include "pass/known.h"
#include "pass/pass.h"

typedef struct tn_planning { /* under construction */
  tn_pass *pass;
  tn_graph *graph;
  tn_plan *out;
  const tn_value **root; /* value id -> the value whose bytes it has */
  const tn_value **all;  /* in order of appearance */
  uint32_t n_all;
  uint32_t clock;
  bool keep_operands;
  bool *is_result;    /* buffer -> holds a result of the region of its value */
  bool *is_shared;    /* buffer -> holds values of regions inside that of its value */
  bool *is_whole;     /* value id -> begins where its root begins */
  uint32_t *merged;   /* buffer -> the one that took it over, or itself */
  tn_plan_join *join; /* buffer -> the part of another that it became, or no node */
} tn_planning;

/* The buffer that took over a buffer. */
static inline uint32_t tn_plan_find(const tn_planning *p, uint32_t b) {
  while (p->merged[b] != b) b = p->merged[b] = p->merged[p->merged[b]];
  return b;
}
/* The buffer that has a value's bytes, -1 when there is none. *out_whole: it begins where the buffer begins. */
int64_t tn_plan_buffer_of(const tn_planning *p, const tn_value *v, bool *out_whole);

/* Operands of nodes that join them move into the parts of the result, where that takes no more memory. */
TN_MUST_CHECK tn_status tn_plan_joins(tn_planning *p);

/* Orders the buffers of each region by address and ties them, so that their offsets follow from their sizes. */
void tn_plan_place(tn_pass *pass, tn_graph *g, tn_plan *plan);

/* out[b]: the size of buffer b for guess 0 ... of the symbols, for the n buffers of `which` (NULL: the first n); 0: it
 * is not known, or too large to add up n of them. */
enum { TN_PLAN_GUESSES = 4, TN_PLAN_MANY = 20000 /* buffers: one guess is enough work */ };
void tn_plan_guess(tn_symtab *syms, const tn_plan_buffer *buffers, const uint32_t *which, uint32_t n, int guess,
                   size_t *out);

#endif
