/* String builder: the back end of every printer. Lives in an arena. */
#ifndef TN_BASE_TEXT_H
#define TN_BASE_TEXT_H

#include "base/arena.h"
#include "base/compiler.h"

typedef struct tn_text {
  tn_arena *arena;
  char *ptr; /* NUL-terminated once anything was added */
  size_t len, cap;
} tn_text;

void tn_text_init(tn_text *t, tn_arena *arena);
void tn_text_add(tn_text *t, tn_str s);
static inline void tn_text_addz(tn_text *t, const char *z) { tn_text_add(t, tn_str_of(z)); }
void tn_text_printf(tn_text *t, const char *fmt, ...) TN_PRINTF(2, 3);
void tn_text_quote(tn_text *t, tn_str s); /* "..." with \" \\ \n \t \xNN: what the lexer reads back */
void tn_text_json(tn_text *t, tn_str s);  /* a JSON string; bytes that are no UTF-8 become U+FFFD */
void tn_text_i64(tn_text *t, int64_t v);
void tn_text_f64(tn_text *t, double v); /* shortest that reads back the same; inf, -inf, nan */
void tn_text_f32(tn_text *t, float v);
const char *tn_text_z(tn_text *t); /* never NULL */

/* Reads the whole of `s` as a decimal number ("12", "-1.5e3"), whatever the locale. False when it is not one, is longer
 * than 400 bytes or overflows. */
TN_MUST_CHECK bool tn_text_parse_f64(tn_str s, double *out);

#endif
