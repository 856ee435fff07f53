/* Inputs of a run. First what brings its own dims (files, random:2x3, lists), which gives symbols numbers; then the
 * rest, whose dims follow from the symbols; a symbol that nothing gives is 1 or the least that it may be. */
#include "cli/inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MAX_LISTED = 100 }; /* in one message */

static int inputs_fail(tn_status s, const char *text) {
  tn_cli_error("%s", text);
  return tn_status_exit_code(s);
}

/* "x  f32[N,3]" a line, indented: of all inputs or of those that have no text yet. */
static const char *inputs_list(const tn_feeds *f, bool missing_only) {
  const char *text = "";
  size_t n = 0;
  for (size_t i = 0; i < f->n && n < INPUTS_MAX_LISTED; i++)
    if ((!missing_only || !f->items[i].text) && ++n)
      text = tn_cli_print("%s\n  %s  %s", text, f->items[i].info.name, f->items[i].info.type_text);
  return text;
}

/* Symbols. */

static const int64_t *inputs_symbol(const tn_feeds *f, const char *name) {
  for (size_t i = 0; i < f->n_symbols; i++)
    if (strcmp(f->symbols[i], name) == 0) return &f->values[i];
  return NULL;
}

static void inputs_bind(tn_feeds *f, const char *name, int64_t value, bool is_given) {
  f->symbols = tn_cli_grow(f->symbols, f->n_symbols, sizeof *f->symbols);
  f->values = tn_cli_grow(f->values, f->n_symbols, sizeof *f->values);
  f->is_given = tn_cli_grow(f->is_given, f->n_symbols, sizeof *f->is_given);
  f->symbols[f->n_symbols] = name;
  f->values[f->n_symbols] = value;
  f->is_given[f->n_symbols++] = is_given;
}

/* The program's symbol that a dim's text names, with or without quotes; NULL for an expression or a number. */
static const char *inputs_dim_symbol(const tn_program *p, const char *text) {
  const size_t len = strlen(text), quoted = len >= 2 && text[0] == '"' && text[len - 1] == '"';
  for (size_t i = 0; i < tn_program_symbol_count(p); i++) {
    const char *name = NULL;
    if (tn_program_symbol(p, i, &name, NULL, NULL, NULL) != TN_OK || !name) continue;
    if (strlen(name) == len - 2 * quoted && memcmp(name, text + quoted, len - 2 * quoted) == 0) return name;
  }
  return NULL;
}

static const char *inputs_symbol_list(const tn_program *p) {
  const char *text = "";
  for (size_t i = 0; i < tn_program_symbol_count(p) && i < INPUTS_MAX_LISTED; i++) {
    const char *name = NULL;
    if (tn_program_symbol(p, i, &name, NULL, NULL, NULL) == TN_OK)
      text = tn_cli_print("%s%s%s", text, *text ? ", " : "", name);
  }
  return *text ? text : "none";
}

static int inputs_take_dim(const tn_program *p, const char *given, tn_feeds *f) {
  const char *const equals = strrchr(given, '=');
  char *end = NULL;
  errno = 0;
  const long long value = equals ? strtoll(equals + 1, &end, 10) : -1;
  if (!equals || end == equals + 1 || *end || value < 0 || errno == ERANGE) {
    tn_cli_error("--dim %s: expected NAME=SIZE", given);
    return TN_EXIT_USAGE;
  }
  const char *const text = tn_cli_print("%.*s", (int)(equals - given), given);
  const char *const name = inputs_dim_symbol(p, text);
  if (!name)
    return inputs_fail(TN_INVALID, tn_cli_print("--dim %s: the model has no symbol '%s'; it has: %s", given, text,
                                                inputs_symbol_list(p)));
  const int64_t *const before = inputs_symbol(f, name);
  if (before && *before != value)
    return inputs_fail(TN_INVALID,
                       tn_cli_print("--dim gives '%s' as %lld and as %lld", name, (long long)*before, value));
  if (!before) inputs_bind(f, name, value, true);
  return TN_EXIT_OK;
}

static int inputs_take_dims(const tn_program *p, const tn_texts *dims, tn_feeds *f) {
  int status = TN_EXIT_OK;
  for (size_t i = 0; i < dims->n; i++) {
    for (const char *at = dims->items[i]; at && status == TN_EXIT_OK;) {
      const char *const comma = strchr(at, ',');
      status = inputs_take_dim(p, comma ? tn_cli_print("%.*s", (int)(comma - at), at) : at, f);
      at = comma ? comma + 1 : NULL;
    }
  }
  return status;
}

/* The least size from 1 on that the symbol may have. */
static int64_t inputs_default(const tn_program *p, const char *name) {
  for (size_t i = 0; i < tn_program_symbol_count(p); i++) {
    const char *n = NULL;
    int64_t min, max, multiple;
    if (tn_program_symbol(p, i, &n, &min, &max, &multiple) != TN_OK || strcmp(n, name) != 0) continue;
    const int64_t least = min > 1 ? min : max < 1 ? max : 1;
    return multiple > 1 && least % multiple ? least + multiple - least % multiple : least;
  }
  return 1;
}

static int inputs_eval_dim(const tn_program *p, const tn_feed *feed, int j, tn_feeds *f, int64_t *out) {
  const char *const text = tn_program_input_dim(p, (size_t)(feed - f->items), j);
  char missing[256];
  while (text) {
    const tn_status s = tn_tool_eval(text, f->symbols, f->values, f->n_symbols, out, missing, sizeof missing);
    if (s == TN_OK && *out >= 0) return TN_EXIT_OK;
    if (s == TN_OK || s == TN_OOM || !*missing || inputs_symbol(f, missing)) break;
    const char *const name = tn_cli_print("%s", missing);
    const int64_t v = inputs_default(p, name);
    tn_cli_note("dim %d of input '%s' (%s): %s is taken as %lld; --dim %s=SIZE sets it", j, feed->info.name,
                feed->info.type_text, name, (long long)v, name);
    inputs_bind(f, name, v, false);
  }
  return inputs_fail(TN_INVALID,
                     tn_cli_print("input '%s': dim %d (%s) has no size here; give the dims, as %s=random:2x3",
                                  feed->info.name, j, text ? text : "?", feed->info.name));
}

/* What `--input` says. */

/* The longest input name that the text begins with, before a '='. */
static tn_feed *inputs_named(tn_feeds *f, const char *text) {
  tn_feed *best = NULL;
  for (size_t i = 0; i < f->n; i++) {
    const char *const name = f->items[i].info.name;
    const size_t len = strlen(name);
    if (strncmp(text, name, len) != 0 || text[len] != '=') continue;
    if (!best || len > strlen(best->info.name)) best = &f->items[i];
  }
  return best;
}

static int inputs_take_texts(const tn_texts *inputs, tn_feeds *f) {
  for (size_t i = 0; i < inputs->n; i++) {
    const char *const text = inputs->items[i];
    if (!strchr(text, '=')) {
      tn_cli_error("--input %s: expected NAME=FILE.npy, NAME=random[:2x3], NAME=zeros[:2x3] or NAME=VALUE", text);
      return TN_EXIT_USAGE;
    }
    tn_feed *const feed = inputs_named(f, text);
    if (!feed)
      return inputs_fail(TN_INVALID, tn_cli_print("the model has no input '%.*s'; its inputs are:%s",
                                                  (int)strcspn(text, "="), text, inputs_list(f, false)));
    if (feed->text) return inputs_fail(TN_INVALID, tn_cli_print("input '%s' is given twice", feed->info.name));
    feed->text = text + strlen(feed->info.name) + 1;
  }
  size_t n_missing = 0;
  for (size_t i = 0; i < f->n; i++) n_missing += !f->items[i].text;
  if (n_missing == 0) return TN_EXIT_OK;
  return inputs_fail(TN_INVALID,
                     tn_cli_print("%zu of %zu inputs are not given (--input NAME=random takes numbers between "
                                  "-1 and 1):%s",
                                  n_missing, f->n, inputs_list(f, true)));
}

static bool inputs_ends(const char *text, const char *end) {
  const size_t n = strlen(text), len = strlen(end);
  return n > len && strcmp(text + n - len, end) == 0;
}

/* "random" or "random:2x3": *out_dims := what follows the colon, NULL without one. */
static bool inputs_is_fill(const char *text, const char *word, const char **out_dims) {
  const size_t len = strlen(word);
  if (strncmp(text, word, len) != 0 || (text[len] && text[len] != ':')) return false;
  *out_dims = text[len] ? text + len + 1 : NULL;
  return true;
}

static int inputs_parse_dims(tn_feed *feed, const char *dims) {
  int rank = 0;
  for (const char *at = dims; *at;) {
    char *end;
    const long long v = strtoll(at, &end, 10);
    const bool is_size = end != at && v >= 0 && v < INT64_MAX && *at >= '0' && *at <= '9';
    if (!is_size || rank == TN_NPY_MAX_RANK || (*end && (*end != 'x' || !end[1])))
      return inputs_fail(
          TN_INVALID, tn_cli_print("input '%s': '%s' are no dims; expected the like of 2x3x64", feed->info.name, dims));
    feed->dims[rank++] = v;
    at = *end ? end + 1 : end;
  }
  feed->tensor.rank = rank;
  feed->has_dims = true;
  return TN_EXIT_OK;
}

/* Elements of the feed's dims; -1 when there are more than can be counted. */
static int64_t inputs_count(const tn_feed *feed) {
  int64_t count = 1;
  for (int i = 0; i < feed->tensor.rank; i++)
    if (feed->dims[i] == 0) return 0;
  for (int i = 0; i < feed->tensor.rank; i++)
    if (__builtin_mul_overflow(count, feed->dims[i], &count)) return -1;
  return count;
}

static int inputs_new_data(tn_feed *feed, tn_dtype d, int64_t *out_count, void **out) {
  *out_count = inputs_count(feed);
  const tn_status s = tn_fill_new(d, *out_count, out, &feed->tensor.bytes);
  if (s == TN_OOM)
    return inputs_fail(s, tn_cli_print("input '%s': no memory for %zu bytes", feed->info.name, feed->tensor.bytes));
  if (s != TN_OK) return inputs_fail(s, tn_cli_print("input '%s' is too large", feed->info.name));
  feed->tensor.data = *out;
  feed->tensor.dtype = d;
  return TN_EXIT_OK;
}

/* Raw bits from a file for a type that numpy lacks. */
static int inputs_reinterpret(tn_feed *feed) {
  const tn_dtype want = feed->info.dtype, have = feed->npy.dtype;
  const bool is_byte = have == TN_U8 || have == TN_I8, is_two = want == TN_U2 || want == TN_I2;
  const bool is_f8 = (want >= TN_F8E4M3FN && want <= TN_F8E5M2FNUZ) || want == TN_F8E8M0;
  if ((want == TN_BF16 && have == TN_U16) || (is_byte && is_f8)) feed->tensor.dtype = want;
  if (!is_byte || !(is_two || want == TN_U4 || want == TN_I4 || want == TN_F4E2M1)) return TN_EXIT_OK;
  const int bits = is_two ? 2 : 4, per_byte = 8 / bits;
  int64_t count;
  void *data;
  const int status = inputs_new_data(feed, want, &count, &data);
  for (int64_t i = 0; status == TN_EXIT_OK && i < count; i++) {
    const int v = ((const uint8_t *)feed->npy.data)[i] & ((1 << bits) - 1);
    uint8_t *const byte = (uint8_t *)data + i / per_byte;
    *byte = (uint8_t)(*byte | v << (int)(i % per_byte) * bits);
  }
  return status;
}

static int inputs_read_npy(tn_feed *feed) {
  char error[TN_NPY_ERROR];
  const tn_status s = tn_npy_read(feed->text, &feed->npy, error);
  if (s != TN_OK) return inputs_fail(s, tn_cli_print("input '%s': %s", feed->info.name, error));
  feed->tensor.dtype = feed->npy.dtype;
  feed->tensor.rank = feed->npy.rank;
  feed->tensor.data = feed->npy.data;
  feed->tensor.bytes = feed->npy.bytes;
  memcpy(feed->dims, feed->npy.dims, sizeof feed->npy.dims);
  feed->has_dims = true;
  return inputs_reinterpret(feed);
}

static int inputs_read_pb(tn_feed *feed) {
  const tn_tensor *t = NULL;
  tn_report *report = NULL;
  const tn_status s = tn_test_tensor_read(feed->text, feed->info.kind, &feed->file, &t, &report);
  const int status = tn_cli_report(s, report);
  if (s != TN_OK) return status;
  feed->tensor = *t;
  feed->has_dims = t->kind == TN_KIND_TENSOR && t->rank <= TN_NPY_MAX_RANK;
  for (int i = 0; feed->has_dims && i < t->rank; i++) feed->dims[i] = t->dims[i];
  return TN_EXIT_OK;
}

/* Lists bring their dims as they are nested; one flat list does for any dims that hold as many. */
static int inputs_parse_value(tn_feed *feed) {
  tn_literal *const l = &feed->literal;
  const char *const why = tn_literal_parse(feed->text, feed->info.dtype == TN_STR, l);
  if (why)
    return inputs_fail(
        TN_INVALID, tn_cli_print("input '%s': '%s': %s (files end in .npy or .pb)", feed->info.name, feed->text, why));
  feed->how = TN_FEED_LITERAL;
  if (l->rank == 0 || (l->rank == 1 && feed->info.rank > 1)) return TN_EXIT_OK;
  feed->tensor.rank = l->rank;
  memcpy(feed->dims, l->dims, sizeof l->dims);
  feed->has_dims = true;
  return TN_EXIT_OK;
}

/* What can be had before the symbols are known. */
static int inputs_first(tn_feed *feed) {
  const char *dims = NULL;
  feed->tensor = (tn_tensor){.dtype = feed->info.dtype, .rank = feed->info.rank};
  if (inputs_ends(feed->text, ".npy")) return inputs_read_npy(feed);
  if (inputs_ends(feed->text, ".pb")) return inputs_read_pb(feed);
  if (feed->info.kind == TN_KIND_OPTIONAL && strcmp(feed->text, "none") == 0) {
    feed->how = TN_FEED_NONE;
    feed->tensor = (tn_tensor){.kind = TN_KIND_OPTIONAL};
    return TN_EXIT_OK;
  }
  if (feed->info.kind == TN_KIND_MAP)
    return inputs_fail(TN_UNSUPPORTED, tn_cli_print("input '%s' (%s): maps are given through the library only",
                                                    feed->info.name, feed->info.type_text));
  if (feed->info.kind == TN_KIND_SEQUENCE || feed->info.dtype == TN_DTYPE_NONE)
    return inputs_fail(TN_INVALID, tn_cli_print("input '%s' (%s) is taken from a .pb file only", feed->info.name,
                                                feed->info.type_text));
  if (inputs_is_fill(feed->text, "random", &dims))
    feed->how = TN_FEED_RANDOM;
  else if (inputs_is_fill(feed->text, "zeros", &dims))
    feed->how = TN_FEED_ZEROS;
  else
    return inputs_parse_value(feed);
  return dims ? inputs_parse_dims(feed, dims) : TN_EXIT_OK;
}

/* Told before dims of other inputs are made up. */
static int inputs_check_rank(const tn_feed *feed) {
  if (!feed->has_dims || feed->info.rank < 0 || feed->tensor.rank == feed->info.rank) return TN_EXIT_OK;
  return inputs_fail(TN_MISMATCH, tn_cli_print("input '%s' has rank %d, expected %d (%s)", feed->info.name,
                                               feed->tensor.rank, feed->info.rank, feed->info.type_text));
}

/* A dim that is a symbol gives it the size; that other dims agree is checked by the session. */
static void inputs_learn(const tn_program *p, const tn_feed *feed, tn_feeds *f) {
  if (!feed->has_dims || feed->tensor.rank != feed->info.rank) return;
  for (int j = 0; j < feed->tensor.rank; j++) {
    const char *const text = tn_program_input_dim(p, (size_t)(feed - f->items), j);
    const char *const name = text ? inputs_dim_symbol(p, text) : NULL;
    if (name && !inputs_symbol(f, name)) inputs_bind(f, name, feed->dims[j], false);
  }
}

/* One list for several dims: the single symbol that nothing gives is what remains. */
static void inputs_solve(const tn_program *p, const tn_feed *feed, tn_feeds *f) {
  const char *open = NULL;
  int64_t product = 1;
  for (int j = 0; j < feed->info.rank; j++) {
    const char *const text = tn_program_input_dim(p, (size_t)(feed - f->items), j);
    const char *const name = text ? inputs_dim_symbol(p, text) : NULL;
    char missing[256];
    int64_t v = 1;
    if (name && !inputs_symbol(f, name) && !open)
      open = name;
    else if (!text || tn_tool_eval(text, f->symbols, f->values, f->n_symbols, &v, missing, sizeof missing) != TN_OK ||
             v <= 0 || __builtin_mul_overflow(product, v, &product))
      return;
  }
  if (open && (int64_t)feed->literal.n % product == 0) inputs_bind(f, open, (int64_t)feed->literal.n / product, false);
}

static int inputs_fill_literal(tn_feed *feed, void *data, int64_t count) {
  const tn_literal *const l = &feed->literal;
  if (l->rank > 0 && count != (int64_t)l->n)
    return inputs_fail(TN_MISMATCH, tn_cli_print("input '%s' (%s) takes %lld numbers here, not %zu", feed->info.name,
                                                 feed->info.type_text, (long long)count, l->n));
  for (int64_t i = 0; i < count; i++) {
    const char *const why = tn_literal_store(feed->info.dtype, data, i, l->items[l->rank > 0 ? i : 0]);
    if (why) return inputs_fail(TN_INVALID, tn_cli_print("input '%s': %s", feed->info.name, why));
  }
  return TN_EXIT_OK;
}

/* Dims from the symbols, then the elements. */
static int inputs_second(const tn_program *p, tn_feed *feed, uint64_t seed, tn_feeds *f) {
  if (feed->how == TN_FEED_FILE || feed->how == TN_FEED_NONE) return TN_EXIT_OK;
  if (!feed->has_dims && feed->info.rank < 0)
    return inputs_fail(TN_INVALID, tn_cli_print("input '%s': its rank is not known; give the dims, as %s=random:2x3",
                                                feed->info.name, feed->info.name));
  if (!feed->has_dims && feed->literal.rank > 0) inputs_solve(p, feed, f);
  for (int j = 0; !feed->has_dims && j < feed->info.rank; j++) {
    const int status = inputs_eval_dim(p, feed, j, f, &feed->dims[j]);
    if (status != TN_EXIT_OK) return status;
  }
  int64_t count;
  void *data;
  const int status = inputs_new_data(feed, feed->info.dtype, &count, &data);
  if (status != TN_EXIT_OK) return status;
  if (feed->how == TN_FEED_LITERAL) return inputs_fill_literal(feed, data, count);
  if (feed->how == TN_FEED_RANDOM) tn_fill_random(feed->info.dtype, data, count, seed, feed->info.name);
  return TN_EXIT_OK;
}

static void inputs_finish(tn_feed *feed) {
  if (!feed->file) feed->tensor.dims = feed->dims;
  if (feed->info.kind != TN_KIND_OPTIONAL || feed->tensor.kind == TN_KIND_OPTIONAL) return;
  feed->inner = feed->tensor;
  feed->tensor = (tn_tensor){.kind = TN_KIND_OPTIONAL, .items = &feed->inner, .n_items = 1};
}

int tn_feeds_make(const tn_program *p, const tn_feed_request *q, tn_feeds *out) {
  *out = (tn_feeds){.n = tn_program_input_count(p)};
  out->items = tn_cli_alloc(out->n, sizeof *out->items);
  for (size_t i = 0; i < out->n; i++) {
    const tn_status s = tn_program_input(p, i, &out->items[i].info);
    if (s != TN_OK) return tn_cli_report(s, NULL);
    if (out->items[i].info.rank > TN_NPY_MAX_RANK)
      return inputs_fail(TN_LIMIT, tn_cli_print("input '%s' has too many dims", out->items[i].info.name));
  }
  int status = inputs_take_dims(p, q->dims, out);
  if (status == TN_EXIT_OK) status = inputs_take_texts(q->inputs, out);
  for (size_t i = 0; i < out->n && status == TN_EXIT_OK; i++) {
    status = inputs_first(&out->items[i]);
    if (status == TN_EXIT_OK) status = inputs_check_rank(&out->items[i]);
    if (status == TN_EXIT_OK) inputs_learn(p, &out->items[i], out);
  }
  for (size_t i = 0; i < out->n && status == TN_EXIT_OK; i++) {
    status = inputs_second(p, &out->items[i], q->seed, out);
    inputs_finish(&out->items[i]);
  }
  return status;
}

void tn_feeds_drop(tn_feeds *f) {
  for (size_t i = 0; i < f->n; i++) {
    tn_npy_drop(&f->items[i].npy);
    if (f->items[i].file) tn_test_tensor_release(f->items[i].file);
  }
  *f = (tn_feeds){0};
}
