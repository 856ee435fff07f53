/* Borrowed pointer + length. Nothing here owns memory. */
#ifndef TN_BASE_SPAN_H
#define TN_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct tn_str { /* also the element of a string tensor; not NUL-terminated */
  const char *ptr;
  size_t len;
} tn_str;

typedef struct tn_bytes {
  const uint8_t *ptr;
  size_t len;
} tn_bytes;

static inline tn_str tn_str_of(const char *z) { return (tn_str){z, z ? strlen(z) : 0}; }
static inline bool tn_str_eq(tn_str a, tn_str b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
static inline bool tn_str_is(tn_str a, const char *z) { return tn_str_eq(a, tn_str_of(z)); }

#endif
