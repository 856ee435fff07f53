/* ImageDecoder: the bytes of an image file to pixels. */
#include "base/image.h"

#include "op/move.h"

static tn_status image_decoder_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, TN_U8);
  return TN_OK;
}

static int image_channels(tn_str format) {
  return tn_str_is(format, "Grayscale") ? 1 : (tn_str_is(format, "RGB") || tn_str_is(format, "BGR") ? 3 : 0);
}

static tn_status image_decoder_shape(tn_rule *r) {
  const tn_attr *const format = tn_rule_attr(r, "pixel_format");
  const int channels = image_channels(format->s);
  if (channels == 0)
    return tn_rule_fail(r, TN_INVALID, "attribute 'pixel_format' is '%.*s', expected RGB, BGR or Grayscale",
                        (int)format->s.len, format->s.ptr);
  const tn_sym dims[3] = {tn_rule_fresh(r, 0, 0, 0, NULL), tn_rule_fresh(r, 0, 1, 0, NULL),
                          tn_sym_int(r->syms, channels)};
  tn_rule_set(r, 0, 3, dims);
  return TN_OK;
}

typedef struct image_eval_job {
  tn_eval *e;
  int64_t dims[3];
  uint8_t *pixels;
} image_eval_job;

static void *image_eval_room(void *arg, int64_t height, int64_t width) {
  image_eval_job *const j = arg;
  j->dims[0] = height;
  j->dims[1] = width;
  j->pixels = (uint8_t *)TN_NEW_ARRAY(j->e->arena, uint32_t, height * width);
  return j->pixels;
}

static tn_status image_decoder_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_attr *const format = tn_eval_attr(e, "pixel_format");
  const int channels = image_channels(format->s);
  image_eval_job j = {e, {0, 0, channels}, NULL};
  tn_error err = {0};
  bool is_image;
  tn_lit *y;
  const tn_status s =
      tn_image_read((tn_bytes){x->data, (size_t)x->count}, (tn_image_sink){image_eval_room, &j}, &is_image, &err);
  if (s != TN_OK) return tn_eval_fail(e, s, "%s", err.text);
  if (!is_image) j.dims[0] = j.dims[1] = 0;
  TN_TRY(tn_eval_out(e, 0, TN_U8, 3, j.dims, &y));
  for (int64_t i = 0; i < y->count; i++) {
    const uint8_t *const p = j.pixels + i / channels * 3;
    const int64_t c = i % 3, luma = 19595 * p[0] + 38470 * p[1] + 7471 * p[2] + 32768;
    const int64_t v = channels == 1 ? luma / 65536 : p[tn_str_is(format->s, "BGR") ? 2 - c : c];
    tn_store_i64(TN_U8, tn_lit_data(y), i, v);
  }
  return TN_OK;
}

TN_OP(image_decoder){
    .name = "image_decoder",
    .in = {{"encoded_stream", TN_SET(U8), .rank = 1}},
    .out = {{"image", TN_SET(U8)}},
    .attrs = {{"pixel_format", TN_ATTR_STR, .s = "RGB"}},
    .type = image_decoder_type,
    .shape = image_decoder_shape,
    .eval = image_decoder_eval,
    .kernel = "image_decoder",
    .traits = TN_TRAIT_PURE,
    .sizes = TN_SIZES_OPEN,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "pixels of a BMP, PNM, JPEG, PNG, TIFF or WebP file, [height, width, channels]; empty for another",
};

TN_ONNX(ai, ImageDecoder, 20, TN_LATEST, image_decoder, tn_import_same)
