/* Strings to unique, NUL-terminated pointers: equal strings are one pointer while the table lives. */
#ifndef TN_BASE_INTERN_H
#define TN_BASE_INTERN_H

#include "base/arena.h"

typedef struct tn_intern {
  tn_arena *arena;
  const char **slots;
  size_t n, n_slots;
} tn_intern;

void tn_intern_init(tn_intern *t, tn_arena *arena);
/* Bytes after an embedded NUL are kept and compared; the pointer prints up to the first NUL. */
const char *tn_intern_str(tn_intern *t, tn_str s);
const char *tn_intern_find(const tn_intern *t, tn_str s); /* NULL when never interned */

#endif
