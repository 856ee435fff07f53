/* Bump arena. Under AddressSanitizer everything not handed out is poisoned and a red zone follows each allocation. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/checked.h"

#if TN_ASAN
#include <sanitizer/asan_interface.h>
#define ARENA_POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define ARENA_UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
enum { ARENA_RED_ZONE = 16 };
#else
#define ARENA_POISON(p, n) ((void)(p), (void)(n))
#define ARENA_UNPOISON(p, n) ((void)(p), (void)(n))
enum { ARENA_RED_ZONE = 0 };
#endif

/* Blocks grow with the arena: to double it at first, then by a quarter. */
enum {
  ARENA_ALIGN = 8,
  ARENA_FIRST = 16 << 10,
  ARENA_DOUBLE = 4 << 20,
  ARENA_LARGEST = 32 << 20,
  ARENA_HUGE = 2 << 20
};

struct tn_arena_block {
  tn_arena_block *next;
  size_t size; /* of the whole block, this header included */
};
_Static_assert(sizeof(tn_arena_block) % ARENA_ALIGN == 0, "what follows the header is aligned");

void tn_arena_init(tn_arena *a, tn_allocator allocator, jmp_buf *oom) {
  *a = (tn_arena){.allocator = allocator, .oom = oom};
}

void tn_arena_drop(tn_arena *a) {
  tn_arena_block *b = a->blocks;
  while (b) {
    tn_arena_block *next = b->next;
    const size_t size = b->size;
    ARENA_UNPOISON(b, size);
    tn_free(a->allocator, b, size);
    b = next;
  }
  tn_arena_init(a, a->allocator, a->oom);
}

TN_NORETURN static void arena_fail(tn_arena *a) {
  TN_ASSERT(a->oom != NULL);
  longjmp(*a->oom, 1);
}

/* Fewer page faults and address look-ups, where the system has pages of 2 MiB. */
static void arena_want_huge_pages(char *p, size_t size) {
#ifdef MADV_HUGEPAGE
  const size_t skip = (ARENA_HUGE - (uintptr_t)p % ARENA_HUGE) % ARENA_HUGE;
  if (size >= skip + ARENA_HUGE) (void)madvise(p + skip, (size - skip) / ARENA_HUGE * ARENA_HUGE, MADV_HUGEPAGE);
#else
  (void)p;
  (void)size;
#endif
}

static tn_arena_block *arena_block_new(tn_arena *a, size_t size) {
  tn_arena_block *b = tn_alloc(a->allocator, size);
  if (!b) arena_fail(a);
  arena_want_huge_pages((char *)b, size);
  *b = (tn_arena_block){NULL, size};
  ARENA_POISON(b + 1, size - sizeof *b);
  a->bytes += size;
  return b;
}

/* A large request gets a block of its own behind the newest one, whose free space stays in use. */
static void *arena_alloc_own(tn_arena *a, size_t need) {
  size_t size;
  if (!tn_add_size(need, sizeof(tn_arena_block), &size)) arena_fail(a);
  tn_arena_block *b = arena_block_new(a, size), **const place = a->blocks ? &a->blocks->next : &a->blocks;
  b->next = *place;
  *place = b;
  return b + 1;
}

/* Of a large block only whole huge pages are used: what comes before them is never touched. */
static void arena_grow(tn_arena *a, size_t size) {
  const bool huge = size >= ARENA_HUGE;
  if (huge) size = (size / ARENA_HUGE + 1) * ARENA_HUGE;
  tn_arena_block *b = arena_block_new(a, size);
  b->next = a->blocks;
  a->blocks = b;
  a->at = (char *)(b + 1);
  a->end = (char *)b + size / ARENA_ALIGN * ARENA_ALIGN;
  if (huge) a->at += (ARENA_HUGE - (uintptr_t)a->at % ARENA_HUGE) % ARENA_HUGE;
}

void tn_arena_reserve(tn_arena *a, size_t bytes) {
  if (bytes > ARENA_LARGEST) bytes = ARENA_LARGEST;
  if (bytes >= ARENA_HUGE && bytes > (size_t)(a->end - a->at)) arena_grow(a, bytes + ARENA_HUGE);
}

/* There is no room for `bytes` in the newest block, or they are beyond what can be asked for. */
TN_NOINLINE static void *arena_alloc_slow(tn_arena *a, size_t bytes) {
  size_t need;
  if (!tn_add_size(bytes, ARENA_RED_ZONE, &need) || !tn_align_size(need ? need : 1, ARENA_ALIGN, &need)) arena_fail(a);
  if (need > (size_t)(a->end - a->at)) {
    size_t size = a->bytes;
    if (size < ARENA_FIRST) size = ARENA_FIRST;
    if (size > ARENA_DOUBLE) size = size / 4 > ARENA_DOUBLE ? size / 4 : ARENA_DOUBLE;
    if (size > ARENA_LARGEST) size = ARENA_LARGEST;
    if (need > size / 4) {
      void *const p = arena_alloc_own(a, need);
      ARENA_UNPOISON(p, bytes);
      return p;
    }
    arena_grow(a, size);
  }
  void *const p = a->at;
  a->at += need;
  ARENA_UNPOISON(p, bytes);
  return p;
}

void *tn_arena_alloc(tn_arena *a, size_t n, size_t size) {
  size_t bytes;
  if (TN_UNLIKELY(!tn_mul_size(n, size, &bytes))) arena_fail(a);
  if (TN_UNLIKELY(TN_ASAN || bytes == 0 || bytes > (size_t)(a->end - a->at))) return arena_alloc_slow(a, bytes);
  void *const p = a->at;
  a->at += (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN; /* the room is a multiple of it too */
  return p;
}

void *tn_arena_zero(tn_arena *a, size_t n, size_t size) {
  void *p = tn_arena_alloc(a, n, size);
  return memset(p, 0, n * size);
}

char *tn_arena_copy_str(tn_arena *a, tn_str s) {
  size_t bytes;
  if (!tn_add_size(s.len, 1, &bytes)) arena_fail(a);
  char *z = tn_arena_alloc(a, bytes, 1);
  if (s.len) memcpy(z, s.ptr, s.len);
  z[s.len] = 0;
  return z;
}

char *tn_arena_printf(tn_arena *a, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  const int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *z = n < 0 ? NULL : tn_arena_alloc(a, (size_t)n + 1, 1);
  if (z) (void)vsnprintf(z, (size_t)n + 1, fmt, again);
  va_end(again);
  if (!z) arena_fail(a); /* longer than INT_MAX */
  return z;
}
