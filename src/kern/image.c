/* ImageDecoder. */
#include "base/image.h"

#include "kern/move.h"

typedef struct image_job {
  tn_kcall *k;
  int64_t dims[3];
  uint8_t *pixels; /* RGB, when the file is an image */
} image_job;

static void *image_take_room(void *arg, int64_t height, int64_t width) {
  image_job *const j = arg;
  void *room = NULL;
  j->dims[0] = height;
  j->dims[1] = width;
  if (tn_k_room(j->k, height * width, 4, &room) != TN_OK) return NULL;
  j->pixels = room;
  return room;
}

static void image_put(const image_job *j, int from[3], uint8_t *out) {
  const int64_t n = j->dims[0] * j->dims[1];
  for (int64_t i = 0; i < n; i++)
    for (int c = 0; c < 3; c++) out[3 * i + c] = j->pixels[3 * i + from[c]];
}

/* The luma of BT.601 in 16 bits of fraction, rounded. */
static void image_put_grey(const image_job *j, uint8_t *out) {
  const int64_t n = j->dims[0] * j->dims[1];
  for (int64_t i = 0; i < n; i++) {
    const uint8_t *const p = j->pixels + 3 * i;
    out[i] = (uint8_t)((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 0x8000u) >> 16);
  }
}

TN_KERNEL(image_decoder, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  const tn_karg *const x = k->in[0];
  if (x->dtype != TN_U8) return tn_k_no_dtype(k, 0);
  const bool is_grey = tn_k_str_is(k, "pixel_format", "Grayscale"), is_bgr = tn_k_str_is(k, "pixel_format", "BGR");
  image_job j = {.k = k, .dims = {0, 0, is_grey ? 1 : 3}};
  const tn_image_sink sink = {image_take_room, &j};
  bool is_image;
  TN_TRY(tn_image_read((tn_bytes){x->data, (size_t)x->count}, sink, &is_image, k->err));
  if (!is_image) j.dims[0] = j.dims[1] = 0; /* what is no image gives an empty one, says ONNX */
  TN_TRY(tn_k_out(k, 0, 3, j.dims));
  if (!is_image) return TN_OK;
  if (is_grey)
    image_put_grey(&j, k->out[0]->data);
  else
    image_put(&j, is_bgr ? (int[3]){2, 1, 0} : (int[3]){0, 1, 2}, k->out[0]->data);
  return TN_OK;
}
