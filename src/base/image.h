/* Image files to RGB pixels. BMP and PNM are read here; JPEG, PNG, TIFF and WebP by the system's libjpeg, libpng,
 * libtiff and libwebp, which are looked for when the first such file comes, so that nothing is linked. */
#ifndef TN_BASE_IMAGE_H
#define TN_BASE_IMAGE_H

#include "base/span.h"
#include "base/status.h"

enum { TN_IMAGE_MAX_PIXELS = 1 << 27 };

/* Gives room for height * width * 4 bytes, aligned as for uint32_t, once per image and before any pixel is written; the
 * first three quarters receive the pixels. NULL: no memory. */
typedef struct tn_image_sink {
  void *(*room)(void *arg, int64_t height, int64_t width);
  void *arg;
} tn_image_sink;

/* OK: *is_image says whether the pixels are there; false: the file is damaged or of no known format. UNSUPPORTED names
 * the library that is missing or the kind of file that is not read; LIMIT: more than TN_IMAGE_MAX_PIXELS. */
TN_MUST_CHECK tn_status tn_image_read(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err);

/* For image_lib.c. Asks the sink for room after checking the size; NULL with *status set, which is OK for a size that
 * no image has. */
uint8_t *tn_image_room(tn_image_sink sink, int64_t height, int64_t width, tn_status *status, tn_error *err);
TN_MUST_CHECK tn_status tn_image_jpeg(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err);
TN_MUST_CHECK tn_status tn_image_png(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err);
TN_MUST_CHECK tn_status tn_image_tiff(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err);
TN_MUST_CHECK tn_status tn_image_webp(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err);

#endif
