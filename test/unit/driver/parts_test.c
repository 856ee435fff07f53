/* Parts of a model in memory: what is known of each, one taken out, put in again, others in its place. */
#include <math.h>
#include <stdlib.h>

#include "tenon/tenon_unstable.h"
#include "test.h"

static const char *const example = TN_SOURCE_DIR "/examples/dynamic.onnx";
static const char *const forced[] = {"/MatMul_*", "/Conv_*"};

static tn_parts *split_example(void) {
  const tn_tool_split_options o = {
      .size = sizeof o, .min_static_ops = 0, .force_dynamic = forced, .n_force_dynamic = 2};
  tn_parts *p = NULL;
  tn_report *report = NULL;
  if (!CHECK_EQ_I(tn_parts_create(example, &o, &p, &report), TN_OK)) puts(tn_report_text(report));
  tn_report_release(report);
  return p;
}

static uint32_t bits = 1;
static float noise(void) { return (float)((bits = bits * 1664525u + 1013904223u) >> 8) / (float)(1 << 24) - 0.5f; }

/* The outputs of a program over fixed inputs; those it does not ask for are left out. */
static bool run(tn_program *program, tn_session **out) {
  static float image[1 * 3 * 32 * 32];
  static const int64_t tokens[1 * 7] = {1, 2, 3, 4, 5, 6, 0}, image_dims[] = {1, 3, 32, 32}, tokens_dims[] = {1, 7};
  for (size_t i = 0; image[0] == 0 && i < sizeof image / sizeof *image; i++) image[i] = noise();
  if (!CHECK_EQ_I(tn_session_create(program, NULL, out, NULL), TN_OK)) return false;
  tn_report *report = NULL;
  tn_status s = tn_session_set_input(*out, "image",
                                     &(tn_tensor){.dtype = TN_F32, .rank = 4, .dims = image_dims, .data = image}, NULL);
  if (s == TN_OK)
    s = tn_session_set_input(*out, "tokens",
                             &(tn_tensor){.dtype = TN_I64, .rank = 2, .dims = tokens_dims, .data = tokens}, NULL);
  if (s == TN_OK) s = tn_session_run(*out, &report);
  if (!CHECK_EQ_I(s, TN_OK)) puts(tn_report_text(report));
  tn_report_release(report);
  return s == TN_OK;
}

static void check_same(tn_session *a, tn_session *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const tn_tensor *x = tn_session_output(a, i), *y = tn_session_output(b, i);
    if (!CHECK_EQ_I(x->rank, y->rank) || !CHECK_EQ_I(x->bytes, y->bytes)) return;
    for (size_t j = 0; j < x->bytes / sizeof(float); j++)
      CHECK(fabsf(((const float *)x->data)[j] - ((const float *)y->data)[j]) <= 1e-5f);
  }
}

/* Compiled and run, the list gives what the whole model gives. */
static void check_whole(const tn_parts *p) {
  tn_program *whole = NULL, *joined = NULL;
  tn_session *a = NULL, *b = NULL;
  tn_report *report = NULL;
  CHECK_EQ_I(tn_compile_file(example, NULL, &whole, NULL), TN_OK);
  if (!CHECK_EQ_I(tn_parts_compile(p, NULL, &joined, &report), TN_OK)) puts(tn_report_text(report));
  tn_report_release(report);
  if (whole && joined && CHECK_EQ_I(tn_program_output_count(joined), 3) && run(whole, &a) && run(joined, &b))
    check_same(a, b, 3);
  tn_session_release(a);
  tn_session_release(b);
  if (whole) tn_program_free(whole);
  if (joined) tn_program_free(joined);
}

TEST(parts_are_listed) {
  tn_parts *p = split_example();
  if (!p) return;
  size_t nodes = 0, dynamic = 0;
  CHECK(tn_parts_count(p) > 3);
  for (size_t i = 0; i < tn_parts_count(p); i++) {
    tn_part_info info;
    tn_part_port port;
    CHECK_EQ_I(tn_parts_get(p, i, &info), TN_OK);
    CHECK_EQ_I(tn_parts_find(p, info.name), i);
    CHECK(strstr(info.name, info.kind) != NULL && strcmp(info.engine, "tenon") == 0);
    CHECK(info.stage == -1 && info.model_bytes > 0 && info.n_inputs > 0 && info.n_outputs > 0);
    CHECK(strstr(info.flops, "batch") || strcmp(info.kind, "static") == 0 || info.n_nodes < 8);
    for (size_t j = 0; j < info.n_inputs; j++) {
      CHECK_EQ_I(tn_parts_input(p, i, j, &port), TN_OK);
      CHECK(port.name[0] && port.type_text[0] && port.bytes);
    }
    CHECK_EQ_I(tn_parts_output(p, i, info.n_outputs, &port), TN_INVALID);
    CHECK_EQ_I(tn_parts_output(p, i, 0, &port), TN_OK);
    nodes += info.n_nodes;
    dynamic += strcmp(info.kind, "dynamic") == 0;
  }
  CHECK(nodes >= 64 && dynamic > 0); /* the model has 64, aliases may be in several parts */
  CHECK_EQ_I(tn_parts_get(p, tn_parts_count(p), &(tn_part_info){0}), TN_INVALID);
  CHECK_EQ_I(tn_parts_find(p, "no such part"), tn_parts_count(p));
  check_whole(p);
  tn_parts_release(p);
}

/* Without a part its results are inputs of the rest; the part put in again makes the whole. */
TEST(parts_go_and_come) {
  tn_parts *p = split_example();
  if (!p) return;
  for (size_t i = 0; i < tn_parts_count(p); i++) {
    tn_part_info info;
    tn_program *rest = NULL;
    tn_report *report = NULL;
    CHECK_EQ_I(tn_parts_get(p, 0, &info), TN_OK);
    char name[128];
    unsigned char *model = malloc(info.model_bytes);
    const size_t bytes = info.model_bytes;
    snprintf(name, sizeof name, "%s", info.name);
    if (!CHECK(model != NULL)) break;
    memcpy(model, info.model, bytes);
    CHECK_EQ_I(tn_parts_remove(p, name, NULL), TN_OK);
    CHECK_EQ_I(tn_parts_remove(p, name, &report), TN_INVALID);
    CHECK_HAS(tn_report_text(report), name);
    tn_report_release(report);
    CHECK_EQ_I(tn_parts_compile(p, NULL, &rest, NULL), TN_OK);
    if (rest) tn_program_free(rest);
    CHECK_EQ_I(tn_parts_add(p, name, model, bytes, NULL), TN_OK); /* now the last: order does not matter */
    CHECK_EQ_I(tn_parts_add(p, name, model, bytes, NULL), TN_INVALID);
    memset(model, 0, bytes);
    free(model);
  }
  check_whole(p);
  tn_parts_release(p);
}

TEST(parts_refuse) {
  tn_parts *p = split_example();
  tn_program *program = NULL;
  tn_report *report = NULL;
  if (!p) return;
  const size_t n = tn_parts_count(p);
  CHECK(tn_parts_add(p, "bytes", "no model", 8, &report) != TN_OK);
  CHECK(tn_report_count(report) > 0);
  tn_report_release(report);
  CHECK(tn_parts_add(p, "nothing", "", 0, NULL) != TN_OK);
  CHECK_EQ_I(tn_parts_count(p), n);
  while (tn_parts_count(p)) {
    tn_part_info info;
    CHECK_EQ_I(tn_parts_get(p, 0, &info), TN_OK);
    CHECK_EQ_I(tn_parts_remove(p, info.name, NULL), TN_OK);
  }
  CHECK_EQ_I(tn_parts_compile(p, NULL, &program, &report), TN_INVALID);
  CHECK_HAS(tn_report_text(report), "no part that is left gives an output");
  tn_report_release(report);
  tn_parts_release(p);
  CHECK(tn_parts_create("/nowhere.onnx", &(tn_tool_split_options){.size = sizeof(tn_tool_split_options)}, &p, NULL) !=
        TN_OK);
}

/* Damaged models as parts: whatever they are, adding and compiling them ends with a status and a sentence. */
TEST(parts_are_hostile) {
  tn_parts *p = split_example();
  if (!p) return;
  tn_part_info info;
  tn_report *report = NULL;
  CHECK_EQ_I(tn_parts_get(p, 0, &info), TN_OK);
  const size_t bytes = info.model_bytes;
  unsigned char *model = malloc(bytes), *damaged = malloc(bytes);
  if (!CHECK(model && damaged)) return;
  memcpy(model, info.model, bytes);
  CHECK_EQ_I(tn_parts_remove(p, info.name, NULL), TN_OK);
  for (int round = 0; round < 60; round++) {
    memcpy(damaged, model, bytes);
    size_t n = bytes;
    for (int i = 0; i < 3; i++) {
      const size_t at = (size_t)((noise() + 0.5f) * (float)(bytes - 1));
      damaged[at] = (unsigned char)(bits >> 13);
      if (bits >> 28 == 0) n = at;
    }
    tn_program *program = NULL;
    tn_status s = tn_parts_add(p, "damaged", damaged, n, &report);
    CHECK(s == TN_OK || tn_report_count(report) > 0);
    tn_report_release(report);
    if (s != TN_OK) continue;
    s = tn_parts_compile(p, NULL, &program, &report);
    CHECK(s != TN_INTERNAL && (s == TN_OK || tn_report_count(report) > 0));
    tn_report_release(report);
    if (program) tn_program_free(program);
    CHECK_EQ_I(tn_parts_remove(p, "damaged", NULL), TN_OK);
  }
  free(model);
  free(damaged);
  tn_parts_release(p);
}
