/* The k-th allocation fails while a program is put into the cache, and while it is taken from there: a status, nothing
 * left behind, and the cache is whole. */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver/compile.h"
#include "test.h"

#define CACHE_MODEL TN_SOURCE_DIR "/examples/dynamic.onnx"

static char cache_folder[200], cache_knob[220];

static bool cache_begin(void) {
  const char *tmp = getenv("TMPDIR");
  snprintf(cache_folder, sizeof cache_folder, "%.150s/tenon-cache-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
  if (!CHECK(mkdtemp(cache_folder))) return false;
  snprintf(cache_knob, sizeof cache_knob, "cache=%s", cache_folder);
  return true;
}

/* Removes what is in the folder but for the secret, and tells how many files that were. */
static int cache_empty(bool secret_too) {
  DIR *dir = opendir(cache_folder);
  int n = 0;
  if (!CHECK(dir != NULL)) return 0;
  for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
    char path[500];
    if (e->d_name[0] == '.' || (!secret_too && strcmp(e->d_name, "secret") == 0)) continue;
    snprintf(path, sizeof path, "%s/%.255s", cache_folder, e->d_name);
    CHECK_EQ_I(unlink(path), 0);
    n++;
  }
  closedir(dir);
  return n;
}

static tn_status cache_compile(tn_allocator a, bool copies) {
  const char *const knobs[] = {cache_knob, copies ? "copy_weights=true" : "copy_weights=false"};
  const tn_compile_options o = {.size = sizeof o, .knobs = knobs, .n_knobs = 2};
  const tn_compile_request q = {.allocator = a, .path = CACHE_MODEL, .options = &o, .max_edits = -1, .is_cached = true};
  tn_program *p = NULL;
  const tn_status status = tn_compile(&q, NULL, &p, NULL);
  CHECK((p != NULL) == (status == TN_OK));
  tn_program_release(p);
  return status;
}

static void cache_fail_all(bool is_hit, bool copies) {
  tn_alloc_probe clean = {.inner = tn_allocator_system()};
  if (!is_hit) cache_empty(false);
  CHECK_EQ_I(cache_compile(tn_allocator_probe(&clean), copies), TN_OK);
  for (int64_t k = 1; k <= clean.calls; k++) {
    tn_alloc_probe probe = {.inner = tn_allocator_system(), .fail_at = k};
    if (!is_hit) cache_empty(false);
    const tn_status status = cache_compile(tn_allocator_probe(&probe), copies);
    CHECK(status == TN_OK || status == TN_OOM);
    if (!CHECK_EQ_I(probe.live_bytes, 0)) printf("  when allocation %lld fails\n", (long long)k);
  }
  CHECK(clean.calls > 3);
}

/* Bytes in memory have an entry of their own, which holds all weights. */
TEST(models_in_memory) {
  if (!cache_begin()) return;
  const char *const knobs[] = {cache_knob};
  const tn_compile_options o = {.size = sizeof o, .knobs = knobs, .n_knobs = 1};
  tn_file *file = NULL;
  tn_error err = {0};
  tn_program *made = NULL, *found = NULL;
  CHECK_EQ_I(cache_compile(tn_allocator_system(), false), TN_OK);
  if (!CHECK_EQ_I(tn_file_map(tn_allocator_system(), CACHE_MODEL, &file, &err), TN_OK)) return;
  const int64_t before = tn_compile_runs();
  CHECK_EQ_I(tn_compile_memory(file->bytes.ptr, file->bytes.len, &o, &made, NULL), TN_OK);
  CHECK_EQ_I(tn_compile_runs(), before + 1);
  CHECK_EQ_I(tn_compile_memory(file->bytes.ptr, file->bytes.len, &o, &found, NULL), TN_OK);
  CHECK_EQ_I(tn_compile_runs(), before + 1);
  tn_file_close(file);
  tn_bytes images[2] = {{0}};
  CHECK_EQ_I(tn_program_encode(made, tn_allocator_system(), NULL, &images[0], &err), TN_OK);
  CHECK_EQ_I(tn_program_encode(found, tn_allocator_system(), NULL, &images[1], &err), TN_OK);
  CHECK(images[0].len == images[1].len && memcmp(images[0].ptr, images[1].ptr, images[0].len) == 0);
  for (int i = 0; i < 2; i++) tn_free(tn_allocator_system(), (void *)(uintptr_t)images[i].ptr, images[i].len);
  tn_program_release(made);
  tn_program_release(found);
  CHECK_EQ_I(cache_empty(true), 3);
  CHECK_EQ_I(rmdir(cache_folder), 0);
}

TEST(every_allocation_may_fail) {
  if (!cache_begin()) return;
  const int64_t before = tn_compile_runs();
  CHECK_EQ_I(cache_compile(tn_allocator_system(), false), TN_OK);
  CHECK_EQ_I(cache_compile(tn_allocator_system(), false), TN_OK);
  CHECK_EQ_I(tn_compile_runs(), before + 1);
  cache_fail_all(true, false);
  cache_fail_all(true, true);
  cache_fail_all(false, false);
  cache_fail_all(false, true);
  const int64_t made = tn_compile_runs();
  CHECK_EQ_I(cache_compile(tn_allocator_system(), true), TN_OK);
  CHECK(tn_compile_runs() <= made + 1);
  CHECK(cache_empty(true) > 1);
  CHECK_EQ_I(rmdir(cache_folder), 0);
}
