/* UTF-8 text: code points, simple case mapping, white space. By tables of our own: no locale of the process matters. */
#ifndef TN_BASE_UTF8_H
#define TN_BASE_UTF8_H

#include "base/span.h"

/* The code point at *at (< s.len), which moves behind it. A byte that begins no valid sequence gives U+FFFD and moves
 * by one. */
uint32_t tn_utf8_next(tn_str s, size_t *at);
enum { TN_UTF8_MAX = 4 };                  /* bytes of one code point */
size_t tn_utf8_put(char *out, uint32_t c); /* returns the bytes written */
uint32_t tn_utf8_lower(uint32_t c);        /* c itself where there is no single-character mapping */
uint32_t tn_utf8_upper(uint32_t c);
bool tn_utf8_is_space(uint32_t c);

typedef enum tn_case { TN_CASE_NONE, TN_CASE_LOWER, TN_CASE_UPPER } tn_case;
/* s in another case into `out`, which has room for tn_utf8_case_room(s) bytes; only ASCII letters when is_ascii. Bytes
 * that are no UTF-8 stay. Returns the bytes written. */
static inline size_t tn_utf8_case_room(tn_str s) { return s.len * TN_UTF8_MAX; }
size_t tn_utf8_case(char *out, tn_str s, tn_case to, bool is_ascii);

#endif
