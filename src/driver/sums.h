/* Sums of sizes, of which the largest is asked for: which one that is may depend on the symbols. */
#ifndef TN_DRIVER_SUMS_H
#define TN_DRIVER_SUMS_H

#include "sym/sym.h"

enum { TN_SUMS_MOST = 96, TN_SUM_TERMS = 48 };

typedef struct tn_sum { /* of buffers; ids ascend */
  uint32_t n;
  uint32_t ids[TN_SUM_TERMS];
} tn_sum;

typedef struct tn_sums { /* none is known to be at most another */
  uint32_t n;
  bool is_cut; /* there were too many, or too many terms: the formula is not known */
  tn_sum at[TN_SUMS_MOST];
} tn_sums;

typedef struct tn_sum_sizes { /* of buffers, by id */
  tn_symtab *syms;
  const tn_sym *bytes;
} tn_sum_sizes;

/* Adds a sum unless it is at most one that is there for all values of the symbols; those at most it go. */
void tn_sums_add(const tn_sum_sizes *z, tn_sums *sums, const tn_sum *sum);
/* The sum with buffer `id` added; false when it has too many terms. */
bool tn_sum_with(const tn_sum *sum, uint32_t id, tn_sum *out);
/* The largest as an expression; each size is rounded up to `align`. NULL when it is cut. */
tn_sym tn_sums_max(const tn_sum_sizes *z, const tn_sums *sums, int64_t align);

#endif
