/* Bump arena over blocks. Nothing is freed alone; the whole arena goes at once. */
#ifndef TN_BASE_ARENA_H
#define TN_BASE_ARENA_H

#include <setjmp.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/span.h"

typedef struct tn_arena_block tn_arena_block;

typedef struct tn_arena {
  tn_allocator allocator;
  tn_arena_block *blocks; /* newest first */
  char *at, *end;         /* what is free of the newest block */
  size_t bytes;           /* taken from the allocator */
  jmp_buf *oom;           /* where to go when memory ends; must be set before the first allocation */
} tn_arena;

void tn_arena_init(tn_arena *a, tn_allocator allocator, jmp_buf *oom);
void tn_arena_drop(tn_arena *a); /* frees everything; the arena may be used again */

/* 8-byte aligned, uninitialised (`_zero`: zeroed). Does not return when memory ends or n * size overflows: it
 * longjmps to a->oom. */
void *tn_arena_alloc(tn_arena *a, size_t n, size_t size);
/* What comes next needs about `bytes`: when they are many, one block for them (32 MiB at most) spares page faults. */
void tn_arena_reserve(tn_arena *a, size_t bytes);
void *tn_arena_zero(tn_arena *a, size_t n, size_t size);
char *tn_arena_copy_str(tn_arena *a, tn_str s); /* NUL-terminated copy */
char *tn_arena_printf(tn_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define TN_NEW(arena, type) ((type *)tn_arena_zero((arena), 1, sizeof(type)))
#define TN_NEW_ARRAY(arena, type, n) ((type *)tn_arena_zero((arena), (size_t)(n), sizeof(type)))

#endif
