/* Printing and saving results. */
#include "cli/outputs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/npy.h"
#include "cli/types.h"

enum { OUTPUTS_MAX_SHOWN = 8, OUTPUTS_MAX_NAME = 200, OUTPUTS_MAX_DEPTH = 8 };

typedef struct outputs_stats {
  int64_t count, n_nan, n_inf;
  double min, max, mean; /* of what is not NaN */
} outputs_stats;

/* False where there is nothing to order: strings, complex numbers, no element but NaN. */
static bool outputs_measure(const tn_tensor *t, outputs_stats *out) {
  *out = (outputs_stats){.count = tn_tensor_count(t), .min = HUGE_VAL, .max = -HUGE_VAL};
  const tn_type_class cls = tn_type_class_of(t->dtype);
  if (cls == TN_TYPE_STRING || cls == TN_TYPE_COMPLEX || cls == TN_TYPE_NONE) return false;
  double sum = 0;
  for (int64_t i = 0; i < out->count; i++) {
    const double v = tn_tensor_f64(t, i);
    if (isnan(v)) {
      out->n_nan++;
      continue;
    }
    out->n_inf += isinf(v);
    out->min = v < out->min ? v : out->min;
    out->max = v > out->max ? v : out->max;
    sum += v;
  }
  const int64_t n = out->count - out->n_nan;
  if (n == 0) return false;
  out->mean = sum / (double)n;
  return true;
}

static void outputs_print_string(const tn_string *s) {
  putchar('"');
  for (size_t i = 0; i < s->len && i < 40; i++) {
    const unsigned char c = (unsigned char)s->ptr[i];
    if (c == '"' || c == '\\')
      printf("\\%c", c);
    else if (c < 0x20 || c == 0x7F)
      printf("\\x%02x", c);
    else
      putchar(c);
  }
  printf(s->len > 40 ? "...\"" : "\"");
}

static void outputs_print_element(const tn_tensor *t, int64_t i) {
  switch (tn_type_class_of(t->dtype)) {
    case TN_TYPE_INT:
    case TN_TYPE_BOOL:
      printf("%" PRId64, tn_tensor_i64(t, i));
      break;
    case TN_TYPE_UINT:
      printf("%" PRIu64, (uint64_t)tn_tensor_i64(t, i));
      break;
    case TN_TYPE_FLOAT:
      printf("%.6g", tn_tensor_f64(t, i));
      break;
    case TN_TYPE_STRING:
      outputs_print_string((const tn_string *)t->data + i);
      break;
    case TN_TYPE_COMPLEX: {
      const tn_tensor part = {.dtype = t->dtype == TN_C64 ? TN_F32 : TN_F64, .data = t->data};
      printf("%.6g%+.6gj", tn_tensor_f64(&part, 2 * i), tn_tensor_f64(&part, 2 * i + 1));
      break;
    }
    case TN_TYPE_NONE:
      break;
  }
}

static void outputs_print_tensor(const tn_tensor *t) {
  outputs_stats s;
  if (outputs_measure(t, &s)) printf("  min %.6g  mean %.6g  max %.6g", s.min, s.mean, s.max);
  if (s.n_nan) printf("  nan %" PRId64, s.n_nan);
  if (s.n_inf) printf("  inf %" PRId64, s.n_inf);
  if (s.count == 0) printf("  empty");
  if (s.count == 0 || s.count > OUTPUTS_MAX_SHOWN) return;
  printf("  [");
  for (int64_t i = 0; i < s.count; i++) {
    if (i) printf(", ");
    outputs_print_element(t, i);
  }
  printf("]");
}

static void outputs_print_map(const tn_tensor *t) {
  const int64_t n = t->items[0].dims[0];
  printf("  {");
  for (int64_t i = 0; i < n && i < OUTPUTS_MAX_SHOWN; i++) {
    if (i) printf(", ");
    outputs_print_element(&t->items[0], i);
    printf(": ");
    outputs_print_element(&t->items[1], i);
  }
  printf(n > OUTPUTS_MAX_SHOWN ? ", ...}" : "}");
}

static void outputs_print_at(const char *name, size_t width, const tn_tensor *t, int depth) {
  printf("%-*s  %s", (int)width, name, tn_tensor_type_text(t));
  if (t->kind == TN_KIND_TENSOR) outputs_print_tensor(t);
  if (t->kind == TN_KIND_MAP) outputs_print_map(t);
  putchar('\n');
  for (size_t i = 0; depth < OUTPUTS_MAX_DEPTH && t->kind != TN_KIND_TENSOR && t->kind != TN_KIND_MAP && i < t->n_items;
       i++)
    outputs_print_at(tn_cli_print("%s[%zu]", name, i), width, &t->items[i], depth + 1);
}

void tn_output_print(const char *name, size_t width, const tn_tensor *t) { outputs_print_at(name, width, t, 0); }

static void outputs_json_tensor(tn_json *j, const tn_tensor *t) {
  outputs_stats s;
  tn_json_text(j, "dtype", tn_dtype_text(t->dtype));
  tn_json_open(j, "shape", '[', true);
  for (int i = 0; i < t->rank; i++) tn_json_int(j, NULL, t->dims[i]);
  tn_json_close(j, ']');
  if (outputs_measure(t, &s)) {
    tn_json_real(j, "min", s.min);
    tn_json_real(j, "mean", s.mean);
    tn_json_real(j, "max", s.max);
  }
  tn_json_int(j, "nan", s.n_nan);
  tn_json_int(j, "inf", s.n_inf);
}

static void outputs_json_at(tn_json *j, const char *name, const tn_tensor *t, int depth) {
  static const char *const kinds[] = {"tensor", "sequence", "optional", "map"};
  tn_json_open(j, NULL, '{', depth > 0 || t->kind == TN_KIND_TENSOR);
  if (name) tn_json_text(j, "name", name);
  tn_json_text(j, "kind", kinds[t->kind]);
  if (t->kind == TN_KIND_TENSOR) outputs_json_tensor(j, t);
  if (t->kind != TN_KIND_TENSOR && depth < OUTPUTS_MAX_DEPTH) {
    tn_json_open(j, "items", '[', false);
    for (size_t i = 0; i < t->n_items; i++) outputs_json_at(j, NULL, &t->items[i], depth + 1);
    tn_json_close(j, ']');
  }
  tn_json_close(j, '}');
}

void tn_output_json(tn_json *j, const char *name, const tn_tensor *t) { outputs_json_at(j, name, t, 0); }

int tn_output_open(tn_output_files *f, const char *dir) {
  struct stat info;
  *f = (tn_output_files){.dir = dir};
  if (mkdir(dir, 0777) == 0) return TN_EXIT_OK;
  const int why = errno;
  if (why == EEXIST && stat(dir, &info) == 0 && S_ISDIR(info.st_mode)) return TN_EXIT_OK;
  tn_cli_error("%s: cannot make the folder: %s", dir, why == EEXIST ? "a file has its name" : strerror(why));
  return tn_status_exit_code(TN_IO);
}

static bool outputs_is_taken(const tn_output_files *f, const char *name) {
  for (size_t i = 0; i < f->n; i++)
    if (strcmp(f->names[i], name) == 0) return true;
  return false;
}

/* ASCII letters, digits, '.', '-', '_' and all of UTF-8 beyond ASCII stay; a leading '.' does not. */
static const char *outputs_file_name(tn_output_files *f, const char *name) {
  char *const safe = tn_cli_print("%.*s", OUTPUTS_MAX_NAME, *name ? name : "_");
  for (char *c = safe; *c; c++) {
    const bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
    if (!is_plain && *c != '-' && *c != '_' && (*c != '.' || c == safe) && (unsigned char)*c < 0x80) *c = '_';
  }
  const char *free_name = safe;
  for (size_t k = 1; outputs_is_taken(f, free_name); k++) free_name = tn_cli_print("%s_%zu", safe, k);
  f->names = tn_cli_grow(f->names, f->n, sizeof *f->names);
  f->names[f->n++] = free_name;
  return free_name;
}

static int outputs_save_at(tn_output_files *f, const char *name, const tn_tensor *t, int depth) {
  int status = TN_EXIT_OK;
  if (t->kind != TN_KIND_TENSOR) {
    static const char *const parts[] = {"keys", "values"};
    for (size_t i = 0; i < t->n_items && depth < OUTPUTS_MAX_DEPTH && status == TN_EXIT_OK; i++) {
      const char *const item = t->kind == TN_KIND_OPTIONAL ? name
                               : t->kind == TN_KIND_MAP    ? tn_cli_print("%s_%s", name, parts[i])
                                                           : tn_cli_print("%s_%zu", name, i);
      status = outputs_save_at(f, item, &t->items[i], depth + 1);
    }
    return status;
  }
  char error[TN_NPY_ERROR];
  const char *const path = tn_cli_print("%s/%s.npy", f->dir, outputs_file_name(f, name));
  const tn_status s = tn_npy_write(path, t, error);
  if (s != TN_OK) tn_cli_error("%s", error);
  return tn_status_exit_code(s);
}

int tn_output_save(tn_output_files *f, const char *name, const tn_tensor *t) { return outputs_save_at(f, name, t, 0); }
