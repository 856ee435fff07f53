/* Programs as files: round trip, damage, lifetimes; and the text form. */
#include "code/program.h"

#include <unistd.h>

#include "code/build.h"
#include "test.h"

static tn_alloc_probe program_probe;

static tn_allocator program_allocator(void) {
  program_probe = (tn_alloc_probe){.inner = tn_allocator_system()};
  return tn_allocator_probe(&program_probe);
}

static void free_bytes(tn_allocator a, tn_bytes b) { tn_free(a, (void *)(uintptr_t)b.ptr, b.len); }

/* A program with something in every table. */
static void build_everything(build *b, tn_allocator a) {
  static const tn_str words[2] = {{"alpha", 5}, {"", 0}};
  build_add(b, a);
  const int32_t s = (int32_t)build_constant(b, "words", TN_STR, 1, &b->dim_slots[1], words, sizeof words);
  b->floats[b->p.n_floats++] = -0.5;
  b->strings[b->p.n_strings++] = (tn_str){"p\0q", 3};
  const int64_t ints[] = {INT64_MIN, -1};
  build_attr(b, 2, (tn_pattr){.name = "i", .kind = TN_PATTR_INT, .i = -7});
  build_attr(b, 2, (tn_pattr){.name = "f", .kind = TN_PATTR_FLOAT, .f = 0.1});
  build_attr(b, 2, (tn_pattr){.name = "s", .kind = TN_PATTR_STR, .s = {"text", 4}});
  build_attr(b, 2, (tn_pattr){.name = "is", .kind = TN_PATTR_INTS, .list = build_ints(b, 2, ints)});
  build_attr(b, 2, (tn_pattr){.name = "fs", .kind = TN_PATTR_FLOATS, .list = {0, 1}});
  build_attr(b, 2, (tn_pattr){.name = "ss", .kind = TN_PATTR_STRS, .list = {0, 1}});
  build_attr(b, 2, (tn_pattr){.name = "t", .kind = TN_PATTR_TENSOR, .value = (uint32_t)s});
  build_check(b, 1, "node 'add' (Add): two");
}

TEST(round_trip) {
  const tn_allocator a = program_allocator();
  build b;
  tn_error err = {TN_OK, ""};
  tn_bytes first = {NULL, 0}, second = {NULL, 0};
  tn_program *p = NULL, *copy = NULL;
  build_everything(&b, a);
  if (!CHECK_EQ_I(tn_program_encode(&b.p, a, NULL, &first, &err), TN_OK)) return;
  if (!CHECK_EQ_I(tn_program_decode(a, first, NULL, NULL, &p, &err), TN_OK)) {
    printf("  %s\n", err.text);
    return;
  }
  CHECK(memcmp(first.ptr, "TENONPRG", 8) == 0);
  CHECK_EQ_I(p->n_values, b.p.n_values);
  CHECK_STR(p->values[3].name, "sum");
  CHECK_EQ_I(p->symbols[0].max, 100);
  CHECK_EQ_I(p->ints[0], INT64_MIN);
  CHECK_EQ_F(p->floats[0], -0.5);
  CHECK_EQ_F(p->attrs[1].f, 0.1);
  CHECK(p->strings[0].len == 3 && memcmp(p->strings[0].ptr, "p\0q", 3) == 0);
  const tn_str *words = tn_program_data(p, 6);
  CHECK(tn_str_is(words[0], "alpha") && words[1].len == 0);
  const float *bias = tn_program_data(p, 2);
  CHECK_EQ_F(bias[1], 2);
  CHECK((uintptr_t)bias % 64 == 0);
  CHECK((const uint8_t *)bias > first.ptr && (const uint8_t *)bias < first.ptr + first.len); /* in place */
  CHECK_EQ_I(tn_program_encode(p, a, NULL, &second, &err), TN_OK);
  CHECK(second.len == first.len && memcmp(second.ptr, first.ptr, first.len) == 0);
  CHECK_EQ_I(tn_program_copy(a, p, true, &copy, &err), TN_OK);
  tn_program_release(p);
  free_bytes(a, first);
  CHECK_STR(copy->steps[2].kernel, "identity");
  CHECK_EQ_F(((const float *)tn_program_data(copy, 2))[0], 1);
  tn_program_retain(copy);
  tn_program_release(copy);
  CHECK_STR(copy->values[3].name, "sum");
  tn_program_release(copy);
  free_bytes(a, second);
  CHECK_EQ_I(program_probe.live_bytes, 0);
}

TEST(unaligned_bytes) {
  const tn_allocator a = program_allocator();
  static _Alignas(64) uint8_t room[8192];
  build b;
  tn_error err = {TN_OK, ""};
  tn_bytes bytes = {NULL, 0};
  tn_program *p = NULL;
  build_everything(&b, a);
  CHECK_EQ_I(tn_program_encode(&b.p, a, NULL, &bytes, &err), TN_OK);
  if (!CHECK(bytes.len < sizeof room - 1)) return;
  memcpy(room + 1, bytes.ptr, bytes.len);
  CHECK_EQ_I(tn_program_decode(a, (tn_bytes){room + 1, bytes.len}, NULL, NULL, &p, &err), TN_OK);
  CHECK((uintptr_t)tn_program_data(p, 2) % 64 == 0);
  tn_program_release(p);
  free_bytes(a, bytes);
  CHECK_EQ_I(program_probe.live_bytes, 0);
}

/* Every cut and every flipped bit is refused or gives a program that is verified. */
TEST(damaged_files) {
  const tn_allocator a = program_allocator();
  build b;
  tn_error err = {TN_OK, ""};
  tn_bytes bytes = {NULL, 0};
  build_everything(&b, a);
  if (!CHECK_EQ_I(tn_program_encode(&b.p, a, NULL, &bytes, &err), TN_OK)) return;
  uint8_t *copy = tn_alloc(a, bytes.len);
  for (size_t cut = 0; cut < bytes.len; cut += cut < 600 ? 1 : 37) {
    tn_program *p = NULL;
    err = (tn_error){TN_OK, ""};
    CHECK_EQ_I(tn_program_decode(a, (tn_bytes){bytes.ptr, cut}, NULL, NULL, &p, &err), TN_INVALID);
    CHECK(err.text[0]);
  }
  memcpy(copy, bytes.ptr, bytes.len);
  int taken = 0;
  for (size_t bit = 0; bit < bytes.len * 8; bit++) {
    tn_program *p = NULL;
    err = (tn_error){TN_OK, ""};
    copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    const tn_status status = tn_program_decode(a, (tn_bytes){copy, bytes.len}, NULL, NULL, &p, &err);
    CHECK(status == TN_OK || status == TN_INVALID || status == TN_UNSUPPORTED);
    taken += status == TN_OK;
    if (status == TN_OK) tn_program_release(p);
    copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  CHECK(taken > 0 && taken < 3000); /* bits of weights and of padding in the header */
  tn_free(a, copy, bytes.len);
  free_bytes(a, bytes);
  CHECK_EQ_I(program_probe.live_bytes, 0);
}

TEST(refusals_say_why) {
  const tn_allocator a = program_allocator();
  static _Alignas(64) uint8_t copy[8192];
  build b;
  tn_error err = {TN_OK, ""};
  tn_bytes bytes = {NULL, 0};
  tn_program *p = NULL;
  build_everything(&b, a);
  CHECK_EQ_I(tn_program_encode(&b.p, a, NULL, &bytes, &err), TN_OK);
  if (!CHECK(bytes.len < sizeof copy)) return;
#define REFUSED(change, code, message)                                                   \
  do {                                                                                   \
    memcpy(copy, bytes.ptr, bytes.len);                                                  \
    size_t len = bytes.len;                                                              \
    change;                                                                              \
    err = (tn_error){TN_OK, ""};                                                         \
    CHECK_EQ_I(tn_program_decode(a, (tn_bytes){copy, len}, NULL, NULL, &p, &err), code); \
    CHECK_HAS(err.text, message);                                                        \
  } while (0)
  REFUSED(copy[0] = 'X', TN_INVALID, "this is no Tenon program");
  REFUSED(len = 5, TN_INVALID, "this is no Tenon program");
  REFUSED(copy[8] = 99, TN_UNSUPPORTED, "program format 99; this version reads 5");
  REFUSED(len -= 1, TN_INVALID, "bytes, but should have");
  REFUSED(copy[700] ^= 1, TN_INVALID, "does not have its hash");
  REFUSED(copy[12] = 3, TN_INVALID, "3 sections");
  REFUSED(copy[64] = 9, TN_INVALID, "damaged: section 0"); /* its number */
  REFUSED(copy[64 + 4] = 9, TN_INVALID, "damaged: section 0 has 9 records");
  free_bytes(a, bytes);
}

TEST(every_allocation_may_fail) {
  bool done = false;
  int64_t k = 1;
  for (; !done && k < 100; k++) {
    const tn_allocator a = program_allocator();
    build b;
    tn_error err = {TN_OK, ""};
    tn_program *p = NULL;
    build_everything(&b, a);
    program_probe.fail_at = k;
    const tn_status status = tn_program_copy(a, &b.p, true, &p, &err);
    done = status == TN_OK;
    CHECK(done || status == TN_OOM);
    tn_program_release(p);
    CHECK_EQ_I(program_probe.live_bytes, 0);
  }
  CHECK(done && k > 3);
}

/* The file holds what is encoded in memory; the weights are not copied on the way, and no allocation is trusted. */
TEST(written) {
  enum { N = 100000 };
  char path[64];
  static float data[N];
  static const tn_str words[2] = {{"alpha", 5}, {"", 0}};
  (void)snprintf(path, sizeof path, "/tmp/tn_program_%d", (int)getpid());
  tn_status status = TN_OOM;
  for (int64_t k = 1; status == TN_OOM && k < 10; k++) {
    const tn_allocator a = program_allocator();
    build b;
    tn_error err = {TN_OK, ""};
    build_add(&b, a);
    build_constant(&b, "words", TN_STR, 1, &b.dim_slots[1], words, sizeof words);
    build_constant(&b, "long", TN_F32, 1, &b.dim_slots[1], data, sizeof data);
    build_constant(&b, "more words", TN_STR, 1, &b.dim_slots[1], words, sizeof words);
    program_probe.fail_at = k;
    status = tn_program_write(&b.p, a, NULL, path, &err);
    CHECK(status == TN_OK || status == TN_OOM);
    CHECK(program_probe.peak_bytes < (int64_t)sizeof data / 10);
    program_probe.fail_at = 0;
    tn_bytes bytes;
    tn_file *f = NULL;
    if (status == TN_OK && CHECK_EQ_I(tn_program_encode(&b.p, a, NULL, &bytes, &err), TN_OK)) {
      CHECK_EQ_I(tn_file_map(a, path, &f, &err), TN_OK);
      CHECK(f && f->bytes.len == bytes.len && memcmp(f->bytes.ptr, bytes.ptr, bytes.len) == 0);
      tn_file_close(f);
      free_bytes(a, bytes);
    }
    CHECK_EQ_I(program_probe.live_bytes, 0);
  }
  CHECK_EQ_I(status, TN_OK);
  (void)unlink(path);
}

typedef struct sink {
  char text[4096];
  size_t n;
} sink;

static void sink_write(void *arg, const char *text, size_t n) {
  sink *s = arg;
  for (size_t i = 0; i < n && s->n + 1 < sizeof s->text; i++) s->text[s->n++] = text[i];
}

TEST(text) {
  static const char *const want =
      "program 5, 2 slots\n"
      "input v0 a f32[N,2]\n"
      "input v1 b f32[N,2]\n"
      "output v5 y f32[N,2]\n"
      "symbol s0 = N in [1, 100]\n"
      "region 0(v0 v1) -> v5\n"
      "  bind s0 = dim 0 of v0\n"
      "  bind s0 = dim 0 of v1\n"
      "  s1 = CONST 2\n"
      "  v0 f32[s0,s1] input a\n"
      "  v1 f32[s0,s1] input b\n"
      "  v2 f32[s1] const 8 bytes bias\n"
      "  v3 f32[s0,s1] buffer b0 sum\n"
      "  v4 f32[s0,s1] buffer b1 biased\n"
      "  v5 f32[s0,s1] buffer b2 y\n"
      "  b0 steps 0..1, size of v3\n"
      "  b1 steps 1..2, size of v4\n"
      "  b2 steps 2..2, size of v5\n"
      "  0 v3 = add v0 v1  # add\n"
      "  1 v4 = add v3 v2  # add\n"
      "  2 v5 = identity v4  # identity\n";
  build b;
  sink s = {"", 0};
  build_add(&b, tn_allocator_system());
  tn_program_print(&b.p, sink_write, &s);
  CHECK_STR(s.text, want);
}
