/* The host allocator: every byte the library takes comes from one of these. */
#ifndef TN_BASE_ALLOC_H
#define TN_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* resize(self, NULL, 0, n) allocates, resize(self, p, n, 0) frees, else the block moves to n bytes. Memory is aligned
 * to 64 bytes. Returns NULL when there is no memory (the old block then stays). Callable from any thread. */
typedef struct tn_allocator {
  void *self;
  void *(*resize)(void *self, void *p, size_t old_size, size_t new_size);
} tn_allocator;

tn_allocator tn_allocator_system(void);

static inline void *tn_alloc(tn_allocator a, size_t n) { return a.resize(a.self, NULL, 0, n ? n : 1); }
static inline void tn_free(tn_allocator a, void *p, size_t n) {
  if (p) a.resize(a.self, p, n ? n : 1, 0);
}

/* An allocator for tests: counts, and fails call number `fail_at` (1-based; 0 = never) and all later ones when
 * `fail_forever`. Thread-safe. */
typedef struct tn_alloc_probe {
  tn_allocator inner;
  int64_t calls;      /* allocations and growths asked for so far */
  int64_t live_bytes; /* given out and not yet returned */
  int64_t peak_bytes;
  int64_t fail_at;
  bool fail_forever;
} tn_alloc_probe;

tn_allocator tn_allocator_probe(tn_alloc_probe *probe); /* borrows probe */

#endif
