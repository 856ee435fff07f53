/* Resizing and transposed convolution: values from numpy and the ONNX specification's examples. */
#include "nn_call.h"

extern const tn_kernel tn_kernel_resize, tn_kernel_conv_transpose;

typedef struct resize_case {
  const char *mode, *transform, *nearest;
  double scale; /* of both axes, 0: sizes */
  int64_t out[2];
  double want[16];
} resize_case;

/* x = 1..4 as 2 x 2 unless the scale shrinks: then 1..8 as 2 x 4. From the ONNX operator examples. */
static const resize_case cases[] = {
    {"nearest", "half_pixel", "round_prefer_floor", 2, {4, 4}, {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}},
    {"linear",
     "half_pixel",
     "",
     2,
     {4, 4},
     {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}},
    {"linear",
     "align_corners",
     "",
     2,
     {4, 4},
     {1, 1 + 1 / 3.0, 1 + 2 / 3.0, 2, 1 + 2 / 3.0, 2, 2 + 1 / 3.0, 2 + 2 / 3.0, 2 + 1 / 3.0, 2 + 2 / 3.0, 3,
      3 + 1 / 3.0, 3, 3 + 1 / 3.0, 3 + 2 / 3.0, 4}},
    {"linear", "asymmetric", "", 2, {4, 4}, {1, 1.5, 2, 2, 2, 2.5, 3, 3, 3, 3.5, 4, 4, 3, 3.5, 4, 4}},
    {"linear", "half_pixel", "", 0.6, {1, 2}, {2.6666665, 4.3333331}},
    {"nearest", "half_pixel", "round_prefer_floor", 0.6, {1, 2}, {1, 3}},
    {"nearest", "asymmetric", "ceil", 2, {4, 4}, {1, 2, 2, 2, 3, 4, 4, 4, 3, 4, 4, 4, 3, 4, 4, 4}},
};

static void check_resize(const resize_case *t, tn_dtype d, bool by_sizes) {
  nn_call c;
  nn_begin(&c);
  const int64_t columns = t->scale < 1 ? 4 : 2;
  tn_karg *x = nn_in(&c, d, 4, (int64_t[]){1, 1, 2, columns});
  for (int64_t i = 0; i < x->count; i++) tn_store_f64(d, x->data, i, (double)i + 1);
  nn_in(&c, TN_F32, 1, NULL);
  tn_karg *scales = nn_in(&c, TN_F32, 1, by_sizes ? NULL : (int64_t[]){4});
  for (int i = 0; i < 4 && scales; i++) ((float *)scales->data)[i] = i < 2 ? 1 : (float)t->scale;
  tn_karg *sizes = nn_in(&c, TN_I64, 1, by_sizes ? (int64_t[]){4} : NULL);
  for (int i = 0; i < 4 && sizes; i++) ((int64_t *)sizes->data)[i] = i < 2 ? 1 : t->out[i - 2];
  tn_karg *y = nn_out(&c, d, 4, (int64_t[]){1, 1, t->out[0], t->out[1]});
  nn_str(&c, "mode", t->mode);
  nn_str(&c, "coordinate_transformation_mode", t->transform);
  nn_str(&c, "nearest_mode", t->nearest);
  if (nn_run(&c, &tn_kernel_resize)) nn_near(y, t->want, 1e-6, t->transform);
  nn_end(&c);
}

TEST(examples) {
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    check_resize(&cases[i], TN_F32, false);
    check_resize(&cases[i], TN_F64, false);
    check_resize(&cases[i], TN_F16, false);
    if (cases[i].scale > 1) check_resize(&cases[i], TN_F32, true);
  }
}

/* Output sizes: floor of the float32 product, so that 0.7 of 10, 20, 30 is 7, 14, 21. */
TEST(late_sizes) {
  for (int i = 1; i <= 3; i++) {
    nn_call c;
    nn_begin(&c);
    nn_in(&c, TN_F32, 1, (int64_t[]){10 * i});
    nn_in(&c, TN_F32, 1, NULL);
    *(float *)nn_in(&c, TN_F32, 1, (int64_t[]){1})->data = 0.7f;
    tn_karg *y = nn_out(&c, TN_F32, 1, (int64_t[]){0});
    y->rank = -1;
    y->is_late = true;
    y->data = NULL;
    nn_str(&c, "mode", "nearest");
    if (nn_run(&c, &tn_kernel_resize)) CHECK_EQ_I(y->dims[0], 7 * i);
    nn_end(&c);
  }
}

TEST(keep_aspect_ratio) {
  nn_call c;
  nn_begin(&c);
  nn_in(&c, TN_F32, 2, (int64_t[]){2, 4});
  for (int i = 0; i < 2; i++) nn_in(&c, TN_F32, 1, NULL);
  memcpy(nn_in(&c, TN_I64, 1, (int64_t[]){2})->data, (int64_t[]){7, 8}, 16);
  tn_karg *y = nn_out(&c, TN_F32, 2, (int64_t[]){4, 8}); /* the smaller scale, 2, for both */
  nn_str(&c, "mode", "nearest");
  nn_str(&c, "keep_aspect_ratio_policy", "not_larger");
  if (nn_run(&c, &tn_kernel_resize)) CHECK_EQ_F(nn_get(y, 31), nn_get(c.in[0], 7));
  nn_end(&c);
}

typedef struct deconv_case {
  int64_t group, cg, mg, in[2], kernel[2], stride[2], dilation[2], pads[4], extra[2];
} deconv_case;

static const deconv_case deconvs[] = {
    {1, 24, 6, {9, 7}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}},
    {1, 5, 70, {4, 5}, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {0, 0}},
    {2, 3, 2, {6, 5}, {3, 2}, {3, 2}, {1, 2}, {1, 0, 1, 1}, {1, 1}},
    {4, 1, 1, {20, 20}, {4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {0, 0}},
};

static void check_deconv(const deconv_case *t, tn_dtype d, bool is_const) {
  nn_call c;
  nn_begin(&c);
  int64_t out[2];
  for (int i = 0; i < 2; i++)
    out[i] = (t->in[i] - 1) * t->stride[i] + t->extra[i] + (t->kernel[i] - 1) * t->dilation[i] + 1 - t->pads[i] -
             t->pads[2 + i];
  const int64_t ci = t->group * t->cg, co = t->group * t->mg;
  const tn_karg *x = nn_in(&c, d, 4, (int64_t[]){2, ci, t->in[0], t->in[1]});
  tn_karg *w = nn_in(&c, d, 4, (int64_t[]){ci, t->mg, t->kernel[0], t->kernel[1]});
  const tn_karg *b = nn_in(&c, d, 1, &co);
  tn_karg *y = nn_out(&c, d, 4, (int64_t[]){2, co, out[0], out[1]});
  w->is_const = is_const;
  nn_int(&c, "group", t->group);
  nn_ints(&c, "strides", 2, t->stride);
  nn_ints(&c, "dilations", 2, t->dilation);
  nn_ints(&c, "pads", 4, t->pads);
  nn_ints(&c, "output_padding", 2, t->extra);
  double *want = nn_hold(&c, (size_t)y->count * sizeof *want);
  const int64_t plane = t->in[0] * t->in[1], taps = t->kernel[0] * t->kernel[1];
  for (int64_t i = 0; i < y->count; i++) want[i] = nn_get(b, i / (out[0] * out[1]) % co);
  for (int64_t i = 0; i < x->count; i++)
    for (int64_t m = 0; m < t->mg; m++)
      for (int64_t k = 0; k < taps; k++) {
        const int64_t channel = i / plane % ci, image = i / plane / ci;
        const int64_t oy = i % plane / t->in[1] * t->stride[0] + k / t->kernel[1] * t->dilation[0] - t->pads[0];
        const int64_t ox = i % t->in[1] * t->stride[1] + k % t->kernel[1] * t->dilation[1] - t->pads[1];
        if (oy < 0 || ox < 0 || oy >= out[0] || ox >= out[1]) continue;
        want[((image * co + channel / t->cg * t->mg + m) * out[0] + oy) * out[1] + ox] +=
            nn_get(x, i) * nn_get(w, (channel * t->mg + m) * taps + k);
      }
  if (nn_run(&c, &tn_kernel_conv_transpose)) nn_near(y, want, 1e-5, "conv_transpose");
  nn_end(&c);
}

TEST(conv_transpose) {
  for (size_t i = 0; i < TN_COUNT(deconvs); i++) {
    check_deconv(&deconvs[i], TN_F32, false);
    check_deconv(&deconvs[i], TN_F32, true);
    check_deconv(&deconvs[i], TN_F64, true);
    check_deconv(&deconvs[i], TN_F16, true);
  }
}
