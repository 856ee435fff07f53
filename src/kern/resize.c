/* Resize: one axis at a time, each through a table of input positions and weights per output position.
 *
 * Coordinates are computed in float32, as the reference run times do, because rounding decides which neighbour
 * `nearest` takes. */
#include <math.h>
#include <string.h>

#include "kern/move.h"
#include "kern/shadow.h"

enum { RESIZE_MAX_TAPS = 1 << 20 };

typedef enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC } resize_mode;

typedef struct resize_axis {
  int64_t in, out;
  float scale, length; /* of the result before rounding */
  float start, end;    /* roi: as parts of the input */
  int64_t taps;
  int64_t *index; /* [out][taps]; the first of a position is -1 where the value is extrapolated */
  double *weight; /* [out][taps]; NULL for nearest */
  bool is_identity;
  bool is_twice; /* nearest: outputs 2i and 2i + 1 are input i */
} resize_axis;

typedef struct resize_plan {
  tn_kcall *k;
  resize_mode mode;
  bool antialias, exclude_outside;
  double cubic_a, extrapolation;
  int rank;
  resize_axis axis[TN_K_MAX_RANK];
} resize_plan;

static tn_status resize_mode_read(tn_kcall *k, resize_mode *out) {
  const bool nearest = tn_k_str_is(k, "mode", "nearest"), cubic = tn_k_str_is(k, "mode", "cubic");
  *out = nearest ? RESIZE_NEAREST : cubic ? RESIZE_CUBIC : RESIZE_LINEAR;
  if (nearest || cubic || tn_k_str_is(k, "mode", "linear")) return TN_OK;
  return tn_k_fail(k, TN_INVALID, "unknown mode of resize");
}

/* Which axes scales, sizes and roi speak of. */
static tn_status resize_axes(tn_kcall *k, int rank, int *n, int *axes) {
  int64_t n_given;
  const int64_t *const given = tn_k_attr_ints(k, "axes", &n_given);
  *n = rank;
  for (int i = 0; i < rank; i++) axes[i] = i;
  if (!given) return TN_OK;
  if (n_given > rank) return tn_k_fail(k, TN_INVALID, "attribute 'axes' has %lld entries", (long long)n_given);
  *n = (int)n_given;
  for (int i = 0; i < *n; i++) TN_TRY(tn_k_axis(k, given[i], rank, &axes[i]));
  return TN_OK;
}

static const tn_karg *resize_given(const tn_kcall *k, int i) {
  const tn_karg *a = tn_k_in(k, i);
  return a && a->count > 0 ? a : NULL;
}

/* Sizes from scales: whole scales and halves, quarters, ... are exact, others round down the float32 product. */
static bool resize_scaled(int64_t in, float scale, int64_t *out) {
  int exponent;
  if (floorf(scale) >= scale && scale < 1e9f) return tn_mul_i64(in, (int64_t)scale, out);
  if (frexpf(scale, &exponent) <= 0.5f && exponent > -30 && exponent <= 0) {
    *out = in / (INT64_C(1) << (1 - exponent));
    return true;
  }
  return tn_f32scale_i64(in, scale, out);
}

static tn_status resize_by_scale(tn_kcall *k, resize_axis *a, float scale) {
  if (!(scale > 0) || !isfinite(scale)) return tn_k_fail(k, TN_INVALID, "scale %g", (double)scale);
  a->scale = scale;
  a->length = scale * (float)a->in;
  if (resize_scaled(a->in, scale, &a->out)) return TN_OK;
  return tn_k_fail(k, TN_LIMIT, "scale %g makes too large a dim", (double)scale);
}

/* One scale for all axes, so that the result fits in (not_larger) or covers (not_smaller) the sizes. */
static void resize_keep_ratio(resize_plan *p, int n, const int *axes, bool larger) {
  float scale = p->axis[axes[0]].scale;
  for (int i = 1; i < n; i++) {
    const float s = p->axis[axes[i]].scale;
    if (larger ? s > scale : s < scale) scale = s;
  }
  for (int i = 0; i < n; i++) {
    resize_axis *a = &p->axis[axes[i]];
    a->scale = scale;
    a->length = scale * (float)a->in;
    a->out = (int64_t)floor((double)a->length + 0.5); /* as tn_f32ratio_i64 */
  }
}

static tn_status resize_by_sizes(resize_plan *p, const tn_karg *sizes, int n, const int *axes) {
  tn_kcall *k = p->k;
  for (int i = 0; i < n; i++) {
    resize_axis *a = &p->axis[axes[i]];
    a->out = tn_k_i64(sizes, i);
    if (a->out < 0 || (a->in == 0 && a->out > 0) || a->out > INT32_MAX)
      return tn_k_fail(k, TN_MISMATCH, "cannot resize dim %d of size %lld to %lld", axes[i], (long long)a->in,
                       (long long)a->out);
    a->length = (float)a->out;
    a->scale = a->in ? a->length / (float)a->in : 1.0f;
  }
  if (tn_k_str_is(k, "keep_aspect_ratio_policy", "not_larger")) resize_keep_ratio(p, n, axes, false);
  if (tn_k_str_is(k, "keep_aspect_ratio_policy", "not_smaller")) resize_keep_ratio(p, n, axes, true);
  return TN_OK;
}

static tn_status resize_read(tn_kcall *k, resize_plan *p) {
  const tn_karg *x = k->in[0], *roi = resize_given(k, 1), *scales = resize_given(k, 2), *sizes = resize_given(k, 3);
  int n, axes[TN_K_MAX_RANK];
  *p = (resize_plan){.k = k, .rank = x->rank};
  TN_TRY(resize_mode_read(k, &p->mode));
  TN_TRY(resize_axes(k, x->rank, &n, axes));
  p->antialias = tn_k_int(k, "antialias", 0) != 0;
  p->exclude_outside = tn_k_int(k, "exclude_outside", 0) != 0;
  p->cubic_a = tn_k_float(k, "cubic_coeff_a", -0.75);
  p->extrapolation = tn_k_float(k, "extrapolation_value", 0);
  for (int i = 0; i < x->rank; i++)
    p->axis[i] =
        (resize_axis){.in = x->dims[i], .out = x->dims[i], .scale = 1.0f, .length = (float)x->dims[i], .end = 1.0f};
  const tn_karg *given = sizes ? sizes : scales;
  if (!given) return n == 0 ? TN_OK : tn_k_fail(k, TN_INVALID, "resize has neither scales nor sizes");
  if (given->count != n)
    return tn_k_fail(k, TN_MISMATCH, "resize: %lld sizes or scales for %d axes", (long long)given->count, n);
  if (sizes)
    TN_TRY(resize_by_sizes(p, sizes, n, axes));
  else
    for (int i = 0; i < n; i++)
      TN_TRY(resize_by_scale(k, &p->axis[axes[i]], (float)tn_load_f64(scales->dtype, scales->data, i)));
  if (!roi || !tn_k_str_is(k, "coordinate_transformation_mode", "tf_crop_and_resize")) return TN_OK;
  if (roi->count != 2 * n) return tn_k_fail(k, TN_MISMATCH, "roi has %lld entries", (long long)roi->count);
  for (int i = 0; i < n; i++) {
    p->axis[axes[i]].start = (float)tn_load_f64(roi->dtype, roi->data, i);
    p->axis[axes[i]].end = (float)tn_load_f64(roi->dtype, roi->data, n + i);
  }
  return TN_OK;
}

typedef enum resize_transform {
  RESIZE_HALF_PIXEL,
  RESIZE_HALF_PIXEL_SYMMETRIC,
  RESIZE_PYTORCH_HALF_PIXEL,
  RESIZE_ALIGN_CORNERS,
  RESIZE_ASYMMETRIC,
  RESIZE_TF_HALF_PIXEL_FOR_NN,
  RESIZE_TF_CROP,
  RESIZE_N_TRANSFORMS
} resize_transform;

static tn_status resize_transform_read(tn_kcall *k, resize_transform *out) {
  static const char *const names[RESIZE_N_TRANSFORMS] = {
      "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
      "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
  *out = RESIZE_HALF_PIXEL;
  if (!tn_k_attr(k, "coordinate_transformation_mode")) return TN_OK;
  for (int i = 0; i < RESIZE_N_TRANSFORMS; i++)
    if (tn_k_str_is(k, "coordinate_transformation_mode", names[i])) {
      *out = (resize_transform)i;
      return TN_OK;
    }
  return tn_k_fail(k, TN_INVALID, "unknown coordinate_transformation_mode");
}

/* Where in the input output position i lies. */
static float resize_source(const resize_axis *a, resize_transform t, int64_t i) {
  const float x = (float)i, in = (float)a->in, length = a->length;
  switch (t) {
    case RESIZE_HALF_PIXEL_SYMMETRIC:
      return in / 2 * (1 - (float)a->out / length) + (x + 0.5f) / a->scale - 0.5f;
    case RESIZE_PYTORCH_HALF_PIXEL:
      return a->out > 1 ? (x + 0.5f) / a->scale - 0.5f : 0.0f;
    case RESIZE_ALIGN_CORNERS:
      return a->out > 1 ? x * (in - 1) / (length - 1) : 0.0f;
    case RESIZE_ASYMMETRIC:
      return x / a->scale;
    case RESIZE_TF_HALF_PIXEL_FOR_NN:
      return (x + 0.5f) / a->scale;
    case RESIZE_TF_CROP:
      return a->out > 1 ? a->start * (in - 1) + x * (a->end - a->start) * (in - 1) / (length - 1)
                        : 0.5f * (a->start + a->end) * (in - 1);
    default:
      return (x + 0.5f) / a->scale - 0.5f;
  }
}

static int64_t resize_clamp(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

static int64_t resize_nearest(const tn_kcall *k, float x, float scale) {
  if (tn_k_str_is(k, "nearest_mode", "floor")) return (int64_t)floorf(x);
  if (tn_k_str_is(k, "nearest_mode", "ceil")) return (int64_t)ceilf(x);
  if (tn_k_str_is(k, "nearest_mode", "round_prefer_ceil")) return (int64_t)floorf(x + 0.5f);
  if (tn_k_str_is(k, "nearest_mode", "simple")) return (int64_t)(scale < 1 ? ceilf(x) : floorf(x));
  return (int64_t)ceilf(x - 0.5f);
}

static double resize_filter(const resize_plan *p, double x) {
  const double a = p->cubic_a;
  x = fabs(x);
  if (p->mode == RESIZE_LINEAR) return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Weights of the taps around x: the filter, stretched when shrinking with antialias, normalised. */
static void resize_taps(const resize_plan *p, const resize_axis *a, float x, int64_t *index, double *weight) {
  const double stretch = p->antialias && a->scale < 1 ? (double)a->scale : 1;
  const int64_t reach = a->taps / 2, base = (int64_t)floorf(x);
  double sum = 0;
  for (int64_t t = 0; t < a->taps; t++) {
    const int64_t i = base - reach + 1 + t;
    weight[t] = resize_filter(p, ((double)i - (double)x) * stretch);
    if (p->exclude_outside && (i < 0 || i >= a->in)) weight[t] = 0;
    index[t] = resize_clamp(i, a->in);
    sum += weight[t];
  }
  if (!(fabs(sum) > 0)) weight[0] = sum = 1; /* every tap lies outside */
  for (int64_t t = 0; t < a->taps; t++) weight[t] /= sum;
}

static tn_status resize_table(const resize_plan *p, resize_axis *a, resize_transform t) {
  tn_kcall *k = p->k;
  const int64_t width = p->mode == RESIZE_CUBIC ? 2 : 1;
  double reach = (double)width;
  if (p->antialias && a->scale < 1) reach = ceil((double)width / (double)a->scale);
  if (reach > RESIZE_MAX_TAPS) return tn_k_fail(k, TN_LIMIT, "scale %g is too small", (double)a->scale);
  a->taps = p->mode == RESIZE_NEAREST ? 1 : 2 * (int64_t)reach;
  int64_t n;
  void *room;
  if (!tn_mul_i64(a->out, a->taps, &n)) return tn_k_fail(k, TN_LIMIT, "scale %g is too small", (double)a->scale);
  TN_TRY(tn_k_scratch_array(k, n, sizeof(int64_t), &room));
  a->index = room;
  if (p->mode != RESIZE_NEAREST) {
    TN_TRY(tn_k_scratch_array(k, n, sizeof(double), &room));
    a->weight = room;
  }
  for (int64_t i = 0; i < a->out; i++) {
    const float x = resize_source(a, t, i);
    int64_t *index = a->index + i * a->taps;
    if (!(fabsf(x) < 1e9f) || (t == RESIZE_TF_CROP && (x < 0 || x > (float)(a->in - 1))))
      index[0] = -1;
    else if (p->mode == RESIZE_NEAREST)
      index[0] = resize_clamp(resize_nearest(k, x, a->scale), a->in);
    else
      resize_taps(p, a, x, index, a->weight + i * a->taps);
  }
  a->is_twice = p->mode == RESIZE_NEAREST && a->out % 2 == 0 && a->out / 2 == a->in;
  for (int64_t i = 0; a->is_twice && i < a->out; i++) a->is_twice = a->index[i] == i / 2;
  return TN_OK;
}

typedef struct resize_pass {
  const resize_axis *axis;
  const void *src;
  void *dst;
  int64_t inner;
  size_t size;      /* bytes of an element: nearest */
  const void *fill; /* nearest: one extrapolated element */
  double extrapolation;
} resize_pass;

/* Rows (outer, output position) of inner elements. */
#define RESIZE_PASS(T, NAME)                                                                                      \
  static void NAME(void *arg, int64_t begin, int64_t end, int worker) {                                           \
    const resize_pass *p = arg;                                                                                   \
    const resize_axis *a = p->axis;                                                                               \
    const int64_t inner = p->inner, taps = a->taps;                                                               \
    (void)worker;                                                                                                 \
    for (int64_t r = begin, step; r < end; r += step) {                                                           \
      const T *s = (const T *)p->src + r / a->out * a->in * inner;                                                \
      T *d = (T *)p->dst + r * inner;                                                                             \
      const int64_t *index = a->index + r % a->out * taps;                                                        \
      const double *weight = a->weight + r % a->out * taps;                                                       \
      step = 1;                                                                                                   \
      if (inner == 1 && taps == 2) {                                                                              \
        step = a->out - r % a->out < end - r ? a->out - r % a->out : end - r;                                     \
        for (int64_t i = 0; i < step; i++) {                                                                      \
          const int64_t *at = index + 2 * i;                                                                      \
          d[i] = at[0] < 0 ? (T)p->extrapolation : (T)weight[2 * i] * s[at[0]] + (T)weight[2 * i + 1] * s[at[1]]; \
        }                                                                                                         \
        continue;                                                                                                 \
      }                                                                                                           \
      if (inner == 1) {                                                                                           \
        T sum = 0;                                                                                                \
        for (int64_t t = 0; t < taps && index[0] >= 0; t++) sum += (T)weight[t] * s[index[t]];                    \
        d[0] = index[0] < 0 ? (T)p->extrapolation : sum;                                                          \
        continue;                                                                                                 \
      }                                                                                                           \
      if (index[0] < 0) {                                                                                         \
        for (int64_t i = 0; i < inner; i++) d[i] = (T)p->extrapolation;                                           \
        continue;                                                                                                 \
      }                                                                                                           \
      if (taps == 2) {                                                                                            \
        const T u = (T)weight[0], v = (T)weight[1];                                                               \
        const T *s0 = s + index[0] * inner, *s1 = s + index[1] * inner;                                           \
        for (int64_t i = 0; i < inner; i++) d[i] = u * s0[i] + v * s1[i];                                         \
        continue;                                                                                                 \
      }                                                                                                           \
      for (int64_t i = 0; i < inner; i++) d[i] = 0;                                                               \
      for (int64_t t = 0; t < taps; t++) {                                                                        \
        const T w = (T)weight[t];                                                                                 \
        const T *from = s + index[t] * inner;                                                                     \
        for (int64_t i = 0; i < inner; i++) d[i] += w * from[i];                                                  \
      }                                                                                                           \
    }                                                                                                             \
  }
RESIZE_PASS(float, resize_pass_f32)
RESIZE_PASS(double, resize_pass_f64)
#undef RESIZE_PASS

/* d[i] = s[index[i]] for elements of `size` bytes; an index of -1 gives `fill`. Twice each element in a row is what
 * doubling a picture asks for. */
TN_INLINE void resize_gather_size(char *restrict d, const char *restrict s, const int64_t *index, int64_t n,
                                  const char *fill, bool twice, const size_t size) {
  int64_t i = 0;
  for (const char *from = s + (size_t)(twice ? index[0] : 0) * size; twice && i + 2 <= n; i += 2, from += size) {
    memcpy(d + (size_t)i * size, from, size);
    memcpy(d + (size_t)(i + 1) * size, from, size);
  }
  for (; i < n; i++) memcpy(d + (size_t)i * size, index[i] < 0 ? fill : s + (size_t)index[i] * size, size);
}

static void resize_gather(char *d, const char *s, const int64_t *index, int64_t n, const char *fill, bool twice,
                          size_t size) {
  switch (size) { /* sizes the compiler knows become single moves */
    case 1:
      resize_gather_size(d, s, index, n, fill, twice, 1);
      break;
    case 2:
      resize_gather_size(d, s, index, n, fill, twice, 2);
      break;
    case 4:
      resize_gather_size(d, s, index, n, fill, twice, 4);
      break;
    case 8:
      resize_gather_size(d, s, index, n, fill, twice, 8);
      break;
    default:
      resize_gather_size(d, s, index, n, fill, twice, size);
  }
}

static void resize_pass_nearest(void *arg, int64_t begin, int64_t end, int worker) {
  const resize_pass *p = arg;
  const resize_axis *a = p->axis;
  const size_t row = (size_t)p->inner * p->size;
  (void)worker;
  for (int64_t r = begin; r < end;) {
    const int64_t at = r % a->out;
    char *d = (char *)p->dst + (size_t)r * row;
    const char *s = (const char *)p->src + (size_t)(r / a->out * a->in) * row;
    if (p->inner == 1) {
      const int64_t n = a->out - at < end - r ? a->out - at : end - r;
      resize_gather(d, s, a->index + at, n, p->fill, a->is_twice && at % 2 == 0, p->size);
      r += n;
      continue;
    }
    if (a->index[at] >= 0)
      memcpy(d, s + (size_t)a->index[at] * row, row);
    else
      for (int64_t i = 0; i < p->inner; i++) memcpy(d + (size_t)i * p->size, p->fill, p->size);
    r++;
  }
}

/* Applies the axes that change, the last one first: rows are shortest then. src has elements of `size` bytes; the
 * result of the last pass goes to dst. */
static tn_status resize_apply(const resize_plan *p, const void *src, void *dst, size_t size, tn_task_fn fn,
                              const void *fill) {
  tn_kcall *k = p->k;
  int64_t dims[TN_K_MAX_RANK];
  int left = 0;
  for (int i = 0; i < p->rank; i++) {
    dims[i] = p->axis[i].in;
    left += !p->axis[i].is_identity;
  }
  for (int i = p->rank - 1; i >= 0; i--) {
    const resize_axis *a = &p->axis[i];
    if (a->is_identity) continue;
    int64_t outer = 1, inner = 1, n;
    for (int j = 0; j < i; j++) outer *= dims[j];
    for (int j = i + 1; j < p->rank; j++) inner *= dims[j];
    dims[i] = a->out;
    void *to = dst;
    if (!tn_mul_i64(outer, a->out, &n) || !tn_mul_i64(n, inner, &n)) return tn_k_fail(k, TN_LIMIT, "resize: too large");
    if (--left > 0) TN_TRY(tn_k_scratch_array(k, n, size, &to));
    resize_pass pass = {a, src, to, inner, size, fill, p->extrapolation};
    const int64_t cost = inner * a->taps;
    tn_pool_for(k->pool, outer * a->out, cost > 0 ? 8192 / cost + 1 : 1, fn, &pass);
    src = to;
  }
  return TN_OK;
}

/* Elements of any type by way of double. */
static tn_status resize_by_double(const resize_plan *p, const tn_karg *x, tn_karg *y) {
  void *src, *dst;
  TN_TRY(tn_k_scratch_array(p->k, x->count, sizeof(double), &src));
  TN_TRY(tn_k_scratch_array(p->k, y->count, sizeof(double), &dst));
  for (int64_t i = 0; i < x->count; i++) ((double *)src)[i] = tn_load_f64(x->dtype, x->data, i);
  TN_TRY(resize_apply(p, src, dst, sizeof(double), resize_pass_f64, NULL));
  for (int64_t i = 0; i < y->count; i++) tn_store_f64(y->dtype, y->data, i, ((const double *)dst)[i]);
  return TN_OK;
}

TN_KERNEL(resize, TN_K_SIZES) {
  const tn_karg *x = k->in[0];
  resize_plan p;
  resize_transform t;
  int64_t dims[TN_K_MAX_RANK];
  bool identity = true;
  TN_TRY(resize_read(k, &p));
  TN_TRY(resize_transform_read(k, &t));
  for (int i = 0; i < p.rank; i++) {
    resize_axis *a = &p.axis[i];
    dims[i] = a->out;
    a->is_identity = a->in == a->out && a->scale >= 1 && a->scale <= 1 && t != RESIZE_TF_HALF_PIXEL_FOR_NN &&
                     (t != RESIZE_TF_CROP || (a->start >= 0 && a->start <= 0 && a->end >= 1 && a->end <= 1));
    identity = identity && a->is_identity;
  }
  TN_TRY(tn_k_out(k, 0, p.rank, dims));
  tn_karg *y = k->out[0];
  if (y->count == 0) return TN_OK;
  if (identity) {
    tn_k_copy(x->dtype, y->data, 0, x->data, 0, x->count);
    return TN_OK;
  }
  for (int i = 0; i < p.rank; i++)
    if (!p.axis[i].is_identity) TN_TRY(resize_table(&p, &p.axis[i], t));
  const int bits = tn_dtype_bits(x->dtype);
  const bool number = tn_dtype_is_float(x->dtype) || tn_dtype_is_int(x->dtype) || x->dtype == TN_BOOL;
  if (bits < 8 || (!number && (p.mode != RESIZE_NEAREST || t == RESIZE_TF_CROP))) return tn_k_no_dtype(k, 0);
  if (p.mode == RESIZE_NEAREST) {
    double fill[2] = {0, 0}; /* room for any element */
    if (number) tn_store_f64(x->dtype, fill, 0, p.extrapolation);
    return resize_apply(&p, x->data, y->data, (size_t)bits / 8, resize_pass_nearest, fill);
  }
  if (x->dtype == TN_F32) return resize_apply(&p, x->data, y->data, sizeof(float), resize_pass_f32, NULL);
  return resize_by_double(&p, x, y);
}
