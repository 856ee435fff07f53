/* BMP and PNM files written by hand; damaged ones. */
#include "base/image.h"

#include "test.h"

typedef struct image_room {
  int64_t height, width;
  uint32_t pixels[64];
} image_room;

static void *take_room(void *arg, int64_t height, int64_t width) {
  image_room *const room = arg;
  room->height = height;
  room->width = width;
  return height * width <= 64 ? room->pixels : NULL;
}

static bool read_image(const char *file, size_t n, image_room *room, tn_status want) {
  tn_error err = {0};
  bool is_image = true;
  CHECK_EQ_I(tn_image_read((tn_bytes){(const uint8_t *)file, n}, (tn_image_sink){take_room, room}, &is_image, &err),
             want);
  return is_image;
}

static void check_pixels(const image_room *room, int64_t height, int64_t width, const char *rgb) {
  CHECK_EQ_I(room->height, height);
  CHECK_EQ_I(room->width, width);
  CHECK(memcmp(room->pixels, rgb, (size_t)(3 * height * width)) == 0);
}

#define READ(file, room) read_image(file, sizeof(file) - 1, room, TN_OK)

TEST(portable_maps) {
  image_room room;
  CHECK(READ("P6\n# two pixels\n2 1\n255\n\1\2\3\4\5\6", &room));
  check_pixels(&room, 1, 2, "\1\2\3\4\5\6");
  CHECK(READ("P3 1 2 15 0 15 1\n# end\n2 3 15 ", &room)); /* 1 of 15 is 17 of 255 */
  check_pixels(&room, 2, 1, "\0\xff\x11\x22\x33\xff");
  CHECK(READ("P5 2 1 65535\n\x80\x80\0\0", &room));
  check_pixels(&room, 1, 2, "\x80\x80\x80\0\0\0");
  CHECK(READ("P4 9 1\n\x80\x80", &room));
  CHECK(memcmp(room.pixels, "\0\0\0\xff\xff\xff", 6) == 0);
  CHECK(memcmp((const uint8_t *)room.pixels + 24, "\0\0\0", 3) == 0);
  CHECK(READ("P1 3 1 101", &room));
  check_pixels(&room, 1, 3, "\0\0\0\xff\xff\xff\0\0\0");
}

#define BMP_HEAD(offset, width, height, bits, compression, colours)                        \
  "BM\0\0\0\0\0\0\0\0" offset "\0\0\0\x28\0\0\0" width height "\1\0" bits "\0" compression \
  "\0\0\0\0\0\0\0\0\0\0\0\0"                                                               \
  "\0\0\0" colours "\0\0\0\0\0\0\0"

TEST(bitmaps) {
  image_room room;
  CHECK(READ(BMP_HEAD("\x36", "\1\0\0\0", "\2\0\0\0", "\x18", "\0", "\0") "\3\2\1\0\6\5\4\0", &room));
  check_pixels(&room, 2, 1, "\4\5\6\1\2\3"); /* rows come from the bottom up, as BGR */
  CHECK(READ(BMP_HEAD("\x36", "\1\0\0\0", "\xfe\xff\xff\xff", "\x18", "\0", "\0") "\3\2\1\0\6\5\4\0", &room));
  check_pixels(&room, 2, 1, "\1\2\3\4\5\6");
  CHECK(READ(BMP_HEAD("\x3e", "\2\0\0\0", "\1\0\0\0", "\1", "\0", "\2") "\3\2\1\0\6\5\4\0\x40\0\0\0", &room));
  check_pixels(&room, 1, 2, "\1\2\3\4\5\6");
  CHECK(READ(BMP_HEAD("\x36", "\1\0\0\0", "\1\0\0\0", "\x10", "\0", "\0") "\x1f\x7c\0\0", &room));
  check_pixels(&room, 1, 1, "\xff\0\xff");
}

TEST(damaged) {
  image_room room;
  CHECK(!READ("", &room));
  CHECK(!READ("BM", &room));
  CHECK(!READ("P6 2 1 255\n\1\2\3\4\5", &room));
  CHECK(!READ("P6 2147483647 2147483647 255\n\1", &room));
  CHECK(!READ("P5 1 1 0\n\1", &room));
  CHECK(!READ("P2 1 1 15\n16 ", &room));
  CHECK(!READ(BMP_HEAD("\x36", "\1\0\0\0", "\1\0\0\0", "\0", "\0", "\0") "\3\2\1\0", &room));
  CHECK(!READ(BMP_HEAD("\x36", "\1\0\0\0", "\0\0\0\x80", "\x18", "\0", "\0") "\3\2\1\0", &room));
  CHECK(!READ(BMP_HEAD("\x36", "\xff\xff\xff\x7f", "\1\0\0\0", "\x18", "\0", "\0") "\3\2\1\0", &room));
  CHECK(!read_image(BMP_HEAD("\x36", "\1\0\0\0", "\1\0\0\0", "\x08", "\1", "\1") "\3\2\1\0\0\0\0\0", 62, &room,
                    TN_UNSUPPORTED));
}
