/* Programs whose constants lie in a file beside their own. */
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "code/build.h"
#include "code/codec.h"
#include "test.h"

static tn_alloc_probe source_probe;

static tn_allocator source_allocator(void) {
  source_probe = (tn_alloc_probe){.inner = tn_allocator_system()};
  return tn_allocator_probe(&source_probe);
}

static void source_free(tn_allocator a, tn_bytes b) { tn_free(a, (void *)(uintptr_t)b.ptr, b.len); }

static char source_folder[200];

static const char *source_path(void) {
  static char path[300];
  snprintf(path, sizeof path, "%s/w.bin", source_folder);
  return path;
}

static bool source_begin(void) {
  const char *tmp = getenv("TMPDIR");
  snprintf(source_folder, sizeof source_folder, "%.150s/tenon-source-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
  return CHECK(mkdtemp(source_folder));
}

static void source_end(void) {
  CHECK_EQ_I(unlink(source_path()), 0);
  CHECK_EQ_I(rmdir(source_folder), 0);
  CHECK_EQ_I(source_probe.live_bytes, 0);
}

static void source_write(const void *bytes, size_t n) {
  tn_error err = {TN_OK, ""};
  CHECK_EQ_I(tn_file_write(source_path(), &(tn_bytes){bytes, n}, 1, &err), TN_OK);
}

/* The program of build_add, whose bias lies at `offset` of the file and is referred to by `name`. */
static void source_encode(tn_allocator a, size_t offset, const char *name, tn_bytes *out) {
  build b;
  tn_error err = {TN_OK, ""};
  tn_file *file = NULL;
  tn_pextent extent;
  build_add(&b, a);
  if (!CHECK_EQ_I(tn_file_map(a, source_path(), &file, &err), TN_OK)) return;
  b.external[2] = file->bytes.ptr + offset;
  b.p.files = &file;
  b.p.n_files = 1;
  tn_program_hash_files(&b.p, &extent);
  CHECK(extent.hash != 0);
  CHECK_EQ_I(tn_program_encode(&b.p, a, &(tn_psource){name, extent.hash}, out, &err), TN_OK);
  tn_file_close(file);
}

TEST(constants_in_another_file) {
  const tn_allocator a = source_allocator();
  static const float numbers[4] = {5, 6, 7, 8};
  tn_bytes bytes = {NULL, 0}, again = {NULL, 0};
  tn_error err = {TN_OK, ""};
  tn_program *p = NULL, *own = NULL;
  if (!source_begin()) return;
  source_write(numbers, sizeof numbers);
  source_encode(a, 8, "w.bin", &bytes);
  if (!CHECK_EQ_I(tn_program_decode(a, bytes, NULL, source_folder, &p, &err), TN_OK)) return;
  CHECK_EQ_F(((const float *)tn_program_data(p, 2))[1], 8);
  CHECK_EQ_I(tn_program_encode(p, a, p->sources, &again, &err), TN_OK);
  CHECK(again.len == bytes.len && memcmp(again.ptr, bytes.ptr, bytes.len) == 0);
  source_free(a, again);
  CHECK_EQ_I(tn_program_copy(a, p, false, &own, &err), TN_OK);
  CHECK_EQ_I(own->n_files, 0);
  tn_program_release(p);
  CHECK_EQ_F(((const float *)tn_program_data(own, 2))[0], 7);
  tn_program_release(own);
  source_free(a, bytes);
  source_end();
}

/* However many constants lie over each other, a file is hashed once, from the first byte in use to the last. */
TEST(overlapping_constants_are_hashed_once) {
  const tn_allocator a = source_allocator();
  static const float numbers[6] = {4, 5, 6, 7, 8, 9};
  tn_error err = {TN_OK, ""};
  tn_file *file = NULL;
  tn_pextent extent;
  build b;
  if (!source_begin()) return;
  source_write(numbers, sizeof numbers);
  if (!CHECK_EQ_I(tn_file_map(a, source_path(), &file, &err), TN_OK)) return;
  build_init(&b, a);
  b.p.files = &file;
  b.p.n_files = 1;
  b.p.n_values = BUILD_MAX;
  for (int i = 0; i < BUILD_MAX; i++) {
    b.values[i] = (tn_pvalue){.store = TN_STORE_CONST, .dtype = TN_F32, .bytes = i % 2 ? 4 : 12};
    b.external[i] = file->bytes.ptr + (i % 2 ? 4 : 8);
  }
  tn_program_hash_files(&b.p, &extent);
  CHECK(extent.begin == file->bytes.ptr + 4 && extent.end == file->bytes.ptr + 20);
  CHECK(extent.hash == tn_hash_bytes(numbers + 1, 16, 0));
  tn_file_close(file);
  source_end();
}

TEST(other_files_are_refused) {
  const tn_allocator a = source_allocator();
  static const float numbers[4] = {5, 6, 7, 8}, others[4] = {5, 6, 7, 9};
  static const struct {
    const char *name;
    tn_status status;
    const char *text;
  } rows[] = {
      {"/etc/hostname", TN_INVALID, "'/etc/hostname' is not a path inside"},
      {"../w.bin", TN_INVALID, "'../w.bin' is not a path inside"},
      {"a/../../w.bin", TN_INVALID, "'a/../../w.bin' is not a path inside"},
      {"nowhere.bin", TN_IO, "weights: cannot open 'nowhere.bin'"},
      {".", TN_INVALID, "'.' is not a path inside"},
      {NULL, TN_INVALID, "weights 0 have no path"},
      {"", TN_INVALID, "damaged: constant 'bias'"},
      {"w.bin", TN_INVALID, "weights 'w.bin': the file has changed since the program was made"},
  };
  tn_error err = {TN_OK, ""};
  tn_program *p = NULL;
  tn_bytes bytes = {NULL, 0};
  if (!source_begin()) return;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    source_write(numbers, sizeof numbers);
    source_encode(a, 8, rows[i].name, &bytes);
    source_write(others, sizeof others);
    err = (tn_error){TN_OK, ""};
    CHECK_EQ_I(tn_program_decode(a, bytes, NULL, source_folder, &p, &err), rows[i].status);
    CHECK_HAS(err.text, rows[i].text);
    if (i + 1 < sizeof rows / sizeof rows[0]) source_free(a, bytes);
  }
  source_write(numbers, 12);
  err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_program_decode(a, bytes, NULL, source_folder, &p, &err), TN_INVALID);
  CHECK_HAS(err.text, "weights 'w.bin': the file has 12 bytes; the program uses 8 at 8");
  err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_program_decode(a, bytes, NULL, NULL, &p, &err), TN_INVALID);
  CHECK_HAS(err.text, "weights 'w.bin': the program was not read from a file");
  err = (tn_error){TN_OK, ""};
  CHECK_EQ_I(tn_program_decode_over(a, bytes, NULL, NULL, 0, &p, &err), TN_INVALID);
  CHECK_HAS(err.text, "the program has 1 files, not 0");
  source_free(a, bytes);
  source_end();
}

static uint64_t source_get(const uint8_t *at) {
  uint64_t v = 0;
  for (int i = 0; i < 8; i++) v |= (uint64_t)at[i] << (8 * i);
  return v;
}

/* Every flipped bit, with a header that has its hash, is refused or gives a program whose constants can be read. */
TEST(damaged_programs) {
  enum { WEIGHTS = TN_CODEC_HEADER + TN_SECTION_WEIGHTS * TN_CODEC_ENTRY + 8 };
  const tn_allocator a = source_allocator();
  static const float numbers[4] = {5, 6, 7, 8};
  tn_bytes bytes = {NULL, 0};
  int taken = 0;
  if (!source_begin()) return;
  source_write(numbers, sizeof numbers);
  source_encode(a, 8, "w.bin", &bytes);
  uint8_t *copy = tn_alloc(a, bytes.len);
  for (size_t bit = TN_CODEC_HEADER * 8; bit < bytes.len * 8; bit++) {
    tn_program *p = NULL;
    tn_error err = {TN_OK, ""};
    memcpy(copy, bytes.ptr, bytes.len);
    copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    const uint64_t weights = source_get(copy + WEIGHTS);
    if (weights < TN_CODEC_HEADER || weights > bytes.len) continue;
    const uint64_t hash = tn_hash_bytes(copy + TN_CODEC_HEADER, (size_t)weights - TN_CODEC_HEADER, 0);
    for (int i = 0; i < 8; i++) copy[24 + i] = (uint8_t)(hash >> (8 * i));
    const tn_status status = tn_program_decode(a, (tn_bytes){copy, bytes.len}, NULL, source_folder, &p, &err);
    CHECK(status == TN_OK || (status != TN_OOM && err.text[0]));
    if (status != TN_OK) continue;
    const float *const bias = tn_program_data(p, 2);
    CHECK(p->values[2].bytes != 8 || bias[1] == 8);
    taken++;
    tn_program_release(p);
  }
  CHECK(taken > 0);
  tn_free(a, copy, bytes.len);
  source_free(a, bytes);
  source_end();
}
