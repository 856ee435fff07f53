/* Hash map from 64-bit keys to 64-bit values that iterates in insertion order. Strings are keys by interning
 * (tn_map_key of the interned pointer). No removal. Lives in an arena. */
#ifndef TN_BASE_MAP_H
#define TN_BASE_MAP_H

#include "base/arena.h"

typedef struct tn_map_entry {
  uint64_t key, value;
} tn_map_entry;

typedef struct tn_map {  /* zero is empty */
  tn_map_entry *entries; /* insertion order */
  uint32_t *slots;       /* index + 1, 0 = empty */
  size_t n, cap, n_slots;
} tn_map;

void tn_map_set(tn_arena *a, tn_map *m, uint64_t key, uint64_t value); /* adds or replaces */
bool tn_map_find(const tn_map *m, uint64_t key, uint64_t *out_value);  /* out_value may be NULL */

static inline uint64_t tn_map_key(const void *p) { return (uint64_t)(uintptr_t)p; }
static inline void tn_map_set_ptr(tn_arena *a, tn_map *m, const void *key, void *value) {
  tn_map_set(a, m, tn_map_key(key), tn_map_key(value));
}
static inline void *tn_map_find_ptr(const tn_map *m, const void *key) { /* NULL when absent */
  uint64_t v;
  return tn_map_find(m, tn_map_key(key), &v) ? (void *)(uintptr_t)v : NULL;
}

#endif
