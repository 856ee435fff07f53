/* The .npy reader over any bytes: a status, and on success an array whose size agrees with its dims and that is written
 * and read back the same. */
#include "cli/npy.c" /* the command line is no library */
#include "cli/npy_write.c"

#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void npy_check(bool ok) {
  if (!ok) abort();
}

static void npy_check_round_trip(const tn_npy *a) {
  char error[TN_NPY_ERROR], path[64];
  snprintf(path, sizeof path, "/tmp/tenon_npy_fuzz.%ld", (long)getpid());
  const tn_tensor t = {.dtype = a->dtype, .rank = a->rank, .dims = a->dims, .data = a->data, .bytes = a->bytes};
  tn_npy b;
  if (tn_npy_write(path, &t, error) == TN_OK) {
    npy_check(tn_npy_read(path, &b, error) == TN_OK);
    npy_check(b.dtype == a->dtype && b.rank == a->rank && memcmp(b.dims, a->dims, sizeof b.dims) == 0);
    npy_check(b.bytes == a->bytes && (a->dtype == TN_STR || memcmp(b.data, a->data, b.bytes) == 0));
    tn_npy_drop(&b);
  }
  remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char error[TN_NPY_ERROR];
  tn_npy a;
  const tn_status s = tn_npy_parse(data, size, &a, error);
  if (s != TN_OK) {
    npy_check(*error && !a.data);
    return 0;
  }
  int64_t count = 1;
  for (int i = 0; i < a.rank; i++)
    if (__builtin_mul_overflow(count, a.dims[i], &count)) count = 0;
  npy_check(a.bytes == (size_t)count * (size_t)npy_types[a.dtype].bits / 8);
  if (a.bytes < 4096) npy_check_round_trip(&a);
  tn_npy_drop(&a);
  return 0;
}
