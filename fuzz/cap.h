/* An allocator with a limit: what asks for more than `most` bytes in all ends as OOM. */
#ifndef TN_FUZZ_CAP_H
#define TN_FUZZ_CAP_H

#include "base/alloc.h"

typedef struct fuzz_cap {
  tn_allocator inner;
  size_t most, live;
} fuzz_cap;

static void *fuzz_cap_resize(void *self, void *p, size_t old_size, size_t new_size) {
  fuzz_cap *cap = self;
  if (new_size > old_size && new_size - old_size > cap->most - cap->live) return NULL;
  void *moved = cap->inner.resize(cap->inner.self, p, old_size, new_size);
  if (moved || new_size == 0) cap->live = cap->live - old_size + new_size;
  return moved;
}

static inline fuzz_cap fuzz_cap_new(size_t most) { return (fuzz_cap){tn_allocator_system(), most, 0}; }
static inline tn_allocator fuzz_cap_allocator(fuzz_cap *cap) { return (tn_allocator){cap, fuzz_cap_resize}; }

#endif
