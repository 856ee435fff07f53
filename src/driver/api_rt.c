/* The part of the public API that needs no compiler: reports, programs, sessions. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/knob.h"
#include "driver/report.h"
#include "driver/session.h"

#define API_TEXT_(x) #x
#define API_TEXT(x) API_TEXT_(x)

const char *tn_version(void) {
  return API_TEXT(TN_VERSION_MAJOR) "." API_TEXT(TN_VERSION_MINOR) "." API_TEXT(TN_VERSION_PATCH);
}

const char *tn_dtype_text(tn_dtype d) {
  return tn_dtype_valid((int)d) && tn_dtype_rows[d].name ? tn_dtype_rows[d].name : "?";
}

/* Reports: one block of memory. */

struct tn_report {
  size_t n, bytes;
  const char *text;          /* all rows, a line each */
  const tn_report_row *rows; /* n, behind this struct */
};

static const tn_report_row report_oom_row = {'e', TN_OOM, "", "out of memory", "out of memory"};
static tn_report report_oom = {1, 0, "out of memory\n", &report_oom_row}; /* never written */

static char *report_put(char **at, const char *z, size_t n) {
  char *start = *at;
  memcpy(start, z, n);
  start[n] = 0;
  *at += n + 1;
  return start;
}

/* The run time's sentences begin "node 'x' (Op): ": the name is between the quotes. */
static tn_str report_node(const tn_report_row *row) {
  static const char head[] = "node '";
  if (row->node) return tn_str_of(row->node);
  if (strncmp(row->full, head, sizeof head - 1) != 0) return tn_str_of("");
  const char *name = row->full + sizeof head - 1, *end = strstr(name, "' (");
  return end ? (tn_str){name, (size_t)(end - name)} : tn_str_of("");
}

/* Room for the rows, their strings, and the text. */
static size_t report_size(size_t n, void (*get)(const void *arg, size_t i, tn_report_row *out), const void *arg) {
  size_t bytes = sizeof(tn_report) + 1;
  for (size_t i = 0; i < n; i++) {
    tn_report_row row;
    get(arg, i, &row);
    bytes += sizeof row + report_node(&row).len + strlen(row.text) + 2 * strlen(row.full) + 4 + sizeof "warning: ";
  }
  return bytes;
}

tn_report *tn_report_new(size_t n, void (*get)(const void *arg, size_t i, tn_report_row *out), const void *arg) {
  if (n == 0) return NULL;
  const size_t bytes = report_size(n, get, arg);
  tn_report *r = tn_alloc(tn_allocator_system(), bytes);
  if (!r) return &report_oom;
  tn_report_row *rows = (tn_report_row *)(void *)(r + 1);
  char *at = (char *)&rows[n];
  for (size_t i = 0; i < n; i++) {
    tn_report_row row;
    get(arg, i, &row);
    const tn_str node = report_node(&row);
    rows[i] = row;
    rows[i].node = report_put(&at, node.ptr, node.len);
    rows[i].text = report_put(&at, row.text, strlen(row.text));
    rows[i].full = report_put(&at, row.full, strlen(row.full));
  }
  *r = (tn_report){n, bytes, at, rows};
  *at = 0;
  for (size_t i = 0; i < n; i++) at += sprintf(at, "%s%s\n", rows[i].severity == 'w' ? "warning: " : "", rows[i].full);
  return r;
}

static void report_error_row(const void *arg, size_t i, tn_report_row *out) {
  const tn_error *err = arg;
  (void)i;
  *out = (tn_report_row){'e', err->status, NULL, err->text, err->text};
}

tn_status tn_report_error(tn_report **out_report, const tn_error *err) {
  if (out_report) *out_report = tn_report_new(err->status != TN_OK ? 1 : 0, report_error_row, err);
  return err->status;
}

tn_status tn_report_failure(tn_report **out_report, tn_status status, const char *fmt, ...) {
  tn_error err = {.status = status};
  va_list args;
  va_start(args, fmt);
  vsnprintf(err.text, sizeof err.text, fmt, args);
  va_end(args);
  return tn_report_error(out_report, &err);
}

const char *tn_report_text(const tn_report *r) { return r ? r->text : ""; }
size_t tn_report_count(const tn_report *r) { return r ? r->n : 0; }

void tn_report_get(const tn_report *r, size_t i, char *severity, tn_status *status, const char **node,
                   const char **text) {
  static const tn_report_row nothing = {'e', TN_OK, "", "", ""};
  const tn_report_row *row = r && i < r->n ? &r->rows[i] : &nothing;
  if (severity) *severity = row->severity;
  if (status) *status = row->status;
  if (node) *node = row->node;
  if (text) *text = row->text;
}

void tn_report_release(tn_report *r) {
  if (r && r != &report_oom) tn_free(tn_allocator_system(), r, r->bytes);
}

/* Programs. */

static tn_status program_load(const char *path, tn_program **out, tn_error *err) {
  const tn_allocator a = tn_allocator_system();
  char folder[PATH_MAX];
  tn_knobs knobs;
  tn_file *file;
  TN_TRY(tn_knobs_init(&knobs, err));
  TN_TRY(tn_file_folder(path, folder, sizeof folder, err));
  TN_TRY(tn_file_map(a, path, &file, err));
  const tn_status status = tn_program_decode(a, file->bytes, file, folder, out, err);
  if (status != TN_OK) tn_file_close(file);
  return status == TN_OK && knobs.num[TN_KNOB_copy_weights] ? tn_program_own(a, out, err) : status;
}

tn_status tn_program_load_file(const char *path, tn_program **out, tn_report **out_report) {
  tn_error err = {0};
  *out = NULL;
  const tn_status status = program_load(path, out, &err);
  (void)status; /* it is in err */
  return tn_report_error(out_report, &err);
}

/* Rows for p->files as a program in `folder` refers to them. */
static tn_status program_refer(const tn_program *p, const char *folder, tn_pextent *extents, tn_psource *out,
                               tn_error *err) {
  tn_program_hash_files(p, extents);
  for (uint32_t i = 0; i < p->n_files; i++) {
    const char *const path = extents[i].hash ? tn_file_below(folder, p->files[i]) : "";
    if (!path)
      return tn_error_set(err, TN_INVALID, "the weights '%.400s' are not in the folder '%.400s' or below it",
                          p->files[i]->path, folder);
    out[i] = (tn_psource){path, extents[i].hash};
  }
  return TN_OK;
}

static tn_status program_save_references(const tn_program *p, const char *path, tn_error *err) {
  const tn_allocator a = tn_allocator_system();
  const size_t bytes = p->n_files * (sizeof(tn_psource) + sizeof(tn_pextent));
  char folder[PATH_MAX];
  TN_TRY(tn_file_folder(path, folder, sizeof folder, err));
  tn_psource *sources = tn_alloc(a, bytes);
  if (!sources) return tn_error_set(err, TN_OOM, "no memory to write a program");
  tn_status status = program_refer(p, folder, (tn_pextent *)(void *)(sources + p->n_files), sources, err);
  if (status == TN_OK) status = tn_program_write(p, a, sources, path, err);
  tn_free(a, sources, bytes);
  return status;
}

tn_status tn_program_save_as(const tn_program *p, const char *path, tn_weights weights, tn_report **out_report) {
  tn_error err = {0};
  const tn_status status = weights == TN_WEIGHTS_REFERENCE
                               ? program_save_references(p, path, &err)
                               : tn_program_write(p, tn_allocator_system(), NULL, path, &err);
  (void)status; /* it is in err */
  return tn_report_error(out_report, &err);
}

tn_status tn_program_save(const tn_program *p, const char *path, tn_report **out_report) {
  return tn_program_save_as(p, path, TN_WEIGHTS_EMBED, out_report);
}

void tn_program_add_ref(tn_program *p) { tn_program_retain(p); }
void tn_program_free(tn_program *p) { tn_program_release(p); }
size_t tn_program_input_count(const tn_program *p) { return p->n_inputs; }
size_t tn_program_output_count(const tn_program *p) { return p->n_outputs; }

static tn_status program_port(const tn_program *p, const tn_pio *ports, size_t n, size_t i, tn_value_info *out) {
  if (i >= n) return TN_INVALID;
  const tn_pvalue *v = &p->values[ports[i].value];
  *out = (tn_value_info){.name = ports[i].name,
                         .kind = (tn_value_kind)v->kind,
                         .dtype = (tn_dtype)v->dtype,
                         .rank = v->rank,
                         .type_text = ports[i].type_text};
  return TN_OK;
}

tn_status tn_program_input(const tn_program *p, size_t i, tn_value_info *out) {
  return program_port(p, p->inputs, p->n_inputs, i, out);
}
tn_status tn_program_output(const tn_program *p, size_t i, tn_value_info *out) {
  return program_port(p, p->outputs, p->n_outputs, i, out);
}

/* The first strings of a program are the dims of its inputs, in order, each with its NUL (code/program.h). */
static size_t program_rank(const tn_program *p, size_t input) { return p->values[p->inputs[input].value].dims.n; }

const char *tn_program_input_dim(const tn_program *p, size_t i, int j) {
  size_t at = 0;
  if (i >= p->n_inputs || j < 0 || (size_t)j >= program_rank(p, i)) return NULL;
  for (size_t k = 0; k < i; k++) at += program_rank(p, k);
  at += (size_t)j;
  if (at >= p->n_strings) return NULL;
  const tn_str s = p->strings[at];
  return s.len > 0 && s.ptr[s.len - 1] == 0 ? s.ptr : NULL;
}

size_t tn_program_gear_count(const tn_program *p) { return p->n_gears; }

tn_status tn_program_gear_input(const tn_program *p, size_t gear, size_t i, int64_t *dims, int *rank) {
  if (gear >= p->n_gears || i >= p->n_inputs) return TN_INVALID;
  *rank = p->values[p->inputs[i].value].rank;
  for (int d = 0; d < *rank; d++) {
    const char *text = tn_program_input_dim(p, i, d);
    dims[d] = text && *text >= '0' && *text <= '9' && strspn(text, "0123456789") == strlen(text) ? atoll(text) : -1;
  }
  for (uint32_t j = 0; j < p->n_gear_dims; j++)
    if (p->gear_dims[j].input == i)
      dims[p->gear_dims[j].axis] = p->gear_sizes[gear * p->gear_columns + p->gear_dims[j].column];
  return TN_OK;
}

static size_t program_output_rank(const tn_program *p, size_t i) {
  const int rank = p->values[p->outputs[i].value].rank;
  return rank > 0 ? (size_t)rank : 0;
}

tn_status tn_program_gear_output(const tn_program *p, size_t gear, size_t i, int64_t *dims, int *rank) {
  if (gear >= p->n_gears || i >= p->n_outputs) return TN_INVALID;
  size_t width = 0, at = 0;
  for (size_t j = 0; j < p->n_outputs; j++) width += program_output_rank(p, j);
  for (size_t j = 0; j < i; j++) at += program_output_rank(p, j);
  at += (size_t)p->n_gears * p->gear_columns + gear * width;
  *rank = p->values[p->outputs[i].value].rank;
  if (*rank > 0) memcpy(dims, p->gear_sizes + at, (size_t)*rank * sizeof *dims);
  return TN_OK;
}

size_t tn_program_symbol_count(const tn_program *p) { return p->n_symbols; }
tn_status tn_program_symbol(const tn_program *p, size_t i, const char **name, int64_t *min, int64_t *max,
                            int64_t *multiple_of) {
  if (i >= p->n_symbols) return TN_INVALID;
  const tn_psymbol *s = &p->symbols[i];
  if (name) *name = s->name;
  if (min) *min = s->min;
  if (max) *max = s->max;
  if (multiple_of) *multiple_of = s->multiple_of;
  return TN_OK;
}

/* Sessions. */

enum { SESSION_MAX_SHAPES = 65536 };

static void session_update_hook(tn_session *s);

static void *session_room(tn_session *s, tn_session_block *b, size_t bytes) {
  if (bytes <= b->bytes) return b->ptr;
  void *grown = s->allocator.resize(s->allocator.self, b->ptr, b->bytes, bytes);
  if (!grown) return NULL;
  b->ptr = grown;
  b->bytes = bytes;
  return grown;
}

static void session_drop_blocks(tn_session *s, tn_session_block *blocks, size_t n) {
  for (size_t i = 0; blocks && i < n; i++) tn_free(s->allocator, blocks[i].ptr, blocks[i].bytes);
  if (blocks) tn_free(s->allocator, blocks, n * sizeof *blocks);
}

static bool session_new_blocks(tn_session *s, size_t n, tn_session_block **out) {
  *out = tn_alloc(s->allocator, n * sizeof **out);
  if (*out) memset(*out, 0, n * sizeof **out);
  return *out != NULL;
}

void tn_session_release(tn_session *s) {
  if (!s) return;
  tn_rt_session_release(s->rt);
  session_drop_blocks(s, s->inputs, s->n_inputs);
  session_drop_blocks(s, s->outputs, s->n_outputs);
  if (s->rows) tn_free(s->allocator, s->rows, s->n_rows * sizeof *s->rows);
  tn_free(s->allocator, s, sizeof *s);
}

/* Options of an older version are shorter: what they lack is 0. */
static tn_status session_full_options(const tn_session_options *o, tn_session_options *out, tn_error *err) {
  *out = (tn_session_options){.size = sizeof *out};
  if (!o) return TN_OK;
  if (o->size < offsetof(tn_session_options, own_threads) || o->size > sizeof *o)
    return tn_error_set(err, TN_INVALID, "tn_session_options.size is %zu, expected %zu", o->size, sizeof *o);
  memcpy(out, o, o->size);
  return TN_OK;
}

static tn_status session_options(tn_session_options *o, tn_rt_options *out, tn_error *err) {
  tn_knobs knobs;
  int64_t bytes = o->max_memory;
  TN_TRY(tn_knobs_init(&knobs, err));
  if (bytes == 0 && !tn_mul_i64(knobs.num[TN_KNOB_max_memory_mib], 1 << 20, &bytes)) bytes = 0;
  const int64_t kept = o->kept_shapes ? o->kept_shapes : knobs.num[TN_KNOB_kept_shapes];
  const int64_t spin = knobs.num[TN_KNOB_spin_us];
  if (bytes < 0) return tn_error_set(err, TN_INVALID, "a session cannot have %lld bytes", (long long)bytes);
  o->check_finite = o->check_finite || knobs.num[TN_KNOB_check_finite];
  *out = (tn_rt_options){.pool = {.threads = o->threads > 0 ? o->threads : (int)knobs.num[TN_KNOB_threads],
                                  .spin_us = spin > 1000000 ? 1000000 : (int)spin,
                                  .is_bound = knobs.num[TN_KNOB_bind_threads] != 0},
                         .own_pool = (tn_pool *)o->own_threads,
                         .seed = o->seed,
                         .max_memory = bytes,
                         .shapes = kept < 0                    ? 0
                                   : kept > SESSION_MAX_SHAPES ? SESSION_MAX_SHAPES
                                                               : (uint32_t)kept,
                         .is_shrinking = knobs.num[TN_KNOB_shrink] != 0};
  return TN_OK;
}

tn_status tn_threads_create(int threads, tn_threads **out, tn_report **out_report) {
  tn_error err = {0};
  tn_pool *pool = NULL;
  const tn_status status = tn_pool_create(tn_allocator_system(), threads, &pool, &err);
  (void)status; /* it is in err */
  *out = (tn_threads *)pool;
  return tn_report_error(out_report, &err);
}

void tn_threads_release(tn_threads *t) { tn_pool_release((tn_pool *)t); }

tn_status tn_session_new(tn_allocator allocator, tn_program *p, const tn_session_options *o, tn_session **out,
                         tn_error *err) {
  tn_rt_options options;
  tn_session_options full;
  *out = NULL;
  TN_TRY(session_full_options(o, &full, err));
  TN_TRY(session_options(&full, &options, err));
  tn_session *s = tn_alloc(allocator, sizeof *s);
  if (!s) return tn_error_set(err, TN_OOM, "no memory for a session");
  *s = (tn_session){.allocator = allocator, .program = p, .n_inputs = p->n_inputs, .n_outputs = p->n_outputs};
  tn_status status = TN_OK;
  if (!session_new_blocks(s, s->n_inputs, &s->inputs) || !session_new_blocks(s, s->n_outputs, &s->outputs))
    status = tn_error_set(err, TN_OOM, "no memory for a session");
  if (status == TN_OK) status = tn_rt_session_create(p, allocator, &options, &s->rt, err);
  if (status != TN_OK) {
    tn_session_release(s);
    return status;
  }
  s->is_finite_checked = full.check_finite;
  session_update_hook(s);
  *out = s;
  return TN_OK;
}

tn_status tn_session_create(tn_program *p, const tn_session_options *o, tn_session **out, tn_report **out_report) {
  tn_error err = {0};
  const tn_status status = tn_session_new(tn_allocator_system(), p, o, out, &err);
  (void)status; /* it is in err */
  return tn_report_error(out_report, &err);
}

/* One tensor of the caller as an operand. */
static tn_status session_check_tensor(const char *name, const tn_tensor *t, tn_karg *out, tn_error *err) {
  size_t bytes;
  if (!tn_dtype_valid((int)t->dtype) || !tn_dtype_rows[t->dtype].name)
    return tn_error_set(err, TN_INVALID, "input '%s': there is no element type %d", name, (int)t->dtype);
  if (t->rank < 0 || t->rank > TN_K_MAX_RANK || (t->rank > 0 && !t->dims))
    return tn_error_set(err, TN_INVALID, "input '%s': rank %d, expected 0 to %d", name, t->rank, TN_K_MAX_RANK);
  *out = (tn_karg){.kind = TN_KARG_TENSOR, .dtype = t->dtype, .rank = t->rank};
  for (int j = 0; j < t->rank; j++) {
    if (t->dims[j] < 0)
      return tn_error_set(err, TN_INVALID, "input '%s': dim %d is %lld", name, j, (long long)t->dims[j]);
    out->dims[j] = t->dims[j];
  }
  if (!tn_dims_count(out->dims, t->rank, &out->count) || !tn_dtype_bytes(t->dtype, out->count, &bytes))
    return tn_error_set(err, TN_LIMIT, "input '%s': its size does not fit", name);
  if (t->bytes && t->bytes < bytes)
    return tn_error_set(err, TN_MISMATCH, "input '%s': %zu bytes, its shape needs %zu", name, t->bytes, bytes);
  if (!t->data && bytes) return tn_error_set(err, TN_INVALID, "input '%s': no data", name);
  out->data = (void *)(uintptr_t)t->data;
  return TN_OK;
}

enum { SESSION_MAX_DEPTH = 4 }; /* optional(sequence(tensor)) and some */

/* Operands that a value and its elements need. */
static tn_status session_count(const char *name, const tn_tensor *t, int depth, size_t *total, tn_error *err) {
  if (depth > SESSION_MAX_DEPTH) return tn_error_set(err, TN_INVALID, "input '%s': nested too deeply", name);
  if (!tn_add_size(*total, 1, total)) return tn_error_set(err, TN_LIMIT, "input '%s': too many elements", name);
  if (t->kind == TN_KIND_TENSOR) return TN_OK;
  if (t->kind < TN_KIND_TENSOR || t->kind > TN_KIND_MAP)
    return tn_error_set(err, TN_INVALID, "input '%s': there is no kind %d", name, (int)t->kind);
  if (t->n_items && !t->items) return tn_error_set(err, TN_INVALID, "input '%s': no elements", name);
  for (size_t i = 0; i < t->n_items; i++) TN_TRY(session_count(name, &t->items[i], depth + 1, total, err));
  return TN_OK;
}

typedef struct session_fill {
  const char *name;
  tn_karg *args;  /* next free operand */
  tn_karg **list; /* next free pointer */
  tn_error *err;
} session_fill;

static tn_status session_fill_arg(session_fill *f, const tn_tensor *t, tn_karg *out) {
  if (t->kind == TN_KIND_TENSOR) return session_check_tensor(f->name, t, out, f->err);
  *out = (tn_karg){.kind = (tn_kkind)t->kind, .dtype = t->dtype};
  out->rank = -1;
  out->items = f->list;
  out->n_items = out->cap_items = (int64_t)t->n_items;
  tn_karg *first = f->args;
  f->args += t->n_items;
  f->list += t->n_items;
  for (size_t i = 0; i < t->n_items; i++) {
    out->items[i] = first + i;
    TN_TRY(session_fill_arg(f, &t->items[i], first + i));
    if (!out->dtype && t->kind != TN_KIND_MAP) out->dtype = first[i].dtype;
  }
  return TN_OK;
}

/* The number of a port; n when none has the name. */
static uint32_t session_port(const tn_pio *ports, uint32_t n, const char *name) {
  uint32_t i = 0;
  while (i < n && strcmp(ports[i].name, name) != 0) i++;
  return i;
}

static tn_status session_set(tn_session *s, const char *name, const tn_tensor *t, tn_error *err) {
  size_t total = 0, bytes;
  const uint32_t i = session_port(s->program->inputs, s->program->n_inputs, name);
  if (i == s->program->n_inputs) return tn_error_set(err, TN_INVALID, "there is no input '%.200s'", name);
  TN_TRY(session_count(name, t, 0, &total, err));
  if (!tn_mul_size(total, sizeof(tn_karg) + sizeof(tn_karg *), &bytes))
    return tn_error_set(err, TN_LIMIT, "input '%s': too many elements", name);
  tn_karg *args = session_room(s, &s->inputs[i], bytes);
  if (!args) return tn_error_set(err, TN_OOM, "no memory for input '%s'", name);
  session_fill f = {name, args + 1, (tn_karg **)(void *)(args + total), err};
  TN_TRY(session_fill_arg(&f, t, args));
  return tn_rt_set_input(s->rt, i, args, err);
}

tn_status tn_session_set_input(tn_session *s, const char *name, const tn_tensor *t, tn_report **out_report) {
  tn_error err = {0};
  const tn_status status = session_set(s, name, t, &err);
  (void)status; /* it is in err */
  return tn_report_error(out_report, &err);
}

tn_status tn_session_set_symbol(tn_session *s, const char *name, int64_t value, tn_report **out_report) {
  tn_error err = {0};
  const tn_status status = tn_rt_set_symbol(s->rt, name, value, &err);
  (void)status;
  return tn_report_error(out_report, &err);
}

tn_status tn_session_run(tn_session *s, tn_report **out_report) {
  tn_error err = {0};
  s->has_run = tn_rt_run(s->rt, &err) == TN_OK;
  return tn_report_error(out_report, &err);
}

tn_status tn_session_set_output(tn_session *s, const char *name, void *data, size_t bytes, tn_report **out_report) {
  tn_error err = {0};
  const uint32_t i = session_port(s->program->outputs, s->program->n_outputs, name);
  const tn_status status = i < s->program->n_outputs
                               ? tn_rt_set_output(s->rt, i, data, bytes, &err)
                               : tn_error_set(&err, TN_INVALID, "there is no output '%.200s'", name);
  (void)status; /* it is in err */
  return tn_report_error(out_report, &err);
}

tn_status tn_session_link(tn_session *s, const char *output, const char *input, tn_report **out_report) {
  const tn_program *p = s->program;
  tn_error err = {0};
  const uint32_t to = session_port(p->inputs, p->n_inputs, input);
  const uint32_t from = output ? session_port(p->outputs, p->n_outputs, output) : UINT32_MAX;
  tn_status status;
  if (to == p->n_inputs || from == p->n_outputs)
    status = tn_error_set(&err, TN_INVALID, "there is no %s '%.200s'", to == p->n_inputs ? "input" : "output",
                          to == p->n_inputs ? input : output);
  else
    status = tn_rt_link(s->rt, from, to, &err);
  (void)status; /* it is in err */
  return tn_report_error(out_report, &err);
}

void tn_session_cancel(tn_session *s) { tn_rt_cancel(s->rt); }
void tn_session_set_deadline(tn_session *s, int64_t ns) { tn_rt_set_deadline(s->rt, ns); }

static bool session_on_progress(void *arg, uint32_t done, uint32_t all) {
  const tn_session *s = arg;
  return s->progress(s->progress_arg, done, all) != 0;
}

void tn_session_set_progress(tn_session *s, tn_progress_fn progress, void *arg) {
  s->progress = progress;
  s->progress_arg = arg;
  tn_rt_set_progress(s->rt, progress ? session_on_progress : NULL, s);
}

tn_status tn_session_set_gear(tn_session *s, int gear, tn_report **out_report) {
  tn_error err = {0};
  const tn_status status = tn_rt_set_gear(s->rt, gear, &err);
  (void)status;
  return tn_report_error(out_report, &err);
}

int tn_session_gear(const tn_session *s) { return tn_rt_gear(s->rt); }

void tn_session_trim(tn_session *s) {
  s->has_run = false;
  tn_rt_trim(s->rt);
}

static size_t session_count_arg(const tn_karg *a, int depth) {
  size_t n = 1;
  if (a->kind == TN_KARG_TENSOR || depth > SESSION_MAX_DEPTH) return n;
  for (int64_t i = 0; i < a->n_items; i++) n += session_count_arg(a->items[i], depth + 1);
  return n;
}

static void session_fill_tensor(const tn_karg *a, int depth, tn_tensor *out, tn_tensor **next) {
  *out = (tn_tensor){.kind = (tn_value_kind)a->kind, .dtype = a->dtype, .rank = a->rank};
  if (a->kind == TN_KARG_TENSOR) {
    out->dims = a->dims;
    out->data = a->data;
    if (!tn_dtype_bytes(a->dtype, a->count, &out->bytes)) out->bytes = 0;
    return;
  }
  if (depth > SESSION_MAX_DEPTH) return;
  tn_tensor *items = *next;
  *next += a->n_items;
  out->items = items;
  out->n_items = (size_t)a->n_items;
  for (int64_t i = 0; i < a->n_items; i++) session_fill_tensor(a->items[i], depth + 1, &items[i], next);
}

const tn_tensor *tn_session_output(tn_session *s, size_t i) {
  if (!s->has_run || i >= s->n_outputs) return NULL;
  const tn_karg *a = tn_rt_output(s->rt, (uint32_t)i);
  if (!a) return NULL;
  tn_tensor *out = session_room(s, &s->outputs[i], session_count_arg(a, 0) * sizeof *out);
  if (!out) return NULL;
  tn_tensor *next = out + 1;
  session_fill_tensor(a, 0, out, &next);
  return out;
}

void tn_session_get_stats(const tn_session *s, tn_session_stats *out) {
  const tn_rt_stats stats = tn_rt_get_stats(s->rt);
  const tn_session_stats full = {.size = sizeof full,
                                 .binds = stats.binds,
                                 .runs = stats.runs,
                                 .arena_bytes = stats.arena_bytes,
                                 .live_bytes = stats.live_bytes,
                                 .total_bytes = stats.total_bytes,
                                 .bind_hits = stats.bind_hits};
  const size_t size = out->size; /* an older version's is shorter */
  if (size < sizeof out->size || size > sizeof full) return;
  memcpy(out, &full, size);
  out->size = size;
}

/* Listening to steps. */

/* The first number of an output that is not finite, -1 when there is none. */
static int64_t session_not_finite(const tn_karg *a) {
  if (a->kind != TN_KARG_TENSOR || !a->data || !tn_dtype_is_float(a->dtype)) return -1;
  for (int64_t i = 0; i < a->count; i++) {
    const double v = tn_load_f64(a->dtype, a->data, i);
    if (!(v - v == 0)) return i;
  }
  return -1;
}

static tn_status session_check_finite(const tn_session *s, uint32_t step, const tn_kcall *call, tn_error *err) {
  for (int i = 0; i < call->n_out; i++) {
    const int64_t at = call->out[i] ? session_not_finite(call->out[i]) : -1;
    if (at < 0) continue;
    return tn_error_set(err, TN_MISMATCH, "%s: element %lld of output %d is %g", s->program->steps[step].label,
                        (long long)at, i, tn_load_f64(call->out[i]->dtype, call->out[i]->data, at));
  }
  return TN_OK;
}

static tn_status session_on_step(void *arg, uint32_t step, const tn_kcall *call, int64_t ns, tn_error *err) {
  tn_session *s = arg;
  if (s->rows && step < s->n_rows) {
    s->rows[step].calls++;
    s->rows[step].ns += ns;
  }
  if (s->trace)
    s->trace(s->trace_arg, s->program->steps[step].label, s->program->steps[step].kernel, tn_now_ns() - ns, ns);
  if (s->is_finite_checked) TN_TRY(session_check_finite(s, step, call, err));
  return s->hook ? s->hook(s->hook_arg, step, call, ns, err) : TN_OK;
}

static void session_update_hook(tn_session *s) {
  tn_rt_set_hook(s->rt, s->rows || s->hook || s->trace || s->is_finite_checked ? session_on_step : NULL, s);
}

void tn_session_trace(tn_session *s, tn_step_fn fn, void *arg) {
  s->trace = fn;
  s->trace_arg = arg;
  session_update_hook(s);
}

void tn_session_listen(tn_session *s, tn_rt_hook hook, void *arg) {
  s->hook = hook;
  s->hook_arg = arg;
  session_update_hook(s);
}

tn_status tn_session_start_profile(tn_session *s, bool on, tn_error *err) {
  if (on && !s->rows) {
    s->n_rows = s->program->n_steps;
    s->rows = tn_alloc(s->allocator, s->n_rows * sizeof *s->rows);
    if (!s->rows) return tn_error_set(err, TN_OOM, "no memory for a profile");
    for (size_t i = 0; i < s->n_rows; i++)
      s->rows[i] = (tn_profile_row){.label = s->program->steps[i].label, .kernel = s->program->steps[i].kernel};
  } else if (!on && s->rows) {
    tn_free(s->allocator, s->rows, s->n_rows * sizeof *s->rows);
    s->rows = NULL;
  }
  session_update_hook(s);
  return TN_OK;
}
