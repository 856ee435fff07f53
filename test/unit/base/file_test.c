#include "base/file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char folder[200];

static const char *in_folder(const char *name) {
  static char path[4][500];
  static int turn;
  turn = (turn + 1) % 4;
  snprintf(path[turn], sizeof path[0], "%s/%s", folder, name);
  return path[turn];
}

static tn_bytes bytes_of(const char *z) { return (tn_bytes){(const uint8_t *)z, strlen(z)}; }

static void put(const char *name, const char *text) {
  const tn_bytes part = bytes_of(text);
  tn_error err = {0};
  CHECK_EQ_I(tn_file_write(in_folder(name), &part, 1, &err), TN_OK);
  CHECK_STR(err.text, "");
}

static bool make_folder(void) {
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.150s/tenon-file-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
  return CHECK(mkdtemp(folder));
}

/* Empties and removes the folder, and tells how many names were in it. */
static void remove_folder(const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++) CHECK(unlink(in_folder(names[i])) == 0 || rmdir(in_folder(names[i])) == 0);
  CHECK(rmdir(folder) == 0); /* nothing else was left behind */
}

static void check_refused(const char *path, tn_status status, const char *part) {
  tn_alloc_probe probe = {.inner = tn_allocator_system()};
  tn_error err = {0};
  tn_file *f;
  CHECK_EQ_I(tn_file_map(tn_allocator_probe(&probe), path, &f, &err), status);
  CHECK(!f);
  CHECK_HAS(err.text, part);
  CHECK_EQ_I(probe.live_bytes, 0);
}

TEST(map) {
  if (!make_folder()) return;
  put("a", "hello");
  put("empty", "");
  tn_error err = {0};
  tn_file *f, *g;
  CHECK_EQ_I(tn_file_map(tn_allocator_system(), in_folder("a"), &f, &err), TN_OK);
  CHECK(f && f->bytes.len == 5 && memcmp(f->bytes.ptr, "hello", 5) == 0);
  CHECK_EQ_I(tn_file_map(tn_allocator_system(), in_folder("empty"), &g, &err), TN_OK);
  CHECK(g && g->bytes.len == 0 && g->bytes.ptr);
  tn_file_close(f);
  tn_file_close(g);
  tn_file_close(NULL);
  CHECK(mkfifo(in_folder("pipe"), 0600) == 0);
  check_refused(in_folder("missing"), TN_IO, "No such file or directory");
  check_refused(folder, TN_IO, "is a directory");
  check_refused(in_folder("pipe"), TN_IO, "is not a regular file");
  check_refused("/dev/zero", TN_IO, "is not a regular file");
  remove_folder((const char *const[]){"a", "empty", "pipe"}, 3);
}

TEST(map_without_memory) {
  if (!make_folder()) return;
  put("a", "hello");
  tn_alloc_probe probe = {.inner = tn_allocator_system(), .fail_at = 1};
  tn_error err = {0};
  tn_file *f;
  CHECK_EQ_I(tn_file_map(tn_allocator_probe(&probe), in_folder("a"), &f, &err), TN_OOM);
  CHECK(!f);
  remove_folder((const char *const[]){"a"}, 1);
}

static tn_status inside(const char *relative, char text[1000]) {
  tn_error err = {0};
  tn_file *f;
  const tn_status status = tn_file_map_inside(tn_allocator_system(), in_folder("model"), relative, &f, &err);
  snprintf(text, 1000, "%s", err.text);
  if (status == TN_OK) snprintf(text, 1000, "%.*s", (int)f->bytes.len, (const char *)f->bytes.ptr);
  tn_file_close(f);
  return status;
}

static void check_inside(const char *relative, tn_status status, const char *part) {
  char text[1000];
  if (!CHECK_EQ_I(inside(relative, text), status)) printf("  for '%s': %s\n", relative, text);
  CHECK_HAS(text, part);
}

TEST(map_inside) {
  if (!make_folder()) return;
  CHECK(mkdir(in_folder("model"), 0700) == 0 && mkdir(in_folder("model/sub"), 0700) == 0);
  put("secret", "secret");
  put("model/w.bin", "weights");
  put("model/sub/v.bin", "more");
  CHECK(symlink("../secret", in_folder("model/out")) == 0);
  CHECK(symlink(in_folder("secret"), in_folder("model/out_absolute")) == 0);
  CHECK(symlink("..", in_folder("model/up")) == 0);
  CHECK(symlink("sub/v.bin", in_folder("model/in")) == 0);
  CHECK(symlink("sub", in_folder("model/sub_link")) == 0);
  CHECK(symlink("loop", in_folder("model/loop")) == 0);
  CHECK(mkdir(in_folder("model_more"), 0700) == 0);
  put("model_more/x", "x");
  CHECK(symlink("../model_more/x", in_folder("model/sibling")) == 0);

  check_inside("w.bin", TN_OK, "weights");
  check_inside("./sub//v.bin", TN_OK, "more");
  check_inside("in", TN_OK, "more");
  check_inside("sub_link/v.bin", TN_OK, "more");
  check_inside("out", TN_INVALID, "leads out of the model's folder");
  check_inside("out_absolute", TN_INVALID, "leads out of the model's folder");
  check_inside("up/secret", TN_INVALID, "leads out of the model's folder");
  check_inside("sibling", TN_INVALID, "leads out of the model's folder");
  check_inside("loop", TN_IO, "cannot open 'loop'");
  check_inside("../secret", TN_INVALID, "is not a path inside");
  check_inside("sub/../w.bin", TN_INVALID, "is not a path inside");
  check_inside("/etc/passwd", TN_INVALID, "is not a path inside");
  check_inside("", TN_INVALID, "is not a path inside");
  check_inside(".", TN_INVALID, "is not a path inside");
  check_inside("sub", TN_IO, "is a directory");
  check_inside("missing", TN_IO, "No such file");
  check_inside("w.bin/x", TN_IO, "Not a directory");

  remove_folder((const char *const[]){"model/out", "model/out_absolute", "model/up", "model/in", "model/sub_link",
                                      "model/loop", "model/sibling", "model/sub/v.bin", "model/sub", "model/w.bin",
                                      "model", "model_more/x", "model_more", "secret"},
                14);
}

TEST(write_parts_and_replace) {
  if (!make_folder()) return;
  const tn_bytes parts[] = {bytes_of("ab"), bytes_of(""), bytes_of("cde")};
  tn_error err = {0};
  put("a", "old and longer");
  const mode_t mask = umask(027);
  CHECK_EQ_I(tn_file_write(in_folder("a"), parts, 3, &err), TN_OK);
  umask(mask);
  tn_file *f;
  CHECK_EQ_I(tn_file_map(tn_allocator_system(), in_folder("a"), &f, &err), TN_OK);
  CHECK(f && f->bytes.len == 5 && memcmp(f->bytes.ptr, "abcde", 5) == 0);
  tn_file_close(f);
  struct stat st;
  CHECK(stat(in_folder("a"), &st) == 0 && (st.st_mode & 0777) == 0640);
  remove_folder((const char *const[]){"a"}, 1);
}

TEST(write_many_parts) {
  if (!make_folder()) return;
  enum { N = 1000 };
  static tn_bytes parts[N];
  static uint8_t big[300000];
  size_t total = 0;
  for (size_t i = 0; i < sizeof big; i++) big[i] = (uint8_t)(i % 251);
  for (size_t i = 0; i < N; i++) parts[i] = (tn_bytes){big, i % 100 == 99 ? sizeof big - i : i % 3};
  for (size_t i = 0; i < N; i++) total += parts[i].len;
  tn_error err = {0};
  tn_file *f;
  CHECK_EQ_I(tn_file_write(in_folder("a"), parts, N, &err), TN_OK);
  CHECK_EQ_I(tn_file_map(tn_allocator_system(), in_folder("a"), &f, &err), TN_OK);
  bool same = CHECK(f && f->bytes.len == total);
  for (size_t i = 0, at = 0; i < N && same; at += parts[i++].len)
    same = memcmp(f->bytes.ptr + at, parts[i].ptr, parts[i].len) == 0;
  CHECK(same);
  tn_file_close(f);
  remove_folder((const char *const[]){"a"}, 1);
}

TEST(write_refusals) {
  if (!make_folder()) return;
  const tn_bytes part = bytes_of("x");
  tn_error err = {0};
  CHECK_EQ_I(tn_file_write(folder, &part, 1, &err), TN_IO);
  CHECK_HAS(err.text, "Is a directory");
  memset(&err, 0, sizeof err);
  CHECK_EQ_I(tn_file_write(in_folder("no/such/folder"), &part, 1, &err), TN_IO);
  CHECK_HAS(err.text, "No such file or directory");
  memset(&err, 0, sizeof err);
  CHECK_EQ_I(tn_file_write("/dev/full", &part, 1, &err), TN_IO);
  CHECK_HAS(err.text, "No space left on device");
  memset(&err, 0, sizeof err);
  CHECK_EQ_I(tn_file_write("/dev/null", &part, 1, &err), TN_OK);
  struct stat st;
  CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode)); /* still the device */
  remove_folder(NULL, 0);
}
