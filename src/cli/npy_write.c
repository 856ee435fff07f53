/* Writing .npy files. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/npy.h"

static const struct {
  const char *descr;
  int bits;
} npy_types[TN_N_DTYPES] = {
#define TN_DTYPE(name, onnx, text, bits, cls, npy) [TN_##name] = {npy, bits},
#include "tenon/dtype.def"
#undef TN_DTYPE
};

__attribute__((format(printf, 3, 4))) static tn_status npy_write_fail(char *error, tn_status s, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(error, TN_NPY_ERROR, fmt, ap);
  va_end(ap);
  return s;
}

/* Decodes the character at s; 0 when the bytes are no UTF-8. */
static size_t npy_get_utf8(const char *text, size_t n, uint32_t *out) {
  const unsigned char *const s = (const unsigned char *)text;
  const size_t len = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
  if (len == 0 || len > n) return 0;
  uint32_t c = len == 1 ? s[0] : s[0] & (0xFFu >> (len + 1));
  for (size_t i = 1; i < len; i++) {
    if ((s[i] & 0xC0) != 0x80) return 0;
    c = c << 6 | (s[i] & 0x3F);
  }
  const bool is_long = (len == 3 && c < 0x800) || (len == 4 && c < 0x10000);
  if (is_long || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0;
  *out = c;
  return len;
}

/* Characters of a string; false when it is not UTF-8. */
static bool npy_count_utf8(const tn_string *s, size_t *out) {
  size_t n = 0;
  for (size_t at = 0; at < s->len; n++) {
    uint32_t c;
    const size_t len = npy_get_utf8(s->ptr + at, s->len - at, &c);
    if (len == 0) return false;
    at += len;
  }
  *out = n;
  return true;
}

/* The type of a string array: 'U' and the characters of the longest, or 'S' and its bytes. */
static char npy_string_kind(const tn_string *strings, int64_t n, size_t *out_width) {
  size_t bytes = 1, chars = 1;
  bool is_text = true;
  for (int64_t i = 0; i < n; i++) {
    size_t c = 0;
    if (strings[i].len > bytes) bytes = strings[i].len;
    is_text = is_text && npy_count_utf8(&strings[i], &c);
    if (c > chars) chars = c;
  }
  *out_width = is_text ? chars : bytes;
  return is_text ? 'U' : 'S';
}

static bool npy_put(FILE *file, const void *p, size_t n) { return n == 0 || fwrite(p, 1, n, file) == n; }

static bool npy_put_string(FILE *file, const tn_string *s, char kind, size_t width) {
  static const unsigned char zeros[4];
  size_t n = 0;
  if (kind == 'S') {
    if (!npy_put(file, s->ptr, s->len)) return false;
    for (n = s->len; n < width; n++)
      if (!npy_put(file, zeros, 1)) return false;
    return true;
  }
  for (size_t at = 0; at < s->len; n++) {
    uint32_t c = 0;
    at += npy_get_utf8(s->ptr + at, s->len - at, &c);
    const unsigned char le[4] = {(unsigned char)c, (unsigned char)(c >> 8), (unsigned char)(c >> 16), 0};
    if (!npy_put(file, le, 4)) return false;
  }
  for (; n < width; n++)
    if (!npy_put(file, zeros, 4)) return false;
  return true;
}

/* Packed elements, first in the low bits, one byte each. */
static bool npy_put_packed(FILE *file, const void *data, int64_t count, int bits) {
  const unsigned char *const p = data;
  const int64_t per_byte = 8 / bits;
  for (int64_t i = 0; i < count; i++) {
    const int shift = (int)(i % per_byte) * bits;
    const unsigned char v = (unsigned char)(p[i / per_byte] >> shift & ((1 << bits) - 1));
    if (!npy_put(file, &v, 1)) return false;
  }
  return true;
}

static bool npy_put_header(FILE *file, const char *descr, const tn_tensor *t) {
  char text[2048]; /* rank 64 with dims of 19 digits needs 1,344 */
  size_t n = (size_t)snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  for (int i = 0; i < t->rank; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%" PRId64 "%s", i ? " " : "", t->dims[i],
                          i + 1 < t->rank || t->rank == 1 ? "," : "");
  n += (size_t)snprintf(text + n, sizeof text - n, "), }");
  while ((10 + n + 1) % 64 != 0) text[n++] = ' ';
  text[n++] = '\n';
  const unsigned char head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)n, (unsigned char)(n >> 8)};
  return npy_put(file, head, sizeof head) && npy_put(file, text, n);
}

static bool npy_put_tensor(FILE *file, const tn_tensor *t, int64_t count) {
  const int bits = npy_types[t->dtype].bits;
  const char *const descr = npy_types[t->dtype].descr;
  char text[32];
  if (t->dtype == TN_STR) {
    const tn_string *const strings = t->data;
    size_t width;
    const char kind = npy_string_kind(strings, count, &width);
    snprintf(text, sizeof text, "%c%c%zu", kind == 'U' ? '<' : '|', kind, width);
    bool ok = npy_put_header(file, text, t);
    for (int64_t i = 0; ok && i < count; i++) ok = npy_put_string(file, &strings[i], kind, width);
    return ok;
  }
  if (*descr)
    snprintf(text, sizeof text, "%c%s", bits == 8 ? '|' : '<', descr);
  else
    snprintf(text, sizeof text, "%s", bits == 16 ? "<u2" : "|u1");
  if (!npy_put_header(file, text, t)) return false;
  return bits < 8 ? npy_put_packed(file, t->data, count, bits)
                  : npy_put(file, t->data, (size_t)count * (size_t)bits / 8);
}

tn_status tn_npy_write(const char *path, const tn_tensor *t, char error[TN_NPY_ERROR]) {
  if (t->kind != TN_KIND_TENSOR || t->dtype <= TN_DTYPE_NONE || t->dtype >= TN_N_DTYPES || t->rank < 0 ||
      t->rank > TN_NPY_MAX_RANK)
    return npy_write_fail(error, TN_UNSUPPORTED, "%s: only tensors of up to %d dims are written", path,
                          TN_NPY_MAX_RANK);
  int64_t count = 1;
  for (int i = 0; i < t->rank; i++)
    if (__builtin_mul_overflow(count, t->dims[i], &count)) count = 0; /* possible beside a dim of 0 only */
  FILE *const file = fopen(path, "wb");
  if (!file) return npy_write_fail(error, TN_IO, "%s: cannot write: %s", path, strerror(errno));
  bool ok = npy_put_tensor(file, t, count) && fflush(file) == 0;
  const int why = errno;
  ok = fclose(file) == 0 && ok;
  return ok ? TN_OK : npy_write_fail(error, TN_IO, "%s: cannot write: %s", path, strerror(why));
}
