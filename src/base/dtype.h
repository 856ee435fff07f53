/* Element types: facts from include/tenon/dtype.def, and exact element access for every type. */
#ifndef TN_BASE_DTYPE_H
#define TN_BASE_DTYPE_H

#include "base/checked.h"
#include "base/span.h"
#include "tenon/dtype.h"

typedef enum tn_dtype_class {
  TN_CLASS_NONE,
  TN_CLASS_FLOAT,
  TN_CLASS_INT,
  TN_CLASS_UINT,
  TN_CLASS_BOOL,
  TN_CLASS_STRING,
  TN_CLASS_COMPLEX
} tn_dtype_class;

typedef struct tn_dtype_row {
  const char *name; /* "f32"; NULL where the number is unused */
  const char *onnx; /* "float", the name in ONNX's type strings: tensor(float) */
  const char *npy;  /* numpy descr without byte order, "" = none */
  uint8_t bits;
  uint8_t cls; /* tn_dtype_class */
} tn_dtype_row;
extern const tn_dtype_row tn_dtype_rows[TN_N_DTYPES];

static inline bool tn_dtype_valid(int d) { return d > 0 && d < TN_N_DTYPES; }
static inline int tn_dtype_bits(tn_dtype d) { return tn_dtype_rows[d].bits; }
static inline tn_dtype_class tn_dtype_cls(tn_dtype d) { return (tn_dtype_class)tn_dtype_rows[d].cls; }
static inline const char *tn_dtype_name(tn_dtype d) { return d ? tn_dtype_rows[d].name : "?"; }
static inline bool tn_dtype_is_float(tn_dtype d) { return tn_dtype_cls(d) == TN_CLASS_FLOAT; }
static inline bool tn_dtype_is_int(tn_dtype d) { /* signed or unsigned, not bool */
  return tn_dtype_cls(d) == TN_CLASS_INT || tn_dtype_cls(d) == TN_CLASS_UINT;
}
tn_dtype tn_dtype_find(tn_str name); /* "f32"; TN_DTYPE_NONE when unknown */
/* Bytes of n packed elements (rounded up to whole bytes). False on overflow or n < 0. */
TN_MUST_CHECK bool tn_dtype_bytes(tn_dtype d, int64_t n, size_t *out);

/* Sets of types, for schemas: TN_SET(F32) | TN_SET(F16). */
#define TN_SET(name) (UINT64_C(1) << TN_##name)
#define TN_SET_FLOAT8 (TN_SET(F8E4M3FN) | TN_SET(F8E4M3FNUZ) | TN_SET(F8E5M2) | TN_SET(F8E5M2FNUZ))
#define TN_SET_FLOATS (TN_SET(F32) | TN_SET(F16) | TN_SET(BF16) | TN_SET(F64))
#define TN_SET_INTS (TN_SET(I8) | TN_SET(I16) | TN_SET(I32) | TN_SET(I64))
#define TN_SET_UINTS (TN_SET(U8) | TN_SET(U16) | TN_SET(U32) | TN_SET(U64))
#define TN_SET_NUMBERS (TN_SET_FLOATS | TN_SET_INTS | TN_SET_UINTS)
#define TN_SET_ALL (~UINT64_C(1))

/* Element `i` of an array of type d, whatever the packing. Loads convert exactly where the target can hold the value.
 * load_f64: FLOAT, INT, UINT, BOOL; complex gives the real part. load_i64: INT, UINT (u64 wraps), BOOL; floats
 * truncate toward zero with saturation, NaN = 0. Stores round to nearest even; integers wrap as C casts of the two's
 * complement; store_f64 into an integer truncates toward zero and saturates (the 2- and 4-bit kinds wrap); into bool:
 * != 0; into the f8/f4 kinds saturates when `saturate` (ONNX Cast's default), else overflows to inf or NaN as the ONNX
 * Cast tables say. */
double tn_load_f64(tn_dtype d, const void *p, int64_t i);
int64_t tn_load_i64(tn_dtype d, const void *p, int64_t i);
void tn_store_f64(tn_dtype d, void *p, int64_t i, double v);
void tn_store_f64_sat(tn_dtype d, void *p, int64_t i, double v, bool saturate);
void tn_store_i64(tn_dtype d, void *p, int64_t i, int64_t v);
void tn_copy_element(tn_dtype d, void *dst, int64_t di, const void *src, int64_t si); /* strings: the tn_str only */

/* dst[i] = Cast(src[i]) for n elements with ONNX Cast's rules between any two non-string types (also complex to
 * complex). Fast for the common pairs. Regions must not overlap. False for pairs ONNX does not define. */
TN_MUST_CHECK bool tn_convert(tn_dtype to, void *dst, tn_dtype from, const void *src, int64_t n, bool saturate);

#endif
