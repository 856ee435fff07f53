/* The grammar of gears, and what makes a list of them valid. */
#include "driver/gear.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct gear_text { /* an option being read */
  tn_ctx *ctx;
  const char *option;
  tn_str text;
  size_t at;
} gear_text;

TN_PRINTF(2, 3) static tn_status gear_fail(const gear_text *t, const char *fmt, ...) {
  char what[400];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  return tn_fail(t->ctx, TN_INVALID, (tn_loc){0}, "--%s, at character %zu: %s", t->option, t->at + 1, what);
}

static tn_status gear_wrong(tn_ctx *ctx, const char *option, const char *text) {
  return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "--%s: %s", option, text);
}

static gear_text gear_open(tn_ctx *ctx, const char *option, const char *text) {
  return (gear_text){ctx, option, tn_str_of(tn_arena_copy_str(&ctx->arena, tn_str_of(text))), 0};
}

static void gear_blank(gear_text *t) {
  while (t->at < t->text.len && t->text.ptr[t->at] == ' ') t->at++;
}

static bool gear_take(gear_text *t, char c) {
  gear_blank(t);
  if (t->at >= t->text.len || t->text.ptr[t->at] != c) return false;
  t->at++;
  return true;
}

static bool gear_is_end(gear_text *t) {
  gear_blank(t);
  return t->at >= t->text.len;
}

/* What stands here, for messages. */
static const char *gear_found(gear_text *t) {
  if (gear_is_end(t)) return "the end";
  return tn_arena_printf(&t->ctx->arena, "'%.1s'", t->text.ptr + t->at);
}

static tn_status gear_number(gear_text *t, const char *expected, int64_t *out) {
  gear_blank(t);
  const size_t from = t->at;
  int64_t v = 0;
  while (t->at < t->text.len && t->text.ptr[t->at] >= '0' && t->text.ptr[t->at] <= '9') {
    if (!tn_mul_i64(v, 10, &v) || !tn_add_i64(v, t->text.ptr[t->at] - '0', &v)) {
      t->at = from;
      return gear_fail(t, "a size beyond 64 bits");
    }
    t->at++;
  }
  if (t->at == from) return gear_fail(t, "%s, expected %s", gear_found(t), expected);
  *out = v;
  return TN_OK;
}

static tn_status gear_positive(gear_text *t, int64_t *out) {
  gear_blank(t);
  const size_t from = t->at;
  TN_TRY(gear_number(t, "a positive size", out));
  if (*out > 0) return TN_OK;
  t->at = from;
  return gear_fail(t, "0, expected a positive size");
}

/* The input shape. */

static tn_status gear_range(gear_text *t, tn_gear_range *out) {
  if (gear_take(t, '-')) {
    const size_t from = t->at - 1;
    int64_t one = 0;
    TN_TRY(gear_number(t, "-1", &one));
    *out = (tn_gear_range){0, INT64_MAX, true};
    if (one == 1) return TN_OK;
    t->at = from;
    return gear_fail(t, "-%" PRId64 ", expected -1 or a size", one);
  }
  TN_TRY(gear_number(t, "-1, a size or a range a~b", &out->min));
  out->max = out->min;
  out->is_free = false;
  if (!gear_take(t, '~')) return TN_OK;
  const size_t from = t->at;
  if (gear_take(t, '-')) {
    int64_t one = 0;
    TN_TRY(gear_number(t, "-1", &one));
    out->max = INT64_MAX;
    if (one == 1) return TN_OK;
    t->at = from;
    return gear_fail(t, "-%" PRId64 ", expected -1 or a size", one);
  }
  TN_TRY(gear_number(t, "the end of the range", &out->max));
  if (out->max >= out->min) return TN_OK;
  t->at = from;
  return gear_fail(t, "the range %" PRId64 "~%" PRId64 " is empty", out->min, out->max);
}

/* Names may hold colons: the last one before the next ';' ends a name. */
static tn_status gear_name(gear_text *t, const char **out) {
  gear_blank(t);
  const size_t from = t->at;
  size_t colon = SIZE_MAX;
  for (size_t i = from; i < t->text.len && t->text.ptr[i] != ';'; i++)
    if (t->text.ptr[i] == ':') colon = i;
  if (colon == SIZE_MAX || colon == from) return gear_fail(t, "%s, expected NAME:SIZES", gear_found(t));
  *out = tn_arena_copy_str(&t->ctx->arena, (tn_str){t->text.ptr + from, colon - from});
  t->at = colon + 1;
  return TN_OK;
}

static tn_status gear_input(gear_text *t, tn_gear_input *out) {
  tn_gear_range dims[TN_MAX_RANK];
  out->rank = 0;
  TN_TRY(gear_name(t, &out->name));
  while (!gear_is_end(t) && t->text.ptr[t->at] != ';') {
    if (out->rank == TN_MAX_RANK) return gear_fail(t, "more than %d sizes", TN_MAX_RANK);
    TN_TRY(gear_range(t, &dims[out->rank++]));
    if (!gear_take(t, ',')) break;
  }
  tn_gear_range *copy = TN_NEW_ARRAY(&t->ctx->arena, tn_gear_range, out->rank + 1);
  memcpy(copy, dims, (size_t)out->rank * sizeof *dims);
  out->dims = copy;
  return TN_OK;
}

static tn_status gear_inputs(tn_ctx *ctx, const char *text, tn_gear_spec *spec) {
  gear_text t = gear_open(ctx, "input-shape", text);
  TN_VEC(tn_gear_input) inputs = {0};
  tn_map seen = {0};
  if (gear_is_end(&t)) return gear_fail(&t, "the end, expected NAME:SIZES");
  while (!gear_is_end(&t)) {
    tn_gear_input in;
    const size_t from = t.at;
    TN_TRY(gear_input(&t, &in));
    const char *name = tn_ctx_namez(ctx, in.name);
    if (tn_map_find_name(&seen, name)) {
      t.at = from;
      return gear_fail(&t, "the input '%.200s' is named twice", in.name);
    }
    tn_map_set_name(&ctx->arena, &seen, name, &seen);
    tn_vec_push(&ctx->arena, &inputs, in);
    if (!gear_take(&t, ';') && !gear_is_end(&t)) return gear_fail(&t, "%s, expected ',' or ';'", gear_found(&t));
  }
  spec->inputs = inputs.at;
  spec->n_inputs = (uint32_t)inputs.n;
  return TN_OK;
}

/* Lists of gears. */

typedef enum gear_columns { GEAR_BATCH = 1, GEAR_IMAGE = 2, GEAR_EACH = 0 } gear_columns;

typedef struct gear_kind {
  const char *option, *form;
  gear_columns columns; /* numbers of a gear; EACH: one for every free dim */
} gear_kind;
static const gear_kind gear_batch = {"dynamic-batch-size", "sizes such as 1,4,8", GEAR_BATCH};
static const gear_kind gear_image = {"dynamic-image-size", "height,width such as 224,224;448,448", GEAR_IMAGE};
static const gear_kind gear_each = {"dynamic-dims", "a size for each -1, such as 1,32;1,64", GEAR_EACH};

static uint32_t gear_count_free(const tn_gear_input *in) {
  uint32_t n = 0;
  for (int j = 0; j < in->rank; j++) n += in->dims[j].is_free;
  return n;
}

/* The axes of height and width, or of the batch, that may be free; the other one may not. */
static tn_status gear_check_axes(tn_ctx *ctx, const gear_kind *kind, const tn_gear_input *in, int first) {
  const int last = first + (int)kind->columns - 1;
  if (kind->columns == GEAR_EACH || !gear_count_free(in)) return TN_OK;
  for (int j = 0; j < in->rank; j++) {
    const bool may = j >= first && j <= last;
    if (in->dims[j].is_free == may) continue;
    if (kind->columns == GEAR_BATCH)
      return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "--%s: dim %d of input '%.200s' is -1; only dim 0 may be",
                     kind->option, j, in->name);
    break;
  }
  if (kind->columns == GEAR_BATCH) return TN_OK;
  if (in->rank == 4 && gear_count_free(in) == 2 && in->dims[first].is_free && in->dims[last].is_free) return TN_OK;
  return tn_fail(
      ctx, TN_INVALID, (tn_loc){0},
      "--%s: input '%.200s' must have 4 dims of which height and width (dims %d and %d), and no others, are -1",
      kind->option, in->name, first, last);
}

/* Which number of a gear each free dim takes. */
static tn_status gear_bind(tn_ctx *ctx, const gear_kind *kind, int first, tn_gear_spec *spec) {
  TN_VEC(tn_gear_dim) dims = {0};
  for (uint32_t i = 0; i < spec->n_inputs; i++) {
    const tn_gear_input *in = &spec->inputs[i];
    TN_TRY(gear_check_axes(ctx, kind, in, first));
    for (int j = 0; j < in->rank; j++) {
      if (in->dims[j].min != in->dims[j].max && !in->dims[j].is_free)
        return tn_fail(ctx, TN_INVALID, (tn_loc){0},
                       "--input-shape: with gears dim %d of input '%.200s' is -1 or a size, no range", j, in->name);
      if (!in->dims[j].is_free) continue;
      const uint32_t column = kind->columns == GEAR_EACH ? (uint32_t)dims.n : (uint32_t)(j - first);
      tn_vec_push(&ctx->arena, &dims, (tn_gear_dim){i, (uint32_t)j, column});
    }
  }
  if (!dims.n) return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "--%s: no dim of --input-shape is -1", kind->option);
  spec->dims = dims.at;
  spec->n_dims = (uint32_t)dims.n;
  spec->n_columns = kind->columns == GEAR_EACH ? spec->n_dims : (uint32_t)kind->columns;
  return TN_OK;
}

static bool gear_is_row_end(const gear_kind *kind, gear_text *t) {
  return gear_is_end(t) || t->text.ptr[t->at] == (kind->columns == GEAR_BATCH ? ',' : ';');
}

static tn_status gear_row(const gear_kind *kind, gear_text *t, const tn_gear_spec *spec, int64_t *out) {
  gear_blank(t);
  const size_t from = t->at;
  for (uint32_t j = 0; j < spec->n_columns; j++) {
    if (j && !gear_take(t, ',')) {
      if (!gear_is_row_end(kind, t)) return gear_fail(t, "%s, expected ',' or ';'", gear_found(t));
      t->at = from;
      return gear_fail(t, "%u of %u sizes, expected %s", j, spec->n_columns, kind->form);
    }
    TN_TRY(gear_positive(t, &out[j]));
  }
  if (gear_is_row_end(kind, t)) return TN_OK;
  if (t->text.ptr[t->at] == ',') return gear_fail(t, "more than %u sizes, expected %s", spec->n_columns, kind->form);
  return gear_fail(t, "%s, expected %s", gear_found(t), kind->form);
}

static tn_status gear_rows(const gear_kind *kind, gear_text *t, tn_gear_spec *spec) {
  const size_t width = spec->n_columns;
  int64_t *sizes = TN_NEW_ARRAY(&t->ctx->arena, int64_t, width * TN_GEARS_MAX);
  if (gear_is_end(t)) return gear_fail(t, "the end, expected %s", kind->form);
  while (!gear_is_end(t)) {
    const size_t from = t->at;
    int64_t *row = sizes + spec->n_gears * width;
    if (spec->n_gears == TN_GEARS_MAX) return gear_fail(t, "more than %d gears", TN_GEARS_MAX);
    TN_TRY(gear_row(kind, t, spec, row));
    for (uint32_t i = 0; i < spec->n_gears; i++) {
      if (memcmp(sizes + i * width, row, width * sizeof *row) != 0) continue;
      t->at = from;
      return gear_fail(t, "the gear is there already, as number %u", i);
    }
    spec->n_gears++;
    if (!gear_is_end(t)) t->at++; /* the separator */
  }
  if (spec->n_gears < TN_GEARS_MIN) return gear_fail(t, "%u gear, expected at least %d", spec->n_gears, TN_GEARS_MIN);
  spec->sizes = sizes;
  return TN_OK;
}

/* The options together. */

static tn_status gear_miss(tn_ctx *ctx, const char *text, tn_gear_miss *out) {
  static const char *const names[] = {[TN_GEAR_DYNAMIC] = "dynamic", [TN_GEAR_EXACT] = "exact", [TN_GEAR_PAD] = "pad"};
  for (int i = 0; text && i < (int)(sizeof names / sizeof *names); i++) {
    *out = (tn_gear_miss)i;
    if (strcmp(text, names[i]) == 0) return TN_OK;
  }
  *out = TN_GEAR_DYNAMIC;
  if (!text) return TN_OK;
  return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "--gear-miss '%.100s': expected dynamic, exact or pad", text);
}

/* The axis of the height, for image sizes; 0 for the batch. */
static tn_status gear_first_axis(tn_ctx *ctx, const gear_kind *kind, const char *format, int *out) {
  const char *f = format ? format : "NCHW";
  const bool is_first = strcmp(f, "NCHW") == 0, is_last = strcmp(f, "NHWC") == 0, is_none = strcmp(f, "ND") == 0;
  *out = 0;
  if (!is_first && !is_last && !is_none)
    return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "--input-format '%.100s': expected NCHW, NHWC or ND", f);
  if (kind->columns != GEAR_IMAGE) return TN_OK;
  *out = is_first ? 2 : 1;
  return is_none ? gear_wrong(ctx, kind->option, "the input format ND has no height and width; NCHW or NHWC has")
                 : TN_OK;
}

static tn_status gear_read_list(tn_ctx *ctx, const tn_compile_options *o, const gear_kind *kind, const char *text,
                                tn_gear_spec *out) {
  int first = 0;
  if (!o->input_shape) return gear_wrong(ctx, kind->option, "--input-shape must say which dims are -1");
  TN_TRY(gear_first_axis(ctx, kind, o->input_format, &first));
  TN_TRY(gear_bind(ctx, kind, first, out));
  gear_text t = gear_open(ctx, kind->option, text);
  return gear_rows(kind, &t, out);
}

tn_status tn_gear_read(tn_ctx *ctx, const tn_compile_options *o, tn_gear_spec *out) {
  memset(out, 0, sizeof *out);
  if (!o) return TN_OK;
  const int lists = (o->batch_sizes != NULL) + (o->image_sizes != NULL) + (o->gear_dims != NULL);
  if (lists > 1)
    return tn_fail(ctx, TN_INVALID, (tn_loc){0},
                   "--dynamic-batch-size, --dynamic-image-size and --dynamic-dims exclude each other");
  if (!lists && (o->gear_miss || o->input_format))
    return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "--%s means nothing without gears",
                   o->gear_miss ? "gear-miss" : "input-format");
  if (o->input_shape) TN_TRY(gear_inputs(ctx, o->input_shape, out));
  TN_TRY(gear_miss(ctx, o->gear_miss, &out->miss));
  if (o->batch_sizes) return gear_read_list(ctx, o, &gear_batch, o->batch_sizes, out);
  if (o->image_sizes) return gear_read_list(ctx, o, &gear_image, o->image_sizes, out);
  return o->gear_dims ? gear_read_list(ctx, o, &gear_each, o->gear_dims, out) : TN_OK;
}

tn_status tn_gear_choose(tn_ctx *ctx, tn_gear_spec *spec, int64_t gear) {
  if (gear < 0 || gear >= (int64_t)spec->n_gears)
    return tn_fail(ctx, TN_INVALID, (tn_loc){0}, "there is no gear %" PRId64 ": %u are given", gear, spec->n_gears);
  tn_gear_input *inputs = TN_NEW_ARRAY(&ctx->arena, tn_gear_input, spec->n_inputs + 1);
  const int64_t *row = spec->sizes + (size_t)gear * spec->n_columns;
  const tn_gear_dim *d = spec->dims, *end = d + spec->n_dims; /* by input, then axis */
  for (uint32_t i = 0; i < spec->n_inputs; i++) {
    tn_gear_range *dims = TN_NEW_ARRAY(&ctx->arena, tn_gear_range, spec->inputs[i].rank + 1);
    for (int j = 0; j < spec->inputs[i].rank; j++) {
      dims[j] = spec->inputs[i].dims[j];
      if (d < end && d->input == i && (int)d->axis == j) {
        dims[j] = (tn_gear_range){row[d->column], row[d->column], false};
        d++;
      }
    }
    inputs[i] = (tn_gear_input){spec->inputs[i].name, spec->inputs[i].rank, dims};
  }
  *spec = (tn_gear_spec){.inputs = inputs, .n_inputs = spec->n_inputs};
  return TN_OK;
}
