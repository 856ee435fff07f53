/* The kinds of image files by their first bytes; BMP and PNM. */
#include "base/image.h"

#include <string.h>

uint8_t *tn_image_room(tn_image_sink sink, int64_t height, int64_t width, tn_status *status, tn_error *err) {
  *status = TN_OK;
  if (height < 1 || width < 1) return NULL;
  if (height > TN_IMAGE_MAX_PIXELS || width > TN_IMAGE_MAX_PIXELS / height) {
    *status = tn_error_set(err, TN_LIMIT, "an image of %lld x %lld pixels", (long long)width, (long long)height);
    return NULL;
  }
  uint8_t *const room = sink.room(sink.arg, height, width);
  if (!room) *status = tn_error_set(err, TN_OOM, "no memory for an image");
  return room;
}

static uint32_t image_le(const uint8_t *p, int n) {
  uint32_t v = 0;
  for (int i = 0; i < n; i++) v |= (uint32_t)p[i] << 8 * i;
  return v;
}

/* --- BMP --- */

typedef struct bmp {
  int64_t width, height;
  bool is_top_down;
  int bits; /* of a pixel: 1, 4, 8, 16, 24, 32 */
  uint32_t mask[3];
  const uint8_t *palette, *rows;
  uint32_t n_palette;
  int64_t step; /* bytes of a row */
} bmp;

enum { BMP_RGB = 0, BMP_BITFIELDS = 3, BMP_ALPHABITFIELDS = 6 };

static bool bmp_masks(tn_bytes file, bmp *b, uint32_t compression) {
  static const uint32_t usual[2][3] = {{0x7c00, 0x3e0, 0x1f}, {0xff0000, 0xff00, 0xff}};
  memcpy(b->mask, usual[b->bits > 16], sizeof b->mask);
  if (compression == BMP_RGB) return true;
  if (file.len < 66) return false;
  for (int c = 0; c < 3; c++) b->mask[c] = image_le(file.ptr + 54 + 4 * c, 4);
  return true;
}

/* False: damaged. */
static bool bmp_header(tn_bytes file, bmp *b, uint32_t *compression) {
  if (file.len < 54) return false;
  const uint32_t offset = image_le(file.ptr + 10, 4), size = image_le(file.ptr + 14, 4);
  const int32_t height = (int32_t)image_le(file.ptr + 22, 4);
  b->width = (int32_t)image_le(file.ptr + 18, 4);
  b->height = height < 0 ? -(int64_t)height : height;
  b->is_top_down = height < 0;
  b->bits = (int)image_le(file.ptr + 28, 2);
  *compression = image_le(file.ptr + 30, 4);
  if (size < 40 || size > file.len - 14 || offset > file.len || b->width < 1 || b->height < 1) return false;
  if (b->bits != 1 && b->bits != 4 && b->bits != 8 && b->bits != 16 && b->bits != 24 && b->bits != 32) return false;
  if (b->bits <= 8) {
    b->n_palette = image_le(file.ptr + 46, 4);
    if (b->n_palette == 0 || b->n_palette > 1u << b->bits) b->n_palette = 1u << b->bits;
    b->palette = file.ptr + 14 + size;
    if (file.len - 14 - size < 4 * (size_t)b->n_palette) return false;
  }
  b->rows = file.ptr + offset;
  b->step = (b->width * b->bits + 31) / 32 * 4;
  return b->height <= (int64_t)(file.len - offset) / b->step;
}

/* The bits under the mask, scaled to a byte. */
static uint8_t bmp_channel(uint32_t v, uint32_t mask) {
  if (mask == 0) return 0;
  const uint32_t low = mask & (~mask + 1), top = mask / low, x = (v & mask) / low;
  return (uint8_t)(top == 255 ? x : ((uint64_t)x * 255 + top / 2) / top);
}

static void bmp_pixel(const bmp *b, const uint8_t *row, int64_t x, uint8_t *rgb) {
  if (b->bits <= 8) {
    const int64_t at = x * b->bits;
    const uint32_t i = (uint32_t)(row[at / 8] >> (8 - b->bits - at % 8)) & ((1u << b->bits) - 1);
    const uint8_t *const entry = b->palette + 4 * (size_t)(i < b->n_palette ? i : 0);
    for (int c = 0; c < 3; c++) rgb[c] = entry[2 - c];
  } else if (b->bits == 24) {
    for (int c = 0; c < 3; c++) rgb[c] = row[3 * x + 2 - c];
  } else {
    const uint32_t v = image_le(row + x * b->bits / 8, b->bits / 8);
    for (int c = 0; c < 3; c++) rgb[c] = bmp_channel(v, b->mask[c]);
  }
}

static tn_status image_bmp(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err) {
  bmp b = {0};
  uint32_t compression = BMP_RGB;
  tn_status status;
  if (!bmp_header(file, &b, &compression)) return TN_OK;
  const bool is_fields = compression == BMP_BITFIELDS || compression == BMP_ALPHABITFIELDS;
  if (compression != BMP_RGB && !(is_fields && (b.bits == 16 || b.bits == 32)))
    return tn_error_set(err, TN_UNSUPPORTED, "BMP files of compression %u are not decoded", compression);
  if (!bmp_masks(file, &b, compression)) return TN_OK;
  uint8_t *rgb = tn_image_room(sink, b.height, b.width, &status, err);
  if (!rgb) return status;
  for (int64_t y = 0; y < b.height; y++) {
    const uint8_t *const row = b.rows + (b.is_top_down ? y : b.height - 1 - y) * b.step;
    for (int64_t x = 0; x < b.width; x++, rgb += 3) bmp_pixel(&b, row, x, rgb);
  }
  *is_image = true;
  return TN_OK;
}

/* --- PBM, PGM, PPM --- */

typedef struct pnm {
  tn_bytes file;
  size_t at;
  bool is_text;
  uint32_t max;
} pnm;

static void pnm_skip_space(pnm *p) {
  while (p->at < p->file.len) {
    const uint8_t c = p->file.ptr[p->at];
    if (c == '#')
      while (p->at < p->file.len && p->file.ptr[p->at] != '\n') p->at++;
    else if (c == ' ' || (c >= '\t' && c <= '\r'))
      p->at++;
    else
      return;
  }
}

/* A number of at most `max`; with `is_digit` one digit without anything after it. False: there is none. */
static bool pnm_number(pnm *p, uint32_t max, bool is_digit, uint32_t *out) {
  uint64_t v = 0;
  pnm_skip_space(p);
  const size_t first = p->at;
  while (p->at < p->file.len && p->file.ptr[p->at] >= '0' && p->file.ptr[p->at] <= '9' && v <= max) {
    v = 10 * v + (p->file.ptr[p->at++] - (uint32_t)'0');
    if (is_digit) break;
  }
  *out = (uint32_t)v;
  return p->at > first && v <= max;
}

/* One sample scaled to a byte. */
static bool pnm_sample(pnm *p, uint8_t *out) {
  uint32_t v;
  if (p->is_text) {
    if (!pnm_number(p, p->max, false, &v)) return false;
  } else {
    const size_t size = p->max > 255 ? 2 : 1;
    if (p->file.len - p->at < size) return false;
    v = p->file.ptr[p->at];
    if (size == 2) v = v << 8 | p->file.ptr[p->at + 1];
    p->at += size;
  }
  if (v > p->max) v = p->max;
  *out = (uint8_t)(p->max == 255 ? v : (v * 255u + p->max / 2) / p->max);
  return true;
}

static bool pnm_bit(pnm *p, int64_t x, uint8_t *out) {
  uint32_t v;
  if (p->is_text) {
    if (!pnm_number(p, 1, true, &v)) return false;
  } else {
    if (p->at >= p->file.len) return false;
    v = p->file.ptr[p->at] >> (7 - x % 8) & 1;
  }
  *out = v ? 0 : 255;
  return true;
}

static bool pnm_pixels(pnm *p, char kind, int64_t height, int64_t width, uint8_t *rgb) {
  for (int64_t y = 0; y < height; y++)
    for (int64_t x = 0; x < width; x++, rgb += 3) {
      const int n = kind == '3' || kind == '6' ? 3 : 1;
      for (int c = 0; c < n; c++)
        if (kind == '1' || kind == '4' ? !pnm_bit(p, x, rgb) : !pnm_sample(p, rgb + c)) return false;
      if (n == 1) rgb[1] = rgb[2] = rgb[0];
      if (kind == '4' && (x % 8 == 7 || x == width - 1)) p->at++;
    }
  return true;
}

static tn_status image_pnm(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err) {
  const char kind = (char)file.ptr[1];
  pnm p = {.file = file, .at = 2, .is_text = kind <= '3', .max = 1};
  uint32_t width, height;
  tn_status status;
  if (!pnm_number(&p, INT32_MAX, false, &width) || !pnm_number(&p, INT32_MAX, false, &height)) return TN_OK;
  if (kind != '1' && kind != '4' && (!pnm_number(&p, 65535, false, &p.max) || p.max == 0)) return TN_OK;
  if (p.at >= file.len) return TN_OK;
  p.at++;                                                              /* the one space before the samples */
  if ((uint64_t)width * height > 8 * (uint64_t)file.len) return TN_OK; /* a pixel has one bit or more */
  uint8_t *const rgb = tn_image_room(sink, height, width, &status, err);
  if (!rgb) return status;
  *is_image = pnm_pixels(&p, kind, height, width, rgb);
  return TN_OK;
}

/* --- by the first bytes --- */

static bool image_starts(tn_bytes file, size_t at, const char *magic, size_t n) {
  return file.len >= at + n && memcmp(file.ptr + at, magic, n) == 0;
}

tn_status tn_image_read(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err) {
  *is_image = false;
  if (image_starts(file, 0, "BM", 2)) return image_bmp(file, sink, is_image, err);
  if (file.len > 2 && file.ptr[0] == 'P' && file.ptr[1] >= '1' && file.ptr[1] <= '6')
    return image_pnm(file, sink, is_image, err);
  if (image_starts(file, 0, "\xff\xd8\xff", 3)) return tn_image_jpeg(file, sink, is_image, err);
  if (image_starts(file, 0, "\x89PNG\r\n\x1a\n", 8)) return tn_image_png(file, sink, is_image, err);
  if (image_starts(file, 0, "II*\0", 4) || image_starts(file, 0, "MM\0*", 4))
    return tn_image_tiff(file, sink, is_image, err);
  if (image_starts(file, 0, "RIFF", 4) && image_starts(file, 8, "WEBP", 4))
    return tn_image_webp(file, sink, is_image, err);
  if (image_starts(file, 4, "jP  \r\n\x87\n", 8) || image_starts(file, 0, "\xff\x4f\xff\x51", 4))
    return tn_error_set(err, TN_UNSUPPORTED, "JPEG 2000 files are not decoded");
  return TN_OK;
}
