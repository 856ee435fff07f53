/* Image files through the system's libraries, loaded when the first such file comes. libjpeg and libpng need their
 * headers at build (TN_HAVE_JPEGLIB, TN_HAVE_PNG); what is used of libtiff and libwebp is declared here. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "base/image.h"

#ifdef TN_HAVE_JPEGLIB
#include <jpeglib.h>
/**/
#include <jerror.h>
#endif
#ifdef TN_HAVE_PNG
#include <png.h>
#endif

typedef struct image_symbol {
  const char *name;
  void *fn; /* where the function's address goes */
} image_symbol;

/* The library stays loaded once it has been found. */
static tn_status image_load(const char *file, const image_symbol *symbols, const char *kind, tn_error *err) {
  void *const lib = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!lib) return tn_error_set(err, TN_UNSUPPORTED, "%s files need %s, which is not installed", kind, file);
  for (; symbols->name; symbols++) {
    void *const p = dlsym(lib, symbols->name);
    if (!p) {
      dlclose(lib);
      return tn_error_set(err, TN_UNSUPPORTED, "%s files need %s in %s, which has none", kind, symbols->name, file);
    }
    memcpy(symbols->fn, &p, sizeof p);
  }
  dlclose(lib);
  return TN_OK;
}

/* RGBA to RGB in place; alpha is left out, not blended. */
static void image_drop_alpha(uint8_t *pixels, size_t n) {
  for (size_t i = 1; i < n; i++) memmove(pixels + 3 * i, pixels + 4 * i, 3);
}

#define IMAGE_STRING(x) #x
#define IMAGE_NUMBER(x) IMAGE_STRING(x)

/* --- JPEG --- */

#ifdef TN_HAVE_JPEGLIB
typedef struct jpeg_api {
  struct jpeg_error_mgr *(*std_error)(struct jpeg_error_mgr *err);
  void (*create)(j_decompress_ptr c, int version, size_t size);
  void (*destroy)(j_decompress_ptr c);
  void (*mem_src)(j_decompress_ptr c, const unsigned char *bytes, unsigned long n);
  int (*read_header)(j_decompress_ptr c, boolean require_image);
  boolean (*start)(j_decompress_ptr c);
  JDIMENSION (*read_scanlines)(j_decompress_ptr c, JSAMPARRAY rows, JDIMENSION n);
  boolean (*finish)(j_decompress_ptr c);
} jpeg_api;

typedef struct jpeg_guard {
  struct jpeg_error_mgr base; /* first: libjpeg knows this part only */
  jmp_buf out;
} jpeg_guard;

static void jpeg_guard_exit(j_common_ptr c) { longjmp(((jpeg_guard *)(void *)c->err)->out, 1); }
/* libjpeg fills the rest of a file that ends early with grey: here it is damaged. */
static void jpeg_guard_message(j_common_ptr c, int level) {
  if (level < 0 && c->err->msg_code == JWRN_JPEG_EOF) jpeg_guard_exit(c);
}
static void jpeg_guard_print(j_common_ptr c) { (void)c; }

static tn_status jpeg_decode(const jpeg_api *api, j_decompress_ptr c, tn_bytes file, tn_image_sink sink, bool *is_image,
                             tn_error *err) {
  tn_status status;
  api->mem_src(c, file.ptr, file.len);
  (void)api->read_header(c, TRUE);
  if (c->jpeg_color_space == JCS_CMYK || c->jpeg_color_space == JCS_YCCK)
    return tn_error_set(err, TN_UNSUPPORTED, "JPEG files of four colours are not decoded");
  uint8_t *const rgb = tn_image_room(sink, c->image_height, c->image_width, &status, err);
  if (!rgb) return status;
  c->out_color_space = JCS_RGB;
  (void)api->start(c);
  while (c->output_scanline < c->output_height) {
    JSAMPROW row = rgb + (size_t)c->output_scanline * c->image_width * 3;
    (void)api->read_scanlines(c, &row, 1);
  }
  (void)api->finish(c);
  *is_image = true;
  return TN_OK;
}

tn_status tn_image_jpeg(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err) {
  jpeg_api api;
  const image_symbol symbols[] = {{"jpeg_std_error", &api.std_error},
                                  {"jpeg_CreateDecompress", &api.create},
                                  {"jpeg_destroy_decompress", &api.destroy},
                                  {"jpeg_mem_src", &api.mem_src},
                                  {"jpeg_read_header", &api.read_header},
                                  {"jpeg_start_decompress", &api.start},
                                  {"jpeg_read_scanlines", &api.read_scanlines},
                                  {"jpeg_finish_decompress", &api.finish},
                                  {NULL, NULL}};
  struct jpeg_decompress_struct c;
  jpeg_guard guard;
  volatile tn_status status = TN_OK;
  TN_TRY(image_load("libjpeg.so." IMAGE_NUMBER(JPEG_LIB_VERSION), symbols, "JPEG", err));
  memset(&c, 0, sizeof c);
  c.err = api.std_error(&guard.base);
  guard.base.error_exit = jpeg_guard_exit;
  guard.base.emit_message = jpeg_guard_message;
  guard.base.output_message = jpeg_guard_print;
  if (setjmp(guard.out) == 0) {
    api.create(&c, JPEG_LIB_VERSION, sizeof c); /* fails when the library has another layout */
    status = jpeg_decode(&api, &c, file, sink, is_image, err);
  } else {
    *is_image = false;
  }
  api.destroy(&c);
  return status;
}
#else
tn_status tn_image_jpeg(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err) {
  (void)file, (void)sink, (void)is_image;
  return tn_error_set(err, TN_UNSUPPORTED, "JPEG files are not decoded: built without the header of libjpeg");
}
#endif

/* --- PNG --- */

#ifdef TN_HAVE_PNG
tn_status tn_image_png(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err) {
  int (*begin)(png_imagep image, png_const_voidp bytes, size_t n);
  int (*finish)(png_imagep image, png_const_colorp background, void *out, png_int_32 step, void *colormap);
  void (*release)(png_imagep image);
  const image_symbol symbols[] = {{"png_image_begin_read_from_memory", &begin},
                                  {"png_image_finish_read", &finish},
                                  {"png_image_free", &release},
                                  {NULL, NULL}};
  tn_status status;
  png_image image = {.version = PNG_IMAGE_VERSION};
  TN_TRY(image_load("libpng" IMAGE_NUMBER(PNG_LIBPNG_VER_DLLNUM) ".so." IMAGE_NUMBER(PNG_LIBPNG_VER_DLLNUM), symbols,
                    "PNG", err));
  if (!begin(&image, file.ptr, file.len)) return TN_OK;
  image.format = PNG_FORMAT_RGBA;
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  const size_t n = (size_t)image.width * image.height;
  uint8_t *const pixels = tn_image_room(sink, image.height, image.width, &status, err);
  if (!pixels) {
    release(&image);
    return status;
  }
  *is_image = finish(&image, NULL, pixels, 0, NULL) != 0;
  if (*is_image) image_drop_alpha(pixels, n);
  release(&image);
  return TN_OK;
}
#else
tn_status tn_image_png(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err) {
  (void)file, (void)sink, (void)is_image;
  return tn_error_set(err, TN_UNSUPPORTED, "PNG files are not decoded: built without the header of libpng");
}
#endif

/* --- WebP --- */

tn_status tn_image_webp(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err) {
  int (*info)(const uint8_t *bytes, size_t n, int *width, int *height);
  uint8_t *(*decode)(const uint8_t *bytes, size_t n, uint8_t *out, size_t out_size, int step);
  const image_symbol symbols[] = {{"WebPGetInfo", &info}, {"WebPDecodeRGBInto", &decode}, {NULL, NULL}};
  int width = 0, height = 0;
  tn_status status;
  TN_TRY(image_load("libwebp.so.7", symbols, "WebP", err));
  if (!info(file.ptr, file.len, &width, &height)) return TN_OK;
  uint8_t *const rgb = tn_image_room(sink, height, width, &status, err);
  if (!rgb) return status;
  *is_image = decode(file.ptr, file.len, rgb, (size_t)width * (size_t)height * 3, 3 * width) != NULL;
  return TN_OK;
}

/* --- TIFF --- */

typedef struct tiff_source {
  tn_bytes file;
  uint64_t at;
} tiff_source;

static int64_t tiff_read(void *arg, void *out, int64_t n) {
  tiff_source *const s = arg;
  const uint64_t left = s->at < s->file.len ? s->file.len - s->at : 0, take = (uint64_t)n < left ? (uint64_t)n : left;
  if (n <= 0 || take == 0) return 0;
  memcpy(out, s->file.ptr + s->at, take);
  s->at += take;
  return (int64_t)take;
}
static int64_t tiff_write(void *arg, void *in, int64_t n) {
  (void)arg, (void)in, (void)n;
  return 0;
}
static uint64_t tiff_seek(void *arg, uint64_t to, int whence) {
  tiff_source *const s = arg;
  const uint64_t base = whence == SEEK_SET ? 0 : (whence == SEEK_CUR ? s->at : s->file.len);
  s->at = base + to;
  return s->at;
}
static int tiff_close(void *arg) {
  (void)arg;
  return 0;
}
static uint64_t tiff_size(void *arg) { return ((const tiff_source *)arg)->file.len; }
static int tiff_quiet(void *tiff, void *arg, const char *module, const char *format, va_list args) {
  (void)tiff, (void)arg, (void)module, (void)format, (void)args;
  return 1;
}

typedef int tiff_handler(void *tiff, void *arg, const char *module, const char *format, va_list args);
typedef struct tiff_api { /* as libtiff 4.5 has them, with its handles and options as void * */
  void *(*options_new)(void);
  void (*options_free)(void *options);
  void (*options_error)(void *options, tiff_handler *handler, void *arg);
  void (*options_warning)(void *options, tiff_handler *handler, void *arg);
  void *(*open)(const char *name, const char *mode, void *arg, int64_t (*read)(void *, void *, int64_t),
                int64_t (*write)(void *, void *, int64_t), uint64_t (*seek)(void *, uint64_t, int),
                int (*close)(void *), uint64_t (*size)(void *), void *map, void *unmap, void *options);
  int (*field)(void *tiff, uint32_t tag, ...);
  int (*read_rgba)(void *tiff, uint32_t width, uint32_t height, uint32_t *out, int orientation, int stop);
  void (*close)(void *tiff);
} tiff_api;

static tn_status tiff_decode(const tiff_api *api, void *tiff, tn_image_sink sink, bool *is_image, tn_error *err) {
  enum { TIFF_WIDTH = 256, TIFF_HEIGHT = 257, TIFF_TOP_LEFT = 1 };
  uint32_t width = 0, height = 0;
  tn_status status;
  if (!api->field(tiff, TIFF_WIDTH, &width) || !api->field(tiff, TIFF_HEIGHT, &height)) return TN_OK;
  uint8_t *const pixels = tn_image_room(sink, height, width, &status, err);
  if (!pixels) return status;
  const size_t n = (size_t)width * height;
  memset(pixels, 0, 4 * n); /* parts that the file leaves out */
  *is_image = api->read_rgba(tiff, width, height, (uint32_t *)(void *)pixels, TIFF_TOP_LEFT, 1) != 0;
  for (size_t i = 0; *is_image && i < n; i++) {
    uint32_t v;
    memcpy(&v, pixels + 4 * i, sizeof v);
    for (int c = 0; c < 4; c++) pixels[4 * i + (size_t)c] = (uint8_t)(v >> 8 * c);
  }
  if (*is_image) image_drop_alpha(pixels, n);
  return TN_OK;
}

tn_status tn_image_tiff(tn_bytes file, tn_image_sink sink, bool *is_image, tn_error *err) {
  tiff_api api;
  tiff_source source = {file, 0};
  const image_symbol symbols[] = {{"TIFFOpenOptionsAlloc", &api.options_new},
                                  {"TIFFOpenOptionsFree", &api.options_free},
                                  {"TIFFOpenOptionsSetErrorHandlerExtR", &api.options_error},
                                  {"TIFFOpenOptionsSetWarningHandlerExtR", &api.options_warning},
                                  {"TIFFClientOpenExt", &api.open},
                                  {"TIFFGetField", &api.field},
                                  {"TIFFReadRGBAImageOriented", &api.read_rgba},
                                  {"TIFFClose", &api.close},
                                  {NULL, NULL}};
  TN_TRY(image_load("libtiff.so.6", symbols, "TIFF", err));
  void *const options = api.options_new();
  if (!options) return tn_error_set(err, TN_OOM, "no memory for an image");
  api.options_error(options, tiff_quiet, NULL);
  api.options_warning(options, tiff_quiet, NULL);
  void *const tiff =
      api.open("image", "rm", &source, tiff_read, tiff_write, tiff_seek, tiff_close, tiff_size, NULL, NULL, options);
  tn_status status = TN_OK;
  if (tiff) {
    status = tiff_decode(&api, tiff, sink, is_image, err);
    api.close(tiff);
  }
  api.options_free(options);
  return status;
}
