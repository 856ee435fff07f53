/* Which level's loops this CPU runs. */
#include "kern/line.h"

const tn_line_isa *tn_line_isa_get(void) {
#if defined(__x86_64__)
  const int level = tn_cpu_level();
  if (level >= 4) return &tn_line_isa_v4;
  if (level >= 3) return &tn_line_isa_v3;
#endif
  return &tn_line_isa_v1;
}
