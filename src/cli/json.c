/* The JSON writer. */
#include "cli/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Length of the UTF-8 sequence at s, 0 when it is none. */
static size_t json_utf8(const unsigned char *s) {
  const unsigned char c = s[0];
  const size_t len = c < 0x80                ? 1
                     : c >= 0xC2 && c < 0xE0 ? 2
                     : c >= 0xE0 && c < 0xF0 ? 3
                     : c >= 0xF0 && c < 0xF5 ? 4
                                             : 0;
  for (size_t i = 1; i < len; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  if ((c == 0xE0 && s[1] < 0xA0) || (c == 0xED && s[1] > 0x9F) || (c == 0xF0 && s[1] < 0x90) ||
      (c == 0xF4 && s[1] > 0x8F))
    return 0;
  return len;
}

static void json_quote(FILE *out, const char *text) {
  fputc('"', out);
  for (const unsigned char *s = (const unsigned char *)text; *s;) {
    const size_t len = json_utf8(s);
    if (len == 0)
      fputs("\xEF\xBF\xBD", out);
    else if (*s == '"' || *s == '\\')
      fprintf(out, "\\%c", *s);
    else if (*s == '\n')
      fputs("\\n", out);
    else if (*s < 0x20 || *s == 0x7F)
      fprintf(out, "\\u%04x", *s);
    else
      fwrite(s, 1, len, out);
    s += len ? len : 1;
  }
  fputc('"', out);
}

static void json_newline(const tn_json *j) {
  fputc('\n', j->out);
  for (int i = 0; i < j->depth; i++) fputs("  ", j->out);
}

static void json_begin(tn_json *j, const char *key) {
  if (j->depth > 0) {
    const int at = j->depth - 1;
    if (j->has_items[at]) fputs(j->is_flat[at] ? ", " : ",", j->out);
    if (!j->is_flat[at]) json_newline(j);
    j->has_items[at] = true;
  }
  if (key) {
    json_quote(j->out, key);
    fputs(": ", j->out);
  }
}

void tn_json_open(tn_json *j, const char *key, char bracket, bool flat) {
  json_begin(j, key);
  fputc(bracket, j->out);
  if (j->depth >= TN_JSON_MAX_DEPTH) return;
  j->has_items[j->depth] = false;
  j->is_flat[j->depth] = flat || (j->depth > 0 && j->is_flat[j->depth - 1]);
  j->depth++;
}

void tn_json_close(tn_json *j, char bracket) {
  j->depth--;
  if (j->has_items[j->depth] && !j->is_flat[j->depth]) json_newline(j);
  fputc(bracket, j->out);
  if (j->depth == 0) fputc('\n', j->out);
}

void tn_json_text(tn_json *j, const char *key, const char *text) {
  json_begin(j, key);
  if (text)
    json_quote(j->out, text);
  else
    fputs("null", j->out);
}

void tn_json_int(tn_json *j, const char *key, int64_t v) {
  json_begin(j, key);
  fprintf(j->out, "%" PRId64, v);
}

void tn_json_real(tn_json *j, const char *key, double v) {
  json_begin(j, key);
  if (isfinite(v))
    fprintf(j->out, "%.17g", v);
  else
    fputs("null", j->out);
}

void tn_json_bool(tn_json *j, const char *key, bool v) {
  json_begin(j, key);
  fputs(v ? "true" : "false", j->out);
}
