/* The .npy reader and writer. Bytes are written out as numpy 2 writes them. */
#include "test.h"

#include "cli/npy.c" /* the command line is no library */
#include "cli/npy_write.c"

#include <unistd.h>

static char npy_error[TN_NPY_ERROR];

/* Version 1: the header as given, then the data. */
static tn_status parse_text(const char *header, const void *data, size_t n, tn_npy *out) {
  unsigned char file[1024] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  const size_t len = strlen(header);
  file[8] = (unsigned char)len;
  file[9] = (unsigned char)(len >> 8);
  memcpy(file + 10, header, len);
  if (n) memcpy(file + 10 + len, data, n);
  return tn_npy_parse(file, 10 + len + n, out, npy_error);
}

#define HEADER(descr, fortran, shape) "{'descr': '" descr "', 'fortran_order': " fortran ", 'shape': " shape ", }   \n"

static void check_refused(const char *header, size_t n, tn_status status, const char *text) {
  static const unsigned char zeros[256];
  tn_npy a;
  if (!CHECK_EQ_I(parse_text(header, zeros, n, &a), status)) printf("  for %s", header);
  CHECK_HAS(npy_error, text);
  CHECK(a.data == NULL);
}

TEST(little_endian_rows) {
  const float want[6] = {0, 1, 2, 3, 4, 5};
  tn_npy a;
  CHECK_EQ_I(parse_text(HEADER("<f4", "False", "(2, 3)"), want, sizeof want, &a), TN_OK);
  CHECK_EQ_I(a.dtype, TN_F32);
  CHECK_EQ_I(a.rank, 2);
  CHECK_EQ_I(a.dims[0], 2);
  CHECK_EQ_I(a.dims[1], 3);
  CHECK(a.bytes == sizeof want && memcmp(a.data, want, sizeof want) == 0);
  tn_npy_drop(&a);
}

TEST(big_endian_fortran) { /* [[1, 2, 3], [4, 5, 6]] by columns: 1 4 2 5 3 6 */
  const unsigned char file[12] = {0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6};
  const int16_t want[6] = {1, 2, 3, 4, 5, 6};
  tn_npy a;
  CHECK_EQ_I(parse_text(HEADER(">i2", "True", "(2, 3)"), file, sizeof file, &a), TN_OK);
  CHECK_EQ_I(a.dtype, TN_I16);
  CHECK(memcmp(a.data, want, sizeof want) == 0);
  tn_npy_drop(&a);
}

TEST(big_endian_complex_swaps_each_part) {
  const unsigned char file[8] = {0x3F, 0x80, 0, 0, 0x40, 0, 0, 0}; /* 1 + 2i */
  const float want[2] = {1, 2};
  tn_npy a;
  CHECK_EQ_I(parse_text(HEADER(">c8", "False", "()"), file, sizeof file, &a), TN_OK);
  CHECK_EQ_I(a.dtype, TN_C64);
  CHECK_EQ_I(a.rank, 0);
  CHECK(memcmp(a.data, want, sizeof want) == 0);
  tn_npy_drop(&a);
}

TEST(three_dims_fortran) { /* a[i][j][k] = 100i + 10j + k of shape 2 2 2 */
  const uint8_t file[8] = {0, 100, 10, 110, 1, 101, 11, 111}, want[8] = {0, 1, 10, 11, 100, 101, 110, 111};
  tn_npy a;
  CHECK_EQ_I(parse_text(HEADER("|u1", "True", "(2, 2, 2)"), file, sizeof file, &a), TN_OK);
  CHECK(memcmp(a.data, want, sizeof want) == 0);
  tn_npy_drop(&a);
}

static void check_string(const tn_npy *a, size_t i, const char *want) {
  const tn_string *const s = (const tn_string *)a->data + i;
  CHECK_EQ_I(s->len, strlen(want));
  CHECK(memcmp(s->ptr, want, s->len) == 0);
}

TEST(strings) {
  tn_npy a;
  CHECK_EQ_I(parse_text(HEADER("|S3", "False", "(2,)"), "abcd\0\0", 6, &a), TN_OK);
  check_string(&a, 0, "abc");
  check_string(&a, 1, "d");
  tn_npy_drop(&a);
  const unsigned char wide[16] = {0xFC, 0, 0, 0, 0x42, 0xF6, 1, 0, 'x', 0, 0, 0}; /* U+00FC U+1F642, "x" */
  CHECK_EQ_I(parse_text(HEADER("<U2", "False", "(2,)"), wide, sizeof wide, &a), TN_OK);
  CHECK_EQ_I(a.dtype, TN_STR);
  check_string(&a, 0, "\xC3\xBC\xF0\x9F\x99\x82");
  check_string(&a, 1, "x");
  tn_npy_drop(&a);
  const unsigned char surrogate[4] = {0, 0xD8, 0, 0};
  CHECK_EQ_I(parse_text(HEADER("<U1", "False", "()"), surrogate, 4, &a), TN_INVALID);
  CHECK_HAS(npy_error, "0xd800, which is no character");
}

TEST(bool_is_zero_or_one) {
  const uint8_t file[3] = {0, 7, 1};
  tn_npy a;
  CHECK_EQ_I(parse_text(HEADER("|b1", "False", "(3,)"), file, 3, &a), TN_OK);
  CHECK_EQ_I(((const uint8_t *)a.data)[1], 1);
  tn_npy_drop(&a);
}

TEST(header_forms) {
  tn_npy a;
  const int64_t one = 1;
  CHECK_EQ_I(parse_text("{\"shape\":(1L,),\"fortran_order\":False,\"descr\":\"=i8\"}", &one, 8, &a), TN_OK);
  CHECK_EQ_I(a.rank, 1);
  tn_npy_drop(&a);
  CHECK_EQ_I(parse_text(HEADER("<i8", "False", "(9223372036854775807, 9223372036854775807, 0)"), NULL, 0, &a), TN_OK);
  CHECK_EQ_I(a.bytes, 0);
  tn_npy_drop(&a);
}

TEST(version_2_and_3) {
  const char *const header = HEADER("|u1", "False", "()");
  unsigned char file[256] = {0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, (unsigned char)strlen(header)};
  memcpy(file + 12, header, strlen(header));
  file[12 + strlen(header)] = 42;
  for (file[6] = 2; file[6] <= 3; file[6]++) {
    tn_npy a;
    CHECK_EQ_I(tn_npy_parse(file, 13 + strlen(header), &a, npy_error), TN_OK);
    CHECK_EQ_I(*(const uint8_t *)a.data, 42);
    tn_npy_drop(&a);
  }
  tn_npy a;
  CHECK_EQ_I(tn_npy_parse(file, 13 + strlen(header), &a, npy_error), TN_UNSUPPORTED);
  CHECK_STR(npy_error, ".npy version 4.0 is not known");
  file[6] = 2;
  file[11] = 1; /* 16 MiB of header */
  CHECK_EQ_I(tn_npy_parse(file, sizeof file, &a, npy_error), TN_LIMIT);
  CHECK_HAS(npy_error, "is too long");
}

TEST(refused) {
  check_refused(HEADER("|O", "False", "()"), 8, TN_UNSUPPORTED, "pickled Python objects");
  check_refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", 8, TN_UNSUPPORTED,
                "structured array");
  check_refused(HEADER("<f3", "False", "()"), 8, TN_UNSUPPORTED, "'f3' is not read");
  check_refused(HEADER("<M8[ns]", "False", "()"), 8, TN_UNSUPPORTED, "'<M8[ns]' is not read");
  check_refused(HEADER("<f4", "False", "(3,)"), 11, TN_INVALID, "too short: its shape needs more than the 11 bytes");
  check_refused(HEADER("<f4", "False", "(4611686018427387904, 4)"), 8, TN_LIMIT, "does not fit in 64 bits");
  check_refused(HEADER("<f4", "False", "(99999999999999999999,)"), 8, TN_INVALID, "something that is no size");
  check_refused(HEADER("<f4", "False", "(-1,)"), 8, TN_INVALID, "something that is no size");
  check_refused(HEADER("<f4", "False", "(1 2)"), 8, TN_INVALID, "something that is no size");
  check_refused(HEADER("<f4", "False", "3"), 8, TN_INVALID, "not a tuple");
  check_refused(HEADER("<f4", "maybe", "()"), 8, TN_INVALID, "neither True nor False");
  check_refused("{'descr': '<f4', 'shape': ()}", 8, TN_INVALID, "lacks");
  check_refused("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 8, TN_INVALID, "second key");
  check_refused("{'x': 1}", 8, TN_INVALID, "unknown key 'x'");
  check_refused("{'descr': '<f4", 0, TN_INVALID, "no type");
  check_refused(HEADER("<f4", "False", "()") "x", 8, TN_INVALID, "goes on after");
  check_refused("[]", 8, TN_INVALID, "no Python dictionary");
  check_refused(HEADER("|S0", "False", "(1048577,)"), 0, TN_LIMIT, "empty strings");
  char many[512] = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 65; i++) strcat(many, "1, ");
  strcat(many, ")}");
  check_refused(many, 8, TN_LIMIT, "more than 64 dims");
}

TEST(not_a_file_of_numpy) {
  tn_npy a;
  CHECK_EQ_I(tn_npy_parse("\x93NUMPY\x01", 7, &a, npy_error), TN_INVALID);
  CHECK_STR(npy_error, "not a .npy file");
  CHECK_EQ_I(tn_npy_parse("\x93NUMPY\x01\0\x40\0{", 11, &a, npy_error), TN_INVALID);
  CHECK_STR(npy_error, "the file ends within its header");
  CHECK_EQ_I(tn_npy_read("/nowhere/x.npy", &a, npy_error), TN_IO);
  CHECK_STR(npy_error, "/nowhere/x.npy: cannot open: No such file or directory");
}

static size_t write_file(const tn_tensor *t, unsigned char *out, size_t room) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/tenon_npy_test.%ld", (long)getpid());
  CHECK_EQ_I(tn_npy_write(path, t, npy_error), TN_OK);
  FILE *const file = fopen(path, "rb");
  const size_t n = file ? fread(out, 1, room, file) : 0;
  if (file) fclose(file);
  remove(path);
  return n;
}

static void check_written(const tn_tensor *t, const char *dict, const void *data, size_t n) {
  unsigned char file[1024];
  const size_t len = write_file(t, file, sizeof file);
  CHECK_EQ_I(len, 128 + n);
  CHECK(memcmp(file, "\x93NUMPY\x01\x00\x76\x00", 10) == 0);
  CHECK(memcmp(file + 10, dict, strlen(dict)) == 0);
  CHECK_EQ_I(file[127], '\n');
  CHECK(memcmp(file + 128, data, n) == 0);
}

TEST(written_bytes) {
  const int64_t dims[2] = {2, 3}, three[1] = {3};
  const int16_t values[6] = {1, 2, 3, 4, 5, -6};
  const tn_tensor t = {.dtype = TN_I16, .rank = 2, .dims = dims, .data = values};
  check_written(&t, "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), } ", values, sizeof values);
  const uint16_t bf16[3] = {0x3F80, 0x4000, 0x4040};
  const tn_tensor b = {.dtype = TN_BF16, .rank = 1, .dims = three, .data = bf16};
  check_written(&b, "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), } ", bf16, sizeof bf16);
  const uint8_t packed[2] = {0x21, 0x0F}, nibbles[3] = {1, 2, 15};
  const tn_tensor p = {.dtype = TN_I4, .rank = 1, .dims = three, .data = packed};
  check_written(&p, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), } ", nibbles, sizeof nibbles);
  const tn_tensor scalar = {.dtype = TN_BOOL, .data = "\1"};
  check_written(&scalar, "{'descr': '|b1', 'fortran_order': False, 'shape': (), } ", "\1", 1);
}

TEST(written_strings) {
  const int64_t dims[1] = {2};
  const tn_string text[2] = {{"\xC3\xBC", 2}, {"ab", 2}}, bytes[2] = {{"\xFF", 1}, {"abc", 3}};
  const unsigned char wide[16] = {0xFC, 0, 0, 0, 0, 0, 0, 0, 'a', 0, 0, 0, 'b', 0, 0, 0};
  const tn_tensor t = {.dtype = TN_STR, .rank = 1, .dims = dims, .data = text};
  check_written(&t, "{'descr': '<U2', 'fortran_order': False, 'shape': (2,), } ", wide, sizeof wide);
  const tn_tensor b = {.dtype = TN_STR, .rank = 1, .dims = dims, .data = bytes};
  check_written(&b, "{'descr': '|S3', 'fortran_order': False, 'shape': (2,), } ", "\xFF\0\0abc", 6);
}

TEST(writing_fails) {
  const tn_tensor t = {.dtype = TN_BOOL, .data = "\1"}, sequence = {.kind = TN_KIND_SEQUENCE};
  CHECK_EQ_I(tn_npy_write("/nowhere/x.npy", &t, npy_error), TN_IO);
  CHECK_STR(npy_error, "/nowhere/x.npy: cannot write: No such file or directory");
  CHECK_EQ_I(tn_npy_write("/dev/null", &sequence, npy_error), TN_UNSUPPORTED);
  CHECK_EQ_I(tn_npy_write("/dev/full", &t, npy_error), TN_IO);
  CHECK_HAS(npy_error, "No space left on device");
}
