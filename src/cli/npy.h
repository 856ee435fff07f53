/* NumPy's .npy files. Stands on tenon.h and libc alone, so that it can be tested and fuzzed by itself.
 *
 * Read: format versions 1 to 3, both byte orders, C and Fortran order, bool, integers, floats, complex, '|S<n>' and
 * '<U<n>' strings, and '|V1' '|V2' (how ml_dtypes stores f8 and bf16; given as u8 and u16). Structured and object
 * arrays are refused. Written: version 1, little-endian, C order; types that numpy lacks as unsigned integers that
 * hold their bits, one element each (bf16 u2, f8 u1, 2- and 4-bit types u1); strings as '<U<n>', or '|S<n>' when one
 * is not UTF-8. numpy drops zeros at the end of strings, so they do not come back. */
#ifndef TN_CLI_NPY_H
#define TN_CLI_NPY_H

#include "tenon/tenon.h"

enum { TN_NPY_MAX_RANK = 64, TN_NPY_MAX_HEADER = 65535, TN_NPY_ERROR = 256 };

typedef struct tn_npy {
  tn_dtype dtype;
  int rank;
  int64_t dims[TN_NPY_MAX_RANK];
  void *data; /* row-major, little-endian; strings: tn_string, their bytes behind them */
  size_t bytes;
} tn_npy;

/* Copies what it needs of the n bytes. On failure *out is empty and `error` holds a sentence. */
tn_status tn_npy_parse(const void *bytes, size_t n, tn_npy *out, char error[TN_NPY_ERROR]);
tn_status tn_npy_read(const char *path, tn_npy *out, char error[TN_NPY_ERROR]);
void tn_npy_drop(tn_npy *a);
tn_status tn_npy_write(const char *path, const tn_tensor *t, char error[TN_NPY_ERROR]);

#endif
