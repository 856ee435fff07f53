/* Strings to unique, NUL-terminated pointers: equal strings are one pointer while the table lives. */
#ifndef TN_BASE_INTERN_H
#define TN_BASE_INTERN_H

#include "base/arena.h"

enum { TN_INTERN_RECENT = 1024 };

typedef struct tn_intern {
  tn_arena *arena;
  const char **slots;
  size_t n, n_slots;
  const char *recent[TN_INTERN_RECENT]; /* by the low bits of the hash */
} tn_intern;

typedef struct tn_intern_head { /* in memory before each string */
  uint64_t hash;
  uint32_t len, id;
} tn_intern_head;

void tn_intern_init(tn_intern *t, tn_arena *arena);
/* Bytes after an embedded NUL are kept and compared; the pointer prints up to the first NUL. */
const char *tn_intern_str(tn_intern *t, tn_str s);
const char *tn_intern_find(const tn_intern *t, tn_str s); /* NULL when never interned */
void tn_intern_reserve(tn_intern *t, size_t n);           /* room for n more */
void tn_intern_expect(const tn_intern *t, tn_str s); /* it is asked for soon: its place is brought into the cache */
/* The number of an interned string: counted from 0 in the order in which they came. */
static inline uint32_t tn_intern_id(const char *interned) {
  return ((const tn_intern_head *)(const void *)interned)[-1].id;
}

#endif
