#include <sys/stat.h>
#include <unistd.h>

#include "onnx_test.h"

/* A folder with w.bin (8 floats 0..7), a link out of it, and a file outside. */
typedef struct place {
  char dir[64], model[100], file[100], link[100], outside[100];
} place;

static bool place_make(place *p) {
  static const float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  tn_error err = {0};
  const tn_bytes bytes = {(const uint8_t *)data, sizeof data};
  snprintf(p->dir, sizeof p->dir, "/tmp/tenon_onnx_XXXXXX");
  if (!CHECK(mkdtemp(p->dir))) return false;
  snprintf(p->outside, sizeof p->outside, "%s/secret.bin", p->dir);
  snprintf(p->model, sizeof p->model, "%s/m", p->dir);
  if (!CHECK(mkdir(p->model, 0700) == 0)) return false;
  snprintf(p->file, sizeof p->file, "%s/m/w.bin", p->dir);
  snprintf(p->link, sizeof p->link, "%s/m/link.bin", p->dir);
  snprintf(p->model, sizeof p->model, "%s/m/model.onnx", p->dir);
  return CHECK(tn_file_write(p->file, &bytes, 1, &err) == TN_OK) &&
         CHECK(tn_file_write(p->outside, &bytes, 1, &err) == TN_OK) && CHECK(symlink(p->outside, p->link) == 0);
}

static void place_drop(const place *p) {
  char sub[100];
  snprintf(sub, sizeof sub, "%s/m", p->dir);
  CHECK(unlink(p->file) == 0 && unlink(p->link) == 0 && unlink(p->outside) == 0);
  CHECK(rmdir(sub) == 0 && rmdir(p->dir) == 0);
}

static void add_entry(tn_ctx *ctx, msg *t, const char *key, const char *value) {
  msg e = m_new(ctx);
  m_str(&e, TN_F_entry_key, key);
  m_str(&e, TN_F_entry_value, value);
  m_msg(t, TN_F_tensor_external_data, &e);
}

static tn_status import_external(tn_ctx *ctx, const place *p, const char *location, const char *offset,
                                 const char *length, tn_graph **g) {
  msg graph = m_new(ctx), t = m_tensor(ctx, "w", TN_F32, 1, (const int64_t[]){2});
  add_entry(ctx, &t, "location", location);
  if (offset) add_entry(ctx, &t, "offset", offset);
  if (length) add_entry(ctx, &t, "length", length);
  m_int(&t, TN_F_tensor_data_location, 1);
  m_msg(&graph, TN_F_graph_initializer, &t);
  m_output(ctx, &graph, "w", TN_F32, NULL);
  const msg model = m_model(ctx, &graph);
  tn_onnx_model *m;
  const tn_status s = tn_onnx_read(ctx, tn_wire_out_bytes(&model), p->model, &m);
  return s == TN_OK ? tn_onnx_import(m, g) : s;
}

ONNX_TEST(read_at_an_offset) {
  place p;
  tn_graph *g;
  if (!place_make(&p)) return;
  if (CHECK(import_external(ctx, &p, "w.bin", "8", "8", &g) == TN_OK)) {
    const tn_lit *l = g->main->first->attrs[0].tensor;
    CHECK_EQ_F(tn_lit_f64(l, 0), 2);
    CHECK_EQ_F(tn_lit_f64(l, 1), 3);
    CHECK_STR(l->file, "w.bin");
    CHECK_EQ_I(l->file_offset, 8);
  }
  CHECK_EQ_I(import_external(ctx, &p, "./w.bin", NULL, NULL, &g), TN_OK);
  place_drop(&p);
}

#define CHECK_EXTERNAL(location, offset, length, status, text)                  \
  do {                                                                          \
    CHECK_EQ_I(import_external(ctx, &p, location, offset, length, &g), status); \
    CHECK_HAS(last_text(ctx), text);                                            \
  } while (0)

ONNX_TEST(confined_to_the_folder) {
  place p;
  tn_graph *g;
  if (!place_make(&p)) return;
  CHECK_EXTERNAL("../secret.bin", NULL, NULL, TN_INVALID, "is not a path inside the model's folder");
  CHECK_EXTERNAL("sub/../../secret.bin", NULL, NULL, TN_INVALID, "is not a path inside the model's folder");
  CHECK_EXTERNAL("/etc/passwd", NULL, NULL, TN_INVALID, "is not a path inside the model's folder");
  CHECK_EXTERNAL("link.bin", NULL, NULL, TN_INVALID, "leads out of the model's folder");
  CHECK_EXTERNAL("", NULL, NULL, TN_INVALID, "there is no location");
  place_drop(&p);
}

ONNX_TEST(sizes_are_checked) {
  place p;
  tn_graph *g;
  if (!place_make(&p)) return;
  CHECK_EXTERNAL("w.bin", "28", NULL, TN_INVALID, "8 bytes at offset 28 go past the end of the file, which has 32");
  CHECK_EXTERNAL("w.bin", "9223372036854775807", NULL, TN_INVALID, "go past the end");
  CHECK_EXTERNAL("w.bin", "0", "4", TN_INVALID, "data is shorter than the shape: it has 4 bytes");
  CHECK_EXTERNAL("w.bin", "-8", NULL, TN_INVALID, "external data: offset '-8' is no size");
  CHECK_EXTERNAL("w.bin", "99999999999999999999", NULL, TN_INVALID, "is no size");
  place_drop(&p);
}

/* Shapes can be inferred without the weights: what is missing becomes an input, and a warning says so. */
ONNX_TEST(missing_file) {
  place p;
  tn_graph *g;
  if (!place_make(&p)) return;
  CHECK_EXTERNAL("gone.bin", NULL, NULL, TN_OK, "it becomes an input of the model");
  CHECK_HAS(last_text(ctx), "initializer 'w': external data 'gone.bin': cannot");
  CHECK_EQ_I(g->main->n_params, 1);
  CHECK_STR(g->main->params[0]->name, "w");
  place_drop(&p);
}
