/* Conversions of whole arrays whose loops are compiled once for each CPU level. */
#ifndef TN_KERN_RECAST_H
#define TN_KERN_RECAST_H

#include "kern/kern.h"

typedef void (*tn_recast_fn)(void *dst, const void *src, int64_t n);
typedef struct tn_recast_row {
  tn_dtype from, to;
  tn_recast_fn fn;
} tn_recast_row;

enum { TN_RECAST_ROWS = 17 };
extern const tn_recast_row tn_recast_rows_v1[TN_RECAST_ROWS];
#if defined(__x86_64__)
extern const tn_recast_row tn_recast_rows_v3[TN_RECAST_ROWS];
extern const tn_recast_row tn_recast_rows_v4[TN_RECAST_ROWS];
#endif

/* tn_convert of base/dtype.h, faster for the pairs that have a loop here. */
bool tn_recast(tn_dtype to, void *dst, tn_dtype from, const void *src, int64_t n, bool saturate);

#endif
