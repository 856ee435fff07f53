/* Hash map from 64-bit keys to 64-bit values that iterates in insertion order. Strings are keys by interning
 * (tn_map_key of the interned pointer). No removal. Lives in an arena. */
#ifndef TN_BASE_MAP_H
#define TN_BASE_MAP_H

#include "base/arena.h"
#include "base/intern.h"

typedef struct tn_map_entry {
  uint64_t key, value;
} tn_map_entry;

typedef struct tn_map {  /* zero is empty */
  tn_map_entry *entries; /* insertion order */
  uint32_t *slots;       /* index + 1, 0 = empty */
  size_t n, cap, n_slots;
  bool by_id; /* set while empty: keys are numbers given out in order (tn_intern_id), so neighbours may lie together */
} tn_map;

void tn_map_set(tn_arena *a, tn_map *m, uint64_t key, uint64_t value); /* adds or replaces */
bool tn_map_find(const tn_map *m, uint64_t key, uint64_t *out_value);  /* out_value may be NULL */
void tn_map_reserve(tn_arena *a, tn_map *m, size_t n);                 /* room for n entries in all */

static inline uint64_t tn_map_key(const void *p) { return (uint64_t)(uintptr_t)p; }
static inline void tn_map_set_ptr(tn_arena *a, tn_map *m, const void *key, void *value) {
  tn_map_set(a, m, tn_map_key(key), tn_map_key(value));
}
static inline void *tn_map_find_ptr(const tn_map *m, const void *key) { /* NULL when absent */
  uint64_t v;
  return tn_map_find(m, tn_map_key(key), &v) ? (void *)(uintptr_t)v : NULL;
}

/* The same for maps `by_id` over interned names. */
static inline void tn_map_set_name(tn_arena *a, tn_map *m, const char *name, void *value) {
  tn_map_set(a, m, tn_intern_id(name), tn_map_key(value));
}
static inline void *tn_map_find_name(const tn_map *m, const char *name) {
  uint64_t v;
  return tn_map_find(m, tn_intern_id(name), &v) ? (void *)(uintptr_t)v : NULL;
}

#endif
