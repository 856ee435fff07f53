/* Marks of nodes: reading and printing. */
#include "ir/mark.h"

static tn_status mark_fail(tn_ctx *ctx, tn_loc loc, tn_str key, tn_str value, const char *expected) {
  return tn_fail(ctx, TN_INVALID, loc, "tenon.%.*s is '%.*s', expected %s", (int)key.len, key.ptr,
                 value.len < 100 ? (int)value.len : 100, value.ptr ? value.ptr : "", expected);
}

static tn_status mark_bool(tn_ctx *ctx, tn_loc loc, tn_str key, tn_str value, bool *out) {
  *out = tn_str_is(value, "1") || tn_str_is(value, "true");
  if (*out || tn_str_is(value, "0") || tn_str_is(value, "false")) return TN_OK;
  return mark_fail(ctx, loc, key, value, "true or false");
}

static tn_status mark_stage(tn_ctx *ctx, tn_loc loc, tn_str key, tn_str value, int32_t *out) {
  int32_t n = 0;
  bool is_number = value.len > 0 && value.len <= 7;
  for (size_t i = 0; is_number && i < value.len; i++) {
    is_number = value.ptr[i] >= '0' && value.ptr[i] <= '9';
    n = n * 10 + (value.ptr[i] - '0');
  }
  if (!is_number || n > TN_MAX_STAGE) return mark_fail(ctx, loc, key, value, "a number from 0 to 1000000");
  *out = n;
  return TN_OK;
}

static tn_status mark_name(tn_ctx *ctx, tn_loc loc, tn_str key, tn_str value, const char **out) {
  if (value.len == 0 || memchr(value.ptr, 0, value.len)) return mark_fail(ctx, loc, key, value, "a name");
  *out = tn_ctx_name(ctx, value);
  return TN_OK;
}

static tn_status mark_names(tn_ctx *ctx, tn_loc loc, tn_str key, tn_str value, tn_marks *m) {
  size_t n = 1;
  for (size_t i = 0; i < value.len; i++) n += value.ptr[i] == ',';
  const char **names = TN_NEW_ARRAY(&ctx->arena, const char *, n);
  m->after = names;
  m->n_after = 0;
  if (n > 100000) return mark_fail(ctx, loc, key, value, "at most 100000 names");
  for (size_t i = 0, first = 0; i <= value.len; i++) {
    if (i < value.len && value.ptr[i] != ',') continue;
    TN_TRY(mark_name(ctx, loc, key, (tn_str){value.ptr + first, i - first}, &names[m->n_after++]));
    first = i + 1;
  }
  return TN_OK;
}

tn_status tn_marks_read(tn_ctx *ctx, tn_loc loc, tn_str key, tn_str value, tn_marks *out) {
  if (tn_str_is(key, "force_dynamic")) return mark_bool(ctx, loc, key, value, &out->force_dynamic);
  if (tn_str_is(key, "stage")) return mark_stage(ctx, loc, key, value, &out->stage);
  if (tn_str_is(key, "group")) return mark_name(ctx, loc, key, value, &out->group);
  if (tn_str_is(key, "engine")) return mark_name(ctx, loc, key, value, &out->engine);
  if (tn_str_is(key, "after")) return mark_names(ctx, loc, key, value, out);
  return tn_fail(ctx, TN_INVALID, loc, "there is no mark tenon.%.*s", key.len < 100 ? (int)key.len : 100, key.ptr);
}

static void mark_put(tn_text *out, const char **before, const char *key, const char *value) {
  tn_text_printf(out, "%s%s = ", *before, key);
  tn_text_quote(out, tn_str_of(value));
  *before = ", ";
}

void tn_marks_print(tn_text *out, const tn_marks *m) {
  const char *before = "{";
  if (m->force_dynamic) mark_put(out, &before, "force_dynamic", "true");
  if (m->stage != TN_NO_STAGE) {
    tn_text_printf(out, "%sstage = \"%d\"", before, (int)m->stage);
    before = ", ";
  }
  if (m->group) mark_put(out, &before, "group", m->group);
  if (m->engine) mark_put(out, &before, "engine", m->engine);
  if (m->n_after) {
    tn_text names;
    tn_text_init(&names, out->arena);
    for (int i = 0; i < m->n_after; i++) tn_text_printf(&names, "%s%s", i ? "," : "", m->after[i]);
    mark_put(out, &before, "after", tn_text_z(&names));
  }
  if (before[0] == '{') mark_put(out, &before, "force_dynamic", "false");
  tn_text_addz(out, "}");
}
