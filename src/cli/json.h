/* A JSON writer: commas, indentation and escapes. Depth is at most TN_JSON_MAX_DEPTH. */
#ifndef TN_CLI_JSON_H
#define TN_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TN_JSON_MAX_DEPTH = 32 };

typedef struct tn_json {
  FILE *out;
  int depth;
  bool has_items[TN_JSON_MAX_DEPTH];
  bool is_flat[TN_JSON_MAX_DEPTH]; /* written on one line */
} tn_json;

/* `key` is NULL inside an array and for the outermost value. */
void tn_json_open(tn_json *j, const char *key, char bracket, bool flat); /* '{' or '[' */
void tn_json_close(tn_json *j, char bracket);                            /* '}' or ']'; a newline after the outermost */
void tn_json_text(tn_json *j, const char *key, const char *text);        /* NULL: null. No UTF-8: U+FFFD */
void tn_json_int(tn_json *j, const char *key, int64_t v);
void tn_json_real(tn_json *j, const char *key, double v); /* reads back the same; null unless finite */
void tn_json_bool(tn_json *j, const char *key, bool v);

#endif
