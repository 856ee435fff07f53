/* The lexer. A token that cannot be read is BAD with a noun phrase that says what it is; reading goes on after it. */
#include "base/scan.h"

#include <stdio.h>

#include "base/checked.h"
#include "base/text.h"

static bool scan_is_digit(int c) { return c >= '0' && c <= '9'; }
static bool scan_is_name(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || scan_is_digit(c) || c == '.';
}
static bool scan_is_name_start(int c) { return scan_is_name(c) && !scan_is_digit(c) && c != '.'; }

/* The byte `ahead` of the position, -1 past the end. */
static int scan_peek(const tn_scan *s, size_t ahead) {
  return ahead < s->src.len - s->pos ? (uint8_t)s->src.ptr[s->pos + ahead] : -1;
}

static void scan_bad(tn_scan *s, const char *what) {
  s->tok.kind = TN_TOK_BAD;
  s->tok.text = tn_str_of(what);
}

static void scan_blank(tn_scan *s) {
  for (;; s->pos++) {
    const int c = scan_peek(s, 0);
    if (c == '#') {
      while (scan_peek(s, 1) != '\n' && scan_peek(s, 1) != -1) s->pos++;
    } else if (c == '\n') {
      if (s->line < INT32_MAX) s->line++;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

static void scan_digits(tn_scan *s) {
  while (scan_is_digit(scan_peek(s, 0))) s->pos++;
}

static void scan_number(tn_scan *s) {
  const size_t start = s->pos;
  bool is_float = false;
  scan_digits(s);
  if (scan_peek(s, 0) == '.') {
    is_float = true;
    s->pos++;
    scan_digits(s);
  }
  if (scan_peek(s, 0) == 'e' || scan_peek(s, 0) == 'E') {
    const size_t sign = scan_peek(s, 1) == '+' || scan_peek(s, 1) == '-';
    if (scan_is_digit(scan_peek(s, 1 + sign))) {
      is_float = true;
      s->pos += 1 + sign;
      scan_digits(s);
    }
  }
  s->tok.text = (tn_str){s->src.ptr + start, s->pos - start};
  if (scan_is_name(scan_peek(s, 0))) {
    while (scan_is_name(scan_peek(s, 0))) s->pos++;
    scan_bad(s, "a number that runs into a name");
  } else if (is_float) {
    s->tok.kind = TN_TOK_FLOAT;
    if (!tn_text_parse_f64(s->tok.text, &s->tok.f)) scan_bad(s, "a number out of range");
  } else {
    s->tok.kind = TN_TOK_INT;
    for (size_t i = 0; i < s->tok.text.len; i++) {
      if (!tn_mul_i64(s->tok.i, 10, &s->tok.i) || !tn_add_i64(s->tok.i, s->tok.text.ptr[i] - '0', &s->tok.i)) {
        scan_bad(s, "an integer out of range");
        return;
      }
    }
  }
}

static int scan_hex(int c) {
  if (scan_is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes the escape at the backslash and steps over it; -1 when there is no such escape. */
static int scan_escape(tn_scan *s) {
  const int c = scan_peek(s, 1);
  if (c == 'x') {
    const int high = scan_hex(scan_peek(s, 2)), low = high < 0 ? -1 : scan_hex(scan_peek(s, 3));
    if (low < 0) return -1;
    s->pos += 4;
    return high * 16 + low;
  }
  const int value = c == 'n' ? '\n' : c == 't' ? '\t' : c == '"' || c == '\\' ? c : -1;
  if (value >= 0) s->pos += 2;
  return value;
}

/* Position of the closing quote, or of the line end or text end that leaves the string open. */
static size_t scan_string_end(const tn_scan *s, bool *out_escapes) {
  size_t i = s->pos;
  *out_escapes = false;
  for (; i < s->src.len && s->src.ptr[i] != '"' && s->src.ptr[i] != '\n'; i++) {
    if (s->src.ptr[i] != '\\' || i + 1 >= s->src.len || s->src.ptr[i + 1] == '\n') continue;
    *out_escapes = true;
    i++;
  }
  return i;
}

static void scan_string(tn_scan *s) {
  s->pos++;
  bool escapes;
  const size_t end = scan_string_end(s, &escapes);
  if (end >= s->src.len || s->src.ptr[end] != '"') {
    s->pos = end;
    scan_bad(s, "a string without end");
    return;
  }
  tn_str text = {s->src.ptr + s->pos, end - s->pos};
  if (escapes) {
    char *out = tn_arena_alloc(&s->ctx->arena, text.len, 1);
    size_t n = 0;
    while (s->pos < end) {
      int c = scan_peek(s, 0);
      if (c == '\\') {
        c = scan_escape(s);
      } else {
        s->pos++;
      }
      if (c < 0) {
        s->pos = end + 1;
        scan_bad(s, "a string with an unknown escape");
        return;
      }
      out[n++] = (char)c;
    }
    text = (tn_str){out, n};
  }
  s->pos = end + 1;
  s->tok.kind = TN_TOK_STRING;
  s->tok.text = (tn_str){tn_ctx_name(s->ctx, text), text.len};
}

static void scan_punct(tn_scan *s) {
  static const char pairs[][3] = {"//", "->", "<=", ">=", "==", "!="};
  const int c = scan_peek(s, 0), d = scan_peek(s, 1);
  size_t n = c > 0 && strchr("(){}[]<>=,:;%@+-*/?!", c) ? 1 : 0;
  for (size_t i = 0; i < TN_COUNT(pairs); i++) {
    if (c == pairs[i][0] && d == pairs[i][1]) n = 2;
  }
  if (n == 0) {
    char what[16];
    (void)snprintf(what, sizeof what, "byte 0x%02x", (unsigned)c & 0xffu);
    s->pos++;
    scan_bad(s, tn_ctx_namez(s->ctx, what));
    return;
  }
  s->tok.kind = TN_TOK_PUNCT;
  s->tok.text = (tn_str){s->src.ptr + s->pos, n};
  s->pos += n;
}

void tn_scan_next(tn_scan *s) {
  const size_t before = s->pos;
  scan_blank(s);
  const size_t start = s->pos;
  const int c = scan_peek(s, 0);
  s->tok = (tn_token){.kind = TN_TOK_END, .text = {"", 0}, .line = s->line, .space_before = start != before};
  if (c < 0) return;
  if (scan_is_digit(c)) {
    scan_number(s);
  } else if (c == '"') {
    scan_string(s);
  } else if (scan_is_name_start(c)) {
    while (scan_is_name(scan_peek(s, 0))) s->pos++;
    s->tok.kind = TN_TOK_NAME;
    s->tok.text = (tn_str){s->src.ptr + start, s->pos - start};
  } else {
    scan_punct(s);
  }
}

void tn_scan_init(tn_scan *s, tn_ctx *ctx, tn_str src) {
  *s = (tn_scan){.ctx = ctx, .src = src, .line = 1};
  tn_scan_next(s);
}

bool tn_scan_at(const tn_scan *s, const char *punct_or_name) {
  return (s->tok.kind == TN_TOK_PUNCT || s->tok.kind == TN_TOK_NAME) && tn_str_is(s->tok.text, punct_or_name);
}

bool tn_scan_take(tn_scan *s, const char *punct_or_name) {
  if (!tn_scan_at(s, punct_or_name)) return false;
  tn_scan_next(s);
  return true;
}

tn_status tn_scan_fail(tn_scan *s, const char *expected) {
  const tn_loc loc = {.kind = "line", .index = s->tok.line};
  const int n = s->tok.text.len < 40 ? (int)s->tok.text.len : 40;
  const char *text = s->tok.text.ptr;
  switch (s->tok.kind) {
    case TN_TOK_END:
      return tn_fail(s->ctx, TN_INVALID, loc, "expected %s, found the end", expected);
    case TN_TOK_BAD:
      return tn_fail(s->ctx, TN_INVALID, loc, "expected %s, found %.*s", expected, n, text);
    case TN_TOK_STRING:
      return tn_fail(s->ctx, TN_INVALID, loc, "expected %s, found \"%.*s\"", expected, n, text);
    default:
      return tn_fail(s->ctx, TN_INVALID, loc, "expected %s, found '%.*s'", expected, n, text);
  }
}

tn_status tn_scan_need(tn_scan *s, const char *punct_or_name) {
  if (tn_scan_take(s, punct_or_name)) return TN_OK;
  char expected[60];
  (void)snprintf(expected, sizeof expected, "'%.50s'", punct_or_name);
  return tn_scan_fail(s, expected);
}

/* Whether the token just read is 2^63, which only a minus sign makes an int64. */
static bool scan_is_int_min(const tn_scan *s) {
  static const char digits[] = "9223372036854775808";
  const size_t n = sizeof digits - 1;
  return s->tok.kind == TN_TOK_BAD && s->pos > n && memcmp(s->src.ptr + s->pos - n, digits, n) == 0 &&
         !scan_is_name(s->src.ptr[s->pos - n - 1]);
}

tn_status tn_scan_need_int(tn_scan *s, int64_t *out) {
  const bool minus = tn_scan_take(s, "-");
  if (minus && scan_is_int_min(s)) {
    *out = INT64_MIN;
  } else if (s->tok.kind == TN_TOK_INT) {
    *out = minus ? -s->tok.i : s->tok.i;
  } else {
    return tn_scan_fail(s, "an integer");
  }
  tn_scan_next(s);
  return TN_OK;
}
