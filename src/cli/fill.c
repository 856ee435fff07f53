/* Random, zero and written elements. */
#include "cli/fill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/types.h"

tn_status tn_fill_new(tn_dtype d, int64_t count, void **out_data, size_t *out_bytes) {
  *out_bytes = count > 0 ? tn_tensor_bytes(d, count) : 0;
  if (count < 0 || (count > 0 && *out_bytes == 0)) return TN_LIMIT;
  *out_data = tn_cli_try_alloc(*out_bytes, 1);
  if (!*out_data) return TN_OOM;
  if (d == TN_STR) {
    tn_string *const strings = *out_data;
    for (int64_t i = 0; i < count; i++) strings[i] = (tn_string){"", 0};
  }
  return TN_OK;
}

/* Random. */

static uint64_t fill_next(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

static uint64_t fill_state(uint64_t seed, const char *name) { /* FNV-1a of the name */
  uint64_t h = UINT64_C(0xCBF29CE484222325);
  for (; *name; name++) h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001B3);
  return fill_next(&h) + fill_next(&seed);
}

/* Multiples of 2^-(bits-1) in [-1, 1): exact in a float of `bits` bits. */
static double fill_unit(uint64_t *state, int bits) {
  const int64_t half = INT64_C(1) << (bits - 1);
  return (double)((int64_t)(fill_next(state) >> (64 - bits)) - half) / (double)half;
}

static int64_t fill_integer(uint64_t *state, tn_dtype d) {
  const int bits = tn_type_bits(d) - (tn_type_class_of(d) == TN_TYPE_INT);
  const uint64_t end = bits < 4 ? UINT64_C(1) << bits : 10;
  return (int64_t)((fill_next(state) >> 32) * end >> 32);
}

/* Little-endian, as every tensor; the packed types go through the library. */
static void fill_store_int(tn_dtype d, void *data, int64_t i, int64_t v) {
  const size_t width = (size_t)tn_type_bits(d) / 8;
  if (width == 0)
    tn_tensor_store_f64(d, data, i, (double)v);
  else
    memcpy((char *)data + (size_t)i * width, &v, width);
}

static void fill_random_one(tn_dtype d, void *data, int64_t i, uint64_t *state) {
  static const char letters[] = "abcdefghijklmnop";
  switch (tn_type_class_of(d)) {
    case TN_TYPE_FLOAT: {
      const int bits = tn_type_bits(d) >= 32 ? 24 : d == TN_F16 ? 11 : 8;
      tn_tensor_store_f64(d, data, i, fill_unit(state, bits));
      break;
    }
    case TN_TYPE_COMPLEX: {
      const tn_dtype part = d == TN_C64 ? TN_F32 : TN_F64;
      tn_tensor_store_f64(part, data, 2 * i, fill_unit(state, 24));
      tn_tensor_store_f64(part, data, 2 * i + 1, fill_unit(state, 24));
      break;
    }
    case TN_TYPE_BOOL:
      ((uint8_t *)data)[i] = (uint8_t)(fill_next(state) >> 63);
      break;
    case TN_TYPE_STRING:
      ((tn_string *)data)[i] = (tn_string){&letters[fill_next(state) >> 60], 1};
      break;
    case TN_TYPE_INT:
    case TN_TYPE_UINT:
      fill_store_int(d, data, i, fill_integer(state, d));
      break;
    case TN_TYPE_NONE:
      break;
  }
}

void tn_fill_random(tn_dtype d, void *data, int64_t count, uint64_t seed, const char *name) {
  uint64_t state = fill_state(seed, name);
  for (int64_t i = 0; i < count; i++) fill_random_one(d, data, i, &state);
}

/* Literals. */

typedef struct literal_reader {
  const char *at;
  tn_literal *out;
  int depth;
  int64_t n[TN_LITERAL_MAX_RANK + 1]; /* elements so far of the open list of each depth */
} literal_reader;

static const char *literal_skip(const char *at) {
  while (*at == ' ' || *at == '\t') at++;
  return at;
}

static const char *literal_item(literal_reader *r) {
  const char quote = *r->at == '"' || *r->at == '\'' ? *r->at : 0;
  const char *const begin = quote ? r->at + 1 : r->at, *end = begin;
  while (*end && (quote ? *end != quote : !strchr("[],", *end))) end++;
  if (quote && !*end) return "a quote is not closed";
  r->at = quote ? end + 1 : end;
  while (!quote && end > begin && end[-1] == ' ') end--;
  if (!quote && end == begin) return "a number is missing";
  if (r->out->rank != r->depth && r->out->n > 0) return "lists and numbers are mixed";
  r->out->rank = r->depth;
  r->out->items = tn_cli_grow(r->out->items, r->out->n, sizeof(char *));
  r->out->items[r->out->n++] = tn_cli_print("%.*s", (int)(end - begin), begin);
  r->n[r->depth]++;
  return NULL;
}

static const char *literal_close(literal_reader *r, bool *seen) {
  const int axis = --r->depth;
  if (seen[axis] && r->out->dims[axis] != r->n[axis + 1]) return "the lists differ in length";
  seen[axis] = true;
  r->out->dims[axis] = r->n[axis + 1];
  if (r->out->n == 0 && r->out->rank < axis + 1) r->out->rank = axis + 1;
  r->n[axis]++;
  r->at++;
  return NULL;
}

static const char *literal_lists(literal_reader *r) {
  bool seen[TN_LITERAL_MAX_RANK] = {false};
  bool is_wanted = true; /* an item, else a comma or an end */
  do {
    const char *why = NULL;
    r->at = literal_skip(r->at);
    if (is_wanted && *r->at == '[') {
      if (r->depth == TN_LITERAL_MAX_RANK) return "the lists are nested too deep";
      r->n[++r->depth] = 0;
      r->at++;
    } else if (*r->at == ']' && (!is_wanted || r->n[r->depth] == 0)) {
      why = literal_close(r, seen);
      is_wanted = false;
    } else if (!is_wanted && *r->at == ',') {
      r->at++;
      is_wanted = true;
    } else if (is_wanted && *r->at) {
      why = literal_item(r);
      is_wanted = false;
    } else {
      return *r->at ? "a comma is missing" : "a ']' is missing";
    }
    if (why) return why;
  } while (r->depth > 0);
  return *literal_skip(r->at) ? "something follows the list" : NULL;
}

const char *tn_literal_parse(const char *text, bool is_text, tn_literal *out) {
  *out = (tn_literal){0};
  literal_reader r = {.at = literal_skip(text), .out = out};
  if (*r.at == '[') return literal_lists(&r);
  out->items = tn_cli_grow(NULL, 0, sizeof(char *));
  out->items[out->n++] = text;
  return *r.at || is_text ? NULL : "a number is missing";
}

static const char *literal_integer(tn_dtype d, void *data, int64_t i, const char *text) {
  const int bits = tn_type_bits(d);
  const bool is_signed = tn_type_class_of(d) == TN_TYPE_INT;
  char *end;
  errno = 0;
  const int64_t v = is_signed ? strtoll(text, &end, 0) : (int64_t)strtoull(text, &end, 0);
  if (end == text || *end) return tn_cli_print("'%s' is no integer", text);
  const int64_t top = is_signed ? INT64_MAX >> (64 - bits) : INT64_MAX;
  const bool fits = is_signed ? v <= top && v >= -top - 1 : bits == 64 || (uint64_t)v >> bits == 0;
  if (errno || !fits || (!is_signed && strchr(text, '-')))
    return tn_cli_print("'%s' does not fit in %s", text, tn_dtype_text(d));
  fill_store_int(d, data, i, v);
  return NULL;
}

static const char *literal_float(tn_dtype d, void *data, int64_t i, const char *text) {
  char *end;
  const double v = strtod(text, &end);
  if (end == text || *end) return tn_cli_print("'%s' is no number", text);
  if (tn_type_class_of(d) == TN_TYPE_COMPLEX) {
    tn_tensor_store_f64(d == TN_C64 ? TN_F32 : TN_F64, data, 2 * i, v);
    return NULL;
  }
  tn_tensor_store_f64(d, data, i, v);
  return NULL;
}

const char *tn_literal_store(tn_dtype d, void *data, int64_t i, const char *text) {
  switch (tn_type_class_of(d)) {
    case TN_TYPE_INT:
    case TN_TYPE_UINT:
      return literal_integer(d, data, i, text);
    case TN_TYPE_STRING:
      ((tn_string *)data)[i] = (tn_string){text, strlen(text)};
      return NULL;
    case TN_TYPE_BOOL: {
      const bool is_true = strcmp(text, "1") == 0 || strcmp(text, "true") == 0 || strcmp(text, "True") == 0;
      const bool is_false = strcmp(text, "0") == 0 || strcmp(text, "false") == 0 || strcmp(text, "False") == 0;
      if (!is_true && !is_false) return tn_cli_print("'%s' is neither true nor false", text);
      ((uint8_t *)data)[i] = is_true;
      return NULL;
    }
    case TN_TYPE_FLOAT:
    case TN_TYPE_COMPLEX:
      return literal_float(d, data, i, text);
    case TN_TYPE_NONE:
      break;
  }
  return "unknown type";
}
