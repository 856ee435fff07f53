/* String builder, and numbers as the shortest text that reads back the same, independent of the locale. */
#include "base/text.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"

void tn_text_init(tn_text *t, tn_arena *arena) { *t = (tn_text){.arena = arena}; }

/* Room for `n` more bytes and the final NUL. */
static char *text_reserve(tn_text *t, size_t n) {
  size_t need;
  if (!tn_add_size(t->len, n, &need) || !tn_add_size(need, 1, &need)) need = SIZE_MAX; /* the arena refuses it */
  if (need > t->cap) {
    size_t cap = t->cap < 64 ? 128 : t->cap;
    if (t->cap >= 64 && !tn_mul_size(t->cap, 2, &cap)) cap = need;
    if (cap < need) cap = need;
    char *p = tn_arena_alloc(t->arena, cap, 1);
    if (t->len) memcpy(p, t->ptr, t->len);
    t->ptr = p;
    t->cap = cap;
  }
  return t->ptr + t->len;
}

void tn_text_add(tn_text *t, tn_str s) {
  char *p = text_reserve(t, s.len);
  if (s.len) memcpy(p, s.ptr, s.len);
  t->len += s.len;
  t->ptr[t->len] = 0;
}

TN_NONNULL TN_PRINTF(2, 0) static void text_vprintf(tn_text *t, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  (void)text_reserve(t, 0);
  int n = vsnprintf(t->ptr + t->len, t->cap - t->len, fmt, ap);
  if (n < 0 || (size_t)n >= t->cap - t->len) {
    char *p = text_reserve(t, n < 0 ? SIZE_MAX : (size_t)n); /* negative: longer than INT_MAX, counts as no memory */
    n = vsnprintf(p, t->cap - t->len, fmt, again);
  }
  va_end(again);
  t->len += (size_t)n;
}

void tn_text_printf(tn_text *t, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  text_vprintf(t, fmt, ap);
  va_end(ap);
}

void tn_text_i64(tn_text *t, int64_t v) {
  char digits[20];
  size_t n = sizeof digits;
  uint64_t rest = v < 0 ? (uint64_t)0 - (uint64_t)v : (uint64_t)v;
  do {
    digits[--n] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (v < 0) tn_text_addz(t, "-");
  tn_text_add(t, (tn_str){digits + n, sizeof digits - n});
}

const char *tn_text_z(tn_text *t) { return t->ptr ? t->ptr : ""; }

/* Length of the well-formed UTF-8 sequence at s[i], 0 when there is none (overlong and surrogates included). */
static size_t text_utf8(tn_str s, size_t i) {
  const uint8_t *p = (const uint8_t *)s.ptr + i;
  if (p[0] < 0x80) return 1;
  const size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  if (p[0] < 0xc2 || p[0] > 0xf4 || s.len - i < n) return 0;
  for (size_t k = 1; k < n; k++) {
    if ((p[k] & 0xc0) != 0x80) return 0;
  }
  const bool bad = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
                   (p[0] == 0xf4 && p[1] > 0x8f);
  return bad ? 0 : n;
}

static void text_slice(tn_text *t, tn_str s, size_t i, size_t n) { tn_text_add(t, (tn_str){s.ptr + i, n}); }

void tn_text_quote(tn_text *t, tn_str s) {
  tn_text_addz(t, "\"");
  for (size_t i = 0, n; i < s.len; i += n) {
    const uint8_t c = (uint8_t)s.ptr[i];
    n = text_utf8(s, i);
    if (c == '"' || c == '\\')
      tn_text_printf(t, "\\%c", c);
    else if (c == '\n' || c == '\t')
      tn_text_addz(t, c == '\n' ? "\\n" : "\\t");
    else if (n == 0 || c < 0x20 || c == 0x7f)
      tn_text_printf(t, "\\x%02x", c);
    else
      text_slice(t, s, i, n);
    if (n == 0) n = 1;
  }
  tn_text_addz(t, "\"");
}

void tn_text_json(tn_text *t, tn_str s) {
  tn_text_addz(t, "\"");
  for (size_t i = 0, n; i < s.len; i += n) {
    const uint8_t c = (uint8_t)s.ptr[i];
    n = text_utf8(s, i);
    if (c == '"' || c == '\\')
      tn_text_printf(t, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
      tn_text_printf(t, "\\u%04x", c);
    else if (n == 0)
      tn_text_addz(t, "\xef\xbf\xbd");
    else
      text_slice(t, s, i, n);
    if (n == 0) n = 1;
  }
  tn_text_addz(t, "\"");
}

/* newlocale of "C" takes no memory: the C library keeps that locale ready. */
static locale_t text_c_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

bool tn_text_parse_f64(tn_str s, double *out) {
  char z[401];
  if (s.len == 0 || s.len >= sizeof z) return false;
  for (size_t i = 0; i < s.len; i++) {
    if (!memchr("0123456789+-.eE", s.ptr[i], 15)) return false; /* keeps out hexadecimal, names and blanks */
    z[i] = s.ptr[i];
  }
  z[s.len] = 0;
  char *end = NULL;
  *out = strtod_l(z, &end, text_c_locale());
  return end == z + s.len && isfinite(*out);
}

static void text_format(char *z, size_t size, int digits, double v) {
  const locale_t old = uselocale(text_c_locale());
  (void)snprintf(z, size, "%.*g", digits, v);
  (void)uselocale(old);
}

/* "1" becomes "1.0" and "1e+20" becomes "1e20": always a float to the lexer, in one spelling. */
static void text_add_float(tn_text *t, const char *z) {
  const char *e = strchr(z, 'e');
  if (!e) {
    tn_text_addz(t, z);
    if (!strchr(z, '.')) tn_text_addz(t, ".0");
    return;
  }
  tn_text_add(t, (tn_str){z, (size_t)(e - z)});
  tn_text_addz(t, e[1] == '-' ? "e-" : "e");
  e += 2;
  while (e[0] == '0' && e[1]) e++;
  tn_text_addz(t, e);
}

static void text_shortest(tn_text *t, double v, bool is_f32, int first, int last) {
  if (isnan(v) || isinf(v)) {
    tn_text_addz(t, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
    return;
  }
  char z[40];
  for (int digits = first; digits <= last; digits++) {
    double back = 0;
    text_format(z, sizeof z, digits, v);
    /* A rounded-up largest number does not read back at all, hence more digits. */
    if (tn_text_parse_f64(tn_str_of(z), &back) && (is_f32 ? (double)(float)back : back) == v) break;
  }
  text_add_float(t, z);
}

void tn_text_f64(tn_text *t, double v) { text_shortest(t, v, false, fabs(v) < DBL_MIN ? 1 : DBL_DIG, 17); }
void tn_text_f32(tn_text *t, float v) { text_shortest(t, (double)v, true, fabsf(v) < FLT_MIN ? 1 : FLT_DIG, 9); }
