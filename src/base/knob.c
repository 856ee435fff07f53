/* The knob table and its readers. */
#include "base/knob.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define KNOB_TEXT_INT(def) #def
#define KNOB_TEXT_BOOL(def) #def
#define KNOB_TEXT_STR(def) def

const tn_knob_row tn_knob_rows[TN_N_KNOBS] = {
#define TN_KNOB(name, type, def, doc) {#name, TN_KNOB_##type, KNOB_TEXT_##type(def), doc},
#include "base/knob.def"
#undef TN_KNOB
};

static bool knob_parse_int(const char *z, int64_t *out) {
  const bool minus = *z == '-';
  if (minus) z++;
  if (!*z) return false;
  int64_t v = 0;
  for (; *z; z++) {
    if (*z < '0' || *z > '9') return false;
    const int64_t digit = *z - '0';
    if (!tn_mul_i64(v, 10, &v) || !tn_add_i64(v, minus ? -digit : digit, &v)) return false;
  }
  *out = v;
  return true;
}

static bool knob_parse_bool(const char *z, int64_t *out) {
  static const char *const words[] = {"0", "1", "false", "true", "off", "on", "no", "yes"};
  for (size_t i = 0; i < TN_COUNT(words); i++) {
    if (strcmp(z, words[i]) != 0) continue;
    *out = (int64_t)(i & 1);
    return true;
  }
  return false;
}

static tn_status knob_set_row(tn_knobs *k, int i, const char *value, const char *source, tn_error *err) {
  const tn_knob_row *row = &tn_knob_rows[i];
  if (row->type == TN_KNOB_INT && !knob_parse_int(value, &k->num[i]))
    return tn_error_set(err, TN_INVALID, "knob '%s' (%s): '%.100s' is not an integer", row->name, source, value);
  if (row->type == TN_KNOB_INT && k->num[i] < 0)
    return tn_error_set(err, TN_INVALID, "knob '%s' (%s): %.100s is negative", row->name, source, value);
  if (row->type == TN_KNOB_BOOL && !knob_parse_bool(value, &k->num[i]))
    return tn_error_set(err, TN_INVALID, "knob '%s' (%s): '%.100s' is not a boolean", row->name, source, value);
  if (row->type == TN_KNOB_STR) k->str[i] = value;
  k->source[i] = source;
  return TN_OK;
}

static const char *knob_environment(const char *name) {
  char upper[64] = "TENON_";
  size_t n = strlen(upper);
  for (; *name && n + 1 < sizeof upper; name++) {
    const char c = *name;
    upper[n++] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  upper[n] = 0;
  return getenv(upper);
}

tn_status tn_knobs_init(tn_knobs *k, tn_error *err) {
  *k = (tn_knobs){0};
  for (int i = 0; i < TN_N_KNOBS; i++) TN_TRY(knob_set_row(k, i, tn_knob_rows[i].default_text, "default", err));
  for (int i = 0; i < TN_N_KNOBS; i++) {
    const char *value = knob_environment(tn_knob_rows[i].name);
    if (value) TN_TRY(knob_set_row(k, i, value, "environment", err));
  }
  return TN_OK;
}

tn_status tn_knobs_set(tn_knobs *k, const char *name, const char *value, const char *source, tn_error *err) {
  for (int i = 0; i < TN_N_KNOBS; i++) {
    if (strcmp(tn_knob_rows[i].name, name) == 0) return knob_set_row(k, i, value, source, err);
  }
  return tn_error_set(err, TN_INVALID, "unknown knob '%.100s'", name);
}
