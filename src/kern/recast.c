/* Picks a conversion by element types and CPU level. */
#include "kern/recast.h"

bool tn_recast(tn_dtype to, void *dst, tn_dtype from, const void *src, int64_t n, bool saturate) {
  const tn_recast_row *rows = tn_recast_rows_v1;
#if defined(__x86_64__)
  const int level = tn_cpu_level();
  if (level >= 3) rows = level >= 4 ? tn_recast_rows_v4 : tn_recast_rows_v3;
#endif
  for (int i = 0; i < TN_RECAST_ROWS && n > 0; i++) {
    if (rows[i].from != from || rows[i].to != to) continue;
    rows[i].fn(dst, src, n);
    return true;
  }
  return tn_convert(to, dst, from, src, n, saturate);
}
