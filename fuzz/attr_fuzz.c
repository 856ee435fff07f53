/* Every operator under hostile attributes: bytes choose a row of the ONNX table, operands (shapes, types, content,
 * absent ones) and attribute values (huge axes, zero strides, negative pads, kernels larger than the input, sizes that
 * overflow); the model of this one node is imported, inferred, compiled and run, and its oracle too. Whatever comes, it
 * is a status with a sentence. Memory is capped, so what asks for too much ends as OOM. Bytes past the end continue as
 * a hash of those before. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "driver/compile.h"
#include "driver/session.h"
#include "fuzz/cap.h"
#include "ir/op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ATTR_BYTES = 1 << 16, ATTR_CAP = 48 << 20, ATTR_INPUTS = 16, ATTR_ELEMENTS = 4096 };

/* --- choices --- */

typedef struct attr_source {
  const uint8_t *data;
  size_t size, at;
  uint64_t seed;
} attr_source;

static uint32_t attr_pick(attr_source *s, uint32_t n) { /* below n <= 65536 */
  if (s->at + 1 < s->size) {
    const uint32_t v = (uint32_t)s->data[s->at] << 8 | s->data[s->at + 1];
    s->at += 2;
    return v % n;
  }
  return (uint32_t)(tn_rng_u64(s->seed, s->at++) % n);
}
static bool attr_chance(attr_source *s, uint32_t percent) { return attr_pick(s, 100) < percent; }

static int64_t attr_int(attr_source *s) {
  static const int64_t odd[] = {
      INT32_MAX,        INT32_MIN,     INT64_MAX, INT64_MIN, -1, INT64_C(1) << 40, 100,          -100,
      INT64_C(1) << 62, INT64_MAX - 1, 65536,     1 << 20,   -2, INT64_C(1) << 32, INT64_MIN + 1};
  return attr_chance(s, 70) ? (int64_t)attr_pick(s, 7) - 1 : odd[attr_pick(s, sizeof odd / sizeof odd[0])];
}
static float attr_float(attr_source *s) {
  static const float odd[] = {0,    -0.0f,           1,          -1,    0.5f, 2, 1e38f, -1e38f, 1e-40f,
                              3.5f, (float)INFINITY, (float)NAN, -0.5f, 100};
  return odd[attr_pick(s, sizeof odd / sizeof odd[0])];
}
static const char *attr_word(attr_source *s) {
  static const char *const words[] = {"",
                                      "SAME_UPPER",
                                      "SAME_LOWER",
                                      "VALID",
                                      "NOTSET",
                                      "constant",
                                      "reflect",
                                      "edge",
                                      "wrap",
                                      "linear",
                                      "cubic",
                                      "nearest",
                                      "zeros",
                                      "border",
                                      "bilinear",
                                      "DCR",
                                      "CRD",
                                      "sum",
                                      "mean",
                                      "none",
                                      "add",
                                      "mul",
                                      "max",
                                      "min",
                                      "tanh",
                                      "LEFT",
                                      "RIGHT",
                                      "forward",
                                      "reverse",
                                      "avg",
                                      "bidirectional",
                                      "asymmetric",
                                      "half_pixel",
                                      "floor",
                                      "ceil",
                                      "TF",
                                      "IDF",
                                      "TFIDF",
                                      "reflection",
                                      "ij,jk->ik",
                                      "...i->i...",
                                      "ii->i",
                                      "i,j",
                                      "align_corners",
                                      "round_prefer_floor",
                                      "silu",
                                      "LOWER",
                                      "[a-z]*(b|c)+",
                                      "Relu",
                                      "Tanh",
                                      "Sigmoid",
                                      "Clip",
                                      "HardSigmoid",
                                      "LeakyRelu",
                                      "gated_delta",
                                      "output_half_pixel"};
  return words[attr_pick(s, sizeof words / sizeof words[0])];
}

/* --- protobuf --- */

typedef struct attr_text {
  size_t n;
  uint8_t bytes[ATTR_BYTES];
} attr_text;

static void attr_byte(attr_text *t, uint8_t b) {
  if (t->n < ATTR_BYTES) t->bytes[t->n++] = b;
}
static void attr_varint(attr_text *t, uint64_t v) {
  for (; v > 127; v >>= 7) attr_byte(t, (uint8_t)(v | 128));
  attr_byte(t, (uint8_t)v);
}
static void attr_number(attr_text *t, int field, int64_t v) {
  attr_varint(t, (uint64_t)field << 3);
  attr_varint(t, (uint64_t)v);
}
static void attr_blob(attr_text *t, int field, const void *data, size_t n) {
  attr_varint(t, (uint64_t)field << 3 | 2);
  attr_varint(t, n);
  for (size_t i = 0; i < n; i++) attr_byte(t, ((const uint8_t *)data)[i]);
}
static void attr_string(attr_text *t, int field, const char *z) { attr_blob(t, field, z, strlen(z)); }
static void attr_single(attr_text *t, int field, float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  attr_varint(t, (uint64_t)field << 3 | 5);
  for (int i = 0; i < 4; i++) attr_byte(t, (uint8_t)(bits >> (8 * i)));
}
/* A message that is built apart; too large a one is cut, which the reader refuses. */
static void attr_message(attr_text *t, int field, const attr_text *m) { attr_blob(t, field, m->bytes, m->n); }
static attr_text *attr_new(void) {
  attr_text *const t = calloc(1, sizeof *t);
  if (!t) abort();
  return t;
}

/* --- operands --- */

typedef struct attr_operand {
  bool present, fed;
  tn_dtype dtype;
  int rank;
  int64_t dims[8], count;
  uint8_t *data;
  size_t bytes;
} attr_operand;

static tn_dtype attr_dtype(attr_source *s, uint64_t set) {
  tn_dtype all[64];
  uint32_t n = 0;
  if (!set) set = TN_SET_NUMBERS | TN_SET(BOOL);
  for (int d = 1; d < TN_N_DTYPES && d < 64; d++)
    if ((set >> d & 1) && tn_dtype_bits((tn_dtype)d) > 0) all[n++] = (tn_dtype)d;
  if ((set >> TN_F32 & 1) && attr_chance(s, 50)) return TN_F32;
  return n ? all[attr_pick(s, n)] : TN_F32;
}

static void attr_fill(attr_source *s, attr_operand *o) {
  if (!tn_dtype_bytes(o->dtype, o->count, &o->bytes)) abort();
  o->data = calloc(1, o->bytes + 16);
  if (!o->data) abort();
  const bool odd = attr_chance(s, 25);
  for (int64_t i = 0; i < o->count; i++) {
    if (o->dtype == TN_STR)
      ((tn_str *)(void *)o->data)[i] = tn_str_of(attr_word(s));
    else if (tn_dtype_cls(o->dtype) == TN_CLASS_COMPLEX)
      ((float *)(void *)o->data)[i] = attr_float(s);
    else if (tn_dtype_is_float(o->dtype))
      tn_store_f64(o->dtype, o->data, i, odd ? (double)attr_float(s) : (double)attr_pick(s, 33) / 8 - 2);
    else
      tn_store_i64(o->dtype, o->data, i, odd ? attr_int(s) : (int64_t)attr_pick(s, 4));
  }
}

static void attr_operands(attr_source *s, const tn_op *op, attr_operand *all, int *out_n) {
  const uint32_t base = attr_pick(s, 6);
  int64_t common[8];
  int n = 0;
  for (int d = 0; d < 8; d++) common[d] = attr_chance(s, 6) ? 0 : 1 + attr_pick(s, 5);
  tn_dtype group = TN_DTYPE_NONE;
  for (int i = 0; n < ATTR_INPUTS; i++) {
    const tn_port *const port = tn_op_in_port(op, i);
    if (!port || ((port->flags & TN_PORT_VARIADIC) && i > 0 && attr_chance(s, 40))) break;
    attr_operand *const o = &all[n++];
    *o = (attr_operand){.present = !(port->flags & TN_PORT_OPTIONAL) || attr_chance(s, 60), .count = 1};
    o->dtype = attr_dtype(s, port->dtypes);
    if (port->same && group != TN_DTYPE_NONE && attr_chance(s, 95) && (!port->dtypes || (port->dtypes >> group & 1)))
      o->dtype = group;
    if (port->same && group == TN_DTYPE_NONE) group = o->dtype;
    o->rank = port->rank ? port->rank : (int)(attr_chance(s, 75) ? base : attr_pick(s, 5));
    if (i > 0 && !port->same && !port->rank) o->rank = (int)attr_pick(s, 3);
    for (int d = 0; d < o->rank; d++) {
      o->dims[d] = attr_chance(s, 75) ? common[d] : (int64_t)attr_pick(s, 7);
      o->count *= o->dims[d];
    }
    if (o->count > ATTR_ELEMENTS) o->count = o->dims[0] = 0; /* an empty one instead of a large one */
    o->fed = attr_chance(s, 50) || o->dtype == TN_STR;
    attr_fill(s, o);
  }
  *out_n = n;
}

static attr_text *attr_tensor(const attr_operand *o, const char *name) {
  attr_text *const t = attr_new();
  for (int d = 0; d < o->rank; d++) attr_number(t, 1, o->dims[d]);
  attr_number(t, 2, o->dtype);
  attr_string(t, 8, name);
  for (int64_t i = 0; i < o->count && o->dtype == TN_STR; i++)
    attr_blob(t, 6, ((const tn_str *)(const void *)o->data)[i].ptr, ((const tn_str *)(const void *)o->data)[i].len);
  if (o->dtype != TN_STR) attr_blob(t, 9, o->data, o->bytes);
  return t;
}
static attr_text *attr_value_info(const attr_operand *o, const char *name) {
  attr_text *const t = attr_new(), *const type = attr_new(), *const tensor = attr_new(), *const shape = attr_new();
  for (int d = 0; d < o->rank; d++) {
    attr_text *const dim = attr_new();
    if (o->dims[d] % 2) attr_number(dim, 1, o->dims[d]); /* the others are symbols */
    attr_message(shape, 1, dim);
    free(dim);
  }
  attr_number(tensor, 1, o->dtype);
  attr_message(tensor, 2, shape);
  attr_message(type, 1, tensor);
  attr_string(t, 1, name);
  attr_message(t, 2, type);
  free(type);
  free(tensor);
  free(shape);
  return t;
}

/* --- attributes --- */

static void attr_value(attr_source *s, attr_text *t, tn_attr_kind kind) {
  static const uint8_t numbers[] = {
      [TN_ATTR_INT] = 2,    [TN_ATTR_DTYPE] = 2, [TN_ATTR_FLOAT] = 1,  [TN_ATTR_STR] = 3,
      [TN_ATTR_TENSOR] = 4, [TN_ATTR_INTS] = 7,  [TN_ATTR_FLOATS] = 6, [TN_ATTR_STRS] = 8};
  static const uint32_t usual[] = {1, 2, 4, 2, 4, 3};
  const uint32_t n = attr_chance(s, 80) ? usual[attr_pick(s, 6)] : attr_pick(s, 18);
  attr_number(t, 20, numbers[kind]);
  if (kind == TN_ATTR_INT) attr_number(t, 3, attr_int(s));
  if (kind == TN_ATTR_DTYPE) attr_number(t, 3, attr_chance(s, 90) ? attr_pick(s, 27) : attr_int(s));
  if (kind == TN_ATTR_FLOAT) attr_single(t, 2, attr_float(s));
  if (kind == TN_ATTR_STR) attr_string(t, 4, attr_word(s));
  for (uint32_t i = 0; i < n && kind == TN_ATTR_INTS; i++) attr_number(t, 8, attr_int(s));
  for (uint32_t i = 0; i < n && kind == TN_ATTR_FLOATS; i++) attr_single(t, 7, attr_float(s));
  for (uint32_t i = 0; i < n && kind == TN_ATTR_STRS; i++) attr_string(t, 9, attr_word(s));
  if (kind == TN_ATTR_TENSOR) {
    attr_operand o = {.dtype = attr_dtype(s, 0), .rank = (int)attr_pick(s, 3), .count = 1};
    for (int d = 0; d < o.rank; d++) o.count *= o.dims[d] = attr_pick(s, 3);
    attr_fill(s, &o);
    attr_text *const tensor = attr_tensor(&o, "t");
    attr_message(t, 5, tensor);
    free(tensor);
    free(o.data);
  }
}
static void attr_add(attr_source *s, attr_text *node, const char *name, tn_attr_kind kind) {
  if (kind == TN_ATTR_NONE || kind > TN_ATTR_STRS) return;
  attr_text *const t = attr_new();
  attr_string(t, 1, name);
  attr_value(s, t, kind);
  attr_message(node, 5, t);
  free(t);
}
static void attr_all(attr_source *s, const tn_onnx_row *row, attr_text *node) {
  static const struct {
    const char *name;
    tn_attr_kind kind;
  } more[] = {{"axis", TN_ATTR_INT},          {"num_heads", TN_ATTR_INT},     {"kernel_shape", TN_ATTR_INTS},
              {"pads", TN_ATTR_INTS},         {"strides", TN_ATTR_INTS},      {"block_size", TN_ATTR_INT},
              {"bits", TN_ATTR_INT},          {"quantize_axis", TN_ATTR_INT}, {"gather_axis", TN_ATTR_INT},
              {"channels_last", TN_ATTR_INT}, {"transA", TN_ATTR_INT},        {"alpha", TN_ATTR_FLOAT},
              {"activation", TN_ATTR_STR},    {"transBatchA", TN_ATTR_INT},   {"activation_params", TN_ATTR_FLOATS},
              {"axes", TN_ATTR_INTS},         {"kv_num_heads", TN_ATTR_INT},  {"qkv_hidden_sizes", TN_ATTR_INTS},
              {"scales", TN_ATTR_FLOATS},     {"broadcast", TN_ATTR_INT},     {"split", TN_ATTR_INTS},
              {"do_rotary", TN_ATTR_INT},     {"epsilon", TN_ATTR_FLOAT},     {"perm", TN_ATTR_INTS}};
  for (int i = 0; i < tn_op_n_attrs(row->op); i++) {
    const tn_attr_row *const a = &row->op->attrs[i];
    if (attr_chance(s, a->required ? 97 : 55)) attr_add(s, node, a->name, a->kind);
  }
  for (int i = 0; i < 2; i++) /* what only an importer knows */
    if (attr_chance(s, row->domain[0] ? 50 : 8)) {
      const uint32_t at = attr_pick(s, sizeof more / sizeof more[0]);
      attr_add(s, node, more[at].name, more[at].kind);
    }
}

/* --- the model and its run --- */

static attr_text *attr_model(attr_source *s, const tn_onnx_row *row, const attr_operand *all, int n, int n_out) {
  attr_text *const model = attr_new(), *const graph = attr_new(), *const node = attr_new();
  char name[16];
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, "x%d", i);
    attr_string(node, 1, all[i].present ? name : "");
    if (!all[i].present) continue;
    attr_text *const part = all[i].fed ? attr_value_info(&all[i], name) : attr_tensor(&all[i], name);
    attr_message(graph, all[i].fed ? 11 : 5, part);
    free(part);
  }
  for (int i = 0; i < n_out; i++) {
    attr_text *const out = attr_new();
    snprintf(name, sizeof name, "y%d", i);
    attr_string(node, 2, name);
    attr_string(out, 1, name);
    attr_message(graph, 12, out);
    free(out);
  }
  attr_string(node, 4, row->name);
  attr_string(node, 7, row->domain);
  attr_all(s, row, node);
  attr_message(graph, 1, node);
  attr_number(model, 1, 10);
  attr_message(model, 7, graph);
  for (int i = 0; i < 2; i++) {
    attr_text *const set = attr_new();
    const int version = row->last == TN_LATEST ? (row->since > 21 || row->domain[0] ? row->since : 21) : row->last;
    if (i) attr_string(set, 1, row->domain);
    attr_number(set, 2, i == (row->domain[0] != 0) ? version : 21);
    if (i == 0 || row->domain[0]) attr_message(model, 8, set);
    free(set);
  }
  free(graph);
  free(node);
  return model;
}

static void attr_run(tn_program *p, tn_allocator a, const attr_operand *all, int n) {
  tn_session *session = NULL;
  tn_error err = {0};
  const tn_session_options o = {.size = sizeof o, .threads = 1};
  if (tn_session_new(a, p, &o, &session, &err) != TN_OK) return;
  tn_status status = TN_OK;
  for (int i = 0; i < n && status == TN_OK; i++) {
    char name[16];
    snprintf(name, sizeof name, "x%d", i);
    const tn_tensor t = {.dtype = all[i].dtype, .rank = all[i].rank, .dims = all[i].dims, .data = all[i].data};
    if (all[i].present && all[i].fed) status = tn_session_set_input(session, name, &t, NULL);
  }
  tn_report *report = NULL;
  status = tn_session_run(session, &report);
  if (status == TN_INTERNAL || (status != TN_OK && tn_report_count(report) == 0)) {
    printf("%s\n", tn_report_text(report));
    abort();
  }
  tn_report_release(report);
  tn_session_release(session);
}

static void attr_case(attr_source *s) {
  attr_operand all[ATTR_INPUTS] = {{0}};
  int n = 0;
  const tn_onnx_row *const row = tn_onnx_at((int)attr_pick(s, (uint32_t)tn_onnx_count()));
  if (!row->op || row->op->n_regions) return;
  attr_operands(s, row->op, all, &n);
  int n_out = 1;
  while (n_out < 4 && tn_op_out_port(row->op, n_out) && attr_chance(s, 60)) n_out++;
  attr_text *const model = attr_model(s, row, all, n, n_out);
  if (getenv("TENON_ATTR_SAVE")) {
    FILE *const f = fopen(getenv("TENON_ATTR_SAVE"), "wb");
    if (f) fwrite(model->bytes, 1, model->n, f), fclose(f);
  }
  fuzz_cap cap = fuzz_cap_new(ATTR_CAP);
  const tn_allocator a = fuzz_cap_allocator(&cap);
  const tn_compile_request q = {.allocator = a, .bytes = {model->bytes, model->n}, .max_edits = -1};
  tn_program *p = NULL;
  tn_report *report = NULL;
  const tn_status status = tn_compile(&q, NULL, &p, &report);
  if (status == TN_INTERNAL || (status != TN_OK && status != TN_OOM && tn_report_count(report) == 0)) {
    printf("%s\n", tn_report_text(report));
    abort();
  }
  tn_report_release(report);
  if (status == TN_OK) attr_run(p, a, all, n);
  tn_program_release(p);
  if (cap.live != 0) abort();
  free(model);
  for (int i = 0; i < n; i++) free(all[i].data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  attr_source s = {.data = data, .size = size, .seed = tn_hash_bytes(data, size, 0)};
  attr_case(&s);
  return 0;
}
