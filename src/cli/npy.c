/* Reading .npy files. A file is "\x93NUMPY", two version bytes, the header's length (u16, from version 2 u32), the
 * header, which is a Python literal {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, and the elements. */
#include "cli/npy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct npy_header {
  char kind; /* of the descr: b i u f c S U V */
  bool is_big, is_fortran;
  size_t width; /* bytes of an element in the file */
  int rank;
  int64_t dims[TN_NPY_MAX_RANK];
  int64_t count;
} npy_header;

typedef struct npy_reader {
  const char *at, *end;
  char *error;
} npy_reader;

__attribute__((format(printf, 3, 4))) static tn_status npy_fail(char *error, tn_status s, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(error, TN_NPY_ERROR, fmt, ap);
  va_end(ap);
  return s;
}

/* The header's text. */

static void npy_skip(npy_reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

static bool npy_take(npy_reader *r, char c) {
  npy_skip(r);
  if (r->at >= r->end || *r->at != c) return false;
  r->at++;
  return true;
}

static bool npy_word(npy_reader *r, const char *word) {
  const size_t n = strlen(word);
  npy_skip(r);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0) return false;
  r->at += n;
  return true;
}

/* A quoted string without escapes. */
static bool npy_string(npy_reader *r, const char **out, size_t *out_len) {
  npy_skip(r);
  if (r->at >= r->end || (*r->at != '\'' && *r->at != '"')) return false;
  const char quote = *r->at++;
  *out = r->at;
  while (r->at < r->end && *r->at != quote && *r->at != '\\') r->at++;
  if (r->at >= r->end || *r->at != quote) return false;
  *out_len = (size_t)(r->at++ - *out);
  return true;
}

static bool npy_integer(npy_reader *r, int64_t *out) {
  npy_skip(r);
  const char *const begin = r->at;
  int64_t v = 0;
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
    if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *r->at - '0', &v)) return false;
  const bool ok = r->at > begin;
  if (r->at < r->end && *r->at == 'L') r->at++; /* Python 2 wrote 3L */
  *out = v;
  return ok;
}

static tn_status npy_shape(npy_reader *r, npy_header *h) {
  if (!npy_take(r, '(')) return npy_fail(r->error, TN_INVALID, "the header's 'shape' is not a tuple");
  bool is_open = true; /* an element may follow */
  while (!npy_take(r, ')')) {
    int64_t dim;
    if (!is_open || !npy_integer(r, &dim))
      return npy_fail(r->error, TN_INVALID, "the header's 'shape' holds something that is no size");
    if (h->rank >= TN_NPY_MAX_RANK)
      return npy_fail(r->error, TN_LIMIT, "the array has more than %d dims", TN_NPY_MAX_RANK);
    h->dims[h->rank++] = dim;
    is_open = npy_take(r, ',');
  }
  return TN_OK;
}

static tn_status npy_descr(npy_reader *r, npy_header *h) {
  const char *s;
  size_t n;
  npy_skip(r);
  if (r->at < r->end && *r->at == '[')
    return npy_fail(r->error, TN_UNSUPPORTED, "the file holds a structured array, which no tensor type matches");
  if (!npy_string(r, &s, &n) || n == 0) return npy_fail(r->error, TN_INVALID, "the header's 'descr' is no type");
  npy_reader d = {s, s + n, r->error};
  char order = '|';
  if (strchr("<>|=", *s)) order = *d.at++;
  h->is_big = order == '>';
  h->kind = d.at < d.end ? *d.at++ : 0;
  int64_t width = 0;
  if (h->kind == 'O')
    return npy_fail(r->error, TN_UNSUPPORTED,
                    "the file holds pickled Python objects, which are not read (for strings "
                    "save an array of type 'U' or 'S')");
  const bool has_width = npy_integer(&d, &width) && d.at == d.end;
  const char *const kinds = "biufcSUV";
  if (!h->kind || !strchr(kinds, h->kind) || !has_width || width < 0 || width > INT32_MAX)
    return npy_fail(r->error, TN_UNSUPPORTED, "numpy's type '%.*s' is not read", (int)(n < 32 ? n : 32), s);
  h->width = (size_t)width * (h->kind == 'U' ? 4 : 1);
  return TN_OK;
}

static tn_status npy_entry(npy_reader *r, npy_header *h, int *seen) {
  const char *key;
  size_t n;
  tn_status s = TN_OK;
  int bit = 0;
  if (!npy_string(r, &key, &n) || !npy_take(r, ':'))
    return npy_fail(r->error, TN_INVALID, "the header is no dictionary of 'descr', 'fortran_order' and 'shape'");
  if (n == 5 && memcmp(key, "descr", n) == 0) {
    bit = 1;
    s = npy_descr(r, h);
  } else if (n == 13 && memcmp(key, "fortran_order", n) == 0) {
    bit = 2;
    h->is_fortran = npy_word(r, "True");
    if (!h->is_fortran && !npy_word(r, "False"))
      s = npy_fail(r->error, TN_INVALID, "the header's 'fortran_order' is neither True nor False");
  } else if (n == 5 && memcmp(key, "shape", n) == 0) {
    bit = 4;
    h->rank = 0;
    s = npy_shape(r, h);
  }
  if (s == TN_OK && (bit == 0 || (*seen & bit)))
    s = npy_fail(r->error, TN_INVALID, "the header has %s key '%.*s'", bit ? "a second" : "an unknown",
                 (int)(n < 32 ? n : 32), key);
  *seen |= bit;
  return s;
}

static tn_status npy_header_text(npy_reader *r, npy_header *h) {
  int seen = 0;
  if (!npy_take(r, '{')) return npy_fail(r->error, TN_INVALID, "the header is no Python dictionary");
  bool is_open = true;
  while (!npy_take(r, '}')) {
    if (!is_open) return npy_fail(r->error, TN_INVALID, "the header's dictionary does not end");
    const tn_status s = npy_entry(r, h, &seen);
    if (s != TN_OK) return s;
    is_open = npy_take(r, ',');
  }
  npy_skip(r);
  if (r->at != r->end) return npy_fail(r->error, TN_INVALID, "the header goes on after its dictionary");
  if (seen != 7) return npy_fail(r->error, TN_INVALID, "the header lacks 'descr', 'fortran_order' or 'shape'");
  h->count = 1;
  bool is_empty = false;
  for (int i = 0; i < h->rank; i++) is_empty |= h->dims[i] == 0;
  for (int i = 0; i < h->rank && !is_empty; i++)
    if (__builtin_mul_overflow(h->count, h->dims[i], &h->count))
      return npy_fail(r->error, TN_LIMIT, "the product of the dims does not fit in 64 bits");
  if (is_empty) h->count = 0;
  return TN_OK;
}

/* The magic, the version and the length; *out_data := where the elements begin. */
static tn_status npy_head(const unsigned char *p, size_t n, npy_header *h, size_t *out_data, char *error) {
  if (n < 10 || memcmp(p, "\x93NUMPY", 6) != 0) return npy_fail(error, TN_INVALID, "not a .npy file");
  if (p[6] < 1 || p[6] > 3) return npy_fail(error, TN_UNSUPPORTED, ".npy version %d.%d is not known", p[6], p[7]);
  size_t at = 10, len = (size_t)p[8] | (size_t)p[9] << 8;
  if (p[6] > 1) {
    if (n < 12) return npy_fail(error, TN_INVALID, "the file ends within its header");
    len |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    at = 12;
  }
  if (len > TN_NPY_MAX_HEADER) return npy_fail(error, TN_LIMIT, "a header of %zu bytes is too long", len);
  if (len > n - at) return npy_fail(error, TN_INVALID, "the file ends within its header");
  npy_reader r = {(const char *)p + at, (const char *)p + at + len, error};
  *out_data = at + len;
  return npy_header_text(&r, h);
}

/* The elements. */

static tn_dtype npy_dtype(const npy_header *h) {
  const size_t w = h->width;
  switch (h->kind) {
    case 'b':
      return w == 1 ? TN_BOOL : TN_DTYPE_NONE;
    case 'V':
      return w == 1 ? TN_U8 : w == 2 ? TN_U16 : TN_DTYPE_NONE;
    case 'i':
      return w == 1 ? TN_I8 : w == 2 ? TN_I16 : w == 4 ? TN_I32 : w == 8 ? TN_I64 : TN_DTYPE_NONE;
    case 'u':
      return w == 1 ? TN_U8 : w == 2 ? TN_U16 : w == 4 ? TN_U32 : w == 8 ? TN_U64 : TN_DTYPE_NONE;
    case 'f':
      return w == 2 ? TN_F16 : w == 4 ? TN_F32 : w == 8 ? TN_F64 : TN_DTYPE_NONE;
    case 'c':
      return w == 8 ? TN_C64 : w == 16 ? TN_C128 : TN_DTYPE_NONE;
    case 'S':
    case 'U':
      return TN_STR;
    default:
      return TN_DTYPE_NONE;
  }
}

static void npy_swap(unsigned char *p, size_t bytes, size_t unit) {
  for (size_t at = 0; unit > 1 && at + unit <= bytes; at += unit)
    for (size_t i = 0; i < unit / 2; i++) {
      const unsigned char low = p[at + i];
      p[at + i] = p[at + unit - 1 - i];
      p[at + unit - 1 - i] = low;
    }
}

/* Element i, counted in row-major order, lies at *out of the file's elements. Steps the odometer `index`. */
static size_t npy_next_fortran(const npy_header *h, const size_t *strides, int64_t *index, size_t at) {
  for (int d = h->rank - 1; d >= 0; d--) {
    at += strides[d];
    if (++index[d] < h->dims[d]) return at;
    at -= strides[d] * (size_t)index[d];
    index[d] = 0;
  }
  return at;
}

static void npy_to_rows(const npy_header *h, const unsigned char *from, unsigned char *to) {
  size_t strides[TN_NPY_MAX_RANK] = {0}, at = 0;
  int64_t index[TN_NPY_MAX_RANK] = {0};
  size_t stride = h->width;
  for (int d = 0; d < h->rank; d++) {
    strides[d] = stride;
    stride *= (size_t)h->dims[d];
  }
  for (int64_t i = 0; i < h->count; i++) {
    memcpy(to + (size_t)i * h->width, from + at, h->width);
    at = npy_next_fortran(h, strides, index, at);
  }
}

static size_t npy_put_utf8(uint32_t c, char *to) {
  if (c < 0x80) {
    to[0] = (char)c;
    return 1;
  }
  const size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = n - 1; i > 0; i--, c >>= 6) to[i] = (char)(0x80 | (c & 0x3F));
  to[0] = (char)((n == 2 ? 0xC0 : n == 3 ? 0xE0 : 0xF0) | c);
  return n;
}

/* Strings: the tn_string array, then their bytes. UTF-8 needs no more bytes than UTF-32. */
static tn_status npy_strings(const npy_header *h, const unsigned char *from, tn_npy *out, char *error) {
  const size_t n = (size_t)h->count, unit = h->kind == 'U' ? 4 : 1;
  size_t bytes, table;
  if (__builtin_mul_overflow(n, sizeof(tn_string), &table) || __builtin_mul_overflow(n, h->width, &bytes) ||
      __builtin_add_overflow(bytes, table, &bytes) || !(out->data = malloc(bytes ? bytes : 1)))
    return npy_fail(error, TN_OOM, "out of memory");
  tn_string *const strings = out->data;
  char *to = (char *)(strings + n);
  for (size_t i = 0; i < n; i++) {
    const unsigned char *const s = from + i * h->width;
    size_t len = h->width;
    while (len >= unit && !s[len - 1] && !s[len - unit] && (unit == 1 || (!s[len - 2] && !s[len - 3]))) len -= unit;
    strings[i] = (tn_string){to, len};
    if (unit == 1) {
      if (len) memcpy(to, s, len);
      to += len;
      continue;
    }
    for (size_t at = 0; at < len; at += 4) {
      const uint32_t c =
          (uint32_t)s[at] | (uint32_t)s[at + 1] << 8 | (uint32_t)s[at + 2] << 16 | (uint32_t)s[at + 3] << 24;
      if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        return npy_fail(error, TN_INVALID, "string %zu holds %#x, which is no character", i, (unsigned int)c);
      to += npy_put_utf8(c, to);
    }
    strings[i].len = (size_t)(to - strings[i].ptr);
  }
  out->bytes = n * sizeof(tn_string);
  return TN_OK;
}

static tn_status npy_elements(const npy_header *h, const unsigned char *from, tn_npy *out, char *error) {
  const size_t bytes = (size_t)h->count * h->width;
  const size_t unit = h->kind == 'U'                     ? 4
                      : h->kind == 'S' || h->kind == 'V' ? 1
                      : h->kind == 'c'                   ? h->width / 2
                                                         : h->width;
  unsigned char *const rows = malloc(bytes ? bytes : 1);
  if (!rows) return npy_fail(error, TN_OOM, "out of memory");
  if (h->is_fortran && h->rank > 1)
    npy_to_rows(h, from, rows);
  else if (bytes)
    memcpy(rows, from, bytes);
  if (h->is_big) npy_swap(rows, bytes, unit);
  for (size_t i = 0; out->dtype == TN_BOOL && i < bytes; i++) rows[i] = rows[i] != 0;
  if (out->dtype != TN_STR) {
    out->data = rows;
    out->bytes = bytes;
    return TN_OK;
  }
  const tn_status s = npy_strings(h, rows, out, error);
  free(rows);
  return s;
}

tn_status tn_npy_parse(const void *bytes, size_t n, tn_npy *out, char error[TN_NPY_ERROR]) {
  npy_header h = {0};
  size_t data = 0, need;
  *out = (tn_npy){0};
  *error = 0;
  tn_status s = npy_head(bytes, n, &h, &data, error);
  if (s != TN_OK) return s;
  out->dtype = npy_dtype(&h);
  if (out->dtype == TN_DTYPE_NONE)
    return npy_fail(error, TN_UNSUPPORTED, "numpy's type '%c%zu' is not read", h.kind, h.width);
  if (__builtin_mul_overflow((size_t)h.count, h.width, &need) || need > n - data)
    return npy_fail(error, TN_INVALID, "the file is too short: its shape needs more than the %zu bytes it has",
                    n - data);
  /* Strings of no width take no room in the file, so the file's size bounds nothing. */
  if (h.width == 0 && h.count > (int64_t)1 << 20)
    return npy_fail(error, TN_LIMIT, "more than 2^20 empty strings are not read");
  out->rank = h.rank;
  memcpy(out->dims, h.dims, sizeof out->dims);
  s = npy_elements(&h, (const unsigned char *)bytes + data, out, error);
  if (s != TN_OK) tn_npy_drop(out);
  return s;
}

static tn_status npy_slurp(FILE *file, const char *path, unsigned char **out, size_t *out_len, char *error) {
  size_t len = 0, room = 1 << 16;
  unsigned char *p = malloc(room);
  while (p) {
    const size_t got = fread(p + len, 1, room - len, file);
    len += got;
    if (len < room) break;
    unsigned char *const grown = room < SIZE_MAX / 2 ? realloc(p, room *= 2) : NULL;
    if (!grown) free(p);
    p = grown;
  }
  *out = p;
  *out_len = len;
  if (!p) return npy_fail(error, TN_OOM, "out of memory");
  if (ferror(file)) return npy_fail(error, TN_IO, "%s: cannot read: %s", path, strerror(errno));
  return TN_OK;
}

tn_status tn_npy_read(const char *path, tn_npy *out, char error[TN_NPY_ERROR]) {
  *out = (tn_npy){0};
  FILE *const file = fopen(path, "rb");
  if (!file) return npy_fail(error, TN_IO, "%s: cannot open: %s", path, strerror(errno));
  unsigned char *bytes = NULL;
  size_t n = 0;
  tn_status s = npy_slurp(file, path, &bytes, &n, error);
  fclose(file);
  if (s == TN_OK) {
    char why[TN_NPY_ERROR];
    s = tn_npy_parse(bytes, n, out, why);
    if (s != TN_OK) (void)npy_fail(error, s, "%s: %.*s", path, TN_NPY_ERROR - 64, why);
  }
  free(bytes);
  return s;
}

void tn_npy_drop(tn_npy *a) {
  free(a->data);
  *a = (tn_npy){0};
}
