/* The tools behind the command line, on text. */
#include <stdlib.h>

#include "tenon/tenon_unstable.h"
#include "test.h"

static char tool_path[64];

static const char *tool_file(const char *text) {
  strcpy(tool_path, "/tmp/tenon-tool-XXXXXX");
  const int fd = mkstemp(tool_path);
  FILE *f = fd >= 0 ? fopen(tool_path, "w") : NULL;
  if (!CHECK(f != NULL)) return "";
  fputs(text, f);
  fclose(f);
  return tool_path;
}

static const char tool_model[] =
    "tenon 1\n"
    "graph @main(%x: f32[N,4]) -> (%y: ?) {\n"
    "  %s = shape(%x) : ?\n"
    "  %m = const() {value = dense(i64[1]: -1)} : i64[1]\n"
    "  %r = reshape(%x, %m) : ?\n"
    "  %y = exp(%r) : ?\n"
    "}\n";

TEST(infer_prints_json) {
  tn_blob b;
  CHECK_EQ_I(tn_tool_infer(tool_file(tool_model), NULL, 1, NULL, &b, NULL), TN_OK);
  remove(tool_path);
  CHECK_HAS(b.text, "\"N\": {\"min\": 0, \"max\": null, \"multiple_of\": 1, \"from\": \"dim 0 of input 'x'\"}");
  CHECK_HAS(b.text, "\"x\": {\"dtype\": \"float32\", \"shape\": [\"N\", 4]}");
  CHECK_HAS(b.text, "\"y\": {\"dtype\": \"float32\", \"shape\": [\"4*N\"]}");
  CHECK_HAS(b.text, "\"s\": {\"dtype\": \"int64\", \"shape\": [2]}");
  CHECK_HAS(b.text, "\"checks\": []");
  CHECK_HAS(b.text, "\"warnings\": []");
  tn_blob_free(&b);
}

TEST(only_a_model_is_written_back) {
  tn_blob b;
  tn_report *r;
  CHECK_EQ_I(tn_tool_infer(tool_file(tool_model), NULL, 1, "/tmp/tenon-out.onnx", &b, &r), TN_INVALID);
  remove(tool_path);
  CHECK_HAS(tn_report_text(r), "only an ONNX model");
  CHECK(b.text == NULL);
  tn_report_release(r);
}

TEST(passes_stop_where_told) {
  tn_blob all, one;
  const tn_tool_opt_options stop = {.size = sizeof stop, .stop_after = "infer", .stop_after_edits = -1};
  const tn_tool_opt_options none = {.size = sizeof none, .stop_after_edits = 0};
  tn_report *r;
  CHECK_EQ_I(tn_tool_opt(tool_file(tool_model), &stop, &all, NULL), TN_OK);
  CHECK_HAS(all.text, "%s = shape(%x)");
  CHECK_EQ_I(tn_tool_opt(tool_path, &none, &one, NULL), TN_OK); /* no optional pass may edit */
  CHECK_HAS(one.text, "%s = shape(%x)");
  tn_blob_free(&all);
  tn_blob_free(&one);
  const tn_tool_opt_options bad = {.size = sizeof bad, .passes = "fold,nothing", .stop_after_edits = -1};
  CHECK_EQ_I(tn_tool_opt(tool_path, &bad, &all, &r), TN_INVALID);
  CHECK_HAS(tn_report_text(r), "no pass 'nothing'");
  tn_report_release(r);
  remove(tool_path);
}

TEST(the_program_is_listed) {
  tn_blob b;
  const tn_tool_opt_options o = {.size = sizeof o, .program = 1, .time_passes = 1, .stop_after_edits = -1};
  CHECK_EQ_I(tn_tool_opt(tool_file(tool_model), &o, &b, NULL), TN_OK);
  remove(tool_path);
  CHECK_HAS(b.text, "# emit");
  CHECK_HAS(b.text, "bind s0 = dim 0 of v0");
  CHECK_HAS(b.text, "= exp v");
  tn_blob_free(&b);
}

TEST(tables) {
  tn_blob b;
  CHECK_EQ_I(tn_tool_knobs(0, &b, NULL), TN_OK);
  CHECK_HAS(b.text, "threads");
  tn_blob_free(&b);
  CHECK_EQ_I(tn_tool_ops(1, 0, &b), TN_OK);
  CHECK_HAS(b.text, "\"name\": \"MatMul\"");
  tn_blob_free(&b);
  const tn_tool_opt_options list = {.size = sizeof list, .list_passes = 1};
  CHECK_EQ_I(tn_tool_opt(NULL, &list, &b, NULL), TN_OK);
  CHECK_HAS(b.text, "symbolize\ninfer\n");
  tn_blob_free(&b);
}
