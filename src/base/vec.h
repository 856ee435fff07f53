/* Growable array in an arena. Declare with TN_VEC(type); zero is empty. Growing leaves the old copy in the arena, at
 * most doubling the memory. Elements move when the vector grows: keep indices, not pointers. */
#ifndef TN_BASE_VEC_H
#define TN_BASE_VEC_H

#include "base/arena.h"

#define TN_VEC(type) \
  struct {           \
    type *at;        \
    size_t n, cap;   \
  }

void *tn_vec_grow(tn_arena *a, void *at, size_t n, size_t *cap, size_t need, size_t size);

#define tn_vec_push(arena, v, ...)                                                                \
  do {                                                                                            \
    if ((v)->n == (v)->cap)                                                                       \
      (v)->at = tn_vec_grow((arena), (v)->at, (v)->n, &(v)->cap, (v)->n + 1, sizeof((v)->at[0])); \
    (v)->at[(v)->n++] = (__VA_ARGS__);                                                            \
  } while (0)

#endif
