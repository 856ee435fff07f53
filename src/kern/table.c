/* The kernel table: rows found by the build's scan, sorted by name. */
#include <string.h>

#include "kern/ports.h"

#define TN_KERNEL_ROW(id) extern const tn_kernel tn_kernel_##id;
#include "kernel_list.inc"
#undef TN_KERNEL_ROW

static const tn_kernel *const table_kernels[] = {
#define TN_KERNEL_ROW(id) &tn_kernel_##id,
#include "kernel_list.inc"
#undef TN_KERNEL_ROW
};

int tn_kernel_count(void) { return (int)TN_COUNT(table_kernels); }
const tn_kernel *tn_kernel_at(int i) { return table_kernels[i]; }

int tn_kernel_index(const char *name) {
  size_t lo = 0, hi = TN_COUNT(table_kernels);
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    const int order = strcmp(table_kernels[mid]->name, name);
    if (order == 0) return (int)mid;
    if (order < 0) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return -1;
}

const tn_kernel *tn_kernel_find(const char *name) {
  const int i = tn_kernel_index(name);
  return i < 0 ? NULL : table_kernels[i];
}
