/* The decoders of BMP and PNM over any bytes: they end, and write every pixel of what they call an image. Other kinds
 * of files go to the system's libraries, which have fuzzers of their own. */
#include <stdlib.h>
#include <string.h>

#include "base/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IMAGE_FUZZ_MAX = 1 << 22 };

typedef struct image_fuzz_room {
  uint8_t *pixels;
  size_t n;
} image_fuzz_room;

static void *image_fuzz_take(void *arg, int64_t height, int64_t width) {
  image_fuzz_room *const room = arg;
  if (height * width > IMAGE_FUZZ_MAX || room->pixels) return NULL;
  room->n = (size_t)(height * width) * 4;
  room->pixels = malloc(room->n);
  return room->pixels;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  image_fuzz_room room = {NULL, 0};
  tn_error err = {0};
  bool is_image = true;
  if (size < 2 || (memcmp(data, "BM", 2) != 0 && data[0] != 'P')) return 0;
  const tn_status s = tn_image_read((tn_bytes){data, size}, (tn_image_sink){image_fuzz_take, &room}, &is_image, &err);
  if (is_image && (s != TN_OK || !room.pixels)) __builtin_trap();
  free(room.pixels);
  return 0;
}
